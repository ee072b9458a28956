"""Logs in object stores and Hadoop file systems: listed, and read in ranges, by pyarrow's file systems.

pyarrow itself reaches S3, Google and Azure, with the credentials that users of each store have (environment, profiles,
the machine's role); everything else is fsspec's, where that is installed with the store's own package. Nothing here is
imported or looked at for paths of this machine.
"""

from __future__ import annotations

import fnmatch
import io
import os
import re
from functools import cache
from typing import Any, BinaryIO, cast

from udfs.errors import BadInput

READ_AHEAD = 4 << 20
"""Bytes asked for at once: each is a request of some 50 ms in an object store."""
_OTHER_NAMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfs": "abfss"}
_OWN = {"s3", "gs", "abfss"}
"""Schemes that pyarrow's wheels reach without anything else."""
_PACKAGES = {"hdfs": "hdfs-native", "viewfs": "hdfs-native", "webhdfs": "requests", "sftp": "paramiko"}
"""What fsspec needs besides, by scheme."""
SEE = "docs/how-to-stores.md has what each store needs"


def is_url(path: str) -> bool:
    """Whether a path is that of a store: it has a scheme other than `file`.

    >>> [is_url(path) for path in ("s3://b/x", "hdfs://h:1/x", "dbfs:/x", "file:///x", "/x", "c:/x")]
    [True, True, True, False, False, False]
    """
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):/", path)
    return scheme is not None and scheme[1].lower() != "file"


def local_path(path: str) -> str:
    """The path of this machine that a `file:` URL means, or as which Databricks mounts a `dbfs:/` one; else as it is.

    >>> local_path("file:///var/log"), local_path("s3://b/x"), local_path("/x")
    ('/var/log', 's3://b/x', '/x')
    """
    if match := re.match(r"file:(?://)?(?=/)", path):
        return path[match.end() :]
    if path.startswith("dbfs:/"):
        inside = "/" + path.removeprefix("dbfs:").lstrip("/")
        folder = inside if inside.startswith("/Volumes/") else f"/dbfs{inside}"
        if os.path.isdir("/Volumes" if folder is inside else "/dbfs"):
            return folder
    return path


@cache
def _reached(scheme: str, host: str) -> tuple[Any, str]:
    """The file system of a store, and what stands there before a path's own folders."""
    from pyarrow.fs import FileSystem

    if scheme == "dbfs":
        raise BadInput(f"dbfs:/ is read on Databricks only, where it is mounted; {SEE}.")
    name = _OTHER_NAMES.get(scheme, scheme)
    url = f"{name}://{host}/" if name in _OWN else f"fsspec+{scheme}://{host}/"
    try:
        system, root = FileSystem.from_uri(url)
    except (ImportError, OSError, ValueError) as error:
        if isinstance(error, ImportError) or "libjvm" in str(error) or "libhdfs" in str(error):
            needed = " and ".join(["fsspec", *([_PACKAGES[scheme]] if scheme in _PACKAGES else [])])
            raise BadInput(f"Logs at {scheme}:// need {needed}, installed on driver and executors; {SEE}.") from None
        raise BadInput(f"This store cannot be reached: {scheme}://{host} ({_reason(error)}); {SEE}.") from None
    return system, root.rstrip("/")


def _place(url: str) -> tuple[Any, str, str]:
    """File system, the path in it, and what stands there for the begin of the URL, `_begin`. Raises BadInput."""
    scheme, rest = _begin(url), url[len(_begin(url)) :]
    name, _, host = scheme.partition(":")
    system, root = _reached(name.lower(), host.removeprefix("//"))
    return system, root + rest.rstrip("/"), root


def _begin(url: str) -> str:
    """Scheme and host.

    >>> _begin("s3://bucket/a/b"), _begin("hdfs:///a"), _begin("dbfs:/a"), _begin("s3://bucket")
    ('s3://bucket', 'hdfs://', 'dbfs:', 's3://bucket')
    """
    match = re.match(r"[^:/]+:(//[^/]*)?", url)
    assert match is not None  # is_url
    return match[0]


def find_in_store(log: str) -> list[tuple[str, int]]:
    """Files at a URL, under it as a folder, or that it matches as a glob, with their sizes; hidden ones and Delta
    tables are passed over. One listing. Raises BadInput for what is not there or cannot be listed.
    """
    from pyarrow.fs import FileSelector, FileType

    system, path, root = _place(log)
    try:
        info = system.get_file_info(path)
        if info.type == FileType.File:
            return [(log, info.size)]
        pattern = None
        folder = path
        if info.type == FileType.NotFound and (magic := re.search(r"[*?\[]", path)):
            folder, pattern = path[: magic.start()].rpartition("/")[0], _pattern(path)
        selector = FileSelector(folder, recursive=True, allow_not_found=True)
        files = [(f.path, f.size) for f in system.get_file_info(selector) if f.type == FileType.File]
    except (OSError, ValueError) as error:
        raise BadInput(f"These logs cannot be listed: {log} ({_reason(error)}); {SEE}.") from None
    # fsspec's may leave the first slash out
    inside = root.lstrip("/")
    files = [(f"{root}/" + name.lstrip("/").removeprefix(inside).lstrip("/"), size) for name, size in files]
    tables = {name.partition("/_delta_log/")[0] for name, _ in files if "/_delta_log/" in name}
    wanted = [
        (_begin(log) + name[len(root) :], size)
        for name, size in files
        if (pattern is None or pattern.fullmatch(name))
        and not any(part.startswith(".") for part in name[len(folder) :].split("/"))
        and not any(name.startswith(f"{table}/") for table in tables)
    ]
    if not wanted:
        kind = "pattern matches no file" if pattern else "file or folder does not exist, or holds no files"
        raise BadInput(f"This {kind}: {log}; give a log file, a folder of logs, or a quoted glob.")
    return wanted


def _pattern(glob: str) -> re.Pattern[str]:
    """A glob as an expression over whole paths: `**` is any number of folders, `*` stays within a name.

    >>> bool(_pattern("b/**/*.log").fullmatch("b/x/y/a.log")), bool(_pattern("b/*.log").fullmatch("b/x/a.log"))
    (True, False)
    """
    *folders, name = glob.split("/")
    parts = [r"(?:[^/]+/)*" if folder == "**" else f"{_within(folder)}/" for folder in folders]
    return re.compile("".join([*parts, ".*" if name == "**" else _within(name)]))


def _within(name: str) -> str:
    return fnmatch.translate(name).removesuffix(r"\Z").removesuffix(r"\z").replace(".*", "[^/]*")


def open_in_store(url: str) -> tuple[BinaryIO, int]:
    """A file as a seekable stream, and its size. Raises OSError with the store's reason, and BadInput."""
    system, path, _ = _place(url)
    try:
        file = system.open_input_file(path)
        return cast(BinaryIO, io.BufferedReader(_StoreStream(file), READ_AHEAD)), int(file.size())
    except (OSError, ValueError) as error:
        raise OSError(_reason(error)) from None


class _StoreStream(io.RawIOBase):
    """A file of a store by ranges."""

    def __init__(self, file: Any) -> None:
        self._file, self._size, self._at = file, int(file.size()), 0

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """As many bytes as `buffer` takes; fewer only at the end. Raises OSError with the store's reason."""
        view = memoryview(buffer).cast("B")
        size = max(min(len(view), self._size - self._at), 0)
        try:
            data = self._file.read_at(size, self._at) if size else b""
        except (OSError, ValueError) as error:
            raise OSError(_reason(error)) from None
        view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a byte of the file."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(base + offset, 0)
        return self._at

    def close(self) -> None:
        """Close the file, too."""
        if not self.closed:
            self._file.close()
        super().close()


def _reason(error: Exception) -> str:
    """What a store says, on one line without its full stop."""
    text = re.sub(r"\s+", " ", str(error)).strip().rstrip(".")
    text = re.sub(r"^\[Errno \d+\] ", "", text).partition(" Detail: ")[0].rstrip(".")
    return text[:300] or type(error).__name__
