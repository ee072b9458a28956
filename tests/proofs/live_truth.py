"""The exact history of a cluster from its own transaction log, as `truth.jsonl` of a capture has it: ZooKeeper's
transactions, or KRaft's metadata records."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from typing import Any

from tests.proofs.live_cluster import Cluster

CREATE, DELETE, SET, MULTI, CREATE_2, CREATE_CONTAINER, CREATE_TTL, CLOSE = 1, 2, 5, 14, 15, 19, 21, -11
"""Types of ZooKeeper's transactions (org.apache.zookeeper.ZooDefs.OpCode); others change no node."""


class Record:
    """Jute, ZooKeeper's encoding: numbers are big-endian, texts and bytes have their length before them."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self, form: str) -> int:
        """The next number, of a form of `struct`: i, q, or ? for a truth value."""
        (value,) = struct.unpack_from(f">{form}", self.data, self.at)
        self.at += struct.calcsize(f">{form}")
        return int(value)

    def bytes(self) -> bytes:
        """The next bytes; none for null."""
        size = max(self.number("i"), 0)
        self.at += size
        return self.data[self.at - size : self.at]

    def text(self) -> str:
        """The next text."""
        return self.bytes().decode("utf-8", "replace")


def value_of(data: bytes) -> Any:
    """A node's value, as JSON or text; None if it has none."""
    text = data.decode("utf-8", "replace")
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text


def changes(kind: int, record: Record, session: str) -> Iterator[dict[str, Any]]:
    """What one transaction did to ZooKeeper's tree."""
    if kind in (CREATE, CREATE_2, CREATE_CONTAINER, CREATE_TTL):
        path, data = record.text(), value_of(record.bytes())
        for _ in range(record.number("i")):  # access control lists
            record.number("i"), record.text(), record.text()
        is_ephemeral = kind in (CREATE, CREATE_2) and bool(record.number("?"))
        row = {"op": "create", "path": path, "session": session, "version": 0}
        yield row | ({} if data is None else {"data": data}) | ({"ephemeral": True} if is_ephemeral else {})
    elif kind == DELETE:
        yield {"op": "delete", "path": record.text(), "session": session}
    elif kind == SET:
        path, data = record.text(), value_of(record.bytes())
        yield {"op": "set", "path": path, "session": session, "data": data, "version": record.number("i")}
    elif kind == CLOSE:
        yield {"op": "close_session", "session": session}
    elif kind == MULTI:
        for _ in range(record.number("i")):
            inner = record.number("i")
            yield from changes(inner, Record(record.bytes()), session)


def zookeeper_truth(log: bytes) -> Iterator[dict[str, Any]]:
    """All changes in one file of ZooKeeper's transaction log (FileTxnLog), in their order."""
    at = 16
    while at + 12 <= len(log):
        _, size = struct.unpack_from(">qi", log, at)
        if size <= 0:  # the file is allocated in advance
            return
        record = Record(log[at + 12 : at + 12 + size])
        client, _, zxid, ms = (record.number(form) for form in "qiqq")
        for change in changes(record.number("i"), record, f"{client & (2**64 - 1):#x}"):
            yield {"zxid": zxid, "ms": ms, **change}
        at += 12 + size + 1


def kraft_truth(dump: str) -> Iterator[dict[str, Any]]:
    """All records that a dump of the metadata log prints."""
    for line in dump.splitlines():
        if match := re.match(r"\| offset: (\d+) CreateTime: (\d+) .*?payload: (\{.*\})$", line):
            yield {"offset": int(match[1]), "ms": int(match[2]), "record": json.loads(match[3])}


def write_truth(cluster: Cluster) -> None:
    """truth.jsonl of a cluster that has been stopped and, of KRaft, metadata-dump.txt. Raises ValueError."""
    if cluster.is_kraft:
        logs = (cluster.disks(node)[0] / "__cluster_metadata-0" / f"{0:020}.log" for node in cluster.controllers)
        log = max(logs, key=lambda path: path.stat().st_size)
        tools = ["kafka.tools.DumpLogSegments", "org.apache.kafka.tools.DumpLogSegments"]
        dump = cluster.tool(tools, "--cluster-metadata-decoder", "--files", str(log))
        # as if it had been printed in the folder of the log
        (cluster.folder / "metadata-dump.txt").write_text(
            dump.replace(str(log), f"__cluster_metadata-0/{log.name}"), "utf-8"
        )
        rows = list(kraft_truth(dump))
    else:
        files = sorted(
            (cluster.folder / "zookeeper" / "version-2").glob("log.*"), key=lambda path: int(path.suffix[1:], 16)
        )
        rows = [row for file in files for row in zookeeper_truth(file.read_bytes())]
    (cluster.folder / "truth.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
