"""Rows that are kept once they are computed: held, or checkpointed, which cuts their plan off as well."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError

from jobs.session import are_many, is_own

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def in_one_task(rows: DataFrame) -> DataFrame:
    """The same rows; in one partition, if each stage of this session is one task anyway: then they need no shuffle to
    be joined, grouped or put in order."""
    spark = rows.sparkSession
    is_one_task = is_own(spark) and spark.conf.get("spark.sql.shuffle.partitions") == "1"
    return rows.coalesce(1) if is_one_task else rows


_RELEASES: list[ExitStack] = []
"""What `releasing` is to let go of, of each run that is under way."""


@contextmanager
def releasing() -> Iterator[None]:
    """What is held meanwhile, by whatever thread, is let go of at the end.

    Spark keeps held rows, and the plans that made them, as long as the session lasts, and looks in each further plan
    for each of them: after 15 nights over 4 MB in one session those were 3 GB. Plans live as long as Python has their
    frames, of which some stand in cycles, and Python by itself looks for these rarely. Runs side by side may let go of
    each other's rows, which are then computed again.
    """
    with ExitStack() as releases:
        _RELEASES.append(releases)
        try:
            yield
        finally:
            _RELEASES.remove(releases)
    gc.collect()


def held(rows: DataFrame) -> DataFrame:
    """The same rows, persisted when they are first asked for; see `releasing`."""
    return _held(in_one_task(rows))


def _held(rows: DataFrame) -> DataFrame:
    persisted = rows.persist()
    if _RELEASES:
        _RELEASES[-1].callback(_let_go, persisted)
    return persisted


def _let_go(rows: DataFrame) -> None:
    """Unpersist rows, unless the session has ended: what ended it is the error that counts."""
    with suppress(Py4JError, OSError):
        rows.unpersist()


def checkpointed(rows: DataFrame) -> DataFrame:
    """The same rows, computed once, when they are first asked for, and held for whoever asks again.

    Their plan ends here: Spark goes through a plan from its leaves at each further operation, and that costs more than
    small data does. Elsewhere than in a session of our own Spark keeps how they were made, as an RDD, so that what a
    lost executor held is computed again (decision 11).
    """
    if is_own(rows.sparkSession):
        return _with_own_columns(in_one_task(rows).localCheckpoint(eager=False))
    return _without_plan(_held(rows))


def _with_own_columns(rows: DataFrame) -> DataFrame:
    """The same checkpointed rows, with ids of their own for their columns. A checkpoint has those of what it was made
    of, and Spark fails to tell the two apart in some joins: "Failure when resolving conflicting references"."""
    spark = rows.sparkSession
    plan = rows._jdf.queryExecution().logical().newInstance()
    java = spark.sparkContext._jvm
    assert java is not None
    return type(rows)(java.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, plan), spark)


def _without_plan(rows: DataFrame) -> DataFrame:
    """The same rows, with the RDD that they come from for a plan."""
    spark = rows.sparkSession
    execution = rows._jdf.queryExecution()
    return type(rows)(spark._jsparkSession.internalCreateDataFrame(execution.toRdd(), rows._jdf.schema(), False), spark)


def checkpointed_if_few(rows: DataFrame) -> DataFrame:
    """Events, persisted for whoever asks again, unless logs are many (`are_many`)."""
    return rows if are_many(rows.sparkSession) else held(rows)
