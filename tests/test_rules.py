"""Each rule of the book is proved by its own sample, and by no other rule."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from udfs.rules import subjects
from udfs.rules.drift import drifted_form
from udfs.rules.logger_scopes import covers
from udfs.rules.lookup import candidates
from udfs.rules.parsing import read_message, split_prefix
from udfs.rules.rule import Rule
from udfs.rules.rulebook import RULES
from udfs.rules.subjects import SUBJECTS


def names_of(rule: Rule) -> list[str]:
    """A logger for each entry of `rule.loggers`: the name itself, or one below it."""
    return [name + "Any" if name[-1] in ".$" else name for name in rule.loggers]


def title(rule: Rule) -> str:
    return f"{rule.event_type}: {rule.text[:60]}"


@pytest.mark.parametrize("rule", RULES, ids=title)
def test_sample_is_read(rule: Rule) -> None:
    for logger in names_of(rule):
        read = read_message(logger, rule.sample)
        assert read is not None
        assert read.pop("event_type") == rule.event_type
        if "node" not in rule.reads:  # the node that writes is the prefix's business
            read.pop("node", None)
        assert read == dict(rule.reads)


@pytest.mark.parametrize("rule", RULES, ids=title)
def test_first_word_finds_the_rule(rule: Rule) -> None:
    _, rest = split_prefix(rule.sample.encode())
    for logger in names_of(rule):
        assert rule in candidates(logger.encode(), rest)


def test_each_subject_is_looked_up() -> None:
    """A module that is not listed would never be asked; `test_first_word_finds_the_rule` proves those that are."""
    modules = {path.stem for path in Path(subjects.__file__).parent.glob("*.py")} - {"__init__"}
    assert set(SUBJECTS) == modules


@pytest.mark.parametrize("rule", RULES, ids=title)
def test_the_landmark_stands_in_all_that_the_rule_knows(rule: Rule) -> None:
    """So that it may be looked for first; parts that may be absent do not count."""
    _, rest = split_prefix(rule.sample.encode())
    assert rule.landmark in rest
    assert not rule.landmark or rule.pattern.fullmatch(rest.replace(rule.landmark, b"")) is None


def test_a_blank_at_the_end_may_be_cut_off() -> None:
    """Where the last value is empty, as in `List of topics to be deleted: `; journald and some shippers do so."""
    ends = [rule for rule in RULES if rule.may_end_bare >= 0]
    assert len(ends) > 100
    for rule in ends:
        prefix, rest = split_prefix(rule.sample.encode())
        values = rule.pattern_of_all_values.fullmatch(rest)
        assert values is not None
        whole = prefix + rest[: values.start(values.re.groups)]
        assert whole.endswith(b" ")
        for logger in names_of(rule):
            assert read_message(logger, whole[:-1]) == read_message(logger, whole) is not None


def test_no_sample_matches_two_rules() -> None:
    """Texts that cannot be told apart are one rule. The order of rules must not decide."""
    twice = []
    for rule in RULES:
        _, rest = split_prefix(rule.sample.encode())
        for logger in names_of(rule):
            matches = [other for other in RULES if covers(other.loggers, logger) and other.pattern.fullmatch(rest)]
            if matches != [rule]:
                twice.append((logger, rule.sample, [title(other) for other in matches]))
    assert not twice


def test_values_have_the_type_of_their_column() -> None:
    """What is no column is text, for `events.fields` maps text to text."""
    kinds = {"int": int, "ids": list, "partitions": list, "text": str}
    from udfs.rules.rule import COLUMNS

    wrong = [
        (title(rule), name, value)
        for rule in RULES
        for name, value in rule.reads.items()
        if not isinstance(value, int if name == "node" else kinds[COLUMNS.get(name, "text")])
    ]
    assert not wrong


def test_releases_are_in_order() -> None:
    def number(release: str) -> tuple[int, ...]:
        assert re.fullmatch(r"\d+(?:\.\d+)+", release)
        return tuple(int(part) for part in release.split("."))

    assert not [title(rule) for rule in RULES if rule.until and number(rule.since) > number(rule.until)]


@pytest.mark.parametrize("rule", RULES, ids=title)
def test_a_long_line_is_refused_fast(rule: Rule) -> None:
    """A broken record of the same beginning takes no exponential time: a part of the sample, repeated and cut."""
    _, rest = split_prefix(rule.sample.encode())
    half = rest[: max(1, len(rest) // 2)]
    for pattern in (rule.pattern, drifted_form(rule).pattern):
        pattern.fullmatch(half + rest[len(half) // 2 : len(half)] * 50)
        pattern.fullmatch(rest + b"!" * 2000)
        pattern.fullmatch(half + b"a=1, " * 400 + b"(")
