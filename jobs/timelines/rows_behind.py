"""Windows over the rows behind each one.

Spark aggregates a frame that ends with its partition anew for each row of it, which grows with the square of the rows;
one that begins with its partition goes on from row to row. So the rows behind one are those before it the other way
round: the nearest of them is the `last` one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Column, Window
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import WindowSpec


def rows_behind(keys: Iterable[str], order: Iterable[Column | str]) -> WindowSpec:
    """The rows of the same `keys` that come behind one in an ascending order; `last` is the next one of them."""
    return _backwards(keys, order).rowsBetween(Window.unboundedPreceding, -1)


def row_and_behind(keys: Iterable[str], order: Iterable[Column | str]) -> WindowSpec:
    """The same with the row itself, which is `last` unless nulls are ignored."""
    return _backwards(keys, order).rowsBetween(Window.unboundedPreceding, Window.currentRow)


def _backwards(keys: Iterable[str], order: Iterable[Column | str]) -> WindowSpec:
    columns = (F.col(one) if isinstance(one, str) else one for one in order)
    return Window.partitionBy(*keys).orderBy(*(column.desc() for column in columns))
