"""Whether an algorithm can have decided what was logged, where it is not certain which brokers were online."""

from collections.abc import Callable, Collection, Iterator
from itertools import combinations

from udfs.kafka.judgements import Judgement, judge

Outcome = tuple[int, tuple[int, ...] | None] | None
"""Leader and ISR (None: unknown); None: nobody was elected."""


def check_choice(
    decide: Callable[[frozenset[int]], Outcome],
    logged: Outcome,
    certainly_online: Collection[int],
    possibly_online: Collection[int],
) -> Judgement:
    """Whether some plausible set of online brokers makes the algorithm decide what was logged; ISRs compare as sets,
    and only leaders where the ISR that was logged is unknown.

    Violated only if none does, for the controller may have known less than the logs.
    """
    outcomes = {_as_sets(decide(online)) for online in online_sets(certainly_online, possibly_online)}
    if logged is not None and logged[1] is None:
        outcomes = {outcome and (outcome[0], None) for outcome in outcomes}
    expected = " or ".join(sorted({in_words(outcome) for outcome in outcomes}))
    return judge(_as_sets(logged) in outcomes, expected, in_words(_as_sets(logged)))


def online_sets(certainly_online: Collection[int], possibly_online: Collection[int]) -> Iterator[frozenset[int]]:
    """Each set of brokers that may have been online. `possibly_online` should name only brokers that a decision can
    depend on: there are 2**n sets."""
    certain = frozenset(certainly_online)
    doubtful = sorted(set(possibly_online) - certain)
    return (certain.union(more) for size in range(len(doubtful) + 1) for more in combinations(doubtful, size))


def _as_sets(outcome: Outcome) -> tuple[int, frozenset[int] | None] | None:
    return None if outcome is None else (outcome[0], None if outcome[1] is None else frozenset(outcome[1]))


def in_words(outcome: tuple[int, Collection[int] | None] | None) -> str:
    """A decision: `leader 2, ISR [1, 2]`, `leader 2` or `no leader`."""
    if outcome is None:
        return "no leader"
    leader, isr = outcome
    return f"leader {leader}" if isr is None else f"leader {leader}, ISR {sorted(isr)}"
