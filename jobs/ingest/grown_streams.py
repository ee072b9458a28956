"""Streams that have grown are read from their last record on: what is before it is in the tables.

`log_files.last_record` has where that record begins, for it may have got further lines, and what all records before it
add up to. A stream is read as a whole again if what is before it may read otherwise now: it is written in another form
or zone, it has times that came twice when a clock was put back, its records that name no node are now another's; or if
it may share records with another stream, which are compared as a whole.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.ingest.crossing_streams import StreamSpan, compared_stream, crossing_pairs, frame
from jobs.ingest.read_plan import COUNTED, LastRecord, LogFileRow, ReadPlan
from jobs.ingest.stream_accounts import FINEST, Account, account_spans, counts, default_node, joined_text
from schemas.spark import LONG, TEXT
from udfs.logs.coverage import joined_spans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BEFORE = "/before"
"""Behind a file id: the part of the stream that was published."""


def published_accounts(plan: ReadPlan) -> list[Account]:
    """Of grown streams the accounts of what was published before their last records."""
    return [(file_id, account_before(row)) for file_id, row in plan.grown.items()]


def account_before(row: LogFileRow) -> dict[str, str]:
    """What the records before the last one of a published row add up to."""
    account: dict[str, str] = json.loads(row["last_record"]["account_before"])
    return account


def complete_last_records(
    rows: Mapping[str, LogFileRow], accounts: Iterable[Account], to_read: Collection[str]
) -> None:
    """Set `last_record` of the rows of streams that were read, by all accounts of theirs."""
    by_stream: defaultdict[str, list[Mapping[str, str]]] = defaultdict(list)
    for file_id, fields in accounts:
        by_stream[file_id].append(fields)
    for file_id in to_read:
        rows[file_id]["last_record"] = last_record_of(by_stream[file_id])


def last_record_of(accounts: Sequence[Mapping[str, str]]) -> LastRecord | None:
    """Of all accounts of a stream its `log_files.last_record`; None if it cannot be read on from there."""
    last = next((account["last_record"] for account in accounts if "last_record" in account), None)
    if last is None:
        return None
    offset, line, size, record = last.split(",")
    before = merged_account(account for account in accounts if "last_record" not in account)
    return {
        "byte_offset": int(offset),
        "line": int(line),
        "size_bytes": int(size),
        "record": record or None,
        "account_before": json.dumps(before, sort_keys=True),
    }


def merged_account(accounts: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Accounts of ranges of one stream without channels, as one; the same however it was cut."""
    every = list(accounts)
    merged = {name: str(sum(int(account[name]) for account in every)) for name in COUNTED}
    for name, pick in (("first_at", min), ("last_at", max)):
        if times := [int(account[name]) for account in every if name in account]:
            merged[name] = str(pick(times))
    for name in ("nodes", "kinds", "drift"):
        added = sum((Counter(counts(account[name])) for account in every), Counter[str]())
        merged[name] = joined_text(added)
    spans: defaultdict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for kind, records, first, last in (span for account in every for span in account_spans(account)):
        spans[kind].append((first, last, records))
    merged["spans"] = ",".join(
        f"{kind}={records}:{first}:{last}"
        for kind, of_kind in sorted(spans.items())
        for first, last, records in joined_spans(of_kind, FINEST)
    )
    versions = {part for account in every for part in account["versions"].split(",") if part}
    merged["versions"] = ",".join(sorted(versions))
    return {"channel": "", **merged}


# ---- what has to be read as a whole ----------------------------------------------------------------------------------
def not_going_on(
    plan: ReadPlan, accounts: Sequence[Account], parsed: DataFrame, events: DataFrame, rejects: DataFrame
) -> set[str]:
    """Of streams of which what is new was read those that have to be read as a whole.

    `accounts` and `parsed` are of what was read, `events` and `rejects` the published tables.
    """
    by_stream: defaultdict[str, list[Mapping[str, str]]] = defaultdict(list)
    for file_id, fields in accounts:
        by_stream[file_id].append(fields)
    return {
        file_id
        for file_id, row in plan.grown.items()
        if _default_node(row, plan.rows[file_id]["path"], by_stream[file_id]) != _default_node(row, row["path"], [])
    } | _crossing(plan, by_stream, parsed, events, rejects)


def _named_nodes(row: LogFileRow, accounts: Iterable[Mapping[str, str]]) -> list[int]:
    """Nodes that published records of a stream and new ones name, sorted."""
    named = {int(name.split()[1]) for account in accounts for name in counts(account["nodes"])}
    return sorted(named | {*row["node_ids"]})


def _default_node(row: LogFileRow, path: str, accounts: Iterable[Mapping[str, str]]) -> int | None:
    """The node of records that name none, with the new ones."""
    return default_node(_named_nodes(row, accounts), "", path)


def _crossing(
    plan: ReadPlan,
    accounts: Mapping[str, Sequence[Mapping[str, str]]],
    parsed: DataFrame,
    events: DataFrame,
    rejects: DataFrame,
) -> set[str]:
    """Grown streams that cross another one in time, logger and node, where one of both is new.

    What was published of a grown stream is looked at as a stream of its own: it was compared with all others then.
    """
    spans: list[StreamSpan] = []
    for file_id, row in plan.rows.items():
        is_new, published = file_id in plan.to_read, plan.grown.get(file_id)
        if is_new:
            of_stream = _span(file_id, row, published or row, accounts[file_id])
            spans += [of_stream] if of_stream else []
        part = published if is_new else row
        if part and (stream := compared_stream(part, default_node(part["node_ids"], "", part["path"]), is_new=False)):
            name = file_id + _BEFORE * is_new
            spans.append(StreamSpan(name, (row["cluster"],), stream.nodes, stream.first_at, stream.last_at, False))
    by_id = {span.file_id: span for span in spans}
    pairs = [pair for pair in crossing_pairs(spans) if _is_about(pair, plan.grown)]
    windows = {name: (2**62, -(2**62)) for pair in pairs for name in pair}
    for a, b in pairs:
        since, until = max(by_id[a].first_at, by_id[b].first_at), min(by_id[a].last_at, by_id[b].last_at)
        for name in (a, b):
            windows[name] = min(windows[name][0], since), max(windows[name][1], until)
    if not windows:
        return set()
    by_logger = [
        StreamSpan(name, (*by_id[name].group, logger), by_id[name].nodes, first, last, by_id[name].is_new)
        for name, logger, first, last in _times_by_logger(windows, plan, parsed, events, rejects)
    ]
    crossing = (pair for pair in crossing_pairs(by_logger) if _is_about(pair, plan.grown))
    return {name.removesuffix(_BEFORE) for pair in crossing for name in pair} & {*plan.grown}


def _span(
    file_id: str, row: LogFileRow, published: LogFileRow, accounts: Sequence[Mapping[str, str]]
) -> StreamSpan | None:
    """When a stream has records of those that were read; None if none has a time."""
    times = [(int(account["first_at"]), int(account["last_at"])) for account in accounts if "first_at" in account]
    if not times:
        return None
    named = _named_nodes(published, accounts)
    node = default_node(named, "", row["path"])
    nodes = frozenset(named) or frozenset(() if node is None else (node,))
    return StreamSpan(file_id, (row["cluster"],), nodes, min(times)[0], max(last for _, last in times), True)


def _is_about(pair: tuple[str, str], grown: Collection[str]) -> bool:
    """Whether a pair of streams has a grown one, and is not both parts of it."""
    a, b = (name.removesuffix(_BEFORE) for name in pair)
    return a != b and (a in grown or b in grown)


def _times_by_logger(
    windows: Mapping[str, tuple[int, int]], plan: ReadPlan, parsed: DataFrame, events: DataFrame, rejects: DataFrame
) -> list[tuple[str, str, int, int]]:
    """By stream, or part of it, and logger the first and the last time, microseconds, within the stream's window."""
    new, published = (
        {name: times for name, times in windows.items() if (name in plan.to_read) is is_new} for is_new in (True, False)
    )
    records = _within(parsed.where("record IN ('event', 'reject')"), new)
    if published:
        least, most = min(since for since, _ in published.values()), max(until for _, until in published.values())
        file_ids = sorted(name.removesuffix(_BEFORE) for name in published)
        for rows in (events, rejects):
            near = F.col("at").between(F.timestamp_micros(F.lit(least)), F.timestamp_micros(F.lit(most)))
            records = records.unionByName(_within(rows.where(F.col("file_id").isin(file_ids) & near), published))
    rows_by_logger = records.groupBy("name", "logger").agg(F.min("at"), F.max("at")).collect()
    return [(row[0], row[1], row[2], row[3]) for row in rows_by_logger]


def _within(records: DataFrame, windows: Mapping[str, tuple[int, int]]) -> DataFrame:
    """Records within the windows of their streams: name, logger, at (microseconds, UTC)."""
    rows = [(name, name.removesuffix(_BEFORE), *times) for name, times in windows.items()]
    table = frame(records.sparkSession, rows, name=TEXT, file_id=TEXT, since=LONG, until=LONG)
    logger, at = F.coalesce("logger", F.lit("")).alias("logger"), F.unix_micros("at").alias("at")
    return (
        records.select("file_id", logger, at)
        .join(F.broadcast(table), "file_id")
        .where("at BETWEEN since AND until")
        .select("name", "logger", "at")
    )


# ---- their last published records ------------------------------------------------------------------------------------
@dataclass(frozen=True)
class LastRecords:
    """The last published records of grown streams, `file_id` and `byte_offset`: those that are as they were, and those
    that got further lines."""

    same: list[tuple[str, int]]
    changed: list[tuple[str, int]]


def last_records(plan: ReadPlan, parsed: DataFrame) -> LastRecords:
    """What became of the last published records of grown streams, by what was read."""
    places = [(file_id, row["last_record"]["byte_offset"]) for file_id, row in sorted(plan.grown.items())]
    if not places:
        return LastRecords([], [])
    table = frame(parsed.sparkSession, places, file_id=TEXT, byte_offset=LONG)
    records = parsed.where("record IN ('event', 'reject')").select("file_id", "byte_offset", "record", "size_bytes")
    read = records.join(F.broadcast(table), ["file_id", "byte_offset"]).collect()
    now = {row["file_id"]: (row["record"], row["size_bytes"]) for row in read}
    same, changed = [], []
    for file_id, offset in places:
        last = plan.grown[file_id]["last_record"]
        if now.get(file_id) == (last["record"], last["size_bytes"]):
            same.append((file_id, offset))
        elif last["record"] is not None:
            changed.append((file_id, offset))
    return LastRecords(same, changed)
