"""A large table in parts: all rows, in the order of its key, and no part much larger than asked for."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from jobs.read import parts as parts_module
from jobs.read.parts import in_order_of_key
from jobs.read.query import export_table
from jobs.read.views import open_views
from schemas.tables import BY_NAME
from tests.delta_warehouse import DAY, Rows, publish

ROWS = 20
CASES: Mapping[str, tuple[str, list[dict[str, Any]]]] = {
    "one stream with all lines": ("events", [{"cluster": "c", "file_id": "f", "line": i} for i in range(300)]),
    "many short streams of two clusters": (
        "events",
        [{"cluster": c, "file_id": f"f{i:03}", "line": 7 - i % 7} for c in "dc" for i in range(140)],
    ),
    "texts as third column, quotes in them": (
        "verdicts",
        [{"cluster": "it's", "rule": f"r{i % 2}", "subject": f"'{i * 7919 % 211}\\"} for i in range(211)],
    ),
    "times as third column": (
        "broker_timeline",
        [{"cluster": "c", "broker": 1, "since": DAY.replace(hour=i % 24, second=i // 24)} for i in range(240)],
    ),
    "nulls": (
        "elections",
        [{"cluster": "c", "topic": None if i % 3 else "t", "partition": None if i % 5 else i} for i in range(150)],
    ),
    "one value of all": ("elections", [{"cluster": "c", "topic": "t", "partition": 0}] * 100),
    "few rows": ("elections", [{"cluster": "c", "topic": "t", "partition": i} for i in range(5)]),
    "a short key": ("log_files", [{"cluster": "c", "file_id": f"{i:02}"} for i in range(50)]),
    "no rows": ("elections", []),
}


def in_order(table: str, rows: Rows) -> list[tuple[Any, ...]]:
    """Keys by their order, nulls first."""
    keys = [tuple(row.get(name) for name in BY_NAME[table].key) for row in rows]
    return sorted(keys, key=lambda key: [(value is not None, value) for value in key])


@pytest.mark.parametrize("case", CASES)
def test_parts_follow_each_other(case: str, tmp_path: Path) -> None:
    table, rows = CASES[case]
    shuffled = random.Random(1).sample(rows, len(rows))
    root = publish(tmp_path, **{table: shuffled})
    columns = ", ".join(f'"{name}"' for name in BY_NAME[table].key)
    with open_views(str(root), only=[table], naive=True) as connection:
        parts = in_order_of_key(connection, BY_NAME[table], ROWS)
        by_part = [connection.execute(f"SELECT {columns} FROM ({part})").fetchall() for part in parts]
    assert [row for part in by_part for row in part] == in_order(table, rows)
    if len(rows) > ROWS and case not in ("one value of all", "a short key", "nulls"):
        assert len(by_part) >= len(rows) / (3 * ROWS)
        assert max(map(len, by_part)) <= 3 * ROWS  # a sample decides
        assert parts.percent(connection) < 100


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_an_export_in_parts_is_one_file(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, rows = CASES["one stream with all lines"]
    root = publish(tmp_path / "w", **{table: rows})
    whole, divided = tmp_path / "whole", tmp_path / "divided"
    export_table(str(root), table, form, str(whole))
    monkeypatch.setattr(parts_module.in_order_of_key, "__defaults__", (ROWS,))
    export_table(str(root), table, form, str(divided))
    if form == "parquet":
        assert pq.read_table(whole).to_pylist() == pq.read_table(divided).to_pylist()
        assert pq.read_table(divided)["line"].to_pylist() == list(range(300))
    else:
        assert whole.read_bytes() == divided.read_bytes()
