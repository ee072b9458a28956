"""Words of Kafka's own that may stay in a value that is redacted: names of fields, classes, states, settings, errors.

A word that is not listed here is taken for a name. So a new word of Kafka costs readability, never a name.
"""

from __future__ import annotations

_WORDS = """
    AAAAAAAAAAAAAAAAAAAAAA AAAAAAAAAAAAAAAAAAAAAQ ANONYMOUS AbortTransactionRecord AclPublisher
    AddPartitionsListener AliveBrokers AllReplicas AlterPartition AlterPartitionRequestData ApiError
    ApiMessageAndVersion ArrayBuffer ArraySeq AutoTriggered BECOME_CONTROLLER BROKER BadVersion
    BeginTransactionRecord BrokerChange BrokerChangeListener BrokerEndPoint BrokerEndpoint BrokerFeature
    BrokerLifecycleManager BrokerMetadataListener BrokerMetadataPublisher BrokerMetadataSnapshotter
    BrokerRegistration BrokerRegistrationTracker BrokerServer BrokerState BrokerToController
    BrokerToControllerChannelManager CLIENT_QUOTA_RECORD CONFIG_RECORD CONNECTED CONNECTING CONTROLLER
    CandidateState ClientId ClientInformation ClientQuotaEntity CommittedIsr CommittedPartitionState
    ControlledShutdownLeaderSelector ControllerEpoch ControllerEpochListener ControllerEventThread ControllerId
    ControllerMetadataMetricsPublisher ControllerRegistrationManager ControllerRegistrationsPublisher
    ControllerServer CoordinatorEpoch CorrelationId CreatableReplicaAssignment CreatableTopic CreatableTopicConfig
    CreatePartitionsTopicResult CreateTime CreateableTopicConfig DEBUG DUAL_WRITE DUPLICATE_BROKER_REGISTRATION
    DelegationTokenPublisher DeletePartitions DeleteTopicsListener DuplicateBrokerRegistrationException
    DynamicClientQuotaPublisher DynamicConfigPublisher DynamicTopicClusterQuotaPublisher ELECTION_NOT_NEEDED
    ELIGIBLE_LEADERS_NOT_AVAILABLE ELR EMPTY ERROR ElectionState EndPoint EndTransactionRecord EpochElection
    EpochEndOffset EpochEntry FATAL FETCH FeatureZNode FeaturesPublisher FetchRequestData FinalizedFeatures
    FinalizedFeaturesAndEpoch FollowerState GRANTED GroupCoordinator HandleCommitsEvent HandleSnapshotEvent HashMap
    HashSet INACTIVE INELIGIBLE_REPLICA INFO INVALID_REPLICA_ASSIGNMENT INVALID_REQUEST ISR IllegalArgumentException
    IllegalStateException InboundRequest InboundResponse InitialFetchState InvalidReplicaAssignmentException
    IpEntity IsrChangeNotificationListener KAFKA_STORAGE_ERROR KRAFT_CONTROLLER_TO_BROKER_COMM KRAFT_VERSION_1 KRaft
    KRaftMetadataCachePublisher KRaftMigrationDriver KafkaApi KafkaHealthcheck KafkaRaftServer KafkaServer
    KeeperErrorCode LEADER_AND_ISR LEADER_CHANGE LOG_DELTA LeaderAndEpoch LeaderAndIsRequest LeaderAndIsr
    LeaderAndIsrInfo LeaderAndIsrPartitionError LeaderAndIsrPartitionState LeaderAndIsrRequest
    LeaderAndIsrRequestData LeaderAndIsrResponse LeaderAndIsrResponseData LeaderAndIsrTopicError LeaderEpoch
    LeaderEpochCache LeaderRecoveryState ListBuffer ListenerName LocalLog LogDirFailureHandler LogLoader
    LogOffsetMetadata LoggingFaultHandler MIGRATION MergedLog MetadataCache MetadataDelta MetadataLoader MetadataLog
    MetadataProvenance MetadataVersionPublisher MigrateMetadataEvent NETWORK_EXCEPTION NEW_LEADER_ELECTED NODEEXISTS
    NONE NOT_CONTROLLER NOT_LEADER_FOR_PARTITION NOT_LEADER_OR_FOLLOWER NewPartition NewReplica NewTopic
    NoOpLeaderSelector NoOpRecord NodeToControllerChannelManager NonExistentPartition NonExistentReplica None
    NotControllerException NotLeaderException NullPointerException OK ONLINE OPERATION_NOT_ATTEMPTED
    OfflinePartition OfflinePartitionLeaderElectionStrategy OfflinePartitionLeaderSelector OfflineReplica
    OffsetAndEpoch OnlinePartition OnlineReplica Optional Optional.empty OptionalInt OptionalInt.empty
    OptionalLong.empty OutboundRequest OutboundResponse PARTITION_RECORD PENDING_CONTROLLED_SHUTDOWN PLAINTEXT
    POST_MIGRATION PREFERRED PREFERRED_LEADER_NOT_AVAILABLE PRE_MIGRATION PartitionChangeBuilder
    PartitionChangeRecord PartitionControlInfo PartitionData PartitionRegistration PartitionState
    PartitionStateMachine PartitionsReassignedListener PendingExpandIsr PendingShrinkIsr
    PreferredReplicaElectionListener PreferredReplicaPartitionLeaderElectionStrategy
    PreferredReplicaPartitionLeaderSelector ProducerIdsBlock ProducerIdsRecord ProspectiveState QuorumController
    RECOVERED RECOVERING RECOVERY REJECTED RPC RUNNING RaftManager ReadOnly ReassignedPartitionsContext
    ReassignedPartitionsIsrChangeListener RegisterBrokerRecord RejectedExecutionException RemainingPartition
    ReplicaAlterLogDirs ReplicaAlterLogDirsManager ReplicaAssignment ReplicaDeletionIneligible
    ReplicaDeletionStarted ReplicaDeletionSuccessful ReplicaFetcher ReplicaFetcherManager ReplicaFetcherThread
    ReplicaId ReplicaKey ReplicaLeaderElection ReplicaManager ReplicaState ReplicaStateMachine ReplicationFactor
    RequestAndCompletionHandler RequestContext RequestHeader RequestSendThread ResignedState SASL_PLAINTEXT SASL_SSL
    SCRAM_SHA_256 SCRAM_SHA_512 SHUTDOWN SHUTTING_DOWN SIGTERM SSL STALE STALE_BROKER_EPOCH STALE_CONTROLLER_EPOCH
    STARTED STARTING STOP_REPLICA SUCCESS SYNC_KRAFT_TO_ZK ScramPublisher SessionExpirationListener SharedServer
    SnapshotEmitter SnapshotGenerator SnapshotHeader SnapshotId Some SortedSet StaleBrokerEpochException StandardAcl
    StopReplica StopReplicaPartitionError StopReplicaPartitionState StopReplicaRequest StopReplicaRequestInfo
    StopReplicaResponse StopReplicaResponseData StopReplicaTopicState SupportedVersionRange SyncConnected TOPIC
    TOPIC_RECORD TRACE TimeoutException TopicChangeListener TopicData TopicIdReplicaAssignment TopicRecord UNCLEAN
    UNINITIALIZED UNKNOWN UNKNOWN_LEADER_EPOCH UNKNOWN_SERVER_ERROR UNKNOWN_TOPIC_OR_PARTITION UNRECORDED
    UPDATE_METADATA UnattachedState UnifiedLog UnknownServerException UnknownTopicOrPartitionException
    UpdateFeaturesRequestData UpdateMetadata UpdateMetadataBroker UpdateMetadataEndpoint
    UpdateMetadataPartitionState UpdateMetadataRequest UpdateMetadataRequestData UpdateMetadataResponse
    UpdateMetadataResponseData UpdateMetadataTopicState UpdatePartition UpdateTopic VoteRequestData VoterNode
    VoterSet VoterState WAIT_FOR_BROKERS WAIT_FOR_CONTROLLER_QUORUM WARN WatchedEvent ZK ZK_MIGRATION
    ZkMigrationLeadershipState ZkTriggered ZkVersion ZooKeeperClient __cluster_metadata __consumer_offsets
    __share_group_state __transaction_state _tagged_fields addingReplicas already alterIsr alterPartition
    alterPartitionReassignments alwaysElectPreferredIfPossible an and apiKey apiVersion are assignReplicasToDirs
    assignedBrokerId at baseOffset baseSequence be became because become-follower become-leader been before behind
    bootstrap.checkpoint both brokerEpoch brokerId brokerIds broker_epoch but bytes-based candidateDirectoryId
    candidateEpoch candidateId cleaner-offset-checkpoint cleanup.policy clientAddress clientId clientInformation
    clusterId compression.type connectionId controllerEpoch controllerId controller_epoch controller_id
    cordonedDirectories cordonedLogDirs correlationId could createPartitions createTopics delete.retention.ms
    deleteHorizonMs deletePartition deletePartitions delete_partitions directoryId does down each either
    electLeaders electPreferred electUnclean electionTimeoutMs eligible.leader.replicas.version
    eligibleLeaderReplicas eligibleLeaderReplicasEnabled endOffset endPoints end_points enterControlledShutdown
    entityName entityType epochElection epochStartOffset errorCode errorMessage error_code expirationTimestamp
    expireDelegationTokens false featureLevel fetchTimeoutMs fetcherId fetchingSnapshot file.delete.delay.ms
    finalizedFeatures finalizedFeaturesEpoch findAllTopicIds firstProducerId flush.messages flush.ms for from
    fromPrivilegedListener fully generatePeriodicPerformanceMessage grantingVoters group.version had
    handleBrokerFenced handleBrokerUncleanShutdown handleBrokerUnfenced handleCommit has hasAcknowledgedLeader
    hasFetchedFromLeader hasReceivedQuorumFetch have headerKeys headerVersion highWatermark in inControlledShutdown
    incarnationId index.interval.bytes initOffset initializeNewPublishers into is isAcceptableLeader isFenced
    isKRaftController isLocal isMigratingZkBroker isNew isPreVote isVoter isr-change-propagation isr-expiration
    isrWithBrokerEpoch isr_change_notification issueTimestamp it kRaftVersion kRaftVersionFeature
    kafka-raft-io-thread kafka-raft-outbound-request-thread keySize kraft.version kraftController kraftControllerId
    lastCaughtUpTimeMs lastCaughtUpTimestamp lastCommittedState lastContainedLogTimestamp lastFetchTimestamp
    lastKnownELR lastKnownElr lastOffset lastOffsetEpoch lastSequence leaderEndpoints leaderEpoch leaderId
    leaderIdOpt leaderRecoveryState leader_epoch listenerName liveBrokers liveLeaders live_brokers live_leaders
    localDirectoryId localId localReplicaKey localVoterNode logDirs max.compaction.lag.ms max.message.bytes
    maxSupportedVersion maxTimestamp maxVersion max_version maybeBalancePartitionLeaders maybeElectUncleanLeaders
    maybeFenceReplicas maybeFenceStaleBroker maybePublishMetadata message.downconversion.enable
    message.format.version message.timestamp.difference.max.ms message.timestamp.type metadata.log.segment.min.bytes
    metadata.version metadataVersion min.cleanable.dirty.ratio min.compaction.lag.ms min.insync.replicas minISR
    minSupportedVersion minVersion min_version newIsr nextProducerId no nodeId none not now null numPartitions
    observerStates of offlineReplicas on once or out partitionEpoch partitionErrors partitionId partitionIndex
    partitionStates partition_errors partition_index partition_states patternType permissionType pre-migration
    preVote preferredSuccessors principalName principalSerde principalType processBrokerHeartbeat producerEpoch
    producerId producerIdsEnd producer_byte_rate quorum-state quorum-state.tmp reassign_partitions registerBroker
    registerController rejectingVoters relativePositionInSegment removingReplicas replicaDirectoryId replicaEpoch
    replicaId replicaKey replicaSet replication-offset-checkpoint replicationFactor resourceName resourceType
    retention.bytes retention.ms securityProtocol security_protocol segment.bytes segment.index.bytes
    segment.jitter.ms segment.ms segmentBaseOffset sentLeaderAndIsr serverKey share.version should softwareName
    softwareVersion startOffset state.change.logger still storedKey such supportedFeatures supportedKRaftVersion
    supportedVersions targetAdding targetDirectories targetElr targetIsr targetLastKnownElr
    targetLeaderRecoveryState targetRemoving targetReplicas than that the this timeoutMs to tokenId topicId topicIds
    topicName topicStates topic_name topic_states transaction.version true unackedVoters
    unclean.leader.election.enable uncleanShutdownReplicas undefined under under-min-isr ungroupedPartitionStates
    unrecordedVoters unresolved until up useLastKnownLeaderInBalancedRecovery v0Host v0Port valueSize voteGranted
    voteStates votedId votedIdOpt votedKey voterDirectoryId voterId voterKey voterStates was we were when which
    while will with writeNoOpRecord zkMigrationReady zkMigrationState zkVersion zk_version
    zookeeper.metadata.migration.enable
"""
KEPT_WORDS = frozenset(_WORDS.split())
"""They stay wherever they stand: no topic is called so."""

_KEYS = """
    Admin All Alter Another Append Bootstrap Broker Buffer Channel Completing Configs Connection Controller Current
    Deletion Disabled Disconnected Enabled Endpoint Endpoints Error Expected Expired Failed Features Fenced
    Highwatermark If Kafka Keeper Lambda Leader Leaders Left List Log Manager Map Migration Missing Name No
    Partition Partitions Preferred Proposed Putting Quorum Replica Returning Right Server Set Staying The This Topic
    Unable Unattached Uncaught Unfenced Unknown User Vector Version Voted Will active add admin alive allowed alter
    appears appending applying assigned assignment assignments authentication available besides binary body
    bootstrap broker brokerid brokers bytes candidate change changes channel claiming class clean closed cluster
    completed completing compresscodec config configs configuration configured consistent context controlled
    controller crc creation current default delete deleting deletion delta destination dir directories directory
    done east elect election elr enabled end endpoint endpoints entity entries epoch error establishing event
    exception expected expiration expires failed failover failure feature features fenced file filepath find
    following forwarding found gone got granted handling header heartbeat host id ids inactive inbound incarnation
    includes initial io isr isvalid kafka key lagging lead leader leadership least left listener listeners log
    longer machine magic manager manual may mechanism message metadata migrated migration min mode name named needed
    new node nodes offline offset old ongoing operation other outbound owner partially partition partitions path
    port position preallocate previous principal proceed processing produce producer publishing queue quorum rack
    raft reaper reason reassignment recently records refused registered registration rejected remove removed
    renewers replayed replica replicas request requester responses rest restarted result retries salt segment send
    sent sequence server session set shutdown shutting since size snapshot specified state strategy thread timed
    timestamp topic topics triggered truncated type unclean unexpected unfenced unknown updates user value version
    voters zk
"""
KEPT_KEYS = frozenset(_KEYS.split())
"""They stay before `=`, `:` or `(`, where they name a field or a class, and in prefixes of messages; elsewhere a topic
may be called so."""
