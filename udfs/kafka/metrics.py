"""The controller's gauges and its automatic rebalance, after kafka.controller.KafkaController and ControllerContext."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from udfs.kafka.releases import Release


@dataclass(frozen=True)
class LedPartition:
    """A partition as the gauges see it: assignment, leader (-1 for none), ISR and what a reassignment adds."""

    replicas: tuple[int, ...]
    leader: int
    isr: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    topic_deleting: bool = False


def leader_imbalance(partitions: Collection[LedPartition]) -> dict[int, float]:
    """Per preferred broker the share, 0 to 1, of its partitions that another broker (or none) leads; without topics
    queued for deletion (KafkaController.checkAndTriggerPartitionRebalance, 0.8.1 on)."""
    staying = [partition for partition in partitions if not partition.topic_deleting]
    ratios = {}
    for broker in sorted({partition.replicas[0] for partition in staying}):
        own = [partition for partition in staying if partition.replicas[0] == broker]
        ratios[broker] = sum(partition.leader != broker for partition in own) / len(own)
    return ratios


def rebalance_triggered(ratios: dict[int, float], percentage: int = 10) -> list[int]:
    """Brokers whose imbalance sets off automatic preferred elections: strictly above the percentage."""
    return sorted(broker for broker, ratio in ratios.items() if ratio > percentage / 100)


def preferred_imbalance_count(release: Release, partitions: Iterable[LedPartition]) -> int:
    """PreferredReplicaImbalanceCount. A leaderless partition counts; from 0.10 not one being deleted.

    From 2.4 one whose preferred replica is still being added counts once that is in the ISR, whoever leads.
    """
    return sum(
        _is_imbalanced(release, partition) and not (partition.topic_deleting and release >= Release(0, 10))
        for partition in partitions
    )


def _is_imbalanced(release: Release, partition: LedPartition) -> bool:
    preferred = partition.replicas[0]
    if release >= Release(2, 4) and preferred in partition.adding:
        return preferred in partition.isr
    return partition.leader != preferred


def offline_partitions_count(
    release: Release, partitions: Iterable[LedPartition], alive: Collection[int], shutting_down: Collection[int] = ()
) -> int:
    """OfflinePartitionsCount through 2.0, which asks who is alive (0.8.0: live), not for states.

    From 0.10 topics queued for deletion do not count. From 2.1 it is `offline_counter`: ValueError.
    """
    if release >= Release(2, 1):
        raise ValueError(f"Kafka {release} counts transitions; expected a release before 2.1")
    up = set(alive) - set(shutting_down) if release < Release(0, 8, 1) else set(alive)
    return sum(
        partition.leader not in up and not (partition.topic_deleting and release >= Release(0, 10))
        for partition in partitions
    )


def offline_counter(transitions: Iterable[tuple[str, str]], start: int = 0) -> Iterator[int]:
    """OfflinePartitionsCount (2.1 on) after each partition transition; leave out topics under deletion.

    >>> list(offline_counter([("NewPartition", "OfflinePartition"), ("OfflinePartition", "OfflinePartition")]))
    [1, 1]
    """
    count = start
    for was, now in transitions:
        count += (now == "OfflinePartition") - (was == "OfflinePartition")
        yield count
