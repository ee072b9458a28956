"""Moving a partition to other brokers: the lists kept while it lasts, and the steps it takes.

After kafka.controller.KafkaController (ZooKeeper), PartitionReassignmentReplicas (KRaft) and KIP-455. ZooKeeper mode:
`reassign_to` (KIP-455, 2.4 on) and `zk_reassign_trace` (0.8.0-3.9). KRaft: the `kraft_reassign_*` functions, 3.0 on;
completion happens inside partition changes.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from udfs.kafka.elections import Choice, elect_reassigned, online_replicas
from udfs.kafka.releases import Release


@dataclass(frozen=True)
class ReassignmentLists:
    """A partition's replicas (ordered) and which of them a pending reassignment adds and removes."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


def reassign_to(lists: ReassignmentLists, target: Sequence[int]) -> ReassignmentLists:
    """The lists after a request in ZooKeeper mode, 2.4 on; the latest request wins.

    The origin is what was there before the pending reassignment. Cancelling is asking for the origin;
    its order may differ from the original one.

    >>> reassign_to(ReassignmentLists((1, 2, 3)), [3, 4])
    ReassignmentLists(replicas=(3, 4, 1, 2), adding=(4,), removing=(1, 2))
    """
    origin = [broker for broker in lists.replicas if broker not in lists.adding]
    replicas = tuple(dict.fromkeys([*target, *origin]))
    return ReassignmentLists(
        replicas,
        adding=tuple(broker for broker in replicas if broker not in origin),
        removing=tuple(broker for broker in origin if broker not in target),
    )


def kraft_reassign_plan(current: Sequence[int], target: Sequence[int]) -> ReassignmentLists:
    """What a KRaft request asks for. `current` is the full list, unfinished additions included."""
    removing = tuple(sorted(set(current) - set(target)))
    return ReassignmentLists((*target, *removing), tuple(sorted(set(target) - set(current))), removing)


def kraft_reassign_lists(pending: ReassignmentLists, target: Sequence[int]) -> ReassignmentLists:
    """The lists right after a KRaft request. An empty new list does not replace a pending one (3.0 on).

    So a request for the original replicas can leave `adding` and `removing` overlapping.
    """
    plan = kraft_reassign_plan(pending.replicas, target)
    return ReassignmentLists(plan.replicas, plan.adding or pending.adding, plan.removing or pending.removing)


@dataclass(frozen=True)
class Completed:
    """Replicas and ISR once a KRaft reassignment completes or is reverted."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    unclean: bool = False


def kraft_reassign_complete(release: Release, lists: ReassignmentLists, target_isr: Sequence[int]) -> Completed | None:
    """The outcome if the reassignment is complete with that ISR, else None; tested on every change.

    3.0-3.7 waits for the added replicas only, 3.8 on for all (KAFKA-15665). From 4.3 on (KAFKA-19975) a lagging
    replica that was there before blocks only a shrinking reassignment.

    >>> kraft_reassign_complete(Release(3, 7), ReassignmentLists((4, 2, 1, 3), (4,), (3,)), target_isr=[1, 3, 4])
    Completed(replicas=(4, 2, 1), isr=(1, 4), unclean=False)
    """
    if not lists.adding and not lists.removing:
        return None
    isr = tuple(broker for broker in target_isr if broker not in lists.removing)
    replicas = tuple(broker for broker in lists.replicas if broker not in lists.removing)
    if not isr or not replicas:
        return None
    shrinks = len(lists.removing) > len(lists.adding)
    only_added = release < Release(3, 8) or (release >= Release(4, 3) and not shrinks)
    awaited = lists.adding if only_added else replicas
    return Completed(replicas, isr) if set(awaited) <= set(isr) else None


def kraft_reassign_revert(lists: ReassignmentLists, isr: Sequence[int]) -> Completed:
    """A cancelled KRaft reassignment, before the partition change that carries it out.

    If only added replicas are in sync the first remaining one becomes the ISR, unclean: refused with
    INVALID_REPLICA_ASSIGNMENT unless the topic allows unclean elections.
    """
    replicas = tuple(broker for broker in lists.replicas if broker not in lists.adding)
    if not replicas:
        raise ValueError(f"Nothing remains of {lists.replicas} without the added replicas; expected at least one")
    remaining = tuple(broker for broker in isr if broker not in lists.adding)
    return Completed(replicas, remaining or replicas[:1], unclean=not remaining)


@dataclass(frozen=True)
class ReassignmentStep:
    """The state after one step of a reassignment in ZooKeeper mode, and the replica transitions it made."""

    step: str
    assignment: tuple[int, ...]
    leader: int
    isr: tuple[int, ...]
    leader_epoch: int
    replica_transitions: tuple[tuple[int, str, str], ...] = ()


@dataclass(frozen=True)
class Reassignment:
    """A replayed reassignment. `error` names why it was refused or where it is stuck, null otherwise."""

    steps: tuple[ReassignmentStep, ...]
    final: ReassignmentStep
    immediate: bool  # finished without a start phase
    ignored: bool  # dropped without a step
    completed: bool
    error: str | None = None


def zk_reassign_trace(
    release: Release,
    assigned: Sequence[int],
    target: Sequence[int],
    *,
    leader: int,
    isr: Sequence[int],
    leader_epoch: int,
    alive: Collection[int],
    catch_up_order: Sequence[int] = (),
    by_znode: bool = False,
) -> Reassignment:
    """The steps of one undisturbed reassignment in ZooKeeper mode.

    `catch_up_order` is the order in which the leader takes new replicas into the ISR; one that does not show up
    leaves the reassignment pending. Up to 2.3 the order of the widened assignment is arbitrary in Kafka.
    `by_znode`: asked for by /admin/reassign_partitions, as always to 2.3, and not by a request of the API.
    """
    before = ReassignmentStep("before", tuple(assigned), leader, tuple(isr), leader_epoch)
    refused = _refusal(release, before.assignment, target, alive, by_znode=by_znode)
    if refused is not None:
        return Reassignment((), before, immediate=False, ignored=True, completed=False, error=refused or None)
    immediate = set(target) <= set(isr)
    steps = [] if immediate else list(_start(release, before, target, catch_up_order))
    reached = steps[-1] if steps else before
    if not set(target) <= set(reached.isr):
        return Reassignment(tuple(steps), reached, immediate, ignored=False, completed=False)
    leader_move = _move_leader(release, reached, target, alive)
    if isinstance(leader_move, str):
        return Reassignment(tuple(steps), reached, immediate, ignored=False, completed=False, error=leader_move)
    steps += _finish(release, reached, before.assignment, target, leader_move)
    return Reassignment(tuple(steps), steps[-1], immediate, ignored=False, completed=True)


def _refusal(
    release: Release, assigned: Sequence[int], target: Sequence[int], alive: Collection[int], *, by_znode: bool
) -> str | None:
    """Why the request is not accepted: "" if it is dropped for asking for what is there, None if it is accepted.

    To 0.10.0 all targets must be live (KAFKA-4214 lifted it). From 2.4 equal lists finish at once, and requests of the
    API are checked (processApiPartitionReassignment): the added brokers must be live. Those of the znode are not
    (processZkPartitionReassignment): with a dead added broker they stay pending until it returns.
    """
    if release < Release(2, 4):
        if tuple(target) == tuple(assigned):
            return ""
        return "target not alive" if release < Release(0, 10, 1) and not set(target) <= set(alive) else None
    if by_znode:
        return None
    malformed = not target or len(set(target)) < len(target) or min(target) < 0
    if malformed or not set(target) - set(assigned) <= set(alive):
        return "INVALID_REPLICA_ASSIGNMENT"
    return None


def _start(
    release: Release, at: ReassignmentStep, target: Sequence[int], catch_up_order: Sequence[int]
) -> Iterator[ReassignmentStep]:
    """From the accepted request to the last ISR expansion. 0.8.0 neither widens the assignment nor moves the epoch."""
    created = tuple(broker for broker in target if broker not in at.assignment)
    wide = at.assignment
    if release >= Release(2, 4):
        wide = reassign_to(ReassignmentLists(at.assignment), target).replicas
    elif release >= Release(0, 8, 1):
        wide = (*at.assignment, *created)
    if release >= Release(0, 8, 1):
        yield ReassignmentStep("assignment widened in ZK", wide, at.leader, at.isr, at.leader_epoch)
        at = ReassignmentStep("epoch bump to OAR+RAR", wide, at.leader, at.isr, at.leader_epoch + 1)
        yield at
    if created:
        new = tuple((broker, "NonExistentReplica", "NewReplica") for broker in created)
        yield ReassignmentStep(f"{_names(created)} NewReplica", wide, at.leader, at.isr, at.leader_epoch, new)
    for broker in catch_up_order:
        if broker in wide or broker in target:
            isr = tuple(dict.fromkeys([*at.isr, broker]))
            at = ReassignmentStep(f"leader expands ISR with {broker}", wide, at.leader, isr, at.leader_epoch)
            yield at


def _move_leader(
    release: Release, at: ReassignmentStep, target: Sequence[int], alive: Collection[int]
) -> ReassignmentStep | str:
    """The leader at the end, or the error: kept with a new epoch (0.8.0: with the old), or else newly elected."""
    if at.leader in target and at.leader in alive:
        bump = 1 if release >= Release(0, 8, 1) else 0
        return ReassignmentStep("leader epoch refreshed", at.assignment, at.leader, at.isr, at.leader_epoch + bump)
    choice = elect_reassigned(release, target, at.isr, online_replicas(release, alive))
    if not isinstance(choice, Choice):
        return choice.error
    return ReassignmentStep(
        f"leader moved to {choice.leader}", at.assignment, choice.leader, at.isr, at.leader_epoch + 1
    )


def _finish(
    release: Release,
    at: ReassignmentStep,
    assigned: Sequence[int],
    target: Sequence[int],
    leader_move: ReassignmentStep,
) -> Iterator[ReassignmentStep]:
    """From all targets in sync to the narrowed assignment; each removed ISR member costs one leader epoch."""
    added = tuple(broker for broker in target if broker not in assigned)
    if added:
        online = tuple((broker, "NewReplica", "OnlineReplica") for broker in added)
        yield ReassignmentStep(
            f"{_names(added)} OnlineReplica", at.assignment, at.leader, at.isr, at.leader_epoch, online
        )
    at = leader_move
    yield at
    removed = tuple(broker for broker in assigned if broker not in target)
    for broker in (broker for broker in removed if broker in at.isr):
        isr = tuple(member for member in at.isr if member != broker)
        at = ReassignmentStep(f"{broker} offline, leaves ISR", at.assignment, at.leader, isr, at.leader_epoch + 1)
        yield at
    if removed:
        gone = tuple(transition for broker in removed for transition in _deletion(release, broker))
        named = " and ".join(map(str, removed))
        yield ReassignmentStep(f"{named} deleted", at.assignment, at.leader, at.isr, at.leader_epoch, gone)
    yield ReassignmentStep("assignment narrowed in ZK", tuple(target), at.leader, at.isr, at.leader_epoch)


def _deletion(release: Release, broker: int) -> Iterator[tuple[int, str, str]]:
    path = ["OfflineReplica", "ReplicaDeletionStarted", "ReplicaDeletionSuccessful", "NonExistentReplica"]
    if release < Release(0, 8, 1):
        path = [path[0], path[-1]]
    return ((broker, was, now) for was, now in pairwise(path))


def _names(brokers: Sequence[int]) -> str:
    return f"{' and '.join(map(str, brokers))} {'becomes' if len(brokers) == 1 else 'become'}"
