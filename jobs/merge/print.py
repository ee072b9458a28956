"""Prints merged records in the forms that need more than their bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jobs.merge.log import Log
from jobs.merge.request import MergeRequest, local_time
from udfs.merge.formats import as_csv, as_jsonl, as_short, csv_header, for_terminal, prefixed, row_of
from udfs.merge.record import Record

if TYPE_CHECKING:
    from udfs.merge.order import OrderedRecords
    from udfs.merge.redacted_record import RecordRedaction


class Printer:
    """Turns records into bytes, one after the other. `logs` are in the order of their places."""

    def __init__(self, request: MergeRequest, logs: Sequence[Log], is_terminal: bool) -> None:
        self._options, self._zone = request.options, request.own_zone
        self._logs, self._is_terminal = logs, is_terminal
        self._redaction: RecordRedaction | None = None
        if request.key is not None:
            from udfs.merge.redacted_record import RecordRedaction

            self._redaction = RecordRedaction(request.key)

    def header(self) -> bytes:
        """What stands above all records in CSV."""
        return csv_header()

    def printed(self, picked: OrderedRecords) -> bytes:
        """Some records in their order."""
        blocks, files = picked.blocks, picked.files
        which = [0] * len(picked) if picked.which is None else picked.which.tolist()
        lines = [None] * len(picked) if picked.lines is None else picked.lines.tolist()
        places = zip(which, picked.starts.tolist(), picked.ends.tolist(), picked.times.tolist(), lines, strict=True)
        return b"".join(
            [self._record(self._logs[files[i]], bytes(blocks[i].data[a:b]), at, line) for i, a, b, at, line in places]
        )

    def _record(self, log: Log, raw: bytes, at: int, line: int | None) -> bytes:
        record, file = Record(raw, log.layout, log.node), log.name
        if self._redaction is not None:
            record = self._redaction.record(record, local_time(at, self._zone))
            raw, file = record.raw, self._redaction.file(file)
        form = self._options.form
        if form in ("jsonl", "csv"):
            text = (as_jsonl if form == "jsonl" else as_csv)(row_of(record, at, file, line))
            return for_terminal(text, "") if self._is_terminal else text
        text = as_short(record, local_time(at, self._zone)) if form == "short" else raw
        if self._is_terminal:
            text = for_terminal(text, record.level)
        if form == "raw" and self._options.node:
            who = file.rpartition("/")[2] if record.writer is None else f"node-{record.writer}"
            text = prefixed(text, f"{who} | ".encode())
        return text
