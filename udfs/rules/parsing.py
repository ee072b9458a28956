"""The plain interpreter of the rules: one record in, one dictionary out. No Spark, no Arrow.

`merge`, tests and whoever asks for one line use it; the ingest uses `udfs.arrow.parse`, which must agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from udfs.rules.drift import find_match
from udfs.rules.prefixes import SPLIT, read_prefix
from udfs.rules.regex import late
from udfs.rules.rule import COLUMNS, Rule, ValueKind

_SPLIT = late(SPLIT)
_TEN_DIGITS = late(r"\d{10}")
_PYTHON_TYPES = {"int": int, "text": str, "ids": list, "partitions": list}


def split_prefix(message: bytes) -> tuple[bytes, bytes]:
    """A message's prefix with its blank, empty if it has none that is known, and the rest."""
    m = _SPLIT.match(message)
    prefix = m[0] if m else b""
    return (prefix, message[len(prefix) :]) if prefix and read_prefix(prefix) is not None else (b"", message)


def find_rule(logger: bytes, rest: bytes) -> Rule | None:
    """The rule that knows a message; None if there is none. `rest` is the message without its prefix."""
    match = find_match(logger, rest)
    return None if match is None else match.rule


def read_message(logger: str, message: str | bytes) -> dict[str, Any] | None:
    """Event type, columns and further fields of one message; None if no rule matches it, or its values cannot be read.

    Values of the text win over those of the prefix, for example the partition of a line written by another.
    """
    prefix, rest = split_prefix(message.encode() if isinstance(message, str) else message)
    match = find_match(logger.encode(), rest)
    if match is None:
        return None
    values: dict[str, Any] = {"event_type": match.rule.event_type, **(read_prefix(prefix) or {})}
    try:
        for name, kind, group in match.values:
            raw = match.match[group]
            if raw is not None:
                values.update(read_value(name, kind, raw))
    except Exception:  # a broken line that looks like the rule's: whatever its reader stumbled over
        return None
    return {key: value for key, value in values.items() if value is not None}


def read_value(name: str, kind: ValueKind, raw: bytes) -> dict[str, Any]:
    """What one captured value gives: values for columns, text for fields; nothing that is null.

    Bytes that are not UTF-8 come out as `\\xNN`. What a column cannot hold, such as a number of more than 32 bits, is
    left out of it and given as text in the field `<column>_text`. Raises whatever the kind's reader raises.
    """
    text = raw.decode("utf-8", "backslashreplace")
    if kind.read is None or not (kind.spreads or name in COLUMNS):
        values: Mapping[str, Any] = {name: text}
    else:
        values = kind.read(text) if kind.spreads else {name: kind.read(text)}
    columns: dict[str, Any] = {}
    for key, value in values.items():
        if value is None:
            continue
        if key not in COLUMNS:
            columns[key] = as_text(value)
            continue
        if not isinstance(value, _PYTHON_TYPES[COLUMNS[key]]):
            held = None
        else:
            held = value if isinstance(value, list) and _all_fits(text) else _held(value)
        if held is not None:
            columns[key] = held
        if held is not value and held != value:
            columns[f"{key}_text"] = as_text(value)
    return columns


def as_text(value: Any) -> str:
    """A further field as it is stored: text as it is, a list of ids as `1,2,3`; half a surrogate pair as `\\udNNN`."""
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _all_fits(text: str) -> bool:
    """Whether all that can be read of a text fits, to spare looking at each part of a long list.

    JSON, known by its quotes, has more ways to write a number or a character.
    """
    return text.isascii() and '"' not in text and not _TEN_DIGITS.search(text)


def _fits(value: Any) -> bool:
    """Whether a column holds a value as it is: its numbers have 32 bits, its texts are UTF-8."""
    if isinstance(value, int):
        return -(2**31) <= value < 2**31
    if isinstance(value, str):
        return value.isascii() or as_text(value) == value
    return isinstance(value, list | dict) and all(map(_fits, value if isinstance(value, list) else value.values()))


def _held(value: Any) -> Any:
    """The part of a value that a column can hold; of a partition's state the keys that it can; None if none."""
    if _fits(value):
        return value
    if isinstance(value, str):
        return as_text(value)
    if isinstance(value, dict):
        return {key: held for key, part in value.items() if (held := _held(part)) is not None}
    if isinstance(value, list):
        held = [_held(part) for part in value]
        return None if None in held else held
    return None
