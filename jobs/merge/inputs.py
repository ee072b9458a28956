"""What a merge is given to read: opened, held, copied where it can be read only once, and complained about."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, BinaryIO

from jobs.merge.duplicates import begin_alike, is_begin, same_content
from jobs.merge.log import Log, first_look
from udfs.errors import BadInput
from udfs.merge.scratch import temporary_space

_COPIED_AT_ONCE = 1 << 20


class Inputs:
    """The inputs of one merge. `troubles`: how many of them could not be read, or not to their end."""

    def __init__(self, keeps_duplicates: bool, say: Callable[[str], None]) -> None:
        self.keeps_duplicates, self.say = keeps_duplicates, say
        self.troubles = self._most_held = 0
        self._sentences: set[str] = set()  # that must not be repeated
        self._temporary_files: list[str] = []
        self._held: list[int] = []

    def trouble(self, sentence: str) -> None:
        """Something could not be read; the rest is merged, and the exit code says so. Each thing is said once."""
        if sentence not in self._sentences:
            self._sentences.add(sentence)
            self.troubles += 1
            self.say(sentence)

    def cut_short(self, log: Log, error: Exception) -> None:
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
        """Say of a stream that there is no record in it."""
        log.totals.bytes = log.totals.unframed_bytes = log.size or len(log.sample)
        if not log.sample:
            return
        if log.unread:
            from udfs.logs.survey import unread_sentence

            self.trouble(unread_sentence(log.name, log.unread))
        elif log.is_binary:
            self.trouble(f"This is a binary file, not a log: {log.name}; it was left out.")
        else:
            self.say(f"There is no log record in {log.name}; nothing of it is merged.")

    @contextmanager
    def guarded(self, log: Log, stream: BinaryIO | None = None) -> Iterator[None]:
        """What goes wrong while a log is read is said; what came before it is kept."""
        try:
            yield
            if stream is not None:
                from udfs.logs.byte_streams import damage_of

                if damage := damage_of(stream):
                    self.trouble(f"This file is damaged: {log.name} ({damage}); what could be read of it was merged.")
        except BrokenPipeError:
            raise
        except (OSError, EOFError) as error:
            self.cut_short(log, error)
        except BadInput as error:
            self.trouble(str(error))

    def members(self, path: str, others: Iterable[Log]) -> Iterator[tuple[Log, BinaryIO]]:
        """The streams in a bundle, one after another. One with the content of another log is passed over."""
        from udfs.logs.sources import Refusal, walk_bundle

        logs = list(others)
        for member in walk_bundle(path):
            if isinstance(member, Refusal):
                self.trouble(member.sentence)
                continue
            stream = _Sampled(member.stream)
            log = Log(member.source.name, path, False, True, stream.sample)
            twin = None if self.keeps_duplicates else next((other for other in logs if begin_alike(log, other)), None)
            if twin is not None and self._holds(twin, member.source):
                sentence = same_content(log, twin)
                if sentence not in self._sentences:
                    self._sentences.add(sentence)
                    self.say(sentence)
                continue
            logs.append(log)
            with self.guarded(log, member.stream):
                yield log, stream  # type: ignore[misc]  # as much of a stream as is needed

    def _holds(self, whole: Log, source: object) -> bool:
        """Whether a log begins with all bytes of a member."""
        from udfs.logs.paths import INSIDE, Source
        from udfs.logs.sources import open_source

        assert isinstance(source, Source)
        if not whole.is_inside:
            return is_begin(lambda: open_source(source), whole.open)
        path, _, member = whole.name.partition(INSIDE)
        inside = Source(path, member)
        return is_begin(lambda: open_source(source), lambda: open_source(inside))

    def spool(self, name: str) -> str:
        """Path of a temporary copy of a pipe (`-`: standard input), for logs are read twice.

        Raises OSError if the pipe cannot be read, Failed if there is no room for the copy.
        """
        import signal
        import tempfile

        if name == "-" and sys.stdin is None:
            raise OSError(errno.EBADF, "it is closed")
        with suppress(ValueError):  # not the main thread
            signal.signal(signal.SIGTERM, _terminate)  # so that the file is removed
        with temporary_space(), tempfile.NamedTemporaryFile(prefix="kafka-rewind-", delete=False) as file:
            self._temporary_files.append(file.name)
        with open(file.name, "wb") as copy:
            if name == "-":
                _copy(sys.stdin.buffer, copy)
            else:
                with open(name, "rb") as pipe:
                    _copy(pipe, copy)
        return file.name

    def clean(self) -> None:
        """Close what was held, remove what was spooled."""
        for descriptor in self._held:
            os.close(descriptor)
        self._held.clear()
        for path in self._temporary_files:
            if os.path.exists(path):
                os.remove(path)


class Terminated(BaseException):
    """SIGTERM came."""


def _terminate(number: int, frame: object) -> None:
    raise Terminated


def _copy(source: BinaryIO, target: IO[bytes]) -> None:
    while data := source.read(_COPIED_AT_ONCE):
        with temporary_space():
            target.write(data)
            target.flush()


class _Sampled:
    """A stream that can only be read on, of which a sample was taken."""

    def __init__(self, stream: BinaryIO) -> None:
        self._hole, self.sample = first_look(stream)
        self._first, self._stream = memoryview(self.sample), stream

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes; empty at the end."""
        if self._hole:
            count = self._hole if size < 0 else min(size, self._hole)
            self._hole -= count
            return bytes(count)
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
