"""Every rule that a decision or a state is judged by, under the name that `verdicts.rule` has: one definition each.

What an invariant checks is a function of the same name in `state_invariants`, `epoch_invariants` or
`election_invariants`, or written by `cluster_invariants`; the algorithms are called by `verdicts`.
docs/invariants.md has an entry for each rule: how it can look violated and not be, and what makes it unknown.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class DecisionRule:
    """A rule: what it says, Kafka's source, the first and (unless it still applies) the last release it applies to."""

    name: str
    statement: str
    since: str
    source: str
    until: str | None = None


INVARIANTS = (
    DecisionRule(
        "leader_in_isr",
        "The leader of a partition is a member of its ISR, or -1.",
        since="0.8.0",
        source="kafka.controller.Election (ZooKeeper), org.apache.kafka.controller.PartitionChangeBuilder (KRaft)",
    ),
    DecisionRule(
        "one_leader_per_leader_epoch",
        "The leader epoch of a partition never decreases, and a new leader has a larger one.",
        since="0.8.0",
        source="kafka.api.LeaderAndIsr (ZooKeeper), org.apache.kafka.metadata.PartitionRegistration.merge (KRaft)",
    ),
    DecisionRule(
        "partition_epoch_grows",
        "Each change of a partition has its own partition epoch (zkVersion), which grows at least as fast as the "
        "leader epoch.",
        since="0.8.0",
        source="kafka.utils.ReplicationUtils.updateLeaderAndIsr, kafka.zk.KafkaZkClient.updateLeaderAndIsr (1.1 on), "
        "org.apache.kafka.metadata.PartitionRegistration.merge (KRaft)",
    ),
    DecisionRule(
        "controller_epoch_grows",
        "Each new controller has a larger controller epoch than all before it.",
        since="0.8.0",
        source="kafka.zk.KafkaZkClient.registerControllerAndIncrementControllerEpoch (2.1 on, KAFKA-6082), "
        "kafka.controller.KafkaController before; org.apache.kafka.raft.QuorumState (KRaft)",
    ),
    DecisionRule(
        "one_controller_per_epoch",
        "A controller epoch belongs to one controller.",
        since="0.8.0",
        source="kafka.zk.KafkaZkClient.registerControllerAndIncrementControllerEpoch (2.1 on, KAFKA-6082), "
        "kafka.controller.KafkaController before; org.apache.kafka.raft.QuorumState (KRaft)",
    ),
    DecisionRule(
        "stored_controller_epoch_never_falls",
        "The controller epoch stored with a partition never decreases.",
        since="0.8.0",
        source="kafka.controller.PartitionStateMachine, kafka.utils.ReplicationUtils",
    ),
    DecisionRule(
        "isr_within_replicas",
        "The ISR holds assigned replicas only, those that a reassignment adds or removes included.",
        since="0.8.0",
        source="kafka.cluster.Partition (ISR changes), "
        "org.apache.kafka.controller.ReplicationControlManager.validateAlterPartitionData (KRaft)",
    ),
    DecisionRule(
        "clean_candidate_first",
        "No broker from outside the ISR is elected while an assigned member of the ISR is online.",
        since="0.8.0",
        source="kafka.controller.PartitionLeaderElectionAlgorithms.offlinePartitionLeaderElection (1.1 on), "
        "kafka.controller.OfflinePartitionLeaderSelector before; "
        "org.apache.kafka.controller.PartitionChangeBuilder.electAnyLeader (KRaft), KIP-966",
    ),
    DecisionRule(
        "unclean_leader_alone",
        "A leader from outside the ISR was allowed, is alone in the new ISR, and from 3.2 on starts recovery.",
        since="0.8.0",
        source="kafka.controller.PartitionLeaderElectionAlgorithms.offlinePartitionLeaderElection, KIP-106, KIP-460, "
        "KIP-704; org.apache.kafka.controller.PartitionChangeBuilder (KRaft)",
    ),
    DecisionRule(
        "preferred_leader_elected",
        "A preferred election makes the first replica lead, which was in the ISR, and leaves the ISR as it was.",
        since="0.8.0",
        source="kafka.controller.PartitionLeaderElectionAlgorithms.preferredReplicaPartitionLeaderElection (1.1 on), "
        "kafka.controller.PreferredReplicaPartitionLeaderSelector before; "
        "org.apache.kafka.controller.PartitionChangeBuilder.electPreferredLeader (KRaft)",
    ),
    DecisionRule(
        "epoch_increments",
        "Each change adds 1 to the partition epoch, and to the leader epoch what its kind allows: 0 for an ISR change "
        "of the leader, 1 for a decision of a ZooKeeper controller, 1 in KRaft for a new leader or lost replicas.",
        since="0.8.0",
        source="kafka.api.LeaderAndIsr.newLeaderAndIsr, "
        "org.apache.kafka.controller.PartitionChangeBuilder.triggerLeaderEpochBumpForReplicaReassignmentIfNeeded, "
        "KAFKA-15021",
    ),
    DecisionRule(
        "legal_transition",
        "A partition or replica goes only between states that the controller's state machine connects.",
        since="0.8.0",
        until="3.9",
        source="kafka.controller.PartitionState, kafka.controller.ReplicaState (validPreviousStates)",
    ),
    DecisionRule(
        "elected_leader_online",
        "A newly elected leader was online.",
        since="0.8.0",
        source="kafka.controller.ControllerContext.isReplicaOnline, KIP-112; "
        "org.apache.kafka.controller.ReplicationControlManager.generateLeaderAndIsrUpdates (KRaft)",
    ),
    DecisionRule(
        "new_partition_state",
        "A new partition has epochs 0 and its online replicas as the ISR, in assignment order, led by the first.",
        since="0.8.0",
        source="kafka.controller.PartitionStateMachine.initializeLeaderAndIsrForPartitions, "
        "org.apache.kafka.controller.ReplicationControlManager.createTopic (KRaft)",
    ),
    DecisionRule(
        "received_state_was_stored",
        "Each leader and leader epoch that a broker received was stored by a controller.",
        since="0.8.0",
        until="3.9",
        source="kafka.controller.AbstractControllerBrokerRequestBatch, "
        "kafka.server.ReplicaManager.becomeLeaderOrFollower",
    ),
    DecisionRule(
        "isr_joiner_online",
        "A broker that joins the ISR is online.",
        since="3.3",
        source="KIP-841, kafka.cluster.Partition.isReplicaIsrEligible, "
        "org.apache.kafka.controller.ReplicationControlManager.validateAlterPartitionData (KRaft)",
    ),
    DecisionRule(
        "offline_gauge_matches",
        "The metric OfflinePartitionsCount is the number of partitions whose last transition led to OfflinePartition.",
        since="2.1",
        until="3.9",
        source="kafka.controller.ControllerContext.updatePartitionStateMetrics",
    ),
    DecisionRule(
        "elr_disjoint_from_isr",
        "Eligible leader replicas are assigned replicas outside the ISR, and there are none while the ISR has the "
        "minimum size.",
        since="3.7",
        source="KIP-966, org.apache.kafka.controller.PartitionChangeBuilder.maybePopulateTargetElr",
    ),
    DecisionRule(
        "broker_epoch_grows",
        "Each registration of a broker has a larger broker epoch than the one before.",
        since="2.2",
        source="KIP-380, kafka.zk.KafkaZkClient.registerBroker; "
        "org.apache.kafka.controller.ClusterControlManager (KRaft)",
    ),
)

ELECTIONS = (
    DecisionRule(
        "offline_election",
        "A partition without a leader gets the first online replica of the assignment that is in the ISR; outside the "
        "ISR only where unclean elections are allowed.",
        since="0.8.0",
        until="3.9",
        source="kafka.controller.PartitionLeaderElectionAlgorithms.offlinePartitionLeaderElection (1.1 on), "
        "kafka.controller.OfflinePartitionLeaderSelector before",
    ),
    DecisionRule(
        "reassign_election",
        "A reassignment that loses its leader gets the first online target replica that is in the ISR.",
        since="0.8.0",
        until="3.9",
        source="kafka.controller.PartitionLeaderElectionAlgorithms.reassignPartitionLeaderElection (1.1 on), "
        "kafka.controller.ReassignedPartitionLeaderSelector before",
    ),
    DecisionRule(
        "preferred_election",
        "The first replica of the assignment leads if it is online and in the ISR; the ISR stays.",
        since="0.8.0",
        until="3.9",
        source="kafka.controller.PartitionLeaderElectionAlgorithms.preferredReplicaPartitionLeaderElection (1.1 on), "
        "kafka.controller.PreferredReplicaPartitionLeaderSelector before",
    ),
    DecisionRule(
        "controlled_shutdown_election",
        "A broker that shuts down hands over to the first other replica online and in the ISR, and leaves the ISR.",
        since="0.8.0",
        until="3.9",
        source="kafka.controller.PartitionLeaderElectionAlgorithms.controlledShutdownPartitionLeaderElection (1.1 on), "
        "kafka.controller.ControlledShutdownLeaderSelector before",
    ),
    DecisionRule(
        "zk_election",
        "An election of a ZooKeeper controller follows the algorithm of its strategy; used if the strategy is unknown.",
        since="0.8.0",
        until="3.9",
        source="kafka.controller.PartitionLeaderElectionStrategy (1.1 on), "
        "kafka.controller.PartitionLeaderSelector before",
    ),
    DecisionRule(
        "kraft_election",
        "A change of leader in KRaft is what PartitionChangeBuilder makes of the ISR, the replicas and the brokers "
        "that may lead.",
        since="2.8",
        source="org.apache.kafka.controller.PartitionChangeBuilder (3.0 on), "
        "org.apache.kafka.controller.ReplicationControlManager (2.8)",
    ),
)

DECISIONS = (
    DecisionRule(
        "new_partition",
        "A new partition gets those of its replicas that are online as its ISR, led by the first; with none it has no "
        "leader.",
        since="0.8.0",
        source="kafka.controller.PartitionStateMachine.initializeLeaderAndIsrForPartitions (1.1 on), "
        "kafka.controller.PartitionStateMachine.initializeLeaderAndIsrForPartition before, "
        "org.apache.kafka.controller.ReplicationControlManager.createTopic (KRaft)",
    ),
    DecisionRule(
        "isr_change",
        "A leader that changes its ISR goes on leading in the same leader epoch, stays in it, and takes in assigned "
        "replicas only.",
        since="0.8.0",
        source="kafka.cluster.Partition.maybeExpandIsr, kafka.cluster.Partition.maybeShrinkIsr, "
        "kafka.controller.KafkaController.processAlterPartition (2.7 on), "
        "org.apache.kafka.controller.ReplicationControlManager.alterPartition (KRaft)",
    ),
    DecisionRule(
        "replica_removal",
        "A replica that goes offline leaves the ISR with a new leader epoch; the leader stays, unless it is the one "
        "that goes, and the last member stays in the ISR from 1.1 on.",
        since="0.8.0",
        until="3.9",
        source="kafka.controller.ReplicaStateMachine.removeReplicasFromIsr (1.1 on), "
        "kafka.controller.KafkaController.removeReplicaFromIsr before",
    ),
    DecisionRule(
        "reassignment_completion",
        "A reassignment is complete only once all of its target replicas are in the ISR (KRaft to 3.7: all that it "
        "adds).",
        since="0.8.0",
        source="kafka.controller.KafkaController.isReassignmentComplete (2.4 on), "
        "kafka.controller.KafkaController.areReplicasInIsr before, "
        "org.apache.kafka.controller.PartitionReassignmentReplicas.maybeCompleteReassignment (KRaft)",
    ),
    DecisionRule(
        "epoch_refresh",
        "A reassignment that starts or keeps its leader writes a new leader epoch and changes neither leader nor ISR.",
        since="0.8.1",
        until="3.9",
        source="kafka.controller.KafkaController.updateLeaderEpochAndSendRequest",
    ),
    DecisionRule(
        "leader_restored",
        "A partition without a leader gets one when a member of its ISR is back.",
        since="0.8.0",
        source="kafka.controller.KafkaController.onBrokerStartup (ZooKeeper), "
        "org.apache.kafka.controller.ReplicationControlManager.handleBrokerUnfenced (KRaft)",
    ),
    DecisionRule(
        "controlled_shutdown_completes",
        "A broker whose controlled shutdown succeeds leads no partition any more that has another replica.",
        since="0.8.0",
        until="3.9",
        source="kafka.controller.KafkaController.doControlledShutdown (1.1 on), "
        "kafka.controller.KafkaController.shutdownBroker before",
    ),
    DecisionRule(
        "auto_rebalance",
        "The automatic rebalance asks for preferred elections of a broker if more than a tenth of the partitions that "
        "prefer it are led by others.",
        since="0.8.1",
        until="3.9",
        source="kafka.controller.KafkaController.checkAndTriggerAutoLeaderRebalance",
    ),
    DecisionRule(
        "request_follows",
        "The leader that a controller elects is sent LeaderAndIsr with its leader epoch.",
        since="1.1",
        until="3.9",
        source="kafka.controller.PartitionStateMachine.doElectLeaderForPartitions, "
        "kafka.controller.AbstractControllerBrokerRequestBatch",
    ),
    DecisionRule(
        "request_acceptance",
        "A broker applies a LeaderAndIsr with a newer leader epoch, ignores others, and obeys no controller before the "
        "newest that it knows.",
        since="0.8.0",
        until="3.9",
        source="kafka.server.ReplicaManager.becomeLeaderOrFollower, kafka.server.ReplicaManager.stopReplicas",
    ),
    DecisionRule(
        "metadata_learned",
        "Each broker learns of each topic.",
        since="0.8.0",
        until="3.9",
        source="kafka.controller.AbstractControllerBrokerRequestBatch, "
        "kafka.server.metadata.ZkMetadataCache.updateMetadata",
    ),
    DecisionRule(
        "topic_deletion",
        "A partition is gone once all its replicas are (through 2.0), or before they are deleted (2.1 on).",
        since="0.8.1",
        until="3.9",
        source="kafka.controller.TopicDeletionManager",
    ),
    DecisionRule(
        "assignment_at_creation",
        "The replicas of each partition of a new topic are distinct brokers.",
        since="0.8.0",
        source="kafka.admin.AdminUtils.validateTopicCreate, kafka.zk.AdminZkClient.validateTopicCreate, "
        "org.apache.kafka.controller.ReplicationControlManager.validateManualPartitionAssignment (KRaft)",
    ),
    DecisionRule(
        "added_partitions",
        "A partition that is added to a topic has distinct replicas, as many as partition 0 has.",
        since="0.8.0",
        source="kafka.admin.AdminUtils.addPartitions, kafka.zk.AdminZkClient.addPartitions (1.1 on), "
        "org.apache.kafka.controller.ReplicationControlManager.createPartitions (KRaft)",
    ),
    DecisionRule(
        "message_order",
        "A broker handles a request that it has received, a replica is offline before it is told to delete its log, "
        "and a partition that is gone changes its state no more.",
        since="0.8.0",
        until="3.9",
        source="kafka.server.ReplicaManager.becomeLeaderOrFollower, kafka.controller.ReplicaStateMachine, "
        "kafka.controller.TopicDeletionManager",
    ),
    DecisionRule(
        "failover_order",
        "A controller that takes office loads its context before it sends requests, and before it starts the state "
        "machines of replicas, then of partitions; then it serves.",
        since="0.8.0",
        source="kafka.controller.KafkaController.onControllerFailover (ZooKeeper), "
        "org.apache.kafka.controller.QuorumController (KRaft)",
    ),
    DecisionRule(
        "reassignment_end",
        "When a reassignment is complete one of its target replicas leads, and no other replica is in the ISR.",
        since="0.8.0",
        source="kafka.controller.KafkaController.onPartitionReassignment (ZooKeeper), "
        "org.apache.kafka.controller.PartitionReassignmentReplicas.maybeCompleteReassignment (KRaft)",
    ),
    DecisionRule(
        "reassignment_steps",
        "A controller starts a reassignment by storing the widened assignment, LeaderAndIsr to all and new replicas, "
        "and ends it with a target replica as the leader, the others offline and deleted, and the target stored.",
        since="0.8.0",
        until="3.9",
        source="kafka.controller.KafkaController.onPartitionReassignment",
    ),
    DecisionRule(
        "reassignment_lists",
        "While a reassignment lasts the assignment is the target, then what is removed; what is added is in the "
        "target.",
        since="2.4",
        until="3.9",
        source="KIP-455, kafka.controller.ReplicaAssignment.reassignTo",
    ),
    DecisionRule(
        "assignment_change",
        "A KRaft controller adds replicas that are not in the ISR yet, or takes replicas away from assignment and ISR "
        "at once, never both in one change.",
        since="3.0",
        source="KIP-455, org.apache.kafka.controller.PartitionReassignmentReplicas, "
        "org.apache.kafka.controller.PartitionChangeBuilder",
    ),
    DecisionRule(
        "isr_refusal",
        "A controller refuses a leader's change of the ISR for what makes it wrong: an epoch, the sender, the recovery "
        "of the leader, an invalid ISR, or a member that is not eligible.",
        since="2.7",
        source="kafka.controller.KafkaController.processAlterPartition, KIP-497, KIP-841, "
        "org.apache.kafka.controller.ReplicationControlManager.validateAlterPartitionData (KRaft)",
    ),
)

RULES = {rule.name: rule for rule in (*INVARIANTS, *ELECTIONS, *DECISIONS)}
"""All rules by name."""
KINDS = {"elections": ELECTIONS, "decisions": DECISIONS, "invariants": INVARIANTS}
"""Rules by what they judge: elections and other decisions by Kafka's algorithms, and what always holds of states."""
