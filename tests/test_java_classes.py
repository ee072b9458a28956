"""Calls to the JVM that are saved give what they gave."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from py4j.clientserver import ClientServerConnection
from py4j.java_gateway import GatewayConnection
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def commands(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is sent to the JVM from now on, but that an object is not needed any more."""
    sent: list[str] = []
    for kind in (GatewayConnection, ClientServerConnection):

        def recorded(connection: Any, command: str, send: Any = kind.send_command) -> Any:
            if not command.startswith("m\nd\n"):
                sent.append(command)
            return send(connection, command)

        monkeypatch.setattr(kind, "send_command", recorded)
    return sent


def test_equal_literals_of_other_types_stay_apart(spark: SparkSession) -> None:
    at = datetime(2026, 11, 21, 10)
    row = spark.range(1).select(F.lit(1), F.lit(True), F.lit(1.0), F.lit("1"), F.lit(None), F.lit(at), F.lit([1, 2]))
    assert [*row.collect()[0]] == [1, True, 1.0, "1", None, at, [1, 2]]
    assert row.schema.simpleString().count("boolean") == 1


@pytest.mark.parametrize("count", [1, 2, 9, 10, 11, 20, 25])
def test_a_list_has_all_its_items_in_order(spark: SparkSession, count: int) -> None:
    [row] = spark.range(1).select(F.array(*(F.lit(number) for number in range(count)))).collect()
    assert row[0] == [*range(count)]
    assert spark.range(1).select(*(F.lit(n).alias(f"c{n}") for n in range(count))).columns == [
        f"c{n}" for n in range(count)
    ]


def test_a_column_is_made_once_and_a_list_in_one_call(commands: list[str]) -> None:
    F.coalesce("name", "other", F.lit(3))
    commands.clear()
    F.coalesce("name", "other", F.lit(3))
    assert [command.split("\n")[1:3] for command in commands] == [
        ["z:java.util.List", "of"],
        ["z:org.apache.spark.api.python.PythonUtils", "toSeq"],
        ["z:org.apache.spark.sql.functions", "coalesce"],
    ]
