"""Elections that should have followed and did not: partitions without a leader although one of the ISR was there, and
leaders that a controlled shutdown left behind. Plain functions over rows as dicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from udfs.kafka.judgements import HOLDS, UNKNOWN, VIOLATED, Finding
from udfs.kafka.verdicts import Verdict, verdict_of

Row = Mapping[str, Any]
DUE_MS = 30_000
"""A working controller elects within milliseconds of the moment at which it notices a broker; so long is silence."""
REPLACED_MS = 60_000
"""The same if the controller was replaced: before its session ended it may have been dead."""


def judge_silence(row: Row) -> Verdict:
    """An outage during which members of the ISR were registered: `returned`, the first of them; `waited_ms`, how long
    that was at a stretch under one controller, `is_replaced` whether that one was replaced then.

    `is_over`: whether a leader ended it; `is_shutting_down`, `is_dir_failed`: why the member may not have counted.
    """
    limit = REPLACED_MS if row["is_replaced"] else DUE_MS
    expected = f"a leader within {limit // 1000} s of the return of broker {row['returned']}, which was in the ISR"
    actual = f"none for {row['waited_ms'] / 1000:.1f} s"
    missing: tuple[str, ...] = ()
    if row["waited_ms"] <= limit:
        verdict, missing = (HOLDS, ()) if row["is_over"] else (UNKNOWN, ("what came later",))
    elif row["is_shutting_down"] or row["is_dir_failed"]:
        why = "whether it was shutting down" if row["is_shutting_down"] else "whether its log directory worked"
        verdict, missing = UNKNOWN, (why,)
    else:
        verdict = VIOLATED
    return verdict_of(Finding("leader_restored", verdict, 0, expected, actual, missing))


def judge_shutdown(row: Row) -> Verdict | None:
    """A ZooKeeper election, with `left_cleanly`: whether its previous leader had logged that its controlled shutdown
    succeeded, and had not come back. None: the election says nothing about a controlled shutdown.

    A success means that the broker led no partition with another replica any more (KafkaController.
    doControlledShutdown, its `partitionsRemaining`). Topics in deletion are left out from 2.1 on.
    """
    if not row["succeeded"] or row["previous_leader"] in (None, -1) or row["previous_leader"] == row["leader"]:
        return None
    broker = row["previous_leader"]
    expected = f"partitions of broker {broker} moved before its controlled shutdown succeeds"
    rule = "controlled_shutdown_completes"
    if row["strategy"] == "controlled_shutdown":
        return verdict_of(Finding(rule, HOLDS, 0, expected, f"moved from {broker} to {row['leader']} as it shut down"))
    is_late = row["left_cleanly"] and row["strategy"] == "offline" and row["trigger"] == "broker_failure"
    if not is_late or len(row["replicas"] or ()) < 2:
        return None
    return verdict_of(Finding(rule, VIOLATED, 0, expected, f"moved to {row['leader']} when the broker was gone"))


def judge_cache(row: Row) -> Verdict:
    """A broker's metadata cache: `topics`, how many it should have learned, and `missing`, those that it never did."""
    expected = f"a line about each of {row['topics']} topic{'s' if row['topics'] > 1 else ''} that others learned"
    names = row["missing"]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    actual = f"none about {', '.join(names[:3])}{more}" if names else "all of them"
    return verdict_of(Finding("metadata_learned", VIOLATED if names else HOLDS, 0, expected, actual))
