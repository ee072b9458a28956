"""The metadata log (Raft) on one node: its threads, listeners, requests, truncations and snapshots."""

from __future__ import annotations

from udfs.rules.rule import Rule

CLIENT = ("org.apache.kafka.raft.KafkaRaftClient",)
THREADS = (
    "org.apache.kafka.raft.KafkaRaftClientDriver",
    "org.apache.kafka.raft.KafkaNetworkChannel$",
    "kafka.raft.KafkaNetworkChannel$",
    "kafka.raft.RaftSendThread",
    "kafka.raft.KafkaRaftManager$",
    "kafka.raft.TimingWheelExpirationService$",
    "org.apache.kafka.raft.TimingWheelExpirationService$",
)

RULES: tuple[Rule, ...] = (
    Rule(
        "raft_shutdown_started",
        CLIENT,
        text="Beginning graceful shutdown",
        sample="[RaftManager id=101] Beginning graceful shutdown",
        reads={},
        since="2.8.0",
    ),
    Rule(
        "raft_shutdown_completed",
        CLIENT,
        text="Graceful shutdown completed",
        sample="[RaftManager id=101] Graceful shutdown completed",
        reads={},
        since="2.8.0",
    ),
    Rule(
        "raft_shutdown_failed",
        CLIENT,
        text="Graceful shutdown timed out after <elapsed_ms:int>ms",
        sample="[RaftManager id=101] Graceful shutdown timed out after 5000ms",
        reads={"elapsed_ms": "5000"},
        since="2.8.0",
    ),
    Rule(
        "raft_log_read",
        CLIENT,
        text="Reading KRaft snapshot and log as part of the initialization",
        sample="[RaftManager id=101] Reading KRaft snapshot and log as part of the initialization",
        reads={},
        since="3.8.0",
    ),
    Rule(
        "raft_listener_registered",
        CLIENT,
        text="Registered the listener <listener:word>",
        sample="[RaftManager id=101] Registered the listener org.apache.kafka.image.loader.MetadataLoader@1f2e",
        reads={"listener": "org.apache.kafka.image.loader.MetadataLoader@1f2e"},
        since="3.0.0",
    ),
    Rule(
        "raft_listener_reset",
        CLIENT,
        text="Setting the next offset of <listener:word> to <offset> since there are no snapshots",
        sample=(
            "[RaftManager id=101] Setting the next offset of "
            "org.apache.kafka.image.loader.MetadataLoader@1f2e to 0 since there are no snapshots"
        ),
        reads={"listener": "org.apache.kafka.image.loader.MetadataLoader@1f2e", "offset": "0"},
        since="3.9.0",
    ),
    Rule(
        "raft_log_truncated",
        CLIENT,
        text="Truncated to offset <offset> from Fetch response from leader <raft_leader:int>",
        sample="[RaftManager id=101] Truncated to offset 610 from Fetch response from leader 102",
        reads={"offset": "610", "raft_leader": "102"},
        since="2.8.0",
    ),
    Rule(
        "raft_log_snapshots_initialized",
        (
            "kafka.raft.KafkaMetadataLog",
            "kafka.raft.KafkaMetadataLog$",
            "org.apache.kafka.raft.internals.KafkaRaftLog",
        ),
        text="Initialized snapshots with IDs <snapshots:text> from <log_dir:rest>",
        sample="Initialized snapshots with IDs SortedSet() from /srv/kafka/meta/__cluster_metadata-0",
        reads={"snapshots": "SortedSet()", "log_dir": "/srv/kafka/meta/__cluster_metadata-0"},
        since="3.3.0",
    ),
    Rule(
        "raft_thread_starting",
        THREADS,
        text="Starting",
        sample="[kafka-101-raft-io-thread]: Starting",
        reads={},
        since="2.8.0",
    ),
    Rule(
        "raft_thread_stopped",
        THREADS,
        text="Stopped",
        sample="[kafka-101-raft-io-thread]: Stopped",
        reads={},
        since="2.8.0",
    ),
    Rule(
        "raft_thread_stopping",
        THREADS,
        text="Shutting down",
        sample="[kafka-101-raft-io-thread]: Shutting down",
        reads={},
        since="2.8.0",
    ),
    Rule(
        "raft_thread_shutdown",
        THREADS,
        text="Shutdown completed",
        sample="[kafka-101-raft-io-thread]: Shutdown completed",
        reads={},
        since="2.8.0",
    ),
    Rule(
        "raft_shutdown_completed",
        (
            "org.apache.kafka.raft.KafkaRaftClientDriver",
            "kafka.raft.KafkaRaftManager$",
        ),
        text="Completed graceful shutdown of RaftClient",
        sample="[kafka-raft-io-thread]: Completed graceful shutdown of RaftClient",
        reads={},
        since="2.8.0",
    ),
    Rule(
        "raft_shutdown_failed",
        (
            "org.apache.kafka.raft.KafkaRaftClientDriver",
            "kafka.raft.KafkaRaftManager$",
        ),
        text="Graceful shutdown of RaftClient failed",
        sample="[kafka-raft-io-thread]: Graceful shutdown of RaftClient failed",
        reads={},
        since="2.8.0",
    ),
    Rule(
        "raft_channel_update_skipped",
        ("kafka.raft.KafkaRaftManager",),
        text=(
            "Skipping channel update for destination ID: <destination_id:int> because of non-routable "
            "endpoint: <endpoint:rest>"
        ),
        sample=(
            "[RaftManager nodeId=101] Skipping channel update for destination ID: 7 because of non-routable "
            "endpoint: the rest"
        ),
        reads={"destination_id": "7", "endpoint": "the rest"},
        since="2.8.0",
        until="3.7.2",
    ),
    Rule(
        "raft_channel_update_skipped",
        ("kafka.raft.KafkaRaftManager",),
        text=(
            "Unexpected address spec (type: <type:text>) for channel update for destination ID: <destination_id:int>"
        ),
        sample=(
            "[RaftManager nodeId=101] Unexpected address spec (type: some text) for channel update for "
            "destination ID: 7"
        ),
        reads={"type": "some text", "destination_id": "7"},
        since="2.8.0",
        until="3.7.2",
    ),
    Rule(
        "raft_request_failed",
        (
            "org.apache.kafka.raft.KafkaNetworkChannel",
            "kafka.raft.KafkaNetworkChannel",
        ),
        text="Request <request:text> failed due to <reason:text>",
        sample=("[RaftManager id=101] Request OutboundRequest(correlationId=12) failed due to authentication error"),
        reads={"request": "OutboundRequest(correlationId=12)", "reason": "authentication error"},
        since="2.8.0",
    ),
    Rule(
        "raft_response_ignored",
        CLIENT,
        text=(
            "Ignoring <?BeginQuorumEpoch ?>response <response:text> since <?it is no longer needed?><?this "
            "node is not the leader anymore?>"
        ),
        sample=(
            "[RaftManager id=101] Ignoring response InboundResponse(correlationId=12) since it is no longer needed"
        ),
        reads={"response": "InboundResponse(correlationId=12)"},
        since="2.8.0",
    ),
    Rule(
        "raft_listener_failed",
        CLIENT,
        text=(
            "Attempting to <?add a listener that already exists?><?remove a listener that doesn't "
            "exist<?s?>?>: <listener:rest>"
        ),
        sample=(
            "[RaftManager id=101] Attempting to add a listener that already exists: "
            "org.apache.kafka.image.loader.MetadataLoader@1f2e"
        ),
        reads={"listener": "org.apache.kafka.image.loader.MetadataLoader@1f2e"},
        since="3.0.0",
    ),
    Rule(
        "raft_listener_unregistered",
        CLIENT,
        text="Unregistered the listener <listener:word>",
        sample="[RaftManager id=101] Unregistered the listener org.apache.kafka.image.loader.MetadataLoader@1f2e",
        reads={"listener": "org.apache.kafka.image.loader.MetadataLoader@1f2e"},
        since="3.0.0",
    ),
    Rule(
        "raft_listener_notified",
        CLIENT,
        text="Notifying listener <listener:text> of <what:listener_event>",
        sample=(
            "[RaftManager id=101] Notifying listener org.apache.kafka.image.loader.MetadataLoader@1f2e of "
            "new leadership LeaderAndEpoch(leaderId=OptionalInt[102], epoch=8)"
        ),
        reads={
            "listener": "org.apache.kafka.image.loader.MetadataLoader@1f2e",
            "what": "new leadership LeaderAndEpoch(leaderId=OptionalInt[102], epoch=8)",
        },
        since="3.0.0",
    ),
    Rule(
        "raft_snapshot_fetching",
        CLIENT,
        text="Fetching snapshot <snapshot:text> from Fetch response from leader <raft_leader:int>",
        sample=(
            "[RaftManager id=101] Fetching snapshot OffsetAndEpoch(offset=640, epoch=8) from Fetch response "
            "from leader 102"
        ),
        reads={"snapshot": "OffsetAndEpoch(offset=640, epoch=8)", "raft_leader": "102"},
        since="3.6.0",
    ),
    Rule(
        "raft_log_truncated",
        CLIENT,
        text=(
            "Fully truncated the log at (LogOffsetMetadata(offset=<log_end_offset:int>, metadata=<_:text>), "
            "<last_epoch:int>) after downloading snapshot <snapshot:text> from leader <raft_leader:int>"
        ),
        sample=(
            "[RaftManager id=101] Fully truncated the log at (LogOffsetMetadata(offset=640, metadata="
            "Optional[(segmentBaseOffset=640,relativePositionInSegment=0)]), 7) after downloading snapshot "
            "OffsetAndEpoch(offset=640, epoch=8) from leader 102"
        ),
        reads={
            "log_end_offset": "640",
            "last_epoch": "7",
            "snapshot": "OffsetAndEpoch(offset=640, epoch=8)",
            "raft_leader": "102",
        },
        since="3.6.0",
    ),
    Rule(
        "raft_snapshot_unknown",
        CLIENT,
        text=(
            "Leader doesn't know about snapshot id <snapshot:text>, returned error <error_code:int> and "
            "snapshot id <leader_snapshot:rest>"
        ),
        sample=(
            "[RaftManager id=101] Leader doesn't know about snapshot id Optional.empty, returned error 7 and "
            "snapshot id SnapshotId(endOffset=640, epoch=8)"
        ),
        reads={
            "snapshot": "Optional.empty",
            "error_code": "7",
            "leader_snapshot": "SnapshotId(endOffset=640, epoch=8)",
        },
        since="2.8.0",
    ),
    Rule(
        "raft_snapshot_stored",
        CLIENT,
        text=(
            "Leader <raft_leader:int> returned a snapshot <snapshot:text> in the FETCH response which is already stored"
        ),
        sample=(
            "[RaftManager id=101] Leader 102 returned a snapshot OffsetAndEpoch(offset=640, epoch=8) in the "
            "FETCH response which is already stored"
        ),
        reads={"raft_leader": "102", "snapshot": "OffsetAndEpoch(offset=640, epoch=8)"},
        since="3.9.0",
    ),
    Rule(
        "raft_snapshot_id_invalid",
        CLIENT,
        text=(
            "The leader sent a snapshot id with a valid <_:text> <_:int> but with an invalid <reason:text> <value:int>"
        ),
        sample=(
            "[RaftManager id=101] The leader sent a snapshot id with a valid epoch 8 but with an invalid end offset -1"
        ),
        reads={"reason": "end offset", "value": "-1"},
        since="2.8.0",
    ),
    Rule(
        "raft_append_failed",
        CLIENT,
        text="Failed to append the records with the batch header '<batch_header:quoted>' to the log",
        sample=("[RaftManager id=101] Failed to append the records with the batch header '000000000000' to the log"),
        reads={"batch_header": "000000000000"},
        since="3.9.0",
    ),
    Rule(
        "raft_commit_failed",
        CLIENT,
        text="Failed to commit <record_count:int> records <?at?><?up to last offset?> <offset_and_epoch:text>",
        sample=(
            "[RaftManager id=101] Failed to commit 3 records up to last offset OffsetAndEpoch[offset=640, epoch=8]"
        ),
        reads={"record_count": "3", "offset_and_epoch": "OffsetAndEpoch[offset=640, epoch=8]"},
        since="2.8.0",
    ),
    Rule(
        "raft_commit_completed",
        CLIENT,
        text=("Completed commit of <record_count:int> records <?at?><?up to last offset?> <offset_and_epoch:text>"),
        sample=(
            "[RaftManager id=101] Completed commit of 3 records up to last offset OffsetAndEpoch[offset=640, epoch=8]"
        ),
        reads={"record_count": "3", "offset_and_epoch": "OffsetAndEpoch[offset=640, epoch=8]"},
        since="2.8.0",
    ),
    Rule(
        "raft_fetch_completed",
        CLIENT,
        text=("Completing delayed fetch from <replica_key:text> starting at offset <offset> at <completion_time:int>"),
        sample=(
            "[RaftManager id=101] Completing delayed fetch from ReplicaKey(id=102, "
            "directoryId=r7YzA2bCdE9fGhIj_KlMnO) starting at offset 640 at 7"
        ),
        reads={
            "replica_key": "ReplicaKey(id=102, directoryId=r7YzA2bCdE9fGhIj_KlMnO)",
            "offset": "640",
            "completion_time": "7",
        },
        since="2.8.0",
    ),
    Rule(
        "raft_fetch_error",
        CLIENT,
        text="Caught unexpected error in fetch completion of request <request:rest>",
        sample=(
            "[RaftManager id=101] Caught unexpected error in fetch completion of request "
            "FetchRequestData(replicaId=102)"
        ),
        reads={"request": "FetchRequestData(replicaId=102)"},
        since="2.8.0",
    ),
    Rule(
        "raft_request_backoff",
        (
            "org.apache.kafka.raft.KafkaRaftClient",
            "org.apache.kafka.raft.internals.DefaultRequestSender",
        ),
        text="Connection for <destination:text> is backing off for <delay_ms:int> ms",
        sample=(
            "[RaftManager id=101] Connection for node102.example.org:9093 (id: 102 rack: null isFenced: "
            "false) is backing off for 7 ms"
        ),
        reads={"destination": "node102.example.org:9093 (id: 102 rack: null isFenced: false)", "delay_ms": "7"},
        since="2.8.0",
    ),
    Rule(
        "raft_request_pending",
        ("org.apache.kafka.raft.internals.DefaultRequestSender",),
        text="Connection for <destination:text> has a pending request for <delay_ms:int> ms",
        sample=(
            "[RaftManager id=101] Connection for node102.example.org:9093 (id: 102 rack: null isFenced: "
            "false) has a pending request for 7 ms"
        ),
        reads={"destination": "node102.example.org:9093 (id: 102 rack: null isFenced: false)", "delay_ms": "7"},
        since="3.9.0",
    ),
    Rule(
        "raft_request_sent",
        (
            "org.apache.kafka.raft.KafkaRaftClient",
            "org.apache.kafka.raft.internals.DefaultRequestSender",
        ),
        text="Sent outbound request: <request:rest>",
        sample="[RaftManager id=101] Sent outbound request: OutboundRequest(correlationId=12)",
        reads={"request": "OutboundRequest(correlationId=12)"},
        since="2.8.0",
    ),
    Rule(
        "raft_response_sent",
        CLIENT,
        text="Sent response <response:text> to inbound request <request:rest>",
        sample=(
            "[RaftManager id=101] Sent response OutboundResponse(correlationId=12) to inbound request "
            "InboundRequest(correlationId=12)"
        ),
        reads={"response": "OutboundResponse(correlationId=12)", "request": "InboundRequest(correlationId=12)"},
        since="2.8.0",
    ),
    Rule(
        "raft_message_received",
        CLIENT,
        text="Received inbound message <request:rest>",
        sample="[RaftManager id=101] Received inbound message InboundRequest(correlationId=12)",
        reads={"request": "InboundRequest(correlationId=12)"},
        since="2.8.0",
    ),
    Rule(
        "raft_message_unexpected",
        CLIENT,
        text="Message must be a response: <request:rest>",
        sample="[RaftManager id=101] Message must be a response: InboundRequest(correlationId=12)",
        reads={"request": "InboundRequest(correlationId=12)"},
        since="4.4.0",
    ),
    Rule(
        "raft_response_failed",
        CLIENT,
        text="Unexpected error <error:word> in <api:word> response: <response:rest>",
        sample=(
            "[RaftManager id=101] Unexpected error INVALID_REQUEST in FETCH response: InboundResponse(correlationId=12)"
        ),
        reads={"error": "INVALID_REQUEST", "api": "FETCH", "response": "InboundResponse(correlationId=12)"},
        since="2.8.0",
    ),
    Rule(
        "raft_log_cleaning_failed",
        CLIENT,
        text="Had an error during log cleaning",
        sample="[RaftManager id=101] Had an error during log cleaning",
        reads={},
        since="3.0.0",
    ),
    Rule(
        "raft_end_offset_updated",
        CLIENT,
        text="Follower end offset updated to <log_end_offset:text> after append",
        sample=(
            "[RaftManager id=101] Follower end offset updated to LogOffsetMetadata(offset=641, "
            "metadata=Optional.empty) after append"
        ),
        reads={"log_end_offset": "LogOffsetMetadata(offset=641, metadata=Optional.empty)"},
        since="2.8.0",
    ),
    Rule(
        "raft_end_offset_updated",
        CLIENT,
        text="Leader appended records at base offset <offset>, new end offset is <log_end_offset:text>",
        sample=(
            "[RaftManager id=101] Leader appended records at base offset 640, new end offset is "
            "LogOffsetMetadata(offset=641, metadata=Optional.empty)"
        ),
        reads={"offset": "640", "log_end_offset": "LogOffsetMetadata(offset=641, metadata=Optional.empty)"},
        since="2.8.0",
    ),
    Rule(
        "raft_snapshot_loading",
        ("org.apache.kafka.raft.internals.KRaftControlRecordStateMachine",),
        text=(
            "Loading snapshot (<snapshot:text>) since log start offset (<log_start_offset:int>) is greater "
            "than the internal listener's next offset (<offset>)"
        ),
        sample=(
            "[RaftManager id=101] Loading snapshot (OffsetAndEpoch(offset=640, epoch=8)) since log start "
            "offset (7) is greater than the internal listener's next offset (640)"
        ),
        reads={"snapshot": "OffsetAndEpoch(offset=640, epoch=8)", "log_start_offset": "7", "offset": "640"},
        since="3.8.0",
    ),
    Rule(
        "raft_buffer_created",
        ("org.apache.kafka.raft.internals.RecordsIterator",),
        text="Creating a new buffer; previous buffer <_:text> cannot fit at least <bytes:int> bytes",
        sample=("[RaftManager id=101] Creating a new buffer; previous buffer some text cannot fit at least 7 bytes"),
        reads={"bytes": "7"},
        since="4.1.0",
    ),
    Rule(
        "raft_snapshot_deleting",
        (
            "kafka.raft.KafkaMetadataLog",
            "kafka.raft.KafkaMetadataLog$",
            "org.apache.kafka.raft.internals.KafkaRaftLog",
        ),
        text="Marking snapshot <snapshot:text> for deletion<? because <reason:rest>?><? for unknown reason?>",
        sample=(
            "[MetadataLog partition=__cluster_metadata-0, nodeId=101] Marking snapshot "
            "OffsetAndEpoch(offset=640, epoch=8) for deletion because the partition was fully truncated"
        ),
        reads={"snapshot": "OffsetAndEpoch(offset=640, epoch=8)", "reason": "the partition was fully truncated"},
        since="3.0.0",
    ),
    Rule(
        "raft_snapshot_deleted",
        (
            "kafka.raft.KafkaMetadataLog",
            "kafka.raft.KafkaMetadataLog$",
            "org.apache.kafka.raft.internals.KafkaRaftLog",
        ),
        text="Deleted unneeded snapshot file with path <path:rest>",
        sample=(
            "Deleted unneeded snapshot file with path "
            "/srv/kafka/meta/__cluster_metadata-0/00000000000000000640-0000000008.checkpoint"
        ),
        reads={"path": "/srv/kafka/meta/__cluster_metadata-0/00000000000000000640-0000000008.checkpoint"},
        since="3.3.0",
    ),
    Rule(
        "raft_snapshot_missing",
        (
            "kafka.raft.KafkaMetadataLog",
            "kafka.raft.KafkaMetadataLog$",
            "org.apache.kafka.raft.internals.KafkaRaftLog",
        ),
        text="Couldn't read <snapshot:text>; expected to find snapshot file <path:rest>",
        sample=(
            "Couldn't read OffsetAndEpoch(offset=640, epoch=8); expected to find snapshot file "
            "/srv/kafka/meta/__cluster_metadata-0/00000000000000000640-0000000008.checkpoint"
        ),
        reads={
            "snapshot": "OffsetAndEpoch(offset=640, epoch=8)",
            "path": "/srv/kafka/meta/__cluster_metadata-0/00000000000000000640-0000000008.checkpoint",
        },
        since="3.0.0",
    ),
    Rule(
        "raft_snapshot_refused",
        (
            "kafka.raft.KafkaMetadataLog",
            "kafka.raft.KafkaMetadataLog$",
            "org.apache.kafka.raft.internals.KafkaRaftLog",
        ),
        text=(
            "Cannot create a snapshot with an id (<snapshot:text>) less than the log start offset "
            "(<log_start_offset:int>)"
        ),
        sample=(
            "[MetadataLog partition=__cluster_metadata-0, nodeId=101] Cannot create a snapshot with an id "
            "(OffsetAndEpoch(offset=640, epoch=8)) less than the log start offset (7)"
        ),
        reads={"snapshot": "OffsetAndEpoch(offset=640, epoch=8)", "log_start_offset": "7"},
        since="3.0.0",
    ),
    Rule(
        "raft_snapshot_header_missing",
        (
            "kafka.raft.KafkaMetadataLog",
            "kafka.raft.KafkaMetadataLog$",
            "org.apache.kafka.raft.internals.KafkaRaftLog",
        ),
        text="Did not find control record at beginning of snapshot",
        sample=(
            "[MetadataLog partition=__cluster_metadata-0, nodeId=101] Did not find control record at "
            "beginning of snapshot"
        ),
        reads={},
        since="3.0.0",
        until="3.4.1",
    ),
    Rule(
        "raft_segment_size_overridden",
        (
            "kafka.raft.KafkaMetadataLog",
            "kafka.raft.KafkaMetadataLog$",
            "org.apache.kafka.raft.internals.KafkaRaftLog",
        ),
        text=(
            "Overriding <config_name:word> is only supported for testing. Setting this value too low may "
            "lead to an inability to write batches of metadata records."
        ),
        sample=(
            "Overriding metadata.log.segment.min.bytes is only supported for testing. Setting this value too "
            "low may lead to an inability to write batches of metadata records."
        ),
        reads={"config_name": "metadata.log.segment.min.bytes"},
        since="3.0.0",
    ),
    Rule(
        "raft_thread_failed",
        THREADS,
        text="Error due to",
        sample="[kafka-101-raft-io-thread]: Error due to",
        reads={},
        since="2.8.0",
    ),
    Rule(
        "raft_thread_failed",
        THREADS,
        text="Stopped due to fatal error with exit code <exit_code:int>",
        sample="[kafka-101-raft-io-thread]: Stopped due to fatal error with exit code 7",
        reads={"exit_code": "7"},
        since="2.8.0",
    ),
    Rule(
        "raft_request_failed",
        THREADS,
        text=(
            "Failed to send the following request <?due to authentication error?><?after <elapsed_ms:int> "
            "ms?>: <request:rest>"
        ),
        sample=(
            "[kafka-101-raft-outbound-request-thread]: Failed to send the following request after 2000 ms: "
            "RequestAndCompletionHandler(destination=102)"
        ),
        reads={"elapsed_ms": "2000", "request": "RequestAndCompletionHandler(destination=102)"},
        since="2.8.0",
    ),
    Rule(
        "raft_thread_failed",
        THREADS,
        text="unhandled exception caught in InterBrokerSendThread",
        sample="[kafka-101-raft-outbound-request-thread]: unhandled exception caught in InterBrokerSendThread",
        reads={},
        since="2.8.0",
    ),
)
