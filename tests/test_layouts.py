"""Each layout reads its own sample and no other's; short logger names are spelled out; torn files are still read."""

from __future__ import annotations

import io

import pytest

from udfs.logs.formats import Format
from udfs.logs.framing import Frames, frames
from udfs.logs.layouts import HEAD, LAYOUTS, REACH, Layout, layout_of, read_head
from udfs.logs.loggers import full_logger

STARTING = (b"[Controller id=3] Starting", b"[Controller id=3] ", b"Starting", b"kafka.controller.KafkaController")
REPLAYED = b"[QuorumController id=3] Replayed TopicRecord for topic a with topic ID dGVzdHRlc3R0ZXN0dGVzdA."
MANAGER = b"org.apache.kafka.controller.ReplicationControlManager"
AT = b"2024-02-29 23:59:59,999"
IMBALANCE = b"[Controller id=3] Leader imbalance ratio for broker 3 is 0.0"
DUMPED = b"| offset: 1 CreateTime: 1709251199999 keySize: -1 valueSize: 4 sequence: -1 headerKeys: [] payload: {}"
EXPANDING = b"[Partition a-0 broker=3] Expanding ISR from 1,2 to 1,2,3"
CHECKPOINT = b"Error while writing to checkpoint file /data/a"

SAMPLES: dict[str, tuple[bytes, ...]] = {  # layout -> at, level, message, prefix, word, logger of its sample
    "apache": (AT, b"INFO", *STARTING),
    "metadata_dump": (b"1709251199999", b"", DUMPED, b"", b"|", b""),
    "bare_metadata_dump": (b"", b"", b' payload: {"type":"NO_OP_RECORD","version":0,"data":{}}', b"", b"", b""),
    "bracketed": (AT, b"WARN", b"[Broker id=3] Ignoring x", b"[Broker id=3] ", b"Ignoring", b"state.change.logger"),
    "cloudera": (
        AT,
        b"INFO",
        b"[Controller 3]: Broker 3 resigned as the leader",
        b"[Controller 3]: ",
        b"Broker",
        b"kafka.controller.KafkaController",
    ),
    "strimzi": (AT, b"INFO", *STARTING),
    "console": (AT[:19], b"TRACE", IMBALANCE, b"[Controller id=3] ", b"Leader", b"kafka.controller.KafkaController"),
    "strimzi_4": (AT[:19], b"INFO", REPLAYED, b"[QuorumController id=3] ", b"Replayed", MANAGER),
    "spring": (b"2024-02-29T23:59:59.999Z", b"INFO", REPLAYED, b"[QuorumController id=3] ", b"Replayed", MANAGER),
    "logger_first": (b"", b"INFO", EXPANDING, b"[Partition a-0 broker=3] ", b"Expanding", b"kafka.cluster.Partition"),
    "untimed": (b"", b"ERROR", CHECKPOINT, b"", b"Error", b"kafka.server.LogDirFailureChannel"),
}


def heads(data: bytes, layout: Layout) -> list[tuple[bytes, ...]]:
    parts = frames(io.BytesIO(data), Format("", "", layout), 0, None, 1)
    return [head for part in parts if isinstance(part, Frames) for head in part.heads]


def test_each_layout_has_its_case() -> None:
    assert [layout.name for layout in LAYOUTS] == list(SAMPLES)


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_samples(layout: Layout, end: bytes) -> None:
    data = layout.sample + end
    assert layout_of(data) is layout
    assert read_head(layout, data, 0, len(data), len(data)) == SAMPLES[layout.name]
    assert heads((layout.sample + (end or b"\n") + b"\tat x\n") * 3, layout) == [SAMPLES[layout.name]] * 3
    start = layout.start.match(data)
    assert start
    assert start.end() <= REACH
    assert data[0] in layout.first
    assert tuple(sorted(layout.head.groupindex)) == tuple(sorted(HEAD))


STAMPS = (
    b"2024-02-29 23:59:59,999",
    b"2024-02-29 23:59:59.999",
    b"2024-02-29T23:59:59,999",
    b"2024-02-29 23:59:59",
    b"2024-02-29T23:59:59.999999999Z",
    b"2024-02-29 23:59:59,999+0200",
    b"2024-02-29 23:59:59,999 -02:30",
    b"1970-01-01 00:00:00,000",
)


@pytest.mark.parametrize("stamp", STAMPS)
@pytest.mark.parametrize("name", [name for name, sample in SAMPLES.items() if sample[0][4:5] == b"-"])
def test_stamps(name: str, stamp: bytes) -> None:
    """Every layout takes every way to write a time, also several in one file."""
    layout = next(layout for layout in LAYOUTS if layout.name == name)
    old = SAMPLES[name][0]
    line = layout.sample.replace(old, stamp) + b"\n"
    assert layout_of(line) is layout
    line_heads = heads(layout.sample + b"\n" + line + line, layout)
    assert [head[0] for head in line_heads] == [old, stamp, stamp]
    assert {head[1:] for head in line_heads} == {SAMPLES[name][1:]}


@pytest.mark.parametrize("name", [layout.name for layout in LAYOUTS if layout.torn])
def test_torn_lines(name: str) -> None:
    """A line that is cut by the next, and one that lost its end."""
    layout = next(layout for layout in LAYOUTS if layout.name == name)
    line = layout.sample + b"\n"
    at, level, *_ = whole = SAMPLES[name]
    line_heads = heads(line[:9] + line[:45] + line + line[: len(line) // 2] + line, layout)
    assert [head[:2] for head in line_heads] == [(at, level)] * 4
    assert line_heads[1] == line_heads[3] == whole
    for cut in (0, 2):
        assert line_heads[cut][-1] in (b"", whole[-1])


def test_a_clock_that_was_reset_still_begins_records() -> None:
    (one, two) = heads(b"[1970-01-01 00:00:00,000] INFO a (b.C)\n[1970-01-01 00:00:01,000] INFO b (b.C)\n", LAYOUTS[0])
    assert (one[2], two[2]) == (b"a", b"b")


LOGGERS = {  # name and message -> full name
    (b"QuorumController", b"x"): b"org.apache.kafka.controller.QuorumController",
    (b"o.a.k.c.QuorumController", b"x"): b"org.apache.kafka.controller.QuorumController",
    (b"o.a.k.r.QuorumController", b"x"): b"o.a.k.r.QuorumController",
    (b"k.c.KafkaController", b"x"): b"kafka.controller.KafkaController",
    (b"KafkaController", b"x"): b"kafka.controller.KafkaController",
    (b"Partition", b"x"): b"kafka.cluster.Partition",
    (b"state.change.logger", b"x"): b"state.change.logger",
    (b"logger", b"[Broker id=3] x"): b"state.change.logger",
    (b"logger", b"Principal = User:a is Denied"): b"kafka.authorizer.logger",
    (b"logger", b"Completed request:x"): b"kafka.request.logger",
    (b"logger", b"Broker 3 received LeaderAndIsr request"): b"state.change.logger",
    (b"logger", b"another program's"): b"logger",
    (b"controller.KafkaController", b"x"): b"kafka.controller.KafkaController",
    (b"k.controller.KafkaController", b"x"): b"kafka.controller.KafkaController",
    (b"change.logger", b"x"): b"state.change.logger",
    (b"kafka.controller.KafkaController", b"x"): b"kafka.controller.KafkaController",
    (b"com.example.KafkaController", b"x"): b"com.example.KafkaController",
    (b"example.KafkaController", b"x"): b"example.KafkaController",
    (b"troller.KafkaController", b"x"): b"troller.KafkaController",
    (b"SomethingElse", b"x"): b"SomethingElse",
    (b"com.a.B", b"x"): b"com.a.B",
    (b"\xff", b"x"): b"\xff",
    (b"", b"x"): b"",
}


@pytest.mark.parametrize("case", LOGGERS)
def test_short_loggers(case: tuple[bytes, bytes]) -> None:
    assert full_logger(*case) == LOGGERS[case]


NO_LOGS = {
    "nothing": b"",
    "a stack trace": b"java.io.IOException: gone\n\tat a.B.c(B.java:7)\nCaused by: x (y)\n",
    "zero bytes": b"\0\xff" * 100,
    "a text about a log": b"- sample: it says\n- x\n- [2024-02-29 23:59:59,999] INFO x (a.B)\n" + b"- x\n" * 20,
    "a time without date": b"kafka 23:28:59.07 INFO  ==> Welcome\n",
}


@pytest.mark.parametrize("case", NO_LOGS)
def test_no_logs(case: str) -> None:
    assert layout_of(NO_LOGS[case]) is None


def test_a_file_without_one_whole_line() -> None:
    layout = layout_of(b"x\n[2024-02-29 23:59:59,999] INFO KafkaConfig values: \n\ta = 1\n")
    assert layout is not None
    assert layout.name == "apache"
