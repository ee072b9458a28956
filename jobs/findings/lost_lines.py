"""Hours of which lines are lost here and there, as a log shipper drops them: what cannot be then accuses nobody.

Other losses show where they are: a log that is missing, a hole, an epoch without a line. Single lines do not: the last
list of live brokers is a wrong one, and no line tells that another one came after it. But a broker prints each request
that it receives, and a ZooKeeper controller each one that it sends (TRACE), so that the share of those that nobody sent
is about that of the lines that are lost.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.timelines.lossy_hours import lossy_hour_rows
from udfs.kafka.judgements import UNKNOWN, VIOLATED

if TYPE_CHECKING:
    from jobs.timelines.cluster_facts import ClusterFacts

LEAST, LEAST_SHARE = 5, 0.04
"""An hour has lost lines if so many requests of a controller, and such a share of those that brokers received of it,
have no line of being sent. In whole logs these are 3 % of an hour at most, as it is not certain which line is whose."""
LOST_LINES = "lost_lines"
"""Name of the missing input."""
BY_PRINTED_VALUES = (
    "leader_in_isr",
    "one_leader_per_leader_epoch",
    "controller_epoch_grows",
    "one_controller_per_epoch",
    "stored_controller_epoch_never_falls",
    "partition_epoch_grows",
    "isr_within_replicas",
    "elr_disjoint_from_isr",
    "broker_epoch_grows",
)
"""Rules that compare what lines print, whatever others may have said in between."""

OF_DEAD = ("broker_failure", "broker_startup", "controller_failover")
"""Triggers of elections for partitions whose leader is gone."""


def with_refuted_input(elections: DataFrame) -> DataFrame:
    """Rows of `to_election_inputs` -> the same with `refuted_input`: an input that cannot have been so, for then a
    ZooKeeper controller would not have elected at all; lines that changed it are lost. Null: there is none.

    It moves leaders in a controlled shutdown off the brokers that shut down (KafkaController.doControlledShutdown), and
    elects for partitions that are offline: their leader is gone, or its directory has failed. One that comes back may
    be elected again.
    """
    leader = F.col("previous_leader")
    stays = ~F.array_contains("shutting_down", leader)
    is_there = F.col("live_brokers").isNotNull() & F.array_contains("certainly_online", leader)
    is_of_dead = (
        (F.col("strategy") == "offline") & F.col("trigger").isin(*OF_DEAD) & ~F.col("leader").eqNullSafe(leader)
    )
    refuted = F.when((F.col("strategy") == "controlled_shutdown") & stays, "shutting_down").when(
        is_of_dead & is_there, "live_brokers"
    )
    return elections.withColumn("refuted_input", F.when(leader >= 0, refuted))


def to_lossy_hours(requests: DataFrame) -> DataFrame:
    """CONTROL_REQUESTS -> cluster, hour: those with lost lines. A controller that logged nothing it sent in an hour
    tells nothing: its log is missing, or is not at TRACE."""
    hour = F.date_trunc("hour", F.coalesce("sent_at", "received_at"))
    is_lost = F.col("sent_at").isNull() & F.col("received_at").isNotNull()
    return (
        requests.groupBy("cluster", "controller_id", hour.alias("hour"))
        .agg(
            F.count("sent_at").alias("sent"),
            F.count("received_at").alias("received"),
            F.count_if(is_lost).alias("lost"),
        )
        .where((F.col("sent") > 0) & (F.col("lost") >= LEAST) & (F.col("lost") >= LEAST_SHARE * F.col("received")))
        .select("cluster", "hour")
        .distinct()
    )


def all_lossy_hours(requests: DataFrame, facts: ClusterFacts) -> DataFrame | None:
    """CONTROL_REQUESTS -> rows of `to_lossy_hours`, and those of KRaft; None: nothing shows lost lines."""
    sources = [to_lossy_hours(requests)] if facts.kinds.requests else []
    if facts.lossy_hours:
        sources.append(lossy_hour_rows(requests.sparkSession, facts.lossy_hours))
    return reduce(DataFrame.unionByName, sources) if sources else None


def without_lost_lines(verdicts: DataFrame, lossy_hours: DataFrame | None) -> DataFrame:
    """VERDICTS, rows of `all_lossy_hours` -> VERDICTS: nothing of such an hour is `violated`, but by what is
    printed."""
    if lossy_hours is None:
        return verdicts
    of_hour = lossy_hours.withColumn("is_lossy", F.lit(True))
    by_hour = verdicts.withColumn("hour", F.date_trunc("hour", "at")).join(
        F.broadcast(of_hour), ["cluster", "hour"], "left"
    )
    goes_by_more = ~F.col("rule").isin(*BY_PRINTED_VALUES)
    is_doubtful = F.col("is_lossy") & (F.col("verdict") == VIOLATED) & goes_by_more
    explanation = F.concat(
        "rule", F.lit(" cannot be judged: other lines of that hour are lost; logged "), "actual", F.lit(".")
    )
    doubtful = {"verdict": F.lit(UNKNOWN), "missing_inputs": F.array(F.lit(LOST_LINES)), "explanation": explanation}
    changed = {name: F.when(is_doubtful, value).otherwise(F.col(name)) for name, value in doubtful.items()}
    return by_hour.withColumns(changed).select(*verdicts.columns)
