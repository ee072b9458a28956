"""Migration from ZooKeeper to KRaft (3.4 to 3.9), and the fault handlers of KRaft."""

from __future__ import annotations

from udfs.rules.rule import Rule

MIGRATION = ("org.apache.kafka.metadata.migration.KRaftMigrationDriver",)
CONTROLLER = ("org.apache.kafka.controller.QuorumController",)
FEATURES = ("org.apache.kafka.controller.FeatureControlManager",)

RULES: tuple[Rule, ...] = (
    Rule(
        "kraft_migration_started",
        MIGRATION,
        text="<?KRaftMigrationDriver?>Starting ZK migration",
        sample="[KRaftMigrationDriver id=101] Starting ZK migration",
        reads={"controller_id": 101},
        since="3.4.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_completed",
        MIGRATION,
        text=(
            "<?KRaftMigrationDriver?>Completed migration of metadata from Zoo<_:word> to KRaft. <?A total of "
            "<record_count:int> metadata records were generated. ?><?<record_count:int> records were "
            "generated in <elapsed_ms:int> ms across <batch_count:int> batches. The average time spent "
            "waiting on a batch was <average_ms:word> ms. The record types were <record_types:text>. ?>The "
            "current metadata offset is now <metadata_offset:int> with an epoch of <raft_epoch:int>. Saw "
            "<_:int> brokers in the migrated metadata <brokers:brackets>."
        ),
        sample=(
            "[KRaftMigrationDriver id=101] Completed migration of metadata from Zookeeper to KRaft. A total "
            "of 290 metadata records were generated. The current metadata offset is now 301 with an epoch of "
            "8. Saw 2 brokers in the migrated metadata [4, 5]."
        ),
        reads={
            "controller_id": 101,
            "record_count": "290",
            "metadata_offset": "301",
            "raft_epoch": "8",
            "brokers": "[4, 5]",
        },
        since="3.4.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_driver_state",
        MIGRATION,
        text="<?KRaftMigrationDriver?><controller_id> transitioning from <from_state> to <to_state> state",
        sample=("[KRaftMigrationDriver id=101] 101 transitioning from INACTIVE to WAIT_FOR_CONTROLLER_QUORUM state"),
        reads={"controller_id": 101, "from_state": "INACTIVE", "to_state": "WAIT_FOR_CONTROLLER_QUORUM"},
        since="3.4.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_waiting",
        MIGRATION,
        text=(
            "<?KRaftMigrationDriver?>Still waiting for ZK brokers <brokers:brackets><? found in metadata?> "
            "to register with KRaft."
        ),
        sample="[KRaftMigrationDriver id=101] Still waiting for ZK brokers [4, 5] to register with KRaft.",
        reads={"controller_id": 101, "brokers": "[4, 5]"},
        since="3.4.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_waiting",
        MIGRATION,
        text=(
            "<?KRaftMigrationDriver?>No brokers are <?known to KRaft?><?registered in ZK?>, waiting for "
            "brokers to register."
        ),
        sample="[KRaftMigrationDriver id=101] No brokers are known to KRaft, waiting for brokers to register.",
        reads={"controller_id": 101},
        since="3.5.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_full_sync",
        MIGRATION,
        text="Performing a full metadata sync from KRaft to ZK.",
        sample="[KRaftMigrationDriver id=101] Performing a full metadata sync from KRaft to ZK.",
        reads={"controller_id": 101},
        since="3.5.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_fault",
        ("org.apache.kafka.server.fault.LoggingFaultHandler",),
        text="Encountered <fault_type:text> fault: <reason:rest>",
        sample="Encountered metadata publishing fault: Error applying topics delta in MetadataDelta up to 640",
        reads={"fault_type": "metadata publishing", "reason": "Error applying topics delta in MetadataDelta up to 640"},
        since="3.3.0",
    ),
    Rule(
        "kraft_fatal_fault",
        (
            "org.apache.kafka.server.fault.ProcessExitingFaultHandler",
            "org.apache.kafka.server.fault.ProcessTerminatingFaultHandler",
        ),
        text="Encountered fatal fault: <reason:rest>",
        sample="Encountered fatal fault: exception while claiming leadership",
        reads={"reason": "exception while claiming leadership"},
        since="3.3.0",
    ),
    Rule(
        "kraft_fault_action_failed",
        (
            "org.apache.kafka.server.fault.LoggingFaultHandler",
            "org.apache.kafka.server.fault.ProcessExitingFaultHandler",
            "org.apache.kafka.server.fault.ProcessTerminatingFaultHandler",
        ),
        text="Failed to run <action:word> action.",
        sample="Failed to run LoggingFaultHandler action.",
        reads={"action": "LoggingFaultHandler"},
        since="3.3.0",
    ),
    Rule(
        "kraft_migration_driver_state",
        MIGRATION,
        text="<event:word>. Transitioned migration state from <from_state:text> to <to_state:rest>",
        sample=(
            "[KRaftMigrationDriver id=101] MigrateMetadataEvent. Transitioned migration state from "
            "ZkMigrationLeadershipState{kraftControllerId=101} to "
            "ZkMigrationLeadershipState{kraftControllerId=101}"
        ),
        reads={
            "controller_id": 101,
            "event": "MigrateMetadataEvent",
            "from_state": "ZkMigrationLeadershipState{kraftControllerId=101}",
            "to_state": "ZkMigrationLeadershipState{kraftControllerId=101}",
        },
        since="3.5.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_driver_state",
        MIGRATION,
        text="<event:word>. Kept migration state as <to_state:rest>",
        sample=(
            "[KRaftMigrationDriver id=101] MigrateMetadataEvent. Kept migration state as "
            "ZkMigrationLeadershipState{kraftControllerId=101}"
        ),
        reads={
            "controller_id": 101,
            "event": "MigrateMetadataEvent",
            "to_state": "ZkMigrationLeadershipState{kraftControllerId=101}",
        },
        since="3.5.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_driver_state",
        MIGRATION,
        text="Initial migration of ZK metadata is <migration_state:text>.",
        sample="[KRaftMigrationDriver id=101] Initial migration of ZK metadata is done.",
        reads={"controller_id": 101, "migration_state": "done"},
        since="3.5.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_waiting",
        MIGRATION,
        text=(
            "Still waiting for all controller nodes ready to begin the migration. <?Not ready?><? due "
            "to:?><?due to:?><reason:rest>"
        ),
        sample=(
            "[KRaftMigrationDriver id=101] Still waiting for all controller nodes ready to begin the "
            "migration. Not ready due to:Missing apiVersion from nodes: [102]"
        ),
        reads={"controller_id": 101, "reason": "Missing apiVersion from nodes: [102]"},
        since="3.5.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_waiting",
        MIGRATION,
        text="Controller Quorum is ready for Zk to KRaft migration<?. Now waiting for ZK brokers.?>",
        sample=(
            "[KRaftMigrationDriver id=101] Controller Quorum is ready for Zk to KRaft migration. Now waiting "
            "for ZK brokers."
        ),
        reads={"controller_id": 101},
        since="3.4.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_waiting",
        MIGRATION,
        text="Waiting for initial metadata publish before checking if Zk brokers are registered.",
        sample=(
            "[KRaftMigrationDriver id=101] Waiting for initial metadata publish before checking if Zk "
            "brokers are registered."
        ),
        reads={"controller_id": 101},
        since="3.4.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_brokers_ready",
        MIGRATION,
        text="Zk brokers are registered and ready for migration",
        sample="[KRaftMigrationDriver id=101] Zk brokers are registered and ready for migration",
        reads={"controller_id": 101},
        since="3.4.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_retry",
        MIGRATION,
        text="Unable to claim leadership, will retry until we learn of a different KRaft leader",
        sample=(
            "[KRaftMigrationDriver id=101] Unable to claim leadership, will retry until we learn of a "
            "different KRaft leader"
        ),
        reads={"controller_id": 101},
        since="3.5.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_retry",
        MIGRATION,
        text="Encountered ZooKeeper error during event <event:text>. Will retry.",
        sample=(
            "[KRaftMigrationDriver id=101] Encountered ZooKeeper error during event MigrateMetadataEvent. Will retry."
        ),
        reads={"controller_id": 101, "event": "MigrateMetadataEvent"},
        since="3.5.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_batch",
        MIGRATION,
        text="Migrating <record_count:int> records from ZK<?: <_:rest>?>",
        sample="[KRaftMigrationDriver id=101] Migrating 200 records from ZK",
        reads={"controller_id": 101, "record_count": "200"},
        since="3.4.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_failed",
        MIGRATION,
        text="Aborting the metadata migration from ZooKeeper to KRaft. <reason:rest>",
        sample=("[KRaftMigrationDriver id=101] Aborting the metadata migration from ZooKeeper to KRaft. the reason"),
        reads={"controller_id": 101, "reason": "the reason"},
        since="3.6.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_failed",
        MIGRATION,
        text="Could not start the migration",
        sample="[KRaftMigrationDriver id=101] Could not start the migration",
        reads={"controller_id": 101},
        since="3.6.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_event_skipped",
        MIGRATION,
        text=(
            "Expected driver state <from_state:word> but found <to_state:word>. Not running this event <event:text>."
        ),
        sample=(
            "[KRaftMigrationDriver id=101] Expected driver state ZK_MIGRATION but found INACTIVE. Not "
            "running this event MigrateMetadataEvent."
        ),
        reads={
            "controller_id": 101,
            "from_state": "ZK_MIGRATION",
            "to_state": "INACTIVE",
            "event": "MigrateMetadataEvent",
        },
        since="3.5.2",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_image_ignored",
        MIGRATION,
        text=(
            "Ignoring <?using metadata ?>image <provenance:text> which does not contain a superset of the "
            "metadata in ZK. Staying in SYNC_KRAFT_TO_ZK until a newer image is loaded"
        ),
        sample=(
            "[KRaftMigrationDriver id=101] Ignoring image MetadataProvenance(offset=640, epoch=8) which does "
            "not contain a superset of the metadata in ZK. Staying in SYNC_KRAFT_TO_ZK until a newer image "
            "is loaded"
        ),
        reads={"controller_id": 101, "provenance": "MetadataProvenance(offset=640, epoch=8)"},
        since="3.6.1",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_image_ignored",
        MIGRATION,
        text=(
            "Ignoring <metadata_type:word> <provenance:text> <?since the migration has not finished?><?which "
            "contains metadata that has already been written to ZK?>."
        ),
        sample=(
            "[KRaftMigrationDriver id=101] Ignoring snapshot MetadataProvenance(offset=640, epoch=8) since "
            "the migration has not finished."
        ),
        reads={
            "controller_id": 101,
            "metadata_type": "snapshot",
            "provenance": "MetadataProvenance(offset=640, epoch=8)",
        },
        since="3.4.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_zk_writes",
        MIGRATION,
        text=(
            "Made the following ZK writes when <?reconciling with KRaft state?><?handling KRaft "
            "<metadata_type:word>?>: <writes:rest>"
        ),
        sample=(
            "[KRaftMigrationDriver id=101] Made the following ZK writes when reconciling with KRaft state: "
            "{UpdatePartition=3}"
        ),
        reads={"controller_id": 101, "writes": "{UpdatePartition=3}"},
        since="3.5.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_driver_state",
        MIGRATION,
        text=(
            "KRaft controller indicates <?a completed migration, but the migration driver is somehow "
            "active?><?an active migration, but the ZK state does not?>."
        ),
        sample=(
            "[KRaftMigrationDriver id=101] KRaft controller indicates an active migration, but the ZK state does not."
        ),
        reads={"controller_id": 101},
        since="3.5.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_driver_state",
        MIGRATION,
        text=(
            "<?KRaftMigrationDriver?>Recovered migration state <to_state:text>. ZK migration is <migration_state:word>."
        ),
        sample=(
            "KRaftMigrationDriverRecovered migration state "
            "ZkMigrationLeadershipState{kraftControllerId=101}. ZK migration is done."
        ),
        reads={"to_state": "ZkMigrationLeadershipState{kraftControllerId=101}", "migration_state": "done"},
        since="3.4.0",
        until="3.4.1",
    ),
    Rule(
        "kraft_migration_driver_state",
        MIGRATION,
        text="<?KRaftMigrationDriver?>Recovering migration state",
        sample="KRaftMigrationDriverRecovering migration state",
        reads={},
        since="3.4.0",
        until="3.4.1",
    ),
    Rule(
        "kraft_migration_waiting",
        MIGRATION,
        text="Migration is in already progress, not waiting on ZK brokers.",
        sample="[KRaftMigrationDriver id=101] Migration is in already progress, not waiting on ZK brokers.",
        reads={"controller_id": 101},
        since="3.5.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_refused",
        MIGRATION,
        text=(
            "The controller's ZkMigrationState is NONE which means this cluster should not be migrated from "
            "ZooKeeper. <_:rest>"
        ),
        sample=(
            "[KRaftMigrationDriver id=101] The controller's ZkMigrationState is NONE which means this "
            "cluster should not be migrated from ZooKeeper. This controller should not be configured with "
            "'zookeeper.metadata.migration.enable' set to true. Will not proceed with a migration."
        ),
        reads={"controller_id": 101},
        since="3.5.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_requests",
        MIGRATION,
        text=(
            "Sending RPCs to broker before moving to dual-write mode using at offset and epoch <offset_and_epoch:rest>"
        ),
        sample=(
            "[KRaftMigrationDriver id=101] Sending RPCs to broker before moving to dual-write mode using at "
            "offset and epoch OffsetAndEpoch(offset=640, epoch=8)"
        ),
        reads={"controller_id": 101, "offset_and_epoch": "OffsetAndEpoch(offset=640, epoch=8)"},
        since="3.4.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_requests",
        MIGRATION,
        text=(
            "Not sending metadata RPCs with current metadata image since does not contain the offset that "
            "was last written to ZK during the migration. Image offset <image_offset:text> is less than "
            "migration leadership state offset <offset_and_epoch:rest>"
        ),
        sample=(
            "[KRaftMigrationDriver id=101] Not sending metadata RPCs with current metadata image since does "
            "not contain the offset that was last written to ZK during the migration. Image offset "
            "OffsetAndEpoch(offset=630, epoch=8) is less than migration leadership state offset "
            "OffsetAndEpoch(offset=640, epoch=8)"
        ),
        reads={
            "controller_id": 101,
            "image_offset": "OffsetAndEpoch(offset=630, epoch=8)",
            "offset_and_epoch": "OffsetAndEpoch(offset=640, epoch=8)",
        },
        since="3.6.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_controller_migration_state",
        CONTROLLER,
        text="Loaded ZK migration state of <zk_migration_state:word>",
        sample="[QuorumController id=101] Loaded ZK migration state of MIGRATION",
        reads={"controller_id": 101, "zk_migration_state": "MIGRATION"},
        since="3.5.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_controller_migration_state",
        CONTROLLER,
        text=("Setting the ZK migration state to <zk_migration_state:word> since this is a de-novo KRaft cluster."),
        sample=(
            "[QuorumController id=101] Setting the ZK migration state to NONE since this is a de-novo KRaft cluster."
        ),
        reads={"controller_id": 101, "zk_migration_state": "NONE"},
        since="3.5.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_controller_migration_state",
        CONTROLLER,
        text=(
            "Putting the controller into pre-migration mode. No metadata updates will be allowed until the "
            "ZK metadata has been migrated<?.?>"
        ),
        sample=(
            "[QuorumController id=101] Putting the controller into pre-migration mode. No metadata updates "
            "will be allowed until the ZK metadata has been migrated"
        ),
        reads={"controller_id": 101},
        since="3.5.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_controller_migration_state",
        CONTROLLER,
        text="Activating pre-migration controller without empty log. There may be a partial migration<?.?>",
        sample=(
            "[QuorumController id=101] Activating pre-migration controller without empty log. There may be a "
            "partial migration"
        ),
        reads={"controller_id": 101},
        since="3.5.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_controller_migration_state",
        CONTROLLER,
        text=(
            "Completing the ZK migration since this controller was configured with "
            "'zookeeper.metadata.migration.enable' set to 'false'."
        ),
        sample=(
            "[QuorumController id=101] Completing the ZK migration since this controller was configured with "
            "'zookeeper.metadata.migration.enable' set to 'false'."
        ),
        reads={"controller_id": 101},
        since="3.5.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_controller_migration_state",
        CONTROLLER,
        text="Staying in the ZK migration since 'zookeeper.metadata.migration.enable' is still 'true'.",
        sample=(
            "[QuorumController id=101] Staying in the ZK migration since "
            "'zookeeper.metadata.migration.enable' is still 'true'."
        ),
        reads={"controller_id": 101},
        since="3.5.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_controller_migration_state",
        CONTROLLER,
        text=(
            "Ignoring 'zookeeper.metadata.migration.enable' value of 'true' since the ZK migration<? ?>has "
            "been completed."
        ),
        sample=(
            "[QuorumController id=101] Ignoring 'zookeeper.metadata.migration.enable' value of 'true' since "
            "the ZK migrationhas been completed."
        ),
        reads={"controller_id": 101},
        since="3.5.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_migration_started",
        CONTROLLER,
        text="Starting ZK Migration<? without metadata transactions enabled. <_:rest>?>",
        sample=(
            "[QuorumController id=101] Starting ZK Migration without metadata transactions enabled. This is "
            "not safe since a controller failover or processing error may lead to partially migrated "
            "metadata."
        ),
        reads={"controller_id": 101},
        since="3.5.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_started",
        CONTROLLER,
        text="Starting migration of ZooKeeper metadata to KRaft.",
        sample="[QuorumController id=101] Starting migration of ZooKeeper metadata to KRaft.",
        reads={"controller_id": 101},
        since="3.6.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_completed",
        CONTROLLER,
        text="Completing ZK Migration",
        sample="[QuorumController id=101] Completing ZK Migration",
        reads={"controller_id": 101},
        since="3.5.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_migration_completed",
        CONTROLLER,
        text="Completing migration of ZooKeeper metadata to KRaft.",
        sample="[QuorumController id=101] Completing migration of ZooKeeper metadata to KRaft.",
        reads={"controller_id": 101},
        since="3.6.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_write_rejected",
        CONTROLLER,
        text="Cannot run write operation <event:event> in pre-migration mode. Returning NOT_CONTROLLER.",
        sample=(
            "[QuorumController id=101] Cannot run write operation createTopics in pre-migration mode. "
            "Returning NOT_CONTROLLER."
        ),
        reads={"controller_id": 101, "event": "createTopics"},
        since="3.5.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_migration_state_changed",
        FEATURES,
        text="Transitioning ZK migration state from <from_state> to <to_state>",
        sample="[QuorumController id=101] Transitioning ZK migration state from PRE_MIGRATION to MIGRATION",
        reads={"controller_id": 101, "from_state": "PRE_MIGRATION", "to_state": "MIGRATION"},
        since="3.5.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_migration_state_changed",
        FEATURES,
        text=(
            "Replayed a ZkMigrationStateRecord <?changing the migration state from <from_state> to "
            "<to_state>?><?which did not alter the state from <from_state>?>."
        ),
        sample=(
            "[QuorumController id=101] Replayed a ZkMigrationStateRecord changing the migration state from "
            "PRE_MIGRATION to MIGRATION."
        ),
        reads={"controller_id": 101, "from_state": "PRE_MIGRATION", "to_state": "MIGRATION"},
        since="3.6.0",
        until="3.9.2",
    ),
)
