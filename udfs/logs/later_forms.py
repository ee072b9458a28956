"""Lines of another form than that in which their stream is read: an upgrade, or another appender, left them there.

A stream is read in one form. Lines that another one reads would be further lines of its records, without a word; here
they are looked for, in parts of the stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from udfs.logs.formats import DOCUMENTS, Format, format_of, has_wrapper
from udfs.logs.layouts import GLUE, LAYOUTS, Layout
from udfs.logs.loggers import LOGGER_NAME, is_known_logger
from udfs.logs.wrappers import texts_by_channel

WINDOW = 16 << 10
"""Bytes looked at where a block begins, and at the end of the stream."""
FIRST_WINDOW = 256 << 10
"""Bytes looked at where the stream begins."""
LEAST = 2
"""So many lines are no quotation in a record's further lines."""
_MOST = 100
_NOT_BY_LINES = (*DOCUMENTS, "wrapped(")


def later_form(window: bytes, format_: Format, is_begin: bool = False) -> tuple[int, Format] | None:
    """Where in a window lines begin that another form reads, and that form. The window's last line may be cut, and the
    first one, too, unless `is_begin`: it is the begin of the stream.

    None: there are none, or the stream is not of lines. Behind wrappers that write lines otherwise than they were the
    place is where the window begins.
    """
    if format_.encoding or format_.layout.batches or has_wrapper(format_, _NOT_BY_LINES):
        return None
    begin, end = 0 if is_begin else window.find(b"\n") + 1, window.rfind(b"\n") + 1
    lines = list(_unread_lines(window[begin:end], format_))
    if len(lines) < LEAST:
        return None
    form = format_of(b"".join(lines))
    inner = replace(format_, wrapper="")
    if form is None or form.name in (format_.name, inner.name):
        return None
    at = window.find(lines[0], begin)
    return (max(window.rfind(b"\n", 0, at) + 1, begin) if at >= 0 else begin), form


def _unread_lines(text: bytes, format_: Format) -> Iterator[bytes]:
    """Lines inside of the wrappers that name one of Kafka's loggers and in which no record of the layout begins."""
    layout, count = format_.layout, 0
    for parts in texts_by_channel(text, format_.wrapper).values() if format_.wrapper else ([text],):
        for line in b"".join(parts).splitlines(keepends=True):
            begins = layout.start.match(line.lstrip(GLUE)) or (layout.torn is not None and layout.torn.search(line))
            if begins and not _is_of_another(line, layout):
                continue
            match = LOGGER_NAME.search(line.decode("utf-8", "replace"))
            if match is not None and is_known_logger(match[0]):
                yield line
                count += 1
                if count == _MOST:
                    return


def _is_of_another(line: bytes, layout: Layout) -> bool:
    """Whether a line that begins as a layout's do is a whole first line of another one only."""
    return not layout.head.match(line) and any(other.head.match(line) for other in LAYOUTS)
