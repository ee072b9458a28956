"""The headline of a report: its numbers, and that what the logs cannot tell is no zero."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from jobs.report.write import write_report
from tests.answers_warehouse import night, row, tables
from tests.delta_warehouse import Rows


def report(root: Path, output: Path) -> str:
    write_report(str(root), str(output))
    return output.read_text()


def test_headline(tmp_path: Path) -> None:
    page = report(night(tmp_path / "w"), tmp_path / "r.html")
    texts = re.findall(r'<div class="tile (\w+)"><span class="name">([^<]*)</span><b>([^<]*)</b>', page)
    assert texts == [
        ("bad", "Offline partitions", "1"),
        ("warn", "Under-replicated", "1"),
        ("warn", "One replica in sync", "1"),
        ("bad", "Unclean elections", "1"),
        ("good", "Active controller", "3"),
        ("warn", "ISR shrinks", "1"),
        ("warn", "Preferred imbalance", "100 %"),
    ]
    assert "<dd>Yes: 1 unclean election of pay-in-0 lost at least 5 records" in page


def test_one_replica_in_sync_says_of_how_many_partitions(tmp_path: Path) -> None:
    """pay-in-0 has both replicas in sync, or no leader, and its last leader alone in sync."""
    states = tables()["partition_timeline"]
    whole, lost = {**states[0], "until": None}, {**states[2], "until": None}
    for number, (state, below) in enumerate(
        [(whole, "of 1 partition with a leader at the end"), (lost, "no partition has a leader at the end")]
    ):
        root = night(tmp_path / str(number), {"partition_timeline": [state], "offline_partitions": []})
        tile = f'<span class="name">One replica in sync</span><b>0</b><span>{below}</span>'
        assert tile in report(root, tmp_path / f"{number}.html")


def tiles(page: str) -> dict[str, tuple[str, str, str]]:
    """By name its colour, its number, and what stands below."""
    texts = re.findall(r'<div class="tile (\w+)"><span class="name">([^<]*)</span><b>([^<]*)</b><span>([^<]*)', page)
    return {name: (kind, value, below) for kind, name, value, below in texts}


STATES = tables()["partition_timeline"]
FOURTH = STATES[3]
LEADER_UNKNOWN = "whether 1 more partition had a leader is not known"
Tile = tuple[str, str, str]
"""Its colour, its number, and what stands below."""
UNTOLD_TILES: dict[str, tuple[dict[str, Rows], str, Tile]] = {  # rows that differ -> a tile
    "who leads a partition at the end is in no line": (
        {"partition_timeline": [{**FOURTH, "leader": None}], "offline_partitions": []},
        "Offline partitions",
        ("untold", "cannot be told", f"at the end; no outage is in the logs; {LEADER_UNKNOWN}"),
    ),
    "one that had none is known, of another it is not": (
        {"partition_timeline": [*STATES[:3], {**FOURTH, "leader": None}, *STATES[4:]]},
        "Offline partitions",
        ("bad", "at least 1", f"at the end; 2 outages, longest at least 2 min 0 s; {LEADER_UNKNOWN}"),
    ),
    "the ISR at the end is in no line": (
        {"partition_timeline": [{**FOURTH, "isr": None, "availability": None}]},
        "Under-replicated",
        ("untold", "cannot be told", "of 1 with a leader at the end; of 1 the replicas or the ISR are in no line"),
    ),
    "nor who is in sync": (
        {"partition_timeline": [{**FOURTH, "isr": None, "availability": None}]},
        "One replica in sync",
        ("untold", "cannot be told", "of 1 partition with a leader at the end"),
    ),
    "no partition is known": (
        {"partition_timeline": [], "offline_partitions": []},
        "One replica in sync",
        ("untold", "cannot be told", "no partition is in the logs at the end"),
    ),
    "an election that nobody can call clean": (
        {"elections": [{**tables()["elections"][1], "unclean": None}]},
        "Unclean elections",
        ("untold", "cannot be told", "of 1 election; 1 cannot be judged"),
    ),
    "one beside an unclean one": (
        {"elections": [tables()["elections"][1], {**tables()["elections"][1], "partition": 1, "unclean": None}]},
        "Unclean elections",
        ("bad", "at least 1", "of 2 elections; 1 cannot be judged"),
    ),
    "a controller that was elected, and no line says that it became active": (
        {"controller_timeline": [{**tables()["controller_timeline"][0], "active_since": None}]},
        "Active controller",
        ("untold", "perhaps 3", "elected for epoch 1, that it became active is in no line; 0 changes"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", UNTOLD_TILES)
def test_what_a_tile_cannot_tell(case: str, tmp_path: Path) -> None:
    changes, name, expected = UNTOLD_TILES[case]
    assert tiles(report(night(tmp_path / "w", changes), tmp_path / "r.html"))[name] == expected


def test_nobody_misses_partitions_of_a_topic_that_is_being_deleted(tmp_path: Path) -> None:
    """Kafka's OfflinePartitionsCount leaves them out, too: pay-in-1 waits for its deletion when the logs end."""
    ended, still_open = tables()["offline_partitions"]
    page = report(
        night(tmp_path / "w", {"offline_partitions": [ended, {**still_open, "cause": "topic_deletion"}]}),
        tmp_path / "r.html",
    )
    below = "at the end; 1 outage, longest 60.0 s; besides 1 partition of topics that are being deleted"
    assert tiles(page)["Offline partitions"] == ("warn", "0", below)


def test_a_partition_of_which_only_failed_elections_are_in_the_logs(tmp_path: Path) -> None:
    """Until 2.0 ZooKeeper's controller writes no state then: the logs begin amid the outage of pay-in-1."""
    page = report(night(tmp_path / "w", {"partition_timeline": STATES[:4]}), tmp_path / "r.html")
    assert tiles(page)["Offline partitions"][:2] == ("bad", "1")


LACKING = {  # a table that an older warehouse has not -> the tile that would need it
    "isr_changes": ("ISR shrinks", "no ISR change is in the logs"),
    "elections": ("Unclean elections", "no election is in the logs"),
    "controller_timeline": ("Active controller", "no term is in the logs"),
}


@pytest.mark.parametrize("table", LACKING)
def test_a_table_that_is_not_there_makes_no_zero(table: str, tmp_path: Path) -> None:
    name, below = LACKING[table]
    page = report(night(tmp_path / "w", without=(table,)), tmp_path / "r.html")
    assert tiles(page)[name] == ("untold", "cannot be told", below)


def controller_term(number: int, mode: str, since: str, until: str | None = None) -> dict[str, Any]:
    return row(
        cluster_incarnation=0, controller_id=number, controller_epoch=1, mode=mode, since=since, active_since=since,
        until=until, ended_by=None if until is None else "resigned", overlap_ms=0, evidence=[],
    )  # fmt: skip


IN_CHARGE = {  # terms -> who is said to be in charge at the end
    "ZooKeeper's, until its last term has ended": (
        [controller_term(1, "zookeeper", "10:00"), controller_term(100, "kraft", "10:05")],
        "1",
    ),
    "KRaft's then, even if it was elected before": (
        [controller_term(100, "kraft", "10:02"), controller_term(1, "zookeeper", "10:05", until="10:08")],
        "100",
    ),
    "nobody, if KRaft's has ended as well": (
        [
            controller_term(100, "kraft", "10:02", until="10:09"),
            controller_term(1, "zookeeper", "10:05", until="10:08"),
        ],
        "none at the end",
    ),
}


@pytest.mark.parametrize("case", IN_CHARGE)
def test_who_is_in_charge_in_a_migration(case: str, tmp_path: Path) -> None:
    terms, expected = IN_CHARGE[case]
    page = report(night(tmp_path / "w", {"controller_timeline": terms}), tmp_path / "r.html")
    assert tiles(page)["Active controller"][1] == expected
