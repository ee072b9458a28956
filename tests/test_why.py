"""`why`: the first sentence answers, steps are in order with their lines, and what is not known is said."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner, Result

from jobs.answers.lanes import NONE, Lane, Stretch, lane_text
from jobs.answers.opened import LogLine
from jobs.answers.partition_steps import ERROR, process_steps
from jobs.answers.story import Step, Story, story_text, with_nearest_lines
from jobs.answers.truncations import real_truncations
from jobs.cli import main
from tests.answers_warehouse import SERVER, STATE, moment, night, partition, proof, row, state, tables


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return night(tmp_path_factory.mktemp("why") / "w")


def run(root: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--warehouse", str(root)], catch_exceptions=False)


def why(root: Path, *subject: str) -> str:
    result = run(root, "why", *subject)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def data(root: Path, *subject: str) -> dict[str, Any]:
    story: dict[str, Any] = json.loads(why(root, *subject, "--format", "json"))
    return story


def test_the_outage_at_a_time(warehouse: Path) -> None:
    story = data(warehouse, "pay-in-0", "--at", "10:05:30")
    assert story["answer"] == (
        "pay-in-0 had no leader for 60.0 s, from 2026-11-21 10:05:00.020 to 10:06:00.000 UTC: broker 1 failed, the "
        "only one of 2 replicas in sync; 1 election failed meanwhile; an unclean election made broker 2 leader; it "
        "lost 5 to 9 records."
    )
    steps = [(step["at"][11:19], step["kind"], step["text"]) for step in story["steps"]]
    assert steps == [
        ("10:04:00", "isr", "broker 2 left the ISR, 7 records behind; ISR 1"),
        ("10:05:00", "broker", "broker 1 gone: session with ZooKeeper expired"),
        ("10:05:00", "failed_election", "election failed: alive 2,3"),
        ("10:05:00", "outage", "NO LEADER: broker 1 led until then, broker 1 failed; ISR 1"),
        ("10:05:30", "process", "broker 1 starts"),
        ("10:06:00", "unclean", "broker 2 became leader, leader epoch 2 (offline election, UNCLEAN, 1 min 0 s after "
         "the loss): it lost 5 to 9 records; ISR 2, before 1"),
        ("10:06:00", "violated", "rule leader_in_isr VIOLATED: expected one of 1, but it was 2"),
    ]  # fmt: skip
    assert story["steps"][1]["lines"][0]["place"] == "broker-3/controller.log:30"
    assert story["steps"][0]["lines"][0]["message"] == "[Partition pay-in-0 broker=1] ISR updated to [1]"


def test_replicas_that_may_have_been_replaced_since_are_not_counted(tmp_path: Path) -> None:
    """A reassignment of which no line is left came between: of the last state no line has the replicas."""
    states = tables()["partition_timeline"]
    unknown = [{**state, "replicas": None} if state["ordinal"] in (1, 2) else state for state in states]
    root = night(tmp_path / "w", {"partition_timeline": unknown})
    assert (
        "UTC: broker 1 failed, the only replica in sync; 1 election"
        in data(root, "pay-in-0", "--at", "10:05:30")["answer"]
    )


def test_an_open_outage_comes_first_and_says_what_is_unknown(warehouse: Path) -> None:
    text = why(warehouse, "pay-in-1")
    first = " ".join(text.split("\n\n")[0].split())
    assert first == (
        "pay-in-1 has had no leader since 2026-11-21 10:08:00.000 UTC (at least 2 min 0 s by the logs): the cause is "
        "not known (broker 3 led before; the ISR was 3)."
    )
    assert "Why the leader was lost." in text
    assert "1 state of this time: no line prints it in full" in " ".join(text.split())


def test_text_has_a_picture_and_quotes_lines_without_control_characters(warehouse: Path) -> None:
    text = why(warehouse, "pay-in-0")
    leader = next(line for line in text.splitlines() if line.startswith("leader "))
    assert leader.split()[1].startswith("1─")
    assert NONE in leader
    assert leader.rstrip().endswith("─")
    assert "broker-3/state-change.log:41  pay-in-0 has leader \\x1b[31m-1" in text
    assert "\x1b" not in text
    assert "2026-11-21 (UTC)" in text


def test_a_time_without_an_outage(warehouse: Path) -> None:
    assert data(warehouse, "pay-in-0", "--at", "10:04:30")["answer"] == (
        "At 2026-11-21 10:04:30.000 UTC pay-in-0 had leader 1, ISR 1 of replicas 1,2, since 2026-11-21 10:04:00.000; "
        "broker 2 was out of sync."
    )


GAPS = {  # moment -> the answer, and what cannot be told; three states between 10:01 and 10:09 are in no line
    "10:04": (
        "How pay-in-7 stood at 2026-11-21 10:04:00.000 UTC is not known: it had leader 1, ISR 1,2 of replicas 1,2 at "
        "2026-11-21 10:01:00.000, and 3 states between 2026-11-21 10:01:00.000 and 2026-11-21 10:09:00.000 are in no "
        "line.",
        ["How it stood then: 3 states between 2026-11-21 10:01:00.000 and 2026-11-21 10:09:00.000 are in no line."],
    ),
    "10:09": (
        "At 2026-11-21 10:09:00.000 UTC pay-in-7 had leader 2, ISR 1,2 of replicas 1,2, since 2026-11-21 10:09:00.000; "
        "no outage of it is in the logs.",
        ["3 states between those above: no line shows them."],
    ),
}


@pytest.mark.parametrize("at", GAPS)
def test_a_time_of_which_no_line_tells(at: str, tmp_path: Path) -> None:
    answer, unknown = GAPS[at]
    one = {"replicas": [1, 2], "availability": "FullyInSync", "evidence": []}
    states = [
        state(7, 5, 1, 3, [1, 2], since="10:01", until="10:09", **one),
        state(7, 9, 2, 4, [1, 2], since="10:09", missing_before=3, **one),
    ]
    story = data(night(tmp_path / "w", {"partition_timeline": states}), "pay-in-7", "--at", at)
    assert (story["answer"], story["cannot_be_told"]) == (answer, unknown)


def test_several_brokers_that_leave_and_join_the_isr(tmp_path: Path) -> None:
    isrs = ([1, 2, 3], [1], [1, 2, 3], [1, 2])
    times = ("10:01", "10:02", "10:03", "10:04")
    states = [
        state(7, number, 1, 1, isr, since=since, availability="UnderReplicated", evidence=[])
        for number, (isr, since) in enumerate(zip(isrs, times, strict=True))
    ]
    story = data(night(tmp_path / "w", {"partition_timeline": states}), "pay-in-7")
    assert [step["text"] for step in story["steps"] if step["kind"] == "isr"] == [
        "brokers 2, 3 left the ISR; ISR 1",
        "brokers 2, 3 joined the ISR; ISR 1,2,3",
        "broker 3 left the ISR; ISR 1,2",
    ]


def test_who_is_out_of_sync_and_who_of_them_is_gone(tmp_path: Path) -> None:
    """At the end of the logs; broker 1 was lost at 10:05."""
    replicas = {"replicas": [1, 2, 3], "since": "10:06:00", "evidence": []}
    states = [state(6, 1, 2, 3, [2], **replicas), state(7, 1, 2, 3, [2, 3], **replicas)]
    root = night(tmp_path / "w", {"partition_timeline": states})
    assert "; brokers 1, 3 were out of sync, for broker 1 was gone; no" in data(root, "pay-in-6")["answer"]
    assert "; broker 1 was out of sync, for it was gone; no" in data(root, "pay-in-7")["answer"]


FAILED = {  # strategy of the election -> the step
    "offline": "election failed: alive 2,3",
    "preferred": "preferred election failed, the leader stays: alive 2,3",
    "controlled_shutdown": "election for a controlled shutdown failed: alive 2,3",
}


@pytest.mark.parametrize("strategy", FAILED)
def test_a_failed_election_that_takes_no_leader_away_says_what_it_was_for(strategy: str, tmp_path: Path) -> None:
    elections = [{**one, "strategy": strategy} for one in tables()["elections"]]
    story = data(night(tmp_path / "w", {"elections": elections}), "pay-in-0", "--at", "10:05:30")
    assert [step["text"] for step in story["steps"] if step["kind"] == "failed_election"] == [FAILED[strategy]]


PREFERRED = {  # time of the election, leader before by its row -> what is said; the outage begins at 10:05:00.020
    ("10:04:30", None): "preferred election failed, the leader stays",
    ("10:04:30", 1): "preferred election failed, the leader stays",
    ("10:05:30", -1): "preferred election failed, there is still no leader",
    ("10:05:30", None): "preferred election failed, there is still no leader",
    ("10:05:30", 1): "preferred election failed, there is still no leader",
    ("10:06:00", 2): "preferred election failed, the leader stays",
}


@pytest.mark.parametrize(("at", "leader"), PREFERRED)
def test_the_leader_stays_only_if_there_is_one(at: str, leader: int | None, tmp_path: Path) -> None:
    known = {**tables()["elections"][0], "strategy": "preferred", "live_brokers": None}
    root = night(tmp_path / "w", {"elections": [{**known, "at": moment(at), "previous_leader": leader}]})
    steps = data(root, "pay-in-0", "--at", "10:05:30")["steps"]
    assert [step["text"] for step in steps if step["kind"] == "failed_election"] == [PREFERRED[at, leader]]


BEGINS = {  # incarnation, leader epoch, partition epoch, strategy of its election -> how the last state is told
    (0, 0, 0, None): "created with",
    (0, 0, 7, None): "first seen with",
    (0, 0, None, None): "first seen with",
    (0, 0, None, "new"): "created with",
    (0, 3, 9, None): "first seen with",
    (1, 0, 0, None): "created anew with",
    (1, 2, 4, None): "first seen after it was created anew, with",
}


@pytest.mark.parametrize("begin", BEGINS, ids=str)
def test_what_is_only_first_seen_is_not_said_to_be_created(
    begin: tuple[int, int, int | None, str | None], tmp_path: Path
) -> None:
    incarnation, epoch, partition_epoch, strategy = begin
    last = state(7, 0, 1, epoch, [1, 2], replicas=[1, 2], partition_epoch=partition_epoch, since="10:02", evidence=[])
    first = state(7, 0, 1, 0, [1], since="10:01", until="10:01:30", evidence=[])
    election = partition(7, at="10:02", succeeded=True, strategy=strategy, leader=1, leader_epoch=epoch, evidence=[])
    tables_of_it = {
        "partition_timeline": [*[first][:incarnation], {**last, "incarnation": incarnation}],
        "elections": [{**election, "incarnation": incarnation}],
    }
    steps = data(night(tmp_path / "w", tables_of_it), "pay-in-7")["steps"]
    assert f"{BEGINS[begin]} leader 1, ISR 1,2, replicas 1,2" in [step["text"] for step in steps]


UNSEEN = {  # leader epoch before, its leader, unclean -> what is told of leader epoch 5 of broker 2, with ISR 2
    (4, 2, False): "broker 2 stays leader in leader epoch 5; ISR 2, before 1,2",
    (
        4,
        1,
        True,
    ): "broker 2 became leader, leader epoch 5, after broker 1 (offline election, UNCLEAN): how many records it "
    "lost is not known; ISR 2, before 1,2",
    # somebody led in leader epoch 4, with an ISR of which no line tells
    (3, 2, True): "broker 2 became leader, leader epoch 5 (offline election, UNCLEAN): how many records it lost is not "
    "known; ISR 2",
    (3, 1, False): "broker 2 became leader, leader epoch 5 (offline election, clean); ISR 2",
}


@pytest.mark.parametrize(("epoch", "leader", "unclean"), UNSEEN)
def test_a_leader_epoch_of_which_nothing_is_known(epoch: int, leader: int, unclean: bool, tmp_path: Path) -> None:
    states = [
        state(7, 0, leader, epoch, [1, 2], since="10:01", evidence=[]),
        state(7, 1, 2, 5, [2], since="10:02", evidence=[]),
    ]
    election = partition(7, at="10:02", succeeded=True, strategy="offline", leader=2, leader_epoch=5, unclean=unclean)
    tables_of_it = {"partition_timeline": states, "elections": [{**election, "evidence": []}]}
    steps = data(night(tmp_path / "w", tables_of_it), "pay-in-7")["steps"]
    assert UNSEEN[epoch, leader, unclean] in [step["text"] for step in steps]


def test_a_leader_that_no_line_shows_is_not_said_to_stay(tmp_path: Path) -> None:
    unknown = partition(7, at="10:02", succeeded=False, strategy="preferred", evidence=[])
    states = [state(7, 0, 1, 0, [1], since="10:02:01", evidence=[])]
    root = night(tmp_path / "w", {"elections": [unknown], "partition_timeline": states})
    steps = data(root, "pay-in-7")["steps"]
    assert [step["text"] for step in steps if step["kind"] == "failed_election"] == ["preferred election failed"]


def test_an_outage_with_many_leader_epochs_is_told_from_its_begin_to_its_end(tmp_path: Path) -> None:
    """A new controller each second writes a leader epoch without a leader, 40 times; then broker 2 is elected."""
    before, after = tables()["partition_timeline"][:3], tables()["partition_timeline"][3]
    still = [
        state(0, 3 + number, -1, 2 + number, [1], since=f"10:05:{number + 10}", availability="Offline", evidence=[])
        for number in range(40)
    ]
    elected = {**after, "ordinal": 43, "leader_epoch": 42}
    root = night(tmp_path / "w", {"partition_timeline": [*before, *still, elected]})
    story = data(root, "pay-in-0", "--at", "10:05:30")
    texts = [step["text"] for step in story["steps"]]
    assert "NO LEADER: broker 1 led until then, broker 1 failed; ISR 1" in texts
    assert "still no leader in 40 new leader epochs until 10:05:49.000; ISR 1" in texts
    assert texts[-2].startswith("broker 2 became leader, leader epoch 42")
    whole = data(root, "pay-in-0", "--at", "10:05:30", "--all")
    assert len(whole["steps"]) == len(story["steps"]) + story["steps_left_out"]
    assert "still no leader (leader epoch 2); ISR 1" in [step["text"] for step in whole["steps"]]


def test_the_term_of_a_controller_that_was_asked_for_is_told(tmp_path: Path) -> None:
    """Sixty terms of a tenth of a second each; the moment is in the last one."""
    known = tables()["controller_timeline"][0]
    times = [f"10:05:0{tenth // 10}.{tenth % 10}" for tenth in range(61)]
    terms = [
        {**known, "controller_epoch": number + 1, "since": moment(since), "until": moment(until),
         "ended_by": "resigned", "active_since": None, "failover_ms": None, "resignation": []}
        for number, (since, until) in enumerate(pairwise(times))
    ]  # fmt: skip
    story = data(night(tmp_path / "w", {"controller_timeline": terms}), "controller", "--at", "10:05:05.950")
    texts = [step["text"] for step in story["steps"]]
    assert (len(texts), texts[-2:]) == (30, ["controller 3 took over, controller epoch 60", "controller 3 resigned"])
    assert "broker 1 gone: session with ZooKeeper expired" not in texts  # it is no controller
    others = [other["text"].partition(",")[0] for other in story["others"]]
    assert others == ["controller 3"] * 7 + ["52 more terms"]  # eight around it, one of which is the one told of
    over_all = [step["text"] for step in data(tmp_path / "w", "controller")["steps"]]
    assert (len(over_all), over_all[-2:]) == (
        30,
        ["controller 3 took over, controller epoch 60", "controller 3 resigned"],
    )
    story = data(night(tmp_path / "few", {"controller_timeline": terms[:8]}), "controller")
    assert [other["text"].split(", ")[1] for other in story["others"]] == [f"epoch {number}" for number in range(1, 9)]


def test_of_a_quorum_its_own_nodes_are_told_of_and_how_they_crashed(tmp_path: Path) -> None:
    """Broker 1 is stopped, too, which is none of the controllers; nodes 3 and 4 have controller.logs of their own."""
    known = tables()
    term = {**known["controller_timeline"][0], "mode": "kraft"}
    own = {**known["log_files"][1], "role": "controller", "kind": "controller"}
    files = [known["log_files"][2], *({**own, "file_id": f"own{node}", "node_ids": [node]} for node in (3, 4))]
    events = [
        row(file_id=f"own{node}", line=9, byte_offset=9, node_id=node, at="10:00:02", level="INFO", logger="l",
            event_type="process_signalled", message="m", fields=[])
        for node in (1, 3, 4)
    ]  # fmt: skip
    crash = {**CRASH, "title": "Controller 4 crashed, back after 2.0 s", "root_cause": "controller_crash",
             "root_broker": 4, "since": moment("10:00:04"), "evidence": proof((STATE, 10))}  # fmt: skip
    root = night(
        tmp_path / "w",
        {"controller_timeline": [term], "log_files": files, "events": events, "incidents": [crash]},
    )
    steps = data(root, "controller", "--at", "10:00:01")["steps"]
    assert [(step["at"][14:19], step["text"]) for step in steps] == [
        ("00:00", "controller 3 took over, controller epoch 1, ready after 100 ms"),
        ("00:02", "node 3 received a signal"),
        ("00:02", "node 4 received a signal"),
        ("00:04", "controller 4 crashed, back after 2.0 s"),
    ]
    assert "controller 4 crashed, back after 2.0 s" in [step["text"] for step in data(root, "controller")["steps"]]


def test_a_broker(warehouse: Path) -> None:
    story = data(warehouse, "broker", "1")
    assert story["answer"] == (
        "Broker 1 was away for at least 5 min 0 s, from 2026-11-21 10:05:00.000 UTC to the end of the logs (session "
        "with ZooKeeper expired): 1 partition had no leader, pay-in-0 for 60.0 s."
    )
    assert "pay-in-0 lost its leader; broker 1 failed" in [step["text"] for step in story["steps"]]
    assert data(warehouse, "broker", "2")["answer"] == "Broker 2 was never seen away in these logs."


def test_a_broker_that_was_lost_while_no_controller_was_there(tmp_path: Path) -> None:
    """The outage is one of the leader, 1, and of the controller, 3, without which nobody else was elected."""
    outage = {**tables()["offline_partitions"][0], "cause": "no_controller", "cause_broker": 3, "last_leader": 1}
    brokers = [
        row(broker=broker, since="10:00:00", until="10:05:00", ended_by="session_expired", evidence=[])
        for broker in (1, 2, 3)
    ]
    root = night(tmp_path / "w", {"offline_partitions": [outage], "broker_timeline": brokers})
    lost, nothing = "1 partition had no leader, pay-in-0 for 60.0 s", "no partition lost its leader for it"
    for broker, cost in (("1", lost), ("2", nothing), ("3", lost)):
        assert data(root, "broker", broker)["answer"].endswith(f": {cost}.")


def test_of_the_outages_of_a_broker_the_first_of_the_longest_is_named(tmp_path: Path) -> None:
    """Of 5 s each, but of the last only that is sure, and the names and rows are in another order than the times."""

    def lost(number: int, since: str, **values: Any) -> dict[str, Any]:
        return partition(number, since=since, at_least_ms=5000, cause="broker_failure", cause_broker=1, evidence=[],
                         failed_elections=0, **values)  # fmt: skip

    ended = [
        lost(number, since, until=since, ended_before=since, duration_ms=5000)
        for number, since in ((3, "10:05:02"), (2, "10:05:01"), (1, "10:05:01"), (0, "10:05:02"))
    ]
    for outages, expected in (
        (ended, "4 partitions had no leader, pay-in-1 for 5.0 s."),
        ([lost(3, "10:05:00"), *ended], "4 partitions had no leader, pay-in-3 for at least 5.0 s."),
    ):
        root = night(tmp_path / str(len(outages)), {"offline_partitions": outages})
        assert data(root, "broker", "1")["answer"].endswith(expected)


def change(number: int, at: str, removed: list[int], added: list[int]) -> dict[str, Any]:
    kind = "shrink" if removed else "expand"
    return partition(number, at=at, kind=kind, removed=removed, added=added, ordinal=1, evidence=[])


def isr_steps(root: Path, *asked: str) -> list[tuple[str, str]]:
    steps = data(root, "broker", *asked)["steps"]
    return [(step["at"][11:19], step["text"]) for step in steps if step["kind"] == "isr"]


def test_a_broker_is_in_sync_again_only_where_it_was_before(tmp_path: Path) -> None:
    """Broker 3 is in the ISR of pay-in-1 from its first state on; a reassignment brings it to pay-in-0 at 10:07."""
    changes = [change(1, "10:06:30", [3], []), change(1, "10:07:00", [], [3]), change(0, "10:07:00", [], [3])]
    last = {**tables()["partition_timeline"][3], "until": moment("10:07")}
    then = state(0, 4, 2, 2, [2, 3], replicas=[2, 3], since="10:07:00", evidence=[])
    others = [one for one in tables()["partition_timeline"] if one["partition"] == 1 or one["ordinal"] < 3]
    root = night(tmp_path / "w", {"isr_changes": changes, "partition_timeline": [*others, last, then]})
    assert isr_steps(root, "3", "--at", "10:07:05") == [
        ("10:06:30", "pay-in-1 dropped broker 3"),
        ("10:07:00", "pay-in-1 has broker 3 in sync again"),
        ("10:07:00", "pay-in-0 took broker 3 into the ISR for the first time in these logs"),
    ]


def test_a_broker_that_is_back_in_sync_is_told_to_have_dropped_out(tmp_path: Path) -> None:
    """Broker 1 is away from 10:05:00 to 10:06:00, and stops to fetch before: pay-in-0 drops it at 10:04:50. What
    dropped it at 10:03:00 has another reason, as has what had it in sync before; pay-in-4 never has it back."""
    away, *others = tables()["broker_timeline"]
    back = {**away, "since": moment("10:06:00"), "until": None, "ended_by": None, "started_as": "returned"}
    changes = [
        change(0, "10:04:50", [1], []), change(0, "10:06:01", [], [1]),
        change(1, "10:03:00", [1], []), change(1, "10:06:01", [], [1]),
        change(2, "10:04:40", [1], []), change(2, "10:04:45", [], [1]),
        change(4, "10:04:45", [1], []),
    ]  # fmt: skip
    states = [*tables()["partition_timeline"], state(1, 2, 1, 2, [1, 3], since="10:00:02", evidence=[])]
    root = night(
        tmp_path / "w",
        {"broker_timeline": [away, back, *others], "isr_changes": changes, "partition_timeline": states},
    )
    assert isr_steps(root, "1", "--at", "10:05:30") == [
        ("10:04:50", "pay-in-0 dropped broker 1"),
        ("10:06:01", "2 partitions have broker 1 in sync again: pay-in-0, pay-in-1"),
    ]


def test_a_broker_that_a_new_controller_found_back_came_back(tmp_path: Path) -> None:
    """It had gone at 10:05; the controller that took over at 10:07 lists it among those that are there."""
    away, *others = tables()["broker_timeline"]
    back = {**away, "since": moment("10:07"), "until": None, "ended_by": None, "evidence": proof((STATE, 42))}
    root = night(tmp_path / "w", {"broker_timeline": [back, away, *others]})
    steps = data(root, "broker", "1")["steps"]
    assert [(step["at"][11:19], step["text"], step["lines"][0]["place"][-2:]) for step in steps[-1:]] == [
        ("10:07:00", "broker 1 came back", "42")
    ]
    assert not [step for step in data(root, "broker", "2")["steps"] if "came" in step["text"]]


CRASH = row(
    incident_id="i", severity="major", title="Broker 1 crashed", since="10:04:59", until="10:10:00", story="",
    root_cause="broker_crash", root_broker=1, steps=[], evidence=[],
)  # fmt: skip


def test_a_broker_of_which_an_incident_says_that_it_crashed(tmp_path: Path) -> None:
    """Its controller saw a session end; what the broker logged itself shows more."""
    root = night(tmp_path / "w", {"incidents": [CRASH]})
    assert "to the end of the logs (crashed): 1 partition had no leader" in data(root, "broker", "1")["answer"]
    assert "broker 1 gone: crashed" in [step["text"] for step in data(root, "pay-in-0", "--at", "10:05:30")["steps"]]
    other = night(tmp_path / "o", {"incidents": [{**CRASH, "root_broker": 2}]})
    assert "(session with ZooKeeper expired)" in data(other, "broker", "1")["answer"]
    earlier = night(tmp_path / "e", {"incidents": [{**CRASH, "since": moment("10:01"), "until": moment("10:02")}]})
    assert "(session with ZooKeeper expired)" in data(earlier, "broker", "1")["answer"]


def test_a_topic_may_be_called_broker(tmp_path: Path) -> None:
    states = [{**one, "topic": "broker"} for one in tables()["partition_timeline"]]
    root = night(tmp_path / "w", {"partition_timeline": states})
    assert data(root, "broker-1")["subject"] == "broker-1"


def test_the_line_of_an_inferred_state_is_the_one_of_its_time(tmp_path: Path) -> None:
    """Its evidence begins with a line of its neighbour, nine minutes before."""
    states = [dict(one) for one in tables()["partition_timeline"]]
    states[-1]["evidence"] = proof((STATE, 10), (STATE, 50))
    root = night(tmp_path / "w", {"partition_timeline": states})
    assert "broker-3/state-change.log:50  pay-in-1 has leader -1" in why(root, "pay-in-1")
    steps = data(root, "pay-in-1")["steps"]
    assert [line["place"][-2:] for line in steps[-1]["lines"]] == ["10", "50"]


def test_the_line_of_a_change_of_an_isr_is_the_one_of_its_time(tmp_path: Path) -> None:
    """Its evidence begins with the state before, in which broker 2 was in sync, and ends with a later one."""
    changes = [{**tables()["isr_changes"][0], "evidence": proof((STATE, 10), (SERVER, 20), (STATE, 41))}]
    root = night(tmp_path / "w", {"isr_changes": changes})
    (step,) = [step for step in data(root, "broker", "2", "--at", "10:04:30")["steps"] if step["kind"] == "isr"]
    assert step["text"] == "pay-in-0 dropped broker 2"
    assert [line["place"] for line in step["lines"]] == ["broker-1/server.log:20"]


NEAREST = {  # times of the lines 0, 1, ... of a step of 10:00:01; None: not known -> those that are told, at most two
    ("10:00:01", "10:00:01.500"): [0, 1],
    ("09:58:00", "10:00:00.900", "10:00:01.050"): [1, 2],
    ("10:00:01.100", "10:00:00.900", "10:00:00.901"): [1, 2],
    ("10:00:01.100", "10:00:00.900", "10:00:01.100"): [0, 1],
    (None, "10:00:01", "10:00:09"): [1, 2],
    (None, "10:00:01"): [0, 1],
    (): [],
}


@pytest.mark.parametrize("times", NEAREST, ids=str)
def test_of_many_lines_those_nearest_to_a_step_are_told(times: tuple[str | None, ...]) -> None:
    places = [(STATE, number) for number in range(len(times))]
    lines = {
        place: LogLine(f"state-change.log:{place[1]}", moment(at) if at else None, "INFO", "m")
        for place, at in zip(places, times, strict=True)
    }
    step = with_nearest_lines(Step(moment("10:00:01"), "NO LEADER", tuple(places), most_lines=2), lines)
    assert [line for _, line in step.lines] == NEAREST[times]


def test_a_cause_and_the_line_that_shows_it_are_one_step(tmp_path: Path) -> None:
    outages = [dict(one) for one in tables()["offline_partitions"]]
    line = proof((SERVER, 21))
    outages[0] |= {"cause": "controlled_shutdown", "cause_at": moment("10:05:30"), "cause_evidence": line}
    steps = data(night(tmp_path / "w", {"offline_partitions": outages}), "pay-in-0", "--at", "10:05:30")["steps"]
    assert [step["text"] for step in steps if step["at"].endswith("10:05:30.000Z")] == ["broker 1 was shut down"]


def test_a_line_that_shows_several_steps_is_quoted_once() -> None:
    """Then only its place stands there; with --all it is quoted each time."""
    line = LogLine("broker-1/server.log:7", moment("10:00:00"), "INFO", "Fencing broker 1")
    steps = [Step(moment("10:00:00"), text, ((STATE, 7),)) for text in ("broker 1 gone", "pay-in-0 lost its leader")]
    story = Story("c", "broker 1", "Broker 1 was away.", moment("10:00:00"), moment("10:01:00"), steps=steps)
    text = story_text(story, {(STATE, 7): line})
    assert text.count("Fencing broker 1") == 1
    assert text.endswith("10:00:00.000  pay-in-0 lost its leader  broker-1/server.log:7")
    assert story_text(story, {(STATE, 7): line}, whole=True).count("Fencing broker 1") == 2


def test_the_controller(warehouse: Path) -> None:
    assert data(warehouse, "controller")["others"] == []
    assert data(warehouse, "controller")["answer"] == (
        "At the end of the logs node 3 was controller (epoch 1), since 2026-11-21 10:00:00.000 UTC; the controller did "
        "not change in these logs."
    )


def test_no_controller_at_the_end(tmp_path: Path) -> None:
    term = {**tables()["controller_timeline"][0], "until": moment("10:09"), "ended_by": "resigned"}
    assert data(night(tmp_path / "w", {"controller_timeline": [term]}), "controller")["answer"].startswith(
        "At the end of the logs no controller is known: node 3 (epoch 1), the last one, resigned at 2026-11-21 "
        "10:09:00.000 UTC; "
    )


def test_a_controller_that_is_gone_at_the_end(tmp_path: Path) -> None:
    """No line ends its term, for no other node took over; an incident of before its term, or of broker 4, ends none."""
    stop = {**CRASH, "root_cause": "controller_shutdown", "root_broker": 3, "until": None}
    cases: dict[str, dict[str, Any]] = {
        "gone": {"since": moment("10:00:05")}, "before": {"since": moment("09:59:59")}, "another": {"root_broker": 4},
        "back": {"since": moment("10:00:05"), "until": moment("10:00:06")},
    }  # fmt: skip
    answers = {}
    for name, changes in cases.items():
        root = night(tmp_path / name, {"incidents": [{**stop, "since": moment("10:00:05"), **changes}]})
        answers[name] = data(root, "controller")["answer"].partition(";")[0]
    since = "At the end of the logs node 3 was controller (epoch 1), since 2026-11-21 10:00:00.000 UTC"
    assert answers == {
        "gone": f"{since} until it was shut down at 2026-11-21 10:00:05.000 UTC",
        "before": since, "another": since, "back": since,
    }  # fmt: skip


TRUNCATION_LINES = [  # seconds, node, event type, offset
    (1, 2, "follower_truncated", "0"), (1, 2, "log_truncation_without_effect", "0"),
    (2, 3, "follower_truncated", None), (2, 2, "follower_truncated", "90"), (2, 3, "log_truncated", "1023"),
    (3, 2, "log_truncated", "90"), (4, 2, "log_truncated", "80"), (5, 2, "log_truncation_without_effect", "80"),
    (6, 3, "log_truncated_fully", "7"), (7, 2, "follower_truncated", "60"),
    (13, 2, "log_truncation_without_effect", "9"),
]  # fmt: skip


def test_a_truncation_without_effect_is_none() -> None:
    """Fetchers announce them; of two nodes at once each has its own. What is announced 6 s before is another one."""
    events = [
        {"event_type": kind, "node_id": node, "broker_id": None, "at": moment(f"10:00:{second:02}"), "file_id": SERVER,
         "line": number, "offset": offset}
        for number, (second, node, kind, offset) in enumerate(TRUNCATION_LINES, 1)
    ]  # fmt: skip
    assert [(step.text, step.lines[0][1]) for step in process_steps(real_truncations(events))] == [
        ("broker 3 truncated its log to offset 1023", 5),
        ("broker 2 truncated its log to offset 90", 6),
        ("broker 2 truncated its log to offset 80", 7),
        ("broker 3 truncated its log fully, to begin anew at offset 7", 9),
        ("broker 2 truncated its log to offset 60", 10),
    ]


def test_a_start_that_fails_is_told_with_its_error() -> None:
    """The first line of the stack trace, without what steers a terminal; a record without one says what it says."""
    details = ["\x1b[31mjava.io.IOException:\tfull\n\tat kafka.Kafka", "", None]
    with duckdb.connect() as connection:
        rows = [connection.execute(f"SELECT {ERROR} FROM (SELECT ? AS detail)", [text]).fetchall() for text in details]
    errors = [error for ((error,),) in rows]
    assert errors == ["[31mjava.io.IOException: full", None, None]
    events = [
        {"event_type": "server_start_failed", "node_id": 2, "broker_id": None, "at": moment(f"10:0{minute}:00"),
         "file_id": SERVER, "line": minute, "error": error}
        for minute, error in enumerate(errors[:2])
    ]  # fmt: skip
    assert [step.text for step in process_steps(events)] == [
        "broker 2 failed to start: [31mjava.io.IOException: full",
        "broker 2 failed to start",
    ]


def test_a_truncation_is_told_with_its_offset(tmp_path: Path) -> None:
    """At 10:05:40 one has no effect, at 10:05:50 one does; the log's own line stands for the fetcher's."""
    lines = [
        ("10:05:40", "follower_truncated", [("high_watermark", "5")]),
        ("10:05:40", "log_truncation_without_effect", [("offset", "5")]),
        ("10:05:50", "follower_truncated", [("high_watermark", "5")]),
        ("10:05:50.001", "log_truncated", [("offset", "5")]),
    ]
    events = [
        row(file_id=SERVER, line=90 + number, byte_offset=90 + number, node_id=1, at=at, level="INFO", logger="l",
            event_type=kind, message="Truncating", topic="pay-in", partition=0, fields=fields)
        for number, (at, kind, fields) in enumerate(lines)
    ]  # fmt: skip
    root = night(tmp_path / "w", {"events": [*tables()["events"], *events]})
    steps = data(root, "pay-in-0", "--at", "10:05:30")["steps"]
    assert [(step["at"][11:-1], step["text"]) for step in steps if "truncated" in step["text"]] == [
        ("10:05:50.001", "broker 1 truncated its log to offset 5")
    ]


def test_a_broker_that_never_came_up(tmp_path: Path) -> None:
    """No controller has registered it, and no partition has it: its incident tells when it could not start."""
    never = {**CRASH, "title": "Broker 8 failed to start 3 times", "root_cause": "start_failed", "root_broker": 8}
    never |= {"since": moment("10:02:01"), "until": None}
    failed = row(
        file_id=SERVER, line=90, byte_offset=9000, size_bytes=50, node_id=8, at="10:02:01", level="ERROR",
        logger="kafka.server.KafkaServer", event_type="server_start_failed", message="Fatal error",
        detail="java.io.IOException: full\n\tat kafka.Kafka", fields=[],
    )  # fmt: skip
    root = night(tmp_path / "w", {"incidents": [never], "events": [*tables()["events"], failed]})
    story = data(root, "broker", "8")
    assert story["answer"] == (
        "Broker 8 was away for at least 7 min 59 s, from 2026-11-21 10:02:01.000 UTC to the end of the logs (could not "
        "start): no partition lost its leader for it."
    )
    assert "broker 8 failed to start: java.io.IOException: full" in [step["text"] for step in story["steps"]]
    back = night(tmp_path / "b", {"incidents": [{**never, "until": moment("10:03:01")}]})
    assert data(back, "broker", "8")["answer"].startswith(
        "Broker 8 was away for 1 min 0 s, from 2026-11-21 10:02:01.000"
    )


def test_a_controller_that_resigns_behind_the_election_of_the_next_one(tmp_path: Path) -> None:
    """Node 2's resignation is told with its line, 15 ms after 3 was elected; of node 1 no line has one."""
    known = tables()["controller_timeline"][0]
    lines = proof((STATE, 40), (STATE, 41))
    steps = [
        {"at": moment("10:05:00.015"), "step": "resigning", **lines[0]},
        {"at": moment("10:05:00.020"), "step": "resigned", **lines[1]},
    ]
    ended: dict[str, Any] = {"ended_by": "replaced", "failover_ms": None, "resignation": []}
    terms = [
        {**known, **ended, "controller_id": 1, "until": moment("10:02")},
        {**known, **ended, "controller_id": 2, "controller_epoch": 2, "since": moment("10:02"),
         "until": moment("10:05:00.005"), "resignation": steps},
        {**known, "controller_epoch": 3, "since": moment("10:05:00.005"), "active_since": None, "resignation": []},
    ]  # fmt: skip
    root = night(tmp_path / "w", {"controller_timeline": terms})
    story = data(root, "controller", "--at", "10:05:00.005")
    texts = [
        (step["text"], [line["place"] for line in step["lines"]])
        for step in story["steps"]
        if " resign" in step["text"]
    ]
    assert texts == [
        ("controller 2 began to resign", ["broker-3/state-change.log:40"]),
        ("controller 2 resigned from epoch 2, 15 ms after the next one was elected", ["broker-3/state-change.log:41"]),
    ]
    assert "replaced, resigned at 2026-11-21 10:05:00.020" in story["others"][-1]["text"]
    assert [text for text in data(root, "controller")["cannot_be_told"] if "stopped" in text] == [
        "When controller 1 of epoch 1 stopped deciding: it logged no resignation, and the next one was elected at "
        "2026-11-21 10:02:00.000."
    ]
    older = night(tmp_path / "o", {"controller_timeline": [{**terms[0], "resignation": None}, *terms[1:]]})
    assert [text for text in data(older, "controller")["cannot_be_told"] if "stopped" in text] == [
        "When controller 1 of epoch 1 stopped deciding: the next one was elected at 2026-11-21 10:02:00.000."
    ]


def test_in_a_migration_a_controller_is_ready_when_the_last_one_of_zookeeper_resigns(tmp_path: Path) -> None:
    """Node 1 resigns at 10:04, while 100 is ready from 10:02 to 10:07; 101 is ready 2 s after that."""
    known = tables()["controller_timeline"][0]
    terms = [
        {**known, "controller_id": 1, "until": moment("10:04"), "ended_by": "resigned"},
        {**known, "controller_id": 100, "mode": "kraft", "since": moment("10:01"), "active_since": moment("10:02"),
         "until": moment("10:07"), "ended_by": "replaced"},
        {**known, "controller_id": 101, "mode": "kraft", "controller_epoch": 2, "since": moment("10:07"),
         "active_since": moment("10:07:02")},
    ]  # fmt: skip
    answer = data(night(tmp_path / "w", {"controller_timeline": terms}), "controller")["answer"]
    assert "from a resignation" not in answer
    terms[1]["ended_by"] = "resigned"
    answer = data(night(tmp_path / "r", {"controller_timeline": terms}), "controller")["answer"]
    assert answer.endswith("; from a resignation to the next one being ready it took up to 2.0 s.")


def test_a_partition_whose_topic_was_deleted_is_not_there_until_it_is_created_anew(tmp_path: Path) -> None:
    state = {**tables()["partition_timeline"][0], "until": moment("10:02")}
    first = {**tables()["topic_timeline"][0], "deletion_started": moment("10:02"), "until": moment("10:02")}
    second = {**first, "incarnation": 1, "since": moment("10:05"), "deletion_started": None, "until": None}
    deleted = "pay-in-0 was not there at 2026-11-21 10:03:00.000 UTC: the topic was deleted at 2026-11-21 10:02:00.000"
    changes = {"partition_timeline": [state], "offline_partitions": [], "elections": [], "isr_changes": []}
    for topics, answer in (
        ([first], f"{deleted}."),
        ([first, second], f"{deleted}, and created anew at 2026-11-21 10:05:00.000."),
    ):
        root = night(tmp_path / str(len(topics)), {**changes, "topic_timeline": topics})
        assert data(root, "pay-in-0", "--at", "10:03")["answer"] == answer


def test_at_the_end_of_the_logs_a_deleted_partition_is_not_there(tmp_path: Path) -> None:
    """It had a leader until the deletion; its story is about that, not about how it stood before."""
    state = {**tables()["partition_timeline"][0], "until": moment("10:02")}
    topic = {**tables()["topic_timeline"][0], "deletion_started": moment("10:02"), "until": moment("10:02")}
    changes = {"partition_timeline": [state], "offline_partitions": [], "elections": [], "isr_changes": []}
    story = data(night(tmp_path / "w", {**changes, "topic_timeline": [topic]}), "pay-in-0")
    assert story["answer"] == (
        "At the end of the logs (2026-11-21 10:10:00.000 UTC) pay-in-0 was not there: the topic was deleted at "
        "2026-11-21 10:02:00.000. Until then it had leader 1, ISR 1,2 of replicas 1,2, since 2026-11-21 10:00:01.000; "
        "no outage of it is in the logs."
    )
    assert [step["text"] for step in story["steps"]] == ["deletion of the topic was requested", "topic deleted"]


@pytest.mark.parametrize(
    ("subject", "complaint"),
    {
        ("pay-in",): "pay-in is a topic; name one of its partitions: pay-in-0, pay-in-1.",
        ("pay-in-7",): "Topic pay-in has no partition 7 in the logs; it has 0, 1.",
        ("pay-inn-0",): "There is no topic pay-inn in the logs; did you mean pay-in?",
        ("broker", "9"): "There is no broker 9 in the logs; there are 1, 2, 3.",
        ("nonsense",): "'nonsense' is no partition; give one such as orders-3, or `broker 3`, or `controller`.",
        ("pay-in-0", "pay-in-1"): "'pay-in-0 pay-in-1' is no partition; give one such as orders-3, or `broker 3`, or "
        "`controller`.",
        ("broker-1",): "'broker-1' is no partition; of a broker ask `why broker 1`.",
        ("Node", "1"): "'Node 1' is no partition; of a broker ask `why broker 1`.",
        ("controller", "3"): "'controller 3' is no partition; ask `why controller`, with --at for the one of that "
        "time.",
        ("pay-in-0", "--at", "2026-11-20"): "The logs are from 2026-11-21T10:00:00.000Z to 2026-11-21T10:10:00.000Z: "
        "nothing is known about 2026-11-20T00:00:00.000Z.",
    }.items(),
    ids=str,
)  # fmt: skip
def test_what_cannot_be_answered_is_one_sentence(warehouse: Path, subject: tuple[str, ...], complaint: str) -> None:
    result = run(warehouse, "why", *subject)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"kafka-rewind: {complaint}\n")


def test_the_name_of_a_topic_may_look_like_that_of_a_partition(tmp_path: Path) -> None:
    """The topic is `a-1`; there is none that is called `a`."""
    changes = {
        name: [{**row, "topic": "a-1"} for row in tables()[name]] for name in ("topic_timeline", "partition_timeline")
    }
    root = night(tmp_path / "w", {**changes, "offline_partitions": [], "elections": [], "isr_changes": []})
    assert run(root, "why", "a-1").stderr == (
        "kafka-rewind: a-1 is a topic; name one of its partitions: a-1-0, a-1-1.\n"
    )
    assert data(root, "a-1-1", "--at", "10:02")["answer"].startswith(
        "At 2026-11-21 10:02:00.000 UTC a-1-1 had leader 3,"
    )


def test_tables_that_a_warehouse_lacks(tmp_path: Path) -> None:
    """An older or partial run: what is there is told."""
    lacking = ("elections", "isr_changes", "reassignments", "verdicts", "broker_timeline", "controller_timeline")
    story = data(night(tmp_path / "w", without=lacking), "pay-in-0")
    assert story["answer"].startswith("pay-in-0 had no leader for 60.0 s")


def test_without_a_time_it_is_about_the_open_outage_or_the_longest(tmp_path: Path) -> None:
    """Of 1 s at 10:01, 9 s at 10:02 and 2 s at 10:05; then one that is still open, though shorter."""

    def outage(since: str, until: str | None, ms: int) -> dict[str, Any]:
        return partition(
            0, since=since, until=until, ended_before=until, began_after=since, duration_ms=ms if until else None,
            at_least_ms=ms, failed_elections=0, evidence=[],
        )  # fmt: skip

    ended = [outage("10:01", "10:01:01", 1000), outage("10:02", "10:02:09", 9000), outage("10:05", "10:05:02", 2000)]
    story = data(night(tmp_path / "ended", {"offline_partitions": ended}), "pay-in-0")
    assert story["facts"]["since"] == "2026-11-21T10:02:00.000Z"
    assert len(story["others"]) == 3  # the other two, and the unclean election
    story = data(night(tmp_path / "open", {"offline_partitions": [*ended, outage("10:09:55", None, 5000)]}), "pay-in-0")
    assert story["facts"]["since"] == "2026-11-21T10:09:55.000Z"


def test_a_time_whose_end_is_not_known(tmp_path: Path) -> None:
    outage = partition(
        0, since="10:05:00.020", at_least_ms=0, at_most_ms=59_980, began_after="10:04:00", ended_before="10:06:00",
        failed_elections=0, evidence=[],
    )  # fmt: skip
    story = data(night(tmp_path / "w", {"offline_partitions": [outage]}), "pay-in-0")
    assert story["answer"].startswith(
        "pay-in-0 had no leader for at most 60.0 s, from 2026-11-21 10:05:00.020 UTC to a time before 2026-11-21"
    )
    assert "When exactly it ended: by 2026-11-21 10:06:00.000." in story["cannot_be_told"]
    assert (
        "When exactly it began: after 2026-11-21 10:04:00.000, by 2026-11-21 10:05:00.020." in story["cannot_be_told"]
    )


def test_several_clusters_need_a_name(tmp_path: Path) -> None:
    other = row(cluster="d", node_id=1, kind="server", since="10:00", until="10:01", records=1)
    spans = [*tables()["log_coverage"], other]
    files = [*tables()["log_files"], {**tables()["log_files"][0], "cluster": "d"}]
    root = night(tmp_path / "w", {"log_coverage": spans, "log_files": files})
    assert "The warehouse has several clusters: c, d; name one with --cluster." in run(root, "why", "pay-in-0").stderr
    story = data(root, "pay-in-1", "--cluster", "c")
    assert story["cluster"] == "c"


def test_what_is_shorter_than_a_column_is_seen() -> None:
    begin, end = moment("10:00"), moment("11:00")
    blip = Stretch(moment("10:30:00.100"), moment("10:30:00.200"), NONE)
    lane = Lane("leader", [Stretch(begin, blip.since, "─", "1"), blip, Stretch(blip.until, end, "─", "2")])
    assert lane_text(lane, begin, end, 11) == "1────▒─────"


def test_an_election_tells_when_its_followers_fetched(tmp_path: Path) -> None:
    failed, elected = tables()["elections"]
    clean = {**elected, "unclean": False, "isr": [2, 3], "followers_fetch_ms": 38}
    root = night(tmp_path / "w", {"elections": [failed, clean]})
    assert "(offline election, clean, 1 min 0 s after the loss, followers fetching 38 ms later)" in " ".join(
        why(root, "pay-in-0").split()
    )
