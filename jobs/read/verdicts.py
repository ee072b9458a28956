"""Verdicts of one rule or one topic in words: what `replay --rule`, `--topic` and `--fail-on` print and go by."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.read.create_views import literal, rows
from jobs.read.views import open_views
from udfs.errors import BadInput
from udfs.kafka.decision_rules import RULES
from udfs.kafka.judgements import HOLDS, UNKNOWN, VIOLATED

Row = Mapping[str, Any]
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


@dataclass(frozen=True)
class AskedVerdicts:
    """The verdicts of a rule or on a topic's decisions."""

    totals: Sequence[Row]
    """How many there are, by cluster and verdict."""
    first: Mapping[str, Sequence[Row]]
    """By verdict the first rows of VERDICTS, at most MOST: those that are violated and, if a filter is set, unknown."""

    def total(self, verdict: str) -> int:
        """How many of a verdict there are in all clusters."""
        return sum(row["total"] for row in self.totals if row["verdict"] == verdict)

    @property
    def violated(self) -> int:
        """How many are violated."""
        return self.total(VIOLATED)


def asked_verdicts(root: str, rule: str | None, topic: str | None) -> AskedVerdicts:
    """The published verdicts of a rule (null: of all) on a topic's decisions (null: on all), in order of time."""
    condition = selected(rule, topic)
    shown = [VIOLATED, UNKNOWN] if rule is not None or topic is not None else [VIOLATED]
    with open_views(root, only=["verdicts"], naive=True) as views:
        counts = "SELECT cluster, verdict, count(*) AS total FROM verdicts"
        totals = [*rows(views, f"{counts} WHERE {condition} GROUP BY ALL ORDER BY ALL")]
        query = f"SELECT * FROM verdicts WHERE {condition} AND verdict ="
        order = f'ORDER BY cluster, "at" NULLS FIRST, rule, subject LIMIT {MOST}'
        return AskedVerdicts(totals, {verdict: [*rows(views, f"{query} '{verdict}' {order}")] for verdict in shown})


def verdict_lines(asked: AskedVerdicts) -> list[str]:
    """First how many verdicts there are, then those that are listed."""
    lines = _totals(asked.totals)
    for verdict, first in asked.first.items():
        lines += _in_full(first, asked.total(verdict))
    return lines


def verdict_data(asked: AskedVerdicts) -> dict[str, dict[str, Any]]:
    """The same for programs, by cluster: `asked.counts` by verdict, and in `asked.first` those that are listed."""
    names = ("verdict", "rule", "subject", "at", "explanation")
    listed = [row for first in asked.first.values() for row in first]
    return {
        cluster: {
            "asked": {
                "counts": {row["verdict"]: row["total"] for row in asked.totals if row["cluster"] == cluster},
                "first": [{name: row[name] for name in names} for row in listed if row["cluster"] == cluster],
            }
        }
        for cluster in dict.fromkeys(row["cluster"] for row in asked.totals)
    }


def _totals(totals: Sequence[Row]) -> list[str]:
    """`Cluster a: 12 hold, 0 are violated, 1 is unknown`, a line for each cluster."""
    by_cluster: dict[str, dict[str, int]] = {}
    for row in totals:
        by_cluster.setdefault(row["cluster"], {})[row["verdict"]] = row["total"]
    return [
        f"Cluster {cluster}: {of_cluster.get(HOLDS, 0):,} hold, {of_cluster.get(VIOLATED, 0):,} violated, "
        f"{of_cluster.get(UNKNOWN, 0):,} unknown"
        for cluster, of_cluster in by_cluster.items()
    ] or ["No decision was judged by this."]


def _in_full(first: Sequence[Row], total: int) -> list[str]:
    lines = [
        f"  {row['verdict']}: {row['rule']}, {row['subject']}, {row['at']:%F %H:%M:%S.%f}"[:-3]
        + f" ({row['cluster']})\n    {row['explanation']}"
        for row in first
    ]
    return [*lines, f"  and {total - len(first):,} more"] if total > len(first) else lines
