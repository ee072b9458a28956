"""`describe --at` against the truth: `python tests/proofs/prove_describe.py [--keep DIR] [CAPTURE...]`.

Of each capture of ../shared/captures (or data/, where that is absent) 1,000 random (partition, moment) points are
drawn, and leader, ISR and assignment as described are held against what the cluster had committed then. Points nearer
to a change than the tolerance, max(50 ms, the capture's p95 of `log_minus_commit_ms`), are drawn again. Points while a
process was frozen are counted apart: it writes nothing, and its lines come when it goes on. Whole answers of some of
the moments are compared with the points, and the states that a controller's context implies with the transitions it
logged.

`--keep DIR` keeps the warehouses there, for the next time. Fails if a point is described otherwise than it was; a point
whose state is not in the logs is counted, not failed.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.describe.describe import ASSIGNMENT_WRITTEN, EPOCH, MICROSECOND, TABLES, snapshot_at
from jobs.nightly.run import nightly
from jobs.read.views import open_views
from jobs.session import session
from jobs.settings import Settings
from jobs.warehouse.tables import Warehouse, open_warehouse
from tests.proofs.prove_truth import ROOT, compare
from udfs.describe import controller_context as context
from udfs.describe.kafka_topics import DescribedPartition, DescribedTopic, Tool
from udfs.describe.snapshot import partition_of, without_fenced_leaders
from udfs.kafka.releases import Release
from udfs.merge.times import Moment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POINTS, WHOLE_SNAPSHOTS, SEED = 1000, 3, 20261121
LEAST_TOLERANCE_MS = 50
AFTERMATH_MS = 10_000
"""How long after a freeze its lines may still come: the session and replica timeouts of the captures, and a second."""

Place = tuple[str, int]
Ids = tuple[int, ...]
PartitionValues = tuple[int | None, frozenset[int] | None, Ids | None] | None
"""Leader (-1 none), ISR and assignment, None for what is unknown; or None: there is no such partition."""


@dataclass(frozen=True)
class Point:
    """A partition at a moment, ms, and what it truly was."""

    place: Place
    ms: int
    truth: PartitionValues


# ---- the truth ------------------------------------------------------------------------------------------------------
class History:
    """What each partition truly was: at any moment, and when it changed."""

    def __init__(self, states: Iterable[Mapping[str, Any]], assigned: Mapping[Place, list[tuple[int, Ids]]]) -> None:
        self.assigned = assigned
        self.states: dict[Place, list[Mapping[str, Any]]] = {}
        for state in sorted(states, key=lambda s: int(s["since"])):
            self.states.setdefault((state["topic"], state["partition"]), []).append(state)
        self.begins = {place: [s["since"] for s in history] for place, history in self.states.items()}

    def at(self, place: Place, ms: int) -> PartitionValues:
        """What a partition was at a moment."""
        number = bisect_right(self.begins[place], ms) - 1
        state = self.states[place][number] if number >= 0 else None
        if state is None or (state["until"] is not None and state["until"] <= ms):
            return None
        stored = [ids for since, ids in self.assigned.get(place, []) if since <= ms]
        leader = -1 if state["leader"] is None else state["leader"]
        return leader, state["isr"], stored[-1] if stored else tuple(state["replicas"] or ())

    def is_quiet(self, place: Place, ms: int, tolerance: int) -> bool:
        """Whether nothing changed from so many ms before a moment until so many after it."""
        states = [t for s in self.states[place] for t in (s["since"], s["until"]) if t is not None]
        changes = states + [since for since, _ in self.assigned.get(place, [])]
        return not any(ms - tolerance <= t <= ms + tolerance for t in changes)


def assignments(capture: Path) -> dict[Place, list[tuple[int, Ids]]]:
    """With ZooKeeper the assignments, each from when on: they are stored apart from states and change in between."""
    results: dict[Place, list[tuple[int, Ids]]] = {}
    for line in (capture / "truth.jsonl").read_text().splitlines():
        record = json.loads(line)
        named = re.fullmatch(r"/brokers/topics/([^/]+)", record.get("path", ""))
        for number, ids in ((record.get("data") or {}).get("partitions", {}) if named else {}).items():
            assert named is not None
            history = results.setdefault((named[1], int(number)), [])
            if not history or history[-1][1] != tuple(ids):
                history.append((record["ms"], tuple(ids)))
    return results


def draw(history: History, window: tuple[int, int], tolerance: int) -> list[Point]:
    """Random points at which the partition is there, none near a change."""
    dice, places = random.Random(SEED), sorted(history.states)
    points: list[Point] = []
    while len(points) < POINTS:
        place, ms = dice.choice(places), dice.randint(*window)
        truth = history.at(place, ms)
        if truth is not None and history.is_quiet(place, ms, tolerance):
            points.append(Point(place, ms, truth))
    return points


def freezes(capture: Path) -> list[tuple[int, int]]:
    """From when to when any process was frozen (SIGSTOP to SIGCONT), and its aftermath, ms."""
    results, since = [], {}
    for line in (capture / "actions.jsonl").read_text().splitlines():
        action = json.loads(line)
        node = action.get("node", action.get("broker"))
        if action["action"] == "pause":
            since[node] = action["ms"]
        elif action["action"] in ("resume", "kill", "stop") and node in since:
            results.append((since.pop(node), action["ms"] + AFTERMATH_MS))
    return results + [(begin, 1 << 60) for begin in since.values()]


# ---- what is described ----------------------------------------------------------------------------------------------
def moment(ms: int) -> datetime:
    """Epoch ms as the tables' UTC."""
    return EPOCH + timedelta(milliseconds=ms)


def described(warehouse: Warehouse, points: Sequence[Point], tool: Tool) -> list[PartitionValues]:
    """The rows that `describe` picks, for all points in one query, put together as it does."""
    schema = T.StructType(
        [
            T.StructField("n", T.IntegerType()),
            T.StructField("topic", T.StringType()),
            T.StructField("partition", T.IntegerType()),
            T.StructField("asked", T.TimestampType()),
        ]
    )
    asked = warehouse.spark.createDataFrame([(n, *p.place, moment(p.ms)) for n, p in enumerate(points)], schema)
    rows = warehouse.read("partition_timeline").join(F.broadcast(asked), ["topic", "partition"])
    moves: dict[tuple[str, int, int], list[Any]] = {}
    for move in warehouse.read("reassignments").collect():
        moves.setdefault((move["topic"], move["partition"], move["incarnation"]), []).append(move)
    writes: dict[Place, list[Any]] = {}
    for write in warehouse.read("events").where(ASSIGNMENT_WRITTEN).orderBy("at", "file_id", "line").collect():
        writes.setdefault((write["topic"], write["partition"]), []).append(write)
    spans = warehouse.read("broker_timeline").collect()
    results: list[PartitionValues] = [None] * len(points)
    for row in rows.where("since <= asked AND (until IS NULL OR until > asked)").collect():
        around = moves.get((row["topic"], row["partition"], row["incarnation"]), [])
        before = [w for w in writes.get((row["topic"], row["partition"]), []) if w["at"] <= row["asked"]]
        p = partition_of(tool, row.asDict(), around, before[-1] if before else None, {}, row["asked"])
        last = {s["broker"]: s for s in sorted(spans, key=lambda s: s["since"]) if s["since"] <= row["asked"]}
        alive = {broker: s["until"] is None or s["until"] > row["asked"] for broker, s in last.items()}
        (topic,) = without_fenced_leaders(tool, [DescribedTopic(row["topic"], (p,))], alive)
        results[row["n"]] = _values(topic.partitions[0])
    return results


def _values(p: DescribedPartition) -> PartitionValues:
    return p.leader, None if p.isr is None else frozenset(p.isr), p.replicas


def agrees(row: PartitionValues, truth: PartitionValues) -> bool | None:
    """Whether what is described is what was; None if nothing of it is wrong, but some is unknown."""
    if row is None or truth is None:
        return None if row is None else False
    if any(value is not None and value != actual for value, actual in zip(row, truth, strict=True)):
        return False
    return True if None not in row else None


def whole_snapshots(warehouse: Warehouse, points: Sequence[Point]) -> tuple[int, int, int, int]:
    """How many partitions of whole snapshots differ from those of points, and how many implied states from logged.

    Each with the number compared: (differing, partitions, differing, states).
    """
    wrong = partitions = otherwise = states = 0
    for point in points[:WHOLE_SNAPSHOTS]:
        asked = Moment(utc=(moment(point.ms) - EPOCH) // MICROSECOND)
        with open_views(warehouse.root, only=TABLES, naive=True) as views:
            state = snapshot_at(views, asked, Settings(), with_controller=True).state
        shown = [(t, p) for t in state.topics for p in t.partitions if p.since is not None]
        same = described(warehouse, [Point((t.name, p.partition), point.ms, None) for t, p in shown], state.tool)
        partitions += len(shown)
        wrong += sum(_values(p) != row for (_, p), row in zip(shown, same, strict=True))
        if state.logs_replica_transitions:
            for t, p in shown:
                pairs = [(state.logged_states.get((t.name, p.partition)), context.implied_partition_state(state, t, p))]
                pairs += [
                    (state.logged_states.get((t.name, p.partition, b)), context.implied_replica_state(state, t, p, b))
                    for b in p.replicas or ()
                ]
                compared = [
                    (logged, implied) for logged, implied in pairs if logged is not None and implied is not None
                ]
                states += len(compared)
                otherwise += sum(logged != implied for logged, implied in compared)
    return wrong, partitions, otherwise, states


def prove(spark: SparkSession, capture: Path, root: Path, scorer: Any) -> list[str]:
    """One capture: print its line; what is wrong."""
    warehouse = open_warehouse(spark, str(root), create=True)
    if not warehouse.last_run:
        nightly(warehouse, [str(capture / "logs")], Settings(), "default", lambda _: None)
        warehouse = open_warehouse(spark, str(root), create=False)
    truth = scorer.Truth(str(capture))
    late = scorer.recoverable(truth, LEAST_TOLERANCE_MS, 0)["log_minus_commit_ms"]["p95"] or 0
    tolerance = max(LEAST_TOLERANCE_MS, late)
    points = draw(History(truth.states, assignments(capture)), truth.window, tolerance)
    tool = Tool(Release.parse(truth.meta["version"].split()[-1]), truth.meta.get("mode") == "kraft")
    frozen = freezes(capture)
    counts = {
        False: [0, 0, 0, 0, 0],
        True: [0, 0, 0, 0, 0],
    }  # points, equal, unknown, wrong, of them only in the assignment
    wrong = []
    for point, row in zip(points, described(warehouse, points, tool), strict=True):
        is_frozen = any(begin <= point.ms <= end for begin, end in frozen)
        count = counts[is_frozen]
        count[0] += 1
        verdict = {True: 1, None: 2, False: 3}[agrees(row, point.truth)]
        count[verdict] += 1
        count[4] += verdict == 3 and row is not None and point.truth is not None and row[:2] == point.truth[:2]
        if verdict > 1:
            when = "frozen" if is_frozen else "      "
            print(f"    {when} {point.place[0]}-{point.place[1]} at {moment(point.ms):%H:%M:%S.%f}"[:-3], end=" ")
            print(f"truth {point.truth} described {row or 'nothing'}")
        if verdict == 3 and not is_frozen:
            wrong.append(f"{capture.name}: {point.place} at {point.ms}")
    other, whole, otherwise, states = whole_snapshots(warehouse, points)
    by_frozen = "; ".join(
        f"{n} points {'while frozen' if is_frozen else 'else'}: {equal} equal, {unknown} unknown, "
        f"{bad} wrong ({assignment} of them only in the assignment)"
        for is_frozen, (n, equal, unknown, bad, assignment) in counts.items()
    )
    print(f"{capture.name}: tolerance {tolerance} ms; {by_frozen};", end=" ")
    print(f"whole snapshots {whole - other} of {whole} equal;", end=" ")
    print(f"implied states {states - otherwise} of {states} as logged", flush=True)
    return wrong + ([f"{capture.name}: {other} partitions of whole snapshots differ"] if other else [])


def main(arguments: list[str]) -> int:
    """Prove all captures, or those named."""
    keep = Path(arguments[1]) if arguments[:1] == ["--keep"] else None
    asked = arguments[2:] if keep else arguments
    shared = ROOT.parent / "shared" / "captures"
    home = shared if shared.is_dir() else ROOT / "data"
    captures = [Path(name) if "/" in name else home / name for name in asked] or [
        path.parent for path in sorted(home.glob("*/truth.jsonl"))
    ]
    scorer, wrong = compare(), []
    with session({"spark.master": "local[2]"}) as spark, tempfile.TemporaryDirectory() as folder:
        for capture in captures:
            if (capture / "logs").is_dir():
                wrong += prove(spark, capture, (keep or Path(folder)) / capture.name / "warehouse", scorer)
    print("\n" + ("\n".join(wrong) or "proven"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
