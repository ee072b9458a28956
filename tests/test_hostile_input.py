"""Input that means harm is refused in a sentence; what stands beside it is read, and nothing is written, hung or run.

What is tried elsewhere: names that lead out of bundles, links, encrypted and damaged members (test_sources), bombs in
settings (test_settings), formulas in exports (test_row_formats), HTML in reports (test_report), secrets (test_secrets).
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from jobs.cli import main
from udfs.arrow.parse import read_range
from udfs.logs.formats import format_of
from udfs.logs.limits import Limits
from udfs.logs.survey import Survey, survey

LINE = (
    "[2026-11-21 10:00:01,000] TRACE [Controller id=1 epoch=1] Changed partition pay-in-0 from NewPartition to "
    "OnlinePartition with state LeaderAndIsr(leader=2, leaderEpoch=0, isr=List(2, 1), zkVersion=0) "
    "(state.change.logger)\n"
)
SMALL = Limits(unpacked_bytes=8 << 20, ratio=50, free_bytes=1 << 20, members=50, depth=3)


def surveys(path: Path) -> list[Survey]:
    return list(survey(str(path), {}, limits=SMALL))


def packed(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def test_a_bomb_beside_good_members(tmp_path: Path) -> None:
    """What stands before it is read; it is named with the setting that would allow it."""
    path = tmp_path / "bundle.zip"
    path.write_bytes(packed({"a/controller.log": LINE.encode(), "b/server.log": bytes(64 << 20)}))
    good, bomb = surveys(path)
    assert (good.status, good.size) == ("ok", len(LINE))
    assert bomb.status == "refused"
    assert "decompresses to more than" in (bomb.error or "")
    assert "max_unpacked" in (bomb.error or "")


def test_bombs_of_bombs(tmp_path: Path) -> None:
    """Each layer unfolds to many: the sum counts, and so does the depth."""
    inner = packed({f"{i}.log": bytes(1 << 20) for i in range(10)})
    path = tmp_path / "nested.zip"
    path.write_bytes(packed({f"{i}.zip": inner for i in range(10)}))
    assert any("decompresses to more than" in (s.error or "") for s in surveys(path))
    deep = LINE.encode()
    for _ in range(6):
        deep = gzip.compress(deep)
    (tmp_path / "deep.gz").write_bytes(deep)
    (refused,) = surveys(tmp_path / "deep.gz")
    assert "packed more than 3 times" in (refused.error or "")


def test_a_bundle_of_too_many_members(tmp_path: Path) -> None:
    path = tmp_path / "many.zip"
    path.write_bytes(packed({f"{i}.log": b"" for i in range(51)}))
    (refused,) = surveys(path)
    assert "more than 50 members" in (refused.error or "")


def test_names_and_kinds_in_a_tar(tmp_path: Path) -> None:
    """Nothing is unpacked under its own name, so none can leave its place; links and devices are refused by name."""
    path = tmp_path / "bundle.tar"
    with tarfile.open(path, "w") as tar:
        for name, kind in (
            ("../../escaped.log", tarfile.REGTYPE),
            ("/etc/escaped.log", tarfile.REGTYPE),
            ("link.log", tarfile.SYMTYPE),
            ("hard.log", tarfile.LNKTYPE),
            ("zero.log", tarfile.CHRTYPE),
            ("fifo.log", tarfile.FIFOTYPE),
            ("good/controller.log", tarfile.REGTYPE),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            info.size = len(LINE) if kind == tarfile.REGTYPE else 0
            tar.addfile(info, io.BytesIO(LINE.encode()))
    *refused, good = surveys(path)
    reasons = [(s.source.member, (s.error or "").rpartition("(")[2]) for s in refused]
    assert reasons == [
        ("../../escaped.log", "its name leads out of the bundle)."),
        ("/etc/escaped.log", "its name is absolute)."),
        ("link.log", "it is a link)."),
        ("hard.log", "it is a link)."),
        ("zero.log", "it is a device)."),
        ("fifo.log", "it is a device)."),
    ]
    assert (good.source.member, good.status) == ("good/controller.log", "ok")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "/dev/full"])
def test_merge_reads_no_device(device: str, tmp_path: Path) -> None:
    """It would never end. What else is given is merged, and the exit code says that something was not."""
    (tmp_path / "state-change.log").write_text(LINE)
    result = CliRunner().invoke(main, ["merge", str(tmp_path / "state-change.log"), device])
    assert (result.exit_code, result.stdout) == (2, LINE)
    assert result.stderr.startswith(f"kafka-rewind: This is a device: {device}; give log files.")


def test_merge_reads_a_pipe(tmp_path: Path) -> None:
    """As the shell gives for <(zcat ...): it has an end."""
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: fifo.write_text(LINE))
    writer.start()
    result = CliRunner().invoke(main, ["merge", str(fifo)])
    writer.join(10)
    assert (result.exit_code, result.stdout) == (0, LINE)


@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_nightly_reads_neither(kind: str, tmp_path: Path, no_jvm: None) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    name = str(path) if kind == "fifo" else "/dev/zero"
    result = CliRunner().invoke(main, ["nightly", name, "--warehouse", str(tmp_path / "w")])
    assert result.exit_code == 2
    assert result.stderr == (f"kafka-rewind: This is no regular file: {name}; give log files or folders of them.\n")
    assert not (tmp_path / "w").exists()


INFO = "[2026-11-21 10:00:02,000] INFO "
CONTROLLER = " (kafka.controller.KafkaController)\n"
WRAPPED = '{"log":"' + LINE.strip() + '\\n","time":"2026-11-21T10:00:01.000Z","stream":"stdout"}\n'
HOSTILE_LINES = {  # what stands beside LINE -> what becomes of it
    "a number that no column holds": (LINE.replace("leader=2", f"leader={'9' * 20}"), "event"),
    "a number that no text becomes": (LINE.replace("leaderEpoch=0", f"leaderEpoch={'9' * 6000}"), "reject"),
    "a day that there is not": (LINE.replace("2026-11-21", "2026-02-31"), "reject"),
    "a time beyond all": (LINE.replace("2026", "9999").replace("10:00", "99:99"), "reject"),
    "a list of many": (LINE.replace("List(2, 1)", f"List({', '.join(map(str, range(50_000)))})"), "event"),
    "a name of many parts": (LINE.replace("pay-in-0", "-0" * 50_000), "event"),
    "brackets that never close": (f"{INFO}{'(' * 300_000}{CONTROLLER}", "reject"),
    "a key far from its value": (f"{INFO}password{' ' * 300_000}x{CONTROLLER}", "reject"),
    "a quote that never ends": (f'{INFO}password="{chr(92) * 300_000}{CONTROLLER}', "reject"),
    "URLs in URLs": (f"{INFO}{'://a:' * 100_000}{CONTROLLER}", "reject"),
    "keys in keys": (f"{INFO}{'-----BEGIN PRIVATE KEY-----' * 20_000}{CONTROLLER}", "reject"),
    "a line of megabytes": ("x" * (8 << 20) + "\n", None),
    "a hole": (bytes(1 << 20).decode() + "\n", None),
}


@pytest.mark.parametrize("case", HOSTILE_LINES)
def test_a_line_that_means_harm(case: str) -> None:
    """The lines beside it are read, and none of them takes long."""
    line, becomes = HOSTILE_LINES[case]
    begun = time.process_time()
    rows = read(f"{LINE}{line}{LINE}", LINE)
    assert time.process_time() - begun < 10
    assert [row["record"] for row in rows] == ["event", *([becomes] if becomes else []), "event"]
    assert rows[0]["leader"] == rows[-1]["leader"] == 2


def test_json_that_means_harm() -> None:
    """A value nested deeper than any parser goes, and a key that is there twice: the lines beside them are read."""
    deep = '{"log":' + "[" * 200_000 + "\n"
    twice = WRAPPED.replace('"stream"', '"log":"x","stream"')
    for line in (deep, twice):
        rows = read(f"{WRAPPED}{line}{WRAPPED}", WRAPPED)
        assert [row["leader"] for row in rows if row["record"] == "event"] == [2, 2]


def read(text: str, sample: str) -> list[dict[str, Any]]:
    """The records of a text whose format is that of a sample."""
    format_ = format_of(sample.encode())
    assert format_ is not None
    batches = read_range(io.BytesIO(text.encode()), format_, "UTC", "f", 0, None, 1)
    return [row for batch in batches for row in batch.to_pylist() if row["record"] != "account"]
