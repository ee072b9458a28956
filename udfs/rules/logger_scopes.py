"""Which records are in scope, by logger (docs/rules.md).

Of a whole logger every record is an event, or else a reject. Of a selected one only the messages that a rule
knows are events; the rest is `other`.
"""

from __future__ import annotations

from udfs.rules.regex import late

WHOLE_LOGGERS = (
    "state.change.logger",
    "kafka.controller",
    "kafka.controller.",
    "org.apache.kafka.controller.",
    "org.apache.kafka.raft.",
    "kafka.raft.",
    "kafka.cluster.Partition",
    "kafka.cluster.Partition$",
    "org.apache.kafka.image.loader.",
    "org.apache.kafka.image.publisher.",
    "org.apache.kafka.metadata.publisher.",
    "kafka.server.metadata.",
    "kafka-dump-log",
)


SCOPED_PREFIX = late(
    rb"\[(?:Controller |QuorumController |Broker id=|Partition |\w*StateMachine |\w+ state machine on |RaftManager "
    rb"|Topic Deletion Manager |ControllerEventThread |RequestSendThread |Channel manager |Controller-\d+-to-)"
    rb"|Controller \d+ epoch |Broker \d+ |Partition \["
)
"""Prefixes of messages that only wholly scoped loggers write."""


def covers(names: tuple[str, ...], logger: str) -> bool:
    """Whether a logger is one of `names`; a name that ends in a dot or a dollar sign stands for all below it."""
    return any(logger == name or (name[-1] in ".$" and logger.startswith(name)) for name in names)


def may_be(names: tuple[str, ...], logger: str) -> bool:
    """Whether a logger is one of `names`, or one of their classes that a later release moved to another package.

    >>> may_be(("kafka.utils.LoggingSignalHandler",), "org.apache.kafka.common.utils.internals.LoggingSignalHandler")
    True
    """
    if covers(names, logger) or not logger.startswith("org.apache.kafka."):
        return covers(names, logger)
    class_name = logger.rpartition(".")[2]
    return any(name.rpartition(".")[2] == class_name for name in names if name[-1] not in ".$")


def is_wholly_scoped(logger: str) -> bool:
    """Whether every record of this logger must match a rule, else it is a reject."""
    return covers(WHOLE_LOGGERS, logger)
