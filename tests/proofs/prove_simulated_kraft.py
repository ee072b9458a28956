"""A simulated KRaft cluster under random faults, against its truth: `python tests/proofs/prove_simulated_kraft.py
[HISTORIES]`.

1,000 histories of `tests.simulated_kraft`, each of 2 to 4 brokers and 1 to 3 partitions: their lines are read by the
project's rules, and what follows (`udfs.reconstruct.kraft_counts`) is held against what really was. No inferred state
may be wrong. Of the states that no line states in full, and that are the same in all histories that fit the lines, by
brute force (`tests.kraft_oracle`), at least LEAST_RECALL are inferred. Takes a minute.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence

from schemas.kafka_values import NO_LEADER
from tests.kraft_oracle import Oracle, TooMany
from tests.simulated_kraft import SimulatedCluster, State, evidence_of
from udfs.reconstruct.kraft_counts import PartitionInput, explain_together

HISTORIES, FAULTS, LEAST_RECALL = 1000, 12, 0.99


def count(seed: int) -> Counter[str]:
    """Of one history: states that no line states in full (`hidden`), how many were inferred rightly and wrongly; how
    many are decidable, inferred of these, and refuted: the truth is another, so the oracle itself is wrong."""
    cluster = SimulatedCluster(seed)
    cluster.run(FAULTS)
    evidence = evidence_of(cluster)
    partitions = {
        partition: PartitionInput(known, evidence.steps[partition], cluster.rules, evidence.coverage, evidence.until)
        for partition, known in evidence.known.items()
    }
    counts: Counter[str] = Counter()
    for partition, explanation in explain_together(partitions, is_whole=True).items():
        true = {state.partition_epoch: state for state in cluster.history[partition]}
        complete = {state.partition_epoch for state in evidence.known[partition] if state.is_complete}
        counts["hidden"] += len(true.keys() - complete)
        values = {epoch: (truth.leader, truth.leader_epoch, list(truth.isr)) for epoch, truth in true.items()}
        losses = [state for state in explanation.states.values() if state.isr is None]
        inferred = {
            epoch: state[1:4]
            for epoch, state in explanation.states.items()
            if epoch not in complete and state not in losses
        }
        last = cluster.history[partition][-1]
        for loss in losses:
            lost_at = evidence.steps[partition][loss.step].at if loss.step is not None else None
            is_right = last.leader == NO_LEADER and lost_at == _lost_at(cluster.history[partition])
            counts["losses" if is_right else "wrong"] += 1
        for epoch, value in inferred.items():
            counts["right" if values.get(epoch) == value else "wrong"] += 1
        try:
            oracle = Oracle(evidence, partition, len(evidence.known), raises=cluster.until_3_5)
            decidable = oracle.decidable()
        except TooMany:
            counts["not tried"] += 1
            continue
        counts["decidable"] += len(decidable)
        counts["refuted"] += sum(values[epoch] != value for epoch, value in decidable.items())
        counts["inferred of decidable"] += sum(inferred.get(epoch) == value for epoch, value in decidable.items())
    return counts


def _lost_at(history: Sequence[State]) -> int:
    """When a partition without a leader lost it, in microseconds."""
    last_led = max(n for n, state in enumerate(history) if state.leader != NO_LEADER)
    return history[last_led + 1].at * 1000


def main(names: Sequence[str]) -> int:
    """Prove as many histories as asked for."""
    histories = int(names[0]) if names else HISTORIES
    total: Counter[str] = Counter()
    for seed in range(histories):
        counts = count(seed)
        if counts["wrong"]:
            print(f"history {seed}: {counts['wrong']} wrong")
        total += counts
    oracle = f"{total['refuted']} of them refuted, {total['not tried']} partitions not tried"
    recall = total["inferred of decidable"] / total["decidable"]
    print(
        f"{histories} histories: {total['hidden']} states that no line states, {total['right']} inferred rightly "
        f"({total['right'] / total['hidden']:.4f}), {total['wrong']} wrongly, {total['losses']} losses in unknown "
        f"epochs; {total['decidable']} are decidable ({oracle}), {recall:.4f} of them inferred"
    )
    return 0 if not (total["wrong"] or total["refuted"]) and recall >= LEAST_RECALL else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
