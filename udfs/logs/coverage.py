"""Log coverage: from when to when which node's log of which kind is there, and its gaps. A time without logs is not a
time without change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from udfs.logs.arrays import Longs

TOLERANCE = timedelta(hours=1)
"""A silence up to this long is no gap. Kafka's logs rotate by the hour, so that a missing file leaves a longer one; and
quiet brokers log something about once in ten minutes."""

DUMP = "metadata_dump"  # one log of the whole cluster: silence in it means that nothing changed
EXPECTED = ("state_change", "controller", "server")
_LONG_LIST = 8


class CoverageSpan(NamedTuple):
    """A time in which a node's log of one kind is there; both ends are records. `node_id` None: unknown."""

    node_id: int | None
    kind: str
    since: datetime
    until: datetime
    records: int


Interval = tuple[datetime, datetime]
TimeSpan = tuple[int, int, int]
"""Since and until in microseconds, and the number of records, of one node and kind."""


# ---- what is there --------------------------------------------------------------------------------------------------
def time_spans(micros: Longs, tolerance: timedelta = TOLERANCE) -> list[TimeSpan]:
    """Times of records, in any order -> since, until and number of each stretch without a longer silence, in order."""
    if not len(micros):
        return []
    silence = tolerance // timedelta(microseconds=1)
    first, last = int(micros.min()), int(micros.max())
    if last - first <= silence:
        return [(first, last, len(micros))]
    import numpy as np  # readers of tables need none of it

    times = np.sort(micros)
    begins = np.append(0, np.flatnonzero(np.diff(times) > silence) + 1)
    ends = np.append(begins[1:], len(times))
    firsts, lasts = times[begins], times[ends - 1]
    return list(zip(firsts.tolist(), lasts.tolist(), (ends - begins).tolist(), strict=True))


def joined_spans(parts: Iterable[TimeSpan], tolerance: timedelta = TOLERANCE) -> list[TimeSpan]:
    """Time spans of parts of a stream, in any order -> those of the whole, as `time_spans` would give them."""
    silence = tolerance // timedelta(microseconds=1)
    joined: list[TimeSpan] = []
    for since, until, number in sorted(parts):
        if joined and since - joined[-1][1] <= silence:
            begin, end, before = joined[-1]
            joined[-1] = begin, max(end, until), before + number
        else:
            joined.append((since, until, number))
    return joined


def merged_coverage(spans: Iterable[CoverageSpan], tolerance: timedelta = TOLERANCE) -> list[CoverageSpan]:
    """LOG_COVERAGE: the spans of each node and kind, joined where no longer silence is between them; in order."""
    joined: list[CoverageSpan] = []
    for span in sorted(spans, key=lambda s: (s.node_id is None, s.node_id or 0, s.kind, s.since, s.until)):
        last = joined[-1] if joined else None
        if last and last[:2] == span[:2] and span.since - last.until <= tolerance:
            joined[-1] = last._replace(until=max(last.until, span.until), records=last.records + span.records)
        else:
            joined.append(span)
    return joined


# ---- what is not ----------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class CoverageGap:
    """A time in which logs are missing, open at both ends. No nodes: of any node; no kind: of any kind."""

    nodes: tuple[int, ...]
    role: str
    kind: str | None
    since: datetime
    until: datetime
    never: bool = False  # there is no such log at any time


def coverage_gaps(
    coverage: Sequence[CoverageSpan],
    roles: Mapping[int, str] | None = None,
    tolerance: timedelta = TOLERANCE,
    most: int = 6,
    registered: Collection[int] = (),
) -> list[str]:
    """The gaps of one cluster's LOG_COVERAGE that matter, worst first, as sentences; beyond `most` only their number.

    `roles` names what a node is where it is no `broker`. A node's silence is a gap if most nodes of its role were not
    silent then; so a log in which nothing is written all night is none. `registered`: see `unlogged_brokers`.
    """
    gaps = find_gaps(coverage, roles or {}, tolerance, registered)
    spans = [span for span in coverage if span.kind != DUMP]
    days = {day.date() for span in spans for day in (span.since, span.until)}
    since, until = (min(s.since for s in spans), max(s.until for s in spans)) if spans else (None, None)
    clock = "%H:%M" if len(days) == 1 else "%Y-%m-%d %H:%M"
    clock += "" if tolerance >= timedelta(minutes=10) else ":%S"
    sentences = [_sentence(gap, since, until, clock) for gap in gaps[:most]]
    return [*sentences, f"and {len(gaps) - most} more gaps"] if len(gaps) > most else sentences


def coverage_gaps_at(
    coverage: Sequence[CoverageSpan],
    at: datetime,
    roles: Mapping[int, str] | None = None,
    tolerance: timedelta = TOLERANCE,
    registered: Collection[int] = (),
) -> list[str]:
    """Those of `coverage_gaps` in which a moment lies, also logs that are there at no time."""
    clock = "%Y-%m-%d %H:%M"
    since, until = min((s.since for s in coverage), default=None), max((s.until for s in coverage), default=None)
    gaps = find_gaps(coverage, roles or {}, tolerance, registered)
    return [_sentence(gap, since, until, clock) for gap in gaps if gap.never or gap.since < at < gap.until]


def unlogged_brokers(coverage: Iterable[CoverageSpan], registered: Iterable[int]) -> list[int]:
    """Brokers that controllers `registered`, and of which no log is there at any time, in order.

    None where a log's node is unknown, as it may be theirs; nor where a dump, which tells of all of them, is there and
    no broker's own log is, as then the dump was chosen in their place.
    """
    spans = list(coverage)
    nodes = {span.node_id for span in spans if span.kind != DUMP}
    brokers = {*registered}
    is_dump_chosen = any(span.kind == DUMP for span in spans) and not brokers & nodes
    return [] if not nodes or None in nodes or is_dump_chosen else sorted(brokers - nodes)


def find_gaps(
    coverage: Sequence[CoverageSpan],
    roles: Mapping[int, str],
    tolerance: timedelta = TOLERANCE,
    registered: Collection[int] = (),
) -> list[CoverageGap]:
    """The gaps of `coverage_gaps`, worst first: of the cluster, of whole nodes, of kinds; longer ones first."""
    spans = [span for span in coverage if span.kind != DUMP]
    if not spans:
        return []
    whole = min(span.since for span in spans), max(span.until for span in spans)
    nodes = sorted({span.node_id for span in spans if span.node_id is not None})
    kinds = sorted({span.kind for span in spans})

    def there(node: int | None = None, kind: str | None = None) -> list[Interval]:
        """When there are logs of this node (None: of any) and this kind."""
        some = [s for s in spans if node in (None, s.node_id) and kind in (None, s.kind)]
        return _union([(s.since, s.until) for s in some], tolerance)

    by_node = {node: there(node) for node in nodes}
    by_kind = {(node, kind): there(node, kind) for node in nodes for kind in kinds}
    silent = _gaps(whole, there(), tolerance)
    general = [CoverageGap((), "node", None, *gap) for gap in silent]
    if not any(span.kind == DUMP for span in coverage):
        general += [CoverageGap((), "node", kind, *whole, never=True) for kind in EXPECTED if kind not in kinds]
    if "controller" in kinds:  # only the active one writes much, and each change of leaders makes it write
        quiet = _less(_gaps(whole, there(kind="controller"), tolerance), silent, tolerance)
        changed = [one for (_, kind), one in by_kind.items() if kind == "state_change" and one]
        general += [CoverageGap((), "node", "controller", *gap) for gap in quiet if _most(changed, gap)]
    never = unlogged_brokers(coverage, registered)
    absent = [CoverageGap((node,), "broker", None, *whole, never=True) for node in never]
    partial: list[CoverageGap] = []
    for node in nodes:
        others = [other for other in nodes if other != node and _role(roles, other) == _role(roles, node)]
        gaps = _less(_gaps(whole, by_node[node], tolerance), silent, tolerance)
        away = [gap for gap in gaps if _most([by_node[other] for other in others], gap)]
        absent += [CoverageGap((node,), _role(roles, node), None, *gap) for gap in away]
        for kind in kinds:
            if kind == "controller":
                continue
            have = [by_kind[other, kind] for other in others]
            if not by_kind[node, kind]:
                if 0 < len(have) <= 2 * sum(map(bool, have)):
                    partial.append(CoverageGap((node,), _role(roles, node), kind, *whole, never=True))
                continue
            quiet = _less(_gaps(whole, by_kind[node, kind], tolerance), silent + away, tolerance)
            partial += [CoverageGap((node,), _role(roles, node), kind, *gap) for gap in quiet if _most(have, gap)]
    return [coverage_gap for some in (general, absent, partial) for coverage_gap in _grouped(some, tolerance)]


def _role(roles: Mapping[int, str], node: int) -> str:
    return roles.get(node, "broker")


def _most(others: Collection[Sequence[Interval]], gap: Interval) -> bool:
    """Whether at least half of the others, and one, were not silent in a gap, its edges left out.

    There all of them may have written about the same thing, a moment apart, before all fell silent.
    """
    edge = (gap[1] - gap[0]) / 12
    since, until = gap[0] + edge, gap[1] - edge
    return 0 < len(others) <= 2 * sum(any(a < until and b > since for a, b in one) for one in others)


def _union(intervals: Iterable[Interval], tolerance: timedelta) -> list[Interval]:
    """Intervals joined where no more than `tolerance` is between them, in order."""
    joined: list[Interval] = []
    for since, until in sorted(intervals):
        if joined and since - joined[-1][1] <= tolerance:
            joined[-1] = joined[-1][0], max(joined[-1][1], until)
        else:
            joined.append((since, until))
    return joined


def _gaps(whole: Interval, intervals: Sequence[Interval], tolerance: timedelta) -> list[Interval]:
    """What of a whole no interval covers, if longer than `tolerance`; intervals in order, apart from each other."""
    begins = [whole[0], *(until for _, until in intervals)]
    ends = [*(since for since, _ in intervals), whole[1]]
    return [(a, b) for a, b in zip(begins, ends, strict=True) if b - a > tolerance]


def _less(gaps: Iterable[Interval], others: Iterable[Interval], tolerance: timedelta) -> list[Interval]:
    """Gaps without other intervals."""
    apart = _union(others, timedelta(0))
    return [
        part
        for a, b in gaps
        for part in _gaps((a, b), [(max(a, c), min(b, d)) for c, d in apart if c < b and d > a], tolerance)
    ]


def _grouped(gaps: Iterable[CoverageGap], tolerance: timedelta) -> list[CoverageGap]:
    """Gaps of several nodes at about the same time as one, in which all of them are silent; longest first."""
    groups: list[CoverageGap] = []
    for gap in sorted(gaps, key=lambda h: (h.since, h.until, h.nodes)):
        for i, group in enumerate(groups):
            same = (group.role, group.kind, group.never) == (gap.role, gap.kind, gap.never)
            near = abs(group.since - gap.since) <= tolerance and abs(group.until - gap.until) <= tolerance
            both = max(group.since, gap.since), min(group.until, gap.until)
            if same and near and gap.nodes and both[1] - both[0] > tolerance:
                groups[i] = replace(group, nodes=group.nodes + gap.nodes, since=both[0], until=both[1])
                break
        else:
            groups.append(gap)
    return sorted(groups, key=lambda h: (not h.never, h.since - h.until, -len(h.nodes), h.since, h.nodes))


def _sentence(gap: CoverageGap, since: datetime | None, until: datetime | None, clock: str) -> str:
    """`no state-change log of broker 3 between 02:10 and 05:00 (nothing written, or not given)`."""
    what = "log" if gap.kind is None else f"{gap.kind.replace('_', '-')} log"
    if gap.never:
        when = ""
    elif gap.since == since:
        when = f" before {gap.until.strftime(clock)}"
    elif gap.until == until:
        when = f" after {gap.since.strftime(clock)}"
    else:
        when = f" between {gap.since.strftime(clock)} and {gap.until.strftime(clock)}"
    if gap.never:
        why = "not given"
    else:
        why = "down, or not given" if gap.nodes and not gap.kind else "nothing written, or not given"
    return f"no {what} of {_names(gap)}{when} ({why})"


def _names(gap: CoverageGap) -> str:
    """`broker 3`, `brokers 1, 2 and 3`, `any node`."""
    if not gap.nodes:
        return "any node"
    names = [str(node) for node in sorted(gap.nodes)]
    if len(names) == 1:
        return f"{gap.role} {names[0]}"
    if len(names) > _LONG_LIST:
        names = [*names[: _LONG_LIST - 1], f"{len(names) - _LONG_LIST + 1} more"]
    return f"{gap.role}s {', '.join(names[:-1])} and {names[-1]}"
