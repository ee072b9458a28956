"""What active KRaft controllers did, from events written by hand; a case is a cluster of its own, all are one frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.states.controller_steps import is_broker_step, to_controller_steps, to_logged_spans
from schemas.ingest import EVENTS, LOG_COVERAGE
from schemas.timelines import CONTROLLER_TIMELINE
from udfs.rules.parsing import read_message

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

TERMS = """
cluster   | controller_id | controller_epoch | since    | active_since | until    | ended_by
alone     | 100           | 2                | 10:00:00 | 10:00:00     | 10:01:00 | replaced
committed | 100           | 2                | 10:00:00 | 10:00:00     | 10:01:00 | replaced
again     | 100           | 2                | 10:00:00 | 10:00:00     | 10:01:00 | replaced
again     | 101           | 3                | 10:01:00 | 10:01:00     |          |
taken     | 100           | 2                | 10:00:00 | 10:00:00     | 10:01:00 | replaced
taken     | 101           | 3                | 10:01:00 | 10:01:02     |          |
starting  | 100           | 2                | 10:00:00 | 10:00:00     | 10:01:00 | replaced
answered  | 100           | 2                | 10:00:00 | 10:00:00     | 10:01:00 | replaced
asked     | 100           | 2                | 10:00:00 | 10:00:00     | 10:01:00 | replaced
asked     | 101           | 3                | 10:01:00 | 10:01:00     |          |
counts    | 100           | 2                | 10:00:00 | 10:00:00     |          |
preferred | 100           | 2                | 10:00:00 | 10:00:00     | 10:01:00 | replaced
"""
LATE = """
cluster   | at           | node_id | event_type                       | fields
alone     | 10:00:30     | 100     | kraft_broker_session_timeout     | broker=1
alone     | 10:00:59     | 100     | kraft_broker_unfence_granted     | broker=1
alone     | 10:01:05     | 101     | kraft_broker_fenced              | broker=1
committed | 10:00:59     | 100     | kraft_broker_unfence_granted     | broker=1
committed | 10:01:03     | 102     | kraft_broker_unfenced            | broker=1
again     | 10:00:59     | 100     | kraft_broker_unfence_granted     | broker=1
again     | 10:01:02     | 101     | kraft_broker_unfence_granted     | broker=1
again     | 10:01:03     | 102     | kraft_broker_unfenced            | broker=1
taken     | 10:00:59     | 100     | kraft_broker_unfence_granted     | broker=1
taken     | 10:01:02     | 101     | kraft_broker_unfenced            | broker=1
starting  | 10:00:59     | 100     | kraft_broker_unfence_granted     | broker=1
starting  | 10:01:02     | 102     | kraft_controller_created         |
starting  | 10:01:03     | 102     | kraft_broker_unfenced            | broker=1
"""


def test_a_late_step_is_sure_once_another_controller_replays_its_record(frame: Frame, same: Same) -> None:
    """100 unfences broker 1 a second before another takes its place.

    Nobody replays it (`alone`; a record of another kind shows nothing); 102 does, which was there all the time
    (`committed`); 101 does as it becomes active (`taken`);
    what 102 replays may be what 101 wrote after it (`again`), or be of any time, as 102 has just started
    (`starting`).
    """
    same(
        to_controller_steps(frame(EVENTS, LATE), frame(CONTROLLER_TIMELINE, TERMS)).select(
            "cluster", "at", "kind", "is_sure"
        ),
        """
cluster   | at       | kind     | is_sure
alone     | 10:00:30 | fenced   | true
alone     | 10:00:59 | unfenced | false
committed | 10:00:59 | unfenced | true
again     | 10:00:59 | unfenced | false
again     | 10:01:02 | unfenced | true
taken     | 10:00:59 | unfenced | true
starting  | 10:00:59 | unfenced | false
""",
    )


def test_a_late_step_is_sure_once_the_broker_has_the_answer(frame: Frame, same: Same) -> None:
    """Controllers answer when what they wrote is committed: so is all that 100 had written before broker 1 may shut
    down (`answered`), and nothing that it wrote after that. Broker 1 asks 101, too, and has its answer (`asked`)."""
    lines = """
cluster  | at           | node_id | broker_id | event_type                             | fields
answered | 10:00:58     | 100     |           | kraft_broker_unfence_granted           | broker=2
answered | 10:00:59     | 100     |           | kraft_broker_shutdown_granted          | broker=1
answered | 10:00:59.040 | 1       | 1         | controlled_shutdown_approved           |
answered | 10:00:59.500 | 100     |           | kraft_broker_controlled_shutdown_granted | broker=3
asked    | 10:00:59.500 | 100     |           | kraft_broker_unfence_granted           | broker=1
asked    | 10:01:00.300 | 101     |           | kraft_broker_unfence_granted           | broker=1
asked    | 10:01:00.340 | 1       | 1         | broker_status_changed                  | to_state=RUNNING
"""
    same(
        to_controller_steps(frame(EVENTS, lines), frame(CONTROLLER_TIMELINE, TERMS)).select(
            "cluster", "at", "kind", "is_sure"
        ),
        """
cluster  | at           | kind                | is_sure
answered | 10:00:58     | unfenced            | true
answered | 10:00:59     | fenced              | true
answered | 10:00:59.500 | controlled_shutdown | false
asked    | 10:00:59.500 | unfenced            | false
asked    | 10:01:00.300 | unfenced            | true
""",
    )


def test_a_late_record_of_a_partition_is_sure_once_another_controller_replays_it(frame: Frame, same: Same) -> None:
    """100 moves an assignment a second before another takes its place; of `alone` 102 replays another record."""
    lines = """
cluster   | at       | node_id | topic | partition | message
alone     | 10:00:59 | 100     | a     | 0         | [100] Replayed PartitionChangeRecord(isr=[1])
alone     | 10:01:03 | 102     | a     | 0         | [102] Replayed PartitionChangeRecord(isr=[2])
committed | 10:00:59 | 100     | a     | 0         | [100] Replayed PartitionChangeRecord(isr=[1])
committed | 10:01:03 | 102     | a     | 1         | [102] Replayed PartitionChangeRecord(isr=[1])
committed | 10:01:03 | 102     | a     | 0         | [102] Replayed PartitionChangeRecord(isr=[1])
"""
    same(
        to_controller_steps(
            frame(EVENTS, lines).withColumn("event_type", F.lit("kraft_partition_assignment_changed")),
            frame(CONTROLLER_TIMELINE, TERMS),
        ).select("cluster", "at", "is_sure"),
        """
cluster   | at       | is_sure
alone     | 10:00:59 | false
committed | 10:00:59 | true
""",
    )


def test_counts_are_of_the_step_before_them(frame: Frame, same: Same) -> None:
    """Two brokers are fenced within 50 ms, and the line behind each says how many partitions changed; a third one, of
    which no such line is behind, changed none. Of a record without its request nobody knows which count is its own."""
    lines = """
cluster | at           | node_id | event_type                   | fields
counts  | 10:00:30     | 100     | kraft_broker_session_timeout | broker=1
counts  | 10:00:30     | 100     | kraft_partitions_changing    | context=handleBrokerFenced; partition_count=16
counts  | 10:00:30.003 | 100     | kraft_broker_session_timeout | broker=2
counts  | 10:00:30.004 | 100     | kraft_partitions_changing    | context=handleBrokerFenced; partition_count=13
counts  | 10:00:30.005 | 100     | kraft_broker_session_timeout | broker=3
counts  | 10:00:40     | 100     | kraft_broker_session_timeout | broker=4
counts  | 10:00:40.001 | 100     | kraft_partitions_changing    | context=handleBrokerFenced; partition_count=7
counts  | 10:00:40.002 | 100     | kraft_broker_fenced          | broker=5
# the first elections of a process take their time; a count that is far behind is of something else
counts  | 10:00:50     | 100     | kraft_broker_unfence_granted | broker=6
counts  | 10:00:50.053 | 100     | kraft_partitions_changing    | context=handleBrokerUnfenced; partition_count=3
counts  | 10:00:55     | 100     | kraft_broker_unfence_granted | broker=7
counts  | 10:00:57     | 100     | kraft_partitions_changing    | context=handleBrokerUnfenced; partition_count=9
"""
    steps = to_controller_steps(frame(EVENTS, lines), frame(CONTROLLER_TIMELINE, TERMS))
    same(
        steps.select("broker", "changed"),
        """
broker | changed
1      | 16
2      | 13
3      | 0
4      |
5      |
6      | 3
7      | 0
""",
    )


TASKS = {  # second, node, message -> whether it elected preferred leaders
    "3.9": (10, 100, "maybeBalancePartitionLeaders: generated 3 records in 311 microseconds.", True),
    "3.9, there are more": (
        11, 100, "maybeBalancePartitionLeaders: generated 9 records in 3 microseconds. Rescheduling immediately.", True
    ),
    "3.9, nobody can lead": (12, 100, "maybeBalancePartitionLeaders: generated 0 records in 311 microseconds.", False),
    "from 4.0 on": (20, 100, "Periodic task electPreferred generated 4 records in 888 microseconds.", True),
    "4.0, nobody can lead": (21, 100, "Periodic task electPreferred generated 0 records in 888 microseconds.", False),
    "another task": (22, 100, "Periodic task electUnclean generated 1 records in 888 microseconds.", False),
    "late in its term": (59, 100, "Periodic task electPreferred generated 2 records in 8 microseconds.", True),
    "no active controller": (30, 101, "Periodic task electPreferred generated 2 records in 888 microseconds.", True),
}  # fmt: skip


def test_the_task_that_elects_preferred_leaders_is_a_step_of_any_partition(frame: Frame, same: Same) -> None:
    """It has no broker, for it may be any; a standby's is no step, and what is late in a term may not be committed."""
    rows = ["cluster | at | node_id | event_type | fields"]
    for second, node, message, _ in TASKS.values():
        logger = "PeriodicTaskControlManager" if message.startswith("Periodic") else "QuorumController"
        event = read_message(f"org.apache.kafka.controller.{logger}", f"[QuorumController id={node}] {message}")
        assert event is not None
        fields = "; ".join(f"{name}={event[name]}" for name in ("task", "record_count") if name in event)
        rows.append(f"preferred | 10:00:{second} | {node} | {event['event_type']} | {fields}")
    events = frame(EVENTS, "\n".join(rows))
    same(
        to_controller_steps(events, frame(CONTROLLER_TIMELINE, TERMS)).select(
            "at", "kind", "broker", "changed", "is_sure"
        ),
        """
at       | kind              | broker | changed | is_sure
10:00:10 | preferred_elected |        |         | true
10:00:11 | preferred_elected |        |         | true
10:00:20 | preferred_elected |        |         | true
10:00:59 | preferred_elected |        |         | false
""",
    )
    elects = [second for second, _, _, is_elected in TASKS.values() if is_elected]
    same(events.where(is_broker_step()), "\n".join(["at", *(f"10:00:{second}" for second in elects)]))


def test_eligible_replicas_that_are_taken_back_are_a_step_of_any_partition(frame: Frame, same: Same) -> None:
    """Of a topic, or of all; where no partition had some, nothing is written."""
    rows = ["cluster | at | node_id | event_type | fields"]
    texts = {"10": "2 partitions of topic pay-in", "20": "0 partitions of topic x", "30": "7 partitions in all topics"}
    for second, text in texts.items():
        message = f"[QuorumController id=100] Removed ELRs from {text}."
        event = read_message("org.apache.kafka.controller.ReplicationControlManager", message)
        assert event is not None
        rows.append(
            f"preferred | 10:00:{second} | 100 | {event['event_type']} | partition_count={event['partition_count']}"
        )
    events = frame(EVENTS, "\n".join(rows))
    same(
        to_controller_steps(events, frame(CONTROLLER_TIMELINE, TERMS)).select("at", "kind", "broker", "is_sure"),
        """
at       | kind          | broker | is_sure
10:00:10 | none_eligible |        | true
10:00:30 | none_eligible |        | true
""",
    )


def test_terms_without_the_controllers_log_are_told_apart(frame: Frame, same: Same) -> None:
    """100's log ends amid its term, 101's is missing; of `none` no controller's log is there."""
    terms = """
cluster | mode  | controller_id | controller_epoch | since    | until
some    | kraft | 100           | 2                | 10:00:00 | 10:01:00
some    | kraft | 101           | 3                | 10:01:00 |
none    | kraft | 101           | 3                | 10:01:00 |
"""
    logs = "cluster | node_id | kind | since | until\nsome | 100 | controller | 09:00:00 | 10:00:30\n"
    spans = to_logged_spans(frame(LOG_COVERAGE, logs), frame(CONTROLLER_TIMELINE, terms))
    span = F.explode(F.array_sort("logged")).alias("span")
    same(
        spans.select("cluster", span).select(
            "cluster",
            F.timestamp_micros("span.since").alias("since"),
            F.timestamp_micros("span.until").alias("until"),
            F.col("span.is_there").cast("string").alias("is_there"),
        ),
        """
cluster | since    | until    | is_there
some    | 10:00:00 | 10:00:30 | true
some    | 10:01:00 |          | false
""",
    )
