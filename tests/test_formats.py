"""A stream's format shows in its begin, whatever stands before the first record, and is found by its name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from udfs.logs.formats import Format, format_named, format_of, is_complete, splittable, why_unread
from udfs.logs.layouts import LAYOUTS
from udfs.logs.survey import survey

LINE = b"[2024-02-29 23:59:59,999] INFO x (state.change.logger)\n"
OPEN_LINE = b"2024-02-29 23:59:59,999 INFO kafka.controller.KafkaController: x\n"
NOISE = b"===> User\nuid=1000(appuser) gid=1000(appuser)\nSLF4J: Class path contains\nkafka 23:28:59.07 INFO  ==> x\n"


@pytest.mark.parametrize("encoding", ["", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("wrapper", ["", "compose", "cri/json", "ansi/compose"])
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_names(encoding: str, wrapper: str, layout: object) -> None:
    format_ = Format(encoding, wrapper, layout)  # type: ignore[arg-type]  # ids= wants an object
    assert format_named(format_.name) == format_


@pytest.mark.parametrize(
    "name", ["", "x", "compose", "apache/compose", "x/apache", "compose/utf-16-le/apache", "/apache"]
)
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(ValueError, match="no format"):
        format_named(name)


LOST = (
    b"[2026-11-21 12:09:54,576] WARN [Controller id=3, targetBrokerId=0] Connection to node 0 (/127.0.0.1:21910) could "
    b"not be established. Node may not be available. (org.apache.kafka.clients.NetworkClient)\n"
)
FAILED = b"""[2026-11-21 12:15:17,016] ERROR [Controller id=4 epoch=6] failed for partition a-0 (state.change.logger)
kafka.common.StateChangeFailedException: Failed to elect under OfflinePartitionLeaderElectionStrategy(false)
\tat kafka.controller.ZkPartitionStateMachine.elect(PartitionStateMachine.scala:433)
"""
QUIET = (
    b"[2026-11-21 12:%02d:54,576] INFO [GroupCoordinator 4]: Group audit with generation %d is now empty "
    b"(__consumer_offsets-17) (kafka.coordinator.group.GroupCoordinator)\n"
)
STARTING = b"[2026-11-21 12:09:54,576] INFO [Controller id=4] Starting (kafka.controller.KafkaController)\n"
STDOUT = b"12:%02d:54.580 [docker-java-stream-1190562417] INFO  tc.registry.example/kafka - STDOUT: "
TORN = b"[2026-11-21 12:15:17,018] INFO [Controller id=4 epoch=6] Partition a\n"
SAMPLES = {  # begin of a stream -> name of its format
    # the longest line comes often, and is torn once
    "a torn line among its equals": (LOST * 3 + (LOST * 2).replace(b")\n[", b"[\n)") + LOST * 3, "apache"),
    # what names ids is Kafka's own prefix, though no rule knows it
    "hardly anything but a client's lines": (
        b"".join(LOST.replace(b"node 0", b"node %d" % (10**n)) for n in range(9)),
        "apache",
    ),
    "nobody but the group coordinator writes": (b"".join(QUIET % (n, n) for n in range(9)), "apache"),
    # the longest lines are one in six, and a time without a date begins the next
    "lines of one length behind a time without a date": (
        b"".join(STDOUT % n + (STARTING if n % 6 else QUIET % (n, n)) for n in range(10, 46)),
        r"prefix(\d+:\d+:\d+\.\d+ \[docker\-java\-stream\-\d+\] INFO  "
        r"tc\.registry\.example~1kafka \- STDOUT:(?: |(?=\r?$)))/apache",
    ),
    "threads": (
        b"".join(LOST.replace(b"[Controller id=3, targetBrokerId=0]", b"[thread-%d] x" % (10**n)) for n in range(9)),
        "layout([%d] %p [%t] %m (%c))/apache",
    ),
    # half of its records are torn, and exceptions end in brackets
    "torn lines beside stack traces": (b"a (state.change.logger)\n" + FAILED * 2 + TORN * 2, "apache"),
    "apache": (LINE, "apache"),
    "noise first": (NOISE * 200 + LINE, "apache"),
    "noise first, compose": (
        b"".join(b"kafka  | " + line + b"\n" for line in (NOISE * 99 + LINE).split(b"\n")),
        "compose/apache",
    ),
    "a stack trace of grep's looks": (LINE + b"java.io.IOException: gone\n" * 50, "apache"),
    "one line that is prefixed, for it is torn": (LINE * 9 + b"a:" + LINE, "apache"),
    "a table in a message": (LINE + b"name | value\n" * 20 + LINE, "apache"),
    "JSON in a message": (LINE + b'{"a": 1}\n' * 20 + LINE, "apache"),
    "most lines decide": (OPEN_LINE + LINE * 3, "apache"),
    "most lines decide, the other way": (OPEN_LINE * 3 + LINE, "cloudera"),
    "half of the lines coloured": (LINE * 3 + b"\x1b[31m" + LINE * 3, "ansi/apache"),
    "cut within a record": (LINE * 3 + LINE[:30], "apache"),
    "UTF-16, cut within a character": (b"\xff\xfe" + (LINE * 2).decode().encode("utf-16-le")[:-1], "utf-16-le/apache"),
    "UTF-16, cut within a pair": (
        b"\xff\xfe" + (LINE.decode() + "\U0001f600").encode("utf-16-le")[:-2],
        "utf-16-le/apache",
    ),
    "objects of many lines": (
        json.dumps({"a": [1] * 50, "message": LINE.decode()}, indent=1).encode(),
        "json/apache",
    ),
    "two layers": (b"2024-02-29T23:59:59Z stdout F kafka-1  | " + LINE, "cri/compose/apache"),
}


@pytest.mark.parametrize("case", SAMPLES)
def test_format_of(case: str) -> None:
    sample, name = SAMPLES[case]
    format_ = format_of(sample)
    assert format_ is not None
    assert format_.name == name


@pytest.mark.parametrize(
    "sample", [b"", NOISE, b"\0" * 999, b"\xff\xfe", b"\xff\xfe\0", b"{}" * 99, b'{"message": "x"}\n']
)
def test_no_format(sample: bytes) -> None:
    assert format_of(sample) is None


TAILS: dict[tuple[str, bytes], bool] = {  # format, unterminated end of a stream -> whether it is a whole record
    ("apache", LINE[:-1]): True,
    ("apache", LINE[:-1] + b"\r"): True,
    ("apache", LINE[:-3]): False,
    ("apache", b"\tat x"): False,
    ("apache", b" (state.change.logger)"): False,
    ("apache", b"\0" * 9 + LINE[:-1]): True,
    ("apache", b"\0" * 9): False,
    ("cloudera", OPEN_LINE[:-1]): False,
    ("compose/apache", b"kafka  | " + LINE[:-1]): True,
    ("compose/apache", b"kafka  | " + LINE[:-3]): False,
    ("compose/apache", b"kafk"): False,
    ("json/apache", b'{"message": "' + LINE[:-1] + b'"}'): True,
    ("json/apache", b'{"message": "' + LINE[:-1] + b'"'): False,
    ("json-file/apache", b'{"log":"' + LINE[:-1] + b'\\n","stream":"stdout"}'): True,
    ("utf-16-le/apache", LINE[:-1].decode().encode("utf-16-le")): True,
    ("utf-16-le/apache", LINE[:-2].decode().encode("utf-16-le")): False,
    ("utf-16-be/apache", LINE[:-1].decode().encode("utf-16-be")): True,
    ("metadata_dump", b'| offset: 1 CreateTime: 7 payload: {"a":{}}'): True,
    ("metadata_dump", b'| offset: 1 CreateTime: 7 payload: {"a":{}'): False,
    ("metadata_dump", b"baseOffset: 1 CreateTime: 7 isvalid: true"): True,
    ("metadata_dump", b"baseOffset: 1 CreateTime: 7 isval"): False,
}


@pytest.mark.parametrize("case", TAILS)
def test_is_whole(case: tuple[str, bytes]) -> None:
    name, tail = case
    assert is_complete(format_named(name), tail) is TAILS[case]


SPLITTABLE = {
    "apache": True,
    "spring": True,
    "metadata_dump": True,
    "bare_metadata_dump": False,
    "compose/apache": False,
}


@pytest.mark.parametrize("name", [*SPLITTABLE, "utf-16-le/apache"])
def test_splittable(name: str) -> None:
    assert splittable(format_named(name)) is SPLITTABLE.get(name, False)


UNREAD = {  # a text of no format -> why it is none, if it has what Kafka logs
    "a time without a date": (b"10:00:00,000 INFO x (kafka.controller.KafkaController)\n", "no date"),
    "XML": (b'<event logger="state.change.logger" time="2024-02-29T23:59:59">x</event>\n', "XML"),
    "no level": (b"state.change.logger at 2024-02-29 23:59:59,999: x\n", "was not found"),
    "prose": (b"Look at kafka.controller.KafkaController and at the state.change.logger.\n", None),
    "a configuration": (b"loggers:\n  - name: kafka.controller\n    level: TRACE\n" * 9, None),
    "another program's log": (b"10:00:00,000 INFO x (com.example.Kafka)\n", None),
}


@pytest.mark.parametrize("case", UNREAD)
def test_why_a_text_is_not_read(case: str) -> None:
    text, expected = UNREAD[case]
    why = why_unread(text)
    assert format_of(text) is None
    assert (why is None) if expected is None else (why is not None and expected in why)


def test_years_of_two_digits_are_refused_in_a_sentence() -> None:
    line = b"24/02/29 23:59:5%d INFO KafkaController: [Controller id=3] Starting\n"
    assert format_of(b"".join(line % n for n in range(9))) is None
    assert why_unread(b"".join(line % n for n in range(9))) == "its dates have two digits for the year"


def test_the_page_that_kafka_ships_is_no_log(tmp_path: Path) -> None:
    dump = next(layout.sample for layout in LAYOUTS if layout.name == "metadata_dump")
    page = b"KRaft (aka KIP-500) mode Preview Release\n====\n\n" + (dump + b"\n") * 3 + LINE * 3
    assert format_of(page) is None
    assert why_unread(page) is None
    (tmp_path / "README.md").write_bytes(page)
    assert [surveyed.status for surveyed in survey(str(tmp_path / "README.md"), {})] == ["no_records"]
    assert format_of(page.split(b"\n", 1)[1]) is not None
