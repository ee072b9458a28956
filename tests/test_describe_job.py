"""The rows that hold at a moment, and the command over two whole runs."""

from __future__ import annotations

import json
import re
import shlex
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from jobs.cli import main
from jobs.describe.describe import (
    assignments_at,
    configs_at,
    context_lines_at,
    controller_at,
    holding,
    least_in_sync,
    min_isrs_at,
    moment_of,
    reassignments_around,
)
from jobs.settings import Settings
from tests.conftest import truth_of
from tests.delta_warehouse import assert_rows, views_of
from udfs.merge.times import Moment, moment

if TYPE_CHECKING:
    from tests.conftest import Run

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "how-to-describe.md").read_text()
SHOWN = dict(
    re.findall(r"^```sh\n(kafka-rewind describe [^\n]*)\n```\n\n```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
)
NOON = datetime(2026, 11, 21, 12)
ZK_AT, KRAFT_AT = "2026-11-21T11:47:40", "2026-11-21T11:53:25"
"""Brokers 1 and 2 respectively are gone, and nothing changes within 100 ms."""


def describe(run: Run, *arguments: str) -> Result:
    """The command over a run's warehouse; it succeeds."""
    result = CliRunner().invoke(
        main, ["describe", "--warehouse", run.warehouse.root, *arguments], catch_exceptions=False
    )
    assert result.exit_code == 0, result.stderr
    return result


def refused(*arguments: str) -> str:
    """The error for a wrong command, before Spark starts."""
    result = CliRunner().invoke(main, ["describe", *arguments])
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    return result.stderr


# ---- usage ----------------------------------------------------------------------------------------------------------
@pytest.mark.usefixtures("no_jvm")
def test_bad_usage(tmp_path: Path) -> None:
    assert "Missing option '--at'" in refused()
    assert "--at '25:00' does not exist" in refused("--at", "25:00")
    assert "--at 'noon' is no time that is understood; give one such as" in refused("--at", "noon")
    assert "--at '0000-00-00 00:00:00,000' is no time that is understood" in refused("--at", "0000-00-00 00:00:00,000")
    two = ("--unavailable-partitions", "--at-min-isr-partitions")
    assert f"Only one filter at a time: {' or '.join(two)}" in refused("--at", "02:14", *two)
    assert "Only one view at a time: --brokers or --context" in refused("--at", "02:14", "--context", "--brokers")
    assert "Only one view at a time: --brokers or --verify-replicas" in refused("--at", "02:14", "--brokers", "--verify-replicas")  # fmt: skip
    assert "--context shows the whole cluster; leave --topic out" in refused(
        "--at", "02:14", "--context", "--topic", "a"
    )
    assert "leave --under-replicated-partitions out" in refused("--at", "02:14", "--brokers", "--under-replicated-partitions")  # fmt: skip
    assert "There is no warehouse in" in refused("--at", "02:14", "--warehouse", str(tmp_path / "none"))


MOMENTS = {  # as given -> UTC; the last record is of noon
    "2026-11-21T02:14:03.250": "2026-11-21 02:14:03.250",
    "2026-11-21T02:14:00+02:00": "2026-11-21 00:14",
    "02:14": "2026-11-21 02:14",
    "13:00": "2026-11-20 13:00",
    "12:57:50.5": "2026-11-20 12:57:50.5",
    "-3h": "2026-11-21 09:00",
    "2026-11-22": "2026-11-22 00:00",
    # outside of the calendar, or so near to its end that a margin would be
    "-99999999999d": "1000-01-01 00:00",
    "0001-01-01": "1000-01-01 00:00",
    "9999-12-31": "9000-01-01 00:00",
}


@pytest.mark.parametrize("text", MOMENTS)
def test_moments(text: str) -> None:
    asked = moment(text)
    assert asked is not None
    assert moment_of(asked, NOON) == datetime.fromisoformat(MOMENTS[text])


def test_a_time_of_day_is_not_before_the_logs_begin_if_it_is_nearer_to_their_end() -> None:
    asked, evening = Moment(clock=13 * 3_600_000_000), datetime.fromisoformat("2026-11-20 18:00")
    assert moment_of(asked, NOON, evening) == datetime.fromisoformat("2026-11-21 13:00")
    assert moment_of(asked, NOON, datetime.fromisoformat("2026-11-20 12:00")) == datetime.fromisoformat(
        "2026-11-20 13:00"
    )


# ---- rows -----------------------------------------------------------------------------------------------------------
def test_rows_that_hold() -> None:
    tables = {"partition_timeline": """
        partition | since    | until
        0         | 11:00    | 12:00
        1         | 12:00    | 13:00
        2         | 11:00    |
        3         | 12:00:01 |
    """}  # fmt: skip
    with views_of(tables) as views:
        assert_rows(views, holding("partition_timeline", NOON), "partition\n1\n2")


def test_reassignments_around() -> None:
    tables = {"reassignments": """
        topic | partition | incarnation | since | until | state
        a     | 0         | 0           | 10:00 | 10:01 | cancelled
        a     | 0         | 0           | 11:00 | 11:01 | completed
        a     | 0         | 0           | 12:01 | 12:02 | completed
        a     | 0         | 0           | 13:00 |       | in_progress
        a     | 1         | 0           | 12:00 |       | stuck
        a     | 2         | 0           | 12:30 |       | in_progress
    """}  # fmt: skip
    expected = """
        topic | partition | since | state
        a     | 0         | 11:00 | completed
        a     | 0         | 12:01 | completed
        a     | 1         | 12:00 | stuck
        a     | 2         | 12:30 | in_progress
    """
    with views_of(tables) as views:
        assert_rows(views, reassignments_around(NOON), expected)


@pytest.mark.parametrize(("minute", "controller"), [(10, 1), (30, 1), (41, 100), (50, 101)])
def test_in_a_migration_kraft_decides_when_zookeepers_controller_has_gone(minute: int, controller: int) -> None:
    terms = """
        cluster_incarnation | mode      | controller_id | controller_epoch | since | until
        0                   | zookeeper | 2             | 8                | 10:00 | 11:00
        0                   | zookeeper | 1             | 9                | 11:00 | 11:40
        0                   | kraft     | 100           | 1                | 11:20 | 11:45
        0                   | kraft     | 101           | 2                | 11:45 |
    """
    with views_of({"controller_timeline": terms}) as views:
        assert_rows(views, controller_at(datetime(2026, 11, 21, 11, minute)), f"controller_id\n{controller}")


def test_last_lines_of_the_controller() -> None:
    terms = """
        controller_id | controller_epoch | since | until
        1             | 7                | 11:00 |
    """
    events = """
        at       | node_id | event_type                               | topic | partition | partitions | broker_id | fields
        10:59    | 1       | partition_state_change                   | a     | 0         |            |           | to_state=NewPartition
        11:01    | 1       | partition_state_change                   | a     | 0         |            |           | to_state=OnlinePartition
        11:01    | 1       | partition_state_change                   | a     | 0         |            |           | to_state=OfflinePartition
        12:00:01 | 1       | partition_state_change                   | a     | 0         |            |           | to_state=OnlinePartition
        11:02    | 1       | replica_state_change                     | a     | 0         |            |           | replica=3; to_state=OfflineReplica
        10:00    | 1       | controlled_shutdown_started              |       |           |            |           | broker=3
        11:30    | 1       | kraft_broker_controlled_shutdown_granted |       |           |            |           | broker=4
        11:40    | 2       | kraft_broker_controlled_shutdown_granted |       |           |            |           | broker=5
        11:30    | 1       | topic_deletion_requested                 |       |           |            |           | topics=a
        11:30    | 1       | topic_deletion_requested                 |       |           |            |           | topics=b
        11:31    | 1       | kraft_broker_registered                  |       |           |            | 6         |
        11:32    | 1       | kraft_broker_unregistered                |       |           |            | 6         |
        11:33    | 1       | kraft_broker_unregistered                |       |           |            | 7         |
        11:34    | 2       | kraft_broker_registered                  |       |           |            | 7         |
    """
    # of the lines of one time the later in the file counts; a standby controller's replay does not
    last_lines = """
        kind     | topic | partition | broker | value            | at
        state    | a     | 0         |        | OfflinePartition | 11:01
        state    | a     | 0         | 3      | OfflineReplica   | 11:02
        leaving  |       |           | 3      |                  | 10:00
        leaving  |       |           | 4      |                  | 11:30
        deleting |       |           |        | a                | 11:30
        deleting |       |           |        | b                | 11:30
        registration |   |           | 6      | unregistered     | 11:32
        registration |   |           | 7      | registered       | 11:34
    """
    with views_of({"events": events, "controller_timeline": terms}) as views:
        assert_rows(views, context_lines_at(NOON, datetime(2026, 11, 21, 11)), last_lines)


def test_last_assignments() -> None:
    writes = """
        at    | event_type                       | topic | partition | replicas | fields
        11:00 | partition_state_change           | a     | 0         | 1,2      | to_state=NewPartition
        11:01 | partition_state_change           | a     | 0         | 9        | to_state=OnlinePartition
        11:00 | partition_state_change           | b     | 0         | 1,2      | to_state=NewPartition
        11:59 | reassignment_assignment_updating | b     | 0         | 9        |
        11:59 | reassignment_assignment_updated  | b     | 0         | 3,1,2    |
        12:01 | reassignment_assignment_updated  | b     | 0         | 3        |
    """
    last_writes = """
        topic | partition | replicas | at
        a     | 0         | 1,2      | 11:00
        b     | 0         | 3,1,2    | 11:59
    """
    with views_of({"events": writes}) as views:
        assert_rows(views, assignments_at(NOON), last_writes)


def test_last_configs() -> None:
    configs = """
        at    | event_type           | topic | broker_id | fields
        11:00 | topic_config_changed | a     |           | config=Map()
        11:01 | topic_config_changed | a     |           | config=Map(x -> 1)
        12:01 | topic_config_changed | a     |           | config=Map(x -> 2)
        11:00 | kraft_config_set     | b     |           | config_resource_type=TOPIC; config_name=y; config_value=3
        11:00 | kraft_config_set     |       |           | config_resource_type=BROKER; config_name=y; config_value=4
        11:00 | kraft_config_set     |       | 1         | config_resource_type=BROKER; config_name=y; config_value=5
        # records of a dump
        11:00 | metadata_config      | c     |           | config_resource_type=TOPIC; config_name=y; config_value=6
        11:01 | metadata_config      | c     |           | config_resource_type=TOPIC; config_name=y
        11:01 | metadata_config      | c     |           | config_resource_type=TOPIC; config_name=z; config_value=7
        11:01 | metadata_config      |       |           | config_resource_type=BROKER; config_name=z; config_value=8
        11:01 | metadata_config      |       | 1         | config_resource_type=BROKER; config_name=z; config_value=9
        # brokers print all that a topic has of its own, or all defaults
        11:00 | metadata_config      | d     |           | data={"resourceType":2,
        11:00 | metadata_config_updated | d  | 1         | config=x -> 1,y -> 2
        11:01 | metadata_config_updated | d  | 2         | config=x -> 1
        11:01 | metadata_config_updated |    | 2         | config=y -> 3
        11:01 | metadata_config_updated |    | 2         | entity_type=broker; entity=2; config=y -> 4
    """
    last_values = """
        topic | name | value       | at
        a     |      | Map(x -> 1) | 11:01
        b     | y    | 3           | 11:00
              | y    | 4           | 11:00
        c     | y    | null        | 11:01
        c     | z    | 7           | 11:01
              | z    | 8           | 11:01
        d     |      | x -> 1      | 11:01
              |      | y -> 3      | 11:01
    """
    with views_of({"events": configs}) as views:
        assert_rows(views, configs_at(NOON), last_values)


MIN_ISRS = """
    resource_type | topic  | resource | name                | at    | value
    # own: the last line counts; two of one time: what is set for the topic
    new_log       | own    |          | min.insync.replicas | 11:00 | 2
    topic         | own    |          | min.insync.replicas | 11:30 | 3
    topic         | twice  |          | min.insync.replicas | 11:00 | 4
    new_log       | twice  |          | min.insync.replicas | 11:00 | 2
    topic         | later  |          | min.insync.replicas | 12:30 | 2
    new_log       | none   |          | min.insync.replicas | 11:00 |
    topic         | other  |          | retention.ms        | 11:00 | 2
    kafka_config  |        | 1        | min.insync.replicas | 10:00 | 2
    kafka_config  |        | 1        | min.insync.replicas | 11:00 | 1
    kafka_config  |        | 2        | min.insync.replicas | 11:00 | 1
"""
UNLIKE = "    kafka_config  |        | 3        | min.insync.replicas | 11:50 | 2"


@pytest.mark.parametrize(("nodes", "default"), [("", "1"), (UNLIKE, "")])
def test_how_many_have_to_be_in_sync(nodes: str, default: str) -> None:
    by_topic = f"""
        topic | value | default_value
        own   | 3     | {default}
        twice | 4     | {default}
        none  |       | {default}
    """
    with views_of({"config_changes": f"{MIN_ISRS}{nodes}"}) as views:
        assert_rows(views, min_isrs_at(NOON), by_topic)


def test_what_is_set_for_us_counts_before_the_default_but_not_before_a_line() -> None:
    printed: list[dict[str, Any]] = [
        {"topic": "own", "value": "3", "default_value": "1"},
        {"topic": "none", "value": None, "default_value": "1"},
        {"topic": "neither", "value": None, "default_value": None},
        {"topic": "no number", "value": "<b>", "default_value": "x"},
    ]
    unset, of_set = (least_in_sync(printed, settings) for settings in (Settings(), Settings(min_insync_replicas=2)))
    names = ("own", "none", "neither", "no number", "unknown")
    assert [unset(name) for name in names] == [3, 1, None, None, None]
    assert [of_set(name) for name in names] == [3, 2, 2, 2, 2]


# ---- whole runs -----------------------------------------------------------------------------------------------------
def truth_at(run: Run, clock: str) -> dict[tuple[str, int], tuple[int, list[int]]]:
    """Leader (-1 none) and ISR of each partition, as the cluster had committed them."""
    ms = int((datetime.fromisoformat(clock) - datetime(1970, 1, 1)).total_seconds() * 1000)
    return {
        (s["topic"], s["partition"]): (-1 if s["leader"] is None else s["leader"], sorted(s["isr"]))
        for s in truth_of(run.capture).states
        if s["since"] <= ms and (s["until"] is None or s["until"] > ms)
    }


def test_zookeeper_cluster(zk: Run) -> None:
    result = describe(zk, "--at", ZK_AT, "--format", "json")
    data = json.loads(result.stdout)
    assert (data["known"], data["kafka_version"], data["kraft"], data["remarks"]) == (True, "2.4.1", False, [])
    shown = {(t["topic"], p["partition"]): (p["leader"], p["isr"]) for t in data["topics"] for p in t["partitions"]}
    assert shown == truth_at(zk, ZK_AT)


def test_kraft_cluster(kraft: Run) -> None:
    data = json.loads(describe(kraft, "--at", KRAFT_AT, "--format", "json").stdout)
    assert (data["kafka_version"], data["kraft"]) == ("4.1", True)  # 4.1.0
    described = {(t["topic"], p["partition"]): (p["leader"], p["isr"]) for t in data["topics"] for p in t["partitions"]}
    truth = truth_at(kraft, KRAFT_AT)
    assert described.keys() == truth.keys()
    assert [place for place in truth if described[place][0] != truth[place][0]] == []
    assert [place for place in truth if described[place][1] not in (None, truth[place][1])] == []
    assert {t["topic"]: t["min_insync_replicas"] for t in data["topics"]}["a-1"] == 2  # as logged


def test_replicas_out_of_sync(zk: Run) -> None:
    """Each replica outside of the truth's ISR, and no other; what broker 2 lacked of two that it led uncleanly later."""
    data = json.loads(describe(zk, "--at", ZK_AT, "--verify-replicas", "--format", "json").stdout)
    shown = {
        (p["topic"], p["partition"]): sorted(r["replica"] for r in p["replicas"] if r["in_sync"]) for p in data["partitions"]
    }  # fmt: skip
    assert shown == {place: isr for place, (_, isr) in truth_at(zk, ZK_AT).items()}
    before = json.loads(describe(zk, "--at", "2026-11-21T11:47:30", "--topic", "unclean_ok", "--verify-replicas", "--format", "json").stdout)  # fmt: skip
    lag = {p["partition"]: r["lag_max"] for p in before["partitions"] for r in p["replicas"] if r["in_sync"] is False}
    assert (lag[0], lag[3]) == (54, 50)  # (highWatermark: 2002, endOffset: 2056), (... 2006, ... 2056)


def context_at(run: Run, when: str) -> dict[str, Any]:
    context = json.loads(describe(run, "--at", when, "--context", "--format", "json").stdout)["context"]
    assert isinstance(context, dict)
    return context


def test_context(zk: Run, kraft: Run) -> None:
    """Controlled shutdown of broker 1 began at 11:44:57.964, and it was gone at 11:44:58.654."""
    held = context_at(zk, "2026-11-21T11:44:58.200")
    assert (held["controller_id"], held["epoch"], held["shutting_down_broker_ids"]) == (3, 1, [1])
    # 11:44:47,905 Updated broker epochs cache: HashMap(0 -> 196, 1 -> 88, 2 -> 91, 3 -> 82, 4 -> 87)
    assert held["live_brokers"] == {"0": 196, "1": 88, "2": 91, "3": 82, "4": 87}
    assert held["offline_partition_count"] == 0
    leaderless = sum(leader == -1 for leader, _ in truth_at(kraft, KRAFT_AT).values())
    assert context_at(kraft, KRAFT_AT)["offline_partition_count"] == leaderless > 0


def test_outside_of_the_logs(zk: Run) -> None:
    early = describe(zk, "--at", "2026-11-21T11:00")
    assert early.stdout == ""
    assert early.stderr.splitlines()[1:] == [
        "Its logs begin at 2026-11-21T11:44:15.962Z: nothing is known about 2026-11-21T11:00:00.000Z."
    ]
    late = describe(zk, "--at", "2026-12-01", "--topic", "a-1")
    assert len(late.stdout.splitlines()) == 4
    assert "Its logs end then; changes until 2026-12-01T00:00:00.000Z are not known." in late.stderr


def test_what_the_tables_do_not_have(zk: Run) -> None:
    def refusal(*arguments: str) -> str:
        result = CliRunner().invoke(main, ["describe", "--warehouse", zk.warehouse.root, "--at", ZK_AT, *arguments])
        assert (result.exit_code, result.stdout) == (2, "")
        return result.stderr

    assert refusal("--cluster", "eu") == "kafka-rewind: There is no cluster eu in the warehouse; it has default.\n"
    assert "According to the logs, topic 'order' did not exist at 2026-11-21T11:47:40.000Z; nor did it at" in refusal("--topic", "order")  # fmt: skip
    assert "--topic 'a(' is not a regular expression" in refusal("--topic", "a(")


# ---- the page -------------------------------------------------------------------------------------------------------
def test_the_page_shows_what_is_printed(zk: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On standard output, then on standard error; `...` is the rest."""
    (tmp_path / "demo-warehouse").symlink_to(zk.warehouse.root)
    monkeypatch.chdir(tmp_path)
    assert len(SHOWN) == len(re.findall(r"^kafka-rewind describe --at \d", PAGE, re.MULTILINE)) == 6
    for command, shown in SHOWN.items():
        result = CliRunner().invoke(main, shlex.split(command)[1:], catch_exceptions=False)
        printed, whole = result.stdout + result.stderr, not shown.endswith("...\n")
        assert (printed if whole else printed[: len(shown) - 4] + "...\n") == shown


def test_every_option_of_the_page_is_one_of_the_command() -> None:
    help_text = CliRunner().invoke(main, ["describe", "--help"]).output
    named = set(re.findall(r"--[a-z][a-z-]+", PAGE)) - {"--describe"}
    assert [option for option in named if option not in help_text] == []
