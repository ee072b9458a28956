"""Every shared vector holds for every minor release of its range, both ends and all between."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from udfs.kafka import (
    cluster_invariants,
    elections,
    kraft_elections,
    kraft_partition,
    placement,
    reassignment,
    replica_removal,
    state_machines,
    zk_reassignment,
)
from udfs.kafka import metrics as controller_metrics
from udfs.kafka import request_handling as broker_requests
from udfs.kafka.elections import Elected, Refused
from udfs.kafka.invariants import check_sequence as check_states
from udfs.kafka.judgements import Finding, violations
from udfs.kafka.reassignment import ReassignmentLists
from udfs.kafka.releases import MINOR_RELEASES, ProtocolVersion, Release, releases_between
from udfs.kafka.stored_state import Cluster, StoredState

Fields = dict[str, Any]  # a part of a vector, or what is compared with one
Operation = Callable[[Release, Fields], Fields]

VECTORS: dict[str, Fields] = {
    f"{path.stem}: {vector['name']}": vector
    for path in sorted((Path(__file__).parent / "vectors").glob("*.json"))
    for vector in json.loads(path.read_text(encoding="utf-8"))
}


ZK_ELECT_FIELDS = {
    *("isr", "leader", "leader_epoch", "alive", "target", "shutting_down", "offline_replicas", "unclean_enabled"),
    *("controller_epoch", "stored_controller_epoch", "recovery"),
}
REQUEST_FIELDS = {
    *("known_controller_epoch", "request_controller_epoch", "current_leader_epoch", "request_leader_epoch"),
    *("in_replicas", "own_broker_epoch", "request_broker_epoch"),
}


def releases(era: str) -> list[tuple[Release, bool]]:
    """(release, is it KRaft) for an era such as `zk:0.8.0..1.0,zk:2.1..3.9`, `kraft:3.9` or `any`."""
    if era == "any":
        zk = [(release, False) for release in MINOR_RELEASES if release < Release(4)]
        return zk + [(release, True) for release in MINOR_RELEASES if release >= Release(2, 8)]
    spans = []
    for part in era.split(","):
        mode, _, span = part.partition(":")
        first, _, last = span.partition("..")
        between = releases_between(Release.parse(first), Release.parse(last or first))
        spans += [(release, mode == "kraft") for release in between]
    return spans


def zk_elect(release: Release, inputs: Fields) -> Fields:
    protocol = inputs.get("inter_broker_protocol")
    outcome = elections.zk_elect(
        release,
        inputs["strategy"],
        assigned=inputs["assignment"],
        inter_broker_protocol=ProtocolVersion.parse(protocol) if protocol else None,
        **{name: inputs[name] for name in ZK_ELECT_FIELDS & inputs.keys()},
    )
    return {"result": "error" if isinstance(outcome, Refused) else "elected", **vars(outcome)}


def zk_elect_request(release: Release, inputs: Fields) -> Fields:
    outcome = elections.zk_elect_request(
        release,
        inputs["election_type"],
        assigned=inputs["assignment"],
        leader=inputs["leader"],
        isr=inputs["isr"],
        alive=inputs["alive"],
    )
    return vars(outcome)


def zk_new_partition(release: Release, inputs: Fields) -> Fields:
    online = elections.online_replicas(release, inputs["alive"], inputs.get("shutting_down", ()))
    created = elections.zk_new_partition(release, inputs["assignment"], online)
    if isinstance(created, Elected):
        return {"result": "created", "zk_version": 0, **vars(created)}
    return {"result": "error", "partition_state": "NewPartition", **vars(created)}


def zk_remove_replica(release: Release, inputs: Fields) -> Fields:
    return vars(
        replica_removal.zk_remove_replica(
            release,
            inputs["replica"],
            assigned=inputs["assignment"],
            leader=inputs["leader"],
            isr=inputs["isr"],
            leader_epoch=inputs["leader_epoch"],
            unclean_enabled=inputs.get("unclean_enabled"),
            topic_deleting=inputs.get("topic_deleting", False),
        )
    )


def kraft_new_partition(release: Release, inputs: Fields) -> Fields:
    created = kraft_elections.kraft_new_partition(
        release,
        inputs["assignment"],
        inputs["unfenced"],
        inputs["in_controlled_shutdown"],
        manual=inputs.get("manual"),
    )
    return {"result": "error" if isinstance(created, Refused) else "created", **vars(created)}


def kraft_change(release: Release, inputs: Fields) -> Fields:
    fields: Fields = {
        name: tuple(value) if isinstance(value, list) else value for name, value in inputs["partition"].items()
    }
    partition = kraft_partition.PartitionRegistration(**fields)
    settings = kraft_partition.ControllerConfig(
        release,
        ProtocolVersion.parse(inputs["metadata_version"]),
        zk_migration=inputs.get("zk_migration", False),
        elr_enabled=inputs.get("elr_enabled", False),
        min_isr=inputs.get("min_isr", 1),
        last_known_leader=inputs.get("last_known_leader_enabled", True),
    )
    requested_fields: Fields = {
        name.removeprefix("target_"): tuple(inputs[name])
        for name in ("target_isr", "target_replicas", "target_adding", "target_removing", "unclean_shutdown")
        if name in inputs
    }
    requested = kraft_partition.RequestedChange(**requested_fields)
    change = kraft_elections.partition_change(
        settings, partition, inputs["acceptable"], inputs.get("election", "ONLINE"), requested
    )
    record = None if change is None else {name: value for name, value in vars(change).items() if value is not None}
    return {"record": record, "after": vars(kraft_partition.apply_change(partition, change))}


def lists(inputs: Fields) -> ReassignmentLists:
    return ReassignmentLists(tuple(inputs["replicas"]), tuple(inputs["adding"]), tuple(inputs["removing"]))


def kraft_reassign_complete(release: Release, inputs: Fields) -> Fields:
    done = reassignment.kraft_reassign_complete(release, lists(inputs), inputs["target_isr"])
    return {"completed": False} if done is None else {"completed": True, "replicas": done.replicas, "isr": done.isr}


def zk_reassign(release: Release, inputs: Fields) -> zk_reassignment.Reassignment:
    return zk_reassignment.zk_reassign_trace(
        release,
        inputs["assignment"],
        inputs["target"],
        leader=inputs["leader"],
        isr=inputs["isr"],
        leader_epoch=inputs["leader_epoch"],
        alive=inputs["alive"],
        catch_up_order=inputs.get("catch_up_order", ()),
    )


def zk_reassign_trace(release: Release, inputs: Fields) -> Fields:
    steps = zk_reassign(release, inputs).steps
    return {"states": [{**vars(step), "assignment_set": step.assignment, "isr_set": step.isr} for step in steps]}


def zk_reassign_final(release: Release, inputs: Fields) -> Fields:
    outcome = zk_reassign(release, inputs)
    return {**vars(outcome), **vars(outcome.final), "isr_set": outcome.final.isr}


def place(function: Callable[..., placement.Assignment]) -> Operation:
    def run(_: Release, inputs: Fields) -> Fields:
        racks = {int(broker): rack for broker, rack in inputs.get("racks", {}).items()}
        try:
            placed = function(
                racks or inputs["brokers"],
                inputs["partitions"],
                inputs["replication_factor"],
                inputs["start_index"],
                inputs.get("next_replica_shift"),
                inputs.get("start_partition", 0),
            )
        except ValueError:
            return {"error": "invalid"}
        return {"assignment": {str(partition): replicas for partition, replicas in placed.items()}}

    return run


def place_striped(_: Release, inputs: Fields) -> Fields:
    brokers = [placement.StripedBroker(**broker) for broker in inputs["brokers"]]
    draws: Iterator[tuple[int, int]] = iter(inputs["draws"])

    def draw(bound: int) -> int:
        expected_bound, value = next(draws)
        assert bound == expected_bound
        return value

    placed = placement.place_striped(brokers, inputs["partitions"], inputs["replication_factor"], draw)
    assert not list(draws), "fewer random numbers taken than Kafka takes"
    return {"assignment": placed}


def transition(release: Release, inputs: Fields) -> Fields:
    return {"valid": state_machines.is_legal(release, inputs["from"], inputs["to"])}


def requested(function: Callable[..., broker_requests.Answer]) -> Operation:
    def run(release: Release, inputs: Fields) -> Fields:
        response = function(release, **{name: inputs[name] for name in REQUEST_FIELDS & inputs.keys()})
        return {**vars(response), "known_controller_epoch_after": response.known_controller_epoch}

    return run


def led(inputs: Fields) -> list[controller_metrics.LedPartition]:
    return [controller_metrics.LedPartition(tuple(item["replicas"]), item["leader"]) for item in inputs["partitions"]]


def leader_imbalance(_: Release, inputs: Fields) -> Fields:
    ratios = controller_metrics.leader_imbalance(led(inputs))
    return {
        "ratio": {str(broker): ratio for broker, ratio in ratios.items()},
        "triggered": controller_metrics.rebalance_triggered(ratios, inputs["percentage"]),
    }


def offline_counter(_: Release, inputs: Fields) -> Fields:
    trace = list(controller_metrics.offline_counter(map(tuple, inputs["transitions"])))
    return {"trace": trace, "count": trace[-1]}


RULE_IDS = {
    "leader_in_isr": "J1",
    "one_leader_per_leader_epoch": "J2",
    "partition_epoch_grows": "J3",
    "controller_epoch_grows": "J4",
    "one_controller_per_epoch": "J5",
    "stored_controller_epoch_never_falls": "J6",
    "isr_within_replicas": "J7",
    "clean_candidate_first": "J8",
    "unclean_leader_alone": "J9",
    "preferred_leader_elected": "J10",
    "epoch_increments": "J12",
    "elected_leader_online": "J14",
    "new_partition_state": "J15",
    "isr_joiner_online": "J19",
    "elr_disjoint_from_isr": "J21",
}
"""The vectors' numbers of the rules that `check_sequence` and `check_controllers` apply."""


def rule_ids(findings: Iterable[Finding]) -> list[str]:
    """The rules violated, as the vectors number them."""
    return [RULE_IDS[rule] for rule in violations(findings)]


def check_sequence(release: Release, inputs: Fields, kraft: bool = False) -> Fields:
    renamed = {"assignment": "replicas", "alive": "online"}
    typed = {"isr": tuple, "replicas": tuple, "online": frozenset}
    states = []
    for state in inputs["states"]:
        fields = {renamed.get(name, name): value for name, value in state.items()}
        states.append(StoredState(**{name: typed.get(name, lambda v: v)(v) for name, v in fields.items()}))
    return {"violations": rule_ids(check_states(Cluster(release, kraft), states))}


def check_controllers(_: Release, inputs: Fields) -> Fields:
    claims = [(claim["epoch"], claim["controller"]) for claim in inputs["claims"]]
    return {"violations": rule_ids(cluster_invariants.check_controllers(claims))}


OPERATIONS: dict[str, Operation] = {
    "zk_elect": zk_elect,
    "zk_elect_request": zk_elect_request,
    "zk_new_partition": zk_new_partition,
    "zk_remove_replica": zk_remove_replica,
    "kraft_new_partition": kraft_new_partition,
    "kraft_change": kraft_change,
    "reassign_to": lambda _, inputs: vars(reassignment.reassign_to(lists(inputs), inputs["target"])),
    "kraft_reassign_plan": lambda _, inputs: vars(
        reassignment.kraft_reassign_plan(inputs["current"], inputs["target"])
    ),
    "kraft_reassign_lists": lambda _, inputs: vars(reassignment.kraft_reassign_lists(lists(inputs), inputs["target"])),
    "kraft_reassign_complete": kraft_reassign_complete,
    "kraft_reassign_revert": lambda _, inputs: vars(reassignment.kraft_reassign_revert(lists(inputs), inputs["isr"])),
    "zk_reassign_trace": zk_reassign_trace,
    "zk_reassign_final": zk_reassign_final,
    "place_rack_unaware": place(placement.place_rack_unaware),
    "place_rack_aware": place(placement.place_rack_aware),
    "rack_alternated_list": lambda _, inputs: {
        "brokers": placement.rack_alternated_list({int(broker): rack for broker, rack in inputs["racks"].items()})
    },
    "place_striped": place_striped,
    "partition_transition": transition,
    "replica_transition": transition,
    "partition_matrix": lambda release, _: {"legal": state_machines.partition_transitions(release)},
    "replica_matrix": lambda release, _: {"legal": state_machines.replica_transitions(release)},
    "replica_requests": lambda release, _: state_machines.replica_requests(release),
    "leader_and_isr": requested(broker_requests.leader_and_isr),
    "stop_replica": requested(broker_requests.stop_replica),
    "leader_imbalance": leader_imbalance,
    "preferred_imbalance_count": lambda release, inputs: {
        "count": controller_metrics.preferred_imbalance_count(release, led(inputs))
    },
    "offline_counter": offline_counter,
    "check_sequence": check_sequence,
    "check_controllers": check_controllers,
}


def agrees(actual: Any, expected: Any, key: str = "") -> bool:
    """Whether `actual` has all of `expected`; order counts except under a key that ends in `_set`."""
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(
            name in actual and agrees(actual[name], value, name) for name, value in expected.items()
        )
    if isinstance(expected, list) and isinstance(actual, list | tuple):
        if key.endswith("_set"):
            return sorted(actual) == sorted(expected)
        return len(actual) == len(expected) and all(map(agrees, actual, expected))
    return bool(actual == expected)


@pytest.mark.parametrize("name", VECTORS)
def test_vector(name: str) -> None:
    vector = VECTORS[name]
    inputs, expected = vector["input"], vector["expected"]
    span = releases(vector["era"])
    assert span, "the era names no release"
    for release, kraft in span:
        operation = OPERATIONS[inputs["op"]]
        actual = operation(release, inputs, kraft) if operation is check_sequence else operation(release, inputs)
        assert agrees(actual, expected), f"Kafka {release}: {actual}"


def test_all_vectors_are_here() -> None:
    assert len(VECTORS) == 139
