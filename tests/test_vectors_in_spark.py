"""Shared vectors as rows of tables, judged by Spark as a night does it: what a vector expects holds, anything else is
violated. Each release of a vector's range is a cluster; all run in one query."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from jobs.timelines.row_streams import map_rows
from schemas.findings import VERDICTS
from tests.test_vectors import RULE_IDS, VECTORS, releases
from udfs.kafka.verdict_rows import (
    controller_verdicts,
    election_verdicts,
    request_verdicts,
    state_verdicts,
    transition_verdicts,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]
PLACE = "cluster string, topic string, partition int, incarnation int, evidence array<string>"
OF_TERM = "term_release string, kraft_began long, kraft_since long, shows_elr boolean"
ELECTION = f"""{PLACE}, {OF_TERM}, at long, succeeded boolean, strategy string, trigger string, leader int,
    isr array<int>, leader_epoch int, previous_leader int, isr_before array<int>, isr_order array<int>,
    replicas array<int>, replicas_before array<int>, target_replicas array<int>, live_brokers array<int>,
    certainly_online array<int>, possibly_online array<int>, shutting_down array<int>, unclean_enabled boolean,
    elr_before array<int>, left_cleanly boolean"""
STATE = f"""{PLACE}, {OF_TERM}, since long, ordinal int, leader int, leader_epoch int, partition_epoch int,
    controller_epoch int, isr array<int>, replicas array<int>, elr array<int>, made_by string, trigger string,
    certainly_online array<int>, possibly_online array<int>, unclean_enabled boolean, recovery string"""
TERM = """cluster string, cluster_incarnation int, mode string, since long, until long, controller_epoch int,
    controller_id int, claimed_by array<int>, steps array<string>, evidence array<string>"""
TRANSITION = f"""{PLACE}, {OF_TERM}, at long, node_id int, controller_epoch int, replica int,
    transitions array<struct<node_id int, file_id string, line long, from_state string, to_state string>>"""
REQUEST = f"""{PLACE}, at long, node_id int, file_id string, line long, event_type string, controller_id int,
    controller_epoch int, correlation_id int, leader int, leader_epoch int, replicas array<int>, from_state string,
    to_state string, current_leader_epoch int, target_broker int, replica int, deletes boolean, life int,
    registered_at long, log_since long, node_release string, target_replicas array<int>, adding_replicas array<int>,
    removing_replicas array<int>"""
NOBODY = 98
"""A broker that no vector has."""
NOT_ASKED = ("controlled_shutdown_completes", "message_order")
"""Rules that judge the same rows, but for something else."""
NOT_IN_TABLES = {"offline_replicas", "stored_controller_epoch", "recovery", "own_broker_epoch"}
"""Inputs of some vectors that no table has as such."""


def clusters(op: str) -> Iterator[tuple[str, Row, str, bool]]:
    """Vectors of an operation whose inputs are in tables: name, vector, a cluster of each release, whether KRaft."""
    for name, vector in VECTORS.items():
        if vector["input"]["op"] == op and not NOT_IN_TABLES & vector["input"].keys():
            for release, is_kraft in releases(vector["era"]):
                yield name, vector, f"{'kraft' if is_kraft else 'zk'} {release}", is_kraft


def expected_and_spoiled(outcome: Row) -> Iterator[tuple[str, Row]]:
    """What a vector says that was decided, and something else."""
    is_elected = outcome["result"] != "error"
    chosen = {"succeeded": is_elected, "leader": outcome.get("leader"), "isr": outcome.get("isr")}
    yield "holds", chosen
    yield "violated", {"succeeded": True, "leader": NOBODY, "isr": [NOBODY]}
    if is_elected:
        yield "violated", {"succeeded": False, "leader": None, "isr": None}


def election_rows() -> Iterator[Row]:
    """Elections, new partitions and removals of replicas; `topic` is the verdict that is due."""
    for op in ("zk_elect", "zk_new_partition", "zk_remove_replica"):
        for number, (_, vector, cluster, _) in enumerate(clusters(op)):
            inputs, outcome = vector["input"], vector["expected"]
            if op == "zk_remove_replica" and (outcome.get("leader", -1) < 0 or outcome["isr"] == inputs["isr"]):
                continue  # no election of a leader
            leaving = inputs.get("shutting_down", [])
            online = [broker for broker in inputs.get("alive", inputs["assignment"]) if broker not in leaving]
            strategy = {"zk_new_partition": "new", "zk_remove_replica": "replica_removal"}.get(
                op, inputs.get("strategy")
            )
            for due, chosen in expected_and_spoiled({"result": "elected", **outcome}):
                if op == "zk_remove_replica" and not chosen["succeeded"]:
                    continue
                yield {
                    "cluster": cluster, "topic": due, "partition": number, "at": 0, "leader_epoch": 1,
                    "strategy": strategy, "trigger": "broker_failure", "previous_leader": inputs.get("leader"),
                    "isr_before": inputs.get("isr"),
                    "isr_order": inputs.get("isr"), "replicas": inputs["assignment"],
                    "replicas_before": inputs["assignment"], "target_replicas": inputs.get("target"),
                    "live_brokers": online, "certainly_online": online, "possibly_online": online,
                    "shutting_down": leaving, "unclean_enabled": inputs.get("unclean_enabled"), "left_cleanly": False,
                    **chosen,
                }  # fmt: skip


def state_rows() -> Iterator[Row]:
    """States of partitions; `topic` are the rules that are due, as the vectors number them."""
    for number, (_, vector, cluster, _) in enumerate(clusters("check_sequence")):
        for ordinal, state in enumerate(vector["input"]["states"]):
            online = state.get("alive")
            yield {
                "cluster": cluster, "topic": " ".join(vector["expected"]["violations"]), "partition": number,
                "since": ordinal, "ordinal": ordinal, "made_by": "leader" if state.get("trigger") == "leader" else None,
                "replicas": state.get("assignment"), "certainly_online": online, "possibly_online": online,
                **{name: value for name, value in state.items() if name not in ("assignment", "alive")},
            }  # fmt: skip


def term_rows() -> Iterator[Row]:
    """Succession of controllers; `cluster` are the rules that are due."""
    for number, (_, vector, cluster, _) in enumerate(clusters("check_controllers")):
        due = " ".join(vector["expected"]["violations"])
        for at, claim in enumerate(vector["input"]["claims"]):
            yield {
                "cluster": f"{due}, {number} {cluster}", "cluster_incarnation": 0, "mode": "zookeeper", "since": at,
                "controller_epoch": claim["epoch"], "controller_id": claim["controller"],
            }  # fmt: skip


def transition_rows() -> Iterator[Row]:
    """Transitions of partitions and replicas; `topic` is the verdict that is due."""
    for op, replica in (("partition_transition", None), ("replica_transition", 1)):
        for number, (_, vector, cluster, _) in enumerate(clusters(op)):
            inputs = vector["input"]
            step = {"node_id": 1, "file_id": "f", "line": 1, "from_state": inputs["from"], "to_state": inputs["to"]}
            yield {
                "cluster": cluster, "topic": "holds" if vector["expected"]["valid"] else "violated",
                "partition": number, "at": 0, "node_id": 1, "controller_epoch": 1, "replica": replica,
                "transitions": [step],
            }  # fmt: skip


def request_rows() -> Iterator[Row]:
    """A LeaderAndIsr that a broker applies, and another that it applies, too; `topic` is the verdict that is due."""
    for number, (_, vector, cluster, _) in enumerate(clusters("leader_and_isr")):
        inputs = vector["input"]
        if not inputs["in_replicas"] or inputs["current_leader_epoch"] < 0:
            continue
        requests = [
            (inputs["known_controller_epoch"], inputs["current_leader_epoch"]),
            (inputs["request_controller_epoch"], inputs["request_leader_epoch"]),
        ]
        for at, (controller_epoch, leader_epoch) in enumerate(requests):
            for line, kind in enumerate(("leader_and_isr_request_received", "become_leader_started")):
                yield {
                    "cluster": cluster, "topic": "holds" if vector["expected"]["applied"] else "violated",
                    "partition": number, "at": at, "node_id": 1, "file_id": "f", "line": 2 * at + line,
                    "event_type": kind, "controller_id": 3, "controller_epoch": controller_epoch,
                    "correlation_id": at, "leader": 1, "leader_epoch": leader_epoch, "life": 1, "registered_at": 0,
                    "log_since": 0,
                }  # fmt: skip


def judged(spark: SparkSession) -> list[Any]:
    """All rows through their streams, in one query; the second column of each names the stream."""
    everywhere = {cluster for op in {v["input"]["op"] for v in VECTORS.values()} for _, _, cluster, _ in clusters(op)}
    by_name = {cluster: (cluster.split()[1], cluster.startswith("kraft")) for cluster in everywhere}
    streams = (
        (ELECTION, election_rows(), partial(election_verdicts, releases=by_name)),
        (STATE, state_rows(), partial(state_verdicts, releases=by_name)),
        (TERM, term_rows(), controller_verdicts),
        (TRANSITION, transition_rows(), partial(transition_verdicts, releases=by_name)),
        (REQUEST, request_rows(), partial(request_verdicts, releases=by_name)),
    )
    frames = []
    for schema, rows, work in streams:
        columns = T.StructType.fromDDL(schema)
        assert isinstance(columns, T.StructType)
        names = columns.names
        cells = [[{"incarnation": 0, "evidence": [], **row}.get(name) for name in names] for row in rows]
        ordered = spark.createDataFrame(cells, schema).coalesce(1)
        frames.append(map_rows(ordered, work, VERDICTS.schema))
    return reduce(DataFrame.unionByName, frames).select("cluster", "rule", "topic", "partition", "verdict").collect()


def test_vectors_in_spark(spark: SparkSession) -> None:
    violated: dict[tuple[str, str, int], set[str]] = defaultdict(set)
    of_controllers: dict[str, set[str]] = defaultdict(set)
    wrong, count = [], 0
    for row in judged(spark):
        if row["rule"] in ("controller_epoch_grows", "one_controller_per_epoch"):
            of_controllers[row["cluster"]] |= {RULE_IDS[row["rule"]]} if row["verdict"] == "violated" else set()
        elif row["rule"] in RULE_IDS and row["topic"] not in ("holds", "violated"):
            place = row["cluster"], row["topic"], row["partition"]
            violated[place] |= {RULE_IDS[row["rule"]]} if row["verdict"] == "violated" else set()
        elif row["topic"] in ("holds", "violated") and row["rule"] not in NOT_ASKED:
            count += 1
            wrong += [row] if row["verdict"] != row["topic"] else []
    assert wrong == []
    assert [place for place, rules in violated.items() if sorted(rules) != sorted(place[1].split())] == []
    assert [c for c, rules in of_controllers.items() if sorted(rules) != sorted(c.split(",")[0].split())] == []
    assert count > 1000
    assert {"J4 J5", ""} == {cluster.split(",")[0] for cluster in of_controllers}
