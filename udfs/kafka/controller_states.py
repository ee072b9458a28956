"""What a ZooKeeper controller is busy with, by the lines that it prints: the states of Kafka's ControllerState.

The controller is one thread that handles one event after the other (0.11 on; before, several behind one lock). Kafka
counts and times each state (`kafka.controller:type=ControllerStats,name=...RateAndTimeMs`, KIP-143).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ControllerState:
    """A state: its name in `ControllerState`, and the event types of lines by which it is seen."""

    name: str
    opened_by: tuple[str, ...]
    """Lines that are printed once, at the begin."""
    prefixes: tuple[str, ...]
    """How the types of the lines begin that may follow."""
    is_repeated: bool = False
    """Whether its first line comes once for each partition: then lines in a row are of one event."""

    @property
    def metric(self) -> str:
        """The metric that Kafka times it with. That of broker changes is older than the states, and kept its name."""
        return f"{'LeaderElection' if self.name == 'BrokerChange' else METRICS.get(self.name, self.name)}RateAndTimeMs"


METRICS = {"AlterPartitionReassignment": "PartitionReassignment"}
"""Names of metrics that differ from those of their states (KIP-455 renamed the state only)."""
CONTROLLER_STATES = (  # PartitionReassignment is AlterPartitionReassignment from 2.4 on, which begins with another line
    ControllerState("ControllerChange", ("controller_elected", "controller_resigning"), ("controller_",)),
    ControllerState("BrokerChange", ("broker_set_changed",), ("broker_",)),
    ControllerState("TopicChange", ("topics_changed", "partitions_added"), ("topic_creation_", "partition_creation_")),
    ControllerState("TopicDeletion", ("topic_deletion_requested",), ("topic_deletion_",)),
    ControllerState("PartitionReassignment", ("reassignment_started",), ("reassignment_",), is_repeated=True),
    ControllerState(
        "AlterPartitionReassignment", ("reassignment_assignment_updating",), ("reassignment_",), is_repeated=True
    ),
    ControllerState("AutoLeaderBalance", ("auto_rebalance_check",), ("auto_rebalance_", "preferred_election_")),
    ControllerState("ManualLeaderBalance", ("preferred_election_listener_fired", "replica_election_waiting"), ()),
    ControllerState("ControlledShutdown", ("controlled_shutdown_started",), ("controlled_shutdown_",)),
    ControllerState(
        "IsrChange", ("alter_isr_updating", "isr_notification_update_metadata"), ("alter_isr_",), is_repeated=True
    ),
    ControllerState("LogDirChange", ("log_dir_failure_handling",), ()),
    ControllerState("UncleanLeaderElectionEnable", ("unclean_election_enabled_default",), ()),
    ControllerState("TopicUncleanLeaderElectionEnable", ("unclean_election_enabled_topic",), ()),
)
