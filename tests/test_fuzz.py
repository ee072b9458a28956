"""Some of the random edits of `make prove` (tests/proofs/prove_fuzz.py), of the logs in `data/`."""

from __future__ import annotations

from tests.conftest import DATA
from tests.proofs.prove_fuzz import Edit, Piece, files, fuzz
from udfs.logs.formats import format_of

LOG = b"".join(
    b"[2026-11-21 10:00:%02d,000] TRACE [Broker id=1] Handling LeaderAndIsr request correlationId %d from controller 1 "
    b"epoch 7 (state.change.logger)\n" % (second, second)
    for second in range(10)
)


def test_edits_touch_what_they_touch() -> None:
    kinds, failures = fuzz(300, 7, files(DATA), each=60)
    assert kinds.total() == 300
    assert set(kinds) == {"cut", "duplicate", "swap", "insert"}
    assert failures == []


def test_what_breaks_is_found() -> None:
    """An edit that says it is elsewhere than it is changes records that it does not touch."""
    format_ = format_of(LOG)
    assert format_ is not None
    piece, width = Piece(LOG, format_), len(LOG) // 10
    assert piece.failure(Edit("cut", 5 * width + 30, 5 * width + 40, b"")) is None
    assert piece.failure(Edit("cut", 5 * width + 30, 7 * width + 40, b"")) is None

    class Elsewhere(Edit):
        def of(self, data: bytes) -> bytes:
            return data[: 2 * width + 5] + data[2 * width + 15 :]

    assert piece.failure(Elsewhere("cut", 8 * width, 8 * width + 10, b"")) == "a record before it changed"
    assert piece.failure(Elsewhere("cut", 10, 20, b"")) is not None
