"""Line layouts: where a record starts, and its time, level, logger and message (reference: log-layouts, section 1).

A layout is data: the bytes pattern of a record's first line, with the groups `at`, `level`, `prefix`, `rest` and
`logger`. Any other line belongs to the record above it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from udfs.prefixes import SPLIT


@dataclass(frozen=True)
class Layout:
    """One layout. `time` says how `at` is written: `local` (`yyyy-MM-dd HH:mm:ss,SSS` without zone) or `epoch_ms` (UTC)."""

    name: str
    head: re.Pattern[bytes]
    time: str
    logger: str = ""  # where lines do not name one


APACHE = Layout(  # [%d] %p %m (%c)%n: Apache's and Confluent's default from 0.8 on
    "apache",
    re.compile(
        rb"^\[(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] +(?P<level>[A-Z]+) +(?P<prefix>"
        + SPLIT
        + rb")(?P<rest>[^\n]*) \((?P<logger>[\w.$-]+)\)\r?$",
        re.MULTILINE,
    ),
    "local",
)
DUMP = Layout(  # kafka-dump-log --cluster-metadata-decoder; a line of its own for each batch and each record
    "metadata_dump",
    re.compile(
        rb"^(?P<prefix>)(?P<level>)(?P<rest>(?:\| )?(?:baseOffset|offset): [^\n]*?CreateTime: (?P<at>\d+)[^\n]*?)(?P<logger>)\r?$",
        re.MULTILINE,
    ),
    "epoch_ms",
    "kafka-dump-log",
)
LAYOUTS = (APACHE, DUMP)


def layout_of(sample: bytes) -> Layout | None:
    """The layout whose records fill most of the first lines of a file; None if no line is a record's first."""
    counts = [(sum(1 for _ in layout.head.finditer(sample)), -i) for i, layout in enumerate(LAYOUTS)]
    best, i = max(counts)
    return LAYOUTS[-i] if best else None
