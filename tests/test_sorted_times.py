"""Times in arrays of times, looked up without lambdas."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.sorted_times import last_until, number_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def at(second: int, micros: int = 0) -> datetime:
    return datetime(2026, 1, 1, 10, 0, second, micros)


def test_times_until_another_one_are_counted_and_the_last_of_them_is_found(spark: SparkSession) -> None:
    """In any order; one of the same time counts, one a microsecond later does not."""
    cases = [
        ([at(5), at(1), at(3)], at(3), 2, at(3)),
        ([at(3, 1), at(1)], at(3), 1, at(1)),
        ([at(3), at(3), at(4)], at(3), 2, at(3)),
        ([at(3, 1), at(3, 1)], at(3, 1), 2, at(3, 1)),
        ([at(5)], at(4), 0, None),
        ([], at(4), 0, None),
        (None, at(4), None, None),
        ([at(1)], None, None, None),
    ]
    rows = spark.createDataFrame(cases, "times array<timestamp>, at timestamp, number int, last timestamp")
    looked_up = rows.select(number_until("times", F.col("at")), last_until("times", F.col("at"))).collect()
    assert [tuple(row) for row in looked_up] == [(number, last) for _, _, number, last in cases]
