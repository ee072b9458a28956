"""Where records start in a block of bytes, found for the whole block at once, in compiled loops."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from udfs.logs.arrays import Bytes, Longs
from udfs.logs.layouts import GLUE, REACH, Layout

_IS_GLUE = np.isin(np.arange(256), list(GLUE))


def len_without_glue(data: bytes, stop: int) -> int:
    """Length of data[:stop] without the glue at its end."""
    size = 64
    while True:
        begin = max(stop - size, 0)
        left = len(data[begin:stop].rstrip(GLUE))
        if left or not begin:
            return begin + left
        size *= 16


def find_starts(layout: Layout, data: bytes, newlines: Longs, begin: int, stop: int, is_line_begin: bool) -> Longs:
    """Where records start that begin, behind their glue, in [begin, stop) of `data`; in order.

    `newlines` are the positions of all line ends; `is_line_begin` says whether data[0] follows one. The REACH bytes
    behind `stop` must be there, unless nothing follows.
    """
    text = np.frombuffer(data if stop + REACH <= len(data) else data + bytes(REACH), np.uint8)
    lines = newlines[np.searchsorted(newlines, begin - 1) : np.searchsorted(newlines, stop - 1)] + 1
    if is_line_begin and begin == 0 < stop:
        lines = np.append(0, lines)
    openings = _openings(layout, text, data, lines)
    behind_glue = _behind_glue(data, text, begin, stop)
    torn = _torn(layout, text, data, begin, stop)
    if len(behind_glue):
        behind_glue = _openings(layout, text, data, behind_glue)
        openings = np.union1d(openings, behind_glue)
    if len(torn):
        openings = np.union1d(openings, torn)
    starts = openings
    glued = np.flatnonzero(_IS_GLUE[text[starts - 1]] & (starts > 0)).tolist()
    if glued:
        starts = starts.copy()
        for i in glued:
            starts[i] = len_without_glue(data, int(starts[i]))
    return starts


def _openings(layout: Layout, text: Bytes, data: bytes, places: Longs) -> Longs:
    """Those places at which a first line of the layout begins."""
    places = places[_first_bytes(layout)[text[places]]]
    if not len(places):
        return places
    usual = _fits(layout.usual, text, places)
    if usual.all():
        return places
    match = layout.start.match
    odd = np.flatnonzero(~usual)
    usual[odd] = [match(data, place) is not None for place in places[odd].tolist()]
    return places[usual]


def _behind_glue(data: bytes, text: Bytes, begin: int, stop: int) -> Longs:
    """Positions in [begin, stop) that have glue before them and are none; not the first of all."""
    begin = max(begin, 1)
    if all(data.find(glue, begin - 1, stop) < 0 for glue in (b"\0", b"\xbf")):  # either stands before a start
        return np.zeros(0, np.int64)
    glue = _IS_GLUE[text[begin - 1 : stop]]
    places: Longs = np.flatnonzero(glue[:-1] & ~glue[1:]) + begin
    before = text[places - 1]
    behind: Longs = places[(before == 0) | (before == 0xBF)]
    return behind


def _torn(layout: Layout, text: Bytes, data: bytes, begin: int, stop: int) -> Longs:
    """Positions in [begin, stop), not the first of all, at which a first line begins in spite of what is before it."""
    if layout.torn is None:
        return np.zeros(0, np.int64)
    begin = max(begin, 1)
    hint = int.from_bytes(layout.opening[:2], "little")
    even = np.flatnonzero(_pairs(text, begin, stop) == hint) * 2 + begin
    odd = np.flatnonzero(_pairs(text, begin + 1, stop) == hint) * 2 + begin + 1
    places: Longs = np.append(even, odd)
    places = places[text[places - 1] != 10]
    places = places[_fits(layout.opening, text, places)]
    if not len(places):
        return places
    match = layout.torn.match
    matches = [place for place in np.sort(places).tolist() if match(data, place)]
    return np.array(matches, np.int64)


def _pairs(text: Bytes, begin: int, stop: int) -> npt.NDArray[np.uint16]:
    """The bytes from `begin` on as numbers of two; those that begin before `stop`."""
    return np.frombuffer(text, "<u2", max(stop - begin + 1, 0) // 2, begin)


@lru_cache(maxsize=64)
def _first_bytes(layout: Layout) -> npt.NDArray[np.bool_]:
    """By byte, whether a first line may begin with it."""
    return np.isin(np.arange(256), list(layout.first))


@lru_cache(maxsize=64)
def _words(template: bytes) -> list[tuple[int, int, int, int]]:
    """A template as words of eight bytes: where, which bits must be what, and a 1 in each byte that is a digit."""
    words = []
    for at in [*range(0, len(template) - 7, 8), *([len(template) - 8] if len(template) % 8 else [])]:
        part = template[at : at + 8]
        mask = bytes(0xF0 if b in b"0" else 0 if b in b"A" else 0xFF for b in part)
        expected = bytes(0 if b in b"A" else b for b in part)
        digits = bytes(b in b"0" for b in part)
        words.append((at, *(int.from_bytes(some, "little") for some in (mask, expected, digits))))
    return words


def _fits(template: bytes, text: Bytes, places: Longs) -> npt.NDArray[np.bool_]:
    """Whether the text at each place is as a template says; an empty template fits nothing."""
    fit = np.full(len(places), template != b"")
    words = np.ndarray((max(len(text) - 7, 0),), "<u8", text, 0, (1,))
    for at, mask, expected, digits in _words(template) if len(places) else ():
        word = words[places + at]
        fit &= (word & np.uint64(mask)) == np.uint64(expected)
        if digits:  # 0x30 to 0x3f so far; 0x3a and more, carried on by 6, are 0x40 and more
            fit &= ((word + np.uint64(6 * digits)) & np.uint64(0xF0 * digits)) == np.uint64(0x30 * digits)
    for at in (i for i, b in enumerate(template) if b in b"A"):
        letter = text[places + at]
        fit &= (letter >= 65) & (letter <= 90)
    return fit
