"""The one order: time, rank, node and file, line; lines of one file never swap at equal time."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from tests.test_event_rank import AT, RANKED
from udfs.merge.block import Block, Pool
from udfs.merge.order import FileRanks, merged
from udfs.merge.streams import suffix_minima
from udfs.rules.event_rank import rank_of


@dataclass(eq=False)
class FileStream:
    """A file's records as a stream of small blocks."""

    file: int
    parts: list[Block]
    opened: int = 0
    minima: Sequence[int] = ()

    def __post_init__(self) -> None:
        self.minima = suffix_minima([int(part.times.min()) for part in self.parts])

    def blocks(self, pool: Pool) -> Iterator[Block]:
        self.opened += 1
        yield from self.parts


Record = tuple[int, int, int, bytes]  # time, file, line, text


def random_streams(dice: random.Random, files: int, count: int, disorder: int) -> tuple[list[FileStream], list[Record]]:
    """Files whose times go up by and by, and step back by at most `disorder`."""
    texts = [(AT + text + "\n").encode() for text in RANKED]
    streams, records = [], []
    for file in range(files):
        times = sorted(dice.randrange(count) for _ in range(count))
        mine = [(max(at - dice.randrange(disorder + 1), 0), file, i, dice.choice(texts)) for i, at in enumerate(times)]
        parts = []
        for at in range(0, count, 7):
            some = mine[at : at + 7]
            ends = np.cumsum([len(raw) for *_, raw in some])
            data = b"".join(raw for *_, raw in some)
            starts = np.concatenate(([0], ends[:-1]))
            lines = np.array([line for _, _, line, _ in some])
            parts.append(Block(data, starts, ends, np.array([at for at, *_ in some], np.int64), lines))
        streams.append(FileStream(file, parts))
        records += mine
    return streams, records


def in_order(records: list[Record]) -> list[Record]:
    """The documented order, by brute force."""
    highest: dict[tuple[int, int], int] = {}
    keyed = []
    for record in sorted(records, key=lambda r: (r[1], r[2])):
        at, file, line, text = record
        highest[file, at] = max(highest.get((file, at), 0), rank_of(text))
        keyed.append(((at, highest[file, at], file, line), record))
    return [record for _, record in sorted(keyed, key=lambda pair: pair[0])]


@pytest.mark.parametrize("disorder", [0, 1, 5, 60])
@pytest.mark.parametrize("files", [1, 2, 5])
def test_a_merge_gives_the_documented_order(files: int, disorder: int) -> None:
    dice = random.Random(files * 100 + disorder)
    streams, records = random_streams(dice, files, 60, disorder)
    merged_records = []
    for part in merged(streams, Pool()):
        which = [0] * len(part) if part.which is None else part.which.tolist()
        assert part.lines is not None
        rows = zip(part.times.tolist(), which, part.lines.tolist(), part.starts, part.ends, strict=True)
        merged_records += [(at, part.files[i], line, bytes(part.blocks[i].data[a:b])) for at, i, line, a, b in rows]
        assert b"".join(part.pieces()) == b"".join(raw for *_, raw in merged_records[-len(part) :])
    assert merged_records == in_order(records)


def test_a_filter_does_not_change_the_order_of_what_is_left() -> None:
    """Ranks of some records depend on all of their file, also of those in the block before."""
    (stream,), records = random_streams(random.Random(7), 1, 70, 0)
    ranks: dict[int, int] = {}
    ranked = FileRanks()
    for part in stream.parts:
        assert part.lines is not None
        some = np.arange(0, len(part), 2)
        ranks.update(zip(part.lines[some].tolist(), ranked.of(part, some).tolist(), strict=True))
    highest: dict[int, int] = {}
    for at, _, line, text in records:
        highest[at] = max(highest.get(at, 0), rank_of(text))
        if line in ranks:
            assert ranks[line] == highest[at]


def test_a_file_is_opened_when_its_time_has_come() -> None:
    """Rotated files of many days: never more than two are open."""
    raw = (AT + next(iter(RANKED)) + "\n").encode()
    days = [
        FileStream(day, [Block(raw, np.array([0]), np.array([len(raw)]), np.array([day * 10 + i])) for i in range(5)])
        for day in range(50)
    ]
    most = 0
    for part in merged(days, Pool()):
        day = int(part.times[-1]) // 10
        most = max(most, sum(stream.opened for stream in days) - day)
    assert most <= 2
