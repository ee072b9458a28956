"""ISR changes that a controller refused, against what makes a request wrong: a plain function over rows as dicts.

After kafka.controller.KafkaController.processAlterPartition (2.7 on) and
org.apache.kafka.controller.ReplicationControlManager.validateAlterPartitionData; see `udfs.kafka.isr_requests`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from udfs.kafka.judgements import VIOLATED, Finding, Judgement, judge, unknown
from udfs.kafka.verdicts import Verdict, verdict_of

Row = Mapping[str, Any]
"""Columns: `event_type`, `times` (how often it was refused within that minute), `sender` (the broker that asked), and
what lines of that kind print, else null: `leader_epoch` and `partition_epoch` as asked, `current_leader_epoch`,
`current_partition_epoch`, `leader`, `broker_epoch`, `current_broker_epoch`, `isr`, `ineligible`, `joining`, `error`,
`from_state`, `to_state`, `leader_recovery_state`, `replicas`, `lacks_sender` (whether it says that the ISR lacks who
asked); `certain`: which of the brokers in question were certainly registered
then; `state_leader`: who led with the partition epoch in question, if that state is known and was current then."""
RULE = "isr_refusal"
KRAFT = "kraft_alter_partition_rejected"
INELIGIBLE = ("alter_partition_rejected_ineligible", f"{KRAFT}_ineligible")
RECOVERING = ("alter_partition_rejected_recovering", f"{KRAFT}_recovering")
RECOVERY_STATE = ("alter_partition_rejected_recovery_state", f"{KRAFT}_recovery_state")
STALE_BROKER = ("alter_isr_rejected_stale_broker_epoch", "alter_partition_rejected_stale_broker_epoch")
UNKNOWN_BROKER = ("alter_isr_rejected_unknown_broker", "alter_partition_rejected_unknown_broker")
LEADER_EPOCH, PARTITION_EPOCH = f"{KRAFT}_leader_epoch", f"{KRAFT}_partition_epoch"
INVALID_ISR = f"{KRAFT}_invalid_isr"
NOT_LEADER, BAD_VERSION = f"{KRAFT}_not_leader", "alter_isr_failed_bad_version"
OF_BROKER = "isr_change_rejected"
LINES = (
    *INELIGIBLE, *RECOVERING, *RECOVERY_STATE, *STALE_BROKER, *UNKNOWN_BROKER, LEADER_EPOCH, PARTITION_EPOCH,
    INVALID_ISR, NOT_LEADER, BAD_VERSION, OF_BROKER,
)  # fmt: skip
"""Events that are refusals, all but the last of the controller; of a partition, or of all that a broker asked for."""
NOT_ELIGIBLE = ("INELIGIBLE_REPLICA", "OPERATION_NOT_ATTEMPTED")
"""What the controller answers as somebody in the ISR is not eligible (KIP-841)."""


def judge_refusal(row: Row) -> Verdict | None:
    """Whether what the controller found wrong with a request was wrong; None: the line does not say what that was.

    Who was registered never accuses: the controller's own view is not logged.
    """
    judgement = _judge(row)
    if judgement is None:
        return None
    actual = judgement.actual + (f", {row['times']} times within a minute" if row["times"] > 1 else "")
    return verdict_of(Finding(RULE, judgement.verdict, 0, judgement.expected, actual, judgement.missing))


def _judge(row: Row) -> Judgement | None:
    kind, sender = row["event_type"], row["sender"]
    if kind in (*INELIGIBLE, *UNKNOWN_BROKER, OF_BROKER):
        return _absent(row)
    if kind in STALE_BROKER:
        asked, known = row["broker_epoch"], row["current_broker_epoch"]
        return _differ(f"another broker epoch of broker {sender} than the known one", asked, known, "broker epoch")
    if kind == LEADER_EPOCH:
        return _differ("another leader epoch than the current one", row["leader_epoch"], row["current_leader_epoch"])
    if kind == PARTITION_EPOCH:
        return _partition_epoch(row)
    if kind == BAD_VERSION:
        if row["partition_epoch"] is None:
            return None
        expected = f"a later state than partition epoch {row['partition_epoch']}"
        if row["state_leader"] is None:
            return unknown(expected, "the state that was there already")
        return judge(True, expected, f"partition epoch {row['partition_epoch'] + 1} was there")
    if kind == NOT_LEADER:
        return _differ("a request of another than the leader", sender, row["leader"], "broker")
    if kind == INVALID_ISR:
        return _invalid_isr(row)
    if kind in RECOVERING:
        return _recovering(row)
    states = (row["from_state"] or "RECOVERED", row["to_state"] or "RECOVERING")
    return judge(states == ("RECOVERED", "RECOVERING"), "RECOVERED to RECOVERING", " to ".join(states))


def _differ(expected: str, asked: int | None, known: int | None, what: str = "leader epoch") -> Judgement | None:
    if asked is None or known is None:
        return None
    return judge(asked != known, expected, f"{what} {asked} in the request, {known} at the controller")


def _partition_epoch(row: Row) -> Judgement | None:
    """The check comes after those of the leader epoch and of the leader: the sender leads with the current epoch. One
    that is ahead of the controller's is found before anybody asks who leads (3.3 on)."""
    expected = "another partition epoch than the current one, in a request of the leader"
    judgement = _differ(expected, row["partition_epoch"], row["current_partition_epoch"], "partition epoch")
    if judgement is None or judgement.verdict == VIOLATED or row["partition_epoch"] > row["current_partition_epoch"]:
        return judgement
    if row["sender"] is None:
        return unknown(expected, "who asked")
    if row["state_leader"] is None:
        return unknown(expected, f"who led with partition epoch {row['current_partition_epoch']}")
    actual = f"{judgement.actual}, where broker {row['state_leader']} leads; broker {row['sender']} asked"
    return judge(row["state_leader"] == row["sender"], expected, actual)


def _invalid_isr(row: Row) -> Judgement | None:
    """An ISR without its leader, or one that `Replicas.validateIsr` does not take: the line prints the assignment from
    4.3 on."""
    isr, sender = row["isr"], row["sender"]
    if isr is None or row["lacks_sender"] is None:
        return None
    asked = f"the ISR asked for is {isr}"
    if row["lacks_sender"]:
        return None if sender is None else judge(sender not in isr, f"an ISR without broker {sender}", asked)
    expected = "an ISR with a replica twice, or with one that is not assigned"
    if len({*isr}) < len(isr) or any(member < 0 for member in isr):
        return judge(True, expected, asked)
    if row["replicas"] is None:
        return unknown(expected, "replicas")
    return judge(not {*isr} <= {*row["replicas"]}, expected, f"{asked}, the assignment {row['replicas']}")


def _recovering(row: Row) -> Judgement | None:
    if row["isr"] is None:
        return None
    state = row["leader_recovery_state"] or "RECOVERING"
    expected = "more than one replica in the ISR while the leader recovers"
    return judge(len(row["isr"]) > 1 and state == "RECOVERING", expected, f"ISR {row['isr']}, {state}")


def _absent(row: Row) -> Judgement | None:
    """Brokers that are said to be fenced, shutting down, or gone."""
    kind = row["event_type"]
    if kind == OF_BROKER and row["error"] not in NOT_ELIGIBLE:
        return None
    named = row["ineligible"] if kind in INELIGIBLE else [row["joining"] if kind == OF_BROKER else row["sender"]]
    if not named or None in named:
        return None
    expected = f"brokers {sorted(named)} fenced, shutting down or gone"
    if kind in INELIGIBLE and row["isr"] is not None and not set(named) <= set(row["isr"]):
        return judge(False, expected + ", and in the ISR that was asked for", f"the ISR asked for is {row['isr']}")
    if set(named) & set(row["certain"] or ()):
        return unknown(expected, "online")
    return judge(True, expected, f"{sorted(named)} not registered around then")
