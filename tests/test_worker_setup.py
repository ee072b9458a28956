"""What workers are spared."""

from __future__ import annotations

import ctypes
import gc
import platform
import resource
import subprocess
import sys
import weakref
from collections.abc import Iterator

import pytest

from udfs.logs.worker_setup import with_memory_kept, without_collector


class Knot:
    """Something that refers to itself: only the collector frees it."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


def test_what_is_there_is_not_gone_through_again() -> None:
    before, ghost = Knot(), weakref.ref(Knot())
    without_collector()
    knot = weakref.ref(before)
    del before
    gc.collect()
    assert knot() is not None
    assert ghost() is not None  # it was garbage already, but nobody had collected it
    gc.unfreeze()
    gc.collect()
    assert [knot(), ghost()] == [None, None]


def test_what_comes_later_is_collected_when_asked_for_only() -> None:
    without_collector()
    knots = [weakref.ref(Knot()) for _ in range(10_000)]  # more than make the collector start by itself
    assert all(knot() is not None for knot in knots)
    gc.collect()
    assert all(knot() is None for knot in knots)


FAULTS = """
import resource
from udfs.logs.worker_setup import with_memory_kept
if {keeps_memory}:
    with_memory_kept()
for _ in range(20):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    blocks = [bytearray(1 << 20) for _ in range(50)]
    del blocks
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(keeps_memory: bool) -> int:
    """How many pages of zeros the last of some equal pieces of work took from the system."""
    result = subprocess.run(
        [sys.executable, "-c", FAULTS.format(keeps_memory=keeps_memory)], capture_output=True, check=True
    )
    return int(result.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators are left as they are")
def test_memory_is_not_asked_for_anew() -> None:
    pages = 50 * (1 << 20) // resource.getpagesize()
    assert faults(keeps_memory=True) < pages // 10
    assert faults(keeps_memory=False) > pages // 2


def test_there_may_be_no_such_allocator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    with_memory_kept()
