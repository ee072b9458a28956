"""One night over the public logs in ../shared/corpus, a cluster for each of their folders: what a user would read.

    PYTHONPATH=. python tests/proofs/prove_corpus.py [--warehouse DIR]

Prints a line for each cluster: whether it is published, its verdicts that are violated, its unclean elections, its
longest outage and how much of its logs is there; then the first violations and unclean elections with their lines, to
be read beside the log. Exits with 1 if a cluster is refused, or if an outage is longer than the logs of its cluster
show: they are there all the time, or no leader epoch is left out in which somebody could have led.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.nightly.run import nightly
from jobs.nightly.wording import duration
from jobs.session import session
from jobs.settings import Settings
from jobs.warehouse.tables import Warehouse, open_warehouse
from udfs.logs.paths import find

if TYPE_CHECKING:
    from jobs.nightly.run import Outcome

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
SHOWN = 3
"""Violations and unclean elections of a cluster that are printed."""
Row = Mapping[str, Any]


def clusters_of(corpus: Path) -> dict[str, str]:
    """By path pattern the name of a cluster: one for each folder, or file, in a folder of the corpus."""
    clusters = {}
    for source in find([str(corpus)]):
        parts = Path(source.path).relative_to(corpus).parts
        if len(parts) > 1:  # the list of what is there is beside the folders
            kind, name, *rest = parts
            clusters[f"*/{kind}/{name}" + ("/*" if rest else "")] = f"{kind}.{name}"
    return clusters


def rows_by_cluster(warehouse: Warehouse, table: str, condition: str = "true") -> dict[str, list[Row]]:
    """Published rows of a table that meet a condition, by cluster."""
    by_cluster: dict[str, list[Row]] = {}
    for row in warehouse.read(table).where(condition).collect():
        by_cluster.setdefault(row["cluster"], []).append(row.asDict(recursive=True))
    return by_cluster


def is_without_hole(outage: Row, states: Sequence[Row]) -> bool:
    """Whether the leader epochs of an outage follow each other, so that nobody led while no log was there."""
    name = ("topic", "partition", "incarnation")
    epochs = sorted(
        state["leader_epoch"]
        for state in states
        if all(state[part] == outage[part] for part in name)
        and state["since"] >= outage["since"]
        and (outage["until"] is None or state["since"] < outage["until"])
    )
    return bool(epochs) and epochs[-1] - epochs[0] < len(epochs)


def report(warehouse: Warehouse, outcome: Outcome) -> Iterator[str]:
    """Lines of the report; those of what is wrong begin with `WRONG`."""
    paths = {row["file_id"]: row["path"] for rows in rows_by_cluster(warehouse, "log_files").values() for row in rows}
    coverage = rows_by_cluster(warehouse, "log_coverage")
    violated = rows_by_cluster(warehouse, "verdicts", "verdict = 'violated'")
    unclean = rows_by_cluster(warehouse, "elections", "unclean")
    outages = rows_by_cluster(warehouse, "offline_partitions")
    leaderless = rows_by_cluster(warehouse, "partition_timeline", "leader = -1")
    for cluster in outcome.clusters:
        spans = coverage.get(cluster, [])
        longest = max((row["at_least_ms"] for row in outages.get(cluster, [])), default=0)
        covered: int = sum((row["until"] - row["since"] for row in spans), timedelta()) // timedelta(milliseconds=1)
        is_wrong = cluster in outcome.refused or any(
            row["at_least_ms"] > covered and not is_without_hole(row, leaderless[cluster])
            for row in outages.get(cluster, [])
        )
        yield (
            f"{'WRONG ' if is_wrong else ''}{cluster}: {'refused' if cluster in outcome.refused else 'published'}, "
            f"{len(violated.get(cluster, []))} violated, {len(unclean.get(cluster, []))} unclean, "
            f"{len(outages.get(cluster, []))} outages, the longest at least {duration(longest)}, "
            f"{duration(covered)} of logs"
        )
        for row in [*violated.get(cluster, [])[:SHOWN], *unclean.get(cluster, [])[:SHOWN]]:
            place = row["evidence"][0]
            what = (
                row.get("explanation")
                or f"{row['topic']}-{row['partition']}: ISR before {row['isr_before']}, {row['leader']} led"
            )
            yield f"    {what} ({paths.get(place['file_id'])}:{place['line']})"
    total = Counter(
        violated=sum(map(len, violated.values())), unclean=sum(map(len, unclean.values())), refused=len(outcome.refused)
    )
    yield f"{len(outcome.clusters)} clusters: {', '.join(f'{count} {name}' for name, count in total.items())}"


def main() -> None:
    """Run the night, print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--warehouse", help="Where to leave the tables; it must not exist.")
    options = parser.parse_args()
    if not CORPUS.is_dir():
        print(f"skipped: no corpus in {CORPUS}")
        return
    settings = Settings(clusters=clusters_of(CORPUS))
    with tempfile.TemporaryDirectory() as folder, session() as spark:
        warehouse = open_warehouse(spark, options.warehouse or f"{folder}/warehouse", create=True)
        outcome = nightly(warehouse, [str(CORPUS)], settings, "default", lambda text: print(text, file=sys.stderr))
        lines = list(report(warehouse, outcome))
    print("\n".join(lines))
    sys.exit(any(line.startswith("WRONG") for line in lines))


if __name__ == "__main__":
    main()
