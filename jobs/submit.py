"""What spark-submit runs: the command line, in the session that it describes (docs/how-to-spark-submit.md)."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def run(arguments: Sequence[str]) -> int:
    """Run a command as `kafka-rewind` does; its exit code instead of an exit."""
    from jobs.cli import main

    try:
        main(list(arguments), prog_name="kafka-rewind")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


if __name__ == "__main__":
    if code := run(sys.argv[1:]):  # a host that runs this inside its own Python takes any SystemExit for a failure
        sys.exit(code)
