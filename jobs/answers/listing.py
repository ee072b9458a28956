"""An answer that is a list: a sentence that sums it up, lines in columns, and what the logs do not tell."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from jobs.answers.story import wrapped
from jobs.read.output import write_text
from udfs.describe.snapshot import iso
from udfs.printable import printable


@dataclass(frozen=True)
class Listing:
    """What a command found out."""

    cluster: str
    sentence: str
    lines: Sequence[str] = ()
    """For people, below the sentence."""
    unknown: Sequence[str] = ()
    """What the logs do not tell, a sentence each."""
    data: dict[str, Any] = field(default_factory=dict)
    """For programs."""


def print_answer(answer: Listing, form: str) -> None:
    """Print an answer as text or JSON."""
    if form == "json":
        whole = {"cluster": answer.cluster, "answer": answer.sentence, **answer.data, "cannot_be_told": answer.unknown}
        write_text([f"{json.dumps(whole, indent=2, default=as_json)}\n"], None)
        return
    width = min(shutil.get_terminal_size((80, 24)).columns, 110) - 2
    lines = wrapped(answer.sentence, width)
    if answer.lines:
        lines += ["", *map(printable, answer.lines)]
    if answer.unknown:
        lines += ["", "Cannot be told from these logs:"]
        for sentence in answer.unknown:
            first, *rest = wrapped(sentence, width - 4)
            lines += [f"  - {first}", *(f"    {text}" for text in rest)]
    write_text(["\n".join(lines) + "\n"], None)


def as_json(value: object) -> object:
    """Times as exports have them."""
    return iso(value) if isinstance(value, datetime) else str(value)


def in_columns(head: Sequence[str], rows: Iterable[Sequence[object]], numbers: Iterable[int] = ()) -> list[str]:
    """Rows below their headings, columns aligned; those of some numbers to the right.

    >>> in_columns(["broker", "lost"], [[1, 12], [12, 3]], numbers=[1])
    ['broker  lost', '1         12', '12         3']
    """
    cells = [list(head), *([printable(str(value)) for value in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    right = {*numbers}

    def text(row: Sequence[str]) -> str:
        padded = (
            f"{value:>{width}}" if column in right else f"{value:<{width}}"
            for column, (value, width) in enumerate(zip(row, widths, strict=True))
        )
        return "  ".join(padded).rstrip()

    return [text(row) for row in cells]
