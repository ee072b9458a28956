"""When controllers gave up their office, by their own lines: also those that lines of others show replaced by then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.failover_steps import TERM
from jobs.timelines.observations import number_of
from schemas.timelines import CONTROLLER_TIMELINE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

RESIGNING = ("controller_resigning",)
RESIGNED = ("controller_resigned", "kraft_controller_resigned", "kraft_event_failed_renounce")
"""`KafkaController.onControllerResignation`, `QuorumController.renounce`."""
STARTS = ("broker_starting", "controller_starting", "kraft_controller_created")
LOST = "controller_election_lost"
_OF_NODE = ["cluster", "controller_id"]


def with_resignation(terms: DataFrame, events: DataFrame) -> DataFrame:
    """Rows with TERM, `mode`, `since`, EVENTS -> the same with `resigned_at`, null if it logged none, and
    `resignation`, its first lines of each step, in order of time.

    A line is of the node's last term that began before it, at equal times of the one before. But brokers whose session
    ends log that they resign whether or not they are controller: a line is of no term if the node started anew since
    the term began, or saw another one elected, for it resigns before it looks who is. KRaft's lines name the epoch.
    """
    rows = terms.join(_of_terms(terms, _lines(events), _overs(events)), [*TERM, "mode"], "left")
    none = F.array().cast(CONTROLLER_TIMELINE.schema["resignation"].dataType)
    resigned = F.filter("resignation", lambda step: step["step"] == "resigned")
    return rows.withColumns(
        {"resigned_at": F.get(resigned, F.lit(0))["at"], "resignation": F.coalesce("resignation", none)}
    )


def _lines(events: DataFrame) -> DataFrame:
    """EVENTS -> _OF_NODE, `mode`, `epoch` (null if the line names none), `step`, `place` of lines of resignations."""
    kind = F.col("event_type")
    is_kraft = kind.startswith("kraft")
    return events.where(kind.isin(*RESIGNING, *RESIGNED)).select(
        "cluster",
        _node().alias("controller_id"),
        F.when(is_kraft, "kraft").otherwise("zookeeper").alias("mode"),
        F.when(is_kraft, F.col("controller_epoch")).alias("epoch"),
        F.when(kind.isin(*RESIGNING), "resigning").otherwise("resigned").alias("step"),
        F.struct("at", "line", "node_id", "file_id").alias("place"),
    )


def _overs(events: DataFrame) -> DataFrame:
    """EVENTS -> _OF_NODE, `overs`, places of lines behind which a node is no controller, unless it is elected again."""
    kind = F.col("event_type")
    is_lost = (kind == LOST) & ~number_of("new_controller_id").eqNullSafe(_node())
    lines = events.where(kind.isin(*STARTS) | is_lost)
    return lines.groupBy("cluster", _node().alias("controller_id")).agg(
        F.collect_set(F.struct("at", "line")).alias("overs")
    )


def _of_terms(terms: DataFrame, lines: DataFrame, overs: DataFrame) -> DataFrame:
    """Terms, rows of `_lines`, rows of `_overs` -> TERM, mode, `resignation`, of those that logged one."""
    own_order = Window.partitionBy(*_OF_NODE, "mode").orderBy("controller_epoch")
    spans = terms.select(*TERM, "mode", "since", F.lead("since").over(own_order).alias("own_next_since"))
    at, since, until = F.col("place.at"), F.col("since"), F.col("own_next_since")
    is_within = (at >= since) & (until.isNull() | (at <= until))
    is_of_epoch = F.col("epoch").isNull() | (F.col("epoch") == F.col("controller_epoch"))

    def is_between(over: Column) -> Column:
        place = F.struct("place.at", "place.line")
        return (over["at"] > since) & (over < place)

    is_over = F.coalesce(F.exists("overs", is_between), F.lit(False))
    earliest = Window.partitionBy(*_OF_NODE, "mode", "step", "place").orderBy("controller_epoch")
    of_term = (
        lines.join(F.broadcast(spans), [*_OF_NODE, "mode"])
        .join(F.broadcast(overs), _OF_NODE, "left")
        .where(is_within & is_of_epoch & ~is_over)
        .withColumn("nth", F.row_number().over(earliest))
        .where("nth = 1")
    )
    step = F.struct("place.at", "step", "place.node_id", "place.file_id", "place.line")
    in_order = F.array_sort(F.collect_list(F.struct("place.at", "place.line", step.alias("of_term"))))
    return (
        of_term.groupBy(*TERM, "mode", "step")
        .agg(F.min("place").alias("place"))
        .groupBy(*TERM, "mode")
        .agg(F.transform(in_order, lambda row: row["of_term"]).alias("resignation"))
    )


def _node() -> Column:
    """The node that a controller's line is about: its own."""
    return F.coalesce("controller_id", "node_id", "broker_id")
