"""A copy of a warehouse without names: the same name is the same word everywhere, and none of them is left."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from jobs.cli import main
from tests.delta_warehouse import DAY, publish
from udfs.redaction import Redaction, kinds_of, names_in

NAMES = {  # a line of a log -> what it shows to be a name
    "Registered broker 6 at path /brokers/ids/6 with addresses: PLAINTEXT://k6.pay:9092, czxid 1": {("h", "k6.pay")},
    "[BrokerToController id=1] node kafka-2.example.com:9093 (id: 2 rack: null) is unavailable": {
        ("h", "kafka-2.example.com")
    },
    "Socket connection established, initiating session, client: /10.0.0.7:4321": {("h", "10.0.0.7")},
    "EndPoint(host='b1.internal', port=9092)": {("h", "b1.internal")},
    "Principal = User:CN=alice,OU=x is Denied Operation = Describe": {("p", "CN=alice,OU=x")},
    "principal=User:CN=Al Smith,O=Pay of Rome,C=IT, listenerName=ListenerName(SSL)": {
        ("p", "CN=Al Smith,O=Pay of Rome,C=IT")
    },
    "User:CN=al,O=Pay Inc Operation = Describe": {("p", "CN=al,O=Pay Inc")},
    r"User:CN=Smith\, Al+UID=7,DC=pay,1.2.840.113549.1.9.1=#1603 from 10.0.0.7": {
        ("p", r"CN=Smith\, Al+UID=7,DC=pay,1.2.840.113549.1.9.1=#1603"),
        ("h", "10.0.0.7"),
    },
    "Peer has certificate CN=k1.pay, OU=x": {("p", "CN=k1.pay, OU=x")},
    "owner=User:svc-1.eu@pay.example, renewers=[User:bob]": {("p", "svc-1.eu@pay.example"), ("p", "bob")},
    "Authenticated User:kafka/k1.pay@PAY.EXAMPLE.": {("p", "kafka/k1.pay@PAY.EXAMPLE")},
    "StandardAcl(principal=User:*, host=*)": set(),
    "ClientQuotaEntity(entries={user=ann, client-id=shop})": {("p", "ann"), ("c", "shop")},
    '"data":{"entity":[{"entityType":"user","entityName":"ann"},{"entityType":"client-id","entityName":"shop"}]': {
        ("p", "ann"),
        ("c", "shop"),
    },
    "ScramCredentialRecord(name='ann', mechanism=1)": {("p", "ann")},
    "Updated /config/users/CN%3Dann%2COU%3Dx and /config/clients/my%20app": {("p", "CN=ann,OU=x"), ("c", "my app")},
    "Reset to offset:12345 and epoch:1234, Leader:10001 port:9092 ISR:10001,10002": set(),
    "high-watermark:12345 max.message.bytes:12345 retention.ms:86400": set(),
    "sent to broker kafka:9092 (id: 1 rack: null)": {("h", "kafka")},
    "Initiating client connection, connectString=zoo:2181,keeper:2181/kafka": {("h", "zoo"), ("h", "keeper")},
    "controller.quorum.voters = [100@one:9093, 101@two:9093]": {("h", "one"), ("h", "two")},
    "Opening socket connection to server zoo/10.0.0.7:2181": {("h", "zoo"), ("h", "10.0.0.7")},
    "Connection to node 2 (leader2/<unresolved>:9092)": {("h", "leader2")},
    "with addresses: PLAINTEXT -> EndPoint(east,9092,PLAINTEXT)": {("h", "east")},
    "BrokerEndPoint(4,east,9092)": {("h", "east")},
    "sent to broker Node(4, east, 9092)": {("h", "east")},
    "Initializing a new session to east:2181. Awaiting socket connections on west:9092.": {
        ("h", "east"),
        ("h", "west"),
    },
    "live brokers id:5,host:east,port:9092": {("h", "east")},
    "environment:host.name=east": {("h", "east")},
    "fetcher-host_k1.pay-port_9092": {("h", "k1.pay")},
    "Failed authentication with /[fe80::1]:4321 (SSL)": {("h", "fe80::1")},
    "from /0:0:0:0:0:0:0:1:4321": set(),
    '{"endPoints":[{"name":"PLAINTEXT","host":"b1.internal","port":9092}],"rack":"east"}': {
        ("h", "b1.internal"),
        ("h", "east"),
    },
    "BrokerRegistration(id=2, epoch=7, rack=Optional[east], fenced=true)": {("h", "east")},
    "BrokerRegistration(id=2, epoch=7, rack=Optional.empty, fenced=true)": set(),
    'Authentication failed for username="svc-pay"': {("p", "svc-pay")},
    "Received request (clientId=checkout-7, correlationId=4)": {("c", "checkout-7")},
    """{"clientId":"checkout","principal":"User:ann"} (clientId='my app')""": {
        ("c", "checkout"),
        ("p", "ann"),
        ("c", "my app"),
    },
    "log.dirs = /srv/a,/srv/b c": {("d", "/srv/a"), ("d", "/srv/b")},
    "Log(dir=/srv/a/pay-in-3, topic=pay-in)": {
        ("d", "/srv/a"),
        ("d", "/srv/a/pay-in-3"),
        ("t", "pay-in"),
    },
    "Stopping serving replicas in dir /srv/a.": {("d", "/srv/a")},
    "Deleted index /srv/a/pay-in-3.9bbf-delete/00000000000000000700.index": {
        ("d", "/srv/a"),
        ("d", "/srv/a/pay-in-3.9bbf-delete"),
    },
    "Loading /srv/a/meta.properties": {("d", "/srv/a")},
    "Deleting /brokers/topics/pay-in/partitions/3 and /admin/delete_topics/refunds": {
        ("t", "pay-in"),
        ("t", "refunds"),
    },
    "[Topic=pay-in,Partition=3] topic=Optional[x] topic=null": {("t", "pay-in")},
    "on resource = Topic:LITERAL:pay-in from host = 10.0.0.7.": {("t", "pay-in"), ("h", "10.0.0.7")},
    "Kafka version : 0.10.2.2, libs/snappy-java/1.1.10.5/snappy-java-1.1.10.5.jar": set(),
    "brokers id:12345,host:east,port:9092": {("h", "east")},
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
    "User:{CN=Al Smith,OU=x} is Denied, CN=Al stays": "a distinguished name, whole",
    "User:{kafka/k1.pay@PAY}, {kafka/k1.pay@PAY}; kafka/{k1.pay}@EU": "a Kerberos principal, and its host",
    "User:{svc-1.eu@pay} and svc-1.eu": "one with signs in it",
    "/{k1.pay}:9092 host_{k1.pay}-port_9092": "a host beside signs",
    "partition 1 of 1 at 2026-11-21 10:00:01": "numbers, though a topic is called 1",
}


@pytest.mark.parametrize("text", WORDS)
def test_names_in_words(text: str) -> None:
    kinds = {"pay-in": "t", "pay": "t", "pay.v1": "t", "k1.pay": "h", "__consumer_offsets": "t"}
    kinds |= dict.fromkeys(("CN=Al Smith,OU=x", "kafka/k1.pay@PAY", "svc-1.eu@pay"), "p")
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


WORD = st.from_regex(r"[b-df-z][a-z]{3,7}[0-9]{3}", fullmatch=True)
VALUE = st.builds(" ".join, st.lists(WORD.map(str.capitalize), min_size=1, max_size=3))
ATTRIBUTE = st.builds(
    "{}={}".format, st.sampled_from(("CN", "OU", "O", "L", "DC", "UID", "1.2.840.113549.1.9.1")), VALUE
)
HOST = st.builds("-".join, st.lists(WORD, min_size=1, max_size=2))
PRINCIPAL = (
    st.builds(",".join, st.lists(ATTRIBUTE, min_size=1, max_size=5))
    | st.builds("{}/{}@{}".format, WORD, HOST, WORD.map(str.upper))
    | st.builds(
        lambda words, sign: sign.join(words), st.lists(WORD, min_size=1, max_size=3), st.sampled_from("@.-_+/=:")
    )
)
FOLDER = st.builds(lambda words: "/" + "/".join(words), st.lists(HOST, min_size=1, max_size=3))
FORMS = {  # with {} for a name -> what is a name there
    "Principal = User:{} is Denied Operation = Describe from host = 10.0.0.7": PRINCIPAL,
    "RequestContext(principal=User:{}, listenerName=ListenerName(SSL))": PRINCIPAL,
    "StandardAcl(principal=User:{}, host=*)": PRINCIPAL,
    '"principal":"User:{}","securityProtocol"': PRINCIPAL,
    "renewers=[User:{}]": PRINCIPAL,
    "Authenticated User:{}": PRINCIPAL,
    "to broker {}:9092 (id: 1 rack: null)": HOST,
    "Initiating client connection, connectString=zoo:2181,{}:2181/kafka": HOST,
    "EndPoint({},9092,ListenerName(SSL),SSL)": HOST,
    "{}/10.0.0.7:9092": HOST,
    "[Log partition=a-0, dir={}] Loaded": FOLDER,
    "log.dirs = /a,{}": FOLDER,
    "Loading {}/meta.properties": FOLDER,
    "(clientId={}, correlationId=4)": HOST,
    "rack: {})": HOST,
}


@pytest.mark.parametrize("form", FORMS)
@given(data=st.data())
def test_no_part_of_a_name_survives(form: str, data: st.DataObject) -> None:
    """In its own form, and wherever else its whole is."""
    name = data.draw(FORMS[form])
    text = f"{form.format(name)} ({name})"
    redacted = Redaction(KEY, kinds_of(names_in(text), ())).text(text)
    assert [word for word in re.findall(r"\w+\d{3}\b", name) if re.search(rf"\b{word}\b", redacted)] == []


@given(st.from_regex(r"[a-zA-Z]{1,12}(-[a-z]{1,5})?", fullmatch=True), st.integers(0, 99999))
def test_a_plain_word_before_a_number_is_no_host(word: str, number: int) -> None:
    assert set(names_in(f"Truncated, {word}:{number}, {word}: {number}")) == set()


@pytest.mark.parametrize("part", ["a.", "a-", "a.b-1", "/a", "CN=a,O=", "1:", "ab::"])
def test_a_long_word_does_not_take_long(part: str) -> None:
    """16 KB of `a-` took 6 s where hosts could begin anywhere in it."""
    begin = perf_counter()
    list(names_in(part * 8000))
    assert perf_counter() - begin < 3


def test_paths_of_zookeeper_have_the_same_pseudonym() -> None:
    redaction = Redaction(KEY, {"CN=al,OU=x": "p"})
    assert redaction.text("/config/users/CN%3Dal%2COU%3Dx") == f"/config/users/{redaction.name('CN=al,OU=x')}"


def test_folders_have_the_pseudonyms_of_their_parts() -> None:
    """As `merge --redact` prints them; a topic's is the topic's."""
    redaction = Redaction(KEY, {"/srv/1/pay-in-3": "d", "/srv/1": "d", "pay-in": "t"})
    srv, topic = Redaction(KEY, {"srv": "d"}).name("srv"), redaction.name("pay-in")
    assert redaction.text("/srv/1/pay-in-3/0.log /srv/1/pay-in-4") == f"/{srv}/1/{topic}-3/0.log /{srv}/1/{topic}-4"


# ---- the command ----------------------------------------------------------------------------------------------------
MESSAGE = "Changed partition pay-in-0 by User:alice at SSL://k1.pay:9093 (clientId=checkout-7)"
DENIED = "User:CN=al,OU=x is denied, offset:12345"
TABLES: Mapping[str, list[dict[str, Any]]] = {
    "log_files": [{"cluster": "c", "file_id": "f", "path": "/logs/k1.pay/pay-in.log", "also_seen_as": ["/b/k1.pay"]}],
    "log_coverage": [{"cluster": "c", "since": DAY, "until": DAY}],
    "events": [
        {"cluster": "c", "file_id": "f", "line": 1, "at": DAY, "topic": "pay-in", "event_type": "pay",
         "message": MESSAGE,
         "fields": [("endpoints", "SSL://k1.pay:9093"), ("user", "User:alice")],
         "partitions": [{"topic": "refunds", "partition": 0}, {"topic": "pay-in", "partition": 1}]},
        {"cluster": "c", "file_id": "f", "line": 2, "at": DAY},
        {"cluster": "c", "file_id": "f", "line": 4, "at": DAY, "logger": "kafka.server.KafkaApis",
         "message": "Deleted Set(orders) of bob in /srv/a", "detail": DENIED,
         "fields": [("topics", "Set(orders)"), ("user", "bob"), ("dir", "/srv/a")]},
    ],
    "rejects": [{"cluster": "c", "file_id": "f", "line": 3, "raw": "refunds-1 and 10.0.0.7", "logger": "refunds"}],
    "log_dir_failures": [{"cluster": "c", "log_dir": "/srv/b", "partitions": ["pay-in-0"]}],
    "offline_partitions": [{"cluster": "c", "topic": "refunds", "partition": 0, "since": DAY, "cause": "broker_crash"}],
    "verdicts": [{"cluster": "c", "subject": "refunds-0", "verdict": "holds", "explanation": "of refunds on k1.pay"}],
}  # fmt: skip
KINDS = {
    **dict.fromkeys(("pay-in", "refunds", "orders"), "t"), **dict.fromkeys(("k1.pay", "10.0.0.7"), "h"),
    **dict.fromkeys(("alice", "CN=al,OU=x", "bob"), "p"), "checkout-7": "c", "/srv/a": "d", "/srv/b": "d",
}  # fmt: skip


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
    assert "3 topics, 2 hosts, 3 principals, 1 client ids and 2 folders" in result.stdout
    names = Redaction(KEY, KINDS)
    for table, rows in TABLES.items():
        before, after = (run("export", table, "--warehouse", folder).stdout for folder in (root, tmp_path / "copy"))
        assert not [name for name in KINDS if name in after], table
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
