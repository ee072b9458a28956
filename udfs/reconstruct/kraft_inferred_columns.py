"""`udfs.reconstruct.kraft_inferred` on columns: a UDF, for what follows from a step depends on all steps before it."""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as F
from pyspark.sql import types as T

from schemas.spark import IDS, INT, LONG, TEXT, struct
from udfs.reconstruct.kraft_inferred import ControllerStep, KraftState, inferred_states

CONTROLLER_STEP = struct(
    at=LONG, node_id=INT, file_id=TEXT, line=LONG, kind=TEXT, broker=INT, leader=INT, isr=IDS, replicas=IDS
)
"""`udfs.reconstruct.kraft_inferred.ControllerStep`."""
KRAFT_STATE = struct(leader=INT, leader_epoch=INT, partition_epoch=INT, isr=IDS, replicas=IDS)
"""`udfs.reconstruct.kraft_inferred.KraftState`, without `eligible`."""
KRAFT_INFERRED_STATES = T.ArrayType(T.StructType([*KRAFT_STATE.fields, T.StructField("made_by", CONTROLLER_STEP)]))
"""Of `udfs.reconstruct.kraft_inferred.KraftInferredState`."""


def _inferred_rows(before: Any, steps: Any, after: Any, keeps_last_member: Any) -> Any:
    if not steps:
        return None
    next_state = None if after is None else KraftState(*after)
    return inferred_states(
        KraftState(*before), [ControllerStep(*step) for step in steps], next_state, bool(keeps_last_member)
    )


inferred_after = F.udf(_inferred_rows, KRAFT_INFERRED_STATES, useArrow=False)
"""`inferred_after(before, steps, after, keeps_last_member)` -> KRAFT_INFERRED_STATES; null without steps."""
