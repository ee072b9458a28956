"""Records of one time are in the order in which they were written, whatever an export did to their lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.timelines.written_order import with_lines, with_written_order
from schemas.ingest import EVENTS
from schemas.timelines import PARTITION_TIMELINE

if TYPE_CHECKING:
    from tests.conftest import Frame


def test_order_and_lines(frame: Frame) -> None:
    events = """
    file_id | line | byte_offset | message
    forward | 7    | 700         | a
    forward | 8    | 800         | b
    newest  | 7    | 700         | b
    newest  | 8    | 800         | a
    array   | 1    | 100         | a
    array   | 1    | 200         | b
    backed  | 1    | 100         | b
    backed  | 1    | 200         | a
    """
    formats = {
        "newest": "newest-first(records)/apache",
        "array": "json-rows(*&&line=message)/apache",
        "backed": "json-rows(*&&line=message)/newest-first(rows)/apache",
    }
    ordered = with_written_order(frame(EVENTS, events), formats).orderBy("file_id", "line").collect()
    assert [row["message"] for row in ordered] == ["a", "b"] * 4
    assert [row["line"] for row in ordered if row["file_id"] == "newest"] == [-8, -7]


def test_evidence_has_the_lines_of_the_file(frame: Frame) -> None:
    rows = frame(PARTITION_TIMELINE, "topic | evidence\n a | 3@f:7")
    (row,) = with_lines(rows).collect()
    assert [tuple(line) for line in row["evidence"]] == [(3, "f", 7)]
    odd = rows.selectExpr(
        "array(named_struct('node_id', 3, 'file_id', 'f', 'line', -7L), "
        "named_struct('node_id', 3, 'file_id', 'g', 'line', 9L * 4294967296 + 5)) AS evidence"
    )
    (row,) = with_lines(odd).collect()
    assert [line["line"] for line in row["evidence"]] == [7, 9]
