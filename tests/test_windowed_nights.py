"""Nights over a cluster with a history: a window gives the tables of one run, and too short a one is noticed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

import jobs.ingest.ingest
import jobs.nightly.windows
from jobs.nightly import steps
from jobs.nightly.plan import Plan
from jobs.nightly.run import nightly
from jobs.nightly.window_check import WindowTooShort
from jobs.nightly.windows import Window
from jobs.settings import Settings
from jobs.warehouse.tables import open_warehouse
from schemas.tables import DERIVED
from tests.daily_cluster import DailyCluster
from tests.test_windows import day

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY_BYTES, TOPICS = 60_000, 3


def night(spark: SparkSession, root: Path, logs: Path) -> list[str]:
    """A nightly run; what it says."""
    messages: list[str] = []
    outcome = nightly(open_warehouse(spark, str(root), create=True), [str(logs)], Settings(), "c", messages.append)
    assert outcome.published
    return messages


def derived(spark: SparkSession, root: Path) -> dict[str, list[str]]:
    """All derived rows, as texts, sorted; streams of the same bytes have the same id."""
    warehouse = open_warehouse(spark, str(root), create=False)
    return {
        table.name: sorted(str(row.asDict(recursive=True)) for row in warehouse.read(table.name).collect())
        for table in DERIVED
    }


@pytest.mark.runs
def test_the_third_day_leaves_the_tables_of_one_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs.nightly.windows, "WORTH_EVENTS", 1)
    monkeypatch.setattr(jobs.nightly.windows, "WORTH_SHARE", 0)
    monkeypatch.setattr(jobs.ingest.ingest, "WORTH_BYTES", 0)
    cluster = DailyCluster(tmp_path / "logs", TOPICS, seed=5)
    for _ in range(2):
        cluster.write_day(DAY_BYTES)
    night(spark, tmp_path / "by night", tmp_path / "logs")
    cluster.write_day(DAY_BYTES)
    messages = night(spark, tmp_path / "by night", tmp_path / "logs")
    assert any(message.startswith("c: rows that ended before 2026-03-0") for message in messages)
    assert not any("rebuilt as a whole" in message for message in messages)
    night(spark, tmp_path / "at once", tmp_path / "logs")
    by_night, at_once = (derived(spark, tmp_path / name) for name in ("by night", "at once"))
    for table, rows in at_once.items():
        assert by_night[table] == rows, table
    assert len(at_once["partition_timeline"]) > 100


def test_too_short_a_window_rebuilds_that_cluster_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    window = Window(day(18), day(19), day(20))
    tried: list[tuple[set[str], set[str]]] = []

    def derive_once(_warehouse: Any, plan: Plan, _settings: Any, windows: dict[str, Window], *_: Any) -> None:
        tried.append(({*windows}, {*plan.appended_since}))
        if "eu" in windows:
            raise WindowTooShort({"eu": "elections (rows) changed for times before the new events"})

    class Warehouse:
        class spark:
            class catalog:
                clearCache = staticmethod(lambda: None)

    monkeypatch.setattr(steps, "_derive", derive_once)
    monkeypatch.setattr(steps, "choose_windows", lambda *_: {"eu": window, "us": window})
    monkeypatch.setattr(steps, "since_coverage_changed", lambda _, since: since)
    plan = Plan(("timelines",), ("eu", "us"), dict.fromkeys(("eu", "us"), day(20, 3)), {}, {})
    messages: list[str] = []

    @contextmanager
    def stage(_: str) -> Iterator[None]:
        yield

    steps.derive(cast("Any", Warehouse), plan, Settings(), stage, messages.append)
    # as if more than its end were new: not some topics of it either, for all of their rows were written
    assert tried == [({"eu", "us"}, {"eu", "us"}), ({"us"}, {"us"})]
    assert messages == [
        "eu: rows that ended before 2026-11-20 00:00 stay, with new events since then",
        "us: rows that ended before 2026-11-20 00:00 stay, with new events since then",
        "eu is rebuilt as a whole: elections (rows) changed for times before the new events",
    ]
