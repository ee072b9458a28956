"""Is the report of a large cluster quick to open and to filter? `python tests/proofs/prove_report.py [--keep DIR]`

Writes a warehouse of a day of 10,000 partitions (140,000 states, 5,000 outages, 100 incidents, a million events)
without Spark, its report, and opens that in headless Chromium beside an empty page, in turn. Printed are the report's
size, the seconds that writing took, the seconds from the navigation to the drawn page by the page's own clock and what
a whole start of the browser takes, both also as multiples of the empty page, and the milliseconds of searching,
filtering, ordering, scrolling and zooming. Fails if opening takes more than OPEN_S, or one of these over FILTER_MS.
"""

from __future__ import annotations

import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from jobs.report.write import write_report
from schemas.tables import BY_NAME
from tests.answers_warehouse import CONTROLLER, STATE, moment, row, tables
from tests.delta_warehouse import arrow_type, write_run, write_table

PARTITIONS, STATES_EACH, OUTAGES, INCIDENTS, EVENTS = 10_000, 14, 5_000, 100, 1_000_000
TOPICS, BROKERS = 200, 12
OPEN_S, FILTER_MS, ROUNDS = 5.0, 100.0, 5
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip
MEASURED = """
const took = {opened: performance.now()};
const timed = (name, act) => { const t = performance.now(); act(); took[name] = performance.now() - t; };
if (typeof filterPartitions === "function") {
  timed("search", () => { $("search").value = "topic-77-1"; filterPartitions(); });
  timed("all again", () => { $("search").value = ""; filterPartitions(); });
  timed("only offline", () => { $("only").value = "offline"; filterPartitions(); });
  timed("by changes", () => { $("only").value = "all"; $("order").value = "moved"; filterPartitions(); });
  timed("scroll", () => { $("lanes").scrollTop = 80000; drawPartitions(); });
  timed("zoom", () => setView(data.span_ms / 3, data.span_ms / 2));
}
document.body.append(Object.assign(document.createElement("pre"), {id: "took", textContent: JSON.stringify(took)}));
"""


def states() -> list[dict[str, Any]]:
    """A day of all partitions: each passes through STATES_EACH states."""
    begin, rows = moment("00:00"), []
    for number in range(PARTITIONS):
        name = {"topic": f"topic-{number % TOPICS}", "partition": number // TOPICS, "incarnation": 0}
        replicas = [(number + i) % BROKERS for i in range(3)]
        for n in range(STATES_EACH):
            since = begin + timedelta(seconds=n * 6000 + number % 600)
            is_offline = n == 7 and number < OUTAGES
            size = 3 - n % 2 * 2
            rows.append(
                row(
                    **name, ordinal=n, leader=-1 if is_offline else replicas[n // 2 % 3], leader_epoch=n,
                    isr=sorted(replicas[:size]), replicas=replicas, since=since,
                    until=None if n == STATES_EACH - 1 else begin + timedelta(seconds=(n + 1) * 6000 + number % 600),
                    availability="Offline" if is_offline else "UnderReplicated" if size < 3 else "FullyInSync",
                    inferred=False, missing_before=0, partition_epoch=n, controller_epoch=1,
                    evidence=[{"node_id": 3, "file_id": STATE, "line": number * STATES_EACH + n}],
                )
            )  # fmt: skip
    return rows


def outages(of_states: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The times without a leader of these states."""
    lost = [state for state in of_states if state["leader"] == -1]
    return [
        row(
            **{name: state[name] for name in ("topic", "partition", "incarnation", "since", "until", "evidence")},
            at_least_ms=6_000_000, began_after=state["since"], ended_before=state["until"], cause="broker_crash",
            cause_broker=state["partition"] % BROKERS, cause_at=state["since"], last_isr=state["isr"],
            healed_by="broker_return", healed_by_broker=3, failed_elections=1,
        )
        for state in lost
    ]  # fmt: skip


def incidents() -> list[dict[str, Any]]:
    """Some incidents of the day."""
    return [
        row(
            incident_id=str(n), severity="major", title=f"Broker {n % BROKERS} crashed", root_broker=n % BROKERS,
            since=moment("00:00") + timedelta(minutes=14 * n), until=moment("00:05") + timedelta(minutes=14 * n),
            partitions_affected=50, leaderless_partition_minutes=5000.0, story="Broker crashed [1]. " * 6, steps=[],
            evidence=[{"node_id": 3, "file_id": CONTROLLER, "line": n}],
        )
        for n in range(INCIDENTS)
    ]  # fmt: skip


def write_events(root: Path) -> int:
    """A million events of one stream; the version of the table."""
    numbers = pa.array(range(EVENTS))
    values = {
        "cluster": pa.array(["c"]).take(pa.array([0] * EVENTS)),
        "file_id": pa.array([STATE]).take(pa.array([0] * EVENTS)),
        "line": numbers,
        "at": pa.array([moment("00:00")] * EVENTS, pa.timestamp("us", tz="UTC")),
        "message": pa.array(["Changed partition topic-17-8 from OfflinePartition to OnlinePartition"]).take(
            pa.array([0] * EVENTS)
        ),
        "level": pa.array(["INFO"]).take(pa.array([0] * EVENTS)),
    }
    fields = [pa.field(field.name, arrow_type(field.type)) for field in BY_NAME["events"].fields]
    columns = [
        values[field.name].cast(field.type) if field.name in values else pa.nulls(EVENTS, field.type)
        for field in fields
    ]
    write_deltalake(str(root / "events"), pa.Table.from_arrays(columns, schema=pa.schema(fields)))
    version: int = DeltaTable(str(root / "events")).version()
    return version


def write_warehouse(root: Path) -> None:
    """The small warehouse of the tests with large tables in place of its small ones."""
    of_states = states()
    large = {"partition_timeline": of_states, "offline_partitions": outages(of_states), "incidents": incidents()}
    rows = {name: some for name, some in (tables() | large).items() if name != "events"}
    rows["log_coverage"] = [
        {**span, "since": moment("00:00"), "until": moment("23:59")} for span in rows["log_coverage"]
    ]
    versions = {name: write_table(root, name, some) for name, some in rows.items()}
    write_run(root, 1, {**versions, "events": write_events(root)})


def opened(page: Path, profile: Path) -> tuple[float, dict[str, float]]:
    """Seconds of a whole start of the browser with a page, and what the page measured, ms."""
    assert BROWSER is not None
    began = time.monotonic()
    command = [BROWSER, *QUIET, f"--user-data-dir={profile}", "--dump-dom", page.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    wall = time.monotonic() - began
    texts = re.findall(r'<pre id="took">(.*?)</pre>', dom, re.DOTALL)
    return wall, json.loads(unescape(texts[0]))


def measured(page: str) -> str:
    """A page with the script that measures it, which its own policy would stop."""
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    return page.replace("</body>", f"<script>{MEASURED}</script></body>")


def main(arguments: list[str]) -> int:
    """0 if the report is quick enough, or there is no browser."""
    with tempfile.TemporaryDirectory() as passing:
        folder = Path(arguments[1]) if arguments[:1] == ["--keep"] else Path(passing)
        if not (folder / "w").exists():
            write_warehouse(folder / "w")
        began = time.monotonic()
        written = write_report(str(folder / "w"), str(folder / "report.html"))
        print(f"{written.bytes / 1e6:.1f} MB, written in {time.monotonic() - began:.1f} s")
        if BROWSER is None:
            print("Chromium is not installed: not opened")
            return 0
        (folder / "measured.html").write_text(measured((folder / "report.html").read_text()))
        (folder / "empty.html").write_text(measured("<!DOCTYPE html><html><body></body></html>"))
        rounds = [
            [opened(folder / f"{name}.html", Path(passing) / name) for name in ("empty", "measured")]
            for _ in range(ROUNDS)
        ]
    empty, large = ([one[i] for one in rounds] for i in (0, 1))
    walls = [statistics.median(wall for wall, _ in some) for some in (empty, large)]
    clocks = [statistics.median(took["opened"] for _, took in some) / 1000 for some in (empty, large)]
    print(
        f"opened in {clocks[1]:.2f} s by its own clock, {clocks[1] / clocks[0]:.0f} x the empty page's "
        f"{clocks[0]:.3f} s"
    )
    print(
        f"start of the browser and dump {walls[1]:.2f} s, {walls[1] / walls[0]:.2f} x the empty page's {walls[0]:.2f} s"
    )
    names = [name for name in large[0][1] if name != "opened"]
    filters = {name: statistics.median(took[name] for _, took in large) for name in names}
    print("ms: " + ", ".join(f"{name} {ms:.1f}" for name, ms in filters.items()))
    return int(clocks[1] > OPEN_S or max(filters.values()) > FILTER_MS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
