"""States inferred from a KRaft controller's steps, against the truth: `python tests/proofs/prove_inferred.py
[CAPTURE...]`.

Of each partition's true states some (but no unclean elections) are left out at random, and the others logged up to
0.4 s late, some without their ISR; what `udfs.reconstruct.kraft_engine` makes of the controller's own lines (no Spark,
no project rules) between them must be true states. Again with the controller's clock half a second behind or ahead.
Takes some minutes.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from schemas.kafka_values import NO_LEADER
from tests.proofs.prove_truth import ROOT, compare
from udfs.reconstruct.kraft_engine import explain
from udfs.reconstruct.kraft_facts import (
    ASSIGNMENT_CHANGED,
    CONTROLLED_SHUTDOWN,
    FENCED,
    REPLICAS_REMOVED,
    SHOWN,
    UNCLEAN_RESTART,
    UNFENCED,
    ControllerStep,
    KnownState,
    PartitionRules,
)

ROUNDS, SEED, LATE_MS, SKEW_MS = 12, 20261121, 400, 500
LOSS_MS = 1_000
"""A loss is logged so soon, in milliseconds."""
TWIN_US = 1_000_000
"""Lines about one fencing are so near, in microseconds."""
Place = tuple[str, int, int]
RECORD = re.compile(
    r"assignment change PartitionChangeRecord\(partitionId=(\d+), topicId=([\w-]+), isr=(null|\[.*?\]), "
    r"leader=(-?\d+), replicas=(null|\[.*?\])(?:.*?, directories=(null|\[.*?\]))?"
)
NO_DIRECTORY = ("AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAA")
TURNS = {
    re.compile(r"Fencing broker (\d+) because its session"): FENCED,
    # from 4.0 on the only line about it
    re.compile(r"BrokerRegistrationChangeRecord\(brokerId=(\d+), .*fenced=1,"): FENCED,
    re.compile(r"The request from broker (\d+) to shut down has been granted"): FENCED,
    re.compile(r"The request from broker (\d+) to unfence has been granted"): UNFENCED,
    re.compile(r"Unfenced broker (\d+) has requested and been granted a controlled shutdown"): CONTROLLED_SHUTDOWN,
    re.compile(r"new incarnation of broker (\d+)\..*Generated [1-9]\d* record"): UNCLEAN_RESTART,
}
SUMMARY = re.compile(r"Successfully altered [1-9]\d* out of")


def ids(text: str) -> list[int] | None:
    """A printed list of ids; None for `null`."""
    return None if text == "null" else [int(n) for n in re.findall(r"-?\d+", text)]


def without_directory(replicas: list[int] | None, printed: str | None) -> list[int] | None:
    """Replicas that a record prints with the id of no directory (KIP-858); None if it prints no directories."""
    if replicas is None or printed is None or printed == "null":
        return None
    directories = re.findall(r"[\w-]+", printed)
    return [replica for replica, directory in zip(replicas, directories, strict=True) if directory in NO_DIRECTORY]


def steps_of(scorer: Any, truth: Any) -> tuple[list[ControllerStep], dict[Place, list[ControllerStep]]]:
    """Steps of brokers, and of partitions, as the active controllers logged them."""
    places = {state["topic_id"]: (state["topic"], state["incarnation"]) for state in truth.states}
    terms = [(r["controller_id"], r["since"], scorer.end(r)) for r in truth.tables["controller_timeline"]]
    brokers: list[ControllerStep] = []
    partitions: dict[Place, list[ControllerStep]] = {}
    for node, path in scorer.log_files(truth.folder):
        for number, line in enumerate(Path(path).read_text(errors="replace").splitlines(), 1):
            at = scorer.log_ms(line)
            if at is None or not any(node == who and since <= at <= until for who, since, until in terms):
                continue
            nothing = ControllerStep(at * 1000, node, path, number, REPLICAS_REMOVED)
            if match := RECORD.search(line):
                topic, incarnation = places[match[2]]
                leader, isr = int(match[4]), ids(match[3])
                record = nothing._replace(
                    kind=ASSIGNMENT_CHANGED,
                    leader=leader if leader >= NO_LEADER else None,
                    isr=None if isr is None else sorted(isr),
                    replicas=ids(match[5]),
                    unassigned=without_directory(ids(match[5]), match[6]),
                )
                partitions.setdefault((topic, int(match[1]), incarnation), []).append(record)
            elif SUMMARY.search(line):
                brokers.append(nothing)
            for pattern, kind in TURNS.items():
                if match := pattern.search(line):
                    turn = nothing._replace(kind=kind, broker=int(match[1]))
                    same = (s.at for s in brokers if (s.kind, s.broker) == (kind, turn.broker))
                    brokers += [] if any(abs(at - turn.at) < TWIN_US for at in same) else [turn]
    return brokers, partitions


def logged(state: Any, at_ms: int, *, is_complete: bool) -> KnownState:
    """A true state as lines log it, with or without its ISR and assignment."""
    isr, replicas = (sorted(state["isr"]), list(state["replicas"])) if is_complete else (None, None)
    leader, leader_epoch, epoch = value(state)[0], state["leader_epoch"], state["partition_epoch"]
    return KnownState(epoch, leader, leader_epoch, isr, None, replicas, None, at_ms * 1000)


def creation(state: Any) -> list[ControllerStep]:
    """A new partition as its controller prints it: no replica has a directory yet, if it has any (from 3.7 on)."""
    replicas, at = list(state["replicas"]), state["since"] * 1000
    is_new = state["partition_epoch"] == 0
    shown = ControllerStep(at, None, None, 0, SHOWN, replicas=replicas, unassigned=replicas, partition_epoch=0)
    return [shown] if is_new else []


def is_unclean(before: Any, state: Any) -> bool:
    """Whether the leader came from out of sync, which the controller logs whenever it happens."""
    return state["leader"] is not None and state["leader"] not in before["isr"]


def value(state: Any) -> tuple[int, int, list[int]]:
    """Leader, leader epoch and ISR of a true state."""
    return NO_LEADER if state["leader"] is None else state["leader"], state["leader_epoch"], sorted(state["isr"])


def is_last_loss(history: Sequence[Any], at_ms: int) -> bool:
    """Whether the partition lost its leader for good at a time: of such a loss no leader epoch is known."""
    last = [*takewhile(lambda state: state["leader"] is None, reversed(history))]
    return bool(last) and abs(last[-1]["since"] - at_ms) < LOSS_MS


def count_inferences(scorer: Any, truth: Any, skew_ms: int) -> Counter[bool]:
    """How many inferences are right, and how many wrong."""
    brokers, partitions = steps_of(scorer, truth)
    major, minor = (int(n) for n in truth.meta["version"].split(".")[:2])
    is_old = (major, minor) < (3, 6)
    rules = PartitionRules((major, minor) < (4, 1), is_old, is_old, None if (major, minor) >= (3, 7) else False)
    dice, counts = random.Random(SEED), Counter[bool]()
    for _ in range(ROUNDS):
        share = dice.choice([0.1, 0.3, 0.5, 0.7, 0.9])
        for place, history in truth.histories.items():
            own = sorted([*brokers, *creation(history[0]), *partitions.get(place, [])], key=lambda s: (s.at, s.line))
            until = history[-1]["until"]
            gone = 2**62 if until is None else until * 1000
            steps = [step._replace(at=step.at + skew_ms * 1000) for step in own if step.at <= gone]
            known = [
                logged(state, state["since"] + dice.randint(0, LATE_MS), is_complete=dice.random() < 0.7)
                for before, state in zip([None, *history], history, strict=False)
                if dice.random() < share or (before and is_unclean(before, state))
            ]
            explanation = explain(known, steps, rules, {}, gone)
            complete = {state.partition_epoch for state in known if state.is_complete}
            true = {state["partition_epoch"]: value(state) for state in history}
            for epoch, state in explanation.states.items():
                if state.isr is None and state.step is not None:
                    counts[is_last_loss(history, steps[state.step].at // 1000 - skew_ms)] += 1
                elif epoch not in complete:
                    counts[true.get(epoch) == state[1:4]] += 1
    return counts


def main(names: Sequence[str]) -> int:
    """Prove all KRaft captures, or those named."""
    shared = ROOT.parent / "shared" / "captures"
    home = shared if shared.is_dir() else ROOT / "data"
    captures = [home / name for name in names] or sorted(home.glob("kraft-*"))
    scorer, wrong = compare(), 0
    for capture in captures:
        truth = scorer.Truth(str(capture))
        for skew in (0, -SKEW_MS, SKEW_MS):
            counts = count_inferences(scorer, truth, skew)
            wrong += counts[False]
            print(f"{capture.name}, controller's clock {skew:+} ms: {counts.total()} inferred, {counts[False]} wrong")
    print("proven" if not wrong else f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
