"""Evidence of states without partition epoch -> states in order, by `udfs.reconstruct.partition_history` in the workers.

Rows stream in the order of their partition's history; one leader epoch of one partition is held in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as T

from jobs.timelines.row_streams import map_rows
from schemas.spark import EVIDENCE_COLUMN, FLAG, IDS, INT, LONG, PARTITION_KEY, TEXT, TIME, column
from udfs.reconstruct.partition_history import Said, State, history

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEY = [field.name for field in PARTITION_KEY]

SAID = T.StructType(
    [
        *PARTITION_KEY,
        column("topic_id", TEXT, "Topic id; null not said."),
        column("at", TIME, "First line that says so."),
        column("line", LONG, "Settles ties of `at` among one leader's changes."),
        column("leader_epoch", INT, "Leader epoch; null: a change by `leader` in an unknown one."),
        column("partition_epoch", INT, "Partition epoch; null not said."),
        column("leader", INT, "Leader; null: as in the leader epoch before."),
        column("isr", IDS, "ISR, sorted; null: as in the leader epoch before."),
        column("was", IDS, "Of a leader's change the ISR before, sorted."),
        column("written", FLAG, "False: a change that was refused."),
        column("covered_since", TIME, "From when the leader's own log is there around `at`; null: it is not."),
        column("covered_until", TIME, "Until when."),
        column("controller_epoch", INT, "Epoch of the deciding controller; null not said."),
        column("replicas", IDS, "Assignment that was told first; null not said."),
        column("told_at", TIME, "When it was told."),
        column("inferred", FLAG, "No line says it, but it follows; null: a line says it."),
        EVIDENCE_COLUMN,
    ]
)

ORDERED = T.StructType(
    [
        *PARTITION_KEY,
        column("topic_id", TEXT, "Topic id; null not said."),
        column("ordinal", LONG, "Number of the state in its incarnation, from 0."),
        column("leader_epoch", INT, "Leader epoch."),
        column("partition_epoch", INT, "Partition epoch; null unknown."),
        column("leader", INT, "Leader; -1 none."),
        column("isr", IDS, "ISR, sorted."),
        column("by_leader", FLAG, "Whether the leader made it."),
        column("at", TIME, "First proof."),
        column("controller_epoch", INT, "Epoch of the deciding controller; null not said."),
        column("replicas", IDS, "Assignment that was told first; null not said."),
        column("told_at", TIME, "When it was told."),
        column("inferred", FLAG, "No line says it, but it follows; null: a line says it."),
        EVIDENCE_COLUMN,
    ]
)


def to_ordered_states(said: DataFrame, most_evidence: int) -> DataFrame:
    """SAID -> ORDERED; evidence of a state is at most `most_evidence` lines, the earliest first."""
    ordered = said.select(*SAID.names).repartition(*KEY).sortWithinPartitions(*KEY, "leader_epoch", "at", "line")
    return map_rows(ordered, lambda rows: ordered_rows(rows, most_evidence), ORDERED)


def ordered_rows(rows: Iterable[dict[str, Any]], most_evidence: int) -> Iterator[dict[str, Any]]:
    """Rows of SAID, sorted, times in microseconds -> rows of ORDERED."""
    for key, group in groupby(rows, key=lambda row: tuple(row[name] for name in KEY)):
        yield from _states(dict(zip(KEY, key, strict=True)), group, most_evidence)


def _states(key: dict[str, Any], rows: Iterable[dict[str, Any]], most_evidence: int) -> Iterator[dict[str, Any]]:
    """One incarnation's states. What a state's proofs carry along is kept while their leader epoch is being worked on."""
    carried: dict[int, dict[str, Any]] = {}

    def told() -> Iterator[Said]:
        blind: set[int] = set()  # leaders with changes of unknown leader epoch: their log is as good as none
        for number, row in enumerate(rows):
            if row["leader_epoch"] is None:
                blind.add(row["leader"])
                continue
            carried[number] = row
            seen = (
                None
                if row["covered_since"] is None or row["leader"] in blind
                else (row["covered_since"], row["covered_until"])
            )
            yield Said(
                row["leader_epoch"],
                row["at"],
                row["leader"],
                _ids(row["isr"]),
                row["partition_epoch"],
                _ids(row["was"]),
                row["written"] is not False,
                seen,
                number,
            )

    leader_epoch = -1
    for ordinal, state in enumerate(history(told())):
        if state.leader_epoch != leader_epoch:
            leader_epoch = state.leader_epoch
            for number in [n for n, row in carried.items() if row["leader_epoch"] < leader_epoch]:
                del carried[number]
        yield key | {"ordinal": ordinal} | _row(state, [carried[n] for n in state.proofs], most_evidence)


def _row(state: State, proofs: list[dict[str, Any]], most_evidence: int) -> dict[str, Any]:
    in_time = sorted(proofs, key=lambda row: row["at"])
    epochs = [row["controller_epoch"] for row in in_time if row["controller_epoch"] is not None]
    told = [(row["told_at"], row["replicas"]) for row in proofs if row["replicas"] is not None]
    told_at, replicas = min(told, default=(None, None))
    lines = [line for row in in_time for line in row["evidence"] or ()]
    return {
        "topic_id": next((row["topic_id"] for row in in_time if row["topic_id"] is not None), None),
        "leader_epoch": state.leader_epoch,
        "partition_epoch": state.partition_epoch,
        "leader": state.leader,
        "isr": list(state.isr),
        "by_leader": state.by_leader or None,
        "at": state.since,
        "controller_epoch": min(epochs, default=None),
        "replicas": replicas,
        "told_at": told_at,
        "inferred": (bool(in_time) and all(row.get("inferred") for row in in_time)) or None,
        "evidence": lines[:most_evidence],
    }


def _ids(ids: list[int] | None) -> tuple[int, ...] | None:
    return None if ids is None else tuple(ids)
