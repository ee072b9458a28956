"""A filter that looks for bytes first gives what framing every record gives: the same records, in the same order."""

from __future__ import annotations

import io
import random
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from click.testing import CliRunner

from jobs.cli import main
from jobs.merge import reading
from udfs.merge import search, usual_blocks
from udfs.merge.block import Block, Pool, ReadTotals
from udfs.merge.blocks import blocks
from udfs.merge.name_search import LEAST_NAME, NameSearch
from udfs.merge.search import Search
from udfs.merge.topic_filter import TopicFilter, literal_hits

if TYPE_CHECKING:
    from udfs.logs.arrays import Longs

ROOT = Path(__file__).resolve().parents[1]
OURS = sorted(path for path in (ROOT / "data").rglob("*.log") if path.stat().st_size > 9000)
BLOCK_BYTES = 32 << 10


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many blocks in small logs."""
    monkeypatch.setattr(reading, "Pool", partial(Pool, BLOCK_BYTES))
    monkeypatch.setattr(usual_blocks, "CONTEXT_BYTES", 4 << 10)
    monkeypatch.setattr(search, "_SAME_TIME_BYTES", 8 << 10)


# ---- whole runs ------------------------------------------------------------------------------------------------------
FILTERS = [
    "--topic payments",
    "--topic payments --partitions 0",
    "--topic orders --partitions 1,2 --format jsonl",
    "--topic orders --since 11:47 --until 11:48:10 --format csv",
    "--topic orders --level WARN+",
    "--topic orders --grep become-leader --format short",
    "--topic 2",
    "--topic nothing",
    "--correlation-id 9 --format jsonl",
    "--level ERROR",
    "--level ERROR,WARN --only controller",
    "--event isr_shrinking",
    "--event isr_shrinking,isr_expanding --zone Europe/Berlin",
    "--grep StateChangeFailedException --format jsonl",
    "--grep ElectionStrategy(false)",
    "--grep at.kafka --count",
    "--topic payments --limit 7",
]


@pytest.mark.parametrize("cluster", ["zk-2.4.1", "kraft-4.1.0"])
@pytest.mark.parametrize("argv", FILTERS)
def test_a_run_that_searches_prints_what_one_that_does_not_prints(
    argv: str, cluster: str, small_blocks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = ROOT / "data" / cluster / "logs"
    if not logs.exists():
        pytest.skip("this cluster is not here")
    outputs = []
    for least in (1 << 40, 0):
        monkeypatch.setattr(reading, "SEARCHED_FROM", least)
        result = CliRunner().invoke(main, ["merge", str(logs), *argv.split()], catch_exceptions=False)
        assert result.exit_code == 0
        outputs.append(result.stdout_bytes)
    assert outputs[0] == outputs[1]


def test_what_was_searched_is_said(small_blocks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "SEARCHED_FROM", 0)
    logs = str(ROOT / "data" / "zk-2.4.1" / "logs")
    summary = CliRunner().invoke(main, ["merge", logs, "--grep", "Shrinking ISR"]).stderr
    assert re.search(
        r"records read from 15 files, \d+ matched, 0 bytes outside records, [\d,]+ bytes searched", summary
    )


def test_that_a_search_found_nothing_is_said_by_bytes(small_blocks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "SEARCHED_FROM", 0)
    logs = ROOT / "data" / "zk-2.4.1" / "logs"
    result = CliRunner().invoke(main, ["merge", str(logs), "--topic", "no-such-topic"])
    assert (result.exit_code, result.stdout) == (0, "")
    # of compressed ones those that are read
    assert "of topic no-such-topic in 15 files with 4,106,462 bytes from 2026-11-21 11:4" in result.stderr


# ---- blocks ----------------------------------------------------------------------------------------------------------
def holding(text: bytes, wanted: bytes, size: int, find_hits: Search | None) -> list[tuple[int, bytes, int]]:
    """Line number, bytes and time of the records that hold some bytes."""
    records = []
    for block in blocks(io.BytesIO(text), None, _as_is, ReadTotals(), pool=Pool(size), first_line=1, search=find_hits):
        assert block.lines is not None
        for i in range(block.repeated, len(block)):
            if wanted in block.raw(i):
                records.append((int(block.lines[i]), block.raw(i), int(block.times[i])))
    return records


def _as_is(local: Longs, offsets: Longs, is_utc: object) -> Longs:
    return local


@pytest.mark.parametrize("seed", range(30))
def test_records_of_broken_logs_are_those_of_all_records(seed: int, small_blocks: None) -> None:
    """Bytes cut out, doubled, overwritten; torn lines, holes, times that do not exist, hits in stack traces."""
    dice = random.Random(seed)
    text = bytearray(dice.choice(OURS).read_bytes()[:300_000])
    for _ in range(60):
        at = dice.randrange(len(text) - 60)
        size = dice.randrange(60)
        noise = [b"", text[at : at + size] * 2, bytes(size), b"\n", b"\xef\xbb\xbf", b"[", b"NEEDLE", b"\nNEEDLE\n"]
        text[at : at + size] = dice.choice(noise)
    for _ in range(5):
        at = text.find(b"\n[20", dice.randrange(len(text)))
        if at > 0:
            text[at + 12 : at + 14] = b"27"  # an hour that does not exist
            text[at + 40 : at + 40] = b"NEEDLE"
    find_hits = partial(literal_hits, [b"NEEDLE"])
    records = holding(bytes(text), b"NEEDLE", BLOCK_BYTES, find_hits)
    assert records == holding(bytes(text), b"NEEDLE", BLOCK_BYTES, None) != []


def test_records_of_one_time_come_along_for_their_ranks(small_blocks: None) -> None:
    """Also those of the block before, and those behind which another time stands."""
    line = b"[2026-11-21 10:00:%02d,%03d] TRACE %s (state.change.logger)\n"
    lines = [line % (i // 1000, i % 1000, b"x" * 40) for i in range(3000)]
    lines[1500:1500] = [line % (1, 600, b"a"), line % (1, 599, b"b"), line % (1, 600, b"NEEDLE")]
    find_hits = partial(literal_hits, [b"NEEDLE"])
    block_list = [
        block
        for block in blocks(
            io.BytesIO(b"".join(lines)), None, _as_is, ReadTotals(), pool=Pool(BLOCK_BYTES), search=find_hits
        )
        if any(b"NEEDLE" in block.raw(i) for i in range(len(block)))
    ]
    (block,) = block_list
    around = [block.raw(i) for i in range(len(block))]
    assert around[: around.index(lines[1502]) + 1] == lines[1500:1503]


def test_what_a_block_repeats_stays_marked() -> None:
    starts = np.arange(0, 50, 10)
    block = Block(b"x" * 50, starts, starts + 10, np.array([5, 4, 3, 2, 1]), repeated=2)
    assert block.chosen(np.array([1, 2, 4])).repeated == 1
    assert block.chosen(block.times <= 4).repeated == 1
    assert block.chosen(np.array([3])).repeated == 0


# ---- names -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [b"order", b"orders", b"orders.", b"payments", b"a-long.name_of-a-topic", b"ooooo"])
def test_a_name_is_found_wherever_it_stands(name: bytes) -> None:
    assert len(name) >= LEAST_NAME
    dice = random.Random(0)
    anything = np.ones(256, np.bool_), np.ones(1 << 16, np.bool_)
    parts = [name, name[:-1], name[1:], b"o", b"\n", b"xyz"]
    for _ in range(200):
        text = b"".join(dice.choice(parts) for _ in range(dice.randrange(40)))
        begin = dice.randrange(len(text) + 1)
        stop = dice.randrange(begin, len(text) + 1)
        expected = [at for at in range(begin, stop) if text.startswith(name, at) and at + len(name) <= stop]
        assert NameSearch(name, *anything).places(text + bytes(64), begin, stop) == expected


@pytest.mark.parametrize("partitions", [frozenset[int](), frozenset({3}), frozenset({0, 12})])
@pytest.mark.parametrize("topic", ["orders", "pay", "pay-in.eu"])
def test_each_wanted_record_has_a_hit(topic: str, partitions: frozenset[int]) -> None:
    behind = ["-3", "-12", "-33", "-3-7", ".3", "-x", ",3]", ", 3]", "', partitionIndex=3", '", "partition": 3']
    behind += ["/partitions/3", "", ".", "'", " ", "-0.", "-0.log", "_a", "-a3", "..", ",", "-03"]
    before = ["", " ", "[", "x", "-", "'", '"', "/", "."]
    records = [f"[2026-11-21 10:00:00,000] INFO {b}{topic}{e} end\n".encode() for b in before for e in behind]
    data = b"".join(records) + bytes(64)
    ends = np.cumsum([len(record) for record in records])
    block = Block(data, ends - [len(record) for record in records], ends, np.zeros(len(ends), np.int64))
    filter_ = TopicFilter(topic, partitions)
    sure, unsure = filter_.rows(block)
    hits = filter_.hits(data, 0, int(ends[-1]))
    assert hits is not None
    assert {int(np.searchsorted(ends, hit, "right")) for hit in hits} == sure | unsure
