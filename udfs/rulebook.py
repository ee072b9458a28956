"""Which rule knows a message: looked up by logger and first word, so that few patterns are ever tried."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from udfs.rule import Rule
from udfs.rules import (
    controller,
    kraft,
    kraft_brokers,
    kraft_events,
    kraft_metadata,
    kraft_migration,
    kraft_partitions,
    kraft_quorum,
    kraft_raft,
    kraft_requests,
    kraft_settings,
    metadata_dump,
    partition,
    process,
    server,
    state_change,
)
from udfs.scopes import covers

RULES: tuple[Rule, ...] = (
    *state_change.RULES,
    *controller.RULES,
    *partition.RULES,
    *server.RULES,
    *process.RULES,
    *kraft.RULES,
    *kraft_brokers.RULES,
    *kraft_events.RULES,
    *kraft_metadata.RULES,
    *kraft_migration.RULES,
    *kraft_partitions.RULES,
    *kraft_quorum.RULES,
    *kraft_raft.RULES,
    *kraft_requests.RULES,
    *kraft_settings.RULES,
    *metadata_dump.RULES,
)


@cache
def of_logger(logger: bytes, rules: tuple[Rule, ...] = RULES) -> dict[bytes | None, tuple[Rule, ...]]:
    """The rules of one logger by the first word of their text; under None those whose first word varies.

    The rules under a word include those under None, after the ones that begin with it.
    """
    name = logger.decode("utf-8", "backslashreplace")
    mine = [rule for rule in rules if covers(rule.loggers, name)]
    varied = tuple(rule for rule in mine if rule.first_word is None)
    book: dict[bytes | None, tuple[Rule, ...]] = {None: varied}
    for word in {form for rule in mine for form in rule.first_words}:
        book[word] = (*(rule for rule in mine if word in rule.first_words), *varied)
    return book


def candidates(logger: bytes, rest: bytes) -> Sequence[Rule]:
    """Rules that may know a message, in the order to try them; `rest` is the message without its prefix."""
    book = of_logger(logger)
    found = book.get(rest.partition(b" ")[0])
    return book[None] if found is None else found
