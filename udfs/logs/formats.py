"""How a stream is written: its encoding, what wraps its lines, and their layout. Found out from its first bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from udfs.logs.encodings import decoded, encoding_of
from udfs.logs.json_scan import is_cut_document
from udfs.logs.layouts import APACHE, LAYOUTS, Layout, count_heads, count_starts, read_head
from udfs.logs.line_order import is_wrapped_at_blanks
from udfs.logs.line_patterns import (
    counts_from_start,
    has_much_cut_levels,
    holds_records,
    lacks_dates,
    names_unknown_zone,
)
from udfs.logs.loggers import LOGGER_NAME, is_known_logger
from udfs.logs.orders import pattern_of_thread, with_order
from udfs.logs.soundness import has_short_years, is_sound, lacks_loggers, names_loggers
from udfs.logs.timestamps import NO_TIME, micros_of
from udfs.logs.unknown_wrappers import LOOKED_AT, name_of_source, name_of_wrap, names_for
from udfs.logs.wrappers import WRAPPERS, make_unwrapper, texts_by_channel
from udfs.rules.regex import late

DEPTH = 3
"""Wrappers that are looked for one inside of the other."""
_NEAR = 300  # characters
_TIME_NEARBY = late(r"\d\d:\d\d:\d\d|(?<![\w.])1\d{12}(?:\d{3}){0,2}(?!\d)")
DOCUMENTS = ("csv(", "json-rows(", "ruby(", "export(", "newest-first(")
"""Wrappers of streams that are read as a whole, not line by line: tables, exports."""
_EXAMPLE = b"KRaft (aka KIP-500) mode"
"""How the page begins that Kafka 2.8.0 to 3.3.1 ship beside `logs/` (`config/kraft/README.md`): it shows a dump."""
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
    def is_newest_first(self) -> bool:
        """Whether records stand in the stream from the last to the first."""
        return "newest-first(" in self.wrapper

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
    if is_example(text):
        return None
    count, wrapper, layout = max(_candidates(text, "", DEPTH), key=_count)
    some = text[:LOOKED_AT]
    if 2 * count < (expected := _expected(text, count)):
        expected = _expected(some, 0)
        known = max(_candidates(some, "", DEPTH), key=_count)[0]
        count, wrapper, layout = max(((known, wrapper, layout), *_unusual(some, "", DEPTH)), key=_count)
    elif layout is not None and (
        not names_loggers(b"".join(_inside(text, wrapper)), layout)
        or holds_records(b"".join(_inside(some, wrapper)), layout)
    ):
        wrapper, layout = _better(some, wrapper, layout)
    elif (source := name_of_source(b"".join(_inside(some, wrapper)))) is not None:
        wrapper = _joined(wrapper, source)
    elif not wrapper and (cut := name_of_wrap(some)):
        joined = b"".join(_inside(some, cut))
        choices = (*_candidates(some, "", 0), *_candidates(joined, cut, 0))
        _, wrapper, layout = max(choices, key=_count)
    elif (pattern := pattern_of_thread(text, wrapper, layout)) is not None:
        wrapper, layout = _joined(wrapper, pattern), APACHE
    if layout is None:
        _, layout = count_starts(text)
    if layout is not None and has_much_cut_levels(b"".join(_inside(some, wrapper)), layout):
        wrapper = _joined(wrapper, f"levels({layout.name})")
    if layout is None or (2 * count < expected and is_wrapped_at_blanks(text)):
        return None
    if lacks_loggers(b"".join(_inside(text, wrapper)), layout):
        return None
    if layout.time == "local" and not any(_has_times(inside, layout) for inside in _inside(text, wrapper)):
        return None
    return Format(encoding, with_order(text, wrapper, layout), layout)


def is_example(text: bytes) -> bool:
    """Whether a text is no log of anybody's, though it shows one: Kafka's own page about KRaft."""
    return text.startswith(_EXAMPLE)


def _has_times(text: bytes, layout: Layout) -> bool:
    """Whether a record starts of which the layout reads the time."""
    lines = ((m.start(), text.find(b"\n", m.start()) + 1 or len(text)) for m in layout.start.finditer(text))
    stamps = (read_head(layout, text, start, end, end)[0] for start, end in lines)
    return any(micros_of([stamp]).micros[0] != NO_TIME for stamp in stamps)


def why_unread(sample: bytes) -> str | None:
    """Why a stream without format is none although it names Kafka's loggers; None if it does not."""
    text = decoded(sample, encoding_of(sample))
    if is_example(text):
        return None
    characters = text.decode("utf-8", "replace")
    names = (m for m in LOGGER_NAME.finditer(characters) if is_known_logger(m[0]))
    if has_short_years(text):
        return "its dates have two digits for the year"
    if counts_from_start(text) and is_known_logger(next(LOGGER_NAME.finditer(characters), [""])[0]):
        return "its lines count the time from the start of their program"
    if not any(_TIME_NEARBY.search(characters, max(m.start() - _NEAR, 0), m.end() + _NEAR) for m in names):
        return "its lines name no logger of Kafka's" if lacks_loggers(text) else None  # a configuration names some, too
    if is_wrapped_at_blanks(text):
        return "its lines are broken between words, and the blanks are lost"
    if lacks_dates(text):
        return "its lines have a time, but no date"
    if names_unknown_zone(text):
        return "its times name a zone that does not mean one offset from UTC alone"
    if text.lstrip()[:1] == b"<":
        return "XML or HTML is not read"
    return "where in it time, level and message stand was not found"


_Candidate = tuple[int, str, Layout | None]
"""First lines found, wrappers taken off and layout."""


def _count(candidate: _Candidate) -> tuple[int, int]:
    """Of several that find as many the one with the fewest layers."""
    return candidate[0], -candidate[1].count("/") - bool(candidate[1])


def _expected(text: bytes, count: int) -> int:
    """How many records there may be: places where a logger is named; of a text with a record in most lines as many."""
    if count and 2 * count >= text.count(b"\n"):
        return count
    return sum(1 for _ in LOGGER_NAME.finditer(text.decode("latin-1")))


def _candidates(text: bytes, wrapper: str, depth: int) -> Iterator[_Candidate]:
    """Known wrappers; the simplest first. More wrappers must find twice as many."""
    lines = text.count(b"\n") + 1
    if wrapper.rpartition("/")[2] != "ansi" and 20 * _fits("ansi", text) >= lines:
        text, wrapper = b"".join(_inside(text, "ansi")), _joined(wrapper, "ansi")
    count, layout = count_heads(text)
    yield count, wrapper, layout
    for name in WRAPPERS if depth else ():
        fits = _fits(name, text)
        if name == "ansi" or not fits or (name != "json" and (20 * fits < lines or fits <= count)):
            continue  # an object may have any number of lines, and a line any number of objects
        if name == "json" and is_cut_document(text):
            continue
        inside = b"".join(_inside(text, name))
        if inside != text:
            for candidate in _candidates(inside, _joined(wrapper, name), depth - 1):
                if candidate[0] > 2 * count:
                    yield candidate


def _better(text: bytes, wrapper: str, layout: Layout) -> tuple[str, Layout]:
    """Wrappers and layout by which lines name Kafka's loggers, as they do not by those given; these if none do so."""
    count = max(_candidates(text, "", DEPTH), key=_count)[0]
    others = [some for some in _unusual(text, "", DEPTH, at_least=count // 2) if some[0] * 2 >= count]
    _, better, of_better = max(others, key=_count, default=(0, wrapper, layout))
    return better, of_better or layout


def _unusual(text: bytes, wrapper: str, depth: int, at_least: int | None = None) -> Iterator[_Candidate]:
    """Wrappers that are found out by looking, maybe inside of known ones; of each the best way to go on inside.

    They show more records than there are without any, or more than `at_least`.
    """
    lines = text.count(b"\n") + 1
    known = [name for name in WRAPPERS if name != "json" and 2 * _fits(name, text) > lines]
    before = count_heads(text)[0] if at_least is None else at_least
    enough = 0.8 * max(_expected(text, 0), 1)
    for name in (*known, *names_for(text)):
        inside = b"".join(_inside(text, name))
        if inside == text or not inside.strip():
            continue
        names = _joined(wrapper, name)
        best = max(_candidates(inside, names, 1), key=_count)
        if depth > 1 and 2 * best[0] < _expected(inside, best[0]):
            best = max((best, *_unusual(inside, names, depth - 1)), key=_count)
        if best[0] > before and _is_sound(inside, best, best[1][len(names) :]):
            yield best
            if best[0] >= enough:
                return


def _is_sound(text: bytes, candidate: _Candidate, wrapper: str) -> bool:
    """Whether messages of a candidate are Kafka's; `wrapper` is what of its wrappers is still around the text."""
    _, _, layout = candidate
    assert layout is not None
    return is_sound(b"".join(_inside(text, wrapper.strip("/"))), layout)


def _joined(outer: str, inner: str) -> str:
    return "/".join(filter(None, (outer, inner)))


def _fits(wrapper: str, text: bytes) -> int:
    return sum(1 for _ in WRAPPERS[wrapper].fits.finditer(text))


def _inside(text: bytes, wrapper: str) -> Iterator[bytes]:
    """What is in a text of one wrapper, its channels one after the other."""
    for parts in texts_by_channel(text, wrapper).values():
        joined = b"".join(parts)
        yield joined if joined.endswith(b"\n") else joined + b"\n"


def format_named(name: str) -> Format:
    """The format of that name. Raises ValueError if there is none."""
    *outer, last = name.split("/")
    encoding = outer.pop(0) if outer and outer[0] in _ENCODINGS else ""
    layout = next((layout for layout in LAYOUTS if layout.name == last), None)
    try:
        for part in outer:
            make_unwrapper(part)
    except ValueError:
        layout = None
    if layout is None:
        raise ValueError(f"{name!r} is no format; expected a name that a format gave, such as 'apache'")
    return Format(encoding, "/".join(outer), layout)


def is_complete(format_: Format, tail: bytes) -> bool:
    """Whether an unterminated last line is a whole record, so that it need not wait for its end.

    The tail begins behind the last line end, of which UTF-16 has two bytes. An export is whole: nobody writes on.
    """
    if has_wrapper(format_, DOCUMENTS):
        return True
    if format_.wrapper.endswith("json") and not decoded(tail, format_.encoding).strip(b" \t\r\n}],"):
        return True  # the end of an object over several lines
    text = b"".join(_inside(decoded(tail, format_.encoding), format_.wrapper)) if format_.wrapper else tail
    if format_.encoding and not format_.wrapper:
        text = decoded(tail, format_.encoding)
    layout = format_.layout
    if layout.whole:
        is_ended = layout.whole.search(text.rstrip(b"\n")) is not None
        return is_ended and layout.start.match(text) is not None and text.count(b"{") == text.count(b"}")
    return layout.ends_in_logger and layout.head.match(text) is not None


def has_wrapper(format_: Format, kinds: tuple[str, ...]) -> bool:
    """Whether one of a stream's wrappers is of some kinds."""
    return any(part.startswith(kinds) for part in format_.wrapper.split("/"))


def splittable(format_: Format) -> bool:
    """Whether ranges of the stream can be read by themselves."""
    return not (format_.encoding or format_.wrapper or format_.layout.batches)


def can_go_on(format_: Format) -> bool:
    """Whether a stream that has grown can be read from its last record on: each byte behind that is the record's."""
    return splittable(format_) and format_.layout.apart is None
