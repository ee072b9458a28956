"""How a session is fitted to its work. No Spark is started."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from jobs.session import MOST_EXECUTORS, cores_at_most

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLUSTERS = {  # cores that are there, settings -> cores for which work is divided
    "a fixed cluster": (6, {}, 6),
    "executors come up to a limit": (
        2,
        {
            "spark.dynamicAllocation.enabled": "true",
            "spark.dynamicAllocation.maxExecutors": "10",
            "spark.executor.cores": "4",
        },
        40,
    ),
    "executors come without a limit": (2, {"spark.dynamicAllocation.enabled": "TRUE"}, MOST_EXECUTORS),
    "a limit beyond reason": (
        2,
        {"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.maxExecutors": "2147483647"},
        MOST_EXECUTORS,
    ),
    "more are there than may come": (
        90,
        {"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.maxExecutors": "2"},
        90,
    ),
}


@pytest.mark.parametrize("case", CLUSTERS)
def test_work_is_divided_for_the_cluster_as_it_may_become(case: str) -> None:
    parallelism, settings, cores = CLUSTERS[case]
    context = SimpleNamespace(defaultParallelism=parallelism)
    conf = SimpleNamespace(get=lambda name, default: settings.get(name, default))
    assert cores_at_most(cast("SparkSession", SimpleNamespace(sparkContext=context, conf=conf))) == cores
