"""Clocks of nodes against each other over time: bounds that hold, corrections that keep each node's order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.reconstruct.clock_skew import (
    MAX_DRIFT,
    RESOLUTION_US,
    SLOT_US,
    ClockCorrection,
    ClockSkew,
    SkewBound,
    ahead_at,
    clock_corrections,
    clock_skews,
    correction_slots,
)

MINUTE = 60_000_000
HOUR = 60 * MINUTE


def both_ways(a: int, b: int, at: int, ahead: int, there: int, back: int) -> list[SkewBound]:
    """A request of `a` to `b`, whose clock is `ahead`, and its answer; ways of `there` and `back` microseconds."""
    return [SkewBound(a, b, at, ahead + there), SkewBound(b, a, at + ahead + there, back - ahead)]


def test_clocks_without_skew_are_left_alone() -> None:
    skews = clock_skews([one for i in range(5) for one in both_ways(1, 2, i * MINUTE, 0, 4000, 6000)])
    assert {node: skew.is_applied for node, skew in skews.items()} == {1: False, 2: False}
    least, most = skews[2].least, skews[2].most
    assert least is not None
    assert most is not None
    assert (least <= 0).all()
    assert (most >= 0).all()
    assert most.min() == 4000 + RESOLUTION_US
    assert least.max() == -6000 - RESOLUTION_US


def test_a_clock_that_is_ahead_is_corrected_by_the_middle_of_the_bounds() -> None:
    skews = clock_skews([*both_ways(1, 2, 0, 300_000_000, 4000, 6000), *both_ways(1, 3, 0, 0, 1000, 1000)])
    assert [node for node, skew in skews.items() if skew.is_applied] == [2]
    assert skews[2].reference == 1
    # 300 s and 4 ms at most, less 6 ms at least; what may drift between the moments of the bounds is 40 us
    assert skews[2].applied == pytest.approx(299_999_000, abs=40)


def test_the_reference_is_with_the_many() -> None:
    """Node 1 has most pairs, but its clock is the one that goes wrong."""
    bounds = [
        one for other in (2, 3, 4, 5) for i in range(3) for one in both_ways(1, other, i * MINUTE, -60_000_000, 10, 10)
    ]
    skews = clock_skews(bounds)
    assert [node for node, skew in skews.items() if skew.is_applied] == [1]
    assert skews[1].applied == pytest.approx(60_000_000, abs=5_000)


def test_bounds_go_over_a_third_node() -> None:
    bounds = [*both_ways(1, 2, 0, 0, 10, 10), *both_ways(1, 3, 0, 0, 10, 10), *both_ways(3, 4, 0, 5_000_000, 10, 10)]
    skews = clock_skews(bounds)
    assert [node for node, skew in skews.items() if skew.is_applied] == [4]
    assert skews[4].applied == pytest.approx(5_000_000, abs=100)


def test_bounded_on_one_side_only_as_little_as_fits_is_taken_off() -> None:
    ahead = clock_skews([SkewBound(1, 2, 0, -100_000), SkewBound(1, 3, 0, 100_000)])
    assert ahead[2].applied[0] == -100_000 + RESOLUTION_US
    assert not ahead[3].is_applied
    assert np.isinf(ahead[3].least).all() if ahead[3].least is not None else False


def test_a_clock_that_was_set_is_inconsistent_and_keeps_its_own_time() -> None:
    """Ahead by nothing and a minute later by ten: no drift does that."""
    bounds = [
        *both_ways(1, 2, 0, 0, 10, 10),
        *both_ways(1, 2, MINUTE, 10_000_000, 10, 10),
        *both_ways(1, 3, 0, 0, 10, 10),
        *both_ways(1, 3, MINUTE, 0, 10, 10),
    ]
    skews = clock_skews(bounds)
    assert (skews[2].least, skews[2].most, skews[2].is_applied) == (None, None, False)
    assert not skews[3].is_applied
    assert skews[3].least is not None


def test_without_bounds_there_is_no_skew() -> None:
    assert clock_skews([]) == {}
    assert {*clock_skews([SkewBound(1, 2, 0, 5), SkewBound(1, 2, 9, 5), SkewBound(8, 9, 0, 5)])} == {1, 2}


def test_a_day_of_drift_is_followed() -> None:
    """100 ppm: 8.6 s a day. With pairs every ten minutes it is off by the ways and what may drift meanwhile at most."""

    def ahead(at: int) -> int:
        return 300_000_000 + at // 10_000

    hours = range(0, 24 * HOUR, 10 * MINUTE)
    bounds = [one for at in hours for one in both_ways(1, 2, at, ahead(at), 2000, 2000)]
    skews = clock_skews([*bounds, *both_ways(1, 3, 0, 0, 10, 10)])[2]
    assert skews.reference == 1
    assert (
        max(abs(float(applied) - ahead(int(at))) for at, applied in zip(skews.at, skews.applied, strict=True))
        < 2000 + RESOLUTION_US
    )


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[SkewBound], dict[int, tuple[int, float]]]:
    """Bounds of a cluster of five whose clocks start apart and drift evenly, and how: node -> ahead at 0, drift."""
    clocks = {
        node: (draw(st.integers(-400_000_000, 400_000_000)), draw(st.floats(-MAX_DRIFT / 4, MAX_DRIFT / 4)))
        for node in range(2)
    }
    clocks |= dict.fromkeys(range(2, 5), (0, 0.0))  # most agree
    bounds = []
    for _ in range(draw(st.integers(1, 30))):
        at, a, b = draw(st.integers(0, 10 * HOUR)), draw(st.integers(0, 4)), draw(st.integers(0, 4))
        if a != b:
            way = draw(st.integers(0, 5_000_000))
            on = {node: round(begin + drift * at) for node, (begin, drift) in clocks.items()}
            bounds.append(SkewBound(a, b, at + on[a], on[b] - on[a] + way))
    return bounds, clocks


@given(clusters())
def test_the_true_skew_is_within_the_bounds(cluster: tuple[list[SkewBound], dict[int, tuple[int, float]]]) -> None:
    """Whatever is known: true bounds of clocks that drift less than they may are never inconsistent."""
    bounds, clocks = cluster
    for node, skew in clock_skews(bounds).items():
        (begin, drift), (base, base_drift) = clocks[node], clocks[skew.reference]
        true = begin - base + (drift - base_drift) * skew.at
        assert skew.least is not None
        assert skew.most is not None
        # where a clock is not known to be off, its times are taken as they are
        slack = 10 * RESOLUTION_US + 2 * MAX_DRIFT * 400_000_000
        assert (skew.least <= true + slack).all()
        assert (skew.most >= true - slack).all()


@given(clusters(), st.lists(st.integers(0, 12 * HOUR), min_size=2, max_size=30))
def test_lines_of_one_node_never_swap(
    cluster: tuple[list[SkewBound], dict[int, tuple[int, float]]], times: list[int]
) -> None:
    at = np.array(sorted(times), np.int64)
    for skew in clock_skews(cluster[0]).values():
        assert (np.diff(at - ahead_at(skew, at)) >= 0).all()


def test_ahead_between_known_times_grows_evenly_and_stays_before_and_after() -> None:
    none = np.zeros(2)
    skew = ClockSkew(2, 1, np.array([0, 1000]), none, none, np.array([100.0, 200.0]))
    assert list(ahead_at(skew, np.array([-50, 100, 650, 1200, 9000]))) == [100, 100, 150, 200, 200]


def test_slots_hold_what_is_taken_off_at_their_borders() -> None:
    # slots are 10 s: at 0 s as at 5 s, then evenly up to 25 s, then as there
    assert correction_slots([(25 * 1_000_000, 300.0), (5 * 1_000_000, 100.0)]) == (0, [100.0, 150.0, 250.0, 300.0])


def test_a_correction_is_to_the_millisecond_and_even_between_the_borders() -> None:
    """1 s is taken off up to the first border of two slots, 3 s from the last one on."""
    correction = ClockCorrection(2, [1_000_000.0, 2_000_000.0, 3_000_000.0])
    own = np.array([0, 2 * SLOT_US, 2 * SLOT_US + SLOT_US // 4, 4 * SLOT_US, 9 * SLOT_US, 2 * SLOT_US + 6_000])
    taken_off = [1_000_000, 1_000_000, 1_250_000, 3_000_000, 3_000_000, 1_001_000]  # the last one is 1,000.6 ms
    assert (own - correction.corrected(own)).tolist() == taken_off
    assert correction.most == 3_001_000
    assert ClockCorrection(2, [-5_000.0, -7_000.0]).most == 8_000


@given(clusters(), st.lists(st.integers(0, 12 * HOUR), min_size=2, max_size=30))
def test_corrected_times_never_swap(
    cluster: tuple[list[SkewBound], dict[int, tuple[int, float]]], times: list[int]
) -> None:
    at = np.array(sorted(times), np.int64) // 1000 * 1000
    for correction in clock_corrections(cluster[0], clock_skews(cluster[0])).values():
        assert (np.diff(correction.corrected(at)) >= 0).all()
        assert (abs(at - correction.corrected(at)) <= correction.most).all()


def test_a_clock_that_is_behind_is_set_forward() -> None:
    """Node 2 is 10 s behind nodes 1 and 3: its 00:00:50 is 00:01:00."""
    bounds = [*both_ways(1, 2, MINUTE, -10_000_000, 10, 10), *both_ways(1, 3, MINUTE, 0, 10, 10)]
    corrections = clock_corrections(bounds, clock_skews(bounds))
    assert {*corrections} == {2}
    assert corrections[2].corrected(np.array([50_000_000])).tolist() == [MINUTE]
