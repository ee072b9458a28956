"""Excerpts of one stream add exactly their new records, in whatever order and on how many nights they come.

Streams are written as letters, a record each, at a time of its own: `a` 10 s before `b`. `b2` is another text at the
time of `b`; texts are the same at all times. Small letters name their node, capital ones nobody. `c!` has a stack trace
of two lines, `c/` the same cut in the middle of its second line, `c9` is a record that no rule knows, `.` one out of
scope, `~` the end of a line whose begin is missing. `1:abc` is a stream in which node 1 is named, `-:ABC` one without.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from jobs.ingest.crossing_streams import StreamSpan, compared_stream, crossing_pairs, crossing_streams
from jobs.ingest.overlaps import StreamMatch, find_overlaps, is_overlap
from udfs.arrow.parse import read_range
from udfs.arrow.schema import SCHEMA
from udfs.logs.formats import format_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CASES = {  # streams in the order they come -> all records that are kept
    "one record in both": ("1:abcd 1:defg", "1:abcdefg"),
    "many records in both": ("1:abcdef 1:cdefgh", "1:abcdefgh"),
    "rejects, too": ("1:ab9c9 1:b9c9d", "1:ab9c9d"),
    "trimmed at the head": ("1:abcdef 1:def", "1:abcdef"),
    "trimmed at the end": ("1:abcdef 1:abc", "1:abcdef"),
    "trimmed at both ends": ("1:abcdef 1:cd", "1:abcdef"),
    "a single record of many": ("1:abcdef 1:d", "1:abcdef"),
    "a concatenation of rotated files": ("1:abc 1:def 1:abcdef", "1:abcdef"),
    "concatenated in the order of their names": ("1:abc 1:def 1:defabc", "1:abcdef"),
    "a concatenation that lacks one": ("1:abcdef 1:abef", "1:abcdef"),
    "excerpts that only meet": ("1:abc 1:def", "1:abcdef"),
    "excerpts with a gap between, and what fills it": ("1:abc 1:fgh 1:bcdefg", "1:abcdefgh"),
    "many excerpts": ("1:abcd 1:cdef 1:efghi 1:bcdefg", "1:abcdefghi"),
    "records out of scope between them": ("1:a.b.c 1:.b.c.d", "1:abcd"),
    "every line twice": ("1:aabbcc 1:bbccdd", "1:aabbccdd"),
    "every line twice, cut between equal ones": ("1:aabb 1:bccdd", "1:aabbccdd"),
    "rotated between equal records, and the concatenation": ("1:ab 1:bc 1:abbc", "1:abbc"),
    "rotated between equal records of one time": ("1:abb2 1:bb3c", "1:abb2bb3c"),
    "one time, and one in both": ("1:abb2 1:b2b3c", "1:abb2b3c"),
    "further lines cut at the end": ("1:abc/ 1:bc!d", "1:abc!d"),
    "further lines cut in the only record of both": ("1:abc/ 1:c!d", "1:abc!d"),
    "all further lines cut off": ("1:abc 1:bc!d", "1:abc!d"),
    "a reject cut in its further lines": ("1:ab9/ 1:ab9!c", "1:ab9!c"),
    "cut twice": ("1:abc/ 1:bc 1:bc!d", "1:abc!d"),
    "further lines missing, but not at the end": ("1:abcd 1:bc!d", "1:abcc!d"),
    "cut at the begin": ("1:abc 1:~bcd", "1:abcd"),
    "replaced by another with the same beginning": ("1:abcd 1:abef", "1:abcdef"),
    "replaced, one record the same": ("1:ab 1:ac", "1:abc"),
    "copied, then changed in the middle": ("1:abcdef 1:abxdef", "1:abcdefx"),
    "a file and the console, which has more": ("1:acd 1:abcde", "1:abcde"),
    "two nodes": ("1:abc 2:abc", "1:abc 2:abc"),
    "records of two nodes that name neither": ("1:aBCd 2:aBCd", "1:aBCd 2:aBCd"),
    "nobody is named": ("-:ABCD -:CDEF", "-:ABCDEF"),
    "nobody is named: some records in common are no common piece": ("-:ABCD -:XBCY", "-:ABCD -:XBCY"),
    "nobody is named: others stand between": ("-:AB2CD -:A3AB3CD", "-:AB2CD -:A3AB3CD"),
    "nobody is named, broken at both ends, but a long run": (
        "-:ABCDEFGHIJKLMNOPQRST2 -:B3CDEFGHIJKLMNOPQRSTU",
        "-:ABB3CDEFGHIJKLMNOPQRST2 -:TU",
    ),
    "nobody is named, replaced": ("-:ABCD -:ABEF", "-:ABCDEF"),
    "an excerpt in which nobody is named": ("1:aBCd -:BC", "1:aBCd"),
    "an excerpt that may be of two nodes": ("1:aBCd 2:aEFd -:EF", "1:aBCd 2:aEFd"),
    "several nodes in one stream, cut in a record of each": ("12:ab/ 12:ab!c", "1:ab!c 2:ab!c"),
    "several nodes in one stream": ("1:abc 12:abcd 2:bcde", "1:abcd 2:abcde"),
}
_TOKEN = re.compile(r"(?P<letter>[A-Za-z])(?P<text>\d?)(?P<further>[!/]?)|[.~]")
_TRACE = "\njava.lang.IllegalStateException: none\n\tat kafka.controller.Election"
_FURTHER = {"": "", "!": f"{_TRACE}.elect(Election.scala:27)", "/": _TRACE}


def written(stream: str) -> bytes:
    """A stream as a log. One with several nodes has every record once for each."""
    nodes, _, text = stream.partition(":")
    lines = [_line(token, node) for token in _TOKEN.finditer(text) for node in nodes]
    return ("\n".join(lines) + ("" if text.endswith("/") else "\n")).encode()


def _line(token: re.Match[str], node: str) -> str:
    if token["letter"] is None:
        whole = "[2026-11-21 09:00:00,000] INFO Awaiting socket connections on 0.0.0.0:9092. (kafka.network.Acceptor)"
        return whole if token[0] == "." else "rtition to OnlinePartition (state.change.logger)"
    seconds = 10 * (ord(token["letter"].lower()) - ord("a"))
    at = f"2026-11-21 10:{seconds // 60:02}:{seconds % 60:02},000"
    if token["letter"].isupper():
        message = f"INFO Truncating log orders-{token['text'] or 0} to offset 5. (kafka.log.Log)"
    elif token["text"] == "9":
        message = f"INFO [Controller id={node} epoch=1] Nobody wrote this (state.change.logger)"
    else:
        message = (
            f"TRACE [Controller id={node} epoch=1] Changed state of replica {node} for partition "
            f"orders-{token['text'] or 0} from NewReplica to OnlineReplica (state.change.logger)"
        )
    return f"[{at}] {message}{_FURTHER[token['further']]}"


def letters(row: dict[str, Any]) -> str:
    """A kept record as it is written in the cases."""
    letter = chr(ord("a") + (row["at"].minute * 60 + row["at"].second) // 10)
    whole = row["message"] + "\n" + (row["detail"] or "")
    number = "9" if row["record"] == "reject" else str(row["partition"] or "")
    further = "" if "Exception" not in whole else "!" if "scala:27" in whole else "/"
    return f"{letter.upper() if row['logger'] == 'kafka.log.Log' else letter}{number}{further}"


def records_of(text: str) -> Counter[tuple[str, str]]:
    """`1:abc 2:a` as (node, record) pairs."""
    parts = [part.partition(":") for part in text.split()]
    return Counter((node, token[0]) for node, _, records in parts for token in _TOKEN.finditer(records))


@dataclass
class Nights:
    """A warehouse in memory: what was kept, and the rows of the streams. A case is a cluster of its own."""

    spark: SparkSession
    streams: dict[str, dict[str, Any]] = field(default_factory=dict)
    rows: dict[tuple[str, int, int], dict[str, Any]] = field(default_factory=dict)  # by file id, line and byte offset

    def read(self, came: Iterable[tuple[str, str]]) -> None:
        """One night: (case, stream) pairs."""
        read: list[dict[str, Any]] = []
        for case, stream in came:
            name = f"{len(self.streams):03}"
            data = written(stream)
            format_ = format_of(data)
            assert format_ is not None
            batches = read_range(io.BytesIO(data), format_, "UTC", name, 0, None, 1)
            *records, account = [row for batch in batches for row in batch.to_pylist()]
            self.streams[name] = _row(name, case, dict(account["fields"]), data, records)
            read += records
        new = {row["file_id"] for row in read}
        known = [compared_stream(row, _node(row), is_new=name in new) for name, row in self.streams.items()]
        events, rejects = (self._published(record) for record in ("event", "reject"))
        published = events, rejects.withColumnRenamed("message", "raw")
        overlaps = find_overlaps(crossing_streams(self._frame(read), *published, filter(None, known)))
        dropped = {frame: _places(frame) for frame in (overlaps.duplicates, overlaps.superseded) if frame is not None}
        before = self.rows.copy()
        now = {(row["file_id"], row["line"], row["byte_offset"]): row for row in read}
        sizes: Counter[str] = Counter()
        for place in [place for places in dropped.values() for place in places]:
            sizes[place[0]] += (now.get(place) or before[place])["size_bytes"]
        assert {name: moved.duplicate_bytes for name, moved in overlaps.moved.items()} == sizes
        assert not _places(overlaps.duplicates) - now.keys()
        assert not _places(overlaps.superseded) - before.keys()
        self.rows = {
            place: row
            for place, row in (before | now).items()
            if not any(place in places for places in dropped.values())
        }
        overlaps.unpersist()

    def _published(self, record: str) -> DataFrame:
        return self._frame([row for row in self.rows.values() if row["record"] == record])

    def _frame(self, rows: list[dict[str, Any]]) -> DataFrame:
        return self.spark.createDataFrame(pa.Table.from_pylist(rows, SCHEMA))

    def records(self) -> dict[str, Counter[tuple[str, str]]]:
        """(node, record) pairs by case."""
        records: dict[str, Counter[tuple[str, str]]] = {}
        for row in self.rows.values():
            stream = self.streams[row["file_id"]]
            node = row["node_id"] if row["node_id"] is not None else _node(stream)
            records.setdefault(stream["cluster"], Counter())["-" if node is None else str(node), letters(row)] += 1
        return records


def _row(name: str, case: str, account: dict[str, str], data: bytes, records: list[dict[str, Any]]) -> dict[str, Any]:
    """What overlaps looks at of a LOG_FILES row."""
    times = [row["at"] for row in records]
    nodes = sorted({int(node.split()[1].split("=")[0]) for node in account["nodes"].split(",") if node})
    return {
        "file_id": name,
        "cluster": case,
        "format": "apache",
        "node_ids": nodes,
        "first_at": min(times),
        "last_at": max(times),
        "size_bytes": len(data),
        "held_back_bytes": 0,
    }


def _node(row: dict[str, Any]) -> int | None:
    return row["node_ids"][0] if len(row["node_ids"]) == 1 else None


def _places(frame: DataFrame | None) -> set[tuple[str, int, int]]:
    return {tuple(row) for row in frame.collect()} if frame is not None else set()


def _all_at_once(streams: list[str]) -> list[list[str]]:
    return [streams]


def _one_a_night(streams: list[str]) -> list[list[str]]:
    return [[stream] for stream in streams]


def _last_first(streams: list[str]) -> list[list[str]]:
    return [[stream] for stream in reversed(streams)]


@pytest.mark.runs
@pytest.mark.parametrize("plan", [_all_at_once, _one_a_night, _last_first])
def test_each_record_once(spark: SparkSession, plan: Callable[[list[str]], list[list[str]]]) -> None:
    """Whenever its streams come, a case keeps the same records."""
    nights = Nights(spark)
    plans = {case: plan(streams.split()) for case, (streams, _) in CASES.items()}
    for number in range(max(map(len, plans.values()))):
        nights.read(
            (case, stream) for case, whole in plans.items() for night in whole[number : number + 1] for stream in night
        )
    records = nights.records()
    wrong = {
        case: (
            sorted((records_of(expected) - records[case]).items()),
            sorted((records[case] - records_of(expected)).items()),
        )
        for case, (_, expected) in CASES.items()
        if records[case] != records_of(expected)
    }
    assert wrong == {}  # by case what is lacking, and what is too much


CROSSING = {  # streams as `id group nodes first last new|old` -> pairs to compare
    "they cross": ("a g 1 0 10 new, b g 1 5 15 new", {"ab"}),
    "one within the other": ("a g 1 0 10 new, b g 1 5 6 old", {"ab"}),
    "they meet in one instant": ("a g 1 0 10 new, b g 1 10 15 new", {"ab"}),
    "one after the other": ("a g 1 0 10 new, b g 1 11 15 new", set()),
    "a long one crosses all, and they not each other": (
        "c g 1 0 99 new, a g 1 0 10 new, b g 1 20 30 new",
        {"ac", "bc"},
    ),
    "none is new": ("a g 1 0 10 old, b g 1 5 15 old", set()),
    "another cluster or logger": ("a g 1 0 10 new, b h 1 5 15 new", set()),
    "other nodes": ("a g 1 0 10 new, b g 2 5 15 new", set()),
    "one node of several": ("a g 1+2 0 10 new, b g 2+3 5 15 new, c g 3 0 99 new", {"ab", "bc"}),
    "one names nobody": ("a g 1 0 10 new, b g - 5 15 new, c g 2 6 9 new", {"ab", "bc"}),
    "none names anybody": ("a g - 0 10 new, b g - 5 15 new", {"ab"}),
}


@pytest.mark.parametrize("case", CROSSING)
def test_streams_to_compare(case: str) -> None:
    streams, expected = CROSSING[case]
    spans = []
    for stream in streams.split(", "):
        name, group, nodes, first, last, age = stream.split()
        named = frozenset(int(number) for number in nodes.split("+") if number != "-")
        spans.append(StreamSpan(name, (group,), named, int(first), int(last), age == "new"))
    assert {"".join(pair) for pair in crossing_pairs(spans)} == expected


YES, NO = (True, True), (False, False)
MATCHES = {  # same node, wide, begins, ends, unbroken, length -> one stream's
    "a known node, whatever the rest": (StreamMatch(True, True, NO, NO, NO, 1), True),
    "it may just meet: the end of one, the begin of the other": (
        StreamMatch(True, False, (False, True), (True, False), YES, 1),
        True,
    ),
    "it may just meet, and others stand at the end": (StreamMatch(True, False, (False, True), NO, YES, 1), False),
    "unknown: within one": (StreamMatch(False, True, (False, True), (False, True), YES, 2), True),
    "unknown: interleaved in one of them": (
        StreamMatch(False, True, (False, True), (False, True), (False, True), 2),
        True,
    ),
    "unknown: others stand between in both": (StreamMatch(False, True, YES, YES, NO, 99), False),
    "unknown: both begin so": (StreamMatch(False, True, YES, NO, YES, 1), True),
    "unknown: both end so": (StreamMatch(False, True, NO, YES, YES, 15), False),
    "unknown: in the middle, short": (StreamMatch(False, True, NO, NO, YES, 15), False),
    "unknown: in the middle, long": (StreamMatch(False, True, NO, NO, YES, 16), True),
}


@pytest.mark.parametrize("case", MATCHES)
def test_is_overlap(case: str) -> None:
    match, expected = MATCHES[case]
    assert is_overlap(match) is expected
