"""`merge --skew auto`: clocks of a real cluster put wrong and corrected again, and what is said of them."""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections import defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from jobs.cli import main
from jobs.merge import window as merge_window

ROOT = Path(__file__).resolve().parents[1]
BEGIN = datetime(2026, 11, 21, 11, 44)
STAMP = re.compile(rb"^\[(2026-11-21 \d\d:\d\d:\d\d,\d{3})\]", re.MULTILINE)
Line = tuple[str, int]  # file, line


def drifted(at: datetime) -> datetime:
    """Five minutes ahead, and 100 ppm too fast."""
    return at + timedelta(minutes=5) + (at - BEGIN) * 1e-4


def set_back(at: datetime) -> datetime:
    """Right until 11:46, then a minute behind."""
    return at - timedelta(minutes=1) * (at > datetime(2026, 11, 21, 11, 46))


def written(folder: Path, change: Callable[[datetime], datetime] = lambda at: at, node: int = 0) -> Path:
    """A cluster's logs with another clock of one node."""

    def stamp(m: re.Match[bytes]) -> bytes:
        return f"[{change(datetime.fromisoformat(m[1].decode())).isoformat(' ', 'milliseconds')}]".replace(
            ".", ","
        ).encode()

    for path in (ROOT / "data" / "zk-2.4.1" / "logs").rglob("*.log*"):
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        copy = folder / path.parent.name / path.name.removesuffix(".gz")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(STAMP.sub(stamp, text) if path.parent.name == f"broker-{node}" else text)
    return folder


def merged(folder: Path, *argv: str) -> tuple[list[tuple[Line, datetime]], str]:
    """Lines in their order with the times that they are sorted by, and what is said first."""
    result = CliRunner().invoke(main, ["merge", str(folder), "--format", "csv", *argv], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    rows = csv.DictReader(io.StringIO(result.stdout))
    timed = [
        ((row["file"].removeprefix(f"{folder}/"), int(row["line"])), datetime.fromisoformat(row["at"])) for row in rows
    ]
    return timed, result.stderr.splitlines()[0]


@pytest.fixture(scope="module")
def shifted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("shifted"), drifted)


def test_a_clock_that_drifts_is_corrected(shifted: Path, tmp_path: Path) -> None:
    """The order is that of the true clocks, but for lines whose times are closer than the bounds that are reported."""
    true, _ = merged(written(tmp_path))
    corrected, comment = merged(shifted, "--skew", "auto")
    sentence = re.search(
        r"line pairs\): node 0 was ahead of node 3 by ([\d,]+) to ([\d,]+) ms, give or take (\d+) ms, which is taken "
        r"off;"
        r" no clock skew detected between nodes 1, 2, 3, 4, each within (\d+) ms of node 3\.$",
        comment,
    )
    assert sentence is not None, comment
    low, high, within, others = (int(number.replace(",", "")) for number in sentence.groups())
    bound = timedelta(milliseconds=within + 1)  # times are whole milliseconds
    assert 300_000 - within <= low <= high <= 300_025 + within  # 100 ppm of 4 minutes and a little
    assert max(within, others) < 30
    at = dict(true)
    assert {line for line, _ in corrected} == {*at}
    assert max(abs(now - at[line]) for line, now in corrected) <= bound
    latest = BEGIN.astimezone(next(iter(at.values())).tzinfo)
    for line, _ in corrected:
        latest = max(latest, at[line])
        assert latest - at[line] <= bound
    assert numbers(corrected) == numbers(true)


def numbers(rows: list[tuple[Line, datetime]]) -> dict[str, list[int]]:
    """The order of each file's lines."""
    by_file = defaultdict(list)
    for (file, number), _ in rows:
        by_file[file].append(number)
    return by_file


def test_a_window_is_one_of_corrected_times(shifted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it is looked up by bisection, in files whose own times are far from it."""
    everything, _ = merged(shifted, "--skew", "auto")
    since, until = (datetime.fromisoformat(f"2026-11-21T11:{at}Z") for at in ("46:30", "47:10"))
    expected = [row for row in everything if since <= row[1] <= until]
    assert {file.split("/")[0] for (file, _), _ in expected} == {f"broker-{node}" for node in range(5)}
    window = ("--skew", "auto", "--start-time", "2026-11-21 11:46:30", "--end-time", "2026-11-21 11:47:10")
    assert merged(shifted, *window)[0] == expected
    monkeypatch.setattr(merge_window, "_SMALL_BYTES", 1000)
    monkeypatch.setattr(merge_window, "_PROBE_BYTES", 4096)
    assert merged(shifted, *window)[0] == expected
    assert merged(shifted, *window, "--trust-order")[0] == expected


def test_times_by_the_end_of_the_logs_go_by_the_corrected_end(shifted: Path) -> None:
    """The last record is not that of the node whose clock is ahead."""
    everything, _ = merged(shifted, "--skew", "auto")
    last = max(at for _, at in everything)
    expected = [row for row in everything if row[1] >= last - timedelta(seconds=5)]
    assert merged(shifted, "--skew", "auto", "--since", "-5s")[0] == expected


def test_what_is_printed_raw_stays_as_it_was(shifted: Path) -> None:
    result = CliRunner().invoke(main, ["merge", str(shifted), "--skew", "auto"], catch_exceptions=False)
    lines = [line for path in shifted.rglob("*.log*") for line in path.read_bytes().splitlines()]
    assert sorted(result.stdout_bytes.splitlines()) == sorted(lines)


def test_a_clock_that_was_set_keeps_its_own_time(tmp_path: Path) -> None:
    _, comment = merged(written(tmp_path, set_back, node=2), "--skew", "auto", "--limit", "1")
    assert "): clocks of node 2 are inconsistent, as if set meanwhile: times not corrected; " in comment
    assert "; no clock skew detected between nodes 0, 1, 3, 4, each within" in comment
    assert "taken off" not in comment


SENT = (
    "TRACE [Controller id=1 epoch=4] Sending become-leader LeaderAndIsr request "
    "LeaderAndIsrPartitionState(topicName='a', partitionIndex=0, controllerEpoch=4, leader=2, leaderEpoch=3, "
    "isr=[2], zkVersion=7, replicas=[2], addingReplicas=[], removingReplicas=[], isNew=false) to broker 2 for "
    "partition a-0 (state.change.logger)\n"
)
GOT = (
    "TRACE [Broker id=2] Received LeaderAndIsr request LeaderAndIsrPartitionState(topicName='a', partitionIndex=0, "
    "controllerEpoch=4, leader=2, leaderEpoch=3, isr=[2], zkVersion=7, replicas=[2], addingReplicas=[], "
    "removingReplicas=[], isNew=false) correlation id 9 from controller 1 epoch 4 (state.change.logger)\n"
)
ANSWER = (
    "TRACE [Controller id=1 epoch=4] Received response {error_code=0,partition_errors=[],_tagged_fields={}} for "
    "request LEADER_AND_ISR with correlation id 9 sent to broker 127.0.0.1:9092 (id: 2 rack: null) "
    "(state.change.logger)\n"
)
STARTED = "INFO [KafkaServer id=3] started (kafka.server.KafkaServer)\n"
SENTENCES = {  # seconds at which node 1 sends, node 2 receives (None: no log), node 1 has the answer -> what is said
    # 1 ms is added to each bound, for times are cut, and what may drift between the lines, by which 5 ms are a little
    # more; node 1 has the least id, so it is the reference
    "both may be right": (
        (10.0, 10.004, 10.006),
        " (2 line pairs): no clock skew detected between nodes 1, 2, each within 6 ms of node 1; nothing compares "
        "node 3 with the others: times not corrected.",
    ),
    "ahead, known from both sides": (  # 20.004 s at most, 19.998 s at least, and 1 ms: the middle is less than 5 ms off
        (10.0, 30.004, 10.006),
        " (2 line pairs): node 2 was ahead of node 1 by 20,001 ms, give or take 5 ms, which is taken off; nothing "
        "compares",
    ),
    "behind, known from one side": (
        (30.0, 10.004, None),
        " (1 line pair): node 2 was behind node 1 by 19,995 ms, or more, which is added; nothing compares",
    ),
    "maybe ahead, known from one side": (
        (10.0, 30.004, None),
        " (1 line pair): node 2 is at most 20,005 ms ahead of node 1, how far behind is unknown: times not "
        "corrected; nothing compares",
    ),
    "nothing to compare": ((10.0, None, 10.006), ": nothing compares nodes 1, 3 with other nodes: times not "
        "corrected."),
}  # fmt: skip


@pytest.mark.parametrize("case", SENTENCES)
def test_what_is_said(case: str, tmp_path: Path) -> None:
    (sent, got, answered), sentence = SENTENCES[case]
    for name, text, seconds in (
        ("1/a", SENT, sent),
        ("1/b", ANSWER, answered),
        ("2/a", GOT, got),
        ("3/a", STARTED, 5.0),
    ):
        if seconds is not None:
            path = tmp_path / f"broker-{name}.log"
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"[2026-11-21 10:00:{seconds:06.3f}] ".replace(".", ",") + text)
    _, comment = merged(tmp_path, "--skew", "auto")
    assert comment.startswith(f"kafka-rewind: Clocks{sentence}")


def test_logs_of_nobody_are_named(tmp_path: Path) -> None:
    (tmp_path / "some.log").write_text("[2026-11-21 10:00:00,000] INFO started (kafka.server.KafkaServer)\n")
    _, comment = merged(tmp_path, "--skew", "auto")
    assert comment.endswith(
        f"no log names its node: times not corrected; the node of {tmp_path}/some.log is unknown: times not corrected."
    )
