"""A log that has grown is read from its last record on, and gives what reading all of it gives. No Spark."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from jobs.ingest.grown_streams import last_record_of, merged_account, published_accounts
from jobs.ingest.read_plan import ReadPlan
from jobs.ingest.stream_accounts import account_for
from schemas.ingest import LOG_FILES
from tests.test_ranges import set_read_bytes, set_segment
from udfs.arrow.parse import read_range
from udfs.arrow.schema import SCHEMA
from udfs.logs.formats import format_named
from udfs.logs.ranges import Range, open_ranges
from udfs.logs.survey import known_streams, survey

LINES = [
    "before the first record",
    "[2026-11-21 10:00:00,000] INFO [Controller id=1] 1 successfully elected as the controller. Epoch incremented to 1 "
    "and epoch zk version is now 1 (kafka.controller.KafkaController)",
    "[2026-11-21 10:00:00,200] INFO [GroupCoordinator 1]: Nothing of ours (kafka.coordinator.group.GroupCoordinator)",
    "[2026-11-21 10:00:00,300] ERROR [Controller id=1] Nobody wrote this (kafka.controller.KafkaController)",
    "java.io.IOException: as it was",
    "\tat kafka.Kafka.main",
    "[2026-11-21 10:02:30,000] INFO [Controller id=1] Ready to serve as the new controller with epoch 1 "
    "(kafka.controller.KafkaController)",
    "\tat a line of its own",
    "[2026-11-21 10:02:30,001] INFO [Broker id=7] Broker failure callback for 2 (kafka.controller.KafkaController)",
    "[2026-11-21 10:02:40,001] INFO [Controller id=1] Broker failure callback for 2 (kafka.controller.KafkaController)",
]
WHOLE = "".join(f"{line}\n" for line in LINES).encode()
COLUMNS = ["record", "line", "byte_offset", "size_bytes", "at", "logger", "event_type", "message", "detail"]


def read(tasks: list[Range]) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """The records of ranges, in order, and all accounts."""
    batches = [
        batch
        for task, stream in open_ranges(tasks[0].path if tasks else "", tasks)
        for batch in read_range(
            stream,
            format_named(task.format),
            task.zone,
            task.file_id,
            task.start,
            task.end,
            task.first_line,
            last_apart=True,
        )
    ]
    rows = pa.Table.from_batches(batches, SCHEMA).to_pylist()
    accounts = [dict(row["fields"]) for row in rows if row["record"] == "account"]
    return [{name: row[name] for name in COLUMNS} for row in rows if row["record"] != "account"], accounts


def night(path: Path, rows: dict[str, Any]) -> tuple[ReadPlan, list[dict[str, Any]]]:
    """Read what is new of a log, of which `rows` were published."""
    known = known_streams([(row["size_bytes"], row["prefix_hash"], row["file_id"]) for row in rows.values()])
    plan = ReadPlan(dict(rows), "1")
    for surveyed in survey(str(path), known):
        plan.add("c", surveyed)
    [file_id] = plan.to_read
    records, fields = read(plan.tasks(plan.to_read))
    accounts = [*published_accounts(plan), *((file_id, account) for account in fields)]
    account_for(accounts, plan.rows, plan.to_read)
    plan.rows[file_id]["last_record"] = last_record_of([account for _, account in accounts])
    return plan, records


def test_logs_that_another_cluster_has(tmp_path: Path) -> None:
    """The same bytes under another cluster's name are read, and that is said; the own copy is not read again."""
    log = tmp_path / "controller.log"
    log.write_bytes(WHOLE)
    plan, _ = night(log, {})
    assert plan.in_other_clusters() == []
    again = ReadPlan(dict(plan.rows), "2")
    for surveyed in survey(str(log), {}):
        again.add("c", surveyed)
        again.add("d", surveyed)
    assert len(again.to_read) == 1
    assert again.in_other_clusters() == [
        "1 log of cluster d is in the tables already, of cluster c: from this run on both have them"
    ]


CUTS = {  # bytes that are there on the first night -> the line from which on the second one reads, None: all of it
    "after a record": (sum(len(line) + 1 for line in LINES[:3]), 3),
    "within a line": (sum(len(line) + 1 for line in LINES[:3]) + 40, 3),
    "within the further lines of a reject": (sum(len(line) + 1 for line in LINES[:5]), 4),
    "after an event": (sum(len(line) + 1 for line in LINES[:7]), 7),
    "after its further line": (sum(len(line) + 1 for line in LINES[:8]), 7),
    "no record is there yet": (len(LINES[0]) + 1, None),
}


@pytest.mark.parametrize("segment", [256, 1 << 20])
@pytest.mark.parametrize("name", ["a.log", "a.log.gz"])
@pytest.mark.parametrize("case", CUTS)
def test_a_second_night_reads_what_is_new(
    case: str, name: str, segment: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_segment(monkeypatch, segment)
    set_read_bytes(monkeypatch, 128)
    size, line = CUTS[case]
    path = tmp_path / "broker-1" / name
    path.parent.mkdir()

    def write(data: bytes) -> None:
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)

    write(WHOLE[:size])
    first, before = night(path, {})
    write(WHOLE)
    second, after = night(path, first.rows)
    at_once, records = night(path, {})
    [row], [clean] = second.rows.values(), at_once.rows.values()
    goes_on = line is not None and first.rows[row["file_id"]]["last_record"] is not None
    assert goes_on or line is None or segment == 256  # the last record may be another range's
    assert bool(second.grown) is goes_on
    if goes_on:
        assert second.first_line(row["file_id"]) == line
        assert all(record["line"] >= line for record in after)
        assert [one for one in before if one["line"] < line] + after == records
        assert [one["line"] for one in records] == [2, 4, 7, 9, 10]
    names = set(LOG_FILES.columns) - {"file_id"}
    assert {name: row[name] for name in names} == {name: clean[name] for name in names}
    assert (
        row["size_bytes"]
        == len(WHOLE)
        == sum(row[f"{kind}_bytes"] for kind in ("event", "detail", "reject", "other", "duplicate", "held_back"))
    )


def test_a_log_that_may_read_otherwise_is_read_as_a_whole(tmp_path: Path) -> None:
    """It was written anew, or is read in another zone; so is one whose records another stream has, too."""
    path = tmp_path / "broker-1" / "a.log"
    path.parent.mkdir()
    size = CUTS["after an event"][0]
    path.write_bytes(WHOLE[:size])
    published = night(path, {})[0].rows
    [(file_id, row)] = published.items()
    path.write_bytes(WHOLE[:20] + b"x" + WHOLE[21:])
    rewritten = night(path, published)[0]
    assert (rewritten.grown, file_id in rewritten.to_read) == ({}, False)
    path.write_bytes(WHOLE)
    for column, value in (("time_zone", "Europe/Berlin"), ("last_record", None), ("format", "utf-16-le/apache")):
        assert night(path, {file_id: {**row, column: value}})[0].grown == {}


def test_accounts_add_up_however_a_stream_was_cut() -> None:
    usual = {"channel": "", "versions": "1.0..2.0", "kinds": "server=1", "nodes": "broker 3=1", "drift": ""}
    numbers = dict.fromkeys(
        ("event_bytes", "detail_bytes", "reject_bytes", "other_bytes", "event_lines", "reject_lines"), "1"
    )

    def account(first: int, last: int, **more: str) -> dict[str, str]:
        times = {"first_at": f"{first}000000", "last_at": f"{last}000000"}
        return {**usual, **numbers, **times, "spans": f"server=2:{first}000000:{last}000000", **more}

    parts = [account(0, 10), account(30, 40), account(200, 210, nodes="broker 4=2", versions="0.9..,1.0..2.0")]
    [left, right] = merged_account(parts[:2]), parts[2]
    assert merged_account([left, right]) == merged_account(parts) == merged_account(parts[::-1])
    whole = merged_account(parts)
    assert whole["spans"] == "server=4:0:40000000,server=2:200000000:210000000"  # apart by more than a minute
    assert (whole["nodes"], whole["versions"]) == ("broker 3=2,broker 4=2", "0.9..,1.0..2.0")
    assert (whole["event_lines"], whole["first_at"], whole["last_at"]) == ("3", "0", "210000000")
