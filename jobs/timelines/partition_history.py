"""Observations without partition epoch -> states in order, by `udfs.reconstruct.partition_history` in the workers.

Rows stream in the order of their partition's history; one leader epoch of one partition is held in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import groupby
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.timelines.evidence import evidence_by
from jobs.timelines.row_streams import map_rows
from schemas.spark import EVIDENCE_COLUMN, FLAG, IDS, INT, LONG, PARTITION_KEY, TEXT, TIME, column
from udfs.reconstruct.epoch_observations import EpochObservation, OrderedState
from udfs.reconstruct.partition_history import ordered_states
from udfs.reconstruct.placed_changes import EpochBound, LeaderChange, Place, placed_changes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEY = [field.name for field in PARTITION_KEY]

EPOCH_OBSERVATIONS = T.StructType(
    [
        *PARTITION_KEY,
        column("topic_id", TEXT, "Topic id; null not logged."),
        column("at", TIME, "First line of it."),
        column("line", LONG, "Settles ties of `at` among one leader's changes."),
        column(
            "leader_epoch",
            INT,
            "Leader epoch; null: a change, or a report, by `leader` in an unknown one, or `shown_epoch`.",
        ),
        column("partition_epoch", INT, "Partition epoch; null not logged."),
        column("leader", INT, "Leader; null: as in the leader epoch before."),
        column("isr", IDS, "ISR, sorted; null: as in the leader epoch before."),
        column("isr_before", IDS, "Of a leader's change the ISR before, sorted."),
        column("is_accepted", FLAG, "False: a change that the store refused."),
        column("is_doubtful", FLAG, "A change that its leader may not have written, see `leader_lines`; null: it did."),
        column("covered_since", TIME, "From when the leader's own log is there around `at`; null: it is not."),
        column("covered_until", TIME, "Until when."),
        column("whole_since", TIME, "From when to `at` the logs of all brokers are there; null: they are not."),
        column("there", IDS, "Those brokers."),
        column("is_begin", FLAG, "The line only tells that `leader` began the leader epoch; null: it tells more."),
        column("is_listed", FLAG, "Only lists of a controller's cache state it; null: other lines do."),
        column("writes", FLAG, "Of a leader's change, whether its release logs changes as they are written."),
        column("process", INT, "Of such a change, the number of its leader's process; null: not a change."),
        column(
            "is_shown", FLAG, "The line is only read for what it shows of leader epochs, `placed_changes`; null: no."
        ),
        column(
            "shown_epoch", INT, "Of such a line, the leader epoch that had begun by then; null: it has its leader only."
        ),
        column("node_id", INT, "Of such a line, who logged it; null: any node."),
        column("is_written", FLAG, "Of such a line: the controller wrote that leader epoch right then."),
        column("is_known", FLAG, "Of such a line: its node had begun that leader epoch, and no later one."),
        column("keeps_leader", FLAG, "Of such a line: who led in the leader epoch before leads on."),
        column(
            "adds", INT, "Of such a line: leaders knew nothing of this replica before `shown_epoch`; it shows no more."
        ),
        column("limit", INT, "Of such a line: no later leader epoch had been written by then; null: not known."),
        column("is_report", FLAG, "The leader reports that it wrote it; null: it does not."),
        column("created_at", TIME, "First line that shows the partition's creation; null: none does."),
        column("controller_epoch", INT, "Epoch of the deciding controller; null not logged."),
        column("replicas", IDS, "Assignment that was logged first; null not logged."),
        column("replicas_at", TIME, "When that assignment was logged."),
        column("inferred", FLAG, "No line states it, but it follows; null: a line states it."),
        EVIDENCE_COLUMN,
    ]
)

STATES_BY_STEP = T.StructType(
    [
        *PARTITION_KEY,
        column("topic_id", TEXT, "Topic id; null not logged."),
        column("ordinal", LONG, "Number of the state in its incarnation, from 0."),
        column("leader_epoch", INT, "Leader epoch."),
        column("partition_epoch", INT, "Partition epoch; null unknown."),
        column("leader", INT, "Leader; -1 none."),
        column("isr", IDS, "ISR, sorted."),
        column("by_leader", FLAG, "Whether the leader made it."),
        column("at", TIME, "First proof."),
        column("controller_epoch", INT, "Epoch of the deciding controller; null not logged."),
        column("replicas", IDS, "Assignment that was logged first; null not logged."),
        column("replicas_at", TIME, "When that assignment was logged."),
        column("inferred", FLAG, "No line states it, but it follows; null: a line states it."),
        column("follows", FLAG, "No state between the one before and this one is missing; null: not known."),
        EVIDENCE_COLUMN,
    ]
)


def to_ordered_states(observations: DataFrame, most_evidence: int) -> DataFrame:
    """EPOCH_OBSERVATIONS -> STATES_BY_STEP; evidence of a state is at most `most_evidence` lines, the earliest
    first."""
    rows = observations.select(*EPOCH_OBSERVATIONS.names).repartition(*KEY)
    in_order = rows.sortWithinPartitions(*KEY, "leader_epoch", "at", "line", "evidence")
    return map_rows(in_order, lambda rows: ordered_rows(rows, most_evidence), STATES_BY_STEP)


def to_rival_leaders(observations: DataFrame, most_evidence: int) -> DataFrame:
    """EPOCH_OBSERVATIONS -> a row per leader epoch for which lines name several leaders; `to_ordered_states` leaves it
    out.

    Columns: KEY, leader_epoch, at, evidence, contradiction.
    """
    leaders = F.array_sort(F.collect_set("leader"))
    lines = F.slice(F.array_distinct(evidence_by("at")), 1, most_evidence)
    in_words = F.concat_ws(" or ", F.transform("leaders", lambda leader: F.concat(F.lit("leader "), leader)))
    return (
        observations.where("leader_epoch IS NOT NULL")
        .groupBy(*KEY, "leader_epoch")
        .agg(leaders.alias("leaders"), F.min("at").alias("at"), lines.alias("evidence"))
        .where("size(leaders) > 1")
        .withColumn("contradiction", in_words)
        .drop("leaders")
    )


def ordered_rows(rows: Iterable[dict[str, Any]], most_evidence: int) -> Iterator[dict[str, Any]]:
    """Rows of EPOCH_OBSERVATIONS, sorted, times in microseconds -> rows of STATES_BY_STEP."""
    for key, group in groupby(rows, key=lambda row: tuple(row[name] for name in KEY)):
        yield from _states(dict(zip(KEY, key, strict=True)), group, most_evidence)


def _states(key: dict[str, Any], rows: Iterable[dict[str, Any]], most_evidence: int) -> Iterator[dict[str, Any]]:
    """One incarnation's states. Rows are held while their leader epoch is being worked on, those without till then."""
    held: dict[int, dict[str, Any]] = {}
    by_epoch = groupby(rows, key=lambda row: row["leader_epoch"] is None)  # rows without leader epoch come first
    without_epoch: list[dict[str, Any]] = []
    with_epoch: Iterable[dict[str, Any]] = ()
    for is_unknown, group in by_epoch:
        if not is_unknown:
            with_epoch = group
            break
        without_epoch = list(group)
    places = _places(without_epoch)
    placed = _placed(without_epoch, places)
    reported = {row["partition_epoch"] for row in without_epoch if _is_report(row)}
    uncovered = _uncovered(without_epoch, places)

    def observations() -> Iterator[EpochObservation]:
        in_order = merge(placed, with_epoch, key=lambda row: (row["leader_epoch"], row["at"], row["line"]))
        for number, row in enumerate(in_order):
            held[number] = row
            yield _observation(row, number, uncovered)

    leader_epoch = -1
    for ordinal, state in enumerate(ordered_states(observations(), reported)):
        if state.leader_epoch != leader_epoch:
            leader_epoch = state.leader_epoch
            for number in [n for n, row in held.items() if row["leader_epoch"] < leader_epoch]:
                del held[number]
        yield key | {"ordinal": ordinal} | _row(state, [held[n] for n in state.proofs], most_evidence)


def _is_report(row: dict[str, Any]) -> bool:
    """Whether a row without leader epoch only reports that a state was written."""
    return row["partition_epoch"] is not None and bool(row["is_accepted"])


def _places(rows: Sequence[dict[str, Any]]) -> dict[int, Place]:
    """Of rows without leader epoch the places of leaders' changes, by their number in the rows."""
    bounds = [
        EpochBound(
            row["at"], row["shown_epoch"], row["node_id"], bool(row["is_written"]), bool(row["is_known"]),
            row["leader"], _ids(row["isr"]), number, bool(row["keeps_leader"]), row["adds"], row["limit"],
        )
        for number, row in enumerate(rows)
        if row["is_shown"]
    ]  # fmt: skip
    numbers = [
        n for n, row in enumerate(rows) if row["isr_before"] is not None and row["is_accepted"] and row["writes"]
    ]
    if not bounds or not numbers:
        return {}
    written = [
        LeaderChange(
            r["at"], r["leader"], tuple(r["isr_before"]), tuple(r["isr"] or ()), r["covered_until"],
            None if r["is_doubtful"] else r["process"],
        )
        for r in (rows[n] for n in numbers)
    ]  # fmt: skip
    return dict(zip(numbers, placed_changes(written, bounds), strict=True))


def _placed(rows: Sequence[dict[str, Any]], places: Mapping[int, Place]) -> list[dict[str, Any]]:
    """Of rows without leader epoch the changes whose leader epoch others leave no choice about, with it, in its
    order."""
    placed = []
    for number, place in places.items():
        if place.leader_epoch is not None:
            row = rows[number]
            lines = [line for key in place.keys for line in rows[key]["evidence"] or ()]
            of_place = {"leader_epoch": place.leader_epoch, "inferred": True}
            placed.append(row | of_place | {"evidence": [*(row["evidence"] or ()), *lines]})
    return sorted(placed, key=lambda row: (row["leader_epoch"], row["at"], row["line"]))


def _uncovered(rows: Sequence[dict[str, Any]], places: Mapping[int, Place]) -> dict[int, list[Place]]:
    """By leader, where its log is as good as none: it has changes there of which nobody knows the leader epoch. What
    was refused changed nothing."""
    uncovered: dict[int, list[Place]] = {}
    for number, row in enumerate(rows):
        place = places.get(number, Place())
        is_change = row["is_accepted"] is not False and not row["is_shown"] and not _is_report(row)
        if is_change and place.leader_epoch is None:
            uncovered.setdefault(row["leader"], []).append(place)
    return uncovered


def _observation(row: dict[str, Any], number: int, uncovered: Mapping[int, Sequence[Place]]) -> EpochObservation:
    """A row with its leader epoch; `uncovered`: see `_uncovered`."""
    places = uncovered.get(row["leader"], ())
    is_covered = not any(place.least <= row["leader_epoch"] <= place.most for place in places)
    is_covered = is_covered and row["covered_since"] is not None
    return EpochObservation(
        row["leader_epoch"],
        row["at"],
        row["leader"],
        _ids(row["isr"]),
        row["partition_epoch"],
        _ids(row["isr_before"]),
        row["is_accepted"] is not False,
        bool(row["is_doubtful"]),
        (row["covered_since"], row["covered_until"]) if is_covered else None,
        None if uncovered else row["whole_since"],
        frozenset(row["there"] or ()),
        bool(row["is_begin"]),
        row["created_at"] is not None,
        bool(row["is_listed"]),
        bool(row["is_report"]),
        number,
    )


def _row(state: OrderedState, proofs: list[dict[str, Any]], most_evidence: int) -> dict[str, Any]:
    """A state with what its proofs have besides: topic id, assignment, controller epoch, lines."""
    in_time = sorted(proofs, key=lambda row: row["at"])
    epochs = [row["controller_epoch"] for row in in_time if row["controller_epoch"] is not None]
    assignments = [(row["replicas_at"], row["replicas"]) for row in proofs if row["replicas"] is not None]
    replicas_at, replicas = min(assignments, default=(None, None))
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
        "replicas_at": replicas_at,
        "inferred": (bool(in_time) and all(row.get("inferred") for row in in_time)) or None,
        "follows": state.follows or None,
        "evidence": lines[:most_evidence],
    }


def _ids(ids: list[int] | None) -> tuple[int, ...] | None:
    return None if ids is None else tuple(ids)
