"""What holds of a KRaft cluster as a whole: how its controllers write what brokers' coming and going changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.observations import ids_of, number_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

METADATA_VERSION_3_6 = 12
"""Level of metadata version 3.6-IV0."""
NO_MIGRATION = ("NONE", "0")
"""The state of a migration in a cluster that never had ZooKeeper, in lines and in records."""
DUMP_LOGGER = "kafka-dump-log"
METADATA_VERSION = "metadata.version"
ELR_FEATURE = "eligible.leader.replicas.version"


def to_kraft_clusters(events: DataFrame) -> DataFrame:
    """Clusters whose controllers run KRaft: cluster, and `udfs.reconstruct.kraft_records.PartitionRules`, null unknown.

    A lost last member stays in the ISR without eligible leader replicas, which no release before 4.0 turns on
    (KIP-966): a replica that is printed as one, or the feature, proves them; a list of features without it that there
    are none. Until metadata version 3.6-IV0 (KAFKA-15021), and while ZooKeeper's brokers migrate, a record that takes a
    member out of the ISR names the leader; before release 3.8 also one that takes out nobody, for it is the last.
    `is_whole`: whether leaders print the partition epoch with which they begin, as from 3.3 on: else nothing is
    inferred. Directories are told from 3.7 on (KIP-858). What changed meanwhile, as in an upgrade, is unknown. A broker
    that publishes offset 0 has not read the metadata yet, and prints 3.0-IV1; a cluster that never had ZooKeeper logs
    from 3.5 on that its migration's state is NONE.
    """
    event = F.col("event_type")
    features = F.when(event == "metadata_features_loaded", F.col("fields")["features"])
    is_on = (
        event.isin("kraft_feature_set", "metadata_feature_level")
        & (F.col("fields")["feature"] == ELR_FEATURE)
        & (number_of("feature_level") > 0)
    )
    has_elr = (event.startswith("kraft") & (F.size(ids_of("elr")) > 0)) | is_on | features.rlike(f"{ELR_FEATURE}=[1-9]")
    release = _release(F.when(event == "kafka_version", F.col("fields")["kafka_version"]))
    is_dumped = F.col("logger") == DUMP_LOGGER
    names = ("zk_migration_state", "from_state", "to_state")
    states = F.array_distinct(F.array_compact(F.array(*(F.col("fields")[name] for name in names))))
    is_none = (F.size(states) > 0) & (F.size(F.array_except(states, F.array(*map(F.lit, NO_MIGRATION)))) == 0)
    migrates = event.contains("migration") & ~is_none
    names_facts = event.isin("kafka_version", "metadata_features_loaded", "metadata_published")
    clusters = events.where(names_facts | event.startswith("kraft") | is_dumped).groupBy("cluster")
    facts = clusters.agg(
        F.max(event.startswith("kraft") | is_dumped).alias("is_kraft"),
        F.max(F.coalesce(has_elr, F.lit(False))).alias("has_elr"),
        F.max(~features.contains(ELR_FEATURE)).alias("lists_no_elr"),
        F.min(release).alias("oldest"),
        F.max(release).alias("newest"),
        F.min(_is_before_3_6()).alias("least_old"),
        F.max(_is_before_3_6()).alias("most_old"),
        F.max(migrates).alias("migrates"),
    ).where("is_kraft")
    # a dump tells no release, but which metadata versions there were
    is_upgraded = F.coalesce(F.col("newest") >= _number(3, 6), F.lit(True)) & (F.col("least_old") != F.col("most_old"))
    raises = (
        F.when(F.col("migrates") | is_upgraded, None)
        .when(F.col("newest") < _number(3, 6), True)
        .otherwise(F.col("most_old") == 1)
    )
    return facts.withColumn("raises", raises).select(
        "cluster",
        F.when(F.col("has_elr") & F.coalesce("lists_no_elr", F.lit(False)), None)
        .when(F.col("has_elr"), False)
        .when((F.col("newest") < _number(4, 0)) | F.col("lists_no_elr"), True)
        .alias("keeps_last_member"),
        F.col("raises").alias("raises_epoch_of_shrink"),
        F.when(~F.col("raises") | (F.col("oldest") >= _number(3, 8)), False)
        .when(F.col("raises") & (F.col("newest") < _number(3, 8)), True)
        .alias("raises_epoch_of_last_member"),
        F.when(F.col("newest") < _number(3, 7), False).alias("has_directories"),
        F.coalesce(F.col("oldest") >= _number(3, 3), F.lit(True)).alias("is_whole"),
        "migrates",
    )


def _is_before_3_6() -> Column:
    """1 if a line shows a metadata version before 3.6-IV0, 0 a later one; null: it shows none."""
    is_version = (F.col("logger") == DUMP_LOGGER) & (F.col("fields")["feature"] == METADATA_VERSION)
    level = F.coalesce(number_of("metadata_version_level"), F.when(is_version, number_of("feature_level")))
    is_known = ~F.coalesce(F.col("fields")["metadata_offset"] == "0", F.lit(False))
    return F.when(
        is_known,
        F.coalesce(_release(F.col("fields")["metadata_version"]) < _number(3, 6), level < METADATA_VERSION_3_6),
    ).cast("int")


def _number(major: int, minor: int) -> int:
    """A release as one number."""
    return major * 1000 + minor


def _release(version: Column) -> Column:
    """The release that a version begins with, as `_number`; null if it is none."""
    major, minor = (F.regexp_extract(version, r"^(\d+)\.(\d+)", group).try_cast("int") for group in (1, 2))
    return major * 1000 + minor
