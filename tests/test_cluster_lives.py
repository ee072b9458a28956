"""Clusters that were created anew under their name: two histories, told apart by the lines of single nodes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.cluster_lives import collect_life_starts
from jobs.timelines.controllers import to_controller_timeline
from jobs.timelines.topics import to_topic_timeline
from schemas.ingest import EVENTS
from tests.conftest import instant

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

LINES = """
cluster | node_id | at | event_type | controller_id | controller_epoch | topic | partition | fields
# one node's own elections begin again; what was there before is gone
anew | 0 | 10:00:00 | controller_epoch_incremented | 0 | 1 | | |
anew | 0 | 10:01:00 | partition_state_change | 0 | 1 | old | 0 |
anew | 0 | 10:10:00 | controller_epoch_incremented | 0 | 2 | | |
anew | 0 | 10:12:00 | partition_state_change | 0 | 2 | both | 0 |
anew | 0 | 10:20:00 | controller_epoch_incremented | 0 | 1 | | |
# also requests that do not prove that a topic exists are about the new one
anew | 0 | 10:20:30 | update_metadata_request_sent | 0 | 1 | both | 0 |
anew | 0 | 10:20:40 | update_metadata_request_sent | 0 | 1 | old | 0 |
anew | 0 | 10:21:00 | partition_state_change | 0 | 1 | both | 0 |
anew | 0 | 10:22:00 | partition_state_change | 0 | 1 | new | 0 |
# the same life: epochs that other nodes had reached, clocks apart, and a line of one election in two files
same | 0 | 10:00:00 | controller_epoch_incremented | 0 | 1 | | |
same | 0 | 10:00:00 | controller_elected | 0 | 1 | | |
same | 1 | 09:59:00 | controller_epoch_incremented | 1 | 2 | | |
same | 0 | 10:30:00 | controller_epoch_incremented | 0 | 3 | | |
# another id on both nodes is one new life
ids | 0 | 10:00:00 | cluster_id_logged | | | | | cluster_id=A
ids | 1 | 10:00:01 | cluster_id_logged | | | | | cluster_id=A
ids | 1 | 12:00:00 | cluster_id_logged | | | | | cluster_id=B
ids | 0 | 12:00:05 | cluster_id_logged | | | | | cluster_id=B
# each start finds another one, of which nothing but its id and one election is logged
often | 0 | 10:00:00 | cluster_id_logged | | | | | cluster_id=A
often | 0 | 12:00:00 | cluster_id_logged | | | | | cluster_id=B
often | 0 | 14:00:00 | cluster_id_logged | | | | | cluster_id=C
elected | 0 | 10:00:00 | controller_elected | 0 | 1 | | |
elected | 0 | 12:00:00 | controller_elected | 0 | 1 | | |
elected | 0 | 14:00:00 | controller_elected | 0 | 1 | | |
# one that comes back is that of a restored copy; ids that take turns are those of two clusters
restored | 0 | 10:00:00 | cluster_id_logged | | | | | cluster_id=A
restored | 0 | 12:00:00 | cluster_id_logged | | | | | cluster_id=B
restored | 0 | 14:00:00 | cluster_id_logged | | | | | cluster_id=A
mixed | 0 | 10:00:00 | cluster_id_logged | | | | | cluster_id=A
mixed | 0 | 10:00:01 | controller_epoch_incremented | 0 | 1 | | |
mixed | 0 | 12:00:00 | cluster_id_logged | | | | | cluster_id=B
mixed | 0 | 14:00:00 | cluster_id_logged | | | | | cluster_id=A
mixed | 0 | 16:00:00 | cluster_id_logged | | | | | cluster_id=B
# after a silence brokers obey a controller with a smaller epoch
fell | 1 | 10:00:00 | leader_and_isr_request_received | 0 | 58 | | |
fell | 1 | 14:00:00 | leader_and_isr_request_received | 0 | 29 | | |
fell | 1 | 16:30:00 | leader_and_isr_request_received | 0 | 30 | | |
# ZooKeeper's data is gone: a broker's registration is an earlier transaction than the one before
wiped | 0 | 10:00:00 | controller_context_broker_epochs | | | | | broker_epochs=Map(0 -> 104, 1 -> 130)
wiped | 0 | 14:00:00 | broker_registered_in_zk | | | | | broker=0; broker_epoch=24
wiped | 1 | 14:00:03 | broker_registered_in_zk | | | | | broker=1; broker_epoch=43
# within a silence it would be a fault
fault | 0 | 10:00:00 | broker_registered_in_zk | | | | | broker=0; broker_epoch=104
fault | 0 | 10:20:00 | broker_registered_in_zk | | | | | broker=0; broker_epoch=24
# a controller that was replaced goes on after an hour, and the newer one, too; a broker refuses the older one
zombie | 1 | 10:00:00 | leader_and_isr_request_received | 0 | 7 | | |
zombie | 1 | 12:10:00 | leader_and_isr_request_received | 2 | 6 | | |
zombie | 1 | 14:00:00 | leader_and_isr_request_received | 0 | 7 | | |
zombie | 1 | 16:00:00 | leader_and_isr_stale_controller_epoch | 2 | 6 | | |
# a broker that migrates is silent for hours, and then obeys a controller of KRaft, which counts its own epochs
moved | 1 | 10:00:00 | leader_and_isr_request_received | 0 | 9 | | |
moved | 100 | 13:59:00 | kraft_controller_active | 100 | 2 | | |
moved | 1 | 14:00:00 | leader_and_isr_request_received | 100 | 2 | | |
# 100 led epoch 2, and claims it once more as it starts, with a longer log; formatted anew it begins with a short one
again | 100 | 10:00:00 | kraft_controller_elected | 100 | 2 | | | next_write_offset=1
again | 102 | 10:02:00 | kraft_controller_elected | 102 | 4 | | | next_write_offset=518
again | 100 | 10:04:00 | kraft_controller_elected | 100 | 2 | | | next_write_offset=517
older | 100 | 10:00:00 | kraft_controller_elected | 100 | 2 | | | committed_offset=-1
older | 100 | 10:04:00 | kraft_controller_elected | 100 | 2 | | | committed_offset=516
other | 100 | 10:00:00 | kraft_controller_elected | 100 | 2 | | | next_write_offset=518
other | 100 | 10:04:00 | kraft_controller_elected | 100 | 2 | | | next_write_offset=1
# the storage of a KRaft node is formatted anew
formatted | 1 | 10:00:00 | kraft_controller_created | 1 | | | | cluster_id=A
formatted | 1 | 10:00:01 | kraft_controller_elected | 1 | 1 | | |
formatted | 1 | 10:00:02 | broker_incarnation_starting | | | | | cluster_id=A
formatted | 1 | 10:20:01 | kraft_controller_elected | 1 | 2 | | |
formatted | 1 | 10:40:00 | kraft_controller_created | 1 | | | | cluster_id=B
formatted | 1 | 10:40:01 | kraft_controller_elected | 1 | 1 | | |
formatted | 1 | 10:40:02 | broker_incarnation_starting | | | | | cluster_id=B
# with other node ids: sure only after more hours than time zones are apart
renumbered | 1 | 2026-11-01 10:00:00 | kraft_controller_elected | 1 | 5 | | |
renumbered | 2 | 2026-11-02 10:00:00 | kraft_controller_elected | 2 | 4 | | |
renumbered | 3 | 2026-11-04 10:00:00 | kraft_controller_elected | 3 | 1 | | |
renumbered | 3 | 2026-11-04 10:00:02 | broker_incarnation_starting | | | | | cluster_id=B
"""


def micros(text: str) -> int:
    return (instant(text) - datetime(1970, 1, 1)) // timedelta(microseconds=1)


def test_two_lives_of_a_cluster_are_two_histories(frame: Frame, same: Same) -> None:
    events = frame(EVENTS, LINES).withColumn("file_id", F.concat(F.lit("f"), "node_id"))  # each node its own
    life_starts = collect_life_starts(events)
    assert life_starts == {
        "anew": [micros("10:20:00")],
        "elected": [micros("12:00:00"), micros("14:00:00")],
        "fell": [micros("14:00:00")],
        "formatted": [micros("10:40:00")],
        "ids": [micros("12:00:00")],
        "mixed": [],
        "renumbered": [micros("2026-11-04 10:00:00")],
        "often": [micros("12:00:00"), micros("14:00:00")],
        "other": [micros("10:04:00")],
        "restored": [micros("12:00:00"), micros("14:00:00")],
        "wiped": [micros("14:00:00")],
    }
    same(
        to_controller_timeline(events, life_starts).where("cluster IN ('anew', 'mixed', 'same')"),
        """
        cluster | cluster_incarnation | controller_id | controller_epoch | since    | until    | ended_by | overlap_ms
        anew    | 0                   | 0             | 1                | 10:00:00 | 10:10:00 | replaced | 0
        anew    | 0                   | 0             | 2                | 10:10:00 | 10:20:00 | replaced | 0
        anew    | 1                   | 0             | 1                | 10:20:00 |          |          | 0
        mixed   | -1                  | 0             | 1                | 10:00:01 |          |          | 0
        same    | 0                   | 0             | 1                | 09:59:00 | 09:59:00 | replaced | 0
        same    | 0                   | 1             | 2                | 09:59:00 | 10:30:00 | replaced | 0
        same    | 0                   | 0             | 3                | 10:30:00 |          |          | 0
        """,
    )
    same(
        to_topic_timeline(events, life_starts),
        """
        cluster | topic | incarnation | since    | until
        anew    | old   | 0           | 10:01:00 | 10:20:00
        anew    | both  | 0           | 10:12:00 | 10:20:00
        anew    | both  | 1           | 10:20:30 |
        anew    | old   | 1           | 10:20:40 |
        anew    | new   | 0           | 10:22:00 |
        """,
    )


SHARED = """
cluster | file_id | node_id | at | event_type | controller_id | controller_epoch | fields
# brokers that one folder starts write its files together, so that one clock has timed them all
one     | c       | 0       | 10:00:00 | controller_elected | 0 | 1 |
one     | c       | 1       | 10:10:00 | controller_elected | 1 | 2 |
one     | c       | 1       | 10:20:00 | controller_elected | 1 | 3 |
# another broker wins the first election of the new cluster: the epoch falls, or one has it that had it before
one     | c       | 0       | 10:30:00 | controller_elected | 0 | 1 |
one     | c       | 1       | 10:40:00 | controller_elected | 1 | 1 |
# so it does in their next file, of which one alone wrote all
one     | d       | 0       | 11:10:00 | controller_elected | 0 | 1 |
# lines with the cluster's id do not say whose they are; others of the file do
ids     | s       | 0       | 10:00:01 | broker_started     |   |   |
ids     | s       |         | 10:00:00 | cluster_id_logged  |   |   | cluster_id=A
ids     | t       |         | 11:00:00 | cluster_id_logged  |   |   | cluster_id=B
ids     | t       | 1       | 11:00:01 | broker_started     |   |   |
ids     | t       | 0       | 11:00:31 | broker_started     |   |   |
# another broker of theirs logs the new one
named   | s       | 0       | 10:00:00 | cluster_id_logged  |   |   | cluster_id=A
named   | s       | 1       | 10:00:01 | broker_started     |   |   |
named   | t       | 1       | 11:00:00 | cluster_id_logged  |   |   | cluster_id=B
# where each has files of its own, their clocks may be hours apart
apart   | x       | 0       | 10:30:00 | controller_elected | 0 | 2 |
apart   | y       | 1       | 11:30:00 | controller_elected | 1 | 1 |
# two lines about one election, and a controller that reports a minute late
late    | c       | 0       | 10:00:00 | controller_elected | 0 | 4 |
late    | c       | 1       | 10:00:50 | controller_elected | 1 | 4 |
# a controller of KRaft claims its epoch once more as it starts
again   | c       | 100     | 10:00:00 | kraft_controller_elected | 100 | 2 | next_write_offset=1
again   | c       | 102     | 10:02:00 | kraft_controller_elected | 102 | 4 | next_write_offset=518
again   | c       | 100     | 10:04:00 | kraft_controller_elected | 100 | 2 | next_write_offset=517
"""


def test_nodes_that_write_files_together_have_one_clock(frame: Frame) -> None:
    assert collect_life_starts(frame(EVENTS, SHARED)) == {
        "one": [micros("10:30:00"), micros("10:40:00"), micros("11:10:00")],
        "ids": [micros("11:00:00")],
        "named": [micros("11:00:00")],
    }


LISTED = """
cluster | node_id | at       | event_type                  | controller_id | controller_epoch
c       | 0       | 10:00:00 | controller_elected          | 0             | 1
c       | 0       | 10:01:00 | partition_creation_callback | 0             |
c       | 0       | 10:20:00 | controller_elected          | 0             | 1
"""


def test_topics_that_only_lists_name_end_with_their_life(frame: Frame, same: Same) -> None:
    """Where `state-change.log` is missing, a controller names `t` in its list of new partitions alone."""
    listed = F.from_json(F.lit('[{"topic": "t", "partition": 0}]'), EVENTS.schema["partitions"].dataType.simpleString())
    is_list = F.col("event_type") == "partition_creation_callback"
    events = frame(EVENTS, LISTED).withColumn("partitions", F.when(is_list, listed))
    same(
        to_topic_timeline(events, collect_life_starts(events)),
        """
        topic | incarnation | since    | until
        t     | 0           | 10:01:00 | 10:20:00
        """,
    )


FORMATTED = """
cluster | node_id | at       | event_type               | controller_id | controller_epoch | topic | topic_id
c       | 1       | 10:00:00 | kraft_controller_elected | 1             | 1                |       |
c       | 1       | 10:01:00 | kraft_topic_created      |               |                  | a     | A1
c       | 1       | 10:01:00 | kraft_topic_created      |               |                  | b     | B1
c       | 1       | 10:20:00 | kraft_controller_elected | 1             | 1                |       |
c       | 1       | 10:21:00 | kraft_topic_created      |               |                  | a     | A2
"""


def test_topics_with_ids_end_with_their_life(frame: Frame, same: Same) -> None:
    events = frame(EVENTS, FORMATTED)
    same(
        to_topic_timeline(events, collect_life_starts(events)),
        """
        topic | incarnation | topic_id | since    | deletion_started | until
        a     | 0           | A1       | 10:01:00 |                  | 10:20:00
        a     | 1           | A2       | 10:21:00 |                  |
        b     | 0           | B1       | 10:01:00 |                  | 10:20:00
        """,
    )
