"""The story of an incident: a title, steps in order of time, and three to eight sentences that name their lines.

A number in square brackets is the place of a line in the incident's evidence, from 1.
"""

from __future__ import annotations

from typing import Any

from udfs.incidents.node_stops import CRASHED, CUT_OFF, HALTED, LOG_DIR_FAILED, SHUT_DOWN
from udfs.incidents.storms import storm_text
from udfs.incidents.symptoms import Fact, Symptoms
from udfs.incidents.wording import at_text, count_text, length_text, names_text

MOST_LISTED = 5
"""Steps of one kind that are listed."""
Step = dict[str, Any]
_HEALED = {
    "broker_return": "the return of broker {}",
    "clean_election": "a clean election of broker {}",
    "unclean_election": "an unclean election of broker {}",
    "reassignment": "a reassignment to broker {}",
    "topic_deletion": "the topic's deletion",
}


class _Telling:
    """Steps, sentences and their lines, as they come."""

    def __init__(self, since: int) -> None:
        self.since = since
        self.steps: list[Step] = []
        self.sentences: list[str] = []
        self.evidence: list[dict[str, Any]] = []

    def line(self, fact: Fact | None, nth: int = 0) -> str:
        """` [2]` for a fact's line, which becomes evidence; nothing where it has none."""
        lines = (fact or {}).get("evidence") or []
        if not lines:
            return ""
        line = dict(lines[min(nth, len(lines) - 1)])
        if line not in self.evidence:
            self.evidence.append(line)
        return f" [{self.evidence.index(line) + 1}]"

    def time(self, at: int) -> str:
        """A time, with its date if that is not the one on which the incident began."""
        return at_text(at, self.since)

    def step(self, at: int | None, what: str, fact: Fact | None, nth: int = 0) -> None:
        """What happened at a time, with its line."""
        if at is None:
            return
        lines = (fact or {}).get("evidence") or [{"node_id": None, "file_id": None, "line": None}]
        self.steps.append({"at": at, "what": what, **lines[min(nth, len(lines) - 1)]})

    def say(self, sentence: str) -> None:
        """One sentence, unless it is empty."""
        if sentence:
            self.sentences.append(sentence[0].upper() + sentence[1:])


def story_of(symptoms: Symptoms, cause: str | None, since: int) -> tuple[list[Step], str, list[dict[str, Any]]]:
    """Steps in order of time, the story, and the lines that it names."""
    telling = _Telling(since)
    _tell_root(telling, symptoms, cause, since)
    _tell_terms(telling, symptoms)
    _tell_outages(telling, symptoms)
    _tell_losses(telling, symptoms)
    _tell_replicas(telling, symptoms)
    _tell_end(telling, symptoms, since)
    steps = sorted(telling.steps, key=lambda step: step["at"])
    return steps, " ".join(telling.sentences), telling.evidence


def name_of(fact: Fact) -> str:
    """`broker 3`, `controller 101`."""
    return f"{fact['role'] or 'broker'} {fact['node']}"


def partition_of(fact: Fact) -> str:
    """`orders-3`."""
    return f"{fact['topic']}-{fact['partition']}"


# ---- how it began ---------------------------------------------------------------------------------------------------
def _tell_root(telling: _Telling, symptoms: Symptoms, cause: str | None, since: int) -> None:
    on = at_text(since)
    if symptoms.stop is not None:
        _tell_stop(telling, symptoms.stop, on)
    for failure in symptoms.log_dirs[:MOST_LISTED]:
        replicas = count_text(failure["count"], "replica")
        text = f"log directory {failure['text']} of broker {failure['node']} failed with {replicas}"
        telling.say(f"{text} at {telling.time(failure['at'])}{telling.line(failure)}.")
        telling.step(failure["at"], text, failure)
        telling.step(failure["until"], f"broker {failure['node']} started anew", None)
    if symptoms.storm is not None:
        text = storm_text(symptoms.storm)
        telling.say(f"{text} from {on} on{telling.line(symptoms.storm)}, though its session did not end.")
        telling.step(symptoms.storm["at"], text, symptoms.storm)
        if symptoms.storm["until"] is not None:
            telling.say(f"by {telling.time(symptoms.storm['until'])} those that came back were in sync again.")
    if symptoms.deletion is not None:
        topic = symptoms.deletion["topic"]
        telling.say(f"topic {topic} was to be deleted from {on} on{telling.line(symptoms.deletion)}.")
        telling.step(symptoms.deletion["at"], f"deletion of topic {topic} began", symptoms.deletion)
    if cause is None:
        telling.say(f"from {on} on partitions lost their leaders, and the logs do not tell why.")


def _tell_stop(telling: _Telling, stop: Fact, on: str) -> None:
    name, how, line = name_of(stop), stop["how"], telling.line(stop)
    after, noticed = stop["began_after"] is not None, stop["noticed_at"] is not None
    starts = f"started anew at {telling.time(stop['started_at'])}" if stop["started_at"] is not None else ""
    if how == SHUT_DOWN:
        left = f", and left the cluster at {telling.time(stop['noticed_at'])}" if noticed else ""
        telling.say(f"{name} was shut down at {on}{left}{line}.")
        telling.step(stop["at"], f"{name} began to shut down", stop)
    elif how == CRASHED:
        last = f" after {at_text(stop['began_after'])}, its last line" if after else f" by {on}"
        anew = f"{starts} with nothing of a shutdown logged before{telling.line(stop, int(noticed))}"
        if not noticed:
            telling.say(f"{name} crashed{last}, and {anew}.")
        else:
            seen = f"a controller noticed at {telling.time(stop['noticed_at'])} that it was gone{line}"
            telling.say(f"{name} crashed{last}; {seen}.")
            telling.say(f"it {anew}.")
            telling.step(stop["noticed_at"], f"a controller noticed that {name} was gone", stop)
    elif how in (HALTED, LOG_DIR_FAILED):
        reason = "log directories failed" if how == LOG_DIR_FAILED else "of an error"
        telling.say(f"{name} halted at {on} because {reason}{line}.")
        telling.step(stop["at"], f"{name} halted", stop)
    else:
        lived = "its process went on logging, so it was frozen or cut off" if how == CUT_OFF else ""
        unknown = "its logs do not tell whether it crashed, was frozen or cut off"
        telling.say(f"the session of {name} ended at {on}{line}: {lived or unknown}.")
        telling.step(stop["at"], f"the session of {name} ended", stop)
    if starts:
        telling.step(stop["started_at"], f"{name} started anew", stop, len(stop["evidence"]) - 1)


def _tell_terms(telling: _Telling, symptoms: Symptoms) -> None:
    for term in symptoms.terms[: 1 if len(symptoms.terms) > MOST_LISTED else MOST_LISTED]:
        successor = f"node {term['other']} took over" if term["other"] is not None else "the logs name no successor"
        lost = "lost its office, though its process went on" if symptoms.stop is None else "was the controller"
        epoch = f" (epoch {term['count']})"
        telling.say(
            f"node {term['node']} {lost}{epoch}: {successor} at {telling.time(term['at'])}{telling.line(term, -1)}."
        )
        telling.step(term["at"], f"{successor} as controller from node {term['node']}", term)
    if len(symptoms.terms) > MOST_LISTED:
        telling.say(f"in all {len(symptoms.terms):,} terms of controllers ended in a row.")


# ---- what it did ----------------------------------------------------------------------------------------------------
def _tell_outages(telling: _Telling, symptoms: Symptoms) -> None:
    longest, first = symptoms.longest, symptoms.first
    if longest is None or first is None:
        if not symptoms.unclean:
            telling.say("no partition is known to have been without a leader because of it.")
        return
    count, topics = len(symptoms.partitions), len(symptoms.topics)
    which = f"{count_text(count, 'partition')} of {count_text(topics, 'topic')} were"
    which = f"partition {partition_of(longest)} was" if count == 1 else which
    total = f", {length_text(symptoms.leaderless_ms)} summed over them" if count > 1 else ""
    since = f"from {telling.time(first['at'])} on{telling.line(first)}"
    telling.say(f"{which} without a leader {since}{total}{_still_open(symptoms)}.")
    telling.step(first["at"], f"{partition_of(first)} lost its leader", first)
    if longest["until"] is None:
        return
    by = _HEALED.get(longest["healed_by"] or "", "").format(longest["healed_by_broker"])
    ended = f", ended by {by}" if by else ""
    if count > 1:
        length = length_text(longest["ms"])
        telling.say(f"the longest was {partition_of(longest)}, for {length}{ended}{telling.line(longest, -1)}.")
    elif by:
        telling.say(f"{by} ended that at {telling.time(longest['until'])}{telling.line(longest, -1)}.")
    telling.step(longest["until"], f"{partition_of(longest)} was no longer without a leader", longest, -1)


def _still_open(symptoms: Symptoms) -> str:
    """`, and are so still at the end of the logs`; of how many, where it is not so of all. Empty if of none."""
    still, count = symptoms.open_outages, len(symptoms.partitions)
    if not still:
        return ""
    if still >= count:
        return f", and {'is' if count == 1 else 'are'} so still at the end of the logs"
    return f"; {still:,} of them {'is' if still == 1 else 'are'} so still at the end of the logs"


def _tell_losses(telling: _Telling, symptoms: Symptoms) -> None:
    if not symptoms.unclean:
        return
    elections = symptoms.unclean
    names = names_text(partition_of(fact) for fact in elections)
    low, high = symptoms.lost_min, symptoms.lost_max if symptoms.lost_is_bounded else None
    if all(fact["node"] is not None and fact["node"] == fact["other"] for fact in elections):
        lost = "the last leader itself was elected, and led on from the end of its log"
    elif not low and high is None:
        lost = "how many records were lost is not in the logs"
    elif low == high:
        lost = f"{count_text(low or 0, 'record')} {'was' if low == 1 else 'were'} lost"
    else:
        most = f"{count_text(high, 'record')} at most" if high is not None else "no upper bound is in the logs"
        lost = f"at least {count_text(low or 0, 'record')} were lost, {most}"
    verb = "was an unclean election" if len(elections) == 1 else f"were {len(elections):,} unclean elections"
    telling.say(f"there {verb} ({names}){telling.line(elections[0])}: {lost}.")
    for fact in elections[:MOST_LISTED]:
        telling.step(fact["at"], f"unclean election of {partition_of(fact)}: broker {fact['other']}", fact)


def _tell_replicas(telling: _Telling, symptoms: Symptoms) -> None:
    parts = []
    if symptoms.elections_failed:
        parts.append(f"{count_text(symptoms.elections_failed, 'election')} failed meanwhile")
    if symptoms.out_of_isr and symptoms.storm is None:
        parts.append(f"its replicas of {count_text(symptoms.out_of_isr, 'partition')} dropped out of the ISR")
    if parts:
        telling.say(", and ".join(parts) + ".")
    if symptoms.reassignments:
        waiting = symptoms.reassignments
        names = names_text(partition_of(fact) for fact in waiting)
        node = waiting[0]["node"]
        verb = "waits" if any(fact["until"] is None for fact in waiting) else "waited"
        noun = "the reassignment" if len(waiting) == 1 else f"{len(waiting):,} reassignments"
        verb = verb if len(waiting) == 1 else verb.rstrip("s") if verb == "waits" else verb
        telling.say(f"{noun} of {names} {verb} for broker {node}{telling.line(waiting[0])}.")
        for fact in waiting[:MOST_LISTED]:
            telling.step(fact["at"], f"the reassignment of {partition_of(fact)} waits for broker {node}", fact)


# ---- how it ended ---------------------------------------------------------------------------------------------------
def _tell_end(telling: _Telling, symptoms: Symptoms, since: int) -> None:
    stop = symptoms.stop
    if symptoms.deletion is not None and symptoms.outages_until is not None:
        telling.say(f"the deletion was over at {telling.time(symptoms.outages_until)}.")
    if stop is None:
        return
    if stop["until"] is None:
        telling.say(f"{name_of(stop)} was not back by the end of the logs.")
        return
    telling.say(
        f"{name_of(stop)} was back at {telling.time(stop['until'])}, after {_away(stop, since)}"
        f"{telling.line(stop, len(stop['evidence']) - 1)}."
    )
    telling.step(stop["until"], f"{name_of(stop)} was back", stop, len(stop["evidence"]) - 1)


def _away(stop: Fact, since: int) -> str:
    """How long a node was away: `13.0 s`; `2.0 s to 17.4 s` for a crash that only the next start shows.

    Such a node had gone at some time after its last line.
    """
    least = length_text((stop["until"] - since) / 1000)
    if stop["how"] != CRASHED or stop["began_after"] is None or since < (stop["started_at"] or since):
        return least
    return f"{least} to {length_text((stop['until'] - stop['began_after']) / 1000)}"


# ---- title ----------------------------------------------------------------------------------------------------------
_TITLES = {
    "broker_crash": "{name} crashed",
    "controller_crash": "{name} crashed",
    "controlled_shutdown": "{name} was shut down",
    "controller_shutdown": "{name} was shut down",
    "broker_halted": "{name} halted",
    "session_expired": "{name} lost its session",
    "fenced": "{name} was fenced",
    "controller_changed": "controller {node} lost its office",
    "unclean_election": "unclean election",
    "reassignment_stuck": "a reassignment is stuck",
}


def title_of(symptoms: Symptoms, cause: str | None, since: int) -> str:
    """`Broker 3 crashed: 12 partitions without a leader, for up to 15.6 s`."""
    stop = symptoms.stop
    if symptoms.deletion is not None:
        title = f"topic {symptoms.deletion['topic']} waited for its deletion"
    elif symptoms.storm is not None:
        title = storm_text(symptoms.storm)
    elif symptoms.log_dirs:
        title = f"a log directory of broker {symptoms.log_dirs[0]['node']} failed"
    elif cause is None:
        title = "partitions lost their leaders"
    else:
        node = symptoms.terms[0]["node"] if symptoms.terms else None
        title = _TITLES.get(cause, cause).format(name=name_of(stop) if stop is not None else "", node=node)
    if stop is not None and stop["until"] is not None:
        title += f", back after {_away(stop, since)}"
    if symptoms.partitions:
        reach = "still" if symptoms.open_outages else f"for up to {length_text(symptoms.longest_ms)}"
        title += f"; {count_text(len(symptoms.partitions), 'partition')} without a leader {reach}"
    if symptoms.unclean:
        title += f"; {count_text(len(symptoms.unclean), 'unclean election')}"
    return title[0].upper() + title[1:]
