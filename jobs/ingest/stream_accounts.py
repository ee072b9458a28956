"""What the accounts of a stream's ranges add up to: its row of `log_files`, and who wrote its records."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from jobs.ingest.read_plan import COUNTED, LogFileRow
from udfs.kafka.releases import Release
from udfs.logs.coverage import CoverageSpan, merged_coverage
from udfs.logs.paths import log_folder, node_of_path

FINEST = timedelta(minutes=1)
"""Silences up to this length do not end a span, whatever the tolerance; this bounds the spans of a stream."""
Nodes = Mapping[str, Mapping[str, int | None]]
"""By stream and channel the node of records that name none."""
Account = tuple[str, Mapping[str, str]]
"""The account of a range and channel: its stream's file id, and its fields."""


def account_for(accounts: Iterable[Account], rows: Mapping[str, LogFileRow], to_read: Collection[str]) -> Nodes:
    """Complete the rows of streams that were read, by the accounts of their ranges; the nodes of all streams."""
    summaries: defaultdict[str, StreamSummary] = defaultdict(StreamSummary)
    for file_id, account in accounts:
        if file_id in to_read:
            add_account(rows[file_id], summaries[file_id], account)
    for file_id in to_read:
        complete_row(rows[file_id], summaries[file_id])
    folders = nodes_of_folders(rows.values())
    nodes: dict[str, Mapping[str, int | None]] = {}
    for file_id, row in rows.items():
        summary = summaries[file_id]
        if file_id not in to_read:
            # of a stream that was not read again: its nodes as in its row, as of one without channels
            summary.nodes[""] = Counter(f"node {number}" for number in row["node_ids"])
        of_folder = folders.get((row["cluster"], log_folder(row["path"]))) if file_id in to_read else None
        nodes[file_id] = default_nodes(row, summary, of_folder)
        if file_id in to_read:
            row["spans"] = spans_of(summary, nodes[file_id])
    return nodes


@dataclass
class StreamSummary:
    """What the accounts of a stream's ranges add up to, besides numbers."""

    nodes: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """By channel the writers that records name, `broker 3` or `controller 100`, with the number of these records."""
    kinds: Counter[str] = field(default_factory=Counter)
    """Records in scope of each kind."""
    spans: defaultdict[str, list[tuple[str, int, int, int]]] = field(default_factory=lambda: defaultdict(list))
    """By channel: kind, number of records, first and last time, microseconds UTC."""
    versions: set[str] = field(default_factory=set)
    """Ranges of the releases that write its messages: `2.4.0..2.5.1`."""
    drift: Counter[str] = field(default_factory=Counter)
    """Events by what no rule knows of them."""


def add_account(row: LogFileRow, summary: StreamSummary, account: Mapping[str, str]) -> None:
    """Add the account of one range and channel to its stream's."""
    for name in COUNTED:
        row[name] += int(account[name])
    for name, pick in (("first_at", min), ("last_at", max)):
        if name in account:
            at = _time(int(account[name]))
            row[name] = pick(row[name], at) if row[name] else at
    summary.nodes[account["channel"]].update(counts(account["nodes"]))
    summary.kinds.update(counts(account["kinds"]))
    summary.spans[account["channel"]] += account_spans(account)
    summary.versions.update(filter(None, account["versions"].split(",")))
    summary.drift.update(counts(account["drift"]))


def account_spans(account: Mapping[str, str]) -> list[tuple[str, int, int, int]]:
    """Kind, number of records, first and last time, microseconds UTC, of each span of an account."""
    spans = []
    for part in filter(None, account["spans"].split(",")):
        kind, _, numbers = part.partition("=")
        records, first, last = map(int, numbers.split(":"))
        spans.append((kind, records, first, last))
    return spans


def _time(micros: int) -> datetime:
    """UTC, whole milliseconds; without a zone, as Spark takes it."""
    return datetime(1970, 1, 1) + timedelta(milliseconds=micros // 1000)


def counts(text: str) -> dict[str, int]:
    """Counters of an account: `broker 1=3,broker 2=1` -> numbers by name."""
    return {name: int(count) for name, _, count in (part.rpartition("=") for part in text.split(",") if part)}


def joined_text(numbers: Mapping[str, int]) -> str:
    """The inverse of `counts`, names in order."""
    return ",".join(f"{name}={count}" for name, count in sorted(numbers.items()))


def complete_row(row: LogFileRow, summary: StreamSummary) -> None:
    """Add what follows from all ranges of a stream: its nodes, their role, its kind, the releases it can be from."""
    names = Counter[str]()
    for by_channel in summary.nodes.values():
        names.update(by_channel)
    row["node_ids"] = sorted({int(name.split()[1]) for name in names})
    roles = {name.split()[0] for name in names}
    row["role"] = "broker" if "broker" in roles else "controller" if roles else None
    kinds = +summary.kinds
    if not kinds:
        for spans in summary.spans.values():
            for kind, records, *_ in spans:
                kinds[kind] += records
    row["kind"] = max(sorted(kinds), key=kinds.__getitem__, default=None)
    row["channels"] = sorted(filter(None, summary.nodes))
    row["kafka_versions"] = release_range(summary.versions)
    row["drift"] = dict(summary.drift)
    row["findings"] = sorted({*row["findings"], *_several_writers(summary)})


def _several_writers(summary: StreamSummary) -> list[str]:
    """A sentence for each output that several nodes write to: processes that share a file overwrite each other."""
    sentences = []
    for channel, names in sorted(summary.nodes.items()):
        nodes = sorted({int(name.split()[1]) for name in names})
        if len(nodes) > 1:
            what = f"its channel {channel}" if channel else "it"
            listed = ", ".join(map(str, nodes))
            sentences.append(f"several nodes write to {what}: {listed}; records may be missing")
    return sentences


def release_range(versions: Iterable[str]) -> str | None:
    """The releases that write messages of all these `since..until` ranges, `2.4.0..2.5.1`; None if there is none.

    >>> release_range({"1.1.0..3.1.2", "2.4.0.."})
    '2.4.0..3.1.2'
    """
    bounds = [text.split("..") for text in versions]
    if not bounds:
        return None
    since = max((first for first, _ in bounds), key=Release.parse)
    ends = [last for _, last in bounds if last]
    until = min(ends, key=Release.parse) if ends else ""
    return f"{since}..{until}" if not until or Release.parse(since) <= Release.parse(until) else None


def nodes_of_folders(rows: Iterable[LogFileRow]) -> dict[tuple[str, str | None], int]:
    """By cluster and folder the one node of which the logs are that Kafka's own appenders write there.

    Folders are left out whose files name several nodes, or none: then a file that names none may be anybody's.
    """
    nodes: defaultdict[tuple[str, str | None], set[int]] = defaultdict(set)
    for row in rows:
        nodes[row["cluster"], log_folder(row["path"])].update(row["node_ids"] or ())
    return {
        folder: min(of_folder) for folder, of_folder in nodes.items() if folder[1] is not None and len(of_folder) == 1
    }


def default_nodes(row: LogFileRow, summary: StreamSummary, of_folder: int | None = None) -> dict[str, int | None]:
    """By channel the node of records that name none: the only one that the channel's other records name; if they name
    none either, that of the channel's name or the file's path, or else that of the files beside it (`of_folder`). None:
    unknown."""
    channels = {channel: names for channel, names in summary.nodes.items() if channel or len(summary.nodes) == 1}
    nodes = {
        channel: default_node(sorted({int(name.split()[1]) for name in names}), channel, row["path"])
        for channel, names in channels.items()
    }
    if nodes == {"": None} and not row["node_ids"]:
        return {"": of_folder}
    return nodes


def default_node(named: list[int], channel: str, path: str) -> int | None:
    """The node of a channel's records that name none; `named` are those that its other records name."""
    if named:
        return named[0] if len(named) == 1 else None
    return node_of_path(f"{channel}/-") if channel else node_of_path(path)


def spans_of(summary: StreamSummary, nodes: Mapping[str, int | None]) -> list[dict[str, Any]]:
    """When the stream has records of which kind, as in `log_files.spans`; `nodes` by channel."""
    spans = [
        CoverageSpan(nodes.get(channel), kind, _time(first), _time(last), records)
        for channel, of_channel in summary.spans.items()
        for kind, records, first, last in of_channel
    ]
    return [span._asdict() for span in merged_coverage(spans, FINEST)]
