"""A stream's account: what became of each of its bytes, and what its records tell of it. Rows of `log_files` as dicts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from jobs.ingest.overlaps import Moved
from udfs.kafka.releases import Release
from udfs.logs.coverage import CoverageSpan, merged_coverage
from udfs.logs.paths import node_of_path

Row = dict[str, Any]
FINEST = timedelta(minutes=1)
"""Silences up to this length are not kept, whatever the tolerance; bounds the spans of a stream."""
COUNTED = ("event_bytes", "detail_bytes", "reject_bytes", "other_bytes", "event_lines", "reject_lines")
"""Numbers that the reader of a range gives."""


@dataclass
class Told:
    """What the readers of a stream's ranges tell of it, besides numbers."""

    nodes: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """By channel, how many records name whom as their writer: `broker 3`, `controller 100`."""
    kinds: Counter[str] = field(default_factory=Counter)
    """Records in scope of each kind."""
    spans: defaultdict[str, list[tuple[str, int, int, int]]] = field(default_factory=lambda: defaultdict(list))
    """By channel: kind, number of records, first and last time, microseconds UTC."""
    versions: set[str] = field(default_factory=set)
    """Ranges of the releases that write its messages: `2.4.0..2.5.1`."""


def add(row: Row, told: Told, account: Mapping[str, str]) -> None:
    """Add the account of one range and channel to its stream's."""
    for name in COUNTED:
        row[name] += int(account[name])
    for name, pick in (("first_at", min), ("last_at", max)):
        if name in account:
            at = _time(int(account[name]))
            row[name] = pick(row[name], at) if row[name] else at
    told.nodes[account["channel"]].update(_counts(account["nodes"]))
    told.kinds.update(_counts(account["kinds"]))
    for part in filter(None, account["spans"].split(",")):
        kind, _, numbers = part.partition("=")
        records, first, last = map(int, numbers.split(":"))
        told.spans[account["channel"]].append((kind, records, first, last))
    told.versions.update(filter(None, account["versions"].split(",")))


def _time(micros: int) -> datetime:
    """UTC, whole milliseconds; without a zone, as Spark takes it."""
    return datetime(1970, 1, 1) + timedelta(milliseconds=micros // 1000)


def _counts(text: str) -> dict[str, int]:
    """`broker 1=3,broker 2=1` -> numbers by name."""
    return {name: int(count) for name, _, count in (part.rpartition("=") for part in text.split(",") if part)}


def finish(row: Row, told: Told) -> None:
    """What follows from all ranges of a stream: its nodes, their role, its kind, the releases it can be from."""
    names = Counter[str]()
    for by_channel in told.nodes.values():
        names.update(by_channel)
    row["node_ids"] = sorted({int(name.split()[1]) for name in names})
    roles = {name.split()[0] for name in names}
    row["role"] = "broker" if "broker" in roles else "controller" if roles else None
    kinds = +told.kinds
    if not kinds:
        for some in told.spans.values():
            for kind, records, *_ in some:
                kinds[kind] += records
    row["kind"] = max(sorted(kinds), key=kinds.__getitem__, default=None)
    row["channels"] = sorted(filter(None, told.nodes))
    row["kafka_versions"] = release_range(told.versions)
    row["findings"] = sorted({*row["findings"], *_several_writers(told)})


def _several_writers(told: Told) -> list[str]:
    """A sentence for each output that several nodes write to: processes that share a file overwrite each other's lines."""
    found = []
    for channel, names in sorted(told.nodes.items()):
        nodes = sorted({int(name.split()[1]) for name in names})
        if len(nodes) > 1:
            what = f"its channel {channel}" if channel else "it"
            listed = ", ".join(map(str, nodes))
            found.append(f"several nodes write to {what}: {listed}; records may be missing")
    return found


def spans(told: Told, nodes: Mapping[str, int | None]) -> list[dict[str, Any]]:
    """When the stream has records of which kind, as `log_files.spans` holds it; `nodes` by channel."""
    found = [
        CoverageSpan(nodes.get(channel), kind, _time(first), _time(last), records)
        for channel, some in told.spans.items()
        for kind, records, first, last in some
    ]
    return [span._asdict() for span in merged_coverage(found, FINEST)]


def move(row: Row, moved: Moved) -> None:
    """Take records that another stream has from a stream's account."""
    for name in ("event_bytes", "detail_bytes", "reject_bytes", "event_lines", "reject_lines"):
        row[name] -= getattr(moved, name)
    row["duplicate_bytes"] += moved.duplicate_bytes


def default_nodes(row: Row, told: Told) -> dict[str, int | None]:
    """By channel the node of records that do not name it: the only one that the channel's other records name; where they
    name none, that of the channel's name or the file's path."""
    channels = {channel: names for channel, names in told.nodes.items() if channel or len(told.nodes) == 1}
    return {
        channel: default_node(sorted({int(name.split()[1]) for name in names}), channel, row["path"])
        for channel, names in channels.items()
    }


def default_node(named: list[int], channel: str, path: str) -> int | None:
    """The node of a channel's records that name none."""
    if named:
        return named[0] if len(named) == 1 else None
    return node_of_path(f"{channel}/-") if channel else node_of_path(path)


def release_range(versions: Iterable[str]) -> str | None:
    """The releases that write all of the given `since..until` shapes, `2.4.0..2.5.1`; None if no shape or no release does.

    >>> release_range({"1.1.0..3.1.2", "2.4.0.."})
    '2.4.0..3.1.2'
    """
    pairs = [v.split("..") for v in versions]
    if not pairs:
        return None
    since = max((s for s, _ in pairs), key=Release.parse)
    ends = [u for _, u in pairs if u]
    until = min(ends, key=Release.parse) if ends else ""
    return f"{since}..{until}" if not until or Release.parse(since) <= Release.parse(until) else None
