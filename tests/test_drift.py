"""Messages of later releases: fields added to any printed record, and text behind any message, are read around."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.test_parsing import DUMP, columnar, disagreements, line
from udfs.arrow.templates import clear_templates
from udfs.rules.drift import LEAST_TEXT, LEAST_TEXT_IN_SCOPE, own_text
from udfs.rules.logger_scopes import is_wholly_scoped
from udfs.rules.parsing import read_message, split_prefix
from udfs.rules.rule import COLUMNS, Rule
from udfs.rules.rulebook import RULES

CLUSTER = "org.apache.kafka.controller.ClusterControlManager"
FENCED = (
    "[QuorumController id=101] Replayed BrokerRegistrationChangeRecord modifying the registration for broker 4: "
    "BrokerRegistrationChangeRecord(brokerId=4, brokerEpoch=300, fenced=1, inControlledShutdown=0, logDirs=[]{})"
)
READ = {
    "event_type": "kraft_broker_fenced", "controller_id": 101, "node": 101, "broker": "4", "broker_epoch": "300",
    "fenced_change": "1", "in_controlled_shutdown_change": "0", "log_dirs": "[]",
}  # fmt: skip
DRIFTED = {  # what is added to the record, and behind it -> what is read besides
    "a field": (", lastSeen=17", "", {"last_seen": "17", "new_fields": "lastSeen"}),
    "a list": (", spareDirs=[a, b]", "", {"spare_dirs": '["a", "b"]', "new_fields": "spareDirs"}),
    "nothing yet": (", spareDirs=null", "", {"spare_dirs": "null", "new_fields": "spareDirs"}),
    "objects": (
        ", racks=[Rack(name='a, (b', size=2)], x={}",
        "",
        {"racks": "[Rack(name='a, (b', size=2)]", "x": "{}", "new_fields": "racks,x"},
    ),
    "a name of ours": (", topic=4", "", {"new_topic": "4", "new_fields": "topic"}),
    "text": ("", " for the 2nd time", {"appended": "for the 2nd time"}),
    "both": (", lastSeen=17", " (again).", {"last_seen": "17", "new_fields": "lastSeen", "appended": "(again)."}),
    "known from 4.3 on": (", cordonedLogDirs=null", "", {}),
}


@pytest.mark.parametrize("case", DRIFTED)
def test_what_is_added_is_kept_and_marked(case: str) -> None:
    field, text, besides = DRIFTED[case]
    assert read_message(CLUSTER, FENCED.format(field) + text) == {**READ, **besides}


NOT_READ = {
    "another record begins in the line": FENCED.format("") + "[2026-11-21 10:00:00,000] INFO Something else",
    "a number goes on": "[QuorumController id=101] Fenced broker: 4x",
    "a word goes on": FENCED.format("").replace("Replayed", "ReplayedAgain"),
    "the record is cut off": FENCED.format("")[:-12],
}


@pytest.mark.parametrize("case", NOT_READ)
def test_what_is_torn_is_not_read(case: str) -> None:
    assert read_message(CLUSTER, NOT_READ[case]) is None


def test_the_record_of_a_rule_that_writes_digits_is_not_another_rules() -> None:
    """Lines that differ in a digit only: fenced, unfenced, neither; each with a field that is new."""
    text = b"".join(
        line(CLUSTER, FENCED.format(", lastSeen=17").replace("fenced=1", f"fenced={change}"))
        for change in (1, -1, 0, 1)
    )
    rows, _ = columnar(text)
    assert [row["event_type"] for row in rows] == [
        "kraft_broker_fenced", "kraft_broker_unfenced", "kraft_broker_registration_changed", "kraft_broker_fenced",
    ]  # fmt: skip
    assert disagreements(text) == []


def test_a_record_that_has_drifted_says_nothing_about_the_release() -> None:
    """Nor is it lost to the account."""
    _, account = columnar(line(CLUSTER, "[Controller 101] Fenced broker: 4 (again)"))
    assert (account["versions"], account["event_lines"]) == ("", "1")
    _, account = columnar(line(CLUSTER, "[Controller 101] Fenced broker: 4"))
    assert account["versions"] == "3.3.0..3.5.2"


def test_what_is_new_is_counted() -> None:
    """In the account: of each record all its new fields together, so that the numbers add up to records."""
    texts = [", lastSeen=1, x=2", ", lastSeen=3", ", lastSeen=4", ""]
    data = b"".join(line(CLUSTER, FENCED.format(text)) for text in texts) + line(
        CLUSTER, FENCED.format("") + " (again)"
    )
    assert columnar(data)[1]["drift"] == "appended text=1,lastSeen=2,lastSeen x=1"


# ---- any sample ------------------------------------------------------------------------------------------------------
_RECORD = re.compile(r"\w+\((?=\w+=)")


def gaps(text: str) -> Iterator[tuple[int, bool]]:
    """Where a printed record of a text can have another field: behind its opening bracket, before a comma between two
    fields, before its closing bracket; and whether it is the first of these."""
    for record in _RECORD.finditer(text):
        yield record.end(), True
        depth = 0
        for i in range(record.end(), len(text)):
            depth += (text[i] in "([{") - (text[i] in ")]}")
            if depth < 0:
                yield i, False
                break
            if depth == 0 and re.match(r", \w+=", text[i:]):
                yield i, False


def with_field(text: str, gap: tuple[int, bool], field: str) -> str:
    position, is_first = gap
    return text[:position] + (f"{field}, " if is_first else f", {field}") + text[position:]


def logger_of(rule: Rule) -> str:
    return rule.loggers[0] + "Any" if rule.loggers[0][-1] in ".$" else rule.loggers[0]


def without(value: Any, field: str) -> Any:
    """A value as it was before the field was added to the record that it quotes."""
    if isinstance(value, str):
        return value.replace(f", {field}", "").replace(f"{field}, ", "")
    return value


WITH_RECORDS = [rule for rule in RULES if any(gaps(rule.sample))]
assert len(WITH_RECORDS) > 100


@pytest.mark.parametrize("rule", WITH_RECORDS, ids=lambda rule: f"{rule.event_type}: {rule.text[:50]}")
def test_a_field_added_anywhere_in_a_printed_record(rule: Rule) -> None:
    """What was read is read; the message's own records, and those of KRaft within values, name the field as new."""
    before = read_message(logger_of(rule), rule.sample)
    assert before is not None
    for gap in gaps(rule.sample):
        for field in ("brandNew=7", "brandNew='a, b'", "brandNew=[X(y=1)]"):
            message = with_field(rule.sample, gap, field)
            after = read_message(logger_of(rule), message)
            assert after is not None, message
            besides = {key: value for key, value in after.items() if key not in before}
            assert {key: without(after[key], field) for key in before if key in after} == before, message
            assert besides.keys() <= {"brand_new", "previous_brand_new", "new_fields"}, message
            assert besides.get("new_fields", "brandNew") in ("brandNew", "brandNew,y"), message


def test_every_record_of_a_sample_with_a_new_field_and_more_text_is_read_alike_by_both() -> None:
    for rule in WITH_RECORDS:
        if logger_of(rule) == "kafka-dump-log":
            continue
        clear_templates()
        messages = [with_field(rule.sample, gap, "brandNew=7") + " and more 12" for gap in gaps(rule.sample)]
        text = b"".join(line(logger_of(rule), message) for message in messages for _ in (1, 2))
        assert disagreements(text) == [], rule.text


RECORDS_IN_JSON = [rule for rule in RULES if rule.loggers == ("kafka-dump-log",) and '"data":{' in rule.sample]


@pytest.mark.parametrize("rule", RECORDS_IN_JSON, ids=lambda rule: rule.event_type)
def test_a_key_added_to_a_record_in_json(rule: Rule) -> None:
    before = read_message("kafka-dump-log", rule.sample)
    assert before is not None
    head, data = rule.sample.split('"data":{', 1)
    message = f'{head}"data":{{"brandNew":[7]{"" if data[0] == "}" else ","}{data}'
    if "data" in before:  # a record that is kept as it is
        before["data"] = json.dumps({"brandNew": [7], **json.loads(before["data"])}, separators=(",", ":"))
        assert read_message("kafka-dump-log", message) == before
    else:
        new = {"brand_new": "[7]", "new_fields": "brandNew"}
        assert read_message("kafka-dump-log", message) == {**before, **new}
    assert disagreements(message.encode() + b"\n", DUMP) == []


TOO_SHORT = [
    rule
    for rule in RULES
    if own_text(rule) < (LEAST_TEXT_IN_SCOPE if is_wholly_scoped(logger_of(rule)) else LEAST_TEXT)
]


def test_few_rules_have_too_little_text() -> None:
    assert len(TOO_SHORT) < 20


OF_ANOTHER = {  # of a message and a full stop something else is read: another message, a topic's name
    ("Metadata batch <metadata_offset:int>: error while processing batch", ". And so on"),
    ("<?Add Partition?><?Partition modification?> triggered <assignment:path_assignment>", ". And so on"),
}


@pytest.mark.parametrize("more", [" (again)", ", since it had to", ". And so on", " in 3 ms", ": x=1"])
def test_text_behind_a_message(more: str) -> None:
    """Columns and event type are as before; it is marked but where the rule ends in a value that is any text."""
    wrong = []
    for rule in RULES:
        name = logger_of(rule)
        if rule in TOO_SHORT or name == "kafka-dump-log" or (rule.text, more) in OF_ANOTHER:
            continue
        before, after = read_message(name, rule.sample), read_message(name, rule.sample + more)
        assert before is not None
        if after is None:
            wrong.append((rule.text, "is not read"))
        elif {key: after.get(key) for key in KEPT} != {key: before.get(key) for key in KEPT}:
            wrong.append((rule.text, "has other columns"))
        elif ("appended" in after) == rule_matches(rule, rule.sample + more):
            wrong.append((rule.text, "is not marked"))
        elif "appended" in after and after["appended"] not in (more.strip(), more.strip(" .")):
            wrong.append((rule.text, "is marked with other text"))
    assert wrong == []


KEPT = ("event_type", *COLUMNS)


def rule_matches(rule: Rule, message: str) -> bool:
    return bool(rule.pattern.fullmatch(split_prefix(message.encode())[1]))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(RULES), st.text("a1 .,:;()[]{}='\"-\\é", max_size=30))
def test_both_interpreters_read_any_text_behind_a_message_alike(rule: Rule, more: str) -> None:
    clear_templates()
    dump = logger_of(rule) == "kafka-dump-log"
    other = re.sub(r"\d", "8", more)
    text = b"".join(line(logger_of(rule), rule.sample + added) for added in (more, other, more))
    assert (disagreements(text, DUMP) if dump else disagreements(text)) == []
