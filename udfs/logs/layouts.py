"""Line layouts: where a record starts, and its time, level, logger and message.

A layout is data: how its first lines begin, which parts they have, and a sample. Any other line belongs to the record
above it. Where a record starts shows at its start, whatever became of its end: time stamp and level are enough.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache

from udfs.logs.levels import full_level
from udfs.logs.loggers import full_logger
from udfs.rules.prefixes import SPLIT
from udfs.rules.regex import late

Head = tuple[bytes, bytes, bytes, bytes, bytes, bytes]
"""The parts of a first line: `at`, `level`, `message`, `prefix`, `word`, `logger`.

The message begins with what may be a prefix; `word` is the first word behind it. A part that a layout lacks is empty.
"""

HEAD = ("at", "level", "message", "prefix", "word", "logger")

GLUE = b"\0\xef\xbb\xbf"
"""Bytes right before a start that belong to its record: holes of zero bytes, a byte order mark.

They are recognised one by one, so that the start is the same wherever reading was cut.
"""

REACH = 72
"""A start shows within that many bytes."""

_REST = rb"-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,:]\d{1,9})?(?: ?(?:Z|[+-]\d\d:?\d\d))?"
_STAMP = rb"\d{4}" + _REST
_AT = rb"(?P<at>" + _STAMP + rb")"
_LEVEL = rb"(?P<level>[A-Z]+)"
_KNOWN = rb"(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)"
_GLUE = rb"[\0\xef\xbb\xbf]*+"
_TEXT = rb"(?P<message>(?P<prefix>" + SPLIT + rb")(?P<word>[^ \r\n]*+)[^\n]*)"
_LOGGER = rb"\((?P<logger>[\w.$-]+)(?::\d+)?\)"
_CLOSED = rb"\0*\r*$"  # behind a bracket; text that was carried between systems twice may end in several
_END = rb"(?<![\r\0])" + _CLOSED


@dataclass(frozen=True)
class Layout:
    """One layout.

    `start` matches where a record may start at the begin of a line, `torn` where one starts although its line began
    otherwise, for two writers tore each other's lines. So that few places need be looked at, `first` has the bytes
    that `start` may begin with, `usual` is a template of what nearly always stands there and `opening` one of the
    first eight bytes of what `torn` matches; in a template `0` is any digit and `A` any capital letter.

    `head` matches a whole first line, `bare` one without its logger, which then ends the record's last line. `time`
    says how `at` is written: `local`, a stamp with or without zone, `epoch_ms`, or `none`.
    """

    name: str
    sample: bytes
    first: bytes
    opening: bytes
    usual: bytes
    start: re.Pattern[bytes]
    head: re.Pattern[bytes]
    bare: re.Pattern[bytes]
    torn: re.Pattern[bytes] | None = None
    time: str = "local"
    logger: str = ""  # where lines do not name one
    apart: re.Pattern[bytes] | None = None  # starts of lines that end the record above, but are none
    whole: re.Pattern[bytes] | None = None  # ends of lines that show that nothing is missing; None: the logger does
    ends_in_logger: bool = True  # or in something else behind it
    batches: bool = False  # whether a record without time has its batch's, a line further up


def _pattern(*parts: bytes) -> re.Pattern[bytes]:
    return late(b"".join(parts), re.MULTILINE)


APACHE = Layout(  # [%d] %p %m (%c)%n: Apache's and Confluent's default from 0.8 on; %c:%L where Connect writes, too
    "apache",
    b"[2024-02-29 23:59:59,999] INFO [Controller id=3] Starting (kafka.controller.KafkaController)",
    b"[",
    b"[2000-00",
    b"[0000-00-00 00:00:00,000] A",
    _pattern(rb"\[", _STAMP, rb"\] {1,5}[A-Z]"),
    _pattern(_GLUE, rb"\[", _AT, rb"\] +", _LEVEL, rb" +", _TEXT, rb" ", _LOGGER, _CLOSED),
    _pattern(_GLUE, rb"\[", _AT, rb"\] +", _LEVEL, rb" *", _TEXT, _END),
    _pattern(rb"\[", _STAMP, rb"\] {1,5}", _KNOWN, rb" "),
)
BRACKETED = Layout(  # [%d] [%-5p] [%t] [%c] - %m%n
    "bracketed",
    b"[2024-02-29 23:59:59,999] [WARN ] [kafka-request-handler-7] [state.change.logger] - [Broker id=3] Ignoring x",
    b"[",
    b"[2000-00",
    b"[0000-00-00 00:00:00,000] [A",
    _pattern(rb"\[", _STAMP, rb"\] {1,5}\[[A-Z]"),
    _pattern(
        _GLUE, rb"\[", _AT, rb"\] +\[", _LEVEL, rb" *\] \[[^\]\n]*\] \[(?P<logger>[\w.$-]+)(?::\d+)?\] +- ", _TEXT, _END
    ),
    _pattern(_GLUE, rb"\[", _AT, rb"\] +\[", _LEVEL, rb"? *\]? *", _TEXT, _END),
    _pattern(rb"\[", _STAMP, rb"\] {1,5}\[", _KNOWN, rb" *\] "),
    ends_in_logger=False,
)
_DIGITS = b"0123456789"
_OPEN_LEVEL = rb"(?P<level>" + _KNOWN + rb"(?![A-Z])|[A-Z]++(?! +" + _KNOWN + rb" ))"  # not a zone before the level
_OPEN = _pattern(_STAMP, rb" {1,5}[A-Z]")
_OPEN_TORN = _pattern(rb"2\d{3}", _REST, rb" {1,5}", _KNOWN, rb" ")
_OPEN_BARE = _pattern(_GLUE, _AT, rb" +", _OPEN_LEVEL, rb" *", _TEXT, _END)
CLOUDERA = Layout(  # %d{ISO8601} %p %c: %m%n
    "cloudera",
    b"2024-02-29 23:59:59,999 INFO kafka.controller.KafkaController: [Controller 3]: Broker 3 resigned as the leader",
    _DIGITS,
    b"2000-00-",
    b"0000-00-00 00:00:00,000 A",
    _OPEN,
    _pattern(_GLUE, _AT, rb" +", _OPEN_LEVEL, rb" +(?P<logger>[\w$-]+\.[\w.$-]*[\w$]): ", _TEXT, _END),
    _OPEN_BARE,
    _OPEN_TORN,
    ends_in_logger=False,
)
CONSOLE = Layout(  # %d{yyyy-MM-dd HH:mm:ss} %p %m (%c)%n
    "console",
    b"2024-02-29 23:59:59 TRACE [Controller id=3] Leader imbalance ratio for broker 3 is 0.0 "
    b"(kafka.controller.KafkaController)",
    _DIGITS,
    b"2000-00-",
    b"0000-00-00 00:00:00 A",
    _OPEN,
    _pattern(_GLUE, _AT, rb" +", _OPEN_LEVEL, rb" +", _TEXT, rb" ", _LOGGER, _CLOSED),
    _OPEN_BARE,
    _OPEN_TORN,
)
STRIMZI = Layout(  # %d{ISO8601} %p %m (%c) [%t]%n: Strimzi's up to 3.x
    "strimzi",
    b"2024-02-29 23:59:59,999 INFO [Controller id=3] Starting (kafka.controller.KafkaController) "
    b"[controller-event-thread]",
    _DIGITS,
    b"2000-00-",
    b"0000-00-00 00:00:00,000 A",
    _OPEN,
    _pattern(_GLUE, _AT, rb" +", _OPEN_LEVEL, rb" +", _TEXT, rb" ", _LOGGER, rb" \[[^\]\n]*\]", _CLOSED),
    _OPEN_BARE,
    _OPEN_TORN,
)
STRIMZI_4 = Layout(  # %d{yyyy-MM-dd HH:mm:ss} %-5p [%t] %c{1}:%L - %m%n: Strimzi's from 4.1 on
    "strimzi_4",
    b"2024-02-29 23:59:59 INFO [quorum-controller-3-event-handler] ReplicationControlManager:450 - "
    b"[QuorumController id=3] Replayed TopicRecord for topic a with topic ID dGVzdHRlc3R0ZXN0dGVzdA.",
    _DIGITS,
    b"2000-00-",
    b"0000-00-00 00:00:00 A",
    _OPEN,
    _pattern(_GLUE, _AT, rb" +", _OPEN_LEVEL, rb" +\[[^\]\n]*\] (?P<logger>[\w.$-]+):[\d?]+ - ", _TEXT, _END),
    _OPEN_BARE,
    _OPEN_TORN,
    ends_in_logger=False,
)
SPRING = Layout(  # Spring Boot's console default
    "spring",
    b"2024-02-29T23:59:59.999Z  INFO 2433 --- [0-event-handler] o.a.k.c.ReplicationControlManager        : "
    b"[QuorumController id=3] Replayed TopicRecord for topic a with topic ID dGVzdHRlc3R0ZXN0dGVzdA.",
    _DIGITS,
    b"2000-00-",
    b"0000-00-00T00:00:00.000Z  A",
    _OPEN,
    _pattern(
        _GLUE, _AT, rb" +", _OPEN_LEVEL, rb" +\d+ --- (?:\[[^\]\n]*\] )+(?P<logger>[\w.$\[\]/-]+) *: ", _TEXT, _END
    ),
    _OPEN_BARE,
    _OPEN_TORN,
    ends_in_logger=False,
)
LOGGER_FIRST = Layout(  # [%c] %p %m (%c)%n
    "logger_first",
    b"[kafka.cluster.Partition] INFO [Partition a-0 broker=3] Expanding ISR from 1,2 to 1,2,3 "
    b"(kafka.cluster.Partition)",
    b"[",
    b"",
    b"",
    _pattern(rb"\[[\w$-]+\.[\w.$-]+\] {1,5}", _KNOWN, rb" "),
    _pattern(
        _GLUE, rb"(?P<at>)\[(?P<logger>[\w$-]+\.[\w.$-]+)\] +", _LEVEL, rb" +", _TEXT, rb" \((?P=logger)\)", _CLOSED
    ),
    _pattern(_GLUE, rb"(?P<at>)\[(?P<logger>[\w$-]+\.[\w.$-]+)\] +", _LEVEL, rb" +", _TEXT, _END),
    time="none",
)
UNTIMED = Layout(  # %p %c: %m%n: Cloudera's with the first column cut off
    "untimed",
    b"ERROR kafka.server.LogDirFailureChannel: Error while writing to checkpoint file /data/a",
    b"TDIWEF",
    b"",
    b"",
    _pattern(_KNOWN, rb" [\w$-]{1,30}\."),
    _pattern(_GLUE, rb"(?P<at>)", _LEVEL, rb" (?P<logger>[\w$-]+\.[\w.$-]*[\w$]): ", _TEXT, _END),
    _pattern(_GLUE, rb"(?P<at>)", _LEVEL, rb" ", _TEXT, _END),
    time="none",
    ends_in_logger=False,
)
_BATCH = rb"(?:baseOffset|offset): "
_TIME = rb"(?:CreateTime|LogAppendTime): (?P<at>\d+)"
_DUMPED = rb"(?P<message>(?P<prefix>)(?P<word>[^ \r\n]*+)[^\n]*)(?P<logger>)"
_HEADERS = (
    rb"Dumping |Log starting offset: |Snapshot end offset: |Starting offset: |KRaft bootstrap snapshot\r?$"
    rb"|Found \d+ invalid bytes at the end of "
)
_DUMP_APART = _pattern(_HEADERS)
_DUMP_WHOLE = _pattern(rb"(?:[}\]]|isvalid: (?:true|false))\r?$")
DUMP = Layout(  # kafka-dump-log --cluster-metadata-decoder; a line of its own for each batch and each record
    "metadata_dump",
    b"| offset: 1 CreateTime: 1709251199999 keySize: -1 valueSize: 4 sequence: -1 headerKeys: [] payload: {}",
    b"|boDLSKF",
    b"",
    b"",
    _pattern(rb"(?:\| )?", _BATCH, rb"|", _HEADERS),
    _pattern(_GLUE, rb"(?=(?:\| )?", _BATCH, rb"[^\n]*?", _TIME, rb")(?P<level>)", _DUMPED, _END),
    _pattern(_GLUE, rb"(?P<at>)(?P<level>)", _DUMPED, _END),
    time="epoch_ms",
    logger="kafka-dump-log",
    apart=_DUMP_APART,
    whole=_DUMP_WHOLE,
)
BARE_DUMP = Layout(  # the same with --skip-record-metadata: records have their batch's time
    "bare_metadata_dump",
    b' payload: {"type":"NO_OP_RECORD","version":0,"data":{}}',
    b"| boDLSKF",
    b"",
    b"",
    _pattern(rb"(?:\| )?", _BATCH, rb"|(?:\|| |\| )(?:key|payload): |", _HEADERS),
    _pattern(
        _GLUE,
        rb"(?=(?:\| )?",
        _BATCH,
        rb"[^\n]*?",
        _TIME,
        rb"|(?:\|| |\| )(?:key|payload): )(?P<level>)",
        _DUMPED,
        _END,
    ),
    DUMP.bare,
    time="epoch_ms",
    logger="kafka-dump-log",
    apart=_DUMP_APART,
    whole=_DUMP_WHOLE,
    batches=True,
)
LAYOUTS = (
    APACHE,
    DUMP,
    BARE_DUMP,
    BRACKETED,
    CLOUDERA,
    STRIMZI,
    CONSOLE,
    STRIMZI_4,
    SPRING,
    LOGGER_FIRST,
    UNTIMED,
)


def read_head(layout: Layout, data: bytes, start: int, head_end: int, end: int) -> Head:
    """The parts of the record at [start, end) of `data`, whose first line ends at `head_end`.

    A logger that does not end the first line is looked for at the end of the last one.
    """
    m = layout.head.match(data, start, head_end)
    if m is None:
        m = layout.bare.match(data, start, head_end)
        if m is None:
            return (b"", b"", data[start:head_end].lstrip(GLUE).rstrip(b"\r\n"), b"", b"", b"")
        parts = m.groupdict(b"")
        parts["level"] = full_level(parts.get("level", b""))
        if not layout.logger and "logger" not in parts:
            parts["logger"] = full_logger(_last_logger(data, head_end, end), parts["message"])
        return tuple(parts.get(name, b"") for name in HEAD)  # type: ignore[return-value]  # six, as HEAD has
    at, level, message, prefix, word, logger = m.group(*_order(layout.head))
    return at or b"", full_level(level), message, prefix, word, full_logger(logger, message)


@lru_cache(maxsize=64)
def _order(pattern: re.Pattern[bytes]) -> tuple[int, ...]:
    return tuple(pattern.groupindex[name] for name in HEAD)


_LAST_LOGGER = late(rb"(?:^|.* )" + _LOGGER + rb"(?: \[[^\]\n]*\])?", re.DOTALL)


def _last_logger(data: bytes, head_end: int, end: int) -> bytes:
    """The logger that ends the last line of a record of several."""
    lines = data[max(head_end, end - 4096) : end].rstrip(b"\r\n\0 ")
    m = _LAST_LOGGER.fullmatch(lines[lines.rfind(b"\n") + 1 :])
    return m["logger"] if m else b""


_COUNTED_TIME = late(rb"\w+: (\d+)")


def last_time(data: bytes) -> bytes:
    """The time of the last batch of a dump; empty if there is none."""
    at = max(data.rfind(b"CreateTime: "), data.rfind(b"LogAppendTime: "))
    m = _COUNTED_TIME.match(data, max(at, 0))
    return m[1] if m else b""


def count_heads(sample: bytes) -> tuple[int, Layout | None]:
    """How many lines are whole first lines of the layout that has most of them, and that layout; None if none is."""
    return _most(_heads, sample)


def count_starts(sample: bytes) -> tuple[int, Layout | None]:
    """How many records of the layout that has most of them start, whole first lines or not, and that layout."""
    return _most(_starts, sample)


def layout_of(sample: bytes) -> Layout | None:
    """The layout whose records fill most of the first lines of a file; None if no line is a record's first."""
    return count_heads(sample)[1] or count_starts(sample)[1]


def _most(count: Callable[[Layout, bytes], int], sample: bytes) -> tuple[int, Layout | None]:
    best, i = max((count(layout, sample), -i) for i, layout in enumerate(LAYOUTS))
    return (best, LAYOUTS[-i]) if best else (0, None)


def _heads(layout: Layout, sample: bytes) -> int:
    return sum(1 for _ in _at_line_begin(layout.head).finditer(sample))


@cache
def _at_line_begin(pattern: re.Pattern[bytes]) -> re.Pattern[bytes]:
    return re.compile(b"^" + pattern.pattern, re.MULTILINE)


def _starts(layout: Layout, sample: bytes) -> int:
    """Lines that begin as a record does; if they are a good part of all, also those in which one begins later."""
    begins = [m.end() for m in re.finditer(rb"^[\0\xef\xbb\xbf]*+", sample, re.MULTILINE)]
    starts = {begin for begin in begins if layout.start.match(sample, begin)}
    torn = {m.start() for m in layout.torn.finditer(sample)} if layout.torn else set()
    return len(starts | torn) if 4 * len(torn) >= len(begins) else len(starts)
