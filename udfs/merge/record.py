"""One record, and what the rules read from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from udfs.logs.layouts import Head, Layout

_GLUE = (b"\0", b"\xef")


@dataclass(eq=False)
class Record:
    """One record, read as far as somebody asks."""

    raw: bytes
    layout: Layout | None = None  # None: the usual one
    node: int | None = None  # of its file; None: unknown

    @cached_property
    def head(self) -> Head:
        """The parts of its first line; of one whose begin another writer tore, from where it goes on."""
        from udfs.logs.layouts import APACHE, read_head

        layout = self.layout or APACHE
        begin = 0
        if layout.torn is not None and not layout.start.match(self.raw) and self.raw[:1] not in _GLUE:
            torn = layout.torn.search(self.raw, 0, self._head_end)
            begin = torn.start() if torn else 0
        return read_head(layout, self.raw, begin, self._head_end, len(self.raw))

    @cached_property
    def _head_end(self) -> int:
        return self.raw.find(b"\n") + 1 or len(self.raw)

    @property
    def level(self) -> str:
        """Its level; empty if it has none."""
        return self.head[1].decode("ascii", "replace")

    @property
    def logger(self) -> str:
        """Its logger; empty if it has none."""
        return self.head[5].decode("utf-8", "backslashreplace") or (self.layout.logger if self.layout else "")

    @property
    def message(self) -> bytes:
        """Its message, without time, level and logger; of several lines the first."""
        return self.head[2]

    @property
    def detail(self) -> bytes:
        """Its further lines."""
        return self.raw[self._head_end :].rstrip(b"\r\n")

    @cached_property
    def event(self) -> dict[str, Any] | None:
        """What the rule that knows it reads: event type, columns, further fields, `node`. None if no rule knows it."""
        from udfs.rules.parsing import read_message

        return read_message(self.logger, self.message)

    @property
    def writer(self) -> int | None:
        """The node that wrote it: the one that it names, else its file's."""
        writer: int | None = (self.event or {}).get("node")
        return self.node if writer is None else writer
