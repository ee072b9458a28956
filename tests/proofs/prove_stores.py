"""Logs and warehouse in a real HDFS (Hadoop's MiniDFSCluster) and behind the S3 protocol (moto's server), on loopback.

`python tests/proofs/prove_stores.py [s3|hdfs ...] [--kills=N]`. For each: a night, a second with appended logs, a third
over nothing new; two at once; a night that is killed in its middle, and again; `sql` and `describe` without Spark.
Tables are those of the same nights over local folders. Needs `pip install '.[prove]'` and Maven, which fetches
Hadoop's jars (600 MB for S3) into FOLDER; prints what ran where, with seconds.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.conftest import MORE, QUIET, SMALL, append  # noqa: E402

FOLDER = Path(os.environ.get("KAFKA_REWIND_JARS", Path(tempfile.gettempdir()) / "kafka-rewind-jars"))
HADOOP = "3.5.0"  # as Spark 4.2 has it
AWS = "2.35.4"  # as that Hadoop has it
JARS = {
    "s3": (
        f"org.apache.hadoop:hadoop-aws:{HADOOP}",
        f"software.amazon.awssdk:bundle:{AWS}",
        "software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3:1.3.1",
    ),
    "hdfs": (f"org.apache.hadoop:hadoop-client-minicluster:{HADOOP}",),
}
KILLS = (9, 2, 16)
"""Commits after which a night is killed."""


@dataclass
class Store:
    """A store that is running."""

    logs: str
    """URL of the folder of logs, as `nightly` takes it."""
    warehouses: str
    """URL under which warehouses are, as Spark takes it."""
    environment: Mapping[str, str] = field(default_factory=dict)
    submit: tuple[str, ...] = ()
    """Arguments for Spark's driver."""

    def upload(self, folder: Path) -> None:
        """Put local logs into the store, over what is there."""
        from pyarrow.fs import copy_files

        system, path, _ = stores()._place(self.logs)
        copy_files(str(folder), path, destination_filesystem=system)

    def variables(self) -> dict[str, str]:
        """Environment of a command."""
        own = dict(self.environment)
        if self.submit:
            own["PYSPARK_SUBMIT_ARGS"] = " ".join([*self.submit, "pyspark-shell"])
        return {**os.environ, "PYTHONPATH": str(ROOT), "RUST_LOG": "off", **own}


def stores() -> Any:
    """The module that reads logs from stores."""
    from udfs.logs import stores as module

    return module


def jars(store: str) -> str:
    """The jars of a store, fetched once, joined by commas."""
    paths = []
    for coordinates in JARS[store]:
        _, artifact, release = coordinates.split(":")
        path = FOLDER / f"{artifact}-{release}.jar"
        if not path.exists():
            copy = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
            subprocess.run(
                ["mvn", "-q", "-B", copy, f"-Dartifact={coordinates}", f"-DoutputDirectory={FOLDER}"], check=True
            )
        paths.append(str(path))
    return ",".join(paths)


@contextmanager
def s3(scratch: Path, *, with_jars: bool = True) -> Iterator[Store]:
    """moto's S3 server, with conditional writes; without jars only logs can be there."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=(scratch / "moto.out").open("w"),
        stderr=subprocess.STDOUT,
    )
    endpoint = f"http://127.0.0.1:{port}"
    environment = {
        "AWS_ACCESS_KEY_ID": "proof",
        "AWS_SECRET_ACCESS_KEY": "proof",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",  # delta-rs
    }
    os.environ |= environment
    settings = {"endpoint": endpoint, "path.style.access": "true", "endpoint.region": "us-east-1"}
    arguments = ["--jars", jars("s3")] if with_jars else []
    submit = [*arguments, *(f"--conf spark.hadoop.fs.s3a.{k}={v}" for k, v in settings.items())]
    try:
        import boto3

        client = boto3.client("s3", region_name="us-east-1")
        for _ in range(60):
            with suppress(Exception):
                client.create_bucket(Bucket="rewind")
                break
            time.sleep(0.5)
        yield Store("s3://rewind/logs", "s3a://rewind/w", environment, tuple(submit))
    finally:
        server.terminate()
        server.wait()


@contextmanager
def hdfs(scratch: Path) -> Iterator[Store]:
    """Hadoop's own small HDFS, a name node and a data node in one JVM."""
    code = (
        "import sys\n"
        "from pyspark.sql import SparkSession\n"
        "spark = SparkSession.builder.master('local[1]').config('spark.ui.enabled', 'false')"
        ".config('spark.driver.extraClassPath', sys.argv[1]).getOrCreate()\n"
        "java = spark._jvm\n"
        "conf = java.org.apache.hadoop.conf.Configuration()\n"
        "conf.set('hdfs.minidfs.basedir', sys.argv[2])\n"
        "conf.set('dfs.permissions.enabled', 'false')\n"
        "builder = getattr(java.org.apache.hadoop.hdfs, 'MiniDFSCluster$Builder')(conf)\n"
        "cluster = builder.numDataNodes(1).build()\n"
        "print('PORT', cluster.getNameNodePort(), flush=True)\n"
        "sys.stdin.read()\n"
        "cluster.shutdown()\n"
    )
    server = subprocess.Popen(
        [sys.executable, "-c", code, jars("hdfs"), str(scratch / "hdfs")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=(scratch / "hdfs.out").open("w"),
        text=True,
    )
    try:
        assert server.stdout is not None
        port = next(line.split()[1] for line in server.stdout if line.startswith("PORT"))
        url = f"hdfs://127.0.0.1:{port}"
        yield Store(f"{url}/logs", f"{url}/w")
    finally:
        assert server.stdin is not None
        server.stdin.close()
        server.wait()


# ---- commands --------------------------------------------------------------------------------------------------------
def start(store: Store, *arguments: str) -> subprocess.Popen[str]:
    """A command in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "jobs.cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=ROOT,
        env=store.variables(),
    )


def run(store: Store, what: str, *arguments: str, expected: int = 0) -> str:
    """Run a command, print how long it took; its standard output. Exits unless its exit code is as expected."""
    begun = time.monotonic()
    output, errors = (process := start(store, *arguments)).communicate()
    print(f"  {what:<42} {time.monotonic() - begun:6.1f} s  exit {process.returncode}", flush=True)
    if process.returncode != expected:
        sys.exit(f"{' '.join(arguments)}\n{output}\n{errors}")
    return output + (errors if expected else "")


def tables(root: str, prefixes: tuple[str, ...]) -> dict[str, str]:
    """By published table the hash of its sorted rows as readers without Spark see them; run ids and folders aside."""
    from jobs.read.views import open_views
    from schemas.tables import BY_NAME

    digests = {}
    with open_views(root) as connection:
        for name in BY_NAME:
            if name == "runs":
                continue
            result = connection.execute(f"SELECT * FROM {name}")
            columns = [column[0] for column in result.description]
            rows = sorted(
                repr([v for c, v in zip(columns, row, strict=True) if c != "run_id"]) for row in result.fetchall()
            )
            text = "\n".join(rows)
            for prefix in prefixes:
                text = text.replace(prefix, "LOGS")
            digests[name] = hashlib.sha256(text.encode()).hexdigest()
    return digests


def night(store: Store, what: str, root: str) -> None:
    run(store, what, "nightly", store.logs, "--warehouse", root)


def kill_in_the_middle(store: Store, root: str, after: int) -> str:
    """Start a night, kill all its processes when its tables have so many commits; what became of it."""
    system, path, _ = stores()._place(re.sub("^s3a", "s3", root))
    from pyarrow.fs import FileSelector

    process = start(store, "nightly", store.logs, "--warehouse", root)
    while process.poll() is None:
        files = system.get_file_info(FileSelector(path, recursive=True, allow_not_found=True))
        if sum(bool(re.search(r"/_delta_log/\d{20}\.json$", f.path)) for f in files) >= after:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return f"killed after {after} commits"
        time.sleep(0.2)
    return f"ended with {process.returncode} before"


def prove(name: str, scratch: Path, kills: int) -> int:
    """The number of tables that differ."""
    logs = scratch / "logs"
    append(logs, SMALL)
    append(logs, QUIET)
    differ: int = 0
    local = Store(str(logs), str(scratch / "local"))
    with {"s3": s3, "hdfs": hdfs}[name](scratch) as store:
        prefixes = (store.logs, str(logs))

        def compare(what: str, root: str, expected: dict[str, str]) -> int:
            actual = tables(root, prefixes)
            wrong = sorted(t for t in expected if expected[t] != actual.get(t))
            print(f"  {what}: {len(expected)} tables compared, {len(wrong)} differ {' '.join(wrong)}", flush=True)
            return len(wrong)

        print(f"{name}: logs {store.logs}, warehouse {store.warehouses}")
        store.upload(logs)
        night(local, "local, first night", f"{local.warehouses}/a")
        night(store, "first night", f"{store.warehouses}/a")
        first = tables(f"{local.warehouses}/a", prefixes)
        differ += compare("first night", f"{store.warehouses}/a", first)
        append(logs, MORE)
        store.upload(logs)
        night(local, "local, second night", f"{local.warehouses}/a")
        night(store, "second night", f"{store.warehouses}/a")
        second = tables(f"{local.warehouses}/a", prefixes)
        assert first != second
        differ += compare("second night", f"{store.warehouses}/a", second)
        night(store, "third night, nothing new", f"{store.warehouses}/a")
        differ += compare("third night", f"{store.warehouses}/a", second)
        at = ("--warehouse", f"{store.warehouses}/a")
        rows = run(store, "sql", "sql", "SELECT count(*) AS n FROM events", "--format", "csv", *at)
        assert int(rows.split()[1]) > 0, rows
        assert "pay-in" in run(store, "describe", "describe", "--at", "10:05:30", *at)
        rows = run(store, "sql --engine spark", "sql", "SELECT 1", "--engine", "spark", *at)
        # two at once, and one that is killed
        both = [start(store, "nightly", store.logs, "--warehouse", f"{store.warehouses}/two") for _ in range(2)]
        for process in both:
            process.communicate()
        print(f"  two at once: exit codes {[process.returncode for process in both]}")
        differ += sum(process.returncode != 0 for process in both)
        differ += compare("two at once", f"{store.warehouses}/two", second)
        for after in KILLS[:kills]:
            root = f"{store.warehouses}/killed-{after}"
            print(f"  {kill_in_the_middle(store, root, after)}")
            night(store, "and run again (waits for the lease)", root)
            differ += compare(f"killed after {after} commits", root, second)
    return differ


def main(names: list[str]) -> int:
    """The exit code."""
    if shutil.which("mvn") is None:
        print("not proven: Maven is needed to fetch Hadoop's jars")
        return 1
    begun, differ = time.monotonic(), 0
    kills = next((int(name.removeprefix("--kills=")) for name in names if name.startswith("--kills=")), len(KILLS))
    for name in [name for name in names if not name.startswith("--")] or ["hdfs", "s3"]:
        with tempfile.TemporaryDirectory() as folder:
            differ += prove(name, Path(folder), kills)
    print(f"{differ} tables differ; {time.monotonic() - begun:.0f} s")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
