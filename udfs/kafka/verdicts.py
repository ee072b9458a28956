"""Verdicts, and one incarnation's states against the invariants.

Plain functions over rows as dicts; `verdict_rows` streams rows of tables through them. Elections: `election_verdicts`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from udfs.kafka.election_invariants import clean_candidate_first, unclean_leader_alone
from udfs.kafka.invariants import check_sequence
from udfs.kafka.judgements import UNKNOWN, VIOLATED, Finding, explain, lacking
from udfs.kafka.releases import Release, unclean_by_request
from udfs.kafka.state_decisions import check_decisions
from udfs.kafka.state_invariants import elr_disjoint_from_isr
from udfs.kafka.stored_state import Cluster, StoredState

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Verdict:
    """One rule applied to one decision; `missing` names the inputs that keep it `unknown`."""

    rule: str
    verdict: str
    expected: str | None
    actual: str | None
    missing: tuple[str, ...]
    explanation: str


JUDGED_BY_ELR = ("clean_candidate_first", "unclean_leader_alone", "assignment_change")
"""Rules that ask who was eligible: in the ISR, or an eligible leader replica."""


def verdict_of(finding: Finding) -> Verdict:
    """A finding with its explanation; empty texts become null."""
    return Verdict(
        finding.rule,
        finding.verdict,
        finding.expected or None,
        finding.actual or None,
        finding.missing,
        explain(finding),
    )


def algorithm_release(release: Release, is_kraft: bool, shows_elr: bool | None) -> tuple[Release, bool]:
    """The release to judge by, and whether eligible leader replicas are on (KIP-966).

    They are on by default from 4.1; a cluster in which any state shows some (`shows_elr`) has them on and runs 3.7 at
    least.

    >>> for release, shows_elr in (("3.0", True), ("4.1", None)):
    ...     lowest, is_on = algorithm_release(Release.parse(release), True, shows_elr)
    ...     print(lowest, is_on)
    3.7 True
    4.1 True
    """
    if is_kraft and shows_elr:
        return max(release, Release(3, 7)), True
    return release, is_kraft and release >= Release(4, 1)


def without_input(verdict: Verdict, missing: str) -> Verdict:
    """The verdict where the logs lack an input by which a decision may be right, as the eligible leader replicas: a
    leader outside the ISR may have been one of them.

    >>> verdict = Verdict("unclean_leader_alone", "violated", "a", "leader 3, ISR [3]", (), "b")
    >>> without_input(verdict, "elr_before").missing
    ('elr_before',)
    """
    if verdict.verdict != VIOLATED:
        return verdict
    explanation = f"{verdict.rule} cannot be judged: the logs lack {lacking([missing])}; logged {verdict.actual}."
    return replace(verdict, verdict=UNKNOWN, missing=(missing,), explanation=explanation)


# ---- invariants -----------------------------------------------------------------------------------------------------
def judge_states(cluster: Cluster, rows: Sequence[Row]) -> Iterator[tuple[int, Verdict]]:
    """Invariants, and decisions that states show, over one incarnation in stored order: position and verdict of each
    rule applied."""
    assigned: set[int] = set()
    states: list[StoredState] = []
    known_from_creation = 0  # so many states, without a hole
    for row in rows:
        assigned |= {*(row["replicas"] or ())}
        state = _state(row, assigned)
        if row["partition_epoch"] == len(states) == known_from_creation and row["replicas"] is not None:
            known_from_creation += 1
        is_last_known = cluster.kraft and bool(states) and _elects_last_known(states[-1], state)
        states.append(replace(state, trigger="last_known_leader") if is_last_known else state)
    for finding in (*check_sequence(cluster, states), *check_decisions(cluster, states)):
        verdict = verdict_of(finding)
        lacks_elr = cluster.elr_enabled and finding.at > 0 and rows[finding.at - 1]["elr"] is None
        if lacks_elr and finding.rule in JUDGED_BY_ELR:
            verdict = without_input(verdict, "elr_before")
        elif finding.rule == elr_disjoint_from_isr.__name__ and rows[finding.at]["elr"] is None:
            verdict = verdict_of(replace(finding, verdict=UNKNOWN, actual="", missing=("elr",)))
        elif finding.rule == elr_disjoint_from_isr.__name__ and finding.at >= known_from_creation:
            verdict = _with_unknown_assignments(verdict, cluster, states[finding.at])
        elif finding.verdict == VIOLATED and finding.at > 0:
            excuse = _possible_excuse(finding.rule, cluster, states[finding.at - 1], states[finding.at])
            verdict = verdict if excuse is None else without_input(verdict, excuse)
        yield finding.at, verdict


def _possible_excuse(rule: str, cluster: Cluster, before: StoredState, state: StoredState) -> str | None:
    """What no line tells by which an unclean leader may have been right: that an administrator asked for it (2.4 on,
    KIP-460), or that an eligible leader replica came back from an unclean shutdown, and so was none any more (KIP-966).
    """
    requested = unclean_by_request(cluster.release, None, state.trigger, kraft=cluster.kraft)
    if rule == unclean_leader_alone.__name__ and requested is None:
        asked_for = unclean_leader_alone(cluster, before, replace(state, trigger="unclean_request"))
        return "trigger" if asked_for is not None and asked_for.verdict != VIOLATED else None
    if rule == clean_candidate_first.__name__ and before.elr:
        without_elr = clean_candidate_first(cluster, replace(before, elr=()), state)
        return "unclean_shutdown" if without_elr is not None and without_elr.verdict != VIOLATED else None
    return None


def _with_unknown_assignments(verdict: Verdict, cluster: Cluster, state: StoredState) -> Verdict:
    """The verdict on eligible leader replicas of a state where not all assignments before it are known: a reassignment
    may have removed those that are not assigned."""
    judgement = elr_disjoint_from_isr(cluster, replace(state, departing=state.departing | {*state.elr}))
    is_excused = judgement is not None and judgement.verdict != VIOLATED
    return without_input(verdict, "replicas_before") if is_excused else verdict


def _elects_last_known(before: StoredState, after: StoredState) -> bool:
    """Whether the last known leader leads again where nobody is in sync or eligible (KIP-966), which comes before any
    unclean election."""
    return not before.isr and not before.elr and before.last_known_elr == (after.leader,)


def _state(row: Row, assigned: Collection[int] = ()) -> StoredState:
    """A PARTITION_TIMELINE row, with what its election went by, as the invariants take it; `assigned` were its replicas
    so far.

    `certainly_online` and `possibly_online`: null unknown.

    The timeline sorts ISRs; that of a new partition is in assignment order. An assignment without replicas is none that
    is known.
    """
    online, possible = row.get("certainly_online"), row.get("possibly_online")
    replicas, isr = row["replicas"] or None, tuple(row["isr"])
    trigger = "leader" if row["made_by"] == "leader" else row.get("trigger")
    if row["partition_epoch"] == 0 and replicas is not None:
        trigger, isr = "new", tuple(r for r in replicas if r in isr) + tuple(r for r in isr if r not in replicas)
    return StoredState(
        leader=row["leader"],
        leader_epoch=row["leader_epoch"],
        isr=isr,
        partition_epoch=row["partition_epoch"],
        controller_epoch=row["controller_epoch"],
        replicas=tuple(replicas) if replicas is not None else None,
        trigger=trigger,
        online=frozenset(online) if online is not None else None,
        maybe_online=frozenset(possible or ()) - frozenset(online or ()),
        unclean_enabled=row.get("unclean_enabled"),
        recovery=row.get("recovery"),
        min_isr=row.get("min_isr"),
        elr=tuple(row["elr"] or ()),
        last_known_elr=tuple(row.get("last_known_elr") or ()),
        departing=frozenset(assigned).difference(replicas) if replicas is not None else frozenset(),
    )
