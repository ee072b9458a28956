"""What workers are spared."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from udfs.workers import without_collector


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
