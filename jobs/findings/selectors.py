"""Which selector made a decision of a ZooKeeper controller through 1.0: each logs its choice right before.

kafka.controller.PartitionLeaderSelector and its subclasses, 0.8.0 to 1.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.observations import SELECTED

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

UNCLEAN = "unclean_leader_election"
"""Event by which it says before, at WARN, that nobody of the ISR is alive: the choice is unclean."""
STRATEGIES = {
    SELECTED: "offline",
    "preferred_election_triggered": "preferred",
    "controlled_shutdown_election_selected": "controlled_shutdown",
}
"""Event of a selector -> strategy of the election that it leads to."""

LONGEST_S = 10
"""So long a controller may take from the choice to the line that says that it is stored: one write to ZooKeeper."""


def to_choices(events: DataFrame) -> DataFrame:
    """EVENTS -> those of STRATEGIES about a partition, with `unclean_line`: the line by which the same node had said
    right before that nobody of the ISR is alive; null where it had not, and for selectors that choose of the ISR."""
    lines = events.where(F.col("event_type").isin(*STRATEGIES, UNCLEAN) & F.col("topic").isNotNull())
    order = Window.partitionBy("cluster", "node_id", "topic", "partition").orderBy("at", "line", "file_id")
    is_recent = F.lag("at").over(order) >= F.col("at") - F.expr(f"INTERVAL {LONGEST_S} SECONDS")
    is_unclean = (F.col("event_type") == SELECTED) & (F.lag("event_type").over(order) == UNCLEAN) & is_recent
    unclean_line = F.when(is_unclean, F.lag(F.struct("node_id", "file_id", "line")).over(order))
    return lines.withColumn("unclean_line", unclean_line).where(F.col("event_type") != UNCLEAN)


def with_selector(decisions: DataFrame, events: DataFrame) -> DataFrame:
    """Decisions of controllers (rows of `with_activity`), EVENTS -> the same with `selector`, the strategy of the
    selector that spoke right before of the same partition, and `selected_unclean`, whether it chose nobody of the ISR;
    null where none did.

    Only lines of the controller's own node count, and of those only what follows its last decision of the partition:
    what was chosen before that is stored already.
    """
    chosen = to_choices(events).withColumn("says_unclean", F.col("unclean_line").isNotNull())
    partition = ["cluster", "node_id", "topic", "partition"]
    names = [*partition, "at", "file_id", "line", "event_type", "leader"]
    has_selectors = F.broadcast(chosen.select("cluster").distinct())
    own = decisions.select(*names).join(has_selectors, "cluster", "left_semi")
    chosen = chosen.select(*names, "says_unclean").withColumn("rank", F.lit(0))
    lines = own.withColumn("rank", F.lit(1)).unionByName(chosen, allowMissingColumns=True)
    order = Window.partitionBy(*partition).orderBy("at", "rank", "line", "file_id")

    def before(name: str) -> Column:
        return F.lag(name).over(order)

    strategy = F.lit(None).cast("string")
    for event_type, name in STRATEGIES.items():
        strategy = F.when(F.col("chosen_by") == event_type, name).otherwise(strategy)
    longest = F.expr(f"INTERVAL {LONGEST_S} SECONDS")
    is_recent = F.col("chosen_at") >= F.col("at") - longest
    is_same = F.coalesce(F.col("chosen") == F.col("leader"), F.lit(True))
    selected = (
        lines.withColumns(
            {
                "chosen_by": before("event_type"),
                "chosen_at": before("at"),
                "chosen": before("leader"),
                "selected_unclean": before("says_unclean"),
            }
        )
        .where((F.col("rank") == 1) & is_recent & is_same)
        .select(
            "cluster",
            "file_id",
            "line",
            strategy.alias("selector"),
            F.when(F.col("chosen_by") == SELECTED, F.col("selected_unclean")).alias("selected_unclean"),
        )
        .where("selector IS NOT NULL")
    )
    return decisions.join(selected, ["cluster", "file_id", "line"], "left")
