"""Which lines prove a rule about a state: the fewest that print, with its epochs, what the rule goes by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntFlag
from functools import lru_cache
from itertools import combinations
from typing import Any

Row = Mapping[str, Any]


class Fact(IntFlag):
    """What a line may print of a state; lines have a number that adds up those which it prints."""

    LEADER = 1
    LEADER_EPOCH = 2
    PARTITION_EPOCH = 4
    CONTROLLER_EPOCH = 8
    ISR = 16
    REPLICAS = 32


EPOCHS = Fact.LEADER_EPOCH | Fact.PARTITION_EPOCH
"""By these a line is known to be about one state."""
STATE = Fact.LEADER | EPOCHS | Fact.ISR
ELECTION = "election"
"""Stands for each algorithm that an election is judged by."""
GOES_BY: Mapping[str, Fact] = {
    ELECTION: STATE,
    "leader_in_isr": Fact.LEADER | Fact.ISR,
    "one_leader_per_leader_epoch": Fact.LEADER | Fact.LEADER_EPOCH,
    "partition_epoch_grows": EPOCHS,
    "epoch_increments": Fact.LEADER | EPOCHS,
    "stored_controller_epoch_never_falls": Fact.CONTROLLER_EPOCH,
    "isr_within_replicas": Fact.ISR | Fact.REPLICAS,
    "elected_leader_online": Fact.LEADER | Fact.LEADER_EPOCH,
    "isr_joiner_online": Fact.ISR,
    "clean_candidate_first": STATE,
    "unclean_leader_alone": STATE,
    "preferred_leader_elected": STATE | Fact.REPLICAS,
    "new_partition": STATE | Fact.REPLICAS,
    "new_partition_state": STATE | Fact.REPLICAS,
    "isr_change": STATE,
    "replica_removal": STATE | Fact.REPLICAS,
    "assignment_change": STATE | Fact.REPLICAS,
}
"""What each rule about states goes by, of the state itself and of the one before."""


@lru_cache(maxsize=1 << 14)
def fewest(printed: tuple[int, ...], wanted: int) -> tuple[int, ...] | None:
    """Positions of the fewest lines that together print what is wanted, each with an epoch; the first of several such
    choices, None if there is none.

    >>> fewest((Fact.LEADER | Fact.LEADER_EPOCH, Fact.ISR | Fact.PARTITION_EPOCH, STATE), Fact.LEADER | Fact.ISR)
    (2,)
    >>> fewest((Fact.LEADER | Fact.LEADER_EPOCH, Fact.ISR | Fact.PARTITION_EPOCH), Fact.LEADER | Fact.ISR)
    (0, 1)
    >>> fewest((Fact.LEADER, Fact.LEADER_EPOCH), Fact.LEADER)
    """
    useful = [at for at, facts in enumerate(printed) if facts & EPOCHS and facts & wanted]
    for count in range(1, len(useful) + 1):
        for choice in combinations(useful, count):
            if _all(printed[at] for at in choice) & wanted == wanted:
                return choice
    return None


def _all(facts: Iterable[int]) -> int:
    total = 0
    for some in facts:
        total |= some
    return total


def proof_lines(state: Row, rule: str) -> list[Row]:
    """Lines of a state's evidence that prove what a rule goes by; all of them where they do not print it.

    `printed`: of each line the facts that it prints as the state has them; null, or as many as there are lines.
    """
    lines: list[Row] = list(state["evidence"] or ())
    printed, wanted = state.get("printed"), GOES_BY.get(rule)
    if wanted is None or not printed or len(lines) < 2:
        return lines
    choice = fewest(tuple(printed), _known(state) & int(wanted))
    return lines if choice is None else [lines[at] for at in choice]


def _known(state: Row) -> int:
    """The facts that a state has."""
    return _all(number for number, column in _NUMBERS if state[column] is not None)


COLUMNS: Mapping[Fact, str] = {fact: str(fact.name).lower() for fact in Fact}
"""The column of each fact, in PARTITION_TIMELINE and in EVENTS."""
_NUMBERS = [(int(fact), column) for fact, column in COLUMNS.items()]
"""The same as plain numbers: adding flags up took a fifth of the time of judging states."""
