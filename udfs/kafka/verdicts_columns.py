"""Inputs of an election that Spark can work out natively: who may have been online."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column

DOUBT_MS = 2000
"""Within this time of an election a broker's coming or going is in doubt: KRaft logs records up to 0.5 s late."""


def doubt() -> Column:
    """DOUBT_MS as an interval."""
    return F.expr(f"INTERVAL {DOUBT_MS} MILLISECONDS")


def was_certainly_so(since: Column, until: Column, at: Column) -> Column:
    """Whether what began at `since` and ended at `until` (null: has not ended) held at a time without doubt."""
    return (since <= at - doubt()) & (until.isNull() | (until >= at + doubt()))
