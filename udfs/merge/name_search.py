"""Where a topic's name stands in a block, all places at once: four bytes of it are compared in one step.

A search from hit to hit takes longer where other names begin alike (`orders`, `orders-eu`), for each of them is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from udfs.merge.block import Longs

LEAST_NAME = 5
"""Bytes of a name that it pays for: of a shorter one too few stand at a border of four bytes."""


class NameSearch:
    """Looks for a name of LEAST_NAME bytes or more."""

    def __init__(self, name: bytes) -> None:
        self._name = name
        # wherever a name starts, its byte 0, 1, 2 or 3 is at a border; what is behind the name is masked
        self._borders = [_word(name[skip : skip + 4]) for skip in range(4)]
        self._first, self._first_mask = _word(name[:8], 8)

    def places(self, data: bytes | bytearray, begin: int, stop: int) -> Longs:
        """Where the name starts in `data[begin:stop]`, in order; 8 bytes behind `stop` must be there."""
        words = np.frombuffer(data, "<u4", (stop + 3) // 4)[begin // 4 :]
        is_hit = np.zeros(len(words), np.bool_)
        for word, mask in self._borders:
            is_hit |= (words if mask == _WHOLE_WORD else words & mask) == word
        hits = np.flatnonzero(is_hit)
        at, words = (hits + begin // 4) * 4, words[hits]
        places: Longs = np.concatenate(
            [at[words & mask == word] - skip for skip, (word, mask) in enumerate(self._borders)]
        )
        places = places[(places >= begin) & (places + len(self._name) <= stop)]
        every_word = np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))
        places = places[(every_word[places] & self._first_mask) == self._first]
        for skip in range(8, len(self._name), 8):
            rest, mask = _word(self._name[skip : skip + 8], 8)
            places = places[(every_word[places + skip] & mask) == rest]
        places.sort()
        return places


_WHOLE_WORD = 0xFFFFFFFF


def _word(text: bytes, size: int = 4) -> tuple[np.unsignedinteger, np.unsignedinteger]:
    """Bytes as a little-endian number, and a mask of as many."""
    kind = np.uint32 if size == 4 else np.uint64
    return kind(int.from_bytes(text, "little")), kind((1 << 8 * len(text)) - 1)
