"""Kafka's own classes against ours: `python tests/proofs/prove_oracle.py [--cases 3000] 3.2.3 4.1.1 ...`.

Fetches Kafka of each release (0.10.2 on) from Maven, draws cases at random, has them decided by its classes (through
`Oracle.java`) and by ours, and prints how many differ. KRaft's partition changes and what a cancelled reassignment goes
back to, 3.0 on; its placement, 3.0 on; that of AdminUtils, through 3.9. Without a release it does nothing.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tests.proofs.live_jars import class_path
from udfs.kafka.elections import RECOVERED, RECOVERING
from udfs.kafka.kraft_elections import RECOVERY_STATE, partition_change
from udfs.kafka.kraft_partition import ControllerConfig, ElectionKind, PartitionRegistration, RequestedChange
from udfs.kafka.placement import StripedBroker, place_rack_aware, place_striped
from udfs.kafka.reassignment import ReassignmentLists, kraft_reassign_revert
from udfs.kafka.releases import ProtocolVersion, Release

Asked = dict[str, object]
"""A case, as the oracle is asked; what is None is not sent."""
Answer = dict[str, str]
Case = tuple[Asked, Callable[[Answer], Answer]]
"""What Kafka is asked, and what we answer; ours may need the random numbers that Kafka drew."""
ORACLE = Path(__file__).with_name("Oracle.java")
BROKERS = range(8)
ELR, MIGRATION = Release(3, 7), Release(3, 6)
METADATA = ("3.0-IV1", "3.1-IV0", "3.2-IV0", "3.3-IV3", "3.5-IV2", "3.6-IV0", "3.7-IV4", "3.9-IV0", "4.0-IV3")
SETS = {"elr", "last_known_elr"}
"""Kafka writes them in the order of a hash set."""


def main(arguments: Sequence[str]) -> int:
    """Prove the releases that are asked for; 1 if any decision differs."""
    parser = argparse.ArgumentParser(description="Compare decisions with those of Kafka's own classes.")
    parser.add_argument("releases", nargs="*", metavar="VERSION")
    parser.add_argument("--cases", type=int, default=3000, help="of each algorithm")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("build/live/jars"), help="where fetched jars stay")
    asked = parser.parse_args(arguments)
    is_wrong = False
    for version in asked.releases:
        dice = random.Random(f"{asked.seed} {version}")
        for name, draw in _algorithms(Release.parse(version)).items():
            cases = [draw(dice) for _ in range(asked.cases)]
            answers = ask(class_path(version, asked.keep.resolve()), [case for case, _ in cases])
            different = [
                (case, theirs, own) for (case, ours), theirs in zip(cases, answers, strict=True)
                if (own := _sorted(ours(theirs))) != _sorted({k: v for k, v in theirs.items() if k != "draws"})
            ]  # fmt: skip
            print(f"{version} {name}: {len(cases)} cases, {len(different)} differ")
            for case, theirs, own in different[:3]:
                print(f"  {_line(case)}\n    Kafka: {theirs}\n    ours:  {own}")
            is_wrong |= bool(different)
    return 1 if is_wrong else 0


def _algorithms(release: Release) -> dict[str, Callable[[random.Random], Case]]:
    """Those of a release, each drawing a case."""
    algorithms: dict[str, Callable[[random.Random], Case]] = {}
    if release >= Release(3):
        algorithms["partition changes"] = lambda dice: _change(dice, release)
        algorithms["cancelled reassignments"] = _cancelled
        algorithms["placement by KRaft"] = _striped
    if release < Release(4):
        algorithms["placement by AdminUtils"] = _placed
    return algorithms


def ask(path: str, cases: Iterable[Asked]) -> list[Answer]:
    """What Kafka's classes answer."""
    java = ["java", "-Xmx700m", "-cp", path, str(ORACLE)]
    lines = "".join(f"{_line(case)}\n" for case in cases)
    done = subprocess.run(java, input=lines, capture_output=True, text=True, check=True)
    answers = [line.split(" ")[1:] for line in done.stdout.splitlines() if line.startswith("answer ")]
    return [{name: value for name, _, value in (part.partition("=") for part in parts)} for parts in answers]


def _line(case: Asked) -> str:
    return " ".join(f"{name}={_text(value)}" for name, value in case.items() if value is not None)


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _sorted(answer: Answer) -> Answer:
    return {k: ",".join(sorted(v.split(","))) if k in SETS else v for k, v in answer.items()}


def _some(dice: random.Random, ids: Iterable[int], least: int = 0) -> list[int]:
    """Some of them, in any order."""
    of = list(ids)
    return dice.sample(of, dice.randint(min(least, len(of)), len(of)))


# ---- KRaft's partitions ----------------------------------------------------------------------------------------------
def _partition(dice: random.Random, has_elr: bool) -> PartitionRegistration:
    replicas = dice.sample(BROKERS, dice.randint(1, 5))
    isr = _some(dice, replicas, 0 if has_elr else 1)
    rest = [broker for broker in replicas if broker not in isr]
    elr = sorted(_some(dice, rest)) if has_elr else []
    adding = _some(dice, replicas) if dice.random() < 0.4 else []
    return PartitionRegistration(
        replicas=tuple(replicas),
        isr=tuple(isr),
        leader=dice.choice([*isr, -1]),
        leader_epoch=dice.randint(0, 9),
        partition_epoch=dice.randint(9, 20),
        adding=tuple(adding),
        removing=tuple(_some(dice, replicas) if dice.random() < 0.3 else ()),
        elr=tuple(elr),
        last_known_elr=tuple(sorted(_some(dice, [broker for broker in rest if broker not in elr]))) if has_elr else (),
        recovery=RECOVERING if len(isr) == 1 and dice.random() < 0.3 else RECOVERED,
    )


def _requested(dice: random.Random, partition: PartitionRegistration, release: Release) -> RequestedChange:
    """A new ISR, a reassignment, the end of a recovery; any of them, or nothing."""
    target = dice.sample(BROKERS, dice.randint(1, 5)) if dice.random() < 0.4 else None
    removing = [broker for broker in partition.replicas if broker not in (target or ())]
    added = [broker for broker in target or () if broker not in partition.replicas]
    replicas = partition.replicas if target is None else (*target, *removing)
    return RequestedChange(
        isr=tuple(_some(dice, replicas)) if dice.random() < 0.6 else None,
        replicas=None if target is None else replicas,
        adding=None if target is None else tuple(added),
        removing=None if target is None else tuple(removing),
        recovery=dice.choice([None, RECOVERED, RECOVERING]) if release >= Release(3, 2) else None,
        unclean_shutdown=tuple(_some(dice, BROKERS)) if dice.random() < 0.3 else (),
    )


def _change(dice: random.Random, release: Release) -> Case:
    has_elr = release >= ELR and dice.random() < 0.5
    partition = _partition(dice, has_elr)
    requested = _requested(dice, partition, release)
    least = Release(3, 3) if release >= Release(4) else Release(3)
    versions = [ProtocolVersion.parse(text) for text in METADATA]
    metadata = dice.choice([v for v in versions if least <= v.release <= release.line])
    min_isr = min(dice.randint(1, 3), len(partition.replicas))
    migrates = MIGRATION <= release < Release(4) and dice.random() < 0.2
    config = ControllerConfig(release, metadata, migrates, has_elr, min_isr, dice.random() < 0.7)
    acceptable, kind = _some(dice, BROKERS), dice.choice([*ElectionKind])
    asked: Asked = {
        "op": "partition_change",
        **_fields(partition),
        "acceptable": acceptable,
        "election": kind.value,
        "metadata_version": f"{metadata.release}-IV{metadata.iv}",
        "recovery_supported": metadata >= RECOVERY_STATE,
        "zk_migration": migrates,
        "elr_enabled": has_elr,
        "min_isr": min_isr,
        "last_known_leader": config.last_known_leader,
        "TargetIsr": requested.isr,
        "TargetReplicas": requested.replicas,
        "TargetAdding": requested.adding,
        "TargetRemoving": requested.removing,
        "UncleanShutdownReplicas": requested.unclean_shutdown,
        "target_recovery": requested.recovery,
    }

    def ours(_: Answer) -> Answer:
        is_unclean = kind == ElectionKind.UNCLEAN
        record = partition_change(config, partition, acceptable, kind, requested, topic_allows_unclean=is_unclean)
        fields = {} if record is None else {k: _text(v) for k, v in vars(record).items() if v is not None}
        return fields or {"nothing": ""}

    return asked, ours


def _fields(partition: PartitionRegistration) -> Asked:
    """A partition, as the oracle is told of it."""
    names = {"leader": "Leader", "leader_epoch": "LeaderEpoch", "partition_epoch": "PartitionEpoch"}
    return {names.get(name, name): value for name, value in vars(partition).items()}


def _cancelled(dice: random.Random) -> Case:
    partition = _partition(dice, has_elr=False)

    def ours(_: Answer) -> Answer:
        lists = ReassignmentLists(partition.replicas, partition.adding, partition.removing)
        try:
            back = kraft_reassign_revert(lists, partition.isr)
        except ValueError:
            return {"refused": "InvalidReplicaAssignmentException"}
        return {name: _text(value) for name, value in vars(back).items()}

    return {"op": "revert", **_fields(partition)}, ours


# ---- placement -------------------------------------------------------------------------------------------------------
def _striped(dice: random.Random) -> Case:
    """Ours takes the random numbers that Kafka took, and must ask for the same."""
    racks = [dice.choice(["", f"rack{dice.randint(0, 9999)}"]) for _ in range(dice.randint(1, 5))]
    brokers = [StripedBroker(n, dice.choice(racks) or None, dice.random() < 0.3) for n in dice.sample(range(40), 9)]
    partitions, factor = dice.randint(1, 25), dice.randint(1, 10)
    described = ";".join(f"{b.id}:{b.rack or ''}:{'fenced' if b.fenced else ''}" for b in brokers)
    asked: Asked = {"op": "place_striped", "seed": dice.randint(0, 10**9), "brokers": described}

    def ours(theirs: Answer) -> Answer:
        draws = [tuple(map(int, draw.split(":"))) for draw in theirs.get("draws", "").split(";") if draw]

        def draw(bound: int) -> int:
            asked_for, drawn = draws.pop(0)
            return drawn if asked_for == bound else -1

        try:
            placed = place_striped(brokers, partitions, factor, draw)
        except ValueError:
            return {"refused": "InvalidReplicationFactorException"}
        return {"placed": ";".join(map(_text, placed))} | ({"left": _text(len(draws))} if draws else {})

    return asked | {"partitions": partitions, "factor": factor}, ours


def _placed(dice: random.Random) -> Case:
    ids = sorted(dice.sample(range(40), dice.randint(1, 12)))
    names = [f"rack{n}" for n in range(dice.randint(1, 5))] if dice.random() < 0.6 else [""]
    racks = {broker: dice.choice(names) or None for broker in ids}
    numbers = dice.randint(1, 30), dice.randint(1, min(6, len(ids))), dice.randrange(len(ids)), dice.randint(0, 20)
    partitions, factor, index, first = numbers
    asked: Asked = {
        "op": "assign",
        "brokers": ";".join(f"{broker}:{rack or ''}" for broker, rack in racks.items()),
        "partitions": partitions,
        "factor": factor,
        "start_index": index,
        "start_partition": first,
    }

    def ours(_: Answer) -> Answer:
        placed = place_rack_aware(racks, partitions, factor, index, start_partition=first)
        return {"placed": ";".join(map(_text, placed.values()))}

    return asked, ours


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
