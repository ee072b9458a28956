"""The exact history of a cluster, read from ZooKeeper's transaction log and a dump of KRaft's metadata log."""

from __future__ import annotations

import struct

from tests.proofs.live_truth import kraft_truth, zookeeper_truth

SESSION, ZXID, MS = 0x1000030, 0x52, 1795264218126


def text(value: str) -> bytes:
    """A text of ZooKeeper's encoding: its length, then its bytes."""
    return struct.pack(">i", len(value)) + value.encode()


def transaction(kind: int, body: bytes) -> bytes:
    """One transaction as FileTxnLog has it: checksum, length, header, body, the letter B."""
    record = struct.pack(">qiqqi", SESSION, 7, ZXID, MS, kind) + body
    return struct.pack(">qi", 0, len(record)) + record + b"B"


ACCESS = struct.pack(">ii", 1, 31) + text("world") + text("anyone")
CREATE = text("/brokers/ids/0") + text('{"port": 9092}') + ACCESS + b"\x01" + struct.pack(">i", 1)
SET = text("/brokers/topics/a/partitions/0/state") + text('{"leader": 2}') + struct.pack(">i", 4)
HEADER = b"ZKLG" + struct.pack(">iq", 2, 0)
ROW = {"zxid": ZXID, "ms": MS, "session": "0x1000030"}


def test_each_change_of_a_zookeeper_transaction_is_a_row() -> None:
    multi = struct.pack(">i", 2) + struct.pack(">ii", 1, len(CREATE)) + CREATE + struct.pack(">ii", 5, len(SET)) + SET
    log = HEADER + transaction(14, multi) + transaction(2, text("/controller")) + transaction(-11, b"") + bytes(64)
    created = {"op": "create", "path": "/brokers/ids/0", "version": 0, "data": {"port": 9092}, "ephemeral": True}
    assert list(zookeeper_truth(log)) == [
        ROW | created,
        ROW | {"op": "set", "path": "/brokers/topics/a/partitions/0/state", "data": {"leader": 2}, "version": 4},
        ROW | {"op": "delete", "path": "/controller"},
        ROW | {"op": "close_session"},
    ]


def test_values_that_are_no_json_are_texts_and_empty_ones_are_left_out() -> None:
    epoch = text("/controller_epoch") + text("") + ACCESS + b"\x00" + struct.pack(">i", 1)
    changed = text("/a") + text("{no") + struct.pack(">i", 1)
    rows = list(zookeeper_truth(HEADER + transaction(1, epoch) + transaction(5, changed)))
    assert [row.get("data", "none") for row in rows] == ["none", "{no"]
    assert "ephemeral" not in rows[0]


def test_transactions_that_change_no_node_and_a_cut_one_are_no_rows() -> None:
    opened = transaction(-10, struct.pack(">i", 9000))
    assert list(zookeeper_truth(HEADER + opened + b"\x00" * 8)) == []


def test_records_of_a_metadata_dump_are_rows_and_batches_and_control_records_are_not() -> None:
    dump = """Log starting offset: 0
baseOffset: 1 lastOffset: 1 count: 1 CreateTime: 17 isvalid: true
| offset: 0 CreateTime: 16 keySize: 4 valueSize: 34 sequence: -1 headerKeys: [] controlType: LEADER_CHANGE(2)
| offset: 1 CreateTime: 17 keySize: -1 sequence: -1 payload: {"type":"NO_OP_RECORD","version":0,"data":{}}
"""
    record = {"type": "NO_OP_RECORD", "version": 0, "data": {}}
    assert list(kraft_truth(dump)) == [{"offset": 1, "ms": 17, "record": record}]
