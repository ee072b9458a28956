"""Names of topics, hosts, principals and clients replaced by keyed hashes: the same name is the same wherever it is.

A name is looked for as a word, alone or joined to others by `.` and `-` (`pay-in-0`, `kafka-1.example.com`). Whoever
has the key can tell which name became what; nobody else can, nor can they try names out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from udfs.errors import BadInput
from udfs.rules.regex import late

_HOSTS = late(
    r"""
    [A-Z_0-9]+://(?P<of_endpoint>[A-Za-z0-9][\w.-]*|\[[0-9a-fA-F:]+\]):\d+
    | \b(?:host|hostName|hostname|rawHost|rack|address)"?\s*[=:]\s*["']?(?:Optional\[|Some\()?
      (?P<named>(?!Optional\b)[A-Za-z][\w.-]*)
    | \b(?P<with_port>[A-Za-z](?:[\w.-]*[\w])?):\d{4,5}\b
    | (?<![\d.])(?P<ip>\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})(?![\d.])
    """,
    re.VERBOSE,
)
_PRINCIPALS = late(r"""\bUser:(?P<user>[^\s,;)\]}'"]+)|\busername\s*=\s*["']?(?P<name>[\w.@-]+)""")
_CLIENTS = late(r"""\bclient[._-]?[iI]d\s*[=:]\s*["']?(?P<id>[\w.-]+)""")
_OF_EVERYBODY = {"localhost", "0.0.0.0", "127.0.0.1", "null", "None", "none", "ANONYMOUS", "true", "false"}
_SOURCE = (".java", ".scala", ".kt", ".py")
_WORD = late(r"[\w@.\-]+")
_PIECE = late(r"[^.\-]+|[.\-]")


LEAST_KEY = 16
"""Bytes of a key; fewer can be guessed."""


def key_of(path: str) -> bytes:
    """The key in a file. Raises BadInput if it cannot be read, or is so short that it can be guessed."""
    try:
        with open(path, "rb") as file:
            key = file.read(4096).strip()
    except OSError as error:
        raise BadInput(f"The key cannot be read: {path} ({error.strerror}).") from None
    if len(key) < LEAST_KEY:
        raise BadInput(
            f"The key in {path} has {len(key)} bytes; give at least {LEAST_KEY}, such as of `openssl rand -hex 32`."
        )
    return key


def names_in(text: str) -> Iterable[tuple[str, str]]:
    """Kind and name of hosts (`h`), principals (`p`) and clients (`c`) that a line of a log shows to be such.

    >>> sorted(names_in("Broker 1 at SSL://k1.pay:9093 (clientId=app-1, principal User:alice) from 10.0.0.7"))
    [('c', 'app-1'), ('h', '10.0.0.7'), ('h', 'k1.pay'), ('p', 'alice')]
    """
    for kind, pattern in (("h", _HOSTS), ("p", _PRINCIPALS), ("c", _CLIENTS)):
        for match in pattern.finditer(text):
            name = match[match.lastgroup or 0].rstrip(".")
            if name not in _OF_EVERYBODY and not name.isdigit() and not name.endswith(_SOURCE):
                yield kind, name


def pseudonym(key: bytes, kind: str, name: str) -> str:
    """What a name of a kind becomes; Kafka's own topics (`__consumer_offsets`) stay."""
    if kind == "t" and name.startswith("__"):
        return name
    digest = hashlib.blake2b(name.encode("utf-8", "surrogateescape"), key=key[:64], digest_size=6)
    return f"{kind}{digest.hexdigest()}"


class Redaction:
    """Replaces names. `names`: kind by name, `t` for topics; Kafka's own topics (`__consumer_offsets`) stay.

    >>> redaction = Redaction(b"key", {"pay-in": "t", "k1.pay": "h"})
    >>> redaction.text("Partition pay-in-0 led by k1.pay:9092") == (
    ...     f"Partition {redaction.name('pay-in')}-0 led by {redaction.name('k1.pay')}:9092")
    True
    """

    def __init__(self, key: bytes, names: Mapping[str, str]) -> None:
        self._names = {name: pseudonym(key, kind, name) for name, kind in names.items()}
        self._most_pieces = max((len(_PIECE.findall(name)) for name in self._names), default=0)
        self._word = lru_cache(1 << 16)(self._new_word)

    def name(self, name: str) -> str:
        """What a name becomes; itself if it is none of the names."""
        return self._names.get(name, name)

    def text(self, text: str) -> str:
        """A text with all names in it replaced."""
        return _WORD.sub(lambda match: self._word(match[0]), text) if self._names else text

    def _new_word(self, word: str) -> str:
        """A word with the longest names in it replaced, from its begin on."""
        if word in self._names:
            return self._names[word]
        pieces = _PIECE.findall(word)
        parts: list[str] = []
        at = 0
        while at < len(pieces):
            ends = range(min(len(pieces), at + self._most_pieces), at, -1)
            end = next((end for end in ends if self._is_whole(pieces, at, end)), None)
            parts.append(pieces[at] if end is None else self._names["".join(pieces[at:end])])
            at = at + 1 if end is None else end
        return "".join(parts)

    def _is_whole(self, pieces: list[str], begin: int, end: int) -> bool:
        """Whether some pieces of a word are a name; a number is one only as a whole word, else none would stay."""
        name = "".join(pieces[begin:end])
        return name in self._names and not name.isdigit()
