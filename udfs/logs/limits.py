"""How far compressed input may unfold."""

from __future__ import annotations

from dataclasses import dataclass

from udfs.errors import BadInput


class TooLarge(BadInput):
    """A stream or bundle that decompresses to more than the limits allow."""


@dataclass(frozen=True)
class Limits:
    """How far compressed input may unfold; for each file on disk with all that is in it."""

    unpacked_bytes: int = 64 << 30
    ratio: int = 1000  # unpacked bytes for each byte on disk, past the first `free_bytes`
    free_bytes: int = 64 << 20
    spooled_bytes: int = 4 << 30  # of one zip inside another stream, on disk in `work_area`
    members: int = 100_000
    depth: int = 8  # bundles and compressions around a stream
    work_area: str | None = None  # None: the system's folder for temporary files


LIMITS = Limits()
VETTED = Limits(1 << 62, 1 << 40, 1 << 62, 1 << 62, 1 << 31, 64)
"""No limits, for what a survey within limits has seen to the end."""


@dataclass
class UnpackedMeter:
    """Counts what a file on disk unfolds to. Raises TooLarge past the limits."""

    name: str
    on_disk: int
    limits: Limits
    unpacked: int = 0

    def add(self, size: int) -> None:
        """Count further bytes."""
        self.unpacked += size
        limits = self.limits
        if self.unpacked > limits.unpacked_bytes:
            most, setting = f"{limits.unpacked_bytes} bytes", "max_unpacked_gb"
        elif self.unpacked > max(limits.free_bytes, limits.ratio * self.on_disk):
            most, setting = f"{limits.ratio} times its size", "max_unpacked_ratio"
        else:
            return
        raise TooLarge(
            f"This file decompresses to more than {most}: {self.name}; "
            f"raise {setting} in conf, unpack it, or leave it out."
        )
