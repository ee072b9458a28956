"""How every command ends: its exit code, and one sentence for what went wrong. Imports neither Spark nor numpy."""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from contextlib import suppress
from typing import TextIO

from udfs.errors import BadInput, Failed

DONE = 0
FOUND = 1
"""`--fail-on` found what it names."""
BAD_INPUT = 2
"""Bad usage, or an input or setting that cannot be used."""
REFUSED = 3
"""The data gate refused to publish."""
FAILED = 4
"""Anything else that went wrong: the machine, another run, a bug."""
INTERRUPTED = 130
"""Ctrl-C, as shells have it: 128 and the number of the signal."""

SEE_TRACE = "(--debug shows the trace)"


PACKAGES = {
    "pyspark": ("pyspark", "spark"),
    "py4j": ("pyspark", "spark"),
    "delta": ("delta-spark", "spark"),
    "great_expectations": ("great-expectations", "spark"),
    "pandas": ("pandas", "spark"),
    "duckdb": ("duckdb", "read"),
    "deltalake": ("deltalake", "read"),
    "pyarrow": ("pyarrow", "read"),
    "prompt_toolkit": ("prompt-toolkit", "read"),
    "tqdm": ("tqdm", "read"),
}
"""By module the package that an installation may lack, and the extra that has it: who only reads needs no Spark."""


def exit_code(error: Exception) -> int:
    """The exit code of a command that ends with an exception."""
    return BAD_INPUT if isinstance(error, BadInput) or _of_worker(error)[0] is BadInput else FAILED


def explain(error: Exception) -> str:
    """What went wrong, in one sentence, and what can be done about it where we know."""
    if isinstance(error, (BadInput, Failed)):
        return str(error)
    if isinstance(error, ModuleNotFoundError) and (needed := PACKAGES.get((error.name or "").partition(".")[0])):
        package, extra = needed
        return f'This command needs {package}, which is not installed; run `pip install "kafka-rewind[{extra}]"`.'
    if sentence := _of_worker(error)[1]:
        return sentence
    if module := _module_of_worker(error):
        see = f"docs/how-to-spark-submit.md lists what it needs {SEE_TRACE}"
        return f"The Python of Spark's executors has no module {module}; {see}"
    if is_full_disk(error):
        where = f": {error.filename}" if isinstance(error, OSError) and error.filename else ""
        return f"The disk is full{where}; free some space on it and run it again {SEE_TRACE}"
    if isinstance(error, OSError):
        what = error.strerror or str(error)
        return f"{what}: {error.filename} {SEE_TRACE}" if error.filename else f"{what} {SEE_TRACE}"
    if isinstance(error, MemoryError):
        return f"Python ran out of memory {SEE_TRACE}"
    if is_from_spark(error):
        reason = spark_reason(error)
        if "OutOfMemory" in reason:
            return (
                f"Spark ran out of memory ({reason}); run it with spark-submit and more --driver-memory, "
                "see docs/how-to-spark-submit.md."
            )
        return f"Spark failed: {reason} {SEE_TRACE}"
    if type(error).__name__ == "PythonException":  # of a worker: its text ends with the exception
        reason = spark_reason(error)
    else:
        reason = " ".join([type(error).__name__, *str(error).strip().splitlines()[:1]])
    return f"This is a bug in Kafka Rewind: {reason}; please run it with `kafka-rewind --debug` and report the trace."


def _of_worker(error: Exception) -> tuple[type[Exception] | None, str]:
    """The class and the sentence of a BadInput or Failed that a Python worker raised; Spark has them as text."""
    for line in str(error).splitlines():
        name, _, sentence = line.strip().partition(": ")
        for kind in (BadInput, Failed):
            if sentence and name == f"{kind.__module__}.{kind.__name__}":
                return kind, sentence
    return None, ""


def _module_of_worker(error: Exception) -> str | None:
    """The module that the Python of executors lacks, if that is what ended the work there; none of ours is lacking."""
    if type(error).__name__ != "PythonException" and not is_from_spark(error):
        return None
    match = re.search(r"^ModuleNotFoundError: No module named '(?!jobs|schemas|udfs)([\w.]+)'", str(error), re.M)
    return match[1] if match else None


def is_full_disk(error: Exception) -> bool:
    """Whether an error, Python's own or one of Spark's, is that of a full disk."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOSPC
    return is_from_spark(error) and os.strerror(errno.ENOSPC) in str(error)


def is_from_spark(error: Exception) -> bool:
    """Whether Spark raised an exception, and not for a plan or a function of ours that cannot work."""
    package, name = type(error).__module__.partition(".")[0], type(error).__name__
    return package in ("pyspark", "py4j", "delta") and name not in ("AnalysisException", "PythonException")


_CAUSE = re.compile(r"(?:Caused by)?: ([\w.$]+(?:: .*)?)$")
"""Of a trace the line of an exception, its class first; a plan that is part of a message has lines like it."""


def spark_reason(error: Exception) -> str:
    """An error's most telling line: of Java's that of the last cause with a message, of a Python worker's the last."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    if lines[0].startswith("An error occurred while calling"):
        causes = [match[1] for line in lines if (match := _CAUSE.match(line))]
        return ([cause for cause in causes if ": " in cause] or causes or lines)[-1]
    return lines[-1] if "Python worker" in lines[0] else lines[0]


# ---- standard output and standard error ------------------------------------------------------------------------------
def print_utf8() -> None:
    """Print UTF-8 whatever the locale; what is no text, such as the bytes of a file name, is shown with backslashes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with suppress(OSError):
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def complain(text: str) -> None:
    """One sentence on standard error."""
    print_error(f"kafka-rewind: {text}")


def print_error(text: str) -> None:
    """A text on standard error, if it is open and not full."""
    try:
        if sys.stderr is not None:
            print(text, file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)


def not_written(error: OSError) -> str:
    """The sentence for standard output that cannot be written."""
    return f"The output cannot be written ({error.strerror}); what was printed is not all."


def discard(stream: TextIO) -> None:
    """Drop what a stream still holds and whatever follows: Python would try to write it at the exit, and fail."""
    with suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def flush_output() -> OSError | None:
    """Write what standard output and error still hold; the error if output cannot be written, but for a closed pipe."""
    failure = None
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except OSError as error:
            discard(stream)
            if stream is sys.stdout and not isinstance(error, BrokenPipeError):
                failure = error
    return failure
