"""Start Spark once, which fetches Delta's jars into Ivy's cache. Exits with one sentence if it does not start."""

from __future__ import annotations

import sys

from jobs.session import session
from udfs.errors import NoJava, NoSpark

try:
    with session():
        pass
except (NoJava, NoSpark) as error:
    sys.exit(str(error))
