"""Modelled KRaft partitions under random faults, against their truth: `python tests/proofs/prove_kraft_model.py
[HISTORIES]`.

1,000 histories of `tests.kraft_model`, each read six times: with all its lines, where all logs begin late, where the
controller's log has a hole, begins late, ends early, or is missing; the logs of all brokers are there, of most, or of
few. No state that follows may be wrong. Takes some minutes.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Sequence

from schemas.kafka_values import NO_LEADER
from tests.kraft_model import Model, State
from tests.kraft_model_evidence import ModelEvidence

HISTORIES, FAULTS = 1000, 16
WITH_LOGS = (1.0, 0.6, 0.3)
SKEW_MS = 800
SOON_MS = 100
"""A step is logged so long before its records at most."""


def count(seed: int) -> Counter[str]:
    """Of one history: states that follow, rightly and wrongly, by what is missing of its lines."""
    model = Model(seed, WITH_LOGS[seed % len(WITH_LOGS)], skew_ms=SKEW_MS * (seed % 2))
    model.run(FAULTS)
    dice, end = random.Random(seed), model.now
    begin = dice.randint(1_000_000, end) * 1000
    hole = begin, begin + dice.randint(130, 400) * 1_000_000
    counts: Counter[str] = Counter()
    for partition, evidence in model.evidence().items():
        degraded = {
            "whole": evidence,
            "late": evidence.from_time(begin),
            "hole": evidence.without_controller(*hole),
            "late controller": evidence.without_controller(0, begin)._replace(logged=[(begin, None, True)]),
            "controller until": evidence.without_controller(begin, 2**60)._replace(logged=[(0, begin, True)]),
            "no controller": evidence._replace(steps=[], logged=None),
        }
        for name, what_is_left in degraded.items():
            for is_right in _answers(what_is_left, model.history[partition]):
                counts[f"{name}: {'right' if is_right else 'WRONG'}"] += 1
    return counts


def _answers(evidence: ModelEvidence, history: Sequence[State]) -> list[bool]:
    """Whether each state that follows was there; of a loss in an unknown epoch, whether nobody led then."""
    truth = {state.partition_epoch: (state.leader, state.leader_epoch, list(state.isr)) for state in history}
    answers = []
    for epoch, (*value, at) in evidence.follows().items():
        if value[2] is None:
            then = [state for state in history if state.at <= (at or 0) // 1000 + SOON_MS]
            later = [state.partition_epoch for state in evidence.known if (state.leader or 0) >= 0]
            is_last = all(other < epoch or other > then[-1].partition_epoch for other in later)
            answers.append(then[-1].leader == NO_LEADER and is_last)
        else:
            answers.append(truth.get(epoch) == tuple(value))
    return answers


def main(names: Sequence[str]) -> int:
    """Prove as many histories as asked for."""
    histories = int(names[0]) if names else HISTORIES
    total: Counter[str] = Counter()
    for seed in range(histories):
        counts = count(seed)
        if any("WRONG" in name for name in counts):
            print(f"history {seed}: {dict(counts)}")
        total += counts
    print(f"{histories} histories: {', '.join(f'{name} {number}' for name, number in sorted(total.items()))}")
    return 1 if any("WRONG" in name for name in total) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
