"""Secrets in logs, masked before anything is read out of a record: passwords, keys and tokens that brokers print.

Kafka prints most as `[hidden]`; what clients, plugins, tools and old releases print it does not hide. Each byte of a
secret becomes `*`, so all positions, sizes and sums stay as they are on disk.
"""

from __future__ import annotations

import re

from udfs.rules.regex import late

_NEEDLES = (
    b"assw", b"ASSW", b"assphrase", b"ecret", b"SECRET", b"redential", b"oken", b".key", b"_key", b"@",
    b"user.info", b"earer ", b"PRIVATE KEY",
)  # fmt: skip
"""What each line with a secret has: looking for a few bytes costs a hundredth of what the expression does."""
_SECRETS = late(
    rb"""
    (?: password | passwd | passphrase | secret (?:[._-]?key)? | credentials? | client[._-]?secret
      | api[._-]key | (?:access|master|private|shared|session|stored|server|account|keystore|ssl) [._-]? key
      | auth\.user\.info
      | (?:auth|access|bearer|session|sas|refresh|id)[._-]?token | token (?=\s*=) | salted_?password )
    ["']? \s* (?: = | : | -> ) \s*
    (?! \[hidden\] | null\b | none\b | -----BEGIN | \*+ (?:["'\s,;}\])] | $) )
    (?: " (?P<in_quotes> (?:[^"\\\r\n]|\\.)+ ) | ' (?P<in_ticks> [^'\r\n]+ ) | (?P<bare> [^\s"',;}\])]+ ) )
    | :// [^\s/:@]+ : (?P<of_user> [^\s/@]+ ) @
    | \bbearer \s+ (?P<of_header> [^\s"',;]{8,} )
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY----- (?P<pem> [\w+/=\s\\-]*? ) (?= -----END | [^\w+/=\s\\-] | \Z )
    """,
    re.IGNORECASE | re.VERBOSE,
)


def may_have_secrets(text: bytes) -> bool:
    """Whether lines, of which each number is one byte, may have secrets."""
    return masked(text) is not text


def masked(data: bytes) -> bytes:
    """The same bytes, and as many, with each byte of a secret as `*`; line ends stay.

    >>> masked(b'required username="admin" password="hunter2";').decode()
    'required username="admin" password="*******";'
    >>> masked(b"ssl.key.password = [hidden], password.encoder.iterations = 4096").decode()
    'ssl.key.password = [hidden], password.encoder.iterations = 4096'
    """
    parts: list[bytes] = []
    at = 0
    for line_begin, line_end in _lines_to_look_at(data):
        for match in _SECRETS.finditer(data, max(line_begin, at), line_end):
            name = match.lastgroup
            assert name is not None  # each alternative has one
            begin, end = match.span(name)
            parts += [data[at:begin], re.sub(rb"[^\r\n]", b"*", data[begin:end])]
            at = end
    return b"".join([*parts, data[at:]]) if parts else data


def _lines_to_look_at(data: bytes) -> list[tuple[int, int]]:
    """Begin and end of the lines that have a needle, ascending; a private key goes on to its end."""
    lines: set[tuple[int, int]] = set()
    for needle in _NEEDLES:
        at = data.find(needle)
        while at >= 0:
            begin = data.rfind(b"\n", 0, at) + 1
            end = data.find(b"\n", at)
            if needle == b"PRIVATE KEY":
                end = data.find(b"-----END", at)
            end = len(data) if end < 0 else end
            lines.add((begin, end))
            at = data.find(needle, end)
    return sorted(lines)
