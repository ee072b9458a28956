"""Plans of a night: what several parts of one need is computed once, and its plan ends there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conftest import run_over
from tests.daily_cluster import DailyCluster

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

MOST_CHARACTERS = 400_000
"""Printed, the largest plan of a night has 300,000. Elections' inputs had 1,165,000, for each step of theirs had the
plan of all before it twice, and cost half of what the replay did."""


def printed_plans(spark: SparkSession) -> dict[int, str]:
    """The plans of the last queries, by their numbers; Spark keeps a thousand."""
    executions = spark._jsparkSession.sharedState().statusStore().executionsList()
    rows = (executions.apply(n) for n in range(executions.size()))
    return {row.executionId(): row.physicalPlanDescription() for row in rows}


@pytest.mark.runs
def test_no_plan_grows_with_its_steps(spark: SparkSession, tmp_path: Path) -> None:
    """Of a ZooKeeper cluster whose lines do not tell its release, so that what all eras go by is looked up."""
    DailyCluster(tmp_path / "logs", 5).write_day(300_000)
    before = printed_plans(spark)
    run_over(spark, tmp_path / "warehouse", tmp_path, tmp_path / "logs")
    plans = [plan for number, plan in printed_plans(spark).items() if number > max(before, default=-1)]
    assert len(plans) > 100
    assert max(map(len, plans)) <= MOST_CHARACTERS
