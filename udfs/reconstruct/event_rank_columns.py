"""The rank of a record's kind as a Column: `udfs.merge.order.rank_of` for messages without time, level and logger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from udfs.merge.order import ANSWERED, BEGINS, DECIDED, OTHER, RECEIVED, REQUESTS

if TYPE_CHECKING:
    from pyspark.sql import Column

_PREFIX = r"^(?:\[[^\]\n]*\][:,]? ?|Controller \d+ epoch \d+ |Broker \d+:? )"


def rank(message: str) -> Column:
    """Rank of a record by the column of its message, prefix included: 0 comes first, 6 last."""
    text = F.col(message)
    behind = F.regexp_replace(text, _PREFIX, "")
    by_controller = text.rlike(r"^\[?Controll") & (behind != text)
    begin = F.concat(F.lower(F.substring(behind, 1, 1)), F.substring(behind, 2, 20))
    found = F.when(by_controller, DECIDED).otherwise(OTHER)
    for word, number in BEGINS.items():
        found = F.when(begin.startswith(word.decode()), number).otherwise(found)
    asked = F.substring(begin, 10, 8).isin(*(word.decode() for word in REQUESTS))
    return F.when((found == ANSWERED) & asked, RECEIVED).otherwise(found)
