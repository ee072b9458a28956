"""Brokers that never learned of a topic: which ones are asked, and which are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.findings.metadata_caches import to_cache_verdicts
from jobs.timelines.cluster_facts import EvidenceKinds
from schemas.ingest import EVENTS
from schemas.timelines import BROKER_TIMELINE, TOPIC_TIMELINE

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

# topic new is created at 10:01; 2 and 4 hear of it, 3 does not, 5 logs nothing after it, 6 is not registered any more;
# 7 registers anew at 10:15, is told of old, and has not been told of new; 8 registers then, too, its log begins there
LINES = """
topic | node_id | at       | event_type             | line
old   | 2       | 10:00:00 | metadata_cache_updated | 1
old   | 3       | 10:00:00 | metadata_cache_updated | 2
old   | 4       | 10:00:00 | metadata_cache_updated | 3
old   | 5       | 10:00:00 | metadata_cache_updated | 4
old   | 6       | 10:00:00 | metadata_cache_updated | 5
new   | 2       | 10:01:00 | metadata_cache_updated | 6
new   | 4       | 10:01:00 | metadata_cache_updated | 7
again | 2       | 10:01:00 | metadata_cache_updated | 8
gone  | 2       | 10:01:00 | metadata_cache_updated | 9
going | 2       | 10:01:00 | metadata_cache_updated | 9
old   | 2       | 10:02:00 | metadata_cache_updated | 10
old   | 3       | 10:02:00 | metadata_cache_updated | 11
old   | 4       | 10:02:00 | metadata_cache_updated | 12
old   | 6       | 10:02:00 | metadata_cache_updated | 13
old   | 7       | 10:13:00 | metadata_cache_updated | 14
old   | 7       | 10:15:01 | metadata_cache_updated | 15
old   | 7       | 10:16:00 | metadata_cache_updated | 16
old   | 8       | 10:15:01 | metadata_cache_updated | 17
old   | 8       | 10:16:00 | metadata_cache_updated | 18
"""
TOPICS = """
topic | incarnation | since    | deletion_started | until
old   | 0           | 09:00:00 |                  |
new   | 0           | 10:01:00 |                  |
again | 0           | 10:00:30 |                  | 10:00:40
again | 1           | 10:01:00 |                  |
gone  | 0           | 10:01:00 |                  | 10:01:30
going | 0           | 10:01:00 | 10:01:30         |
"""
BROKERS = """
broker | since    | until
2      | 09:00:00 |
3      | 09:00:00 |
4      | 09:00:00 |
5      | 09:00:00 |
6      | 09:00:00 | 10:01:30
7      | 09:00:00 | 10:14:00
7      | 10:15:00 |
8      | 10:15:00 |
9      | 09:00:00 |
10     | 09:00:00 |
"""


# the log of 9 is two files, between which another one may be missing; that of 10 goes on in its second file
SEVERAL_FILES = """
topic | node_id | at       | event_type             | line | file_id
old   | 9       | 10:00:00 | metadata_cache_updated | 19   | g
old   | 9       | 10:02:00 | metadata_cache_updated | 1    | h
old   | 10      | 10:00:00 | metadata_cache_updated | 20   | i
old   | 10      | 10:00:30 | metadata_cache_updated | 1    | j
old   | 10      | 10:02:00 | metadata_cache_updated | 2    | j
"""


def test_brokers_that_should_have_learned_a_topic(frame: Frame, same: Same) -> None:
    rows = to_cache_verdicts(
        frame(EVENTS, LINES).unionByName(frame(EVENTS, SEVERAL_FILES)),
        frame(TOPIC_TIMELINE, TOPICS),
        frame(BROKER_TIMELINE, BROKERS),
        {"c": ("2.4.1", False)},
        EvidenceKinds(),
    )
    same(
        rows,
        """
        rule             | subject  | verdict  | actual         | evidence
        metadata_learned | broker 2 | holds    | all of them    | 2@f:10
        metadata_learned | broker 3 | violated | none about new | 3@f:11, 2@f:6
        metadata_learned | broker 4 | holds    | all of them    | 4@f:12
        metadata_learned | broker 7 | violated | none about new | 7@f:16, 2@f:6
        metadata_learned | broker 10 | violated | none about new | 10@j:2, 2@f:6
        """,
    )
