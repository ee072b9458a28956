"""Records of a stream in blocks of arrays, with their times: what `merge` sorts. No line is parsed here.

The framer finds the same records (a test compares them), with more about each than a merge needs, and that takes
longer than all the rest of it. So the usual layout is found here by its bytes alone, a block at a time; a block in
which anything is odd, and every other format, is left to the framer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np

from udfs.rules.regex import late

if TYPE_CHECKING:  # a plain merge needs none of this, and must start quickly
    import numpy.typing as npt

    from udfs.logs.formats import Format

    Longs = npt.NDArray[np.int64]
    Words = npt.NDArray[np.uint64]
    Bytes = npt.NDArray[np.uint8]
    Flags = npt.NDArray[np.bool_]

    ToUtc = Callable[[Longs, Longs, Flags | None], Longs]
    """Local times, byte offsets of their records, and which are UTC already (None: none) -> microseconds UTC."""

BLOCK = 1 << 20
"""Bytes read at once."""

NO_TIME = -(2**63)
"""As in `udfs.logs.timestamps`: a time that does not exist."""

USUAL = "apache"
"""The format that is found here."""


@dataclass(eq=False)
class Block:
    """Records of one file, in its order. Record i is `data[starts[i]:ends[i]]`.

    `times` are microseconds UTC; a record whose time does not exist has that of the record before it. `lines` are the
    numbers of the first lines, from 1; None where nobody asked for them. `offset` is the byte of the stream at data[0].
    `ranks`: see `udfs.rules.event_rank`; None where all records of a time are here, so that they can be told later.
    """

    data: bytes | bytearray
    starts: Longs
    ends: Longs
    times: Longs
    lines: Longs | None = None
    offset: int = 0
    ranks: Longs | None = None

    def __len__(self) -> int:
        return len(self.starts)

    def raw(self, i: int) -> bytes:
        """All bytes of record i."""
        return bytes(self.data[self.starts[i] : self.ends[i]])

    def chosen(self, rows: Longs | Flags) -> Block:
        """The block with only these records, in this order."""
        lines = None if self.lines is None else self.lines[rows]
        ranks = None if self.ranks is None else self.ranks[rows]
        return Block(self.data, self.starts[rows], self.ends[rows], self.times[rows], lines, self.offset, ranks)

    def in_order(self) -> Block:
        """The records by time, those of one time as they are."""
        if (self.times[1:] >= self.times[:-1]).all():
            return self
        return self.chosen(np.argsort(self.times, kind="stable"))

    def with_line_ends(self) -> Block:
        """The same, each record ending in a line end: one that another writer cut short may have none."""
        if not len(self) or (np.frombuffer(self.data, np.uint8)[self.ends - 1] == 10).all():
            return self
        raws = [self.raw(i) for i in range(len(self))]
        raws = [raw if raw.endswith(b"\n") else raw + b"\n" for raw in raws]
        ends = np.cumsum([len(raw) for raw in raws])
        starts = np.concatenate((_FIRST, ends[:-1]))
        return Block(b"".join(raws), starts, ends, self.times, self.lines, ranks=self.ranks)

    def compact(self) -> Block:
        """The same records in their order, without the bytes between them, in memory of their own."""
        sizes = self.ends - self.starts
        ends = np.cumsum(sizes)
        data = b"".join(pieces([memoryview(self.data)], None, self.starts, self.ends))
        return Block(data, ends - sizes, ends, self.times, self.lines, ranks=self.ranks)


def pieces(views: list[memoryview], which: Longs | None, starts: Longs, ends: Longs) -> list[memoryview]:
    """The bytes of records in order, neighbours in one piece. `which`: the view that each is in; None: all the first."""
    if not len(starts):
        return []
    breaks = starts[1:] != ends[:-1]
    if which is not None:
        breaks |= which[1:] != which[:-1]
    last = np.flatnonzero(breaks)
    begins = np.concatenate((starts[:1], starts[last + 1])).tolist()
    stops = np.concatenate((ends[last], ends[-1:])).tolist()
    if which is None:
        view = views[0]
        return [view[begin:stop] for begin, stop in zip(begins, stops, strict=True)]
    of = np.concatenate((which[:1], which[last + 1])).tolist()
    return [views[i][begin:stop] for i, begin, stop in zip(of, begins, stops, strict=True)]


class Pool:
    """Memory for blocks, used again: new memory for each would cost more than reading into it."""

    def __init__(self, size: int = BLOCK) -> None:
        self.size = size
        self._free: list[bytearray] = []

    def take(self, least: int = 0) -> bytearray:
        """Memory of at least this many bytes, with anything in it; 0: of the usual size."""
        if least == 0 or self.size // 2 < least <= self.size:
            return self._free.pop() if self._free else bytearray(self.size)
        return bytearray(least)

    def give(self, data: bytes | bytearray) -> None:
        """Memory that nobody uses any more."""
        if isinstance(data, bytearray) and len(data) == self.size:
            self._free.append(data)


@dataclass
class Account:
    """What was read of a stream; `first` and `last` are its least and greatest time."""

    bytes: int = 0
    records: int = 0
    unframed_bytes: int = 0
    first: int | None = None
    last: int | None = None

    def add(self, times: Longs) -> None:
        """Count the records of one block."""
        if len(times):
            self.records += len(times)
            least, most = int(times.min()), int(times.max())
            self.first = least if self.first is None else min(self.first, least)
            self.last = most if self.last is None else max(self.last, most)


def blocks(
    stream: BinaryIO,
    format_: Format | None,
    to_utc: ToUtc,
    account: Account,
    *,
    pool: Pool,
    offset: int = 0,
    limit: int | None = None,
    first_line: int | None = None,
) -> Iterator[Block]:
    """The records of a stream, block by block, in its order. Memory of a block is its reader's, who gives it back.

    The stream is read from where it is, which is byte `offset` of it, for `limit` bytes; None means to its end.
    `format_` None stands for the usual one. `offset` begins a record, or is 0. `first_line` is the number of the line there; None: lines are not counted. The
    same stream is cut into the same blocks each time, if the memory is of the same size.
    """
    if format_ is None or format_.name == USUAL:
        found = _usual(stream, account, pool, offset, limit, first_line)
    else:
        found = _framed(stream, format_, account, limit, first_line)
    last: int | None = None  # time of the record before
    for block, offsets, is_utc in found:
        if not len(block):
            continue
        lost = block.times == NO_TIME
        block.times = to_utc(block.times, offsets, is_utc)
        if lost.any():
            last = _carry_forward(block.times, lost, last)
        last = int(block.times[-1])
        account.add(block.times)
        yield block


def _carry_forward(times: Longs, lost: Flags, last: int | None) -> int:
    """Give records without a time that of the one before; at the begin of a stream that of the first that has one."""
    there = np.flatnonzero(~lost)
    if last is None:
        last = int(times[there[0]]) if len(there) else 0
    before = np.searchsorted(there, np.flatnonzero(lost)) - 1
    times[lost] = np.where(before < 0, last, times[there[np.maximum(before, 0)]] if len(there) else last)
    return last


class Limited:
    """At most so many bytes of a stream, read into memory that is there already."""

    def __init__(self, stream: BinaryIO, limit: int | None) -> None:
        self._stream, self._left = stream, limit

    def fill(self, view: memoryview) -> int:
        """How many bytes came; fewer than asked for only at the end."""
        if self._left is not None:
            view = view[: self._left]
        filled = 0
        while filled < len(view):
            count = cast(int, self._stream.readinto(view[filled:]))  # type: ignore[attr-defined]  # raw or buffered
            if not count:
                break
            filled += count
        if self._left is not None:
            self._left -= filled
        return filled


def _usual(
    stream: BinaryIO, account: Account, pool: Pool, offset: int, limit: int | None, first_line: int | None
) -> Iterator[tuple[Block, Longs, Flags | None]]:
    """Blocks of the usual layout, with local times."""
    source, line = Limited(stream, limit), first_line or 1
    data, carried = pool.take(), 0  # of `data`, begin of a record that may go on
    is_begun = offset > 0
    last = False
    while not last:
        if carried > len(data) // 2:  # a record of more than a block
            small, data = data, bytearray(2 * len(data))
            data[:carried] = memoryview(small)[:carried]
            pool.give(small)
        room = len(data) - NEED
        with memoryview(data) as view:
            count = source.fill(view[carried:room])
        filled = carried + count
        account.bytes += count
        last = filled < room
        if last:
            ends_open = filled > 0 and data[filled - 1] != 10
            if ends_open:
                data[filled] = 10
                filled += 1
            data[filled : filled + NEED] = bytes(min(NEED, len(data) - filled))
            whole = filled
        else:
            ends_open = False
            whole = data.rfind(b"\n", 0, room - NEED) + 1
        starts, local, is_utc = _searched(data, whole)
        if len(starts) and not last:  # the last one may go on
            stop, keep = int(starts[-1]), len(starts) - 1
        elif len(starts):
            stop, keep = filled, len(starts)
        else:
            stop, keep = 0 if is_begun and not last else whole, 0
        if not is_begun:
            account.unframed_bytes += int(starts[0]) if len(starts) else stop - ends_open
        lines = None
        if first_line is not None:
            newlines = np.flatnonzero(np.frombuffer(data, np.uint8, stop) == 10)
            lines = line + np.searchsorted(newlines, starts[:keep])
            line += len(newlines)
        is_begun = is_begun or len(starts) > 0
        carried = filled - stop
        following = pool.take(2 * carried if 2 * carried > pool.size else 0) if keep else data
        following[:carried] = memoryview(data)[stop:filled]
        if keep:
            ends = np.concatenate((starts[1 : keep + 1], np.full(1, stop)))[:keep]
            block = Block(data, starts[:keep], ends, local[:keep], lines, offset)
            yield block, offset + starts[:keep], None if is_utc is None else is_utc[:keep]
        data = following
        offset += stop
    pool.give(data)


def _framed(
    stream: BinaryIO, format_: Format, account: Account, limit: int | None, first_line: int | None
) -> Iterator[tuple[Block, Longs, Flags | None]]:
    """Blocks of any other format, found by the framer.

    Where a wrapper only stands before each line, records have their lines as they are in the stream; else (JSON, UTF-16,
    a record between whose lines others stand) those of the unwrapped text.
    """
    from udfs.logs.framing import Frames, frames
    from udfs.logs.timestamps import micros_of

    keeps = not format_.encoding and set(format_.wrapper.split("/")) <= _BEFORE_LINES
    seen = _Seen(stream, limit, keeps)
    for part in frames(cast(BinaryIO, seen), format_, 0, None, first_line or 1):
        if not isinstance(part, Frames):
            account.unframed_bytes += part.size
            continue
        raws = [part.raw(i) for i in range(len(part))]
        if keeps:
            places = zip(raws, part.offsets.tolist(), part.sizes.tolist(), strict=True)
            raws = [seen.original(raw, offset, size) for raw, offset, size in places]
        raws = [raw if raw.endswith(b"\n") else raw + b"\n" for raw in raws]
        ends = np.cumsum([len(raw) for raw in raws])
        times, is_utc = micros_of([head[0] for head in part.heads])
        lines = None if first_line is None else part.lines
        yield Block(b"".join(raws), np.concatenate((_FIRST, ends[:-1])), ends, times, lines), part.offsets, is_utc
    account.bytes += seen.count


_BEFORE_LINES = {"", "ansi", "compose", "cri", "grep", "pod", "stamps", "syslog"}
"""Wrappers that stand before each line, and leave it as it is."""

_KEPT = 4 << 20  # bytes of a wrapped stream that are kept to be printed


class _Seen:
    """A stream that ends after so many bytes, counts what was read of it and, if it `keeps`, has the last ones at hand."""

    def __init__(self, stream: BinaryIO, limit: int | None, keeps: bool) -> None:
        self._stream, self._limit, self._keeps, self.count = stream, limit, keeps, 0
        self._last, self._from = b"", 0

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes; empty at the end."""
        if self._limit is not None:
            left = self._limit - self.count
            size = left if size < 0 else min(size, left)
        data = self._stream.read(size)
        self.count += len(data)
        if self._keeps and data:
            self._last = (self._last + data)[-_KEPT - len(data) :]
            self._from = self.count - len(self._last)
        return data

    def original(self, raw: bytes, offset: int, size: int) -> bytes:
        """The lines of a record as they stand in the stream, if they follow each other there; else as given."""
        at = offset - self._from
        original = self._last[at : at + size] if at >= 0 else b""
        lines, wanted = original.splitlines(), raw.splitlines()
        is_whole = len(original) == size and len(lines) == len(wanted)
        if is_whole and (
            b"\x1b" in original or all(line.endswith(end) for line, end in zip(lines, wanted, strict=True))
        ):
            return original
        return raw


# ---- the usual layout, by its bytes ---------------------------------------------------------------------------------
# A first line begins with `[2018-12-09 02:21:49,941] TRACE`. Its 24 bytes behind the first bracket are three words of
# eight; xor with the separators and with the digits' common bits leaves 0 to 9 for a digit and 0 for a separator.
def _word(text: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(text, "little"))


_PLACES = (b"0000x00x", b"00x00x00", b"x00x000x")
_XOR = tuple(_word(text) for text in (b"0000-00-", b"00 00:00", b":00,000]"))
_SIX = tuple(_word(text.translate(bytes.maketrans(b"0x", b"\6\0"))) for text in _PLACES)
_WRONG = tuple(_word(text.translate(bytes.maketrans(b"0x", b"\xf0\xff"))) for text in _PLACES)
_TWO, _BLANK_UPPER = _word(b"\xff\xe0"), _word(b" @")  # a blank, then one of 0x40 to 0x5F: a capital
NEED = 128
"""Bytes behind the last searched line end that must be there."""

_FIRST = np.zeros(1, np.int64)
_GLUE = np.zeros(256, np.bool_)
_GLUE[[0, 0xEF, 0xBB, 0xBF]] = True  # holes and byte order marks belong to the record behind them
_DIGIT = np.zeros(256, np.bool_)
_DIGIT[0x30:0x3A] = True
_YEAR = _word(b"\xff\xff\xff\xff")
_STAMP = late(rb"\[\d{4}-\d\d-\d\d[ T]\d\d:")


def stamped(data: bytes | bytearray, whole: int) -> tuple[Longs, Longs] | None:
    """Where records start in `data[:whole]`, and their local times, if all first lines are of the usual form.

    None if something might start a record in another form: then the framer has to tell. Byte 0 must begin a line, and
    `whole` be behind a line end; the bytes behind it must be there.
    """
    view = np.frombuffer(data, np.uint8)
    at = np.flatnonzero(view[:whole] == 10)
    at += 1
    at = np.concatenate((_FIRST, at[:-1]))
    first = view[at]
    if _GLUE[first].any():
        return None
    at = at[first == 0x5B]
    words = np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))
    a, b, c, level = words[at + 1] ^ _XOR[0], words[at + 9] ^ _XOR[1], words[at + 17] ^ _XOR[2], words[at + 25]
    wrong = (a | (a + _SIX[0])) & _WRONG[0]
    wrong |= (b | (b + _SIX[1])) & _WRONG[1]
    wrong |= (c | (c + _SIX[2])) & _WRONG[2]
    wrong |= (level & _TWO) ^ _BLANK_UPPER
    if wrong.any():
        right = wrong == 0
        if _DIGIT[view[at[~right] + 1]].any():
            return None
        at, a, b, c = at[right], a[right], b[right], c[right]
    if not len(at):
        return None if _STAMP.search(data, 0, whole) else (at, at)
    of_year = bytes(data[at[0] + 1 : at[0] + 6])  # `2018-`: a stamp inside a line shows as one more of it
    is_one_year = not ((a ^ a[0]) & _YEAR).any()
    few = is_one_year and (_count(view, whole, of_year[3:]) == len(at) or _count(view, whole, of_year[1:]) == len(at))
    if not few and sum(1 for _ in _STAMP.finditer(data, 0, whole)) != len(at):
        return None
    return at, _local_micros(data, at, a, b, c)


def _count(view: Bytes, whole: int, text: bytes) -> int:
    """How often two or four bytes stand in the first `whole` ones."""
    size = len(text)
    wanted = int.from_bytes(text, "little")
    return sum(
        int(np.count_nonzero(view[at : at + (whole - at) // size * size].view(f"<u{size}") == wanted))
        for at in range(min(size, whole))
    )


_DAY = 86_400_000_000
_BYTE, _EIGHT, _TEN, _SIXTY, _THOUSAND = (np.uint64(n) for n in (255, 8, 10, 60, 1000))


@lru_cache(maxsize=4096)
def _day_micros(day: bytes) -> int:
    """Midnight of `2018-12-09` as microseconds since 1970, or NO_TIME."""
    try:
        return (date.fromisoformat(day.decode()).toordinal() - 719163) * _DAY
    except ValueError:
        return NO_TIME


def _local_micros(data: bytes | bytearray, at: Longs, a: Words, b: Words, c: Words) -> Longs:
    """Times of the records at `at` as local microseconds; NO_TIME for those that do not exist."""
    days = a ^ (b << np.uint64(56)) ^ ((b & np.uint64(0xFF00)) << np.uint64(24))  # into the places of separators
    changes = np.flatnonzero(days[1:] != days[:-1])
    changes += 1
    begins = np.concatenate((_FIRST, changes))
    midnights = [_day_micros(bytes(data[i + 1 : i + 11])) for i in at[begins].tolist()]
    two = b * _TEN + (b >> _EIGHT)  # in each byte the number that its digit and the next one make
    hour, minute = (two >> np.uint64(24)) & _BYTE, (two >> np.uint64(48)) & _BYTE
    two = c * _TEN + (c >> _EIGHT)
    second = (two >> _EIGHT) & _BYTE
    ms = ((two >> np.uint64(32)) & _BYTE) * _TEN + ((c >> np.uint64(48)) & _BYTE)
    micros = (((hour * _SIXTY + minute) * _SIXTY + second) * _THOUSAND + ms).view(np.int64) * 1000
    if len(midnights) == 1 and midnights[0] != NO_TIME:
        micros += midnights[0]
    else:
        of_day = np.repeat(np.array(midnights, np.int64), np.diff(np.append(begins, len(at))))
        micros = np.where(of_day == NO_TIME, NO_TIME, of_day + micros)
    if hour.max() > 23 or minute.max() > 59 or second.max() > 59:
        micros[(hour > 23) | (minute > 59) | (second > 59)] = NO_TIME
    return micros


def _searched(data: bytearray, whole: int) -> tuple[Longs, Longs, Flags | None]:
    """Where records start in `data[:whole]`, their local times, and which of these are UTC; None: none."""
    found = stamped(data, whole)
    if found is not None:
        return *found, None
    from udfs.logs.framing import find_starts
    from udfs.logs.layouts import APACHE, read_head
    from udfs.logs.timestamps import micros_of

    text = bytes(memoryview(data)[: whole + NEED])
    newlines = np.flatnonzero(np.frombuffer(text, np.uint8) == 10)
    starts = find_starts(APACHE, text, newlines, 0, whole, True)
    if not len(starts):
        return starts, starts, None
    ends = np.append(starts[1:], whole)
    line_ends = np.append(newlines[newlines < whole], whole - 1) + 1
    tops = np.minimum(line_ends[np.searchsorted(line_ends, starts, "right")], ends)
    places = zip(starts.tolist(), tops.tolist(), ends.tolist(), strict=True)
    times, is_utc = micros_of([read_head(APACHE, text, *place)[0] for place in places])
    return _at_line_begins(starts, newlines), times, is_utc


def _at_line_begins(starts: Longs, newlines: Longs) -> Longs:
    """Starts inside a line moved to its begin, for lines are printed whole; not if another record starts before them."""
    begins = np.concatenate((_FIRST, newlines + 1))
    lines = begins[np.searchsorted(begins, starts, "right") - 1]
    is_first = np.concatenate((np.ones(1, np.bool_), lines[1:] != lines[:-1]))
    return np.where(is_first, lines, starts)


_LINE_START = late(rb"\n\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] {1,5}[A-Z]")
_PROBED = 64 << 10


def starts_from(file: BinaryIO, at: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Records of the usual form that start at the begin of a line in [at, end) of a file, with their stamps."""
    rest = b"\n" if at == 0 else b""
    file.seek(max(at - 1, 0))
    base = max(at - 1, 0) - len(rest)  # where in the file `rest` would stand
    while base + len(rest) < end + 64:
        data = file.read(_PROBED)
        if not data:
            return
        text = rest + data
        for m in _LINE_START.finditer(text):
            if base + m.start() + 1 >= end:
                return
            yield base + m.start() + 1, m[1]
        keep = min(len(text), 40)  # a start may be cut; it is not whole yet, so it was not found
        last = text.rfind(b"\n", len(text) - keep)
        keep = len(text) - last if last >= 0 and not _LINE_START.match(text, last) else 0
        base += len(text) - keep
        rest = text[len(text) - keep :]
