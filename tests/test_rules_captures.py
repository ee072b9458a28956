"""The logs of the clusters in data/: every record in scope is recognised, and the shapes tell the release."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from jobs.ingest.stream_accounts import release_range
from udfs.logs.formats import format_of
from udfs.logs.framing import Frames, frames
from udfs.rules.logger_scopes import is_wholly_scoped
from udfs.rules.parsing import find_rule, split_prefix

DATA = Path(__file__).resolve().parents[1] / "data"
RELEASES = {"zk-2.4.1": "2.4.0..2.4.1", "kraft-4.1.0": "4.1.0..4.1.2"}  # folder -> the releases that its shapes allow


def messages(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Logger and message of each record of the logs, and of the dump if there is one."""
    for path in sorted([*(folder / "logs").rglob("*.log*"), *folder.glob("metadata-dump*")]):
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        format_ = format_of(data[: 256 << 10])
        if format_ is None:  # brokers of KRaft have a controller.log without a line
            assert not data, path
            continue
        for part in frames(io.BytesIO(data), format_, 0, None, 1):
            for head in part.heads if isinstance(part, Frames) else ():
                yield head[5].decode() or format_.layout.logger, head[2]


@cache
def read(folder: str) -> tuple[frozenset[str], tuple[tuple[str, bytes], ...]]:
    """The releases of the shapes of a cluster's logs, and the records in scope that no rule knows."""
    shapes, unknown = set(), []
    for logger, message in messages(DATA / folder):
        rule = find_rule(logger.encode(), split_prefix(message)[1])
        if rule:
            shapes.add(f"{rule.since}..{rule.until}")
        elif is_wholly_scoped(logger):
            unknown.append((logger, message))
    return frozenset(shapes), tuple(unknown)


@pytest.mark.parametrize("folder", RELEASES)
def test_no_record_in_scope_is_unknown(folder: str) -> None:
    assert read(folder)[1] == ()


@pytest.mark.parametrize("folder", RELEASES)
def test_shapes_tell_the_release(folder: str) -> None:
    assert release_range(read(folder)[0]) == RELEASES[folder]
