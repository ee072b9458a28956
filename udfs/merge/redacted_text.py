"""The text of one message without names: what its rule's text fixes stays, values keep only what is no name.

Of a value stay numbers and the words in `udfs.merge.kept_words`; names that the record's rule reads, or that the forms
in `udfs.redaction` show to be such, become pseudonyms, and so does each word that nobody knows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from udfs.merge.kept_words import KEPT_KEYS, KEPT_WORDS
from udfs.redaction import kinds_of, names_in, pseudonym, pseudonyms
from udfs.rules.drift import RuleMatch, find_match
from udfs.rules.parsing import read_message, split_prefix
from udfs.rules.regex import late
from udfs.rules.rule import KINDS, Rule, ValueKind
from udfs.rules.values import partition_name

PLACEHOLDER = b"<redacted>"
_NEW_FIELD = b"redacted=<redacted>"

_TOKEN = r"[\w.\-\x80-\U0010ffff]+"
_TOKENS = late(_TOKEN)
_NUMBER = late(
    r"[+-]?\d+(?:\.\d+)?(?:E-?\d+|ms|us|ns|s)?"
    r"|0x[0-9a-f]+"  # a session
    r"|\d+(?:-\d+)+|\d{4}-\d\d-\d\dT\d\d|\d+\.\d+\.\d+|\d+(?:\.\d+)+-IV\d+"  # days and releases
    r"|\d{20}(?:-\d{10})?(?:\.(?:log|index|timeindex|txnindex|snapshot|checkpoint|deleted))*"  # files of segments
)
_PARTITION = late(r"(?P<topic>.+)(?P<number>-\d+)(?P<rest>(?:\.[0-9a-f]{32}-(?:delete|future|stray))?)")
_ID = late(r"[\w-]{22}")
_KEY = late(r"""["']?\s?[=:(]""")  # what follows the name of a field, or of a class
CODE = (
    r"(?:org\.apache\.(?:kafka|zookeeper|log4j)|org\.I0Itec|org\.eclipse\.jetty|com\.yammer\.metrics|io\.netty"
    r"|javax?\.(?:io|lang|management|naming|net|nio|security|util)|jdk\.internal|sun\.(?:misc|net|nio|reflect|security)"
    r"|scala\.(?:collection|concurrent|runtime|sys|util)"
    r"|kafka\.(?:admin|api|cluster|common|controller|coordinator|log|message|metrics|migration|network|raft|security"
    r"|server|tools|utils|zk|zookeeper))\.(?:[a-z]\w*\.)*"
)
"""Matches the packages whose classes may be named."""
_CLASS = late(rf"{CODE}[A-Z]\w*")
_BEFORE: tuple[tuple[re.Pattern[str], str], ...] = (  # what stands before a name -> its kind
    (late(r"/(?:brokers|config)/topics/$"), "t"),
    (late(r"""\b[tT]opic(?:Name|_name)?["']?\s?[=:]\s?["']?$"""), "t"),
    (late(r"""://$|\b(?:host|hostName|hostname|rawHost|rack)["']?\s?[=:]\s?["']?(?:(?:Optional\[|Some\())?$"""), "h"),
)
_MOST_BEFORE = 24
_HOST_LIKE = {"kafka", "broker", "controller", "server", "zk", "node", "leader"}
_PORT = late(r":\d{4,5}\b")
_NO_NAMES = {
    "null", "None", "none", "Some", "Optional", "Optional.empty", "localhost", "127.0.0.1", "0.0.0.0", "ANONYMOUS",
}  # fmt: skip
_UNKNOWN = "w"
_UNKNOWNS = late(r"\bw[0-9a-f]{12}(?: w[0-9a-f]{12})+\b")

_LETTERS: Mapping[str, str] = {  # name of a value -> kind of what is in it, if it is not known better
    **dict.fromkeys(("user", "owner", "principal", "requester"), "p"),
    **dict.fromkeys(("host", "server", "endpoints", "listeners"), "h"),
    **dict.fromkeys(("dir", "dirs", "log_dir", "path", "file", "destination", "source"), "d"),
}
_FIXED = frozenset(
    {
        "int", "ids", "csv", "one", "zero", "minus_one", "optional_id", "new", "wording", "clean_election",
        "unclean_election", "elr_election", "control", "control_api", "controller_type", "entity_type",
    }
)  # fmt: skip
"""Kinds of which each value is numbers, or one of few texts."""
_PHRASES = (
    "with configuration", "and initial partition assignment", "for path", "for replica assignment",
    "No other replicas in ISR", "besides current leader", "and shutting down brokers", "besides shutting down brokers",
    "Preferred replica", "Log directory", "is offline", "No space left on device", "timed out",
    "Proposed ISR was", "and current ISR is", "Current replica set is", "Current partitionEpoch is",
    "Current leaderEpoch is", "new leadership", "bootstrap snapshot", "committed snapshot", "leader change",
    "since we are already leader in epoch", "This server is not the leader",
    "This server does not host this topic-partition", "to broker id", "to broker BrokerEndPoint",
)  # fmt: skip
"""Texts of several words, as no name is, that stand in values; rules go by some of them."""
_ZNODES = {
    "brokers", "topics", "ids", "seqid", "admin", "config", "changes", "clients", "users", "cluster", "id",
    "controller", "controller_epoch", "delete_topics", "reassign_partitions", "preferred_replica_election",
    "isr_change_notification", "log_dir_event_notification", "feature", "migration",
}  # fmt: skip


_WORDS = late(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, _PHRASES))})(?![\w-])|{_TOKEN}")


@dataclass(frozen=True)
class _Names:
    """What is known of one record: pseudonyms by name, and ids of topics, which stay."""

    key: bytes
    pseudonyms: Mapping[str, str]
    ids: frozenset[str]

    @property
    def pattern(self) -> re.Pattern[str]:
        """Matches a word, a phrase, or a name that is no single word."""
        longer = [re.escape(name) for name in self.pseudonyms if not _TOKENS.fullmatch(name)]
        return re.compile("|".join([*longer, _WORDS.pattern])) if longer else _WORDS


def redacted_message(key: bytes, logger: str, message: bytes) -> bytes | None:
    """A message without names; None if no rule reads it, for then any word of it may be one."""
    event = read_message(logger, message)
    if event is None:
        return None
    prefix, rest = split_prefix(message)
    match = find_match(logger.encode(), rest)
    assert match is not None  # it was read
    names = _names(key, event, _text(message))
    redacted, at = [_without_names(_text(prefix), names, "").encode("utf-8", "backslashreplace")], 0
    for begin, end, replacement in _values(match, rest, names):
        redacted += [rest[at:begin], replacement]
        at = end
    return b"".join([*redacted, rest[at:]])


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _names(key: bytes, event: Mapping[str, Any], text: str) -> _Names:
    """Names that the record's rule reads, and those that their form shows. A topic that is called like a host is a
    topic."""
    states = [event, *event.get("partitions", ()), *_results(event.get("results", "[]"))]
    forms = ((kind, name) for kind, name in names_in(text) if name not in KEPT_WORDS and name not in KEPT_KEYS)
    topics = (str(state["topic"]) for state in states if state.get("topic"))
    kinds = kinds_of(((kind, name) for kind, name in forms if kind != "d"), topics)  # of paths each word is looked at
    ids = (str(state.get("topic_id")) for state in states)
    return _Names(
        key,
        pseudonyms(key, kinds),
        frozenset(topic_id for topic_id in ids if _ID.fullmatch(topic_id)),
    )


def _results(text: str) -> Iterable[Mapping[str, Any]]:
    """What a controller answered for each of several topics."""
    try:
        results = json.loads(text)
    except ValueError:  # of another message, where it is no JSON
        return ()
    return [result for result in results if isinstance(result, dict)] if isinstance(results, list) else ()


_FIXED_KINDS = tuple(KINDS[name] for name in sorted(_FIXED))


@cache
def _values_of(rule: Rule) -> tuple[tuple[str, ValueKind], ...]:
    """Name and kind of each value, also of those that are not captured."""
    return tuple((piece["name"], rule.kind_of(piece)) for piece in rule.pieces() if piece["name"])


def _values(match: RuleMatch, rest: bytes, names: _Names) -> Iterator[tuple[int, int, bytes]]:
    """Where the values of a message stand, in order, and what they become.

    Of a message that has drifted, new fields and what was appended go; if its rule has values that are not captured,
    all of it goes, for it is not known where they stand.
    """
    values = _values_of(match.rule)
    if not match.is_drifted:
        of_all = match.rule.pattern_of_all_values.fullmatch(rest)
        assert of_all is not None  # groups change nothing
        for group, (name, kind) in enumerate(values, 1):
            if of_all[group]:
                yield *of_all.span(group), _redacted_value(name, kind, of_all[group], names)
        return
    if any(name == "_" for name, _ in values):
        yield 0, len(rest), PLACEHOLDER
        return
    known = {group: (name, kind) for name, kind, group in match.values}
    last = match.match.re.groupindex["appended"]
    for group in range(2, last + 1):
        part = match.match[group]
        if not part:
            continue
        if group in known:
            replacement = _redacted_value(*known[group], part, names)
        elif group == last:
            replacement = b" " + PLACEHOLDER
        else:
            replacement = b", " + _NEW_FIELD if part.startswith(b",") else _NEW_FIELD + b", "
        yield *match.match.span(group), replacement


def _redacted_value(name: str, kind: ValueKind, value: bytes, names: _Names) -> bytes:
    """A value without names, by its name and kind."""
    if kind in _FIXED_KINDS:
        return value
    text = _text(value)
    if kind is KINDS["topic"]:
        text = pseudonym(names.key, "t", text)
    elif kind is KINDS["tp"]:
        topic, _ = partition_name(text)
        begin = text.index(topic, text[0] in "[(")
        text = text[:begin] + pseudonym(names.key, "t", topic) + text[begin + len(topic) :]
    elif kind is KINDS["uuid"] and _ID.fullmatch(text):
        pass
    else:
        text = _without_names(text, names, _letter(name, kind))
    return text.encode("utf-8", "backslashreplace")


def _letter(name: str, kind: ValueKind) -> str:
    """The kind of unknown words in a value."""
    if kind is KINDS["letters"]:
        return ""
    return "t" if "topic" in name and "_id" not in name else _LETTERS.get(name, _UNKNOWN)


def _without_names(text: str, names: _Names, letter: str) -> str:
    """A text of which each word is a number, one of Kafka's, or a pseudonym. `letter`: kind of unknown words; empty:
    of a prefix, where words that are joined by hyphens may stay."""

    def replaced(match: re.Match[str]) -> str:
        word, begin = match[0], match.start()
        if word not in names.pseudonyms:
            word = word.rstrip(".-")
        if not word or word in _NO_NAMES or word in _PHRASES:
            return match[0]
        return _new_word(_Place(word, text, begin, match.end(), letter), names) + match[0][len(word) :]

    return _UNKNOWNS.sub(PLACEHOLDER.decode(), names.pattern.sub(replaced, text))


@dataclass(frozen=True)
class _Place:
    """A word and where it stands. `letter`: kind of the name that it is if it is not known; empty: in a prefix."""

    word: str
    text: str
    begin: int
    end: int
    letter: str

    @property
    def before(self) -> str:
        """What stands right before it."""
        return self.text[max(self.begin - _MOST_BEFORE, 0) : self.begin]

    @property
    def kind(self) -> str:
        """The kind of name that must stand here; empty if any word may."""
        is_host = self.word in _HOST_LIKE and _PORT.match(self.text, self.end)
        return "h" if is_host else next((kind for pattern, kind in _BEFORE if pattern.search(self.before)), "")

    @property
    def is_in_path(self) -> bool:
        """Whether it is a part of a path."""
        return self.before[-1:] == "/"

    @property
    def is_key(self) -> bool:
        """Whether it is one of Kafka's words and names a field, a class or a part of a path in ZooKeeper."""
        if self.is_in_path:
            return self.word in _ZNODES
        return (self.word in KEPT_KEYS or self.word in KEPT_WORDS) and bool(_KEY.match(self.text, self.end))

    @property
    def may_stay(self) -> bool:
        """Whether it is no name, though none is known to stand here. In a list of topics all are."""
        if self.letter == "t":
            return False
        if _NUMBER.fullmatch(self.word) or self.word in KEPT_WORDS or _CLASS.fullmatch(self.word):
            return True
        pieces = re.split(r"[-.]", self.word)
        is_prefix = not self.letter and not self.is_in_path
        return is_prefix and all(piece.isdigit() or piece in KEPT_KEYS or piece in KEPT_WORDS for piece in pieces)


def _new_word(place: _Place, names: _Names) -> str:
    """What a word becomes."""
    word = place.word
    kind = place.kind
    if not kind and place.is_key:
        return word
    is_number = word.isdigit() and place.before[-1:] == "="
    if not is_number and (known := names.pseudonyms.get(word)) is not None:
        return known
    if kind:
        return pseudonym(names.key, kind, word)
    partition = _PARTITION.fullmatch(word)
    if partition and (topic := names.pseudonyms.get(partition["topic"])) is not None:
        return topic + partition["number"] + partition["rest"]
    if word in names.ids or place.may_stay:
        return word
    if partition:
        return pseudonym(names.key, "t", partition["topic"]) + partition["number"] + partition["rest"]
    return pseudonym(names.key, "d" if place.is_in_path else place.letter or _UNKNOWN, word)
