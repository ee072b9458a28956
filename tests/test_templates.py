"""Lines that differ in their digits only share a template; where digits matter, they do not."""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np
import pytest

from udfs.arrow import templates
from udfs.arrow.captures import CaptureSpan, NumberedText
from udfs.arrow.templates import TemplateCache, numbers
from udfs.logs.formats import format_named
from udfs.logs.framing import Frames, frames
from udfs.rules.rulebook import RULES

APACHE = format_named("apache")
AT = b"[2024-02-29 23:59:59,999] INFO "


@pytest.fixture
def cache() -> TemplateCache:
    return TemplateCache(APACHE.layout)


def line(message: bytes, logger: bytes = b"state.change.logger", at: bytes = AT) -> bytes:
    return at + message + b" (" + logger + b")\n"


def blocks(data: bytes) -> Iterator[Frames]:
    return (part for part in frames(io.BytesIO(data), APACHE, 0, None, 1) if isinstance(part, Frames))


def read(cache: TemplateCache, *lines: bytes) -> list[int]:
    """The number of each line's template."""
    return [int(n) for block in blocks(b"".join(lines)) for n in cache.match(block).templates]


NUMBERS = {  # text -> begins and ends of its numbers
    b"": [],
    b"a": [],
    b"7": [(0, 1)],
    b"12 a34-5,,678": [(0, 2), (4, 6), (7, 8), (10, 13)],
    b"\n1\n": [(1, 2)],
    b"/0:9\xb2": [(1, 2), (3, 4)],
}


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers(text: bytes) -> None:
    starts, ends = numbers(np.frombuffer(text, np.uint8))
    assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == NUMBERS[text]


def test_positions_are_relative_to_the_number_before_them() -> None:
    text = NumberedText(b"ab 12 cd 3")
    assert [text.position(position) for position in range(11)] == [
        (-1, 0), (-1, 1), (-1, 2), (-1, 3),  # up to where the first number begins
        None,  # within it
        (0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 0),
    ]  # fmt: skip
    assert text.span(0, 5) == CaptureSpan(-1, 0, 0, 0)
    assert text.span(6, 10) == CaptureSpan(0, 1, 1, 0)


SENT = b"[Broker id=%s] Follower pay-in-%s starts at leader epoch %s from offset %s with high watermark 7. "
SENT += b"Previous leader epoch was 4."


def test_other_digits_are_the_same_template(cache: TemplateCache) -> None:
    same = [
        line(SENT % (b"3", b"0", b"5", b"7")),
        line(SENT % (b"12", b"345", b"0", b"123456789")),
        line(SENT % (b"0", b"007", b"5", b"7"), at=b"[2031-12-01 00:00:00,000] INFO "),
    ]
    assert read(cache, *same) == [0, 0, 0]
    template = cache.templates[0]
    assert template.rule is not None
    assert RULES[template.rule].sample.startswith("[Broker id=4] Follower pay-in-3 starts at")


OTHER_TEMPLATES = {  # what differs -> a line whose template is another than that of the lines above
    "a word": line(SENT.replace(b"Follower", b"Leader") % (b"3", b"0", b"5", b"7")),
    "a sign": line(SENT % (b"3", b"0", b"-5", b"7")),
    "the level": line(SENT % (b"3", b"0", b"5", b"7"), at=AT.replace(b"INFO", b"WARN")),
    "the logger": line(SENT % (b"3", b"0", b"5", b"7"), b"kafka.server.ReplicaManager"),
    "the end of the line": line(SENT % (b"3", b"0", b"5", b"7")).replace(b"\n", b"\r\n"),
    "the topic": line(SENT.replace(b"pay-in", b"pay-out") % (b"3", b"0", b"5", b"7")),
    "where a number stands": line(SENT.replace(b"pay-in", b"pay-1in") % (b"3", b"0", b"5", b"7")),
    "a number that no column holds": line(SENT % (b"3", b"0", b"1234567890", b"7")),
}


@pytest.mark.parametrize("case", OTHER_TEMPLATES)
def test_what_is_another_template(case: str, cache: TemplateCache) -> None:
    first = line(SENT % (b"3", b"0", b"5", b"7"))
    assert read(cache, first, OTHER_TEMPLATES[case], OTHER_TEMPLATES[case], first) == [0, 1, 1, 0]


ALONE = {  # why each such line has a template of its own -> the line
    "a rule writes digits out": line(
        b"[Broker id=3] Received UpdateMetadataRequest with Type=FULL (2), but no deleted topics were detected."
    ),
    "they might be those that a rule writes out": line(
        b"[Broker id=3] Received UpdateMetadataRequest with Type=FULL (3), but no deleted topics were detected."
    ),
    "not even its level can be read": line(b"Registered 1").replace(b"\n", b"\0\r\0\n"),
    "it holds a byte that stands for numbers": line(b"Registered \x01"),
}


@pytest.mark.parametrize("case", ALONE)
def test_what_has_a_template_of_its_own(case: str, cache: TemplateCache) -> None:
    first = line(SENT % (b"3", b"0", b"5", b"7"))
    assert read(cache, first, ALONE[case], ALONE[case], first) == [0, 1, 2, 0]


BELOW = AT + b"Registered %d\n\tfor a (%s)\n"
LOGGERS = {  # lines that have one template, and one that would have it, too, were its logger not another
    "its name has digits": (
        [line(b"Registered %d" % n, b"kafka.utils.Log4jController") for n in (1, 345)],
        line(b"Registered 1", b"kafka.utils.Log5jController"),
    ),
    "it is at the end of the last line": (
        [BELOW % (n, b"kafka.server.KafkaConfig") for n in (1, 345)],
        BELOW % (1, b"state.change.logger"),
    ),
    "it is nowhere": (
        [AT + b"Registered %d\n\tat a.B(C.java:7)\n" % n for n in (1, 345)],
        BELOW % (1, b"state.change.logger"),
    ),
}


@pytest.mark.parametrize("case", LOGGERS)
def test_the_logger_counts_where_the_line_does_not_tell_it(case: str, cache: TemplateCache) -> None:
    same, other = LOGGERS[case]
    assert read(cache, *same, other, same[0], other) == [0, 0, 1, 0, 1]
    assert cache.templates[0].logger != cache.templates[1].logger


def test_records_that_share_a_line_have_templates_of_their_own(cache: TemplateCache) -> None:
    first = line(SENT % (b"3", b"0", b"5", b"7"))
    assert read(cache, first, first[:-1], first, first) == [0, 1, 2, 0]
    assert len({template.rule for template in cache.templates}) == 1


def test_as_many_lines_as_records_but_not_one_each(cache: TemplateCache) -> None:
    first = line(SENT % (b"3", b"0", b"5", b"7"))
    assert read(cache, first, first[:-1], first, b"\tat x\n", first) == [0, 1, 2, 0]


def test_templates_are_remembered_from_block_to_block_and_forgotten_when_they_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    templates.clear_templates()
    cache = templates.template_cache(APACHE.layout)
    read(cache, line(b"One thing"), line(b"Another thing"), ALONE["a rule writes digits out"])
    assert cache.size == 4  # three templates, and the key of the line that has one of its own
    assert templates.template_cache(APACHE.layout) is cache
    monkeypatch.setattr(templates, "MAX_TEMPLATES", 2)
    assert templates.template_cache(APACHE.layout).size == 0
    templates.clear_templates()


SCOPED_PREFIXES = {  # prefix -> whether only loggers wholly in scope have it
    b"[Controller id=3 epoch=8] x": True,
    b"[Broker id=3] x": True,
    b"[Partition a-0 broker=3] x": True,
    b"[ReplicaStateMachine controllerId=3] x": True,
    b"[QuorumController id=3] x": True,
    b"Controller 3 epoch 8 x": True,
    b"[ReplicaManager broker=3] x": False,
    b"[GroupCoordinator 3]: x": False,
    b"x [Controller id=3] ": False,
    b"": False,
}


@pytest.mark.parametrize("message", SCOPED_PREFIXES)
def test_prefixes_in_scope(message: bytes) -> None:
    assert templates.has_scoped_prefix(message) is SCOPED_PREFIXES[message]


def test_no_rule_is_looked_up_by_digits() -> None:
    """Else a template could be read by the rules of its first line's word only."""
    assert [rule.text for rule in RULES for word in rule.first_words if any(48 <= byte < 58 for byte in word)] == []


def test_a_rulexwhere_it_writes_digits_out() -> None:
    patterns = {rule.event_type: rule.digit_insensitive for rule in RULES if rule.digit_insensitive}
    pattern = patterns["migration_full_update_metadata_deleted_topics"]
    assert pattern is not None
    assert pattern.fullmatch(
        b"Received UpdateMetadataRequest with Type=FULL (77), found 3 deleted topic ID(s): a."
    ) or pattern.fullmatch(b"Received UpdateMetadataRequest with Type=FULL (77), but no deleted topics were detected.")
    assert "partition_state_change" not in patterns


def test_templates_with_long_lists_weigh_more(cache: TemplateCache) -> None:
    removed = b"[ReplicaFetcherManager on broker 4] Removed fetcher for partitions Set(%s)"
    lines = [
        line(removed % b", ".join(b"a-%d" % i for i in range(count)), b"kafka.server.ReplicaFetcherManager")
        for count in (1, 4, 50)
    ]
    assert read(cache, *lines) == [0, 1, 2]
    assert cache.size == 1 + 1 + 11  # as many templates; five partitions weigh as much as one
