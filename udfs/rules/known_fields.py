"""Which fields KRaft's printed records and objects have, and the keys of metadata records in JSON; others are new.

Source: the definitions of metadata records (`metadata/src/main/resources/common/metadata`) and the `toString` of
registrations, the partition change builder and the states of the quorum, Kafka 2.8 to 4.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from udfs.rules.regex import late

NEW_FIELDS = "new_fields"
"""The field that marks a record with new fields: their names as printed, after a comma each."""
APPENDED = "appended"
"""The field that marks a record with more text than a rule knows: that text."""
APPENDED_TEXT = "appended text"
"""What is new in such a record, where new fields are counted by their names."""

_REGISTRATION = "brokerId brokerEpoch incarnationId endPoints features rack fenced inControlledShutdown logDirs "
_PARTITION = (
    "isr replicas removingReplicas addingReplicas leader leaderRecoveryState directories eligibleLeaderReplicas "
    "lastKnownElr lastKnownELR elr "
)
_QUORUM_STATE = (
    "localId localReplicaKey localVoterNode localDirectoryId epoch epochStartOffset highWatermark voterStates "
    "fetchTimeoutMs leaderId leader leaderEndpoints hasFetchedFromLeader voters fetchingSnapshot retries voteStates "
    "electionTimeoutMs unackedVoters preferredSuccessors votedId votedKey epochElection leaderIdOpt votedIdOpt "
    "observerStates grantingVoters rejectingVoters unrecordedVoters isPreVote log hasReceivedQuorumFetch "
)
_FIELDS: Mapping[str, str] = {  # record or object -> its fields in any release
    "RegisterBrokerRecord": _REGISTRATION + "isMigratingZkBroker cordonedLogDirs",
    "BrokerRegistrationChangeRecord": "brokerId brokerEpoch fenced inControlledShutdown logDirs cordonedLogDirs",
    "UnregisterBrokerRecord": "brokerId brokerEpoch",
    "FenceBrokerRecord": "id epoch",
    "UnfenceBrokerRecord": "id epoch",
    "RegisterControllerRecord": "controllerId incarnationId zkMigrationReady endPoints features",
    "TopicRecord": "name topicId",
    "RemoveTopicRecord": "topicId",
    "PartitionRecord": _PARTITION + "partitionId topicId leaderEpoch partitionEpoch",
    "PartitionChangeRecord": _PARTITION + "partitionId topicId",
    "ConfigRecord": "resourceType resourceName name value",
    "FeatureLevelRecord": "name featureLevel",
    "RemoveFeatureLevelRecord": "name",
    "ProducerIdsRecord": "brokerId brokerEpoch nextProducerId producerIdsEnd",
    "ClientQuotaRecord": "entity key value remove",
    "AccessControlEntryRecord": "id resourceType resourceName patternType principal host operation permissionType",
    "RemoveAccessControlEntryRecord": "id",
    "UserScramCredentialRecord": "name mechanism salt storedKey serverKey iterations",
    "RemoveUserScramCredentialRecord": "name mechanism",
    "DelegationTokenRecord": "owner requester renewers issueTimestamp maxTimestamp expirationTimestamp tokenId",
    "RemoveDelegationTokenRecord": "tokenId",
    "ZkMigrationStateRecord": "zkMigrationState",
    "BeginTransactionRecord": "name",
    "AbortTransactionRecord": "reason",
    "EndTransactionRecord": "",
    "NoOpRecord": "",
    "ClearElrRecord": "topicName",
    "BrokerRegistration": (
        "id epoch incarnationId listeners supportedFeatures rack fenced inControlledShutdown isMigratingZkBroker "
        "directories cordonedDirectories cordonedLogDirs"
    ),
    "ControllerRegistration": "id incarnationId zkMigrationReady listeners supportedFeatures",
    **dict.fromkeys(("PartitionRegistration", "PartitionControlInfo"), _PARTITION + "leaderEpoch partitionEpoch"),
    "PartitionChangeBuilder": (
        "partition topicId partitionId isAcceptableLeader targetIsr targetReplicas targetRemoving targetAdding "
        "targetElr targetLastKnownElr uncleanShutdownReplicas election targetLeaderRecoveryState targetDirectories "
        "metadataVersion eligibleLeaderReplicasEnabled minISR useLastKnownLeaderInBalancedRecovery "
        "alwaysElectPreferredIfPossible"
    ),
    **dict.fromkeys(
        ("Leader", "LeaderState", "Follower", "FollowerState", "Candidate", "CandidateState", "Unattached",
         "UnattachedState", "Voted", "VotedState", "Resigned", "ResignedState", "Prospective", "ProspectiveState"),
        _QUORUM_STATE,
    ),
}  # fmt: skip
_NESTED = (  # of what stands within records: endpoints, features, replicas, quota entities, replicas' states
    "name host port securityProtocol listenerName minSupportedVersion maxSupportedVersion entityType entityName "
    "principalType principalName id directoryId brokerId brokerEpoch type voterKey listeners endpoints "
    "supportedKRaftVersion supportedVersions voterId nodeId replicaKey endOffset lastFetchTimestamp "
    "lastCaughtUpTimestamp hasAcknowledgedLeader offset metadata segmentBaseOffset relativePositionInSegment state "
    "endpoint isVoter"
)
_KNOWN = {name: frozenset(fields.split()) for name, fields in _FIELDS.items()}
_ANYWHERE = frozenset(_NESTED.split()).union(*_KNOWN.values())
_OF_CONTROL_RECORDS = (
    "version leaderId voters grantingVoters lastContainedLogTimestamp kRaftVersion voterDirectoryId minVersion "
    "maxVersion kRaftVersionFeature"
)
_JSON_ONLY = frozenset(_OF_CONTROL_RECORDS.split())

_QUOTED = late(r"'[^'\n]*'")
_FIELD = late(r"[(,\[{] ?([A-Za-z]\w*)=(?!=)")


def new_outer_fields(name: str, fields: Iterable[str]) -> list[str]:
    """Those fields of a printed object that it has in no release known here; none of an object that is not known."""
    known = _KNOWN.get(name)
    return [] if known is None else [field for field in fields if field not in known]


def new_nested_fields(text: str, outer: Iterable[str]) -> list[str]:
    """Fields of printed objects within one, `outer` being its own, that no object here has; each once, in order."""
    own = {*outer}
    names = _FIELD.findall(_QUOTED.sub("''", text))
    return list(dict.fromkeys(name for name in names if name not in _ANYWHERE and name not in own))


def new_json_keys(data: Mapping[str, Any]) -> list[str]:
    """Keys of a metadata record, and of objects in it, that no record here has; each once, in order."""
    return list(dict.fromkeys(key for key in _keys(data) if key not in _ANYWHERE and key not in _JSON_ONLY))


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield key
            yield from _keys(part)
    elif isinstance(value, list) and value and not isinstance(value[0], int | str):
        for part in value:
            yield from _keys(part)
