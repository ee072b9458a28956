"""Views on published tables: today's columns, their types, which rows, and what the connection cannot do."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from jobs.read.create_views import EVIDENCE, duckdb_type
from jobs.read.views import clusters, open_views
from schemas.tables import BY_NAME
from tests.delta_warehouse import DAY, publish, write_run, write_table
from udfs.errors import BadInput

LINE = {"node_id": 3, "file_id": "f", "line": 7}
TABLES: dict[str, list[dict[str, Any]]] = {
    "log_files": [{"cluster": "c", "file_id": "f", "path": "/logs/a.log", "spans": [{"node_id": 1, "since": DAY}]}],
    "elections": [
        {"cluster": "c", "topic": "pay", "partition": 0, "at": DAY, "evidence": [LINE], "isr": []},
        {"cluster": "d", "topic": "pay", "partition": 1, "at": DAY, "evidence": None},
    ],
    "events": [{"cluster": "c", "fields": [("a", "1"), ("b", None)], "partitions": [{"topic": "pay", "isr": [1]}]}],
}


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(publish(tmp_path / "w", **TABLES))


def test_values_are_what_was_written(root: str) -> None:
    """Times are instants, also nested ones; null and empty differ; maps are maps."""
    with open_views(root) as views:
        assert views.execute('SELECT "at", isr FROM elections ORDER BY topic, partition').fetchall() == [
            (DAY.replace(tzinfo=UTC), []),
            (DAY.replace(tzinfo=UTC), None),
        ]
        assert views.execute("SELECT spans[1].since FROM log_files").fetchall() == [(DAY.replace(tzinfo=UTC),)]
        assert views.execute("SELECT fields, partitions[1].isr FROM events").fetchall() == [
            ({"a": "1", "b": None}, [1])
        ]


def test_every_table_has_a_view_of_todays_columns(root: str) -> None:
    """Also those of which nothing was published: they have no rows."""
    with open_views(root) as views:
        for name, table in BY_NAME.items():
            described = views.execute(f"SELECT * FROM {name} LIMIT 0").description or []
            assert [column[0] for column in described] == table.columns
            assert [str(column[1]).replace("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ") for column in described] == [
                str(duckdb.sqltype(duckdb_type(field.type))).replace("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ")
                for field in table.fields
            ]
        assert views.execute("SELECT count(*) FROM verdicts").fetchone() == (0,)


def test_columns_of_an_older_release(tmp_path: Path) -> None:
    """What it did not have yet is null, in files of then and, once there are both, of then only."""
    versions = {"elections": write_table(tmp_path, "elections", TABLES["elections"], without=["isr", "unclean"])}
    write_run(tmp_path, 1, versions)
    with open_views(str(tmp_path)) as views:
        assert views.execute("SELECT DISTINCT isr, unclean FROM elections").fetchall() == [(None, None)]
    from deltalake import write_deltalake

    from tests.delta_warehouse import arrow_table

    new = arrow_table("elections", [{"cluster": "c", "isr": [1], "unclean": True}])
    write_deltalake(str(tmp_path / "elections"), new, mode="append", schema_mode="merge")
    write_run(tmp_path, 2, {"elections": 1})
    with open_views(str(tmp_path)) as views:
        assert views.execute("SELECT isr, unclean FROM elections ORDER BY 2 NULLS FIRST").fetchall() == [
            (None, None),
            (None, None),
            ([1], True),
        ]


def test_evidence_resolves_lines(root: str) -> None:
    with open_views(root) as views:
        rows = views.execute(
            f'SELECT table_name, cluster, topic, partition, "at", node_id, line, place FROM {EVIDENCE}'
        )
        at = datetime(2026, 11, 21, tzinfo=UTC)
        assert rows.fetchall() == [("elections", "c", "pay", 0, at, 3, 7, "/logs/a.log:7")]


def test_one_cluster(root: str) -> None:
    with open_views(root, cluster="c") as views:
        assert views.execute("SELECT count(*) FROM elections").fetchone() == (1,)
        assert clusters(views) == ["c"]
    with (
        pytest.raises(BadInput, match="There is no cluster x in the warehouse; it has c"),
        open_views(root, cluster="x"),
    ):
        pass


def test_settings_are_locked_and_nothing_is_left(root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with open_views(root) as views:
        for statement in ("SET enable_external_access = true", "SET memory_limit = '9GB'", "SET allowed_paths = ['/']"):
            with pytest.raises(duckdb.Error, match="locked"):
                views.execute(statement)
        data = next(Path(root, "elections").glob("*.parquet"))
        with pytest.raises(duckdb.Error, match="disabled by configuration"):
            views.execute(f"COPY (SELECT 1) TO '{data.parent}/other.parquet'")
    assert os.listdir(tmp_path) == ["w"]
