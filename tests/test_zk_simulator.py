"""The simulated ZooKeeper clusters: their lines are Kafka's, brute force is right, and states in order are true.

The long form over 1,000 histories is `tests/proofs/prove_zk_simulator.py`.
"""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.zk_simulator import ERAS, Partition, decidable, simulate
from udfs.reconstruct.partition_history import EpochObservation, OrderedState, ordered_states
from udfs.rules.parsing import read_message

RECORD = re.compile(r"\[[^]]+\] [A-Z]+ (.*) \(([\w.]+)\)")
OF_A_PARTITION = {  # era -> event types that its lines about partitions are read as
    "2.2": {"leader_epoch_started", "isr_shrinking", "isr_expanding", "isr_update_rejected_by_zk"},
    "2.4": {"leader_epoch_started", "isr_shrinking", "isr_expanding", "isr_updated", "isr_update_rejected_by_zk"},
    "2.6": {
        "partition_leader_epoch_started", "isr_shrinking", "isr_expanding", "isr_updated", "partition_state_change",
        "replica_removed_from_isr",
    },
    "3.6": {
        "partition_leader_epoch_started", "isr_shrinking", "isr_updated", "partition_state_change",
        "replica_removed_from_isr",
    },
}  # fmt: skip


@pytest.mark.parametrize("era", ERAS)
def test_rules_know_the_lines_of_the_simulator(era: str) -> None:
    """All of them; and elections fail in each era."""
    read: Counter[str] = Counter()
    for seed in range(12):
        for lines in simulate(era, seed).logs.values():
            for record in filter(None, map(RECORD.fullmatch, lines)):
                event = read_message(record[2], record[1])
                assert event is not None, record[1]
                read[event["event_type"]] += "partition" in event
    about_partitions = {name for name, count in read.items() if count}
    assert about_partitions == OF_A_PARTITION[era] | {"partition_state_change_failed"}


@pytest.mark.parametrize("era", ERAS)
def test_brute_force_names_states_that_were(era: str) -> None:
    states = found = 0
    for seed in range(4):
        for one in simulate(era, seed).partitions:
            certain = decidable(one, era)
            assert all(one.history[epoch] == state for epoch, state in certain.items())
            states += len(one.history)
            found += len(certain)
    assert found == states if era in ("2.6", "3.6") else found < states


def ordered(one: Partition) -> list[OrderedState]:
    """The states that leaders' own changes tell (until 2.3): each in the newest leader epoch that its writer began."""
    terms: dict[int | None, int] = {}
    changes = []
    for at, line in enumerate(one.lines):
        if line.leader_epoch is not None:
            terms[line.leader] = line.leader_epoch
        else:
            epoch = terms[line.leader]
            change = EpochObservation(
                epoch, at, line.leader, line.isr, isr_before=line.isr_before, coverage=(0, len(one.lines)), key=at
            )
            changes.append(change)
    return [*ordered_states(sorted(changes, key=lambda change: (change.leader_epoch, change.at)))]


def test_leaders_own_changes_in_order_are_true() -> None:
    """Every state of 250 histories is one that was, in its place where its partition epoch is known."""
    places = 0
    for seed in range(25):
        for one in simulate("2.2", seed).partitions:
            for state in ordered(one):
                known = (state.leader, state.leader_epoch, state.isr)
                if state.partition_epoch is None:
                    assert known in one.history
                else:
                    assert one.history[state.partition_epoch] == known
                    places += 1
    assert places > 100
