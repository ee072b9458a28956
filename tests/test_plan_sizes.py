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


@pytest.mark.runs
def test_no_plan_grows_with_its_steps(spark: SparkSession, tmp_path: Path) -> None:
    """Of a ZooKeeper cluster whose lines do not tell its release, so that what all eras go by is looked up."""
    DailyCluster(tmp_path / "logs", 5).write_day(300_000)
    store = spark._jsparkSession.sharedState().statusStore()
    before = store.executionsCount()
    run_over(spark, tmp_path / "warehouse", tmp_path, tmp_path / "logs")
    executions = store.executionsList(before, 10_000)
    plans = [executions.apply(n).physicalPlanDescription() for n in range(executions.size())]
    assert len(plans) > 100
    assert max(map(len, plans)) <= MOST_CHARACTERS
