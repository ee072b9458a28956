"""In which order the records of a file were written, where the numbers of its lines do not say it.

An export may have the newest record first, or many records in one line. Transforms order records of one time by `line`;
for such files it is replaced by a number that sorts as they were written, and put back in what is stored as evidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql import types as T

if TYPE_CHECKING:
    from collections.abc import Collection

    from pyspark.sql import Column, DataFrame

NEWEST_FIRST = "newest-first("
ODD_FORMATS = r"(^|/)(newest-first\(|json-rows\(|json(\(zoned\))?/)"
"""Regular expression of `log_files.format` of files in which line numbers do not tell the order of records."""
_BITS = 32  # of a byte offset, behind a line number


def with_written_order(events: DataFrame, formats: dict[str, str]) -> DataFrame:
    """EVENTS with numbers that sort instead of lines. `formats`: those of ODD_FORMATS by file id."""
    if not formats:
        return events
    newest = sorted(file_id for file_id, name in formats.items() if NEWEST_FIRST in name)
    shared = sorted(file_id for file_id, name in formats.items() if "json" in name)
    line = F.when(_is_in(shared), F.shiftleft("line", _BITS) + F.col("byte_offset") % (1 << _BITS)).otherwise(
        F.col("line")
    )
    return events.withColumn("line", F.when(_is_in(newest), -line).otherwise(line))


def _is_in(file_ids: Collection[str]) -> Column:
    return F.col("file_id").isin(*file_ids) if file_ids else F.lit(False)


def with_lines(rows: DataFrame) -> DataFrame:
    """Rows with `evidence` whose lines are those of the files again."""
    kind = rows.schema["evidence"].dataType if "evidence" in rows.columns else None
    if not isinstance(kind, T.ArrayType):
        return rows

    def put_back(place: Column) -> Column:
        line = F.abs(place["line"])
        return place.withField("line", F.when(line >= 1 << _BITS, F.shiftright(line, _BITS)).otherwise(line))

    return rows.withColumn("evidence", F.transform("evidence", put_back))
