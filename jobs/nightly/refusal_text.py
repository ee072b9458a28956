"""What a run says of clusters that the gate refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.nightly.summary_text import reject_text
from jobs.warehouse.gate import REJECTED

if TYPE_CHECKING:
    from jobs.nightly.run import Outcome


def refusal_text(outcome: Outcome) -> str:
    """Why the gate refused a run or some of its clusters: each expectation that failed, and for rejects the most
    frequent of them."""
    assert outcome.audit is not None  # a run without new input is never refused
    lines = [_refused(outcome)]
    for failure in outcome.audit.failures:
        examples = "; ".join(failure.examples)
        of_clusters = f" ({', '.join(str(name) for name in failure.clusters)})" if outcome.published else ""
        text = f"{failure.description}; {_violating(failure.rows)}{of_clusters}, such as {examples}"
        lines.append(f"  {failure.name}: {text}")
        if failure.name == REJECTED:
            lines += [f"    {reject_text(row, row['place'])}" for row in outcome.rejects]
            lines.append(
                "    A newer release of kafka-rewind may know these messages; "
                "to publish anyway, raise max_reject_percent in the --conf file."
            )
    return "\n".join(lines)


def _refused(outcome: Outcome) -> str:
    if not outcome.published:
        return f"The data gate refused run {outcome.run_id}; readers still see the run before it."
    names = ", ".join(outcome.refused)
    what = f"cluster {names}; its rows are" if len(outcome.refused) == 1 else f"clusters {names}; their rows are"
    rest = f"All else of run {outcome.run_id} is published."
    return f"The data gate refused {what} those of the last run that passed. {rest}"


def _violating(rows: int) -> str:
    return "1 row violates it" if rows == 1 else f"{rows:,} rows violate it"
