"""Lines of another form than the first records of their stream: an upgrade, or another appender, left them there.

A stream is read in one form. Lines behind its records that another one reads would be their further lines, without a
word; here they are looked for, in a part of the stream.
"""

from __future__ import annotations

import io

from udfs.logs.encodings import decoded, encoding_of
from udfs.logs.formats import Format, format_of, splittable
from udfs.logs.framing import OtherBytes, frames
from udfs.logs.loggers import LOGGER_NAME, is_known_logger

WINDOW = 16 << 10
"""Bytes looked at where a block begins, and at the end of the stream."""
LEAST = 2
"""So many lines are no quotation in a record's further lines."""


def later_form(window: bytes, format_: Format) -> tuple[int, Format] | None:
    """Where in a window, whose first and last line may be cut, lines begin that another form reads, and that form.

    None: there are none, or the stream is not of plain lines.
    """
    if not splittable(format_):
        return None
    begin, end = window.find(b"\n") + 1, window.rfind(b"\n") + 1
    rest = begin
    for part in frames(io.BytesIO(window[begin:end]), format_, 0, None, 1):
        if not isinstance(part, OtherBytes):
            rest = begin + int(part.offsets[-1] + part.head_sizes[-1])
    lines = window[rest:end]
    if lines.count(b"\n") < LEAST or not _names_logger(lines):
        return None
    form = format_of(lines)
    return None if form is None or form.name == format_.name else (rest, form)


def _names_logger(lines: bytes) -> bool:
    """Whether one of Kafka's loggers is named."""
    text = decoded(lines, encoding_of(lines)).decode("utf-8", "replace")
    return any(is_known_logger(match[0]) for match in LOGGER_NAME.finditer(text))
