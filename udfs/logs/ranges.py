"""The ranges of streams that tasks read: planned from a survey, opened and checked against it."""

from __future__ import annotations

import io
import os
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO, cast

from udfs.errors import FileChanged
from udfs.logs.limits import VETTED, Limits
from udfs.logs.paths import Source
from udfs.logs.sources import Refusal, open_source, walk_bundle
from udfs.logs.survey import READ_BYTES, SEGMENT, Survey, identity_on_disk
from udfs.logs.timestamps import ClockChanges

LEAST_PIECE, MOST_PIECES = 4, 8
"""Of what is decompressed from its begin: SEGMENTs that a group has at least, and groups at most. To decompress takes a
fifth of the time that parsing takes, so more groups cost more than they save."""


@dataclass(frozen=True)
class Range:
    """What one task reads: the records that start in [start, end) of a stream; `end` None: to its end."""

    file_id: str
    path: str
    member: str
    format: str
    zone: str
    start: int
    end: int | None
    limit: int  # bytes of the stream that are not held back
    first_line: int
    size: int  # bytes of the stream that the survey saw
    inode: int
    checks: tuple[int, ...]  # CRC-32 of each SEGMENT from `start` to `end`, of what is not cut: to `size`
    clock_changes: ClockChanges
    direct: bool
    seekable: bool
    before: int = 0  # decompressed bytes of the file's streams that stand before this one
    checked_from: int | None = None  # byte at which the first of `checks` begins; None: at `start`

    @property
    def is_part(self) -> bool:
        """Whether other ranges of the stream may be read by others."""
        return self.start > 0 or self.end is not None


def ranges(surveyed: Survey, file_id: str, zone: str | None = None, start: int = 0, first_line: int = 1) -> list[Range]:
    """A stream cut into ranges, from a record's `start` on `first_line` on; what cannot be cut is read in one piece.

    `zone` None: the survey's.
    """
    if surveyed.format is None or surveyed.status == "refused":
        return []
    limit = surveyed.size - surveyed.held_back
    apart = surveyed.splittable
    skipped = start // SEGMENT if apart else 0
    starts = [start, *(i * SEGMENT for i in range(skipped + 1, len(surveyed.line_counts)))] if apart else [start]
    ends: list[int | None] = [*starts[1:], None]
    return [
        Range(
            file_id,
            surveyed.source.path,
            surveyed.source.member,
            surveyed.format,
            zone or surveyed.zone,
            begin,
            end,
            limit,
            surveyed.line_counts[i] + 1 if begin > start else first_line,
            surveyed.size,
            surveyed.inode,
            surveyed.checks[i : i + 1] if apart else surveyed.checks,
            surveyed.clock_changes,
            surveyed.direct,
            surveyed.seekable,
            surveyed.before,
            None if begin > start else skipped * SEGMENT,
        )
        for i, (begin, end) in enumerate(zip(starts, ends, strict=True), skipped)
        if begin < limit or begin == 0
    ]


def groups(tasks: Sequence[Range], parts: int = 1) -> list[list[Range]]:
    """Ranges to be read together by one `open_ranges`, the largest groups first; `parts`: tasks that run at once.

    What has to be decompressed from its begin, a large compressed stream or all of a .tar.gz, is one group, or as many
    as pay: each decompresses what stands before it, too. Others are put together up to a SEGMENT, for opening a bundle
    costs as much as its list of members is long.
    """
    packed: dict[tuple[str, str], list[Range]] = defaultdict(list)
    by_path: dict[str, list[list[Range]]] = {}
    for task in sorted(tasks, key=lambda task: task.path):  # stable: else as given
        if not task.direct or (task.is_part and not task.seekable):
            packed[task.path, task.member if task.direct else ""].append(task)
            continue
        of_path = by_path.setdefault(task.path, [[]])
        if _weight(of_path[-1]) + _weight([task]) > SEGMENT:
            of_path.append([])
        of_path[-1].append(task)
    together = [group for of_path in by_path.values() for group in of_path]
    together += [piece for unpacked in packed.values() for piece in _pieces(unpacked, parts)]
    return sorted(filter(None, together), key=lambda group: -_weight(group))


def _pieces(tasks: Sequence[Range], parts: int) -> list[list[Range]]:
    """What is decompressed from one begin, in its order, cut into groups of about one size; some may be empty."""
    ordered = sorted(tasks, key=lambda task: (task.before, task.start))
    total = max(_weight(ordered), 1)
    count = max(min(parts, MOST_PIECES, total // (LEAST_PIECE * SEGMENT)), 1)
    pieces: list[list[Range]] = [[] for _ in range(count)]
    done = 0
    for task in ordered:
        pieces[min(done * count // total, count - 1)].append(task)
        done += _weight([task])
    return pieces


def _joined(tasks: Sequence[Range]) -> list[Range]:
    """Ranges of one stream in their order; where it is read from its begin, those that meet are one."""
    joined: list[Range] = []
    for task in sorted(tasks, key=lambda task: task.start):
        if joined and not task.seekable and joined[-1].end == task.start:
            joined[-1] = replace(joined[-1], end=task.end, checks=joined[-1].checks + task.checks)
        else:
            joined.append(task)
    return joined


def _weight(tasks: Sequence[Range]) -> int:
    """Bytes that the tasks read."""
    return sum((task.limit if task.end is None else task.end) - task.start for task in tasks)


class RangeStream(io.RawIOBase):
    """The bytes of a stream from just before a range to the stream's limit; what is left out is held back.

    Knows at the end whether the range's bytes are those that the survey saw.
    """

    def __init__(self, stream: BinaryIO, task: Range, closes: bool) -> None:
        self._stream, self._task, self._closes = stream, task, closes
        self._checked_from = task.start if task.checked_from is None else task.checked_from
        self._at = max(self._checked_from - 1, 0) if stream.seekable() else 0
        if self._at:
            stream.seek(self._at)
        self._checks: list[int] = []
        self._pass_over(max(task.start - 1, 0))

    def readable(self) -> bool:
        """Always."""
        return True

    def tell(self) -> int:
        """The position in the stream, not in the range."""
        return self._at

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes; empty at the end."""
        left = max(self._task.limit - self._at, 0)
        return self._read(left if size < 0 else min(size, left))

    def _read(self, size: int) -> bytes:
        data = self._stream.read(size)
        rest, at = memoryview(data), self._at
        while rest:
            i, done = divmod(at - self._checked_from, SEGMENT)
            part = rest[: SEGMENT - done]
            if i >= 0:
                self._checks += [0] * (i + 1 - len(self._checks))
                self._checks[i] = zlib.crc32(part, self._checks[i])
            else:
                part = rest[: self._checked_from - at]
            rest, at = rest[len(part) :], at + len(part)
        self._at += len(data)
        return data

    def _pass_over(self, end: int) -> None:
        """Read up to a byte, or as far as there are any."""
        while self._at < end and self._read(min(end - self._at, READ_BYTES)):
            pass

    def changed(self) -> bool:
        """Whether the file was cut or written anew since the survey. Reads what is left of the range for that."""
        task = self._task
        end = task.size if task.end is None else task.end
        self._pass_over(end)
        wanted = len(task.checks)
        return self._at < end or (self._checks[:wanted] != list(task.checks))

    def close(self) -> None:
        """Close the stream, too, if it is nobody else's."""
        if self._closes:
            self._stream.close()
        super().close()


def open_range(task: Range) -> BinaryIO:
    """The stream of one range, positioned as `framing.frames` wants it. For several of one file: `open_ranges`."""
    return cast(BinaryIO, RangeStream(open_source(Source(_path_now(task), task.member), VETTED), task, True))


def open_ranges(path: str, tasks: Sequence[Range], limits: Limits = VETTED) -> Iterator[tuple[Range, BinaryIO]]:
    """The streams of several ranges of one file, in one pass over it up to the last, in the order of its members.

    Ranges that meet, of a stream that is read from its begin, are one. Each is to be read before the next one is asked
    for. Raises FileChanged when the file is not what the survey saw; one that was renamed since then is found in its
    folder.
    """
    waiting: dict[str, list[Range]] = {}
    for task in tasks:
        waiting.setdefault(task.member, []).append(task)
    changed = changed_sentence(path)
    for opened in walk_bundle(_path_now(tasks[0]), waiting.keys(), limits) if tasks else ():
        if isinstance(opened, Refusal):
            continue
        for task in _joined(waiting.pop(opened.source.member)):
            stream = RangeStream(opened.stream, task, False)
            yield task, cast(BinaryIO, stream)
            if stream.changed():
                raise FileChanged(changed)
        if not waiting:
            return
    if waiting:
        raise FileChanged(changed)


def changed_sentence(path: str) -> str:
    """What is said of a file that is not what the survey saw."""
    return f"This file changed while it was read: {path}; what is new in it waits for the next run."


def _path_now(task: Range) -> str:
    """Where the file of a range is now: appenders rename a log when its hour is over."""
    folder = os.path.dirname(task.path)
    try:
        if not task.inode or identity_on_disk(os.stat(task.path)) == task.inode:
            return task.path
    except OSError:
        pass
    try:
        with os.scandir(folder) as entries:
            return next((entry.path for entry in entries if identity_on_disk(entry.stat()) == task.inode), task.path)
    except OSError:
        return task.path
