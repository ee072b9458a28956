"""How an incident began: how a node went, which directories failed, which topic was to be deleted."""

from __future__ import annotations

from udfs.incidents.node_stops import (
    BOUNCED,
    CRASHED,
    CUT_OFF,
    HALTED,
    LOG_DIR_FAILED,
    SHUT_DOWN,
    START_FAILED,
    lost_session,
)
from udfs.incidents.storms import storm_text
from udfs.incidents.symptoms import Fact, Symptoms
from udfs.incidents.telling import MOST_LISTED, Telling
from udfs.incidents.titles import name_of
from udfs.incidents.wording import at_text, count_text, names_text


def tell_root(telling: Telling, symptoms: Symptoms, cause: str | None, since: int) -> None:
    on = at_text(since)
    if symptoms.stop is not None:
        _tell_stop(telling, symptoms.stop, on, bool(symptoms.log_dirs))
    _tell_log_dirs(telling, symptoms)
    if symptoms.storm is not None:
        text = storm_text(symptoms.storm)
        telling.say(f"{text} from {on} on{telling.line(symptoms.storm)}, though its session did not end")
        telling.step(symptoms.storm["at"], text, symptoms.storm)
        if symptoms.storm["until"] is not None:
            telling.say(f"by {telling.time(symptoms.storm['until'])} those that came back were in sync again")
    if symptoms.deletion is not None:
        topic = symptoms.deletion["topic"]
        telling.say(f"topic {topic} was to be deleted from {on} on{telling.line(symptoms.deletion)}")
        telling.step(symptoms.deletion["at"], f"deletion of topic {topic} began", symptoms.deletion)
    if cause is None:
        telling.say(f"from {on} on partitions lost their leaders, and the logs do not tell why")


def _tell_stop(telling: Telling, stop: Fact, on: str, has_log_dirs: bool) -> None:
    """How a node went; the error by which one halted is told with the directory, where that is known."""
    name, how, line = name_of(stop), stop["how"], telling.line(stop)
    besides = "" if how == CRASHED else _besides(telling, stop)
    starts = f"started anew at {telling.time(stop['started_at'])}" if stop["started_at"] is not None else ""
    if how == SHUT_DOWN:
        left = f", and left the cluster at {telling.time(stop['noticed_at'])}" if stop["noticed_at"] is not None else ""
        telling.say(f"{name} was shut down at {on}{left}{line}{besides}")
        telling.step(stop["at"], f"{name} began to shut down", stop)
    elif how == CRASHED:
        _tell_crash(telling, stop, on, f"{starts} with nothing of a shutdown logged before")
    elif how in (HALTED, LOG_DIR_FAILED):
        reason = "its log directory failed" if how == LOG_DIR_FAILED else "of an error"
        error = f": {stop['error']}" if stop["error"] and not has_log_dirs else ""
        telling.say(f"{name} halted at {at_text(stop['at'])} because {reason}{line}{error}{besides}")
        telling.step(stop["at"], f"{name} halted", stop)
    elif how == START_FAILED:
        telling.say(f"{name} was not there, and failed to start at {on}{line}{besides}")
    elif lost_session(how, stop["ended_by"]) == BOUNCED:
        unknown = "its logs do not tell whether it was restarted or its session had ended"
        telling.say(f"{name} registered anew at {on}{line}: {unknown}{besides}")
        telling.step(stop["at"], f"{name} registered anew", stop)
    else:
        lived = "its process went on logging, so it was frozen or cut off" if how == CUT_OFF else ""
        unknown = "its logs do not tell whether it crashed, was frozen or cut off"
        telling.say(f"the session of {name} ended at {on}{line}: {lived or unknown}{besides}")
        telling.step(stop["at"], f"the session of {name} ended", stop)
    if starts:
        telling.step(stop["started_at"], f"{name} started anew", stop, len(stop["evidence"]) - 1)
    if stop["restarts"]:
        telling.step(stop["last_restart"]["at"], f"{name} started anew", _line_of(stop["last_restart"]))
    if stop["failed_starts"]:
        error = _error_of(stop)
        telling.step(stop["failed_start"]["at"], f"{name} failed to start{error}", _line_of(stop["failed_start"]))


def _tell_crash(telling: Telling, stop: Fact, on: str, starts: str) -> None:
    """A process that went without a word: when it was last heard of, when that was noticed, when it came anew."""
    name, noticed = name_of(stop), stop["noticed_at"]
    last = f" after {at_text(stop['began_after'])}, its last line" if stop["began_after"] is not None else f" by {on}"
    line, start = telling.line(stop), telling.line(stop, int(noticed is not None))
    besides = _besides(telling, stop)
    if noticed is None:
        telling.say(f"{name} crashed{last}, and {starts}{start}{besides}")
        return
    seen = f"a controller noticed at {telling.time(noticed)} that it was gone{line}"
    telling.say(f"{name} crashed{last}; {seen}, and it {starts}{start}{besides}")
    telling.step(noticed, f"a controller noticed that {name} was gone", stop)


def _besides(telling: Telling, stop: Fact) -> str:
    """`; it stopped before it was back, and started anew once more at 12:00:40.000 [2]`, or that it could not start,
    and because of which error the last time; and who was away already."""
    restarts, failures = stop["restarts"], stop["failed_starts"]
    if failures == 1 and stop["how"] == START_FAILED:
        return f"{_error_of(stop)}{_others_away(telling, stop)}"
    if failures:
        often = "" if failures == 1 else f" {failures:,} times, the last time"
        at = f"{telling.time(stop['failed_start']['at'])}{telling.line(_line_of(stop['failed_start']))}"
        return f"; it could not start{often} at {at}{_error_of(stop)}{_others_away(telling, stop)}"
    if not restarts:
        return _others_away(telling, stop)
    often = "once more" if restarts == 1 else f"{restarts:,} times more, the last time"
    last = f"{telling.time(stop['last_restart']['at'])}{telling.line(_line_of(stop['last_restart']))}"
    return f"; it stopped before it was back, and started anew {often} at {last}{_others_away(telling, stop)}"


def _error_of(stop: Fact) -> str:
    """`: java.io.IOException: No space left on device`, of the last start that failed; nothing if no line has it."""
    return f": {stop['failed_start']['text']}" if stop["failed_start"]["text"] else ""


def _line_of(start: Fact) -> Fact:
    """A start of a process, with its line as evidence."""
    return {"evidence": [{name: start[name] for name in ("node_id", "file_id", "line")}]}


def _others_away(telling: Telling, stop: Fact) -> str:
    """`; broker 2 had been away since 11:47:23.425`; nothing if no other one was."""
    others = stop["others"] or []
    if not others:
        return ""
    if len(others) == 1:
        return f"; broker {others[0]['node']} had been away since {telling.time(others[0]['since'])}"
    since = [f"{other['node']} (since {telling.time(other['since'])})" for other in others[:MOST_LISTED]]
    return f"; brokers {names_text(since, len(others))} were away already"


def _tell_log_dirs(telling: Telling, symptoms: Symptoms) -> None:
    failures = symptoms.log_dirs
    texts = []
    for failure in failures[:MOST_LISTED]:
        replicas = f" with {count_text(failure['count'], 'replica')}" if failure["count"] else ""
        text = f"log directory {failure['text']} of broker {failure['node']} failed{replicas}"
        error = f": {failure['error']}" if failure["error"] else ""
        texts.append(f"{text} at {telling.time(failure['at'])}{telling.line(failure)}{error}")
        telling.step(failure["at"], text, failure)
        if symptoms.stop is None:
            telling.step(failure["until"], f"broker {failure['node']} started anew", None)
    if len(failures) > MOST_LISTED:
        texts.append(f"in all {len(failures):,} failed")
    telling.say("; ".join(texts))
    if failures and symptoms.stop is None:
        last = failures[-1]
        anew = "not by the end of the logs" if last["until"] is None else f"at {telling.time(last['until'])}"
        telling.say(f"broker {last['node']} started anew {anew}")
