"""What a query may be: one statement that reads; and what is wrong with it, in a sentence."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from jobs.read.create_views import VIEWS, identifier, literal
from jobs.read.published import damaged, first_line, nearest, no_table
from schemas.tables import BY_NAME
from udfs.errors import BadInput, Failed

if TYPE_CHECKING:
    import duckdb
    from duckdb import DuckDBPyConnection

READING = {"SELECT", "EXPLAIN", "MULTI"}
"""Types of statements that are let through; MULTI is what DuckDB makes of PIVOT."""

# ---- text -----------------------------------------------------------------------------------------------------------
_QUOTED = (
    r"""[eE]'(?:[^'\\]|''|\\.)*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$|--[^\n]*|/\*.*?\*/"""
)
_AT = re.compile(rf"(?P<quoted>{_QUOTED})|\bat\b(?!\s+time\s+zone\b)(?!\s*\()", re.IGNORECASE | re.DOTALL)
_END = re.compile(rf"(?P<quoted>{_QUOTED})|;", re.DOTALL)
_WORDS = re.compile(rf"(?P<quoted>{_QUOTED})|(?P<word>\w+)", re.DOTALL)


def with_column_at(query: str) -> str:
    """A query in which `at` is a column: for DuckDB the bare word is a part of `AT TIME ZONE`, and no name.

    >>> with_column_at("SELECT at, e.at FROM events e WHERE at AT TIME ZONE 'UTC' > 'at' -- at")
    'SELECT "at", e."at" FROM events e WHERE "at" AT TIME ZONE \\'UTC\\' > \\'at\\' -- at'
    """
    return _AT.sub(lambda match: match[0] if match["quoted"] is not None else f'"{match[0]}"', query)


def views_named(query: str) -> list[str] | None:
    """The views that a query's text names; None if it asks for the catalog, which has them all.

    >>> views_named("SELECT count(*) FROM Elections")
    ['elections']
    """
    words = {match["word"].lower() for match in re.finditer(r"(?P<word>\w+)", query)}
    if words & {"show", "information_schema"} or any(word.startswith(("duckdb_", "pg_", "sqlite_")) for word in words):
        return None
    return [name for name in VIEWS if name in words]


def asks_for_comments(query: str) -> bool:
    """Whether a query's text asks what tables and columns mean."""
    return re.search(r"\b(describe|desc|show|summarize|comment|duckdb_)", query, re.IGNORECASE) is not None


_COMMENTED = re.compile(
    r"(?P<what>describe|desc|show|summarize)\s+(?:table\s+|view\s+)?(?P<name>\"?\w+\"?)", re.IGNORECASE
)


def with_comments(query: str) -> str:
    """`SHOW TABLES`, and `DESCRIBE` or `SUMMARIZE` of a view, as queries that tell what tables and columns mean.

    Any other query stays as it is.
    """
    bare = query.strip().rstrip(";").strip()
    if re.fullmatch(r"show\s+(all\s+)?tables", bare, re.IGNORECASE):
        return "SELECT view_name AS name, comment FROM duckdb_views() WHERE NOT internal ORDER BY name"
    match = _COMMENTED.fullmatch(bare)
    name = match["name"].strip('"').lower() if match else ""
    if match is None or name not in VIEWS:
        return query
    comments = f"SELECT column_name, column_index, comment FROM duckdb_columns() WHERE table_name = {literal(name)}"
    if match["what"].lower() == "summarize":
        return (
            f"SELECT s.*, c.comment FROM (SUMMARIZE {identifier(name)}) s JOIN ({comments}) c USING (column_name)"
            " ORDER BY c.column_index"
        )
    return (
        "SELECT column_name, data_type AS column_type, comment FROM duckdb_columns()"
        f" WHERE table_name = {literal(name)} ORDER BY column_index"
    )


# ---- statements -----------------------------------------------------------------------------------------------------
def checked(connection: DuckDBPyConnection, query: str) -> str:
    """A query as it is run. Raises BadInput unless it is one statement, and one that only reads."""
    import duckdb

    query = with_column_at(query)
    try:
        statements = connection.extract_statements(query)
    except duckdb.Error as error:
        raise BadInput(sentence(error, query)) from None
    if not statements:
        raise BadInput("The query is empty; give a statement such as SELECT * FROM elections.")
    if len(statements) > 1:
        raise BadInput(f"One statement at a time: these are {len(statements)}.")
    kind = statements[0].type.name
    explained = re.match(r"\s*explain\s+(analyze\s+|\([^()]*\)\s*)?[(\s]*(?P<word>\w+)", query, re.IGNORECASE)
    of_read = explained is None or explained["word"].lower() in _FIRST_WORDS
    if (
        kind not in READING
        or not of_read
        or (kind == "MULTI" and not re.match(r"\s*(pivot|from|with|select|\()", query, re.I))
    ):
        word = (explained["word"] if explained else _first_word(query)).upper()
        raise BadInput(f"{word} is no query: published tables are only read, and no file or setting is touched here.")
    return with_comments(_END.sub(lambda match: match["quoted"] or "", query))  # it may become a part of another query


_FIRST_WORDS = {
    "select",
    "with",
    "from",
    "values",
    "table",
    "describe",
    "desc",
    "show",
    "summarize",
    "pivot",
    "unpivot",
}


def _first_word(query: str) -> str:
    return next((match["word"] for match in _WORDS.finditer(query) if match["word"]), "It")


# ---- errors ---------------------------------------------------------------------------------------------------------
def failure(error: duckdb.Error, query: str) -> BadInput | Failed:
    """What to raise for an error of DuckDB: of a query's own fault, or of the machine's or the tables'."""
    import duckdb

    if isinstance(error, (duckdb.OutOfMemoryException, duckdb.InternalException, duckdb.FatalException)):
        return Failed(f"The query needs more memory than there is: {first_line(error)}.")
    text = first_line(error)
    if isinstance(error, (duckdb.IOException, duckdb.InvalidInputException)) and ".parquet" in text:
        return damaged(error)
    return BadInput(sentence(error, query))


_COLUMN = re.compile(r"[Cc]olumn (?:with name |named )?\"?([^\"\s]+)\"? (?:not found|does not|was not)")
_COLUMN_OF = re.compile(r"(?:does not have a column named|Referenced column|Column) \"([^\"]+)\"")
_TABLE = re.compile(r"(?:Table|View)(?: Function)? with name \"?(.+?)\"? does not exist")


def sentence(error: Exception, query: str) -> str:
    """What is wrong with a query, in one sentence; of an unknown table or column, which names are near."""
    text = first_line(error)
    if "file system operations are disabled" in text or "Permission Error" in text:
        return "The query reads or writes files, which is not done here: it sees the published tables only."
    if match := _TABLE.search(text):
        return no_table(match[1], list(VIEWS))
    if match := _COLUMN_OF.search(text) or _COLUMN.search(text):
        return f"There is no column {match[1]} there; {nearest(match[1], columns_of(query, match[1]))}"
    text = re.sub(r"^(Parser|Binder|Catalog|Conversion|Invalid Input|Out of Range|Not implemented) Error: ", "", text)
    is_read = type(error).__name__ in ("ParserException", "BinderException", "CatalogException", "SyntaxException")
    return f"The query {'is not understood' if is_read else 'failed'}: {text.rstrip('!')}."


def columns_of(query: str, missing: str = "") -> list[str]:
    """Columns of the tables that a query names; of all tables if it names none. What is `missing` names no table."""
    from jobs.read.create_views import EVIDENCE, EVIDENCE_FIELDS

    named: Collection[str] = [name for name in views_named(query) or () if name != missing.lower()] or VIEWS
    columns = {column for name in named if name in BY_NAME for column in BY_NAME[name].columns}
    return sorted(columns | ({field.name for field in EVIDENCE_FIELDS} if EVIDENCE in named else set()))
