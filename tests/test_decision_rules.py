"""Each rule stands once in the code and has an entry in docs/invariants.md, and no entry is without a rule."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from udfs.kafka import cluster_invariants, election_invariants, epoch_invariants, state_invariants
from udfs.kafka.decision_rules import DECISIONS, ELECTIONS, INVARIANTS, RULES
from udfs.kafka.elections import Strategy
from udfs.kafka.invariants import NEIGHBOUR_CHECKS
from udfs.kafka.releases import Release

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "invariants.md").read_text(encoding="utf-8")
ENTRIES = dict(re.findall(r"^### `(\w+)`\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))
PARTS = ("Source:", "Looks violated but is not:", "Unknown:")


def test_every_rule_has_an_entry_and_every_entry_a_rule() -> None:
    assert list(ENTRIES) == list(RULES)


def test_entries_say_what_the_code_says() -> None:
    for rule in RULES.values():
        entry = " ".join(ENTRIES[rule.name].split())
        last = f" to {rule.until}" if rule.until else " on"
        assert entry.startswith(f"{rule.statement} From {rule.since}{last}."), rule.name
        assert f"Source: {rule.source}." in entry.replace("`", ""), rule.name
        assert [part for part in PARTS if part not in entry] == [], rule.name


def test_names_are_unique_words_and_releases_exist() -> None:
    assert len(RULES) == len(INVARIANTS) + len(ELECTIONS) + len(DECISIONS)
    for rule in RULES.values():
        assert re.fullmatch(r"[a-z]+(_[a-z]+)+", rule.name)
        assert rule.until is None or Release.parse(rule.since) < Release.parse(rule.until)


def test_every_check_is_a_rule_and_every_invariant_is_checked() -> None:
    checks = {check.__name__ for check in NEIGHBOUR_CHECKS}
    checks |= {name for name, _ in inspect.getmembers(state_invariants, inspect.isfunction) if name in RULES}
    written = inspect.getsource(cluster_invariants)
    checks |= {name for name in RULES if f'"{name}"' in written}
    assert checks == {rule.name for rule in INVARIANTS}
    for module in (state_invariants, epoch_invariants, election_invariants):
        own = [f for _, f in inspect.getmembers(module, inspect.isfunction) if f.__module__ == module.__name__]
        public = {f.__name__ for f in own if not f.__name__.startswith("_")}
        assert public - {"partition_epoch_ahead"} <= RULES.keys()


def test_every_strategy_has_an_algorithm() -> None:
    assert {rule.name for rule in ELECTIONS} == {
        *(f"{strategy}_election" for strategy in Strategy),
        "zk_election",
        "kraft_election",
    }
