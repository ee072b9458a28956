"""What controllers did, step by step: they took over, took office, and resigned. No queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta

from jobs.answers.opened import places
from jobs.answers.story import Step
from jobs.nightly.summary_facts import Row
from jobs.nightly.wording import duration


def controller_steps(terms: Iterable[Row]) -> Iterator[Step]:
    """Rows of CONTROLLER_TIMELINE -> controllers that took over and ended."""
    for row in terms:
        ready = ""
        if row["failover_ms"] is not None:
            ready = f", ready after {duration(row['failover_ms'])}"
        text = f"controller {row['controller_id']} took over, controller epoch {row['controller_epoch']}{ready}"
        yield Step(row["since"], text, places(row["evidence"]), 10, "controller")
        yield from _resignation(row)


def _resignation(term: Row) -> Iterator[Step]:
    """That the controller of a term resigned, with its line where the row has it; it may have been replaced by then."""
    resigned = resigned_step(term)
    text = f"controller {term['controller_id']} resigned"
    if resigned is None:
        if term["until"] is not None and term["ended_by"] == "resigned":
            yield Step(term["until"], text, (), 9, "controller")
        return
    if term["ended_by"] == "replaced":
        late = (resigned["at"] - term["until"]) // timedelta(milliseconds=1)
        text += f" from epoch {term['controller_epoch']}, {duration(late)} after the next one was elected"
    yield Step(resigned["at"], text, places([resigned]), 9, "controller")


def resigned_step(term: Row) -> Row | None:
    """The step with which the controller of a term said that it had resigned; None if it did not, or no row has it."""
    return next((step for step in term.get("resignation") or () if step["step"] == "resigned"), None)


FAILOVER_WORDS = {
    "epoch_incremented": "raised the controller epoch",
    "context_loading": "began to load the cluster's state from ZooKeeper",
    "context_loaded": "had loaded the cluster's state",
    "replica_state_machine_started": "had started the replica state machine",
    "partition_state_machine_started": "had started the partition state machine",
    "ready": "was ready to serve",
    "active": "became the active controller of the quorum",
    "activation": "wrote its activation to the metadata log",
    "first_request": "sent its first request to brokers",
}
"""By step of CONTROLLER_TIMELINE; the election itself is a step of all stories."""


def failover_steps(terms: Iterable[Row]) -> Iterator[Step]:
    """Rows of CONTROLLER_TIMELINE -> what controllers did between their election and their first request, and as they
    resigned."""
    for row in terms:
        for step in row.get("steps") or ():
            if words := FAILOVER_WORDS.get(step["step"]):
                after = f", {duration((step['at'] - row['since']) // timedelta(milliseconds=1))} after its election"
                text = f"controller {row['controller_id']} {words}{after}"
                yield Step(step["at"], text, places([step]), 11, "controller")
        for step in row.get("resignation") or ():
            if step["step"] == "resigning":
                text = f"controller {row['controller_id']} began to resign"
                yield Step(step["at"], text, places([step]), 8, "controller")
