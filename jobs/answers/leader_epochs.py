"""Leader epochs of which the elections are known, and no state: who led, with an ISR that is in no line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jobs.nightly.summary_facts import Row
from schemas.timelines import PARTITION_TIMELINE


def with_epochs_of_elections(states: Sequence[Row], elections: Iterable[Row]) -> list[Row]:
    """Rows of PARTITION_TIMELINE of one partition, in order, and its rows of ELECTIONS -> the same, and a row for each
    leader epoch that only an election shows, where it belongs. All that nobody knows of it is null.

    A row ends as the next one begins; `missing_before` of the row behind one of an election counts leader epochs.
    """
    known = {(row["incarnation"], row["leader_epoch"]) for row in states}
    rows = [_Placed(place, row, is_state=True) for place, row in zip(_places(states), states, strict=True)]
    for row in elections:
        place: tuple[int, int] = (row["incarnation"], row["leader_epoch"])
        if row["succeeded"] and place not in known:
            rows.append(_Placed(place, _state_of(row), is_state=False))
    rows.sort(key=lambda row: row.place)
    around: list[_Placed | None] = [None, *rows, None]
    return [_between(around[number], row, around[number + 2]) for number, row in enumerate(rows)]


def _state_of(election: Row) -> Row:
    """What an election tells of the state that it began."""
    names = ("cluster", "topic", "partition", "incarnation", "leader", "leader_epoch", "evidence")
    of_election = {name: election[name] for name in names} | {"since": election["at"], "inferred": False}
    return {**dict.fromkeys(PARTITION_TIMELINE.columns), **of_election}


@dataclass(frozen=True)
class _Placed:
    """A row, whether it is of a state, and its incarnation and the highest leader epoch that there was by then."""

    place: tuple[int, int]
    row: Row
    is_state: bool


def _places(states: Sequence[Row]) -> list[tuple[int, int]]:
    """Where states stand: damaged lines make leader epochs fall, and change nothing about their order."""
    so_far: dict[int, int] = {}
    places = []
    for row in states:
        own = row["incarnation"]
        so_far[own] = max(so_far.get(own, 0), row["leader_epoch"])
        places.append((own, so_far[own]))
    return places


def _between(before: _Placed | None, row: _Placed, after: _Placed | None) -> Row:
    """A row with what the rows around it change."""
    last, following = (other if other and other.place[0] == row.place[0] else None for other in (before, after))
    changes: dict[str, object] = {}
    if following is not None and not (row.is_state and following.is_state):
        changes["until"] = following.row["since"]
    elif following is None and last is not None and not row.is_state:
        changes["until"] = last.row["until"]
    if last is not None and not last.is_state and row.is_state:
        changes["missing_before"] = max(0, row.row["leader_epoch"] - last.row["leader_epoch"] - 1)
    return {**row.row, **changes}
