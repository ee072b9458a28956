"""Which lines are signs of how a node went, from lines written by hand; what follows is in test_incidents.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.findings.node_stops import first_line_of, to_node_stops
from jobs.timelines.controllers import without_deposed
from schemas.ingest import EVENTS
from schemas.timelines import BROKER_TIMELINE, CONTROLLER_TIMELINE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.conftest import Frame, Same

LINES = r"""
node_id | at | event_type | fields | message | detail
# a disk fails it; 1.0 and later go on without one, and say which
1 | 10:00:00 | broker_starting |  |  |
1 | 10:05:00 | high_watermark_checkpoint_failed |  | [Replica Manager on Broker 1]: Error writing to highwatermark file: | java.io.IOException: /a (gone)
1 | 10:06:00 | broker_starting |  |  |
2 | 10:00:00 | broker_starting |  |  |
2 | 10:05:00 | high_watermark_checkpoint_failed | dir=/a |  | java.io.IOException: /a (gone)
# it cannot start: its server says so first, then all of it
3 | 10:00:00 | broker_starting |  |  |
3 | 10:00:01 | broker_started |  |  |
3 | 10:05:00 | broker_starting |  |  |
3 | 10:05:01 | server_start_failed | server=KafkaServer |  | java.io.IOException: full
3 | 10:05:02 | process_exiting |  | Exiting Kafka due to fatal exception during startup. |
7 | 10:00:00 | broker_starting |  |  |
7 | 10:00:01 | broker_started |  |  |
7 | 10:05:00 | process_exiting |  | Exiting Kafka due to fatal exception during startup. | java.io.IOException: full
# an error of its own ends it
4 | 10:00:00 | broker_starting |  |  |
4 | 10:05:00 | process_exiting |  | Exiting Kafka due to fatal exception |
# broker 5 asked the controller that reigns, broker 6 one that was frozen, and knows of no successor
5 | 10:00:00 | broker_starting |  |  |
6 | 10:00:00 | broker_starting |  |  |
9 | 10:05:00 | controlled_shutdown_started | broker=5 |  |
8 | 10:05:00 | controlled_shutdown_started | broker=6 |  |
"""
REIGNS = """
controller_id | since    | until
8             | 09:00:00 | 10:04:00
9             | 10:04:00 |
"""
STOPS = """
node_id | how            | since    | started_at | failed_starts | failed_start              | error
1       | log_dir_failed | 10:05:00 | 10:06:00   | 0             |                           | Error writing to highwatermark file: java.io.IOException: /a (gone)
3       | crashed        | 10:05:00 | 10:05:00   | 1             | java.io.IOException: full |
4       | halted         | 10:05:00 |            | 0             |                           | Exiting Kafka due to fatal exception
5       | shut_down      | 10:05:00 |            | 0             |                           |
7       | start_failed   | 10:05:00 |            | 1             | java.io.IOException: full |
"""


def test_what_ends_a_process(frame: Frame, same: Same) -> None:
    stops = to_node_stops(
        frame(EVENTS, LINES), frame(BROKER_TIMELINE, "broker"), frame(CONTROLLER_TIMELINE, REIGNS)
    ).withColumn("failed_start", F.col("failed_start.text"))
    same(stops, STOPS)


def test_errors_are_one_line_that_a_terminal_can_show(spark: SparkSession) -> None:
    texts = ["\x1b[31mjava.io.IOException:\tfull\r\n\tat kafka.Kafka", "  \n rest", "x" * 300, None]
    lines = spark.createDataFrame([(text,) for text in texts], "text string").select(first_line_of("text")).collect()
    assert [line[0] for line in lines] == ["[31mjava.io.IOException: full", None, "x" * 200 + "...", None]


TERMS = """
controller_id | since    | until
1             | 10:00:00 | 10:05:00
2             | 10:05:00 | 10:06:00
1             | 10:06:00 |
"""
OF_CONTROLLERS = """
node_id | at | line
1       | 09:59:00    | 1
1       | 10:04:59.9  | 2
1       | 10:05:00    | 3
1       | 10:06:00    | 4
2       | 10:05:00    | 5
2       | 10:07:00    | 6
3       | 10:07:00    | 7
"""


def test_who_is_controller_no_longer_is_not_believed(frame: Frame) -> None:
    """Of lines before its first term, and of nodes without one, nothing is known."""
    shutdowns = frame(EVENTS, OF_CONTROLLERS).withColumn("event_type", F.lit("controlled_shutdown_started"))
    lines = without_deposed(shutdowns, frame(CONTROLLER_TIMELINE, TERMS))
    assert {row["line"] for row in lines.collect()} == {1, 2, 4, 5, 7}
    others = without_deposed(frame(EVENTS, OF_CONTROLLERS), frame(CONTROLLER_TIMELINE, TERMS))
    assert others.count() == 7  # whatever else they log
