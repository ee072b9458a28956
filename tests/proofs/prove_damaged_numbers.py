"""Numbers of real logs replaced by the largest that there are: no night ends with it, or hangs on it.

    PYTHONPATH=. python tests/proofs/prove_damaged_numbers.py [SEED [CAPTURE ...]]

Of each kind of line a few get one of their numbers replaced by one that an int, a long, or neither holds. Then a night
over all of it has to come to an end: published, or refused by the gate, which may doubt so much damage. Prints a line
for each capture: how many lines were damaged, which checks of the gate failed, rejects, decisions that are called
violated, seconds.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from jobs.nightly.run import nightly
from jobs.session import session
from jobs.settings import Settings
from jobs.warehouse.tables import open_warehouse
from tests.proofs.prove_metamorphic import capture_of

CAPTURES = ("zk-2.4.1", "zk-0.8.2.2", "kraft-4.1.0")
MOST_OF_A_KIND = 6
LARGEST = (b"2147483647", b"-2147483648", b"2147483648", b"4294967296", b"9223372036854775807", b"9" * 20)
_HEAD = re.compile(rb"\[[^\]]*\] \w+ ")
_NUMBER = re.compile(rb"(?<![\w.-])\d+")


def damaged(data: bytes, choice: random.Random) -> tuple[bytes, int]:
    """A log with some of its numbers replaced, and in how many lines."""
    lines = data.splitlines(keepends=True)
    kinds: Counter[bytes] = Counter()
    for number, line in enumerate(lines):
        head = _HEAD.match(line)
        spans = [match.span() for match in _NUMBER.finditer(line, head.end())] if head else []
        kind = re.sub(rb"\d+", b"N", line[head.end() :])[:60] if head else b""
        if not spans or kinds[kind] >= MOST_OF_A_KIND or choice.random() < 0.5:
            continue
        kinds[kind] += 1
        begin, end = choice.choice(spans)
        lines[number] = line[:begin] + choice.choice(LARGEST) + line[end:]
    return b"".join(lines), kinds.total()


def main(arguments: list[str]) -> int:
    """Prove captures by name, with a seed."""
    seed, names = int(arguments[0]) if arguments else 1, arguments[1:] or CAPTURES
    with session({"spark.master": "local[2]"}) as spark:
        for name in names:
            capture, choice, count = capture_of(name), random.Random(seed), 0
            with tempfile.TemporaryDirectory() as folder:
                for path in sorted(p for p in (capture / "logs").rglob("*") if p.is_file() and ".log" in p.name):
                    target = Path(folder) / "logs" / path.relative_to(capture / "logs")
                    target.parent.mkdir(parents=True, exist_ok=True)
                    data, lines = damaged(path.read_bytes(), choice)
                    target.write_bytes(data)
                    count += lines
                began = time.monotonic()
                warehouse = open_warehouse(spark, f"{folder}/warehouse", create=True)
                outcome = nightly(warehouse, [f"{folder}/logs"], Settings(), "default", lambda _: None)
                seconds = time.monotonic() - began
                checks = [check.name for check in outcome.audit.failures] if outcome.audit else []
                violated = warehouse.newest("verdicts").where("verdict = 'violated'").count()
                rejects = warehouse.newest("rejects").count()
                print(
                    f"{name}: {count:,} lines damaged (seed {seed}), failed checks: {', '.join(checks) or 'none'}; "
                    f"{rejects:,} rejects, {violated:,} violated, {seconds:.0f} s",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
