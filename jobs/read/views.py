"""A DuckDB connection on published tables: a view of each, with its comments, and nothing else within reach.

DuckDB reads the Parquet files of the pinned versions itself: it reads only the columns and row groups that a query
needs, and never holds a table. Tables in object stores come through delta-rs and Arrow. The connection can open no
other file, loads no extension, and its settings are locked.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from jobs.read.create_views import EVIDENCE, VIEWS, add_comments, create_evidence, create_view, rows
from jobs.read.published import Published, damaged, is_delta_table, nothing_published
from jobs.warehouse.integrity import check_whole
from jobs.warehouse.location import is_remote, is_schema, located, mounted, no_warehouse, warehouse_at
from schemas.ledger import RUNS
from schemas.tables import BY_NAME, DERIVED
from udfs.errors import BadInput, Failed

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEMORY = "512MB"
"""What DuckDB may hold; larger sorts go to temporary files."""
LAST_RUN = """
    SELECT version, map_keys(table_versions) AS names FROM runs WHERE status = 'published'
    ORDER BY run_id::BIGINT DESC LIMIT 1"""
"""The last published run, in SQL: the release that wrote it, and the tables of which it pins a version."""
REGISTERED_BROKERS = """
    SELECT DISTINCT cluster, broker FROM broker_timeline
    SEMI JOIN (SELECT cluster, unnest(coalesce(replicas, isr)) AS broker FROM partition_timeline)
    USING (cluster, broker)"""
"""Brokers that a controller registered and that a partition is on: the number of one damaged line is none."""
_OPTIONS: dict[str, str | bool] = {
    "python_enable_replacements": False,  # no variable of ours is a table
    "python_scan_all_frames": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "enable_external_file_cache": False,  # a command reads a file once
    "allocator_flush_threshold": "8MB",  # what one part of an export took is given back before the next
    "allocator_bulk_deallocation_flush_threshold": "8MB",
}


@contextmanager
def connect() -> Iterator[DuckDBPyConnection]:
    """A connection without tables whose times are UTC; what it spills goes to a folder that is removed at the end."""
    import duckdb

    spill = os.path.join(tempfile.gettempdir(), f"kafka-rewind-{os.getpid()}-{os.urandom(4).hex()}")
    connection = duckdb.connect(":memory:", config={**_OPTIONS, "temp_directory": spill, "memory_limit": MEMORY})
    try:
        connection.execute("SET TimeZone = 'UTC'")
        # so that it is known how far a query has come
        connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
        yield connection
    finally:
        with suppress(duckdb.Error):
            connection.close()
        shutil.rmtree(spill, ignore_errors=True)


def open_published(connection: DuckDBPyConnection, root: str) -> Published:
    """The warehouse in a folder or an object store; the connection has a view of its `runs` then.

    Raises BadInput if there is none, or nothing was published in it.
    """
    root = mounted(warehouse_at(root, create=False))
    if is_schema(root):
        raise BadInput(
            f"{root} is a schema, which only Spark reads: use its views, or a command with `--engine spark`."
        )
    if not is_delta_table(f"{root}/{RUNS.name}"):
        if is_remote(root):
            raise BadInput(
                f"There is no warehouse in {root}; if only Spark knows such addresses, use `--engine spark`."
            )
        check_whole(root)
        if os.path.isdir(f"{root}/log_files"):
            raise BadInput(
                f"Nothing is published in {root} yet: its first run is not done, or was stopped; "
                f"wait for it, or run `kafka-rewind nightly LOGS --warehouse {root}`."
            )
        raise no_warehouse(root)
    last = _last_published(connection, root)
    if last is None:
        raise nothing_published(root)
    return Published(root, dict(last["table_versions"]), last["run_id"])


def _last_published(connection: DuckDBPyConnection, root: str) -> Mapping[str, Any] | None:
    """Number and versions of the last published run."""
    import duckdb

    create_view(connection, Published(root, {}, ""), RUNS)
    published = (
        "SELECT run_id, table_versions FROM runs WHERE status = 'published' ORDER BY run_id::BIGINT DESC LIMIT 1"
    )
    try:
        return next(iter(rows(connection, published)), None)
    except duckdb.Error as error:
        raise damaged(error) from None


@contextmanager
def open_views(
    root: str,
    *,
    cluster: str | None = None,
    only: Collection[str] | None = None,
    writes: Collection[str] = (),
    naive: bool = False,
    comments: bool = False,
    engine: str = "duckdb",
) -> Iterator[DuckDBPyConnection]:
    """A connection on a view of each published table (of those in `only`), of all clusters or of one.

    It can read the tables' files and write those of `writes`, and no others. `naive`: times have no zone, as our own
    code has them in Python; they are UTC all the same. `comments`: views and columns say what they mean. `engine`:
    with `spark` Spark copies the tables to a temporary folder first, from wherever it reaches them.
    Raises BadInput for a warehouse or a cluster that is not there.
    """
    names = VIEWS if only is None else _with_needed(only)
    with ExitStack() as stack:
        copied = stack.enter_context(_copies(root, names)) if engine == "spark" else None
        path = root if copied else stack.enter_context(plain_path(mounted(located(root))))
        connection = stack.enter_context(connect())
        published = copied or open_published(connection, path)
        files = list(writes)
        if cluster is not None:
            check_cluster(connection, published, cluster)
        for name in names:
            if name != EVIDENCE:
                files += create_view(connection, published, BY_NAME[name], cluster, naive=naive)
        if EVIDENCE in names:
            create_evidence(connection)
        if comments:
            add_comments(connection, names)
        connection.execute("SET allowed_paths = $1", [files])
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        yield connection


def _with_needed(names: Collection[str]) -> list[str]:
    """Views, and those that they read."""
    needed = {*names}
    if EVIDENCE in needed:
        needed |= {"log_files", *(table.name for table in DERIVED)}
    return [name for name in VIEWS if name in needed]


def _copies(root: str, names: Collection[str]) -> AbstractContextManager[Published]:
    """The tables of some views, and the one that has the clusters, as Spark reads them."""
    from jobs.read.spark_copies import copied_tables

    return copied_tables(root, [name for name in BY_NAME if name in names or name == "log_files"])


@contextmanager
def plain_path(root: str) -> Iterator[str]:
    """The same warehouse by a path in which DuckDB sees no pattern, and delta-rs no escape. Errors name its own."""
    if is_remote(root) or re.fullmatch(r"[\w./+,=@-]*", root, re.ASCII) or not os.path.isdir(root):
        yield root
        return
    folder = tempfile.mkdtemp(prefix="kafka-rewind-")
    link = f"{folder}/warehouse"
    try:
        if re.search("%[0-9a-fA-F]{2}", os.path.realpath(root)):
            _link_files(root, link)
        else:
            os.symlink(root, link)
        yield link
    except (BadInput, Failed) as error:
        raise type(error)(str(error).replace(link, root)) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _link_files(root: str, folder: str) -> None:
    """A folder of tables whose files are links: delta-rs follows a link of a folder, and reads `%20` as a space."""
    for table in BY_NAME:
        if not os.path.isdir(f"{root}/{table}/_delta_log"):
            continue
        for part in (table, f"{table}/_delta_log"):
            os.makedirs(f"{folder}/{part}")
            with os.scandir(f"{root}/{part}") as entries:
                for entry in entries:
                    if entry.is_file():
                        os.symlink(entry.path, f"{folder}/{part}/{entry.name}")


def check_cluster(connection: DuckDBPyConnection, published: Published, cluster: str) -> None:
    """Raises BadInput for a cluster that is not in the warehouse."""
    create_view(connection, published, BY_NAME["log_files"])
    known = clusters(connection)
    if cluster not in known:
        raise BadInput(f"There is no cluster {cluster} in the warehouse; it has {', '.join(known) or 'none'}.")


def clusters(connection: DuckDBPyConnection) -> list[str]:
    """Names of all clusters, sorted."""
    return [name for (name,) in connection.execute("SELECT DISTINCT cluster FROM log_files ORDER BY 1").fetchall()]


def the_cluster(connection: DuckDBPyConnection, name: str | None) -> str:
    """The cluster of a name, or the only one. Raises BadInput if there is none, or several to choose from."""
    query = "SELECT DISTINCT cluster FROM log_coverage ORDER BY 1"
    names = [cluster for (cluster,) in connection.execute(query).fetchall()]
    if not names:
        raise BadInput("The warehouse has no logs with times; run `kafka-rewind nightly LOGS` first.")
    if name is None and len(names) > 1:
        raise BadInput(f"The warehouse has several clusters: {', '.join(names)}; name one with --cluster.")
    if name is not None and name not in names:
        raise BadInput(f"There is no cluster {name} in the warehouse; it has {', '.join(names)}.")
    return name or names[0]
