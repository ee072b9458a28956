"""Whether all that the last published run pinned is there. Found out from files alone, without Spark.

Beside the row in `runs` a run leaves the same in a small file, so that a `runs` that is gone, or older than it was, is
seen, too. What follows from events is made anew by `nightly --rebuild`; events, rejects and the account of streams only
from logs. In an object store nothing is looked up here: there reading fails for what is gone.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any
from urllib.parse import unquote

from jobs.warehouse.location import is_remote
from schemas.ledger import RUNS
from schemas.tables import SOURCES
from udfs.errors import Failed

FILE = ".published.json"
_ONLY_IN_LOGS = frozenset({"events", "rejects", "log_files"})
"""Tables that follow from no other one."""
_MAGIC = b"PAR1"


@dataclass(frozen=True)
class Pins:
    """What a published run pinned: see the columns of RUNS."""

    run_id: int
    table_versions: Mapping[str, int]
    rows: Mapping[str, int] = field(default_factory=dict)
    pending: Mapping[str, list[str]] = field(default_factory=dict)
    derived_with: Mapping[str, str] = field(default_factory=dict)
    pruned: Mapping[str, str] = field(default_factory=dict)


def write_pins(root: str, pins: Pins) -> None:
    """Leave beside the tables what a run pinned; not in an object store."""
    if is_remote(root):
        return
    path = f"{root}/{FILE}"
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        json.dump(asdict(pins), file)
    os.replace(f"{path}.new", path)


def read_pins(root: str) -> Pins | None:
    """What the last published run left; None if there is nothing, or it cannot be read."""
    try:
        with open(f"{root}/{FILE}", encoding="utf-8") as file:
            return Pins(**json.load(file))
    except (OSError, ValueError, TypeError):
        return None


@dataclass(frozen=True)
class Damage:
    """What is not as the last published run left it."""

    root: str
    tables: Mapping[str, str]
    """By table what is wrong with it."""
    pins: Pins | None
    """What was pinned, as far as that is known."""

    @property
    def needs_logs(self) -> bool:
        """Whether only logs can restore it."""
        return bool(_ONLY_IN_LOGS & self.tables.keys()) or self.pins is None

    @property
    def sentence(self) -> str:
        """Names what is gone, and what can restore it."""
        what = ", ".join(f"{table} ({why})" for table, why in self.tables.items())
        command = f"`kafka-rewind nightly LOGS --rebuild --warehouse {self.root}`"
        if self.needs_logs:
            how = f"only logs can restore that: run {command} with all logs that it was made of"
        else:
            how = f"{command} restores it from the events that are there"
            if self.pins is not None and self.pins.pruned:
                how += ", but for rows from before they were pruned"
            how += ", but for the list of earlier runs" if RUNS.name in self.tables else ""
        return f"The warehouse {self.root} is damaged: {what}; {how}."

    def repair(self) -> Pins:
        """Remove what is damaged, so that it is written anew; what is pinned of the rest. If only logs can restore it,
        all that comes from logs is removed."""
        removed = {*self.tables}
        if self.needs_logs:
            removed |= {table.name for table in SOURCES}
        for name in removed:
            shutil.rmtree(f"{self.root}/{name}", ignore_errors=True)
        pins = self.pins or Pins(0, {})
        versions = {name: version for name, version in pins.table_versions.items() if name not in removed}
        return replace(pins, table_versions=versions)


def find_damage(root: str) -> Damage | None:
    """What of a warehouse is not as the last published run left it; None if all is, or nothing was published."""
    if is_remote(root) or not os.path.isdir(root):
        return None
    if not re.fullmatch(r"[\w./+,=@-]*", os.path.realpath(root), re.ASCII):
        with tempfile.TemporaryDirectory(prefix="kafka-rewind-") as folder:
            link = f"{folder}/warehouse"  # delta-rs sees escapes and patterns in paths
            os.symlink(root, link)
            damage = _find_damage(link)
            return damage if damage is None else replace(damage, root=root)
    return _find_damage(root)


def _find_damage(root: str) -> Damage | None:
    """The same of a folder with a plain path."""
    tables: dict[str, str] = {}
    left, pins = read_pins(root), None
    if os.path.isdir(f"{root}/{RUNS.name}/_delta_log"):
        if (why := _why_damaged(f"{root}/{RUNS.name}", None)) is None:
            pins = _last_published(root) if _is_read_by_delta_rs(root) else left
        else:
            tables[RUNS.name] = why
    if left is not None and (pins is None or pins.run_id < left.run_id):
        tables.setdefault(RUNS.name, "it is gone" if pins is None else f"run {left.run_id} is not in it")
        pins = left
    for name, version in sorted(pins.table_versions.items()) if pins else ():
        if (why := _why_damaged(f"{root}/{name}", version)) is not None:
            tables[name] = why
    return Damage(root, tables, pins) if tables else None


def check_whole(root: str) -> None:
    """Raises Failed for a damaged warehouse."""
    if (damage := find_damage(root)) is not None:
        raise Failed(damage.sentence)


def _last_published(root: str) -> Pins | None:
    """Of a `runs` that is whole what its last published row says."""
    columns = ["run_id", "status", "table_versions"]
    rows = _delta_table(f"{root}/{RUNS.name}", None).to_pyarrow_table(columns=columns).to_pylist()
    published = [row for row in rows if row["status"] == "published"]
    last = max(published, key=lambda row: int(row["run_id"]), default=None)
    return None if last is None else Pins(int(last["run_id"]), dict(last["table_versions"]))


def _why_damaged(path: str, version: int | None) -> str | None:
    """What is wrong with a table at a version, or the newest; None if nothing is."""
    if not os.path.isdir(path):
        return "it is gone"
    if not os.path.isdir(f"{path}/_delta_log"):
        return "its Delta log is gone"
    if not _is_read_by_delta_rs(path):
        return None
    try:
        files = _files(path, version)
    except Exception:  # delta-rs raises several kinds, of which some have no common ancestor but this
        return "its Delta log cannot be read"
    odd = sum(not _is_whole(f"{path}/{name}", size) for name, size in files.items())
    return f"{odd} of its {len(files)} files {'is' if odd == 1 else 'are'} gone, cut or overwritten" if odd else None


def _is_read_by_delta_rs(path: str) -> bool:
    """Whether delta-rs finds the path: it would read escapes in it. Of others only the folders are looked at."""
    return re.search("%[0-9a-fA-F]{2}", os.path.realpath(path)) is None


def _files(path: str, version: int | None) -> dict[str, int]:
    """The files of a table with their sizes. Raises what delta-rs raises if its log cannot be read."""
    import pyarrow as pa

    table = _delta_table(path, None)
    if version is not None:
        table.load_as_version(version)
    if not table.schema().fields:
        raise ValueError("no columns")
    actions = pa.table(table.get_add_actions(flatten=True)).select(["path", "size_bytes"]).to_pylist()
    return {unquote(action["path"]): action["size_bytes"] for action in actions}


def _delta_table(path: str, version: int | None) -> Any:
    """delta-rs's table, whose log of what it tries is not printed."""
    os.environ.setdefault("RUST_LOG", "off")
    from deltalake import DeltaTable

    return DeltaTable(path, version=version)


def _is_whole(path: str, size: int) -> bool:
    """Whether a Parquet file has its size, its begin and its end."""
    try:
        with open(path, "rb") as file:
            begin = file.read(len(_MAGIC))
            has_size = file.seek(0, os.SEEK_END) == size
            file.seek(-len(_MAGIC), os.SEEK_END)
            return has_size and begin == file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False
