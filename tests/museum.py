"""The bug museum: faults that Kafka had, each as the few log lines that it would leave, and the rule that catches it.

Lines are those of the captures with other values, in the layout of Kafka's own log4j.properties. Of each exhibit there
is a `mended` log, too, as Kafka writes it without the fault. docs/museum.md shows them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Lines = list[tuple[str, str]]
"""Log file, as `broker-9/controller.log`, and a line of it."""
TOPIC_ID = "KhF3C-6ySS-jaby-AF3Bxg"
FIRST_MS = 1_772_359_200_000  # 2026-03-01 10:00:00 UTC


@dataclass(frozen=True)
class Exhibit:
    """`judged_by`: the release whose algorithms it is judged by: that which had the fault, or that which mended it."""

    name: str
    fault: str
    judged_by: str
    rule: str
    lines: Lines
    mended: Lines
    unclean_enabled: bool | None = None


def write(lines: Lines, folder: Path) -> None:
    """Log files of lines."""
    files: dict[str, list[str]] = {}
    for file, line in lines:
        files.setdefault(file, []).append(line)
    for file, of_file in files.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in of_file), encoding="utf-8")


# ---- lines of ZooKeeper controllers and their brokers, as of 2.4 ----------------------------------------------------
def _record(at_s: float, level: str, message: str, logger: str) -> str:
    seconds, milliseconds = divmod(round(at_s * 1000), 1000)
    time = f"10:{seconds // 60:02}:{seconds % 60:02},{milliseconds:03}"
    return f"[2026-03-01 {time}] {level} {message} ({logger})"


def _controller(at_s: float, node: int, message: str, level: str = "INFO") -> tuple[str, str]:
    record = _record(at_s, level, f"[Controller id={node}] {message}", "kafka.controller.KafkaController")
    return f"broker-{node}/controller.log", record


def _term(at_s: float, node: int, epoch: int, alive: Sequence[int]) -> Lines:
    """A controller begins its term."""
    brokers = ", ".join(map(str, alive))
    return [
        _controller(
            at_s, node, f"{node} successfully elected as the controller. Epoch incremented to {epoch} and epoch zk "
            f"version is now {epoch}",
        ),
        _controller(at_s + 0.01, node, f"Currently active brokers in the cluster: Set({brokers})"),
        _controller(at_s + 0.01, node, "Currently shutting brokers in the cluster: HashSet()"),
        _controller(at_s + 0.02, node, "Ready to serve as the new controller with epoch " + str(epoch)),
    ]  # fmt: skip


def _live(at_s: float, node: int, added: str, deleted: str, alive: Sequence[int]) -> Lines:
    """A controller notices who came and went."""
    brokers = ",".join(map(str, alive))
    lines = [
        _controller(
            at_s, node,
            f"Newly added brokers: {added}, deleted brokers: {deleted}, bounced brokers: , all live brokers: {brokers}",
        )
    ]  # fmt: skip
    lines += [_controller(at_s, node, f"New broker startup callback for {added}")] if added else []
    return lines + ([_controller(at_s, node, f"Broker failure callback for {deleted}")] if deleted else [])


def _state_change(at_s: float, node: int, message: str) -> tuple[str, str]:
    return f"broker-{node}/state-change.log", _record(at_s, "TRACE", message, "state.change.logger")


def _changed(
    at_s: float, node: int, epoch: int, was: str, leader: int, leader_epoch: int, isr: Sequence[int], version: int
) -> tuple[str, str]:
    """A controller makes orders-0 online."""
    members = ", ".join(map(str, isr))
    return _state_change(
        at_s, node,
        f"[Controller id={node} epoch={epoch}] Changed partition orders-0 from {was} to OnlinePartition with state "
        f"LeaderAndIsr(leader={leader}, leaderEpoch={leader_epoch}, isr=List({members}), zkVersion={version})",
    )  # fmt: skip


def _state(
    epoch: int, leader: int, leader_epoch: int, isr: Sequence[int], version: int, replicas: Sequence[int]
) -> str:
    return (
        f"LeaderAndIsrPartitionState(topicName='orders', partitionIndex=0, controllerEpoch={epoch}, leader={leader}, "
        f"leaderEpoch={leader_epoch}, isr={[*isr]}, zkVersion={version}, replicas={[*replicas]}, addingReplicas=[], "
        "removingReplicas=[], isNew=false)"
    )


def _sent(at_s: float, node: int, epoch: int, broker: int, state: str) -> tuple[str, str]:
    return _state_change(
        at_s, node,
        f"[Controller id={node} epoch={epoch}] Sending become-follower LeaderAndIsr request {state} to broker {broker} "
        "for partition orders-0",
    )  # fmt: skip


def _obeyed(at_s: float, broker: int, number: int, controller: int, epoch: int, state: str) -> Lines:
    """A broker receives a LeaderAndIsr and becomes leader."""
    handling = (
        f"[Broker id={broker}] Handling LeaderAndIsr request correlationId {number} from controller {controller} "
    )
    return [
        _state_change(
            at_s, broker,
            f"[Broker id={broker}] Received LeaderAndIsr request {state} correlation id {number} from controller "
            f"{controller} epoch {epoch}",
        ),
        _state_change(
            at_s + 0.01, broker,
            f"{handling}epoch {epoch} starting the become-leader transition for partition orders-0",
        ),
    ]  # fmt: skip


# ---- lines of a metadata dump ---------------------------------------------------------------------------------------
def _dump(*records: tuple[float, str, Mapping[str, object]]) -> Lines:
    """Records (seconds, type, data), each in a batch of its own."""
    file = "controller-100/metadata-dump.txt"
    lines = [(file, "Dumping __cluster_metadata-0/00000000000000000000.log"), (file, "Log starting offset: 0")]
    for offset, (at_s, kind, data) in enumerate(records):
        at = FIRST_MS + round(at_s * 1000)
        lines += [
            (
                file,
                f"baseOffset: {offset} lastOffset: {offset} count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 "
                "producerEpoch: -1 partitionLeaderEpoch: 1 isTransactional: false isControl: false deleteHorizonMs: "
                f"OptionalLong.empty position: {offset * 100} CreateTime: {at} size: 100 magic: 2 compresscodec: none "
                "crc: 1 isvalid: true",
            ),
            (
                file,
                f"| offset: {offset} CreateTime: {at} keySize: -1 valueSize: 20 sequence: -1 headerKeys: [] payload: "
                + json.dumps({"type": kind, "version": 0, "data": data}, separators=(",", ":")),
            ),
        ]
    return lines


def _born(
    replicas: Sequence[int], level: int, isr: Sequence[int] = ()
) -> list[tuple[float, str, Mapping[str, object]]]:
    """A cluster of brokers 1 to 4 with one partition, orders-0."""
    records: list[tuple[float, str, Mapping[str, object]]] = [
        (0, "FEATURE_LEVEL_RECORD", {"name": "metadata.version", "featureLevel": level})
    ]
    for broker in (1, 2, 3, 4):
        records.append(
            (
                1, "REGISTER_BROKER_RECORD",
                {"brokerId": broker, "incarnationId": f"8NE8mMVITpiuP1FoOdK4b{broker}", "brokerEpoch": broker,
                 "endPoints": [{"name": "PLAINTEXT", "host": "h", "port": 9092, "securityProtocol": 0}],
                 "features": [], "rack": None, "fenced": True},
            )
        )  # fmt: skip
        records.append(_unfenced(2, broker))
    records.append((10, "TOPIC_RECORD", {"name": "orders", "topicId": TOPIC_ID}))
    partition = {
        "partitionId": 0, "topicId": TOPIC_ID, "replicas": [*replicas], "isr": [*(isr or replicas)],
        "removingReplicas": [], "addingReplicas": [], "leader": replicas[0], "leaderEpoch": 0, "partitionEpoch": 0,
    }  # fmt: skip
    return [*records, (10, "PARTITION_RECORD", partition)]


def _fenced(at_s: float, broker: int) -> tuple[float, str, Mapping[str, object]]:
    return at_s, "BROKER_REGISTRATION_CHANGE_RECORD", {"brokerId": broker, "brokerEpoch": broker, "fenced": 1}


def _unfenced(at_s: float, broker: int) -> tuple[float, str, Mapping[str, object]]:
    return at_s, "BROKER_REGISTRATION_CHANGE_RECORD", {"brokerId": broker, "brokerEpoch": broker, "fenced": -1}


def _change(at_s: float, **fields: object) -> tuple[float, str, Mapping[str, object]]:
    return at_s, "PARTITION_CHANGE_RECORD", {"partitionId": 0, "topicId": TOPIC_ID, **fields}


# ---- the exhibits ---------------------------------------------------------------------------------------------------
_ALIVE = (1, 2, 3, 8, 9)
_WITHOUT_1 = (2, 3, 8, 9)
_PREFERRED = "Starting replica leader election (PREFERRED) for partitions orders-0 triggered by AdminClientTriggered"


def _created(leader: int, isr: Sequence[int], replicas: Sequence[int]) -> Lines:
    """Controller 9 in epoch 7 creates orders-0."""
    state = _state(7, leader, 0, isr, 0, replicas)
    return [
        *_term(0, 9, 7, _ALIVE),
        _changed(5, 9, 7, "NewPartition", leader, 0, isr, 0),
        _sent(5.01, 9, 7, leader, state),
        *_obeyed(5.02, leader, 1, 9, 7, state),
    ]


def _obeys(controller: int, epoch: int) -> Lines:
    """Broker 1 starts and hears of controller 8; then it gets another request."""
    return [
        ("broker-1/server.log", _record(0, "INFO", "[KafkaServer id=1] Starting", "kafka.server.KafkaServer")),
        *_term(0, 9, 7, _ALIVE),
        *_term(20, 8, 8, _ALIVE),
        *_obeyed(21, 1, 3, 8, 8, _state(8, 1, 5, [1, 2], 9, [1, 2])),
        *_obeyed(22, 1, 40, controller, epoch, _state(epoch, 1, 6, [1, 2], 10, [1, 2])),
    ]


def _after_failover(*lines: tuple[str, str]) -> Lines:
    """Controller 8 takes over from 9, which is cut off, and with it goes broker 1: 2 leads."""
    return [
        *_created(1, [1, 2], [1, 2]),
        *_term(30, 8, 8, (2, 3, 8)),
        _changed(30.1, 8, 8, "OfflinePartition", 2, 1, [2], 1),
        _sent(30.2, 8, 8, 2, _state(8, 2, 1, [2], 1, [1, 2])),
        *lines,
    ]


def _without_leader(*lines: tuple[str, str]) -> Lines:
    """Broker 1, the only one in sync, crashes and returns; 110 s later controller 8 takes over."""
    return [
        *_created(1, [1], [1, 2]),
        *_live(60, 9, "", "1", _WITHOUT_1),
        _sent(60.1, 9, 7, 2, _state(7, -1, 1, [1], 1, [1, 2])),
        *_live(90, 9, "1", "", _ALIVE),
        *lines,
        *_term(200, 8, 8, _ALIVE),
    ]


def _shut_down(leader: int) -> Lines:
    """Broker 1 shuts down; the ISR is stored in the order 1, 3, 2."""
    return [
        *_created(1, [1, 3, 2], [1, 2, 3]),
        _controller(20, 9, "Shutting down broker 1"),
        _changed(20.1, 9, 7, "OnlinePartition", leader, 1, [3, 2], 1),
        _sent(20.2, 9, 7, leader, _state(7, leader, 1, [3, 2], 1, [1, 2, 3])),
    ]


def _second_election(*requests: tuple[str, str]) -> Lines:
    """Broker 1 crashes and returns; each time a leader is elected."""
    return [
        *_created(1, [1, 2], [1, 2]),
        *_live(20, 9, "", "1", _WITHOUT_1),
        _changed(20.1, 9, 7, "OfflinePartition", 2, 1, [2], 1),
        *requests,
        *_live(40, 9, "1", "", _ALIVE),
        _controller(60, 9, _PREFERRED),
        _changed(60.1, 9, 7, "OnlinePartition", 1, 2, [1, 2], 3),
        _sent(60.2, 9, 7, 1, _state(7, 1, 2, [1, 2], 3, [1, 2])),
    ]


def _stop_replica(rest: str) -> Lines:
    text = "[Broker id=3] Ignoring StopReplica request (delete=true) from controller 9 with correlation id 27 epoch 7 "
    return [*_created(1, [1, 2], [1, 2]), _state_change(30, 3, f"{text}for partition orders-0 since its {rest}")]


def _crashed(*lines: tuple[str, str]) -> Lines:
    """Broker 1, the only one in sync, crashes."""
    return [*_created(1, [1], [1, 2]), *_live(20, 9, "", "1", _WITHOUT_1), *lines]


EXHIBITS = (
    Exhibit(
        "KAFKA-1188",
        "A broker obeys a controller that was replaced, after it has heard of the new one.",
        "2.4.1",
        "request_acceptance",
        _obeys(9, 7),
        _obeys(8, 8),
    ),
    Exhibit(
        "KAFKA-2300",
        "A controller elects a leader, and its request to the broker gets lost on the way to the queue.",
        "2.4.1",
        "request_follows",
        _second_election(),
        _second_election(_sent(20.2, 9, 7, 2, _state(7, 2, 1, [2], 1, [1, 2]))),
    ),
    Exhibit(
        "KAFKA-3083",
        "A controller that lost its session overwrites what the next one stored, with an ISR of the past.",
        "2.0",
        "stored_controller_epoch_never_falls",
        _after_failover(_changed(35, 9, 7, "OnlinePartition", 2, 2, [1, 2], 2)),
        _after_failover(),
    ),
    Exhibit(
        "KAFKA-3670",
        "A controlled shutdown hands over to the next of the ISR, though an earlier replica is in sync.",
        "0.10.2",
        "controlled_shutdown_election",
        _shut_down(3),
        _shut_down(2),
    ),
    Exhibit(
        "KAFKA-6082",
        "A controller that was replaced makes a preferred election, as nothing fences its writes.",
        "2.1",
        "stored_controller_epoch_never_falls",
        _after_failover(_controller(34, 9, _PREFERRED), _changed(35, 9, 7, "OnlinePartition", 1, 2, [1, 2], 3)),
        _after_failover(_controller(34, 9, _PREFERRED)),
    ),
    Exhibit(
        "KAFKA-8286",
        "A batch of elections is done again after one version conflict: the leader stays, its epoch rises.",
        "2.4.1",
        "preferred_election",
        [
            *_created(1, [1, 2], [1, 2]),
            _controller(20, 9, _PREFERRED),
            _changed(20.1, 9, 7, "OnlinePartition", 1, 1, [1, 2], 1),
        ],
        [*_created(1, [1, 2], [1, 2]), _controller(20, 9, _PREFERRED)],
    ),
    Exhibit(
        "KAFKA-13407",
        "The controller stays silent while the last in-sync broker returns; only the next controller elects it.",
        "2.8.2",
        "leader_restored",
        [*_without_leader(), _changed(200.1, 8, 8, "OfflinePartition", 1, 2, [1], 2)],
        _without_leader(_changed(90.1, 9, 7, "OfflinePartition", 1, 2, [1], 2)),
    ),
    Exhibit(
        "KAFKA-13972",
        "A broker refuses the StopReplica of a cancelled reassignment, for its leader epoch is the one it has.",
        "3.4.1",
        "request_acceptance",
        _stop_replica("associated leader epoch 12 matches the current leader epoch"),
        _stop_replica("associated leader epoch 11 is smaller than the current leader epoch 12"),
    ),
    Exhibit(
        "KIP-106",
        "Nobody of the ISR is alive, and another replica is elected where that is not allowed.",
        "2.4.1",
        "offline_election",
        _crashed(_changed(20.1, 9, 7, "OfflinePartition", 2, 1, [2], 1)),
        _crashed(_sent(20.1, 9, 7, 2, _state(7, -1, 1, [1], 1, [1, 2]))),
        unclean_enabled=False,
    ),
    Exhibit(
        "KAFKA-13173",
        "Two brokers are fenced at once; the ISR goes on naming one of them, which is elected while it is away.",
        "3.3",
        "kraft_election",
        _dump(
            *_born([1, 2, 3], 7), _fenced(30, 1), _fenced(30, 2), _change(30, leader=3, isr=[2, 3]),
            _fenced(60, 3), _change(60, leader=2, isr=[2]),
        ),
        _dump(
            *_born([1, 2, 3], 7), _fenced(30, 1), _fenced(30, 2), _change(30, leader=3, isr=[3]),
            _fenced(60, 3), _change(60, leader=-1),
        ),
    ),
    Exhibit(
        "KAFKA-14140",
        "A broker that is fenced is back in the ISR: its leader asked for it by an older view.",
        "3.3",
        "isr_joiner_online",
        _dump(
            *_born([1, 2, 3], 7), _fenced(30, 3), _change(30, isr=[1, 2], leader=1), _change(40, isr=[1, 2, 3]),
            _unfenced(60, 3),
        ),
        _dump(
            *_born([1, 2, 3], 7), _fenced(30, 3), _change(30, isr=[1, 2], leader=1), _unfenced(60, 3),
            _change(60, isr=[1, 2, 3]),
        ),
    ),
    Exhibit(
        "KAFKA-15021",
        "The leader shrinks its ISR, and the leader epoch rises, though nobody else leads and no replica is gone.",
        "3.8",
        "epoch_increments",
        _dump(*_born([1, 2, 3], 20), _change(30, leader=1, isr=[1, 2])),
        _dump(*_born([1, 2, 3], 20), _change(30, isr=[1, 2])),
    ),
    Exhibit(
        "KAFKA-15665",
        "A reassignment is complete though a target replica is out of sync.",
        "3.8",
        "reassignment_completion",
        _dump(
            *_born([1, 2, 3], 20), _change(20, replicas=[4, 2, 3, 1], addingReplicas=[4], removingReplicas=[1]),
            _change(25, isr=[1, 2]),
            _change(30, replicas=[4, 2, 3], addingReplicas=[], removingReplicas=[], isr=[4, 2], leader=4),
        ),
        _dump(
            *_born([1, 2, 3], 20), _change(20, replicas=[4, 2, 3, 1], addingReplicas=[4], removingReplicas=[1]),
            _change(30, replicas=[4, 2, 3], addingReplicas=[], removingReplicas=[], isr=[4, 2, 3], leader=4),
        ),
    ),
    Exhibit(
        "KAFKA-16624",
        "A change of a partition repeats its leader, and its leader epoch rises for nothing.",
        "3.8",
        "epoch_increments",
        _dump(*_born([1, 2, 3], 20), _change(30, leader=1)),
        _dump(*_born([1, 2, 3], 20)),
    ),
)  # fmt: skip
"""In the order of their numbers, those of ZooKeeper first."""
