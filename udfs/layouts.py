"""Line layouts: where a record starts, and its time, level, logger and message (reference: log-layouts, section 1).

A layout is data: the bytes pattern of a record's first line, whose groups are the parts of a `Head`, in its order.
Any other line belongs to the record above it. A byte order mark before a first line belongs to its record.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from udfs.prefixes import SPLIT

Head = tuple[bytes, bytes, bytes, bytes, bytes, bytes]
"""What a first line says: `at`, `level`, `message`, `prefix`, `word`, `logger`.

The message begins with what may be a prefix; `word` is the first word behind it. A part that a layout lacks is empty.
"""

HEAD = ("at", "level", "message", "prefix", "word", "logger")


@dataclass(frozen=True)
class Layout:
    """One layout. `time` says how `at` is written: `local`, `yyyy-MM-dd HH:mm:ss,SSS` without zone, or `epoch_ms`."""

    name: str
    head: re.Pattern[bytes]
    time: str
    logger: str = ""  # where lines do not name one


APACHE = Layout(  # [%d] %p %m (%c)%n: Apache's and Confluent's default from 0.8 on
    "apache",
    re.compile(
        rb"^(?:\xef\xbb\xbf)?\[(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] +(?P<level>[A-Z]+) +"
        rb"(?P<message>(?P<prefix>" + SPLIT + rb")(?P<word>[^ \n]*+)[^\n]*) \((?P<logger>[\w.$-]+)\)\r?$",
        re.MULTILINE,
    ),
    "local",
)
DUMP = Layout(  # kafka-dump-log --cluster-metadata-decoder; a line of its own for each batch and each record
    "metadata_dump",
    re.compile(
        rb"^(?:\xef\xbb\xbf)?(?=(?:\| )?(?:baseOffset|offset): [^\n]*?CreateTime: (?P<at>\d+))(?P<level>)"
        rb"(?P<message>(?P<prefix>)(?P<word>[^ \n]*+)[^\n]*?)(?P<logger>)\r?$",
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
