"""`shell`: a prompt for queries, with history and completion of tables, columns and words of SQL."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

from jobs.read.create_views import EVIDENCE_FIELDS, VIEWS
from jobs.read.query import write_rows
from jobs.read.statements import columns_of, views_named
from jobs.read.views import open_views
from schemas.tables import BY_NAME
from udfs.errors import BadInput, Failed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from duckdb import DuckDBPyConnection
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import CompleteEvent, Completion
    from prompt_toolkit.document import Document

WORDS = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "LIMIT", "JOIN", "USING", "WITH", "DISTINCT", "HAVING",
    "UNION ALL", "SHOW TABLES", "DESCRIBE", "SUMMARIZE", "EXPLAIN", "count(*)", "IS NOT NULL", "DESC", "NULLS LAST",
)  # fmt: skip
GREETING = "Queries end with ; - SHOW TABLES; lists the tables, DESCRIBE NAME; says what columns mean, exit leaves."


def run_shell(root: str, cluster: str | None) -> None:
    """Read queries and print their rows until the input ends. Raises BadInput if there is no terminal to ask on."""
    if not sys.stdin.isatty():
        raise BadInput("The shell needs a terminal; pipe queries to `kafka-rewind sql`.")
    with open_views(root, cluster=cluster, comments=True) as connection:
        prompt = _prompt()
        print(GREETING)
        while True:
            try:
                query = prompt.prompt("kafka-rewind> ").strip()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            if query.rstrip(";").strip().lower() in ("exit", "quit", "\\q", ".quit"):
                return
            if query.rstrip(";").strip():
                answer(connection, query)


def answer(connection: DuckDBPyConnection, query: str) -> None:
    """Print a query's rows, or in a sentence why there are none. Ctrl-C ends the query, not the shell."""
    try:
        write_rows(connection, query, "table", None)
    except (BadInput, Failed) as error:
        print(error, file=sys.stderr)
    except KeyboardInterrupt:
        connection.interrupt()
        print("Interrupted.", file=sys.stderr)


def _prompt() -> PromptSession[str]:
    """A prompt whose entries end with a semicolon; its history lasts from session to session where there is a home."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.filters import Condition
    from prompt_toolkit.history import FileHistory, History, InMemoryHistory
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    class Words(Completer):
        """Completes the word before the cursor."""

        def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
            word = document.get_word_before_cursor()
            for candidate in candidates(document.text, word):
                yield Completion(candidate, start_position=-len(word))

    keys = KeyBindings()
    session: PromptSession[str]

    @keys.add("enter", filter=Condition(lambda: not _is_whole(session.default_buffer.text)))
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    history: History = InMemoryHistory()
    path = os.path.join(
        os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state"), "kafka-rewind", "history"
    )
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "a", encoding="utf-8"):
            history = FileHistory(path)
    except OSError:
        pass  # a home that cannot be written: this session's entries are still there
    session = PromptSession(completer=Words(), history=history, key_bindings=keys, multiline=False)
    return session


def _is_whole(text: str) -> bool:
    """Whether an entry is one to run: it ends with a semicolon, or needs none."""
    text = text.strip()
    return text == "" or text.endswith(";") or text.lower() in ("exit", "quit", "\\q", ".quit")


def candidates(text: str, word: str) -> list[str]:
    """What a word may become: columns of the tables that the entry names, tables, words of SQL; a table's name where
    one must stand."""
    if not word:
        return []
    columns = columns_of(text) if views_named(text) else sorted(_COLUMNS)
    is_table = re.search(rf"\b(?:from|join|describe|summarize)\s+{re.escape(word)}", text, re.IGNORECASE)
    known = VIEWS if is_table else (*columns, *VIEWS, *WORDS)
    return [name for name in known if name.lower().startswith(word.lower()) and name != word]


_COLUMNS = {column for table in BY_NAME.values() for column in table.columns} | {f.name for f in EVIDENCE_FIELDS}
