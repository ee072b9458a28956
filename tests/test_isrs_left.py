"""Elections in a row of which lines show only who leads: each is judged by the ISR that the one before left."""

from __future__ import annotations

from typing import Any

import pytest

from udfs.kafka.election_verdicts import isrs_left
from udfs.kafka.releases import Release
from udfs.kafka.verdict_rows import election_verdicts

NOBODY: dict[str, Any] = {
    "cluster": "c", "topic": "pay", "partition": 0, "incarnation": 0, "succeeded": True, "strategy": None,
    "trigger": None, "isr": None, "isr_before": None, "plausible_isr": None, "replicas": [1, 2, 3],
    "replicas_before": None, "elr_before": None, "shutting_down": [], "unclean": None, "unclean_enabled": False,
    "shows_elr": None, "kraft_began": None, "left_cleanly": False,
}  # fmt: skip


def election(epoch: int, previous: int, leader: int, online: list[int], **changes: Any) -> dict[str, Any]:
    """An election at second `epoch`, that `leader` logs in line `epoch` as it begins to lead."""
    alive = {"live_brokers": online, "certainly_online": online, "possibly_online": online}
    line = {"node_id": leader, "file_id": "f", "line": epoch}
    led = {"leader_epoch": epoch, "previous_leader": previous, "leader": leader, "at": epoch * 1_000_000}
    return {**NOBODY, **led, **alive, "evidence": [line], **changes}


def failure(second: int, online: list[int], **changes: Any) -> dict[str, Any]:
    """An election that failed, by a line of the controller, 9."""
    line = {"node_id": 9, "file_id": "f", "line": second}
    nobody = {"succeeded": False, "leader_epoch": None, "at": second * 1_000_000, "strategy": "offline"}
    return {**election(0, 2, 2, online), **nobody, "leader": None, "evidence": [line], **changes}


FIRST = election(5, 1, 2, [2, 3], plausible_isr=[1, 2, 3])
"""1 has died, with [1, 2, 3] in sync: 2 leads, and leaves [2, 3]."""
CASES: dict[str, tuple[list[dict[str, Any]], list[tuple[str, list[int]]]]] = {
    "then 2 dies, and 3 leads; of all of them the last one that logs an ISR tells": (
        [FIRST, election(6, 2, 3, [3])], [("holds", [5]), ("holds", [6, 5])],
    ),
    "3 is back in the place of the first replica, which is out of sync: that ends it": (
        [FIRST, election(6, 2, 3, [1, 3]), election(7, 3, 1, [1, 3]), election(8, 1, 3, [3])],
        [("holds", [5]), ("holds", [6, 5]), ("unknown", [7, 6, 5]), ("unknown", [8])],
    ),
    "a leader epoch is missing between them, in which the ISR may have changed": (
        [FIRST, election(7, 2, 3, [3])], [("holds", [5]), ("unknown", [7])],
    ),
    "2 was lost in the leader epoch between them: so 3 was left in sync": (
        [FIRST, election(7, -1, 3, [2, 3])], [("holds", [5]), ("holds", [7, 5])],
    ),
    "one that was in sync alone still is": (
        [{**FIRST, "plausible_isr": [1, 2]}, election(7, -1, 2, [2, 3])], [("holds", [5]), ("holds", [7, 5])],
    ),
    "nobody led in the one before, which is that of 2": (
        [FIRST, election(6, -1, 3, [3])], [("holds", [5]), ("unknown", [6])],
    ),
    "another leader was there between them": (
        [FIRST, election(6, 1, 3, [3])], [("holds", [5]), ("unknown", [6])],
    ),
    "the first one cannot be judged": (
        [{**FIRST, "plausible_isr": None}, election(6, 2, 3, [3])], [("unknown", [5]), ("unknown", [6])],
    ),
    "so is one that may have been unclean, if that was allowed": (
        [{**FIRST, "plausible_isr": [1], "unclean_enabled": None}, election(6, 2, 2, [2, 3])],
        [("unknown", [5]), ("holds", [6])],
    ),
    "2 does not log that it leads, so it would not log who falls out of sync, either": (
        [{**FIRST, "evidence": [{"node_id": 3, "file_id": "f", "line": 5}]}, election(6, 2, 3, [3])],
        [("holds", [5]), ("unknown", [6])],
    ),
    "the ISR is in a line by then": (
        [FIRST, election(6, 2, 3, [3], plausible_isr=[2])], [("holds", [5]), ("unknown", [6])],
    ),
    "nobody of [2, 3] is alive, then 3 is back": (
        [FIRST, failure(6, [1]), election(6, 2, 3, [1, 3])], [("holds", [5]), ("holds", [6, 5]), ("holds", [6, 5])],
    ),
    "3 was alive as an election failed": ([FIRST, failure(6, [3])], [("holds", [5]), ("unknown", [6, 5])]),
    "of another partition nothing is known": (
        [FIRST, {**election(6, 2, 3, [3]), "partition": 1}], [("holds", [5]), ("unknown", [6])],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_elections_in_a_row(case: str) -> None:
    elections, expected = CASES[case]
    judged = election_verdicts(elections, {"c": ("2.4", False)})
    assert [(row["verdict"], [line["line"] for line in row["evidence"]]) for row in judged] == expected


OFFLINE: dict[str, Any] = {"strategy": "offline", "live_brokers": None, "certainly_online": [], "possibly_online": []}
THEN = {"online_as_begun": {"certain": [2, 3], "possible": [2, 3]}}
WRONG = election(5, 1, 3, [2, 3], strategy="offline", isr_before=[1, 2, 3], isr=[3])
ONLINE: dict[str, tuple[dict[str, Any], str]] = {
    "who was alive in all the time in which it may have been decided is unknown": ({**FIRST, **OFFLINE}, "unknown"),
    "who was as the leader epoch began explains it": ({**FIRST, **OFFLINE, **THEN}, "holds"),
    "and accuses nobody": ({**WRONG, **OFFLINE, **THEN}, "unknown"),
    "nor does it excuse what is wrong whoever was": (
        {**WRONG, "online_as_begun": {"certain": [3], "possible": [3]}}, "violated",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ONLINE)
def test_who_was_online_as_the_leader_epoch_began(case: str) -> None:
    row, verdict = ONLINE[case]
    assert [judged["verdict"] for judged in election_verdicts([row], {"c": ("2.4", False)})] == [verdict]


def test_it_says_which_isr_was_worked_out() -> None:
    *_, judged = election_verdicts([FIRST, election(6, 2, 3, [3])], {"c": ("2.4", False)})
    assert judged["explanation"].startswith("Assignment [1, 2, 3], ISR [2, 3] (worked out), leader 2, alive [3]: ")
    assert judged["explanation"].endswith("leader 3 is expected; the log has leader 3.")


LEFT: dict[str, tuple[dict[str, Any], list[list[int]]]] = {
    "those of the ISR that are alive": (FIRST, [[2, 3]]),
    "3 may have been alive or not": ({**FIRST, "certainly_online": [2]}, [[2], [2, 3]]),
    "the preferred leader takes over from one that stays in sync, or that shuts down": (
        election(5, 2, 1, [1, 2, 3], plausible_isr=[1, 2]), [[1], [1, 2]],
    ),
    "of a leader that stays it is as it was, or a replica was taken out that was not there": (
        election(5, 1, 1, [1, 2], plausible_isr=[1, 2, 3]), [[1, 2], [1, 2, 3]],
    ),
    "or that was shutting down": (
        election(5, 1, 1, [1, 2, 3], plausible_isr=[1, 2, 3], shutting_down=[3]), [[1, 2], [1, 2, 3]],
    ),
    "an outsider is in sync alone": (
        election(5, 1, 2, [2, 3], plausible_isr=[1], unclean_enabled=True), [[2]],
    ),
    "if nothing says that this is not allowed": (
        election(5, 1, 2, [2, 3], plausible_isr=[1], unclean_enabled=None), [[2]],
    ),
    "who else may have led leaves nothing": (election(5, 1, 2, [2, 3], plausible_isr=[1]), []),
    "a reassignment to others leaves the ISR as it is": (
        election(5, 1, 2, [2, 3], plausible_isr=[1, 2, 3], plausible_replicas=[[1, 2, 3], [2, 3]]), [[1, 2, 3], [2, 3]],
    ),
    "a line that prints no replicas tells no assignment, those around it do": (
        {**FIRST, "replicas": [], "plausible_replicas": [[1, 2, 3]]}, [[2, 3]],
    ),
    "the ISR is known": (election(5, 1, 2, [2, 3], isr=[2, 3], plausible_isr=[1, 2, 3]), []),
    "nobody was elected": (failure(5, [1]), []),
    "too many": (
        election(5, 1, 1, [1], plausible_isr=[*range(1, 10)], replicas=[*range(1, 10)]), [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LEFT)
def test_the_isrs_that_an_election_leaves(case: str) -> None:
    row, expected = LEFT[case]
    assert isrs_left(row, Release(2, 4)) == expected
