"""Leader epochs that only an election shows, among the states of a partition."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from jobs.answers.leader_epochs import with_epochs_of_elections

BEGIN = datetime(2026, 11, 28, 13, 53)


def at(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def state(leader: int, leader_epoch: int, since: float, until: float | None, **others: Any) -> dict[str, Any]:
    """A row of PARTITION_TIMELINE; times in seconds."""
    end = at(until) if until is not None else None
    row = {"incarnation": 0, "leader": leader, "leader_epoch": leader_epoch, "since": at(since), "until": end}
    return {**row, "isr": [leader], "missing_before": 0, **others}


def election(leader: int, leader_epoch: int, seconds: float, **others: Any) -> dict[str, Any]:
    """A row of ELECTIONS."""
    row = {"cluster": "c", "topic": "payments", "partition": 3, "incarnation": 0, "at": at(seconds)}
    return {**row, "leader": leader, "leader_epoch": leader_epoch, "succeeded": True, "evidence": [], **others}


def test_an_election_without_a_state_is_a_row_of_its_own() -> None:
    """4 leads in leader epoch 1, 3 in 2 and 5, of which no state is known, then in 8. Who led between these?"""
    states = [state(4, 1, 0, 60), state(3, 8, 60, None, missing_before=6)]
    elections = [
        election(4, 1, 0),
        election(3, 2, 1),
        election(3, 5, 16),
        election(3, 8, 60),
        {**election(0, 0, 11), "leader": None, "leader_epoch": None, "succeeded": False},
    ]
    rows = with_epochs_of_elections(states, elections)
    names = ("leader", "leader_epoch", "since", "until", "isr", "missing_before")
    assert [tuple(row[name] for name in names) for row in rows] == [
        (4, 1, at(0), at(1), [4], 0),
        (3, 2, at(1), at(16), None, None),
        (3, 5, at(16), at(60), None, None),
        (3, 8, at(60), None, [3], 2),
    ]


def test_where_each_election_has_a_state_nothing_changes() -> None:
    """Also where damaged lines make leader epochs fall, or the topic was created anew."""
    states = [state(4, 1, 0, 5), state(4, 7, 5, 6), state(4, 2, 6, 9), state(1, 0, 20, None, incarnation=1)]
    elections = [election(4, 1, 0), election(4, 7, 5), election(4, 2, 6), election(1, 0, 20, incarnation=1)]
    assert with_epochs_of_elections(states, elections) == states


def test_the_last_one_ends_as_the_partition_does() -> None:
    """It is deleted, and created anew with the same leader epochs."""
    states = [state(4, 1, 0, 5), state(1, 0, 20, None, incarnation=1)]
    first, last, anew = with_epochs_of_elections(states, [election(3, 2, 3)])
    assert (first["until"], last["leader"], last["until"]) == (at(3), 3, at(5))
    assert anew == states[1]
