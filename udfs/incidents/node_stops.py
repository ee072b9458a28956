"""How a broker or controller went away and came back: shut down, crashed, halted, or only cut off.

A controller sees sessions end, and cannot know why. What the process itself logged can tell: a start with nothing of a
stop before it is a crash; a process that goes on logging after its session ended was frozen or cut off.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any

Row = Mapping[str, Any]

START, STARTED, START_FAILED = "start", "started", "start_failed"
STOP, HALT, HALT_LOG_DIR = "stop", "halt", "halt_log_dir"
CLEAN, UNCLEAN, ALIVE, GONE, BACK = "clean", "unclean", "alive", "gone", "back"
LIFE_SIGNS: Mapping[str, str] = {
    "raft_log_snapshots_initialized": START,
    "raft_thread_starting": START,
    "broker_starting": START,
    "controller_server_starting": START,
    "broker_started": STARTED,
    "kraft_server_started": STARTED,
    "server_start_failed": START_FAILED,
    "process_signalled": STOP,
    "broker_stopping": STOP,
    "controller_server_stopping": STOP,
    "controlled_shutdown_requested": STOP,
    "process_halting": HALT_LOG_DIR,
    "leader_and_isr_disk_error": HALT_LOG_DIR,
    "high_watermark_checkpoint_failed": HALT_LOG_DIR,
    "process_exiting": HALT,
    "kraft_fatal_fault": HALT,
    "log_dir_failure_broker_halt": HALT_LOG_DIR,
    "clean_shutdown_found": CLEAN,
    "unclean_shutdown_found": UNCLEAN,
    "zk_session_timed_out": ALIVE,
    "zk_session_expired": ALIVE,
    "broker_heartbeat_failed": ALIVE,
}
"""What a line of a process says about its life, by event type. Raft's lines are a KRaft process's first."""
DISK_HALTS = ("high_watermark_checkpoint_failed", "leader_and_isr_disk_error", "process_halting")
"""By what a process says that a disk failed it, and halts: before 1.0, from which on it goes on without the directory
(KIP-112), and names that in the first of these."""
SHUTDOWN_GRANTED: Mapping[str, str] = {
    "controlled_shutdown_started": STOP,
    "kraft_broker_controlled_shutdown_granted": STOP,
}
"""The same of lines that a controller logs about a broker."""

_OF_ANY_PROCESS = frozenset(
    (
        "raft_log_snapshots_initialized", "raft_thread_starting", "kraft_server_started", "process_signalled",
        "process_exiting", "controller_server_starting", "controller_server_stopping", "process_halting",
        "server_start_failed",
        "kraft_fatal_fault", "zk_session_timed_out", "zk_session_expired",
    )
)  # fmt: skip
"""Lines that do not show that a node is a broker; controllers of a migration have sessions with ZooKeeper, too."""

CRASHED, SHUT_DOWN, HALTED, LOG_DIR_FAILED, CUT_OFF = "crashed", "shut_down", "halted", "log_dir_failed", "cut_off"
"""How a node went: without a word; by a signal or request; by its own decision after an error; because of its log
directories; or its session ended while the process lived on; or it did not come up (START_FAILED). None: only its
session is known to have ended."""

LIVED_ON = "lived_on"
"""Of a controller's term that ended: its process did not."""

BOUNCED = "bounced"
"""How a ZooKeeper controller saw a registration end that another one followed: what logs on may be a new process."""
LOGGED_ONCE = frozenset(
    ("raft_log_snapshots_initialized", "controller_server_starting", "broker_starting", "broker_status_changed")
)
"""Lines of a start that a process logs once: with the second one another process has started."""
LEAVING_US = 300_000_000
"""So long a broker may take to shut down, in microseconds."""
SLACK_US = 2_000_000
"""Microseconds by which lines of two nodes about one thing may be apart."""
BROKER_STARTING = "broker_starting"
"""The first line of a process that uses ZooKeeper."""
STARTING_US = 300_000_000
"""So long such a process may take until it starts Raft, in microseconds."""
MOST_EVIDENCE = 6


@dataclass
class NodeStop:
    """One time that a node went away. Times are microseconds since 1970, UTC; None is unknown, or not yet."""

    cluster: str
    node_id: int
    role: str
    """`broker` or `controller` (KRaft)."""
    since: int
    """When it surely had begun: the first line of a shutdown, the controller's notice, or the next start."""
    began_after: int | None = None
    """The process's last line before: then it was still there."""
    how: str | None = None
    error: str | None = None
    """What it halted of, in its own words."""
    ended_by: str | None = None
    """How the controller saw the registration end, as in BROKER_TIMELINE."""
    noticed_at: int | None = None
    """When the controller noticed."""
    started_at: int | None = None
    """When a new process started."""
    restarts: int = 0
    """How many more processes started before it was back: those before had stopped again."""
    last_restart: dict[str, Any] | None = None
    """The first line of the last of these: `at, node_id, file_id, line`."""
    failed_starts: int = 0
    """How many processes logged that they could not start."""
    failed_start: dict[str, Any] | None = None
    """What the last of these logged: `at, node_id, file_id, line`, and `text`, the error, None if no line has it."""
    until: int | None = None
    """When it was registered or unfenced again, or at least ready."""
    followed_at: int | None = None
    """When its next stop began, if that was before it was back: then both end with one return."""
    evidence: list[dict[str, Any]] = field(default_factory=list)

    def prove(self, row: Row) -> None:
        """Take a line as evidence."""
        line = _line_of(row)
        if row["file_id"] is not None and line not in self.evidence and len(self.evidence) < MOST_EVIDENCE:
            self.evidence.append(line)


def _line_of(row: Row) -> dict[str, Any]:
    return {"node_id": row["line_node_id"], "file_id": row["file_id"], "line": row["line"]}


class _Node:
    """A node's life so far."""

    def __init__(self) -> None:
        self.stop: NodeStop | None = None
        self.followed: NodeStop | None = None
        """The stop before, if the node was not back in between."""
        self.is_broker = False
        self.is_starting = False
        self.first_line: tuple[str, int] | None = None
        """The event type of its process's first line that shows a start, and when that was."""
        self.first_lines: set[str] = set()
        """Event types of LOGGED_ONCE that the last process that started after the stop has logged."""
        self.failures: set[str] = set()
        """What the last process has logged of not being able to start: its server and Kafka as a whole may."""
        self.ready_at: int | None = None
        self.was_there = False
        """Whether an earlier line shows that it ran."""
        self.logged_after: int | None = None
        """Its next own line after its session had ended."""
        self.leaves_since: int | None = None
        """When its own log says that it shuts down."""
        self.has_shut_down_again = False
        """Whether the process that started after its stop shut down: what is on its disks is what that one left."""

    def read(self, row: Row) -> Iterator[NodeStop]:
        """Stops that are over with this line."""
        kind = row["kind"]
        self.is_broker |= row["event_type"] not in _OF_ANY_PROCESS
        if kind == START and self._goes_on_starting(row):
            return
        if self.ready_at is not None and kind in (STOP, GONE, HALT, HALT_LOG_DIR, START):
            yield from self._end(self.ready_at)
        match kind:
            case "start":
                self._start(row)
            case "start_failed":
                self._fail_to_start(row)
            case "stop" | "halt" | "halt_log_dir":
                self._leave(row)
            case "gone":
                self._lose(row)
            case "back":
                if self.stop is not None and not self._is_leaving(row):
                    yield from self._return(row)
                self.is_starting = False
            case "started":
                self.is_starting = False
                if self.stop is not None and self.stop.started_at is not None:
                    self.ready_at = row["at"]
            case _:
                self._learn(row)
        self.was_there = True

    def finish(self) -> Iterator[NodeStop]:
        """The stop that is left at the end of the logs."""
        if self.stop is not None:
            if self.stop.how is None and self.stop.ended_by != BOUNCED and self.logged_after is not None:
                self.stop.how = CUT_OFF
            yield from self._end(self.ready_at)

    def _goes_on_starting(self, row: Row) -> bool:
        """Whether it is a later line of a start after which the node was there already: a broker that migrates from
        ZooKeeper registers, and starts Raft behind that, in several lines. If not, a process may begin with it."""
        is_there = self.stop is None and not self.is_starting
        if is_there and self.first_line is not None and row["event_type"] != BROKER_STARTING:
            first, since = self.first_line
            if first == BROKER_STARTING and row["at"] - since <= STARTING_US:
                return True
        if is_there or (self.stop is not None and self.stop.started_at is None):
            self.first_line = row["event_type"], row["at"]
        return False

    def _is_leaving(self, row: Row) -> bool:
        """Whether it registers anew only because its session ended while it shuts down: no new process has started."""
        if self.stop is None or self.stop.started_at is not None or self.leaves_since is None:
            return False
        return bool(row["at"] - self.leaves_since <= LEAVING_US)

    def _end(self, until: int | None) -> Iterator[NodeStop]:
        for stop in (self.followed, self.stop):
            if stop is not None:
                stop.until, stop.role = until, "broker" if self.is_broker else "controller"
                yield stop
        self.followed, self.stop, self.ready_at, self.logged_after, self.leaves_since = None, None, None, None, None
        self.is_starting = self.has_shut_down_again = False

    def _follow(self, row: Row) -> None:
        """Its process lived on after its session had ended, and goes now: what comes is of its next stop."""
        stop = self.stop
        assert stop is not None
        stop.how, stop.followed_at = CUT_OFF, row["at"]
        self.followed, self.stop, self.logged_after, self.leaves_since = stop, None, None, None

    def _open(self, row: Row, how: str | None) -> NodeStop:
        self.stop = NodeStop(row["cluster"], row["node_id"], "", row["at"], row["last_before"], how)
        self.stop.prove(row)
        return self.stop

    def _start(self, row: Row) -> None:
        stop, last = self.stop, row["last_before"]
        if stop is not None and stop.started_at is not None:
            self._start_again(stop, row)
            return
        if stop is None and self.is_starting:
            return  # another line of the same start
        if stop is not None and stop.how in (None, CUT_OFF) and last is not None and last > stop.since + SLACK_US:
            self._follow(row)  # it went on logging after its session had ended, and then went without a word
            stop = None
        self.is_starting = True
        if stop is not None:
            stop.started_at = row["at"]
            stop.how = CRASHED if stop.how in (None, CUT_OFF) else stop.how
            stop.prove(row)
        elif self.was_there and last is not None:
            self._open(row, CRASHED).started_at = row["at"]
        self.first_lines = {row["event_type"]}
        self.failures.clear()

    def _fail_to_start(self, row: Row) -> None:
        """A process could not start. One that logs nothing before that has started all the same."""
        stop, failure = self.stop, f"{row['event_type']} {row['source']}"
        if stop is None:
            stop = self._open(row, START_FAILED)
        elif stop.started_at is None and stop.how in (None, CUT_OFF):
            stop.started_at, stop.how = row["at"], CRASHED
            stop.prove(row)
        if not self.failures or failure in self.failures:
            stop.failed_starts += 1
            stop.failed_start = {"at": row["at"], **_line_of(row), "text": row["text"]}
            self.failures.clear()
        self.failures.add(failure)

    def _start_again(self, stop: NodeStop, row: Row) -> None:
        """Another line of the process that started last, or the first one of the next, if that one stopped."""
        event_type = row["event_type"]
        if event_type in LOGGED_ONCE & self.first_lines:
            stop.restarts, stop.last_restart = stop.restarts + 1, {"at": row["at"], **_line_of(row)}
            self.first_lines.clear()
            self.failures.clear()
        self.first_lines.add(event_type)

    def _leave(self, row: Row) -> None:
        how = {STOP: SHUT_DOWN, HALT: HALTED, HALT_LOG_DIR: LOG_DIR_FAILED}[row["kind"]]
        stop = self.stop
        self.is_starting = False
        if stop is not None and stop.how in (None, CUT_OFF) and stop.started_at is None:
            self._follow(row)  # who shuts down lives
            stop = None
        if row["line_node_id"] == row["node_id"] and self.leaves_since is None:
            self.leaves_since = row["at"]
        if stop is None:
            stop = self._open(row, how)
        elif stop.started_at is None:
            stop.how = how if how == LOG_DIR_FAILED else stop.how
            stop.prove(row)
        else:
            self.has_shut_down_again = True
        if stop.started_at is None and stop.how == how:
            stop.error = stop.error or row["text"]

    def _lose(self, row: Row) -> None:
        stop = self.stop
        self.is_starting = False
        if stop is None:
            # who shuts down says so, if its own lines are there
            is_silent = row["last_before"] is None and row["first_after"] is None
            is_shutdown = row["ended_by"] == "controlled_shutdown" and is_silent
            stop = self._open(row, SHUT_DOWN if is_shutdown else None)
            self.logged_after = row["first_after"]
        stop.noticed_at = stop.noticed_at or row["at"]
        stop.ended_by = stop.ended_by or row["ended_by"]
        stop.prove(row)

    def _return(self, row: Row) -> Iterator[NodeStop]:
        stop = self.stop
        assert stop is not None
        stop.prove(row)
        logged_on = self.logged_after is not None and self.logged_after <= row["at"] + SLACK_US
        if stop.how is None and stop.ended_by != BOUNCED and logged_on:
            stop.how = CUT_OFF
        yield from self._end(row["at"])

    def _learn(self, row: Row) -> None:
        """Lines about the process that lived on, and what the next start finds on its disks."""
        stop, kind = self.stop, row["kind"]
        if stop is None:
            return
        if kind == ALIVE and stop.how is None and stop.started_at is None:
            stop.how = CUT_OFF
            stop.prove(row)
        elif kind == CLEAN and stop.how == CRASHED and stop.started_at is not None and not self.has_shut_down_again:
            stop.how = SHUT_DOWN
            stop.prove(row)
        elif kind == UNCLEAN and stop.how == CRASHED and stop.started_at is not None:
            stop.prove(row)


def lost_session(how: str | None, ended_by: str | None) -> str:
    """The cause that the end of a registration is if nothing else is known of it: `session_expired` or `bounced`
    (ZooKeeper), `fenced` (KRaft)."""
    if how is None and ended_by == BOUNCED:
        return BOUNCED
    return "session_expired" if ended_by in ("session_expired", BOUNCED) else "fenced"


def node_stops(signs: Iterable[Row]) -> Iterator[dict[str, Any]]:
    """The stops of all nodes, in the order of their ends, as dicts of NodeStop.

    `signs`: rows in order of cluster, node and time, with `cluster, node_id` (who they are about), `at, event_type,
    kind` (as in LIFE_SIGNS, or GONE and BACK, the controller's view, without event type), `ended_by` of GONE,
    `last_before`: the node's own last line before a START or GONE, `first_after`: its next one after a GONE; of
    START_FAILED `source`, which of a process's servers says so; of that and of a HALT `text`, the error; and the line
    itself: `line_node_id, file_id, line`.
    """
    for _, rows in groupby(signs, key=lambda row: (row["cluster"], row["node_id"])):
        node = _Node()
        for row in rows:
            for stop in node.read(row):
                yield asdict(stop)
        for stop in node.finish():
            yield asdict(stop)
