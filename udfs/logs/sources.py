"""Where bytes come from: files, compressed or not, alone or as members of bundles, also of nested ones.

What a file is, its first bytes say, never its name. Members are streamed and never unpacked under their own names; a
zip inside another stream, which needs seeking, is copied to an unlinked temporary file. A stream whose compressed form
is damaged or cut short ends where the damage is, and `damage_of` then says so: what stands before it is not lost.
What will not be read (links, names that lead out of a bundle, encrypted members, bombs) is a Refusal: one sentence.
"""

from __future__ import annotations

import bz2
import io
import lzma
import os
import re
import stat
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from udfs.errors import BadInput
from udfs.logs.paths import INSIDE, Source, name_on_disk, printable, unreadable
from udfs.rules.regex import late

if TYPE_CHECKING:  # imported where a bundle is met: most streams are in none
    from tarfile import TarInfo
    from zipfile import ZipInfo

    from udfs.logs.tars import Tar

_PACKED = 64 << 10  # bytes decompressed at once
_PIECE = 1 << 20  # most bytes that come out at once
_SPARE = 0xFE  # a byte that no text ends in


class TooLarge(BadInput):
    """A stream or bundle that decompresses to more than the limits allow."""


@dataclass(frozen=True)
class Limits:
    """How far compressed input may unfold; for each file on disk with all that is in it."""

    unpacked_bytes: int = 64 << 30
    ratio: int = 1000  # unpacked bytes for each byte on disk, past the first `free_bytes`
    free_bytes: int = 64 << 20
    spooled_bytes: int = 4 << 30  # of one zip inside another stream, on disk in `work_area`
    members: int = 100_000
    depth: int = 8  # bundles and compressions around a stream
    work_area: str | None = None  # None: the system's folder for temporary files


LIMITS = Limits()
VETTED = Limits(1 << 62, 1 << 40, 1 << 62, 1 << 62, 1 << 31, 64)
"""No limits, for what a survey within limits has seen to the end."""


@dataclass(frozen=True)
class Refusal:
    """Something that is not read, and why in one sentence."""

    source: Source
    sentence: str


@dataclass(frozen=True)
class Opened:
    """A decompressed stream, to be read before the next one is asked for."""

    source: Source
    stream: BinaryIO
    seekable: bool  # bytes on disk as they are, so that ranges can be read by themselves
    direct: bool  # can be opened without reading what stands before it in its bundle


# ------------------------------------------------------------------------------------------------------- decompressing


@dataclass
class _Meter:
    """Counts what a file on disk unfolds to. Raises TooLarge past the limits."""

    name: str
    on_disk: int
    limits: Limits
    unpacked: int = 0

    def add(self, size: int) -> None:
        """Count further bytes."""
        self.unpacked += size
        limits = self.limits
        if self.unpacked > limits.unpacked_bytes:
            most, setting = f"{limits.unpacked_bytes} bytes", "max_unpacked_gb"
        elif self.unpacked > max(limits.free_bytes, limits.ratio * self.on_disk):
            most, setting = f"{limits.ratio} times its size", "max_unpacked_ratio"
        else:
            return
        raise TooLarge(
            f"This file decompresses to more than {most}: {self.name}; raise {setting} in conf, unpack it, or leave it out."
        )


class _Damaged(Exception):
    """Compressed bytes that end early or make no sense; the text says which."""


def _inflate(packed: BinaryIO, wbits: int = 31) -> Iterator[bytes]:
    """gzip of any number of members, or with `wbits` -15 one raw deflate stream. Exact up to the damaged byte."""
    data = packed.read(_PACKED)
    while data:
        unpack = zlib.decompressobj(wbits)
        while not unpack.eof:
            before = unpack.copy()
            try:
                piece = unpack.decompress(data, _PIECE)
            except zlib.error as error:
                yield from _salvage(before, data)
                raise _Damaged(str(error)) from None
            data = unpack.unconsumed_tail
            yield piece
            if not data and not unpack.eof and len(piece) < _PIECE:
                data = packed.read(_PACKED)
                if not data:
                    raise _Damaged("it ends early")
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
            more = packed.read(_PACKED)
            if more:
                data += more
                continue
        if data and not data.startswith(magic):
            raise _Damaged("something else follows the compressed data")
        return data


def _decompress(packed: BinaryIO, make: Callable[[], Any], magic: bytes) -> Iterator[bytes]:
    """bz2 or xz of any number of members. What one call to the library would bring is lost before a damaged byte."""
    data = packed.read(_PACKED)
    while data:
        unpack = make()
        while not unpack.eof:
            if not data and unpack.needs_input:
                data = packed.read(_PACKED)
                if not data:
                    raise _Damaged("it ends early")
            try:
                piece = unpack.decompress(data, _PACKED)
            except (OSError, lzma.LZMAError, EOFError, ValueError) as error:
                raise _Damaged(str(error)) from None
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
    blank = bytes([_SPARE]) * _PIECE
    while True:
        buffer = bytearray(blank)
        try:
            size = stream.readinto(buffer)
        except OSError as error:
            yield bytes(buffer).rstrip(blank[:1])
            raise _Damaged("it ends early" if "Truncated" in str(error) else str(error)) from None
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
_FOREIGN = {
    b"7z\xbc\xaf\x27\x1c": "a 7-Zip archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"\x04\x22\x4d\x18": "LZ4",
    b"\x1f\x9d": "Unix compress",
    b"LZIP": "lzip",
    b"\x89LZO\0": "lzop",
}
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
NOTHING = "nothing of it was"
"""Said of a zip, whose list of members stands at its end."""
_NO_BUNDLES = {"META-INF/MANIFEST.MF", "[Content_Types].xml", "mimetype"}  # programs and office documents are zips, too


def codec_of(head: bytes) -> Callable[[BinaryIO], Iterator[bytes]] | None:
    """How a stream is decompressed, by its first bytes; None if it is not compressed."""
    return next((unpack for magic, unpack in _CODECS if magic.match(head)), None)


class _Raw(io.RawIOBase):
    """A stream that may end early; `damage` then says why."""

    damage: str | None = None

    def readable(self) -> bool:
        """Always."""
        return True


class _Pieces(_Raw):
    """The bytes of an iterator as a stream. `within`: what they are made from; `crc`: what they must come to."""

    def __init__(
        self,
        pieces: Iterator[bytes],
        meter: _Meter | None = None,
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
        except _Damaged as error:
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


class _Slice(_Raw):
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


def _member(file: Any, info: TarInfo) -> Iterator[bytes]:
    """The bytes of a member of a tar, with the holes of sparse ones. `tarfile` itself loses what a cut one still has."""
    file.seek(info.offset_data)
    at = 0
    for start, size in [*(cast(Any, info).sparse or [(0, info.size)]), (info.size, 0)]:
        while at < start:
            yield bytes(min(_PIECE, start - at))
            at += min(_PIECE, start - at)
        while at < start + size:
            piece = file.read(min(_PIECE, start + size - at))
            if not piece:
                raise _Damaged("it ends early")
            yield piece
            at += len(piece)


def damage_of(stream: BinaryIO) -> str | None:
    """Why a stream that has been read to its end ended early; None if it is whole."""
    raw = getattr(stream, "raw", None)
    damage = getattr(raw, "damage", None)
    within = getattr(raw, "within", None)
    return damage or (damage_of(within) if within is not None else None)


# ------------------------------------------------------------------------------------------------------------- bundles


def walk_bundle(
    path: str, wanted: Collection[str] | None = None, limits: Limits = LIMITS
) -> Iterator[Opened | Refusal]:
    """All streams in a file on disk in one pass: itself, or the members of the bundle that it is, in its order.

    `wanted`: members to open, all others are passed over; None: all. Each stream is to be read before the next one is
    asked for. Never raises for what is in the file: that becomes refusals, also when the file cannot be opened.
    """
    source = Source(path)
    on_disk = name_on_disk(path)
    sentence = unreadable(on_disk)
    if sentence or os.path.isdir(on_disk):
        yield Refusal(source, sentence or f"This is a folder: {path}; give the files in it.")
        return
    try:
        with open(on_disk, "rb") as file:
            meter = _Meter(path, os.fstat(file.fileno()).st_size, limits)
            walk = _Walk(source, wanted if wanted is None else frozenset(wanted), limits, meter)
            yield from walk.open("", file, 0, True, True)
    except TooLarge as error:
        yield Refusal(source, str(error))
    except OSError as error:
        yield Refusal(
            source, f"This file cannot be read: {path} ({error.strerror or error}); replace it or leave it out."
        )


@dataclass
class _Walk:
    """One pass over a file on disk."""

    source: Source
    wanted: frozenset[str] | None
    limits: Limits
    meter: _Meter
    names: Counter[str] = field(default_factory=Counter)

    def open(
        self, member: str, stream: BinaryIO, depth: int, on_disk: bool, direct: bool
    ) -> Iterator[Opened | Refusal]:
        """What is in a stream. `on_disk`: it is bytes of the file as they are; `direct`: see Opened."""
        source = Source(self.source.path, member)
        head = _peek(stream)
        foreign = next((name for magic, name in _FOREIGN.items() if head.startswith(magic)), None)
        codec = codec_of(head)
        if foreign:
            yield Refusal(source, f"This is {foreign}, which is not read: {source.name}; unpack it.")
        elif (codec or head.startswith(_ZIP) or _is_tar(head)) and depth >= self.limits.depth:
            yield Refusal(source, f"This is packed more than {self.limits.depth} times: {source.name}; unpack it.")
        elif codec:
            unpacked = _buffered(_Pieces(codec(stream), self.meter, stream))
            yield from self.open(member, unpacked, depth + 1, False, direct)
        elif head.startswith(_ZIP):
            yield from self._zip(member, stream, depth, direct)
        elif _is_tar(head):
            yield from self._tar(member, stream, depth, on_disk, direct and on_disk)
        elif self.wanted is None or member in self.wanted:
            yield Opened(source, stream, on_disk, direct)

    def _inside(
        self, bundle: str, name: str, stream: Callable[[], BinaryIO], depth: int, on_disk: bool, direct: bool
    ) -> Iterator[Opened | Refusal]:
        """What is in a member of a bundle, unless nobody wants it."""
        member = self._member(bundle, name)
        if self.wanted is None or any(w == member or w.startswith(member + INSIDE) for w in self.wanted):
            yield from self.open(member, stream(), depth + 1, on_disk, direct)

    def _member(self, bundle: str, name: str) -> str:
        """The name of a member; a bundle may hold one name several times."""
        member = f"{bundle}{INSIDE}{name}" if bundle else name
        self.names[member] += 1
        count = self.names[member]
        return member if count == 1 else f"{member}#{count}"

    def _refuse(self, bundle: str, name: str, why: str) -> Refusal:
        source = Source(self.source.path, self._member(bundle, name))
        return Refusal(source, f"This member of a bundle is not read: {source.name} ({why}).")

    def _broken(self, bundle: str, why: str, read: str = "what stands before it was") -> Refusal:
        source = Source(self.source.path, bundle)
        return Refusal(source, f"This bundle is damaged: {source.name} ({why}); {read} read, replace it.")

    def _tar(
        self, bundle: str, stream: BinaryIO, depth: int, on_disk: bool, direct: bool
    ) -> Iterator[Opened | Refusal]:
        """The members of a tar; concatenated ones are one, and behind a damaged header the next good one is looked for."""
        from tarfile import TarError

        from udfs.logs.tars import Tar

        count = 0
        try:
            tar = Tar.of(stream, on_disk)
            while (info := tar.next()) is not None:
                cast(Any, tar).members = []  # it would keep all
                count += 1
                if count > self.limits.members:
                    yield self._broken(bundle, f"it has more than {self.limits.members} members")
                    return
                name = printable(info.name).removeprefix("./")
                if info.isdir() or _is_hidden(name):
                    continue
                if why := _odd_name(name) or _odd_kind(info):
                    yield self._refuse(bundle, name, why)
                    continue
                sparse = bool(info.issparse())

                def data(info: TarInfo = info, sparse: bool = sparse, tar: Tar = tar) -> BinaryIO:
                    if on_disk and not sparse:
                        return _buffered(_Slice(stream, info.offset_data, info.size))
                    return _buffered(_Pieces(_member(tar.fileobj, info), self.meter if sparse else None))

                yield from self._inside(bundle, name, data, depth, on_disk and not sparse, direct)
            odd = [f"{tar.odd_blocks} blocks of it are no members"] if tar.odd_blocks else []
            early = [] if tar.ended else [damage_of(stream) or "it ends early"]
            if why := "; ".join(odd + early):
                yield self._broken(bundle, why)
        except (TarError, ValueError, OverflowError) as error:
            yield self._broken(bundle, damage_of(stream) or str(error))

    def _zip(self, bundle: str, stream: BinaryIO, depth: int, direct: bool) -> Iterator[Opened | Refusal]:
        """The members of a zip, copied to a temporary file where its bytes are not on disk."""
        import tempfile
        import zipfile

        with tempfile.TemporaryFile(dir=self.limits.work_area) as spool:
            file, on_disk = stream, stream.seekable()
            if not on_disk:
                file = cast(BinaryIO, spool)
                while data := stream.read(_PIECE):
                    if file.tell() + len(data) > self.limits.spooled_bytes:
                        name = Source(self.source.path, bundle).name
                        most = self.limits.spooled_bytes
                        raise TooLarge(f"This zip in a bundle has more than {most} bytes: {name}; unpack it.")
                    file.write(data)
            try:
                archive = zipfile.ZipFile(file)
            except (
                zipfile.BadZipFile,
                NotImplementedError,
                ValueError,
                EOFError,
                struct.error,
                OverflowError,
            ) as error:
                yield self._broken(bundle, damage_of(stream) or str(error), NOTHING)
                return
            infos = archive.infolist()
            if len(infos) > self.limits.members:
                yield self._broken(bundle, f"it has more than {self.limits.members} members", NOTHING)
                return
            if any(info.filename in _NO_BUNDLES for info in infos):
                file.seek(0)
                if self.wanted is None or bundle in self.wanted:
                    yield Opened(Source(self.source.path, bundle), file, False, direct)
                return
            for info in infos:
                name = printable(info.filename).removeprefix("./")
                if info.is_dir() or _is_hidden(name):
                    continue
                if why := _odd_name(name) or _odd_entry(info):
                    yield self._refuse(bundle, name, why)
                    continue

                def data_of(info: ZipInfo = info) -> BinaryIO:
                    packed = _entry_bytes(file, info)
                    return _buffered(_Pieces(_METHODS[info.compress_type](packed), self.meter, packed, info.CRC))

                yield from self._inside(bundle, name, data_of, depth, False, direct and on_disk)


def _buffered(raw: io.RawIOBase) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(raw, _PACKED))


def _peek(stream: BinaryIO) -> bytes:
    """The first bytes of a stream, which stays where it is."""
    return bytes(cast(io.BufferedReader, stream).peek(512)[:512])


def _is_tar(head: bytes) -> bool:
    """Whether a stream begins with a tar header: its checksum fits."""
    if len(head) < 512 or not any(head):
        return False
    digits = head[148:156].strip(b" \0")
    if not re.fullmatch(rb"[0-7]{1,7}", digits):
        return False
    return int(digits, 8) == sum(head) - sum(head[148:156]) + 8 * 32


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") and part not in (".", "..") for part in re.split(r"[/\\]", name))


def _odd_name(name: str) -> str | None:
    """Why a member's name is refused; None if it is not."""
    if name.startswith(("/", "\\")) or re.match(r"[A-Za-z]:[/\\]", name):
        return "its name is absolute"
    return "its name leads out of the bundle" if ".." in re.split(r"[/\\]", name) else None


def _odd_kind(info: TarInfo) -> str | None:
    """Why a member of a tar is refused; None if it is not."""
    if info.issym() or info.islnk():
        return "it is a link"
    return None if info.isreg() else "it is a device" if info.isdev() else "it is no regular file"


def _odd_entry(info: ZipInfo) -> str | None:
    """Why a member of a zip is refused; None if it is not."""
    mode = stat.S_IFMT(info.external_attr >> 16)
    if stat.S_ISLNK(mode):
        return "it is a link"
    if mode and not stat.S_ISREG(mode):
        return "it is a device"
    if info.flag_bits & 1:
        return "it is encrypted"
    return None if info.compress_type in _METHODS else f"its compression {info.compress_type} is not known"


def _entry_bytes(file: BinaryIO, info: ZipInfo) -> BinaryIO:
    """The compressed bytes of a member of a zip; none if its local header is not where the directory says."""
    file.seek(info.header_offset)
    head = file.read(30)
    if not head.startswith(b"PK\x03\x04") or len(head) < 30:
        return _buffered(_Slice(file, info.header_offset, 0))
    name, extra = struct.unpack("<HH", head[26:30])
    return _buffered(_Slice(file, info.header_offset + 30 + name + extra, info.compress_size))


def _stored(packed: BinaryIO) -> Iterator[bytes]:
    while data := packed.read(_PIECE):
        yield data
    if damage := damage_of(packed):
        raise _Damaged(damage)


def _zip_lzma(packed: BinaryIO) -> Iterator[bytes]:
    """lzma as zips have it: version, size and properties before the raw stream."""
    head = packed.read(4)
    properties = packed.read(struct.unpack("<H", head[2:])[0]) if len(head) == 4 else b""
    try:
        filters = [lzma._decode_filter_properties(lzma.FILTER_LZMA1, properties)]  # type: ignore[attr-defined]
        unpack = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters)
        while data := packed.read(_PACKED):
            while not unpack.eof:
                piece = unpack.decompress(data, _PACKED)
                yield piece
                data = b""
                if unpack.needs_input:
                    break
    except (lzma.LZMAError, struct.error, EOFError) as error:
        raise _Damaged(str(error)) from None


_METHODS: dict[int, Callable[[BinaryIO], Iterator[bytes]]] = {  # by their numbers in zips
    0: _stored,
    8: lambda packed: _inflate(packed, -15),
    12: lambda packed: _decompress(packed, bz2.BZ2Decompressor, b"BZh"),
    14: _zip_lzma,
    93: _zstd,
}


class _Owned(io.RawIOBase):
    """A stream that closes the walk it came from."""

    def __init__(self, stream: BinaryIO, walk: Any) -> None:
        self.within, self._walk = stream, walk

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """As many bytes as `buffer` takes; fewer only at the end."""
        return int(cast(Any, self.within).readinto(buffer))

    def seekable(self) -> bool:
        """As the stream."""
        return self.within.seekable()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """As the stream."""
        return self.within.seek(offset, whence)

    def close(self) -> None:
        """Close the file on disk, too."""
        self._walk.close()
        super().close()


def open_source(source: Source, limits: Limits = LIMITS) -> BinaryIO:
    """The decompressed bytes of one stream. For a member of a .tar.gz this decompresses all before it: `walk_bundle`
    reads several in one pass. Raises BadInput if it is refused or not there.
    """
    walk = walk_bundle(source.path, {source.member}, limits)
    for found in walk:
        if found.source == source:
            if isinstance(found, Refusal):
                raise BadInput(found.sentence)
            return _buffered(_Owned(found.stream, walk))
    raise BadInput(f"There is no stream of this name: {source.name}; was the file replaced?")


def expand(sources: Iterable[Source], limits: Limits = LIMITS) -> Iterator[Source | Refusal]:
    """The streams that the files found hold; a compressed tar is decompressed for that."""
    for source in sources:
        for found in walk_bundle(source.path, None, limits):
            yield found.source if isinstance(found, Opened) else found
