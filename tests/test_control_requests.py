"""Control requests put together from the lines of both sides, in the shapes of all releases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.reconstruct.control_request_lines import (
    ANSWERED,
    HANDLED,
    LEADER_AND_ISR,
    SENT,
    STOP_REPLICA,
    UPDATE_METADATA,
    ControlRequest,
    RequestLine,
    error_of,
)
from udfs.reconstruct.control_requests import requests_of

OURS, THEIRS = "controller", "broker"  # the logs of controller 1 and broker 2, whose clocks have nothing in common
KINDS = {"LAI": LEADER_AND_ISR, "UM": UPDATE_METADATA, "SR": STOP_REPLICA, "": None}


def request_lines(text: str) -> list[RequestLine]:
    """`side kind epoch id at | keys or count`, a line of a log each: `-` for what the line does not say."""
    lines = []
    for number, row in enumerate(line.split("|") for line in text.strip().splitlines()):
        side, kind, epoch, id_, at = row[0].split()
        words = row[1].split()
        counts = [int(word) for word in words if word.isdigit()]
        keys = tuple(word for word in words if ":" in word)
        of_broker = side == HANDLED
        stale: dict[str, Any] = {"stale": "STALE" in words, "stale_partitions": words.count("OLD")}
        error = next((word for word in words if word.isupper() and word not in ("STALE", "OLD")), None)
        line = number + 1
        lines.append(
            RequestLine(
                side, 2 if of_broker else 1, THEIRS if of_broker else OURS, int(at), line, line, KINDS[kind.strip("-")],
                None if epoch == "-" else int(epoch), None if id_ == "-" else int(id_), keys,
                counts[0] if counts else None, error, **stale,
            )
        )  # fmt: skip
    return lines


def times_of(request: ControlRequest) -> tuple[Any, ...]:
    """Kind, epoch, id, sent, received, handled, answered."""
    times = [line and line.at for line in (request.sent, request.received, request.handled, request.answered)]
    return ({v: k for k, v in KINDS.items()}[request.kind], request.epoch, request.id, *times)


CASES = {  # lines -> requests as (kind, epoch, id, sent, received, handled, answered)
    "0.8: the sending lines give the id, which kinds of one batch share": (
        """
        sent     LAI 1 7 100 | a-0:3:1:
        sent     LAI 1 7 100 | a-1:3:1:
        sent     UM  1 7 101 | a-0:3:1:
        handled  LAI 1 7 9000 | a-0:3:1:
        handled  LAI 1 7 9001 |
        handled  UM  1 7 9004 | a-0:3:1:
        answered LAI 1 7 110 | NONE
        answered UM  1 7 112 | NONE
        """,
        [("LAI", 1, 7, 100, 9000, 9001, 110), ("UM", 1, 7, 101, 9004, 9004, 112)],
    ),
    "0.9 to 1.0: only the broker prints the id; states tell which request was sent": (
        """
        sent    LAI 1 - 100 | a-0:3:1,2:
        sent    LAI 1 - 200 | a-0:4:1:
        handled LAI 1 0 9000 | a-0:3:1,2:5
        handled LAI 1 1 9100 | a-0:4:1:6
        """,
        [("LAI", 1, 0, 100, 9000, 9000, None), ("LAI", 1, 1, 200, 9100, 9100, None)],
    ),
    "1.1 to 2.5: a state that is sent twice and received twice is so in that order": (
        """
        sent     UM 1 - 100 | a-0:3:1:5
        sent     LAI 1 - 150 | b-0:0:1:0
        sent     UM 1 - 200 | a-0:3:1:5
        handled  UM 1 4 9000 | a-0:3:1:5
        handled  UM 1 6 9200 | a-0:3:1:5
        answered UM 1 4 120 | NONE
        answered UM 1 6 220 | NONE
        """,
        [
            ("UM", 1, 4, 100, 9000, 9000, 120),
            ("LAI", 1, None, 150, None, None, None),
            ("UM", 1, 6, 200, 9200, 9200, 220),
        ],
    ),
    "sent twice and received once: which of them it was is unknown": (
        """
        sent     UM 1 - 100 | a-0:3:1:5
        sent     LAI 1 - 150 | b-0:0:1:0
        sent     UM 1 - 200 | a-0:3:1:5
        handled  UM 1 6 9200 | a-0:3:1:5
        """,
        [
            ("UM", 1, None, 100, None, None, None),
            ("LAI", 1, None, 150, None, None, None),
            ("UM", 1, None, 200, None, None, None),
            ("UM", 1, 6, None, 9200, 9200, None),
        ],
    ),
    "two requests in lines that follow each other: a partition that comes again begins the second": (
        """
        sent UM 1 - 100 | a-0:3:1:5
        sent UM 1 - 100 | a-1:3:1:5
        sent UM 1 - 101 | a-0:3:1:5
        """,
        [("UM", 1, None, 100, None, None, None), ("UM", 1, None, 101, None, None, None)],
    ),
    "2.6 on at INFO: ids count the sending lines, whatever they carry": (
        """
        sent    UM  1 - 100 | 0
        sent    LAI 1 - 110 | 3
        sent    UM  1 - 111 | 3
        sent    LAI 1 - 120 | 3
        sent    SR  1 - 130 | 1
        handled LAI - 1 9010 | 3
        handled UM  1 2 9012 | 3
        handled LAI - 3 9020 | 3
        handled LAI - 3 9025 | 3
        handled SR  - 4 9030 | 1
        """,
        [
            ("UM", 1, None, 100, None, None, None),
            ("LAI", 1, 1, 110, 9010, 9010, None),
            ("UM", 1, 2, 111, 9012, 9012, None),
            ("LAI", 1, 3, 120, 9020, 9025, None),
            ("SR", 1, 4, 130, 9030, 9030, None),
        ],
    ),
    "2.6 on: the broker got 2 partitions where 1 was sent: nothing of the connection is matched": (
        """
        sent    LAI 1 - 110 | 3
        sent    UM  1 - 111 | 4
        sent    LAI 1 - 120 | 1
        sent    UM  1 - 130 | 9
        handled LAI - 1 9000 | 3
        handled UM  1 2 9010 | 4
        handled LAI - 3 9020 | 2
        handled UM  1 4 9030 | 9
        """,
        [
            ("LAI", 1, None, 110, None, None, None),
            ("UM", 1, None, 111, None, None, None),
            ("LAI", 1, None, 120, None, None, None),
            ("UM", 1, None, 130, None, None, None),
            ("LAI", 1, 1, None, 9000, 9000, None),
            ("UM", 1, 2, None, 9010, 9010, None),
            ("LAI", 1, 3, None, 9020, 9020, None),
            ("UM", 1, 4, None, 9030, 9030, None),
        ],
    ),
    "2.6 on: the controller's log begins later, the broker's ends earlier": (
        """
        sent    LAI 1 - 110 | 3
        sent    UM  1 - 111 | 4
        sent    SR  1 - 120 | 1
        sent    LAI 1 - 125 | 2
        sent    LAI 1 - 130 | 9
        handled UM  1 6 9000 | 2
        handled LAI - 7 9010 | 3
        handled UM  1 8 9012 | 4
        handled SR  - 9 9020 | 1
        handled LAI - 10 9025 | 2
        """,
        [
            ("UM", 1, 6, None, 9000, 9000, None),
            ("LAI", 1, 7, 110, 9010, 9010, None),
            ("UM", 1, 8, 111, 9012, 9012, None),
            ("SR", 1, 9, 120, 9020, 9020, None),
            ("LAI", 1, 10, 125, 9025, 9025, None),
            ("LAI", 1, None, 130, None, None, None),
        ],
    ),
    "2.6 on: requests that fit beside several sending lines are left alone": (
        """
        sent    UM 1 - 100 | 1
        sent    UM 1 - 200 | 1
        handled UM 1 8 9000 | 1
        """,
        [
            ("UM", 1, None, 100, None, None, None),
            ("UM", 1, None, 200, None, None, None),
            ("UM", 1, 8, None, 9000, 9000, None),
        ],
    ),
    "a broker that comes back has a new connection, whose ids start at 0 again": (
        """
        handled  UM 1 0 9000 | a-0:3:1:5
        handled  UM 1 1 9001 | a-0:3:1:6
        handled  UM 1 0 9500 | a-0:3:1:7
        answered UM 1 0 100 | NONE
        answered UM 1 1 101 | NONE
        answered UM 1 0 600 | NONE
        """,
        [
            ("UM", 1, 0, None, 9000, 9000, 100),
            ("UM", 1, 1, None, 9001, 9001, 101),
            ("UM", 1, 0, None, 9500, 9500, 600),
        ],
    ),
    "of two connections one side has only the second: ids that both have do not tell which it is": (
        """
        handled  UM 1 0 9500 | a-0:3:1:7
        answered UM 1 0 100 | NONE
        answered UM 1 1 101 | NONE
        answered UM 1 0 600 | NONE
        """,
        [
            ("UM", 1, 0, None, None, None, 100),
            ("UM", 1, 1, None, None, None, 101),
            ("UM", 1, 0, None, None, None, 600),
            ("UM", 1, 0, None, 9500, 9500, None),
        ],
    ),
    "a new controller term has a new connection, too": (
        """
        handled UM 1 5 9000 | a-0:3:1:5
        handled UM 2 5 9001 | a-0:3:1:6
        """,
        [("UM", 1, 5, None, 9000, 9000, None), ("UM", 2, 5, None, 9001, 9001, None)],
    ),
    "0.8.0: a response that does not name its kind, where two are open, is of neither": (
        """
        handled  LAI 1 7 9000 | a-0:3:1:
        handled  UM  1 7 9004 | a-0:3:1:
        answered -   1 7 110 |
        """,
        [
            ("", 1, 7, None, None, None, 110),
            ("LAI", 1, 7, None, 9000, 9000, None),
            ("UM", 1, 7, None, 9004, 9004, None),
        ],
    ),
    "2.6 on: an id that was damaged is far from all others, which still lie beside their sending lines": (
        """
        sent    UM  1 - 100 | 0
        sent    LAI 1 - 110 | 3
        sent    UM  1 - 111 | 3
        sent    LAI 1 - 120 | 3
        sent    SR  1 - 130 | 1
        handled LAI - 1 9010 | 3
        handled UM  1 2 9012 | 3
        handled LAI - 3 9020 | 3
        handled SR  - 4 9030 | 1
        handled UM  1 2147483647 9040 | 8
        """,
        [
            ("UM", 1, None, 100, None, None, None),
            ("LAI", 1, 1, 110, 9010, 9010, None),
            ("UM", 1, 2, 111, 9012, 9012, None),
            ("LAI", 1, 3, 120, 9020, 9020, None),
            ("SR", 1, 4, 130, 9030, 9030, None),
            ("UM", 1, 2147483647, None, 9040, 9040, None),
        ],
    ),
    "until 0.8.2 a batch may stop replicas in several requests of one id": (
        """
        answered SR 1 7 110 | NONE
        answered SR 1 7 111 | NONE
        """,
        [("SR", 1, 7, None, None, None, 110), ("SR", 1, 7, None, None, None, 111)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_requests(case: str) -> None:
    lines, expected = CASES[case]
    assert [times_of(request) for request in requests_of(request_lines(lines))] == expected


def test_the_order_of_lines_does_not_matter() -> None:
    for lines, expected in CASES.values():
        assert [times_of(request) for request in requests_of(reversed(request_lines(lines)))] == expected


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("ahead", [-20_000, 300_000_000])
def test_the_brokers_clock_does_not_matter(case: str, ahead: int) -> None:
    """Not even for the order of requests that only the broker logged."""
    lines = request_lines(CASES[case][0])
    moved = [replace(line, at=line.at + ahead) if line.side == HANDLED else line for line in lines]

    def order(lines: list[RequestLine]) -> list[list[tuple[Any, ...]]]:
        return [[line.evidence for line in request.first_lines] for request in requests_of(lines)]

    assert order(moved) == order(lines)


def test_requests_that_only_the_broker_logged_come_before_what_it_got_next() -> None:
    """Whatever its clock shows; what it got last of all, last of its epoch."""
    lines = """
        sent     UM 1 - 100 | a-0:3:1:0
        handled  LAI 1 5 7 | b-0:1:1:0
        handled  UM 1 6 8 | a-0:3:1:0
        handled  LAI 1 7 9 | c-0:1:1:0
        sent     UM 1 - 200 | a-0:4:1:1
        sent     UM 2 - 300 | a-0:5:1:2
        """
    assert [times_of(request)[1:5] for request in requests_of(request_lines(lines))] == [
        (1, 5, None, 7), (1, 6, 100, 8), (1, None, 200, None), (1, 7, None, 9), (2, None, 300, None),
    ]  # fmt: skip


@st.composite
def sessions(draw: st.DrawFn) -> tuple[list[RequestLine], dict[int, int]]:
    """Lines of one controller term and a broker that comes and goes, and when the request of each broker line was sent.

    At INFO lines give numbers of partitions, else states; what is sent while the broker is away is never received.
    """
    at_info = draw(st.booleans())
    sent: list[RequestLine] = []
    handled: list[RequestLine] = []
    sent_by: dict[int, int] = {}
    line, id_, away = 0, 0, 0
    for number in range(draw(st.integers(1, 40))):
        is_there = draw(st.integers(0, 9)) > 0
        kind = draw(st.sampled_from([LEADER_AND_ISR, UPDATE_METADATA, STOP_REPLICA]))
        partitions = draw(st.integers(1, 4))
        keys = () if at_info else tuple(f"t-{n}:{draw(st.integers(0, 2))}:1:1" for n in range(partitions))
        count = partitions if at_info else None
        for n in range(1 if at_info else partitions):
            line += 1
            sent.append(RequestLine(SENT, 1, OURS, 1000 * number, line, line, kind, 1, None, keys[n : n + 1], count))
        line += 1  # a line of another broker's
        if not is_there:  # it takes a while to be back, and it has forgotten what was
            id_, away = 0, away + 20_000_000
            continue
        sent_by[number + 1] = number
        at = 77_000_000 + 1000 * number + away
        handled.append(RequestLine(HANDLED, 2, THEIRS, at, number + 1, number + 1, kind, 1, id_, keys, count))
        id_ += 1
    return [*sent, *handled], sent_by


@given(sessions())
def test_what_is_matched_is_true(session: tuple[list[RequestLine], dict[int, int]]) -> None:
    """Whatever is never received: a request was sent when its row has it, and each line is of one request."""
    lines, sent_by = session
    requests = requests_of(lines)
    for request in requests:
        if request.sent is not None and request.received is not None:
            assert request.sent.at == 1000 * sent_by[request.received.first]
    received = [request for request in requests if request.received]
    assert len(received) == len([line for line in lines if line.side == HANDLED])


def test_stale_requests_and_errors() -> None:
    stale, ignored = requests_of(
        request_lines(
            """
            handled  LAI 1 3 9000 | STALE
            answered LAI 1 3 100 | STALE_CONTROLLER_EPOCH
            handled  LAI 1 4 9010 | a-0:3:1:5 a-1:3:1:5
            handled  LAI 1 4 9011 | OLD
            answered LAI 1 4 110 | NONE
            """
        )
    )
    assert (stale.stale, stale.stale_partitions) == (True, 0)
    assert stale.answered is not None
    assert stale.answered.error == "STALE_CONTROLLER_EPOCH"
    assert (ignored.stale, ignored.stale_partitions, ignored.partitions) == (False, 1, 2)


def test_errors_have_kafkas_names() -> None:
    names = {None: None, 0: "NONE", 11: "STALE_CONTROLLER_EPOCH", 77: "STALE_BROKER_EPOCH", 99: "ERROR_99"}
    assert {code: error_of(code) for code in names} == names


def test_sending_lines_between_which_another_thread_writes_are_one_request() -> None:
    """A line of the broker on the same node between two sending lines; the last one gives the number of partitions."""
    first, second, whole = (
        RequestLine(SENT, 1, OURS, 100, line, line, LEADER_AND_ISR, 1, None, keys, count)
        for line, keys, count in ((5, ("a-0:1:1:1",), None), (7, ("a-1:1:1:1",), None), (8, (), 2))
    )
    (request,) = requests_of([first, second, whole])
    assert (request.partitions, request.sent and request.sent.first) == (2, 5)


def test_lines_of_one_side_never_need_the_other() -> None:
    assert requests_of([]) == []
    (answered,) = requests_of([RequestLine(ANSWERED, 1, OURS, 1, 1, 1, UPDATE_METADATA, 1, 0)])
    assert (answered.received, answered.partitions) == (None, None)
