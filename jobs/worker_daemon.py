"""Spark's Python daemon, from which workers are forked, with what each of them would import: `python -m` this module.

Spark's own daemon leaves that to the workers, of which a night has about ten. It also has PySpark twice on the path, as
a package and before it as an archive of sources, which is compiled as it is imported and listed anew for each task.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import PathFinder

ARCHIVED = {"pyspark.zip": "pyspark", "-src.zip": "py4j"}
"""How the names of Spark's archives end, and the package in each."""
NEEDED = (
    "pandas",  # pyarrow looks for it as it makes its first batch
    "pyarrow.compute",
    "pyspark.sql.functions",
    "pyspark.sql.pandas.serializers",
    "pyspark.worker",
    "jobs.timelines.partition_history",
    "udfs.kafka.verdict_rows",
)
"""Modules of which workers need most. One that is not there is theirs to miss."""


def without_archives(path: list[str]) -> list[str]:
    """A module search path without Spark's archives of packages that are there without them, too."""
    others = [entry for entry in path if not entry.endswith(tuple(ARCHIVED))]
    gone = tuple(end for end, package in ARCHIVED.items() if PathFinder.find_spec(package, others) is None)
    return [entry for entry in path if entry in others or entry.endswith(gone)]


def main() -> None:
    """Import what workers need, and fork them as Spark asks for them."""
    sys.path[:] = without_archives(sys.path)
    for name in NEEDED:
        try:
            import_module(name)
        except ImportError:
            continue
    import_module("pyspark.daemon").manager()


if __name__ == "__main__":
    main()
