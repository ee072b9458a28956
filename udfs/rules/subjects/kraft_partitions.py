"""Topics and partitions in the KRaft controller: what was created, changed and elected, and why."""

from __future__ import annotations

from udfs.rules.rule import Rule

REPLICATION = ("org.apache.kafka.controller.ReplicationControlManager",)
PARTITION_CHANGE = ("org.apache.kafka.controller.PartitionChangeBuilder",)

RULES: tuple[Rule, ...] = (
    Rule(
        "kraft_partition_created",
        REPLICATION,
        text="Replayed PartitionRecord for new partition <tp> with topic ID <topic_id> and <state:printed>.",
        sample=(
            "[QuorumController id=101] Replayed PartitionRecord for new partition pay-in-3 with topic ID "
            "L3mK9pQrSt2uVwXyZ0aBcD and PartitionRegistration(replicas=[4, 5, 6], "
            "directories=[r7YzA2bCdE9fGhIj_KlMnO, d8FgH1jKLm-NoPq_RsTu5w, r7YzA2bCdE9fGhIj_KlMnO], isr=[5, "
            "4], removingReplicas=[6], addingReplicas=[], elr=[], lastKnownElr=[], leader=5, "
            "leaderRecoveryState=RECOVERED, leaderEpoch=8, partitionEpoch=21)."
        ),
        reads={
            "controller_id": 101,
            "topic": "pay-in",
            "partition": 3,
            "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD",
            "replicas": [4, 5, 6],
            "directories": '["r7YzA2bCdE9fGhIj_KlMnO", "d8FgH1jKLm-NoPq_RsTu5w", "r7YzA2bCdE9fGhIj_KlMnO"]',
            "isr": [5, 4],
            "removing_replicas": "[6]",
            "adding_replicas": "[]",
            "elr": "[]",
            "last_known_elr": "[]",
            "leader": 5,
            "leader_recovery_state": "RECOVERED",
            "leader_epoch": 8,
            "partition_epoch": 21,
        },
        since="3.6.0",
    ),
    Rule(
        "kraft_partition_created",
        REPLICATION,
        text="Created partition <tp> with topic ID <topic_id> and <state:printed>.",
        sample=(
            "[Controller 101] Created partition pay-in-3 with topic ID L3mK9pQrSt2uVwXyZ0aBcD and "
            "PartitionRegistration(replicas=[4, 5], isr=[4, 5], removingReplicas=[], addingReplicas=[], "
            "leader=4, leaderRecoveryState=RECOVERED, leaderEpoch=0, partitionEpoch=0)."
        ),
        reads={
            "controller_id": 101,
            "topic": "pay-in",
            "partition": 3,
            "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD",
            "replicas": [4, 5],
            "isr": [4, 5],
            "removing_replicas": "[]",
            "adding_replicas": "[]",
            "leader": 4,
            "leader_recovery_state": "RECOVERED",
            "leader_epoch": 0,
            "partition_epoch": 0,
        },
        since="3.0.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_partition_created",
        REPLICATION,
        text="Created partition <topic_id>:<partition> with <state:printed>.",
        sample=(
            "[Controller 101] Created partition L3mK9pQrSt2uVwXyZ0aBcD:3 with "
            "PartitionControlInfo(replicas=[4, 5], isr=[4, 5], removingReplicas=null, addingReplicas=null, "
            "leader=4, leaderEpoch=0, partitionEpoch=0)."
        ),
        reads={
            "controller_id": 101,
            "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD",
            "partition": 3,
            "replicas": [4, 5],
            "isr": [4, 5],
            "leader": 4,
            "leader_epoch": 0,
            "partition_epoch": 0,
        },
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_partition_record_replayed",
        REPLICATION,
        text=("Replayed PartitionRecord for existing partition <tp> with topic ID <topic_id> and <state:printed>."),
        sample=(
            "[QuorumController id=101] Replayed PartitionRecord for existing partition pay-in-3 with topic "
            "ID L3mK9pQrSt2uVwXyZ0aBcD and PartitionRegistration(replicas=[4, 5, 6], "
            "directories=[r7YzA2bCdE9fGhIj_KlMnO, d8FgH1jKLm-NoPq_RsTu5w, r7YzA2bCdE9fGhIj_KlMnO], isr=[5, "
            "4], removingReplicas=[6], addingReplicas=[], elr=[], lastKnownElr=[], leader=5, "
            "leaderRecoveryState=RECOVERED, leaderEpoch=8, partitionEpoch=21)."
        ),
        reads={
            "controller_id": 101,
            "topic": "pay-in",
            "partition": 3,
            "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD",
            "replicas": [4, 5, 6],
            "directories": '["r7YzA2bCdE9fGhIj_KlMnO", "d8FgH1jKLm-NoPq_RsTu5w", "r7YzA2bCdE9fGhIj_KlMnO"]',
            "isr": [5, 4],
            "removing_replicas": "[6]",
            "adding_replicas": "[]",
            "elr": "[]",
            "last_known_elr": "[]",
            "leader": 5,
            "leader_recovery_state": "RECOVERED",
            "leader_epoch": 8,
            "partition_epoch": 21,
        },
        since="3.6.0",
    ),
    Rule(
        "kraft_partition_changed",
        REPLICATION,
        text="partition change for <tp> with topic ID <topic_id>: <changes:changes>",
        sample=(
            "[QuorumController id=101] partition change for pay-in-3 with topic ID L3mK9pQrSt2uVwXyZ0aBcD: "
            "isr: [4, 5] -> [5], leader: 4 -> 5, leaderEpoch: 8 -> 9, elr: [] -> [4], partitionEpoch: 21 -> "
            "22"
        ),
        reads={
            "controller_id": 101,
            "topic": "pay-in",
            "partition": 3,
            "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD",
            "isr": [5],
            "leader": 5,
            "leader_epoch": 9,
            "elr": "[4]",
            "partition_epoch": 22,
            "old_isr": "[4, 5]",
            "old_leader": "4",
            "old_leader_epoch": "8",
            "old_elr": "[]",
            "old_partition_epoch": "21",
        },
        since="3.0.0",
    ),
    Rule(
        "kraft_partition_changed",
        REPLICATION,
        text=(
            "Modified partition <topic_id>:<partition>: oldIsr=<old_isr:brackets>, newIsr=[<isr>], "
            "oldLeader=<old_leader:int>, newLeader=<leader>, oldLeaderEpoch=<old_leader_epoch:int>, "
            "newLeaderEpoch=<leader_epoch>, oldPartitionEpoch=<old_partition_epoch:int>, "
            "newPartitionEpoch=<partition_epoch>."
        ),
        sample=(
            "[Controller 101] Modified partition L3mK9pQrSt2uVwXyZ0aBcD:3: oldIsr=[4, 5], newIsr=[5], "
            "oldLeader=4, newLeader=5, oldLeaderEpoch=8, newLeaderEpoch=9, oldPartitionEpoch=21, "
            "newPartitionEpoch=22."
        ),
        reads={
            "controller_id": 101,
            "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD",
            "partition": 3,
            "old_isr": "[4, 5]",
            "isr": [5],
            "old_leader": "4",
            "leader": 5,
            "old_leader_epoch": "8",
            "leader_epoch": 9,
            "old_partition_epoch": "21",
            "partition_epoch": 22,
        },
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_partition_changed",
        REPLICATION,
        text="Applied ISR change record: <change:printed>",
        sample=(
            "[Controller 101] Applied ISR change record: PartitionChangeRecord(partitionId=3, "
            "topicId=L3mK9pQrSt2uVwXyZ0aBcD, isr=[5], leader=5)"
        ),
        reads={"controller_id": 101, "partition": 3, "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD", "isr": [5], "leader": 5},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_partition_changed_unclean",
        REPLICATION,
        text="UNCLEAN partition change for <tp> with topic ID <topic_id>: <changes:changes>",
        sample=(
            "[QuorumController id=101] UNCLEAN partition change for pay-in-3 with topic ID "
            "L3mK9pQrSt2uVwXyZ0aBcD: isr: [] -> [6], leader: -1 -> 6, leaderRecoveryState: RECOVERED -> "
            "RECOVERING, leaderEpoch: 9 -> 10, lastKnownElr: [6] -> [], partitionEpoch: 23 -> 24"
        ),
        reads={
            "controller_id": 101,
            "topic": "pay-in",
            "partition": 3,
            "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD",
            "isr": [6],
            "leader": 6,
            "leader_recovery_state": "RECOVERING",
            "leader_epoch": 10,
            "last_known_elr": "[]",
            "partition_epoch": 24,
            "old_isr": "[]",
            "old_leader": "-1",
            "old_leader_recovery_state": "RECOVERED",
            "old_leader_epoch": "9",
            "old_last_known_elr": "[6]",
            "old_partition_epoch": "23",
        },
        since="3.0.0",
    ),
    Rule(
        "kraft_partition_change_record",
        REPLICATION,
        text="Replayed partition change <change:printed> for topic <topic>",
        sample=(
            "[QuorumController id=101] Replayed partition change PartitionChangeRecord(partitionId=3, "
            "topicId=L3mK9pQrSt2uVwXyZ0aBcD, isr=[5], leader=-2, replicas=null, removingReplicas=null, "
            "addingReplicas=null, leaderRecoveryState=-1, directories=null, eligibleLeaderReplicas=[4], "
            "lastKnownElr=null) for topic pay-in"
        ),
        reads={
            "controller_id": 101,
            "partition": 3,
            "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD",
            "isr": [5],
            "elr": "[4]",
            "topic": "pay-in",
        },
        since="3.0.0",
    ),
    Rule(
        "kraft_partition_assignment_changed",
        REPLICATION,
        text="Replayed partition assignment change <change:printed> for topic <topic>",
        sample=(
            "[QuorumController id=101] Replayed partition assignment change "
            "PartitionChangeRecord(partitionId=3, topicId=L3mK9pQrSt2uVwXyZ0aBcD, isr=null, leader=-2, "
            "replicas=[7, 4, 5, 6], removingReplicas=[6], addingReplicas=[7], leaderRecoveryState=-1, "
            "directories=[r7YzA2bCdE9fGhIj_KlMnO, r7YzA2bCdE9fGhIj_KlMnO, r7YzA2bCdE9fGhIj_KlMnO, "
            "d8FgH1jKLm-NoPq_RsTu5w], eligibleLeaderReplicas=null, lastKnownElr=null) for topic pay-in"
        ),
        reads={
            "controller_id": 101,
            "partition": 3,
            "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD",
            "replicas": [7, 4, 5, 6],
            "removing_replicas": "[6]",
            "adding_replicas": "[7]",
            "directories": (
                '["r7YzA2bCdE9fGhIj_KlMnO", "r7YzA2bCdE9fGhIj_KlMnO", "r7YzA2bCdE9fGhIj_KlMnO", '
                '"d8FgH1jKLm-NoPq_RsTu5w"]'
            ),
            "topic": "pay-in",
        },
        since="3.0.0",
    ),
    Rule(
        "kraft_partitions_changing_summary",
        REPLICATION,
        text="<context:context>: changing <partition_count:int> partition(s)",
        sample="[QuorumController id=101] handleDirectoriesOffline[4:EauAnREnKjtE2MBwlCxYfA]: changing 6 partition(s)",
        reads={
            "controller_id": 101,
            "context": "handleDirectoriesOffline[4:EauAnREnKjtE2MBwlCxYfA]",
            "broker": "4",
            "directory": "EauAnREnKjtE2MBwlCxYfA",
            "partition_count": "6",
        },
        since="3.0.0",
    ),
    Rule(
        "kraft_partitions_changing",
        REPLICATION,
        text="<context:context>: changing partition(s): <partitions>",
        sample="[QuorumController id=101] handleBrokerFenced: changing partition(s): pay-in-3, audit-0",
        reads={
            "controller_id": 101,
            "context": "handleBrokerFenced",
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "audit", "partition": 0}],
        },
        since="3.0.0",
    ),
    Rule(
        "kraft_elr_overlap",
        REPLICATION,
        text="<tp> has overlapping ISR=[<isr>] and ELR=<elr:brackets>",
        sample="[QuorumController id=101] pay-in-3 has overlapping ISR=[4, 5] and ELR=[5]",
        reads={"controller_id": 101, "topic": "pay-in", "partition": 3, "isr": [4, 5], "elr": "[5]"},
        since="3.8.0",
    ),
    Rule(
        "kraft_unclean_election_triggered",
        REPLICATION,
        text="Triggering unclean leader election for offline partition <tp>.<? (<state:changes>)?>",
        sample="[QuorumController id=101] Triggering unclean leader election for offline partition pay-in-3.",
        reads={"controller_id": 101, "topic": "pay-in", "partition": 3},
        since="3.9.0",
    ),
    Rule(
        "kraft_unclean_election_impossible",
        REPLICATION,
        text=("Cannot trigger unclean leader election for offline partition <tp>: <error:word><?. (<state:changes>)?>"),
        sample=(
            "[QuorumController id=101] Cannot trigger unclean leader election for offline partition "
            "pay-in-3: ELIGIBLE_LEADERS_NOT_AVAILABLE"
        ),
        reads={"controller_id": 101, "topic": "pay-in", "partition": 3, "error": "ELIGIBLE_LEADERS_NOT_AVAILABLE"},
        since="3.9.0",
    ),
    Rule(
        "kraft_unclean_election_disabled",
        REPLICATION,
        text=(
            "Cannot trigger unclean leader election for offline partition <tp> because unclean leader "
            "election is disabled for this topic.<? (<state:changes>)?>"
        ),
        sample=(
            "[QuorumController id=101] Cannot trigger unclean leader election for offline partition pay-in-3 "
            "because unclean leader election is disabled for this topic."
        ),
        reads={"controller_id": 101, "topic": "pay-in", "partition": 3},
        since="3.9.0",
    ),
    Rule(
        "kraft_balance_unknown_topic",
        REPLICATION,
        text="Skipping unknown imbalanced topic <_:text><topic_id>:<partition><?)?>",
        sample="[QuorumController id=101] Skipping unknown imbalanced topic L3mK9pQrSt2uVwXyZ0aBcD:3",
        reads={"controller_id": 101, "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD", "partition": 3},
        since="3.2.0",
    ),
    Rule(
        "kraft_balance_unknown_partition",
        REPLICATION,
        text="Skipping unknown imbalanced partition <_:text><topic_id>:<partition><?)?>",
        sample="[QuorumController id=101] Skipping unknown imbalanced partition L3mK9pQrSt2uVwXyZ0aBcD:3",
        reads={"controller_id": 101, "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD", "partition": 3},
        since="3.2.0",
    ),
    Rule(
        "kraft_directories_offline",
        REPLICATION,
        text=(
            "Directories <offline:offline_directories> in broker <broker> marked offline, remaining "
            "directories: <online:online_directories>"
        ),
        sample=(
            "[QuorumController id=101] Directories [r7YzA2bCdE9fGhIj_KlMnO] in broker 4 marked offline, "
            "remaining directories: [d8FgH1jKLm-NoPq_RsTu5w]"
        ),
        reads={
            "controller_id": 101,
            "offline_directories": '["r7YzA2bCdE9fGhIj_KlMnO"]',
            "broker": "4",
            "online_directories": '["d8FgH1jKLm-NoPq_RsTu5w"]',
        },
        since="3.7.0",
    ),
    Rule(
        "kraft_topic_created",
        REPLICATION,
        text="Replayed TopicRecord for topic <topic> with topic ID <topic_id>.",
        sample=(
            "[QuorumController id=101] Replayed TopicRecord for topic pay-in with topic ID L3mK9pQrSt2uVwXyZ0aBcD."
        ),
        reads={"controller_id": 101, "topic": "pay-in", "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD"},
        since="3.6.0",
    ),
    Rule(
        "kraft_topic_created",
        REPLICATION,
        text="Created topic <topic> with <?topic ?>ID <topic_id>.",
        sample="[Controller 101] Created topic pay-in with topic ID L3mK9pQrSt2uVwXyZ0aBcD.",
        reads={"controller_id": 101, "topic": "pay-in", "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD"},
        since="2.8.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_topic_removed",
        REPLICATION,
        text="Replayed RemoveTopicRecord for topic <topic> with ID <topic_id>.",
        sample=(
            "[QuorumController id=101] Replayed RemoveTopicRecord for topic pay-in with ID L3mK9pQrSt2uVwXyZ0aBcD."
        ),
        reads={"controller_id": 101, "topic": "pay-in", "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD"},
        since="3.6.0",
    ),
    Rule(
        "kraft_topic_removed",
        REPLICATION,
        text="Removed topic <topic> with ID <topic_id>.",
        sample="[Controller 101] Removed topic pay-in with ID L3mK9pQrSt2uVwXyZ0aBcD.",
        reads={"controller_id": 101, "topic": "pay-in", "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD"},
        since="2.8.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_broker_session_timeout",
        REPLICATION,
        text="Fencing broker <broker><? at epoch <broker_epoch:int>?> because its session has timed out.",
        sample="[QuorumController id=101] Fencing broker 4 at epoch 300 because its session has timed out.",
        reads={"controller_id": 101, "broker": "4", "broker_epoch": "300"},
        since="2.8.0",
    ),
    Rule(
        "kraft_broker_heartbeat_expired",
        REPLICATION,
        text=(
            "processExpiredBrokerHeartbeat: controller event queue overloaded. Timed out heartbeat from "
            "broker <broker>."
        ),
        sample=(
            "[QuorumController id=101] processExpiredBrokerHeartbeat: controller event queue overloaded. "
            "Timed out heartbeat from broker 4."
        ),
        reads={"controller_id": 101, "broker": "4"},
        since="3.5.0",
    ),
    Rule(
        "kraft_elr_removed",
        REPLICATION,
        text="Removed ELRs from <partition_count:int> partitions <?of topic <topic>?><?in all topics?>.",
        sample="[QuorumController id=101] Removed ELRs from 2 partitions of topic pay-in.",
        reads={"controller_id": 101, "partition_count": "2", "topic": "pay-in"},
        since="4.0.0",
    ),
    Rule(
        "kraft_leader_elected_unclean",
        PARTITION_CHANGE,
        text=(
            "Setting new leader for topicId <topic_id>, partition <partition> to <leader> using "
            "<unclean:unclean_election><?. Previous partition: <previous:previous>, change record: "
            "<change:printed_change>?><?.?>"
        ),
        sample=(
            "Setting new leader for topicId L3mK9pQrSt2uVwXyZ0aBcD, partition 3 to 6 using an unclean "
            "election. Previous partition: PartitionRegistration(replicas=[5, 6], "
            "directories=[r7YzA2bCdE9fGhIj_KlMnO, d8FgH1jKLm-NoPq_RsTu5w], isr=[], removingReplicas=[], "
            "addingReplicas=[], elr=[5], lastKnownElr=[5], leader=-1, leaderRecoveryState=RECOVERED, "
            "leaderEpoch=9, partitionEpoch=23), change record: PartitionChangeRecord(partitionId=3, "
            "topicId=L3mK9pQrSt2uVwXyZ0aBcD, isr=[6], leader=-2, replicas=null, removingReplicas=null, "
            "addingReplicas=null, leaderRecoveryState=1, directories=null, eligibleLeaderReplicas=null, "
            "lastKnownElr=null)"
        ),
        reads={
            "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD",
            "partition": 3,
            "leader": 6,
            "unclean": "true",
            "previous_replicas": "[5, 6]",
            "previous_directories": '["r7YzA2bCdE9fGhIj_KlMnO", "d8FgH1jKLm-NoPq_RsTu5w"]',
            "previous_isr": "[]",
            "previous_removing_replicas": "[]",
            "previous_adding_replicas": "[]",
            "previous_elr": "[5]",
            "previous_last_known_elr": "[5]",
            "previous_leader": "-1",
            "previous_leader_recovery_state": "RECOVERED",
            "previous_leader_epoch": "9",
            "previous_partition_epoch": "23",
            "isr": [6],
            "leader_recovery_state": "RECOVERING",
        },
        since="3.2.0",
    ),
    Rule(
        "kraft_leader_elected_elr",
        PARTITION_CHANGE,
        text=(
            "Setting new leader for topicId <topic_id>, partition <partition> to <leader> using "
            "<elr:elr_election><?. Previous partition: <previous:previous>, change record: "
            "<change:printed_change>?><?.?>"
        ),
        sample=(
            "Setting new leader for topicId L3mK9pQrSt2uVwXyZ0aBcD, partition 3 to 5 using ELR. Previous "
            "partition: PartitionRegistration(replicas=[5], directories=[r7YzA2bCdE9fGhIj_KlMnO], isr=[], "
            "removingReplicas=[], addingReplicas=[], elr=[5], lastKnownElr=[5], leader=-1, "
            "leaderRecoveryState=RECOVERED, leaderEpoch=9, partitionEpoch=23), change record: "
            "PartitionChangeRecord(partitionId=3, topicId=L3mK9pQrSt2uVwXyZ0aBcD, isr=null, leader=-2, "
            "replicas=null, removingReplicas=null, addingReplicas=null, leaderRecoveryState=-1, "
            "directories=null, eligibleLeaderReplicas=null, lastKnownElr=null)"
        ),
        reads={
            "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD",
            "partition": 3,
            "leader": 5,
            "from_elr": "true",
            "previous_replicas": "[5]",
            "previous_directories": '["r7YzA2bCdE9fGhIj_KlMnO"]',
            "previous_isr": "[]",
            "previous_removing_replicas": "[]",
            "previous_adding_replicas": "[]",
            "previous_elr": "[5]",
            "previous_last_known_elr": "[5]",
            "previous_leader": "-1",
            "previous_leader_recovery_state": "RECOVERED",
            "previous_leader_epoch": "9",
            "previous_partition_epoch": "23",
        },
        since="3.7.0",
    ),
    Rule(
        "kraft_leader_elected",
        PARTITION_CHANGE,
        text=(
            "Setting new leader for topicId <topic_id>, partition <partition> to <leader><? using "
            "<unclean:clean_election>?><?. Previous partition: <previous:previous>, change record: "
            "<change:printed_change>?><?.?>"
        ),
        sample="Setting new leader for topicId L3mK9pQrSt2uVwXyZ0aBcD, partition 3 to 5 using a clean election",
        reads={"topic_id": "L3mK9pQrSt2uVwXyZ0aBcD", "partition": 3, "leader": 5, "unclean": "false"},
        since="3.1.0",
    ),
    Rule(
        "kraft_leader_election_failed",
        PARTITION_CHANGE,
        text="Failed to find a new leader with current state: <state:builder>",
        sample=(
            "Failed to find a new leader with current state: "
            "PartitionChangeBuilder(partition=PartitionRegistration(replicas=[4, 5], isr=[4], "
            "removingReplicas=[], addingReplicas=[], leader=-1, leaderRecoveryState=RECOVERED, leaderEpoch=9,"
            " partitionEpoch=23), topicId=L3mK9pQrSt2uVwXyZ0aBcD, partitionId=3, "
            "isAcceptableLeader=org.apache.kafka.controller.ReplicationControlManager$$Lambda$301/0x01@1f, "
            "targetIsr=[4], targetReplicas=[4, 5], targetRemoving=[], targetAdding=[], election=ONLINE, "
            "targetLeaderRecoveryState=RECOVERED)"
        ),
        reads={
            "replicas": [4, 5],
            "isr": [4],
            "removing_replicas": "[]",
            "adding_replicas": "[]",
            "leader": -1,
            "leader_recovery_state": "RECOVERED",
            "leader_epoch": 9,
            "partition_epoch": 23,
            "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD",
            "partition": 3,
            "target_isr": "[4]",
            "target_replicas": "[4, 5]",
            "target_removing": "[]",
            "target_adding": "[]",
            "election": "ONLINE",
            "target_leader_recovery_state": "RECOVERED",
        },
        since="3.1.0",
    ),
    Rule(
        "kraft_partition_empty_isr",
        PARTITION_CHANGE,
        text="A partition will have an empty ISR. <state:builder>",
        sample=(
            "A partition will have an empty ISR. "
            "PartitionChangeBuilder(partition=PartitionRegistration(replicas=[4, 5, 6], "
            "directories=[r7YzA2bCdE9fGhIj_KlMnO, d8FgH1jKLm-NoPq_RsTu5w, r7YzA2bCdE9fGhIj_KlMnO], isr=[5, "
            "4], removingReplicas=[6], addingReplicas=[], elr=[], lastKnownElr=[], leader=5, "
            "leaderRecoveryState=RECOVERED, leaderEpoch=8, partitionEpoch=21), "
            "topicId=L3mK9pQrSt2uVwXyZ0aBcD, partitionId=3, "
            "isAcceptableLeader=org.apache.kafka.controller.ReplicationControlManager$$Lambda$301/0x01@1f, "
            "targetIsr=[], targetReplicas=[4, 5, 6], targetRemoving=[], targetAdding=[], targetElr=[5], "
            "targetLastKnownElr=[], uncleanShutdownReplicas=[], election=ONLINE, "
            "targetLeaderRecoveryState=RECOVERED)"
        ),
        reads={
            "replicas": [4, 5, 6],
            "directories": '["r7YzA2bCdE9fGhIj_KlMnO", "d8FgH1jKLm-NoPq_RsTu5w", "r7YzA2bCdE9fGhIj_KlMnO"]',
            "isr": [5, 4],
            "removing_replicas": "[6]",
            "adding_replicas": "[]",
            "elr": "[]",
            "last_known_elr": "[]",
            "leader": 5,
            "leader_recovery_state": "RECOVERED",
            "leader_epoch": 8,
            "partition_epoch": 21,
            "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD",
            "partition": 3,
            "target_isr": "[]",
            "target_replicas": "[4, 5, 6]",
            "target_removing": "[]",
            "target_adding": "[]",
            "target_elr": "[5]",
            "target_last_known_elr": "[]",
            "unclean_shutdown_replicas": "[]",
            "election": "ONLINE",
            "target_leader_recovery_state": "RECOVERED",
        },
        since="3.7.0",
    ),
    Rule(
        "kraft_last_known_leader_not_elected",
        PARTITION_CHANGE,
        text=(
            "Try to elect last known leader for <topic_id>-<partition> but <?elrEnabled=<elr_enabled:word>, "
            "useLastKnownLeaderInBalancedRecovery=<balanced:word>?><?ELR/ISR is not empty. ISR=[<isr>], "
            "ELR=<elr:brackets>?><?lastKnownElr does not only have 1 member. "
            "lastKnownElr=<last_known_elr:brackets>?><?last known leader is not alive. last known "
            "leader=<last_known_leader:int>?>"
        ),
        sample=(
            "Try to elect last known leader for L3mK9pQrSt2uVwXyZ0aBcD-3 but last known leader is not alive. "
            "last known leader=5"
        ),
        reads={"topic_id": "L3mK9pQrSt2uVwXyZ0aBcD", "partition": 3, "last_known_leader": "5"},
        since="3.7.0",
    ),
    Rule(
        "kraft_partition_change_record",
        REPLICATION,
        text="Replayed partition change <change:printed> for topic <topic>. (<state:changes>)",
        sample=(
            "[QuorumController id=101] Replayed partition change PartitionChangeRecord(partitionId=3, "
            "topicId=L3mK9pQrSt2uVwXyZ0aBcD, isr=[5], leader=-2, replicas=null, removingReplicas=null, "
            "addingReplicas=null, leaderRecoveryState=-1, directories=null, eligibleLeaderReplicas=null, "
            "lastKnownElr=null) for topic pay-in. (isr: [4, 5] -> [5], replicaSet: [4, 5] -> [4, 5], "
            "partitionEpoch: 22, leaderEpoch: 9)"
        ),
        reads={
            "controller_id": 101,
            "partition": 3,
            "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD",
            "isr": [5],
            "topic": "pay-in",
            "replicas": [4, 5],
            "partition_epoch": 22,
            "leader_epoch": 9,
            "old_isr": "[4, 5]",
            "old_replicas": "[4, 5]",
        },
        since="4.3.0",
    ),
    Rule(
        "kraft_partition_assignment_changed",
        REPLICATION,
        text="Replayed partition assignment change <change:printed> for topic <topic>. (<state:changes>)",
        sample=(
            "[QuorumController id=101] Replayed partition assignment change "
            "PartitionChangeRecord(partitionId=3, topicId=L3mK9pQrSt2uVwXyZ0aBcD, isr=[5], leader=-2, "
            "replicas=null, removingReplicas=null, addingReplicas=null, leaderRecoveryState=-1, "
            "directories=null, eligibleLeaderReplicas=null, lastKnownElr=null) for topic pay-in. (isr: [4, "
            "5] -> [5], replicaSet: [4, 5] -> [4, 5], partitionEpoch: 22, leaderEpoch: 9)"
        ),
        reads={
            "controller_id": 101,
            "partition": 3,
            "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD",
            "isr": [5],
            "topic": "pay-in",
            "replicas": [4, 5],
            "partition_epoch": 22,
            "leader_epoch": 9,
            "old_isr": "[4, 5]",
            "old_replicas": "[4, 5]",
        },
        since="4.3.0",
    ),
    Rule(
        "kraft_directories_cordoned",
        REPLICATION,
        text="Directories <offline:cordoned_directories> in broker <broker> marked cordoned",
        sample="[QuorumController id=101] Directories [r7YzA2bCdE9fGhIj_KlMnO] in broker 4 marked cordoned",
        reads={"controller_id": 101, "cordoned_directories": '["r7YzA2bCdE9fGhIj_KlMnO"]', "broker": "4"},
        since="4.3.0",
    ),
    Rule(
        "kraft_heartbeat_entry_removed",
        REPLICATION,
        text=(
            "Removing heartbeat tracker entry for <?unknown ?>broker <broker> at <?previous ?>epoch "
            "<broker_epoch:int>.<? Current epoch is <current_broker_epoch:int>?>"
        ),
        sample=(
            "[QuorumController id=101] Removing heartbeat tracker entry for broker 4 at previous epoch 300. "
            "Current epoch is 410"
        ),
        reads={"controller_id": 101, "broker": "4", "broker_epoch": "300", "current_broker_epoch": "410"},
        since="4.0.0",
    ),
    Rule(
        "kraft_no_stale_brokers",
        REPLICATION,
        text="No stale brokers found.",
        sample="[QuorumController id=101] No stale brokers found.",
        reads={"controller_id": 101},
        since="4.0.0",
    ),
    Rule(
        "kraft_topic_deleting",
        REPLICATION,
        text="Starting deletion of topic with ID <topic_id>.",
        sample="[QuorumController id=101] Starting deletion of topic with ID L3mK9pQrSt2uVwXyZ0aBcD.",
        reads={"controller_id": 101, "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD"},
        since="4.0.0",
    ),
    Rule(
        "kraft_topic_deleting",
        REPLICATION,
        text="Deleting topic <topic> with ID <topic_id> and <partition_count:int> partitions",
        sample="[QuorumController id=101] Deleting topic pay-in with ID L3mK9pQrSt2uVwXyZ0aBcD and 6 partitions",
        reads={"controller_id": 101, "topic": "pay-in", "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD", "partition_count": "6"},
        since="4.0.0",
    ),
    Rule(
        "kraft_topic_config_missing",
        REPLICATION,
        text=(
            "Can't find the <config_name:text> for topic: <topic><?.?> <?using?><?Use?> default value "
            "<config_value:int><?. Error=<reason:rest>?>"
        ),
        sample="[QuorumController id=101] Can't find the min isr config for topic: pay-in using default value 1",
        reads={"controller_id": 101, "config_name": "min isr config", "topic": "pay-in", "config_value": "1"},
        since="3.7.0",
        until="3.8.1",
    ),
)
