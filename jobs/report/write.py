"""Writing reports to files: of one cluster, or of each cluster of a night."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from jobs.answers.opened import open_cluster
from jobs.nightly.wording import size
from jobs.read.output import check_output, write_text
from jobs.read.views import clusters, open_views
from jobs.report.collect import TABLES
from jobs.report.html import report_page
from jobs.warehouse.location import is_schema, located
from schemas.ingest import LOG_FILES


@dataclass(frozen=True)
class WrittenReport:
    """A report in a file."""

    cluster: str
    file: str
    bytes: int

    @property
    def sentence(self) -> str:
        """What was written."""
        return f"Wrote {self.file} ({size(self.bytes)})."


def write_report(root: str, output: str, cluster: str | None = None, engine: str = "duckdb") -> WrittenReport:
    """Write the report of the only cluster, or of the one of a name; what was written.

    Raises BadInput for a file that cannot be written, or a cluster that is not there.
    """
    check_output("html", output)
    with open_cluster(root, cluster, TABLES, engine) as opened:
        page = report_page(opened)
        name = opened.cluster
    write_text([page], output)
    return WrittenReport(name, output, len(page.encode()))


def write_reports(root: str, output: str) -> list[WrittenReport]:
    """Write the reports of all clusters, if there are several into files with their names: `night-eu.html`."""
    engine = "spark" if is_schema(located(root)) else "duckdb"
    with open_views(root, only=[LOG_FILES.name], engine=engine) as connection:
        names = clusters(connection)
    if len(names) == 1:
        return [write_report(root, output, engine=engine)]
    stem, ending = os.path.splitext(output)
    return [
        write_report(root, f"{stem}-{part}{ending}", name, engine)
        for name, part in zip(names, _parts(names), strict=True)
    ]


def _parts(names: Sequence[str]) -> list[str]:
    """Clusters' names as parts of files' names, no two of them alike.

    >>> _parts(["eu/1", "eu_1", "us"])
    ['eu_1', 'eu_1-2', 'us']
    """
    parts: list[str] = []
    for name in names:
        part, number = _in_file_name(name), 1
        while part in parts:
            number += 1
            part = f"{_in_file_name(name)}-{number}"
        parts.append(part)
    return parts


def _in_file_name(cluster: str) -> str:
    """A cluster's name as part of a file's.

    >>> _in_file_name("eu/west 1")
    'eu_west_1'
    """
    return "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in cluster)
