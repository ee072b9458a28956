"""`merge` on whole clusters beside a brute-force oracle: read all, parse all, sort all in memory, and compare bytes.

The oracle shares the rules with `merge` and nothing else: it splits lines with one pattern, and keeps a record if the
rules read the topic and partition from it, or else if its text names them.
"""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from click.testing import CliRunner

from jobs.cli import main
from jobs.merge import reading
from udfs.merge.block import Pool
from udfs.rules.event_rank import rank_of
from udfs.rules.parsing import read_message

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "captures"
CAPTURES = sorted(SHARED.iterdir()) if SHARED.exists() else []
CLUSTERS = {path.name: path / "logs" for path in CAPTURES if path.is_dir()}
OURS = {path.parent.name: path for path in (ROOT / "data").glob("*/logs")}

SOME = ("zk-0.10.2.2", "zk-3.3.2", "kraft-3.9.1")  # the others take longer than a test should

FIRST_LINE = re.compile(
    rb"^\[(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] (?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) +(?P<message>.*?)"
    rb"(?: \((?P<logger>[\w.$-]+)\))?\r?$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Line:
    """A record with its stack trace, where it is, and what the rules read from it."""

    at: str
    node: int
    file: str
    number: int
    raw: bytes
    event: dict[str, Any] | None


@cache
def all_records(logs: Path) -> list[Line]:
    """All records of a cluster in the documented order."""
    records = []
    for path in sorted(logs.rglob("*.log*")):
        if not path.is_file():
            continue
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        text += b"" if not text or text.endswith(b"\n") else b"\n"
        first_lines = list(FIRST_LINE.finditer(text))
        node = int(re.sub(r"\D", "", path.parent.name))
        ends = [*(m.start() for m in first_lines[1:]), len(text)][: len(first_lines)]
        for number, (m, end) in enumerate(zip(first_lines, ends, strict=True)):
            event = read_message((m["logger"] or b"").decode(), m["message"])
            records.append(Line(m["at"].decode(), node, str(path), number, text[m.start() : end], event))
    return sorted(records, key=_key(records))


def _key(records: list[Line]) -> Any:
    """Time, rank (of one file at one time never falling), node, file, line."""
    ranks: dict[int, int] = {}
    highest: dict[tuple[str, str], int] = {}
    for record in records:
        place = (record.file, record.at)
        highest[place] = ranks[id(record)] = max(highest.get(place, 0), rank_of(record.raw))
    return lambda record: (record.at, ranks[id(record)], record.node, record.file, record.number)


def numbers_of(raw: bytes, topic: str) -> set[int]:
    """The partitions of a topic that a text names, in any of the forms that Kafka prints."""
    name = re.escape(topic.encode())
    forms = (
        rb"(?<![\w.-])" + name + rb"-(\d+)(?![\w-]|\.\w)",
        rb"(?<![\w.-])" + name + rb"-(\d+)\.[0-9a-f]{32}-(?:delete|future|stray)(?![\w-])",
        rb"[\[(]" + name + rb", *(\d+)(?:, *\d+)?[\])]",
        rb"(?<![\w.-])" + name + rb"'?, ?[Pp]artition(?:Index|Id|_index)?=(\d+)",
        rb'"' + name + rb'", ?"partition": ?"?(\d+)',
        rb"/" + name + rb"/partitions/(\d+)",
    )
    return {int(number) for form in forms for number in re.findall(form, raw)}


def concerns(record: Line, topic: str, partition: int | None, ids: frozenset[str]) -> bool:
    """Whether a record names a topic, and the partition, by the rules or by its text; or the topic as a whole."""
    named = numbers_of(record.raw, topic)
    if named and (partition is None or partition in named):
        return True
    event = record.event or {}
    for part in [event, *(event.get("partitions") or [])]:
        if part.get("topic") == topic or part.get("topic_id") in ids:
            if partition is None or part.get("partition") in (None, partition):
                return True
            named.add(part["partition"])
    alone = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, [topic, *ids]))})(?![\w-]|\.\w)")
    if named or event.get("topic") or not alone.search(record.raw.decode(errors="replace")):
        return False
    detail = record.raw.partition(b"\n")[2].decode(errors="replace")
    texts = [detail, *(value for value in event.values() if isinstance(value, str))]
    return record.event is None or any(map(alone.search, texts))


@cache
def ids_of(logs: Path, topic: str) -> frozenset[str]:
    """The ids that records name right behind a topic."""
    name = re.escape(topic.encode())
    near = re.compile(
        rb"(?<![\w.-])" + name + rb"(?:-\d+)?[', ]{1,3}(?:with )?topic ?[iI][dD][ =](?:Some\()?([\w-]{22})(?![\w-])"
    )
    return frozenset(id_.decode() for record in all_records(logs) for id_ in near.findall(record.raw))


def choices(logs: Path, count: int, seed: int) -> Iterator[tuple[str, int | None, str, str]]:
    """Topics, partitions and windows, at random but the same each time."""
    records = all_records(logs)
    dice = random.Random(seed)
    named = sorted(
        {(event["topic"], event.get("partition")) for record in records if (event := record.event or {}).get("topic")},
        key=str,
    )
    for i in range(count):
        topic, partition = dice.choice(named)
        ends = sorted((dice.choice(records).at, dice.choice(records).at))
        yield topic, (partition if i % 4 else None), *ends


def output(*argv: str) -> bytes:
    result = CliRunner().invoke(main, ["merge", *argv], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result.stdout_bytes


def check_choices(logs: Path, count: int, seed: int) -> None:
    records = all_records(logs)
    some = 0
    for topic, partition, since, until in choices(logs, count, seed):
        argv = [str(logs), "--topic", topic, "--start-time", since, "--end-time", until]
        ids = ids_of(logs, topic)
        argv += [] if partition is None else ["--partitions", str(partition)]
        expected = [r.raw for r in records if since <= r.at <= until and concerns(r, topic, partition, ids)]
        assert output(*argv) == b"".join(expected), argv
        with patch.object(reading, "SEARCHED_FROM", 0), patch.object(reading, "Pool", partial(Pool, 256 << 10)):
            assert output(*argv) == b"".join(expected), ("searched", argv)
        some += bool(expected)
    assert some > count // 2


def check_everything(logs: Path) -> None:
    assert output(str(logs)) == b"".join(record.raw for record in all_records(logs))


@pytest.mark.parametrize("name", OURS)
def test_everything_comes_in_the_documented_order(name: str) -> None:
    check_everything(OURS[name])


@pytest.mark.parametrize("name", OURS)
def test_a_topic_a_partition_and_a_window(name: str) -> None:
    check_choices(OURS[name], 6, seed=1)


@pytest.mark.parametrize("name", [name for name in SOME if name in CLUSTERS])
def test_a_capture(name: str) -> None:
    """Of all captures: `tests/proofs/prove_merge.py`."""
    check_everything(CLUSTERS[name])
    check_choices(CLUSTERS[name], 4, seed=2)
