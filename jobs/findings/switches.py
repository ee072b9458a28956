"""Whether unclean elections are allowed, by lines: settings of topics as they are created and changed."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.broker_defaults import with_default
from jobs.timelines.known_spans import span_around
from jobs.timelines.topics import INCARNATION
from schemas.kafka_values import UNCLEAN_SWITCH
from udfs.kafka.election_verdicts import JUST_ALLOWED
from udfs.kafka.verdicts_columns import doubt

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

DECISION = [*INCARNATION, "at", "decision"]
"""Names one election: its partition, its time and its leader epoch, -1 if it failed."""

WITH_SETTINGS = ("topic_config_changed", "metadata_config_updated", "topic_creation_written", "replica_log_created")
"""Events that print settings of a topic in a list: all that are not the default, and a new log through 2.7 all."""
OF_ONE_SETTING = ("kraft_config_set", "metadata_config")
"""Events that print one setting of a topic."""


def with_printed_switch(decisions: DataFrame, events: DataFrame, clusters: Collection[str]) -> DataFrame:
    """Elections with DECISION, EVENTS -> the same with `printed_switch`, null but in some clusters: whether unclean
    elections are allowed, as kafka.controller.OfflinePartitionLeaderSelector (until 1.0) shows when nobody of the ISR
    is alive: it fails for that, or goes on with other replicas."""
    if not clusters:
        return decisions.withColumn("printed_switch", F.lit(None).cast("boolean"))
    fails = (F.col("event_type") == "partition_state_change_failed") & F.col("detail").contains("No broker in ISR for")
    goes_on = F.col("event_type").isin("offline_election_isr_dead", "unclean_leader_election")
    is_shown = (fails | goes_on) & F.col("topic").isNotNull() & F.col("cluster").isin(*clusters)
    shown = events.where(is_shown).select(
        "cluster", "topic", "partition", F.col("at").alias("printed_at"), goes_on.alias("is_allowed")
    )
    by_decision = (
        decisions.where("strategy = 'offline'")
        .select(*DECISION, "succeeded")
        .join(shown, ["cluster", "topic", "partition"])
        .where(F.col("succeeded") == F.col("is_allowed"))
        .where((F.col("printed_at") <= F.col("at") + doubt()) & (F.col("printed_at") >= F.col("at") - doubt()))
        .groupBy(*DECISION)
        .agg(F.max("is_allowed").alias("printed_switch"))
    )
    return decisions.join(by_decision, DECISION, "left")


def with_topic_switch(
    decisions: DataFrame, events: DataFrame, known_spans: DataFrame, without: Collection[str] = ()
) -> DataFrame:
    """Elections with DECISION and `default_switch`, EVENTS -> the same with `topic_switch`: the value that the last
    line before has for the topic, or if it has none the brokers' default; null if that is unknown, or there is no such
    line since the last hole in the controllers' logs, or the cluster is one of `without`: in 0.8.2 a new log prints the
    default, whatever its broker is set to.

    A broker's line shows what it was told, which may not be what the controller knew at that moment: it excuses, and
    accuses nobody.
    """
    is_list, is_one = F.col("event_type").isin(*WITH_SETTINGS), F.col("event_type").isin(*OF_ONE_SETTING)
    is_switch = (F.col("fields")["config_resource_type"] == "TOPIC") & (
        F.col("fields")["config_name"] == UNCLEAN_SWITCH
    )
    printed = F.when(is_one, F.col("fields")["config_value"]).otherwise(
        F.regexp_extract("message", r"\bunclean\.leader\.election\.enable(?: -> |=)(\w+)", 1)
    )
    is_wanted = F.col("topic").isNotNull() & (is_list | (is_one & is_switch))
    lines = events.where(is_wanted & ~F.col("cluster").isin(*without)).select(
        "cluster",
        "topic",
        F.struct("at", "file_id", "line").alias("place"),
        F.when(printed.isin("true", "false"), printed == "true").alias("value"),
    )
    # each partition of a topic has such a line, and most say the same
    order, day = Window.partitionBy("cluster", "topic").orderBy("place"), F.to_date("place.at")
    is_news = ~F.lag("value").over(order).eqNullSafe(F.col("value")) | ~F.lag(day).over(order).eqNullSafe(day)
    news = lines.withColumn("is_news", F.row_number().over(order).eqNullSafe(1) | is_news).where("is_news")
    in_order = F.array_sort(F.collect_list(F.struct("place", "value")))
    by_topic = news.groupBy("cluster", "topic").agg(in_order.alias("lines"))
    known_since = span_around(F.col("at"))["since"]
    before = F.filter("lines", lambda line: (line["place"]["at"] <= F.col("at")) & (line["place"]["at"] >= known_since))
    last = F.try_element_at(before, F.lit(-1))
    return (
        decisions.join(by_topic, ["cluster", "topic"], "left")
        .join(F.broadcast(known_spans), "cluster", "left")
        .withColumn("topic_switch", F.coalesce(last["value"], F.when(last.isNotNull(), F.col("default_switch"))))
        .drop("lines", "spans")
    )


def with_default_switch(decisions: DataFrame, config_changes: DataFrame | None) -> DataFrame:
    """Elections, CONFIG_CHANGES -> the same with `default_switch`: what all nodes print that topics have which set
    nothing else; null unknown. `config_changes` is None where no line shows a setting."""
    if config_changes is None:
        return decisions.withColumn("default_switch", F.lit(None).cast("boolean"))
    printed = with_default(decisions, config_changes, UNCLEAN_SWITCH, F.col("at"))
    return printed.withColumn("default_switch", F.col("default_value").try_cast("boolean")).drop("default_value")


def settled_switch() -> Column:
    """Of elections with `unclean_enabled`, `topic_switch` and `trigger` whether unclean ones were allowed; null
    unknown: nothing says so, or they are set not to be but may have been allowed at run time (see `was_changed`). A
    line that says that they were not accuses nobody."""
    is_told = F.coalesce("topic_switch", F.lit(False))
    is_allowed = is_told | F.coalesce(F.col("trigger") == JUST_ALLOWED, F.lit(False))
    by_line = F.when(F.col("unclean_enabled").isNull() & is_told, F.lit(True))
    return F.when(F.col("unclean_enabled") | ~is_allowed, F.col("unclean_enabled")).otherwise(by_line)
