"""The rank of a record as a Column: `event_rank.rank_of` for messages without time, level and logger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from udfs.rules.event_rank import ANSWERED, DECIDED, OTHER, RANK_OF_BEGINNING, RECEIVED, REQUEST_NAMES

if TYPE_CHECKING:
    from pyspark.sql import Column

_PREFIX = r"^(?:\[[^\]\n]*\][:,]? ?|Controller \d+ epoch \d+ |Broker \d+:? )"


def event_rank(message: str) -> Column:
    """Rank of a record by the column of its message, prefix included: 0 comes first, 6 last."""
    text = F.col(message)
    behind = F.regexp_replace(text, _PREFIX, "")
    by_controller = text.rlike(r"^\[?Controll") & (behind != text)
    begin = F.concat(F.lower(F.substring(behind, 1, 1)), F.substring(behind, 2, 20))
    rank = F.when(by_controller, DECIDED).otherwise(OTHER)
    for beginning, number in RANK_OF_BEGINNING.items():
        rank = F.when(begin.startswith(beginning.decode()), number).otherwise(rank)
    is_request = F.substring(begin, 10, 8).isin(*(name.decode() for name in REQUEST_NAMES))
    return F.when((rank == ANSWERED) & is_request, RECEIVED).otherwise(rank)
