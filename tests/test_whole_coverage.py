"""When nothing is missing that a broker logs: its log is there, or it had ended and the controller knew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.cluster_facts import ClusterFacts, EvidenceKinds, to_whole_coverage
from schemas.ingest import EVENTS, LOG_COVERAGE

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

LINES = """
cluster | at       | node_id | event_type         | fields
# 2 ends with its log at 10:01, and is gone for the controller 20 s later; it never comes back
ended   | 10:00:00 | 1       | server_started     |
ended   | 10:00:00 | 2       | server_started     |
ended   | 10:01:20 | 1       | broker_set_changed | added_brokers=; deleted_brokers=2; bounced_brokers=; live_brokers=1
# its log ends long before the controller loses it: the rest of it is missing
missing | 10:00:00 | 2       | server_started     |
missing | 10:05:00 | 1       | broker_set_changed | added_brokers=; deleted_brokers=2; bounced_brokers=; live_brokers=1
# it is back at 10:02, and its log is not
back    | 10:00:00 | 2       | server_started     |
back    | 10:01:01 | 1       | broker_set_changed | added_brokers=; deleted_brokers=2; bounced_brokers=; live_brokers=1
back    | 10:02:00 | 1       | broker_set_changed | added_brokers=2; deleted_brokers=; live_brokers=1,2
"""
LOGS = """
cluster | node_id | kind       | since    | until    | records
ended   | 1       | server     | 10:00:00 | 10:09:00 | 9
ended   | 1       | controller | 10:00:00 | 10:08:00 | 9
ended   | 2       | server     | 10:00:00 | 10:01:00 | 9
missing | 1       | controller | 10:00:00 | 10:08:00 | 9
missing | 2       | server     | 10:00:00 | 10:01:00 | 9
back    | 1       | controller | 10:00:00 | 10:08:00 | 9
back    | 2       | server     | 10:00:00 | 10:01:00 | 9
"""
SPANS = """
cluster | leader | valid_since | covered_since | covered_until
ended   | 1      | 10:00:00    | 10:00:00      | 10:09:00
ended   | 2      | 10:00:00    | 10:00:00      | 10:01:00
ended   | 2      | 10:01:20    | 10:00:00      | 10:08:00
missing | 2      | 10:00:00    | 10:00:00      | 10:01:00
back    | 2      | 10:00:00    | 10:00:00      | 10:01:00
back    | 2      | 10:01:01    | 10:00:00      | 10:02:00
"""


def test_a_broker_that_the_controller_takes_for_gone_logs_nothing(frame: Frame, same: Same) -> None:
    events = frame(EVENTS, LINES).withColumns({"logger": F.lit("kafka.server.KafkaServer"), "level": F.lit("INFO")})
    facts = ClusterFacts(events, frame(LOG_COVERAGE, LOGS), EvidenceKinds())
    same(to_whole_coverage(facts), SPANS)
