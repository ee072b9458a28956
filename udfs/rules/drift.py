"""Drift: what a later release of Kafka adds to a message that a rule knows, and how the message is read all the same.

A printed record may have fields that no rule names, wherever they stand, and a message may go on behind its end:

    BrokerRegistrationChangeRecord(brokerId=4, fenced=1, logDirs=[], cordonedLogDirs=null) for the second time

A message is read this way only if no rule matches it as it is. Its known values are read as ever; new fields are kept
under their names in snake case, and two fields mark the record: `new_fields`, their names as printed, and `appended`,
the text behind the end. Both interpreters use the pattern that is made here. A torn line is not read this way, nor one
that two rules know equally well and as different events.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise

from udfs.rules.known_fields import APPENDED
from udfs.rules.kraft_objects import new_fields, printed_fields
from udfs.rules.logger_scopes import is_wholly_scoped
from udfs.rules.lookup import all_of_logger, candidates
from udfs.rules.printed import BALANCED, FIELD
from udfs.rules.regex import MANY
from udfs.rules.rule import COLUMNS, KINDS, Rule, ValueKind

LEAST_TEXT, LEAST_TEXT_IN_SCOPE = 10, 6
"""Characters of its own that a rule needs, so that what is read is not another message that begins alike; fewer for
loggers wholly in scope, whose messages are all known."""


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """A message that a rule matches. `values`: name, kind and group of each value of the match, in order."""

    rule: Rule
    match: re.Match[bytes]
    values: tuple[tuple[str, ValueKind, int], ...]
    is_drifted: bool = False


def exact_match(rule: Rule, message: bytes, start: int = 0) -> RuleMatch | None:
    """The match of a rule with a message whose prefix ends at `start`; None if it does not match."""
    m = rule.pattern.fullmatch(message, start)
    if m is None:
        return None
    return RuleMatch(rule, m, tuple([(name, kind, group) for group, (name, kind) in enumerate(rule.captures, 1)]))


def find_match(logger: bytes, message: bytes, start: int = 0) -> RuleMatch | None:
    """The match of the rule that knows a message, as it is or else drifted; None if there is none. The message's prefix
    ends at `start`."""
    rest = message[start:]
    for rule in candidates(logger, rest):
        if rule.landmark in rest and (match := exact_match(rule, message, start)):
            return match
    return drifted_match(logger, message, start)


def drifted_match(logger: bytes, message: bytes, start: int = 0) -> RuleMatch | None:
    """The match of the rule that knows most of a message that no rule matches as it is; None if none knows it."""
    rest, matches = message[start:], []
    for rule in drifting_rules(logger):
        form = drifted_form(rule)
        if form.landmark in rest and (m := form.pattern.fullmatch(message, start)):
            matches.append((len(m["appended"]), rule, m))
    if not matches:
        return None
    size, rule, m = min(matches, key=lambda match: match[0])
    if any(other.event_type != rule.event_type for length, other, _ in matches if length == size):
        return None
    if _TORN.search(m["appended"]):
        return None
    return RuleMatch(rule, m, drifted_form(rule).values, is_drifted=True)


def may_drift_with_other_digits(logger: bytes, message: bytes, start: int) -> bool:
    """Whether a rule that writes digits out might match a message that has drifted, had it other digits."""
    forms = (drifted_form(rule) for rule in drifting_rules(logger) if rule.digit_insensitive)
    return any(form.digit_insensitive().fullmatch(message, start) for form in forms)


@cache
def drifting_rules(logger: bytes) -> tuple[Rule, ...]:
    """The rules of a logger that have text enough to be known when more is added."""
    in_scope = is_wholly_scoped(logger.decode("utf-8", "backslashreplace"))
    least = LEAST_TEXT_IN_SCOPE if in_scope else LEAST_TEXT
    return tuple(rule for rule in all_of_logger(logger) if own_text(rule) >= least)


def own_text(rule: Rule) -> int:
    """Characters that stand in every message of a rule."""
    depth = size = 0
    for piece in rule.pieces():
        depth += (piece[0] == "<?") - (piece[0] == "?>")
        size += len(piece["literal"].strip()) if piece["literal"] and not depth else 0
    return size


_TORN = re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d")  # another record begins where this one was to end


# ---- the pattern of a rule that has drifted --------------------------------------------------------------------------
@dataclass(frozen=True)
class DriftedForm:
    """A rule's pattern with room for new fields and for more text; group 1 is the whole message."""

    pattern: re.Pattern[bytes]
    values: tuple[tuple[str, ValueKind, int], ...]
    landmark: bytes

    def digit_insensitive(self) -> re.Pattern[bytes]:
        """The same for any number in place of each number that the rule writes out."""
        return _any_digits(self.pattern)


@cache
def _any_digits(pattern: re.Pattern[bytes]) -> re.Pattern[bytes]:
    return re.compile(re.sub(rb"(?<![{,\d])\d+(?![},\d])", rb"\\d+", pattern.pattern), re.DOTALL)


_END_OF_RECORD = {  # what ends a kind's text early, now that anything may follow -> the whole record
    r"\(.*?\)": rf"\({BALANCED}\)",
    r"\[.*?\]": rf"\[{BALANCED}\]",
    r"\{.*\}": rf"\{{{BALANCED}\}}",
}
_LIST = rf"\w*\({BALANCED}\)|\[{BALANCED}\]|[\d,]*"
_ANY_TEXT = (".*", ".*?")
_OPTIONAL = r"(?:<\?|\?>|[\[(])"
_FIRST_FIELD = re.compile(rf"[(\[]{_OPTIONAL}*[A-Za-z](?:\w|<\?|\?>)*=")
_NEXT_FIELD = re.compile(rf",(?: |{_OPTIONAL})*[A-Za-z](?:\w|<\?|\?>)*=")
_KEY = re.compile(r"[A-Za-z<](?:\w|<\?|\?>)*(?==)")


def _keys(text: str) -> set[str]:
    """Names of the fields that a rule's text names: of `isr<?WithBrokerEpoch?>=` both that there may be."""
    names: set[str] = set()
    for key in _KEY.findall(text):
        parts = re.split(r"<\?|\?>", key)
        names |= {*parts, *(first + second for first, second in pairwise(parts)), "".join(parts)}
    return names - {""}


@cache
def drifted_form(rule: Rule) -> DriftedForm:
    """How a rule matches a message that has drifted."""
    return _Builder(rule).form()


class _Builder:
    """Goes through a rule's text and leaves room for fields between the fields of each printed record."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._parts: list[str] = []
        self._groups = 1  # so far; the first is the whole message
        self._values: list[tuple[str, ValueKind, int]] = []
        self._texts: list[str] = [""]  # literal texts that stand in every message, between gaps
        self._brackets: list[bool] = []  # those that are open: whether of a record
        self._depth = 0  # of parts that may be absent
        self._after_text = self._ends_in_text = False  # whether any text, and so new fields, may stand before, or last
        new = rf"(?!(?:{'|'.join(sorted(_keys(rule.text))) or '-'})=){FIELD}"
        self._begin, self._between = rf"((?:{new}, ?){MANY})", rf"((?:, ?{new}){MANY})"

    def form(self) -> DriftedForm:
        """The whole of it."""
        for piece in self._rule.pieces():
            if piece["name"]:
                self._add_value(piece)
            elif piece["literal"]:
                self._add_literal(piece)
            else:
                self._depth += 1 if piece[0] == "<?" else -1
                self._parts.append("(?:" if piece[0] == "<?" else ")?")
                self._texts.append("")
        if self._ends_in_text:  # whatever is appended is text of the last value
            self._parts[-1] = self._parts[-1].replace(".*?", ".*")
        appended = "" if self._ends_in_text else r"[^\w\n].*"
        pattern = re.compile(f"({''.join(self._parts)}(?P<appended>(?:{appended})?))".encode(), re.DOTALL)
        drift = ValueKind("", partial(_drift, pattern, tuple(self._gaps()), frozenset(self._names())), spreads=True)
        return DriftedForm(pattern, (("", drift, 1), *self._values), max(self._texts, key=len).encode())

    def _gaps(self) -> set[int]:
        return {*range(2, self._groups + 1)} - {group for *_, group in self._values}

    def _names(self) -> set[str]:
        return {*COLUMNS, *(name for name, *_ in self._values)}

    def _group(self, pattern: str) -> None:
        self._groups += 1
        self._parts.append(pattern)

    def _add_value(self, piece: re.Match[str]) -> None:
        kind = self._rule.kind_of(piece)
        pattern = _LIST if kind is KINDS["list"] else kind.pattern
        self._after_text = pattern in _ANY_TEXT
        self._ends_in_text = self._after_text and not self._depth
        if self._after_text and self._rule.text[piece.end() :][:1] in (")", "]") and self._brackets:
            pattern = BALANCED
        for early, whole in _END_OF_RECORD.items():
            pattern = pattern.replace(early, whole)
        if pattern.endswith("+") and not pattern.endswith(("*+", MANY)):
            pattern += r"(?<![.:,])"  # of words that a sentence may go on behind
        self._texts.append("")
        if piece["name"] == "_":
            self._parts.append(f"(?:{pattern})")
        else:
            self._group(f"({pattern})")
            self._values.append((piece["name"], kind, self._groups))

    def _add_literal(self, piece: re.Match[str]) -> None:
        text, begin = piece["literal"], piece.start()
        for i, character in enumerate(text):
            following = self._rule.text[begin + i :]
            ends_record = character in ")]}" and bool(self._brackets) and self._brackets.pop()
            ends_field = character == "," and self._brackets[-1:] == [True] and _NEXT_FIELD.match(following)
            if (ends_record or ends_field) and not self._after_text:
                self._add_gap(self._between)
            self._after_text = self._ends_in_text = False
            if not self._parts and character.isalpha():
                self._parts.append(f"[{character.upper()}{character.lower()}]")
            else:
                self._parts.append(re.escape(character))
                if not self._depth:
                    self._texts[-1] += character
            if character in "([{":
                is_record = bool(_FIRST_FIELD.match(following))
                self._brackets.append(is_record)
                if is_record:
                    self._add_gap(self._begin)

    def _add_gap(self, pattern: str) -> None:
        self._group(pattern)
        self._texts.append("")


def _drift(pattern: re.Pattern[bytes], gaps: tuple[int, ...], names: frozenset[str], text: str) -> Mapping[str, str]:
    """New fields of a message, and what was appended; lists as JSON text. A name that means something else gets
    `new_` before it."""
    m = pattern.fullmatch(text.encode())
    if m is None:
        return {}
    new = printed_fields("(" + ", ".join(part.decode().strip(", ") for gap in gaps if (part := m[gap])) + ")")
    read = new_fields(new, (), names)
    if appended := m["appended"].decode().strip():
        read[APPENDED] = appended
    return read
