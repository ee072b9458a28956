"""Brokers that went while no ZooKeeper controller reigned: the next one found them gone as it took over.

Until then nobody elected other leaders for their partitions, though others were in sync. A controller that reigns
notices the end of a session at once; one that takes over reads who is there. KRaft has no such time: the controller
itself ends sessions, and what it writes fences a broker and elects its partitions' leaders at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.controllers import ZOOKEEPER

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SLACK = "INTERVAL 2 SECONDS"
"""What two nodes log about one thing may be so far apart."""
MOST_TAKEOVER = "INTERVAL 10 SECONDS"
"""So long a takeover is looked for where its end is not logged, and so long before it a controller that is back by then
may have returned."""


def to_takeovers(stops: DataFrame, controllers: DataFrame) -> DataFrame:
    """NODE_STOPS, CONTROLLER_TIMELINE -> one row for each stop of a broker that a controller noticed as it took over.

    Columns: cluster, `broker`, `stopped` (`since` of its stop), `noticed_at`, `evidence` (of its stop), and
    `controller`, the one that was gone: a struct `broker, at, after, evidence` of its stop. A broker that was the
    controller itself is left out: both went at once.
    """
    gone = _gone_controllers(stops, controllers)
    lost = stops.where("role = 'broker' AND noticed_at IS NOT NULL AND coalesce(how <> 'shut_down', true)").select(
        "cluster",
        F.col("node_id").alias("broker"),
        F.col("since").alias("stopped"),
        "noticed_at",
        "evidence",
    )
    took_over = F.coalesce("active_since", F.col("term_since") + F.expr(MOST_TAKEOVER))
    is_found_gone = F.col("noticed_at").between(F.col("term_since") - F.expr("INTERVAL 1 SECOND"), took_over)
    return (
        lost.join(F.broadcast(gone), "cluster")
        .where((F.col("controller.broker") != F.col("broker")) & is_found_gone)
        .groupBy("cluster", "broker", "stopped")
        .agg(*(F.max_by(name, "term_since").alias(name) for name in ("noticed_at", "evidence", "controller")))
    )


def _gone_controllers(stops: DataFrame, controllers: DataFrame) -> DataFrame:
    """NODE_STOPS, CONTROLLER_TIMELINE -> cluster, `term_since`, `active_since` of terms before which the last
    controller's node had gone, with `controller`, the last stop of that node."""
    order = Window.partitionBy("cluster", "cluster_incarnation").orderBy("controller_epoch", "since")
    terms = controllers.where(F.col("mode") == ZOOKEEPER).select(
        "cluster",
        F.lag("controller_id").over(order).alias("node_id"),
        F.col("since").alias("term_since"),
        "active_since",
    )
    stop = F.struct(
        F.col("node_id").alias("broker"), F.col("since").alias("at"), F.col("began_after").alias("after"), "evidence"
    )
    of_nodes = stops.select(
        "cluster", "node_id", _away_since().alias("away_since"), F.col("until").alias("back_at"), stop.alias("stop")
    )
    took_over = F.coalesce("active_since", "term_since")
    is_back = F.coalesce(F.col("back_at") < F.col("term_since") - F.expr(MOST_TAKEOVER), F.lit(False))
    return (
        terms.where("node_id IS NOT NULL")
        .join(F.broadcast(of_nodes), ["cluster", "node_id"])
        .where((F.col("away_since") <= took_over + F.expr(SLACK)) & ~is_back)
        .groupBy("cluster", "term_since", "active_since")
        .agg(F.max_by("stop", "away_since").alias("controller"))
    )


def _away_since() -> Column:
    """When a stopped node was away: of a crash that only the next start shows, after its last line."""
    is_late = (F.col("how") == "crashed") & F.col("noticed_at").isNull()
    return F.when(is_late, F.coalesce("began_after", "since")).otherwise(F.col("since"))
