"""Whether there is a log among files, found out before Spark starts: nobody waits half a minute for a wrong path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from udfs.errors import BadInput
from udfs.logs.limits import Limits
from udfs.logs.survey import Survey, begins_as_log, survey


def check_logs(paths: Sequence[str], limits: Limits) -> None:
    """Raises BadInput if none of some files is a log, for the reason that the ingest would give.

    Usually the first bytes of one file settle it. Only if no file begins as a log they are read on, until one is.
    """
    if any(begins_as_log(path, limits) for path in paths):
        return
    damaged = []
    for path in paths:
        for surveyed in survey(path, {}, limits=limits):
            if surveyed.format is not None:
                return
            if surveyed.error:
                damaged.append(surveyed)
    raise no_logs(paths, damaged)


def no_logs(paths: Sequence[str], damaged: Iterable[Survey]) -> BadInput:
    """What to raise where none of some files is a log: of files that are refused the first reason."""
    reasons = [surveyed.error for surveyed in damaged if surveyed.status == "refused" and surveyed.error]
    if reasons:
        return BadInput(reasons[0])
    return BadInput(
        f"None of the {len(paths)} files is a Kafka log: no line of {paths[0]} begins as a log record does; "
        "give state-change.log, controller.log, server.log or kafka-dump-log text."
    )
