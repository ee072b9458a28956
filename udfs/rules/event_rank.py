"""The rank of a record among records of the same millisecond: cause before effect.

A leader asks for an ISR change, the controller decides and sends requests, brokers receive and apply them, the
controller has their responses. The rank depends on how the message begins, so that no rule has to match;
`event_rank_columns` has the same for columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from udfs.rules.regex import late

if TYPE_CHECKING:  # a plain merge needs none of this, and must start quickly
    import numpy.typing as npt

    Longs = npt.NDArray[np.int64]
    Words = npt.NDArray[np.uint64]
    Bytes = npt.NDArray[np.uint8]
    Flags = npt.NDArray[np.bool_]

RANKS = 8
"""Ranks are below this."""

INTENDED, DECIDED, SENT, RECEIVED, OTHER, DONE, ANSWERED = range(7)
RANK_OF_BEGINNING = {
    b"shrinkin": INTENDED,
    b"expandin": INTENDED,
    b"changed ": DECIDED,
    b"sending ": SENT,
    b"sent ": SENT,
    b"received": ANSWERED,
    b"cached ": DONE,
    b"complete": DONE,
    b"handled ": DONE,
    b"stopped ": DONE,
    b"iSR upda": DONE,
    b"leader ": DONE,
    b"follower": DONE,
}
"""The first 8 bytes or fewer of a message behind its prefix, its first letter in lower case -> rank.

A leader logs `Shrinking ISR` before the controller decides. `Received` is a response unless REQUEST_NAMES follows;
`leader ` is `Leader a-0 starts at ...`.
"""
REQUEST_NAMES = (b"LeaderAn", b"UpdateMe", b"StopRepl", b"request ")
"""What follows `Received ` where a broker received a request."""

_PREFIXED = late(
    rb"\[[\d .,:TZ+-]{10,35}\] +[A-Z]+ +"
    rb"(?P<prefix>\[[^\]\n]*\][:,]? ?|Controller \d+ epoch \d+ |Broker \d+:? )?"
    rb"(?P<begin>[^\n]{0,8})(?P<next>[^\n]{0,9})"
)
_PREFIXED_ELSEWHERE = late(
    rb"[^\n]{0,300}?(?P<prefix>\[(?:Controller|Broker|Partition)\b[^\]\n]*\][:,]? ?)"
    rb"(?P<begin>[^\n]{0,8})(?P<next>[^\n]{0,9})"
)


def rank_of(data: bytes | bytearray, start: int = 0) -> int:
    """Rank of the record that starts at byte `start`, by how its message begins: 0 comes first, 6 last.

    >>> rank_of(b"[2018-12-09 02:21:49,941] TRACE [Controller id=3 epoch=8] Sending become-leader LeaderAndIsr request")
    2
    >>> rank_of(b"[2018-12-09 02:21:49,941] TRACE [Broker id=1] Received LeaderAndIsr request correlation id 3")
    3
    """
    m = _PREFIXED.match(data, start) or _PREFIXED_ELSEWHERE.match(data, start)
    if m is None:
        return OTHER
    begin = bytes([m["begin"][0] | 0x20]) + m["begin"][1:] if m["begin"] else b""
    rank = next((rank for word, rank in RANK_OF_BEGINNING.items() if begin.startswith(word)), None)
    if rank == ANSWERED and m["next"][1:] in REQUEST_NAMES:
        return RECEIVED
    if rank is None:
        return DECIDED if (m["prefix"] or b"").lstrip(b"[").startswith(b"Controll") else OTHER
    return rank


# ---- many records at once --------------------------------------------------------------------------------------------
_WINDOW_BYTES = 96
"""Bytes behind the time stamp that are looked at."""


def _as_word(letters: bytes) -> np.uint64:
    """Up to eight bytes as the number that a little-endian machine reads there."""
    return np.uint64(int.from_bytes(letters, "little"))


_BEGINNING_WORDS = [
    (_as_word(beginning), np.uint64((1 << 8 * len(beginning)) - 1), rank)
    for beginning, rank in RANK_OF_BEGINNING.items()
]
_REQUEST_WORDS = [_as_word(name) for name in REQUEST_NAMES]
_CONTROLLER_WORD = _as_word(b"Controll")
_LOWER_CASE = np.uint64(0x20)
_BLANK, _BRACKET, _CLOSING_BRACKET, _COLON, _DIGIT_0 = (ord(char) for char in " []:0")


def ranks_of(data: Sequence[bytes | bytearray], which: Longs, starts: Longs) -> Longs:
    """`rank_of` for many records, `starts[i]` in `data[which[i]]`; nearly all of them at once."""
    order = np.argsort(which.astype(np.uint16), kind="stable")
    borders = np.searchsorted(which[order], np.arange(len(data) + 1)).tolist()
    by_block = starts[order]
    windows = np.zeros((len(starts), _WINDOW_BYTES), np.uint8)
    for block, begin, end in zip(data, borders, borders[1:], strict=False):
        room = len(block) - _WINDOW_BYTES - 25
        if begin < end and room > 0:
            all_windows = np.ndarray((room, _WINDOW_BYTES), np.uint8, block, 26, (1, 1))
            windows[begin:end] = all_windows[np.minimum(by_block[begin:end], room - 1)]
            if by_block[end - 1] >= room or by_block[begin:end].max() >= room:
                windows[begin:end][by_block[begin:end] >= room] = 0
    ranks = np.empty(len(starts), np.int64)
    ranks[order] = _ranks_of_windows(windows)
    for i in np.flatnonzero(ranks < 0).tolist():
        ranks[i] = rank_of(data[int(which[i])], int(starts[i]))
    return ranks


def _ranks_of_windows(windows: Bytes) -> Longs:
    """Ranks by the bytes from the level on, a row each; -1 where these do not suffice."""
    flat = windows.reshape(-1)
    row = np.arange(len(windows)) * _WINDOW_BYTES
    words = np.ndarray((len(flat) - 7,), "<u8", flat, 0, (1,))
    # behind a level of four letters or five
    message = np.where(windows[:, 4] == _BLANK, 5, 6)
    is_usual = (windows[:, 4] == _BLANK) | (windows[:, 5] == _BLANK)
    first = flat[row + message]
    is_bracket = first == _BRACKET
    closing = windows[:, : _WINDOW_BYTES - 20] == _CLOSING_BRACKET
    behind = np.argmax(closing, axis=1) + 1
    is_usual &= first != _BLANK
    has_colon = flat[row + behind] == _COLON
    begin = row + behind + np.where(has_colon, 2, 1)
    is_usual &= ~is_bracket | ((behind > 1) & (flat[begin - 1] == _BLANK))
    bare = np.flatnonzero(~is_bracket & is_usual)
    # up to 0.11 prefixes have no brackets, `Controller 3 epoch 8 changed`, `Broker 3 received`; others have none at all
    if len(bare):
        begin[bare], is_usual[bare] = _begins_behind_bare_prefix(windows[bare], row[bare], message[bare], words)
    actor = words[row + message + is_bracket]
    begin = np.minimum(begin, len(flat) - 24)
    word = words[begin] | _LOWER_CASE
    ranks = np.where(actor == _CONTROLLER_WORD, DECIDED, OTHER)
    for letters, mask, rank in _BEGINNING_WORDS:
        ranks[(word & mask) == letters] = rank
    answered = np.flatnonzero(ranks == ANSWERED)
    if len(answered):
        following = words[begin[answered] + 9]
        is_request = np.zeros(len(answered), np.bool_)
        for letters in _REQUEST_WORDS:
            is_request |= following == letters
        ranks[answered[is_request]] = RECEIVED
    ranks[~is_usual] = -1
    return ranks


def _begins_behind_bare_prefix(windows: Bytes, row: Longs, message: Longs, words: Words) -> tuple[Longs, Flags]:
    """Where messages begin behind a prefix without brackets, and whether that is sure."""
    first = words[row + message]
    is_controller = first == _CONTROLLER_WORD
    is_broker = (first & np.uint64((1 << 56) - 1)) == _as_word(b"Broker ")
    blanks = np.cumsum(windows[:, : _WINDOW_BYTES - 20] == _BLANK, axis=1, dtype=np.int8)
    # the first blank stands behind the level
    blanks_before = np.where(is_controller, 5, 3)[:, None]
    begin = np.argmax(blanks == blanks_before, axis=1) + 1
    has_prefix = is_controller | is_broker
    # `Controller 3 epoch 8 ` or `Broker 3 `: what is not quite so is looked at one by one
    number = windows.reshape(-1)[np.arange(len(windows)) * _WINDOW_BYTES + message + np.where(is_controller, 11, 7)]
    is_sure = ~has_prefix | ((begin > 1) & (number - _DIGIT_0 < 10))
    return row + np.where(has_prefix, begin, message), is_sure
