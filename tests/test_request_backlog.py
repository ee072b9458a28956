"""How many requests of a controller waited for a broker, from requests written by hand."""

from __future__ import annotations

import pytest

from tests.test_control_requests import request_lines
from udfs.reconstruct.control_requests import requests_of
from udfs.reconstruct.request_backlog import Backlog, backlogs

# times are microseconds; the broker's clock is 1000 ahead, and its fastest request takes 10
CASES: dict[str, tuple[str, list[tuple[int | None, int | None, bool | None]]]] = {
    # lines -> of each request: how many were waiting, since when the first of them was, and whether it arrived
    "each arrives before the next one is sent": (
        """
        sent     LAI 1 - 100 | a-0:1:1:
        sent     LAI 1 - 200 | a-0:2:1:
        handled  LAI 1 5 1110 | a-0:1:1:
        handled  LAI 1 6 1210 | a-0:2:1:
        """,
        [(0, None, True), (0, None, True)],
    ),
    "a slow broker: the first arrives after 250, and the others behind it": (
        """
        sent     LAI 1 - 0 | a-0:0:1:
        handled  LAI 1 4 1010 | a-0:0:1:
        sent     LAI 1 - 100 | a-0:1:1:
        sent     LAI 1 - 200 | a-0:2:1:
        sent     LAI 1 - 300 | a-0:3:1:
        sent     LAI 1 - 400 | a-0:4:1:
        handled  LAI 1 5 1360 | a-0:1:1:
        handled  LAI 1 6 1370 | a-0:2:1:
        handled  LAI 1 7 1380 | a-0:3:1:
        handled  LAI 1 8 1420 | a-0:4:1:
        """,
        [(0, None, True), (0, None, True), (1, 100, True), (2, 200, True), (0, None, True)],
    ),
    "a dead broker: nothing after the first arrives": (
        """
        sent     LAI 1 - 100 | a-0:1:1:
        sent     UM  1 - 101 | a-0:1:1:
        handled  LAI 1 5 1110 | a-0:1:1:
        handled  UM  1 6 1111 | a-0:1:1:
        sent     LAI 1 - 200 | a-0:2:1:
        sent     UM  1 - 5200 | a-0:2:1:
        """,
        [(0, None, True), (0, None, True), (0, None, False), (1, 5000, False)],
    ),
    "responses tell it by the controller's own clock": (
        """
        sent     LAI 1 5 100 | a-0:1:1:
        sent     LAI 1 6 150 | a-0:2:1:
        sent     LAI 1 7 500 | a-0:3:1:
        answered LAI 1 5 190 |
        answered LAI 1 6 195 |
        """,
        [(0, None, True), (1, 50, True), (0, None, False)],
    ),
    "what shows that a later one arrived shows it of those before": (
        """
        sent     LAI 1 - 100 | a-0:1:1:
        sent     UM  1 - 200 | a-0:2:1:
        sent     LAI 1 - 300 | a-0:3:1:
        handled  LAI 1 7 1310 | a-0:3:1:
        """,
        # the fastest is the only one of which both sides log: it took 0 then, and those before arrived by then
        [(0, None, True), (1, 100, True), (0, None, True)],
    ),
    "no line of a kind at all: whether the last one arrived is unknown": (
        """
        sent     LAI 1 - 100 | a-0:1:1:
        handled  LAI 1 5 1110 | a-0:1:1:
        sent     SR  1 - 200 | a-0:-2:1:
        """,
        [(0, None, True), (0, None, None)],
    ),
    "the broker got a request that may be the one that was sent": (
        """
        sent     LAI 1 - 100 | a-0:1:1:
        handled  LAI 1 5 1110 | a-0:1:1:
        sent     UM  1 - 150 | a-0:1:1:
        sent     LAI 1 - 200 | a-0:2:1:
        handled  LAI 1 6 1210 | 1
        """,
        # of the request with id 6 the states are in no line: it may be that of 200, and no line tells of the other kind
        [(None, None, True), (None, None, None), (None, None, None), (None, None, True)],
    ),
    "a broker without logs: nothing is known": (
        """
        sent     LAI 1 - 100 | a-0:1:1:
        sent     UM  1 - 200 | a-0:1:1:
        """,
        [(None, None, None), (None, None, None)],
    ),
    "only the broker logs: when each was sent is unknown, and so is what waited": (
        "handled  LAI 1 5 1110 | a-0:1:1:",
        [(None, None, True)],
    ),
    "the broker was gone, and came back: id 1 has one request before it on its connection": (
        """
        sent     LAI 1 - 100 | a-0:1:1:
        sent     UM  1 - 200 | a-0:1:1:
        sent     LAI 1 - 900 | a-0:2:1:
        sent     UM  1 - 910 | a-0:2:1:
        handled  UM  1 1 1930 | a-0:2:1:
        """,
        # whether a LeaderAndIsr arrived no line would show; the second connection says nothing of the first
        [(0, None, None), (1, 100, False), (0, None, True), (0, None, True)],
    ),
    "what was left on a connection says nothing of the next one": (
        """
        sent     LAI 1 8 100 | a-0:1:1:
        answered LAI 1 8 110 |
        sent     LAI 1 9 200 | a-0:2:1:
        sent     LAI 1 0 900 | a-0:3:1:
        answered LAI 1 0 910 |
        """,
        [(0, None, True), (0, None, False), (0, None, True)],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_backlogs(case: str) -> None:
    lines, expected = CASES[case]
    assert backlogs(requests_of(request_lines(lines))) == [Backlog(*one) for one in expected]
