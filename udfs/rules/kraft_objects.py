"""KRaft's records and objects as log lines print them: `Name(key=value, ...)`. Values come out as in `kraft_json`."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Container, Mapping
from typing import Any

from udfs.rules.known_fields import NEW_FIELDS, new_nested_fields, new_outer_fields
from udfs.rules.kraft_json import COLUMN_OF_KEY, record_fields, resource_fields, snake
from udfs.rules.printed import MORE
from udfs.rules.regex import late

_NESTING = late(r"(?<==)'[^'\n]*'|[(\[{]|[)\]}]|,[ \n]?(?=\w+=)")


def printed_fields(text: str) -> dict[str, str]:
    """The outermost fields of one printed object, as they stand there.

    >>> printed_fields("BrokerRegistration(id=2, listeners=[Endpoint(host='a', port=9092)], rack=Optional.empty)")
    {'id': '2', 'listeners': "[Endpoint(host='a', port=9092)]", 'rack': 'Optional.empty'}
    """
    inner = text[text.find("(") + 1 : text.rfind(")")]
    ends, depth = [0], 0
    for m in _NESTING.finditer(inner):
        if m[0] in "([{":
            depth += 1
        elif m[0] in ")]}":
            depth -= 1
        elif depth == 0 and m[0][0] == ",":  # a comma between two fields
            ends += [m.start(), m.end()]
    ends.append(len(inner))
    pairs = (inner[start:end].partition("=") for start, end in zip(ends[::2], ends[1::2], strict=True))
    return {key: value for key, _, value in pairs if key}


def json_value(value: str) -> Any:
    """A printed value as JSON would hold it; objects stay text."""
    if value == "null":
        return None
    if re.fullmatch(r"-?\d+", value):
        return int(value)
    if value[:1] == "'" == value[-1:]:
        return value[1:-1]
    if value[:1] == "[" and value[-1:] == "]" and not re.search(r"[(){}=]", value):
        items = value[1:-1].split(", ") if value != "[]" else []
        return [int(item) if re.fullmatch(r"-?\d+", item) else item for item in items]
    return value


def printed_record(text: str) -> dict[str, Any]:
    """A printed record or registration: `PartitionChangeRecord(...)`, `PartitionRegistration(...)`, `TopicRecord(...)`.

    The id of a broker is field `broker` (a column `broker_id` is the broker that writes).

    >>> printed_record("PartitionChangeRecord(partitionId=7, isr=[2, 3], leader=-2, replicas=null)")
    {'partition': 7, 'isr': [2, 3]}
    """
    fields = printed_fields(text)
    new = new_outer_fields(text.partition("(")[0], fields)
    read = record_fields({key: json_value(value) for key, value in fields.items() if key not in new})
    names = {"broker_id": "broker", "controller_id": "node_id", "topic_name": "topic"}
    known = {names.get(key, key): value for key, value in read.items()}
    return {**known, **new_fields({key: fields[key] for key in new}, new_nested_fields(text, fields), known)}


def new_fields(new: Mapping[str, str], nested: Collection[str], known: Container[str]) -> dict[str, str]:
    """New fields of an object as fields, lists as JSON text, and `new_fields` with their names and those of fields of
    objects within it; nothing if there are none. One whose name means something else gets `new_` before it."""
    if not new and not nested:
        return {}
    taken = {*COLUMN_OF_KEY.values(), "broker_id", "controller_id", "controller_epoch", "partitions", "correlation_id"}
    read = {}
    for name, value in new.items():
        key = snake(name)
        parsed = json_value(value)
        text = json.dumps(parsed) if isinstance(parsed, list) else value if parsed is None else str(parsed)
        read[f"new_{key}" if key in taken or key in known else key] = text
    return {**read, NEW_FIELDS: ",".join([*new, *nested])}


def printed_change(text: str) -> dict[str, Any]:
    """A change record before its leader is set."""
    return {key: value for key, value in printed_record(text).items() if key != "leader"}


def previous_record(text: str) -> dict[str, Any]:
    """A registration as it was before: all of it fields, `previous_leader`, `previous_isr` and so on."""
    return {
        key if key == NEW_FIELDS else f"previous_{key}": value if isinstance(value, str) else json.dumps(value)
        for key, value in printed_record(text).items()
    }


def builder_state(text: str) -> dict[str, Any]:
    """`PartitionChangeBuilder(partition=PartitionRegistration(...), ...)`: the state now, and the target."""
    outer = printed_fields(text)
    new = new_outer_fields("PartitionChangeBuilder", outer)
    aside = {"partition", "isAcceptableLeader", *new}
    known = {
        **printed_record(outer.get("partition", "()")),
        **record_fields({key: json_value(value) for key, value in outer.items() if key not in aside}),
    }
    return {**known, **new_fields({key: outer[key] for key in new}, (), known)}


_BROKER_STATE = late(rf"brokerId=(-?\d+){MORE}, brokerEpoch=(-?\d+)")


def altered_isr(text: str) -> dict[str, Any]:
    """A requested ISR: `[2, 3]`, from 3.5 on `[BrokerState(brokerId=2, brokerEpoch=71), ...]`."""
    states = [(int(m[1]), int(m[2])) for m in _BROKER_STATE.finditer(text)]
    if not states:
        return {"isr": [int(number) for number in re.findall(r"-?\d+", text)]}
    return {"isr": [broker for broker, _ in states], "isr_broker_epochs": json.dumps([epoch for _, epoch in states])}


def proposed(text: str) -> dict[str, Any]:
    """`Proposed ISR was [...] and current ISR is [...]. Current replica set is [...]. ...` (4.3 on)."""
    read = altered_isr(text.partition(" and current ISR")[0])
    if isr := re.search(r"current ISR is (\[[\d, -]*\])", text):
        read["current_isr"] = isr[1]
    if replicas := re.search(r"replica set is (\[[\d, -]*\])", text):
        read["replicas"] = json_value(replicas[1])
    for name, field in (("partitionEpoch", "current_partition_epoch"), ("leaderEpoch", "current_leader_epoch")):
        if epoch := re.search(rf"Current {name} is (-?\d+)", text):
            read[field] = epoch[1]
    return read


_CHANGE = late(r"(\w+): (\[[^\]]*\]|[\w-]+)(?: -> (\[[^\]]*\]|[\w-]+))?")


def changes(text: str) -> dict[str, Any]:
    """`isr: [2] -> [], leader: 2 -> -1, ...`: new values under their names, old ones as fields `old_...`.

    >>> changes("isr: [2] -> [], leader: 2 -> -1, lastKnownElr: [] -> [2]")
    {'isr': [], 'leader': -1, 'last_known_elr': '[2]', 'old_isr': '[2]', 'old_leader': '2', 'old_last_known_elr': '[]'}
    """
    old, new = {}, {}
    for m in _CHANGE.finditer(text):
        key = "replicas" if m[1] == "replicaSet" else m[1]
        if m[3] is None:  # what is so, without what was
            new[key] = json_value(m[2])
        else:
            old[key], new[key] = json_value(m[2]), json_value(m[3])
    return {
        **record_fields(new),
        **{
            f"old_{key}": value if isinstance(value, str) else json.dumps(value)
            for key, value in record_fields(old).items()
        },
    }


def config_resource(text: str) -> dict[str, Any]:
    """`ConfigResource(type=TOPIC, name='a-1')`; an empty name is the default of all."""
    fields = printed_fields(text)
    return resource_fields(fields.get("type", ""), fields.get("name", "").strip("'"), "broker")


def broker_registration(text: str) -> dict[str, Any]:
    """`BrokerRegistration(id=2, epoch=7, ..., rack=Optional[east], fenced=true, ...)`."""
    read = printed_record(text)
    rack = re.fullmatch(r"Optional\[(.*)\]", read.pop("rack", ""))
    names = {"id": "broker", "epoch": "broker_epoch", "directories": "log_dirs"}
    return {**{names.get(key, key): value for key, value in read.items()}, **({"rack": rack[1]} if rack else {})}
