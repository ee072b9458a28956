"""Wrong decisions are flagged: `python tests/proofs/prove_mutants.py [WAREHOUSE|CAPTURE...]`.

Of each ZooKeeper capture of ../shared/captures (or data/, where that is absent), or of warehouses made of some, each
election and each state is spoiled in every way of `tests.mutants`, and judged. Prints, by kind, how many mutants there
were, how many were flagged, and how many by the rule that the kind breaks. Fails if less than 99 % of all are, or if a
decision that nobody has spoiled is violated.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from jobs.read.create_views import rows
from jobs.read.views import open_views
from tests.mutants import election_mutants, state_mutants
from tests.proofs.prove_truth import ROOT
from udfs.kafka.election_verdicts import judge_election
from udfs.kafka.judgements import VIOLATED
from udfs.kafka.releases import Release, lowest_release
from udfs.kafka.stored_state import Cluster
from udfs.kafka.verdicts import judge_states

GOAL = 0.99
INPUTS = ("strategy", "isr_before", "replicas", "live_brokers", "previous_leader")
STATE = ("leader", "leader_epoch", "partition_epoch", "controller_epoch", "isr", "replicas")
Row = dict[str, Any]


def captures() -> list[Path]:
    shared = sorted((ROOT.parent / "shared" / "captures").glob("zk-*"))
    return shared or sorted((ROOT / "data").glob("zk-*"))


def warehouse_of(path: Path, folder: str) -> str:
    """A warehouse as it is, or one made of a capture's logs."""
    if (path / "runs").is_dir():
        return str(path)
    from jobs.nightly.run import nightly
    from jobs.session import session
    from jobs.settings import Settings
    from jobs.warehouse.tables import open_warehouse

    root = f"{folder}/{path.name}"
    with session() as spark:
        nightly(open_warehouse(spark, root, create=True), [str(path / "logs")], Settings(), "default", lambda _: None)
    return root


def elections(views: Any) -> Iterator[Row]:
    """Elections with all inputs, those whom the controller saw alive as the only ones online."""
    for row in rows(views, "SELECT * FROM elections"):
        if all(row[name] is not None for name in INPUTS) and (row["strategy"] != "reassign" or row["target_replicas"]):
            live = {"certainly_online": row["live_brokers"], "possibly_online": row["live_brokers"]}
            yield {**row, **live, "shutting_down": row["shutting_down"] or [], "unclean_enabled": False}


def histories(views: Any) -> Iterator[list[Row]]:
    """States of incarnations of which all is known, in stored order."""
    order = "topic, partition, incarnation, ordinal"
    states = rows(views, f"SELECT * FROM partition_timeline ORDER BY cluster, {order}")
    unknown: Row = {"certainly_online": None, "possibly_online": None, "trigger": None}
    for _, group in groupby(states, key=itemgetter("cluster", "topic", "partition", "incarnation")):
        history = [{**state, **unknown} for state in group]
        if all(state[name] is not None for state in history for name in STATE):
            yield history


def prove(root: str, made: Counter[str], flagged: Counter[str], right: Counter[str]) -> list[str]:
    """Count one warehouse's mutants; what is violated that nobody has spoiled."""
    false = []
    with open_views(root, only=["log_files", "elections", "partition_timeline"], naive=True) as views:
        ranges = [row["kafka_versions"] for row in rows(views, "SELECT kafka_versions FROM log_files")]
        release = lowest_release(ranges) or Release(2, 4)
        for row in elections(views):
            if judge_election(row, release, is_kraft=False, elr_enabled=False).verdict != "holds":
                continue
            for kind, mutant in election_mutants(row):
                verdict = judge_election(mutant, release, is_kraft=False, elr_enabled=False)
                made[kind.name] += 1
                flagged[kind.name] += verdict.verdict == VIOLATED
                right[kind.name] += verdict.verdict == VIOLATED and verdict.rule in kind.rules
        for history in histories(views):
            before = violated(release, history)
            false += sorted(before)
            for state_kind, history_mutant, _ in state_mutants(history):
                rules = violated(release, history_mutant)
                made[state_kind.name] += 1
                flagged[state_kind.name] += bool(rules)
                right[state_kind.name] += bool(rules & {*state_kind.rules})
    return false


def violated(release: Release, history: list[Row]) -> set[str]:
    return {verdict.rule for _, verdict in judge_states(Cluster(release), history) if verdict.verdict == VIOLATED}


def main() -> None:
    made: Counter[str] = Counter()
    flagged: Counter[str] = Counter()
    right: Counter[str] = Counter()
    false = []
    with tempfile.TemporaryDirectory() as folder:
        for path in [Path(argument) for argument in sys.argv[1:]] or captures():
            false += prove(warehouse_of(path, folder), made, flagged, right)
    print(f"{'kind':<60}{'mutants':>9}{'flagged':>9}{'right':>9}")
    for name in sorted(made):
        print(f"{name:<60}{made[name]:>9,}{flagged[name]:>9,}{right[name]:>9,}")
    share = right.total() / max(made.total(), 1)
    print(
        f"{len(made)} kinds, {made.total():,} mutants, {share:.4f} flagged by the right rule; unspoiled: {len(false)}"
    )
    if share < GOAL or false:
        sys.exit(1)


if __name__ == "__main__":
    main()
