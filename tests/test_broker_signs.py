"""What shows that a broker was there, or gone, though no line tells that it came or went; a case is a cluster."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from pyspark.sql import functions as F

from jobs.findings.broker_signs import (
    clusters_in_other_doubt,
    to_broker_signs,
    with_doubts,
    without_stale_lists,
)
from jobs.nightly.incremental import Scope
from jobs.nightly.steps import _with_changed_doubts
from schemas.findings import ELECTIONS
from schemas.ingest import EVENTS
from schemas.spark import FLAG, INT, TEXT, TIME, struct
from schemas.timelines import BROKER_TIMELINE, PARTITION_TIMELINE

if TYPE_CHECKING:
    from jobs.nightly.work import Work
    from tests.conftest import Frame, Same

BROKER_SIGNS = struct(cluster=TEXT, broker=INT, at=TIME, is_alive=FLAG)
STATES = """
cluster | topic | ordinal | leader | isr   | replicas | made_by    | missing_before | since
# 2 joins the ISR of 1, and is taken out of it by the controller, in two topics at once
joined  | t     | 1       | 1      | 1     | 1,2      | controller | 0              | 10:10:00
joined  | t     | 2       | 1      | 1,2   | 1,2      | leader     | 0              | 10:10:30
joined  | t     | 3       | 1      | 1     | 1,2      | controller | 0              | 10:20:00
joined  | u     | 1       | 1      | 1,2   | 1,2      | controller | 0              | 10:10:00
joined  | u     | 2       | 1      | 1     | 1,2      | controller | 0              | 10:20:01
# in one topic a deletion does that to a broker that is there
single  | t     | 1       | 1      | 1,2   | 1,2      | controller | 0              | 10:10:00
single  | t     | 2       | 1      | 1     | 1,2      | controller | 0              | 10:20:00
single  | u     | 1       | 1      | 1,2   | 1,2      | controller | 0              | 10:10:00
single  | u     | 2       | 1      | 1     | 1,2      | controller | 0              | 10:21:00
# a leader drops who is slow; a reassignment takes out who is no longer assigned
slow    | t     | 1       | 1      | 1,2,3 | 1,2,3    | controller | 0              | 10:10:00
slow    | t     | 2       | 1      | 1,3   | 1,2,3    | leader     | 0              | 10:10:30
slow    | t     | 3       | 1      | 1     | 1,2      | controller | 0              | 10:11:00
slow    | u     | 1       | 1      | 1,2,3 | 1,2,3    | controller | 0              | 10:10:00
slow    | u     | 2       | 1      | 1,3   | 1,2,3    | leader     | 0              | 10:10:30
slow    | u     | 3       | 1      | 1     | 1,2      | controller | 0              | 10:11:00
# with states missing in between nobody knows who changed what
missing | t     | 1       | 1      | 1,2   | 1,2      | controller | 0              | 10:10:00
missing | t     | 2       | 1      | 1     | 1,2      | controller | 2              | 10:20:00
missing | u     | 1       | 1      | 1,2   | 1,2      | controller | 0              | 10:10:00
missing | u     | 2       | 1      | 1     | 1,2      | controller | 2              | 10:20:00
# nobody of the ISR is left
lost    | t     | 1       | 2      | 2     | 1,2      | controller | 0              | 10:10:00
lost    | t     | 2       | -1     | 2     | 1,2      | controller | 0              | 10:20:00
lost    | u     | 1       | 2      | 2     | 1,2      | controller | 0              | 10:10:00
lost    | u     | 2       | -1     | 2     | 1,2      | controller | 0              | 10:20:00.5
# the leader goes, and who is left in the ISR is there: it is elected next
left    | t     | 1       | 2      | 1,2   | 1,2      | controller | 0              | 10:10:00
left    | t     | 2       | -1     | 1     | 1,2      | controller | 0              | 10:20:00
left    | u     | 1       | 2      | 1,2   | 1,2      | controller | 0              | 10:10:00
left    | u     | 2       | -1     | 1     | 1,2      | controller | 0              | 10:20:00
"""
LINES = """
cluster | node_id | at       | event_type
leads   | 3       | 10:12:00 | leader_epoch_started
leads   | 3       | 10:12:00 | partition_leader_epoch_started
leads   | 3       | 10:13:00 | partition_follower_epoch_started
"""
SHOWN = """
cluster | broker | at       | is_alive
joined  | 2      | 10:10:30 | true
joined  | 2      | 10:20:00 | false
lost    | 2      | 10:20:00 | false
left    | 2      | 10:20:00 | false
leads   | 3      | 10:12:00 | true
"""


def test_what_shows_that_a_broker_is_there_or_gone(frame: Frame, same: Same) -> None:
    states = frame(PARTITION_TIMELINE, STATES).withColumns({"partition": F.lit(0), "incarnation": F.lit(0)})
    same(to_broker_signs(states, frame(EVENTS, LINES)), SHOWN)


BROKERS = """
cluster | broker | since    | until    | shutdown_since | evidence
joined  | 2      | 10:00:00 | 10:05:00 |                | 1@f:1,1@f:2
lost    | 2      | 10:00:00 |          |                | 1@f:1
leads   | 3      | 10:00:00 | 10:12:30 | 10:11:00       | 1@f:1,1@f:2
# gone and back at about the times at which it shows itself
edges   | 4      | 10:00:00 | 10:05:00 |                | 1@f:1,1@f:2
edges   | 4      | 10:09:00 | 10:15:00 |                | 1@f:3,1@f:4
# of a dump nothing is lost
dump    | 5      | 10:00:00 | 10:05:00 |                | @d:1,@d:2
"""
SIGNS = """
cluster | broker | at         | is_alive
joined  | 2      | 10:10:30   | true
joined  | 2      | 10:20:00   | false
lost    | 2      | 10:20:00   | false
leads   | 3      | 10:12:00   | false
leads   | 3      | 10:11:30   | true
edges   | 4      | 10:05:01   | true
edges   | 4      | 10:08:59   | true
edges   | 4      | 10:04:59   | false
edges   | 4      | 10:09:01   | false
dump    | 5      | 10:10:30   | true
"""


def test_stays_and_absences_in_doubt(frame: Frame, same: Same) -> None:
    """2 joined an ISR after it had gone, and no return is logged; 2 of `lost` had gone though it counts as there."""
    signs = frame(BROKER_SIGNS, SIGNS)
    same(
        with_doubts(frame(BROKER_TIMELINE, BROKERS), signs),
        """
cluster | broker | since    | stay_in_doubt | absence_in_doubt
joined  | 2      | 10:00:00 | false         | true
lost    | 2      | 10:00:00 | true          | false
leads   | 3      | 10:00:00 | false         | false
edges   | 4      | 10:00:00 | false         | false
edges   | 4      | 10:09:00 | false         | false
dump    | 5      | 10:00:00 | false         | false
""",
    )


def test_stays_that_are_in_doubt_only_before_or_only_now(frame: Frame) -> None:
    """The stay of `lost` ended before it was shown to be gone, as lines that came later tell; nobody was alive in
    `joined` any more. What began since, as the second stay of `edges`, was not known, and that of `leads` is sure."""
    brokers = BROKERS.replace("lost    | 2      | 10:00:00 |     ", "lost    | 2      | 10:00:00 | 10:19:00")
    later = f"{brokers}edges   | 4      | 10:16:00 |          |                | 1@f:3\n"
    signs = SIGNS.replace("joined  | 2      | 10:10:30   | true\n", "")
    now = with_doubts(
        frame(BROKER_TIMELINE, later), frame(BROKER_SIGNS, f"{signs}edges   | 4      | 10:17:00   | false\n")
    )
    before = with_doubts(frame(BROKER_TIMELINE, BROKERS), frame(BROKER_SIGNS, SIGNS))
    assert clusters_in_other_doubt(before, now) == {"lost", "joined"}
    assert clusters_in_other_doubt(before, before) == set()


def test_what_is_in_doubt_now_and_was_not_has_all_topics_judged_again(frame: Frame) -> None:
    """2 of `lost` was shown to be gone in a stay that had no end; by now its end is known, and it is gone behind it.
    Nothing is to be judged again where clusters are rebuilt as a whole, nor of `left`, of which nothing has changed."""
    stay_of_left = "left    | 2      | 10:00:00 |          |                | 1@f:1\n"
    published = {
        "broker_timeline": frame(BROKER_TIMELINE, f"{BROKERS}{stay_of_left}"),
        "partition_timeline": frame(PARTITION_TIMELINE, STATES).withColumns(
            {"partition": F.lit(0), "incarnation": F.lit(0)}
        ),
        "events": frame(EVENTS, LINES),
    }
    ended = BROKERS.replace("lost    | 2      | 10:00:00 |     ", "lost    | 2      | 10:00:00 | 10:19:00")
    signs = to_broker_signs(published["partition_timeline"], published["events"])
    seen = with_doubts(frame(BROKER_TIMELINE, f"{ended}{stay_of_left}"), signs)
    warehouse = SimpleNamespace(read=published.__getitem__)

    def judged(scope: Scope) -> Scope:
        work = SimpleNamespace(scope=scope, warehouse=warehouse, within=lambda other: SimpleNamespace(scope=other))
        return _with_changed_doubts(cast("Work", work), seen).scope

    assert judged(Scope(("joined",), {"lost": ("t",), "left": ("t",)})) == Scope(("joined", "lost"), {"left": ("t",)})
    assert judged(Scope((), {"left": ("t",)})) == Scope((), {"left": ("t",)})
    assert judged(Scope(("lost",))) == Scope(("lost",))


ELECTED = """
cluster | topic   | partition | incarnation | at       | leader | live_brokers | succeeded
# 2 is not listed, but shows itself soon after
c       | alive   | 0         | 0           | 10:10:00 | 2      | 1,3          | true
# of 4 nothing shows that it is alive, and of 5 only later
c       | dead    | 0         | 0           | 10:10:00 | 4      | 1,3          | true
c       | later   | 0         | 0           | 10:10:00 | 5      | 1,3          | true
c       | listed  | 0         | 0           | 10:10:00 | 3      | 1,3          | true
c       | nothing | 0         | 0           | 10:10:00 | 2      |              | true
c       | failed  | 0         | 0           | 10:10:00 |        | 1,3          | false
"""
ALIVE = """
cluster | broker | at         | is_alive
c       | 2      | 10:10:02   | true
c       | 3      | 10:10:02   | true
c       | 4      | 10:10:02   | false
c       | 5      | 10:10:09   | true
"""


def test_a_list_without_a_leader_that_is_alive_is_not_believed(frame: Frame, same: Same) -> None:
    elections = frame(ELECTIONS, ELECTED).withColumn("decision", F.lit(1))
    same(
        without_stale_lists(elections, frame(BROKER_SIGNS, ALIVE)).select("topic", "live_brokers"),
        """
topic   | live_brokers
alive   |
dead    | 1,3
later   | 1,3
listed  | 1,3
nothing |
failed  | 1,3
""",
    )
