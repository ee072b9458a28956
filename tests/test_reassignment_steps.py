"""The steps of reassignments that controllers log, worked out by hand: {1,2,3} -> {4,5,6}, and {1} -> {2}."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.kafka.judgements import HOLDS, UNKNOWN, VIOLATED
from udfs.kafka.reassignment import ReassignmentLists, reassign_to
from udfs.kafka.reassignment_steps import LISTS, RULE, judge_steps
from udfs.kafka.releases import Release
from udfs.kafka.state_decisions import assignment_change
from udfs.kafka.stored_state import Cluster, StoredState

COLUMNS = (
    "leader", "leader_epoch", "replicas", "target_replicas", "adding_replicas", "removing_replicas", "from_state",
    "to_state", "replica",
)  # fmt: skip
MS = 1000
Row = dict[str, Any]


def line(event_type: str, file_id: str = "controller.log", **values: Any) -> Row:
    return {**dict.fromkeys(COLUMNS), "event_type": event_type, "node_id": 9, "file_id": file_id, **values}


def logged(*lines: Row, ms: Sequence[int] | None = None) -> list[Row]:
    """Lines of controller 9 in their order, 1 ms apart or at the times given."""
    times = ms or range(len(lines))
    return [
        {**row, "at": at * MS, "line": number + 1} for number, (row, at) in enumerate(zip(lines, times, strict=True))
    ]


def lists(replicas: str, adding: str = "", removing: str = "") -> Row:
    names = ("replicas", "adding_replicas", "removing_replicas")
    return {name: [int(i) for i in ids] for name, ids in zip(names, (replicas, adding, removing), strict=True)}


def stored(*assignment: str) -> Row:
    return line("reassignment_assignment_updated", **lists(*assignment))


def sent(leader: int, epoch: int, *assignment: str) -> Row:
    event = "reassignment_leader_and_isr_sent"
    return line(event, "state-change.log", leader=leader, leader_epoch=epoch, **lists(*assignment))


def elected(leader: int, epoch: int) -> Row:
    event = "partition_state_change"
    return line(event, "state-change.log", leader=leader, leader_epoch=epoch, to_state="OnlinePartition")


def replica(number: int, before: str, after: str) -> Row:
    names = {"none": "NonExistentReplica", "new": "NewReplica", "online": "OnlineReplica", "offline": "OfflineReplica",
             "deleting": "ReplicaDeletionStarted", "deleted": "ReplicaDeletionSuccessful"}  # fmt: skip
    event = "replica_state_change"
    return line(event, "state-change.log", replica=number, from_state=names[before], to_state=names[after])


def gone(number: int) -> list[Row]:
    path = ("online", "offline", "deleting", "deleted", "none")
    return [replica(number, *pair) for pair in pairwise(path)]


def leaves(leader: int, target: str) -> Row:
    ids = [int(i) for i in target]
    return line("reassignment_leader_not_in_new_replicas", leader=leader, target_replicas=ids)


def stays(leader: int, target: str) -> Row:
    return line("reassignment_leader_alive", leader=leader, target_replicas=[int(i) for i in target])


EARLIER = elected(1, 4)
WIDE = ("456123", "456", "123")
NEW = [replica(r, "none", "new") for r in (4, 5, 6)]
ONLINE = [replica(r, "new", "online") for r in (4, 5, 6)]
START = [stored(*WIDE), sent(1, 5, *WIDE), *NEW]
OLD_GO = [step for r in (1, 2, 3) for step in gone(r)]
END = [*ONLINE, leaves(1, "456"), elected(4, 6), *OLD_GO, stored("456")]
UNLISTED = line("reassignment_removed_from_zk")

PASSES: dict[str, tuple[list[Row], list[str]]] = {  # lines -> verdicts of its passes
    "all twelve steps": ([EARLIER, *START, *END, UNLISTED], [HOLDS, HOLDS]),
    "the leader is a target": ([EARLIER, stays(2, "23"), sent(2, 5, "23"), *gone(1), stored("23")], [HOLDS]),
    "LeaderAndIsr before it is stored": ([EARLIER, sent(1, 5, *WIDE), stored(*WIDE), *NEW], [VIOLATED]),
    "new replicas before LeaderAndIsr": ([EARLIER, stored(*WIDE), *NEW, sent(1, 5, *WIDE)], [VIOLATED]),
    "LeaderAndIsr may be the second one": ([EARLIER, stored(*WIDE), *NEW, sent(1, 6, *WIDE)], [HOLDS]),
    "begun again by a new controller": ([EARLIER, sent(1, 6, *WIDE), *NEW], [UNKNOWN]),
    "the leader goes and is said to stay": ([stays(1, "456"), elected(4, 6), *OLD_GO, stored("456")], [VIOLATED]),
    "the leader stays and is said to go": ([leaves(4, "456"), stored("456")], [VIOLATED]),
    "another than a target leads": ([leaves(1, "456"), elected(2, 6), stored("456")], [VIOLATED]),
    "the leader after the deletion": ([leaves(1, "456"), *OLD_GO, elected(4, 6), stored("456")], [VIOLATED]),
    "stored before the deletion": ([leaves(1, "456"), elected(4, 6), stored("456"), *gone(1)], [VIOLATED]),
    "a target is deleted": ([leaves(1, "456"), elected(4, 6), *gone(5), stored("456")], [VIOLATED]),
    "online after the leader": ([leaves(1, "456"), elected(4, 6), *ONLINE, stored("456")], [VIOLATED]),
    "something else is stored": ([leaves(1, "456"), elected(4, 6), *gone(1), stored("45")], [VIOLATED]),
    "the end is lost, and another one too": ([leaves(1, "456"), elected(4, 6), UNLISTED, stored("45")], [UNKNOWN]),
    "another request instead of its end": ([leaves(1, "456"), elected(4, 6), stored("1456", "1")], [UNKNOWN]),
    "cancelled instead of its end": ([leaves(1, "456"), stored("123")], [UNKNOWN]),
    "an error, and again": (
        [leaves(1, "456"), elected(4, 6), *gone(1), stays(4, "456"), sent(4, 9, "456"), stored("456")],
        [UNKNOWN, HOLDS],
    ),
    "cancelled: what was added goes after it is stored": (
        [stays(1, "123"), sent(1, 7, "123"), stored("123"), stored("1234", "4"), stored("123"), *gone(4)],
        [HOLDS],
    ),
    "nothing but the leader": ([stays(2, "23")], [UNKNOWN]),
}  # fmt: skip


def verdicts(lines: list[Row], rule: str = RULE) -> list[str]:
    return [judged.verdict.verdict for judged in judge_steps(lines) if judged.verdict.rule == rule]


@pytest.mark.parametrize("case", PASSES)
def test_the_steps_of_a_reassignment(case: str) -> None:
    lines, expected = PASSES[case]
    assert verdicts(logged(*lines)) == expected


def test_the_same_steps_to_2_3() -> None:
    """Lines have no lists, LeaderAndIsr prints the assignment as its target, and the request comes first."""
    begun = line("reassignment_started", target_replicas=[2])
    wide = line("reassignment_assignment_updated", replicas=[1, 2])

    def request(leader: int, epoch: int, target: list[int]) -> Row:
        event = "reassignment_leader_and_isr_sent"
        return line(event, "state-change.log", leader=leader, leader_epoch=epoch, target_replicas=target)

    new = replica(2, "none", "new")
    end = [leaves(1, "2"), elected(2, 6), *gone(1), line("reassignment_assignment_updated", replicas=[2])]
    assert verdicts(logged(EARLIER, begun, wide, request(1, 5, [2, 1]), new, *end)) == [HOLDS, HOLDS]
    assert verdicts(logged(EARLIER, begun, request(1, 5, [2, 1]), wide, new)) == [VIOLATED]
    assert verdicts(
        logged(stays(2, "2"), request(2, 7, [2]), line("reassignment_assignment_updated", replicas=[2]))
    ) == [HOLDS]


def test_a_start_that_a_new_controller_repeats() -> None:
    """It sends what is stored; to whom, it is told by the line of the controller before."""
    again = {**sent(1, 6, *WIDE), "node_id": 8, "file_id": "another", "at": 60_000 * MS, "line": 1}
    first = logged(EARLIER, *START)
    *_, repeated = [judged for judged in judge_steps([*first, again]) if judged.verdict.rule == RULE][:1]
    assert (repeated.verdict.verdict, [row["at"] for row in repeated.lines]) == (HOLDS, [MS, 60_000 * MS])
    replaced = {**stored("1", "", ""), "node_id": 9, "at": 30_000 * MS, "line": 99}
    assert verdicts([*first, replaced, again]) == [UNKNOWN, HOLDS]


BEFORE_2_4 = [  # 3 is added to [1, 2], then 1 is taken away: whatever is lost of it, nothing else was stored
    EARLIER,
    line("reassignment_started", target_replicas=[2, 1, 3]),
    line("reassignment_assignment_updated", replicas=[1, 2, 3]),
    line("reassignment_leader_and_isr_sent", "state-change.log", leader=1, leader_epoch=5, target_replicas=[1, 2, 3]),
    replica(3, "none", "new"), line("reassignment_caught_up"), replica(3, "new", "online"), stays(1, "213"),
    line("reassignment_leader_and_isr_sent", "state-change.log", leader=1, leader_epoch=6, target_replicas=[2, 1, 3]),
    line("reassignment_assignment_updated", replicas=[2, 1, 3]), UNLISTED,
    line("reassignment_started", target_replicas=[2, 3]), leaves(1, "23"), elected(2, 7), *gone(1),
    line("reassignment_assignment_updated", replicas=[2, 3]), UNLISTED,
]  # fmt: skip
FROM_2_4 = [EARLIER, *START, *END, UNLISTED, stored("4561", "1"), sent(4, 10, "4561", "1"), replica(1, "none", "new"),
            stored("456"), *gone(1), stays(4, "456"), sent(4, 11, "456"), stored("456")]  # fmt: skip
AGAIN = {id(BEFORE_2_4): [11], id(FROM_2_4): [25, 28]}
"""Places where the next request comes, seconds later."""


@pytest.mark.parametrize("whole", [BEFORE_2_4, FROM_2_4], ids=["to 2.3", "from 2.4, and a cancellation"])
@given(data=st.data())
def test_lines_that_are_lost_accuse_nobody(whole: list[Row], data: st.DataObject) -> None:
    times = [at + sum(at >= place for place in AGAIN[id(whole)]) * 2_000 for at in range(len(whole))]
    choices = data.draw(st.lists(st.booleans(), min_size=len(whole), max_size=len(whole)))
    lines = logged(*whole, ms=times)
    assert VIOLATED not in verdicts(lines)
    assert VIOLATED not in verdicts([row for row, is_kept in zip(lines, choices, strict=True) if is_kept])


@pytest.mark.parametrize("whole", [BEFORE_2_4, FROM_2_4], ids=["to 2.3", "from 2.4, and a cancellation"])
@pytest.mark.parametrize("column", COLUMNS)
def test_a_value_that_a_damaged_line_lacks_accuses_nobody(whole: list[Row], column: str) -> None:
    for at in range(len(whole)):
        rows = logged(*(row if i != at else {**row, column: None} for i, row in enumerate(whole)))
        assert VIOLATED not in {judged.verdict.verdict for judged in judge_steps(rows)}, whole[at]


def test_lines_of_two_files_with_the_same_time_have_no_order() -> None:
    sent_first = [EARLIER, sent(1, 5, *WIDE), stored(*WIDE)]
    assert verdicts(logged(*sent_first, ms=(0, 7, 7))) == [UNKNOWN]
    assert verdicts(logged(*sent_first, ms=(0, 7, 8))) == [VIOLATED]


def test_lines_far_apart_are_no_pass() -> None:
    steps = [leaves(1, "456"), *OLD_GO, elected(4, 6), stored("456")]
    times = [*range(len(steps) - 1), 11_000]
    assert verdicts(logged(*steps, ms=times)) == [UNKNOWN]


def test_each_pass_has_a_name_of_its_own() -> None:
    """Two controllers may take the same steps, in lines with the same numbers."""
    steps = [EARLIER, *START, *END]
    both = [*logged(*steps), *({**row, "node_id": 8, "at": row["at"] + 60_000 * MS} for row in logged(*steps))]
    names = [judged.about for judged in judge_steps(both)]
    assert len(set(names)) == len(names) == 6  # two starts, two ends, two assignments


def test_evidence_is_the_steps_and_of_a_wrong_one_what_shows_it() -> None:
    start, end, *_ = judge_steps(logged(EARLIER, *START, *END))
    assert [row["line"] for row in start.lines] == [2, 3, 4, 5, 6]
    assert (end.lines[0]["event_type"], end.lines[-1]["event_type"]) == (END[3]["event_type"], END[-1]["event_type"])
    (wrong, *_) = judge_steps(logged(leaves(1, "456"), elected(4, 6), *gone(5), stored("456")))
    assert [row["line"] for row in wrong.lines] == [1, 4, 5, 6]
    assert "target replica 5 was deleted" in wrong.verdict.explanation


LISTED = {  # replicas, adding, removing -> verdict
    "the target first": (WIDE, HOLDS),
    "settled": (("456", "", ""), HOLDS),
    "what is removed comes first": (("123456", "456", "123"), VIOLATED),
    "one is added and removed": (("4561", "4", "14"), VIOLATED),
    "one is added that is not there": (("4512", "46", "12"), VIOLATED),
    "one is removed that is not there": (("45", "4", "1"), VIOLATED),
    "one is there twice": (("4414", "", ""), VIOLATED),
}


@pytest.mark.parametrize("case", LISTED)
def test_the_lists_of_an_assignment(case: str) -> None:
    assignment, verdict = LISTED[case]
    assert verdicts(logged(stored(*assignment)), LISTS) == [verdict]


def test_what_the_algorithm_gives_is_never_wrong() -> None:
    """Each request over each pending one, of up to three brokers out of four."""
    ids = (1, 2, 3, 4)
    targets = [(a, b, c)[:n] for n in (1, 2, 3) for a in ids for b in ids for c in ids if len({a, b, c}) == 3]
    for target in targets:
        pending = reassign_to(ReassignmentLists((1, 2, 3)), target)
        for again in targets:
            reassignment = reassign_to(pending, again)
            words = [
                "".join(map(str, part)) for part in (reassignment.replicas, reassignment.adding, reassignment.removing)
            ]
            assert verdicts(logged(stored(*words)), LISTS) == [HOLDS]


CHANGES = {  # replicas and ISR before, after, leader -> verdict
    "two are added": ("123", "12", "45123", "12", 1, HOLDS),
    "one is in sync at once": ("123", "12", "4123", "124", 1, VIOLATED),
    "it is complete": ("45123", "12345", "45", "45", 4, HOLDS),
    "one stays in the ISR": ("45123", "12345", "45", "145", 4, VIOLATED),
    "one goes on leading": ("45123", "12345", "45", "45", 1, VIOLATED),
    "some come and some go": ("123", "123", "124", "12", 1, VIOLATED),
    "another order": ("123", "12", "321", "12", 1, HOLDS),
    "nothing changes": ("123", "12", "123", "1", 1, None),
}


@pytest.mark.parametrize("case", CHANGES)
def test_kraft_adds_replicas_or_takes_them_away(case: str) -> None:
    replicas, isr, replicas_after, isr_after, leader, verdict = CHANGES[case]

    def state(leader: int, epoch: int, isr: str, replicas: str) -> StoredState:
        return StoredState(leader, 5, tuple(map(int, isr)), epoch, replicas=tuple(map(int, replicas)))

    kraft, zookeeper = Cluster(Release(3, 9), kraft=True), Cluster(Release(3, 9))
    before = state(1, 7, isr, replicas)
    judged = assignment_change(kraft, before, state(leader, 8, isr_after, replicas_after))
    assert (judged and judged.verdict) == verdict
    lost = assignment_change(kraft, before, state(leader, 9, isr_after, replicas_after))
    assert lost is None if verdict is None else lost is not None and lost.verdict == UNKNOWN
    assert assignment_change(zookeeper, before, state(leader, 8, isr_after, replicas_after)) is None
