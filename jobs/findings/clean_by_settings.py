"""Elections that were clean, whoever was in sync: unclean ones were not allowed.

At INFO with ZooKeeper the ISR before an election is often in no line. Whether the topic allows unclean elections is,
and before 2.4 a controller holds none without that: an administrator could not ask for one yet (KIP-460).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.findings.switches import with_default_switch, with_topic_switch
from jobs.timelines.cluster_facts import ClusterFacts
from jobs.timelines.topics import INCARNATION
from udfs.kafka.releases import UNCLEAN_ON_REQUEST, possible_releases

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SETTLED = "INTERVAL 1 MINUTE"
"""A change of a setting is in brokers' logs by so much later: the controller may go by it before they log it."""


def with_clean_by_settings(
    elections: DataFrame,
    events: DataFrame,
    known_spans: DataFrame,
    config_changes: DataFrame | None,
    clusters: Collection[str],
) -> DataFrame:
    """ELECTIONS, EVENTS, rows of `to_known_spans` of controllers, CONFIG_CHANGES -> ELECTIONS: in some clusters
    (`clusters_without_requests`) `unclean` is false, not null, where lines say that unclean elections of the topic were
    not allowed at that time, nor SETTLED later."""
    if not clusters:
        return elections
    is_open = F.col("cluster").isin(*clusters) & F.expr("succeeded AND unclean IS NULL")
    undecided = elections.where(is_open).select(*INCARNATION, F.col("at").alias("elected_at"), "leader_epoch")
    times = F.array(F.col("elected_at"), F.col("elected_at") + F.expr(SETTLED))
    asked = with_default_switch(undecided.withColumn("at", F.explode(times)), config_changes)
    may_be_allowed = F.coalesce("topic_switch", F.lit(True))
    clean = (
        with_topic_switch(asked, events, known_spans)
        .groupBy(*INCARNATION, F.col("elected_at").alias("at"), "leader_epoch")
        .agg(F.max(may_be_allowed).alias("may_be_unclean"))
    )
    return (
        elections.join(clean, [*INCARNATION, "at", "leader_epoch"], "left")
        .withColumn("unclean", F.coalesce("unclean", F.when(~F.col("may_be_unclean"), F.lit(False))))
        .select(*elections.columns)
    )


def clusters_without_requests(releases: Mapping[str, tuple[str, bool]], facts: ClusterFacts) -> list[str]:
    """Clusters with ZooKeeper whose logs do not have each state, of releases by which nobody can ask for an unclean
    election."""
    written = clusters_with_all_writes(releases, facts)
    return [
        name
        for name, (text, _) in sorted(releases.items())
        if name not in written and max(possible_releases(text, kraft=False)) < UNCLEAN_ON_REQUEST
    ]


def clusters_with_all_writes(releases: Mapping[str, tuple[str, bool]], facts: ClusterFacts) -> list[str]:
    """Clusters whose logs have each state that a controller writes: KRaft's, and ZooKeeper's with their requests."""
    kinds = facts.kinds_by_cluster
    return [
        name for name, (_, is_kraft) in sorted(releases.items()) if is_kraft or kinds.get(name, facts.kinds).is_traced
    ]
