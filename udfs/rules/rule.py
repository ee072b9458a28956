"""What a rule is: the text of one message with its values captured, as data.

A rule is written the way the message looks. `<name>` captures a value, `<name:kind>` one whose kind is not the
name's own, and `<?...?>` a part that may be absent:

    Leader <tp><? with topic id <topic_id:some>?> starts at leader epoch <leader_epoch> from offset <offset>

`<_:kind>` is a value that is matched and not captured. The case of a text's first letter does not matter: up to 0.11
it is lower behind `Broker 2 `, later upper behind `[Broker id=2] `.

The prefix of a message (`[Controller id=3 epoch=8] `) is the same for all messages of a component; it is read
by `udfs.rules.prefixes` and is no part of a rule's text. A rule carries a sample, prefix included, and what is to be
read from it; a rule without a sample is unfinished. Nothing here imports Spark: the plain reader is
`udfs.rules.parsing`, the columnar one `udfs.arrow.parse`, and both use the same compiled pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from udfs.rules import kraft_records as records
from udfs.rules import values
from udfs.rules.regex import late

COLUMNS: Mapping[str, str] = {  # columns of `events` that a rule can fill -> what they hold
    "controller_id": "int",
    "controller_epoch": "int",
    "correlation_id": "int",
    "broker_id": "int",
    "topic": "text",
    "topic_id": "text",
    "partition": "int",
    "leader": "int",
    "leader_epoch": "int",
    "partition_epoch": "int",
    "isr": "ids",
    "replicas": "ids",
    "partitions": "partitions",
}


@dataclass(frozen=True, slots=True)
class ValueKind:
    """How one captured value looks, and what it gives: a value for its own name, or several columns and fields."""

    pattern: str
    read: Callable[[str], Any] | None = None  # None: the text itself
    spreads: bool = False  # `read` gives a mapping of several columns and fields


def _tp(text: str) -> Mapping[str, Any]:
    topic, partition = values.partition_name(text)
    return {"topic": topic, "partition": partition}


_RECOVERY = late(r"leaderRecoveryState[=:] ?(\w+)")


def _state(text: str) -> Mapping[str, Any]:
    """A printed state as columns and fields; the epoch of the controller that decided it is not the writer's."""
    state: dict[str, Any] = dict(values.partition_state(text))
    if "controller_epoch" in state:
        state["state_controller_epoch"] = state.pop("controller_epoch")
    if m := _RECOVERY.search(text):
        state["leader_recovery_state"] = m[1]
    return {key: value if key in COLUMNS else _text(value) for key, value in state.items()}


def _assignment(text: str) -> Mapping[str, Any]:
    return {key: value if key in COLUMNS else _text(value) for key, value in values.replica_assignment(text).items()}


def _with_names(name: str, text: str) -> Mapping[str, Any]:
    """A list whose values have no column, as its text, and which partitions it names."""
    return {name: text, "partitions": values.partition_names(text)}


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _unless_none(text: str) -> str | None:
    return (
        None
        if text in ("None", "none", "Optional.empty", "null")
        else re.sub(r"^(?:Some\(|Optional\[)|[)\]]$", "", text)
    )


KINDS: Mapping[str, ValueKind] = {
    "int": ValueKind(r"-?\d+", int),
    "ids": ValueKind(r"[\d, -]*+", values.ids),  # what stands between the brackets
    "csv": ValueKind(r"(?:-?\d+(?:, ?-?\d+)*)?", values.ids),  # a bare list, also before a comma
    "list": ValueKind(
        r"\w*\((?:[^()]|\([^()]*\))*\)|\[(?:[^\[\]()]|\([^()]*\))*\]|[\d,]*", values.ids
    ),  # brackets included
    "word": ValueKind(r"[^\s,;()\[\]{}]+"),
    "clause": ValueKind(r"[^.()]+"),  # prose without dots and parentheses
    "letters": ValueKind(r"[a-z ]+"),  # words of prose
    "text": ValueKind(r".*?"),
    "rest": ValueKind(r".*"),
    "uuid": ValueKind(r"[\w-]+"),  # 22 characters, or what a poster put in their place
    "some": ValueKind(r"(?:Some\(|Optional\[)?[\w-]+[)\]]?", _unless_none),
    "topic": ValueKind(r"[\w.-]+"),
    "tp": ValueKind(r"\[[\w.-]+, ?\d+\]|\([\w.-]+, ?\d+\)|[\w.-]+-\d+", _tp, spreads=True),
    "tps": ValueKind(r".*?", values.partition_names),
    "state": ValueKind(r".*?", _state, spreads=True),
    "states": ValueKind(r".*", values.partition_states),
    "assignments": ValueKind(r".*", values.partition_replicas),
    "replica_objects": ValueKind(r"Replica.*?", values.replica_ids),  # printed `Replica` objects, for their ids
    "fetched": ValueKind(r".*", values.fetched),
    "names": ValueKind(r"[\w.,\[\]-]+", values.partition_names),  # one or more partitions without blanks
    "request": ValueKind(r".*?", values.request, spreads=True),
    "printed_control_request": ValueKind(
        r"(?:Name:|\(type=)(?:LeaderAndIsr?|UpdateMetadata|StopReplica)Request.*|\{controller_id=.*",
        values.request,
        spreads=True,
    ),
    "alter_request": ValueKind(r".*", values.alter_request),
    "named_replicas": ValueKind(r".*?", values.named_replicas),  # partitions with their replicas, or else by name
    "unsent": ValueKind(r".*?", values.unsent),  # partitions with their states, or else by name
    "path_assignment": ValueKind(r".*?", values.path_assignment, spreads=True),
    "json_partitions": ValueKind(r".*", values.json_partitions),
    "replicas_list": ValueKind(r".*?", lambda text: _with_names("replicas_list", text), spreads=True),
    "replica_states": ValueKind(r".*?", lambda text: _with_names("replica_states", text), spreads=True),
    "partition_states": ValueKind(r".*?", lambda text: _with_names("partition_states", text), spreads=True),
    "results": ValueKind(r".*?", lambda text: _with_names("results", text), spreads=True),
    "response": ValueKind(r".*?", values.response, spreads=True),
    "election_error": ValueKind(r".*", values.election_error, spreads=True),
    "assignment": ValueKind(r".*?", _assignment, spreads=True),
    **{name: ValueKind(pattern) for name, pattern in records.PATTERNS.items()},
    **{
        name: ValueKind(pattern, records.fitting(read), spreads=True)
        for name, (pattern, read) in records.READERS.items()
    },
}

_KIND_OF: Mapping[str, str] = {  # names whose kind is not "text" and not a column's
    **{name: ("partitions" if kind == "partitions" else kind) for name, kind in COLUMNS.items()},
    "topic": "topic",
    "topic_id": "uuid",
    "partitions": "tps",
    "tp": "tp",
    "broker": "int",
    "offset": "int",
    "previous_leader": "int",
    "previous_leader_epoch": "int",
    "replica": "int",
    "from_state": "word",
    "to_state": "word",
    "high_watermark": "int",
}

_PIECE = late(
    r"<\?|\?>|<(?P<name>_|[a-z][a-z0-9_]*)(?::(?P<kind>[a-z_]+))?>"
    r"|(?P<literal>(?:(?!<\?|\?>|<(?:_|[a-z][a-z0-9_]*)(?::[a-z_]+)?>).)+)",
    re.DOTALL,
)


_WRITTEN = late(rb"\d+")  # in a pattern; `\d` itself has no digit
_COUNTED = late(rb"\{\d+\}")


@dataclass(frozen=True)
class Rule:
    """One message text. `loggers` are full names, or name prefixes that end in a dot or a dollar sign."""

    event_type: str
    loggers: tuple[str, ...]
    text: str
    sample: str
    reads: Mapping[str, Any] = field(hash=False)
    since: str = "0.8.0"  # first and last release that writes it; "" = still written
    until: str = ""

    @cached_property
    def captures(self) -> tuple[tuple[str, ValueKind], ...]:
        """Name and kind of each captured value, in the order of the pattern's groups."""
        return tuple((name, self.kind_of(m)) for m in self.pieces() if (name := m["name"]) and name != "_")

    def pieces(self) -> Iterator[re.Match[str]]:
        """The parts of the text in order: a `literal`, a value with its `name` and `kind`, or `<?` and `?>`."""
        return _PIECE.finditer(self.text)

    def kind_of(self, piece: re.Match[str]) -> ValueKind:
        """The kind of a value."""
        name = piece["kind"] or _KIND_OF.get(piece["name"], "text")
        if name not in KINDS:
            raise ValueError(f"rule {self.event_type}: no kind {name!r}; expected one of {sorted(KINDS)}")
        return KINDS[name]

    @cached_property
    def pattern(self) -> re.Pattern[bytes]:
        """Matches the whole message behind its prefix; one group for each capture."""
        return self._compiled(unnamed="?:")

    @cached_property
    def pattern_of_all_values(self) -> re.Pattern[bytes]:
        """The same with a group for each value, also for those that are not captured."""
        return self._compiled(unnamed="")

    @cached_property
    def may_end_bare(self) -> int:
        """Where in the text the literal ends whose last blank may be missing; -1 if there is none.

        Behind it stands only a value that may be empty, and journald cuts blanks off at the end of a line.
        """
        *_, before, last = (None, *self.pieces())
        is_bare = before and before["literal"] and before["literal"].endswith(" ") and last and last["name"]
        return before.end() if before and is_bare and last and re.fullmatch(self.kind_of(last).pattern, "") else -1

    def _compiled(self, unnamed: str) -> re.Pattern[bytes]:
        parts = []
        for m in self.pieces():
            if m["name"]:
                parts.append(f"({unnamed if m['name'] == '_' else ''}{self.kind_of(m).pattern})")
            elif m["literal"]:
                text = m["literal"][:-1] if m.end() == self.may_end_bare else m["literal"]
                first, rest = ("", text) if parts else (text[:1], text[1:])
                parts.append(
                    (f"[{first.upper()}{first.lower()}]" if first.isalpha() else re.escape(first)) + re.escape(rest)
                )
                if m.end() == self.may_end_bare:
                    parts.append(r"(?: |\Z)")
            else:
                parts.append("(?:" if m[0] == "<?" else ")?")
        return re.compile("".join(parts).encode(), re.DOTALL)

    @cached_property
    def landmark(self) -> bytes:
        """The longest text that stands in every message of the rule: a message without it need not be matched."""
        texts, depth = [b""], 0
        for i, m in enumerate(self.pieces()):
            depth += (m[0] == "<?") - (m[0] == "?>")
            if m["literal"] and not depth:
                text = m["literal"][:-1] if m.end() == self.may_end_bare else m["literal"]
                texts.append(text[i == 0 :].encode())  # the case of the first letter may vary
        return max(texts, key=len)

    @cached_property
    def digit_insensitive(self) -> re.Pattern[bytes] | None:
        """The pattern with any number for each number that the rule writes out; None if it writes out none.

        It matches the messages that the rule might match had they other digits.
        """
        loose = _WRITTEN.sub(rb"\\d+", _COUNTED.sub(b"+", self.pattern.pattern))
        return None if loose == self.pattern.pattern else re.compile(loose, re.DOTALL)

    @cached_property
    def first_word(self) -> bytes | None:
        """The literal first word of every such message; None if it may vary."""
        head = self.text.partition("<")[0]
        if " " in head:
            return head.partition(" ")[0].encode()
        return head.encode() if head == self.text.removesuffix("<? ?>") else None

    @cached_property
    def first_words(self) -> tuple[bytes, ...]:
        """`first_word` in both cases of its first letter, by which readers look a rule up; none if it may vary."""
        word = self.first_word
        return tuple(sorted({word[:1].upper() + word[1:], word[:1].lower() + word[1:]})) if word else ()
