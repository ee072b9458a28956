"""Leader epochs of which a line shows that they came then; of others the logs may begin after they did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.leader_lines import NO_LEADER_SENT, STARTED
from jobs.timelines.observations import SELECTED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from jobs.timelines.cluster_facts import EvidenceKinds


def to_new_leader_epochs(events: DataFrame, kinds: EvidenceKinds) -> DataFrame:
    """EVENTS -> cluster, topic, partition, at, leader_epoch: leader epochs that came then. A controller selects their
    leader, or this one begins it as it had been in one before, or had just been sent that there was no leader.

    A broker that has just started logs the leader epoch that it finds, with -1 before.
    """
    kind = F.col("event_type")
    is_begin, is_selected = kind.isin(*STARTED), kind == SELECTED
    epoch_before = F.col("fields")["previous_leader_epoch"].try_cast("int")
    is_new = is_selected | (is_begin & (epoch_before >= 0) & (epoch_before < F.col("leader_epoch")))
    lines = events.where(is_begin | is_selected | (kind == NO_LEADER_SENT))
    if kinds.have([NO_LEADER_SENT]):
        in_order = Window.partitionBy("cluster", "node_id", "topic", "partition").orderBy("at", "line")
        is_none = (kind == NO_LEADER_SENT) & (F.col("leader") == -1)
        is_new = is_new | (is_begin & F.lag(is_none).over(in_order))
    of_epoch = lines.withColumn("is_new", is_new).where(F.col("is_new") & F.col("leader_epoch").isNotNull())
    return of_epoch.select("cluster", "topic", "partition", "at", "leader_epoch")
