"""Years as logs print them: where the locale is Thai, log4j counts as the Buddhist calendar does."""

from __future__ import annotations

BUDDHIST_YEARS = 543
"""By how much its years are ahead: 2565 is 2022. Months and days are the same."""
BUDDHIST_SINCE, BUDDHIST_UNTIL = 2500, 2700


def western_year(year: int) -> int:
    """A printed year in the calendar of all other logs.

    >>> western_year(2565), western_year(2022), western_year(9999)
    (2022, 2022, 9999)
    """
    return year - BUDDHIST_YEARS if BUDDHIST_SINCE <= year < BUDDHIST_UNTIL else year
