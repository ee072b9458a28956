"""States that only the steps of a KRaft controller tell. Cases are those of the capture kraft-4.1.0-chaos, values its truth's."""

from __future__ import annotations

import pytest

from udfs.reconstruct.kraft_inferred import ASSIGNED, FENCED, REBORN, UNFENCED, State, Step, after_step, untold


def fenced(broker: int) -> Step:
    return Step(0, 102, "c", 0, FENCED, broker, None, None, None)


def unfenced(broker: int) -> Step:
    return Step(0, 102, "c", 0, UNFENCED, broker, None, None, None)


def reborn(broker: int) -> Step:
    return Step(0, 102, "c", 0, REBORN, broker, None, None, None)


def assigned(replicas: list[int], leader: int | None = None, isr: list[int] | None = None) -> Step:
    return Step(0, 102, "c", 0, ASSIGNED, None, leader, isr, replicas)


def steps(*told: Step) -> list[Step]:
    return [step._replace(at=n, line=n) for n, step in enumerate(told, 1)]


CASES = {  # before, steps, the next that is told (leader, leader epoch, partition epoch, ISR; None untold) -> states
    # payments-2: broker 3 leads alone and is fenced; only the reassignment after that is told, by the added broker 2
    "a leader lost, then a reassignment": (
        State(3, 0, 7, [3]), steps(fenced(2), fenced(3), assigned([2, 3, 4])), State(-1, 1, 9, []),
        [(-1, 1, 8, []), (-1, 1, 9, [])],
    ),
    # payments-0: the added broker 4 tells the next state without its ISR
    "what is told in part is completed": (
        State(2, 1, 3, [2]), steps(fenced(2), assigned([4, 2, 1])), State(-1, 2, 5, None),
        [(-1, 2, 4, []), (-1, 2, 5, [])],
    ),
    # a-1-2: a reassignment to broker 4, which was dead already and is fenced; it comes back after an unclean shutdown
    "a reassignment, a loss, and eligibility lost": (
        State(4, 4, 13, [0, 4]), steps(assigned([4], 4, [4]), fenced(4), reborn(2), reborn(4)), State(-1, 6, 16, []),
        [(4, 5, 14, [4]), (-1, 6, 15, []), (-1, 6, 16, [])],
    ),
    "further steps: the next state may be of after or before them": (
        State(3, 0, 7, [3]), steps(fenced(3), assigned([2, 3, 4])), State(-1, 1, 8, None), [],
    ),
    "nothing shows that the record came before and not another change": (
        State(3, 0, 5, [3, 4]), steps(assigned([3, 4, 2])), State(3, 0, 6, [3, 4], [3, 4, 2]), [],
    ),
    # a-1-2: its own record, by a controller's clock that is ahead
    "a record that made the state before": (
        State(4, 4, 13, [0, 4], [0, 1, 4]), steps(assigned([0, 1, 4]), assigned([4], 4, [4])), State(4, 5, 14, [4]),
        [(4, 5, 14, [4])],
    ),
    "an ISR that is not told shows nothing": (
        State(3, 0, 5, [3, 4]), steps(assigned([3, 4, 2], None, [3])), State(3, 0, 6, None), [],
    ),
    "another returns while nobody leads": (
        State(3, 0, 7, [3]), steps(fenced(3), unfenced(2), assigned([2, 3, 4])), State(-1, 1, 9, []),
        [(-1, 1, 8, []), (-1, 1, 9, [])],
    ),
    "somebody else wrote, too: nothing is sure": (State(3, 0, 7, [3]), steps(fenced(3)), State(-1, 1, 9, []), []),
    "they lead elsewhere": (State(3, 0, 7, [3]), steps(fenced(3), assigned([2, 3])), State(2, 1, 9, [2]), []),
    "who is not in sync is fenced without a word": (State(3, 0, 7, [3]), steps(fenced(2)), State(3, 0, 9, [3]), []),
    "who follows a leader with others in sync is not decided here": (
        State(3, 0, 7, [3, 4]), steps(fenced(3), assigned([4, 2])), State(4, 1, 9, [4]), [],
    ),
    "a record names its leader again: the leader epoch grows": (
        State(0, 5, 13, [0, 4]), steps(assigned([0], 0), assigned([0, 1])), State(0, 6, 15, [0, 4]),
        [(0, 6, 14, [0, 4]), (0, 6, 15, [0, 4])],
    ),
    "a record that completes a reassignment, told in full": (
        State(0, 4, 10, [0, 2]), steps(assigned([1, 2], 1, [1, 2])), State(1, 5, 11, [1, 2], [1, 2]), [(1, 5, 11, [1, 2])],
    ),
    "the next state has another assignment than the record": (
        State(3, 0, 5, [3, 4]), steps(assigned([3, 4, 2])), State(3, 0, 6, [3, 4], [3, 4]), [],
    ),
    # audit.events-v1-3 is deleted before anybody tells that its only replica was lost
    "nothing told afterwards: the loss is sure": (State(0, 0, 1, [0]), steps(fenced(0)), None, [(-1, 1, 2, [])]),
    "nothing told afterwards: what comes after the loss is not": (
        State(0, 0, 1, [0]), steps(fenced(0), assigned([1])), None, [(-1, 1, 2, [])],
    ),
    "nothing told afterwards, though it returned: it was fenced before": (
        State(0, 0, 1, [0]), steps(fenced(0), unfenced(0)), None, [],
    ),
    "nothing told afterwards, and another returned": (
        State(0, 0, 1, [0]), steps(fenced(0), unfenced(1)), None, [(-1, 1, 2, [])],
    ),
    "who is elected on a return is not decided here": (
        State(3, 0, 7, [3]), steps(fenced(3), unfenced(3), assigned([3, 4])), State(-1, 1, 9, []), [],
    ),
    "a return changes nothing for who leads": (
        State(4, 4, 13, [0, 4]), steps(unfenced(2), assigned([4], 4, [4])), State(4, 5, 14, None), [(4, 5, 14, [4])],
    ),
    "nothing told afterwards, others in sync": (State(0, 0, 1, [0, 2]), steps(fenced(0)), None, []),
    "nothing told afterwards, and first another step": (State(0, 0, 1, [0]), steps(assigned([0, 1]), fenced(0)), None, []),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_untold(name: str) -> None:
    before, told, after, expected = CASES[name]
    assert [state[:4] for state in untold(before, told, after, keeps_last=False)] == expected


def test_without_eligible_leader_replicas_the_last_member_stays() -> None:
    lost = after_step(State(0, 2, 3, [0]), fenced(0), keeps_last=True)
    assert lost is not None
    assert lost[:4] == (-1, 3, 4, [0])
    assert after_step(lost, fenced(0), keeps_last=True) == lost, "it is offline already"


def test_a_state_names_its_step_and_the_assignment_of_its_record() -> None:
    told = steps(fenced(2), fenced(3), assigned([2, 3, 4]))
    found = untold(State(3, 0, 7, [3]), told, State(-1, 1, 9, []), keeps_last=False)
    assert [(state.made_by, state.replicas) for state in found] == [(told[1], None), (told[2], [2, 3, 4])]


def test_steps_are_counted_from_a_whole_state() -> None:
    with pytest.raises(ValueError, match="not told in full"):
        after_step(State(3, 0, 7, None), fenced(3), keeps_last=False)
