"""What the logs of a cluster cannot tell: there a zero is no zero, but unknown. No queries.

Changes of leaders are logged with ZooKeeper in state-change.log, from 1.1 to 2.5 at TRACE only; until 1.0 also in
controller.log, where a leader is lost; from 2.6 on in state-change.log at INFO, by brokers of KRaft, too. Until 3.2
these print no partition epoch as they begin to lead, so that what was between two leaders does not follow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from udfs.kafka.releases import Release, lowest_release

ELECTED, FAILED, UNCLEAN = "elections.succeeded", "elections.failed", "elections.unclean"
OUTAGES, ISR_CHANGES, REASSIGNMENTS, INCIDENTS = "outages", "isr_changes", "reassignments", "incidents"
TRACE = "state-change.log at TRACE"
"""Up to 2.5 it has each change of a leader at this level only."""
DUMP = "a metadata dump"
"""Of KRaft until 3.2 only this has each change of a leader."""


def missing_logs_by_fact(
    kinds: Collection[str],
    ranges: Iterable[str | None],
    *,
    has_requests: bool,
    is_kraft: bool = False,
    unjudged_elections: int = 0,
) -> dict[str, str]:
    """By fact what is missing from the logs to tell it; what they can tell is left out.

    `kinds`: of LOG_COVERAGE. `ranges`: `kafka_versions` of all streams. `has_requests`: whether lines show control
    requests, which are logged at TRACE only. `is_kraft`: whether KRaft's controllers are in charge at the end.
    `unjudged_elections`: how many of them nobody can call clean or unclean.
    """
    if "metadata_dump" in kinds:
        return {}
    known = [one for one in ranges if one]
    leaders = None if has_requests else _missing_of_leaders(kinds, known)
    if is_kraft and not leaders and (release := lowest_release(known)) is not None and release < Release(3, 3):
        leaders = DUMP
    missing = {
        ELECTED: leaders,
        OUTAGES: leaders,
        UNCLEAN: leaders or ("ISRs and assignments before elections" if unjudged_elections else None),
        FAILED: None if "state_change" in kinds else "state-change.log",
        ISR_CHANGES: leaders if "server" not in kinds else None,
        REASSIGNMENTS: None if "controller" in kinds or not leaders else "controller.log",
    }
    if leaders and "server" not in kinds:
        missing[ISR_CHANGES] = f"server.log, or {leaders},"
    return {fact: what for fact, what in missing.items() if what}


def _missing_of_leaders(kinds: Collection[str], ranges: Sequence[str]) -> str | None:
    """What is missing to tell when partitions lost their leaders, if no line at TRACE is there; None: nothing.

    While brokers are upgraded, some streams are of older releases than others.
    """
    release = lowest_release(ranges)
    ends = [Release.parse(end) for _, _, end in (one.partition("..") for one in ranges) if end]
    oldest = min([release, *ends]) if release is not None else None
    if release is None or oldest is None or (oldest < Release(2, 6) and release >= Release(1, 1)):
        return TRACE
    if release >= Release(2, 6):
        return None if "state_change" in kinds else "state-change.log"
    return None if "controller" in kinds else f"controller.log, or {TRACE},"


UNTOLD = {
    OUTAGES: ("whether partitions were without a leader", "whether there were more outages"),
    UNCLEAN: ("whether elections were unclean", "whether there were more unclean elections"),
}
"""Facts that must not be taken for a zero: what is open where there is none, and besides those that there are."""


def untold_text(fact: str, count: int) -> str:
    """What nobody can tell of a fact of UNTOLD of which logs show so many: `whether partitions were without a leader`,
    `whether there were more outages`."""
    none, more = UNTOLD[fact]
    return more if count else none


def cannot_be_told(what: str) -> str:
    """`cannot be told from these logs: state-change.log at TRACE is missing`."""
    verb = "are" if what.startswith("ISRs") else "is"
    return f"cannot be told from these logs: {what} {verb} missing"
