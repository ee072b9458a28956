"""Which records a KRaft controller could write next about one partition: by a step that it logs, or without any line.

Each record adds 1 to the partition epoch, and 1 to the leader epoch if it names a leader, the same or none too.
Sources: PartitionChangeBuilder and ReplicationControlManager (3.0 on), for eligible leader replicas KIP-966, for
directories KIP-858.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, combinations, permutations

from schemas.kafka_values import NO_LEADER
from udfs.reconstruct.kraft_facts import (
    ASSIGNMENT_CHANGED,
    DIRECTORY_LOST,
    NONE_ELIGIBLE,
    PREFERRED_ELECTED,
    REMOVALS,
    REPLICA_LOST,
    REPLICAS_REMOVED,
    UNCLEAN_RESTART,
    UNFENCED,
    ControllerStep,
    KnownState,
    PartitionRules,
)
from udfs.reconstruct.kraft_possible_state import Activity, Ids, PossibleState

MOST_IN_SYNC = 8
"""Larger ISRs lose or win one replica at a time in histories that are tried."""

MOST_REPLICAS = 4
"""Of larger assignments only what lines show of the next state is tried, and another order that nobody knows."""


def records_of_step(
    state: PossibleState,
    step: ControllerStep,
    active: Activity,
    rules: PartitionRules,
    shown_replicas: Sequence[int] | None = None,
) -> set[PossibleState]:
    """States that a step may make of one; the same if it may write nothing about the partition.

    `active`: before the step. `shown_replicas`: what lines show of the next partition epoch. None follows from a record
    that cannot be about the state: who leads is in sync.
    """
    if step.kind == ASSIGNMENT_CHANGED:
        after = _as_recorded(state, step)
        return {after} if after.leader in (NO_LEADER, *after.isr) else set()
    active = _without_lost_directories(state, active)
    if step.kind == REPLICAS_REMOVED:
        return {state, *_without_replicas(state, active, shown_replicas)}
    if step.kind == PREFERRED_ELECTED:
        return {state, *_with_preferred_leader(state, active)}
    if step.kind == NONE_ELIGIBLE:
        return {state} if rules.keeps_last_member else {state, state.written().without_eligible()}
    if step.kind == REPLICA_LOST and step.broker is not None:
        return set(_with_lost_directory(state, step.broker, active, rules))
    if step.kind == DIRECTORY_LOST:
        lost = state.isr if step.broker is None else (step.broker,)
        return {state}.union(*(_with_lost_directory(state, broker, active, rules) for broker in lost))
    if step.broker is None:
        return {state}
    if step.kind == UNFENCED:
        if step.broker not in state.without_directory:
            return set(_unfenced(state, step.broker, active))
        mended = state._replace(without_directory=state.without_directory - {step.broker})
        return {state, *_unfenced(mended, step.broker, active)}
    if step.kind in REMOVALS:
        is_restart = step.kind == UNCLEAN_RESTART
        left = state.without_directory - ({step.broker} if is_restart else frozenset())
        removed = _removed(state, step.broker, active, rules, is_unclean=is_restart)
        return {after._replace(without_directory=left) for after in removed}
    return {state}


def _without_lost_directories(state: PossibleState, active: Activity) -> Activity:
    """Who may lead the partition: nobody whose directory failed."""
    if not state.without_directory:
        return active
    return {**active, **dict.fromkeys(state.without_directory, False)}


def _with_lost_directory(
    state: PossibleState, broker: int, active: Activity, rules: PartitionRules
) -> Iterator[PossibleState]:
    """The directory of a broker's replica failed: it is taken out of the ISR, if the controller knows that it is there
    (`ReplicationControlManager.handleDirectoriesOffline`)."""
    if state.unassigned is not None and broker in state.unassigned:
        yield state
        return
    for after in _removed(state, broker, active, rules, is_unclean=False):
        was_in_sync = after.partition_epoch > state.partition_epoch
        yield after._replace(without_directory=state.without_directory | {broker}) if was_in_sync else after


def records_of_nobody(
    state: PossibleState,
    known: KnownState | None,
    active: Activity,
    rules: PartitionRules,
    *,
    is_covered: bool,
    may_be_unclean: bool = True,
    shrinks: Collection[Ids] | None = None,
    members: Ids = frozenset(),
) -> Iterator[PossibleState]:
    """States that a record may make of one without any line of the controller at INFO; `known`: what lines show of it.

    `is_covered`: whether the leader's own log is there, so that it logs changes of the ISR but the last before it lost
    its place. `may_be_unclean`: whether the record may be an unclean election, for the controller logs each (3.0 on).
    `shrinks`: the ISRs that it says it shrinks to about then, for it does before it asks; None: any. `members`: who is
    a replica at any time.
    """
    by_leader = known is not None and known.by_leader
    active = _without_lost_directories(state, active)
    if not state.is_unlogged and not by_leader:
        yield from _with_directory(state)
    if state.leader == NO_LEADER:
        yield from _elected_by_request(state, known, active, may_be_unclean=may_be_unclean)
        return
    if by_leader or not is_covered or not state.is_unlogged:
        for isr in _isrs_by_leader(state, known, active, members):
            is_shrink = bool(state.isr - isr)
            if is_shrink and not by_leader and shrinks is not None and isr not in shrinks:
                continue
            if not is_shrink or rules.raises_epoch_of_shrink is not True:
                yield state.written(isr=isr)._replace(is_unlogged=is_covered)
            # the leader takes the answer for one about a later term, and logs the next state that it learns of
            if is_shrink and rules.raises_epoch_of_shrink is not False:
                yield state.written(state.leader, isr)
    yield from _with_preferred_leader(state, active)


def records_unseen(state: PossibleState, active: Activity, rules: PartitionRules) -> Iterator[PossibleState]:
    """States that a step of a broker may make of one, where the controller's log may be missing, or the beginning of a
    reassignment. As one ends it may leave any leader with any ISR, in a new leader epoch: that is not tried."""
    yield state.written()._replace(replicas=None)
    for broker in state.isr | state.eligible:
        for is_unclean in (False, True) if rules.keeps_last_member is not True else (False,):
            after = _removed(state, broker, active, rules, is_unclean=is_unclean)
            yield from (new for new in after if new.partition_epoch > state.partition_epoch)
        if state.leader == NO_LEADER:
            after = _unfenced(state, broker, {})
            yield from (new for new in after if new.partition_epoch > state.partition_epoch)


def records_unclean(state: PossibleState, printed: KnownState) -> Iterator[PossibleState]:
    """The state that a broker's step makes of one by an unclean election, which the controller prints; none if it is
    none."""
    leader = printed.leader
    if leader is not None and leader >= 0 and leader not in state.isr and printed.isr == [leader]:
        yield state.written(leader, frozenset({leader}))


def _as_recorded(state: PossibleState, step: ControllerStep) -> PossibleState:
    isr = None if step.isr is None else frozenset(step.isr)
    after = state.written(step.leader, isr)
    # a record that prints directories prints those of all replicas
    unassigned = after.unassigned if step.unassigned is None else frozenset(step.unassigned)
    replicas = after.replicas if step.replicas is None else tuple(step.replicas)
    return after._replace(replicas=replicas, unassigned=unassigned)


def _with_directory(state: PossibleState) -> Iterator[PossibleState]:
    """A broker tells in which directory a new replica is; leader and ISR stay. One that is fenced or shuts down may,
    too: only its broker epoch is looked at (`ReplicationControlManager.handleAssignReplicasToDirs`). Through 4.2 that
    writes as if there were no eligible leader replicas, so nobody is any more."""
    after = state.written()._replace(eligible=frozenset())
    if state.unassigned is None:
        yield after
        return
    for replica in state.unassigned:
        yield after._replace(unassigned=state.unassigned - {replica})


def _with_preferred_leader(state: PossibleState, active: Activity) -> Iterator[PossibleState]:
    """The first replica of the assignment, or any of one that is not known, is elected if it is in sync."""
    for replica in state.replicas[:1] if state.replicas else sorted(state.isr):
        if replica != state.leader and replica in state.isr and active.get(replica, True):
            yield state.written(replica)


def _isrs_by_leader(state: PossibleState, known: KnownState | None, active: Activity, members: Ids) -> Iterator[Ids]:
    """ISRs that a leader may ask for; only that of its line where there is one. Of an unknown assignment any broker may
    join that lines show as a replica of the partition at some time: `members`, and who the controller tells of in
    `active`."""
    if known is not None and known.isr is not None:
        isr = frozenset(known.isr)
        # the same again only once it has recovered from an unclean election, alone
        if state.leader in isr and (isr != state.isr or (known.by_leader and len(isr) == 1)):
            yield isr
        return
    others = sorted(state.isr - {state.leader})
    fewer = range(len(others)) if len(others) < MOST_IN_SYNC else (len(others) - 1,)
    for followers in chain.from_iterable(combinations(others, size) for size in fewer):
        yield frozenset((state.leader, *followers))
    for replica in sorted({*active, *members}) if state.replicas is None else state.replicas:
        if replica not in state.isr and active.get(replica, True):
            yield state.isr | {replica}


def _elected_by_request(
    state: PossibleState, known: KnownState | None, active: Activity, *, may_be_unclean: bool
) -> Iterator[PossibleState]:
    """An election that an admin asks for, of one who leads by lines."""
    if known is not None and known.leader is not None and known.leader >= 0 and active.get(known.leader, True):
        if may_be_unclean:
            yield state.written(known.leader, frozenset({known.leader}))
        if known.leader in state.isr:
            yield state.written(known.leader)


def _candidates(state: PossibleState, isr: Ids, active: Activity) -> Iterator[int]:
    """Who may be elected of an ISR, the first able one in the assignment's order; NO_LEADER if it may be nobody."""
    in_order = [replica for replica in state.replicas if replica in isr] if state.replicas else sorted(isr)
    is_sure = False
    for replica in in_order:
        is_active = active.get(replica, True if len(state.isr) > 1 and replica in state.isr else None)
        if is_active is not False:
            yield replica
        is_sure = is_sure or is_active is True
        if is_active and state.replicas:
            return
    if not is_sure:
        yield NO_LEADER


def _unfenced(state: PossibleState, broker: int, active: Activity) -> Iterator[PossibleState]:
    """A broker is unfenced: partitions without a leader get one, if anybody can lead.

    One taken off the assignment may be eligible still, but cannot lead.
    """
    if state.leader != NO_LEADER:
        yield state
        return
    now_active = {**active, broker: True}
    if state.isr:
        for leader in _candidates(state, state.isr, now_active):
            yield state if leader == NO_LEADER else state.written(leader)
        return
    if state.perhaps_eligible is not None:
        perhaps = state.perhaps_eligible
    else:
        perhaps = state.eligible.union(state.replicas or (), (broker,))
    assigned = {*(state.replicas or perhaps)}
    for replica in perhaps & assigned:
        if now_active.get(replica, True):
            yield state.written(replica, frozenset({replica}))
    if not any(now_active.get(replica) for replica in state.eligible & assigned):
        yield state


def _removed(
    state: PossibleState, broker: int, active: Activity, rules: PartitionRules, *, is_unclean: bool
) -> Iterator[PossibleState]:
    """A broker is taken out of the ISR, and leads no more; after an unclean shutdown it is not eligible either."""
    if broker not in state.isr:
        may_be_eligible = state.perhaps_eligible is None or broker in state.perhaps_eligible
        if is_unclean and may_be_eligible and rules.keeps_last_member is not True:
            perhaps = None if state.perhaps_eligible is None else state.perhaps_eligible - {broker}
            after = state._replace(partition_epoch=state.partition_epoch + 1)
            yield after._replace(eligible=state.eligible - {broker}, perhaps_eligible=perhaps)
        if not is_unclean or broker not in state.eligible:
            yield state
        return
    isr, others = state.isr - {broker}, {**active, broker: False}
    if not isr:
        yield from _last_removed(state, broker, others, rules, is_unclean=is_unclean)
        return
    if state.leader in isr and others.get(state.leader) is not False:
        if rules.raises_epoch_of_shrink is not True:
            yield state.written(None, isr)
        if rules.raises_epoch_of_shrink is not False:
            yield state.written(state.leader, isr)
        return
    for leader in _candidates(state, isr, others):
        yield state.written(leader, isr)


def _last_removed(
    state: PossibleState, broker: int, active: Activity, rules: PartitionRules, *, is_unclean: bool
) -> Iterator[PossibleState]:
    """The last member is taken out: it stays in the ISR, or it is an eligible leader replica then.

    Another replica that is eligible already, and able, leads at once: the new ISR is empty
    (`PartitionChangeBuilder.isValidNewLeader`). One taken off the assignment cannot lead, see `_unfenced`.
    """
    leader = NO_LEADER if state.leader != NO_LEADER else None
    assigned, perhaps = state.replicas or (), state.perhaps_eligible
    if rules.keeps_last_member is not True:
        for replica in (assigned or sorted(active)) if perhaps is None else sorted(perhaps):
            is_replica = not assigned or replica in assigned
            if is_replica and replica not in state.isr and active.get(replica, True):
                yield state.written(replica, frozenset({replica}))
    another_leads = any(active.get(replica) for replica in state.eligible & {*assigned})
    if rules.keeps_last_member is not True and not another_leads:
        no_longer = frozenset({broker}) if is_unclean else frozenset()
        after = state.written(leader, frozenset())
        perhaps = None if after.perhaps_eligible is None else after.perhaps_eligible - no_longer
        yield after._replace(eligible=(state.eligible | state.isr) - no_longer, perhaps_eligible=perhaps)
    if rules.keeps_last_member is not False:
        if leader is not None:
            yield state.written(leader)
            return
        if rules.raises_epoch_of_last_member is not True:
            yield state
        if rules.raises_epoch_of_last_member is not False:
            yield state.written(NO_LEADER)


def _without_replicas(
    state: PossibleState, active: Activity, shown_replicas: Sequence[int] | None
) -> Iterator[PossibleState]:
    """Replicas are taken away, or put in another order; a leader that stays names itself again."""
    replicas = state.replicas or ()
    tried: Iterable[tuple[int, ...]] = ()
    if replicas and len(replicas) <= MOST_REPLICAS:
        tried = chain.from_iterable(permutations(replicas, size) for size in range(1, len(replicas) + 1))
    elif not replicas or shown_replicas is None:
        yield from _with_unknown_replicas(state._replace(replicas=None), active)
    elif set(shown_replicas) <= set(replicas):
        tried = (tuple(shown_replicas),)
    for kept in tried:
        isr = state.isr & set(kept)
        # replicas are taken away at once only where somebody stays in sync, and put in another order in any case
        if kept == replicas or (len(kept) < len(replicas) and not isr):
            continue
        after = state._replace(replicas=kept)
        if len(kept) == len(replicas):
            yield after.written()
        elif state.leader in isr or state.leader == NO_LEADER:
            yield after.written(state.leader, isr)
        else:
            yield from (after.written(leader, isr) for leader in _candidates(after, isr, active))


def _with_unknown_replicas(state: PossibleState, active: Activity) -> Iterator[PossibleState]:
    """Any replicas are taken away of an assignment that is unknown, or was too large, so any members of the ISR but
    one; or they are put in another order."""
    yield state.written()
    members = sorted(state.isr)
    sizes = range(1, len(members) + 1) if len(members) <= MOST_IN_SYNC else (len(members) - 1, len(members))
    for isr in map(frozenset, chain.from_iterable(combinations(members, size) for size in sizes)):
        is_kept = state.leader in isr or state.leader == NO_LEADER
        leaders = (state.leader,) if is_kept else _candidates(state, isr, active)
        yield from (state.written(leader, isr) for leader in leaders)
