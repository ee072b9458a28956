"""Inputs of an election that Spark can work out natively: who may have been online, and what the settings allow."""

from __future__ import annotations

from collections.abc import Mapping
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


def unclean_enabled(topic: Column, default: bool | None, by_topic: Mapping[str, bool]) -> Column:
    """Whether a topic allows unclean elections: its own setting, else the default; null unknown."""
    value = F.lit(default).cast("boolean")
    for name, is_enabled in by_topic.items():
        value = F.when(topic == name, F.lit(is_enabled)).otherwise(value)
    return value
