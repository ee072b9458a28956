"""How commands end: the exit code and the sentence for each kind of exception."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from py4j.protocol import Py4JNetworkError
from pyspark.errors import AnalysisException, PythonException, SparkRuntimeException

from jobs.cli import main
from jobs.exits import BAD_INPUT, DONE, FAILED, INTERRUPTED, REFUSED, exit_code, explain, spark_reason
from jobs.version import product_version
from udfs.errors import BadInput, NoJava

BUG = "This is a bug in Kafka Rewind: {}; please run it with `kafka-rewind --debug` and report the trace."
ENDINGS = {  # exception -> exit code, sentence
    BadInput("Give a folder."): (BAD_INPUT, "Give a folder."),
    NoJava("Install Java."): (FAILED, "Install Java."),
    OSError(28, "No space left on device", "/w/events"): (
        FAILED,
        "The disk is full: /w/events; free some space on it and run it again (--debug shows the trace)",
    ),
    OSError(28, "No space left on device"): (
        FAILED,
        "The disk is full; free some space on it and run it again (--debug shows the trace)",
    ),
    OSError(13, "Permission denied", "/w"): (FAILED, "Permission denied: /w (--debug shows the trace)"),
    SparkRuntimeException("Job aborted.\nCaused by: java.io.IOException: No space left on device"): (
        FAILED,
        "The disk is full; free some space on it and run it again (--debug shows the trace)",
    ),
    PythonException("Job aborted.\n  File x\nudfs.errors.Failed: This file changed while it was read: f; run again."): (
        FAILED,
        "This file changed while it was read: f; run again.",
    ),
    PythonException("Job aborted.\n  File x\nudfs.errors.BadInput: Give a folder.\n\tat a.B"): (
        BAD_INPUT,
        "Give a folder.",
    ),
    MemoryError(): (FAILED, "Python ran out of memory (--debug shows the trace)"),
    Py4JNetworkError("Answer from Java side is empty"): (
        FAILED,
        "Spark failed: Answer from Java side is empty (--debug shows the trace)",
    ),
    SparkRuntimeException("Job aborted.\n  at x"): (FAILED, "Spark failed: Job aborted. (--debug shows the trace)"),
    AnalysisException("No such column."): (FAILED, BUG.format("AnalysisException No such column.")),
    PythonException("Python worker exited:\n  File x\nValueError: seven"): (
        FAILED,
        BUG.format("ValueError: seven"),
    ),
    PythonException("Traceback\n  import numpy\nModuleNotFoundError: No module named 'numpy'\n SQLSTATE"): (
        FAILED,
        "The Python of Spark's executors has no module numpy; docs/how-to-spark-submit.md lists what it needs "
        "(--debug shows the trace)",
    ),
    KeyError("x"): (FAILED, BUG.format("KeyError 'x'")),
    AssertionError(): (FAILED, BUG.format("AssertionError")),
}


@pytest.mark.parametrize("error", ENDINGS, ids=lambda error: type(error).__name__)
def test_the_sentence_for_an_exception(error: Exception) -> None:
    assert (exit_code(error), explain(error)) == ENDINGS[error]


def test_spark_out_of_memory_says_what_to_do() -> None:
    error = SparkRuntimeException("java.lang.OutOfMemoryError: Java heap space")
    assert explain(error).startswith(
        "Spark ran out of memory (java.lang.OutOfMemoryError: Java heap space); run it with"
    )
    assert "--driver-memory" in explain(error)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[NO_SUCH_THING] It is not there.\n\nJVM stacktrace: ...", "[NO_SUCH_THING] It is not there."),
        (
            "An error occurred while calling o9.save.\n: org.apache.spark.SparkException: Job aborted.\n"
            "\tat a.B.c(B.scala:1)\n"
            "Caused by: java.io.IOException: it broke\n\tat d.E.f(E.java:2)\n"
            "Caused by: java.io.IOException: No space left on device\n\tat g.H",
            "java.io.IOException: No space left on device",
        ),
        (
            "An error occurred while calling o9.save.\n: java.lang.OutOfMemoryError: Java heap space\n\tat a.B",
            "java.lang.OutOfMemoryError: Java heap space",
        ),
        (
            "An error occurred while calling o9.save.\n: org.apache.spark.SparkException: It took 300 secs.\n\tat a.B\n"
            "Caused by: java.util.concurrent.TimeoutException\n\tat c.D",
            "org.apache.spark.SparkException: It took 300 secs.",
        ),
        (
            "An error occurred while calling o9.save.\n: org.apache.spark.SparkException: [INTERNAL_ERROR] In a plan:\n"
            "'Join LeftOuter\n:- Project [a#1]\n:  +- LogicalRDD [a#1], false\n\tat a.B",
            "org.apache.spark.SparkException: [INTERNAL_ERROR] In a plan:",
        ),
        ("Python worker exited:\n  File x\nValueError: seven", "ValueError: seven"),
        ("", "RuntimeError"),
    ],
)  # fmt: skip
def test_the_reason_that_spark_gives(text: str, expected: str) -> None:
    assert spark_reason(RuntimeError(text)) == expected


def test_a_package_that_is_not_installed() -> None:
    """Who only reads tables has no Spark."""
    assert explain(ModuleNotFoundError(name="pyspark.sql")).startswith(
        "This command needs pyspark, which is not installed"
    )
    assert explain(ModuleNotFoundError("No module named 'x'", name="x")).startswith("This is a bug")


def test_the_version() -> None:
    result = CliRunner().invoke(main, ["--version"])
    assert (result.exit_code, result.stdout) == (DONE, f"kafka-rewind {product_version()}\n")


def test_the_numbers_that_other_programs_read() -> None:
    """Schedulers and monitors go by them: they never change."""
    assert (DONE, BAD_INPUT, REFUSED, FAILED, INTERRUPTED) == (0, 2, 3, 4, 130)
