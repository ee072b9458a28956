"""Lines that prove a row, in the order in which they are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.timelines.evidence import evidence_by
from schemas.timelines import PARTITION_TIMELINE

if TYPE_CHECKING:
    from tests.conftest import Frame

ROWS = """
topic | ordinal | evidence
a     | 3       | 1@f:1
a     | 1       | 2@g:9,1@f:7
a     | 2       | 1@f:8
b     | 1       | 3@h:4
"""


def test_evidence_of_several_rows_is_in_their_order(frame: Frame) -> None:
    """Not in that of the lines, nor in the one in which Spark comes upon the rows."""
    rows = frame(PARTITION_TIMELINE, ROWS)
    of_topics = rows.groupBy("topic").agg(evidence_by("ordinal").alias("evidence")).collect()
    assert {row["topic"]: [line["line"] for line in row["evidence"]] for row in of_topics} == {
        "a": [9, 7, 8, 1], "b": [4],
    }  # fmt: skip
