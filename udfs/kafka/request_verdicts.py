"""Requests of ZooKeeper controllers about one incarnation of a partition: whether what was decided was sent, whether
what was received had been decided, and whether brokers obeyed what they had to. Plain functions over rows as dicts.

A row is a line about a request, see `RequestLine`; those of one incarnation are in order of time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from operator import itemgetter
from typing import Any

from schemas.kafka_values import LEADER_DURING_DELETE, NO_LEADER
from udfs.kafka.cluster_invariants import check_received
from udfs.kafka.decision_releases import releases_of
from udfs.kafka.judgements import HOLDS, UNKNOWN, VIOLATED, Finding
from udfs.kafka.releases import Release
from udfs.kafka.request_handling import leader_and_isr, stop_replica
from udfs.kafka.stored_state import StoredState
from udfs.kafka.verdicts import Verdict, verdict_of

Line = Mapping[str, Any]
"""Columns: `event_type`, `at` (microseconds), `node_id`, `file_id`, `line`; null where the line does not print it:
`controller_id`, `controller_epoch`, `correlation_id`, `leader`, `leader_epoch`, `replicas`, `isr`, `to_state`,
`from_state`, `current_leader_epoch`, `target_broker`, `deletes`. `life` counts the starts of the node's process before,
`log_since` is when the log began, without a hole, in which they stand, null if it is not there; `registered_at` is the
last registration of the broker that writes it that may have been before, `node_release` is what that process printed as
its version; all null unknown."""

DECIDED, SENT, RECEIVED = "partition_state_change", "leader_and_isr_request_sent", "leader_and_isr_request_received"
METADATA_SENT = "update_metadata_request_sent"
OBEYED = ("become_leader_started", "become_follower_started")
LEADS = "become_leader_completed"
STALE, SAME = "leader_and_isr_stale_leader_epoch", "leader_and_isr_same_leader_epoch"
STOP_STALE, STOP_SAME = "stop_replica_stale_leader_epoch", "stop_replica_same_leader_epoch"
STOP_FAILED_DIR = "stop_replica_offline_log_dir"
STOPPED, DELETED = "stop_replica_started", "replica_deletion_scheduled"
FAILED = (
    "become_follower_leader_unavailable", "become_follower_failed", "become_follower_failed_storage",
    "become_leader_failed", "become_leader_failed_storage",
)  # fmt: skip
"""A broker could not do what it began to: it may not have taken over the leader epoch."""
_BROKER_LINES = (RECEIVED, *OBEYED, *FAILED, STALE, SAME, STOP_STALE, STOP_SAME, STOP_FAILED_DIR, STOPPED, DELETED)
LINES = (DECIDED, SENT, METADATA_SENT, LEADS, *_BROKER_LINES)
"""Events that are such lines."""
SENT_BY_NOW_US = 10_000_000
"""A controller that works on for so long after a decision has sent its requests."""


@dataclass(frozen=True)
class JudgedRequest:
    """A verdict, what it is about within the partition, and the lines that it rests on, the decision's first."""

    verdict: Verdict
    about: str
    lines: tuple[Line, ...]


def judge_requests(
    lines: Sequence[Line], of_cluster: Sequence[Release], *, migrates: bool = False
) -> Iterator[JudgedRequest]:
    """The rules `request_follows`, `received_state_was_stored` and `request_acceptance`, over one incarnation.

    A broker is judged by the release of its process; where that is unknown by each `of_cluster`, which the cluster may
    have run. `migrates`: a KRaft controller may have sent some of the requests, while it took over from ZooKeeper
    (3.4-3.9).
    """
    yield from _following(lines)
    yield from _received_states(lines)
    by_broker: dict[int, list[Line]] = {}
    for line in lines:
        if line["event_type"] in _BROKER_LINES and line["node_id"] is not None:
            by_broker.setdefault(line["node_id"], []).append(line)
    for broker in sorted(by_broker):
        yield from _accepted(by_broker[broker], of_cluster, broker, migrates=migrates)


def _judged(rule: str, verdict: str, expected: str, actual: str, about: str, lines: Sequence[Line]) -> JudgedRequest:
    """A verdict without missing inputs."""
    return JudgedRequest(verdict_of(Finding(rule, verdict, 0, expected, actual)), about, tuple(lines))


# ---- what was decided is sent -----------------------------------------------------------------------------------
def _following(lines: Sequence[Line]) -> Iterator[JudgedRequest]:
    """The leader that a controller elected is sent LeaderAndIsr, as its own line or that of the leader shows.

    Nothing is judged where the controller does not print its requests: it is known to if it printed another one about
    that leader epoch, or any about the partition before. Unless it sent others, it must have lived on for a while.
    """
    sent: dict[tuple[int, int, int], list[Line]] = {}
    for line in lines:
        if line["event_type"] in (SENT, METADATA_SENT) and None not in (key := _term(line)):
            sent.setdefault(key, []).append(line)  # type: ignore[arg-type]
    received = {_term(line): line for line in reversed(lines) if line["event_type"] == RECEIVED}
    epochs = {_request_at(line): line["leader_epoch"] for line in lines if line["event_type"] == RECEIVED}
    times = [line["at"] for line in lines]
    by_controller = _lines_by_controller(lines)
    for line in lines:
        is_election = line["event_type"] == DECIDED and line["to_state"] == "OnlinePartition"
        if not is_election or None in (key := _term(line)) or line["leader"] in (None, NO_LEADER):
            continue
        of_epoch = [request for request in sent.get(key, ()) if request["at"] >= line["at"]]  # type: ignore[arg-type]
        to_leader = [r for r in of_epoch if r["event_type"] == SENT and r["target_broker"] == line["leader"]]
        if not to_leader:
            at_leader = received.get((line["leader"], *key[1:])) or _obeyed_soon(line, lines, times, epochs)
            to_leader = [] if at_leader is None else [at_leader]
        controller = by_controller[_controller(line)]
        about = f"leader epoch {line['leader_epoch']}, controller epoch {line['controller_epoch']}"
        expected = f"LeaderAndIsr of leader epoch {line['leader_epoch']} to broker {line['leader']}"
        if to_leader:
            actual = f"sent to broker {line['leader']}"
            yield _judged("request_follows", HOLDS, expected, actual, about, [line, to_leader[0]])
        elif controller.prints_requests(line) and (proof := of_epoch[-1:] or controller.later_sign(line)):
            others = sorted({r["target_broker"] for r in of_epoch if r["event_type"] == SENT} - {None})
            actual = f"sent to {others or 'nobody'}"
            yield _judged("request_follows", VIOLATED, expected, actual, about, [line, *proof])
        elif controller.sent:
            finding = Finding("request_follows", UNKNOWN, 0, expected, "", ("requests of the controller",))
            yield JudgedRequest(verdict_of(finding), about, (line,))


def _term(line: Line) -> tuple[int | None, int | None, int | None]:
    """Who logs it, in which term of a controller, and the leader epoch."""
    return line["node_id"], line["controller_epoch"], line["leader_epoch"]


def _obeyed_soon(
    decision: Line, lines: Sequence[Line], times: Sequence[int], received: Mapping[tuple[Any, ...], int | None]
) -> Line | None:
    """The first line by which the elected leader obeys a request of the controller's term, before the controller
    decides anything else and SENT_BY_NOW_US are over; None: there is none. `times` are those of the lines, `received`
    the leader epochs of requests whose line is there: one of another leader epoch tells nothing."""
    for line in islice(lines, bisect_left(times, decision["at"]), None):
        is_next = line["event_type"] == DECIDED and line["at"] > decision["at"]
        if is_next or line["at"] > decision["at"] + SENT_BY_NOW_US:
            return None
        is_own = line["event_type"] in (LEADS, *OBEYED) and line["node_id"] == decision["leader"]
        is_other = received.get(_request_at(line), decision["leader_epoch"]) != decision["leader_epoch"]
        if is_own and not is_other and line["controller_epoch"] == decision["controller_epoch"]:
            return line
    return None


def _request_at(line: Line) -> tuple[Any, ...]:
    """What names a request in the lines of all brokers."""
    return line["node_id"], *_request(line)


@dataclass
class _ControllerLines:
    """Lines of one controller in one term, in order of time, and among them those on LeaderAndIsr."""

    all: list[Line] = field(default_factory=list)
    sent: list[Line] = field(default_factory=list)

    def prints_requests(self, decision: Line) -> bool:
        """Whether it is seen to print its LeaderAndIsr requests before and after a decision."""
        return bool(self.sent) and self.sent[0]["at"] < decision["at"] < self.sent[-1]["at"]

    def later_sign(self, decision: Line) -> list[Line]:
        """A line of the same file that shows that it was still at work well after a decision; none: it may have died,
        or the file with its requests is missing."""
        late = bisect_left(self.all, decision["at"] + SENT_BY_NOW_US, key=itemgetter("at"))
        later = (line for line in islice(self.all, late, None) if line["file_id"] == decision["file_id"])
        return list(islice(later, 1))


def _controller(line: Line) -> tuple[int | None, int | None]:
    """Which controller logs a line, and its term."""
    return line["node_id"], line["controller_epoch"]


def _lines_by_controller(lines: Sequence[Line]) -> dict[tuple[int | None, int | None], _ControllerLines]:
    """The lines that controllers log, by controller and term."""
    by_controller: dict[tuple[int | None, int | None], _ControllerLines] = {}
    for line in lines:
        if line["event_type"] in (DECIDED, SENT, METADATA_SENT):
            own = by_controller.setdefault(_controller(line), _ControllerLines())
            own.all.append(line)
            if line["event_type"] == SENT:
                own.sent.append(line)
    return by_controller


# ---- what is received was decided -------------------------------------------------------------------------------
def _received_states(lines: Sequence[Line]) -> Iterator[JudgedRequest]:
    """Each leader that brokers received with a leader epoch is one that a controller decided or sent."""
    decided: dict[int, dict[int, Line]] = {}
    received: dict[int, dict[int, Line]] = {}
    for line in lines:
        epoch, leader = line["leader_epoch"], line["leader"]
        if epoch is None or leader in (None, LEADER_DURING_DELETE):
            continue
        is_decision = line["event_type"] == DECIDED and line["to_state"] == "OnlinePartition"
        if is_decision or line["event_type"] == SENT:
            decided.setdefault(epoch, {}).setdefault(leader, line)
        elif line["event_type"] == RECEIVED:
            received.setdefault(epoch, {}).setdefault(leader, line)
    for epoch in sorted(received.keys() & decided.keys()):
        leaders = list(received[epoch])
        stored = [StoredState(leader, epoch, ()) for leader in decided[epoch]]
        findings = check_received(stored, [StoredState(leader, epoch, ()) for leader in leaders])
        wrong = [leaders[finding.at] for finding in findings if finding.verdict == VIOLATED]
        shown = wrong or leaders
        yield _judged(
            "received_state_was_stored",
            VIOLATED if wrong else HOLDS,
            f"leader {' or '.join(map(str, sorted(decided[epoch])))} at leader epoch {epoch}",
            f"leader {' and '.join(map(str, sorted(shown)))} at leader epoch {epoch}",
            f"leader epoch {epoch} as received",
            [*(received[epoch][leader] for leader in shown), *decided[epoch].values()],
        )


# ---- brokers obey what they have to -----------------------------------------------------------------------------
@dataclass
class _Known:
    """What one life of a broker knows of a partition, as far as lines tell; None: nothing is known."""

    life: tuple[Any, ...]
    controller_epoch: int = 0
    leader_epoch: int | None = None
    shown_by: Line | None = None


@dataclass
class _Judged:
    """Requests of one broker by controller epoch: the right lines, the wrong ones with what was expected, what happened
    and the line that made it so, and those that are right in one release and wrong in another."""

    right: dict[int | None, list[Line]] = field(default_factory=dict)
    wrong: dict[int | None, list[tuple[str, str, Line, Line]]] = field(default_factory=dict)
    doubtful: dict[int | None, list[tuple[str, Line]]] = field(default_factory=dict)

    def add(self, line: Line, accused: Sequence[tuple[str, str] | None], before: Line) -> None:
        """A line, and what each release that the broker may be of expects and says to have happened; None: right."""
        epoch, wrong = line["controller_epoch"], [accusation for accusation in accused if accusation is not None]
        if not wrong:
            self.right.setdefault(epoch, []).append(line)
        elif len(wrong) < len(accused):
            self.doubtful.setdefault(epoch, []).append((wrong[0][0], line))
        else:
            self.wrong.setdefault(epoch, []).append((*wrong[0], line, before))


def _accepted(
    lines: Sequence[Line], of_cluster: Sequence[Release], broker: int, *, migrates: bool
) -> Iterator[JudgedRequest]:
    """By broker and controller epoch whether requests were applied and ignored as `leader_and_isr` demands.

    What a broker knows begins anew with its process, and with a registration: one of either sort may not be logged.
    Before the first start of a process that is logged, its log of those may be missing: there only the requests of one
    connection, whose ids rise, are surely of one process. Where that log is not there (`log_since`), only one request
    is: until 0.8 a controller's ids rise over its connections, and later a short one may end before the next begins.
    """
    last: Line | None = None
    connection = 0
    requests: dict[tuple[Any, ...], Line] = {}
    judged = _Judged()
    known: _Known | None = None
    for line in lines:
        kind = line["event_type"]
        if line["correlation_id"] is not None and line["controller_epoch"] is not None:
            connection += last is not None and not _is_same_process(last, line)
            last = line
        is_start_logged = line["life"] and line["log_since"] is not None
        life = (line["life"], line["log_since"], line["registered_at"], None if is_start_logged else connection)
        if known is None or known.life != life or kind == DELETED or (kind == STOPPED and line["deletes"]):
            known = _Known(life)
        if kind in (STALE, SAME, STOP_STALE, STOP_SAME) and line["leader_epoch"] is not None:
            current = line["leader_epoch"] if kind in (SAME, STOP_SAME) else line["current_leader_epoch"]
            if current is not None:
                judged.add(line, [_ignored(line, current, release) for release in _releases(line, of_cluster)], line)
        if kind == STOP_FAILED_DIR and line["controller_epoch"] is not None:
            unobeyed = [_not_stopped(known, line, release) for release in _releases(line, of_cluster)]
            judged.add(line, unobeyed, known.shown_by or line)
        if kind in FAILED:
            known.leader_epoch = None
        if kind == RECEIVED:
            requests[_request(line)] = line
        if kind not in OBEYED or line["controller_epoch"] is None:
            continue
        request = requests.get(_request(line))
        epoch = None if request is None else request["leader_epoch"]
        accused = [_disobeyed(known, line, epoch, r, migrates=migrates) for r in _releases(line, of_cluster)]
        if any(accused) or (known.shown_by is not None and epoch is not None):
            judged.add(line, accused, known.shown_by or line)
        if known.controller_epoch <= line["controller_epoch"]:
            known.controller_epoch, known.shown_by = line["controller_epoch"], line
        if request is not None and request["leader"] == NO_LEADER:
            # a follower without a leader creates its log and keeps its leader epoch (ReplicaManager.makeFollowers)
            known.leader_epoch = None
        elif epoch is not None and (known.leader_epoch is None or epoch > known.leader_epoch):
            known.leader_epoch = epoch
    yield from _by_controller(judged, broker)


def _by_controller(judged: _Judged, broker: int) -> Iterator[JudgedRequest]:
    """One verdict for the requests of each controller epoch."""
    rule, right, wrong, doubtful = "request_acceptance", judged.right, judged.wrong, judged.doubtful
    for epoch in sorted(right.keys() | wrong.keys() | doubtful.keys(), key=lambda e: -1 if e is None else e):
        about = f"broker {broker}, controller epoch {epoch}"
        if epoch in wrong:
            expected, actual, line, before = wrong[epoch][0]
            yield _judged(rule, VIOLATED, expected, actual, about, [line] if line is before else [line, before])
        elif epoch in doubtful:
            expected, line = doubtful[epoch][0]
            finding = Finding(rule, UNKNOWN, 0, expected, "", ("kafka_release",))
            yield JudgedRequest(verdict_of(finding), about, (line,))
        else:
            count = len(right[epoch])
            actual = f"{count} request{'s' if count > 1 else ''} applied or ignored by that"
            yield _judged(rule, HOLDS, "newer leader epochs applied, others ignored", actual, about, right[epoch][:2])


def _releases(line: Line, of_cluster: Sequence[Release]) -> Sequence[Release]:
    """The releases that the broker may have run as it wrote a line."""
    return releases_of([line.get("node_release")], of_cluster)


def _is_same_process(earlier: Line, later: Line) -> bool:
    """Whether one process surely received two requests, no start of which is logged: a controller's ids do not fall on
    one connection; where starts would not be logged, they are one request."""
    terms = [(line["controller_id"], line["controller_epoch"]) for line in (earlier, later)]
    kinds = earlier["event_type"], later["event_type"]
    is_begin = kinds[1] == RECEIVED or (kinds[0] in OBEYED and kinds[1] in OBEYED)
    is_one = later["log_since"] is None and earlier["correlation_id"] == later["correlation_id"] and not is_begin
    is_same_connection = later["log_since"] is not None and earlier["correlation_id"] <= later["correlation_id"]
    return terms[0] == terms[1] and bool(is_one or is_same_connection)


def _request(line: Line) -> tuple[Any, ...]:
    """What names a request in a broker's lines."""
    return line["controller_id"], line["controller_epoch"], line["correlation_id"], line["life"], line["registered_at"]


def _ignored(line: Line, current: int, release: Release) -> tuple[str, str] | None:
    """What was expected and what happened, if a broker ignored a request for its leader epoch that it had to apply."""
    of_request = {
        "known_controller_epoch": 0,
        "request_controller_epoch": 0,
        "current_leader_epoch": current,
        "request_leader_epoch": line["leader_epoch"],
    }
    is_stop = line["event_type"] in (STOP_STALE, STOP_SAME)
    handle = stop_replica if is_stop else partial(leader_and_isr, in_replicas=True)
    if not handle(release, **of_request).applied:
        return None
    name = "StopReplica" if is_stop else "LeaderAndIsr"
    return f"{name} of leader epoch {line['leader_epoch']} applied at leader epoch {current}", "ignored"


def _not_stopped(known: _Known, line: Line, release: Release) -> tuple[str, str] | None:
    """What was expected and what happened, if a broker ignored a StopReplica for a failed log directory that it had to
    apply, or to refuse for its controller epoch."""
    answer = stop_replica(
        release,
        known_controller_epoch=known.controller_epoch,
        request_controller_epoch=line["controller_epoch"],
        current_leader_epoch=-1,
        request_leader_epoch=None,
        directory_failed=True,
        deletes=line["deletes"] is not False,
    )
    if answer.applied:
        return "StopReplica applied", "ignored for a failed log directory"
    if answer.scope == "request":
        expected = f"requests of controllers before epoch {known.controller_epoch} refused"
        return expected, f"one of {line['controller_epoch']} taken, and ignored for a failed log directory"
    return None


def _disobeyed(
    known: _Known, line: Line, epoch: int | None, release: Release, *, migrates: bool
) -> tuple[str, str] | None:
    """What was expected and what happened, if a broker applied a request that it had to refuse or ignore."""
    if known.shown_by is None:
        return None
    lower = epoch if epoch is not None else (known.leader_epoch or 0) + 1
    answer = leader_and_isr(
        release,
        known_controller_epoch=known.controller_epoch,
        request_controller_epoch=line["controller_epoch"],
        current_leader_epoch=-1 if known.leader_epoch is None else known.leader_epoch,
        request_leader_epoch=lower,
        in_replicas=True,
        from_migrating_kraft=migrates,
    )
    if answer.applied:
        return None
    if answer.scope == "request":
        newest = known.controller_epoch
        return f"requests of controllers before epoch {newest} refused", f"one of {line['controller_epoch']} applied"
    return f"leader epochs above {known.leader_epoch} applied only", f"leader epoch {epoch} applied"
