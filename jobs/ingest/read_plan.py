"""Which streams a run reads, and their rows of `log_files` before it has read them."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from schemas.ingest import LOG_FILES
from udfs.logs.ranges import Range, changed_sentence, ranges
from udfs.logs.survey import Survey

LogFileRow = dict[str, Any]
"""A row of LOG_FILES by column name."""
LastRecord = dict[str, Any]
"""A value of LOG_FILES.last_record."""
COUNTED = ("event_bytes", "detail_bytes", "reject_bytes", "other_bytes", "event_lines", "reject_lines")
"""Numbers that the reader of a range gives."""


@dataclass
class ReadPlan:
    """What is to be read, of streams that are new, were appended to, or have another zone now."""

    rows: dict[str, LogFileRow]
    """Rows of LOG_FILES by file id; those of streams to be read are completed when they have been read."""
    run_id: str
    to_read: dict[str, Survey] = field(default_factory=dict)
    """By file id."""
    grown: dict[str, LogFileRow] = field(default_factory=dict)
    """Of streams to be read those of which only what is new is: their published rows by file id."""
    damaged: list[Survey] = field(default_factory=list)
    """What cannot be read, or not to its end."""
    has_logs: bool = False
    disk_states: Mapping[str, str | None] = field(default_factory=dict)
    """By path, before it was surveyed: LOG_FILES.disk_state."""
    _read_before: dict[str, str] = field(default_factory=dict)
    """By file id the path where a stream that is known was surveyed again."""

    def add_unchanged(self, row: LogFileRow) -> None:
        """Plan nothing of a file that is still the stream of a row."""
        self.has_logs = self.has_logs or row["format"] is not None

    def add(self, cluster: str, surveyed: Survey) -> None:
        """Plan one stream."""
        path = surveyed.source.name
        if surveyed.error:
            self.damaged.append(surveyed)
        self.has_logs = self.has_logs or surveyed.format is not None
        refused = _refused_id(cluster, path)
        # what could not be read before may be readable now
        before = self.rows.pop(refused, None)
        if surveyed.status == "refused":
            is_same = before is not None and before["findings"] == [surveyed.error]
            self.rows[refused] = before if before and is_same else self._row(refused, cluster, surveyed)
            return
        if surveyed.size == 0:
            return
        file_id = surveyed.known_as or _id(cluster, surveyed.digest)
        row = self.rows.get(file_id)
        if (
            row
            and file_id in self.to_read
            and surveyed.known_size < surveyed.size
            and row["prefix_hash"] != surveyed.digest
        ):
            # two streams continue a known one; what they share is found as an overlap
            file_id = _id(cluster, surveyed.digest)
            row = self.rows.get(file_id)
        if row is not None and surveyed.size <= row["size_bytes"]:
            has_new_zone = surveyed.zone != row["time_zone"] and surveyed.size == row["size_bytes"]
            if not (has_new_zone and path == row["path"]):
                if path != row["path"] and path not in row["also_seen_as"]:
                    self.rows[file_id] = {**row, "also_seen_as": sorted([*row["also_seen_as"], path])}
                if surveyed.size == row["size_bytes"] and not surveyed.source.member:
                    self._read_before[file_id] = path
                return
        other_paths = [p for p in ([row["path"], *row["also_seen_as"]] if row else []) if p != path]
        self.rows[file_id] = {**self._row(file_id, cluster, surveyed), "also_seen_as": sorted(other_paths)}
        self.to_read.pop(file_id, None)
        self.to_read[file_id] = surveyed
        self.grown.pop(file_id, None)
        if row is not None and _goes_on(row, surveyed):
            self.grown[file_id] = row

    def note_disk_states(self) -> None:
        """Of streams that were surveyed in vain: as what they need not be the next time. Not if there is nothing to
        read: a run over unchanged logs writes nothing."""
        for file_id, path in self._read_before.items():
            if self.to_read and file_id not in self.to_read:
                self.rows[file_id] = {**self.rows[file_id], "disk_state": self.disk_states.get(path)}

    def postpone(self, file_ids: Iterable[str], published: Mapping[str, LogFileRow]) -> list[str]:
        """Streams of files that changed while they were read are as they were published; the sentences that say so.

        Such a file has a row of what is refused, until a later run finds it as it surveyed it.
        """
        sentences = set()
        for file_id in sorted(file_ids):
            surveyed = self.to_read.pop(file_id)
            self.grown.pop(file_id, None)
            cluster = self.rows.pop(file_id)["cluster"]
            if file_id in published:
                self.rows[file_id] = published[file_id]
            sentence, path = changed_sentence(surveyed.source.path), surveyed.source.name
            refused = Survey(surveyed.source, status="refused", error=sentence)
            self.rows[_refused_id(cluster, path)] = self._row(_refused_id(cluster, path), cluster, refused)
            sentences.add(sentence)
        return sorted(sentences)

    def tasks(self, file_ids: Collection[str]) -> list[Range]:
        """The ranges that are to be read of some streams."""
        tasks: list[Range] = []
        for file_id in file_ids:
            last = self.grown[file_id]["last_record"] if file_id in self.grown else {"byte_offset": 0, "line": 1}
            tasks += ranges(self.to_read[file_id], file_id, start=last["byte_offset"], first_line=last["line"])
        return tasks

    def in_other_clusters(self) -> list[str]:
        """Sentences about streams that are new to their cluster, and in the tables as those of another one."""
        owners = defaultdict[tuple[str, int], set[str]](set)
        for row in self.rows.values():
            owners[row["prefix_hash"], row["size_bytes"]].add(row["cluster"])
        new = [self.rows[file_id] for file_id in self.to_read if file_id not in self.grown]
        pairs = Counter(
            (row["cluster"], other)
            for row in new
            for other in owners[row["prefix_hash"], row["size_bytes"]] - {row["cluster"]}
        )
        return [
            f"{count:,} {'log' if count == 1 else 'logs'} of cluster {cluster} {'is' if count == 1 else 'are'} in the "
            f"tables already, of cluster {other}: from this run on both have them"
            for (cluster, other), count in sorted(pairs.items())
        ]

    def first_line(self, file_id: str) -> int:
        """The number of the line from which on a stream is read."""
        return int(self.grown[file_id]["last_record"]["line"]) if file_id in self.grown else 1

    @property
    def size(self) -> int:
        """Bytes that are to be read."""
        passed = sum(row["last_record"]["byte_offset"] for row in self.grown.values())
        return sum(surveyed.size for surveyed in self.to_read.values()) - int(passed)

    def _row(self, file_id: str, cluster: str, surveyed: Survey) -> LogFileRow:
        """A stream's row before its records are read."""
        return {
            **dict.fromkeys(LOG_FILES.columns),
            "drift": {},
            **{name: [] for name in ("node_ids", "also_seen_as", "channels", "spans")},
            "findings": [sentence for sentence in (surveyed.error, surveyed.doubt) if sentence],
            **dict.fromkeys([*COUNTED, "duplicate_bytes"], 0),
            "cluster": cluster,
            "file_id": file_id,
            "path": surveyed.source.name,
            "format": surveyed.format,
            "size_bytes": surveyed.size,
            "other_bytes": 0 if surveyed.format else surveyed.size,
            "held_back_bytes": surveyed.held_back,
            "time_zone": surveyed.zone,
            "status": surveyed.status,
            "prefix_hash": surveyed.digest,
            "disk_state": self.disk_states.get(surveyed.source.name),
            "run_id": self.run_id,
        }


def _goes_on(row: LogFileRow, surveyed: Survey) -> bool:
    """Whether a known stream need be read from its last record on only: all before it would read as it did."""
    return (
        row["last_record"] is not None
        and (surveyed.known_as, surveyed.known_size) == (row["file_id"], row["size_bytes"])
        and surveyed.size > row["size_bytes"]
        and (surveyed.format, surveyed.zone) == (row["format"], row["time_zone"])
        and not surveyed.has_repeats
    )


def _id(cluster: str, content: str) -> str:
    return hashlib.blake2b(f"{cluster}\0{content}".encode(), digest_size=8).hexdigest()


def _refused_id(cluster: str, path: str) -> str:
    """The id of the row that says why a file is not read."""
    return _id(cluster, f"refused\0{path}")
