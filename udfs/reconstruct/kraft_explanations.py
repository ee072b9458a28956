"""What follows for one KRaft partition from lines about it and from its controller's steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class InferredState(NamedTuple):
    """A state that all histories share; `step`: index of what made it, None where they differ about that; `shown_by`:
    index of the first step at which it is there in all of them, None where it may be younger than all steps.

    Where all end without a leader and differ in how, the last has neither leader epoch nor ISR, and the highest of
    their partition epochs.
    """

    partition_epoch: int
    leader: int
    leader_epoch: int | None
    isr: list[int] | None
    replicas: list[int] | None
    step: int | None
    shown_by: int | None = None


@dataclass
class Explanation:
    """What all histories share."""

    states: dict[int, InferredState] = field(default_factory=dict)
    """By partition epoch: states that no line states in full, or that a step dates."""
    changes: dict[int, bool | None] = field(default_factory=dict)
    """Index of a broker's step -> whether it changed the partition; None: in some histories. Absent: unknown."""
