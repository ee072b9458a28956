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
)
from udfs.kafka import metrics as controller_metrics
from udfs.kafka import request_handling as broker_requests
from udfs.kafka.elections import Elected, Refused
from udfs.kafka.invariants import check_sequence as check_states
from udfs.kafka.judgements import Finding, violations
from udfs.kafka.reassignment import ReassignmentLists
from udfs.kafka.releases import MINOR_RELEASES, ProtocolVersion, Release, releases_between
from udfs.kafka.stored_state import Cluster, StoredState

Given = dict[str, Any]  # a part of a vector, or what is compared with one
Operation = Callable[[Release, Given], Given]

VECTORS: dict[str, Given] = {
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
    found = []
    for part in era.split(","):
        mode, _, span = part.partition(":")
        first, _, last = span.partition("..")
        between = releases_between(Release.parse(first), Release.parse(last or first))
        found += [(release, mode == "kraft") for release in between]
    return found


def zk_elect(release: Release, given: Given) -> Given:
    protocol = given.get("inter_broker_protocol")
    outcome = elections.zk_elect(
        release,
        given["strategy"],
        assigned=given["assignment"],
        inter_broker_protocol=ProtocolVersion.parse(protocol) if protocol else None,
        **{name: given[name] for name in ZK_ELECT_FIELDS & given.keys()},
    )
    return {"result": "error" if isinstance(outcome, Refused) else "elected", **vars(outcome)}


def zk_elect_request(release: Release, given: Given) -> Given:
    outcome = elections.zk_elect_request(
        release,
        given["election_type"],
        assigned=given["assignment"],
        leader=given["leader"],
        isr=given["isr"],
        alive=given["alive"],
    )
    return vars(outcome)


def zk_new_partition(release: Release, given: Given) -> Given:
    online = elections.online_replicas(release, given["alive"], given.get("shutting_down", ()))
    born = elections.zk_new_partition(release, given["assignment"], online)
    if isinstance(born, Elected):
        return {"result": "created", "zk_version": 0, **vars(born)}
    return {"result": "error", "partition_state": "NewPartition", **vars(born)}


def zk_remove_replica(release: Release, given: Given) -> Given:
    return vars(
        replica_removal.zk_remove_replica(
            release,
            given["replica"],
            assigned=given["assignment"],
            leader=given["leader"],
            isr=given["isr"],
            leader_epoch=given["leader_epoch"],
            unclean_enabled=given.get("unclean_enabled"),
            topic_deleting=given.get("topic_deleting", False),
        )
    )


def kraft_new_partition(release: Release, given: Given) -> Given:
    born = kraft_elections.kraft_new_partition(
        release,
        given["assignment"],
        given["unfenced"],
        given["in_controlled_shutdown"],
        manual=given.get("manual", False),
    )
    return {"result": "error" if isinstance(born, Refused) else "created", **vars(born)}


def kraft_change(release: Release, given: Given) -> Given:
    fields: Given = {
        name: tuple(value) if isinstance(value, list) else value for name, value in given["partition"].items()
    }
    partition = kraft_partition.PartitionRegistration(**fields)
    settings = kraft_partition.ControllerConfig(
        release,
        ProtocolVersion.parse(given["metadata_version"]),
        zk_migration=given.get("zk_migration", False),
        elr_enabled=given.get("elr_enabled", False),
        min_isr=given.get("min_isr", 1),
        last_known_leader=given.get("last_known_leader_enabled", True),
    )
    asked: Given = {
        name.removeprefix("target_"): tuple(given[name])
        for name in ("target_isr", "target_replicas", "target_adding", "target_removing", "unclean_shutdown")
        if name in given
    }
    wanted = kraft_partition.RequestedChange(**asked)
    change = kraft_elections.partition_change(
        settings, partition, given["acceptable"], given.get("election", "ONLINE"), wanted
    )
    record = None if change is None else {name: value for name, value in vars(change).items() if value is not None}
    return {"record": record, "after": vars(kraft_partition.apply_change(partition, change))}


def lists(given: Given) -> ReassignmentLists:
    return ReassignmentLists(tuple(given["replicas"]), tuple(given["adding"]), tuple(given["removing"]))


def kraft_reassign_complete(release: Release, given: Given) -> Given:
    done = reassignment.kraft_reassign_complete(release, lists(given), given["target_isr"])
    return {"completed": False} if done is None else {"completed": True, "replicas": done.replicas, "isr": done.isr}


def zk_reassign(release: Release, given: Given) -> reassignment.Reassignment:
    return reassignment.zk_reassign_trace(
        release,
        given["assignment"],
        given["target"],
        leader=given["leader"],
        isr=given["isr"],
        leader_epoch=given["leader_epoch"],
        alive=given["alive"],
        catch_up_order=given.get("catch_up_order", ()),
    )


def zk_reassign_trace(release: Release, given: Given) -> Given:
    steps = zk_reassign(release, given).steps
    return {"states": [{**vars(step), "assignment_set": step.assignment, "isr_set": step.isr} for step in steps]}


def zk_reassign_final(release: Release, given: Given) -> Given:
    outcome = zk_reassign(release, given)
    return {**vars(outcome), **vars(outcome.final), "isr_set": outcome.final.isr}


def place(function: Callable[..., placement.Assignment]) -> Operation:
    def run(_: Release, given: Given) -> Given:
        racks = {int(broker): rack for broker, rack in given.get("racks", {}).items()}
        try:
            placed = function(
                racks or given["brokers"],
                given["partitions"],
                given["replication_factor"],
                given["start_index"],
                given.get("next_replica_shift"),
                given.get("start_partition", 0),
            )
        except ValueError:
            return {"error": "invalid"}
        return {"assignment": {str(partition): replicas for partition, replicas in placed.items()}}

    return run


def place_striped(_: Release, given: Given) -> Given:
    brokers = [placement.StripedBroker(**broker) for broker in given["brokers"]]
    draws: Iterator[tuple[int, int]] = iter(given["draws"])

    def draw(bound: int) -> int:
        expected_bound, value = next(draws)
        assert bound == expected_bound
        return value

    placed = placement.place_striped(brokers, given["partitions"], given["replication_factor"], draw)
    assert not list(draws), "fewer random numbers taken than Kafka takes"
    return {"assignment": placed}


def transition(release: Release, given: Given) -> Given:
    return {"valid": state_machines.is_legal(release, given["from"], given["to"])}


def requested(function: Callable[..., broker_requests.Answer]) -> Operation:
    def run(release: Release, given: Given) -> Given:
        answer = function(release, **{name: given[name] for name in REQUEST_FIELDS & given.keys()})
        return {**vars(answer), "known_controller_epoch_after": answer.known_controller_epoch}

    return run


def led(given: Given) -> list[controller_metrics.LedPartition]:
    return [controller_metrics.LedPartition(tuple(one["replicas"]), one["leader"]) for one in given["partitions"]]


def leader_imbalance(_: Release, given: Given) -> Given:
    ratios = controller_metrics.leader_imbalance(led(given))
    return {
        "ratio": {str(broker): ratio for broker, ratio in ratios.items()},
        "triggered": controller_metrics.rebalance_triggered(ratios, given["percentage"]),
    }


def offline_counter(_: Release, given: Given) -> Given:
    trace = list(controller_metrics.offline_counter(map(tuple, given["transitions"])))
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


def check_sequence(release: Release, given: Given, kraft: bool = False) -> Given:
    renamed = {"assignment": "replicas", "alive": "online"}
    typed = {"isr": tuple, "replicas": tuple, "online": frozenset}
    states = []
    for state in given["states"]:
        fields = {renamed.get(name, name): value for name, value in state.items()}
        states.append(StoredState(**{name: typed.get(name, lambda v: v)(v) for name, v in fields.items()}))
    return {"violations": rule_ids(check_states(Cluster(release, kraft), states))}


def check_controllers(_: Release, given: Given) -> Given:
    claims = [(claim["epoch"], claim["controller"]) for claim in given["claims"]]
    return {"violations": rule_ids(cluster_invariants.check_controllers(claims))}


OPERATIONS: dict[str, Operation] = {
    "zk_elect": zk_elect,
    "zk_elect_request": zk_elect_request,
    "zk_new_partition": zk_new_partition,
    "zk_remove_replica": zk_remove_replica,
    "kraft_new_partition": kraft_new_partition,
    "kraft_change": kraft_change,
    "reassign_to": lambda _, given: vars(reassignment.reassign_to(lists(given), given["target"])),
    "kraft_reassign_plan": lambda _, given: vars(reassignment.kraft_reassign_plan(given["current"], given["target"])),
    "kraft_reassign_lists": lambda _, given: vars(reassignment.kraft_reassign_lists(lists(given), given["target"])),
    "kraft_reassign_complete": kraft_reassign_complete,
    "kraft_reassign_revert": lambda _, given: vars(reassignment.kraft_reassign_revert(lists(given), given["isr"])),
    "zk_reassign_trace": zk_reassign_trace,
    "zk_reassign_final": zk_reassign_final,
    "place_rack_unaware": place(placement.place_rack_unaware),
    "place_rack_aware": place(placement.place_rack_aware),
    "rack_alternated_list": lambda _, given: {
        "brokers": placement.rack_alternated_list({int(broker): rack for broker, rack in given["racks"].items()})
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
    "preferred_imbalance_count": lambda release, given: {
        "count": controller_metrics.preferred_imbalance_count(release, led(given))
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
    given, expected = vector["input"], vector["expected"]
    span = releases(vector["era"])
    assert span, "the era names no release"
    for release, kraft in span:
        operation = OPERATIONS[given["op"]]
        actual = operation(release, given, kraft) if operation is check_sequence else operation(release, given)
        assert agrees(actual, expected), f"Kafka {release}: {actual}"


def test_all_vectors_are_here() -> None:
    assert len(VECTORS) == 139
