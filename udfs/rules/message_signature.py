"""What messages of one kind share: their text with numbers, ids and names taken out.

Rejects are grouped by it, so that a message that a new release of Kafka writes shows up once, with a count.
"""

from __future__ import annotations

import re

LENGTH = 300
"""Characters that are kept."""
_READ = 4000  # characters that are looked at

_PARTS = re.compile(
    r"(?P<quoted>(?<!\w)'[^'\n]{1,250}'|\"[^\"\n]{1,250}\")"
    r"|(?P<id>(?<![\w-])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![\w-])"
    r"|(?<![\w-])(?=[\w-]*[A-Z])(?=[\w-]*[a-z])(?=[\w-]*\d)[\w-]{22}(?![\w-])"
    r"|(?<=@)[0-9a-f]{3,16}\b|\b0x[0-9a-fA-F]+\b)"
    r"|(?P<partition>[\[(](?=[\w.-]*[A-Za-z_])[\w.-]{1,250}, ?\d+[\])]"  # a list of ids has no letter
    r"|(?<![\w.-])(?=[\w.-]*[A-Za-z_])[\w.-]+-\d+(?![\w-]))"
    r"|(?P<path>(?<![\w.])/[\w.-]+(?:/[\w.-]+)+/?)"
    r"|(?P<n>(?<![\w.-])-?\d+(?:\.\d+)*(?![\w-]))"
)
_NUMBER = re.compile(r"\d+")
_LIST = re.compile(r"(<\w+>)(?:, ?\1)+")


def message_signature(message: str) -> str:
    """The first line of a message with placeholders for numbers, ids and names; a long one is cut.

    >>> message_signature("Broker id=3 frobnicated pay-in-0")
    'Broker id=<n> frobnicated <partition>'
    """
    line = message.partition("\n")[0].strip()[:_READ]
    bare = _NUMBER.sub("<n>", _PARTS.sub(lambda m: f"<{m.lastgroup}>", line))
    bare = _LIST.sub(r"\1,…", bare)
    return bare if len(bare) <= LENGTH else bare[:LENGTH] + "…"
