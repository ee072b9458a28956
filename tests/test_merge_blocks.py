"""Records found by their bytes are those of the framer, and what is put aside or looked up comes back as it was."""

from __future__ import annotations

import gzip
import io
import random
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np
import pytest

from udfs.logs import timestamps as clock
from udfs.logs.formats import format_named, format_of
from udfs.logs.framing import Frames, frames
from udfs.logs.timestamps import micros_of
from udfs.merge import usual_layout
from udfs.merge.block import Block, Pool, ReadTotals
from udfs.merge.blocks import blocks
from udfs.merge.streams import IndexedStream, RecordIndex, SpilledRecords, suffix_minima
from udfs.merge.usual_layout import starts_from

if TYPE_CHECKING:
    from udfs.logs.arrays import Longs

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
OURS = sorted((ROOT / "data").rglob("*.log*"))
CAPTURED = sorted((SHARED / "captures").rglob("*.log"))[::8]
PUBLIC = sorted(path for path in (SHARED / "corpus").rglob("*") if path.is_file() and path.stat().st_size < 2 << 20)

LINE = "[2026-11-21 10:00:0{},000] TRACE [Broker id=1] Add {} (state.change.logger)\n"


def as_is(local: Longs, offsets: Longs, is_utc: object) -> Longs:
    return local


def ours(text: bytes, size: int) -> list[tuple[int, bytes, int]]:
    """Line number, bytes and time of each record, as `merge` finds them."""
    records = []
    for block in blocks(io.BytesIO(text), None, as_is, ReadTotals(), pool=Pool(size), first_line=1):
        assert block.lines is not None
        records += [(int(block.lines[i]), block.raw(i), int(block.times[i])) for i in range(len(block))]
    return records


def theirs(text: bytes) -> list[tuple[int, bytes, int]]:
    """The same by the framer: a record that begins inside a line begins with the line, a last line end is added."""
    records: list[tuple[int, bytes, int]] = []
    text += b"" if text.endswith(b"\n") or not text else b"\n"
    starts: list[tuple[int, int, bytes]] = []  # byte, line, time
    for part in frames(io.BytesIO(text), format_named("apache"), 0, None, 1):
        if isinstance(part, Frames):
            starts += zip(part.offsets.tolist(), part.lines.tolist(), [head[0] for head in part.heads], strict=True)
    begins: list[int] = []
    for i, (at, _, _) in enumerate(starts):
        begin = text.rfind(b"\n", 0, at) + 1
        begins.append(at if i and begins[-1] >= begin else begin)
    times = micros_of([at for _, _, at in starts]).micros.tolist()
    there = [time for time in times if time != clock.NO_TIME]
    last = there[0] if there else 0
    for begin, end, (_, line, _), time in zip(begins, [*begins[1:], len(text)], starts, times, strict=False):
        last = last if time == clock.NO_TIME else time
        records.append((line, text[begin:end], last))
    return records


def test_a_time_that_does_not_exist_is_the_clocks() -> None:
    assert usual_layout.NO_TIME == clock.NO_TIME


TEXTS = {
    "nothing": b"",
    "no record": b"hello\nworld\n",
    "no line end": LINE.format(1, "a").encode()[:-1],
    "what stands before the first": b"noise\n" + LINE.format(1, "a").encode(),
    "stack traces": b"".join(LINE.format(i, i).encode() + b"\tat x\n" * i for i in range(9)),
    "CR LF": LINE.format(1, "a").replace("\n", "\r\n").encode() * 3,
    "a byte order mark": b"\xef\xbb\xbf" + LINE.format(1, "a").encode() * 2,
    "a hole of zeros": LINE.format(1, "a").encode() + bytes(90) + LINE.format(2, "b").encode(),
    "torn": LINE.format(1, "a").encode() + b"[2026-1" + LINE.format(2, "b").encode() + LINE.format(3, "c").encode(),
    "two in a line": LINE.format(1, "a").encode()[:40] + LINE.format(2, "b").encode() + LINE.format(3, "c").encode(),
    "a list at the begin of a line": LINE.format(1, "a").encode()
    + b"[1, 2]\n[20, 21] x\n"
    + LINE.format(2, "b").encode(),
    "another level": LINE.format(1, "a").replace("TRACE", "NOTICE").encode() + LINE.format(2, "b").encode(),
    "more blanks": LINE.format(1, "a").replace("] TRACE", "]  INFO").encode() + LINE.format(2, "b").encode(),
    "no milliseconds": LINE.format(1, "a").replace(",000", "").encode() + LINE.format(2, "b").encode(),
    "no such day": LINE.format(1, "a").encode() + LINE.format(2, "b").replace("11-21", "02-31").encode(),
    "no such hour": LINE.format(1, "a").encode() + LINE.format(2, "b").replace(" 10:", " 25:").encode(),
    "over midnight": LINE.format(1, "a").encode() + LINE.format(2, "b").replace("21 10", "22 00").encode(),
    "over new year": LINE.format(1, "a").encode() + LINE.format(2, "b").replace("2026-11", "2027-01").encode(),
    "a stamp in a text": LINE.format(1, "seen [2026-11-21 10:00:00,000] before").encode()
    + LINE.format(2, "b").encode(),
    "a record of many blocks": LINE.format(1, "a").encode() + b"\tat x\n" * 2000 + LINE.format(2, "b").encode(),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("size", [512, 1000, 1 << 20])
def test_records_are_those_of_the_framer(name: str, size: int) -> None:
    assert ours(TEXTS[name], size) == theirs(TEXTS[name])


@pytest.mark.parametrize("seed", range(20))
def test_records_of_broken_logs_are_those_of_the_framer(seed: int) -> None:
    """Bytes cut out, doubled, overwritten: whatever the framer makes of it."""
    dice = random.Random(seed)
    text = bytearray(
        dice.choice([path for path in OURS if path.suffix == ".log" and path.stat().st_size > 9000]).read_bytes()[
            :40000
        ]
    )
    for _ in range(30):
        at = dice.randrange(len(text) - 60)
        size = dice.randrange(60)
        text[at : at + size] = dice.choice([b"", text[at : at + size] * 2, bytes(size), b"\n", b"\xef\xbb\xbf", b"["])
    assert ours(bytes(text), 4096) == theirs(bytes(text))


@pytest.mark.parametrize("paths", [OURS, CAPTURED, PUBLIC], ids=["ours", "captures", "corpus"])
def test_records_of_real_logs_are_those_of_the_framer(paths: list[Path]) -> None:
    if not paths:
        pytest.skip("these logs are not there")
    some = 0
    for path in paths:
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        format_ = format_of(text[: 256 << 10])
        if format_ is not None and format_.name == "apache":
            assert ours(text, 64 << 10) == theirs(text), path
            some += 1
    assert some


def test_unframed_bytes_are_counted() -> None:
    totals = ReadTotals()
    list(blocks(io.BytesIO(b"noise\nmore\n" + LINE.format(1, "a").encode()), None, as_is, totals, pool=Pool()))
    assert (totals.records, totals.unframed_bytes, totals.bytes) == (1, 11, 11 + len(LINE.format(1, "a")))


def test_starts_in_the_midst_of_a_file() -> None:
    text = b"".join(LINE.format(i % 10, i).encode() for i in range(5000))
    each = [i for i in range(len(text)) if text.startswith(b"[2026", i)]
    for at in (0, 1, 63, 70000, 200001, len(text) - 5):
        assert [start for start, _ in starts_from(io.BytesIO(text), at, len(text))] == [s for s in each if s >= at]


def block_of(records: list[tuple[int, bytes]]) -> Block:
    """Records that follow each other, with their times."""
    data = b"".join(raw for _, raw in records)
    ends = np.cumsum([len(raw) for _, raw in records])
    starts = np.concatenate(([0], ends[:-1]))
    lines = np.arange(1, len(records) + 1)
    return Block(data, starts, ends, np.array([at for at, _ in records], np.int64), lines, ranks=lines % 3)


def records_of(block_list: list[Block]) -> list[tuple[int, bytes]]:
    return [(int(block.times[i]), block.raw(i)) for block in block_list for i in range(len(block))]


def test_what_was_put_aside_comes_back_sorted() -> None:
    """More than is kept in memory, of two files; equal times stay in the order of the file."""
    dice = random.Random(1)
    files = [[(dice.randrange(1000), b"%d %d\n" % (file, i) * 40) for i in range(9000)] for file in (0, 1)]
    aside = SpilledRecords()
    for file, records in enumerate(files):
        for at in range(0, len(records), 500):
            aside.add(file, block_of(records[at : at + 500]))
    pieces: dict[int, list[tuple[int, bytes]]] = {0: [], 1: []}
    for stream in aside.streams():
        block_list = list(stream.blocks(Pool()))
        assert stream.minima == [int(block.times[0]) for block in block_list]
        assert all(
            block.lines is not None and np.array_equal(np.asarray(block.ranks), block.lines % 3) for block in block_list
        )
        assert records_of(block_list) == sorted(records_of(block_list), key=lambda record: record[0])
        pieces[stream.file] += records_of(block_list)
    for file, records in enumerate(files):
        assert sorted(pieces[file], key=lambda r: r[0]) == sorted(records, key=lambda r: r[0])


def test_what_was_looked_up_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"noise\n" + b"".join(LINE.format(i % 10, i).encode() for i in range(3000)) + b"no end")
    stream, block_list = IndexedStream(0, lambda: cast(BinaryIO, path.open("rb", buffering=0)), True, RecordIndex()), []
    with path.open("rb", buffering=0) as file:
        for block in blocks(file, None, as_is, ReadTotals(), pool=Pool(8192), first_line=1):
            stream.note(block)
            block_list.append(block)
    stream.done()
    again = list(stream.blocks(Pool(8192)))
    stream.is_plain = False  # the same from a stream that can only be read on
    assert records_of(list(stream.blocks(Pool(8192)))) == records_of(again)
    assert records_of(again) == records_of(block_list)
    assert [block.lines.tolist() for block in again if block.lines is not None] == [
        block.lines.tolist() for block in block_list if block.lines is not None
    ]
    assert list(stream.minima) == suffix_minima([int(block.times.min()) for block in block_list])


def test_how_much_of_a_file_is_kept_is_known_before() -> None:
    """In order it is one block; a last record that belongs to the begin keeps all."""
    raw = b"x" * 99 + b"\n"
    for times, expected in (([1, 2, 3, 4], 100), ([1, 2, 3, 0], 400), ([1, 3, 2, 4], 200)):
        stream = IndexedStream(0, lambda: io.BytesIO(), True, RecordIndex())
        for at in times:
            stream.note(block_of([(at, raw)]))
        stream.done()
        assert stream.most_kept() == expected


def test_a_file_that_cannot_be_read_again_is_reported_once_and_has_no_more_records(tmp_path: Path) -> None:
    """As a log that is truncated between the looking up and the writing: what comes before it is not lost."""
    path, errors = tmp_path / "a.log", []
    path.write_bytes(b"".join(LINE.format(i % 10, i).encode() for i in range(3000)))
    stream = IndexedStream(
        0,
        lambda: cast(BinaryIO, path.open("rb", buffering=0)),
        True,
        RecordIndex(),
        cut_short=lambda error: errors.append(str(error)),
    )
    with path.open("rb", buffering=0) as file:
        for block in blocks(file, None, as_is, ReadTotals(), pool=Pool(8192)):
            stream.note(block)
    stream.done()
    again = stream.blocks(Pool(8192))
    first = next(again)
    assert len(first) > 0
    with path.open("r+b") as file:
        file.truncate(100)
    assert [len(block) for block in again] == [0] * (len(stream.minima) - 1)
    assert errors == ["it became shorter while it was read"]
