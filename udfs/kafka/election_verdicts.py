"""One election, of ELECTIONS, against the algorithm of its release: plain functions over rows as dicts.

Inputs that no line prints are tried with every plausible value (`plausible_inputs`): if all agree there is a verdict,
else it is unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from schemas.kafka_values import NO_LEADER, UNCLEAN_SWITCH
from udfs.kafka.election_words import in_one_sentence
from udfs.kafka.elections import Elected, Strategy, zk_elect, zk_new_partition
from udfs.kafka.judgements import HOLDS, UNKNOWN, VIOLATED, Finding, Judgement, judge
from udfs.kafka.kraft_elections import partition_change
from udfs.kafka.kraft_partition import (
    ControllerConfig,
    ElectionKind,
    PartitionRegistration,
    RequestedChange,
    apply_change,
)
from udfs.kafka.plausible_choices import Outcome, check_choice, in_words, online_sets
from udfs.kafka.plausible_inputs import plausible_rows
from udfs.kafka.releases import ProtocolVersion, Release, has_algorithm, unclean_by_request
from udfs.kafka.replica_removal import ReplicaRemoved, zk_remove_replica
from udfs.kafka.verdicts import Verdict, verdict_of

Row = Mapping[str, Any]
EPOCH_REFRESH = "none"
"""Strategy, in ELECTIONS, of a new leader epoch without an election."""
REPLICA_REMOVAL, NEW = "replica_removal", "new"
_RULES = {strategy: f"{strategy}_election" for strategy in Strategy} | {
    EPOCH_REFRESH: "epoch_refresh",
    REPLICA_REMOVAL: "replica_removal",
    NEW: "new_partition",
}
JUST_ALLOWED = "unclean_election_enabled"
"""Trigger, in ELECTIONS, of elections that follow as unclean ones are allowed."""
ASSIGNMENT_ORDER = Release(0, 10)
"""From here on no election goes by the order in which the ISR is stored."""
MOST_ISRS = 8
"""Most ISRs that an election may have left for the next one to be judged by them."""
_ASSIGNMENTS = ("replicas", "replicas_before", "target_replicas")
_KINDS = (ElectionKind.ONLINE, ElectionKind.PREFERRED, ElectionKind.UNCLEAN)
_RESTARTED = "unclean_shutdown"
"""Missing input: whether a broker registers anew that was not shut down cleanly, and so is no eligible leader replica
any more (KIP-966). The decision that takes it out may elect another one."""


def judge_election(row: Row, release: Release, *, is_kraft: bool, elr_enabled: bool) -> Verdict:
    """An ELECTIONS row (with `unclean_enabled`, `certainly_online`, `possibly_online`) against its algorithm.

    Further inputs, which may be missing: `plausible_replicas`, the assignments that it may have had,
    `removed_replica`, the replica that the controller says it took out of the ISR, and `refuted_input`, the name of one
    that cannot have been so. An election that failed with a `refusal` could not be stored, whoever was to lead. An
    assignment without replicas, as damaged lines print it, is taken for one that is not known.
    """
    row = _without_empty_assignments(row)
    strategy = None if is_kraft else _strategy(row)
    rule = "kraft_election" if is_kraft else _RULES.get(strategy or "", "zk_election")
    isr = None if row["isr"] is None else tuple(row["isr"])
    logged: Outcome = (row["leader"], isr) if row["succeeded"] else None
    by_isr_order = not is_kraft and release < ASSIGNMENT_ORDER
    rows, missing = plausible_rows({**row, "strategy": strategy}, is_kraft=is_kraft, by_isr_order=by_isr_order)
    if not is_kraft and strategy is None and not row["succeeded"]:
        missing = (*missing, "strategy")
    if not is_kraft and not row["succeeded"] and row.get("refusal"):
        return _verdict(rule, judge(logged is None, f"no leader, for {row['refusal']}", in_words(logged)))
    if refuted := row.get("refuted_input"):
        rows, missing = (), (refuted, *missing)
    if not has_algorithm(release, kraft=is_kraft):
        rows, missing = (), (f"an algorithm to judge Kafka {release} by", *missing)
    if not rows or "strategy" in missing:
        return _verdict(rule, Judgement(UNKNOWN, "the choice of the algorithm", in_words(logged), missing))
    judgements = [
        _judge_switch(
            {**plausible, "strategy": None if is_kraft else _strategy({**plausible, "strategy": strategy})},
            release,
            logged,
            is_kraft=is_kraft,
            elr_enabled=elr_enabled,
        )
        for plausible in rows
    ]
    judgement = _agreed(judgements, missing)
    return _verdict(rule, judgement, row if is_kraft else {**row, "strategy": strategy}, rows)


def isrs_left(row: Row, release: Release) -> list[list[int]]:
    """The ISRs that a ZooKeeper controller's election may have left of which no line prints the ISR, if it was right:
    by each that it may have had before, each strategy and each set of brokers that may have been online.

    Empty if the ISR is known, nobody was elected, or there are more than MOST_ISRS.
    """
    row = _without_empty_assignments(row)
    if not row["succeeded"] or row["isr"] is not None or not has_algorithm(release, kraft=False):
        return []
    isrs: set[tuple[int, ...]] = set()
    for plausible in plausible_rows({**row, "strategy": _strategy(row)}, is_kraft=False)[0]:
        leader, before = row["leader"], plausible["isr_before"]
        online = list(online_sets(plausible["certainly_online"], plausible["possibly_online"]))
        strategies = [plausible["strategy"]] if plausible["strategy"] else _possible_strategies(plausible)
        for strategy, alive, allowed in product(strategies, online, {False, row["unclean_enabled"] is not False}):
            outcome = _zk(_as_strategy(plausible, strategy), release, alive, allowed)
            if outcome is not None and outcome[0] == leader and outcome[1] is not None:
                isrs.add(tuple(sorted(outcome[1])))
        if leader == row["previous_leader"]:  # it may be that a replica was taken out
            gone = {*before} - {leader} - {*plausible["certainly_online"]}
            isrs |= {tuple(broker for broker in sorted(before) if broker != replica) for replica in gone}
    return [list(isr) for isr in sorted(isrs)] if len(isrs) <= MOST_ISRS else []


def _without_empty_assignments(row: Row) -> Row:
    """An election whose assignments without replicas, as damaged lines print them, are not known."""
    return {**row, **{name: row.get(name) or None for name in _ASSIGNMENTS}}


def _strategies(row: Row) -> list[str]:
    """Strategies of decisions of which no line tells it; only a leader that is known can have a new epoch."""
    return [*Strategy, *([] if row["previous_leader"] is None else [EPOCH_REFRESH])]


def _possible_strategies(row: Row) -> list[str]:
    """The same without those by which nobody was elected then: a reassignment elects a leader if the one before is not
    to stay (`KafkaController.moveReassignedPartitionLeaderIfRequired`)."""
    stays = row["previous_leader"] in row["replicas"] and len(row.get("plausible_replicas") or ()) <= 1
    return [strategy for strategy in _strategies(row) if strategy != Strategy.REASSIGN or not stays]


def _strategy(row: Row) -> str | None:
    """The strategy of a ZooKeeper controller's decision: as logged, or as its outcome shows; None unknown.

    One that leaves the leader and takes one member out of the ISR took that replica offline: no election does that.
    Lines name it (`removed_replica`; through 1.0 and from 2.6 on), also where the ISR before is unknown.
    """
    isr_before, isr = row["isr_before"], row["isr"]
    strategy: str | None = row["strategy"]
    if strategy is not None or not row["succeeded"] or isr is None or row["leader"] != row["previous_leader"]:
        return strategy
    if isr_before is None:
        removed = row.get("removed_replica")
        return None if removed is None or removed in isr else REPLICA_REMOVAL
    return REPLICA_REMOVAL if len(isr_before) == len(isr) + 1 and set(isr) < set(isr_before) else None


def _agreed(judgements: list[Judgement], missing: tuple[str, ...]) -> Judgement:
    """What the judgements for all plausible values of some inputs (`missing`; none: they are known) have in common.

    Values that were only worked out accuse nobody.
    """
    verdicts = {judgement.verdict for judgement in judgements}
    first = judgements[0]
    if not missing or verdicts == {HOLDS}:
        return first
    choices = (choice for judgement in judgements for choice in judgement.expected.split(" or ") if choice)
    expected = " or ".join(dict.fromkeys(choices))
    lacking = next((j.missing for j in judgements if j.verdict == UNKNOWN), ()) if UNKNOWN in verdicts else ()
    return Judgement(UNKNOWN, expected, first.actual, tuple(dict.fromkeys((*missing, *lacking))))


def _judge_switch(row: Row, release: Release, logged: Outcome, *, is_kraft: bool, elr_enabled: bool) -> Judgement:
    """An election with all inputs but, maybe, whether unclean ones were allowed.

    What lines say of the topic (`topic_switch`) may explain a decision; it accuses nobody. Where it is not what was set
    for us, it was changed at run time: neither accuses.
    """
    requested = unclean_by_request(release, row["strategy"], row.get("trigger"), kraft=is_kraft)
    allowed = row["unclean_enabled"]
    is_settled = allowed is not None and not was_changed(row)
    switches = [True] if requested else [allowed] if is_settled and requested is False else [False, True]
    judgements = {
        switch: _judge(row, release, logged, switch, is_kraft=is_kraft, elr_enabled=elr_enabled) for switch in switches
    }
    if len({judgement.verdict for judgement in judgements.values()}) == 1:
        return judgements[switches[0]]
    if_not, if_allowed = judgements[False].expected, judgements[True].expected
    logged_switch = row.get("topic_switch") if allowed is None else allowed
    if logged_switch is not None and judgements[logged_switch].verdict == HOLDS:
        return judgements[logged_switch]
    what = "are asked for" if is_settled else "are allowed"
    expected = f"{if_not}, or, if unclean elections {what}, {if_allowed}"
    return Judgement(UNKNOWN, expected, judgements[False].actual, ("trigger" if is_settled else UNCLEAN_SWITCH,))


def was_changed(row: Row) -> bool:
    """Whether unclean elections may have been allowed when they are set not to be, or the other way round: the last
    line about the topic says so, or the controller was electing because they had just been allowed
    (`KafkaController.processTopicUncleanLeaderElectionEnable`, 2.0 on)."""
    allowed, by_line = row["unclean_enabled"], row.get("topic_switch")
    return (by_line is not None and by_line != allowed) or (allowed is False and row.get("trigger") == JUST_ALLOWED)


def _judge(
    row: Row, release: Release, logged: Outcome, is_allowed: bool, *, is_kraft: bool, elr_enabled: bool
) -> Judgement:
    """An election with all inputs; where its kind is not known by the first kind that explains it."""

    def judged_as(kind: str) -> Judgement:
        def decide(online: Collection[int]) -> Outcome:
            if is_kraft:
                return _kraft(row, release, online, ElectionKind(kind), elr_enabled)
            return _zk(_as_strategy(row, kind), release, online, is_allowed)

        def reassigned(asked: RequestedChange) -> Judgement:
            return check_choice(
                lambda who: _kraft(row, release, who, ElectionKind(kind), elr_enabled, asked), logged, *online
            )

        def without_restarted(online: Collection[int]) -> Outcome:
            gone = [broker for broker in row["elr_before"] or () if broker not in row["certainly_online"]]
            return _kraft({**row, "unclean_shutdown": gone}, release, online, ElectionKind(kind), elr_enabled)

        online = row["certainly_online"], row["possibly_online"]
        judgement = check_choice(decide, logged, *online)
        if judgement.verdict == HOLDS or not is_kraft:
            return judgement
        for asked in _reassignments(row):
            if (by_step := reassigned(asked)).verdict == HOLDS:
                return by_step
        if elr_enabled and check_choice(without_restarted, logged, *online).verdict == HOLDS:
            return Judgement(UNKNOWN, judgement.expected, judgement.actual, (_RESTARTED,))
        return judgement

    if is_kraft:
        kinds: list[str] = [kind for kind in _KINDS if is_allowed or kind != ElectionKind.UNCLEAN]
    else:
        kinds = [row["strategy"]] if row["strategy"] else _strategies(row)
    judgements = [judged_as(kind) for kind in kinds]
    holding = next((judgement for judgement in judgements if judgement.verdict == HOLDS), None)
    if holding or len(kinds) == 1 or is_kraft:
        return holding or judgements[0]
    expected = " or ".join(dict.fromkeys(judgement.expected for judgement in judgements))
    return Judgement(VIOLATED, expected, judgements[0].actual)


def _as_strategy(row: Row, strategy: str) -> Row:
    """A ZooKeeper controller's decision, taken for one of that strategy. If the controller's own line does not say it,
    those who left the ISR in a controlled shutdown are those who shut down; where nobody knows who left, the leader
    before."""
    if row["strategy"] is not None or strategy != Strategy.CONTROLLED_SHUTDOWN:
        return {**row, "strategy": strategy}
    stayed = row["isr"]
    gone = [b for b in row["isr_before"] if (b == row["previous_leader"] if stayed is None else b not in stayed)]
    return {**row, "strategy": strategy, "shutting_down": sorted({*row["shutting_down"], *gone})}


def _zk(row: Row, release: Release, online: Collection[int], is_allowed: bool) -> Outcome:
    """What the ZooKeeper controller decides if just these brokers are live; an epoch refresh changes nothing."""
    previous = row["previous_leader"]
    if row["strategy"] == EPOCH_REFRESH:
        return previous, tuple(row["isr_before"])
    replicas = row["replicas"]
    if row["strategy"] == REPLICA_REMOVAL:
        removed = next(broker for broker in row["isr_before"] if broker not in row["isr"])
        outcome = zk_remove_replica(
            release, removed, assigned=replicas or (), leader=previous, isr=row["isr_before"], leader_epoch=0
        )
        return (outcome.leader, outcome.isr) if isinstance(outcome, ReplicaRemoved) else None
    if row["strategy"] == NEW:
        born = zk_new_partition(release, replicas, online)
        return (born.leader, born.isr) if isinstance(born, Elected) else None
    target = row.get("target_replicas") or replicas
    result = zk_elect(
        release,
        Strategy(row["strategy"]),
        assigned=replicas or target,
        isr=row["isr_before"],
        leader=previous if previous is not None else NO_LEADER,
        leader_epoch=0,
        alive={*online, *row["shutting_down"]},
        target=target,
        shutting_down=row["shutting_down"],
        unclean_enabled=is_allowed,
    )
    return (result.leader, result.isr) if isinstance(result, Elected) else None


def _kraft(
    row: Row,
    release: Release,
    online: Collection[int],
    kind: ElectionKind,
    elr_enabled: bool,
    asked: RequestedChange | None = None,
) -> Outcome:
    """What the KRaft controller decides if just these brokers are acceptable.

    The ISR that a change asked for is not logged; it is taken to be what was written, for an unclean outcome what was
    there, and for an eligible leader replica who of it was online. Neither is which replicas a reassignment added: as
    it ended, all of them were in sync then, so it is taken to be all targets that were. That can excuse a wrong
    decision, never accuse a right one.

    `asked`: what it asked for, if that is known (see `_reassignments`).
    """
    old, new, isr_before = row["replicas_before"], row["replicas"], row["isr_before"]
    leaving, after = [r for r in old if r not in new], tuple(row["isr"] or ())
    before = PartitionRegistration(
        replicas=tuple(old),
        isr=tuple(isr_before),
        leader=row["previous_leader"],
        adding=tuple(r for r in new if r in after) if leaving else (),
        removing=tuple(leaving),
        elr=tuple(row["elr_before"] or ()),
        last_known_elr=tuple(row.get("last_known_before") or ()),
    )
    from_outside = not leaving and after == (row["leader"],) and row["leader"] not in isr_before
    is_eligible = elr_enabled and row["leader"] in before.elr  # it leads only as the last members leave the ISR
    # through 3.1 a leader that is in the ISR asked for stays, be it there or not
    is_shrunk = is_eligible or release < Release(3, 2)
    kept = tuple(broker for broker in isr_before if broker in online) if is_shrunk else None
    config = ControllerConfig(release, ProtocolVersion.parse(str(release)), elr_enabled=elr_enabled)
    requested = RequestedChange(
        isr=kept if from_outside else (*after, *(r for r in leaving if r in isr_before)),
        unclean_shutdown=tuple(row.get("unclean_shutdown") or ()),
    )
    done = apply_change(before, partition_change(config, before, online, kind, asked or requested))
    return (done.leader, done.isr) if done.leader in old else None  # see `fails_to_add`


def _reassignments(row: Row) -> Iterator[RequestedChange]:
    """What a KRaft change asked for that is a step of a reassignment, other than its end: it was cancelled, so that
    those that stay need not be in sync; or it begins, and its order of the replicas counts."""
    new, old = tuple(row["replicas"]), row["replicas_before"]
    if not set(old) <= set(new):
        remaining = tuple(replica for replica in row["isr_before"] if replica in new)
        yield RequestedChange(isr=remaining or new[:1], replicas=new, adding=(), removing=())
    if added := tuple(replica for replica in new if replica not in old):
        yield RequestedChange(replicas=new, adding=added)


def _verdict(rule: str, judgement: Judgement, row: Row | None = None, plausible: Sequence[Row] = ()) -> Verdict:
    """A verdict; of a `row` its inputs stand in the explanation, as they are logged or `plausible`."""
    verdict = verdict_of(Finding(rule, judgement.verdict, 0, judgement.expected, judgement.actual, judgement.missing))
    return verdict if row is None else in_one_sentence(verdict, row, plausible)
