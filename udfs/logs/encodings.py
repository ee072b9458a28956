"""Encodings: UTF-16 and byte order marks, carried to UTF-8."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from udfs.logs.arrays import Longs
from udfs.logs.channel_text import ChannelText, channel_text, line_begins

_BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
UTF8_BOM = b"\xef\xbb\xbf"


def encoding_of(sample: bytes) -> str:
    """`utf-16-le` or `utf-16-be`, by the mark or by the zero bytes between ASCII; empty if it is neither."""
    if sample[:2] in _BYTE_ORDER_MARKS:
        return _BYTE_ORDER_MARKS[sample[:2]]
    begin = sample[:512]
    for name, zeros, others in (("utf-16-le", begin[1::2], begin[::2]), ("utf-16-be", begin[::2], begin[1::2])):
        if len(zeros) > 20 and zeros.count(0) > 0.9 * len(zeros) and others.count(0) < 0.1 * len(others):
            return name
    return ""


def decoded(data: bytes, encoding: str, is_first: bool = True) -> bytes:
    """UTF-8 of whole lines of a stream, the first ones without their mark; what is no text stays as it is."""
    whole = len(data) // 2 * 2
    text = data
    if encoding:
        characters = data[:whole].decode(encoding, "surrogatepass")
        text = characters.encode("utf-8", "surrogatepass") + data[whole:]
    return text.removeprefix(UTF8_BOM) if is_first else text


def source_texts(stream: BinaryIO, encoding: str, block: int) -> Iterator[ChannelText]:
    """The lines of a stream, in blocks of whole ones."""
    rest = b""
    line, offset = 1, 0
    last = False
    while not last:
        more = stream.read(max(block, len(rest)))
        last = not more
        data = rest + more
        ends = _line_ends(data, encoding)
        stop = len(data) if last else int(ends[-1]) if len(ends) else 0
        rest = data[stop:]
        if not stop:
            continue
        ends = np.append(ends, stop) if not len(ends) or ends[-1] < stop else ends
        text = decoded(data[:stop], encoding, is_first=offset == 0)
        sizes = np.diff(ends, prepend=0)
        begins = (line_begins(text) if text else np.zeros(1, np.int64))[: len(ends)]
        begins = np.append(begins, np.full(len(ends) - len(begins), len(text)))  # it may end in what is no character
        yield channel_text(text, begins, line + np.arange(len(ends)), offset + ends - sizes, sizes)
        line += len(ends)
        offset += stop


def _line_ends(data: bytes, encoding: str) -> Longs:
    """Positions behind the line ends."""
    if not encoding:
        return np.flatnonzero(np.frombuffer(data, np.uint8) == 10) + 1
    units = np.frombuffer(data, "<u2" if encoding == "utf-16-le" else ">u2", len(data) // 2)
    return np.flatnonzero(units == 10) * 2 + 2
