"""What one place does differently: a YAML file named by `--conf`; defaults live here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import yaml

from udfs.errors import BadInput
from udfs.logs.limits import Limits


@dataclass(frozen=True)
class TopicSettings:
    """What a topic overrides; None: the cluster's default."""

    min_insync_replicas: int | None = None
    unclean_leader_election_enable: bool | None = None


@dataclass(frozen=True)
class Settings:
    """All settings with their defaults. Times are ms unless the name says otherwise."""

    clusters: Mapping[str, str] = field(default_factory=dict)
    """Cluster name by path pattern (shell style), the first that matches."""
    time_zone: str | None = None
    """IANA zone of nodes that `node_time_zones` does not name; None: UTC, which the summary says is a guess."""
    node_time_zones: Mapping[int, str] = field(default_factory=dict)
    """IANA zone by node id."""
    topics: Mapping[str, TopicSettings] = field(default_factory=dict)
    """Overrides by topic name."""
    min_insync_replicas: int | None = None
    """The brokers' default; None: unknown, then availability stays null below UnderReplicated."""
    unclean_leader_election_enable: bool | None = None
    """The brokers' default; None: the release's (true up to 0.10.2, then false)."""
    churn_flaps: int = 3
    """Flaps in one hour from which on a follower is churning."""
    coverage_tolerance_minutes: int = 60
    """A silence up to this long is no gap in the log coverage."""
    max_unpacked_gb: int = 64
    """Most gigabytes (2^30 bytes) that one compressed file or bundle may unfold to."""
    max_unpacked_ratio: int = 1000
    """Most bytes that each byte of a compressed file or bundle may unfold to, once it is beyond 64 MB."""

    max_reject_percent: int = 2
    """Most records in scope of a stream that no rule knows, in percent, if they are more than 20; above, its release is not
    understood, and the gate refuses the run."""

    def cluster_of(self, path: str, default: str) -> str:
        """Cluster of a file."""
        return next((name for pattern, name in self.clusters.items() if fnmatch(path, pattern)), default)

    def zone_of(self, node: int | None) -> str:
        """Zone of a node's local times; None: of streams whose node is not known."""
        usual = self.time_zone or "UTC"
        return usual if node is None else self.node_time_zones.get(node, usual)

    def least_in_sync(self, topic: str) -> int | None:
        """A topic's `min.insync.replicas`: its own, else the brokers' default; None unknown."""
        own = self.topics.get(topic, TopicSettings()).min_insync_replicas
        return self.min_insync_replicas if own is None else own

    @property
    def limits(self) -> Limits:
        """How far compressed input may unfold."""
        return Limits(unpacked_bytes=self.max_unpacked_gb << 30, ratio=self.max_unpacked_ratio)

    @property
    def coverage_tolerance(self) -> timedelta:
        """See `coverage_tolerance_minutes`."""
        return timedelta(minutes=self.coverage_tolerance_minutes)


def load(path: str | None) -> Settings:
    """Settings of a YAML file, the defaults if there is none. Raises BadInput for what it does not understand."""
    if path is None:
        return Settings()
    try:
        given = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        first = str(error).splitlines()[0]
        raise BadInput(
            f"The settings file cannot be read: {path} ({first}); give a YAML file such as conf/example.yaml."
        ) from None
    if given is None:
        return Settings()
    _check_keys(path, "", given if isinstance(given, dict) else [type(given).__name__], Settings)
    return _checked(path, given)


def _check_keys(path: str, where: str, given: Iterable[Any], known: type[Settings | TopicSettings]) -> None:
    """Raises BadInput for keys that are no settings."""
    names = {f.name for f in fields(known)}
    if wrong := sorted(map(str, set(given) - names)):
        raise BadInput(
            f"The settings file {path} has unknown keys: {', '.join(wrong)}{where}; known are {', '.join(sorted(names))}."
        )


def _checked(path: str, given: dict[str, Any]) -> Settings:
    topics = {
        str(name): _topic(path, str(name), told) for name, told in _mapping(path, "topics", given.get("topics")).items()
    }
    clusters: dict[str, str] = {}
    for pattern, name in _mapping(path, "clusters", given.get("clusters")).items():
        if name is None or not str(name).strip():
            raise BadInput(
                f"The settings file {path} gives no name to the cluster of {pattern!r}; give one after the colon."
            )
        clusters[str(pattern)] = str(name)
    zones: dict[int, str] = {}
    for node, zone in _mapping(path, "node_time_zones", given.get("node_time_zones")).items():
        try:
            zones[int(node)] = str(zone)
        except (TypeError, ValueError):
            raise BadInput(
                f"The settings file {path} is not understood: node_time_zones names {node!r}; give ids of nodes, `1: Europe/Berlin`."
            ) from None
    for zone in [given.get("time_zone") or "UTC", *zones.values()]:
        try:
            ZoneInfo(zone)
        except (ZoneInfoNotFoundError, TypeError, ValueError, OSError):  # "Europe" is a folder of zones
            raise BadInput(
                f"The settings file {path} names a time zone that does not exist: {zone!r}; use IANA names such as "
                "Europe/Berlin."
            ) from None
    settings = Settings(**{**given, "topics": topics, "node_time_zones": zones, "clusters": clusters})
    places: list[tuple[str, Settings | TopicSettings]] = [("", settings)]
    places += [(f" of topic {name}", of_topic) for name, of_topic in topics.items()]
    for where, told in places:
        _check_values(path, where, told)
    return settings


def _mapping(path: str, name: str, told: Any) -> Mapping[Any, Any]:
    """What is told under a name. Raises BadInput unless that is a mapping, or nothing."""
    if not isinstance(told or {}, dict):
        raise BadInput(
            f"The settings file {path} is not understood: {name} is no mapping; give `key: value`, a line each, as in conf/example.yaml."
        )
    return told or {}


def _topic(path: str, topic: str, told: Any) -> TopicSettings:
    given = _mapping(path, f"topic {topic}", told)
    _check_keys(path, f" of topic {topic}", given, TopicSettings)
    return TopicSettings(**given)


_COUNTS = ("churn_flaps", "coverage_tolerance_minutes", "max_unpacked_gb", "max_unpacked_ratio", "max_reject_percent")


def _check_values(path: str, where: str, told: Settings | TopicSettings) -> None:
    """Raises BadInput for a count that is no whole number from 1, or a switch that is neither true nor false."""
    counts: dict[str, Any] = {name: getattr(told, name) for name in _COUNTS} if isinstance(told, Settings) else {}
    if told.min_insync_replicas is not None:
        counts["min_insync_replicas"] = told.min_insync_replicas
    for name, value in counts.items():
        if type(value) is not int or value < 1:
            raise BadInput(f"The settings file {path} gives {value!r} for {name}{where}; give a whole number from 1.")
    switch = told.unclean_leader_election_enable
    if switch is not None and type(switch) is not bool:
        raise BadInput(
            f"The settings file {path} gives {switch!r} for unclean_leader_election_enable{where}; give true or false."
        )
