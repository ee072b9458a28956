"""Whether a stream's records come the newest first, and whether its wrappers tell another time than its lines do."""

from __future__ import annotations

from udfs.logs.layouts import APACHE, Layout
from udfs.logs.line_order import is_newest_first, unit_of_reversal
from udfs.logs.line_patterns import pattern_of
from udfs.logs.row_fields import RowFields, zoned
from udfs.logs.timestamps import micros_of
from udfs.logs.wrappers import ZONED, texts_by_channel
from udfs.rules.prefixes import read_prefix
from udfs.rules.regex import late

_LINES = 2000
_THREAD = late(rb"\[[^=\]]*\]")
_ZONED = late(r"(?<=[(&])zoned\)$")
_CLOCK = r"\d+:\d+"  # as prefixes have times
_ROWS = ("csv", "json-rows", "ruby", "export", "json")
"""Wrappers whose pieces are rows, in the order in which they were sorted."""


def with_order(text: bytes, wrapper: str, layout: Layout) -> str:
    """The wrappers of a text and, if they show to be needed, those for zones and for the order."""
    if layout.time != "local":
        return wrapper
    for name in _zoned_names(wrapper):
        if _is_zoned(text, name, layout):
            wrapper = name
            break
    by_channel = _lines_by_channel(text, wrapper)
    if not is_newest_first([_times(lines, layout) for lines in by_channel]):
        return wrapper
    lines = [line for of_channel in by_channel for line in of_channel]
    is_of_rows = any(part.partition("(")[0] in _ROWS for part in wrapper.split("/"))
    unit = "rows" if is_of_rows else unit_of_reversal(lines)
    return "/".join(filter(None, (wrapper, f"newest-first({unit})")))


def pattern_of_thread(text: bytes, wrapper: str, layout: Layout | None) -> str | None:
    """What reads a thread that is printed where Apache's layout has the message; None if none is printed there."""
    if layout is None or layout.name not in ("apache", "console", "cloudera", "strimzi"):
        return None
    whole = b"".join(b"".join(parts) for parts in texts_by_channel(text, wrapper).values()) if wrapper else text
    heads = [m for line in whole.split(b"\n")[:_LINES] if (m := layout.head.match(line))]
    if not _begin_with_threads([m["prefix"] for m in heads]):
        return None
    for pattern in pattern_of(whole[: 64 << 10]):
        name = f"layout({pattern.replace('~', '~0').replace('/', '~1')})"
        inside = b"".join(b"".join(parts) for parts in texts_by_channel(whole, name).values())
        others = [m for line in inside.split(b"\n")[:_LINES] if (m := APACHE.head.match(line))]
        if len(others) * 10 >= len(heads) * 9 and not _begin_with_threads([m["prefix"] for m in others]):
            return name
    return None


def _begin_with_threads(prefixes: list[bytes]) -> bool:
    """Whether nearly all messages begin with brackets that no message of Kafka's begins with.

    What names ids (`[Controller id=3, targetBrokerId=0] `, `[Producer clientId=a] `) is no thread, but Kafka's own.
    """
    unknown = [prefix for prefix in prefixes if _THREAD.match(prefix) and read_prefix(prefix) is None]
    return len(prefixes) >= 3 and len(unknown) * 10 >= len(prefixes) * 9


def _lines_by_channel(text: bytes, wrapper: str) -> list[list[bytes]]:
    channels = texts_by_channel(text, wrapper) if wrapper else {"": [text]}
    return [b"".join(parts).split(b"\n", _LINES)[:_LINES] for parts in channels.values()]


def _times(lines: list[bytes], layout: Layout) -> list[int]:
    stamps = [m["at"] for line in lines if (m := layout.head.match(line) or layout.bare.match(line)) and m["at"]]
    micros: list[int] = micros_of(stamps).micros.tolist()
    return micros


def _zoned_names(wrapper: str) -> list[str]:
    """The same wrappers with one of them telling zones, the innermost that may first."""
    parts = wrapper.split("/")
    names: list[str] = []
    for i in range(len(parts) - 1, -1, -1):
        part = parts[i]
        kind, _, rest = part.partition("(")
        other = ZONED.get(part)
        if kind == "prefix" and _CLOCK in rest:
            other = f"prefix-zoned({rest}"
        if other is None and kind in _ROWS and "&&" in rest:
            reader, _, fields = rest.removesuffix(")").partition("&&")
            with_zone = zoned(RowFields.named(fields))
            other = None if with_zone is None else f"{kind}({reader}&&{with_zone.name})"
        if other is not None:
            names.append("/".join([*parts[:i], other, *parts[i + 1 :]]))
    return names


def _is_zoned(text: bytes, wrapper: str, layout: Layout) -> bool:
    """Whether the wrappers show that lines are of a zone that is not always UTC.

    Each line shows it for itself: by its wrapper's time it has an offset, or it was noted whenever. Where more were
    noted whenever than have an offset that is not nought, these have it by chance.
    """
    parts = (part.replace("prefix-zoned(", "prefix-alone(", 1) for part in wrapper.split("/"))
    alone = "/".join(_ZONED.sub("zoned&alone)", part) for part in parts)
    zones = [
        m["at"][19:].lstrip(b",.:0123456789").strip()
        for lines in _lines_by_channel(text, alone)
        for line in lines
        if (m := layout.head.match(line)) and m["at"]
    ]
    ahead = sum(1 for zone in zones if zone[:1] in (b"+", b"-") and zone.strip(b"+-0:"))
    return ahead >= 3 and ahead > zones.count(b"")
