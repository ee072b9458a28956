"""What was set, when, and from what to what: changes of topics' and brokers' settings, from lines that print them.

A line prints one setting, or all that a topic or broker has beside the defaults; brokers print these again as they
start. A node prints its whole configuration, defaults too, and a new log what is in force for its topic. What a line
prints that was so already is no change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any

from schemas.kafka_values import MIN_ISR, UNCLEAN_SWITCH

Line = Mapping[str, Any]
"""A line about settings: `cluster, resource_type, topic, resource, incarnation, at`, `settings` (all of them as
printed) or `name` and `value` of one (`value` None: it was removed), and `node_id, file_id, line`. Times are
microseconds since 1970 UTC."""
RESOURCE = ("cluster", "resource_type", "topic", "resource", "incarnation")
KAFKA_CONFIG = "kafka_config"
"""Resource type of the whole configuration of a node: `KafkaConfig values`, printed as it starts and, from 1.1 on
(KIP-226), with what is set at run time as that changes; until 3.0 a start prints both, later its file alone."""
NEW_LOG = "new_log"
"""Resource type of what holds for a topic as a log of it is created. Through 2.7 that is printed with the broker's
defaults, later without them."""
DECISIVE = frozenset((MIN_ISR, UNCLEAN_SWITCH))
"""What of a node's configuration is a row as it is first printed: controllers and leaders decide by it."""
_WRAPPED = re.compile(r"\s*(?:\w*Map\((?P<map>.*)\)|\{(?P<properties>.*)\}|(?P<bare>.*?))\s*", re.DOTALL)
_ARROW = re.compile(r"(?:^|,)\s*([A-Za-z][\w.\-]*) -> ")
_EQUALS = re.compile(r"(?:^|,)\s*([A-Za-z][\w.\-]*)=")
_OF_NODE = re.compile(r"^\s*([a-z][\w.\-]*) = (.*?)\s*$", re.MULTILINE)


def printed_settings(text: str) -> dict[str, str]:
    """`HashMap(min.insync.replicas -> 2, cleanup.policy -> compact,delete)`, or `a -> 1,b -> 2`, or `{a=1, b=2}`, as
    names and values; a value may have commas. Empty if it prints none."""
    match = _WRAPPED.fullmatch(text)
    body = "" if match is None else next((part for part in match.groups() if part is not None), "")
    names = list((_EQUALS if match is not None and match["properties"] is not None else _ARROW).finditer(body))
    ends = [*(name.start() for name in names[1:]), len(body)] if names else []
    return {name[1]: body[name.end() : end].strip() for name, end in zip(names, ends, strict=True)}


def config_changes(lines: Iterable[Line]) -> Iterator[dict[str, Any]]:
    """Rows of CONFIG_CHANGES, from lines in order of resource and time, those of one resource following each other.

    The first list of a resource is what it had been: `first_seen`. So is the first line about a setting, unless a list
    before it shows that it was not set. Of a node's configuration what it prints first is left out, but for DECISIVE;
    a release that knows more settings changes none.
    """
    for key, of_resource in groupby(lines, key=itemgetter(*RESOURCE)):
        is_of_node = key[1] == KAFKA_CONFIG
        settings: dict[str, str | None] = {}
        has_list = False
        for at, at_once in groupby(of_resource, key=itemgetter("at")):
            before, had_list = dict(settings), has_list
            proof: dict[str, Line] = {}
            for line in at_once:
                printed = _values(line, settings)
                has_list |= line["settings"] is not None
                proof |= dict.fromkeys((name for name in printed if printed[name] != settings.get(name, "")), line)
                settings |= printed
            for name in sorted(settings):
                proving = proof.get(name)
                is_known = name in before or (had_list and not is_of_node)
                is_left_out = not is_known and is_of_node and name not in DECISIVE
                if proving is None or is_left_out or (is_known and before.get(name) == settings[name]):
                    continue
                yield _row(proving, at, name, before.get(name), settings[name], not is_known)


def _values(line: Line, settings: Mapping[str, str | None]) -> dict[str, str | None]:
    """What a line tells of settings: of those that a list leaves out, that they have none."""
    if line["settings"] is None:
        return {} if line["name"] is None else {line["name"]: None if line["value"] == "null" else line["value"]}
    if line["resource_type"] == KAFKA_CONFIG:  # it may be cut off, so what it leaves out is not known
        return {name: None if value == "null" else value for name, value in _OF_NODE.findall(line["settings"])}
    return {**dict.fromkeys(settings), **printed_settings(line["settings"])}


def _row(line: Line, at: int, name: str, previous: str | None, value: str | None, is_first: bool) -> dict[str, Any]:
    proof = {key: line[key] for key in ("node_id", "file_id", "line")}
    return {
        **{key: line[key] for key in RESOURCE if key != "incarnation"},
        "at": at, "name": name, "previous_value": previous, "value": value, "first_seen": is_first,
        "evidence": [proof],
    }  # fmt: skip


def common_values(changes: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """What all nodes of a cluster have a setting at, by rows of CONFIG_CHANGES of type KAFKA_CONFIG, in order of
    cluster, name and time: rows of `cluster, name, at, value` for each time it changes; `value` None: they differ."""
    for (cluster, name), of_setting in groupby(changes, key=itemgetter("cluster", "name")):
        by_node: dict[str, str | None] = {}
        last: str | None = None
        for at, at_once in groupby(of_setting, key=itemgetter("at")):
            by_node |= {change["resource"]: change["value"] for change in at_once}
            values = set(by_node.values())
            value = values.pop() if len(values) == 1 else None
            if value != last:
                yield {"cluster": cluster, "name": name, "at": at, "value": value}
            last = value
