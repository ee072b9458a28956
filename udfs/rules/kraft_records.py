"""Kinds of values in KRaft's log lines and metadata records: their patterns, and what reads them.

Every reader gives columns of `events` as values and everything else as text: lists as JSON text (`[1, 2]`,
`["a", "b"]`), in names as Kafka writes them, in snake_case. "Unchanged" and "not set" are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from udfs.rules.kraft_json import (
    COLUMN_OF_KEY,
    json_broker,
    json_broker_change,
    json_config,
    json_controller,
    json_feature,
    json_record,
)
from udfs.rules.kraft_objects import (
    altered_isr,
    broker_registration,
    builder_state,
    changes,
    config_resource,
    json_value,
    previous_record,
    printed_change,
    printed_record,
    proposed,
)
from udfs.rules.kraft_quorum_values import (
    candidate_key,
    controller_node,
    new_controller,
    offset_metadata,
    raft_state,
    vote,
)
from udfs.rules.kraft_results import created_topics, deleted_topics, partition_results
from udfs.rules.printed import BALANCED
from udfs.rules.regex import late

_WORDINGS: Mapping[str, tuple[str, str]] = {  # words that imply a field -> the field and its value
    "initial RegisterBrokerRecord for": ("kind", "new"),
    "RegisterBrokerRecord modifying the registration for": ("kind", "same_incarnation"),
    "RegisterBrokerRecord establishing a new incarnation of": ("kind", "new_incarnation"),
    "broker incarnation": ("kind", "same_incarnation"),
    "broker id": ("kind", "new_incarnation"),
    "Fenced broker": ("fenced", "true"),
    "Unfenced broker": ("fenced", "false"),
    "a clean election": ("unclean", "false"),
    "an unclean election": ("unclean", "true"),
    "ELR": ("from_elr", "true"),
    "completed the ongoing partition reassignment": ("leadership_changed", "false"),
    "completed the ongoing partition reassignment and triggered a leadership change": ("leadership_changed", "true"),
    "ZK migration mode is enabled.": ("zk_migration_enabled", "true"),
    "Eligible leader replicas enabled.": ("elr_enabled", "true"),
    "Rescheduling immediately.": ("rescheduled", "true"),
}


def wording(text: str) -> dict[str, Any]:
    """A field that the wording implies, such as `an unclean election`."""
    field, value = _WORDINGS[text]
    return {field: value}


def list_field(name: str) -> Callable[[str], dict[str, Any]]:
    """Reader of a bracketed list as JSON text, in a field of this name; of `null` nothing."""
    return lambda text: {} if text == "null" else {name: json.dumps(json_value(text))}


def ineligible(text: str) -> dict[str, Any]:
    """`[2 (fenced), 3 (shutting down)]`."""
    return {"ineligible_replicas": json.dumps([int(m) for m in re.findall(r"(\d+) \(", text)]), "reason": text[1:-1]}


def record_names(text: str) -> dict[str, Any]:
    """The names of the records in `ApiMessageAndVersion(TopicRecord(...) at version 0), ...`."""
    return {"records": json.dumps(re.findall(r"ApiMessageAndVersion\((\w+)\(", text))}


_EVENT = late(r"([\w-]+(?:\[.*\])?)(?:\((\w+)\))?")


def event(text: str) -> dict[str, Any]:
    """A controller event: `alterPartition`, up to 3.1 `alterIsr(735877098)`, of a snapshot
    `handleLoadSnapshot[snapshotId=OffsetAndEpoch[offset=640, epoch=8]]`."""
    name, identity = _EVENT.findall(text)[0]
    return {"event": name, **({"event_identity": identity} if identity else {})}


def context(text: str) -> dict[str, Any]:
    """Why a batch of changes is made: `handleBrokerFenced`, `enterControlledShutdown[2]`, and from 3.7 on with the id
    of a directory `handleDirectoriesOffline[2:nBNToeFsleI95dD_M4EufQ]`."""
    about = re.search(r"\[(\d+)(?::([\w-]+))?\]$", text)
    broker, directory = about.groups() if about else (None, None)
    named = {"broker": broker, "directory": directory}
    return {"context": text, **{name: value for name, value in named.items() if value is not None}}


def fitting(read: Callable[[str], Mapping[str, Any]]) -> Callable[[str], Mapping[str, Any]]:
    """The same reader; what a broken line gives for a column that cannot hold it is text in a field instead."""

    def fits(column: str, value: Any) -> bool:
        if column in ("topic", "topic_id"):
            return isinstance(value, str)
        if (column in ("isr", "replicas")) != isinstance(value, list):
            return False
        numbers = value if isinstance(value, list) else [value]
        return all(isinstance(number, int) and -(2**31) <= number < 2**31 for number in numbers)

    def read_fitting(text: str) -> Mapping[str, Any]:
        values = read(text)
        misfits = [key for key, value in values.items() if not isinstance(value, str) and not fits(key, value)]
        misfits += [key for key in values if key in _NUMBERS and isinstance(values[key], str)]
        return {**values, **{f"{key}_text": str(values[key]) for key in misfits}, **dict.fromkeys(misfits)}

    return read_fitting


_NUMBERS = {*COLUMN_OF_KEY.values(), "broker_id", "controller_id", "controller_epoch"} - {"topic", "topic_id"}
STATE_RECORDS = (  # types of metadata records that have a rule of their own
    "ABORT_TRANSACTION",
    "BEGIN_TRANSACTION",
    "BROKER_REGISTRATION_CHANGE",
    "CLEAR_ELR",
    "CONFIG",
    "END_TRANSACTION",
    "FEATURE_LEVEL",
    "FENCE_BROKER",
    "NO_OP",
    "PARTITION",
    "PARTITION_CHANGE",
    "PRODUCER_IDS",
    "REGISTER_BROKER",
    "REGISTER_CONTROLLER",
    "REMOVE_FEATURE_LEVEL",
    "REMOVE_TOPIC",
    "TOPIC",
    "UNFENCE_BROKER",
    "UNREGISTER_BROKER",
    "ZK_MIGRATION_STATE",
)
PATTERNS: Mapping[str, str] = {  # kind -> its pattern; the text itself is what it gives
    "quoted": r"[^']*",
    "quoted_text": r"(?:[^']|'(?!, \w+=|\)))*",
    "brackets": r"\[[^\]]*\]",
    "entity_type": r"broker|node|group|client metrics",
    "listener_event": r"(?:batch|bootstrap snapshot|committed snapshot|snapshot|leader change|new leadership) .*",
    "vote_reason": r"(?:since |already ).*",
    "candidate": rf"\({BALANCED}\)|\d+",
    "batch_step": r"(?!processing ).*",
    "returning": r"Re\w+",
    "one": r"1",
    "zero": r"0",
    "minus_one": r"-1",
    "new": r"new",
    "optional_id": r"OptionalInt(?:\[\d+\]|\.empty)|\d+",
    "control_api": r"LEADER_AND_ISR|UPDATE_METADATA|STOP_REPLICA",
    "controller_type": r"KRaft|ZK",
    "isr_task": r"isr-[\w-]+|auto-leader-rebalance-task",
    "id": r"[\w-]+",
    "json": r"\{.*\}",
    "name": r"[A-Za-z]\w*",
    "control": r"SnapshotHeader|SnapshotFooter|KRaftVersion",
    "other_record": rf"(?!(?:{'|'.join(STATE_RECORDS)})_RECORD\")\w+",
}
READERS: Mapping[str, tuple[str, Callable[[str], Mapping[str, Any]]]] = {  # kind -> its pattern, what it gives
    "record": (r"\{.*\}", json_record),
    "broker_record": (r"\{.*\}", json_broker),
    "broker_change_record": (r"\{.*\}", json_broker_change),
    "controller_record": (r"\{.*\}", json_controller),
    "config_record": (r"\{.*\}", json_config),
    "feature_record": (r"\{.*\}", json_feature),
    "printed": (rf"\w+\({BALANCED}\)", printed_record),
    "printed_change": (rf"\w+\({BALANCED}\)", printed_change),
    "previous": (rf"\w+\({BALANCED}\)", previous_record),
    "builder": (rf"\w+\({BALANCED}\)", builder_state),
    "broker_registration": (rf"\w+\({BALANCED}\)", broker_registration),
    "changes": (r"\w+: .*?", changes),
    "proposed": (r"Proposed ISR was .*", proposed),
    "offset_metadata": (r"(?:Optional\[)?LogOffsetMetadata\(.*?\)\]?", offset_metadata),
    "cordoned_directories": (r"\[[^\]]*\]", list_field("cordoned_directories")),
    "wording": ("|".join(re.escape(words) for words in sorted(_WORDINGS, reverse=True)), wording),
    "offline_directories": (r"\[[^\]]*\]", list_field("offline_directories")),
    "online_directories": (r"\[[^\]]*\]", list_field("online_directories")),
    "cordoned_log_dirs": (r"null|\[[^\]]*\]", list_field("cordoned_log_dirs")),
    "log_dirs": (r"\[[^\]]*\]", list_field("log_dirs")),
    "altered_isr": (rf"\[{BALANCED}\]", altered_isr),
    "clean_election": (r"a clean election", wording),
    "unclean_election": (r"an unclean election", wording),
    "elr_election": (r"ELR", wording),
    "record_names": (r".*?", record_names),
    "ineligible": (r"\[.*?\]", ineligible),
    "raft_leader": (r"Leader(?:State)?\(.*?\)", raft_state),
    "raft_follower": (r"Follower(?:State)?\(.*?\)", raft_state),
    "raft_candidate": (r"Candidate(?:State)?\(.*?\)", raft_state),
    "raft_other": (r"(?!Leader|Follower|Candidate)\w+\(.*?\)", raft_state),
    "raft_any": (r"\w+\(.*?\)", raft_state),
    "vote": (r"\(.*?\)", vote),
    "new_controller": (r"-?\d+|\(none\)", new_controller),
    "candidate_key": (r"\d+|ReplicaKey\(.*?\)", candidate_key),
    "controller_node": (r".*", controller_node),
    "event": (r"[\w-]+(?:\[(?:[^\[\]]|\[[^\[\]]*\])*\])?(?:\(\w+\))?", event),
    "context": (r"[\w-]+(?:\[[^\]]*\])?", context),
    "config_resource": (r"\(.*?\)", config_resource),
    "created_topics": (r"CreatableTopic\(.*", created_topics),
    "deleted_topics": (r"\{.*\}", deleted_topics),
    "partition_results": (r"\[.*\]", partition_results),
}
