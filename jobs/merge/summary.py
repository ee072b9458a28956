"""What a merge says at its end, on standard error: what was read, what matched, what was passed over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from jobs.merge.log import Log, counted
from jobs.merge.request import MergeRequest, local_time


def sentences(request: MergeRequest, logs: Sequence[Log], printed: int, hints: Iterable[str] = ()) -> Iterator[str]:
    """One line, with `--verbose` one for each file before it; a sentence if nothing matched, and hints. `logs` in their
    order."""
    if request.options.verbose:
        yield from (log.summary() for log in logs)
    if absent := sorted(request.skews.keys() - {log.node for log in logs}):
        yield f"No log was written by node {', '.join(map(str, absent))}, which --skew names."
    records, matched = sum(log.totals.records for log in logs), sum(log.matched for log in logs)
    if matched == 0:
        yield f"Nothing matched: {request.described()} {_read(logs, request.own_zone)}."
    yield from hints
    unframed = sum(log.totals.unframed_bytes for log in logs)
    parts = [f"{counted(records, 'record')} read from {counted(len(logs), 'file')}", f"{matched:,} matched"]
    if printed < matched and not request.options.count:
        parts.append(f"{printed:,} printed")
    parts.append(f"{counted(unframed, 'byte')} outside records")
    if passed_over := sum(log.passed_over for log in logs):
        parts.append(f"{counted(passed_over, 'byte')} outside the window passed over")
    if searched := sum(log.totals.passed_over for log in logs):
        parts.append(f"{counted(searched, 'byte')} searched without a hit")
    yield ", ".join(parts)


def _read(logs: Sequence[Log], zone: str) -> str:
    """`in 3 files with 120 records from ... to ...`; where bytes were searched, with so many of them."""
    from udfs.merge.times import as_text

    records = sum(log.totals.records for log in logs)
    is_searched = any(log.totals.passed_over for log in logs)
    size = counted(sum(log.totals.bytes for log in logs), "byte") if is_searched else counted(records, "record")
    text = f"in {counted(len(logs), 'file')} with {size}"
    first = [log.totals.first for log in logs if log.totals.first is not None]
    last = [log.totals.last for log in logs if log.totals.last is not None]
    if first and last:
        since, until = as_text(local_time(min(first), zone)), as_text(local_time(max(last), zone))
        text += f" from {since} to {until}"
    return text
