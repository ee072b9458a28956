"""Where new partitions are placed. After kafka.admin.AdminUtils and, for KRaft, StripedReplicaPlacer.

Kafka starts at random; here each random number is an argument, so that a placement can be replayed.
Errors are ValueError.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest

Assignment = dict[int, tuple[int, ...]]  # by partition number
Draw = Callable[[int], int]  # bound -> a number from 0 below it


def _check(partitions: int, replication_factor: int, brokers: int) -> None:
    if partitions <= 0:
        raise ValueError(f"{partitions} partitions; expected 1 or more")
    if brokers == 0:
        raise ValueError(f"Replication factor {replication_factor}; there is no broker to place replicas on")
    if not 0 < replication_factor <= brokers:
        raise ValueError(f"Replication factor {replication_factor}; expected 1 to {brokers}, the number of brokers")


def place_rack_unaware(
    brokers: Sequence[int],
    partitions: int,
    replication_factor: int,
    start_index: int,
    next_replica_shift: int | None = None,
    start_partition: int = 0,
) -> Assignment:
    """Leaders in turn; followers shifted one further on each lap. Without a shift it equals the start.

    `brokers` in the order Kafka had: sorted ids for its tools, the controller's cache order for requests (0.10.1 on).

    >>> place_rack_unaware([0, 1, 2], partitions=2, replication_factor=2, start_index=2)
    {0: (2, 0), 1: (0, 1)}
    """
    _check(partitions, replication_factor, len(brokers))
    return {
        partition: tuple(
            brokers[_probe(first, shift, follower, len(brokers))] for follower in range(replication_factor)
        )
        for partition, first, shift in _laps(len(brokers), partitions, start_index, next_replica_shift, start_partition)
    }


def place_rack_aware(
    racks: Mapping[int, str | None],
    partitions: int,
    replication_factor: int,
    start_index: int,
    next_replica_shift: int | None = None,
    start_partition: int = 0,
) -> Assignment:
    """As `place_rack_unaware` over the rack-alternated list (0.10.0 on, KIP-36): used racks wait for unused ones.

    `racks` is the rack of each broker, null if it has none: then no other may have one either, and racks do not count.
    """
    known = {broker: rack for broker, rack in racks.items() if rack is not None}
    if not known:
        return place_rack_unaware(
            [*racks], partitions, replication_factor, start_index, next_replica_shift, start_partition
        )
    _check(partitions, replication_factor, len(racks))
    if len(known) < len(racks):
        raise ValueError(
            f"Brokers {sorted(racks.keys() - known.keys())} have no rack; expected all to have one, or none"
        )
    brokers, rack_count = rack_alternated_list(known), len({*known.values()})
    placed: Assignment = {}
    laps = _laps(len(brokers), partitions, start_index, next_replica_shift, start_partition)
    for partition, first, shift in laps:
        replicas = [brokers[first]]
        probe = 0
        while len(replicas) < replication_factor:
            probe += 1
            broker = brokers[_probe(first, shift * rack_count, probe, len(brokers))]
            used = {known[replica] for replica in replicas}
            if broker not in replicas and (known[broker] not in used or len(used) == rack_count):
                replicas.append(broker)
        placed[partition] = tuple(replicas)
    return placed


def rack_alternated_list(racks: Mapping[int, str]) -> tuple[int, ...]:
    """One broker per rack in turn; racks by name, the brokers of a rack by id.

    >>> rack_alternated_list({0: "a", 1: "a", 2: "b"})
    (0, 2, 1)
    """
    by_rack = [sorted(broker for broker in racks if racks[broker] == rack) for rack in sorted(set(racks.values()))]
    rounds = chain.from_iterable(zip_longest(*by_rack))
    return tuple(broker for broker in rounds if broker is not None)


def _laps(
    brokers: int, partitions: int, start_index: int, shift: int | None, start_partition: int
) -> Iterator[tuple[int, int, int]]:
    """(partition, index of its first replica, shift); the shift grows when the partition number wraps around."""
    shift = start_index if shift is None else shift
    start_partition = max(0, start_partition)
    for partition in range(start_partition, start_partition + partitions):
        if partition > 0 and partition % brokers == 0:
            shift += 1
        yield partition, (partition + start_index) % brokers, shift


def _probe(first: int, shift: int, replica: int, brokers: int) -> int:
    """The index of the replica-th candidate, the first replica itself being number 0."""
    if replica == 0:
        return first
    return (first + 1 + (shift + replica - 1) % (brokers - 1)) % brokers


def next_start_index(brokers: Sequence[int], first_replica: int) -> int:
    """Where adding partitions starts (0.10.0 on): the first broker not below partition 0's first replica, else 0.

    >>> next_start_index([1, 3, 5], 2), next_start_index([1, 3, 5], 6)
    (1, 0)
    """
    return next((index for index, broker in enumerate(brokers) if broker >= first_replica), 0)


@dataclass
class _Ring:
    """Brokers handed out once per round, beginning one further in each round that asks for them."""

    brokers: list[int] = field(default_factory=list)
    offset: int = 0
    taken: int = 0
    round: int = 0

    def next(self, round_: int) -> int | None:
        if not self.brokers:
            return None
        if self.round != round_:
            self.round, self.taken, self.offset = round_, 0, (self.offset + 1) % len(self.brokers)
        if self.taken == len(self.brokers):
            return None
        self.taken += 1
        return self.brokers[(self.taken - 1 + self.offset) % len(self.brokers)]


@dataclass(frozen=True)
class StripedBroker:
    """A broker KRaft may place on; `rack` null if it has none."""

    id: int
    rack: str | None = None
    fenced: bool = False


def place_striped(
    brokers: Collection[StripedBroker], partitions: int, replication_factor: int, draw: Draw
) -> tuple[tuple[int, ...], ...]:
    """KRaft's placement, in creation order; `draw` gives each random number Kafka takes, in order.

    Drawn: an offset per nonempty list (rack by rack as Java's HashMap has them, fenced before unfenced), one for the
    racks, then shuffles. Without the draws only properties can be checked: an unfenced leader, distinct brokers, racks
    as even as can be within a partition.
    """
    unfenced_count = sum(not broker.fenced for broker in brokers)
    _check(partitions, replication_factor, len(brokers))
    if not unfenced_count:
        raise ValueError("All brokers are fenced; expected at least one unfenced")
    by_name = {name: _rack(brokers, name, draw) for name in _in_hash_order(broker.rack for broker in brokers)}
    racks = [by_name[name] for name in sorted(by_name, key=lambda rack: (rack is not None, rack or ""))]
    offset, round_ = draw(len(racks)), 0
    placed = []
    for _ in range(partitions):
        if round_ == unfenced_count > 1:
            _shuffle(racks, draw)
            for ring in chain.from_iterable(by_name.values()):
                _shuffle(ring.brokers, draw)
            round_ = 0
        offset %= len(racks)
        placed.append(_stripe(racks, offset, round_, replication_factor))
        offset, round_ = offset + 1, round_ + 1
    return tuple(placed)


def _in_hash_order(names: Iterable[str | None]) -> list[str | None]:
    """Different names of racks in the order of a java.util.HashMap by Optional: by hash, and as they came in where two
    share a bucket. It has a bucket for each of 16, 32, ... hashes, of which three quarters may be taken.

    >>> _in_hash_order(["r1", "r2", None, "r1"])
    ['r2', None, 'r1']
    """
    different = list(dict.fromkeys(names))
    buckets = 16
    while len(different) > buckets * 3 // 4:
        buckets *= 2

    def bucket(name: str | None) -> int:
        code = 0
        units = (name or "").encode("utf-16-be", "surrogatepass")
        for high, low in zip(units[::2], units[1::2], strict=True):
            code = (31 * code + (high << 8 | low)) % 2**32
        return (code ^ code >> 16) % buckets

    return sorted(different, key=bucket)


def _rack(brokers: Collection[StripedBroker], name: str | None, draw: Draw) -> tuple[_Ring, _Ring]:
    """The rings of a rack: fenced, unfenced."""

    def ring(fenced: bool) -> _Ring:
        ids = sorted(broker.id for broker in brokers if broker.rack == name and broker.fenced == fenced)
        return _Ring(ids, draw(len(ids)) if ids else 0)

    return ring(fenced=True), ring(fenced=False)


def _stripe(racks: Sequence[tuple[_Ring, _Ring]], offset: int, round_: int, replication_factor: int) -> tuple[int, ...]:
    """One partition: the first rack on from `offset` with an unfenced broker leads and is passed over once."""
    around = [*range(offset, len(racks)), *range(offset)]
    replicas: list[int] = []
    leader_rack = offset
    for leader_rack in around:
        leader = racks[leader_rack][1].next(round_)
        if leader is not None:
            replicas.append(leader)
            break
    turn, passed_over = 0, False
    while len(replicas) < replication_factor:
        rack = around[turn % len(around)]
        turn += 1
        if rack == leader_rack and not passed_over:
            passed_over = True
            continue
        fenced, unfenced = racks[rack]
        broker = unfenced.next(round_)
        broker = fenced.next(round_) if broker is None else broker
        if broker is not None:
            replicas.append(broker)
    return tuple(replicas)


def _shuffle(items: list, draw: Draw) -> None:  # type: ignore[type-arg]  # any list, in place
    """Java's `Collections.shuffle`: from the end, each swapped with a drawn one at or before it."""
    for size in range(len(items), 1, -1):
        other = draw(size)
        items[size - 1], items[other] = items[other], items[size - 1]
