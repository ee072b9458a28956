"""Which rule may know a message: looked up by logger and first word, so that few patterns are ever tried.

Rules of subjects whose loggers do not occur are not even imported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from importlib import import_module

from udfs.rules.logger_scopes import covers, may_be
from udfs.rules.rule import Rule
from udfs.rules.subjects import SUBJECTS


def rules_about(subject: str) -> tuple[Rule, ...]:
    """The rules of one of SUBJECTS."""
    rules: tuple[Rule, ...] = import_module(f"udfs.rules.subjects.{subject}").RULES
    return rules


@cache
def of_logger(logger: bytes) -> dict[bytes | None, tuple[Rule, ...]]:
    """The rules of one logger by the first word of their text; under None those whose first word varies.

    The rules under a word include those under None, after the ones that begin with it.
    """
    name = logger.decode("utf-8", "backslashreplace")
    subjects = [subject for subject, loggers in SUBJECTS.items() if covers(loggers, name)]
    mine = [rule for subject in subjects for rule in rules_about(subject) if may_be(rule.loggers, name)]
    by_word: dict[bytes | None, list[Rule]] = {None: []}
    for rule in mine:
        for word in rule.first_words or (None,):
            by_word.setdefault(word, []).append(rule)
    varied = by_word[None]
    return {word: tuple(of_word) if word is None else (*of_word, *varied) for word, of_word in by_word.items()}


def candidates(logger: bytes, rest: bytes) -> Sequence[Rule]:
    """Rules that may know a message, in the order to try them; `rest` is the message without its prefix."""
    by_word = of_logger(logger)
    of_word = by_word.get(rest.partition(b" ")[0])
    return by_word[None] if of_word is None else of_word


@cache
def all_of_logger(logger: bytes) -> tuple[Rule, ...]:
    """The rules of one logger, each once."""
    return tuple({id(rule): rule for rules in of_logger(logger).values() for rule in rules}.values())


def landmarks_of(events: Collection[str]) -> set[bytes]:
    """Texts one of which stands in each message of some event types; empty ones if there is no such text."""
    every = (rule for subject in SUBJECTS for rule in rules_about(subject))
    return {rule.landmark for rule in every if rule.event_type in events}


def event_types() -> Iterator[str]:
    """All event types, some several times; a subject is imported when its first one is asked for."""
    for subject in SUBJECTS:
        yield from (rule.event_type for rule in rules_about(subject))
