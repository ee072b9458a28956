"""The one place that builds a Spark session."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from jobs.java import check_java
from jobs.work_folder import work_folder
from udfs.errors import NoSpark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DELTA = "io.delta:delta-spark_4.2_2.13:4.4.0"
NOT_NEEDED = (  # of Delta's dependencies only delta-storage is not in Spark's own jars (or needed here)
    "org.apache.*:*", "org.slf4j:*", "org.xerial.snappy:*", "org.roaringbitmap:*", "org.locationtech.jts:*",
    "com.fasterxml.*:*", "com.github.luben:*", "com.google.*:*", "commons-*:*", "javax.*:*", "jakarta.*:*",
    "io.airlift:*", "io.unitycatalog:*", "io.delta:delta-kernel-*", "org.antlr:*",
)  # fmt: skip
OWN = "spark.kafka_rewind.own_session"
"""Set in a session that we built: `size_session` may then change it."""
MANY = "spark.kafka_rewind.many_logs"
"""Whether a session of our own works on logs of LARGE_BYTES or more."""
COMPILED: Mapping[str, str] = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
"""Settings by which queries are compiled."""
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
SMALL_BYTES = 16 << 20
"""Logs up to this size are small: compiling each query to Java costs more than running it uncompiled. A nightly run
over 8 MB at INFO, most of it elections, takes 179 CPU seconds uncompiled and 194 compiled; one over 24 MB 379
and 295."""
ONE_TASK_BYTES = 8 << 20
"""Logs up to this size make one task of each stage: starting a task costs more than it does, and several tables are
written at once. A nightly run over 8 MB takes 149 CPU seconds so and 174 with two tasks (106 and 110 s)."""
ONE_TASK_SETTINGS: Mapping[str, str] = {
    "spark.sql.maxSinglePartitionBytes": str(2**63 - 1),
    "spark.sql.defaultSizeInBytes": "1",
}
"""Where a stage is one task: rows that are in one partition stay there, whatever Spark believes of their size."""
RULES_WITHOUT_GAIN = ",".join(
    f"org.apache.spark.sql.{name}"
    for name in (
        "catalyst.optimizer.FoldablePropagation",
        "catalyst.optimizer.InferFiltersFromConstraints",
        "catalyst.optimizer.OptimizeCsvJsonExprs",
        "catalyst.optimizer.OptimizeOneRowRelationSubquery",
        "catalyst.optimizer.PruneFilters",
        "catalyst.optimizer.SimplifyBinaryComparison",
        "delta.metric.OptimizeConditionalIncrementMetric",
        "delta.optimizer.RangePartitionIdRewrite",
    )
)
"""Rules of Spark's optimizer that make plans of small logs no cheaper to run: looking for what they might change takes
3 of a night's 50 s."""
SHUFFLE_BYTES = 64 << 20
"""Bytes of logs for each shuffle partition."""
LARGE_BYTES = 256 << 20
"""Logs from this size on are worth the JVM's second compiler. A nightly run over 150 MB takes 183 CPU seconds without
it and 208 with it (111 and 108 s), one over 300 MB 274 and 273 (157 and 141 s)."""
FIRST_COMPILER = " -XX:TieredStopAtLevel=1"
CATALOG = "spark.sql.catalogImplementation"
"""Setting of what keeps the catalog of tables: `in-memory` or `hive`."""
PACKED, PACKED_TIMES = (".gz", ".tgz", ".bz2", ".xz", ".zst", ".zip", ".parquet"), 10
"""Names of files that hold more logs than they have bytes, and how many times as much: text logs, events."""
SETTINGS: Mapping[str, str] = {  # for a session of our own; `conf/` has the same for spark-submit
    "spark.app.name": "kafka-rewind",
    "spark.master": "local[*]",
    "spark.jars.packages": DELTA,
    "spark.jars.excludes": ",".join(NOT_NEEDED),
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    OWN: "true",
    MANY: "false",
    "spark.sql.shuffle.partitions": "1",
    # compiling costs more than small data does; `size_session` turns it on
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # else each function of a column looks its caller up, in ten calls to the JVM
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # rows of a checkpoint are taken for the largest table there is, and each join with them got a filter of 1 MB
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
    # 250 small jobs become 140; sizes are known here
    "spark.sql.adaptive.enabled": "false",
    # small tables are broadcast, but what they are made of may take long; Spark gives up after 300 s
    "spark.sql.broadcastTimeout": "86400",
    # each sort and window of a task holds a page or more, some tasks have a dozen; Spark would take 64 MB
    "spark.buffer.pageSize": "4m",
    # rows that come in order are grouped as they come
    "spark.sql.execution.replaceHashWithSortAgg": "true",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    "spark.databricks.delta.snapshotPartitions": "1",
    # a Spark job for each commit, for a list that nobody reads
    "spark.databricks.delta.allFilesInCrc.enabled": "false",
    "spark.databricks.delta.properties.defaults.checkpointInterval": "20",
    # cluster to the time of `events`
    "spark.databricks.delta.properties.defaults.dataSkippingNumIndexedCols": "7",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "4g",
    JAVA_OPTIONS: "-XX:+UseParallelGC -XX:ReservedCodeCacheSize=256m -XX:MetaspaceSize=400m -Xms1g "
    # Spark asks whether a value is null before it takes it; Arrow need not ask again, nor whether it is in its buffer
    "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
}
DEBUG = "KAFKA_REWIND_DEBUG"
"""Environment variable that `--debug` sets: the JVM's own output is shown."""

HOSTS = ("PYSPARK_GATEWAY_PORT", "DATABRICKS_RUNTIME_VERSION")
"""Environment variables of spark-submit and Databricks, whose the JVM, its master and its sizes then are."""


def is_own(spark: SparkSession) -> bool:
    """Whether we built this session, one process with settings of ours, and not somebody who has a cluster."""
    return spark.conf.get(OWN, "false") == "true"


def size_session(spark: SparkSession, size_bytes: int) -> None:
    """Fit a session of our own to its logs: shuffle partitions, whether queries are compiled, what stays in memory.

    A session that somebody else configured is left alone.
    """
    if not is_own(spark):
        return
    small = size_bytes <= SMALL_BYTES
    cores = spark.sparkContext.defaultParallelism if size_bytes > ONE_TASK_BYTES else 1
    parts = max(cores, size_bytes // SHUFFLE_BYTES)
    spark.conf.set("spark.sql.shuffle.partitions", str(parts))
    for name, value in ONE_TASK_SETTINGS.items():
        if parts == 1:
            spark.conf.set(name, value)
        else:
            spark.conf.unset(name)
    spark.conf.set("spark.sql.optimizer.excludedRules", RULES_WITHOUT_GAIN if small else "")
    # which files of a table a filter needs is a query with a job of its own; of small tables all files are read
    spark.conf.set("spark.databricks.delta.stats.skipping", "false" if small else "true")
    spark.conf.set("spark.sql.codegen.wholeStage", "false" if small else "true")
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN" if small else "FALLBACK")
    spark.conf.set(MANY, "true" if size_bytes >= LARGE_BYTES else "false")


def are_many(spark: SparkSession) -> bool:
    """Whether logs are so many that whoever reads their events again reads the columns it needs from the table.

    To keep all of them in memory takes more than that: a nightly run over 1 GB takes 500 CPU seconds (273 s) with
    events in memory and 483 (255 s) with events that are read again; over 300 MB there is no difference. Fewer stay in
    memory, for finding the files of a table costs more than reading them. A session of somebody else counts as one
    with many.
    """
    return spark.conf.get(MANY, "true") == "true"


def cores_at_most(spark: SparkSession) -> int:
    """Cores for which work is to be divided: those that are there or, where executors come and go, that may come.

    With dynamic allocation a job begins on one executor, and gets more the more tasks wait.
    """
    cores = int(spark.sparkContext.defaultParallelism)
    if (spark.conf.get("spark.dynamicAllocation.enabled", None) or "false").lower() != "true":
        return cores
    most = min(int(spark.conf.get("spark.dynamicAllocation.maxExecutors", None) or MOST_EXECUTORS), MOST_EXECUTORS)
    return max(cores, most * int(spark.conf.get("spark.executor.cores", None) or 1))


MOST_EXECUTORS = 64
"""How many executors are reckoned with where a cluster sets no limit: more tasks than cores cost little."""


def expected_bytes(files: Iterable[str | os.PathLike[str]] | Mapping[str, int | None]) -> int:
    """Estimated bytes of logs that files hold; packed ones, and tables, are not opened. An unreadable file counts 0.

    A mapping: with the bytes of files that are known from a listing.
    """
    total = 0
    for path in files:
        size = files[str(path)] if isinstance(files, Mapping) else None
        with suppress(OSError):
            on_disk = os.stat(path).st_size if size is None else size
            total += on_disk * (PACKED_TIMES if str(path).endswith(PACKED) else 1)
    return total


@contextmanager
def with_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Run something under other settings of a session, then put back what they were."""
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value_before in before.items():
            if value_before is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value_before)


@contextmanager
def compiling(spark: SparkSession) -> Iterator[None]:
    """Let what is planned meanwhile be compiled also where logs are small: for the verdicts, whose many wide rows cost
    more than their plan. Not where each stage is one task, and a session of somebody else is left alone."""
    is_worth_it = is_own(spark) and spark.conf.get("spark.sql.shuffle.partitions") != "1"
    with with_settings(spark, COMPILED if is_worth_it else {}):
        yield


@contextmanager
def session(settings: Mapping[str, str] | None = None, size_bytes: int = 0) -> Iterator[SparkSession]:
    """A Spark session: the running one where there is one, the one that spark-submit or Databricks describes, else a
    local one of our own, whose workers run the same Python as the driver.

    `size_bytes`: of the logs that it will work on, as far as that is known; one of our own is fitted to it. The time
    zone is UTC, whoever started it. One that was running before, and Databricks' own, is not stopped at the end.
    Raises NoJava, NoSpark.
    """
    from pyspark.sql import SparkSession

    from jobs.java_classes import know_classes

    os.environ["TZ"] = "UTC"  # times that Python collects are then UTC, as those that Spark prints
    time.tzset()
    running = SparkSession.getActiveSession()
    is_hosted = running is not None or any(name in os.environ for name in HOSTS)
    scratch = ExitStack()
    if running is not None:
        spark = running
    elif is_hosted:
        spark = SparkSession.builder.getOrCreate()
    else:
        check_java()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        _use_utf8()
        builder = SparkSession.builder
        own = {"spark.python.daemon.module": "jobs.worker_daemon", JAVA_OPTIONS: java_options(size_bytes)}
        chosen = {**SETTINGS, **own, **(settings or {})}
        folder = scratch.enter_context(work_folder())
        for key, value in {**chosen, **_in_folder(folder, chosen)}.items():
            builder = builder.config(key, value)
        spark = _start_quietly(builder)
    try:
        if is_hosted:
            check_classic(spark)
            check_delta(spark)
            spark.conf.set("spark.sql.session.timeZone", SETTINGS["spark.sql.session.timeZone"])
        if running is None:
            size_session(spark, size_bytes)
            spark.sparkContext.setLogLevel("ERROR" if is_hosted or os.environ.get(DEBUG) else "OFF")
            if is_hosted and "DATABRICKS_RUNTIME_VERSION" not in os.environ:
                warn_without_executors(spark)
            know_classes(spark.sparkContext._jvm)
        logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # what a query did wrong is raised, too
        yield spark
    finally:
        if running is None and "DATABRICKS_RUNTIME_VERSION" not in os.environ:
            spark.stop()
        scratch.close()


def _in_folder(folder: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Settings by which Spark and Java write what they need meanwhile to a folder, but for what `settings` say.

    Spark makes the folder of tables without a path at once, wherever it runs. Tables of a metastore, which its user
    names in PYSPARK_SUBMIT_ARGS, are to stay.
    """
    in_folder = {
        "spark.local.dir": settings.get("spark.local.dir", folder),
        JAVA_OPTIONS: settings[JAVA_OPTIONS] + ("" if " " in folder else f" -Djava.io.tmpdir={folder}"),
    }
    tables = "spark.sql.warehouse.dir"
    users_own = os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    if tables not in users_own and CATALOG not in users_own:
        in_folder[tables] = settings.get(tables, f"{folder}/tables")
    return in_folder


def _use_utf8() -> None:
    """Let Java and Python workers read file names and texts as UTF-8, whatever the locale.

    Java 17 has no option for that; in the POSIX locale it finds no file whose name is not ASCII.
    """
    locale = next((os.environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if os.environ.get(name)), "C")
    if not locale.lower().endswith(("utf-8", "utf8")):
        os.environ["LC_ALL"] = "C.UTF-8"


def java_options(size_bytes: int) -> str:
    """Options of a JVM for so many bytes of logs: a short run does not repay what the second compiler costs."""
    return SETTINGS[JAVA_OPTIONS] + (FIRST_COMPILER if size_bytes < LARGE_BYTES else "")


def warn_without_executors(spark: SparkSession) -> None:
    """Let Spark say, every 15 s, that no executor takes the work: else a run on a full cluster waits without a word."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None  # a SparkContext that runs has one
    log4j = jvm.org.apache.logging.log4j
    log4j.core.config.Configurator.setLevel("org.apache.spark.scheduler.TaskSchedulerImpl", log4j.Level.WARN)


def check_classic(spark: SparkSession) -> None:
    """Raises NoSpark for a session of Spark Connect, which has neither a SparkContext nor the JVM that is used here."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise NoSpark(
            "This session is one of Spark Connect, as serverless and shared Databricks clusters have; run it on one "
            "with dedicated access (data_security_mode: SINGLE_USER), or with spark-submit."
        )


def check_delta(spark: SparkSession) -> None:
    """Raises NoSpark for a session that cannot read and write Delta; on Databricks each one can."""
    extensions = spark.conf.get("spark.sql.extensions", "") or ""
    if "io.delta." not in extensions and "DATABRICKS_RUNTIME_VERSION" not in os.environ:
        raise NoSpark("This Spark session has no Delta; start it with --properties-file conf/spark-submit.properties.")


def _start(builder: SparkSession.Builder) -> SparkSession:
    return builder.getOrCreate()


def _start_quietly(builder: SparkSession.Builder) -> SparkSession:
    """Start the JVM with its output in a file: what Ivy, log4j and Delta print is of no use unless it fails."""
    if os.environ.get(DEBUG):
        return _start(builder)
    with tempfile.TemporaryFile() as output:
        ours = {number: os.dup(number) for number in (1, 2)}
        for number in ours:
            os.dup2(output.fileno(), number)
        try:
            return _start(builder)
        except Exception as error:
            output.seek(0)
            raise NoSpark(_why_not_started(output.read().decode("utf-8", "replace"))) from error
        finally:
            for number, descriptor in ours.items():
                os.dup2(descriptor, number)
                os.close(descriptor)


def _why_not_started(output: str) -> str:
    """Why a JVM did not start, in one sentence, by its standard error."""
    if "unresolved dependency" in output or "UNRESOLVED DEPENDENCIES" in output:
        return f"Delta's jars ({DELTA}) could not be downloaded; check the network, or put them into the Ivy cache."
    lines = [line.strip() for line in output.splitlines() if "Error" in line or "Exception" in line]
    return f"Spark did not start: {lines[0] if lines else 'the JVM ended at once'}; --debug shows its whole output."
