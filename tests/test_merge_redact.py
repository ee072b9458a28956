"""`kafka-rewind merge --redact`: no name of a topic, host, principal, client or folder is left, all else stays."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from jobs.cli import main
from tests.test_merge_captures import OURS, SHARED
from udfs.merge.kept_words import KEPT_KEYS, KEPT_WORDS
from udfs.merge.record import Record
from udfs.merge.redacted_record import RecordRedaction, redacted_logger
from udfs.merge.redacted_text import redacted_message
from udfs.redaction import Redaction, pseudonym
from udfs.rules.lookup import rules_about
from udfs.rules.parsing import read_message, split_prefix
from udfs.rules.rule import Rule
from udfs.rules.subjects import SUBJECTS

KEY = b"0123456789abcdef"
STATE, CONTROLLER = "state.change.logger", "kafka.controller.KafkaController"
REPLICATION = "org.apache.kafka.controller.ReplicationControlManager"

MESSAGES = {  # {kind name} becomes a pseudonym, <<text>> a placeholder, all else stays
    "a partition": (
        STATE,
        "[Controller id=1 epoch=4] Changed partition {t pay-in}-0 from OfflinePartition to OnlinePartition with state "
        "LeaderAndIsr(leader=2, leaderEpoch=7, isr=List(2, 3), zkVersion=9)",
    ),
    "a partition of old": (
        STATE,
        "Controller 1 epoch 8 sending UpdateMetadata request (Leader:4,ISR:4,5,LeaderEpoch:12,ControllerEpoch:7) with "
        "correlationId 27 to broker 4 for partition [{t pay.v1},3]",
    ),
    "a partition in the prefix": (
        "kafka.cluster.Partition",
        "[Partition {t pay-in}-3 broker=2] Shrinking ISR from 2,1 to 2",
    ),
    "a topic that is a number, among numbers": (
        "kafka.cluster.Partition",
        "[Partition {t 7}-3 broker=7] Shrinking ISR from 7,1 to 7",
    ),
    "the same topic twice": (
        STATE,
        "[Broker id=4] Received LeaderAndIsr request LeaderAndIsrPartitionState(topicName='{t pay-in}', "
        "partitionIndex=3, controllerEpoch=7, leader=4, leaderEpoch=12, isr=[4,5], partitionEpoch=31, "
        "replicas=[4,5,6], addingReplicas=[4, 5], removingReplicas=[4, 5], isNew=false) correlation id 27 from "
        "controller 1 epoch 8",
    ),
    "a printed record": (
        REPLICATION,
        "[QuorumController id=101] Replayed TopicRecord for topic {t pay-in} with topic ID h5K2vX8bQ0-3mJtR_wYz1A.",
    ),
    "a topic in an answer of which only the error is read, and a host": (
        STATE,
        "[Controller id=1 epoch=8] Received response {error_code=0,partition_errors=[{topic_name={t pay-in},"
        "partition_index=3,error_code=11,_tagged_fields={}}],_tagged_fields={}} for request LEADER_AND_ISR with "
        "correlation id 27 sent to broker {h kafka-4.pay}:9092 (id: 4 rack: {h east})",
    ),
    "a host and a rack in an endpoint": (
        "org.apache.kafka.controller.ClusterControlManager",
        "[QuorumController id=101] Replayed initial RegisterBrokerRecord for broker 4: RegisterBrokerRecord(brokerId=4,"
        " isMigratingZkBroker=false, incarnationId={w q1WeRtYuIo-pAsDfGhJk_L}, brokerEpoch=300, "
        "endPoints=[BrokerEndpoint(name='PLAINTEXT', host='{h node4.example.org}', port=9092, securityProtocol=0)], "
        "features=[BrokerFeature(name='metadata.version', minSupportedVersion=7, maxSupportedVersion=27)], "
        "rack='{h east}', fenced=true, inControlledShutdown=false, logDirs=[{w r7YzA2bCdE9fGhIj_KlMnO}])",
    ),
    "folders": (
        "kafka.server.ReplicaManager",
        "[ReplicaManager broker=4] Stopping serving replicas in dir /{d srv}/{d kafka}/{d disk1}",
    ),
    "a path in ZooKeeper": (
        CONTROLLER,
        '[Controller id=1] Updated path /brokers/topics/{t pay-in} with {"version":1,"partitions":{"3":[4,5,6]}} for '
        "replica assignment",
    ),
    "words of an error, but its class": (
        STATE,
        "[Broker id=4] Skipped the become-leader state change for {t pay-in}-3 with topic id "
        "Some(h5K2vX8bQ0-3mJtR_wYz1A) due to a storage error org.apache.kafka.common.errors.KafkaStorageException: "
        "<<alas payments>> for {w alice}",
    ),
    "topics of which no partition is named, a number among them": (
        CONTROLLER,
        "[Controller id=1] Starting topic deletion for topics {t pay-in},{t 2024}",
    ),
    "Kafka's own topic": (
        "kafka.cluster.Partition",
        "[Partition __consumer_offsets-3 broker=2] Shrinking ISR from 2,1 to 2",
    ),
}


def as_logged(text: str) -> bytes:
    """A message of the table as it stands in a log."""
    return re.sub(r"<<(.*?)>>", r"\1", re.sub(r"\{[a-z] ([^{}]+)}", r"\1", text)).encode()


def as_expected(text: str) -> bytes:
    """The same without names: each is what `kafka-rewind redact` makes of it."""
    named = re.sub(r"\{([a-z]) ([^{}]+)}", lambda m: Redaction(KEY, {m[2]: m[1]}).name(m[2]), text)
    return re.sub(r"<<.*?>>", "<redacted>", named).encode()


@pytest.mark.parametrize("case", MESSAGES)
def test_names_in_a_message(case: str) -> None:
    logger, text = MESSAGES[case]
    assert read_message(logger, as_logged(text)) is not None
    assert redacted_message(KEY, logger, as_logged(text)) == as_expected(text)


HARD_TOPICS = {  # topics whose names are something else elsewhere: the message keeps all but the topic
    "leader": "as a field",
    "isr-7": "as a partition",
    "2026-11-21": "as a day",
    "OnlinePartition2": "as a state, nearly",
    "kafka.log.Cleaner": "as a class",
    "w0123456789ab": "as a pseudonym",
    "a": "one letter",
    "PAY": "capitals",
    "7": "as a number",
}


@pytest.mark.parametrize("case", ["a partition", "the same topic twice"])
@pytest.mark.parametrize("topic", HARD_TOPICS)
def test_a_topic_that_is_called_like_something_else(topic: str, case: str) -> None:
    logger, text = MESSAGES[case]
    text = text.replace("pay-in", topic)
    assert redacted_message(KEY, logger, as_logged(text)) == as_expected(text)


# ---- what no rule reads -------------------------------------------------------------------------------------------
AT = "[2026-11-21 10:00:01,000]"
RECORDS = {  # as logged -> as printed
    "no rule reads it": (
        f"{AT} INFO Payments of alice are late (kafka.server.KafkaConfig)",
        f"{AT} INFO <redacted> (kafka.server.KafkaConfig)",
    ),
    "a logger that is none of Kafka's": (
        f"{AT} INFO Something (com.acme.payments.Authorizer)",
        f"{AT} INFO <redacted> (redacted)",
    ),
    "what looks like a logger": (f"{AT} INFO Deleted (payments)", f"{AT} INFO <redacted> (redacted)"),
    "what looks like a level": (
        f"{AT} PAYMENTS gone (kafka.server.KafkaConfig)",
        f"{AT} <redacted> (kafka.server.KafkaConfig)",
    ),
    "a stack trace": (
        f"{AT} ERROR Failed (kafka.server.KafkaConfig)\n"
        "kafka.common.StateChangeFailedException: Failed to elect leader for payments-0\n"
        "\tat kafka.controller.Elections.$anonfun$elect$7(Elections.scala:1)\n"
        "\tat scala.runtime.java8.JFunction0$mcV$sp.apply(JFunction0$mcV$sp.scala:18)\n"
        "\tat java.base/java.lang.Thread.run(Thread.java:829) ~[payments.jar:?]\n"
        "\tat com.acme.payments.Authorizer.authorize(Authorizer.java:3)\n"
        "\tat payments\n"
        "Caused by: java.io.IOException: payments\n"
        "Caused by: com.acme.payments.LateException: payments\n"
        "Suppressed: java.lang.NullPointerException\n"
        "\t... 12 more",
        f"{AT} ERROR <redacted> (kafka.server.KafkaConfig)\n"
        "kafka.common.StateChangeFailedException: <redacted>\n"
        "\tat kafka.controller.Elections.$anonfun$elect$7(Elections.scala:1)\n"
        "\tat scala.runtime.java8.JFunction0$mcV$sp.apply(JFunction0$mcV$sp.scala:18)\n"
        "\tat java.base/java.lang.Thread.run(Thread.java:829)\n"
        "<redacted>\n"
        "Caused by: java.io.IOException: <redacted>\n"
        "<redacted>\n"
        "Suppressed: java.lang.NullPointerException\n"
        "\t... 12 more",
    ),
    "further lines": (
        f"{AT} INFO KafkaConfig values: \n\tadvertised.listeners = SSL://k1.pay:9093\n\tbroker.id = 1\n (kafka.log.A)",
        f"{AT} INFO <redacted> (kafka.log.A)\n<redacted>",
    ),
    "text behind a message of which not all values are captured": (
        f"{AT} INFO Found stray log dir Payments(dir=/srv/pay-3, topicId=L3mK9pQrSt2uVwXyZ0aBcD, topic=pay, "
        "partition=3, highWatermark=700, lastStableOffset=700, logStartOffset=0, logEndOffset=705): the topicId "
        "L3mK9pQrSt2uVwXyZ0aBcD does not exist in the metadata image, says alice "
        "(kafka.server.metadata.BrokerMetadataPublisher$)",
        f"{AT} INFO <redacted> (kafka.server.metadata.BrokerMetadataPublisher$)",
    ),
    "text behind a message": (
        f"{AT} INFO [QuorumController id=101] Replayed TopicRecord for topic pay with topic ID "
        f"h5K2vX8bQ0-3mJtR_wYz1A. So says alice ({REPLICATION})",
        f"{AT} INFO [QuorumController id=101] Replayed TopicRecord for topic {pseudonym(KEY, 't', 'pay')} with topic "
        f"ID h5K2vX8bQ0-3mJtR_wYz1A. <redacted> ({REPLICATION})",
    ),
}


@pytest.mark.parametrize("case", RECORDS)
def test_what_is_printed_of_a_record(case: str) -> None:
    raw, printed = RECORDS[case]
    assert RecordRedaction(KEY).record(Record(raw.encode()), 0).raw.decode() == printed + "\n"


def rules() -> Iterator[tuple[str, Rule]]:
    """All rules, each with a logger."""
    for subject in SUBJECTS:
        for rule in rules_about(subject):
            logger = rule.loggers[0]
            yield (f"{logger}Some" if logger[-1] == "." else logger), rule


NEW_FIELDS = {  # case of MESSAGES -> the field behind which a new one stands, and what becomes of ", paidBy=alice"
    "the same topic twice": ("isNew=false", ", redacted=<redacted>"),  # the rule says where the record's fields stand
    "a host and a rack in an endpoint": ("fenced=true", ", {w paidBy}={w alice}"),  # the rule takes the record as one
}


@pytest.mark.parametrize("case", NEW_FIELDS)
def test_of_a_new_field_only_shows_that_there_is_one(case: str) -> None:
    logger, text = MESSAGES[case]
    field, printed = NEW_FIELDS[case]
    logged = as_logged(text.replace(field, f"{field}, paidBy=alice"))
    assert redacted_message(KEY, logger, logged) == as_expected(text.replace(field, field + printed))


def test_no_rule_reads_a_placeholder() -> None:
    assert [rule for logger, rule in rules() if read_message(logger, "<redacted>") is not None] == []


def test_loggers_of_rules_stay() -> None:
    assert [logger for logger, _ in rules() if redacted_logger(logger) != logger] == []


# ---- all rules ----------------------------------------------------------------------------------------------------
COLUMNS = (
    "event_type", "node", "controller_id", "controller_epoch", "correlation_id", "broker_id", "topic", "topic_id",
    "partition", "leader", "leader_epoch", "partition_epoch", "isr", "replicas", "partitions",
)  # fmt: skip


def columns_of(event: dict[str, Any] | None, key: bytes | None = None) -> dict[str, Any]:
    """The columns of an event; with a key its topics are pseudonyms."""

    def renamed(values: dict[str, Any]) -> dict[str, Any]:
        topic = values.get("topic")
        return values if key is None or topic is None else {**values, "topic": pseudonym(key, "t", topic)}

    columns = renamed({name: event[name] for name in COLUMNS if name in event} if event else {})
    if "partitions" in columns:
        columns["partitions"] = [renamed(state) for state in columns["partitions"]]
    return columns


def test_a_redacted_message_is_read_as_the_message_is() -> None:
    """But for the names of topics: whoever is handed the lines can work with them."""
    different = []
    for logger, rule in rules():
        redacted = redacted_message(KEY, logger, rule.sample.encode())
        assert redacted is not None, rule.sample
        if columns_of(read_message(logger, redacted)) != columns_of(read_message(logger, rule.sample), KEY):
            different.append((rule.sample, redacted))
    assert different == []


WORD = re.compile(rb"[\w.-]+")


@cache
def values_of_samples() -> list[tuple[str, bytes, int, int]]:
    """Each word of prefixes and values: logger, message, begin and end."""
    places = []
    for logger, rule in rules():
        prefix, rest = split_prefix(rule.sample.encode())
        match = rule.pattern_of_all_values.fullmatch(rest)
        assert match is not None
        spans = [(0, len(prefix))]
        spans += [(len(prefix) + a, len(prefix) + b) for a, b in match.regs[1:] if a >= 0]
        message = prefix + rest
        places += [(logger, message, *word.span()) for a, b in spans for word in WORD.finditer(message, a, b)]
    return places


PART = st.from_regex(r"[b-df-z][a-z0-9]{3,9}", fullmatch=True)
NAMES = st.builds(
    lambda parts, mark: mark.join(parts), st.lists(PART, min_size=1, max_size=3), st.sampled_from("._-@=:/ ")
) | st.text("äöüßéĸ", min_size=4, max_size=9)


def occurs(name: str, text: str) -> bool:
    """Whether a name stands in a text, not as a part of a longer word."""
    return bool(re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", text))


@given(st.integers(min_value=0), NAMES)
@settings(max_examples=500)
def test_whatever_word_of_a_value_is_a_name_does_not_survive(number: int, name: str) -> None:
    """Any word of any value is exchanged for it, so that rules read it where they never expected a name."""
    places = values_of_samples()
    logger, message, begin, end = places[number * 7919 % len(places)]
    words = re.split(r"[._@=:/ -]", name)
    assume(not any(word in KEPT_WORDS or word in KEPT_KEYS or word in message.decode() for word in words))
    redacted = redacted_message(KEY, logger, message[:begin] + name.encode() + message[end:])
    assert redacted is None or not [word for word in words if word in redacted.decode()]


# ---- the command --------------------------------------------------------------------------------------------------
def run(*arguments: object) -> Result:
    result = CliRunner().invoke(main, ["merge", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_bytes(KEY)
    return path


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Logs of two nodes, one of them unknown, in folders that are called like hosts; one behind a collector's words."""
    elected = f"{AT} TRACE {as_logged(MESSAGES['a partition'][1]).decode()} ({STATE})\n"
    shrunk = "[Partition orders-3 broker=2] Shrinking ISR from 2,1 to 2 (kafka.cluster.Partition)\n"
    texts = {
        "k1.pay/state-change.log": elected,
        "k2.pay/server.log": f"k2.pay kafka[9]: [2026-11-21 10:00:02,000] INFO {shrunk}" * 3,
        "k3.pay/server.log": "[2026-11-21 10:00:03,000] INFO pay-in of alice (kafka.server.KafkaConfig)\n",
    }
    for name, text in texts.items():
        path = tmp_path / "logs" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return tmp_path / "logs"


SECRETS = ("pay-in", "orders", "alice", "k1", "k2", "k3", "payments")


@pytest.mark.parametrize(
    "options", [(), ("--node",), *(("--format", form) for form in ("short", "jsonl", "csv"))], ids=" ".join
)
def test_no_name_is_printed_in_any_form(options: tuple[str, ...], logs: Path, key: Path) -> None:
    named, redacted = run(logs, *options), run(logs, *options, "--redact", "--key", key)
    assert (redacted.exit_code, redacted.stderr) == (0, named.stderr)
    assert {"pay-in", "orders"} <= {name for name in SECRETS if name in named.stdout}
    assert [name for name in SECRETS if name in redacted.stdout] == []
    assert redacted.stdout.count("\n") == named.stdout.count("\n")
    for topic in ("pay-in", "orders"):
        assert pseudonym(KEY, "t", topic) in redacted.stdout


def test_raw_lines_are_of_the_usual_layout(logs: Path, key: Path) -> None:
    elected, orders = as_expected(MESSAGES["a partition"][1]).decode(), pseudonym(KEY, "t", "orders")
    shrunk = f"[Partition {orders}-3 broker=2] Shrinking ISR from 2,1 to 2 (kafka.cluster.Partition)"
    assert run(logs, "--redact", "--key", key).stdout.splitlines() == [
        f"{AT} TRACE {elected} ({STATE})",
        *[f"[2026-11-21 10:00:02,000] INFO {shrunk}"] * 3,
        "[2026-11-21 10:00:03,000] INFO <redacted> (kafka.server.KafkaConfig)",
    ]


def test_columns_are_those_of_the_line_without_names(logs: Path, key: Path) -> None:
    named, redacted = (
        [json.loads(line) for line in run(logs, "--format", "jsonl", *options).stdout.splitlines()]
        for options in ((), ("--redact", "--key", key))
    )
    for before, after in zip(named, redacted, strict=True):
        assert after["file"] == pseudonym(KEY, "f", before["file"])
        same = ("at", "node", "line", "level", "logger", "event_type", "partition", "isr", "leader_epoch")
        assert [after.get(name) for name in same] == [before.get(name) for name in same]
    assert [row.get("topic") for row in redacted] == [
        topic and pseudonym(KEY, "t", topic) for topic in (row.get("topic") for row in named)
    ]


def test_filters_take_real_names(logs: Path, key: Path) -> None:
    some = run(logs, "--topic", "orders", "--grep", "Partition orders-3", "--redact", "--key", key)
    assert some.stdout.count(pseudonym(KEY, "t", "orders")) == 3
    assert run(logs, "--topic", pseudonym(KEY, "t", "orders"), "--redact", "--key", key).stdout == ""
    assert run(logs, "--topic", "orders", "--redact", "--key", key, "--count").stdout == "3\n"


def test_another_key_gives_other_names(logs: Path, key: Path, tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"f" * 16)
    assert run(logs, "--redact", "--key", key).stdout != run(logs, "--redact", "--key", tmp_path / "other").stdout


def test_a_key_must_be_there_and_long_enough(logs: Path, key: Path, tmp_path: Path) -> None:
    (tmp_path / "short").write_text("secret")
    for options, sentence in {
        ("--redact",): "--redact needs --key FILE",
        ("--key", key): "--key is of no use without --redact",
        ("--redact", "--key", tmp_path / "none"): "The key cannot be read",
        ("--redact", "--key", tmp_path / "short"): "has 6 bytes; give at least 16",
    }.items():
        result = run(logs, *options)
        assert (result.exit_code, result.stdout) == (2, "")
        assert sentence in result.stderr
        assert result.stderr.count("\n") == 1


# ---- real clusters ------------------------------------------------------------------------------------------------
CAPTURES = {path.name: path for path in (sorted(SHARED.iterdir()) if SHARED.exists() else []) if path.is_dir()}
CAPTURES |= {f"our {name}": path.parent for name, path in OURS.items()}
OTHER_NAMES = {"rack0", "rack1", "rack2", "data1", "data2", "kafka-python-3.0.12", "kafka-python"}
"""Racks, folders of logs, and a client of all captures."""


@cache
def names_of(capture: Path) -> frozenset[str]:
    """Topics of a capture by its truth, but for Kafka's own, and what else has a name there."""
    truth = "".join(path.read_text() for path in capture.glob("truth*.jsonl"))
    topics = re.findall(r'"path":"/brokers/topics/([^/"]+)"', truth)
    topics += re.findall(r'"type":"TOPIC_RECORD","version":0,"data":\{"name":"([^"]+)"', truth)
    return frozenset({topic for topic in topics if not topic.startswith("__")} | OTHER_NAMES)


@pytest.mark.parametrize("capture", CAPTURES)
def test_no_name_of_a_cluster_survives(capture: str, key: Path) -> None:
    """One node's logs and the metadata dump; times, nodes and number of records are as without --redact."""
    folder = CAPTURES[capture]
    node = sorted(path for path in (folder / "logs").iterdir() if path.is_dir())[-1]
    paths = [node, *folder.glob("metadata-dump.txt")]
    names = names_of(folder)
    options = (*paths, "--limit", 2500, "--format", "jsonl")
    named, redacted = run(*options), run(*options, "--redact", "--key", key)
    assert len(names & {name for name in names if occurs(name, named.stdout)}) >= 5
    assert [name for name in names if occurs(name, redacted.stdout)] == []
    for before, after in zip(named.stdout.splitlines(), redacted.stdout.splitlines(), strict=True):
        one, other = json.loads(before), json.loads(after)
        assert (one["at"], one.get("node"), one["line"]) == (other["at"], other.get("node"), other["line"])
        if "event_type" in other:
            assert columns_of(other) == columns_of(one, KEY)
