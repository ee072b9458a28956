"""Elections whose inputs are not all in the logs, with every value that these may have had."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations
from typing import Any

from schemas.kafka_values import NO_LEADER
from udfs.kafka.elections import Strategy

Row = Mapping[str, Any]
Inputs = dict[str, Any]
MOST = 256
"""Most combinations that are tried; beyond it nothing is judged."""


def plausible_rows(row: Row, *, is_kraft: bool, by_isr_order: bool = False) -> tuple[Sequence[Row], tuple[str, ...]]:
    """An ELECTIONS row with each combination of plausible inputs, and the names of those that are not logged.

    No rows: one of them may have had any value. `plausible_replicas` are the assignments that lines around show, the
    one before first; `plausible_isr` is the ISR before and after a failed election, or the last that is known of the
    leader epoch before. That the elected broker was alive is taken from its having led. `by_isr_order`: the release may
    elect by the order in which the ISR is stored, which is `isr_order` where a line prints it.
    """
    if row["strategy"] == "new":  # a new partition has no ISR yet
        row = {**row, "isr_before": []}
    rows: list[Inputs] = [dict(row)]
    names: list[str] = []
    lacks_assignment = row["replicas"] is None or (is_kraft and row["replicas_before"] is None)
    if lacks_assignment and _needs_assignment(row, is_kraft=is_kraft):
        names += [
            name for name in ("replicas", "replicas_before") if row[name] is None and (is_kraft or name == "replicas")
        ]
        rows = [dict(row) | inputs for inputs in _assignments(row, is_kraft=is_kraft)]
    if row["isr_before"] is None:
        names.append("isr_before")
        isrs = [] if is_kraft else [(row, isr) for row in rows for isr in _isrs_before(row)]
        if by_isr_order and row["strategy"] == Strategy.CONTROLLED_SHUTDOWN:
            isrs = [(row, order) for row, isr in isrs for order in _orders(isr, row.get("isr_order"))]
        rows = [row | {"isr_before": isr} for row, isr in isrs]
    elif by_isr_order and row["strategy"] in (None, Strategy.OFFLINE, Strategy.CONTROLLED_SHUTDOWN):
        order = row.get("isr_order")
        is_whole = order is not None and sorted(order) == sorted(row["isr_before"])
        orders = list(_orders(row["isr_before"], order if is_whole else None))
        names += ["isr_order"] if len(orders) > 1 else []
        rows = [row | {"isr_before": order} for row in rows for order in orders]
    if is_kraft and row["previous_leader"] is None:
        names.append("previous_leader")
        rows = []
    if row["live_brokers"] is None and not _keeps_leader(row, is_kraft=is_kraft):
        names.append("live_brokers")
        rows = [row | inputs for row in rows for inputs in _live_brokers(row)] if len(rows) <= MOST else []
    return rows if len(rows) <= MOST else (), tuple(names)


def online_as_begun(row: Row) -> Inputs | None:
    """An election of which nothing tells when it was decided, with the brokers that were online when its leader epoch
    began; None if that is unknown, too."""
    online = row.get("online_as_begun")
    if online is None:
        return None
    certain, possible = online["certain"], online["possible"]
    return {**row, "live_brokers": possible, "certainly_online": certain, "possibly_online": possible}


def _needs_assignment(row: Row, *, is_kraft: bool) -> bool:
    """Whether a decision goes by the assignment: an election, but not to a target that is logged."""
    has_target = row.get("target_replicas") is not None and row["strategy"] == Strategy.REASSIGN
    return not has_target and not _keeps_leader(row, is_kraft=is_kraft)


def _keeps_leader(row: Row, *, is_kraft: bool) -> bool:
    """Whether a ZooKeeper controller wrote no more than a new epoch of the same leader, or took one member out of the
    ISR: neither goes by the assignment, nor by who is alive."""
    return not is_kraft and row["strategy"] in ("none", "replica_removal")


def _assignments(row: Row, *, is_kraft: bool) -> Iterator[Inputs]:
    """Assignments at an election and before it. KRaft does not log a reassignment that only takes replicas away: any
    that was never in sync since may be gone."""
    shown = [list(replicas) for replicas in row.get("plausible_replicas") or () if replicas]
    if not is_kraft:
        yield from ({"replicas": replicas} for replicas in shown)
        return
    needed = {*(row["isr"] or ()), *(row["isr_before"] or ())}
    afters = shown if row["replicas"] is None else [list(row["replicas"])]
    befores = shown if row["replicas_before"] is None else [list(row["replicas_before"])]
    for number, before in enumerate(befores):
        for after in afters[number:] if befores is afters else afters:
            kept = [replica for replica in after if replica in needed]
            spare = [replica for replica in after if replica not in needed and replica in before]
            for gone in _subsets(spare):
                inputs = {
                    "replicas_before": [replica for replica in before if replica not in gone],
                    "replicas": [replica for replica in after if replica in kept or replica not in gone],
                }
                if all(inputs.values()):
                    yield inputs


def _orders(isr: Sequence[int], printed: Sequence[int] | None) -> Iterator[list[int]]:
    """Orders in which an ISR may have been stored: that in which members of it are printed, with the others behind
    them, for those are leaving; any if none is."""
    if printed is not None and set(printed) <= set(isr):
        yield [*printed, *(broker for broker in isr if broker not in printed)]
    else:
        yield from map(list, permutations(isr))


def _isrs_before(row: Row) -> Iterator[list[int]]:
    """ISRs that a ZooKeeper controller can have had before it wrote this one, by its strategy; none if that is unknown.

    An election leaves the ISR as it is, or takes out those who are not alive; a single member may have been elected
    from outside, unless lines tell that it was in the ISR (`unclean`). A replica that was taken out was in it. Of one
    that failed nothing is known of the ISR, but that its members are replicas. Where the strategy is unknown it is the
    one that the leader before had last (`plausible_isr`), or one of those that the election before left
    (`isrs_left_before`), else any with that leader.
    """
    isr, previous, strategy = row["isr"], row["previous_leader"], row["strategy"]
    known, left = row.get("plausible_isr"), row.get("isrs_left_before") or ()
    is_known = known is not None and (known or not row["succeeded"])
    shown = [list(known or ())] if is_known else [list(some) for some in left]
    if not row["succeeded"]:
        yield from shown or (list(some) for some in _subsets(row["replicas"] or ()) if some)
    elif isr is None or strategy is None:
        yield from shown or _isrs_with(previous, row)
    if isr is None or previous is None or strategy is None:
        return
    members = [*isr, *([previous] if previous >= 0 and previous not in isr else [])]
    if strategy == Strategy.CONTROLLED_SHUTDOWN:
        yield sorted({*members, *(row["shutting_down"] or ())} & {*(row["replicas"] or members), *members})
    elif strategy == Strategy.OFFLINE:
        yield sorted(members)
        if row.get("unclean") is not False and len(isr) == 1 and previous not in isr:
            outside = [previous] if previous >= 0 else [r for r in row["replicas"] or () if r not in isr]
            yield from ([replica] for replica in outside)
    elif strategy == "replica_removal":
        yield sorted({*isr, row["removed_replica"]})
    else:
        yield list(isr)


def _isrs_with(leader: int | None, row: Row) -> Iterator[list[int]]:
    """ISRs that a leader (-1 none, None unknown) may have had before another ISR was written: any with that one's
    members and, if only one is left, which may have been elected uncleanly, any without it. If that ISR is unknown any
    of a leader that stays; of another one too much is unknown."""
    isr = row["isr"]
    if isr is None:
        stays = leader == row["leader"]
        yield from (sorted(some) for some in _subsets(row["replicas"] or ()) if stays and leader in some)
        return
    others = [replica for replica in row["replicas"] or () if replica not in isr]
    was_in_sync = {leader} - {None, NO_LEADER}
    for stayed in [isr] if len(isr) > 1 or row.get("unclean") is False else [isr, ()]:
        for some in _subsets(others):
            members = {*stayed, *some}
            if members and was_in_sync <= members:
                yield sorted(members)


def _live_brokers(row: Row) -> Iterator[Inputs]:
    """Sets of live brokers among those that a decision depends on; the elected one was there."""
    concerned = {*(row["replicas"] or ()), *(row["isr_before"] or ()), *(row["replicas_before"] or ())}
    concerned |= {*(row.get("target_replicas") or ())}
    concerned |= {replica for replicas in row.get("plausible_replicas") or () for replica in replicas}
    elected = {row["leader"]} - {None}
    for others in _subsets(sorted(concerned - elected)):
        online = sorted({*others, *elected})
        yield {"live_brokers": online, "certainly_online": online, "possibly_online": online}


def _subsets(brokers: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return (some for size in range(len(brokers) + 1) for some in combinations(brokers, size))
