"""Log streams surveyed in one pass, and recognised by their content.

What the survey's hash recognises: the same bytes under another name, compressed, or in a bundle; and a stream that has
grown, also from the middle of a record or from a copy that was cut short. What it does not: a shorter copy that comes
after the longer one, excerpts whose begin is missing, and a file that `copytruncate` has begun anew: those are streams
of their own, and records that they share with others are found by comparing records (`jobs.ingest.overlaps`).
"""

from __future__ import annotations

import hashlib
import io
import os
import platform
import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from udfs.errors import BadInput
from udfs.logs.byte_streams import damage_of
from udfs.logs.dst import AmbiguousTimeFinder, passes_in_stream
from udfs.logs.formats import Format, format_of, is_complete, is_example, splittable, why_unread
from udfs.logs.framing import OtherBytes, frames
from udfs.logs.holes import hole_size
from udfs.logs.later_forms import FIRST_WINDOW, WINDOW, later_form
from udfs.logs.limits import LIMITS, Limits
from udfs.logs.paths import Source, node_of_path
from udfs.logs.sources import Opened, Refusal, walk_bundle
from udfs.logs.stores import is_url
from udfs.logs.timestamps import ClockChanges
from udfs.rules.prefixes import read_prefix

SEGMENT = 32 << 20
"""Bytes of a range that one task reads; a multiple of the bytes read at once."""
READ_BYTES = 1 << 20
_SAMPLE = 256 << 10
_LINE = 256 << 10  # of a longer unfinished line only the begin and the end are kept
_LEVEL = re.compile(  # what a record's first line has, in UTF-8 or UTF-16
    b"|".join(
        b"\\0?".join(re.findall(b".", word)) for word in (b"INFO", b"WARN", b"ERR", b"TRACE", b"DEBUG", b"CreateTime")
    )
)
_WINDOW = 64 << 10  # bytes looked at where a block has a level for the first time, and at its end
_PATIENCE = 64 << 20  # bytes of a stream in which each block is looked at; after that one in 16
ZoneOf = Callable[[int | None, str], str]
"""The time zone of a stream by the node that wrote it (None: unknown) and its name."""
KnownStreams = Mapping[int, Mapping[str, str]]
"""length -> digest -> file_id of the streams seen before."""


@dataclass(frozen=True)
class Survey:
    """The result of one pass over a stream: all that a plan needs, and how the stream is recognised.

    `status` is `ok`, `no_records` (no line of it is a record's first), `truncated` (what stands before the damage is
    read, `error` names it) or `refused` (nothing is read, `error` is the reason). An empty stream has no records.
    """

    source: Source
    size: int = 0  # decompressed bytes that can be read
    digest: str = ""  # hash of all of them
    known_as: str | None = None  # file_id of the longest stream seen before that is a prefix of this one
    known_size: int = 0  # its length
    format: str | None = None  # name
    splittable: bool = False  # ranges of it can be read by themselves
    line_counts: tuple[int, ...] = ()  # line ends before each SEGMENT
    checks: tuple[int, ...] = ()  # CRC-32 of each SEGMENT
    held_back: int = 0  # bytes of an unterminated last line that is no whole record
    node: int | None = None  # that most of the first records name, else the path
    zone: str = "UTC"
    clock_changes: ClockChanges = ()  # from which byte on a repeated local time is of which pass
    has_repeats: bool = False  # there are repeated local times, so that later records may tell of which pass they are
    direct: bool = True  # can be read without what stands before it in its bundle
    seekable: bool = False  # bytes on disk as they are: a range is read without what stands before it in the stream
    before: int = 0  # decompressed bytes of the file's streams that stand before this one
    inode: int = 0  # `identity_on_disk` of the file, to find it again when it is renamed before it is read
    status: str = "ok"
    error: str | None = None  # one sentence
    doubt: str | None = None  # one sentence about what is in it, and not read


def utc(node: int | None, name: str) -> str:
    """Every stream's zone unless conf sets another."""
    return "UTC"


def survey(path: str, known: KnownStreams, zone_of: ZoneOf = utc, limits: Limits = LIMITS) -> Iterator[Survey]:
    """Read a file once: one survey for itself or, if it is a bundle, for each member and each refusal, in its order.

    Never raises for what is in the file.
    """
    before = 0
    for opened in walk_bundle(path, None, limits):
        if isinstance(opened, Refusal):
            yield Survey(opened.source, status="refused", error=opened.sentence)
        else:
            surveyed = _survey(opened, known, zone_of, before)
            before += surveyed.size
            yield surveyed


def begins_as_log(path: str, limits: Limits = LIMITS) -> bool:
    """Whether records begin in the first READ_BYTES of a file or of a member of the bundle that it is.

    If not, they may still come later. Never raises for what is in the file.
    """
    for opened in walk_bundle(path, None, limits):
        if isinstance(opened, Refusal):
            continue
        reader = _Reader(opened.source, utc)
        try:
            block = bytearray(opened.stream.read(READ_BYTES))
        except (BadInput, OSError):
            continue
        reader.feed(block, len(block))
        if reader.format is not None:
            return True
    return False


def _survey(opened: Opened, known: KnownStreams, zone_of: ZoneOf, before: int) -> Survey:
    """Read a stream once, to the size that it has now: what is written meanwhile waits for the next run."""
    source, stream = opened.source, opened.stream
    hasher, reader = _Hasher(known), _Reader(source, zone_of)
    size, lines = 0, 0
    line_counts: list[int] = []
    checks: list[int] = []
    buffer = bytearray(READ_BYTES)
    view = memoryview(buffer)
    try:
        end = stream.seek(0, io.SEEK_END) if opened.seekable else None
        if end is not None:
            stream.seek(0)
        while end is None or size < end:
            count = cast(Any, stream).readinto(view if end is None else view[: end - size])
            if not count:
                break
            block = view[:count]
            if size % SEGMENT == 0:
                line_counts.append(lines)
                checks.append(0)
            hasher.update(block)
            checks[-1] = zlib.crc32(block, checks[-1])
            reader.feed(buffer, count)
            lines += int(np.count_nonzero(np.frombuffer(block, np.uint8) == 10))
            size += count
        damage = damage_of(stream)
    except BadInput as error:
        return Survey(source, status="refused", error=str(error))
    except OSError as error:
        damage = error.strerror or str(error)
    if why := _why_refused(source, reader, size, damage):
        return Survey(source, status="refused", error=why)
    if damage:
        damage = f"This file is damaged: {source.name} ({damage}); the {size} bytes before that are read, replace it."
    return Survey(
        source,
        size,
        hasher.digest,
        hasher.known_as,
        hasher.known_size,
        reader.format.name if reader.format else None,
        opened.is_fast and (reader.format is None or splittable(reader.format)),
        tuple(line_counts),
        tuple(checks),
        reader.held_back,
        reader.node,
        reader.zone,
        reader.clock_changes,
        reader.has_repeats,
        opened.direct,
        opened.seekable,
        before,
        identity_on_disk(os.fstat(stream.fileno())) if opened.seekable and _is_on_disk(source) else 0,
        "truncated" if damage else "ok" if reader.format else "no_records",
        damage,
        reader.doubt,
    )


def _why_refused(source: Source, reader: _Reader, size: int, damage: str | None) -> str | None:
    """Why nothing of a stream is read, in a sentence; None if it is."""
    if reader.format is None and reader.unread and not damage:
        return unread_sentence(source.name, reader.unread)
    if damage and not size:
        return f"This file cannot be read: {source.name} ({damage}); replace it or leave it out."
    return None


def _is_on_disk(source: Source) -> bool:
    return not source.member and not is_url(source.path)


def identity_on_disk(status: os.stat_result) -> int:
    """What tells a file from all others of this machine, whatever it is called; another machine's mounts of the same
    folder number it otherwise, so there no file is it.
    """
    text = f"{platform.node()}\0{status.st_dev}\0{status.st_ino}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest(), "big") or 1


def unread_sentence(name: str, why: str) -> str:
    """Says of a file with Kafka's loggers that it is not read."""
    return f"This file has what Kafka logs in a form that is not read: {name} ({why}); export it as plain text or JSON."


class _Hasher:
    """Hash of a stream, and of those of its prefixes that are as long as a stream seen before."""

    def __init__(self, known: KnownStreams) -> None:
        self._known, self._lengths = known, sorted(length for length in known if length)
        self._hash, self._size = hashlib.sha256(), 0  # twice as fast as blake2b where processors know it
        self.known_as: str | None = None
        self.known_size = 0

    def update(self, block: memoryview) -> None:
        """The next bytes."""
        position = 0
        while self._lengths and self._lengths[0] <= self._size + len(block):
            length = self._lengths.pop(0)
            self._hash.update(block[position : length - self._size])
            position = length - self._size
            same = self._known[length].get(self.digest)
            if same is not None:
                self.known_as, self.known_size = same, length
        self._hash.update(block[position:])
        self._size += len(block)

    @property
    def digest(self) -> str:
        """Of the bytes so far."""
        return self._hash.copy().hexdigest()[:32]


class _Reader:
    """What the text of a stream shows: format, node, zone, clock changes, and its unfinished last line."""

    def __init__(self, source: Source, zone_of: ZoneOf) -> None:
        self._name, self._zone_of = source.name, zone_of
        self._size = 0
        self._begun = False  # a byte other than NUL has been there
        self._tail, self._tail_size = b"", 0  # behind the last line end; the middle of a long one is left out
        self._folds: AmbiguousTimeFinder | None = None
        self._last = b""  # the last WINDOW bytes
        self._later: tuple[int, Format] | None = None  # at which byte lines of another form begin
        self.format: Format | None = None
        self.unread: str | None = None  # why there is none, of what looks as if there should be one
        self.node = node_of_path(self._name)
        self.zone = zone_of(self.node, self._name)

    def feed(self, buffer: bytearray, count: int) -> None:
        """The next bytes: the first `count` of the buffer."""
        if self.format is None:
            self._look(bytes(buffer[:count]))
        if self._folds is not None:
            self._folds.feed(bytes(buffer[:count]), self._size)
        cut = _line_end(self.format, buffer, count, self._size)
        if count > WINDOW:
            size = WINDOW if self._size else min(count, FIRST_WINDOW)
            self._look_for_later(bytes(buffer[:size]), self._size)
        self._last = (self._last + bytes(buffer[max(count - WINDOW, 0) : count]))[-WINDOW:]
        self._size += count
        if cut:
            self._tail, self._tail_size = b"", 0
        self._tail_size += count - cut
        self._tail = _shortened(self._tail, bytes(memoryview(buffer)[cut:count]))

    def _look(self, block: bytes) -> None:
        """Find out the format: by the first bytes behind a hole of NULs; if they are no records, wherever some begin.

        Of a long text that is no log for a long time only parts are looked at.
        """
        if not self._begun:
            text = block[hole_size(block) :]
            self._begun = bool(text.strip(b"\0"))
            sample = text[:_SAMPLE]
            self.format = format_of(sample) if self._begun else None
            if self.format is None and self._begun:
                self.unread = why_unread(sample)
            if is_example(sample):
                return
        else:
            text = self._tail + block
        if self.format is None and (level := _LEVEL.search(text)):
            begin = text.rfind(b"\n", 0, level.start()) + 1
            windows = (text[begin : begin + _WINDOW], text[-_WINDOW:])
            if self._size < _PATIENCE or self._size // READ_BYTES % 16 == 0:
                self.format, sample = next(((f, w) for w in windows if (f := format_of(w))), (None, b""))
        if self.format is not None:
            node = _node_of(sample, self.format)
            self.node = self.node if node is None else node
            self.zone = self._zone_of(self.node, self._name)
            if self.zone != "UTC":
                self._folds = AmbiguousTimeFinder(self.zone, self.format.encoding)

    def _look_for_later(self, window: bytes, offset: int) -> None:
        """Whether lines of another form are in a part of the stream."""
        if self.format is not None and self._later is None and (later := later_form(window, self.format, not offset)):
            self._later = offset + later[0], later[1]

    @property
    def doubt(self) -> str | None:
        """See Survey."""
        self._look_for_later(self._last, self._size - len(self._last))
        if self._later is None:
            return None
        offset, form = self._later
        return f"lines from byte {offset:,} on are in another form ({form.name}), and are not read as records"

    @property
    def held_back(self) -> int:
        """Bytes of the unfinished last line, unless it is a whole record."""
        if self.format is None or not self._tail_size or is_complete(self.format, self._tail):
            return 0
        return self._tail_size

    @property
    def clock_changes(self) -> ClockChanges:
        """See Survey."""
        if self._folds is None or self.format is None:
            return ()
        return passes_in_stream(self._folds, self.format.is_newest_first)

    @property
    def has_repeats(self) -> bool:
        """See Survey."""
        return self._folds is not None and self._folds.has_repeats


def _line_end(format_: Format | None, block: bytes | bytearray, count: int, offset: int) -> int:
    """Position behind the last line end in the first `count` bytes of a block, which is at `offset` of its stream; 0 if
    there is none.
    """
    wide = {"utf-16-le": b"\n\0", "utf-16-be": b"\0\n"}.get(format_.encoding if format_ else "")
    if wide is None:
        return block.rfind(b"\n", 0, count) + 1
    at = block.rfind(wide, 0, count)
    while at >= 0 and (at + offset) % 2:
        at = block.rfind(wide, 0, at + 1)
    return at + 2 if at >= 0 else 0


def _shortened(line: bytes, more: bytes) -> bytes:
    """A line that goes on, its middle left out if it is very long."""
    if len(line) + len(more) <= 2 * _LINE:
        return line + more
    return (line + more[:_LINE])[:_LINE] + (line[-_LINE:] + more if len(more) < _LINE else more)[-_LINE:]


def _node_of(sample: bytes, format_: Format) -> int | None:
    """The node that most of the first records name; None if none does."""
    nodes: Counter[int] = Counter()
    for part in frames(io.BytesIO(sample), format_, 0, None, 1):
        if not isinstance(part, OtherBytes):
            prefixes = Counter(head[3] for head in part.heads)
            for prefix, count in prefixes.items():
                node = (read_prefix(prefix) or {}).get("node") if prefix else None
                if node is not None:
                    nodes[node] += count
    return min(nodes, key=lambda node: (-nodes[node], node)) if nodes else None


def known_streams(rows: Collection[tuple[int, str, str]]) -> dict[int, dict[str, str]]:
    """(size, digest, file id) of the streams seen before, as `survey` wants them."""
    known: dict[int, dict[str, str]] = {}
    for size, digest, file_id in rows:
        known.setdefault(size, {})[digest] = file_id
    return known
