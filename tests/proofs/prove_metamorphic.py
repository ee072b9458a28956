"""What must not change the tables does not, and with less evidence no row becomes false.

    PYTHONPATH=. python tests/proofs/prove_metamorphic.py [CAPTURE ...]

Logs of a capture are changed in ways of which it is known what the tables must be then: the same (other names, other
order, night by night, gzip, other zones), the same within the bounds of the clocks (one node's clock shifted, with
drift), or nothing but the truth (a node's logs gone, no DEBUG and TRACE, a third of the time, one file). All are
clusters of one warehouse. Prints a line for each change and table; exits with 1 if one is not as it must be.
"""

from __future__ import annotations

import gzip
import random
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from pyspark.sql import functions as F

from jobs.nightly.run import run
from jobs.session import session
from jobs.settings import Settings
from jobs.warehouse.tables import Warehouse, open_warehouse
from schemas.ledger import STEPS
from tests.proofs.prove_truth import ROOT, TABLES, compare
from tests.rows_as_json import as_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DERIVED = (
    "topic_timeline", "controller_timeline", "broker_timeline", "partition_timeline", "elections", "offline_partitions",
    "isr_changes", "isr_churn", "reassignments", "control_requests", "verdicts",
)  # fmt: skip
Logs = dict[str, bytes]  # by path in the capture, as they were written
_STAMP = re.compile(rb"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\]", re.M)
RECORD = re.compile(rb"(?m)^(?=\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] )")
CLOCK_CHANGE = datetime(2026, 10, 25, 1, tzinfo=UTC)
"""When clocks in Berlin show 02:00 to 03:00 a second time."""
LOOSE_MS, LOOSE_SHARE = 300, 0.05
"""What goes by the order of two nodes' times may become unknown within the bounds of a shifted clock. With bounds no
closer than that, and differences in up to that share of a table's rows, these tables need only be true."""
LOOSE = ("partition_timeline", "elections", "offline_partitions", "isr_changes", "verdicts")
ZONES = ("UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York", "Europe/Berlin")


def capture_of(name: str) -> Path:
    """The folder of a capture: in data/, else in ../shared/captures."""
    places = (ROOT / "data" / name, ROOT.parent / "shared" / "captures" / name)
    return next(place for place in places if place.is_dir())


def logs_of(capture: Path) -> Logs:
    """All logs of a capture, unpacked."""
    paths = sorted(path for path in (capture / "logs").rglob("*") if path.is_file())
    return {
        str(path.relative_to(capture / "logs")).removesuffix(".gz"): gzip.decompress(path.read_bytes())
        if path.suffix == ".gz"
        else path.read_bytes()
        for path in paths
    }


def zone_of(node: int) -> str:
    """The zone whose time a node writes, where nodes are in different ones."""
    return ZONES[node % len(ZONES)]


# ---- changes ---------------------------------------------------------------------------------------------------------
def node_of(name: str) -> int:
    """The node in whose folder a log is."""
    return int(name.split("/")[0].rpartition("-")[2])


def moment(stamp: bytes) -> datetime:
    """A time stamp, taken for UTC."""
    return datetime.strptime(stamp.decode(), "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)


def stamp(at: datetime) -> bytes:
    """The stamp of a moment, brackets included."""
    return b"[" + at.strftime("%Y-%m-%d %H:%M:%S,%f")[:-3].encode() + b"]"


def ends_of(logs: Logs) -> tuple[datetime, datetime]:
    """The first time stamp of all, and the last of any log."""
    stamps = [_STAMP.findall(data) for data in logs.values()]
    return min(moment(times[0]) for times in stamps if times), max(moment(times[-1]) for times in stamps if times)


def timed(data: bytes, change: Callable[[datetime], datetime]) -> bytes:
    """A log with other times."""
    return _STAMP.sub(lambda m: stamp(change(moment(m[1]))), data)


def shifted(logs: Logs, node: int, seconds: float, ppm: float) -> Logs:
    """One node's clock goes wrong: so many seconds ahead, and so many millionths too fast."""
    begin, _ = ends_of(logs)
    return {
        name: timed(data, lambda at: at + timedelta(seconds=seconds) + (at - begin) * ppm / 1e6)
        if node_of(name) == node
        else data
        for name, data in logs.items()
    }


def moved(logs: Logs, by: timedelta) -> Logs:
    """All clocks show another time."""
    return {name: timed(data, lambda at: at + by) for name, data in logs.items()}


def in_zones(logs: Logs) -> Logs:
    """Each node writes the local time of its zone."""

    def local(zone: ZoneInfo) -> Callable[[datetime], datetime]:
        return lambda at: at.astimezone(zone)

    return {name: timed(data, local(ZoneInfo(zone_of(node_of(name))))) for name, data in logs.items()}


def filtered(logs: Logs, wanted: Callable[[bytes], bool]) -> Logs:
    """Logs with only the records that are wanted, further lines included."""
    return {name: b"".join(one for one in RECORD.split(data) if wanted(one)) for name, data in logs.items()}


def at_info(record: bytes) -> bool:
    """Whether a record is there at level INFO."""
    return record[25:31].strip() not in (b"TRACE", b"DEBUG")


def middle_of(logs: Logs) -> tuple[bytes, bytes]:
    """The second third of the time, as stamps."""
    begin, end = ends_of(logs)
    return stamp(begin + (end - begin) / 3), stamp(begin + (end - begin) * 2 / 3)


def until(data: bytes, share: float) -> bytes:
    """A log's begin, whole records."""
    cut = data.find(b"\n[20", int(len(data) * share))
    return data if share >= 1 or cut < 0 else data[: cut + 1]


@dataclass(frozen=True)
class Change:
    """Logs of a cluster, night by night, and what is asked of their tables.

    `node`: whose clock was shifted, then times may differ by the width of its bounds. `by`: how far all times moved.
    `is_less`: there is less evidence, and the rows must be true; but if a clock was shifted, and no line that is left
    compares it, its node keeps it, which is reported. Names are shuffled by a seed, so are the files' places.
    """

    nights: Sequence[Mapping[str, bytes]]
    node: int | None = None
    by: timedelta = timedelta()
    is_less: bool = False
    in_zones: bool = False


def changes_of(logs: Logs) -> dict[str, Change]:
    """All changes, by name; the first is none."""
    names = sorted(logs)
    other_names = random.Random(1).sample(names, len(names))
    nodes = sorted({node_of(name) for name in names})
    begin, end = ends_of(logs)
    by = CLOCK_CHANGE - begin - (end - begin) / 2
    by -= timedelta(microseconds=by.microseconds)
    since, till = middle_of(logs)
    changes = {
        "as it is": Change([logs]),
        "files in another order": Change(
            [{f"{i:03}/{name}": logs[name] for i, name in enumerate(other_names)}]
        ),
        "five nights": Change([{name: until(data, (i + 1) / 5) for name, data in logs.items()} for i in range(5)]),
        "half of it gzipped": Change(
            [
                {
                    name + ".gz" * (i % 2): gzip.compress(data) if i % 2 else data
                    for i, (name, data) in enumerate(logs.items())
                }
            ]
        ),
        "zones, while summer time ends": Change([in_zones(moved(logs, by))], by=by, in_zones=True),
        "clock of the first node +5 min, +100 ppm": Change([shifted(logs, nodes[0], 300, 100)], node=nodes[0]),
        "clock of the last node -5 min, -100 ppm": Change([shifted(logs, nodes[-1], -300, -100)], node=nodes[-1]),
        "only INFO": Change([filtered(logs, at_info)], is_less=True),
        "only a third of the time": Change([filtered(logs, lambda record: since <= record[:25] < till)], is_less=True),
        "only server.log": Change([{n: d for n, d in logs.items() if "/server.log" in n}], is_less=True),
        "INFO, and the clock of the last node +5 min": Change(
            [filtered(shifted(logs, nodes[-1], 300, 50), at_info)], node=nodes[-1], is_less=True
        ),
    }  # fmt: skip
    for node in nodes:
        changes[f"without node {node}"] = Change([{n: d for n, d in logs.items() if node_of(n) != node}], is_less=True)
    return changes


# ---- what must be --------------------------------------------------------------------------------------------------
Row = Mapping[str, Any]


def comparable(row: Row, change: Change) -> tuple[str, tuple[int | None, ...]]:
    """A row as what must be the same, and its times in milliseconds, which may have to be within bounds only.

    Lines are the same wherever their file is; which of several prove it depends on clocks, as do lengths of time.
    """
    times = {name: value for name, value in row.items() if isinstance(value, datetime)}
    same = {name: value for name, value in row.items() if name not in ("cluster", "evidence", *times)}
    if change.by:  # texts with times in them
        same = {name: value for name, value in same.items() if name not in ("explanation", "subject")}
    if change.node is not None:
        same = {
            name: value
            for name, value in same.items()
            if not name.endswith("_ms") and name not in ("explanation", "subject")
        }
    else:
        same["evidence"] = sorted((one["node_id"], one["line"]) for one in row.get("evidence") or ())
    empty = {name: None for name, value in row.items() if value is None}
    micros = tuple(
        None if value is None else round(value.replace(tzinfo=UTC).timestamp() * 1000)
        for _, value in sorted((times | {name: None for name in empty if name in ("until", "since")}).items())
    )
    return repr(sorted(same.items(), key=str)), micros


def differences(
    before: Iterable[Row], after: Iterable[Row], change: Change, width_ms: float
) -> tuple[int, float, list[str]]:
    """How many rows of either have no equal among the others, by how many ms times of equal ones differ; examples."""
    sides: list[defaultdict[str, list[tuple[int | None, ...]]]] = [defaultdict(list), defaultdict(list)]
    for side, rows in zip(sides, (before, after), strict=True):
        for row in rows:
            same, times = comparable(row, change)
            side[same].append(times)
    by = round(change.by.total_seconds() * 1000)
    wrong, off, shown = 0, 0.0, []
    for same in sorted({*sides[0], *sides[1]}):
        ours, theirs = (sorted(side[same], key=str) for side in sides)
        wrong += abs(len(ours) - len(theirs))
        pairs = list(zip(ours, theirs, strict=False))
        far = [(a, b) for a, b in pairs if _off(a, b, by) > width_ms]
        wrong += len(far)
        off = max([off, *(_off(a, b, by) for a, b in pairs if _off(a, b, by) <= width_ms)])
        if len(ours) != len(theirs) or far:
            shown.append(f"{len(ours)} against {len(theirs)} {far[:1]} {same[:400]}")
    return wrong, off, shown


def _off(before: tuple[int | None, ...], after: tuple[int | None, ...], by: int) -> float:
    if len(before) != len(after) or any((a is None) != (b is None) for a, b in zip(before, after, strict=True)):
        return float("inf")
    return max(
        (abs(b - a - by) for a, b in zip(before, after, strict=True) if a is not None and b is not None), default=0
    )


def prove(spark: SparkSession, capture: Path, root: Path, wanted: Sequence[str]) -> int:
    """All changes of one capture; how many tables are not as they must be."""
    changes = changes_of(logs_of(capture))
    if wanted:
        changes = {name: c for i, (name, c) in enumerate(changes.items()) if i == 0 or any(w in name for w in wanted)}
    names = {f"change-{i}": name for i, name in enumerate(changes)}
    warehouse = _tables(spark, root, {short: changes[name] for short, name in names.items()})
    scorer = compare()
    truth = scorer.Truth(str(capture))
    rows: dict[str, dict[str, list[Row]]] = {table: defaultdict(list) for table in DERIVED}
    for table in DERIVED:
        for row in warehouse.read(table).collect():
            rows[table][row["cluster"]].append(row.asDict(recursive=True))
    width = F.max(F.col("offset_ms_max") - F.col("offset_ms_min")).alias("width")
    offsets = warehouse.read("clock_offsets").groupBy("cluster", "node_id").agg(width).collect()
    widths = {(row["cluster"], row["node_id"]): row["width"] for row in offsets}
    wrong = 0
    for short, name in list(names.items())[1:]:
        change = changes[name]
        if change.is_less and change.node is not None and (short, change.node) not in widths:
            print(f"{capture.name} | {name} | clock_offsets | no row of node {change.node}: it keeps its own clock")
            _true(scorer, truth, warehouse, root, short, f"{capture.name} | {name} | (not asked for)")
            continue
        if change.is_less:
            wrong += _true(scorer, truth, warehouse, root, short, f"{capture.name} | {name}")
            continue
        within = 0.0 if change.node is None else widths.get((short, change.node)) or 0.0
        differing = many = 0
        for table in DERIVED:
            if change.by and table == "isr_churn":
                continue  # hours begin elsewhere
            mine = rows[table][short]
            differ, off, shown = differences(rows[table]["change-0"], mine, change, within)
            bounds = f" of the {within:.0f} ms that bounds leave" if within else ""
            print(
                f"{capture.name} | {name} | {table} | {len(mine)} rows, {differ} differ, times by {off:.0f} ms{bounds}"
            )
            for one in shown[:3]:
                print("   ", one)
            if table not in LOOSE:
                wrong += differ > 0
                continue
            differing += differ > 0
            many += differ > LOOSE_SHARE * 2 * len(mine)  # each is a row more and a row less
        if differing and within and (within > LOOSE_MS or not many):
            differing = _true(scorer, truth, warehouse, root, short, f"{capture.name} | {name}")
        wrong += differing
    return wrong


def _tables(spark: SparkSession, root: Path, changes: Mapping[str, Change]) -> Warehouse:
    """A warehouse in which each change is a cluster."""
    warehouse = open_warehouse(spark, str(root / "warehouse"), create=True)
    clusters = {f"{root}/in/{short}/*": short for short in changes}
    nights = max(len(change.nights) for change in changes.values())

    def say(_: str) -> None:
        """Nobody listens."""

    for short, change in changes.items():
        if change.in_zones:
            write(root / "in" / short, change.nights[0])
            zones = {node: zone_of(node) for node in map(node_of, change.nights[0])}
            settings = Settings(clusters=clusters, node_time_zones=zones)
            run(warehouse, STEPS[:1], settings, say, logs=[str(root / "in" / short)])
    plain = {short: change for short, change in changes.items() if not change.in_zones}
    for number in range(nights):
        tonight = {short: change for short, change in plain.items() if number >= nights - len(change.nights)}
        for short, change in tonight.items():
            write(root / "in" / short, change.nights[number - nights + len(change.nights)])
        steps = STEPS if number == nights - 1 else STEPS[:1]
        outcome = run(
            warehouse, steps, Settings(clusters=clusters), say, logs=[str(root / "in" / short) for short in tonight]
        )
        if not outcome.published:
            raise SystemExit(f"the gate refused: {outcome.audit.failures if outcome.audit else ''}")
    return warehouse


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Put logs into a folder."""
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def _true(scorer: Any, truth: Any, warehouse: Warehouse, root: Path, short: str, name: str) -> int:
    """Prints how true the tables of a cluster are; how many say what is not so."""
    wrong = 0
    for table in TABLES:
        path = root / f"{short}-{table}.jsonl"
        mine = warehouse.read(table).where(f"cluster = '{short}'")
        path.write_text("".join(f"{row['row']}\n" for row in as_text(mine).collect()))
        score = scorer.score(truth, table, scorer.candidate(str(path), table))
        print(f"{name} | {table} | recall {score['recall']}, precision {score['precision']}")
        wrong += score["precision"] not in (None, 1.0)
    return wrong


def main(words: Sequence[str]) -> int:
    """Prove captures by name (data/ has some, ../shared/captures all); `--only WORD` picks changes."""
    only = [word for before, word in pairwise(words) if before == "--only"]
    names = [word for before, word in zip(["", *words], words, strict=False) if word != "--only" and before != "--only"]
    wrong = 0
    with session({"spark.master": "local[2]"}) as spark:
        for name in names or ["zk-2.4.1"]:
            capture = capture_of(name)
            began = time.monotonic()
            with tempfile.TemporaryDirectory() as folder:
                wrong += prove(spark, capture, Path(folder), only)
            print(f"{name}: {time.monotonic() - began:.0f} s")
    print(f"{wrong} tables are not as they must be" if wrong else "proven")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
