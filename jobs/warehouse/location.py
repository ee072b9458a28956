"""Where a warehouse is: a folder, the URL of an object store or a Hadoop file system, or a schema. It needs no Spark.

`catalog.schema` is a schema of one of Spark's catalogs unless a folder has that name; `./catalog.schema` is a folder.
A path without scheme is a folder of this machine, for Python and, by `spark_path`, for Spark, whatever Hadoop's
`fs.defaultFS` is. On Databricks, where folders of volumes and of DBFS are mounts of what Spark knows as `dbfs:/`, their
path is that URL.
"""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path
from urllib.parse import unquote

from jobs.session import expected_bytes
from schemas.ingest import EVENTS
from schemas.ledger import RUNS
from udfs.errors import BadInput

DATABRICKS = "DATABRICKS_RUNTIME_VERSION"
"""Environment variable that each of its clusters sets."""


def is_remote(root: str) -> bool:
    """Whether a located warehouse is no folder of this machine: it has a scheme, or is a schema of a catalog.

    >>> [is_remote(root) for root in ("s3a://bucket/w", "dbfs:/w", "main.kafka", "/data/w", "w:1/x")]
    [True, True, True, False, False]
    """
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", root) is not None or is_schema(root)


def is_schema(root: str) -> bool:
    """Whether a located warehouse is a schema of one of Spark's catalogs.

    >>> [is_schema(root) for root in ("main.kafka", "main.kafka-logs", "./main.kafka", "/w/a.b", "w", "w.1", "a.b.c")]
    [True, True, False, False, False, False, False]
    """
    return re.fullmatch(r"[A-Za-z_][\w-]*\.[A-Za-z_][\w-]*", root) is not None


def located(root: str) -> str:
    """A warehouse's folder, absolute; its URL without a slash at the end; or `catalog.schema`, unless a folder here has
    that name. A `file:` URL is the folder that it names.

    Escapes in such a URL are read as escapes unless a folder has them in its name.
    """
    if (match := re.match(r"file:(?://(?=/))?(?=/)", root)) is not None:
        literal = root[match.end() :]
        root = literal if os.path.exists(literal) else unquote(literal)
    if is_schema(root) and not os.path.isdir(root):
        return root
    if not is_remote(root) or is_schema(root):
        root = os.path.abspath(root)
        if DATABRICKS not in os.environ or not root.startswith(_MOUNTS):
            return root
        root = f"dbfs:{root.removeprefix('/dbfs')}"
    return re.sub(r"^dbfs:/+", "dbfs:/", root).rstrip("/")


_MOUNTS = ("/Volumes/", "/dbfs/")


def mounted(root: str) -> str:
    """The folder as which this machine has a `dbfs:/` warehouse, for readers without Spark; else as it is."""
    if root.startswith("dbfs:/"):
        path = root.removeprefix("dbfs:")
        folder = path if path.startswith("/Volumes/") else f"/dbfs{path}"
        return folder if os.path.isdir(folder) else root
    return root


def spark_path(path: str) -> str:
    """What Spark is given for a path in a warehouse: a URL with a scheme, which no `fs.defaultFS` changes.

    >>> spark_path("/data/w/events"), spark_path("hdfs://h/w/events")
    ('file:///data/w/events', 'hdfs://h/w/events')
    """
    return path if is_remote(path) else f"file://{path}"


def warehouse_at(root: str, *, create: bool) -> str:
    """`located`. Raises BadInput for what can be no warehouse and, unless `create`, where there is none."""
    root = located(root)
    if is_remote(root) and not os.path.isfile(root):
        return root
    if os.path.exists(root) and not os.path.isdir(root):
        raise BadInput(f"The warehouse path is a file: {root}; give a folder, it is created if it does not exist.")
    if not create and not os.path.isdir(root):
        raise no_warehouse(root)
    parent = root
    while not os.path.exists(parent):
        parent = os.path.dirname(parent)
    if not os.path.isdir(parent):
        raise BadInput(
            f"The warehouse path goes through a file: {parent}; give a folder, it is created if it does not exist."
        )
    if create and not os.access(parent, os.W_OK):
        raise BadInput(f"The warehouse cannot be written: {root}; check the permissions of {parent}.")
    return root


def has_ledger(root: str) -> bool:
    """Whether some run wrote to a warehouse; true also where this cannot be seen without Spark."""
    return is_remote(root) or os.path.isdir(f"{root}/{RUNS.name}/_delta_log")


def no_warehouse(root: str) -> BadInput:
    """What to raise where there is no warehouse; where logs are in its place, so."""
    if not is_remote(root) and _holds_logs(root):
        return BadInput(
            f"There is no warehouse in {root}, but logs: run `kafka-rewind nightly {root} --warehouse DIR` with "
            "another folder, and give that one."
        )
    return BadInput(f"There is no warehouse in {root}; run `kafka-rewind nightly LOGS --warehouse {root}` first.")


def _holds_logs(root: str) -> bool:
    """Whether a folder has files that are named like logs, as far as its first folders tell."""
    folders = islice(os.walk(root), _FOLDERS_LOOKED_AT)
    return any(re.search(r"\.log(?:\W|$)", name) for _, _, files in folders for name in files)


_FOLDERS_LOOKED_AT = 100


def expected_size(root: str) -> int:
    """Bytes of the logs that a warehouse holds, about; 0 if it is no local folder or does not exist."""
    return 0 if is_remote(root) else expected_bytes(Path(root, EVENTS.name).rglob("*.parquet"))
