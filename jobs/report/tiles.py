"""The headline of a report: numbers as on dashboards of Kafka's metrics; what cannot be told is no zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jobs.answers.incidents import single_points
from jobs.answers.opened import OpenedCluster
from jobs.answers.outages import longest, missing_facts
from jobs.nightly.summary_facts import IS_DELETION
from jobs.nightly.unknown_zeros import ISR_CHANGES, OUTAGES, UNCLEAN
from jobs.nightly.wording import outage_length, plural
from jobs.nightly.words import listed
from jobs.report.escaping import text
from schemas.kafka_values import UNDER_REPLICATED_STATES

UNTOLD = "cannot be told"
NO_PARTITION = "no partition is in the logs at the end"


def tiles_html(opened: OpenedCluster, terms: Sequence[dict[str, Any]]) -> str:
    """The tiles of a cluster; `terms`: those of controllers as the report has them, in order."""
    missing = missing_facts(opened)
    at_end = _states_at_end(opened)
    tiles = [
        _offline(opened, at_end, OUTAGES not in missing),
        _under_replicated(at_end),
        _one_in_sync(opened, at_end),
        _unclean(opened, UNCLEAN not in missing),
        _controller(terms),
        _isr_shrinks(opened, ISR_CHANGES not in missing),
        _imbalance(at_end),
    ]
    return f'<section class="tiles" aria-label="Headline">{"".join(tiles)}</section>'


def _states_at_end(opened: OpenedCluster) -> dict[str, int]:
    """How many partitions are how at the end of the logs."""
    counts: dict[str, int] = opened.rows(
        f"""WITH at_end AS (  -- in ZooKeeper a dead broker may still be the leader
            SELECT *, leader >= 0 AND (topic, partition) NOT IN (
                SELECT (topic, partition) FROM offline_partitions WHERE ended_before IS NULL) AS has_leader,
                (topic, partition) IN (SELECT (topic, partition) FROM offline_partitions
                    WHERE ended_before IS NULL AND {IS_DELETION}) AS is_deletion
            FROM partition_timeline WHERE until IS NULL)
        SELECT count(*) FILTER (WHERE NOT has_leader AND NOT is_deletion) AS offline, count(*) AS partitions,
            count(*) FILTER (WHERE NOT has_leader AND is_deletion) AS deletions,
            count(*) FILTER (WHERE has_leader IS NULL) AS leader_unknown,
            count(*) FILTER (WHERE has_leader AND availability IN {UNDER_REPLICATED_STATES!r}) AS under,
            count(*) FILTER (WHERE has_leader AND (isr IS NULL OR replicas IS NULL)) AS replicas_unknown,
            count(*) FILTER (WHERE has_leader AND replicas IS NOT NULL AND leader <> replicas[1]) AS imbalanced,
            count(*) FILTER (WHERE has_leader AND replicas IS NOT NULL) AS led,
            count(*) FILTER (WHERE has_leader) AS with_leader
        FROM at_end"""
    )[0]
    counts["offline"] += opened.rows(  # of those no line prints a state
        f"""SELECT count(DISTINCT (topic, partition)) AS n
        FROM offline_partitions ANTI JOIN (FROM partition_timeline WHERE until IS NULL) USING (topic, partition)
        WHERE ended_before IS NULL AND NOT {IS_DELETION}"""
    )[0]["n"]
    return counts


def _count(number: int, is_all: bool) -> str:
    """A number; where there may be more `at least 3`, or that it cannot be told.

    >>> _count(0, is_all=True), _count(3, is_all=False), _count(0, is_all=False)
    ('0', 'at least 3', 'cannot be told')
    """
    if is_all:
        return f"{number:,}"
    return f"at least {number:,}" if number else UNTOLD


def _tile(name: str, value: str, below: str, kind: str) -> str:
    kind = "untold" if value == UNTOLD else kind
    lines = f'<span class="name">{name}</span><b>{text(value)}</b><span>{text(below)}</span>'
    return f'<div class="tile {kind}">{lines}</div>'


def _offline(opened: OpenedCluster, at_end: dict[str, int], is_told: bool) -> str:
    outages = opened.table("offline_partitions", f"NOT {IS_DELETION}")
    below = "at the end; no outage is in the logs"
    if outages:
        below = f"at the end; {plural(len(outages), 'outage')}, longest {outage_length(longest(outages))}"
    if deletions := at_end["deletions"]:
        below += f"; besides {plural(deletions, 'partition')} of topics that are being deleted"
    if unknown := at_end["leader_unknown"]:
        below += f"; whether {plural(unknown, 'more partition')} had a leader is not known"
    value = _count(at_end["offline"], is_told and not unknown)
    return _tile("Offline partitions", value, below, "bad" if at_end["offline"] else "warn" if outages else "good")


def _kind(is_warning: bool, at_end: dict[str, int]) -> str:
    return "warn" if is_warning else "good" if at_end["with_leader"] else "untold"


def _under_replicated(at_end: dict[str, int]) -> str:
    below = f"of {at_end['with_leader']:,} with a leader at the end" if at_end["partitions"] else NO_PARTITION
    if unknown := at_end["replicas_unknown"]:
        below += f"; of {unknown:,} the replicas or the ISR are in no line"
    value = _count(at_end["under"], at_end["partitions"] > 0 and not unknown)
    return _tile("Under-replicated", value, below, _kind(at_end["under"] > 0, at_end))


def _one_in_sync(opened: OpenedCluster, at_end: dict[str, int]) -> str:
    alone = [(row["broker"], len(row["partitions"])) for row in single_points(opened)]
    if alone:
        below = "at the end; " + listed((f"{count:,} on broker {broker}" for broker, count in alone), 2)
    elif at_end["with_leader"]:
        below = f"of {plural(at_end['with_leader'], 'partition')} with a leader at the end"
    else:
        below = "no partition has a leader at the end" if at_end["partitions"] else NO_PARTITION
    is_all = at_end["partitions"] > 0 and not at_end["replicas_unknown"]
    value = _count(sum(count for _, count in alone), is_all)
    return _tile("One replica in sync", value, below, _kind(bool(alone), at_end))


def _unclean(opened: OpenedCluster, is_told: bool) -> str:
    elections = opened.rows(
        """SELECT count(*) FILTER (WHERE unclean) AS unclean, count(*) AS total,
            count(*) FILTER (WHERE unclean IS NULL) AS unjudged
        FROM elections WHERE succeeded"""
    )[0]
    is_all = is_told and not elections["unjudged"] and opened.has("elections")
    below = f"of {plural(elections['total'], 'election')}" if elections["total"] else "no election is in the logs"
    if elections["unjudged"]:
        below += f"; {elections['unjudged']:,} cannot be judged"
    kind = "bad" if elections["unclean"] else "good"
    return _tile("Unclean elections", _count(elections["unclean"], is_all), below, kind)


def _controller(terms: Sequence[dict[str, Any]]) -> str:
    """Who is controller at the end; one that was elected, and is not known to have become active, is not said to be."""
    if not terms:
        return _tile("Active controller", UNTOLD, "no term is in the logs", "untold")
    last, changes = _last_in_charge(terms), plural(len(terms) - 1, "change")
    if last["until"] is not None:
        return _tile("Active controller", "none at the end", f"the last epoch was {last['epoch']}; {changes}", "untold")
    if last["active"] is None:
        below = f"elected for epoch {last['epoch']}, that it became active is in no line; {changes}"
        return _tile("Active controller", f"perhaps {last['id']}", below, "untold")
    return _tile("Active controller", str(last["id"]), f"epoch {last['epoch']}; {changes}", "good")


def _last_in_charge(terms: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The term that counts at the end: in a migration ZooKeeper's controllers decide until the last has ended."""
    of_zookeeper = [term for term in terms if term["mode"] == "zookeeper"]
    if of_zookeeper and of_zookeeper[-1]["until"] is None:
        return of_zookeeper[-1]
    return [*of_zookeeper, *(term for term in terms if term["mode"] != "zookeeper")][-1]


def _isr_shrinks(opened: OpenedCluster, is_told: bool) -> str:
    changes = opened.rows(
        "SELECT count(*) FILTER (WHERE kind = 'shrink') AS shrinks, count(*) FILTER (WHERE kind = 'expand') AS expands"
        " FROM isr_changes"
    )[0]
    value = _count(changes["shrinks"], is_told and opened.has("isr_changes"))
    below = "no ISR change is in the logs" if value == UNTOLD else plural(changes["expands"], "expand")
    return _tile("ISR shrinks", value, below, "warn" if changes["shrinks"] else "good")


def _imbalance(at_end: dict[str, int]) -> str:
    led, with_leader = at_end["led"], at_end["with_leader"]
    if not led:
        below = "assignments are in no line" if with_leader else "no partition has a leader at the end"
        below = below if at_end["partitions"] else NO_PARTITION
        return _tile("Preferred imbalance", "unknown", below, "untold")
    below = f"{plural(at_end['imbalanced'], 'partition')} not led by the preferred replica at the end"
    if led < with_leader:
        below = f"{at_end['imbalanced']:,} of the {led:,} partitions whose assignment is known, of {with_leader:,}"
    value = f"{100 * at_end['imbalanced'] / led:.0f} %"
    return _tile("Preferred imbalance", value, below, _kind(at_end["imbalanced"] > 0, at_end))
