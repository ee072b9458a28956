"""The steps of a controller's failover, from its election to its first request, as far as it logged them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

TERM = ["cluster", "controller_id", "controller_epoch"]
"""Key of a controller term."""
FAILOVER_STEPS = {
    "elected": ("controller_elected", "raft_leader_elected"),
    "epoch_incremented": ("controller_epoch_incremented",),
    "context_loading": ("controller_failover_step",),
    "context_loaded": ("controller_context_live_brokers",),
    "replica_state_machine_started": ("controller_replica_state_machine_started",),
    "partition_state_machine_started": ("controller_partition_state_machine_started",),
    "ready": ("controller_ready",),
    "active": ("kraft_controller_elected",),
    "activation": ("kraft_controller_activation",),
    "first_request": ("leader_and_isr_request_sent", "update_metadata_request_sent"),
}
"""The steps by name, each with the events that show it (`KafkaController.onControllerFailover`,
`QuorumController.claim`). At INFO no request is logged."""
_CONTEXT = "Initializing controller context"
"""Of the lines of `controller_failover_step` (from 1.1 on) the one that begins to read ZooKeeper."""


def with_failover_steps(terms: DataFrame, events: DataFrame) -> DataFrame:
    """Rows with TERM and `logged_since`, EVENTS -> the same with `steps`, in order of time, each with its first line.

    A step is the controller's own line, no earlier than the term's first one and before the node's next term.
    """
    of_node = Window.partitionBy("cluster", "controller_id").orderBy("controller_epoch")
    spans = terms.select(*TERM, "logged_since", F.lead("logged_since").over(of_node).alias("own_next"))
    lines = events.where(_step().isNotNull()).select(
        "cluster",
        F.col("node_id").alias("controller_id"),
        F.col("controller_epoch").alias("epoch_of_line"),
        "at",
        _step().alias("step"),
        F.struct("at", "node_id", "file_id", "line").alias("place"),
    )
    is_of_term = (
        (F.col("at") >= F.col("logged_since"))
        & (F.col("own_next").isNull() | (F.col("at") < F.col("own_next")))
        & (F.col("epoch_of_line").isNull() | (F.col("epoch_of_line") == F.col("controller_epoch")))
    )
    step = F.struct("place.at", "step", "place.node_id", "place.file_id", "place.line")
    in_order = F.array_sort(F.collect_list(F.struct("place.at", "place.line", step.alias("of_term"))))
    steps = (
        lines.join(F.broadcast(spans), ["cluster", "controller_id"])
        .where(is_of_term)
        .groupBy(*TERM, "step")
        .agg(F.min("place").alias("place"))
        .groupBy(*TERM)
        .agg(F.transform(in_order, lambda row: row["of_term"]).alias("steps"))
    )
    none = F.array().cast(steps.schema["steps"].dataType)
    return terms.join(steps, TERM, "left").withColumn("steps", F.coalesce("steps", none))


def _step() -> Column:
    """The step that an event shows; null for others."""
    step = F.lit(None).cast("string")
    for name, event_types in FAILOVER_STEPS.items():
        shows = F.col("event_type").isin(*event_types)
        if name == "context_loading":
            shows &= F.col("message").contains(_CONTEXT)
        step = F.when(shows, name).otherwise(step)
    return step
