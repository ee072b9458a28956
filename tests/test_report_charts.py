"""The report's charts in a browser: what they show of times, names and lanes, on a screen and on paper."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.answers_warehouse import moment, night, row, tables
from tests.report_page import INCIDENT, needs_browser, report, steps_of


def page_of(folder: Path, changes: dict[str, Any] | None = None) -> str:
    return report(night(folder / "w", changes), folder / "r.html")


@needs_browser
def test_a_lane_says_no_more_than_its_outage(tmp_path: Path) -> None:
    """pay-in-1 has no leader from 10:08:00; the log that would show a leader ends at 10:08:30, others at 10:10:00. When
    pay-in-0's outage ended nobody knows but that it was before 10:06:00."""
    ended, still_open = tables()["offline_partitions"]
    ended = {**ended, "until": None, "duration_ms": None, "at_least_ms": 20_000}
    page = report(
        night(tmp_path / "w", {"offline_partitions": [ended, {**still_open, "at_least_ms": 30_000}]}), tmp_path / "r"
    )
    script = """
    const [first, second] = partitions, last = second.states.length - FIELDS;
    steps.offline = second.offline;
    steps.tip = partitionAt(590000, 20 + ROW * shown.indexOf(second) + 5).tip;
    showState(second, last); steps.state = $("details").textContent;
    SHOWN.outage(data.outages.find((one) => one.name === "pay-in-0")); steps.outage = $("details").textContent;
    """
    steps = steps_of(page, tmp_path, script)
    assert steps["offline"] == 30_000
    assert steps["tip"].endswith("\n10:08:00.000 to the end of the logs, at least 30.0 s")
    assert "tothe end of the logsforat least 30.0 s" in steps["state"]
    assert "in allat least 30.0 s without a leader, 0 changes of leader" in steps["state"]
    assert "tosome time before 2026-11-21 10:06:00.000 UTC" in steps["outage"]


@needs_browser
def test_charts_below_each_other_have_one_time_axis(tmp_path: Path) -> None:
    """Also where the lanes have a scroll bar."""
    script = """
    $("lanes").style.overflowY = "scroll"; drawAll();
    const at = (canvas) => timeAt(canvas, canvas.getBoundingClientRect().left + 400);
    steps.at = ["brokers", "activity", "partitions"].map((id) => at($(id)));
    """
    first, *others = steps_of(page_of(tmp_path), tmp_path, script)["at"]
    assert others == [first, first]


@needs_browser
def test_keys_of_the_browser_do_not_zoom(tmp_path: Path) -> None:
    script = """
    const press = (key, held) => document.dispatchEvent(new KeyboardEvent("keydown", {key, ...held}));
    press("+", {ctrlKey: true}); press("+", {metaKey: true}); press("ArrowLeft", {altKey: true});
    steps.by_browser = [view.from, view.to];
    press("+", {}); steps.by_page = [view.from, view.to];
    """
    assert steps_of(page_of(tmp_path), tmp_path, script) == {"by_browser": [0, 600_000], "by_page": [150_000, 450_000]}


@needs_browser
def test_a_narrow_window_shows_all(tmp_path: Path) -> None:
    """Cards are no wider than the page, and what the pointer is at is told within the window."""
    script = """
    document.body.style.width = "360px";
    Object.defineProperty(window, "innerWidth", {value: 360});
    steps.cards = Math.max(...[...document.querySelectorAll(".card")].map((one) => one.getBoundingClientRect().right));
    redraw();
    const box = $("brokers").getBoundingClientRect();
    $("brokers").dispatchEvent(new MouseEvent("mousemove", {clientX: box.left + 250, clientY: box.top + 53}));
    const tip = $("tip").getBoundingClientRect();
    steps.tip = [tip.left >= 0, tip.right <= 360, $("tip").textContent.startsWith("broker 1")];
    """
    page = page_of(tmp_path, {"incidents": [INCIDENT]})
    steps = steps_of(page, tmp_path, script)
    assert steps["cards"] <= 360
    assert steps["tip"] == [True, True, True]


@needs_browser
def test_on_paper_charts_are_light_and_whole(tmp_path: Path) -> None:
    """From a dark screen, zoomed in; afterwards all is as it was."""
    script = """
    const root = document.documentElement;
    const state = () => [root.dataset.theme, colours.text, view.from, view.to, $("count").textContent];
    root.dataset.theme = "dark"; redraw(); setView(300000, 360000);
    steps.before = state();
    PRINT.lanes = 1;
    window.dispatchEvent(new Event("beforeprint")); steps.on_paper = state();
    window.dispatchEvent(new Event("afterprint")); steps.after = state();
    """
    steps = steps_of(page_of(tmp_path), tmp_path, script)
    assert steps["before"] == ["dark", "#e6e9ed", 300_000, 360_000, "2 of 2 partitions"]
    assert steps["on_paper"] == ["light", "#1b1f24", 0, 600_000, "2 of 2 partitions, the first 1 of them drawn"]
    assert steps["after"] == steps["before"]


@needs_browser
def test_times_of_several_days_have_their_day(tmp_path: Path) -> None:
    """Logs from 10:00 on to 10:10 of the next day: pay-in-1 has no leader from 10:08 on."""
    coverage = [{**one, "until": one["until"] + timedelta(days=1)} for one in tables()["log_coverage"]]
    script = """
    const lane = shown.findIndex((one) => one.name === "pay-in-1");
    steps.tip = partitionAt(data.span_ms / 2, 20 + ROW * lane + 5).tip;
    steps.midnight = ticks(1000).filter(([at]) => at === 14 * 3600e3).map(([, text]) => text);
    """
    steps = steps_of(page_of(tmp_path, {"log_coverage": coverage}), tmp_path, script)
    assert "\n2026-11-21 10:08:00.000 to the end of the logs" in steps["tip"]
    assert steps["midnight"] == ["2026-11-22"]


LATENCIES_MS = (1, 900_000, 30_000_000)


@needs_browser
def test_long_latencies_are_on_the_chart(tmp_path: Path) -> None:
    """An outage of a whole night, 8 h 20 min, is what one looks for."""
    election = tables()["elections"][1]
    elections = [{**election, "partition": i, "latency_ms": ms} for i, ms in enumerate(LATENCIES_MS)]
    script = "steps.places = data.elections.map((one) => latencyPlace(one[1], 190));"
    longest, middle, shortest = steps_of(page_of(tmp_path, {"elections": elections}), tmp_path, script)["places"]
    assert 20 <= longest < middle < shortest == 182  # below the axis' labels, above the lower edge


@needs_browser
def test_a_long_name_keeps_the_number_of_its_partition(tmp_path: Path) -> None:
    name = "com.example.payments.authorisation.events.v1"
    states = [{**one, "topic": name} for one in tables()["partition_timeline"]]
    script = """
    const pen = $("partitions").getContext("2d");
    steps.names = partitions.map((one) => shortenName(pen, one.name, LEFT - 18));
    """
    changes = {"partition_timeline": states, "offline_partitions": []}
    names = steps_of(page_of(tmp_path, changes), tmp_path, script)["names"]
    assert [re.fullmatch(r"com\.example\.pay.*…(-\d)", one)[1] for one in names] == ["-0", "-1"]  # type: ignore[index]


@needs_browser
def test_a_click_on_an_outage_shows_its_lane(tmp_path: Path) -> None:
    """Whatever was filtered: pay-in-1 never had another leader."""
    script = """
    $("only").value = "moved"; filterPartitions();
    document.querySelector('tr[data-go="outage:0"]').click();
    steps.shown = shown.map((one) => one.name);
    """
    assert steps_of(page_of(tmp_path), tmp_path, script)["shown"] == ["pay-in-1"]


@needs_browser
def test_an_isr_is_told_from_its_size(tmp_path: Path) -> None:
    """`ISR 2 of 2 replicas` could be both of them, and is broker 2 alone."""
    script = """
    const [one] = partitions;
    steps.isrs = [0, FIELDS, 3 * FIELDS].map((s) => isrText(one, s));
    one.states[ISR] = -1; steps.unknown = isrText(one, 0);
    """
    steps = steps_of(page_of(tmp_path), tmp_path, script)
    assert steps["isrs"] == ["1,2 (2 of 2 replicas)", "1 (1 of 2 replicas)", "2 (1 of 2 replicas)"]
    assert steps["unknown"] == "unknown (2 replicas)"


@needs_browser
def test_a_double_click_shows_the_whole_time_and_nothing_else(tmp_path: Path) -> None:
    """Its first click opens details, which may come to lie under the pointer."""
    script = """
    setView(100000, 200000);
    const box = $("partitions").getBoundingClientRect();
    const send = (node, kind) =>
      node.dispatchEvent(new MouseEvent(kind, {bubbles: true, clientX: box.right - 60, clientY: box.top + 28}));
    for (const [name, second] of [["on_chart", $("partitions")], ["on_details", $("details")]]) {
      for (const kind of ["mousemove", "mousedown", "mouseup"]) send($("partitions"), kind);
      steps.opened = $("details").style.display; steps.tip = $("tip").style.display;
      send(second, "dblclick");
      steps[name] = [view.from, view.to, $("details").style.display];
      setView(100000, 200000);
    }
    """
    steps = steps_of(page_of(tmp_path), tmp_path, script)
    assert (steps["opened"], steps["tip"]) == ("block", "none")
    assert steps["on_chart"] == steps["on_details"] == [0, 600_000, "none"]


@needs_browser
def test_terms_of_a_migration(tmp_path: Path) -> None:
    """ZooKeeper's controllers are in charge to the end of their last term, whatever KRaft's quorum elects: 1 until
    10:04, then 3 until 10:06, then 100."""
    elected = [(1, "zookeeper", "10:00", "10:04"), (100, "kraft", "10:02", None), (3, "zookeeper", "10:04", "10:06")]
    terms = [
        row(cluster_incarnation=0, controller_id=number, controller_epoch=1, mode=mode, since=since, active_since=since,
            until=until, ended_by=None if until is None else "resigned", overlap_ms=0, evidence=[])
        for number, mode, since, until in elected
    ]  # fmt: skip
    script = """
    steps.tips = [3, 5, 7].map((minute) => brokerAt(minute * 60000, 30).tip.split(',')[0]);
    steps.since = terms.map((term) => [term.id, inChargeSince(term)]);
    const ids = [...data.brokers.map((broker) => broker.id), 100];
    steps.colours = [ids.length, new Set(ids.map(colourOf)).size];
    """
    steps = steps_of(page_of(tmp_path, {"controller_timeline": terms}), tmp_path, script)
    assert steps["since"] == [[100, 360_000], [1, 0], [3, 240_000]]
    assert steps["colours"] == [4, 4]
    assert steps["tips"] == ["controller 1", "controller 3", "controller 100"]


@needs_browser
def test_a_quiet_night_has_no_partition_without_a_leader(tmp_path: Path) -> None:
    states = [{**tables()["partition_timeline"][0], "until": None}]
    quiet = {"partition_timeline": states, "offline_partitions": []}
    script = """
    const texts = [];
    CanvasRenderingContext2D.prototype.fillText = (text) => texts.push(text);
    drawActivity();
    steps.most = texts.filter((text) => text.startsWith("most"));
    """
    assert steps_of(page_of(tmp_path, quiet), tmp_path, script)["most"] == ["most: 0"]


@needs_browser
def test_a_row_opens_by_key_and_stays_open(tmp_path: Path) -> None:
    """The focus goes to the button that closes its details: the same press of Enter must not reach it."""
    script = """
    const outage = document.querySelector('tr[data-go="outage:0"]');
    steps.keys = ["Enter", " ", "a"].map((key) => {
      hide();
      const event = new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true});
      outage.dispatchEvent(event);
      return [$("details").style.display, event.defaultPrevented];
    });
    """
    assert steps_of(page_of(tmp_path), tmp_path, script)["keys"] == [["block", True], ["block", True], ["none", False]]


@needs_browser
def test_an_outage_that_begins_with_the_last_line_is_seen(tmp_path: Path) -> None:
    """As of the last broker that is shut down: pay-in-1 has no leader from 10:10:00 on, when the logs end."""
    first, second = tables()["partition_timeline"][-2:]
    states = [{**first, "until": moment("10:10")}, {**second, "since": moment("10:10")}]
    outage = {**tables()["offline_partitions"][1], "since": moment("10:10"), "at_least_ms": 0}
    script = """
    const canvas = $("partitions"), ratio = canvas.width / canvas.clientWidth;
    const red = (x) => {
      const [r, g] = canvas.getContext("2d").getImageData(x * ratio, 28 * ratio, 1, 1).data;
      return r > 150 && g < 120;
    };
    steps.most = mostAtOnce();
    steps.lane = [red(canvas.clientWidth - RIGHT - 1), red(canvas.clientWidth - RIGHT - 4)];
    steps.names = [shown[0].name, shown[0].wasLost];
    """
    page = page_of(tmp_path, {"partition_timeline": states, "offline_partitions": [outage]})
    steps = steps_of(page, tmp_path, script)
    assert (steps["most"], steps["lane"], steps["names"]) == (1, [True, False], ["pay-in-1", True])
