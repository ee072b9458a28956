"""The title of an incident: what happened to whom, and what it cost, in one line."""

from __future__ import annotations

from udfs.incidents.node_stops import BOUNCED, CRASHED, START_FAILED
from udfs.incidents.storms import storm_text
from udfs.incidents.symptoms import Fact, Symptoms
from udfs.incidents.wording import bounds_text, count_text, length_text

_TITLES = {
    "broker_crash": "{name} crashed",
    "controller_crash": "{name} crashed",
    "controlled_shutdown": "{name} was shut down",
    "controller_shutdown": "{name} was shut down",
    "broker_halted": "{name} halted",
    "start_failed": "{name} failed to start",
    "log_dir_failure": "{name} halted as its log directory failed",
    "session_expired": "{name} lost its session",
    "fenced": "{name} was fenced",
    BOUNCED: "{name} registered anew",
    "unclean_election": "unclean election",
    "reassignment_stuck": "a reassignment is stuck",
}


def name_of(fact: Fact) -> str:
    """`broker 3`, `controller 101`."""
    return f"{fact['role'] or 'broker'} {fact['node']}"


def what_happened(cause: str, name: str) -> str:
    """A cause of incidents as a clause about a node of some name: `broker 3 crashed`."""
    return _TITLES.get(cause, cause).format(name=name)


def title_of(symptoms: Symptoms, cause: str | None, since: int) -> str:
    """`Broker 3 crashed: 12 partitions without a leader, for up to 15.6 s`."""
    stop = symptoms.stop
    if symptoms.deletion is not None:
        title = f"topic {symptoms.deletion['topic']} waited for its deletion"
    elif symptoms.storm is not None:
        title = storm_text(symptoms.storm)
    elif symptoms.log_dirs and stop is None:
        title = f"a log directory of broker {symptoms.log_dirs[0]['node']} failed"
    elif cause is None:
        title = "partitions lost their leaders"
    elif cause == "controller_changed":
        title = _change_of(symptoms)
    else:
        title = what_happened(cause, name_of(stop) if stop is not None else "")
    if stop is not None and cause != BOUNCED:
        title += f"{_restarts_of(stop)}, {_return_of(stop, since)}"
    if symptoms.partitions:
        most = symptoms.outages.most_ms
        length, is_exact = bounds_text(symptoms.longest_ms, most), symptoms.longest_ms == most
        reach = "still" if symptoms.open_outages else f"for {'up to ' if is_exact else ''}{length}"
        title += f"; {count_text(len(symptoms.partitions), 'partition')} without a leader {reach}"
    if symptoms.unclean:
        title += f"; {count_text(len(symptoms.unclean), 'unclean election')}"
    return title[0].upper() + title[1:]


def _restarts_of(stop: Fact) -> str:
    """How often it could not start, or started, if once was not enough."""
    times = stop["failed_starts"]
    if times and stop["how"] == START_FAILED:
        return f" {times:,} times" if times > 1 else ""
    if times:
        return f", failed to start {'once' if times == 1 else f'{times:,} times'}"
    return f", started {stop['restarts'] + 1:,} times" if stop["restarts"] else ""


def _return_of(stop: Fact, since: int) -> str:
    """That the node was back, or not: a stop that another one followed is over then."""
    if stop["until"] is not None:
        return f"back after {away_text(stop, since)}"
    return "not back when the logs end" if stop["followed_at"] is None else "not back before it stopped"


def _change_of(symptoms: Symptoms) -> str:
    """That another controller took over; how often, where it went on changing."""
    first, last = symptoms.terms[0], symptoms.terms[-1]
    if len(symptoms.terms) > 1:
        title = f"the controller changed {len(symptoms.terms):,} times in a row"
        return f"{title}, from node {first['node']} to {last['other']}" if last["other"] is not None else title
    if first["other"] is None:
        return f"node {first['node']} was no longer controller"
    if first["other"] == first["node"]:
        return f"node {first['node']} resigned as controller and was elected anew"
    return f"the controller changed from node {first['node']} to {first['other']}"


def away_text(stop: Fact, since: int) -> str:
    """How long a node was away: `13.0 s`; `at least 2.0 s, at most 17.4 s` for a crash that only the next start shows.

    Such a node had gone at some time after its last line. One whose return alone shows that it had lost its session was
    away for an unknown time.
    """
    least_ms = (stop["until"] - since) / 1000
    if stop["how"] != CRASHED or stop["began_after"] is None or since < (stop["started_at"] or since):
        return length_text(least_ms) if least_ms else bounds_text(0, None)
    return bounds_text(least_ms, (stop["until"] - stop["began_after"]) / 1000)
