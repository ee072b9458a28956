"""The truth of a capture that migrates from ZooKeeper to KRaft (KIP-866) as one history, for `compare.py`.

Its folder has `truth-zk.jsonl` and `truth-kraft.jsonl`. ZooKeeper holds the truth up to the metadata record MIGRATION,
the metadata log from then on; what it repeats of ZooKeeper's states is no new state.
"""

from __future__ import annotations

import collections
import json
from pathlib import Path
from typing import Any

from tests.truth import compare

Row = dict[str, Any]


class MigrationTruth(compare.Truth):  # type: ignore[misc]  # compare.py is not typed
    """As `compare.Truth`. A broker is up as the controller of the moment has it: registered, later unfenced."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.meta = str(folder), json.loads((folder / "meta.json").read_text())
        migrated_ms: int = self.meta["exact"]["record_MIGRATION"]
        zk, kraft = (
            [json.loads(line) for line in (folder / f"truth-{mode}.jsonl").open()] for mode in ("zk", "kraft")
        )
        stamps = [
            line[:25]
            for _, path in compare.log_files(self.folder)
            for line in Path(path).open(errors="replace")
            if line[:3] == "[20"
        ]
        self.window = compare.log_ms(min(stamps)), compare.log_ms(max(stamps))
        zk = [record for record in zk if record["ms"] <= migrated_ms]
        unfenced = compare.kraft_brokers(kraft)
        self.states = one_history(compare.zk_states(zk), compare.kraft_states(kraft, unfenced))
        self.histories = collections.defaultdict(list)
        for state in self.states:
            self.histories[compare.identity(state)].append(state)
        brokers = joined_spans(compare.zk_brokers(zk, [3, 9]), unfenced, migrated_ms)
        tables = {
            "partition_timeline": self.states,
            "broker_timeline": brokers,
            "offline_partitions": self.offline(),
            "elections": self.elections(),
            "dead_leaders": [],
            "controller_timeline": terms(zk, migrated_ms, folder),
        }
        first, last = self.window
        self.tables = {
            name: [r for r in rows if r.get("since", r.get("at")) <= last and compare.end({"until": r.get("at"), **r}) >= first]
            for name, rows in tables.items()
        }


def one_history(before: list[Row], after: list[Row]) -> list[Row]:
    """States that ZooKeeper held, then those of the metadata log, without its first ones that repeat them."""
    open_states = {compare.identity(state): state for state in before if state["until"] is None}
    states = list(before)
    for state in after:
        last = open_states.pop(compare.identity(state), None)
        if last is not None and (last["partition_epoch"], *compare.value(last)) == (
            state["partition_epoch"],
            *compare.value(state),
        ):
            last["until"] = state["until"]
            continue
        if last is not None:
            last["until"] = state["since"]
        states.append(state)
    return states


def joined_spans(registered: list[Row], unfenced: list[Row], migrated_ms: int) -> list[Row]:
    """Spans of brokers: until the migration those of the first list, then those of the second; one that is open then
    goes on with the first of these."""
    spans = [{**row, "until": None if compare.end(row) > migrated_ms else row["until"]} for row in registered]
    crossing = {row["broker"]: row for row in spans if row["until"] is None}
    for row in unfenced:
        if row["until"] is not None and row["until"] <= migrated_ms:
            continue
        if open_span := crossing.pop(row["broker"], None):
            open_span["until"], open_span["epoch"] = row["until"], None
        else:
            spans.append(row)
    return spans


def terms(zk: list[Row], migrated_ms: int, folder: Path) -> list[Row]:
    """Terms of ZooKeeper's controllers, the last of which ends with the takeover, and of the quorum's leaders."""
    taken = next(r["ms"] for r in reversed(zk) if r["op"] == "create" and r.get("path") == "/controller")
    own = [row for row in compare.zk_controllers(zk) if row["since"] < taken]
    with (folder / "metadata-dump.txt").open(errors="replace") as dump:
        quorum: list[Row] = compare.kraft_controllers(dump, str(folder))
    return [*own, *quorum]
