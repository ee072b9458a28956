"""Elections of which the controller says itself whether they are unclean, whatever else is not known of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.findings.selectors import to_choices
from jobs.timelines.cluster_facts import EvidenceKinds
from jobs.timelines.observations import SELECTED
from jobs.timelines.topics import INCARNATION, with_incarnation
from schemas.spark import EVIDENCE
from udfs.kafka.elections import RECOVERING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CHANGED_UNCLEAN = "kraft_partition_changed_unclean"
"""Event by which a KRaft controller logs a leader that was not in sync, be it that a reassignment brings it along."""


def with_logged_unclean(elections: DataFrame, events: DataFrame, topics: DataFrame, kinds: EvidenceKinds) -> DataFrame:
    """Committed ELECTIONS, EVENTS, TOPIC_TIMELINE -> the same with `unclean`, and of ZooKeeper's `strategy`, also where
    they were null and a line of the controller tells them; then that is evidence, too. What KRaft's controller says
    counts more than what states seem to tell: with a reassignment that is cancelled it may elect uncleanly."""
    if kinds.have([CHANGED_UNCLEAN]):
        recovering = F.broadcast(_recovering(events, topics))
        elections = (
            elections.join(recovering, [*INCARNATION, "leader_epoch"], "left")
            .withColumn("unclean", F.coalesce("recovers", "unclean"))
            .drop("recovers")
        )
    if kinds.have([SELECTED]):
        of_choice = F.when(F.col("unclean").isNull(), F.col("choice_evidence"))
        # where the leader epoch before is in no line, another broker may have led in it
        is_unseen = F.col("unclean").isNull() & F.col("chosen_unclean") & F.col("previous_leader").isNull()
        elections = (
            elections.join(_choices(events, topics), [*INCARNATION, "leader_epoch", "leader"], "left")
            .withColumns(
                {
                    "evidence": F.concat("evidence", F.coalesce(of_choice, F.array().cast(EVIDENCE))),
                    "last_leader": F.when(~F.coalesce(is_unseen, F.lit(False)), F.col("last_leader")),
                    "strategy": F.coalesce("strategy", F.when(F.col("chosen_unclean").isNotNull(), "offline")),
                    "unclean": F.coalesce("unclean", "chosen_unclean"),
                }
            )
            .drop("chosen_unclean", "choice_evidence")
        )
    return elections


def _recovering(events: DataFrame, topics: DataFrame) -> DataFrame:
    """EVENTS, TOPIC_TIMELINE -> INCARNATION, leader_epoch, `recovers`: elections of KRaft's controllers that leave the
    partition recovering, as unclean ones do from 3.2 on (KIP-704)."""
    recovers = F.col("fields")["leader_recovery_state"] == RECOVERING
    is_known = (F.col("event_type") == CHANGED_UNCLEAN) & F.col("topic").isNotNull() & F.col("leader_epoch").isNotNull()
    lines = events.where(is_known & recovers).select("cluster", "topic", "partition", "at", "leader_epoch")
    of_epoch = with_incarnation(lines, topics).select(*INCARNATION, "leader_epoch").distinct()
    return of_epoch.withColumn("recovers", F.lit(True))


def _choices(events: DataFrame, topics: DataFrame) -> DataFrame:
    """EVENTS, TOPIC_TIMELINE -> INCARNATION, leader_epoch, leader, `chosen_unclean`, `choice_evidence`: whom
    controllers until 1.0 were about to write for partitions without a leader, and whether they had said right before,
    at WARN, that nobody of the ISR is alive."""
    chosen = to_choices(events).where((F.col("event_type") == SELECTED) & F.col("leader_epoch").isNotNull())
    line = F.max_by("unclean_line", "at")
    return (
        with_incarnation(chosen, topics)
        .groupBy(*INCARNATION, "leader_epoch", "leader")
        .agg(
            line.isNotNull().alias("chosen_unclean"),
            F.array_compact(F.array(line)).cast(EVIDENCE).alias("choice_evidence"),
        )
    )
