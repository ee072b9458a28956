"""Records of every layout but the usual one, as the framer finds them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np

from udfs.merge.block import Block, ReadTotals

if TYPE_CHECKING:
    from udfs.logs.arrays import Flags, Longs
    from udfs.logs.formats import Format


def framed_blocks(
    stream: BinaryIO, format_: Format, totals: ReadTotals, limit: int | None, first_line: int | None
) -> Iterator[tuple[Block, Longs, Flags | None]]:
    """Blocks of any other format, found by the framer.

    Where a wrapper only stands before each line, records have their lines as they are in the stream; else (JSON,
    UTF-16, a record between whose lines others stand) those of the unwrapped text.
    """
    from udfs.logs.framing import Frames, frames
    from udfs.logs.timestamps import micros_of

    keeps_lines = not format_.encoding and set(format_.wrapper.split("/")) <= _LINE_WRAPPERS
    recent = _RecentBytes(stream, limit, keeps_lines)
    for part in frames(cast(BinaryIO, recent), format_, 0, None, first_line or 1):
        if not isinstance(part, Frames):
            totals.unframed_bytes += part.size
            continue
        raws = [part.raw(i) for i in range(len(part))]
        if keeps_lines:
            places = zip(raws, part.offsets.tolist(), part.sizes.tolist(), strict=True)
            raws = [recent.original(raw, offset, size) for raw, offset, size in places]
        raws = [raw if raw.endswith(b"\n") else raw + b"\n" for raw in raws]
        sizes = np.array([len(raw) for raw in raws], np.int64)
        ends = np.cumsum(sizes)
        times, is_utc = micros_of([head[0] for head in part.heads])
        lines = None if first_line is None else part.lines
        yield Block(b"".join(raws), ends - sizes, ends, times, lines), part.offsets, is_utc
    totals.bytes += recent.count


_LINE_WRAPPERS = {"", "ansi", "compose", "cri", "grep", "pod", "stamps", "syslog"}
"""Wrappers that stand before each line, and leave it as it is."""

_KEPT_BYTES = 4 << 20  # bytes of a wrapped stream that are kept to be printed


class _RecentBytes:
    """A stream that ends after so many bytes and counts those read; if it `keeps`, the last ones stay at hand."""

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
            self._last = (self._last + data)[-_KEPT_BYTES - len(data) :]
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
