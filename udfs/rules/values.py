"""Values as Kafka prints them, read into plain Python: id lists, partition names, partition states.

Every reader takes the exact text that a rule captured. Renderings differ by release (`1,2,3`, `[1, 2]`,
`List(2, 3)`, `[BrokerState(brokerId=2, brokerEpoch=-1)]`), what they mean does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TypedDict

from udfs.rules.printed import BALANCED, BEFORE, MORE
from udfs.rules.regex import late


class PartitionState(TypedDict, total=False):
    """One line's values of one partition; a missing key was not printed."""

    topic: str
    topic_id: str
    partition: int
    leader: int
    leader_epoch: int
    partition_epoch: int
    controller_epoch: int
    isr: list[int]
    replicas: list[int]
    adding_replicas: list[int]
    removing_replicas: list[int]
    offline_replicas: list[int]
    elr: list[int]


_NUMBER = late(r"-?\d+")
_BROKER_STATE = late(r"brokerId=(-?\d+)")
_PARTITION = late(
    r"(?:TopicAndPartition\(|PartitionAndReplica\(|(?<![\w=])(?<!-> )[\[(])"  # not the two ids of `List(1, 2)`
    r"(?P<old>[\w.-]+), ?(?P<old_number>\d+)(?:,\d+)?[\])]"
    r"|\[?Topic=(?P<topic>[\w.-]+),Partition=(?P<number>\d+)"
    rf"|topicName='(?P<named>[\w.-]+)'{MORE}, partitionIndex=(?P<named_number>\d+)"
    r"|(?<![\w.-])(?P<new>[\w.-]+)-(?P<new_number>\d+)(?![\w-]|\.[\w.-])"
)
_WORDS = (  # field of a printed state -> the key here
    ("leader", "leader", r"\bleader=(-?\d+)|\bLeader:(-?\d+)|\"leader\": ?\"?(-?\d+)"),
    (
        "leaderEpoch",
        "leader_epoch",
        r"leader(?:Epoch|_epoch)=(-?\d+)|LeaderEpoch:(-?\d+)|\"leader_?[eE]poch\": ?\"?(-?\d+)",
    ),
    (
        "partitionEpoch",
        "partition_epoch",
        r"(?:partitionEpoch|zkVersion|zk_version|currentIsrVersion)=(-?\d+)|ZkVersion:(-?\d+)",
    ),
    (
        "controllerEpoch",
        "controller_epoch",
        r"controller(?:Epoch|_epoch)=(-?\d+)|ControllerEpoch:(-?\d+)|\"controller_epoch\": ?(-?\d+)",
    ),
)
_STATE_NUMBERS = tuple((key, late(pattern)) for _, key, pattern in _WORDS)
_STATE_LISTS = tuple(
    (key, late(pattern))
    for key, pattern in (
        (
            "isr",
            (
                r"\bisr(?:WithBrokerEpoch)?=\w*(?:\(((?:[^()]|\([^()]*\))*)\)|\[([^\]]*)\])|\bisr=([\d,]*)(?=, )"
                r"|ISR:([\d,]*),Leader|\"(?:isr|ISR)\": ?[\"\[]([\d, ]*)"
            ),
        ),
        ("replicas", r"\breplicas=\[?([\d, ]*)\]?|AllReplicas:([\d,]*)"),
        ("adding_replicas", r"addingReplicas=\[?([\d, ]*)\]?"),
        ("removing_replicas", r"removingReplicas=\[?([\d, ]*)\]?"),
        ("offline_replicas", r"offlineReplicas=\[?([\d, ]*)\]?"),
        ("elr", r"\belr=\[([\d, ]*)\]|eligibleLeaderReplicas=\[([\d, ]*)\]"),
    )
)
_STATE_NAME = late(r"topicName='([^']*)', partitionIndex=(\d+)|partitionId=(\d+), topicId=([\w-]+)")


def ids(text: str) -> list[int]:
    """Broker ids of a list in any rendering, in printed order; of `BrokerState(...)` lists only the ids.

    >>> ids("List(BrokerState(brokerId=2, brokerEpoch=-1), BrokerState(brokerId=3, brokerEpoch=-1))")
    [2, 3]
    >>> ids("")
    []
    """
    return [int(number) for number in (_BROKER_STATE if "brokerId=" in text else _NUMBER).findall(text)]


def replica_ids(text: str) -> list[int]:
    """Broker ids of printed `Replica` objects, up to 2.3: `ReplicaId: 2; ...` or `Replica(replicaId=2, ...)`."""
    return [int(number) for number in re.findall(r"[rR]eplicaId(?:: |=)(\d+)", text)]


def partition_name(text: str) -> tuple[str, int]:
    """Topic and number of `topic-7`, `[topic,7]` or `(topic,7)`; the number follows the last hyphen.

    >>> partition_name("mysql-kafka--0"), partition_name("[a-1, 7]")
    (('mysql-kafka-', 0), ('a-1', 7))
    """
    if text[0] in "[(" and text[-1] in "])":
        topic, _, number = text[1:-1].rpartition(",")
    else:
        topic, _, number = text.rpartition("-")
    return topic, int(number)


def partition_names(text: str) -> list[PartitionState]:
    """All partitions named in a list, map or set of any rendering, in printed order, each once."""
    seen: dict[tuple[str, int], None] = {}
    for m in _PARTITION.finditer(text):
        number = m["old_number"] or m["number"] or m["named_number"] or m["new_number"]
        seen[m["old"] or m["topic"] or m["named"] or m["new"], int(number)] = None
    return [{"topic": topic, "partition": number} for topic, number in seen]


def partition_state(text: str) -> PartitionState:
    """The state in a printed object: `LeaderAndIsr(...)`, `PartitionRegistration(...)`, `(Leader:1,ISR:1,...)`.

    >>> partition_state("(Leader:0,ISR:0,1,LeaderEpoch:2,ControllerEpoch:4)")["isr"]
    [0, 1]
    """
    state: dict[str, Any] = {}
    if m := _STATE_NAME.search(text):
        named = {"topic": m[1], "partition": int(m[2])} if m[2] else {"topic_id": m[4], "partition": int(m[3])}
        state.update(named)
    for key, pattern in _STATE_NUMBERS:
        if m := pattern.search(text):
            state[key] = int(next(group for group in m.groups() if group is not None))
    for key, pattern in _STATE_LISTS:
        if m := pattern.search(text):
            state[key] = ids(next(group for group in m.groups() if group is not None))
    return state  # type: ignore[return-value]  # keys come from the tables above


_STATE_OF = late(  # where the state of a named partition begins, in maps, requests and wire structures
    r"(?:[\[(](?P<old>[\w.-]+), ?(?P<old_number>\d+)[\])]|(?P<new>[\w.-]+)-(?P<new_number>\d+))(?: -> |=)(?=[\w$.]*\()"
    r"|topicName='(?P<named>[\w.-]*)', partitionIndex=(?P<named_number>\d+)"
    r"|\{topic=(?P<wire>[\w.-]+),partition=(?P<wire_number>\d+),"
)


def _slices(start: re.Pattern[str], text: str, begin: int, end: int) -> Iterator[tuple[re.Match[str], int]]:
    """Each match, with where the next one begins."""
    last: re.Match[str] | None = None
    for m in start.finditer(text, begin, end):
        if last:
            yield last, m.start()
        last = m
    if last:
        yield last, end


def partition_states(text: str) -> list[PartitionState]:
    """Each named partition of a printed map or request with all its values, in printed order, each once."""
    states: dict[tuple[str, int], PartitionState] = {}
    for m, after in _slices(_STATE_OF, text, 0, len(text)):
        topic = m["old"] or m["new"] or m["named"] or m["wire"] or ""
        number = int(m["old_number"] or m["new_number"] or m["named_number"] or m["wire_number"])
        states[topic, number] = {**partition_state(text[m.end() : after]), "topic": topic, "partition": number}
    return list(states.values())


_TOPIC_ID_OF = late(r"TopicIdReplicaAssignment\(([\w.-]+),Some\(([\w-]+)\)")
_REPLICAS_OF = late(
    r"(?:\[([\w.-]+), ?(\d+)\]|([\w.-]+)-(\d+)) -> "
    rf"(?:\w*ReplicaAssignment\({BEFORE}replicas=([\d,]*){MORE}, addingReplicas=([\d,]*){MORE}, "
    rf"removingReplicas=([\d,]*){MORE}\)"
    r"|(?:\w+\()*\[?([\d, ]*)[)\]]?)"
)


def partition_replicas(text: str) -> list[PartitionState]:
    """`topic-7 -> List(1, 2)` or `-> ReplicaAssignment(...)` pairs of a printed map, in printed order."""
    states: list[PartitionState] = []
    topic_ids = dict(_TOPIC_ID_OF.findall(text))
    for m in _REPLICAS_OF.finditer(text):
        state: PartitionState = {"topic": m[1] or m[3], "partition": int(m[2] or m[4])}
        if state["topic"] in topic_ids:
            state["topic_id"] = topic_ids[state["topic"]]
        state["replicas"] = ids(m[5] if m[5] is not None else m[8])
        if m[5] is not None:
            state["adding_replicas"], state["removing_replicas"] = ids(m[6]), ids(m[7])
        states.append(state)
    return states


def replica_assignment(text: str) -> PartitionState:
    """`ReplicaAssignment(replicas=1,2, addingReplicas=2, removingReplicas=)` (2.4.0 on), or a plain list before."""
    if "replicas=" not in text:
        return {"replicas": ids(text)}
    state = partition_state(text)
    keys = ("replicas", "adding_replicas", "removing_replicas")
    return {key: value for key, value in state.items() if key in keys}  # type: ignore[return-value]  # keys of a state


_RESPONSE = late(
    r"(?P<api>LeaderAndIsr|UpdateMetadata|StopReplica)Response"
    r"\((?P<correlation_id>\d+),(?:Map\((?P<map>.*)\),)?(?P<code>-?\d+)\)"
    r"|(?:\{error_code=|\w+\(errorCode=)(?P<error_code>-?\d+)"
    r"(?:, ?(?:partition_errors|partitions|partitionErrors)=(?P<errors>.*)|,_tagged_fields=\{\})?[})]"
)
_APIS = {"LeaderAndIsr": "LEADER_AND_ISR", "UpdateMetadata": "UPDATE_METADATA", "StopReplica": "STOP_REPLICA"}


def response(text: str) -> dict[str, Any]:
    """What a broker answered a controller: error code and, as printed, the errors of partitions."""
    m = _RESPONSE.fullmatch(text)
    if m is None:
        return {"response": text}
    fields: dict[str, Any] = {"error_code": m["code"] or m["error_code"]}
    if m["api"]:  # 0.8.2 only; later the line names it outside
        fields["api"], fields["correlation_id"] = _APIS[m["api"]], int(m["correlation_id"])
    errors = m["map"] if m["map"] is not None else m["errors"]
    return fields if errors is None else {**fields, "partition_errors": errors.removesuffix(",_tagged_fields={}")}


_PREFERRED = late(r"Preferred replica (\d+) ")
_SHUTTING_DOWN = late(
    r"No other replicas in ISR ([\d,]*) for .*? besides (?:current leader (-?\d+) and )?shutting down brokers ([\d,]*)"
)


def election_error(text: str) -> dict[str, Any]:
    """Why no leader could be elected (up to 1.0): the text as `reason`, and the state it quotes."""
    fields: dict[str, Any] = {"reason": text}
    if m := _PREFERRED.match(text):
        fields["preferred_leader"] = m[1]
    if m := _SHUTTING_DOWN.match(text):
        fields["isr"], fields["shutting_down_brokers"] = ids(m[1]), m[3]
        return fields if m[2] is None else {**fields, "leader": int(m[2])}
    state = partition_state(text)
    return {**fields, **{key: value for key, value in state.items() if key in ("leader", "leader_epoch", "isr")}}


_REPLICAS_OF_NUMBER = late(
    r'"(\d+)" ?: ?\[ ?([\d, ]*)\]'
    r"|(?<![\w.-])(\d+) -> (?:\w*ReplicaAssignment\(replicas=([\d,]*), addingReplicas=([\d,]*), "
    r"removingReplicas=([\d,]*)\)|(?:\w+\()*([\d, ]*))"
)
_TOPIC_BESIDE = late(r"/brokers/topics/([\w.-]+)|^for '?([\w.-]+)'? |^([\w.-]+) with configuration (\{.*\}) and ")


def path_assignment(text: str) -> dict[str, Any]:
    """Replicas by partition, in JSON or as a map, with their topic before or behind if the text names it."""
    m = _TOPIC_BESIDE.search(text)
    fields: dict[str, Any] = {"topic": m[1] or m[2] or m[3]} if m else {}
    named = partition_replicas(text)
    for n in () if named else _REPLICAS_OF_NUMBER.finditer(text):
        state: PartitionState = {"partition": int(n[1] or n[3]), "replicas": ids(n[2] or n[4] or n[7] or "")}
        if fields:
            state["topic"] = fields["topic"]
        if n[4] is not None:
            state["adding_replicas"], state["removing_replicas"] = ids(n[5]), ids(n[6])
        named.append(state)
    if m and m[4]:
        fields["configs"] = m[4]
    return {**fields, "partitions": named}


_FETCHED = late(
    r"(?:\[([\w.-]+),(\d+)\]|([\w.-]+)-(\d+))"
    r"(?:, initOffset(?: -?\d+ to broker (?:id:|BrokerEndPoint\()(?P<leader>\d+))?"
    r"| -> (?:\(offset=\d+, leaderEpoch=(?P<epoch>-?\d+)\)"
    r"|InitialFetchState\((?:Some\((?P<id>[\w-]+)\),|None,)?"
    rf"BrokerEndPoint[(\[]{BALANCED}[)\]],"
    r"(?P<state_epoch>-?\d+),)?)"
)


def fetched(text: str) -> list[PartitionState]:
    """Partitions of a fetcher manager's map; the names of brokers' hosts look alike."""
    states: list[PartitionState] = []
    for m in _FETCHED.finditer(text):
        state: PartitionState = {"topic": m[1] or m[3], "partition": int(m[2] or m[4])}
        if epoch := m["epoch"] or m["state_epoch"]:
            state["leader_epoch"] = int(epoch)
        if m["leader"]:
            state["leader"] = int(m["leader"])
        if m["id"]:
            state["topic_id"] = m["id"]
        states.append(state)
    return states


def json_partitions(text: str) -> list[PartitionState]:
    """`{"partitions":[{"topic":...,"partition":...,"replicas":[...]}]}` as ZooKeeper holds it for tools."""
    try:
        listed = json.JSONDecoder().raw_decode(text)[0]["partitions"]
    except (ValueError, KeyError, TypeError):
        return []
    keys = ("topic", "partition", "replicas")
    return [{key: entry[key] for key in keys if key in entry} for entry in listed]  # type: ignore[misc]  # its keys


_REQUEST = late(  # how a request names itself, before the list of its partitions
    r"(?:\(?type(?:=|: )|Name: ?|^)(?P<name>LeaderAndIs|LeaderAndIsr|UpdateMetadata|StopReplica)Request"
    r"|^(?P<upper>[A-Z_]+) with |^(?P<plain>LeaderAndIsr|UpdateMetadata|StopReplica) request"
)
_REQUEST_PARTS = (
    ("correlation_id", late(r"(?:CorrelationId: ?|correlation id )(\d+)")),
    ("controller_id", late(r"(?:^\{controller_id=|controllerId=|;Controller: ?)(\d+)")),
    (
        "controller_epoch",
        late(r"(?:^\{controller_id=\d+,controller_epoch=|controllerEpoch=|ControllerEpoch: ?)(-?\d+)"),
    ),
    ("broker_epoch", late(r"brokerEpoch=(-?\d+)")),
    ("delete_partition", late(r"(?:deletePartitions=|delete_partitions=|DeletePartitions: )(\w+)")),
)


def request(text: str) -> dict[str, Any]:
    """A controller's request as printed when it could not be sent: its kind and all values of each partition."""
    fields: dict[str, Any] = {}
    if m := _REQUEST.search(text):
        name = m["name"] or m["plain"]
        fields["api"] = m["upper"] or _APIS["LeaderAndIsr" if name == "LeaderAndIs" else name]
    elif "delete_partitions=" in text:
        fields["api"] = "STOP_REPLICA"
    elif "partition_states=" in text:
        fields["api"] = "LEADER_AND_ISR" if "live_leaders=" in text else "UPDATE_METADATA"
    for key, pattern in _REQUEST_PARTS:
        if m := pattern.search(text):
            fields[key] = m[1] if key in ("broker_epoch", "delete_partition") else int(m[1])
    listed = re.search(r"(?<![a-z])[pP]artitions[=:](.*)", text)
    states = partition_states(text) or _wire_partitions(text) or partition_names(listed[1] if listed else "")
    return {**fields, "partitions": states} if states else fields


_TOPIC_STATE = late(rf"(?:topicName|name)='([\w.-]*)'(?:{MORE}, topicId=([\w-]+))?{MORE}, partition(?:State)?s=\[")
_PARTITION_STATE = late(r"partitionIndex=(\d+)")
_OLD_WIRE = late(r"\{topic=([\w.-]+),partition=(\d+)\}")


def _wire_partitions(text: str) -> list[PartitionState]:
    """Partitions nested below their topics, as generated request data prints them."""
    states: list[PartitionState] = [{"topic": m[1], "partition": int(m[2])} for m in _OLD_WIRE.finditer(text)]
    for topic, end in _slices(_TOPIC_STATE, text, 0, len(text)):
        named: PartitionState = {"topic": topic[1], "topic_id": topic[2]} if topic[2] else {"topic": topic[1]}
        for m, after in _slices(_PARTITION_STATE, text, topic.end(), end):
            state = partition_state(_NEW_ISR.sub("isr=[", text[m.start() : after]))
            states.append({**named, **state, "partition": int(m[1])})
    return states


_NEW_ISR = late(r"newIsrWithEpochs=\[|newIsr=\[(?!\])")


def alter_request(text: str) -> list[PartitionState]:
    """The ISR changes a leader asked for, from a printed AlterPartition request."""
    return _wire_partitions(text)


def named_replicas(text: str) -> list[PartitionState]:
    """Partitions of a map with their replicas, or of a list or set by name.

    >>> named_replicas("Map(a-1-0 -> Buffer(4, 3))")
    [{'topic': 'a-1', 'partition': 0, 'replicas': [4, 3]}]
    """
    return partition_replicas(text) or partition_names(text)


def unsent(text: str) -> list[PartitionState]:
    """Partitions of a batch that could not be sent: with their states, or else by name."""
    return partition_states(text) or partition_names(text)
