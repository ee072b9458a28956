"""What a KRaft controller writes, whatever happens, is judged right: elections, and what states show."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.kafka_values import NO_LEADER
from udfs.kafka.election_verdicts import judge_election
from udfs.kafka.isr_requests import IsrRequest
from udfs.kafka.kraft_controller import KraftController, Records
from udfs.kafka.kraft_elections import acceptable_brokers
from udfs.kafka.kraft_partition import ControllerConfig, PartitionRegistration
from udfs.kafka.releases import ProtocolVersion, Release
from udfs.kafka.stored_state import Cluster
from udfs.kafka.verdicts import judge_states

BROKERS, NAME, EVENTS = range(5), "a-0", 30
RELEASES = ("3.0", "3.1", "3.2", "3.3", "3.5", "3.6", "3.7", "3.8", "3.9", "4.0", "4.1", "4.1.1", "4.3")
KINDS = ("fence", "return", "return", "stop", "isr", "isr", "isr", "preferred", "unclean", "move", "cancel")
LEFT_OVER = {"leader_in_isr"}
"""Through 3.1 an unclean leader may be left out of an ISR that is asked for, as a reassignment is cancelled."""
Row = dict[str, Any]


class Night:
    """Random events in one partition; `elections` and `states` are rows as the tables have them."""

    def __init__(self, seed: int, release: Release, *, has_elr: bool) -> None:
        self.dice, self.release = random.Random(seed), release
        min_isr = self.dice.choice((1, 2, 2, 3))
        self.config = ControllerConfig(
            release, ProtocolVersion.parse(str(release.line)), elr_enabled=has_elr, min_isr=min_isr
        )
        self.allows_unclean = self.dice.random() < 0.4
        self.controller = KraftController(self.config, unclean_topics=("a",) if self.allows_unclean else ())
        for broker in BROKERS:
            self.controller.register(broker, broker + 1)
            self.controller.unfence(broker)
        self.controller.create(NAME, self.dice.sample(BROKERS, self.dice.choice((1, 2, 3, 3, 4))))
        self.elections: list[Row] = []
        self.states = [self._state(self.controller.partitions[NAME], self._online(), is_leaders=False)]
        for _ in range(EVENTS):
            self._event(self.dice.choice(BROKERS))

    def _online(self) -> frozenset[int]:
        return acceptable_brokers(self.release, self.controller.unfenced, self.controller.in_shutdown)

    def _event(self, broker: int) -> None:
        controller, before, online = self.controller, self.controller.partitions[NAME], self._online()
        is_up, records, is_leaders = broker in controller.unfenced, Records(), False
        match self.dice.choice(KINDS):
            case "fence" if is_up:
                records, online = controller.fence(broker), self._online()
            case "return" if not is_up:
                records, online = controller.unfence(broker), self._online()
            case "stop" if is_up and broker not in controller.in_shutdown:
                records, online = controller.shut_down(broker), online - {broker}
            case "isr" if before.leader != NO_LEADER:
                records, is_leaders = controller.alter_partition(NAME, self._request(before, online)), True
            case "preferred":
                records = controller.elect([NAME])
            case "unclean":
                records = controller.elect([NAME], "UNCLEAN")
            case "move":
                records = controller.reassign(NAME, self.dice.sample(BROKERS, self.dice.choice((1, 2, 3, 4))))
            case "cancel":
                records = controller.cancel(NAME)
        for _, _, after in records.changes:
            goes_on = after.leader == before.leader and set(after.replicas) == set(before.replicas)
            self.states.append(self._state(after, online, is_leaders=is_leaders and goes_on))
            if after.leader not in (before.leader, NO_LEADER):
                self.elections.append(self._election(before, after, online))
            before = after

    def _request(self, partition: PartitionRegistration, online: frozenset[int]) -> IsrRequest:
        recovers = partition.recovery == "RECOVERING" and self.dice.random() < 0.5
        isr = [r for r in partition.replicas if r == partition.leader or (r in online and self.dice.random() < 0.7)]
        return IsrRequest(
            partition.leader, partition.leader_epoch, partition.partition_epoch,
            (partition.leader,) if recovers else tuple(isr), recovery="RECOVERED" if recovers else partition.recovery,
        )  # fmt: skip

    def _state(self, partition: PartitionRegistration, online: frozenset[int], *, is_leaders: bool) -> Row:
        return {
            "leader": partition.leader, "leader_epoch": partition.leader_epoch, "controller_epoch": None,
            "partition_epoch": partition.partition_epoch, "isr": sorted(partition.isr),
            "replicas": [*partition.replicas], "elr": sorted(partition.elr), "recovery": partition.recovery,
            "last_known_elr": sorted(partition.last_known_elr), "made_by": "leader" if is_leaders else None,
            "min_isr": self.config.min_isr, "certainly_online": sorted(online), "possibly_online": sorted(online),
            "unclean_enabled": None,
        }  # fmt: skip

    def _election(self, before: PartitionRegistration, after: PartitionRegistration, online: frozenset[int]) -> Row:
        return {
            "succeeded": True, "strategy": None, "trigger": None, "previous_leader": before.leader,
            "leader": after.leader, "isr": sorted(after.isr), "isr_before": sorted(before.isr),
            "replicas": [*after.replicas], "replicas_before": [*before.replicas], "live_brokers": sorted(online),
            "certainly_online": sorted(online), "possibly_online": sorted(online), "shutting_down": [],
            "elr_before": sorted(before.elr), "last_known_before": sorted(before.last_known_elr) or None,
            "unclean_enabled": self.dice.choice((None, self.allows_unclean)),
        }  # fmt: skip


@pytest.mark.parametrize("text", RELEASES)
@given(seed=st.integers(0, 10**6), has_elr=st.booleans())
def test_nothing_that_a_controller_writes_is_violated(text: str, seed: int, has_elr: bool) -> None:
    """With eligible leader replicas from 4.0 on; the replay takes them for on from 4.1 on, be they or not."""
    release = Release.parse(text)
    has_elr = has_elr and release >= Release(4)
    night = Night(seed, release, has_elr=has_elr)
    for row in night.elections:
        for takes_elr in {has_elr, has_elr or release >= Release(4, 1)}:
            verdict = judge_election(row, release, is_kraft=True, elr_enabled=takes_elr)
            assert verdict.verdict != "violated", verdict.explanation
    cluster = Cluster(release, kraft=True, protocol=night.config.metadata_version, elr_enabled=has_elr)
    wrong = {v.rule: v.explanation for _, v in judge_states(cluster, night.states) if v.verdict == "violated"}
    assert {rule: text for rule, text in wrong.items() if release >= Release(3, 2) or rule not in LEFT_OVER} == {}
