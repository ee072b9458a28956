"""The summary that a run prints: the facts of each cluster in words, and where to look next. No queries."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from jobs.nightly.findings_text import finding_lines, first_sentences
from jobs.nightly.status import WORDS, status_line, status_of
from jobs.nightly.summary_facts import FACTS_OF_STEP, MOST, ClusterSummary, Row
from jobs.nightly.wording import Names, date_time, duration, ids, labelled, nodes, plural, size
from jobs.nightly.words import listed, name_of
from schemas.ledger import STEPS
from udfs.kafka.releases import Release, lowest_release
from udfs.logs.rotated_names import RotatedFile, contradictions
from udfs.rules.known_fields import APPENDED_TEXT


def summary_text(
    summaries: Iterable[ClusterSummary], root: str, steps: Sequence[str] = STEPS, *, names_cluster: bool = False
) -> str:
    """How all clusters stand in a line, each in words, as far as some steps are concerned, and where to look next.

    `names_cluster`: the commands to look with name the cluster even if it is the only one here.
    """
    clusters = list(summaries)
    paths = [row["path"] for summary in clusters for row in summary.streams]
    status = [status_line(clusters)] if DETECT in steps else []
    return "\n\n".join(
        [
            *status,
            *(_cluster_text(summary, steps, paths) for summary in clusters),
            _next_commands(root, steps, clusters, names_cluster=names_cluster),
        ]
    )


NOTHING_MORE: Mapping[str, Mapping[str, Any]] = {}
"""What else JSON has about clusters."""


def summaries_as_json(
    summaries: Iterable[ClusterSummary],
    steps: Sequence[str] = STEPS,
    more: Mapping[str, Mapping[str, Any]] = NOTHING_MORE,
) -> str:
    """The facts of all clusters for programs: a list; how each stands in `status`. Times as exports have them.

    Facts that other steps find out are left out, for their tables may not be there yet; `more`, by cluster, is added.
    """
    of_steps = {name for step in steps for name in FACTS_OF_STEP[step]}
    left_out = {name for names in FACTS_OF_STEP.values() for name in names} - of_steps
    data = []
    for summary in summaries:
        status = status_of(summary)
        standing = {"status": WORDS[status.severity], "reasons": status.reasons} if DETECT in steps else {}
        facts = {name: value for name, value in asdict(summary).items() if name not in left_out}
        data.append({**standing, **facts, **more.get(summary.cluster, {})})
    return json.dumps(data, indent=2, default=_as_text)


def _as_text(value: object) -> str:
    return f"{value.isoformat(timespec='milliseconds')}Z" if isinstance(value, datetime) else str(value)


# ---- a cluster ------------------------------------------------------------------------------------------------------
def _cluster_text(summary: ClusterSummary, steps: Sequence[str], paths: Sequence[str]) -> str:
    names = Names(summary.streams, paths)
    lines = [_headline(summary, names)]
    if DETECT in steps:
        lines += [f"  {sentence}" for sentence in first_sentences(summary, names)]
    for step, section in _SECTIONS.items():
        if step in steps:
            lines += section(summary, names)
    return "\n".join(lines)


def _headline(summary: ClusterSummary, names: Names) -> str:
    zones = ", ".join(sorted({row["time_zone"] for row in summary.streams if row["first_at"]}) or ["UTC"])
    zone = f"local times read as {zones}" + (" (no time_zone is set)" if summary.is_zone_assumed else "")
    if names.first is None or names.last is None:
        return f"Cluster {summary.cluster}: no records with a time, {zone}"
    span = duration(int((names.last - names.first).total_seconds() * 1000))
    return f"Cluster {summary.cluster}: {date_time(names.first)} to {date_time(names.last)} ({span}), {zone}"


def kafka_versions(streams: Sequence[Row], printed: Sequence[str] = ()) -> str:
    """The releases that nodes printed as they started; else what the messages allow, by the narrowest ranges of all
    streams."""
    if printed:
        return f"{listed(printed)}, as its nodes print"
    ranges = sorted({r["kafka_versions"] for r in streams if r["kafka_versions"]})
    lowest = lowest_release(ranges)
    if lowest is None:
        return "release unknown: no message is specific to one"
    ends = [Release.parse(r.split("..")[1]) for r in ranges if r.split("..")[1]]
    return f"{lowest} {f'to {min(ends)}' if ends and min(ends) >= lowest else 'or later'}, by its messages"


# ---- ingest
def _ingest_lines(summary: ClusterSummary, names: Names) -> list[str]:
    doubts = stream_doubts(summary.streams, names)
    if len(doubts) > MOST:
        doubts = [*doubts[:MOST], f"and {len(doubts) - MOST} more: SELECT path, findings FROM log_files"]
    kinds = summary.rejects[0]["total"] if summary.rejects else 0
    rejects = [reject_text(row, names.line(row["first"])) for row in summary.rejects]
    if kinds > len(rejects):
        rest = plural(kinds - len(rejects), "other kind")
        rejects.append(f"and {rest}: SELECT signature, count(*) FROM rejects GROUP BY signature")
    return [
        *labelled("Kafka", [kafka_versions(summary.streams, summary.printed_releases)]),
        *labelled("logs", [_streams_text(summary.streams), *drift_texts(summary.streams), *rejects]),
        *labelled("doubtful", doubts),
        *labelled("missing", summary.missing_logs),
    ]


def _streams_text(streams: Sequence[Row]) -> str:
    def total(name: str) -> int:
        return sum(row[name] for row in streams)

    read = [row for row in streams if row["status"] != "refused"]
    empty = sum(row["status"] == "no_records" for row in read)
    node_ids = sorted({node for row in streams for node in row["node_ids"]})
    without = f" ({empty:,} without log records)" if empty else ""
    events = f"{plural(total('event_lines'), 'event')} ({size(total('event_bytes') + total('detail_bytes'))})"
    parts = [
        events,
        f"{size(total('other_bytes'))} out of scope",
        f"{size(total('reject_bytes'))} rejected" if total("reject_bytes") else "nothing rejected",
        *([f"{size(total('held_back_bytes'))} held back as incomplete"] if total("held_back_bytes") else []),
        *([f"{size(total('duplicate_bytes'))} read before"] if total("duplicate_bytes") else []),
    ]
    count = plural(len(read), "stream")
    return f"{count}{without} of nodes {ids(node_ids)}, {size(total('size_bytes'))}: {', '.join(parts)}"


def drift_texts(streams: Sequence[Row]) -> list[str]:
    """What no rule knows of events: they were read, and are marked in `events.fields`."""
    counts = Counter[str]()
    for row in streams:
        counts.update(dict(row["drift"] or {}))
    appended = counts.pop(APPENDED_TEXT, 0)
    names = list(dict.fromkeys(name for listed, _ in counts.most_common() for name in listed.split()))
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    texts = []
    if counts:
        records = plural(sum(counts.values()), "record")
        texts.append(f"{records} with fields that no rule knows: {', '.join(names[:MOST])}{more}")
    if appended:
        texts.append(f"{plural(appended, 'record')} with text behind what a rule knows: fields['appended'] of events")
    return texts


def reject_text(row: Row, place: str) -> str:
    """`14 lines like "Broker id=<n> frobnicated <partition>", first at broker-2/state-change.log:881`."""
    return f'{plural(row["count"], "line")} like "{row["signature"][:100]}", first at {place}'


def stream_doubts(streams: Iterable[Row], names: Names) -> list[str]:
    """What makes streams doubtful: file names that contradict their zone, and the streams' own findings."""
    findings, rotated = [], []
    for row in sorted(streams, key=lambda r: str(r["path"])):
        for finding in row["findings"]:
            findings.append(finding if row["path"] in finding else f"{names.path[row['path']]}: {finding}")
        node = f"{row['role'] or 'node'} {row['node_ids'][0]}" if len(row["node_ids"]) == 1 else "an unknown node"
        zone = "" if row["kind"] == "metadata_dump" else row["time_zone"]
        paths = (row["path"], *row["also_seen_as"])
        rotated += [RotatedFile(node, path, row["first_at"], row["last_at"], zone) for path in paths]
    return [*contradictions(rotated), *findings]


# ---- timelines
def _timeline_lines(summary: ClusterSummary, names: Names) -> list[str]:
    loggers = {node for row in summary.streams if row["kind"] != "metadata_dump" for node in row["node_ids"]}
    conflicts = summary.contradictions
    states = f"{summary.partitions:,} in {plural(summary.topics, 'topic')}, {plural(summary.states, 'state')}"
    if summary.inferred_states:
        states += f", {summary.inferred_states:,} of them inferred"
    if summary.missing_states:
        states += f"; {plural(summary.missing_states, 'more state')} not fully in the logs"
    return [
        *labelled("controllers", [_terms_text(summary.controller_terms, names)]),
        *labelled("partitions", [states]),
        *labelled(
            "conflicts",
            [f"log lines disagree about {plural(conflicts[0]['total'], 'state')}:"] if conflicts else [],
            [_contradiction(row, names) for row in conflicts],
        ),
        *labelled("requests", [requests_text(summary.requests)] if summary.requests else []),
        *labelled("clocks", clock_sentences(summary.clocks, loggers)),
    ]


def _terms_text(terms: Sequence[Row], names: Names) -> str:
    """`4 terms: 3 (epoch 1) 11:44:18.028 to 11:46:03.183; ...`, the last ones if there are many."""
    if not terms:
        return "no term is in the logs"
    shown = [
        f"{row['controller_id']} (epoch {row['controller_epoch']}) {names.time(row['since'])} to "
        f"{names.time(row['until']) if row['until'] else 'the end of the logs'}"
        for row in terms[-MOST:]
    ]
    last = f", the last {MOST}" if len(terms) > MOST else ""
    return f"{plural(terms[-1]['total'], 'term')}{last}: {'; '.join(shown)}"


def _contradiction(row: Row, names: Names) -> str:
    partition = f"{row['topic']}-{row['partition']}"
    return f"{partition} at {names.time(row['at'])}: {row['contradiction']} ({names.proof(row)})"


def requests_text(counts: Sequence[Row]) -> str:
    """What controllers asked of brokers, by kind: rows with `kind, total, stale, failed, slowest_ms, only_sent`."""

    def total(name: str) -> int:
        return sum(row[name] or 0 for row in counts)

    kinds = ", ".join(f"{row['total']:,} {row['kind'] or 'of unknown kind'}" for row in counts)
    slowest = max((row["slowest_ms"] for row in counts if row["slowest_ms"] is not None), default=None)
    parts = [
        f"{total('total'):,} from controllers to brokers: {kinds}",
        *([f"slowest response after {duration(slowest)}"] if slowest is not None else []),
        *([f"{total('stale'):,} ignored as stale"] if total("stale") else []),
        *([f"{total('failed'):,} answered with an error"] if total("failed") else []),
        *([f"{total('only_sent'):,} logged only by the sender"] if total("only_sent") else []),
    ]
    return "; ".join(parts)


def clock_sentences(offsets: Sequence[Row], loggers: Iterable[int]) -> list[str]:
    """Which nodes' clocks were corrected by how much, which agree, and which could not be compared.

    `loggers` are all nodes that logged. Nothing where one node logged: there is nothing to compare.
    """
    all_nodes, compared = {*loggers}, {row["node_id"] for row in offsets}
    if len(all_nodes | compared) < 2:
        return []
    corrected = [row for row in offsets if row["corrected"]]
    sentences = [_correction(row) for row in corrected[:MOST]]
    if len(corrected) > MOST:
        sentences.append(f"and {len(corrected) - MOST} more: SELECT * FROM clock_offsets WHERE len(applied) > 0")
    if inconsistent := [row["node_id"] for row in offsets if row["contradicting"]]:
        sentences.append(
            f"line pairs of {nodes(inconsistent)} are inconsistent, as if a clock had been set: times are not corrected"
        )
    if in_step := [row["node_id"] for row in offsets if not row["corrected"] and not row["contradicting"]]:
        where = "" if {*in_step} >= all_nodes else f" on {nodes(in_step)}"
        sentences.append(f"no clock skew detected{where} ({sum(row['pairs'] for row in offsets) // 2:,} line pairs)")
    if rest := sorted(all_nodes - compared):
        sentences.append(f"no lines to compare {nodes(rest)} with other nodes: times are not corrected")
    return sentences


def _correction(row: Row) -> str:
    node, reference = row["node_id"], row["reference"]
    if row["to_ms"] > 0:
        span = _milliseconds(row["from_ms"], row["to_ms"])
        return f"node {node} was ahead of node {reference} by {span}; its times are corrected"
    span = _milliseconds(-row["to_ms"], -row["from_ms"])
    return f"node {node} was behind node {reference} by {span}; its times are corrected"


def _milliseconds(least: float, most: float) -> str:
    return f"{least:,.0f} ms" if round(least) == round(most) else f"{least:,.0f} to {most:,.0f} ms"


# ---- replay
def _replay_lines(summary: ClusterSummary, names: Names) -> list[str]:
    """How many elections, other decisions and checks match Kafka, do not, and cannot be judged; then violations."""
    sentences = []
    for kind, (one, matches) in _JUDGED.items():
        totals = summary.verdicts.get(kind, {})
        holds, violated, unknown = (totals.get(name, 0) for name in ("holds", "violated", "unknown"))
        if kind == "elections" or holds + violated + unknown:
            text = f"{plural(holds, one)} {matches[holds != 1]}, {violated:,} do not"
            sentences.append(f"{text}, {unknown:,} cannot be judged" if unknown else text)
    if undecided := [number for number, text in enumerate(sentences) if text.endswith("cannot be judged")]:
        sentences[undecided[-1]] += ": inputs are missing from the logs"
    return labelled("replay", sentences, [_violation(row, names) for row in summary.violations])


_JUDGED = {
    "elections": ("election", ("matches Kafka's algorithm", "match Kafka's algorithm")),
    "decisions": ("other decision", ("matches it", "match it")),
    "invariants": ("check", ("of an invariant holds", "of invariants hold")),
}
"""By kind of rule: what it judges, and what one and several that match do."""


def _violation(row: Row, names: Names) -> str:
    return (
        f"{row['rule']} is violated by {row['subject']} at {names.time(row['at'])}: "
        f"expected {row['expected']}, but it was {row['actual']} ({names.proof(row)})"
    )


DETECT = "detect"
_SECTIONS: Mapping[str, Callable[[ClusterSummary, Names], list[str]]] = {
    DETECT: finding_lines,
    "replay": _replay_lines,
    "timelines": _timeline_lines,
    "ingest": _ingest_lines,
}
"""The lines of each step: what went wrong first, what was read last."""


def _badness(summary: ClusterSummary) -> tuple[int, ...]:
    """Orders clusters by how they stand, then by what they lost, and by their incidents."""
    counts = summary.incident_counts
    lost = summary.lost_to_others[0]
    return status_of(summary).severity, lost, counts.get("critical", 0), counts.get("major", 0), summary.open_outages


def _next_commands(root: str, steps: Sequence[str], clusters: Sequence[ClusterSummary], *, names_cluster: bool) -> str:
    """The step that comes next, or, after the last one, some questions to the tables about the worst cluster."""
    later = STEPS[STEPS.index(steps[-1]) + 1 :]
    of_root = f" --warehouse {shlex.quote(root)}"
    if later:
        return f"Next:\n  kafka-rewind {later[0]}{of_root}"
    worst = max(clusters, key=_badness, default=None)
    outages = worst.outages if worst is not None else []
    partition = shlex.quote(name_of(outages[0])) if outages else "TOPIC-PARTITION"
    is_named = worst is not None and (names_cluster or len(clusters) > 1)
    of_worst = f" --cluster {shlex.quote(worst.cluster)}" if worst is not None and is_named else ""
    commands = ("incidents", "outages", f"why {partition}", "brokers", "loss", "report -o night.html")
    return "\n".join(["Where to look next:", *(f"  kafka-rewind {words}{of_worst}{of_root}" for words in commands)])
