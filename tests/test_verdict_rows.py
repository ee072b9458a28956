"""Verdicts of a cluster that migrates from ZooKeeper to KRaft (KIP-866), by rows written by hand; times in seconds."""

from __future__ import annotations

from typing import Any

import pytest

from udfs.kafka.election_words import in_one_sentence
from udfs.kafka.verdict_rows import (
    controller_verdicts,
    ran_kraft,
    reassignment_verdicts,
    state_verdicts,
    transition_verdicts,
)
from udfs.kafka.verdicts import Verdict

FALLS = "stored_controller_epoch_never_falls"
RELEASES = {"c": ("3.9", True)}
OLD = {"z": ("2.4.1", False)}
COLUMNS = (
    "since", "leader", "leader_epoch", "partition_epoch", "controller_epoch", "isr", "kraft_since", "kraft_began",
)  # fmt: skip


def state(*values: Any) -> dict[str, Any]:
    return {
        "cluster": "c", "topic": "a", "partition": 0, "incarnation": 0, "replicas": [1, 2], "elr": None,
        "shows_elr": None, "live_brokers": None, "trigger": None, "made_by": None, "ordinal": values[3],
        "evidence": [], **dict(zip(COLUMNS, values, strict=True)),
    }  # fmt: skip


def violated(*states: dict[str, Any]) -> list[tuple[str, int]]:
    """Rule and time of each violation."""
    return [(row["rule"], row["at"]) for row in state_verdicts(states, RELEASES) if row["verdict"] == "violated"]


MIGRATED = [  # KRaft decides from 30 on, and counts its epochs from 1
    state(10, 1, 3, 7, 2, [1, 2], 30, 15),
    state(20, 1, 3, 8, 3, [1], 30, 15),
    state(40, 1, 3, 9, 1, [1, 2], 30, 15),
    state(50, 2, 4, 10, 3, [2], 30, 15),
]


def test_epochs_of_controllers_begin_anew_with_kraft() -> None:
    assert violated(*MIGRATED) == []
    judged = {(row["rule"], row["at"]): row["verdict"] for row in state_verdicts(MIGRATED, RELEASES)}
    assert [judged[FALLS, at] for at in (20, 40, 50)] == ["holds", "unknown", "holds"]


def test_before_and_after_they_must_not_fall() -> None:
    falls = [{**MIGRATED[0], "controller_epoch": 4}, *MIGRATED[1:3], {**MIGRATED[3], "controller_epoch": 0}]
    assert violated(*falls) == [(FALLS, 20), (FALLS, 50)]
    assert violated(*({**row, "kraft_began": None, "kraft_since": None} for row in MIGRATED)) == [(FALLS, 40)]


def test_who_is_not_known_is_not_judged() -> None:
    """A takeover that no line tells: only what was decided before KRaft had a leader is judged."""
    rows = [{**row, "kraft_since": None} for row in MIGRATED]
    assert {row["at"] for row in state_verdicts(rows, RELEASES)} == {10}


def test_other_epochs_go_on_across_the_takeover() -> None:
    assert ("one_leader_per_leader_epoch", 40) in violated(*MIGRATED[:2], {**MIGRATED[2], "leader_epoch": 2})


def test_eligible_replicas_that_are_not_known_are_not_judged() -> None:
    """4.1 has eligible leader replicas; a state of which no line prints them may have some, or none."""
    rows = [{**state(at, 1, 3, at, 1, [1, 2], None, None), "elr": elr} for at, elr in ((10, []), (20, None), (30, []))]
    judged = {
        row["at"]: (row["verdict"], row["missing_inputs"])
        for row in state_verdicts(rows, {"c": ("4.1", True)})
        if row["rule"] == "elr_disjoint_from_isr"
    }
    assert judged == {10: ("holds", []), 20: ("unknown", ["elr"]), 30: ("holds", [])}


@pytest.mark.parametrize(
    ("row", "at", "kraft"),
    [
        ({"kraft_began": None, "kraft_since": None}, 5, True),  # a cluster of one mode
        ({"kraft_began": 3, "kraft_since": 5}, 4, False),
        ({"kraft_began": 3, "kraft_since": 5}, 5, True),
        ({"kraft_began": 3, "kraft_since": None}, 2, False),
        ({"kraft_began": 3, "kraft_since": None}, 5, None),  # nobody says that ZooKeeper's controller has gone
    ],
)
def test_who_decided(row: dict[str, Any], at: int, kraft: bool | None) -> None:
    assert ran_kraft(row, at) is kraft


TERMS = [("kraft", 100, 1, 15), ("kraft", 101, 3, 40), ("zookeeper", 1, 1, 5), ("zookeeper", 4, 2, 10)]


def test_terms_of_both_modes_are_apart() -> None:
    terms: list[dict[str, Any]] = [
        {
            "cluster": "c",
            "cluster_incarnation": 0,
            "mode": mode,
            "controller_id": id_,
            "controller_epoch": epoch,
            "since": since,
            "until": None,
            "claimed_by": None,
            "steps": [],
            "evidence": [],
        }
        for mode, id_, epoch, since in TERMS
    ]
    assert {row["verdict"] for row in controller_verdicts(terms)} == {"holds"}
    terms[0]["claimed_by"] = [7, terms[0]["controller_id"]]
    violated = {(row["rule"], row["subject"]) for row in controller_verdicts(terms) if row["verdict"] == "violated"}
    subject = f"controller {terms[0]['controller_id']} epoch {terms[0]['controller_epoch']}"
    assert violated == {("controller_epoch_grows", subject), ("one_controller_per_epoch", subject)}


def test_transitions_of_one_controller() -> None:
    """NewReplica to OfflineReplica is legal, OfflineReplica to NewReplica is not; the proof is its line. 0.8.0 shortens
    names of states; a name of none is a damaged line."""

    def path(*pairs: tuple[str, str]) -> dict[str, Any]:
        lines = [
            {"from_state": was, "to_state": now, "node_id": 2, "file_id": "f", "line": number, "at": number}
            for number, (was, now) in enumerate(pairs, 1)
        ]
        return {
            "cluster": "z", "topic": "a", "partition": 0, "incarnation": 0, "replica": 3, "node_id": 2, "at": 1,
            "controller_epoch": 5, "transitions": lines,
        }  # fmt: skip

    legal, illegal = ("NewReplica", "OfflineReplica"), ("OfflineReplica", "NewReplica")
    short, damaged = ("NotExists", "New"), ("NewRepl", "OnlineReplica")
    paths = [path(legal), path(legal, illegal), path(short), path(short[::-1]), path(damaged), path(damaged, illegal)]
    rows = transition_verdicts(paths, OLD)
    assert [(row["verdict"], [line["line"] for line in row["evidence"]]) for row in rows] == [
        ("holds", [1]),
        ("violated", [2]),
        ("holds", [1]),
        ("violated", [1]),
        ("unknown", [1]),
        ("violated", [2]),
    ]


def test_a_state_is_judged_by_the_release_of_the_controllers_term() -> None:
    """To 1.0 the last member may leave the ISR with its broker, from 1.1 on it stays; no other setting is known."""
    states = [
        {**state(at, leader, epoch, epoch, 1, isr, None, None), "cluster": "z", "term_release": release}
        for release in ("1.0.2", "2.4.1")
        for at, leader, epoch, isr in ((10, 1, 3, [1]), (20, -1, 4, []))
    ]
    verdicts = [
        row["verdict"]
        for part in (states[:2], states[2:])
        for row in state_verdicts(part, OLD)
        if row["rule"] == "replica_removal"
    ]
    assert verdicts == ["holds", "violated"]


def test_states_of_one_incarnation_are_judged_each_by_the_release_of_its_term() -> None:
    """To 1.0 the last member may leave the ISR with its broker, from 1.1 on it stays."""
    rows = [
        (10, 1, 3, [1], "1.0.2"), (20, -1, 4, [], "1.0.2"), (30, 1, 5, [1], "2.4.1"), (40, -1, 6, [], "2.4.1"),
        (50, 1, 7, [1], "1.0.2"), (60, -1, 8, [], "1.0.2"),
    ]  # fmt: skip
    states = [
        {**state(at, leader, epoch, epoch, 1, isr, None, None), "cluster": "z", "term_release": printed}
        for at, leader, epoch, isr, printed in rows
    ]
    judged = {
        row["at"]: row["verdict"]
        for row in state_verdicts(states, {"z": ("1.0.2..2.4.1", False)})
        if row["rule"] == "replica_removal" and row["at"] in (20, 40, 60)
    }
    assert judged == {20: "holds", 40: "violated", 60: "holds"}


def test_transitions_are_judged_by_each_release_that_may_have_made_them() -> None:
    """0.8.0 deletes a replica at once, from 0.8.1 on it does so in steps."""
    path = {
        "cluster": "z", "topic": "a", "partition": 0, "incarnation": 0, "replica": 3, "node_id": 2, "at": 1,
        "controller_epoch": 5, "transitions": [
            {"from_state": "OfflineReplica", "to_state": "NonExistentReplica", "node_id": 2, "file_id": "f", "line": 1}
        ],
    }  # fmt: skip

    def judged(printed: str | None, releases: str) -> list[tuple[str, list[str]]]:
        rows = transition_verdicts([{**path, "term_release": printed}], {"z": (releases, False)})
        return [(row["verdict"], row["missing_inputs"]) for row in rows]

    assert judged("0.8.0", "0.8.0..0.8.2") == [("holds", [])]
    assert judged("0.8.2.1", "0.8.0..0.8.2") == [("violated", [])]
    assert judged(None, "0.8.1..0.8.2") == [("violated", [])]


def line(number: int) -> dict[str, Any]:
    return {"node_id": 1, "file_id": "f", "line": number}


def test_a_completed_reassignment_rests_on_a_state_with_all_in_sync() -> None:
    states = [{"isr": isr, "lines": [line(number)], "leader": 1} for number, isr in ((7, [1]), (8, [1, 2]), (9, [2]))]
    row = {
        "cluster": "z", "topic": "a", "partition": 0, "incarnation": 0, "since": 10, "until": 20, "shows_elr": None,
        "original_replicas": [1], "target_replicas": [1, 2], "adding_replicas": [2], "removing_replicas": [],
        "states": states, "ends": [{**states[2], "leader": 3}, states[1]], "is_whole": True,
        "evidence": [line(5), line(6)],
    }  # fmt: skip
    complete, end = reassignment_verdicts([row], OLD)
    assert (complete["verdict"], [line["line"] for line in complete["evidence"]]) == ("holds", [5, 6, 8])
    assert (end["verdict"], [line["line"] for line in end["evidence"]]) == ("holds", [5, 6, 8])


POSSIBLE = {  # releases that may have decided, ISRs while it lasted -> verdict, what it lacks
    "a release that waits for all": ("4.1", [[2], [2, 3]], "violated", []),
    "a release that waits for who is added": ("4.3", [[2], [2, 3]], "holds", []),
    "either of them": ("4.1..", [[2], [2, 3]], "unknown", ["kafka_release"]),
    "only those that wait for all": ("3.8..4.1.2", [[2], [2, 3]], "violated", []),
    "no release completes it": ("4.1..", [[1], [1, 2]], "violated", []),
    "each release completes it": ("4.1..", [[1, 2], [1, 2, 3]], "holds", []),
}


@pytest.mark.parametrize("case", POSSIBLE)
def test_nobody_is_accused_whom_a_later_release_acquits(case: str) -> None:
    """From 4.3 on a reassignment from 1, 2 to 2, 3, 1 waits for 3 alone (KAFKA-19975), before for all of them."""
    release, isrs, verdict, missing = POSSIBLE[case]
    row = {
        "cluster": "c", "topic": "a", "partition": 0, "incarnation": 0, "since": 10, "until": 20, "shows_elr": None,
        "original_replicas": [1, 2], "target_replicas": [2, 3, 1], "adding_replicas": [3], "removing_replicas": [],
        "states": [{"isr": isr, "lines": [], "leader": isr[0]} for isr in isrs], "ends": None, "is_whole": True,
        "evidence": [],
    }  # fmt: skip
    complete = next(iter(reassignment_verdicts([row], {"c": (release, True)})))
    assert (complete["verdict"], complete["missing_inputs"]) == (verdict, missing)


LAST_KNOWN = {  # KRaft, assignment of the last state that is known -> what is said of both rules
    "the target: nothing comes behind it": ([2, 3], ["violated", "violated"]),
    "still with the replica that goes: the state that completed it is missing": ([2, 3, 1], ["unknown", "unknown"]),
    "unknown": (None, ["violated", "violated"]),
}


@pytest.mark.parametrize("case", LAST_KNOWN)
def test_a_reassignment_is_not_judged_by_a_state_before_its_end(case: str) -> None:
    """From 1 to 2, 3; 1 leads, alone in sync, in the last state that lines show."""
    replicas, verdicts = LAST_KNOWN[case]
    last = {"isr": [1], "leader": 1, "lines": [], "replicas": replicas}
    row = {
        "cluster": "c", "topic": "a", "partition": 0, "incarnation": 0, "since": 10, "until": 20, "shows_elr": None,
        "original_replicas": [1], "target_replicas": [2, 3], "adding_replicas": [2, 3], "removing_replicas": [1],
        "states": [last], "ends": [last], "is_whole": True, "evidence": [],
    }  # fmt: skip
    assert [judged["verdict"] for judged in reassignment_verdicts([row], {"c": ("4.1", True)})] == verdicts


@pytest.mark.parametrize(
    ("release", "verdict", "missing"),
    [("3.5", "violated", []), ("3.4..3.5.2", "violated", []), ("3.5..", "unknown", ["kafka_release"])],
)
def test_a_state_that_a_later_release_would_make_is_unknown(release: str, verdict: str, missing: list[str]) -> None:
    """Before 3.6 each shrink of the ISR raises the leader epoch in KRaft (KAFKA-15021)."""
    shrinks = [state(10, 1, 3, 3, 1, [1, 2], None, None), state(20, 1, 3, 4, 1, [1], None, None)]
    judged = [
        (row["verdict"], row["missing_inputs"])
        for row in state_verdicts(shrinks, {"c": (release, True)})
        if (row["rule"], row["at"]) == ("epoch_increments", 20)
    ]
    assert judged == [(verdict, missing)]


TERMS_OF_END: dict[str, tuple[list[str | None], str, str, list[str]]] = {
    # what the controllers printed that may have ended it, releases of the cluster -> verdict, what it lacks
    "one of 3.7": (["3.7.1"], "3.7.1..3.8", "holds", []),
    "one of 3.8": (["3.8.0"], "3.7.1..3.8", "violated", []),
    "one of either": (["3.8.0", "3.7.1"], "3.7.1..3.8", "holds", []),
    "one of 3.8 or 4.3": (["4.3.0", "3.8.0"], "3.8..4.3", "unknown", ["kafka_release"]),
    "one that printed nothing": ([None], "3.8..4.3", "unknown", ["kafka_release"]),
    "one of 4.3": (["4.3.0"], "3.8..4.3", "holds", []),
    "--conf names 3.8": ([None], "3.8", "violated", []),
}


@pytest.mark.parametrize("case", TERMS_OF_END)
def test_a_reassignment_is_judged_by_the_release_of_the_controller_that_ended_it(case: str) -> None:
    """To 3.7 a reassignment from 1, 2 to 2, 3, 1 waits for 3 alone (KAFKA-15665), from 3.8 to 4.2 for all of them."""
    printed, releases, verdict, missing = TERMS_OF_END[case]
    row = {
        "cluster": "c", "topic": "a", "partition": 0, "incarnation": 0, "since": 10, "until": 20, "shows_elr": None,
        "original_replicas": [1, 2], "target_replicas": [2, 3, 1], "adding_replicas": [3], "removing_replicas": [],
        "states": [{"isr": isr, "lines": [], "leader": 2} for isr in ([2], [2, 3])], "ends": None, "is_whole": True,
        "evidence": [], "term_releases": printed,
    }  # fmt: skip
    complete = next(iter(reassignment_verdicts([row], {"c": (releases, True)})))
    assert (complete["verdict"], complete["missing_inputs"]) == (verdict, missing)


PASSED_OVER = {  # assignment, ISR, alive, maybe alive, shutting down, expected -> why others do not lead
    "the first leads": ([2, 3], [2, 3], [2, 3], [], [], "leader 2, ISR [2, 3]", ""),
    "one is not alive": ([2, 3], [2, 3], [3], [], [], "leader 3, ISR [3]", " (2 is not alive)"),
    "one is out of sync": ([2, 3], [3], [2, 3], [], [], "leader 3, ISR [3]", " (2 is not in the ISR)"),
    "both": ([1, 2, 3], [2, 3], [1, 3], [], [], "leader 3, ISR [3]", " (1 is not in the ISR, 2 is not alive)"),
    "one shuts down": ([2, 3], [2, 3], [3], [], [2], "leader 3, ISR [3]", " (2 shuts down)"),
    "one may be alive": ([2, 3], [2, 3], [3], [2], [], "leader 3, ISR [3]", " (2 may not be alive)"),
    "several may lead": ([2, 3], [2, 3], [3], [2], [], "leader 2, ISR [2, 3] or leader 3, ISR [3]", ""),
    "no assignment": (None, [2, 3], [3], [], [], "leader 3, ISR [3]", ""),
}


@pytest.mark.parametrize("case", PASSED_OVER)
def test_an_explanation_says_why_earlier_replicas_do_not_lead(case: str) -> None:
    replicas, isr, alive, maybe, shutting_down, expected, why = PASSED_OVER[case]
    row = {
        "strategy": "offline", "replicas": replicas, "isr_before": isr, "live_brokers": alive, "previous_leader": 9,
        "certainly_online": alive, "possibly_online": sorted({*alive, *maybe}), "shutting_down": shutting_down,
    }  # fmt: skip
    verdict = Verdict("offline_election", "holds", expected, expected, (), "")
    by = "the first replica of the assignment that is alive and in the ISR leads"
    assert f"{by}{why}. So {expected} is expected" in in_one_sentence(verdict, row).explanation
