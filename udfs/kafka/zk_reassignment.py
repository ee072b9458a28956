"""The steps of a reassignment in ZooKeeper mode, 0.8.0 to 3.9, and the requests that the controller sends with each.

After kafka.controller.KafkaController.onPartitionReassignment, which a controller runs when it is asked, and again when
the ISR holds the target, when a target broker returns, and when another controller takes over: `reassignment_pass` is
one run. `zk_reassign_trace` is a reassignment from its request to its end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from udfs.kafka.elections import Choice, Refused, elect_reassigned
from udfs.kafka.reassignment import ReassignmentLists, reassign_to
from udfs.kafka.releases import Release
from udfs.kafka.replica_removal import zk_remove_replica

KIP_455 = Release(2, 4)
LEADER_AND_ISR, UPDATE_METADATA, STOP_REPLICA = "LeaderAndIsr", "UpdateMetadata", "StopReplica"


@dataclass(frozen=True)
class StepRequest:
    """A request about the partition, by kind, and the brokers that get it, in ascending order; `deletes`: a StopReplica
    that deletes the replica."""

    kind: str
    brokers: tuple[int, ...]
    deletes: bool = False


@dataclass(frozen=True)
class ReassignmentStep:
    """The state after one step of a reassignment, the replica transitions that it made, and the requests sent with it,
    in Kafka's order. KRaft has neither transitions nor requests: brokers read the records."""

    step: str
    assignment: tuple[int, ...]
    leader: int
    isr: tuple[int, ...]
    leader_epoch: int
    replica_transitions: tuple[tuple[int, str, str], ...] = ()
    requests: tuple[StepRequest, ...] = ()


@dataclass(frozen=True)
class Reassignment:
    """A replayed reassignment. `error` names why it was refused, or why no leader was elected at its end, null
    otherwise."""

    steps: tuple[ReassignmentStep, ...]
    final: ReassignmentStep
    immediate: bool  # finished without a start phase
    ignored: bool  # dropped without a step
    completed: bool
    error: str | None = None


@dataclass(frozen=True)
class ReassigningController:
    """What of a controller decides: `live` replicas can lead (their brokers do not shut down, their directories work),
    and only `registered` brokers are sent requests. `unclean_enabled` None: as the release does by default."""

    release: Release
    live: frozenset[int]
    registered: frozenset[int]
    unclean_enabled: bool | None = None


@dataclass(frozen=True)
class ReassignmentPass:
    """One run of onPartitionReassignment: its steps, the lists and the state afterwards. `error`: no leader could be
    elected; the rest is done all the same, for the state machines only log failures."""

    steps: tuple[ReassignmentStep, ...]
    lists: ReassignmentLists
    final: ReassignmentStep
    completed: bool
    error: str | None = None


def requests_in_words(requests: Iterable[StepRequest], registered: Collection[int]) -> str:
    """Requests as a list in words; `to all`: to every registered broker.

    >>> requests_in_words([StepRequest("UpdateMetadata", (1, 2)), StepRequest("StopReplica", (2,), True)], {1, 2})
    'UpdateMetadata to all; StopReplica with delete to 2'
    """

    def words(request: StepRequest) -> str:
        to_all = request.kind == UPDATE_METADATA and set(request.brokers) == set(registered)
        brokers = "all" if to_all else ",".join(map(str, request.brokers))
        return f"{request.kind}{' with delete' if request.deletes else ''} to {brokers}"

    return "; ".join(words(request) for request in requests)


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
    adding: Sequence[int] = (),
    removing: Sequence[int] = (),
    shutting_down: Collection[int] = (),
) -> Reassignment:
    """The steps of one undisturbed reassignment in ZooKeeper mode.

    `alive` brokers do not shut down. `catch_up_order` is the order in which the leader takes new replicas into the ISR;
    one that does not show up leaves the reassignment pending, and without a leader all of them do. Up to 2.3 the order
    of the widened assignment is arbitrary in Kafka. `by_znode`: asked for by /admin/reassign_partitions, as always to
    2.3, and not by a request of the API. `adding`, `removing` (in any order): of a reassignment that is pending, which
    this one replaces (2.4 on).
    """
    pending = (tuple(broker for broker in assigned if broker in part) for part in (adding, removing))
    lists = ReassignmentLists(tuple(assigned), *pending)
    before = ReassignmentStep("before", lists.replicas, leader, tuple(isr), leader_epoch)
    refused = refusal_of(release, lists, target, alive, by_znode=by_znode)
    if refused is not None:
        return Reassignment((), before, immediate=False, ignored=True, completed=False, error=refused or None)
    controller = ReassigningController(release, frozenset(alive), frozenset({*alive, *shutting_down}))
    first = reassignment_pass(controller, before, lists, target)
    if first.completed:
        return Reassignment(first.steps, first.final, immediate=True, ignored=False, completed=True, error=first.error)
    can_join = first.final.leader in controller.registered
    joining = [broker for broker in catch_up_order if can_join and broker in target]
    steps = (*first.steps, *_expansions(first.final, joining))
    reached = steps[-1] if steps else before
    if not set(target) <= set(reached.isr):
        return Reassignment(steps, reached, immediate=False, ignored=False, completed=False)
    last = reassignment_pass(controller, reached, first.lists, target)
    return Reassignment(
        (*steps, *last.steps), last.final, immediate=False, ignored=False, completed=True, error=last.error
    )


def refusal_of(
    release: Release, lists: ReassignmentLists, target: Sequence[int], alive: Collection[int], *, by_znode: bool
) -> str | None:
    """Why the request is not accepted: "" if it is dropped for asking for what is there, None if it is accepted.

    To 0.10.0 all targets must be live (KAFKA-4214 lifted it). From 2.4 equal lists finish at once, and requests of the
    API are checked (processApiPartitionReassignment): brokers that the origin lacks must be live. Those of the znode
    are not (processZkPartitionReassignment): with a dead added broker they stay pending until it returns.
    """
    if release < KIP_455:
        if tuple(target) == lists.replicas:
            return ""
        return "target not alive" if release < Release(0, 10, 1) and not set(target) <= set(alive) else None
    if by_znode:
        return None
    malformed = not target or len(set(target)) < len(target) or min(target) < 0
    if malformed or not set(reassign_to(lists, target).adding) <= set(alive):
        return "INVALID_REPLICA_ASSIGNMENT"
    return None


def _expansions(at: ReassignmentStep, brokers: Sequence[int]) -> Iterator[ReassignmentStep]:
    """The leader takes brokers into the ISR."""
    for broker in brokers:
        if broker not in at.isr:
            at = _step(f"leader expands ISR with {broker}", at, isr=(*at.isr, broker))
            yield at


def reassignment_pass(
    controller: ReassigningController, at: ReassignmentStep, lists: ReassignmentLists, target: Sequence[int]
) -> ReassignmentPass:
    """One run of onPartitionReassignment towards a target: it completes if that is in the ISR, else it (re)starts.

    `at` is the state before, `lists` what is stored; with the target of the pending reassignment it is resumed, at the
    cost of another leader epoch (not in 0.8.0). Replicas that only the pending reassignment had added go first
    (updateCurrentReassignment, 2.4 on). Through 2.3 nothing replaces a pending one: its target has to be this one, and
    `adding` and `removing`, which these releases do not store, follow from it.
    """
    aim = _aim(controller.release, lists, target)
    steps = list(_store(controller, at, lists, aim))
    reached = steps[-1] if steps else at
    is_reassigning = bool(aim.adding or aim.removing)
    if set(target) <= set(reached.isr) or (controller.release >= KIP_455 and not is_reassigning):
        election, rest = _finish(controller, reached, aim, target)
        done = (*steps, *rest)
        error = election.error if isinstance(election, Refused) else None
        return ReassignmentPass(done, ReassignmentLists(tuple(target)), done[-1], completed=True, error=error)
    steps += _start(controller, reached, lists, aim)
    return ReassignmentPass(tuple(steps), aim, steps[-1] if steps else at, completed=False)


def _aim(release: Release, lists: ReassignmentLists, target: Sequence[int]) -> ReassignmentLists:
    """The lists while the reassignment lasts. 0.8.0 does not widen the assignment."""
    if release >= KIP_455:
        return reassign_to(lists, target)
    if lists.adding or lists.removing:
        return lists
    added = tuple(broker for broker in target if broker not in lists.replicas)
    removed = tuple(broker for broker in lists.replicas if broker not in target)
    widened = (*lists.replicas, *added) if release >= Release(0, 8, 1) else lists.replicas
    return ReassignmentLists(widened, added, removed)


def _store(
    controller: ReassigningController, at: ReassignmentStep, lists: ReassignmentLists, aim: ReassignmentLists
) -> Iterator[ReassignmentStep]:
    """2.4 on: the lists are stored if they change, then replicas that are not needed any more are stopped."""
    if controller.release < KIP_455 or aim == lists:
        return
    widens = set(aim.replicas) > set(lists.replicas)
    at = _step(f"assignment {'widened' if widens else 'stored'} in ZK", at, assignment=aim.replicas)
    yield at
    yield from _stop(controller, at, [broker for broker in lists.replicas if broker not in aim.replicas], aim.replicas)


def _start(
    controller: ReassigningController, at: ReassignmentStep, lists: ReassignmentLists, aim: ReassignmentLists
) -> Iterator[ReassignmentStep]:
    """Phase A, until the target is waited for. 0.8.0 only makes new replicas, and does not move the epoch."""
    release = controller.release
    if release >= Release(0, 8, 1):
        if release < KIP_455:
            at = _step("assignment widened in ZK", at, assignment=aim.replicas)
            yield at
        at = _step(
            "epoch bump to OAR+RAR", at, leader_epoch=at.leader_epoch + 1,
            requests=_leader_and_isr(controller, aim.replicas),
        )  # fmt: skip
        yield at
    # one that the pending reassignment has made new already stays so
    created = [broker for broker in aim.adding if broker not in lists.replicas and broker not in lists.adding]
    if created:
        transitions = tuple((broker, "NonExistentReplica", "NewReplica") for broker in created)
        yield _step(
            f"{_names(created)} NewReplica", at, transitions=transitions, requests=_leader_and_isr(controller, created)
        )


def _finish(
    controller: ReassigningController, at: ReassignmentStep, aim: ReassignmentLists, target: Sequence[int]
) -> tuple[Choice | Refused | None, list[ReassignmentStep]]:
    """Phase B, from all targets in sync to the narrowed assignment, and who was elected; None: the leader stays."""
    steps = []
    if aim.adding:
        online = tuple((broker, "NewReplica", "OnlineReplica") for broker in aim.adding)
        steps.append(_step(f"{_names(aim.adding)} OnlineReplica", at, transitions=online))
    kept = [broker for broker in target if broker not in aim.adding]
    if kept and controller.release < KIP_455:
        names = f"{' and '.join(map(str, kept))} {'stays' if len(kept) == 1 else 'stay'}"
        steps.append(_step(f"{names} OnlineReplica", at, requests=_leader_and_isr(controller, kept)))
    election, moved = _move_leader(controller, at, target)
    steps += moved
    at = moved[-1] if moved else at
    steps += _stop(controller, at, aim.removing, target)
    at = steps[-1] if steps else at
    last = _step("assignment narrowed in ZK", at, assignment=tuple(target), requests=(_update_metadata(controller),))
    return election, [*steps, last]


def _move_leader(
    controller: ReassigningController, at: ReassignmentStep, target: Sequence[int]
) -> tuple[Choice | Refused | None, list[ReassignmentStep]]:
    """The leader at the end: kept with a new epoch (0.8.0: with the old), or else newly elected."""
    release = controller.release
    if at.leader in target and at.leader in controller.live:
        bump = 1 if release >= Release(0, 8, 1) else 0
        recipients = target if release >= KIP_455 else {*at.assignment, *target}
        requests = _leader_and_isr(controller, recipients) if bump else ()
        return None, [_step("leader epoch refreshed", at, leader_epoch=at.leader_epoch + bump, requests=requests)]
    choice = elect_reassigned(release, target, at.isr, controller.live)
    if isinstance(choice, Refused):
        return choice, []
    requests = _leader_and_isr(controller, choice.recipients)
    return choice, [
        _step(
            f"leader moved to {choice.leader}", at, leader=choice.leader, leader_epoch=at.leader_epoch + 1,
            requests=requests,
        )
    ]  # fmt: skip


def _stop(
    controller: ReassigningController, at: ReassignmentStep, removed: Sequence[int], remaining: Sequence[int]
) -> Iterator[ReassignmentStep]:
    """Replicas go offline, each in the ISR at the cost of one leader epoch, and are deleted.

    They go offline as one batch, in which the last LeaderAndIsr counts. 0.8.0 takes them one by one, asks nobody about
    one that was not in the ISR, and stops replicas only to delete them.
    """
    has_batches = controller.release >= Release(0, 8, 1)
    for broker in removed:
        outcome = zk_remove_replica(
            controller.release, broker, assigned=remaining, leader=at.leader, isr=at.isr,
            leader_epoch=at.leader_epoch, unclean_enabled=controller.unclean_enabled,
        )  # fmt: skip
        if isinstance(outcome, Refused):  # another controller has written: it is the one that reassigns
            return
        is_sent = broker == removed[-1] if has_batches else outcome.written
        requests = _leader_and_isr(controller, outcome.recipients) if is_sent else ()
        if has_batches:
            requests += _request(controller, STOP_REPLICA, [broker])
        at = replace(
            _step(f"{broker} offline{', leaves ISR' if outcome.written else ''}", at, requests=requests),
            leader=outcome.leader, isr=outcome.isr, leader_epoch=outcome.leader_epoch,
        )  # fmt: skip
        yield at
    if removed:
        transitions = tuple(move for broker in removed for move in _deletion(controller.release, broker))
        names = " and ".join(map(str, removed))
        stops = _request(controller, STOP_REPLICA, removed, deletes=True)
        yield _step(f"{names} deleted", at, transitions=transitions, requests=stops)


def _step(
    text: str,
    at: ReassignmentStep,
    *,
    assignment: tuple[int, ...] | None = None,
    leader: int | None = None,
    isr: tuple[int, ...] | None = None,
    leader_epoch: int | None = None,
    transitions: tuple[tuple[int, str, str], ...] = (),
    requests: tuple[StepRequest, ...] = (),
) -> ReassignmentStep:
    """The next step; None: as it was."""
    return ReassignmentStep(
        text,
        at.assignment if assignment is None else assignment,
        at.leader if leader is None else leader,
        at.isr if isr is None else isr,
        at.leader_epoch if leader_epoch is None else leader_epoch,
        transitions,
        requests,
    )


def _leader_and_isr(controller: ReassigningController, brokers: Iterable[int]) -> tuple[StepRequest, ...]:
    """LeaderAndIsr to brokers, with which UpdateMetadata always goes to all."""
    return (*_request(controller, LEADER_AND_ISR, brokers), _update_metadata(controller))


def _update_metadata(controller: ReassigningController) -> StepRequest:
    return StepRequest(UPDATE_METADATA, tuple(sorted(controller.registered)))


def _request(
    controller: ReassigningController, kind: str, brokers: Iterable[int], *, deletes: bool = False
) -> tuple[StepRequest, ...]:
    """A request to those of some brokers that are registered; none if nobody is."""
    recipients = tuple(sorted({*brokers} & controller.registered))
    return (StepRequest(kind, recipients, deletes),) if recipients else ()


def _deletion(release: Release, broker: int) -> Iterator[tuple[int, str, str]]:
    path = ["OfflineReplica", "ReplicaDeletionStarted", "ReplicaDeletionSuccessful", "NonExistentReplica"]
    if release < Release(0, 8, 1):
        path = [path[0], path[-1]]
    return ((broker, was, now) for was, now in pairwise(path))


def _names(brokers: Sequence[int]) -> str:
    return f"{' and '.join(map(str, brokers))} {'becomes' if len(brokers) == 1 else 'become'}"
