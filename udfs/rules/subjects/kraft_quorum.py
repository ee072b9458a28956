"""The metadata quorum (Raft): states of the nodes, votes, elections, high watermark, voters."""

from __future__ import annotations

from udfs.rules.rule import Rule

QUORUM = ("org.apache.kafka.raft.QuorumState",)
CLIENT = ("org.apache.kafka.raft.KafkaRaftClient",)

RULES: tuple[Rule, ...] = (
    Rule(
        "raft_leader_elected",
        QUORUM,
        text="Completed transition to <state:raft_leader><? from <?null?><?<from_state:word>(<_:rest>?>?>",
        sample=(
            "[RaftManager id=101] Completed transition to "
            "Leader(localVoterNode=VoterNode(voterKey=ReplicaKey(id=101, directoryId=r7YzA2bCdE9fGhIj_KlMnO),"
            " listeners=Endpoints(endpoints={}), supportedKRaftVersion=SupportedVersionRange[min_version:0, "
            "max_version:1]), epoch=8, epochStartOffset=640, highWatermark=Optional.empty, voterStates={}) "
            "from CandidateState(localId=101, localDirectoryId=r7YzA2bCdE9fGhIj_KlMnO, epoch=8, "
            "epochElection=EpochElection(voterStates={}), highWatermark=Optional.empty, "
            "electionTimeoutMs=1200)"
        ),
        reads={
            "to_state": "Leader",
            "raft_epoch": "8",
            "raft_leader": "101",
            "controller_id": 101,
            "controller_epoch": 8,
            "offset": "640",
            "from_state": "CandidateState",
        },
        since="2.8.0",
    ),
    Rule(
        "raft_leader_changed",
        QUORUM,
        text="Completed transition to <state:raft_follower><? from <?null?><?<from_state:word>(<_:rest>?>?>",
        sample=(
            "[RaftManager id=101] Completed transition to FollowerState(fetchTimeoutMs=2000, epoch=8, "
            "leader=102, "
            "leaderEndpoints=Endpoints(endpoints={ListenerName(CONTROLLER)=node102.example.org/<unresolved>:9093}),"
            " votedKey=Optional.empty, voters=[101, 102, 103], highWatermark=Optional.empty, "
            "fetchingSnapshot=Optional.empty) from UnattachedState(epoch=8, leaderId=OptionalInt.empty, "
            "votedKey=Optional.empty, voters=[101, 102, 103], electionTimeoutMs=1500, "
            "highWatermark=Optional.empty)"
        ),
        reads={
            "to_state": "FollowerState",
            "raft_epoch": "8",
            "raft_leader": "102",
            "controller_id": 102,
            "controller_epoch": 8,
            "from_state": "UnattachedState",
        },
        since="2.8.0",
    ),
    Rule(
        "raft_candidate",
        QUORUM,
        text="Completed transition to <state:raft_candidate><? from <?null?><?<from_state:word>(<_:rest>?>?>",
        sample=(
            "[RaftManager id=101] Completed transition to CandidateState(localId=101, "
            "localDirectoryId=r7YzA2bCdE9fGhIj_KlMnO, epoch=8, epochElection=EpochElection(voterStates={}), "
            "highWatermark=Optional.empty, electionTimeoutMs=1200) from UnattachedState(epoch=8, "
            "leaderId=OptionalInt.empty, votedKey=Optional.empty, voters=[101, 102, 103], "
            "electionTimeoutMs=1500, highWatermark=Optional.empty)"
        ),
        reads={"to_state": "CandidateState", "raft_epoch": "8", "from_state": "UnattachedState"},
        since="2.8.0",
    ),
    Rule(
        "raft_state_changed",
        QUORUM,
        text="Completed transition to <state:raft_other><? from <?null?><?<from_state:word>(<_:rest>?>?>",
        sample=(
            "[RaftManager id=101] Completed transition to UnattachedState(epoch=8, "
            "leaderId=OptionalInt.empty, votedKey=Optional.empty, voters=[101, 102, 103], "
            "electionTimeoutMs=1500, highWatermark=Optional.empty) from null"
        ),
        reads={"to_state": "UnattachedState", "raft_epoch": "8"},
        since="2.8.0",
    ),
    Rule(
        "raft_state_changed",
        QUORUM,
        text=("Attempting durable transition to <state:raft_any><? from <?null?><?<from_state:word>(<_:rest>?>?>"),
        sample=(
            "[RaftManager id=101] Attempting durable transition to UnattachedState(epoch=8, "
            "leaderId=OptionalInt.empty, votedKey=Optional.empty, voters=[101, 102, 103], "
            "electionTimeoutMs=1500, highWatermark=Optional.empty) from FollowerState(fetchTimeoutMs=2000, "
            "epoch=8, leader=102, "
            "leaderEndpoints=Endpoints(endpoints={ListenerName(CONTROLLER)=node102.example.org/<unresolved>:9093}),"
            " votedKey=Optional.empty, voters=[101, 102, 103], highWatermark=Optional.empty, "
            "fetchingSnapshot=Optional.empty)"
        ),
        reads={"to_state": "UnattachedState", "raft_epoch": "8", "from_state": "FollowerState"},
        since="3.9.0",
    ),
    Rule(
        "raft_high_watermark_first_set",
        ("org.apache.kafka.raft.FollowerState",),
        text=(
            "High watermark set to <?Optional[?>LogOffsetMetadata(offset=<high_watermark>, "
            "metadata=<_:text>)<?]?> for the first time for epoch <raft_epoch:int>"
        ),
        sample=(
            "[RaftManager id=101] High watermark set to Optional[LogOffsetMetadata(offset=641, "
            "metadata=Optional.empty)] for the first time for epoch 8"
        ),
        reads={"high_watermark": "641", "raft_epoch": "8"},
        since="3.4.0",
    ),
    Rule(
        "raft_high_watermark_first_set",
        ("org.apache.kafka.raft.LeaderState",),
        text=(
            "High watermark set to LogOffsetMetadata(offset=<high_watermark>, metadata=<_:text>) for the "
            "first time for epoch <raft_epoch:int> based on indexOfHw <_:int> and voters <_:rest>"
        ),
        sample=(
            "[RaftManager id=101] High watermark set to LogOffsetMetadata(offset=641, "
            "metadata=Optional[(segmentBaseOffset=0,relativePositionInSegment=4101)]) for the first time for "
            "epoch 8 based on indexOfHw 1 and voters [ReplicaState(replicaKey=ReplicaKey(id=101, "
            "directoryId=<undefined>), endOffset=Optional.empty, lastFetchTimestamp=-1, "
            "lastCaughtUpTimestamp=-1, hasAcknowledgedLeader=true)]"
        ),
        reads={"high_watermark": "641", "raft_epoch": "8"},
        since="3.4.0",
    ),
    Rule(
        "raft_resign_requested",
        CLIENT,
        text="Received user request to resign from the current epoch <raft_epoch:int>",
        sample="[RaftManager id=101] Received user request to resign from the current epoch 8",
        reads={"raft_epoch": "8"},
        since="3.0.0",
    ),
    Rule(
        "raft_election_timeout",
        CLIENT,
        text="Re-elect as candidate after election backoff has completed",
        sample="[RaftManager id=101] Re-elect as candidate after election backoff has completed",
        reads={},
        since="2.8.0",
        until="3.9.2",
    ),
    Rule(
        "raft_election_timeout",
        CLIENT,
        text="Election has timed out, backing off for <backoff_ms:int>ms before becoming a candidate again",
        sample=("[RaftManager id=101] Election has timed out, backing off for 150ms before becoming a candidate again"),
        reads={"backoff_ms": "150"},
        since="2.8.0",
        until="3.9.2",
    ),
    Rule(
        "raft_fetch_timeout",
        CLIENT,
        text="Become candidate due to fetch timeout",
        sample="[RaftManager id=101] Become candidate due to fetch timeout",
        reads={},
        since="2.8.0",
        until="3.9.2",
    ),
    Rule(
        "raft_fetch_timeout",
        CLIENT,
        text="Transitioning to Prospective state due to fetch timeout",
        sample="[RaftManager id=101] Transitioning to Prospective state due to fetch timeout",
        reads={},
        since="4.0.0",
    ),
    Rule(
        "raft_election_lost",
        CLIENT,
        text=(
            "Insufficient remaining votes to become leader (rejected by <rejecting_voters:brackets>). We "
            "will backoff before retrying election again"
        ),
        sample=(
            "[RaftManager id=101] Insufficient remaining votes to become leader (rejected by [102, 103]). We "
            "will backoff before retrying election again"
        ),
        reads={"rejecting_voters": "[102, 103]"},
        since="2.8.0",
        until="3.9.2",
    ),
    Rule(
        "raft_majority_lost",
        ("org.apache.kafka.raft.LeaderState",),
        text=(
            "Did not receive fetch request from the majority of the voters within <elapsed_ms:int>ms. "
            "Current fetched voters are <voters:text><?, and voters are <_:rest>?><?.?>"
        ),
        sample=(
            "[RaftManager id=101] Did not receive fetch request from the majority of the voters within "
            "4500ms. Current fetched voters are [102], and voters are [ReplicaKey(id=101, "
            "directoryId=<undefined>), ReplicaKey(id=102, directoryId=<undefined>)]"
        ),
        reads={"elapsed_ms": "4500", "voters": "[102]"},
        since="3.7.0",
    ),
    Rule(
        "raft_vote_request",
        CLIENT,
        text="Vote request VoteRequestData<request:vote><? with epoch <raft_epoch:int>?> is <result:word>",
        sample=(
            "[RaftManager id=101] Vote request VoteRequestData(clusterId='d8FgH1jKLm-NoPq_RsTu5w', "
            "voterId=101, topics=[TopicData(topicName='__cluster_metadata', "
            "partitions=[PartitionData(partitionIndex=0, replicaEpoch=8, replicaId=102, "
            "replicaDirectoryId=r7YzA2bCdE9fGhIj_KlMnO, voterDirectoryId=AAAAAAAAAAAAAAAAAAAAAA, "
            "lastOffsetEpoch=7, lastOffset=640, preVote=true)])]) with epoch 8 is granted"
        ),
        reads={
            "candidate": "102",
            "candidate_epoch": "8",
            "last_offset": "640",
            "last_offset_epoch": "7",
            "pre_vote": "true",
            "raft_epoch": "8",
            "result": "granted",
        },
        since="2.8.0",
    ),
    Rule(
        "raft_fetch_failed",
        CLIENT,
        text="Failed to handle fetch from <replica_key:text> at <offset> due to <error:word>",
        sample=(
            "[RaftManager id=101] Failed to handle fetch from ReplicaKey(id=102, "
            "directoryId=r7YzA2bCdE9fGhIj_KlMnO) at 640 due to NOT_LEADER_OR_FOLLOWER"
        ),
        reads={
            "replica_key": "ReplicaKey(id=102, directoryId=r7YzA2bCdE9fGhIj_KlMnO)",
            "offset": "640",
            "error": "NOT_LEADER_OR_FOLLOWER",
        },
        since="2.8.0",
    ),
    Rule(
        "raft_voters_started",
        CLIENT,
        text="Starting request manager with <?static voters?><?bootstrap servers?>: <voters:rest>",
        sample=(
            "[RaftManager id=101] Starting request manager with static voters: [node101.example.org:9093 "
            "(id: 101 rack: null isFenced: false)]"
        ),
        reads={"voters": "[node101.example.org:9093 (id: 101 rack: null isFenced: false)]"},
        since="3.8.0",
    ),
    Rule(
        "raft_voters_started",
        CLIENT,
        text="Starting voters are <voters:rest>",
        sample=(
            "[RaftManager id=101] Starting voters are "
            "VoterSet(voters={101=VoterNode(voterKey=ReplicaKey(id=101, directoryId=<undefined>), "
            "listeners=Endpoints(endpoints={ListenerName(CONTROLLER)=node101.example.org/<unresolved>:9093}),"
            " supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:0])})"
        ),
        reads={
            "voters": (
                "VoterSet(voters={101=VoterNode(voterKey=ReplicaKey(id=101, directoryId=<undefined>), "
                "listeners=Endpoints(endpoints={ListenerName(CONTROLLER)=node101.example.org/<unresolved>:9093}),"
                " supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:0])})"
            )
        },
        since="3.9.0",
    ),
    Rule(
        "raft_voters_updated",
        ("org.apache.kafka.raft.internals.UpdateVoterHandler",),
        text="Updated in-memory voters from <previous_voters:text> to <voters:rest>",
        sample=(
            "[RaftManager id=101] Updated in-memory voters from "
            "VoterSet(voters={101=VoterNode(voterKey=ReplicaKey(id=101, directoryId=<undefined>), "
            "listeners=Endpoints(endpoints={ListenerName(CONTROLLER)=node101.example.org/<unresolved>:9093}),"
            " supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:0])}) to "
            "VoterSet(voters={101=VoterNode(voterKey=ReplicaKey(id=101, directoryId=<undefined>), "
            "listeners=Endpoints(endpoints={ListenerName(CONTROLLER)=node101.example.org/<unresolved>:9093}),"
            " supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:0])})"
        ),
        reads={
            "previous_voters": (
                "VoterSet(voters={101=VoterNode(voterKey=ReplicaKey(id=101, directoryId=<undefined>), "
                "listeners=Endpoints(endpoints={ListenerName(CONTROLLER)=node101.example.org/<unresolved>:9093}),"
                " supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:0])})"
            ),
            "voters": (
                "VoterSet(voters={101=VoterNode(voterKey=ReplicaKey(id=101, directoryId=<undefined>), "
                "listeners=Endpoints(endpoints={ListenerName(CONTROLLER)=node101.example.org/<unresolved>:9093}),"
                " supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:0])})"
            ),
        },
        since="4.1.0",
    ),
    Rule(
        "raft_election_timeout",
        CLIENT,
        text="Transition to prospective after election backoff has completed",
        sample="[RaftManager id=101] Transition to prospective after election backoff has completed",
        reads={},
        since="4.0.0",
        until="4.0.2",
    ),
    Rule(
        "raft_election_timeout",
        CLIENT,
        text=(
            "Election timed out before receiving sufficient vote responses to become candidate. Current "
            "epoch election state: <election:rest>"
        ),
        sample=(
            "[RaftManager id=101] Election timed out before receiving sufficient vote responses to become "
            "candidate. Current epoch election state: EpochElection(voterStates={})"
        ),
        reads={"election": "EpochElection(voterStates={})"},
        since="4.0.0",
    ),
    Rule(
        "raft_election_lost",
        CLIENT,
        text="Election was not granted, transitioning to prospective",
        sample="[RaftManager id=101] Election was not granted, transitioning to prospective",
        reads={},
        since="4.0.0",
    ),
    Rule(
        "raft_election_lost",
        CLIENT,
        text=(
            "Insufficient remaining votes to become candidate. Current epoch election state is <election:text>.<? ?>"
        ),
        sample=(
            "[RaftManager id=101] Insufficient remaining votes to become candidate. Current epoch election "
            "state is EpochElection(voterStates={}). "
        ),
        reads={"election": "EpochElection(voterStates={})"},
        since="4.0.0",
    ),
    Rule(
        "raft_election_lost",
        CLIENT,
        text=(
            "Insufficient remaining votes to become leader. <?We will backoff before retrying election "
            "again.?><?Candidate will wait the remaining election timeout (<remaining_ms:int>) before "
            "transitioning back to Prospective.?> Current epoch election state is <election:text>."
        ),
        sample=(
            "[RaftManager id=101] Insufficient remaining votes to become leader. Candidate will wait the "
            "remaining election timeout (812) before transitioning back to Prospective. Current epoch "
            "election state is EpochElection(voterStates={})."
        ),
        reads={"remaining_ms": "812", "election": "EpochElection(voterStates={})"},
        since="4.0.0",
    ),
    Rule(
        "raft_pre_vote_unsupported",
        CLIENT,
        text=(
            "Prospective received unsupported version error in vote response in epoch <raft_epoch:int>, "
            "transitioning to Candidate state immediately since at least one voter doesn't support PreVote."
        ),
        sample=(
            "[RaftManager id=101] Prospective received unsupported version error in vote response in epoch 8,"
            " transitioning to Candidate state immediately since at least one voter doesn't support PreVote."
        ),
        reads={"raft_epoch": "8"},
        since="4.0.0",
    ),
    Rule(
        "raft_vote_cast",
        QUORUM,
        text="Voted for candidate <candidate:candidate_key> in epoch <raft_epoch:int>",
        sample=(
            "[RaftManager id=101] Voted for candidate ReplicaKey(id=102, directoryId=r7YzA2bCdE9fGhIj_KlMnO) in epoch 8"
        ),
        reads={"candidate": "102", "raft_epoch": "8"},
        since="3.9.0",
        until="3.9.2",
    ),
    Rule(
        "raft_voter_key_mismatch",
        CLIENT,
        text=(
            "<?A replica<? <replica:int>?>?><?Candidate?> sent a voter key (<voter_key:text>) in the VOTE request "
            "that doesn't match the local key (<_:optional_id>, <local_directory_id:text>); rejecting the vote"
        ),
        sample=(
            "[RaftManager id=101] A replica 102 sent a voter key (ReplicaKey(id=101, "
            "directoryId=r7YzA2bCdE9fGhIj_KlMnO)) in the VOTE request that doesn't match the local key "
            "(OptionalInt[101], d8FgH1jKLm-NoPq_RsTu5w); rejecting the vote"
        ),
        reads={
            "replica": "102",
            "voter_key": "ReplicaKey(id=101, directoryId=r7YzA2bCdE9fGhIj_KlMnO)",
            "local_directory_id": "d8FgH1jKLm-NoPq_RsTu5w",
        },
        since="3.9.0",
    ),
    Rule(
        "raft_voter_key_mismatch",
        CLIENT,
        text=(
            "Leader sent a voter key (<voter_key:text>) in the BEGIN_QUORUM_EPOCH request that doesn't match "
            "the local key (<_:optional_id>, <local_directory_id:text>); returning INVALID_VOTER_KEY"
        ),
        sample=(
            "[RaftManager id=101] Leader sent a voter key (ReplicaKey(id=101, "
            "directoryId=r7YzA2bCdE9fGhIj_KlMnO)) in the BEGIN_QUORUM_EPOCH request that doesn't match the "
            "local key (OptionalInt[101], d8FgH1jKLm-NoPq_RsTu5w); returning INVALID_VOTER_KEY"
        ),
        reads={
            "voter_key": "ReplicaKey(id=101, directoryId=r7YzA2bCdE9fGhIj_KlMnO)",
            "local_directory_id": "d8FgH1jKLm-NoPq_RsTu5w",
        },
        since="3.9.0",
    ),
    Rule(
        "raft_voter_key_mismatch",
        CLIENT,
        text=(
            "Voter key for VOTE or BEGIN_QUORUM_EPOCH request didn't match the receiver's replica key: <source:rest>"
        ),
        sample=(
            "[RaftManager id=101] Voter key for VOTE or BEGIN_QUORUM_EPOCH request didn't match the "
            "receiver's replica key: node102.example.org:9093 (id: 102 rack: null isFenced: false)"
        ),
        reads={"source": "node102.example.org:9093 (id: 102 rack: null isFenced: false)"},
        since="3.9.0",
    ),
    Rule(
        "raft_vote_illegal_epoch",
        CLIENT,
        text=(
            "Received a vote request from replica <replica:int> with illegal epoch <candidate_epoch:int>, "
            "last epoch <last_offset_epoch:int>, preVote=<pre_vote:word>"
        ),
        sample=(
            "[RaftManager id=101] Received a vote request from replica 102 with illegal epoch 7, last epoch "
            "7, preVote=true"
        ),
        reads={"replica": "102", "candidate_epoch": "7", "last_offset_epoch": "7", "pre_vote": "true"},
        since="4.0.0",
    ),
    Rule(
        "raft_vote_rejected",
        CLIENT,
        text="Rejecting vote request <request:text> with epoch <candidate_epoch:int> since <reason:rest>",
        sample=(
            "[RaftManager nodeId=101] Rejecting vote request VoteRequestData(clusterId='x') with epoch 7 "
            "since we are already candidate on that epoch"
        ),
        reads={
            "request": "VoteRequestData(clusterId='x')",
            "candidate_epoch": "7",
            "reason": "we are already candidate on that epoch",
        },
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "raft_vote_rejected",
        (
            "org.apache.kafka.raft.QuorumState",
            "org.apache.kafka.raft.LeaderState",
            "org.apache.kafka.raft.CandidateState",
            "org.apache.kafka.raft.FollowerState",
            "org.apache.kafka.raft.ResignedState",
            "org.apache.kafka.raft.UnattachedState",
            "org.apache.kafka.raft.VotedState",
            "org.apache.kafka.raft.ProspectiveState",
        ),
        text=(
            "Rejecting <?V?><?v?>ote request <?(preVote=<pre_vote:word>) ?>from <_:word> "
            "<candidate:candidate><?,?> <reason:vote_reason>"
        ),
        sample=(
            "[RaftManager id=101] Rejecting Vote request (preVote=true) from replica (ReplicaKey(id=102, "
            "directoryId=r7YzA2bCdE9fGhIj_KlMnO)) since we are already leader in epoch 8"
        ),
        reads={
            "pre_vote": "true",
            "candidate": "(ReplicaKey(id=102, directoryId=r7YzA2bCdE9fGhIj_KlMnO))",
            "reason": "since we are already leader in epoch 8",
        },
        since="3.0.0",
    ),
    Rule(
        "raft_vote_response_ignored",
        CLIENT,
        text="Ignoring vote response <response:text> since we <reason:rest>",
        sample=(
            "[RaftManager id=101] Ignoring vote response PartitionData(partitionIndex=0, errorCode=0, "
            "leaderId=-1, leaderEpoch=8, voteGranted=true) since we already became leader for epoch 8"
        ),
        reads={
            "response": "PartitionData(partitionIndex=0, errorCode=0, leaderId=-1, leaderEpoch=8, voteGranted=true)",
            "reason": "already became leader for epoch 8",
        },
        since="2.8.0",
    ),
    Rule(
        "raft_resign_ignored",
        CLIENT,
        text="Ignoring call to resign from epoch <raft_epoch:int> since <reason:rest>",
        sample=("[RaftManager id=101] Ignoring call to resign from epoch 8 since this node is no longer the leader"),
        reads={"raft_epoch": "8", "reason": "this node is no longer the leader"},
        since="3.0.0",
    ),
    Rule(
        "raft_voter_change_absent",
        CLIENT,
        text="Received API_VERSIONS response from <source:text> but no voter change operation is pending",
        sample=(
            "[RaftManager id=101] Received API_VERSIONS response from node102.example.org:9093 (id: 102 "
            "rack: null isFenced: false) but no voter change operation is pending"
        ),
        reads={"source": "node102.example.org:9093 (id: 102 rack: null isFenced: false)"},
        since="4.4.0",
    ),
    Rule(
        "raft_fetch_timeout_overridden",
        CLIENT,
        text=(
            "Overriding follower fetch timeout to <timeout_ms:int> after receiving EndQuorumEpoch request "
            "from leader <raft_leader:int> in epoch <raft_epoch:int>"
        ),
        sample=(
            "[RaftManager id=101] Overriding follower fetch timeout to 7 after receiving EndQuorumEpoch "
            "request from leader 102 in epoch 8"
        ),
        reads={"timeout_ms": "7", "raft_leader": "102", "raft_epoch": "8"},
        since="2.8.0",
    ),
    Rule(
        "raft_high_watermark_updated",
        CLIENT,
        text="Follower high watermark updated to <high_watermark:offset_metadata>",
        sample=(
            "[RaftManager id=101] Follower high watermark updated to LogOffsetMetadata(offset=641, "
            "metadata=Optional.empty)"
        ),
        reads={"high_watermark": "641"},
        since="2.8.0",
    ),
    Rule(
        "raft_high_watermark_updated",
        CLIENT,
        text="Leader high watermark updated to <high_watermark:offset_metadata>",
        sample=(
            "[RaftManager id=101] Leader high watermark updated to LogOffsetMetadata(offset=641, "
            "metadata=Optional.empty)"
        ),
        reads={"high_watermark": "641"},
        since="2.8.0",
    ),
    Rule(
        "raft_high_watermark_updated",
        ("org.apache.kafka.raft.FollowerState",),
        text="High watermark set to <high_watermark:offset_metadata> from <_:text> for epoch <raft_epoch:int>",
        sample=(
            "[RaftManager id=101] High watermark set to Optional[LogOffsetMetadata(offset=641, "
            "metadata=Optional.empty)] from LogOffsetMetadata(offset=640, metadata=Optional.empty) for epoch "
            "8"
        ),
        reads={"high_watermark": "641", "raft_epoch": "8"},
        since="3.4.0",
    ),
    Rule(
        "raft_high_watermark_updated",
        ("org.apache.kafka.raft.LeaderState",),
        text=(
            "High watermark <?set?><?updated?> to <high_watermark:offset_metadata><? from <_:text>?> based "
            "on indexOfHw <_:int> and voters <_:rest>"
        ),
        sample=(
            "[RaftManager id=101] High watermark set to LogOffsetMetadata(offset=641, "
            "metadata=Optional.empty) from LogOffsetMetadata(offset=640, metadata=Optional.empty) based on "
            "indexOfHw 1 and voters []"
        ),
        reads={"high_watermark": "641"},
        since="3.0.0",
    ),
    Rule(
        "raft_high_watermark_decreased",
        ("org.apache.kafka.raft.LeaderState",),
        text=(
            "The latest computed high watermark <computed_high_watermark:int> is smaller than the current "
            "value <high_watermark>, which <?suggests that one of the voters has lost committed "
            "data?><?should only happen when voter set membership changes. If the voter set has not changed "
            "this suggests that one of the voters has lost committed data?>. Full voter replication state: "
            "<_:rest>"
        ),
        sample=(
            "[RaftManager id=101] The latest computed high watermark 630 is smaller than the current value "
            "640, which should only happen when voter set membership changes. If the voter set has not "
            "changed this suggests that one of the voters has lost committed data. Full voter replication "
            "state: []"
        ),
        reads={"computed_high_watermark": "630", "high_watermark": "640"},
        since="3.0.0",
    ),
    Rule(
        "raft_fetch_offset_decreased",
        ("org.apache.kafka.raft.LeaderState",),
        text=(
            "Detected non-monotonic update of fetch offset from nodeId <replica_key:text>: <old_offset:int> -> <offset>"
        ),
        sample=(
            "[RaftManager id=101] Detected non-monotonic update of fetch offset from nodeId "
            "ReplicaKey(id=102, directoryId=r7YzA2bCdE9fGhIj_KlMnO): 650 -> 640"
        ),
        reads={
            "replica_key": "ReplicaKey(id=102, directoryId=r7YzA2bCdE9fGhIj_KlMnO)",
            "old_offset": "650",
            "offset": "640",
        },
        since="3.0.0",
    ),
    Rule(
        "raft_kraft_version_appended",
        ("org.apache.kafka.raft.LeaderState",),
        text="Appended kraft.version <kraft_version:word> to the batch accumulator",
        sample="[RaftManager id=101] Appended kraft.version KRAFT_VERSION_1 to the batch accumulator",
        reads={"kraft_version": "KRAFT_VERSION_1"},
        since="4.1.0",
    ),
    Rule(
        "raft_voters_appended",
        ("org.apache.kafka.raft.LeaderState",),
        text="Appended voter set <voters:text> to the batch accumulator",
        sample=(
            "[RaftManager id=101] Appended voter set "
            "VoterSet(voters={101=VoterNode(voterKey=ReplicaKey(id=101, directoryId=<undefined>), "
            "listeners=Endpoints(endpoints={ListenerName(CONTROLLER)=node101.example.org/<unresolved>:9093}),"
            " supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:0])}) to the batch "
            "accumulator"
        ),
        reads={
            "voters": (
                "VoterSet(voters={101=VoterNode(voterKey=ReplicaKey(id=101, directoryId=<undefined>), "
                "listeners=Endpoints(endpoints={ListenerName(CONTROLLER)=node101.example.org/<unresolved>:9093}),"
                " supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:0])})"
            )
        },
        since="4.1.0",
    ),
    Rule(
        "raft_kraft_version_unsupported",
        ("org.apache.kafka.raft.LeaderState",),
        text="Not all voters support kraft version <kraft_version:word>: <voters:rest>",
        sample=(
            "[RaftManager id=101] Not all voters support kraft version KRAFT_VERSION_1: "
            "VoterSet(voters={101=VoterNode(voterKey=ReplicaKey(id=101, directoryId=<undefined>), "
            "listeners=Endpoints(endpoints={ListenerName(CONTROLLER)=node101.example.org/<unresolved>:9093}),"
            " supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:0])})"
        ),
        reads={
            "kraft_version": "KRAFT_VERSION_1",
            "voters": (
                "VoterSet(voters={101=VoterNode(voterKey=ReplicaKey(id=101, directoryId=<undefined>), "
                "listeners=Endpoints(endpoints={ListenerName(CONTROLLER)=node101.example.org/<unresolved>:9093}),"
                " supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:0])})"
            ),
        },
        since="4.1.0",
    ),
    Rule(
        "raft_resigned",
        ("org.apache.kafka.raft.internals.RemoveVoterHandler",),
        text="Leader is not in the committed voter set <voters:text> resign from epoch <raft_epoch:int>",
        sample=(
            "[RaftManager id=101] Leader is not in the committed voter set [ReplicaKey(id=102, "
            "directoryId=r7YzA2bCdE9fGhIj_KlMnO)] resign from epoch 8"
        ),
        reads={"voters": "[ReplicaKey(id=102, directoryId=r7YzA2bCdE9fGhIj_KlMnO)]", "raft_epoch": "8"},
        since="3.9.0",
    ),
    Rule(
        "raft_voter_change_unexpected",
        (
            "org.apache.kafka.raft.internals.AddVoterHandler",
            "org.apache.kafka.raft.internals.UpdateVoterHandler",
        ),
        text=(
            "API_VERSIONS response is not expected from <source:text>: voterKey is <replica_key:text>, "
            "lastOffset is <last_offset:rest>"
        ),
        sample=(
            "[RaftManager id=101] API_VERSIONS response is not expected from node102.example.org:9093 (id: "
            "102 rack: null isFenced: false): voterKey is ReplicaKey(id=102, "
            "directoryId=r7YzA2bCdE9fGhIj_KlMnO), lastOffset is OptionalLong.empty"
        ),
        reads={
            "source": "node102.example.org:9093 (id: 102 rack: null isFenced: false)",
            "replica_key": "ReplicaKey(id=102, directoryId=r7YzA2bCdE9fGhIj_KlMnO)",
            "last_offset": "OptionalLong.empty",
        },
        since="3.9.0",
    ),
    Rule(
        "raft_voter_change_aborted",
        (
            "org.apache.kafka.raft.internals.AddVoterHandler",
            "org.apache.kafka.raft.internals.UpdateVoterHandler",
        ),
        text=(
            "Aborting <operation:word> voter operation for <replica_key:text> at <endpoints:text> since <reason:rest>"
        ),
        sample=(
            "[RaftManager id=101] Aborting add voter operation for ReplicaKey(id=102, "
            "directoryId=r7YzA2bCdE9fGhIj_KlMnO) at Endpoints(endpoints={}) since it is lagging behind: "
            "Optional.empty"
        ),
        reads={
            "operation": "add",
            "replica_key": "ReplicaKey(id=102, directoryId=r7YzA2bCdE9fGhIj_KlMnO)",
            "endpoints": "Endpoints(endpoints={})",
            "reason": "it is lagging behind: Optional.empty",
        },
        since="3.9.0",
    ),
    Rule(
        "raft_voter_change_aborted",
        ("org.apache.kafka.raft.internals.UpdateVoterHandler",),
        text=(
            "The supported kraft version from UpdateVoters <update_versions:text> doesn't match the "
            "supported kraft version from ApiVersions <api_versions:rest>"
        ),
        sample=(
            "[RaftManager id=101] The supported kraft version from UpdateVoters "
            "SupportedVersionRange[min_version:0, max_version:1] doesn't match the supported kraft version "
            "from ApiVersions SupportedVersionRange[min_version:0, max_version:0]"
        ),
        reads={
            "update_versions": "SupportedVersionRange[min_version:0, max_version:1]",
            "api_versions": "SupportedVersionRange[min_version:0, max_version:0]",
        },
        since="4.4.0",
    ),
    Rule(
        "raft_voters_not_updated",
        ("org.apache.kafka.raft.internals.UpdateVoterHandler",),
        text="Unable to update in-memory voters from <previous_voters:text> to <voters:rest>",
        sample=(
            "[RaftManager id=101] Unable to update in-memory voters from "
            "VoterSet(voters={101=VoterNode(voterKey=ReplicaKey(id=101, directoryId=<undefined>), "
            "listeners=Endpoints(endpoints={ListenerName(CONTROLLER)=node101.example.org/<unresolved>:9093}),"
            " supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:0])}) to "
            "VoterSet(voters={101=VoterNode(voterKey=ReplicaKey(id=101, directoryId=<undefined>), "
            "listeners=Endpoints(endpoints={ListenerName(CONTROLLER)=node101.example.org/<unresolved>:9093}),"
            " supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:0])})"
        ),
        reads={
            "previous_voters": (
                "VoterSet(voters={101=VoterNode(voterKey=ReplicaKey(id=101, directoryId=<undefined>), "
                "listeners=Endpoints(endpoints={ListenerName(CONTROLLER)=node101.example.org/<unresolved>:9093}),"
                " supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:0])})"
            ),
            "voters": (
                "VoterSet(voters={101=VoterNode(voterKey=ReplicaKey(id=101, directoryId=<undefined>), "
                "listeners=Endpoints(endpoints={ListenerName(CONTROLLER)=node101.example.org/<unresolved>:9093}),"
                " supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:0])})"
            ),
        },
        since="4.1.0",
    ),
    Rule(
        "raft_voters_not_updated",
        ("org.apache.kafka.raft.internals.UpdateVoterHandler",),
        text="Unable to read the current voter set with kraft version <kraft_version:word>",
        sample="[RaftManager id=101] Unable to read the current voter set with kraft version KRAFT_VERSION_1",
        reads={"kraft_version": "KRAFT_VERSION_1"},
        since="4.1.0",
    ),
    Rule(
        "raft_voters_changed",
        ("org.apache.kafka.raft.internals.KRaftControlRecordStateMachine",),
        text="Latest set of voters is <voters:text> at offset <offset>",
        sample=(
            "[RaftManager id=101] Latest set of voters is "
            "VoterSet(voters={101=VoterNode(voterKey=ReplicaKey(id=101, directoryId=<undefined>), "
            "listeners=Endpoints(endpoints={ListenerName(CONTROLLER)=node101.example.org/<unresolved>:9093}),"
            " supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:0])}) at offset 640"
        ),
        reads={
            "voters": (
                "VoterSet(voters={101=VoterNode(voterKey=ReplicaKey(id=101, directoryId=<undefined>), "
                "listeners=Endpoints(endpoints={ListenerName(CONTROLLER)=node101.example.org/<unresolved>:9093}),"
                " supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:0])})"
            ),
            "offset": "640",
        },
        since="3.9.0",
    ),
    Rule(
        "raft_kraft_version_changed",
        ("org.apache.kafka.raft.internals.KRaftControlRecordStateMachine",),
        text="Latest kraft.version is <kraft_version:text> at offset <offset>",
        sample="[RaftManager id=101] Latest kraft.version is KRAFT_VERSION_1 at offset 640",
        reads={"kraft_version": "KRAFT_VERSION_1", "offset": "640"},
        since="3.9.0",
    ),
    Rule(
        "raft_voters_without_overlap",
        ("org.apache.kafka.raft.internals.VoterSetHistory",),
        text=(
            "Last voter set (<previous_voters:text>) doesn't have an overlapping majority with the new voter "
            "set (<voters:text>)"
        ),
        sample=(
            "[RaftManager id=101] Last voter set (VoterSet(voters={101=VoterNode(voterKey=ReplicaKey(id=101, "
            "directoryId=<undefined>), "
            "listeners=Endpoints(endpoints={ListenerName(CONTROLLER)=node101.example.org/<unresolved>:9093}),"
            " supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:0])})) doesn't have an "
            "overlapping majority with the new voter set "
            "(VoterSet(voters={101=VoterNode(voterKey=ReplicaKey(id=101, directoryId=<undefined>), "
            "listeners=Endpoints(endpoints={ListenerName(CONTROLLER)=node101.example.org/<unresolved>:9093}),"
            " supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:0])}))"
        ),
        reads={
            "previous_voters": (
                "VoterSet(voters={101=VoterNode(voterKey=ReplicaKey(id=101, directoryId=<undefined>), "
                "listeners=Endpoints(endpoints={ListenerName(CONTROLLER)=node101.example.org/<unresolved>:9093}),"
                " supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:0])})"
            ),
            "voters": (
                "VoterSet(voters={101=VoterNode(voterKey=ReplicaKey(id=101, directoryId=<undefined>), "
                "listeners=Endpoints(endpoints={ListenerName(CONTROLLER)=node101.example.org/<unresolved>:9093}),"
                " supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:0])})"
            ),
        },
        since="3.9.0",
    ),
    Rule(
        "raft_quorum_state_writing",
        (
            "org.apache.kafka.raft.FileQuorumStateStore",
            "org.apache.kafka.raft.FileBasedStateStore",
        ),
        text="Writing tmp quorum state <path:rest>",
        sample="Writing tmp quorum state /srv/kafka/meta/__cluster_metadata-0/quorum-state.tmp",
        reads={"path": "/srv/kafka/meta/__cluster_metadata-0/quorum-state.tmp"},
        since="2.8.0",
    ),
    Rule(
        "raft_quorum_state_behind",
        QUORUM,
        text=(
            "Epoch from <?quorum-state?><?quorum store?> file <?(<path:text>) ?>is <raft_epoch:int>, which "
            "is smaller than last written epoch <last_epoch:int> in the log"
        ),
        sample=(
            "[RaftManager id=101] Epoch from quorum store file "
            "(/srv/kafka/meta/__cluster_metadata-0/quorum-state) is 7, which is smaller than last written "
            "epoch 8 in the log"
        ),
        reads={"path": "/srv/kafka/meta/__cluster_metadata-0/quorum-state", "raft_epoch": "7", "last_epoch": "8"},
        since="2.8.0",
    ),
    Rule(
        "raft_quorum_state_cleared",
        QUORUM,
        text="Clearing local quorum state store after error loading state <path:rest>",
        sample=(
            "[RaftManager id=101] Clearing local quorum state store after error loading state Quorum state "
            "filepath: /srv/kafka/meta/__cluster_metadata-0/quorum-state"
        ),
        reads={"path": "Quorum state filepath: /srv/kafka/meta/__cluster_metadata-0/quorum-state"},
        since="2.8.0",
        until="3.7.2",
    ),
    Rule(
        "raft_leader_not_voter",
        QUORUM,
        text=(
            "The leader in election state <election:text> is not a member of the latest voter set "
            "<voters:text>; transitioning to unattached instead of follower because the leader's endpoints "
            "are not known"
        ),
        sample=(
            "[RaftManager id=101] The leader in election state ElectionState(epoch=8, "
            "leaderId=OptionalInt[102]) is not a member of the latest voter set "
            "VoterSet(voters={101=VoterNode(voterKey=ReplicaKey(id=101, directoryId=<undefined>), "
            "listeners=Endpoints(endpoints={ListenerName(CONTROLLER)=node101.example.org/<unresolved>:9093}),"
            " supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:0])}); transitioning to "
            "unattached instead of follower because the leader's endpoints are not known"
        ),
        reads={
            "election": "ElectionState(epoch=8, leaderId=OptionalInt[102])",
            "voters": (
                "VoterSet(voters={101=VoterNode(voterKey=ReplicaKey(id=101, directoryId=<undefined>), "
                "listeners=Endpoints(endpoints={ListenerName(CONTROLLER)=node101.example.org/<unresolved>:9093}),"
                " supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:0])})"
            ),
        },
        since="3.9.0",
    ),
    Rule(
        "raft_high_watermark_differs",
        (
            "kafka.raft.KafkaMetadataLog",
            "kafka.raft.KafkaMetadataLog$",
            "org.apache.kafka.raft.internals.KafkaRaftLog",
        ),
        text=(
            "Log's high watermark (<high_watermark:offset_metadata>) is different from the local replica's "
            "high watermark (<_:text>)"
        ),
        sample=(
            "[MetadataLog partition=__cluster_metadata-0, nodeId=101] Log's high watermark "
            "(LogOffsetMetadata(offset=641, metadata=Optional.empty)) is different from the local replica's "
            "high watermark (some text)"
        ),
        reads={"high_watermark": "641"},
        since="3.6.0",
    ),
)
