"""Every kind of wrong decision is flagged by the rule that it breaks, and no right one is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, permutations
from typing import Any

from tests.mutants import (
    ELECTIONS,
    STATES,
    claim_mutants,
    completion_mutants,
    election_mutants,
    state_mutants,
)
from udfs.kafka.cluster_invariants import check_controllers, check_transitions
from udfs.kafka.election_verdicts import judge_election
from udfs.kafka.elections import Elected, zk_elect
from udfs.kafka.judgements import VIOLATED, violations
from udfs.kafka.reassignment_verdicts import judge_reassignment
from udfs.kafka.releases import Release
from udfs.kafka.state_machines import PARTITION_STATES, REPLICA_STATES, is_legal
from udfs.kafka.stored_state import Cluster
from udfs.kafka.verdicts import judge_states

RELEASE = Release(2, 4)
BROKERS = (1, 2, 3, 4)


def some(brokers: tuple[int, ...], least: int) -> Iterator[tuple[int, ...]]:
    return (subset for size in range(least, len(brokers) + 1) for subset in combinations(brokers, size))


def right_elections() -> Iterator[dict[str, Any]]:
    """What Kafka 2.4 decides with three replicas, whoever is in sync, alive, and of another one."""
    for assigned, strategy in [(a, s) for a in [(1, 2, 3), (3, 1, 2)] for s in ("offline", "preferred", "reassign")]:
        for isr, live in [(i, live) for i in some(assigned, 1) for live in some(BROKERS, 1)]:
            led = [b for b in isr if (b in live) == (strategy == "preferred")]
            previous = led[-1] if led else -1
            yield from right_election(strategy, assigned, isr, previous, live, ())
    for order in permutations(BROKERS[:3]):
        for isr in some(order, 2):
            yield from right_election("controlled_shutdown", order, isr, isr[0], BROKERS, (isr[0],))
            yield from right_election("none", order, isr, isr[0], BROKERS, ())


def right_election(
    strategy: str, assigned: tuple[int, ...], isr: tuple[int, ...], previous: int, alive: tuple[int, ...], leaving: Any
) -> Iterator[dict[str, Any]]:
    live = [b for b in alive if b not in leaving]
    row = {
        "strategy": strategy, "trigger": "zk", "previous_leader": previous, "isr_before": sorted(isr),
        "replicas": list(assigned), "replicas_before": list(assigned), "live_brokers": live, "certainly_online": live,
        "possibly_online": live, "shutting_down": list(leaving), "unclean_enabled": False, "elr_before": None,
    }  # fmt: skip
    if strategy == "none":
        yield row | {"succeeded": True, "leader": previous, "isr": sorted(isr)}
        return
    if strategy == "preferred" and assigned[0] == previous:
        return
    outcome = zk_elect(
        RELEASE, strategy, assigned=assigned, isr=isr, leader=previous, leader_epoch=0, alive=alive, target=assigned,
        shutting_down=leaving, unclean_enabled=False,
    )  # fmt: skip
    if isinstance(outcome, Elected):
        yield row | {"succeeded": True, "leader": outcome.leader, "isr": sorted(outcome.isr)}
    else:
        yield row | {"succeeded": False, "leader": None, "isr": None}


def test_wrong_elections() -> None:
    counts: Counter[str] = Counter()
    for row in right_elections():
        right = judge_election(row, RELEASE, is_kraft=False, elr_enabled=False)
        assert right.verdict == "holds", right.explanation
        for kind, mutant in election_mutants(row):
            verdict = judge_election(mutant, RELEASE, is_kraft=False, elr_enabled=False)
            assert (verdict.verdict, verdict.rule in kind.rules) == (VIOLATED, True), (kind.name, verdict.explanation)
            counts[kind.name] += 1
    assert {kind.name for kind in ELECTIONS} == counts.keys()
    assert counts.total() > 1500


# Kafka 2.4, [1, 2, 3]: 1 shuts down, 2 drops 3 and takes it back, dies, 3 leads alone and dies, too, is taken offline
# again, and comes back
HISTORY = """
leader leader_epoch partition_epoch controller_epoch isr   made_by    online
1      0            0               2                1,2,3 controller 1,2,3
2      1            1               2                2,3   controller 2,3
2      1            2               2                2     leader     2,3
2      1            3               2                2,3   leader     2,3
3      2            4               2                3     controller 3
-1     3            5               3                3     controller -
-1     4            6               3                3     controller -
3      5            7               3                3     controller 3
3      5            8               3                1,3   leader     1,3
-1     6            9               4                1     controller 1
"""


def history() -> list[dict[str, Any]]:
    names, *lines = (line.split() for line in HISTORY.strip().splitlines())
    rows = []
    for line in lines:
        cells = dict(zip(names, line, strict=True))
        online = [] if cells["online"] == "-" else [int(b) for b in cells["online"].split(",")]
        rows.append(
            {name: int(cells[name]) for name in names[:4]}
            | {"isr": [int(b) for b in cells["isr"].split(",")], "made_by": cells["made_by"], "replicas": [1, 2, 3]}
            | {"elr": None, "certainly_online": online, "possibly_online": online, "trigger": None}
        )
    return rows


def violated(rows: list[dict[str, Any]]) -> set[str]:
    return {verdict.rule for _, verdict in judge_states(Cluster(RELEASE), rows) if verdict.verdict == VIOLATED}


def test_wrong_states() -> None:
    assert violated(history()) == set()
    counts: Counter[str] = Counter()
    for kind, mutant, at in state_mutants(history()):
        assert violated(mutant) & {*kind.rules}, (kind.name, at)
        counts[kind.name] += 1
    assert {kind.name for kind in STATES} == counts.keys()


def test_wrong_controllers() -> None:
    claims = [(1, 0), (2, 3), (5, 1), (6, 3)]
    assert violations(check_controllers(claims)) == []
    for rule, mutant in claim_mutants(claims):
        assert rule in violations(check_controllers(mutant))


def test_reassignments_that_end_early() -> None:
    row = {
        "original_replicas": [1, 2], "target_replicas": [2, 3], "adding_replicas": [3], "removing_replicas": [1],
        "states": [{"isr": isr, "lines": []} for isr in ([1, 2], [1, 2, 3], [2, 3])], "is_whole": True,
    }  # fmt: skip
    assert judge_reassignment(row, RELEASE, is_kraft=False).verdict == "holds"
    assert {judge_reassignment(m, RELEASE, is_kraft=False).verdict for m in completion_mutants(row)} == {VIOLATED}


def test_illegal_transitions() -> None:
    for states in (PARTITION_STATES, REPLICA_STATES):
        for pair in permutations(states, 2):
            flagged = violations(check_transitions(RELEASE, [pair]))
            assert flagged == ([] if is_legal(RELEASE, *pair) else ["legal_transition"])
