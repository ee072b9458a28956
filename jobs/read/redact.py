"""`redact`: a copy of the published tables without names, to hand to somebody else. It needs no Spark.

All commands read the copy as they read a warehouse, so what they print, export and report has the same pseudonyms.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.read.create_views import rows
from jobs.read.published import Published
from jobs.read.views import connect, open_published
from jobs.warehouse.location import is_remote, located, mounted
from schemas.ledger import RUNS
from schemas.tables import BY_NAME
from udfs.errors import BadInput
from udfs.merge.redacted_record import redacted_logger
from udfs.redaction import Redaction, kinds_of, names_in
from udfs.rules.regex import late

TEXTS = {
    "actual", "expected", "explanation", "contradiction", "detail", "fields", "findings", "inputs", "log_dir",
    "message", "missing_inputs", "partitions", "path", "also_seen_as", "raw", "reason", "signature", "steps", "story",
    "subject", "title", "error", "channels", "logger", "value", "previous_value",
}  # fmt: skip
"""Columns that hold what a log says, or words about it; all others have words of our own, numbers or ids."""
NAMES = {"topic": "t", "log_dir": "d"}
"""Columns, also of structs, whose values are names -> their kind."""
VALUES_OF_RULES = {
    "t": r"topics$", "p": r"^user$", "h": r"^(?:\w+_)?(?:host|rack)$", "d": r"^(?:log_)?dir$",
}  # fmt: skip
"""Kind -> which values of rules, by their keys in `events.fields`, are names, of topics also several."""
SAID_BY_LOGS = {"events": ("message", "detail"), "rejects": ("raw",)}
"""Columns in which names are looked for by the forms of `udfs.redaction`."""
STEP = "redact"
_WORDS = late(r"[\w.-]+(?![\w.(-])")


def redact(root: str, to: str, key: bytes) -> dict[str, int]:
    """Write a redacted copy of a warehouse to a folder that is new; how many names of each kind were replaced.

    Raises BadInput for a warehouse that is not there, and for a folder that is.
    """
    to = located(to)
    if is_remote(to):
        raise BadInput(f"A redacted copy is written to a folder, not to {to}; copy it there afterwards.")
    if os.path.lexists(to):
        raise BadInput(f"This exists already: {to}; give a new folder.")
    with connect() as connection:
        published = open_published(connection, mounted(located(root)))
        last = rows(connection, f"SELECT * FROM runs WHERE run_id = '{published.run_id}'")[0]
    names = _names(published)
    redaction = Redaction(key, names)
    try:
        versions = {name: _copy(published, name, to, redaction) for name in BY_NAME if name in published.versions}
        _write_run(last, to, versions, redaction)
    except BaseException:
        shutil.rmtree(to, ignore_errors=True)
        raise
    return {kind: sum(of == kind for of in names.values()) for kind in "thpcd"}


def _tables(published: Published, name: str) -> pa.RecordBatchReader:
    """A published table, a batch at a time."""
    from deltalake import DeltaTable

    return (
        DeltaTable(f"{published.root}/{name}", version=published.versions[name])
        .to_pyarrow_dataset()
        .scanner()
        .to_reader()
    )


def _names(published: Published) -> dict[str, str]:
    """Kind by name of all that is replaced. A topic that is called like a host is a topic."""
    names: dict[str, str] = {}
    for table, columns in SAID_BY_LOGS.items():
        if table not in published.versions:
            continue
        for batch in _tables(published, table):
            for column in columns:
                for text in pc.unique(batch[column]).to_pylist() if column in batch.schema.names else ():
                    names |= {name: kind for kind, name in names_in(text or "")}
    topics: set[str] = set()
    folders: set[str] = set()
    for table in published.versions:
        for batch in _tables(published, table):
            for field in batch.schema:
                topics |= _values(batch[field.name], field.name, "t")
                folders |= _values(batch[field.name], field.name, "d")
            if table == "events":
                fields = batch["fields"]
                topics |= {
                    word for text in _of_rules(fields, "t") for word in _WORDS.findall(text) if not word.isdigit()
                }
                folders |= _of_rules(fields, "d")
                names |= {user.removeprefix("User:"): "p" for user in _of_rules(fields, "p")}
                names |= {name: kind for host in _of_rules(fields, "h") for kind, name in names_in(f"host={host}")}
    names |= {name: kind for folder in folders for kind, name in names_in(f"dir={folder}")}
    return kinds_of(((kind, name) for name, kind in names.items()), topics)


def _of_rules(fields: Any, kind: str) -> set[str]:
    """What rules read as names of a kind, from the column `fields`."""
    is_name = pc.match_substring_regex(fields.keys, VALUES_OF_RULES[kind])
    return {value for value in pc.unique(fields.items.filter(is_name)).to_pylist() if value}


def _values(column: Any, name: str, kind: str) -> set[str]:
    """Names of a kind in a column."""
    if pa.types.is_list(column.type):
        return _values(column.flatten(), name, kind)
    if pa.types.is_struct(column.type):
        fields = (column.type.field(i).name for i in range(column.type.num_fields))
        return {value for field in fields for value in _values(column.field(field), field, kind)}
    if NAMES.get(name) != kind or not _is_text(column.type):
        return set()
    return {value for value in pc.unique(column).to_pylist() if value}


def _is_text(type_: Any) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_))


def _copy(published: Published, name: str, to: str, redaction: Redaction) -> int:
    """Write a redacted table; its version."""
    from deltalake import DeltaTable, write_deltalake

    reader = _tables(published, name)
    batches = (
        pa.RecordBatch.from_arrays(
            [_redacted(batch[f.name], f.name, f.name in TEXTS, redaction) for f in batch.schema], schema=reader.schema
        )
        for batch in reader
    )
    write_deltalake(f"{to}/{name}", pa.RecordBatchReader.from_batches(reader.schema, batches))
    return int(DeltaTable(f"{to}/{name}").version())


def _redacted(column: Any, name: str, is_said: bool, redaction: Redaction) -> Any:
    """A column, or a part of one, with its names replaced; nulls stay."""
    kind = column.type
    if pa.types.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        parts = [_redacted(pc.struct_field(column, [i]), f.name, is_said, redaction) for i, f in enumerate(fields)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=column.is_null())
    if pa.types.is_map(kind):
        items = _redacted(column.items, name, is_said, redaction)
        return pa.MapArray.from_arrays(_offsets(column), column.keys, items, type=kind)
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(_offsets(column), _redacted(column.values, name, is_said, redaction), type=kind)
    if not _is_text(kind) or not (name in NAMES or is_said):
        return column
    replace: Callable[[str], str] = redaction.name if name == "topic" else redaction.text
    if name == "logger":
        replace = partial(_new_logger, redaction)
    encoded = column.dictionary_encode()
    words = [None if word is None else replace(word) for word in encoded.dictionary.to_pylist()]
    return pa.array(words, kind).take(encoded.indices)


def _new_logger(redaction: Redaction, logger: str) -> str:
    """What a logger becomes: itself if it is one of Kafka's; what a line ends in may be anything."""
    return logger if redacted_logger(logger) == logger else redaction.text(logger)


def _offsets(column: Any) -> Any:
    """Where the lists of a column begin in its values; null where a list is."""
    offsets = column.offsets
    is_null = pa.concat_arrays([column.is_null(), pa.array([False])])
    return pc.if_else(is_null, None, offsets) if column.null_count else offsets


def _write_run(last: Mapping[str, Any], to: str, versions: Mapping[str, int], redaction: Redaction) -> None:
    """The one row of the copy's `runs`, which pins what was copied: as the last published run's, but for its inputs."""
    from deltalake import write_deltalake

    row = {
        **{column: last.get(column) for column in RUNS.columns},
        "run_id": "1",
        "steps": [STEP],
        "inputs": [redaction.text(path) for path in last["inputs"] or ()],
        "table_versions": list(versions.items()),
        **{name: list((last[name] or {}).items()) for name in ("rows", "expectations", "pending", "derived_with")},
    }
    columns = [pa.array([row[f.name]], _arrow_type(f.name, row[f.name])) for f in RUNS.fields]
    write_deltalake(f"{to}/{RUNS.name}", pa.table(columns, names=[f.name for f in RUNS.fields]))


def _arrow_type(name: str, value: Any) -> pa.DataType:
    """The type of a column of `runs`."""
    if name in ("table_versions", "rows", "expectations"):
        return pa.map_(pa.string(), pa.int64())
    if name == "pending":
        return pa.map_(pa.string(), pa.list_(pa.string()))
    if name == "derived_with":
        return pa.map_(pa.string(), pa.string())
    if name.endswith("_at"):
        return pa.timestamp("us", tz="UTC")
    return pa.list_(pa.string()) if isinstance(value, list) or name in ("refused", "clusters") else pa.string()
