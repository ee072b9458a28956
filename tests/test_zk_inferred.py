"""States that only the removal of replicas tells of. A removal is written as its time and replica."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from udfs.reconstruct.zk_inferred import Removal, untold

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def removals(*told: tuple[int, int]) -> list[Removal]:
    return [Removal(at, 0, "f", line, replica, 4) for line, (at, replica) in enumerate(told, 1)]


BEFORE = (2, 6, 18, [0, 1, 2, 3, 4])  # leader, leader epoch, partition epoch, ISR; first told at 10
CASES = {  # before, removals, after -> states
    # a reassignment to 2, 3, 4 takes 0 and 1 offline, and tells of the second only (zk-2.4.1, orders-0)
    "up to a known state that the removals lead to": (
        BEFORE, removals((11, 0), (12, 1)), (2, 8, 20, [2, 3, 4]), [(2, 7, 19, [1, 2, 3, 4]), (2, 8, 20, [2, 3, 4])],
    ),
    "who was not in sync is not written": (
        BEFORE, removals((11, 0), (12, 9), (13, 2)), (-1, 8, 20, [1, 3, 4]),
        [(2, 7, 19, [1, 2, 3, 4]), (-1, 8, 20, [1, 3, 4])],
    ),
    "somebody else wrote, too: nothing is sure": (BEFORE, removals((11, 0), (12, 1)), (2, 9, 22, [2, 3, 4]), []),
    "they lead elsewhere": (BEFORE, removals((11, 0), (12, 3)), (2, 8, 20, [2, 3, 4]), []),
    "no removals": (BEFORE, [], (2, 8, 20, [2, 3, 4]), []),
    # a topic that is being deleted: nobody tells what becomes of it (zk-2.4.1, payments-2 and -1)
    "after the last state": (
        (0, 6, 11, [0, 3, 4]), removals((11, 0), (12, 3), (13, 4)), None,
        [(-1, 7, 12, [3, 4]), (-1, 8, 13, [4]), (-1, 9, 14, [4])],
    ),
    "the last one in sync stays, the leader is lost": ((4, 6, 11, [4]), removals((11, 4)), None, [(-1, 7, 12, [4])]),
    "removals before it was told are in it": ((-1, 8, 13, [4]), removals((8, 3), (9, 4), (11, 1)), None, []),
    "one before that is not in it: clocks differ, nothing is sure": (
        (0, 6, 11, [0, 3, 4]), removals((9, 0), (11, 3)), None, [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_untold(name: str) -> None:
    before, told, after, expected = CASES[name]
    found = untold(before, 10, told, after)
    assert [state[:4] for state in found] == expected


def test_a_state_names_the_removal_that_made_it() -> None:
    told = removals((11, 0), (12, 9), (13, 3))
    assert [state.made_by for state in untold((0, 6, 11, [0, 3, 4]), 10, told, None)] == [told[0], told[2]]


def test_spark_and_python_agree(spark: SparkSession) -> None:
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    from udfs.reconstruct.zk_inferred_columns import REMOVAL, STATE
    from udfs.reconstruct.zk_inferred_columns import untold as on_columns

    schema = T.StructType(
        [
            T.StructField("name", T.StringType()),
            T.StructField("before", STATE),
            T.StructField("removals", T.ArrayType(REMOVAL)),
            T.StructField("after", STATE),
        ]
    )
    told = spark.createDataFrame(
        [(name, before, made, after) for name, (before, made, after, _) in CASES.items()], schema
    )
    found = told.select("name", on_columns(F.col("before"), F.lit(10), F.col("removals"), F.col("after"))).collect()
    for name, written in found:
        before, made, after, _ = CASES[name]
        expected = [(*state[:4], tuple(state.made_by)) for state in untold(before, 10, made, after)]
        assert [(*state[:4], tuple(state["made_by"])) for state in written or ()] == expected, name
