"""What must hold of the states of one incarnation of a partition, in stored order.

That is the order of controller, leader and partition epoch, never of the clocks of two nodes. A check answers `holds`,
`violated` or `unknown`, the last with what is missing, and nothing where its rule does not apply. Rules of one state,
and of the order of epochs, survive lost states. The others compare neighbours: over a gap, an epoch that jumps by more
than one, they are `unknown`.

Not checked here: how a reassignment goes on and ends (`udfs.kafka.reassignment` replays it), what a controlled shutdown
leaves behind, and in which order a broker gets requests; both need the order of other events.
"""

from collections.abc import Callable, Iterator, Sequence

from udfs.kafka.election_invariants import (
    clean_candidate_first,
    elected_leader_online,
    isr_joiner_online,
    preferred_leader_elected,
    unclean_leader_alone,
)
from udfs.kafka.epoch_invariants import (
    epoch_increments,
    one_leader_per_leader_epoch,
    partition_epoch_grows,
    stored_controller_epoch_never_falls,
)
from udfs.kafka.judgements import Finding, Judgement
from udfs.kafka.state_invariants import (
    elr_disjoint_from_isr,
    isr_within_replicas,
    leader_in_isr,
    new_partition_state,
)
from udfs.kafka.stored_state import Cluster, StoredState

NEIGHBOUR_CHECKS: tuple[Callable[[Cluster, StoredState, StoredState], Judgement | None], ...] = (
    one_leader_per_leader_epoch,
    partition_epoch_grows,
    stored_controller_epoch_never_falls,
    clean_candidate_first,
    unclean_leader_alone,
    preferred_leader_elected,
    epoch_increments,
    elected_leader_online,
    isr_joiner_online,
)
"""Rules of a state and the one before, each under its own name."""


def check_sequence(cluster: Cluster, states: Sequence[StoredState]) -> Iterator[Finding]:
    """Each rule that applies to each state of one incarnation, or to it and the one before; positions are of `states`.

    The first state is judged for itself only.
    """
    replicas_before: set[int] = set()
    for at, state in enumerate(states):
        judgements = {
            leader_in_isr.__name__: leader_in_isr(cluster, state),
            isr_within_replicas.__name__: isr_within_replicas(state, replicas_before),
            new_partition_state.__name__: new_partition_state(state),
            elr_disjoint_from_isr.__name__: elr_disjoint_from_isr(cluster, state),
        }
        if at:
            judgements |= {check.__name__: check(cluster, states[at - 1], state) for check in NEIGHBOUR_CHECKS}
        replicas_before |= {*(state.replicas or ()), *state.departing}
        for rule, judgement in judgements.items():
            if judgement is not None:
                yield Finding(rule, judgement.verdict, at, judgement.expected, judgement.actual, judgement.missing)
