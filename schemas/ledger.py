"""The row of a run, which makes its tables visible."""

from __future__ import annotations

from schemas.columns import LONG, TEXT, TEXTS, TIME, MapOf, column
from schemas.table import table

STEPS = ("ingest", "timelines", "detect", "replay")
"""The steps of a nightly run, in their order; each is a command of its own."""

RUNS = table(
    "runs",
    "one run",
    "run_id",
    column("run_id", TEXT, "Number of the run in this warehouse, as text, from 1."),
    column("started_at", TIME, "When it started, UTC."),
    column("finished_at", TIME, "When it was published or refused, UTC."),
    column("version", TEXT, "Version of Kafka Rewind."),
    column(
        "steps", TEXTS, "Its steps, in order: `ingest`, `timelines`, `detect`, `replay`; a nightly run has all four."
    ),
    column("clusters", TEXTS, "Clusters that had new input or were brought up to date, sorted."),
    column("inputs", TEXTS, "Log paths that it was started with."),
    column("table_versions", MapOf(TEXT, LONG), "Delta version of each table that this run makes visible."),
    column("rows", MapOf(TEXT, LONG), "Number of rows of each table at that version."),
    column(
        "expectations",
        MapOf(TEXT, LONG),
        "Rows that violate each expectation of the data gate; if published, rows of clusters in `refused` only.",
    ),
    column(
        "pending",
        MapOf(TEXT, TEXTS),
        "By step the clusters whose rows it has yet to bring up to date, sorted; steps without any are left out.",
    ),
    column(
        "derived_with",
        MapOf(TEXT, TEXT),
        "By cluster a digest of the code and the settings that made all its derived rows; clusters whose steps were "
        "run one by one are left out.",
    ),
    column(
        "refused",
        TEXTS,
        "Clusters that the data gate refused, sorted: their rows are those of the last published run. Null in runs of "
        "releases that published all clusters or none.",
    ),
    column(
        "pruned",
        MapOf(TEXT, TIME),
        "By cluster the time before which events and rejects were pruned, but for lines that later rows rest on; "
        "derived rows that ended before stay as they are. Null if none were.",
    ),
    column("status", TEXT, "`published` or, if the gate left nothing to publish, `refused`."),
)
