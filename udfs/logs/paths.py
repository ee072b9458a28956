"""Where logs are: files, folders, globs, also in stores; and the nodes that their paths name. Nothing is read here."""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from udfs.errors import BadInput
from udfs.logs.stores import find_in_store, is_url, local_path
from udfs.rules.regex import late

INSIDE = "!/"
"""Between a bundle and its member in what users see: `/x/bundle.tar.gz!/broker-1/state-change.log`."""


@dataclass(frozen=True, order=True)
class Source:
    """Where a stream is: a file on disk, and in a bundle its member; nested members are joined by INSIDE."""

    path: str
    member: str = ""  # empty: the file itself
    size: int | None = field(default=None, compare=False)  # bytes of the file where it was listed with them

    @property
    def name(self) -> str:
        """What users see."""
        return f"{self.path}{INSIDE}{self.member}" if self.member else self.path


def find(logs: Iterable[str]) -> list[Source]:
    """All files under the given files, folders and globs, by absolute path or URL, sorted, each once; bundles are not
    opened, and a store is listed once for each of its URLs.

    Raises BadInput for what does not exist, matches nothing, or is named itself and may not be read. What may not be
    read inside a folder is found like the rest, and is refused when it is opened.
    """
    paths: set[str] = set()
    in_stores: dict[str, int] = {}
    for named in logs:
        log = local_path(named)
        if is_url(log):
            in_stores |= {printable(path): size for path, size in find_in_store(log)}
            continue
        matches = [log] if os.path.lexists(log) else sorted(glob.glob(log, recursive=True))
        if not matches and (sentence := _hidden_by(log)):
            raise BadInput(sentence)
        if not matches:
            kind = "pattern matches no file" if glob.has_magic(log) else "file or folder does not exist"
            raise BadInput(f"This {kind}: {log}; give a log file, a folder of logs, or a quoted glob.")
        files = [path for match in matches for path in (_walk(match) if os.path.isdir(match) else [match])]
        if not files and any(holds_tables(match) for match in matches):
            raise BadInput(f"This is a warehouse, not logs: {log}; give the folder that Kafka's logs are in.")
        if not files:
            raise BadInput(f"This folder holds no files: {log}; give the folder that Kafka's logs are in.")
        if log in matches and (sentence := unreadable(log)):
            raise BadInput(sentence)
        paths.update(printable(os.path.abspath(path)) for path in files)
    return sorted([*(Source(path) for path in paths), *(Source(path, "", size) for path, size in in_stores.items())])


def _walk(top: str) -> Iterator[str]:
    """All files under a folder, and the folders that cannot be listed; hidden ones are left out, a loop of links ends.

    Delta tables are passed over, too: the warehouse may lie in the folder that is read every night.
    """
    closed: list[str] = []
    seen: set[str] = set()
    for folder, subfolders, files in os.walk(top, followlinks=True, onerror=lambda e: closed.append(e.filename)):
        real = os.path.realpath(folder)
        if real in seen or "_delta_log" in subfolders:
            subfolders.clear()
            continue
        seen.add(real)
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        yield from (os.path.join(folder, name) for name in sorted(files) if not name.startswith("."))
    yield from closed


def holds_tables(path: str) -> bool:
    """Whether a folder is a Delta table or holds some."""
    try:
        return any(os.path.isdir(os.path.join(folder, "_delta_log")) for folder in (path, *_subfolders(path)))
    except OSError:
        return False


def _subfolders(path: str) -> list[str]:
    with os.scandir(path) as entries:
        return [entry.path for entry in entries if entry.is_dir()]


def unreadable(path: str) -> str | None:
    """Why a file or folder cannot be read, as a sentence; None if it can."""
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            os.listdir(path)
        elif stat.S_ISREG(mode):
            os.close(os.open(path, os.O_RDONLY))
        else:
            return f"This is no regular file: {path}; give log files or folders of them."
    except OSError as error:
        if os.path.islink(path) and not os.path.exists(path):
            return f"This is no regular file: {path} (a link to nothing); give log files or folders of them."
        kind = "folder" if os.path.isdir(path) else "file"
        return f"This {kind} cannot be read: {printable(path)} ({error.strerror}); check its permissions."
    return None


def _hidden_by(path: str) -> str | None:
    """Why a path cannot be looked at: the sentence of a folder on the way that may not be entered; None if all may."""
    try:
        os.lstat(path)
    except PermissionError as error:
        name = f"{printable(path)} ({error.strerror})"
        return f"This file or folder cannot be reached: {name}; check the permissions of its folders."
    except OSError:
        pass
    return None


_CONTROL = late(r"[\x00-\x1f\x7f]")
_ESCAPED = late(r"\\x([01][0-9a-f]|7f|[89a-f][0-9a-f])")


def printable(name: str) -> str:
    """A name that can be printed on one line and stored: control characters and bytes that are not UTF-8 are escaped.

    >>> printable("a\\nb.log")
    'a\\\\x0ab.log'
    """
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return _CONTROL.sub(lambda m: f"\\x{ord(m[0]):02x}", text)


def name_on_disk(path: str) -> str:
    """The inverse of `printable`, for a path of a file that is there."""

    def unescaped(m: re.Match[str]) -> str:
        byte = int(m[1], 16)
        return chr(byte if byte < 0x80 else 0xDC00 + byte)

    meant = _ESCAPED.sub(unescaped, path)
    if is_url(path):
        return path
    return meant if meant != path and not os.path.lexists(path) and os.path.lexists(meant) else path


_WORDS = "kafka|broker|brokers|controller|controllers|node|server|combined|mixed|dual-role"
_SURE = r"(?P<sure>(?:.*[-_.])?(?:broker|node)[-_.]?)"  # behind its number may stand what the logs are
_FOLDER = late(
    rf"(?:{_SURE}|(?:.*[-_.])?(?:{_WORDS})[-_.]?)(?P<number>\d{{1,9}})(?(sure)(?:[-_](?:kafka[-_])?logs?)?)",
    re.IGNORECASE,
)
_FILE = late(  # `server-1.log` and `controller.1.log` may be rotated ones, `broker-1.log` and `kafka3.log` are not
    rf"(?:(?P<sure>(?:.*[-_.])?(?:broker|node)[-_]?)|(?:{_WORDS})|[a-z].*-(?:{_WORDS})-)(?P<number>\d{{1,9}})"
    r"(?(sure)(?:[-_.](?:server|controller|state-change))?)(?:\.(?:log|out|txt)\b.*)?",
    re.IGNORECASE,
)
_NO_NODE = late(  # a year, a port, or an issue of Kafka's
    r"(?:.*[-_.])?(?:(?i:kafka)[-_.]?(?:20[1-4]\d|[1-4]?909\d)|KAFKA-\d{4,6})"
)
_OTHERS = late(r"zookeeper|connect|exporter|mirror|registry", re.IGNORECASE)
_POD = late(r"(?P<first>[a-z0-9.-]+)_(?P<second>[a-z0-9.-]+)_[0-9a-f-]{32,36}")
_CONTAINER = late(r"(?P<pod>[a-z0-9.-]+)_[a-z0-9-]+_[a-z0-9-]+-[0-9a-f]{64}\.log")
_APPENDERS = late(  # of the files `log4j.properties` and the start script come with; 4.0.0 has `stage-change.log`
    r"(?:server|controller|sta[tg]e-change|log-cleaner|kafka-request|kafka-authorizer|kafkaServer)\.(?:log|out)"
    r"(?:[.-]\d{4}-\d\d-\d\d(?:-\d\d)?)?(?:\.\d+)?(?:\.(?:gz|zip|bz2|xz|zst))?"
)
_ARCHIVE = late(r"(?:\.(?:tar|tgz|tbz2?|txz|zip|gz|bz2|xz|zst))+!?$", re.IGNORECASE)


def log_folder(path: str) -> str | None:
    """The folder of a file that one of Kafka's own appenders writes, rotated and compressed or not; None of others.

    >>> log_folder("/opt/kafka/logs/server.log.2026-11-21-04.gz"), log_folder("/opt/kafka/logs/kafka-2.log")
    ('/opt/kafka/logs', None)
    """
    folder, _, file = path.rpartition("/")
    return folder if _APPENDERS.fullmatch(file) else None


def node_of_path(path: str) -> int | None:
    """The node that a file or one of its folders names, the innermost that does: `broker-3/`, `my-cluster-kafka-3/`, a
    pod's folder `kafka_my-cluster-kafka-3_<uid>/`, `kafka3.log`, `broker-3.tar.gz!/server.log`. None if none does.

    A number that may as well be a rotated file's (`server-1.log`), a release (`kafka-3.9.1`), a date, a year, a port or
    an issue's (`KAFKA-16234`) is no node.
    """
    *folders, file = [part for part in path.split("/") if part not in ("", ".")] or ("",)
    container = _CONTAINER.fullmatch(file)
    node = _number(_FOLDER, container["pod"]) if container else _number(_FILE, file)
    for folder in reversed(folders):
        if node is not None:
            break
        node = _node_of_folder(_ARCHIVE.sub("", folder))
    return node


def _node_of_folder(name: str) -> int | None:
    if pod := _POD.fullmatch(name):  # kubelet writes namespace_pod_uid, collectors also pod_namespace_uid
        second, first = _number(_FOLDER, pod["second"]), _number(_FOLDER, pod["first"])
        return first if second is None else second
    return _number(_FOLDER, name)


def _number(form: re.Pattern[str], name: str) -> int | None:
    m = form.fullmatch(name)
    if m is None or _OTHERS.search(name) or _NO_NODE.fullmatch(name, 0, m.end("number")):
        return None
    if re.fullmatch(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])\d{2,3}", m["number"]):
        return None
    return int(m["number"])
