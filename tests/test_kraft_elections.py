"""KRaft partition changes against tables worked out by hand from Kafka's source, and what must always hold."""

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.kafka.elections import RECOVERED, RECOVERING, ElectionAnswer, Refused
from udfs.kafka.kraft_elections import (
    acceptable_brokers,
    election_kind,
    fence_2_8,
    kraft_elect_request,
    kraft_new_partition,
    partition_change,
    unfence_2_8,
)
from udfs.kafka.kraft_partition import (
    ControllerConfig,
    ElectionKind,
    PartitionRegistration,
    RequestedChange,
    apply_change,
)
from udfs.kafka.kraft_partition import PartitionChangeRecord as Record
from udfs.kafka.reassignment import (
    Completed,
    ReassignmentLists,
    kraft_reassign_complete,
    kraft_reassign_lists,
    kraft_reassign_plan,
    kraft_reassign_revert,
)
from udfs.kafka.releases import MINOR_RELEASES, TRUNK, ProtocolVersion, Release

NOBODY = -1
Ids = Sequence[int]
IdTuple = tuple[int, ...]  # as records and registrations hold them


def settings(text: str, metadata_version: str = "3.9-IV0", **further: Any) -> ControllerConfig:
    return ControllerConfig(Release.parse(text), ProtocolVersion.parse(metadata_version), **further)


def partition(isr: Iterable[int], leader: int, **further: Any) -> PartitionRegistration:
    return PartitionRegistration((1, 2, 3), tuple(isr), leader, leader_epoch=5, partition_epoch=9, **further)


# --- elections and leader epochs --------------------------------------------------------------------------------------

# release, metadata version, isr, leader, wanted ISR, acceptable, kind -> record
CHANGES: dict[str, tuple[str, str, Ids, int, IdTuple | None, Ids, str, Record | None]] = {
    "the leader stays if it may": ("3.2", "3.2-IV0", [1, 2], 2, None, [1, 2], "ONLINE", None),
    "preferred takes over": ("3.2", "3.2-IV0", [1, 2], 2, None, [1, 2], "PREFERRED", Record(leader=1)),
    "preferred is out of sync": ("3.2", "3.2-IV0", [2], 2, None, [1, 2], "PREFERRED", None),
    "preferred and leader gone, another": ("3.2", "3.2-IV0", [2, 3], 2, None, [1, 3], "PREFERRED", Record(leader=3)),
    "preferred is never unclean": ("3.2", "3.2-IV0", [2], 2, None, [1], "PREFERRED", Record(leader=NOBODY)),
    "replica order, not ISR order": ("3.2", "3.2-IV0", [3, 2, 1], 3, (2, 1), [1, 2], "ONLINE", Record(1, (2, 1))),
    "online leaves nobody": ("3.9", "3.9-IV0", [1], 1, (), [2, 3], "ONLINE", Record(leader=NOBODY)),
    "unclean picks in replica order": (
        *("3.9", "3.9-IV0", [1], 1, (), [3, 2], "UNCLEAN"),
        Record(2, (2,), recovery=RECOVERING),
    ),
    "unclean prefers clean": ("3.9", "3.9-IV0", [3, 1], 1, (3,), [2, 3], "UNCLEAN", Record(3, (3,))),
    "no recovery state with old metadata": ("3.2", "3.1-IV0", [1], 1, (), [2], "UNCLEAN", Record(2, (2,))),
    "nobody acceptable, unclean or not": ("3.9", "3.9-IV0", [1], NOBODY, (1,), [], "UNCLEAN", None),
    "a growing ISR never bumps": ("3.0", "3.0-IV1", [1], 1, (1, 2), [1, 2], "ONLINE", Record(isr=(1, 2))),
    "a shrinking ISR bumped": ("3.5", "3.5-IV2", [1, 2], 1, (1,), [1], "ONLINE", Record(1, (1,))),
    "until 3.6": ("3.6", "3.6-IV0", [1, 2], 1, (1,), [1], "ONLINE", Record(isr=(1,))),
    "a reordered one never": ("3.5", "3.5-IV2", [1, 2], 1, (2, 1), [1, 2], "ONLINE", Record(isr=(2, 1))),
    "an ISR that can not change bumped": ("3.7", "3.5-IV2", [1], NOBODY, (), [], "ONLINE", Record(leader=NOBODY)),
    "until 3.8": ("3.8", "3.5-IV2", [1], NOBODY, (), [], "ONLINE", None),
    "3.0 elects only if the leader left the ISR": ("3.0", "3.0-IV1", [1, 2], 2, None, [1], "ONLINE", None),
    "3.0 moves to the best in sync": ("3.0", "3.0-IV1", [1, 2, 3], 3, (1, 2), [2, 1], "ONLINE", Record(1, (1, 2))),
    "3.0 moves to preferred": ("3.1", "3.1-IV0", [1, 2], 2, None, [1, 2], "PREFERRED", Record(leader=1)),
    "3.0 unclean loses its own ISR": ("3.0", "3.0-IV1", [1, 3], 1, (3,), [2], "UNCLEAN", Record(2, (3,))),
    "3.2 unclean keeps it": (
        *("3.2", "3.2-IV0", [1, 3], 1, (3,), [2], "UNCLEAN"),
        Record(2, (2,), recovery=RECOVERING),
    ),
}


@pytest.mark.parametrize("case", CHANGES)
def test_change(case: str) -> None:
    text, metadata_version, isr, leader, wanted_isr, acceptable, kind, record = CHANGES[case]
    config = settings(text, metadata_version), partition(isr, leader), acceptable, kind, RequestedChange(isr=wanted_isr)
    assert partition_change(*config) == record


def test_shrinking_bumps_in_migration() -> None:
    change = partition_change(
        settings("3.6", "3.6-IV0", zk_migration=True), partition([1, 2], 1), [1], "ONLINE", RequestedChange(isr=(1,))
    )
    assert change == Record(1, (1,))


def test_a_leader_reports_the_end_of_recovery() -> None:
    recovering = partition([1], 1, recovery=RECOVERING)
    requested = RequestedChange(isr=(1,), recovery=RECOVERED)
    assert partition_change(settings("3.9"), recovering, [1], "ONLINE", requested) == Record(recovery=RECOVERED)
    assert partition_change(settings("3.2", "3.2-IV0"), recovering, [1], "ONLINE", requested) is None
    of_more = RequestedChange(isr=(1, 2), recovery=RECOVERED)
    record = partition_change(settings("3.2", "3.2-IV0"), recovering, [1, 2], "ONLINE", of_more)
    assert record == Record(isr=(1, 2), recovery=RECOVERED)


def test_a_topic_setting_mattered_to_3_0() -> None:
    config = partition([1], 1), [2], ElectionKind.ONLINE, RequestedChange(isr=())
    assert partition_change(settings("3.1", "3.1-IV0"), *config, topic_allows_unclean=True) == Record(2, (2,))


def test_epochs_after_a_record() -> None:
    before = partition([1, 2], 1)
    assert apply_change(before, None) == before
    after = apply_change(before, Record(isr=(1,)))
    assert (after.leader, after.isr, after.leader_epoch, after.partition_epoch) == (1, (1,), 5, 10)
    assert apply_change(before, Record(leader=1)).leader_epoch == 6


# release, unfenced, in controlled shutdown, offline directories, further -> who may lead
ACCEPTABLE: dict[str, tuple[str, Ids, Ids, Ids, dict[str, int], set[int]]] = {
    "shutting down counts not before 3.3": ("3.2", [1, 2], [2], [], {}, {1, 2}),
    "KIP-841": ("3.3", [1, 2], [2], [], {}, {1}),
    "directories before 3.7": ("3.6", [1, 2], [], [2], {}, {1, 2}),
    "directories": ("3.7", [1, 2], [], [2], {}, {1}),
    "one being fenced": ("3.9", [1, 2], [], [], {"removing": 1}, {2}),
    "one being unfenced": ("3.9", [1], [], [], {"adding": 2}, {1, 2}),
}


@pytest.mark.parametrize("case", ACCEPTABLE)
def test_acceptable(case: str) -> None:
    text, unfenced, leaving, offline, further, who = ACCEPTABLE[case]
    assert acceptable_brokers(Release.parse(text), unfenced, leaving, offline, **further) == who


def test_kinds() -> None:
    assert election_kind(Release(3, 9), "broker", topic_allows_unclean=True) == ElectionKind.UNCLEAN
    assert election_kind(Release(3, 8), "broker", topic_allows_unclean=True) == ElectionKind.ONLINE
    assert election_kind(Release(3, 9), "alter_partition", topic_allows_unclean=False) == ElectionKind.ONLINE
    assert election_kind(Release(3, 9), "reassignment", topic_allows_unclean=True) == ElectionKind.ONLINE
    assert election_kind(Release(3, 9), "preferred", topic_allows_unclean=True) == ElectionKind.PREFERRED
    with pytest.raises(ValueError, match="Unknown cause"):
        election_kind(Release(3, 9), "weather", topic_allows_unclean=True)


# --- A.10 -------------------------------------------------------------------------------------------------------------

# release, isr, leader, elr, last known, wanted ISR, unclean shutdown, acceptable, kind -> record; min ISR 2
Eligible = tuple[str, Ids, int, Ids, Ids, IdTuple | None, IdTuple, Ids, str, Record | None]
ELR: dict[str, Eligible] = {
    "at min ISR nobody is kept": ("4.1", [1], 1, [2], [], (1, 2), (), [1, 2], "ONLINE", Record(isr=(1, 2), elr=())),
    "below it leavers are eligible": ("4.1", [1, 2], 1, [], [], (1,), (), [1], "ONLINE", Record(isr=(1,), elr=(2,))),
    "not after an unclean shutdown": ("4.1", [1, 2], 1, [], [], (1,), (2,), [1], "ONLINE", Record(isr=(1,))),
    "the last one leaves, and is remembered": (
        *("4.1", [1], 1, [2], [], (), (), [], "ONLINE"),
        Record(NOBODY, (), elr=(1, 2), last_known_elr=(1,)),
    ),
    "an eligible one is elected, cleanly": (
        *("4.1", [], NOBODY, [1, 2], [1], None, (), [2], "ONLINE"),
        Record(2, (2,), elr=(1,), last_known_elr=()),
    ),
    "in the ISR goes before eligible": (
        *("4.1", [2], NOBODY, [1], [], None, (), [1, 2], "ONLINE"),
        Record(leader=2),
    ),
    "the last known leader returns": (
        *("4.1", [], NOBODY, [], [3], None, (), [1, 3], "ONLINE"),
        Record(3, (3,), last_known_elr=(), recovery=RECOVERING),
    ),
    "dead, it is elected through 4.0": (
        *("4.0", [], NOBODY, [], [3], None, (), [1], "ONLINE"),
        Record(3, (3,), last_known_elr=(), recovery=RECOVERING),
    ),
    "dead, it is passed over from 4.1": ("4.1", [], NOBODY, [], [3], None, (), [1], "ONLINE", None),
    "two last known are no leader": ("4.1", [], NOBODY, [], [2, 3], None, (), [2, 3], "ONLINE", None),
    "unclean clears the ELR": (
        *("4.1", [], NOBODY, [2], [1], None, (), [3], "UNCLEAN"),
        Record(3, (3,), elr=(), last_known_elr=(), recovery=RECOVERING),
    ),
}


@pytest.mark.parametrize("case", ELR)
def test_eligible_leader_replicas(case: str) -> None:
    text, isr, leader, elr, last_known, requested, unclean_shutdown, acceptable, kind, record = ELR[case]
    config = (
        settings(text, "4.0-IV1", elr_enabled=True, min_isr=2),
        partition(isr, leader, elr=tuple(elr), last_known_elr=tuple(last_known)),
        *(acceptable, kind, RequestedChange(isr=requested, unclean_shutdown=unclean_shutdown)),
    )
    assert partition_change(*config) == record


def test_min_isr_is_capped_at_the_replication_factor() -> None:
    lonely = PartitionRegistration((1,), (1,), 1)
    emptied = partition_change(
        settings("4.1", elr_enabled=True, min_isr=3), lonely, [], "ONLINE", RequestedChange(isr=())
    )
    assert emptied == Record(NOBODY, (), elr=(1,), last_known_elr=(1,))
    returned = apply_change(lonely, emptied)
    back = partition_change(settings("4.1", elr_enabled=True, min_isr=3), returned, [1])
    assert back == Record(1, (1,), elr=(), last_known_elr=())


def test_last_known_elr_without_last_known_leader() -> None:
    config = settings("3.9", elr_enabled=True, min_isr=2, last_known_leader=False), partition([1, 2], 1)
    change = partition_change(*config, [1], "ONLINE", RequestedChange(isr=(1,), unclean_shutdown=(2,)))
    assert change == Record(isr=(1,), last_known_elr=(2,))


@pytest.mark.parametrize(("release", "last_known"), [("4.1", None), ("4.1.1", (1,)), ("4.3", (1,))])
def test_from_4_1_1_on_the_last_leader_is_known_whoever_is_in_sync(
    release: str, last_known: tuple[int, ...] | None
) -> None:
    """2, which is in the ISR, may not lead as 1 goes; 4.1.1 clears what it knows only as somebody leads again."""
    config = settings(release, elr_enabled=True, min_isr=2)
    left = partition_change(config, partition([1, 2], 1), [], "ONLINE", RequestedChange(isr=(2,)))
    assert left == Record(NOBODY, (2,), elr=(1,), last_known_elr=last_known)
    alone = apply_change(partition([1, 2], 1), left)
    assert partition_change(config, alone, []) is None
    cleared = None if last_known is None else ()
    assert partition_change(config, alone, [2]) == Record(2, last_known_elr=cleared)


# isr, leader, elr, last known, wanted ISR, unclean shutdown, acceptable -> record
LAST_KNOWN_IN_3_7: dict[str, tuple[Ids, int, IdTuple, IdTuple, IdTuple | None, IdTuple, Ids, Record | None]] = {
    "members, with the mode, too": ([1, 2], 1, (), (), (1,), (2,), [1], Record(isr=(1,), last_known_elr=(2,))),
    "until the ISR empties": ([1], 1, (3,), (2,), (), (1,), [], Record(NOBODY, (), last_known_elr=(1,))),
    "one stays while nobody leads": ([], NOBODY, (2, 3), (1,), None, (3,), [], Record(elr=(2,))),
    "two do not": ([], NOBODY, (3,), (1, 2), None, (3,), [], Record(elr=(), last_known_elr=(1, 2, 3))),
    "nor is it cleared as another leads": ([], NOBODY, (2,), (1,), None, (), [2], Record(2, (2,), elr=())),
}


@pytest.mark.parametrize("case", LAST_KNOWN_IN_3_7)
def test_last_known_elr_in_3_7(case: str) -> None:
    isr, leader, elr, last_known, requested, unclean_shutdown, acceptable, record = LAST_KNOWN_IN_3_7[case]
    config = (
        settings("3.7", "3.8-IV0", elr_enabled=True, min_isr=2),
        partition(isr, leader, elr=elr, last_known_elr=last_known),
        *(acceptable, "ONLINE", RequestedChange(isr=requested, unclean_shutdown=unclean_shutdown)),
    )
    assert partition_change(*config) == record


def test_no_eligible_leader_replicas_before_3_7() -> None:
    with pytest.raises(ValueError, match="no eligible leader replicas"):
        partition_change(settings("3.6", elr_enabled=True), partition([1], 1), [1])


# --- 2.8, requests, birth ---------------------------------------------------------------------------------------------


def test_2_8_fences_and_unfences() -> None:
    assert fence_2_8(partition([1, 2, 3], 2), 2) == Record(1, (1, 3))
    assert fence_2_8(partition([1, 2], 1), 2) == Record(1, (1,))
    assert fence_2_8(partition([1], 1), 1) == Record(leader=NOBODY)
    assert fence_2_8(partition([1], 1), 3) is None
    assert unfence_2_8(partition([1], NOBODY), 1) == Record(leader=1)
    assert unfence_2_8(partition([1], NOBODY), 2) is None
    assert unfence_2_8(partition([1], 1), 1) is None
    with pytest.raises(ValueError, match="no change builder"):
        partition_change(settings("2.8"), partition([1], 1), [1])


# release, type, isr, leader, acceptable -> answer
REQUESTS: dict[str, tuple[str, str, Ids, int, Ids, tuple[str, int, IdTuple, int]]] = {
    "already preferred": ("3.1", "PREFERRED", [1, 2], 1, [1, 2], ("ELECTION_NOT_NEEDED", 1, (1, 2), 0)),
    "already preferred in 3.0": ("3.0", "PREFERRED", [1, 2], 1, [1, 2], ("NONE", 1, (1, 2), 0)),
    "preferred takes over": ("4.1", "PREFERRED", [1, 2], 2, [1, 2], ("NONE", 1, (1, 2), 1)),
    "preferred not to be had": ("4.1", "PREFERRED", [2], 2, [2], ("PREFERRED_LEADER_NOT_AVAILABLE", 2, (2,), 0)),
    "a leader exists": ("4.1", "UNCLEAN", [2], 2, [1, 2], ("ELECTION_NOT_NEEDED", 2, (2,), 0)),
    "unclean": ("4.1", "UNCLEAN", [2], -1, [3], ("NONE", 3, (3,), 1)),
    "nobody to elect": ("4.1", "UNCLEAN", [2], -1, [], ("ELIGIBLE_LEADERS_NOT_AVAILABLE", -1, (2,), 0)),
    "nobody to elect in 3.0": ("3.0", "PREFERRED", [2], -1, [1], ("LEADER_NOT_AVAILABLE", -1, (2,), 0)),
    "unclean in 3.0": ("3.0", "UNCLEAN", [2], -1, [1], ("NONE", 1, (1,), 1)),
}


@pytest.mark.parametrize("case", REQUESTS)
def test_request(case: str) -> None:
    text, kind, isr, leader, acceptable, response = REQUESTS[case]
    outcome = kraft_elect_request(settings(text), partition(isr, leader), acceptable, kind)
    assert outcome == ElectionAnswer(*response)


# release, unfenced, in controlled shutdown, manual -> ISR or error, for assignment [2, 1]
BIRTHS: dict[str, tuple[str, Ids, Ids, bool | None, IdTuple | str]] = {
    "2.8 takes all that it places": ("2.8", [1], [], False, (2, 1)),
    "but nobody who is fenced": ("2.8", [1], [], True, "INVALID_REPLICA_ASSIGNMENT"),
    "3.2 takes all that it places, too": ("3.2", [1], [], False, (2, 1)),
    "the fenced left out": ("3.0", [1], [], True, (1,)),
    "whoever placed them, from 3.3": ("3.3", [1], [], False, (1,)),
    "shutting down left out from 3.3": ("3.2", [1, 2], [2], True, (2, 1)),
    "so": ("3.3", [1, 2], [2], True, (1,)),
    "not known who placed them": ("3.2", [1], [], None, (1,)),
    "nobody, placed by Kafka": ("4.1", [], [], False, "INVALID_REPLICATION_FACTOR"),
    "nobody, placed by hand": ("4.1", [], [], True, "INVALID_REPLICA_ASSIGNMENT"),
}


@pytest.mark.parametrize("case", BIRTHS)
def test_birth(case: str) -> None:
    text, unfenced, leaving, manual, expected = BIRTHS[case]
    created = kraft_new_partition(Release.parse(text), [2, 1], unfenced, leaving, manual=manual)
    if isinstance(expected, str):
        assert created == Refused(expected)
    else:
        assert created == PartitionRegistration((2, 1), expected, expected[0])


# --- reassignment -----------------------------------------------------------------------------------------------------

# release, replicas, adding, removing, ISR -> done with ISR, or None
COMPLETIONS: dict[str, tuple[str, IdTuple, IdTuple, IdTuple, Ids, Completed | None]] = {
    "nothing pending": ("3.9", (1, 2), (), (), [1, 2], None),
    "one added lags": ("3.9", (3, 1, 2), (3,), (2,), [1, 2], None),
    "one that stays lags": ("3.8", (3, 1, 2), (3,), (), [3, 1], None),
    "which did not matter before": ("3.7", (3, 1, 2), (3,), (), [3, 1], Completed((3, 1, 2), (3, 1))),
    "nor does it on trunk": ("trunk", (3, 1, 2), (3,), (), [3, 1], Completed((3, 1, 2), (3, 1))),
    "but for a shrink": ("trunk", (1, 2, 3), (), (3,), [1, 3], None),
    "a shrink that is in sync": ("3.9", (1, 2, 3), (), (3,), [2, 1, 3], Completed((1, 2), (2, 1))),
    "only leavers in sync": ("3.0", (1, 2), (), (2,), [2], None),
    "an added one that is to leave again blocks it": ("3.7", (1, 2, 3), (3,), (3,), [1, 2, 3], None),
    "not from 3.8": ("4.2", (1, 2, 3), (3,), (3,), [1, 2, 3], Completed((1, 2), (1, 2))),
    "to 4.2": ("4.3", (1, 2, 3), (3,), (3,), [1, 2, 3], None),
}


@pytest.mark.parametrize("case", COMPLETIONS)
def test_completion(case: str) -> None:
    text, replicas, adding, removing, isr, done = COMPLETIONS[case]
    assert kraft_reassign_complete(Release.parse(text), ReassignmentLists(replicas, adding, removing), isr) == done


def test_completion_is_part_of_the_change_that_allows_it() -> None:
    pending = PartitionRegistration((3, 1, 2), (1, 2), 2, adding=(3,), removing=(2,))
    change = partition_change(settings("3.9"), pending, [1, 2, 3], "ONLINE", RequestedChange(isr=(1, 2, 3)))
    assert change == Record(3, (1, 3), replicas=(3, 1), adding=(), removing=())


def test_a_lost_replica_bumps_the_epoch_of_the_leader_that_stays() -> None:
    pending = PartitionRegistration((1, 2), (1, 2), 1)
    change = partition_change(
        settings("4.1"), pending, [1, 2], "ONLINE", RequestedChange(replicas=(1, 2), removing=(2,))
    )
    assert change == Record(1, (1,), replicas=(1,))


# --- what always holds ------------------------------------------------------------------------------------------------

BUILDERS = st.sampled_from([release for release in MINOR_RELEASES if release >= Release(3, 2)] + [TRUNK])
BROKERS = st.integers(0, 5)
METADATA = st.sampled_from(["3.1-IV0", "3.5-IV2", "3.6-IV0", "4.1-IV1"]).map(ProtocolVersion.parse)


Asked = tuple[ControllerConfig, PartitionRegistration, list[int], IdTuple]


@st.composite
def changes(draw: st.DrawFn) -> Asked:
    """Settings, partition, acceptable brokers and wanted ISR: who leaves it may not lead; no pending reassignment."""
    at = draw(BUILDERS)
    elr_enabled = at >= Release(3, 7) and draw(st.booleans())
    replicas = tuple(draw(st.lists(BROKERS, min_size=1, max_size=4, unique=True)))
    isr = tuple(draw(st.permutations(replicas))[: draw(st.integers(0 if elr_enabled else 1, len(replicas)))])
    min_isr = draw(st.integers(1, 3))
    rest = [broker for broker in replicas if broker not in isr]
    below = elr_enabled and len(isr) < min(min_isr, len(replicas))
    elr = tuple(draw(st.lists(st.sampled_from(rest), unique=True))) if below and rest else ()
    config = ControllerConfig(at, draw(METADATA), elr_enabled=elr_enabled, min_isr=min_isr)
    requested = tuple(broker for broker in isr if draw(st.booleans()))
    start = PartitionRegistration(replicas, isr, draw(st.sampled_from([*isr, NOBODY])), elr=elr)
    acceptable = [broker for broker in draw(st.lists(BROKERS, unique=True)) if broker in requested or broker not in isr]
    return config, start, acceptable, requested


@given(changes(), st.sampled_from(ElectionKind))
def test_changes_keep_their_promises(change: Asked, kind: ElectionKind) -> None:
    config, before, acceptable, requested = change
    record = partition_change(config, before, acceptable, kind, RequestedChange(isr=requested))
    after = apply_change(before, record)
    assert set(after.isr) <= set(before.replicas)
    assert after.isr or config.elr_enabled
    assert after.partition_epoch - before.partition_epoch == (record is not None)
    assert (after.leader_epoch > before.leader_epoch) == (record is not None and record.leader is not None)
    if after.leader not in (before.leader, NOBODY):
        assert after.leader in after.isr
        assert after.leader in acceptable
    if after.recovery != before.recovery:
        assert kind == ElectionKind.UNCLEAN
        assert after.isr == (after.leader,)
    assert not set(after.isr) & set(after.elr)
    if len(after.isr) >= min(config.min_isr, len(before.replicas)) and after.leader not in before.elr:
        assert not after.elr


@given(changes(), st.sampled_from([ElectionKind.PREFERRED, ElectionKind.ONLINE]))
def test_preferred_and_online_are_never_unclean(change: Asked, kind: ElectionKind) -> None:
    config, before, acceptable, requested = change
    after = apply_change(before, partition_change(config, before, acceptable, kind, RequestedChange(isr=requested)))
    assert after.leader in (NOBODY, before.leader, *(requested or (*before.elr, *before.isr)))


@given(changes(), st.sampled_from(ElectionKind), st.randoms(use_true_random=False))
def test_the_order_of_brokers_does_not_matter(change: Asked, kind: ElectionKind, order: Random) -> None:
    config, before, acceptable, requested = change
    shuffled = order.sample(acceptable, len(acceptable))
    assert partition_change(config, before, acceptable, kind, RequestedChange(isr=requested)) == partition_change(
        config, before, shuffled, kind, RequestedChange(isr=requested)
    )


@given(changes(), st.sampled_from(ElectionKind))
def test_the_same_change_again_changes_nothing(change: Asked, kind: ElectionKind) -> None:
    config, before, acceptable, requested = change
    after = apply_change(before, partition_change(config, before, acceptable, kind, RequestedChange(isr=requested)))
    modern = config.release >= Release(3, 8)
    if modern and after.isr == requested:
        assert partition_change(config, after, acceptable, kind, RequestedChange(isr=after.isr)) is None


REPLICAS = st.lists(BROKERS, min_size=1, max_size=4, unique=True)


@given(REPLICAS, REPLICAS)
def test_a_plan_on_nothing_pending_can_be_cancelled(current: list[int], target: list[int]) -> None:
    plan = kraft_reassign_plan(current, target)
    assert kraft_reassign_lists(ReassignmentLists(tuple(current)), target) == plan
    assert plan.replicas[: len(target)] == tuple(target)
    reverted = kraft_reassign_revert(plan, current)
    assert set(reverted.replicas) == set(current)
    assert reverted.isr == tuple(current)
    assert not reverted.unclean
