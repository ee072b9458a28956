"""What the last published run made visible: the version of each table, and the files that hold it."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from jobs.warehouse.location import is_remote
from schemas.ledger import RUNS
from schemas.table import Table
from schemas.tables import BY_NAME
from udfs.errors import BadInput, Failed
from udfs.incidents.wording import names_text

if TYPE_CHECKING:
    from deltalake import DeltaTable


@dataclass(frozen=True)
class StoredRows:
    """Where the rows of a table are: in Parquet files or, in an object store, behind an Arrow dataset."""

    columns: Collection[str]
    files: Sequence[str] = ()
    dataset: Any = None


@dataclass(frozen=True)
class Published:
    """A warehouse as its last published run left it."""

    root: str
    """Its folder, absolute; or the URL of an object store's."""
    versions: Mapping[str, int]
    """Delta version of each table that readers see. A table that is not there has no rows yet."""
    run_id: str
    """The run that pinned them."""
    copies: Mapping[str, StoredRows] | None = None
    """By table what Spark copied, of a warehouse that is read with `--engine spark`."""

    def stored(self, table: str) -> StoredRows | None:
        """Where the rows of a table are that are visible; None if there are none. `runs`, which pins the others, is
        read as it is now.

        Raises Failed if what is there cannot be read.
        """
        if self.copies is not None:
            return self.copies.get(table)
        if table != RUNS.name and table not in self.versions:
            return None
        delta = open_delta(f"{self.root}/{table}", None if table == RUNS.name else self.versions[table])
        columns = {field.name for field in delta.schema().fields}
        if is_remote(self.root):
            return StoredRows(columns, dataset=delta.to_pyarrow_dataset())
        files = local_files(delta)
        return StoredRows(columns, files) if files else None


def nothing_published(root: str) -> BadInput:
    """What to raise for a warehouse whose runs were all refused."""
    return BadInput(
        f"Nothing is published in {root} yet: the data gate refused each run; "
        f"run `kafka-rewind nightly LOGS --warehouse {root}` again."
    )


# ---- Delta ----------------------------------------------------------------------------------------------------------
READ_BY_SPARK = {"deletionVectors", "columnMapping", "v2Checkpoint", "typeWidening", "variantType"}
"""Features of Delta that tables of ours never have, and that are not read here."""


RESTORE = "run `kafka-rewind nightly LOGS --rebuild`, which restores what follows from events, and the rest from LOGS"


def is_delta_table(path: str) -> bool:
    if not is_remote(path):
        return os.path.isdir(f"{path}/_delta_log")
    if path.startswith("dbfs:"):
        raise BadInput(f"{path} is read on Databricks, where it is mounted; elsewhere `--engine spark` may reach it.")
    delta_table = _delta_table()
    try:
        is_delta: bool = delta_table.is_deltatable(path)
    except Exception as error:
        raise Failed(
            f"The warehouse cannot be reached: {path} ({first_line(error)}); where only Spark reaches it, use"
            " `--engine spark`."
        ) from None
    return is_delta


def _delta_table() -> Any:
    """delta-rs, whose log of what it tries is not printed."""
    os.environ.setdefault("RUST_LOG", "off")
    from deltalake import DeltaTable

    return DeltaTable


def open_delta(path: str, version: int | None) -> DeltaTable:
    """A Delta table at a version, or the newest. Raises Failed if it cannot be read."""
    delta_table = _delta_table()
    try:
        table = delta_table(path, version=version)
    except Exception as error:  # delta-rs raises several kinds, of which some have no common ancestor but this
        raise _damaged_table(path, first_line(error)) from None
    if not table.schema().fields:
        raise _damaged_table(path, "its log has no columns")
    if wrong := READ_BY_SPARK & {*(table.protocol().reader_features or ())}:
        raise Failed(
            f"The table {path} uses Delta's {', '.join(sorted(wrong))}, which only Spark reads: use `--engine spark`."
        )
    return table


def _damaged_table(path: str, why: str) -> Failed:
    return Failed(f"The table {path} is damaged or cannot be read: {why}; {RESTORE}.")


def local_files(table: DeltaTable) -> list[str]:
    """Paths of the files that hold a table of a local folder."""
    return [unquote(uri.removeprefix("file://")) for uri in table.file_uris()]


def damaged(error: Exception) -> Failed:
    """What to raise for a file of a published table that cannot be read."""
    return Failed(f"A file of the warehouse is damaged or gone: {first_line(error)}; {RESTORE}.")


def first_line(error: Exception) -> str:
    """What an error of delta-rs or DuckDB says, on one line without its full stop; of causes in a list the first and
    the last.

    >>> first_line(OSError("Generic S3 error\\n  \\x1b[31m↳\\x1b[0m Error performing GET\\n   ↳ Connection refused\\n"))
    'Generic S3 error: Connection refused'
    """
    text = re.sub(r"\x1b\[\d*m", "", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [type(error).__name__]
    causes = [line.removeprefix("↳").strip() for line in lines if line.startswith("↳")]
    return re.sub(r"\s+", " ", ": ".join([lines[0], *causes[-1:]])).rstrip(".")


def table_named(name: str) -> Table:
    """A table by its name. Raises BadInput with the nearest names if there is none."""
    if name in BY_NAME:
        return BY_NAME[name]
    raise BadInput(no_table(name, BY_NAME))


USUAL_WORDS: Mapping[str, str] = {
    "brokers": "broker_timeline", "broker": "broker_timeline", "nodes": "broker_timeline",
    "controllers": "controller_timeline", "controller": "controller_timeline",
    "topics": "topic_timeline", "topic": "topic_timeline",
    "partitions": "partition_timeline", "partition": "partition_timeline", "leaders": "partition_timeline",
    "outages": "offline_partitions", "outage": "offline_partitions", "offline": "offline_partitions",
    "isr": "isr_changes", "churn": "isr_churn",
    "requests": "control_requests", "clocks": "clock_offsets", "availability": "topic_availability",
    "loss": "elections", "unclean": "elections", "logs": "log_files", "files": "log_files", "coverage": "log_coverage",
    "configs": "config_changes", "violations": "verdicts", "rules": "verdicts",
}  # fmt: skip
"""What people, and our commands, call what a table has."""


def no_table(name: str, names: Collection[str]) -> str:
    """What is wrong with the name of a table that is not there, and which is meant.

    >>> no_table("Outages", ["events", "offline_partitions"])
    'There is no table Outages; did you mean offline_partitions?'
    >>> no_table("electons", ["elections", "events"])
    'There is no table electons; did you mean elections?'
    """
    if (meant := USUAL_WORDS.get(name.lower())) in names:
        return f"There is no table {name}; did you mean {meant}?"
    return f"There is no table {name}; {nearest(name, names)}"


def nearest(name: str, names: Collection[str]) -> str:
    """Which names are near one that is not there, or else the first of them: the end of a sentence.

    >>> nearest("electons", ["elections", "rejects", "events"])
    'did you mean elections?'
    >>> nearest("brokers", ["elections", "rejects"])
    'there are elections and rejects.'
    >>> nearest("brokers", [])
    'there is none.'
    """
    likeness = {known: SequenceMatcher(None, name.lower(), known.lower()).ratio() for known in names}
    least = max(_LIKE, max(likeness.values(), default=0) - _NEAR)
    close = [known for known in likeness if likeness[known] >= least]
    close.sort(key=lambda known: -likeness[known])
    if close:
        return f"did you mean {' or '.join(close[:3])}?"
    return f"there {'are' if len(names) > 1 else 'is'} {names_text(sorted(names)[:_MOST], len(names)) or 'none'}."


_LIKE, _NEAR, _MOST = 0.6, 0.1, 40
"""Names that are at least so much alike are near, and of them those that are hardly less alike than the best; where
none is near, so many are listed."""
