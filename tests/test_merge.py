"""`kafka-rewind merge` on small logs: where they come from, what is kept, how it is printed, what is said."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import re
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from jobs.cli import main
from jobs.merge import inputs, reading

ROOT = Path(__file__).resolve().parents[1]
STATE = "(state.change.logger)"
ELECTED = (
    "[2026-11-21 10:00:01,000] TRACE [Controller id=1 epoch=4] Changed partition pay-in-0 from OfflinePartition to "
    f"OnlinePartition with state LeaderAndIsr(leader=2, leaderEpoch=7, isr=List(2, 3), zkVersion=9) {STATE}\n"
)
SENT = (
    "[2026-11-21 10:00:01,002] TRACE [Controller id=1 epoch=4] Changed state of replica 2 for partition pay-in-1 "
    f"from OnlineReplica to OfflineReplica {STATE}\n"
)
FAILED = (
    "[2026-11-21 10:00:01,004] ERROR [Controller id=1 epoch=4] Controller 1 epoch 4 failed to change state for "
    "partition"
    f" pay-in-0 from OfflinePartition to OnlinePartition {STATE}\n"
    "kafka.common.StateChangeFailedException: Failed to elect leader\n\tat "
    "kafka.controller.Elections.elect(Elections.scala:1)\n"
)
HANDLED = (
    "[2026-11-21 10:00:01,003] TRACE [Broker id=2] Handling LeaderAndIsr request correlationId 12 from controller 1 "
    f"epoch 4 starting the become-leader transition for partition pay-in-0 {STATE}\n"
)
SHRUNK = (
    "[2026-11-21 10:00:01,001] INFO [Partition orders-3 broker=2] Shrinking ISR from 2,1 to 2 "
    "(kafka.cluster.Partition)\n"
)
STARTED = "[2026-11-21 10:00:00,000] INFO [KafkaServer id=2] started (kafka.server.KafkaServer)\n"
CONTROLLER, BROKER = ELECTED + SENT + FAILED, STARTED + SHRUNK + HANDLED
MERGED = STARTED + ELECTED + SHRUNK + SENT + HANDLED + FAILED


@dataclass
class MergeOutput:
    code: int
    out: str
    err: str


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two nodes' logs, in the current folder."""
    for name, text in (("broker-1/state-change.log", CONTROLLER), ("broker-2/server.log", BROKER)):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def merge(*argv: str, stdin: bytes = b"") -> MergeOutput:
    result = CliRunner().invoke(main, ["merge", *argv], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return MergeOutput(result.exit_code, result.stdout_bytes.decode("utf-8", "surrogateescape"), result.stderr)


# ---- where logs come from --------------------------------------------------------------------------------------------
def test_files_folders_and_globs_are_one_history(logs: Path) -> None:
    assert merge("broker-1/state-change.log", "broker-2/server.log").out == MERGED
    assert merge(".").out == MERGED
    assert merge("broker-*/*.log").out == MERGED


def test_of_one_time_and_rank_the_node_decides_then_the_name(tmp_path: Path) -> None:
    """Nodes by their numbers, those that nobody knows last; names as texts."""
    names = ["z/broker-2/b.log", "z/broker-2/c.log", "y/broker-9/a.log", "x/broker-10/a.log", "a/some.log"]
    for name in names[::-1]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"[2026-11-21 10:00:00,000] INFO {name} (kafka.server.KafkaServer)\n")
    assert re.findall(r"INFO (\S+)", merge(str(tmp_path)).out) == names


PACKED: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("kind", PACKED)
def test_a_compressed_file_is_read_and_with_its_twin_once(kind: str, logs: Path) -> None:
    packed = Path(f"broker-1/state-change.log.{kind}")
    packed.write_bytes(PACKED[kind](CONTROLLER.encode()))
    both = merge(".")
    assert (both.code, both.out) == (0, MERGED)
    assert "same content" in both.err
    assert merge(".", "--keep-duplicates").out.count("pay-in-1") == 2
    Path("broker-1/state-change.log").unlink()
    assert merge(".").out == MERGED


def test_an_older_copy_of_a_file_that_grew_is_not_read_twice(logs: Path) -> None:
    Path("broker-1/copy.log").write_text(ELECTED + SENT)
    assert merge(".").out == MERGED


def test_bundles_are_read_member_by_member(logs: Path) -> None:
    with tarfile.open("a.tar.gz", "w:gz") as tar:
        tar.add("broker-1")
    with zipfile.ZipFile("b.zip", "w") as archive:
        archive.write("broker-2/server.log")
    assert merge("a.tar.gz", "b.zip").out == MERGED
    assert merge("a.tar.gz", "broker-1", "broker-2", "b.zip").out == MERGED  # what is in them was given already
    assert merge("a.tar.gz", "b.zip", "--topic", "pay-in", "--partitions", "0").out == ELECTED + HANDLED + FAILED


def test_a_member_that_only_begins_like_a_given_file_is_read(logs: Path) -> None:
    """More of it than is compared at first is the same."""
    text = SHRUNK * 200
    Path("broker-2/server.log").write_text(text + STARTED)
    with zipfile.ZipFile("b.zip", "w") as archive:
        archive.writestr("broker-2/server.log", text + HANDLED)
    assert merge("broker-2", "b.zip", "--count").out == f"{2 * 200 + 2}\n"
    with zipfile.ZipFile("b.zip", "w") as archive:
        archive.writestr("broker-2/server.log", text)
    assert merge("broker-2", "b.zip", "--count").out == "201\n"


@pytest.mark.parametrize("nuls", [1000, 256 << 10, 300_001, 800_000])
def test_a_log_behind_a_hole_is_read(nuls: int, logs: Path) -> None:
    """`copytruncate` empties a log while its writer goes on where it was; the hole stays in front of a record."""
    with_hole = bytes(nuls) + BROKER.encode()
    Path("broker-2/server.log").write_bytes(with_hole)
    assert merge("broker-2").out == "\0" * nuls + BROKER
    assert merge("-", "--topic", "pay-in", stdin=with_hole).out == HANDLED
    with tarfile.open("a.tar.gz", "w:gz") as tar:
        tar.add("broker-2")
    assert merge("a.tar.gz", "broker-1").out.replace("\0", "") == MERGED


def test_standard_input_is_read_plain_or_compressed(logs: Path) -> None:
    assert merge("-", "broker-1", stdin=BROKER.encode()).out == MERGED
    assert merge("broker-1", "-", stdin=gzip.compress(BROKER.encode())).out == MERGED


WRAPPED: dict[str, Callable[[str], str]] = {  # form -> how it writes a line
    "CR LF": lambda line: line + "\r",
    "compose": lambda line: f"kafka-2  | {line}",
    "Kubernetes": lambda line: f"2026-11-21T10:00:02.000000001Z stdout F {line}",
    "grep -H": lambda line: f"broker-2/server.log:{line}",
    "syslog": lambda line: f"Nov 21 10:00:02 kafka-02 kafka-server-start.sh[155]: {line}",
}


@pytest.mark.parametrize("form", WRAPPED)
def test_wrapped_lines_are_understood_and_come_out_as_they_went_in(form: str, logs: Path) -> None:
    wrapped = [WRAPPED[form](line) + "\n" for line in (BROKER + FAILED).splitlines()]
    Path("broker-2/server.log").write_bytes("".join(wrapped).encode())
    assert merge("broker-2").out == "".join(wrapped)
    assert merge("broker-2", "--topic", "orders").out == wrapped[1]
    assert merge("broker-2", "--event", "become_leader_started").out == wrapped[2]
    assert merge("broker-2", "--level", "ERROR").out == "".join(wrapped[3:])


def test_utf_16_comes_out_as_utf_8(logs: Path) -> None:
    Path("broker-2/server.log").write_bytes(BROKER.encode("utf-16"))
    assert merge(".").out == MERGED


def test_lines_of_several_containers_are_told_apart(logs: Path) -> None:
    """A stack trace between whose lines another container's stand belongs to its own record."""
    first, *trace = FAILED.splitlines()
    mixed = [f"kafka-1  | {first}", f"kafka-2  | {SHRUNK.strip()}", *(f"kafka-1  | {line}" for line in trace)]
    Path("broker-2/server.log").write_text("\n".join(mixed) + "\n")
    ended = merge("broker-2").out
    assert ended.splitlines()[0] == mixed[1]
    assert ended.splitlines()[1:] == FAILED.splitlines()


def test_bytes_that_are_no_text_pass_untouched(logs: Path) -> None:
    odd = SHRUNK.encode().replace(b"orders", b"caf\xe9 \x00 orders")
    Path("broker-2/server.log").write_bytes(odd)
    assert merge("broker-2").out.encode("utf-8", "surrogateescape") == odd


# ---- what cannot be read ---------------------------------------------------------------------------------------------
def _binary(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 40)


def _hole(path: Path) -> None:
    path.write_bytes(bytes(600_000))


def _rar(path: Path) -> None:
    path.write_bytes(b"Rar!\x1a\x07\x00")


def _cut_gz(path: Path) -> None:
    path.write_bytes(gzip.compress((STARTED + SHRUNK).encode() * 500)[:-20])


TROUBLES: dict[str, Callable[[Path], None]] = {
    "binary.log": _binary,
    "cut.gz": _cut_gz,
    "hole.log": _hole,
    "link-to-nothing.log": lambda path: path.symlink_to("nowhere"),
    "rar.log": _rar,
}


@pytest.mark.parametrize("name", TROUBLES)
def test_the_others_are_merged_and_the_exit_code_says_it(name: str, logs: Path) -> None:
    TROUBLES[name](logs / "broker-1" / name)
    ended = merge(".", "--topic", "pay-in")
    assert ended.code == 2
    assert ended.out == merge("broker-1/state-change.log", "broker-2/server.log", "--topic", "pay-in").out
    assert [line for line in ended.err.splitlines() if name in line] != []


def test_a_text_without_a_record_can_be_read(logs: Path) -> None:
    """As a garbage collector's log, which lies beside Kafka's: nothing of it is merged, and nothing is wrong."""
    (logs / "broker-1" / "gc.log").write_text("[0.5s][info][gc] Pause Young 3M\n")
    ended = merge(".")
    assert (ended.code, ended.out) == (0, MERGED)
    assert f"There is no log record in {logs}/broker-1/gc.log; nothing of it is merged." in ended.err


def test_a_warehouse_is_no_folder_without_files(logs: Path) -> None:
    (logs / "warehouse" / "events" / "_delta_log").mkdir(parents=True)
    ended = merge("warehouse")
    assert (ended.code, ended.out) == (2, "")
    assert "This is a warehouse, not logs: warehouse; give the folder that Kafka's logs are in." in ended.err


def test_what_can_be_read_of_a_damaged_file_is_merged(logs: Path) -> None:
    _cut_gz(logs / "cut.gz")
    assert merge("cut.gz", "--count").out.strip() not in ("0", "1000")


def test_a_missing_file_is_said(logs: Path) -> None:
    plain = merge(".", "nope.log")
    assert (plain.code, plain.out) == (2, MERGED)
    assert "nope.log" in plain.err
    strict = merge("--logs", "broker-1/state-change.log,nope.log")
    assert (strict.code, strict.out) == (2, "")


def test_a_pipe_in_a_folder_is_not_waited_for(logs: Path) -> None:
    os.mkfifo(logs / "broker-1" / "pipe")
    done = merge("broker-1", "broker-2/server.log")
    assert (done.out, done.code) == (MERGED, 2)
    assert f"This is no regular file: {logs}/broker-1/pipe; give log files or folders of them." in done.err


def test_a_name_that_is_no_text_is_read_and_printed(logs: Path) -> None:
    """In a folder, which names it escaped, and given by itself."""
    name = os.fsdecode(b"broker-2/ser\xffver.log")
    os.rename("broker-2/server.log", name)
    for argument in ("broker-2", name):
        ended = merge(argument, "--format", "jsonl", "--limit", "1")
        assert (ended.code, json.loads(ended.out)["file"][-20:]) == (0, r"broker-2/ser\xffver.log"[-20:])


def test_a_file_of_a_few_compressed_bytes_is_damaged(logs: Path) -> None:
    Path("cut.gz").write_bytes(gzip.compress(CONTROLLER.encode())[:5])
    ended = merge("cut.gz", "broker-1")
    assert (ended.code, ended.out) == (2, CONTROLLER)
    assert "This file is damaged: cut.gz (it ends early)" in ended.err


def test_a_file_keeps_its_records_whatever_becomes_of_its_name(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs are rotated while they are read: another file of that name is not taken for the first one."""
    looked_up = reading.LogReader.wanted

    def rotated(self: reading.LogReader) -> object:
        streams = looked_up(self)
        os.rename("broker-1/state-change.log", "broker-1/state-change.log.1")
        Path("broker-1/state-change.log").write_text(STARTED * 100)
        os.remove("broker-2/server.log")
        return streams

    monkeypatch.setattr(reading.LogReader, "wanted", rotated)
    assert merge("broker-1", "broker-2").out == MERGED


def test_another_file_of_that_name_is_reported_where_too_few_can_be_held(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up = reading.LogReader.wanted

    def rotated(self: reading.LogReader) -> object:
        streams = looked_up(self)
        os.rename("broker-1/state-change.log", "broker-1/state-change.log.1")
        Path("broker-1/state-change.log").write_text(STARTED * 100)
        return streams

    monkeypatch.setattr(reading.LogReader, "wanted", rotated)
    monkeypatch.setattr(inputs.Inputs, "hold", lambda self, descriptor: None)
    ended = merge("broker-1", "broker-2")
    assert (ended.code, ended.out) == (2, BROKER)
    assert "broker-1/state-change.log (it was replaced while it was read)" in ended.err


def test_text_without_records_is_said_and_no_failure(logs: Path) -> None:
    Path("broker-1/notes.txt").write_text("call me\n")
    ended = merge(".")
    assert (ended.code, ended.out) == (0, MERGED)
    assert "notes.txt" in ended.err
    assert "8 bytes outside records" in ended.err


def test_more_files_than_a_process_may_open(logs: Path) -> None:
    """All of one time, each of more than one block."""
    for i in range(300):
        path = Path(f"many/broker-{i}.log")
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(SHRUNK.replace("orders", f"topic-{i}-{k}") for k in range(200)))
    command = f"ulimit -n 64; {sys.executable} -m jobs.cli merge many | sort | uniq -c | awk '$1 != 1' | wc -l"
    ended = process("bash", "-c", command, cwd=logs)
    assert (ended.stdout.decode().strip(), "60,000 matched" in ended.stderr.decode()) == ("0", True)


# ---- filters ---------------------------------------------------------------------------------------------------------
FILTERS = {
    "--topic pay-in": ELECTED + SENT + HANDLED + FAILED,
    "--topic pay-in --partitions 1": SENT,
    "--topic pay": "",
    "--topic pay-in-0": "",
    "--broker 2": STARTED + SHRUNK + HANDLED,
    "--controller-epoch 4": ELECTED + SENT + HANDLED + FAILED,
    "--leader-epoch 7": ELECTED,
    "--correlation-id 12": HANDLED,
    "--correlation-id 1": "",
    "--event become_leader_started": HANDLED,
    "--level ERROR": FAILED,
    "--level INFO+": STARTED + SHRUNK + FAILED,
    "--grep Elections.scala:1": FAILED,
    "--only partition": SHRUNK,
    "--only state-change": ELECTED + SENT + HANDLED + FAILED,
    "--since 10:00:01,003": HANDLED + FAILED,
    "--until 2026-11-21T10:00:01": STARTED + ELECTED,
    "--since -2s --until 10:00:01,001": STARTED + ELECTED + SHRUNK,
    "--around 10:00:01,002 --within 1ms": SHRUNK + SENT + HANDLED,
    "--since 2026-11-21T11:00:01.003+01:00": HANDLED + FAILED,
    "--limit 2": STARTED + ELECTED,
    "--limit 0": "",
    "--until 9999-12-31T23:59 --zone America/New_York --limit 1": STARTED,
    "--since 0001-01-01 --zone Europe/Berlin --limit 1": STARTED,
    "--since -99999999d --limit 1": STARTED,
}


@pytest.mark.parametrize("argv", FILTERS)
def test_a_filter(argv: str, logs: Path) -> None:
    ended = merge(".", *argv.split())
    assert (ended.code, ended.out) == (0, FILTERS[argv]), ended.err
    assert ("Nothing matched" in ended.err) == (FILTERS[argv] == "" and argv != "--limit 0")


@pytest.mark.parametrize("events", ["partition_state_change", "isr_shrinking,metadata_cache_updated"])
def test_a_text_that_an_event_must_have_is_looked_for_first(events: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The output does not depend on it."""
    from udfs.merge import filters as merge_filters

    outputs = []
    for many in (0, 10**9):
        monkeypatch.setattr(merge_filters, "RULES_PAY_FROM", many)
        outputs.append(merge(str(ROOT / "data" / "zk-2.4.1" / "logs"), "--event", events).out)
    assert outputs[0] == outputs[1] != ""


def test_filters_combine(logs: Path) -> None:
    assert merge(".", "--topic", "pay-in", "--level", "TRACE", "--broker", "2").out == HANDLED


REFUSED = {
    "--event become_leeder_started": "become_leader_started",
    "--level LOUD": "WARN",
    "--only everything": "state-change",
    "--grep (": "regular expression",
    "--around 10:00 --since 09:00": "--around",
    "--around 10:00 --within soon": "--within 'soon'",
    "--zone Mars/Olympus": "IANA",
    "--skew nowhere.yaml": "nowhere.yaml",
    "--limit -1": "--limit",
    "--limit ten": "--limit",
    "--topic \udcff": "topic's name",
    "--skew far.txt": "more than a year",
    "--skew broker-1": "Is a directory",
    "--skew binary.txt": "it is no text",
    "--skew twice.txt": "has node 2 twice",
    "--skew none.txt": "names no node",
    "--skew=": "cannot be read",
    "--zone=": "IANA",
    "--conf nowhere.yaml": "nowhere.yaml",
}


@pytest.mark.parametrize("argv", REFUSED)
def test_a_wrong_argument_is_one_sentence(argv: str, logs: Path) -> None:
    Path("far.txt").write_text("1: 99999999999999999999\n")
    Path("binary.txt").write_bytes(bytes(range(128, 256)))
    Path("twice.txt").write_text("2: 5\n2: 7\n")
    Path("none.txt").write_text("# nothing yet\n")
    ended = merge(".", *argv.split())
    assert (ended.code, ended.out) == (2, "")
    assert REFUSED[argv] in ended.err
    assert len(ended.err.splitlines()) == 1


# ---- clocks ----------------------------------------------------------------------------------------------------------
def test_zones_by_node_bring_records_together(logs: Path) -> None:
    Path("broker-2/server.log").write_text(BROKER.replace("21 10:", "21 11:"))
    Path("conf.yaml").write_text("node_time_zones: {2: Europe/Berlin}\n")
    assert merge(".", "--conf", "conf.yaml").out == MERGED.replace(BROKER, "").replace(
        STARTED, STARTED.replace("21 10:", "21 11:")
    ).replace(SHRUNK, SHRUNK.replace("21 10:", "21 11:")).replace(HANDLED, HANDLED.replace("21 10:", "21 11:"))


def test_times_are_meant_as_the_logs_have_them(logs: Path) -> None:
    """With a zone for all, and in the hour that New York's clocks skip, as without one."""
    zoned = merge(".", "--zone", "Europe/Berlin", "--since", "10:00:01,003")
    assert zoned.out == HANDLED + FAILED
    assert merge(".", "--zone", "Europe/Berlin", "--utc", "--since", "2026-11-21 09:00:01,003").out == HANDLED + FAILED


def test_known_skews_correct_the_order_but_not_the_bytes(logs: Path) -> None:
    Path("skew.yaml").write_text("# ms ahead\n2: 500\n")
    corrected = STARTED + SHRUNK + HANDLED + ELECTED + SENT + FAILED
    assert merge("broker-1", "broker-2", "--skew", "skew.yaml").out == corrected
    Path("skew.csv").write_bytes(b"\xef\xbb\xbfnode,ms\r\n2,500\r\n7,1\r\n8,-2.5\r\n")  # as a spreadsheet writes it
    ended = merge("broker-1", "broker-2", "--skew", "skew.csv")
    assert ended.out == corrected
    assert "No log was written by node 7, 8, which --skew names." in ended.err


# ---- how it is printed -----------------------------------------------------------------------------------------------
def test_jsonl_has_what_the_rules_read(logs: Path) -> None:
    rows = [json.loads(line) for line in merge(".", "--format", "jsonl").out.splitlines()]
    assert [row["line"] for row in rows] == [1, 1, 2, 2, 3, 3]
    elected, failed = rows[1], rows[5]
    assert elected["at"] == "2026-11-21T10:00:01.000Z"
    assert (elected["node"], elected["topic"], elected["partition"]) == (1, "pay-in", 0)
    assert (elected["leader"], elected["leader_epoch"], elected["isr"], elected["partition_epoch"]) == (2, 7, [2, 3], 9)
    assert failed["detail"].startswith("kafka.common.StateChangeFailedException")


def test_csv_has_a_row_for_each_record(logs: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(merge(".", "--format", "csv").out)))
    assert len(rows) == 6
    assert (rows[1]["topic"], rows[1]["isr"], rows[2]["event_type"]) == ("pay-in", "[2, 3]", "isr_shrinking")


def test_short_is_one_aligned_line_each(logs: Path) -> None:
    lines = merge(".", "--format", "short").out.splitlines()
    assert len(lines) == 6
    assert lines[1].split() == [
        "2026-11-21", "10:00:01,000", "1", "ctrl", "1/4", "pay-in-0", "partition_state_change",
        "from_state=OfflinePartition", "to_state=OnlinePartition", "leader=2", "leader_epoch=7", "isr=2,3",
        "partition_epoch=9",
    ]  # fmt: skip
    assert len({line.index(line.split()[3]) for line in lines}) == 1


def test_node_begins_each_line(logs: Path) -> None:
    lines = merge(".", "--node", "--level", "ERROR").out.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("node-1 | ") for line in lines)
    assert merge(".", "--count").out == "6\n"


def test_colours_are_for_terminals_only(logs: Path) -> None:
    from jobs.merge.request import Options
    from jobs.merge.run import merge as run

    plain, coloured = io.BytesIO(), io.BytesIO()
    run(Options(paths=(".",)), plain, lambda text: None)
    run(Options(paths=(".",)), coloured, lambda text: None, is_terminal=True)
    assert b"\x1b" not in plain.getvalue()
    assert b"\x1b[31m[2026-11-21 10:00:01,004] ERROR" in coloured.getvalue()


STEERING = {  # in a log -> on a terminal
    b"\x1b]0;title\x07": b"\\x1b]0;title\\x07",
    b"\x1b]8;;http://x\x1b\\": b"\\x1b]8;;http://x\\x1b\\",
    b"a\rb": b"a\\rb",
    b"a\tb": b"a\tb",
    "\x9b2J café".encode(): "\\x9b2J café".encode(),
    b"\x9b2J caf\xe9": b"\\x9b2J caf\\xe9",
    "\u202egol".encode(): b"\\u202egol",
    b"\x00\x08\x7f": b"\\x00\\x08\\x7f",
}


@pytest.mark.parametrize("form", ["raw", "short", "jsonl", "csv"])
@pytest.mark.parametrize("text", STEERING)
def test_what_would_steer_a_terminal_is_spelt_out(text: bytes, form: str, logs: Path) -> None:
    """Files and pipes get the bytes as they are."""
    from jobs.merge.request import Options
    from jobs.merge.run import merge as run

    Path("broker-2/server.log").write_bytes(SHRUNK.encode().replace(b"Shrinking", text) + HANDLED.encode())
    piped, shown = io.BytesIO(), io.BytesIO()
    run(Options(paths=("broker-2",), form=form), piped, lambda sentence: None)
    run(Options(paths=("broker-2",), form=form), shown, lambda sentence: None, is_terminal=True)
    if form == "raw":
        assert text in piped.getvalue()
        assert STEERING[text] in shown.getvalue()
    lines = shown.getvalue().decode().replace("\x1b[2m", "").replace("\x1b[0m", "").split("\n")
    assert [line for line in lines if not line.replace("\t", "").isprintable()] == []


def test_a_name_that_would_steer_a_terminal_is_spelt_out(logs: Path) -> None:
    os.rename("broker-2/server.log", "broker-2/a\x1b[2J\nb.log")
    for argv in (["broker-2", "--verbose"], ["--logs-regex", "broker-2/a"], ["--logs", "no\x1bne"]):
        assert merge(*argv).err.replace("\n", "").isprintable()


def test_a_missing_last_line_end_is_added(logs: Path) -> None:
    Path("broker-1/state-change.log").write_text(CONTROLLER.removesuffix("\n"))
    Path("broker-2/server.log").write_text(BROKER.removesuffix("\n"))
    assert merge(".").out == MERGED


def test_the_summary_counts_everything(logs: Path) -> None:
    Path("broker-2/server.log").write_text("no record yet\n" + BROKER)
    ended = merge(".", "--topic", "pay-in", "--verbose")
    *files, last = ended.err.splitlines()
    assert last == "kafka-rewind: 6 records read from 2 files, 4 matched, 14 bytes outside records"
    assert [", node 1, 3 records read" in files[0], ", node 2, 3 records read" in files[1]] == [True, True]


# ---- as a process ----------------------------------------------------------------------------------------------------
def process(*argv: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(argv, cwd=cwd, env=env, capture_output=True, check=False)


def test_a_closed_pipe_ends_it_silently(logs: Path) -> None:
    Path("big.log").write_text(BROKER * 20000)
    command = f"{sys.executable} -m jobs.cli merge big.log | head -n 1; echo ${{PIPESTATUS[0]}}"
    ended = process("bash", "-c", command, cwd=logs)
    assert ended.stdout.decode() == f"{STARTED}0\n"
    assert ended.stderr == b""


NOT_WRITTEN = "The output cannot be written (No space left on device)"
COMMANDS = {  # a shell's line -> exit code of merge, its output, what it says
    "merge . > /dev/full": (4, "", f"{NOT_WRITTEN}; what was printed is not all."),
    "merge . --count > /dev/full": (4, "", NOT_WRITTEN),
    "merge . --format csv > /dev/full": (4, "", NOT_WRITTEN),
    "merge . > /dev/full 2>&1": (4, "", ""),
    "merge . >&-": (4, "", "Standard output is closed; nothing was merged."),
    "merge . >&- 2>&-": (4, "", ""),
    "merge . | true; exit ${PIPESTATUS[0]}": (0, "", ""),
    "merge . 2>&-": (0, MERGED, ""),
    "merge . 2>/dev/full": (0, MERGED, ""),
    "merge . nope.log 2>/dev/full": (2, MERGED, ""),
    "merge . 2> >(exec true; sleep 0.1)": (0, MERGED, ""),
    "merge . --topic caf\xe9 2>/dev/full": (0, "", ""),
    "merge - broker-1 <&-": (2, CONTROLLER, "This file cannot be read: standard input (it is closed)"),
    "merge . --help | true; exit ${PIPESTATUS[0]}": (0, "", ""),
}


ENVIRONMENTS: dict[str, dict[str, str]] = {  # beside PATH and PYTHONPATH; Python's buffers and encoding depend on them
    "nothing": {},
    "LANG=C": {"LANG": "C"},
    "ASCII": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "UTF-8": {"LANG": "C.UTF-8"},
    "without buffers": {"PYTHONUNBUFFERED": "1"},
}


@pytest.mark.parametrize("environment", ENVIRONMENTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_output_and_input_that_fail_are_reported(command: str, environment: str, logs: Path) -> None:
    code, out, sentence = COMMANDS[command]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **ENVIRONMENTS[environment]}
    line = command.replace("merge", f"{sys.executable} -m jobs.cli merge", 1)
    ended = subprocess.run(["bash", "-c", line], cwd=logs, env=env, capture_output=True, check=False)
    assert (ended.returncode, ended.stdout.decode()) == (code, out)
    assert sentence in ended.stderr.decode()
    assert "Traceback" not in ended.stderr.decode()
    assert ended.stderr.decode().count("kafka-rewind: ") == len(ended.stderr.splitlines())


@pytest.mark.parametrize("command", ["merge - < big.log", "merge big.log big.log.gz --topic orders --keep-duplicates"])
def test_no_room_for_temporary_files_is_no_bad_input(command: str, logs: Path) -> None:
    """No file may be written any further; the output is a pipe."""
    Path("big.log").write_text(SHRUNK * 60_000)
    Path("big.log.gz").write_bytes(gzip.compress(b"", 1) + gzip.compress((SHRUNK * 60_000).encode(), 1))
    line = f"ulimit -f 1; {command}".replace("merge", f"{sys.executable} -m jobs.cli merge", 1)
    ended = process("bash", "-c", line, cwd=logs)
    assert (ended.returncode, ended.stdout) == (4, b"")
    assert re.fullmatch(
        rb"kafka-rewind: A temporary file cannot be written in \S+ \(File too large\); free space or set TMPDIR.\n",
        ended.stderr,
    )
    assert not [path for path in logs.iterdir() if path.name.startswith("kafka-rewind-")]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 128 + signal.SIGTERM)])
def test_a_signal_ends_it_at_once_and_leaves_nothing(number: signal.Signals, code: int, logs: Path) -> None:
    """While it waits for standard input, which it has put into a file so far."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(logs / "tmp")}
    (logs / "tmp").mkdir()
    argv = [sys.executable, "-m", "jobs.cli", "merge", "-"]
    with subprocess.Popen(
        argv, cwd=logs, env=env, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored if tests run in the background
    ) as running:  # fmt: skip
        assert running.stdin is not None
        assert running.stderr is not None
        while not list((logs / "tmp").iterdir()):
            time.sleep(0.01)
        time.sleep(0.2)  # until it waits
        running.send_signal(number)
        running.wait(20)
        assert (running.returncode, list((logs / "tmp").iterdir())) == (code, [])
        assert b"Traceback" not in running.stderr.read()


def test_a_pipe_given_by_name_is_read(logs: Path) -> None:
    ended = process("bash", "-c", f"{sys.executable} -m jobs.cli merge broker-1 <(cat broker-2/server.log)", cwd=logs)
    assert (ended.stdout.decode(), ended.returncode) == (MERGED, 0)


HEAVY = {"pyspark", "pyarrow", "pandas", "yaml"}
ROADS = {  # of modules that only some need: those that this one loads; under 0.2 s of CPU
    "": set(),
    "--limit 1": set(),
    "--start-time 10:00:01,002": set(),
    "--topic orders --partitions 3": set(),
    "--topic pay-in --count": set(),
    "--event isr_shrinking": {
        "udfs.logs.layouts", "udfs.rules.lookup", "udfs.rules.subjects.state_change",
        "udfs.rules.subjects.controller", "udfs.rules.subjects.partition", "udfs.rules.subjects.server",
        "udfs.rules.subjects.process",
    },
    "--level ERROR --only state-change": {"udfs.logs.layouts"},
    "--format short --only state-change": {
        "udfs.logs.layouts", "udfs.rules.lookup", "udfs.rules.subjects.state_change",
    },
    "--node --only partition": {"udfs.logs.layouts", "udfs.rules.lookup", "udfs.rules.subjects.partition"},
}  # fmt: skip
SOMETIMES = {
    "difflib", "sqlite3", "tarfile", "tempfile", "udfs.logs.timestamps", "udfs.reconstruct.clock_pairs",
    "udfs.reconstruct.clock_skew", "udfs.logs.dst", "udfs.logs.formats", "udfs.logs.framing", "udfs.logs.layouts",
    "udfs.rules.lookup", "udfs.rules.rulebook", "udfs.logs.sources", "udfs.logs.wrappers", "zipfile",
}  # fmt: skip


def loaded_by(*argv: str, cwd: Path) -> set[str]:
    """The modules that a run has loaded at its end."""
    code = "import sys; from jobs.cli import main; main(sys.argv[1:], standalone_mode=False)"
    ended = process(sys.executable, "-c", f"{code}; print(*sys.modules, file=sys.stderr)", "merge", *argv, cwd=cwd)
    assert ended.returncode == 0, ended.stderr
    loaded = set(ended.stderr.decode().split())
    assert "jobs.merge.run" in loaded
    return loaded


def some_of(loaded: set[str]) -> set[str]:
    return {name for name in loaded if name in HEAVY | SOMETIMES or name.startswith("udfs.rules.subjects.")}


@pytest.mark.parametrize("road", ROADS)
def test_it_starts_without_what_it_does_not_need(road: str, logs: Path) -> None:
    Path("empty.log").touch()
    assert some_of(loaded_by(".", *road.split(), cwd=logs)) == ROADS[road]


def test_what_is_packed_or_wrapped_needs_no_rules(logs: Path) -> None:
    packed = {"udfs.logs.sources"}
    Path("a.log.gz").write_bytes(gzip.compress(CONTROLLER.encode()))
    assert some_of(loaded_by("a.log.gz", cwd=logs)) == packed
    with tarfile.open("a.tar", "w") as tar:
        tar.add("broker-1")
    assert some_of(loaded_by("a.tar", cwd=logs)) == packed | {"tarfile"}
    Path("c.log").write_text("".join(f"kafka-1  | {line}\n" for line in CONTROLLER.splitlines()))
    wrapped = {
        "udfs.logs.timestamps",
        "udfs.logs.formats",
        "udfs.logs.framing",
        "udfs.logs.layouts",
        "udfs.logs.wrappers",
    }
    assert some_of(loaded_by("c.log", cwd=logs)) == wrapped
