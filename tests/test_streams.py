"""Which files are found, how they are opened and known again, and what of them is read."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from udfs import streams
from udfs.framing import Stretch, frames
from udfs.streams import BadInput, Survey, find, known_streams, node_of_path, open_range, open_stream, ranges, survey

ONE = b"[2024-02-29 23:59:59,999] INFO [Controller id=3] Starting (kafka.controller.KafkaController)\n"
TWO = b"[2024-03-01 00:00:00,000] TRACE a (b) c (state.change.logger)\n"


def write(path: Path, data: bytes = ONE) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)


# ------------------------------------------------------------------------------------------------------------- finding


def test_files_folders_and_globs_each_file_once(tmp_path: Path) -> None:
    a, b, c = (write(tmp_path / name) for name in ("a.log", "deep/er/b.log", "deep/c.log.1"))
    assert find([str(tmp_path)]) == [a, c, b]
    assert find([b, str(tmp_path / "deep"), str(tmp_path / "*.log"), a]) == [a, c, b]
    assert find([str(tmp_path / "**" / "*.log")]) == [a, b]
    assert find([str(tmp_path / "d*")]) == [c, b]


def test_paths_are_absolute_and_sorted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = sorted(write(tmp_path / name) for name in ("z.log", "a/b.log", "a.log"))
    monkeypatch.chdir(tmp_path)
    assert find(["z.log", "a.log", "a"]) == files


def test_hidden_files_are_left_out_unless_named(tmp_path: Path) -> None:
    seen, hidden = write(tmp_path / "a.log"), write(tmp_path / ".a.log.swp")
    write(tmp_path / ".git" / "b.log")
    assert find([str(tmp_path)]) == [seen]
    assert find([hidden]) == [hidden]


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    a = write(tmp_path / "logs" / "a.log")
    (tmp_path / "logs" / "again").symlink_to(tmp_path / "logs")
    (tmp_path / "logs" / "up").symlink_to(tmp_path)
    assert find([str(tmp_path / "logs")]) == [a]


def test_a_link_to_a_file_is_read(tmp_path: Path) -> None:
    write(tmp_path / "a.log")
    (tmp_path / "b.log").symlink_to(tmp_path / "a.log")
    assert len(find([str(tmp_path)])) == 2


def test_a_file_whose_name_looks_like_a_glob(tmp_path: Path) -> None:
    odd = write(tmp_path / "a[1].log")
    assert find([odd]) == [odd]


def a_pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def a_link_to_nothing(folder: Path) -> Path:
    (folder / "link").symlink_to("nothing")
    return folder / "link"


REFUSED: dict[str, tuple[Callable[[Path], Path], str]] = {  # what is given -> part of the sentence
    "missing": (lambda folder: folder / "none.log", "does not exist"),
    "a pattern without match": (lambda folder: folder / "*.log", "matches no file"),
    "an empty folder": (lambda folder: folder, "holds no files"),
    "a pipe": (a_pipe, "no regular file"),
    "a link to nothing": (a_link_to_nothing, "no regular file"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str, tmp_path: Path) -> None:
    make, sentence = REFUSED[case]
    given = make(tmp_path)
    with pytest.raises(BadInput, match=sentence) as refused:
        find([str(given)])
    assert str(given) in str(refused.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read(tmp_path: Path) -> None:
    path = Path(write(tmp_path / "a" / "a.log"))
    path.chmod(0)
    with pytest.raises(BadInput, match="cannot be read"):
        find([str(tmp_path)])
    path.parent.chmod(0)
    with pytest.raises(BadInput, match="folder cannot be read"):
        find([str(tmp_path)])
    path.parent.chmod(0o700)


# --------------------------------------------------------------------------------------------------------- compression

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda data: data,
    "gzip": gzip.compress,
    "gzip, two members": lambda data: gzip.compress(data[:100]) + gzip.compress(data[100:]),
    "bz2": bz2.compress,
    "xz": lzma.compress,
}


@pytest.mark.parametrize("name", PACKERS)
def test_compression_makes_no_difference(name: str, tmp_path: Path) -> None:
    data = (ONE + TWO) * 50
    plain, packed = write(tmp_path / "a.log", data), write(tmp_path / "b", PACKERS[name](data))
    with open_stream(packed) as stream:
        assert stream.read() == data
    ours, theirs = survey(plain, {}), survey(packed, {})
    assert theirs.plain == (name == "plain")
    same = ("size", "digest", "layout", "held_back", "error")
    assert [getattr(ours, key) for key in same] == [getattr(theirs, key) for key in same]
    assert len(ranges(theirs, "f", "UTC")) == 1


@pytest.mark.parametrize("name", [name for name in PACKERS if name != "plain"])
def test_a_broken_archive_is_told_and_raises_nothing(name: str, tmp_path: Path) -> None:
    packed = PACKERS[name]((ONE + TWO + os.urandom(2000)) * 50)
    middle = len(packed) // 2
    for i, broken in enumerate((packed[:middle], packed[:middle] + b"\xff" * 50 + packed[middle + 50 :])):
        assert survey(write(tmp_path / str(i), broken), {}).error


def test_a_file_that_went_away(tmp_path: Path) -> None:
    assert survey(str(tmp_path / "gone"), {}).error


# ----------------------------------------------------------------------------------------------------------- surveying


def digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def test_survey(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", ONE + TWO)
    assert survey(path, {}) == Survey(path, len(ONE + TWO), digest(ONE + TWO), None, 0, "apache", True, (0,), 0)


NO_LOGS = {"nothing": b"", "prose": b"no log\n" * 50, "zero bytes": b"\0" * 5000, "no line end": b"x" * 5000}


@pytest.mark.parametrize("case", NO_LOGS)
def test_what_is_no_log_has_no_layout_and_no_ranges(case: str, tmp_path: Path) -> None:
    found = survey(write(tmp_path / "a", NO_LOGS[case]), {})
    assert (found.size, found.layout, found.held_back, found.error) == (len(NO_LOGS[case]), None, 0, None)
    assert ranges(found, "f", "UTC") == []


HELD_BACK = {  # end of a file -> bytes held back
    "a whole line": (TWO, 0),
    "a whole record without line end": (TWO[:-1], 0),
    "cut in its logger": (TWO[:-3], len(TWO) - 3),
    "cut in its date": (TWO[:7], 7),
    "cut in a stack trace": (TWO + b"\tat a.B", 7),
    "a stack trace": (TWO + b"\tat a.B\n", 0),
    "CRLF cut between": (TWO[:-1] + b"\r", 0),
}


@pytest.mark.parametrize("case", HELD_BACK)
def test_held_back(case: str, tmp_path: Path) -> None:
    end, held = HELD_BACK[case]
    found = survey(write(tmp_path / "a.log", ONE + end), {})
    assert found.held_back == held
    (task,) = ranges(found, "f", "UTC")
    with open_range(task) as stream:
        assert stream.read() == (ONE + end)[: len(ONE + end) - held]


OLD = (ONE + TWO) * 20
KNOWN = {  # a stream seen before, the stream now -> whether it is known again
    "the same": (OLD, OLD, True),
    "grown": (OLD, OLD + TWO, True),
    "grown from a cut line": (OLD + TWO[:30], OLD + TWO + ONE, True),
    "shorter": (OLD, OLD[:-1], False),
    "the same first kilobyte": (OLD, OLD[:1024] + b"x" + OLD[1025:], False),
    "another end": (OLD, OLD[:-2] + b"x\n" + TWO, False),
    "another": (OLD, TWO + OLD, False),
}


@pytest.mark.parametrize("block", [64, 8 << 20])
@pytest.mark.parametrize("case", KNOWN)
def test_known_again(case: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_BLOCK", block)
    old, new, same = KNOWN[case]
    seen = survey(write(tmp_path / "old.log", old), {})
    known = known_streams([(seen.size, seen.digest, "first"), (7, digest(b"another"), "second")])
    for name, data in (("renamed.log.2", new), ("twin.gz", gzip.compress(new))):
        found = survey(write(tmp_path / name, data), known)
        assert (found.known_as, found.known_size) == (("first", len(old)) if same else (None, 0))
        assert found.digest == digest(new)


def test_the_longest_stream_seen_before_counts(tmp_path: Path) -> None:
    known = known_streams([(len(data), digest(data), name) for data, name in ((ONE, "a"), (ONE + TWO, "b"))])
    assert survey(write(tmp_path / "x", ONE + TWO + TWO), known).known_as == "b"
    assert survey(write(tmp_path / "y", ONE + ONE + TWO), known).known_as == "a"


def test_known_streams_of_one_length() -> None:
    assert known_streams([(3, "aa", "x"), (3, "bb", "y"), (4, "cc", "z")]) == {
        3: {"aa": "x", "bb": "y"},
        4: {"cc": "z"},
    }


# -------------------------------------------------------------------------------------------------------------- ranges


@pytest.mark.parametrize("end", [b"", TWO[:20], b"\tat x"])
@pytest.mark.parametrize("segment", [64, 1 << 10, 1 << 20])
def test_ranges_hold_each_record_once(
    segment: int, end: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "SEGMENT", segment)
    monkeypatch.setattr(streams, "_BLOCK", 64)
    data = b"before\n" + (ONE + TWO + b"\tat x\n" * 3) * 30 + end
    found = survey(write(tmp_path / "a.log", data), {})
    tasks = ranges(found, "f", "UTC")
    assert [task.start for task in tasks] == list(range(0, len(data) - len(end), segment))
    assert all(task.first_line == data.count(b"\n", 0, task.start) + 1 for task in tasks)
    lines: list[int] = []
    size = found.held_back
    for task in tasks:
        with open_range(task) as stream:
            for part in frames(stream, streams.LAYOUT_BY_NAME[task.layout], task.start, task.end, task.first_line):
                if isinstance(part, Stretch):
                    size += part.size
                else:
                    lines += part.lines.tolist()
                    size += int((part.ends - part.starts).sum())
    assert lines == [line for first in range(2, 152, 5) for line in (first, first + 1)]
    assert size == len(data)


def test_a_range_closes_its_file(tmp_path: Path) -> None:
    (task,) = ranges(survey(write(tmp_path / "a.log"), {}), "f", "UTC")
    with open_range(task) as stream:
        inner = stream._stream  # type: ignore[attr-defined]
    assert inner.closed


# --------------------------------------------------------------------------------------------------------------- nodes

NODES = {  # path -> node
    "/logs/broker-3/server.log": 3,
    "/logs/controller_101/controller.log": 101,
    "/logs/kafka2/server.log": 2,
    "/logs/KAFKA.7/old/server.log": 7,
    "/broker-1/broker-2/server.log": 2,
    "/logs/broker-/server.log": None,
    "/logs/broker/server.log": None,
    "/logs/rack-3/server.log": None,
    "/logs/3/server.log": None,
    "/logs/kafka-2.4.1/server.log": None,
    "/logs/broker-20240101123000/server.log": None,
    "/logs/host/broker-3": None,
}


@pytest.mark.parametrize("path", NODES)
def test_node_of_path(path: str) -> None:
    assert node_of_path(path) == NODES[path]
