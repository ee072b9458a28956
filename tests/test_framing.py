"""Records are found whole, in their place, wherever reading was cut."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs import framing
from udfs.framing import Frames, Stretch, frames
from udfs.layouts import APACHE, DUMP, HEAD, LAYOUTS, Layout, layout_of

CAPTURES = Path(__file__).parents[2] / "shared" / "captures"
needs_captures = pytest.mark.skipif(not CAPTURES.exists(), reason=f"no {CAPTURES}")

Placed = tuple[int, int, bytes]  # line, byte offset, all bytes of one record


def read(
    data: bytes, layout: Layout = APACHE, start: int = 0, end: int | None = None, block: int = 1 << 20
) -> tuple[list[Placed], int]:
    """The records of a range, and the bytes that belong to none."""
    stream = io.BytesIO(data)
    stream.seek(max(start - 1, 0))
    placed: list[Placed] = []
    stretched = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(framing, "BLOCK", block)
        for part in frames(stream, layout, start, end, data.count(b"\n", 0, start) + 1):
            if isinstance(part, Stretch):
                stretched += part.size
            else:
                places = zip(part.lines.tolist(), (part.starts + part.offset).tolist(), strict=True)
                placed += [(line, offset, part.raw(i)) for i, (line, offset) in enumerate(places)]
    return placed, stretched


FIRST_LINES = {
    "apache": rb"(\xef\xbb\xbf)?\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] +[A-Z]+ +.* \([\w.$-]+\)\r?",
    "metadata_dump": rb"(\xef\xbb\xbf)?(\| )?(baseOffset|offset): .*CreateTime: \d.*",
}


def oracle(data: bytes, layout: Layout = APACHE) -> tuple[list[Placed], int]:
    """The same as `read`, line by line and without any cleverness."""
    placed: list[Placed] = []
    stretched = offset = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        whole = line + b"\n" if offset + len(line) < len(data) else line
        if re.fullmatch(FIRST_LINES[layout.name], line, re.DOTALL):
            placed.append((number, offset, whole))
        elif placed:
            placed[-1] = (*placed[-1][:2], placed[-1][2] + whole)
        else:
            stretched += len(whole)
        offset += len(whole)
    return placed, stretched


ONE = b"[2024-02-29 23:59:59,999] INFO [Controller id=3] Starting (kafka.controller.KafkaController)\n"
TWO = b"[2024-03-01 00:00:00,000] TRACE a (b) c (state.change.logger)\n"
TRACE = b"java.io.IOException: gone\n\tat a.B.c(B.java:7)\nCaused by: x (y)\n"

TEXTS: dict[str, tuple[bytes, list[tuple[int, int, int]], int]] = {  # text -> line, offset, size of each record; rest
    "nothing": (b"", [], 0),
    "no record": (TRACE, [], len(TRACE)),
    "one": (ONE, [(1, 0, len(ONE))], 0),
    "two": (ONE + TWO, [(1, 0, len(ONE)), (2, len(ONE), len(TWO))], 0),
    "no final newline": (ONE + TWO[:-1], [(1, 0, len(ONE)), (2, len(ONE), len(TWO) - 1)], 0),
    "a stack trace belongs to the record above": (
        ONE + TRACE + TWO,
        [(1, 0, len(ONE + TRACE)), (5, len(ONE + TRACE), len(TWO))],
        0,
    ),
    "a stack trace at the end": (ONE + TRACE[:-1], [(1, 0, len(ONE + TRACE) - 1)], 0),
    "lines before the first record are nobody's": (TRACE + TWO, [(4, len(TRACE), len(TWO))], len(TRACE)),
    "empty lines": (b"\n\n" + ONE + b"\n" + TWO, [(3, 2, len(ONE) + 1), (5, 3 + len(ONE), len(TWO))], 2),
    "a byte order mark": (b"\xef\xbb\xbf" + ONE + TWO, [(1, 0, len(ONE) + 3), (2, len(ONE) + 3, len(TWO))], 0),
    "a record inside of a line is none": (ONE + b"x " + TWO, [(1, 0, len(ONE + TWO) + 2)], 0),
    "a first line without logger is none": (ONE + TWO[:42] + b"\n", [(1, 0, len(ONE) + 43)], 0),
    "zero bytes": (ONE + b"\0" * 20 + b"\n" + TWO, [(1, 0, len(ONE) + 21), (3, len(ONE) + 21, len(TWO))], 0),
    "CRLF": (
        (ONE + TRACE + TWO).replace(b"\n", b"\r\n"),
        [(1, 0, len(ONE + TRACE) + 4), (5, len(ONE + TRACE) + 4, len(TWO) + 1)],
        0,
    ),
}


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
@pytest.mark.parametrize("case", TEXTS)
def test_records_in_their_places(case: str, block: int) -> None:
    data, places, rest = TEXTS[case]
    placed, stretched = read(data, block=block)
    assert [(line, offset, len(raw)) for line, offset, raw in placed] == places
    assert stretched == rest
    assert (placed, stretched) == oracle(data)


def test_parts_of_a_record() -> None:
    data = b"[2024-02-29 23:59:59,999] INFO [Controller id=3] Not so (x) good (kafka.a.B$)\r\n\tat x\r\n\r\n"
    (part,) = frames(io.BytesIO(data), APACHE, 0, None, 1)
    assert isinstance(part, Frames)
    assert dict(zip(HEAD, part.heads[0], strict=True)) == {
        "at": b"2024-02-29 23:59:59,999",
        "level": b"INFO",
        "message": b"[Controller id=3] Not so (x) good",
        "prefix": b"[Controller id=3] ",
        "word": b"Not",
        "logger": b"kafka.a.B$",
    }
    assert part.detail(0) == b"\tat x"


def test_first_lines_without_much_in_them() -> None:
    heads = {
        b"[2024-02-29 23:59:59,999] WARN  (a.B)": (b"", b"", b""),
        b"[2024-02-29 23:59:59,999] WARN x (a.B)": (b"x", b"", b"x"),
        b"[2024-02-29 23:59:59,999] WARN [x] (a.B)": (b"[x]", b"[x]", b""),
        b"[2024-02-29 23:59:59,999]  WARN   [x]: y  z (a.B)": (b"[x]: y  z", b"[x]: ", b"y"),
        b"[2024-02-29 23:59:59,999] WARN (a.B) (c.D)": (b"(a.B)", b"", b"(a.B)"),
    }
    for line, (message, prefix, word) in heads.items():
        m = APACHE.head.fullmatch(line)
        assert m
        assert (m["message"], m["prefix"], m["word"]) == (message, prefix, word)


def test_dump() -> None:
    data = (
        b"Dumping __cluster_metadata-0/00000000000000000000.log\nLog starting offset: 0\n"
        b"baseOffset: 0 lastOffset: 0 count: 1 CreateTime: 1795261802093 size: 106 isvalid: true\n"
        b"| offset: 0 CreateTime: 1795261802094 keySize: 4 payload: {}\n"
        b"offset: 1 CreateTime: 1795261802095 keySize: 4 payload: {}"
    )
    assert layout_of(data) is DUMP
    heads = [m.groups() for m in DUMP.head.finditer(data)]
    assert [(at, prefix, word, logger) for at, _, _, prefix, word, logger in heads] == [
        (b"1795261802093", b"", b"baseOffset:", b""),
        (b"1795261802094", b"", b"|", b""),
        (b"1795261802095", b"", b"offset:", b""),
    ]
    placed, stretched = read(data, DUMP, block=5)
    assert (placed, stretched) == oracle(data, DUMP)
    assert [line for line, _, _ in placed] == [3, 4, 5]
    assert stretched == 77


def test_layouts_read_the_parts_of_a_head_in_order() -> None:
    for layout in LAYOUTS:
        assert tuple(layout.head.groupindex) == HEAD
        assert layout.head.groups == len(HEAD)


def test_layout_of_a_file() -> None:
    assert layout_of(TRACE) is None
    assert layout_of(b"") is None
    assert layout_of(TRACE + ONE) is APACHE
    assert layout_of(b"\0\xff" * 100) is None


@pytest.mark.parametrize("size", [200, 100_000])
def test_a_huge_record(size: int) -> None:
    """One line of that size, one stack trace of that size: read in more steps than one, each still one record."""
    line = ONE[:49] + b"x " * size + ONE[49:]
    data = ONE + line + TWO + b"\tat x\n" * size + ONE
    placed, _ = read(data, block=1 << 10)
    assert [(number, len(raw)) for number, _, raw in placed] == [
        (1, len(ONE)),
        (2, len(line)),
        (3, len(TWO) + 6 * size),
        (4 + size, len(ONE)),
    ]


def test_a_huge_line_that_never_ends_is_not_read_over_and_over() -> None:
    """With blocks of 1 KiB a MiB would be copied a thousand times if each block were read for itself."""

    class Counting(io.BytesIO):
        reads = 0

        def read(self, size: int | None = -1) -> bytes:
            self.reads += 1
            return super().read(size)

    stream = Counting(ONE + b"x" * (1 << 20))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(framing, "BLOCK", 1 << 10)
        assert len(list(frames(stream, APACHE, 0, None, 1))) == 1
    assert stream.reads < 20


PIECES = st.sampled_from(
    [
        ONE,
        TWO,
        TRACE,
        ONE.replace(b"\n", b"\r\n"),
        ONE[:-1],
        TWO[:40],
        b"\n",
        b"x",
        b"\xef\xbb\xbf",
        b"\0\xff\n",
        b"[2024-03-01 00:00:00,000] INFO x (a) y\n",
        b"[2024-03-01 00:00:00,000] INFO x\n",
    ]
)


@given(st.lists(PIECES, max_size=12).map(b"".join), st.lists(st.integers(0, 900), max_size=5), st.integers(1, 300))
def test_any_cut_gives_the_same(data: bytes, cuts: list[int], block: int) -> None:
    """The records of all ranges are those of one reading, and every byte is a record's or nobody's."""
    starts = sorted({0, *(cut for cut in cuts if cut < len(data))})
    parts = [read(data, APACHE, a, b, block) for a, b in zip(starts, [*starts[1:], None], strict=True)]
    placed = [record for records, _ in parts for record in records]
    stretched = sum(rest for _, rest in parts)
    assert (placed, stretched) == oracle(data)
    assert sum(len(raw) for _, _, raw in placed) + stretched == len(data)


SAMPLES = [
    "zk-2.4.1/logs/broker-3/server.log",
    "zk-0.8.2.2/logs/broker-4/state-change.log",
    "kraft-4.1.0/logs/controller-100/controller.log",
    "kraft-4.1.0/metadata-dump.txt",
]


@needs_captures
@pytest.mark.parametrize("name", SAMPLES)
def test_any_cut_of_a_real_log_gives_the_same(name: str) -> None:
    data = (CAPTURES / name).read_bytes()
    layout = layout_of(data[: 256 << 10])
    assert layout
    expected = oracle(data, layout)
    assert len(expected[0]) > 100
    for step, block in ((None, 512 << 10), (len(data) // 3 + 1, 1000), (len(data) // 17 + 1, 4096)):
        starts = range(0, len(data), step or len(data))
        parts = [read(data, layout, a, b, block) for a, b in zip(starts, [*starts[1:], None], strict=True)]
        assert ([record for records, _ in parts for record in records], sum(rest for _, rest in parts)) == expected
