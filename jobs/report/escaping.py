"""What comes from logs as part of a page: text without markup, and data in a script element that stays data."""

from __future__ import annotations

import json
from html import escape

from udfs.printable import printable


def text(value: object) -> str:
    """Text of a log as HTML: no markup, no control characters.

    >>> text("</script><img src=x onerror=alert(1)>")
    '&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;'
    """
    return escape(printable(str(value)))


def as_script(values: object) -> str:
    """JSON that stays data inside of a script element, whatever texts it holds.

    >>> as_script({"topic": "</script>"})
    '{"topic":"\\\\u003c/script\\\\u003e"}'
    """
    plain = json.dumps(values, separators=(",", ":"), ensure_ascii=True)
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
