"""What is read once is read once, whatever it is called; every byte is accounted for."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from jobs.ingest import News, default_node, ingest, release_range
from jobs.settings import Settings
from jobs.warehouse import Warehouse
from udfs.streams import BadInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RANGES = {  # ranges of messages -> the releases that write all of them
    "nothing told": (set(), None),
    "one": ({"2.4.0..2.5.1"}, "2.4.0..2.5.1"),
    "the narrowest": ({"1.1.0..3.1.2", "2.4.0..", "0.9.0..2.8.0"}, "2.4.0..2.8.0"),
    "open to the end": ({"1.1.0..", "2.4.0.."}, "2.4.0.."),
    "numbers, not texts": ({"0.10.0..", "0.9.0..0.11.0"}, "0.10.0..0.11.0"),
    "no release does": ({"0.9.0..1.0.0", "2.4.0.."}, None),
}


@pytest.mark.parametrize("case", RANGES)
def test_release_range(case: str) -> None:
    told, expected = RANGES[case]
    assert release_range(told) == expected


NODES = {  # nodes that records name, path -> node of those that name none
    "the only one": ([3], "/logs/broker-1/server.log", 3),
    "the folder's": ([], "/logs/broker-1/server.log", 1),
    "the folder's, as others call it": ([], "/logs/kafka_12/2026/server.log", 12),
    "several actors": ([3, 4], "/logs/broker-1/server.log", None),
    "nobody says": ([], "/logs/server.log", None),
}


@pytest.mark.parametrize("case", NODES)
def test_default_node(case: str) -> None:
    named, path, node = NODES[case]
    assert default_node({"node_ids": named, "path": path}) == node


class Nights:
    """Ingests into one warehouse, each published as a nightly run would."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.warehouse = Warehouse(spark, str(root))
        self.settings = Settings(clusters={"*/west/*": "pay-west"})
        self.number = 0

    def read(self, *logs: Path) -> News:
        self.number += 1
        news = ingest(
            self.warehouse, [str(path) for path in logs], self.settings, "default", str(self.number), lambda _: None
        )
        names = ["log_files", "events", "rejects"]
        self.warehouse.versions = {name: self.warehouse.version(name) for name in names if self.warehouse.exists(name)}
        return news

    def streams(self) -> dict[str, dict[str, Any]]:
        """LOG_FILES by cluster and the last part of the path."""
        rows = [row.asDict() for row in self.warehouse.read("log_files").collect()]
        return {f"{row['cluster']}:{Path(row['path']).name}": row for row in rows}

    def events(self) -> list[tuple[str, int, str]]:
        rows = self.warehouse.read("events").select("cluster", "line", "event_type").collect()
        return sorted((row["cluster"], row["line"], row["event_type"]) for row in rows)


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


def test_nights(spark: SparkSession, small: Path, grow: Callable[[Path], None], tmp_path: Path) -> None:
    """Read, read again, renamed and compressed, grown: each record comes once."""
    nights = Nights(spark, tmp_path / "warehouse")
    folder = small / "broker-1"
    shutil.copy(folder / "controller.log", folder / "controller.log.copy")
    (folder / "notes.txt").write_text("not a log\nat all\n")
    (folder / "empty.log").write_text("")

    news = nights.read(small)
    assert news.clusters == ("default",)
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

    assert nights.read(small) == News(())
    assert nights.events() == FIRST_NIGHT

    (folder / "controller.log.copy").unlink()
    (folder / "controller.log.1.gz").write_bytes(gzip.compress((folder / "controller.log").read_bytes()))
    (folder / "state-change.log").rename(folder / "state-change.log.2026-11-21")
    assert nights.read(small) == News((), seen_again=True)
    assert nights.events() == FIRST_NIGHT
    renamed = nights.streams()
    assert sorted(renamed) == sorted(first)
    assert renamed["default:state-change.log"]["also_seen_as"] == [str(folder / "state-change.log.2026-11-21")]
    assert str(folder / "controller.log.1.gz") in renamed["default:controller.log"]["also_seen_as"]

    grow(small)
    news = nights.read(small)
    assert news.clusters == ("default",)
    assert nights.events() == sorted(FIRST_NIGHT + SECOND_NIGHT)
    grown = nights.streams()
    assert {name: row["file_id"] for name, row in grown.items()} == {
        name: row["file_id"] for name, row in first.items()
    }
    assert {name: row["run_id"] for name, row in grown.items() if row["run_id"] != "1"} == {
        "default:controller.log": "4",
        "default:server.log": "4",
    }
    assert {row["size_bytes"] - sum(row[name] for name in BYTES) for row in grown.values()} == {0}


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
    whole = "[2026-11-21 10:00:00,000] ERROR [Controller id=1 epoch=1] Initiated state change for partition pay-in-0 from OfflinePartition to OnlinePartition failed (state.change.logger)\nkafka.common.StateChangeFailedException\n\tat kafka.controller\n"
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


def test_bad_files_leave_nothing(spark: SparkSession, small: Path, tmp_path: Path) -> None:
    nights = Nights(spark, tmp_path / "warehouse")
    notes = tmp_path / "notes.txt"
    notes.write_text("not a log\n")
    with pytest.raises(BadInput, match=r"None of the 1 files is a Kafka log: .*notes\.txt"):
        nights.read(notes)
    broken = tmp_path / "server.log.gz"
    broken.write_bytes(gzip.compress((small / "broker-1" / "controller.log").read_bytes())[:-20])
    with pytest.raises(BadInput, match=r"This file cannot be read: .*server\.log\.gz"):
        nights.read(small, broken)
    assert not (tmp_path / "warehouse").exists()
    nights.read(small)
    with pytest.raises(BadInput, match=r"None of the 1 files is a Kafka log"):
        nights.read(notes)  # a full warehouse makes it no log either
