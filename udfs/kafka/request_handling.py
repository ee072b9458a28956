"""Whether a broker obeys a controller's request. ZooKeeper mode, after kafka.server.ReplicaManager.

`known` is the largest controller epoch the broker has seen. Leader epoch -1 in a request means "not given",
-2 "delete, whatever your epoch" (StopReplica, 2.6 on).
"""

from dataclasses import dataclass

from udfs.kafka.releases import Release

NO_EPOCH, EPOCH_DURING_DELETE = -1, -2


@dataclass(frozen=True)
class Answer:
    """What became of one partition of a request.

    `scope` is "request" if all of it was refused. `error` is "NONE" if it was applied, and null where the
    broker only ignores the partition: the code it then answers with differs between releases.
    """

    applied: bool
    error: str | None
    scope: str
    known_controller_epoch: int


def _refusal(
    release: Release, known: int, controller_epoch: int, own_broker_epoch: int | None, broker_epoch: int | None
) -> str | None:
    """The error that refuses a whole request, if any. An equal controller epoch is fine; broker epochs are 2.2 on, and
    looked at first (kafka.server.KafkaApis.isBrokerEpochStale)."""
    own, of_request = own_broker_epoch, broker_epoch
    if release >= Release(2, 2) and own is not None and of_request is not None and NO_EPOCH < of_request < own:
        return "STALE_BROKER_EPOCH"
    return "STALE_CONTROLLER_EPOCH" if controller_epoch < known else None


def leader_and_isr(
    release: Release,
    *,
    known_controller_epoch: int,
    request_controller_epoch: int,
    current_leader_epoch: int,
    request_leader_epoch: int,
    in_replicas: bool,
    own_broker_epoch: int | None = None,
    request_broker_epoch: int | None = None,
    directory_failed: bool = False,
    topic_id_matches: bool | None = True,
    from_migrating_kraft: bool = False,
) -> Answer:
    """One partition of a LeaderAndIsr request; the local leader epoch starts at -1.

    `topic_id_matches` None: the broker has no topic id yet, which from 3.0 lets an equal epoch through.
    `from_migrating_kraft`: sent by a KRaft controller while it migrates from ZooKeeper, likewise from 3.6.2 on
    (KAFKA-16180), if the broker is assigned.
    """
    known = known_controller_epoch
    refused = _refusal(release, known, request_controller_epoch, own_broker_epoch, request_broker_epoch)
    if refused:
        return Answer(False, refused, "request", known)
    known = request_controller_epoch
    if directory_failed and release >= Release(1):
        return Answer(False, "KAFKA_STORAGE_ERROR", "partition", known)
    if topic_id_matches is False and release >= Release(2, 8):
        return Answer(False, "INCONSISTENT_TOPIC_ID", "partition", known)
    if request_leader_epoch > current_leader_epoch:
        obeyed = in_replicas or release < Release(0, 8, 1)  # 0.8.0 did not look into the replica list
    else:
        takes_id = release >= Release(3) and topic_id_matches is None
        takes_again = from_migrating_kraft and in_replicas and release >= Release(3, 6, 2)
        obeyed = request_leader_epoch == current_leader_epoch and (takes_id or takes_again)
    return Answer(obeyed, "NONE" if obeyed else None, "partition", known)


def stop_replica(
    release: Release,
    *,
    known_controller_epoch: int,
    request_controller_epoch: int,
    current_leader_epoch: int,
    request_leader_epoch: int | None,
    own_broker_epoch: int | None = None,
    request_broker_epoch: int | None = None,
    directory_failed: bool = False,
    deletes: bool = True,
) -> Answer:
    """One partition of a StopReplica request; before 2.6 it has no leader epoch (None).

    2.6-3.4.0 refuses an equal epoch, which left stray replicas behind (KAFKA-13972, fixed in 3.4.1 and 3.5.0). In a
    failed log directory no replica is deleted from 1.0 on, and from 2.6 on none is stopped either, whatever the epoch.
    """
    known = known_controller_epoch
    refused = _refusal(release, known, request_controller_epoch, own_broker_epoch, request_broker_epoch)
    if refused:
        return Answer(False, refused, "request", known)
    known = request_controller_epoch
    if directory_failed and release >= (Release(1) if deletes else Release(2, 6)):
        return Answer(False, "KAFKA_STORAGE_ERROR", "partition", known)
    if release < Release(2, 6) or request_leader_epoch in (None, NO_EPOCH, EPOCH_DURING_DELETE):
        return Answer(True, "NONE", "partition", known)
    assert request_leader_epoch is not None
    lowest = current_leader_epoch + (0 if release >= Release(3, 4, 1) else 1)
    if request_leader_epoch >= lowest:
        return Answer(True, "NONE", "partition", known)
    return Answer(False, "FENCED_LEADER_EPOCH", "partition", known)


def update_metadata(
    release: Release,
    *,
    known_controller_epoch: int,
    request_controller_epoch: int,
    own_broker_epoch: int | None = None,
    request_broker_epoch: int | None = None,
) -> Answer:
    """An UpdateMetadata request; it never changes the leader epoch of a hosted replica."""
    known = known_controller_epoch
    refused = _refusal(release, known, request_controller_epoch, own_broker_epoch, request_broker_epoch)
    if refused:
        return Answer(False, refused, "request", known)
    return Answer(True, "NONE", "request", request_controller_epoch)
