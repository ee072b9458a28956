"""What a merge is asked for: the options of its command line, and what they mean. Opens nothing but settings."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from udfs.errors import BadInput

if TYPE_CHECKING:
    from jobs.settings import Settings
    from udfs.merge.filters import Filters
    from udfs.merge.times import Moment

FORMATS = ("raw", "short", "jsonl", "csv")
_MOST_SKEW = 366 * 86_400_000  # ms


@dataclass(frozen=True)
class Options:
    """The options as they stand on the command line. Everything may be left out but the logs."""

    paths: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()  # comma-separated
    logs_regex: str | None = None
    topic: str | None = None
    partitions: str | None = None
    broker: str | None = None
    controller_epoch: int | None = None
    leader_epoch: int | None = None
    correlation_id: int | None = None
    event: str | None = None
    level: str | None = None
    only: str | None = None
    grep: str | None = None
    since: str | None = None
    until: str | None = None
    around: str | None = None
    within: str | None = None  # 1m
    zone: str | None = None
    utc: bool = False
    conf: str | None = None
    skew: str = "none"
    form: str = "raw"
    node: bool = False
    count: bool = False
    limit: int | None = None
    verbose: bool = False
    keep_duplicates: bool = False
    trust_order: bool = False
    redact: bool = False
    key: str | None = None
    short_names: tuple[str, ...] = ()  # of --since and --until those that stand there, not --start-time and --end-time

    @property
    def since_name(self) -> str:
        """What messages call the begin of the window: as it was given."""
        return "--since" if "--since" in self.short_names else "--start-time"

    @property
    def until_name(self) -> str:
        """What messages call its end."""
        return "--until" if "--until" in self.short_names else "--end-time"


@dataclass
class MergeRequest:
    """The same, checked and understood."""

    options: Options
    filters: Filters
    since: Moment | None
    until: Moment | None
    zone_of: Callable[[int | None], str]
    own_zone: str  # of the user's times, and of those printed
    skews: dict[int, int]  # node -> microseconds that its clock is ahead
    window: tuple[int | None, int | None] = (None, None)  # UTC, inclusive
    key: bytes | None = None  # with which names are replaced; None: they stay

    @property
    def with_lines(self) -> bool:
        """Whether line numbers are printed."""
        return self.options.form in ("jsonl", "csv")

    @property
    def is_relative(self) -> bool:
        """Whether a time of the window depends on the last record."""
        return any(moment is not None and moment.is_relative for moment in (self.since, self.until))

    def relative_meaning(self, first: int | None, last: int) -> str:
        """What is to be said of times that depend on the logs, which are from `first` to `last`, UTC; empty if nothing.

        Times of day need no word where all logs are of one day.
        """
        moments = [moment for moment in (self.since, self.until) if moment is not None]
        if any(moment.ago is not None for moment in moments):
            return "relative times count back from it"
        day = 86_400_000_000
        days = {local_time(at, self.own_zone) // day for at in (first, last) if at is not None}
        is_needed = len(days) > 1 and any(moment.clock is not None for moment in moments)
        return "a time without a day is the last one before it" if is_needed else ""

    def set_window(self, last: int | None, first: int | None = None) -> None:
        """The window in UTC. `last` and `first`: greatest and least time of the logs, UTC; needed for relative times.

        Raises BadInput.
        """
        from udfs.merge.times import as_text

        def utc(moment: Moment | None, is_end: bool) -> int | None:
            if moment is None or (moment.is_relative and last is None):
                return None
            if moment.is_relative and last is not None:
                begin = None if first is None else local_time(first, self.own_zone)
                moment = moment.before(local_time(last, self.own_zone), begin)
            if moment.utc is not None or moment.local is None:
                return moment.utc
            return _as_utc(moment.local, self.own_zone, is_end)

        since, until = utc(self.since, False), utc(self.until, True)
        if self.options.around is not None and since is not None and until is not None:
            margin = _within(self.options)
            since, until = since - margin, until + margin
        if since is not None and until is not None and since > until:
            start, end = (as_text(local_time(at, self.own_zone)) for at in (since, until))
            begin, finish = self.options.since_name, self.options.until_name
            raise BadInput(f"{begin} {start} is after {finish} {end}; exchange them.")
        self.window = (since, until)

    def described(self) -> str:
        """What is looked for: `no record of topic a, of partition 3, since ...`."""
        from udfs.merge.times import as_text

        options = self.options
        named = {
            "topic": options.topic, "partition": options.partitions, "broker": options.broker,
            "controller epoch": options.controller_epoch, "leader epoch": options.leader_epoch,
            "correlation id": options.correlation_id, "event": options.event, "level": options.level,
            "logger": options.only, "text": options.grep,
        }  # fmt: skip
        parts = [f"of {name} {value}" for name, value in named.items() if value is not None]
        since, until = self.window
        if since is not None:
            parts.append(f"since {as_text(local_time(since, self.own_zone))}")
        if until is not None:
            parts.append(f"until {as_text(local_time(until, self.own_zone))}")
        return " ".join(["no record", ", ".join(parts)]).strip()


def understood(options: Options) -> MergeRequest:
    """Checks all arguments before any log is opened. Raises BadInput."""
    _check(options)
    filters = _filters(options)
    near = _moment("--around", options.around)
    since = near or _moment(options.since_name, options.since)
    until = near or _moment(options.until_name, options.until)
    settings = None
    if options.conf is not None:
        from jobs.settings import load

        settings = load(options.conf)
    own_zone = options.zone if options.zone is not None else (settings.time_zone if settings else None) or "UTC"
    _check_zone(own_zone)
    skews = {} if options.skew in ("none", "auto") else _read_skews(options.skew)
    request = MergeRequest(
        options, filters, since, until, _zone_of(settings, own_zone), "UTC" if options.utc else own_zone, skews
    )
    request.key = _key(options)
    _within(options)
    if not request.is_relative:
        request.set_window(None)
    return request


def _check(options: Options) -> None:
    """Raises BadInput for options that do not go together, or are empty."""
    if options.logs and options.logs_regex is not None:
        raise BadInput("Give the files with --logs or with --logs-regex, not with both.")
    if not options.logs and options.logs_regex is None and not options.paths:
        raise BadInput("No logs were given; name files, folders, globs or bundles, or - for standard input.")
    if options.topic == "":
        raise BadInput("--topic is empty; give a topic's name.")
    if options.partitions is not None and options.topic is None:
        raise BadInput("--partitions needs --topic; say of which topic.")
    if options.limit is not None and options.limit < 0:
        raise BadInput(f"--limit {options.limit} is less than none; give a number of records.")
    ends = {options.since_name: options.since, options.until_name: options.until}
    if options.around is not None and (names := [name for name, time in ends.items() if time is not None]):
        raise BadInput(f"--around does not go with {' and '.join(names)}; give one or the other.")
    if options.within is not None and options.around is None:
        raise BadInput("--within is of no use without --around; give both or none.")


def _key(options: Options) -> bytes | None:
    """The key of `--redact`. Raises BadInput if there is none, or one that nothing needs."""
    if options.key is None:
        if options.redact:
            raise BadInput("--redact needs --key FILE; make one with `openssl rand -hex 32 > FILE`.")
        return None
    if not options.redact:
        raise BadInput("--key is of no use without --redact; give both or none.")
    from udfs.redaction import key_of

    return key_of(options.key)


def _filters(options: Options) -> Filters:
    from udfs.merge.filters import Filters

    return Filters(
        topic=_text("--topic", options.topic),
        partitions=_numbers("--partitions", options.partitions),
        brokers=_numbers("--broker", options.broker),
        controller_epoch=options.controller_epoch,
        leader_epoch=options.leader_epoch,
        correlation_id=options.correlation_id,
        events=_events(options.event),
        levels=_levels(options.level),
        only=_scopes(options.only),
        grep=_pattern(options.grep),
    )


def _text(name: str, text: str | None) -> str | None:
    """A text of the command line, which is UTF-8 whatever the locale makes of it."""
    if text is None:
        return None
    try:
        return os.fsencode(text).decode()
    except UnicodeError:
        raise BadInput(f"{name} {text!r} is no text; give a topic's name.") from None


def _numbers(name: str, text: str | None) -> frozenset[int]:
    """`0,3,7-9`: a comma at the end is fine, so are blanks; a number may come once."""
    if text is None:
        return frozenset()
    numbers: list[int] = []
    parts = text.split(",")
    for part in parts[:-1] if len(parts) > 1 and not parts[-1].strip() else parts:
        m = re.fullmatch(r"(0|[1-9]\d{0,9})(?:-(0|[1-9]\d{0,9}))?", part.strip(), re.ASCII)
        if m is None:
            raise BadInput(f"{name} {text!r}: {part.strip()!r} is no number; give numbers such as 0,3,7-9.")
        first, last = int(m[1]), int(m[2] or m[1])
        if not first <= last < first + 100_000:
            raise BadInput(f"{name} {text!r}: {part.strip()!r} is no range; give numbers such as 0,3,7-9.")
        numbers.extend(range(first, last + 1))
    again = next((n for i, n in enumerate(numbers) if n in numbers[:i]), None) if len(numbers) < 1000 else None
    if again is not None:
        raise BadInput(f"{name} {text!r} has {again} twice; give each number once.")
    return frozenset(numbers)


def _events(text: str | None) -> frozenset[str]:
    if text is None:
        return frozenset()
    from udfs.rules.lookup import event_types

    events = frozenset(part.strip() for part in text.split(","))
    unknown, types = set(events), event_types()
    while unknown and (event_type := next(types, None)) is not None:
        unknown.discard(event_type)
    for event in sorted(unknown):
        from difflib import get_close_matches

        near = get_close_matches(event, set(event_types()), 1)
        hint = f"did you mean {near[0]}?" if near else "`--format short` shows those of records."
        raise BadInput(f"--event {event!r} is no type of event; {hint}")
    return events


def _levels(text: str | None) -> frozenset[str]:
    if text is None:
        return frozenset()
    from udfs.merge.filters import LEVELS

    levels: set[str] = set()
    for part in text.upper().split(","):
        name = part.strip().removesuffix("+")
        if name not in LEVELS:
            raise BadInput(f"--level {part.strip()!r} is none of {', '.join(LEVELS)}; WARN+ means WARN and above.")
        levels.update(LEVELS[LEVELS.index(name) :] if part.strip().endswith("+") else (name,))
    return frozenset(levels)


def _scopes(text: str | None) -> frozenset[str]:
    if text is None:
        return frozenset()
    from udfs.merge.filters import SCOPES

    scopes = frozenset(part.strip() for part in text.split(","))
    for scope in sorted(scopes - set(SCOPES)):
        raise BadInput(f"--only {scope!r} is none of {', '.join(SCOPES)}.")
    return scopes


def _pattern(text: str | None) -> re.Pattern[bytes] | None:
    if text is None:
        return None
    try:
        return re.compile(os.fsencode(text), re.MULTILINE)
    except re.error as error:
        raise BadInput(f"--grep {text!r} is no regular expression: {error}.") from None


def _moment(name: str, text: str | None) -> Moment | None:
    if text is None:
        return None
    from udfs.merge.times import moment

    try:
        return moment(text)
    except ValueError as error:
        raise BadInput(f"{name} {error}.") from None


def _within(options: Options) -> int:
    from udfs.merge.times import span

    try:
        return span("1m" if options.within is None else options.within)
    except ValueError as error:
        raise BadInput(f"--within {error}.") from None


def _check_zone(zone: str) -> None:
    if zone == "UTC":
        return
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadInput(f"--zone {zone!r} is no time zone; give an IANA name such as Europe/Berlin.") from None


def _zone_of(settings: Settings | None, own_zone: str) -> Callable[[int | None], str]:
    by_node = settings.node_time_zones if settings else {}
    return lambda node: by_node.get(node, own_zone) if node is not None else own_zone


def _read_skews(path: str) -> dict[int, int]:
    """Node -> microseconds, of a file with a line `3: -250` or `3,-250` for each node; `#` begins a comment."""
    skews: dict[int, int] = {}
    try:
        with open(path, encoding="utf-8-sig") as file:
            for line in file:
                text = line.partition("#")[0].strip()
                m = re.fullmatch(r"(?P<node>\d+)\s*[:,]\s*(?P<ms>[+-]?\d+(?:\.\d+)?)", text)
                if m:
                    ms = float(m["ms"])
                    if abs(ms) > _MOST_SKEW:
                        raise BadInput(f"--skew {path}: {text!r} is more than a year; give milliseconds.")
                    if int(m["node"]) in skews:
                        raise BadInput(f"--skew {path} has node {int(m['node'])} twice; give each node once.")
                    skews[int(m["node"])] = round(ms * 1000)
                elif text and not re.fullmatch(r"\w+,\w+|---|\{\}", text):
                    raise BadInput(
                        f"--skew {path}: {text!r} is not understood; write lines such as 3: -250 (ms ahead)."
                    )
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise BadInput(f"--skew: this file cannot be read: {path} ({why}); give auto, none or a file.") from None
    if not skews:
        raise BadInput(f"--skew {path} names no node; write lines such as 3: -250 (ms ahead).")
    return skews


def _as_utc(local: int, zone: str, is_end: bool) -> int:
    """A time of a zone as UTC; of a repeated one the first pass, at the end of a window the second."""
    if zone == "UTC":
        return local
    import numpy as np

    from udfs.logs.timestamps import readings

    try:
        first, second = readings(np.array([local], np.int64), zone)
    except (OverflowError, ValueError):  # of the first or last year that there is
        return local
    return int(max(first[0], second[0]) if is_end else min(first[0], second[0]))


def local_time(utc: int, zone: str) -> int:
    """UTC as a zone's clocks show it, microseconds."""
    if zone == "UTC":
        return utc
    from datetime import UTC, datetime, timedelta
    from zoneinfo import ZoneInfo

    try:
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=utc)
        offset = at.astimezone(ZoneInfo(zone)).utcoffset()
    except OverflowError:  # before the year 1 or after 9999, where no zone matters
        return utc
    return utc + (offset // timedelta(microseconds=1) if offset else 0)
