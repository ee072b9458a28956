"""A logged choice against what the algorithm chooses with each plausible set of online brokers."""

from collections.abc import Collection

from udfs.kafka.elections import Elected, zk_elect
from udfs.kafka.judgements import HOLDS, VIOLATED
from udfs.kafka.plausible_choices import check_choice
from udfs.kafka.releases import Release


def test_choice_is_explained_by_some_plausible_online_set() -> None:
    def decide(online: Collection[int]) -> tuple[int, tuple[int, ...]] | None:
        elected = zk_elect(
            *(Release(3, 9), "offline"),
            assigned=[1, 2, 3],
            isr=[1, 2, 3],
            leader=1,
            leader_epoch=0,
            alive=online,
        )
        return (elected.leader, elected.isr) if isinstance(elected, Elected) else None

    assert check_choice(decide, (2, (3, 2)), {2, 3}, {2, 3}).verdict == HOLDS
    assert check_choice(decide, (3, (3,)), {3}, {2, 3}).verdict == HOLDS
    assert check_choice(decide, (3, (3,)), {2, 3}, {2, 3}).verdict == VIOLATED
    assert check_choice(decide, None, set(), {2}).verdict == HOLDS
    assert check_choice(decide, None, {3}, {2, 3}).verdict == VIOLATED
