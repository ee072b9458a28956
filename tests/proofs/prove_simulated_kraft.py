"""A simulated KRaft cluster under random faults, against its truth: `python tests/proofs/prove_simulated_kraft.py
[HISTORIES]`.

1,000 histories of `tests.simulated_kraft`, each of 2 to 4 brokers and 1 to 3 partitions: their lines are read by the
project's rules, and what follows (`udfs.reconstruct.kraft_counts`) is held against what really was. No inferred state
may be wrong. Of all states that no line states in full, decidable or not, at least LEAST_RECALL are inferred. Takes a
minute.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence

from tests.simulated_kraft import SimulatedCluster, evidence_of
from udfs.reconstruct.kraft_counts import PartitionInput, explain_together

HISTORIES, FAULTS, LEAST_RECALL = 1000, 12, 0.98


def count(seed: int) -> Counter[str]:
    """Of one history: states that no line states in full, and how many were inferred rightly and wrongly."""
    cluster = SimulatedCluster(seed)
    cluster.run(FAULTS)
    evidence = evidence_of(cluster)
    partitions = {
        partition: PartitionInput(known, evidence.steps[partition], cluster.rules, evidence.coverage, evidence.until)
        for partition, known in evidence.known.items()
    }
    counts: Counter[str] = Counter()
    for partition, found in explain_together(partitions, is_whole=True).items():
        true = {state.partition_epoch: state for state in cluster.history[partition]}
        complete = {state.partition_epoch for state in evidence.known[partition] if state.is_complete}
        counts["hidden"] += len(true.keys() - complete)
        for epoch, state in found.states.items():
            if epoch not in complete:
                truth = true.get(epoch)
                value = None if truth is None else (truth.leader, truth.leader_epoch, list(truth.isr))
                counts["right" if value == state[1:4] else "wrong"] += 1
    return counts


def main(names: Sequence[str]) -> int:
    """Prove as many histories as asked for."""
    histories = int(names[0]) if names else HISTORIES
    total: Counter[str] = Counter()
    for seed in range(histories):
        counts = count(seed)
        if counts["wrong"]:
            print(f"history {seed}: {counts['wrong']} wrong")
        total += counts
    recall = total["right"] / total["hidden"]
    print(
        f"{histories} histories: {total['hidden']} states that no line states, {total['right']} inferred rightly "
        f"(recall {recall:.4f}), {total['wrong']} wrongly"
    )
    return 0 if not total["wrong"] and recall >= LEAST_RECALL else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
