"""One decision against the algorithm of its release: holds, violated or unknown, in words.

Plain functions over one election or one partition's states; `jobs.findings.replay` streams rows through them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schemas.kafka_values import NO_LEADER
from udfs.kafka import kraft_elections as kraft
from udfs.kafka.elections import Elected, Strategy, zk_elect
from udfs.kafka.invariants import (
    UNKNOWN,
    Cluster,
    Finding,
    Judgement,
    Outcome,
    StoredState,
    check_choice,
    check_sequence,
    explain,
)
from udfs.kafka.releases import ProtocolVersion, Release

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Verdict:
    """What one rule says of one decision."""

    rule: str
    verdict: str
    expected: str | None
    actual: str | None
    missing: tuple[str, ...]
    explanation: str


_RULES = {strategy: f"{strategy}_election" for strategy in Strategy} | {"none": "epoch_refresh"}


def judge_election(row: Row, release: Release, *, is_kraft: bool, elr_enabled: bool) -> Verdict:
    """An ELECTIONS row (with `unclean_enabled`, `certainly_online`, `possibly_online`) against its algorithm."""
    rule = "kraft_election" if is_kraft else _RULES.get(row["strategy"], "zk_election")
    logged: Outcome = (row["leader"], tuple(row["isr"] or ())) if row["succeeded"] else None
    missing = _missing(row, is_kraft=is_kraft)
    if missing:
        return _verdict(rule, Judgement(UNKNOWN, "the inputs of the decision", str(logged), missing))
    judgements = {
        allowed: _judge(row, release, logged, allowed, is_kraft=is_kraft, elr_enabled=elr_enabled)
        for allowed in ([row["unclean_enabled"]] if row["unclean_enabled"] is not None else [False, True])
    }
    verdicts = {judgement.verdict for judgement in judgements.values()}
    if len(verdicts) > 1:
        expected = "; ".join(f"{judgement.expected} if it is {allowed}" for allowed, judgement in judgements.items())
        shown = next(iter(judgements.values()))
        return _verdict(rule, Judgement(UNKNOWN, expected, shown.actual, ("unclean.leader.election.enable",)))
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
    row: Row, release: Release, logged: Outcome, allowed: bool, *, is_kraft: bool, elr_enabled: bool
) -> Judgement:
    certain, possible = row["certainly_online"], row["possibly_online"]
    if not is_kraft:
        return check_choice(lambda online: _zk(row, release, online, allowed), logged, certain, possible)
    kinds = [
        kraft.ElectionKind.ONLINE,
        kraft.ElectionKind.PREFERRED,
        *([kraft.ElectionKind.UNCLEAN] if allowed else []),
    ]

    def tried_as(kind: kraft.ElectionKind) -> Judgement:
        return check_choice(lambda online: _kraft(row, release, online, kind, elr_enabled), logged, certain, possible)

    tried = [tried_as(kind) for kind in kinds]
    return next((judgement for judgement in tried if judgement.verdict == "holds"), tried[0])


def _zk(row: Row, release: Release, online: Collection[int], allowed: bool) -> Outcome:
    """What the ZooKeeper controller decides if just these brokers are live; an epoch refresh (C.5) changes nothing."""
    if row["strategy"] == "none":
        return row["previous_leader"], tuple(row["isr_before"])
    replicas = row["replicas"]
    target = [r for r in replicas if r not in (row.get("removing_replicas") or ())]
    result = zk_elect(
        release,
        Strategy(row["strategy"]),
        assigned=replicas,
        isr=row["isr_before"],
        leader=row["previous_leader"] if row["previous_leader"] is not None else -1,
        leader_epoch=0,
        alive={*online, *row["shutting_down"]},
        target=target,
        shutting_down=row["shutting_down"],
        unclean_enabled=allowed,
    )
    return (result.leader, result.isr) if isinstance(result, Elected) else None


def _kraft(row: Row, release: Release, online: Collection[int], kind: kraft.ElectionKind, elr_enabled: bool) -> Outcome:
    """What the KRaft controller decides if just these brokers are acceptable.

    What the change asked of the ISR is not logged; it is taken to be what was written, or for an unclean outcome
    what was there. That can excuse a wrong decision, never accuse a right one.
    """
    old, new, isr_before = row["replicas_before"], row["replicas"], row["isr_before"]
    leaving = [r for r in old if r not in new]
    before = kraft.PartitionRegistration(
        replicas=tuple(old),
        isr=tuple(isr_before),
        leader=row["previous_leader"],
        adding=tuple(r for r in new if r not in isr_before) if leaving else (),
        removing=tuple(leaving),
        elr=tuple(row["elr_before"] or ()),
    )
    after = tuple(row["isr"] or ())
    from_outside = not leaving and after == (row["leader"],) and row["leader"] not in isr_before
    settings = kraft.ControllerConfig(release, ProtocolVersion.parse(str(release)), elr_enabled=elr_enabled)
    wanted = kraft.RequestedChange(isr=None if from_outside else (*after, *(r for r in leaving if r in isr_before)))
    done = kraft.apply_change(before, kraft.partition_change(settings, before, online, kind, wanted))
    return (done.leader, done.isr) if done.leader != NO_LEADER else None


def _verdict(rule: str, judgement: Judgement) -> Verdict:
    finding = Finding(rule, judgement.verdict, 0, judgement.expected, judgement.actual, judgement.missing)
    return Verdict(
        rule,
        judgement.verdict,
        judgement.expected or None,
        judgement.actual or None,
        judgement.missing,
        explain(finding),
    )


def judge_states(cluster: Cluster, rows: Sequence[Row]) -> Iterator[tuple[int, Verdict]]:
    """Invariants over the states of one incarnation in stored order: position and verdict of each rule applied."""
    states = [_state(row) for row in rows]
    for finding in check_sequence(cluster, states):
        yield (
            finding.at,
            Verdict(
                finding.rule,
                finding.verdict,
                finding.expected or None,
                finding.actual or None,
                finding.missing,
                explain(finding),
            ),
        )


def _state(row: Row) -> StoredState:
    """A PARTITION_TIMELINE row (with `trigger` and `live_brokers` of its election) as the invariants take it."""
    live, replicas, isr = row.get("live_brokers"), row["replicas"], tuple(row["isr"])
    trigger = "leader" if row["made_by"] == "leader" else row.get("trigger")
    if (
        row["partition_epoch"] == 0 and replicas is not None
    ):  # the timeline sorts ISRs; a newborn's is in assignment order
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
