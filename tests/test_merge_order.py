"""The one order: time, rank, node and file, line; lines of one file never swap at equal time."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from udfs.merge.blocks import Block, Pool
from udfs.merge.order import RankedSoFar, merged, rank_of, ranks_of
from udfs.merge.streams import suffix_minima

AT = "[2026-11-21 10:00:00,000] "
RANKED = {  # a record -> its rank: asked, decided, sent, received, anything else, done, answered
    "INFO [Partition a-0 broker=2] Shrinking ISR from 1,2 to 1 (kafka.cluster.Partition)": 0,
    "TRACE [Controller id=1 epoch=2] Changed partition a-0 from NewPartition to OnlinePartition (state.change.logger)": 1,
    "TRACE Controller 1 epoch 2 changed partition [a,0] state from NewPartition to OnlinePartition": 1,
    "INFO [Controller id=1] Something new (kafka.controller.KafkaController)": 1,
    "TRACE [Controller id=1 epoch=2] Sending UpdateMetadata request x to brokers Set(1) for partition a-0": 2,
    "TRACE Controller 1 epoch 2 sending become-leader LeaderAndIsr request (Leader:0": 2,
    "TRACE [Broker id=3] Received LeaderAndIsr request x correlation id 1 from controller 1 epoch 2": 3,
    "TRACE Broker 3 received LeaderAndIsr request x correlation id 1 from controller 1 epoch 2": 3,
    "TRACE [Broker id=3] Handling LeaderAndIsr request correlationId 1 from controller 1 epoch 2": 4,
    "INFO starting (kafka.server.KafkaServer)": 4,
    "TRACE [Broker id=3] Cached leader info x for partition a-0": 5,
    "INFO [Broker id=3] Leader a-0 starts at leader epoch 1 from offset 0": 5,
    "TRACE Broker 3 completed LeaderAndIsr request correlationId 1": 5,
    "INFO [Partition a-0 broker=3] ISR updated to [1] and zkVersion updated to [2]": 5,
    "TRACE [Controller id=1 epoch=2] Received response x for request UPDATE_METADATA with correlation id 1": 6,
    "TRACE Controller 1 epoch 2 received response x for a request sent to broker id:4": 6,
}


@pytest.mark.parametrize("text", RANKED)
def test_the_rank_of_a_record(text: str) -> None:
    assert rank_of((AT + text + "\n").encode()) == RANKED[text]


def test_many_ranks_at_once_are_the_same() -> None:
    raws = [(AT + text + "\n").encode() for text in RANKED] * 3
    random.Random(3).shuffle(raws)
    halves = [
        b"".join(raws[:20]) + bytes(200),
        b"".join(raws[20:]),
    ]  # of the second the last is near the end of its bytes
    which = np.array([0] * 20 + [1] * (len(raws) - 20))
    starts = np.array([sum(map(len, raws[20 * (i >= 20) : i])) for i in range(len(raws))])
    assert ranks_of(halves, which, starts).tolist() == [rank_of(raw) for raw in raws]


@dataclass(eq=False)
class Given:
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


def given(dice: random.Random, files: int, count: int, disorder: int) -> tuple[list[Given], list[Record]]:
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
        streams.append(Given(file, parts))
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
    streams, records = given(dice, files, 60, disorder)
    found = []
    for picked in merged(streams, Pool()):
        which = [0] * len(picked) if picked.which is None else picked.which.tolist()
        assert picked.lines is not None
        rows = zip(picked.times.tolist(), which, picked.lines.tolist(), picked.starts, picked.ends, strict=True)
        found += [(at, picked.files[i], line, bytes(picked.blocks[i].data[a:b])) for at, i, line, a, b in rows]
        assert b"".join(picked.pieces()) == b"".join(raw for *_, raw in found[-len(picked) :])
    assert found == in_order(records)


def test_a_filter_does_not_change_the_order_of_what_is_left() -> None:
    """Ranks of some records depend on all of their file, also of those in the block before."""
    (stream,), records = given(random.Random(7), 1, 70, 0)
    ranks: dict[int, int] = {}
    ranked = RankedSoFar()
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
        Given(day, [Block(raw, np.array([0]), np.array([len(raw)]), np.array([day * 10 + i])) for i in range(5)])
        for day in range(50)
    ]
    most = 0
    for picked in merged(days, Pool()):
        day = int(picked.times[-1]) // 10
        most = max(most, sum(stream.opened for stream in days) - day)
    assert most <= 2
