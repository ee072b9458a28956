"""Values that have a meaning of their own in Kafka's logs and in the tables. No Spark."""

NO_LEADER = -1
"""Leader of a partition without one."""
LEADER_DURING_DELETE = -2
"""Leader that UpdateMetadata (0.8.1.1 on) sends for a partition whose topic is being deleted; never a stored state."""
METADATA_LOG = "__cluster_metadata"
"""The log of KRaft's metadata quorum (KIP-500): lines name it like a topic, but it is never created or moved."""
UNDER_REPLICATED_STATES = ("UnderReplicated", "AtMinIsr", "UnderMinIsr")
"""Values of `partition_timeline.availability` (KIP-427) with a leader, and a replica out of sync."""
MIN_ISR, UNCLEAN_SWITCH = "min.insync.replicas", "unclean.leader.election.enable"
IS_MIN_ISR_OF_TOPIC = f"resource_type IN ('topic', 'new_log') AND name = '{MIN_ISR}'"
"""Of CONFIG_CHANGES, in SQL: how many replicas of a topic have to be in sync; no value: as many as by default."""
IS_MIN_ISR_OF_NODES = f"resource_type = 'kafka_config' AND name = '{MIN_ISR}'"
"""Of CONFIG_CHANGES, in SQL: how many have to be by default, by what a node prints."""
