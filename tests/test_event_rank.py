"""Ranks of records of one millisecond: cause before effect, one by one and many at once."""

from __future__ import annotations

import random

import numpy as np
import pytest

from udfs.rules.event_rank import rank_of, ranks_of

AT = "[2026-11-21 10:00:00,000] "
RANKED = {  # a record -> its rank: asked, decided, sent, received, anything else, done, answered
    "INFO [Partition a-0 broker=2] Shrinking ISR from 1,2 to 1 (kafka.cluster.Partition)": 0,
    "TRACE [Controller id=1 epoch=2] Changed partition a-0 from NewPartition to OnlinePartition": 1,
    "TRACE Controller 1 epoch 2 changed partition [a,0] state from NewPartition to OnlinePartition": 1,
    "INFO [Controller id=1] Something new (kafka.controller.KafkaController)": 1,
    "TRACE [Controller id=1 epoch=2] Sending UpdateMetadata request x to brokers Set(1) for partition a-0": 2,
    "TRACE Controller 1 epoch 2 sending become-leader LeaderAndIsr request (Leader:0": 2,
    "TRACE [Broker id=3] Received LeaderAndIsr request x correlation id 1 from controller 1 epoch 2": 3,
    "TRACE Broker 3 received LeaderAndIsr request x correlation id 1 from controller 1 epoch 2": 3,
    "TRACE [Broker id=3] Handling LeaderAndIsr request correlationId 1 from controller 1 epoch 2": 4,
    "INFO starting (kafka.server.KafkaServer)": 4,
    "TRACE [Broker id=3] Cached leader info x for partition a-0": 5,
    "INFO [Broker id=3] Leader a-0 starts at leader epoch 1 from offset 0": 5,
    "TRACE Broker 3 completed LeaderAndIsr request correlationId 1": 5,
    "INFO [Partition a-0 broker=3] ISR updated to [1] and zkVersion updated to [2]": 5,
    "TRACE [Controller id=1 epoch=2] Received response x for request UPDATE_METADATA with correlation id 1": 6,
    "TRACE Controller 1 epoch 2 received response x for a request sent to broker id:4": 6,
}


@pytest.mark.parametrize("text", RANKED)
def test_the_rank_of_a_record(text: str) -> None:
    assert rank_of((AT + text + "\n").encode()) == RANKED[text]


def test_many_ranks_at_once_are_the_same() -> None:
    raws = [(AT + text + "\n").encode() for text in RANKED] * 3
    random.Random(3).shuffle(raws)
    # in the second half the last record is near the end of its bytes
    halves = [b"".join(raws[:20]) + bytes(200), b"".join(raws[20:])]
    which = np.array([0] * 20 + [1] * (len(raws) - 20))
    starts = np.array([sum(map(len, raws[20 * (i >= 20) : i])) for i in range(len(raws))])
    assert ranks_of(halves, which, starts).tolist() == [rank_of(raw) for raw in raws]
