"""What a stream's records tell of it: nodes, kind, releases; and who wrote the records that do not say so."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from jobs.ingest.overlaps import MovedRecords, subtract_moved
from jobs.ingest.read_plan import COUNTED
from jobs.ingest.stream_accounts import (
    StreamSummary,
    add_account,
    complete_row,
    default_node,
    default_nodes,
    nodes_of_folders,
    release_range,
    spans_of,
)

RANGES = {  # ranges of messages -> the releases that write all of them
    "no ranges": (set(), None),
    "one": ({"2.4.0..2.5.1"}, "2.4.0..2.5.1"),
    "the narrowest": ({"1.1.0..3.1.2", "2.4.0..", "0.9.0..2.8.0"}, "2.4.0..2.8.0"),
    "open to the end": ({"1.1.0..", "2.4.0.."}, "2.4.0.."),
    "numbers, not texts": ({"0.10.0..", "0.9.0..0.11.0"}, "0.10.0..0.11.0"),
    "no release does": ({"0.9.0..1.0.0", "2.4.0.."}, None),
}


@pytest.mark.parametrize("case", RANGES)
def test_release_range(case: str) -> None:
    ranges, expected = RANGES[case]
    assert release_range(ranges) == expected


NODES = {  # nodes that records name, channel, path -> node of those that name none
    "the only one": ([3], "", "/logs/broker-1/server.log", 3),
    "the folder's": ([], "", "/logs/broker-1/server.log", 1),
    "the folder's, as others call it": ([], "", "/logs/kafka_12/2026/server.log", 12),
    "several actors": ([3, 4], "", "/logs/broker-1/server.log", None),
    "not known": ([], "", "/logs/server.log", None),
    "the only one of a channel": ([3], "kafka-1", "/logs/broker-2/compose.log", 3),
    "the channel's name": ([], "kafka-1", "/logs/broker-2/compose.log", 1),
    "the channel's path": ([], "kafka1/state-change.log", "/logs/grep.txt", 1),
    "a channel that is nobody's": ([], "zookeeper", "/logs/broker-2/compose.log", None),
}


@pytest.mark.parametrize("case", NODES)
def test_default_node(case: str) -> None:
    named, channel, path, node = NODES[case]
    assert default_node(named, channel, path) == node


def account(**fields: str) -> dict[str, str]:
    return {
        **dict.fromkeys(COUNTED, "1"),
        **dict.fromkeys(("channel", "nodes", "kinds", "spans", "versions", "drift"), ""),
        **fields,
    }


def stream(*accounts: dict[str, str]) -> tuple[dict[str, Any], StreamSummary]:
    """A stream's row after some accounts."""
    row: dict[str, Any] = {
        **dict.fromkeys(COUNTED, 0), "path": "/logs/broker-9/kafka.log", "findings": ["a"],
        "first_at": None, "last_at": None,
    }  # fmt: skip
    summary = StreamSummary()
    for one in accounts:
        add_account(row, summary, one)
    complete_row(row, summary)
    return row, summary


FOLDERS = {  # files, each with the nodes that it names -> node of records of server.log.2026-11-21-04, which name none
    "rotated files beside it": ({"server.log": [3], "server.log.2026-11-21-05": []}, 3),
    "other appenders' files": ({"controller.log": [3], "state-change.log.2026-11-21-04.gz": [3]}, 3),
    "4.0.0's name": ({"stage-change.log.2026-11-21-04": [3]}, 3),
    "several brokers of one folder": ({"controller.log": [3], "server.log": [4]}, None),
    "several brokers of one file": ({"controller.log": [3, 4]}, None),
    "a file that somebody brought": ({"kafka-3.log": [3], "compose.log": [3]}, None),
    "another folder's": ({"other/controller.log": [3]}, None),
}


@pytest.mark.parametrize("case", FOLDERS)
def test_node_of_the_files_beside_one_that_names_none(case: str) -> None:
    files, node = FOLDERS[case]
    rows = [{"cluster": "c", "path": f"/opt/kafka/logs/{name}", "node_ids": named} for name, named in files.items()]
    elsewhere = {"cluster": "d", "path": "/opt/kafka/logs/server.log", "node_ids": [7]}
    assert nodes_of_folders([*rows, elsewhere]).get(("c", "/opt/kafka/logs")) == node


def test_a_file_that_names_no_node_is_of_the_node_of_the_files_beside_it() -> None:
    row, summary = stream(account())
    row["path"] = "/logs/server.log"
    assert default_nodes(row, summary, of_folder=3) == {"": 3}
    row, summary = stream(account(nodes="broker 1=5,broker 2=5"))
    assert default_nodes(row, summary, of_folder=3) == {"": None}


def test_ranges_add_up() -> None:
    row, summary = stream(
        account(event_bytes="100", first_at="1000500", last_at="3000000", versions="1.0..2.0,0.9.."),
        account(nodes="broker 3=5", first_at="500000", last_at="2000000", kinds="controller=2,server=3"),
        account(nodes="broker 3=1,controller 3=1", kinds="controller=2", versions=""),
    )
    assert {name: row[name] for name in COUNTED} == dict.fromkeys(COUNTED, 3) | {"event_bytes": 102}
    assert (row["first_at"], row["last_at"]) == (datetime(1970, 1, 1, 0, 0, 0, 500000), datetime(1970, 1, 1, 0, 0, 3))
    assert (row["node_ids"], row["role"], row["kind"]) == ([3], "broker", "controller")
    assert (row["kafka_versions"], row["channels"], row["findings"]) == ("1.0..2.0", [], ["a"])
    assert default_nodes(row, summary) == {"": 3}


def test_a_stream_without_records_in_scope() -> None:
    row, summary = stream(account())
    assert (row["node_ids"], row["role"], row["kind"], row["kafka_versions"]) == ([], None, None, None)
    assert default_nodes(row, summary) == {"": 9}


def test_spans_are_of_the_channels_node() -> None:
    """Minutes apart they are joined; more than one minute they are not; nor are channels and kinds."""
    minute = 60_000_000
    _, summary = stream(
        account(channel="kafka1", spans=f"server=5:0:{minute},controller=1:0:0"),
        account(channel="kafka1", spans=f"server=2:{2 * minute}:{3 * minute},server=1:{5 * minute}:{5 * minute}"),
        account(channel="kafka2", spans=f"server=7:{minute}:{2 * minute}"),
    )
    at = [datetime(1970, 1, 1, 0, number) for number in range(6)]
    names = ("node_id", "kind", "since", "until", "records")
    expected = [
        (1, "controller", at[0], at[0], 1),
        (1, "server", at[0], at[3], 7),
        (1, "server", at[5], at[5], 1),
        (None, "server", at[1], at[2], 7),
    ]
    spans = spans_of(summary, {"kafka1": 1, "kafka2": None})
    assert spans == [dict(zip(names, row, strict=True)) for row in expected]


def test_what_another_stream_has_is_moved() -> None:
    row = {
        "event_bytes": 100,
        "detail_bytes": 20,
        "reject_bytes": 7,
        "event_lines": 5,
        "reject_lines": 1,
        "duplicate_bytes": 3,
    }
    subtract_moved(row, MovedRecords(event_bytes=60, detail_bytes=20, reject_bytes=7, event_lines=2, reject_lines=1))
    assert row == {
        "event_bytes": 40,
        "detail_bytes": 0,
        "reject_bytes": 0,
        "event_lines": 3,
        "reject_lines": 0,
        "duplicate_bytes": 90,
    }


def test_several_channels_are_no_finding_several_writers_are() -> None:
    row, summary = stream(
        account(channel="kafka1", nodes="broker 1=5"),
        account(channel="kafka2", nodes="broker 2=5"),
        account(channel="kafka-7", nodes=""),
    )
    assert (row["node_ids"], row["channels"], row["findings"]) == ([1, 2], ["kafka-7", "kafka1", "kafka2"], ["a"])
    assert default_nodes(row, summary) == {"kafka1": 1, "kafka2": 2, "kafka-7": 7}

    row, summary = stream(account(nodes="broker 10=5,broker 9=1"))
    assert row["findings"] == ["a", "several nodes write to it: 9, 10; records may be missing"]
    assert default_nodes(row, summary) == {"": None}

    row, _ = stream(account(channel="all", nodes="broker 1=5"), account(channel="all", nodes="broker 2=1"))
    assert row["findings"] == ["a", "several nodes write to its channel all: 1, 2; records may be missing"]
