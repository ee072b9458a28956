"""Which records concern a topic, or some of its partitions.

A record concerns a topic if it names it, alone, with a partition, or in a list; with `partitions`, if it names one of
these, or the topic as a whole. Text decides where it cannot be read in two ways, else the rule that knows the message.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache

import numpy as np

from udfs.merge.block import Block
from udfs.merge.name_search import LEAST_NAME, NameSearch
from udfs.merge.record import Record
from udfs.merge.search import MOST_HITS
from udfs.rules.regex import late

_ALONE = 6  # the group of the name alone
_NAME_BYTES = frozenset(b"-._0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_NAME_LETTERS = frozenset(bytes([byte]) for byte in _NAME_BYTES)
_IS_NAME_BYTE = np.zeros(256, np.bool_)
_IS_NAME_BYTE[[*_NAME_BYTES]] = True
_DOT, _HYPHEN = b".-"
_FORMS = (  # how a partition's number stands behind its topic's name: what is before it, and behind
    # topic-3, maybe at the end of a sentence, or a folder that Kafka renamed: topic-3.<32 hex digits>-delete
    (rb"-", rb"(?![\w-]|\.(?![0-9a-f]{32}-(?:delete|future|stray)(?![\w-]))\w)"),
    (rb"(?<=[\[(]%b), *", rb"(?:, *\d+)?(?=[\])])"),  # [topic,3], up to 0.11; with a replica, too
    (rb"'?, ?[Pp]artition(?:Index|Id|_index)?=", rb"(?!\d)"),
    (rb'", ?"partition": ?"?', rb"(?!\d)"),
    (rb"/partitions/", rb"(?!\d)"),
)


def _with_number(name: bytes, number: bytes) -> bytes:
    """Alternatives of what follows a topic's name with a partition."""
    return b"|".join((before % name if b"%b" in before else before) + number + behind for before, behind in _FORMS)


def _alone(name: bytes) -> bytes:
    """What follows a topic's name that stands for the whole topic; an empty group."""
    return rb"(?![\w-]|\.[\w-]|\s*,\s*-?\d|" + _with_number(name, rb"\d+") + rb")()"


class TopicFilter:
    """Whether records concern a topic, or some of its partitions.

    Of a topic whose name is a number, lists of two brokers look like a partition: there the rules alone decide.
    """

    def __init__(self, topic: str, partitions: frozenset[int], topic_ids: frozenset[str] = frozenset()) -> None:
        self.names_partition = False
        """Whether a record that was looked at names one of the partitions, not only the topic."""
        name = re.escape(topic.encode())
        self._topic, self._partitions, self._ids = topic, partitions, topic_ids
        self._is_number = topic.isdigit()
        self._name = topic.encode()
        self._named = late(
            rb"(?<![\w.-])" + name + rb"(?:" + _with_number(name, rb"(\d+)") + rb"|" + _alone(name) + rb")"
        )
        numbers = rb"0*(?:" + b"|".join(b"%d" % n for n in sorted(partitions)) + rb")" if partitions else rb"\d+"
        # as above, but of these partitions only, and what stands before the name is left to be looked at: so that names
        # are found in compiled loops
        self._wanted = re.compile(name + rb"(?:" + _with_number(name, numbers) + rb"|" + _alone(name) + rb")")
        self._token = late(
            "|".join(map(re.escape, [topic, *sorted(topic_ids)])).join((r"(?<![\w.-])(?:", r")(?![\w-]|\.\w)"))
        )

    def rows(self, block: Block) -> tuple[set[int], set[int]]:
        """The records of a block that surely concern it, and those of which more than a name has to be looked at."""
        sure: set[int] = set()
        unsure: set[int] = set()
        for id_ in self._ids:
            unsure |= rows_with(block, [id_.encode()])
        if self._is_number:
            return sure, unsure | rows_with(block, [self._topic.encode()])
        starts, ends, data = block.starts.tolist(), block.ends.tolist(), block.data
        end = -1
        for m in self._wanted.finditer(data, starts[0], ends[-1]) if starts else ():
            at = m.start()
            if at < end or (at and data[at - 1] in _NAME_BYTES):
                continue
            row = bisect_right(starts, at) - 1
            if at >= ends[row]:
                continue
            if m.lastindex is None:
                sure.add(row)
                self.names_partition = True
                end = ends[row]
            else:
                unsure.add(row)
        return sure, unsure - sure

    def hits(self, data: bytes | bytearray, begin: int, stop: int) -> list[int] | None:
        """Where between two bytes records may concern it, in order; None if at too many places."""
        if self._is_number:
            return None
        hits: list[int] = []
        for at in self._name_places(data, begin, stop):
            if not at or data[at - 1] not in _NAME_BYTES:
                hits.append(at)
                if len(hits) > MOST_HITS:
                    return None
        for id_ in self._ids:
            more = literal_hits([id_.encode()], data, begin, stop)
            if more is None:
                return None
            hits += more
        return sorted(hits) if self._ids else hits

    def _name_places(self, data: bytes | bytearray, begin: int, stop: int) -> Iterator[int]:
        """Where its name stands with one of the partitions, or alone; also behind other letters."""
        if len(self._name) < LEAST_NAME:
            yield from (m.start() for m in self._wanted.finditer(data, begin, stop))
            return
        for at in self._search.places(data, begin, stop):
            if self._wanted.match(data, at, stop):
                yield at

    @cached_property
    def _search(self) -> NameSearch:
        """Finds the name where `-` and a digit of a partition, or what is not of a name, stand behind it."""
        is_digit = np.zeros(256, np.bool_)
        is_digit[[*b"0", *(str(n).encode()[0] for n in self._partitions)] if self._partitions else [*b"0123456789"]] = (
            True
        )
        pairs = np.arange(1 << 16)
        first, second = pairs & 0xFF, pairs >> 8
        is_end = ~_IS_NAME_BYTE[second] | (second == _DOT)
        is_wanted = ~_IS_NAME_BYTE[first] | ((first == _DOT) & is_end) | ((first == _HYPHEN) & is_digit[second])
        return NameSearch(self._name, ~_IS_NAME_BYTE, is_wanted)

    def concerns(self, record: Record) -> bool:
        """Whether a record concerns it."""
        if self._is_number:
            return self._is_read_by_rule(record, by_text=False)
        is_alone = is_numbered = False
        for m in self._named.finditer(record.raw):
            if m.lastindex == _ALONE:
                is_alone = True
            elif not self._partitions or int(m[m.lastindex or 0]) in self._partitions:
                self.names_partition = True
                return True
            else:
                is_numbered = True
        if not is_alone and (is_numbered or not self._ids):
            return False
        return self._is_read_by_rule(record, by_text=not is_numbered)

    def _is_read_by_rule(self, record: Record, *, by_text: bool) -> bool:
        """Whether the rule that knows the record reads the topic from it. `by_text`: whether it is enough that a value
        holds its name, or the record, if no rule knows it.
        """
        event = record.event
        if event is None:
            return by_text and self._token.search(record.raw.decode("utf-8", "replace")) is not None
        parts = [
            part
            for part in (event, *event.get("partitions", ()))
            if part.get("topic") == self._topic or part.get("topic_id") in self._ids
        ]
        numbers = {part.get("partition") for part in parts}
        if numbers and (not self._partitions or None in numbers or numbers & self._partitions):
            self.names_partition |= bool(numbers & self._partitions)
            return True
        if numbers or not by_text or event.get("topic") is not None:
            return False
        values = [value for value in event.values() if isinstance(value, str)]
        return any(self._token.search(value) for value in (*values, record.detail.decode("utf-8", "replace")))


def rows_with(block: Block, literals: Sequence[bytes]) -> set[int]:
    """The records that hold one of some texts."""
    rows: set[int] = set()
    starts, ends, data = block.starts.tolist(), block.ends.tolist(), block.data
    for literal in literals if starts else ():
        at, stop = starts[0], ends[-1]
        while (at := data.find(literal, at, stop)) >= 0:
            row = bisect_right(starts, at) - 1
            if at < ends[row]:
                rows.add(row)
            at = max(ends[row], at + 1)
    return rows


def literal_hits(literals: Sequence[bytes], data: bytes | bytearray, begin: int, stop: int) -> list[int] | None:
    """Where one of some texts stands between two bytes, in order; None if at too many places."""
    hits: list[int] = []
    for literal in literals:
        at = begin - 1
        while (at := data.find(literal, at + 1, stop)) >= 0:
            hits.append(at)
            if len(hits) > MOST_HITS:
                return None
    return sorted(hits)


def topic_ids_in(data: bytes | bytearray, topic: str) -> set[str]:
    """Ids that a text gives a topic: KRaft's records often name nothing else."""
    ids = set()
    for m in _id_pattern(topic).finditer(data):
        before = bytes(data[max(m.start() - 9, 0) : m.start()])
        is_named = before.endswith((b'"name": "', b'"name":"')) if m[1] is None else before[-1:] not in _NAME_LETTERS
        if is_named:
            ids.add((m[1] or m[2]).decode())
    return ids


@lru_cache(maxsize=1)
def _id_pattern(topic: str) -> re.Pattern[bytes]:
    """A name and what gives its id; what stands before the name is left to be looked at, as in TopicFilter."""
    name, id_ = re.escape(topic.encode()), rb"[\w-]{22}"
    return re.compile(
        rb"%b(?:(?:-\d+)?(?:'|\")?,? (?:with |and |in )?topic ?[iI][dD](?:=|: | )?(?:Some\()?(%b)(?![\w-])"
        rb"|\", ?\"topicId\": ?\"(%b)\")" % (name, id_, id_)
    )
