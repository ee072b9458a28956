"""The report: right values, nothing of a log is markup, no network, and it works in a browser (skipped without one)."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest
from click.testing import CliRunner

from jobs.cli import main
from jobs.package import sources
from jobs.report.write import write_reports
from tests.answers_warehouse import STATE, moment, night, partition, proof, row, tables
from tests.delta_warehouse import Rows
from tests.report_page import INCIDENT, browse, needs_browser, report, values

HOSTILE = "</script><img src=x onerror=\"document.title='owned'\">"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report")
    return report(night(folder / "w"), folder / "night.html")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A cluster whose topic and titles are markup."""
    folder = tmp_path_factory.mktemp("hostile")
    renamed = {
        name: [{**one, **({"topic": HOSTILE} if "topic" in one else {})} for one in rows]
        for name, rows in tables().items()
    }
    renamed["verdicts"] = [{**one, "expected": HOSTILE, "subject": HOSTILE} for one in renamed["verdicts"]]
    return report(night(folder / "w", renamed), folder / "night.html")


# ---- without a browser ----------------------------------------------------------------------------------------------
def test_values(page: str) -> None:
    """Times are ms since 10:00:00."""
    data = values(page)
    assert (data["topics"], data["span_ms"], data["isrs"]) == (["pay-in"], 600_000, ["1,2", "1", "2", "3"])
    first = data["partitions"][0]
    states = [first[2][i : i + 8] for i in range(0, len(first[2]), 8)]
    assert first[:2] == [0, 0]
    assert [state[:6] for state in states] == [
        [1_000, 1, 0, 2, 0, 0],  # since, leader, number of the ISR, replicas, flags, leader epoch
        [240_000, 1, 1, 2, 4, 0],
        [300_020, -1, 1, 2, 0, 1],
        [360_000, 2, 2, 2, 4, 2],
    ]
    assert [(one["name"], one["since"], one["until"], one["is_open"]) for one in data["outages"]] == [
        ("pay-in-1", 480_000, None, True), ("pay-in-0", 300_020, 360_000, False),
    ]  # fmt: skip
    assert data["elections"] == [[360_000, 60_000, 1, 0]]
    assert data["brokers"][0]["spans"][0]["until"] == 300_000
    shrink = [data["files"].index("broker-1/server.log"), 20]
    assert data["churn"]["cells"] == [[24, 0, 1, 1, "pay-in-0", [shrink]]]  # broker 2 at 240 s, in columns of 10 s
    place = f"{data['files'].index('broker-3/state-change.log')}:50"
    assert data["lines"][place] == "INFO pay-in-1 has leader -1"


def test_a_dead_leader_that_still_stands_in_a_state_leads_nothing(tmp_path: Path) -> None:
    """As in ZooKeeper until 2.0: broker 1 stands as leader from 10:00:01 on, and was dead from 10:02 to 10:03."""
    stands = {**tables()["partition_timeline"][0], "until": None}
    dead = partition(0, since="10:02", until="10:03", duration_ms=60_000, at_least_ms=60_000, at_most_ms=60_000,
        began_after="10:02", ended_before="10:03", cause="broker_crash", cause_broker=1, last_leader=1, last_isr=[1, 2],
        healed_by="broker_return", failed_elections=1, evidence=proof((STATE, 40)))  # fmt: skip
    page = report(night(tmp_path / "w", {"partition_timeline": [stands], "offline_partitions": [dead]}), tmp_path / "r")
    states = values(page)["partitions"][0][2]
    assert [(states[i], states[i + 1]) for i in range(0, len(states), 8)] == [(1_000, 1), (120_000, -1), (180_000, 1)]
    assert states[8 + 6] == -1  # the line of the state does not show that nobody leads


def test_an_outage_of_a_partition_of_which_no_line_prints_a_state(tmp_path: Path) -> None:
    """Until 2.0 ZooKeeper's controller writes none when it finds no leader: pay-in-0 had none from 300.02 s to 360 s,
    pay-in-1 from 480 s on."""
    data = values(report(night(tmp_path / "w", {"partition_timeline": []}), tmp_path / "r.html"))
    lanes = [
        (number, [states[i : i + 2] for i in range(0, len(states), 8)]) for _, number, states in data["partitions"]
    ]
    assert lanes == [(0, [[300_020, -1], [360_000, -3]]), (1, [[480_000, -1]])]  # -3: nothing is known
    assert [one["partition"] for one in data["outages"]] == [1, 0]


def test_rows_that_are_not_on_the_page_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.report.html.MOST_TABLE", 1)
    more = {name: [tables()[name][-1 if name == "elections" else 0]] * 2 for name in ("elections", "verdicts")}
    page = report(night(tmp_path / "w", more), tmp_path / "r.html")
    assert "<h2>Outages <small>the first 1 of 2</small></h2>" in page
    assert "<h2>Unclean elections <small>the first 1 of 2</small></h2>" in page
    assert "<p>Violations: the first 1 of 2</p>" in page


def test_decisions_are_counted_apart_from_checks_of_invariants(tmp_path: Path) -> None:
    """An election by Kafka's algorithm is decided; that a leader is in the ISR is checked of each state."""
    invariant = tables()["verdicts"][1]
    decision = {**invariant, "rule": "kraft_election", "subject": "pay-in-1@1"}
    verdicts = [
        invariant,
        decision,
        {**decision, "subject": "pay-in-1@2"},
        {**decision, "subject": "pay-in-1@3", "verdict": "unknown"},
    ]
    page = report(night(tmp_path / "w", {"verdicts": verdicts}), tmp_path / "r.html")
    assert "<small>2 decisions and 1 check of invariants judged</small>" in page


def test_an_end_that_no_line_tells_is_not_the_end_of_the_logs(tmp_path: Path) -> None:
    """Without the table `incidents`; when the topic was deleted is in no line."""
    deleted = {
        **tables()["offline_partitions"][0],
        "until": None,
        "ended_before": None,
        "duration_ms": None,
        "healed_by": "topic_deletion",
    }
    page = report(night(tmp_path / "w", {"offline_partitions": [deleted]}), tmp_path / "r.html")
    assert '<p class="faint">2026-11-21 10:05:00.020 to an unknown time</p>' in page


def test_a_zero_that_cannot_be_told_is_none(tmp_path: Path) -> None:
    """2.4 without TRACE."""
    silent: dict[str, Rows] = {
        "control_requests": [],
        "offline_partitions": [],
        "elections": [],
        "partition_timeline": [],
    }
    page = report(night(tmp_path / "w", silent), tmp_path / "r.html")
    assert "<p>Nothing that is in these logs, but they do not tell all: see what they cannot tell, below.</p>" in page
    assert '<span class="name">Offline partitions</span><b>cannot be told</b>' in page
    assert '<span class="name">Unclean elections</span><b>cannot be told</b>' in page


def test_it_needs_no_network(page: str) -> None:
    assert re.findall(r"(?:https?:)?//[a-z]", re.sub(r"/\*.*?\*/", "", page)) == []
    assert re.findall(r"<\w[^>]*\s(?:src|href)=|@import|url\(", page) == []
    assert "default-src &#x27;none&#x27;" in page


def test_charts_that_no_script_draws_are_not_taken_for_a_quiet_night(page: str) -> None:
    assert "<noscript><p>The charts are drawn by a script, which does not run here" in page


def test_nothing_of_a_log_is_markup(hostile: str, page: str) -> None:
    for text in (hostile, page):
        assert text.count("</script>") == 2
        assert "<img" not in text
        assert "\x1b" not in text
    assert values(hostile)["topics"] == [HOSTILE]
    assert f"{HOSTILE}-0" in unescape(hostile)


def test_for_programs(tmp_path: Path) -> None:
    file = str(tmp_path / "r.html")
    at = ("--warehouse", str(night(tmp_path / "w")))
    result = CliRunner().invoke(main, ["report", "-o", file, "--format", "json", *at], catch_exceptions=False)
    assert json.loads(result.stdout) == {"cluster": "c", "file": file, "bytes": (tmp_path / "r.html").stat().st_size}


def test_same_tables_same_report(tmp_path: Path, page: str) -> None:
    assert report(night(tmp_path / "w"), tmp_path / "again.html") == page


def test_a_file_for_each_cluster(tmp_path: Path) -> None:
    more = {name: [*rows, *({**one, "cluster": "eu 2"} for one in rows)] for name, rows in tables().items()}
    root = night(tmp_path / "w", more)
    write_reports(str(root), str(tmp_path / "night.html"))
    assert sorted(path.name for path in tmp_path.glob("*.html")) == ["night-c.html", "night-eu_2.html"]
    assert values((tmp_path / "night-eu_2.html").read_text())["options"] == " --cluster 'eu 2'"


def test_clusters_whose_names_differ_in_signs_only_have_files_of_their_own(tmp_path: Path) -> None:
    more = {
        name: [*({**one, "cluster": "eu/2"} for one in rows), *({**one, "cluster": "eu 2"} for one in rows)]
        for name, rows in tables().items()
    }
    reports = write_reports(str(night(tmp_path / "w", more)), str(tmp_path / "night.html"))
    assert [(one.cluster, Path(one.file).name) for one in reports] == [
        ("eu 2", "night-eu_2.html"), ("eu/2", "night-eu_2-2.html"),
    ]  # fmt: skip


def test_the_zone_in_which_times_were_read(tmp_path: Path) -> None:
    """It may be a guess: local times name none."""
    logs = [{**one, "time_zone": "Europe/Berlin"} for one in tables()["log_files"]]
    page = report(night(tmp_path / "w", {"log_files": logs}), tmp_path / "r.html")
    assert "; the logs' local times were read as Europe/Berlin</p>" in page.replace("\n", " ")


def test_a_warehouse_that_lacks_tables(tmp_path: Path) -> None:
    lacking = ("broker_timeline", "controller_timeline", "isr_changes", "verdicts", "elections", "control_requests")
    page = report(night(tmp_path / "w", without=lacking), tmp_path / "r.html")
    assert len(values(page)["outages"]) == 2
    for table in lacking:
        assert f"What the table {table} would have: this warehouse was written before there was one." in page


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    root = night(tmp_path / "w")
    result = CliRunner().invoke(main, ["report", "-o", str(tmp_path / "no" / "r.html"), "--warehouse", str(root)])
    assert (result.exit_code, "The output's folder does not exist" in result.stderr) == (2, True)
    result = CliRunner().invoke(main, ["nightly", str(tmp_path), "--report", str(tmp_path / "no" / "r.html")])
    assert (result.exit_code, "The output's folder does not exist" in result.stderr) == (2, True)


def test_archives_have_script_and_style() -> None:
    assert {"jobs/report/report.js", "jobs/report/report.css"} <= sources().keys()


# ---- in a browser ---------------------------------------------------------------------------------------------------
CLICKS = """
const steps = {};
const click = (node) => node.dispatchEvent(new MouseEvent("click", {bubbles: true}));
const press = (id, x, y) => {
  const box = $(id).getBoundingClientRect();
  for (const kind of ["mousedown", "mouseup"])
    $(id).dispatchEvent(new MouseEvent(kind, {bubbles: true, button: 0, clientX: box.left + x, clientY: box.top + y}));
};
steps.ready = document.documentElement.dataset.ready;
$("search").value = "IN-1"; $("search").dispatchEvent(new Event("input"));
steps.searched = shown.map((one) => one.name);
$("search").value = ""; $("only").value = "moved"; $("only").dispatchEvent(new Event("change"));
steps.moved = shown.map((one) => one.name);
$("only").value = "all"; $("order").value = "offline"; filterPartitions();
steps.by_outage = shown.map((one) => [one.name, one.offline]);
const width = $("partitions").clientWidth - LEFT - RIGHT;
press("partitions", LEFT + width * 0.9, 20 + ROW / 2);
steps.clicked = $("details").textContent;
hide();
press("churn", 90 + ($("churn").clientWidth - 90 - RIGHT) * 245 / 600, 30);
steps.churn = $("details").textContent;
hide();
press("activity", LEFT + width * 0.55, 40);
steps.moment = $("details").textContent;
hide();
click(document.querySelector('tr[data-go="outage:1"]'));
steps.outage = $("details").textContent;
setView(300000, 360000);
steps.window = $("window").textContent;
zoom(2);
steps.zoomed_out = [view.from, view.to];
click($("reset"));
steps.whole = [view.from, view.to];
window.dispatchEvent(new Event("beforeprint")); window.dispatchEvent(new Event("afterprint"));
steps.images = document.images.length;
document.body.append(Object.assign(document.createElement("pre"), {id: "steps", textContent: JSON.stringify(steps)}));
"""


@needs_browser
def test_clicks_filters_and_zoom(page: str, tmp_path: Path) -> None:
    texts = re.findall(r'<pre id="steps">(.*?)</pre>', browse(page, tmp_path, CLICKS), re.DOTALL)
    steps = json.loads(unescape(texts[0]))
    assert steps["ready"] == "yes"
    assert steps["searched"] == ["pay-in-1"]
    assert steps["moved"] == ["pay-in-0"]
    assert steps["by_outage"] == [["pay-in-1", 120_000], ["pay-in-0", 59_980]]
    assert steps["clicked"].startswith("Closepay-in-1: NO LEADER")
    assert "broker-3/state-change.log:50\nINFO pay-in-1 has leader -1" in steps["clicked"]
    assert steps["churn"].startswith("Closebroker 2: ISR changes")
    assert "broker-1/server.log:20\n" in steps["churn"]
    assert "1 without a leaderpay-in-00 under-replicatednone" in steps["moment"]
    assert "broker-3/state-change.log:41\n" in steps["moment"]
    assert "kafka-rewind why pay-in-0 --at 2026-11-21T10:05:00.020Z" in steps["outage"]
    assert "broker 1 failed" in steps["outage"]
    assert steps["window"] == "2026-11-21 10:05:00.000 UTC to 10:06:00.000"
    assert (steps["zoomed_out"], steps["whole"]) == ([270_000, 390_000], [0, 600_000])


def test_a_story_shows_its_lines(tmp_path: Path) -> None:
    """What is in brackets is a line of the incident, unless it has none of that number."""
    page = report(night(tmp_path / "w", {"incidents": [INCIDENT]}), tmp_path / "r.html")
    assert re.findall(r'<button class="ref" data-go="([\w:]+)">(\[\d\])</button>', page) == [
        ("incident:0:1", "[1]"), ("incident:0:2", "[2]"),
    ]  # fmt: skip
    assert "See [3].</p>" in page


def test_what_an_incident_that_is_not_over_costs_at_least(tmp_path: Path) -> None:
    page = report(
        night(tmp_path / "w", {"incidents": [INCIDENT, {**INCIDENT, "incident_id": "j", "until": None}]}),
        tmp_path / "r.html",
    )
    assert re.findall(r"1 partition without a leader, [^<]*", page.split("<script")[0]) == [
        "1 partition without a leader, at least 1 min 0 s of partition time",
        "1 partition without a leader, 1 min 0 s of partition time",
    ]


def test_planned_incidents_are_counted_apart_as_the_command_does(tmp_path: Path) -> None:
    planned = {**INCIDENT, "incident_id": "j", "severity": "info", "title": "Broker 1 was restarted"}
    page = report(night(tmp_path / "w", {"incidents": [INCIDENT, planned]}), tmp_path / "r.html")
    assert "<h2>What went wrong <small>1 incident and 1 planned one</small></h2>" in page


@needs_browser
def test_a_click_on_a_number_shows_that_line(tmp_path: Path) -> None:
    page = report(night(tmp_path / "w", {"incidents": [INCIDENT]}), tmp_path / "r.html")
    script = """document.querySelector('[data-go="incident:0:2"]').click();
    document.body.append(Object.assign(document.createElement("pre"), {id: "steps",
        textContent: JSON.stringify([...document.querySelectorAll(".logline")].map((one) => [one.className, one.textContent]))}));
    """
    texts = re.findall(r'<pre id="steps">(.*?)</pre>', browse(page, tmp_path, script), re.DOTALL)
    assert json.loads(unescape(texts[0])) == [
        ["logline mono", "[1] broker-3/controller.log:30\nINFO Newly added brokers: , deleted brokers: 1"],
        ["logline mono chosen", "[2] broker-1/server.log:21\nINFO starting"],
    ]


def test_what_lives_on_one_broker_alone(tmp_path: Path) -> None:
    page = report(night(tmp_path / "w"), tmp_path / "r.html")
    assert (
        "<dd>When the logs end 1 partition lives on broker 2 alone, its other replicas are not in sync: pay-in-0.</dd>"
        in page
    )


@needs_browser
def test_hostile_names_do_nothing_in_a_browser(hostile: str, tmp_path: Path) -> None:
    dom = browse(hostile, tmp_path)
    assert 'data-ready="yes"' in dom
    assert "<title>Kafka Rewind: c</title>" in dom
    (tmp_path / "clicked").mkdir()
    dom = browse(hostile, tmp_path / "clicked", CLICKS.replace("IN-1", "-1"))
    steps = json.loads(unescape(re.findall(r'<pre id="steps">(.*?)</pre>', dom, re.DOTALL)[0]))
    assert steps["images"] == 0
    assert steps["clicked"].startswith(f"Close{HOSTILE}-1: NO LEADER")
    assert "<title>Kafka Rewind: c</title>" in dom


def test_a_shutdown_that_the_broker_s_own_log_does_not_show(tmp_path: Path) -> None:
    """Only the controller's does."""
    stopped = {
        **tables()["broker_timeline"][0],
        "ended_by": "controlled_shutdown",
        "shutdown_since": moment("10:04:58"),
    }
    page = report(night(tmp_path / "w", {"broker_timeline": [stopped]}), tmp_path / "r.html")
    assert values(page)["brokers"][0]["spans"][0]["stopping"] == 298_000


def test_controllers_of_one_node(tmp_path: Path) -> None:
    """Terms of controllers that are no broker are drawn, too."""
    term = row(cluster_incarnation=0, controller_id=100, controller_epoch=4, mode="kraft", since="10:00", until="10:05", ended_by="resigned", overlap_ms=0, evidence=[])  # fmt: skip
    page = report(night(tmp_path / "w", {"controller_timeline": [term]}), tmp_path / "r.html")
    assert values(page)["terms"][0]["id"] == 100
    assert "<b>none at the end</b>" in page
