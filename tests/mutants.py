"""Wrong decisions made out of right ones, of each kind that a rule must flag; used by `test_mutants` and its proof.

A kind edits one row of a table (or, of a sequence of rows, one of them) and names the rules of which one has to be
violated then. Every mutant is wrong: a row whose edit makes another right decision is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

Row = dict[str, Any]
Rows = list[Row]
ELECTED = ("offline", "preferred", "controlled_shutdown", "reassign")
NOBODY_KNOWS = 99
"""A broker that there is none of."""


@dataclass(frozen=True)
class Kind:
    """One way to spoil a row. `edits` gives the fields that change, of each mutant of a row; none if it cannot be."""

    name: str
    rules: tuple[str, ...]
    edits: Callable[[Row], Iterator[Row]]


# ---- elections ------------------------------------------------------------------------------------------------------
def _of(*strategies: str, succeeded: bool = True) -> Callable[[Row], bool]:
    return lambda row: row["strategy"] in strategies and row["succeeded"] is succeeded


def _others(row: Row, among: Sequence[int]) -> list[int]:
    return [broker for broker in among if broker != row["leader"]]


def _another_in_sync(row: Row) -> Iterator[Row]:
    return ({"leader": broker} for broker in _others(row, row["isr"]))


def _outside_isr(row: Row) -> Iterator[Row]:
    outside = [b for b in row["replicas"] if b not in row["isr_before"] and b in row["live_brokers"]]
    return ({"leader": broker, "isr": [broker]} for broker in outside)


def _dead(row: Row) -> Iterator[Row]:
    dead = [b for b in row["isr_before"] if b not in row["live_brokers"]]
    return ({"leader": broker} for broker in dead)


def _unassigned(row: Row) -> Iterator[Row]:
    yield {"leader": NOBODY_KNOWS, "isr": sorted({*row["isr"], NOBODY_KNOWS})}


def _keeps_dead(row: Row) -> Iterator[Row]:
    gone = [b for b in row["isr_before"] if b not in row["isr"]]
    return ({"isr": sorted({*row["isr"], broker})} for broker in gone)


def _drops_member(row: Row) -> Iterator[Row]:
    return ({"isr": [b for b in row["isr"] if b != broker]} for broker in _others(row, row["isr"]))


def _gains_member(row: Row) -> Iterator[Row]:
    outside = [b for b in row["replicas"] if b not in row["isr_before"]]
    return ({"isr": sorted({*row["isr"], broker})} for broker in outside)


def _failed(row: Row) -> Iterator[Row]:
    yield {"succeeded": False, "leader": None, "isr": None}


def _unclean(row: Row) -> Iterator[Row]:
    live = [b for b in row["replicas"] if b in row["live_brokers"]]
    return ({"succeeded": True, "leader": broker, "isr": [broker]} for broker in live)


def _old_leader_stays(row: Row) -> Iterator[Row]:
    previous = row["previous_leader"]
    if previous in row["isr_before"] and previous != row["leader"]:
        yield {"leader": previous, "isr": row["isr_before"]}


def _where(applies: Callable[[Row], bool], edits: Callable[[Row], Iterator[Row]]) -> Callable[[Row], Iterator[Row]]:
    return lambda row: edits(row) if applies(row) else iter(())


def _election_kinds() -> Iterator[Kind]:
    for strategy in ELECTED:
        rule, is_one = (f"{strategy}_election",), _of(strategy)
        yield Kind(f"{strategy}: another member of the ISR leads", rule, _where(is_one, _another_in_sync))
        yield Kind(f"{strategy}: one outside the ISR leads", rule, _where(is_one, _outside_isr))
        yield Kind(f"{strategy}: one leads that is not assigned", rule, _where(is_one, _unassigned))
        yield Kind(f"{strategy}: a member of the ISR is dropped", rule, _where(is_one, _drops_member))
        yield Kind(f"{strategy}: the ISR gains a member", rule, _where(is_one, _gains_member))
        yield Kind(f"{strategy}: it fails though one can lead", rule, _where(is_one, _failed))
    yield Kind("offline: a dead one leads", ("offline_election",), _where(_of("offline"), _dead))
    yield Kind("offline: a dead one stays in the ISR", ("offline_election",), _where(_of("offline"), _keeps_dead))
    shutdown = ("controlled_shutdown_election",)
    yield Kind("shutdown: one that leaves stays in the ISR", shutdown, _where(_of(*ELECTED[2:3]), _keeps_dead))
    yield Kind("shutdown: nothing moves", shutdown, _where(_of(*ELECTED[2:3]), _old_leader_stays))
    yield Kind("preferred: nothing moves", ("preferred_election",), _where(_of("preferred"), _old_leader_stays))
    yield Kind(
        "offline: unclean though it is not allowed",
        ("offline_election",),
        _where(_of("offline", succeeded=False), _unclean),
    )
    refresh = ("epoch_refresh",)
    yield Kind("refresh: another leads", refresh, _where(_of("none"), _another_in_sync))
    yield Kind("refresh: the ISR changes", refresh, _where(_of("none"), _drops_member))


ELECTIONS = tuple(_election_kinds())


def _kraft_another(row: Row) -> Iterator[Row]:
    """Members of the ISR that neither lead already nor are preferred."""
    lawful = {row["leader"], row["previous_leader"], row["replicas"][0]}
    return ({"leader": broker} for broker in row["isr"] if broker not in lawful)


def _kraft_outside(row: Row) -> Iterator[Row]:
    outside = [b for b in row["replicas"] if b not in row["isr_before"] and b not in (row["elr_before"] or ())]
    return ({"leader": broker, "isr": [broker]} for broker in outside)


def _kraft_away(row: Row) -> Iterator[Row]:
    away = [b for b in row["isr_before"] if b not in row["possibly_online"]]
    return ({"leader": broker, "isr": sorted({*row["isr"], broker})} for broker in away)


def _stays_assigned(row: Row) -> bool:
    return bool(row["succeeded"] and row["replicas"] == row["replicas_before"])


KRAFT_ELECTIONS = tuple(
    Kind(f"kraft: {name}", ("kraft_election",), _where(_stays_assigned, edits))
    for name, edits in (
        ("another member of the ISR leads", _kraft_another),
        ("one outside the ISR leads", _kraft_outside),
        ("one leads that is not assigned", _unassigned),
        ("a fenced one leads", _kraft_away),
    )
)


def election_mutants(row: Row, kinds: Sequence[Kind] = ELECTIONS) -> Iterator[tuple[Kind, Row]]:
    """All wrong elections that one right one (with all its inputs) can be turned into."""
    for kind in kinds:
        for fields in kind.edits(row):
            mutant = {**row, **fields}
            if (mutant["leader"], mutant["isr"]) != (row["leader"], row["isr"]):
                yield kind, mutant


# ---- states ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class StateKind:
    """One way to spoil a state of a history; `edits` gets it and the one before (null: it is the first)."""

    name: str
    rules: tuple[str, ...]
    edits: Callable[[Row, Row | None], Iterator[Row]]


def _one(condition: Any, **fields: Any) -> Iterator[Row]:
    return iter([fields] if condition else [])


def _birth(row: Row, before: Row | None) -> bool:
    return before is None and row["partition_epoch"] == 0


def _by_leader(row: Row, before: Row | None) -> bool:
    return before is not None and row["made_by"] == "leader"


STATES = (
    StateKind(
        "the leader is outside the ISR",
        ("leader_in_isr",),
        lambda row, _: _one(
            row["leader"] >= 0 and len(row["isr"]) > 1, isr=[b for b in row["isr"] if b != row["leader"]]
        ),
    ),
    StateKind(
        "a stranger is in the ISR",
        ("isr_within_replicas",),
        lambda row, _: _one(row["replicas"], isr=[*row["isr"], NOBODY_KNOWS]),
    ),
    StateKind(
        "the leader epoch falls",
        ("one_leader_per_leader_epoch",),
        lambda row, before: _one(
            before and before["leader_epoch"] > 0, leader_epoch=(before or row)["leader_epoch"] - 1
        ),
    ),
    StateKind(
        "two leaders in a leader epoch",
        ("one_leader_per_leader_epoch",),
        lambda row, before: _one(
            before and before["leader"] != row["leader"], leader_epoch=(before or row)["leader_epoch"]
        ),
    ),
    StateKind(
        "the partition epoch falls",
        ("partition_epoch_grows",),
        lambda row, before: _one(
            before and before["partition_epoch"] > 0, partition_epoch=(before or row)["partition_epoch"] - 1
        ),
    ),
    StateKind(
        "two states of a partition epoch",
        ("partition_epoch_grows",),
        lambda row, before: _one(
            before and (before["leader"], before["isr"]) != (row["leader"], row["isr"]),
            partition_epoch=(before or row)["partition_epoch"],
        ),
    ),
    StateKind(
        "the leader epoch overtakes the partition epoch",
        ("partition_epoch_grows",),
        lambda row, before: _one(before, leader_epoch=(before or row)["leader_epoch"] + 3),
    ),
    StateKind(
        "a replaced controller decides",
        ("stored_controller_epoch_never_falls",),
        lambda row, before: _one(
            before and before["controller_epoch"], controller_epoch=((before or row)["controller_epoch"] or 1) - 1
        ),
    ),
    StateKind(
        "a leader's change raises the leader epoch",
        ("isr_change", "epoch_increments"),
        lambda row, before: _one(_by_leader(row, before), leader_epoch=row["leader_epoch"] + 1),
    ),
    StateKind(
        "a leader leaves by its own change",
        ("isr_change", "leader_in_isr"),
        lambda row, before: _one(_by_leader(row, before), isr=[b for b in row["isr"] if b != row["leader"]] or [0]),
    ),
    StateKind(
        "a leader takes in a stranger",
        ("isr_change", "isr_within_replicas"),
        lambda row, before: _one(_by_leader(row, before) and row["replicas"], isr=[*row["isr"], NOBODY_KNOWS]),
    ),
    StateKind(
        "a partition is born with a leader epoch",
        ("new_partition_state",),
        lambda row, before: _one(_birth(row, before) and row["replicas"], leader_epoch=1),
    ),
    StateKind(
        "a partition is born with another leader",
        ("new_partition_state",),
        lambda row, before: _one(
            _birth(row, before) and row["replicas"] and len(row["isr"]) > 1,
            leader=next((b for b in row["isr"] if b != row["leader"]), row["leader"]),
        ),
    ),
    StateKind(
        "a partition is born with a stranger in the ISR",
        ("isr_within_replicas", "new_partition_state"),
        lambda row, before: _one(_birth(row, before) and row["replicas"], isr=[*row["isr"], NOBODY_KNOWS]),
    ),
    StateKind(
        "a leader that goes offline stays in the ISR",
        ("replica_removal",),
        lambda row, before: _one(
            before and row["leader"] == -1 and before["leader"] >= 0 and len(before["isr"]) > 1,
            isr=(before or row)["isr"],
        ),
    ),
    StateKind(
        "the last member leaves",
        ("replica_removal",),
        lambda row, before: _one(before and row["leader"] == -1 and len((before or row)["isr"]) == 1, isr=[]),
    ),
    StateKind(
        "a dead broker leads",
        ("elected_leader_online",),
        lambda row, before: _one(
            before and row["leader"] >= 0 and row["leader"] != before["leader"] and row["certainly_online"] is not None,
            certainly_online=[b for b in row["certainly_online"] or () if b != row["leader"]],
            possibly_online=[b for b in row["possibly_online"] or () if b != row["leader"]],
        ),
    ),
)


def state_mutants(history: Rows) -> Iterator[tuple[StateKind, Rows, int]]:
    """All wrong histories that one right one can be turned into by one edit, and where it is."""
    for at, row in enumerate(history):
        before = history[at - 1] if at else None
        for kind in STATES:
            for fields in kind.edits(row, before):
                yield kind, [*history[:at], {**row, **fields}, *history[at + 1 :]], at


# ---- controllers, brokers, reassignments, transitions ---------------------------------------------------------------
def claim_mutants(claims: Sequence[tuple[int, int]]) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Wrong successions of (epoch, controller), with the rule that must be violated."""
    for first, second in combinations(range(len(claims)), 2):
        epoch, controller = claims[first]
        other = [*claims[:second], (epoch, controller + 1), *claims[second + 1 :]]
        yield "one_controller_per_epoch", other
        yield "controller_epoch_grows", [*claims[:second], (epoch - 1, claims[second][1]), *claims[second + 1 :]]


def completion_mutants(row: Mapping[str, Any]) -> Iterator[Row]:
    """Completed reassignments, with `states`, of which one target replica was never in sync with the others."""
    for broker in row["target_replicas"]:
        states = [{**state, "isr": [b for b in state["isr"] if b != broker]} for state in row["states"]]
        yield {**row, "states": states}
