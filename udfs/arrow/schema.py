"""SCHEMA: the columns of the Arrow batches that parsing gives back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from udfs.arrow.slices import Array
from udfs.rules.rule import COLUMNS
from udfs.rules.rulebook import RULES

REASONS = (
    "no rule matches this message",
    "a value of this message cannot be read",
    "its time stamp is no valid time",
    "its logger is missing: the line is torn or cut off",
)
NO_RULE, NO_VALUE, NO_TIME, NO_LOGGER = range(len(RULES), len(RULES) + len(REASONS))
"""Why a record is a reject: an index in RULES and REASONS put together."""

_IDS = pa.list_(pa.int32())
PARTITION_STRUCT = pa.struct(
    [
        ("topic", pa.string()),
        ("topic_id", pa.string()),
        ("partition", pa.int32()),
        ("leader", pa.int32()),
        ("leader_epoch", pa.int32()),
        ("partition_epoch", pa.int32()),
        ("controller_epoch", pa.int32()),
        ("isr", _IDS),
        ("replicas", _IDS),
        ("adding_replicas", _IDS),
        ("removing_replicas", _IDS),
        ("offline_replicas", _IDS),
        ("elr", _IDS),
    ]
)
"""One value of column `partitions`; schemas.ingest.PARTITION_STATE documents it."""
_ARROW_TYPES: Mapping[str, pa.DataType] = {
    "int": pa.int32(),
    "text": pa.string(),
    "ids": _IDS,
    "partitions": pa.list_(PARTITION_STRUCT),
}
COLUMN_TYPES = {name: _ARROW_TYPES[kind] for name, kind in COLUMNS.items()}
FIELDS: Any = pa.map_(pa.string(), pa.string())
_CELLS: list[tuple[str, pa.DataType]] = [
    ("record", pa.string()),
    ("file_id", pa.string()),
    ("channel", pa.string()),
    ("line", pa.int64()),
    ("byte_offset", pa.int64()),
    ("size_bytes", pa.int64()),
    ("head_bytes", pa.int64()),
    ("node_id", pa.int32()),
    ("at", pa.timestamp("us", tz="UTC")),
    ("clock", pa.string()),
    ("level", pa.string()),
    ("logger", pa.string()),
    ("event_type", pa.string()),
    *COLUMN_TYPES.items(),
    ("fields", FIELDS),
    ("message", pa.string()),
    ("detail", pa.string()),
    ("signature", pa.string()),
]
SCHEMA = pa.schema(_CELLS)
"""What a worker gives back; `record` is `event`, `reject`, `account`, or `changed`: the file changed while it was read,
so other rows with this `file_id` do not count. A reject's `event_type` is its reason, its `message` all its bytes
(`udfs.logs.escapes`), and only it has a `signature`."""


def record_batch(columns: Mapping[str, Array], n: int) -> pa.RecordBatch:
    """A batch of SCHEMA of `n` rows; columns that are missing are null."""
    arrays = [columns[f.name] if f.name in columns else pa.nulls(n, f.type) for f in SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def changed_batch(file_ids: Sequence[str]) -> pa.RecordBatch:
    """A row `changed` for each of some streams."""
    columns = {"record": pa.array(["changed"] * len(file_ids)), "file_id": pa.array(file_ids, pa.string())}
    return record_batch(columns, len(file_ids))
