"""What belongs to one incident, gathered from its facts: who went away, what lost its leader, how it ended.

A fact is a row of `jobs.findings.incidents`, a dict by column name, times in microseconds since 1970 UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Fact = Mapping[str, Any]
STOP, OUTAGE, UNCLEAN, LOG_DIR, CONTROLLER, REASSIGNMENT, OUT_OF_ISR, DELETION, STORM = (
    "stop", "outage", "unclean", "log_dir", "controller", "reassignment", "out_of_isr", "deletion", "storm",
)  # fmt: skip
"""Kinds of facts."""
AT_ONCE_MS = 1000
"""A partition that got its next leader so soon was hardly away: what a controller passes through."""


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
    longest: Fact | None = None
    """The longest outage."""
    first: Fact | None = None
    """The first one."""
    partitions: set[tuple[str, int]] = field(default_factory=set)
    leaderless_ms: int = 0
    open_outages: int = 0
    outages_until: int | None = None
    elections_failed: int = 0
    unclean: list[Fact] = field(default_factory=list)
    lost_min: int | None = None
    lost_max: int | None = None
    lost_is_bounded: bool = True
    reassignments: list[Fact] = field(default_factory=list)
    out_of_isr: int = 0
    under_min_isr_ms: int | None = None

    @property
    def topics(self) -> set[str]:
        """Topics of partitions that were without a leader."""
        return {topic for topic, _ in self.partitions}

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
                self.storm, self.out_of_isr = fact, fact["count"]
            case "outage":
                self._take_outage(fact)
            case "unclean":
                self._take_unclean(fact)
            case "reassignment":
                self.reassignments.append(fact)
            case "out_of_isr":
                self.out_of_isr += fact["count"]
            case "under_min_isr":
                self.under_min_isr_ms = (self.under_min_isr_ms or 0) + fact["ms"]

    def _take_outage(self, fact: Fact) -> None:
        self.partitions.add((fact["topic"], fact["partition"]))
        self.leaderless_ms += fact["ms"]
        self.elections_failed += fact["count"]
        self.open_outages += fact["until"] is None
        if fact["until"] is not None:
            self.outages_until = max(self.outages_until or 0, fact["until"])
        if self.longest is None or _length(fact) > _length(self.longest):
            self.longest = fact
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


def _length(outage: Fact) -> tuple[int, int]:
    """Orders outages by how long they lasted, the earliest first among equals; open ones by what is sure."""
    return outage["ms"], -outage["at"]


def symptoms_of(cluster: str, facts: Iterable[Fact]) -> Symptoms:
    """All facts of one incident."""
    symptoms = Symptoms(cluster)
    for fact in facts:
        symptoms.take(fact)
    return symptoms
