"""Changes of settings, from lines written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from udfs.reconstruct.config_changes import common_values, config_changes, printed_settings

PRINTED = {
    "HashMap(min.insync.replicas -> 2)": {"min.insync.replicas": "2"},
    "Map()": {},
    "": {},
    "Map(cleanup.policy -> compact,delete, retention.ms -> -1)": {
        "cleanup.policy": "compact,delete",
        "retention.ms": "-1",
    },
    "min.insync.replicas -> 1,unclean.leader.election.enable -> true": {
        "min.insync.replicas": "1",
        "unclean.leader.election.enable": "true",
    },
    "cleanup.policy -> compact,delete,message.timestamp.type -> CreateTime": {
        "cleanup.policy": "compact,delete",
        "message.timestamp.type": "CreateTime",
    },
    "{segment.bytes=1000, cleanup.policy=compact,delete}": {
        "segment.bytes": "1000",
        "cleanup.policy": "compact,delete",
    },
    "Map(advertised.listeners -> SASL://b-1:9092,PLAIN://b-1:9093)": {
        "advertised.listeners": "SASL://b-1:9092,PLAIN://b-1:9093"
    },
}


@pytest.mark.parametrize("text", PRINTED)
def test_printed_settings(text: str) -> None:
    assert printed_settings(text) == PRINTED[text]


def line(
    at: int, settings: str | None = None, name: str | None = None, value: str | None = None, **more: Any
) -> dict[str, Any]:
    """A line about topic t, or what `more` names."""
    return {
        "cluster": "c", "resource_type": "topic", "topic": "t", "resource": None, "incarnation": 0, "at": at,
        "settings": settings, "name": name, "value": value, "node_id": 1, "file_id": "f", "line": at, **more,
    }  # fmt: skip


def node(at: int, text: str) -> dict[str, Any]:
    """A line in which node 1 prints its configuration."""
    return line(at, text, resource_type="kafka_config", topic=None, resource="1")


CASES: dict[str, tuple[list[dict[str, Any]], list[tuple[Any, ...]]]] = {
    # lines -> changes as (at, setting, before, after, first seen)
    "the first list is what was": ([line(1, "a -> 1")], [(1, "a", None, "1", True)]),
    "brokers print it again, one after another": ([line(1, "a -> 1"), line(2, "a -> 1")], [(1, "a", None, "1", True)]),
    "changed, added, and removed": (
        [line(1, "a -> 1,b -> 2"), line(2, "a -> 3,c -> 4")],
        [
            (1, "a", None, "1", True),
            (1, "b", None, "2", True),
            (2, "a", "1", "3", False),
            (2, "b", "2", None, False),
            (2, "c", None, "4", False),
        ],
    ),
    "all removed": ([line(1, "a -> 1"), line(2, "")], [(1, "a", None, "1", True), (2, "a", "1", None, False)]),
    "single settings: the first line of each may repeat what was": (
        [line(1, name="a", value="1"), line(2, name="a", value="2"), line(3, name="b", value="7")],
        [(1, "a", None, "1", True), (2, "a", "1", "2", False), (3, "b", None, "7", True)],
    ),
    "but not behind a list, which had shown that it was not set": (
        [line(1, "a -> 1"), line(3, name="b", value="7")],
        [(1, "a", None, "1", True), (3, "b", None, "7", False)],
    ),
    "a record that removes it has no value, or `null`": (
        [
            line(1, name="a", value="1"),
            line(2, name="a"),
            line(3, name="a", value="2"),
            line(4, name="a", value="null"),
        ],
        [(1, "a", None, "1", True), (2, "a", "1", None, False), (3, "a", None, "2", False), (4, "a", "2", None, False)],
    ),
    "two values of one time: what is left counts": (
        [line(1, "a -> 1"), line(2, name="a", value="2"), line(2, name="a", value="1")],
        [(1, "a", None, "1", True)],
    ),
    "a topic that comes again begins anew": (
        [line(1, "a -> 1"), line(9, "a -> 1", incarnation=1)],
        [(1, "a", None, "1", True), (9, "a", None, "1", True)],
    ),
    "of a node's configuration the first is what was, and told of what elections and ISRs go by": (
        [node(1, "\tlog.dirs = /d\n\tmin.insync.replicas = 1\n\tunclean.leader.election.enable = false\n (kafka.K)")],
        [
            (1, "min.insync.replicas", None, "1", True),
            (1, "unclean.leader.election.enable", None, "false", True),
        ],
    ),
    "one that prints more, less, or is cut off changes only what it prints": (
        [
            node(1, "\tbroker.rack = null\n\tlog.dirs = /d\n\tzookeeper.connect = z:2181"),
            node(2, "\tbroker.rack = a = b\n\tlog.dirs = /d\n\tnew.in.this.release = 7"),
            node(3, "\tlog.dirs = /d,/e\n\tnew.in.this.release = 8"),
        ],
        [
            (2, "broker.rack", None, "a = b", False),
            (3, "log.dirs", "/d", "/d,/e", False),
            (3, "new.in.this.release", "7", "8", False),
        ],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_changes(case: str) -> None:
    lines, expected = CASES[case]
    rows = list(config_changes(lines))
    names = ("at", "name", "previous_value", "value", "first_seen")
    assert [tuple(row[name] for name in names) for row in rows] == expected
    assert all(row["evidence"] == [{"node_id": 1, "file_id": "f", "line": row["at"]}] for row in rows)


def test_what_all_nodes_have_in_common() -> None:
    """Node 2 starts an hour after node 1, with another value, which node 1 has from its next start on."""
    of_nodes = [("a", 1, "1", "false"), ("a", 2, "2", "true"), ("a", 3, "1", "true"), ("a", 4, "2", "true")]
    of_nodes += [("b", 1, "1", "7"), ("b", 1, "2", "7"), ("b", 2, "3", "8")]
    changes = [
        {"cluster": cluster, "name": "n", "at": at, "resource": node_id, "value": value}
        for cluster, at, node_id, value in of_nodes
    ]
    assert [(row["cluster"], row["name"], row["at"], row["value"]) for row in common_values(changes)] == [
        ("a", "n", 1, "false"), ("a", "n", 2, None), ("a", "n", 3, "true"), ("b", "n", 1, "7"), ("b", "n", 2, None),
    ]  # fmt: skip
