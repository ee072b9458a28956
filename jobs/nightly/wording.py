"""How numbers, times, durations and files are written in a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from jobs.nightly.summary_facts import Row
from udfs.incidents.wording import length_text


def date_time(at: datetime | None) -> str:
    """`2026-11-21 11:47:34.963`; `unknown` for none."""
    return at.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] if at else "unknown"


def duration(ms: int | None) -> str:
    """`14 ms`, `17.8 s`, `3 min 20 s`, `2 h 5 min`; `an unknown time` for none."""
    return "an unknown time" if ms is None else length_text(ms)


def outage_length(row: Row) -> str:
    """`17.8 s`; where it is not known, what is sure: `at least 3 min 20 s`, `500 ms to 5.6 s`, `at most 5.6 s`."""
    least, most = row["at_least_ms"], row["at_most_ms"]
    if row["duration_ms"] is not None:
        return duration(row["duration_ms"])
    if most is None:
        return f"at least {duration(least)}" if least else duration(None)
    return f"{duration(least)} to {duration(most)}" if least else f"at most {duration(most)}"


def size(count: int) -> str:
    """Bytes as `6.6 MB`."""
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count:,} bytes"


def plural(count: int, word: str) -> str:
    """`1 partition`, `2 partitions`."""
    return f"{count:,} {word}" + ("" if count == 1 else "es" if word.endswith("s") else "s")


def ids(numbers: Iterable[int]) -> str:
    """`0, 1, 2`."""
    return ", ".join(map(str, numbers)) or "unknown"


def nodes(numbers: Sequence[int]) -> str:
    """`node 1`, `nodes 1, 2`."""
    return f"node {numbers[0]}" if len(numbers) == 1 else f"nodes {ids(numbers)}"


def distinct_names(paths: Iterable[str]) -> dict[str, str]:
    """Each path's last two parts, or as many as tell it from all others.

    >>> sorted(distinct_names(["/eu/1/logs/server.log", "/eu/2/logs/server.log", "/eu/1/logs/gc.log"]).values())
    ['1/logs/server.log', '2/logs/server.log', 'logs/gc.log']
    """
    names: dict[str, str] = {}
    left, length = {path: path.split("/") for path in paths}, 2
    while left:
        by_name: dict[str, list[str]] = {}
        for path, parts in left.items():
            by_name.setdefault("/".join(parts[-length:]), []).append(path)
        for name, same in by_name.items():
            if len(same) == 1 or any(len(left[path]) <= length for path in same):
                names |= dict.fromkeys(same, name) if len(same) == 1 else {path: path for path in same}
        left = {path: parts for path, parts in left.items() if path not in names}
        length += 1
    return names


class Names:
    """How a cluster's files and times are written: as short as nothing is lost by it.

    `paths`: of all files that are written of, if there are others. Streams that had one path after the other are
    written with the times of their first records.
    """

    def __init__(self, streams: Sequence[Row], paths: Iterable[str] = ()) -> None:
        short = distinct_names({*paths, *(row["path"] for row in streams)})
        self.path = {row["path"]: short[row["path"]] for row in streams}
        uses = Counter(row["path"] for row in streams)
        self._stream = {
            row["file_id"]: short[row["path"]]
            if uses[row["path"]] == 1
            else f"{short[row['path']]} of {date_time(row['first_at'])[:19]}"
            for row in streams
        }
        self.first = min((row["first_at"] for row in streams if row["first_at"]), default=None)
        self.last = max((row["last_at"] for row in streams if row["last_at"]), default=None)
        self._is_one_day = bool(self.first and self.last and self.first.date() == self.last.date())

    def time(self, at: datetime | None) -> str:
        """`11:47:34.963`; with the date if the logs are of several days."""
        return date_time(at)[11:] if at and self._is_one_day else date_time(at)

    def stream(self, file_id: str) -> str:
        """`broker-3/state-change.log`, of a stream."""
        return self._stream.get(file_id, "?")

    def line(self, place: Row) -> str:
        """`broker-3/state-change.log:5321`, of a place with `file_id` and `line`."""
        return f"{self.stream(place['file_id'])}:{place['line']}"

    def proof(self, row: Row) -> str:
        """The line that proves a row best."""
        line = first_proof(row)
        return "no line" if line is None else self.line(line)


def first_proof(row: Row) -> Row | None:
    """The first line of a row's evidence; of an outage the first that also shows its cause.

    An inferred state's other lines are those of its neighbours, and may be of minutes before.
    """
    evidence, of_cause = row.get("evidence") or [], row.get("cause_evidence") or []
    return next((line for line in evidence if line in of_cause), evidence[0] if evidence else None)


def labelled(label: str, sentences: Sequence[str], details: Sequence[str] = ()) -> list[str]:
    """Sentences, the label beside the first one only; then details, indented."""
    lines = [f"  {'' if number else label:<12} {text}" for number, text in enumerate(sentences)]
    return [*lines, *(f"    {text}" for text in details)]
