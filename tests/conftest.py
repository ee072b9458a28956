"""What tests share: one Spark session, tables written as text, and one run over each cluster in `data/`.

Nothing here imports pyspark before a test asks for it: a test that does not ask for `spark` starts no JVM.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import types as T

    from jobs.nightly.run import Outcome
    from jobs.warehouse.tables import Warehouse
    from schemas.table import Table

    Frame = Callable[[Table | T.StructType, str], DataFrame]
    Same = Callable[[DataFrame, str], None]

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "data"
DAY = "2026-11-21"
TEST_SETTINGS = {"spark.master": "local[2]", "spark.driver.memory": "4g", "spark.app.name": "kafka-rewind-tests"}


PER_RUN = ("run_id", "disk_state")
"""Columns whose values differ from run to run, and from folder to folder."""
RUNS = {"zk", "kraft", "dump", "two_nights"}
"""Fixtures that are whole runs; whoever asks for one belongs to the part of the suite that has them."""


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of whole runs, which `make runs` runs; and let one of the two processes of `make test` have all
    tests that ask for `spark`, so that there is one session, and the other one those without, file by file."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if RUNS.intersection(fixtures):
            item.add_marker("runs")
        item.add_marker(pytest.mark.xdist_group("spark" if "spark" in fixtures else item.path.name))


# Properties are tried on the same examples in each run, and a busy machine fails none of them.
settings.register_profile("suite", deadline=None, derandomize=True)
settings.load_profile("suite")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one session of a test run."""
    from jobs.session import session

    with session(TEST_SETTINGS) as started:
        yield started


@pytest.fixture(scope="module", autouse=True)
def let_go() -> Iterator[None]:
    """What the tests of a file hold ends with it, for Python seldom looks for cycles: plans of all files together fill
    the session's heap."""
    yield
    if "pyspark" in sys.modules:
        from pyspark.sql import SparkSession

        gc.collect()
        if (spark := SparkSession.getActiveSession()) is not None:
            spark.catalog.clearCache()


@pytest.fixture
def no_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever starts Spark fails the test."""

    def session(**_: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("jobs.session.session", session)


# ---- tables as text -------------------------------------------------------------------------------------------------
def instant(text: str) -> datetime:
    """`10:00:01.5`, on the day of all tests; a full ISO 8601 time stays as it is."""
    return datetime.fromisoformat(text if "-" in text else f"{DAY} {text if text.count(':') == 2 else text + ':00'}")


def cell(text: str, type_: T.DataType) -> Any:
    """A cell's value: nothing is null, `[]` an empty list, `1,2` a list, `a=b; c=d` a map, `3@f:7` a line of evidence (`@f:7`: of no node)."""
    from pyspark.sql import types as T

    if text == "":
        return None
    if isinstance(type_, T.ArrayType):
        parts = [part.strip() for part in text.split(",")] if text != "[]" else []
        return [cell(part, type_.elementType) for part in parts]
    if isinstance(type_, T.MapType):
        pairs = (part.partition("=") for part in text.split("; "))
        return {key.strip(): value.strip() for key, _, value in pairs}
    if isinstance(type_, T.StructType):
        node, _, place = text.partition("@")
        file_id, _, line = place.partition(":")
        return (int(node) if node else None, file_id, int(line))
    if isinstance(type_, T.BooleanType):
        return {"true": True, "false": False}[text]
    if isinstance(type_, T.TimestampType):
        return instant(text)
    if isinstance(type_, (T.IntegerType, T.LongType)):
        return int(text)
    return text


def read_rows(
    schema: T.StructType, text: str, default: dict[str, str] | None = None
) -> tuple[list[str], list[list[Any]]]:
    """The columns that a table in text names in its first line, and its rows. `#` begins a comment line."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip() and not line.strip().startswith("#")]
    names = [name.strip() for name in lines[0].split("|")]
    rows = [[part.strip() for part in line.split("|")] for line in lines[1:]]
    wrong = [line for line, row in zip(lines[1:], rows, strict=True) if len(row) != len(names)]
    if wrong:
        raise ValueError(f"{len(names)} cells expected: {wrong[0]}")
    return names, [[cell(part, schema[name].dataType) for name, part in zip(names, row, strict=True)] for row in rows]


@pytest.fixture(scope="session")
def frame(spark: SparkSession) -> Frame:
    """`frame(EVENTS, "topic | at\\n a | 10:00:01")`: rows of a table, typed by its schema.

    Columns that are not named are null, but `cluster` (`c`), `line` (the row's number, from 1), and of places
    `file_id` (`f`) and `node_id` (1).
    """
    from pyspark.sql import types as T

    def read(table: Table | T.StructType, text: str) -> DataFrame:
        schema = table if isinstance(table, T.StructType) else table.schema
        names, rows = read_rows(schema, text)
        by_column = [dict(zip(names, row, strict=True)) for row in rows]
        usual = [{"cluster": "c", "line": i, "file_id": "f", "node_id": 1} for i in range(1, len(rows) + 1)]
        whole = [{**by_default, **row} for by_default, row in zip(usual, by_column, strict=True)]
        return spark.createDataFrame([tuple(row.get(name) for name in schema.names) for row in whole], schema)

    return read


@pytest.fixture(scope="session")
def same(spark: SparkSession) -> Same:
    """`same(states, "topic | leader\\n a | 1")`: fails unless the named columns hold these rows, in any order."""
    from pyspark.sql import types as T
    from pyspark.testing import assertDataFrameEqual

    def compare(actual: DataFrame, text: str) -> None:
        names, rows = read_rows(actual.schema, text)
        schema = T.StructType([actual.schema[name] for name in names])
        expected = spark.createDataFrame([tuple(row) for row in rows], schema)
        assertDataFrameEqual(actual.select(*names), expected, ignoreNullable=True)

    return compare


# ---- whole runs -----------------------------------------------------------------------------------------------------
@dataclass
class Run:
    """A warehouse after one nightly run over a cluster of `data/`, with what the run said."""

    warehouse: Warehouse
    outcome: Outcome
    capture: Path
    sentences: list[str] = field(default_factory=list)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """All published rows of a table."""
        return [row.asDict(recursive=True) for row in self.warehouse.read(table).collect()]

    def score(self, table: str) -> dict[str, Any]:
        """Scores of a table against the cluster's true history (tests/truth)."""
        from tests.rows_as_json import as_text

        path = Path(self.warehouse.root).parent / f"{self.capture.name}-{table}.jsonl"
        path.write_text("".join(f"{row['row']}\n" for row in as_text(self.warehouse.read(table)).collect()))
        compare = truth_module()
        scores: dict[str, Any] = compare.score(truth_of(self.capture), table, compare.candidate(str(path), table))
        return scores


def truth_module() -> Any:
    """tests/truth/compare.py."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("compare", ROOT / "tests" / "truth" / "compare.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_TRUTHS: dict[Path, Any] = {}


def truth_of(capture: Path) -> Any:
    """The truth of a cluster, read once."""
    if capture not in _TRUTHS:
        _TRUTHS[capture] = truth_module().Truth(str(capture))
    return _TRUTHS[capture]


def run_over(spark: SparkSession, root: Path, capture: Path, logs: Path) -> Run:
    """One nightly run with the default settings."""
    from jobs.nightly.run import nightly
    from jobs.settings import Settings
    from jobs.warehouse.tables import open_warehouse

    warehouse = open_warehouse(spark, str(root), create=True)
    sentences: list[str] = []
    return Run(warehouse, nightly(warehouse, [str(logs)], Settings(), "default", sentences.append), capture, sentences)


@pytest.fixture(scope="session")
def zk(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One run over the ZooKeeper cluster."""
    capture = DATA / "zk-2.4.1"
    return run_over(spark, tmp_path_factory.mktemp("zk") / "warehouse", capture, capture / "logs")


@pytest.fixture(scope="session")
def kraft(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One run over the KRaft cluster's logs, without its metadata dump."""
    capture = DATA / "kraft-4.1.0"
    return run_over(spark, tmp_path_factory.mktemp("kraft") / "warehouse", capture, capture / "logs")


@pytest.fixture(scope="session")
def dump(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One run over the KRaft cluster's metadata dump alone."""
    capture = DATA / "kraft-4.1.0"
    return run_over(spark, tmp_path_factory.mktemp("dump") / "warehouse", capture, capture / "metadata-dump.txt")


# ---- what was published, read without Spark or our code --------------------------------------------------------------
def published_rows(warehouse: Path) -> dict[str, list[dict[str, Any]]]:
    """All rows of all tables at the versions that the last published run pinned, and all of `runs`; sorted."""
    runs = _delta_rows(warehouse / "runs", None)
    last = max((row for row in runs if row["status"] == "published"), key=lambda row: int(row["run_id"]))
    return {name: _delta_rows(warehouse / name, at) for name, at in last["table_versions"]} | {"runs": runs}


def _delta_rows(table: Path, version: int | None) -> list[dict[str, Any]]:
    """The rows of a Delta table that has no checkpoint yet, by its log's JSON."""
    import json

    import pyarrow.parquet as pq

    files: set[str] = set()
    for commit in sorted((table / "_delta_log").glob("*.json")):
        if version is None or int(commit.stem) <= version:
            for action in map(json.loads, commit.read_text().splitlines()):
                files -= {action["remove"]["path"]} if "remove" in action else set()
                if "add" in action:
                    assert not action["add"].get("deletionVector")
                    files.add(action["add"]["path"])
    return sorted((row for file in files for row in pq.read_table(table / file).to_pylist()), key=repr)


# ---- a cluster of two brokers in ten lines --------------------------------------------------------------------------
_CONTROLLER, _STATE, _PARTITION = (
    "(kafka.controller.KafkaController)",
    "(state.change.logger)",
    "(kafka.cluster.Partition)",
)
SMALL = {  # file -> its lines of the first night; broker 2 leads pay-in-0 and is lost
    "broker-1/controller.log": [
        f"10:00:00,000] INFO [Controller id=1] 1 successfully elected as the controller. Epoch incremented to 1 and epoch zk version is now 1 {_CONTROLLER}",
        f"10:00:00,100] INFO [Controller id=1] Currently active brokers in the cluster: Set(1, 2) {_CONTROLLER}",
        f"10:00:00,200] INFO [Controller id=1] Ready to serve as the new controller with epoch 1 {_CONTROLLER}",
        f"10:05:00,000] INFO [Controller id=1] Newly added brokers: , deleted brokers: 2, bounced brokers: , all live brokers: 1 {_CONTROLLER}",
        f"10:05:00,001] INFO [Controller id=1] Broker failure callback for 2 {_CONTROLLER}",
    ],
    "broker-1/state-change.log": [
        f"10:00:01,000] TRACE [Controller id=1 epoch=1] Changed partition pay-in-0 from NewPartition to OnlinePartition with state LeaderAndIsr(leader=2, leaderEpoch=0, isr=List(2, 1), zkVersion=0) {_STATE}",
        f"10:05:00,020] TRACE [Controller id=1 epoch=1] Changed partition pay-in-0 from OfflinePartition to OnlinePartition with state LeaderAndIsr(leader=1, leaderEpoch=1, isr=List(1), zkVersion=1) {_STATE}",
    ],
    "broker-1/server.log": [
        "10:00:00,000] INFO Awaiting socket connections on 0.0.0.0:9092. (kafka.network.Acceptor)",
    ],
}
QUIET = {  # what its first night may have besides: a topic of which the second says nothing, though its leader's log goes on
    "broker-1/state-change.log": [
        f"10:00:01,001] TRACE [Controller id=1 epoch=1] Changed partition pay-out-0 from NewPartition to OnlinePartition with state LeaderAndIsr(leader=1, leaderEpoch=0, isr=List(1), zkVersion=0) {_STATE}",
    ],
    "broker-1/server.log": [
        f"10:00:30,000] INFO [Partition pay-out-0 broker=1] ISR updated to [1,2] and zkVersion updated to [1] {_PARTITION}",
        "10:05:30,000] INFO Awaiting socket connections on 0.0.0.0:9093. (kafka.network.Acceptor)",
    ],
}
MORE = {  # what the second night adds: broker 2 is back in the ISR
    "broker-1/controller.log": [
        f"10:06:00,000] INFO [Controller id=1] Newly added brokers: 2, deleted brokers: , bounced brokers: , all live brokers: 1,2 {_CONTROLLER}",
        f"10:06:00,001] INFO [Controller id=1] New broker startup callback for 2 {_CONTROLLER}",
    ],
    "broker-1/server.log": [
        f"10:06:02,000] INFO [Partition pay-in-0 broker=1] ISR updated to [1,2] and zkVersion updated to [2] {_PARTITION}",
    ],
}  # fmt: skip


def append(folder: Path, night: dict[str, list[str]]) -> None:
    """Add a night's lines to the small cluster's logs."""
    for name, lines in night.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with (folder / name).open("a") as file:
            file.writelines(f"[{DAY} {line}\n" for line in lines)


@pytest.fixture(scope="session")
def two_nights(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One run over both nights of the small cluster and its quiet topic; `capture` is the folder of its logs."""
    folder = tmp_path_factory.mktemp("two-nights")
    for night in (SMALL, QUIET, MORE):
        append(folder / "logs", night)
    return run_over(spark, folder / "warehouse", folder / "logs", folder / "logs")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The small cluster's logs of the first night."""
    append(tmp_path / "logs", SMALL)
    return tmp_path / "logs"


@pytest.fixture
def grow() -> Callable[[Path], None]:
    """Adds the second night."""
    return lambda folder: append(folder, MORE)
