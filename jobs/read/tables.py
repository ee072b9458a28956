"""`tables`: which tables a warehouse has, what a row of each is, how many there are and of which time."""

from __future__ import annotations

from jobs.read.create_views import identifier, literal
from schemas.columns import TIME
from schemas.tables import BY_NAME

BEGINS = ("at", "since", "sent_at", "hour", "window", "minute", "first_at", "started_at")
ENDS = ("at", "until", "responded_at", "hour", "window", "minute", "last_at", "finished_at")
"""Columns in which a row's time begins and ends; of a table those that it has."""


def overview_query() -> str:
    """One row of each table: name, rows, first and last time in it, and what a row is."""
    parts = []
    for name, table in BY_NAME.items():
        times = {field.name for field in table.fields if field.type == TIME}
        first = next(column for column in BEGINS if column in times)
        last = next(column for column in ENDS if column in times)
        parts.append(
            f"SELECT {literal(name)} AS name, count(*) AS rows, min({identifier(first)}) AS first,"
            f" greatest(max({identifier(first)}), max({identifier(last)})) AS last,"
            f" {literal(table.grain)} AS one_row_is FROM {name}"
        )
    return " UNION ALL ".join(parts)
