"""Nights as they come: a kill, a second run, growth, a refusal. Readers see whole runs only."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from click.testing import CliRunner, Result
from pyspark.sql import functions as F

import jobs.ingest.ingest
import jobs.warehouse.tables
from jobs.cli import main
from jobs.ingest.ingest import NewInput
from jobs.ingest.reading import read_ranges
from jobs.nightly.plan import Plan, appended_clusters, code_and_settings, made_otherwise_sentences, pending_after
from jobs.nightly.run import Outcome, nightly
from jobs.nightly.run import run as run_steps
from jobs.nightly.steps import STEP_SETTINGS
from jobs.session import are_many, with_settings
from jobs.settings import Settings, TopicSettings, load
from jobs.timelines.kafka_releases import releases
from jobs.timelines.topics import to_topic_timeline
from jobs.warehouse.lock import sole_writer
from jobs.warehouse.tables import Warehouse, open_warehouse
from schemas.ingest import EVENTS, LOG_FILES
from schemas.ledger import STEPS
from schemas.tables import BY_NAME, SOURCES
from tests.conftest import DAY, PER_RUN, QUIET, append, published_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.conftest import Frame, Run

pytestmark = pytest.mark.runs

TABLES = [name for name in BY_NAME if name != "runs"]


class Killed(BaseException):
    """Stands for `kill -9`: nothing catches it."""


def killed(*_: Any, **__: Any) -> None:
    raise Killed


def run(spark: SparkSession, root: Path, logs: Path, say: Callable[[str], None] = lambda _: None) -> Outcome:
    """A nightly run as the command does it."""
    return nightly(open_warehouse(spark, str(root), create=True), [str(logs)], Settings(), "default", say)


def pinned(spark: SparkSession, root: Path) -> dict[str, int]:
    """The versions that readers see; a version never changes."""
    return dict(open_warehouse(spark, str(root), create=False).versions)


Rows = dict[str, list[dict[str, Any]]]


def comparable(tables: Rows, logs: Path) -> dict[str, list[str]]:
    """The same as texts, without run ids, the folder of the logs, and ids of streams, which depend on their night."""
    ids = {row["file_id"]: Path(row["path"]).name for row in tables["log_files"]}

    def plain(row: dict[str, Any]) -> str:
        text = repr({key: value for key, value in row.items() if key not in PER_RUN}).replace(str(logs), "logs")
        for file_id, name in ids.items():
            text = text.replace(file_id, name)
        return text

    return {name: sorted(map(plain, rows)) for name, rows in tables.items() if name != "runs"}


def states(tables: Rows) -> list[tuple[int, list[int]]]:
    """Leader and ISR of the states of pay-in-0, in their order."""
    mine = (row for row in tables["partition_timeline"] if row["topic"] == "pay-in")
    rows = sorted(mine, key=lambda row: int(row["partition_epoch"]))
    return [(row["leader"], row["isr"]) for row in rows]


def runs(warehouse: Warehouse) -> list[tuple[str, str]]:
    return sorted((row["run_id"], row["status"]) for row in warehouse.read("runs").collect())


def kill_the_first_run(spark: SparkSession, root: Path, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The very first run is killed amid its first tables: there is nothing to see."""
    with monkeypatch.context() as patch:
        patch.setattr(jobs.ingest.ingest, "write_streams", killed)
        with pytest.raises(Killed):
            run(spark, root, small)
    half = Warehouse(spark, str(root))
    assert half.exists("events")
    assert not half.exists("runs")


def take_single_steps(spark: SparkSession, root: Path, small: Path) -> None:
    """Step by step it becomes the first night; a step whose input is out of date names the one to run first."""
    result = step("ingest", root, str(small))
    assert result.exit_code == 0, result.stderr
    assert "events" in result.stdout
    assert "partitions" not in result.stdout  # nobody knows them yet
    assert f"kafka-rewind timelines --warehouse {root}" in result.stdout
    assert set(pinned(spark, root)) == {table.name for table in SOURCES}
    result = step("detect", root)
    assert result.exit_code == 2
    first = f"The timelines step is out of date for default; run `kafka-rewind timelines --warehouse {root}` first"
    assert first in result.stderr
    for name in ("timelines", "detect"):
        result = step(name, root)
        assert result.exit_code == 0, result.stderr


def finish_the_first_night(spark: SparkSession, root: Path, small: Path) -> Rows:
    """A nightly run without news brings up to date what the steps left: 2 was lost, 1 leads. Its rows."""
    result = step("nightly", root, str(small))
    assert result.exit_code == 0, result.stderr
    assert "elections match Kafka's algorithm" in result.stdout
    first_night = published_rows(root)
    assert len(first_night["events"]) == 9
    assert states(first_night) == [(2, [1, 2]), (1, [1])]
    [election] = first_night["elections"]
    assert (election["leader"], election["strategy"], election["trigger"], election["unclean"]) == (
        1,
        "offline",
        "broker_failure",
        False,
    )
    assert election["live_brokers"] == [1]
    lost = [row["broker"] for row in first_night["broker_timeline"] if row["ended_by"] == "session_expired"]
    assert lost == [2]
    warehouse = open_warehouse(spark, str(root), create=False)
    ledger = warehouse.read("runs").orderBy("run_id").collect()
    assert [row["steps"] for row in ledger] == [["ingest"], ["timelines"], ["detect"], list(STEPS)]
    assert [sorted(row["pending"]) for row in ledger] == [
        ["detect", "replay", "timelines"],
        ["detect", "replay"],
        ["replay"],
        [],
    ]
    assert set(warehouse.versions) == set(TABLES)
    return first_night


def run_without_news(spark: SparkSession, root: Path, small: Path, first_night: Rows) -> None:
    """A run over the same logs adds its own row and nothing else."""
    at_first = pinned(spark, root)
    outcome = run(spark, root, small)
    assert (outcome.published, outcome.has_new_input) == (True, False)
    warehouse = open_warehouse(spark, str(root), create=False)
    assert runs(warehouse)[-1] == ("5", "published")
    assert warehouse.versions == at_first
    [counts] = [dict(row["rows"]) for row in warehouse.read("runs").where("run_id = 5").collect()]
    assert counts == {name: len(rows) for name, rows in first_night.items() if name != "runs"}
    result = step("replay", root)
    assert (
        "Nothing new: the tables are up to date; `kafka-rewind summary` tells of all that they show." in result.stderr
    )
    assert pinned(spark, root) == at_first


def kill_the_second_night(spark: SparkSession, root: Path, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is killed after some of the timelines were written: readers see the first night."""
    at_first = pinned(spark, root)
    with monkeypatch.context() as patch:
        patch.setattr("jobs.nightly.steps.to_partition_timeline", killed)
        with pytest.raises(Killed):
            run(spark, root, small)
    assert Warehouse(spark, str(root)).version("topic_timeline") > at_first["topic_timeline"]
    assert pinned(spark, root) == at_first


def run_the_second_night(spark: SparkSession, root: Path, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two topics only that with news is rebuilt."""
    sentences: list[str] = []
    topics_of_calls: list[set[str | None]] = []

    def noting_topics(events: DataFrame, *others: Any) -> DataFrame:
        topics_of_calls.append({row["topic"] for row in events.select("topic").distinct().collect()})
        return to_topic_timeline(events, *others)

    with monkeypatch.context() as patch:
        patch.setattr(jobs.ingest.ingest, "WORTH_BYTES", 0)
        patch.setattr("jobs.nightly.steps.to_topic_timeline", noting_topics)
        assert run(spark, root, small, sentences.append).published
    # the controller's log went on after 10:05:00.001, and what was silent until then may be told now
    assert "default: 1 topic has new events since 2026-11-21 10:05:00; the others are unchanged" in sentences
    assert topics_of_calls == [{None, "pay-in"}]


def run_a_refused_night(spark: SparkSession, root: Path, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many records that no rule knows: refused, said, and invisible."""
    with (small / "broker-1" / "state-change.log").open("a") as file:
        file.writelines(
            f"[2026-11-21 10:07:00,{i:03}] INFO [Controller id=1 epoch=1] Nobody wrote this (state.change.logger)\n"
            for i in range(25)
        )
    at_second = pinned(spark, root)
    with monkeypatch.context() as patch:
        patch.setattr("jobs.nightly.plan.DERIVING_STEPS", ())  # the streams alone are enough to be refused
        result = CliRunner().invoke(main, ["nightly", str(small), "--warehouse", str(root)])
    assert result.exit_code == 3
    assert "The data gate refused run 8; readers still see the run before it." in result.stderr
    assert (
        "log_files.reject_ratio: a stream has no more rejects per record in scope than max_reject_percent allows"
        in result.stderr
    )
    assert (
        '    25 lines like "[Controller id=<n> epoch=<n>] Nobody wrote this", first at broker-1/state-change.log:'
        in result.stderr
    )
    assert '"reject_lines":25,"event_lines":3' in result.stderr
    assert Warehouse(spark, str(root)).version("log_files") > at_second["log_files"]
    assert pinned(spark, root) == at_second
    lines = (
        CliRunner()
        .invoke(main, ["sql", "SELECT count(*) AS n FROM rejects", "--warehouse", str(root)])
        .stdout.splitlines()
    )
    assert lines == ["n", "0", "(1 row)"]
    warehouse = open_warehouse(spark, str(root), create=False)
    assert [status for _, status in runs(warehouse)] == ["published"] * 7 + ["refused"]


def test_nights(
    spark: SparkSession,
    small: Path,
    grow: Callable[[Path], None],
    two_nights: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A first night in single steps, a second one that is killed and run again: together they are one clean run."""
    root = tmp_path / "warehouse"
    append(small, QUIET)
    result = step("timelines", root)
    assert (result.exit_code, "There is no warehouse in" in result.stderr) == (2, True)
    assert not root.exists()

    kill_the_first_run(spark, root, small, monkeypatch)
    take_single_steps(spark, root, small)
    first_night = finish_the_first_night(spark, root, small)
    run_without_news(spark, root, small, first_night)
    grow(small)
    kill_the_second_night(spark, root, small, monkeypatch)
    run_the_second_night(spark, root, small, monkeypatch)
    second = published_rows(root)
    assert two_nights.outcome.published
    clean = published_rows(Path(two_nights.warehouse.root))
    assert comparable(second, small) == comparable(clean, two_nights.capture)
    assert len(second["events"]) == 12
    assert states(second) == [(2, [1, 2]), (1, [1]), (1, [1, 2])]

    at_second = pinned(spark, root)
    run_a_refused_night(spark, root, small, monkeypatch)

    # without them the next run takes back what was refused
    known = (small / "broker-1" / "state-change.log").read_text().splitlines(keepends=True)[:3]
    (small / "broker-1" / "state-change.log").write_text("".join(known))
    assert run(spark, root, small).published
    assert pinned(spark, root) == at_second
    assert Warehouse(spark, str(root)).newest("rejects").count() == 0


def test_a_damaged_warehouse_is_rebuilt(two_nights: Run, spark: SparkSession, tmp_path: Path) -> None:
    """Tables and the ledger are gone: no night goes on as if they were empty. Made anew, they are as they were; so are
    events, of the same logs."""
    root, logs = tmp_path / "warehouse", two_nights.capture
    clean = comparable(published_rows(Path(two_nights.warehouse.root)), logs)
    shutil.copytree(two_nights.warehouse.root, root)
    for name in ("elections", "log_coverage", "runs"):
        shutil.rmtree(root / name)
    cut = next((root / "partition_timeline").glob("*.parquet"))
    cut.write_bytes(cut.read_bytes()[:-10])
    result = step("nightly", root, str(logs))
    assert result.exit_code == 4
    gone = r"runs \(it is gone\), elections \(it is gone\), log_coverage \(it is gone\), partition_timeline \(1 of its "
    assert re.search(rf"is damaged: {gone}.*overwritten\); .* --rebuild .* from the events", result.stderr)
    assert (root / "verdicts").exists()
    result = step("nightly", root, str(logs), "--rebuild")
    assert result.exit_code == 0, result.stderr
    assert comparable(published_rows(root), logs) == clean
    assert runs(open_warehouse(spark, str(root), create=False)) == [("2", "published")]

    shutil.rmtree(root / "events")
    assert "only logs can restore that" in step("nightly", root, str(logs)).stderr
    warehouse = open_warehouse(spark, str(root), create=False, repair=True)
    assert run_steps(warehouse, ("ingest",), Settings(), lambda _: None, logs=[str(logs)], rebuild=True).published
    assert comparable(published_rows(root), logs) == clean


def test_only_what_is_out_of_date_is_written(
    spark: SparkSession, small: Path, grow: Callable[[Path], None], tmp_path: Path
) -> None:
    """Two clusters, then news of one of them; the steps that follow are due for that one alone."""
    root = tmp_path / "warehouse"
    shutil.copytree(small / "broker-1", tmp_path / "more" / "broker-1")
    conf = tmp_path / "conf.yaml"
    conf.write_text(f'clusters: {{"{tmp_path}/more/*": second}}')
    logs = [str(small), str(tmp_path / "more"), "--conf", str(conf)]
    assert step("ingest", root, *logs).exit_code == 0
    assert open_warehouse(spark, str(root), create=False).pending == {name: ["default", "second"] for name in STEPS[1:]}
    before = pinned(spark, root)
    grow(small)
    assert step("ingest", root, *logs).exit_code == 0
    after = pinned(spark, root)
    assert {name for name in after if after[name] != before[name]} == {"log_files", "log_coverage", "events"}
    ledger = spark.read.format("delta").load(str(root / "runs")).orderBy("run_id").collect()
    assert [row["clusters"] for row in ledger] == [["default", "second"], ["default"]]
    written = open_warehouse(spark, str(root), create=False).read("events").groupBy("cluster").count().collect()
    assert {row["cluster"]: row["count"] for row in written} == {"default": 10, "second": 7}


UNKNOWN = "[2026-11-21 10:07:00,{:03}] INFO [Controller id=1 epoch=1] Nobody wrote this (state.change.logger)\n"


def check_other_cluster_went_on(first: Rows, rows: Rows) -> None:
    """The refused cluster `second` has the rows of the first run; `default` has its news, all but the changed file's."""
    ledger = max(rows["runs"], key=lambda row: int(row["run_id"]))
    assert (ledger["status"], ledger["clusters"], ledger["refused"]) == ("published", ["default"], ["second"])
    assert dict(ledger["pending"]) == {name: ["default", "second"] for name in STEPS[1:]}
    assert dict(ledger["rows"]) == {
        name: len(rows[name]) for name in ("log_files", "log_coverage", "events", "rejects")
    }
    for name in ("log_files", "log_coverage", "events", "rejects"):
        of_second = [[row for row in tables[name] if row["cluster"] == "second"] for tables in (first, rows)]
        assert of_second[0] == of_second[1]
    # of the other cluster the controller's two new lines are there, the broker's new one is not
    messages = [row["message"] for row in rows["events"] if row["cluster"] == "default"]
    assert sum("callback" in message for message in messages) == 2
    assert not any("ISR updated" in message for message in messages)


def test_a_refused_cluster_and_a_file_that_changes_keep_nothing_else_back(
    spark: SparkSession, small: Path, grow: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two clusters with news one is refused, and of the other a log is cut while it is read; then all is well."""
    root = tmp_path / "warehouse"
    second, cut = tmp_path / "more" / "broker-1", small / "broker-1" / "server.log"
    shutil.copytree(small / "broker-1", second)
    conf = tmp_path / "conf.yaml"
    conf.write_text(f'clusters: {{"{tmp_path}/more/*": second}}')
    logs = [str(small), str(tmp_path / "more"), "--conf", str(conf)]

    def ingest(folder: Path) -> bool:
        """Without the summary, which takes as long."""
        warehouse = open_warehouse(spark, str(folder), create=True)
        return run_steps(warehouse, ("ingest",), load(str(conf)), lambda _: None, logs=logs[:2]).published

    assert ingest(root)
    first = published_rows(root)
    grow(small)
    sound = (second / "state-change.log").read_text()
    (second / "state-change.log").write_text(sound + "".join(UNKNOWN.format(i) for i in range(25)))
    grown = cut.read_bytes()

    def read_late(*arguments: Any) -> DataFrame:
        cut.write_bytes(grown[:40])
        return read_ranges(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(jobs.ingest.ingest, "read_ranges", read_late)
        patch.setattr(jobs.warehouse.tables.Warehouse, "publish", killed)
        with pytest.raises(Killed):
            ingest(root)
        assert published_rows(root) == first
        cut.write_bytes(grown)
    with monkeypatch.context() as patch:
        patch.setattr(jobs.ingest.ingest, "read_ranges", read_late)
        result = step("ingest", root, *logs)
    assert result.exit_code == 3
    assert "The data gate refused cluster second; its rows are those of the last run that passed." in result.stderr
    assert '    25 lines like "[Controller id=<n> epoch=<n>] Nobody wrote this", first at ' in result.stderr
    changed = f"This file changed while it was read: {cut}; what is new in it waits for the next run."
    assert changed in result.stderr
    assert changed in result.stdout

    rows = published_rows(root)
    check_other_cluster_went_on(first, rows)
    [refused] = [row for row in rows["log_files"] if row["status"] == "refused"]
    assert (refused["path"], refused["findings"], refused["size_bytes"]) == (str(cut), [changed], 0)

    cut.write_bytes(grown)
    (second / "state-change.log").write_text(sound)
    clean = tmp_path / "clean"
    assert ingest(root)
    assert ingest(clean)
    assert comparable(published_rows(root), tmp_path) == comparable(published_rows(clean), tmp_path)


def test_progress_is_said_stage_by_stage(zk: Any) -> None:
    assert [line for line in zk.sentences if line.endswith(" ...")] == [
        f"{stage} ..." for stage in ("ingest", "timelines", "detect", "replay", "audit", "publish")
    ]
    assert list(zk.outcome.seconds) == ["take back", "ingest", "timelines", "detect", "replay", "audit", "publish"]


def test_releases_of_clusters(frame: Frame) -> None:
    streams = """
    cluster | kafka_versions
    zk      | 2.4.0..2.5.1
    zk      | 1.1.0..3.1.2
    zk      |
    dump    | 2.8.0..
    upgraded | 2.8.0..
    kraft   | 3.9.0..
    brokers | 3.3.0..
    dark    |
    says    | 1.1.0..3.1.2
    rolls   | 3.3.0..
    ends    | 3.3.0..
    """
    events = """
    cluster | node_id | event_type    | logger                                                | fields
    zk      | 1       |               | kafka.controller.KafkaController                      |
    dump    | 1       |               | kafka-dump-log                                        |
    upgraded | 1      | metadata_register_broker | kafka-dump-log                             | supported=27
    upgraded | 1      | metadata_register_controller | kafka-dump-log                         | supported=29
    upgraded | 1      | metadata_partition | kafka-dump-log                                   | supported=30
    kraft   | 1       |               | org.apache.kafka.controller.ReplicationControlManager |
    kraft   | 1       |               | state.change.logger                                   |
    brokers | 1       | kraft_local_leaders_summary | state.change.logger                     |
    says    | 1       | kafka_version | org.apache.kafka.common.utils.AppInfoParser           | kafka_version=2.3.0
    zk      |         | kafka_version | org.apache.kafka.common.utils.AppInfoParser           | kafka_version=2.8.0
    rolls   | 1       | kafka_version | org.apache.kafka.common.utils.AppInfoParser           | kafka_version=3.4.0
    rolls   | 2       | kafka_version | org.apache.kafka.common.utils.AppInfoParser           | kafka_version=3.5.1
    rolls   | 3       | kafka_version | org.apache.kafka.common.utils.AppInfoParser           | kafka_version=3.4.1
    ends    | 1       | kafka_version | org.apache.kafka.common.utils.AppInfoParser           | kafka_version=3.9.1
    ends    | 1       | kafka_version | org.apache.kafka.common.utils.AppInfoParser           | kafka_version=4.0.0
    """
    expected = {
        "zk": ("2.4..2.5.1", False), "dump": ("2.8..", True), "kraft": ("3.9..", True), "brokers": ("3.3..", True),
        "upgraded": ("4.1..4.2", True), "says": ("2.3", False), "rolls": ("3.4..3.5.1", False), "ends": ("3.9.1..4.0", True),
    }  # fmt: skip
    supported = '{"name":"metadata.version","minSupportedVersion":7,"maxSupportedVersion":%s}'
    lines = frame(EVENTS, events).withColumn("message", F.format_string(supported, F.col("fields")["supported"]))
    assert releases(frame(LOG_FILES, streams), lines) == expected
    configured = releases(frame(LOG_FILES, streams), lines, {"rolls": "3.5.1", "ends": "3.9.1"})
    assert configured == {**expected, "rolls": ("3.5.1", False), "ends": ("3.9.1", False)}


APPENDED = {  # digests of rows, steps that are out of date, steps of this run -> clusters of which rows may stay
    "rows made alike": ({"a": "now"}, {}, STEPS, ["a"]),
    "other code or settings": ({"a": "then"}, {}, STEPS, []),
    "rows made one step after another": ({}, {}, STEPS, []),
    "earlier input that is not in the rows": ({"a": "now"}, {"replay": ["a"]}, STEPS, []),
    "single steps": ({"a": "now"}, {}, ("ingest", "timelines"), []),
    "another cluster is late": ({"a": "now"}, {"replay": ["b"]}, STEPS, ["a"]),
    "other events changed, too": ({"a": "now", "b": "now"}, {}, STEPS, ["a"]),
}


@pytest.mark.parametrize("case", APPENDED)
def test_whose_rows_appended_clusters(case: str) -> None:
    by, late, steps, expected = APPENDED[case]
    warehouse = Warehouse(cast("Any", None), "", derived_with=by, pending=late)
    news = NewInput(("a", "b"), streams_read={"a": {"stream": 1}})
    derived = [step for step in steps if step != "ingest"]
    assert appended_clusters(warehouse, news, derived, "now") == expected


def test_rows_that_other_settings_made() -> None:
    """Those of clusters with new input are rebuilt, of others they stay; both are said before anything is done."""
    plan = Plan(STEPS[1:], ("a", "b"), {}, {}, {}, made_otherwise=("a", "c"))
    what = "was made with other settings, or by another release of Kafka Rewind"
    assert made_otherwise_sentences(plan) == [
        f"a {what}: it is rebuilt as a whole",
        f"c {what}, and has no new logs: its tables stay as they are; --rebuild makes them anew",
    ]


def test_rows_are_made_with_code_and_settings() -> None:
    topics = {"pay": TopicSettings(min_insync_replicas=2), "rest": TopicSettings()}
    assert code_and_settings(Settings(topics=topics)) == code_and_settings(
        Settings(topics=dict(reversed(topics.items())))
    )
    assert code_and_settings(Settings(topics=topics)) != code_and_settings(Settings())


PENDING = {  # out of date before, step, its clusters -> out of date after
    "nothing new": ({}, "ingest", (), {}),
    "news": ({}, "ingest", ("a",), {"timelines": ["a"], "detect": ["a"], "replay": ["a"]}),
    "more news": (
        {"detect": ["b"], "replay": ["b"]},
        "ingest",
        ("a",),
        {"timelines": ["a"], "detect": ["a", "b"], "replay": ["a", "b"]},
    ),
    "a step takes what it did, the next ones follow": (
        {"timelines": ["a"], "replay": ["c"]},
        "timelines",
        ("a",),
        {"detect": ["a"], "replay": ["a", "c"]},
    ),
    "the last step": ({"replay": ["a", "b"]}, "replay", ("a",), {"replay": ["b"]}),
}


_PAY_IN = "LeaderAndIsrPartitionState(topicName='pay-in', partitionIndex=0, controllerEpoch=1, leader=2, leaderEpoch=0, isr=[2, 1], zkVersion=0, replicas=[2, 1], addingReplicas=[], removingReplicas=[], isNew=true)"
WRONG_CLOCK = {  # broker 2's clock is five minutes ahead: it answers, by its own clock, after the answer came
    "broker-1/state-change.log": [
        f"10:00:01,010] TRACE [Controller id=1 epoch=1] Sending become-leader LeaderAndIsr request {_PAY_IN} to broker 2 for partition pay-in-0 (state.change.logger)",
        "10:00:01,030] TRACE [Controller id=1 epoch=1] Received response {error_code=0,partition_errors=[{topic_name=pay-in,partition_index=0,error_code=0,_tagged_fields={}}],_tagged_fields={}} for request LEADER_AND_ISR with correlation id 1 sent to broker node2:9092 (id: 2 rack: null) (state.change.logger)",
    ],
    "broker-2/state-change.log": [
        f"10:05:01,012] TRACE [Broker id=2] Received LeaderAndIsr request {_PAY_IN} correlation id 1 from controller 1 epoch 1 (state.change.logger)",
        "10:05:01,020] TRACE [Broker id=2] Completed LeaderAndIsr request correlationId 1 from controller 1 epoch 1 for the become-leader transition for partition pay-in-0 (state.change.logger)",
    ],
}  # fmt: skip


@pytest.mark.parametrize("many_from", [1 << 20, 0], ids=["events are kept", "events are read again"])
def test_a_wrong_clock(many_from: int, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is derived goes by the cluster's clock, here node 1's; the events keep their own."""
    monkeypatch.setattr("jobs.session.LARGE_BYTES", many_from)
    one = "10:00:00,000] INFO [Controller id=1] 1 successfully elected as the controller. Epoch incremented to 1 and epoch zk version is now 1 (kafka.controller.KafkaController)"
    append(tmp_path / "logs", {"broker-1/controller.log": [one]})
    append(tmp_path / "logs", WRONG_CLOCK)
    root = tmp_path / "warehouse"
    assert run(spark, root, tmp_path / "logs").published
    tables = published_rows(root)

    def seconds(at: datetime) -> float:
        return (at.replace(tzinfo=None) - datetime.fromisoformat(f"{DAY} 10:00:00")).total_seconds()

    assert are_many(spark) is (many_from == 0)
    [request] = tables["control_requests"]
    sent, received, handled, responded = (
        seconds(request[name]) for name in ("sent_at", "received_at", "handled_at", "responded_at")
    )
    assert (sent, responded) == (1.010, 1.030)
    assert sent <= received <= handled <= responded
    [state] = tables["partition_timeline"]
    assert seconds(state["since"]) == 1.010
    assert [seconds(row["at"]) for row in tables["events"] if row["node_id"] == 2] == [301.012, 301.020]


@pytest.mark.parametrize("case", PENDING)
def test_what_is_out_of_date(case: str) -> None:
    before, step, clusters, after = PENDING[case]
    assert pending_after(before, step, clusters) == after


def step(name: str, root: Path, *more: str) -> Result:
    return CliRunner().invoke(main, [name, *more, "--warehouse", str(root)])


def test_two_runs_at_once(spark: SparkSession, small: Path, tmp_path: Path) -> None:
    """The second waits for the first, and then finds nothing new; one that may not wait says who is there."""
    root = tmp_path / "warehouse"

    def one() -> bool:
        with sole_writer(str(root), wait=True, say=lambda _: None):
            warehouse = open_warehouse(spark, str(root), create=True)
            return run_steps(warehouse, ("ingest",), Settings(), lambda _: None, logs=[str(small)]).has_new_input

    with ThreadPoolExecutor(2) as pool:
        news = [run_of.result() for run_of in [pool.submit(one) for _ in range(2)]]
    assert sorted(news) == [False, True]
    warehouse = open_warehouse(spark, str(root), create=False)
    assert runs(warehouse) == [("1", "published"), ("2", "published")]
    assert warehouse.read("events").count() == 7
    with sole_writer(str(root), wait=True, say=lambda _: None):
        result = step("ingest", root, str(small), "--no-wait")
    assert result.exit_code == 4
    assert re.fullmatch(
        rf"kafka-rewind: Another run \(process \d+, since .* UTC\) is writing to this warehouse: {root}; .*\n",
        result.stderr,
    )


def test_under_the_settings_of_a_night_nothing_but_overflow_is_otherwise(spark: SparkSession) -> None:
    """Overflow wraps; the size of a list that is not there stays unknown, and so does what is beyond its end."""
    with with_settings(spark, STEP_SETTINGS):
        row = spark.sql("SELECT 2147483647 + 1 AS sum, size(NULL) AS size, get(array(1), 5) AS beyond").first()
    assert row == (-(2**31), None, None)
    assert spark.sql("SELECT size(NULL) AS size").first() == (None,)


def test_the_largest_numbers_end_no_night(spark: SparkSession, small: Path, tmp_path: Path) -> None:
    """A line whose epochs and versions were damaged: nothing can be counted on from them."""
    state = (
        "LeaderAndIsr(leader=2, leaderEpoch=2147483647, isr=List(2, 1), zkVersion=2147483647)) (state.change.logger)"
    )
    epochs = "[Controller id=1 epoch=2147483647]"
    change = "Changed partition pay-in-0 from OnlinePartition to OnlinePartition with state"
    append(small, {"broker-1/state-change.log": [f"10:04:00,000] TRACE {epochs} {change} {state}"]})
    warehouse = open_warehouse(spark, str(tmp_path / "w"), create=True)
    assert nightly(warehouse, [str(small)], Settings(), "c", lambda _: None).published
    assert warehouse.read("partition_timeline").where("leader_epoch = 2147483647").count() == 1
