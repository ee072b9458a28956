"""Elections in a row of which no line prints the ISR: each is judged by what the one before, if it was right, left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from schemas.kafka_values import NO_LEADER
from udfs.kafka.election_verdicts import isrs_left
from udfs.kafka.judgements import HOLDS
from udfs.kafka.releases import Release
from udfs.kafka.verdicts import Verdict

Row = Mapping[str, Any]


@dataclass(frozen=True)
class LeftIsrs:
    """What a ZooKeeper controller's election that holds left: `isrs` are those that it may have written; the evidence
    of the `row` shows that it holds."""

    row: Row
    isrs: list[list[int]]

    def isrs_before(self, row: Row) -> list[list[int]]:
        """The ISRs before an election of the same partition that follows it at once, or fails while its leader leads;
        or before one in the leader epoch behind that in which this leader was lost: it left the ISR then, unless it was
        in sync alone (`ReplicaStateMachine.removeReplicasFromIsr`). Empty of other ones."""
        leader, epoch, previous = self.row["leader"], self.row["leader_epoch"], row["previous_leader"]
        if not row["succeeded"] or row["leader_epoch"] == epoch + 1:
            return self.isrs if previous in (None, leader) else []
        if row["leader_epoch"] == epoch + 2 and previous == NO_LEADER:
            return [[broker for broker in isr if broker != leader] or isr for isr in self.isrs]
        return []


def with_isrs_left(row: dict[str, Any], left: LeftIsrs | None) -> dict[str, Any]:
    """An election without an ISR before, nor a plausible one, with `isrs_left_before`, and the lines of that."""
    is_known = row["isr_before"] is not None or row.get("plausible_isr") is not None
    isrs = [] if left is None or is_known else left.isrs_before(row)
    if left is None or not isrs:
        return row
    own = row["evidence"] or []
    lines = [line for line in left.row["evidence"] if line not in own]
    return {**row, "isrs_left_before": isrs, "evidence": [*own, *lines]}


def left_by(row: Row, verdict: Verdict, release: Release, before: LeftIsrs | None) -> LeftIsrs | None:
    """What an election left for the next one, if that is known: the leader's own line has to be there, for from then on
    it would log how the ISR changes. One that fails leaves what was there."""
    if not row["succeeded"]:
        return before
    is_logged = any(line["node_id"] == row["leader"] for line in row["evidence"] or ())
    isrs = isrs_left(row, release) if is_logged and verdict.verdict == HOLDS else []
    return LeftIsrs(row, isrs) if isrs else None
