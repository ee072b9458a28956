"""Where a topic's name stands in a block, all places at once: four bytes of it are compared in one step.

A search from hit to hit takes longer where other names begin alike (`orders`, `orders-eu`), for each of them is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from udfs.logs.arrays import Flags, Longs

    Words = npt.NDArray[np.uint32]

LEAST_NAME = 5
"""Bytes of a name that it pays for: of a shorter one too few stand at a border of four bytes."""

_WHOLE_WORD = 0xFFFFFFFF


class NameSearch:
    """Looks for a name of LEAST_NAME bytes or more.

    `is_wanted_before` says of each byte whether it may stand before the name, `is_wanted_behind` of each two bytes, as
    a little-endian number, whether they may stand behind it.
    """

    def __init__(self, name: bytes, is_wanted_before: Flags, is_wanted_behind: Flags) -> None:
        self._name, self._before, self._behind = name, is_wanted_before, is_wanted_behind
        # wherever a name starts, its byte 0, 1, 2 or 3 is at a border; what is behind the name is masked
        self._borders = [_word(name[skip : skip + 4]) for skip in range(4)]
        self._skip_of_pair = np.zeros(1 << 16, np.int8)
        for skip in range(4):
            self._skip_of_pair[int.from_bytes(name[skip : skip + 2], "little")] = skip
        self._is_told_by_pair = len({name[skip : skip + 2] for skip in range(4)}) == 4
        self._is_hit = self._is_equal = np.empty(0, np.bool_)
        self._masked = np.empty(0, np.uint32)

    def places(self, data: bytes | bytearray, begin: int, stop: int) -> list[int]:
        """Where the name starts in `data[begin:stop]`, in order; 16 bytes behind `stop` must be there."""
        places = self._candidates(data, begin, stop)
        every_pair = np.ndarray((len(data) - 1,), "<u2", data, strides=(1,))
        places = places[self._behind[every_pair[places + len(self._name)]]]
        places = places[(places >= begin) & (places + len(self._name) <= stop)]
        view = np.frombuffer(data, np.uint8)
        places = places[self._before[view[places - 1]] | (places == 0)]
        name, size = self._name, len(self._name)
        return [at for at in np.sort(places).tolist() if data[at : at + size] == name]

    def _candidates(self, data: bytes | bytearray, begin: int, stop: int) -> Longs:
        """Where the name would start that four bytes at a border may be of."""
        words = np.frombuffer(data, "<u4", (stop + 3) // 4)[begin // 4 :]
        is_hit, is_equal, masked = self._memory(len(words))
        is_hit[:] = False
        for word, mask in self._borders:
            np.equal(words if mask == _WHOLE_WORD else np.bitwise_and(words, mask, masked), word, is_equal)
            np.logical_or(is_hit, is_equal, is_hit)
        hits = np.flatnonzero(is_hit)
        words, at = words[hits], (hits + begin // 4) * 4
        if self._is_told_by_pair:
            return at - self._skip_of_pair[words.astype(np.uint16)]
        starts: Longs = np.concatenate(
            [at[words & mask == word] - skip for skip, (word, mask) in enumerate(self._borders)]
        )
        return starts

    def _memory(self, size: int) -> tuple[Flags, Flags, Words]:
        """Memory that is used again: new memory takes as long as a comparison."""
        if size > len(self._is_hit):
            self._is_hit, self._is_equal = np.empty(size, np.bool_), np.empty(size, np.bool_)
            self._masked = np.empty(size, np.uint32)
        return self._is_hit[:size], self._is_equal[:size], self._masked[:size]


def _word(text: bytes) -> tuple[np.uint32, np.uint32]:
    """Bytes as a little-endian number, and a mask of as many."""
    return np.uint32(int.from_bytes(text, "little")), np.uint32((1 << 8 * len(text)) - 1)
