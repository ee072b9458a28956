"""The summary without a night: the facts of Spark's queries, of the views; the words, and JSON."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from jobs.cli import main
from jobs.nightly.news import named_since
from jobs.nightly.published_summary import READ_TABLES, summaries, summaries_in
from jobs.nightly.summary_facts import NAMED, ClusterSummary, Named
from jobs.nightly.summary_queries import summarize
from jobs.nightly.summary_text import summary_text
from jobs.read.views import open_views
from jobs.settings import Settings
from jobs.warehouse.tables import Warehouse
from schemas.tables import BY_NAME
from tests.delta_warehouse import DAY, publish

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.conftest import Run

STREAM = {
    "file_id": "f", "path": "/logs/server.log", "status": "ok", "findings": [], "node_ids": [1], "also_seen_as": [],
    "drift": {},
    "first_at": DAY, "last_at": DAY, "time_zone": "UTC", "size_bytes": 10, "event_bytes": 10, "detail_bytes": 0,
    "reject_bytes": 0, "other_bytes": 0, "duplicate_bytes": 0, "held_back_bytes": 0, "event_lines": 1,
}  # fmt: skip
OUTAGE = {"topic": "pay\x1b[31m", "partition": 0, "since": DAY, "evidence": [{"node_id": 1, "file_id": "f", "line": 7}]}


@pytest.fixture
def root(tmp_path: Path) -> str:
    """Two clusters, one with an outage of a topic whose name would steer a terminal, and a kind of reject."""
    rejects = [{"cluster": "d", "file_id": "f", "line": n, "at": DAY, "reason": "no rule"} for n in (3, 2)]
    return str(
        publish(
            tmp_path,
            log_files=[{"cluster": name, **STREAM} for name in "cd"],
            offline_partitions=[{"cluster": "c", **OUTAGE}],
            rejects=rejects,
        )
    )


def printed(*arguments: str) -> str:
    result = CliRunner().invoke(main, ["summary", *arguments], catch_exceptions=False)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


@pytest.mark.usefixtures("no_jvm")
class TestWithoutSpark:
    def test_words(self, root: str) -> None:
        text = printed("--warehouse", root)
        assert [line.split(":")[0] for line in text.splitlines() if line.startswith("Cluster")] == [
            "Cluster c",
            "Cluster d",
        ]
        assert "pay\\x1b[31m-0 had no leader" in text
        assert "\x1b" not in text
        assert "Where to look next:" in text

    def test_one_cluster_as_data(self, root: str) -> None:
        (data,) = json.loads(printed("--warehouse", root, "--cluster", "d", "--format", "json"))
        assert (data["cluster"], data["outages"]) == ("d", [])
        assert data["streams"][0]["first_at"] == "2026-11-21T00:00:00.000Z"
        assert [(r["signature"], r["count"], r["first"]["line"]) for r in data["rejects"]] == [("no rule", 2, 2)]

    def test_commands_about_one_cluster_that_was_asked_for_name_it(self, root: str) -> None:
        assert f"\n  kafka-rewind outages --cluster d --warehouse {root}\n" in printed(
            "--warehouse", root, "--cluster", "d"
        )

    def test_a_cluster_that_is_not_there(self, root: str) -> None:
        result = CliRunner().invoke(main, ["summary", "--warehouse", root, "--cluster", "x"])
        assert (result.exit_code, result.stdout) == (2, "")
        assert "There is no cluster x in the warehouse; it has c, d." in result.stderr


@pytest.mark.usefixtures("no_jvm")
def test_incidents_that_are_open_since_before_the_last_run(tmp_path: Path) -> None:
    """Of one cluster that was known until 03:00: three are open or ended later, of which two had begun before, and one
    of these is open."""
    hours: dict[str, tuple[int, int | None]] = {
        "over": (1, 2),
        "ended since": (2, 4),
        "open since before": (3, None),
        "new": (4, None),
    }
    incidents: list[dict[str, object]] = [
        {
            "cluster": "c", "incident_id": name, "severity": "major", "title": name, "evidence": [],
            "since": DAY + timedelta(hours=since), "until": until and DAY + timedelta(hours=until),
        }
        for name, (since, until) in hours.items()
    ]  # fmt: skip
    root = str(publish(tmp_path, log_files=[{"cluster": "c", **STREAM}], incidents=incidents))
    [facts] = summaries_in(root, Settings(), {"c": DAY + timedelta(hours=3)})
    assert [row["title"] for row in facts.incidents] == ["ended since", "open since before", "new"]
    assert (facts.incident_counts, facts.older_incidents) == ({"major": 3}, {"major": 1})
    [facts] = summaries_in(root, Settings(), {})
    assert (facts.incident_counts, facts.older_incidents) == ({"major": 4}, {})


@pytest.mark.usefixtures("no_jvm")
def test_of_late_logs_only_what_no_run_has_named_is_new(tmp_path: Path) -> None:
    """The runs before knew all until 05:00, late logs begin at 01:00: what was named is counted, if it is as it was."""
    place = {"cluster": "c", "topic": "t", "incarnation": 0, "evidence": []}
    two, four = DAY + timedelta(hours=2), DAY + timedelta(hours=4)
    outage = {**place, "since": two, "ended_before": four, "at_least_ms": 1, "failed_elections": 0}
    election = {**place, "at": two, "succeeded": True, "unclean": True, "leader": 1}
    incident = {"cluster": "c", "severity": "major", "evidence": [], "since": two, "until": four}
    verdict = {"cluster": "c", "rule": "r", "at": two, "verdict": "violated", "evidence": []}
    root = publish(
        tmp_path,
        log_files=[{"cluster": "c", **STREAM}],
        offline_partitions=[{**outage, "partition": number} for number in (0, 1)],
        elections=[{**election, "partition": number, "leader_epoch": 7} for number in (0, 1)],
        incidents=[{**incident, "incident_id": name, "title": name} for name in ("same", "worse", "it's new")],
        verdicts=[{**verdict, "subject": name} for name in ("same", "new")],
    )
    named: Named = {
        "offline_partitions": [("c", "t", 0, 0, two, four), ("c", "t", 1, 0, two, two)],
        "elections": [("c", "t", 0, 0, 7), ("c", "t", 1, 0, 6)],
        "incidents": [("c", "same", "major", four), ("c", "worse", "minor", four)],
        "verdicts": [("c", "r", "same", two)],
    }
    [facts] = summaries_in(str(root), Settings(), {"c": DAY + timedelta(hours=1)}, named)
    assert [row["partition"] for row in facts.outages] == [1]
    assert [row["partition"] for row in facts.unclean_elections] == [1]
    assert sorted(row["title"] for row in facts.incidents) == ["it's new", "worse"]
    assert [row["subject"] for row in facts.violations] == ["new"]
    assert (facts.new_outages, facts.outage_count, facts.new_unclean, facts.elections["unclean"]) == (1, 2, 1, 2)
    assert (facts.incident_counts, facts.new_violations) == ({"major": 2}, 1)


LIFE = {"cluster": "c", "topic": "t", "partition": 0, "evidence": []}


def a_night_of_waits(root: Path) -> str:
    """t-0 waits for its first leader in its second life, t-1 since before; t-2 is led. Of t-3, which has no leader,
    the topic's deletion goes on. Broker 1 flapped once an hour in two lives of t-0."""

    def of(number: int, life: int, **values: object) -> dict[str, object]:
        return {**LIFE, "partition": number, "incarnation": life, **values}

    at = [DAY + timedelta(hours=hour) for hour in range(4)]
    new = {"succeeded": False, "strategy": "new"}
    elections = [
        of(0, 1, at=at[2], **new),
        of(1, 1, at=at[1], **new),
        of(1, 1, at=at[3], **new),
        of(2, 1, at=at[1], **new),
    ]
    states = [of(0, 0, until=at[1], leader=1), of(2, 1, leader=1), of(3, 1, leader=-1)]
    outage = of(3, 1, since=at[2], cause="topic_deletion", failed_elections=0, at_least_ms=0)
    churn = {"follower": 1, "flaps": 1, "shrinks": 1, "expands": 1, "churning": False}
    return str(
        publish(
            root,
            log_files=[{"cluster": "c", **STREAM}],
            elections=[*elections, of(1, 1, at=at[1], succeeded=False, strategy="offline")],
            partition_timeline=[{"ordinal": 0, "since": DAY, "leader_epoch": 0, **one} for one in states],
            topic_timeline=[
                {"cluster": "c", "topic": "t", "incarnation": life, "since": DAY, "until": until, "evidence": []}
                for life, until in ((0, at[1]), (1, None))
            ],
            offline_partitions=[outage],
            isr_churn=[of(0, life, hour=hour, **churn) for life, hour in ((1, at[2]), (0, at[1]), (0, at[0]))],
        )
    )


def facts_of_waits(facts: ClusterSummary) -> list[object]:
    waits = [(row["partition"], row["since"]) for row in facts.first_leader_waits]
    churn = [(row["incarnation"], row["hour"]) for row in facts.churn]
    return [waits, facts.waiting_partitions, facts.open_deletions, facts.current_partitions, churn]


WAITS: list[object] = [
    [(1, DAY + timedelta(hours=1)), (0, DAY + timedelta(hours=2))], 2, 1, 2,
    [(0, DAY), (0, DAY + timedelta(hours=1)), (1, DAY + timedelta(hours=2))],
]  # fmt: skip


@pytest.mark.usefixtures("no_jvm")
def test_new_partitions_that_wait_deletions_that_go_on_and_the_order_of_churn(tmp_path: Path) -> None:
    [facts] = summaries_in(a_night_of_waits(tmp_path), Settings(), {})
    assert facts_of_waits(facts) == WAITS


def test_the_same_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    root = a_night_of_waits(tmp_path)
    warehouse = Warehouse(
        spark, root, versions={table.name: 0 for table in Path(root).iterdir() if table.name in BY_NAME}
    )
    [facts] = summarize(warehouse, ["detect", "timelines"])
    assert facts_of_waits(facts) == WAITS


def test_facts_are_equal_by_both_engines(zk: Run, kraft: Run, two_nights: Run) -> None:
    for run in (zk, kraft, two_nights):
        by_spark = summarize(run.warehouse)
        for cluster in by_spark:  # in no order there
            cluster.streams.sort(key=lambda row: (row["path"], row["file_id"]))
        with open_views(run.warehouse.root, only=(*READ_TABLES, "events"), naive=True) as views:
            assert summaries(views, Settings(), with_events=True) == by_spark
        # of what is new since the middle of the logs, too
        known = {}
        for cluster in by_spark:
            times = sorted(row["first_at"] for row in cluster.streams if row["first_at"])
            known[cluster.cluster] = (
                times[0] + (max(row["last_at"] or times[0] for row in cluster.streams) - times[0]) / 2
            )
        lately = summarize(run.warehouse, known_until=known)
        for cluster in lately:
            cluster.streams.sort(key=lambda row: (row["path"], row["file_id"]))
        assert summaries_in(run.warehouse.root, Settings(), known) == lately
        assert lately != by_spark
        # and of late logs, which show nothing that was not named before
        named = {name: named_since(run.warehouse, name, known) for name in NAMED}
        again = summarize(run.warehouse, known_until=known, named=named)
        for cluster in again:
            cluster.streams.sort(key=lambda row: (row["path"], row["file_id"]))
            assert (cluster.new_outages, cluster.new_unclean) == (cluster.open_outages, 0)
        assert summaries_in(run.warehouse.root, Settings(), known, named) == again
        assert printed("--warehouse", run.warehouse.root) == f"{summary_text(by_spark, run.warehouse.root)}\n"
