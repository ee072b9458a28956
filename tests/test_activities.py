"""What a ZooKeeper controller was doing and whom it believed alive, line by line."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.findings.activities import CONTEXT_EVENTS, with_activity
from jobs.timelines.known_spans import CONTROLLER_LOGS, to_known_spans
from schemas.ingest import EVENTS, LOG_COVERAGE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tests.conftest import Frame, Same

# One controller, two files: `c` is controller.log, `s` state-change.log. `message` names the line.
LOGGED = """
node_id | file_id | at          | logger              | event_type                      | controller_epoch | fields                                      | message
0       | c       | 10:00:00    | kafka.controller    | controller_elected              | 1                |                                             | elected
0       | c       | 10:00:00.1  | kafka.controller    | controller_context_live_brokers |                  | live_brokers=Set(2, 1)                      | sees 1, 2
0       | s       | 10:00:01    | state.change.logger | partition_state_change          | 1                |                                             | first
# at one time in two files: the activity goes first, though its file's name does not
0       | c       | 10:01:00    | kafka.controller    | broker_set_changed              |                  | live_brokers=1,2,3; added_brokers=3         | sees 3
0       | c       | 10:01:00    | kafka.controller    | broker_startup                  |                  | brokers=3                                   | 3 starts
0       | a       | 10:01:00    | state.change.logger | partition_state_change          | 1                |                                             | for 3
0       | c       | 10:02:00    | kafka.controller    | replica_election_started        |                  | election_type=PREFERRED; trigger=AutoTriggered | preferred
0       | c       | 10:03:00    | kafka.controller    | replica_election_started        |                  | election_type=UNCLEAN; trigger=ZkTriggered  | unclean
0       | c       | 10:03:30    | kafka.controller    | replica_election_started        |                  | election_type=PREFERRED                     | before 2.4
# its lines do not say what set it off
0       | c       | 10:03:45    | kafka.controller    | preferred_election_started      |                  |                                             | until 2.3
# two brokers shut down; one of them has gone
0       | c       | 10:04:00    | kafka.controller    | controlled_shutdown_started     |                  | broker=2                                    | 2 leaves
0       | c       | 10:04:00    | kafka.controller    | controlled_shutdown_shutting_down_brokers |        | shutting_down_brokers=2,3                   | 2, 3 leave
0       | c       | 10:05:00    | kafka.controller    | broker_removed_from_shutting_down |                | brokers=2                                   | 2 left
0       | c       | 10:06:00    | kafka.controller    | controlled_shutdown_shutting_down_brokers |        | shutting_down_brokers=2                     | 2 leaves again
# another controller knows nothing of this; a broker's own line belongs to no controller
1       | c1      | 10:05:30    | kafka.controller    | broker_failure                  |                  | brokers=2                                   | other
1       | s1      | 10:05:31    | state.change.logger | metadata_cache_updated          |                  |                                             | a broker
# hours later: what was known before the hole in its log is not known any more
0       | s       | 15:00:00.2  | state.change.logger | partition_state_change          | 1                |                                             | after a hole
0       | c       | 15:00:01    | kafka.controller    | broker_set_changed              |                  | live_brokers=3; deleted_brokers=1           | sees 3 only
0       | s       | 15:00:02    | state.change.logger | partition_state_change          | 1                |                                             | then
# at INFO no list is logged: who began to shut down does so until it is gone
0       | c       | 15:00:03    | kafka.controller    | controlled_shutdown_started     |                  | broker=3                                    | 3 leaves
0       | s       | 15:00:03    | state.change.logger | partition_state_change          | 1                |                                             | for 3, too
0       | c       | 15:00:04    | kafka.controller    | broker_removed_from_shutting_down |                | brokers=3                                   | 3 left
# 3 bounces: it is listed as alive, fails, and starts
0       | c       | 15:00:05    | kafka.controller    | broker_set_changed              |                  | live_brokers=1,3; added_brokers=1; bounced_brokers=3 | 3 bounces
0       | c       | 15:00:06    | kafka.controller    | broker_failure                  |                  | brokers=3                                   | 3 fails
0       | s       | 15:00:06    | state.change.logger | partition_state_change          | 1                |                                             | without 3
0       | c       | 15:00:07    | kafka.controller    | broker_startup                  |                  | brokers=3                                   | 3 is back
# 4 came between two lists, in a line that is lost: who was alive since the first is not known
0       | c       | 15:00:07.5  | kafka.controller    | broker_set_changed              |                  | live_brokers=1,3,5; added_brokers=5         | 5 comes
0       | s       | 15:00:07.6  | state.change.logger | partition_state_change          | 1                |                                             | with 4?
0       | c       | 15:00:07.8  | kafka.controller    | broker_set_changed              |                  | live_brokers=1,3,4; deleted_brokers=5       | 5 goes
# another controller reigned meanwhile: whom this one believed alive before is not known to be
0       | c       | 15:00:08    | kafka.controller    | controlled_shutdown_started     |                  | broker=1                                    | 1 leaves
0       | c       | 15:00:50    | kafka.controller    | controller_epoch_incremented    | 3                |                                             | elected anew
0       | s       | 15:00:51    | state.change.logger | partition_state_change          | 3                |                                             | who is alive?
"""
COVERAGE = """
node_id | kind         | since      | until
0       | controller   | 10:00:00   | 10:06:00
0       | controller   | 15:00:00.3 | 15:00:01
1       | controller   | 10:05:30   | 16:00:00
0       | state_change | 10:00:00   | 16:00:00
"""
KNOWN = """
message        | strategy            | trigger             | alive | shutting_down
elected        | offline             | controller_failover |       | []
sees 1, 2      | offline             | controller_failover | 1,2   | []
first          | offline             | controller_failover | 1,2   | []
sees 3         | offline             | controller_failover | 1,2,3 | []
3 starts       | offline             | broker_startup      | 1,2,3 | []
for 3          | offline             | broker_startup      | 1,2,3 | []
preferred      | preferred           | auto                | 1,2,3 | []
unclean        | offline             | zk                  | 1,2,3 | []
before 2.4     | preferred           | admin               | 1,2,3 | []
until 2.3      | preferred           |                     | 1,2,3 | []
2 leaves       | controlled_shutdown | controlled_shutdown | 1,2,3 | 2
2, 3 leave     | controlled_shutdown | controlled_shutdown | 1,2,3 | 2,3
2 left         | controlled_shutdown | controlled_shutdown | 1,2,3 | 3
2 leaves again | controlled_shutdown | controlled_shutdown | 1,2,3 | 2
other          | offline             | broker_failure      |       | []
after a hole   |                     |                     |       | []
sees 3 only    |                     |                     | 3     | []
then           |                     |                     | 3     | []
3 leaves       | controlled_shutdown | controlled_shutdown | 3     | 3
for 3, too     | controlled_shutdown | controlled_shutdown | 3     | 3
3 left         | controlled_shutdown | controlled_shutdown | 3     | []
3 bounces      | controlled_shutdown | controlled_shutdown | 1,3   | []
3 fails        | offline             | broker_failure      | 1     | []
without 3      | offline             | broker_failure      | 1     | []
3 is back      | offline             | broker_startup      | 1,3   | []
5 comes        | offline             | broker_startup      |       | []
with 4?        | offline             | broker_startup      |       | []
5 goes         | offline             | broker_startup      | 1,3,4 | []
1 leaves       | controlled_shutdown | controlled_shutdown | 1,3,4 | 1
elected anew   | offline             | controller_failover |       | []
who is alive?  | offline             | controller_failover |       | []
"""


def spans(frame: Frame) -> DataFrame:
    return to_known_spans(frame(LOG_COVERAGE, COVERAGE), CONTROLLER_LOGS, timedelta(hours=1), "cluster", "node_id")


def test_activities(frame: Frame, same: Same) -> None:
    same(with_activity(frame(EVENTS, LOGGED), [*CONTEXT_EVENTS, "partition_state_change"], spans(frame)), KNOWN)


def test_only_lines_asked_for_but_all_that_they_go_by(frame: Frame, same: Same) -> None:
    same(
        with_activity(frame(EVENTS, LOGGED), ["partition_state_change"], spans(frame)),
        """
        message | strategy | trigger             | alive | shutting_down
        first   | offline  | controller_failover | 1,2   | []
        for 3   | offline  | broker_startup      | 1,2,3 | []
        after a hole |     |                     |       | []
        then    |          |                     | 3     | []
        for 3, too | controlled_shutdown | controlled_shutdown | 3 | 3
        without 3  | offline | broker_failure   | 1     | []
        with 4?    | offline | broker_startup   |       | []
        who is alive? | offline | controller_failover |  | []
        """,
    )


# what each line is about: the preferred election of orders-1 does not move payments-0; broker 2 starts, and 3 is dead,
# so that neither shuts down any more; and 2 was not alive as it was listed, for it comes
LOSSY = """
node_id | file_id | at       | logger              | event_type                      | controller_epoch | topic    | partition | fields                              | message
0       | c       | 10:00:00 | kafka.controller    | controller_elected              | 1                |          |           |                                     | elected
0       | c       | 10:00:01 | kafka.controller    | controller_context_live_brokers |                  |          |           | live_brokers=1,2,3                  | lists 2
0       | s       | 10:00:02 | state.change.logger | partition_state_change          | 1                | orders   | 1         |                                     | with 2?
0       | c       | 10:00:03 | kafka.controller    | controlled_shutdown_shutting_down_brokers |        |          |           | shutting_down_brokers=2,3           | 2, 3 leave
0       | c       | 10:00:04 | kafka.controller    | broker_set_changed              |                  |          |           | live_brokers=1,2,3; added_brokers=2 | 2 comes
0       | c       | 10:00:04 | kafka.controller    | broker_startup                  |                  |          |           | brokers=2                           | 2 starts
0       | c       | 10:00:05 | kafka.controller    | broker_failure                  |                  |          |           | brokers=3                           | 3 is dead
0       | c       | 10:00:06 | kafka.controller    | replica_election_started        |                  |          |           | election_type=PREFERRED; trigger=AutoTriggered | preferred
0       | s       | 10:00:07 | state.change.logger | partition_state_change          | 1                | orders   | 1         |                                     | its own
0       | s       | 10:00:08 | state.change.logger | partition_state_change          | 1                | payments | 0         |                                     | another
"""


def test_what_lines_that_are_lost_must_have_said(frame: Frame, same: Same) -> None:
    orders_1 = F.from_json(
        F.lit('[{"topic": "orders", "partition": 1}]'), EVENTS.schema["partitions"].dataType.simpleString()
    )
    is_election = F.col("event_type") == "replica_election_started"
    events = frame(EVENTS, LOSSY).withColumn("partitions", F.when(is_election, orders_1))
    same(
        with_activity(events, [*CONTEXT_EVENTS, "partition_state_change"], spans(frame)),
        """
        message    | strategy            | trigger             | alive | shutting_down
        elected    | offline             | controller_failover |       | []
        lists 2    | offline             | controller_failover |       | []
        with 2?    | offline             | controller_failover |       | []
        2, 3 leave | offline             | controller_failover |       | 2,3
        2 comes    | offline             | controller_failover | 1,2,3 | 2,3
        2 starts   | offline             | broker_startup      | 1,2,3 | 3
        3 is dead  | offline             | broker_failure      | 1,2   | []
        preferred  | preferred           | auto                | 1,2,3 | []
        its own    | preferred           | auto                | 1,2,3 | []
        another    |                     |                     | 1,2,3 | []
        """,
    )
