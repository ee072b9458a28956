"""What the reader of a list gives for one line holds for all lines of its template, whatever their digits."""

from __future__ import annotations

import pytest

from tests.test_parsing import columnar, line, plain
from udfs.arrow.captures import Capture, NumberedText, captured_values, captures_of
from udfs.arrow.templates import clear_templates
from udfs.rules.rule import KINDS


def captures(text: bytes, kind: str, name: str = "partitions") -> tuple[NumberedText, list[Capture]]:
    """A line that is `x ` and the text, and the captures of the text."""
    whole_line = NumberedText(b"x " + text)
    return whole_line, list(captures_of(whole_line, name, KINDS[kind], (2, 2 + len(text)), []))


BY_TEMPLATE = {  # kind, a text, another of its template -> the values of that
    "a list of names": (
        "tps",
        b"Set(a-1-0, b-12)",
        b"Set(a-7-33, b-0)",
        {"partitions": [{"topic": "a-7", "partition": 33}, {"topic": "b", "partition": 0}]},
    ),
    "one that names a partition twice": (
        "tps",
        b"Set(a-1, a-2, a-3)",
        b"Set(a-1, a-22, a-1)",
        {"partitions": [{"topic": "a", "partition": 1}, {"topic": "a", "partition": 22}]},
    ),
    "an empty list": ("tps", b"Set()", b"Set()", {"partitions": []}),
    "offsets to fetch from": (
        "fetched",
        b"Map(a-0 -> (offset=5, leaderEpoch=1))",
        b"Map(a-10 -> (offset=123456789, leaderEpoch=42))",
        {"partitions": [{"topic": "a", "partition": 10, "leader_epoch": 42}]},
    ),
    "a number below zero": (
        "states",
        b"a-0 -> (Leader:-1,ISR:1,2,LeaderEpoch:3,ControllerEpoch:4)",
        b"a-9 -> (Leader:-2,ISR:10,20,LeaderEpoch:30,ControllerEpoch:40)",
        {
            "partitions": [
                {
                    "topic": "a",
                    "partition": 9,
                    "leader": -2,
                    "leader_epoch": 30,
                    "controller_epoch": 40,
                    "isr": [10, 20],
                }
            ]
        },
    ),
    "no replicas": (
        "assignments",
        b"Map(a-0 -> List())",
        b"Map(a-17 -> List())",
        {"partitions": [{"topic": "a", "partition": 17, "replicas": []}]},
    ),
    "a topic id, of however many characters": (
        "assignments",
        b"TopicIdReplicaAssignment(a,Some(AAAAAAAAAAAAAAAAAAAAA1),Map(a-0 -> List(1)))",
        b"TopicIdReplicaAssignment(a,Some(AAAAAAAAAAAAAAAAAAAAA7777),Map(a-10 -> List(12)))",
        {"partitions": [{"topic": "a", "partition": 10, "replicas": [12], "topic_id": "AAAAAAAAAAAAAAAAAAAAA7777"}]},
    ),
    "the text itself besides": (
        "replica_states",
        b"Map([Topic=a,Partition=1,Replica=2] -> New)",
        b"Map([Topic=a,Partition=10,Replica=20] -> New)",
        {
            "replica_states": "Map([Topic=a,Partition=10,Replica=20] -> New)",
            "partitions": [{"topic": "a", "partition": 10}],
        },
    ),
    "what a response says": (
        "response",
        b"{error_code=0,partition_errors=[{topic=a,partition=1,error_code=0}]}",
        b"{error_code=11,partition_errors=[{topic=a,partition=2,error_code=3}]}",
        {"error_code": "11", "partition_errors": "[{topic=a,partition=2,error_code=3}]"},
    ),
}


@pytest.mark.parametrize("case", BY_TEMPLATE)
def test_the_captures_of_the_first_line_give_the_values_of_other_digits(case: str) -> None:
    kind, first, other, expected = BY_TEMPLATE[case]
    _, first_captures = captures(first, kind)
    assert "python" not in {capture.how for capture in first_captures}
    assert captured_values(first_captures, NumberedText(b"x " + other)) == expected


LEFT_TO_THE_READER = {  # why -> kind, text
    "JSON writes numbers in more than one way": ("json_partitions", b'{"partitions":[{"topic":"a","partition":1}]}'),
    "quotes might be JSON": ("tps", b'{"a-1"}'),
    "no column holds such a number": ("tps", b"Set(a-1234567890)"),
    "it is too long to be seen again": ("tps", b"Set(%s)" % b", ".join(b"a-%d" % i for i in range(3000))),
    "it is not ASCII": ("tps", "Set(é-1)".encode()),
    "the first line names a partition twice, with its states": (
        "states",
        (
            b"a-0 -> (Leader:1,ISR:1,LeaderEpoch:3,ControllerEpoch:4), a-0 -> "
            b"(Leader:2,ISR:1,LeaderEpoch:3,ControllerEpoch:4)"
        ),
    ),
}


@pytest.mark.parametrize("case", LEFT_TO_THE_READER)
def test_what_is_left_to_the_reader(case: str) -> None:
    kind, text = LEFT_TO_THE_READER[case]
    assert [capture.how for capture in captures(text, kind)[1]] == ["python"]


SAME_TEMPLATE = {  # lines of one template, some of which name a partition twice
    "names": [
        b"[ReplicaFetcherManager on broker 4] Removed fetcher for partitions HashSet(a-%d, a-%d, a-%d)" % numbers
        for numbers in ((1, 2, 3), (1, 1, 1), (4, 5, 4), (9, 8, 8))
    ],
    "what is fetched": [
        b"[ReplicaFetcherManager on broker 4] Added fetcher to broker 1 for partitions "
        b"Map(a-%d -> (offset=0, leaderEpoch=1), a-%d -> (offset=0, leaderEpoch=1))" % numbers
        for numbers in ((1, 2), (1, 1))
    ],
    "states": [
        b"[Controller id=1 epoch=2] After leader election, leader cache is updated to "
        b"Map(a-%d -> (Leader:%d,ISR:1,2,LeaderEpoch:3,ControllerEpoch:4), a-%d -> (Leader:%d,ISR:3,LeaderEpoch:5,"
        b"ControllerEpoch:6))" % numbers
        for numbers in ((1, 2, 3, 4), (1, 2, 1, 4), (0, 1, 2, 3))
    ],
}


@pytest.mark.parametrize("case", SAME_TEMPLATE)
def test_both_interpreters_agree_on_partitions_named_twice(case: str) -> None:
    clear_templates()
    logger = "kafka.controller.KafkaController" if case == "states" else "kafka.server.ReplicaFetcherManager"
    data = b"".join(line(logger, message) for message in SAME_TEMPLATE[case])
    rows, expected = columnar(data)[0], list(plain(data))
    assert [row["record"] for row in expected] == ["event"] * len(SAME_TEMPLATE[case])
    assert [row["partitions"] for row in rows] == [row["partitions"] for row in expected]
    assert rows[0]["partitions"]
