"""The page: what can be read without scripts, the values for the script, and everything from logs escaped."""

from __future__ import annotations

import base64
import hashlib
import json
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
from jobs.nightly.summary_facts import IS_DELETION, node_roles
from jobs.nightly.unknown_zeros import OUTAGES, UNCLEAN
from jobs.nightly.wording import date_time, duration, plural
from jobs.nightly.words import listed, single_point_text
from jobs.report.collect import Report, collect
from jobs.version import product_version
from schemas.kafka_values import UNDER_REPLICATED_STATES
from udfs.logs.coverage import coverage_gaps
from udfs.printable import printable

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
{_tiles(opened, report)}
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


def text(value: object) -> str:
    """Text of a log as HTML: no markup, no control characters.

    >>> text("</script><img src=x onerror=alert(1)>")
    '&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;'
    """
    return escape(printable(str(value)))


def as_script(values: object) -> str:
    """JSON that stays data inside of a script element, whatever texts it holds.

    >>> as_script({"topic": "</script>"})
    '{"topic":"\\\\u003c/script\\\\u003e"}'
    """
    plain = json.dumps(values, separators=(",", ":"), ensure_ascii=True)
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _resource(name: str) -> str:
    return files("jobs.report").joinpath(name).read_text(encoding="utf-8")


def _run(opened: OpenedCluster) -> str:
    rows = opened.rows("SELECT run_id FROM runs WHERE status = 'published' ORDER BY run_id::BIGINT DESC LIMIT 1")
    return str(rows[0]["run_id"]) if rows else "unknown"


# ---- head -----------------------------------------------------------------------------------------------------------
def _head(opened: OpenedCluster, report: Report) -> str:
    span = duration(int((opened.last - opened.first).total_seconds() * 1000))
    nodes = sorted({node for row in opened.streams for node in row["node_ids"]})
    sentences = {
        "Outages": outages_answer(opened, all_rows=False).sentence,
        "Data lost?": loss_answer(opened).sentence,
        "Brokers": brokers_answer(opened).sentence,
    }
    if alone := single_points(opened):
        texts = (single_point_text(row["broker"], len(row["partitions"]), row["partitions"][:5]) for row in alone[:3])
        sentences["At risk"] = f"When the logs end {'; '.join(texts)}."
    paragraphs = "".join(f"<dt>{name}</dt><dd>{text(sentence)}</dd>" for name, sentence in sentences.items())
    logs = f"{plural(len(opened.streams), 'log stream')} of nodes {', '.join(map(str, nodes))}"
    return f"""<header><div><h1>Cluster {text(opened.cluster)}</h1>
<p class="faint">{date_time(opened.first)} to {date_time(opened.last)} UTC ({span}), {text(logs)},
{len(report.values["partitions"]):,} partitions in {plural(len(report.values["topics"]), "topic")}</p>
<dl class="verdict">{paragraphs}</dl></div>
<button id="theme" title="Light or dark">Light / dark</button></header>"""


def _tiles(opened: OpenedCluster, report: Report) -> str:
    """The headline row, as on dashboards of Kafka's metrics; what cannot be told is no zero."""
    missing = missing_facts(opened)
    at_end = opened.rows(
        f"""WITH at_end AS (  -- in ZooKeeper a dead broker may still be the leader
            SELECT *, leader >= 0 AND (topic, partition) NOT IN (
                SELECT (topic, partition) FROM offline_partitions WHERE ended_before IS NULL) AS has_leader
            FROM partition_timeline WHERE until IS NULL)
        SELECT count(*) FILTER (WHERE NOT has_leader) AS offline, count(*) AS partitions,
            count(*) FILTER (WHERE has_leader AND availability IN {UNDER_REPLICATED_STATES!r}) AS under,
            count(*) FILTER (WHERE has_leader AND replicas IS NOT NULL AND leader <> replicas[1]) AS imbalanced,
            count(*) FILTER (WHERE has_leader AND replicas IS NOT NULL) AS led,
            count(*) FILTER (WHERE has_leader) AS with_leader
        FROM at_end"""
    )[0]
    alone = [(row["broker"], len(row["partitions"])) for row in single_points(opened)]
    outages = opened.rows(
        "SELECT count(*) AS n, coalesce(max(at_least_ms), 0) AS longest FROM offline_partitions"
        f" WHERE NOT {IS_DELETION}"
    )[0]
    elections = opened.rows(
        "SELECT count(*) FILTER (WHERE unclean) AS unclean, count(*) FILTER (WHERE succeeded) AS total FROM elections"
    )[0]
    unclean = elections["unclean"]
    changes = opened.rows(
        "SELECT count(*) FILTER (WHERE kind = 'shrink') AS shrinks, count(*) FILTER (WHERE kind = 'expand') AS expands"
        " FROM isr_changes"
    )[0]
    terms = report.values["terms"]
    last = terms[-1] if terms else None
    is_active = last is not None and last["until"] is None
    tiles = [
        _tile("Offline partitions", at_end["offline"] or (UNTOLD if OUTAGES in missing else 0),
              f"at the end; {plural(outages['n'], 'outage')}, longest {duration(outages['longest'])}",
              "bad" if at_end["offline"] else "warn" if outages["n"] else "good"),
        _tile("Under-replicated", at_end["under"], f"of {at_end['with_leader']:,} with a leader at the end",
              "warn" if at_end["under"] else "good" if at_end["with_leader"] else "untold"),
        _tile("One replica in sync", sum(count for _, count in alone), "at the end; " + listed(
            (f"{count:,} on broker {broker}" for broker, count in alone), 2) if alone
              else f"of {plural(at_end['with_leader'], 'partition')} with a leader at the end" if at_end["with_leader"]
              else "no partition has a leader at the end",
              "warn" if alone else "good" if at_end["with_leader"] else "untold"),
        _tile("Unclean elections", unclean or (UNTOLD if UNCLEAN in missing else 0),
              f"of {elections['total']:,} elections", "bad" if unclean else "good"),
        _tile("Active controller", last["id"] if last and is_active else "none at the end",
              f"epoch {last['epoch']}; {plural(len(terms) - 1, 'change')}" if last else "no term is in the logs",
              "good" if is_active else "untold"),
        _tile("ISR shrinks", changes["shrinks"], f"{plural(changes['expands'], 'expand')}",
              "warn" if changes["shrinks"] else "good"),
        _tile("Preferred imbalance", _percent(at_end["imbalanced"], at_end["led"]),
              f"{plural(at_end['imbalanced'], 'partition')} not led by the preferred replica at the end"
              if at_end["led"] else "assignments are in no line" if at_end["with_leader"]
              else "no partition has a leader at the end",
              "warn" if at_end["imbalanced"] else "good" if at_end["led"] else "untold"),
    ]  # fmt: skip
    return f'<section class="tiles" aria-label="Headline">{"".join(tiles)}</section>'


UNTOLD = "cannot be told"


def _tile(name: str, value: object, below: str, kind: str) -> str:
    shown = f"{value:,}" if isinstance(value, int) and name != "Active controller" else str(value)
    kind = "untold" if value == UNTOLD else kind
    lines = f'<span class="name">{name}</span><b>{text(shown)}</b><span>{text(below)}</span>'
    return f'<div class="tile {kind}">{lines}</div>'


def _percent(part: int, of: int) -> str:
    return f"{100 * part / of:.0f} %" if of else "unknown"


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
    planned = sum(incident["severity"] == "info" for incident in incidents)
    count = plural(len(incidents) - planned, "incident") + (f" and {plural(planned, 'planned one')}" if planned else "")
    if not report.opened.has("incidents"):
        count = f"{len(incidents):,} outages of one cause together"
    body = (
        f'<div class="cards">{"".join(cards[:FIRST_CARDS])}</div>'
        if cards
        else "<p>Nothing, as far as the logs go.</p>"
    )
    if rest := cards[FIRST_CARDS:]:
        body += f'<details><summary>{len(rest)} more</summary><div class="cards">{"".join(rest)}</div>{more}</details>'
    return f"<h2>What went wrong <small>{count}</small></h2>{body}"


def _rank(severity: str) -> int:
    return ORDER.index(severity) if severity in ORDER else ORDER.index("info") - 1


def _card(report: Report, incident: dict[str, Any], number: int) -> str:
    begin, end = _clock(report, incident["since"]), "and not over when the logs end"
    if incident["until"] is not None:
        end = _clock(report, incident["until"])
        end = f"to {end[11:] if end[:10] == begin[:10] else end}"
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
{len(report.values["elections"]):,} known</small></h2>
<div class="chart"><canvas id="latency" data-left="70"
role="img" aria-label="Latency of elections"></canvas></div></div></div>"""


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
    more = f"the first {MOST_TABLE} of " if len(outages) > MOST_TABLE else ""
    head = ["partition", "from", "no leader for", "cause", "ended by", "failed elections"]
    return f"<h2>Outages <small>{more}{len(outages):,}</small></h2>{_table(head, rows, (5,))}"


def _unclean_table(report: Report) -> str:
    elections = report.values["uncleans"]
    if not elections:
        return ""
    rows = [
        (f"unclean:{i}", [row["name"], _clock(report, row["at"]), row["leader"], row["isr"], row["lost"]])
        for i, row in enumerate(elections[:MOST_TABLE])
    ]
    head = ["partition", "at", "new leader", "ISR before", "records lost"]
    return f"<h2>Unclean elections <small>{len(elections):,}</small></h2>{_table(head, rows)}"


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
    proofs = _table(["violated rule", "by", "expected", "actual"], violated) if violated else ""
    rows = [("", [r["rule"], r["holds"], r["violated"], r["unknown"], ", ".join(r["missing"] or ())]) for r in counts]
    head = ["rule", "holds", "violated", "unknown", "for want of"]
    decided = sum(row["holds"] + row["violated"] for row in counts)
    return (
        f"<h2>Did the controller decide right? <small>{decided:,} decisions judged</small></h2>{proofs}"
        f"{_table(head, rows, (1, 2, 3))}"
    )


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
    for table in ("incidents", "log_dir_failures"):
        if not opened.has(table):
            sentences.append(f"What the table {table} would have: this warehouse was written before there was one.")
    items = "".join(f"<li>{text(sentence)}</li>" for sentence in dict.fromkeys(sentences))
    return f"<h2>What the logs cannot tell</h2><ul>{items}</ul>"
