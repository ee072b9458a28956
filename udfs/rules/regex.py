"""Patterns that are compiled when they are first used: of some hundred a small run needs a handful.

Compiling all of them took longer than all else that a small `merge` does.
"""

from __future__ import annotations

import re
import sys
from typing import Any, AnyStr, cast

MANY = "*+" if sys.version_info >= (3, 11, 5) else "*"
"""Repeats a group and gives nothing back. Before 3.11.5, as Debian 12 has it, Python's `re` loses matches by that
(gh-106052): there it gives back, which changes nothing where the parts of the group begin differently."""
MANY_BYTES = MANY.encode()


class _Late:
    """Stands for a compiled pattern: what is asked of it is asked of that, and remembered."""

    def __init__(self, text: Any, flags: int) -> None:
        self._made_of = text, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # of copies and pickles
            raise AttributeError(name)
        attribute = getattr(re.compile(*self._made_of), name)
        self.__dict__[name] = attribute
        return attribute

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Late) and self._made_of == other._made_of

    def __hash__(self) -> int:
        return hash(self._made_of)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Late, self._made_of


def late(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`, but a text that is no pattern raises re.error only when it is first used."""
    return cast("re.Pattern[AnyStr]", _Late(text, flags))
