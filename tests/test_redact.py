"""A copy of a warehouse without names: the same name is the same word everywhere, and none of them is left."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from jobs.cli import main
from tests.delta_warehouse import DAY, publish
from udfs.redaction import Redaction, names_in

NAMES = {  # a line of a log -> what it shows to be a name
    "Registered broker 6 at path /brokers/ids/6 with addresses: PLAINTEXT://k6.pay:9092, czxid 1": {("h", "k6.pay")},
    "[BrokerToController id=1] node kafka-2.example.com:9093 (id: 2 rack: null) is unavailable": {
        ("h", "kafka-2.example.com")
    },
    "Socket connection established, initiating session, client: /10.0.0.7:4321": {("h", "10.0.0.7")},
    "EndPoint(host='b1.internal', port=9092)": {("h", "b1.internal")},
    "Principal = User:CN=alice,OU=x is Denied Operation = Describe": {("p", "CN=alice")},
    '{"endPoints":[{"name":"PLAINTEXT","host":"b1.internal","port":9092}],"rack":"east"}': {
        ("h", "b1.internal"),
        ("h", "east"),
    },
    "BrokerRegistration(id=2, epoch=7, rack=Optional[east], fenced=true)": {("h", "east")},
    "BrokerRegistration(id=2, epoch=7, rack=Optional.empty, fenced=true)": set(),
    'Authentication failed for username="svc-pay"': {("p", "svc-pay")},
    "Received request (clientId=checkout-7, correlationId=4)": {("c", "checkout-7")},
    "RequestHeader(apiKey=UPDATE_METADATA, clientId=4)": set(),
    "at kafka.server.KafkaApis.handle(KafkaApis.scala:1234)": set(),
    "Awaiting socket connections on 0.0.0.0:9092.": set(),
    "Connecting to localhost:2181": set(),
}
KEY = b"0123456789abcdef"


@pytest.mark.parametrize("line", NAMES)
def test_names_in_a_line(line: str) -> None:
    assert set(names_in(line)) == NAMES[line]


WORDS = {  # text with names in braces
    "Changed partition {pay-in}-0 state": "a topic and its partition",
    "/data/{pay-in}-12/00000.log": "a folder of a partition",
    "{pay-in}-0.5f3c-delete": "one that is being deleted",
    "[{pay-in},0] and {pay}: 1, ({pay.v1})": "several",
    "{pay.v1}-3 on {k1.pay}:9092": "a topic with a dot, and a host",
    "payments paying repay pay_in PAY": "words that only contain one",
    "__consumer_offsets-3": "Kafka's own topic",
    "partition 1 of 1 at 2026-11-21 10:00:01": "numbers, though a topic is called 1",
}


@pytest.mark.parametrize("text", WORDS)
def test_names_in_words(text: str) -> None:
    kinds = {"pay-in": "t", "pay": "t", "pay.v1": "t", "k1.pay": "h", "__consumer_offsets": "t"}
    redaction = Redaction(KEY, kinds)
    expected = re.sub(r"\{(.*?)}", lambda match: redaction.name(match[1]), text)
    assert redaction.text(re.sub(r"[{}]", "", text)) == expected
    assert (expected == text) == ("{" not in text)


def test_a_topic_that_is_a_number_is_no_number_elsewhere() -> None:
    redaction = Redaction(KEY, {"7": "t"})
    assert redaction.text("10:07:17.7 7-0") == "10:07:17.7 7-0"
    assert redaction.name("7") != "7"


@given(st.sets(st.from_regex(r"[a-z][a-z0-9.-]{0,8}[a-z]", fullmatch=True), min_size=1), st.text())
def test_the_same_name_is_the_same_word(names: set[str], text: str) -> None:
    """By the same key, whatever other names there are; by another key it is another."""
    kinds = dict.fromkeys(names, "t")
    some = min(names)
    one, again, other = Redaction(KEY, kinds), Redaction(KEY, {some: "t"}), Redaction(b"x" * 16, kinds)
    assert one.name(some) == again.name(some) != other.name(some)
    assert len({one.name(name) for name in names}) == len(names)
    assert one.text(f"a {some} b") == f"a {one.name(some)} b".replace("a t", "a t") or {"a", "b"} & names
    assert one.text(text).count("\n") == text.count("\n")


# ---- the command ----------------------------------------------------------------------------------------------------
MESSAGE = "Changed partition pay-in-0 by User:alice at SSL://k1.pay:9093 (clientId=checkout-7)"
TABLES: Mapping[str, list[dict[str, Any]]] = {
    "log_files": [{"cluster": "c", "file_id": "f", "path": "/logs/k1.pay/pay-in.log", "also_seen_as": ["/b/k1.pay"]}],
    "log_coverage": [{"cluster": "c", "since": DAY, "until": DAY}],
    "events": [
        {"cluster": "c", "file_id": "f", "line": 1, "at": DAY, "topic": "pay-in", "event_type": "pay",
         "message": MESSAGE,
         "fields": [("endpoints", "SSL://k1.pay:9093"), ("user", "User:alice")],
         "partitions": [{"topic": "refunds", "partition": 0}, {"topic": "pay-in", "partition": 1}]},
        {"cluster": "c", "file_id": "f", "line": 2, "at": DAY},
    ],
    "rejects": [{"cluster": "c", "file_id": "f", "line": 3, "raw": "refunds-1 and 10.0.0.7"}],
    "offline_partitions": [{"cluster": "c", "topic": "refunds", "partition": 0, "since": DAY, "cause": "broker_crash"}],
    "verdicts": [{"cluster": "c", "subject": "refunds-0", "verdict": "holds", "explanation": "of refunds on k1.pay"}],
}  # fmt: skip
SECRET_NAMES = ("pay-in", "refunds", "alice", "k1.pay", "checkout-7", "10.0.0.7")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_bytes(KEY)
    return path


def test_no_name_is_left_in_any_table(tmp_path: Path, key: Path) -> None:
    root = publish(tmp_path / "w", **TABLES)
    result = run("redact", tmp_path / "copy", "--key", key, "--warehouse", root)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "2 topics, 2 hosts, 1 principals and 1 client ids" in result.stdout
    names = Redaction(
        KEY, {"pay-in": "t", "refunds": "t", "k1.pay": "h", "alice": "p", "checkout-7": "c", "10.0.0.7": "h"}
    )
    for table, rows in TABLES.items():
        before, after = (run("export", table, "--warehouse", folder).stdout for folder in (root, tmp_path / "copy"))
        assert not [name for name in SECRET_NAMES if name in after], table
        assert len(after.splitlines()) == len(before.splitlines()) == len(rows)
        assert after == names.text(before), table


def test_other_commands_read_it(tmp_path: Path, key: Path) -> None:
    root = publish(tmp_path / "w", **TABLES)
    run("redact", tmp_path / "copy", "--key", key, "--warehouse", root)
    query = "SELECT topic, cause FROM offline_partitions"
    topic = Redaction(KEY, {"refunds": "t"}).name("refunds")
    assert (
        run("sql", query, "--format", "csv", "--warehouse", tmp_path / "copy").stdout
        == f"topic,cause\n{topic},broker_crash\n"
    )
    steps = run("sql", "SELECT steps, run_id FROM runs", "--format", "jsonl", "--warehouse", tmp_path / "copy").stdout
    assert steps == '{"steps":["redact"],"run_id":"1"}\n'


def test_what_is_no_key_and_no_new_folder(tmp_path: Path, key: Path) -> None:
    root = publish(tmp_path / "w", **TABLES)
    (tmp_path / "short").write_text("secret")
    for arguments, sentence in (
        ((tmp_path / "copy", "--key", tmp_path / "short"), "has 6 bytes; give at least 16"),
        ((tmp_path / "copy", "--key", tmp_path / "none"), "The key cannot be read"),
        ((root, "--key", key), "This exists already"),
        (("s3://bucket/copy", "--key", key), "is written to a folder"),
    ):
        result = run("redact", *arguments, "--warehouse", root)
        assert result.exit_code == 2
        assert sentence in result.stderr
    assert not (tmp_path / "copy").exists()
