"""Who writes a message, by its prefix, in the forms that releases have for it."""

from __future__ import annotations

from typing import Any

import pytest

from udfs.rules.parsing import read_message
from udfs.rules.prefixes import read_prefix

LOADER = "org.apache.kafka.image.loader.MetadataLoader"
PUBLISHER = "kafka.server.metadata.DynamicConfigPublisher"
UPDATED = "Updating topic pay-in with new configuration : min.insync.replicas -> 2"
CAUGHT_UP = "handleCommit: The loader finished catching up to the current high water mark of 640"


@pytest.mark.parametrize(
    ("logger", "message", "columns"),
    [
        # 3.4.0, 3.4.1
        (LOADER, f"[MetadataLoader 101] {CAUGHT_UP}", {"event_type": "metadata_loader_caught_up", "node": 101}),
        (
            PUBLISHER,
            f"[DynamicConfigPublisher nodeType=broker id=4] {UPDATED}",
            {"event_type": "metadata_config_updated", "broker_id": 4, "node": 4, "topic": "pay-in"},
        ),
        (
            PUBLISHER,
            f"[DynamicConfigPublisher nodeType=controller id=101] {UPDATED}",
            {"event_type": "metadata_config_updated", "controller_id": 101, "node": 101},
        ),
        # 3.5.0 and later
        (LOADER, f"[MetadataLoader id=101] {CAUGHT_UP}", {"event_type": "metadata_loader_caught_up", "node": 101}),
        (PUBLISHER, f"[DynamicConfigPublisher broker id=4] {UPDATED}", {"broker_id": 4, "node": 4}),
    ],
)
def test_prefix(logger: str, message: str, columns: dict[str, Any]) -> None:
    read = read_message(logger, message)
    assert read is not None
    assert {name: read.get(name) for name in columns} == columns


@pytest.mark.parametrize(
    "prefix",
    [
        "[Group Metadata Manager on Broker 4]: ",  # up to 0.11
        "[GroupCoordinator 4]: ",
        "[GroupCoordinator id=4 topic=__consumer_offsets partition=17] ",  # 4.0
        "[Token Manager on Broker 4]: ",
        "[ProducerId Manager 4]: ",
        "[Transaction State Manager 4]: ",
        "[Transaction Marker Channel Manager 4]: ",
        "[Transaction Marker Request Completion Handler 4]: ",
        "[Socket Server on Broker 4], ",  # up to 0.11
        "[SocketServer listenerType=ZK_BROKER, nodeId=4] ",
        "[Kafka Request Handler 7 on Broker 4], ",
        "[data-plane Kafka Request Handler on Broker 4], ",
    ],
)
def test_what_a_broker_writes_in_quiet_hours_names_it(prefix: str) -> None:
    assert (read_prefix(prefix.encode()) or {}).get("node") == 4


@pytest.mark.parametrize("prefix", ["[ExpirationReaper-0], ", "[ExpirationReaper-0-Heartbeat]: "])
def test_reapers_name_nobody_for_in_4_0_all_of_them_are_of_broker_0(prefix: str) -> None:
    assert (read_prefix(prefix.encode()) or {}).get("node") is None


def test_a_broker_that_migrates_from_zookeeper_says_so_in_its_prefix() -> None:
    message = "[BrokerLifecycleManager id=4 isZkBroker=true] Transitioning from RUNNING to SHUTTING_DOWN."
    read = read_message("kafka.server.BrokerLifecycleManager", message)
    assert read is not None
    assert {name: read[name] for name in ("event_type", "broker_id", "node")} == {
        "event_type": "broker_status_changed",
        "broker_id": 4,
        "node": 4,
    }
