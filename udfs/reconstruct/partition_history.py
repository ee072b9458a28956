"""The states of one partition where lines seldom name the partition epoch: put in order by how they follow each other.

With ZooKeeper a state is written either by the controller, which raises the leader epoch with every write, or by the
leader, which changes the ISR and nothing else. So the states of one incarnation are ordered by (leader epoch, step):
step 0 is the controller's write, step k the leader's k-th change, and each change names the ISR that it starts from.
The partition epoch (the version of the state's znode) counts all writes from 0: it is known as far as the chain of
changes reaches without a hole from the partition's creation, or from a line that prints it, and where the states around
leave no write to a leader. Elsewhere it stays unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, islice, pairwise

from schemas.kafka_values import NO_LEADER
from udfs.reconstruct.begun_terms import isrs_of_begun
from udfs.reconstruct.counted_writes import with_counted_writes, without_refuted_numbers
from udfs.reconstruct.draft_states import DraftIndex, DraftState, DraftStep
from udfs.reconstruct.epoch_observations import EpochObservation, OrderedState, not_over
from udfs.reconstruct.leader_terms import LeaderTerm


def ordered_states(observations: Iterable[EpochObservation], reported: Collection[int] = ()) -> Iterator[OrderedState]:
    """States in order, from all observations of one incarnation, in the order of (leader epoch, time, line).

    `reported`: partition epochs of which a leader reports, in a leader epoch that is unknown, that it wrote them: so
    the controller did not. They may be added until the first observation. Two leader epochs are held in memory at a
    time, and states whose partition epoch the next numbered one may tell (`with_counted_writes`).

    >>> born = EpochObservation(0, at=1, leader=1, isr=(1, 2), coverage=(0, 9))
    >>> left = EpochObservation(0, at=5, leader=1, isr_before=(1, 2), isr=(1,), coverage=(0, 9))
    >>> lost = EpochObservation(1, at=8, leader=-1, isr=(1,))
    >>> [(s.leader_epoch, s.partition_epoch, s.leader, s.isr) for s in ordered_states([born, left, lost])]
    [(0, 0, 1, (1, 2)), (0, 1, 1, (1,)), (1, 2, -1, (1,))]
    """
    return with_counted_writes(without_refuted_numbers(_states_by_terms(observations, reported)))


def _states_by_terms(observations: Iterable[EpochObservation], reported: Collection[int]) -> Iterator[OrderedState]:
    """`ordered_states`, with partition epochs as far as lines print them, or changes lead to them without a hole."""
    before: LeaderTerm | None = None
    begun: list[EpochObservation] = []  # first lines of the leader epochs since, of which there are no others
    # partition epoch of the controller's next write, if all writes so far are known
    next_epoch: int | None = None
    follows = False  # whether no state is missing before the controller's write that began `before`
    for number, (leader_epoch, group) in enumerate(groupby(observations, key=lambda o: o.leader_epoch)):
        rows = list(group) if number else not_over(list(group))
        if not rows:
            continue
        if before is not None and all(o.is_begin for o in rows) and len({o.leader for o in rows}) == 1:
            begun.append(rows[0])
            continue
        term = _term(leader_epoch, rows)
        if before is not None and begun:
            states, next_epoch = _close_begun(before, next_epoch, follows, begun, term, reported)
            yield from states
            begun, follows = [], False
        elif before is None:
            is_first = leader_epoch == 0 and any(o.is_of_creation for o in rows)
            next_epoch = 0 if is_first and term is not None else None
        else:
            states, next_epoch, is_certain = _close(before, next_epoch, follows, term, reported)
            yield from states
            follows = is_certain
            # refreshed: the leader epoch, and nothing else
            if term is not None and not term.steps and is_certain:
                term.leader, term.coverage = before.leader, before.coverage
                term.steps.append(DraftStep(states[-1].isr))
                term.observations = [replace(o, leader=term.leader, isr=states[-1].isr) for o in term.observations]
        before = term if term is not None and term.steps else None
    if before is not None and begun:
        yield from _close_begun(before, next_epoch, follows, begun, None, reported)[0]
    elif before is not None:
        yield from _close(before, next_epoch, follows, None, reported)[0]


def _term(leader_epoch: int, rows: list[EpochObservation]) -> LeaderTerm | None:
    """A leader epoch by its own lines: without steps if they lack its ISR; None if they name several leaders."""
    leaders = {o.leader for o in rows if o.leader is not None}
    if len(leaders) > 1:
        return None
    more = [o for o in rows if not o.is_begin]
    is_refresh = all(o.leader is None for o in more)
    states = [o for o in more if o.isr_before is None and (o.isr is not None or is_refresh)]
    steps = _chain([o for o in rows if o.isr_before is not None])
    if not steps:
        steps = [DraftStep(o.isr) for o in states[:1] if o.isr is not None]
    # what the leader took for the version of its ISR is as good as a printed one
    refused = [o for o in rows if not o.is_accepted and o.partition_epoch is not None]
    states += [replace(o, isr=o.isr_before, isr_before=None) for o in refused]
    first = min((o for o in rows if o.leader is not None), key=lambda o: (o.at, o.coverage is None), default=None)
    coverage = first.coverage if first is not None else None
    leader = leaders.pop() if leaders else NO_LEADER
    changes = [o for o in rows if o.isr_before is not None]
    oldest = min(rows, key=lambda o: o.at)
    begin = next((o for o in rows if o.is_begin), None)
    return LeaderTerm(leader_epoch, leader, steps, states, oldest.at, coverage, changes, oldest, begin)


def _chain(changes: list[EpochObservation]) -> list[DraftStep]:
    """The states that the leader's changes pass through.

    A change that starts where the one before it had started proves that one was never written: the store refused it, or
    was out of reach. One that starts elsewhere follows a hole, as does one behind a hole in the leader's log.
    """
    steps: list[DraftStep] = []
    covered_until: int | None = None
    for change in changes:
        if change.isr_before is None or change.isr is None:
            continue
        if not steps:
            steps.append(DraftStep(change.isr_before))
        elif steps[-1].isr != change.isr_before:
            is_again = len(steps) > 1 and not steps[-1].after_hole and steps[-2].isr == change.isr_before
            if is_again and (covered_until is None or change.at <= covered_until):
                steps.pop()
            else:
                steps.append(DraftStep(change.isr_before, after_hole=True))
        if change.is_accepted:
            steps.append(DraftStep(change.isr, change))
        covered_until = change.coverage[1] if change.coverage is not None else None
    return steps


def _close(
    term: LeaderTerm, next_epoch: int | None, follows: bool, following: LeaderTerm | None, reported: Collection[int]
) -> tuple[list[OrderedState], int | None, bool]:
    """States of one leader epoch, the partition epoch of the next write if known, and whether the last is certain."""
    lacks_changes = term.lacks_changes
    start = None if lacks_changes else _start(term, next_epoch)
    is_adjacent = following is not None and following.leader_epoch == term.leader_epoch + 1
    is_certain = following is not None and is_adjacent and not lacks_changes and term.is_covered_to(following.began)
    is_counted = False
    if following is not None and is_adjacent and following.begins_with and len(term.steps) == term.length:
        following_start = following.anchor()
        if start is not None and following_start is not None:
            # a step for which the next write's version leaves no room never reached the store
            while len(term.steps) > max(following_start - start, 1) and term.steps[-1].change is not None:
                term.steps.pop()
            is_counted = len(term.steps) == following_start - start
        elif term.steps[-1].change is not None and _speaks_against_last(following, term):
            term.steps.pop()
            is_certain = False
    if not is_counted and term.ends_in_doubt:
        term.steps.pop()
        is_certain = False
    if following is not None and following.steps and not _may_follow(following, term):
        is_certain = False
    states, is_gapless = _states(term, start, follows=follows)
    refutes = next_epoch is not None and term.is_covered_to_first_change and start != next_epoch
    if term.printed_at:
        is_placed = start is not None
        states = [replace(s, is_printed=is_placed, refutes=refutes and not n) for n, s in enumerate(states)]
    elif start == 0:
        states[0] = replace(states[0], is_printed=True)  # a partition's creation
    last = states[-1].partition_epoch
    # what a leader reports in an unknown leader epoch may have followed
    is_last = last + 1 not in reported if last is not None else not reported
    is_certain = is_certain and is_gapless and is_last
    return states, last + 1 if is_certain and last is not None else None, is_certain


def _start(term: LeaderTerm, next_epoch: int | None) -> int | None:
    """The partition epoch of a leader epoch's first state, by the writes before it, or by printed ones; None unknown. A
    chain that would begin before `next_epoch` lacks changes whose lines are lost."""
    if next_epoch is not None and term.is_covered_to_first_change and term.fits(next_epoch):
        return next_epoch
    anchor = term.anchor()
    return None if anchor is not None and next_epoch is not None and anchor < next_epoch else anchor


def _may_follow(following: LeaderTerm, term: LeaderTerm) -> bool:
    """Whether the state that a leader epoch begins with may have been made of the last known one of that before it: a
    controller takes replicas out of an ISR, or elects one that is not in it, alone; it takes the leader, and nobody
    else, out of one as it leaves the partition without (ReplicaStateMachine.removeReplicaFromIsr). Else lines are lost.
    """
    isr, last = {*following.steps[0].isr}, {*term.steps[-1].isr}
    if following.leader == NO_LEADER and term.leader != NO_LEADER:
        return isr == (last - {term.leader} or last)
    return isr <= last or isr == {following.leader}


def _speaks_against_last(following: LeaderTerm, term: LeaderTerm) -> bool:
    """Whether the leader epoch behind one shows that its leader's last change may never have been written.

    It has replicas in sync that the change left out: the controller read another ISR, or elected one that was not in
    it. If they were in none before either, it elected one that was not in it, whether the change was written or not.
    """
    if following.begins_with <= set(term.steps[-1].isr):
        return False
    was_in_sync = any(following.begins_with <= set(step.isr) for step in term.steps[:-1])
    return was_in_sync or not term.is_covered_to(following.began)


def _is_whole(term: LeaderTerm, lines: Sequence[EpochObservation | None]) -> bool:
    """Whether the logs of all brokers are there from the beginning of a leader epoch to the last of the lines behind
    it, those of all brokers that these name among them."""
    last = lines[-1]
    if last is None or last.whole_since is None or last.whole_since > term.began:
        return False
    named = {o.leader for o in lines if o is not None} | {term.leader} | {n for step in term.steps for n in step.isr}
    named |= {n for o in (*term.observations, *lines) if o is not None for n in (*(o.isr or ()), *(o.isr_before or ()))}
    return {n for n in named if n is not None and n >= 0} <= last.there


def _without_gap(term: LeaderTerm, lines: Sequence[EpochObservation | None]) -> list[EpochObservation]:
    """Lines behind a leader epoch as long as no two leader epochs in a row are without one: of a single one between two
    leaders the controller may have found none, but each leader logs that it begins, and would have here."""
    near: list[EpochObservation] = []
    for line in lines:
        if line is None or line.leader_epoch - (near[-1].leader_epoch if near else term.leader_epoch) > 2:
            break
        near.append(line)
    return near


def _close_begun(
    term: LeaderTerm,
    next_epoch: int | None,
    follows: bool,
    begun: Sequence[EpochObservation],
    following: LeaderTerm | None,
    reported: Collection[int],
) -> tuple[list[OrderedState], int | None]:
    """States of one leader epoch and of those behind it of which only a first line is known, and the partition epoch of
    the write that begins `following`, if it is known."""
    steps = len(term.steps)
    states = _close(term, next_epoch, follows, _term(begun[0].leader_epoch, [begun[0]]), reported)[0]
    last, lines = states[-1], [*begun, *([following.oldest] if following is not None else ())]
    lines = _without_gap(term, lines)
    known = next((n for n in range(len(lines), 0, -1) if _is_whole(term, lines[:n])), 0)
    if reported or not known or len(term.steps) < steps or any(step.after_hole for step in term.steps):
        return states, None
    following = following if known == len(begun) + 1 else None
    begun = begun[:known]

    def place(leader_epoch: int) -> int | None:
        """The partition epoch of the controller's write that began a leader epoch: it raises both."""
        if last.partition_epoch is None:
            return None
        return last.partition_epoch + leader_epoch - last.leader_epoch

    after = following.first_isr(place(following.leader_epoch)) if following is not None else None
    isrs = isrs_of_begun(last.isr, [o.leader for o in begun if o.leader is not None], after)
    for line, isr in zip(begun, isrs, strict=True):
        if isr is not None and line.leader is not None:
            epoch = place(line.leader_epoch)
            states.append(OrderedState(line.leader_epoch, 0, epoch, line.leader, isr, False, line.at, (line.key,)))
    return states, place(following.leader_epoch) if following is not None else None


def _states(term: LeaderTerm, start: int | None, *, follows: bool) -> tuple[list[OrderedState], bool]:
    """States in order, the first with partition epoch `start`, and whether none before the last is missing.

    `follows`: whether the controller's write follows the state before. A leader's change follows the state that it
    starts from.
    """
    length = term.length
    drafts = _drafts(term, start)
    chain = len(drafts)
    index = DraftIndex(drafts)
    for observation in term.observations:
        if observation.isr is not None:
            index.put(observation, observation.isr)
    drafts = _in_order(term, drafts, chain, start)
    states: list[OrderedState] = []
    places = {id(step): place for place, step in enumerate(term.steps)}
    place_before = -1 if follows and term.is_covered_to_first_change else None
    for draft in drafts:
        proofs, place = draft.proofs, places.get(id(draft.step))
        # a state that only a change shows that starts from it, written or not
        if not proofs:
            starting = (change for change in term.changes if change.isr_before == draft.step.isr)
            proofs = list(islice((*starting, *term.changes), 1))
        # printed lines place the leader epoch's first write elsewhere: one is missing before it
        if not proofs:
            continue
        by_leader = draft.step.change is not None
        if draft.step is term.steps[0] and not by_leader and term.begin is not None and term.is_covered_from_start:
            proofs = [term.begin, *proofs]  # no change of the leader before its first one is missing
        is_next = place_before is not None and place == place_before + 1 and not draft.step.after_hole
        place_before = place
        since = min(proof.at for proof in proofs)
        keys = tuple(proof.key for proof in proofs)
        states.append(
            OrderedState(
                term.leader_epoch,
                len(states),
                draft.epoch,
                term.leader,
                draft.step.isr,
                by_leader,
                since,
                keys,
                is_next,
            )
        )
    return states, len(states) == length == len(term.steps)


def _in_order(term: LeaderTerm, drafts: list[DraftState], chain: int, start: int | None) -> list[DraftState]:
    """States of a leader epoch in their order: by partition epoch as far as it is known, else by time.

    The first `chain` are the leader's own changes in their order; the state that these start from has no line of its
    own.
    """
    if start is not None:
        return sorted(drafts, key=lambda draft: (draft.epoch is None, draft.epoch or 0))
    if len(drafts) == chain:
        return drafts
    first = drafts[0]
    if first.proofs and first.step.change is None:
        shown_at = min(proof.at for proof in first.proofs)
        first.at = min([shown_at, *(draft.at for draft in drafts[1:chain])])
    elif not first.proofs:
        first.at = min((change.at for change in term.changes if change.isr_before == first.step.isr), default=first.at)
    by_time = sorted(drafts, key=lambda draft: draft.at)
    placed = iter(sorted((draft for draft in by_time if draft.epoch is not None), key=lambda draft: draft.epoch or 0))
    return [draft if draft.epoch is None else next(placed) for draft in by_time]


def _drafts(term: LeaderTerm, start: int | None) -> list[DraftState]:
    """The states of the chain; only those before its first hole get a partition epoch."""
    drafts, length = [], term.length
    for number, (step, after) in enumerate(pairwise([*term.steps, None])):
        if step is None:
            continue
        proof = step.change
        if proof is None and step.after_hole and after is not None:
            proof = after.change
        epoch = start + number if start is not None and number < length else None
        drafts.append(DraftState(step, [proof] if proof else [], proof.at if proof else term.began, epoch))
    return drafts
