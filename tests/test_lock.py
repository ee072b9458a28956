"""Two runs at the same time: one waits, or fails; a lock is free when its holder ends, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jobs.warehouse.lock import NAME, sole_writer
from udfs.errors import BadInput, Failed

HOLDER = """
import sys, time
from jobs.warehouse.lock import sole_writer
with sole_writer(sys.argv[1], wait=True, say=print):
    print("held", flush=True)
    time.sleep(60)
"""


def silent(text: str) -> None:
    raise AssertionError(f"nobody should wait: {text}")


def test_the_second_waits_and_reports_for_whom(tmp_path: Path) -> None:
    root = str(tmp_path / "warehouse")
    order: list[str] = []
    waits = threading.Event()

    def say(text: str) -> None:
        order.append(text)
        waits.set()

    def second() -> None:
        with sole_writer(root, wait=True, say=say):
            order.append("second")

    with sole_writer(root, wait=True, say=silent):
        thread = threading.Thread(target=second)
        thread.start()
        assert waits.wait(10)
        order.append("first")
    thread.join(10)
    assert order[0].startswith(f"another run (process {os.getpid()}, since 20")
    assert order[0].endswith(" UTC) is writing to this warehouse; waiting")
    assert order[1:] == ["first", "second"]


def test_without_waiting_it_is_one_sentence(tmp_path: Path) -> None:
    root = str(tmp_path / "warehouse")
    with (
        sole_writer(root, wait=True, say=silent),
        pytest.raises(
            Failed, match=rf"^Another run \(process {os.getpid()}, since .* UTC\) is writing to .*warehouse; "
        ),
        sole_writer(root, wait=False, say=silent),
    ):
        pytest.fail("two held it")
    with sole_writer(root, wait=False, say=silent):
        pass  # the first is done


def test_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    root = str(tmp_path / "warehouse")
    with subprocess.Popen([sys.executable, "-c", HOLDER, root], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with (
            pytest.raises(Failed, match=rf"process {holder.pid}, since"),
            sole_writer(root, wait=False, say=silent),
        ):
            pytest.fail("two held it")
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    with sole_writer(root, wait=False, say=silent):
        pass


def test_only_a_folder_with_something_in_it_stays(tmp_path: Path) -> None:
    root = tmp_path / "new" / "warehouse"
    with sole_writer(str(root), wait=True, say=silent):
        assert (root / NAME).exists()
    assert list(tmp_path.iterdir()) == []
    root.mkdir(parents=True)
    with sole_writer(str(root), wait=True, say=silent):
        pass
    assert list(root.iterdir()) == []  # it was there before
    with sole_writer(str(root), wait=True, say=silent):
        (root / "events").mkdir()
    assert sorted(path.name for path in root.iterdir()) == [NAME, "events"]


def test_never_two_even_where_the_folder_comes_and_goes(tmp_path: Path) -> None:
    """Each holder leaves an empty folder, so lock file and folder are removed under those who wait."""
    root = str(tmp_path / "new" / "warehouse")
    inside: list[int] = []
    most: list[int] = []

    def enter(number: int) -> None:
        for _ in range(40):
            with sole_writer(root, wait=True, say=lambda _: None):
                inside.append(number)
                most.append(len(inside))
                inside.remove(number)

    threads = [threading.Thread(target=enter, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (len(most), set(most)) == (240, {1})
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_what_is_no_folder_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    for name in ("file", "link"):
        with pytest.raises(OSError, match=name), sole_writer(str(tmp_path / name), wait=True, say=silent):
            pytest.fail("it is no folder")


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is in its way, and yet: automounted places and /proc answer so. It is not tried for ever."""

    def refused(path: str, **_: object) -> None:
        raise FileNotFoundError(2, "No such file or directory", path)

    monkeypatch.setattr(os, "makedirs", refused)
    with (
        pytest.raises(BadInput, match=r"The warehouse cannot be made: .*/auto/w \(No such file or directory\)"),
        sole_writer(str(tmp_path / "auto" / "w"), wait=True, say=print),
    ):
        pass


def test_object_stores_have_no_locks() -> None:
    with sole_writer("s3a://bucket/w", wait=False, say=silent), sole_writer("s3a://bucket/w", wait=False, say=silent):
        pass
