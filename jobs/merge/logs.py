"""The logs that a merge is given: found, looked into, opened; what cannot be read is said, and the rest is merged."""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from jobs.merge.request import Options, Refused
from udfs.logs.paths import name_on_disk, printable
from udfs.rules.regex import late

if TYPE_CHECKING:
    from udfs.logs.formats import Format
    from udfs.logs.layouts import Layout
    from udfs.merge.blocks import Account

_SAMPLE = 256 << 10
_LOOKED_AT = 16 << 10  # of it, where the first lines are of the usual layout
_COMPARED = 4 << 10  # and kept
_TAIL = 256 << 10
_COPIED = 1 << 20
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"PK", b"7z\xbc\xaf", b"Rar!", b"\x04\x22\x4d\x18")
_USUAL = late(
    rb"^(?:\xef\xbb\xbf)?\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] +[A-Z]+ +[^\n]* \([\w.$-]+\)\r?$", re.MULTILINE
)
_STAMPED = late(rb"^[^a-zA-Z\n]{0,8}\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d", re.MULTILINE)
_OTHER = late(
    rb"^\{|^\S+ +\| |^(?:\| )?(?:baseOffset|offset|payload|key): |\x1b|^[^\n]{1,200}(?:stdout|stderr) [FP] "
    rb"|^[^\[\n]{1,200}\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d|\0|^(?:INFO|WARN|ERROR) |^\[[\w$-]+\.[\w.$-]+\] +[A-Z]",
    re.MULTILINE,
)
_SPEAKER = late(
    rb"\[(?:Controller|Broker|QuorumController|Kafka ?Server|BrokerServer|ControllerServer) id=(\d{1,9})[\] ]"
)


def _no_account() -> Account:
    from udfs.merge.blocks import Account

    return Account()


@dataclass(eq=False)
class Log:
    """One stream of records."""

    name: str  # what users see
    path: str
    is_plain: bool  # bytes on disk as they are
    is_inside: bool  # a member of a bundle
    sample: bytes  # of all that was looked at, the begin
    size: int = 0  # of a plain one
    identity: tuple[int, int] | None = None  # of a plain one, so that another of its name is not taken for it
    held: int | None = None  # descriptor of a plain one that stays open, whatever becomes of its name
    is_usual: bool = False
    format: Format | None = None  # None: the usual one, or no log
    has_ids: bool = False  # whether topics have ids
    is_binary: bool = False
    node: int | None = None
    account: Account = field(default_factory=_no_account)
    matched: int = 0
    passed_over: int = 0  # bytes that a window made unnecessary to look at

    def __post_init__(self) -> None:
        self.is_usual = is_usual(self.sample[:_LOOKED_AT])
        if self.sample and not self.is_usual:
            from udfs.logs.formats import format_of

            self.format = format_of(self.sample)
            self.is_usual = self.format is not None and self.format.name == "apache"
        self.node = self._find_node()
        self.has_ids = any(word in self.sample for word in (b"topic ID", b"topic id", b"opicId"))
        self.is_binary = b"\0" in self.sample[:_COMPARED]
        self.sample = self.sample[:_COMPARED]  # there may be many logs

    @property
    def is_log(self) -> bool:
        """Whether records are in it."""
        return self.is_usual or self.format is not None

    @property
    def layout(self) -> Layout | None:
        """Its layout, None for the usual one."""
        return None if self.is_usual or self.format is None else self.format.layout

    def _find_node(self) -> int | None:
        """The node that most of the first records name as their writer, else the path; None: not known."""
        text = self.sample[: 1 << 16]
        if b"\0" in text[:64]:
            text = text.replace(b"\0", b"")  # UTF-16
        if nodes := _SPEAKER.findall(text):
            return int(max(sorted(set(nodes)), key=nodes.count))
        from udfs.logs.paths import node_of_path

        return node_of_path(self.name)

    def open(self) -> BinaryIO:
        """The bytes from the begin. Not of a member of a bundle. Raises OSError, also if the file is another one now."""
        if self.held is not None:
            return cast(BinaryIO, _Held(self.held))
        if self.is_plain:
            file = open(self.path, "rb", buffering=0)  # noqa: SIM115  # whoever asked closes it
            if self.identity != _identity(file.fileno()):
                file.close()
                raise OSError("it was replaced while it was read")
            return cast(BinaryIO, file)
        from udfs.logs.paths import Source
        from udfs.logs.sources import open_source

        return open_source(Source(self.path))

    def forget(self) -> None:
        """Begin to count anew."""
        self.account, self.matched = _no_account(), 0

    def tail_begin(self) -> int:
        """Where one of the last records of a plain file starts; 0 if the file is small."""
        from udfs.merge.blocks import starts_from

        if self.size <= 2 * _TAIL or not self.is_usual:
            return 0
        with self.open() as file:
            start, _ = next(starts_from(file, self.size - _TAIL, self.size), (0, b""))
        return start

    def count_lines(self, begin: int, end: int) -> int:
        """Line ends in a part of a plain file."""
        count = 0
        with self.open() as file:
            file.seek(begin)
            while begin < end and (data := file.read(min(_COPIED, end - begin))):
                count += data.count(b"\n")
                begin += len(data)
        return count

    def summary(self) -> str:
        """What was read of it, in a line."""
        from udfs.merge.times import as_text

        account = self.account
        layout = "apache" if self.is_usual else "no log" if self.format is None else self.format.name
        node = "of an unknown node" if self.node is None else f"of node {self.node}"
        span = ""
        if account.first is not None and account.last is not None:
            span = f" from {as_text(account.first)} to {as_text(account.last)} UTC"
        return (
            f"{self.name}: {layout} {node}, {counted(account.records, 'record')} read{span}, {self.matched:,} matched, "
            f"{counted(account.unframed_bytes, 'byte')} of no record"
        )


def _identity(descriptor: int) -> tuple[int, int]:
    about = os.fstat(descriptor)
    return about.st_dev, about.st_ino


class _Held(io.RawIOBase):
    """A file that stays open, to be read from its begin; as many at once as one likes. Closing it closes nothing."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._at = descriptor, 0

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """As many bytes as `buffer` takes; fewer at the end."""
        count = os.preadv(self._descriptor, [buffer], self._at)
        self._at += count
        return count

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a byte, counted from the begin."""
        self._at = offset
        return offset


def is_usual(sample: bytes) -> bool:
    """Whether a glance is enough: most first lines are whole ones of the usual layout, and no line is another's.

    Not so does not mean that it is another; but looking at all layouts takes longer than a small merge.
    """
    sample = sample[: sample.rfind(b"\n") + 1] or sample
    usual = sum(1 for _ in _USUAL.finditer(sample))
    return usual * 2 > sum(1 for _ in _STAMPED.finditer(sample)) and not _OTHER.search(sample)


def counted(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


class Reading:
    """Opens logs, and says what is wrong with them."""

    def __init__(self, keeps_duplicates: bool, say: Callable[[str], None]) -> None:
        self.keeps_duplicates, self.say = keeps_duplicates, say
        self.troubles = self._most_held = 0
        self._told: set[str] = set()
        self._temporary: list[str] = []
        self._held: list[int] = []

    def trouble(self, sentence: str) -> None:
        """Something could not be read; the rest is merged, and the exit code says so. Each thing is said once."""
        if sentence not in self._told:
            self._told.add(sentence)
            self.troubles += 1
            self.say(sentence)

    def lost(self, log: Log, error: Exception) -> None:
        """Say that a log could not be read to its end."""
        why = getattr(error, "strerror", None) or str(error)
        self.trouble(f"This file cannot be read: {log.name} ({why}); what came before was merged.")

    def hold(self, descriptor: int) -> int | None:
        """A descriptor of the same file that stays open to the end; None if there are too many of them."""
        if not self._held:
            import resource

            self._most_held = resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2
        if len(self._held) >= self._most_held:
            return None
        self._held.append(os.dup(descriptor))
        return self._held[-1]

    def no_log(self, log: Log) -> None:
        """Say of a stream that no record was found in it."""
        log.account.bytes = log.account.unframed_bytes = log.size or len(log.sample)
        if not log.sample:
            return
        if log.is_binary:
            self.trouble(f"This is no log but binary: {log.name}; it was left out.")
        else:
            self.say(f"No record was found in {log.name}; it was left out.")

    @contextmanager
    def guarded(self, log: Log, stream: BinaryIO | None = None) -> Iterator[None]:
        """What goes wrong while a log is read is said; what came before it is kept."""
        try:
            yield
            if stream is not None:
                from udfs.logs.sources import damage_of

                if damage := damage_of(stream):
                    self.trouble(f"This file is damaged: {log.name} ({damage}); what could be read of it was merged.")
        except BrokenPipeError:
            raise
        except (OSError, EOFError) as error:
            self.lost(log, error)
        except Exception as error:
            from udfs.errors import BadInput

            if not isinstance(error, BadInput):
                raise
            self.trouble(str(error))

    def members(self, path: str, given: Iterable[Log]) -> Iterator[tuple[Log, BinaryIO]]:
        """The streams in a bundle, one after another; those whose content was given already are passed over."""
        from udfs.logs.sources import Refusal, walk_bundle

        known = list(given)
        for found in walk_bundle(path):
            if isinstance(found, Refusal):
                self.trouble(found.sentence)
                continue
            stream = _Again(found.stream)
            log = Log(found.source.name, path, False, True, stream.sample)
            twin = None if self.keeps_duplicates else next((k for k in known if _are_twins(log, k)), None)
            if twin is not None and self._holds(twin, found.source):
                note = f"{log.name} has the same records as {twin.name}; they are read once (--keep-duplicates)."
                if note not in self._told:
                    self._told.add(note)
                    self.say(note)
                continue
            known.append(log)
            with self.guarded(log, found.stream):
                yield log, stream  # type: ignore[misc]  # as much of a stream as is needed

    def _holds(self, whole: Log, source: object) -> bool:
        """Whether a log begins with all bytes of a member."""
        from udfs.logs.paths import Source
        from udfs.logs.sources import open_source

        assert isinstance(source, Source)
        of_whole = whole.open if not whole.is_inside else None
        if of_whole is None:
            path, _, member = whole.name.partition("!/")
            inside = Source(path, member)
            return _is_begin(lambda: open_source(source), lambda: open_source(inside))
        return _is_begin(lambda: open_source(source), of_whole)

    def spool(self, given: str) -> str:
        """A pipe's bytes in a file, for they are read twice. Raises OSError."""
        import shutil
        import signal
        import tempfile

        if given == "-" and sys.stdin is None:
            raise OSError(errno.EBADF, "it is closed")
        with suppress(ValueError):  # not the main thread
            signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # so that the file is removed
        with tempfile.NamedTemporaryFile(prefix="kafka-rewind-", delete=False) as file:
            self._temporary.append(file.name)
            if given == "-":
                shutil.copyfileobj(sys.stdin.buffer, file, _COPIED)
            else:
                with open(given, "rb") as pipe:
                    shutil.copyfileobj(pipe, file, _COPIED)
        return file.name

    def clean(self) -> None:
        """Close what was held, remove what was spooled."""
        for descriptor in self._held:
            os.close(descriptor)
        self._held.clear()
        for path in self._temporary:
            if os.path.exists(path):
                os.remove(path)


class _Again:
    """A stream that can only be read on, of which a sample was taken."""

    def __init__(self, stream: BinaryIO) -> None:
        self.sample = stream.read(_SAMPLE)
        self._first, self._stream = memoryview(self.sample), stream

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes; empty at the end."""
        if self._first:
            size = len(self._first) if size < 0 else size
            data, self._first = bytes(self._first[:size]), self._first[size:]
            return data
        return self._stream.read(size)

    def readinto(self, view: memoryview) -> int:
        """Into memory that is there already; 0 at the end."""
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)


# ---- finding --------------------------------------------------------------------------------------------------------
def found_paths(reading: Reading, options: Options) -> list[str]:
    """Paths of all files that were given, in that order; `-` is standard input.

    Raises Refused for what `--logs` names and is not there; of a plain argument it is said, and the others are merged.
    """
    strict = [path for text in options.logs for path in _split(text)]
    for path in strict:
        if not os.path.lexists(path):
            raise Refused(f"This file does not exist: {path}; nothing was merged.")
        if os.path.isdir(path):
            raise Refused(f"This is a folder: {path}; give it without --logs to merge the logs in it.")
    if options.logs_regex is not None:
        strict += _matching(reading, options.logs_regex)
    return strict + [path for given in options.paths for path in _under(reading, given)]


def _split(text: str) -> list[str]:
    """The names in `A,B`, without blanks around them; a comma at the end is fine. A glob is what it matches."""
    parts = text.split(",")
    names: list[str] = []
    for part in parts[:-1] if len(parts) > 1 and not parts[-1] else parts:
        name = part if os.path.lexists(part) else part.strip()
        if not name:
            raise Refused(f"--logs {text!r} has an empty name; give files, with commas between them.")
        names += _globbed(name) or [name]
    return names


def _globbed(name: str) -> list[str]:
    import glob

    if os.path.lexists(name) or not glob.has_magic(name):
        return []
    return sorted(path for path in glob.glob(name, recursive=True) if not os.path.isdir(path))


def _matching(reading: Reading, text: str) -> list[str]:
    """Files of one folder in whose names the regular expression is found; hidden ones too, by name."""
    folder, slash, pattern = text.rpartition("/")
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise Refused(
            f"--logs-regex {text!r}: {pattern!r} is no regular expression ({error}); a glob can be given without it."
        ) from None
    try:
        names = sorted(os.listdir(folder or slash or "."))
    except OSError as error:
        raise Refused(f"--logs-regex {text!r}: this folder cannot be read: {folder} ({error.strerror}).") from None
    found = [f"{folder}{slash}{name}" for name in names if compiled.search(name)]
    files = [path for path in found if not os.path.isdir(path)]
    reading.say(f"--logs-regex found {counted(len(files), 'file')}{': ' if files else ''}{', '.join(files)}")
    return files


def _under(reading: Reading, given: str) -> list[str]:
    """The files of one plain argument."""
    if given == "-" or _is_pipe(given):
        return [given]
    if os.path.isfile(given):
        return [given]
    from udfs.errors import BadInput
    from udfs.logs.paths import find, unreadable

    paths = []
    try:
        for source in find([given]):
            if _is_pipe(source.path):  # nobody may ever write to it
                reading.trouble(unreadable(source.path) or "")
            else:
                paths.append(source.path)
    except BadInput as error:
        reading.trouble(str(error))
    return paths


def _is_pipe(path: str) -> bool:
    import stat

    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def single_logs(reading: Reading, paths: Iterable[str]) -> tuple[list[Log], list[str]]:
    """Single streams, opened for a look, and the paths of bundles, which are read member by member later."""
    logs: list[Log] = []
    bundles: list[str] = []
    for given in paths:
        path, name, held = name_on_disk(given), printable(given), None
        try:
            if given == "-" or _is_pipe(given):
                name = "standard input" if given == "-" else name
                path = reading.spool(given)
            with open(path, "rb", buffering=0) as file:
                sample, size, identity = file.read(_SAMPLE), os.fstat(file.fileno()).st_size, _identity(file.fileno())
                is_plain = not sample.startswith(_PACKED) and sample[257:262] != b"ustar"
                held = reading.hold(file.fileno()) if is_plain else None
        except OSError as error:
            reading.trouble(f"This file cannot be read: {name} ({error.strerror}); the others are merged.")
            continue
        if is_plain:
            logs.append(Log(name, path, True, False, sample, size, identity, held))
        else:
            _look_into(reading, name, path, logs, bundles)
    return logs, bundles


def _look_into(reading: Reading, name: str, path: str, logs: list[Log], bundles: list[str]) -> None:
    """What is in a compressed file: one stream, those of a bundle, or nothing that can be read."""
    from udfs.logs.sources import Opened, walk_bundle

    first = next(iter(walk_bundle(path)), None)
    if isinstance(first, Opened) and first.source.member == "":
        about = os.stat(path)
        identity = (about.st_dev, about.st_ino)
        log = Log(name, path, first.seekable, False, b"", about.st_size if first.seekable else 0, identity)
        with reading.guarded(log), log.open() as stream, reading.guarded(log, stream):
            log = replace(log, sample=stream.read(_SAMPLE))
        logs.append(log)
    elif first is not None and first.source.member == "" and not isinstance(first, Opened):
        reading.trouble(first.sentence)
    elif path not in bundles or reading.keeps_duplicates:
        bundles.append(path)


# ---- the same content twice -----------------------------------------------------------------------------------------
def without_duplicates(reading: Reading, logs: list[Log]) -> list[Log]:
    """Of logs with the same content one, of a log and its begin the whole. What is left out is said."""
    if reading.keeps_duplicates:
        return logs
    kept: list[Log] = []
    for log in logs:
        for other in [other for other in kept if _are_twins(log, other)]:
            is_one_file = os.path.realpath(log.path) == os.path.realpath(other.path)
            if is_one_file or _is_begin(log.open, other.open):
                reading.say(f"{log.name} has the same records as {other.name}; they are read once (--keep-duplicates).")
                break
            if _is_begin(other.open, log.open):
                reading.say(f"{other.name} is the begin of {log.name}; it is read once (--keep-duplicates).")
                kept[kept.index(other)] = log
                break
        else:
            kept.append(log)
    return kept


def _are_twins(one: Log, other: Log) -> bool:
    """Whether two logs begin alike."""
    size = min(len(one.sample), len(other.sample))
    return size > 0 and one.sample[:size] == other.sample[:size]


def _is_begin(short: Callable[[], BinaryIO], whole: Callable[[], BinaryIO]) -> bool:
    """Whether a stream begins with all bytes of another one."""
    from udfs.errors import BadInput

    try:
        with short() as one, whole() as other:
            while data := one.read(_COPIED):
                rest = memoryview(data)
                while rest:
                    piece = other.read(len(rest))
                    if not piece or piece != rest[: len(piece)]:
                        return False
                    rest = rest[len(piece) :]
    except (OSError, EOFError, BadInput):
        return False
    return True
