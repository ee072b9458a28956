"""The KRaft controller's office: its start, each term of an active controller, transactions and snapshots."""

from __future__ import annotations

from udfs.rules.rule import Rule

CONTROLLER = ("org.apache.kafka.controller.QuorumController",)
OFFSETS = ("org.apache.kafka.controller.OffsetControlManager",)

RULES: tuple[Rule, ...] = (
    Rule(
        "kraft_controller_created",
        CONTROLLER,
        text=(
            "Creating new QuorumController with clusterId <cluster_id:id><?, authorizer "
            "<authorizer:text>?><?.?><? <zk:wording>?><? <elr:wording>?>"
        ),
        sample=(
            "[QuorumController id=101] Creating new QuorumController with clusterId d8FgH1jKLm-NoPq_RsTu5w. "
            "ZK migration mode is enabled."
        ),
        reads={"controller_id": 101, "cluster_id": "d8FgH1jKLm-NoPq_RsTu5w", "zk_migration_enabled": "true"},
        since="3.3.0",
    ),
    Rule(
        "kraft_controller_elected",
        CONTROLLER,
        text=(
            "Becoming the active controller at epoch <controller_epoch><?, next write offset "
            "<next_write_offset:int>?><?, committed offset <committed_offset:int><? and?><?,?> committed "
            "epoch <committed_epoch:int>?><?.?>"
        ),
        sample="[QuorumController id=101] Becoming the active controller at epoch 8, next write offset 510.",
        reads={"controller_id": 101, "controller_epoch": 8, "next_write_offset": "510"},
        since="3.0.0",
    ),
    Rule(
        "kraft_controller_elected",
        CONTROLLER,
        text="Becoming active at controller epoch <controller_epoch>.",
        sample="[Controller 101] Becoming active at controller epoch 8.",
        reads={"controller_id": 101, "controller_epoch": 8},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_controller_resigned",
        CONTROLLER,
        text=(
            "Renouncing the leadership <?at oldEpoch?><?due to a metadata log event. We were the leader at "
            "epoch?> <controller_epoch><?, but in the new epoch <newer_controller_epoch:int>, the leader is "
            "<new:new_controller>?><? due to a metadata log event?>. Reverting to last <?committed offset "
            "<committed_offset:int>?><?stable offset <stable_offset:int>?>."
        ),
        sample=(
            "[QuorumController id=101] Renouncing the leadership due to a metadata log event. We were the "
            "leader at epoch 8, but in the new epoch 9, the leader is 102. Reverting to last stable offset "
            "640."
        ),
        reads={
            "controller_id": 101,
            "controller_epoch": 8,
            "newer_controller_epoch": "9",
            "new_controller_id": "102",
            "stable_offset": "640",
        },
        since="2.8.0",
    ),
    Rule(
        "kraft_controller_still_leader",
        CONTROLLER,
        text=(
            "We were the leader in epoch <controller_epoch>, and are still the leader in the new epoch "
            "<newer_controller_epoch:int>."
        ),
        sample=(
            "[QuorumController id=101] We were the leader in epoch 8, and are still the leader in the new epoch 9."
        ),
        reads={"controller_id": 101, "controller_epoch": 8, "newer_controller_epoch": "9"},
        since="3.3.0",
    ),
    Rule(
        "kraft_controller_epoch_changed",
        CONTROLLER,
        text="In the new epoch <controller_epoch>, the leader is <new:new_controller>.",
        sample="[QuorumController id=101] In the new epoch 9, the leader is 102.",
        reads={"controller_id": 101, "controller_epoch": 9, "new_controller_id": "102"},
        since="3.3.0",
    ),
    Rule(
        "kraft_controller_activation",
        CONTROLLER,
        text=(
            "Performing controller activation.<? <?The metadata log appears to be empty. Appending "
            "<bootstrap_record_count:int> bootstrap record(s)<? in metadata transaction?> at "
            "metadata.version <metadata_version:word> from bootstrap source "
            "'<bootstrap_source:quoted>'.?><?Aborting in-progress metadata transaction at offset "
            "<aborted_transaction_offset:int>.?><? ?><?Loaded ZK migration state of "
            "<zk_migration_state:word>.?><?Setting the ZK migration state to <zk_migration_state:word> since "
            "this is a de-novo KRaft cluster.?><? <_:rest>?>?>"
        ),
        sample=(
            "[QuorumController id=101] Performing controller activation. The metadata log appears to be "
            "empty. Appending 4 bootstrap record(s) in metadata transaction at metadata.version 4.1-IV1 from "
            "bootstrap source 'the default bootstrap'."
        ),
        reads={
            "controller_id": 101,
            "bootstrap_record_count": "4",
            "metadata_version": "4.1-IV1",
            "bootstrap_source": "the default bootstrap",
        },
        since="3.6.0",
    ),
    Rule(
        "kraft_controller_bootstrap",
        CONTROLLER,
        text=(
            "The metadata log appears to be empty. Appending <bootstrap_record_count:int> bootstrap "
            "record(s) at metadata.version <metadata_version:word> from <bootstrap_source:text>."
        ),
        sample=(
            "[QuorumController id=101] The metadata log appears to be empty. Appending 1 bootstrap record(s) "
            "at metadata.version 3.5-IV2 from the default bootstrap."
        ),
        reads={
            "controller_id": 101,
            "bootstrap_record_count": "1",
            "metadata_version": "3.5-IV2",
            "bootstrap_source": "the default bootstrap",
        },
        since="3.3.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_controller_bootstrap",
        CONTROLLER,
        text=(
            "No metadata.version feature level record was found in the log. Treating the log as version "
            "<metadata_version:word>."
        ),
        sample=(
            "[QuorumController id=101] No metadata.version feature level record was found in the log. "
            "Treating the log as version 3.0-IV1."
        ),
        reads={"controller_id": 101, "metadata_version": "3.0-IV1"},
        since="3.3.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_snapshot_record_replayed",
        CONTROLLER,
        text="Replaying snapshot <snapshot:word> record <record:printed>",
        sample=(
            "[QuorumController id=101] Replaying snapshot 00000000000000000640-0000000008.checkpoint record "
            "TopicRecord(name='pay-in', topicId=L3mK9pQrSt2uVwXyZ0aBcD)"
        ),
        reads={
            "controller_id": 101,
            "snapshot": "00000000000000000640-0000000008.checkpoint",
            "topic": "pay-in",
            "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD",
        },
        since="3.5.0",
    ),
    Rule(
        "kraft_snapshot_load_started",
        CONTROLLER,
        text=(
            "Starting to replay snapshot <?(OffsetAndEpoch(offset=<snapshot_offset:int>, "
            "epoch=<snapshot_epoch:int>))?><?<snapshot:word>?>, from last commit offset "
            "<?(?><committed_offset:int><?)?> and epoch <?(?><committed_epoch:int><?)?>"
        ),
        sample=(
            "[QuorumController id=101] Starting to replay snapshot "
            "00000000000000000640-0000000008.checkpoint, from last commit offset 610 and epoch 7"
        ),
        reads={
            "controller_id": 101,
            "snapshot": "00000000000000000640-0000000008.checkpoint",
            "committed_offset": "610",
            "committed_epoch": "7",
        },
        since="3.0.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_snapshot_load_started",
        OFFSETS,
        text=(
            "Starting to load snapshot <snapshot:text>. Previous lastCommittedOffset was "
            "<committed_offset:int>. Previous transactionStartOffset was <transaction_start_offset:int>."
        ),
        sample=(
            "[QuorumController id=101] Starting to load snapshot 00000000000000000640-0000000008. Previous "
            "lastCommittedOffset was -1. Previous transactionStartOffset was -1."
        ),
        reads={
            "controller_id": 101,
            "snapshot": "00000000000000000640-0000000008",
            "committed_offset": "-1",
            "transaction_start_offset": "-1",
        },
        since="3.6.0",
    ),
    Rule(
        "kraft_snapshot_loaded",
        CONTROLLER,
        text="Finished replaying snapshot <snapshot:word>",
        sample="[QuorumController id=101] Finished replaying snapshot 00000000000000000640-0000000008.checkpoint",
        reads={"controller_id": 101, "snapshot": "00000000000000000640-0000000008.checkpoint"},
        since="3.5.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_snapshot_loaded",
        OFFSETS,
        text="Successfully loaded snapshot <snapshot:text>.",
        sample="[QuorumController id=101] Successfully loaded snapshot 00000000000000000640-0000000008.",
        reads={"controller_id": 101, "snapshot": "00000000000000000640-0000000008"},
        since="3.6.0",
    ),
    Rule(
        "kraft_snapshot_generation_started",
        CONTROLLER,
        text=(
            "Generating a snapshot that includes (epoch=<metadata_epoch:int>, offset=<metadata_offset:int>) "
            "after <bytes:int> committed bytes since the last snapshot."
        ),
        sample=(
            "[Controller 101] Generating a snapshot that includes (epoch=8, offset=640) after 20971520 "
            "committed bytes since the last snapshot."
        ),
        reads={"controller_id": 101, "metadata_epoch": "8", "metadata_offset": "640", "bytes": "20971520"},
        since="3.0.0",
        until="3.3.2",
    ),
    Rule(
        "kraft_snapshot_generation_finished",
        CONTROLLER,
        text="Finished generating snapshot <offset>.",
        sample="[Controller 101] Finished generating snapshot 640.",
        reads={"controller_id": 101, "offset": "640"},
        since="3.0.0",
        until="3.3.2",
    ),
    Rule(
        "kraft_transaction_replayed",
        OFFSETS,
        text="Replayed <record:word>(<?name='<name:quoted>'?>) at offset <offset>.",
        sample="[QuorumController id=101] Replayed BeginTransactionRecord(name='Bootstrap records') at offset 1.",
        reads={"controller_id": 101, "record": "BeginTransactionRecord", "name": "Bootstrap records", "offset": "1"},
        since="3.6.0",
    ),
    Rule(
        "kraft_transaction_aborted",
        OFFSETS,
        text=(
            "Replayed <record:word>(reason='<reason:quoted_text>') at offset <offset>. Reverted to offset "
            "<reverted_offset:int>."
        ),
        sample=(
            "[QuorumController id=101] Replayed AbortTransactionRecord(reason='Controller failover') at "
            "offset 645. Reverted to offset 640."
        ),
        reads={
            "controller_id": 101,
            "record": "AbortTransactionRecord",
            "reason": "Controller failover",
            "offset": "645",
            "reverted_offset": "640",
        },
        since="3.6.0",
    ),
    Rule(
        "kraft_snapshot_generation_skipped",
        CONTROLLER,
        text=(
            "Skipping generation of snapshot for committed offset <offset> and epoch <metadata_epoch:int> "
            "since it already exists"
        ),
        sample=(
            "[Controller 101] Skipping generation of snapshot for committed offset 640 and epoch 7 since it "
            "already exists"
        ),
        reads={"controller_id": 101, "offset": "640", "metadata_epoch": "7"},
        since="3.0.0",
        until="3.3.2",
    ),
    Rule(
        "kraft_snapshot_generation_skipped",
        CONTROLLER,
        text="No snapshot is in progress.",
        sample="[Controller 101] No snapshot is in progress.",
        reads={"controller_id": 101},
        since="3.0.0",
        until="3.3.2",
    ),
    Rule(
        "kraft_snapshot_generation_failed",
        CONTROLLER,
        text="Cancelling snapshot <offset>",
        sample="[Controller 101] Cancelling snapshot 640",
        reads={"controller_id": 101, "offset": "640"},
        since="3.0.0",
        until="3.3.2",
    ),
    Rule(
        "kraft_snapshot_generation_failed",
        CONTROLLER,
        text="Error while generating snapshot <offset>",
        sample="[Controller 101] Error while generating snapshot 640",
        reads={"controller_id": 101, "offset": "640"},
        since="3.0.0",
        until="3.3.2",
    ),
    Rule(
        "kraft_snapshot_section_generated",
        ("org.apache.kafka.controller.SnapshotGenerator",),
        text=("Generated <record_count:int> record(s) for the <section:text> section of snapshot <snapshot:text>."),
        sample="Generated 7 record(s) for the topics section of snapshot OffsetAndEpoch(offset=640, epoch=8).",
        reads={"record_count": "7", "section": "topics", "snapshot": "OffsetAndEpoch(offset=640, epoch=8)"},
        since="3.0.0",
        until="3.3.2",
    ),
    Rule(
        "kraft_snapshot_section_generating",
        ("org.apache.kafka.controller.SnapshotGenerator",),
        text="Generating records for the <section:text> section of snapshot <snapshot:text>.",
        sample="Generating records for the topics section of snapshot OffsetAndEpoch(offset=640, epoch=8).",
        reads={"section": "topics", "snapshot": "OffsetAndEpoch(offset=640, epoch=8)"},
        since="3.0.0",
        until="3.3.2",
    ),
    Rule(
        "kraft_snapshot_batch_replayed",
        CONTROLLER,
        text=(
            "Replaying snapshot <?(?><snapshot:text><?)?> batch with last offset of <offset><?: "
            "<records:record_names>?>"
        ),
        sample=(
            "[QuorumController id=101] Replaying snapshot 00000000000000000640-0000000008.checkpoint batch "
            "with last offset of 99"
        ),
        reads={"controller_id": 101, "snapshot": "00000000000000000640-0000000008.checkpoint", "offset": "99"},
        since="3.0.0",
    ),
    Rule(
        "kraft_bootstrap_loaded",
        CONTROLLER,
        text="Loaded <record_count:int> bootstrap records from <snapshot:rest>",
        sample="[QuorumController id=101] Loaded 7 bootstrap records from 00000000000000000640-0000000008",
        reads={"controller_id": 101, "record_count": "7", "snapshot": "00000000000000000640-0000000008"},
        since="4.4.0",
    ),
    Rule(
        "kraft_controller_interrupted",
        CONTROLLER,
        text="Interrupted while waiting for unpause.",
        sample="[QuorumController id=101] Interrupted while waiting for unpause.",
        reads={"controller_id": 101},
        since="3.0.0",
        until="3.5.2",
    ),
)
