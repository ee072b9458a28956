"""Both interpreters of the rules read every record of every capture alike, and account for each of its bytes.

    PYTHONPATH=. python tests/proofs/prove_parsing.py [CAPTURES]

Prints a line for each capture; exits with 1 if a record was read differently.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.test_parsing import CAPTURES, disagreements
from udfs.layouts import layout_of


def prove(capture: Path) -> bool:
    """Whether all files of a capture are read alike; prints how many bytes they are, or the first difference."""
    size = 0
    for path in sorted([*(capture / "logs").rglob("*.log*"), *capture.glob("metadata-dump.txt")]):
        data = path.read_bytes()
        layout = layout_of(data[: 256 << 10])
        if layout is None:
            continue
        first = layout.head.search(data)
        data = data[first.start() if first else 0 :]
        size += len(data)
        if wrong := disagreements(data, layout):
            print(f"{path}: {len(wrong)} records differ; columnar, then plain:\n{wrong[0][0]}\n{wrong[0][1]}")
            return False
    print(f"{capture.name}: {size} bytes are read alike")
    return True


def main() -> int:
    """The exit code."""
    captures = Path(sys.argv[1]) if len(sys.argv) > 1 else CAPTURES
    proved = [prove(folder) for folder in sorted(captures.iterdir()) if (folder / "logs").is_dir()]
    return 0 if all(proved) else 1


if __name__ == "__main__":
    sys.exit(main())
