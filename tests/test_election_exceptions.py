"""Why elections could not be stored, by the exceptions of ZooKeeper controllers, as their releases print them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.findings.election_exceptions import to_refusals
from schemas.ingest import EVENTS

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

# `/` is the end of a line
FAILED = """
topic   | partition | at       | event_type                    | fields                    | detail
expired | 0         | 10:00:00 | partition_state_change_failed | to_state=OnlinePartition  | org.apache.zookeeper.KeeperException$SessionExpiredException: KeeperErrorCode = Session expired for brokers
waited  | 0         | 10:00:00 | partition_state_change_failed | to_state=OnlinePartition  | kafka.zookeeper.ZooKeeperClientExpiredException: Session expired either before or while waiting/	at kafka.zookeeper.ZooKeeperClient
bare    | 0         | 10:00:00 | partition_state_change_failed | to_state=OnlinePartition  | java.lang.InterruptedException
nobody  | 0         | 10:00:00 | partition_state_change_failed | to_state=OnlinePartition  | kafka.common.StateChangeFailedException: Failed to elect leader for partition a-0 under strategy Offline/	at kafka.controller.X
offline | 0         | 10:00:00 | partition_state_change_failed | to_state=OnlinePartition  | kafka.common.NoReplicaOnlineException: No replica for partition [a,0] is alive.
due     | 0         | 10:00:00 | partition_state_change_failed | to_state=OnlinePartition  | kafka.common.StateChangeFailedException: encountered error due to: KeeperErrorCode = ConnectionLoss./	at x/Caused by: org.apache.X: no
caused  | 0         | 10:00:00 | partition_state_change_failed | to_state=OnlinePartition  | kafka.common.StateChangeFailedException: encountered error due to: null./	at x/Caused by: org.I0Itec.zkclient.exception.ZkInterruptedException: java.lang.InterruptedException/	at y
inner   | 0         | 10:00:00 | partition_state_change_failed | to_state=OnlinePartition  | kafka.common.StateChangeFailedException: encountered error due to: none alive./Caused by: kafka.common.NoReplicaOnlineException: none alive
other   | 0         | 10:00:00 | partition_state_change_failed | to_state=OfflinePartition | java.lang.InterruptedException
fenced  | 0         | 10:00:00 | partition_state_change_failed | to_state=OnlinePartition  | kafka.common.StateChangeFailedException: aborted since the LeaderAndIsr path was already written by another controller.
"""
REFUSALS = """
topic   | refusal
expired | ZooKeeper answered Session expired
waited  | it ended with ZooKeeperClientExpiredException
bare    | it ended with InterruptedException
due     | ZooKeeper answered ConnectionLoss
caused  | it ended with ZkInterruptedException
fenced  | another controller has taken over
"""


def test_why_an_election_could_not_be_stored(frame: Frame, same: Same) -> None:
    """Exceptions by which an algorithm says that it elects nobody are its answer: they refuse nothing."""
    events = frame(EVENTS, FAILED).withColumn("detail", F.translate("detail", "/", "\n"))
    same(to_refusals(events), REFUSALS)
