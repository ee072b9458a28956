"""Moving a partition to other brokers: the lists kept while it lasts.

After kafka.controller.ReplicaAssignment (ZooKeeper, 2.4 on), PartitionReassignmentReplicas (KRaft, 3.0 on) and KIP-455.
ZooKeeper mode: `reassign_to`; its steps are in `zk_reassignment`. KRaft: the `kraft_reassign_*` functions; completion
happens inside partition changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

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
    replica that was there before blocks only a shrinking reassignment. An added replica that is to be removed again
    blocks through 3.7 and from 4.3 on.

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
    awaited: set[int] = set()
    if release < Release(3, 8) or release >= Release(4, 3):
        awaited.update(lists.adding)
    if release >= Release(3, 8) and (release < Release(4, 3) or shrinks):
        awaited.update(replicas)
    return Completed(replicas, isr) if awaited <= set(isr) else None


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
