"""What one place does differently: a YAML file named by `--conf`; defaults live here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from fnmatch import fnmatch
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import yaml

from udfs.errors import BadInput
from udfs.kafka.releases import Release
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
    """IANA zone of nodes that `node_time_zones` does not name; None: UTC, and the summary says that no zone is set."""
    node_time_zones: Mapping[int, str] = field(default_factory=dict)
    """IANA zone by node id."""
    kafka_versions: Mapping[str, str] = field(default_factory=dict)
    """Kafka release by cluster name, where the logs show it wrongly or not at all: decisions are judged by it."""
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
    """Most records in scope of a stream that no rule knows, in percent, if they are more than 20; above, its release is
    not understood, and the gate refuses the run."""

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
        content = _content(path)
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        reason = "it is nested too deep" if isinstance(error, RecursionError) else str(error).splitlines()[0]
        raise BadInput(
            f"The settings file cannot be read: {path} ({reason}); give a YAML file such as conf/example.yaml."
        ) from None
    if content is None:
        return Settings()
    if not isinstance(content, dict):
        raise BadInput(f"The settings file {path} is a {type(content).__name__}; {MAPPING}.")
    _check_keys(path, "", content, Settings)
    return _checked(path, content)


_MOST_BYTES = 1 << 20
"""A settings file that has more is none."""


class _PlainLoader(yaml.SafeLoader):
    """YAML without what settings have no use for: references, by which some lines unfold to gigabytes; and a key that
    is given twice, of which YAML's own loaders drop the first.
    """

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """The next node. Raises ValueError for a reference to another one."""
        if self.check_event(yaml.AliasEvent):
            raise ValueError("it refers to other parts of itself with *; write them out")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping. Raises ValueError for a key that is there twice."""
        keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        if twice := next((key for key, count in keys.items() if count > 1), None):
            raise ValueError(f"it has {_shown(twice)} twice")
        return super().construct_mapping(node, deep)


def _content(path: str) -> Any:
    """What a YAML file says. Raises OSError, ValueError, RecursionError or YAMLError for what cannot be settings."""
    with open(path, "rb") as file:
        text = file.read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        raise ValueError(f"it has more than {_MOST_BYTES} bytes")
    return yaml.load(text.decode("utf-8"), _PlainLoader)


MAPPING = "give `key: value`, a line each, as in conf/example.yaml"


def _check_keys(path: str, where: str, keys: Iterable[Any], known: type[Settings | TopicSettings]) -> None:
    """Raises BadInput for keys that are no settings."""
    names = {f.name for f in fields(known)}
    if unknown := ", ".join(sorted(map(str, set(keys) - names))):
        raise BadInput(
            f"The settings file {path} has unknown keys: {unknown}{where}; known are {', '.join(sorted(names))}."
        )


def _checked(path: str, content: dict[str, Any]) -> Settings:
    """The settings of a file's content. Raises BadInput for a value that cannot be one."""
    topics = {
        str(name): _topic(path, str(name), value)
        for name, value in _mapping(path, "topics", content.get("topics")).items()
    }
    clusters = _clusters(path, _mapping(path, "clusters", content.get("clusters")))
    versions = _versions(path, _mapping(path, "kafka_versions", content.get("kafka_versions")))
    zones = _node_zones(path, _mapping(path, "node_time_zones", content.get("node_time_zones")))
    for zone in [content.get("time_zone") or "UTC", *zones.values()]:
        _check_zone(path, zone)
    settings = Settings(
        **{**content, "topics": topics, "node_time_zones": zones, "clusters": clusters, "kafka_versions": versions}
    )
    _check_values(path, "", settings)
    for name, of_topic in topics.items():
        _check_values(path, f" of topic {name}", of_topic)
    return settings


PRINTABLE = "give a name without line breaks and other characters that do not show"
"""What to do about a name of a cluster that would spoil each table that has it."""


def _clusters(path: str, names: Mapping[Any, Any]) -> dict[str, str]:
    """Cluster names by pattern."""
    for pattern, name in names.items():
        if name is None or not str(name).strip():
            raise BadInput(
                f"The settings file {path} gives no name to the cluster of {pattern!r}; give one after the colon."
            )
        if not str(name).isprintable():
            raise BadInput(f"The settings file {path} names a cluster {str(name)!r}; {PRINTABLE}.")
    return {str(pattern): str(name) for pattern, name in names.items()}


def _versions(path: str, versions: Mapping[Any, Any]) -> dict[str, str]:
    """Kafka releases by cluster name."""
    for cluster, version in versions.items():
        try:
            Release.parse(str(version))
        except ValueError:
            raise BadInput(
                f"The settings file {path} gives {version!r} for kafka_versions of cluster {cluster}; "
                'give a release of Apache Kafka in quotes, such as "2.4.1".'
            ) from None
    return {str(cluster): str(version) for cluster, version in versions.items()}


def _node_zones(path: str, zones: Mapping[Any, Any]) -> dict[int, str]:
    """Zones by node id."""
    by_id: dict[int, str] = {}
    for node, zone in zones.items():
        try:
            by_id[int(node)] = str(zone)
        except (TypeError, ValueError):
            raise BadInput(
                f"The settings file {path} names {node!r} in node_time_zones; "
                "give ids of nodes, such as `1: Europe/Berlin`."
            ) from None
    return by_id


def _check_zone(path: str, zone: Any) -> None:
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, TypeError, ValueError, OSError):  # "Europe" is a folder of zones
        raise BadInput(
            f"The settings file {path} names a time zone that does not exist: {zone!r}; use IANA names such as "
            "Europe/Berlin."
        ) from None


def _mapping(path: str, name: str, value: Any) -> Mapping[Any, Any]:
    """The value of a key. Raises BadInput unless it is a mapping, or nothing."""
    if not isinstance(value or {}, dict):
        raise BadInput(f"The settings file {path} has no mapping for {name}; {MAPPING}.")
    return value or {}


def _topic(path: str, topic: str, value: Any) -> TopicSettings:
    overrides = _mapping(path, f"topic {topic}", value)
    _check_keys(path, f" of topic {topic}", overrides, TopicSettings)
    return TopicSettings(**overrides)


_COUNTS = ("churn_flaps", "coverage_tolerance_minutes", "max_unpacked_gb", "max_unpacked_ratio", "max_reject_percent")


_MOST = 1_000_000


def _shown(value: Any) -> str:
    """A value as a sentence shows it, its middle left out if it is long."""
    text = (
        repr(value) if not isinstance(value, int) or abs(value) < 10**30 else f"a number of {value.bit_length()} bits"
    )
    return text if len(text) <= 60 else f"{text[:40]} … {text[-10:]}"


def _check_values(path: str, where: str, settings: Settings | TopicSettings) -> None:
    """Raises BadInput for a count that is no whole number from 1, or a switch that is neither true nor false."""
    counts: dict[str, Any] = {n: getattr(settings, n) for n in _COUNTS} if isinstance(settings, Settings) else {}
    if settings.min_insync_replicas is not None:
        counts["min_insync_replicas"] = settings.min_insync_replicas
    for name, value in counts.items():
        if type(value) is not int or not 1 <= value <= _MOST:
            raise BadInput(
                f"The settings file {path} gives {_shown(value)} for {name}{where}; "
                f"give a whole number from 1 to {_MOST}."
            )
    switch = settings.unclean_leader_election_enable
    if switch is not None and type(switch) is not bool:
        raise BadInput(
            f"The settings file {path} gives {switch!r} for unclean_leader_election_enable{where}; give true or false."
        )
