"""Rows as text: how a table fits the terminal, and how values of all types are written."""

from __future__ import annotations

import csv
import json

import pytest

from jobs.read.parts import Parts
from jobs.read.row_formats import TEXT_FORMATS, Shape, fit, text_of
from jobs.read.views import connect
from udfs.printable import printable

VALUES = {  # SQL -> as JSON, as a cell
    "NULL": (None, ""),
    "''": ("", ""),
    "[]::INTEGER[]": ([], "[]"),
    "true": (True, "true"),
    "1.5::DOUBLE": (1.5, "1.5"),
    "'inf'::DOUBLE": ("inf", "inf"),
    "timestamptz '2026-11-21 12:00:00.1234Z'": ("2026-11-21T12:00:00.123Z", "2026-11-21T12:00:00.123Z"),
    "timestamp '2026-11-21'": ("2026-11-21T00:00:00.000", "2026-11-21T00:00:00.000"),
    "[timestamptz '2026-11-21 00:00Z', NULL]": (
        ["2026-11-21T00:00:00.000Z", None],
        '["2026-11-21T00:00:00.000Z",null]',
    ),
    "{'since': timestamptz '2026-11-21 00:00Z'}": (
        {"since": "2026-11-21T00:00:00.000Z"},
        '{"since":"2026-11-21T00:00:00.000Z"}',
    ),
    'NULL::STRUCT("at" TIMESTAMPTZ)': (None, ""),
    "map {'a b': [1, NULL]}": ({"a b": [1, None]}, '{"a b":[1,null]}'),
    "map {'t': timestamptz '2026-11-21 00:00Z'}": (
        {"t": "2026-11-21T00:00:00.000Z"},
        '{"t":"2026-11-21T00:00:00.000Z"}',
    ),
    "{'x': 'nan'::DOUBLE}": ({"x": "nan"}, '{"x":"nan"}'),
}


def text(query: str, form: str, limit: int | None = None, width: int | None = None) -> str:
    with connect() as connection:
        return "".join(text_of(connection, Parts([query]), Shape(form, limit, width)))


@pytest.mark.parametrize("value", VALUES)
def test_values(value: str) -> None:
    as_json, as_cell = VALUES[value]
    assert json.loads(text(f"SELECT {value} AS v", "jsonl")) == {"v": as_json}
    assert text(f"SELECT {value} AS v, 1 AS one", "markdown").splitlines()[2] == f"| {as_cell} | 1 |"


def test_two_columns_of_one_name() -> None:
    assert text("SELECT 1 AS a, 2 AS a", "csv") == "a,a_1\n1,2\n"


@pytest.mark.parametrize("form", TEXT_FORMATS)
def test_rows_keep_their_order(form: str) -> None:
    rows = text("SELECT i AS v FROM range(20000) t(i) ORDER BY hash(i)", form)
    again = text("SELECT i AS v FROM range(20000) t(i) ORDER BY hash(i)", form)
    assert rows == again
    assert rows != text("SELECT i AS v FROM range(20000) t(i)", form)


STEERING = "SELECT chr(27) || ']0;x' || chr(7) || chr(10) AS v"


def test_control_characters_are_shown_in_tables_and_on_terminals() -> None:
    shown = "\\x1b]0;x\\x07\\n"
    assert shown in text(STEERING, "table")
    assert shown in text(STEERING, "markdown")
    assert text(STEERING, "csv", width=80) == f"v\n{shown}\n"
    assert text(STEERING, "csv") == 'v\n"\x1b]0;x\x07\n"\n'
    assert json.loads(text(STEERING, "jsonl")) == {"v": "\x1b]0;x\x07\n"}
    assert "\x9b" not in text("SELECT chr(155) AS v", "jsonl", width=80)


def test_printable() -> None:
    assert printable("café 日本 ok") == "café 日本 ok"
    assert printable("\x9b31m\u202eevil\u2028") == "\\x9b31m\\u202eevil\\u2028"


def test_a_table_fits_the_terminal() -> None:
    query = "SELECT 'pay' AS topic, repeat('x', 90) AS wide, repeat('y', 30) AS less FROM range(3)"
    for width in (30, 40, 60, 100):
        lines = text(query, "table", limit=2, width=width).splitlines()
        assert max(map(len, lines[:-1])) <= width
        assert lines[-1] == "(2 rows; --limit 2 cut the rest)"
    assert len(text(query, "table").splitlines()[1]) == 5 + 2 + 90 + 2 + 30


def test_more_columns_than_fit_are_shown_one_below_the_other() -> None:
    shown = text("SELECT 1 AS a, 'xxxxxxxxxxxxxxxxxxxx' AS bc, NULL AS d, 4444444444 AS e, 5 AS f", "table", width=24)
    assert shown.splitlines() == [
        "row 1",
        "  a   1",
        "  bc  xxxxxxxxxxxxxxxxx…",
        "  d",
        "  e   4444444444",
        "  f   5",
        "(1 row)",
    ]


def test_widths() -> None:
    assert fit([5, 40, 60], None) == [5, 40, 60]
    assert fit([5, 40, 60], 200) == [5, 40, 60]
    assert sum(fit([5, 40, 60], 50) or []) == 46
    assert fit([30, 30, 30], 20) is None


def test_a_limit() -> None:
    assert text("FROM range(5) t(i)", "csv", limit=2) == "i\n0\n1\n"
    assert json.loads(text("FROM range(5) t(i)", "json", limit=2)) == [{"i": 0}, {"i": 1}]
    assert text("FROM range(5) t(i)", "markdown", limit=2).splitlines()[-1] == "--limit 2 cut the rest."
    assert "cut" not in text("FROM range(2) t(i)", "markdown", limit=2)


CELLS = {  # value -> its cell in CSV
    "=1+1": "'=1+1",
    "@SUM(A1)": "'@SUM(A1)",
    "+HYPERLINK(1)": "'+HYPERLINK(1)",
    "-2+3": "'-2+3",
    "\t=1": "'\t=1",
    "-2": "-2",
    "-1.5e-7": "-1.5e-7",
    "-inf": "-inf",
    "a=1": "a=1",
}


@pytest.mark.parametrize("value", CELLS)
def test_no_cell_is_a_formula(value: str) -> None:
    """What a log holds is text for whoever opens the CSV in a spreadsheet; numbers stay numbers."""
    assert list(csv.reader(text(f"SELECT $${value}$$ AS v", "csv").splitlines()))[1] == [CELLS[value]]
    assert json.loads(text(f"SELECT $${value}$$ AS v", "jsonl")) == {"v": value}
