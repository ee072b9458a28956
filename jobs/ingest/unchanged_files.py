"""Files that are on disk as an earlier run found them: what is known of them need not be read to be known again."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress

from jobs.ingest.read_plan import LogFileRow
from jobs.settings import Settings
from udfs.logs.paths import name_on_disk
from udfs.logs.stores import is_url
from udfs.logs.survey import identity_on_disk

KNOWN_WHOLE = ("ok", "no_records")
"""Values of `log_files.status` of streams of which nothing is left to say: what is damaged is named in each run."""


def disk_state(path: str, settings: Settings) -> str | None:
    """A path, which file of this machine is there, how large, when it changed last, and in which zones times are read,
    hashed. None where a file is on no disk of this machine, or is gone.
    """
    if is_url(path):
        return None
    with suppress(OSError, ValueError):
        status = os.stat(name_on_disk(path))
        zones = settings.time_zone, sorted(settings.node_time_zones.items())
        text = repr((path, identity_on_disk(status), status.st_size, status.st_mtime_ns, zones))
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    return None


def unchanged(states: Mapping[str, str | None], rows: Iterable[LogFileRow]) -> dict[str, LogFileRow]:
    """By path the row of LOG_FILES of the stream that the file there still is.

    `states`: of paths of one cluster, as of `disk_state`; `rows`: those of that cluster. A bundle is read each time: it
    is no stream.
    """
    known = {row["disk_state"]: row for row in rows if row["disk_state"] is not None and row["status"] in KNOWN_WHOLE}
    return {path: known[state] for path, state in states.items() if state in known}
