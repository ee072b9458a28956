"""What the lines of a log template have in common."""

from __future__ import annotations

from dataclasses import dataclass

from udfs.arrow.captures import Capture, CaptureSpan


@dataclass(frozen=True, slots=True)
class LogTemplate:
    """What is the same in all lines that differ in their digits only."""

    rule: int | None  # index in RULES; None: no rule matches
    is_drifted: bool  # whether a later release than the rule's prints it, see `udfs.rules.drift`
    is_wholly_scoped: bool  # whether each record of the logger must match a rule
    level: bytes
    logger: bytes  # empty if there is none: the line is torn or cut off
    at: CaptureSpan
    prefix: CaptureSpan  # empty if the message has no known prefix
    message: CaptureSpan
    captures: tuple[Capture, ...]  # of columns
    fields: tuple[Capture, ...]  # of `fields`, by name
