"""Classes of the JVM as PySpark calls them, with half of the calls.

A night plans its tables by some 100,000 calls to the JVM, each of which costs both sides about 0.1 ms together. PySpark
looks each function up before it calls it, makes the column of a name anew each time it is named, and fills a list item
by item.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaClass

if TYPE_CHECKING:
    from py4j.java_gateway import JVMView

MOST_COLUMNS = 4096
"""Columns of names, and of literals, that are kept for whoever names them again."""
MOST_ITEMS = 10
"""Items that `java.util.List.of` takes one by one."""
_SESSION = "org.apache.spark.sql.classic.SparkSession"


class KnownClass(JavaClass):  # type: ignore[misc]
    """A class whose members are looked up once. PySpark's functions are some 600 methods of one class, and Java goes
    through all of them to find one."""

    def __init__(self, looked_up: JavaClass) -> None:
        super().__init__(looked_up._fqn, looked_up._gateway_client)

    def __getattr__(self, name: str) -> Any:
        member = super().__getattr__(name)
        setattr(self, name, member)
        return member


class KnownFunctions(KnownClass):
    """Spark's functions. The column of a name, and of a number or a text, is made once: columns never change."""

    def __init__(self, looked_up: JavaClass) -> None:
        super().__init__(looked_up)
        make_column, make_literal = super().__getattr__("col"), super().__getattr__("lit")

        @lru_cache(MOST_COLUMNS)
        def col(name: str) -> Any:
            return make_column(name)

        @lru_cache(MOST_COLUMNS, typed=True)  # 1 is not True
        def known_literal(value: str | int | None) -> Any:
            return make_literal(value)

        def lit(value: Any) -> Any:
            return known_literal(value) if value is None or isinstance(value, str | int) else make_literal(value)

        self.col, self.lit = col, lit


class KnownSequences(KnownClass):
    """Spark's helper that makes sequences of lists; a list is made in one call for each ten items."""

    def __init__(self, looked_up: JavaClass, jvm: JVMView) -> None:
        super().__init__(looked_up)
        list_of, lists = KnownClass(jvm.java.util.List).of, jvm.java.util.ArrayList
        sequence_of = super().__getattr__("toSeq")

        def to_seq(items: Any) -> Any:
            if not isinstance(items, list) or any(item is None for item in items):
                return sequence_of(items)
            parts = [list_of(*items[begin : begin + MOST_ITEMS]) for begin in range(0, len(items), MOST_ITEMS)]
            if len(parts) == 1:
                return sequence_of(parts[0])
            joined = lists()
            for part in parts:
                joined.addAll(part)
            return sequence_of(joined)

        self.toSeq = to_seq


def know_classes(jvm: JVMView) -> None:
    """Let PySpark find these classes in a session's JVM, each of which it would else search for in all jars."""
    jvm.functions = KnownFunctions(jvm.functions)
    setattr(jvm, jvm.functions._fqn, jvm.functions)
    jvm.PythonUtils = KnownSequences(jvm.PythonUtils, jvm)
    for name in ("PythonSQLUtils", _SESSION, f"{_SESSION}$"):
        setattr(jvm, name, KnownClass(getattr(jvm, name)))
