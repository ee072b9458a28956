"""Accounts: what became of the bytes of a range, by channel, and what its records show about the stream."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from udfs.arrow.schema import FIELDS, record_batch
from udfs.arrow.slices import Array
from udfs.arrow.template_table import Numbered
from udfs.logs.arrays import Flags, Longs
from udfs.logs.coverage import time_spans
from udfs.logs.timestamps import NO_TIME
from udfs.rules.logger_scopes import covers
from udfs.rules.prefixes import read_prefix
from udfs.rules.rulebook import RULES

_SILENCE = timedelta(minutes=1)  # longer ones separate the spans of Account.spans
_MICROSECOND = timedelta(microseconds=1)


@dataclass
class Account:
    """What became of the bytes of one range and channel, and what its records show about the stream."""

    channel: str = ""
    event_bytes: int = 0
    detail_bytes: int = 0
    reject_bytes: int = 0
    other_bytes: int = 0
    event_lines: int = 0
    reject_lines: int = 0
    first_at: int | None = None  # microseconds, UTC
    last_at: int | None = None
    nodes: Counter[str] = field(default_factory=Counter)  # `broker 3`: records that name it as their writer
    kinds: Counter[str] = field(default_factory=Counter)  # records in scope by kind of log, `state_change`
    spans: defaultdict[str, list[tuple[int, int, int]]] = field(default_factory=lambda: defaultdict(list))
    """By kind of log the times, microseconds, in which all its records are: first, last, number."""
    versions: set[tuple[str, str]] = field(default_factory=set)  # release ranges of the rules used
    drift: Counter[str] = field(default_factory=Counter)  # events by names of new fields, or APPENDED_TEXT

    def fields(self) -> dict[str, str]:
        """As text, for the `fields` of an `account` row; spans as `server=records:first:last`, a kind maybe several
        times."""
        texts = {name: str(value) for name, value in vars(self).items() if isinstance(value, int | str)}
        spans = ((kind, *span) for kind, of_kind in sorted(self.spans.items()) for span in of_kind)
        texts["nodes"] = ",".join(f"{node}={count}" for node, count in sorted(self.nodes.items()))
        texts["kinds"] = ",".join(f"{kind}={count}" for kind, count in sorted(self.kinds.items()))
        texts["drift"] = ",".join(f"{name}={count}" for name, count in sorted(self.drift.items()))
        texts["spans"] = ",".join(f"{kind}={n}:{first}:{last}" for kind, first, last, n in spans)
        texts["versions"] = ",".join(f"{since}..{until}" for since, until in sorted(self.versions))
        return texts

    def add_times(self, kind: str, times: Longs) -> None:
        """The times of records of a kind, at least one."""
        first, last = int(times.min()), int(times.max())
        if np.abs(np.diff(times)).max(initial=0) <= _SILENCE // _MICROSECOND:
            self.spans[kind].append((first, last, len(times)))
        else:
            self.spans[kind] += time_spans(times, _SILENCE)
        self.first_at = first if self.first_at is None else min(first, self.first_at)
        self.last_at = last if self.last_at is None else max(last, self.last_at)


@dataclass(frozen=True)
class Outcomes:
    """What became of the records of a batch, in order: arrays of one value a record."""

    codes: Longs  # index in RULES, or of a reason
    is_event: Flags
    is_drifted: Flags  # events that their rules know only in part
    is_stored: Flags  # events and rejects; all others are only counted
    sizes: Longs
    head_sizes: Longs
    micros: Longs
    logger: Longs  # index in `loggers`
    prefix: Longs  # index in `prefixes`
    loggers: Sequence[bytes]
    prefixes: Sequence[bytes]
    drift: tuple[Longs, Array]  # records that no rule knows in full, and names of what is new, after a comma each


class Accounts:
    """The accounts of one range by channel."""

    def __init__(self, file_id: str) -> None:
        self._file_id = file_id
        self._by_channel = {"": Account()}

    def add_other_bytes(self, size: int) -> None:
        """Bytes of no record."""
        self._by_channel[""].other_bytes += size

    def add(self, channels: Sequence[tuple[str, int]], outcomes: Outcomes) -> None:
        """Add all records of a batch; `channels`: names with numbers of records, in order."""
        kinds = Numbered()
        kind_of_logger = np.array([kinds[_log_kind(logger)] for logger in outcomes.loggers], np.int64)
        kind = kind_of_logger[outcomes.logger]
        first = 0
        for channel, count in _runs(channels):
            records = slice(first, first := first + count)
            account = self._by_channel.setdefault(channel, Account(channel))
            _add_bytes(account, outcomes, records)
            _add_kinds(account, outcomes, records, kinds, kind[records])
            _add_drift(account, outcomes, records)
            for number, named in enumerate(np.bincount(outcomes.prefix[records]).tolist()):
                if named and (writer := _writer(outcomes.prefixes[number])):
                    account.nodes[writer] += named

    def batch(self, more: Mapping[str, str] | None = None) -> pa.RecordBatch:
        """An `account` row for each channel, in SCHEMA; each has the fields `more`, too."""
        accounts = list(self._by_channel.values())
        columns = {
            "record": pa.array(["account"] * len(accounts)),
            "file_id": pa.array([self._file_id] * len(accounts)),
            "channel": pa.array(list(self._by_channel)),
            "fields": pa.array([[*account.fields().items(), *(more or {}).items()] for account in accounts], FIELDS),
        }
        return record_batch(columns, len(accounts))


def _runs(parts: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Names with lengths, those of equal neighbours added up."""
    runs: list[tuple[str, int]] = []
    for name, length in parts:
        if runs and runs[-1][0] == name:
            length += runs.pop()[1]
        runs.append((name, length))
    return runs


def _add_bytes(account: Account, outcomes: Outcomes, records: slice) -> None:
    """Lines and bytes of events, rejects and others, and the releases of the rules that matched."""
    codes, is_event = outcomes.codes[records], outcomes.is_event[records]
    is_stored, sizes, head_sizes = outcomes.is_stored[records], outcomes.sizes[records], outcomes.head_sizes[records]
    is_reject = is_stored & ~is_event
    account.event_bytes += int(head_sizes[is_event].sum())
    account.detail_bytes += int((sizes - head_sizes)[is_event].sum())
    account.event_lines += int(is_event.sum())
    account.reject_bytes += int(sizes[is_reject].sum())
    account.reject_lines += int(is_reject.sum())
    account.other_bytes += int(sizes[~is_stored].sum())
    is_known = is_event & ~outcomes.is_drifted[records]
    used = np.flatnonzero(np.bincount(codes[is_known], minlength=1))
    account.versions |= {(RULES[code].since, RULES[code].until) for code in used.tolist()}


def _add_drift(account: Account, outcomes: Outcomes, records: slice) -> None:
    """Events by what is new in them."""
    owners, names = outcomes.drift
    within = np.flatnonzero((owners >= records.start) & (owners < records.stop))
    within = within[outcomes.is_event[owners[within]]]
    for one in pc.value_counts(names.take(pa.array(within))).to_pylist() if len(within) else ():
        account.drift[one["values"].replace(",", " ")] += one["counts"]


def _add_kinds(account: Account, outcomes: Outcomes, records: slice, kinds: Numbered, kind: Longs) -> None:
    """Records in scope, and the times of all records, by kind of log."""
    is_stored, micros = outcomes.is_stored[records], outcomes.micros[records]
    for name, number in kinds.items():
        of_kind = kind == number
        if count := int((of_kind & is_stored).sum()):
            account.kinds[name] += count
        times = micros[of_kind & (micros != NO_TIME)]
        if len(times):
            account.add_times(name, times)


@lru_cache(maxsize=65536)
def _writer(prefix: bytes) -> str | None:
    """`broker 3`, if a prefix names the node that writes, and its role."""
    columns = read_prefix(prefix) or {}
    node = columns.get("node")
    roles = (role for role in ("broker", "controller") if node is not None)
    return next((f"{role} {node}" for role in roles if columns.get(f"{role}_id") == node), None)


_LOG_KINDS = {  # kind of log, after the files of Kafka's own configuration -> its loggers
    "state_change": ("state.change.logger",),
    "controller": ("kafka.controller", "kafka.controller.", "org.apache.kafka.controller."),
    "metadata_dump": ("kafka-dump-log",),
}


@lru_cache(maxsize=4096)
def _log_kind(logger: bytes) -> str:
    """Which log a logger writes to; `server` is all that has none of its own."""
    name = logger.decode("utf-8", "backslashreplace")
    return next((kind for kind, loggers in _LOG_KINDS.items() if covers(loggers, name)), "server")
