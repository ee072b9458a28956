"""Histories of simulated ZooKeeper clusters, logged at INFO, against their truth.

    PYTHONPATH=. python tests/proofs/prove_zk_simulator.py [--partitions N] [--seeds N]

`tests/zk_simulator.py` makes random faults in clusters of four kinds of releases; 1,000 partitions in all. A night over
their logs may say nothing that is not true, and has to have the states that are decidable: in which all histories agree
that fit the lines of the partition, by brute force. Prints a line for each era; exits with 1 if a precision is below
1.0 or the recall below LEAST_RECALL.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.nightly.run import run
from jobs.session import session
from jobs.settings import Settings
from jobs.warehouse.tables import Warehouse, open_warehouse
from schemas.ledger import STEPS
from tests.zk_simulator import ERAS, Cluster, Partition, State, decidable, simulate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEAST_RECALL = 0.99
SEEDS, PARTITIONS, STEPS_OF_EACH = 5, 50, 30
Row = Mapping[str, Any]


def tables_of(spark: SparkSession, root: Path, clusters: Mapping[str, Cluster]) -> Warehouse:
    """A warehouse after a night over all clusters."""
    for name, cluster in clusters.items():
        for path, lines in cluster.logs.items():
            (root / name / path).parent.mkdir(parents=True, exist_ok=True)
            (root / name / path).write_text("\n".join(lines) + "\n")
    warehouse = open_warehouse(spark, str(root / "warehouse"), create=True)
    settings = Settings(clusters={f"{root}/{name}/*": name for name in clusters})
    outcome = run(warehouse, STEPS, settings, lambda _: None, logs=[f"{root}/{name}" for name in clusters])
    if not outcome.published:
        raise SystemExit(f"the gate refused: {outcome.audit.failures if outcome.audit else ''}")
    return open_warehouse(spark, str(root / "warehouse"), create=False)


def rows_of(warehouse: Warehouse, table: str) -> dict[tuple[str, str], list[Row]]:
    """Rows of a table by cluster and partition, `topic-partition`."""
    rows: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in warehouse.read(table).collect():
        rows[row["cluster"], f"{row['topic']}-{row['partition']}"].append(row.asDict(recursive=True))
    return rows


def is_true_state(row: Row, one: Partition) -> bool:
    """Whether a row of partition_timeline is a state of the history, in its place if it names that."""
    state, epoch = (row["leader"], row["leader_epoch"], tuple(row["isr"])), row["partition_epoch"]
    if epoch is None:
        return state in one.history
    return epoch < len(one.history) and one.history[epoch] == state


def states_of(rows: Sequence[Row]) -> tuple[dict[int, State], set[State]]:
    """States by partition epoch, and those of which it is not known."""
    states = [(row["partition_epoch"], State(row["leader"], row["leader_epoch"], tuple(row["isr"]))) for row in rows]
    in_place = {epoch: state for epoch, state in states if epoch is not None}
    return in_place, {state for epoch, state in states if epoch is None}


def is_true_outage(row: Row, one: Partition) -> bool:
    """Whether the partition was without a leader at some time of a row of offline_partitions."""
    until = [*one.since[1:], None]
    for state, begin, end in zip(one.history, one.since, until, strict=True):
        starts_before_end = end is None or row["since"] is None or row["since"].replace(tzinfo=UTC) <= end
        ends_after_begin = row["until"] is None or row["until"].replace(tzinfo=UTC) >= begin
        if state.leader == -1 and starts_before_end and ends_after_begin:
            return True
    return False


def is_true_election(row: Row, one: Partition) -> bool:
    """Whether a row of elections is a state that the controller wrote, or an election that it logged as failed."""
    if not row["succeeded"]:
        return row["at"].replace(tzinfo=UTC) in {
            at.replace(microsecond=at.microsecond // 1000 * 1000) for at in one.failed
        }
    return any((s.leader, s.leader_epoch) == (row["leader"], row["leader_epoch"]) for s in one.history)


def prove(spark: SparkSession, root: Path, seeds: int, partitions: int, misses: int) -> int:
    """All eras; how many are not as they must be."""
    clusters = {
        f"sim-{era}-{seed}": simulate(era, seed, partitions=partitions, steps=STEPS_OF_EACH)
        for era in ERAS
        for seed in range(seeds)
    }
    warehouse = tables_of(spark, root, clusters)
    tables = {
        "partition_timeline": is_true_state,
        "offline_partitions": is_true_outage,
        "elections": is_true_election,
    }
    rows = {table: rows_of(warehouse, table) for table in tables}
    wrong = 0
    for era in ERAS:
        counts: Counter[str] = Counter()
        for name, cluster in clusters.items():
            for one in cluster.partitions if cluster.era == era else ():
                counts["histories"] += 1
                counts["states"] += len(one.history)
                for table, is_true in tables.items():
                    false = [row for row in rows[table][name, one.name] if not is_true(row, one)]
                    counts[table] += len(rows[table][name, one.name])
                    counts[f"false {table}"] += len(false)
                    for row in false[: max(0, misses - counts[f"shown {table}"])]:
                        counts[f"shown {table}"] += 1
                        print("FALSE", name, one.name, table, {k: v for k, v in row.items() if v is not None})
                in_place, anywhere = states_of(rows["partition_timeline"][name, one.name])
                for epoch, state in decidable(one, era).items():
                    is_there = in_place.get(epoch) == state or state in anywhere
                    counts["decidable"] += 1
                    counts["refuted"] += one.history[epoch] != state
                    counts["in the table"] += is_there
                    counts["in its place"] += epoch in in_place
                    if not is_there and misses > counts["missed"]:
                        print("MISSED", name, one.name, epoch, state, *one.lines, sep="\n   ")
                    counts["missed"] += not is_there
        recall = counts["in the table"] / max(counts["decidable"], 1)
        untrue = {table: counts[f"false {table}"] for table in tables}
        rows_in_words = ", ".join(f"{table} {counts[table]} ({number} false)" for table, number in untrue.items())
        print(
            f"{era}: {counts['histories']} histories of {counts['states']} states, {counts['decidable']} decidable at "
            f"INFO, recall of them {recall:.4f} ({counts['in its place']} with partition epoch); rows {rows_in_words}"
        )
        wrong += any(untrue.values()) or recall < LEAST_RECALL or counts["refuted"] > 0
    return wrong


def main(words: Sequence[str]) -> int:
    """Prove all eras; `--misses N` prints what is false or missing."""
    options = {name: int(value) for name, value in pairwise(words) if name.startswith("--")}
    with session({"spark.master": "local[2]"}) as spark, tempfile.TemporaryDirectory() as folder:
        seeds, partitions = options.get("--seeds", SEEDS), options.get("--partitions", PARTITIONS)
        wrong = prove(spark, Path(folder), seeds, partitions, options.get("--misses", 0))
    print(f"{wrong} eras are not as they must be" if wrong else "proven")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
