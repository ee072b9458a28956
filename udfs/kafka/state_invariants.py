"""Invariants of one stored state of a partition.

Each function is the rule of its name in `udfs.kafka.decision_rules`; None: the rule does not apply.
"""

from collections.abc import Collection

from schemas.kafka_values import LEADER_DURING_DELETE, NO_LEADER
from udfs.kafka.judgements import Judgement, judge, unknown
from udfs.kafka.releases import Release
from udfs.kafka.stored_state import Cluster, StoredState


def leader_in_isr(cluster: Cluster, state: StoredState) -> Judgement | None:
    """The leader is -1 or in the ISR. Not asked of a deletion's -2, nor of 0.8.0's reassignment election."""
    old_reassignment = cluster.release < Release(0, 8, 1) and state.trigger == "reassign"
    if state.leader == LEADER_DURING_DELETE or old_reassignment:
        return None
    holds = state.leader == NO_LEADER or state.leader in state.isr
    return judge(holds, "a leader in the ISR, or -1", f"leader {state.leader}, ISR {list(state.isr)}")


def isr_within_replicas(state: StoredState, replicas_before: Collection[int] = ()) -> Judgement | None:
    """The ISR is within the assignment. Replicas of earlier assignments pass: a reassignment may still show them."""
    expected = "an ISR within the assignment"
    unassigned = sorted(set(state.isr) - set(state.replicas or ()) - state.departing - set(replicas_before))
    if state.replicas is None and unassigned:
        return unknown(expected, "replicas")
    assigned = "" if state.replicas is None else f", assignment {list(state.replicas)}"
    actual = f"ISR {list(state.isr)}{assigned}" + (f"; {unassigned} are in no assignment" if unassigned else "")
    return judge(not unassigned, expected, actual)


def new_partition_state(state: StoredState) -> Judgement | None:
    """A new partition has epochs 0 and an ISR in assignment order, led by its first member."""
    if state.trigger != "new":
        return None
    expected = "epochs 0, and an ISR in assignment order led by its first member"
    is_new = state.leader_epoch == 0 and state.partition_epoch in (0, None) and state.isr[:1] == (state.leader,)
    epochs = f"leader epoch {state.leader_epoch}, partition epoch {state.partition_epoch}"
    actual = f"{epochs}, leader {state.leader}, ISR {list(state.isr)}"
    if not is_new or state.replicas is None:
        return unknown(expected, "replicas") if is_new else judge(False, expected, actual)
    return judge(state.isr == tuple(id_ for id_ in state.replicas if id_ in state.isr), expected, actual)


def elr_disjoint_from_isr(cluster: Cluster, state: StoredState) -> Judgement | None:
    """KRaft with eligible leader replicas (ELR): ISR, ELR and last known ELR are disjoint, the ELR within the replicas.

    ELR and last known ELR are empty while the ISR has the minimum size.

    A single id in `last_known_elr` may be the last known leader (the default mode), which is in the ELR as well:
    4.1 writes ISR [], ELR [1, 2], last known [1] when leader 1 leaves last. Ids a reassignment removed (`departing`)
    do not count outside the ISR: 4.1.0 leaves them in the ELR when it completes below the min ISR.
    With min ISR 1 a leader elected from the ELR leaves the others in it until the next change. The last known leader is
    kept while nobody leads, whoever is in the ISR: from 4.1.1 on, and before where a cancelled reassignment names one.
    """
    if not (cluster.kraft and cluster.elr_enabled):
        return None
    has_left = state.leader == NO_LEADER and len(state.last_known_elr) == 1
    expected = "ISR, ELR and last known ELR disjoint, ELR within the replicas, both empty at the minimum ISR"
    last_known = state.last_known_elr if len(state.last_known_elr) > 1 else ()
    elr = set(state.elr) - state.departing
    lists = [*state.isr, *elr, *last_known, *(set(state.isr) & set(state.elr))]
    actual = f"ISR {list(state.isr)}, ELR {list(state.elr)}, last known {list(state.last_known_elr)}"
    if len(set(lists)) < len(lists) or (state.replicas is not None and not elr <= set(state.replicas)):
        return judge(False, expected, actual)
    if not (elr or (state.last_known_elr and not has_left)):
        return judge(True, expected, actual)
    if state.min_isr is None or state.replicas is None:
        return unknown(expected, "min_isr" if state.min_isr is None else "replicas")
    least = min(state.min_isr, len(state.replicas))
    elected_from_elr = least == 1 and state.isr == (state.leader,)
    return judge(len(state.isr) < least or elected_from_elr, expected, actual)
