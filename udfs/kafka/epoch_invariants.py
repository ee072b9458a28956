"""Invariants of the epochs of two neighbouring states of a partition: leader, partition and controller epoch.

Each function is the rule of its name in `udfs.kafka.decision_rules`; None: the rule does not apply.
"""

from udfs.kafka.judgements import Judgement, judge, unknown
from udfs.kafka.releases import ProtocolVersion, Release
from udfs.kafka.stored_state import CONTROLLER_TRIGGERS, Cluster, StoredState, gap


def one_leader_per_leader_epoch(_: Cluster, before: StoredState, after: StoredState) -> Judgement | None:
    """The leader epoch never decreases, and another leader has a larger one."""
    grows = after.leader_epoch > before.leader_epoch
    holds = grows or (after.leader_epoch == before.leader_epoch and after.leader == before.leader)
    actual = (
        f"leader {before.leader} in leader epoch {before.leader_epoch}, "
        f"then leader {after.leader} in leader epoch {after.leader_epoch}"
    )
    return judge(holds, "a leader epoch that never falls and grows with each change of leader", actual)


def partition_epoch_grows(_: Cluster, before: StoredState, after: StoredState) -> Judgement | None:
    """The partition epoch never decreases, one has one state, and its lead over the leader epoch never shrinks.

    That it is not below the leader epoch follows from the first state of a partition; `partition_epoch_ahead` asks it
    of a single state.
    """
    expected = "a partition epoch that grows with each change, at least as fast as the leader epoch"
    if before.partition_epoch is None or after.partition_epoch is None:
        return unknown(expected, "partition_epoch")
    same = (before.leader, set(before.isr)) == (after.leader, set(after.isr))
    advance = after.partition_epoch - before.partition_epoch
    one_state = advance > 0 or (advance == 0 and same)
    holds = one_state and advance >= after.leader_epoch - before.leader_epoch
    actual = (
        f"partition epoch {before.partition_epoch}, then {after.partition_epoch}; "
        f"leader epoch {before.leader_epoch}, then {after.leader_epoch}"
    )
    return judge(holds, expected, actual)


def partition_epoch_ahead(state: StoredState) -> Judgement:
    """What `partition_epoch_grows` means for one state: the partition epoch is not below the leader epoch.

    Not part of `check_sequence`.
    """
    expected = "a partition epoch not below the leader epoch"
    if state.partition_epoch is None:
        return unknown(expected, "partition_epoch")
    actual = f"partition epoch {state.partition_epoch}, leader epoch {state.leader_epoch}"
    return judge(state.partition_epoch >= state.leader_epoch, expected, actual)


def stored_controller_epoch_never_falls(cluster: Cluster, before: StoredState, after: StoredState) -> Judgement | None:
    """The controller epoch stored with a partition never goes down. KRaft's records have none."""
    expected = "a stored controller epoch that never decreases"
    if cluster.kraft and before.controller_epoch is None and after.controller_epoch is None:
        return None
    if before.controller_epoch is None or after.controller_epoch is None:
        return unknown(expected, "controller_epoch")
    actual = f"{before.controller_epoch}, then {after.controller_epoch}"
    return judge(after.controller_epoch >= before.controller_epoch, expected, actual)


def epoch_increments(cluster: Cluster, before: StoredState, after: StoredState) -> Judgement | None:
    """Each change adds 1 to the partition epoch and what its kind allows to the leader epoch.

    Judged where `one_leader_per_leader_epoch` holds; a state logged twice is no change. Extra bumps of 1.1-2.3, which
    repeat a batch of writes after one conflict, are gaps, so unknown. None with ZooKeeper where the trigger is unknown.
    """
    bump = after.leader_epoch - before.leader_epoch
    if bump < 0 or (bump == 0 and after.leader != before.leader):
        return None
    if bump == 0 and after.partition_epoch == before.partition_epoch and set(after.isr) == set(before.isr):
        return None
    allowed = _kraft_bump(cluster, before, after) if cluster.kraft else _zk_bump(after)
    if allowed is None:
        return None
    expected = f"a leader epoch larger by {' or '.join(map(str, sorted(allowed)))} and a partition epoch larger by 1"
    if missing := gap(before, after):
        return unknown(expected, *missing)
    if len(allowed) > 1 and (missing := _undecided(before, after)):
        return unknown(expected, *missing)
    moved = (after.partition_epoch or 0) - (before.partition_epoch or 0)
    actual = f"leader epoch +{bump}, partition epoch +{moved}, after {before.leader_epoch} and {before.partition_epoch}"
    return judge(bump in allowed and moved == 1, expected, actual)


def _zk_bump(after: StoredState) -> set[int] | None:
    """By how much the leader epoch grows with ZooKeeper: 0 for the leader's own change, 1 for one of the controller."""
    if after.trigger == "leader":
        return {0}
    return {1} if after.trigger in CONTROLLER_TRIGGERS else None


def _kraft_bump(cluster: Cluster, before: StoredState, after: StoredState) -> set[int]:
    """By how much the leader epoch may grow in KRaft: 1 for a new leader, removed replicas or a shrunk ISR.

    A shrink counts before 3.6, below metadata version 3.6-IV0 and in migration (KAFKA-15021). 2.8 writes the leader
    again with each change of the controller, and through 3.7 a shrink that is not written may count (KAFKA-16624). {0,
    1} where an input is missing.
    """
    if before.leader != after.leader:
        return {1}
    if before.replicas is None or after.replicas is None:
        return {0, 1}
    if set(before.replicas) - set(after.replicas):
        return {1}
    has_modern_metadata = cluster.protocol is not None and cluster.protocol >= ProtocolVersion(Release(3, 6), 0)
    if has_modern_metadata and not cluster.zk_migration:  # a dump may show no release, but no earlier one has that
        return {0}
    modern = cluster.release >= Release(3, 6) and not cluster.zk_migration
    if cluster.release < Release(3) and after.trigger != "leader":
        return {0, 1}
    shrank = bool(set(before.isr) - set(after.isr))
    if modern and cluster.protocol is None and shrank:
        return {0, 1}
    if shrank:
        return {1}
    return {0, 1} if cluster.release < Release(3, 8) and set(before.isr) == set(after.isr) else {0}


def _undecided(before: StoredState, after: StoredState) -> tuple[str, ...]:
    """Which input would have narrowed the bump down; none if both amounts are legal."""
    if before.replicas is None or after.replicas is None:
        return ("replicas",)
    return ("metadata_version",) if set(before.isr) - set(after.isr) else ()
