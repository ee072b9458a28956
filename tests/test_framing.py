"""Records are found whole, in their place, wherever reading was cut."""

from __future__ import annotations

import io
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.logs import framing
from udfs.logs.formats import Format, format_of, splittable
from udfs.logs.framing import Frames, OtherBytes, frames
from udfs.logs.layouts import APACHE, DUMP, HEAD, LAYOUTS, Layout, layout_of, read_head

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
        for part in frames(stream, Format("", "", layout), start, end, data.count(b"\n", 0, start) + 1):
            if isinstance(part, OtherBytes):
                stretched += part.size
            else:
                places = zip(part.lines.tolist(), part.offsets.tolist(), strict=True)
                placed += [(line, offset, part.raw(i)) for i, (line, offset) in enumerate(places)]
                assert part.sizes.tolist() == [len(part.raw(i)) for i in range(len(part))]
                assert part.head_sizes.tolist() == (part.head_ends - part.starts).tolist()
    return placed, stretched


STAMP = rb"\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,:]\d{1,9})?(?: ?(?:Z|[+-]\d\d:?\d\d))?\] {1,5}"
AT_LINE_BEGIN = {
    "apache": STAMP + rb"[A-Z]",
    "metadata_dump": rb"(?:\| )?(?:baseOffset|offset): |Dumping |Log starting offset: ",
}
INSIDE_A_LINE = {
    "apache": rb"(?=\[2)" + STAMP + rb"(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) ",
    "metadata_dump": rb"(?!)",
}
NO_RECORDS = rb"Dumping |Log starting offset: "


def oracle(data: bytes, layout: Layout = APACHE) -> tuple[list[Placed], int]:
    """The same as `read`, byte by byte and without any cleverness."""
    starts = []
    for place in range(len(data)):
        if data[place] not in b"[|boDL":
            continue
        begins_line = place == 0 or data[place - 1] in b"\n\0\xbf"
        if re.compile(AT_LINE_BEGIN[layout.name] if begins_line else INSIDE_A_LINE[layout.name]).match(data, place):
            while place and data[place - 1] in b"\0\xef\xbb\xbf":
                place -= 1
            starts.append(place)
    placed: list[Placed] = []
    stretched = starts[0] if starts else len(data)
    for start, end in pairwise([*starts, len(data)]):
        if layout is DUMP and re.match(NO_RECORDS, data[start:end]):
            stretched += end - start
        else:
            placed.append((data.count(b"\n", 0, start) + 1, start, data[start:end]))
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
    "a torn line": (
        ONE[:7] + ONE[:60] + TWO + b"x\n",
        [(1, 7, 60), (1, 67, len(TWO) + 2)],
        7,
    ),
    "three starts in one line": (
        TWO + ONE[:40] + ONE[:50] + ONE,
        [(1, 0, len(TWO)), (2, len(TWO), 40), (2, len(TWO) + 40, 50), (2, len(TWO) + 90, len(ONE))],
        0,
    ),
    "a list that begins as a stamp does": (
        ONE + b"isr=[2024-01\n[2, 3] x\n" + TWO,
        [(1, 0, len(ONE) + 22), (4, len(ONE) + 22, len(TWO))],
        0,
    ),
    "brackets that are no stamps": (b"[Configuring] 'port'\n[0.002s][warning][cds] x\n" + ONE, [(3, 46, len(ONE))], 46),
    "a time without date": (
        ONE + b"kafka 23:28:59.07 INFO  ==> x\n" + TWO,
        [(1, 0, len(ONE) + 30), (3, len(ONE) + 30, len(TWO))],
        0,
    ),
    "a first line without logger": (
        ONE + TWO[:42] + b"\n",
        [(1, 0, len(ONE)), (2, len(ONE), 43)],
        0,
    ),
    "no milliseconds, another separator, a zone": (
        b"[2024-03-01 00:00:00] INFO a\n[2024-03-01T00:00:00.000Z] INFO b\n[1970-01-01 00:00:00,000+0200] X c\n",
        [(1, 0, 29), (2, 29, 34), (3, 63, 35)],
        0,
    ),
    "a hole of zero bytes is the next record's": (
        ONE + b"\0" * 99 + TWO + b"x\0\0" + ONE,
        [(1, 0, len(ONE)), (2, len(ONE), len(TWO) + 100), (3, len(ONE + TWO) + 100, len(ONE) + 2)],
        0,
    ),
    "zero bytes at the end": (ONE + b"\0" * 99, [(1, 0, len(ONE) + 99)], 0),
    "zero bytes first": (b"\0" * 99 + ONE, [(1, 0, len(ONE) + 99)], 0),
    "a byte order mark inside": (ONE + b"\xef\xbb\xbf" + TWO, [(1, 0, len(ONE)), (2, len(ONE), len(TWO) + 3)], 0),
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
    (part,) = frames(io.BytesIO(data), Format("", "", APACHE), 0, None, 1)
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


FIRST_LINES = {  # -> message, prefix, word, logger
    b"[2024-02-29 23:59:59,999] WARN  (a.B)": (b"", b"", b"", b"a.B"),
    b"[2024-02-29 23:59:59,999] WARN x (a.B)": (b"x", b"", b"x", b"a.B"),
    b"[2024-02-29 23:59:59,999] WARN x (a.B:12)": (b"x", b"", b"x", b"a.B"),
    b"[2024-02-29 23:59:59,999] WARN [x] (a.B)": (b"[x]", b"[x]", b"", b"a.B"),
    b"[2024-02-29 23:59:59,999]  WARN   [x]: y  z (a.B)": (b"[x]: y  z", b"[x]: ", b"y", b"a.B"),
    b"[2024-02-29 23:59:59,999] WARN (a.B) (c.D)": (b"(a.B)", b"", b"(a.B)", b"c.D"),
    b"\0\0\xef\xbb\xbf[2024-02-29 23:59:59,999] WARN x  (a.B)\0\0": (b"x ", b"", b"x", b"a.B"),
    b"[2024-02-29 23:59:59,999] WARN x (y)  z ": (b"x (y)  z ", b"", b"x", b""),
    b"[2024-02-29 23:59:59,999] WARN": (b"", b"", b"", b""),
    b"[2024-02-29 23:59:59,999] WARN [x] y (a.": (b"[x] y (a.", b"[x] ", b"y", b""),
}


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
@pytest.mark.parametrize("line", FIRST_LINES)
def test_first_lines(line: bytes, end: bytes) -> None:
    at, level, *parts = read_head(APACHE, line + end, 0, len(line + end), len(line + end))
    assert (at, level) == (b"2024-02-29 23:59:59,999", b"WARN")
    assert tuple(parts) == FIRST_LINES[line]


LAST_LINES = {  # further lines -> logger of the record
    b"\tkey = 1\n (kafka.server.KafkaConfig)\n": b"kafka.server.KafkaConfig",
    b"1,2,3\r\n (kafka.zk.KafkaZkClient)\r\n\r\n": b"kafka.zk.KafkaZkClient",
    b"\tkey = 1 (a.B:12)": b"a.B",
    b"\tat a.B.c(B.java:7)\n": b"",
    b"\tat a.B.c(B.java)\n": b"",
    b"(a.B)\nx\n": b"",
}


@pytest.mark.parametrize("more", LAST_LINES)
def test_a_logger_at_the_end_of_the_last_line(more: bytes) -> None:
    (part,) = frames(io.BytesIO(TWO[:40] + b"\n" + more), Format("", "", APACHE), 0, None, 1)
    assert isinstance(part, Frames)
    assert part.heads[0][-1] == LAST_LINES[more]


def test_dump() -> None:
    data = (
        b"Dumping __cluster_metadata-0/00000000000000000000.log\nLog starting offset: 0\n"
        b"baseOffset: 0 lastOffset: 0 count: 1 CreateTime: 1795261802093 size: 106 isvalid: true\n"
        b"| offset: 0 CreateTime: 1795261802094 keySize: 4 payload: {}\n"
        b"Dumping 00000000000000000512-0000000003.checkpoint\nSnapshot end offset: 512, epoch: 3\n"
        b"offset: 1 position: 7 CreateTime: 1795261802095 keysize: 4 payload: {}"
    )
    assert layout_of(data) is DUMP
    placed, stretched = read(data, DUMP, block=5)
    assert [line for line, _, _ in placed] == [3, 4, 7]
    assert stretched == 77 + 51 + 35
    heads = [head for part in frames(io.BytesIO(data), Format("", "", DUMP), 0, None, 1) if isinstance(part, Frames)
             for head in part.heads]  # fmt: skip
    assert [(at, prefix, word, logger) for at, _, _, prefix, word, logger in heads] == [
        (b"1795261802093", b"", b"baseOffset:", b""),
        (b"1795261802094", b"", b"|", b""),
        (b"1795261802095", b"", b"offset:", b""),
    ]


@pytest.mark.parametrize("block", [1, 90, 1 << 20])
def test_a_dump_without_record_metadata_has_its_batches_times(block: int) -> None:
    data = (
        b"Dumping 00000000000000000000.log\n| payload: {}\n"
        b"baseOffset: 0 lastOffset: 1 CreateTime: 1795261802093 isvalid: true\n| payload: {}\n| key: 1 payload: {}\n"
        b"baseOffset: 2 lastOffset: 2 LogAppendTime: 1795261802099 isvalid: true\n| payload: {}\n"
    )
    format_ = format_of(data)
    assert format_
    assert format_.name == "bare_metadata_dump"
    assert not splittable(format_)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(framing, "BLOCK", block)
        parts = [part for part in frames(io.BytesIO(data), format_, 0, None, 1) if isinstance(part, Frames)]
    one, two = b"1795261802093", b"1795261802099"
    assert [head[0] for part in parts for head in part.heads] == [b"", one, one, one, two, two]


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
        assert len(list(frames(stream, Format("", "", APACHE), 0, None, 1))) == 1
    assert stream.reads < 20


def test_little_is_read_behind_a_range() -> None:
    """What is there is another reader's; only the last record's end is needed."""
    stream = io.BytesIO(ONE * 100_000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(framing, "BLOCK", 1 << 20)
        parts = list(frames(stream, Format("", "", APACHE), 0, 2 << 20, 1))
    assert sum(len(part) for part in parts if isinstance(part, Frames)) == -(-(2 << 20) // len(ONE))
    assert (2 << 20) < stream.tell() <= (2 << 20) + (64 << 10)


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
        b"\0" * 150,
        b"[2024-03-01 00:00:00] INFO",
        b"[1970-01-01 00:00:00] X",
        b"\xbf",
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


EDITS = st.lists(
    st.tuples(
        st.integers(0, 900),
        st.integers(0, 60),
        st.sampled_from(
            [b"", b"\n", b"\0", b"\0" * 99, b"\xef\xbb\xbf", b"\xff", b"[2", b"20", b"\r\n", b"| ", ONE[:30]]
        ),
    ),
    max_size=5,
)


@given(
    st.sampled_from([layout for layout in LAYOUTS if not layout.batches]),
    EDITS,
    st.lists(st.integers(1, 900), max_size=4),
    st.integers(1, 300),
)
def test_whatever_is_broken_any_cut_gives_the_same(
    layout: Layout, edits: list[tuple[int, int, bytes]], cuts: list[int], block: int
) -> None:
    data = b"noise\n" + (layout.sample + b"\n\tat a.B.c(B.java:7)\n") * 5
    for at, size, new in edits:
        data = data[:at] + new + data[at + size :]
    starts = sorted({0, *(cut for cut in cuts if cut < len(data))})
    parts = [read(data, layout, a, b, block) for a, b in zip(starts, [*starts[1:], None], strict=True)]
    placed, stretched = [record for records, _ in parts for record in records], sum(rest for _, rest in parts)
    assert (placed, stretched) == read(data, layout)
    assert sum(len(raw) for _, _, raw in placed) + stretched == len(data)
    assert all(data[offset : offset + len(raw)] == raw for _, offset, raw in placed)
    assert all(line == data.count(b"\n", 0, offset) + 1 for line, offset, _ in placed)


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
