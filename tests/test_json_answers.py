"""`--format json`: standard output of every command that answers in words is one JSON document. No JVM."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import click
import pytest
from click.testing import CliRunner, Result

from jobs.cli import main
from jobs.exits import FOUND
from jobs.nightly.news import Known
from jobs.nightly.optimize import Compaction
from jobs.nightly.prune import Pruned, Pruning
from jobs.nightly.summary_facts import FACTS_OF_STEP, ClusterSummary
from jobs.nightly.summary_text import summaries_as_json
from jobs.read.verdicts import asked_verdicts, verdict_data, verdict_lines
from schemas.ledger import STEPS
from tests.delta_warehouse import DAY, publish

pytestmark = pytest.mark.usefixtures("no_jvm")
STREAM = {
    "file_id": "f", "path": "/logs/server.log", "status": "ok", "findings": [], "node_ids": [1], "also_seen_as": [],
    "drift": {}, "first_at": DAY, "last_at": DAY, "time_zone": "UTC", "size_bytes": 10, "event_bytes": 10,
    "detail_bytes": 0, "reject_bytes": 0, "other_bytes": 0, "duplicate_bytes": 0, "held_back_bytes": 0,
    "event_lines": 1,
}  # fmt: skip
VERDICT = {
    "cluster": "c", "rule": "elect_offline", "subject": "pay-0#1", "topic": "pay", "at": DAY, "verdict": "violated",
    "explanation": "expected 1, but it was 2",
}  # fmt: skip
HAVE_FORMATS_OF_THEIR_OWN = {"sql", "export", "tables", "merge", "generate"}
PRINT_NOTHING_TO_PARSE = {"shell", "redact"}


def commands(group: click.Group) -> Iterator[tuple[str, click.Command]]:
    """The commands of a group and of the groups in it."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command)
        else:
            yield name, command


@pytest.mark.parametrize(
    "command",
    [one for name, one in commands(main) if name not in HAVE_FORMATS_OF_THEIR_OWN | PRINT_NOTHING_TO_PARSE],
    ids=lambda command: str(command.name),
)
def test_each_command_that_prints_words_prints_json(command: click.Command) -> None:
    choices = [
        option.type.choices
        for option in command.params
        if "--format" in option.opts and isinstance(option.type, click.Choice)
    ]
    assert [tuple(names) for names in choices] == [("text", "json")]


@pytest.fixture
def root(tmp_path: Path) -> str:
    """A warehouse with a stream, and a violated and an unknown verdict."""
    verdicts = [VERDICT, {**VERDICT, "verdict": "unknown", "subject": "pay-0#2"}]
    return str(publish(tmp_path / "w", log_files=[{"cluster": "c", **STREAM}], verdicts=verdicts))


@pytest.fixture
def idle_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs and upkeep do nothing."""

    @contextmanager
    def opened(root: str, **_: object) -> Iterator[tuple[Any, Any]]:
        yield SimpleNamespace(root=root), MagicMock()

    outcome = SimpleNamespace(published=True, refused=[], seconds={}, has_new_input=True, known=Known())
    monkeypatch.setattr("jobs.nightly.writing.open_for_writing", opened)
    monkeypatch.setattr("jobs.nightly.run.run", lambda *_, **__: outcome)
    monkeypatch.setattr("jobs.nightly.optimize.compact", lambda *_: [Compaction("events", 35, 2)])
    pruning = Pruning({"us": datetime(2026, 8, 21, 4)}, (Pruned("events", 12, 3),), {"eu": "it was pruned before"})
    monkeypatch.setattr("jobs.nightly.prune.prune", lambda *_: pruning)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--format", "json"], catch_exceptions=False)


WRITING: dict[str, tuple[str, ...]] = {  # command -> its arguments besides the warehouse
    "nightly": ("LOGS",),
    "ingest": ("LOGS",),
    "timelines": (),
    "detect": (),
    "replay": (),
    "optimize": (),
    "prune": ("--before", "-90d"),
}


@pytest.mark.usefixtures("idle_run")
@pytest.mark.parametrize("name", WRITING)
def test_a_command_that_writes_prints_one_document(name: str, root: str, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("[2026-11-21 10:00:00,000] INFO [Controller id=1] Resigned (kafka.controller.KafkaController)\n")
    arguments = (str(log) if argument == "LOGS" else argument for argument in WRITING[name])
    result = run(name, *arguments, "--warehouse", root)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)


@pytest.mark.usefixtures("idle_run")
def test_upkeep(root: str) -> None:
    compacted = {"tables": [{"table": "events", "before": 35, "after": 2}]}
    assert json.loads(run("optimize", "--warehouse", root).stdout) == compacted
    assert json.loads(run("prune", "--before", "-90d", "--warehouse", root).stdout) == {
        "pruned": {"us": "2026-08-21T04:00:00.000Z"},
        "tables": [{"table": "events", "before": 12, "after": 3}],
        "left": {"eu": "it was pruned before"},
    }


@pytest.mark.usefixtures("idle_run")
def test_a_night_says_on_standard_error_where_its_report_is(
    root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "server.log").write_text("[2026-11-21 10:00:00,000] INFO Resigned (kafka.controller.KafkaController)\n")
    written = SimpleNamespace(sentence="Wrote night.html (1 byte).")
    monkeypatch.setattr("jobs.report.write.write_reports", lambda *_: [written])
    asked = (
        "nightly", str(tmp_path / "server.log"), "--report", str(tmp_path / "night.html"), "--warehouse", root,
    )  # fmt: skip
    result = run(*asked)
    assert [cluster["cluster"] for cluster in json.loads(result.stdout)] == ["c"]
    assert result.stderr.endswith("Wrote night.html (1 byte).\n")
    in_words = CliRunner().invoke(main, asked, catch_exceptions=False)
    assert in_words.stdout.endswith("Wrote night.html (1 byte).\n")


@pytest.mark.usefixtures("idle_run")
def test_verdicts_that_were_asked_for_are_in_the_same_document(root: str) -> None:
    result = run("replay", "--topic", "pay", "--fail-on", "violated", "--warehouse", root)
    assert result.exit_code == FOUND
    [cluster] = json.loads(result.stdout)
    assert cluster["asked"]["counts"] == {"unknown": 1, "violated": 1}
    assert [(row["verdict"], row["subject"], row["at"]) for row in cluster["asked"]["first"]] == [
        ("violated", "pay-0#1", "2026-11-21T00:00:00.000Z"),
        ("unknown", "pay-0#2", "2026-11-21T00:00:00.000Z"),
    ]
    [silent] = json.loads(run("replay", "--warehouse", root).stdout)
    assert "asked" not in silent


def test_words_and_data_of_verdicts_agree(root: str) -> None:
    asked = asked_verdicts(root, None, None)
    assert asked.violated == 1
    assert verdict_lines(asked)[0] == "Cluster c: 0 hold, 1 violated, 1 unknown"
    assert len(verdict_data(asked)["c"]["asked"]["first"]) == 1  # without a filter unknown ones are only counted
    assert verdict_data(asked_verdicts(root, "no_such_rule", None)) == {}


def test_a_step_tells_nothing_of_what_later_steps_find_out() -> None:
    """After `ingest` alone nothing is known of outages: no zero, and no OK."""
    [night] = json.loads(summaries_as_json([ClusterSummary("c")]))
    assert night["status"] == "OK"
    assert {name for names in FACTS_OF_STEP.values() for name in names} <= night.keys()
    [ingested] = json.loads(summaries_as_json([ClusterSummary("c")], ["ingest"]))
    assert ingested.keys() == {
        "cluster",
        "streams",
        "known_until",
        "is_zone_assumed",
        "rejects",
        "missing_logs",
        "printed_releases",
    }
    [detected] = json.loads(summaries_as_json([ClusterSummary("c")], ["detect"]))
    assert detected["status"] == "OK"
    assert "verdicts" not in detected
    assert {*FACTS_OF_STEP} == {*STEPS}
