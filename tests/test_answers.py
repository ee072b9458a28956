"""Ready answers over a small warehouse: what sums it up, what is counted, and what is not known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from jobs.answers.incidents import numbered_lines
from jobs.answers.outages import OutageGroup, group_length
from jobs.cli import main
from jobs.nightly.published_summary import summaries_in
from jobs.settings import Settings
from schemas.kafka_values import MIN_ISR
from tests.answers_warehouse import CONTROLLER, STATE, moment, night, partition, proof, row, state, tables
from tests.delta_warehouse import Rows


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return night(tmp_path_factory.mktemp("answers") / "w")


def run(root: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--warehouse", str(root)], catch_exceptions=False)


def data(root: Path, *arguments: str) -> dict[str, Any]:
    result = run(root, *arguments, "--format", "json")
    assert result.exit_code == 0, result.stderr
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


SPAN = "from 2026-11-21 10:00:00.000 to 10:10:00.000 UTC"


# ---- lists ----------------------------------------------------------------------------------------------------------
def test_outages_have_open_ones_first(warehouse: Path) -> None:
    answer = data(warehouse, "outages")
    assert answer["answer"] == (
        f"1 partition had no leader when the logs end: 2 outages of 2 partitions {SPAN}, 2 min 59 s of partition time, the "
        "longest of pay-in-1 for at least 2 min 0 s."
    )
    assert [(one["partition"], one["lines"]) for one in answer["outages"]] == [
        (1, ["broker-3/state-change.log:50"]),
        (0, ["broker-3/state-change.log:41", "broker-3/state-change.log:42"]),
    ]
    assert answer["cannot_be_told"] == ["The cause of 1 outage."]


def test_outages_of_one_cause_are_told_once_and_deletions_last(tmp_path: Path) -> None:
    """Three partitions led by broker 1 within five seconds; one ten seconds later; two of a deleted topic."""

    def lost(number: int, since: str, **values: Any) -> dict[str, Any]:
        times = {"since": since, "until": "10:09:00", "ended_before": "10:09:00", "began_after": since}
        return partition(number, **times, duration_ms=1000, at_least_ms=1000, at_most_ms=1000, failed_elections=0, evidence=[], **values)  # fmt: skip

    by_1 = {"cause": "broker_failure", "cause_broker": 1, "healed_by": "clean_election"}
    outages = [
        *(lost(number, f"10:05:0{number}", **by_1) for number in range(3)),
        lost(3, "10:05:20", **by_1),
        *(lost(number, "10:05:01", last_leader=number, healed_by="topic_deletion") for number in (4, 5)),
    ]
    text = run(night(tmp_path / "w", {"offline_partitions": outages}), "outages").stdout
    assert "All have ended: 4 outages of 4 partitions" in text
    assert "2 more outages of topics that were deleted" in " ".join(text.split())
    groups = [line.strip() for line in text.splitlines() if "pay-in-" in line and "(" in line]
    assert groups == [
        "3 partitions: pay-in-0, pay-in-1, pay-in-2  (no line)",
        "pay-in-3  (no line)",
        "2 partitions: pay-in-4, pay-in-5  (no line)",
    ]


CRASH_OF_TWO = [
    partition(
        0, since="10:05", until="10:05:20", duration_ms=20_000, at_least_ms=20_000, at_most_ms=20_000, began_after="10:05",
        ended_before="10:05:20", healed_by="clean_election", cause="broker_crash", cause_broker=1, last_leader=1,
        last_isr=[1, 2], failed_elections=0, evidence=[],
    ),
    partition(
        1, since="10:05:01", at_least_ms=299_000, began_after="10:05:01", cause="broker_crash", cause_broker=1,
        last_leader=1, last_isr=[1], failed_elections=0, evidence=[],
    ),
]  # fmt: skip
"""Broker 1 crashes: pay-in-0 is led again after 20 s, pay-in-1 has no leader at the end of the logs."""


def test_what_has_a_leader_again_is_not_told_with_what_is_still_offline(tmp_path: Path) -> None:
    text = run(night(tmp_path / "w", {"offline_partitions": CRASH_OF_TWO}), "outages").stdout
    assert text.splitlines()[-5:] == [
        "",
        "2026-11-21 10:05:01.000  STILL OFFLINE  at least 4 min 59 s, broker 1 crashed",
        "                         pay-in-1  (no line)",
        "2026-11-21 10:05:00.000  offline        20.0 s, broker 1 crashed; ended by a clean election",
        "                         pay-in-0  (no line)",
    ]


def test_brokers_of_which_a_shutdown_is_the_cause(tmp_path: Path) -> None:
    """Of one it says `was`, of two `were`."""
    shut_down = {**CRASH_OF_TWO[1], "cause": "controlled_shutdown"}
    other = {**shut_down, "partition": 2, "cause_broker": 3}
    one, two = (
        data(night(tmp_path / str(len(rows)), {"offline_partitions": rows}), "outages")["answer"]
        for rows in ([shut_down], [shut_down, other])
    )
    assert one.startswith("1 partition had no leader when the logs end, because broker 1 was shut down: ")
    assert two.startswith("2 partitions had no leader when the logs end, because brokers 1, 3 were shut down: ")


NARROWED = {  # options -> partitions of the outages, how many unclean elections, where the answer says that it looked
    "": ([1, 0], 1, "from 2026-11-21 10:00:00.000 to 10:10:00.000 UTC"),
    "--until 10:05:10": ([0], 0, "from 2026-11-21 10:00:00.000 to 10:05:10.000 UTC"),
    "--since 10:05:59.5 --until 10:06:30": ([0], 1, "from 2026-11-21 10:05:59.500 to 10:06:30.000 UTC"),
    "--since -3m": ([1], 0, "from 2026-11-21 10:07:00.000 to 10:10:00.000 UTC"),
    "--since 2026-11-20": ([1, 0], 1, "from 2026-11-21 10:00:00.000 to 10:10:00.000 UTC"),
    "--topic pay-in": ([1, 0], 1, "from 2026-11-21 10:00:00.000 to 10:10:00.000 UTC in topic pay-in"),
    "--topic p.*": ([1, 0], 1, "from 2026-11-21 10:00:00.000 to 10:10:00.000 UTC in topics that match 'p.*'"),
}


@pytest.mark.parametrize("options", NARROWED)
def test_outages_and_losses_of_a_time_and_of_topics(options: str, warehouse: Path) -> None:
    """pay-in-0 had no leader from 10:05 to 10:06, which an unclean election ended; pay-in-1 has none since 10:08."""
    partitions, unclean, span = NARROWED[options]
    answer = data(warehouse, "outages", *options.split())
    assert [one["partition"] for one in answer["outages"]] == partitions
    assert span in answer["answer"]
    assert ("in topic" in answer["answer"]) == ("in topic" in span)
    answer = data(warehouse, "loss", *options.split())
    assert len(answer["unclean_elections"]) == unclean
    assert span in answer["answer"]


NOT_THERE = {  # options -> the end of the sentence
    "--topic pay-inn": "There is no topic pay-inn in the logs; did you mean pay-in?",
    "--topic pay-in-0": "pay-in-0 is partition 0 of topic pay-in, give --topic pay-in.",
    "--since 10:11": "The logs end at 2026-11-21T10:10:00.000Z: nothing is known since 2026-11-21T10:11:00.000Z.",
    "--until 09:59": "The logs begin at 2026-11-21T10:00:00.000Z: nothing is known until 2026-11-21T09:59:00.000Z.",
    "--since 10:06 --until 10:05": "--since 2026-11-21T10:06:00.000Z is after --until 2026-11-21T10:05:00.000Z; exchange them.",
}  # fmt: skip


@pytest.mark.parametrize("command", ["outages", "loss"])
@pytest.mark.parametrize("options", NOT_THERE)
def test_what_is_not_in_the_logs_cannot_be_asked_for(options: str, command: str, warehouse: Path) -> None:
    result = run(warehouse, command, *options.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.endswith(f"{NOT_THERE[options]}\n")


LENGTHS: dict[
    str, tuple[list[tuple[int, int | None, int | None]], str]
] = {  # least, most and, if it is known, length of each outage of a group, ms -> what is said
    "one, known": ([(500, 500, 500)], "500 ms"),
    "one, with bounds": ([(43, 20_900, None)], "43 ms to 20.9 s"),
    "several": ([(500, 500, 500), (2000, 2000, 2000)], "up to 2.0 s"),
    "several, of which the longest has bounds": ([(500, 500, 500), (43, 20_900, None)], "up to 20.9 s"),
    "several, of which one may be of any length": ([(500, 500, 500), (700, None, None)], "at least 700 ms"),
}


@pytest.mark.parametrize("case", LENGTHS)
def test_how_long_outages_of_a_group_were(case: str) -> None:
    lengths, expected = LENGTHS[case]
    rows = [
        partition(0, since="10:05", ended_before="10:09", at_least_ms=least, at_most_ms=most, duration_ms=known)
        for least, most, known in lengths
    ]
    assert group_length(OutageGroup(rows)) == expected


def test_an_outage_that_a_crash_began_counts_though_a_deletion_ended_it(tmp_path: Path) -> None:
    """Its partition was missed until somebody deleted the topic; one that waited for the deletion was not."""
    crash = {**tables()["offline_partitions"][0], "cause": "broker_crash", "healed_by": "topic_deletion"}
    root = night(tmp_path / "w", {"offline_partitions": [crash]})
    assert data(root, "outages")["answer"].startswith("All have ended: 1 outage of 1 partition")
    assert [topic["outages"] for topic in data(root, "availability")["topics"]] == [1]
    assert json.loads(run(root, "summary", "--format", "json").stdout)[0]["deletion_outages"] == 0
    waiting = night(tmp_path / "o", {"offline_partitions": [{**crash, "cause": "topic_deletion"}]})
    assert data(waiting, "outages")["answer"].startswith("No partition was without a leader")
    assert [topic["outages"] for topic in data(waiting, "availability")["topics"]] == [0]
    assert json.loads(run(waiting, "summary", "--format", "json").stdout)[0]["deletion_outages"] == 1


def test_the_problem_child_comes_first(warehouse: Path) -> None:
    answer = data(warehouse, "brokers")
    assert answer["answer"] == (
        "The problem child is broker 1, by the time that partitions had no leader because of it: away 1 time (5 min 0 s); 1 outage "
        "because of it, 60.0 s of partition time, the longest of pay-in-0 for 60.0 s. At the end of the logs broker 1 was gone."
    )
    assert [(one["broker"], one["left_isr"], one["state"]) for one in answer["brokers"]] == [
        (1, 0, "gone"), (2, 1, "alive"), (3, 0, "alive"),
    ]  # fmt: skip
    assert "Which broker is behind 1 outage: they count for none." in answer["cannot_be_told"]


def test_a_broker_that_a_reassignment_takes_out_of_an_isr_did_not_fall_out_of_it(tmp_path: Path) -> None:
    """From 10:01 to 10:04 pay-in-0 moves from 1, 2 to 1, 3. Broker 2 leaves its ISR as the end of that, seconds after
    the controller's line, and the ISR of pay-in-1, which does not move. A cancelled one takes nobody away."""
    (shrink,) = tables()["isr_changes"]
    moves = partition(
        0, since="10:01", until="10:03:58", state="completed", original_replicas=[1, 2], target_replicas=[1, 3],
        adding_replicas=[3], removing_replicas=[2], evidence=[],
    )  # fmt: skip
    changes: dict[str, Rows] = {
        "offline_partitions": [],
        "broker_timeline": [row(broker=broker, since="10:00:00", evidence=[]) for broker in (1, 2, 3)],
        "isr_changes": [shrink],
        "reassignments": [moves],
    }
    root = night(tmp_path / "w", changes)
    assert data(root, "brokers")["answer"] == (
        "No broker stands out: none of 3 was away, lost a log directory, caused an outage or left an ISR in these logs."
    )
    other = night(tmp_path / "o", {**changes, "isr_changes": [shrink, {**shrink, "partition": 1}]})
    assert data(other, "brokers")["answer"] == "The problem child is broker 2: out of an ISR 1 time."
    cancelled = night(tmp_path / "c", {**changes, "reassignments": [{**moves, "state": "cancelled"}]})
    assert data(cancelled, "brokers")["answer"] == "The problem child is broker 2: out of an ISR 1 time."
    older = night(tmp_path / "n", changes, without=("reassignments",))
    assert data(older, "brokers")["answer"] == "The problem child is broker 2: out of an ISR 1 time."


def test_a_broker_of_which_a_log_directory_failed_stands_out(tmp_path: Path) -> None:
    """Before broker 1, which was only away."""
    failure = row(broker=2, dir="/data/a", at="10:05:00", evidence=[])
    changes: dict[str, Rows] = {"offline_partitions": [], "isr_changes": [], "log_dir_failures": [failure]}
    assert data(night(tmp_path / "w", changes), "brokers")["answer"] == (
        "The problem child is broker 2: 1 failure of its log directories. At the end of the logs broker 1 was gone."
    )


def test_the_longest_outage_of_a_broker_is_the_same_each_time(tmp_path: Path) -> None:
    """Of three of 5 s, two of which began first; it is open still."""
    outages = [
        partition(
            number, since=since, at_least_ms=5000, cause="fenced", cause_broker=1, failed_elections=0, evidence=[]
        )
        for number, since in ((0, "10:05:01"), (2, "10:05:00"), (1, "10:05:00"))
    ]
    root = night(tmp_path / "w", {"offline_partitions": outages})
    assert "the longest of pay-in-1 for at least 5.0 s" in data(root, "brokers")["answer"]
    assert "the longest of pay-in-1 for at least 5.0 s" in data(root, "outages")["answer"]


def test_availability_counts_partition_time(warehouse: Path) -> None:
    """Two partitions of 599 s each; 59.98 s and 120 s of them without a leader."""
    (topic,) = data(warehouse, "availability")["topics"]
    assert (topic["known_ms"], topic["leaderless_at_least_ms"], topic["outages"]) == (1_198_000, 179_980, 2)
    assert topic["availability_at_least"] == topic["availability_at_most"] == pytest.approx(0.849766)
    assert topic["under_replicated_ms"] == 60_020 + 240_000
    assert topic["under_min_isr_ms"] is None


def test_availability_has_one_bound_where_the_logs_cannot_tell_all_outages(tmp_path: Path) -> None:
    """2.4 without TRACE: of a lost leader there need be no line."""
    without = night(tmp_path / "w", {"control_requests": []})
    (topic,) = data(without, "availability")["topics"]
    assert (topic["availability_at_least"], topic["leaderless_at_most_ms"]) == (None, None)
    assert topic["availability_at_most"] == pytest.approx(0.849766)
    text = run(without, "availability").stdout
    assert text.replace("\n", " ").startswith(
        f"1 topic of 1 had partitions without a leader {SPAN}, the worst of them pay-in: available at most 84.977 %, at "
        "least 2 min 59 s of partition time lost."
    )
    assert " 2  at most 84.977 %      2 min 59 s " in text
    none = night(tmp_path / "none", {"control_requests": [], "offline_partitions": []})
    answer = data(none, "availability")["answer"]
    assert answer == f"Whether a partition was without a leader {SPAN} cannot be told from these logs."


def test_time_below_min_isr_is_known_where_a_line_sets_it(tmp_path: Path) -> None:
    """It was never below 2: that is a zero that is known. Settings of others say nothing of it."""
    setting = {"resource_type": "topic", "topic": "pay-in", "at": moment("10:00:01"), "first_seen": True}
    for name, value, time_below in ((MIN_ISR, "2", 0), (MIN_ISR, None, None), ("retention.ms", "2", None)):
        line = row(**setting, name=name, value=value, evidence=[])
        root = night(tmp_path / f"{name}-{value}", {"config_changes": [line]})
        assert data(root, "availability")["topics"][0]["under_min_isr_ms"] == time_below


def test_the_wait_for_a_deletion_counts_neither_as_time_nor_as_lost(tmp_path: Path) -> None:
    """Of 1,198 s of two partitions one waited 120 s for its deletion: of the other 1,078 s 59.98 s are lost."""
    crash, waits = tables()["offline_partitions"]
    root = night(tmp_path / "w", {"offline_partitions": [crash, {**waits, "cause": "topic_deletion"}]})
    (topic,) = data(root, "availability")["topics"]
    assert (topic["known_ms"], topic["deletion_wait_at_least_ms"], topic["leaderless_at_least_ms"]) == (
        1_198_000, 120_000, 59_980,
    )  # fmt: skip
    assert topic["availability_at_least"] == topic["availability_at_most"] == pytest.approx(0.94436)
    assert "Left out: 2 min 0 s in which partitions waited for their topic's deletion, of pay-in." in run(
        root, "availability"
    ).stdout.replace("\n", " ")


def test_under_replicated_time_is_a_lower_bound_where_states_lack_an_assignment(tmp_path: Path) -> None:
    """pay-in-0 from 10:00:01 on, of which it was under-replicated for 60 s; of 60 s more no line names the replicas."""
    times = [
        ("10:00:01", "10:05:00", "FullyInSync"),
        ("10:05:00", "10:06:00", "UnderReplicated"),
        ("10:06:00", "10:07:00", None),
    ]
    states = [
        state(
            0,
            epoch,
            1,
            epoch,
            [1],
            replicas=[1, 2] if kind else None,
            since=since,
            until=until,
            availability=kind,
            evidence=[],
        )
        for epoch, (since, until, kind) in enumerate(times)
    ]
    root = night(tmp_path / "w", {"partition_timeline": states, "offline_partitions": []})
    answer = data(root, "availability")
    assert (answer["topics"][0]["under_replicated_ms"], answer["topics"][0]["unknown_state_ms"]) == (60_000, 60_000)
    assert (
        "Whether replicas were out of sync in some states of pay-in, whose assignment or ISR no line names: their "
        "under-replicated time is a lower bound."
    ) in answer["cannot_be_told"]


def test_availability_is_never_rounded_up_to_all(tmp_path: Path) -> None:
    blip = partition(0, since="10:05", until="10:05:00.001", duration_ms=1, at_least_ms=1, at_most_ms=1, began_after="10:05",
                     ended_before="10:05:00.001", failed_elections=0, evidence=[])  # fmt: skip
    text = run(night(tmp_path / "w", {"offline_partitions": [blip]}), "availability").stdout
    assert "99.999 %" in text


def test_a_second_of_many_partitions_and_days_is_not_nothing(tmp_path: Path) -> None:
    """Of two topics `pay-in` lost 1 s of 200 partitions' 10 days; its time and `aaa`'s is all but or all 100 %."""
    known = tables()
    begin = moment("10:00:00") - timedelta(days=10)
    states = [
        {
            **state(number, 0, 1, 0, [1], replicas=[1], availability="FullyInSync", evidence=[]),
            "since": begin,
            "topic": topic,
        }
        for topic, number in [("aaa", 0), *(("pay-in", number) for number in range(200))]
    ]
    blip = {**known["offline_partitions"][0], "duration_ms": 1000, "at_least_ms": 1000, "at_most_ms": 1000}
    answer = data(night(tmp_path / "w", {"partition_timeline": states, "offline_partitions": [blip]}), "availability")
    assert [topic["topic"] for topic in answer["topics"]] == ["pay-in", "aaa"]
    assert answer["answer"] == (
        f"1 topic of 2 had partitions without a leader {SPAN}, the worst of them pay-in: available 99.999 %, 1.0 s of "
        "partition time lost."
    )


def test_the_worst_topic_is_one_that_had_an_outage(tmp_path: Path) -> None:
    """No time of it is sure, and at most none."""
    states = [{**state(0, 0, 1, 0, [1], since="10:00", evidence=[]), "topic": topic} for topic in ("aaa", "pay-in")]
    blip = {**tables()["offline_partitions"][0], "duration_ms": 0, "at_least_ms": 0, "at_most_ms": 0}
    root = night(tmp_path / "w", {"partition_timeline": states, "offline_partitions": [blip]})
    assert "the worst of them pay-in: " in data(root, "availability")["answer"]


def test_topics_that_always_had_leaders(tmp_path: Path) -> None:
    states = [{**state(0, 0, 1, 0, [1], since="10:00", evidence=[]), "topic": topic} for topic in ("aaa", "pay-in")]
    for count, subject in ((1, "The only topic"), (2, "All 2 topics")):
        root = night(tmp_path / str(count), {"partition_timeline": states[:count], "offline_partitions": []})
        assert data(root, "availability")["answer"] == f"{subject} had leaders {SPAN}, as far as the logs go."


def test_loss_answers_yes_no_or_perhaps(warehouse: Path, tmp_path: Path) -> None:
    answer = data(warehouse, "loss")
    assert answer["answer"] == f"Yes: 1 unclean election of pay-in-0 lost at least 5 records {SPAN}."
    assert (answer["lost_records_min"], answer["lost_records_max"]) == (5, 9)
    one = {**tables()["elections"][1], "lost_records_min": 1, "lost_records_max": 1}
    assert data(night(tmp_path / "one", {"elections": [one]}), "loss")["answer"] == (
        f"Yes: 1 unclean election of pay-in-0 lost 1 record {SPAN}."
    )
    unknown = {**tables()["elections"][1], "lost_records_min": None, "lost_records_max": None}
    root = night(tmp_path / "perhaps", {"elections": [unknown]})
    assert data(root, "loss")["answer"] == (
        f"Perhaps: 1 unclean election of pay-in-0 {SPAN}; how many records it lost is not known."
    )
    empty = night(tmp_path / "empty", {"elections": [{**unknown, "isr_before": []}]})
    assert "in leader epoch 2, the ISR was empty\n" in run(empty, "loss").stdout
    clean = {**unknown, "unclean": False}
    assert data(night(tmp_path / "no", {"elections": [clean]}), "loss")["answer"].startswith("No: 1 election")
    unjudged = {**unknown, "unclean": None}
    answer = data(night(tmp_path / "hardly", {"elections": [clean, {**unjudged, "leader_epoch": 3}]}), "loss")
    assert answer["answer"].startswith("No unclean election is in the logs")
    assert answer["cannot_be_told"][0].startswith("Whether 1 election of 2 was clean")


REASSIGNED = (
    "[QuorumController id=100] UNCLEAN partition change for pay-in-0 with topic ID abc: replicas: [4, 1, 2] -> [4], isr: "
    "[2] -> [4], removingReplicas: [1, 2] -> [], addingReplicas: [4] -> [], leader: 2 -> 4, leaderEpoch: 1 -> 2"
)


def test_loss_says_why_the_end_of_a_reassignment_is_not_unclean(tmp_path: Path) -> None:
    clean = {**tables()["elections"][1], "unclean": False}
    line = {
        "event_type": "kraft_partition_changed_unclean", "topic": "pay-in", "partition": 0, "leader_epoch": 2,
        "message": REASSIGNED, "at": moment("10:06:00"),
    }  # fmt: skip
    why = "1 change that the controller's log calls UNCLEAN lost nothing: the new leader had"
    assert why in run(night(tmp_path / "clean", {"elections": [clean], "events": [line]}), "loss").stdout
    assert why not in run(tmp_path / "clean", "loss", "--until", "10:01").stdout  # the change came later
    unclean = {**clean, "unclean": True}
    assert why not in run(night(tmp_path / "unclean", {"elections": [unclean], "events": [line]}), "loss").stdout
    lives = [
        row(topic="pay-in", incarnation=life, since=since, until=until, partitions=1)
        for life, since, until in ((0, "10:00:01", "10:07"), (1, "10:08", None))
    ]
    anew = {**clean, "incarnation": 1, "at": moment("10:09")}  # it is as clean, but not what the line is about
    changes: dict[str, Rows] = {"elections": [unclean, anew], "events": [line], "topic_timeline": lives}
    assert why not in run(night(tmp_path / "lives", changes), "loss").stdout
    other = {**line, "message": REASSIGNED.replace("[4] -> []", "[] -> []").replace("[1, 2] -> []", "[] -> []")}
    assert why not in run(night(tmp_path / "other", {"elections": [clean], "events": [other]}), "loss").stdout


LED_ON = {"last_leader": 2, "start_offset": 841, "lost_records_min": 0, "lost_records_max": None}
"""Of an election of broker 2: it was the last leader itself."""
OTHERS = {  # bounds of another election, or none of it -> answer, unclean elections of which it is not known what they lost
    "none": (None, f"Perhaps: 1 unclean election of pay-in-0 {SPAN}; the last leader itself led on, and lost records only if its "
        "disk did.", 0),
    "exact": ((5, 5), f"Yes: 2 unclean elections of pay-in-1, pay-in-0 lost 5 records {SPAN}; in 1 of them the last leader itself "
        "led on.", 0),
    "at least": ((5, None), f"Yes: 2 unclean elections of pay-in-1, pay-in-0 lost at least 5 records {SPAN}; in 1 of them the last "
        "leader itself led on.", 1),
    "unknown": ((None, None), f"Perhaps: 2 unclean elections of pay-in-1, pay-in-0 {SPAN}; how many records they lost is not known; "
        "in 1 of them the last leader itself led on.", 1),
    "nothing": ((0, 0), f"Perhaps: 2 unclean elections of pay-in-1, pay-in-0 {SPAN}; in 1 of them the last leader itself led on, "
        "the other new leader had all records.", 0),
}  # fmt: skip


@pytest.mark.parametrize("case", OTHERS)
def test_loss_counts_last_leaders_that_led_on_apart(case: str, tmp_path: Path) -> None:
    bounds, sentence, unknown = OTHERS[case]
    election = tables()["elections"][1]
    rows = [{**election, **LED_ON}]
    if bounds is not None:
        rows.append({**election, "partition": 1, "lost_records_min": bounds[0], "lost_records_max": bounds[1]})
    root = night(tmp_path / "w", {"elections": rows})
    answer = data(root, "loss")
    assert (answer["answer"], answer["led_on"], answer["lost_records_max"]) == (sentence, 1, None)
    gaps = answer["cannot_be_told"]
    assert "What the disk of a last leader lost before it led on itself, in 1 unclean election." in gaps
    assert (f"How many records {unknown} unclean election lost at most." in gaps) == bool(unknown)
    text = "the last leader itself led on, with its log to offset 841; more is lost only if its disk lost it"
    assert text in run(root, "loss").stdout
    assert text in run(root, "check").stdout
    why = " ".join(run(root, "why", "pay-in-0", "--at", "10:05:30").stdout.split())
    assert text in why
    assert "Whether broker 2 had lost records with its disk before the unclean election of" in why
    assert "How many records the unclean election" not in why


def test_loss_counts_many_last_leaders_that_led_on_together(tmp_path: Path) -> None:
    """Up to three of them are told one by one, and all with --all."""
    election = {**tables()["elections"][1], **LED_ON}
    root = night(tmp_path / "w", {"elections": [{**election, "partition": number} for number in range(4)]})
    text = run(root, "loss").stdout
    assert "4 more of the last leaders themselves" in text
    assert "pay-in-0, pay-in-1, pay-in-2, pay-in-3; --all lists each" in text
    assert "with its log to offset" not in text
    assert run(root, "loss", "--all").stdout.count("with its log to offset 841") == 4
    few = night(tmp_path / "few", {"elections": [{**election, "partition": number} for number in range(3)]})
    assert run(few, "loss").stdout.count("with its log to offset 841") == 3


def test_incidents_of_a_warehouse_that_has_none_are_outages_of_one_cause(warehouse: Path) -> None:
    answer = data(warehouse, "incidents")
    assert answer["answer"] == f"2 incidents {SPAN}, by outages."
    assert "no table incidents" in answer["cannot_be_told"][0]


def test_partitions_that_live_on_one_broker_alone(tmp_path: Path) -> None:
    """At the end of the logs, of several replicas; not one that has no other replica, nor one without a leader, as
    pay-in-5, whose leader is dead and still leads in ZooKeeper."""
    alone = [
        state(number, 1, 1, 3, isr, replicas=replicas, since="10:06:00", availability="UnderReplicated", evidence=[])
        for number, isr, replicas in ((0, [1], [1, 2]), (1, [1], [1, 3]), (2, [1], [1]), (3, [1, 2], [1, 2]))
    ]
    gone = state(4, 1, -1, 3, [2], replicas=[1, 2], since="10:06:00", availability="Offline", evidence=[])
    dead = state(5, 1, 1, 3, [1], replicas=[1, 2], since="10:06:00", availability="UnderReplicated", evidence=[])
    outage = partition(5, since="10:08:00", at_least_ms=120_000, last_isr=[1], failed_elections=0, evidence=[])
    changed = {"incidents": [INCIDENT], "partition_timeline": [*alone, gone, dead], "offline_partitions": [outage]}
    root = night(tmp_path / "w", changed)
    assert data(root, "incidents")["single_points"] == [{"broker": 1, "partitions": ["pay-in-0", "pay-in-1"]}]
    sentence = (
        "When the logs end 2 partitions live on broker 1 alone, their other replicas are not in sync: pay-in-0, pay"
    )
    assert sentence in run(root, "incidents").stdout


INCIDENT = row(
    incident_id="broker_crash-1-20261121T100500000", severity="critical", title="Broker 1 crashed", since="10:05:00",
    until="10:06:00", root_cause="broker_crash", root_broker=1, topics_affected=1, partitions_affected=1,
    leaderless_partition_minutes=1.0, story="Broker 1 crashed [1].", evidence=proof((CONTROLLER, 30)),
    steps=[{"at": moment("10:05:00"), "what": "broker 1 crashed", "node_id": 3, "file_id": CONTROLLER, "line": 30}],
)  # fmt: skip


def test_incidents_are_told_worst_first_and_planned_ones_on_demand(tmp_path: Path) -> None:
    planned = {**INCIDENT, "incident_id": "p", "severity": "info", "title": "Broker 2 was restarted", "steps": []}
    root = night(tmp_path / "w", {"incidents": [planned, INCIDENT]})
    answer = data(root, "incidents")
    assert answer["answer"] == f"1 incident {SPAN} (1 critical); 1 planned one not listed, --all lists them."
    assert [one["title"] for one in answer["incidents"]] == ["Broker 1 crashed", "Broker 2 was restarted"]
    assert answer["incidents"][0]["steps"] == [
        {"at": "2026-11-21T10:05:00.000Z", "what": "broker 1 crashed", "line": "broker-3/controller.log:30"}
    ]
    text = run(root, "incidents").stdout
    assert "CRITICAL  Broker 1 crashed" in text
    assert "restarted" not in text
    assert "restarted" in run(root, "incidents", "--all").stdout
    run(root, "report", "-o", str(tmp_path / "r.html"))
    page = (tmp_path / "r.html").read_text()
    assert '<span class="badge critical">critical</span>\n<h3>Broker 1 crashed</h3>' in page
    assert "1 partition without a leader, 1 min 0 s of partition time" in page


def test_each_line_that_a_story_names_stands_behind_its_number(tmp_path: Path) -> None:
    """Rows have up to 96 characters; a place that is longer has one of its own."""
    places = [(STATE, line) for line in (10, 40, 41, 42, 50)] + [(CONTROLLER, 30)]
    root = night(tmp_path / "w", {"incidents": [{**INCIDENT, "evidence": proof(*places)}]})
    _, rows = run(root, "incidents").stdout.split("Broker 1 crashed [1].\n")
    assert rows.splitlines()[:3] == [
        "    lines: [1] broker-3/state-change.log:10, [2] broker-3/state-change.log:40,",
        "           [3] broker-3/state-change.log:41, [4] broker-3/state-change.log:42,",
        "           [5] broker-3/state-change.log:50, [6] broker-3/controller.log:30",
    ]
    assert [*numbered_lines(["a.log:1", "b" * 30, "c.log:3"], 24)] == [
        "lines: [1] a.log:1,",
        f"       [2] {'b' * 30},",
        "       [3] c.log:3",
    ]
    assert [*numbered_lines([], 24)] == []


def test_an_incident_of_one_moment(tmp_path: Path) -> None:
    text = run(night(tmp_path / "w", {"incidents": [{**INCIDENT, "until": INCIDENT["since"]}]}), "incidents").stdout
    assert "\n    at 2026-11-21 10:05:00.000 UTC\n" in text


def test_the_line_of_an_outage_is_one_that_shows_its_cause(tmp_path: Path) -> None:
    """The first line of an inferred state may be of its neighbour, long before."""
    lines = {"evidence": proof((STATE, 10), (STATE, 41)), "cause_evidence": proof((CONTROLLER, 30), (STATE, 41))}
    outage = {**tables()["offline_partitions"][0], **lines}
    root = night(tmp_path / "w", {"offline_partitions": [outage]})
    assert "pay-in-0  (broker-3/state-change.log:41)" in run(root, "outages").stdout
    outage["cause_evidence"] = proof((CONTROLLER, 30))
    root = night(tmp_path / "o", {"offline_partitions": [outage]})
    assert "pay-in-0  (broker-3/state-change.log:10)" in run(root, "outages").stdout


# ---- what-if --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("command", [("what-if", "--lose-broker", "1"), ("what-if",), ("elect", "preferred")])
def test_a_moment_behind_the_logs_is_answered_as_their_end(warehouse: Path, command: tuple[str, ...]) -> None:
    late, at_end = data(warehouse, *command, "--at", "2026-11-21T23:00"), data(warehouse, *command)
    note = "What changed until 2026-11-21 23:00:00.000 UTC: the logs end at 2026-11-21 10:10:00.000."
    assert late["cannot_be_told"] == [note, *at_end["cannot_be_told"]]
    assert late["answer"] == at_end["answer"]


def test_what_would_go_down(warehouse: Path) -> None:
    answer = data(warehouse, "what-if", "--lose-broker", "1", "--at", "10:04:30")
    assert (answer["offline"], answer["new_leaders"], answer["untouched"]) == (["pay-in-0"], {}, 1)
    answer = data(warehouse, "what-if", "--lose-broker", "1", "--at", "10:02")
    assert (answer["offline"], answer["new_leaders"], answer["last_replica"]) == ([], {"2": ["pay-in-0"]}, ["pay-in-0"])
    answer = data(warehouse, "what-if", "--lose-broker", "1", "--lose-broker", "3", "--at", "10:02")
    assert data(warehouse, "what-if", "--lose-broker", "3, 1", "--at", "10:02") == answer
    assert answer["answer"] == (
        "Had brokers 1, 3 been lost at 2026-11-21 10:02:00.000 UTC: 1 partition of 2 would have no leader, 1 leader would "
        "move; the controller would change, too."
    )
    answer = data(warehouse, "what-if", "--lose-broker", "1,2,3", "--at", "10:02")["answer"]
    assert answer.endswith(": 2 partitions of 2 would have no leader; the controller would be lost, too.")


def test_what_had_gone_already(warehouse: Path, tmp_path: Path) -> None:
    """Broker 1 left at 10:05, pay-in-1 has had no leader since 10:08."""
    answer = data(warehouse, "what-if", "--lose-broker", "1", "--at", "10:07")["answer"]
    assert answer.endswith("; broker 1 was away already.")
    # pay-in-1 stays without a leader, though none is lost
    assert data(warehouse, "what-if", "--lose-broker", "1", "--at", "10:09")["answer"] == (
        "Had broker 1 been lost at 2026-11-21 10:09:00.000 UTC: none of 2 partitions would lose its leader and get no "
        "other, 1 partition had none already; broker 1 was away already."
    )
    answer = data(warehouse, "what-if", "--at", "10:09")["answer"]
    assert answer.endswith(" 1 partition had no leader already: pay-in-1.")
    gone = [{**one, "until": moment("10:08:30")} for one in tables()["broker_timeline"]]
    states = [{**one, "until": one.get("until") or moment("10:08:30")} for one in tables()["partition_timeline"][:4]]
    lost = state(0, 4, -1, 3, [], replicas=[1, 2], since="10:08:30", availability="Offline", evidence=[])
    changes = {"broker_timeline": gone, "partition_timeline": [*states, lost]}
    assert data(night(tmp_path / "w", changes), "what-if")["answer"] == (
        "At 2026-11-21 10:10:00.000 UTC 1 partition had no leader, and no broker with a replica is known to be alive: "
        "brokers 1, 2, 3 had gone."
    )


# ---- plans of kafka-reassign-partitions -----------------------------------------------------------------------------
def proposed(warehouse: Path, brokers: str) -> Result:
    arguments = ["reassign", "generate", "--broker-list", brokers, "--at", "10:02", "--warehouse", str(warehouse)]
    return CliRunner().invoke(main, arguments)


def test_a_plan_leaves_out_brokers_that_are_not_there(warehouse: Path) -> None:
    """Kafka's tool places replicas on those of its list that the cluster has."""
    result = proposed(warehouse, "2,9,3,8")
    plan = json.loads(result.stdout.splitlines()[-1])["partitions"]
    assert {replica for partition in plan for replica in partition["replicas"]} == {2, 3}
    assert result.stderr == "Brokers 8, 9 were not there, and left out.\n"
    assert proposed(warehouse, "2,3").stderr == ""


@pytest.mark.parametrize(
    ("brokers", "message"),
    [
        (
            "2,9",
            "Topic pay-in has replication factor 2, but there is only 1 broker to place it on: no line names broker 9.",
        ),
        (
            "8,9",
            "Topic pay-in has replication factor 2, but there is no broker to place it on: no line names brokers 8, 9.",
        ),
        ("2,3,2", "--broker-list names broker 2 twice."),
    ],
)
def test_a_plan_that_the_tool_would_refuse(warehouse: Path, brokers: str, message: str) -> None:
    result = proposed(warehouse, brokers)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"kafka-rewind: {message}\n")


def test_a_plan_that_lacks_a_broker_which_was_away(warehouse: Path) -> None:
    """Broker 1 left at 10:05."""
    result = run(warehouse, "reassign", "generate", "--broker-list", "1,2", "--at", "10:07")
    reason = "Topic pay-in has replication factor 2, but there is only 1 broker to place it on: broker 1 was not there."
    assert (result.exit_code, result.stderr) == (2, f"kafka-rewind: {reason}\n")


def planned(folder: Path, warehouse: Path, target: list[int], *arguments: str) -> str:
    """What `reassign execute` prints of pay-in-0 and a target."""
    plan = folder / "plan.json"
    plan.write_text(json.dumps({"partitions": [{"topic": "pay-in", "partition": 0, "replicas": target}]}))
    result = run(warehouse, "reassign", "execute", "--file", str(plan), *arguments)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def test_how_far_a_plan_is_for_programs(warehouse: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text('{"partitions": [{"topic": "pay-in", "partition": 0, "replicas": [1, 2]}]}')
    asked = ("reassign", "verify", "--file", str(plan), "--at", "10:02")
    in_words = run(warehouse, *asked).stdout.splitlines()
    data = json.loads(run(warehouse, *asked, "--format", "json").stdout)
    assert data == {"partitions": [{"topic": "pay-in", "partition": 0, "target": [1, 2], "status": in_words[1]}]}


def test_the_steps_of_a_plan_and_their_requests(warehouse: Path, tmp_path: Path) -> None:
    printed = planned(tmp_path, warehouse, [2, 3], "--at", "10:02")
    assert printed.splitlines()[3:] == [
        "pay-in-0: 1,2 to 2,3",
        "  step                       assignment  leader  isr    leader epoch  requests",
        "  assignment widened in ZK   2,3,1       1       1,2    0",
        "  epoch bump to OAR+RAR      2,3,1       1       1,2    1             LeaderAndIsr to 1,2,3; UpdateMetadata to all",
        "  3 becomes NewReplica       2,3,1       1       1,2    1             LeaderAndIsr to 3; UpdateMetadata to all",
        "  leader expands ISR with 3  2,3,1       1       1,2,3  1",
        "  3 becomes OnlineReplica    2,3,1       1       1,2,3  1",
        "  leader moved to 2          2,3,1       2       1,2,3  2             LeaderAndIsr to 2,3; UpdateMetadata to all",
        "  1 offline, leaves ISR      2,3,1       2       2,3    3             LeaderAndIsr to 2,3; UpdateMetadata to all; StopReplica to 1",
        "  1 deleted                  2,3,1       2       2,3    3             StopReplica with delete to 1",
        "  assignment narrowed in ZK  2,3         2       2,3    3             UpdateMetadata to all",
    ]  # fmt: skip
    as_data = json.loads(planned(tmp_path, warehouse, [2, 3], "--at", "10:02", "--format", "json"))
    assert as_data["reassignments"][0]["steps"][1]["requests"] == [
        {"kind": "LeaderAndIsr", "brokers": [1, 2, 3], "deletes": False},
        {"kind": "UpdateMetadata", "brokers": [1, 2, 3], "deletes": False},
    ]


def test_who_refuses_a_plan(tmp_path: Path) -> None:
    """From 2.4 on with ZooKeeper: the admin API checks a target, and no step is taken; a plan in ZooKeeper is taken."""
    files = [{**one, "kafka_versions": "2.6.0..2.7.2"} for one in tables()["log_files"]]
    printed = planned(tmp_path, night(tmp_path / "w", {"log_files": files}), [2, 9], "--at", "10:02")
    refusal = "INVALID_REPLICA_ASSIGNMENT (of the admin API; a plan in ZooKeeper is not checked)"
    assert printed.splitlines()[3:] == [f"pay-in-0: 1,2 to 2,9: {refusal}"]


def test_a_plan_over_a_pending_reassignment(tmp_path: Path) -> None:
    """At 10:03 pay-in-0 is on its way from 1,2 to 3,2, and is asked back: 3 goes, 1 stays."""
    pending = partition(
        0, since="10:02:30", state="in_progress", original_replicas=[1, 2], target_replicas=[3, 2],
        adding_replicas=[3], removing_replicas=[1], evidence=[],
    )  # fmt: skip
    states = [state(0, 0, 1, 0, [1, 2], replicas=[3, 2, 1], since="10:00:01", evidence=[])]
    root = night(tmp_path / "w", {"reassignments": [pending], "partition_timeline": states})
    steps = json.loads(planned(tmp_path, root, [1, 2], "--at", "10:03", "--format", "json"))["reassignments"][0][
        "steps"
    ]
    assert [(one["step"], one["assignment"], one["leader_epoch"]) for one in steps] == [
        ("assignment stored in ZK", [1, 2], 0),
        ("3 offline", [1, 2], 0),
        ("3 deleted", [1, 2], 0),
        ("leader epoch refreshed", [1, 2], 1),
        ("assignment narrowed in ZK", [1, 2], 1),
    ]


def test_a_plan_over_a_reassignment_of_which_the_logs_do_not_tell_what_it_adds(tmp_path: Path) -> None:
    pending = partition(0, since="10:02:30", state="in_progress", evidence=[])
    root = night(tmp_path / "w", {"reassignments": [pending]})
    answer = json.loads(planned(tmp_path, root, [1, 2], "--at", "10:03", "--format", "json"))
    assert answer["reassignments"] == []
    assert "a reassignment was pending, and no line has what it added and removed" in answer["cannot_be_told"][0]


def kraft_night(root: Path, elr: list[int] | None, leader: int = -1, isr: Sequence[int] = ()) -> Path:
    """4.1: pay-in-0 has lost its leader, if no other is given, and `elr` are eligible. Broker 1 is fenced, broker 9 was unregistered, 5 came."""
    lines = [("kraft_broker_registered", 5), ("kraft_broker_registered", 9), ("kraft_broker_unregistered", 9)]
    events = [
        row(file_id=CONTROLLER, line=line, byte_offset=line, node_id=3, at=f"10:00:0{line}", level="INFO",
            logger="org.apache.kafka.controller.ClusterControlManager", event_type=kind, message="", broker_id=broker,
            fields=[])
        for line, (kind, broker) in enumerate(lines)
    ]  # fmt: skip
    lost = state(0, 0, leader, 4, [*isr], replicas=[1, 3, 2], since="10:00:01", elr=elr, last_known_elr=[], evidence=[])
    files = [{**one, "kafka_versions": "4.1.0.."} for one in tables()["log_files"]]
    left = [
        *tables()["broker_timeline"],
        row(broker=9, since="09:00", until="10:00:02", ended_by="fenced", evidence=[]),
    ]
    changes: dict[str, Rows] = {
        "events": events,
        "partition_timeline": [lost],
        "log_files": files,
        "broker_timeline": left,
    }
    return night(root, changes)


def test_an_eligible_leader_replica_is_elected(tmp_path: Path) -> None:
    answer = data(kraft_night(tmp_path / "w", [2]), "elect", "unclean", "--at", "10:07")
    assert [(one["leader"], one["isr"], one["error"]) for one in answer["partitions"]] == [(2, [2], "NONE")]


WITH_ELIGIBLE: dict[str, tuple[list[int] | None, str, list[str], dict[str, list[str]], list[str]]] = {
    # the ELR, brokers that are lost -> partitions without a leader, new leaders, what is unknown
    "one is eligible": ([2], "3", [], {"2": ["pay-in-0"]}, []),
    "it is lost, too": ([2], "2,3", ["pay-in-0"], {}, []),
    "nobody is": ([], "3", ["pay-in-0"], {}, []),
    "no line tells": (None, "3", [], {}, ["pay-in-0"]),
    "no line tells, and nobody else is left": (None, "2,3", ["pay-in-0"], {}, []),
}


@pytest.mark.parametrize("case", WITH_ELIGIBLE)
def test_who_is_eligible_takes_over_from_the_last_one_in_sync(case: str, tmp_path: Path) -> None:
    """KRaft 4.1: 3 alone is in sync of 1, 3, 2, and broker 1 is gone."""
    elr, lost, offline, moved, unknown = WITH_ELIGIBLE[case]
    answer = data(
        kraft_night(tmp_path / "w", elr, leader=3, isr=[3]), "what-if", "--lose-broker", lost, "--at", "10:07"
    )
    assert (answer["offline"], answer["new_leaders"], answer["unknown"]) == (offline, moved, unknown)
    why = "What would become of pay-in-0: leader, ISR (if too few are in sync, the ELR) or assignment is in no line."
    assert (why in answer["cannot_be_told"]) == bool(unknown)


def test_what_an_eligible_replica_would_take_over_lives_on_no_broker_alone(tmp_path: Path) -> None:
    answer = data(kraft_night(tmp_path / "w", [2], leader=3, isr=[3]), "what-if", "--at", "10:07")["answer"]
    assert answer == "At 2026-11-21 10:07:00.000 UTC no partition lived on one broker alone."


def test_who_is_elected_is_unknown_where_no_line_has_the_eligible_leader_replicas(tmp_path: Path) -> None:
    answer = data(kraft_night(tmp_path / "w", None), "elect", "unclean", "--at", "10:07")
    assert answer["partitions"] == []
    assert answer["cannot_be_told"] == [
        "What it would have done to pay-in-0: leader, ISR (if it is empty, the ELR) or assignment is in no line."
    ]


@pytest.mark.parametrize(("broker", "error"), [(1, "waits"), (5, "waits"), (9, "INVALID_REPLICA_ASSIGNMENT")])
def test_kraft_refuses_only_brokers_that_are_not_registered(tmp_path: Path, broker: int, error: str) -> None:
    """At 10:07 broker 1 is fenced, and 5 has never been unfenced."""
    printed = planned(tmp_path, kraft_night(tmp_path / "w", [2]), [3, broker], "--at", "10:07")
    assert error in printed.splitlines()[3]
    assert "requests" not in printed


def test_a_broker_that_is_not_there_cannot_be_lost(warehouse: Path) -> None:
    result = CliRunner().invoke(main, ["what-if", "--lose-broker", "9", "--at", "10:02", "--warehouse", str(warehouse)])
    assert result.exit_code == 2
    assert result.stderr == "kafka-rewind: There is no broker 9 at 2026-11-21 10:02:00.000 UTC; there are 1, 2, 3.\n"


def test_before_any_broker_is_named_none_is_known(tmp_path: Path) -> None:
    """The logs begin at 10:00:00; that no line names a broker yet does not mean that there is none."""
    root = night(tmp_path / "w", {"broker_timeline": []})
    result = run(root, "what-if", "--lose-broker", "1", "--at", "10:00:00.500")
    assert (result.exit_code, result.stderr) == (
        2, "kafka-rewind: No broker is known at 2026-11-21 10:00:00.500 UTC: no line up to then names one.\n"
    )  # fmt: skip


def test_who_is_a_single_point(warehouse: Path) -> None:
    answer = data(warehouse, "what-if", "--at", "10:04:30")
    assert answer["answer"] == "At 2026-11-21 10:04:30.000 UTC 1 partition lived on broker 1 alone: pay-in-0."
    assert [(one["broker"], one["offline"]) for one in answer["brokers"]] == [
        (1, ["pay-in-0"]), (3, ["pay-in-1"]), (2, []),
    ]  # fmt: skip


def test_topics_that_are_deleted_are_left_out(tmp_path: Path) -> None:
    topics = [{**row, "deletion_started": moment("10:04")} for row in tables()["topic_timeline"]]
    answer = data(night(tmp_path / "w", {"topic_timeline": topics}), "what-if", "--at", "10:04:30")
    assert answer["answer"] == "No partition is known at 2026-11-21 10:04:30.000 UTC."
    assert "What would become of pay-in: it was being deleted, and left out." in answer["cannot_be_told"]


def test_a_replica_out_of_sync_or_gone_takes_nothing_over(warehouse: Path) -> None:
    """At 10:07 broker 2 leads pay-in-0 alone in sync; broker 1 is assigned, but gone."""
    assert data(warehouse, "what-if", "--lose-broker", "2", "--at", "10:07")["offline"] == ["pay-in-0"]


def test_without_an_assignment_those_in_sync_tell_what_would_become(tmp_path: Path) -> None:
    """No line has the replicas of any: pay-in-0 has nobody in sync but broker 1, pay-in-1 one other, pay-in-2 two."""
    states = [
        state(number, 0, 1, 0, isr, replicas=None, since="10:00:01", availability=None, evidence=[])
        for number, isr in ((0, [1]), (1, [1, 2]), (2, [1, 2, 3]))
    ]
    answer = data(
        night(tmp_path / "w", {"partition_timeline": states}), "what-if", "--lose-broker", "1", "--at", "10:02"
    )
    assert ", of 1 partition that is not known." in answer["answer"]
    assert (answer["offline"], answer["new_leaders"], answer["unknown"]) == (
        ["pay-in-0"],
        {"2": ["pay-in-1"]},
        ["pay-in-2"],
    )


def test_what_a_dead_broker_leads_has_no_leader_already(tmp_path: Path) -> None:
    """Broker 1 left at 10:05, and ZooKeeper still names it as the leader."""
    led = state(0, 0, 1, 0, [1], replicas=[1, 2], since="10:00:01", availability="UnderReplicated", evidence=[])
    answer = data(
        night(tmp_path / "w", {"partition_timeline": [led]}), "what-if", "--lose-broker", "2", "--at", "10:07"
    )
    assert (answer["already_offline"], answer["offline"]) == (["pay-in-0"], [])


# ---- check ----------------------------------------------------------------------------------------------------------
HEALTHY = {
    "offline_partitions": [],
    "elections": [],
    "verdicts": [],
    "partition_timeline": [state(0, 0, 1, 0, [1, 2], replicas=[1, 2], since="10:00:01", availability="FullyInSync", evidence=[])],
}  # fmt: skip


def test_what_is_open_is_critical(warehouse: Path) -> None:
    result = run(warehouse, "check")
    assert result.exit_code == 2
    first, *rest = result.stdout.splitlines()
    assert first == (
        "CRITICAL: 1 offline partition, 1 unclean election, 1 violation, 1 ended outage, 1 under-replicated partition; "
        "first: pay-in-1 has had no leader since 2026-11-21 10:08:00.000 UTC | offline=1 unclean=1 waiting=0 stale=0 "
        "violated=1 outage=1 under_replicated=1 silent=0 unknown=0"
    )
    assert [line.split()[0] for line in rest] == ["CRITICAL", "CRITICAL", "WARNING", "WARNING", "WARNING"]
    assert "[kafka-rewind why pay-in-1 --cluster c --warehouse" in rest[0]
    # without a time `why` would tell of another outage of the partition
    assert "[kafka-rewind why pay-in-0 --at 2026-11-21T10:05:00.020Z --cluster c --warehouse" in rest[2]


def test_of_several_clusters_each_finding_names_its_own(tmp_path: Path) -> None:
    """The first line is all that many monitors show."""
    both = {name: [*rows, *({**one, "cluster": "d"} for one in rows)] for name, rows in tables().items()}
    first, *rest = run(night(tmp_path / "w", both), "check").stdout.splitlines()
    assert "; first: c: pay-in-1 has had no leader since 2026-11-21 10:08:00.000 UTC | offline=2 " in first
    assert [line.split()[:3] for line in rest[:2]] == [["CRITICAL", "c:", "pay-in-1"], ["CRITICAL", "c:", "pay-in-0:"]]
    assert [line.split()[1] for line in rest[2:4]] == ["d:", "d:"]
    spans = [
        {**one, "cluster": cluster, "node_id": node, "until": moment(until)}
        for one in tables()["log_coverage"][:1] for cluster in "cd" for node, until in ((1, "10:10"), (2, "09:00"))
    ]  # fmt: skip
    silent = run(night(tmp_path / "silent", {**both, "log_coverage": spans}), "check").stdout
    assert "WARNING node 2 of cluster d has sent no log since 2026-11-21 09:00:00.000 UTC\n" in silent


def test_of_one_crash_only_what_has_no_leader_yet_is_critical(tmp_path: Path) -> None:
    root = night(tmp_path / "w", {**HEALTHY, "offline_partitions": CRASH_OF_TWO})
    findings = json.loads(run(root, "check", "--format", "json").stdout)["findings"]
    assert [(one["kind"], one["count"], one["text"]) for one in findings] == [
        ("offline", 1, "pay-in-1 has had no leader since 2026-11-21 10:05:01.000 UTC, broker 1 crashed"),
        ("outage", 1, "pay-in-0 had no leader for 20.0 s from 2026-11-21 10:05:00.000 UTC, broker 1 crashed"),
    ]


def test_a_new_partition_that_has_no_leader_yet_is_a_warning(tmp_path: Path) -> None:
    """Of four whose first elections failed pay-in-2 and pay-in-3 still wait; pay-in-0 has been led since, and nobody
    misses the one whose topic is to be deleted. In its first life pay-in-3 was led."""
    failed = [
        partition(number, at=at, succeeded=False, strategy="new", evidence=[])
        for number, at in ((3, "10:09"), (2, "10:08:30"), (2, "10:08"), (0, "10:00"))
    ]
    failed.append({**failed[0], "topic": "gone"})
    failed[0]["incarnation"] = 1
    topics = [
        row(topic="pay-in", incarnation=0, since="10:00", partitions=4),
        row(topic="gone", incarnation=0, since="10:00", partitions=4) | {"deletion_started": moment("10:09:30")},
    ]
    led = state(3, 0, 1, 0, [1, 2], replicas=[1, 2], since="10:00:01", availability="FullyInSync", evidence=[])
    states = [*HEALTHY["partition_timeline"], led]
    changes = {**HEALTHY, "elections": failed, "topic_timeline": topics, "partition_timeline": states}
    root = night(tmp_path / "w", changes)
    result = run(root, "check")
    assert result.exit_code == 1
    assert result.stdout.startswith("WARNING: 2 leaderless new partitions; first: pay-in-2, pay-in-3 wait for ")
    assert "outage=0 under_replicated=0" in result.stdout
    (finding,) = json.loads(run(root, "check", "--format", "json").stdout)["findings"]
    text = "pay-in-2, pay-in-3 wait for their first leader: elections have failed since 2026-11-21 10:08:00.000 UTC"
    assert (finding["kind"], finding["count"], finding["text"]) == ("waiting", 2, text)
    assert finding["command"].startswith("kafka-rewind why pay-in-2 --cluster c ")
    summary = run(root, "summary").stdout
    assert summary.startswith("WARNING: 2 new partitions without their first leader\n")
    assert (
        "  Each of 2 partitions has a leader at the end of the logs; 2 new partitions wait for their first leader: "
        "pay-in-2, pay-in-3.\n"
    ) in summary


def test_what_is_history_does_not_count(warehouse: Path) -> None:
    """Of the last minute only what is still open is left."""
    answer = json.loads(run(warehouse, "check", "--since", "-1m", "--format", "json").stdout)
    assert [(one["kind"], one["count"]) for one in answer["findings"]] == [("offline", 1), ("under_replicated", 1)]


def test_nothing_wrong(tmp_path: Path) -> None:
    result = run(night(tmp_path / "w", HEALTHY), "check")
    assert result.exit_code == 0
    assert result.stdout == (
        "OK: nothing wrong in 1 cluster, logs until 2026-11-21 10:10:00.000 UTC | offline=0 unclean=0 waiting=0 stale=0 "
        "violated=0 outage=0 under_replicated=0 silent=0 unknown=0\n"
    )


def test_what_has_no_leader_is_not_under_replicated(tmp_path: Path) -> None:
    """pay-in-1 is led by a dead broker, which ZooKeeper still names."""
    led, dead = (
        state(number, 1, 1, 3, [1], replicas=[1, 2], since="10:06:00", availability="UnderReplicated", evidence=[])
        for number in (0, 1)
    )
    outage = partition(1, since="10:08:00", at_least_ms=120_000, last_isr=[1], failed_elections=0, evidence=[])
    root = night(tmp_path / "w", {**HEALTHY, "partition_timeline": [led, dead], "offline_partitions": [outage]})
    answer = json.loads(run(root, "check", "--format", "json").stdout)
    assert [(one["kind"], one["count"]) for one in answer["findings"]] == [("offline", 1), ("under_replicated", 1)]
    [facts] = summaries_in(str(root), Settings(), {})
    assert (facts.under_replicated, [row["names"] for row in facts.single_points]) == (1, [["pay-in-0"]])


def test_states_without_an_assignment_count_neither_as_in_sync_nor_as_not(tmp_path: Path) -> None:
    unknown = state(0, 1, 1, 3, [1], replicas=None, since="10:06:00", availability=None, evidence=[])
    root = night(tmp_path / "w", {**HEALTHY, "partition_timeline": [unknown]})
    [facts] = summaries_in(str(root), Settings(), {})
    assert (facts.under_replicated, facts.single_points) == (0, [])


def test_a_zero_that_cannot_be_told_is_no_ok(tmp_path: Path) -> None:
    """2.4 without TRACE: no line shows a lost leader."""
    result = run(night(tmp_path / "w", {**HEALTHY, "control_requests": []}), "check")
    assert result.exit_code == 1
    unknown = "whether partitions were without a leader cannot be told from these logs: state-change.log at TRACE"
    assert unknown in result.stdout


def test_logs_that_stopped_coming(tmp_path: Path) -> None:
    spans = [row(node_id=node, kind="server", since="08:00", until=until, records=9) for node, until in ((1, "10:10"), (2, "09:00"))]  # fmt: skip
    root = night(tmp_path / "w", {**HEALTHY, "log_coverage": spans})
    assert run(root, "check").exit_code == 1
    assert "node 2 of cluster c has sent no log since 2026-11-21 09:00:00.000 UTC" in run(root, "check").stdout
    result = run(root, "check", "--max-age", "1h")  # the machine's clock is past 2026-11-21, or before it
    assert (result.exit_code == 2) == ("the last record of cluster c is" in result.stdout)


def test_a_broker_of_which_no_log_is_there(tmp_path: Path) -> None:
    """Broker 2 is registered and holds replicas of pay-in-0; 9, in one damaged line only, holds none."""
    spans = [
        row(node_id=node, kind=kind, since="10:00:00", until="10:10:00", records=9)
        for node in (1, 3) for kind in ("server", "state_change", "controller")
    ]  # fmt: skip
    brokers = [row(broker=broker, since="10:00:00", evidence=[]) for broker in (1, 2, 3, 9)]
    root = night(tmp_path / "w", {**HEALTHY, "log_coverage": spans, "broker_timeline": brokers})
    result = run(root, "check")
    assert result.exit_code == 1
    assert "WARNING no log of broker 2 of cluster c is there\n" in result.stdout
    assert "silent=1 unknown=0" in result.stdout
    [facts] = summaries_in(str(root), Settings(), {})
    assert facts.missing_logs == ["no log of broker 2 (not given)"]
    assert (
        "There is no log of broker 2 (not given)."
        in data(root, "why", "pay-in-0", "--at", "10:05:30")["cannot_be_told"]
    )
    described = run(root, "describe", "--at", "10:05:30")
    assert "no log of broker 2 (not given)" in described.stdout + described.stderr
    page = tmp_path / "r.html"
    assert run(root, "report", "-o", str(page)).exit_code == 0
    assert "<li>There is no log of broker 2 (not given).</li>" in page.read_text()


@pytest.mark.parametrize("arguments", [("--max-age", "soon"), ("--since", "noon"), ("--nonsense",), ()], ids=str)
def test_what_cannot_be_checked_is_unknown(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """Not 2, which is CRITICAL."""
    assert run(tmp_path / "none", "check", *arguments).exit_code == 3


@pytest.mark.parametrize("ids", ["1,x", "", "-1", "1,,2"])
def test_what_is_no_broker_cannot_be_lost(ids: str, warehouse: Path) -> None:
    result = CliRunner().invoke(main, ["what-if", f"--lose-broker={ids}", "--warehouse", str(warehouse)])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "is no broker's id; give ids such as 1 or 1,2" in result.stderr
