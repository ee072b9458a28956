"""Nights over a cluster with a history: a window gives the tables of one run, and too short a one is noticed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

import pytest

import jobs.ingest.ingest
import jobs.nightly.windows
from jobs.nightly import steps
from jobs.nightly.plan import Plan
from jobs.nightly.prune import Pruning, prune
from jobs.nightly.run import nightly
from jobs.nightly.window_check import WindowTooShort
from jobs.nightly.windows import Window
from jobs.settings import Settings
from jobs.warehouse.integrity import read_pins
from jobs.warehouse.tables import open_warehouse
from schemas.tables import DERIVED
from tests.daily_cluster import DailyCluster
from tests.test_windows import day
from udfs.merge.times import moment

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


@dataclass(frozen=True)
class ThreeDays:
    """Logs of three days, a warehouse of a night over the first two of them, and the derived rows of one over all."""

    logs: Path
    after_two: Path
    at_once: Mapping[str, list[str]]


@pytest.fixture(scope="module")
def three_days(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> ThreeDays:
    folder = tmp_path_factory.mktemp("days")
    cluster = DailyCluster(folder / "logs", TOPICS, seed=5)
    for _ in range(2):
        cluster.write_day(DAY_BYTES)
    night(spark, folder / "after two", folder / "logs")
    cluster.write_day(DAY_BYTES)
    night(spark, folder / "at once", folder / "logs")
    return ThreeDays(folder / "logs", folder / "after two", derived(spark, folder / "at once"))


@pytest.mark.runs
def test_the_third_day_leaves_the_tables_of_one_run(
    spark: SparkSession, three_days: ThreeDays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs.nightly.windows, "WORTH_EVENTS", 1)
    monkeypatch.setattr(jobs.nightly.windows, "WORTH_SHARE", 0)
    monkeypatch.setattr(jobs.ingest.ingest, "WORTH_BYTES", 0)
    root = tmp_path / "by night"
    shutil.copytree(three_days.after_two, root)
    messages = night(spark, root, three_days.logs)
    assert any(message.startswith("c: rows that ended before 2026-03-0") for message in messages)
    assert not any("rebuilt as a whole" in message for message in messages)
    by_night = derived(spark, root)
    for table, rows in three_days.at_once.items():
        assert by_night[table] == rows, table
    assert len(three_days.at_once["partition_timeline"]) > 100


@pytest.mark.runs
def test_nights_over_a_pruned_cluster_leave_the_tables_of_one_run(
    spark: SparkSession, three_days: ThreeDays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs.ingest.ingest, "WORTH_BYTES", 0)
    root = tmp_path / "by night"
    shutil.copytree(three_days.after_two, root)
    before = derived(spark, root)

    def pruned(time: str) -> Pruning:
        asked = moment(time)
        assert asked is not None
        return prune(open_warehouse(spark, str(root), create=False), asked, None, 168, lambda _: None)

    what = pruned("2026-03-02 00:40")
    assert (what.times, what.left) == ({"c": datetime(2026, 3, 2)}, {})
    events = what.tables[0]
    assert events.table == "events"
    assert 0 < events.after < events.before
    warehouse = open_warehouse(spark, str(root), create=False)
    assert warehouse.pruned == what.times
    assert warehouse.rows["events"] == warehouse.read("events").count() == events.after
    assert warehouse.read("runs").orderBy("run_id").collect()[-1]["steps"] == ["prune"]
    assert derived(spark, root) == before
    again = pruned("2026-03-02 00:10")
    assert (again.times, again.left) == ({}, {"c": "it was pruned before 2026-03-02 00:00"})

    messages = night(spark, root, three_days.logs)
    assert "c: rows that ended before 2026-03-02 00:00 stay, events before were pruned" in messages
    by_night = derived(spark, root)
    for table, rows in three_days.at_once.items():
        assert by_night[table] == rows, table

    pins = read_pins(str(root))
    assert pins is not None
    assert pins.pruned == {"c": "2026-03-02T00:00:00"}


class NoWarehouse:
    """Stands for a warehouse in which nothing was pruned, and that nobody reads."""

    pruned: ClassVar[dict[str, Any]] = {}

    class spark:
        class catalog:
            clearCache = staticmethod(lambda: None)


@contextmanager
def stage(_: str) -> Iterator[None]:
    yield


def test_too_short_a_window_rebuilds_that_cluster_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    window = Window(day(18), day(19), day(20))
    tried: list[tuple[set[str], set[str]]] = []

    def derive_once(_warehouse: Any, plan: Plan, _settings: Any, windows: dict[str, Window], *_: Any) -> None:
        tried.append(({*windows}, {*plan.appended_since}))
        if "eu" in windows:
            raise WindowTooShort({"eu": "elections (rows) changed for times before the new events"})

    monkeypatch.setattr(steps, "_derive", derive_once)
    monkeypatch.setattr(steps, "_size_session", lambda *_: None)
    monkeypatch.setattr(steps, "choose_windows", lambda *_: {"eu": window, "us": window})
    monkeypatch.setattr(steps, "since_coverage_changed", lambda _, since: since)
    plan = Plan(("timelines",), ("eu", "us"), dict.fromkeys(("eu", "us"), day(20, 3)), {}, {})
    messages: list[str] = []

    steps.derive(cast("Any", NoWarehouse), plan, Settings(), stage, messages.append)
    # as if more than its end were new: not some topics of it either, for all of their rows were written
    assert tried == [({"eu", "us"}, {"eu", "us"}), ({"us"}, {"us"})]
    assert messages == [
        "eu: rows that ended before 2026-11-20 00:00 stay, with new events since then",
        "us: rows that ended before 2026-11-20 00:00 stay, with new events since then",
        "eu is rebuilt as a whole: elections (rows) changed for times before the new events",
    ]


def test_of_a_pruned_cluster_no_more_is_worked_out_than_since_then(monkeypatch: pytest.MonkeyPatch) -> None:
    pruned = replace(Window(day(10), day(11), day(12)), is_of_pruned=True)
    tried: list[dict[str, Window]] = []

    def derive_once(_warehouse: Any, _plan: Plan, _settings: Any, windows: dict[str, Window], *_: Any) -> None:
        tried.append(windows)
        if windows["eu"] != pruned:
            raise WindowTooShort({"eu": "elections (rows) changed for times before the new events"})

    def windows(chosen: dict[str, Window]) -> list[dict[str, Window]]:
        tried.clear()
        monkeypatch.setattr(steps, "choose_windows", lambda *_: chosen)
        steps.derive(
            cast("Any", NoWarehouse), Plan(("timelines",), ("eu",), {}, {}, {}), Settings(), stage, messages.append
        )
        return list(tried)

    messages: list[str] = []
    monkeypatch.setattr(steps, "_derive", derive_once)
    monkeypatch.setattr(steps, "_size_session", lambda *_: None)
    monkeypatch.setattr(steps, "since_coverage_changed", lambda _, since: since)
    monkeypatch.setattr(steps, "windows_of_pruned", lambda *_: {"eu": pruned})
    assert windows({}) == [{"eu": pruned}]
    assert windows({"eu": Window(day(9), day(18), day(20))}) == [{"eu": pruned}]
    assert messages == ["eu: rows that ended before 2026-11-12 00:00 stay, events before were pruned"] * 2
    messages.clear()
    shorter = Window(day(18), day(19), day(20))
    assert windows({"eu": shorter}) == [{"eu": shorter}, {"eu": pruned}]
    assert messages == [
        "eu: rows that ended before 2026-11-20 00:00 stay, with new events since then",
        "eu is rebuilt since it was pruned: elections (rows) changed for times before the new events",
    ]
