"""Shrink storms: one broker out of many ISRs at once, which is one finding, not one for each partition.

A leader takes a follower out that has not caught up for `replica.lag.time.max.ms`. Where leaders on several brokers do
that to one broker it was slow, frozen or cut off, though its session lived on. Where one leader does it to several
brokers, the leader itself did not answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from udfs.incidents.wording import count_text

Shrink = Mapping[str, Any]
"""A follower, of a broker that was there, which a leader took out of one ISR: `cluster`, `at`, `topic`, `partition`,
`follower`, `leader`, `leader_stops` (whether the leader was stopped about then, which explains that it did not answer),
`back_at` (when the follower joined again, None if it did not), and the line: `node_id`, `file_id`, `line`. Times are
microseconds since 1970 UTC."""
FEWEST_PARTITIONS = 5
"""Fewer partitions are no storm."""
MOST_GAP_US, LONGEST_US = 10_000_000, 60_000_000
"""Shrinks of one storm follow each other within so much time; a storm is no longer than that."""
MOST_EVIDENCE = 8
FOLLOWER, LEADER = "follower", "leader"
"""As what a broker is at fault: it did not fetch, or it did not answer those who do."""


def shrink_storms(shrinks: Iterable[Shrink]) -> Iterator[dict[str, Any]]:
    """The storms among shrinks, which are in order of cluster and time, as facts of incidents: `at`, `node`, the
    broker at fault, `role`, `count` of partitions, `until`, when the last of the followers that came back was in again
    (None: none did), and `evidence`."""
    for _, of_cluster in groupby(shrinks, key=lambda shrink: shrink["cluster"]):
        for burst in _bursts(of_cluster):
            yield from _storms(burst)


def storm_text(storm: Mapping[str, Any]) -> str:
    """`Broker 2 fell out of the ISR of 10 partitions at once`; of a leader, `Broker 2 lost its followers of ...`."""
    count = count_text(storm["count"], "partition")
    what = f"fell out of the ISR of {count}" if storm["role"] == FOLLOWER else f"lost its followers of {count}"
    return f"broker {storm['node']} {what} at once"


def _bursts(shrinks: Iterable[Shrink]) -> Iterator[list[Shrink]]:
    """Shrinks of one cluster that follow each other closely."""
    burst: list[Shrink] = []
    for shrink in shrinks:
        if burst and (shrink["at"] - burst[-1]["at"] > MOST_GAP_US or shrink["at"] - burst[0]["at"] > LONGEST_US):
            yield burst
            burst = []
        burst.append(shrink)
    if burst:
        yield burst


def _storms(burst: Sequence[Shrink]) -> Iterator[dict[str, Any]]:
    """Followers that several leaders took out; of the rest, leaders that took several out; then any follower."""
    of_brokers: dict[int, tuple[str, list[Shrink]]] = {}
    left = list(burst)
    for role, by, of, fewest in ((FOLLOWER, "follower", "leader", 2), (LEADER, "leader", "follower", 2),
                                 (FOLLOWER, "follower", "leader", 1)):  # fmt: skip
        for broker, own in _by(left, by).items():
            is_explained = role == LEADER and any(shrink["leader_stops"] for shrink in own)
            if broker is None or is_explained or _partitions(own) < FEWEST_PARTITIONS or len(_by(own, of)) < fewest:
                continue
            of_brokers.setdefault(broker, (role, []))[1].extend(own)
            left = [shrink for shrink in left if shrink[by] != broker]
    for broker, (role, own) in sorted(of_brokers.items()):
        yield _storm(broker, role, sorted(own, key=lambda shrink: shrink["at"]))


def _by(shrinks: Iterable[Shrink], name: str) -> dict[int | None, list[Shrink]]:
    groups: dict[int | None, list[Shrink]] = defaultdict(list)
    for shrink in shrinks:
        groups[shrink[name]].append(shrink)
    return groups


def _partitions(shrinks: Iterable[Shrink]) -> int:
    return len({(shrink["topic"], shrink["partition"]) for shrink in shrinks})


def _storm(broker: int, role: str, own: Sequence[Shrink]) -> dict[str, Any]:
    lines = ({name: shrink[name] for name in ("node_id", "file_id", "line")} for shrink in own)
    return {
        "cluster": own[0]["cluster"],
        "at": own[0]["at"],
        "until": max((shrink["back_at"] for shrink in own if shrink["back_at"] is not None), default=None),
        "node": broker,
        "role": role,
        "count": _partitions(own),
        "evidence": list(lines)[:MOST_EVIDENCE],
    }
