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

from udfs.arrow import parse as parsing_arrow
from udfs.arrow import templates
from udfs.arrow.parse import read_range
from udfs.arrow.schema import SCHEMA
from udfs.logs.escapes import escaped, recovered
from udfs.logs.formats import Format, format_named, format_of
from udfs.logs.framing import Frames, frames
from udfs.logs.layouts import HEAD
from udfs.rules.logger_scopes import is_wholly_scoped
from udfs.rules.parsing import read_message, read_value, split_prefix
from udfs.rules.prefixes import read_prefix
from udfs.rules.rule import COLUMNS, KINDS, Rule, ValueKind
from udfs.rules.rulebook import RULES

CAPTURES = Path(__file__).parents[2] / "shared" / "captures"
needs_captures = pytest.mark.skipif(not CAPTURES.exists(), reason=f"no {CAPTURES}")

APACHE, DUMP = format_named("apache"), format_named("metadata_dump")

AT = b"2024-02-29 23:59:59,999"


@pytest.fixture(autouse=True)
def _no_forms() -> Iterator[None]:
    """Each test meets each form for the first time, and leaves none of rules that it changed."""
    templates.clear_templates()
    yield
    templates.clear_templates()


def line(logger: str, message: bytes | str, at: bytes = AT) -> bytes:
    """A log line of a message; of the dump, where the message is the line, with what makes it one."""
    text = message.encode() if isinstance(message, str) else message
    if logger == "kafka-dump-log":
        return text + b"\n"
    return b"[" + at + b"] INFO " + text + b" (" + logger.encode() + b")\n"


def columnar(data: bytes, format_: Format = APACHE) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Rows without their nulls, and the account; of several channels the bytes of all."""
    batches = list(read_range(io.BytesIO(data), format_, "UTC", "f", 0, None, 1))
    assert all(batch.schema == SCHEMA for batch in batches)
    for batch in batches:
        batch.validate(full=True)
    rows = [row for batch in batches for row in batch.to_pylist()]
    accounts = [dict(row["fields"]) for row in rows if row["record"] == "account"]
    sums = {key: str(sum(int(one[key]) for one in accounts)) for key in accounts[0] if key.endswith("_bytes")}
    return [_without_nulls(row) for row in rows if row["record"] != "account"], {**accounts[-1], **sums}


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(part) for key, part in value.items() if part is not None}
    return [_without_nulls(part) for part in value] if isinstance(value, list) else value


def plain(data: bytes, format_: Format = APACHE) -> Iterator[dict[str, Any]]:
    """The rows that the columnar reader should give, record by record; of a reject only what it must give."""
    for part in frames(io.BytesIO(data), format_, 0, None, 1):
        if isinstance(part, Frames):
            for i, head in enumerate(part.heads):
                yield from plain_row(part, i, dict(zip(HEAD, head, strict=True)), format_.layout.logger)


def plain_row(part: Frames, i: int, head: dict[str, bytes], default_logger: str) -> Iterator[dict[str, Any]]:
    """The row of record i, if it has one."""
    logger = head["logger"].decode() or default_logger
    read = read_message(logger, head["message"])
    at = time_of(head["at"].decode())
    row: dict[str, Any] = {
        "file_id": "f",
        "channel": part.channel,
        "line": int(part.lines[i]),
        "byte_offset": int(part.offsets[i]),
        "size_bytes": int(part.sizes[i]),
        "head_bytes": int(part.head_sizes[i]),
    }
    row |= {"logger": logger} if logger else {}
    if read is not None and (at is not None or not head["at"]):
        columns = {key: value for key, value in read.items() if key in COLUMNS or key == "event_type"}
        fields = {key: value for key, value in read.items() if key not in columns and key != "node"}
        prefix = split_prefix(head["message"])[0]
        node = (read_prefix(prefix) or {}).get("node")
        row |= {"record": "event", **({"at": at} if at else {}), **columns, "fields": sorted(fields.items())}
        row |= {"message": head["message"].decode("utf-8", "backslashreplace")}
        row |= {"level": head["level"].decode()} if head["level"] else {}
        row |= {} if node is None else {"node_id": node}
        if part.head_ends[i] < part.ends[i]:
            row["detail"] = part.detail(i).decode("utf-8", "backslashreplace")
        yield row
    elif read is not None or (is_wholly_scoped(logger) if logger else templates.has_scoped_prefix(head["message"])):
        yield row | {"record": "reject", "message": escaped(part.raw(i))}


def time_of(text: str) -> datetime | None:
    try:
        if text.isdigit():
            return datetime.fromtimestamp(int(text) // 1000, UTC).replace(microsecond=int(text) % 1000 * 1000)
        if "," in text and len(text) == 23:
            return datetime.strptime(text + "000+0000", "%Y-%m-%d %H:%M:%S,%f%z")
        at = datetime.fromisoformat(text.replace(",", "."))  # with a zone, without milliseconds
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        return None


def disagreements(data: bytes, format_: Format = APACHE) -> list[tuple[Any, Any]]:
    """Rows of the columnar reader that are not as the plain one reads them, each with what they should be."""
    return compared(data, format_)[0]


def compared(data: bytes, format_: Format = APACHE) -> tuple[list[tuple[Any, Any]], int]:
    """The same, and how many rejects the plain reader finds."""
    rows, account = columnar(data, format_)
    expected = list(plain(data, format_))
    counted = sum(int(account[f"{kind}_bytes"]) for kind in ("event", "detail", "reject", "other"))
    wrong: list[tuple[Any, Any]] = [] if counted == len(data) else [(f"{counted} bytes", f"{len(data)} bytes")]
    for row, should in zip(rows, expected, strict=False):
        row = {key: value for key, value in row.items() if key in should} if should["record"] == "reject" else row
        if row != should:
            wrong.append((row, should))
    if len(rows) != len(expected):
        wrong.append((f"{len(rows)} rows", f"{len(expected)} rows"))
    return wrong, sum(row["record"] == "reject" for row in expected)


def lines_of(rule: Rule) -> bytes:
    names = [name + "Any" if name[-1] in ".$" else name for name in rule.loggers]
    return b"".join(line(name, rule.sample) for name in names)


@pytest.mark.parametrize("records", [1, 7, 50_000])
def test_every_sample(records: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing_arrow, "FLUSH_RECORDS", records)
    monkeypatch.setattr("udfs.logs.framing.BLOCK", 4096)
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
def test_a_dump_that_ends_before_the_first_number_of_a_record() -> None:
    batch = b"baseOffset: 7 lastOffset: 7 count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 "
    batch += b"partitionLeaderEpoch: 1 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty "
    batch += b"position: 9 CreateTime: 1795263414792 size: 107 magic: 2 compresscodec: none crc: 1 isvalid: true\n"
    record = b"| offset: 7 CreateTime: 1795263414792 keySize: -1 valueSize: 4 sequence: -1 headerKeys: [] "
    record += b'payload: {"type":"NO_OP_RECORD","version":0,"data":{}}\n'
    rows, account = columnar(batch + record + batch + b"| offset: ", DUMP)
    assert [(row["record"], row["line"]) for row in rows] == [("event", 1), ("event", 2), ("event", 3), ("reject", 4)]
    assert account["reject_bytes"] == str(len("| offset: "))


def test_every_record_of_a_dump() -> None:
    data = (CAPTURES / "kraft-4.1.0" / "metadata-dump.txt").read_bytes()
    format_ = format_of(data)
    assert format_ == DUMP
    rows, account = columnar(data, format_)
    assert len(rows) > 1000
    assert disagreements(data[data.index(b"baseOffset") :], format_) == []
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
        "channel": "",
        "line": 1,
        "byte_offset": 0,
        "size_bytes": len(first) + 11,
        "head_bytes": len(first),
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
    message, column, fields = TOO_LARGE[case]
    row = only(line(SCL, message))
    assert row["record"] == "event"
    assert column not in row
    assert set(fields) <= set(row["fields"])
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
    "no rule": (line(SCL, "Nothing that Kafka says"), "no rule matches this message"),
    "no such day": (
        line(SCL, MOVED % ("pay-in-0", 5, "1"), b"2024-02-31 00:00:00,000"),
        "its time stamp is no valid time",
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
    rule = next(rule for rule in RULES if rule.loggers == (logger,) and rule.captures and not rule.reads.get("node"))
    nothing: dict[str, str] = {}
    broken = ValueKind(".*", nothing.__getitem__, spreads=True)
    monkeypatch.setitem(vars(rule), "captures", tuple((name, broken) for name, _ in rule.captures))
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
    marks = tuple((same.get(name, name), kind) for name, kind in rule.captures)
    monkeypatch.setitem(vars(rule), "captures", marks)
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
    other = line("kafka.server.KafkaServer", "Nothing that Kafka says", b"2024-03-01 00:00:00,001")
    _, account = columnar(b"before\n" + first + b"\tat x\n" + other + second)
    numbers = {key: int(value) for key, value in account.items() if value.isdigit()}
    assert numbers == {
        "event_bytes": len(first + second),
        "detail_bytes": 6,
        "reject_bytes": 0,
        "other_bytes": 7 + len(other),
        "event_lines": 2,
        "reject_lines": 0,
        "first_at": 1709251199999000,
        "last_at": 1709251200001000,
    }
    assert account["channel"] == ""
    assert account["nodes"] == "broker 3=1,controller 3=1"
    assert account["kinds"] == "state_change=2"
    spans = "server=1:1709251200001000:1709251200001000,state_change=2:1709251199999000:1709251200000000"
    assert account["spans"] == spans
    assert re.fullmatch(r"\d[\d.]*\.\.[\d.]*(?:,\d[\d.]*\.\.[\d.]*)*", account["versions"])


KINDS_OF_LOGS = {  # logger -> the kind of log that it writes to
    "state.change.logger": "state_change",
    "kafka.controller.KafkaController": "controller",
    "org.apache.kafka.controller.QuorumController": "controller",
    "org.apache.kafka.raft.KafkaRaftClient": "server",
    "kafka.server.ReplicaManager": "server",
    "kafka.controllers": "server",
}


@pytest.mark.parametrize("logger", KINDS_OF_LOGS)
def test_the_kind_of_a_record_is_its_loggers(logger: str) -> None:
    _, account = columnar(line(logger, "Nothing that Kafka says", b"2024-03-01 00:00:00,000"))
    assert account["spans"] == f"{KINDS_OF_LOGS[logger]}=1:1709251200000000:1709251200000000"


def test_each_channel_has_an_account() -> None:
    """Two outputs in one stream; what belongs to none is in the account of the nameless one."""
    texts = {"kafka-1": line(SCL, FOLLOWS % 1), "kafka-2": line(SCL, FOLLOWS % 2) + b"\tat x\n"}
    wrapped = [f"{name}  | ".encode() + text for name, whole in texts.items() for text in whole.splitlines(True)]
    data = wrapped[0] + wrapped[1] + wrapped[0] + wrapped[2]
    *rows, nameless, one, two = [
        row
        for batch in read_range(io.BytesIO(data), format_named("compose/apache"), "UTC", "f", 0, None, 1)
        for row in batch.to_pylist()
    ]
    assert sorted((row["channel"], row["leader_epoch"]) for row in rows) == [
        ("kafka-1", 1),
        ("kafka-1", 1),
        ("kafka-2", 2),
    ]
    accounts = {row["channel"]: dict(row["fields"]) for row in (nameless, one, two)}
    lines = {name: accounts[name]["event_lines"] for name in accounts}
    assert lines == {"": "0", "kafka-1": "2", "kafka-2": "1"}
    counted = [int(a[f"{kind}_bytes"]) for a in accounts.values() for kind in ("event", "detail", "reject", "other")]
    assert sum(counted) == len(data)


WITHOUT_LOGGER = {  # a record whose end is lost -> its reason, if it is a reject
    "[Controller id=3 epoch=8] Changed partition pay-in-0 fr": "its logger is missing: the line is torn or cut off",
    "[Broker id=3] Follower pay-in-0 st": "its logger is missing: the line is torn or cut off",
    "[GroupCoordinator 3]: Member consu": None,
    "Completed load of": None,
}


@pytest.mark.parametrize("message", WITHOUT_LOGGER)
def test_a_record_without_logger_is_judged_by_who_speaks(message: str) -> None:
    torn = b"[" + AT + b"] INFO " + message.encode() + b"\n"
    data = line(SCL, FOLLOWS % 1) + torn + line(SCL, FOLLOWS % 2)
    assert disagreements(data) == []
    rows, account = columnar(data)
    reason = WITHOUT_LOGGER[message]
    assert [row["event_type"] for row in rows if row["record"] == "reject"] == ([reason] if reason else [])
    assert int(account["reject_bytes"] if reason else account["other_bytes"]) == len(torn)


def test_a_reject_has_a_signature_and_all_its_bytes() -> None:
    data = line(SCL, b"[Broker id=3] Frobnicated pay-in-0 \xff \\xff") + b"\tat x\n"
    rows, _ = columnar(data)
    assert [row["signature"] for row in rows] == ["[Broker id=<n>] Frobnicated <partition> \\xff \\xff"]
    assert recovered(rows[0]["message"]) == data


def test_times_of_a_repeated_hour_are_marked() -> None:
    data = line(SCL, FOLLOWS % 1, b"2024-10-27 02:30:00,000") + line(SCL, FOLLOWS % 2, b"2024-10-27 03:30:00,000")
    rows = [
        (row["at"], row["clock"])
        for batch in read_range(io.BytesIO(data), APACHE, "Europe/Berlin", "f", 0, None, 1)
        for row in batch.to_pylist()
        if row["record"] == "event"
    ]
    assert rows == [
        (datetime(2024, 10, 27, 0, 30, tzinfo=UTC), "ambiguous"),
        (datetime(2024, 10, 27, 2, 30, tzinfo=UTC), None),
    ]


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
    name, kind, text, expected = VALUES[case]
    assert read_value(name, KINDS[kind], text) == expected


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


@settings(max_examples=150)
@given(st.lists(damaged(), min_size=1, max_size=25), st.integers(1, 30), st.integers(20, 3000))
def test_damaged_messages(messages: list[tuple[str, bytes]], records: int, block: int) -> None:
    """Both read the same from broken lines, and none of them stops a run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parsing_arrow, "FLUSH_RECORDS", records)
        patch.setattr("udfs.logs.framing.BLOCK", block)
        dumped = b"".join(line(*message) for message in messages if message[0] == "kafka-dump-log")
        logged = b"".join(line(*message) for message in messages if message[0] != "kafka-dump-log")
        assert disagreements(logged) == []
        first = DUMP.layout.head.search(dumped)
        assert not first or disagreements(dumped[first.start() :], DUMP) == []


# -------------------------------------------------------------------------------------------------------- other digits

DIGITS = st.sampled_from([b"0", b"1", b"2", b"4", b"-3", b"007", b"22", b"%d" % (10**9 - 1), b"%d" % 2**31, b"9" * 12])


@st.composite
def renumbered(draw: st.DrawFn) -> tuple[str, bytes, bytes]:
    """A sample, and it with other numbers."""
    logger, sample = draw(st.sampled_from(SAMPLES))
    other = re.sub(rb"\d+", lambda m: draw(DIGITS) if draw(st.booleans()) else m[0], sample)
    return (logger, sample, other) if draw(st.booleans()) else (logger, other, sample)


@settings(max_examples=80)
@given(st.lists(renumbered(), min_size=1, max_size=12))
def test_other_numbers(messages: list[tuple[str, bytes, bytes]]) -> None:
    """What was learned from a form's first line is right for all others."""
    for is_dump, format_ in ((False, APACHE), (True, DUMP)):
        mine = [message for message in messages if (message[0] == "kafka-dump-log") is is_dump]
        data = b"".join(line(logger, text) for logger, *texts in mine for text in texts)
        assert disagreements(data, format_) == []


def test_ids_of_other_lengths_share_a_template_without_harm() -> None:
    """Each read by itself, the second one has an id of 22 characters, as topics have."""
    text = (
        "[ReplicaFetcherManager on broker 4] Added fetcher to broker 5 for partitions Map(pay-in-3 -> "
        "InitialFetchState(Some({}),BrokerEndPoint(id=5, host=k-5:9092),12,880))"
    )
    ids = ("h5K999999999vX8bQ0-22mJtR_wYz4A", "h5K2vX8bQ0-3mJtR_wYz1A")
    lines = [line("kafka.server.ReplicaFetcherManager", text.format(topic_id)) for topic_id in ids]
    assert disagreements(b"".join(lines)) == []
