"""The nightly run: ingest, timelines, detect, replay, gate, publish.

Everything between the first write and the `runs` row is invisible to readers; see `jobs.warehouse`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs import detect, timelines
from jobs.gate import Audit, audit
from jobs.ingest import ingest
from jobs.replay import release_of, to_verdicts
from jobs.settings import Settings
from jobs.warehouse import WRITERS, Warehouse, run_row
from schemas.ledger import RUNS
from schemas.tables import BY_NAME, DERIVED, SOURCES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Say = Callable[[str], None]


@dataclass
class Outcome:
    """What a run did: its id, whether it brought anything, the gate's findings, and seconds by stage."""

    run_id: str
    news: bool
    audit: Audit | None
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def published(self) -> bool:
        """Whether readers see this run."""
        return self.audit is None or not self.audit.failures


def product_version() -> str:
    """Version of the installed distribution; `unknown` when it runs from a bare zip."""
    try:
        return version("kafka-rewind")
    except PackageNotFoundError:
        return "unknown"


def nightly(warehouse: Warehouse, logs: Iterable[str], settings: Settings, cluster: str, say: Say) -> Outcome:
    """Read the logs, rebuild what they change, and publish it if the gate lets it pass. Raises BadInput for bad logs."""
    inputs = list(logs)
    started = datetime.now(UTC).replace(tzinfo=None)
    run_id = warehouse.last_run + 1
    outcome = Outcome(str(run_id), news=True, audit=None)
    stage = _Stages(outcome.seconds, say)
    with stage("take back", quiet=True):
        for name in warehouse.take_back():
            say(f"put {name} back: an earlier run was not published")
    with stage("ingest"):
        news = ingest(warehouse, inputs, settings, cluster, str(run_id), say)
    changed = bool(news.clusters)
    versions, rows, violations = dict(warehouse.versions), _last_rows(warehouse), {}
    if changed:
        _derive(warehouse, news.clusters, settings, stage)
        with stage("audit"):
            versions = _versions(warehouse)
            tables = {name: warehouse.newest(name) for name in versions}
            outcome.audit = audit(tables)
            rows, violations = dict(outcome.audit.rows), dict(outcome.audit.violations)
    elif news.seen_again:
        versions["log_files"] = warehouse.version("log_files")
    outcome.news = changed
    with stage("publish"):
        status = "published" if outcome.published else "refused"
        finished = datetime.now(UTC).replace(tzinfo=None)
        row = run_row(
            warehouse.spark,
            run_id,
            started,
            finished,
            product_version(),
            list(news.clusters),
            inputs,
            versions,
            rows,
            violations,
            status,
        )
        warehouse.write(RUNS, row, append=warehouse.exists(RUNS.name))
    warehouse.last_run = run_id
    if outcome.published:
        warehouse.versions = versions
    return outcome


class _Stages:
    """Says what is being done, and notes how long each stage took."""

    def __init__(self, seconds: dict[str, float], say: Say) -> None:
        self._seconds, self._say = seconds, say
        self._name, self._begun = "", 0.0

    def __call__(self, name: str, *, quiet: bool = False) -> _Stages:
        self._name = name
        if not quiet:
            self._say(f"{name} ...")
        return self

    def __enter__(self) -> None:
        self._begun = time.monotonic()

    def __exit__(self, *error: object) -> None:
        self._seconds[self._name] = time.monotonic() - self._begun


def _last_rows(warehouse: Warehouse) -> dict[str, int]:
    """Rows of each table as the last published run noted them."""
    if not warehouse.versions:
        return {}
    last = (
        warehouse.read(RUNS.name)
        .where("status = 'published'")
        .orderBy(F.col("run_id").cast("long").desc())
        .select("rows")
        .first()
    )
    return dict(last[0]) if last is not None else {}


def _versions(warehouse: Warehouse) -> dict[str, int]:
    """Newest version of every table, the ones this run wrote."""
    names = [table.name for table in (*SOURCES, *DERIVED)]
    with ThreadPoolExecutor(WRITERS) as pool:
        return dict(zip(names, pool.map(warehouse.version, names), strict=True))


def releases(log_files: DataFrame) -> dict[str, tuple[str, bool]]:
    """By cluster the Kafka release whose algorithms it ran, and whether it ran KRaft, from its streams' messages."""
    ranges: dict[str, list[str | None]] = {}
    kraft: dict[str, bool] = {}
    for row in log_files.select("cluster", "kafka_versions", "role", "kind").collect():
        ranges.setdefault(row["cluster"], []).append(row["kafka_versions"])
        kraft[row["cluster"]] = kraft.get(row["cluster"], False) or row["kind"] == "metadata_dump"
    found = {name: release_of(of) for name, of in ranges.items()}
    return {name: (str(release), kraft[name]) for name, release in found.items() if release is not None}


def _derive(warehouse: Warehouse, clusters: tuple[str, ...], settings: Settings, stage: _Stages) -> None:
    """Compute everything that follows from events anew, for the clusters with news."""
    spark = warehouse.spark
    some = F.col("cluster").isin(*clusters)
    events = warehouse.newest("events").where(some).persist()
    told = releases(warehouse.newest("log_files").where(some))
    kraft = {
        r["cluster"]
        for r in events.where("logger LIKE 'org.apache.kafka.controller%' OR logger = 'kafka-dump-log'")
        .select("cluster")
        .distinct()
        .collect()
    }
    told = {name: (release, is_kraft or name in kraft) for name, (release, is_kraft) in told.items()}
    ends = events.groupBy("cluster").agg(F.max("at").alias("end_of_logs"))

    def written(*names: str) -> tuple[DataFrame, ...]:
        """Tables as just written: reading them back keeps later plans small."""
        return tuple(warehouse.newest(name).where(some).persist() for name in names)

    with stage("timelines"):
        topics = timelines.to_topic_timeline(events)
        controllers = timelines.to_controller_timeline(events)
        _write(warehouse, {"topic_timeline": topics, "controller_timeline": controllers}, clusters)
        topics, controllers = written("topic_timeline", "controller_timeline")
        states = timelines.to_states(events, topics).persist()
        timeline = timelines.to_partition_timeline(states, topics, settings)
        brokers = timelines.to_broker_timeline(events, controllers)
        _write(warehouse, {"partition_timeline": timeline, "broker_timeline": brokers}, clusters)
        timeline, brokers = written("partition_timeline", "broker_timeline")
    with stage("detect"):
        first = {
            "elections": detect.to_elections(timeline, events, topics),
            "isr_changes": detect.to_isr_changes(timeline, events, topics),
            "reassignments": detect.to_reassignments(events, timeline, topics, controllers),
        }
        _write(warehouse, first, clusters)
        elections, changes = written("elections", "isr_changes")
        led = timelines.with_until(states.where("leader IS NOT NULL"), topics)
        second = {
            "offline_partitions": detect.to_offline_partitions(led, elections, brokers, ends),
            "isr_churn": detect.to_isr_churn(changes, elections, ends, settings),
        }
        _write(warehouse, second, clusters)
    with stage("replay"):
        verdicts = to_verdicts(elections, timeline, controllers, brokers, events, told, settings)
        _write(warehouse, {"verdicts": verdicts}, clusters)
    spark.catalog.clearCache()


def _write(warehouse: Warehouse, frames: Mapping[str, DataFrame], clusters: tuple[str, ...]) -> None:
    """Write derived tables, several at once: of each, the rows of the given clusters are replaced."""
    names = ", ".join("'" + name.replace("'", "''") + "'" for name in clusters)
    with ThreadPoolExecutor(WRITERS) as pool:
        writes = [
            pool.submit(warehouse.write, BY_NAME[name], rows, replace=f"cluster IN ({names})")
            for name, rows in frames.items()
        ]
        for write in writes:
            write.result()
