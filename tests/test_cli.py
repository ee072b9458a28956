"""The command line: what goes wrong ends in one sentence and an exit code, and nothing is written."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import MagicMock

import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner, Result

from jobs import session as session_module
from jobs.cli import main
from jobs.exits import BAD_INPUT, DONE, FAILED
from jobs.java import check_java
from jobs.warehouse.lock import sole_writer
from udfs.errors import NoJava

if TYPE_CHECKING:
    from tests.conftest import Run

ROOT = Path(__file__).resolve().parents[1]
LINE = "[2026-11-21 10:00:00,000] INFO [Controller id=1] Resigned (kafka.controller.KafkaController)\n"


def command(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def refused(result: Result, *words: str, code: int = BAD_INPUT) -> None:
    """An exit code, and one sentence on standard error that holds these words."""
    assert result.exit_code == code
    assert result.stdout == ""
    lines = [line for line in result.stderr.splitlines() if line != "starting Spark ..."]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("kafka-rewind: ")
    for word in words:
        assert word in lines[0]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder with one log."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "controller.log").write_text(LINE)
    return folder


@pytest.mark.usefixtures("no_jvm")
class TestWithoutSpark:
    """Bad usage and bad paths are said before Spark starts."""

    @pytest.mark.parametrize(
        "arguments",
        [("nightly", ""), ("nightly", "logs", "--warehouse", ""), ("nightly", "logs", "--conf", " "), ("merge", "")],
        ids=str,
    )
    def test_a_path_without_a_name(self, arguments: tuple[str, ...]) -> None:
        """As of a variable that is not set; it would mean the current folder."""
        refused(command(*arguments), "the path is empty")

    def test_an_option_is_proposed_only_if_it_is_spelt_alike(self) -> None:
        refused(command("availability", "--since", "12:00"), "No such option '--since'; see `")
        refused(command("outages", "--sincee", "12:00"), "No such option '--sincee'; did you mean --since? See `")

    @pytest.mark.parametrize("form", ["text", "json"])
    def test_a_monitor_reads_on_standard_output_that_its_command_is_wrong(self, form: str) -> None:
        result = command("check", "--nosuch", "--format", form)
        assert (result.exit_code, result.stderr) == (3, "")
        line = json.loads(result.stdout)["error"] if form == "json" else result.stdout
        assert line.removeprefix("UNKNOWN: ").startswith("No such option '--nosuch'; see `")

    def test_missing_folder(self, tmp_path: Path) -> None:
        result = command("nightly", str(tmp_path / "none"), "--warehouse", str(tmp_path / "w"))
        refused(result, "file or folder does not exist", str(tmp_path / "none"), "give a log file")
        assert not (tmp_path / "w").exists()

    def test_pattern_that_matches_nothing(self, tmp_path: Path) -> None:
        result = command("nightly", str(tmp_path / "*.log"), "--warehouse", str(tmp_path / "w"))
        refused(result, "pattern matches no file", "*.log")

    def test_empty_folder(self, tmp_path: Path) -> None:
        (tmp_path / "logs").mkdir()
        result = command("nightly", str(tmp_path / "logs"), "--warehouse", str(tmp_path / "w"))
        refused(result, "This folder holds no files", "give the folder that Kafka's logs are in")
        assert not (tmp_path / "w").exists()

    def test_unreadable_file(self, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def denied(path: str, *_: int) -> None:
            raise PermissionError(13, "Permission denied", path)

        monkeypatch.setattr("udfs.logs.sources.os.open", denied)  # root may read what nobody may
        result = command("nightly", str(logs / "controller.log"), "--warehouse", str(tmp_path / "w"))
        refused(result, "This file cannot be read", "controller.log", "Permission denied", "check its permissions")
        assert not (tmp_path / "w").exists()

    def test_files_that_are_no_logs(self, tmp_path: Path) -> None:
        """Text, nothing, what is packed, what is no regular file: it is said by the file, before Spark starts."""
        folder = tmp_path / "notes"
        folder.mkdir()
        (folder / "notes.txt").write_text("not a log\n" * 1000)
        no_log = "None of the 1 files is a Kafka log: no line of"
        for content in (b"not a log\n", b"", b"\0" * 5000, gzip.compress(b"not a log\n")):
            (tmp_path / "file").write_bytes(content)
            refused(command("nightly", str(tmp_path / "file"), "--warehouse", str(tmp_path / "w")), no_log, "file")
        refused(command("ingest", str(folder), "--warehouse", str(tmp_path / "w")), no_log, "notes.txt")
        os.mkfifo(folder / "pipe")
        refused(command("nightly", str(folder), "--warehouse", str(tmp_path / "w")), "no regular file", "pipe")
        assert not (tmp_path / "w").exists()

    def test_logs_that_begin_late(self, tmp_path: Path) -> None:
        """Behind more than is looked at first; where Spark would start is what `no_jvm` complains about."""
        (tmp_path / "console.txt").write_text("booting\n" * 200_000 + LINE)
        result = command("nightly", str(tmp_path / "console.txt"), "--warehouse", str(tmp_path / "w"))
        assert "Kafka log" not in result.stderr
        assert "starting Spark ..." in result.stderr

    def test_broken_archive(self, logs: Path, tmp_path: Path) -> None:
        (logs / "server.log.gz").write_bytes(gzip.compress(LINE.encode() * 100)[:12])
        result = command("nightly", str(logs / "server.log.gz"), "--warehouse", str(tmp_path / "w"))
        refused(result, f"This file cannot be read: {logs / 'server.log.gz'}")
        assert not (tmp_path / "w").exists()

    def test_a_cluster_without_a_name_that_can_be_shown(self, logs: Path, tmp_path: Path) -> None:
        for name in ("", "  "):  # as of a shell's variable that is not set
            result = command("nightly", str(logs), "--warehouse", str(tmp_path / "w"), "--cluster", name)
            refused(result, "--cluster has no name", "leave it out")
        result = command("nightly", str(logs), "--warehouse", str(tmp_path / "w"), "--cluster", "pay\n\x1b[31m")
        refused(result, r"--cluster is 'pay\n\x1b[31m'", "give a name without line breaks")
        assert not (tmp_path / "w").exists()

    def test_no_regular_file(self, logs: Path, tmp_path: Path) -> None:
        os.mkfifo(logs / "pipe")
        refused(command("nightly", str(logs / "pipe"), "--warehouse", str(tmp_path / "w")), "no regular file", "pipe")

    def test_link_to_nowhere(self, logs: Path, tmp_path: Path) -> None:
        (logs / "link.log").symlink_to(tmp_path / "none")
        refused(command("ingest", str(logs / "link.log"), "--warehouse", str(tmp_path / "w")), "link.log")

    def test_somebody_else_is_writing(self, logs: Path, tmp_path: Path) -> None:
        with sole_writer(str(tmp_path / "w"), wait=True, say=lambda _: None):
            result = command("nightly", str(logs), "--warehouse", str(tmp_path / "w"), "--no-wait")
        refused(
            result,
            f"Another run (process {os.getpid()}, since ",
            "is writing to this warehouse",
            "run again",
            code=FAILED,
        )
        assert not (tmp_path / "w").exists()

    def test_a_step_without_a_warehouse(self, tmp_path: Path) -> None:
        for arguments in (("timelines",), ("detect",), ("replay",), ("ingest", "--reparse-rejects")):
            refused(command(*arguments, "--warehouse", str(tmp_path / "w")), "There is no warehouse in", "nightly LOGS")
        assert not (tmp_path / "w").exists()
        for arguments in (("timelines",), ("sql", "SELECT 1")):  # a folder, and nothing in it
            refused(command(*arguments, "--warehouse", str(tmp_path)), "There is no warehouse in", "nightly LOGS")
        assert list(tmp_path.iterdir()) == []

    def test_warehouse_that_is_a_file(self, logs: Path, tmp_path: Path) -> None:
        (tmp_path / "w").write_text("mine")
        refused(command("nightly", str(logs), "--warehouse", str(tmp_path / "w")), "The warehouse path is a file")
        refused(command("sql", "SELECT 1", "--warehouse", str(tmp_path / "w")), "The warehouse path is a file")
        assert (tmp_path / "w").read_text() == "mine"

    def test_a_file_of_a_name_such_as_a_schema_has(
        self, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "README.md").write_text("mine")
        for arguments in (("nightly", str(logs)), ("sql", "SELECT 1")):
            refused(command(*arguments, "--warehouse", "README.md"), "The warehouse path is a file: README.md")

    def test_logs_where_a_warehouse_belongs(self, tmp_path: Path) -> None:
        (tmp_path / "logs" / "broker-1").mkdir(parents=True)
        (tmp_path / "logs" / "broker-1" / "server.log.2026-11-21-10").write_text("")
        for arguments in (("loss",), ("timelines",)):
            result = command(*arguments, "--warehouse", str(tmp_path / "logs"))
            refused(result, "no warehouse in", "logs, but logs: run `kafka-rewind nightly", "with another folder")

    def test_no_warehouse_to_read(self, tmp_path: Path) -> None:
        for arguments in (("sql", "SELECT 1"), ("export", "elections")):
            refused(
                command(*arguments, "--warehouse", str(tmp_path / "w")),
                "There is no warehouse in",
                "kafka-rewind nightly LOGS",
            )

    def test_bad_settings(self, logs: Path, tmp_path: Path) -> None:
        conf = tmp_path / "conf.yaml"
        conf.write_text("churn_flap: 3")
        result = command("nightly", str(logs), "--warehouse", str(tmp_path / "w"), "--conf", str(conf))
        refused(result, "unknown keys: churn_flap")
        refused(command("nightly", str(logs), "--conf", str(tmp_path / "none.yaml")), "cannot be read")
        assert not (tmp_path / "w").exists()

    def test_export_that_cannot_be(self, tmp_path: Path) -> None:
        (tmp_path / "w").mkdir()
        at = ("--warehouse", str(tmp_path / "w"))
        refused(command("export", "election", *at), "There is no table election", "elections")
        refused(command("export", "elections", "--format", "parquet", *at), "--output")
        refused(command("export", "elections", "--output", str(tmp_path), *at), "The output is a folder")
        refused(command("export", "elections", "--output", str(tmp_path / "none" / "f"), *at), "folder does not exist")

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["nightly", "logs", "--no-such-option"], "No such option '--no-such-option'"),
            (["nightly"], "Missing argument 'LOGS"),
            (["ingest"], "Missing argument 'LOGS"),
            (["timelines", "logs"], "unexpected extra argument (logs)"),
            (["elect"], "Missing argument '{preferred|unclean}', one of preferred, unclean; see `"),
            (["nightl", "logs"], "No such command 'nightl'"),
            (["export", "elections", "--format", "xml"], "'xml' is not one of 'table', 'csv', 'json'"),
            (["sql", "SELECT 1", "--limit", "ten"], "'ten' is not a valid integer"),
        ],
    )
    def test_bad_usage(self, arguments: list[str], says: str) -> None:
        result = command(*arguments)
        assert result.exit_code == 2
        assert says in result.stderr
        assert len(result.stderr.splitlines()) == 1

    def test_debug_shows_the_trace(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KAFKA_REWIND_DEBUG", "")
        result = command("--debug", "nightly", str(tmp_path / "none"))
        assert result.exit_code == 2
        assert "Traceback" in result.stderr
        assert "kafka-rewind: This file or folder does not exist" in result.stderr

    def test_a_bug_is_one_sentence_too(self, logs: Path, tmp_path: Path) -> None:
        """Here the fixture's own error stands for it."""
        result = command("nightly", str(logs), "--warehouse", str(tmp_path / "w"))
        refused(
            result, "This is a bug in Kafka Rewind: AssertionError Spark was started; please run it with", code=FAILED
        )

    def test_an_interrupt(self, logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupt(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("jobs.read.query.run_query", interrupt)
        result = command("sql", "SELECT 1", "--warehouse", str(logs))
        assert (result.exit_code, result.stderr.splitlines()[-1]) == (130, "kafka-rewind: Interrupted.")


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.22"])
def test_an_old_java_is_said(version: str, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`java` is whatever JAVA_HOME says."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(NoJava, match="Kafka Rewind needs Java 17 or later"):
        check_java()
    java.write_text("#!/bin/sh\necho 'openjdk version \"21.0.2\"' >&2\n")
    check_java()
    java.unlink()
    with pytest.raises(NoJava):
        check_java()


class TestExpectedBytes:
    """How large logs are is guessed before there is a JVM."""

    def test_packed_files_count_ten_times(self, tmp_path: Path) -> None:
        for name in ("server.log", "server.log.1.gz", "bundle.tgz", "part-0.snappy.parquet"):
            (tmp_path / name).write_bytes(bytes(7))
        assert session_module.expected_bytes(sorted(tmp_path.iterdir())) == 7 + 3 * 70

    def test_what_is_gone_counts_nothing(self, tmp_path: Path) -> None:
        assert session_module.expected_bytes([tmp_path / "gone.log"]) == 0

    @pytest.mark.parametrize(("size", "first_alone"), [(0, True), ((256 << 20) - 1, True), (256 << 20, False)])
    def test_only_large_logs_are_worth_the_second_compiler(self, size: int, first_alone: bool) -> None:
        assert ("-XX:TieredStopAtLevel=1" in session_module.java_options(size)) is first_alone

    @pytest.mark.parametrize(
        ("size", "compiled", "parts", "many"),
        [(0, "false", "1", "false"), (64 << 20, "true", "2", "false"), (1 << 30, "true", "16", "true")],
    )
    def test_a_session_of_our_own_is_fitted_to_it(
        self, size: int, compiled: str, parts: str, many: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        spark = MagicMock()
        spark.conf.get.return_value = "true"
        spark.sparkContext.defaultParallelism = 2
        monkeypatch.setattr(session_module, "check_java", lambda: None)
        monkeypatch.setattr(session_module, "_start_quietly", lambda builder: spark)
        monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)
        monkeypatch.setattr("jobs.java_classes.know_classes", lambda jvm: None)
        with session_module.session(size_bytes=size):
            options = dict(call.args for call in spark.conf.set.call_args_list)
        assert options[session_module.MANY] == many
        assert (options["spark.sql.codegen.wholeStage"], options["spark.sql.shuffle.partitions"]) == (compiled, parts)
        # one task's rows stay in one partition
        assert ("spark.sql.maxSinglePartitionBytes" in options) is (parts == "1")


# ---- as a process ----------------------------------------------------------------------------------------------------
def process(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A shell's line with nothing in its environment but these variables, and what it needs to find programs."""
    needed = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ}
    line = command.replace("kafka-rewind", f"{sys.executable} -m jobs.cli", 1)
    return subprocess.run(
        ["bash", "-c", line],
        cwd=ROOT,
        env={**needed, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


FULL = "kafka-rewind: The output cannot be written (No space left on device); what was printed is not all.\n"
STREAMS = {  # a shell's line -> exit code, what is on standard error
    "kafka-rewind --help > /dev/full": (FAILED, FULL),
    "kafka-rewind nightly --help > /dev/full": (FAILED, FULL),
    "kafka-rewind --help 2> /dev/full": (DONE, ""),
    "kafka-rewind --help | true; exit ${PIPESTATUS[0]}": (DONE, ""),
    "kafka-rewind nightl 2> /dev/full": (BAD_INPUT, ""),
    "kafka-rewind nightly /nowhere 2> /dev/full": (BAD_INPUT, ""),
    "kafka-rewind nightly /nowhere 2>&-": (BAD_INPUT, ""),
    "kafka-rewind 2> /dev/full": (BAD_INPUT, ""),
    "kafka-rewind sql 'SELECT 1' >&-": (FAILED, "kafka-rewind: Standard output is closed; nothing was read.\n"),
    "kafka-rewind export runs >&-": (FAILED, "kafka-rewind: Standard output is closed; nothing was read.\n"),
}


@pytest.mark.parametrize("command", STREAMS)
def test_output_that_cannot_be_written(command: str) -> None:
    ended = process(command, LANG="C.UTF-8")
    assert (ended.returncode, ended.stderr) == STREAMS[command]


@pytest.mark.parametrize("locale", [{"LANG": "C"}, {"LC_ALL": "POSIX"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}])
def test_errors_are_utf8_in_any_locale(locale: dict[str, str]) -> None:
    ended = process("kafka-rewind sql 'SELECT 1' --warehouse /nowhere/ü", **locale)
    assert ended.returncode == BAD_INPUT
    assert "There is no warehouse in /nowhere/" in ended.stderr
    assert "codec" not in ended.stderr


@pytest.mark.runs
@pytest.mark.parametrize("locale", [{"LANG": "C"}, {"LC_ALL": "C"}])
def test_tables_are_read_in_the_posix_locale(locale: dict[str, str], two_nights: Run, tmp_path: Path) -> None:
    """A warehouse whose path is not ASCII, a query with text that is not, to a pipe and to a full disk."""
    (tmp_path / "täbles").symlink_to(two_nights.warehouse.root)
    query = f"kafka-rewind sql \"SELECT 'éx' AS a, count(*) AS n FROM events\" --warehouse {tmp_path}/täbles"
    ended = process(query, **locale)
    assert (ended.returncode, ended.stdout, ended.stderr) == (DONE, "a   n\néx  12\n(1 row)\n", "")
    if "LANG" in locale:
        ended = process(f"{query} > /dev/full", **locale)
        assert (ended.returncode, ended.stderr) == (FAILED, FULL)


@pytest.mark.usefixtures("spark")
class TestWithSpark:
    """What only reading tells."""

    def test_a_query_that_fails_on_its_rows(self, two_nights: Run) -> None:
        at = ("--warehouse", two_nights.warehouse.root)
        refused(
            command("sql", "SELECT 1 / (line - line) FROM events", *at, "--engine", "spark"),
            "The query failed: [DIVIDE_BY_ZERO]",
        )
        refused(command("sql", "SELECT logger::INTEGER FROM events", *at), "The query failed: Could not convert string")


COMPLETIONS = {  # words so far -> what a shell completes
    "kafka-rewind nightly ": "file",
    "kafka-rewind merge ": "file",
    "kafka-rewind nightly --conf ": "file",
    "kafka-rewind nightly --warehouse ": "dir",
}


@pytest.mark.parametrize("words", COMPLETIONS)
def test_shells_complete_paths(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split())))
    completed = BashComplete(main, {}, "kafka-rewind", "_KAFKA_REWIND_COMPLETE").complete()
    assert completed.splitlines() == [f"{COMPLETIONS[words]},"]


@pytest.mark.parametrize("group", [(), ("reassign",)])
def test_help_cuts_no_command_short(group: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = command(*group, "--help").stdout
    assert text.count("Commands:") == 1
    assert "..." not in text.partition("Commands:")[2]
    assert max(map(len, text.splitlines())) <= 80
