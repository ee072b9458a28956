"""Which release judges a decision: the one that its node printed, or each that its cluster may have run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache

from udfs.kafka.judgements import VIOLATED
from udfs.kafka.releases import Release, printed_release
from udfs.kafka.verdicts import Verdict, without_input


def releases_of(printed: Iterable[str | None], of_cluster: Sequence[Release]) -> tuple[Release, ...]:
    """The releases by which a decision may have been taken, the lowest first: what the nodes that may have taken it
    `printed` as they started; as far as they printed none of Apache's (None, `7.3.0-ccs`), also those of the cluster.

    >>> [str(release) for release in releases_of([None], [Release(3, 4), Release(3, 5)])]
    ['3.4', '3.5']
    >>> [str(release) for release in releases_of(["3.4.0"], [Release(3, 4), Release(3, 5)])]
    ['3.4']
    """
    return _releases_of(frozenset(printed), tuple(of_cluster))


@cache
def _releases_of(printed: frozenset[str | None], of_cluster: tuple[Release, ...]) -> tuple[Release, ...]:
    known = {text: printed_release([text]) for text in printed}
    releases = {release for release in known.values() if release is not None}
    return tuple(sorted(releases if known and None not in known.values() else {*releases, *of_cluster}))


def by_any(possible: Sequence[Release], judge: Callable[[Release], Verdict]) -> Verdict:
    """A decision by the first of the releases that may have taken it; unknown if that would not have, and another
    would."""
    verdict = judge(possible[0])
    if verdict.verdict == VIOLATED and any(judge(release).verdict != VIOLATED for release in possible[1:]):
        return without_input(verdict, "kafka_release")
    return verdict
