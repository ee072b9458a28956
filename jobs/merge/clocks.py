"""`merge --skew auto`: how far the nodes' clocks are apart, estimated as for the timelines, and the sentence on it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import ceil, inf
from typing import TYPE_CHECKING

import numpy as np

from udfs.merge.record import Record
from udfs.merge.topic_filter import rows_with
from udfs.reconstruct.clock_pairs import CLOCK_EVENTS, ClockPairs
from udfs.reconstruct.clock_skew import ClockCorrection, ClockSkew, clock_corrections, clock_skews
from udfs.rules.lookup import rules_about
from udfs.rules.subjects import SUBJECTS

if TYPE_CHECKING:
    from jobs.merge.log import Log
    from udfs.merge.block import Block


def estimated(blocks: Iterable[tuple[Log, Block]]) -> tuple[dict[int, ClockCorrection], str]:
    """Corrections of the nodes' clocks, and a sentence on them. `blocks`: all records, with their lines."""
    pairs, nodes, logs_of_no_node = ClockPairs(), set(), set()
    loggers = sorted({*_loggers()})
    for log, block in blocks:
        assert block.lines is not None  # they were asked for
        if log.node is None:
            logs_of_no_node.add(log.name)
        else:
            nodes.add(log.node)
        # of the usual layout, which names its loggers, most records need not be parsed
        rows: Iterable[int] = sorted(rows_with(block, loggers)) if log.layout is None else range(len(block))
        for row in rows:
            record = Record(block.raw(row), log.layout, log.node)
            event = record.event
            if event is not None and event["event_type"] in CLOCK_EVENTS and record.writer is not None:
                pairs.add(event, record.writer, log.name, int(block.lines[row]), int(block.times[row]))
    bounds = pairs.skew_bounds()
    skews = clock_skews(bounds)
    corrections = clock_corrections(bounds, skews)
    sentence = clock_sentence(skews, corrections, sum(bound.pairs for bound in bounds), nodes)
    if logs_of_no_node:
        names = ", ".join(sorted(logs_of_no_node)[:_NAMED]) + (" and others" if len(logs_of_no_node) > _NAMED else "")
        sentence += f"; the node of {names} is unknown: times not corrected"
    return corrections, f"{sentence}."


_NAMED = 3


def _loggers() -> Iterator[bytes]:
    """Those whose records bound clock skews."""
    for subject in SUBJECTS:
        for rule in rules_about(subject):
            if rule.event_type in CLOCK_EVENTS:
                yield from (logger.encode() for logger in rule.loggers)


def clock_sentence(
    skews: Mapping[int, ClockSkew], corrections: Mapping[int, ClockCorrection], pairs: int, nodes: Collection[int]
) -> str:
    """Which clocks are corrected by how much, which show no skew, which are inconsistent, which are unknown.

    `pairs`: how many pairs of lines bound them; `nodes`: all that logged.
    """
    rest = sorted({*nodes} - skews.keys())
    if not skews:
        return (
            f"Clocks: nothing compares {_nodes(rest)} with other nodes: times not corrected"
            if rest
            else "Clocks: no log names its node: times not corrected"
        )
    bounds = {node: _bounds(skew) for node, skew in skews.items() if node not in corrections}
    inconsistent = sorted(node for node, sides in bounds.items() if sides is None)
    bounded = {node: sides for node, sides in bounds.items() if sides is not None}
    without_skew = {node: sides for node, sides in bounded.items() if inf not in sides}
    parts = [_corrected(skews[node], correction) for node, correction in sorted(corrections.items())]
    if inconsistent:
        parts.append(f"clocks of {_nodes(inconsistent)} are inconsistent, as if set meanwhile: times not corrected")
    for node, (behind, ahead) in sorted(bounded.items()):
        if node not in without_skew:
            reference = skews[node].reference
            known, unknown = (
                (f"{behind:,} ms behind", "ahead") if ahead == inf else (f"{ahead:,} ms ahead of", "behind")
            )
            parts.append(
                f"node {node} is at most {known} node {reference}, how far {unknown} is unknown: times not corrected"
            )
    if len(without_skew) > 1:
        within = max(max(sides) for sides in without_skew.values())
        reference = next(iter(skews.values())).reference
        parts.append(
            f"no clock skew detected between {_nodes(sorted(without_skew))}, each within {within:,} ms of node "
            f"{reference}"
        )
    if rest:
        parts.append(f"nothing compares {_nodes(rest)} with the others: times not corrected")
    return f"Clocks ({pairs:,} line {'pair' if pairs == 1 else 'pairs'}): {'; '.join(parts)}"


def _bounds(skew: ClockSkew) -> tuple[float, float] | None:
    """By how many ms the clock may be behind the reference's, and ahead of it, at any time; None if inconsistent."""
    if skew.least is None or skew.most is None:
        return None
    behind, ahead = -float(skew.least.min()), float(skew.most.max())
    if inf in (behind, ahead):  # where it is bounded best
        behind, ahead = -float(skew.least.max()), float(skew.most.min())
    return _ceil_ms(behind), _ceil_ms(ahead)


def _ceil_ms(micros: float) -> float:
    """Whole milliseconds that are not less; infinite of what is."""
    return micros if micros == inf else ceil(micros / 1000)


def _corrected(skew: ClockSkew, correction: ClockCorrection) -> str:
    """`node 3 was ahead of node 1 by 300,000 to 300,030 ms, give or take 9 ms, which is taken off`."""
    assert skew.least is not None  # what is corrected is consistent
    assert skew.most is not None
    low, high = min(correction.ahead), max(correction.ahead)
    word, done = ("ahead of", "taken off") if high > 0 else ("behind", "added")
    low, high = sorted(round(abs(ahead) / 1000) for ahead in (low, high))
    span = f"{low:,} ms" if low == high else f"{low:,} to {high:,} ms"
    off = _ceil_ms(float(np.maximum(skew.most - skew.applied, skew.applied - skew.least).max()))
    sure = "or more" if off == inf else f"give or take {off:,} ms"
    return f"node {skew.node} was {word} node {skew.reference} by {span}, {sure}, which is {done}"


def _nodes(numbers: Sequence[int]) -> str:
    return f"node {numbers[0]}" if len(numbers) == 1 else f"nodes {', '.join(map(str, numbers))}"
