"""Every example line of the catalogue of Kafka's log formats is recognised, with the values it lists.

The catalogue lies beside the repository, in ../shared, and is not part of it.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from udfs.rules.parsing import read_message
from udfs.rules.rule import COLUMNS
from udfs.rules.values import PartitionState

CATALOGUE = Path(__file__).resolve().parents[2] / "shared" / "reference" / "log-formats.tsv"

pytestmark = pytest.mark.skipif(not CATALOGUE.exists(), reason=f"no {CATALOGUE}")

RENAMED = {"zk_version": "partition_epoch"}  # the catalogue's name -> our column
RENAMED_IN_PARTITIONS = {**RENAMED, "state_controller_epoch": "controller_epoch", "target_replicas": "replicas"}

SAME_TEXT = {  # event type of the catalogue, part of the text -> ours, where one text has two names there
    ("migration_leader_and_isr_response_error", "LeaderAndIsr response"): "leader_and_isr_response_error",
    ("migration_update_metadata_response_error", "UpdateMetadata response"): "update_metadata_response_error",
    ("kraft_leader_elected", "using an unclean election"): "kraft_leader_elected_unclean",  # from 3.6 on, at INFO
}
ARGUED = {  # (event type, column) -> why we read something else
    ("leader_and_isr_stale_controller_epoch", "controller_epoch"): "0.8.0 swaps the two numbers; 0.8.1 prints them in "
    "order under the same text",
    ("leader_and_isr_stale_controller_epoch", "correlation_id"): "0.8.0 swaps the two numbers",
    ("leader_epoch_started", "leader"): "not in the line: the leader is the writer, `broker_id`",
    ("partition_leader_epoch_started", "leader"): "not in the line: the leader is the writer, `broker_id`",
}


def rows() -> Iterator[dict[str, str]]:
    with CATALOGUE.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)


def message_of(line: str) -> str:
    """The message of a record's first line; one shape (section 5) has its logger on the second."""
    m = re.match(r"\[[^\]]*\] +[A-Z]+ (.*?)(?: \([\w.$-]+\))?$", line.partition("\\n")[0])
    assert m, line
    return m[1]


def expected(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The listed values that have a column; what has none is text in `fields`, in the line's own words."""
    columns: dict[str, Any] = {}
    for name, value in fields.items():
        if name == "partitions":
            columns[name] = [
                {RENAMED_IN_PARTITIONS.get(key, key): item for key, item in partition.items()} for partition in value
            ]
        elif RENAMED.get(name, name) in COLUMNS and value is not None:
            columns[RENAMED.get(name, name)] = value
    return columns


def partitions_agree(read: Any, listed: list[dict[str, Any]]) -> bool:
    """Same partitions, in any order, and all that is listed of each is read, topic apart if the line names it once."""

    def in_order(partitions: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return sorted(partitions, key=lambda each: (each.get("topic", ""), each["partition"]))

    known = PartitionState.__annotations__
    return (
        isinstance(read, list)
        and len(read) == len(listed)
        and all(
            ours.get(key) == value
            for ours, theirs in zip(in_order(read), in_order(listed), strict=True)
            for key, value in theirs.items()
            if key in known
        )
    )


def differences(row: Mapping[str, str]) -> list[str]:
    event_type, fields = row["event_type"], json.loads(row["expected_fields_json"])
    message = message_of(row["example_line"])
    read = read_message(row["logger"], message)
    if read is None:
        return ["not recognised"]
    ours = [name for (theirs, part), name in SAME_TEXT.items() if theirs == event_type and part in message]
    if read["event_type"] != (ours[0] if ours else event_type):
        return [f"recognised as {read['event_type']}"]
    sentences = []
    for name, value in expected(fields).items():
        same = partitions_agree(read.get(name), value) if name == "partitions" else read.get(name) == value
        if not same and (event_type, name) not in ARGUED:
            sentences.append(f"{name}: {read.get(name)!r} instead of {value!r}")
    return sentences


def test_every_example_is_recognised_and_read() -> None:
    wrong = [
        f"{row['event_type']} {row['first_version']}: {'; '.join(sentences)}\n    {row['example_line'][:200]}"
        for row in rows()
        if (sentences := differences(row))
    ]
    assert not wrong, f"{len(wrong)} examples:\n" + "\n".join(wrong)


def test_argued_differences_exist() -> None:
    listed = {
        (row["event_type"], RENAMED.get(name, name))
        for row in rows()
        for name in json.loads(row["expected_fields_json"])
    }
    assert set(ARGUED) <= listed
    assert {event_type for event_type, _ in SAME_TEXT} <= {event_type for event_type, _ in listed}
