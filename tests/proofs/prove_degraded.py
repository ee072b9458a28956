"""With parts of the logs gone, no row becomes false, and what the lines that are left prove is in the tables.

    PYTHONPATH=. python tests/proofs/prove_degraded.py [CAPTURE ...] [--only WORD]

Each form takes lines away as people's logs lack them: no TRACE and DEBUG, one kind of log, one broker, half of the
time, a hole. What is left is scored against the truth of the capture: precision of each table, and recall of the states
that some line of it states (`tests/truth/compare.py`). All forms are clusters of one warehouse. Prints a line for each
capture and form; exits with 1 if a precision is below 1.0, a decision is called violated or a recall is below
LEAST_RECALL.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.nightly.run import run
from jobs.session import session
from jobs.settings import Settings
from jobs.warehouse.tables import Warehouse, open_warehouse
from schemas.ledger import STEPS
from tests.proofs.prove_metamorphic import (
    Logs,
    at_info,
    capture_of,
    ends_of,
    filtered,
    logs_of,
    node_of,
    stamp,
    timed,
    write,
)
from tests.proofs.prove_truth import TABLES, compare
from tests.rows_as_json import as_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEAST_RECALL, SKEW_MS = 0.99, 50
SOON_MS = 5000
CAPTURES = ("zk-1.1.1", "zk-2.4.1", "zk-2.6.3-chaos", "zk-3.9.1")
HOLE = timedelta(minutes=70)
"""Captures last minutes: times after the hole move by so much, in the logs and in the truth."""
HOLE_MS = round(HOLE.total_seconds() * 1000)


def named(logs: Logs, wanted: Callable[[str], bool]) -> Logs:
    """Those files whose path is wanted."""
    return {name: data for name, data in logs.items() if wanted(name)}


def between(logs: Logs, first: float, last: float) -> Logs:
    """Records of a part of the time, from one share of it to another."""
    begin, end = ends_of(logs)
    since, till = stamp(begin + (end - begin) * first), stamp(begin + (end - begin) * last)
    return filtered(logs, lambda record: since <= record[:25] < till)


def with_hole(logs: Logs) -> Logs:
    """Without the third fifth of the time; what comes after it comes later by HOLE."""
    before, after = between(logs, 0, 0.4), between(logs, 0.6, 2)
    return {name: before[name] + timed(data, lambda at: at + HOLE) for name, data in after.items()}


def resumed_ms(logs: Logs) -> float:
    """When a hole is over, before times are moved."""
    begin, end = ends_of(logs)
    return (begin + (end - begin) * 0.6).timestamp() * 1000


def forms_of(logs: Logs) -> dict[str, Logs]:
    """By name what is left of the logs."""
    nodes = sorted({node_of(name) for name in logs})
    return {
        "INFO only": filtered(logs, at_info),
        "controllers' logs only": named(logs, lambda name: "/controller.log" in name),
        "state-change logs only": named(logs, lambda name: "/state-change.log" in name),
        "server logs only": named(logs, lambda name: "/server.log" in name),
        f"node {nodes[1]} only": named(logs, lambda name: node_of(name) == nodes[1]),
        "first half": between(logs, 0, 0.5),
        "last half": between(logs, 0.5, 2),
        "a hole": with_hole(logs),
    }


def reduced_capture(capture: Path, logs: Logs, form: Logs, name: str, folder: Path) -> Path:
    """A capture with what is left of the logs, for the scorer."""
    write(folder / "logs", {path: data for path, data in form.items() if data})
    for file in ("meta.json", "metadata-dump.txt"):
        if (capture / file).exists():
            (folder / file).symlink_to((capture / file).resolve())
    records = (capture / "truth.jsonl").read_text().splitlines()
    if name == "a hole":
        moved, resumed = [json.loads(record) for record in records], resumed_ms(logs)
        records = [json.dumps(r | {"ms": r["ms"] + HOLE_MS * (r["ms"] >= resumed)}) for r in moved]
    (folder / "truth.jsonl").write_text("\n".join(records))
    return folder


def tables_of(spark: SparkSession, root: Path, forms: Mapping[str, Logs]) -> Warehouse:
    """A warehouse in which each form is a cluster."""
    warehouse = open_warehouse(spark, str(root / "warehouse"), create=True)
    clusters = {f"{root}/{short}/*": short for short in forms}
    outcome = run(
        warehouse, STEPS, Settings(clusters=clusters), lambda _: None, logs=[f"{root}/{short}/logs" for short in forms]
    )
    if not outcome.published:
        raise SystemExit(f"the gate refused: {outcome.audit.failures if outcome.audit else ''}")
    for short in outcome.refused:
        print(f"REFUSED by the gate: {short}", outcome.audit.failures if outcome.audit else "", flush=True)
    return open_warehouse(spark, str(root / "warehouse"), create=False)


BEGINS = re.compile(r"starts at Leader Epoch (?P<leader_epoch>\d+) from")
"""How leaders up to 2.4.0 log that they begin a leader epoch."""


Keys = set[tuple[Any, ...]]


def epochs_in_logs(scorer: Any, truth: Any) -> tuple[Keys, Keys, Keys]:
    """Identity and leader epoch of each state whose leader epoch a line prints, and of each of which a line that is not
    a list of many partitions prints it SOON after; identity and partition epoch of each state of which a line prints
    that; notes what lines state of each state.

    A row needs its leader epoch: of what a leader reports without one, in logs that nowhere print it, nothing follows.
    """
    epochs: Keys = set()
    soon: Keys = set()
    placed: Keys = set()
    attribute, statements = scorer.attribute, scorer.statements
    is_list = False

    def looking(line: str, node: int, places: Any) -> Any:
        nonlocal is_list
        is_list = len({place[1:] for place in places}) > 1
        return statements(line, node, places)

    def noting(states: Any, fields: Any, ms: int, skew: int) -> Any:
        state = attribute(states, fields, ms, skew)
        if state is not None and "partition_epoch" in fields:
            placed.add((*scorer.identity(state), state["partition_epoch"]))
        if state is not None and "leader_epoch" in fields:
            key = (*scorer.identity(state), state["leader_epoch"])
            epochs.add(key)
            if not is_list and "isr" in fields and ms - state["since"] <= SOON_MS:
                soon.add(key)
        return state

    if BEGINS not in scorer.TEXTS:
        scorer.TEXTS.append(BEGINS)
    scorer.attribute, scorer.statements = noting, looking
    scorer.prove(truth, SKEW_MS)
    scorer.attribute, scorer.statements = attribute, statements
    return epochs, soon, placed


def are_told_apart(scorer: Any, states: Sequence[Any], placed: Keys) -> list[Any]:
    """Without those that say the same as the stated state before them, if a line prints the partition epoch of neither:
    what was in between is in no line, so they are one state for whoever reads them."""
    told_apart: list[Any] = []
    before: dict[tuple[Any, ...], tuple[Any, bool]] = {}
    for state in sorted(states, key=lambda state: state["since"]):
        name = scorer.identity(state)
        value, is_placed = scorer.value(state), (*name, state["partition_epoch"]) in placed
        was, was_placed = before.get(name, (None, False))
        before[name] = (value, is_placed)
        if value != was or (is_placed and was_placed):
            told_apart.append(state)
    return told_apart


def terms_of(scorer: Any, capture: Path, moved_from: float | None) -> list[Any] | None:
    """KRaft's terms by the dump and all logs of a capture: it takes them to know who led, and a form may lack them.

    From a time on (ms) they are moved by HOLE, if there is one. None for ZooKeeper.
    """
    dump = capture / "metadata-dump.txt"
    if not dump.exists():
        return None
    terms: list[Any] = scorer.kraft_controllers(dump.open(errors="replace"), str(capture))
    for term, name in product(terms, ("since", "until")):
        if moved_from is not None and term[name] is not None and term[name] >= moved_from:
            term[name] += HOLE_MS
    return terms


def scores(scorer: Any, truth: Any, rows: Mapping[str, Path], misses: int) -> dict[str, dict[str, Any]]:
    """Of each table what the scorer says, and `recall_of_provable`: of the rows that lines of the form prove.

    Provable is a state of which lines print all, the leader epoch in one of them, no later than SOON after its end: a
    controller that starts replays states of any time; and that is told apart from the one before (`are_told_apart`); an
    outage that begins with such a state; an election of which a line is logged SOON: a list of all states, as
    `All leaders =`, proves them, but not that any was elected since the logs began.
    """
    by_table = {table: scorer.score(truth, table, scorer.candidate(str(path), table)) for table, path in rows.items()}
    epochs, soon, placed = epochs_in_logs(scorer, truth)

    def key(row: Any) -> tuple[Any, ...]:
        return (*scorer.identity(row), row["leader_epoch"])

    stated = [s for s in truth.tables["partition_timeline"] if s["_full"] and key(s) in epochs]
    in_time = [s for s in stated if s["_full"] <= scorer.end(s) + SOON_MS]
    states = are_told_apart(scorer, in_time, placed)
    elected = {key(s) for s in states} & soon
    lost = {(*scorer.identity(s), s["since"]) for s in states if s["leader"] is None}
    outages = truth.tables["offline_partitions"]
    provable = {
        "partition_timeline": states,
        "elections": [e for e in truth.tables["elections"] if key(e) in elected],
        "offline_partitions": [o for o in outages if (*scorer.identity(o), o["since"]) in lost],
    }
    for table, some in provable.items():
        if not some:
            by_table[table] |= {"provable": 0, "recall_of_provable": None}
            continue
        truth.tables[table], every = some, truth.tables[table]
        score = scorer.score(truth, table, scorer.candidate(str(rows[table]), table))
        truth.tables[table] = every
        by_table[table] |= {"provable": score["truth"], "recall_of_provable": score["recall"]}
    rows_of_outages = scorer.candidate(str(rows["offline_partitions"]), "offline_partitions")
    by_table["offline_partitions"]["precision"] = outage_precision(scorer, truth, rows_of_outages)
    if misses:
        truth.tables["partition_timeline"] = states
        path = str(rows["partition_timeline"])
        scorer.report("MISSED", missing_of(scorer, states, scorer.candidate(path, "partition_timeline")), misses)
    return by_table


def outage_precision(scorer: Any, truth: Any, rows: Sequence[Any]) -> float | None:
    """Share of rows that are within a true outage, or a time in which the committed leader was gone.

    What the scorer pairs one to one, a hole in the logs may cut in two: nobody knows whether there was a leader in it.
    """
    end = truth.window[1]

    def touches(true: Any, row: Any) -> bool:
        is_in_time = true["since"] - SKEW_MS <= min(scorer.end(row), end)
        return bool(is_in_time and row["since"] - SKEW_MS <= min(scorer.end(true), end))

    spans = [*truth.tables["offline_partitions"], *truth.tables["dead_leaders"]]
    by_partition: dict[Any, list[Any]] = {}
    for true in spans:
        by_partition.setdefault(scorer.identity(true), []).append(true)
    precision: float | None = scorer.share(
        any(touches(true, row) for true in by_partition.get(scorer.identity(row), ())) for row in rows
    )
    return precision


def missing_of(scorer: Any, states: Sequence[Any], rows: Sequence[Any]) -> list[Any]:
    """States that no row says."""
    values = {(*scorer.identity(row), *scorer.value(row)) for row in rows}
    return [state for state in states if (*scorer.identity(state), *scorer.value(state)) not in values]


def prove(spark: SparkSession, capture: Path, root: Path, only: Sequence[str], misses: int) -> int:
    """All forms of one capture; how many are not as they must be."""
    logs = logs_of(capture)
    forms = {name: form for name, form in forms_of(logs).items() if not only or any(word in name for word in only)}
    short = {f"form-{number}": name for number, name in enumerate(forms)}
    for folder, name in short.items():
        reduced_capture(capture, logs, forms[name], name, root / folder)
    warehouse = tables_of(spark, root, {folder: forms[name] for folder, name in short.items()})
    scorer, wrong = compare(), 0
    for folder, name in short.items():
        paths = {}
        for table in TABLES:
            paths[table] = root / folder / f"{table}.jsonl"
            mine = warehouse.read(table).where(f"cluster = '{folder}'")
            paths[table].write_text("".join(f"{row['row']}\n" for row in as_text(mine).collect()))
        truth = scorer.Truth(str(root / folder))
        if (terms := terms_of(scorer, capture, resumed_ms(logs) if name == "a hole" else None)) is not None:
            since, until = truth.window
            in_time = [term for term in terms if term["since"] <= until and scorer.end(term) >= since]
            truth.tables["controller_timeline"] = in_time
        by_table = scores(scorer, truth, paths, misses)
        states = by_table["partition_timeline"]
        failed = warehouse.read("elections").where(f"cluster = '{folder}' AND NOT succeeded").count()
        violated = warehouse.read("verdicts").where(f"cluster = '{folder}' AND verdict = 'violated'").count()
        print(
            f"{capture.name} | {name} | {states['candidate']} of {states['truth']} states, "
            f"stated {states['recoverable']}; {failed} failed elections, {violated} violated; "
            + ", ".join(
                f"{table} {score['precision']}"
                + (f" recall {score['recall_of_provable']} of {score['provable']}" if "provable" in score else "")
                for table, score in by_table.items()
            ),
            flush=True,
        )
        wrong += violated > 0 or any(score["precision"] not in (None, 1.0) for score in by_table.values())
        recall = states["recall_of_provable"]
        wrong += recall is not None and recall < LEAST_RECALL
    return wrong


def main(words: Sequence[str]) -> int:
    """Prove captures by name; `--only WORD` picks forms, `--misses N` prints what is missing, `--keep DIR` keeps it."""
    options = dict(pairwise(words))
    only = [word for before, word in pairwise(words) if before == "--only"]
    flags = ("--only", "--misses", "--keep")
    names = [
        word for before, word in zip(["", *words], words, strict=False) if word not in flags and before not in flags
    ]
    misses, wrong = int(options.get("--misses", 0)), 0
    with session({"spark.master": "local[2]"}) as spark:
        for name in names or CAPTURES:
            began = time.monotonic()
            with tempfile.TemporaryDirectory() as passing:
                root = Path(options["--keep"]) / name if "--keep" in options else Path(passing)
                wrong += prove(spark, capture_of(name), root, only, misses)
            print(f"{name}: {time.monotonic() - began:.0f} s")
    print(f"{wrong} forms are not as they must be" if wrong else "proven")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
