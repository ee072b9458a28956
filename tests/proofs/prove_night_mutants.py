"""Spoiled lines are flagged by a whole night: `python tests/proofs/prove_night_mutants.py DIR [--keep DIR]`.

DIR is what `prove_truth.py --keep DIR` left; without it that runs first. The logs of captures and all metadata dumps
are copied, some decisions in each copy are spoiled in the ways of `tests.text_mutants` and `tests.log_text_mutants`,
and one night runs over all copies, each a cluster, and over what they were copied from. Prints by kind how many mutants
there were, how many were called violated while what they changed lasted, by which rules, and how many by a rule that
the kind breaks, the latter by capture, too. Fails if less than 99 % of all are, or if what was not spoiled is violated.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from jobs.read.create_views import literal, rows
from jobs.read.views import open_views
from jobs.session import expected_bytes, session
from tests.log_text_mutants import LINES
from tests.proofs import prove_truth
from tests.proofs.captures import capture_folders, warehouse_of
from tests.text_mutants import RECORDS, UNKNOWN_RELEASE, History, Mutant, Place, TextKind
from udfs.kafka.releases import Release

GOAL = 0.99
NEAR_US = 5_000_000
"""A verdict so near to a mutant is about it, or to the time that what it changed lasts: a state may be dated later."""
APART_US = 8_000_000
"""So long before and after that time there is no other mutant of the partition."""
COPIES = {
    "zk-0.8.2.2": 1, "zk-0.9.0.1": 1, "zk-0.10.2.2": 1, "zk-1.1.1": 1, "zk-2.2.2-chaos": 1, "zk-2.3.1-to-2.8.2": 1,
    "zk-2.4.1": 1, "zk-2.5.1-chaos": 1, "zk-2.6.3-chaos": 1, "zk-2.8.2": 1, "zk-3.3.2": 1, "zk-3.9.1": 1,
    "kraft-3.3.2-chaos": 1, "kraft-3.5.2-chaos": 1, "kraft-3.9.1-chaos": 1, "kraft-4.0.0-chaos": 1,
    "kraft-4.1.0-chaos": 1, "kraft-4.4.0-chaos": 1,
}  # fmt: skip
"""Captures whose logs are spoiled, and how many copies there are of each; of each dump there are DUMP_COPIES."""
OF_CLUSTER = ("log: two controllers of one epoch",)
"""Kinds that change what is known of a whole cluster, here whether the logs of all controllers are there: in copies
without other mutants, one of each capture of OF_CLUSTER_COPIES."""
OF_CLUSTER_COPIES = ("zk-1.1.1", "zk-2.4.1", "zk-3.3.2")
DUMP_COPIES = 3
MOST = 90
"""Most mutants in a copy, so that what they do to the rest of it stays small."""
ALONE = (
    "log: no leader though one is back", "record: a replica twice", "log: a replica twice",
    "log: another leader received", "log: a reassignment led by none of its target", "log: a zombie controller obeyed",
)  # fmt: skip
"""Kinds whose mutants are the only ones of their partition: of some a single line differs from all others about the
state, so that the state is not known, and those after it that go by it are not, either."""
ORDER = "topic, partition, incarnation, ordinal"
NOT_COPIED = (
    b" All leaders = ", b" leader cache is updated to Map(", b" fails to send request ", b"Not sending request ",
)  # fmt: skip
"""Lines that print the states of many partitions again and again: mutants of one would have to share them."""
ABOUT_NO_PARTITION = (
    "metadata_register_broker", "metadata_broker_registration_change", "controller_elected",
    "controller_replica_state_machine_started",
    "controller_partition_state_machine_started", "topics_changed", "fetcher_added",
)  # fmt: skip


def history_of(views: Any, cluster: str) -> tuple[History, dict[str, str]]:
    """What a warehouse knows of a cluster, and the paths of its streams."""

    def of_cluster(columns: str, table: str, rest: str = "") -> list[dict[str, Any]]:
        return rows(views, f"SELECT {columns} FROM {table} WHERE cluster = {literal(cluster)} {rest}")

    states: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in of_cluster(
        "* REPLACE (epoch_us(since) AS since, epoch_us(until) AS until)", "partition_timeline", f"ORDER BY {ORDER}"
    ):
        states[row["topic"], row["partition"], row["incarnation"]].append(row)
    stays: dict[int, list[tuple[int, int | None]]] = defaultdict(list)
    returns: dict[int, list[tuple[int, int | None]]] = defaultdict(list)
    for row in of_cluster("broker, epoch_us(since) AS since, epoch_us(until) AS until, ended_by", "broker_timeline"):
        for spans in (stays, returns) if row["ended_by"] != "controlled_shutdown" else (stays,):
            spans[row["broker"]].append((row["since"], row["until"]))
    key = ("topic", "partition", "incarnation", "leader_epoch")
    elections = of_cluster(f"{', '.join(key)}, strategy", "elections", "AND succeeded")
    strategies: Any = {tuple(row[name] for name in key): row["strategy"] for row in elections}
    records = of_cluster("file_id, line, message", "events", "AND logger = 'kafka-dump-log'")
    messages = {(row["file_id"], row["line"]): row["message"] for row in records}
    paths = {row["file_id"]: row["path"] for row in of_cluster("file_id, path", "log_files")}
    names = {row["topic_id"]: row["topic"] for row in of_cluster("topic, topic_id", "topic_timeline")}
    columns = """epoch_us("at") AS "at", node_id, file_id, line, logger, event_type, topic, topic_id, partition,
        message, leader_epoch, partition_epoch, controller_epoch, correlation_id"""
    lines: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    others = []
    starts: dict[int, int] = defaultdict(int)
    for row in of_cluster(columns, "events e", 'ORDER BY e."at", e.line, e.file_id'):
        topic = row["topic"] or names.get(row["topic_id"])
        starts[row["node_id"]] += row["event_type"] in ("broker_starting", "broker_started")
        if topic is not None and row["partition"] is not None and row["node_id"] is not None:
            is_request = row["logger"] == "state.change.logger" or "reassign" in row["event_type"]
            lines[topic, row["partition"]].append({**row, "life": starts[row["node_id"]], "is_request": is_request})
        elif row["event_type"] in ABOUT_NO_PARTITION:
            others.append(row)
    end = of_cluster('max(epoch_us(e."at")) AS last', "events e")[0]["last"]
    printed = of_cluster("DISTINCT message", "events", "AND event_type = 'kafka_version'")
    versions = [version for row in printed for version in re.findall(r"\d+\.\d+[\d.]*", row["message"])]
    release = min(map(Release.parse, versions), default=UNKNOWN_RELEASE)
    return History(list(states.values()), lines, messages, stays, strategies, others, returns, end, release), paths


class Copy:
    """A copy of a cluster's logs with the mutants that were chosen for it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.mutants: list[tuple[TextKind, Mutant]] = []
        self.texts: dict[Place, str | None] = {}
        """What lines become; several mutants may ask for the same."""
        self.behind: set[Place] = set()
        """Lines behind which there are new ones."""
        self.spans: dict[tuple[str | None, int | None], list[tuple[int, int]]] = defaultdict(list)

    def take(self, kind: TextKind, mutant: Mutant) -> bool:
        """Whether a mutant has a place beside the others; then it is taken."""
        key = (mutant.topic, mutant.partition)
        is_taken = any(self.texts.get(place, text) != text for place, text in mutant.edits.items())
        is_taken |= bool(self.behind & mutant.after.keys())
        begin, end = mutant.at - APART_US, (mutant.until or mutant.at) + APART_US
        if kind.name in ALONE:
            begin, end = 0, 1 << 63
        is_near = any(begin < until and since < end for since, until in self.spans[key])
        if len(self.mutants) >= MOST or is_near or is_taken:
            return False
        self.texts |= mutant.edits
        self.behind |= mutant.after.keys()
        self.spans[key].append((begin, end))
        self.mutants.append((kind, mutant))
        return True


def copies_of(name: str, history: History, kinds: Sequence[TextKind], count: int) -> Iterator[Copy]:
    """Copies with as many mutants as there is room for, kind by kind in turn, the rarest first."""
    form = "logs" if kinds is LINES else "dumps"
    if form == "logs" and name in OF_CLUSTER_COPIES:
        of_cluster = [kind for kind in kinds if kind.name in OF_CLUSTER]
        yield from _filled([Copy(f"{name}-{form}-cluster-mutants")], name, history, of_cluster)
    rest = [kind for kind in kinds if kind.name not in OF_CLUSTER]
    yield from _filled([Copy(f"{name}-{form}-mutants-{number}") for number in range(count)], name, history, rest)


def _filled(copies: list[Copy], name: str, history: History, kinds: Sequence[TextKind]) -> list[Copy]:
    """The copies with as many mutants of these kinds as there is room for."""
    count = len(copies)
    candidates = {kind.name: list(kind.mutants(history)) for kind in kinds}
    print(f"{name}: " + ", ".join(f"{kind} {len(mutants)}" for kind, mutants in candidates.items()))
    streams = [(kind, iter(candidates[kind.name])) for kind in sorted(kinds, key=lambda k: len(candidates[k.name]))]
    turn = 0
    while streams:
        for kind, stream in list(streams):
            turn += 1
            in_turn = copies[turn % count :] + copies[: turn % count]
            if not any(copy.take(kind, mutant) for mutant in stream for copy in in_turn):
                streams.remove((kind, stream))
    return copies


def write(
    copy: Copy, paths: Mapping[str, str], messages: Mapping[tuple[str, int], str], source: Path, folder: Path
) -> None:
    """A capture's logs, or a dump, with the edits of a copy. `paths` by stream, `messages` by path and line."""
    edits: dict[str, dict[int, str | None]] = defaultdict(dict)
    after: dict[str, dict[int, Sequence[str]]] = defaultdict(dict)
    words: dict[Place, list[tuple[str, str]]] = defaultdict(list)
    for _, mutant in copy.mutants:
        for place, pair in mutant.words.items():
            words[place].append(pair)
        for (file_id, line), text in mutant.edits.items():
            edits[paths[file_id]][line] = text
        for (file_id, line), texts in mutant.after.items():
            after[paths[file_id]][line] = texts
    for (file_id, line), pairs in words.items():
        text = messages[paths[file_id], line]
        for old, new in pairs:
            text = text.replace(old, new)
            if not new:  # an element of a list is gone
                text = text.replace("(, ", "(").replace(", , ", ", ").replace(", )", ")")
        edits[paths[file_id]][line] = text
    for path in [source] if source.is_file() else sorted(p for p in source.rglob("*") if p.is_file()):
        target = folder / (path.name if source.is_file() else path.relative_to(source))
        target.parent.mkdir(parents=True, exist_ok=True)
        packed = path.suffix == ".gz"
        data = gzip.decompress(path.read_bytes()) if packed else path.read_bytes()
        data = b"".join(_edited(data, str(path), edits, after, messages))
        target.write_bytes(gzip.compress(data) if packed else data)


def _edited(
    data: bytes,
    path: str,
    edits: Mapping[str, Mapping[int, str | None]],
    after: Mapping[str, Mapping[int, Sequence[str]]],
    old: Mapping[tuple[str, int], str],
) -> Iterator[bytes]:
    """The lines of a file."""
    of_file, behind = edits.get(path, {}), after.get(path, {})
    for number, line in enumerate(data.splitlines(keepends=True), start=1):
        message = old.get((path, number), "").encode()
        text = of_file.get(number, "")
        if any(words in line for words in NOT_COPIED) or (number in of_file and text is None):
            continue
        if text and message not in line:
            raise ValueError(f"{path}:{number} does not have the message {message!r}")
        yield line.replace(message, text.encode()) if text else line
        yield from (line.replace(message, more.encode()) for more in behind.get(number, ()))


def _lasts(mutant: Mutant) -> int:
    """How long what a mutant changed lasts, in microseconds."""
    return max((mutant.until or mutant.at) - mutant.at, 0)


def judged(views: Any, copies: Sequence[Copy]) -> bool:
    """Print what became of the mutants; whether enough of them were flagged."""
    counts: Counter[str] = Counter()
    flagged: Counter[str] = Counter()
    right: Counter[str] = Counter()
    of_copy: Counter[str] = Counter()
    right_of_copy: Counter[str] = Counter()
    by_rule: dict[str, Counter[str]] = defaultdict(Counter)
    missed: dict[str, list[str]] = defaultdict(list)
    for copy in copies:
        query = f"""SELECT rule, topic, partition, epoch_us("at") AS "at" FROM verdicts
            WHERE cluster = {literal(copy.name)} AND verdict = 'violated'"""
        verdicts = rows(views, query)
        for kind, mutant in copy.mutants:
            rules = {
                v["rule"]
                for v in verdicts
                if (mutant.topic is None or v["topic"] == mutant.topic)
                and (mutant.partition is None or v["partition"] in (mutant.partition, None))
                and (not kind.is_dated or -NEAR_US <= v["at"] - mutant.at <= NEAR_US + _lasts(mutant))
            }
            counts[kind.name] += 1
            flagged[kind.name] += bool(rules)
            right[kind.name] += bool(rules & {*kind.rules})
            of_copy[copy.name] += 1
            right_of_copy[copy.name] += bool(rules & {*kind.rules})
            by_rule[kind.name].update(rules)
            if not rules & {*kind.rules}:
                missed[kind.name].append(f"{copy.name} {mutant.topic}-{mutant.partition} {mutant.at} {sorted(rules)}")
    print(f"{'kind':<58}{'mutants':>8}{'flagged':>8}{'right':>8}  rules")
    for name in sorted(counts):
        shown = ", ".join(f"{rule} {count}" for rule, count in by_rule[name].most_common(4))
        print(f"{name:<58}{counts[name]:>8,}{flagged[name]:>8,}{right[name]:>8,}  {shown}")
        for text in missed[name][:3]:
            print(f"    missed: {text}")
    for name in sorted(of_copy):
        print(f"{name:<58}{of_copy[name]:>8,}{'':>8}{right_of_copy[name]:>8,}")
    share = right.total() / max(counts.total(), 1)
    print(f"{len(counts)} kinds, {counts.total():,} mutants, {share:.4f} flagged by the right rule")
    return share >= GOAL


def main(words: Sequence[str]) -> int:
    """Prove the mutants of what is kept in a folder, or made now."""
    if not words:
        with tempfile.TemporaryDirectory() as folder_of_truth:
            prove_truth.main(["--keep", folder_of_truth])
            return main([folder_of_truth])
    kept, keep = Path(words[0]), Path(words[2]) if words[1:2] == ["--keep"] else None
    copies: list[Copy] = []
    inputs: dict[str, Path] = {}
    with tempfile.TemporaryDirectory() as scratch, capture_folders() as folders:
        root = keep or Path(scratch)
        for folder in folders:
            for form, kinds, source in (
                ("logs", LINES, folder / "logs"), ("dumps", RECORDS, folder / "metadata-dump.txt")
            ):  # fmt: skip
                count = COPIES.get(folder.name, 0) if form == "logs" else DUMP_COPIES
                if count and source.exists() and (folder / "truth.jsonl").exists():
                    inputs[f"{folder.name}-{form}"] = source
                    for copy in spoiled(kept / form / "warehouse", folder.name, source, kinds, count, root / form):
                        inputs[copy.name] = root / form / copy.name
                        copies.append(copy)
        plan = [
            (copy.name, kind.name, *astuple(mutant)[:3], mutant.until)
            for copy in copies
            for kind, mutant in copy.mutants
        ]
        (root / "mutants.json").write_text(json.dumps(plan))
        print(f"{len(copies)} copies, {sum(len(copy.mutants) for copy in copies):,} mutants", flush=True)
        files = [file for path in inputs.values() for file in (path, *path.rglob("*"))]
        with session({"spark.master": "local[2]"}, expected_bytes(files)) as spark:
            warehouse_of(spark, inputs, root / "warehouse")
        with open_views(str(root / "warehouse"), naive=True) as views:
            names = ", ".join(map(literal, inputs.keys() - {copy.name for copy in copies}))
            accused = rows(views, f"SELECT * FROM verdicts WHERE cluster IN ({names}) AND verdict = 'violated'")
            for row in accused:
                print(f"unspoiled, violated: {row['cluster']} {row['rule']} {row['subject']}: {row['explanation']}")
            is_proven = judged(views, copies)
    return 0 if is_proven and not accused else 1


def spoiled(
    warehouse: Path, name: str, source: Path, kinds: Sequence[TextKind], count: int, folder: Path
) -> Iterator[Copy]:
    """Copies of a capture's logs, or its dump, written into a folder, each with its mutants."""
    with open_views(str(warehouse), naive=True) as views:
        history, recorded = history_of(views, name)
    paths = {file_id: _here(path, source) for file_id, path in recorded.items()}
    messages = {(paths[file_id], line): text for (file_id, line), text in history.messages.items()}
    for of_partition in (*history.lines.values(), history.others):
        messages |= {(paths[row["file_id"]], row["line"]): row["message"] for row in of_partition}
    for copy in copies_of(name, history, kinds, count):
        write(copy, paths, messages, source, folder / copy.name)
        yield copy


def _here(path: str, source: Path) -> str:
    """The path of a stream where the capture is now: packed ones are unpacked each time anew."""
    return str(source) if source.is_file() else str(source / path.split("/logs/", 1)[-1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
