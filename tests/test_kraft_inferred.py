"""States inferred from the steps of a KRaft controller. Cases are those of the capture kraft-4.1.0-chaos, values its
truth's."""

from __future__ import annotations

import pytest

from udfs.reconstruct.kraft_inferred import (
    ASSIGNMENT_CHANGED,
    FENCED,
    UNCLEAN_RESTART,
    UNFENCED,
    ControllerStep,
    KraftState,
    after_step,
    inferred_states,
)


def fenced(broker: int) -> ControllerStep:
    return ControllerStep(0, 102, "c", 0, FENCED, broker, None, None, None)


def unfenced(broker: int) -> ControllerStep:
    return ControllerStep(0, 102, "c", 0, UNFENCED, broker, None, None, None)


def unclean_restart(broker: int) -> ControllerStep:
    return ControllerStep(0, 102, "c", 0, UNCLEAN_RESTART, broker, None, None, None)


def assigned(replicas: list[int], leader: int | None = None, isr: list[int] | None = None) -> ControllerStep:
    return ControllerStep(0, 102, "c", 0, ASSIGNMENT_CHANGED, None, leader, isr, replicas)


def steps(*taken: ControllerStep) -> list[ControllerStep]:
    return [step._replace(at=n, line=n) for n, step in enumerate(taken, 1)]


CASES = {  # before, steps, the next logged state (leader, leader epoch, partition epoch, ISR; None: none) -> states
    # payments-2: broker 3 leads alone and is fenced; only the reassignment after that is logged, by the added broker 2
    "a leader lost, then a reassignment": (
        KraftState(3, 0, 7, [3]), steps(fenced(2), fenced(3), assigned([2, 3, 4])), KraftState(-1, 1, 9, []),
        [(-1, 1, 8, []), (-1, 1, 9, [])],
    ),
    # payments-0: the added broker 4 logs the next state without its ISR
    "what is logged in part is completed": (
        KraftState(2, 1, 3, [2]), steps(fenced(2), assigned([4, 2, 1])), KraftState(-1, 2, 5, None),
        [(-1, 2, 4, []), (-1, 2, 5, [])],
    ),
    # a-1-2: a reassignment to broker 4, which was dead already and is fenced; it comes back after an unclean shutdown
    "a reassignment, a loss, and eligibility lost": (
        KraftState(4, 4, 13, [0, 4]), steps(assigned([4], 4, [4]), fenced(4), unclean_restart(2), unclean_restart(4)),
        KraftState(-1, 6, 16, []),
        [(4, 5, 14, [4]), (-1, 6, 15, []), (-1, 6, 16, [])],
    ),
    "further steps: the next state may be of after or before them": (
        KraftState(3, 0, 7, [3]), steps(fenced(3), assigned([2, 3, 4])), KraftState(-1, 1, 8, None), [],
    ),
    "nothing shows that the record came before and not another change": (
        KraftState(3, 0, 5, [3, 4]), steps(assigned([3, 4, 2])), KraftState(3, 0, 6, [3, 4], [3, 4, 2]), [],
    ),
    # a-1-2: its own record, by a controller's clock that is ahead
    "a record that made the state before": (
        KraftState(4, 4, 13, [0, 4], [0, 1, 4]), steps(assigned([0, 1, 4]), assigned([4], 4, [4])),
        KraftState(4, 5, 14, [4]),
        [(4, 5, 14, [4])],
    ),
    "an ISR that is not logged shows nothing": (
        KraftState(3, 0, 5, [3, 4]), steps(assigned([3, 4, 2], None, [3])), KraftState(3, 0, 6, None), [],
    ),
    "another returns while nobody leads": (
        KraftState(3, 0, 7, [3]), steps(fenced(3), unfenced(2), assigned([2, 3, 4])), KraftState(-1, 1, 9, []),
        [(-1, 1, 8, []), (-1, 1, 9, [])],
    ),
    "somebody else wrote, too: nothing is sure": (
        KraftState(3, 0, 7, [3]), steps(fenced(3)), KraftState(-1, 1, 9, []), [],
    ),
    "they lead elsewhere": (KraftState(3, 0, 7, [3]), steps(fenced(3), assigned([2, 3])), KraftState(2, 1, 9, [2]), []),
    "who is not in sync is fenced without a change": (
        KraftState(3, 0, 7, [3]), steps(fenced(2)), KraftState(3, 0, 9, [3]), [],
    ),
    "who follows a leader with others in sync is not decided here": (
        KraftState(3, 0, 7, [3, 4]), steps(fenced(3), assigned([4, 2])), KraftState(4, 1, 9, [4]), [],
    ),
    "a record names its leader again: the leader epoch grows": (
        KraftState(0, 5, 13, [0, 4]), steps(assigned([0], 0), assigned([0, 1])), KraftState(0, 6, 15, [0, 4]),
        [(0, 6, 14, [0, 4]), (0, 6, 15, [0, 4])],
    ),
    "a record that completes a reassignment, logged in full": (
        KraftState(0, 4, 10, [0, 2]), steps(assigned([1, 2], 1, [1, 2])),
        KraftState(1, 5, 11, [1, 2], [1, 2]), [(1, 5, 11, [1, 2])],
    ),
    "the next state has another assignment than the record": (
        KraftState(3, 0, 5, [3, 4]), steps(assigned([3, 4, 2])), KraftState(3, 0, 6, [3, 4], [3, 4]), [],
    ),
    # audit.events-v1-3 is deleted before any line shows that its only replica was lost
    "nothing logged afterwards: the loss is sure": (KraftState(0, 0, 1, [0]), steps(fenced(0)), None, [(-1, 1, 2, [])]),
    "nothing logged afterwards: what comes after the loss is not": (
        KraftState(0, 0, 1, [0]), steps(fenced(0), assigned([1])), None, [(-1, 1, 2, [])],
    ),
    "nothing logged afterwards, though it returned: it was fenced before": (
        KraftState(0, 0, 1, [0]), steps(fenced(0), unfenced(0)), None, [],
    ),
    "nothing logged afterwards, and another returned": (
        KraftState(0, 0, 1, [0]), steps(fenced(0), unfenced(1)), None, [(-1, 1, 2, [])],
    ),
    "who is elected on a return is not decided here": (
        KraftState(3, 0, 7, [3]), steps(fenced(3), unfenced(3), assigned([3, 4])), KraftState(-1, 1, 9, []), [],
    ),
    "a return changes nothing for who leads": (
        KraftState(4, 4, 13, [0, 4]), steps(unfenced(2), assigned([4], 4, [4])),
        KraftState(4, 5, 14, None), [(4, 5, 14, [4])],
    ),
    "nothing logged afterwards, others in sync": (KraftState(0, 0, 1, [0, 2]), steps(fenced(0)), None, []),
    "nothing logged afterwards, and first another step": (
        KraftState(0, 0, 1, [0]), steps(assigned([0, 1]), fenced(0)), None, [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_inferred_states(name: str) -> None:
    before, taken, after, expected = CASES[name]
    assert [state[:4] for state in inferred_states(before, taken, after, keeps_last_member=False)] == expected


def test_without_eligible_leader_replicas_the_last_member_stays() -> None:
    lost = after_step(KraftState(0, 2, 3, [0]), fenced(0), keeps_last_member=True)
    assert lost is not None
    assert lost[:4] == (-1, 3, 4, [0])
    assert after_step(lost, fenced(0), keeps_last_member=True) == lost, "it is offline already"


def test_a_state_names_its_step_and_the_assignment_of_its_record() -> None:
    taken = steps(fenced(2), fenced(3), assigned([2, 3, 4]))
    states = inferred_states(KraftState(3, 0, 7, [3]), taken, KraftState(-1, 1, 9, []), keeps_last_member=False)
    assert [(state.made_by, state.replicas) for state in states] == [(taken[1], None), (taken[2], [2, 3, 4])]


def test_steps_are_counted_from_a_complete_state() -> None:
    with pytest.raises(ValueError, match="lacks leader, leader epoch or ISR"):
        after_step(KraftState(3, 0, 7, None), fenced(3), keeps_last_member=False)
