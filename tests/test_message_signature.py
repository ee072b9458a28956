"""Messages of one kind share their signature."""

import pytest

from udfs.rules.message_signature import LENGTH, message_signature

SIGNATURES = {  # what a message holds -> the message, and its signature
    "an id and a partition": (
        "Broker id=3 frobnicated pay-in-0",
        "Broker id=<n> frobnicated <partition>",
    ),
    "a prefix": (
        "[Controller id=3 epoch=8] Frobnicated replica 2",
        "[Controller id=<n> epoch=<n>] Frobnicated replica <n>",
    ),
    "a partition up to 0.10": (
        "Leader of [pay-in,3] and (refunds, 0) left",
        "Leader of <partition> and <partition> left",
    ),
    "a partition whose topic ends in a hyphen": ("Leader of pay-in--7 left", "Leader of <partition> left"),
    "negative numbers": ("leader=-1, epoch=-2", "leader=<n>, epoch=<n>"),
    "lists of any length": ("isr=[1, 2, 3] from List(4,5) of 6", "isr=[<n>,…] from List(<n>,…) of <n>"),
    "a list of partitions": ("Stopped Set(a-0, b-1, c-2)", "Stopped Set(<partition>,…)"),
    "quoted texts": ("Topic 'pay in' is \"gone\"", "Topic <quoted> is <quoted>"),
    "a quote that does not end": ("Topic 'pay is gone", "Topic 'pay is gone"),
    "an apostrophe": ("partition's leader isn't there", "partition's leader isn't there"),
    "a path": ("Cannot read /data/kafka/pay-in-0/000.log now", "Cannot read <path> now"),
    "a topic id": ("Topic id L3mK9pQrSt2uVwXyZ0aBcD is new", "Topic id <id> is new"),
    "a directory id": ("Directory 3f2504e0-4f89-11d3-9a0c-0305e82c3301 is new", "Directory <id> is new"),
    "an identity": ("Event kafka.Foo@1a2b3c in session 0x100a12", "Event kafka.Foo@<id> in session <id>"),
    "fractions and versions": ("took 12.5 ms since 2.4.1", "took <n> ms since <n>"),
    "numbers within words": ("host k6.pay answers v3", "host k<n>.pay answers v<n>"),
    "words with hyphens": ("become-leader of state-change", "become-leader of state-change"),
    "further lines": ("It failed\n\tat a.B(C.java:7)", "It failed"),
    "nothing": ("", ""),
}


@pytest.mark.parametrize("case", SIGNATURES)
def test_signature(case: str) -> None:
    message, expected = SIGNATURES[case]
    assert message_signature(message) == expected


def test_a_long_one_is_cut() -> None:
    assert message_signature("x" * (LENGTH + 1)) == "x" * LENGTH + "…"
    assert message_signature("x" * LENGTH) == "x" * LENGTH


def test_a_very_long_line_takes_no_time_to_speak_of() -> None:
    """The parts of a pattern must not multiply; 100 kB of what nearly is a partition, an id or a quoted text."""
    for text in ("a-" * 50_000, "Ab" * 50_000, "'" * 100_000, "[a," * 33_000, "/a" * 50_000, "-1" * 50_000):
        assert len(message_signature(text)) <= LENGTH + 1
