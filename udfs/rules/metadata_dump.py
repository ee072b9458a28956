"""Lines of `kafka-dump-log --cluster-metadata-decoder`: the committed metadata log itself, batch by batch, record by record.

A record tells its partition's or broker's new state as far as it changes; what is missing in a change record stays as
it was. The epoch of a batch is the epoch of the controller that wrote it.
"""

from __future__ import annotations

from udfs.rule import Rule

DUMP = ("kafka-dump-log",)

RULES: tuple[Rule, ...] = (
    Rule("metadata_partition_change", DUMP, text=("| offset: <offset> <_:text><?partitionLeaderEpoch: <controller_epoch> <_:text>?>payload: "
'{"type":"PARTITION_CHANGE_RECORD","version":<version:int>,"data":<data:record>}'), sample=("| offset: 640 CreateTime: 1764000000123 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] "
"payload: "
'{"type":"PARTITION_CHANGE_RECORD","version":2,"data":{"partitionId":3,"topicId":"L3mK9pQrSt2uVwXyZ0a'
'BcD","isr":[5],"leader":5,"eligibleLeaderReplicas":[4],"lastKnownElr":[]}}'), reads={"offset": "640", "version": "2", "partition": 3, "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD", "isr": [5], "leader": 5, "elr": "[4]", "last_known_elr": "[]"}, since="2.8.0"),
    Rule("metadata_no_op", DUMP, text=("| offset: <offset> <_:text><?partitionLeaderEpoch: <controller_epoch> <_:text>?>payload: "
'{"type":"NO_OP_RECORD","version":<version:int>,"data":<data:record>}'), sample=("| offset: 640 CreateTime: 1764000000123 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] "
'payload: {"type":"NO_OP_RECORD","version":0,"data":{}}'), reads={"offset": "640", "version": "0"}, since="3.3.0"),
    Rule("metadata_partition", DUMP, text=("| offset: <offset> <_:text><?partitionLeaderEpoch: <controller_epoch> <_:text>?>payload: "
'{"type":"PARTITION_RECORD","version":<version:int>,"data":<data:record>}'), sample=("| offset: 640 CreateTime: 1764000000123 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] "
"payload: "
'{"type":"PARTITION_RECORD","version":1,"data":{"partitionId":3,"topicId":"L3mK9pQrSt2uVwXyZ0aBcD","r'
'eplicas":[4,5],"isr":[4,5],"removingReplicas":[],"addingReplicas":[],"leader":4,"leaderEpoch":0,"par'
'titionEpoch":0,"directories":["r7YzA2bCdE9fGhIj_KlMnO","d8FgH1jKLm-NoPq_RsTu5w"]}}'), reads={"offset": "640", "version": "1", "partition": 3, "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD", "replicas": [4, 5], "isr": [4, 5], "removing_replicas": "[]", "adding_replicas": "[]", "leader": 4, "leader_epoch": 0, "partition_epoch": 0, "directories": '["r7YzA2bCdE9fGhIj_KlMnO", "d8FgH1jKLm-NoPq_RsTu5w"]'}, since="2.8.0"),
    Rule("metadata_broker_registration_change", DUMP, text=("| offset: <offset> <_:text><?partitionLeaderEpoch: <controller_epoch> <_:text>?>payload: "
'{"type":"BROKER_REGISTRATION_CHANGE_RECORD","version":<version:int>,"data":<data:broker_change_record>}'), sample=("| offset: 640 CreateTime: 1764000000123 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] "
"payload: "
'{"type":"BROKER_REGISTRATION_CHANGE_RECORD","version":0,"data":{"brokerId":4,"brokerEpoch":300,"fenc'
'ed":1}}'), reads={"offset": "640", "version": "0", "broker_id": 4, "broker_epoch": "300", "fenced_change": "1"}, since="3.0.0"),
    Rule("metadata_register_broker", DUMP, text=("| offset: <offset> <_:text><?partitionLeaderEpoch: <controller_epoch> <_:text>?>payload: "
'{"type":"REGISTER_BROKER_RECORD","version":<version:int>,"data":<data:broker_record>}'), sample=("| offset: 640 CreateTime: 1764000000123 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] "
"payload: "
'{"type":"REGISTER_BROKER_RECORD","version":3,"data":{"brokerId":4,"isMigratingZkBroker":false,"incar'
'nationId":"q1WeRtYuIo-pAsDfGhJk_L","brokerEpoch":300,"endPoints":[{"name":"PLAINTEXT","host":"node4.'
'example.org","port":9092,"securityProtocol":0}],"features":[{"name":"metadata.version","minSupported'
'Version":7,"maxSupportedVersion":27}],"rack":"east","fenced":true,"inControlledShutdown":false,"logD'
'irs":["r7YzA2bCdE9fGhIj_KlMnO"]}}'), reads={"offset": "640", "version": "3", "broker_id": 4, "is_migrating_zk_broker": "false", "incarnation_id": "q1WeRtYuIo-pAsDfGhJk_L", "broker_epoch": "300", "listeners": '[{"name": "PLAINTEXT", "host": "node4.example.org", "port": 9092, "securityProtocol": 0}]', "features": '[{"name": "metadata.version", "minSupportedVersion": 7, "maxSupportedVersion": 27}]', "rack": "east", "fenced": "true", "in_controlled_shutdown": "false", "log_dirs": '["r7YzA2bCdE9fGhIj_KlMnO"]'}, since="2.8.0"),
    Rule("metadata_unregister_broker", DUMP, text=("| offset: <offset> <_:text><?partitionLeaderEpoch: <controller_epoch> <_:text>?>payload: "
'{"type":"UNREGISTER_BROKER_RECORD","version":<version:int>,"data":<data:broker_record>}'), sample=("| offset: 640 CreateTime: 1764000000123 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] "
'payload: {"type":"UNREGISTER_BROKER_RECORD","version":0,"data":{"brokerId":4,"brokerEpoch":300}}'), reads={"offset": "640", "version": "0", "broker_id": 4, "broker_epoch": "300"}, since="2.8.0"),
    Rule("metadata_fence_broker", DUMP, text=("| offset: <offset> <_:text><?partitionLeaderEpoch: <controller_epoch> <_:text>?>payload: "
'{"type":"FENCE_BROKER_RECORD","version":<version:int>,"data":<data:broker_record>}'), sample=("| offset: 640 CreateTime: 1764000000123 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] "
'payload: {"type":"FENCE_BROKER_RECORD","version":0,"data":{"id":4,"epoch":300}}'), reads={"offset": "640", "version": "0", "broker_id": 4, "broker_epoch": "300"}, since="2.8.0"),
    Rule("metadata_unfence_broker", DUMP, text=("| offset: <offset> <_:text><?partitionLeaderEpoch: <controller_epoch> <_:text>?>payload: "
'{"type":"UNFENCE_BROKER_RECORD","version":<version:int>,"data":<data:broker_record>}'), sample=("| offset: 640 CreateTime: 1764000000123 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] "
'payload: {"type":"UNFENCE_BROKER_RECORD","version":0,"data":{"id":4,"epoch":300}}'), reads={"offset": "640", "version": "0", "broker_id": 4, "broker_epoch": "300"}, since="2.8.0"),
    Rule("metadata_register_controller", DUMP, text=("| offset: <offset> <_:text><?partitionLeaderEpoch: <controller_epoch> <_:text>?>payload: "
'{"type":"REGISTER_CONTROLLER_RECORD","version":<version:int>,"data":<data:controller_record>}'), sample=("| offset: 640 CreateTime: 1764000000123 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] "
"payload: "
'{"type":"REGISTER_CONTROLLER_RECORD","version":0,"data":{"controllerId":102,"incarnationId":"q1WeRtY'
'uIo-pAsDfGhJk_L","zkMigrationReady":false,"endPoints":[],"features":[]}}'), reads={"offset": "640", "version": "0", "controller_id": 102, "incarnation_id": "q1WeRtYuIo-pAsDfGhJk_L", "zk_migration_ready": "false", "listeners": "[]", "features": "[]"}, since="3.7.0"),
    Rule("metadata_topic", DUMP, text=("| offset: <offset> <_:text><?partitionLeaderEpoch: <controller_epoch> <_:text>?>payload: "
'{"type":"TOPIC_RECORD","version":<version:int>,"data":<data:record>}'), sample=("| offset: 640 CreateTime: 1764000000123 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] "
"payload: "
'{"type":"TOPIC_RECORD","version":0,"data":{"name":"pay-in","topicId":"L3mK9pQrSt2uVwXyZ0aBcD"}}'), reads={"offset": "640", "version": "0", "topic": "pay-in", "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD"}, since="2.8.0"),
    Rule("metadata_remove_topic", DUMP, text=("| offset: <offset> <_:text><?partitionLeaderEpoch: <controller_epoch> <_:text>?>payload: "
'{"type":"REMOVE_TOPIC_RECORD","version":<version:int>,"data":<data:record>}'), sample=("| offset: 640 CreateTime: 1764000000123 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] "
'payload: {"type":"REMOVE_TOPIC_RECORD","version":0,"data":{"topicId":"L3mK9pQrSt2uVwXyZ0aBcD"}}'), reads={"offset": "640", "version": "0", "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD"}, since="2.8.0"),
    Rule("metadata_config", DUMP, text=("| offset: <offset> <_:text><?partitionLeaderEpoch: <controller_epoch> <_:text>?>payload: "
'{"type":"CONFIG_RECORD","version":<version:int>,"data":<data:config_record>}'), sample=("| offset: 640 CreateTime: 1764000000123 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] "
"payload: "
'{"type":"CONFIG_RECORD","version":0,"data":{"resourceType":2,"resourceName":"pay-in","name":"min.ins'
'ync.replicas","value":"2"}}'), reads={"offset": "640", "version": "0", "config_resource_type": "TOPIC", "topic": "pay-in", "config_name": "min.insync.replicas", "config_value": "2"}, since="2.8.0"),
    Rule("metadata_clear_elr", DUMP, text=("| offset: <offset> <_:text><?partitionLeaderEpoch: <controller_epoch> <_:text>?>payload: "
'{"type":"CLEAR_ELR_RECORD","version":<version:int>,"data":<data:record>}'), sample=("| offset: 640 CreateTime: 1764000000123 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] "
'payload: {"type":"CLEAR_ELR_RECORD","version":0,"data":{"topicName":"pay-in"}}'), reads={"offset": "640", "version": "0", "topic": "pay-in"}, since="4.0.0"),
    Rule("metadata_feature_level", DUMP, text=("| offset: <offset> <_:text><?partitionLeaderEpoch: <controller_epoch> <_:text>?>payload: "
'{"type":"FEATURE_LEVEL_RECORD","version":<version:int>,"data":<data:feature_record>}'), sample=("| offset: 640 CreateTime: 1764000000123 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] "
"payload: "
'{"type":"FEATURE_LEVEL_RECORD","version":0,"data":{"name":"metadata.version","featureLevel":27}}'), reads={"offset": "640", "version": "0", "feature": "metadata.version", "feature_level": "27"}, since="2.8.0"),
    Rule("metadata_remove_feature_level", DUMP, text=("| offset: <offset> <_:text><?partitionLeaderEpoch: <controller_epoch> <_:text>?>payload: "
'{"type":"REMOVE_FEATURE_LEVEL_RECORD","version":<version:int>,"data":<data:feature_record>}'), sample=("| offset: 640 CreateTime: 1764000000123 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] "
'payload: {"type":"REMOVE_FEATURE_LEVEL_RECORD","version":0,"data":{"name":"metadata.version"}}'), reads={"offset": "640", "version": "0", "feature": "metadata.version"}, since="3.0.0", until="3.2.3"),
    Rule("metadata_begin_transaction", DUMP, text=("| offset: <offset> <_:text><?partitionLeaderEpoch: <controller_epoch> <_:text>?>payload: "
'{"type":"BEGIN_TRANSACTION_RECORD","version":<version:int>,"data":<data:record>}'), sample=("| offset: 640 CreateTime: 1764000000123 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] "
'payload: {"type":"BEGIN_TRANSACTION_RECORD","version":0,"data":{"name":"Bootstrap records"}}'), reads={"offset": "640", "version": "0", "name": "Bootstrap records"}, since="3.6.0"),
    Rule("metadata_end_transaction", DUMP, text=("| offset: <offset> <_:text><?partitionLeaderEpoch: <controller_epoch> <_:text>?>payload: "
'{"type":"END_TRANSACTION_RECORD","version":<version:int>,"data":<data:record>}'), sample=("| offset: 640 CreateTime: 1764000000123 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] "
'payload: {"type":"END_TRANSACTION_RECORD","version":0,"data":{}}'), reads={"offset": "640", "version": "0"}, since="3.6.0"),
    Rule("metadata_abort_transaction", DUMP, text=("| offset: <offset> <_:text><?partitionLeaderEpoch: <controller_epoch> <_:text>?>payload: "
'{"type":"ABORT_TRANSACTION_RECORD","version":<version:int>,"data":<data:record>}'), sample=("| offset: 640 CreateTime: 1764000000123 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] "
'payload: {"type":"ABORT_TRANSACTION_RECORD","version":0,"data":{"reason":"Controller failover"}}'), reads={"offset": "640", "version": "0", "reason": "Controller failover"}, since="3.6.0"),
    Rule("metadata_producer_ids", DUMP, text=("| offset: <offset> <_:text><?partitionLeaderEpoch: <controller_epoch> <_:text>?>payload: "
'{"type":"PRODUCER_IDS_RECORD","version":<version:int>,"data":<data:broker_record>}'), sample=("| offset: 640 CreateTime: 1764000000123 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] "
"payload: "
'{"type":"PRODUCER_IDS_RECORD","version":0,"data":{"brokerId":4,"brokerEpoch":300,"nextProducerId":2000}}'), reads={"offset": "640", "version": "0", "broker_id": 4, "broker_epoch": "300", "next_producer_id": "2000"}, since="3.0.0"),
    Rule("metadata_zk_migration_state", DUMP, text=("| offset: <offset> <_:text><?partitionLeaderEpoch: <controller_epoch> <_:text>?>payload: "
'{"type":"ZK_MIGRATION_STATE_RECORD","version":<version:int>,"data":<data:record>}'), sample=("| offset: 640 CreateTime: 1764000000123 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] "
'payload: {"type":"ZK_MIGRATION_STATE_RECORD","version":0,"data":{"zkMigrationState":0}}'), reads={"offset": "640", "version": "0", "zk_migration_state": "0"}, since="3.4.0", until="3.9.2"),
    Rule("metadata_record", DUMP, text=("| offset: <offset> <_:text><?partitionLeaderEpoch: <controller_epoch> <_:text>?>payload: "
'{"type":"<record_type:other_record>","version":<version:int>,"data":<data:json>}'), sample=("| offset: 640 CreateTime: 1764000000123 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] "
"payload: "
'{"type":"CLIENT_QUOTA_RECORD","version":0,"data":{"entity":[{"entityType":"user","entityName":"ann"}'
'],"key":"producer_byte_rate","value":1048576.0}}'), reads={"offset": "640", "record_type": "CLIENT_QUOTA_RECORD", "version": "0", "data": '{"entity":[{"entityType":"user","entityName":"ann"}],"key":"producer_byte_rate","value":1048576.0}'}, since="2.8.0"),
    Rule("metadata_record_undecoded", DUMP, text=("| offset: <offset> <_:text><?partitionLeaderEpoch: <controller_epoch> <_:text>?>payload: Error "
"at <_:int>, skipping. <reason:rest>"), sample=("| offset: 640 CreateTime: 1764000000123 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] "
"payload: Error at 640, skipping. Unknown metadata id 99"), reads={"offset": "640", "reason": "Unknown metadata id 99"}, since="2.8.0"),
    Rule("metadata_leader_change", DUMP, text=("| offset: <offset> <_:text><?partitionLeaderEpoch: <controller_epoch> "
"<_:text>?>LeaderChange<?:?> <data:controller_record>"), sample=("| offset: 640 CreateTime: 1764000000123 keySize: 4 valueSize: 30 sequence: -1 headerKeys: [] "
"LeaderChange: "
'{"version":0,"leaderId":102,"voters":[{"voterId":101},{"voterId":102}],"grantingVoters":[{"voterId":'
'102},{"voterId":101}]}'), reads={"offset": "640", "controller_id": 102, "version": "0", "voters": "[101, 102]", "granting_voters": "[102, 101]"}, since="4.0.0"),
    Rule("metadata_control", DUMP, text=("| offset: <offset> <_:text><?partitionLeaderEpoch: <controller_epoch> <_:text>?>controlType: "
"<control_type:name>(<_:int>)"), sample=("| offset: 640 CreateTime: 1764000000123 keySize: 4 valueSize: 30 sequence: -1 headerKeys: [] "
"controlType: LEADER_CHANGE(2)"), reads={"offset": "640", "control_type": "LEADER_CHANGE"}, since="2.8.0"),
    Rule("metadata_control", DUMP, text=("| offset: <offset> <_:text><?partitionLeaderEpoch: <controller_epoch> <_:text>?>headerKeys: "
"[<_:text>] <control_type:control><?:?> <data:json>"), sample=("| offset: 640 CreateTime: 1764000000123 keySize: 4 valueSize: 30 sequence: -1 headerKeys: [] "
'SnapshotHeader {"version":0,"lastContainedLogTimestamp":1764000000100}'), reads={"offset": "640", "control_type": "SnapshotHeader", "data": '{"version":0,"lastContainedLogTimestamp":1764000000100}'}, since="3.1.0"),
    Rule("metadata_batch", DUMP, text=("baseOffset: <offset> lastOffset: <last_offset:int> count: <record_count:word> <_:text> "
"partitionLeaderEpoch: <controller_epoch> isTransactional: <_:word> isControl: <is_control:word> "
"<_:rest>"), sample=("baseOffset: 640 lastOffset: 644 count: 5 baseSequence: -1 lastSequence: -1 producerId: -1 "
"producerEpoch: -1 partitionLeaderEpoch: 8 isTransactional: false isControl: false "
"deleteHorizonMs: OptionalLong.empty position: 9300 CreateTime: 1764000000123 size: 274 magic: 2 "
"compresscodec: none crc: 68046943 isvalid: true"), reads={"offset": "640", "last_offset": "644", "record_count": "5", "controller_epoch": 8, "is_control": "false"}, since="2.8.0"),
)
