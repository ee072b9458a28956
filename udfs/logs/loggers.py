"""Full names of loggers that a layout writes in short."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache

from udfs.rules.regex import late

LOGGER_NAME = late(
    r"(?<![\w./$@-])(?<!at )(?:state\.change\.logger|kafka\.(?:controller|authorizer\.logger|request\.logger)(?!\.)"
    r"|(?:org\.apache\.)?kafka\.(?:\w+\.)+[A-Z][\w$]*|(?:o\.a\.k|org\.apa\.kaf|kaf)\.(?:\w+\.)+[A-Z][\w$]*"
    r"|sta\.cha\.logger)(?![\w/(])"
)
"""A logger of Kafka's as it stands in a text, maybe with packages of one letter or of three (Spring Boot, Quarkus); not
where it is a class in a stack trace.
"""

_SIMPLE = {  # simple class names that stand for several loggers, as releases mean them whose layouts are this short
    "StateChangeLogger": "state.change.logger",
    "SnapshotGenerator": "org.apache.kafka.image.publisher.SnapshotGenerator",
    "KafkaRaftClient": "org.apache.kafka.raft.KafkaRaftClient",
}
_ZOOKEEPER = (  # of whole packages, so that no rule names them
    "kafka.controller.KafkaController",
    "kafka.controller.ControllerBrokerRequestBatch",
    "kafka.controller.ControllerChannelManager",
    "kafka.controller.ControllerContext",
    "kafka.controller.ControllerEventManager",
    "kafka.controller.ControllerEventManager$ControllerEventThread",
    "kafka.controller.PartitionStateMachine",
    "kafka.controller.ReplicaStateMachine",
    "kafka.controller.RequestSendThread",
    "kafka.controller.TopicDeletionManager",
    "kafka.controller.ZkPartitionStateMachine",
    "kafka.controller.ZkReplicaStateMachine",
)
_STATE_CHANGE = "state.change.logger"
_LOGGER_NAMED_LOGGER = {  # begin of its messages -> which of the three
    late(rb"Principal = "): b"kafka.authorizer.logger",
    late(rb"Completed request:|Handling request:"): b"kafka.request.logger",
    late(rb"\[?(?:Broker|Controller) (?:id=)?\d"): b"state.change.logger",
}


def full_logger(name: bytes, message: bytes) -> bytes:
    """A logger written as its class alone, or with packages cut short or off, in full; as it is if none of Kafka's is.
    What may be behind the class is the end of its file (log4j's `%F`) or a method (`%C.%M`).

    >>> full_logger(b"o.a.k.c.QuorumController", b"x"), full_logger(b"ReplicationControlManager", b"x")
    (b'org.apache.kafka.controller.QuorumController', b'org.apache.kafka.controller.ReplicationControlManager')
    >>> full_logger(b"kaf.con.KafkaController", b"x"), full_logger(b"sta.cha.logger", b"x")
    (b'kafka.controller.KafkaController', b'state.change.logger')
    >>> full_logger(b"QuorumController.java", b"x"), full_logger(b"kafka.controller.KafkaController.startup", b"x")
    (b'org.apache.kafka.controller.QuorumController', b'kafka.controller.KafkaController')
    """
    if is_named_in_full(name) and not _MEMBER.search(name):
        return name
    if name == b"logger":
        return next((full for begin, full in _LOGGER_NAMED_LOGGER.items() if begin.match(message)), name)
    return _spelled_out(name)


_MEMBER = late(rb"(\b[A-Z][\w$]*)\.[a-z$][\w$]*\Z")
_FULL = (b"kafka.", b"org.apache.", b"state.change.logger")


def is_named_in_full(name: bytes) -> bool:
    """Whether a logger is one of Kafka's or of its libraries' with its packages."""
    return name.startswith(_FULL)


def is_known_logger(name: str) -> bool:
    """Whether rules know messages of this logger."""
    return name in _by_class().get(name.rpartition(".")[2], ()) or name == _STATE_CHANGE


@lru_cache(maxsize=4096)
def _spelled_out(name: bytes) -> bytes:
    text = _MEMBER.sub(rb"\1", name).decode("ascii", "replace")
    *packages, simple = text.split(".")
    if text in _SIMPLE:
        return _SIMPLE[text].encode()
    fits = [
        full for full in _by_class().get(simple, ()) if not packages or _abbreviates(packages, full.split(".")[:-1])
    ]
    if len(fits) > 1:  # moved between releases: short layouts are those of late ones
        fits = [full for full in fits if full.startswith("org.apache.kafka.")]
    return fits[0].encode() if len(fits) == 1 else name


def _abbreviates(short: list[str], full: list[str]) -> bool:
    """Whether the outer packages are cut off (log4j's `%c{2}`), or each is cut short (logback's `%logger{30}`, JBoss'
    `%c{3.}`)."""
    if len(short) == len(full):
        return all(b.startswith(a) for a, b in zip(short, full, strict=True))
    return short == full[-len(short) :]


@cache
def _by_class() -> Mapping[str, tuple[str, ...]]:
    """The loggers that rules know, by their class; read late, for few layouts need them."""
    from udfs.rules.rulebook import RULES

    names = {name for rule in RULES for name in rule.loggers if name[-1] != "."}
    names |= {name.removesuffix("$") for name in names} | {*_ZOOKEEPER, _STATE_CHANGE}
    by_class: dict[str, tuple[str, ...]] = {}
    for name in sorted(names):
        simple = name.rpartition(".")[2]
        by_class[simple] = (*by_class.get(simple, ()), name)
    return by_class
