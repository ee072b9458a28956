"""Verdicts of one rule or one topic in words: what `replay --rule`, `--topic` and `--fail-on` print and go by."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from jobs.read.create_views import literal, rows
from jobs.read.views import open_views
from udfs.errors import BadInput
from udfs.kafka.decision_rules import RULES
from udfs.kafka.judgements import HOLDS, UNKNOWN, VIOLATED

MOST = 20
"""Most verdicts that are printed in full, of each kind."""


def check_filters(rule: str | None, topic: str | None) -> None:
    """Raises BadInput for a rule that there is none of, and for a topic that is no regular expression."""
    if rule is not None and rule not in RULES:
        raise BadInput(f"There is no rule {rule}; docs/invariants.md has them: {', '.join(RULES)}.")
    try:
        re.compile(topic or "")
    except re.error as error:
        raise BadInput(f"--topic {topic!r} is no regular expression: {error}.") from None


def selected(rule: str | None, topic: str | None) -> str:
    """The condition of verdicts on some decisions; a topic is matched as a whole, as kafka-topics does."""
    conditions = [f"rule = {literal(rule)}"] if rule is not None else []
    if topic is not None:
        conditions.append(f"regexp_full_match(topic, {literal(topic)})")
    return " AND ".join(conditions) or "true"


def verdict_lines(root: str, rule: str | None, topic: str | None) -> tuple[list[str], int]:
    """The published verdicts of a rule (null: of all) on a topic's decisions (null: on all), and how many are violated.

    First how many there are, then those that are violated and, if a filter is set, those that are unknown, in order of
    time.
    """
    condition = selected(rule, topic)
    shown = [VIOLATED, UNKNOWN] if rule is not None or topic is not None else [VIOLATED]
    with open_views(root, only=["verdicts"], naive=True) as views:
        counts = "SELECT cluster, verdict, count(*) AS total FROM verdicts"
        totals = [*rows(views, f"{counts} WHERE {condition} GROUP BY ALL ORDER BY ALL")]
        lines = _totals(totals)
        for verdict in shown:
            query = f"SELECT * FROM verdicts WHERE {condition} AND verdict = '{verdict}'"
            first = [*rows(views, f'{query} ORDER BY cluster, "at" NULLS FIRST, rule, subject LIMIT {MOST}')]
            total = sum(row["total"] for row in totals if row["verdict"] == verdict)
            lines += _in_full(first, total)
    return lines, sum(row["total"] for row in totals if row["verdict"] == VIOLATED)


def _totals(totals: Sequence[dict[str, Any]]) -> list[str]:
    """`Cluster a: 12 hold, 0 are violated, 1 is unknown`, a line for each cluster."""
    by_cluster: dict[str, dict[str, int]] = {}
    for row in totals:
        by_cluster.setdefault(row["cluster"], {})[row["verdict"]] = row["total"]
    return [
        f"Cluster {cluster}: {of_cluster.get(HOLDS, 0):,} hold, {of_cluster.get(VIOLATED, 0):,} violated, "
        f"{of_cluster.get(UNKNOWN, 0):,} unknown"
        for cluster, of_cluster in by_cluster.items()
    ] or ["No decision was judged by this."]


def _in_full(first: Sequence[dict[str, Any]], total: int) -> list[str]:
    lines = [
        f"  {row['verdict']}: {row['rule']}, {row['subject']}, {row['at']:%F %H:%M:%S.%f}"[:-3]
        + f" ({row['cluster']})\n    {row['explanation']}"
        for row in first
    ]
    return [*lines, f"  and {total - len(first):,} more"] if total > len(first) else lines
