"""Windows whose cost grows with the rows alone, however many rows each looks at.

Spark aggregates a frame anew for each row, unless the frame begins with its partition: then it goes on from row to row.
So the rows behind one are those before it the other way round, what comes first within some time is looked for with no
end, and what happened between two times is what had happened by the one less what had by the other.
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


def rows_from(keys: Iterable[str], at: str, distance: int) -> WindowSpec:
    """The rows of the same `keys` whose number `at` is at least one's own and `distance`, which may be negative: the
    `min` of what grows with it is that of the first of them."""
    return _backwards(keys, [at]).rangeBetween(Window.unboundedPreceding, -distance)


def number_between(is_counted: Column, keys: Iterable[str], at: str, first: int, last: int) -> Column:
    """How many rows of the same `keys` are counted whose number `at` is from one's own and `first` to one's own and
    `last`."""
    by_time = Window.partitionBy(*keys).orderBy(at)

    def number_until(distance: int) -> Column:
        return F.count_if(is_counted).over(by_time.rangeBetween(Window.unboundedPreceding, distance))

    return number_until(last) - number_until(first - 1)


def _backwards(keys: Iterable[str], order: Iterable[Column | str]) -> WindowSpec:
    columns = (F.col(one) if isinstance(one, str) else one for one in order)
    return Window.partitionBy(*keys).orderBy(*(column.desc() for column in columns))
