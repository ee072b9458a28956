"""Every record that no rule knows can be had back, byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.logs.escapes import escaped, recovered

CASES = {  # bytes -> text
    "plain": (b"Broker 3 frobnicated [a,1]\n", "Broker 3 frobnicated [a,1]\n"),
    "UTF-8": ("größe".encode(), "größe"),
    "Latin-1": ("größe".encode("latin-1"), r"gr\xf6\xdfe"),
    "half a UTF-8 letter": (b"gr\xc3", r"gr\xc3"),
    "what looks like an escape": (rb"C:\xff", r"C:\x5cxff"),
    "what looks like the escape of an escape": (rb"\x5cxff", r"\x5cx5cxff"),
    "other backslashes": (rb"C:\kafka\xyz \\ \x", r"C:\kafka\xyz \\ \x"),
    "a backslash before a byte": (b"\\\xff", r"\\xff"),
    "letters in capitals are no escape": (rb"\xFF", r"\xFF"),
}


@pytest.mark.parametrize("case", CASES)
def test_there_and_back(case: str) -> None:
    raw, text = CASES[case]
    assert escaped(raw) == text
    assert recovered(text) == raw


@given(st.lists(st.sampled_from([b"\\", b"x", b"5c", b"ff", b"\xff", b"\xc3", "ö".encode(), b" "])).map(b"".join))
def test_nothing_is_lost(raw: bytes) -> None:
    assert recovered(escaped(raw)) == raw
