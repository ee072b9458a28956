"""Which events show a committed state of a partition with its partition epoch, the counter that orders these states."""

from __future__ import annotations

FULL_STATE_EVENTS = (  # messages that print leader, leader epoch, partition epoch and ISR of a state that was committed
    "partition_state_change",
    "leader_and_isr_request_sent",
    "update_metadata_request_sent",
    "leader_and_isr_request_received",
    "metadata_cache_updated",
    "replica_removed_from_isr",
    "reassignment_leader_and_isr_sent",
    "alter_isr_updated",
    "become_leader_skipped_already_leader",
    "become_follower_skipped_same_leader",
    "become_leader_skipped_newer_partition_epoch",
    "become_follower_skipped_newer_partition_epoch",
    "kraft_partition_created",
    "kraft_partition_record_replayed",
    "partition_follower_epoch_started",  # all but the ISR
)
LISTED_STATE_EVENTS = (  # messages of ZooKeeper controllers that list such states, some without partition epoch
    "controller_all_leaders",
    "partition_leader_cache_after_election",
    "controller_request_retry",
    "controller_request_dropped_broker_offline",
)
LEADER_STATE_EVENTS = ("isr_updated", "partition_leader_epoch_started")  # the writer is the leader
STATE_CHANGE_EVENTS = (
    "kraft_partition_changed",
    "kraft_partition_changed_unclean",
)  # `isr: [1] -> [2], leader: 1 -> 2, ...`
