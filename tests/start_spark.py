"""Start Spark once, which fetches Delta's jars into Ivy's cache. Exits with one sentence if it does not start."""

from __future__ import annotations

import sys

from jobs.exits import FAILED, complain
from jobs.session import session
from udfs.errors import Failed

try:
    with session():
        pass
except Failed as error:
    complain(str(error))
    sys.exit(FAILED)
