"""Decisions that a state shows, other than elections: new partitions, ISR changes of leaders, leaders that go offline,
assignments that KRaft changes.

Each function is the rule of its name in `udfs.kafka.decision_rules`; None: the state is no such decision.
"""

from collections.abc import Collection, Iterator, Sequence

from schemas.kafka_values import NO_LEADER
from udfs.kafka.elections import Elected, Refused, zk_new_partition
from udfs.kafka.judgements import HOLDS, VIOLATED, Finding, Judgement, judge, unknown
from udfs.kafka.kraft_elections import kraft_new_partition
from udfs.kafka.plausible_choices import Outcome, check_choice, in_words
from udfs.kafka.replica_removal import zk_remove_replica
from udfs.kafka.stored_state import Cluster, StoredState, gap


def check_decisions(cluster: Cluster, states: Sequence[StoredState]) -> Iterator[Finding]:
    """Each rule that applies to each state of one incarnation, in stored order; positions are of `states`."""
    for at, state in enumerate(states):
        judgements = {new_partition.__name__: new_partition(cluster, state)}
        if at:
            before = states[at - 1]
            judgements[isr_change.__name__] = isr_change(cluster, before, state)
            judgements[replica_removal.__name__] = replica_removal(cluster, before, state)
            judgements[assignment_change.__name__] = assignment_change(cluster, before, state)
        for rule, judgement in judgements.items():
            if judgement is not None:
                yield Finding(rule, judgement.verdict, at, judgement.expected, judgement.actual, judgement.missing)


def new_partition(cluster: Cluster, state: StoredState) -> Judgement | None:
    """The ISR of a new partition are its replicas that are online, led by the first."""
    if state.trigger != "new":
        return None
    missing = tuple(name for name in ("replicas", "online") if getattr(state, name) is None)
    if missing or state.replicas is None or state.online is None:
        return unknown("the replicas that are online as the ISR, led by the first", *missing)
    replicas = state.replicas

    def decide(online: Collection[int]) -> Outcome:
        if cluster.kraft:
            registration = kraft_new_partition(cluster.release, replicas, online)
            return None if isinstance(registration, Refused) else (registration.leader, registration.isr)
        born = zk_new_partition(cluster.release, replicas, online)
        return (born.leader, born.isr) if isinstance(born, Elected) else None

    choice = check_choice(decide, (state.leader, state.isr), state.online, state.online | state.maybe_online)
    # who was registered is not whom the controller took for online: it never accuses
    return choice if choice.verdict == HOLDS else unknown(choice.expected, "online")


def isr_change(cluster: Cluster, before: StoredState, after: StoredState) -> Judgement | None:
    """A leader that changes its ISR goes on leading, stays in it, and takes in assigned replicas only.

    With ZooKeeper its leader epoch stays. In KRaft its request may complete a reassignment, which is not judged here.
    """
    completes = bool(set(before.replicas or ()) - set(after.replicas or before.replicas or ()))
    if after.trigger != "leader" or (cluster.kraft and completes):
        return None
    expected = f"leader {before.leader} going on in an ISR of assigned replicas that it is in"
    expected += "" if cluster.kraft else f", in leader epoch {before.leader_epoch}"
    if missing := gap(before, after):
        return unknown(expected, *missing)
    joined = set(after.isr) - set(before.isr)
    epoch = "" if cluster.kraft else f" in leader epoch {after.leader_epoch}"
    actual = f"leader {after.leader}{epoch}, ISR {sorted(before.isr)}, then {sorted(after.isr)}"
    goes_on = after.leader == before.leader and after.leader in after.isr
    if not goes_on or (not cluster.kraft and after.leader_epoch != before.leader_epoch):
        return Judgement(VIOLATED, expected, actual)
    if after.replicas is None:
        return unknown(expected, "replicas") if joined else judge(True, expected, actual)
    return judge(joined <= {*after.replicas, *(before.replicas or ())}, expected, actual)


def replica_removal(cluster: Cluster, before: StoredState, after: StoredState) -> Judgement | None:
    """A ZooKeeper controller takes the replica of a leader offline, or again the last one of the ISR: nobody leads.

    Removals that leave a leader are among the elections.
    """
    if cluster.kraft or after.leader != NO_LEADER or after.leader_epoch <= before.leader_epoch:
        return None
    if missing := gap(before, after):
        return unknown("a replica of the ISR going offline", *missing)
    going = [before.leader] if before.leader != NO_LEADER else list(before.isr)
    outcomes: list[Outcome] = []
    for replica in going:
        for unclean in (False, True) if after.unclean_enabled is None else (after.unclean_enabled,):
            removed = zk_remove_replica(
                cluster.release, replica, assigned=after.replicas or before.isr, leader=before.leader,
                isr=before.isr, leader_epoch=before.leader_epoch, unclean_enabled=unclean,
            )  # fmt: skip
            if not isinstance(removed, Refused) and removed.written:
                outcomes.append((removed.leader, tuple(sorted(removed.isr))))
    expected = " or ".join(dict.fromkeys(_in_words(outcome) for outcome in outcomes))
    logged = (after.leader, tuple(sorted(after.isr)))
    return judge(logged in outcomes, expected, _in_words(logged)) if outcomes else unknown(expected, "isr_before")


def assignment_change(cluster: Cluster, before: StoredState, after: StoredState) -> Judgement | None:
    """KRaft's steps of a reassignment: one adds replicas, not yet in the ISR; another takes replicas away, from the ISR
    and the leadership as well.
    """
    if not cluster.kraft or before.replicas is None or after.replicas is None or before.replicas == after.replicas:
        return None
    new, old = set(after.replicas) - set(before.replicas), set(before.replicas) - set(after.replicas)
    expected = "replicas added, which are not in the ISR yet, or replicas taken away, from the ISR as well"
    if missing := gap(before, after):
        return unknown(expected, *missing)
    actual = f"{list(before.replicas)}, then {list(after.replicas)} with leader {after.leader}, ISR {list(after.isr)}"
    keeps_apart = not (new and old) and not (new | old) & {*after.isr, after.leader}
    return judge(keeps_apart, expected, actual)


def _in_words(outcome: Outcome) -> str:
    return in_words(outcome).replace(f"leader {NO_LEADER}", "no leader")
