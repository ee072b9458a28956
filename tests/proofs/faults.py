"""Faults of logs on their way here: what a folder holds on one to three nights, made of clean logs."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

Logs = Mapping[str, bytes]
"""Logs by path."""
Night = Callable[[Logs], Mapping[str, "bytes | Link"]]
"""What a folder holds one night, by path."""


@dataclass(frozen=True)
class Link:
    """A symbolic link."""

    target: str


@dataclass(frozen=True)
class Fault:
    """What a folder holds, night by night, and how many rejects each log has in addition to those of the clean one."""

    nights: Sequence[Night]
    rejects: int = 0


# ---- pieces of a log -------------------------------------------------------------------------------------------------
def head(data: bytes, share: float) -> bytes:
    """The beginning, cut anywhere."""
    return data[: int(len(data) * share)]


def tail(data: bytes, share: float) -> bytes:
    """What `head` leaves."""
    return data[int(len(data) * share) :]


def lines_until(data: bytes, share: float) -> bytes:
    """The beginning, whole records."""
    return data[: data.index(b"\n[20", int(len(data) * share)) + 1]


def lines_from(data: bytes, share: float) -> bytes:
    """What `lines_until` leaves."""
    return data[len(lines_until(data, share)) :]


def kilobyte(data: bytes) -> bytes:
    """The first kilobyte, up to the end of a record."""
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

    def night_of(logs: Logs) -> dict[str, bytes | Link]:
        files = night(logs)
        return {
            f"{name}.{since}": tail(head(data, until), since / until)
            for name, data in files.items()
            if isinstance(data, bytes)
        }

    return night_of


def under(folder: str, night: Night = AS_THEY_ARE) -> Night:
    """In a folder of its own."""
    return lambda logs: {f"{folder}/{name}": data for name, data in night(logs).items()}


def per_line(change: Callable[[int, str], str]) -> Night:
    """Every line changed, by its number and text."""

    def changed(data: bytes) -> bytes:
        return "".join(change(i, line) for i, line in enumerate(data.decode().splitlines())).encode()

    return each(changed)


def in_one(name: str, line: Callable[[str, str], str], *, interleaved: bool = False) -> Night:
    """All logs in one file, each line changed by the log's name; one after the other, or some lines of each in turn."""

    def night(logs: Logs) -> dict[str, bytes | Link]:
        texts: dict[str, list[str]] = {}
        for log, data in logs.items():
            texts.setdefault(node(log), []).extend(line(log, text) for text in data.decode().splitlines())
        turns = range(max(map(len, texts.values()))) if interleaved else range(1)
        step = 3 if interleaved else max(map(len, texts.values()))
        return {
            name: "".join(
                s for i in turns for lines in texts.values() for s in lines[i * step : (i + 1) * step]
            ).encode()
        }

    return night


def node(log: str) -> str:
    """`broker-3` of `broker-3/state-change.log`."""
    return log.partition("/")[0]


def tarred(mode: str, name: str, night: Night = AS_THEY_ARE) -> Night:
    """A tar file."""

    def night_of(logs: Logs) -> dict[str, bytes | Link]:
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode=mode) as tar:  # type: ignore[call-overload]  # any of its modes
            for member, data in night(logs).items():
                assert isinstance(data, bytes)
                info = tarfile.TarInfo(member)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        return {name: file.getvalue()}

    return night_of


def zipped(name: str, night: Night = AS_THEY_ARE) -> Night:
    """A zip file."""

    def night_of(logs: Logs) -> dict[str, bytes | Link]:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as folder:
            for member, data in night(logs).items():
                assert isinstance(data, bytes)
                folder.writestr(member, data)
        return {name: file.getvalue()}

    return night_of


def zstd(data: bytes) -> bytes:
    """Compressed with Zstandard."""
    packed: bytes = pa.compress(data, codec="zstd", asbytes=True)
    return packed


def inserted(text: bytes) -> Callable[[bytes], bytes]:
    """Something before the third record. `%d` in it becomes a number that no other log has there."""

    def changed(data: bytes) -> bytes:
        what = text.replace(b"%d", b"%d" % len(data))
        second = data.index(b"\n[20", data.index(b"\n[20") + 1) + 1
        return data[:second] + what + data[second:]

    return changed


def torn(data: bytes) -> bytes:
    """The first half of the second record stands before the third one, on its line, as two writers leave it."""
    first = data.index(b"\n[20") + 1
    second = data.index(b"\n[20", first) + 1
    return inserted(data[first : first + (second - first) // 2])(data)


def compose(log: str, text: str) -> str:
    """A line as `docker compose logs` prints it."""
    return f"{node(log):<12} | {text}\n"


def coloured(data: bytes) -> bytes:
    """Levels in colours of a terminal."""
    green = data.replace(b" INFO ", b" \x1b[32mINFO\x1b[0m ")
    return green.replace(b" TRACE ", b" \x1b[36mTRACE\x1b[0m ")


def cri(number: int, text: str) -> str:
    """A line as a container runtime writes it, each fifth one in two parts."""
    if number % 5:
        return f"{STAMP} stdout F {text}\n"
    return f"{STAMP} stdout P {text[:40]}\n{STAMP} stdout F {text[40:]}\n"


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
    "grown by whole records": Fault([
        each(lambda d: lines_until(d, 0.3)), each(lambda d: lines_until(d, 0.7)), each(same),
    ]),
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
        each(lambda d: lines_from(d, 0.5)),
        both(each(lambda d: lines_from(d, 0.5)), each(lambda d: lines_until(d, 0.5), ".1")),
    ]),
    "only the older part is left": Fault([
        each(lambda d: lines_from(d, 0.5)), each(lambda d: lines_until(d, 0.5), ".1"),
    ]),
    "a copy that was cut short": Fault([each(lambda d: gzip.compress(d)[:-200], ".gz"), each(gzip.compress, ".gz")]),
    # pieces of them
    "excerpts that overlap": Fault([
        each(lambda d: head(d, 0.6), ".head"), each(lambda d: tail(d, 0.4), ".tail"), each(same, ".whole"),
    ]),
    "excerpts that overlap, in one run": Fault([both(
        each(lambda d: head(d, 0.6), ".a"), each(lambda d: tail(d, 0.4), ".b"),
        each(lambda d: tail(head(d, 0.9), 0.1), ".c"),
    )]),
    "the later excerpt first": Fault([
        each(lambda d: tail(d, 0.55), ".2"), each(lambda d: tail(head(d, 0.8), 0.2), ".1"),
        each(lambda d: head(d, 0.3), ".0"),
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
    "a bundle trimmed at the head": Fault([
        tarred("w:gz", "a.tgz", each(lambda d: tail(d, 0.5))), tarred("w:gz", "b.tgz"),
    ]),
    "a loop of links": Fault([lambda logs: {**logs, "broker/loop": Link(".."), "latest": Link("broker")}]),
    # what is around the lines
    "CRLF": Fault([each(lambda d: d.replace(b"\n", b"\r\n"))]),
    "a byte order mark": Fault([each(lambda d: b"\xef\xbb\xbf" + d)]),
    "UTF-16, little endian": Fault([each(lambda d: b"\xff\xfe" + d.decode().encode("utf-16-le"))]),
    "UTF-16, big endian": Fault([each(lambda d: b"\xfe\xff" + d.decode().encode("utf-16-be"))]),
    "UTF-16 that grows": Fault([
        each(lambda d: head(d.decode().encode("utf-16"), 0.5)), each(lambda d: d.decode().encode("utf-16")),
    ]),
    "no end of the last line": Fault([each(lambda d: d.rstrip(b"\n"))]),
    "NULs": Fault([each(lambda d: inserted(b"\0" * 500)(d) + b"\0" * 100)]),
    "bytes that are not UTF-8": Fault([each(inserted(ODD.format("\xff\xfe").encode("latin-1")))], rejects=1),
    "a line of 100 kB": Fault([each(inserted(ODD.format("x" * 100_000).encode()))], rejects=1),
    "torn lines": Fault([each(torn)], rejects=1),
    "colours": Fault([each(coloured)]),
    "compose": Fault([in_one("compose.log", compose, interleaved=True)]),
    "compose, in colours": Fault([
        in_one("compose.log", lambda log, text: f"\x1b[32m{node(log):<12} |\x1b[0m {text}\n"),
    ]),
    "compose, twice since": Fault([
        piece(in_one("compose.log", compose, interleaved=True), 0.0, 0.6),
        piece(in_one("compose.log", compose, interleaved=True), 0.4, 1.0),
    ]),
    "kubectl --since with --timestamps, and without": Fault([
        piece(per_line(lambda _, text: f"{STAMP} {text}\n"), 0.0, 0.7), piece(AS_THEY_ARE, 0.3, 1.0),
    ]),
    "docker json-file": Fault([
        per_line(lambda _, text: json.dumps({"log": text + "\n", "stream": "stdout", "time": STAMP}) + "\n"),
        each(same),
    ]),
    "CRI, long lines in parts": Fault([per_line(cri)]),
    "kubectl --timestamps, and without": Fault([per_line(lambda _, text: f"{STAMP} {text}\n"), each(same)]),
    "grep -H": Fault([in_one("found.txt", lambda log, text: f"{log}:{text}\n")]),
    "journald": Fault([per_line(lambda _, text: f"Nov 21 10:07:10 kafka-01 kafka-server-start.sh[15550]: {text}\n")]),
}  # fmt: skip
