"""Whether a ZooKeeper controller counts a partition without a leader as offline: plain functions over rows as dicts.

The metric OfflinePartitionsCount is in no log. From 2.1 on it is a counter of the partitions that the state machine has
in OfflinePartition (`kafka.controller.ControllerContext.updatePartitionStateMetrics`), and the transition by which a
partition gets its next leader names the state that it leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from schemas.kafka_values import NO_LEADER
from udfs.kafka.decision_releases import by_any, releases_of
from udfs.kafka.judgements import HOLDS, VIOLATED, Finding
from udfs.kafka.reassignment_steps import LINES as REASSIGNMENT
from udfs.kafka.reassignment_steps import TOGETHER_US
from udfs.kafka.releases import Release
from udfs.kafka.request_verdicts import DECIDED, METADATA_SENT, RECEIVED, SENT, JudgedRequest
from udfs.kafka.verdicts import Verdict, verdict_of

Line = Mapping[str, Any]
"""As `udfs.kafka.request_verdicts` has them."""
RULE = "offline_gauge_matches"
REMOVED = "replica_removed_from_isr"
"""What a controller stored as it took a replica offline (from 2.6 on at INFO)."""
COUNTER = Release(2, 1)
"""From here on the metric counts transitions; before, it asks who is alive."""


def judge_gauge(lines: Sequence[Line], of_cluster: Sequence[Release]) -> Iterator[JudgedRequest]:
    """The rule `offline_gauge_matches`, over one incarnation: of each election out of a state without a leader whether
    the partition had been counted. `of_cluster`: the releases that the cluster may have run.

    Only the leader epoch right before counts: in one further back another election may have been in between. A
    reassignment takes replicas that lead offline by itself, and elects out of whatever state the partition is in.
    """
    leaders: dict[int, set[int]] = {}
    shown_by: dict[int, Line] = {}
    for line in lines:
        if line["event_type"] in (SENT, METADATA_SENT, RECEIVED, DECIDED, REMOVED) and None not in (
            line["leader_epoch"], line["leader"]
        ):  # fmt: skip
            leaders.setdefault(line["leader_epoch"], set()).add(line["leader"])
            shown_by.setdefault(line["leader_epoch"], line)
    for line in lines:
        is_election = line["event_type"] == DECIDED and line["to_state"] == "OnlinePartition" and line["leader_epoch"]
        if not is_election or line["leader"] in (None, NO_LEADER) or line["from_state"] is None:
            continue
        before = line["leader_epoch"] - 1
        if leaders.get(before) == {NO_LEADER} and not _is_reassigned(lines, shown_by[before], line):
            possible = releases_of([line.get("node_release")], of_cluster)
            if possible[0] >= COUNTER:
                verdict = by_any(possible, partial(_verdict, line, before))
                about = f"leader epoch {line['leader_epoch']}, controller epoch {line['controller_epoch']}"
                yield JudgedRequest(verdict, about, (line, shown_by[before]))


def _is_reassigned(lines: Sequence[Line], lost: Line, election: Line) -> bool:
    """Whether a controller logs a step of a reassignment shortly before the leader is lost, or up to the election."""
    since = lost["at"] - TOGETHER_US
    return any(line["event_type"] in REASSIGNMENT and since <= line["at"] <= election["at"] for line in lines)


def _verdict(line: Line, before: int, release: Release) -> Verdict:
    is_counted = line["from_state"] == "OfflinePartition" or release < COUNTER
    expected = f"counted as offline while it had no leader, in leader epoch {before}"
    actual = f"elected out of {line['from_state']}"
    return verdict_of(Finding(RULE, HOLDS if is_counted else VIOLATED, 0, expected, actual))
