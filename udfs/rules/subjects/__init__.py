"""The rules, one module a subject; here is which subject knows which loggers.

So that who reads few records need not import all rules: `udfs.rules.lookup` imports those of a logger.
"""

from __future__ import annotations

from collections.abc import Mapping

SUBJECTS: Mapping[str, tuple[str, ...]] = {  # module -> loggers of its rules, or more; in the order to try them
    "state_change": ("state.change.logger",),
    "controller": ("kafka.controller", "kafka.controller."),
    "partition": ("kafka.cluster.Partition", "kafka.cluster.Partition$"),
    "server": (
        "kafka.admin.", "kafka.controller.ZookeeperClient", "kafka.coordinator.group.GroupCoordinator", "kafka.log.",
        "kafka.server.", "kafka.utils.", "kafka.zk.", "kafka.zookeeper.", "org.I0Itec.",
        "org.apache.kafka.common.utils.", "org.apache.kafka.server.", "org.apache.kafka.storage.",
    ),
    "process": (
        "kafka.Kafka$", "kafka.cluster.Replica", "kafka.controller.ZookeeperClient", "kafka.log.", "kafka.server.",
        "kafka.utils.", "kafka.zookeeper.", "org.I0Itec.", "org.apache.kafka.common.config.",
        "org.apache.kafka.common.utils.", "org.apache.kafka.server.", "org.apache.zookeeper.",
    ),
    "kraft": ("org.apache.kafka.controller.",),
    "kraft_brokers": ("org.apache.kafka.controller.",),
    "kraft_events": ("org.apache.kafka.controller.", "org.apache.kafka.deferred."),
    "kraft_metadata": ("kafka.server.metadata.", "org.apache.kafka.image.", "org.apache.kafka.metadata."),
    "kraft_migration": (
        "org.apache.kafka.controller.", "org.apache.kafka.metadata.migration.", "org.apache.kafka.server.fault.",
    ),
    "kraft_partitions": ("org.apache.kafka.controller.",),
    "kraft_quorum": ("kafka.raft.", "org.apache.kafka.raft."),
    "kraft_raft": ("kafka.raft.", "org.apache.kafka.raft."),
    "kraft_requests": ("org.apache.kafka.controller.",),
    "kraft_settings": ("org.apache.kafka.controller.",),
    "metadata_dump": ("kafka-dump-log",),
}  # fmt: skip
