"""What the exception of a failed election names, with ZooKeeper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.observations import as_ids
from schemas.spark import IDS

if TYPE_CHECKING:
    from pyspark.sql import Column


def printed_live_brokers() -> Column:
    """The live brokers that a failed election names in its exception, without those that shut down; null if it does
    not."""
    printed = F.regexp_extract("detail", r"Live brokers are: \[Set\(([\d, ]*)\)", 1)
    is_printed = F.col("detail").contains("Live brokers are: [Set(")
    return F.when(is_printed, as_ids(F.regexp_extract_all(printed, F.lit(r"(\d+)"))))


def printed_ids(words: str) -> Column:
    """The brokers that a failed election names after these words in its exception (until 1.0), in their order; null if
    it does not."""
    printed = F.regexp_extract("detail", words + r": \[(?:List\()?([\d, ]+)\)?\]", 1)
    return F.when(printed != "", as_ids(F.regexp_extract_all(printed, F.lit(r"(\d+)"))))


def printed_isr() -> Column:
    """The ISR that a failed election names in its exception (until 1.0), but for those of which no replica is alive."""
    left = F.regexp_extract("detail", r"No other replicas in ISR ([\d, ]+) for", 1)
    state = r"Current leader and ISR: \[[^\]]*?(?:\"isr\":\[|,ISR:)(\d+(?:, ?\d+)*)"
    printed = F.concat(left, F.regexp_extract("detail", state, 1))
    ids = F.when(printed != "", F.regexp_extract_all(printed, F.lit(r"(\d+)")).cast(IDS))
    return F.coalesce(printed_ids("ISR brokers are"), ids)
