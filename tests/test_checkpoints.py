"""Rows that are held for whoever asks again, without the plan that made them."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING
from unittest.mock import MagicMock

import pytest
from py4j.protocol import Py4JNetworkError

from jobs.checkpoints import checkpointed, checkpointed_if_few, held, in_one_task, releasing
from jobs.session import MANY, OWN

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def column_ids(rows: DataFrame) -> set[str]:
    """Spark's names of the columns with their ids, such as `node_id#7L`."""
    return {*rows._jdf.queryExecution().analyzed().output().mkString(" ").split()}


def test_checkpointed_rows_share_no_column_with_what_they_were_made_of(spark: SparkSession) -> None:
    """Else Spark may fail to tell the two apart where they are joined."""
    rows = spark.createDataFrame([(1, "a"), (2, "b"), (2, "c")], "node_id long, topic string")
    held = checkpointed(rows)
    assert len(column_ids(rows)) == 2
    assert not column_ids(held) & column_ids(rows)
    assert sorted(held.collect()) == [(1, "a"), (2, "b"), (2, "c")]
    assert sorted(held.join(rows.groupBy("node_id").count(), "node_id").collect()) == [
        (1, "a", 1), (2, "b", 2), (2, "c", 2),
    ]  # fmt: skip


def test_what_a_run_held_is_let_go_of_at_its_end(spark: SparkSession) -> None:
    """A session that goes on for many nights would keep the rows and the plans of all of them."""
    before = held(spark.range(2))
    with releasing():
        events = held(spark.range(3))
        with releasing():
            of_a_run_within = held(events.selectExpr("id + 1 AS id"))
            assert of_a_run_within.count() == 3
        assert not of_a_run_within.is_cached
        assert events.is_cached
        assert events.count() == 3
    assert not events.is_cached
    assert not spark._jsparkSession.sharedState().cacheManager().lookupCachedData(events._jdf).isDefined()
    assert before.is_cached
    before.unpersist()


def test_what_stands_in_cycles_is_gone_after_a_run() -> None:
    """Python by itself looks for cycles so rarely that frames of ten runs, and their plans, would be there at once."""

    class Work:
        def __init__(self) -> None:
            self.make = lambda: self

    gc.disable()
    try:
        with releasing():
            work = weakref.ref(Work())
            assert work() is not None
        assert work() is None
    finally:
        gc.enable()


def test_the_error_that_ended_a_session_counts_and_not_that_nothing_can_be_let_go_of() -> None:
    rows = MagicMock()
    rows.sparkSession.conf.get.return_value = "false"
    rows.persist.return_value.unpersist.side_effect = Py4JNetworkError("Answer from Java side is empty")

    @releasing()
    def run() -> None:
        held(rows)
        raise MemoryError("heap")

    with pytest.raises(MemoryError, match="heap"):
        run()
    rows.persist.return_value.unpersist.assert_called_once()


@pytest.mark.parametrize(("many", "is_kept"), [("false", True), ("true", False)])
def test_only_few_events_are_kept(many: str, is_kept: bool) -> None:
    rows = MagicMock()
    conf = {MANY: many, OWN: "true", "spark.sql.shuffle.partitions": "2"}
    rows.sparkSession.conf.get.side_effect = lambda key, _=None: conf[key]
    assert (checkpointed_if_few(rows) is rows.persist.return_value) is is_kept


@pytest.mark.parametrize(("own", "parts", "is_one"), [("true", "1", True), ("true", "2", False), ("false", "1", False)])
def test_rows_of_one_task_are_in_one_partition(own: str, parts: str, is_one: bool) -> None:
    rows = MagicMock()
    conf = {OWN: own, "spark.sql.shuffle.partitions": parts}
    rows.sparkSession.conf.get.side_effect = lambda key, _=None: conf[key]
    one = rows.coalesce.return_value
    assert (held(rows) is one.persist.return_value) is is_one
    assert (in_one_task(rows) is one) is is_one
