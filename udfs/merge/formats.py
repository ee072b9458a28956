"""How `merge` prints a record: raw, in aligned columns, as JSON lines, as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from typing import Any

from udfs.merge.record import Record
from udfs.merge.times import as_text
from udfs.printable import printable
from udfs.rules.regex import late

PRINTED_COLUMNS = (
    "at", "node", "file", "line", "level", "logger", "event_type", "controller_id", "controller_epoch",
    "correlation_id", "broker_id", "topic", "topic_id", "partition", "leader", "leader_epoch", "partition_epoch", "isr",
    "replicas", "partitions", "fields", "message", "detail",
)  # fmt: skip
"""Of `jsonl` and `csv`, in this order; `at` is UTC. The names are those of the table `events`."""

_WIDTHS = (23, 4, 12, 20, 30)
_STEERING = late(rb"[^\n\t\x20-\x7e]")  # or not ASCII, which has to be looked at
_RESET = b"\x1b[0m"
_COLOURS = {"WARN": b"\x1b[33m", "ERROR": b"\x1b[31m", "FATAL": b"\x1b[31m", "TRACE": b"\x1b[2m", "DEBUG": b"\x1b[2m"}


def row_of(record: Record, at: int, file: str, line: int | None) -> dict[str, Any]:
    """A record's values by PRINTED_COLUMNS; what no rule reads is None. `at` is microseconds UTC."""
    event = dict(record.event or {})
    event.pop("node", None)
    row: dict[str, Any] = {
        "at": as_text(at, ".").replace(" ", "T") + "Z",
        "node": record.writer,
        "file": file,
        "line": line,
        "level": record.level or None,
        "logger": record.logger or None,
        "message": record.message.decode("utf-8", "backslashreplace"),
        "detail": record.detail.decode("utf-8", "backslashreplace") or None,
    }
    for name in PRINTED_COLUMNS:
        if name not in row and name != "fields":
            row[name] = event.pop(name, None)
    row["fields"] = event or None
    return {name: row[name] for name in PRINTED_COLUMNS}


def as_jsonl(row: Mapping[str, Any]) -> bytes:
    """One line of JSON, without nulls."""
    values = {name: value for name, value in row.items() if value is not None}
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace") + b"\n"


def as_csv(row: Mapping[str, Any]) -> bytes:
    """One row of CSV; lists and maps as JSON."""
    return _csv_line([_cell(row[name]) for name in PRINTED_COLUMNS])


def csv_header() -> bytes:
    """The names of the columns."""
    return _csv_line(list(PRINTED_COLUMNS))


def _csv_line(cells: list[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue().encode("utf-8", "backslashreplace")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else str(value)


def as_short(record: Record, at: int) -> bytes:
    """One line: time, node, actor, topic-partition, event type, what changed; the message if no rule knows it."""
    event = record.event or {}
    event_type = str(event.get("event_type", record.level))
    what = _changes(event) if event else record.message.decode("utf-8", "backslashreplace")
    node = "-" if record.writer is None else str(record.writer)
    cells = (as_text(at), node, _actor(record, event), _subject(event), event_type)
    text = " ".join(cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=True))
    return f"{text} {what}".rstrip().encode("utf-8", "backslashreplace") + b"\n"


def _actor(record: Record, event: Mapping[str, Any]) -> str:
    """Who logs, by the prefix: `ctrl 3/8`, a controller with its epoch, or else the last part of the logger's name."""
    prefix = record.head[3].lower()
    if b"controller" in prefix and event.get("controller_id") is not None:
        epoch = event.get("controller_epoch")
        return f"controller {event['controller_id']}" if epoch is None else f"ctrl {event['controller_id']}/{epoch}"
    if b"broker" in prefix and record.writer is not None:
        return f"broker {record.writer}"
    return record.logger.rpartition(".")[2][: _WIDTHS[2]] or "-"


def _subject(event: Mapping[str, Any]) -> str:
    if event.get("topic") is not None:
        number = event.get("partition")
        return str(event["topic"]) if number is None else f"{event['topic']}-{number}"
    parts = event.get("partitions") or ()
    if parts:
        first = f"{parts[0].get('topic')}-{parts[0].get('partition')}"
        return first if len(parts) == 1 else f"{first} +{len(parts) - 1}"
    return "-" if event.get("topic_id") is None else str(event["topic_id"])


_FIRST = ("from_state", "to_state", "leader", "leader_epoch", "isr", "partition_epoch")
_SHOWN_ELSEWHERE = {
    "event_type", "node", "topic", "partition", "partitions", "controller_id", "controller_epoch",
    "state_controller_epoch",
}  # fmt: skip


def _changes(event: Mapping[str, Any]) -> str:
    """The values of an event, the state first: `leader=2 leader_epoch=5 isr=2,1`. Empty ones are left out."""
    names = [*(name for name in _FIRST if name in event), *(name for name in event if name not in _FIRST)]
    changes = []
    for name in names:
        value = event[name]
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        if name not in _SHOWN_ELSEWHERE and value is not None and (text or name == "isr"):
            changes.append(f"{name}={text}")
    return " ".join(changes)


def for_terminal(text: bytes, level: str) -> bytes:
    """Whole lines in the colour of their level. What would steer the terminal is spelt out, but line ends and tabs.

    >>> for_terminal(b"pay\\x1b[2J\\tments\\r\\n", "INFO")
    b'pay\\\\x1b[2J\\tments\\n'
    """
    if _STEERING.search(text):
        lines = text.decode("utf-8", "backslashreplace").split("\n")
        cells = [line.removesuffix("\r").split("\t") for line in lines]
        text = "\n".join("\t".join(map(printable, line)) for line in cells).encode()
    colour = _COLOURS.get(level)
    return colour + text[:-1] + _RESET + b"\n" if colour else text


def prefixed(raw: bytes, prefix: bytes) -> bytes:
    """Each line of a record with a prefix before it; the record ends in a line end."""
    return prefix + raw[:-1].replace(b"\n", b"\n" + prefix) + raw[-1:]
