"""Entry points for a Databricks job (databricks.yml), whose host calls them inside its own Python.

Such a host tries a failed task again, whatever its exit code. So bad input and a refusal, which no second try changes,
do not fail the task `nightly`: its exit code becomes a value, by which the task `verdict` fails, once.
"""

from __future__ import annotations

import sys

from jobs.exits import BAD_INPUT, DONE, REFUSED
from jobs.submit import run

EXIT_CODE = "exit_code"
"""Name of the value that one task leaves to the other."""
FINAL = (BAD_INPUT, REFUSED)
"""Exit codes that another try would give again."""


def task() -> None:
    """Run a command. Raises SystemExit for a failure that may pass by itself; a success returns."""
    code = run(sys.argv[1:])
    if code not in (DONE, *FINAL):
        sys.exit(code)
    from databricks.sdk.runtime import dbutils

    dbutils.jobs.taskValues.set(key=EXIT_CODE, value=code)


def verdict() -> None:
    """Raises SystemExit with the exit code that the task before left, unless it is 0."""
    code = int(sys.argv[1])
    if code != DONE:
        print(f"kafka-rewind: The night ended with exit code {code}; the task `nightly` says why.", file=sys.stderr)
        sys.exit(code)
