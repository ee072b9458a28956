"""What to say of a `--topic` of which no record is, or of whose partitions none is named."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from jobs.merge.request import MergeRequest

if TYPE_CHECKING:
    from jobs.merge.reading import LogReader

_NAMED = re.compile(rb"(?:[Pp]artition|TopicPartition) ?([\w.][\w.-]*)-\d+(?![\w.-])")
"""A topic with a partition, as most messages about one have it."""
_LOOKED_AT = 16 << 20
"""Bytes from the begin of each log that are searched for names."""
_LIKE, _MOST = 0.7, 3
"""How alike a name has to be that was meant, and how many are named."""


def topic_sentences(request: MergeRequest, reader: LogReader, matched: int) -> Iterator[str]:
    """A sentence if the topic asked for is probably not the one that was meant, or its partitions are in no record."""
    topic, partitions = request.filters.topic, request.options.partitions
    if topic is None:
        return
    is_partition = re.search(r".-\d+$", topic) is not None
    names = named_topics(reader) if is_partition or not matched else ()
    if hint := partition_hint(topic, names) or (None if matched else topic_hint(topic, names)):
        yield hint
    elif matched and partitions is not None and not request.filters.names_partition:
        yield f"No record names partition {partitions} of {topic}: what matched is about the topic as a whole."


def partition_hint(topic: str, names: Collection[str]) -> str | None:
    """How to ask for what is a partition of a topic, and no topic; None for others.

    >>> partition_hint("payments-1", ["payments", "orders"])
    'payments-1 is a partition of payments: give --topic payments --partitions 1.'
    """
    name, dash, number = topic.rpartition("-")
    if topic in names or not dash or not number.isdecimal() or name not in names:
        return None
    return f"{topic} is a partition of {name}: give --topic {name} --partitions {int(number)}."


def topic_hint(topic: str, names: Collection[str]) -> str | None:
    """How to ask for a topic that is in the logs by a name that is not; None if it is, or nothing is like it.

    >>> topic_hint("paymnts", ["payments", "orders"])
    'Did you mean --topic payments?'
    """
    if topic in names:
        return None
    if alike := _matching(topic, names):
        return f"--topic takes one topic's name, no regular expression; of such names the logs have {_listed(alike)}."
    from difflib import get_close_matches

    near = get_close_matches(topic, names, _MOST, _LIKE)
    return f"Did you mean --topic {' or '.join(near)}?" if near else None


def named_topics(reader: LogReader) -> set[str]:
    """Topics of which the logs name a partition, as far as they are searched."""
    names: set[bytes] = set()
    for log, stream in reader.every_stream():
        if log.is_log:
            names |= {m[1] for m in _NAMED.finditer(stream.read(_LOOKED_AT))}
    return {name.decode("utf-8", "replace") for name in names}


def _matching(topic: str, names: Collection[str]) -> list[str]:
    """Names that an expression matches as a whole, sorted; none if it is a plain name."""
    if re.fullmatch(r"[\w.-]+", topic):
        return []
    try:
        return sorted(name for name in names if re.fullmatch(topic, name))
    except re.error:
        return []


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return f"{', '.join(names[:_MOST])}{more}"
