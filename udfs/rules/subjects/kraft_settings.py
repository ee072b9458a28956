"""Settings in the KRaft controller: features, configurations, access rights, quotas, credentials."""

from __future__ import annotations

from udfs.rules.rule import Rule

FEATURES = ("org.apache.kafka.controller.FeatureControlManager",)
CONFIGURATION = ("org.apache.kafka.controller.ConfigurationControlManager",)

RULES: tuple[Rule, ...] = (
    Rule(
        "kraft_metadata_version_changed",
        FEATURES,
        text="Upgrading metadata.version from <old_metadata_version:word> to <metadata_version:word>.",
        sample="[QuorumController id=101] Upgrading metadata.version from 4.0-IV3 to 4.1-IV1.",
        reads={"controller_id": 101, "old_metadata_version": "4.0-IV3", "metadata_version": "4.1-IV1"},
        since="3.3.0",
    ),
    Rule(
        "kraft_metadata_version_changed",
        FEATURES,
        text="Downgrading metadata.version from <old_metadata_version:word> to <metadata_version:word>.",
        sample="[QuorumController id=101] Downgrading metadata.version from 4.1-IV1 to 4.0-IV3.",
        reads={"controller_id": 101, "old_metadata_version": "4.1-IV1", "metadata_version": "4.0-IV3"},
        since="3.3.0",
    ),
    Rule(
        "kraft_metadata_version_set",
        FEATURES,
        text="Setting metadata.version to <metadata_version_level:int>",
        sample="[Controller 101] Setting metadata.version to 7",
        reads={"controller_id": 101, "metadata_version_level": "7"},
        since="3.3.0",
        until="3.4.1",
    ),
    Rule(
        "kraft_metadata_version_set",
        FEATURES,
        text="Setting metadata version to <metadata_version:word>",
        sample="[QuorumController id=101] Setting metadata version to 3.5-IV2",
        reads={"controller_id": 101, "metadata_version": "3.5-IV2"},
        since="3.5.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_metadata_version_set",
        FEATURES,
        text="Replayed a FeatureLevelRecord setting metadata<?.?><? ?>version to <metadata_version:word>",
        sample="[QuorumController id=101] Replayed a FeatureLevelRecord setting metadata.version to 4.1-IV1",
        reads={"controller_id": 101, "metadata_version": "4.1-IV1"},
        since="3.6.0",
    ),
    Rule(
        "kraft_feature_set",
        FEATURES,
        text="Setting feature <feature:word> to <feature_level:int>",
        sample="[QuorumController id=101] Setting feature group.version to 1",
        reads={"controller_id": 101, "feature": "group.version", "feature_level": "1"},
        since="3.3.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_feature_set",
        FEATURES,
        text="Replayed a FeatureLevelRecord setting feature <feature:word> to <feature_level:int>",
        sample="[QuorumController id=101] Replayed a FeatureLevelRecord setting feature group.version to 1",
        reads={"controller_id": 101, "feature": "group.version", "feature_level": "1"},
        since="3.6.0",
    ),
    Rule(
        "kraft_feature_removed",
        FEATURES,
        text="Removing feature <feature:word>",
        sample="[QuorumController id=101] Removing feature group.version",
        reads={"controller_id": 101, "feature": "group.version"},
        since="3.3.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_feature_removed",
        FEATURES,
        text="Replayed a FeatureLevelRecord removing feature <feature:word>",
        sample="[QuorumController id=101] Replayed a FeatureLevelRecord removing feature group.version",
        reads={"controller_id": 101, "feature": "group.version"},
        since="3.6.0",
    ),
    Rule(
        "kraft_config_set",
        CONFIGURATION,
        text=("ConfigResource<resource:config_resource>: set configuration <config_name:word> to <config_value:rest>"),
        sample=(
            "[Controller 101] ConfigResource(type=TOPIC, name='pay-in'): set configuration min.insync.replicas to 2"
        ),
        reads={
            "controller_id": 101,
            "config_resource_type": "TOPIC",
            "topic": "pay-in",
            "config_name": "min.insync.replicas",
            "config_value": "2",
        },
        since="2.8.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_config_set",
        CONFIGURATION,
        text=(
            "Replayed ConfigRecord for ConfigResource<resource:config_resource> which set configuration "
            "<config_name:word> to <config_value:rest>"
        ),
        sample=(
            "[QuorumController id=101] Replayed ConfigRecord for ConfigResource(type=TOPIC, name='pay-in') "
            "which set configuration min.insync.replicas to 2"
        ),
        reads={
            "controller_id": 101,
            "config_resource_type": "TOPIC",
            "topic": "pay-in",
            "config_name": "min.insync.replicas",
            "config_value": "2",
        },
        since="3.6.0",
    ),
    Rule(
        "kraft_producer_ids_allocated",
        ("org.apache.kafka.controller.ProducerIdControlManager",),
        text="Replaying ProducerIdsRecord <record:printed>",
        sample=(
            "[QuorumController id=101] Replaying ProducerIdsRecord ProducerIdsRecord(brokerId=4, "
            "brokerEpoch=300, nextProducerId=2000)"
        ),
        reads={"controller_id": 101, "broker": "4", "broker_epoch": "300", "next_producer_id": "2000"},
        since="3.6.0",
    ),
    Rule(
        "kraft_elr_safety_records",
        CONFIGURATION,
        text=(
            "Generating cluster-level min.insync.replicas of <min_insync_replicas:int><?. Removing "
            "broker-level min.insync.replicas for brokers: <brokers:text>?><?.?>"
        ),
        sample=(
            "[QuorumController id=101] Generating cluster-level min.insync.replicas of 1. Removing "
            "broker-level min.insync.replicas for brokers: 4, 5."
        ),
        reads={"controller_id": 101, "min_insync_replicas": "1", "brokers": "4, 5"},
        since="4.0.0",
    ),
    Rule(
        "kraft_elr_safety_records",
        CONFIGURATION,
        text="Removing broker-level min.insync.replicas for brokers: <brokers:text><?.?>",
        sample="[QuorumController id=101] Removing broker-level min.insync.replicas for brokers: 4, 5",
        reads={"controller_id": 101, "brokers": "4, 5"},
        since="4.0.0",
    ),
    Rule(
        "kraft_config_skipped",
        CONFIGURATION,
        text=(
            "Skipping unsupported config <config_name:word> for resource "
            "ConfigResource<resource:config_resource> during replay"
        ),
        sample=(
            "[QuorumController id=101] Skipping unsupported config old.name for resource "
            "ConfigResource(type=TOPIC, name='pay-in') during replay"
        ),
        reads={"controller_id": 101, "config_name": "old.name", "config_resource_type": "TOPIC", "topic": "pay-in"},
        since="4.3.0",
    ),
    Rule(
        "kraft_feature_verified",
        FEATURES,
        text=(
            "Verified that <broker_count:int> broker(s) and <controller_count:int> controller(s) supported "
            "changing <feature:word> to feature level <feature_level:int>.<? Note: <reason:rest>?>"
        ),
        sample=(
            "[QuorumController id=101] Verified that 5 broker(s) and 3 controller(s) supported changing "
            "group.version to feature level 1."
        ),
        reads={
            "controller_id": 101,
            "broker_count": "5",
            "controller_count": "3",
            "feature": "group.version",
            "feature_level": "1",
        },
        since="3.7.0",
    ),
    Rule(
        "kraft_feature_rejected",
        FEATURES,
        text="Invalid update version <feature_level:int> for feature <feature:word>. <reason:rest>",
        sample="[QuorumController id=101] Invalid update version 7 for feature group.version. the reason",
        reads={"controller_id": 101, "feature_level": "7", "feature": "group.version", "reason": "the reason"},
        since="3.3.0",
    ),
    Rule(
        "kraft_feature_rejected",
        FEATURES,
        text="Invalid metadata.version <feature_level:int>. <reason:rest>",
        sample="[QuorumController id=101] Invalid metadata.version 7. the reason",
        reads={"controller_id": 101, "feature_level": "7", "reason": "the reason"},
        since="3.3.0",
    ),
    Rule(
        "kraft_feature_rejected",
        FEATURES,
        text=(
            "Unsupported metadata.version downgrade from <previous_feature_level:int> to <feature_level:int>. "
            "<reason:rest>"
        ),
        sample="[QuorumController id=101] Unsupported metadata.version downgrade from 27 to 7. the reason",
        reads={"controller_id": 101, "previous_feature_level": "27", "feature_level": "7", "reason": "the reason"},
        since="4.2.0",
    ),
    Rule(
        "kraft_feature_unknown",
        ("org.apache.kafka.controller.QuorumFeatures",),
        text="Unable to get feature level information for controller(s): <controllers:rest>",
        sample="[QuorumController id=101] Unable to get feature level information for controller(s): 102, 103",
        reads={"controller_id": 101, "controllers": "102, 103"},
        since="3.3.0",
        until="3.6.2",
    ),
    Rule(
        "kraft_acl_set",
        ("org.apache.kafka.controller.AclControlManager",),
        text="Replayed AccessControlEntryRecord for <acl_id:word>, setting <acl:rest>",
        sample=(
            "[QuorumController id=101] Replayed AccessControlEntryRecord for d8FgH1jKLm-NoPq_RsTu5w, setting "
            "StandardAcl(resourceType=TOPIC, resourceName=pay-in)"
        ),
        reads={
            "controller_id": 101,
            "acl_id": "d8FgH1jKLm-NoPq_RsTu5w",
            "acl": "StandardAcl(resourceType=TOPIC, resourceName=pay-in)",
        },
        since="3.6.0",
    ),
    Rule(
        "kraft_acl_removed",
        ("org.apache.kafka.controller.AclControlManager",),
        text="Replayed RemoveAccessControlEntryRecord for <acl_id:word>, removing <acl:rest>",
        sample=(
            "[QuorumController id=101] Replayed RemoveAccessControlEntryRecord for d8FgH1jKLm-NoPq_RsTu5w, "
            "removing StandardAcl(resourceType=TOPIC, resourceName=pay-in)"
        ),
        reads={
            "controller_id": 101,
            "acl_id": "d8FgH1jKLm-NoPq_RsTu5w",
            "acl": "StandardAcl(resourceType=TOPIC, resourceName=pay-in)",
        },
        since="3.6.0",
    ),
    Rule(
        "kraft_acl_unchanged",
        ("org.apache.kafka.controller.AclControlManager",),
        text="Ignoring duplicate ACL from request: <acl:rest>",
        sample=(
            "[QuorumController id=101] Ignoring duplicate ACL from request: StandardAcl(resourceType=TOPIC, "
            "resourceName=pay-in)"
        ),
        reads={"controller_id": 101, "acl": "StandardAcl(resourceType=TOPIC, resourceName=pay-in)"},
        since="4.1.0",
    ),
    Rule(
        "kraft_acl_unchanged",
        ("org.apache.kafka.controller.AclControlManager",),
        text="Not creating ACL since it already exists: <acl:rest>",
        sample=(
            "[QuorumController id=101] Not creating ACL since it already exists: "
            "StandardAcl(resourceType=TOPIC, resourceName=pay-in)"
        ),
        reads={"controller_id": 101, "acl": "StandardAcl(resourceType=TOPIC, resourceName=pay-in)"},
        since="4.1.0",
    ),
    Rule(
        "kraft_quota_set",
        ("org.apache.kafka.controller.ClientQuotaControlManager",),
        text="Replayed ClientQuotaRecord for <entity:text> setting <quota:word> to <quota_value:word>.",
        sample=(
            "[QuorumController id=101] Replayed ClientQuotaRecord for ClientQuotaEntity(entries={user=ann}) "
            "setting producer_byte_rate to 1048576.0."
        ),
        reads={
            "controller_id": 101,
            "entity": "ClientQuotaEntity(entries={user=ann})",
            "quota": "producer_byte_rate",
            "quota_value": "1048576.0",
        },
        since="3.6.0",
    ),
    Rule(
        "kraft_quota_removed",
        ("org.apache.kafka.controller.ClientQuotaControlManager",),
        text="Replayed ClientQuotaRecord for <entity:text> removing <quota:word>.",
        sample=(
            "[QuorumController id=101] Replayed ClientQuotaRecord for ClientQuotaEntity(entries={user=ann}) "
            "removing producer_byte_rate."
        ),
        reads={"controller_id": 101, "entity": "ClientQuotaEntity(entries={user=ann})", "quota": "producer_byte_rate"},
        since="3.6.0",
    ),
    Rule(
        "kraft_token_expired",
        ("org.apache.kafka.controller.DelegationTokenControlManager",),
        text="Delegation token expired for token: <token_id:word> for owner: <owner:rest>",
        sample="[QuorumController id=101] Delegation token expired for token: dtok1 for owner: User:ann",
        reads={"controller_id": 101, "token_id": "dtok1", "owner": "User:ann"},
        since="3.6.0",
    ),
    Rule(
        "kraft_token_set",
        ("org.apache.kafka.controller.DelegationTokenControlManager",),
        text="Replayed DelegationTokenRecord for <token_id:text>.",
        sample="[QuorumController id=101] Replayed DelegationTokenRecord for dtok1.",
        reads={"controller_id": 101, "token_id": "dtok1"},
        since="3.6.0",
    ),
    Rule(
        "kraft_token_removed",
        ("org.apache.kafka.controller.DelegationTokenControlManager",),
        text="Replayed RemoveDelegationTokenRecord for <token_id:text>.",
        sample="[QuorumController id=101] Replayed RemoveDelegationTokenRecord for dtok1.",
        reads={"controller_id": 101, "token_id": "dtok1"},
        since="3.6.0",
    ),
    Rule(
        "kraft_scram_set",
        ("org.apache.kafka.controller.ScramControlManager",),
        text=(
            "Replayed UserScramCredentialRecord <?creating new?><?modifying existing?> entry for <user:text> "
            "with mechanism <mechanism:word>."
        ),
        sample=(
            "[QuorumController id=101] Replayed UserScramCredentialRecord creating new entry for ann with "
            "mechanism SCRAM_SHA_512."
        ),
        reads={"controller_id": 101, "user": "ann", "mechanism": "SCRAM_SHA_512"},
        since="3.6.0",
    ),
    Rule(
        "kraft_scram_set",
        ("org.apache.kafka.controller.ScramControlManager",),
        text="Created new SCRAM credential for <user:text> with mechanism <mechanism:word>.",
        sample="[QuorumController id=101] Created new SCRAM credential for ann with mechanism SCRAM_SHA_512.",
        reads={"controller_id": 101, "user": "ann", "mechanism": "SCRAM_SHA_512"},
        since="3.5.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_scram_set",
        ("org.apache.kafka.controller.ScramControlManager",),
        text="Modified SCRAM credential for <user:text> with mechanism <mechanism:word>.",
        sample="[QuorumController id=101] Modified SCRAM credential for ann with mechanism SCRAM_SHA_512.",
        reads={"controller_id": 101, "user": "ann", "mechanism": "SCRAM_SHA_512"},
        since="3.5.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_scram_removed",
        ("org.apache.kafka.controller.ScramControlManager",),
        text="Replayed RemoveUserScramCredentialRecord for <user:text> with mechanism <mechanism:word>.",
        sample=(
            "[QuorumController id=101] Replayed RemoveUserScramCredentialRecord for ann with mechanism SCRAM_SHA_512."
        ),
        reads={"controller_id": 101, "user": "ann", "mechanism": "SCRAM_SHA_512"},
        since="3.6.0",
    ),
    Rule(
        "kraft_scram_removed",
        ("org.apache.kafka.controller.ScramControlManager",),
        text="Removed SCRAM credential for <user:text> with mechanism <mechanism:word>.",
        sample="[QuorumController id=101] Removed SCRAM credential for ann with mechanism SCRAM_SHA_512.",
        reads={"controller_id": 101, "user": "ann", "mechanism": "SCRAM_SHA_512"},
        since="3.5.0",
        until="3.5.2",
    ),
)
