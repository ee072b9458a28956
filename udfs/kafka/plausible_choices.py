"""Whether an algorithm can have decided what was logged, where it is not certain which brokers were online."""

from collections.abc import Callable, Collection
from itertools import combinations

from udfs.kafka.judgements import Judgement, judge

Outcome = tuple[int, tuple[int, ...]] | None
"""Leader and ISR; None: nobody was elected."""


def check_choice(
    decide: Callable[[frozenset[int]], Outcome],
    logged: Outcome,
    certainly_online: Collection[int],
    possibly_online: Collection[int],
) -> Judgement:
    """Whether some plausible set of online brokers makes the algorithm decide what was logged; ISRs compare as sets.

    Violated only if none does, for the controller may have known less than the logs. `possibly_online` should name
    only brokers the decision can depend on: 2**n sets are tried.
    """
    certain = frozenset(certainly_online)
    doubtful = sorted(set(possibly_online) - certain)
    plausible = (certain.union(more) for size in range(len(doubtful) + 1) for more in combinations(doubtful, size))
    outcomes = {_as_sets(decide(online)) for online in plausible}
    expected = " or ".join(sorted({in_words(outcome) for outcome in outcomes}))
    return judge(_as_sets(logged) in outcomes, expected, in_words(_as_sets(logged)))


def _as_sets(outcome: Outcome) -> tuple[int, frozenset[int]] | None:
    return None if outcome is None else (outcome[0], frozenset(outcome[1]))


def in_words(outcome: tuple[int, Collection[int]] | None) -> str:
    """A decision: `leader 2, ISR [1, 2]` or `no leader`."""
    return "no leader" if outcome is None else f"leader {outcome[0]}, ISR {sorted(outcome[1])}"
