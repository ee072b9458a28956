"""What belongs to one incident, gathered from its facts: who went away, what lost its leader, how it ended.

A fact is a row of `jobs.findings.incidents`, a dict by column name, times in microseconds since 1970 UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Fact = Mapping[str, Any]
STOP, OUTAGE, UNCLEAN, FAILED, LOG_DIR, CONTROLLER, REASSIGNMENT, DELETION, OUT_OF_ISR, REJOINED, MOVED, STORM = (
    "stop", "outage", "unclean", "failed", "log_dir", "controller", "reassignment", "deletion", "out_of_isr",
    "rejoined", "moved", "storm",
)  # fmt: skip
"""Kinds of facts; `failed`: an election; `rejoined`: replicas that were in the ISR again; `moved`: partitions that
others led at once."""
AT_ONCE_MS = 1000
"""A partition that got its next leader so soon was hardly away: what a controller passes through."""


@dataclass
class Outages:
    """Some of an incident's times without a leader: how many, and the longest of them."""

    count: int = 0
    ms: int = 0
    """How long they surely were, summed up."""
    most_ms: int | None = 0
    """How long the longest of them can have been, of those that are open what is sure; None: no bound is known."""
    unsure: int = 0
    """Those that are over of which the length is not known."""
    partitions: set[tuple[str, int]] = field(default_factory=set)
    longest: list[Fact] = field(default_factory=list)
    """The longest ones, at most MOST_NAMED, the longest first, then the earliest."""

    def take(self, outage: Fact) -> None:
        """Count one in."""
        self.count += 1
        self.ms += outage["ms"]
        most = outage["ms"] if is_open(outage) else outage["most_ms"]
        self.most_ms = None if most is None or self.most_ms is None else max(self.most_ms, most)
        self.unsure += most != outage["ms"]
        self.partitions.add((outage["topic"], outage["partition"]))
        self.longest = sorted([*self.longest, outage], key=_length, reverse=True)[:MOST_NAMED]


MOST_NAMED = 3
"""Partitions that a sentence names."""


@dataclass
class Symptoms:
    """The facts of one incident. Lists are short; of outages only sums and the longest are kept."""

    cluster: str
    stop: Fact | None = None
    log_dirs: list[Fact] = field(default_factory=list)
    terms: list[Fact] = field(default_factory=list)
    """Terms of controllers that ended with it."""
    deletion: Fact | None = None
    storm: Fact | None = None
    """A broker that was out of many ISRs at once though nothing else happened to it."""
    outages: Outages = field(default_factory=Outages)
    first: Fact | None = None
    """The first outage."""
    alone: Outages = field(default_factory=Outages)
    """Those of AT_ONCE_MS and more in which the lost leader was the only member of the ISR."""
    without_isr: Outages = field(default_factory=Outages)
    """Those of AT_ONCE_MS and more in which the ISR had other members, of which none was elected so long."""
    healed: dict[str, Outages] = field(default_factory=dict)
    """Those that are over, by what ended them."""
    open_outages: int = 0
    outages_until: int | None = None
    deleted_after: int | None = None
    """Until when those surely lasted that the deletion of their topic ended, no line tells when."""
    elections_failed: int = 0
    unclean: list[Fact] = field(default_factory=list)
    lost_min: int | None = None
    lost_max: int | None = None
    lost_is_bounded: bool = True
    failed: Fact | None = None
    """The first election that failed."""
    reassignments: list[Fact] = field(default_factory=list)
    out_of_isr: Fact | None = None
    rejoined: Fact | None = None
    moved: Fact | None = None
    """Each with the `count` of partitions."""

    @property
    def partitions(self) -> set[tuple[str, int]]:
        """Partitions that were without a leader."""
        return self.outages.partitions

    @property
    def topics(self) -> set[str]:
        """Topics of partitions that were without a leader."""
        return {topic for topic, _ in self.partitions}

    @property
    def longest(self) -> Fact | None:
        """The longest outage."""
        return self.outages.longest[0] if self.outages.longest else None

    @property
    def longest_ms(self) -> int:
        """The longest time that a partition surely was without a leader."""
        return self.longest["ms"] if self.longest is not None else 0

    def take(self, fact: Fact) -> None:
        """Count a fact in."""
        match fact["kind"]:
            case "stop":
                self.stop = fact
            case "log_dir":
                self.log_dirs.append(fact)
            case "controller":
                self.terms.append(fact)
            case "deletion":
                self.deletion = fact
            case "storm":
                self.storm = self.out_of_isr = fact
            case "outage":
                self._take_outage(fact)
            case "unclean":
                self._take_unclean(fact)
            case "reassignment":
                self.reassignments.append(fact)
            case "failed":
                self.failed = self.failed or fact
            case "out_of_isr":
                self.out_of_isr = fact
            case "rejoined":
                self.rejoined = fact
            case "moved":
                self.moved = fact

    def _take_outage(self, fact: Fact) -> None:
        self.outages.take(fact)
        self.elections_failed += fact["count"]
        self.open_outages += is_open(fact)
        if fact["healed_by"] is not None:
            self.healed.setdefault(fact["healed_by"], Outages()).take(fact)
        if fact["until"] is not None:
            self.outages_until = max(self.outages_until or 0, fact["until"])
        elif not is_open(fact):
            self.deleted_after = max(self.deleted_after or 0, fact["at"] + fact["ms"] * 1000)
        if fact["ms"] >= AT_ONCE_MS and fact["ids"]:
            (self.alone if len(fact["ids"]) == 1 else self.without_isr).take(fact)
        if self.first is None or fact["at"] < self.first["at"]:
            self.first = fact

    def _take_unclean(self, fact: Fact) -> None:
        self.unclean.append(fact)
        if fact["lost_min"] is not None:
            self.lost_min = (self.lost_min or 0) + fact["lost_min"]
        if fact["lost_max"] is None:
            self.lost_is_bounded = False
        else:
            self.lost_max = (self.lost_max or 0) + fact["lost_max"]


def is_open(outage: Fact) -> bool:
    """Whether an outage goes on at the end of the logs. It does not if its topic was deleted, no line tells when."""
    return outage["until"] is None and outage["healed_by"] is None


def _length(outage: Fact) -> tuple[int, int]:
    """Orders outages by how long they lasted, the earliest first among equals; open ones by what is sure."""
    return outage["ms"], -outage["at"]


def symptoms_of(cluster: str, facts: Iterable[Fact]) -> Symptoms:
    """All facts of one incident."""
    symptoms = Symptoms(cluster)
    for fact in facts:
        symptoms.take(fact)
    return symptoms


def count_of(fact: Fact | None) -> int:
    """The count of a fact that may not be there."""
    return fact["count"] if fact is not None else 0
