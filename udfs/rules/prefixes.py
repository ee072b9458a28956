"""The prefix of a message: which component of which node writes.

`[Controller id=3 epoch=8] Changed ...` and, up to 0.11, `Controller 3 epoch 8 changed ...`. One table of known
forms; a bracket that is none of them stays part of the message.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from udfs.rules.regex import late
from udfs.rules.values import partition_name

SPLIT = (
    rb"(?:\[[^\]\n]*\][:,]? ?|Controller \d+ epoch \d+ |Broker \d+:? (?!was |has )"
    rb"|Partition \[[^\]\n]*\] on broker \d+: )?"
)
"""Bytes pattern of what may be a prefix, at the start of a message."""

_PATTERNS = tuple(
    late(form)
    for form in (  # `node` is who writes; the other groups are columns of `events`
        r"\[Controller id=(?P<controller_id>\d+)(?:,? epoch=(?P<controller_epoch>\d+))?\]",
        r"Controller (?P<controller_id>\d+) epoch (?P<controller_epoch>\d+)",
        r"\[Controller (?P<controller_id>\d+)\]:?",
        r"\[QuorumController id=(?P<controller_id>\d+)\]",
        r"\[Broker id=(?P<broker_id>\d+)\]|Broker (?P<broker_id2>\d+):?",
        r"\[Partition (?P<tp>[\w.-]+-\d+) broker=(?P<broker_id>\d+)\]",
        r"Partition (?P<tp>\[[\w.-]+, ?\d+\]) on broker (?P<broker_id>\d+):",
        r"\[(?:\w+StateMachine|RequestSendThread|ControllerEventThread) controllerId=(?P<controller_id>\d+)\]",
        r"\[(?:\w+ state machine|Channel manager) on [Cc]ontroller (?P<controller_id>\d+)\]:",
        r"\[Topic Deletion Manager (?P<controller_id>\d+)\],?",
        r"\[\w+(?:Listener|Selector) on (?:[Cc]ontroller )?(?P<controller_id>\d+)\][:,]",
        r"\[Controller-(?P<controller_id>\d+)-to-broker-\d+-send-thread\][:,]",
        r"\[(?:controller-event-thread|delete-topics-thread(?:-(?P<controller_id>\d+))?)\][:,]",
        r"\[\w+(?:Selector|Listener)\][:,]?",
        r"\[(?:Replica Manager on Broker |ReplicaManager broker=)(?P<broker_id>\d+)\]:?",
        r"\[(?:ReplicaFetcherManager on broker |ReplicaAlterLogDirsManager on broker )(?P<broker_id>\d+)\]:?",
        r"\[ReplicaFetcher(?:Thread)? replicaId=(?P<broker_id>\d+), leaderId=\d+, fetcherId=\d+\]",
        (
            r"\[(?:Kafka ?Server (?:id=)?|KafkaApi-|BrokerServer id=|BrokerLifecycleManager id="
            r"|BrokerMetadataPublisher id=|BrokerMetadataListener id=|SharedServer id="
            r"|KafkaHealthcheck )(?P<broker_id>\d+)(?: isZkBroker=true)?\]:?,?"  # in a migration from ZooKeeper
        ),
        r"\[\w+ (?:broker id|brokerId)=(?P<broker_id>\d+)\]",
        r"\[ControllerRegistrationManager id=(?P<node>\d+) incarnation=[\w-]+\]",
        r"\[(?:KRaftMigrationDriver id|\w+ controller id)=(?P<controller_id>\d+)\]",
        # KRaft 3.4; from 3.5 on `[MetadataLoader id=3]`, `[DynamicConfigPublisher broker id=3]`
        r"\[[A-Z]\w+ nodeType=broker id=(?P<broker_id>\d+)\]|\[(?:MetadataLoader|SnapshotGenerator) (?P<node>\d+)\]",
        r"\[[A-Z]\w+ nodeType=controller id=(?P<controller_id>\d+)\]",
        r"\[\w+ (?:id|nodeId)=(?P<node>\d+)\]",
        r"\[(?:MetadataLog|RaftLog) partition=[\w-]+(?:, nodeId=(?P<node>\d+))?\]",
        r"\[(?:Log|UnifiedLog|LogLoader|LocalLog|MergedLog) partition=(?P<tp>[\w.-]+-\d+), dir=[^\]]*\]",
        r"\[LeaderEpochCache (?P<tp>[\w.-]+-\d+)\]",
        r"\[ReplicaFetcherThread-\d+-\d+\][:,]|\[LogDirFailureHandler\]:|\[Zoo[Kk]eeperClient[\w ]*\]:?",
        # what a broker writes in quiet hours
        r"\[(?:Log|Admin|Group Metadata|Token) Manager on Broker (?P<broker_id>\d+)\]:?",
        (
            r"\[(?:GroupCoordinator|ProducerId Manager|Transaction (?:State Manager|Marker Channel Manager"
            r"|Marker Request Completion Handler)) (?P<broker_id>\d+)\]:?"
        ),
        r"\[\w+Coordinator id=(?P<broker_id>\d+) topic=[\w.-]+ partition=\d+\]",
        r"\[(?:Socket Server|(?:[\w-]+ )?Kafka Request Handler(?: \d+)?) on Broker (?P<broker_id>\d+)\],",
        r"\[SocketServer listenerType=\w+, nodeId=(?P<node>\d+)\]",
        r"\[ExpirationReaper-\d+(?:-\w+)?\][:,]",  # 4.0 prints 0 on all brokers
        r"\[(?:zk-)?broker-(?:-1|(?P<broker_id>\d+))-to-controller-[\w-]+\]:",  # -1: it has no id yet
        r"\[controller-(?P<node>\d+)-to-controller-[\w-]+\]:",
        r"\[(?:Broker|Node)ToControllerChannelManager (?:broker|id)=(?P<broker_id>\d+) name=\w+\]:?",
        r"\[kafka-(?P<node>\d+)-raft-[\w-]+-thread\]:",
        r"\[[\w-]+(?:-thread|-reaper|Manager|Reaper)(?:-\w+)?\][:,]",
    )
)
_GROUP = {"broker_id2": "broker_id"}


@lru_cache(maxsize=65536)
def read_prefix(prefix: bytes) -> Mapping[str, Any] | None:
    """Columns that a prefix gives, and `node`, the id of the node that writes; None if it is no known prefix.

    >>> read_prefix(b"[Partition a-1-0 broker=2] ")
    {'topic': 'a-1', 'partition': 0, 'broker_id': 2, 'node': 2}
    """
    text = prefix.decode("utf-8", "backslashreplace").rstrip(" ")
    for pattern in _PATTERNS:
        if m := pattern.fullmatch(text):
            columns: dict[str, Any] = {}
            for name, value in m.groupdict().items():
                if value is None:
                    continue
                if len(value) > 300:  # longer than any topic with its partition: a broken line
                    return None
                if name == "tp":
                    columns["topic"], columns["partition"] = partition_name(value)
                else:
                    columns[_GROUP.get(name, name)] = int(value)
            if any(isinstance(value, int) and value >= 2**31 for value in columns.values()):  # a broken line
                return None
            columns.setdefault("node", columns.get("broker_id", columns.get("controller_id")))
            return columns
    return None
