"""The job by spark-submit, on a real standalone master and worker, writes the tables that a local run writes.

The commands are those of docs/how-to-spark-submit.md. The checkout is on nobody's path: executors have the zip only.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from jobs.session import check_delta, warn_without_executors
from schemas.tables import BY_NAME
from tests.conftest import PER_RUN, published_rows
from udfs.errors import NoSpark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.conftest import Run

ROOT = Path(__file__).resolve().parents[1]
STARTED_S, RUN_S = 180, 900
"""Seconds to wait for a daemon, and for the run; a loaded machine takes several times the usual 10 and 60."""

CLUSTERS_OWN = r"""
spark.driver.host             127.0.0.1
spark.driver.bindAddress      127.0.0.1
spark.driver.memory           2g
spark.executor.memory         1g
spark.ui.enabled              false
spark.driver.extraJavaOptions    -XX:+UseParallelGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m \
-XX:MetaspaceSize=400m -Xms1g
spark.executor.extraJavaOptions  -XX:+UseParallelGC -XX:TieredStopAtLevel=1
spark.sql.codegen.wholeStage     false
spark.sql.codegen.factoryMode    NO_CODEGEN
"""
"""The cluster's own settings; compiling queries costs more than these small logs do. Java gives its first compiler
alone 48 MB for its code, which a night's driver fills; then nothing more is compiled."""


@dataclass(frozen=True)
class Cluster:
    """A master's URL, and the folder in which its worker's executors run and log."""

    url: str
    work: Path

    def imports(self) -> dict[str, str]:
        """By module the file from which the executors' Python took it, of our packages and Great Expectations."""
        return dict(line.split(" ", 1) for line in (self.work / "imports").read_text().splitlines())


PROBE = """
import sys
from importlib.machinery import PathFinder

class Probe:
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] in ("jobs", "schemas", "udfs", "great_expectations"):
            spec = PathFinder.find_spec(name, path)
            with open({imports!r}, "a") as file:
                file.write(f"{{name}} {{spec and spec.origin}}\\n")

sys.meta_path.insert(0, Probe)
"""
"""What the executors' Python runs at its start: it notes where modules come from."""


def commands() -> list[str]:
    """The shell commands that the guide shows: building the three files, and running them."""
    return re.findall(r"^```sh\n(.*?)^```", (ROOT / "docs" / "how-to-spark-submit.md").read_text(), re.M | re.S)


@contextmanager
def daemon(command: list[str], env: Mapping[str, str], cwd: Path, log: Path) -> Iterator[Path]:
    """A process of ours, its output in a file; stopped with its children at the end, whatever happens."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, env=env, cwd=cwd, stdout=out, stderr=out, start_new_session=True, preexec_fn=end_with_us
        )
    try:
        yield log
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
        _end_group(process.pid)
        process.wait()


def end_with_us() -> None:
    """Ask Linux to end this process with its parent: a test run that is killed leaves no daemon behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def _end_group(pid: int) -> None:
    """End what is left of the process group that a process of ours began."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def wait_for_match(log: Path, pattern: str) -> str:
    """The first match of a pattern in a log, as soon as it is there."""
    until = time.monotonic() + STARTED_S
    while time.monotonic() < until:
        if match := re.search(pattern, log.read_text(errors="replace")):
            return match[1]
        time.sleep(0.1)
    raise AssertionError(f"{pattern} was not said within {STARTED_S} s:\n{log.read_text(errors='replace')[-2000:]}")


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of all processes: loopback only, this Python, no checkout on the path, and no one's settings."""
    conf = tmp_path_factory.mktemp("conf")
    (conf / "spark-defaults.conf").write_text(f"{CLUSTERS_OWN}\nspark.executorEnv.PYTHONPATH  {conf / 'probe'}\n")
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_")) and k != "PYTHONPATH"}
    return variables | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_CONF_DIR": str(conf),
        "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
    }


@pytest.fixture(scope="module")
def cluster(env: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master with one worker of 2 cores, all on loopback, on free ports."""
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("needs Java")
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "work").mkdir()
    probe = Path(env["SPARK_CONF_DIR"]) / "probe" / "sitecustomize.py"
    probe.parent.mkdir()
    probe.write_text(PROBE.format(imports=str(folder / "work" / "imports")))
    start = [str(Path(sys.executable).parent / "spark-class")]
    here = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    master = [*start, "org.apache.spark.deploy.master.Master", *here]
    worker = [*start, "org.apache.spark.deploy.worker.Worker", *here, "--cores", "2", "--memory", "2g"]
    with daemon(master, env, folder, folder / "master.log") as log:
        url = wait_for_match(log, r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")
        with daemon([*worker, "--work-dir", str(folder / "work"), url], env, folder, folder / "worker.log"):
            wait_for_match(log, r"Registering worker (127\.0\.0\.1:\d+) with 2 cores")
            yield Cluster(url, folder / "work")


def shell(command: str, env: Mapping[str, str], cwd: Path, seconds: float) -> subprocess.CompletedProcess[str]:
    """A shell command's outcome; ended with its children if it takes longer."""
    process = subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", command],
        env=env,
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=seconds)
    finally:
        _end_group(process.pid)
        process.wait()
    return subprocess.CompletedProcess(command, process.returncode, out, err)


@pytest.fixture(scope="module")
def job(env: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the three files, as the guide's first commands build it in the checkout."""
    folder = tmp_path_factory.mktemp("job")
    built = shell(commands()[0], env | {"JOB": str(folder)}, ROOT, 60)
    assert built.returncode == 0, built.stderr
    return folder


def of_the_content(row: dict[str, Any]) -> dict[str, Any]:
    """A row without what differs between runs: when, by which build, with how many commits."""
    others = ("started_at", "finished_at", "version", "table_versions", *PER_RUN)
    return {name: value for name, value in row.items() if name not in others}


def test_a_cluster_writes_the_tables_of_a_local_run(
    cluster: Cluster, job: Path, env: dict[str, str], two_nights: Run, tmp_path: Path
) -> None:
    where = {
        "JOB": str(job),
        "MASTER": cluster.url,
        "LOGS": str(two_nights.capture),
        "WAREHOUSE": str(tmp_path / "warehouse"),
    }
    # A time zone far from UTC, which must not show anywhere.
    done = shell(commands()[1], env | where | {"TZ": "Asia/Kolkata"}, tmp_path, RUN_S)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
    assert "Cluster default: 2026-11-21 10:00:00.000 to 2026-11-21 10:06:02.000" in done.stdout
    assert " ERROR " not in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    loaded = cluster.imports()
    assert "udfs.arrow.parse" in loaded
    assert {name: path for name, path in loaded.items() if "kafka-rewind.zip" not in path} == {}
    assert "great_expectations" not in loaded  # the driver's alone
    theirs, ours = (published_rows(Path(root)) for root in (tmp_path / "warehouse", two_nights.warehouse.root))
    assert set(theirs) == set(ours) == set(BY_NAME)
    for name in ours:
        assert [*map(of_the_content, theirs[name])] == [*map(of_the_content, ours[name])], name
    assert [len(theirs[name]) for name in ("events", "partition_timeline")] == [12, 5]
    assert theirs["runs"][0]["version"] == "0.2.0"  # by the zip's own metadata


def test_bad_input_is_one_sentence_and_its_exit_code_comes_through(
    cluster: Cluster, job: Path, env: dict[str, str], tmp_path: Path
) -> None:
    where = {
        "JOB": str(job),
        "MASTER": cluster.url,
        "LOGS": "/no/such/folder",
        "WAREHOUSE": str(tmp_path / "warehouse"),
    }
    done = shell(commands()[1], env | where, tmp_path, RUN_S)
    assert done.returncode == 2, done.stderr
    assert "kafka-rewind: This file or folder does not exist: /no/such/folder;" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert not (tmp_path / "warehouse").exists()


def test_a_session_without_delta_is_told_what_it_lacks() -> None:
    bare = cast("SparkSession", SimpleNamespace(conf=SimpleNamespace(get=lambda key, default: default)))
    with pytest.raises(NoSpark, match=r"--properties-file conf/spark-submit\.properties"):
        check_delta(bare)


def test_spark_says_that_no_executor_takes_the_work_and_warns_of_nothing_else(spark: SparkSession) -> None:
    log4j = cast(Any, spark.sparkContext)._jvm.org.apache.logging.log4j
    scheduler = "org.apache.spark.scheduler.TaskSchedulerImpl"
    before = log4j.LogManager.getLogger(scheduler).getLevel()
    warn_without_executors(spark)
    try:
        warns = [log4j.LogManager.getLogger(name).isWarnEnabled() for name in (scheduler, "org.apache.spark.SparkEnv")]
        assert warns == [True, False]
    finally:
        log4j.core.config.Configurator.setLevel(scheduler, before)
