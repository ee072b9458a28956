"""How streams are surveyed and known again by their content."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import pickle
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from udfs.logs import survey as survey_module
from udfs.logs.formats import format_named
from udfs.logs.framing import OtherBytes, frames
from udfs.logs.limits import Limits
from udfs.logs.paths import Source
from udfs.logs.ranges import Range, open_range, open_ranges, ranges
from udfs.logs.survey import KnownStreams, Survey, ZoneOf, identity_on_disk, known_streams, utc

ONE = b"[2024-02-29 23:59:59,999] INFO [Controller id=3] Starting (kafka.controller.KafkaController)\n"
TWO = b"[2024-03-01 00:00:00,000] TRACE a (b) c (state.change.logger)\n"
HOLE = bytes(70_000)


def write(path: Path, data: bytes = ONE) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)


def survey(path: str, known: KnownStreams | None = None, zone_of: ZoneOf = utc) -> Survey:
    """Of a file that is one stream."""
    (file_survey,) = survey_module.survey(path, known or {}, zone_of)
    return file_survey


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def records(task: Range, stream: Any) -> tuple[list[tuple[int, int]], int]:
    """(line, offset) of each record of a range, and all bytes that it accounts for."""
    places: list[tuple[int, int]] = []
    size = 0
    for part in frames(stream, format_named(task.format), task.start, task.end, task.first_line):
        if isinstance(part, OtherBytes):
            size += part.size
        else:
            places += zip(part.lines.tolist(), part.offsets.tolist(), strict=True)
            size += int(part.sizes.sum())
    return places, size


# ----------------------------------------------------------------------------------------------------------- surveying


def test_survey(tmp_path: Path) -> None:
    data = ONE + TWO
    path = write(tmp_path / "broker-1" / "a.log", data)
    file_survey = survey(path)
    assert file_survey == Survey(
        source=Source(path),
        size=len(data),
        digest=digest(data),
        format="apache",
        splittable=True,
        seekable=True,
        line_counts=(0,),
        checks=file_survey.checks,
        node=3,
        inode=identity_on_disk(os.stat(path)),
    )
    assert pickle.loads(pickle.dumps(file_survey)) == file_survey


NO_LOGS = {"nothing": b"", "prose": b"no log\n" * 50, "zero bytes": b"\0" * 5000, "no line end": b"x" * 5000}


@pytest.mark.parametrize("block", [512, 1 << 20])
@pytest.mark.parametrize("case", NO_LOGS)
def test_what_is_no_log_has_no_ranges(case: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey_module, "READ_BYTES", block)
    file_survey = survey(write(tmp_path / "a", NO_LOGS[case]))
    assert (file_survey.size, file_survey.format, file_survey.held_back) == (len(NO_LOGS[case]), None, 0)
    assert (file_survey.status, file_survey.error) == ("no_records", None)
    assert ranges(file_survey, "f") == []


LATE = {  # what stands before the first record of a log
    "a hole of NULs": HOLE,
    "more prose than a sample is long": b"===> Configuring ...\n" * 20_000,
    "another program's times": b"12:30:01 INFO  ==> Setting up\n" * 20_000,
    "a hole and then prose": HOLE + b"nohup: ignoring input\n" * 20_000,
    "one line without end": b"x" * 400_000 + b"\n",
}


@pytest.mark.parametrize("block", [1 << 12, 1 << 16, 1 << 20])
@pytest.mark.parametrize("case", LATE)
def test_records_are_found_however_late_they_begin(
    case: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey_module, "READ_BYTES", block)
    data = LATE[case] + ONE + TWO
    file_survey = survey(write(tmp_path / "a.log", data))
    assert (file_survey.format, file_survey.node, file_survey.held_back, file_survey.size) == (
        "apache",
        3,
        0,
        len(data),
    )
    (task,) = ranges(file_survey, "f")
    with open_range(task) as stream:
        places, size = records(task, stream)
    assert [line for line, _ in places] == [data.count(b"\n") - 1, data.count(b"\n")]
    assert size == len(data)


HELD_BACK = {  # end of a file -> bytes held back
    "a whole line": (TWO, 0),
    "a whole record without line end": (TWO[:-1], 0),
    "cut in its logger": (TWO[:-3], len(TWO) - 3),
    "cut in its date": (TWO[:7], 7),
    "cut in a stack trace": (TWO + b"\tat a.B", 7),
    "a stack trace": (TWO + b"\tat a.B\n", 0),
    "CRLF cut between": (TWO[:-1] + b"\r", 0),
    "NULs up to a block's border": (TWO + bytes(5000), 5000),
    "a line of megabytes": (TWO + b"x" * (5 << 20), 5 << 20),
}


@pytest.mark.parametrize("case", HELD_BACK)
def test_held_back(case: str, tmp_path: Path) -> None:
    end, held = HELD_BACK[case]
    file_survey = survey(write(tmp_path / "a.log", ONE + end))
    assert file_survey.held_back == held
    (task,) = ranges(file_survey, "f")
    with open_range(task) as stream:
        assert stream.read() == (ONE + end)[: len(ONE + end) - held]


UTF_16 = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}


@pytest.mark.parametrize("encoding", UTF_16)
def test_line_ends_of_utf_16(encoding: str) -> None:
    """U+0A0A and U+010A hold the byte of a line end and are none."""
    text = UTF_16[encoding] + "a\n\u0a0a\u010a\u0a01b".encode(encoding)
    format_ = format_named("apache").__class__(encoding, "", format_named("apache").layout)
    for start in range(4):
        assert survey_module._line_end(format_, text[start:], len(text) - start, start) == 6 - start
    assert survey_module._line_end(format_, text[6:], len(text) - 6, 6) == 0
    assert survey_module._line_end(format_, text, 5, 0) == 0
    assert survey_module._line_end(None, b"a\nb\n", 3, 0) == 2


@pytest.mark.parametrize("sizes", [[9], [3, 3, 3], [1] * 9, [2, 7], [7, 2], [5, 0, 4]])
def test_of_a_long_line_the_middle_is_left_out(sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    for most, expected in ((5, b"abcdefghi"), (3, b"abcghi"), (1, b"ai")):
        monkeypatch.setattr(survey_module, "_LINE", most)
        line, rest = b"", b"abcdefghi"
        for size in sizes:
            line, rest = survey_module._shortened(line, rest[:size]), rest[size:]
        assert line == expected


# -------------------------------------------------------------------------------------------------------- known again

OLD = (ONE + TWO) * 20
KNOWN: dict[str, tuple[bytes, bytes, bool]] = {  # a stream seen before, the stream now -> whether it is known again
    "the same": (OLD, OLD, True),
    "grown": (OLD, OLD + TWO, True),
    "grown from a cut record": (OLD + TWO[:30], OLD + TWO + ONE, True),
    "grown from a cut date": (OLD + TWO[:5], OLD + TWO + ONE, True),
    "grown behind a hole": (HOLE + OLD, HOLE + OLD + TWO, True),
    "grown from nothing but a hole": (HOLE, HOLE + OLD, True),
    # The following are streams of their own; records that they share with others are found by comparing records.
    "shorter, such as a late copy": (OLD, OLD[:-1], False),
    "copytruncate: begun anew": (OLD, TWO * 3, False),
    "copytruncate: begun anew, the writer kept its offset": (OLD, bytes(len(OLD)) + TWO, False),
    "the same first kilobyte": (OLD, OLD[:1024] + b"x" + OLD[1025:], False),
    "the same first kilobyte, longer": (OLD, OLD[:1024] + OLD, False),
    "another end": (OLD, OLD[:-2] + b"x\n" + TWO, False),
    "trimmed at the head": (OLD, OLD[len(ONE) :], False),
    "another": (OLD, TWO + OLD, False),
}


def plain(data: bytes) -> bytes:
    return data


def in_a_tar_gz(data: bytes) -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w:gz") as archive:
        entry = tarfile.TarInfo("logs/a.log")
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return sink.getvalue()


def in_a_zip(data: bytes) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("logs/a.log", data)
    return sink.getvalue()


FORMS: dict[str, Callable[[bytes], bytes]] = {
    "server.log.2": plain,
    "server.log.2024-02-29-23.gz": gzip.compress,
    "bundle.tgz": in_a_tar_gz,
    "bundle.zip": in_a_zip,
}


@pytest.mark.parametrize("block", [64, 1 << 20])
@pytest.mark.parametrize("case", KNOWN)
def test_known_again(case: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey_module, "READ_BYTES", block if case.count("hole") == 0 else 1 << 16)
    old, new, same = KNOWN[case]
    old_survey = survey(write(tmp_path / "old.log", old))
    known = known_streams([(old_survey.size, old_survey.digest, "first"), (7, digest(b"another"), "second")])
    for name, pack in FORMS.items():
        file_survey = survey(write(tmp_path / name, pack(new)), known)
        assert (file_survey.known_as, file_survey.known_size) == (("first", len(old)) if same else (None, 0))
        assert (file_survey.digest, file_survey.size) == (digest(new), len(new))


def test_delivered_twice_in_one_run_it_has_one_digest(tmp_path: Path) -> None:
    paths = [write(tmp_path / name, pack(OLD)) for name, pack in FORMS.items()]
    assert {survey(path).digest for path in paths} == {digest(OLD)}


@pytest.mark.parametrize("cut", [len(TWO) // 2, 3, len(TWO) - 1])
def test_a_stream_that_grows_from_the_middle_of_a_record_has_each_record_once(cut: int, tmp_path: Path) -> None:
    first = survey(write(tmp_path / "a.log", ONE + TWO[:cut]))
    assert first.size - first.held_back == (len(ONE) if cut < len(TWO) - 1 else len(ONE + TWO) - 1)
    second = survey(write(tmp_path / "a.log.1", ONE + TWO + ONE), known_streams([(first.size, first.digest, "f")]))
    assert (second.known_as, second.held_back) == ("f", 0)
    (task,) = ranges(second, "f")
    with open_range(task) as stream:
        assert records(task, stream) == ([(1, 0), (2, len(ONE)), (3, len(ONE + TWO))], len(ONE + TWO + ONE))


def test_the_longest_stream_seen_before_counts(tmp_path: Path) -> None:
    known = known_streams([(len(data), digest(data), name) for data, name in ((ONE, "a"), (ONE + TWO, "b"))])
    assert survey(write(tmp_path / "x", ONE + TWO + TWO), known).known_as == "b"
    assert survey(write(tmp_path / "y", ONE + ONE + TWO), known).known_as == "a"


def test_nothing_is_grown_from_an_empty_stream(tmp_path: Path) -> None:
    assert survey(write(tmp_path / "x"), known_streams([(0, digest(b""), "empty")])).known_as is None


def test_known_streams_of_one_length() -> None:
    assert known_streams([(3, "aa", "x"), (3, "bb", "y"), (4, "cc", "z")]) == {
        3: {"aa": "x", "bb": "y"},
        4: {"cc": "z"},
    }


# ----------------------------------------------------------------------------------------------- damage and refusals


def test_a_file_that_was_cut_short_is_read_and_its_good_copy_is_known_again(tmp_path: Path) -> None:
    data = b"".join(TWO.replace(b"a", b"%d" % (i * 7919 % 10007)) for i in range(5000))
    packed = gzip.compress(data)
    cut = survey(write(tmp_path / "a.log.gz", packed[: len(packed) // 2]))
    assert (cut.status, cut.format) == ("truncated", "apache")
    assert cut.error == (
        f"This file is damaged: {tmp_path}/a.log.gz (it ends early); the {cut.size} bytes before that are read, "
        "replace it."
    )
    assert cut.digest == digest(data[: cut.size])
    assert cut.size > len(data) // 3
    (task,) = ranges(cut, "f")
    with open_range(task) as stream:
        assert stream.read() == data[: cut.size - cut.held_back]
    for _, stream in open_ranges(task.path, [task]):
        assert stream.read() == data[: cut.size - cut.held_back]
    whole = survey(write(tmp_path / "again.gz", packed), known_streams([(cut.size, cut.digest, "f")]))
    assert (whole.known_as, whole.status, whole.error) == ("f", "ok", None)


def test_what_gives_no_byte_is_refused(tmp_path: Path) -> None:
    for i, data in enumerate((gzip.compress(ONE)[:11], b"\x1f\x8b\x08" + b"\xff" * 50)):
        file_survey = survey(write(tmp_path / str(i), data))
        assert (file_survey.status, file_survey.size, ranges(file_survey, "f")) == ("refused", 0, [])
        assert file_survey.error is not None
        assert str(tmp_path / str(i)) in file_survey.error


def test_a_file_that_went_away(tmp_path: Path) -> None:
    assert survey(str(tmp_path / "gone")).status == "refused"


def test_a_bundle_has_a_survey_for_each_member_and_each_refusal(tmp_path: Path) -> None:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w:gz") as archive:
        for name, data in (("broker-1/a.log", TWO), ("../b.log", ONE), ("broker-2/c.log.gz", gzip.compress(TWO))):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    path = write(tmp_path / "x.tgz", sink.getvalue())
    surveys = list(survey_module.survey(path, {}))
    assert [(s.source.member, s.status, s.node, s.size) for s in surveys] == [
        ("broker-1/a.log", "ok", 1, len(TWO)),
        ("../b.log", "refused", None, 0),
        ("broker-2/c.log.gz", "ok", 2, len(TWO)),
    ]


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "x.gz", gzip.compress(bytes(8 << 20)))
    (file_survey,) = survey_module.survey(path, {}, limits=Limits(unpacked_bytes=4 << 20))
    assert (file_survey.status, file_survey.size) == ("refused", 0)
    assert file_survey.error == (
        f"This file decompresses to more than 4194304 bytes: {path}; raise max_unpacked_gb in conf, "
        f"unpack it, or leave it out."
    )


# ------------------------------------------------------------------------------------- nodes, zones, clock changes


WRITERS = {  # records, folder -> node
    "a record names it": (ONE, "broker-1", 3),
    "only the folder does": (TWO, "broker-1", 1),
    "nothing does": (TWO, "logs", None),
    "most of several": (ONE + ONE.replace(b"id=3", b"id=4") * 2, "broker-1", 4),
}


@pytest.mark.parametrize("case", WRITERS)
def test_node_and_zone(case: str, tmp_path: Path) -> None:
    data, folder, node = WRITERS[case]
    asked: list[tuple[int | None, str]] = []

    def zone_of(of: int | None, name: str) -> str:
        asked.append((of, name))
        return "Europe/Berlin" if of == node else "UTC"

    path = write(tmp_path / folder / "a.log", data)
    file_survey = survey(path, zone_of=zone_of)
    assert (file_survey.node, file_survey.zone) == (node, "Europe/Berlin")
    assert asked[-1] == (node, path)
    assert [task.zone for task in ranges(file_survey, "f")] == ["Europe/Berlin"]


def at(time: str) -> bytes:
    return TWO.replace(b"2024-03-01 00:00:00", b"2024-10-27 " + time.encode())


@pytest.mark.parametrize("before", [b"", HOLE])
def test_an_hour_that_comes_twice(before: bytes, tmp_path: Path) -> None:
    """Berlin's clocks went back from 03:00 to 02:00."""
    minutes = [f"{hour:02}:{minute:02}:00" for hour in (1, 2) for minute in range(60)]
    first = b"".join(map(at, minutes))
    second = b"".join(map(at, minutes[60:]))
    file_survey = survey(write(tmp_path / "a.log", before + first + second), zone_of=lambda node, name: "Europe/Berlin")
    ((offset, _),) = file_survey.clock_changes
    assert len(before + first) - len(TWO) < offset <= len(before + first)
    (task,) = ranges(file_survey, "f")
    assert task.clock_changes == file_survey.clock_changes
