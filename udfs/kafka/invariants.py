"""What must hold of a partition's states and of controllers' claims: section J of the algorithm reference.

A check answers `holds`, `violated` or `unknown`, the last with what is missing; it answers nothing where its rule
does not apply. `check_sequence` judges the states of one incarnation in stored order (by controller epoch, leader
epoch and partition epoch; never by the clocks of two nodes). J1, J2, J3, J6 and J7 survive lost states. The other rules
compare neighbours: over a gap, an epoch that jumps by more than one, they are `unknown`.

Left out: J16 (replay with `udfs.kafka.reassignment` instead), J18 and J22 (need the order of other events).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from schemas.kafka_values import LEADER_DURING_DELETE, NO_LEADER
from udfs.kafka.elections import RECOVERED
from udfs.kafka.metrics import offline_counter
from udfs.kafka.releases import ProtocolVersion, Release
from udfs.kafka.state_machines import is_legal

HOLDS, VIOLATED, UNKNOWN = "holds", "violated", "unknown"

ELECTIONS = frozenset({"offline", "reassign", "preferred", "controlled_shutdown", "unclean_request"})
CONTROLLER_TRIGGERS = ELECTIONS | {"replica_offline", "epoch_refresh"}


@dataclass(frozen=True)
class StoredState:
    """A stored state of a partition; None is "not known".

    `trigger` is what made it: `new`, one of ELECTIONS, `replica_offline`, `epoch_refresh`, `last_known_leader`,
    `reassign_revert`, or `leader` (the leader's own ISR change, AlterPartition included).
    `online` are the brokers on which a replica was online at that moment, `departing` ids that a
    reassignment removes or has just removed, `replicas` those with adding and removing ones.
    """

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int | None = None
    controller_epoch: int | None = None
    replicas: tuple[int, ...] | None = None
    trigger: str | None = None
    online: frozenset[int] | None = None
    unclean_enabled: bool | None = None
    recovery: str | None = None
    departing: frozenset[int] = frozenset()
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    min_isr: int | None = None


@dataclass(frozen=True)
class Cluster:
    """Which rules apply: the controller's release and mode; protocol or metadata version, None if not known."""

    release: Release
    kraft: bool = False
    protocol: ProtocolVersion | None = None
    zk_migration: bool = False
    elr_enabled: bool = False


@dataclass(frozen=True)
class Finding:
    """One rule applied at position `at` of what was checked (0 is the first); put into words by `explain`."""

    rule: str
    verdict: str
    at: int
    expected: str
    actual: str
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judgement:
    """A verdict without the rule's name and place; `missing` names the inputs that keep it `unknown`."""

    verdict: str
    expected: str = ""
    actual: str = ""
    missing: tuple[str, ...] = ()


def _judge(holds: bool, expected: str, actual: object) -> Judgement:
    return Judgement(HOLDS if holds else VIOLATED, expected, str(actual))


def _unknown(expected: str, *missing: str) -> Judgement:
    return Judgement(UNKNOWN, expected, missing=missing)


def explain(finding: Finding) -> str:
    """One sentence a reader understands without the rule at hand."""
    if finding.verdict == UNKNOWN:
        return f"{finding.rule} can not be judged without {', '.join(finding.missing)}: {finding.expected}."
    verb = "holds" if finding.verdict == HOLDS else "is violated"
    return f"{finding.rule} {verb}: expected {finding.expected}, found {finding.actual}."


def violations(findings: Iterable[Finding]) -> list[str]:
    """The rules violated, each once, in the order of their numbers."""
    return sorted({finding.rule for finding in findings if finding.verdict == VIOLATED}, key=lambda rule: int(rule[1:]))


def check_sequence(cluster: Cluster, states: Sequence[StoredState]) -> Iterator[Finding]:
    """Each rule that applies to each state of one incarnation, or to it and the one before; positions are of `states`.

    J1, J2, J3, J6 to J10, J12, J14, J15, J19 and J21. The first state is judged for itself only.
    """
    named: set[int] = set()
    for at, state in enumerate(states):
        judged = {
            "J1": leader_in_isr(cluster, state),
            "J7": isr_assigned(state, named),
            "J15": birth_state(state),
            "J21": list_discipline(cluster, state),
        }
        if at:
            before = states[at - 1]
            judged |= {rule: check(cluster, before, state) for rule, check in _NEIGHBOURS.items()}
        named |= {*(state.replicas or ()), *state.departing}
        for rule, judgement in judged.items():
            if judgement is not None:
                yield Finding(rule, judgement.verdict, at, judgement.expected, judgement.actual, judgement.missing)


def leader_in_isr(cluster: Cluster, state: StoredState) -> Judgement | None:
    """J1: the leader is -1 or in the ISR. Not asked of a deletion's -2, nor of 0.8.0's reassignment election."""
    old_reassignment = cluster.release < Release(0, 8, 1) and state.trigger == "reassign"
    if state.leader == LEADER_DURING_DELETE or old_reassignment:
        return None
    holds = state.leader == NO_LEADER or state.leader in state.isr
    return _judge(holds, "the leader in the ISR", f"leader {state.leader}, ISR {list(state.isr)}")


def isr_assigned(state: StoredState, named_before: Collection[int] = ()) -> Judgement | None:
    """J7: ISR within the assignment. Ids named by earlier assignments pass: a reassignment may still show them."""
    expected = "an ISR within the assignment"
    strangers = sorted(set(state.isr) - set(state.replicas or ()) - state.departing - set(named_before))
    if state.replicas is None and strangers:
        return _unknown(expected, "replicas")
    return _judge(not strangers, expected, f"ISR members {strangers} in no assignment" if strangers else "such")


def birth_state(state: StoredState) -> Judgement | None:
    """J15: a new partition: epochs 0, ISR in assignment order, led by its first."""
    if state.trigger != "new":
        return None
    expected = "epochs 0, ISR in assignment order, led by its first member"
    newborn = state.leader_epoch == 0 and state.partition_epoch in (0, None) and state.isr[:1] == (state.leader,)
    found = f"epochs {state.leader_epoch} and {state.partition_epoch}, leader {state.leader}, ISR {list(state.isr)}"
    if not newborn or state.replicas is None:
        return _unknown(expected, "replicas") if newborn else _judge(False, expected, found)
    return _judge(state.isr == tuple(id_ for id_ in state.replicas if id_ in state.isr), expected, found)


def list_discipline(cluster: Cluster, state: StoredState) -> Judgement | None:
    """J21 (KRaft, ELR on): ISR, ELR and last known ELR disjoint, ELR within replicas, both empty at min ISR.

    A single id in `last_known_elr` may be the last known leader (the default mode), which is in the ELR as well:
    4.1 writes ISR [], ELR [1, 2], last known [1] when leader 1 leaves last. Ids a reassignment removed (`departing`)
    do not count: 4.1.0 leaves them in the ELR when it completes below the min ISR.
    With min ISR 1 a leader elected from the ELR leaves the others in it until the next change.
    """
    if not (cluster.kraft and cluster.elr_enabled):
        return None
    expected = "ISR, ELR and last known ELR disjoint, ELR within replicas, none of them at min ISR"
    last_known = state.last_known_elr if len(state.last_known_elr) > 1 else ()
    elr = set(state.elr) - state.departing
    lists = [*state.isr, *elr, *last_known]
    found = f"ISR {list(state.isr)}, ELR {list(state.elr)}, last known {list(state.last_known_elr)}"
    if len(set(lists)) < len(lists) or (state.replicas is not None and not elr <= set(state.replicas)):
        return _judge(False, expected, found)
    if not (elr or state.last_known_elr):
        return _judge(True, expected, found)
    if state.min_isr is None or state.replicas is None:
        return _unknown(expected, "min_isr" if state.min_isr is None else "replicas")
    least = min(state.min_isr, len(state.replicas))
    elected_from_elr = least == 1 and state.isr == (state.leader,)
    return _judge(len(state.isr) < least or elected_from_elr, expected, found)


def leader_epoch_orders(_: Cluster, before: StoredState, after: StoredState) -> Judgement | None:
    """J2: the leader epoch never decreases, and another leader has a larger one."""
    grows = after.leader_epoch > before.leader_epoch
    holds = grows or (after.leader_epoch == before.leader_epoch and after.leader == before.leader)
    found = f"leader {before.leader} at {before.leader_epoch}, then {after.leader} at {after.leader_epoch}"
    return _judge(holds, "a leader epoch that grows with each change of leader", found)


def version_orders(_: Cluster, before: StoredState, after: StoredState) -> Judgement | None:
    """J3: the partition epoch never decreases, one has one state, and its lead over the leader epoch never shrinks.

    That the partition epoch is not below the leader epoch follows once the birth is seen; for a single state it
    is `version_ahead`.
    """
    expected = "a partition epoch that grows with each change, at least as fast as the leader epoch"
    if before.partition_epoch is None or after.partition_epoch is None:
        return _unknown(expected, "partition_epoch")
    same = (before.leader, set(before.isr)) == (after.leader, set(after.isr))
    advance = after.partition_epoch - before.partition_epoch
    one_state = advance > 0 or (advance == 0 and same)
    holds = one_state and advance >= after.leader_epoch - before.leader_epoch
    found = (
        f"partition epoch {before.partition_epoch}, then {after.partition_epoch}; "
        f"leader epoch {before.leader_epoch}, then {after.leader_epoch}"
    )
    return _judge(holds, expected, found)


def version_ahead(state: StoredState) -> Judgement:
    """J3 for one state: the partition epoch is not below the leader epoch. Not part of `check_sequence`."""
    expected = "a partition epoch not below the leader epoch"
    if state.partition_epoch is None:
        return _unknown(expected, "partition_epoch")
    found = f"partition epoch {state.partition_epoch}, leader epoch {state.leader_epoch}"
    return _judge(state.partition_epoch >= state.leader_epoch, expected, found)


def controller_epoch_kept(_: Cluster, before: StoredState, after: StoredState) -> Judgement | None:
    """J6: the controller epoch stored with a partition never goes down."""
    expected = "a stored controller epoch that never decreases"
    if before.controller_epoch is None or after.controller_epoch is None:
        return _unknown(expected, "controller_epoch")
    found = f"{before.controller_epoch}, then {after.controller_epoch}"
    return _judge(after.controller_epoch >= before.controller_epoch, expected, found)


def _gap(before: StoredState, after: StoredState) -> tuple[str, ...]:
    """What keeps the two from being neighbours: the states lost between them, or epochs that can not tell."""
    if after.leader_epoch - before.leader_epoch > 1:
        return (f"states between leader epochs {before.leader_epoch} and {after.leader_epoch}",)
    if before.partition_epoch is None or after.partition_epoch is None:
        return ("partition_epoch",)
    if after.partition_epoch - before.partition_epoch > 1:
        return (f"states between partition epochs {before.partition_epoch} and {after.partition_epoch}",)
    return ()


def _is_unclean(cluster: Cluster, before: StoredState, after: StoredState) -> bool:
    """Whether a new leader comes from outside the previous ISR and ELR.

    AlterPartition that completes a KRaft reassignment elects from the ISR it brings along, so that is not unclean;
    where the trigger is not known, lost replicas without a recovery tell of it.
    """
    if after.leader in (before.leader, NO_LEADER, LEADER_DURING_DELETE) or after.trigger in ("new", "leader"):
        return False
    if _completes_reassignment(cluster, before, after) and after.recovery == RECOVERED:
        return False
    return after.leader not in _clean_candidates(cluster, before)


def _clean_candidates(cluster: Cluster, before: StoredState) -> set[int]:
    """The previous ISR, in KRaft with the ELR, which counts once the ISR is empty, be it by the same record."""
    return {*before.isr, *before.elr} if cluster.kraft else {*before.isr}


def _completes_reassignment(cluster: Cluster, before: StoredState, after: StoredState) -> bool:
    """Whether a KRaft change dropped replicas, which only the end of a reassignment does."""
    return cluster.kraft and bool(set(before.replicas or ()) - set(after.replicas or before.replicas or ()))


def _blind(cluster: Cluster, before: StoredState, after: StoredState) -> tuple[str, ...]:
    """What hides the ISR that an election saw: lost states, or, completing a reassignment, what the leader sent."""
    if gap := _gap(before, after):
        return gap
    return ("recovery",) if _completes_reassignment(cluster, before, after) and after.recovery is None else ()


def clean_preferred(cluster: Cluster, before: StoredState, after: StoredState) -> Judgement | None:
    """J8: nobody from outside the ISR is elected while an assigned ISR member is online.

    Exceptions: 0.8.0's reassignment election, a reverted KRaft reassignment, the last known leader (KIP-966).
    """
    excepted = {"reassign_revert", "last_known_leader"} | (
        {"reassign"} if cluster.release < Release(0, 8, 1) else set()
    )
    if not _is_unclean(cluster, before, after) or after.trigger in excepted:
        return None
    expected = "an unclean leader only while no assigned ISR member is online"
    missing = _blind(cluster, before, after)
    missing += tuple(name for name in ("online", "replicas") if getattr(after, name) is None)
    if missing or after.online is None or after.replicas is None:
        return _unknown(expected, *missing)
    eligible = _clean_candidates(cluster, before)
    up = sorted(eligible & set(after.replicas) & after.online)
    return _judge(not up, expected, f"leader {after.leader} while {up} of {sorted(eligible)} were online")


def unclean_shape(cluster: Cluster, before: StoredState, after: StoredState) -> Judgement | None:
    """J9: an unclean leader is alone in the ISR, was allowed, and from 3.2 starts recovery.

    Allowed always through 0.8.1, by request from 2.4 (KIP-460), else by the topic's or cluster's switch.
    """
    if not _is_unclean(cluster, before, after):
        return None
    if cluster.release < Release(0, 8, 1) and after.trigger == "reassign":
        return None
    expected = "an unclean leader to be allowed, alone in the ISR, and recovering from 3.2 on"
    if missing := _blind(cluster, before, after):
        return _unknown(expected, *missing)
    found = f"leader {after.leader}, ISR {list(after.isr)}, unclean allowed: {after.unclean_enabled}, {after.recovery}"
    must_recover = cluster.release >= Release(3, 2) and (
        cluster.protocol is not None and cluster.protocol >= ProtocolVersion(Release(3, 2), 0)
    )
    if after.isr != (after.leader,) or (must_recover and after.recovery == RECOVERED):
        return _judge(False, expected, found)
    asked_for = after.trigger in ("unclean_request", "last_known_leader")
    if cluster.release < Release(0, 8, 2) or asked_for or after.unclean_enabled is not None:
        return _judge(after.unclean_enabled is not False or asked_for, expected, found)
    return _unknown(expected, "unclean_enabled")


def preferred_elected(cluster: Cluster, before: StoredState, after: StoredState) -> Judgement | None:
    """J10: a preferred election leaves the first replica leading, which was in the ISR, and the ISR as it was.

    KRaft may pick another valid replica if the present leader is no longer valid; an ISR that was empty
    becomes the preferred replica from the ELR (KIP-966).
    """
    if after.trigger != "preferred":
        return None
    expected = "the preferred replica from the ISR to lead, and the ISR to stay"
    missing = _gap(before, after) or (("replicas",) if after.replicas is None else ())
    if missing or after.replicas is None:
        return _unknown(expected, *missing)
    preferred = after.replicas[0]
    if cluster.kraft and after.leader != preferred:
        if after.online is None:
            return _unknown(expected, "online")
        if before.leader not in after.online:
            return None
    isr = set(before.isr)
    if cluster.kraft and not isr:
        isr = {preferred} & set(before.elr)
    holds = after.leader == preferred and preferred in isr and set(after.isr) == isr
    return _judge(holds, expected, f"leader {after.leader} of {list(after.replicas)}, ISR {list(after.isr)}")


def epoch_arithmetic(cluster: Cluster, before: StoredState, after: StoredState) -> Judgement | None:
    """J12: each change adds 1 to the partition epoch and what its kind allows to the leader epoch.

    Judged where J2 holds; a bare repetition of a state is none. Extra bumps of 1.1-2.3 (batch retries) are
    gaps, so unknown. Where the trigger is not known in ZooKeeper mode nothing is said.
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
    if missing := _gap(before, after):
        return _unknown(expected, *missing)
    if len(allowed) > 1 and (missing := _undecided(before, after)):
        return _unknown(expected, *missing)
    moved = (after.partition_epoch or 0) - (before.partition_epoch or 0)
    return _judge(bump in allowed and moved == 1, expected, f"leader epoch +{bump}, partition epoch +{moved}")


def _zk_bump(after: StoredState) -> set[int] | None:
    """0.4: the leader's own change 0, each decision of the controller 1; None where the trigger does not tell."""
    if after.trigger == "leader":
        return {0}
    return {1} if after.trigger in CONTROLLER_TRIGGERS else None


def _kraft_bump(cluster: Cluster, before: StoredState, after: StoredState) -> set[int]:
    """A.9: 1 if the leader changed or replicas were lost, or, in old ways, the ISR shrank; {0, 1} if not known.

    2.8 repeats the leader with each controller change (A.8), and to 3.7 a wanted shrink may bump without being
    written (KAFKA-16624).
    """
    if before.leader != after.leader:
        return {1}
    if before.replicas is None or after.replicas is None:
        return {0, 1}
    if set(before.replicas) - set(after.replicas):
        return {1}
    modern = cluster.release >= Release(3, 6) and not cluster.zk_migration
    if modern and cluster.protocol is not None and cluster.protocol >= ProtocolVersion(Release(3, 6), 0):
        return {0}
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


def elected_alive(_: Cluster, before: StoredState, after: StoredState) -> Judgement | None:
    """J14: a new leader's replica was online. Not asked of the last known leader (3.7-4.0, KAFKA-19522)."""
    if after.leader in (before.leader, NO_LEADER, LEADER_DURING_DELETE) or after.trigger == "last_known_leader":
        return None
    expected = "a new leader that is online"
    missing = _gap(before, after) or (("online",) if after.online is None else ())
    if missing or after.online is None:
        return _unknown(expected, *missing)
    return _judge(after.leader in after.online, expected, f"leader {after.leader}, online {sorted(after.online)}")


def joiners_eligible(cluster: Cluster, before: StoredState, after: StoredState) -> Judgement | None:
    """J19 (3.3 on, KIP-841): who joins the ISR is online."""
    joined = set(after.isr) - set(before.isr)
    if cluster.release < Release(3, 3) or not joined or after.trigger == "last_known_leader":
        return None
    expected = "only online brokers to join the ISR"
    missing = _gap(before, after) or (("online",) if after.online is None else ())
    if missing or after.online is None:
        return _unknown(expected, *missing)
    return _judge(joined <= after.online, expected, f"{sorted(joined)} joined, online {sorted(after.online)}")


_NEIGHBOURS: dict[str, Callable[[Cluster, StoredState, StoredState], Judgement | None]] = {
    "J2": leader_epoch_orders,
    "J3": version_orders,
    "J6": controller_epoch_kept,
    "J8": clean_preferred,
    "J9": unclean_shape,
    "J10": preferred_elected,
    "J12": epoch_arithmetic,
    "J14": elected_alive,
    "J19": joiners_eligible,
}


def check_controllers(claims: Sequence[tuple[int, int]]) -> Iterator[Finding]:
    """J4 and J5 over (epoch, controller) claims in stored order.

    Epochs strictly increase (gaps are legal), and each is claimed by one broker. The last claim seen twice is one.
    """
    claimants: dict[int, int] = {}
    for at, (epoch, controller) in enumerate(claims):
        if at and claims[at - 1] == (epoch, controller):
            continue
        latest = max(claimants, default=0)
        rises = _judge(epoch > latest, f"an epoch above {latest}", f"epoch {epoch} of controller {controller}")
        holder = claimants.setdefault(epoch, controller)
        alone = _judge(holder == controller, "one controller per epoch", f"{holder} and {controller} at epoch {epoch}")
        yield Finding("J4", rises.verdict, at, rises.expected, rises.actual)
        yield Finding("J5", alone.verdict, at, alone.expected, alone.actual)


Outcome = tuple[int, tuple[int, ...]] | None  # (leader, ISR), None for nobody


def check_choice(
    decide: Callable[[frozenset[int]], Outcome],
    logged: Outcome,
    certainly_online: Collection[int],
    possibly_online: Collection[int],
) -> Judgement:
    """J11: whether some plausible online set makes the algorithm decide what was logged; ISRs compare as sets.

    Violated only if none does. `possibly_online` should name only brokers the decision can depend on (2**n sets).
    """
    certain = frozenset(certainly_online)
    doubtful = sorted(set(possibly_online) - certain)
    plausible = (certain.union(some) for size in range(len(doubtful) + 1) for some in combinations(doubtful, size))
    outcomes = {_as_sets(decide(online)) for online in plausible}
    expected = " or ".join(sorted({_told(outcome) for outcome in outcomes}))
    return _judge(_as_sets(logged) in outcomes, expected, _told(_as_sets(logged)))


def _as_sets(outcome: Outcome) -> tuple[int, frozenset[int]] | None:
    return None if outcome is None else (outcome[0], frozenset(outcome[1]))


def _told(outcome: tuple[int, frozenset[int]] | None) -> str:
    return "nobody elected" if outcome is None else f"leader {outcome[0]}, ISR {sorted(outcome[1])}"


def check_transitions(release: Release, transitions: Sequence[tuple[str, str]]) -> Iterator[Finding]:
    """J13: the transitions of one partition or replica in one reign: each legal, each from where the last one led.

    A transition from elsewhere means that lines are lost: unknown, and judged by itself besides.
    """
    for at, (was, now) in enumerate(transitions):
        legal = _judge(is_legal(release, was, now), "a legal transition", f"{was} to {now}")
        yield Finding("J13", legal.verdict, at, legal.expected, legal.actual)
        if at and transitions[at - 1][1] != was:
            lost = f"transitions between {transitions[at - 1][1]} and {was}"
            yield Finding("J13", UNKNOWN, at, "a transition from the state before", "", (lost,))


def check_received(stored: Collection[StoredState], received: Sequence[StoredState]) -> Iterator[Finding]:
    """J17: each (leader, leader epoch) a broker was sent was stored by a controller.

    An epoch of which no state was seen is a gap: unknown. Leader -2 marks a deletion and does not count.
    """
    known = {(state.leader_epoch, state.leader) for state in stored}
    seen = {epoch for epoch, _ in known}
    expected = "a leader and leader epoch that some controller stored"
    for at, state in enumerate(received):
        if state.leader == LEADER_DURING_DELETE:
            continue
        found = f"leader {state.leader} at leader epoch {state.leader_epoch}"
        if state.leader_epoch not in seen:
            lost = f"states of leader epoch {state.leader_epoch}"
            yield Finding("J17", UNKNOWN, at, expected, found, (lost,))
            continue
        verdict = HOLDS if (state.leader_epoch, state.leader) in known else VIOLATED
        yield Finding("J17", verdict, at, expected, found)


def check_offline_gauge(transitions: Sequence[tuple[str, str]], readings: Sequence[int]) -> Iterator[Finding]:
    """J20 (2.1 on): OfflinePartitionsCount read after each partition transition equals the recount."""
    for at, (count, reading) in enumerate(zip(offline_counter(transitions), readings, strict=True)):
        yield Finding("J20", HOLDS if count == reading else VIOLATED, at, f"{count} offline", f"{reading} reported")


def check_broker_epochs(epochs: Sequence[int]) -> Iterator[Finding]:
    """J23 (2.2 on): the epochs of one broker's registrations, in stored order, strictly increase."""
    for at, (before, after) in enumerate(pairwise(epochs), start=1):
        verdict = HOLDS if after > before else VIOLATED
        yield Finding("J23", verdict, at, f"a broker epoch above {before}", f"broker epoch {after}")
