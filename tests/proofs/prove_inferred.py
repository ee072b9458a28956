"""States inferred from a KRaft controller's steps, against the truth: `python tests/proofs/prove_inferred.py
[CAPTURE...]`.

Of each partition's true states some are left out at random, and the others logged up to 0.4 s late; what
`udfs.reconstruct.kraft_inferred` makes of the controller's own lines (no Spark, no project rules) between them must be
true states. Again with the controller's clock a second behind or ahead, as nothing bounds it; that is printed only.
Takes a quarter of a minute.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from schemas.kafka_values import NO_LEADER
from tests.proofs.prove_truth import ROOT, compare
from udfs.reconstruct.kraft_inferred import (
    ASSIGNMENT_CHANGED,
    FENCED,
    UNCLEAN_RESTART,
    UNFENCED,
    ControllerStep,
    KraftInferredState,
    KraftState,
    inferred_states,
)

ROUNDS, SEED, LATE_MS, SKEW_MS = 200, 20261121, 400, 1000
Place = tuple[str, int, int]
RECORD = re.compile(
    r"assignment change PartitionChangeRecord\(partitionId=(\d+), topicId=([\w-]+), isr=(null|\[.*?\]), "
    r"leader=(-?\d+), replicas=(null|\[.*?\])"
)
TURN = re.compile(r"registration for broker (\d+):.*fenced=(1|-1)")
REGISTRATION = re.compile(r"new incarnation of broker (\d+)\..*Generated [1-9]\d* record")


def ids(text: str) -> list[int] | None:
    """A printed list of ids; None for `null`."""
    return None if text == "null" else [int(n) for n in re.findall(r"-?\d+", text)]


def steps_of(scorer: Any, truth: Any) -> tuple[list[ControllerStep], dict[Place, list[ControllerStep]]]:
    """Steps of brokers, and of partitions, as the active controllers logged them; times in ms."""
    places = {state["topic_id"]: (state["topic"], state["incarnation"]) for state in truth.states}
    terms = [(r["controller_id"], r["since"], scorer.end(r)) for r in truth.tables["controller_timeline"]]
    brokers: list[ControllerStep] = []
    partitions: dict[Place, list[ControllerStep]] = {}
    for node, path in scorer.log_files(truth.folder):
        for number, line in enumerate(Path(path).read_text(errors="replace").splitlines(), 1):
            at = scorer.log_ms(line)
            if at is None or not any(node == who and since <= at <= until for who, since, until in terms):
                continue
            nothing = ControllerStep(at, node, path, number, ASSIGNMENT_CHANGED, None, None, None, None)
            if match := RECORD.search(line):
                topic, incarnation = places[match[2]]
                leader, isr = int(match[4]), ids(match[3])
                record = nothing._replace(
                    leader=leader if leader >= NO_LEADER else None,
                    isr=None if isr is None else sorted(isr),
                    replicas=ids(match[5]),
                )
                partitions.setdefault((topic, int(match[1]), incarnation), []).append(record)
            elif match := TURN.search(line):
                brokers.append(nothing._replace(kind=FENCED if match[2] == "1" else UNFENCED, broker=int(match[1])))
            elif match := REGISTRATION.search(line):
                brokers.append(nothing._replace(kind=UNCLEAN_RESTART, broker=int(match[1])))
    return brokers, partitions


def logged(state: Mapping[str, Any], *, is_complete: bool = True) -> KraftState:
    """A true state as lines log it, with or without its ISR and assignment."""
    leader = NO_LEADER if state["leader"] is None else state["leader"]
    isr, replicas = (sorted(state["isr"]), list(state["replicas"])) if is_complete else (None, None)
    return KraftState(leader, state["leader_epoch"], state["partition_epoch"], isr, replicas)


def is_true(inferred: KraftInferredState, history: Iterable[Mapping[str, Any]]) -> bool:
    """Whether it is a state of the partition, with its assignment if it has one."""
    return any(
        logged(state)[:4] == inferred[:4] and inferred.replicas in (None, list(state["replicas"])) for state in history
    )


def count_inferences(scorer: Any, truth: Any, skew_ms: int, keeps_last_member: bool) -> Counter[bool]:
    """How many inferences are right, and how many wrong."""
    brokers, partitions = steps_of(scorer, truth)
    dice, counts = random.Random(SEED), Counter[bool]()
    for _ in range(ROUNDS):
        share = dice.choice([0.1, 0.3, 0.5, 0.7, 0.9])
        for place, history in truth.histories.items():
            steps = sorted(step._replace(at=step.at + skew_ms) for step in [*brokers, *partitions.get(place, [])])
            known = [(state, state["since"] + dice.randint(0, LATE_MS)) for state in history if dice.random() < share]
            for (before, since), (after, until) in pairwise(known):
                between = [step for step in steps if since < step.at <= until]
                inferred = inferred_states(
                    logged(before), between, logged(after, is_complete=dice.random() < 0.7), keeps_last_member
                )
                if inferred:
                    counts[all(is_true(state, history) for state in inferred)] += 1
    return counts


def main(names: Sequence[str]) -> int:
    """Prove all KRaft captures, or those named."""
    shared = ROOT.parent / "shared" / "captures"
    home = shared if shared.is_dir() else ROOT / "data"
    captures = [home / name for name in names] or sorted(home.glob("kraft-*"))
    scorer, wrong = compare(), 0
    for capture in captures:
        truth = scorer.Truth(str(capture))
        keeps_last_member = int(truth.meta["version"].split(".")[0]) < 4  # no eligible leader replicas
        right_clock, behind, ahead = (
            count_inferences(scorer, truth, skew, keeps_last_member) for skew in (0, -SKEW_MS, SKEW_MS)
        )
        wrong += right_clock[False]
        print(
            f"{capture.name}: {right_clock.total()} inferences, {right_clock[False]} wrong; "
            f"with the controller's clock {SKEW_MS} ms behind {behind.total()}, {behind[False]} wrong, "
            f"ahead {ahead.total()}, {ahead[False]} wrong"
        )
    print("proven" if not wrong else f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
