"""Logs in stores: listed once, read in ranges, as files of this machine are. fsspec's memory stands for a store."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from udfs.errors import BadInput
from udfs.logs import stores
from udfs.logs.paths import find, node_of_path
from udfs.logs.ranges import groups, open_ranges, ranges
from udfs.logs.sources import Opened, Refusal, walk_bundle
from udfs.logs.survey import survey

LINES = [f"[2026-11-21 10:00:{i:02},000] INFO Hello {i} (kafka.server.KafkaServer)\n" for i in range(60)]
LOG = "".join(LINES).encode()


def bundle(members: dict[str, bytes]) -> bytes:
    """A .tar.gz."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return packed.getvalue()


FILES = {
    "prod/broker-1/server.log": LOG,
    "prod/broker-1/old/server.log.1.gz": gzip.compress(LOG),
    "prod/broker-2/bundle.tar.gz": bundle({"broker-7/controller.log": LOG}),
    "prod/broker 3/a#b.log": LOG,
    "prod/.hidden/server.log": LOG,
    "prod/warehouse/events/_delta_log/00000000000000000000.json": b"{}",
    "prod/warehouse/events/part-0.parquet": b"PAR1",
}


@pytest.fixture
def memory() -> Iterator[str]:
    """A store with FILES; its URL."""
    from fsspec.implementations.memory import MemoryFileSystem

    store = MemoryFileSystem()
    store.store.clear()
    for name, data in FILES.items():
        store.pipe(f"/logs/{name}", data)
    yield "memory://logs"
    store.store.clear()


def names(url: str) -> list[str]:
    return [source.path.removeprefix("memory://logs/") for source in find([url])]


def test_a_folder_of_a_store(memory: str) -> None:
    """What is hidden, and Delta tables, are passed over; sizes come with the list."""
    wanted = ["prod/broker 3/a#b.log", "prod/broker-1/old/server.log.1.gz", "prod/broker-1/server.log"]
    assert names(f"{memory}/prod") == names(f"{memory}/prod/") == [*wanted, "prod/broker-2/bundle.tar.gz"]
    assert {source.path: source.size for source in find([memory])}[f"{memory}/prod/broker-1/server.log"] == len(LOG)


GLOBS = {
    "prod/*/server.log": ["prod/broker-1/server.log"],
    "prod/**/server.log*": ["prod/broker-1/old/server.log.1.gz", "prod/broker-1/server.log"],
    "prod/broker-[2-9]/*": ["prod/broker-2/bundle.tar.gz"],
    "prod/broker-1/server.log": ["prod/broker-1/server.log"],
    "*/broker-2/**": ["prod/broker-2/bundle.tar.gz"],
}


@pytest.mark.parametrize("glob", GLOBS)
def test_globs(glob: str, memory: str) -> None:
    assert names(f"{memory}/{glob}") == GLOBS[glob]


def test_a_store_without_a_host(memory: str) -> None:
    """As HDFS is named by its host alone, and its folders from the root on."""
    urls = [source.path for source in find(["memory:///logs/prod/broker-1", "memory:///logs/*/broker-2/*"])]
    assert urls == [
        "memory:///logs/prod/broker-1/old/server.log.1.gz",
        "memory:///logs/prod/broker-1/server.log",
        "memory:///logs/prod/broker-2/bundle.tar.gz",
    ]
    assert all(isinstance(opened, Opened) for url in urls for opened in walk_bundle(url))


def test_each_is_found_once_beside_files_of_this_machine(memory: str, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(LOG)
    both = find([str(tmp_path), f"{memory}/prod/broker-1", f"{memory}/prod/broker-1/server.log", f"file://{tmp_path}"])
    assert [source.path for source in both] == [
        str(tmp_path / "a.log"),
        f"{memory}/prod/broker-1/old/server.log.1.gz",
        f"{memory}/prod/broker-1/server.log",
    ]
    assert node_of_path(both[-1].path) == 1


@pytest.mark.parametrize("name", ["none", "none/*.log"])
def test_what_is_not_there_is_named(name: str, memory: str) -> None:
    with pytest.raises(BadInput, match=rf"^This .*: {memory}/{name.replace('*', '[*]')}; give a log file"):
        find([f"{memory}/{name}"])


def test_streams_of_a_store_are_those_of_files(memory: str, tmp_path: Path) -> None:
    """Size, hash, format, line counts, members: all but where it is."""
    for name in ("broker-1/server.log", "broker-1/old/server.log.1.gz", "broker-2/bundle.tar.gz"):
        path = tmp_path / Path(name).name
        path.write_bytes(FILES[f"prod/{name}"])
        (here,), (there,) = (list(survey(p, {})) for p in (str(path), f"{memory}/prod/{name}"))
        for field in ("size", "digest", "format", "splittable", "line_counts", "checks", "status", "direct"):
            assert getattr(here, field) == getattr(there, field), field
        assert (there.source.path, there.source.member) == (f"{memory}/prod/{name}", here.source.member)


def test_ranges_are_read_by_themselves(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte once; a range in the middle is not read from the begin of its file."""
    segment = 1000
    for module in ("udfs.logs.survey", "udfs.logs.ranges"):
        monkeypatch.setattr(f"{module}.SEGMENT", segment)
        monkeypatch.setattr(f"{module}.READ_BYTES", segment)
    monkeypatch.setattr(stores, "READ_AHEAD", 100)
    monkeypatch.setattr("udfs.logs.framing.READ_BYTES", 100, raising=False)
    (surveyed,) = survey(f"{memory}/prod/broker-1/server.log", {})
    tasks = ranges(surveyed, "f")
    assert len(tasks) == -(-len(LOG) // segment)
    asked: list[tuple[int, int]] = []
    readinto = stores._StoreStream.readinto

    def noted(self: stores._StoreStream, buffer: memoryview) -> int:
        begin = self._at
        count = readinto(self, buffer)
        asked.append((begin, begin + count))
        return count

    monkeypatch.setattr(stores._StoreStream, "readinto", noted)
    last = tasks[-1]
    for _, stream in open_ranges(last.path, [last]):
        assert LOG.endswith(stream.read())
    assert min(begin for begin, _ in asked if begin) >= last.start - 1
    assert sum(len(group) for group in groups(tasks)) == len(tasks)


def test_a_file_that_is_gone_is_one_sentence(memory: str) -> None:
    (refusal,) = walk_bundle(f"{memory}/prod/gone.log")
    assert isinstance(refusal, Refusal)
    assert refusal.sentence.startswith(f"This file cannot be read: {memory}/prod/gone.log (")
    assert refusal.sentence.endswith("docs/how-to-stores.md has what each store needs.")


def test_a_store_that_fails_in_the_middle(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stood before is read, and the reason said."""

    def fails(self: stores._StoreStream, buffer: memoryview) -> int:
        raise OSError("403 Forbidden")

    (opened,) = (o for o in walk_bundle(f"{memory}/prod/broker-1/server.log") if isinstance(o, Opened))
    monkeypatch.setattr(stores._StoreStream, "readinto", fails)
    (surveyed,) = survey(f"{memory}/prod/broker-1/server.log", {})
    assert surveyed.status == "refused"
    assert "403 Forbidden" in (surveyed.error or "")
    assert opened.seekable


UNREACHED = {
    "dbfs:/logs": "dbfs:/ is read on Databricks only",
    "nosuch://host/logs": "nosuch",
    "hdfs://127.0.0.1:1/logs": r"hdfs://",  # unreachable, or hdfs-native is not installed
}


@pytest.mark.parametrize("url", UNREACHED)
def test_stores_out_of_reach_are_one_sentence(url: str) -> None:
    with pytest.raises(BadInput, match=UNREACHED[url]) as error:
        find([url])
    assert str(error.value).endswith("docs/how-to-stores.md has what each store needs.")
    assert "\n" not in str(error.value)


def test_mounts_of_databricks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.path.isdir", lambda path: path in ("/Volumes", "/dbfs"))
    assert stores.local_path("dbfs:/Volumes/main/kafka/logs") == "/Volumes/main/kafka/logs"
    assert stores.local_path("dbfs:///logs") == stores.local_path("dbfs:/logs") == "/dbfs/logs"
    monkeypatch.setattr("os.path.isdir", lambda _: False)
    assert stores.local_path("dbfs:/logs") == "dbfs:/logs"
