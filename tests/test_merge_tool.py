"""`merge` beside the real StateChangeLogMerger: its recorded cases and command lines, each kept or mended.

The recordings lie beside the project (`../shared/merger`); without them these tests are skipped.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from jobs.cli import main

ROOT = Path(__file__).resolve().parents[1]
MERGER = ROOT.parent / "shared" / "merger"
RECORDED = json.loads((MERGER / "cases.json").read_text()) if MERGER.exists() else {"cases": [], "cli": []}
CASES = {case["id"]: case for case in RECORDED["cases"]}
PROBES = {f"{i:02d} {' '.join(probe['argv'])}": probe for i, probe in enumerate(RECORDED["cli"])}

pytestmark = pytest.mark.skipif(not CASES, reason="the recordings are not there")

TIME = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}")
BRACKET = re.compile(rb"\[([\w.-]+), *(\d+)\]", re.ASCII)
STAMPED = re.compile(rb"^(?:\xef\xbb\xbf)?\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] ")


@dataclass
class ToolOutput:
    """What one run of `merge` gave."""

    code: int
    out: bytes
    err: str

    @property
    def lines(self) -> list[bytes]:
        """Lines, without their ends but with a CR before them."""
        return self.out.split(b"\n")[:-1]


def run(argv: list[str], cwd: str, monkeypatch: pytest.MonkeyPatch, env: dict[str, str] | None = None) -> ToolOutput:
    monkeypatch.chdir(MERGER / cwd)
    for name, value in (env or {}).items():
        monkeypatch.setenv(name, value)
    result = CliRunner().invoke(main, ["merge", *argv])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return ToolOutput(result.exit_code, result.stdout_bytes, result.stderr)


def recorded_lines(case: dict[str, Any]) -> list[bytes]:
    text: bytes = (MERGER / case["stdout"]).read_bytes()
    return text.split(b"\n")[:-1]


def lines_of(case: dict[str, Any]) -> list[bytes]:
    """All lines of a case's inputs, each with its own end taken off, CR kept."""
    lines: list[bytes] = []
    for argument in case["inputs"]:
        name = argument if isinstance(argument, str) else argument["path"]
        lines += (MERGER / case["cwd"] / name).read_bytes().removesuffix(b"\n").split(b"\n")
    return lines


def time_of(line: bytes) -> bytes:
    match = TIME.search(line)
    return match[0] if match else b""


def in_runs(lines: list[bytes]) -> list[tuple[bytes, Counter[bytes]]]:
    """Lines cut into runs of the same time, each without an order: ties may fall in any way."""
    return [(time, Counter(run)) for time, run in groupby(lines, time_of)]


def is_within(recorded: list[bytes], ours: list[bytes], compare: str) -> bool:
    """Whether the recorded lines are a subsequence of ours, as `compare` says."""
    if compare == "exact":
        rest = iter(ours)
        return all(line in rest for line in recorded)
    common, wanted = [], Counter(recorded)
    for line in ours:
        if wanted[line]:
            wanted[line] -= 1
            common.append(line)
    return in_runs(common) == in_runs(recorded) if compare == "ties" else Counter(common) == Counter(recorded)


def was_lost(line: bytes, case: dict[str, Any]) -> bool:
    """Whether the old tool had to lose a line by quirks 11, 13, 14 or 15: it is no first line, names no partition in
    brackets, or not as the first bracket.
    """
    match = BRACKET.search(line)
    if match is None or not STAMPED.match(line):
        return True
    argv = case["argv"]
    topic = argv[argv.index("--topic") + 1].encode() if "--topic" in argv else None
    return topic is not None and match[1] != topic


# ---- keep, and keep but do more --------------------------------------------------------------------------------------
KEPT = sorted(name for name, case in CASES.items() if case["verdict"] != "fix" and name != "25-same-file-twice")


@pytest.mark.parametrize("name", KEPT)
def test_a_kept_case(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]
    if not (MERGER / case["cwd"]).exists():
        pytest.skip("the public logs are not there")
    output = run(case["argv"], case["cwd"], monkeypatch, case["env"])
    assert output.code == {0: 0, 1: 2}[case["exit"]], output.err
    recorded = recorded_lines(case)
    assert is_within(recorded, output.lines, case["compare"])
    extra = Counter(output.lines) - Counter(recorded)
    assert [line for line in extra if not was_lost(line, case)] == []


# ---- mended: what `successor` says -----------------------------------------------------------------------------------
Mended = Callable[[dict[str, Any], ToolOutput], None]


def same_but_for_ties(case: dict[str, Any], output: ToolOutput) -> None:
    assert is_within(recorded_lines(case), output.lines, "ties")
    extra = Counter(output.lines) - Counter(recorded_lines(case))
    assert [line for line in extra if not was_lost(line, case)] == []


def every_line(case: dict[str, Any], output: ToolOutput) -> None:
    """All of the inputs, in order of time, records whole; the recorded lines among them."""
    assert Counter(output.lines) == Counter(lines_of(case))
    times = [time_of(line) for line in output.lines if STAMPED.match(line)]
    assert times == sorted(times)
    assert is_within(recorded_lines(case), output.lines, case["compare"])


def every_line_about(topic: bytes) -> Mended:
    """Of lines that stand alone those that name the topic with a partition, in either form."""
    named = re.compile(rb"\[" + topic + rb", *\d+\]|(?<![\w.-])" + topic + rb"-\d+(?![\w.-])|'" + topic + rb"'")

    def check(case: dict[str, Any], output: ToolOutput) -> None:
        argv = case["argv"]
        window = [argv[argv.index(name) + 1].encode() for name in ("--start-time", "--end-time") if name in argv]
        first, last = window or [b"", b"~"]
        wanted = [line for line in lines_of(case) if named.search(line) and first <= time_of(line) <= last]
        assert Counter(output.lines) >= Counter(wanted)
        assert len(wanted) > case["stdout_lines"]
        assert all(topic in line for line in output.lines if STAMPED.match(line))
        assert is_within(recorded_lines(case), output.lines, case["compare"])

    return check


def nothing(case: dict[str, Any], output: ToolOutput) -> None:
    assert output.out == b""
    assert "Nothing matched" in output.err


def refused(*words: str) -> Mended:
    def check(case: dict[str, Any], output: ToolOutput) -> None:
        assert (output.code, output.out) == (2, b"")
        assert all(word in output.err for word in words)

    check.code = 2  # type: ignore[attr-defined]
    return check


def ends_of_lines(*ends: bytes) -> Mended:
    """Which lines come out, by how their messages end."""

    def check(case: dict[str, Any], output: ToolOutput) -> None:
        messages = [line.removesuffix(b"\r").removesuffix(b" (state.change.logger)") for line in output.lines]
        assert len(messages) == len(ends)
        assert [line for line, end in zip(messages, ends, strict=True) if not line.endswith(end)] == []

    return check


def odd_lines(case: dict[str, Any], output: ToolOutput) -> None:
    assert Counter(output.lines) == Counter(lines_of(case))
    text = output.out
    assert b"no timestamp at all" in text.split(b"\n")[1]  # with its record
    trace = text.index(b"kafka.common.StateChangeFailedException")
    assert text.index(b"encountered error while electing leader for partition [t,0] (state") < trace
    assert is_within(recorded_lines(case), output.lines, "lines")


def odd_lines_of_t(case: dict[str, Any], output: ToolOutput) -> None:
    text = output.out
    for expected in (b"isr [1,2] stands before partition [t,0]", b"partition t-0 as written", b"Set([t,0],[u,1])"):
        assert expected in text
    for lost in (b"[t ,1]", b"[t,1 ]", b"[ t,1]", b"[t,-1]", b"[t,1.5]", b"[a b,3]", b"[1,2] state", b"request-level"):
        assert lost not in text
    assert is_within(recorded_lines(case), output.lines, "lines")


def crlf_stays_and_a_lone_cr_ends_nothing(case: dict[str, Any], output: ToolOutput) -> None:
    crlf = [line for line in output.lines if line.endswith(b"\r")]
    assert [line.partition(b" (")[0][-2:] for line in crlf] == [b"W1", b"W2"]
    assert [line.count(b"\r") for line in output.lines] == [1, 1, 1, 1]


def bytes_pass(case: dict[str, Any], output: ToolOutput) -> None:
    assert Counter(output.lines) == Counter(lines_of(case))


MENDED: dict[str, Mended] = {
    "02-merge-other-argument-order": same_but_for_ties,
    "08-controller-log-first-bracket": every_line_about(b"orders"),
    "09-real-file-steps-back": every_line,
    "10-merge-five-brokers-0.10": every_line,
    "12-regex-window-misfiled-0.10": every_line_about(b"payments"),
    "15-public-0.11-half-lost": every_line,
    "16-modern-1.1.1-false-matches": every_line,
    "17-modern-1.1.1-topic": every_line_about(b"orders"),
    "18-modern-2.4.1-false-matches": every_line,
    "19-modern-2.4.1-broker-as-topic": nothing,
    "20-odd-lines": odd_lines,
    "21-odd-lines-topic": odd_lines_of_t,
    "22-partition-too-big": ends_of_lines(b"O1", b"O3"),
    "23-ties-five-files": ends_of_lines(*(f"{file}{line}".encode() for file in "PQRST" for line in "123")),
    "24-ties-between-versions": same_but_for_ties,
    "25-same-file-twice": ends_of_lines(b"A1", b"B1", b"A2", b"B2", b"B3", b"A3"),
    "26-unsorted-file": ends_of_lines(b"U2", b"U4", b"S1", b"U3", b"U1", b"S2"),
    "27-crlf-and-lone-cr": crlf_stays_and_a_lone_cr_ends_nothing,
    "29-utf8-in-C-locale": bytes_pass,
    "30-not-utf8": ends_of_lines(b"A1", b"before", b"caf\xe9 [t,0]", b"A2", b"after", b"A3"),
    "31-gzip": ends_of_lines(b"A1", b"B1", b"A2", b"B2", b"B3", b"A3"),
    "33-dst-gap": ends_of_lines(b"D3", b"D4", b"D5", b"D6", b"D7", b"D8", b"D9"),
    "34-lenient-time": refused("--start-time", "2026-11-21 02:14:03,250"),
    "35-rolling-time": refused("--end-time", "does not exist"),
    "37-arguments-without-option": ends_of_lines(b"A1", b"B1", b"A2", b"B2", b"B3", b"A3"),
    "39-no-arguments": refused("No logs were given"),
    "40-time-without-milliseconds": ends_of_lines(b"A1", b"A2", b"A3"),
}


def test_every_case_is_kept_or_mended() -> None:
    assert sorted([*KEPT, *MENDED]) == sorted(CASES)


@pytest.mark.parametrize("name", [name for name in MENDED if name in CASES])
def test_a_mended_case(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, check = CASES[name], MENDED[name]
    if not (MERGER / case["cwd"]).exists():
        pytest.skip("the public logs are not there")
    output = run(case["argv"], case["cwd"], monkeypatch, case["env"])
    assert output.code == getattr(check, "code", 0), output.err
    check(case, output)


def test_it_never_depends_on_the_locale() -> None:
    """Case 29 in a process of its own, for Python reads the locale when it starts."""
    case = CASES["29-utf8-in-C-locale"]
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "jobs.cli", "merge", *case["argv"]]
    ended = subprocess.run(command, cwd=MERGER / case["cwd"], env=env, capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert Counter(ended.stdout.split(b"\n")[:-1]) == Counter(lines_of(case))


# ---- command lines ---------------------------------------------------------------------------------------------------
OK, REFUSED = 0, 2
PROBED: dict[tuple[str, ...], tuple[int, int, str]] = {  # arguments -> exit code, lines, words on stderr
    # kept: refused as ever, in one sentence and with the code 2
    ("--logs", "a.log", "--partitions", "0"): (REFUSED, 0, "--partitions needs --topic"),
    ("--topic", "t"): (REFUSED, 0, "No logs were given"),
    ("--logs", "a.log", "--logs-regex", "a.log"): (REFUSED, 0, "not with both"),
    ("--logs",): (REFUSED, 0, "requires an argument"),
    ("--logs", "a.log", "--topic", "t", "--topic", "u"): (REFUSED, 0, "twice"),
    ("--log", "a.log"): (REFUSED, 0, "--logs"),
    ("--LOGS", "a.log"): (REFUSED, 0, "--LOGS"),
    ("--logs", "a.log", "--foo"): (REFUSED, 0, "--foo"),
    ("--logs", "a.log,,b.log"): (REFUSED, 0, "empty name"),
    ("--logs", "."): (REFUSED, 0, "This is a folder"),
    ("--logs", "a.log", "--topic", "t", "--partitions", "0,0"): (REFUSED, 0, "twice"),
    ("--logs", "nope.log", "--start-time", "x"): (REFUSED, 0, "--start-time"),
    ("--logs-regex", "reg.x/state"): (REFUSED, 0, "reg.x"),
    # kept: they work
    ("--logs=a.log", "--topic=t"): (OK, 2, ""),
    ("--logs", "a.log,"): (OK, 3, ""),
    ("--logs", "empty.log"): (OK, 0, "Nothing matched"),
    ("--logs", "a.log", "--topic", "T"): (OK, 0, "Nothing matched"),
    ("--logs", "a.log", "--topic", "t*"): (OK, 0, "Nothing matched"),
    ("--logs", "a.log", "--topic", "nope"): (OK, 0, "of topic nope in 1 file with 3 records"),
    ("--logs", "a.log", "--topic", "t", "--partitions", "0,"): (OK, 1, ""),
    ("--logs", "a.log", "--start-time", "0000-00-00 00:00:00,000", "--end-time", "9999-12-31 23:59:59,999"): (
        OK,
        3,
        "",
    ),
    ("--logs-regex", "regex/zzz"): (OK, 0, "matches 0 files"),
    ("--logs-regex", "regex/^state-change\\.log$"): (OK, 1, "regex/state-change.log"),
    ("--logs-regex", "regex/(server|other)\\.log"): (OK, 1, "regex/server.log"),
    # mended: accepted now
    ("--help",): (OK, -1, ""),
    ("-h",): (OK, -1, ""),
    ("--version",): (OK, 1, ""),
    ("a.log",): (OK, 3, ""),
    ("--logs", "a.log", "--logs", "b.log"): (OK, 6, ""),
    ("-logs", "a.log", "-topic", "t"): (OK, 2, ""),
    ("--logs", "a.log, b.log"): (OK, 6, ""),
    ("--logs", "a.log", "--topic", "t", "--partitions", "0, 1"): (OK, 2, ""),
    ("--logs", "a.log", "--topic", "t", "--partitions", "0-2"): (OK, 2, ""),
    ("--logs", "a.log", "--start-time", "2014-02-03"): (OK, 3, ""),
    ("--logs", "a.log", "--start-time", "2014-02-03T10:00:00,003"): (OK, 2, ""),
    ("--logs", "a.log", "--start-time", "2014-02-03 10:00:00.003"): (OK, 2, ""),
    ("--logs", "a.log", "--start-time", "2014-02-03 10:00:00,003Z"): (OK, 2, ""),
    ("--logs-regex", "regex/dir"): (OK, 0, "matches 0 files"),
    # mended: a glob is a glob; 26 logs, some with the same content
    ("--logs", "*.log"): (OK, -1, ""),
    # mended: refused in one sentence
    ("--logs", "a.log,b.log", "--start-time", "2014-02-03 10:00:00,004", "--end-time", "2014-02-03 10:00:00,002"): (
        REFUSED,
        0,
        "is after",
    ),
    ("--logs", ""): (REFUSED, 0, "empty name"),
    ("--logs", "a.log", "--par", "1", "--to", "t"): (REFUSED, 0, "--par"),
    ("--logs", "a.log", "--topic", ""): (REFUSED, 0, "--topic is empty"),
    ("--logs", "a.log", "--topic", "t", "--partitions", "0,x"): (REFUSED, 0, "'x' is no number"),
    ("--logs", "a.log", "--topic", "t", "--partitions", ""): (REFUSED, 0, "is no number"),
    ("--logs", "a.log", "--topic", "t", "--partitions", "-1"): (REFUSED, 0, "'-1' is no number"),
    ("--logs", "a.log", "--topic", "t", "--partitions", "+1"): (REFUSED, 0, "'+1' is no number"),
    ("--logs", "a.log", "--topic", "t", "--partitions", "01"): (REFUSED, 0, "'01' is no number"),
    ("--logs", "a.log", "--start-time", "14-02-03 10:00:00,003"): (REFUSED, 0, "is no time"),
    ("--logs", "a.log", "--start-time", "2014-02-31 10:00:00,003"): (REFUSED, 0, "does not exist"),
    ("--logs", "a.log", "--end-time", "tomorrow"): (REFUSED, 0, "is no time"),
    ("--logs-regex", "regex/["): (REFUSED, 0, "no regular expression"),
    ("--logs-regex", "regex/*.log"): (REFUSED, 0, "no regular expression"),
    ("--logs-regex", "nowhere/x"): (REFUSED, 0, "nowhere"),
    # mended: what stands behind -- is a file; that one is missing, the other is merged
    ("--logs", "a.log", "--", "--foo"): (REFUSED, 3, "--foo"),
}


def test_every_command_line_is_covered() -> None:
    assert {tuple(probe["argv"]) for probe in PROBES.values()} == set(PROBED)


@pytest.mark.parametrize("name", PROBES)
def test_a_command_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    probe = PROBES[name]
    code, lines, words = PROBED[tuple(probe["argv"])]
    output = run(probe["argv"], probe["cwd"], monkeypatch)
    assert output.code == code, output.err
    assert lines in (-1, len(output.lines))
    assert words in output.err
    assert "Traceback" not in output.err
    if probe["verdict"] == "keep":
        assert (code == OK) == (probe["exit"] == 0)
        assert lines == probe["stdout_lines"]
    if code == REFUSED:
        assert len(output.err.strip().splitlines()) <= 2  # one sentence, and what was merged all the same


def test_where_nothing_can_be_read_only_that_is_said(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["merge", str(tmp_path / "nope")], catch_exceptions=False)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"kafka-rewind: This file or folder does not exist: {tmp_path}/nope; give")
    assert result.stderr.count("\n") == 1
