"""Hours of which lines are lost here and there: nothing is inferred there, and nobody accused."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from jobs.findings.lost_lines import all_lossy_hours
from jobs.timelines.cluster_facts import ClusterFacts, EvidenceKinds
from jobs.timelines.lossy_hours import (
    collect_lossy_hours,
    to_lossy_hours_of_kraft,
    to_lossy_hours_of_zookeeper,
    without_inferred,
)
from jobs.timelines.states.columns import NUMBERED_STATES
from jobs.timelines.topics import INCARNATION
from schemas.ingest import EVENTS
from schemas.requests import CONTROL_REQUESTS
from schemas.spark import IDS, INT, TEXT, TIME, struct
from tests.conftest import run_over
from tests.proofs.prove_degraded import thinned
from tests.proofs.prove_metamorphic import logs_of, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from jobs.warehouse.tables import Warehouse
    from tests.conftest import Frame, Same

CAPTURES = Path(__file__).resolve().parents[1] / "data" / "captures"
COLUMNS = "node_id | file_id | line | at | logger | event_type | fields"
LEADERS, FOLLOWERS = "kraft_local_leaders_summary", "kraft_local_followers_summary"
STARTED, SKIPPED = "partition_leader_epoch_started", "become_follower_skipped_same_leader"
LOGGER = "state.change.logger"


def lines(node: int, hour: int, *events: str) -> str:
    """Lines of a broker, one after another: `leaders 2` announces two partitions, `done` goes through one."""
    rows = []
    for number, event in enumerate(events):
        kind, _, count = event.partition(" ")
        event_type = {"leaders": LEADERS, "followers": FOLLOWERS, "done": STARTED, "skipped": SKIPPED}[kind]
        fields = f"partition_count={count}" if count else ""
        rows.append(
            f"{node} | f{node} | {hour * 100 + number} | {hour}:{number:02}:00 | {LOGGER} | {event_type} | {fields}"
        )
    return "\n".join(rows) + "\n"


ANNOUNCED = ("leaders 1", "done", "followers 2", "skipped", "done")
"""Of two announcements none is lost."""
LOST = ("leaders 1", "done", "done", "skipped")
"""The one of the second and third partition is lost."""


def test_more_partitions_than_announced_show_lost_lines(frame: Frame, same: Same) -> None:
    """From 11:00 on five announcements are lost, from 12:00 on four. Lines before the first announcement tell nothing,
    nor do announcements with too few lines: the broker may have failed, or the log have a hole."""
    rows = lines(1, 10, "done", "done", *ANNOUNCED, "leaders 9", "done", *ANNOUNCED, *ANNOUNCED)
    rows += lines(1, 11, *LOST, *LOST, *LOST) + lines(2, 11, *LOST, *ANNOUNCED, *LOST)
    rows += lines(1, 12, *LOST, *LOST, *LOST, *LOST)
    events = frame(EVENTS, f"{COLUMNS}\n{rows}")
    same(
        to_lossy_hours_of_kraft(events),
        """cluster | hour
           c       | 11:00:00""",
    )


def requests(controller: int, hour: int, sent: int, lost: int) -> str:
    """Requests of a controller in an hour: those that it logs to have sent, and those that only a broker logs."""
    both = f"{controller} | {hour}:00:01 | {hour}:00:02\n" * sent
    return both + f"{controller} | | {hour}:59:59\n" * lost


def test_an_hour_has_lost_lines_if_many_requests_were_never_sent(frame: Frame, same: Same) -> None:
    """Of controller 1 it is 5 of 125, the share that counts, then one less; of 2 nothing that it sent is logged; of 3
    it is a larger share of fewer requests than count."""
    rows = requests(1, 10, 120, 5) + requests(1, 11, 121, 4) + requests(2, 12, 0, 9) + requests(3, 13, 6, 4)
    same(
        to_lossy_hours_of_zookeeper(frame(CONTROL_REQUESTS, "controller_id | sent_at | received_at\n" + rows)),
        """cluster | hour
           c       | 10:00:00""",
    )


def test_other_loggers_announce_nothing(frame: Frame, same: Same) -> None:
    rows = lines(1, 11, *LOST, *LOST, *LOST, *LOST, *LOST).replace(LOGGER, "kafka.cluster.Partition")
    same(to_lossy_hours_of_kraft(frame(EVENTS, f"{COLUMNS}\n{rows}")), "cluster | hour\n")


def test_what_follows_only_without_lost_lines_is_left_out(frame: Frame, same: Same) -> None:
    """States that lines state stay, those that their leader says it writes, and what follows in other hours."""
    hours = collect_lossy_hours(frame(EVENTS, f"{COLUMNS}\n{lines(1, 11, *LOST * 5)}"))
    states = frame(
        NUMBERED_STATES,
        """topic | partition | incarnation | partition_epoch | at       | leader | isr | inferred
           t     | 0         | 0           | 1               | 10:59:59 | 1      | 1,2 | true
           t     | 0         | 0           | 2               | 11:00:00 | 1      | 1,2 |
           t     | 0         | 0           | 3               | 11:00:01 | 1      | 1   | true
           t     | 0         | 0           | 4               | 11:59:59 | 1      | 1   | false
           t     | 0         | 0           | 5               | 12:00:00 | 1      | 1   | true
           u     | 0         | 0           | 1               | 11:00:20 | 1      | 1   | true
           u     | 0         | 0           | 2               | 11:00:31 | 1      | 1   | true
           u     | 0         | 0           | 3               | 11:00:20 | 2      | 1   | true
           u     | 0         | 0           | 4               | 11:00:20 | 1      | 1,2 | true""",
    )
    # 1 says at 11:00:20 that it shrinks the ISR of u to itself
    noon = struct(topic=TEXT, broker=INT, at=TIME, isr=IDS)
    line = frame(noon, "topic | broker | at | isr\nu | 1 | 11:00:20 | 1")
    shrink = F.struct("broker", F.unix_micros("at").alias("at"), "isr")
    key = [F.lit(0).alias(name) if name != "topic" else F.col(name) for name in INCARNATION if name != "cluster"]
    shrinks = line.select(F.lit("c").alias("cluster"), *key, F.array(shrink).alias("shrinks"))
    same(
        without_inferred(states, hours, shrinks),
        """topic | partition_epoch
           t     | 1
           t     | 2
           t     | 4
           t     | 5
           u     | 1""",
    )
    assert without_inferred(states, {}, shrinks) is states


def test_hours_of_both_kinds_of_clusters_count(frame: Frame, same: Same) -> None:
    """Those of ZooKeeper by requests that nobody sent, if any line is about requests."""
    requests = frame(
        CONTROL_REQUESTS,
        "controller_id | sent_at | received_at\n1 | 10:00:01 | 10:00:02\n" + "1 | | 10:30:00\n" * 5,
    )
    hours = collect_lossy_hours(frame(EVENTS, f"{COLUMNS}\n{lines(1, 11, *LOST * 5)}"))
    events = frame(EVENTS, "event_type\n")

    def facts(has_requests: bool, is_lossy: bool) -> ClusterFacts:
        kinds = EvidenceKinds(requests=has_requests)
        return ClusterFacts(events, events, kinds, lossy_hours=hours if is_lossy else {})

    both = all_lossy_hours(requests, facts(has_requests=True, is_lossy=True))
    assert both is not None
    same(both, "cluster | hour\nc | 10:00:00\nc | 11:00:00")
    of_kraft = all_lossy_hours(requests, facts(has_requests=False, is_lossy=True))
    assert of_kraft is not None
    same(of_kraft, "cluster | hour\nc | 11:00:00")
    assert all_lossy_hours(requests, facts(has_requests=False, is_lossy=False)) is None


def night_without_one_line_in_ten(spark: SparkSession, folder: Path, capture: str) -> Warehouse:
    """The tables of a night over a packed capture."""
    with tarfile.open(CAPTURES / f"{capture}.tar.xz") as files:
        files.extractall(folder, filter="data")
    write(folder / "logs", thinned(logs_of(folder / capture), 10))
    return run_over(spark, folder / "warehouse", folder / capture, folder / "logs").warehouse


@pytest.mark.runs
def test_a_night_over_logs_without_one_line_in_ten_infers_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """Of the whole logs it infers that partitions lost their leaders; with lines lost two such states were false."""
    warehouse = night_without_one_line_in_ten(spark, tmp_path, "kraft-3.6.2-combined-chaos")
    states = warehouse.read("partition_timeline")
    assert states.count() > 400
    assert states.where("inferred AND leader = -1").count() == 0
    assert warehouse.read("verdicts").where("verdict = 'violated'").count() == 0


@pytest.mark.runs
def test_a_night_over_logs_without_one_line_in_ten_accuses_nobody(spark: SparkSession, tmp_path: Path) -> None:
    """Of a cluster whose whole logs accuse nobody either."""
    verdicts = night_without_one_line_in_ten(spark, tmp_path, "zk-2.2.2-chaos").read("verdicts")
    assert verdicts.where("verdict = 'violated'").count() == 0
    assert verdicts.where("array_contains(missing_inputs, 'lost_lines')").count() > 0
