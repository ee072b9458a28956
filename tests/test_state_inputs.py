"""Recovery states and `min.insync.replicas` of KRaft's states, by lines; a case is a topic."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.findings.broker_signs import to_broker_signs, with_doubts
from jobs.findings.replay import to_caused_states
from jobs.findings.state_inputs import with_state_inputs
from jobs.settings import Settings, TopicSettings
from jobs.timelines.cluster_facts import ClusterFacts, EvidenceKinds
from jobs.timelines.known_spans import CONTROLLER_LOGS, to_known_spans
from schemas.ingest import EVENTS, LOG_COVERAGE
from schemas.spark import FLAG, IDS, INT, PARTITION_KEY, TEXT, struct
from schemas.timelines import BROKER_TIMELINE, PARTITION_TIMELINE
from udfs.kafka.releases import Release
from udfs.kafka.stored_state import Cluster
from udfs.kafka.verdicts import judge_states

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tests.conftest import Frame, Same

COVERAGE = """
node_id | kind       | since    | until
100     | controller | 10:00:00 | 11:00:00
"""
STATES = """
topic   | partition_epoch | missing_before | since    | evidence
# a dump: recovering from 2 on, until 4 says that it is over; before the hole nobody knows
dumped  | 1               | 0              | 10:00:01 | @d:1
dumped  | 2               | 0              | 10:00:02 | @d:2
dumped  | 3               | 0              | 10:00:03 | @d:3
dumped  | 4               | 0              | 10:00:04 | @d:4
dumped  | 6               | 1              | 10:00:06 | @d:5
born    | 0               | 0              | 10:00:01 | @d:6
born    | 1               | 0              | 10:00:02 | @d:7
# a log: what a line prints is of its state, and of no other
logged  | 4               | 0              | 10:00:01 | 100@c:1
logged  | 5               | 0              | 10:00:02 | 1@s:1
logged  | 6               | 0              | 10:00:03 | 1@s:2
"""
LINES = """
topic  | file_id | line | event_type                       | partition_epoch | fields
dumped | d       | 1    | metadata_partition_change        |                 | offset=1
dumped | d       | 2    | metadata_partition_change        |                 | leader_recovery_state=RECOVERING
dumped | d       | 3    | metadata_partition_change        |                 | offset=3
dumped | d       | 4    | metadata_partition_change        |                 | leader_recovery_state=RECOVERED
dumped | d       | 5    | metadata_partition_change        |                 | offset=5
born   | d       | 6    | metadata_partition               |                 | offset=6
born   | d       | 7    | metadata_partition_change        |                 | offset=7
logged | c       | 1    | kraft_partition_changed_unclean  | 4               | leader_recovery_state=RECOVERING
logged | s       | 1    | leader_epoch_started             | 5               | high_watermark=0
logged | s       | 2    | become_follower_skipped_same_leader | 7            | leader_recovery_state=RECOVERED
"""
RECOVERIES = """
topic  | partition_epoch | recovery
dumped | 1               |
dumped | 2               | RECOVERING
dumped | 3               | RECOVERING
dumped | 4               | RECOVERED
dumped | 6               |
born   | 0               | RECOVERED
born   | 1               | RECOVERED
logged | 4               | RECOVERING
logged | 5               |
logged | 6               |
"""
SETTINGS = """
topic   | partition_epoch | missing_before | since    | evidence
created | 0               | 0              | 10:10:00 | 100@c:1
created | 1               | 0              | 10:20:00 | 100@c:1
old     | 7               | 0              | 10:10:00 | 100@c:1
own     | 0               | 0              | 10:10:00 | 100@c:1
own     | 1               | 0              | 10:20:01 | 100@c:1
own     | 2               | 0              | 10:30:00 | 100@c:1
own     | 3               | 0              | 10:40:00 | 100@c:1
anew    | 0               | 0              | 10:10:00 | 100@c:1
set     | 0               | 0              | 10:10:00 | 100@c:1
more    | 0               | 0              | 10:10:00 | 100@c:1
more    | 1               | 0              | 10:30:00 | 100@c:1
"""
LISTED = """
topic | at       | event_type       | fields
      | 10:00:10 | kraft_config_set | config_resource_type=BROKER; config_name=MIN; config_value=1
      | 10:00:10 | kraft_config_set | config_resource_type=BROKER; broker=3; config_name=MIN; config_value=9
own   | 10:10:00 | kraft_config_set | config_resource_type=TOPIC; config_name=MIN; config_value=3
own   | 10:20:00 | kraft_config_set | config_resource_type=TOPIC; config_name=MIN; config_value=2
own   | 10:35:00 | kraft_config_set | config_resource_type=TOPIC; config_name=MIN; config_value=null
own   | 10:10:00 | kraft_config_set | config_resource_type=TOPIC; config_name=retention.ms; config_value=7
anew  | 10:05:00 | kraft_config_set | config_resource_type=TOPIC; config_name=MIN; config_value=2
more  | 10:10:00 | kraft_config_set | config_resource_type=TOPIC; config_name=MIN; config_value=3
more  | 10:20:00 | kraft_config_set | config_resource_type=TOPIC; config_name=MIN; config_value=1
""".replace("MIN", "min.insync.replicas")


def inputs(
    frame: Frame, states: str, lines: str, settings: Settings, kinds: Mapping[str, EvidenceKinds] | None = None
) -> DataFrame:
    events, coverage = frame(EVENTS, lines), frame(LOG_COVERAGE, COVERAGE)
    known = to_known_spans(coverage, CONTROLLER_LOGS, timedelta(hours=1), "cluster")
    rows = frame(PARTITION_TIMELINE, states).withColumns(
        {"partition": F.lit(0), "incarnation": F.lit(0), "ordinal": F.col("partition_epoch").cast("long")}
    )
    facts = ClusterFacts(events, coverage, EvidenceKinds(kraft=True), kinds or {})
    return with_state_inputs(rows, events, known, facts, settings)


def test_recovery_states_are_those_that_lines_print(frame: Frame, same: Same) -> None:
    same(inputs(frame, STATES, LINES, Settings()), RECOVERIES)


def test_min_isr_is_what_lines_or_settings_say(frame: Frame, same: Same) -> None:
    """The brokers' default holds of topics whose creation is logged; 3 was changed to 2 a second before the state of
    `own`, and taken back at 10:35; of `anew` a line is of the topic that had the name before; `old` may have one.
    What is set is as it is now: `more` had 3 before."""
    settings = Settings(topics={name: TopicSettings(min_insync_replicas=n) for name, n in (("set", 4), ("more", 2))})
    same(
        inputs(frame, SETTINGS, LISTED, settings),
        """
topic   | partition_epoch | min_isr
created | 0               | 1
created | 1               | 1
old     | 7               |
own     | 0               | 3
own     | 1               | 3
own     | 2               | 2
own     | 3               | 1
anew    | 0               | 1
set     | 0               | 4
more    | 0               | 3
more    | 1               | 2
""",
    )


def test_what_is_set_says_nothing_of_the_time_before_the_first_line_that_changes_it(frame: Frame, same: Same) -> None:
    """It was raised or lowered to 2 at 10:20, from what no line tells; of another topic no line says anything."""
    states = """
    topic   | partition_epoch | missing_before | since    | evidence
    changed | 7               | 0              | 10:10:00 | 100@c:1
    changed | 8               | 0              | 10:30:00 | 100@c:1
    quiet   | 7               | 0              | 10:10:00 | 100@c:1
    """
    line = "topic | at | event_type | fields\nchanged | 10:20:00 | kraft_config_set | config_resource_type=TOPIC; {}"
    same(
        inputs(
            frame,
            states,
            line.format("config_name=min.insync.replicas; config_value=2"),
            Settings(min_insync_replicas=2),
        ),
        "topic | partition_epoch | min_isr\nchanged | 7 |\nchanged | 8 | 2\nquiet | 7 | 2",
    )


def state(leader: int, epochs: tuple[int, int], isr: list[int], **further: object) -> dict[str, object]:
    """A row of PARTITION_TIMELINE with inputs."""
    row = dict.fromkeys(("controller_epoch", "made_by", "elr", "last_known_elr"))
    return {**row, "leader": leader, "leader_epoch": epochs[0], "partition_epoch": epochs[1], "isr": isr,
            "replicas": [1, 2, 3], **further}  # fmt: skip


def test_the_assignment_is_not_known_of_a_state_that_only_a_late_request_shows(frame: Frame, same: Same) -> None:
    """The controller had made the request before it fails to be sent, and what is assigned by then may be another."""
    states = """
        topic | partition_epoch | replicas | evidence
        late  | 5               | 1,0,2    | 1@c:1,1@c:2
        both  | 5               | 1,0,2    | 1@c:1,1@c:3
        other | 5               | 1,0,2    | 1@c:3"""
    lines = """
        file_id | line | event_type
        c       | 1    | controller_request_retry
        c       | 2    | controller_request_retry
        c       | 3    | controller_request_dropped_broker_offline
        d       | 3    | controller_request_retry"""
    same(
        inputs(frame, states, lines, Settings()),
        "topic | replicas\n late |\n both | 1,0,2\n other | 1,0,2",
    )


def test_an_isr_refutes_the_assignment_where_nothing_tells_of_lost_lines(frame: Frame, same: Same) -> None:
    """With ZooKeeper until 0.10 at INFO; later ones print when leader epochs begin, and at TRACE requests."""
    states = "cluster | topic | partition_epoch | replicas | isr\n" + "".join(
        f"{name} | in | 5 | 1,0,2 | 0,1\n{name} | out | 5 | 1,0,2 | 0,3\n" for name in ("info", "later", "trace")
    )
    begins, received = "leader_epoch_started", "leader_and_isr_request_received"
    kinds = {
        name: EvidenceKinds(kraft=False, requests=requests, event_types=frozenset(types))
        for name, requests, types in (("info", False, ()), ("later", False, (begins,)), ("trace", True, (received,)))
    }
    same(
        inputs(frame, states, "event_type\n", Settings(), kinds),
        """cluster | topic | replicas
           info    | in    | 1,0,2
           info    | out   |
           later   | in    | 1,0,2
           later   | out   | 1,0,2
           trace   | in    | 1,0,2
           trace   | out   | 1,0,2""",
    )


def test_an_assignment_without_replicas_is_none_that_is_known() -> None:
    """A damaged line may print one."""
    before = state(1, (5, 9), [1, 2], replicas=[])
    after = state(2, (6, 10), [1, 2], replicas=[], trigger="preferred")
    judged = {v.rule: (v.verdict, v.missing) for at, v in judge_states(Cluster(Release(2, 4)), [before, after]) if at}
    assert judged["isr_within_replicas"] == judged["preferred_leader_elected"] == ("unknown", ("replicas",))


def test_the_last_known_leader_leads_again_uncleanly_and_may() -> None:
    """With nobody in sync or eligible; another replica would have had to be allowed (KIP-966)."""
    before = state(-1, (5, 9), [], elr=[], last_known_elr=[1])
    cluster = Cluster(Release(4, 1), kraft=True, elr_enabled=True)

    def verdict(leader: int, recovery: str | None) -> str:
        after = state(leader, (6, 10), [leader], elr=[], last_known_elr=[], recovery=recovery)
        return next(v.verdict for at, v in judge_states(cluster, [before, after]) if v.rule == "unclean_leader_alone")

    assert verdict(1, "RECOVERING") == "holds"
    assert verdict(2, "RECOVERING") == "unknown"


@pytest.mark.parametrize(
    ("release", "kraft", "trigger", "expected"),
    [
        ("3.7", True, None, ("unknown", ("trigger",))),
        ("2.4", False, None, ("unknown", ("trigger",))),
        ("2.4", False, "offline", ("violated", ())),
        ("2.3", False, None, ("violated", ())),  # nobody could ask for it
    ],
)
def test_an_administrator_may_have_asked_for_an_unclean_leader(
    release: str, kraft: bool, trigger: str | None, expected: tuple[str, tuple[str, ...]]
) -> None:
    """Requests go without the switch from 2.4 on (KIP-460); KRaft's controller logs none."""
    before = state(-1, (5, 9), [1], recovery="RECOVERED")
    after = state(2, (6, 10), [2], recovery="RECOVERING", trigger=trigger, unclean_enabled=False)
    judged = judge_states(Cluster(Release.parse(release), kraft=kraft), [before, after])
    assert [(v.verdict, v.missing) for _, v in judged if v.rule == "unclean_leader_alone"] == [expected]
    not_alone = {**after, "isr": [2, 3]}
    judged = judge_states(Cluster(Release.parse(release), kraft=kraft), [before, not_alone])
    assert [v.verdict for _, v in judged if v.rule == "unclean_leader_alone"] == ["violated"]


def test_an_eligible_replica_may_be_none_any_more_as_it_comes_back() -> None:
    """3 registers after an unclean shutdown, so 1, which led last, leads by the same record (KIP-966)."""
    cluster = Cluster(Release(4, 1), kraft=True, elr_enabled=True)
    online = {"certainly_online": [1, 3], "possibly_online": [1, 3]}
    after = state(1, (6, 10), [1], elr=[], last_known_elr=[], recovery="RECOVERING", unclean_enabled=False, **online)

    def verdicts(isr: list[int]) -> dict[str, tuple[str, tuple[str, ...]]]:
        before = state(-1, (5, 9), isr, elr=[3], last_known_elr=[1])
        return {v.rule: (v.verdict, v.missing) for _, v in judge_states(cluster, [before, after])}

    assert verdicts([])["clean_candidate_first"] == ("unknown", ("unclean_shutdown",))
    assert verdicts([])["unclean_leader_alone"] == ("unknown", ("trigger",))
    assert verdicts([3])["clean_candidate_first"] == ("violated", ())  # 3 was in sync, and there


def test_who_is_eligible_and_not_assigned_accuses_only_where_all_assignments_are_known() -> None:
    """4.1 leaves in the ELR whom a reassignment removed (kraft-4.1.0-chaos, `a-1-0`): logs that begin later show no
    reassignment. One id twice is wrong whatever was assigned before."""
    cluster = Cluster(Release(4, 1), kraft=True, elr_enabled=True)

    def verdict(*rows: dict[str, object]) -> tuple[str, tuple[str, ...]]:
        last = [v for _, v in judge_states(cluster, rows) if v.rule == "elr_disjoint_from_isr"][-1]
        return last.verdict, last.missing

    created = state(1, (0, 0), [1, 2], elr=[], replicas=[1, 2], min_isr=2)
    lost = state(-1, (1, 1), [], elr=[2, 3], last_known_elr=[2], replicas=[2], min_isr=2)
    assert verdict(created, lost) == ("violated", ())
    assert verdict(state(1, (0, 0), [1, 2, 3], elr=[], min_isr=2), lost) == ("holds", ())
    assert verdict(created, {**lost, "partition_epoch": 13}) == ("unknown", ("replicas_before",))
    assert verdict({**lost, "isr": [2], "partition_epoch": 13}) == ("violated", ())


# ---- who joins an ISR -----------------------------------------------------------------------------------------------
# broker 3 is fenced from 10:10 to 10:20
JOINABLE = """
broker | since    | until    | evidence
1      | 10:00:01 |          | @d:1
2      | 10:00:01 |          | @d:2
3      | 10:00:01 | 10:10:00 | @d:3,@d:30
3      | 10:20:00 |          | @d:40
"""
JOINING = """
topic    | partition_epoch | leader | leader_epoch | isr   | replicas | missing_before | since    | evidence
fenced   | 1               | 1      | 0            | 1,2   | 1,2,3    | 0              | 10:10:00 | @d:31
fenced   | 2               | 1      | 0            | 1,2,3 | 1,2,3    | 0              | 10:15:00 | @d:35
# records of one moment are in order, too: one comes after the fencing, the other before
at_once  | 1               | 1      | 0            | 1,2   | 1,2,3    | 0              | 10:10:00 | @d:31
at_once  | 2               | 1      | 0            | 1,2,3 | 1,2,3    | 0              | 10:10:00 | @d:32
ahead    | 1               | 1      | 0            | 1,2   | 1,2,3    | 0              | 10:09:59 | @d:28
ahead    | 2               | 1      | 0            | 1,2,3 | 1,2,3    | 0              | 10:10:00 | @d:29
unfenced | 1               | 1      | 0            | 1,2   | 1,2,3    | 0              | 10:10:00 | @d:31
unfenced | 2               | 1      | 0            | 1,2,3 | 1,2,3    | 0              | 10:20:00 | @d:41
# so shortly before the unfencing that its time may be wrong
near     | 1               | 1      | 0            | 1,2   | 1,2,3    | 0              | 10:10:00 | @d:31
near     | 2               | 1      | 0            | 1,2,3 | 1,2,3    | 0              | 10:19:59 | @d:39
# a line of a log may be late
logged   | 1               | 1      | 0            | 1,2   | 1,2,3    | 0              | 10:10:00 | 1@s:1
logged   | 2               | 1      | 0            | 1,2,3 | 1,2,3    | 0              | 10:15:00 | 1@s:2
# an election is judged by its own inputs
elected  | 1               | -1     | 0            | 2     | 1,2,3    | 0              | 10:10:00 | @d:31
elected  | 2               | 3      | 1            | 3     | 1,2,3    | 0              | 10:15:00 | @d:36
# of replica 4 no line says anything
unheard  | 1               | 1      | 0            | 1,2   | 1,2,4    | 0              | 10:10:00 | @d:31
unheard  | 2               | 1      | 0            | 1,2,4 | 1,2,4    | 0              | 10:15:00 | @d:37
"""
JOINED_AT = {
    "fenced": "violated", "at_once": "violated", "ahead": "unknown", "unfenced": "holds", "near": "unknown",
    "logged": "unknown", "elected": "unknown", "unheard": "unknown",
}  # fmt: skip
CAUSES = T.StructType(
    [
        *PARTITION_KEY,
        *struct(leader_epoch=INT, succeeded=FLAG, strategy=TEXT, trigger=TEXT, isr=IDS, live_brokers=IDS),
        *struct(certainly_online=IDS, possibly_online=IDS, lists_live=FLAG, unclean_enabled=FLAG, topic_switch=FLAG),
    ]
)


@pytest.fixture(scope="module")
def joining(frame: Frame) -> list[dict[str, object]]:
    """States of JOINING, with who was online."""
    coverage = frame(LOG_COVERAGE, COVERAGE)
    known = to_known_spans(coverage, CONTROLLER_LOGS, timedelta(hours=1), "cluster")
    records = "\n".join(f"d | {number} | metadata_partition_change" for number in range(28, 42))
    lines = f"file_id | line | event_type\n{records}\ns | 1 | partition_cached\ns | 2 | partition_cached\n"
    states = inputs(frame, JOINING, lines, Settings())
    kraft = frame(struct(cluster=TEXT), "cluster\nc\n")
    brokers = with_doubts(frame(BROKER_TIMELINE, JOINABLE), to_broker_signs(states, frame(EVENTS, "line\n")))
    caused = to_caused_states(states, frame(CAUSES, "topic\n"), brokers, known, kraft)
    return [row.asDict() for row in caused.collect()]


@pytest.mark.parametrize(("release", "is_judged"), [("3.2", False), ("3.3", True)])
def test_who_joins_an_isr_was_online(joining: list[dict[str, object]], release: str, is_judged: bool) -> None:
    """From 3.3 on (KIP-841); records of a dump are in order, so what they show can be wrong."""
    cluster = Cluster(Release.parse(release), kraft=True)

    def verdicts(topic: str) -> list[str]:
        rows = [row for row in joining if row["topic"] == topic]
        return [v.verdict for _, v in judge_states(cluster, rows) if v.rule == "isr_joiner_online"]

    assert {topic: verdicts(topic) for topic in JOINED_AT} == {
        topic: [verdict] if is_judged else [] for topic, verdict in JOINED_AT.items()
    }


def test_a_violation_names_who_joined(joining: list[dict[str, object]]) -> None:
    rows = [row for row in joining if row["topic"] == "fenced"]
    wrong = next(v for _, v in judge_states(Cluster(Release(3, 3), kraft=True), rows) if v.verdict == "violated")
    assert wrong.expected == "only online brokers joining the ISR"
    assert wrong.actual == "[3] joined, online were [1, 2]"
