"""A record without names of topics, hosts, principals and clients, as a line of the usual layout.

Of a record that no rule reads only time, level and logger stay; of a stack trace only Kafka's, Java's and Scala's code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from udfs.merge.record import Record
from udfs.merge.redacted_text import CODE, PLACEHOLDER, redacted_message
from udfs.merge.times import as_text
from udfs.redaction import pseudonym
from udfs.rules.logger_scopes import WHOLE_LOGGERS
from udfs.rules.regex import late

if TYPE_CHECKING:
    from udfs.logs.layouts import Layout

_CLASS = rf"{CODE}[A-Z][\w$]*"
_LOGGER = late(_CLASS)
_PLAIN_LOGGERS = {
    *(name for name in WHOLE_LOGGERS if name[-1] not in ".$"), "kafka.Kafka$", "kafka.authorizer.logger",
    "kafka.request.logger",
}  # fmt: skip
_NO_LOGGER = "redacted"
_LEVELS = {"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"}
_FRAME = late(
    rf"\s*at (?P<code>(?:java\.\w+/|app//)?{_CLASS}\.[\w$<>]+"
    r"\((?:[A-Z][\w$]*\.(?:java|scala)(?::\d+)?|Native Method|Unknown Source)\))(?: .*)?"
)
_THROWN = late(rf"(?P<thrown>\s*(?:Caused by: |Suppressed: )?{_CLASS}(?:Exception|Error|Failure))(?P<text>: .*|:)?")
_MORE = late(r"\s*\.\.\. \d+ (?:more|common frames omitted)")


class RecordRedaction:
    """Replaces the names in records by pseudonyms of one key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def file(self, name: str) -> str:
        """What the name of a log becomes: folders are often called like hosts."""
        return pseudonym(self._key, "f", name)

    def record(self, record: Record, at: int) -> Record:
        """The record without names, its writer known. `at`: its time, microseconds as they are to be printed."""
        message = redacted_message(self._key, record.logger, record.message)
        detail = b"".join(line.encode() + b"\n" for line in _redacted_lines(record.detail))
        if message is not None and _is_dump(record.layout):
            return Record(message + b"\n" + detail, record.layout, record.writer)
        time = b"" if _is_dump(record.layout) else record.head[0]
        level = record.level + " " if record.level in _LEVELS else ""
        head = f"[{time.decode('ascii') or as_text(at)}] {level}".encode()
        logger = f" ({redacted_logger(record.logger)})\n".encode()
        return Record(head + (PLACEHOLDER if message is None else message) + logger + detail, None, record.writer)


def _is_dump(layout: Layout | None) -> bool:
    """Whether a record's line has neither level nor logger, and its time in its message."""
    return layout is not None and layout.time == "epoch_ms"


def redacted_logger(logger: str) -> str:
    """The logger if it is code of Kafka or of a library; what a line ends in may be anything."""
    return logger if logger in _PLAIN_LOGGERS or _LOGGER.fullmatch(logger) else _NO_LOGGER


def _redacted_lines(detail: bytes) -> Iterator[str]:
    """Further lines of a record, those that go in one."""
    is_redacted = False
    for line in detail.decode("utf-8", "backslashreplace").splitlines():
        redacted = _redacted_line(line)
        if redacted != PLACEHOLDER.decode() or not is_redacted:
            yield redacted
        is_redacted = redacted == PLACEHOLDER.decode()


def _redacted_line(line: str) -> str:
    """A frame without the file that its code is in, what was thrown without its text, else nothing."""
    if frame := _FRAME.fullmatch(line):
        return f"\tat {frame['code']}"
    if thrown := _THROWN.fullmatch(line):
        return thrown["thrown"] + (f": {PLACEHOLDER.decode()}" if thrown["text"] else "")
    return line if _MORE.fullmatch(line) else PLACEHOLDER.decode()
