"""Rows of a DataFrame as JSON, for tests and proofs that compare tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def as_text(rows: DataFrame) -> DataFrame:
    """Rows as JSON texts, one column `row`; times in ISO 8601 with milliseconds, UTC; nulls kept."""
    from pyspark.sql import functions as F

    options = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "ignoreNullFields": "false"}
    return rows.select(F.to_json(F.struct(*[F.col(f"`{c}`") for c in rows.columns]), options).alias("row"))
