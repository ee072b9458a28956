"""Where bytes come from: files, compressed or not, alone or as members of bundles, also of nested ones.

What a file is shows in its first bytes, never in its name. Members are streamed and never unpacked under their own
names; a zip inside another stream, which needs seeking, is copied to an unlinked temporary file. A stream whose
compressed form is damaged or cut short ends where the damage is, and `damage_of` gives the reason: what stands before
it is not lost. What will not be read (links, names that lead out of a bundle, encrypted members, bombs) is a Refusal:
one sentence.
"""

from __future__ import annotations

import io
import os
import re
import stat
import struct
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from udfs.errors import BadInput
from udfs.logs.byte_streams import (
    PIECE_BYTES,
    PieceStream,
    SliceStream,
    buffered,
    damage_of,
    tar_member_bytes,
    zip_entry_bytes,
)
from udfs.logs.compression import SLOW_ZIP_METHODS, ZIP_METHODS, codec_of, is_fast
from udfs.logs.limits import LIMITS, Limits, TooLarge, UnpackedMeter
from udfs.logs.paths import INSIDE, Source, name_on_disk, printable, unreadable
from udfs.logs.stores import SEE, is_url, open_in_store

if TYPE_CHECKING:  # imported where a bundle is met: most streams are in none
    from tarfile import TarInfo
    from zipfile import ZipInfo

    from udfs.logs.tars import Tar


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
    is_fast: bool  # to decompress it takes less by far than to parse it


@dataclass(frozen=True)
class _Access:
    """How the bytes of a stream are reached, see Opened."""

    on_disk: bool = True
    direct: bool = True
    is_fast: bool = True

    def unpacked(self, is_fast: bool) -> _Access:
        """To what a stream decompresses to."""
        return replace(self, on_disk=False, is_fast=self.is_fast and is_fast)


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


def walk_bundle(
    path: str, wanted: Collection[str] | None = None, limits: Limits = LIMITS
) -> Iterator[Opened | Refusal]:
    """All streams in a file on disk in one pass: itself, or the members of the bundle that it is, in its order.

    `wanted`: members to open, all others are passed over; None: all. Each stream is to be read before the next one is
    asked for. Never raises for what is in the file: that becomes refusals, also when the file cannot be opened.
    """
    source, is_in_store = Source(path), is_url(path)
    on_disk = name_on_disk(path)
    sentence = None if is_in_store else unreadable(on_disk)
    if sentence or (not is_in_store and os.path.isdir(on_disk)):
        yield Refusal(source, sentence or f"This is a folder: {path}; give the files in it.")
        return
    try:
        file, size = open_in_store(path) if is_in_store else _open_on_disk(on_disk)
        with file:
            meter = UnpackedMeter(path, size, limits)
            walk = _Walk(source, wanted if wanted is None else frozenset(wanted), limits, meter)
            yield from walk.open("", file, 0, _Access())
    except TooLarge as error:
        yield Refusal(source, str(error))
    except BadInput as error:
        if not is_in_store:
            raise
        yield Refusal(source, f"This file cannot be read: {path}: {error}")
    except OSError as error:
        remedy = SEE if is_in_store else "replace it or leave it out"
        yield Refusal(source, f"This file cannot be read: {path} ({error.strerror or error}); {remedy}.")


def _open_on_disk(path: str) -> tuple[BinaryIO, int]:
    """A file of this machine, and its size."""
    file = open(path, "rb")  # noqa: SIM115  # whoever asked closes it
    return file, os.fstat(file.fileno()).st_size


@dataclass
class _Walk:
    """One pass over a file on disk."""

    source: Source
    wanted: frozenset[str] | None
    limits: Limits
    meter: UnpackedMeter
    names: Counter[str] = field(default_factory=Counter)

    def open(self, member: str, stream: BinaryIO, depth: int, access: _Access) -> Iterator[Opened | Refusal]:
        """What is in a stream."""
        source = Source(self.source.path, member)
        head = _peek(stream)
        foreign = next((name for magic, name in _FOREIGN.items() if head.startswith(magic)), None)
        codec = codec_of(head)
        if foreign:
            yield Refusal(source, f"This is {foreign}, which is not read: {source.name}; unpack it.")
        elif (codec or head.startswith(_ZIP) or _is_tar(head)) and depth >= self.limits.depth:
            yield Refusal(source, f"This is packed more than {self.limits.depth} times: {source.name}; unpack it.")
        elif codec:
            unpacked = buffered(PieceStream(codec(stream), self.meter, stream))
            yield from self.open(member, unpacked, depth + 1, access.unpacked(is_fast(codec)))
        elif head.startswith(_ZIP):
            yield from self._zip(member, stream, depth, access)
        elif _is_tar(head):
            yield from self._tar(member, stream, depth, replace(access, direct=access.direct and access.on_disk))
        elif self.wanted is None or member in self.wanted:
            yield Opened(source, stream, access.on_disk, access.direct, access.is_fast)

    def _inside(
        self, bundle: str, name: str, stream: Callable[[], BinaryIO], depth: int, access: _Access
    ) -> Iterator[Opened | Refusal]:
        """What is in a member of a bundle, unless nobody wants it."""
        member = self._member(bundle, name)
        if self.wanted is None or any(w == member or w.startswith(member + INSIDE) for w in self.wanted):
            yield from self.open(member, stream(), depth + 1, access)

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

    def _tar(self, bundle: str, stream: BinaryIO, depth: int, access: _Access) -> Iterator[Opened | Refusal]:
        """The members of a tar; concatenated tars are one, behind a damaged header the next good one is looked for."""
        from tarfile import TarError

        from udfs.logs.tars import Tar

        count = 0
        try:
            tar = Tar.of(stream, access.on_disk)
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
                    if access.on_disk and not sparse:
                        return buffered(SliceStream(stream, info.offset_data, info.size))
                    return buffered(PieceStream(tar_member_bytes(tar.fileobj, info), self.meter if sparse else None))

                yield from self._inside(
                    bundle, name, data, depth, replace(access, on_disk=access.on_disk and not sparse)
                )
            odd = [f"{tar.odd_blocks} blocks of it are no members"] if tar.odd_blocks else []
            early = [] if tar.ended else [damage_of(stream) or "it ends early"]
            if why := "; ".join(odd + early):
                yield self._broken(bundle, why)
        except (TarError, ValueError, OverflowError) as error:
            yield self._broken(bundle, damage_of(stream) or str(error))

    def _zip(self, bundle: str, stream: BinaryIO, depth: int, access: _Access) -> Iterator[Opened | Refusal]:
        """The members of a zip, copied to a temporary file where its bytes are not on disk."""
        import tempfile
        import zipfile

        with tempfile.TemporaryFile(dir=self.limits.work_area) as spool:
            file, on_disk = stream, stream.seekable()
            if not on_disk:
                file = cast(BinaryIO, spool)
                while data := stream.read(PIECE_BYTES):
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
                    yield Opened(Source(self.source.path, bundle), file, False, access.direct, access.is_fast)
                return
            inside = replace(access, direct=access.direct and on_disk)
            for info in infos:
                name = printable(info.filename).removeprefix("./")
                if info.is_dir() or _is_hidden(name):
                    continue
                if why := _odd_name(name) or _odd_entry(info):
                    yield self._refuse(bundle, name, why)
                    continue

                def data_of(info: ZipInfo = info) -> BinaryIO:
                    packed = zip_entry_bytes(file, info)
                    return buffered(PieceStream(ZIP_METHODS[info.compress_type](packed), self.meter, packed, info.CRC))

                yield from self._inside(
                    bundle, name, data_of, depth, inside.unpacked(info.compress_type not in SLOW_ZIP_METHODS)
                )


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
    return None if info.compress_type in ZIP_METHODS else f"its compression {info.compress_type} is not known"


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
    for opened in walk:
        if opened.source == source:
            if isinstance(opened, Refusal):
                raise BadInput(opened.sentence)
            return buffered(_Owned(opened.stream, walk))
    raise BadInput(f"There is no stream of this name: {source.name}; was the file replaced?")


def expand(sources: Iterable[Source], limits: Limits = LIMITS) -> Iterator[Source | Refusal]:
    """The streams that the files found hold; a compressed tar is decompressed for that."""
    for source in sources:
        for opened in walk_bundle(source.path, None, limits):
            yield opened.source if isinstance(opened, Opened) else opened
