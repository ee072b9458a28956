"""The metadata loader and publishers of a node, its metadata caches and snapshots."""

from __future__ import annotations

from udfs.rules.rule import Rule

LOADER = ("org.apache.kafka.image.loader.MetadataLoader",)
PUBLISHER = ("kafka.server.metadata.BrokerMetadataPublisher",)

RULES: tuple[Rule, ...] = (
    Rule(
        "metadata_loader_catching_up",
        LOADER,
        text=(
            "<?<context:word><?(<_:word>)?>: ?><?The?><?the?> loader is still catching up because <?we have "
            "loaded up to offset <offset>, but the high water mark is <high_watermark>?><?we still don't "
            "know the high water mark yet<?.?>?><?we have not loaded a controller record as of offset "
            "<offset> and high water mark is <high_watermark>?>"
        ),
        sample=(
            "[MetadataLoader id=101] initializeNewPublishers: The loader is still catching up because we "
            "have loaded up to offset 612, but the high water mark is 640"
        ),
        reads={"context": "initializeNewPublishers", "offset": "612", "high_watermark": "640"},
        since="3.4.0",
    ),
    Rule(
        "metadata_loader_caught_up",
        LOADER,
        text=(
            "<?<context:word><?(<_:word>)?>: ?><?The?><?the?> loader finished catch<?ing?> up to the current "
            "high water mark of <high_watermark>"
        ),
        sample=(
            "[MetadataLoader id=101] maybePublishMetadata(LOG_DELTA): The loader finished catching up to the "
            "current high water mark of 640"
        ),
        reads={"context": "maybePublishMetadata", "high_watermark": "640"},
        since="3.4.0",
    ),
    Rule(
        "metadata_publisher_initializing",
        LOADER,
        text="InitializeNewPublishers: initializing <publisher:text> with a snapshot at offset <offset>",
        sample=(
            "[MetadataLoader id=101] InitializeNewPublishers: initializing ScramPublisher controller id=101 "
            "with a snapshot at offset 640"
        ),
        reads={"publisher": "ScramPublisher controller id=101", "offset": "640"},
        since="3.4.1",
    ),
    Rule(
        "metadata_published",
        PUBLISHER,
        text=(
            "Publishing <?initial ?>metadata at offset "
            "<?OffsetAndEpoch<?(?><?[?>offset=?><metadata_offset:int><?, "
            "epoch=<metadata_epoch:int><?)?><?]?>?><? with metadata.version "
            "<?Optional[?><metadata_version:word><?]?>?>."
        ),
        sample=(
            "[BrokerMetadataPublisher id=4] Publishing initial metadata at offset OffsetAndEpoch[offset=640, "
            "epoch=8] with metadata.version Optional[4.1-IV1]."
        ),
        reads={"broker_id": 4, "metadata_offset": "640", "metadata_epoch": "8", "metadata_version": "4.1-IV1"},
        since="3.0.0",
    ),
    Rule(
        "metadata_config_updated",
        (
            "kafka.server.metadata.DynamicConfigPublisher",
            "kafka.server.metadata.BrokerMetadataPublisher",
        ),
        text=(
            "Updating <?cluster?><?topic <topic>?><?<entity_type:entity_type> <entity:text>?><? with new?> "
            "configuration : <config:rest>"
        ),
        sample=(
            "[DynamicConfigPublisher broker id=4] Updating topic pay-in with new configuration : "
            "min.insync.replicas -> 2"
        ),
        reads={"broker_id": 4, "topic": "pay-in", "config": "min.insync.replicas -> 2"},
        since="3.2.0",
    ),
    Rule(
        "metadata_features_loaded",
        ("org.apache.kafka.metadata.publisher.FeaturesPublisher",),
        text="Loaded new metadata <features:text>.",
        sample=(
            "[ControllerServer id=101] Loaded new metadata FinalizedFeatures[metadataVersion=4.1-IV1, "
            "finalizedFeatures={group.version=1, metadata.version=27}, finalizedFeaturesEpoch=7]."
        ),
        reads={
            "features": (
                "FinalizedFeatures[metadataVersion=4.1-IV1, finalizedFeatures={group.version=1, "
                "metadata.version=27}, finalizedFeaturesEpoch=7]"
            )
        },
        since="3.7.0",
    ),
    Rule(
        "metadata_version_updated",
        PUBLISHER,
        text=(
            "Updating metadata.version to <feature_level:int> at offset "
            "OffsetAndEpoch<?(?><?[?>offset=<metadata_offset:int>, epoch=<metadata_epoch:int><?)?><?]?>."
        ),
        sample=(
            "[BrokerMetadataPublisher id=4] Updating metadata.version to 14 at offset "
            "OffsetAndEpoch(offset=640, epoch=8)."
        ),
        reads={"broker_id": 4, "feature_level": "14", "metadata_offset": "640", "metadata_epoch": "8"},
        since="3.3.0",
    ),
    Rule(
        "stray_partition_found",
        ("kafka.server.metadata.BrokerMetadataPublisher$",),
        text=(
            "Found stray log dir <_:text>(dir=<dir:text>, topicId=<topic_id:word>, topic=<topic>, "
            "partition=<partition>, highWatermark=<high_watermark>, lastStableOffset=<_:int>, "
            "logStartOffset=<log_start_offset:int>, logEndOffset=<log_end_offset:int>): the <?current "
            "replica assignment <_:text> does not contain the local brokerId <broker_id>.?><?topicId "
            "<_:uuid> does not exist in the metadata image<?.?>?>"
        ),
        sample=(
            "Found stray log dir Log(dir=/srv/kafka/d1/pay-in-3, topicId=L3mK9pQrSt2uVwXyZ0aBcD, "
            "topic=pay-in, partition=3, highWatermark=700, lastStableOffset=700, logStartOffset=0, "
            "logEndOffset=705): the topicId L3mK9pQrSt2uVwXyZ0aBcD does not exist in the metadata image"
        ),
        reads={
            "dir": "/srv/kafka/d1/pay-in-3",
            "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD",
            "topic": "pay-in",
            "partition": 3,
            "high_watermark": "700",
            "log_start_offset": "0",
            "log_end_offset": "705",
        },
        since="3.0.0",
        until="3.6.2",
    ),
    Rule(
        "metadata_features_loaded",
        ("kafka.server.metadata.ZkMetadataCache",),
        text="Updated cache from existing <previous_features:text> to latest <features:text>.",
        sample=(
            "[MetadataCache brokerId=4] Updated cache from existing None to latest "
            "Features(metadataVersion=3.9-IV0, finalizedFeatures={}, finalizedFeaturesEpoch=0)."
        ),
        reads={
            "broker_id": 4,
            "previous_features": "None",
            "features": "Features(metadataVersion=3.9-IV0, finalizedFeatures={}, finalizedFeaturesEpoch=0)",
        },
        since="3.3.0",
        until="3.9.2",
    ),
    Rule(
        "metadata_publisher_pending",
        LOADER,
        text="InitializeNewPublishers: nothing to do.",
        sample="[MetadataLoader id=101] InitializeNewPublishers: nothing to do.",
        reads={},
        since="3.4.1",
    ),
    Rule(
        "metadata_publisher_pending",
        LOADER,
        text="InitializeNewPublishers: setting up snapshot image for new publisher(s): <publishers:rest>",
        sample=(
            "[MetadataLoader id=101] InitializeNewPublishers: setting up snapshot image for new "
            "publisher(s): SnapshotGenerator"
        ),
        reads={"publishers": "SnapshotGenerator"},
        since="3.4.1",
    ),
    Rule(
        "metadata_publisher_pending",
        LOADER,
        text=(
            "InitializeNewPublishers: unable to initialize new publisher(s) <publishers:text> because we are "
            "still catching up with quorum metadata. Rescheduling."
        ),
        sample=(
            "[MetadataLoader id=101] InitializeNewPublishers: unable to initialize new publisher(s) "
            "SnapshotGenerator because we are still catching up with quorum metadata. Rescheduling."
        ),
        reads={"publishers": "SnapshotGenerator"},
        since="3.4.1",
    ),
    Rule(
        "metadata_publisher_pending",
        LOADER,
        text="There are no uninitialized publishers to initialize.",
        sample="[MetadataLoader id=101] There are no uninitialized publishers to initialize.",
        reads={},
        since="3.4.0",
        until="3.4.1",
    ),
    Rule(
        "metadata_publisher_initializing",
        LOADER,
        text="Publishing initial snapshot at offset <offset> to <publisher:rest>",
        sample="[MetadataLoader id=101] Publishing initial snapshot at offset 640 to SnapshotGenerator",
        reads={"offset": "640", "publisher": "SnapshotGenerator"},
        since="3.4.0",
        until="3.4.1",
    ),
    Rule(
        "metadata_loader_caught_up",
        LOADER,
        text="<?<context:word><?(<_:word>)?>: ?><?W?><?w?>e are not in the initial catching up state.",
        sample=(
            "[MetadataLoader id=101] maybePublishMetadata(LOG_DELTA): we are not in the initial catching up state."
        ),
        reads={"context": "maybePublishMetadata"},
        since="3.4.0",
    ),
    Rule(
        "metadata_image_published",
        LOADER,
        text=("<?<context:word>: ?><?P?><?p?>ublishing new <?snapshot ?>image with provenance <provenance:text>."),
        sample=(
            "[MetadataLoader id=101] handleCommit: publishing new image with provenance "
            "MetadataProvenance(offset=640, epoch=8, timestamp=1764000000123)."
        ),
        reads={
            "context": "handleCommit",
            "provenance": "MetadataProvenance(offset=640, epoch=8, timestamp=1764000000123)",
        },
        since="3.4.0",
    ),
    Rule(
        "metadata_delta_generated",
        (
            "org.apache.kafka.image.loader.MetadataLoader",
            "org.apache.kafka.image.loader.MetadataBatchLoader",
        ),
        text=(
            "<?handleCommit: ?><?G?><?g?>enerated a metadata delta between <offset> and <last_offset:int> "
            "from <batch_count:int> batch(es) in <elapsed_us:int> us.<? The delta is <delta:text>.?>"
        ),
        sample=(
            "[MetadataLoader id=101] handleCommit: Generated a metadata delta between 630 and 640 from 2 "
            "batch(es) in 311 us."
        ),
        reads={"offset": "630", "last_offset": "640", "batch_count": "2", "elapsed_us": "311"},
        since="3.4.0",
    ),
    Rule(
        "metadata_delta_generated",
        LOADER,
        text=(
            "<?handleSnapshot: ?><?G?><?g?>enerated a metadata delta from a snapshot at offset <offset> in "
            "<elapsed_us:int> us."
        ),
        sample=(
            "[MetadataLoader id=101] handleSnapshot: generated a metadata delta from a snapshot at offset "
            "640 in 311 us."
        ),
        reads={"offset": "640", "elapsed_us": "311"},
        since="3.4.0",
        until="3.5.2",
    ),
    Rule(
        "metadata_snapshot_loaded",
        LOADER,
        text=(
            "handleLoadSnapshot(<snapshot:word>): generated a metadata delta between offset <offset> and "
            "this snapshot in <elapsed_us:int> us."
        ),
        sample=(
            "[MetadataLoader id=101] handleLoadSnapshot(00000000000000000640-0000000008): generated a "
            "metadata delta between offset 640 and this snapshot in 311 us."
        ),
        reads={"snapshot": "00000000000000000640-0000000008", "offset": "640", "elapsed_us": "311"},
        since="3.6.0",
    ),
    Rule(
        "metadata_snapshot_loading",
        LOADER,
        text="handleLoadSnapshot(<snapshot:word>): incrementing HandleLoadSnapshotCount to <load_count:int>.",
        sample=(
            "[MetadataLoader id=101] handleLoadSnapshot(00000000000000000640-0000000008): incrementing "
            "HandleLoadSnapshotCount to 7."
        ),
        reads={"snapshot": "00000000000000000640-0000000008", "load_count": "7"},
        since="3.6.0",
    ),
    Rule(
        "metadata_delta_held",
        ("org.apache.kafka.image.loader.MetadataBatchLoader",),
        text=(
            "handleCommit: not publishing since a transaction starting at <offset> is still in progress. "
            "<batch_count:int> batch(es) processed so far."
        ),
        sample=(
            "[MetadataLoader id=101] handleCommit: not publishing since a transaction starting at 640 is "
            "still in progress. 7 batch(es) processed so far."
        ),
        reads={"offset": "640", "batch_count": "7"},
        since="3.6.0",
    ),
    Rule(
        "metadata_delta_held",
        ("org.apache.kafka.image.loader.MetadataBatchLoader",),
        text=(
            "handleCommit: publishing empty delta between <offset> and <last_offset:int> from "
            "<batch_count:int> batch(es) since a transaction was aborted"
        ),
        sample=(
            "[MetadataLoader id=101] handleCommit: publishing empty delta between 640 and 7 from 7 batch(es) "
            "since a transaction was aborted"
        ),
        reads={"offset": "640", "last_offset": "7", "batch_count": "7"},
        since="3.6.0",
    ),
    Rule(
        "metadata_snapshot_creating",
        ("org.apache.kafka.image.publisher.SnapshotGenerator",),
        text="Creating new KRaft snapshot file <?snapshot ?><snapshot:text> because <reason:text>.",
        sample=(
            "[SnapshotGenerator id=101] Creating new KRaft snapshot file snapshot 00000000000000000640-0000000008 "
            "because we have replayed at least 20971520 bytes."
        ),
        reads={"snapshot": "00000000000000000640-0000000008", "reason": "we have replayed at least 20971520 bytes"},
        since="3.4.0",
    ),
    Rule(
        "metadata_snapshot_disabled",
        ("org.apache.kafka.image.publisher.SnapshotGenerator",),
        text=(
            "Not emitting <?snapshot ?><snapshot:word> despite the fact that <_:text> because snapshots are disabled; <reason:rest>"
        ),
        sample=(
            "[SnapshotGenerator id=101] Not emitting snapshot 00000000000000000640-0000000008 despite the fact that "
            "we have replayed at least 20971520 bytes because snapshots are disabled; the reason"
        ),
        reads={"snapshot": "00000000000000000640-0000000008", "reason": "the reason"},
        since="3.4.0",
    ),
    Rule(
        "metadata_snapshot_scheduling",
        ("org.apache.kafka.image.publisher.SnapshotGenerator",),
        text="Resetting the snapshot counters because we just read <?snapshot ?><snapshot:text>.",
        sample=(
            "[SnapshotGenerator id=101] Resetting the snapshot counters because we just read "
            "00000000000000000640-0000000008."
        ),
        reads={"snapshot": "00000000000000000640-0000000008"},
        since="3.4.0",
    ),
    Rule(
        "metadata_snapshot_scheduling",
        ("org.apache.kafka.image.publisher.SnapshotGenerator",),
        text="Not scheduling <reason:word> snapshot because event queue is not empty yet.",
        sample=("[SnapshotGenerator id=101] Not scheduling bytes-based snapshot because event queue is not empty yet."),
        reads={"reason": "bytes-based"},
        since="3.4.0",
    ),
    Rule(
        "metadata_snapshot_scheduling",
        ("org.apache.kafka.image.publisher.SnapshotGenerator",),
        text="Neither time-based nor bytes-based criteria are met; not scheduling snapshot.",
        sample=(
            "[SnapshotGenerator id=101] Neither time-based nor bytes-based criteria are met; not scheduling snapshot."
        ),
        reads={},
        since="3.4.0",
    ),
    Rule(
        "metadata_snapshot_generator_started",
        ("org.apache.kafka.image.publisher.SnapshotGenerator",),
        text="Starting SnapshotGenerator.",
        sample="[SnapshotGenerator id=101] Starting SnapshotGenerator.",
        reads={},
        since="3.4.0",
    ),
    Rule(
        "metadata_snapshot_generator_stopped",
        ("org.apache.kafka.image.publisher.SnapshotGenerator",),
        text="<?Beginning shutdown of?><?Closing?> SnapshotGenerator.",
        sample="[SnapshotGenerator id=101] Closing SnapshotGenerator.",
        reads={},
        since="3.4.0",
    ),
    Rule(
        "metadata_snapshot_written",
        ("org.apache.kafka.image.publisher.SnapshotEmitter",),
        text="Successfully wrote <?snapshot ?><snapshot:rest>",
        sample="[SnapshotEmitter id=101] Successfully wrote snapshot 00000000000000000640-0000000008",
        reads={"snapshot": "00000000000000000640-0000000008"},
        since="3.4.0",
    ),
    Rule(
        "metadata_snapshot_failed",
        ("org.apache.kafka.image.publisher.SnapshotEmitter",),
        text="Not generating <?snapshot ?><snapshot:text> because it already exists.",
        sample=("[SnapshotEmitter id=101] Not generating 00000000000000000640-0000000008 because it already exists."),
        reads={"snapshot": "00000000000000000640-0000000008"},
        since="3.4.0",
    ),
    Rule(
        "metadata_snapshot_failed",
        ("org.apache.kafka.image.publisher.SnapshotEmitter",),
        text="Encountered error while writing <?snapshot ?><snapshot:rest>",
        sample="[SnapshotEmitter id=101] Encountered error while writing 00000000000000000640-0000000008",
        reads={"snapshot": "00000000000000000640-0000000008"},
        since="3.4.0",
    ),
    Rule(
        "broker_registration_checked",
        ("org.apache.kafka.image.publisher.BrokerRegistrationTracker",),
        text="Broker change is present: <change:rest>",
        sample="[BrokerRegistrationTracker id=4] Broker change is present: the rest",
        reads={"change": "the rest"},
        since="3.7.1",
    ),
    Rule(
        "broker_registration_checked",
        ("org.apache.kafka.image.publisher.BrokerRegistrationTracker",),
        text="Metadata version change is present: <change:rest>",
        sample="[BrokerRegistrationTracker id=4] Metadata version change is present: the rest",
        reads={"change": "the rest"},
        since="3.7.1",
    ),
    Rule(
        "broker_registration_checked",
        ("org.apache.kafka.image.publisher.BrokerRegistrationTracker",),
        text="Broker registration does not need to be resent.",
        sample="[BrokerRegistrationTracker id=4] Broker registration does not need to be resent.",
        reads={},
        since="3.7.1",
    ),
    Rule(
        "broker_registration_checked",
        ("org.apache.kafka.image.publisher.BrokerRegistrationTracker",),
        text="No current broker registration to check.",
        sample="[BrokerRegistrationTracker id=4] No current broker registration to check.",
        reads={},
        since="3.7.1",
    ),
    Rule(
        "broker_registration_resent",
        ("org.apache.kafka.image.publisher.BrokerRegistrationTracker",),
        text="Current directory set is empty, but MV supports JBOD. Resending broker registration.",
        sample=(
            "[BrokerRegistrationTracker id=4] Current directory set is empty, but MV supports JBOD. "
            "Resending broker registration."
        ),
        reads={},
        since="3.7.1",
    ),
    Rule(
        "metadata_acls_loading",
        ("org.apache.kafka.metadata.publisher.AclPublisher", "kafka.server.metadata.AclPublisher"),
        text="<?AclPublisher <role:word> id=<_:int>?>Loading authorizer snapshot at offset <offset>",
        sample="AclPublisher controller id=101Loading authorizer snapshot at offset 640",
        reads={"role": "controller", "offset": "640"},
        since="3.6.0",
    ),
    Rule(
        "metadata_fetch_error",
        (
            "kafka.server.metadata.KRaftMetadataCache",
            "kafka.server.metadata.ZkMetadataCache",
            "kafka.server.metadata.RaftMetadataCache",
        ),
        text="Error while fetching metadata for <tp>: <reason:rest>",
        sample="Error while fetching metadata for pay-in-3: leader not available",
        reads={"topic": "pay-in", "partition": 3, "reason": "leader not available"},
        since="2.8.0",
    ),
    Rule(
        "metadata_fetch_error",
        (
            "kafka.server.metadata.KRaftMetadataCache",
            "kafka.server.metadata.ZkMetadataCache",
            "kafka.server.metadata.RaftMetadataCache",
        ),
        text="The partition <partition> does not exist for <topic>",
        sample="The partition 3 does not exist for pay-in",
        reads={"partition": 3, "topic": "pay-in"},
        since="3.8.0",
    ),
    Rule(
        "metadata_listeners_differ",
        (
            "kafka.server.metadata.ZkMetadataCache",
            "kafka.server.metadata.MetadataBrokers",
        ),
        text="Listeners are not identical across <?alive ?>brokers<?:?><?.?> <listeners:rest>",
        sample="Listeners are not identical across brokers: Map(4 -> Set(PLAINTEXT))",
        reads={"listeners": "Map(4 -> Set(PLAINTEXT))"},
        since="2.8.0",
        until="3.9.2",
    ),
    Rule(
        "metadata_quota_ignored",
        ("kafka.server.metadata.ClientQuotaMetadataManager",),
        text="Ignoring unexpected quota key <quota:word> for entity <entity:rest>",
        sample="Ignoring unexpected quota key old_rate for entity ClientQuotaEntity(entries={user=ann})",
        reads={"quota": "old_rate", "entity": "ClientQuotaEntity(entries={user=ann})"},
        since="2.8.0",
    ),
    Rule(
        "metadata_quota_ignored",
        ("kafka.server.metadata.ClientQuotaMetadataManager",),
        text="Ignoring unsupported quota entity <entity:rest>",
        sample="Ignoring unsupported quota entity ClientQuotaEntity(entries={user=ann})",
        reads={"entity": "ClientQuotaEntity(entries={user=ann})"},
        since="2.8.0",
    ),
    Rule(
        "metadata_quota_failed",
        ("kafka.server.metadata.ClientQuotaMetadataManager",),
        text="Failed to update <?IP?><?user-client?> quota <entity:rest>",
        sample="Failed to update IP quota IpEntity(10.0.0.1)",
        reads={"entity": "IpEntity(10.0.0.1)"},
        since="3.0.0",
    ),
    Rule(
        "metadata_feature_updated",
        PUBLISHER,
        text="Feature <feature:word> has been updated to version <feature_level:int>",
        sample="[BrokerMetadataPublisher id=4] Feature share.version has been updated to version 7",
        reads={"broker_id": 4, "feature": "share.version", "feature_level": "7"},
        since="4.1.0",
    ),
    Rule(
        "metadata_publish_failed",
        PUBLISHER,
        text="Error publishing broker metadata at <offset_and_epoch:rest>",
        sample=(
            "[BrokerMetadataPublisher id=4] Error publishing broker metadata at OffsetAndEpoch(offset=640, epoch=8)"
        ),
        reads={"broker_id": 4, "offset_and_epoch": "OffsetAndEpoch(offset=640, epoch=8)"},
        since="3.0.0",
        until="3.2.3",
    ),
    Rule(
        "metadata_published",
        PUBLISHER,
        text=(
            "Publishing delta <delta:text> with highest offset "
            "<_:word><?(?><?[?>offset=<metadata_offset:int>, epoch=<metadata_epoch:int><?)?><?]?>"
        ),
        sample=(
            "[BrokerMetadataPublisher id=4] Publishing delta MetadataDelta() with highest offset "
            "OffsetAndEpoch[offset=640, epoch=8]"
        ),
        reads={"broker_id": 4, "delta": "MetadataDelta()", "metadata_offset": "640", "metadata_epoch": "8"},
        since="3.1.0",
    ),
    Rule(
        "stray_partition_found",
        (
            "kafka.server.metadata.BrokerMetadataPublisher$",
            "kafka.server.metadata.BrokerMetadataPublisher",
        ),
        text="The topicId does not exist in <log:text>, treat it as a stray log<?.?>",
        sample="The topicId does not exist in Log(dir=/srv/kafka/d1/pay-in-3), treat it as a stray log.",
        reads={"log": "Log(dir=/srv/kafka/d1/pay-in-3)"},
        since="3.7.2",
    ),
    Rule(
        "metadata_snapshot_loading",
        ("kafka.server.metadata.BrokerMetadataListener",),
        text="Loading snapshot <snapshot:text><?.?>",
        sample="[BrokerMetadataListener id=4] Loading snapshot 640-8.",
        reads={"broker_id": 4, "snapshot": "640-8"},
        since="3.0.0",
        until="3.4.1",
    ),
    Rule(
        "metadata_snapshot_loaded",
        ("kafka.server.metadata.BrokerMetadataListener",),
        text="Loaded snapshot <snapshot:word>: <results:rest>",
        sample="[BrokerMetadataListener id=4] Loaded snapshot 640-8: the rest",
        reads={"broker_id": 4, "snapshot": "640-8", "results": "the rest"},
        since="3.0.0",
        until="3.4.1",
    ),
    Rule(
        "metadata_commits_loaded",
        ("kafka.server.metadata.BrokerMetadataListener",),
        text="Loaded new commits: <results:rest>",
        sample="[BrokerMetadataListener id=4] Loaded new commits: the rest",
        reads={"broker_id": 4, "results": "the rest"},
        since="3.0.0",
        until="3.4.1",
    ),
    Rule(
        "metadata_publishing_started",
        ("kafka.server.metadata.BrokerMetadataListener",),
        text="Starting to publish metadata events at offset <metadata_offset:int>.",
        sample="[BrokerMetadataListener id=4] Starting to publish metadata events at offset 7.",
        reads={"broker_id": 4, "metadata_offset": "7"},
        since="3.0.0",
        until="3.4.1",
    ),
    Rule(
        "metadata_delta_published",
        ("kafka.server.metadata.BrokerMetadataListener",),
        text="Publishing new metadata delta <delta:text> at offset <metadata_offset:int>.",
        sample="[BrokerMetadataListener id=4] Publishing new metadata delta MetadataDelta() at offset 7.",
        reads={"broker_id": 4, "delta": "MetadataDelta()", "metadata_offset": "7"},
        since="3.2.0",
        until="3.4.1",
    ),
    Rule(
        "metadata_publisher_set",
        ("kafka.server.metadata.BrokerMetadataListener",),
        text="Set publisher to <publisher:rest>",
        sample="[BrokerMetadataListener id=4] Set publisher to ScramPublisher controller id=101",
        reads={"broker_id": 4, "publisher": "ScramPublisher controller id=101"},
        since="3.2.2",
        until="3.4.1",
    ),
    Rule(
        "metadata_snapshot_disabled",
        ("kafka.server.metadata.BrokerMetadataListener",),
        text="Disabling metadata snapshots until this broker is restarted.",
        sample="[BrokerMetadataListener id=4] Disabling metadata snapshots until this broker is restarted.",
        reads={"broker_id": 4},
        since="3.3.0",
        until="3.4.1",
    ),
    Rule(
        "metadata_snapshot_scheduling",
        ("kafka.server.metadata.BrokerMetadataListener",),
        text="Not starting metadata snapshot since we previously had an error",
        sample="[BrokerMetadataListener id=4] Not starting metadata snapshot since we previously had an error",
        reads={"broker_id": 4},
        since="3.3.0",
        until="3.4.1",
    ),
    Rule(
        "metadata_record_processed",
        ("kafka.server.metadata.BrokerMetadataListener",),
        text="Metadata batch <last_offset:int>: processing [<_:int>/<record_count:int>]: <record:rest>",
        sample="[BrokerMetadataListener id=4] Metadata batch 7: processing [7/7]: NoOpRecord()",
        reads={"broker_id": 4, "last_offset": "7", "record_count": "7", "record": "NoOpRecord()"},
        since="2.8.0",
        until="3.4.1",
    ),
    Rule(
        "metadata_batch_processed",
        ("kafka.server.metadata.BrokerMetadataListener",),
        text="Metadata batch <last_offset:int>: <step:batch_step>",
        sample="[BrokerMetadataListener id=4] Metadata batch 7: applying partition changes",
        reads={"broker_id": 4, "last_offset": "7", "step": "applying partition changes"},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "metadata_record_failed",
        ("kafka.server.metadata.BrokerMetadataListener",),
        text="Unable to handle record <record_index:int> in batch ending at offset <last_offset:int>",
        sample="[BrokerMetadataListener id=4] Unable to handle record 7 in batch ending at offset 7",
        reads={"broker_id": 4, "record_index": "7", "last_offset": "7"},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "metadata_topic_deletion",
        ("kafka.server.metadata.BrokerMetadataListener",),
        text="Processing deletion of topic <topic> with id <topic_id>",
        sample="[BrokerMetadataListener id=4] Processing deletion of topic pay-in with id L3mK9pQrSt2uVwXyZ0aBcD",
        reads={"broker_id": 4, "topic": "pay-in", "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD"},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "metadata_event_skipped",
        ("kafka.server.metadata.BrokerMetadataListener",),
        text="Not processing <event:event> because the event queue is closed.",
        sample="[BrokerMetadataListener id=4] Not processing HandleCommitsEvent because the event queue is closed.",
        reads={"broker_id": 4, "event": "HandleCommitsEvent"},
        since="2.8.0",
        until="3.4.1",
    ),
    Rule(
        "metadata_event_failed",
        ("kafka.server.metadata.BrokerMetadataListener",),
        text="Unexpected error handling <event:word>",
        sample="[BrokerMetadataListener id=4] Unexpected error handling HandleSnapshotEvent",
        reads={"broker_id": 4, "event": "HandleSnapshotEvent"},
        since="2.8.0",
        until="3.4.1",
    ),
    Rule(
        "metadata_snapshot_creating",
        ("kafka.server.metadata.BrokerMetadataSnapshotter",),
        text=("Creating a new snapshot at <?offset <offset>...?><?<offset_and_epoch:text> because: <reason:rest>?>"),
        sample="[BrokerMetadataSnapshotter id=4] Creating a new snapshot at offset 640...",
        reads={"offset": "640"},
        since="3.0.0",
        until="3.4.1",
    ),
    Rule(
        "metadata_snapshot_declined",
        ("kafka.server.metadata.BrokerMetadataSnapshotter",),
        text=(
            "Declining to create a new snapshot at <?offset ?><offset_and_epoch:text> because there is "
            "already a snapshot <?in progress ?>at offset <offset>"
        ),
        sample=(
            "[BrokerMetadataSnapshotter id=4] Declining to create a new snapshot at "
            "OffsetAndEpoch(offset=640, epoch=8) because there is already a snapshot in progress at offset "
            "640"
        ),
        reads={"offset_and_epoch": "OffsetAndEpoch(offset=640, epoch=8)", "offset": "640"},
        since="3.0.0",
        until="3.4.1",
    ),
    Rule(
        "metadata_snapshot_failed",
        ("kafka.server.metadata.BrokerMetadataSnapshotter",),
        text=(
            "<?Unexpected error handling?><?Not processing?> CreateSnapshotEvent<? because the event queue is closed.?>"
        ),
        sample=(
            "[BrokerMetadataSnapshotter id=4] Not processing CreateSnapshotEvent because the event queue is closed."
        ),
        reads={},
        since="3.0.0",
        until="3.4.1",
    ),
    Rule(
        "broker_registration_resent",
        PUBLISHER,
        text=(
            "Resending BrokerRegistration with existing incarnation-id to inform the controller about log "
            "directories in the broker following metadata update: previousMetadataVersion: "
            "<old_metadata_version:word> newMetadataVersion: <metadata_version:word>"
        ),
        sample=(
            "[BrokerMetadataPublisher id=4] Resending BrokerRegistration with existing incarnation-id to "
            "inform the controller about log directories in the broker following metadata update: "
            "previousMetadataVersion: 3.0-IV1 newMetadataVersion: 3.7-IV4"
        ),
        reads={"broker_id": 4, "old_metadata_version": "3.0-IV1", "metadata_version": "3.7-IV4"},
        since="3.7.0",
        until="3.7.0",
    ),
)
