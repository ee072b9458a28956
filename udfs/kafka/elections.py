"""Leader elections of the ZooKeeper controller, 0.8.0 to 3.9.

After kafka.controller.PartitionLeaderSelector (0.8-1.0), PartitionLeaderElectionAlgorithms (1.1-2.3) and Election (2.4
on), a function for each strategy. All are functions of what the controller knew: stored leadership, assignment,
brokers, switches. Ids outside these do not count.

Words: `alive` are the registered brokers, `shutting_down` those of them that asked for controlled shutdown,
`live` is `alive` without them. A replica is `online` on a live broker whose directory works (1.0, KIP-112).
Two generations differ in their errors: selectors to 1.0 (`NoReplicaOnline`), algorithms from 1.1 (`StateChangeFailed`).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from udfs.kafka.releases import ProtocolVersion, Release

STATE_CHANGE_FAILED = "StateChangeFailed"
NO_REPLICA_ONLINE = "NoReplicaOnline"
NOT_NEEDED = "LeaderElectionNotNeeded"
RECOVERED, RECOVERING = "RECOVERED", "RECOVERING"


MOST_ELECTION_S = 5
"""So many seconds after a ZooKeeper controller has found a leader gone it has elected another replica in sync that is
there."""


class Strategy(StrEnum):
    """Why a ZooKeeper controller elects; it decides how."""

    OFFLINE = "offline"
    REASSIGN = "reassign"
    PREFERRED = "preferred"
    CONTROLLED_SHUTDOWN = "controlled_shutdown"


@dataclass(frozen=True)
class Choice:
    """What a strategy picked, before epochs: leader, new ISR, and who is sent LeaderAndIsr."""

    leader: int
    isr: tuple[int, ...]
    recipients: tuple[int, ...]
    unclean: bool = False


@dataclass(frozen=True)
class Refused:
    """Nobody was elected and nothing written; `error` is Kafka's exception without its suffix."""

    error: str


@dataclass(frozen=True)
class Elected:
    """The state an election writes. Recipients ascend and may be gone: requests to such are dropped silently."""

    leader: int
    isr: tuple[int, ...]
    leader_epoch: int
    recipients: tuple[int, ...]
    unclean: bool  # as the controller counts it: also false where 0.8.0 reassigns to a lagging replica
    recovery: str | None  # RECOVERED or RECOVERING from 3.2 (KIP-704); null before


def unclean_default(release: Release) -> bool:
    """Whether `unclean.leader.election.enable` is true by default: through 0.10.2 (0.11 turned it off, KIP-106)."""
    return release < Release(0, 11)


def online_replicas(
    release: Release,
    alive: Collection[int],
    shutting_down: Collection[int] = (),
    offline_replicas: Collection[int] = (),
) -> frozenset[int]:
    """Brokers on which a replica counts as online; failed log directories count from 1.0 (KIP-112)."""
    failed = offline_replicas if release >= Release(1) else ()
    return frozenset(alive) - frozenset(shutting_down) - frozenset(failed)


def elect_offline(
    release: Release, assigned: Sequence[int], isr: Sequence[int], online: Collection[int], unclean_enabled: bool
) -> Choice | Refused:
    """The leader of a partition without one. Clean if any assigned ISR member is online.

    0.8.0-0.8.1 takes the ISR's order and is unclean without asking. From 0.8.2 assignment order counts.
    A live ISR member that is not assigned breaks the selector (KAFKA-1833), and from 1.1 bars the unclean path.

    >>> elect_offline(Release(3, 9), [3, 1, 2], isr=[2, 1], online=[1, 2], unclean_enabled=False)
    Choice(leader=1, isr=(2, 1), recipients=(1, 2), unclean=False)
    """
    in_sync = tuple(broker for broker in isr if broker in online)
    candidates = tuple(broker for broker in assigned if broker in online)
    clean = [broker for broker in candidates if broker in in_sync]
    failed = Refused(STATE_CHANGE_FAILED if release >= Release(1, 1) else NO_REPLICA_ONLINE)
    if release < Release(0, 8, 2):
        clean, unclean_enabled = list(in_sync), True
    if clean:
        return Choice(clean[0], in_sync, candidates)
    if in_sync:
        return Refused(STATE_CHANGE_FAILED)
    if unclean_enabled and candidates:
        return Choice(candidates[0], candidates[:1], candidates, unclean=True)
    return failed


def elect_reassigned(
    release: Release, target: Sequence[int], isr: Sequence[int], online: Collection[int]
) -> Choice | Refused:
    """The leader when the present one is not in the target list or not alive; the ISR stays.

    0.8.0 does not consult the ISR, so its leader may be outside of it (legal there).
    """
    eligible = [broker for broker in target if broker in online and (release < Release(0, 8, 1) or broker in isr)]
    if eligible:
        return Choice(eligible[0], tuple(isr), tuple(target))
    selector_with_isr = Release(0, 8, 1) <= release < Release(1, 1)
    return Refused(NO_REPLICA_ONLINE if selector_with_isr else STATE_CHANGE_FAILED)


def elect_preferred(
    release: Release, assigned: Sequence[int], isr: Sequence[int], leader: int, online: Collection[int]
) -> Choice | Refused:
    """The first assigned replica or nobody; never unclean, the ISR stays.

    If it leads already: not needed, except 1.1-2.1, where an election asked for by znode bumps the epoch.
    """
    preferred = next(iter(assigned), None)
    if leader == preferred and not Release(1, 1) <= release < Release(2, 2):
        return Refused(NOT_NEEDED)
    if preferred is not None and preferred in online and preferred in isr:
        return Choice(preferred, tuple(isr), tuple(assigned))
    return Refused(STATE_CHANGE_FAILED)


def elect_controlled_shutdown(
    release: Release,
    assigned: Sequence[int],
    isr: Sequence[int],
    leader: int,
    alive: Collection[int],
    shutting_down: Collection[int],
    offline_replicas: Collection[int] = (),
) -> Choice | Refused:
    """The leader when the present one asked to leave; it and all others leaving drop out of the ISR.

    A dead ISR member stays in the ISR, and through 0.9 may even be picked (ISR order, liveness not asked).
    1.1-2.0 sends nothing to the leaving broker (KAFKA-7482).
    """
    leaving = {*shutting_down, leader} if release < Release(0, 8, 1) else set(shutting_down)
    remaining = tuple(broker for broker in isr if broker not in leaving)
    reachable = online_replicas(release, alive, (), offline_replicas)
    if Release(1, 1) <= release < Release(2, 1):
        reachable -= leaving
    recipients = tuple(broker for broker in assigned if broker in reachable)
    if release < Release(0, 10):
        candidates = list(remaining)
    else:
        candidates = [broker for broker in recipients if broker in remaining]
    return Choice(candidates[0], remaining, recipients) if candidates else Refused(STATE_CHANGE_FAILED)


def moves_on_shutdown(
    release: Release, assigned: Sequence[int], leader: int, leaving: int, *, topic_deleting: bool = False
) -> bool:
    """Whether a controlled shutdown moves the partition's leadership: led by the leaving broker and replicated.

    From 2.1 topics queued for deletion are left alone.
    """
    return leader == leaving and len(assigned) > 1 and not (topic_deleting and release >= Release(2, 1))


def zk_elect(
    release: Release,
    strategy: Strategy | str,
    *,
    assigned: Sequence[int],
    isr: Sequence[int],
    leader: int,
    leader_epoch: int,
    alive: Collection[int],
    target: Sequence[int] = (),
    shutting_down: Collection[int] = (),
    offline_replicas: Collection[int] = (),
    unclean_enabled: bool | None = None,
    controller_epoch: int = 0,
    stored_controller_epoch: int = 0,
    inter_broker_protocol: ProtocolVersion | None = None,
    recovery: str = RECOVERED,
) -> Elected | Refused:
    """One election as the controller runs it; success adds 1 to the leader epoch, even for the same leader.

    `unclean_enabled` None is the release's default; `inter_broker_protocol` None the release's own.
    A stored controller epoch above the own one means another controller took over: refused.
    """
    strategy = Strategy(strategy)
    if stored_controller_epoch > controller_epoch:
        return Refused(STATE_CHANGE_FAILED)
    online = online_replicas(release, alive, shutting_down, offline_replicas)
    if unclean_enabled is None:
        unclean_enabled = unclean_default(release)
    match strategy:
        case Strategy.OFFLINE:
            choice = elect_offline(release, assigned, isr, online, unclean_enabled)
        case Strategy.REASSIGN:
            choice = elect_reassigned(release, target, isr, online)
        case Strategy.PREFERRED:
            choice = elect_preferred(release, assigned, isr, leader, online)
        case Strategy.CONTROLLED_SHUTDOWN:
            choice = elect_controlled_shutdown(release, assigned, isr, leader, alive, shutting_down, offline_replicas)
    if isinstance(choice, Refused):
        return choice
    return Elected(
        leader=choice.leader,
        isr=choice.isr,
        leader_epoch=leader_epoch + 1,
        recipients=tuple(sorted(choice.recipients)),
        unclean=choice.unclean,
        recovery=recovery_after(release, choice.unclean, recovery, inter_broker_protocol),
    )


def recovery_after(release: Release, unclean: bool, before: str, protocol: ProtocolVersion | None = None) -> str | None:
    """The recovery state an election leaves behind (3.2, KIP-704): unclean starts it, clean keeps it.

    With an inter-broker protocol below 3.2 each keeps it; before 3.2 there is none (null).
    """
    if release < Release(3, 2):
        return None
    supports_recovery = protocol is None or protocol >= ProtocolVersion(Release(3, 2), 0)
    return RECOVERING if unclean and supports_recovery else before


@dataclass(frozen=True)
class ElectionAnswer:
    """The answer to an election request; `leader` and `isr` are those afterwards."""

    error: str  # "NONE" for success
    leader: int
    isr: tuple[int, ...]
    leader_epoch_bump: int


def zk_elect_request(
    release: Release,
    election_type: str,
    *,
    assigned: Sequence[int],
    leader: int,
    isr: Sequence[int],
    alive: Collection[int],
    shutting_down: Collection[int] = (),
    offline_replicas: Collection[int] = (),
    is_controller: bool = True,
    partition_known: bool = True,
    topic_deleting: bool = False,
    from_admin: bool = True,
    unclean_enabled: bool = False,
) -> ElectionAnswer:
    """What a request to elect does, first refusal wins. PREFERRED from 2.2 (KIP-183), UNCLEAN from 2.4 (KIP-460).

    UNCLEAN forces the switch on only for the Admin client, and still prefers a clean candidate. A leader
    in controlled shutdown does not count as alive (2.4.0's election filter).
    """
    if election_type not in ("PREFERRED", "UNCLEAN"):
        raise ValueError(f"Unknown election type {election_type!r}; expected PREFERRED or UNCLEAN")
    if release < Release(2, 2) or (election_type == "UNCLEAN" and release < Release(2, 4)):
        raise ValueError(f"Kafka {release} takes no {election_type} election requests")

    def unchanged(error: str) -> ElectionAnswer:
        return ElectionAnswer(error, leader, tuple(isr), 0)

    online = online_replicas(release, alive, shutting_down, offline_replicas)
    preferred = election_type == "PREFERRED"
    not_needed = leader in assigned[:1] if preferred else leader in set(alive) - set(shutting_down)
    if not is_controller:
        return unchanged("NOT_CONTROLLER")
    if not partition_known:
        return unchanged("UNKNOWN_TOPIC_OR_PARTITION")
    if topic_deleting:
        return unchanged("INVALID_TOPIC_EXCEPTION")
    if not_needed:
        return unchanged("ELECTION_NOT_NEEDED" if release >= Release(2, 4) else "NONE")
    if preferred:
        choice = elect_preferred(release, assigned, isr, leader, online)
    else:
        choice = elect_offline(release, assigned, isr, online, from_admin or unclean_enabled)
    if isinstance(choice, Refused):
        return unchanged("PREFERRED_LEADER_NOT_AVAILABLE" if preferred else "ELIGIBLE_LEADERS_NOT_AVAILABLE")
    return ElectionAnswer("NONE", choice.leader, choice.isr, 1)


def zk_new_partition(release: Release, assigned: Sequence[int], online: Collection[int]) -> Elected | Refused:
    """The birth state, every release: the online replicas in assignment order, led by the first; epochs 0.

    With none online nothing is stored, not even leader -1, and the partition stays NewPartition.
    """
    isr = tuple(broker for broker in assigned if broker in online)
    if not isr:
        return Refused(STATE_CHANGE_FAILED)
    recovery = recovery_after(release, unclean=False, before=RECOVERED)
    return Elected(isr[0], isr, leader_epoch=0, recipients=tuple(sorted(isr)), unclean=False, recovery=recovery)
