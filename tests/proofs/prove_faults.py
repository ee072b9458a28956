"""Whatever happens to logs on their way here, each record of them is read once.

    PYTHONPATH=. python tests/proofs/prove_faults.py [CAPTURE ...]

A fault is what a folder holds on one to three nights, made of clean logs of a capture; after the last night the events
must be those of the clean logs: same node, time, text, none lost, none invented, none twice. All faults are clusters of
one warehouse, so that a night is one ingest. Prints a line for each fault that failed, and figures; exits with 1 if one
did.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import shutil
import sys
import tarfile
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = next(p for p in (ROOT.parent / "shared" / "captures", ROOT / "data") if p.is_dir())
WHOLE = ("zk-0.8.2.2", "zk-1.1.1", "zk-2.4.1", "zk-3.9.1", "kraft-4.1.0")
"""Captures of different layouts and eras; those that are there are tried."""

Logs = Mapping[str, bytes]  # by path
Night = Callable[[Logs], Mapping[str, "bytes | Link"]]
ADDED = (
    "[2026-11-21 23:59:5{i},000] ERROR [Controller id={node} epoch=9] Controller {node} epoch 9 failed to change state for "
    "partition pay-in-0 from OfflinePartition to OnlinePartition (state.change.logger)\n"
    "kafka.common.StateChangeFailedException: encountered error while electing leader\n"
    "\tat kafka.controller.PartitionStateMachine.electLeader(PartitionStateMachine.scala:360)\n"
    "Caused by: kafka.common.NoReplicaOnlineException: none is alive\n\t... 16 more\n"
    "[2026-11-21 23:59:5{i},001] INFO [Controller id={node} epoch=9] Nobody ever wrote this (state.change.logger)\n"
)
"""Added to each log: an event with a stack trace, and a record that no rule knows."""


@dataclass(frozen=True)
class Link:
    """A symbolic link."""

    target: str


@dataclass(frozen=True)
class Fault:
    """What a folder holds, night by night, and how many rejects are in the clean logs' files besides theirs."""

    nights: Sequence[Night]
    rejects: int = 0


# ---- pieces of a log -------------------------------------------------------------------------------------------------
def head(data: bytes, share: float) -> bytes:
    """Its begin, cut anywhere."""
    return data[: int(len(data) * share)]


def tail(data: bytes, share: float) -> bytes:
    """What `head` leaves."""
    return data[int(len(data) * share) :]


def lines_until(data: bytes, share: float) -> bytes:
    """Its begin, whole records."""
    return data[: data.index(b"\n[20", int(len(data) * share)) + 1]


def lines_from(data: bytes, share: float) -> bytes:
    """What `lines_until` leaves."""
    return data[len(lines_until(data, share)) :]


def kilobyte(data: bytes) -> bytes:
    """Its first kilobyte, up to the end of a record."""
    return data[: data.index(b"\n[20", 1024) + 1]


# ---- what a folder holds ---------------------------------------------------------------------------------------------
def same(data: bytes) -> bytes:
    """As it is."""
    return data


def each(change: Callable[[bytes], bytes], suffix: str = "") -> Night:
    """Every log changed in the same way."""
    return lambda logs: {name + suffix: change(data) for name, data in logs.items()}


AS_THEY_ARE: Night = each(same)


def both(*nights: Night) -> Night:
    """What several hold."""
    return lambda logs: {name: data for night in nights for name, data in night(logs).items()}


def piece(night: Night, since: float, until: float) -> Night:
    """A piece of every file, cut anywhere, under another name."""

    def of(logs: Logs) -> dict[str, bytes | Link]:
        files = night(logs)
        return {
            f"{name}.{since}": tail(head(data, until), since / until)
            for name, data in files.items()
            if isinstance(data, bytes)
        }

    return of


def under(folder: str, night: Night = AS_THEY_ARE) -> Night:
    """In a folder of its own."""
    return lambda logs: {f"{folder}/{name}": data for name, data in night(logs).items()}


def per_line(change: Callable[[int, str], str]) -> Night:
    """Every line changed, by its number and text."""

    def of(data: bytes) -> bytes:
        return "".join(change(i, line) for i, line in enumerate(data.decode().splitlines())).encode()

    return each(of)


def in_one(name: str, line: Callable[[str, str], str], *, interleaved: bool = False) -> Night:
    """All logs in one file, each line changed by the log's name; one after the other, or a few lines of each node in turn."""

    def night(logs: Logs) -> dict[str, bytes | Link]:
        texts: dict[str, list[str]] = {}
        for log, data in logs.items():
            texts.setdefault(node(log), []).extend(line(log, text) for text in data.decode().splitlines())
        turns = range(max(map(len, texts.values()))) if interleaved else range(1)
        step = 3 if interleaved else max(map(len, texts.values()))
        return {
            name: "".join(s for i in turns for some in texts.values() for s in some[i * step : (i + 1) * step]).encode()
        }

    return night


def node(log: str) -> str:
    """`broker-3` of `broker-3/state-change.log`."""
    return log.partition("/")[0]


def tarred(mode: str, name: str, night: Night = AS_THEY_ARE) -> Night:
    """A tar file."""

    def of(logs: Logs) -> dict[str, bytes | Link]:
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode=mode) as tar:  # type: ignore[call-overload]  # any of its modes
            for member, data in night(logs).items():
                assert isinstance(data, bytes)
                info = tarfile.TarInfo(member)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        return {name: file.getvalue()}

    return of


def zipped(name: str, night: Night = AS_THEY_ARE) -> Night:
    """A zip file."""

    def of(logs: Logs) -> dict[str, bytes | Link]:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as folder:
            for member, data in night(logs).items():
                assert isinstance(data, bytes)
                folder.writestr(member, data)
        return {name: file.getvalue()}

    return of


def zstd(data: bytes) -> bytes:
    """Compressed with Zstandard."""
    packed: bytes = pa.compress(data, codec="zstd", asbytes=True)
    return packed


def inserted(text: bytes) -> Callable[[bytes], bytes]:
    """Something before the third record. `%d` in it becomes a number that no other log has there."""

    def of(data: bytes) -> bytes:
        what = text.replace(b"%d", b"%d" % len(data))
        second = data.index(b"\n[20", data.index(b"\n[20") + 1) + 1
        return data[:second] + what + data[second:]

    return of


def torn(data: bytes) -> bytes:
    """The first half of the second record stands before the third one, on its line, as two writers leave it."""
    first = data.index(b"\n[20") + 1
    second = data.index(b"\n[20", first) + 1
    return inserted(data[first : first + (second - first) // 2])(data)


def compose(log: str, text: str) -> str:
    """A line as `docker compose logs` prints it."""
    return f"{node(log):<12} | {text}\n"


STAMP = "2026-11-21T10:00:00.000000001Z"
ODD = "[2026-11-21 23:59:59,500] INFO Nobody wrote number %d: {} (state.change.logger)\n"
"""It names no node: another one than the log's would make the log one of two nodes."""
FAULTS: dict[str, Fault] = {
    "clean": Fault([each(same)]),
    # the same bytes again
    "renamed": Fault([each(same), each(same, ".2026-11-21-10")]),
    "gzipped": Fault([each(same), each(gzip.compress, ".gz")]),
    "bzip2, then xz": Fault([each(bz2.compress, ".bz2"), each(lzma.compress, ".xz")]),
    "zstandard": Fault([each(zstd, ".zst"), each(same)]),
    "copied under two names": Fault([both(each(same), each(same, ".copy")), both(each(same), each(same, ".1"))]),
    "twice in one run": Fault([both(each(same), under("again"))]),
    "several brokers in one file": Fault([in_one("all.log", lambda log, text: text + "\n"), each(same)]),
    # more of them
    "grown": Fault([each(lambda d: head(d, 0.3)), each(lambda d: head(d, 0.7)), each(same)]),
    "grown by whole records": Fault([each(lambda d: lines_until(d, 0.3)), each(lambda d: lines_until(d, 0.7)), each(same)]),
    "grown, renamed and gzipped": Fault([each(lambda d: head(d, 0.5)), each(gzip.compress, ".1.gz")]),
    "rotated": Fault([
        each(lambda d: head(d, 0.4)),
        both(each(lambda d: lines_until(d, 0.5), ".1"), each(lambda d: head(lines_from(d, 0.5), 0.5))),
        both(each(lambda d: lines_until(d, 0.5), ".2"), each(lambda d: lines_from(d, 0.5), ".1")),
    ]),
    "copytruncate": Fault([
        each(lambda d: head(d, 0.4)),
        both(each(lambda d: lines_until(d, 0.6), ".1"), each(lambda d: lines_from(d, 0.6))),
    ]),
    "copytruncate that tears a record": Fault([
        each(lambda d: head(d, 0.4)),
        both(each(lambda d: lines_until(d, 0.6), ".1"), each(lambda d: b"\0" * 3000 + lines_from(d, 0.6))),
    ]),
    "replaced by another with the same first kilobyte": Fault([
        each(lambda d: lines_until(d, 0.5)), each(lambda d: kilobyte(d) + lines_from(d, 0.5)),
    ]),
    "a kilobyte, rotated away and replaced by another with the same": Fault([
        each(kilobyte),
        both(each(lambda d: lines_until(d, 0.5), ".1"), each(lambda d: kilobyte(d) + lines_from(d, 0.5))),
    ]),
    "late": Fault([
        each(lambda d: lines_from(d, 0.5)), both(each(lambda d: lines_from(d, 0.5)), each(lambda d: lines_until(d, 0.5), ".1")),
    ]),
    "only the older part is left": Fault([each(lambda d: lines_from(d, 0.5)), each(lambda d: lines_until(d, 0.5), ".1")]),
    "a copy that was cut short": Fault([each(lambda d: gzip.compress(d)[:-200], ".gz"), each(gzip.compress, ".gz")]),
    # pieces of them
    "excerpts that overlap": Fault([
        each(lambda d: head(d, 0.6), ".head"), each(lambda d: tail(d, 0.4), ".tail"), each(same, ".whole"),
    ]),
    "excerpts that overlap, in one run": Fault([both(
        each(lambda d: head(d, 0.6), ".a"), each(lambda d: tail(d, 0.4), ".b"), each(lambda d: tail(head(d, 0.9), 0.1), ".c"),
    )]),
    "the later excerpt first": Fault([
        each(lambda d: tail(d, 0.55), ".2"), each(lambda d: tail(head(d, 0.8), 0.2), ".1"), each(lambda d: head(d, 0.3), ".0"),
    ]),
    "an excerpt of what is known": Fault([each(same), each(lambda d: tail(head(d, 0.8), 0.2), ".part")]),
    "rotated files and their concatenation": Fault([
        both(each(lambda d: lines_until(d, 0.4), ".2"), each(lambda d: lines_from(d, 0.4), ".1")), each(same, ".all"),
    ]),
    "concatenated in the order of their names": Fault([
        both(each(lambda d: lines_until(d, 0.4), ".2"), each(lambda d: lines_from(d, 0.4), ".1")),
        each(lambda d: lines_from(d, 0.4) + lines_until(d, 0.4), ".all"),
    ]),
    "an excerpt that grows": Fault([
        each(same), both(each(same), each(lambda d: tail(head(d, 0.6), 0.2), ".part")),
        both(each(same), each(lambda d: tail(head(d, 0.9), 0.2), ".part")),
    ]),
    # bundles
    "a tar file": Fault([tarred("w", "support.tar"), each(same)]),
    "a tar.gz file": Fault([each(same), tarred("w:gz", "support.tar.gz")]),
    "a zip file": Fault([zipped("support.zip"), zipped("support-2.zip"), each(same)]),
    "a zip file of gzipped logs": Fault([zipped("support.zip", each(gzip.compress, ".gz"))]),
    "a bundle trimmed at the head": Fault([tarred("w:gz", "a.tgz", each(lambda d: tail(d, 0.5))), tarred("w:gz", "b.tgz")]),
    "a loop of links": Fault([lambda logs: {**logs, "broker/loop": Link(".."), "latest": Link("broker")}]),
    # what is around the lines
    "CRLF": Fault([each(lambda d: d.replace(b"\n", b"\r\n"))]),
    "a byte order mark": Fault([each(lambda d: b"\xef\xbb\xbf" + d)]),
    "UTF-16, little endian": Fault([each(lambda d: b"\xff\xfe" + d.decode().encode("utf-16-le"))]),
    "UTF-16, big endian": Fault([each(lambda d: b"\xfe\xff" + d.decode().encode("utf-16-be"))]),
    "UTF-16 that grows": Fault([each(lambda d: head(d.decode().encode("utf-16"), 0.5)), each(lambda d: d.decode().encode("utf-16"))]),
    "no end of the last line": Fault([each(lambda d: d.rstrip(b"\n"))]),
    "NULs": Fault([each(lambda d: inserted(b"\0" * 500)(d) + b"\0" * 100)]),
    "bytes that are not UTF-8": Fault([each(inserted(ODD.format("\xff\xfe").encode("latin-1")))], rejects=1),
    "a line of 100 kB": Fault([each(inserted(ODD.format("x" * 100_000).encode()))], rejects=1),
    "torn lines": Fault([each(torn)], rejects=1),
    "colours": Fault([each(lambda d: d.replace(b" INFO ", b" \x1b[32mINFO\x1b[0m ").replace(b" TRACE ", b" \x1b[36mTRACE\x1b[0m "))]),
    "compose": Fault([in_one("compose.log", compose, interleaved=True)]),
    "compose, in colours": Fault([in_one("compose.log", lambda log, text: f"\x1b[32m{node(log):<12} |\x1b[0m {text}\n")]),
    "compose, twice since": Fault([
        piece(in_one("compose.log", compose, interleaved=True), 0.0, 0.6),
        piece(in_one("compose.log", compose, interleaved=True), 0.4, 1.0),
    ]),
    "kubectl --since with --timestamps, and without": Fault([
        piece(per_line(lambda _, text: f"{STAMP} {text}\n"), 0.0, 0.7), piece(AS_THEY_ARE, 0.3, 1.0),
    ]),
    "docker json-file": Fault([
        per_line(lambda _, text: json.dumps({"log": text + "\n", "stream": "stdout", "time": STAMP}) + "\n"), each(same),
    ]),
    "CRI, long lines in parts": Fault([per_line(
        lambda i, text: f"{STAMP} stdout F {text}\n" if i % 5 else f"{STAMP} stdout P {text[:40]}\n{STAMP} stdout F {text[40:]}\n"
    )]),
    "kubectl --timestamps, and without": Fault([per_line(lambda _, text: f"{STAMP} {text}\n"), each(same)]),
    "grep -H": Fault([in_one("found.txt", lambda log, text: f"{log}:{text}\n")]),
    "journald": Fault([per_line(lambda _, text: f"Nov 21 10:07:10 kafka-01 kafka-server-start.sh[15550]: {text}\n")]),
}  # fmt: skip
COUNTED = ("event_bytes", "detail_bytes", "reject_bytes", "other_bytes", "duplicate_bytes", "held_back_bytes")


KINDS = ("controller.log", "state-change.log", "state-change.log")


def logs_of(capture: Path, size: int, kinds: Sequence[str] = KINDS) -> dict[str, bytes]:
    """The first logs of a capture of these kinds that have `size` bytes, so many of each, with what is ADDED."""
    found: dict[str, bytes] = {}
    folders = sorted(path for path in (capture / "logs").iterdir() if path.is_dir())
    for i, kind in enumerate(kinds):
        for folder in folders:
            name = f"{folder.name}/{kind}"
            path = folder / kind
            if name not in found and path.is_file() and path.stat().st_size > size:
                added = ADDED.format(i=i, node=folder.name.rpartition("-")[2])
                found[name] = lines_until(path.read_bytes(), size / path.stat().st_size) + added.encode()
                break
    return found


@dataclass(frozen=True)
class Result:
    """What became of the events of a fault, and by how many its rejects differ from what they should be."""

    tried: int
    lost: Counter[Any]
    invented: Counter[Any]
    rejects: int

    @property
    def failed(self) -> bool:
        """Whether anything is wrong."""
        return bool(self.lost or self.invented or self.rejects)


def run(spark: SparkSession, root: Path, faults: Mapping[str, Fault], logs: Logs) -> dict[str, Result]:
    """Do faults to logs, all in one warehouse. Raises AssertionError if a byte is not accounted for."""
    from jobs.ingest.ingest import ingest
    from jobs.settings import Settings
    from jobs.warehouse.tables import Warehouse

    names = {f"fault-{i}": name for i, name in enumerate(faults)}
    settings = Settings(clusters={f"{root}/in/{short}/*": short for short in names})
    warehouse = Warehouse(spark, str(root / "warehouse"))
    for number in range(max(len(fault.nights) for fault in faults.values())):
        for short, name in names.items():
            if number < len(faults[name].nights):
                _fill(root / "in" / short, faults[name].nights[number](logs))
        ingest(warehouse, [str(root / "in")], settings, "default", str(number), lambda _: None)
        warehouse.versions |= warehouse.written
    for row in warehouse.read("log_files").collect():
        assert row["size_bytes"] == sum(row[column] for column in COUNTED), row
    events: dict[str, Counter[Any]] = {short: Counter() for short in names}
    told = ("node_id", "at", "level", "logger", "event_type", "message", "detail")
    for row in warehouse.read("events").select("cluster", *told).collect():
        text = row["message"], (row["detail"] or "").replace("\r", "")  # CRLF between further lines stays
        events[row[0]][(*row[1:-2], *text)] += 1
    rejects = Counter(row[0] for row in warehouse.read("rejects").select("cluster").collect())
    clean = next(short for short, name in names.items() if name == "clean")
    return {
        name: Result(
            events[clean].total(),
            events[clean] - events[short],
            events[short] - events[clean],
            rejects[short] - rejects[clean] - faults[name].rejects * len(logs),
        )
        for short, name in names.items()
    }


def _fill(folder: Path, files: Mapping[str, bytes | Link]) -> None:
    """Put these files into a folder, and no others."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(data, Link):
            os.symlink(data.target, path)
        else:
            path.write_bytes(data)


def main() -> int:
    """The exit code."""
    from jobs.session import session

    captures = sys.argv[1:] or [name for name in WHOLE if (CAPTURES / name).is_dir()]
    failed = 0
    with session() as spark:
        for capture in captures:
            begun = time.monotonic()
            with tempfile.TemporaryDirectory() as folder:
                results = run(spark, Path(folder), FAULTS, logs_of(CAPTURES / capture, 60_000))
            wrong = {name: result for name, result in results.items() if result.failed}
            for name, r in wrong.items():
                print(f"{capture}, {name}: {r.lost.total()} lost, {r.invented.total()} too many, rejects {r.rejects:+}")
                for event in [*list(r.lost)[:1], *list(r.invented)[:1]]:
                    print("   ", *map(str, event))
            tried = sum(result.tried for result in results.values())
            lost, invented = (sum(getattr(r, what).total() for r in results.values()) for what in ("lost", "invented"))
            print(
                f"{capture}: {len(results)} faults, {tried} events tried, {lost} lost, {invented} invented or doubled; "
                f"{time.monotonic() - begun:.0f} s"
            )
            failed += len(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
