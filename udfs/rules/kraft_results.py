"""Results of requests about topics, as a KRaft controller prints them; several as one field `results`, JSON text."""

from __future__ import annotations

import json
import re
from typing import Any

from udfs.rules.kraft_objects import json_value
from udfs.rules.printed import BEFORE, MORE
from udfs.rules.regex import late

_CREATED = late(
    rf"CreatableTopic\({BEFORE}name='([^']*)'{MORE}, numPartitions=(-?\d+){MORE}, replicationFactor=(-?\d+)"
)
_ASSIGNED = late(rf"CreatableReplicaAssignment\({BEFORE}partitionIndex=(\d+){MORE}, brokerIds=\[([\d, ]*)\]")


def created_topics(text: str) -> dict[str, Any]:
    """`CreatableTopic(...): SUCCESS, CreatableTopic(...): INVALID_PARTITIONS (...)`; several as one field `results`."""
    heads = list(_CREATED.finditer(text))
    results: list[dict[str, Any]] = []
    for i, head in enumerate(heads):
        result_text = text[head.start() : heads[i + 1].start() if i + 1 < len(heads) else len(text)].removesuffix(", ")
        result = re.search(r"\): ([A-Z_]+)(?: \((.*)\))?$", result_text, re.DOTALL)
        assigned = {int(m[1]): json_value(f"[{m[2]}]") for m in _ASSIGNED.finditer(result_text)}
        results.append(
            {
                "topic": head[1],
                "partition_count": int(head[2]) if int(head[2]) >= 0 or not assigned else len(assigned),
                "replication_factor": int(head[3]),
                **({"assignments": json.dumps(assigned)} if assigned else {}),
                **({"result": result[1]} if result else {}),
                **({"reason": result[2]} if result and result[2] else {}),
            }
        )
    return _one_or_more(results)


_DELETED = late(r"\{id: ([\w-]+), name: ([\w.-]+), result: ([A-Z_]+)(?: \(([^}]*)\))?\}")


def deleted_topics(text: str) -> dict[str, Any]:
    """`{id: ..., name: a-1, result: SUCCESS}, ...`; several as one field `results`."""
    return _one_or_more(
        [
            {"topic_id": m[1], "topic": m[2], "result": m[3], **({"reason": m[4]} if m[4] else {})}
            for m in _DELETED.finditer(text)
        ]
    )


def _one_or_more(results: list[dict[str, Any]]) -> dict[str, Any]:
    if len(results) != 1:
        return {"results": json.dumps(results)}
    return {key: value if key in ("topic", "topic_id") else str(value) for key, value in results[0].items()}


def partition_results(text: str) -> dict[str, Any]:
    """`[CreatePartitionsTopicResult(name='a', errorCode=0, ...), ...]`; several as one field `results`."""
    results = re.findall(rf"name='([^']*)'{MORE}, errorCode=(-?\d+)", text)
    return _one_or_more([{"topic": name, "error_code": int(code)} for name, code in results])
