"""Streams over pieces, slices and members of bundles, which may end early: `damage_of` then gives the reason."""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from udfs.logs.limits import UnpackedMeter

if TYPE_CHECKING:  # imported where a bundle is met: most streams are in none
    from tarfile import TarInfo
    from zipfile import ZipInfo

PACKED_BYTES = 64 << 10  # bytes decompressed at once
PIECE_BYTES = 1 << 20  # most bytes that come out at once


class Damaged(Exception):
    """Compressed bytes that end early or make no sense; the text is the reason."""


class _RawStream(io.RawIOBase):
    """A stream that may end early; `damage` is then the reason."""

    damage: str | None = None

    def readable(self) -> bool:
        """Always."""
        return True


class PieceStream(_RawStream):
    """The bytes of an iterator as a stream. `within`: what they are made from; `crc`: what they must come to."""

    def __init__(
        self,
        pieces: Iterator[bytes],
        meter: UnpackedMeter | None = None,
        within: BinaryIO | None = None,
        crc: int | None = None,
    ) -> None:
        self._pieces, self._meter, self.within = pieces, meter, within
        self._piece, self._expected, self._crc = memoryview(b""), crc, 0

    def readinto(self, buffer: Any) -> int:
        """As many bytes as `buffer` takes; fewer only at the end."""
        target, filled = memoryview(buffer).cast("B"), 0
        while filled < len(target):
            if not self._piece and not self._next():
                break
            size = min(len(target) - filled, len(self._piece))
            target[filled : filled + size] = self._piece[:size]
            self._piece = self._piece[size:]
            filled += size
        return filled

    def _next(self) -> bool:
        """Whether there is a further piece."""
        if self.damage:
            return False
        try:
            piece = next(self._pieces, None)
        except Damaged as error:
            self.damage = str(error)
            return False
        if piece is None:
            if self._expected not in (None, self._crc):
                self.damage = "its checksum does not fit"
            return False
        if self._meter:
            self._meter.add(len(piece))
        if self._expected is not None:
            self._crc = zlib.crc32(piece, self._crc)
        self._piece = memoryview(piece)
        return True


class SliceStream(_RawStream):
    """Bytes [start, start + size) of a file that others read, too."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        self._file, self._start, self._size, self._at = file, start, size, 0

    def readinto(self, buffer: Any) -> int:
        """As many bytes as `buffer` takes; fewer only at the end."""
        view = memoryview(buffer).cast("B")[: max(self._size - self._at, 0)]
        self._file.seek(self._start + self._at)
        count = int(cast(Any, self._file).readinto(view)) if len(view) else 0
        self._at += count
        if count < len(view):
            self.damage = "it ends early"
        return count

    def seekable(self) -> bool:
        """Always."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a byte of the slice."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(base + offset, 0)
        return self._at


def tar_member_bytes(file: Any, info: TarInfo) -> Iterator[bytes]:
    """The bytes of a member of a tar, also the holes of sparse ones. `tarfile` loses what is left of a cut one."""
    file.seek(info.offset_data)
    at = 0
    for start, size in [*(cast(Any, info).sparse or [(0, info.size)]), (info.size, 0)]:
        while at < start:
            yield bytes(min(PIECE_BYTES, start - at))
            at += min(PIECE_BYTES, start - at)
        while at < start + size:
            piece = file.read(min(PIECE_BYTES, start + size - at))
            if not piece:
                raise Damaged("it ends early")
            yield piece
            at += len(piece)


def damage_of(stream: BinaryIO) -> str | None:
    """Why a stream that has been read to its end ended early; None if it is whole."""
    raw = getattr(stream, "raw", None)
    damage = getattr(raw, "damage", None)
    within = getattr(raw, "within", None)
    return damage or (damage_of(within) if within is not None else None)


def buffered(raw: io.RawIOBase) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(raw, PACKED_BYTES))


def zip_entry_bytes(file: BinaryIO, info: ZipInfo) -> BinaryIO:
    """The compressed bytes of a member of a zip; none if its local header is not where the directory says."""
    file.seek(info.header_offset)
    head = file.read(30)
    if not head.startswith(b"PK\x03\x04") or len(head) < 30:
        return buffered(SliceStream(file, info.header_offset, 0))
    name, extra = struct.unpack("<HH", head[26:30])
    return buffered(SliceStream(file, info.header_offset + 30 + name + extra, info.compress_size))
