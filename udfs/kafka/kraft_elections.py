"""Partition changes of the KRaft controller, 2.8 to 4.4: elections, ISR, eligible leader replicas, epochs.

After org.apache.kafka.controller.PartitionChangeBuilder and ReplicationControlManager. `partition_change` is the
heart, 3.0 on: given a partition, who may lead and what is asked for, the record the controller writes, or none. 2.8
decided inline: `fence_2_8`, `unfence_2_8`. Directory ids (3.7 on) are left out: a record that changes nothing else is
none here.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from schemas.kafka_values import NO_LEADER
from udfs.kafka.elections import RECOVERING, ElectionAnswer, Refused
from udfs.kafka.kraft_partition import (
    NOTHING_REQUESTED,
    ControllerConfig,
    ElectionKind,
    PartitionChangeRecord,
    PartitionRegistration,
    RequestedChange,
    apply_change,
)
from udfs.kafka.reassignment import ReassignmentLists, kraft_reassign_complete
from udfs.kafka.releases import ProtocolVersion, Release

NO_BUMP_ON_SHRINK = ProtocolVersion.parse("3.6-IV0")  # KAFKA-15021
RECOVERY_STATE = ProtocolVersion.parse("3.2-IV0")  # KIP-704
HEEDS_SWITCH = Release(3, 9)
"""From here on `unclean.leader.election.enable` counts, of topics and of the cluster; before, no controller reads it
(`ConfigurationControlManager.uncleanLeaderElectionEnabledForTopic`, KAFKA-12670)."""
LAST_LEADER = Release(4, 1, 1)
"""From here on the last leader is known while nobody leads, whatever the ISR."""


def acceptable_brokers(
    release: Release,
    unfenced: Collection[int],
    in_controlled_shutdown: Collection[int] = (),
    offline_directories: Collection[int] = (),
    *,
    removing: int | None = None,
    adding: int | None = None,
) -> frozenset[int]:
    """Who may lead: unfenced; from 3.3 not in controlled shutdown (KIP-841); from 3.7 on a working directory.

    A broker being taken out of service (`removing`) never may, one being brought in (`adding`) may though still fenced.
    """
    brokers = set(unfenced) - (set(in_controlled_shutdown) if release >= Release(3, 3) else set())
    brokers |= {adding} if adding is not None else set()
    brokers -= {removing} if removing is not None else set()
    return frozenset(brokers - (set(offline_directories) if release >= Release(3, 7) else set()))


def election_kind(release: Release, cause: str, *, topic_allows_unclean: bool) -> ElectionKind:
    """The kind of election a cause brings (3.2 on).

    `reassignment`, `preferred` (request or balancer), `unclean` (request, or the periodic pass of 3.9) are
    fixed; `broker` (fenced, unfenced, shut down, directory), `alter_partition`, `cancel` follow the topic from 3.9 on
    (KAFKA-12670).
    """
    fixed = {"reassignment": ElectionKind.ONLINE, "preferred": ElectionKind.PREFERRED, "unclean": ElectionKind.UNCLEAN}
    if cause in fixed:
        return fixed[cause]
    if cause not in ("broker", "alter_partition", "cancel"):
        raise ValueError(f"Unknown cause {cause!r}; expected one of {[*fixed, 'broker', 'alter_partition', 'cancel']}")
    return ElectionKind.UNCLEAN if topic_allows_unclean and release >= HEEDS_SWITCH else ElectionKind.ONLINE


@dataclass(frozen=True)
class _Target:
    """Where a change is heading while it is built; the partition itself stays as it was."""

    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]


def partition_change(
    settings: ControllerConfig,
    partition: PartitionRegistration,
    acceptable: Collection[int],
    kind: ElectionKind | str = ElectionKind.ONLINE,
    requested: RequestedChange = NOTHING_REQUESTED,
    *,
    topic_allows_unclean: bool = False,
) -> PartitionChangeRecord | None:
    """The record for a change of the partition, None if it would change nothing (3.0 on).

    In Kafka's order: complete a reassignment, fill the ELR, elect, bump the epoch for lost replicas, write.
    `topic_allows_unclean` matters to 3.0-3.1 only, where it is not part of the kind; controllers of these set it for no
    topic.
    """
    release, kind = settings.release, ElectionKind(kind)
    if release < Release(3):
        raise ValueError(f"Kafka {release} has no change builder; expected 3.0 or later")
    if settings.elr_enabled and release < Release(3, 7):
        raise ValueError(f"Kafka {release} has no eligible leader replicas; expected 3.7 or later")
    target = _with_elr(settings, partition, _completed(release, _aim(partition, requested)), requested.unclean_shutdown)
    if release < Release(3, 2):
        elected, unclean = _elect_best(partition, target, acceptable, kind, topic_allows_unclean)
    else:
        elected, unclean = _elect(settings, partition, target, acceptable, kind)
    leader = None if elected == partition.leader else elected
    if leader is not None and leader in target.elr:
        target = replace(target, isr=(leader,), elr=tuple(broker for broker in target.elr if broker != leader))
    forced = (elected,) if unclean and leader is not None else None
    if forced or not settings.elr_enabled:
        target = replace(target, elr=(), last_known_elr=())
    isr = _written_isr(settings, partition, target, forced)
    if leader is None and _bumps(settings, partition, target, isr):
        leader = partition.leader
    recovery = RECOVERING if forced and _supports_recovery(settings) else partition.recovery
    if requested.recovery is not None and requested.recovery != partition.recovery:
        recovery = requested.recovery
    change = PartitionChangeRecord(
        leader=leader,
        isr=isr,
        replicas=_changed(target.replicas or partition.replicas, partition.replicas),
        adding=_changed(target.adding, partition.adding),
        removing=_changed(target.removing, partition.removing),
        elr=_changed(target.elr, partition.elr),
        last_known_elr=_changed(_last_known(settings, partition, target, leader, isr), partition.last_known_elr),
        recovery=None if recovery == partition.recovery else recovery,
    )
    return None if _is_noop(release, change) else change


def _is_noop(release: Release, change: PartitionChangeRecord) -> bool:
    """Whether a record changes nothing; 3.2 does not write one that changes the recovery state alone either."""
    if release < Release(3, 3):
        change = replace(change, recovery=None)
    return change == PartitionChangeRecord()


def _aim(partition: PartitionRegistration, requested: RequestedChange) -> _Target:
    return _Target(
        isr=partition.isr if requested.isr is None else requested.isr,
        replicas=partition.replicas if requested.replicas is None else requested.replicas,
        adding=partition.adding if requested.adding is None else requested.adding,
        removing=partition.removing if requested.removing is None else requested.removing,
        elr=partition.elr,
        last_known_elr=partition.last_known_elr,
    )


def _completed(release: Release, target: _Target) -> _Target:
    """A reassignment that is done with the target ISR is completed by the same record."""
    done = kraft_reassign_complete(
        release, ReassignmentLists(target.replicas, target.adding, target.removing), target.isr
    )
    return replace(target, isr=done.isr, replicas=done.replicas, adding=(), removing=()) if done else target


def _with_elr(
    settings: ControllerConfig, partition: PartitionRegistration, target: _Target, unclean_shutdown: Sequence[int]
) -> _Target:
    """A.10: below min ISR, those who leave the ISR become eligible, except after an unclean shutdown.

    Ids ascend, as Kafka's hash set yields them up to its capacity; compare as sets.
    """
    if not settings.elr_enabled:
        return target
    if len(target.isr) >= min(settings.min_isr, len(partition.replicas)):
        return replace(target, elr=(), last_known_elr=())
    candidates = {*target.elr, *partition.isr}
    elr = candidates - set(target.isr) - set(unclean_shutdown)
    last_known = candidates.union(target.last_known_elr) - set(target.isr) - elr
    return replace(target, elr=tuple(sorted(elr)), last_known_elr=tuple(sorted(last_known)))


def _elect_best(
    partition: PartitionRegistration,
    target: _Target,
    acceptable: Collection[int],
    kind: ElectionKind,
    topic_allows_unclean: bool,
) -> tuple[int, bool]:
    """The same in 3.0-3.1: tried only if the ISR lacks the leader, or to move to the preferred one."""
    moves_to_preferred = kind == ElectionKind.PREFERRED and partition.leader not in partition.replicas[:1]
    if partition.leader in target.isr and not moves_to_preferred:
        return partition.leader, False
    candidates = [broker for broker in target.replicas if broker in acceptable]
    in_sync = [broker for broker in candidates if broker in target.isr]
    if in_sync:
        return in_sync[0], False
    if candidates and (kind == ElectionKind.UNCLEAN or topic_allows_unclean):
        return candidates[0], True
    return NO_LEADER, False


def _elect(
    settings: ControllerConfig,
    partition: PartitionRegistration,
    target: _Target,
    acceptable: Collection[int],
    kind: ElectionKind,
) -> tuple[int, bool]:
    """The leader and whether it is unclean, 3.2 on.

    Valid is who may lead and is in the ISR, or in the ELR while the ISR is empty.
    """
    eligible = target.isr or target.elr
    valid = [broker for broker in target.replicas if broker in eligible and broker in acceptable]
    preferred = target.replicas[:1] if kind == ElectionKind.PREFERRED else ()
    if valid and valid[0] in preferred:
        return valid[0], False
    if partition.leader in eligible and partition.leader in acceptable:
        return partition.leader, False
    if valid:
        return valid[0], False
    if _may_elect_last_known(settings, partition, target, acceptable):
        return partition.last_known_elr[0], True
    if kind == ElectionKind.UNCLEAN:
        unclean = [broker for broker in target.replicas if broker in acceptable]
        if unclean:
            return unclean[0], True
    return NO_LEADER, False


def _may_elect_last_known(
    settings: ControllerConfig, partition: PartitionRegistration, target: _Target, acceptable: Collection[int]
) -> bool:
    """A.10: with ISR and ELR empty, the one last known leader; from 4.1 only if it may lead (KAFKA-19522)."""
    if not (settings.elr_enabled and settings.last_known_leader and len(partition.last_known_elr) == 1):
        return False
    if target.isr or target.elr:
        return False
    return settings.release < Release(4, 1) or partition.last_known_elr[0] in acceptable


def _written_isr(
    settings: ControllerConfig, partition: PartitionRegistration, target: _Target, forced: tuple[int, ...] | None
) -> tuple[int, ...] | None:
    """The ISR field: only if it differs, and without ELR only if not empty, so that the last member stays.

    An unclean leader's own ISR comes first; 3.0-3.1 could overwrite it with the target ISR.
    """
    may_write = bool(target.isr) or settings.elr_enabled
    target_isr = target.isr if may_write and target.isr != partition.isr else None
    if settings.release < Release(3, 2):
        return target_isr or forced
    return forced or target_isr


def _bumps(
    settings: ControllerConfig, partition: PartitionRegistration, target: _Target, isr: tuple[int, ...] | None
) -> bool:
    """Whether the present leader is repeated to bump its epoch: replicas lost, or, in old ways, the ISR shrank.

    Shrinking bumps before 3.6, below metadata version 3.6-IV0, and in migration. From 3.8 (KAFKA-16624) the ISR
    that is written counts, before the one that was asked for.
    """
    if not set(partition.replicas) <= set(target.replicas):
        return True
    old_ways = settings.release < Release(3, 6) or settings.metadata_version < NO_BUMP_ON_SHRINK
    if not old_ways and not settings.zk_migration:
        return False
    counted_isr = target.isr if settings.release < Release(3, 8) else (partition.isr if isr is None else isr)
    return not set(partition.isr) <= set(counted_isr)


def _last_known(
    settings: ControllerConfig,
    partition: PartitionRegistration,
    target: _Target,
    leader: int | None,
    isr: tuple[int, ...] | None,
) -> tuple[int, ...]:
    """A.10: `last_known_elr` afterwards. In last known leader mode it is the one who led when the ISR emptied, from
    4.1.1 on who led last, whatever the ISR.

    It then stays until somebody leads. Without ELR that mode touches nothing. 3.7, where ELR needs an unstable metadata
    version, wrote members as without the mode, too, except over the one last leader while nobody leads.
    """
    before, leads = partition.last_known_elr, (partition.leader if leader is None else leader) != NO_LEADER
    empties = isr == () and before != (partition.leader,)
    if not settings.last_known_leader:
        return target.last_known_elr
    if settings.release < Release(3, 8):
        if settings.elr_enabled and empties:
            return (partition.leader,)
        return before if len(before) == 1 and not leads else target.last_known_elr
    if not settings.elr_enabled:
        return before
    if settings.release >= LAST_LEADER:
        if leader == NO_LEADER and not before:
            return (partition.leader,)
        return before if leader is None or leader == NO_LEADER else ()
    if empties:
        return (partition.leader,)
    return () if leads else before


def _supports_recovery(settings: ControllerConfig) -> bool:
    return settings.release >= Release(3, 2) and settings.metadata_version >= RECOVERY_STATE


def _changed(after: tuple[int, ...], before: tuple[int, ...]) -> tuple[int, ...] | None:
    return None if after == before else after


def fence_2_8(partition: PartitionRegistration, broker: int) -> PartitionChangeRecord | None:
    """What 2.8 writes when a broker is fenced or shuts down; None if it is not in the ISR.

    The last ISR member stays in it, leaderless, and is written again each time. If `broker` only followed, the
    leader is repeated. A new leader is the first replica in the new ISR; 2.8.0 to 2.8.2 do not ask whether it
    is unfenced (their `bestLeader`), so it can be a broker fenced in the same batch (KAFKA-13173).
    """
    if broker not in partition.isr:
        return None
    isr = tuple(member for member in partition.isr if member != broker)
    if not isr:
        return PartitionChangeRecord(leader=NO_LEADER)
    in_order = [replica for replica in partition.replicas if replica in isr]
    leader = (in_order or [NO_LEADER])[0] if partition.leader == broker else partition.leader
    return PartitionChangeRecord(leader=leader, isr=isr)


def unfence_2_8(partition: PartitionRegistration, broker: int) -> PartitionChangeRecord | None:
    """What 2.8 writes when a broker comes back: it leads each leaderless partition whose ISR holds it."""
    leads = partition.leader == NO_LEADER and broker in partition.isr
    return PartitionChangeRecord(leader=broker) if leads else None


def requested_election(
    settings: ControllerConfig,
    partition: PartitionRegistration,
    acceptable: Collection[int],
    kind: ElectionKind,
) -> PartitionChangeRecord | None:
    """The record of an election that is asked for, 3.0 on; None if it changes nothing. What 3.0 does: see
    `kraft_elect_request`."""
    if settings.release >= Release(3, 1):
        return partition_change(settings, partition, acceptable, kind)
    is_unclean = kind == ElectionKind.UNCLEAN
    return partition_change(settings, partition, acceptable, ElectionKind.PREFERRED, topic_allows_unclean=is_unclean)


def kraft_elect_request(
    settings: ControllerConfig,
    partition: PartitionRegistration,
    acceptable: Collection[int],
    election_type: str,
) -> ElectionAnswer:
    """The answer to an election request, 3.0 on.

    3.0 always tries to move to the preferred replica, and answers LEADER_NOT_AVAILABLE; only from 3.1 on does it answer
    that no election was needed.
    """
    kind = ElectionKind(election_type)
    if kind == ElectionKind.ONLINE:
        raise ValueError("Nobody can ask for an ONLINE election; expected PREFERRED or UNCLEAN")
    change = requested_election(settings, partition, acceptable, kind)
    if settings.release < Release(3, 1):
        refusal = "LEADER_NOT_AVAILABLE" if partition.leader == NO_LEADER else "NONE"
    else:
        led_as_asked = partition.replicas[:1] if kind == ElectionKind.PREFERRED else (partition.leader,)
        if partition.leader != NO_LEADER and partition.leader in led_as_asked:
            return ElectionAnswer("ELECTION_NOT_NEEDED", partition.leader, partition.isr, 0)
        refusal = f"{'PREFERRED_LEADER' if kind == ElectionKind.PREFERRED else 'ELIGIBLE_LEADERS'}_NOT_AVAILABLE"
    after = apply_change(partition, change)
    error = refusal if change is None else "NONE"
    return ElectionAnswer(error, after.leader, after.isr, after.leader_epoch - partition.leader_epoch)


def fails_to_add(partition: PartitionRegistration, change: PartitionChangeRecord | None) -> bool:
    """Whether a reassignment fails instead of writing this (UNKNOWN_SERVER_ERROR, 3.7 on): it elects a replica that it
    adds. One that was taken away stays an eligible leader replica (KIP-966), but has no directory until it is
    assigned (`ReplicationControlManager.LeaderAcceptor`)."""
    return change is not None and change.leader not in (None, NO_LEADER, *partition.replicas)


def kraft_new_partition(
    release: Release,
    assigned: Sequence[int],
    unfenced: Collection[int],
    in_controlled_shutdown: Collection[int] = (),
    *,
    manual: bool | None = None,
) -> PartitionRegistration | Refused:
    """The birth state: the active replicas in order, led by the first, all epochs 0.

    `manual`: the request named the replicas; None unknown, taken for manual from 3.0 on. Until 3.2 all that the
    controller places itself are in the ISR (`createTopic`); 2.8 refuses a manual assignment with a fenced broker.
    """
    if manual and release < Release(3) and not set(assigned) <= set(unfenced):
        return Refused("INVALID_REPLICA_ASSIGNMENT")
    takes_all = release < (Release(3, 3) if manual is False else Release(3))
    active = assigned if takes_all else acceptable_brokers(release, unfenced, in_controlled_shutdown)
    isr = tuple(broker for broker in assigned if broker in active)
    if not isr:
        return Refused("INVALID_REPLICA_ASSIGNMENT" if manual else "INVALID_REPLICATION_FACTOR")
    return PartitionRegistration(tuple(assigned), isr, isr[0])
