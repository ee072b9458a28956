"""How many replicas of a topic have to be in sync, `min.insync.replicas`, by what lines show of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.settings import Settings
from jobs.timelines.broker_defaults import with_default
from jobs.timelines.configured import configured
from schemas.kafka_values import IS_MIN_ISR_OF_TOPIC, MIN_ISR
from udfs.kafka.verdicts_columns import doubt

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def with_min_isr(
    states: DataFrame, topics: DataFrame, settings: Settings, config_changes: DataFrame | None
) -> DataFrame:
    """States of partitions, TOPIC_TIMELINE, CONFIG_CHANGES -> the states with `min_isr`: what the topic has set at
    `since` by the last line before, else what `settings` say, else the brokers' default if lines show that the topic
    has none of its own; null unknown.

    A line a moment after `since` counts, too: a topic's settings are logged after its first state. None of an
    incarnation before counts. `config_changes` is None where no line has a setting of a topic.
    """
    by_settings = configured(settings, "min_insync_replicas", "int")
    if config_changes is None:
        return states.withColumn("min_isr", by_settings)
    lives = topics.select("cluster", "topic", "incarnation", F.col("since").alias("began"), "until")
    value = F.struct("at", F.col("value").try_cast("int").alias("value"))
    own = (
        config_changes.where(IS_MIN_ISR_OF_TOPIC)
        .join(F.broadcast(lives), ["cluster", "topic"])
        .where(F.col("at") >= F.coalesce(F.col("began") - doubt(), F.col("at")))
        .where(F.col("at") < F.coalesce("until", F.col("at") + doubt()))
        .groupBy("cluster", "topic", "incarnation")
        .agg(F.array_sort(F.collect_list(value)).alias("values"))
    )
    latest = F.col("since") + doubt()
    last = F.try_element_at(F.filter("values", lambda line: line["at"] <= latest), F.lit(-1))
    with_values = states.join(F.broadcast(own), ["cluster", "topic", "incarnation"], "left")
    with_values = with_default(with_values, config_changes, MIN_ISR, F.col("since"))
    default = F.when(last.isNotNull(), F.col("default_value").try_cast("int"))
    return with_values.withColumn("min_isr", F.coalesce(last["value"], by_settings, default)).drop(
        "values", "default_value"
    )
