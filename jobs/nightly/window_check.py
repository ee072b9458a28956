"""Whether a window gave what all events would have given: what it worked out again is compared with what is published.

Columns that count from the begin of all logs go on from published rows first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.checkpoints import checkpointed
from jobs.nightly.sql_literals import time_literal
from jobs.nightly.windows import BEGINS, LASTING, STORIES, Window, Windows, any_window
from jobs.timelines.requests import REQUEST_KEY
from jobs.timelines.topics import INCARNATION
from jobs.warehouse.columns import in_columns_of
from jobs.warehouse.tables import Warehouse
from schemas.tables import BY_NAME

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


class WindowTooShort(Exception):
    """What a window gave is not what all events would have given: `reasons` has by cluster which table shows it."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        super().__init__(", ".join(f"{cluster}: {reason}" for cluster, reason in sorted(reasons.items())))
        self.reasons = dict(reasons)


# ---- numbers that go on ----------------------------------------------------------------------------------------------
_STATE = [*INCARNATION, "leader_epoch", "leader", "since"]
_REQUEST = [*REQUEST_KEY, "controller_epoch", "sent_at", "received_at", "evidence"]
COUNTED: Mapping[str, tuple[str, list[str], list[str]]] = {
    "partition_timeline": ("ordinal", INCARNATION, [*_STATE, "partition_epoch", "isr"]),
    "control_requests": ("number", [*REQUEST_KEY], _REQUEST),
}
"""By table the column that counts, what it counts within, and the columns by which a row is known again."""


def going_on(table: str, rows: DataFrame, warehouse: Warehouse, windows: Windows) -> DataFrame:
    """Rows of a table that a window's events give -> the same as if all events were there, as far as they are later
    than the seal; computed once."""
    rows = _resumed(_counted_on(table, rows, warehouse, windows), table, warehouse, windows)
    # under column ids of their own: joined with what they were made of, Spark would confuse the two
    ordered = in_columns_of(BY_NAME[table].schema, rows)
    return checkpointed(ordered.select(*(F.col(name).alias(name) for name in ordered.columns)))


RESUMED: Mapping[str, list[str]] = {
    "preferred_replica_imbalance": ["cluster", "broker", "leaders", "preferred", "imbalanced"]
}
"""Tables of intervals in which numbers are the same, and what makes two rows one interval: where it begins is known
from all that was before."""


def _resumed(rows: DataFrame, table: str, warehouse: Warehouse, windows: Windows) -> DataFrame:
    """Rows of RESUMED, each that lasts beyond the seal with the begin of the published row that does, too."""
    if table not in RESUMED:
        return rows
    same, lasts = RESUMED[table], _any_window(windows, lambda window: _is_lasting(table, window))
    begins = warehouse.read(table).where(lasts).select(*same, F.col("since").alias("published_since"))
    since = F.when(lasts, F.col("published_since"))
    joined = rows.join(begins, same, "left")
    return joined.withColumn("since", F.coalesce(since, "since")).select(*rows.columns)


def _counted_on(table: str, rows: DataFrame, warehouse: Warehouse, windows: Windows) -> DataFrame:
    """Rows of a table, counted from a window's begin -> the same, counted from where published rows are.

    The published row that is nearest before the seal tells by how much.
    """
    if table not in COUNTED:
        return rows
    number, within, known_by = COUNTED[table]
    compared_from = _any_window(windows, lambda window: _is_since_compared(table, window))
    published = warehouse.read(table).where(compared_from)
    same = reduce(lambda some, other: some & other, (F.col(f"now.{n}").eqNullSafe(F.col(f"old.{n}")) for n in known_by))
    steps = (
        rows.alias("now")
        .join(published.alias("old"), same)
        .select(
            *(F.col(f"now.{n}") for n in within), F.col(f"old.{number}").alias("to"), F.col(f"now.{number}").alias("of")
        )
        .groupBy(*within)
        .agg(F.max(F.struct("to", "of")).alias("last"))
        .select(*within, (F.col("last.to") - F.col("last.of")).alias("step"))
    )
    moved = rows.join(steps, within, "left").withColumn(number, F.col(number) + F.coalesce("step", F.lit(0)))
    return moved.select(*rows.columns)


def _is_since_compared(table: str, window: Window) -> str:
    """Condition of rows that began in the hours that are compared, or lasted into them."""
    since = time_literal(window.compared_from)
    lasts = f" OR until IS NULL OR until >= {since}" if table in LASTING else ""
    return f"{BEGINS[table]} >= {since}{lasts}"


def _is_lasting(table: str, window: Window) -> str:
    """Condition of rows that began before the seal and last beyond it."""
    seal = window.seal_of(table)
    return f"{BEGINS[table]} < {seal} AND (until IS NULL OR until >= {seal})"


def _any_window(windows: Windows, condition: Callable[[Window], str]) -> Column:
    return F.expr(any_window(windows, condition))


# ---- rows that are compared ------------------------------------------------------------------------------------------
def compare(warehouse: Warehouse, tables: Mapping[str, DataFrame], windows: Windows) -> list[str]:
    """Sentences on clusters whose rows of the hours before the seal would be others by now, and stay, for their events
    were pruned. Raises WindowTooShort if there are such rows of clusters that have their events.
    """
    differing = differing_clusters(warehouse, tables, windows)
    if short := {name: table for name, table in differing.items() if not windows[name].is_of_pruned}:
        raise WindowTooShort(
            {name: f"{table} changed for times before the new events" for name, table in short.items()}
        )
    return [
        f"{name}: {table} would be others from before {windows[name].seal:%F %H:%M} by what was logged since; they "
        "stay, for the events before were pruned"
        for name, table in sorted(differing.items())
    ]


def differing_clusters(warehouse: Warehouse, tables: Mapping[str, DataFrame], windows: Windows) -> dict[str, str]:
    """By cluster the first table whose rows of a window are not the published ones, as far as both have them.

    Compared are whole rows that began in the hours before the seal and ended by then; of rows that last beyond it
    what names them; and that no story that is older has ended.
    """
    counts = [
        _digests(side, name, sign, windows)
        for name, rows in tables.items()
        if name not in NOT_COMPARED
        for side, sign in ((warehouse.read(name), 1), (rows, -1))
    ]
    union = reduce(lambda some, others: some.unionByName(others), counts)
    parts = [(what, F.col(f"{what}_digest"), F.col(f"{what}_rows")) for what in PARTS]
    sums = union.groupBy("cluster", "table").agg(
        *(F.bit_xor(digest).alias(f"{what}_digest") for what, digest, _ in parts),
        *(F.sum(rows).alias(f"{what}_rows") for what, _, rows in parts),
    )
    differs = [F.when((digest != 0) | (rows != 0), what) for what, digest, rows in parts]
    differing = (
        sums.withColumn("what", F.coalesce(*differs))
        .where("what IS NOT NULL")
        .groupBy("cluster")
        .agg(F.min(F.concat("table", F.lit(" ("), "what", F.lit(" rows)"))).alias("table"))
    )
    return {row["cluster"]: row["table"] for row in differing.collect()}


PARTS = ("ended", "lasting", "open")
"""What of a table is compared: rows of the hours before the seal, rows that last beyond it, older stories."""
NOT_COMPARED = ("clock_offsets", "isr_churn", "topic_availability", "cluster_minutely", "controller_activity")
"""Tables that follow from the others, hour by hour."""


def _digests(rows: DataFrame, table: str, sign: int, windows: Windows) -> DataFrame:
    """-> cluster, table, and of each of PARTS the digest and the number of rows, the latter with a sign."""
    parts = _compared(table, windows)
    sums = []
    for what, digest, condition in parts:
        sums.append(F.coalesce(F.bit_xor(F.when(condition, digest)), F.lit(0)).alias(f"{what}_digest"))
        sums.append((F.count_if(condition) * sign).alias(f"{what}_rows"))
    # as a filter, too: of published rows, which are all of history, others are not read
    is_any = reduce(lambda some, other: some | other, (condition for _, _, condition in parts))
    return rows.where(is_any).groupBy("cluster").agg(F.lit(table).alias("table"), *sums)


def _compared(table: str, windows: Windows) -> list[tuple[str, Column, Column]]:
    """Of each of PARTS the digest of a row, and the condition of the rows."""
    begin, keys, whole = BEGINS[table], F.xxhash64(*BY_NAME[table].key), F.xxhash64(*BY_NAME[table].columns)

    def is_ended(window: Window) -> str:
        seal = window.seal_of(table)
        in_hours = f"{begin} >= {time_literal(window.compared_from)} AND {begin} < {seal}"
        return f"{in_hours} AND until < {seal}" if table in LASTING else in_hours

    ended = _any_window(windows, is_ended)
    never = F.lit(None).cast("boolean")
    lasting = _any_window(windows, lambda window: _is_lasting(table, window)) if table in LASTING else never
    is_open = never
    if table in STORIES:
        still = f"{STORIES[table]} IS NULL"
        is_open = _any_window(windows, lambda window: f"{begin} < {window.seal_of(table)} AND {still}")
    return [("ended", whole, ended), ("lasting", keys, lasting), ("open", keys, is_open)]
