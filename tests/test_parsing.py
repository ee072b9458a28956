"""Both interpreters of the rules, the plain one and the columnar one, read the same from every record."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from udfs import parsing_arrow
from udfs.layouts import APACHE, DUMP, Layout, layout_of
from udfs.parsing import read_message, read_value, split_prefix
from udfs.parsing_arrow import SCHEMA, read_range
from udfs.prefixes import read_prefix
from udfs.rule import COLUMNS, KINDS, Kind, Rule
from udfs.rulebook import RULES
from udfs.scopes import is_whole

CAPTURES = Path(__file__).parents[2] / "shared" / "captures"
needs_captures = pytest.mark.skipif(not CAPTURES.exists(), reason=f"no {CAPTURES}")

AT = b"2024-02-29 23:59:59,999"


def line(logger: str, message: bytes | str, at: bytes = AT) -> bytes:
    """A log line of a message; of the dump, where the message is the line, with what makes it one."""
    text = message.encode() if isinstance(message, str) else message
    if logger == "kafka-dump-log":
        return text + b"\n"
    return b"[" + at + b"] INFO " + text + b" (" + logger.encode() + b")\n"


def columnar(data: bytes, layout: Layout = APACHE) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Rows without their nulls, and the account."""
    batches = list(read_range(io.BytesIO(data), layout, "UTC", "f", 0, None, 1))
    assert all(batch.schema == SCHEMA for batch in batches)
    for batch in batches:
        batch.validate(full=True)
    *rows, account = [row for batch in batches for row in batch.to_pylist()]
    return [_without_nulls(row) for row in rows], dict(account["fields"])


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(part) for key, part in value.items() if part is not None}
    return [_without_nulls(part) for part in value] if isinstance(value, list) else value


def plain(data: bytes, layout: Layout = APACHE) -> Iterator[dict[str, Any]]:
    """The rows that the columnar reader should give, record by record; of a reject only what it must give."""
    heads = list(layout.head.finditer(data))
    for i, m in enumerate(heads):
        end = heads[i + 1].start() if i + 1 < len(heads) else len(data)
        logger = m["logger"].decode() or layout.logger
        read = read_message(logger, m["message"])
        at = time_of(m["at"].decode())
        row: dict[str, Any] = {
            "file_id": "f",
            "line": data.count(b"\n", 0, m.start()) + 1,
            "byte_offset": m.start(),
            "size_bytes": end - m.start(),
            "logger": logger,
        }
        if read is not None and at is not None:
            columns = {key: value for key, value in read.items() if key in COLUMNS or key == "event_type"}
            fields = {key: value for key, value in read.items() if key not in columns and key != "node"}
            prefix = split_prefix(m["message"])[0]
            node = (read_prefix(prefix) or {}).get("node")
            row |= {"record": "event", "at": at, **columns, "fields": sorted(fields.items())}
            row |= {"message": m["message"].decode("utf-8", "backslashreplace")}
            row |= {"level": m["level"].decode()} if m["level"] else {}
            row |= {} if node is None else {"node_id": node}
            if m.end() + 1 < end:
                row["detail"] = data[m.end() + 1 : end].rstrip(b"\r\n").decode("utf-8", "backslashreplace")
            yield row
        elif read is not None or is_whole(logger):
            yield row | {"record": "reject", "message": data[m.start() : end].decode("utf-8", "backslashreplace")}


def time_of(text: str) -> datetime | None:
    try:
        if text.isdigit():
            return datetime.fromtimestamp(int(text) // 1000, UTC).replace(microsecond=int(text) % 1000 * 1000)
        return datetime.strptime(text + "000+0000", "%Y-%m-%d %H:%M:%S,%f%z")
    except (ValueError, OverflowError, OSError):
        return None


def disagreements(data: bytes, layout: Layout = APACHE) -> list[tuple[Any, Any]]:
    """Rows of the columnar reader that are not as the plain one reads them, each with what they should be."""
    found, account = columnar(data, layout)
    expected = list(plain(data, layout))
    told = sum(int(account[f"{kind}_bytes"]) for kind in ("event", "detail", "reject", "other"))
    wrong: list[tuple[Any, Any]] = [] if told == len(data) else [(f"{told} bytes", f"{len(data)} bytes")]
    for row, should in zip(found, expected, strict=False):
        row = {key: value for key, value in row.items() if key in should} if should["record"] == "reject" else row
        if row != should:
            wrong.append((row, should))
    if len(found) != len(expected):
        wrong.append((f"{len(found)} rows", f"{len(expected)} rows"))
    return wrong


def lines_of(rule: Rule) -> bytes:
    names = [name + "Any" if name[-1] in ".$" else name for name in rule.loggers]
    return b"".join(line(name, rule.sample) for name in names)


@pytest.mark.parametrize("records", [1, 7, 50_000])
def test_every_sample(records: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing_arrow, "FLUSH_RECORDS", records)
    monkeypatch.setattr("udfs.framing.BLOCK", 4096)
    dumps = [rule for rule in RULES if rule.loggers == ("kafka-dump-log",)]
    logged = [rule for rule in RULES if rule not in dumps]
    assert disagreements(b"".join(map(lines_of, logged))) == []
    assert disagreements(b"".join(map(lines_of, dumps)), DUMP) == []
    assert columnar(b"".join(map(lines_of, logged)))[1]["reject_bytes"] == "0"


@needs_captures
@pytest.mark.parametrize("name", ["zk-0.8.2.2", "zk-2.4.1", "zk-3.9.1", "kraft-4.1.0"])
def test_every_record_of_some_files(name: str) -> None:
    """Three files of a capture; `proofs/prove_parsing.py` reads them all."""
    for kind in ("state-change", "controller", "server"):
        path = max((CAPTURES / name / "logs").rglob(f"{kind}.log*"), key=lambda path: path.stat().st_size)
        data = path.read_bytes()
        assert disagreements(data[: data.find(b"\n", 400 << 10) + 1] or data) == []


@needs_captures
def test_every_record_of_a_dump() -> None:
    data = (CAPTURES / "kraft-4.1.0" / "metadata-dump.txt").read_bytes()
    layout = layout_of(data)
    assert layout is DUMP
    rows, account = columnar(data, layout)
    assert len(rows) > 1000
    assert disagreements(data[data.index(b"baseOffset") :], layout) == []
    assert int(account["other_bytes"]) == data.index(b"baseOffset")


# ---------------------------------------------------------------------------------------------------- worked by hand

SCL = "state.change.logger"
FOLLOWS = "[Broker id=3] Follower pay-in-0 starts at leader epoch %s from offset 7 with high watermark 7. "
FOLLOWS += "Previous leader epoch was 4."
MOVED = "[Controller id=3 epoch=8] Changed partition %s from OnlinePartition to OfflinePartition with state "
MOVED += "LeaderAndIsr(leader=-1, leaderEpoch=%s, isr=List(%s), zkVersion=9)"


def only(*lines: bytes) -> dict[str, Any]:
    """The one row that some lines give, checked against the plain reader."""
    data = b"".join(lines)
    assert disagreements(data) == []
    (row,), _ = columnar(data)
    return row


def test_an_event() -> None:
    first = line(SCL, MOVED % ("pay-in-0", 5, "1, 2"))
    row = only(first, b"\tat a.B\r\n\r\n")
    assert row == {
        "record": "event",
        "file_id": "f",
        "line": 1,
        "byte_offset": 0,
        "size_bytes": len(first) + 11,
        "node_id": 3,
        "at": datetime(2024, 2, 29, 23, 59, 59, 999000, UTC),
        "level": "INFO",
        "logger": SCL,
        "event_type": "partition_state_change",
        "controller_id": 3,
        "controller_epoch": 8,
        "topic": "pay-in",
        "partition": 0,
        "leader": -1,
        "leader_epoch": 5,
        "partition_epoch": 9,
        "isr": [1, 2],
        "fields": [("from_state", "OnlinePartition"), ("to_state", "OfflinePartition")],
        "message": MOVED % ("pay-in-0", 5, "1, 2"),
        "detail": "\tat a.B",
    }


TOO_LARGE = {  # a number that no column can hold -> the columns it leaves empty, and the fields that tell it
    "an epoch": (MOVED % ("pay-in-0", 2**31, "1"), "leader_epoch", [("leader_epoch_text", "2147483648")]),
    "a partition": (MOVED % (f"pay-in-{2**40}", 5, "1"), "partition", [("partition_text", f"{2**40}")]),
    "an id of a list": (MOVED % ("pay-in-0", 5, f"1, {2**31}"), "isr", [("isr_text", "1,2147483648")]),
    "a marked number": (FOLLOWS % 2**63, "leader_epoch", [("leader_epoch_text", f"{2**63}")]),
}


@pytest.mark.parametrize("case", TOO_LARGE)
def test_a_number_of_more_than_32_bits_is_told_as_text(case: str) -> None:
    message, column, told = TOO_LARGE[case]
    row = only(line(SCL, message))
    assert row["record"] == "event"
    assert column not in row
    assert set(told) <= set(row["fields"])
    others = {"topic": "pay-in", "partition": 0, "leader_epoch": 5, "isr": [1]}
    assert all(row[key] == value for key, value in others.items() if key in row)


def test_the_largest_numbers_that_a_column_holds() -> None:
    row = only(line(SCL, MOVED % (f"pay-in-{2**31 - 1}", 2**31 - 1, f"{2**31 - 1}")))
    assert (row["partition"], row["leader_epoch"], row["isr"]) == (2**31 - 1, 2**31 - 1, [2**31 - 1])
    assert [name for name, _ in row["fields"]] == ["from_state", "to_state"]


def test_large_among_small_ones() -> None:
    data = b"".join(line(SCL, FOLLOWS % epoch) for epoch in (1, 2**31, 3, -(2**31)))
    assert disagreements(data) == []
    assert [row.get("leader_epoch") for row in columnar(data)[0]] == [1, None, 3, -(2**31)]


NO_EVENTS: dict[str, tuple[bytes, str]] = {  # what makes no event -> why
    "no rule": (line(SCL, "Nothing that Kafka says"), "no rule knows this message"),
    "no such day": (
        line(SCL, MOVED % ("pay-in-0", 5, "1"), b"2024-02-31 00:00:00,000"),
        "the time of this record is none",
    ),
    "more digits than Python reads": (line(SCL, FOLLOWS % ("9" * 5000)), "a value of this message cannot be read"),
}


@pytest.mark.parametrize("case", NO_EVENTS)
def test_rejects(case: str) -> None:
    data, reason = NO_EVENTS[case]
    around = line(SCL, FOLLOWS % 1), line(SCL, FOLLOWS % 2)
    text = around[0] + data + b"\tat x\n" + around[1]
    assert disagreements(text) == []
    (_, row, _), account = columnar(text)
    assert (row["record"], row["event_type"]) == ("reject", reason)
    assert (row["line"], row["byte_offset"]) == (2, len(around[0]))
    assert row["message"].encode() == data + b"\tat x\n"
    assert int(account["reject_bytes"]) == len(data) + 6
    assert (account["reject_lines"], account["event_lines"]) == ("1", "2")


@pytest.mark.parametrize("logger", [SCL, "kafka.server.ReplicaManager"])
def test_a_reader_that_raises_costs_its_record_only(logger: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it stumbled over. In a logger wholly in scope the record is a reject, in a selected one it is other."""
    rule = next(rule for rule in RULES if rule.loggers == (logger,) and rule.marks and not rule.reads.get("node"))
    nothing: dict[str, str] = {}
    broken = Kind(".*", nothing.__getitem__, spreads=True)
    monkeypatch.setitem(vars(rule), "marks", tuple((name, broken) for name, _ in rule.marks))
    data = line(logger, rule.sample)
    text = line(SCL, FOLLOWS % 1) + data + line(SCL, FOLLOWS % 2)
    assert disagreements(text) == []
    rows, account = columnar(text)
    assert [row["record"] for row in rows] == (["event", "reject", "event"] if logger == SCL else ["event", "event"])
    assert int(account["reject_bytes" if logger == SCL else "other_bytes"]) == len(data)


def test_the_text_goes_before_the_prefix() -> None:
    row = only(line(SCL, (FOLLOWS % 1).replace("[Broker id=3]", "[Partition refunds-7 broker=5]")))
    assert (row["topic"], row["partition"], row["broker_id"], row["node_id"]) == ("pay-in", 0, 5, 5)


def test_of_a_value_told_twice_the_later_counts_if_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = next(rule for rule in RULES if rule.sample.startswith("[Broker id=4] Follower pay-in-3 starts at"))
    same = {"previous_leader_epoch": "leader_epoch", "high_watermark": "start_offset", "leader": "start_offset"}
    marks = tuple((same.get(name, name), kind) for name, kind in rule.marks)
    monkeypatch.setitem(vars(rule), "marks", marks)
    row = only(line(SCL, (FOLLOWS % 1).replace("watermark 7", "watermark 8")))
    assert row["leader_epoch"] == 4
    assert row["fields"] == [("start_offset", "8")]


def test_a_selected_logger_has_no_rejects() -> None:
    data = line("kafka.server.ReplicaManager", "Nothing that Kafka says") + b"\tat x\n"
    rows, account = columnar(data)
    assert rows == []
    assert int(account["other_bytes"]) == len(data)


def test_the_account() -> None:
    first, second = line(SCL, FOLLOWS % 1, b"2024-03-01 00:00:00,000"), line(SCL, MOVED % ("a-0", 5, "1"))
    _, account = columnar(b"before\n" + first + b"\tat x\n" + second)
    numbers = {key: int(value) for key, value in account.items() if value.isdigit()}
    assert numbers == {
        "event_bytes": len(first + second),
        "detail_bytes": 6,
        "reject_bytes": 0,
        "other_bytes": 7,
        "event_lines": 2,
        "reject_lines": 0,
        "first_at": 1709251199999000,
        "last_at": 1709251200000000,
    }
    assert account["nodes"] == "broker 3=1,controller 3=1"
    assert re.fullmatch(r"\d[\d.]*\.\.[\d.]*(?:,\d[\d.]*\.\.[\d.]*)*", account["versions"])


def test_nothing() -> None:
    rows, account = columnar(b"")
    assert rows == []
    assert account["event_lines"] == "0"
    assert "first_at" not in account


VALUES: dict[str, tuple[str, str, bytes, dict[str, Any]]] = {  # name, kind, text -> what it tells
    "a column": ("leader", "int", b"-1", {"leader": -1}),
    "a field": ("offset", "int", b"007", {"offset": "007"}),
    "a list": ("isr", "ids", b"1, 2", {"isr": [1, 2]}),
    "an empty list": ("isr", "ids", b"", {"isr": []}),
    "none": ("topic_id", "some", b"None", {}),
    "not UTF-8": ("reason", "text", b"a\xffb\xc3\xa9", {"reason": "a\\xffb\u00e9"}),
    "a text for a number": ("leader", "word", b"x", {"leader_text": "x"}),
    "too large": ("leader", "int", b"9999999999", {"leader_text": "9999999999"}),
    "half a character of JSON": ("data", "record", b'{"name":"\\ud800"}', {"name": "\\ud800"}),
    "a state": ("s", "state", b"LeaderAndIsr(leader=3, isr=List(3))", {"leader": 3, "isr": [3]}),
    "partitions": ("partitions", "tps", b"a-1-0,b-2", {"partitions": [
        {"topic": "a-1", "partition": 0}, {"topic": "b", "partition": 2}]}),
    "partitions, one too large": ("partitions", "tps", b"a-9999999999", {
        "partitions": [{"topic": "a"}], "partitions_text": "{'topic': 'a', 'partition': 9999999999}"}),
}  # fmt: skip


@pytest.mark.parametrize("case", VALUES)
def test_what_a_value_tells(case: str) -> None:
    name, kind, text, told = VALUES[case]
    assert read_value(name, KINDS[kind], text) == told


# ----------------------------------------------------------------------------------------------------- broken messages

DAMAGE = st.sampled_from(
    [
        *b'\xff\xfe \0 - ( ) ] [ { = , " null a-1 List( 1.5 \r \xc3\xa9 \xd9\xa3 \xef\xbb\xbf \\ud800'.split(b" "),
        *(b"", b" ", b"9" * 12, b"9" * 5000, b"[" * 2000),
    ]
)
SAMPLES = [(name, rule.sample.encode()) for rule in RULES for name in rule.loggers[:1] if name[-1] not in ".$"]


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, bytes]:
    """A sample with something put over a part of it, preferably over a number."""
    logger, sample = draw(st.sampled_from(SAMPLES))
    numbers = [m.span() for m in re.finditer(rb"\d+|(?<==)\w+", sample)]
    if draw(st.booleans()) and numbers:
        start, end = numbers[draw(st.integers(0, len(numbers) - 1))]
    else:
        start = draw(st.integers(0, len(sample)))
        end = draw(st.integers(start, min(start + 9, len(sample))))
    return logger, sample[:start] + draw(DAMAGE) + sample[end:]


@settings(max_examples=150, deadline=None)
@given(st.lists(damaged(), min_size=1, max_size=25), st.integers(1, 30), st.integers(20, 3000))
def test_damaged_messages(messages: list[tuple[str, bytes]], records: int, block: int) -> None:
    """Both read the same from broken lines, and none of them stops a run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parsing_arrow, "FLUSH_RECORDS", records)
        patch.setattr("udfs.framing.BLOCK", block)
        dumped = b"".join(line(*message) for message in messages if message[0] == "kafka-dump-log")
        logged = b"".join(line(*message) for message in messages if message[0] != "kafka-dump-log")
        assert disagreements(logged) == []
        first = DUMP.head.search(dumped)
        assert not first or disagreements(dumped[first.start() :], DUMP) == []
