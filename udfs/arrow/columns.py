"""Columns of `events` of many records at once: sliced by their captures, or read by Python once for each text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from udfs.arrow.schema import COLUMN_TYPES, FIELDS, PARTITION_STRUCT
from udfs.arrow.slices import Array, RecordRows, offsets, spread
from udfs.arrow.template_table import CaptureTable, PartitionListTable
from udfs.logs.arrays import Longs
from udfs.rules.parsing import read_value
from udfs.rules.rule import COLUMNS, ValueKind

Chunk = tuple[int, Longs, Array]
"""Layer, rows and values of a column; in one layer each row comes once."""
FieldChunk = tuple[int, Longs, Longs, Array]
"""Layer, rows, names and values of `fields`."""


def dictionary(values: Array) -> tuple[list[bytes], Longs]:
    """The different values of an Arrow array without nulls, and which of them each is."""
    encoded = values.dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)


def mapping_column(mappings: Sequence[Mapping[str, Any]], name: str, kind: pa.DataType) -> Array:
    """One key of each mapping; null where it is missing."""
    return pa.array([mapping.get(name) for mapping in mappings], kind)


def merged_column(chunks: list[Chunk], n: int) -> Array:
    """Values by row; null where there are none. Of a row's values the one of the highest layer wins."""
    filled = [chunk for chunk in chunks if len(chunk[1])] or chunks[:1]
    ordered = [_without_nulls(chunk) for chunk in sorted(filled, key=lambda chunk: chunk[0])]
    all_rows, arrays = zip(*ordered, strict=True)
    if len(arrays) == 1 and len(all_rows[0]) == n and bool((np.diff(all_rows[0]) == 1).all()):
        return arrays[0]
    if arrays[0].type == pa.int32():
        numbers, is_null = np.zeros(n, np.int32), np.ones(n, np.bool_)
        for rows, values in ordered:
            numbers[rows] = values.to_numpy()
            is_null[rows] = False
        return pa.array(numbers, mask=is_null)
    index = np.full(n, -1)
    first = 0
    for rows in all_rows:
        index[rows] = np.arange(first, first + len(rows))
        first += len(rows)
    return pa.concat_arrays(arrays).take(pa.array(index, mask=index < 0))


def _without_nulls(chunk: Chunk) -> tuple[Longs, Array]:
    """Rows and values of a chunk without the nulls."""
    _, rows, values = chunk
    if not values.null_count:
        return rows, values
    return rows[values.is_valid().to_numpy(zero_copy_only=False)], values.drop_null()


class EventColumns:
    """Columns and `fields` of the records of a batch; the message's values win over the prefix's.

    `prefixes` are what different prefixes give, `prefix` which of them each row has.
    """

    def __init__(self, rows: RecordRows, prefixes: list[Mapping[str, Any]], prefix: Longs) -> None:
        self._rows, self._prefixes, self._prefix = rows, prefixes, prefix
        self._chunks: defaultdict[str, list[Chunk]] = defaultdict(list)
        self._field_chunks: list[FieldChunk] = []
        self._field_names = rows.table.names
        self._unread = [np.zeros(0, np.int64)]

    @property
    def unread(self) -> Longs:
        """Rows of which a value cannot be read; complete once `columns` was called."""
        return np.concatenate(self._unread)

    def columns(self) -> dict[str, Array]:
        """All columns that have a value, and `fields`."""
        self._add_prefixes()
        for (how, name, kind, layer), captures in self._rows.table.captures.items():
            rows, which = self._rows.of_templates(captures.templates)
            if not len(rows):
                continue
            if isinstance(captures, PartitionListTable):
                self._chunks[name] += self._partition_lists(layer, rows, captures, which)
            elif how == "python":
                assert kind is not None
                self._read(name, kind, layer, rows, self._rows.data.binaries(*self._edges(rows, captures, which)))
            else:
                self._chunks[name].append((layer, rows, self._sliced(how, rows, captures, which)))
        columns = {name: merged_column(chunks, len(self._rows)) for name, chunks in self._chunks.items()}
        columns["fields"] = self._maps()
        return columns

    def _add_prefixes(self) -> None:
        """Columns that prefixes give, in the lowest layer."""
        names = {name for prefix in self._prefixes for name in prefix}
        for name, kind in COLUMN_TYPES.items():
            if name in names:
                values = mapping_column(self._prefixes, name, kind).take(pa.array(self._prefix))
                self._chunks[name].append((-1, np.arange(len(self._rows)), values))

    def _edges(self, rows: Longs, captures: CaptureTable, which: Longs) -> tuple[Longs, Longs]:
        return self._rows.edges(rows, captures.spans, which)

    def _sliced(self, how: str, rows: Longs, captures: CaptureTable, which: Longs) -> Array:
        """A value of each row: an integer, a list of ids or a text; `which` of the captures a row has."""
        if how == "int":
            return self._rows.integers(rows, captures.firsts[which], captures.is_negative[which])
        if how == "ids":
            return self._rows.lists(rows, captures.firsts[which], captures.counts[which])
        return self._rows.data.strings(*self._edges(rows, captures, which))

    def _partition_lists(self, layer: int, rows: Longs, captures: PartitionListTable, which: Longs) -> Iterator[Chunk]:
        """The partitions that each row lists; `which` of the captures a row has."""
        counts = captures.part_count.array[which]
        owners = np.repeat(np.arange(len(rows)), counts)
        part = spread(captures.first_part.array[which], counts)
        columns = [
            self._partition_values(f.type, captures.values(f.name), rows[owners], part) for f in PARTITION_STRUCT
        ]
        states = pa.StructArray.from_arrays(columns, fields=list(PARTITION_STRUCT))
        repeated = _repeated_partitions(owners, *columns[:3])
        is_plain = np.ones(len(rows), np.bool_)
        if len(repeated):
            is_once = captures.is_once.array[which] == 1
            is_plain[owners[repeated]] = is_once[owners[repeated]]
            remaining = np.setdiff1d(np.flatnonzero(is_plain[owners]), repeated)
            states, counts = states.take(pa.array(remaining)), np.bincount(owners[remaining], minlength=len(rows))
            to_read = np.flatnonzero(~is_plain)
            texts = self._rows.data.raw(*self._edges(rows[to_read], captures, which[to_read]))
            kinds = [captures.captures[n].kind for n in which[to_read].tolist()]
            lists = [read_value("partitions", kind, raw)["partitions"] for kind, raw in zip(kinds, texts, strict=True)]
            yield layer, rows[to_read], pa.array(lists, COLUMN_TYPES["partitions"])
        yield layer, rows[is_plain], pa.ListArray.from_arrays(offsets(counts[is_plain]), states)

    def _partition_values(
        self, kind: pa.DataType, values: tuple[CaptureTable, Longs] | None, owners: Longs, part: Longs
    ) -> Array:
        """One value of each of several parts, which are of the rows `owners`; null where a part has none."""
        if values is None:
            return pa.nulls(len(part), kind)
        captures, of_part = values
        which = of_part[part]
        present = np.flatnonzero(which >= 0)
        if not len(present):
            return pa.nulls(len(part), kind)
        how = "int" if kind == pa.int32() else "ids" if kind == COLUMN_TYPES["isr"] else "text"
        return merged_column([(0, present, self._sliced(how, owners[present], captures, which[present]))], len(part))

    def _read(self, name: str, kind: ValueKind, layer: int, rows: Longs, raw: Array) -> None:
        """Values that need Python: each different text is read once."""
        texts, codes = dictionary(raw)
        values: list[dict[str, Any]] = []
        for number, text in enumerate(texts):
            try:
                values.append(read_value(name, kind, text))
            except Exception:  # whatever the reader raises: its record becomes a reject
                values.append({})
                self._unread.append(rows[codes == number])
        for column in dict.fromkeys(key for value in values for key in value if key in COLUMNS):
            chunk = mapping_column(values, column, COLUMN_TYPES[column]).take(pa.array(codes))
            self._chunks[column].append((layer, rows, chunk))
        names = self._field_names
        pairs = [[(names[key], text) for key, text in value.items() if key not in COLUMNS] for value in values]
        lengths = np.array([len(of_text) for of_text in pairs], np.int64)
        if lengths.any():
            field_names = np.array([number for of_text in pairs for number, _ in of_text], np.int64)
            field_values = pa.array([value for of_text in pairs for _, value in of_text], pa.string())
            counts = lengths[codes]
            index = spread((np.cumsum(lengths) - lengths)[codes], counts)
            chunk = field_values.take(pa.array(index))
            self._field_chunks.append((layer, np.repeat(rows, counts), field_names[index], chunk))

    def _maps(self) -> Array:
        """A map for each row, its keys in order."""
        rows, table = self._rows, self._rows.table
        counts = table.field_count[rows.template]
        owners = np.repeat(np.arange(len(rows)), counts)
        which = spread(table.first_field[rows.template], counts)
        names = table.field_names.array[which]
        values = rows.data.strings(*self._edges(owners, table.fields, which))
        keys = sorted(self._field_names)
        key = np.argsort(np.argsort(list(self._field_names)))  # position among the sorted names, by number
        if self._field_chunks:
            layers = table.fields.layers[which]
            owners, names, values = self._merged_fields(owners, names, layers, values, key)
            counts = np.bincount(owners, minlength=len(rows))
        named: Array = pa.array(keys, pa.string()).take(pa.array(key[names]))
        return pa.MapArray.from_arrays(offsets(counts), named, values, type=FIELDS)

    def _merged_fields(
        self, owners: Longs, names: Longs, layers: Longs, values: Array, key: Longs
    ) -> tuple[Longs, Longs, Array]:
        """Rows, names and values of fields together with those that were read in Python, in order of row and name; of
        one name the one of the highest layer."""
        rows = np.concatenate([owners, *(chunk[1] for chunk in self._field_chunks)])
        named = np.concatenate([names, *(chunk[2] for chunk in self._field_chunks)])
        layer = np.concatenate([layers, *(np.full(len(chunk[1]), chunk[0]) for chunk in self._field_chunks)])
        position = rows * len(key) + key[named]
        order = np.lexsort((layer, position))
        order = order[np.append(position[order][1:] != position[order][:-1], True)]
        taken = pa.concat_arrays([values, *(chunk[3] for chunk in self._field_chunks)]).take(pa.array(order))
        return rows[order], named[order], taken


def _repeated_partitions(owners: Longs, topics: Array, topic_ids: Array, numbers: Array) -> Longs:
    """Which parts name the same partition as one before them with the same owner."""
    names = pa.concat_arrays([topics, topic_ids]).dictionary_encode().indices.fill_null(-1).to_numpy()
    table = np.stack([numbers.fill_null(-1).to_numpy(), *np.split(names, 2), owners])
    order = np.lexsort(table)  # what is equal stays in order
    ordered = table[:, order]
    repeated: Longs = order[1:][(ordered[:, 1:] == ordered[:, :-1]).all(axis=0)]
    return repeated
