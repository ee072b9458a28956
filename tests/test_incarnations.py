"""Recreations of a topic without an id; times are seconds here."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.reconstruct.incarnations import MAX_CLOCK_DIFFERENCE_US, incarnation_starts

SECOND = 1_000_000

CASES: dict[str, tuple[list[int], list[tuple[int, int]], list[int], list[float]]] = {
    # reported deletions, signs (last line on the incarnation before, first on the new one), births -> starts, all in s
    "no deletion, no sign": ([], [], [], []),
    "a reported deletion ends an incarnation at once": ([100], [], [], [100.000001]),
    "signs of a reported deletion add nothing": ([100], [(90, 120), (95, 110)], [], [100.000001]),
    "a broker whose clock is 3 s ahead of the report's": ([100], [(102, 120)], [], [100.000001]),
    "and one that is 3 s behind it": ([100], [(90, 98)], [], [100.000001]),
    "signs that share a moment are one recreation": ([], [(90, 120), (95, 121)], [], [120]),
    "signs that do not are two": ([], [(90, 120), (150, 190)], [], [120, 190]),
    "one is reported, the other not": ([100], [(90, 120), (150, 190)], [], [100.000001, 190]),
    "it begins with the first birth that all signs allow": ([], [(90, 120), (95, 121)], [10, 92, 117, 118, 130], [117]),
    "births before the last line on the incarnation before do not count": ([], [(90, 120)], [10, 90], [120]),
}


@pytest.mark.parametrize("name", CASES)
def test_incarnation_starts(name: str) -> None:
    deleted, signs, births, expected = CASES[name]
    starts = incarnation_starts(
        [at * SECOND for at in deleted], [(a * SECOND, b * SECOND) for a, b in signs], [b * SECOND for b in births]
    )
    assert starts == [round(start * SECOND) for start in expected]


@given(st.lists(st.integers(1, 10**6), max_size=5, unique=True), st.data())
def test_never_more_incarnations_than_there_were(minutes: list[int], data: st.DataObject) -> None:
    """Whatever nodes see of recreations a minute apart and more, with clocks that agree to seconds."""
    recreations = [minute * 60 * SECOND for minute in sorted(minutes)]
    reported = [at for at in recreations if data.draw(st.booleans())]
    drift = st.integers(-MAX_CLOCK_DIFFERENCE_US // 2 + 1, MAX_CLOCK_DIFFERENCE_US // 2 - 1)
    signs = []
    for number, at in enumerate(recreations):
        for _ in range(data.draw(st.integers(0, 3))):
            shift, width = data.draw(drift), data.draw(st.integers(1, 20 * SECOND))
            first = max(at - width, recreations[number - 1] + 10 * SECOND if number else 0)
            signs.append((first + shift, at + 1 + shift))
    assert len(incarnation_starts(reported, signs)) <= len(recreations)
