"""`kafka-rewind merge`: one history out of many logs, merged and filtered. No Spark, no JVM."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import IO, TYPE_CHECKING

from jobs.exits import BAD_INPUT, DONE, FAILED, INTERRUPTED, complain, discard, not_written
from jobs.merge.duplicates import without_duplicates
from jobs.merge.find_logs import paths_of, single_logs
from jobs.merge.inputs import Inputs, Terminated
from jobs.merge.reading import LogReader
from jobs.merge.request import MergeRequest, Options, local_time, understood
from jobs.merge.summary import sentences
from jobs.progress import SILENT, Progress, on_terminal
from udfs.errors import BadInput, Failed

if TYPE_CHECKING:
    from udfs.merge.order import OrderedRecords, RecordStream


TERMINATED = 128 + 15
"""The exit code after SIGTERM, as shells have it."""


class OutputLost(Exception):
    """The output cannot be written: a full disk, most often."""

    def __init__(self, cause: OSError) -> None:
        self.cause = cause


def merge(
    options: Options,
    out: IO[bytes],
    say: Callable[[str], None],
    is_terminal: bool = False,
    progress: Progress = SILENT,
) -> int:
    """Merge the logs to `out`, say on the side what happened; the exit code.

    Raises OutputLost, or BrokenPipeError if nobody reads `out` any more.
    """
    inputs = Inputs(options.keep_duplicates, say)
    try:
        request = understood(options)
        MergeRun(request, inputs, out, is_terminal, progress).run()
        return BAD_INPUT if inputs.troubles else DONE
    except BadInput as error:
        say(str(error))
        return BAD_INPUT
    except Failed as error:
        say(str(error))
        return FAILED
    except BrokenPipeError:
        raise
    except OSError as error:
        say(f"The merge ended early ({error.strerror or error}); what was printed is not all.")
        return FAILED
    finally:
        inputs.clean()


class MergeRun:
    """One run: find the logs, learn what must be known of all, read what is wanted, write it in order."""

    def __init__(
        self, request: MergeRequest, inputs: Inputs, out: IO[bytes], is_terminal: bool, progress: Progress = SILENT
    ) -> None:
        self.request, self.inputs, self.out = request, inputs, out
        self.is_terminal, self.progress = is_terminal, progress
        self.printed = self.written_bytes = 0

    def run(self) -> None:
        """Do it. Raises BadInput, Failed, OSError, OutputLost."""
        options, inputs = self.request.options, self.inputs
        logs, bundles = single_logs(inputs, paths_of(inputs, options))
        if inputs.troubles and not logs and not bundles:
            return  # it is said what is wrong
        if not options.keep_duplicates:
            logs = without_duplicates(logs, inputs.say)
        self.reader = LogReader(self.request, inputs, logs, bundles)
        with self.progress.step("reading logs", self._bytes_to_read(), "B", self._bytes_read):
            self._look_ahead()
            streams = self.reader.wanted()
        if self.is_terminal:
            self.progress.close()  # records come now
        if options.count:
            self._write(str(sum(log.matched for log in self.reader.logs)).encode() + b"\n")
        else:
            with self.progress.step("writing records", None, "B", lambda: self.written_bytes):
                self._write_all(streams)
        for sentence in sentences(self.request, self.reader.by_place(), self.printed, self._hints()):
            inputs.say(sentence)

    def _hints(self) -> Iterable[str]:
        """What is to be said of the topic that was asked for."""
        if self.request.filters.topic is None:
            return ()
        from jobs.merge.topic_hints import topic_sentences

        return topic_sentences(self.request, self.reader, sum(log.matched for log in self.reader.logs))

    def _bytes_to_read(self) -> int | None:
        """Bytes of all logs; None if some are compressed, or members of bundles."""
        logs = self.reader.logs
        return None if self.reader.bundles or not all(log.is_plain for log in logs) else sum(log.size for log in logs)

    def _bytes_read(self) -> int:
        return sum(log.totals.bytes + log.passed_over for log in [*self.reader.logs])

    # ---- what must be known before -----------------------------------------------------------------------------------
    def _look_ahead(self) -> None:
        """The clocks' skews, the last record's time, the topic's ids: each only if it is needed."""
        request, reader = self.request, self.reader
        if request.options.skew == "auto":
            from jobs.merge.clocks import estimated

            corrections, sentence = estimated(reader.all_blocks(with_lines=True))
            reader.skews = {**corrections}
            self.inputs.say(sentence)
        else:
            reader.skews = dict(request.skews)
        if request.is_relative:
            first, last = reader.time_span() or (None, None)
            request.set_window(last, first)
            if last is not None and (meaning := request.relative_meaning(first, last)):
                from udfs.merge.times import as_text

                own = as_text(local_time(last, request.own_zone))
                self.inputs.say(f"The last record is from {own}; {meaning}.")
        if request.filters.topic is not None and (reader.bundles or any(log.has_ids for log in reader.logs)):
            self._find_ids(request.filters.topic)

    def _find_ids(self, topic: str) -> None:
        """What ids the logs give the topic: records of KRaft often name nothing else."""
        from dataclasses import replace

        from udfs.merge.topic_filter import topic_ids_in

        ids: set[str] = set()
        for log, stream in self.reader.every_stream():
            if not log.is_log or not (log.is_inside or log.has_ids):
                continue
            rest = b""
            while data := stream.read(1 << 20):
                ids |= topic_ids_in(rest + data, topic)
                rest = data[-512:]
        self.request.filters = replace(self.request.filters, topic_ids=frozenset(ids))

    # ---- writing -----------------------------------------------------------------------------------------------------
    def _write(self, data: bytes) -> None:
        """Raises OutputLost, or BrokenPipeError if nobody reads."""
        try:
            self.out.write(data)
            self.written_bytes += len(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputLost(error) from None

    def _write_all(self, streams: Sequence[RecordStream]) -> None:
        """The records in order, until the limit."""
        from udfs.merge.order import merged

        left = self.request.options.limit
        as_bytes = self._printer()
        for picked in merged(streams, self.reader.pool):
            if left is not None:
                picked = picked.first(left)
                left -= len(picked)
            self.printed += len(picked)
            self._write(as_bytes(picked))
            if left == 0:
                break

    def _printer(self) -> Callable[[OrderedRecords], bytes]:
        """How records become bytes."""
        options = self.request.options
        if options.form == "raw" and not (options.node or self.is_terminal or options.redact):
            return lambda picked: b"".join(picked.pieces())
        from jobs.merge.print import Printer

        printer = Printer(self.request, self.reader.by_place(), self.is_terminal)
        if options.form == "csv":
            self._write(printer.header())
        return printer.printed


def write_to_stdout(options: Options) -> int:
    """The command: merge to standard output, say on standard error what happened; the exit code.

    A pipe that nobody reads any more ends it without a word.
    """
    if sys.stdout is None:
        complain("Standard output is closed; nothing was merged.")
        return FAILED
    out: IO[bytes] = sys.stdout.buffer
    if isinstance(out, io.RawIOBase):  # `python -u`; a raw stream may write only a part
        out = io.BufferedWriter(out)
    try:
        with on_terminal() as progress:
            code = merge(
                options, out, lambda text: progress.say(f"kafka-rewind: {text}"), sys.stdout.isatty(), progress
            )
            out.flush()
        return code
    except BrokenPipeError:
        code = DONE
    except (OutputLost, OSError) as error:
        complain(not_written(error.cause if isinstance(error, OutputLost) else error))
        code = FAILED
    except KeyboardInterrupt:
        complain("Interrupted; what was printed is not all.")
        code = INTERRUPTED
    except Terminated:
        code = TERMINATED
    discard(sys.stdout)
    return code
