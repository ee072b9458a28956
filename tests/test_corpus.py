"""Public log files of all ages and layouts: every record in scope is recognised.

The corpus lies beside the repository, in ../shared, and is not part of it. Here a part of it is read; all of it by
`tests/proofs/prove_parsing.py`.
"""

from __future__ import annotations

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from jobs.ingest.stream_accounts import release_range
from udfs.arrow.templates import has_scoped_prefix
from udfs.kafka.releases import Release
from udfs.logs.formats import format_of
from udfs.logs.framing import Frames, frames
from udfs.logs.layouts import HEAD
from udfs.rules.logger_scopes import is_wholly_scoped
from udfs.rules.parsing import find_rule, read_message, split_prefix

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"
SAMPLE = 256 << 10
SMALL = 24 << 10
"""Bytes of a file that is read here."""

pytestmark = pytest.mark.skipif(not CORPUS.exists(), reason=f"no {CORPUS}")

SNAPSHOT = "apache-0.8/darrendao__kafka.play.time/"  # listed as 0.8.0; writes 0.8.1's lines weeks before its release
TORN = {  # file and line of a record in scope whose logger was overwritten by another writer
    ("apache-2.x/vishnu1368__kafka_2.12-2.5.1/logs/kafkaServer.out", 492),
    ("apache-2.x/vishnu1368__kafka_2.12-2.5.1/logs/kafkaServer.out", 505),
    ("apache-2.x/vishnu1368__kafka_2.12-2.5.1/logs/kafkaServer.out", 510),
}


@dataclass(frozen=True)
class ClassifiedLine:
    """What became of one record: `kind` is event, reject or other."""

    kind: str
    line: int
    logger: str
    message: bytes
    event_type: str | None


def classified(path: Path) -> Iterator[ClassifiedLine]:
    """The records of one file; none if no layout fits it."""
    data = path.read_bytes()
    format_ = format_of(data[:SAMPLE])
    if format_ is None:
        return
    for part in frames(io.BytesIO(data), format_, 0, None, 1):
        if isinstance(part, Frames):
            for line, head in zip(part.lines.tolist(), part.heads, strict=True):
                parts = dict(zip(HEAD, head, strict=True))
                logger = parts["logger"].decode("utf-8", "backslashreplace") or format_.layout.logger
                read = read_message(logger, parts["message"])
                in_scope = is_wholly_scoped(logger) if logger else has_scoped_prefix(parts["message"])
                kind = "event" if read else "reject" if in_scope else "other"
                yield ClassifiedLine(kind, line, logger, parts["message"], read["event_type"] if read else None)


def files() -> list[Path]:
    return sorted(path for path in CORPUS.rglob("*") if path.is_file() and path.name != "INDEX.tsv")


def counts(paths: list[Path]) -> tuple[dict[str, Counter[str]], list[tuple[str, ClassifiedLine]]]:
    """Records by folder and kind, and the rejects that are not known to be torn."""
    by_folder: dict[str, Counter[str]] = defaultdict(Counter)
    unknown = []
    for path in paths:
        name = path.relative_to(CORPUS).as_posix()
        for line in classified(path):
            by_folder[name.partition("/")[0]][line.kind] += 1
            if line.kind == "reject" and (name, line.line) not in TORN:
                unknown.append((name, line))
    return by_folder, unknown


def test_records_in_scope_are_events() -> None:
    by_folder, unknown = counts([path for path in files() if path.stat().st_size < SMALL])
    assert not unknown
    assert sum(kinds["event"] for kinds in by_folder.values()) > 3000


def released() -> Iterator[tuple[Path, Release]]:
    """Small files of Apache's own releases whose release is known."""
    with (CORPUS / "INDEX.tsv").open(encoding="utf-8", newline="") as index:
        for name, _, version, *_ in csv.reader(index, delimiter="\t", quoting=csv.QUOTE_NONE):
            parts = version.split(".")
            known = len(parts) > 2 and all(part.isdigit() for part in parts) and not name.startswith(SNAPSHOT)
            if known and (CORPUS / name).stat().st_size < SMALL:
                yield CORPUS / name, Release.parse(version)


def shapes(path: Path) -> set[str]:
    """The releases of the shapes of a file, as `since..until`."""
    rules = [find_rule(line.logger.encode(), split_prefix(line.message)[1]) for line in classified(path)]
    return {f"{rule.since}..{rule.until}" for rule in rules if rule}


def test_the_release_is_among_those_that_write_these_shapes() -> None:
    wrong = []
    for path, release in released():
        if pairs := shapes(path):
            first, _, last = (release_range(pairs) or "..").partition("..")
            if not first or not Release.parse(first) <= release or (last and Release.parse(last) < release):
                wrong.append((str(path), release, first, last))
    assert not wrong
