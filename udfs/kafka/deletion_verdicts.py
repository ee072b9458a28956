"""The order in which ZooKeeper controllers delete a topic's partitions: plain functions over rows as dicts.

After kafka.controller.TopicDeletionManager.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from udfs.kafka.decision_releases import by_any, releases_of
from udfs.kafka.judgements import HOLDS, VIOLATED, Finding
from udfs.kafka.releases import Release
from udfs.kafka.verdicts import Verdict, verdict_of

Line = Mapping[str, Any]
"""Columns: `event_type`, `at`, `node_id`, `controller_epoch`, `file_id`, `line`, `replica`, `to_state`;
`node_release`, what the controller's process printed as its version, null unknown."""
REPLICA_CHANGE, PARTITION_CHANGE = "replica_state_change", "partition_state_change"
STATES = ("ReplicaDeletionStarted", "ReplicaDeletionSuccessful", "ReplicaDeletionIneligible", "NonExistentReplica")
"""States of replicas on their way out."""
RULE = "topic_deletion"
PARTITIONS_FIRST = Release(2, 1)
"""From here on a partition is gone when the deletion begins, before it was when all its replicas were."""


def judge_deletion(
    lines: Sequence[Line], of_cluster: Sequence[Release]
) -> Iterator[tuple[Verdict, str, tuple[Line, ...]]]:
    """Each deletion of one incarnation of a partition by a controller, by the release of its term: verdict, what it is
    about, lines. `of_cluster`: the releases that the cluster may have run."""
    by_term: dict[tuple[Any, Any], list[Line]] = {}
    for line in lines:
        is_partition = line["event_type"] == PARTITION_CHANGE and line["to_state"] == "NonExistentPartition"
        if is_partition or (line["event_type"] == REPLICA_CHANGE and line["to_state"] in STATES):
            by_term.setdefault((line["node_id"], line["controller_epoch"]), []).append(line)
    for (controller, epoch), of_term in by_term.items():
        gone = next((at for at, line in enumerate(of_term) if line["event_type"] == PARTITION_CHANGE), None)
        shown = [line for line in of_term if line["event_type"] == REPLICA_CHANGE]
        if gone is not None and shown:
            possible = releases_of((line.get("node_release") for line in of_term), of_cluster)
            verdict = by_any(possible, partial(_verdict, of_term, gone))
            _, proof = _judge(of_term, gone, possible[0])
            yield verdict, f"deletion by controller {controller} epoch {epoch}", (of_term[gone], *proof)


def _verdict(lines: Sequence[Line], gone: int, release: Release) -> Verdict:
    return _judge(lines, gone, release)[0]


def _judge(lines: Sequence[Line], gone: int, release: Release) -> tuple[Verdict, list[Line]]:
    """Where the end of the partition stands among the steps of its replicas."""
    before: dict[int, Line] = {}
    for line in lines[:gone]:
        before[line["replica"]] = line
    # one that goes on later was not gone yet; of another the last line may be lost
    later = {line["replica"] for line in lines[gone + 1 :]}
    halfway = {r: line for r, line in before.items() if line["to_state"] != "NonExistentReplica" and r in later}
    is_first = release >= PARTITIONS_FIRST
    if is_first:
        wrong = {r: line for r, line in halfway.items() if line["to_state"] != "ReplicaDeletionIneligible"}
        expected = "the partition gone before its replicas are deleted"
    else:
        wrong = halfway
        expected = "the partition gone after all its replicas"
        if not before:
            wrong = {line["replica"]: line for line in lines[gone + 1 :][:1]}
    states = ", ".join(f"replica {replica} {line['to_state']}" for replica, line in sorted(wrong.items()))
    actual = f"gone with {states}" if wrong else f"gone {'first' if is_first else 'last'}"
    finding = Finding(RULE, VIOLATED if wrong else HOLDS, 0, expected, actual)
    return verdict_of(finding), list(wrong.values()) or list(lines[:gone][-1:] or lines[gone + 1 :][:1])
