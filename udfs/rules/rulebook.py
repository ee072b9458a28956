"""All rules, in the order to try them. Who only looks some messages up takes `udfs.rules.lookup`."""

from __future__ import annotations

from udfs.rules.lookup import rules_about
from udfs.rules.rule import Rule
from udfs.rules.subjects import SUBJECTS

RULES: tuple[Rule, ...] = tuple(rule for subject in SUBJECTS for rule in rules_about(subject))
