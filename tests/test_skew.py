"""Clocks of nodes from requests and responses: bounds that hold, and none where nothing tells."""

from __future__ import annotations

from typing import Any

import pytest

from udfs.skew import HOUR, Bounds, Pair, bounds, offsets, pairs_of

STATE = {"topic": "a", "partition": 0, "leader_epoch": 3, "partition_epoch": 4}
BY = {"controller_id": 1, "controller_epoch": 2}


def request(id_: int, sent: int, received: int, done: int, answered: int, broker: int = 2) -> list[Any]:
    """What controller 1 and a broker log of one request, at the times of their clocks."""
    state = {**STATE, "leader_epoch": id_}
    return [
        (1, sent, {"event_type": "leader_and_isr_request_sent", **BY, **state, "target_broker": str(broker)}),
        (broker, received, {"event_type": "leader_and_isr_request_received", **BY, **state, "correlation_id": id_}),
        (broker, done, {"event_type": "become_leader_completed", **BY, "correlation_id": id_}),
        (1, answered, {"event_type": "controller_response_received", **BY, "correlation_id": id_, "target_broker": str(broker)}),
    ]  # fmt: skip


def test_a_request_gives_a_pair_each_way() -> None:
    assert set(pairs_of(request(7, 100, 130, 140, 150))) == {Pair(1, 2, 100, 130), Pair(2, 1, 140, 150)}


def test_what_cannot_be_told_apart_gives_none() -> None:
    """States that were sent twice; ids that began anew."""
    twice = request(7, 100, 130, 140, 150) + request(7, 300, 330, 340, 350)
    assert list(pairs_of(twice)) == []
    anew = request(7, 100, 130, 140, 150) + request(8, 200, 230, 240, 250) + request(0, 300, 330, 340, 350)
    assert {pair.first for pair in pairs_of(anew)} == {1}  # by state only


def test_a_controllers_own_broker_tells_nothing() -> None:
    assert list(pairs_of(request(7, 100, 130, 140, 150, broker=1))) == []


AHEAD = {  # clock of node 2 less that of node 1 -> a correction that fits: the smallest
    0: 0,
    500: 490,
    -500: -490,
    5: 0,
}


@pytest.mark.parametrize("ahead", AHEAD)
def test_the_truth_is_within_the_bounds(ahead: int) -> None:
    records = [
        record
        for i in range(20)
        for record in request(i, 1000 * i, 1000 * i + 10 + i + ahead, 1000 * i + 50 + ahead, 1000 * i + 60 + i)
    ]
    found = bounds(pairs_of(records))
    two = found[2] if found[1] == Bounds(0, 0, 40) else found[1]
    assert found[1] == Bounds(0, 0, 40)
    assert two.least is not None
    assert two.most is not None
    assert two.least <= ahead <= two.most
    assert two.offset == AHEAD[ahead]


def test_bounds_go_over_a_third_node() -> None:
    pairs = [Pair(1, 2, 0, 100), Pair(2, 1, 100, 10), Pair(2, 3, 0, 50), Pair(3, 2, 50, 5), Pair(1, 2, 0, 101)]
    assert bounds(pairs) == {1: Bounds(-100, -90, 3), 2: Bounds(0, 0, 5), 3: Bounds(45, 50, 2)}


def test_one_side_only_is_said() -> None:
    assert bounds([Pair(1, 2, 0, 100)])[2] == Bounds(None, 100, 1)
    assert Bounds(None, 100, 1).offset == 0
    assert Bounds(None, -100, 1).offset == -100


def test_a_clock_that_drifts_is_told_by_the_hour() -> None:
    pairs = [Pair(1, 2, h * HOUR, h * HOUR + h * 1000) for h in range(3)]
    pairs += [Pair(2, 1, h * HOUR + h * 1000, h * HOUR) for h in range(3)]
    found = offsets(pairs)
    assert [found[2, hour].offset for hour in range(3)] == [0, 1000, 2000]


def test_no_pairs_no_bounds() -> None:
    assert bounds([]) == {}
    assert offsets([]) == {}
