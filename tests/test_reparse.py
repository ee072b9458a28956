"""A rule that is taken out makes rejects; put back, it makes of them the events that it would have made at once."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import pyarrow as pa
import pytest

from udfs.arrow.parse import read_range
from udfs.arrow.reparse import reparse
from udfs.arrow.schema import SCHEMA
from udfs.arrow.templates import clear_templates
from udfs.logs.formats import format_of
from udfs.rules.drift import drifting_rules
from udfs.rules.lookup import candidates
from udfs.rules.rule import Rule

KNOWN = (
    b"[Controller id=3 epoch=8] Changed partition pay-in-0 from OfflinePartition to OnlinePartition with state "
    b"LeaderAndIsr(leader=2, leaderEpoch=4, isr=List(2, 1), zkVersion=9)"
)
OTHER = b"[Broker id=3] Stopped fetchers as part of become-follower for 17 partitions"
NEVER = b"[Broker id=3] Nobody ever wrote this \\xff \xff"


def record(second: int, message: bytes, *more: bytes, end: bytes = b"\n") -> bytes:
    head = b"[2026-11-21 10:00:%02d,000] TRACE %b (state.change.logger)" % (second, message)
    return b"".join(line + end for line in (head, *more))


STREAMS = {  # what is in the stream -> events that the rule makes of it
    "a record": (record(0, KNOWN), 1),
    "between others": (record(0, OTHER) + record(1, KNOWN) + record(2, NEVER) + record(3, KNOWN) + record(4, OTHER), 2),
    "with further lines": (record(0, KNOWN, b"java.lang.Exception: \\x41 \xff", b"\tat kafka") + record(1, OTHER), 1),
    "CR LF": (record(0, KNOWN, b"\tat kafka", end=b"\r\n") + record(1, KNOWN, end=b"\r\n"), 2),
    "no end": ((record(0, OTHER) + record(1, KNOWN))[:-1], 1),
    "not UTF-8": (record(0, KNOWN.replace(b"pay-in-0", b"p\xe4y-0")) + record(1, KNOWN), 1),
    "wrapped": (
        b"".join(
            b"kafka_1  | " + line for line in (record(0, KNOWN, b"\tat kafka") + record(1, OTHER)).splitlines(True)
        ),
        1,
    ),
    "UTF-16": ((record(0, KNOWN) + record(1, OTHER)).decode().encode("utf-16"), 1),
}


def _some(wanted: Callable[[Rule], bool], looked_up: Callable[..., Sequence[Rule]], *message: bytes) -> Sequence[Rule]:
    """Those that are wanted of the rules that are looked up for a message."""
    return [rule for rule in looked_up(*message) if wanted(rule)]


@contextmanager
def rules(wanted: Callable[[Rule], bool], patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Only some of the rules."""
    try:
        with patch.context() as changed:
            lookups: dict[str, Callable[..., Sequence[Rule]]] = {
                "udfs.arrow.templates.candidates": candidates,
                "udfs.rules.drift.candidates": candidates,
                "udfs.rules.drift.drifting_rules": drifting_rules,
            }
            for name, looked_up in lookups.items():
                changed.setattr(name, partial(_some, wanted, looked_up))
            clear_templates()
            yield
    finally:
        clear_templates()


def read(stream: bytes) -> pa.Table:
    """All records of a stream, by the zone of Berlin."""
    format_ = format_of(stream)
    assert format_ is not None
    batches = read_range(io.BytesIO(stream), format_, "Europe/Berlin", "f", 0, None, 1)
    return pa.Table.from_batches(list(batches), SCHEMA)


def of(table: pa.Table, *records: str) -> list[dict[str, object]]:
    return [row for row in table.to_pylist() if row["record"] in records]


def as_stored(table: pa.Table, stream: bytes) -> pa.RecordBatch:
    """The rejects as the table keeps them, with what the job adds of their stream."""
    format_ = format_of(stream)
    assert format_ is not None
    rows = of(table, "reject")
    names = ("file_id", "line", "byte_offset", "size_bytes", "head_bytes", "node_id", "at", "clock")
    schema = pa.schema([SCHEMA.field(name) for name in names])
    batch = pa.RecordBatch.from_pylist([{name: row[name] for name in names} for row in rows], schema)
    for name, value in (
        ("raw", [row["message"] for row in rows]),
        ("format", format_.name),
        ("time_zone", "Europe/Berlin"),
    ):
        values = value if isinstance(value, list) else [value] * len(rows)
        batch = batch.append_column(name, pa.array(values, pa.string()))
    return batch


@pytest.mark.parametrize("case", STREAMS)
def test_taken_out_and_put_back(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stream, count = STREAMS[case]
    at_once = read(stream)
    with rules(lambda rule: rule.event_type != "partition_state_change", monkeypatch):
        without = read(stream)
        stored = as_stored(without, stream)
        assert of(pa.Table.from_batches(list(reparse(stored)), SCHEMA), "event") == []
    table = pa.Table.from_batches(list(reparse(stored)), SCHEMA)
    expected = [row for row in of(at_once, "event") if row["event_type"] == "partition_state_change"]
    assert len(expected) == count
    assert of(table, "event") == [{**row, "channel": ""} for row in expected]
    [account] = of(table, "account")
    assert dict(account["fields"])["versions"].startswith("1.1.0..")  # type: ignore[call-overload]
    # what no rule knows stays a reject, and all bytes are those of one or the other
    left = len(of(at_once, "reject"))
    assert stored.num_rows == count + left


def test_the_time_and_the_node_that_were_stored_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """They were found out with the whole stream at hand; what is not known is read from the record."""
    with rules(lambda rule: False, monkeypatch):
        stored = as_stored(read(record(0, KNOWN)), record(0, KNOWN))
    assert stored.num_rows == 1
    for node, spoken in ((7, 3), (None, 3)):  # the record says 3 itself
        columns = dict(zip(stored.schema.names, stored.columns, strict=True))
        columns["node_id"] = pa.array([node], pa.int32())
        columns["clock"] = pa.array(["second_pass"], pa.string())
        batch = pa.RecordBatch.from_pydict(columns)
        [event] = of(pa.Table.from_batches(list(reparse(batch)), SCHEMA), "event")
        assert (event["node_id"], event["clock"], str(event["at"])[:19]) == (
            spoken,
            "second_pass",
            "2026-11-21 09:00:00",
        )
