"""Wrong decisions are flagged: `python tests/proofs/prove_mutants.py [WAREHOUSE|CAPTURE...]`.

Of each capture of ../shared/captures (or data/, where that is absent), or of warehouses made of some, each election and
each state is spoiled in every way of `tests.mutants`, and judged. Prints, by kind, how many mutants there were, how
many were flagged, and how many by the rule that the kind breaks. Fails if less than 99 % of all are, or if a decision
that nobody has spoiled is violated.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from jobs.read.create_views import rows
from jobs.read.views import open_views
from tests.mutants import ELECTIONS, KRAFT_ELECTIONS, election_mutants, state_mutants
from tests.proofs.prove_truth import ROOT
from udfs.kafka.election_verdicts import judge_election
from udfs.kafka.judgements import VIOLATED
from udfs.kafka.releases import Release, lowest_release
from udfs.kafka.stored_state import Cluster
from udfs.kafka.verdicts import algorithm_release, judge_states
from udfs.kafka.verdicts_columns import DOUBT_MS

GOAL = 0.99
NOT_IN_KRAFT = (
    "a replaced controller decides", "a leader that goes offline stays in the ISR", "the last member leaves",
    "a leader's change raises the leader epoch",
)  # fmt: skip
"""Records of KRaft have no controller epoch, lost members leave them by other rules, and before 3.6 a smaller ISR
raises the leader epoch."""
INPUTS = ("strategy", "isr_before", "replicas", "live_brokers", "previous_leader")
STATE = ("leader", "leader_epoch", "partition_epoch", "controller_epoch", "isr", "replicas")
KRAFT_STATE = tuple(name for name in STATE if name != "controller_epoch")
Row = dict[str, Any]


def captures() -> list[Path]:
    shared = sorted((ROOT.parent / "shared" / "captures").glob("[zk]*-*"))
    return shared or sorted((ROOT / "data").glob("[zk]*-*"))


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


def kraft_elections(views: Any) -> Iterator[Row]:
    """Elections of KRaft with their states, and whom registrations show there, for certain or maybe."""
    stays = list(rows(views, "SELECT broker, since, until FROM broker_timeline"))
    doubt = timedelta(milliseconds=DOUBT_MS)
    for row in rows(views, "SELECT * FROM elections WHERE succeeded"):
        if any(row[name] is None for name in ("isr_before", "replicas", "replicas_before", "previous_leader", "isr")):
            continue
        at = row["at"]
        near = [s for s in stays if s["since"] <= at + doubt and (s["until"] is None or s["until"] >= at - doubt)]
        sure = [s for s in near if s["since"] <= at - doubt and (s["until"] is None or s["until"] >= at + doubt)]
        there = {"certainly_online": {s["broker"] for s in sure}, "possibly_online": {s["broker"] for s in near}}
        there["live_brokers"] = there["possibly_online"]
        yield {**row, **there, "shutting_down": [], "unclean_enabled": False, "last_known_before": None}


def histories(views: Any, *, is_kraft: bool) -> Iterator[list[Row]]:
    """States of incarnations of which all is known, in stored order."""
    order = "topic, partition, incarnation, ordinal"
    states = rows(views, f"SELECT * FROM partition_timeline ORDER BY cluster, {order}")
    unknown: Row = {"certainly_online": None, "possibly_online": None, "trigger": None}
    for _, group in groupby(states, key=itemgetter("cluster", "topic", "partition", "incarnation")):
        history = [{**state, **unknown} for state in group]
        if all(state[name] is not None for state in history for name in (KRAFT_STATE if is_kraft else STATE)):
            yield history


def prove(root: str, counts: Counter[str], flagged: Counter[str], right: Counter[str]) -> list[str]:
    """Count one warehouse's mutants; what is violated that nobody has spoiled."""
    false = []
    with open_views(
        root,
        only=["log_files", "elections", "partition_timeline", "controller_timeline", "broker_timeline"],
        naive=True,
    ) as views:
        ranges = [row["kafka_versions"] for row in rows(views, "SELECT kafka_versions FROM log_files")]
        release = lowest_release(ranges) or Release(2, 4)
        has_dump = any(rows(views, "SELECT 1 FROM log_files WHERE kind = 'metadata_dump' LIMIT 1"))
        is_kraft = has_dump or any(rows(views, "SELECT 1 FROM controller_timeline WHERE mode = 'kraft' LIMIT 1"))
        elr = any(rows(views, "SELECT 1 FROM partition_timeline WHERE len(elr) > 0 LIMIT 1"))
        release, has_elr = algorithm_release(release, is_kraft, elr)
        cluster = Cluster(release, kraft=is_kraft, elr_enabled=has_elr)
        kinds = KRAFT_ELECTIONS if is_kraft else ELECTIONS
        for row in kraft_elections(views) if is_kraft else elections(views):
            if has_elr and row["elr_before"] is None:
                continue
            if judge_election(row, release, is_kraft=is_kraft, elr_enabled=has_elr).verdict != "holds":
                continue
            for kind, mutant in election_mutants(row, kinds):
                verdict = judge_election(mutant, release, is_kraft=is_kraft, elr_enabled=has_elr)
                counts[kind.name] += 1
                flagged[kind.name] += verdict.verdict == VIOLATED
                right[kind.name] += verdict.verdict == VIOLATED and verdict.rule in kind.rules
        for history in histories(views, is_kraft=is_kraft):
            before = violated(cluster, history)
            false += sorted(before)
            for state_kind, history_mutant, _ in state_mutants(history):
                if is_kraft and state_kind.name in NOT_IN_KRAFT:
                    continue
                rules = violated(cluster, history_mutant)
                counts[state_kind.name] += 1
                flagged[state_kind.name] += bool(rules)
                right[state_kind.name] += bool(rules & {*state_kind.rules})
    return false


def violated(cluster: Cluster, history: list[Row]) -> set[str]:
    return {verdict.rule for _, verdict in judge_states(cluster, history) if verdict.verdict == VIOLATED}


def main() -> None:
    counts: Counter[str] = Counter()
    flagged: Counter[str] = Counter()
    right: Counter[str] = Counter()
    false = []
    with tempfile.TemporaryDirectory() as folder:
        for path in [Path(argument) for argument in sys.argv[1:]] or captures():
            false += prove(warehouse_of(path, folder), counts, flagged, right)
    print(f"{'kind':<60}{'mutants':>9}{'flagged':>9}{'right':>9}")
    for name in sorted(counts):
        print(f"{name:<60}{counts[name]:>9,}{flagged[name]:>9,}{right[name]:>9,}")
    share = right.total() / max(counts.total(), 1)
    print(
        f"{len(counts)} kinds, {counts.total():,} mutants, {share:.4f} flagged by the right rule; "
        f"unspoiled: {len(false)}"
    )
    if share < GOAL or false:
        sys.exit(1)


if __name__ == "__main__":
    main()
