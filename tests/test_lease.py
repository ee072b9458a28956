"""One writer at a time in a store without locks: numbered files, of which the store lets one writer create each."""

from __future__ import annotations

import threading

import pytest

from jobs.warehouse.lease import FOLDER, leased
from udfs.errors import Failed


class Store:
    """A store that lists at once what was written, and creates a file once. Its clock stands until a test moves it."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[str, int]] = {}
        self.now_ms = 0
        self._lock = threading.Lock()

    def names(self, folder: str = "") -> list[str]:
        return [name.removeprefix(f"{folder}/") for name in list(self.files) if name.startswith(f"{folder}/")]

    def create(self, name: str, text: str) -> bool:
        with self._lock:
            if name in self.files:
                return False
            self.overwrite(name, text)
            return True

    def overwrite(self, name: str, text: str) -> None:
        self.files[name] = (text, self.now_ms)

    def read(self, name: str) -> tuple[str, int] | None:
        return self.files.get(name)

    def delete(self, name: str) -> None:
        self.files.pop(name, None)


def silent(text: str) -> None:
    raise AssertionError(f"nobody should wait: {text}")


@pytest.fixture
def store() -> Store:
    return Store()


def test_one_after_the_other(store: Store) -> None:
    """Each holds it, and leaves no more than the last number, which says that it is done."""
    for number in (1, 2, 3):
        with leased(store, "s3a://b/w", wait=False, say=silent) as is_held:
            assert is_held()
            assert list(store.files) == [f"{FOLDER}/{number:020}"]
        assert not any("probe" in name for name in store.files)


def test_the_second_is_refused_or_waits(store: Store) -> None:
    order: list[str] = []
    waits = threading.Event()

    def say(text: str) -> None:
        order.append(text)
        waits.set()

    def second() -> None:
        with leased(store, "s3a://b/w", wait=True, say=say, poll_s=0.01):
            order.append("second")

    with leased(store, "s3a://b/w", wait=False, say=silent):
        with (
            pytest.raises(
                Failed, match=r"^Another run \(process \d+ on .*, since .* UTC\) is writing to .*: s3a://b/w"
            ),
            leased(store, "s3a://b/w", wait=False, say=silent),
        ):
            pytest.fail("two held it")
        thread = threading.Thread(target=second)
        thread.start()
        assert waits.wait(10)
        order.append("first")
    thread.join(10)
    assert order[0].endswith("is writing to this warehouse; waiting")
    assert order[1:] == ["first", "second"]


def test_who_was_killed_holds_it_for_two_minutes(store: Store) -> None:
    """By the store's clock, whatever that of the machine says."""
    store.overwrite(f"{FOLDER}/{7:020}", "process 1 on a, since then\nuuid")
    store.now_ms = 119_000
    with pytest.raises(Failed, match="process 1 on a"), leased(store, "w", wait=False, say=silent):
        pytest.fail("it may still work")
    store.now_ms = 121_000
    with leased(store, "w", wait=False, say=silent) as is_held:
        assert is_held()
        assert list(store.files) == [f"{FOLDER}/{8:020}"]


def test_who_only_slept_notices(store: Store) -> None:
    with leased(store, "w", wait=False, say=silent, beat_s=600) as is_held:
        store.now_ms = 200_000
        with leased(store, "w", wait=False, say=silent) as is_held_by_other:
            assert (is_held(), is_held_by_other()) == (False, True)


def test_a_beat_keeps_it(store: Store) -> None:
    beaten = threading.Event()
    overwrite = store.overwrite

    def noted(name: str, text: str) -> None:
        overwrite(name, text)
        if store.files[name][1] == 200_000 and "probe" not in name:
            beaten.set()

    store.overwrite = noted  # type: ignore[method-assign]  # so that the test knows when it may go on
    with leased(store, "w", wait=False, say=silent, beat_s=0.01):
        store.now_ms = 200_000
        assert beaten.wait(10)
        with pytest.raises(Failed), leased(store, "w", wait=False, say=silent):
            pytest.fail("two held it")


def test_a_number_that_was_used_is_not_used_again(store: Store) -> None:
    """One saw number 1 done, and slept while 2 and 3 came and went: number 2, free again, is not enough."""
    store.overwrite(f"{FOLDER}/{1:020}", "a\nuuid\ndone")
    names = store.names
    listings: list[list[str]] = []

    def stale(folder: str = "") -> list[str]:
        if not listings:
            listings.append(names(folder))
            store.files = {f"{FOLDER}/{3:020}": ("b\nuuid\ndone", 0)}
            return listings[0]
        return names(folder)

    store.names = stale  # type: ignore[method-assign]  # what it saw before it slept
    with leased(store, "w", wait=False, say=silent) as is_held:
        assert is_held()
        assert list(store.files) == [f"{FOLDER}/{4:020}"]


def test_never_two_at_once(store: Store) -> None:
    inside: list[int] = []
    most: list[int] = []

    def enter(number: int) -> None:
        for _ in range(30):
            with leased(store, "w", wait=True, say=lambda _: None, poll_s=0.0001):
                inside.append(number)
                most.append(len(inside))
                inside.remove(number)

    threads = [threading.Thread(target=enter, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (len(most), set(most)) == (180, {1})
