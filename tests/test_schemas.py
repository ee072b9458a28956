"""Every table is documented and keeps the contract's names; imports go one way; what must be quick imports no Spark."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import types as T

from jobs.warehouse.expectations import OF_ANY_TABLE, OF_ONE_TABLE
from schemas.expectations import SUITES, WRITTEN
from schemas.ingest import PARTITION_STATE
from schemas.spark import schema_of
from schemas.tables import BY_NAME, DERIVED, SOURCES

ROOT = Path(__file__).resolve().parents[1]

# names that other programs read; `cluster` is in every table but `runs`
CONTRACT = {
    "log_files": (
        "file_id node_ids role path also_seen_as kind size_bytes event_bytes detail_bytes reject_bytes "
        "other_bytes duplicate_bytes held_back_bytes event_lines reject_lines first_at last_at kafka_versions "
        "time_zone status run_id"
    ),
    "events": (
        "file_id line node_id at level logger event_type controller_id controller_epoch correlation_id "
        "broker_id topic topic_id partition leader leader_epoch partition_epoch isr replicas partitions "
        "fields message detail"
    ),
    "log_coverage": "node_id kind since until records",
    "rejects": "file_id line reason raw",
    "partition_timeline": (
        "topic partition incarnation topic_id leader leader_epoch partition_epoch controller_epoch isr "
        "replicas since until availability made_by inferred evidence"
    ),
    "controller_timeline": (
        "controller_id controller_epoch since active_since until failover_ms ended_by overlap_ms evidence"
    ),
    "broker_timeline": "broker epoch since until started_as ended_by evidence",
    "topic_timeline": "topic incarnation topic_id since deletion_started until partitions evidence",
    "elections": (
        "topic partition incarnation at strategy trigger controller_epoch previous_leader leader leader_epoch "
        "isr_before replicas live_brokers unclean succeeded latency_ms lost_records_min lost_records_max "
        "evidence"
    ),
    "offline_partitions": (
        "topic partition incarnation since until duration_ms cause cause_broker last_leader last_isr "
        "healed_by failed_elections evidence"
    ),
    "isr_changes": "topic partition incarnation at kind made_by added removed isr leader lag evidence",
    "isr_churn": "topic partition follower hour shrinks expands flaps leader_changes worst_out_ms churning",
    "reassignments": (
        "topic partition incarnation since until original_replicas target_replicas adding_replicas "
        "removing_replicas phase state blocked_by evidence"
    ),
    "control_requests": (
        "controller_id controller_epoch correlation_id kind broker partitions sent_at received_at "
        "responded_at error stale evidence"
    ),
    "clock_offsets": "node_id hour offset_ms_min offset_ms_max pairs",
    "verdicts": "rule subject topic partition at verdict expected actual missing_inputs explanation evidence",
    "runs": "run_id started_at finished_at version inputs table_versions rows expectations status",
}


def described(schema: T.StructType) -> Iterator[tuple[str, str]]:
    """Name and comment of each column."""
    for field in schema.fields:
        yield field.name, field.metadata.get("comment", "")


@pytest.mark.parametrize("name", CONTRACT)
def test_contract_columns_are_there(name: str) -> None:
    wanted = CONTRACT[name].split() + (["cluster"] if name != "runs" else [])
    assert set(wanted) - set(BY_NAME[name].columns) == set()


@pytest.mark.parametrize("name", BY_NAME)
def test_columns_are_documented(name: str) -> None:
    """A comment is a sentence or a phrase that ends in a full stop."""
    schemas = [BY_NAME[name].schema, *([schema_of(PARTITION_STATE.fields)] if name == "events" else [])]
    wrong = [column for schema in schemas for column, doc in described(schema) if len(doc) < 5 or not doc.endswith(".")]
    assert not wrong
    assert len(set(BY_NAME[name].columns)) == len(BY_NAME[name].columns)
    assert BY_NAME[name].grain


@pytest.mark.parametrize("name", BY_NAME)
def test_keys_exist_and_the_cluster_leads(name: str) -> None:
    table = BY_NAME[name]
    assert set(table.key) <= set(table.columns)
    if name != "runs":
        assert table.key[0] == table.columns[0] == "cluster"


@pytest.mark.parametrize("name", BY_NAME)
def test_times_are_timestamps_and_evidence_is_evidence(name: str) -> None:
    kinds = {field.name: field.dataType.simpleString() for field in BY_NAME[name].schema.fields}
    times = {"at", "since", "until", "active_since", "hour", "first_at", "last_at", "started_at", "finished_at"} | {
        "sent_at",
        "received_at",
        "handled_at",
        "responded_at",
    }
    assert {column: kind for column, kind in kinds.items() if column in times and kind != "timestamp"} == {}
    assert kinds.get("evidence") in (None, "array<struct<node_id:int,file_id:string,line:bigint>>")


def test_each_published_table_has_a_suite() -> None:
    assert list(SUITES) == [table.name for table in (*SOURCES, *DERIVED)]
    for table, suite in SUITES.items():
        assert len({e.name for e in suite}) == len(suite), table
        assert {"keys_unique", "keys_known"} <= {e.name for e in suite}
        known = [*BY_NAME[table].columns, *(WRITTEN if table == "log_files" else ())]
        unknown = [name for e in suite for name in e.columns if name not in known]
        assert not unknown


def test_each_expectation_has_its_condition_and_none_is_left_over() -> None:
    wanted = {e.condition or e.name for suite in SUITES.values() for e in suite}
    assert wanted == {*OF_ANY_TABLE, *OF_ONE_TABLE}
    assert not {*OF_ANY_TABLE} & {*OF_ONE_TABLE}


# ---- the house ------------------------------------------------------------------------------------------------------
MODULES = sorted(
    path.relative_to(ROOT) for package in ("schemas", "udfs", "jobs") for path in (ROOT / package).rglob("*.py")
)
MAY_IMPORT = {"schemas": {"schemas"}, "udfs": {"schemas", "udfs"}, "jobs": {"schemas", "udfs", "jobs"}}


def imported(path: Path) -> set[str]:
    """Full names of the modules that a file imports anywhere."""
    names = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_imports_go_one_way(path: Path) -> None:
    ours = {name.split(".")[0] for name in imported(path)} & {*MAY_IMPORT, "tests"}
    assert ours <= MAY_IMPORT[path.parts[0]]


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_packages_are_this_checkout_s(package: str) -> None:
    """They are top level, so that another distribution could shadow them."""
    path = importlib.import_module(package).__file__
    assert path is not None
    assert Path(path).resolve() == ROOT / package / "__init__.py"


def python(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_we_know_imports_no_spark() -> None:
    """Modules under udfs run without Spark, but those that are its coat."""
    plain = [".".join(path.with_suffix("").parts) for path in MODULES if path.parts[0] == "udfs"]
    plain = [name for name in plain if not name.endswith(("_columns", "_arrow", "__init__"))]
    assert len(plain) > 20
    assert python(f"import sys, {', '.join(plain)}; print('pyspark' in sys.modules)") == "False\n"


@pytest.mark.parametrize("command", ["", "nightly", "sql", "export"])
def test_help_imports_no_spark(command: str) -> None:
    arguments = [*command.split(), "--help"]
    block = "sys.modules.update(dict.fromkeys(('pyspark', 'pandas', 'pyarrow', 'numpy', 'great_expectations')))"
    output = python(
        f"import sys; {block}; from jobs.cli import main; main({arguments})"
    )  # a blocked import is an error
    assert output.startswith("Usage:")


def test_this_file_started_no_jvm() -> None:
    """The first test run alone would otherwise cost a session."""
    code = (
        "import sys; sys.path.insert(0, 'tests'); import test_schemas; "
        "from pyspark import SparkContext; print(SparkContext._gateway)"
    )
    assert python(code) == "None\n"
