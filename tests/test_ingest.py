"""What is read once is read once, whatever it is called; every byte is accounted for."""

from __future__ import annotations

import gzip
import os
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from jobs.ingest.ingest import NewInput, ingest, reparse_rejects
from jobs.ingest.reading import PARSED
from jobs.ingest.unchanged_files import disk_state
from jobs.settings import Settings
from jobs.warehouse.tables import Warehouse
from tests.rows_as_json import as_text
from udfs.arrow.parse import read_range
from udfs.arrow.schema import SCHEMA
from udfs.arrow.templates import clear_templates
from udfs.errors import BadInput
from udfs.logs.formats import format_named
from udfs.logs.paths import find
from udfs.logs.ranges import Range, groups, open_ranges
from udfs.rules.drift import drifting_rules
from udfs.rules.lookup import candidates

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Nights:
    """Ingests into one warehouse, each published as a nightly run would."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.warehouse = Warehouse(spark, str(root))
        self.settings = Settings(clusters={"*/west/*": "pay-west"})
        self.number = 0
        self.progress: list[str] = []

    def read(self, *logs: Path) -> NewInput:
        self.number += 1
        self.progress.clear()
        sources = find([str(path) for path in logs])
        new_input = ingest(self.warehouse, sources, self.settings, "default", str(self.number), self.progress.append)
        self.warehouse.versions |= self.warehouse.written
        return new_input

    def streams(self) -> dict[str, dict[str, Any]]:
        """LOG_FILES by cluster and the last part of the path."""
        rows = [row.asDict() for row in self.warehouse.read("log_files").collect()]
        return {f"{row['cluster']}:{Path(row['path']).name}": row for row in rows}

    def events(self) -> list[tuple[str, int, str]]:
        rows = self.warehouse.read("events").select("cluster", "line", "event_type").collect()
        return sorted((row["cluster"], row["line"], row["event_type"]) for row in rows)

    def times(self) -> list[tuple[str, str | None]]:
        """Time of day and `clock` of all events."""
        rows = self.warehouse.read("events").orderBy("line").select("at", "clock").collect()
        return [(f"{row['at']:%H:%M:%S}", row["clock"]) for row in rows]


BYTES = ("event_bytes", "detail_bytes", "reject_bytes", "other_bytes", "duplicate_bytes", "held_back_bytes")
FIRST_NIGHT = [
    ("default", 1, "controller_elected"),
    ("default", 1, "partition_state_change"),
    ("default", 2, "controller_context_live_brokers"),
    ("default", 2, "partition_state_change"),
    ("default", 3, "controller_ready"),
    ("default", 4, "broker_set_changed"),
    ("default", 5, "broker_failure"),
]
SECOND_NIGHT = [("default", 2, "isr_updated"), ("default", 6, "broker_set_changed"), ("default", 7, "broker_startup")]


@pytest.mark.runs
def test_nights(spark: SparkSession, small: Path, grow: Callable[[Path], None], tmp_path: Path) -> None:
    """Read, read again, renamed and compressed, appended to: each record comes once."""
    nights = Nights(spark, tmp_path / "warehouse")
    folder = small / "broker-1"
    shutil.copy(folder / "controller.log", folder / "controller.log.copy")
    (folder / "notes.txt").write_text("not a log\nat all\n")
    (folder / "empty.log").write_text("")

    new_input = nights.read(small)
    assert new_input.clusters == ("default",)
    assert nights.events() == FIRST_NIGHT
    first = nights.streams()
    assert sorted(first) == [
        "default:controller.log",
        "default:notes.txt",
        "default:server.log",
        "default:state-change.log",
    ]
    assert first["default:controller.log"]["also_seen_as"] == [str(folder / "controller.log.copy")]
    assert first["default:controller.log"]["event_lines"] == 5
    assert first["default:controller.log"]["node_ids"] == [1]
    assert (first["default:notes.txt"]["status"], first["default:notes.txt"]["other_bytes"]) == ("no_records", 17)
    for row in first.values():
        assert row["size_bytes"] == sum(row[name] for name in BYTES) == Path(row["path"]).stat().st_size

    assert nights.read(small) == NewInput(())
    assert nights.events() == FIRST_NIGHT

    (folder / "controller.log.copy").unlink()
    (folder / "controller.log.1.gz").write_bytes(gzip.compress((folder / "controller.log").read_bytes()))
    (folder / "state-change.log").rename(folder / "state-change.log.2026-11-21")
    assert nights.read(small) == NewInput((), has_new_names=True)
    assert nights.events() == FIRST_NIGHT
    renamed = nights.streams()
    assert sorted(renamed) == sorted(first)
    assert renamed["default:state-change.log"]["also_seen_as"] == [str(folder / "state-change.log.2026-11-21")]
    assert str(folder / "controller.log.1.gz") in renamed["default:controller.log"]["also_seen_as"]

    grow(small)
    new_input = nights.read(small)
    assert new_input.clusters == ("default",)
    assert nights.events() == sorted(FIRST_NIGHT + SECOND_NIGHT)
    appended = nights.streams()
    assert {name: row["file_id"] for name, row in appended.items()} == {
        name: row["file_id"] for name, row in first.items()
    }
    assert {name: row["run_id"] for name, row in appended.items() if row["run_id"] != "1"} == {
        "default:controller.log": "4",
        "default:server.log": "4",
    }
    assert {row["size_bytes"] - sum(row[name] for name in BYTES) for row in appended.values()} == {0}


@pytest.mark.runs
def test_a_file_that_is_as_it_was_is_not_read_again(
    spark: SparkSession, small: Path, grow: Callable[[Path], None], tmp_path: Path
) -> None:
    """Other text of the same length shows what is read: with the old time of change nothing."""
    nights = Nights(spark, tmp_path / "warehouse")
    nights.read(small)
    log = small / "broker-1" / "state-change.log"

    def states() -> list[str]:
        rows = nights.warehouse.read("log_files").where(F.col("path") == str(log))
        return [row["disk_state"] for row in rows.orderBy(F.col("run_id").cast("int")).collect()]

    first, before = disk_state(str(log), nights.settings), log.stat()
    assert states() == [first]
    log.write_text(log.read_text().replace("2026-11-21 10:", "2026-11-22 10:"))
    os.utime(log, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert nights.read(small) == NewInput(())
    # another zone may make other times of it
    nights.settings = replace(nights.settings, node_time_zones={7: "Europe/Berlin"})
    assert nights.read(small).clusters == ("default",)
    second = disk_state(str(log), nights.settings)
    assert states() == [first, second]
    # what was touched and is the same is noted once there is news
    os.utime(log, (0, 0))
    assert nights.read(small) == NewInput(())
    assert states() == [first, second]
    grow(small)
    nights.read(small)
    assert states() == [first, disk_state(str(log), nights.settings)]
    # the same length, another time of change
    log.write_text(log.read_text().replace("2026-11-22 10:", "2026-11-23 10:"))
    assert nights.read(small).clusters == ("default",)
    assert len(states()) == 3


def test_a_damaged_file_is_named_in_each_run(spark: SparkSession, small: Path, tmp_path: Path) -> None:
    """It is as it was, and still nobody knows what stood behind the damage."""
    nights = Nights(spark, tmp_path / "warehouse")
    whole = gzip.compress((small / "broker-1" / "controller.log").read_bytes())
    (small / "broker-1" / "controller.log").unlink()
    (small / "broker-1" / "controller.log.1.gz").write_bytes(whole[:-9])
    for _ in range(2):
        nights.read(small)
        assert [line for line in nights.progress if "controller.log.1.gz" in line and "damaged" in line] != []


def test_clusters_are_named_by_the_settings(spark: SparkSession, small: Path, tmp_path: Path) -> None:
    """The same content in two clusters is two streams."""
    shutil.copytree(small / "broker-1", tmp_path / "logs" / "west" / "broker-1")
    nights = Nights(spark, tmp_path / "warehouse")
    assert nights.read(small).clusters == ("default", "pay-west")
    west = [event for event in nights.events() if event[0] == "pay-west"]
    assert [("default", line, kind) for _, line, kind in west] == FIRST_NIGHT


def test_a_record_without_an_end_is_held_back(spark: SparkSession, tmp_path: Path) -> None:
    """Half a line at the end of a growing file waits for the next run; a stack trace belongs to its record."""
    log = tmp_path / "broker-1" / "state-change.log"
    log.parent.mkdir()
    whole = (
        "[2026-11-21 10:00:00,000] ERROR [Controller id=1 epoch=1] Initiated state change for partition pay-in-0 from "
        "OfflinePartition to OnlinePartition failed (state.change.logger)\n"
        "kafka.common.StateChangeFailedException\n\tat kafka.controller\n"
    )
    unknown = "[2026-11-21 10:00:01,000] INFO [Controller id=1 epoch=1] Nobody ever wrote this (state.change.logger)\n"
    log.write_text(f"a line before all\n{whole}{unknown}[2026-11-2")
    nights = Nights(spark, tmp_path / "warehouse")
    nights.read(log)
    [row] = nights.streams().values()
    assert {name: row[name] for name in BYTES} == {
        "event_bytes": whole.index("\n") + 1,
        "detail_bytes": len(whole) - whole.index("\n") - 1,
        "reject_bytes": len(unknown),
        "other_bytes": len("a line before all\n"),
        "duplicate_bytes": 0,
        "held_back_bytes": len("[2026-11-2"),
    }
    assert (row["event_lines"], row["reject_lines"]) == (1, 1)
    [reject] = nights.warehouse.read("rejects").collect()
    assert (reject["line"], reject["raw"].rstrip("\n")) == (5, unknown.rstrip("\n"))
    [event] = nights.warehouse.read("events").collect()
    assert (event["line"], event["detail"]) == (2, "kafka.common.StateChangeFailedException\n\tat kafka.controller")
    with log.open("a") as file:
        file.write("1 10:00:02,000] INFO [Controller id=1 epoch=1] Nor this (state.change.logger)\n")
    nights.read(log)
    [row] = nights.streams().values()
    assert (row["event_lines"], row["reject_lines"], row["held_back_bytes"]) == (1, 2, 0)
    assert row["size_bytes"] == log.stat().st_size == sum(row[name] for name in BYTES)


@pytest.mark.runs
def test_files_that_are_no_logs_leave_nothing(spark: SparkSession, small: Path, tmp_path: Path) -> None:
    nights = Nights(spark, tmp_path / "warehouse")
    notes = tmp_path / "notes.txt"
    notes.write_text("not a log\n")
    with pytest.raises(BadInput, match=r"None of the 1 files is a Kafka log: .*notes\.txt"):
        nights.read(notes)
    damaged = tmp_path / "server.log.gz"
    damaged.write_bytes(gzip.compress(b"")[:12])
    with pytest.raises(BadInput, match=r"This file cannot be read: .*server\.log\.gz"):
        nights.read(notes, damaged)
    assert not (tmp_path / "warehouse").exists()
    nights.read(small)
    with pytest.raises(BadInput, match=r"None of the 1 files is a Kafka log"):
        nights.read(notes)  # a full warehouse makes it no log either


@pytest.mark.runs
def test_what_cannot_be_read_tonight_is_noted_and_read_another_night(
    spark: SparkSession, small: Path, tmp_path: Path
) -> None:
    """A truncated copy: what is before its end is read, the rest when it is there. One with nothing: a finding."""
    nights = Nights(spark, tmp_path / "warehouse")
    log = (small / "broker-1" / "controller.log").read_bytes()
    cut, lost = tmp_path / "in" / "controller.log.gz", tmp_path / "in" / "state-change.log.gz"
    cut.parent.mkdir()
    cut.write_bytes(gzip.compress(log)[:-30])
    lost.write_bytes(gzip.compress(log)[:12])
    nights.read(tmp_path / "in")
    first = nights.streams()
    row = first["default:controller.log.gz"]
    assert (row["status"], len(row["findings"])) == ("truncated", 1)
    assert "This file is damaged" in row["findings"][0]
    assert 0 < row["size_bytes"] < len(log)
    assert row["size_bytes"] == sum(row[name] for name in BYTES)
    assert nights.progress == [
        *row["findings"],
        *first["default:state-change.log.gz"]["findings"],
        *nights.progress[2:],
    ]
    assert first["default:state-change.log.gz"]["status"] == "refused"
    assert nights.read(tmp_path / "in") == NewInput(())  # as before
    cut.write_bytes(gzip.compress(log))
    lost.unlink()
    (tmp_path / "in" / "state-change.log").write_bytes((small / "broker-1" / "state-change.log").read_bytes())
    nights.read(tmp_path / "in")
    assert nights.events() == FIRST_NIGHT
    row = nights.streams()["default:controller.log.gz"]
    assert (row["status"], row["findings"], row["file_id"]) == ("ok", [], first["default:controller.log.gz"]["file_id"])


def test_a_bundle_is_read_like_the_folder_in_it(spark: SparkSession, small: Path, tmp_path: Path) -> None:
    """Members by their paths in it; what is known from the folder adds nothing."""
    nights = Nights(spark, tmp_path / "warehouse")
    bundle = tmp_path / "support.tar.gz"
    with tarfile.open(bundle, "w:gz") as tar:
        tar.add(small / "broker-1", "broker-1")
    nights.read(bundle)
    assert nights.events() == FIRST_NIGHT
    rows = nights.streams()
    assert rows["default:state-change.log"]["path"] == f"{bundle}!/broker-1/state-change.log"
    assert nights.read(small) == NewInput((), has_new_names=True)
    assert nights.events() == FIRST_NIGHT


@pytest.mark.runs
def test_an_overlapping_excerpt_adds_its_new_records(spark: SparkSession, small: Path, tmp_path: Path) -> None:
    """`tail -n 3` of the log that was appended to: two records are there already, and count as duplicates."""
    nights = Nights(spark, tmp_path / "warehouse")
    nights.read(small)
    lines = (small / "broker-1" / "controller.log").read_text().splitlines(keepends=True)
    new = (
        "[2026-11-21 10:06:00,001] INFO [Controller id=1] New broker startup callback for 2 "
        "(kafka.controller.KafkaController)\n"
    )
    tail = tmp_path / "broker-1" / "tail.log"
    tail.parent.mkdir()
    tail.write_text("".join([*lines[3:], new]))
    nights.read(tail)
    assert nights.events() == sorted([*FIRST_NIGHT, ("default", 3, "broker_startup")])
    row = nights.streams()["default:tail.log"]
    assert (row["event_lines"], row["event_bytes"], row["duplicate_bytes"]) == (1, len(new), len("".join(lines[3:])))
    assert row["size_bytes"] == sum(row[name] for name in BYTES)
    # the log grows by what its tail has, and one record more: it is read as a whole again, and shares two records
    with (small / "broker-1" / "controller.log").open("a") as file:
        file.write(new + new.replace("10:06:00,001", "10:07:00,000").replace("for 2", "for 3"))
    assert nights.streams()["default:controller.log"]["last_record"] is not None
    nights.read(small)
    assert nights.events() == sorted([*FIRST_NIGHT, ("default", 3, "broker_startup"), ("default", 7, "broker_startup")])
    row = nights.streams()["default:controller.log"]
    assert (row["event_lines"], row["duplicate_bytes"], row["last_record"]) == (6, len(new), None)
    assert row["size_bytes"] == sum(row[name] for name in BYTES)
    # the other way round: the whole log comes when its tail is there
    other = Nights(spark, tmp_path / "other")
    other.read(tail)
    other.read(small)
    assert sorted(kind for *_, kind in other.events()) == sorted(kind for *_, kind in nights.events())
    for row in other.streams().values():
        assert row["size_bytes"] == sum(row[name] for name in BYTES)


@pytest.mark.runs
def test_zones_are_the_nodes(spark: SparkSession, tmp_path: Path) -> None:
    """Broker 3 is in Berlin, where a time is repeated; its zone set later, its log is read again, none twice."""
    log = tmp_path / "logs" / "state-change.log"
    log.parent.mkdir()
    log.write_text(
        "".join(
            f"[2026-10-25 {time}] ERROR [Broker id=3] Ignoring LeaderAndIsr request from controller 1 with correlation "
            f"id {i} epoch 2 for partition pay-in-0 as the local replica for the partition is in an offline log "
            "directory (state.change.logger)\n"
            for i, time in enumerate(("01:59:00,000", "02:30:00,000", "02:10:00,000", "03:00:00,000"))
        )
    )
    nights = Nights(spark, tmp_path / "warehouse")
    nights.read(log)
    [row] = nights.streams().values()
    assert (row["time_zone"], row["node_ids"]) == ("UTC", [3])
    assert nights.times() == [("01:59:00", None), ("02:30:00", None), ("02:10:00", None), ("03:00:00", None)]
    nights.settings = Settings(node_time_zones={3: "Europe/Berlin"})
    assert nights.read(log).clusters == ("default",)
    [row] = nights.streams().values()
    assert row["time_zone"] == "Europe/Berlin"
    assert nights.times() == [
        ("23:59:00", None), ("00:30:00", "first_pass"), ("01:10:00", "second_pass"), ("02:00:00", None),
    ]  # fmt: skip
    assert nights.read(log) == NewInput(())


def test_what_is_there_and_who_wrote_it(spark: SparkSession, small: Path, tmp_path: Path) -> None:
    """Coverage, and a finding where two brokers write one file."""
    nights = Nights(spark, tmp_path / "warehouse")
    both = small / "both" / "state-change.log"
    both.parent.mkdir()
    both.write_text(
        "".join(
            f"[2026-11-21 1{i}:00:00,000] TRACE [Broker id={node}] Stopped fetchers as part of become-follower for 1 "
            "partitions (state.change.logger)\n"
            for i, node in enumerate((1, 1, 2, 1))
        )
    )
    nights.read(small)
    rows = nights.streams()
    assert rows["default:controller.log"]["kind"] == "controller"
    assert rows["default:controller.log"]["format"] == "apache"
    coverage = {(row["node_id"], row["kind"]): row for row in nights.warehouse.read("log_coverage").collect()}
    assert sorted(coverage, key=str) == [(1, "controller"), (1, "server"), (1, "state_change"), (None, "state_change")]
    controller = coverage[1, "controller"]
    assert (controller["since"], controller["until"]) == (
        datetime(2026, 11, 21, 10),
        datetime(2026, 11, 21, 10, 5, 0, 1000),
    )
    assert controller["records"] == 5
    assert coverage[None, "state_change"]["records"] == 4
    by_path = {row["path"]: row for row in nights.warehouse.read("log_files").collect()}
    assert by_path[str(both)]["findings"] == ["several nodes write to it: 1, 2; records may be missing"]
    [event] = (
        nights.warehouse.read("events").where(f"file_id = '{by_path[str(both)]['file_id']}' AND line = 3").collect()
    )
    assert event["node_id"] == 2


@pytest.mark.runs
def test_old_rejects_become_events(
    spark: SparkSession, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without two rules their records are rejects; with them, and without the files, all is as if these had been."""
    clean, nights = Nights(spark, tmp_path / "clean"), Nights(spark, tmp_path / "warehouse")
    with (small / "broker-1" / "state-change.log").open("a") as file:
        file.write(
            "[2026-11-21 10:05:01,000] TRACE [Controller id=1 epoch=1] Nobody wrote this (state.change.logger)\n"
        )
    clean.read(small)
    removed = {"partition_state_change", "broker_failure"}
    with monkeypatch.context() as patch:
        for name, rules_of in (
            ("udfs.arrow.templates.candidates", candidates),
            ("udfs.rules.drift.candidates", candidates),
            ("udfs.rules.drift.drifting_rules", drifting_rules),
        ):
            patch.setattr(
                name,
                lambda *scope, rules=rules_of: [rule for rule in rules(*scope) if rule.event_type not in removed],
            )
        patch.setattr("jobs.ingest.ingest.read_ranges", read_in_the_driver)
        clear_templates()
        nights.read(small)
        clear_templates()
    assert (len(nights.events()), nights.warehouse.read("rejects").count()) == (4, 4)
    shutil.rmtree(small)
    new_input = reparse_rejects(nights.warehouse, nights.settings, nights.progress.append)
    nights.warehouse.versions |= nights.warehouse.written
    assert (new_input.clusters, nights.progress[-1]) == (("default",), "3 rejects are events now")
    for table in ("events", "rejects", "log_files", "log_coverage"):
        sides = [one.warehouse.read(table).drop("last_record") for one in (nights, clean)]
        ours, theirs = (sorted(row["row"] for row in as_text(side).collect()) for side in sides)
        assert ours == theirs
    # what the records before the last one add up to is another; these streams are read as a whole when they grow
    assert {name for name, row in nights.streams().items() if row["last_record"] is None} == {
        "default:controller.log", "default:state-change.log"
    }  # fmt: skip
    assert reparse_rejects(nights.warehouse, nights.settings, nights.progress.append) == NewInput(())


def read_in_the_driver(spark: SparkSession, tasks: list[Range], bytes_read: object) -> DataFrame:
    """As `read_ranges`, by the rules that this process knows."""
    batches = [
        batch
        for group in groups(tasks)
        for task, stream in open_ranges(group[0].path, group)
        for batch in read_range(
            stream,
            format_named(task.format),
            task.zone,
            task.file_id,
            task.start,
            task.end,
            task.first_line,
            task.clock_changes,
            last_apart=True,
        )
    ]
    return spark.createDataFrame(pa.Table.from_batches(batches, SCHEMA).combine_chunks(), PARSED)
