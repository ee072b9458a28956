"""What brokers and clients ask of the KRaft controller for topics and partitions, and what it answers."""

from __future__ import annotations

from udfs.rules.rule import Rule

REPLICATION = ("org.apache.kafka.controller.ReplicationControlManager",)

RULES: tuple[Rule, ...] = (
    Rule(
        "kraft_alter_partition_rejected_unknown_topic",
        REPLICATION,
        text="Rejecting <_:word> request for unknown topic ID <topic_id><? or name <topic:text>?>.",
        sample=(
            "[QuorumController id=101] Rejecting AlterPartition request for unknown topic ID "
            "L3mK9pQrSt2uVwXyZ0aBcD or name pay-in."
        ),
        reads={"controller_id": 101, "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD", "topic": "pay-in"},
        since="3.0.0",
    ),
    Rule(
        "kraft_alter_partition_rejected_unknown_partition",
        REPLICATION,
        text="Rejecting <_:word> request for unknown partition <tp>.",
        sample="[QuorumController id=101] Rejecting AlterPartition request for unknown partition pay-in-3.",
        reads={"controller_id": 101, "topic": "pay-in", "partition": 3},
        since="3.0.0",
    ),
    Rule(
        "kraft_alter_partition_rejected_leader_epoch",
        REPLICATION,
        text=(
            "Rejecting <_:word> request from node <broker> for <tp> because the current leader epoch is "
            "<current_leader_epoch:int>, not <leader_epoch>.<? <proposed:proposed>?>"
        ),
        sample=(
            "[QuorumController id=101] Rejecting AlterPartition request from node 5 for pay-in-3 because the "
            "current leader epoch is 9, not 8."
        ),
        reads={
            "controller_id": 101,
            "broker": "5",
            "topic": "pay-in",
            "partition": 3,
            "current_leader_epoch": "9",
            "leader_epoch": 8,
        },
        since="3.0.0",
    ),
    Rule(
        "kraft_alter_partition_rejected_leader_epoch",
        REPLICATION,
        text=(
            "Rejecting <_:word> request from node <broker> for <tp> because the current leader epoch is "
            "<current_leader_epoch:int>, which is <?greater than the local value?><?lower than the request "
            "value?> <leader_epoch>.<? <proposed:proposed>?>"
        ),
        sample=(
            "[QuorumController id=101] Rejecting AlterPartition request from node 5 for pay-in-3 because the "
            "current leader epoch is 8, which is greater than the local value 9."
        ),
        reads={
            "controller_id": 101,
            "broker": "5",
            "topic": "pay-in",
            "partition": 3,
            "current_leader_epoch": "8",
            "leader_epoch": 9,
        },
        since="3.3.0",
    ),
    Rule(
        "kraft_alter_partition_rejected_not_leader",
        REPLICATION,
        text=(
            "Rejecting <_:word> request from node <broker> for <tp> because the current leader is "
            "<leader>.<? <proposed:proposed>?>"
        ),
        sample=(
            "[QuorumController id=101] Rejecting AlterPartition request from node 5 for pay-in-3 because the "
            "current leader is 4."
        ),
        reads={"controller_id": 101, "broker": "5", "topic": "pay-in", "partition": 3, "leader": 4},
        since="3.0.0",
    ),
    Rule(
        "kraft_alter_partition_rejected_partition_epoch",
        REPLICATION,
        text=(
            "Rejecting <_:word> request from node <broker> for <tp> because the current partition epoch is "
            "<current_partition_epoch:int>, not <partition_epoch>.<? <proposed:proposed>?>"
        ),
        sample=(
            "[QuorumController id=101] Rejecting AlterPartition request from node 5 for pay-in-3 because the "
            "current partition epoch is 22, not 21."
        ),
        reads={
            "controller_id": 101,
            "broker": "5",
            "topic": "pay-in",
            "partition": 3,
            "current_partition_epoch": "22",
            "partition_epoch": 21,
        },
        since="3.0.0",
    ),
    Rule(
        "kraft_alter_partition_rejected_partition_epoch",
        REPLICATION,
        text=(
            "Rejecting <_:word> request from node <broker> for <tp> because the current partition epoch is "
            "<current_partition_epoch:int>, which is <?greater than the local value?><?lower than the "
            "request value?> <partition_epoch>.<? <proposed:proposed>?>"
        ),
        sample=(
            "[QuorumController id=101] Rejecting AlterPartition request from node 5 for pay-in-3 because the "
            "current partition epoch is 21, which is greater than the local value 22."
        ),
        reads={
            "controller_id": 101,
            "broker": "5",
            "topic": "pay-in",
            "partition": 3,
            "current_partition_epoch": "21",
            "partition_epoch": 22,
        },
        since="3.3.0",
    ),
    Rule(
        "kraft_alter_partition_rejected_invalid_isr",
        REPLICATION,
        text=(
            "Rejecting <_:word> request from node <broker> for <tp> because it specified an invalid ISR "
            "<isr:altered_isr><? that doesn't include itself?>."
        ),
        sample=(
            "[QuorumController id=101] Rejecting AlterPartition request from node 5 for pay-in-3 because it "
            "specified an invalid ISR [BrokerState(brokerId=5, brokerEpoch=301), BrokerState(brokerId=9, "
            "brokerEpoch=-1)]."
        ),
        reads={
            "controller_id": 101,
            "broker": "5",
            "topic": "pay-in",
            "partition": 3,
            "isr": [5, 9],
            "isr_broker_epochs": "[301, -1]",
        },
        since="3.0.0",
        until="4.2.1",
    ),
    Rule(
        "kraft_alter_partition_rejected_recovering",
        REPLICATION,
        text=(
            "Rejecting <_:word> request from node <broker> for <tp> because the ISR <isr:altered_isr> had "
            "more than one replica while the leader was still recovering from an <_:word> leader election "
            "<leader_recovery_state:word>."
        ),
        sample=(
            "[QuorumController id=101] Rejecting AlterPartition request from node 5 for pay-in-3 because the "
            "ISR [BrokerState(brokerId=4, brokerEpoch=300), BrokerState(brokerId=5, brokerEpoch=301)] had "
            "more than one replica while the leader was still recovering from an unclean leader election "
            "RECOVERING."
        ),
        reads={
            "controller_id": 101,
            "broker": "5",
            "topic": "pay-in",
            "partition": 3,
            "isr": [4, 5],
            "isr_broker_epochs": "[300, 301]",
            "leader_recovery_state": "RECOVERING",
        },
        since="3.2.0",
        until="4.2.1",
    ),
    Rule(
        "kraft_alter_partition_rejected_recovery_state",
        REPLICATION,
        text=(
            "Rejecting <_:word> request from node <broker> for <tp> because the leader recovery state cannot "
            "change from <from_state:word> to <to_state:word>.<? <proposed:proposed>?>"
        ),
        sample=(
            "[QuorumController id=101] Rejecting AlterPartition request from node 5 for pay-in-3 because the "
            "leader recovery state cannot change from RECOVERED to RECOVERING."
        ),
        reads={
            "controller_id": 101,
            "broker": "5",
            "topic": "pay-in",
            "partition": 3,
            "from_state": "RECOVERED",
            "to_state": "RECOVERING",
        },
        since="3.2.0",
    ),
    Rule(
        "kraft_alter_partition_rejected_ineligible",
        REPLICATION,
        text=(
            "Rejecting <_:word> request from node <broker> for <tp> because it specified ineligible replicas "
            "<ineligible:ineligible> in the new ISR <isr:altered_isr>."
        ),
        sample=(
            "[QuorumController id=101] Rejecting AlterPartition request from node 5 for pay-in-3 because it "
            "specified ineligible replicas [4 (fenced)] in the new ISR [BrokerState(brokerId=4, "
            "brokerEpoch=300), BrokerState(brokerId=5, brokerEpoch=301)]."
        ),
        reads={
            "controller_id": 101,
            "broker": "5",
            "topic": "pay-in",
            "partition": 3,
            "ineligible_replicas": "[4]",
            "reason": "4 (fenced)",
            "isr": [4, 5],
            "isr_broker_epochs": "[300, 301]",
        },
        since="3.3.0",
        until="4.2.1",
    ),
    Rule(
        "kraft_alter_partition_accepted",
        REPLICATION,
        text="Node <broker> has altered ISR for <tp> to <isr:altered_isr>.",
        sample="[QuorumController id=101] Node 5 has altered ISR for pay-in-3 to [4, 5].",
        reads={"controller_id": 101, "broker": "5", "topic": "pay-in", "partition": 3, "isr": [4, 5]},
        since="3.0.0",
        until="4.2.1",
    ),
    Rule(
        "kraft_alter_partition_completed_reassignment",
        REPLICATION,
        text="Alter<_:word> request from node <broker> for <tp> <changed:wording>.<? <changes:changes>?>",
        sample=(
            "[QuorumController id=101] AlterPartition request from node 5 for pay-in-3 completed the ongoing "
            "partition reassignment."
        ),
        reads={"controller_id": 101, "broker": "5", "topic": "pay-in", "partition": 3, "leadership_changed": "false"},
        since="3.0.0",
    ),
    Rule(
        "kraft_reassignment_failed",
        REPLICATION,
        text=(
            "Unable to alter partition reassignment for <topic>:<partition> because of an <error:word> "
            "error: <reason:rest>"
        ),
        sample=(
            "[QuorumController id=101] Unable to alter partition reassignment for pay-in:3 because of an "
            "InvalidReplicaAssignmentException error: The manual partition assignment includes broker 9, but "
            "no such broker is registered."
        ),
        reads={
            "controller_id": 101,
            "topic": "pay-in",
            "partition": 3,
            "error": "InvalidReplicaAssignmentException",
            "reason": "The manual partition assignment includes broker 9, but no such broker is registered.",
        },
        since="3.0.0",
    ),
    Rule(
        "kraft_reassignment_summary",
        REPLICATION,
        text="Successfully altered <altered_count:int> out of <total_count:int> partition reassignment(s).",
        sample="[QuorumController id=101] Successfully altered 2 out of 3 partition reassignment(s).",
        reads={"controller_id": 101, "altered_count": "2", "total_count": "3"},
        since="3.0.0",
    ),
    Rule(
        "kraft_assign_dirs_unknown_topic",
        REPLICATION,
        text="AssignReplicasToDirsRequest from broker <broker> references unknown topic ID <topic_id>",
        sample=(
            "[QuorumController id=101] AssignReplicasToDirsRequest from broker 4 references unknown topic ID "
            "L3mK9pQrSt2uVwXyZ0aBcD"
        ),
        reads={"controller_id": 101, "broker": "4", "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD"},
        since="3.7.0",
    ),
    Rule(
        "kraft_assign_dirs_unknown_partition",
        REPLICATION,
        text="AssignReplicasToDirsRequest from broker <broker> references unknown partition <tp>",
        sample=(
            "[QuorumController id=101] AssignReplicasToDirsRequest from broker 4 references unknown partition pay-in-3"
        ),
        reads={"controller_id": 101, "broker": "4", "topic": "pay-in", "partition": 3},
        since="3.7.0",
    ),
    Rule(
        "kraft_assign_dirs_not_replica",
        REPLICATION,
        text="AssignReplicasToDirsRequest from broker <broker> references non assigned partition <tp>",
        sample=(
            "[QuorumController id=101] AssignReplicasToDirsRequest from broker 4 references non assigned "
            "partition pay-in-3"
        ),
        reads={"controller_id": 101, "broker": "4", "topic": "pay-in", "partition": 3},
        since="3.7.0",
    ),
    Rule(
        "kraft_assign_dirs_assigned",
        REPLICATION,
        text=("Broker <broker> assigned partition <topic>:<partition> to <directory_state:word> dir <directory:word>"),
        sample=("[QuorumController id=101] Broker 4 assigned partition pay-in:3 to ONLINE dir r7YzA2bCdE9fGhIj_KlMnO"),
        reads={
            "controller_id": 101,
            "broker": "4",
            "topic": "pay-in",
            "partition": 3,
            "directory_state": "ONLINE",
            "directory": "r7YzA2bCdE9fGhIj_KlMnO",
        },
        since="3.7.0",
    ),
    Rule(
        "kraft_create_topics_result",
        REPLICATION,
        text="CreateTopics result(s): <results:created_topics>",
        sample=(
            "[QuorumController id=101] CreateTopics result(s): CreatableTopic(name='pay-in', "
            "numPartitions=-1, replicationFactor=-1, "
            "assignments=[CreatableReplicaAssignment(partitionIndex=0, brokerIds=[4, 5])], configs=[]): "
            "SUCCESS"
        ),
        reads={
            "controller_id": 101,
            "topic": "pay-in",
            "partition_count": "1",
            "replication_factor": "-1",
            "assignments": '{"0": [4, 5]}',
            "result": "SUCCESS",
        },
        since="2.8.0",
    ),
    Rule(
        "kraft_create_topics_validated",
        REPLICATION,
        text="Validate-only CreateTopics result(s): <results:created_topics>",
        sample=(
            "[QuorumController id=101] Validate-only CreateTopics result(s): CreatableTopic(name='pay-in', "
            "numPartitions=6, replicationFactor=2, assignments=[], configs=[]): SUCCESS"
        ),
        reads={
            "controller_id": 101,
            "topic": "pay-in",
            "partition_count": "6",
            "replication_factor": "2",
            "result": "SUCCESS",
        },
        since="3.1.0",
    ),
    Rule(
        "kraft_delete_topics_result",
        REPLICATION,
        text="DeleteTopics result(s): <results:deleted_topics>",
        sample=(
            "[QuorumController id=101] DeleteTopics result(s): {id: L3mK9pQrSt2uVwXyZ0aBcD, name: pay-in, "
            "result: SUCCESS}"
        ),
        reads={"controller_id": 101, "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD", "topic": "pay-in", "result": "SUCCESS"},
        since="4.0.0",
    ),
    Rule(
        "kraft_delete_topics_failed",
        REPLICATION,
        text="Unexpected deleteTopics error for <topic_id>",
        sample="[QuorumController id=101] Unexpected deleteTopics error for L3mK9pQrSt2uVwXyZ0aBcD",
        reads={"controller_id": 101, "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD"},
        since="2.8.0",
    ),
    Rule(
        "kraft_create_partitions_failed",
        REPLICATION,
        text=(
            "Unexpected createPartitions error for CreatePartitionsTopic(name='<topic>', "
            "count=<partition_count:int>, <_:rest>"
        ),
        sample=(
            "[QuorumController id=101] Unexpected createPartitions error for "
            "CreatePartitionsTopic(name='pay-in', count=12, assignments=null)"
        ),
        reads={"controller_id": 101, "topic": "pay-in", "partition_count": "12"},
        since="3.0.0",
    ),
    Rule(
        "kraft_alter_partition_rejected_invalid_isr",
        REPLICATION,
        text=(
            "Rejecting <_:word> request from node <broker> for <tp> because it specified an invalid ISR<? "
            "that doesn't include itself?>. <proposed:proposed>"
        ),
        sample=(
            "[QuorumController id=101] Rejecting AlterPartition request from node 5 for pay-in-3 because it "
            "specified an invalid ISR that doesn't include itself. Proposed ISR was [BrokerState(brokerId=4, "
            "brokerEpoch=300), BrokerState(brokerId=5, brokerEpoch=301)] and current ISR is [5]. Current "
            "replica set is [4, 5]. Current partitionEpoch is 22. Current leaderEpoch is 9."
        ),
        reads={
            "controller_id": 101,
            "broker": "5",
            "topic": "pay-in",
            "partition": 3,
            "isr": [4, 5],
            "isr_broker_epochs": "[300, 301]",
            "current_isr": "[5]",
            "replicas": [4, 5],
            "current_partition_epoch": "22",
            "current_leader_epoch": "9",
        },
        since="4.3.0",
    ),
    Rule(
        "kraft_alter_partition_rejected_recovering",
        REPLICATION,
        text=(
            "Rejecting <_:word> request from node <broker> for <tp> because the ISR had more than one "
            "replica while the leader was still recovering from an unclean leader election "
            "<leader_recovery_state:word>. <proposed:proposed>"
        ),
        sample=(
            "[QuorumController id=101] Rejecting AlterPartition request from node 5 for pay-in-3 because the "
            "ISR had more than one replica while the leader was still recovering from an unclean leader "
            "election RECOVERING. Proposed ISR was [BrokerState(brokerId=4, brokerEpoch=300), "
            "BrokerState(brokerId=5, brokerEpoch=301)] and current ISR is [5]. Current replica set is [4, "
            "5]. Current partitionEpoch is 22. Current leaderEpoch is 9."
        ),
        reads={
            "controller_id": 101,
            "broker": "5",
            "topic": "pay-in",
            "partition": 3,
            "leader_recovery_state": "RECOVERING",
            "isr": [4, 5],
            "isr_broker_epochs": "[300, 301]",
            "current_isr": "[5]",
            "replicas": [4, 5],
            "current_partition_epoch": "22",
            "current_leader_epoch": "9",
        },
        since="4.3.0",
    ),
    Rule(
        "kraft_alter_partition_rejected_ineligible",
        REPLICATION,
        text=(
            "Rejecting <_:word> request from node <broker> for <tp> because it specified ineligible replicas "
            "<ineligible:ineligible> in the new ISR. <proposed:proposed>"
        ),
        sample=(
            "[QuorumController id=101] Rejecting AlterPartition request from node 5 for pay-in-3 because it "
            "specified ineligible replicas [4 (fenced)] in the new ISR. Proposed ISR was "
            "[BrokerState(brokerId=4, brokerEpoch=300), BrokerState(brokerId=5, brokerEpoch=301)] and "
            "current ISR is [5]. Current replica set is [4, 5]. Current partitionEpoch is 22. Current "
            "leaderEpoch is 9."
        ),
        reads={
            "controller_id": 101,
            "broker": "5",
            "topic": "pay-in",
            "partition": 3,
            "ineligible_replicas": "[4]",
            "reason": "4 (fenced)",
            "isr": [4, 5],
            "isr_broker_epochs": "[300, 301]",
            "current_isr": "[5]",
            "replicas": [4, 5],
            "current_partition_epoch": "22",
            "current_leader_epoch": "9",
        },
        since="4.3.0",
    ),
    Rule(
        "kraft_alter_partition_accepted",
        REPLICATION,
        text="Node <broker> has altered ISR for <tp>. <changes:changes>",
        sample=(
            "[QuorumController id=101] Node 5 has altered ISR for pay-in-3. isr: [5] -> [4, 5], replicaSet: "
            "[4, 5] -> [4, 5], partitionEpoch: 21 -> 22, leaderEpoch: 8 -> 8"
        ),
        reads={
            "controller_id": 101,
            "broker": "5",
            "topic": "pay-in",
            "partition": 3,
            "isr": [4, 5],
            "replicas": [4, 5],
            "partition_epoch": 22,
            "leader_epoch": 8,
            "old_isr": "[5]",
            "old_replicas": "[4, 5]",
            "old_partition_epoch": "21",
            "old_leader_epoch": "8",
        },
        since="4.3.0",
    ),
    Rule(
        "kraft_alter_partition_completed_reassignment",
        REPLICATION,
        text=(
            "Alter<_:word> request from node <broker> for <tp> <changed:wording><? <changes:changes>?>. "
            "<_:returning> <error:word>."
        ),
        sample=(
            "[QuorumController id=101] AlterPartition request from node 5 for pay-in-3 completed the ongoing "
            "partition reassignment and triggered a leadership change. Returning NEW_LEADER_ELECTED."
        ),
        reads={
            "controller_id": 101,
            "broker": "5",
            "topic": "pay-in",
            "partition": 3,
            "leadership_changed": "true",
            "error": "NEW_LEADER_ELECTED",
        },
        since="3.0.0",
    ),
    Rule(
        "kraft_topic_quota_checked",
        REPLICATION,
        text="Checked for a partition change quota on topic <topic> with ID <topic_id>",
        sample=(
            "[QuorumController id=101] Checked for a partition change quota on topic pay-in with ID "
            "L3mK9pQrSt2uVwXyZ0aBcD"
        ),
        reads={"controller_id": 101, "topic": "pay-in", "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD"},
        since="4.0.0",
    ),
    Rule(
        "kraft_topic_quota_exceeded",
        REPLICATION,
        text=(
            "Topic <operation:word> of <partition_count:int> partitions not allowed because quota is "
            "violated. Delay time: <delay_ms:int>"
        ),
        sample=(
            "[QuorumController id=101] Topic creation of 6 partitions not allowed because quota is violated. "
            "Delay time: 7"
        ),
        reads={"controller_id": 101, "operation": "creation", "partition_count": "6", "delay_ms": "7"},
        since="3.5.0",
    ),
    Rule(
        "kraft_topic_quota_exceeded",
        REPLICATION,
        text=(
            "Partition <operation:word> of <partition_count:int> partitions not allowed because quota is "
            "violated. Delay time: <delay_ms:int>"
        ),
        sample=(
            "[QuorumController id=101] Partition creation of 6 partitions not allowed because quota is "
            "violated. Delay time: 7"
        ),
        reads={"controller_id": 101, "operation": "creation", "partition_count": "6", "delay_ms": "7"},
        since="3.5.0",
    ),
    Rule(
        "kraft_validation_failed",
        (
            "org.apache.kafka.controller.ReplicationControlManager",
            "org.apache.kafka.controller.ConfigurationControlManager",
        ),
        text="Unknown server error validating <request:word> <_:word>",
        sample="[QuorumController id=101] Unknown server error validating Alter Configs",
        reads={"controller_id": 101, "request": "Alter"},
        since="3.3.0",
    ),
)
