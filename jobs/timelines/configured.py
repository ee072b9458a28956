"""Settings of topics as they are given to us."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import Column


def configured(settings: Settings, name: str, data_type: str) -> Column:
    """A setting of the column `topic`, by its name in Settings: the topic's own, else the brokers' default; null
    unknown."""
    value = F.lit(getattr(settings, name)).cast(data_type)
    for topic, overrides in settings.topics.items():
        if (own := getattr(overrides, name)) is not None:
            value = F.when(F.col("topic") == topic, F.lit(own)).otherwise(value)
    return value
