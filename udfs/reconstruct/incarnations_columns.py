"""When the incarnations of a topic without an id began, as a Column."""

from __future__ import annotations

from pyspark.sql import functions as F
from pyspark.sql import types as T

from udfs.reconstruct import incarnations

incarnation_starts = F.udf(incarnations.incarnation_starts, T.ArrayType(T.LongType()), useArrow=False)
"""`incarnations.incarnation_starts` of three columns: arrays of times in microseconds, and of structs `after, at` of
such."""
