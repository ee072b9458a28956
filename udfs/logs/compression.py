"""Decompressing: gzip, bzip2, xz, zstd and the methods of zip entries, as iterators of pieces.

What is damaged or cut short gives all that stands before the damage, then raises Damaged."""

from __future__ import annotations

import bz2
import lzma
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from udfs.logs.byte_streams import PACKED_BYTES, PIECE_BYTES, Damaged, damage_of
from udfs.rules.regex import late

_SPARE = 0xFE  # a byte that no text ends in


def _inflate(packed: BinaryIO, wbits: int = 31) -> Iterator[bytes]:
    """gzip of any number of members, or with `wbits` -15 one raw deflate stream. Exact up to the damaged byte."""
    data = packed.read(PACKED_BYTES)
    while data:
        unpack = zlib.decompressobj(wbits)
        while not unpack.eof:
            before = unpack.copy()
            try:
                piece = unpack.decompress(data, PIECE_BYTES)
            except zlib.error as error:
                yield from _salvage(before, data)
                raise Damaged(str(error)) from None
            data = unpack.unconsumed_tail
            yield piece
            if not data and not unpack.eof and len(piece) < PIECE_BYTES:
                data = packed.read(PACKED_BYTES)
                if not data:
                    raise Damaged("it ends early")
        if wbits < 0:
            return
        data = _next_member(packed, unpack.unused_data, b"\x1f\x8b")


def _salvage(unpack: Any, data: bytes) -> Iterator[bytes]:
    """What a copy of a zlib decompressor makes of `data` before it fails."""
    try:
        for i in range(len(data)):
            piece = unpack.decompress(data[i : i + 1])
            yield piece
    except zlib.error:
        return


def _next_member(packed: BinaryIO, data: bytes, magic: bytes) -> bytes:
    """The begin of the next compressed member; empty if only zero bytes (padding of tapes and blocks) follow."""
    while True:
        data = data.lstrip(b"\0")
        if len(data) < len(magic):
            more = packed.read(PACKED_BYTES)
            if more:
                data += more
                continue
        if data and not data.startswith(magic):
            raise Damaged("something else follows the compressed data")
        return data


def _decompress(packed: BinaryIO, make: Callable[[], Any], magic: bytes) -> Iterator[bytes]:
    """bz2 or xz of any number of members. What one call to the library would bring is lost before a damaged byte."""
    data = packed.read(PACKED_BYTES)
    while data:
        unpack = make()
        while not unpack.eof:
            if not data and unpack.needs_input:
                data = packed.read(PACKED_BYTES)
                if not data:
                    raise Damaged("it ends early")
            try:
                piece = unpack.decompress(data, PACKED_BYTES)
            except (OSError, lzma.LZMAError, EOFError, ValueError) as error:
                raise Damaged(str(error)) from None
            data = b""
            yield piece
        data = _next_member(packed, unpack.unused_data, magic)


def _zstd(packed: BinaryIO) -> Iterator[bytes]:
    """zstd of any number of frames.

    A failing read of Arrow's does not say how many bytes it brought; hence the buffer is filled with a byte that no
    text ends in, and what differs from it came.
    """
    import pyarrow as pa

    stream = pa.CompressedInputStream(packed, "zstd")
    blank = bytes([_SPARE]) * PIECE_BYTES
    while True:
        buffer = bytearray(blank)
        try:
            size = stream.readinto(buffer)
        except OSError as error:
            yield bytes(buffer).rstrip(blank[:1])
            raise Damaged("it ends early" if "Truncated" in str(error) else str(error)) from None
        if not size:
            return
        yield bytes(memoryview(buffer)[:size])


_CODECS: tuple[tuple[re.Pattern[bytes], Callable[[BinaryIO], Iterator[bytes]]], ...] = (
    (late(rb"\x1f\x8b\x08"), _inflate),
    (late(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"), lambda packed: _decompress(packed, bz2.BZ2Decompressor, b"BZh")),
    (
        late(rb"\xfd7zXZ\0"),
        lambda packed: _decompress(packed, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ), b"\xfd7zXZ\0"),
    ),
    (late(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"), _zstd),
)


def is_fast(codec: Callable[[BinaryIO], Iterator[bytes]]) -> bool:
    """Whether what it decompresses takes longer to parse by far: gzip and zstd; not bzip2 and xz."""
    return codec in (_inflate, _zstd)


def codec_of(head: bytes) -> Callable[[BinaryIO], Iterator[bytes]] | None:
    """How a stream is decompressed, by its first bytes; None if it is not compressed."""
    return next((unpack for magic, unpack in _CODECS if magic.match(head)), None)


def _stored(packed: BinaryIO) -> Iterator[bytes]:
    while data := packed.read(PIECE_BYTES):
        yield data
    if damage := damage_of(packed):
        raise Damaged(damage)


def _zip_lzma(packed: BinaryIO) -> Iterator[bytes]:
    """lzma as zips have it: version, size and properties before the raw stream."""
    head = packed.read(4)
    properties = packed.read(struct.unpack("<H", head[2:])[0]) if len(head) == 4 else b""
    try:
        filters = [lzma._decode_filter_properties(lzma.FILTER_LZMA1, properties)]  # type: ignore[attr-defined]
        unpack = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters)
        while data := packed.read(PACKED_BYTES):
            while not unpack.eof:
                piece = unpack.decompress(data, PACKED_BYTES)
                yield piece
                data = b""
                if unpack.needs_input:
                    break
    except (lzma.LZMAError, struct.error, EOFError) as error:
        raise Damaged(str(error)) from None


SLOW_ZIP_METHODS = {12, 14}
"""Those of ZIP_METHODS that decompress slower than records are parsed."""
ZIP_METHODS: dict[int, Callable[[BinaryIO], Iterator[bytes]]] = {  # by their numbers in zips
    0: _stored,
    8: lambda packed: _inflate(packed, -15),
    12: lambda packed: _decompress(packed, bz2.BZ2Decompressor, b"BZh"),
    14: _zip_lzma,
    93: _zstd,
}
