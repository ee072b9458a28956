"""`prune`: what it refuses, and what it says; `tests.test_windowed_nights` has the nights after it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from jobs.nightly.prune import Pruned, Pruning, nothing_before, prune, pruning_text
from jobs.nightly.run import check_order
from jobs.warehouse.integrity import Pins, find_damage, read_pins
from jobs.warehouse.tables import open_warehouse
from schemas.ledger import STEPS
from udfs.errors import BadInput
from udfs.merge.times import Moment, moment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def asked(text: str) -> Moment:
    at = moment(text)
    assert at is not None
    return at


def test_what_cannot_be_pruned(spark: SparkSession, tmp_path: Path) -> None:
    empty = open_warehouse(spark, str(tmp_path / "w"), create=True)
    with pytest.raises(BadInput, match="Nothing is published"):
        prune(empty, asked("-1d"), None, 168, print)
    empty.versions, empty.pending = {"events": 0}, {"replay": ["eu"]}
    with pytest.raises(BadInput, match="Tables of eu are out of date"):
        prune(empty, asked("-1d"), None, 168, print)


def test_single_steps_do_not_go_on_from_there() -> None:
    pruned: Any = SimpleNamespace(root="/w", pruned={"eu": datetime(2026, 3, 2)}, versions={"events": 0}, pending={})
    with pytest.raises(
        BadInput, match="Events of eu were pruned: single steps do not go on from there, run `kafka-rew"
    ):
        check_order(pruned, ("detect",))
    check_order(pruned, STEPS)
    pruned.pruned = {}
    check_order(pruned, ("detect",))


def test_a_damaged_warehouse_says_what_a_rebuild_cannot_restore(tmp_path: Path) -> None:
    (tmp_path / ".published.json").write_text(
        '{"run_id": 3, "table_versions": {"elections": 1}, "pruned": {"c": "2026-03-02T00:00:00"}}'
    )
    assert read_pins(str(tmp_path)) == Pins(3, {"elections": 1}, pruned={"c": "2026-03-02T00:00:00"})
    damage = find_damage(str(tmp_path))
    assert damage is not None
    assert "from the events that are there, but for rows from before they were pruned" in damage.sentence


def test_why_nothing_is_before_a_time() -> None:
    """Whole hours are pruned: of logs that begin at 12:10 there is nothing to prune before 12:14."""
    reason = "it has no event from before 2026-08-21 12:00"
    assert nothing_before(datetime(2026, 8, 21, 12, 14)) == f"{reason}, and whole hours are pruned"
    assert nothing_before(datetime(2026, 8, 21, 12)) == reason


def test_why_no_row_goes() -> None:
    """A night works out six hours of logs before the time again."""
    tables = (Pruned("events", 3_189, 3_189), Pruned("rejects", 0, 0))
    assert pruning_text(Pruning({"us": datetime(2026, 8, 21, 13)}, tables, {})) == (
        "Pruned:\n"
        "  us: before 2026-08-21 13:00\n"
        "  events           3,189 rows are 3,189 now\n"
        "  rejects              0 rows are 0 now\n"
        "  none was older than the six hours of logs before that time, which are kept"
    )


def test_the_text() -> None:
    times = {"us": datetime(2026, 8, 21, 4)}
    tables = (Pruned("events", 1_204_331, 88_012), Pruned("rejects", 12, 0))
    assert pruning_text(Pruning(times, tables, {"eu": "it has no event from before"})) == (
        "Pruned:\n"
        "  us: before 2026-08-21 04:00\n"
        "  events       1,204,331 rows are 88,012 now\n"
        "  rejects             12 rows are 0 now\n"
        "eu stays as it is: it has no event from before."
    )
