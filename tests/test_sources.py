"""Which files are found, what is in them, what of it is refused, and which node a path names."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import resource
import struct
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from udfs.errors import BadInput
from udfs.logs.byte_streams import damage_of
from udfs.logs.limits import LIMITS, Limits
from udfs.logs.paths import Source, find, node_of_path
from udfs.logs.sources import Opened, Refusal, expand, open_source
from udfs.logs.sources import walk_bundle as walk

ONE = b"[2024-02-29 23:59:59,999] INFO [Controller id=3] Starting (kafka.controller.KafkaController)\n"
TWO = b"[2024-03-01 00:00:00,000] TRACE a (b) c (state.change.logger)\n"


def write(path: Path, data: bytes = ONE) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)


def paths(sources: list[Source]) -> list[str]:
    assert not any(source.member for source in sources)
    return [source.path for source in sources]


# ------------------------------------------------------------------------------------------------------------- finding


def test_files_folders_and_globs_each_file_once(tmp_path: Path) -> None:
    a, b, c = (write(tmp_path / name) for name in ("a.log", "deep/er/b.log", "deep/c.log.1"))
    assert paths(find([str(tmp_path)])) == [a, c, b]
    assert paths(find([b, str(tmp_path / "deep"), str(tmp_path / "*.log"), a])) == [a, c, b]
    assert paths(find([str(tmp_path / "**" / "*.log")])) == [a, b]
    assert paths(find([str(tmp_path / "d*")])) == [c, b]


def test_paths_are_absolute_and_sorted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = sorted(write(tmp_path / name) for name in ("z.log", "a/b.log", "a.log"))
    monkeypatch.chdir(tmp_path)
    assert paths(find(["z.log", "a.log", "a"])) == files


def test_rotated_files_of_every_appender_are_found(tmp_path: Path) -> None:
    names = ["controller.log.1", "server.log.2026-11-21-04", "stage-change.log.2025-12-04-22", "x.log.gz", "1", "a b"]
    assert len(find([str(Path(write(tmp_path / name)).parent) for name in names])) == len(names)


def test_hidden_files_are_left_out_unless_named(tmp_path: Path) -> None:
    visible, hidden = write(tmp_path / "a.log"), write(tmp_path / ".a.log.swp")
    write(tmp_path / ".git" / "b.log")
    assert paths(find([str(tmp_path)])) == [visible]
    assert paths(find([hidden])) == [hidden]


def test_the_tables_of_a_warehouse_are_no_logs(tmp_path: Path) -> None:
    good = write(tmp_path / "broker-1" / "server.log")
    for name in ("part-00000.snappy.parquet", "_delta_log/00000000000000000000.json", "day=1/part-00001.parquet"):
        write(tmp_path / "warehouse" / "events" / name)
    assert paths(find([str(tmp_path)])) == [good]


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    a = write(tmp_path / "logs" / "a.log")
    (tmp_path / "logs" / "again").symlink_to(tmp_path / "logs")
    (tmp_path / "logs" / "up").symlink_to(tmp_path)
    (tmp_path / "logs" / "self").symlink_to("self")
    assert paths(find([str(tmp_path / "logs")])) == [a, str(tmp_path / "logs" / "self")]
    (refused,) = walk(str(tmp_path / "logs" / "self"))
    assert isinstance(refused, Refusal)


def test_a_link_to_a_file_is_read(tmp_path: Path) -> None:
    write(tmp_path / "a.log")
    (tmp_path / "b.log").symlink_to(tmp_path / "a.log")
    assert [contents(path) for path in paths(find([str(tmp_path)]))] == [{"": ONE}, {"": ONE}]


def test_a_file_whose_name_looks_like_a_glob(tmp_path: Path) -> None:
    odd = write(tmp_path / "a[1].log")
    assert paths(find([odd])) == [odd]


def test_a_file_whose_name_is_not_utf_8(tmp_path: Path) -> None:
    try:
        write(tmp_path / "caf\udce9" / "\udcff.log")
    except OSError:
        pytest.skip("this file system wants UTF-8")
    (source,) = find([str(tmp_path)])
    assert source.path == f"{tmp_path}/caf\\xe9/\\xff.log"
    assert contents(source.path) == {"": ONE}


CONTROL = {  # a name on disk -> as it is printed, on one line
    "a\nb.log": "a\\x0ab.log",
    "a\x1b[31mb\t.log": "a\\x1b[31mb\\x09.log",
    "a\x7f.log": "a\\x7f.log",
    "a\\x0ab.log": "a\\x0ab.log",  # so it is called
    "zoé.log": "zoé.log",
}


@pytest.mark.parametrize("name", CONTROL)
def test_a_name_with_control_characters_is_told_on_one_line(name: str, tmp_path: Path) -> None:
    write(tmp_path / name)
    (source,) = find([str(tmp_path)])
    assert source.path == f"{tmp_path}/{CONTROL[name]}"
    assert contents(source.path) == {"": ONE}


def test_what_lies_in_a_folder_that_may_not_be_entered_is_not_said_to_be_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def denied(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "lstat", denied)  # root may enter all
    with pytest.raises(BadInput, match=r"cannot be reached: /closed/a\.log \(Permission denied\)"):
        find(["/closed/a.log"])


def a_pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def a_link_to_nothing(folder: Path) -> Path:
    (folder / "link").symlink_to("nothing")
    return folder / "link"


BAD: dict[str, tuple[Callable[[Path], Path], str]] = {  # what is given -> part of the sentence
    "missing": (lambda folder: folder / "none.log", "does not exist"),
    "a pattern without match": (lambda folder: folder / "*.log", "matches no file"),
    "an empty folder": (lambda folder: folder, "holds no files"),
    "a pipe": (a_pipe, "no regular file"),
    "a link to nothing": (a_link_to_nothing, "no regular file"),
}


@pytest.mark.parametrize("case", BAD)
def test_given_itself_it_is_an_error(case: str, tmp_path: Path) -> None:
    make, sentence = BAD[case]
    path = make(tmp_path)
    with pytest.raises(BadInput, match=sentence) as refused:
        find([str(path)])
    assert str(path) in str(refused.value)


@pytest.mark.parametrize("case", ["a pipe", "a link to nothing"])
def test_in_a_folder_it_is_refused_and_the_rest_counts(case: str, tmp_path: Path) -> None:
    make, sentence = BAD[case]
    good, bad = write(tmp_path / "a.log"), str(make(tmp_path))
    assert paths(find([str(tmp_path)])) == [good, bad]
    assert contents(good) == {"": ONE}
    (refused,) = walk(bad)
    assert isinstance(refused, Refusal)
    assert sentence in refused.sentence
    assert bad in refused.sentence


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read(tmp_path: Path) -> None:
    good, bad = write(tmp_path / "b.log"), write(tmp_path / "a" / "a.log")
    os.chmod(bad, 0)
    assert "cannot be read" in refusals(bad)[0]
    with pytest.raises(BadInput, match="cannot be read"):
        find([bad])
    os.chmod(tmp_path / "a", 0)
    assert paths(find([str(tmp_path)])) == [str(tmp_path / "a"), good]
    assert "folder cannot be read" in refusals(str(tmp_path / "a"))[0]
    with pytest.raises(BadInput, match="folder cannot be read"):
        find([str(tmp_path / "a")])
    os.chmod(tmp_path / "a", 0o700)


def test_what_cannot_be_opened_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.log")

    def denied(*_: Any) -> int:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "open", denied)
    assert refusals(path) == [f"This file cannot be read: {path} (Permission denied); check its permissions."]


def test_a_file_that_went_away(tmp_path: Path) -> None:
    assert "No such file" in refusals(str(tmp_path / "gone"))[0]


# --------------------------------------------------------------------------------------------------------- compression


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue().to_pybytes())


def halves(pack: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    return lambda data: pack(data[:100]) + pack(data[100:])


SKIPPED = b"\x50\x2a\x4d\x18" + struct.pack("<I", 3) + b"abc"  # a frame of zstd that holds no data
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "gzip, two members": halves(gzip.compress),
    "gzip, zero bytes behind": lambda data: gzip.compress(data) + bytes(70_000),
    "gzip in gzip": lambda data: gzip.compress(gzip.compress(data)),
    "bz2": lambda data: bz2.compress(data, 1),  # blocks of 100 kB, of which only whole ones can be read
    "bz2, two members": halves(lambda data: bz2.compress(data, 1)),
    "xz": lzma.compress,
    "xz, two members": halves(lzma.compress),
    "zstd": zstd,
    "zstd, two frames": halves(zstd),
    "zstd, skippable frames": lambda data: SKIPPED + zstd(data) + SKIPPED,
}


def contents(path: str, limits: Limits = LIMITS) -> dict[str, bytes]:
    """Member -> its bytes, of what is not refused."""
    return {f.source.member: f.stream.read() for f in walk(path, None, limits) if isinstance(f, Opened)}


def refusals(path: str, limits: Limits = LIMITS) -> list[str]:
    return [member.sentence for member in walk(path, None, limits) if isinstance(member, Refusal)]


@pytest.mark.parametrize("size", [0, 1, 50, 15_000])
@pytest.mark.parametrize("name", PACKERS)
def test_compression_makes_no_difference(name: str, size: int, tmp_path: Path) -> None:
    data = ONE * size
    packed = write(tmp_path / "any name", PACKERS[name](data))
    assert contents(packed) == {"": data}
    with open_source(Source(packed)) as stream:
        pieces = list(iter(lambda: stream.read(100_003), b""))
    assert b"".join(pieces) == data
    assert all(len(piece) == 100_003 for piece in pieces[:-1])  # a short read is the end


@pytest.mark.parametrize("name", PACKERS)
def test_a_file_that_was_cut_short_is_read_to_its_end(name: str, tmp_path: Path) -> None:
    data = b"".join(b"%d %d\n" % (i, i * 7919 % 10007) for i in range(50_000))
    packed = PACKERS[name](data).rstrip(b"\0")
    for i, cut in enumerate((1, len(packed) // 2)):
        stream = open_source(Source(write(tmp_path / str(i), packed[:-cut])))
        content = stream.read()
        assert data.startswith(content)
        assert len(content) > len(data) // 5
        assert damage_of(stream) == "it ends early"


DAMAGED: dict[
    str, tuple[Callable[[bytes], bytes], float]
] = {  # how it is packed -> share of the bytes that come out, at least, if its second half is spoilt
    "gzip": (gzip.compress, 0.45),
    "bz2": (bz2.compress, 0.0),
    "xz": (lzma.compress, 0.2),
    "zstd": (zstd, 0.3),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_file_with_spoilt_bytes_is_read_to_there(name: str, tmp_path: Path) -> None:
    pack, share = DAMAGED[name]
    data = b"".join(b"%d %d\n" % (i, i * 7919 % 10007) for i in range(50_000))
    packed = pack(data)
    middle = len(packed) // 2
    stream = open_source(Source(write(tmp_path / "x", packed[:middle].ljust(len(packed), b"\xff"))))
    content = stream.read()
    assert damage_of(stream)
    right = next((i for i, (a, b) in enumerate(zip(content, data, strict=False)) if a != b), len(content))
    assert right >= share * len(data)


def test_gzip_is_read_to_the_last_byte_before_the_damage(tmp_path: Path) -> None:
    stored = zlib.compressobj(0, zlib.DEFLATED, 31)  # stored blocks: which byte is where is known
    packed = stored.compress(ONE * 300) + stored.flush(zlib.Z_FULL_FLUSH)
    stream = open_source(Source(write(tmp_path / "x", packed + b"\xff" * 100)))
    assert stream.read() == ONE * 300
    assert "invalid" in (damage_of(stream) or "")


BEHIND = {"plain text": TWO, "another compression": bz2.compress(TWO), "a begun member": gzip.compress(TWO)[:5]}


@pytest.mark.parametrize("case", BEHIND)
def test_what_follows_the_compressed_data_is_not_passed_over_silently(case: str, tmp_path: Path) -> None:
    stream = open_source(Source(write(tmp_path / "x.gz", gzip.compress(ONE) + BEHIND[case])))
    assert stream.read() == ONE
    assert damage_of(stream)


FOREIGN = {
    "7-Zip": b"7z\xbc\xaf\x27\x1c",
    "RAR": b"Rar!\x1a\x07\0",
    "LZ4": b"\x04\x22\x4d\x18",
    "Unix": b"\x1f\x9d\x90",
    "lzip": b"LZIP\x01",
    "lzop": b"\x89LZO\0\r\n",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_formats_that_are_not_read_are_named(name: str, tmp_path: Path) -> None:
    (sentence,) = refusals(write(tmp_path / "x", FOREIGN[name] + bytes(100)))
    assert name in sentence
    assert "unpack it" in sentence


# ------------------------------------------------------------------------------------------------------------- bundles

MEMBERS = {"broker-1/server.log": ONE * 30, "broker-2/server.log.1.gz": gzip.compress(TWO * 9), "empty": b""}
STREAMS = {"broker-1/server.log": ONE * 30, "broker-2/server.log.1.gz": TWO * 9, "empty": b""}


def tar(members: dict[str, bytes], entries: tuple[tarfile.TarInfo, ...] = (), form: int = tarfile.PAX_FORMAT) -> bytes:
    """A tar of files, then of entries without content."""
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w", format=form) as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        for entry in entries:
            archive.addfile(entry)
    return sink.getvalue()


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return sink.getvalue()


def streamed_zip(members: dict[str, bytes]) -> bytes:
    """A zip whose sizes stand behind the data, as pipes write it."""

    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def tell(self) -> int:
            raise io.UnsupportedOperation

    sink = Pipe()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return sink.getvalue()


BUNDLES: dict[str, Callable[[dict[str, bytes]], bytes]] = {
    ".tar": tar,
    ".tar, GNU": lambda members: tar(members, form=tarfile.GNU_FORMAT),
    ".tar, ustar": lambda members: tar(members, form=tarfile.USTAR_FORMAT),
    ".tar.gz": lambda members: gzip.compress(tar(members)),
    ".tar.bz2": lambda members: bz2.compress(tar(members)),
    ".tar.xz": lambda members: lzma.compress(tar(members)),
    ".tar.zst": lambda members: zstd(tar(members)),
    ".zip": zipped,
    ".zip, stored": lambda members: zipped(members, zipfile.ZIP_STORED),
    ".zip, bz2": lambda members: zipped(members, zipfile.ZIP_BZIP2),
    ".zip, lzma": lambda members: zipped(members, zipfile.ZIP_LZMA),
    ".zip, streamed": streamed_zip,
    ".zip in a .tar.gz": lambda members: gzip.compress(tar({"x.zip": zipped(members)})),
    ".tar.gz in a .zip": lambda members: zipped({"x.tar.gz": gzip.compress(tar(members))}),
    ".tar in a .tar": lambda members: tar({"x.tar": tar(members)}),
    ".zip in a .tar": lambda members: tar({"x.zip": zipped(members)}),
    ".tgz in a .tgz in a .zip": lambda members: zipped(
        {"y.tgz": gzip.compress(tar({"x.tgz": gzip.compress(tar(members))}))}
    ),
}
NESTED = {  # what stands before the members' names
    ".zip in a .tar.gz": "x.zip!/",
    ".tar.gz in a .zip": "x.tar.gz!/",
    ".tar in a .tar": "x.tar!/",
    ".zip in a .tar": "x.zip!/",
    ".tgz in a .tgz in a .zip": "y.tgz!/x.tgz!/",
}


@pytest.mark.parametrize("name", BUNDLES)
def test_members_of_bundles(name: str, tmp_path: Path) -> None:
    path, before = write(tmp_path / "any name", BUNDLES[name](MEMBERS)), NESTED.get(name, "")
    assert contents(path) == {before + member: data for member, data in STREAMS.items()}
    assert refusals(path) == []
    for member, data in STREAMS.items():
        source = Source(path, before + member)
        with open_source(source) as stream:
            assert stream.read() == data
            assert damage_of(stream) is None
    assert [source.name for source in expand([Source(path)]) if isinstance(source, Source)] == [
        f"{path}!/{before}{member}" for member in STREAMS
    ]


@pytest.mark.parametrize("name", BUNDLES)
def test_only_wanted_members_are_opened(name: str, tmp_path: Path) -> None:
    path, before = write(tmp_path / "x", BUNDLES[name](MEMBERS)), NESTED.get(name, "")
    members = [f.source.member for f in walk(path, {before + "empty", "none"}) if isinstance(f, Opened)]
    assert members == [before + "empty"]
    with pytest.raises(BadInput, match="no stream of this name"):
        open_source(Source(path, "none"))


@pytest.mark.parametrize("name", BUNDLES)
def test_members_that_nobody_reads_do_not_disturb_the_next_ones(name: str, tmp_path: Path) -> None:
    data = {str(i): os.urandom(3000 * i) for i in range(6)}
    path, before = write(tmp_path / "x", BUNDLES[name](data)), NESTED.get(name, "")
    by_member = {}
    for i, opened in enumerate(walk(path)):
        assert isinstance(opened, Opened)
        by_member[opened.source.member] = opened.stream.read(2000 if i % 2 else -1)
    assert by_member == {before + k: v[:2000] if i % 2 else v for i, (k, v) in enumerate(data.items())}


SEEKABLE: dict[
    str, tuple[bool, bool]
] = {  # bundle -> ranges of members can be read by themselves, members can be opened by themselves
    ".tar": (True, True),
    ".tar in a .tar": (True, True),
    ".tar.gz": (False, False),
    ".zip": (False, True),
    ".zip in a .tar": (False, True),
    ".zip in a .tar.gz": (False, False),
    ".tar.gz in a .zip": (False, False),
}


@pytest.mark.parametrize("name", SEEKABLE)
def test_how_members_can_be_read(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / "x", BUNDLES[name]({"a.log": ONE + TWO}))
    for member in walk(path):
        assert isinstance(member, Opened)
        assert (member.seekable, member.direct) == SEEKABLE[name]
        if member.seekable:
            member.stream.seek(len(ONE))
            assert member.stream.read() == TWO
            assert member.stream.seek(0, io.SEEK_END) == len(ONE + TWO)


def test_two_members_of_one_name_are_two(tmp_path: Path) -> None:
    archive = tar({"a": ONE})[:1024] + tar({"a": TWO})  # as tar --append leaves it
    assert contents(write(tmp_path / "x.tar", archive)) == {"a": ONE, "a#2": TWO}
    with open_source(Source(str(tmp_path / "x.tar"), "a#2")) as stream:
        assert stream.read() == TWO


def test_concatenated_bundles_are_one(tmp_path: Path) -> None:
    path = write(tmp_path / "x.tar.gz", gzip.compress(tar({"a": ONE})) + gzip.compress(tar({"b": TWO})))
    assert contents(path) == {"a": ONE, "b": TWO}
    assert refusals(path) == []


def test_hidden_members_are_left_out(tmp_path: Path) -> None:
    members = dict.fromkeys(("./a.log", ".b.log", ".git/c.log", "__MACOSX/._a.log", "./d/./e.log"), ONE)
    packers: tuple[Callable[[dict[str, bytes]], bytes], ...] = (tar, zipped)
    for i, pack in enumerate(packers):
        assert list(contents(write(tmp_path / str(i), pack(members)))) == ["a.log", "d/./e.log"]


def test_long_names_and_names_that_are_not_utf_8(tmp_path: Path) -> None:
    long = "d/" * 100 + "server.log"
    assert list(contents(write(tmp_path / "x.tar", tar({long: ONE})))) == [long]
    latin = tar({"caf\udce9.log": ONE}, form=tarfile.GNU_FORMAT)
    assert contents(write(tmp_path / "y.tar", latin)) == {"caf\\xe9.log": ONE}


def test_a_sparse_member(tmp_path: Path) -> None:
    """A hole of 1 MiB, then a record: GNU tar's own form, 1.0 of PAX."""
    map_of_data = b"1\n1048576\n%d\n" % len(ONE)
    data = map_of_data.ljust(512, b"\0") + ONE
    entry = tarfile.TarInfo("./GNUSparseFile.0/server.log")
    entry.size = len(data)
    entry.pax_headers = {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.name": "server.log",
        "GNU.sparse.realsize": str((1 << 20) + len(ONE)),
    }
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(entry, io.BytesIO(data))
    for i, packed in enumerate((sink.getvalue(), gzip.compress(sink.getvalue()))):
        path = write(tmp_path / str(i), packed)
        assert contents(path) == {"server.log": bytes(1 << 20) + ONE}
        assert "more than 524288 bytes" in read_all(path, Limits(unpacked_bytes=1 << 19))[1]


NO_BUNDLES: dict[str, dict[str, bytes]] = {
    "a program": {"META-INF/MANIFEST.MF": b"", "a.class": b"x"},
    "a sheet": {"[Content_Types].xml": b""},
}


@pytest.mark.parametrize("case", NO_BUNDLES)
def test_zips_that_are_no_bundles_are_one_stream(case: str, tmp_path: Path) -> None:
    packed = zipped(NO_BUNDLES[case])
    assert contents(write(tmp_path / "x", packed)) == {"": packed}
    assert contents(write(tmp_path / "y", gzip.compress(tar({"k.jar": packed, "a": ONE})))) == {
        "k.jar": packed,
        "a": ONE,
    }


# ------------------------------------------------------------------------------------------------------------ refusals


def entry(name: str, kind: bytes, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def a_zip_entry(name: str, mode: int = 0o100644, flags: int = 0, method: int | None = None) -> bytes:
    """A zip of one entry whose header has been changed."""
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr(info, ONE)
        archive.writestr("good.log", TWO)
    data = bytearray(sink.getvalue())
    central = data.index(b"PK\x01\x02")
    data[central + 8] |= flags
    if method is not None:
        data[central + 10] = method
    return bytes(data)


GOOD = {"good.log": TWO}
REFUSED: dict[str, tuple[bytes, str, str]] = {  # bundle, member, why
    "tar: a name with ..": (tar({"a/../../etc/x.log": ONE, **GOOD}), "a/../../etc/x.log", "leads out of the bundle"),
    "tar: an absolute name": (tar({"/etc/x.log": ONE, **GOOD}), "/etc/x.log", "absolute"),
    "tar: a drive": (tar({"C:\\x.log": ONE, **GOOD}), "C:\\x.log", "absolute"),
    "tar: .. with backslashes": (tar({"a\\..\\..\\x.log": ONE, **GOOD}), "a\\..\\..\\x.log", "leads out"),
    "tar: a symbolic link": (tar(GOOD, (entry("l", tarfile.SYMTYPE, "/etc/passwd"),)), "l", "a link"),
    "tar: a hard link": (tar(GOOD, (entry("l", tarfile.LNKTYPE, "good.log"),)), "l", "a link"),
    "tar: a device": (tar(GOOD, (entry("d", tarfile.CHRTYPE),)), "d", "a device"),
    "tar: a pipe": (tar(GOOD, (entry("p", tarfile.FIFOTYPE),)), "p", "a device"),
    "zip: a name with ..": (zipped({"../x.log": ONE, **GOOD}), "../x.log", "leads out of the bundle"),
    "zip: an absolute name": (zipped({"/x.log": ONE, **GOOD}), "/x.log", "absolute"),
    "zip: a symbolic link": (a_zip_entry("l", 0o120777), "l", "a link"),
    "zip: a pipe": (a_zip_entry("p", 0o010644), "p", "a device"),
    "zip: encrypted": (a_zip_entry("secret.log", flags=1), "secret.log", "encrypted"),
    "zip: Deflate64": (a_zip_entry("x.log", method=9), "x.log", "compression 9 is not known"),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("case", REFUSED)
def test_a_refused_member_is_told_in_one_sentence_and_the_others_count(case: str, packed: bool, tmp_path: Path) -> None:
    bundle, member, why = REFUSED[case]
    path = write(tmp_path / "x", gzip.compress(bundle) if packed else bundle)
    assert contents(path) == GOOD
    (sentence,) = refusals(path)
    assert sentence.startswith(f"This member of a bundle is not read: {path}!/{member} (")
    assert why in sentence
    assert sentence.endswith(".")
    with pytest.raises(BadInput, match="is not read"):
        open_source(Source(path, member))


def test_nothing_is_written_beside_the_bundle(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    path = write(tmp_path / "logs" / "x.tar.gz", gzip.compress(tar({"../x.log": ONE, "in.zip": zipped(MEMBERS)})))
    for member in walk(path, limits=Limits(work_area=str(work))):
        if isinstance(member, Opened):
            member.stream.read()
        assert sorted(os.listdir(tmp_path)) == ["logs", "work"]
        assert os.listdir(work) == []  # the copy of the zip has no name
    assert os.listdir(tmp_path / "logs") == ["x.tar.gz"]


# ------------------------------------------------------------------------------------------------------ broken bundles

BIG = {name: os.urandom(40_000) for name in ("a", "b", "c")}
CUTS = {  # where a tar of three members is cut -> whole members, bytes of the next one
    "in the second member": (512 + 40_448 + 512 + 1000, ["a"], 1000),
    "in the second header": (512 + 40_448 + 100, ["a"], None),
    "behind the second member": (2 * (512 + 40_448), ["a", "b"], None),
    "before the end mark": (3 * (512 + 40_448), ["a", "b", "c"], None),
}


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("case", CUTS)
def test_a_tar_that_was_cut_short(case: str, pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    cut, whole, further = CUTS[case]
    path = write(tmp_path / "x", pack(tar(BIG)[:cut]))
    expected = {name: BIG[name] for name in whole}
    if further is not None:
        expected["b"] = BIG["b"][:further]
    assert contents(path) == expected
    (sentence,) = refusals(path)
    assert sentence.startswith("This bundle is damaged")
    damaged = [f.source.member for f in walk(path) if isinstance(f, Opened) and f.stream.read() and damage_of(f.stream)]
    assert damaged == ([] if further is None else ["b"])


def test_a_tar_gz_that_was_cut_short(tmp_path: Path) -> None:
    packed = gzip.compress(tar(BIG))
    path = write(tmp_path / "x", packed[: len(packed) * 2 // 3 - 9000])
    by_member = contents(path)
    assert by_member["a"] == BIG["a"]
    assert BIG["b"].startswith(by_member["b"])
    assert len(by_member["b"]) > 25_000
    assert "it ends early" in refusals(path)[0]


def test_behind_a_spoilt_header_the_next_member_is_found(tmp_path: Path) -> None:
    data = bytearray(tar(BIG))
    data[512 + 40_448 + 10] ^= 1
    for i, packed in enumerate((bytes(data), gzip.compress(bytes(data)))):
        path = write(tmp_path / str(i), packed)
        assert list(contents(path)) == ["a", "c"]
        assert "80 blocks of it are no members" in refusals(path)[0]  # 1 header, 79 of data
    cut = write(tmp_path / "cut", bytes(data[: 512 + 40_448 + 512 + 40_448 + 512 + 40_448]))
    assert refusals(cut) == [  # one sentence, so that a stream of this name has one row
        f"This bundle is damaged: {cut} (80 blocks of it are no members; it ends early); what stands "
        f"before it was read, "
        "replace it."
    ]


def test_a_name_of_megabytes_is_not_read_into_memory(tmp_path: Path) -> None:
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 1 << 40
    path = write(tmp_path / "x", tar(GOOD)[:1024] + header.tobuf(tarfile.GNU_FORMAT) + bytes(9000))
    assert contents(path) == GOOD
    assert len(refusals(path)) == 1


def test_zips_with_damage(tmp_path: Path) -> None:
    packed = zipped({"a": b"x" * 100, "b": ONE * 50, "c": TWO}, zipfile.ZIP_STORED)
    cut = write(tmp_path / "cut", packed[:-40])
    assert contents(cut) == {}
    assert refusals(cut) == [
        f"This bundle is damaged: {cut} (File is not a zip file); nothing of it was read, replace it."
    ]
    spoilt = bytearray(packed)
    spoilt[packed.index(ONE) + 5] ^= 1
    damages = {}
    for member in walk(write(tmp_path / "spoilt", bytes(spoilt))):
        assert isinstance(member, Opened)
        size = len(member.stream.read())
        damages[member.source.member] = (size, damage_of(member.stream))
    assert damages == {"a": (100, None), "b": (50 * len(ONE), "its checksum does not fit"), "c": (len(TWO), None)}


# --------------------------------------------------------------------------------------------------------------- bombs


def zeros(size: int, step: int = 1 << 20) -> bytes:
    """A gzip of zero bytes, made fast: what `step` of them are packed to, again and again."""
    pack = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = pack.compress(bytes(step)) + pack.flush(zlib.Z_FULL_FLUSH)
    return (
        b"\x1f\x8b\x08" + bytes(7) + block * (size // step) + b"\x03\0" + struct.pack("<II", crc_of_zeros(size), size)
    )


def crc_of_zeros(size: int) -> int:
    crc = 0
    for _ in range(size >> 20):
        crc = zlib.crc32(bytes(1 << 20), crc)
    return crc


def read_all(path: str, limits: Limits) -> tuple[int, str]:
    """Bytes read before the limit stopped it, and its sentence."""
    size = 0
    try:
        for member in walk(path, None, limits):
            if isinstance(member, Refusal):
                return size, member.sentence
            while data := member.stream.read(1 << 20):
                size += len(data)
    except BadInput as error:
        return size, str(error)
    return size, ""


def test_a_bomb_is_stopped_in_time(tmp_path: Path) -> None:
    path = write(tmp_path / "bomb.gz", zeros(1 << 30, 1 << 26))
    assert os.path.getsize(path) < 2 << 20
    before, peak = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    size, sentence = read_all(path, Limits(unpacked_bytes=64 << 20))
    assert time.process_time() - before < 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 32 << 10  # KiB
    assert 60 << 20 < size <= 64 << 20
    assert sentence == (
        f"This file decompresses to more than 67108864 bytes: {path}; raise max_unpacked_gb in conf, "
        f"unpack it, or leave it out."
    )


SMALL = zeros(40 << 20)
BOMBS = {  # each unfolds to 40 MiB or more
    "gzip": SMALL,
    "bz2": bz2.compress(bytes(40 << 20)),
    "xz": lzma.compress(bytes(40 << 20), preset=0),
    "zstd": zstd(bytes(40 << 20)),
    "gzip in gzip": gzip.compress(SMALL),
    "tar.gz": gzip.compress(tar({"a": bytes(40 << 20)}), 1),
    "zip": zipped({"a": bytes(40 << 20)}),
    "many members of a zip": zipped({str(i): bytes(4 << 20) for i in range(10)}),
    "nested": zipped({"a.tar.gz": gzip.compress(tar({"b.gz": SMALL}))}),
    "zip in a tar.gz": gzip.compress(tar({"a.zip": zipped({"b": bytes(40 << 20)})})),
}


@pytest.mark.parametrize("case", BOMBS)
def test_bombs(case: str, tmp_path: Path) -> None:
    path = write(tmp_path / "x", BOMBS[case])
    by_size = read_all(path, Limits(unpacked_bytes=16 << 20))
    by_ratio = read_all(path, Limits(ratio=20, free_bytes=16 << 20))
    assert by_size[0] <= 16 << 20
    assert "more than 16777216 bytes" in by_size[1]
    assert by_ratio[0] <= 17 << 20
    assert f"more than 20 times its size: {path}; raise max_unpacked_ratio" in by_ratio[1]
    whole = read_all(path, Limits())  # by default 64 MiB are free
    assert whole == (40 << 20, "")


def test_a_bomb_that_nobody_wants_is_stopped_too(tmp_path: Path) -> None:
    path = write(tmp_path / "x", gzip.compress(tar({"a": bytes(40 << 20), "b": ONE}), 1))
    (refusal,) = walk(path, {"b"}, Limits(unpacked_bytes=16 << 20))
    assert isinstance(refusal, Refusal)


def test_other_limits(tmp_path: Path) -> None:
    spooled = write(tmp_path / "spooled", gzip.compress(tar({"a.zip": zipped({"b": os.urandom(9000)})})))
    assert "more than 5000 bytes" in refusals(spooled, Limits(spooled_bytes=5000))[0]
    crowded = write(tmp_path / "crowded", tar({str(i): ONE for i in range(9)}))
    assert len(contents(crowded, Limits(members=5))) == 5
    assert "more than 5 members" in refusals(crowded, Limits(members=5))[0]
    deep = ONE
    for _ in range(9):
        deep = gzip.compress(deep)
    assert "packed more than 8 times" in refusals(write(tmp_path / "deep", deep))[0]


# --------------------------------------------------------------------------------------------------------------- nodes

UID = "6f1e9c3a-8b0d-4c53-9a56-0c6b1d2e3f40"
NODES = {  # path -> node
    "/logs/broker-3/server.log": 3,
    "/logs/controller_101/controller.log": 101,
    "/logs/kafka2/server.log": 2,
    "/logs/KAFKA.7/old/server.log": 7,
    "/logs/server-3/server.log": 3,
    "/logs/node_3/server.log": 3,
    "/logs/kafka-3/server.log": 3,
    "/logs/my-cluster-kafka-3/kafka/server.log": 3,
    "/logs/my-cluster-dual-role-2/server.log": 2,
    "/logs/prod-kafka-broker-12/state-change.log": 12,
    "/broker-1/broker-2/server.log": 2,
    f"/var/log/pods/kafka_my-cluster-kafka-4_{UID}/kafka/0.log": 4,
    f"/var/log/pods/kafka-2_my-cluster-kafka-4_{UID}/kafka/0.log": 4,
    f"/pods/kafka-broker-5_streaming_{UID}/kafka/0.log": 5,
    f"/var/log/containers/my-cluster-kafka-6_kafka_kafka-{'0af3' * 16}.log": 6,
    f"/var/log/containers/my-cluster-zookeeper-6_kafka_zookeeper-{'0af3' * 16}.log": None,
    "/logs/kafka3.log": 3,
    "/logs/broker-3.log": 3,
    "/logs/broker-3.log.2024-02-29-04": 3,
    "/logs/host/broker-3": 3,
    "/logs/my-cluster-kafka-0.log": 0,
    "/logs/broker-1/kafka2.log": 2,
    "/x/broker-3.tar.gz!/logs/server.log": 3,
    "/x/bundle.zip!/broker-4.tgz!/server.log": 4,
    "/x/broker-3.tar.gz!/broker-4/server.log": 4,
    "/logs/broker-3-server.log": 3,
    "/logs/broker3_server.log.2024-02-29-04": 3,
    "/logs/prod-broker-3-state-change.log": 3,
    "/logs/broker_3_logs/server.log": 3,
    "/x/broker-3-logs.tar.gz!/server.log": 3,
    "/logs/broker-3-1-server.log": None,
    "/logs/broker-20240101123000_logs/server.log": None,
    "/logs/kafka1-server.log": None,
    "/logs/kafka-logs-3.bak/server.log": None,
    "/logs/kafka01.prod.example.com/server.log": None,
    "/logs/b-1.orders.kafka.us-east-1.amazonaws.com/server.log": None,
    "/logs/broker-/server.log": None,
    "/logs/broker/server.log": None,
    "/logs/rack-3/server.log": None,
    "/logs/3/server.log": None,
    "/logs/kafka-2.4.1/server.log": None,
    "/opt/kafka_2.11-2.1.1/logs/server.log": None,
    "/opt/kafka-3.9.1/logs/server.log": None,
    "/opt/kafka_2.13-3.9.1-broker-2/logs/server.log": 2,
    "/opt/kafka_2.13-4.1.0/broker-2/logs/server.log": 2,
    "/logs/broker-20240101123000/server.log": None,
    "/logs/kafka-20240101/server.log": None,
    "/logs/kafka-2024010112/server.log": None,
    "/home/me/cases/KAFKA-16234/host-a/server.log": None,
    "/home/me/cases/KAFKA-16234/kafka-2/server.log": 2,
    "/opt/kafka-9092/server.log": None,
    "/opt/kafka-29093/server.log": None,
    "/logs/prod-kafka-2024.log": None,
    "/logs/kafka-2024/broker-3/server.log": 3,
    "/logs/kafka-2024-broker-3/server.log": 3,
    "/logs/kafka-1001/server.log": 1001,
    "/logs/my-kafka-zookeeper-1/zookeeper.log": None,
    "/logs/kafka-connect-1/connect.log": None,
    "/logs/server.log.3": None,
    "/logs/server-1.log": None,
    "/logs/controller-1.log": None,
    "/logs/kafka-1.log": None,
    "/logs/kafkaServer-gc.log.3.current": None,
    "/logs/state-change.log.2024-02-29-04": None,
    "server.log": None,
    "": None,
}


@pytest.mark.parametrize("path", NODES)
def test_node_of_path(path: str) -> None:
    assert node_of_path(path) == NODES[path]
