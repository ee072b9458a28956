"""Log directories that failed, and the partitions that went offline with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.checkpoints import checkpointed
from jobs.findings.node_stops import first_line_of, halts_by_disk
from jobs.timelines.cluster_facts import EvidenceKinds
from jobs.timelines.evidence import evidence
from jobs.timelines.row_streams import no_rows
from jobs.timelines.sorted_times import number_until
from schemas.incidents import LOG_DIR_FAILURES
from udfs.incidents.node_stops import DISK_HALTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

HALT = "log_dir_failure_broker_halt"
_EVENTS = (
    "log_dir_failure_started",
    "log_dir_failure_partitions",
    "log_dir_failure_logs_offline",
    "log_dir_failure_completed",
    HALT,
    *DISK_HALTS,
)
FILES = (
    r": (/\S*)/(?:replication-offset-checkpoint|recovery-point-offset-checkpoint|log-start-offset-checkpoint)\b",
    r": (/\S*)/[^/\s]+-\d+/\d{20}\.\w+",
)
"""A file of a log directory that an exception names: of the directory itself, or of one of its partitions."""
ERROR = "log_dir_io_error"
"""What a broker logs first: the file that could not be read or written, and the exception."""
JUST_BEFORE, JUST_AFTER = "INTERVAL 5 SECONDS", "INTERVAL 1 SECOND"
"""Of a failure its error is so near."""
ONE_FAILURE = "INTERVAL 1 MINUTE"
"""Lines about one directory that are no further apart, and of one process, are about one failure."""
_DIR = ["cluster", "broker", "log_dir"]


def to_log_dir_failures(events: DataFrame, stops: DataFrame, kinds: EvidenceKinds) -> DataFrame:
    """EVENTS, NODE_STOPS -> LOG_DIR_FAILURES. A failed directory stays so until its broker starts anew."""
    if not kinds.have(_EVENTS):
        return no_rows(events.sparkSession, LOG_DIR_FAILURES.schema)
    starts = (
        stops.where("started_at IS NOT NULL")
        .groupBy("cluster", F.col("node_id").alias("broker"))
        .agg(F.array_sort(F.collect_set("started_at")).alias("starts"))
    )
    of_brokers = (
        events.where(F.col("event_type").isin(*_EVENTS))
        .withColumn("broker", F.coalesce("node_id", "broker_id"))
        .where("broker IS NOT NULL AND at IS NOT NULL")
    )
    lines = _with_log_dirs(_with_disk_halts(of_brokers)).join(F.broadcast(starts), ["cluster", "broker"], "left")
    order = Window.partitionBy(*_DIR).orderBy("at", "line", "file_id")
    last_at = F.lag("at").over(order)
    is_apart = F.col("at") > last_at + F.expr(ONE_FAILURE)
    is_of_next_process = F.coalesce(F.get("starts", number_until("starts", last_at)) <= F.col("at"), F.lit(False))
    is_first = F.coalesce(is_apart | is_of_next_process, F.lit(True))
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    names = F.transform(
        F.coalesce("partitions", F.array().cast(events.schema["partitions"].dataType)),
        lambda p: F.concat_ws("-", p["topic"], p["partition"]),
    )
    failures = checkpointed(
        lines.withColumn("number", F.sum(is_first.cast("int")).over(so_far))
        .withColumn("names", names)
        .groupBy(*_DIR, "number")
        .agg(
            F.min("at").alias("at"),
            F.array_sort(F.array_distinct(F.flatten(F.collect_list("names")))).alias("partitions"),
            F.max(F.col("event_type") == HALT).alias("broker_halted"),
            F.any_value("starts").alias("starts"),
            F.min_by("error", F.struct("at", "line")).alias("halt_error"),
            evidence().alias("evidence"),
        )
        .withColumns(
            {
                "until": F.get("starts", number_until("starts", F.col("at"))),
                "partitions_offline": F.size("partitions"),
            }
        )
    )
    if not kinds.have([ERROR]):
        return failures.withColumnRenamed("halt_error", "error").select(*LOG_DIR_FAILURES.columns)
    return (
        failures.join(_errors(events, failures), [*_DIR, "at"], "left")
        .withColumn("error", F.coalesce("halt_error", "error"))
        .select(*LOG_DIR_FAILURES.columns)
    )


def _errors(events: DataFrame, failures: DataFrame) -> DataFrame:
    """EVENTS, rows of LOG_DIR_FAILURES -> _DIR, `at`, and `error`: the first one that names a file of the directory
    about then. More may follow of each file that is to be written."""
    file = F.coalesce(F.col("fields")["file"], F.col("fields")["dir"])
    errors = events.where(F.col("event_type") == ERROR).select(
        "cluster",
        F.coalesce("node_id", "broker_id").alias("broker"),
        F.col("at").alias("error_at"),
        "line",
        file.alias("file"),
        F.coalesce(first_line_of("detail"), "message").alias("error"),
    )
    is_near = F.col("error_at").between(F.col("at") - F.expr(JUST_BEFORE), F.col("at") + F.expr(JUST_AFTER))
    return (
        errors.join(F.broadcast(failures.select(*_DIR, "at")), ["cluster", "broker"])
        .where(is_near & ((F.col("file") == F.col("log_dir")) | F.startswith("file", F.concat("log_dir", F.lit("/")))))
        .groupBy(*_DIR, "at")
        .agg(F.min_by("error", F.struct("error_at", "line")).alias("error"))
    )


def _with_disk_halts(lines: DataFrame) -> DataFrame:
    """Lines about failures -> the same, those by which a process halted before 1.0 as halts because of the directory
    whose file its exception names. One that names a directory itself, from 1.0 on, is told by other lines."""
    fields, is_of_disk = F.col("fields"), F.col("event_type").isin(*DISK_HALTS)
    directories = (F.regexp_extract("detail", pattern, 1) for pattern in FILES)
    named = F.coalesce(*(F.when(name != "", name) for name in directories))
    with_dir = F.map_concat(
        F.coalesce(fields, F.create_map().cast(lines.schema["fields"].dataType)), F.create_map(F.lit("dir"), named)
    )
    return lines.where(~is_of_disk | (halts_by_disk() & named.isNotNull())).withColumns(
        {
            "fields": F.when(is_of_disk, with_dir).otherwise(fields),
            "event_type": F.when(is_of_disk, F.lit(HALT)).otherwise(F.col("event_type")),
            "error": F.when(is_of_disk, first_line_of("detail")),
        }
    )


def _with_log_dirs(lines: DataFrame) -> DataFrame:
    """Lines of brokers about failures -> each with its `log_dir`.

    A halt that names none, or all directories of the broker, is because of the last that failed just before, which
    Kafka logs first (`LogManager.handleLogDirFailure`); where no line shows that, of all that it names.
    """
    so_far = Window.partitionBy("cluster", "broker").orderBy("at", "line", "file_id")
    dir_at = F.when(F.col("fields")["dir"].isNotNull(), F.struct(F.col("fields")["dir"].alias("dir"), "at"))
    last = F.last("dir_at", ignorenulls=True).over(so_far)
    just_failed = F.when(F.col("last.at") + F.expr(ONE_FAILURE) >= F.col("at"), F.array("last.dir"))
    return (
        lines.withColumn("dir_at", dir_at)
        .withColumn("last", last)
        .where(F.col("dir_at").isNotNull() | (F.col("event_type") == HALT))
        .withColumn("log_dir", F.explode(F.coalesce(just_failed, F.split(F.col("fields")["dirs"], ", "))))
    )
