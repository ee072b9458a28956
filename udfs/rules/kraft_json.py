"""Metadata records of KRaft as JSON, as `kafka-dump-log --cluster-metadata-decoder` prints them.

Every reader gives columns of `events` as values and everything else as text: lists as JSON text (`[1, 2]`,
`["a", "b"]`), in names as Kafka writes them, in snake_case. "Unchanged" and "not set" are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from udfs.rules.known_fields import NEW_FIELDS, new_json_keys

COLUMN_OF_KEY: Mapping[str, str] = {  # key of a record -> column
    "topicId": "topic_id",
    "topicName": "topic",
    "partitionId": "partition",
    "leader": "leader",
    "leaderEpoch": "leader_epoch",
    "partitionEpoch": "partition_epoch",
    "isr": "isr",
    "replicas": "replicas",
}
_FIELD_OF: Mapping[str, str] = {  # key of a record -> field, where it is not the key in snake_case
    "eligibleLeaderReplicas": "elr",
    "lastKnownELR": "last_known_elr",
    "endPoints": "listeners",
}
_RECOVERY_STATE: Mapping[str, str] = {"0": "RECOVERED", "1": "RECOVERING"}
_RESOURCE_TYPE: Mapping[str, str] = {
    "2": "TOPIC",
    "4": "BROKER",
    "8": "BROKER_LOGGER",
    "16": "CLIENT_METRICS",
    "32": "GROUP",
}


def snake(name: str) -> str:
    """`addingReplicas` -> `adding_replicas`."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda m: "_" + m[1].lower(), name)


def record_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """Keys and values of a record -> columns and fields; null, leader -2 and recovery state -1 mean "unchanged"."""
    read: dict[str, Any] = {}
    for key, value in data.items():
        column = COLUMN_OF_KEY.get(key)
        if value is None or (key == "leader" and value == -2) or (key == "leaderRecoveryState" and value == -1):
            continue
        if key == "name" and "topicId" in data:
            read["topic"] = value
        elif column:
            read[column] = value
        else:
            text = value if isinstance(value, str) else json.dumps(value)
            read[_FIELD_OF.get(key, snake(key))] = (
                _RECOVERY_STATE.get(text, text) if key == "leaderRecoveryState" else text
            )
    return read


def json_record(text: str) -> dict[str, Any]:
    """The data of one metadata record as `kafka-dump-log` prints it.

    >>> json_record('{"partitionId":7,"isr":[2],"leader":-2,"eligibleLeaderReplicas":[3]}')
    {'partition': 7, 'isr': [2], 'elr': '[3]'}
    """
    try:
        data = json.loads(text)
    except json.JSONDecodeError:  # cut off or overwritten: kept as it is
        return {"data": text}
    new = new_json_keys(data)
    return {**record_fields(data), **({NEW_FIELDS: ",".join(new)} if new else {})}


def json_broker(text: str) -> dict[str, Any]:
    """A record of a broker's registration: `brokerId` or, in fencing records, `id` and `epoch`."""
    read = json_record(text)
    broker = read.pop("broker_id", None) or read.pop("id", None)
    if "epoch" in read:
        read["broker_epoch"] = read.pop("epoch")
    return {**({} if broker is None else {"broker_id": int(broker)}), **read}


def json_broker_change(text: str) -> dict[str, Any]:
    """A change of a broker's registration: 1 it is so from now on, -1 no longer, 0 or missing unchanged."""
    changed = ("fenced", "in_controlled_shutdown")
    return {f"{key}_change" if key in changed else key: value for key, value in json_broker(text).items()}


def json_controller(text: str) -> dict[str, Any]:
    """A record that names a controller: its registration, or the change to a new leader of the quorum."""
    read = json_record(text)
    named = read.pop("controller_id", None) or read.pop("leader_id", None)
    for key in ("voters", "granting_voters"):
        if key in read:
            read[key] = json.dumps([voter.get("voterId") for voter in json.loads(read[key])])
    return {**({} if named is None else {"controller_id": int(named)}), **read}


def json_config(text: str) -> dict[str, Any]:
    """A configuration record: `topic` where it is a topic's, `broker_id` where it is a broker's."""
    read = json_record(text)
    kind = _RESOURCE_TYPE.get(read.get("resource_type", ""), read.get("resource_type", ""))
    aside = ("resource_type", "resource_name", "name", "value")
    return {
        **resource_fields(kind, read.get("resource_name", ""), "broker_id"),
        **{f"config_{key}": read[key] for key in ("name", "value") if key in read},
        **{key: value for key, value in read.items() if key not in aside},
    }


def json_feature(text: str) -> dict[str, Any]:
    """A feature level record, under the names of the log lines about it."""
    read = json_record(text)
    return {"feature" if key == "name" else key: value for key, value in read.items()}


def resource_fields(kind: str, name: str, broker: str) -> dict[str, Any]:
    if kind == "TOPIC":
        return {"config_resource_type": kind, "topic": name}
    if kind == "BROKER" and name.isdigit():
        return {"config_resource_type": kind, broker: int(name) if broker == "broker_id" else name}
    return {"config_resource_type": kind, **({"config_resource_name": name} if name else {})}
