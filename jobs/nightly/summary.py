"""The one screen a run ends with: what was read, what happened, where to look next. Counting and wording are apart."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from jobs.nightly.run import Outcome
from jobs.settings import Settings
from jobs.warehouse.tables import Warehouse
from schemas.ledger import STEPS
from udfs.logs.coverage import CoverageSpan, coverage_gaps
from udfs.logs.rotated_names import RotatedFile, contradictions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Row = Mapping[str, Any]
Paths = Mapping[str, str]
"""Where each stream was seen first, by its id."""
MOST = 5
"""Findings of one kind that are told in full; of the rest only the number."""


@dataclass
class Facts:
    """What the screen says of one cluster."""

    cluster: str
    streams: list[Row] = field(default_factory=list)
    reigns: list[Row] = field(default_factory=list)
    partitions: int = 0
    topics: int = 0
    states: int = 0
    clocks: list[Row] = field(default_factory=list)
    requests: list[Row] = field(default_factory=list)
    inferred: int = 0
    missing: int = 0
    """States that no line tells, or lines contradict each other about."""
    contradictions: list[Row] = field(default_factory=list)
    elections: dict[str, int] = field(default_factory=dict)
    unclean: list[Row] = field(default_factory=list)
    offline: list[Row] = field(default_factory=list)
    offline_count: int = 0
    offline_open: int = 0
    churn: list[Row] = field(default_factory=list)
    churning: int = 0
    isr_changes: int = 0
    reassignments: dict[str, int] = field(default_factory=dict)
    verdicts: dict[str, int] = field(default_factory=dict)
    violated: list[Row] = field(default_factory=list)
    rejects: list[Row] = field(default_factory=list)
    zone_is_guessed: bool = False
    doubts: list[str] = field(default_factory=list)
    """Sentences on what makes streams doubtful."""
    holes: list[str] = field(default_factory=list)
    """Sentences on logs that are missing."""


def gather(warehouse: Warehouse, steps: Sequence[str] = STEPS, settings: Settings | None = None) -> list[Facts]:
    """FACTS of every cluster of the published tables, as far as some steps tell them; a bounded number of rows of each."""
    names = [name for name, (told_by, _) in _QUERIES.items() if {*told_by} & {*steps}]

    def rows(name: str) -> list[Row]:
        return [row.asDict(recursive=True) for row in _QUERIES[name][1](warehouse.read(name)).collect()]

    with ThreadPoolExecutor(4) as pool:
        read = dict(zip(names, pool.map(rows, names), strict=True))
    found = {name: read.get(name, []) for name in _QUERIES}
    clusters = sorted({row["cluster"] for row in found["log_files"]})
    return [
        _facts(
            name,
            {table: [r for r in rows if r["cluster"] == name] for table, rows in found.items()},
            settings or Settings(),
        )
        for name in clusters
    ]


def _first(rows: DataFrame, order: str, most: int = MOST) -> DataFrame:
    """The first rows of each cluster, with `total`, the number there are."""
    return rows.selectExpr(
        "*",
        f"row_number() OVER (PARTITION BY cluster ORDER BY {order}) AS nth",
        "count(*) OVER (PARTITION BY cluster) AS total",
    ).where(F.col("nth") <= most)


_QUERIES: dict[str, tuple[Sequence[str], Callable[[DataFrame], DataFrame]]] = {  # table -> the steps that tell of it, what to read
    "log_files": (STEPS, lambda t: t.select("cluster", "path", "file_id", "also_seen_as", "kafka_versions", "node_ids", "role", "kind", "status", "findings", "size_bytes", "event_bytes", "detail_bytes", "reject_bytes", "other_bytes", "duplicate_bytes", "held_back_bytes", "event_lines", "first_at", "last_at", "time_zone")),
    "controller_timeline": (("timelines",), lambda t: _first(t, "controller_epoch DESC", MOST + 1)),
    "partition_timeline": (("timelines",), lambda t: t.groupBy("cluster").agg(
        F.count(F.lit(1)).alias("states"), F.countDistinct("topic", "partition").alias("partitions"), F.countDistinct("topic").alias("topics"),
        F.sum(F.col("inferred").cast("int")).alias("inferred"), F.sum("missing_before").alias("missing")
    )),
    "clock_offsets": (("timelines",), lambda t: t.groupBy("cluster", "node_id").agg(
        F.min("offset_ms_min").alias("least"), F.max("offset_ms_max").alias("most"), F.sum("pairs").alias("pairs"), F.max("reference").alias("reference"),
        F.max("contradicting").alias("contradicting"), F.max(F.size("applied") > 0).alias("corrected"),
        F.min(F.array_min("applied.ahead_ms")).alias("from_ms"), F.max(F.array_max("applied.ahead_ms")).alias("to_ms"),
    )),
    "control_requests": (("timelines",), lambda t: t.groupBy("cluster", "kind").agg(
        F.count(F.lit(1)).alias("total"), F.sum(F.col("stale").cast("int")).alias("stale"), F.sum((F.col("error") != "NONE").cast("int")).alias("failed"),
        F.max("round_trip_ms").alias("slowest_ms"), F.sum((F.col("received_at").isNull() & F.col("responded_at").isNull()).cast("int")).alias("unseen"),
    )),
    "contradictions": (("timelines",), lambda t: _first(t, "at, topic, partition")),
    "elections": (("detect",), lambda t: _first(t.where("unclean"), "at").unionByName(
        t.groupBy("cluster", "succeeded", "unclean").agg(F.count(F.lit(1)).alias("total")), allowMissingColumns=True
    )),
    "offline_partitions": (("detect",), lambda t: _first(t.withColumn("open", F.col("until").isNull()), "duration_ms DESC NULLS LAST, since, topic, partition").join(
        t.groupBy("cluster").agg(F.sum(F.col("until").isNull().cast("int")).alias("open_total")), "cluster"
    )),
    "isr_churn": (("detect",), lambda t: _first(t, "flaps DESC, shrinks DESC, topic, partition, follower", 3).join(
        t.groupBy("cluster").agg(F.sum(F.col("churning").cast("int")).alias("churning_total"), F.sum(F.col("shrinks") + F.col("expands")).alias("changes")), "cluster"
    )),
    "reassignments": (("detect",), lambda t: t.groupBy("cluster", "state").agg(F.count(F.lit(1)).alias("total"))),
    "verdicts": (("replay",), lambda t: _first(t.where("verdict = 'violated'"), "at, rule, subject").unionByName(
        t.groupBy("cluster", "verdict").agg(F.count(F.lit(1)).alias("total")), allowMissingColumns=True
    )),
    "rejects": (("ingest",), lambda t: _first(
        t.groupBy("cluster", F.coalesce("signature", "reason").alias("signature"))
        .agg(F.count(F.lit(1)).alias("count"), F.min(F.struct("at", "file_id", "line")).alias("first")),
        "count DESC, signature",
    )),
    "log_coverage": (("ingest",), lambda t: t),
}  # fmt: skip


def _facts(cluster: str, found: Mapping[str, list[Row]], settings: Settings) -> Facts:
    streams = found["log_files"]
    facts = Facts(
        cluster,
        streams=streams,
        reigns=sorted(found["controller_timeline"], key=lambda r: r["controller_epoch"]),
        zone_is_guessed=any(is_guessed(row, settings) for row in streams),
        doubts=doubts(streams),
        holes=coverage_gaps(
            [_span(r) for r in found["log_coverage"]], roles(streams), settings.coverage_tolerance, MOST
        ),
    )
    for row in found["partition_timeline"]:
        facts.states, facts.partitions, facts.topics = row["states"], row["partitions"], row["topics"]
        facts.inferred, facts.missing = row["inferred"] or 0, row["missing"] or 0
    facts.contradictions = sorted(found["contradictions"], key=lambda r: r["nth"])
    facts.clocks = sorted(found["clock_offsets"], key=lambda r: r["node_id"])
    facts.requests = sorted(found["control_requests"], key=lambda r: str(r["kind"]))
    counts = [row for row in found["elections"] if row["nth"] is None]
    facts.unclean = [row for row in found["elections"] if row["nth"] is not None]
    facts.elections = {
        "held": sum(r["total"] for r in counts if r["succeeded"]),
        "failed": sum(r["total"] for r in counts if not r["succeeded"]),
        "unclean": sum(r["total"] for r in counts if r["unclean"]),
    }
    facts.offline = sorted(found["offline_partitions"], key=lambda r: r["nth"])
    if facts.offline:
        facts.offline_count, facts.offline_open = facts.offline[0]["total"], facts.offline[0]["open_total"]
    facts.churn = sorted(found["isr_churn"], key=lambda r: r["nth"])
    if facts.churn:
        facts.churning, facts.isr_changes = facts.churn[0]["churning_total"], facts.churn[0]["changes"]
    facts.reassignments = {r["state"]: r["total"] for r in found["reassignments"]}
    facts.verdicts = {r["verdict"]: r["total"] for r in found["verdicts"] if r["nth"] is None}
    facts.violated = [r for r in found["verdicts"] if r["nth"] is not None]
    facts.rejects = sorted(found["rejects"], key=lambda r: r["nth"])
    return facts


def is_guessed(row: Row, settings: Settings) -> bool:
    """Whether nobody said in which zone a stream's times are. A metadata dump counts from 1970, and needs none."""
    if settings.time_zone is not None or row["first_at"] is None or row["kind"] == "metadata_dump":
        return False
    return not row["node_ids"] or not {*row["node_ids"]} <= {*settings.node_time_zones}


def _span(row: Row) -> CoverageSpan:
    return CoverageSpan(row["node_id"], row["kind"], row["since"], row["until"], row["records"])


def roles(streams: Iterable[Row]) -> dict[int, str]:
    """By node what it is, `broker` or `controller`, as most of its streams say."""
    votes: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for row in streams:
        for node in row["node_ids"] if row["role"] else ():
            votes[node][row["role"]] += 1
    return {node: max(sorted(counts), key=counts.__getitem__) for node, counts in votes.items()}


def doubts(streams: Iterable[Row]) -> list[str]:
    """What makes streams doubtful, in words: their findings, and file names that contradict their zone."""
    found, rotated = [], []
    for row in sorted(streams, key=lambda r: str(r["path"])):
        for finding in row["findings"]:
            found.append(finding if row["path"] in finding else f"{short(row['path'])}: {finding}")
        node = f"{row['role'] or 'node'} {row['node_ids'][0]}" if len(row["node_ids"]) == 1 else "somebody"
        zone = "" if row["kind"] == "metadata_dump" else row["time_zone"]
        rotated += [
            RotatedFile(node, path, row["first_at"], row["last_at"], zone)
            for path in (row["path"], *row["also_seen_as"])
        ]
    return [*contradictions(rotated), *found]


# ---- words ----------------------------------------------------------------------------------------------------------
def clock(at: datetime | None) -> str:
    """`2026-11-21 11:47:34.963`; `now` for none."""
    return at.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] if at else "now"


def length(ms: int | None) -> str:
    """A duration as an engineer says it: `14 ms`, `17.8 s`, `3 min 20 s`, `2 h 5 min`."""
    if ms is None:
        return "for an unknown time"
    if ms < 1000:
        return f"{ms} ms"
    seconds = ms / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = int(seconds // 60)
    return f"{minutes} min {int(seconds % 60)} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def size(count: int) -> str:
    """Bytes as `6.6 MB`."""
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count:,} bytes"


def plural(count: int, word: str) -> str:
    """`1 partition`, `2 partitions`."""
    return f"{count:,} {word}" + ("" if count == 1 else "es" if word.endswith("s") else "s")


def screen(facts: Iterable[Facts], root: str, steps: Sequence[str] = STEPS) -> str:
    """All clusters in words, as far as some steps tell them, and where to look next."""
    parts = [_cluster(f, steps) for f in facts]
    return "\n\n".join([*parts, _next_steps(root, steps)])


def _cluster(f: Facts, steps: Sequence[str]) -> str:
    paths = {row["file_id"]: row["path"] for row in f.streams}
    first = min((r["first_at"] for r in f.streams if r["first_at"]), default=None)
    last = max((r["last_at"] for r in f.streams if r["last_at"]), default=None)
    zones = sorted({row["time_zone"] for row in f.streams if row["first_at"]}) or ["UTC"]
    lines = [
        f"Cluster {f.cluster}: {clock(first)} to {clock(last)} ({length(int((last - first).total_seconds() * 1000)) if first and last else 'no time'}), "
        f"local times read as {', '.join(zones)}" + (" (no time_zone is set)" if f.zone_is_guessed else ""),
        f"  Kafka        {versions(f.streams)}",
    ]  # fmt: skip
    for step, told in _TOLD:
        if step in steps:
            lines += told(f, paths)
    return "\n".join(lines)


def _tell_ingest(f: Facts, paths: Paths) -> list[str]:
    def total(name: str) -> int:
        return sum(row[name] for row in f.streams)

    read = [row for row in f.streams if row["status"] != "refused"]
    again = total("duplicate_bytes")
    without = sum(row["status"] == "no_records" for row in read)
    kinds = f.rejects[0]["total"] if f.rejects else 0
    return [
        f"  logs         {plural(len(read), 'stream')}{f' ({without:,} of them no log)' if without else ''} of nodes {ids(sorted({n for r in f.streams for n in r['node_ids']}))}, {size(total('size_bytes'))}: "
        f"{plural(total('event_lines'), 'event')} {size(total('event_bytes') + total('detail_bytes'))}, out of scope {size(total('other_bytes'))}, "
        f"rejected {size(total('reject_bytes'))}, held back {size(total('held_back_bytes'))}" + (f", known already {size(again)}" if again else ""),
        *[f"               {_reject(r, paths)}" for r in f.rejects],
        *([f"               and {plural(kinds - len(f.rejects), 'other kind')}: SELECT signature, count(*) FROM rejects GROUP BY signature"] if kinds > len(f.rejects) else []),
        *_labelled("doubtful", f.doubts[:MOST]),
        *([f"               and {len(f.doubts) - MOST} more: SELECT path, findings FROM log_files"] if len(f.doubts) > MOST else []),
        *_labelled("missing", f.holes),
    ]  # fmt: skip


def _reject(r: Row, paths: Paths) -> str:
    """`14 lines like "Broker id=<n> frobnicated <partition>", first at broker-2/state-change.log:881`."""
    first = r["first"]
    return f'{plural(r["count"], "line")} like "{r["signature"][:100]}", first at {short(paths[first["file_id"]])}:{first["line"]}'


def _labelled(label: str, sentences: Sequence[str]) -> list[str]:
    """Sentences, the label beside the first one only."""
    return [f"  {'' if number else label:<12} {text}" for number, text in enumerate(sentences)]


def _tell_timelines(f: Facts, paths: Paths) -> list[str]:
    return [
        f"  controllers  {plural(f.reigns[-1]['total'] if f.reigns else 0, 'reign')}: {'... ' if len(f.reigns) > MOST else ''}"
        + "; ".join(_reign(r) for r in f.reigns[-MOST:]),
        f"  partitions   {f.partitions:,} in {plural(f.topics, 'topic')}, {plural(f.states, 'committed state')}"
        + (f", {f.inferred:,} of them inferred" if f.inferred else "") + (f"; {f.missing:,} more that no line tells in full" if f.missing else ""),
        *_labelled("contradict", [_contradiction(r, paths) for r in f.contradictions]),
        *([f"  requests     {told_requests(f.requests)}"] if f.requests else []),
        *_labelled("clocks", told_clocks(f.clocks, {n for r in f.streams if r["kind"] != "metadata_dump" for n in r["node_ids"]})),
    ]  # fmt: skip


def told_requests(counts: Sequence[Row]) -> str:
    """What controllers asked of brokers, by kind: rows with `kind, total, stale, failed, slowest_ms, unseen`."""

    def total(name: str) -> int:
        return sum(row[name] or 0 for row in counts)

    slowest = max((row["slowest_ms"] for row in counts if row["slowest_ms"] is not None), default=None)
    parts = [
        f"{total('total'):,} of controllers to brokers: "
        + ", ".join(f"{row['total']:,} {row['kind'] or 'of unknown kind'}" for row in counts),
        *([f"slowest answered after {length(slowest)}"] if slowest is not None else []),
        *([f"{total('stale'):,} ignored as stale"] if total("stale") else []),
        *([f"{total('failed'):,} answered with an error"] if total("failed") else []),
        *([f"{total('unseen'):,} of which nothing but the sending is logged"] if total("unseen") else []),
    ]
    return "; ".join(parts)  # fmt: skip


def told_clocks(offsets: Sequence[Row], nodes: Iterable[int]) -> list[str]:
    """Which nodes' clocks were corrected by how much, which agree, and which could not be compared; `nodes`: all that logged.

    Nothing where one node logged: there is nothing to compare.
    """
    known, rest = {row["node_id"]: row for row in offsets}, set(nodes)
    if len(rest | {*known}) < 2:
        return []
    corrected = [row for row in offsets if row["corrected"]]
    found = [
        f"node {row['node_id']} was ahead of node {row['reference']} by {_span_ms(row['from_ms'], row['to_ms'])}, which is taken off"
        if row["to_ms"] > 0
        else f"node {row['node_id']} was behind node {row['reference']} by {_span_ms(-row['to_ms'], -row['from_ms'])}, which is added"
        for row in corrected[:MOST]
    ]
    if len(corrected) > MOST:
        found.append(f"and {len(corrected) - MOST} more: SELECT * FROM clock_offsets WHERE len(applied) > 0")
    if torn := [row["node_id"] for row in offsets if row["contradicting"]]:
        found.append(f"what compares {_nodes(torn)} contradicts itself, as if a clock had been set: own times are kept")
    if agree := [row["node_id"] for row in offsets if not row["corrected"] and not row["contradicting"]]:
        found.append(
            f"{_nodes(agree)} may agree, compared by {sum(row['pairs'] for row in offsets) // 2:,} pairs of lines"
        )
    if rest := rest - {*known}:
        found.append(f"nothing compares {_nodes(sorted(rest))} with the others: own times are kept")
    return found


def _nodes(numbers: Sequence[int]) -> str:
    return f"node {numbers[0]}" if len(numbers) == 1 else f"nodes {ids(numbers)}"


def _span_ms(least: float, most: float) -> str:
    return f"{least:,.0f} ms" if round(least) == round(most) else f"{least:,.0f} to {most:,.0f} ms"


def _tell_detect(f: Facts, paths: Paths) -> list[str]:
    return [
        f"  elections    {f.elections.get('held', 0):,} held, {f.elections.get('failed', 0):,} failed, {f.elections.get('unclean', 0):,} unclean",
        f"  offline      {plural(f.offline_count, 'interval')} without a leader, {f.offline_open:,} still open at the end of the logs" + (", longest first:" if f.offline else ""),
        *[f"    {_outage(r, paths)}" for r in f.offline],
        f"  unclean      {plural(f.elections.get('unclean', 0), 'unclean election')}" + (", each may have lost records:" if f.unclean else ""),
        *[f"    {_unclean(r, paths)}" for r in f.unclean],
        f"  ISR          {plural(int(f.isr_changes or 0), 'replica change')}, {plural(int(f.churning or 0), 'follower')} churning"
        + (f"; worst {f.churn[0]['topic']}-{f.churn[0]['partition']} broker {f.churn[0]['follower']}: {plural(f.churn[0]['flaps'], 'flap')} in the hour of {clock(f.churn[0]['hour'])[:16]}, "
           f"out for up to {length(f.churn[0]['worst_out_ms'])}" if f.churn else ""),
        "  reassigned   " + (", ".join(f"{count:,} {state}" for state, count in sorted(f.reassignments.items())) or "none"),
    ]  # fmt: skip


def _tell_replay(f: Facts, paths: Paths) -> list[str]:
    return [
        f"  replay       {f.verdicts.get('holds', 0):,} decisions as the algorithm says, {f.verdicts.get('violated', 0):,} not, {f.verdicts.get('unknown', 0):,} unknown for lack of inputs",
        *[f"    {_violation(r, paths)}" for r in f.violated],
    ]  # fmt: skip


_TOLD: Sequence[tuple[str, Callable[[Facts, Paths], list[str]]]] = (
    ("ingest", _tell_ingest),
    ("timelines", _tell_timelines),
    ("detect", _tell_detect),
    ("replay", _tell_replay),
)


def versions(streams: Sequence[Row]) -> str:
    """The releases that the messages allow, narrowest of all streams first; `unknown` if none tells."""
    ranges = sorted({r["kafka_versions"] for r in streams if r["kafka_versions"]})
    from udfs.kafka.releases import Release, lowest_release

    lowest = lowest_release(ranges)
    if lowest is None:
        return "unknown: no message tells its release"
    ends = [Release.parse(r.split("..")[1]) for r in ranges if r.split("..")[1]]
    return (
        f"{lowest} to {min(ends)} by its messages"
        if ends and min(ends) >= lowest
        else f"{lowest} or later by its messages"
    )


def ids(numbers: Iterable[int]) -> str:
    """`0, 1, 2`."""
    return ", ".join(map(str, numbers)) or "unknown"


def short(path: str) -> str:
    """The last two parts of a path: enough to find the file."""
    return "/".join(path.split("/")[-2:])


def proof(row: Row, paths: Mapping[str, str]) -> str:
    """`broker-3/state-change.log:5321`, the first line that proves a row."""
    first = (row.get("evidence") or [None])[0]
    return f"{short(paths.get(first['file_id'], '?'))}:{first['line']}" if first else "no line"


def _reign(r: Row) -> str:
    return f"{r['controller_id']} (epoch {r['controller_epoch']}) {clock(r['since'])[11:]} to {clock(r['until'])[11:] if r['until'] else 'the end'}"


def _contradiction(r: Row, paths: Mapping[str, str]) -> str:
    return f"{r['topic']}-{r['partition']} at {clock(r['at'])[11:]}: {r['contradiction']} ({proof(r, paths)}); of {plural(r['total'], 'state')} lines say different things"


def _outage(r: Row, paths: Mapping[str, str]) -> str:
    cause = {
        "broker_failure": f"when broker {r['cause_broker']} failed",
        "controlled_shutdown": f"when broker {r['cause_broker']} was shut down",
        "fenced": f"when broker {r['cause_broker']} was fenced",
        "bounced": f"when broker {r['cause_broker']} bounced",
    }.get(
        r["cause"] or "",
        f"when it lost leader {r['last_leader']}" if r["last_leader"] is not None else "for an unknown cause",
    )
    end = {
        "clean_election": f"a clean election ended it at {clock(r['until'])[11:]}",
        "unclean_election": f"an unclean election ended it at {clock(r['until'])[11:]}",
        "topic_deletion": f"the topic was deleted at {clock(r['until'])[11:]}",
    }.get(
        r["healed_by"] or "",
        "still offline at the end of the logs" if r["until"] is None else f"it ended at {clock(r['until'])[11:]}",
    )
    failed = f", {plural(r['failed_elections'], 'election')} failed meanwhile" if r["failed_elections"] else ""
    return f"{r['topic']}-{r['partition']} had no leader for {length(r['duration_ms'])} from {clock(r['since'])[11:]}, {cause}; {end}{failed} ({proof(r, paths)})"


def _unclean(r: Row, paths: Mapping[str, str]) -> str:
    before = f"ISR was {ids(r['isr_before'])}" if r["isr_before"] else "ISR was empty"
    return f"{r['topic']}-{r['partition']} got leader {r['leader']} at {clock(r['at'])[11:]} in leader epoch {r['leader_epoch']}, {before} ({proof(r, paths)})"


def _violation(r: Row, paths: Mapping[str, str]) -> str:
    return f"{r['rule']} on {r['subject']} at {clock(r['at'])[11:]}: expected {r['expected']}, found {r['actual']} ({proof(r, paths)})"


def _next_steps(root: str, steps: Sequence[str]) -> str:
    later = STEPS[STEPS.index(steps[-1]) + 1 :]
    if later:
        return f"Next:\n  kafka-rewind {later[0]} --warehouse {root}"
    return "\n".join(
        [
            "Where to look next:",
            f'  kafka-rewind sql "SELECT * FROM offline_partitions ORDER BY duration_ms DESC" --warehouse {root}',
            f"  kafka-rewind sql \"SELECT * FROM verdicts WHERE verdict = 'violated'\" --warehouse {root}",
            f"  kafka-rewind export partition_timeline --format csv --output timeline.csv --warehouse {root}",
        ]
    )


def refused_rejects(warehouse: Warehouse, outcome: Outcome) -> list[str]:
    """The most frequent rejects of a run that is refused for them, in words; nothing if it is for something else."""
    if outcome.audit is None or not any(failure.name == REJECTED for failure in outcome.audit.failures):
        return []
    paths = {row["file_id"]: row["path"] for row in warehouse.newest("log_files").select("file_id", "path").collect()}
    rows = _QUERIES["rejects"][1](warehouse.newest("rejects")).collect()
    return [_reject(row.asDict(recursive=True), paths) for row in sorted(rows, key=lambda r: (r["cluster"], r["nth"]))]


REJECTED = "log_files.reject_ratio"
"""The expectation that a log of a release that is not understood violates."""


def refusal(outcome: Outcome, rejects: Sequence[str] = ()) -> str:
    """Why the gate refused a run, in words; `rejects` as `refused_rejects` gives them."""
    assert outcome.audit is not None  # a run without news is never refused
    lines = [f"The data gate refused run {outcome.run_id}; readers still see the run before it."]
    for failure in outcome.audit.failures:
        lines.append(
            f"  {failure.name}: {failure.description} - {plural(failure.rows, 'row')} {'does' if failure.rows == 1 else 'do'} not, for example {'; '.join(failure.examples)}"
        )
        if failure.name == REJECTED:
            lines += [f"    {told}" for told in rejects]
            lines.append(
                "    A newer release of kafka-rewind may know them; to publish all the same, raise max_reject_percent in the --conf file."
            )
    return "\n".join(lines)
