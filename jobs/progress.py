"""How far a long step has come, on a terminal: one line below what is printed, gone when the step is done.

Nothing is shown where standard error is no terminal, or one that cannot clear a line (TERM=dumb). A thread looks a few
times a second at how much is done. The library that draws is imported when a step has taken a while, so that short
commands never pay for it.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, RLock, Thread
from typing import TYPE_CHECKING, Any, TextIO

from jobs.exits import print_error

if TYPE_CHECKING:
    from tqdm import tqdm

SHOWN_AFTER = 1.0
"""Seconds after which a step's line appears."""
EVERY = 0.2
"""Seconds between two looks."""
Count = Callable[[], "int | None"]
"""How much of a step is done; None: not known yet."""


@dataclass
class RunningStep:
    """A step that is under way."""

    name: str
    total: int | None = None
    """How much there is to do; None: unknown."""
    unit: str = ""
    """`B`, `tables`, `rows`, `%`."""
    done: Count | None = None
    began: float = field(default_factory=time.monotonic)


class Progress:
    """Shows the innermost step that is under way."""

    def __init__(self, terminal: TextIO | None = None, shown_after: float = SHOWN_AFTER) -> None:
        """`terminal` None: nothing is shown."""
        self._terminal = terminal
        self._shown_after = shown_after
        self._steps: list[RunningStep] = []
        self._shown: tuple[RunningStep, tqdm[Any]] | None = None
        self._lock = RLock()
        self._ended = Event()
        self._thread: Thread | None = None

    @property
    def is_shown(self) -> bool:
        """Whether there is a terminal to show anything on."""
        return self._terminal is not None

    def close(self) -> None:
        """Clear the line for good; what is said from now on is only printed."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        with self._lock:
            self._clear()
            self._terminal = None

    def say(self, text: str) -> None:
        """Print a line on standard error, above the step's."""
        with self._lock:
            if self._shown is not None:
                self._shown[1].clear()
            print_error(text)

    @contextmanager
    def step(
        self, name: str, total: int | None = None, unit: str = "", done: Count | None = None, *, says: bool = False
    ) -> Iterator[None]:
        """A step that is under way within. `says`: where nothing is shown its name is printed instead."""
        if not self.is_shown:
            if says:
                self.say(f"{name} ...")
            yield
            return
        step = RunningStep(name, total, unit, done)
        with self._lock:
            self._steps.append(step)
            if self._thread is None and not self._ended.is_set():
                self._thread = Thread(target=self._watch, name="progress", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._steps.remove(step)
                if self._shown is not None and self._shown[0] is step:
                    self._clear()

    # ---- the line ----------------------------------------------------------------------------------------------------
    def _watch(self) -> None:
        while not self._ended.wait(EVERY):
            with self._lock:
                if self._steps:
                    try:
                        self._show(self._steps[-1])
                    except Exception:  # no terminal any more, or no library: what is done goes on without
                        self._shown = None
                        return

    def _show(self, step: RunningStep) -> None:
        """Draw the line of a step, or draw it anew."""
        done = step.done() if step.done is not None else None
        if done is not None and step.total is not None:
            done = min(done, step.total)
        if self._shown is None or self._shown[0] is not step:
            if time.monotonic() - step.began < self._shown_after:
                return
            from tqdm import tqdm

            self._clear()
            line: tqdm[Any] = tqdm(
                desc=step.name,
                total=step.total,
                initial=done or 0,
                unit_scale=step.unit == "B",
                bar_format=_form(step),
                leave=False,
                dynamic_ncols=_has_size(self._terminal),
                ncols=80,
                nrows=24,
                file=self._terminal,
            )
            line.start_t -= time.monotonic() - step.began
            self._shown = step, line
        line = self._shown[1]
        line.n = line.n if done is None else done
        line.refresh()

    def _clear(self) -> None:
        if self._shown is not None:
            with suppress(OSError, ValueError):
                self._shown[1].close()
            self._shown = None


def _form(step: RunningStep) -> str:
    """The line of a step, as tqdm puts it together."""
    begin = "{desc}: " if step.done is not None else "{desc} "
    if step.done is None:
        return begin + "{elapsed}"
    unit = {"B": "B", "%": "%"}.get(step.unit, f" {step.unit}")
    if step.unit == "%":
        return begin + "{n_fmt}% |{bar:20}| {elapsed}"
    if step.total is None:
        return begin + "{n_fmt}" + unit + ", {elapsed}"
    return begin + "{n_fmt} of {total_fmt}" + unit + " |{bar:20}| {elapsed}"


SILENT = Progress()
"""Shows nothing."""


@contextmanager
def on_terminal() -> Iterator[Progress]:
    """Progress on standard error, if that is a terminal; the line is gone at the end, whatever happens."""
    with ExitStack() as stack:
        terminal = None
        if sys.stderr is not None and os.environ.get("TERM", "dumb") != "dumb" and _is_terminal(sys.stderr):
            # Spark's start puts a file in the place of standard error
            copy = os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8", errors="backslashreplace")
            terminal = stack.enter_context(copy)
        progress = Progress(terminal)
        stack.callback(progress.close)
        yield progress


def _has_size(stream: TextIO | None) -> bool:
    """Whether a terminal knows how large it is; some, such as a container's, have 0 lines."""
    try:
        return stream is not None and min(os.get_terminal_size(stream.fileno())) > 0
    except (OSError, ValueError):
        return False


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty() and stream.fileno() >= 0
    except (OSError, ValueError):  # closed, or not a file's
        return False
