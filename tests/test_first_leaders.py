"""New partitions whose replicas are all away: `why` and `outages` tell how long they waited for their first leader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from jobs.cli import main
from tests.answers_warehouse import STATE, night, partition, row, state, tables

NEW = [("from_state", "NewPartition"), ("to_state", "OnlinePartition")]
CREATED = [("from_state", "NonExistentPartition"), ("to_state", "NewPartition")]
REASON = "StateChangeFailedException: ... live brokers are [Set(2, 3)]. No assigned replica is alive."


def event(line: int, number: int, at: str, kind: str, fields: list[tuple[str, str]], **values: Any) -> dict[str, Any]:
    return row(file_id=STATE, line=line, byte_offset=line, node_id=3, at=at, level="INFO", logger="l", event_type=kind,
               message=f"line {line}", topic="pay-in", partition=number, fields=fields, **values)  # fmt: skip


def failed(line: int, number: int, at: str) -> dict[str, Any]:
    proof = [{"node_id": 3, "file_id": STATE, "line": line}]
    return partition(number, at=at, succeeded=False, strategy="new", live_brokers=[2, 3], evidence=proof)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Broker 1 is away. pay-in-2 is created for it alone at 10:05:10, and led from 10:05:50 on; pay-in-3 for brokers 1
    and 4 at 10:09:00, and never led; of pay-in-4 the line of its creation is missing, and it is led at 10:07:00."""
    events = [
        event(60, 2, "10:05:10", "partition_state_change", CREATED, replicas=[1]),
        event(61, 2, "10:05:10", "partition_state_change_failed", NEW, detail=REASON),
        event(62, 2, "10:05:20", "partition_state_change_failed", NEW, detail=REASON),
        event(63, 3, "10:09:00", "partition_state_change", CREATED, replicas=[1, 4]),
        event(64, 3, "10:09:00.001", "partition_state_change_failed", NEW),
        event(65, 4, "10:06:00", "partition_state_change_failed", NEW),
    ]
    elections = [
        failed(61, 2, "10:05:10"), failed(62, 2, "10:05:20"), failed(64, 3, "10:09:00.001"), failed(65, 4, "10:06:00"),
    ]  # fmt: skip
    states = [
        state(number, 0, 1, 0, [1], replicas=[1], since=since, availability="FullyInSync", evidence=[])
        for number, since in ((2, "10:05:50"), (4, "10:07:00"))
    ]
    known = tables()
    changes = {
        "events": [*known["events"], *events],
        "elections": [*known["elections"], *elections],
        "partition_timeline": [*known["partition_timeline"], *states],
    }
    return night(tmp_path_factory.mktemp("first") / "w", changes)


def data(root: Path, *arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(
        main, [*arguments, "--warehouse", str(root), "--format", "json"], catch_exceptions=False
    )
    assert result.exit_code == 0, result.stderr
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


ANSWERS = {
    ("pay-in-2", "--at", "10:05:30"): "pay-in-2 waited for its first leader for 40.0 s, from 2026-11-21 10:05:10.000 "
    "to 10:05:50.000 UTC: its only replica, on broker 1, was not alive; 2 elections failed, the last at 10:05:20.000; "
    "then broker 1 became its first leader.",
    ("pay-in-2",): "pay-in-2 waited for its first leader for 40.0 s, from",
    ("pay-in-2", "--at", "10:05:00"): "pay-in-2 was not there at 2026-11-21 10:05:00.000 UTC: it was created at "
    "2026-11-21 10:05:10.000.",
    ("pay-in-2", "--at", "10:06:00"): "At 2026-11-21 10:06:00.000 UTC pay-in-2 had leader 1, ISR 1 of replicas 1, "
    "since 2026-11-21 10:05:50.000.",
    ("pay-in-3",): "pay-in-3 has had no leader yet since it was created at 2026-11-21 10:09:00.000 UTC (at least 1 min "
    "0 s by the logs): none of its replicas, on brokers 1, 4, was alive; 1 election failed, at 10:09:00.001.",
    ("pay-in-4", "--at", "10:06:30"): "pay-in-4 waited for its first leader for at least 1 min 0 s, from 2026-11-21 "
    "10:06:00.000 to 10:07:00.000 UTC: why is in no line; 1 election failed, at 10:06:00.000; then broker 1 became its "
    "first leader.",
}  # fmt: skip


@pytest.mark.parametrize("asked", ANSWERS, ids=" ".join)
def test_why_tells_of_a_partition_that_was_never_led_yet(asked: tuple[str, ...], warehouse: Path) -> None:
    assert data(warehouse, "why", *asked)["answer"].startswith(ANSWERS[asked])


def test_the_steps_are_the_creation_each_election_that_failed_and_the_first_leader(warehouse: Path) -> None:
    steps = data(warehouse, "why", "pay-in-2")["steps"]
    assert [
        (step["at"][11:19], step["text"], [line["place"][-2:] for line in step["lines"]])
        for step in steps
        if not step["text"].startswith("broker")
    ] == [
        ("10:05:10", "created with replicas 1, NO LEADER yet", ["60"]),
        ("10:05:10", "election failed: alive 2,3", ["61"]),
        ("10:05:20", "election failed: alive 2,3", ["62"]),
        ("10:05:50", "led for the first time, with leader 1, ISR 1, replicas 1", []),
    ]


def test_another_story_of_the_partition_names_its_wait(warehouse: Path) -> None:
    (other,) = data(warehouse, "why", "pay-in-2", "--at", "10:06:00")["others"]
    assert other["text"] == "no first leader for 40.0 s from 2026-11-21 10:05:10.000"
    assert "why pay-in-2 --at 2026-11-21T10:05:10.000Z" in other["command"]


def test_outages_names_those_that_waited(warehouse: Path) -> None:
    answer = data(warehouse, "outages")
    assert answer["answer"].endswith(
        " 3 new partitions waited for their first leader: pay-in-3 for at least 1 min 0 s, pay-in-4 for at least "
        "1 min 0 s, pay-in-2 for 40.0 s."
    )
    assert len(answer["outages"]) == 2  # what was never led has no outage
    first = answer["waits_for_first_leader"][0]
    assert (first["partition"], first["failed_elections"], first["replicas"]) == (2, 2, [1])
    assert first["lines"] == ["broker-3/state-change.log:60", "broker-3/state-change.log:61"]
    assert [one["partition"] for one in data(warehouse, "outages", "--until", "10:06")["waits_for_first_leader"]] == [
        2,
        4,
    ]
    assert [one["partition"] for one in data(warehouse, "outages", "--since", "10:08")["waits_for_first_leader"]] == [3]


def test_the_report_names_them_too(warehouse: Path, tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    result = CliRunner().invoke(main, ["report", "-o", str(page), "--warehouse", str(warehouse)])
    assert result.exit_code == 0, result.output
    assert "3 new partitions waited for their first leader: pay-in-3 for at least 1 min" in page.read_text("utf-8")


def test_partitions_that_only_waited_are_among_those_that_can_be_asked_about(warehouse: Path) -> None:
    result = CliRunner().invoke(main, ["why", "pay-in-9", "--warehouse", str(warehouse)])
    assert result.stderr == "kafka-rewind: Topic pay-in has no partition 9 in the logs; it has 0, 1, 2, 3, 4.\n"


def test_a_new_partition_whose_topic_was_deleted_before_it_was_led(tmp_path: Path) -> None:
    """Created with its topic at 10:05, 2 s before the election that failed; deleted at 10:05:30."""
    topic = row(topic="pay-in", incarnation=0, since="10:05:00", until="10:05:30", partitions=1)
    root = night(
        tmp_path / "w",
        {"topic_timeline": [topic], "elections": [failed(61, 2, "10:05:02")], "partition_timeline": [],
         "offline_partitions": []},
    )  # fmt: skip
    assert data(root, "why", "pay-in-2")["answer"] == (
        "pay-in-2 never had a leader: it waited for its first one for 30.0 s, from 2026-11-21 10:05:00.000 to "
        "10:05:30.000 UTC: why is in no line; 1 election failed, at 10:05:02.000; then its topic was deleted."
    )
    assert data(root, "outages")["answer"].endswith(
        " 1 new partition waited for its first leader: pay-in-2 for 30.0 s."
    )
