"""`merge` on all captures beside a brute-force oracle: everything, and 20 choices of topic, partition and window."""

from __future__ import annotations

import sys
import time

from tests.test_merge_captures import CLUSTERS, OURS, all_records, check_choices, check_everything


def main() -> int:
    """Prints a line for each cluster; 1 if one differs."""
    failed = 0
    for name, logs in sorted({**OURS, **CLUSTERS}.items()):
        began = time.monotonic()
        try:
            check_everything(logs)
            check_choices(logs, 20, seed=2)
            result = "equal to the oracle, record for record"
        except AssertionError as error:
            result = f"DIFFERS: {str(error).splitlines()[0]}"
            failed = 1
        print(
            f"{name:20} {len(all_records(logs)):7,} records, 20 choices: {result} ({time.monotonic() - began:.0f} s)",
            flush=True,
        )
        all_records.cache_clear()
    return failed


if __name__ == "__main__":
    sys.exit(main())
