"""The steps of failovers from events written by hand; a case is a cluster of its own."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from jobs.answers.controller_steps import failover_steps
from jobs.timelines.controllers import to_controller_timeline
from schemas.ingest import EVENTS

if TYPE_CHECKING:
    from tests.conftest import Frame

FAILOVER_EVENTS = """
cluster | at          | node_id | event_type | controller_id | controller_epoch | message
# 2.4 at TRACE: all steps; what another node logs then is not the controller's
zk      | 10:00:00    | 1 | controller_elected                         | 1 | 4 |
zk      | 10:00:00.01 | 1 | controller_failover_step                   | 1 |   | Registering handlers
zk      | 10:00:00.02 | 1 | controller_failover_step                   | 1 |   | Initializing controller context
zk      | 10:00:00.05 | 1 | controller_context_live_brokers            | 1 |   | Currently active brokers
zk      | 10:00:00.06 | 2 | controller_replica_state_machine_started   | 2 |   | Started
zk      | 10:00:00.20 | 1 | controller_replica_state_machine_started   | 1 |   | Started
zk      | 10:00:00.30 | 1 | controller_partition_state_machine_started | 1 |   | Started
zk      | 10:00:00.31 | 1 | controller_ready                           | 1 | 4 | Ready
zk      | 10:00:00.25 | 1 | update_metadata_request_sent               | 1 | 4 | sends
zk      | 10:00:00.40 | 1 | leader_and_isr_request_sent                | 1 | 4 | sends
# the node's next term has steps of its own; a request of another epoch is no step of this one
again   | 10:00:00    | 1 | controller_elected                         | 1 | 1 |
again   | 10:00:01    | 1 | update_metadata_request_sent               | 1 | 9 | sends
again   | 10:05:00    | 2 | controller_elected                         | 2 | 2 |
again   | 10:09:00    | 1 | controller_elected                         | 1 | 3 |
again   | 10:09:00.1  | 1 | controller_ready                           | 1 | 3 | Ready
# KRaft
kraft   | 10:00:00    | 100 | raft_leader_elected                      | 100 | 2 |
kraft   | 10:00:00.50 | 100 | kraft_controller_elected                 |   | 2 |
kraft   | 10:00:00.51 | 100 | kraft_controller_activation              |   |   | Performing controller activation.
"""
EXPECTED = {
    ("zk", 4): [
        ("elected", 0), ("context_loading", 20), ("context_loaded", 50), ("replica_state_machine_started", 200),
        ("first_request", 250), ("partition_state_machine_started", 300), ("ready", 310),
    ],
    ("again", 1): [("elected", 0)],
    ("again", 2): [("elected", 0)],
    ("again", 3): [("elected", 0), ("ready", 100)],
    ("kraft", 2): [("elected", 0), ("active", 500), ("activation", 510)],
}  # fmt: skip


def test_steps_are_the_terms_own_lines_in_order_of_time(frame: Frame) -> None:
    """Times in ms after the election."""
    events = frame(EVENTS, FAILOVER_EVENTS).withColumn("fields", F.create_map().cast("map<string,string>"))
    rows = to_controller_timeline(events).collect()
    steps = {
        (row["cluster"], row["controller_epoch"]): [
            (step["step"], (step["at"] - row["since"]) // timedelta(milliseconds=1)) for step in row["steps"]
        ]
        for row in rows
    }
    assert steps == EXPECTED


@pytest.mark.parametrize("steps", [None, []])
def test_a_term_without_steps_has_no_story_of_them(steps: list[object] | None) -> None:
    assert list(failover_steps([{"controller_id": 1, "since": datetime(2026, 11, 21), "steps": steps}])) == []


def test_the_story_says_how_long_after_the_election_each_step_came() -> None:
    since = datetime(2026, 11, 21, 10)
    at = since + timedelta(milliseconds=310)
    lines = [
        {"at": since, "step": "elected", "node_id": 1, "file_id": "f", "line": 2},
        {"at": at, "step": "ready", "node_id": 1, "file_id": "f", "line": 8},
    ]
    (step,) = failover_steps([{"controller_id": 1, "since": since, "steps": lines}])
    assert (step.at, step.text) == (at, "controller 1 was ready to serve, 310 ms after its election")
    assert step.lines == (("f", 8),)
