"""The summary that a run prints: the words, and the figures of the two real clusters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click
import pytest

from jobs.nightly.ending import end_with_findings
from jobs.nightly.status import is_there, status_line
from jobs.nightly.summary_facts import ClusterSummary, is_zone_assumed, node_roles
from jobs.nightly.summary_queries import summarize
from jobs.nightly.summary_text import (
    clock_sentences,
    drift_texts,
    kafka_versions,
    requests_text,
    stream_doubts,
    summaries_as_json,
    summary_text,
)
from jobs.nightly.wording import Names, date_time, distinct_names, duration, ids, plural, size
from jobs.settings import Settings

if TYPE_CHECKING:
    from tests.conftest import Run

DURATIONS = {
    None: "an unknown time",
    14: "14 ms",
    999: "999 ms",
    17_800: "17.8 s",
    59_949: "59.9 s",
    200_000: "3 min 20 s",
    7_500_000: "2 h 5 min",
}
PLURALS = {
    (1, "partition"): "1 partition",
    (2, "partition"): "2 partitions",
    (0, "flap"): "0 flaps",
    (1200, "pass"): "1,200 passes",
}
RANGES = {  # ranges of the streams -> the sentence
    (): "release unknown: no message is specific to one",
    (None,): "release unknown: no message is specific to one",
    ("1.1.0..2.5.1", "2.4.0..", "2.0.0..2.4.1"): "2.4 to 2.4.1, by its messages",
    ("3.0.0..",): "3.0 or later, by its messages",
    ("2.4.0..", "1.0.0..2.0.1"): "2.4 or later, by its messages",  # streams that contradict each other
}


@pytest.mark.parametrize("ms", DURATIONS)
def test_duration(ms: int | None) -> None:
    assert duration(ms) == DURATIONS[ms]


@pytest.mark.parametrize("count_and_word", PLURALS)
def test_plural(count_and_word: tuple[int, str]) -> None:
    assert plural(*count_and_word) == PLURALS[count_and_word]


@pytest.mark.parametrize("ranges", RANGES)
def test_kafka_versions(ranges: tuple[str | None, ...]) -> None:
    assert kafka_versions([{"kafka_versions": text} for text in ranges]) == RANGES[ranges]


def test_a_release_that_nodes_print_counts_before_what_messages_allow() -> None:
    streams = [{"kafka_versions": "2.6.0..2.7.2"}]
    assert kafka_versions(streams, ["2.6.3"]) == "2.6.3, as its nodes print"
    assert kafka_versions(streams, ["2.6.3", "2.7.1"]) == "2.6.3, 2.7.1, as its nodes print"


def test_small_words() -> None:
    assert date_time(datetime(2026, 11, 21, 11, 47, 34, 963000)) == "2026-11-21 11:47:34.963"
    assert date_time(None) == "unknown"
    assert (size(99_999), size(6_600_000)) == ("99,999 bytes", "6.6 MB")
    assert (ids([0, 1]), ids([])) == ("0, 1", "unknown")


PATHS = {  # paths -> their names
    "two parts are enough": (
        ["/l/broker-3/server.log", "/l/broker-4/server.log"],
        ["broker-3/server.log", "broker-4/server.log"],
    ),
    "as many parts as tell them apart": (
        ["/l/1/logs/state-change.log", "/l/2/logs/state-change.log", "/l/2/logs/server.log"],
        ["1/logs/state-change.log", "2/logs/state-change.log", "logs/server.log"],
    ),
    "one is the end of the other": (
        ["logs/server.log", "/a/logs/server.log"],
        ["logs/server.log", "/a/logs/server.log"],
    ),
    "a name alone": (["server.log"], ["server.log"]),
}


@pytest.mark.parametrize("case", PATHS)
def test_paths_that_are_told_apart(case: str) -> None:
    paths, expected = PATHS[case]
    names = distinct_names(paths)
    assert [names[path] for path in paths] == expected


AT, LATER = datetime(2026, 11, 21, 10), datetime(2026, 11, 21, 10, 3, 20)
EVIDENCE = {"evidence": [{"node_id": 1, "file_id": "f", "line": 7}]}
STREAM = {
    "cluster": "pay", "also_seen_as": [], "role": "broker", "kind": "state_change", "status": "ok", "findings": [],
    "drift": {},
    "path": "/logs/broker-1/state-change.log", "file_id": "f", "kafka_versions": "2.4.0..2.4.1", "node_ids": [1],
    "size_bytes": 1000, "event_bytes": 1000, "detail_bytes": 1000, "reject_bytes": 1000, "other_bytes": 1000,
    "held_back_bytes": 1000, "duplicate_bytes": 1000, "event_lines": 12, "reject_lines": 1, "first_at": AT,
    "last_at": LATER, "time_zone": "UTC",
}  # fmt: skip
OUTAGE = {
    "topic": "t", "partition": 0, "since": AT, "last_leader": 2, "failed_elections": 0, "at_least_ms": 0,
    "at_most_ms": None, "duration_ms": None, "ended_before": None, **EVIDENCE,
}  # fmt: skip


def a_cluster() -> ClusterSummary:
    """Facts by hand: an open outage, one that is over, an unclean election, a violation, a reject."""
    outages: list[Mapping[str, Any]] = [
        {
            **OUTAGE, "until": None, "at_least_ms": 200_000, "cause": "broker_crash", "cause_broker": 2,
            "healed_by": None,
        },
        {
            **OUTAGE, "until": LATER, "ended_before": LATER, "duration_ms": 14, "cause": None, "cause_broker": None,
            "healed_by": "clean_election", "failed_elections": 1,
        },
        {**OUTAGE, "until": LATER, "ended_before": LATER, "cause": None, "last_leader": None, "healed_by": None},
    ]  # fmt: skip
    unclean = {
        "topic": "t", "partition": 1, "leader": 3, "leader_epoch": 6, "at": AT, "isr_before": [1],
        "lost_records_min": 12, "lost_records_max": None,
    }  # fmt: skip
    incident = {"severity": "critical", "since": AT, "title": "Broker 2 crashed; 1 partition without a leader"}
    churn = {
        "topic": "t", "partition": 2, "follower": 4, "flaps": 3, "hour": AT, "worst_out_ms": 1500,
    }  # fmt: skip
    return ClusterSummary(
        "pay",
        streams=[STREAM, {**STREAM, "file_id": "g", "path": "/logs/notes.txt", "status": "no_records"}],
        controller_terms=[{"controller_id": 1, "controller_epoch": 4, "since": AT, "until": None, "total": 1}],
        partitions=3,
        topics=1,
        states=9,
        inferred_states=2,
        missing_states=4,
        current_partitions=3,
        under_replicated=2,
        incidents=[{**incident, **EVIDENCE}],
        incident_counts={"critical": 1, "info": 2},
        elections={"succeeded": 2, "failed": 1, "unclean": 1},
        unclean_elections=[{**unclean, **EVIDENCE}],
        new_unclean=1,
        lost_records=(12, None),
        lost_to_others=(12, None),
        outages=outages,
        contradictions=[
            {"topic": "t", "partition": 2, "at": AT, "contradiction": "leader 1; leader 2", "total": 3, **EVIDENCE}
        ],
        outage_count=3,
        open_outages=1,
        new_outages=3,
        deletion_outages=4,
        churn=[churn],
        churning_followers=1,
        isr_changes=7,
        verdicts={
            "elections": {"holds": 3, "unknown": 2},
            "decisions": {"holds": 1},
            "invariants": {"holds": 4000, "violated": 1, "unknown": 7},
        },
        new_violations=1,
        violations=[
            {"rule": "leader_in_isr", "subject": "t-0#0", "at": AT, "expected": "a", "actual": "b", **EVIDENCE}
        ],
        rejects=[{"count": 2, "signature": "Never seen <n>", "first": {"file_id": "f", "line": 9}, "total": 3}],
        is_zone_assumed=True,
        missing_logs=["no log of broker 3", "no server log of any node"],
    )


def test_a_cluster_in_words() -> None:
    lines = summary_text([a_cluster()], "/w").splitlines()
    proof = "(broker-1/state-change.log:7)"
    assert lines[:-8] == [
        "CRITICAL: 1 partition without a leader, 1 unclean election, 2 ended outages, 1 violation of Kafka's rules, "
        "2 under-replicated partitions",
        "",
        "Cluster pay: 2026-11-21 10:00:00.000 to 2026-11-21 10:03:20.000 (3 min 20 s), "
        "local times read as UTC (no time_zone is set)",
        "  1 partition of 3 has no leader at the end of the logs: t-0; 2 partitions under-replicated.",
        "  1 incident (1 critical; 2 planned ones). The worst: Broker 2 crashed; 1 partition without a leader.",
        "  1 unclean election lost at least 12 records.",
        "  offline now  1 partition without a leader when the logs end:",
        "    t-0 had no leader for at least 3 min 20 s from 10:00:00.000: broker 2 crashed; "
        f"still offline at the end of the logs {proof}",
        "  incidents    1, the worst first:",
        f"    CRITICAL 10:00:00.000  Broker 2 crashed; 1 partition without a leader {proof}",
        "  outages      2 that ended, the longest first:",
        "    t-0 had no leader for 14 ms from 10:00:00.000: it lost its leader 2; "
        f"ended by a clean election at 10:03:20.000, after 1 failed election {proof}",
        f"    t-0 had no leader for an unknown time from 10:00:00.000: cause unknown; ended at 10:03:20.000 {proof}",
        "  deletions    4 partitions waited without a leader for a topic to be deleted",
        "  unclean      1 unclean election:",
        "    t-1: broker 3 became leader at 10:00:00.000 in leader epoch 6, the ISR was 1; "
        f"it lost at least 12 records {proof}",
        "  elections    2 succeeded, 1 failed, 1 unclean",
        "  ISR          7 replica changes, 1 follower churning; worst: broker 4 of t-2, "
        "3 flaps in the hour from 10:00, out of sync for up to 1.5 s",
        "  reassigned   none",
        "  replay       3 elections match Kafka's algorithm, 0 do not, 2 cannot be judged",
        "               1 other decision matches it, 0 do not",
        "               4,000 checks of invariants hold, 1 do not, 7 cannot be judged: "
        "inputs are missing from the logs",
        f"    leader_in_isr is violated by t-0#0 at 10:00:00.000: expected a, but it was b {proof}",
        "  controllers  1 term: 1 (epoch 4) 10:00:00.000 to the end of the logs",
        "  partitions   3 in 1 topic, 9 states, 2 of them inferred; 4 more states not fully in the logs",
        "  conflicts    log lines disagree about 3 states:",
        f"    t-2 at 10:00:00.000: leader 1; leader 2 {proof}",
        "  Kafka        2.4 to 2.4.1, by its messages",
        "  logs         2 streams (1 without log records) of nodes 1, 2,000 bytes: 24 events (4,000 bytes), "
        "2,000 bytes out of scope, 2,000 bytes rejected, 2,000 bytes held back as incomplete, 2,000 bytes read before",
        '               2 lines like "Never seen <n>", first at broker-1/state-change.log:9',
        "               and 2 other kinds: SELECT signature, count(*) FROM rejects GROUP BY signature",
        "  missing      no log of broker 3",
        "               no server log of any node",
    ]
    assert lines[-7:] == [
        "Where to look next:",
        "  kafka-rewind incidents --warehouse /w",
        "  kafka-rewind outages --warehouse /w",
        "  kafka-rewind why t-0 --warehouse /w",
        "  kafka-rewind brokers --warehouse /w",
        "  kafka-rewind loss --warehouse /w",
        "  kafka-rewind report -o night.html --warehouse /w",
    ]


def test_of_several_clusters_the_next_commands_are_about_the_worst() -> None:
    good = ClusterSummary("a good one")
    lossless = a_cluster()
    lossless.cluster, lossless.lost_to_others = "lost nothing", (0, 0)
    assert "\n  kafka-rewind loss --cluster pay --warehouse /w\n" in summary_text([lossless, a_cluster()], "/w")
    assert "\n  kafka-rewind why t-0 --cluster pay --warehouse /w\n" in summary_text([good, a_cluster()], "/w")
    assert "\n  kafka-rewind why TOPIC-PARTITION --cluster 'a good one' --warehouse /w\n" in summary_text(
        [good, ClusterSummary("b")], "/w"
    )
    # one that was asked for may be one of several
    asked_for = summary_text([a_cluster()], "/w", names_cluster=True)
    assert "\n  kafka-rewind loss --cluster pay --warehouse /w\n" in asked_for


def test_the_next_commands_can_be_pasted() -> None:
    assert "\n  kafka-rewind loss --warehouse '/the night/w'\n" in summary_text([a_cluster()], "/the night/w")


SINGLE_POINTS: dict[str, tuple[list[tuple[int, int, int, list[str]]], list[str]]] = {
    # broker, partitions that it alone has in sync, those without another replica, names -> lines
    "none": ([], []),
    "one": ([(3, 1, 0, ["a-0"])], ["1 partition lives on broker 3 alone, its other replicas are not in sync: a-0"]),
    "several": (
        [(3, 14, 2, ["a-0", "a-1"]), (4, 2, 0, ["b-0", "b-1"]), (5, 0, 1, [])],
        ["14 partitions live on broker 3 alone, their other replicas are not in sync: a-0, a-1 and 12 more",
         "2 partitions live on broker 4 alone, their other replicas are not in sync: b-0, b-1",
         "3 partitions have one replica only: 2 on broker 3, 1 on broker 5"],
    ),
    "many brokers": (
        [(broker, 1, 0, ["a-0"]) for broker in range(7)],
        [*(f"1 partition lives on broker {b} alone, its other replicas are not in sync: a-0" for b in range(5)),
         "2 more partitions on one of 2 other brokers alone"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SINGLE_POINTS)
def test_what_lives_on_one_broker_alone(case: str) -> None:
    brokers, expected = SINGLE_POINTS[case]
    summary = a_cluster()
    names = ("broker", "alone", "unreplicated", "names")
    summary.single_points = [dict(zip(names, values, strict=True)) for values in brokers]
    lines = summary_text([summary], "/w").splitlines()
    before = next(number for number, line in enumerate(lines) if line.startswith("  incidents "))
    shown = [line[15:] for line in lines[before - len(expected) : before]]
    assert shown == expected
    assert sum("single point" in line for line in lines) == (1 if expected else 0)


def test_of_many_unclean_elections_it_says_that_these_lost_most() -> None:
    summary = a_cluster()
    summary.new_unclean, summary.elections = 21, {**summary.elections, "unclean": 21}
    assert "  unclean      21 unclean elections, the 5 that lost most:\n" in summary_text([summary], "/w")


LOST = {  # unclean elections, those of the last leader itself, what the others lost -> the sentence
    "another leads": (2, 0, (5, 9), "2 unclean elections lost 5 to 9 records."),
    "the last leader leads on": (
        1, 1, (0, 0),
        "1 unclean election, in which the last leader itself led on: records are lost only if its disk lost them."),
    "both": (3, 1, (5, 5), "3 unclean elections lost 5 records; in 1 of them the last leader itself led on."),
    "both, and not all is known": (
        3, 1, (0, None),
        "3 unclean elections: how many records were lost is not known; in 1 of them the last leader itself led on."),
}  # fmt: skip


@pytest.mark.parametrize("case", LOST)
def test_what_unclean_elections_lost(case: str) -> None:
    summary = a_cluster()
    summary.new_unclean, summary.new_led_on, summary.lost_to_others, sentence = LOST[case]
    assert f"  {sentence}\n" in summary_text([summary], "/w")


def test_what_is_new_since_the_last_run() -> None:
    """What an earlier run has named is only counted; what is open is said again."""
    summary = a_cluster()
    summary.known_until = datetime(2026, 11, 21, 10, 1)
    summary.incidents, summary.incident_counts = [], {}
    summary.unclean_elections, summary.new_unclean, summary.lost_records = [], 0, (0, 0)
    summary.outages, summary.new_outages, summary.deletion_outages = summary.outages[:1], 1, 0
    summary.violations, summary.new_violations, summary.under_replicated = [], 0, 0
    text = summary_text([summary], "/w")
    assert text.startswith("CRITICAL: 1 partition without a leader\n")
    assert (
        "  No incident since the last run (10:01:00.000).\n  No new unclean election, so none lost records.\n" in text
    )
    assert "  incidents    none since the last run\n" in text
    assert "  outages      no others since the last run; 2 before it\n" in text
    assert "  unclean      none since the last run; 1 before it\n" in text
    summary.outages, summary.new_outages, summary.open_outages = [], 0, 0
    text = summary_text([summary], "/w")
    assert text.startswith("OK: nothing is wrong in 1 cluster, and nothing went wrong since 2026-11-21 10:01:00.000\n")


OPEN_INCIDENTS = {  # numbers by severity, of these open since before -> the sentence, and the head of the list
    "nothing new": (
        {"major": 1, "minor": 3, "info": 1},
        {"major": 1, "minor": 3, "info": 1},
        "No incident since the last run (10:01:00.000); 4 from before still open (1 major, 3 minor). The worst: X.",
        "4 from before still open, the worst first:",
    ),
    "some new": (
        {"critical": 2, "minor": 4, "info": 3},
        {"minor": 3, "info": 1},
        "3 incidents since the last run (10:01:00.000) (2 critical, 1 minor; 2 planned ones); "
        "3 from before still open (3 minor). The worst: X.",
        "3 new, 3 from before still open, the 5 worst:",
    ),
    "all new": (
        {"minor": 1},
        {},
        "1 incident since the last run (10:01:00.000) (1 minor). The worst: X.",
        "1 new, the worst first:",
    ),
}


@pytest.mark.parametrize("case", OPEN_INCIDENTS)
def test_an_incident_that_is_open_since_before_the_last_run_is_not_new(case: str) -> None:
    summary = a_cluster()
    summary.known_until = datetime(2026, 11, 21, 10, 1)
    summary.incident_counts, summary.older_incidents, sentence, head = OPEN_INCIDENTS[case]
    summary.incidents = [{**summary.incidents[0], "title": "X"}]
    text = summary_text([summary], "/w")
    assert f"  {sentence}\n" in text
    assert f"  incidents    {head}\n" in text


SHUTDOWNS = {  # open outages, those by a shutdown, of which brokers -> the end of the first sentence
    "the whole cluster": (28, 28, [0, 1, 2], " All of them lost their leaders because brokers 0, 1, 2 were shut down."),
    "some": (28, 3, [1], " 3 of them lost their leaders because broker 1 was shut down."),
    "one of several": (28, 1, [1], " 1 of them lost its leader because broker 1 was shut down."),
    "one": (1, 1, [1], " It lost its leader because broker 1 was shut down."),
    "none": (28, 0, [], ""),
}


@pytest.mark.parametrize("case", SHUTDOWNS)
def test_partitions_of_brokers_that_were_shut_down(case: str) -> None:
    summary = a_cluster()
    summary.open_outages, summary.open_by_shutdown, summary.shut_down, end = SHUTDOWNS[case]
    first = next(line for line in summary_text([summary], "/w").splitlines() if "no leader at the end" in line)
    assert first.endswith(f"2 partitions under-replicated.{end}")


LEADERS: dict[str, tuple[dict[str, Any], str]] = {  # what differs from three partitions that are led -> the sentence
    "all are led": ({}, "Each of 3 partitions has a leader at the end of the logs."),
    "one waits for its topic's deletion": (
        {"open_deletions": 1},
        "2 of 3 partitions have a leader at the end of the logs; 1 waits for its topic's deletion.",
    ),
    "two do": (
        {"open_deletions": 2, "under_replicated": 1},
        "1 of 3 partitions has a leader at the end of the logs; 2 wait for their topic's deletion; 1 partition "
        "under-replicated.",
    ),
    "new ones were never led": (
        {"first_leader_waits": [{"topic": "t", "partition": n} for n in range(5)], "waiting_partitions": 7},
        "Each of 3 partitions has a leader at the end of the logs; 7 new partitions wait for their first leader: t-0, "
        "t-1, t-2, t-3, t-4 and 2 more.",
    ),
    "there is no other than a new one": (
        {"current_partitions": 0, "first_leader_waits": [{"topic": "t", "partition": 0}], "waiting_partitions": 1},
        "No state of a partition is in the logs; 1 new partition waits for its first leader: t-0.",
    ),
    "one is offline, another one waits": (
        {"outages": [{**OUTAGE, "cause": None, "healed_by": None}], "open_outages": 1, "open_deletions": 1},
        "1 partition of 3 has no leader at the end of the logs: t-0; 1 waits for its topic's deletion.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LEADERS)
def test_who_has_a_leader_at_the_end_of_the_logs(case: str) -> None:
    fields, sentence = LEADERS[case]
    summary = ClusterSummary("pay", **{"streams": [STREAM], "current_partitions": 3, **fields})
    assert summary_text([summary], "/w").splitlines()[3] == f"  {sentence}"


def test_deletions_are_no_outages_and_yet_without_a_leader() -> None:
    summary = ClusterSummary("pay", streams=[STREAM], deletion_outages=1)
    text = summary_text([summary], "/w")
    assert (
        "\n  outages      no partition was without a leader, deletions apart\n  deletions    1 partition waited" in text
    )


STATUSES: dict[str, tuple[dict[str, Any], str]] = {  # what differs from a cluster with nothing wrong -> the first line
    "nothing": ({}, "OK: nothing is wrong in 1 cluster"),
    "an open outage": ({"open_outages": 2, "new_outages": 2}, "CRITICAL: 2 partitions without a leader"),
    "a new partition that was never led": (
        {"waiting_partitions": 1},
        "WARNING: 1 new partition without its first leader",
    ),
    "one that ended": ({"new_outages": 1}, "WARNING: 1 ended outage"),
    "an unclean election": ({"new_unclean": 1}, "CRITICAL: 1 unclean election"),
    "a stuck reassignment": ({"reassignments": {"stuck": 1, "completed": 4}}, "WARNING: 1 stuck reassignment"),
    "nothing that the logs tell": (
        {"cannot_be_told": {"outages": "cannot be told from these logs"}, "outage_count": None},
        "WARNING: whether partitions were without a leader cannot be told",
    ),
    "more than the logs tell": (
        {"cannot_be_told": {"outages": "cannot be told from these logs"}, "open_outages": 1, "new_outages": 1},
        "CRITICAL: 1 partition without a leader, whether there were more outages cannot be told",
    ),
}


@pytest.mark.parametrize("case", STATUSES)
def test_the_first_line(case: str) -> None:
    fields, line = STATUSES[case]
    assert status_line([ClusterSummary("pay", **fields)]) == line


def test_the_first_line_of_several_clusters() -> None:
    """The worst decides; a cluster with nothing wrong is not named."""
    clusters = [ClusterSummary("a", new_outages=1), ClusterSummary("b"), ClusterSummary("c", new_unclean=2)]
    assert status_line(clusters) == "CRITICAL: c: 2 unclean elections; a: 1 ended outage"


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("incidents", {"incident_counts": {"minor": 1}}),
        ("unclean", {"new_unclean": 1}),
        ("offline", {"new_outages": 1}),
        ("violated", {"new_violations": 1}),
    ],
)
def test_what_a_run_can_fail_on(kind: str, fields: dict[str, Any]) -> None:
    quiet = ClusterSummary("a", incident_counts={"info": 3}, elections={"unclean": 4}, outage_count=5)
    assert is_there([quiet, ClusterSummary("b", **fields)], kind)
    assert not is_there([quiet], kind)


def test_a_run_that_is_to_fail_ends_with_1() -> None:
    """For what it is asked for, and nothing else."""
    unclean = ClusterSummary("a", new_unclean=1)
    with pytest.raises(click.exceptions.Exit) as ended:
        end_with_findings([unclean], ["offline", "unclean"])
    assert ended.value.exit_code == 1
    end_with_findings([unclean], ["offline"])
    end_with_findings([unclean], [])


def test_summaries_for_programs() -> None:
    [data] = json.loads(summaries_as_json([a_cluster()]))
    assert (data["status"], data["reasons"][0]) == ("CRITICAL", "1 partition without a leader")
    assert (data["cluster"], data["new_unclean"], data["lost_records"]) == ("pay", 1, [12, None])
    assert data["outages"][0]["since"] == "2026-11-21T10:00:00.000Z"


def test_a_quiet_cluster_in_words() -> None:
    quiet = ClusterSummary("pay", streams=[{**STREAM, "reject_bytes": 0, "held_back_bytes": 0, "duplicate_bytes": 0}])
    quiet.churn = [{"flaps": 0}]
    text = summary_text([quiet], "/w")
    assert (
        "\n  No state of a partition is in the logs.\n  No incident.\n  No unclean election, so none lost records.\n"
        in text
    )
    assert "1,000 bytes out of scope, nothing rejected\n" in text
    assert "  controllers  no term is in the logs\n" in text
    assert "  elections    0 succeeded, 0 failed, 0 unclean\n" in text
    assert "  outages      no partition was without a leader\n" in text
    assert "  unclean      no unclean elections\n" in text
    assert "  ISR          0 replica changes, 0 followers churning\n" in text
    assert "  replay       0 elections match Kafka's algorithm, 0 do not\n" in text


def test_times_have_dates_where_logs_are_of_several_days() -> None:
    summary = a_cluster()
    summary.streams = [{**STREAM, "last_at": datetime(2026, 11, 23, 1)}]
    text = summary_text([summary], "/w")
    assert "1 (epoch 4) 2026-11-21 10:00:00.000 to the end of the logs" in text
    assert "3 flaps in the hour from 2026-11-21 10:00, out of sync" in text


def test_what_is_too_much_is_a_number() -> None:
    summary = a_cluster()
    terms: list[Mapping[str, Any]] = [
        {"controller_id": 1, "controller_epoch": epoch, "since": AT, "until": AT, "total": 9} for epoch in range(6)
    ]
    summary.controller_terms = terms
    summary.streams = [{**STREAM, "findings": [f"finding {i}" for i in range(7)]}]
    text = summary_text([summary], "/w")
    assert "9 terms, the last 5: 1 (epoch 1) 10:00:00.000 to 10:00:00.000; 1 (epoch 2)" in text
    assert "  doubtful     broker-1/state-change.log: finding 0\n" in text
    assert "               and 2 more: SELECT path, findings FROM log_files\n" in text


def offset(node: int, *, applied: tuple[float, float] | None = None, **words: Any) -> dict[str, Any]:
    """What the offsets of a node are together; `applied`: what was taken off at least and at most."""
    least, most = applied or (None, None)
    usual = {"reference": 1, "pairs": 10, "contradicting": False}
    return {"node_id": node, "corrected": applied is not None, "from_ms": least, "to_ms": most, **usual, **words}


CLOCKS: dict[str, tuple[list[dict[str, Any]], set[int], list[str]]] = {  # offsets by node, who logged -> sentences
    "one node has nothing to agree with": ([], {1}, []),
    "all agree": ([offset(1), offset(2)], {1, 2}, ["no clock skew detected (10 line pairs)"]),
    "nothing to compare": ([], {1, 2}, ["no lines to compare nodes 1, 2 with other nodes: times are not corrected"]),
    "one is ahead, one behind, one was set, one cannot be compared": (
        [
            offset(1),
            offset(2, applied=(299_997.2, 300_031.0)),
            offset(3, applied=(-20.0, -20.2)),
            offset(4, contradicting=True),
        ],
        {1, 2, 3, 4, 5},
        [
            "node 2 was ahead of node 1 by 299,997 to 300,031 ms; its times are corrected",
            "node 3 was behind node 1 by 20 ms; its times are corrected",
            "line pairs of node 4 are inconsistent, as if a clock had been set: times are not corrected",
            "no clock skew detected on node 1 (20 line pairs)",
            "no lines to compare node 5 with other nodes: times are not corrected",
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CLOCKS)
def test_clocks_in_words(case: str) -> None:
    offsets, nodes, sentences = CLOCKS[case]
    assert clock_sentences(offsets, nodes) == sentences


def test_requests_in_words() -> None:
    none = {"stale": None, "failed": None, "slowest_ms": None, "only_sent": 0}
    assert requests_text([{"kind": None, "total": 2, **none}]) == "2 from controllers to brokers: 2 of unknown kind"
    both = [
        {"kind": "LeaderAndIsr", "total": 1300, "stale": 2, "failed": 1, "slowest_ms": 1500, "only_sent": 0},
        {"kind": "UpdateMetadata", "total": 3, "stale": 0, "failed": 0, "slowest_ms": 20, "only_sent": 3},
    ]
    assert requests_text(both) == (
        "1,303 from controllers to brokers: 1,300 LeaderAndIsr, 3 UpdateMetadata; slowest response after 1.5 s; "
        "2 ignored as stale; 1 answered with an error; 3 logged only by the sender"
    )


ROW = {
    "path": "/l/broker-1/server.log.2026-11-21-04", "file_id": "r", "also_seen_as": [], "node_ids": [1],
    "role": "broker", "kind": "server", "findings": [], "drift": {}, "first_at": datetime(2026, 11, 21, 4, 1),
    "last_at": datetime(2026, 11, 21, 4, 59), "time_zone": "UTC",
}  # fmt: skip


def test_what_makes_streams_doubtful() -> None:
    """Their own findings, by name unless they name it; and names of hours that contradict their zone, by two hours."""
    hours = [
        {
            **ROW,
            "path": f"/l/broker-1/server.log.2026-11-21-0{hour + 2}",
            "first_at": at,
            "last_at": at.replace(minute=59),
        }
        for hour in (3, 4, 5)
        for at in [datetime(2026, 11, 21, hour, 1)]
    ]
    dark = {
        **ROW,
        "path": "/l/a.gz",
        "findings": ["This file cannot be read: /l/a.gz (it ends early); leave it out."],
        "first_at": None,
    }
    mixed = {**ROW, "findings": ["several nodes write to it: 1, 2; records may be missing"]}
    streams = [dark, mixed, *hours]
    assert stream_doubts(streams, Names(streams)) == [
        "broker 1's file names are 2 h ahead of its time stamps (3 files): its zone is probably not UTC; "
        "see time_zone in conf",
        "This file cannot be read: /l/a.gz (it ends early); leave it out.",
        "broker-1/server.log.2026-11-21-04: several nodes write to it: 1, 2; records may be missing",
    ]
    assert stream_doubts([ROW], Names([ROW])) == []


ASSUMED: dict[
    str, tuple[Settings, dict[str, Any], bool]
] = {  # settings, what differs in the row -> whether its zone is a guess
    "nobody said": (Settings(), {}, True),
    "said for all": (Settings(time_zone="UTC"), {}, False),
    "said for its node": (Settings(node_time_zones={1: "UTC"}), {}, False),
    "said for one of its nodes": (Settings(node_time_zones={1: "UTC"}), {"node_ids": [1, 2]}, True),
    "of nobody": (Settings(node_time_zones={1: "UTC"}), {"node_ids": []}, True),
    "a dump counts from 1970": (Settings(), {"kind": "metadata_dump"}, False),
    "no times": (Settings(), {"first_at": None}, False),
}


@pytest.mark.parametrize("case", ASSUMED)
def test_a_zone_that_nobody_set(case: str) -> None:
    settings, row, is_assumed = ASSUMED[case]
    assert is_zone_assumed({**ROW, **row}, settings) == is_assumed


def test_what_nodes_are() -> None:
    rows = [("broker", [1]), ("broker", [1]), ("controller", [1, 100]), (None, [7])]
    assert node_roles([{"role": role, "node_ids": nodes} for role, nodes in rows]) == {1: "broker", 100: "controller"}


def test_a_controller_s_server_logs_do_not_make_it_a_broker() -> None:
    """Two server.logs that look like a broker's, one controller.log; a combined node has a state-change.log, too."""
    rows = [("broker", "server", 100), ("broker", "server", 100), ("controller", "controller", 100)]
    rows += [("broker", "server", 1), ("broker", "state_change", 1), ("controller", "controller", 1)]
    streams = [{"role": role, "kind": kind, "node_ids": [node]} for role, kind, node in rows]
    assert node_roles(streams) == {1: "broker", 100: "controller"}


def test_the_screen_of_the_zookeeper_cluster(zk: Run) -> None:
    """Figures of data/README.md: 29 partitions, 3 unclean elections, 24 outages of which none is open, 4 terms."""
    text = summary_text(summarize(zk.warehouse), zk.warehouse.root)
    lines = {line.split()[0]: line for line in text.splitlines() if line.startswith("  ") and line[2] != " "}
    assert text.startswith(
        "CRITICAL: 3 unclean elections, 24 ended outages\n\n"
        "Cluster default: 2026-11-21 11:44:15.962 to 2026-11-21 11:48:19.436 (4 min 3 s), "
        "local times read as UTC (no time_zone is set)\n"
    )
    assert lines["Kafka"].endswith(" 2.4.1, as its nodes print")
    assert "nodes 0, 1, 2, 3, 4" in lines["logs"]
    assert "nothing rejected" in lines["logs"]
    assert "4 terms: 3 (epoch 1)" in lines["controllers"]
    assert "0 (epoch 4) 11:46:45.431 to the end of the logs" in lines["controllers"]
    assert lines["partitions"].endswith("29 in 5 topics, 362 states, 51 of them inferred")
    assert lines["elections"].endswith("3 unclean")
    assert "  Each of 29 partitions has a leader at the end of the logs.\n  8 incidents (1 critical, " in text
    assert lines["outages"].endswith("24 that ended, the 5 longest:")
    assert lines["unclean"].endswith("3 unclean elections:")
    assert "12 completed" in lines["reassigned"]
    assert lines["replay"].endswith("109 elections match Kafka's algorithm, 0 do not")
    assert (
        "    payments-0 had no leader for 17.8 s from 11:47:34.961: broker 1 crashed; "
        "ended by the return of broker 1 at 11:47:52.714" in text
    )
    for partition, epoch, count in ((0, 6, 147), (1, 7, 76), (3, 6, 144)):
        assert f"    unclean_ok-{partition}: broker 2 became leader at 11:47:37.28" in text
        assert f"in leader epoch {epoch}, the ISR was 1; it lost {count} records " in text


def test_the_screen_of_the_kraft_cluster(kraft: Run) -> None:
    text = summary_text(summarize(kraft.warehouse), kraft.warehouse.root)
    assert "nodes 0, 1, 2, 3, 4, 100, 101, 102" in text
    assert "nothing rejected" in text
    assert "4 terms: 100 (epoch 2) 11:50:02.109" in text
    assert "  unclean      7 unclean elections, the 5 that lost most:" in text
    assert "  7 unclean elections lost 236 records; in 2 of them the last leader itself led on.\n" in text
    assert "1 cancelled, 11 completed" in text
    assert ", 0 do not," in text


def test_records_that_no_rule_knows_in_full() -> None:
    """They were read, so it is no reject; records of several streams add up, the most frequent name is first."""
    drifts = [{"cordonedLogDirs": 160, "appended text": 1}, {"cordonedLogDirs lastSeen": 6}, None]
    assert drift_texts([{**STREAM, "drift": drift} for drift in drifts]) == [
        "166 records with fields that no rule knows: cordonedLogDirs, lastSeen",
        "1 record with text behind what a rule knows: fields['appended'] of events",
    ]
    assert drift_texts([STREAM]) == []
