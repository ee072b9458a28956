"""A story in the making: sentences and steps, and the lines that they name."""

from __future__ import annotations

from typing import Any

from udfs.incidents.symptoms import Fact
from udfs.incidents.wording import at_text

Step = dict[str, Any]
MOST_LISTED = 5
"""Steps of one kind that are listed."""


class Telling:
    """Steps, sentences and their lines, as they come."""

    def __init__(self, since: int) -> None:
        self.since = since
        self.steps: list[Step] = []
        self.sentences: list[str] = []
        self.evidence: list[dict[str, Any]] = []

    def line(self, fact: Fact | None, nth: int = 0) -> str:
        """` [2]` for a fact's line, which becomes evidence; nothing where it has none."""
        lines = (fact or {}).get("evidence") or []
        if not lines:
            return ""
        line = dict(lines[min(nth, len(lines) - 1)])
        if line not in self.evidence:
            self.evidence.append(line)
        return f" [{self.evidence.index(line) + 1}]"

    def time(self, at: int) -> str:
        """A time, with its date if that is not the one on which the incident began."""
        return at_text(at, self.since)

    def step(self, at: int | None, what: str, fact: Fact | None, nth: int = 0) -> None:
        """What happened at a time, with its line."""
        if at is None:
            return
        lines = (fact or {}).get("evidence") or [{"node_id": None, "file_id": None, "line": None}]
        self.steps.append({"at": at, "what": what, **lines[min(nth, len(lines) - 1)]})

    def say(self, sentence: str) -> None:
        """One sentence, unless it is empty."""
        if sentence:
            self.sentences.append(f"{sentence[0].upper()}{sentence[1:]}.")


def partition_of(fact: Fact) -> str:
    """`orders-3`."""
    return f"{fact['topic']}-{fact['partition']}"
