"""The automatic rebalance of leaders by ZooKeeper controllers: whether it was due, and left out. Plain functions over
rows as dicts.

After kafka.controller.KafkaController.checkAndTriggerAutoLeaderRebalance (from 0.8.1 on).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from udfs.kafka.decision_releases import releases_of
from udfs.kafka.judgements import HOLDS, UNKNOWN, VIOLATED, Finding
from udfs.kafka.releases import Release
from udfs.kafka.verdicts import Verdict, verdict_of

Line = Mapping[str, Any]
"""Columns: `event_type`, `at`, `node_id`, `file_id`, `line`; `broker`, `ratio`; `partitions` as `topic-partition`,
`preferred` the first replica of each of them, null elsewhere; `is_auto`: whether the line says that the rebalance asked
for an election, null if it does not say; `node_release`: what the controller's process printed as its version, null
unknown."""

CHECK, PREFERRED, NOT_PREFERRED = "auto_rebalance_check", "auto_rebalance_preferred_map", "auto_rebalance_not_preferred"
RATIO = "auto_rebalance_imbalance_ratio"
STARTED = ("preferred_election_started", "replica_election_started")
"""A controller begins elections that somebody asked for; the line lists all their partitions."""
LINES = (CHECK, PREFERRED, NOT_PREFERRED, RATIO, *STARTED)
"""Events that such lines are."""
RULE = "auto_rebalance"
THRESHOLD = 0.1
"""`leader.imbalance.per.broker.percentage`, by default 10."""
AT_ONCE_US = 1_000_000
"""An election that names nobody is one of the pass if it follows so soon: the rest of a pass takes milliseconds."""
_SETTING = "leader.imbalance.per.broker.percentage"


@dataclass
class _Check:
    """One broker in one pass of the rebalance; `must_print`: see `_must_print`; `elected`: the elections that it asked
    for; `next_ratio`: what the next pass over the broker finds, None if there is none."""

    line: Line
    broker: int | None
    ratio: float
    candidates: frozenset[str] | None
    preferred: int | None
    must_print: bool
    elected: list[Line] = field(default_factory=list)
    next_ratio: float | None = None


def judge_rebalances(
    lines: Sequence[Line], of_cluster: Sequence[Release]
) -> Iterator[tuple[Verdict, str, tuple[Line, ...]]]:
    """Each broker in each pass, from the lines of one controller in order, by the release that it had then: verdict,
    what it is about, lines. `of_cluster`: the releases that the cluster may have run.

    The setting is not logged: where a pass does not match its default it is violated only if no value explains it
    together with the others of that controller.
    """
    checks = list(_checks(lines, of_cluster))
    moved = [check.ratio for check in checks if check.elected]
    next_ratios: dict[int | None, float] = {}
    for check in reversed(checks):
        check.next_ratio = next_ratios.get(check.broker)
        next_ratios[check.broker] = check.ratio
    stayed = [check.ratio for check in checks if _is_left_out(check)]
    seen: dict[str, int] = {}
    for check in checks:
        verdict = _judge(check, min(moved, default=None), max(stayed, default=None))
        about = f"broker {check.broker}, imbalance {check.ratio:.3g}"
        seen[about] = seen.get(about, 0) + 1
        yield verdict, f"{about} no. {seen[about]}", (check.line, *check.elected[:1])


def _is_left_out(check: _Check) -> bool:
    """Whether a pass surely asked for no election: it logs none, and the next one finds the broker no better. Else
    the line of one may be lost."""
    is_no_better = check.next_ratio is not None and check.next_ratio >= check.ratio
    return not check.elected and check.must_print and is_no_better


def _must_print(line: Line, of_cluster: Sequence[Release]) -> bool:
    """Whether a rebalance that is due always logs the election that it asks for, in each release that it may be of;
    before 2.0 it was one for each partition whose preferred replica was alive, so none if that broker was gone."""
    return releases_of([line.get("node_release")], of_cluster)[0] >= Release(2)


def _checks(lines: Sequence[Line], of_cluster: Sequence[Release]) -> Iterator[_Check]:
    """Passes, broker by broker, with the elections that follow each before the next."""
    check: _Check | None = None
    candidates: frozenset[str] | None = None
    of_broker: int | None = None
    preferred: dict[int, int] | None = None
    counted_brokers: set[int | None] = set()
    for line in lines:
        kind = line["event_type"]
        if kind == CHECK or (kind == RATIO and line["broker"] in counted_brokers):
            # what was printed belongs to a pass before
            preferred, counted_brokers = None, set()
        if kind == NOT_PREFERRED:
            candidates, of_broker = frozenset(line["partitions"] or ()), line["broker"]
        elif kind == PREFERRED:
            firsts = line["preferred"] or []
            preferred, counted_brokers = {broker: firsts.count(broker) for broker in {*firsts}}, set()
        if kind in (CHECK, PREFERRED, NOT_PREFERRED, RATIO) and check is not None:
            yield check
            check = None
        if kind == RATIO and line["ratio"] is not None:
            if of_broker not in (None, line["broker"]):
                candidates = None  # of another broker: the line of this one is lost
            counted = None if preferred is None else preferred.get(line["broker"], 0)
            check = _Check(line, line["broker"], line["ratio"], candidates, counted, _must_print(line, of_cluster))
            candidates = None  # the next broker has its own, though their line may be lost
            counted_brokers.add(line["broker"])
        elif kind in STARTED and check is not None and _is_of(line, check):
            check.elected.append(line)
    if check is not None:
        yield check


def _is_of(line: Line, check: _Check) -> bool:
    """Whether an election is one that this pass may have asked for. From 2.0 on it asks for one of no partitions where
    none may move: replicas that are offline, topics that go, any reassignment under way. Where all partitions are led
    as preferred it asks for none: one that follows is of the next broker, whose line is lost."""
    if line["is_auto"] is not None:
        return bool(line["is_auto"]) and check.candidates != frozenset()
    if not line["partitions"]:
        return bool(0 <= line["at"] - check.line["at"] <= AT_ONCE_US)
    return set(line["partitions"]) <= (check.candidates or set())


def _judge(check: _Check, lowest_moved: float | None, highest_stayed: float | None) -> Verdict:
    """One pass over one broker: its ratio, and whether elections follow."""
    actual = f"ratio {check.ratio:.3g}, {'an election' if check.elected else 'no election'}"
    if check.candidates is not None and check.preferred:
        ratio = len(check.candidates) / check.preferred
        if abs(ratio - check.ratio) > 1e-6:
            return _verdict(VIOLATED, f"ratio {ratio:.3g}: {len(check.candidates)} of {check.preferred}", actual)
    outside = {name for line in check.elected for name in line["partitions"] or ()} - (check.candidates or set())
    if check.candidates is not None and outside:
        return _verdict(VIOLATED, "elections of partitions that another replica leads", f"one of {min(outside)}")
    is_due = check.ratio > THRESHOLD
    expected = f"{'an' if is_due else 'no'} election, with {THRESHOLD:.0%} as the limit"
    if is_due == bool(check.elected):
        return _verdict(HOLDS, expected, actual)
    if check.elected:
        contradicts = highest_stayed is not None and highest_stayed >= check.ratio
    else:
        contradicts = check.must_print and lowest_moved is not None and lowest_moved <= check.ratio
    if contradicts and (check.elected or _is_left_out(check)):
        return _verdict(VIOLATED, "elections above one limit, and none below it", actual)
    missing = _SETTING if check.must_print or not is_due else "live_brokers"
    missing = "what the next pass found" if contradicts else missing
    return _verdict(UNKNOWN, expected, actual, missing)


def _verdict(verdict: str, expected: str, actual: str, *missing: str) -> Verdict:
    return verdict_of(Finding(RULE, verdict, 0, expected, actual, missing))
