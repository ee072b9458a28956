"""Ranges of streams hold each record once, and files that change while they are read are noticed."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from tests.test_survey import FORMS, ONE, TWO, in_a_zip, records, survey, write
from udfs.errors import BadInput, FileChanged
from udfs.logs import ranges as ranges_module
from udfs.logs import sources
from udfs.logs import survey as survey_module
from udfs.logs.limits import Limits
from udfs.logs.ranges import Range, groups, open_range, open_ranges, ranges


def set_segment(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Ranges of so many bytes."""
    for module in (survey_module, ranges_module):
        monkeypatch.setattr(module, "SEGMENT", size)


def set_read_bytes(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """So many bytes are read at once."""
    for module in (survey_module, ranges_module):
        monkeypatch.setattr(module, "READ_BYTES", size)


@pytest.mark.parametrize("end", [b"", TWO[:20], b"\tat x"])
@pytest.mark.parametrize("segment", [64, 1 << 10, 1 << 20])
def test_ranges_hold_each_record_once(
    segment: int, end: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_segment(monkeypatch, segment)
    set_read_bytes(monkeypatch, 64)
    data = b"before\n" + (ONE + TWO + b"\tat x\n" * 3) * 30 + end
    file_survey = survey(write(tmp_path / "a.log", data))
    tasks = ranges(file_survey, "f")
    assert [task.start for task in tasks] == list(range(0, len(data) - len(end), segment))
    assert all(task.first_line == data.count(b"\n", 0, task.start) + 1 for task in tasks)
    lines: list[int] = []
    size = file_survey.held_back
    for task, stream in open_ranges(tasks[0].path, tasks):
        places, read = records(task, stream)
        lines += [line for line, _ in places]
        size += read
    assert lines == [line for first in range(2, 152, 5) for line in (first, first + 1)]
    assert size == len(data)


@pytest.mark.parametrize("segment", [256, 1 << 20])
@pytest.mark.parametrize("pack", FORMS.values(), ids=FORMS)
def test_ranges_of_bundles(
    pack: Callable[[bytes], bytes], segment: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_segment(monkeypatch, segment)
    set_read_bytes(monkeypatch, 64)
    data = (ONE + TWO) * 30
    tasks = ranges(survey(write(tmp_path / "x", pack(data))), "f")
    assert len(tasks) == -(-len(data) // segment)
    places = [place for task, stream in open_ranges(tasks[0].path, tasks[::-1]) for place in records(task, stream)[0]]
    assert [line for line, _ in places] == list(range(1, 61))


def test_many_members_are_read_in_one_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w:gz") as archive:
        for i in range(5):
            entry = tarfile.TarInfo(f"broker-{i}/a.log")
            entry.size = len(ONE) * (i + 1)
            archive.addfile(entry, io.BytesIO(ONE * (i + 1)))
    path = write(tmp_path / "x.tgz", sink.getvalue())
    tasks = [task for i, s in enumerate(survey_module.survey(path, {})) for task in ranges(s, f"f{i}")]
    assert groups(tasks) == [tasks]
    walks: list[str] = []
    walk = sources.walk_bundle

    def counted(path: str, *rest: object) -> object:
        walks.append(path)
        return walk(path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(ranges_module, "walk_bundle", counted)
    read = [(task.file_id, stream.read()) for task, stream in open_ranges(path, tasks[::2])]
    assert read == [("f0", ONE), ("f2", ONE * 3), ("f4", ONE * 5)]
    assert walks == [path]


def test_behind_the_last_wanted_member_nothing_is_decompressed(tmp_path: Path) -> None:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w:gz") as archive:
        for name, data in (("a.log", ONE), ("zeros", bytes(8 << 20))):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    path = write(tmp_path / "x.tgz", sink.getvalue())
    (task,) = [task for one in survey_module.survey(path, {}) for task in ranges(one, "f")]
    limits = Limits(unpacked_bytes=4 << 20)
    assert [stream.read() for _, stream in open_ranges(path, [task], limits)] == [ONE]


def test_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    set_segment(monkeypatch, 100)

    def task(path: str, member: str, start: int, end: int | None, limit: int, direct: bool) -> Range:
        is_plain = path == "big.log"
        return Range("f", path, member, "apache", "UTC", start, end, limit, 1, limit, 0, (), (), direct, is_plain)

    big = [task("big.log", "", 0, 100, 150, True), task("big.log", "", 100, None, 150, True)]
    tgz = [task("x.tgz", str(i), 0, None, 90, False) for i in range(3)]
    zipped = [task("x.zip", str(i), 0, None, 40, True) for i in range(3)]
    assert groups([*zipped, *big, *tgz]) == [tgz, big[:1], zipped[:2], big[1:], zipped[2:]]
    assert groups([]) == []


def tar_gz(sizes: Sequence[int]) -> bytes:
    """A bundle with so many records in each member."""
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w:gz") as archive:
        for i, count in enumerate(sizes):
            entry = tarfile.TarInfo(f"broker-{9 - i}/a.log")  # not in the order of names
            entry.size = len(ONE) * count
            archive.addfile(entry, io.BytesIO(ONE * count))
    return sink.getvalue()


PACKED: dict[
    str, tuple[bytes, list[int]]
] = {  # a file of 48 records -> how many of them each of at most four tasks reads
    "a .gz": (gzip.compress(ONE * 48), [12, 12, 12, 12]),
    "a .zst": (pa.compress(ONE * 48, codec="zstd", asbytes=True), [12, 12, 12, 12]),
    "one large member of a .tar.gz": (tar_gz([48]), [12, 12, 12, 12]),
    "members of a .tar.gz": (tar_gz([7] * 6), [14, 14, 14]),
    "a large and small members of a .tar.gz": (tar_gz([4, 40, 4]), [12, 12, 12, 12]),
    "a .tar.gz of little": (tar_gz([4, 4]), [8]),
    "a large member of a .zip": (in_a_zip(ONE * 48), [12, 12, 12, 12]),
    "a .bz2, which takes longer to decompress than to parse": (bz2.compress(ONE * 48), [48]),
    "a .xz": (lzma.compress(ONE * 48), [48]),
    "a .gz in UTF-16, which is read in one piece": (gzip.compress((ONE * 48).decode().encode("utf-16")), [48]),
}


@pytest.mark.parametrize("case", PACKED)
def test_what_is_decompressed_is_read_by_several_tasks(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_segment(monkeypatch, len(ONE) * 4)
    set_read_bytes(monkeypatch, len(ONE))
    monkeypatch.setattr(ranges_module, "LEAST_PIECE", 3)
    data, records_of_tasks = PACKED[case]
    path = write(tmp_path / "x", data)
    tasks = [task for i, one in enumerate(survey_module.survey(path, {})) for task in ranges(one, f"f{i}")]
    divided = groups(tasks[::-1], 4)
    read = [[(task.file_id, *records(task, stream)) for task, stream in open_ranges(path, group)] for group in divided]
    assert sorted(sum(len(places) for _, places, _ in of_group) for of_group in read) == sorted(records_of_tasks)
    places = [(file_id, place) for of_group in read for file_id, in_stream, _ in of_group for place in in_stream]
    (whole,) = groups(tasks)
    assert sorted(places) == sorted(
        (task.file_id, place) for task, stream in open_ranges(path, whole) for place in records(task, stream)[0]
    )
    assert len(places) == sum(records_of_tasks)


def test_each_task_notices_that_what_it_decompresses_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_segment(monkeypatch, len(ONE) * 4)
    set_read_bytes(monkeypatch, len(ONE))
    monkeypatch.setattr(ranges_module, "LEAST_PIECE", 3)
    path = write(tmp_path / "x.gz", gzip.compress(ONE * 48))
    divided = groups([task for one in survey_module.survey(path, {}) for task in ranges(one, "f")], 4)
    write(tmp_path / "x.gz", gzip.compress(b"#" + ONE * 48))
    assert len(divided) == 4
    for group in divided:
        with pytest.raises(FileChanged):
            read_all(path, group)


def test_a_range_closes_its_file(tmp_path: Path) -> None:
    (task,) = ranges(survey(write(tmp_path / "a.log")), "f")
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None
    with open_range(task) as stream:
        stream.read(1)
    if before is not None:
        assert len(os.listdir("/proc/self/fd")) == before


# ------------------------------------------------------------------------------ files that change while they are read


def test_what_is_written_after_the_survey_waits(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", ONE + TWO[:9])
    tasks = ranges(survey(path), "f")
    with open(path, "ab") as log:
        log.write(TWO[9:] + ONE)
    assert [stream.read() for _, stream in open_ranges(path, tasks)] == [ONE]


def test_a_log_that_was_renamed_since_the_survey_is_found(tmp_path: Path) -> None:
    path = write(tmp_path / "server.log", ONE)
    tasks = ranges(survey(path), "f")
    os.rename(path, tmp_path / "server.log.2024-02-29-23")
    assert [stream.read() for _, stream in open_ranges(path, tasks)] == [ONE]
    write(tmp_path / "server.log", TWO * 9)
    assert [stream.read() for _, stream in open_ranges(path, tasks)] == [ONE]
    with open_range(tasks[0]) as stream:
        assert stream.read() == ONE


def test_on_another_machine_a_file_is_known_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its mount of the folder numbers files otherwise: the number of the one surveyed is another's there."""
    path = write(tmp_path / "server.log", ONE)
    os.link(path, tmp_path / "other.log")
    monkeypatch.setattr("platform.node", lambda: "surveyed")
    tasks = ranges(survey(path), "f")
    os.remove(path)
    write(tmp_path / "server.log", ONE)
    write(tmp_path / "other.log", TWO * 9)  # what had the number before
    monkeypatch.setattr("platform.node", lambda: "reading")
    assert [stream.read() for _, stream in open_ranges(path, tasks)] == [ONE]
    monkeypatch.setattr("platform.node", lambda: "surveyed")
    with pytest.raises(FileChanged):
        read_all(path, tasks)


def read_all(path: str, tasks: list[Range]) -> None:
    for task, stream in open_ranges(path, tasks):
        records(task, stream)


REWRITTEN = {  # a file of ONE, TWO and a cut line, between survey and reading
    "emptied": b"",
    "shorter": ONE,
    "begun anew, shorter": TWO,
    "begun anew, longer": TWO * 9,
    "a hole in front": bytes(len(ONE + TWO)) + ONE,
    "another end of the held back line": ONE + TWO + b"[2024-02-29 23:00:00",
}


@pytest.mark.parametrize("segment", [64, 1 << 20])
@pytest.mark.parametrize("case", REWRITTEN)
def test_a_log_that_was_cut_since_the_survey_is_noticed(
    case: str, segment: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_segment(monkeypatch, segment)
    set_read_bytes(monkeypatch, 64)
    path = write(tmp_path / "server.log", ONE + TWO + b"[2024-03-01 00:00:00")
    tasks = ranges(survey(path), "f")
    read_all(path, tasks)
    with open(path, "r+b") as log:
        log.truncate(0)
        log.write(REWRITTEN[case])
    with pytest.raises(FileChanged, match=f"This file changed while it was read: {path}; what is new"):
        read_all(path, tasks)


def test_a_log_that_went_away_since_the_survey_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path / "server.log", ONE)
    tasks = ranges(survey(path), "f")
    os.remove(path)
    with pytest.raises(FileChanged, match="changed while it was read"):
        list(open_ranges(path, tasks))
    with pytest.raises(BadInput):
        open_range(tasks[0])
