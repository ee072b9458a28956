"""KRaft's records and objects: as JSON (`kafka-dump-log`), and as log lines print them (`Name(key=value, ...)`).

Every reader gives columns of `events` as values and everything else as text: lists as JSON text (`[1, 2]`,
`["a", "b"]`), in names as Kafka writes them, in snake_case. "Unchanged" and "not set" are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from udfs.rules.regex import late

_COLUMN_OF: Mapping[str, str] = {  # key of a record -> column
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


def _read(data: Mapping[str, Any]) -> dict[str, Any]:
    """Keys and values of a record -> columns and fields; null, leader -2 and recovery state -1 mean "unchanged"."""
    read: dict[str, Any] = {}
    for key, value in data.items():
        column = _COLUMN_OF.get(key)
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
    return _read(data)


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
    return {
        **_resource(kind, read.get("resource_name", ""), "broker_id"),
        **{f"config_{key}": read[key] for key in ("name", "value") if key in read},
    }


def json_feature(text: str) -> dict[str, Any]:
    """A feature level record, under the names of the log lines about it."""
    read = json_record(text)
    return {"feature" if key == "name" else key: value for key, value in read.items()}


def _resource(kind: str, name: str, broker: str) -> dict[str, Any]:
    if kind == "TOPIC":
        return {"config_resource_type": kind, "topic": name}
    if kind == "BROKER" and name.isdigit():
        return {"config_resource_type": kind, broker: int(name) if broker == "broker_id" else name}
    return {"config_resource_type": kind, **({"config_resource_name": name} if name else {})}


_NESTING = late(r"[(\[{]|[)\]}]|,[ \n]?(?=\w+=)")


def printed(text: str) -> dict[str, str]:
    """The outermost fields of one printed object, as they stand there.

    >>> printed("BrokerRegistration(id=2, listeners=[Endpoint(host='a', port=9092)], rack=Optional.empty)")
    {'id': '2', 'listeners': "[Endpoint(host='a', port=9092)]", 'rack': 'Optional.empty'}
    """
    inner = text[text.find("(") + 1 : text.rfind(")")]
    ends, depth = [0], 0
    for m in _NESTING.finditer(inner):
        if m[0] in "([{":
            depth += 1
        elif m[0] in ")]}":
            depth -= 1
        elif depth == 0:  # a comma between two fields
            ends += [m.start(), m.end()]
    ends.append(len(inner))
    pairs = (inner[start:end].partition("=") for start, end in zip(ends[::2], ends[1::2], strict=True))
    return {key: value for key, _, value in pairs if key}


def _plain(value: str) -> Any:
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
    read = _read({key: _plain(value) for key, value in printed(text).items()})
    names = {"broker_id": "broker", "controller_id": "node_id", "topic_name": "topic"}
    return {names.get(key, key): value for key, value in read.items()}


def printed_change(text: str) -> dict[str, Any]:
    """A change record before its leader is set."""
    return {key: value for key, value in printed_record(text).items() if key != "leader"}


def previous_record(text: str) -> dict[str, Any]:
    """A registration as it was before: all of it fields, `previous_leader`, `previous_isr` and so on."""
    return {
        f"previous_{key}": value if isinstance(value, str) else json.dumps(value)
        for key, value in printed_record(text).items()
    }


def builder_state(text: str) -> dict[str, Any]:
    """`PartitionChangeBuilder(partition=PartitionRegistration(...), ...)`: the state now, and the target."""
    outer = printed(text)
    rest = {key: value for key, value in outer.items() if key not in ("partition", "isAcceptableLeader")}
    return {
        **printed_record(outer.get("partition", "()")),
        **_read({key: _plain(value) for key, value in rest.items()}),
    }


_SAID: Mapping[str, tuple[str, str]] = {  # words that tell a field -> the field and its value
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


def said(text: str) -> dict[str, Any]:
    """A field that the wording tells, such as `an unclean election`."""
    field, value = _SAID[text]
    return {field: value}


def list_field(name: str) -> Callable[[str], dict[str, Any]]:
    """Reader of a bracketed list as JSON text, in a field of this name."""
    return lambda text: {name: json.dumps(_plain(text))}


def altered_isr(text: str) -> dict[str, Any]:
    """A requested ISR: `[2, 3]`, from 3.5 on `[BrokerState(brokerId=2, brokerEpoch=71), ...]`."""
    states = [(int(m[1]), int(m[2])) for m in re.finditer(r"brokerId=(-?\d+), brokerEpoch=(-?\d+)", text)]
    if not states:
        return {"isr": [int(number) for number in re.findall(r"-?\d+", text)]}
    return {"isr": [broker for broker, _ in states], "isr_broker_epochs": json.dumps([epoch for _, epoch in states])}


def ineligible(text: str) -> dict[str, Any]:
    """`[2 (fenced), 3 (shutting down)]`."""
    return {"ineligible_replicas": json.dumps([int(m) for m in re.findall(r"(\d+) \(", text)]), "reason": text[1:-1]}


def record_names(text: str) -> dict[str, Any]:
    """The names of the records in `ApiMessageAndVersion(TopicRecord(...) at version 0), ...`."""
    return {"records": json.dumps(re.findall(r"ApiMessageAndVersion\((\w+)\(", text))}


def proposed(text: str) -> dict[str, Any]:
    """`Proposed ISR was [...] and current ISR is [...]. Current replica set is [...]. ...` (4.3 on)."""
    read = altered_isr(text.partition(" and current ISR")[0])
    if isr := re.search(r"current ISR is (\[[\d, -]*\])", text):
        read["current_isr"] = isr[1]
    if replicas := re.search(r"replica set is (\[[\d, -]*\])", text):
        read["replicas"] = _plain(replicas[1])
    for name, field in (("partitionEpoch", "current_partition_epoch"), ("leaderEpoch", "current_leader_epoch")):
        if epoch := re.search(rf"Current {name} is (-?\d+)", text):
            read[field] = epoch[1]
    return read


def offset_metadata(text: str) -> dict[str, Any]:
    """`LogOffsetMetadata(offset=641, metadata=...)` as a high watermark."""
    offset = re.search(r"offset=(\d+)", text)
    return {"high_watermark": offset[1]} if offset else {}


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
            new[key] = _plain(m[2])
        else:
            old[key], new[key] = _plain(m[2]), _plain(m[3])
    return {
        **_read(new),
        **{f"old_{key}": value if isinstance(value, str) else json.dumps(value) for key, value in _read(old).items()},
    }


def raft_state(text: str) -> dict[str, Any]:
    """A state of the quorum that a node goes to: `Leader(...epoch=12...)`, `FollowerState(...)`, `Unattached(...)`.

    Where it tells of a leader, that is the controller, and the quorum's epoch the controller's.
    """
    fields = printed(text)
    name = text.partition("(")[0]
    read: dict[str, Any] = {"to_state": "CandidateState" if name == "Candidate" else name}
    epoch = re.match(r"\d+", fields.get("epoch", ""))
    if epoch:
        read["raft_epoch"] = epoch[0]
    own = _first_id(fields, "localId", "localReplicaKey", "localVoterNode")
    leader = own if name.startswith("Leader") else _first_id(fields, "leaderId", "leader")
    if leader is not None:
        read["raft_leader"] = str(leader)
    controller = own if name.startswith("Resigned") else leader  # who resigns gives up what it had claimed
    if controller is not None and epoch:
        read |= {"controller_id": controller, "controller_epoch": int(epoch[0])}
    for key, field in (("epochStartOffset", "offset"), ("retries", "retries"), ("votedId", "voted_id")):
        if key in fields:
            read[field] = fields[key]
    if voted := re.search(r"\bid=(\d+)", fields.get("votedKey", "")):
        read["voted_id"] = voted[1]
    return read


def _first_id(fields: Mapping[str, str], *names: str) -> int | None:
    """A node id: `1`, `OptionalInt[1]`, `ReplicaKey(id=1, ...)`, `VoterNode(voterKey=...)`, `host:9093 (id: 1 ...`."""
    for name in names:
        if m := re.match(
            r"(?:OptionalInt\[|ReplicaKey\(id=|VoterNode\(voterKey=ReplicaKey\(id=|\S+ \(id: )?(\d+)",
            fields.get(name, ""),
        ):
            return int(m[1])
    return None


def vote(text: str) -> dict[str, Any]:
    """A request for votes: who asks, for which epoch, and whether it only asks who would vote (4.0 on)."""
    wanted = {
        "candidate": r"(?:candidate|replica)Id=(\d+)",
        "candidate_epoch": r"(?:candidate|replica)Epoch=(\d+)",
        "last_offset": r"lastOffset=(-?\d+)",
        "last_offset_epoch": r"lastOffsetEpoch=(-?\d+)",
        "pre_vote": r"preVote=(\w+)",
    }
    return {name: m[1] for name, pattern in wanted.items() if (m := re.search(pattern, text))}


def new_controller(text: str) -> dict[str, Any]:
    """The leader of a new epoch, or `(none)`."""
    return {} if text == "(none)" else {"new_controller_id": text}


def candidate_key(text: str) -> dict[str, Any]:
    """A candidate for the quorum's leadership: its id, or `ReplicaKey(id=102, directoryId=...)` of which the id."""
    key = re.search(r"\bid=(\d+)", text)
    return {"candidate": key[1] if key else text}


def controller_node(text: str) -> dict[str, Any]:
    """A node of the cluster that is the controller now: `host:9093 (id: 101 rack: null)`, in 2.8 only its id."""
    node = re.search(r"\(id: (-?\d+) ", text)
    return (
        {"new_controller_id": text}
        if text.isdigit()
        else {
            **({"new_controller_id": node[1]} if node else {}),
            "new_controller": text,
        }
    )


def event(text: str) -> dict[str, Any]:
    """A controller event: `alterPartition`, up to 3.1 `alterIsr(735877098)`."""
    name, _, identity = text.rstrip(")").partition("(")
    return {"event": name, **({"event_identity": identity} if identity else {})}


def config_resource(text: str) -> dict[str, Any]:
    """`ConfigResource(type=TOPIC, name='a-1')`; an empty name is the default of all."""
    fields = printed(text)
    return _resource(fields.get("type", ""), fields.get("name", "").strip("'"), "broker")


def broker_registration(text: str) -> dict[str, Any]:
    """`BrokerRegistration(id=2, epoch=7, ..., rack=Optional[east], fenced=true, ...)`."""
    read = printed_record(text)
    rack = re.fullmatch(r"Optional\[(.*)\]", read.pop("rack", ""))
    names = {"id": "broker", "epoch": "broker_epoch", "directories": "log_dirs"}
    return {**{names.get(key, key): value for key, value in read.items()}, **({"rack": rack[1]} if rack else {})}


def context(text: str) -> dict[str, Any]:
    """Why a batch of changes is made: `handleBrokerFenced`, `enterControlledShutdown[2]`."""
    broker = re.search(r"\[(\d+)\]$", text)
    return {"context": text, **({"broker": broker[1]} if broker else {})}


_CREATED = late(r"CreatableTopic\(name='([^']*)', numPartitions=(-?\d+), replicationFactor=(-?\d+)")
_ASSIGNED = late(r"CreatableReplicaAssignment\(partitionIndex=(\d+), brokerIds=\[([\d, ]*)\]\)")


def created_topics(text: str) -> dict[str, Any]:
    """`CreatableTopic(...): SUCCESS, CreatableTopic(...): INVALID_PARTITIONS (...)`; several as one field `results`."""
    heads = list(_CREATED.finditer(text))
    results: list[dict[str, Any]] = []
    for i, head in enumerate(heads):
        told = text[head.start() : heads[i + 1].start() if i + 1 < len(heads) else len(text)].removesuffix(", ")
        result = re.search(r"\): ([A-Z_]+)(?: \((.*)\))?$", told, re.DOTALL)
        assigned = {int(m[1]): _plain(f"[{m[2]}]") for m in _ASSIGNED.finditer(told)}
        results.append(
            {
                "topic": head[1],
                "partition_count": int(head[2]) if int(head[2]) >= 0 or not assigned else len(assigned),
                "replication_factor": int(head[3]),
                **({"assignments": json.dumps(assigned)} if assigned else {}),
                **({"result": result[1]} if result else {}),
                **({"reason": result[2]} if result and result[2] else {}),
            }
        )
    return _one_or_more(results)


_DELETED = late(r"\{id: ([\w-]+), name: ([\w.-]+), result: ([A-Z_]+)(?: \(([^}]*)\))?\}")


def deleted_topics(text: str) -> dict[str, Any]:
    """`{id: ..., name: a-1, result: SUCCESS}, ...`; several as one field `results`."""
    return _one_or_more(
        [
            {"topic_id": m[1], "topic": m[2], "result": m[3], **({"reason": m[4]} if m[4] else {})}
            for m in _DELETED.finditer(text)
        ]
    )


def _one_or_more(results: list[dict[str, Any]]) -> dict[str, Any]:
    if len(results) != 1:
        return {"results": json.dumps(results)}
    return {key: value if key in ("topic", "topic_id") else str(value) for key, value in results[0].items()}


def partition_results(text: str) -> dict[str, Any]:
    """`[CreatePartitionsTopicResult(name='a', errorCode=0, ...), ...]`; several as one field `results`."""
    found = re.findall(r"name='([^']*)', errorCode=(-?\d+)", text)
    return _one_or_more([{"topic": name, "error_code": int(code)} for name, code in found])


def fitting(read: Callable[[str], Mapping[str, Any]]) -> Callable[[str], Mapping[str, Any]]:
    """The same reader; what a broken line gives for a column that cannot hold it is text in a field instead."""

    def fits(column: str, value: Any) -> bool:
        if column in ("topic", "topic_id"):
            return isinstance(value, str)
        if (column in ("isr", "replicas")) != isinstance(value, list):
            return False
        numbers = value if isinstance(value, list) else [value]
        return all(isinstance(number, int) and -(2**31) <= number < 2**31 for number in numbers)

    def kept(text: str) -> Mapping[str, Any]:
        told = read(text)
        misfits = [key for key, value in told.items() if not isinstance(value, str) and not fits(key, value)]
        misfits += [key for key in told if key in _NUMBERS and isinstance(told[key], str)]
        return {**told, **{f"{key}_text": str(told[key]) for key in misfits}, **dict.fromkeys(misfits)}

    return kept


_NUMBERS = {*_COLUMN_OF.values(), "broker_id", "controller_id", "controller_epoch"} - {"topic", "topic_id"}
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
    "brackets": r"\[[^\]]*\]",
    "entity_type": r"broker|node|group|client metrics",
    "listener_event": r"(?:batch|bootstrap snapshot|committed snapshot|snapshot|leader change|new leadership) .*",
    "vote_reason": r"(?:since |already ).*",
    "candidate": r"\((?:[^()]|\([^()]*\))*\)|\d+",
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
    "printed": (r"\w+\(.*?\)", printed_record),
    "printed_change": (r"\w+\(.*?\)", printed_change),
    "previous": (r"\w+\(.*?\)", previous_record),
    "builder": (r"\w+\(.*?\)", builder_state),
    "broker_registration": (r"\w+\(.*?\)", broker_registration),
    "changes": (r"\w+: .*?", changes),
    "proposed": (r"Proposed ISR was .*", proposed),
    "offset_metadata": (r"(?:Optional\[)?LogOffsetMetadata\(.*?\)\]?", offset_metadata),
    "cordoned_directories": (r"\[[^\]]*\]", list_field("cordoned_directories")),
    "said": ("|".join(re.escape(words) for words in sorted(_SAID, reverse=True)), said),
    "offline_directories": (r"\[[^\]]*\]", list_field("offline_directories")),
    "online_directories": (r"\[[^\]]*\]", list_field("online_directories")),
    "log_dirs": (r"\[[^\]]*\]", list_field("log_dirs")),
    "altered_isr": (r"\[(?:[^\[\]()]|\([^()]*\))*\]", altered_isr),
    "clean_election": (r"a clean election", said),
    "unclean_election": (r"an unclean election", said),
    "elr_election": (r"ELR", said),
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
    "event": (r"[\w-]+(?:\[[^\]]*\])?(?:\(\w+\))?", event),
    "context": (r"[\w-]+(?:\[\d+\])?", context),
    "config_resource": (r"\(.*?\)", config_resource),
    "created_topics": (r"CreatableTopic\(.*", created_topics),
    "deleted_topics": (r"\{.*\}", deleted_topics),
    "partition_results": (r"\[.*\]", partition_results),
}
