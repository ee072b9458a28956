"""New clusters: `python tests/proofs/prove_live.py --keep DIR [--seconds 240] [--seed 1] zk-2.8.1 kraft-4.2.0 ...`.

`--shape combined|single|voters`: of KRaft, with controllers that are brokers, too, with one controller, or with one
whose voters are in the log (KIP-853). `--set NAME=VALUE`: a setting of all nodes.

Fetches Kafka of each release from Maven, runs a cluster on loopback, breaks it at random for so many seconds, and
scores a night over its logs against its own transaction log, as `prove_truth.py` does for captures. It leaves captures
DIR/RELEASE-live-SEED; one that is there is scored as it is. Without a release it does nothing.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from tests.proofs import prove_truth
from tests.proofs.live_cluster import CONTROLLERS, Cluster, write_meta
from tests.proofs.live_faults import Faults
from tests.proofs.live_jars import class_path
from tests.proofs.live_truth import write_truth


def record(folder: Path, name: str, seed: int, seconds: float, level: str, shape: str, settings: list[str]) -> None:
    """Run one cluster ("zk-2.8.1", "kraft-4.2.0") into a folder, which becomes a capture."""
    kind, _, version = name.partition("-")
    passing = folder.with_name(f"{folder.name}.running")
    shutil.rmtree(passing, ignore_errors=True)
    passing.mkdir(parents=True)
    classes = class_path(version, folder.parent / "jars")
    more = dict(setting.split("=", 1) for setting in settings)
    cluster = Cluster(passing.resolve(), version, kind == "kraft", classes, level, shape, more)
    try:
        cluster.start_all()
        faults = Faults(cluster, seed)
        faults.run(seconds)
        faults.write(passing / "actions.jsonl")
    finally:
        cluster.stop_all()
    write_truth(cluster)
    write_meta(cluster, seed)
    for rest in ("disks", "zookeeper"):
        shutil.rmtree(passing / rest, ignore_errors=True)
    passing.rename(folder)


def main(arguments: list[str]) -> int:
    """Record what is asked for, then score it."""
    parser = argparse.ArgumentParser(description="Break new clusters of some releases, and score a night over each.")
    parser.add_argument("releases", nargs="*", metavar="zk-VERSION|kraft-VERSION")
    parser.add_argument("--keep", type=Path, default=Path("build/live"))
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--level", default="INFO", help="of the state change and controller logs")
    parser.add_argument("--shape", default="apart", choices=[*CONTROLLERS])
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--only-record", action="store_true")
    asked = parser.parse_args(arguments)
    kind = "" if asked.shape == "apart" else f"-{asked.shape}"
    captures = [asked.keep / f"{name}{kind}-live-{asked.seed}" for name in asked.releases]
    for name, folder in zip(asked.releases, captures, strict=True):
        if not folder.is_dir():
            record(folder, name, asked.seed, asked.seconds, asked.level, asked.shape, asked.set)
            print(f"{folder.name}: recorded")
    if asked.only_record or not captures:
        return 0
    return prove_truth.main([str(folder.resolve()) for folder in captures])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
