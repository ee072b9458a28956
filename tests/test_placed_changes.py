"""In which leader epoch a leader wrote a change that names none; each case is a partition's lines, written by hand."""

from __future__ import annotations

from math import inf
from random import Random
from typing import Any

import pytest

from jobs.timelines.partition_history import EPOCH_OBSERVATIONS, ordered_rows
from udfs.reconstruct.placed_changes import EpochBound, LeaderChange, Place, placed_changes

S = 1_000_000
"""Microseconds in a second; cases are told in seconds."""


def bound(text: str, key: int) -> EpochBound:
    """`4 begun @2 by 9 (1 leads 1,2)`: a line of node 9 (0: of any) at second 2 about leader epoch 4, and what it
    prints of that. `written` in place of `begun`: the controller writes it; `kept`: it writes it, and who led leads on;
    `known`: node 9 has begun that one last; `- led`: only who leads; `- begins`: only that node 9 begins another one;
    `4 adds-3`: no leader knows of replica 3 before it; `4 limits`: no later one had been written by then."""
    head, _, state = text.strip().partition(" (")
    epoch, what, at, _, node = head.split()
    leader, _, isr = state.rstrip(")").partition(" leads")
    shown = None if epoch == "-" or what == "limits" else int(epoch)
    return EpochBound(
        round(float(at[1:]) * S), shown, int(node) or None, what in ("written", "kept"),
        what in ("known", "begins"), int(leader) if leader else None,
        tuple(map(int, isr.split(","))) if isr else None, key, what == "kept",
        int(what.removeprefix("adds-")) if what.startswith("adds-") else None,
        int(epoch) if what == "limits" else None,
    )  # fmt: skip


def change(text: str) -> LeaderChange:
    """`1 makes 1,2 -> 1 @5`: as leader 1 logs it at second 5. `in process 3`: that has a session with the store."""
    text, _, process = text.strip().partition(" in process ")
    what, _, at = text.partition(" @")
    leader, _, isrs = what.partition(" makes ")
    before, after = (tuple(map(int, isr.split(","))) for isr in isrs.split(" -> "))
    number = int(process) if process else None
    return LeaderChange(round(float(at) * S), int(leader), before, after, covered_until=100 * S, process=number)


CASES = {  # lines about leader epochs, changes -> their leader epochs
    "between the controller's write and its next": (
        "4 written @1 by 9 (1 leads 1,2)\n5 written @9 by 9 (2 leads 2)", "1 makes 1,2 -> 1 @5", [4],
    ),
    "nothing was before leader epoch 0": ("1 written @9 by 9", "1 makes 1,2 -> 1 @5", [0]),
    "the controller may have written another one since: no line shows it": (
        "4 written @1 by 9 (1 leads 1,2)\n6 written @9 by 9 (2 leads 2)", "1 makes 1,2 -> 1 @5", [None],
    ),
    "or after": ("4 written @1 by 9 (1 leads 1,2)", "1 makes 1,2 -> 1 @5", [None]),
    "its writer leads in one of those that are left": (
        "4 written @1 by 9 (1 leads 1,2)\n5 begun @8 by 9 (2 leads 2)\n6 written @9 by 9 (3 leads 2)",
        "1 makes 1,2 -> 1 @5\n2 makes 2 -> 2,3 @7", [4, 5],
    ),
    "who leads in one is known by a change, too": (
        "4 written @1 by 9 (1 leads 1,2)\n5 known @8 by 2\n6 written @20 by 9 (3 leads 2)",
        "1 makes 1,2 -> 1 @5\n2 makes 2 -> 2,3 @12", [4, 5],
    ),
    "two cannot lead in one": (
        "4 written @1 by 9\n5 written @20 by 9", "1 makes 1,2 -> 1 @5\n2 makes 2 -> 2,3 @12", [None, None],
    ),
    "nor within a second": (
        "4 written @1 by 9\n5 written @20 by 9", "1 makes 1,2 -> 1 @5\n2 makes 2 -> 2,3 @5.5", [None, None],
    ),
    "another one leads there: lines contradict each other": (
        "4 written @1 by 9 (3 leads 2,3)\n5 written @9 by 9", "1 makes 1,2 -> 1 @5", [None],
    ),
    "a line of a broker that was told of it later ends nothing: it had begun before": (
        "4 written @1 by 9 (1 leads 1,2)\n5 begun @9 by 2 (2 leads 2)", "1 makes 1,2 -> 1 @5", [None],
    ),
    "what the writer itself knows later ends it": (
        "4 begun @1 by 9 (1 leads 1,2)\n4 known @9 by 1", "1 makes 1,2 -> 1 @5", [4],
    ),
    "what the writer only logs of it does not": (
        "4 begun @1 by 9 (1 leads 1,2)\n4 begun @9 by 1", "1 makes 1,2 -> 1 @5", [None],
    ),
    "what another broker knows later does not": (
        "4 begun @1 by 9 (1 leads 1,2)\n4 known @9 by 2", "1 makes 1,2 -> 1 @5", [None],
    ),
    "clocks of two nodes differ: what is within a second of it may be before or after": (
        "4 written @1 by 9 (1 leads 1,2)\n5 written @5.5 by 9 (1 leads 1)\n6 written @9 by 9", "1 makes 1,2 -> 1 @5",
        [4],
    ),
    "there the ISR that it starts from tells": (
        "4 written @1 by 9 (1 leads 1,2)\n5 written @4.5 by 9 (1 leads 1)\n6 written @9 by 9",
        "1 makes 1 -> 1,3 @5", [5],
    ),
    "if it is not the same in both": (
        "4 written @1 by 9 (1 leads 1,2)\n5 written @4.5 by 9 (1 leads 1,2)\n6 written @9 by 9",
        "1 makes 1,2 -> 1 @5", [None],
    ),
    "and known of both": (
        "4 begun @1 by 9 (1 leads 1,2)\n5 written @4.5 by 9 (1 leads 1)\n6 written @9 by 9",
        "1 makes 1 -> 1,3 @5", [None],
    ),
    "who led in between leaves each its own: 1, 2, 0 in three leader epochs": (
        "1 written @16 by 9 (1 leads 1,2)\n- led @33 by 9 (2 leads 0,2)\n- led @43 by 9 (0 leads 0,2)\n"
        "4 written @60 by 9 (1 leads 1,2)",
        "1 makes 1,2 -> 0,1,2 @22\n2 makes 0,2 -> 0,1,2 @38", [1, 2],
    ),
    "what an old line shows of a leader is no leader then": (
        "1 written @16 by 9 (1 leads 1,2)\n1 begun @33 by 2 (1 leads 1,2)\n3 written @60 by 9 (3 leads 1,2)",
        "2 makes 0,2 -> 0,1,2 @22\n2 makes 0,1,2 -> 0,2 @38", [2, 2],
    ),
    "a leader that goes on from an ISR that it did not make has begun another one": (
        "0 known @17 by 4\n1 written @34 by 9 (4 leads 0,4)\n2 written @35.2 by 9 (4 leads 0,4)",
        "4 makes 1,4 -> 0,1,4 @24\n4 makes 0,4 -> 0,1,4 @34.04", [0, 1],
    ),
    "one that goes on from its own may be in the same": (
        "0 known @17 by 4\n1 written @34 by 9 (4 leads 0,4)\n2 written @35.2 by 9 (4 leads 0,4)",
        "4 makes 1,4 -> 0,4 @24\n4 makes 0,4 -> 0,1,4 @34.04", [0, None],
    ),
    "nor does one that goes on from where its change before had started, which may never have been written": (
        "0 known @17 by 4\n1 written @34 by 9 (4 leads 0,4)\n2 written @35.2 by 9 (4 leads 0,4)",
        "4 makes 0,1,4 -> 0,4 @24\n4 makes 0,1,4 -> 0,1 @34.04", [0, None],
    ),
    "it has been written if the same process has a session with the store: that logs what is refused": (
        "0 known @17 by 4\n1 written @34 by 9 (4 leads 0,1,4)\n2 written @35.2 by 9 (4 leads 0,4)",
        "4 makes 0,1,4 -> 0,4 @24 in process 3\n4 makes 0,1,4 -> 0,1 @34.04 in process 3", [0, 1],
    ),
    "another process knows nothing of what the one before was about to write": (
        "0 known @17 by 4\n1 written @34 by 9 (4 leads 0,1,4)\n2 written @35.2 by 9 (4 leads 0,4)",
        "4 makes 0,1,4 -> 0,4 @24 in process 3\n4 makes 0,1,4 -> 0,1 @34.04 in process 4", [0, None],
    ),
    "each line by which its writer begins one that it does not name is of another one": (
        "0 known @17 by 4\n1 written @34 by 9 (4 leads 0,4)\n- begins @34.03 by 4\n2 written @34.8 by 9 (4 leads 0,4)\n"
        "- begins @34.9 by 4\n3 written @60 by 9 (4 leads 4)",
        "4 makes 1,4 -> 0,4 @24\n4 makes 0,4 -> 0,1,4 @34.04\n4 makes 0,4 -> 0,1,4 @42", [0, 1, 2],
    ),
    "a reassignment: 1 begins 8, in which it led on; 2 led in 10 as a replica of it was taken out, so it led in 9": (
        "7 known @20 by 1\n8 kept @33.87 by 9\n- begins @33.88 by 1\n10 kept @34.06 by 9 (2 leads 2,3,4)\n"
        "11 written @50 by 9 (2 leads 2,3)",
        "1 makes 1,2 -> 1,2,3 @33.9\n1 makes 1,2,3 -> 1,2,3,4 @33.92", [8, 8],
    ),
    "the leader epoch that its writer begins is none in which another one leads: 2 led in 9, so 1 begins 8": (
        "7 known @20 by 1\n8 kept @33.87 by 9\n- begins @33.88 by 1 (1 leads)\n10 kept @34.06 by 9 (2 leads 2,3,4)\n"
        "11 written @50 by 9 (2 leads 2,3)",
        "1 makes 1,2 -> 1,2,3 @33.5\n1 makes 1,2,3 -> 1,2,3,4 @33.92", [7, 8],
    ),
    "if it was elected in 10, nobody knows who led in 9": (
        "7 known @20 by 1\n8 kept @33.87 by 9\n- begins @33.88 by 1\n10 written @34.06 by 9 (2 leads 2,3,4)\n"
        "11 written @50 by 9 (2 leads 2,3)",
        "1 makes 1,2 -> 1,2,3 @33.9", [None],
    ),
    "a replica that its leader knew nothing of until then": (
        "7 written @20 by 9 (1 leads 1,2)\n8 kept @33.87 by 9\n9 written @50 by 9 (2 leads 2)\n8 adds-3 @33.86 by 9",
        "1 makes 1,2 -> 1,2,3 @33.9\n1 makes 1,2,3 -> 1,3 @33.92", [8, 8],
    ),
    "what its leader does with others shows nothing": (
        "7 written @20 by 9 (1 leads 1,2)\n8 kept @33.87 by 9\n9 written @50 by 9 (2 leads 2)\n8 adds-3 @33.86 by 9",
        "1 makes 1,2,3 -> 1,2 @33.9\n1 makes 1,2 -> 1,2,4 @33.92", [None, None],
    ),
    "who led goes on in several that keep the leader": (
        "4 written @1 by 9\n5 kept @2 by 9\n6 kept @4.5 by 9\n7 written @5.5 by 9 (1 leads 1)\n"
        "8 written @9 by 9 (2 leads 2)\n4 begun @1 by 9 (2 leads 1,2)",
        "1 makes 1 -> 1,2 @5", [7],
    ),
    "what its writer begins may be over by then": (
        "0 known @17 by 4\n- begins @34.03 by 4\n3 written @60 by 9 (4 leads 4)",
        "4 makes 1,4 -> 0,4 @24\n4 makes 0,4 -> 0,1,4 @42", [None, None],
    ),
    "others may be ahead of it: another node had not heard of it": (
        "2 written @20 by 9 (3 leads 2,3)\n- begins @34 by 4\n1 known @40 by 4\n3 written @60 by 9",
        "3 makes 2,3 -> 3 @30", [2],
    ),
    "what another node begins leaves them open": (
        "0 known @17 by 4\n1 written @34 by 9 (4 leads 0,4)\n- begins @34.03 by 3\n2 written @34.8 by 9 (4 leads 0,4)\n"
        "- begins @34.9 by 3\n3 written @60 by 9 (4 leads 4)",
        "4 makes 1,4 -> 0,4 @24\n4 makes 0,4 -> 0,1,4 @34.04\n4 makes 0,4 -> 0,1,4 @42", [0, None, 2],
    ),
    "a leader that is none any more wrote nothing; others are placed without it": (
        "4 written @1 by 9 (1 leads 1,2)\n5 written @5 by 9 (2 leads 2)\n6 written @20 by 9 (1 leads 1)",
        "1 makes 1,2 -> 1 @10\n2 makes 2 -> 1,2 @12", [None, 5],
    ),
    "nor where a line only shows later who leads": (
        "4 written @1 by 9 (1 leads 1,2)\n5 begun @6 by 9 (2 leads 2)\n6 written @20 by 9 (1 leads 1)",
        "1 makes 1,2 -> 1 @10\n2 makes 2 -> 1,2 @12", [None, 5],
    ),
    "one clock: what its own node logs counts at once": (
        "4 written @1 by 1 (1 leads 1,2)\n5 written @4.9 by 1\n6 written @9 by 1", "1 makes 1,2 -> 1 @5", [5],
    ),
    "a controller that reads who leads, and sends none but later ones afterwards": (
        "4 written @1 by 9 (1 leads 1,2)\n4 limits @9 by 9 (1 leads 1,2)\n7 written @20 by 9",
        "1 makes 1,2 -> 1 @5\n1 makes 1 -> 1,2 @12", [4, None],
    ),
    "or begins its term": ("4 written @1 by 9 (1 leads 1,2)\n4 limits @9 by 8", "1 makes 1,2 -> 1 @5", [4]),
    "what it sends may be a later one than that of the change": (
        "4 written @1 by 9 (1 leads 1,2)\n5 limits @9 by 9 (1 leads 1,2)", "1 makes 1,2 -> 1 @5", [None],
    ),
    "if another one leads in the last that is left, it is the one before": (
        "4 written @1 by 9 (1 leads 1,2)\n5 limits @9 by 9 (2 leads 1,2)", "1 makes 1,2 -> 1 @5", [4],
    ),
    "not in one millisecond": (
        "4 written @1 by 1 (1 leads 1,2)\n5 written @5 by 1\n6 written @9 by 1", "1 makes 1,2 -> 1 @5", [None],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_leader_epochs_of_changes(name: str) -> None:
    lines, changes, expected = CASES[name]
    bounds = [bound(line, key) for key, line in enumerate(lines.splitlines())]
    placed = placed_changes([change(line) for line in changes.splitlines()], bounds)
    assert [place.leader_epoch for place in placed] == expected


def test_a_place_names_the_lines_that_leave_no_other() -> None:
    lines = ["3 written @0 by 9", "4 written @1 by 9", "5 written @9 by 9", "6 written @12 by 9"]
    bounds = [bound(line, key) for key, line in enumerate(lines)]
    assert placed_changes([change("1 makes 1,2 -> 1 @5")], bounds) == [Place(4, keys=(1, 2), least=4, most=4)]


def test_a_hole_in_the_writers_log_may_have_had_the_change_that_it_goes_on_from() -> None:
    lines = ["0 known @17 by 4", "1 written @34 by 9 (4 leads 0,4)", "2 written @35.2 by 9 (4 leads 0,4)"]
    changes = [change("4 makes 1,4 -> 0,1,4 @24")._replace(covered_until=30 * S), change("4 makes 0,4 -> 0,1,4 @34.04")]
    placed = placed_changes(changes, [bound(line, key) for key, line in enumerate(lines)])
    assert [place.leader_epoch for place in placed] == [0, None]


def row(**values: object) -> dict[str, object]:
    """A row of EPOCH_OBSERVATIONS."""
    of_partition = {"cluster": "c", "topic": "t", "partition": 0, "incarnation": 0, "line": 0, "is_accepted": True}
    return dict.fromkeys(EPOCH_OBSERVATIONS.names) | of_partition | values


def test_a_change_that_is_placed_is_a_state_with_all_lines_as_evidence() -> None:
    """Without the writer's release nothing is placed: from 2.4 on a leader logs what it intends."""

    def states(writes: bool | None) -> list[tuple[object, ...]]:
        rows = [
            row(is_shown=True, at=1 * S, shown_epoch=4, leader=1, is_written=True, node_id=9, evidence=[{"line": 10}]),
            row(at=5 * S, leader=1, isr_before=[1, 2], isr=[1], writes=writes, evidence=[{"line": 20}]),
            row(is_shown=True, at=9 * S, shown_epoch=5, leader=2, is_written=True, node_id=9, evidence=[{"line": 30}]),
            row(at=1 * S, leader_epoch=4, leader=1, isr=[1, 2], evidence=[{"line": 10}]),
        ]
        names = ("leader_epoch", "leader", "isr", "by_leader", "at", "inferred")
        in_order = ordered_rows(rows, 10)
        return [(*(one[name] for name in names), [line["line"] for line in one["evidence"]]) for one in in_order]

    begun = (4, 1, [1, 2], None, 1 * S, None, [10])
    assert states(writes=True) == [begun, (4, 1, [1], True, 5 * S, True, [20, 10, 30])]
    assert states(writes=None) == [begun]


def test_what_the_store_refused_in_an_unknown_leader_epoch_leaves_no_hole_in_its_leaders_log() -> None:
    """An unclean election then speaks against no change before it; it does where the log may lack one."""

    def isrs(**of_other: object) -> list[object]:
        log = {"leader": 1, "covered_since": 0, "covered_until": 100 * S}
        rows = [
            row(at=12 * S, isr_before=[1, 3], isr=[1], writes=True, **log, **of_other),
            row(at=1 * S, leader_epoch=4, isr=[1], **log),
            row(at=5 * S, leader_epoch=4, isr_before=[1], isr=[1, 3], **log),
            row(at=9 * S, leader_epoch=5, leader=2, isr=[2]),
        ]
        return [one["isr"] for one in ordered_rows(rows, 10)]

    assert isrs(is_accepted=False) == [[1], [1, 3], [2]]
    assert isrs(is_accepted=True) == [[1], [2]]


def simulated(seed: int) -> tuple[list[LeaderChange], list[int], list[EpochBound]]:
    """Changes of a partition, their true leader epochs, and some of the lines that three brokers and a controller log.

    Brokers learn late of leader epochs, and change the ISR only in the one that is committed. Clocks are less than a
    second apart.
    """
    random = Random(seed)
    offset = {node: random.uniform(-0.45, 0.45) for node in (1, 2, 3, 9)}
    at, epoch, leader, isr = 0.0, 0, 1, {1, 2, 3}
    known = dict.fromkeys((1, 2, 3), 0)
    changes: list[LeaderChange] = []
    epochs: list[int] = []
    bounds: list[EpochBound] = []

    def log(node: int, **values: Any) -> None:
        """A line, by its node's clock; two of three are there."""
        if random.random() < 0.67:
            bounds.append(EpochBound(**{"at": round((at + offset[node]) * S), "node_id": node} | values))

    for _ in range(25):
        at += random.choice([0.02, 0.3, 1.5, 4.0])
        what = random.random()
        if what < 0.35 and known[leader] == epoch:
            before = tuple(sorted(isr))
            isr ^= {random.choice([node for node in (1, 2, 3) if node != leader])}
            now = round((at + offset[leader]) * S)
            changes.append(LeaderChange(now, leader, before, tuple(sorted(isr)), 1000 * S, process=0))
            epochs.append(epoch)
        elif what < 0.55:
            epoch += 1
            if (how := random.random()) < 0.25:
                log(9, leader_epoch=epoch, is_written=True, keeps_leader=True)
            else:
                led, leader = leader, random.choice(sorted(isr))
                isr = {leader} | {node for node in isr if random.random() < 0.6}
                if how < 0.7:
                    state = {"leader": leader, "isr": tuple(sorted(isr)), "keeps_leader": leader == led}
                    log(9, leader_epoch=epoch, is_written=True, **state)
        elif what < 0.8:
            node = random.choice((1, 2, 3))
            if known[node] < epoch:
                known[node] = epoch
                if node == leader:
                    log(node, leader_epoch=None, is_known=True, leader=node)
            log(node, leader_epoch=known[node], is_known=True)
        elif what < 0.9:
            limit = random.choice((None, epoch, epoch + 1))
            log(9, leader_epoch=None, leader=random.choice((leader, None)), limit=limit)
        else:
            log(random.choice((1, 2, 3)), leader_epoch=random.choice((epoch, max(epoch - 1, 0))), node_id=None)
    return changes, epochs, bounds


def test_no_change_of_a_simulated_partition_has_a_wrong_place() -> None:
    places = [
        (place, epoch)
        for seed in range(400)
        for changes, epochs, bounds in [simulated(seed)]
        for place, epoch in zip(placed_changes(changes, bounds), epochs, strict=True)
    ]
    assert [(place, epoch) for place, epoch in places if place.leader_epoch not in (None, epoch)] == []
    assert [(place, epoch) for place, epoch in places if not place.least <= epoch <= place.most] == []
    assert sum(place.leader_epoch is not None for place, _ in places) > 0.3 * len(places)
    assert sum(place.leader_epoch is None and place.most < inf for place, _ in places) > 0.2 * len(places)
