"""How a stream is written: its encoding, what wraps its lines, and their layout. Found out from its first bytes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass

from udfs.logs.encodings import decoded, encoding_of
from udfs.logs.layouts import LAYOUTS, Layout, count_heads, count_starts
from udfs.logs.wrappers import WRAPPERS, unwrapped

DEPTH = 3
"""Wrappers that are looked for one inside of the other."""
_ENCODINGS = ("utf-16-le", "utf-16-be")


@dataclass(frozen=True)
class Format:
    """One format. `encoding` is empty for UTF-8 and whatever else has ASCII in it.

    `wrapper` has the names of what is around the lines, from the outside in, such as `cri/compose`; empty if they are
    as they were written.
    """

    encoding: str
    wrapper: str
    layout: Layout

    @property
    def name(self) -> str:
        """A text such as `apache`, `compose/apache` or `utf-16-le/compose/apache`."""
        return "/".join(filter(None, (self.encoding, self.wrapper, self.layout.name)))


def format_of(sample: bytes) -> Format | None:
    """The format of a stream by its first bytes; None if no line of them is a record's first.

    Wrappers are recognised by what is inside: whatever makes most lines into first lines of one layout is taken off.
    """
    encoding = encoding_of(sample)
    text = decoded(sample, encoding)
    _, wrapper, layout = max(_candidates(text, "", DEPTH), key=lambda candidate: candidate[0])
    if layout is None:
        _, layout = count_starts(text)
    return Format(encoding, wrapper, layout) if layout else None


def _candidates(text: bytes, wrapper: str, depth: int) -> Iterator[tuple[int, str, Layout | None]]:
    """First lines found, wrappers taken off and layout; the simplest first. More wrappers must find twice as many."""
    lines = text.count(b"\n") + 1
    if wrapper.rpartition("/")[2] != "ansi" and 20 * _fits("ansi", text) >= lines:
        text, wrapper = b"".join(_inside(text, "ansi")), "/".join(filter(None, (wrapper, "ansi")))
    count, layout = count_heads(text)
    yield count, wrapper, layout
    for name in WRAPPERS if depth else ():
        fits = _fits(name, text)
        if name == "ansi" or not fits or (name != "json" and (20 * fits < lines or fits <= count)):
            continue  # an object may have any number of lines, and a line any number of objects
        inside = b"".join(_inside(text, name))
        if inside != text:
            for candidate in _candidates(inside, "/".join(filter(None, (wrapper, name))), depth - 1):
                if candidate[0] > 2 * count:
                    yield candidate


def _fits(wrapper: str, text: bytes) -> int:
    return sum(1 for _ in WRAPPERS[wrapper].fits.finditer(text))


def _inside(text: bytes, wrapper: str) -> Iterator[bytes]:
    """What is in a text of one wrapper, its channels one after the other."""
    channels: dict[str, list[bytes]] = {}
    for channel, some in unwrapped(io.BytesIO(text), "", wrapper, len(text) + 1):
        channels.setdefault(channel, []).append(some.data)
    for parts in channels.values():
        joined = b"".join(parts)
        yield joined if joined.endswith(b"\n") else joined + b"\n"


def format_named(name: str) -> Format:
    """The format of that name. Raises ValueError if there is none."""
    *outer, last = name.split("/")
    encoding = outer.pop(0) if outer and outer[0] in _ENCODINGS else ""
    layout = next((layout for layout in LAYOUTS if layout.name == last), None)
    if layout is None or not all(part in WRAPPERS for part in outer):
        raise ValueError(f"{name!r} is no format; expected a name that a format gave, such as 'apache'")
    return Format(encoding, "/".join(outer), layout)


def is_complete(format_: Format, tail: bytes) -> bool:
    """Whether an unterminated last line is a whole record, so that it need not wait for its end.

    The tail begins behind the last line end, of which UTF-16 has two bytes.
    """
    text = b"".join(_inside(decoded(tail, format_.encoding), format_.wrapper)) if format_.wrapper else tail
    if format_.encoding and not format_.wrapper:
        text = decoded(tail, format_.encoding)
    layout = format_.layout
    if layout.whole:
        is_ended = layout.whole.search(text.rstrip(b"\n")) is not None
        return is_ended and layout.start.match(text) is not None and text.count(b"{") == text.count(b"}")
    return layout.ends_in_logger and layout.head.match(text) is not None


def splittable(format_: Format) -> bool:
    """Whether ranges of the stream can be read by themselves."""
    return not (format_.encoding or format_.wrapper or format_.layout.batches)
