"""What windows show of rows behind and around each one, against plain loops over the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.running_windows import number_between, row_and_behind, rows_behind, rows_from

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = [
    ("a", 10, "x"),
    ("a", 20, None),
    ("a", 20, "y"),
    ("a", 25, "z"),
    ("a", 40, None),
    ("b", 22, "w"),
    ("b", None, "v"),
]
"""key, at, value"""


def test_rows_behind_are_those_of_the_same_key_that_come_later(spark: SparkSession) -> None:
    """The next value there is, of the rows behind and of the row and those behind it; what has no time comes first."""
    rows = spark.createDataFrame(ROWS, "key string, at int, value string")
    order = ["at", "value"]
    shown = rows.select(
        "key",
        "at",
        "value",
        F.last("value", ignorenulls=True).over(rows_behind(["key"], order)),
        F.last("value", ignorenulls=True).over(row_and_behind(["key"], [F.col("at"), F.col("value")])),
    )
    assert {tuple(row) for row in shown.collect()} == {
        ("a", 10, "x", "y", "x"),
        ("a", 20, None, "y", "y"),
        ("a", 20, "y", "z", "y"),
        ("a", 25, "z", None, "z"),
        ("a", 40, None, None, None),
        ("b", None, "v", "w", "v"),
        ("b", 22, "w", None, "w"),
    }


def test_rows_from_some_time_on_and_between_two_times(spark: SparkSession) -> None:
    """Whatever the distances, before one's own time and behind it, also where rows have the same time."""
    times = {"a": [0, 0, 3, 5, 5, 6, 20, 21, 40], "b": [5, 7]}
    rows = spark.createDataFrame(
        [(key, at, at % 3 != 0) for key, of_key in times.items() for at in of_key],
        "key string, at long, counts boolean",
    )
    for distance, last in ((-5, 5), (0, 0), (1, 15), (-20, -1), (3, 4)):
        shown = rows.select(
            "key",
            "at",
            F.min(F.when(F.col("counts"), F.col("at"))).over(rows_from(["key"], "at", distance)),
            number_between(F.col("counts"), ["key"], "at", distance, last),
        )
        expected = [
            (
                key,
                at,
                min((other for other in of_key if other % 3 and other >= at + distance), default=None),
                sum(other % 3 != 0 and at + distance <= other <= at + last for other in of_key),
            )
            for key, of_key in times.items()
            for at in of_key
        ]
        assert sorted(map(tuple, shown.collect()), key=repr) == sorted(expected, key=repr), (distance, last)
