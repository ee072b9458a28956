"""Spoiled log lines are flagged: `python tests/proofs/prove_line_mutants.py WAREHOUSE...`.

Of each warehouse of a ZooKeeper cluster the lines about requests, deletions and rebalances are spoiled as text in
every way of `tests.line_mutants`, read again by the rules, and judged. Prints by kind how many mutants there were and
how many the rule flagged that the kind breaks. Fails if less than 99 % of all are, or if unspoiled lines are violated.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from jobs.read.create_views import rows
from jobs.read.views import open_views
from tests.line_mutants import REBALANCES, REQUESTS, LineKind, Records, rows_of
from udfs.kafka import deletion_verdicts, reassignment_steps, rebalance_verdicts, request_verdicts
from udfs.kafka.judgements import VIOLATED
from udfs.kafka.releases import Release, lowest_release, printed_release

GOAL = 0.99
DOUBT_US = 2_000_000
Groups = dict[tuple[Any, ...], Records]


def _us(name: str) -> str:
    return f'epoch_us("{name}") AS "{name}"'


def groups(views: Any) -> tuple[Groups, Groups, Release]:
    """Records by incarnation, by controller of rebalances, and the release."""

    def times(query: str) -> dict[int, list[int]]:
        by_node: dict[int, list[int]] = defaultdict(list)
        for row in rows(views, query):
            by_node[row["node_id"]].append(row["at"])
        return {node: sorted(of_node) for node, of_node in by_node.items()}

    starts = times(
        f"SELECT node_id, {_us('at')} FROM events WHERE event_type IN ('broker_starting', 'kafka_version', "
        "'broker_started') AND node_id IS NOT NULL"
    )
    registered = times('SELECT broker AS node_id, epoch_us(since) AS "at" FROM broker_timeline')
    begun: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for row in rows(views, "SELECT topic, incarnation, epoch_us(since) AS since FROM topic_timeline ORDER BY since"):
        begun[row["topic"]].append((row["since"], row["incarnation"]))
    versions = [
        r["v"]
        for r in rows(views, "SELECT fields['kafka_version'] AS v FROM events WHERE event_type = 'kafka_version'")
    ]
    ranges = [row["kafka_versions"] for row in rows(views, "SELECT kafka_versions FROM log_files")]
    release = printed_release(versions) or lowest_release(ranges) or Release(2, 4)
    of_partition: Groups = defaultdict(list)
    of_controller: Groups = defaultdict(list)
    wanted = (
        *request_verdicts.LINES,
        *reassignment_steps.LINES,
        deletion_verdicts.REPLICA_CHANGE,
        *rebalance_verdicts.LINES,
    )
    query = (
        f"SELECT {_us('at')}, node_id, file_id, line, logger, message, topic, partition, event_type FROM events "
        f'WHERE event_type IN {wanted!r} AND node_id IS NOT NULL ORDER BY events."at", line, file_id'
    )
    for record in rows(views, query):
        at, node = record["at"], record["node_id"]
        known = registered.get(node, [])
        came = bisect_right(known, at + DOUBT_US)
        whole = {
            **record, "life": bisect_right(starts.get(node, []), at), "registered_at": known[came - 1] if came else None
        }  # fmt: skip
        if record["event_type"] in rebalance_verdicts.LINES:
            of_controller[(node,)].append(whole)
        elif record["topic"] is not None and record["partition"] is not None:
            incarnations = [number for since, number in begun[record["topic"]] if since <= at]
            of_partition[record["topic"], record["partition"], max(incarnations, default=0)].append(whole)
    return of_partition, of_controller, release


def violated(records: Records, release: Release, *, is_rebalance: bool) -> set[str]:
    """The rules that lines violate."""
    lines = rows_of(records)
    if is_rebalance:
        verdicts = [verdict for verdict, _, _ in rebalance_verdicts.judge_rebalances(lines, [release])]
    else:
        verdicts = [judged.verdict for judged in request_verdicts.judge_requests(lines, [release])]
        verdicts += [verdict for verdict, _, _ in deletion_verdicts.judge_deletion(lines, [release])]
        verdicts += [judged.verdict for judged in reassignment_steps.judge_steps(lines)]
    return {verdict.rule for verdict in verdicts if verdict.verdict == VIOLATED}


def mutants(records: Records, kinds: tuple[LineKind, ...]) -> Iterator[tuple[LineKind, Records]]:
    for kind in kinds:
        for mutant in kind.edits(records):
            yield kind, mutant


def main() -> None:
    counts: Counter[str] = Counter()
    right: Counter[str] = Counter()
    false: list[str] = []
    for root in sys.argv[1:]:
        with open_views(root, only=["log_files", "events", "broker_timeline", "topic_timeline"], naive=True) as views:
            of_partition, of_controller, release = groups(views)
        for of_all, kinds in ((of_partition, REQUESTS), (of_controller, REBALANCES)):
            for name, records in of_all.items():
                is_rebalance = kinds is REBALANCES
                false += [f"{root} {name} {rule}" for rule in violated(records, release, is_rebalance=is_rebalance)]
                for kind, mutant in mutants(records, kinds):
                    counts[kind.name] += 1
                    right[kind.name] += kind.rule in violated(mutant, release, is_rebalance=is_rebalance)
    print(f"{'kind':<60}{'mutants':>9}{'right':>9}")
    for kind_name in sorted(counts):
        print(f"{kind_name:<60}{counts[kind_name]:>9,}{right[kind_name]:>9,}")
    share = right.total() / max(counts.total(), 1)
    print(f"{len(counts)} kinds, {counts.total():,} mutants, {share:.4f} flagged by the right rule; unspoiled: {false}")
    if share < GOAL or false:
        sys.exit(1)


if __name__ == "__main__":
    main()
