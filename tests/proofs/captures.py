"""The captures that proofs run over: those of ../shared/captures (or data/, where that is absent), and the packed ones
of data/captures; and one warehouse with all of them, each a cluster."""

from __future__ import annotations

import tarfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from jobs.nightly.run import nightly
from jobs.settings import Settings
from jobs.warehouse.tables import open_warehouse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from jobs.warehouse.tables import Warehouse

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def capture_folders(names: Collection[str] = ()) -> Iterator[list[Path]]:
    """Folders of the captures of these names, of all without any, in the order of their names; a name with a slash is
    such a folder itself. Packed ones are unpacked for as long as this lasts. Raises ValueError for a name of none."""
    shared = ROOT.parent / "shared" / "captures"
    folders = {
        path.parent.name: path.parent for path in (shared if shared.is_dir() else ROOT / "data").glob("*/meta.json")
    }
    packed = {path.name.removesuffix(".tar.xz"): path for path in (ROOT / "data" / "captures").glob("*.tar.xz")}
    folders |= {name: Path(name) for name in names if "/" in name and (Path(name) / "meta.json").exists()}
    if unknown := {*names} - folders.keys() - packed.keys():
        raise ValueError(f"no capture {', '.join(sorted(unknown))}; there are {', '.join(sorted(folders | packed))}")
    with TemporaryDirectory() as scratch:
        for name, archive in packed.items():
            if not names or name in names:
                with tarfile.open(archive) as files:
                    files.extractall(scratch, filter="data")
                folders[name] = Path(scratch) / name
        yield [folders[name] for name in sorted(names or folders)]


def warehouse_of(spark: SparkSession, logs: Mapping[str, Path], folder: Path) -> Warehouse:
    """A warehouse in which each cluster is made of logs of its own, by one night over all; one that is there already is
    read as it is. Prints what the gate refuses."""
    warehouse = open_warehouse(spark, str(folder), create=True)
    if not warehouse.last_run:
        clusters = {f"{path.resolve()}{'/*' * path.is_dir()}": name for name, path in logs.items()}
        outcome = nightly(
            warehouse, [str(path.resolve()) for path in logs.values()], Settings(clusters=clusters), "default", print
        )
        for failure in outcome.audit.failures if outcome.audit else ():
            print(f"REFUSED by the gate: {failure.name} ({failure.rows} rows)")
        warehouse = open_warehouse(spark, str(folder), create=False)
    return warehouse
