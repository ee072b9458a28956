"""Hours and minutes of which lines are lost, of clusters with ZooKeeper that log no requests: lines that lack their
other."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from jobs.timelines.cluster_facts import ClusterFacts, EvidenceKinds
from jobs.timelines.lossy_hours import collect_lossy_hours, to_lossy_hours_at_info, with_lossy_hours
from jobs.timelines.lost_minutes import collect_lost_minutes
from schemas.ingest import EVENTS, LOG_COVERAGE
from schemas.timelines import CONTROLLER_TIMELINE
from tests.test_lost_minutes import micros
from udfs.logs.lost_minutes import LineGap

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tests.conftest import Frame, Same

COLUMNS = "cluster | node_id | file_id | line | at | topic | partition | event_type | isr | fields"
BEGIN, SHRINK, GROW = "leader_epoch_started", "isr_shrinking", "isr_expanding"
HOUR = 3_600_000_000
NONE = "cluster | hour\n"


def of_leader(hour: int, *changes: str, cluster: str = "c", topic: str = "t") -> str:
    """Lines of a leader, a minute apart: `begin` of a leader epoch, or the ISRs from which and to which it changes;
    `later` lets half an hour pass."""
    rows, minute = [], 0
    for number, change in enumerate(changes):
        before, _, after = change.partition(">")
        minute += 30 if change == "later" else 1
        if change == "later":
            continue
        kind = BEGIN if change == "begin" else SHRINK if len(after) < len(before) else GROW
        fields = "" if change == "begin" else f"old_isr={before}"
        place = f"{cluster} | 1 | f{topic} | {hour * 100 + number} | {hour}:{minute:02}:00 | {topic} | 0"
        rows.append(f"{place} | {kind} | {after} | {fields}")
    return "\n".join(rows) + "\n"


def of_controller(hour: int, *moments: str, cluster: str = "c") -> str:
    """Lines of a controller, a minute apart, those of one moment together: `+4` and `-4` list that broker 4 came or
    went, `~4` that it did both; `came` and `went` take that up; `term` begins one."""
    names = {"+": "added_brokers", "-": "deleted_brokers", "~": "bounced_brokers"}
    kinds = {"came": "broker_startup", "went": "broker_failure", "term": "controller_elected"}
    rows = []
    for minute, moment in enumerate(moments):
        for number, event in enumerate(moment.split()):
            kind = kinds.get(event, "broker_set_changed")
            lists = dict.fromkeys(names.values(), "") | ({} if event in kinds else {names[event[0]]: event[1:]})
            fields = "" if event in kinds else "; ".join(f"{name}={ids}" for name, ids in lists.items())
            place = f"{cluster} | 0 | controller | {hour * 1000 + minute * 10 + number} | {hour}:{minute:02}:00 | | "
            rows.append(f"{place} | {kind} | | {fields}")
    return "\n".join(rows) + "\n"


def hours(frame: Frame, rows: str) -> DataFrame:
    return to_lossy_hours_at_info(frame(EVENTS, f"{COLUMNS}\n{rows}"))


def test_changes_that_do_not_go_on_from_the_one_before(frame: Frame, same: Same) -> None:
    """From 10:00 on two do not: the growth between 1 and 1,2, and that between 1,2 and 1,2,3 are lost. From 11:00 on
    one does not; from 12:00 on they all do: two failed to be written, so that the next begins where they had begun."""
    rows = of_leader(10, "begin", "1,2,3>1", "1,2>1", "1>1,2", "1,2,3>1", "1>1,2")
    rows += of_leader(11, "begin", "1,2,3>1,2", "1>1,2", "1,2>1,2,3")
    rows += of_leader(12, "begin", "1,2,3>1,2", "1,2,3>1", "1>1,2", "1>1,3", "1,3>1,2,3", "begin", "1,2>1", "1>1,2")
    same(hours(frame, rows), "cluster | hour\nc | 10:00:00")


def test_changes_that_tell_nothing(frame: Frame, same: Same) -> None:
    """Half an hour lies between them; no leader says that it begins a leader epoch, as until 0.10; or none, or
    none any more, that it lets replicas in, as from 2.7 on, so that each shrinks what it had let grow."""
    lost = ("1,2,3>1", "1,2>1", "1,2,3>1", "1>1,2")
    far = ("begin", "1,2,3>1", "later", "1,2>1", "1>1,2")
    same(hours(frame, of_leader(10, *far, topic="t") + of_leader(10, *far, topic="u")), NONE)
    same(hours(frame, of_leader(10, *lost)), NONE)
    same(hours(frame, of_leader(10, "begin", *lost[:-1])), NONE)
    same(hours(frame, of_leader(10, "begin", "1>1,2", *lost[:-1])), NONE)
    same(hours(frame, of_leader(10, "begin", *lost)), "cluster | hour\nc | 10:00:00")


def test_changes_at_the_moment_in_which_a_leader_epoch_begins(frame: Frame, same: Same) -> None:
    """One of the leader epoch before and one of the new one, both logged as that begins, in another file; in the second
    case it began a minute before them."""

    def of_two_topics(begin: str) -> str:
        return "".join(
            f"""c | 1 | g | 1 | 09:00:00 | {topic} | 0 | {BEGIN} |     |
                c | 1 | g | 2 | {begin}  | {topic} | 0 | {BEGIN} |     |
                c | 1 | f | 7 | 10:05:00 | {topic} | 0 | {SHRINK} | 1   | old_isr=1,2,3
                c | 1 | f | 8 | 10:05:00 | {topic} | 0 | {SHRINK} | 2   | old_isr=2,3
                c | 1 | f | 9 | 10:30:00 | {topic} | 0 | {GROW}   | 2,3 | old_isr=2\n"""
            for topic in ("t", "u")
        )

    same(hours(frame, of_two_topics("10:05:00")), NONE)
    same(hours(frame, of_two_topics("10:04:00")), "cluster | hour\nc | 10:00:00")


def test_lists_of_brokers_that_nobody_takes_up(frame: Frame, same: Same) -> None:
    """Each list is followed by what the controller does about it, which may take it half a minute (0.11.0.2: it waits
    for the dead broker's connection to end). Of 11:00 two lists are not; of 12:00 two have a line that belongs to a
    list that is lost; of 13:00 the last list of a term is not, which its controller may not have come to, and one more;
    of 14:00 the last line, and one more; of 15:00 two lines come as a term begins: what was before may be its."""
    rows = of_controller(10, "term", "+1 came", "-1", "went", "~2 went came", "+1", "came", "-3 went")
    rows += of_controller(11, "+1", "-1 went", "~2 came", "+4 came")
    rows += of_controller(12, "+1 came", "went", "-1 went", "came", "+3 came")
    rows += of_controller(13, "+1", "-1 went", "+1", "term", "+1 came")
    rows += of_controller(14, "+1", "-1 went", "+1")
    rows += of_controller(15, "term came", "-1 went", "term went", "+1 came")
    same(
        hours(frame, rows),
        """cluster | hour
           c       | 11:00:00
           c       | 12:00:00""",
    )


def test_lines_of_one_moment_may_be_in_any_order_and_twice(frame: Frame, same: Same) -> None:
    """As an export has them, or logs to which two appenders write."""
    rows = of_controller(10, "came +1", "went -1", "came went ~2", "+3 +3 came came", "+1 came")
    same(hours(frame, rows + of_controller(11, "+1 came")), NONE)


def test_both_count_together_in_each_cluster(frame: Frame, same: Same) -> None:
    """One of each is enough; one in each of two clusters is not."""
    change, lists = ("begin", "1,2,3>1", "1,2>1", "1>1,2"), ("+1", "-1 went", "+1 came")
    both = of_leader(10, *change) + of_controller(10, *lists)
    apart = of_leader(11, *change, cluster="a") + of_controller(11, *lists, cluster="b")
    same(hours(frame, both + apart), "cluster | hour\nc | 10:00:00")


def test_only_clusters_without_requests_are_looked_at(frame: Frame) -> None:
    """Where requests are logged these tell it."""
    lost = ("+1", "-1 went", "~2 came", "+4 came")
    events = frame(EVENTS, f"{COLUMNS}\n" + of_controller(10, *lost) + of_controller(10, *lost, cluster="traced"))
    assert collect_lossy_hours(events, ["c"]) == {"c": [micros("10:00:00")]}
    assert collect_lossy_hours(events) == {}


def test_leaders_logs_do_not_cover_such_hours(frame: Frame, same: Same) -> None:
    """Nothing follows there from a line that is not there, with ZooKeeper; KRaft's engine leaves out what it infers."""
    names = ("zk", "kraft")
    lines = "".join(f"{name} | 1 | {h:02}:30:00 | INFO | kafka.cluster.Partition\n" for name in names for h in (9, 11))
    events = frame(EVENTS, f"cluster | node_id | at | level | logger\n{lines}")
    spans = "".join(f"{name} | server | 1 | 09:00:00 | 12:00:00\n" for name in names)
    coverage = frame(LOG_COVERAGE, f"cluster | kind | node_id | since | until\n{spans}")
    kinds = {"zk": EvidenceKinds(kraft=False), "kraft": EvidenceKinds(kraft=True)}
    lossy = {name: [micros("10:00:00")] for name in names}
    facts = ClusterFacts(events, coverage, kinds["kraft"], kinds, lossy_hours=lossy)
    same(
        facts.server_coverage,
        """cluster | leader | covered_since | covered_until
           kraft   | 1      | 09:00:00      | 12:00:00
           zk      | 1      | 09:00:00      | 10:00:00
           zk      | 1      | 11:00:00      | 12:00:00""",
    )


def test_one_change_that_does_not_go_on_shows_that_a_silence_is_a_hole(frame: Frame) -> None:
    """A single one, in a silence of half an hour; where the leader goes on from the ISR that it had it was a rest."""
    lost = of_leader(10, "begin", "1,2,3>1", "later", "1,2>1", "1>1,2")
    rest = of_leader(10, "begin", "1,2,3>1,2", "later", "1,2>1", "1>1,2", cluster="rests")
    events, terms = frame(EVENTS, f"{COLUMNS}\n{lost}{rest}"), frame(CONTROLLER_TIMELINE, "cluster\n")
    minutes = collect_lost_minutes(events, terms, untraced=["c", "rests"], has_kraft=False)
    hole = LineGap(micros("10:02:00"), micros("10:33:00"))
    assert {name: one.holes() for name, one in minutes.items()} == {"c": [hole]}
    assert collect_lost_minutes(events, terms, has_kraft=False) == {}


def test_hours_and_holes_together() -> None:
    """A hole within an hour is part of it, one at its end makes it longer; other clusters keep theirs."""
    holes = {"a": [LineGap(10, 20), LineGap(HOUR, HOUR + 5)], "b": [LineGap(1, 2)]}
    assert with_lossy_hours(holes, {"a": [0, 2 * HOUR], "c": [HOUR]}) == {
        "a": [LineGap(0, HOUR + 5), LineGap(2 * HOUR, 3 * HOUR)],
        "b": [LineGap(1, 2)],
        "c": [LineGap(HOUR, 2 * HOUR)],
    }


@given(
    st.lists(st.tuples(st.integers(0, 6 * HOUR), st.integers(1, HOUR)), max_size=6),
    st.lists(st.integers(0, 6), max_size=4, unique=True),
)
def test_what_is_a_hole_is_one_still(gaps: list[tuple[int, int]], starts: list[int]) -> None:
    """Whatever holes and hours there are: the result is in order, apart, and has the times of both and no other."""
    holes = [LineGap(since, since + length) for since, length in gaps]
    all_gaps = [*holes, *(LineGap(hour * HOUR, (hour + 1) * HOUR) for hour in starts)]
    merged = with_lossy_hours({"a": holes}, {"a": [hour * HOUR for hour in starts]})["a"]
    assert all(before.until < after.since for before, after in pairwise(merged))
    ends = {time for gap in all_gaps for time in gap} | {time for gap in merged for time in gap}
    for time in (time + shift for time in ends for shift in (-0.5, 0.5)):
        assert any(gap.since < time < gap.until for gap in merged) == any(g.since < time < g.until for g in all_gaps)
