"""What others put around log lines, taken off again: encodings, colours, prefixes of collectors, JSON.

A chain of unwrappers turns the bytes of a stream into texts of one or more channels. Each piece of a text has the
line, the offset and the number of bytes of the stream that it is from, so that the account stays exact in the bytes
on disk: pieces of one stream never overlap, and together they are all of it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, Protocol

import numpy as np

from udfs.logs.channel_text import NO_POSITIONS, ChannelText, channel_text, joined_texts, line_begins, text_until
from udfs.logs.encodings import source_texts
from udfs.logs.json_lines import DockerJson, JsonObjects
from udfs.logs.line_prefixes import Prefixed, with_line_ends
from udfs.logs.time_texts import ZoneOfLines
from udfs.rules.regex import late


class Unwrapper(Protocol):
    """One layer taken off. `feed` takes a text of whole lines and gives texts by channel; `last` ends the stream."""

    def feed(self, text: ChannelText, last: bool) -> Iterator[tuple[str, ChannelText]]: ...


class _Lines:
    """Takes off what `pattern` matches at the begin of lines, or anywhere if they all stay in one channel."""

    def __init__(self, pattern: re.Pattern[bytes]) -> None:
        self._pattern = pattern

    def feed(self, text: ChannelText, last: bool) -> Iterator[tuple[str, ChannelText]]:
        """The same lines without it."""
        if text.data:
            bare = self._pattern.sub(b"", text.data)
            begins = line_begins(bare) if bare else np.zeros(1, np.int64)
            before = line_begins(text.data)
            if len(begins) < len(before):  # nothing is left of the last line, which has no end
                begins = np.append(begins, len(bare))
            yield "", channel_text(bare, begins, *text.places.regrouped(before))


class _Channels:
    """Takes prefixes off that name the channel of a line, in group `channel`.

    A group `part` that is `P` says that the line goes on in the channel's next one. A line without prefix is of the
    channel of the line above, unless `strays` is set, which gives it one of its own, the nameless. `is_fixed`: a
    channel's prefix is always the same. `joins`: lines may have been joined (`with_line_ends`).
    """

    def __init__(
        self, pattern: re.Pattern[bytes], strays: bool = False, is_fixed: bool = False, joins: bool = False
    ) -> None:
        self._pattern, self._strays, self._is_fixed, self._joins = pattern, strays, is_fixed, joins
        self._parts = "part" in pattern.groupindex
        self._current = b""

    def feed(self, text: ChannelText, last: bool) -> Iterator[tuple[str, ChannelText]]:
        """The lines by channel, each channel's in order."""
        data = text.data
        if not data:
            return
        begins = line_begins(data)
        lines, offsets, sizes = text.places.regrouped(begins)
        first = self._pattern.match(data) if self._is_fixed else None
        if first is not None and data.count(b"\n" + first[0]) == len(begins) - 1:  # one channel only
            self._current = first["channel"]
            bare = data.replace(b"\n" + first[0], b"\n")[len(first[0]) :]
            bare_begins = begins - len(first[0]) * np.arange(len(begins))
            yield _name(self._current), channel_text(bare, bare_begins, lines, offsets, sizes)
            return
        ends = np.append(begins[1:], len(data)).tolist()
        froms = begins.tolist()
        matches = {m.start(): m for m in self._pattern.finditer(data)}
        by_channel: dict[bytes, list[int]] = {}
        current = self._current
        for i, begin in enumerate(froms):
            m = matches.get(begin)
            if m is not None:
                current = m["channel"]
                froms[i] = m.end()
                if self._parts and m["part"] == b"P":
                    ends[i] -= 2 if data[ends[i] - 2 : ends[i]] == b"\r\n" else data[ends[i] - 1] == 10
            elif self._strays:
                current = b""
            by_channel.setdefault(current, []).append(i)
        self._current = current
        for channel, mine in by_channel.items():
            pieces = [data[froms[i] : ends[i]] for i in mine]
            if self._joins and b"#01" in data:
                pieces = [with_line_ends(piece) for piece in pieces]
            lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))
            some = channel_text(b"".join(pieces), np.cumsum(lengths) - lengths, lines[mine], offsets[mine], sizes[mine])
            yield _name(channel), some


def _name(channel: bytes) -> str:
    return channel.decode("utf-8", "backslashreplace")


_ISO = rb"(?P<at>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d))"


def _pattern(text: bytes) -> re.Pattern[bytes]:
    return late(text, re.MULTILINE)


@dataclass(frozen=True)
class Wrapper:
    """A kind of wrapping; `fits` matches once in about each line of it. `sample` is what it makes of the line `x`."""

    fits: re.Pattern[bytes]
    make: Callable[[], Unwrapper]
    sample: bytes


_COLOUR = _pattern(rb"\x1b\[[0-9;?]*[ -/]*[@-~]")
_COMPOSE = _pattern(rb"^(?P<channel>\w[\w.-]*) +\|(?: |(?=\r?$))")
_POD = _pattern(rb"^\[pod/(?P<channel>[^\]\s]+)\] ")
_CRI = _pattern(rb"^" + _ISO + rb" (?P<channel>stdout|stderr) (?P<part>[FP])(?::\w+)*(?: |(?=\r?$))")
_STAMPS = _pattern(rb"^" + _ISO + rb"(?: |(?=\r?$))")
_SYSLOG = _pattern(
    rb"^(?:<\d{1,3}>1? ?)?(?:[^\s\d\[:|]{2,24} {1,2}\d{1,2} \d\d:\d\d:\d\d(?:\.\d+)?"
    rb"|\d{1,2} [^\s\d\[:|]{2,24} \d\d:\d\d:\d\d|"
    + _ISO
    + rb") (?P<channel>[\w.:-]+ [^\s:\[\]]+)(?:\[\d+\])?:(?: |(?=\r?$))"
)
_GREP = _pattern(
    rb"^(?P<channel>(?!\d{4}-\d\d-\d\dT)(?:[A-Za-z]:)?(?=\d*+[^\s:\[\]{}\"|\d])[^\s:\[\]{}\"|]++):(?:\d+:)?"
)
_BRACES = _pattern(rb"^[ \t]*(?:\[[ \t]*)?\{")
WRAPPERS: Mapping[str, Wrapper] = {
    "ansi": Wrapper(_COLOUR, lambda: _Lines(_COLOUR), b"\x1b[32mx\x1b[0m"),
    "json-file": Wrapper(
        _pattern(rb'^\{"log":'), DockerJson, b'{"log":"x\\n","stream":"stdout","time":"2024-02-29T23:59:59.999Z"}'
    ),
    "json": Wrapper(_BRACES, JsonObjects, b'{"message":"x"}'),
    "cri": Wrapper(_CRI, lambda: _Channels(_CRI), b"2024-02-29T23:59:59.999999999Z stdout F x"),
    "syslog": Wrapper(
        _SYSLOG, lambda: _Channels(_SYSLOG, joins=True), b"Feb 29 23:59:59 kafka-03 kafka-server-start.sh[15550]: x"
    ),
    "compose": Wrapper(_COMPOSE, lambda: _Channels(_COMPOSE, strays=True, is_fixed=True), b"kafka  | x"),
    "pod": Wrapper(_POD, lambda: _Channels(_POD, is_fixed=True), b"[pod/kafka-0/kafka] x"),
    "stamps": Wrapper(_STAMPS, lambda: _Lines(_STAMPS), b"2024-02-29T23:59:59.999999999Z x"),
    "grep": Wrapper(_GREP, lambda: _Channels(_GREP), b"broker-3/state-change.log:x"),
}


ZONED = {
    **{name: f"{name}(zoned)" for name in ("cri", "stamps", "syslog", "json")},
    "json-file": "json-rows(&&line=log&at=time&from=stream&parts&zoned)",
}
"""Wrappers that tell times with their zone, and what they are where lines' own times are local ones."""
_ZONED_PREFIXES = {"cri": _CRI, "stamps": _STAMPS, "syslog": _SYSLOG}
_NAMED = re.compile(r"(?P<kind>[a-z-]+)\((?P<parameters>.*)\)", re.DOTALL)


def make_unwrapper(name: str) -> Unwrapper:
    """The unwrapper of a name: a key of WRAPPERS, or one with parameters. Raises ValueError if there is none."""
    if name in WRAPPERS:
        return WRAPPERS[name].make()
    m = _NAMED.fullmatch(name)
    if m is None:
        raise ValueError(f"{name!r} is no wrapper; expected a name that a format gave, such as 'compose'")
    if m["parameters"] in ("zoned", "zoned&alone"):
        zones = partial(ZoneOfLines, alone=m["parameters"] != "zoned")
        if m["kind"] == "json":
            return JsonObjects(zones())
        if m["kind"] in _ZONED_PREFIXES:
            return Prefixed(_ZONED_PREFIXES[m["kind"]], zones=zones)
    from udfs.logs.unknown_wrappers import unwrapper

    return unwrapper(m["kind"], m["parameters"])


class _Layer:
    """One wrapper of a chain, over all channels of the one outside of it; keeps what is no whole line yet."""

    def __init__(self, wrapper: str) -> None:
        self._wrapper = wrapper
        self._inner: dict[str, Unwrapper] = {}
        self._rests: dict[str, list[ChannelText]] = {}

    def feed(self, channel: str, text: ChannelText) -> Iterator[tuple[str, ChannelText]]:
        """Take a text, give what is inside of its whole lines."""
        rests = self._rests.setdefault(channel, [])
        stop = text.data.rfind(b"\n") + 1
        if not stop:
            rests.append(text)
            return
        whole = joined_texts([*rests, text])
        stop += len(whole.data) - len(text.data)
        behind = whole.places.after(stop)
        rests[:] = [ChannelText(whole.data[stop:], behind)] if len(behind.begins) else []
        yield from self._unwrap(channel, text_until(whole, stop), last=False)

    def end(self) -> Iterator[tuple[str, ChannelText]]:
        """What is left at the end of the stream."""
        for channel, rests in self._rests.items():
            yield from self._unwrap(channel, joined_texts(rests), last=True)

    def _unwrap(self, channel: str, text: ChannelText, last: bool) -> Iterator[tuple[str, ChannelText]]:
        inner = self._inner.get(channel)
        if inner is None:
            inner = self._inner[channel] = make_unwrapper(self._wrapper)
        if not text.data and len(text.places.begins):  # bytes that were no text
            yield channel, text
            text = ChannelText(b"", NO_POSITIONS)
        for name, some in inner.feed(text, last):
            whole = "/".join(filter(None, (channel, name)))
            yield whole.encode("utf-8", "backslashreplace").decode(), some  # JSON may have half of a surrogate pair


def unwrapped(stream: BinaryIO, encoding: str, wrapper: str, block: int) -> Iterator[tuple[str, ChannelText]]:
    """The texts in a stream by channel; `wrapper` names the layers from the outside in, such as `cri/compose`."""
    layers = [_Layer(name) for name in wrapper.split("/") if name]

    def through(channel: str, text: ChannelText, depth: int) -> Iterator[tuple[str, ChannelText]]:
        if depth == len(layers):
            yield channel, text
            return
        for name, inner in layers[depth].feed(channel, text):
            yield from through(name, inner, depth + 1)

    for text in source_texts(stream, encoding, block):
        yield from through("", text, 0)
    for depth, layer in enumerate(layers):
        for name, inner in layer.end():
            yield from through(name, inner, depth + 1)


def texts_by_channel(text: bytes, wrapper: str) -> dict[str, list[bytes]]:
    """What is in a text by channel."""
    channels: dict[str, list[bytes]] = {}
    for channel, some in unwrapped(io.BytesIO(text), "", wrapper, len(text) + 1):
        channels.setdefault(channel, []).append(some.data)
    return channels
