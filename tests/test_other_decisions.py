"""Decisions that are no elections: what is sent, received and obeyed, rebalances, deletions, new topics, silence.

Each case is a few lines of a log as columns, and what the rule makes of them.
"""

from __future__ import annotations

from typing import Any

import pytest

from udfs.kafka.creation_verdicts import judge_creation
from udfs.kafka.deletion_verdicts import judge_deletion
from udfs.kafka.reassignment_verdicts import judge_end
from udfs.kafka.rebalance_verdicts import judge_rebalances
from udfs.kafka.releases import Release
from udfs.kafka.request_verdicts import judge_requests
from udfs.kafka.silence_verdicts import judge_cache, judge_shutdown, judge_silence
from udfs.kafka.verdict_rows import request_verdicts

SECOND = 1_000_000
ERA = Release(2, 4)
BADNESS = ("", "holds", "unknown", "violated")
PARTITION = {"cluster": "c", "topic": "a", "partition": 0, "incarnation": 0}
COLUMNS = (
    "controller_id", "controller_epoch", "correlation_id", "leader", "leader_epoch", "to_state", "target_broker",
    "current_leader_epoch", "deletes", "life", "registered_at", "replica", "from_state", "replicas", "target_replicas",
    "adding_replicas", "removing_replicas", "log_since",
)  # fmt: skip


def line(at_s: float, node_id: int, event_type: str, **values: Any) -> dict[str, Any]:
    """A line of the first life of a node, numbered by its time."""
    process = {"life": 1, "log_since": 0, "file_id": f"f{node_id}"}
    usual: dict[str, Any] = {**dict.fromkeys(COLUMNS), **process, "controller_epoch": 7}
    place = {"at": int(at_s * SECOND), "node_id": node_id, "line": int(at_s * 10)}
    return {**usual, "event_type": event_type, **place, **values}


def elected(at_s: float, leader: int, epoch: int) -> dict[str, Any]:
    return line(at_s, 9, "partition_state_change", to_state="OnlinePartition", leader=leader, leader_epoch=epoch)


def sent(at_s: float, broker: int, leader: int, epoch: int) -> dict[str, Any]:
    return line(at_s, 9, "leader_and_isr_request_sent", target_broker=broker, leader=leader, leader_epoch=epoch)


def received(at_s: float, broker: int, leader: int, epoch: int, number: int, **values: Any) -> list[dict[str, Any]]:
    """A request that a broker receives and applies."""
    of_request = {"controller_id": 9, "correlation_id": number, **values}
    return [
        line(at_s, broker, "leader_and_isr_request_received", leader=leader, leader_epoch=epoch, **of_request),
        line(at_s + 0.1, broker, "become_leader_started", **of_request),
    ]


def verdicts(lines: list[dict[str, Any]], *releases: Release) -> dict[str, str]:
    """By rule the worst verdict; `releases`: those that the cluster may have run."""
    worst: dict[str, str] = {}
    for judged in judge_requests(sorted(lines, key=lambda row: row["at"]), releases or (ERA,)):
        verdict = judged.verdict
        worst[verdict.rule] = max(
            worst.get(verdict.rule, ""), verdict.verdict, key=["", "holds", "unknown", "violated"].index
        )
    return worst


SENT_BEFORE_AND_AFTER = [elected(0, 1, 0), sent(1, 1, 1, 0), sent(60, 1, 3, 9)]
FOLLOWING = {  # lines about leader epoch 1 -> what `request_follows` says of it
    "sent to the leader": ([elected(10, 2, 1), sent(10.1, 2, 2, 1)], "holds"),
    "sent to a follower only": ([elected(10, 2, 1), sent(10.1, 3, 2, 1)], "violated"),
    "sent to nobody, and the controller works on": ([elected(10, 2, 1)], "violated"),
    "another controller works on": ([elected(70, 2, 1)], "unknown"),
    "it works on in another file: one between may be missing": ([{**elected(10, 2, 1), "file_id": "g"}], "unknown"),
    "it works on in another file, and sent it to a follower in the same": (
        [{**line, "file_id": "g"} for line in (elected(10, 2, 1), sent(10.1, 3, 2, 1))],
        "violated",
    ),
    # the controller's line may be lost, or all but one of the leader's
    "received by the leader": ([elected(10, 2, 1), received(40, 2, 2, 1, 5)[0]], "holds"),
    "received by another broker": ([elected(10, 2, 1), received(10.1, 3, 2, 1, 5)[0]], "violated"),
    "obeyed by the leader soon": ([elected(10, 2, 1), received(10.1, 2, 2, 1, 5)[1]], "holds"),
    "done by the leader soon": ([elected(10, 2, 1), line(10.3, 2, "become_leader_completed")], "holds"),
    "obeyed by the leader long after": ([elected(10, 2, 1), received(21, 2, 2, 1, 5)[1]], "violated"),
    "obeyed by the leader after the next decision": (
        [elected(10, 2, 1), elected(12, 2, 2), sent(12.1, 2, 2, 2), received(12.2, 2, 2, 2, 5)[1]],
        "violated",
    ),
    "obeyed by the leader in a request of the leader epoch before": (
        [elected(10, 2, 1), received(9.9, 2, 2, 0, 5)[0], received(10, 2, 2, 0, 5)[1]],
        "violated",
    ),
    "obeyed by the leader for another controller": (
        [elected(10, 2, 1), line(10.3, 2, "become_leader_completed", controller_epoch=8)],
        "violated",
    ),
}


@pytest.mark.parametrize("case", FOLLOWING)
def test_the_elected_leader_is_sent_leader_and_isr(case: str) -> None:
    lines, verdict = FOLLOWING[case]
    assert verdicts([*SENT_BEFORE_AND_AFTER, *lines])["request_follows"] == verdict


def test_a_controller_that_prints_no_requests_is_not_asked_for_them() -> None:
    assert "request_follows" not in verdicts([elected(10, 2, 1), elected(30, 1, 2)])


ACCEPTED = {  # two requests that broker 1 applies -> whether the second one was to be
    "a newer leader epoch": (received(1, 1, 1, 4, 20) + received(5, 1, 1, 5, 21), "holds"),
    "the same leader epoch": (received(1, 1, 1, 4, 20) + received(5, 1, 1, 4, 21), "violated"),
    "an older leader epoch": (received(1, 1, 1, 4, 20) + received(5, 1, 1, 3, 21), "violated"),
    "a zombie controller, with a newer leader epoch": (
        received(1, 1, 1, 4, 20) + received(5, 1, 1, 5, 3, controller_epoch=6), "violated"
    ),
    "an older leader epoch after the process started anew": (
        received(1, 1, 1, 4, 20) + received(5, 1, 1, 3, 1, life=2), None
    ),
    "an older leader epoch after the broker registered again": (
        received(1, 1, 1, 4, 20) + received(5, 1, 1, 3, 1, registered_at=4), None
    ),
    # no start of a process was logged before: it may have started anew between two connections
    "an older leader epoch on the same connection, of a process whose start is not logged": (
        received(1, 1, 1, 4, 20, life=0) + received(5, 1, 1, 3, 21, life=0), "violated"
    ),
    "the same leader epoch by the next controller, of a process whose start is not logged": (
        received(1, 1, 1, 4, 20, life=0) + received(5, 1, 1, 4, 1, life=0, controller_epoch=8), None
    ),
    "the same leader epoch on another connection, of a process whose start is not logged": (
        received(1, 1, 1, 4, 20, life=0) + received(5, 1, 1, 4, 1, life=0), None
    ),
    # where no log of starts is there, even ids that rise may be of two processes
    "the same leader epoch by a later request, while no start would be logged": (
        received(1, 1, 1, 4, 20, log_since=None) + received(5, 1, 1, 4, 21, log_since=None), None
    ),
    "the same leader epoch by a request of the same id, while no start would be logged": (
        received(1, 1, 1, 4, 0, log_since=None) + received(5, 1, 1, 4, 0, log_since=None), None
    ),
    "the same leader epoch behind a hole in the log of starts": (
        received(1, 1, 1, 4, 20) + received(5, 1, 1, 4, 21, log_since=4), None
    ),
    "the same leader epoch after one that names no leader": (
        received(1, 1, -1, 4, 20) + received(5, 1, 1, 4, 21), "holds"
    ),
    "the same leader epoch after a leader that was not there": (
        [*received(1, 1, 2, 4, 20), line(2, 1, "become_follower_leader_unavailable"), *received(5, 1, 1, 4, 21)],
        "holds",
    ),
    "the first leader epoch after the replica was deleted": (
        [*received(1, 1, 1, 4, 20), line(3, 1, "stop_replica_started", deletes=True), *received(5, 1, 1, 0, 22)], None
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ACCEPTED)
def test_brokers_apply_newer_leader_epochs_of_current_controllers_only(case: str) -> None:
    lines, verdict = ACCEPTED[case]
    assert verdicts(lines).get("request_acceptance") == verdict


@pytest.mark.parametrize(("current", "verdict"), [(4, "holds"), (5, "holds"), (3, "violated")])
def test_a_request_is_ignored_for_an_old_leader_epoch_only(current: int, verdict: str) -> None:
    """The broker prints the leader epoch that it has; the request has 4."""
    ignored = line(1, 1, "leader_and_isr_stale_leader_epoch", leader_epoch=4, current_leader_epoch=current)
    assert verdicts([ignored]) == {"request_acceptance": verdict}


@pytest.mark.parametrize(("release", "verdict"), [(Release(3, 4), "holds"), (Release(3, 4, 1), "violated")])
def test_a_stop_replica_of_the_same_leader_epoch_is_applied_from_3_4_1_on(release: Release, verdict: str) -> None:
    """KAFKA-13972: before, a cancelled reassignment left a replica behind."""
    ignored = line(1, 1, "stop_replica_same_leader_epoch", leader_epoch=4)
    assert verdicts([ignored], release) == {"request_acceptance": verdict}


ROLLING = (Release(3, 4), Release(3, 5))
"""What a cluster prints while it is upgraded from 3.4.0 to 3.5.0."""
IGNORED = {  # what a process printed that ignores a StopReplica of the same leader epoch -> verdict, what it lacks
    "a broker of 3.4.0 beside others of 3.5": ("3.4.0", "holds", []),
    "a broker of 3.5": ("3.5.0", "violated", []),
    "a broker whose start is not logged": (None, "unknown", ["kafka_release"]),
    "a broker of a distribution with numbers of its own": ("7.4.0-ccs", "unknown", ["kafka_release"]),
}


@pytest.mark.parametrize("case", IGNORED)
def test_a_broker_is_judged_by_the_release_that_its_process_printed(case: str) -> None:
    printed, verdict, missing = IGNORED[case]
    ignored = line(1, 1, "stop_replica_same_leader_epoch", leader_epoch=4, node_release=printed)
    rows = request_verdicts([{**ignored, **PARTITION}], {"c": ("3.4..3.5", False)})
    assert [(row["verdict"], row["missing_inputs"]) for row in rows] == [(verdict, missing)]


def test_brokers_of_both_releases_of_a_rolling_upgrade_are_judged_apart() -> None:
    """Broker 1 is upgraded at 5 s, broker 2 later."""
    ignored = line(1, 1, "stop_replica_same_leader_epoch", leader_epoch=4)
    lines = [
        {**ignored, "node_id": broker, "controller_epoch": epoch, "node_release": printed}
        for broker, epoch, printed in ((1, 7, "3.4.0"), (2, 7, "3.4.0"), (1, 8, "3.5.0"), (2, 8, "3.4.0"))
    ]
    assert [(judged.about, judged.verdict.verdict) for judged in judge_requests(lines, ROLLING)] == [
        ("broker 1, controller epoch 7", "holds"),
        ("broker 1, controller epoch 8", "violated"),
        ("broker 2, controller epoch 7", "holds"),
        ("broker 2, controller epoch 8", "holds"),
    ]


FAILED_DIRECTORY = {  # release, whether it deletes, controller epoch after one of 7 -> what ignoring it is
    "no replica of a failed directory is deleted": (Release(2, 6), True, 7, "holds"),
    "none is stopped from 2.6 on": (Release(3, 9), False, 8, "holds"),
    "through 2.5 it is stopped all the same": (Release(2, 5), False, 7, "violated"),
    "an earlier controller is refused for its epoch": (Release(3, 9), True, 6, "violated"),
}


@pytest.mark.parametrize("case", FAILED_DIRECTORY)
def test_a_stop_replica_on_a_failed_log_directory(case: str) -> None:
    release, deletes, controller_epoch, verdict = FAILED_DIRECTORY[case]
    ignored = line(5, 1, "stop_replica_offline_log_dir", deletes=deletes, controller_epoch=controller_epoch)
    lines = [*received(1, 1, 1, 4, 20), *received(2, 1, 1, 5, 21), ignored]
    judged = {judged.about: judged.verdict.verdict for judged in judge_requests(lines, [release])}
    assert judged[f"broker 1, controller epoch {controller_epoch}"] == verdict


def test_what_all_releases_of_a_range_refuse_is_violated() -> None:
    """A StopReplica of a newer leader epoch is applied in both."""
    newer = line(1, 1, "stop_replica_stale_leader_epoch", leader_epoch=5, current_leader_epoch=4)
    assert verdicts([newer], *ROLLING) == {"request_acceptance": "violated"}
    older = {**newer, "leader_epoch": 3}
    assert verdicts([older], *ROLLING) == {"request_acceptance": "holds"}


def test_who_disobeyed_is_shown_with_the_request_that_made_it_wrong() -> None:
    lines = received(1, 1, 1, 4, 20) + received(5, 1, 1, 3, 21)
    (judged,) = judge_requests(lines, [Release(2, 4)])
    assert judged.about == "broker 1, controller epoch 7"
    assert [row["line"] for row in judged.lines] == [51, 11]
    assert judged.verdict.explanation == (
        "request_acceptance is violated: expected leader epochs above 4 applied only; logged leader epoch 3 applied."
    )


def test_what_brokers_receive_was_decided() -> None:
    lines = [elected(1, 2, 5), sent(1.1, 2, 2, 5), *received(2, 2, 2, 5, 20)]
    assert verdicts(lines)["received_state_was_stored"] == "holds"
    assert verdicts([*lines, *received(3, 3, 3, 5, 21)])["received_state_was_stored"] == "violated"
    # a leader epoch that no controller's line names may have been decided all the same
    assert "received_state_was_stored" not in verdicts(received(2, 2, 2, 5, 20))


# ---- the automatic rebalance ----------------------------------------------------------------------------------------
def rebalance(at_s: float, event_type: str, **values: Any) -> dict[str, Any]:
    columns = ("broker", "ratio", "partitions", "preferred", "is_auto")
    usual: dict[str, Any] = {**dict.fromkeys(columns), "node_id": 9, "file_id": "f", "line": int(at_s)}
    return {**usual, "event_type": event_type, "at": int(at_s), **values}


def one_pass(at_s: float, ratio: float, partitions: list[str], elects: list[str] | None) -> list[dict[str, Any]]:
    """One broker's turn, of ten partitions that prefer it."""
    lines = [
        rebalance(at_s, "auto_rebalance_preferred_map", preferred=[1] * 10),
        rebalance(at_s + 1, "auto_rebalance_not_preferred", broker=1, partitions=partitions),
        rebalance(at_s + 2, "auto_rebalance_imbalance_ratio", broker=1, ratio=ratio),
    ]
    if elects is not None:
        lines.append(rebalance(at_s + 3, "replica_election_started", partitions=elects, is_auto=True))
    return lines


def rebalances(lines: list[dict[str, Any]], *releases: Release) -> list[tuple[str, tuple[str, ...]]]:
    return [(verdict.verdict, verdict.missing) for verdict, _, _ in judge_rebalances(lines, releases or (ERA,))]


TWO = ["a-0", "a-1"]
LIMIT = "leader.imbalance.per.broker.percentage"


def test_a_rebalance_is_due_above_a_tenth() -> None:
    assert rebalances(one_pass(0, 0.2, TWO, TWO)) == [("holds", ())]
    assert rebalances(one_pass(0, 0.1, TWO[:1], None)) == [("holds", ())]
    # left out, or asked for although it is not due: another limit may be set
    assert rebalances(one_pass(0, 0.2, TWO, None)) == [("unknown", (LIMIT,))]
    assert rebalances(one_pass(0, 0.1, TWO[:1], TWO[:1])) == [("unknown", (LIMIT,))]


def test_a_rebalance_that_is_left_out_where_a_smaller_imbalance_is_mended() -> None:
    """If the next pass finds the broker no better: else the line of an election may be lost, as of the last one."""
    mended, left_out = one_pass(0, 0.2, TWO, TWO), one_pass(10, 0.3, [*TWO, "a-2"], None)
    again, better = one_pass(20, 0.3, [*TWO, "a-2"], None), one_pass(20, 0.1, TWO[:1], None)
    last = ("unknown", ("what the next pass found",))
    assert rebalances(mended + left_out) == [("holds", ()), last]
    assert rebalances(mended + left_out + again) == [("holds", ()), ("violated", ()), last]
    assert rebalances(mended + left_out + better) == [("holds", ()), last, ("holds", ())]
    # nor is a pass that mends less accused by what may not have been left out
    assert rebalances(left_out + one_pass(20, 0.1, TWO[:1], TWO[:1])) == [last, ("unknown", (LIMIT,))]
    assert rebalances(left_out + again + one_pass(30, 0.1, TWO[:1], TWO[:1]))[-1] == ("violated", ())
    # before 2.0 nothing is logged if the preferred broker is dead
    assert rebalances(mended + left_out, Release(1, 1)) == [("holds", ()), ("unknown", ("live_brokers",))]


def test_a_rebalance_is_judged_by_the_release_of_its_controller_then() -> None:
    """2.0 always logs an election; through 1.1 none if the preferred broker is dead."""

    def of(printed: str | None, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**row, "node_release": printed} for row in lines]

    mended, left_out = one_pass(0, 0.2, TWO, TWO), one_pass(10, 0.3, [*TWO, "a-2"], None)
    left_out += one_pass(20, 0.3, [*TWO, "a-2"], TWO)
    cluster = (Release(1, 1), Release(2, 4))
    old, new = of("1.1.0", mended + left_out), of("2.4.1", mended + left_out)
    is_unknown, is_violated = (
        [("holds", ()), one, ("holds", ())] for one in (("unknown", ("live_brokers",)), ("violated", ()))
    )
    assert rebalances(old, *cluster) == is_unknown
    assert rebalances(new, *cluster) == is_violated
    assert rebalances(mended + left_out, *cluster) == is_unknown
    assert rebalances(of("1.1.0", mended) + of("2.4.1", left_out), *cluster) == is_violated


def test_a_rebalance_asks_for_an_election_of_nobody_where_no_partition_may_move() -> None:
    """As 2.2 does, which does not say who asked: `Starting preferred replica leader election for partitions `. One that
    comes seconds later is an admin's."""

    def nobody(after_s: float) -> list[dict[str, Any]]:
        lines = [{**row, "at": row["at"] * SECOND} for row in one_pass(10, 0.3, [*TWO, "a-2"], None)]
        asked = rebalance(13, "preferred_election_started", partitions=[])
        return [*lines, {**asked, "at": int((12 + after_s) * SECOND)}]

    mended = [{**row, "at": row["at"] * SECOND} for row in one_pass(0, 0.2, TWO, TWO)]
    again = [{**row, "at": row["at"] * SECOND} for row in one_pass(30, 0.3, [*TWO, "a-2"], TWO)]
    assert rebalances(mended + nobody(0.001) + again, Release(2, 2))[1] == ("holds", ())
    assert rebalances(mended + nobody(5) + again, Release(2, 2))[1] == ("violated", ())


def test_an_election_behind_a_pass_over_a_broker_that_leads_all_is_of_the_next_one() -> None:
    """Whose own lines are lost."""
    lines = [*one_pass(0, 0.0, [], None), rebalance(9, "replica_election_started", partitions=["b-0"], is_auto=True)]
    assert rebalances(lines) == [("holds", ())]


def test_a_ratio_is_compared_with_the_assignments_of_its_own_pass_only() -> None:
    """The list of whom partitions prefer is not in the second pass."""
    second = [line for line in one_pass(10, 0.5, TWO, TWO) if line["event_type"] != "auto_rebalance_preferred_map"]
    assert rebalances(one_pass(0, 0.2, TWO, TWO) + second) == [("holds", ()), ("holds", ())]


def test_a_ratio_is_compared_with_the_partitions_of_its_own_broker_only() -> None:
    """The line that lists those of broker 2 is lost; of its ten partitions another leads five."""
    lines = one_pass(0, 0.2, TWO, TWO)
    lines[0] |= {"preferred": [1] * 10 + [2] * 10}
    of_next = [
        rebalance(4, "auto_rebalance_imbalance_ratio", broker=2, ratio=0.5),
        rebalance(5, "replica_election_started", partitions=["b-0"], is_auto=True),
    ]
    assert rebalances(lines + of_next) == [("holds", ()), ("holds", ())]


def test_a_rebalance_counts_right_and_elects_who_is_not_preferred() -> None:
    assert rebalances(one_pass(0, 0.5, TWO, TWO)) == [("violated", ())]
    assert rebalances(one_pass(0, 0.2, TWO, ["b-0"])) == [("violated", ())]


# ---- deletions ------------------------------------------------------------------------------------------------------
def steps(*states: str) -> list[dict[str, Any]]:
    """Replica 1 goes through states; `gone` is the partition's own end."""
    return [
        line(at, 9, "partition_state_change", to_state="NonExistentPartition")
        if state == "gone"
        else line(at, 9, "replica_state_change", to_state=state, replica=1)
        for at, state in enumerate(states)
    ]


REPLICA_FIRST = steps("ReplicaDeletionStarted", "ReplicaDeletionSuccessful", "NonExistentReplica", "gone")
PARTITION_FIRST = steps("gone", "ReplicaDeletionStarted", "ReplicaDeletionSuccessful", "NonExistentReplica")
TOO_EARLY = steps("ReplicaDeletionStarted", "gone", "ReplicaDeletionSuccessful", "NonExistentReplica")


def test_partitions_go_after_their_replicas_and_from_2_1_on_before() -> None:
    def of(lines: list[dict[str, Any]], release: Release) -> list[str]:
        return [verdict.verdict for verdict, _, _ in judge_deletion(lines, [release])]

    assert of(REPLICA_FIRST, Release(2)) == ["holds"]
    assert of(PARTITION_FIRST, Release(2)) == ["violated"]
    assert of(PARTITION_FIRST, Release(2, 1)) == ["holds"]
    for release in (Release(2), Release(2, 1)):
        assert of(TOO_EARLY, release) == ["violated"]
        # the line that the replica is gone may be lost
        assert of(steps("ReplicaDeletionStarted", "ReplicaDeletionSuccessful", "gone"), release) == ["holds"]
    # transitions of replicas are not logged (2.6 on, INFO)
    assert of(steps("gone"), Release(2, 6)) == []


TERMS = {  # what the controller's process printed -> verdicts on both orders
    "a term of 2.0": ("2.0.1", [("holds", ()), ("violated", ())]),
    "a term of 2.8": ("2.8.0", [("holds", ()), ("holds", ())]),
    "either of them": (None, [("holds", ()), ("unknown", ("kafka_release",))]),
}


@pytest.mark.parametrize("case", TERMS)
def test_a_deletion_is_judged_by_the_release_of_the_term(case: str) -> None:
    printed, expected = TERMS[case]
    cluster = (Release(2, 0, 1), Release(2, 8))
    judged = [
        (verdict.verdict, verdict.missing)
        for order in (REPLICA_FIRST, PARTITION_FIRST)
        for verdict, _, _ in judge_deletion([{**row, "node_release": printed} for row in order], cluster)
    ]
    assert judged == expected


def test_the_terms_of_an_upgrade_are_judged_apart() -> None:
    """A deletion in a term of 2.3, which goes on as 2.0 would not; then one of a term of 2.0, to which it went back."""
    new = [{**row, "node_release": "2.3.1", "controller_epoch": 7} for row in PARTITION_FIRST]
    old = [{**row, "node_release": "2.0.0", "controller_epoch": 8} for row in PARTITION_FIRST]
    rows = request_verdicts([{**row, **PARTITION} for row in new + old], {"c": ("2.0..2.3.1", False)})
    assert [row["verdict"] for row in rows if row["rule"] == "topic_deletion"] == ["holds", "violated"]


# ---- new topics -----------------------------------------------------------------------------------------------------
CREATED = {
    "in turn": ({0: [2, 3], 1: [3, 1], 2: [1, 2]}, "holds", "3 partitions of 2, placed in turn from broker 2 on"),
    "as asked for": (
        {0: [2, 3], 1: [2, 3]}, "holds", "2 partitions of 2, by racks, by another order of the brokers, or as asked for"
    ),
    "a broker twice": ({0: [2, 2]}, "violated", "[2, 2] for partition 0"),
    # whoever writes the znode himself may ask for it
    "other numbers of replicas": (
        {0: [1, 2], 1: [1]},
        "holds",
        "2 partitions of 1 or 2, by racks, by another order of the brokers, or as asked for",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CREATED)
def test_assignments_of_new_topics(case: str) -> None:
    assignment, verdict, actual = CREATED[case]
    judged = judge_creation(assignment)
    assert (judged.verdict, judged.actual) == (verdict, actual)


# ---- what follows a loss --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("changes", "verdict", "missing"),
    [
        ({"waited_ms": 40}, "holds", ()),
        ({"waited_ms": 40, "is_over": False}, "unknown", ("what came later",)),
        ({"waited_ms": 31_000}, "violated", ()),
        ({"waited_ms": 31_000, "is_over": False}, "violated", ()),
        ({"waited_ms": 31_000, "is_replaced": True}, "holds", ()),
        ({"waited_ms": 61_000, "is_replaced": True}, "violated", ()),
        ({"waited_ms": 31_000, "is_shutting_down": True}, "unknown", ("whether it was shutting down",)),
        ({"waited_ms": 31_000, "is_dir_failed": True}, "unknown", ("whether its log directory worked",)),
    ],
)
def test_a_leader_is_due_when_a_member_of_the_isr_is_back(
    changes: dict[str, Any], verdict: str, missing: tuple[str, ...]
) -> None:
    flags = {"is_over": True, "is_replaced": False, "is_shutting_down": False, "is_dir_failed": False}
    judged = judge_silence({"returned": 2, **flags, **changes})
    assert (judged.verdict, judged.missing) == (verdict, missing)


def test_a_controlled_shutdown_that_succeeds_leaves_no_leader_behind() -> None:
    row = {
        "succeeded": True, "previous_leader": 1, "leader": 2, "strategy": "offline", "trigger": "broker_failure",
        "left_cleanly": True, "replicas": [1, 2],
    }  # fmt: skip
    late = judge_shutdown(row)
    assert late is not None
    assert (late.verdict, late.actual) == ("violated", "moved to 2 when the broker was gone")
    moved = judge_shutdown({**row, "strategy": "controlled_shutdown", "trigger": "controlled_shutdown"})
    assert moved is not None
    assert moved.verdict == "holds"
    # it crashed, or nobody but it has the partition
    assert judge_shutdown({**row, "left_cleanly": False}) is None
    assert judge_shutdown({**row, "replicas": [1]}) is None


def test_a_reassignment_ends_with_its_target() -> None:
    def end(*ends: tuple[int, list[int]], is_whole: bool = True) -> str:
        states = [{"leader": leader, "isr": isr} for leader, isr in ends]
        judged = judge_end({"target_replicas": [4, 5], "ends": states, "is_whole": is_whole})
        assert judged is not None
        return judged.verdict

    assert end((4, [4, 5])) == "holds"
    assert end((1, [1, 4, 5]), (4, [4, 5])) == "holds"
    assert end((1, [4, 5, 1])) == "violated"
    assert end((4, [1, 4, 5])) == "violated"
    assert end((4, [1, 4, 5]), is_whole=False) == "unknown"
    assert judge_end({"target_replicas": None, "ends": [], "is_whole": True}) is None


def test_a_metadata_cache_that_never_learned_a_topic() -> None:
    learned, missed = judge_cache({"topics": 3, "missing": []}), judge_cache({"topics": 5, "missing": [*"abcd"]})
    assert (learned.verdict, learned.actual) == ("holds", "all of them")
    assert (missed.verdict, missed.actual) == ("violated", "none about a, b, c and 1 more")
