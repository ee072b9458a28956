"""The page: what can be read without scripts, the values for the script, and everything from logs escaped."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Sequence
from datetime import timedelta
from html import escape
from importlib.resources import files
from typing import Any

from jobs.answers.broker_list import brokers_answer
from jobs.answers.incidents import single_points
from jobs.answers.loss import loss_answer
from jobs.answers.opened import OpenedCluster
from jobs.answers.outages import missing_facts, outages_answer
from jobs.nightly.summary_facts import node_roles
from jobs.nightly.unknown_zeros import OUTAGES
from jobs.nightly.wording import date_time, duration, plural
from jobs.nightly.words import single_point_text
from jobs.report.collect import HAS_LATENCY, TABLES, Report, collect
from jobs.report.escaping import as_script, text
from jobs.report.tiles import tiles_html
from jobs.version import product_version
from udfs.kafka.decision_rules import KINDS
from udfs.logs.coverage import coverage_gaps

FIRST_CARDS, MOST_CARDS, MOST_TABLE = 6, 100, 300
"""Incident cards that are open, incident cards and rows of a table that are on the page; the charts have all."""
LEGEND = """<div class="legend"><span><i style="background:var(--up)"></i>up</span>
<span><i style="background:var(--controller)"></i>controller</span>
<span><i style="background:var(--stopping)"></i>shutting down</span>
<span><i style="background:var(--lost)"></i>lost or fenced</span>
<span><i style="background:var(--shut)"></i>shut down</span>
<span><i style="background:var(--away)"></i>not known</span></div>"""


def report_page(opened: OpenedCluster) -> str:
    """The whole report of one cluster as HTML, the same for the same tables."""
    report = collect(opened)
    script, css = _resource("report.js"), _resource("report.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:"
    title = f"Kafka Rewind: {opened.cluster}"
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{text(title)}</title>
<style>{css}</style></head>
<body>
{_head(opened, report)}
<main>
{tiles_html(opened, report.values["terms"])}
{_cards(report)}
{_charts(report)}
{_outage_table(report)}
{_unclean_table(report)}
{_verdicts(opened, report)}
{_unknown(opened)}
<footer>Written by Kafka Rewind {text(product_version())} from run {text(_run(opened))}. All times are UTC.</footer>
</main>
<div id="tip" role="status"></div><aside id="details" aria-label="Details"></aside>
<script type="application/json" id="data">{as_script(report.values)}</script>
<script>{script}</script>
</body></html>
"""


def _resource(name: str) -> str:
    return files("jobs.report").joinpath(name).read_text(encoding="utf-8")


def _run(opened: OpenedCluster) -> str:
    rows = opened.rows("SELECT run_id FROM runs WHERE status = 'published' ORDER BY run_id::BIGINT DESC LIMIT 1")
    return str(rows[0]["run_id"]) if rows else "unknown"


# ---- head -----------------------------------------------------------------------------------------------------------
def _head(opened: OpenedCluster, report: Report) -> str:
    span = duration(int((opened.last - opened.first).total_seconds() * 1000))
    nodes = sorted({node for row in opened.streams for node in row["node_ids"]})
    zones = ", ".join(sorted({row["time_zone"] for row in opened.streams if row["first_at"]}) or ["UTC"])
    sentences = {
        "Outages": outages_answer(opened, all_rows=False).sentence,
        "Data lost?": loss_answer(opened).sentence,
        "Brokers": brokers_answer(opened).sentence,
    }
    if alone := single_points(opened):
        texts = (single_point_text(row["broker"], len(row["partitions"]), row["partitions"][:5]) for row in alone[:3])
        sentences["At risk"] = f"When the logs end {'; '.join(texts)}."
    paragraphs = "".join(f"<dt>{name}</dt><dd>{text(sentence)}</dd>" for name, sentence in sentences.items())
    of_nodes = f"nodes {', '.join(map(str, nodes))}" if nodes else "nodes that no line names"
    logs = f"{plural(len(opened.streams), 'log stream')} of {of_nodes}"
    return f"""<header><div><h1>Cluster {text(opened.cluster)}</h1>
<p class="faint">{date_time(opened.first)} to {date_time(opened.last)} UTC ({span}), {text(logs)},
{len(report.values["partitions"]):,} partitions in {plural(len(report.values["topics"]), "topic")};
the logs' local times were read as {text(zones)}</p>
<dl class="verdict">{paragraphs}</dl></div>
<button id="theme" title="Light or dark">Light / dark</button></header>"""


# ---- what went wrong ------------------------------------------------------------------------------------------------
ORDER = ("critical", "major", "warning", "minor", "info")


def _cards(report: Report) -> str:
    incidents = report.values["incidents"]
    order = sorted(
        range(len(incidents)),
        key=lambda i: (_rank(incidents[i]["severity"]), incidents[i]["until"] is not None, -incidents[i]["minutes"], i),
    )
    cards = [_card(report, incidents[i], i) for i in order[:MOST_CARDS]]
    more = f'<p class="faint">and {len(order) - MOST_CARDS:,} more</p>' if len(order) > MOST_CARDS else ""
    body = f'<div class="cards">{"".join(cards[:FIRST_CARDS])}</div>' if cards else f"<p>{_nothing(report)}</p>"
    if rest := cards[FIRST_CARDS:]:
        body += f'<details><summary>{len(rest)} more</summary><div class="cards">{"".join(rest)}</div>{more}</details>'
    return f"<h2>What went wrong <small>{_incident_count(report)}</small></h2>{body}"


def _incident_count(report: Report) -> str:
    incidents = report.values["incidents"]
    if not report.opened.has("incidents"):
        return f"{plural(len(incidents), 'group')} of outages, each of one cause" if incidents else ""
    planned = sum(incident["severity"] == "info" for incident in incidents)
    if not incidents and OUTAGES in missing_facts(report.opened):
        return ""
    return plural(len(incidents) - planned, "incident") + (f" and {plural(planned, 'planned one')}" if planned else "")


def _nothing(report: Report) -> str:
    """What stands for the cards if there are none."""
    if OUTAGES in missing_facts(report.opened):
        return "Nothing that is in these logs, but they do not tell all: see what they cannot tell, below."
    return "Nothing, as far as the logs go."


def _rank(severity: str) -> int:
    return ORDER.index(severity) if severity in ORDER else ORDER.index("info") - 1


def _card(report: Report, incident: dict[str, Any], number: int) -> str:
    begin, end = _clock(report, incident["since"]), "and not over when the logs end"
    if incident["until"] is not None:
        end = _clock(report, incident["until"])
        end = f"to {end[11:] if end[:10] == begin[:10] else end}"
    elif not incident["is_open"]:
        end = "to an unknown time"
    severity = str(incident["severity"])
    known = severity if severity in ORDER else "info"
    names = f'<p class="faint">{text(incident["names"])}</p>' if incident["names"] else ""
    return f"""<article class="card"><span class="badge {known}">{text(severity)}</span>
<h3>{text(incident["title"])}</h3><p class="faint">{begin} {end}</p>
<p>{_with_references(text(incident["story"] or ""), number, len(incident["refs"]))}</p>{names}
<div class="actions"><button data-go="incident:{number}">Lines and time</button></div></article>"""


def _with_references(story: str, incident: int, lines: int) -> str:
    """A story as HTML, whose `[2]` shows that line of the incident."""

    def reference(match: re.Match[str]) -> str:
        button = f'<button class="ref" data-go="incident:{incident}:{match[1]}">{match[0]}</button>'
        return button if 1 <= int(match[1]) <= lines else match[0]

    return re.sub(r"\[(\d{1,3})\]", reference, story)


def _clock(report: Report, ms: int) -> str:
    at = report.begin + timedelta(milliseconds=ms)
    return date_time(at)


def _charts(report: Report) -> str:
    return f"""<h2>When <small id="window"></small></h2>
<noscript><p>The charts are drawn by a script, which does not run here: open the file in a browser.</p></noscript>
<div class="bar"><button id="in" title="Zoom in (+)">Zoom in</button>
<button id="out" title="Zoom out (-)">Zoom out</button><button id="reset" title="Whole time (0)">Whole time</button>
<span class="faint">drag to zoom, double click for the whole time, Ctrl and wheel, click on anything for its log
lines</span></div>
<div class="chart"><canvas id="brokers" role="img" aria-label="Brokers and controllers over time"></canvas></div>
{LEGEND}
<div class="chart"><canvas id="activity" role="img" aria-label="Partitions without a leader over time"></canvas></div>
<div class="bar"><h2 style="margin:14px 0 4px">Partitions <small id="count"></small></h2><span class="grow"></span>
<label>Search <input id="search" type="search" placeholder="orders-3"></label>
<label>Show <select id="only"><option value="all">all</option><option value="offline">that had no leader</option>
<option value="under">under-replicated</option><option value="moved">whose leader changed</option></select></label>
<label>Order <select id="order"><option value="name">name</option><option value="offline">time without a leader</option>
<option value="under">time under-replicated</option><option value="moved">leader changes</option></select></label></div>
<div class="chart"><div class="lanes" id="lanes" tabindex="0"><canvas id="partitions" role="img"
aria-label="Partitions over time"></canvas><div class="spacer" id="spacer"></div></div></div>
<div class="legend"><span><i style="background:var(--bad)"></i>no leader</span><span id="leaders" class="legend"
style="margin:0"></span><span>height of a bar: part of the replicas that are in sync; a thin grey line: leader
unknown</span></div>
<div class="pair"><div><h2>ISR churn <small>replicas that left or joined an ISR</small></h2>
<div class="chart"><canvas id="churn" data-left="90"
role="img" aria-label="ISR changes by broker and time"></canvas></div></div>
<div><h2>Election latency <small>from the loss of a leader to the next;
{_latency_count(report)} known</small></h2>
<div class="chart"><canvas id="latency" data-left="70"
role="img" aria-label="Latency of elections"></canvas></div></div></div>"""


def _latency_count(report: Report) -> str:
    drawn = len(report.values["elections"])
    total: int = report.opened.rows(f"SELECT count(*) AS n FROM elections WHERE {HAS_LATENCY}")[0]["n"]
    return f"the {drawn:,} longest of {total:,}" if drawn < total else f"{total:,}"


# ---- tables ---------------------------------------------------------------------------------------------------------
def _table(head: Sequence[str], rows: Iterable[tuple[str, Sequence[object]]], numbers: Sequence[int] = ()) -> str:
    """Rows with what a click shows; cells are escaped."""

    def cells(tag: str, values: Sequence[object]) -> str:
        return "".join(
            f"<{tag}{' class=n' if i in numbers else ''}>{text(value)}</{tag}>" for i, value in enumerate(values)
        )

    body = "".join(
        f"<tr{f' data-go={chr(34)}{go}{chr(34)}' if go else ''}>{cells('td', values)}</tr>" for go, values in rows
    )
    return f'<div class="scroll"><table><thead><tr>{cells("th", head)}</tr></thead><tbody>{body}</tbody></table></div>'


def _of_all(shown: int, total: int) -> str:
    """`24`; where not all rows are on the page `the first 300 of 1,024`."""
    return f"the first {shown:,} of {total:,}" if shown < total else f"{total:,}"


def _outage_table(report: Report) -> str:
    outages = report.values["outages"]
    if not outages:
        return ""
    rows = [
        (
            f"outage:{number}",
            [row["name"], _clock(report, row["since"]), row["length"], row["cause"] or "unknown",
             "STILL OFFLINE" if row["is_open"] else row["healed"] or "unknown", row["failed"] or ""],
        )
        for number, row in enumerate(outages[:MOST_TABLE])
    ]  # fmt: skip
    total = report.opened.rows("SELECT count(*) AS n FROM offline_partitions")[0]["n"]
    head = ["partition", "from", "no leader for", "cause", "ended by", "failed elections"]
    return f"<h2>Outages <small>{_of_all(len(rows), total)}</small></h2>{_table(head, rows, (5,))}"


def _unclean_table(report: Report) -> str:
    elections = report.values["uncleans"]
    if not elections:
        return ""
    rows = [
        (f"unclean:{i}", [row["name"], _clock(report, row["at"]), row["leader"], row["isr"], row["lost"]])
        for i, row in enumerate(elections[:MOST_TABLE])
    ]
    head = ["partition", "at", "new leader", "ISR before", "records lost"]
    total = report.opened.rows("SELECT count(*) AS n FROM elections WHERE unclean")[0]["n"]
    return f"<h2>Unclean elections <small>{_of_all(len(rows), total)}</small></h2>{_table(head, rows)}"


def _verdicts(opened: OpenedCluster, report: Report) -> str:
    counts = opened.rows(
        """SELECT rule, count(*) FILTER (WHERE verdict = 'holds') AS holds,
            count(*) FILTER (WHERE verdict = 'violated') AS violated,
            count(*) FILTER (WHERE verdict = 'unknown') AS unknown,
            list_sort(list_distinct(flatten(list(missing_inputs) FILTER (WHERE verdict = 'unknown')))) AS missing
        FROM verdicts GROUP BY rule ORDER BY violated DESC, rule"""
    )
    violated = [
        (f"verdict:{i}", [row["rule"], row["subject"], row["expected"] or "", row["actual"] or ""])
        for i, row in enumerate(report.values["verdicts"][:MOST_TABLE])
    ]
    if not counts:
        return "<h2>Did the controller decide right?</h2><p>No decision was judged.</p>"
    total = sum(row["violated"] for row in counts)
    proofs = f"<p>Violations: {_of_all(len(violated), total)}</p>" if violated else ""
    proofs += _table(["violated rule", "by", "expected", "actual"], violated) if violated else ""
    rows = [("", [r["rule"], r["holds"], r["violated"], r["unknown"], ", ".join(r["missing"] or ())]) for r in counts]
    head = ["rule", "holds", "violated", "unknown", "for want of"]
    return (
        f"<h2>Did the controller decide right? <small>{_judged_text(counts)}</small></h2>{proofs}"
        f"{_table(head, rows, (1, 2, 3))}"
    )


def _judged_text(counts: Sequence[dict[str, Any]]) -> str:
    """How many decisions and checks of invariants are judged, apart, as the summary has them."""
    decisions = {rule.name for kind in ("elections", "decisions") for rule in KINDS[kind]}
    judged = [(row["rule"] in decisions, row["holds"] + row["violated"]) for row in counts]
    of_decisions, of_invariants = (sum(n for is_one, n in judged if is_one == kind) for kind in (True, False))
    return f"{plural(of_decisions, 'decision')} and {plural(of_invariants, 'check')} of invariants judged"


def _unknown(opened: OpenedCluster) -> str:
    """What the logs do not tell: holes, gaps, and what the answers above could not say."""
    gaps = coverage_gaps(opened.coverage, node_roles(opened.streams), most=12, registered=opened.registered)
    sentences = [f"There is {gap}." for gap in gaps]
    for answer in (outages_answer(opened, all_rows=False), loss_answer(opened), brokers_answer(opened)):
        sentences += answer.unknown
    states = opened.rows(
        "SELECT count(*) FILTER (WHERE inferred) AS inferred, sum(missing_before)::BIGINT AS missing"
        " FROM partition_timeline"
    )[0]
    if states["inferred"]:
        sentences.append(
            f"{plural(states['inferred'], 'state')} in full: no line prints them, they follow from neighbours."
        )
    if states["missing"]:
        sentences.append(f"{plural(states['missing'], 'state')} between others: no line shows them.")
    for table, kind, what in (
        ("contradictions", "state", "about which lines contradict each other"),
        ("rejects", "record", "that no rule reads"),
    ):
        if opened.has(table) and (count := opened.rows(f"SELECT count(*) AS n FROM {table}")[0]["n"]):
            sentences.append(f"{plural(count, kind)} {what}.")
    for table in TABLES:
        if not opened.has(table):
            sentences.append(f"What the table {table} would have: this warehouse was written before there was one.")
    items = "".join(f"<li>{text(sentence)}</li>" for sentence in dict.fromkeys(sentences))
    return f"<h2>What the logs cannot tell</h2><ul>{items}</ul>"
