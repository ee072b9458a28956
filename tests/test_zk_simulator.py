"""The simulated ZooKeeper clusters: their lines are Kafka's, brute force is right, and states in order are true.

The long form over 1,000 histories is `tests/proofs/prove_zk_simulator.py`.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest

from tests.zk_simulator import BROKERS, ERAS, Partition, decidable, simulate
from udfs.reconstruct.epoch_observations import EpochObservation, OrderedState
from udfs.reconstruct.partition_history import ordered_states
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
    states = certain_count = 0
    for seed in range(4):
        for one in simulate(era, seed).partitions:
            certain = decidable(one, era)
            assert all(one.history[epoch] == state for epoch, state in certain.items())
            states += len(one.history)
            certain_count += len(certain)
    assert certain_count == states if era in ("2.6", "3.6") else certain_count < states


def ordered(one: Partition) -> list[OrderedState]:
    """The states that leaders' lines tell (until 2.5): what they changed, each in the newest leader epoch that its
    writer began, and of leader epochs without a change that they began."""
    all_the_time = (0, len(one.lines))
    begun: dict[int | None, int] = {}
    rows = []
    for at, line in enumerate(one.lines):
        row = EpochObservation(
            -1, at, line.leader, coverage=all_the_time, whole_since=0, there=frozenset(BROKERS), key=at
        )
        if line.leader_epoch is not None:
            begun[line.leader] = line.leader_epoch
            rows.append(replace(row, leader_epoch=line.leader_epoch, is_begin=True))
            continue
        row = replace(row, leader_epoch=begun[line.leader], isr=line.isr)
        if line.partition_epoch is None:
            rows.append(replace(row, isr_before=line.isr_before))
        else:
            rows.append(replace(row, isr=line.isr_before, partition_epoch=line.partition_epoch - 1))
            rows.append(replace(row, partition_epoch=line.partition_epoch))
    changed = {row.leader_epoch for row in rows if not row.is_begin}
    rows = [row for row in rows if not row.is_begin or row.leader_epoch not in changed]
    return [*ordered_states(sorted(rows, key=lambda row: (row.leader_epoch, row.at)))]


@pytest.mark.parametrize(("era", "least_places", "least_begun"), [("2.2", 60, 5), ("2.4", 300, 8)])
def test_what_leaders_log_is_put_in_order(era: str, least_places: int, least_begun: int) -> None:
    """Every state of 250 histories is one that was, in its place where its partition epoch is known; and nothing that
    is decidable is missing but what an unclean election left."""
    counts: Counter[str] = Counter()
    for seed in range(25):
        for one in simulate(era, seed).partitions:
            states = ordered(one)
            for state in states:
                known = (state.leader, state.leader_epoch, state.isr)
                counts["begun"] += one.lines[state.proofs[0]].kind == "starts"
                if state.partition_epoch is None:
                    assert known in one.history
                else:
                    assert one.history[state.partition_epoch] == known
                    counts["places"] += 1
            ordered_values = {(state.leader, state.leader_epoch, state.isr) for state in states}
            certain = {*decidable(one, era).values()}
            missing = certain - ordered_values
            counts["decidable"] += len(certain)
            counts["missing"] += len(missing)
            assert all(len(state.isr) == 1 for state in missing)
    assert counts["places"] > least_places
    assert counts["begun"] >= least_begun
    assert counts["missing"] <= counts["decidable"] / 100
