"""What partition timelines cost: CPU seconds beside repartitioning and sorting the same rows, in the same session.

`python tests/benchmarks/timelines.py [--rows 1000000] [--partitions 30000] [--rounds 3] [--once] [--driver-memory 4g]
[--events FOLDER]` makes events as the ingest writes them of a ZooKeeper cluster of five brokers at 2.4, all at TRACE:
a state that the controller writes is logged by 13 lines (its own change, three requests to replicas and one to all,
three receipts, five caches), a leader's change of its ISR by 7. With `--once` only one line logs each state; so
`--partitions 1 --once` is one hot partition. Making them is not measured; in FOLDER they stay for the next call, a
folder for each size. It measures

- observations: the projection of events to what they state (`to_observations`), their incarnation included;
- floor: the same, repartitioned by partition and sorted in the order of time, the least that windows over them cost;
- by number: the same as the timeline does it, by one number for the partition, and in the order of partition epochs;
- least: these grouped into states with start, leader, ISR and evidence, and one window for the end, without which no
  timeline can be;
- states: what comes out of `to_states`, without what `evidence_kinds` costs;
- timeline: from events to PARTITION_TIMELINE.

CPU seconds of the whole process tree into a noop sink, rounds interleaved, the first dropped, medians. `--explain`
prints how often each costly operator is in their plans.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

sys.path.insert(0, str(Path(__file__).parent))
from cpu_time import cpu_seconds

from jobs.session import session
from jobs.settings import Settings
from jobs.timelines.cluster_facts import ClusterFacts, EvidenceKinds, evidence_kinds, kinds_of_any
from jobs.timelines.evidence import evidence
from jobs.timelines.observations import to_observations
from jobs.timelines.partitions import to_partition_timeline, to_states
from jobs.timelines.topics import HISTORY, INCARNATION, to_numbered_incarnations, with_history, with_incarnation
from schemas.ingest import EVENTS, LOG_COVERAGE
from schemas.timelines import CONTROLLER_TIMELINE, TOPIC_TIMELINE

BROKERS = 5
PARTITIONS_PER_TOPIC = 100
BYTES_PER_ROW = 300
"""Of a log line, to size the session as the ingest's bytes do."""
BEGAN, STEP_MICROS = datetime(2026, 11, 21, 11), 1000
"""First state, and from one state of the cluster to the next."""

NUMBERED = EvidenceKinds(kraft=False, dumps=False, removals=False, unnumbered=False, assigned=False, reassigned=False)
"""What there is in these events besides numbered states: nothing."""

# event type; which nodes write one each (0: the controller, 1: the leader, 3: the replicas, 5: all); whether also of a
# leader's change
LINES = (
    ("partition_state_change", 0, False),
    ("leader_and_isr_request_sent", 0, False),
    ("leader_and_isr_request_sent", 0, False),
    ("leader_and_isr_request_sent", 0, False),
    ("leader_and_isr_request_received", 3, False),
    ("isr_updated", 1, True),
    ("update_metadata_request_sent", 0, None),
    ("metadata_cache_updated", 5, None),
)


def log_lines(once: bool) -> Column:
    """Of a state: array of (event type, node, of the state change log); `epoch` is odd for a leader's change."""

    def line(kind: str, node: Column | int) -> Column:
        is_node = node if isinstance(node, Column) else F.lit(node)
        return F.struct(F.lit(kind).alias("event_type"), is_node.cast("int").alias("node_id"))

    by_controller: list[Column] = []
    by_leader: list[Column] = []
    writers: dict[int, list[Column | int]] = {
        0: [0],
        1: [F.col("leader")],
        3: [F.get("replicas", F.lit(n)) for n in range(3)],
        5: list(range(BROKERS)),
    }
    for kind, who, of_leader in LINES:
        lines = [line(kind, node) for node in writers[who]]
        by_leader += [] if of_leader is False else lines
        by_controller += [] if of_leader is True else lines
    first = slice(0, 1 if once else None)
    return F.when(F.col("epoch") % 2 == 1, F.array(*by_leader[first])).otherwise(F.array(*by_controller[first]))


def make_events(spark: SparkSession, rows: int, partitions: int, once: bool) -> DataFrame:
    """EVENTS of states of so many partitions, time-major, as their nodes' two logs hold them."""
    states = rows if once else rows // 10
    number = F.col("id") % partitions
    known = spark.range(states).select(
        "id",
        F.concat(F.lit("orders-"), (number / PARTITIONS_PER_TOPIC).cast("int")).alias("topic"),
        (number % PARTITIONS_PER_TOPIC).cast("int").alias("partition"),
        (F.col("id") / partitions).cast("int").alias("epoch"),
        F.array(*(((number + n) % BROKERS).cast("int") for n in range(3))).alias("replicas"),
    )
    leader = F.get("replicas", F.floor(F.col("epoch") / 2).cast("int") % 3)
    lines = (
        known.withColumn("leader", leader)
        .select("*", F.posexplode(log_lines(once)).alias("n", "log_line"))
        .select("*", "log_line.*")
        .withColumn("own", F.col("event_type") == "isr_updated")
    )
    isr = F.when(F.col("epoch") % 2 == 1, F.array_remove("replicas", F.get("replicas", F.lit(2)))).otherwise(
        F.col("replicas")
    )
    at = F.timestamp_micros(F.lit(int(BEGAN.timestamp() * 1e6)) + F.col("id") * STEP_MICROS + F.col("n") * 300)
    values = {
        "cluster": F.lit("default"),
        "file_id": F.concat(
            F.when(F.col("own"), "server").otherwise("state-change"), F.lit("-0123456789abcdef-"), "node_id"
        ),
        "line": F.col("id") * 20 + F.col("n"),
        "byte_offset": (F.col("id") * 20 + F.col("n")) * BYTES_PER_ROW,
        "size_bytes": F.lit(BYTES_PER_ROW),
        "at": at,
        "level": F.when(F.col("own"), "INFO").otherwise("TRACE"),
        "logger": F.when(F.col("own"), "kafka.cluster.Partition").otherwise("state.change.logger"),
        "controller_id": F.when(~F.col("own"), 0),
        "controller_epoch": F.when(~F.col("own"), 1),
        "leader": F.when(~F.col("own"), F.col("leader")),
        "leader_epoch": F.when(~F.col("own"), F.floor(F.col("epoch") / 2)),
        "partition_epoch": F.col("epoch"),
        "isr": isr,
        "replicas": F.when(~F.col("own") & (F.col("event_type") != "partition_state_change"), F.col("replicas")),
        "message": F.concat_ws(
            " ", F.lit("[Broker id=1] LeaderAndIsrPartitionState(isNew=false, topicName="), "topic", "partition",
            F.lit(
                "controllerEpoch=1, leader=0, leaderEpoch=0, isr=[0], zkVersion=0, addingReplicas=[], "
                "removingReplicas=[])"
            ),
        ),
    }  # fmt: skip
    events = lines.select(
        *(
            values.get(field.name, F.col(field.name) if field.name in lines.columns else F.lit(None))
            .cast(field.dataType)
            .alias(field.name)
            for field in EVENTS.schema
        )
    )
    return events.repartitionByRange("file_id", "line").sortWithinPartitions("file_id", "line")


def make_tables(spark: SparkSession, events: DataFrame, partitions: int) -> tuple[DataFrame, DataFrame, DataFrame]:
    """TOPIC_TIMELINE, CONTROLLER_TIMELINE and LOG_COVERAGE that go with it."""

    def row(schema: T.StructType, **values: object) -> tuple[object, ...]:
        return tuple(values.get(name) for name in schema.names)

    ended = events.agg(F.max("at")).collect()[0][0]
    schemas = [TOPIC_TIMELINE.schema, CONTROLLER_TIMELINE.schema, LOG_COVERAGE.schema]
    rows = [
        [
            row(schemas[0], cluster="default", topic=f"orders-{n}", incarnation=0, since=BEGAN)
            for n in range((partitions - 1) // PARTITIONS_PER_TOPIC + 1)
        ],
        [row(schemas[1], cluster="default", controller_id=0, controller_epoch=1, since=BEGAN, active_since=BEGAN)],
        [
            row(schemas[2], cluster="default", node_id=n, kind="server", since=BEGAN, until=ended, records=1)
            for n in range(BROKERS)
        ],
    ]
    topics, controllers, coverage = (
        spark.createDataFrame(values, schema) for values, schema in zip(rows, schemas, strict=True)
    )
    return topics, controllers, coverage


def contestants(spark: SparkSession, folder: str, partitions: int) -> dict[str, Callable[[], DataFrame]]:
    """What is measured, by name."""
    events = spark.read.parquet(folder)
    topics, controllers, coverage = make_tables(spark, events, partitions)

    def observations() -> DataFrame:
        return with_incarnation(to_observations(events, kraft=False, dumps=False), topics)

    def by_number() -> DataFrame:
        return (
            with_history(to_observations(events, kraft=False, dumps=False), to_numbered_incarnations(topics))
            .repartition(HISTORY)
            .sortWithinPartitions(HISTORY, "partition_epoch")
        )

    def least() -> DataFrame:
        one = F.when(F.min("leader") == F.max("leader"), F.min("leader")).alias("leader")
        isr = F.when(F.min("isr") == F.max("isr"), F.min("isr")).alias("isr")
        states = by_number().groupBy(HISTORY, "partition_epoch").agg(F.min("at").alias("at"), one, isr, evidence())
        backwards = Window.partitionBy(HISTORY).orderBy(F.desc("partition_epoch"))
        return states.withColumn("until", F.lag("at").over(backwards))

    return {
        "observations": observations,
        "floor": lambda: (
            observations()
            .repartition(*INCARNATION)
            .sortWithinPartitions(*INCARNATION, "at", "node_id", "file_id", "line")
        ),
        "by number": by_number,
        "least": least,
        "states": lambda: to_states(events, topics, controllers, ClusterFacts(events, coverage, NUMBERED)),
        "timeline": lambda: to_partition_timeline(
            to_states(
                events,
                topics,
                controllers,
                ClusterFacts(events, coverage, kinds_of_any(evidence_kinds(events).values())),
            ),
            topics,
            Settings(),
        ),
    }


def steps(rows: DataFrame) -> str:
    """How often each operator is in the plan of some rows, from their last one down; what is broadcast is left out."""
    counts: Counter[str] = Counter()
    broadcast: int | None = None
    for line in rows._jdf.queryExecution().executedPlan().toString().splitlines():
        operator = re.match(r"[\s:+*-]*(?:\(\d+\) )?(?=(\w+))", line)
        if operator is None or (broadcast is not None and operator.end() > broadcast):
            continue
        broadcast = operator.end() if operator[1] == "BroadcastExchange" else None
        counts[operator[1]] += 1
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description="Measure partition timelines against repartition and sort.")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--partitions", type=int, default=30_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--once", action="store_true", help="one line logs each state")
    parser.add_argument("--driver-memory", default="4g")
    parser.add_argument("--events", type=Path, help="where events are kept from call to call")
    parser.add_argument("--only", help="measure these alone, separated by commas")
    parser.add_argument("--explain", action="store_true")
    asked = parser.parse_args()
    settings = {"spark.master": "local[2]", "spark.driver.memory": asked.driver_memory}
    with tempfile.TemporaryDirectory() as passing, session(settings, asked.rows * BYTES_PER_ROW) as spark:
        folder = (asked.events or Path(passing)) / f"{asked.rows}_{asked.partitions}_{asked.once}"
        if not (folder / "_SUCCESS").exists():
            make_events(spark, asked.rows, asked.partitions, asked.once).write.mode("overwrite").parquet(str(folder))
        engines = contestants(spark, str(folder), asked.partitions)
        if asked.only:
            engines = {name: engines[name] for name in asked.only.split(",")}
        if asked.explain:
            for name, engine in engines.items():
                print(f"{name}: {steps(engine())}")
        spent: dict[str, list[float]] = {name: [] for name in engines}
        walls: dict[str, list[float]] = {name: [] for name in engines}
        for number in range(asked.rounds + 1):
            for name, engine in engines.items():
                before, began = cpu_seconds(), time.perf_counter()
                engine().write.format("noop").mode("overwrite").save()
                if number or not asked.rounds:
                    spent[name].append(cpu_seconds() - before)
                    walls[name].append(time.perf_counter() - began)
        medians = {name: statistics.median(seconds) for name, seconds in spent.items()}
        print(
            f"{asked.rows} rows, {asked.partitions} partitions, {asked.rounds} rounds, CPU seconds: median (least-most)"
        )
        for name, median in medians.items():
            times = f"  x floor {median / medians['floor']:.3f}" if "floor" in medians else ""
            print(
                f"{name:12} {median:7.2f} ({min(spent[name]):.2f}-{max(spent[name]):.2f})  "
                f"{statistics.median(walls[name]):6.2f} s wall{times}"
            )


if __name__ == "__main__":
    main()
