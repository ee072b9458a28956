"""What is put around log lines comes off again, and every byte of it is still accounted for."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from udfs.logs import framing
from udfs.logs.channel_text import ChannelText
from udfs.logs.formats import Format, format_of
from udfs.logs.framing import OtherBytes, frames
from udfs.logs.json_lines import rendered
from udfs.logs.line_order import unit_of_reversal
from udfs.logs.wrappers import WRAPPERS, unwrapped

ONE = b"[2024-02-29 23:59:59,999] INFO [Controller id=3] Starting (kafka.controller.KafkaController)"
TWO = b'[2024-03-01 00:00:00,000] ERROR x \xc3\xa9 "q" \\ a (state.change.logger)'
TRACE = (b"java.io.IOException: gone", b"\tat a.B.c(B.java:7)", b"")
LINES = (b"===> User", ONE, TWO, *TRACE, ONE)
PLACES = [(2, ONE), (3, b"\n".join([TWO, *TRACE])), (7, ONE)]  # line and text of the records


def text(line: bytes) -> str:
    return line.decode()


def prefixed(prefix: bytes) -> Callable[[bytes], bytes]:
    return lambda line: prefix + line + b"\n"


def json_file(line: bytes, end: str = "\n") -> bytes:
    event = {"log": text(line) + end, "stream": "stdout", "time": "2024-02-29T23:59:59.999999999Z"}
    return json.dumps(event, separators=(",", ":")).encode() + b"\n"


COLLECTED: dict[str, tuple[str, Callable[[bytes], bytes]]] = {  # what wraps -> its name, and how it writes a line
    "nothing": ("", prefixed(b"")),
    "compose": ("compose", prefixed(b"kafka  | ")),
    "compose, padded": ("compose", prefixed(b"kafka                       | ")),
    "compose, coloured": ("ansi/compose", prefixed(b"\x1b[32mkafka_1            |\x1b[0m ")),
    "colours": ("ansi", lambda line: b"\x1b[1;31m" + line + b"\x1b[0m\n"),
    "journald": ("syslog", prefixed(b"Feb 29 23:59:59 kafka-03 kafka-server-start.sh[15550]: ")),
    "journald, one-digit day": ("syslog", prefixed(b"Mar  1 00:00:00 kafka-03 kafka-server-start.sh[15550]: ")),
    "journald in Russian": ("syslog", prefixed("фев 29 23:59:59 kafka-03 kafka[15550]: ".encode())),
    "journald in German": ("syslog", prefixed("Mär 01 00:00:00 kafka-03 kafka[15550]: ".encode())),
    "syslog with year and zone": ("syslog", prefixed(b"2024-02-29T23:59:59.999999+00:00 kafka-03 kafka[15550]: ")),
    "CRI": ("cri", prefixed(b"2024-02-29T23:59:59.999999999Z stdout F ")),
    "CRI with an offset": ("cri", prefixed(b"2024-02-29T23:59:59.999999999+00:00 stderr F ")),
    "kubectl --timestamps": ("stamps", prefixed(b"2024-02-29T23:59:59.999999999Z ")),
    "kubectl --prefix": ("pod", prefixed(b"[pod/kafka-0/kafka] ")),
    "grep -H": ("grep", prefixed(b"broker-3/state-change.log:")),
    "grep -n": ("grep", prefixed(b"broker-3/state-change.log:12:")),
    "findstr": ("grep", prefixed(b"C:\\logs\\state-change.log:")),
    "json-file": ("json-file", json_file),
    "json-file around colours around compose": (
        "json-file/ansi/compose",
        lambda line: json_file(b"\x1b[32mkafka_1  |\x1b[0m " + line),
    ),
    "Filebeat": ("json", lambda line: json.dumps({"@timestamp": "x", "message": text(line)}).encode() + b"\n"),
    "Filebeat, pretty": ("json", lambda line: json.dumps({"a": [1, {}], "message": text(line)}).encode() + b"\n"),
    "Fluentd": ("json", lambda line: json.dumps({"stream": "stdout", "log": text(line) + "\n"}).encode() + b"\n"),
    "journalctl -o json": ("json", lambda line: json.dumps({"PRIORITY": "6", "MESSAGE": text(line)}).encode() + b"\n"),
}
ENCODINGS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "as it is": ("", lambda data: data),
    "with a mark": ("", lambda data: b"\xef\xbb\xbf" + data),
    "UTF-16": ("utf-16-le", lambda data: b"\xff\xfe" + data.decode().encode("utf-16-le")),
    "UTF-16, the other": ("utf-16-be", lambda data: b"\xfe\xff" + data.decode().encode("utf-16-be")),
    "UTF-16 without mark": ("utf-16-le", lambda data: data.decode().encode("utf-16-le")),
    "CRLF": ("", lambda data: data.replace(b"\n", b"\r\n")),
}

Placed = tuple[str, int, int, int, bytes]  # channel, line, offset, size and text of a record


def read(data: bytes, format_: Format, block: int = 1 << 20) -> tuple[list[Placed], int]:
    """The records by channel, and the bytes that belong to none."""
    placed: list[Placed] = []
    rest = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(framing, "BLOCK", block)
        for part in frames(io.BytesIO(data), format_, 0, None, 1):
            if isinstance(part, OtherBytes):
                rest += part.size
                continue
            places = zip(part.lines.tolist(), part.offsets.tolist(), part.sizes.tolist(), strict=True)
            placed += [(part.channel, *place, part.raw(i)) for i, place in enumerate(places)]
            assert (part.head_sizes <= part.sizes).all()
            assert (part.head_sizes >= 0).all()
    return sorted(placed, key=lambda record: record[:3]), rest


@pytest.mark.parametrize("block", [1, 100, 1 << 20])
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("case", COLLECTED)
def test_lines_are_what_they_were(case: str, encoding: str, block: int) -> None:
    wrapper, wrap = COLLECTED[case]
    name, encode = ENCODINGS[encoding]
    data = encode(b"".join(map(wrap, LINES)))
    format_ = format_of(data)
    assert format_ is not None
    assert (format_.encoding, format_.wrapper, format_.layout.name) == (name, wrapper, "apache")
    placed, rest = read(data, format_, block)
    assert [(line, raw.replace(b"\r", b"").rstrip(b"\n")) for _, line, _, _, raw in placed] == [
        (line, raw.rstrip(b"\n")) for line, raw in PLACES
    ]
    ends = [offset + size for _, _, offset, size, _ in placed]
    assert [rest, *ends] == [*(offset for _, _, offset, _, _ in placed), len(data)]
    assert rest == len(encode(wrap(LINES[0])))


def test_each_wrapper_takes_its_own_sample_off() -> None:
    for name, wrapper in WRAPPERS.items():
        (part,) = [some for _, some in wrapper.make().feed(_whole(wrapper.sample + b"\n"), last=True)]
        assert part.data == b"x\n", name
        assert wrapper.fits.search(wrapper.sample)


def _whole(data: bytes) -> ChannelText:
    (channel_text,) = unwrapped(io.BytesIO(data), "", "", 1 << 20)
    return channel_text[1]


INTERLEAVED: dict[str, tuple[list[bytes], list[tuple[str, int, bytes]], int]] = {  # lines -> channel, line, text; rest
    "compose": (
        [
            b"Attaching to a, b-1\n",
            b"a    | " + ONE + b"\n",
            b"b-1  | " + TWO + b"\n",
            b"a    | \tat a.A\n",
            b"db   | LOG:  x\n",
            b"b-1  | \tat b.B\n",
            b"a    |\n",
            b"b-1  | " + ONE,
        ],
        [
            ("a", 2, ONE + b"\n\tat a.A\n\n"),
            ("b-1", 3, TWO + b"\n\tat b.B\n"),
            ("b-1", 8, ONE),
        ],
        20 + 15,
    ),
    "CRI, lines in parts": (
        [
            b"2024-02-29T23:59:59Z stdout P " + ONE[:30] + b"\n",
            b"2024-02-29T23:59:59Z stderr F " + TWO + b"\n",
            b"2024-02-29T23:59:59Z stdout P " + ONE[30:60] + b"\n",
            b"2024-02-29T23:59:59Z stdout F " + ONE[60:] + b"\n",
            b"2024-02-29T23:59:59Z stdout F " + TWO + b"\n",
        ],
        [("stdout", 1, ONE + b"\n"), ("stdout", 5, TWO + b"\n"), ("stderr", 2, TWO + b"\n")],
        0,
    ),
    "json-file, lines in parts": (
        [json_file(ONE[:30], ""), json_file(ONE[30:60], ""), json_file(ONE[60:]), json_file(TWO), b"torn"],
        [("stdout", 1, ONE + b"\n"), ("stdout", 4, TWO + b"\n")],
        4,
    ),
    "grep of two files": (
        [b"a/x.log:" + ONE + b"\n", b"b/x.log:" + TWO + b"\n", b"a/x.log:\tat a.A\n", b"b/x.log:" + ONE + b"\n"],
        [("a/x.log", 1, ONE + b"\n\tat a.A\n"), ("b/x.log", 2, TWO + b"\n"), ("b/x.log", 4, ONE + b"\n")],
        0,
    ),
    "journald, another unit and lines that are not prefixed": (
        [
            b"Feb 29 23:59:59 h kafka[1]: " + ONE + b"\n",
            b"Feb 29 23:59:59 h sshd[7]: Accepted\n",
            b"Feb 29 23:59:59 h kafka[1]: " + TWO + b"\n",
            b"                          \tat a.A\n",
        ],
        [("h kafka", 1, ONE + b"\n"), ("h kafka", 3, TWO + b"\n" + b" " * 26 + b"\tat a.A\n")],
        36,
    ),
    "objects without anything between, over several lines, and a line that is none": (
        [
            json.dumps({"source": "/a.log", "message": text(ONE)}).encode(),
            json.dumps({"source": "/b.log", "message": text(TWO)}, indent=1).encode() + b"\n",
            b"OpenJDK warning\n",
            json.dumps({"source": "/a.log", "message": text(TWO)}).encode() + b"\n",
        ],
        [("/a.log", 1, ONE + b"\n"), ("/b.log", 1, TWO + b"\n"), ("/a.log", 6, TWO + b"\n")],
        16,
    ),
}


@pytest.mark.parametrize("block", [1, 50, 1 << 20])
@pytest.mark.parametrize("case", INTERLEAVED)
def test_further_lines_belong_to_the_record_of_their_channel(case: str, block: int) -> None:
    lines, records, rest = INTERLEAVED[case]
    data = b"".join(lines)
    format_ = format_of(data)
    assert format_ is not None
    placed, stretched = read(data, format_, block)
    assert [(channel, line, raw) for channel, line, _, _, raw in placed] == sorted(records, key=lambda r: r[:2])
    assert stretched == rest
    assert sum(size for _, _, _, size, _ in placed) + rest == len(data)
    begins = [0, *(i + 1 for i, byte in enumerate(data) if byte == 10)]
    at_begin = [offset == begins[line - 1] for _, line, offset, _, _ in placed]
    assert all(at_begin) or case.startswith("objects")


EVENTS: dict[str, tuple[dict[str, object], bytes]] = {  # an event as JSON -> its lines
    "log4j1": (
        {"timestamp": "2024-02-29 23:59:59,999", "level": "INFO", "logger": "a.B", "thread": "main", "message": "x"},
        b"[2024-02-29 23:59:59,999] INFO x (a.B)\n",
    ),
    "log4j2": (
        {
            "instant": {"epochSecond": 1709251199, "nanoOfSecond": 999000000},
            "level": "WARN",
            "loggerName": "a.B",
            "message": "x",
            "thrown": {"extendedStackTrace": "c.D: y\n\tat z"},
        },
        b"[2024-02-29T23:59:59.999Z] WARN x (a.B)\nc.D: y\n\tat z\n",
    ),
    "log4j2, older": (
        {"timeMillis": 1709251199999, "level": "WARN", "loggerName": "a.B", "message": "x"},
        b"[2024-02-29T23:59:59.999Z] WARN x (a.B)\n",
    ),
    "Logstash": (
        {
            "@timestamp": "2024-02-29T23:59:59.999Z",
            "level": "ERROR",
            "logger_name": "a.B",
            "message": "x\ny",
            "stack_trace": "c.D\n\tat z\n",
        },
        b"[2024-02-29T23:59:59.999Z] ERROR x (a.B)\ny\nc.D\n\tat z\n",
    ),
    "ECS": (
        {"@timestamp": "2024-02-29T23:59:59.999Z", "log.level": "INFO", "log.logger": "a.B", "message": "x"},
        b"[2024-02-29T23:59:59.999Z] INFO x (a.B)\n",
    ),
    "ECS, nested": (
        {
            "@timestamp": "2024-02-29T23:59:59.999Z",
            "log": {"level": "INFO", "logger": "a.B"},
            "message": "x",
        },
        b"[2024-02-29T23:59:59.999Z] INFO x (a.B)\n",
    ),
    "Spring": (
        {"timestamp": 1709251199.999, "level": "info", "logger": "ReplicationControlManager", "message": "x"},
        b"[2024-02-29T23:59:59.999Z] INFO x (org.apache.kafka.controller.ReplicationControlManager)\n",
    ),
    "a line with its own time and level": (
        {"@timestamp": "2024-02-29T23:59:59Z", "level": "INFO", "message": text(ONE)},
        ONE + b"\n",
    ),
    "no time": ({"level": "INFO", "logger": "a.B", "message": "x"}, b"x\n"),
    "no message": ({"a": 1}, b'{"a": 1}\n'),
    "half a character": ({"message": "\ud800"}, b"\xed\xa0\x80\n"),
}


@pytest.mark.parametrize("case", EVENTS)
def test_events_as_json(case: str) -> None:
    event, lines = EVENTS[case]
    assert rendered(event) == ("", lines)


def test_a_record_of_several_lines_in_one_object() -> None:
    data = (
        json.dumps({"message": text(TWO) + "\n\tat x"}).encode() + b"\n" + json.dumps({"message": text(ONE)}).encode()
    )
    format_ = format_of(data)
    assert format_ is not None
    placed, _ = read(data, format_)
    assert [(line, raw) for _, line, _, _, raw in placed] == [(1, TWO + b"\n\tat x\n"), (2, ONE + b"\n")]


def test_an_object_that_never_ends_does_not_hold_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("udfs.logs.json_lines.OPEN_OBJECT", 1000)
    whole = json.dumps({"message": text(ONE)}).encode() + b"\n"
    data = whole * 5 + b'{"message": [1,\n' + whole.replace(b"}", b",") * 9 + whole * 5
    format_ = format_of(whole)
    assert format_ is not None
    placed, rest = read(data, format_, 100)
    assert len(placed) >= 5
    assert sum(size for _, _, _, size, _ in placed) + rest == len(data)


def test_broken_objects_are_lines() -> None:
    whole = json.dumps({"message": text(ONE)}).encode() + b"\n"
    data = whole + b"{}{ [\n{'a': 1}\n" + b'{"a": "x\n' + b"[" * 5000 + b"\n" + whole
    format_ = format_of(whole * 9)
    assert format_ is not None
    placed, rest = read(data, format_, 64)
    assert [line for _, line, _, _, _ in placed] == [1, 6]
    assert sum(size for _, _, _, size, _ in placed) + rest == len(data)


FORMATS = [(name, encoding) for name in COLLECTED for encoding in ("as it is", "UTF-16", "CRLF")]
EDITS = st.lists(
    st.tuples(
        st.integers(0, 2000),
        st.integers(0, 40),
        st.sampled_from(
            [b"", b"\n", b"\0", b"\xff\xfe", b"{", b'"', b"\\", b"}", b"\n\n", ONE, b"\x1b[", b"kafka  | "]
        ),
    ),
    max_size=4,
)


@settings(max_examples=150)
@given(st.sampled_from(FORMATS), EDITS, st.integers(1, 700))
def test_whatever_is_broken_each_byte_counts_once_at_any_block(
    case: tuple[str, str], edits: list[tuple[int, int, bytes]], block: int
) -> None:
    wrap, encode = COLLECTED[case[0]][1], ENCODINGS[case[1]][1]
    data = encode(b"".join(map(wrap, LINES)))
    format_ = format_of(data)
    assert format_ is not None
    for at, size, new in edits:
        data = data[:at] + new + data[at + size :]
    placed, rest = read(data, format_, block)
    assert sum(size for _, _, _, size, _ in placed) + rest == len(data)
    assert (placed, rest) == read(data, format_)
    format_of(data)


def test_lines_that_were_turned_round_are_told_from_records_that_were() -> None:
    """A stack trace whose lines stand before its record, the last one first."""
    lines = [ONE, TWO, *TRACE[:2], ONE]
    assert unit_of_reversal(lines) == "records"
    assert unit_of_reversal(lines[::-1]) == "rows"
