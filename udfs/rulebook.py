"""All rules, in the order to try them. Who only looks some messages up takes `udfs.rule_lookup`."""

from __future__ import annotations

from udfs.rule import Rule
from udfs.rule_lookup import rules_about
from udfs.rules import SUBJECTS

RULES: tuple[Rule, ...] = tuple(rule for subject in SUBJECTS for rule in rules_about(subject))
