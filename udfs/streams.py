"""Log streams as bytes: found in files and folders, opened whatever their compression, surveyed in one pass."""

from __future__ import annotations

import bz2
import glob
import gzip
import hashlib
import io
import lzma
import os
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from udfs.layouts import LAYOUTS, layout_of

SEGMENT = 32 << 20
"""Bytes of a range that one task reads; a multiple of the bytes read at once."""

_BLOCK = 8 << 20
_SAMPLE = 256 << 10
_OPENERS: Mapping[bytes, Callable[[str, str], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}


class BadInput(Exception):
    """An input that cannot be used; the text is one sentence for the user."""


def find(logs: Iterable[str]) -> list[str]:
    """Absolute paths of all files under the given files, folders and globs, sorted, each once.

    Raises BadInput for what does not exist, matches nothing or may not be read.
    """
    found: set[str] = set()
    for given in logs:
        matches = [given] if os.path.lexists(given) else sorted(glob.glob(given, recursive=True))
        if not matches:
            kind = "pattern matches no file" if glob.has_magic(given) else "file or folder does not exist"
            raise BadInput(f"This {kind}: {given}; give a log file, a folder of logs, or a quoted glob.")
        before = len(found)
        for match in matches:
            found.update(_walk(match))
        if len(found) == before and os.path.isdir(matches[0]):
            raise BadInput(f"This folder holds no files: {given}; give the folder that Kafka's logs are in.")
    return sorted(found)


def _walk(path: str) -> Iterator[str]:
    """All files under a path; hidden ones are left out, a loop of links ends."""
    if not os.path.isdir(path):
        yield _readable(path)
        return
    seen: set[str] = set()
    for folder, subfolders, files in os.walk(path, followlinks=True, onerror=_unreadable):
        real = os.path.realpath(folder)
        if real in seen:
            subfolders.clear()
            continue
        seen.add(real)
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        for name in sorted(files):
            if not name.startswith("."):
                yield _readable(os.path.join(folder, name))


def _unreadable(error: OSError) -> None:
    raise BadInput(f"This folder cannot be read: {error.filename} ({error.strerror}); check its permissions.")


def _readable(path: str) -> str:
    if not os.path.isfile(path):
        raise BadInput(f"This is no regular file: {path}; give log files or folders of them.")
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise BadInput(f"This file cannot be read: {path} ({error.strerror}); check its permissions.") from None
    return os.path.abspath(path)


def compression(head: bytes) -> str | None:
    """`gzip.open` and the like by a file's first bytes, as the opener's module name; None for plain bytes."""
    return next((opener.__module__ for magic, opener in _OPENERS.items() if head.startswith(magic)), None)


def open_stream(path: str) -> BinaryIO:
    """The decompressed bytes of a file."""
    with open(path, "rb") as file:
        head = file.read(6)
    opener = next((opener for magic, opener in _OPENERS.items() if head.startswith(magic)), None)
    return cast(BinaryIO, opener(path, "rb")) if opener else open(path, "rb")


class Bounded(io.RawIOBase):
    """A stream that ends at a byte position; what is left out is held back for a later run."""

    def __init__(self, stream: BinaryIO, position: int, end: int) -> None:
        self._stream, self._left = stream, end - position

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes; empty at the end."""
        data = self._stream.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(data)
        return data

    def close(self) -> None:
        """Close the stream, too."""
        self._stream.close()
        super().close()


@dataclass(frozen=True)
class Survey:
    """What one pass over a stream tells: all a plan needs, and how it is known again."""

    path: str
    size: int  # decompressed bytes
    digest: str  # hash of all of them
    known_as: str | None  # file_id of the longest stream seen before that is a prefix of this one
    known_size: int  # its length
    layout: str | None  # name; None if no line of its begin is a record's first
    plain: bool  # not compressed, so that ranges of it can be read
    line_counts: tuple[int, ...]  # line ends before each SEGMENT
    held_back: int  # bytes of an unterminated last line that is no whole record
    error: str | None = None


def survey(path: str, known: Mapping[int, Mapping[str, str]]) -> Survey:
    """Read a stream once. `known`: length -> digest -> file_id of the streams seen before."""
    lengths = sorted(known)
    hasher = hashlib.blake2b(digest_size=16)
    size, lines = 0, 0
    line_counts: list[int] = []
    known_as, known_size = None, 0
    sample, tail = b"", b""
    try:
        with open(path, "rb") as file:
            plain = compression(file.read(6)) is None
        with open_stream(path) as stream:
            while data := stream.read(_BLOCK):
                if len(sample) < _SAMPLE:
                    sample += data[: _SAMPLE - len(sample)]
                position = 0
                while lengths and lengths[0] <= size + len(data):
                    length = lengths.pop(0)
                    hasher.update(memoryview(data)[position : length - size])
                    position = length - size
                    same = known[length].get(hasher.copy().hexdigest())
                    if same is not None:
                        known_as, known_size = same, length
                hasher.update(memoryview(data)[position:])
                if size % SEGMENT == 0:
                    line_counts.append(lines)
                lines += data.count(b"\n")
                size += len(data)
                cut = data.rfind(b"\n") + 1
                tail = data[cut:] if cut else tail + data
                if len(tail) > _BLOCK and layout_of(sample) is None:  # no log: not worth the memory
                    tail = b""
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        return Survey(path, 0, "", None, 0, None, True, (), 0, f"{error}" or type(error).__name__)
    layout = layout_of(sample)
    held = len(tail) if layout and tail and not layout.head.match(tail) else 0
    name = layout.name if layout else None
    return Survey(path, size, hasher.hexdigest(), known_as, known_size, name, plain, tuple(line_counts), held)


@dataclass(frozen=True)
class Range:
    """What one task reads: the records that start in [start, end) of a stream; `end` None: to its end."""

    file_id: str
    path: str
    layout: str
    zone: str
    start: int
    end: int | None
    limit: int  # bytes of the stream that are not held back
    first_line: int


def ranges(surveyed: Survey, file_id: str, zone: str) -> list[Range]:
    """A stream cut into ranges; compressed ones are read in one piece."""
    if surveyed.layout is None:
        return []
    limit = surveyed.size - surveyed.held_back
    starts = [i * SEGMENT for i in range(len(surveyed.line_counts))] if surveyed.plain else [0]
    ends: list[int | None] = [*starts[1:], None]
    return [
        Range(file_id, surveyed.path, surveyed.layout, zone, start, end, limit, lines + 1)
        for start, end, lines in zip(starts, ends, surveyed.line_counts, strict=False)
        if start < limit or start == 0
    ]


def open_range(task: Range) -> BinaryIO:
    """The stream of a range, positioned as `framing.frames` wants it."""
    stream = open_stream(task.path)
    position = max(task.start - 1, 0)
    stream.seek(position)
    return cast(BinaryIO, Bounded(stream, position, task.limit))


LAYOUT_BY_NAME = {layout.name: layout for layout in LAYOUTS}
NODE_FOLDERS = ("broker", "controller", "kafka", "node", "server")


def node_of_path(path: str) -> int | None:
    """The node that a folder such as `broker-3` or `controller_101` names; None if none does."""
    for part in reversed(Path(path).parts[:-1]):
        word = part.rstrip("0123456789")
        number = part[len(word) :]
        if word.rstrip("-_.").lower() in NODE_FOLDERS and 0 < len(number) < 10:  # longer ones are no ids
            return int(number)
    return None


def known_streams(rows: Collection[tuple[int, str, str]]) -> dict[int, dict[str, str]]:
    """(size, prefix hash, file id) of the streams seen before, as `survey` wants them."""
    known: dict[int, dict[str, str]] = {}
    for size, digest, file_id in rows:
        known.setdefault(size, {})[digest] = file_id
    return known
