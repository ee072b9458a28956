"""With parts of the logs gone, no row becomes false, and what the lines that are left prove is in the tables.

    PYTHONPATH=. python tests/proofs/prove_degraded.py [CAPTURE ...] [--only FORM] [--keep DIR] [--misses N]

Each form takes lines away as people's logs lack them: no TRACE and DEBUG, one kind of log, one broker, half of the
time, a hole, lines at random. Of each form there is one night, in which all captures, thinned to it, are clusters of
one warehouse. What is left is scored against the truth of the capture: precision of each table, and recall of the
states, elections and outages that lines of it prove (`tests/truth/compare.py`, `scores`). Prints a line for each form
and capture, and a table of forms at the end; exits with 1 if a precision is below 1.0, a decision is called violated,
the gate refuses a cluster or a recall is below LEAST_RECALL.

`--only FORM` (may be given again) takes forms whose name holds that word; `--keep DIR` keeps warehouses and tables
there, and scores those that are there already as they are; `--misses N` prints up to N rows that are false, and up to N
provable ones that are missing.
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
from zlib import crc32

from jobs.session import expected_bytes, session
from tests.proofs.captures import capture_folders, warehouse_of
from tests.proofs.prove_metamorphic import (
    Logs,
    at_info,
    ends_of,
    filtered,
    logs_of,
    middle_of,
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
LATE_MS = 500
"""A broker that is told of an outage by a request logs it so much later at most; outages may last some milliseconds."""
SOON_MS = 5000
HOLE = timedelta(minutes=70)
"""Captures last minutes: times after the hole move by so much, in the logs and in the truth."""
HOLE_MS = round(HOLE.total_seconds() * 1000)
A_HOLE = "a hole"


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


def without(logs: Logs, first: float, last: float) -> Logs:
    """Records of all but a part of the time; what comes after it stays where it is, so no silence shows the hole."""
    begin, end = ends_of(logs)
    since, till = stamp(begin + (end - begin) * first), stamp(begin + (end - begin) * last)
    return filtered(logs, lambda record: not since <= record[:25] < till)


def with_short_hole_of_one(logs: Logs) -> Logs:
    """One broker's logs lack a third of the time."""
    own = named(logs, lambda name: node_of(name) == second_node(logs))
    return {**logs, **without(own, 0.4, 0.7)}


def thinned(logs: Logs, one_of: int) -> Logs:
    """Without one of so many records, which ones their bytes decide."""
    return filtered(logs, lambda record: crc32(record) % one_of != 0)


def resumed_ms(logs: Logs) -> float:
    """When a hole is over, before times are moved."""
    begin, end = ends_of(logs)
    return (begin + (end - begin) * 0.6).timestamp() * 1000


def of_a_third(logs: Logs) -> Logs:
    """Records of the second third of the time."""
    since, till = middle_of(logs)
    return filtered(logs, lambda record: since <= record[:25] < till)


def second_node(logs: Logs) -> int:
    """The broker that is left alone, or gone."""
    return sorted({node_of(name) for name in logs})[1]


FORMS: Mapping[str, Callable[[Logs], Logs]] = {
    "INFO only": lambda logs: filtered(logs, at_info),
    "controllers' logs only": lambda logs: named(logs, lambda name: "/controller.log" in name),
    "state-change logs only": lambda logs: named(logs, lambda name: "/state-change.log" in name),
    "server logs only": lambda logs: named(logs, lambda name: "/server.log" in name),
    "one broker only": lambda logs: named(logs, lambda name: node_of(name) == second_node(logs)),
    "one broker missing": lambda logs: named(logs, lambda name: node_of(name) != second_node(logs)),
    "first half": lambda logs: between(logs, 0, 0.5),
    "last half": lambda logs: between(logs, 0.5, 2),
    "a third": of_a_third,
    A_HOLE: with_hole,
    "a short hole": lambda logs: without(logs, 0.4, 0.6),
    "a short hole of one broker": with_short_hole_of_one,
    "a tenth lost": lambda logs: thinned(logs, 10),
    "a hundredth lost": lambda logs: thinned(logs, 100),
}
"""What is left of logs, by the name of the form."""


def reduced_capture(capture: Path, form: str, folder: Path) -> None:
    """A capture with what a form leaves of its logs, for the scorer; one that is there already stays."""
    if (folder / "truth.jsonl").exists():
        return
    logs = logs_of(capture)
    write(folder / "logs", {path: data for path, data in FORMS[form](logs).items() if data})
    for file in ("meta.json", "metadata-dump.txt"):
        if (capture / file).exists():
            (folder / file).write_bytes((capture / file).read_bytes())
    records = (capture / "truth.jsonl").read_text().splitlines()
    if form == A_HOLE:
        moved, resumed = [json.loads(record) for record in records], resumed_ms(logs)
        records = [json.dumps(r | {"ms": r["ms"] + HOLE_MS * (r["ms"] >= resumed)}) for r in moved]
    (folder / "truth.jsonl").write_text("\n".join(records))


def export(spark: SparkSession, folders: Mapping[str, Path], root: Path) -> None:
    """The tables of a night over these captures, as files of JSON lines in `root`, by cluster and table."""
    warehouse = warehouse_of(spark, {name: folder / "logs" for name, folder in folders.items()}, root / "warehouse")
    for table in (*TABLES, "verdicts", "log_files"):
        lines: dict[str, list[str]] = {name: [] for name in folders}
        rows = warehouse.read(table).where("verdict = 'violated'" if table == "verdicts" else "true")
        for row in as_text(rows).collect():
            lines[json.loads(row["row"])["cluster"]].append(row["row"] + "\n")
        for name in folders:
            rows_file(root, name, table).write_text("".join(lines[name]))


def rows_file(root: Path, name: str, table: str) -> Path:
    """Where the rows of a table of a capture are."""
    return root / f"{name}-{table}.jsonl"


BEGINS = re.compile(r"starts at Leader Epoch (?P<leader_epoch>\d+) from")
"""How leaders up to 2.4.0 log that they begin a leader epoch."""


CREATED, REPLAYED = (
    "Creating new QuorumController",
    re.compile(r"\[(QuorumController id=|Controller )\d+\] (Replayed|Created|UNCLEAN partition)"),
)
STARTING_MS = 60_000
"""A KRaft controller replays the whole metadata log as it starts: when that was no such line tells."""
REFUSED = re.compile(r"Error when handling request|Unexpected error handling request")
"""Errors of brokers that print a request which they did not carry out, as of a controller that was deposed: whether
what it says was ever written no such line tells."""


UNTIL_0_10 = re.compile(r"\[[^\[\],]+,\d+\] ->")
"""How lists until 0.10 print partitions."""
REFRESHED_MS = 90_000
"""From 0.9 on a controller learns so soon what leaders changed; until then, in 0.8 always, its lists may be old."""


Keys = set[tuple[Any, ...]]


def epochs_in_logs(scorer: Any, truth: Any) -> tuple[Keys, Keys, Keys, Keys, Keys]:
    """Identity and leader epoch of each state whose leader epoch a line prints, and with its begin of each of which a
    line that is not a list of many partitions prints it SOON after; identity and partition epoch of each state of which
    a line prints that, and of each that its leader logs as a change; identity and begin of each state of which no line
    but a list that may be old prints all; notes what lines state of each state.

    A row needs its leader epoch: of what a leader reports without one, in logs that nowhere print it, nothing follows.
    """
    epochs: Keys = set()
    soon: Keys = set()
    placed: Keys = set()
    changed: Keys = set()
    listed: Keys = set()
    otherwise: Keys = set()
    attribute, statements = scorer.attribute, scorer.statements
    is_list = is_old = False

    started: dict[int, list[int]] = {}
    for node, path in scorer.log_files(truth.folder):
        with open(path, errors="replace") as lines:
            started.setdefault(node, [truth.window[0]]).extend(scorer.log_ms(line) for line in lines if CREATED in line)

    def is_replayed(line: str, node: int) -> bool:
        at = scorer.log_ms(line)
        return bool(REPLAYED.search(line)) and any(0 <= at - start <= STARTING_MS for start in started[node])

    def looking(line: str, node: int, places: Any) -> Any:
        nonlocal is_list, is_old
        if REFUSED.search(line) or is_replayed(line, node):
            return ()
        is_list = len({place[1:] for place in places}) > 1
        is_early = scorer.log_ms(line) < truth.window[0] + REFRESHED_MS
        is_old = is_list and (is_early or UNTIL_0_10.search(line) is not None)
        return statements(line, node, places)

    def noting(states: Any, fields: Any, ms: int, skew: int) -> Any:
        state = attribute(states, fields, ms, skew)
        if state is not None and "partition_epoch" in fields:
            placed.add((*scorer.identity(state), state["partition_epoch"]))
        if state is not None and "isr" in fields:
            is_unsure = is_old and "partition_epoch" not in fields and state["leader"] is not None
            (listed if is_unsure else otherwise).add((*scorer.identity(state), state["since"]))
        if state is not None and "was" in fields:
            changed.add((*scorer.identity(state), state["partition_epoch"]))
        if state is not None and "leader_epoch" in fields:
            key = (*scorer.identity(state), state["leader_epoch"])
            epochs.add(key)
            if not is_list and "isr" in fields and ms - state["since"] <= SOON_MS:
                soon.add((*key, state["since"]))
        return state

    if BEGINS not in scorer.TEXTS:
        scorer.TEXTS.append(BEGINS)
    scorer.attribute, scorer.statements = noting, looking
    scorer.prove(truth, SKEW_MS)
    scorer.attribute, scorer.statements = attribute, statements
    return epochs, soon, placed, changed, listed - otherwise


def are_told_apart(scorer: Any, states: Sequence[Any], placed: Keys, changed: Keys) -> list[list[Any]]:
    """Each state, with those that say the same as a stated state before them, if not of both a line prints the
    partition epoch: a row of any of them is all that lines prove, for they leave open which one they state.

    What came right before may be the same state, with what was in between in no line. And of a leader epoch lines until
    1.0 repeat what their writer has cached, though the ISR is another one by then (82 of 1022 lines that one broker of
    zk-0.8.2.2 has, by up to 16 s): that an ISR came again shows only where the leader's own line tells of the change.
    """
    told_apart: list[list[Any]] = []
    alike: dict[tuple[Any, ...], list[Any]] = {}
    before: dict[tuple[Any, ...], dict[Any, bool]] = {}
    last: dict[tuple[Any, ...], Any] = {}
    for state in sorted(states, key=lambda state: state["since"]):
        name = scorer.identity(state)
        value, is_placed = scorer.value(state), (*name, state["partition_epoch"]) in placed
        is_changed = (*name, state["partition_epoch"]) in changed
        seen = before.setdefault(name, {})
        is_other = value not in seen or (is_placed and seen[value]) or (is_changed and last[name] != value)
        seen[value], last[name] = is_placed, value
        if is_other:
            alike[name, value] = []
            told_apart.append(alike[name, value])
        alike[name, value].append(state)
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
    controller that starts replays states of any time, as it may as the logs begin; that is not the first of its
    partition which lines show, by a list that may be old; and that is told apart from the one before
    (`are_told_apart`); an
    outage that begins with such a state, and was not over by then: nobody would know when it was; an election of which
    a line is logged SOON: a list of all states, as `All leaders =`, proves them, but not that any was elected since the
    logs began.
    """
    report = scorer.report
    scorer.report = lambda word, rows, limit, *hint: report(word, rows, limit, *hint) if word == "WRONG" else None
    by_table = {
        table: scorer.score(truth, table, scorer.candidate(str(path), table), SKEW_MS, misses)
        for table, path in rows.items()
    }
    scorer.report = lambda word, rows, limit, *hint: report(word, rows, limit, *hint) if word == "MISSED" else None
    epochs, soon, placed, changed, listed = epochs_in_logs(scorer, truth)

    def key(row: Any) -> tuple[Any, ...]:
        return (*scorer.identity(row), row["leader_epoch"])

    stated = [s for s in truth.tables["partition_timeline"] if s["_full"] and key(s) in epochs]
    in_time = [s for s in stated if s["_full"] <= scorer.end(s) + SOON_MS]
    begins: dict[tuple[Any, ...], int] = {}
    for state in sorted(in_time, key=lambda state: state["since"]):
        begins.setdefault(scorer.identity(state), state["since"])
    sure = {
        id(s)
        for s in in_time
        if s["since"] > begins[scorer.identity(s)] or (*scorer.identity(s), s["since"]) not in listed
    }
    groups = [g for g in are_told_apart(scorer, stated, placed, changed) if any(id(s) in sure for s in g)]
    states = [next(s for s in group if id(s) in sure) for group in groups]
    elected = {(*key(s), s["since"]) for s in states} & soon
    in_it = [s for s in states if s["leader"] is None and s["_full"] + SKEW_MS < scorer.end(s)]
    lost = {(*scorer.identity(s), s["since"]) for s in in_it}
    outages = truth.tables["offline_partitions"]
    of_timeline = scorer.candidate(str(rows["partition_timeline"]), "partition_timeline")
    printed = {(*scorer.identity(row), row["partition_epoch"]) for row in of_timeline}
    states = [in_rows(scorer, group, printed) for group in groups]
    provable = {
        "partition_timeline": states,
        "elections": [e for e in truth.tables["elections"] if (*key(e), e["at"]) in elected],
        "offline_partitions": [o for o in outages if (*scorer.identity(o), o["since"]) in lost],
    }
    for table, some in provable.items():
        if not some:
            by_table[table] |= {"provable": 0, "recall_of_provable": None}
            continue
        truth.tables[table], every = some, truth.tables[table]
        limit = misses * (table != "partition_timeline")
        score = scorer.score(truth, table, scorer.candidate(str(rows[table]), table), SKEW_MS, limit)
        truth.tables[table] = every
        by_table[table] |= {"provable": score["truth"], "recall_of_provable": score["recall"]}
    rows_of_outages = scorer.candidate(str(rows["offline_partitions"]), "offline_partitions")
    precision, recall = outage_shares(scorer, truth, provable["offline_partitions"], rows_of_outages)
    by_table["offline_partitions"] |= {"precision": precision, "recall_of_provable": recall}
    scorer.report = report
    if misses:
        truth.tables["partition_timeline"] = states
        path = str(rows["partition_timeline"])
        scorer.report("MISSED", missing_of(scorer, states, scorer.candidate(path, "partition_timeline")), misses)
    return by_table


def in_rows(scorer: Any, group: Sequence[Any], printed: Keys) -> Any:
    """Of states that are not told apart the first of which a row has the partition epoch; else the first."""
    return next((s for s in group if (*scorer.identity(s), s["partition_epoch"]) in printed), group[0])


def outage_shares(scorer: Any, truth: Any, provable: Sequence[Any], rows: Sequence[Any]) -> tuple[Any, Any]:
    """Share of rows that are within a true outage, or a time in which the committed leader was gone; and of true ones
    that are within a row.

    What the scorer pairs one to one, a hole in the logs may cut in two, or make one of: nobody knows whether there was
    a leader in it.
    """
    end = truth.window[1]

    def touches(true: Any, row: Any) -> bool:
        is_in_time = true["since"] - LATE_MS <= min(scorer.end(row), end)
        return bool(is_in_time and row["since"] - LATE_MS <= min(scorer.end(true), end))

    def share_of(some: Sequence[Any], others: Sequence[Any]) -> Any:
        by_partition: dict[Any, list[Any]] = {}
        for other in others:
            by_partition.setdefault(scorer.identity(other), []).append(other)
        return scorer.share(
            any(touches(one, other) for other in by_partition.get(scorer.identity(one), ())) for one in some
        )

    spans = [*truth.tables["offline_partitions"], *truth.tables["dead_leaders"]]
    return share_of(rows, spans), share_of(provable, rows)


def missing_of(scorer: Any, states: Sequence[Any], rows: Sequence[Any]) -> list[Any]:
    """States that no row says."""
    values = {(*scorer.identity(row), *scorer.value(row)) for row in rows}
    return [state for state in states if (*scorer.identity(state), *scorer.value(state)) not in values]


def as_the_logs_show(scorer: Any, truth: Any, rows: Sequence[Any]) -> None:
    """The truth as logs that begin amid it can show it, by rows of partition_timeline that were made of them.

    What happened LATE_MS before their first line they may log, and what a leader was about to write at their last one
    was there within SKEW_MS. Of a topic that was deleted before it nothing is in any
    line: incarnations are counted from the first one that was there since.
    """
    begin, end = truth.window[0] - LATE_MS, truth.window[1] + SKEW_MS
    rows_of = {
        "partition_timeline": truth.states,
        "offline_partitions": truth.offline(),
        "elections": truth.elections(),
        "dead_leaders": truth.tables["dead_leaders"],
    }
    over: dict[str, set[int]] = {}
    for history in truth.histories.values():
        if scorer.end(history[-1]) < begin:
            over.setdefault(history[0]["topic"], set()).add(history[0]["incarnation"])
    there = {(h[0]["topic"], h[0]["incarnation"]) for h in truth.histories.values() if scorer.end(h[-1]) >= begin}
    gone = {topic: sum((topic, number) not in there for number in numbers) for topic, numbers in over.items()}
    last = {topic: max(number for name, number in there if name == topic) for topic, _ in there}
    for row in rows:  # a controller that starts tells of topics before
        gone[row["topic"]] = min(gone.get(row["topic"], 0), max(last.get(row["topic"], 0) - row["incarnation"], 0))
    for table, true in rows_of.items():
        truth.tables[table] = [
            row for row in true if row.get("since", row.get("at")) <= end and _ends(scorer, row) >= begin
        ]
    numbered = {id(row): row for true in (*rows_of.values(), truth.states) for row in true}
    for row in numbered.values():
        row["incarnation"] -= gone.get(row["topic"], 0)


def _ends(scorer: Any, row: Any) -> int:
    """When a row of the truth ends, or was."""
    end: int = row["at"] if "at" in row else scorer.end(row)
    return end


def printed_rows(root: Path, name: str, table: str) -> list[dict[str, Any]]:
    """Rows of a table of a capture as they were exported."""
    return [json.loads(line) for line in rows_file(root, name, table).read_text().splitlines()]


def prove(capture: Path, form: str, folder: Path, root: Path, misses: int) -> tuple[str, bool, str]:
    """Score one capture in one form: what is printed of it, whether all is as it must be, and its cell of the table."""
    scorer, name = compare(), capture.name
    truth = scorer.Truth(str(folder))
    if (terms := terms_of(scorer, capture, resumed_ms(logs_of(capture)) if form == A_HOLE else None)) is not None:
        since, until = truth.window
        truth.tables["controller_timeline"] = [t for t in terms if t["since"] <= until and scorer.end(t) >= since]
    as_the_logs_show(scorer, truth, printed_rows(root, name, "partition_timeline"))
    by_table = scores(scorer, truth, {table: rows_file(root, name, table) for table in TABLES}, misses)
    states, failed = by_table["partition_timeline"], printed_rows(root, name, "elections")
    violated, is_refused = printed_rows(root, name, "verdicts"), not printed_rows(root, name, "log_files")
    for row in violated[:misses]:
        print(f"VIOLATED {row['rule']} {row['subject']}: {row['explanation']}")
    recalls = [score["recall_of_provable"] for score in by_table.values() if "recall_of_provable" in score]
    is_right = (
        not violated
        and not is_refused
        and all(score["precision"] in (None, 1.0) for score in by_table.values())
        and all(recall is None or recall >= LEAST_RECALL for recall in recalls)
    )
    figures = (
        f"{states['candidate']} of {states['truth']} states, stated {states['recoverable']}, "
        f"of those {states['recall_of_recoverable']}; {sum(not row['succeeded'] for row in failed)} failed elections, "
        f"{len(violated)} violated{', REFUSED' * is_refused}; "
        + ", ".join(
            f"{table} {score['precision']}"
            + (f" recall {score['recall_of_provable']} of {score['provable']}" if "provable" in score else "")
            for table, score in by_table.items()
        )
    )
    cell = f"{'' if is_right else '! '}{states['recall_of_provable']} of {states['provable']}"
    return figures, is_right, "-" if is_right and not states["provable"] else cell


def table_of(cells: Mapping[str, Mapping[str, str]]) -> str:
    """Recall of provable states by capture and form; `!`: something is not as it must be; `-`: no state is provable."""
    names = list(dict.fromkeys(name for of_form in cells.values() for name in of_form))
    rows = [["capture", *cells], *([name, *(of_form.get(name, "") for of_form in cells.values())] for name in names)]
    return "\n".join(" | ".join(row) for row in rows)


def options_of(words: Sequence[str]) -> tuple[list[str], list[str], Path | None, int]:
    """Captures, forms, where to keep, and how many misses to print, of the words of the command line."""
    flags, before = ("--only", "--misses", "--keep"), ["", *words]
    options = dict(pairwise(words))
    names = [word for flag, word in zip(before, words, strict=False) if word not in flags and flag not in flags]
    wanted = [word for flag, word in pairwise(words) if flag == "--only"]
    forms = [form for form in FORMS if not wanted or any(word in form for word in wanted)]
    return names, forms, Path(options["--keep"]) if "--keep" in options else None, int(options.get("--misses", 0))


def main(words: Sequence[str]) -> int:
    """Prove all forms of all captures, or those named."""
    names, forms, keep, misses = options_of(words)
    wrong: list[str] = []
    cells: dict[str, dict[str, str]] = {form: {} for form in forms}
    with tempfile.TemporaryDirectory() as passing, capture_folders(names) as folders:
        captures = {folder.name: folder for folder in folders if (folder / "truth.jsonl").exists()}
        for form in forms:
            began, root = time.monotonic(), (keep or Path(passing)) / re.sub(r"\W+", "-", form)
            reduced = {name: root / "captures" / name for name in captures}
            for name, folder in reduced.items():
                reduced_capture(captures[name], form, folder)
            if not all(rows_file(root, name, "log_files").exists() for name in captures):
                files = [file for folder in reduced.values() for file in (folder / "logs").rglob("*")]
                with session({"spark.master": "local[2]"}, expected_bytes(files)) as spark:
                    export(spark, reduced, root)
            print(f"{form}: night {time.monotonic() - began:.0f} s", flush=True)
            for name, folder in reduced.items():
                figures, is_right, cells[form][name] = prove(captures[name], form, folder, root, misses)
                print(f"{'' if is_right else 'WRONG '}{form} | {name} | {figures}", flush=True)
                wrong += [] if is_right else [f"{form}, {name}"]
            print(f"{form}: {time.monotonic() - began:.0f} s", flush=True)
    print(table_of(cells))
    print("not as they must be: " + "; ".join(wrong) if wrong else "proven")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
