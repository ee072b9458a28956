"""One decision against the algorithm of its release, one incarnation's states against the invariants.

Plain functions over rows as dicts; `verdict_rows` streams rows of tables through them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from schemas.kafka_values import NO_LEADER
from udfs.kafka.elections import Elected, Strategy, zk_elect
from udfs.kafka.invariants import check_sequence
from udfs.kafka.judgements import HOLDS, UNKNOWN, VIOLATED, Finding, Judgement, explain, lacking, unknown
from udfs.kafka.kraft_elections import partition_change
from udfs.kafka.kraft_partition import (
    ControllerConfig,
    ElectionKind,
    PartitionRegistration,
    RequestedChange,
    apply_change,
)
from udfs.kafka.plausible_choices import Outcome, check_choice, in_words
from udfs.kafka.releases import ProtocolVersion, Release, has_algorithm
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


JUDGED_BY_ELR = ("clean_candidate_first", "unclean_leader_alone")
"""Invariants that ask who was eligible: in the ISR, or an eligible leader replica."""
_RULES = {strategy: f"{strategy}_election" for strategy in Strategy} | {"none": "epoch_refresh"}


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


def without_elr(verdict: Verdict, missing: str = "elr_before") -> Verdict:
    """The verdict where the logs lack the eligible leader replicas: a leader outside the ISR may have been one of them.

    >>> verdict = Verdict("unclean_leader_alone", "violated", "a", "leader 3, ISR [3]", (), "b")
    >>> without_elr(verdict).missing
    ('elr_before',)
    """
    if verdict.verdict != VIOLATED:
        return verdict
    explanation = f"{verdict.rule} cannot be judged: the logs lack {lacking([missing])}; logged {verdict.actual}."
    return replace(verdict, verdict=UNKNOWN, missing=(missing,), explanation=explanation)


# ---- elections ------------------------------------------------------------------------------------------------------
def judge_election(row: Row, release: Release, *, is_kraft: bool, elr_enabled: bool) -> Verdict:
    """An ELECTIONS row (with `unclean_enabled`, `certainly_online`, `possibly_online`) against its algorithm."""
    rule = "kraft_election" if is_kraft else _RULES.get(row["strategy"], "zk_election")
    logged: Outcome = (row["leader"], tuple(row["isr"] or ())) if row["succeeded"] else None
    missing = _missing(row, is_kraft=is_kraft)
    if not has_algorithm(release, kraft=is_kraft):
        missing = (f"an algorithm to judge Kafka {release} by", *missing)
    if missing:
        return _verdict(rule, Judgement(UNKNOWN, "the choice of the algorithm", in_words(logged), missing))
    judgements = {
        is_allowed: _judge(row, release, logged, is_allowed, is_kraft=is_kraft, elr_enabled=elr_enabled)
        for is_allowed in ([row["unclean_enabled"]] if row["unclean_enabled"] is not None else [False, True])
    }
    verdicts = {judgement.verdict for judgement in judgements.values()}
    if len(verdicts) > 1:
        if_not, if_allowed = judgements[False].expected, judgements[True].expected
        expected = f"{if_not} if unclean elections are not allowed, {if_allowed} if they are"
        actual = judgements[False].actual
        return _verdict(rule, Judgement(UNKNOWN, expected, actual, ("unclean.leader.election.enable",)))
    return _verdict(rule, next(iter(judgements.values())))


def _missing(row: Row, *, is_kraft: bool) -> tuple[str, ...]:
    """Inputs without which an election cannot be judged."""
    needed = {"replicas": row["replicas"], "isr_before": row["isr_before"], "live_brokers": row["live_brokers"]}
    if is_kraft:
        needed |= {"replicas_before": row["replicas_before"], "previous_leader": row["previous_leader"]}
    elif row["strategy"] is None:
        needed["strategy"] = None
    return tuple(name for name, value in needed.items() if value is None)


def _judge(
    row: Row, release: Release, logged: Outcome, is_allowed: bool, *, is_kraft: bool, elr_enabled: bool
) -> Judgement:
    """An election with all inputs; in KRaft by the first kind of election that explains it."""
    certain, possible = row["certainly_online"], row["possibly_online"]
    if not is_kraft:
        return check_choice(lambda online: _zk(row, release, online, is_allowed), logged, certain, possible)
    kinds = [
        ElectionKind.ONLINE,
        ElectionKind.PREFERRED,
        *([ElectionKind.UNCLEAN] if is_allowed else []),
    ]

    def judged_as(kind: ElectionKind) -> Judgement:
        return check_choice(lambda online: _kraft(row, release, online, kind, elr_enabled), logged, certain, possible)

    judgements = [judged_as(kind) for kind in kinds]
    return next((judgement for judgement in judgements if judgement.verdict == HOLDS), judgements[0])


def _zk(row: Row, release: Release, online: Collection[int], is_allowed: bool) -> Outcome:
    """What the ZooKeeper controller decides if just these brokers are live; an epoch refresh changes nothing."""
    if row["strategy"] == "none":
        return row["previous_leader"], tuple(row["isr_before"])
    replicas = row["replicas"]
    target = [r for r in replicas if r not in (row.get("removing_replicas") or ())]
    result = zk_elect(
        release,
        Strategy(row["strategy"]),
        assigned=replicas,
        isr=row["isr_before"],
        leader=row["previous_leader"] if row["previous_leader"] is not None else NO_LEADER,
        leader_epoch=0,
        alive={*online, *row["shutting_down"]},
        target=target,
        shutting_down=row["shutting_down"],
        unclean_enabled=is_allowed,
    )
    return (result.leader, result.isr) if isinstance(result, Elected) else None


def _kraft(row: Row, release: Release, online: Collection[int], kind: ElectionKind, elr_enabled: bool) -> Outcome:
    """What the KRaft controller decides if just these brokers are acceptable.

    The ISR that a change asked for is not logged; it is taken to be what was written, or for an unclean outcome
    what was there. Neither is which replicas a reassignment added; as it ended, all of them were in sync then. That can
    excuse a wrong decision, never accuse a right one.
    """
    old, new, isr_before = row["replicas_before"], row["replicas"], row["isr_before"]
    leaving, after = [r for r in old if r not in new], tuple(row["isr"] or ())
    before = PartitionRegistration(
        replicas=tuple(old),
        isr=tuple(isr_before),
        leader=row["previous_leader"],
        adding=tuple(r for r in new if r in after and r not in isr_before) if leaving else (),
        removing=tuple(leaving),
        elr=tuple(row["elr_before"] or ()),
    )
    from_outside = not leaving and after == (row["leader"],) and row["leader"] not in isr_before
    config = ControllerConfig(release, ProtocolVersion.parse(str(release)), elr_enabled=elr_enabled)
    requested = RequestedChange(isr=None if from_outside else (*after, *(r for r in leaving if r in isr_before)))
    done = apply_change(before, partition_change(config, before, online, kind, requested))
    return (done.leader, done.isr) if done.leader != NO_LEADER else None


def _verdict(rule: str, judgement: Judgement) -> Verdict:
    return verdict_of(Finding(rule, judgement.verdict, 0, judgement.expected, judgement.actual, judgement.missing))


# ---- invariants -----------------------------------------------------------------------------------------------------
def judge_states(cluster: Cluster, rows: Sequence[Row]) -> Iterator[tuple[int, Verdict]]:
    """Invariants over the states of one incarnation in stored order: position and verdict of each rule applied."""
    states = [_state(row) for row in rows]
    for finding in check_sequence(cluster, states):
        verdict = verdict_of(finding)
        lacks_elr = cluster.elr_enabled and finding.at > 0 and rows[finding.at - 1]["elr"] is None
        if lacks_elr and finding.rule in JUDGED_BY_ELR:
            verdict = without_elr(verdict)
        elif finding.rule == elr_disjoint_from_isr.__name__ and rows[finding.at]["elr"] is None:
            verdict = _verdict(finding.rule, unknown(finding.expected, "elr"))
        yield finding.at, verdict


def _state(row: Row) -> StoredState:
    """A PARTITION_TIMELINE row (with `trigger` and `live_brokers` of its election) as the invariants take it.

    The timeline sorts ISRs; that of a new partition is in assignment order.
    """
    live, replicas, isr = row.get("live_brokers"), row["replicas"], tuple(row["isr"])
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
        online=frozenset(live) if live is not None else None,
        elr=tuple(row["elr"] or ()),
    )
