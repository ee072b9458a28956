"""What a rule makes of a decision or a state: holds, violated or unknown, and why, in words."""

from collections.abc import Iterable
from dataclasses import dataclass

from udfs.kafka.decision_rules import RULES

HOLDS, VIOLATED, UNKNOWN = "holds", "violated", "unknown"

INPUTS = {
    "controller_epoch": "the controller epoch",
    "elr": "the eligible leader replicas",
    "elr_before": "the eligible leader replicas before",
    "isr_before": "the ISR before",
    "isr_order": "the order in which the ISR was stored",
    "last_known_elr": "the last known eligible leader replicas",
    "live_brokers": "the live brokers",
    "lost_lines": "lines that are lost here and there",
    "metadata_version": "the metadata version",
    "min_isr": "min.insync.replicas",
    "kafka_release": "the Kafka release",
    "online": "which brokers were online just then (a line may show that late)",
    "partition_epoch": "the partition epoch",
    "previous_leader": "the leader before",
    "recovery": "the recovery state",
    "replicas": "the assignment",
    "replicas_before": "the assignment before",
    "shutting_down": "which brokers were shutting down",
    "strategy": "the kind of election",
    "trigger": "whether an administrator asked for it",
}
"""Inputs as `missing_inputs` names them, in words; others are words already."""


@dataclass(frozen=True)
class Finding:
    """One rule applied at position `at` of what was checked (0 is the first); put into words by `explain`."""

    rule: str
    verdict: str
    at: int
    expected: str
    actual: str
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judgement:
    """A verdict without the rule's name and place; `missing` names the inputs that keep it `unknown`."""

    verdict: str
    expected: str = ""
    actual: str = ""
    missing: tuple[str, ...] = ()


def judge(holds: bool, expected: str, actual: object) -> Judgement:
    """`holds` or `violated`, with what the rule demands and what was logged."""
    return Judgement(HOLDS if holds else VIOLATED, expected, str(actual))


def unknown(expected: str, *missing: str) -> Judgement:
    """`unknown`, for lack of some inputs."""
    return Judgement(UNKNOWN, expected, missing=missing)


def explain(finding: Finding) -> str:
    """One sentence a reader understands without the rule at hand."""
    if finding.verdict == UNKNOWN:
        return (
            f"{finding.rule} cannot be judged: the logs lack {lacking(finding.missing)}; expected {finding.expected}."
        )
    verb = "holds" if finding.verdict == HOLDS else "is violated"
    return f"{finding.rule} {verb}: expected {finding.expected}; logged {finding.actual}."


def lacking(missing: Iterable[str]) -> str:
    """Missing inputs in words.

    >>> lacking(["isr_before", "states between leader epochs 3 and 5"])
    'the ISR before, states between leader epochs 3 and 5'
    """
    return ", ".join(INPUTS.get(name, name) for name in missing)


def violations(findings: Iterable[Finding]) -> list[str]:
    """The rules violated, each once, in the order of their definitions."""
    violated = {finding.rule for finding in findings if finding.verdict == VIOLATED}
    return [rule for rule in RULES if rule in violated]
