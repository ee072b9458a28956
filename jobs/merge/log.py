"""One log that a merge reads: its layout, its node, its bytes, and how much of it was read."""

from __future__ import annotations

import io
import os
import re
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, BinaryIO, cast

from udfs.logs.holes import hole_size
from udfs.logs.years import western_year
from udfs.rules.regex import late

if TYPE_CHECKING:
    from udfs.logs.formats import Format
    from udfs.logs.layouts import Layout
    from udfs.merge.block import ReadTotals

SAMPLE_BYTES = 256 << 10
"""Read of each log to see what it is."""

_GLANCE_BYTES = 16 << 10  # of the sample, enough where the first lines are of the usual layout
_LEAST_WIDTH = 40
_KEPT_BYTES = 4 << 10  # of the sample, to compare logs by
_TAIL_BYTES = 256 << 10
_COUNTED_AT_ONCE = 1 << 20

PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"PK", b"7z\xbc\xaf", b"Rar!", b"\x04\x22\x4d\x18")
"""How compressed files, archives and bundles begin."""

_USUAL = late(
    rb"^(?:\xef\xbb\xbf)?\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] +[A-Z]+ +[^\n]* \([\w.$-]+\)\r?$", re.MULTILINE
)
_STAMPED = late(rb"^[^a-zA-Z\n]{0,8}\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d", re.MULTILINE)
_OTHER = late(
    rb"^\{|^\S+ +\| |^(?:\| )?(?:baseOffset|offset|payload|key): |\x1b|^[^\n]{1,200}(?:stdout|stderr) [FP] "
    rb"|^[^\[\n]{1,200}\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d|\0|^(?:INFO|WARN|ERROR) |^\[[\w$-]+\.[\w.$-]+\] +[A-Z]"
    rb"|^\[\d{4}-[^\]\n]*\] +[A-Z]+ +\[[^\]\n=]*\] \[",
    re.MULTILINE,
)
_YEAR = late(rb"^\[(\d{4})-\d\d-\d\d ", re.MULTILINE)
_SELF_NAMED = late(
    rb"\[(?:Controller|Broker|QuorumController|Kafka ?Server|BrokerServer|ControllerServer) id=(\d{1,9})[\] ]"
)


def _nothing_read() -> ReadTotals:
    from udfs.merge.block import ReadTotals

    return ReadTotals()


@dataclass(eq=False)
class Log:
    """One stream of records."""

    name: str  # what users see
    path: str
    is_plain: bool  # bytes on disk as they are
    is_inside: bool  # a member of a bundle
    sample: bytes  # of all that was looked at, the begin
    size: int = 0  # of a plain one
    identity: tuple[int, int] | None = None  # of a plain one, so that another of its name is not taken for it
    held: int | None = None  # descriptor of a plain one that stays open, whatever becomes of its name
    is_usual: bool = False
    format: Format | None = None  # None: the usual one, or no log
    has_ids: bool = False  # whether topics have ids
    is_binary: bool = False
    unread: str | None = None  # why it is no log although it names Kafka's loggers
    node: int | None = None
    totals: ReadTotals = field(default_factory=_nothing_read)
    matched: int = 0
    passed_over: int = 0  # bytes that a window made unnecessary to look at

    def __post_init__(self) -> None:
        self.is_usual = is_usual(self.sample[:_GLANCE_BYTES])
        if self.sample and not self.is_usual:
            from udfs.logs.formats import format_of

            self.format = format_of(self.sample)
            self.is_usual = self.format is not None and self.format.name == "apache"
            if self.format is None:
                from udfs.logs.formats import why_unread

                self.unread = why_unread(self.sample)
        self.node = self._find_node()
        self.has_ids = any(word in self.sample for word in (b"topic ID", b"topic id", b"opicId"))
        self.is_binary = b"\0" in self.sample[:_KEPT_BYTES]
        self.sample = self.sample[:_KEPT_BYTES]  # there may be many logs

    @property
    def is_log(self) -> bool:
        """Whether records are in it."""
        return self.is_usual or self.format is not None

    @property
    def has_plain_stamps(self) -> bool:
        """Whether times can be looked up by texts of stamps on disk; not where they have another calendar's years."""
        year = _YEAR.search(self.sample)
        return self.is_usual and self.is_plain and (year is None or western_year(int(year[1])) == int(year[1]))

    @property
    def layout(self) -> Layout | None:
        """Its layout, None for the usual one."""
        return None if self.is_usual or self.format is None else self.format.layout

    def _find_node(self) -> int | None:
        """The node that most of the first records name as their writer, else the path; None: not known."""
        text = self.sample[: 1 << 16]
        if b"\0" in text[:64]:
            text = text.replace(b"\0", b"")  # UTF-16
        if nodes := _SELF_NAMED.findall(text):
            return int(max(sorted(set(nodes)), key=nodes.count))
        from udfs.logs.paths import node_of_path

        return node_of_path(self.name)

    def open(self) -> BinaryIO:
        """The bytes from the begin; not of a member of a bundle. Raises OSError, also if the file was replaced."""
        if self.held is not None:
            return cast(BinaryIO, _HeldFile(self.held))
        if self.is_plain:
            file = open(self.path, "rb", buffering=0)  # noqa: SIM115  # whoever asked closes it
            if self.identity != identity_of(file):
                file.close()
                raise OSError("it was replaced while it was read")
            return cast(BinaryIO, file)
        from udfs.logs.paths import Source
        from udfs.logs.sources import open_source

        return open_source(Source(self.path))

    def forget(self) -> None:
        """Begin to count anew."""
        self.totals, self.matched = _nothing_read(), 0

    def tail_begin(self) -> int:
        """Where one of the last records of a plain file starts; 0 if the file is small."""
        from udfs.merge.usual_layout import starts_from

        if self.size <= 2 * _TAIL_BYTES or not self.is_usual:
            return 0
        with self.open() as file:
            start, _ = next(starts_from(file, self.size - _TAIL_BYTES, self.size), (0, b""))
        return start

    def count_lines(self, begin: int, end: int) -> int:
        """Line ends in a part of a plain file."""
        count = 0
        with self.open() as file:
            file.seek(begin)
            while begin < end and (data := file.read(min(_COUNTED_AT_ONCE, end - begin))):
                count += data.count(b"\n")
                begin += len(data)
        return count

    def summary(self) -> str:
        """What was read of it, in a line."""
        from udfs.merge.times import as_text

        totals = self.totals
        layout = "apache" if self.is_usual else "no log" if self.format is None else self.format.name
        node = "node unknown" if self.node is None else f"node {self.node}"
        span = ""
        if totals.first is not None and totals.last is not None:
            span = f" from {as_text(totals.first)} to {as_text(totals.last)} UTC"
        return (
            f"{self.name}: {layout}, {node}, {counted(totals.records, 'record')} read{span}, {self.matched:,} matched, "
            f"{counted(totals.unframed_bytes, 'byte')} outside records"
        )


def identity_of(file: IO[bytes] | io.RawIOBase) -> tuple[int, int]:
    """Device and inode of an open file."""
    about = os.fstat(file.fileno())
    return about.st_dev, about.st_ino


def first_look(stream: IO[bytes] | BinaryIO) -> tuple[int, bytes]:
    """The size of the hole that a stream begins with, and SAMPLE_BYTES behind it, fewer at its end."""
    hole, sample = 0, stream.read(SAMPLE_BYTES)
    while sample and not sample.strip(b"\0"):
        hole, sample = hole + len(sample), stream.read(SAMPLE_BYTES)
    if not sample:  # nothing is behind
        kept = min(hole, SAMPLE_BYTES)
        return hole - kept, bytes(kept)
    more = hole_size(sample)
    return hole + more, sample[more:] + (stream.read(more) if more else b"")


class _HeldFile(io.RawIOBase):
    """A file that stays open, to be read from its begin; as many at once as one likes. Closing it closes nothing."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._at = descriptor, 0

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """As many bytes as `buffer` takes; fewer at the end."""
        count = os.preadv(self._descriptor, [buffer], self._at)
        self._at += count
        return count

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a byte, counted from the begin."""
        self._at = offset
        return offset


def is_usual(sample: bytes) -> bool:
    """Whether a glance is enough: most first lines are whole ones of the usual layout, and no line is another's.

    Not so does not mean that it is another; but looking at all layouts takes longer than a small merge.
    """
    sample = sample[: sample.rfind(b"\n") + 1] or sample
    usual = sum(1 for _ in _USUAL.finditer(sample))
    stamps = [m[0].lstrip(b"\xef\xbb\xbf") for m in _STAMPED.finditer(sample)]
    return usual * 2 > len(stamps) and stamps[0] <= stamps[-1] and not _OTHER.search(sample) and not _is_cut(sample)


def _is_cut(sample: bytes) -> bool:
    """Whether lines may have been cut to a width: several are as long as the longest."""
    lengths = [len(line) for line in sample.split(b"\n")[:-1]]
    longest = max(lengths, default=0)
    return longest >= _LEAST_WIDTH and lengths.count(longest) * 20 >= max(len(lengths), 60)


def counted(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
