"""`sql --engine spark`: a query in Spark's SQL, over the published tables and those of Spark's catalogs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from jobs.exits import spark_reason
from jobs.read.output import check_output
from jobs.read.query import write_rows
from jobs.read.row_formats import LIMIT
from jobs.read.views import connect
from jobs.session import session
from jobs.warehouse.location import expected_size, warehouse_at
from jobs.warehouse.tables import open_warehouse
from schemas.tables import BY_NAME
from udfs.errors import BadInput

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame, SparkSession

DATA_EXCEPTION = "22"
"""SQL's class of errors that rows cause, such as a division by zero."""


def run_spark_query(
    root: str, query: str, form: str, output: str | None, *, limit: int | None = None, cluster: str | None = None
) -> None:
    """Print a query's rows, or write them to a file. They are held in memory: a table of any size is for `export`.

    Raises BadInput for a query that writes, or cannot be understood.
    """
    check_output(form, output)
    root = warehouse_at(root, create=False)
    shown = LIMIT if limit is None and form in ("table", "markdown") and output is None else limit
    with session(size_bytes=expected_size(root)) as spark:
        rows = query_tables(spark, root, query, cluster)
        try:
            held = (rows if shown is None else rows.limit(shown + 1)).toArrow()
        except PySparkException as error:
            if (error.getSqlState() or "").startswith(DATA_EXCEPTION):
                raise BadInput(f"The query failed: {spark_reason(error)}") from None
            raise
    with connect() as connection:
        connection.register("_rows", held)
        write_rows(connection, "SELECT * FROM _rows", form, output, shown)


def query_tables(spark: SparkSession, root: str, query: str, cluster: str | None = None) -> DataFrame:
    """A query's rows. Raises BadInput, in Spark's words, if it cannot be understood, and if it would write."""
    warehouse = open_warehouse(spark, root, create=False)
    for name, table in BY_NAME.items():
        rows = warehouse.read(name)
        mine = rows if cluster is None or "cluster" not in table.columns else rows.where(F.col("cluster") == cluster)
        mine.createOrReplaceTempView(name)
    try:
        check_reads(spark, query)
        with _no_files(spark):
            return spark.sql(query)
    except PySparkException as error:
        first = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise BadInput(f"The query is not understood: {first} Tables are {', '.join(sorted(BY_NAME))}.") from None


@contextmanager
def _no_files(spark: SparkSession) -> Iterator[None]:
    """Names of the form csv.`/path` are those of tables meanwhile, not of files."""
    spark.conf.set(_FILES_AS_TABLES, "false")
    try:
        yield
    finally:
        spark.conf.unset(_FILES_AS_TABLES)


_FILES_AS_TABLES = "spark.sql.runSQLOnFiles"
_READING_COMMANDS = ("Describe", "Show", "Explain")


def check_reads(spark: SparkSession, query: str) -> None:
    """Raises BadInput unless a statement only reads: Spark runs what writes as soon as it is given it."""
    session_state = spark._jsparkSession.sessionState()
    plans = [session_state.sqlParser().parsePlan(query)]
    while plans:
        plan = plans.pop()
        name = plan.getClass().getSimpleName()
        writes = name.startswith("Insert") or _is_command(spark, plan)  # one into a folder is no command
        if writes and not name.startswith(_READING_COMMANDS):
            word = query.split(maxsplit=1)[0].upper()
            raise BadInput(
                f"{word} is no query: published tables are only read, and no file or setting is touched here."
            )
        children = plan.children()
        plans += [children.apply(i) for i in range(children.size())]


def _is_command(spark: SparkSession, plan: JavaObject) -> bool:
    """Whether a plan of Spark does something but read: a command, or a statement to be made one, such as an INSERT."""
    java = spark._jvm
    assert java is not None  # never with Spark Connect, which this is not written for
    plans = "org.apache.spark.sql.catalyst.plans.logical"
    kinds = (f"{plans}.Command", f"{plans}.ParsedStatement")
    of = java.java.lang.Class
    loader = java.java.lang.Thread.currentThread().getContextClassLoader()
    return any(of.forName(kind, True, loader).isInstance(plan) for kind in kinds)
