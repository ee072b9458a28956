"""Invariants of a new leader or a new member of the ISR, from a state and the one before.

Each function is the rule of its name in `udfs.kafka.decision_rules`; None: the rule does not apply.
"""

from schemas.kafka_values import LEADER_DURING_DELETE, NO_LEADER, UNCLEAN_SWITCH
from udfs.kafka.elections import RECOVERED
from udfs.kafka.judgements import Judgement, judge, unknown
from udfs.kafka.releases import ProtocolVersion, Release
from udfs.kafka.stored_state import Cluster, StoredState, gap


def _is_unclean(cluster: Cluster, before: StoredState, after: StoredState) -> bool:
    """Whether a new leader comes from outside the previous ISR and ELR.

    AlterPartition that completes a KRaft reassignment elects from the ISR it brings along, so that is not unclean;
    where the trigger is unknown, removed replicas without a recovery show it.
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


def _missing_isr(cluster: Cluster, before: StoredState, after: StoredState) -> tuple[str, ...]:
    """What keeps the ISR that an election saw from being known: lost states, or what completed a reassignment.

    Which KRaft's leaders do with a record that elects from the ISR it brings along; where an assignment is not logged
    that cannot be told from an election, unless the partition recovers.
    """
    if lost := gap(before, after):
        return lost
    lacks_assignment = before.replicas is None or after.replicas is None
    if cluster.kraft and lacks_assignment and before.leader != NO_LEADER and after.recovery in (None, RECOVERED):
        return ("replicas",)
    return ("recovery",) if _completes_reassignment(cluster, before, after) and after.recovery is None else ()


def clean_candidate_first(cluster: Cluster, before: StoredState, after: StoredState) -> Judgement | None:
    """Nobody from outside the ISR is elected while an assigned ISR member is online.

    Exceptions: 0.8.0's reassignment election, a reverted KRaft reassignment, the last known leader (KIP-966).
    """
    excepted = {"reassign_revert", "last_known_leader"} | (
        {"reassign"} if cluster.release < Release(0, 8, 1) else set()
    )
    if not _is_unclean(cluster, before, after) or after.trigger in excepted:
        return None
    expected = "an unclean leader only while no assigned ISR member is online"
    missing = _missing_isr(cluster, before, after)
    missing += tuple(name for name in ("online", "replicas") if getattr(after, name) is None)
    if missing or after.online is None or after.replicas is None:
        return unknown(expected, *missing)
    eligible = _clean_candidates(cluster, before) & set(after.replicas)
    up = sorted(eligible & after.online)
    if not up and eligible & after.maybe_online:
        return unknown(expected, "online")
    return judge(not up, expected, f"leader {after.leader}, with {up or 'none'} of the ISR {sorted(eligible)} online")


def unclean_leader_alone(cluster: Cluster, before: StoredState, after: StoredState) -> Judgement | None:
    """An unclean leader is alone in the ISR, was allowed, and from 3.2 starts recovery.

    Allowed always through 0.8.1, by request from 2.4 (KIP-460), else by the topic's or cluster's switch.
    """
    if not _is_unclean(cluster, before, after):
        return None
    if cluster.release < Release(0, 8, 1) and after.trigger == "reassign":
        return None
    expected = "an unclean leader that is allowed, alone in the ISR, and from 3.2 on recovering"
    if missing := _missing_isr(cluster, before, after):
        return unknown(expected, *missing)
    allowed = {True: "allowed", False: "not allowed", None: "not known to be allowed"}[after.unclean_enabled]
    actual = f"leader {after.leader}, ISR {list(after.isr)}, {allowed}, recovery state {after.recovery or 'unknown'}"
    must_recover = cluster.release >= Release(3, 2) and (
        cluster.protocol is not None and cluster.protocol >= ProtocolVersion(Release(3, 2), 0)
    )
    if after.isr != (after.leader,) or (must_recover and after.recovery == RECOVERED):
        return judge(False, expected, actual)
    asked_for = after.trigger in ("unclean_request", "last_known_leader")
    if cluster.release < Release(0, 8, 2) or asked_for or after.unclean_enabled is not None:
        return judge(after.unclean_enabled is not False or asked_for, expected, actual)
    return unknown(expected, UNCLEAN_SWITCH)


def preferred_leader_elected(cluster: Cluster, before: StoredState, after: StoredState) -> Judgement | None:
    """A preferred election leaves the first replica leading, which was in the ISR, and the ISR as it was.

    KRaft may pick another valid replica if the present leader is no longer valid; an ISR that was empty
    becomes the preferred replica from the ELR (KIP-966). ZooKeeper's controller elects no other one, whatever the state
    before was: else the election fails.
    """
    if after.trigger != "preferred":
        return None
    expected = "the preferred replica as leader, from an unchanged ISR"
    if not cluster.kraft and after.replicas and after.leader != after.replicas[0]:
        return judge(False, expected, f"leader {after.leader}, replicas {list(after.replicas)}")
    missing = gap(before, after) or (("replicas",) if after.replicas is None else ())
    if missing or after.replicas is None:
        return unknown(expected, *missing)
    preferred = after.replicas[0]
    if cluster.kraft and after.leader != preferred:
        if after.online is None:
            return unknown(expected, "online")
        if before.leader in after.maybe_online:
            return unknown(expected, "online")
        if before.leader not in after.online:
            return None
    isr = set(before.isr)
    if cluster.kraft and not isr:
        isr = {preferred} & set(before.elr)
    holds = after.leader == preferred and preferred in isr and set(after.isr) == isr
    return judge(
        holds,
        expected,
        f"leader {after.leader}, replicas {list(after.replicas)}, ISR {list(before.isr)}, then {list(after.isr)}",
    )


def elected_leader_online(cluster: Cluster, before: StoredState, after: StoredState) -> Judgement | None:
    """A new leader's replica was online. Not asked of the last known leader through 4.0 (KAFKA-19522)."""
    if after.leader in (before.leader, NO_LEADER, LEADER_DURING_DELETE) or _may_be_offline(cluster, after):
        return None
    expected = "a new leader that is online"
    missing = gap(before, after) or (("online",) if after.online is None else ())
    if missing or after.online is None or after.leader in after.maybe_online:
        return unknown(expected, *(missing or ("online",)))
    return judge(after.leader in after.online, expected, f"leader {after.leader}, online were {sorted(after.online)}")


def _may_be_offline(cluster: Cluster, after: StoredState) -> bool:
    """Whether the last known leader leads again in a release that did not look whether it is there (KAFKA-19522)."""
    return after.trigger == "last_known_leader" and cluster.release < Release(4, 1)


def isr_joiner_online(cluster: Cluster, before: StoredState, after: StoredState) -> Judgement | None:
    """A broker that joins the ISR is online (3.3 on, KIP-841). Not asked where a reassignment is cancelled and none of
    the replicas that stay is in sync: the first of them is the ISR then, be it there or not."""
    joined = set(after.isr) - set(before.isr)
    if cluster.release < Release(3, 3) or not joined or _may_be_offline(cluster, after):
        return None
    replicas = after.replicas or ()
    if after.leader == NO_LEADER and after.isr == replicas[:1] and not set(before.isr) & set(replicas):
        return None
    expected = "only online brokers joining the ISR"
    missing = gap(before, after) or (("online",) if after.online is None else ())
    if missing or after.online is None:
        return unknown(expected, *missing)
    if joined & after.maybe_online and joined <= after.online | after.maybe_online:
        return unknown(expected, "online")
    return judge(joined <= after.online, expected, f"{sorted(joined)} joined, online were {sorted(after.online)}")
