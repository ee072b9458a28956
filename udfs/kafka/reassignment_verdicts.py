"""Completed reassignments, of REASSIGNMENTS, against the rule that ends them: a plain function over rows as dicts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from schemas.kafka_values import NO_LEADER
from udfs.kafka.judgements import UNKNOWN, Finding, judge, unknown
from udfs.kafka.reassignment import ReassignmentLists, kraft_reassign_complete
from udfs.kafka.releases import TRUNK, Release
from udfs.kafka.verdicts import Verdict, verdict_of

Row = Mapping[str, Any]
RULE = "reassignment_completion"
END = "reassignment_end"


def judge_reassignment(row: Row, release: Release, *, is_kraft: bool) -> Verdict:
    """A completed reassignment, with `states`, `isr` and `lines` of those while it lasted in their order, and
    `is_whole`, whether no state between them is missing.

    In ZooKeeper mode all target replicas must have been in the ISR at once. KRaft's record that completes it writes the
    ISR without the replicas that it removes.
    """
    target, isrs = row["target_replicas"], [state["isr"] for state in row["states"]]
    awaited = set(target or ())
    if is_kraft and release < Release(3, 8):
        awaited = set(row["adding_replicas"] or ())
    expected = f"{sorted(awaited)} in the ISR before it is complete"
    if not row["adding_replicas"] and not row["removing_replicas"] and row["adding_replicas"] is not None:
        judgement = judge(True, "no replica to wait for", "another order of the same replicas")
    elif target is None or (is_kraft and release < Release(3, 8) and row["adding_replicas"] is None):
        judgement = unknown(expected, "target_replicas")
    elif completing_state(row, release, is_kraft=is_kraft) is not None:
        judgement = judge(True, expected, f"ISRs {_in_words(isrs)}")
    elif not row["is_whole"] or not isrs:
        judgement = unknown(expected, "states while it lasted")
    else:
        judgement = judge(False, expected, f"ISRs {_in_words(isrs)}")
    verdict = verdict_of(Finding(RULE, judgement.verdict, 0, judgement.expected, judgement.actual, judgement.missing))
    return verdict if verdict.verdict == UNKNOWN else _in_one_sentence(verdict, row)


def completing_state(row: Row, release: Release, *, is_kraft: bool) -> Mapping[str, Any] | None:
    """The first of its states with which a reassignment is complete; None if none is, or its target is not logged."""
    if row["target_replicas"] is None:
        return None
    return next((s for s in row["states"] if _completes(row, release, s["isr"], is_kraft=is_kraft)), None)


def ending_state(row: Row) -> Mapping[str, Any] | None:
    """The first of the states in which a reassignment may have ended that is as it should be; None if none is."""
    target = row["target_replicas"] or ()
    return next((end for end in row["ends"] or () if _is_end(end, target)), None)


def may_show_end(row: Row) -> bool:
    """Whether one of the states in which a reassignment may have ended can be the one that KRaft wrote as it did: that
    has the target assignment. Where lines are missing, the last state that is known may still be one before it."""
    target, ends = set(row["target_replicas"] or ()), row["ends"] or ()
    return not ends or any(end.get("replicas") is None or set(end["replicas"]) == target for end in ends)


def _is_end(end: Mapping[str, Any], target: Collection[int]) -> bool:
    return end["leader"] in (*target, NO_LEADER) and set(end["isr"]) <= set(target)


def judge_end(row: Row) -> Verdict | None:
    """A completed reassignment, with `ends`, the leader and ISR of the states in which it may have ended: one of its
    target replicas leads, and no other is in the ISR. None: its target is not logged.

    In ZooKeeper mode removed replicas leave the ISR before the assignment is written, in KRaft with it.
    """
    target = row["target_replicas"]
    if target is None:
        return None
    expected = f"a leader and an ISR of {sorted(target)}"
    states = [(end["leader"], tuple(sorted(end["isr"]))) for end in row["ends"] or () if end["leader"] is not None]
    shown = ", ".join(dict.fromkeys(f"leader {leader}, ISR {list(isr)}" for leader, isr in states))
    if ending_state(row) is not None:
        judgement = judge(True, expected, shown)
    elif not states or not row["is_whole"]:
        judgement = unknown(expected, "states at its end")
    else:
        judgement = judge(False, expected, shown)
    finding = Finding(END, judgement.verdict, 0, judgement.expected, judgement.actual, judgement.missing)
    return verdict_of(finding)


def _completes(row: Row, release: Release, isr: list[int], *, is_kraft: bool) -> bool:
    """Whether a reassignment is complete with this ISR; an ISR without those that it removes is what KRaft wrote."""
    target = tuple(row["target_replicas"])
    if not is_kraft:
        return set(target) <= set(isr)
    removing, adding = tuple(row["removing_replicas"] or ()), tuple(row["adding_replicas"] or ())
    lists = ReassignmentLists((*target, *(r for r in removing if r not in target)), adding, removing)
    # from 4.3 on (KAFKA-19975) only the added replicas are awaited unless it shrinks; a patch release of 4.2 may do so
    rules = [release, TRUNK] if release >= Release(4, 2) else [release]
    return any(kraft_reassign_complete(rule, lists, isr) is not None for rule in rules)


def _in_one_sentence(verdict: Verdict, row: Row) -> Verdict:
    text = (
        f"From {row['original_replicas'] or 'an unknown assignment'} to {row['target_replicas']}: it expects "
        f"{verdict.expected}; logged while it lasted: {verdict.actual}."
    )
    return replace(verdict, explanation=text)


def _in_words(isrs: list[list[int]]) -> str:
    """`[1, 2], [1, 2, 3]`, each once."""
    return ", ".join(dict.fromkeys(str(sorted(isr)) for isr in isrs))
