"""`merge --skew auto`: how far the nodes' clocks are apart, by what the timelines go by, and how that is told."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import ceil, inf
from typing import TYPE_CHECKING

import numpy as np

from udfs.merge.filters import Record, rows_with
from udfs.reconstruct.clock_pairs import CLOCK_EVENTS, ClockPairs
from udfs.reconstruct.clock_skew import ClockCorrection, ClockSkew, clock_corrections, clock_skews
from udfs.rules.lookup import rules_about
from udfs.rules.subjects import SUBJECTS

if TYPE_CHECKING:
    from jobs.merge.logs import Log
    from udfs.merge.blocks import Block


def estimated(blocks: Iterable[tuple[Log, Block]]) -> tuple[dict[int, ClockCorrection], str]:
    """What is taken off the times of which nodes, and that in a sentence. `blocks`: all records, with their lines."""
    pairs, nodes, unknown = ClockPairs(), set(), set()
    loggers = sorted({*_loggers()})
    for log, block in blocks:
        assert block.lines is not None  # they were asked for
        if log.node is None:
            unknown.add(log.name)
        else:
            nodes.add(log.node)
        # of the usual layout, which names its loggers, most records need not be read
        rows: Iterable[int] = sorted(rows_with(block, loggers)) if log.layout is None else range(len(block))
        for row in rows:
            record = Record(block.raw(row), log.layout, log.node)
            if record.told is not None and record.told["event_type"] in CLOCK_EVENTS and record.writer is not None:
                pairs.add(record.told, record.writer, log.name, int(block.lines[row]), int(block.times[row]))
    limits = pairs.skew_bounds()
    found = clock_skews(limits)
    taken_off = clock_corrections(limits, found)
    told = told_clocks(found, taken_off, sum(limit.pairs for limit in limits), nodes)
    if unknown:
        told += f"; {', '.join(sorted(unknown)[:_NAMED])}{' and more' if len(unknown) > _NAMED else ''} of unknown nodes: own times are kept"
    return taken_off, f"{told}."


_NAMED = 3


def _loggers() -> Iterator[bytes]:
    """Those in whose records anything is told of clocks."""
    for subject in SUBJECTS:
        for rule in rules_about(subject):
            if rule.event_type in CLOCK_EVENTS:
                yield from (logger.encode() for logger in rule.loggers)


def told_clocks(
    found: Mapping[int, ClockSkew], taken_off: Mapping[int, ClockCorrection], pairs: int, nodes: Collection[int]
) -> str:
    """Which clocks are corrected by how much, which may agree, which contradict themselves, and of which nothing is known.

    `pairs`: how many pairs of lines tell it; `nodes`: all that logged.
    """
    rest = sorted({*nodes} - found.keys())
    if not found:
        return (
            f"Clocks: nothing compares {_nodes(rest)} with other nodes: own times are kept"
            if rest
            else "Clocks: no node is known"
        )
    bounds = {node: _bounds(course) for node, course in found.items() if node not in taken_off}
    torn = sorted(node for node, known in bounds.items() if known is None)
    sides = {node: known for node, known in bounds.items() if known is not None}
    agree = {node: known for node, known in sides.items() if inf not in known}
    parts = [_corrected(found[node], one) for node, one in sorted(taken_off.items())]
    if torn:
        parts.append(f"what compares {_nodes(torn)} contradicts itself, as if a clock had been set: own times are kept")
    for node, (behind, ahead) in sorted(sides.items()):
        if node not in agree:
            known = (
                f"behind node {found[node].reference} by {behind:,} ms"
                if ahead == inf
                else f"ahead of node {found[node].reference} by {ahead:,} ms"
            )
            parts.append(f"of node {node} is only known that it is {known} at most: own times are kept")
    if len(agree) > 1:
        within = max(max(known) for known in agree.values())
        reference = next(iter(found.values())).reference
        parts.append(f"{_nodes(sorted(agree))} may agree, each within {within:,} ms of node {reference}")
    if rest:
        parts.append(f"nothing compares {_nodes(rest)} with the others: own times are kept")
    return f"Clocks, by {pairs:,} {'pair' if pairs == 1 else 'pairs'} of lines: {'; '.join(parts)}"


def _bounds(course: ClockSkew) -> tuple[float, float] | None:
    """By how many ms the clock may be behind the reference's, and ahead of it, at any time; None if that contradicts itself."""
    if course.least is None or course.most is None:
        return None
    behind, ahead = -float(course.least.min()), float(course.most.max())
    if inf in (behind, ahead):  # what is known best
        behind, ahead = -float(course.least.max()), float(course.most.min())
    return _ceil_ms(behind), _ceil_ms(ahead)


def _ceil_ms(micros: float) -> float:
    """Whole milliseconds that are not less; infinite of what is."""
    return micros if micros == inf else ceil(micros / 1000)


def _corrected(course: ClockSkew, taken_off: ClockCorrection) -> str:
    """`node 3 was ahead of node 1 by 300,000 to 300,030 ms, give or take 9 ms, which is taken off`."""
    assert course.least is not None  # what is corrected does not contradict itself
    assert course.most is not None
    low, high = min(taken_off.ahead), max(taken_off.ahead)
    word, done = ("ahead of", "taken off") if high > 0 else ("behind", "added")
    low, high = sorted(round(abs(ahead) / 1000) for ahead in (low, high))
    span = f"{low:,} ms" if low == high else f"{low:,} to {high:,} ms"
    off = _ceil_ms(float(np.maximum(course.most - course.applied, course.applied - course.least).max()))
    sure = "or more" if off == inf else f"give or take {off:,} ms"
    return f"node {course.node} was {word} node {course.reference} by {span}, {sure}, which is {done}"


def _nodes(numbers: Sequence[int]) -> str:
    return f"node {numbers[0]}" if len(numbers) == 1 else f"nodes {', '.join(map(str, numbers))}"
