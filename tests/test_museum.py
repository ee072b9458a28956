"""Historical faults of Kafka are caught: each exhibit of the museum, and its log without the fault, one warehouse."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.museum import EXHIBITS, Exhibit, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.runs

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "museum.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def violated(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """By cluster the rules that are violated; a mended log is a cluster `NAME-mended`."""
    from jobs.nightly.run import nightly
    from jobs.settings import Settings, TopicSettings
    from jobs.warehouse.tables import open_warehouse

    folder = tmp_path_factory.mktemp("museum")
    clusters: dict[str, str] = {}
    releases: dict[str, str] = {}
    for exhibit in EXHIBITS:
        for name, lines in ((exhibit.name, exhibit.lines), (f"{exhibit.name}-mended", exhibit.mended)):
            write(lines, folder / "logs" / name)
            clusters[f"*/{name}/*"], releases[name] = name, exhibit.judged_by
    warehouse = open_warehouse(spark, str(folder / "warehouse"), create=True)
    settings = Settings(
        clusters=clusters,
        kafka_versions=releases,
        topics={"orders": TopicSettings(unclean_leader_election_enable=False)},
    )
    nightly(warehouse, [str(folder / "logs")], settings, "default", lambda _: None)
    rules: dict[str, set[str]] = {name: set() for name in releases}
    for row in warehouse.read("verdicts").where("verdict = 'violated'").collect():
        rules[row["cluster"]].add(row["rule"])
    return rules


def test_each_fault_is_caught_by_its_rule(violated: dict[str, set[str]]) -> None:
    assert {e.name: e.rule in violated[e.name] for e in EXHIBITS} == {e.name: True for e in EXHIBITS}


def test_nothing_is_wrong_without_the_fault(violated: dict[str, set[str]]) -> None:
    assert {e.name: violated[f"{e.name}-mended"] for e in EXHIBITS} == {e.name: set() for e in EXHIBITS}


def test_the_page_shows_each_exhibit() -> None:
    def section(exhibit: Exhibit) -> str:
        return f"## {exhibit.name}\n\n{exhibit.fault}"

    assert re.findall(r"^## (.*)$", PAGE, re.MULTILINE) == [exhibit.name for exhibit in EXHIBITS]
    for exhibit in EXHIBITS:
        assert section(exhibit) in PAGE
        assert f"`{exhibit.rule}`" in PAGE.split(f"## {exhibit.name}\n")[1].split("\n## ")[0]
