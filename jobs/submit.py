"""What spark-submit and the console script run: the command line (docs/how-to-spark-submit.md)."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def run(arguments: Sequence[str]) -> int:
    """Run a command as `kafka-rewind` does; its exit code instead of an exit."""
    try:
        from jobs.cli import main
        from jobs.exits import DONE, FAILED
    except ModuleNotFoundError as error:
        needed = "docs/how-to-spark-submit.md lists what the driver's Python needs"
        print(f"kafka-rewind: There is no Python module {error.name}; {needed}.", file=sys.stderr)
        return 4
    try:
        main(list(arguments), prog_name="kafka-rewind")
    except SystemExit as end:
        code = DONE if end.code is None else end.code
        return code if isinstance(code, int) else FAILED
    return DONE


def main() -> None:
    """The console script. It returns where all went well: hosts that call it take any SystemExit for a failure."""
    if code := run(sys.argv[1:]):
        sys.exit(code)


if __name__ == "__main__":
    main()
