"""Both interpreters of the rules read every record of every capture and of the corpus alike, and account for its bytes.

    PYTHONPATH=. python tests/proofs/prove_parsing.py [CAPTURES]

Prints a line for each capture, and for each folder of the corpus how many of the records in scope are recognised, with
each that is not. Exits with 1 if a record was read differently, or is a reject and not known to be torn.
"""

from __future__ import annotations

import sys
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tests.test_corpus import CORPUS, TORN, counts, files
from tests.test_parsing import CAPTURES, columnar, compared, disagreements, plain
from udfs.logs.formats import format_of


def prove(capture: Path) -> bool:
    """Whether all files of a capture are read alike and have no reject; prints their size, or what is wrong."""
    size = rejects = 0
    for path in sorted([*(capture / "logs").rglob("*.log*"), *capture.glob("metadata-dump.txt")]):
        data = path.read_bytes()
        format_ = format_of(data[: 256 << 10])
        if format_ is None:
            continue
        first = format_.layout.head.search(data)
        data = data[first.start() if first else 0 :]
        size += len(data)
        wrong, more = compared(data, format_)
        rejects += more
        if wrong:
            print(f"{path}: {len(wrong)} records differ; columnar, then plain:\n{wrong[0][0]}\n{wrong[0][1]}")
            return False
    print(f"{capture.name}: {size} bytes are read alike, {rejects} rejects")
    return not rejects


def prove_corpus() -> bool:
    """Whether every record in scope is an event or known to be torn, and both interpreters agree on all files."""
    paths = files()
    by_folder, unknown = counts(paths)
    for folder, kinds in sorted(by_folder.items()):
        in_scope = kinds["event"] + kinds["reject"]
        share = kinds["event"] / in_scope if in_scope else 1
        print(f"{folder}: {in_scope} in scope, {kinds['event']} recognised ({share:.2%}), {kinds['other']} others")
    for name, line in sorted(TORN):
        print(f"{name}:{line}: torn by another writer")
    for name, record in unknown:
        print(
            f"{name}:{record.line}: not recognised: {record.logger} {record.message.decode(errors='backslashreplace')}"
        )
    alike = [_is_read_alike(path) for path in paths]
    print(f"corpus: {sum(alike)} of {len(paths)} files are read alike")
    return not unknown and all(alike)


def _is_read_alike(path: Path) -> bool:
    data = path.read_bytes()
    format_ = format_of(data[: 256 << 10])
    if format_ is None:
        return True  # not a log
    if format_.wrapper or format_.encoding:  # several channels, and bytes of no record between theirs
        rows = [row for row in columnar(data, format_)[0] if row["record"] != "account"]
        wrong = [pair for pair in zip_longest(rows, plain(data, format_)) if _places(pair[0]) != _places(pair[1])]
    else:
        first = format_.layout.head.search(data)
        wrong = disagreements(data[first.start() if first else 0 :], format_)
    if wrong:
        print(f"{path}: {len(wrong)} records differ; columnar, then plain:\n{wrong[0][0]}\n{wrong[0][1]}")
    return not wrong


def _places(row: dict[str, Any] | None) -> Any:
    """What a row is of: a reject's columnar form has more than the plain one."""
    names = ("record", "line", "byte_offset", "size_bytes", "logger")
    return row and (row if row["record"] == "event" else {name: row.get(name) for name in names})


def main() -> int:
    """The exit code."""
    captures = Path(sys.argv[1]) if len(sys.argv) > 1 else CAPTURES
    proved = [prove(folder) for folder in sorted(captures.iterdir()) if (folder / "logs").is_dir()]
    if CORPUS.exists():
        proved.append(prove_corpus())
    return 0 if all(proved) else 1


if __name__ == "__main__":
    sys.exit(main())
