"""The gate lets sound tables pass and names the expectation and the rows of those that are not."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from jobs.nightly.refusal_text import refusal_text
from jobs.nightly.run import Outcome
from jobs.nightly.summary_queries import frequent_rejects
from jobs.warehouse.gate import Audit, Failure, WrittenStream, audit
from schemas.tables import BY_NAME

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tests.conftest import Frame

STREAM = (
    "file_id | path | size_bytes | event_bytes | detail_bytes | reject_bytes | other_bytes | duplicate_bytes "
    "| held_back_bytes | event_lines | reject_lines\n"
)
SOUND = {
    "log_files": STREAM
    + """
        a | /a | 100 | 60 | 10 | 5 | 20 | 0 | 5 | 1000 | 20
        b | /b | 10  | 0  | 0  | 0 | 10 | 0 | 0 | 0    | 0
    """,
    "partition_timeline": """
        topic | partition | incarnation | leader_epoch | ordinal | since    | until    | evidence
        t     | 0         | 0           | 0            | 0               | 10:00:00 | 10:00:01 | 1@f:1
        t     | 0         | 0           | 1            | 1               | 10:00:01 | 10:00:01 | 1@f:2
        t     | 0         | 0           | 1            | 2               | 10:00:01 |          | 1@f:3
        t     | 0         | 1           | 0            | 0               | 10:00:00 |          | 1@f:4
    """,
    "elections": """
        topic | partition | incarnation | at       | leader | leader_epoch | succeeded | evidence
        t     | 0         | 0           | 10:00:00 |        |              | false     | 1@f:1
        t     | 0         | 0           | 10:00:01 | 1      | 1            | true      | 1@f:1
    """,
}
UNSOUND = {  # table, rows -> the expectation that fails, how many rows violate it, and what the example names
    "a key twice": (
        "partition_timeline",
        """topic | partition | incarnation | leader_epoch | ordinal | since | until | evidence
        t     | 0 | 0 | 0 | 0 | 10:00:00 | 10:00:01 | 1@f:1
        t     | 0 | 0 | 0 | 0 | 10:00:01 |          | 1@f:2""",
        "keys_unique", 1, '"ordinal":0',
    ),
    "no key": (
        "partition_timeline",
        """topic | partition | incarnation | leader_epoch | ordinal | since | until | evidence
              | 7 | 0 | 0 | 0 | 10:00:00 | | 1@f:1""",
        "keys_known", 1, '"partition":7',
    ),
    "intervals that overlap": (
        "partition_timeline",
        """topic | partition | incarnation | leader_epoch | ordinal | since | until | evidence
        t     | 3 | 0 | 0 | 0 | 10:00:00 | 10:00:02 | 1@f:1
        t     | 3 | 0 | 0 | 1 | 10:00:01 |          | 1@f:2""",
        "no_overlap", 1, '"until":"2026-11-21T10:00:02.000Z"',
    ),
    "an end before the begin": (
        "partition_timeline",
        """topic | partition | incarnation | leader_epoch | ordinal | since | until | evidence
        t     | 3 | 0 | 0 | 0 | 10:00:02 | 10:00:00 | 1@f:1""",
        "since_before_until", 1, '"partition":3',
    ),
    "a later controller that began before": (
        "controller_timeline",
        """cluster_incarnation | controller_id | controller_epoch | mode | since | evidence
        0 | 3 | 7 | zookeeper | 10:00:01 | 1@f:1
        0 | 4 | 8 | zookeeper | 10:00:00 | 1@f:2""",
        "since_monotone", 1, '"controller_epoch":8',
    ),
    "no evidence": (
        "partition_timeline",
        """topic | partition | incarnation | leader_epoch | ordinal | since | until | evidence
        t     | 3 | 0 | 5 | 0 | 10:00:00 | 10:00:01 | []""",
        "has_evidence", 1, '"partition":3',
    ),
    "a byte nobody accounts for": (
        "log_files",
        STREAM + """
        a | /logs/a | 100 | 60 | 10 | 5 | 20 | 0 | 4 | 1 | 0""",
        "bytes_accounted", 1, '"path":"/logs/a","size_bytes":100',
    ),
    "more than 2% rejects": (
        "log_files",
        STREAM + """
        a | /logs/a | 100 | 100 | 0 | 0 | 0 | 0 | 0 | 979 | 21""",
        "reject_ratio", 1, '"reject_lines":21',
    ),
    "an election without a leader": (
        "elections",
        """topic | partition | incarnation | at | leader | leader_epoch | succeeded | evidence
        t | 0 | 0 | 10:00:00 | | 1 | true | 1@f:1""",
        "leader_if_succeeded", 1, '"topic":"t"',
    ),
    "unknown without a reason": (
        "verdicts",
        """rule | subject | verdict | missing_inputs | evidence
        leader_in_isr | t-0 | unknown | [] | 1@f:1""",
        "three_valued", 1, '"subject":"t-0"',
    ),
    "logs of several clusters": (
        "controller_timeline",
        """cluster_incarnation | controller_id | controller_epoch | mode | since | evidence
        -1 | 3 | 7 | zookeeper | 10:00:00 | 1@f:1""",
        "of_one_cluster", 1, '"controller_epoch":7',
    ),
    "no event type": (
        "events",
        "logger | event_type | byte_offset\nstate.change.logger | | 0",
        "typed", 1, '"line":1',
    ),
}  # fmt: skip


def test_sound_tables_pass(frame: Frame) -> None:
    result = audit({name: frame(BY_NAME[name], rows) for name, rows in SOUND.items()})
    assert result.failures == ()
    assert result.rows == {"log_files": 2, "partition_timeline": 4, "elections": 2}
    assert set(result.violations.values()) == {0}
    assert "log_files.bytes_accounted" in result.violations


@pytest.mark.parametrize("case", UNSOUND)
def test_unsound_tables_are_refused(case: str, frame: Frame) -> None:
    table, text, name, rows, example = UNSOUND[case]
    result = audit({table: frame(BY_NAME[table], text)})
    [failure] = result.failures
    assert failure.name == f"{table}.{name}"
    assert result.violations[failure.name] == failure.rows == rows
    assert example in failure.examples[0]
    words = refusal_text(Outcome("7", has_new_input=True, audit=result, clusters=("c",)))
    assert words.startswith("The data gate refused run 7; readers still see the run before it.\n")
    assert f"{failure.name}: {failure.description}; {rows:,} row" in words
    assert failure.examples[0] in words


WRITTEN = {  # log_files, events, rejects -> streams that differ from what was written
    "as the account says": ("a | /a | 100 | 60 | 10 | 30 | 0 | 0 | 0 | 2 | 1", "a | 50\na | 20", "a | 30", []),
    "nothing in scope": ("a | /a | 100 | 0 | 0 | 0 | 100 | 0 | 0 | 0 | 0", "", "", []),
    "an event lost": ("a | /a | 100 | 60 | 10 | 30 | 0 | 0 | 0 | 2 | 1", "a | 50", "a | 30", ["a"]),
    "all events lost": ("a | /a | 100 | 60 | 10 | 30 | 0 | 0 | 0 | 2 | 1", "", "a | 30", ["a"]),
    "a reject twice": ("a | /a | 100 | 60 | 10 | 30 | 0 | 0 | 0 | 2 | 1", "a | 50\na | 20", "a | 30\na | 30", ["a"]),
    "as many, but others": ("a | /a | 100 | 60 | 10 | 30 | 0 | 0 | 0 | 2 | 1", "a | 50\na | 21", "a | 30", ["a"]),
    "of a stream that nobody knows": ("a | /a | 9 | 9 | 0 | 0 | 0 | 0 | 0 | 1 | 0", "a | 9\nb | 5", "", ["b"]),
}


@pytest.mark.parametrize("case", WRITTEN)
def test_accounts_must_match_what_was_written(case: str, frame: Frame) -> None:
    streams, events, rejects, wrong = WRITTEN[case]
    tables = {
        "log_files": frame(BY_NAME["log_files"], STREAM + streams),
        "events": frame(BY_NAME["events"], f"file_id | size_bytes | event_type | logger\n{with_types(events)}"),
        "rejects": frame(BY_NAME["rejects"], f"file_id | size_bytes\n{rejects}"),
    }
    result = audit(
        {
            name: rows.withColumn("byte_offset", F.lit(0)) if name != "log_files" else rows
            for name, rows in tables.items()
        }
    )
    failures = {failure.name: failure for failure in result.failures}
    assert sorted(failures) == (["log_files.as_written"] if wrong else [])
    assert result.rows["log_files"] == 1
    assert result.violations["log_files.as_written"] == len(wrong)
    for file_id in wrong:
        assert f'"file_id":"{file_id}"' in failures["log_files.as_written"].examples[0]


READ_ON = WrittenStream("c", "a", first_line=2, event_bytes=50, event_lines=1, reject_bytes=30, reject_lines=1)
OF_STREAMS: dict[str, tuple[str, list[WrittenStream], int]] = {  # events, written -> streams that differ
    "what is new, and what was before": ("a | 50\na | 20", [READ_ON], 0),
    "only what is new is counted": ("a | 51\na | 20", [READ_ON], 0),
    "a new event lost": ("a | 50", [READ_ON], 1),
    "another one": ("a | 50\na | 21", [READ_ON], 1),
    "read as a whole": ("a | 51\na | 20", [WrittenStream("c", "a")], 1),
    "nothing was written of it": ("a | 51", [], 0),
}


@pytest.mark.parametrize("case", OF_STREAMS)
def test_of_a_stream_that_was_read_on_what_is_new_is_judged(case: str, frame: Frame) -> None:
    events, streams, wrong = OF_STREAMS[case]
    tables = {
        "log_files": frame(BY_NAME["log_files"], f"{STREAM}a | /a | 100 | 60 | 10 | 30 | 0 | 0 | 0 | 2 | 1"),
        "events": frame(BY_NAME["events"], f"file_id | size_bytes | event_type | logger\n{with_types(events)}"),
        "rejects": frame(BY_NAME["rejects"], "file_id | size_bytes\na | 30"),
    }
    records = {name: rows.withColumn("byte_offset", F.lit(0)) for name, rows in tables.items() if name != "log_files"}
    result = audit({**tables, **records}, streams=streams)
    assert result.violations["log_files.as_written"] == wrong
    assert [failure.name for failure in result.failures] == ["log_files.as_written"] * wrong
    assert result.rows == {"log_files": 1, "events": len(events.splitlines()), "rejects": 1}


def test_of_a_table_of_which_some_rows_were_replaced_these_are_judged(frame: Frame) -> None:
    """A row is wrong if one before it has its key."""
    rows = frame(BY_NAME["clock_offsets"], "node_id | hour\n1 | 10:00:00\n1 | 10:00:00\n2 | 10:00:00")
    for condition, wrong in (("node_id = 2", 0), ("node_id = 1", 1)):
        result = audit({"clock_offsets": rows}, replaced={"clock_offsets": condition, "elections": "false"})
        assert (result.violations["clock_offsets.keys_unique"], result.rows) == (wrong, {"clock_offsets": 3})


def test_where_only_what_was_written_is_at_hand_the_rows_that_stayed_are_counted(frame: Frame) -> None:
    """They passed the gate before, and are not judged again."""
    text = "cluster | node_id | hour\n"
    written = frame(BY_NAME["clock_offsets"], f"{text}us | 1 | 10:00:00\nus | 1 | 10:00:00")
    kept = frame(BY_NAME["clock_offsets"], f"{text}us | 1 | 09:00:00\neu | 2 | 09:00:00\neu | 2 | 09:00:00")
    result = audit({"clock_offsets": written}, kept={"clock_offsets": kept})
    assert [(failure.name, failure.clusters) for failure in result.failures] == [("clock_offsets.keys_unique", ("us",))]
    assert result.rows_by_cluster["clock_offsets"] == {"us": 3, "eu": 2}


REFUSED = UNSOUND["more than 2% rejects"][1]


def test_more_rejects_may_be_allowed(frame: Frame) -> None:
    assert audit({"log_files": frame(BY_NAME["log_files"], REFUSED)}, max_reject_percent=3).failures == ()


def test_rejects_of_a_damaged_file_keep_no_run_from_readers(frame: Frame) -> None:
    """What stands around the damage is no message of a release; the summary tells of the damage."""
    streams = frame(BY_NAME["log_files"], REFUSED).withColumn("status", F.lit("truncated"))
    assert audit({"log_files": streams}).failures == ()


class Written:
    """A warehouse of a run that was not published."""

    def __init__(self, tables: dict[str, DataFrame]) -> None:
        self.tables = tables

    def newest(self, table: str) -> DataFrame:
        return self.tables[table]


def test_a_run_that_is_refused_for_its_rejects_names_them(frame: Frame) -> None:
    """What a new release of Kafka writes is noticed the first night, also where it is too much to be published."""
    streams = frame(BY_NAME["log_files"], REFUSED)
    rejects = frame(
        BY_NAME["rejects"],
        """file_id | line | at | signature
        a | 7 | 10:00:02 | Broker id=<n> frobnicated <partition>
        a | 5 | 10:00:01 | Broker id=<n> frobnicated <partition>
        a | 6 | 10:00:01 | Unheard of""",
    )
    outcome = Outcome("7", has_new_input=True, audit=audit({"log_files": streams}), clusters=("c",))
    tables = Written({"log_files": streams, "rejects": rejects})
    outcome.rejects = frequent_rejects(tables, outcome.refused)  # type: ignore[arg-type]
    assert refusal_text(outcome).splitlines()[1:] == [
        "  log_files.reject_ratio: a stream has no more rejects per record in scope than max_reject_percent allows, "
        'unless it is damaged; 1 row violates it, such as {"path":"/logs/a","reject_lines":21,"event_lines":979}',
        '    2 lines like "Broker id=<n> frobnicated <partition>", first at logs/a:5',
        '    1 line like "Unheard of", first at logs/a:6',
        "    A newer release of kafka-rewind may know these messages; "
        "to publish anyway, raise max_reject_percent in the --conf file.",
    ]
    unaccounted = audit({"log_files": frame(BY_NAME["log_files"], UNSOUND["a byte nobody accounts for"][1])})
    lost = Outcome("7", has_new_input=True, audit=unaccounted, clusters=("c",))
    assert "max_reject_percent" not in refusal_text(lost)


def with_types(rows: str) -> str:
    """Rows of events, each of the type `t` and the logger `l`."""
    return "\n".join(f"{row} | t | l" for row in rows.splitlines())


def failure(*clusters: str | None) -> Failure:
    return Failure("elections.keys_known", "none of topic is null", len(clusters), ("{}",), clusters)


OUTCOMES: dict[str, tuple[tuple[str, ...], list[Failure], tuple[str, ...], bool]] = {
    # clusters of the run, failures -> clusters that are refused, whether the run is published
    "nothing fails": (("eu", "us"), [], (), True),
    "one of two": (("eu", "us"), [failure("us"), failure("us")], ("us",), True),
    "the only one": (("us",), [failure("us")], ("us",), False),
    "both, for different reasons": (("eu", "us"), [failure("us"), failure("eu")], ("eu", "us"), False),
    "one that the run did not touch": (("eu",), [failure("us")], ("us",), True),
    "rows of no cluster": (("eu", "us"), [failure(None)], ("eu", "us"), False),
}


@pytest.mark.parametrize("case", OUTCOMES)
def test_a_run_is_published_if_the_gate_lets_a_cluster_pass(case: str) -> None:
    clusters, failures, refused, published = OUTCOMES[case]
    outcome = Outcome("1", has_new_input=True, audit=Audit({}, {}, tuple(failures)), clusters=clusters)
    assert (outcome.refused, outcome.published) == (refused, published)
    assert Outcome("1", has_new_input=False, audit=None).published


def test_failures_name_the_clusters_of_the_rows(frame: Frame) -> None:
    """Rows of other clusters count for the table only."""
    result = audit(
        {
            "elections": frame(
                BY_NAME["elections"],
                """cluster | topic | partition | incarnation | at | leader | leader_epoch | succeeded | evidence
                us | t | 0 | 0 | 10:00:00 |   | 1 | true | 1@f:1
                us | t | 0 | 0 | 10:00:01 | 2 | 2 | true | 1@f:2
                eu | t | 0 | 0 | 10:00:00 | 1 | 1 | true | 1@f:3""",
            )
        }
    )
    [only] = result.failures
    assert (only.name, only.clusters, only.rows) == ("elections.leader_if_succeeded", ("us",), 1)
    assert result.rows_by_cluster == {"elections": {"us": 2, "eu": 1}}
    words = refusal_text(Outcome("7", has_new_input=True, audit=result, clusters=("eu", "us")))
    assert words.splitlines()[0] == (
        "The data gate refused cluster us; its rows are those of the last run that passed. "
        "All else of run 7 is published."
    )
    assert "1 row violates it (us), such as" in words


def test_the_gate_works_where_the_main_module_has_no_file() -> None:
    """As in `python -c`, and in hosts that run Python by themselves: PySpark would end the process there, with 0."""
    program = "from jobs.warehouse.gate import _library; print(_library().__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == ["great_expectations"]
