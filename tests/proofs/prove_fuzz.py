"""Random edits of real logs: nothing crashes, every byte is accounted for, and only touched records change.

    PYTHONPATH=. python tests/proofs/prove_fuzz.py [EDITS [SEED]]

An edit cuts, duplicates, swaps or inserts bytes in a piece of a log of the captures (of `data/`, where they are not
there). Touched are the records whose bytes it changes, the one before them, whose further lines they may become, and
the one behind it; in a metadata dump the whole batch. All others must be read as before, at their new place. Prints its
figures and how to repeat what failed; exits with 1 if anything did.
"""

from __future__ import annotations

import io
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from udfs.arrow.parse import read_range
from udfs.arrow.schema import SCHEMA
from udfs.logs.arrays import Longs
from udfs.logs.formats import Format, format_of
from udfs.logs.framing import OtherBytes, frames

ROOT = Path(__file__).resolve().parents[2]
LOGS = next(p for p in (ROOT.parent / "shared" / "captures", ROOT / "data") if p.is_dir())
EDITS = 100_000
PIECE_BYTES = (5_000, 20_000, 50_000)
EDITS_OF_A_PIECE = 250
COUNTED = ("event_bytes", "detail_bytes", "reject_bytes", "other_bytes")
PLACES = ["line", "byte_offset"]
JUNK = (
    b"\n", b"\r\n", b"\n\n\n", b"\0" * 40, b"\xef\xbb\xbf", b"\xff\xfe\xc3", b"\x1b[31m", b"[", b"] INFO ", b"\t",
    b"[2026-11-21 10:00:00,000] ", b"\n[2026-02-31 25:61:00,000] INFO a (state.change.logger)\n", b"(", b")\n",
    b" (kafka.controller.KafkaController)\n", b"\n[2026-11-21 10:00:00,000] TRACE x (state.change.logger)\n",
    b"\xe2\x80\xa8", b"\n\tat kafka.controller.KafkaController.run(KafkaController.scala:1)\n", b"9" * 30, b"{" * 50,
    b'"', b"\\", b",", b"-",
)  # fmt: skip


@dataclass(frozen=True)
class Read:
    """What the readers make of a log: its records in scope, and its account."""

    records: pa.Table
    counted: int

    @cached_property
    def offsets(self) -> Longs:
        """Byte offsets of these records."""
        offsets: Longs = self.records["byte_offset"].to_numpy()
        return offsets


def read(data: bytes, format_: Format) -> Read:
    """Read a log as a worker does."""
    batches = list(read_range(io.BytesIO(data), format_, "UTC", "f", 0, None, 1))
    accounts = [dict(row) for row in batches.pop()["fields"].to_pylist()]
    counted = sum(int(account[name]) for account in accounts for name in COUNTED)
    return Read(pa.Table.from_batches(batches, SCHEMA), counted)


def starts_of(data: bytes, format_: Format) -> Longs:
    """Where the records of a log start, those out of scope, too."""
    parts = [part for part in frames(io.BytesIO(data), format_, 0, None, 1) if not isinstance(part, OtherBytes)]
    return np.concatenate([np.zeros(0, np.int64), *(part.offsets for part in parts)])


@dataclass(frozen=True)
class Edit:
    """Bytes [start, end) of a log are replaced by others."""

    kind: str
    start: int
    end: int
    by: bytes

    def of(self, data: bytes) -> bytes:
        """The log that it makes."""
        return data[: self.start] + self.by + data[self.end :]


def some_edit(dice: random.Random, data: bytes) -> Edit:
    """An edit of a log; mostly of few bytes."""
    kind = dice.choice(("cut", "duplicate", "swap", "insert"))
    size = min(dice.choice((1, 1, 2, 5, 20, 100, 500, 3000)) * dice.randint(1, 3), len(data) // 4)
    start = dice.randrange(len(data) - size)
    end = start + size
    if kind == "cut":
        return Edit(kind, start, end, b"")
    if kind == "duplicate":
        return Edit(kind, end, end, data[start:end])
    if kind == "swap":
        return Edit(
            kind,
            start,
            end,
            data[start:end][::-1]
            if size < 3
            else data[end - 1 : end] + data[start + 1 : end - 1] + data[start : start + 1],
        )
    by = dice.choice(JUNK) if dice.random() < 0.7 else dice.randbytes(size)
    return Edit(kind, start, start, by)


class Piece:
    """A log, read once without an edit."""

    def __init__(self, data: bytes, format_: Format) -> None:
        self.data, self.format = data, format_
        self._read = read(data, format_)
        self._starts = starts_of(data, format_)
        self._batches = self._starts
        if format_.layout.batches:
            lines = [data[start : start + 11] == b"baseOffset:" for start in self._starts]
            self._batches = self._starts[np.array(lines, np.bool_)]

    def failure(self, edit: Edit) -> str | None:
        """What an edit breaks; None if nothing."""
        data = edit.of(self.data)
        format_ = format_of(data)
        if format_ is None and not len(starts_of(data, self.format)):
            return None  # all its records were cut away
        if format_ is None:
            return "it is not recognised as a log"
        try:
            after = read(data, format_)  # a colour code makes it a log with colours; its records are the same
        except Exception as error:  # whatever it is, it must not happen
            return f"crash: {type(error).__name__}: {error}"
        if after.counted != len(data):
            return f"{after.counted} of {len(data)} bytes are accounted for"
        touched = int(np.searchsorted(self._starts, edit.start, "right")) - 1
        begin = int(self._starts[touched - 1]) if touched > 0 else 0
        behind = np.searchsorted(self._batches, edit.end, "right")
        end = int(self._batches[behind]) if behind < len(self._batches) else len(self.data)
        return self._differs_before(after, begin) or self._differs_behind(after, end, len(data) - len(self.data), edit)

    def _differs_before(self, after: Read, begin: int) -> str | None:
        count = int(np.searchsorted(self._read.offsets, begin))
        same = self._read.records.slice(0, count).equals(after.records.slice(0, count))
        if not same or int(np.searchsorted(after.offsets, begin)) != count:
            return "a record before it changed"
        return None

    def _differs_behind(self, after: Read, end: int, moved: int, edit: Edit) -> str | None:
        count = len(self._read.offsets) - int(np.searchsorted(self._read.offsets, end))
        if len(after.offsets) - int(np.searchsorted(after.offsets, end + moved)) != count:
            return "a record behind it was lost or invented"
        before = self._read.records.slice(len(self._read.offsets) - count)
        now = after.records.slice(len(after.offsets) - count)
        lines = edit.by.count(b"\n") - self.data.count(b"\n", edit.start, edit.end)
        for name, by in zip(PLACES, (lines, moved), strict=True):
            if not np.array_equal(before[name].to_numpy() + by, now[name].to_numpy()):
                return f"the {name} of a record behind it is wrong"
        if not before.drop_columns(PLACES).equals(now.drop_columns(PLACES)):
            return "a record behind it changed"
        return None


def files(logs: Path) -> list[Path]:
    """All logs and dumps of the captures."""
    return sorted(p for p in logs.rglob("*") if p.is_file() and (".log" in p.name or "dump" in p.name))


def pieces(dice: random.Random, logs: list[Path]) -> Iterator[tuple[str, Piece]]:
    """Pieces of random logs, with their names, without end. One may begin and end within a record."""
    while True:
        path = dice.choice(logs)
        data = path.read_bytes()
        size = dice.choice(PIECE_BYTES)
        start = dice.randrange(max(1, len(data) - size))
        piece = data[start : start + size]
        format_ = format_of(piece)
        if format_ is not None and len(piece) > 2000:
            yield f"{path}:{start}", Piece(piece, format_)


def fuzz(count: int, seed: int, logs: list[Path], each: int = EDITS_OF_A_PIECE) -> tuple[Counter[str], list[str]]:
    """Make `count` edits; how many of each kind there were, and a line for each that broke something."""
    dice = random.Random(seed)
    kinds: Counter[str] = Counter()
    failures: list[str] = []
    for name, piece in pieces(dice, logs):
        for _ in range(min(each, count - kinds.total())):
            edit = some_edit(dice, piece.data)
            kinds[edit.kind] += 1
            if wrong := piece.failure(edit):
                failures.append(f"{name}: {edit}: {wrong}")
        if kinds.total() >= count:
            break
    return kinds, failures


def main() -> int:
    """The exit code."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else EDITS
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    begun = time.process_time()
    kinds, failures = fuzz(count, seed, files(LOGS))
    for failure in failures[:20]:
        print(failure)
    by_kind = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))
    print(
        f"{kinds.total()} edits ({by_kind}), {len(failures)} broke something; "
        f"{time.process_time() - begun:.0f} s of CPU"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
