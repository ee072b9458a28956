"""The story of an incident: steps in order of time, and two to eight sentences that name their lines.

How it began, what it did to which partitions, what could not be elected and why, what ended it and when, what was
lost. A number in square brackets is the place of a line in the incident's evidence, from 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from udfs.incidents.node_stops import LIVED_ON
from udfs.incidents.roots import tell_root
from udfs.incidents.symptoms import MOST_NAMED, Fact, Outages, Symptoms, is_open
from udfs.incidents.telling import MOST_LISTED, Step, Telling, partition_of
from udfs.incidents.titles import away_text, name_of
from udfs.incidents.wording import bounds_text, brokers_text, count_text, length_text, listed_text, names_text


def story_of(symptoms: Symptoms, cause: str | None, since: int) -> tuple[list[Step], str, list[dict[str, Any]]]:
    """Steps in order of time, the story, and the lines that it names."""
    telling = Telling(since)
    tell_root(telling, symptoms, cause, since)
    _tell_terms(telling, symptoms)
    _tell_outages(telling, symptoms)
    _tell_why_nobody(telling, symptoms)
    _tell_healing(telling, symptoms)
    _tell_losses(telling, symptoms)
    _tell_reassignments(telling, symptoms)
    _tell_end(telling, symptoms, since)
    steps = sorted(telling.steps, key=lambda step: step["at"])
    return steps, " ".join(telling.sentences), telling.evidence


def _tell_terms(telling: Telling, symptoms: Symptoms) -> None:
    """Who was controller until then, who took over, and when that one was ready."""
    terms = symptoms.terms
    if not terms:
        return
    is_lost = symptoms.stop is None or symptoms.stop["node"] != terms[0]["node"]
    why = "though its process went on" if terms[0]["how"] == LIVED_ON else "why is not known"
    lost = f"was no longer controller, {why}" if is_lost else "was the controller"
    changes = [_term_text(telling, terms[0])]
    if len(terms) <= MOST_LISTED:
        changes += [f"after epoch {term['count']} {_term_text(telling, term)}" for term in terms[1:]]
    else:
        changes.append(f"in all {len(terms):,} terms of controllers ended in a row")
    telling.say(f"node {terms[0]['node']} {lost} (epoch {terms[0]['count']}): {'; '.join(changes)}")
    for term in terms[: MOST_LISTED if len(terms) <= MOST_LISTED else 1]:
        telling.step(_took_over_at(term), f"{_successor(term)} as controller from node {term['node']}", term)


def _term_text(telling: Telling, term: Fact) -> str:
    """`node 1 took over at 12:00:19.050 [2] and was ready 61 ms later`."""
    at = _took_over_at(term)
    if term["other"] is None:
        return f"{_successor(term)} after {telling.time(at)}{telling.line(term)}"
    ready = ""
    if term["until"] is not None and term["until"] > at:
        ready = f" and was ready {length_text((term['until'] - at) / 1000)} later"
    return f"{_successor(term)} at {telling.time(at)}{telling.line(term)}{ready}"


def _took_over_at(term: Fact) -> int:
    """When the next term began, or else when this one had ended: its controller may have resigned before."""
    at: int = term["at"] if term["started_at"] is None else term["started_at"]
    return at


def _successor(term: Fact) -> str:
    if term["other"] is None:
        return "the logs name no successor"
    return f"node {term['other']} took over{' again' if term['other'] == term['node'] else ''}"


# ---- what it did ----------------------------------------------------------------------------------------------------
def _tell_outages(telling: Telling, symptoms: Symptoms) -> None:
    """Which partitions had no leader from when on, or that none is known; how many others led at once."""
    first = symptoms.first
    if symptoms.longest is None or first is None:
        if not symptoms.unclean:
            none = "no partition is known to have been without a leader because of it"
            stop = symptoms.stop
            is_standby = stop is not None and stop["role"] == "controller" and not symptoms.terms
            rest = ", and no other controller took over" if is_standby else _others_led(telling, symptoms.moved)
            telling.say(none + rest)
        return
    count = len(symptoms.partitions)
    names = names_text(_named(symptoms.outages), count)
    which = f"partition {partition_of(first)} was" if count == 1 else f"{count_text(count, 'partition')}"
    if count > 1:
        topics = len(symptoms.topics)
        which += (
            f" of {count_text(topics, 'topic') if topics > 1 else 'topic ' + first['topic']}" if topics < count else ""
        )
        which += f" ({names}) were"
    least = "at least " if symptoms.outages.unsure else ""
    total = f", {least}{length_text(symptoms.outages.ms)} summed over them" if count > 1 else ""
    total += f", {count_text(symptoms.outages.count, 'time')}" if symptoms.outages.count > count else ""
    since = f"from {telling.time(first['at'])} on{telling.line(first)}"
    also = _still_open(symptoms) + _others_led(telling, symptoms.moved)
    telling.say(f"{which} without a leader {since}{total}{also}")
    telling.step(first["at"], f"{partition_of(first)} lost its leader", first)


def _others_led(telling: Telling, moved: Fact | None) -> str:
    """`; 4 that it led got another leader at once [3]`; nothing if none did."""
    return f"; {moved['count']:,} that it led got another leader at once{telling.line(moved)}" if moved else ""


def _named(outages: Outages) -> list[str]:
    """The partitions of the longest of them."""
    return list(dict.fromkeys(map(partition_of, outages.longest)))


def _still_open(symptoms: Symptoms) -> str:
    """`, and are so still at the end of the logs`; of how many, where it is not so of all. Empty if of none."""
    still, count = symptoms.open_outages, len(symptoms.partitions)
    if not still:
        return ""
    if still >= count:
        return f", and {'is' if count == 1 else 'are'} so still at the end of the logs"
    return f"; {still:,} of them {'is' if still == 1 else 'are'} so still at the end of the logs"


def _tell_why_nobody(telling: Telling, symptoms: Symptoms) -> None:
    """Why partitions had no leader for long: who was in their ISR, and which elections failed.

    Who was in the ISR explains nothing of a topic's deletion: those brokers are there, and no leader is wanted.
    """
    parts = []
    is_deletion = symptoms.deletion is not None
    if symptoms.alone.count and not is_deletion:
        brokers = sorted({fact["ids"][0] for fact in symptoms.alone.longest})
        which, was = _some(symptoms, symptoms.alone), "was" if len(brokers) == 1 else "were each"
        only = "its only replica in sync" if which == IT else f"the only replica in sync of {which}"
        parts.append(f"{brokers_text(brokers)} {was} {only}, so no other one could be elected")
    if symptoms.without_isr.count and not is_deletion:
        longest = symptoms.without_isr.longest[0]
        isr = listed_text(map(str, longest["ids"]))
        which = _some(symptoms, symptoms.without_isr)
        of = "its ISR" if which == IT else f"the ISR of {which}"
        parts.append(f"of {of} ({isr}) none was elected meanwhile")
    failed = symptoms.failed
    if symptoms.elections_failed:
        how = f"{count_text(symptoms.elections_failed, 'election')} failed"
        if failed is not None:
            first = "" if symptoms.elections_failed == 1 else "the first "
            alive = f" with {brokers_text(failed['ids'])} alive" if failed["ids"] else ""
            how += f", {first}at {telling.time(failed['at'])}{alive}{telling.line(failed)}"
            telling.step(failed["at"], f"an election of {partition_of(failed)} failed", failed)
        parts.append(how)
    telling.say("; ".join(parts))


IT = "it"
"""What `_some` calls the only partition."""


def _some(symptoms: Symptoms, some: Outages) -> str:
    """`it` or `all of them`, or how many of them, by name if they are not all."""
    count = len(some.partitions)
    if count >= len(symptoms.partitions):
        return IT if count == 1 else "all of them"
    names = names_text(_named(some), count)
    return names if count <= MOST_NAMED else f"{count:,} of them ({names})"


# ---- how it ended ---------------------------------------------------------------------------------------------------
_HEALED = {
    "broker_return": ("the return of broker {}", "the return of a replica in sync", "returns of replicas in sync"),
    "clean_election": ("a clean election of broker {}", "a clean election", "clean elections"),
    "unclean_election": ("an unclean election of broker {}", "an unclean election", "unclean elections"),
    "reassignment": ("a reassignment to broker {}", "a reassignment", "reassignments"),
    "topic_deletion": ("the topic's deletion", "the topic's deletion", "the topic's deletion"),
}
"""What ended one time without a leader by which broker, one, and several, by `healed_by`."""


def _tell_healing(telling: Telling, symptoms: Symptoms) -> None:
    """What ended the times without a leader: the longest one, then the others by what ended them."""
    longest = symptoms.longest
    if longest is None:
        return
    parts = []
    by = _HEALED.get(longest["healed_by"] or "", ("",))[0]
    ended = f" with {by.format(longest['healed_by_broker'])}" if by else ""
    which = "that" if symptoms.outages.count == 1 else f"the longest, of {partition_of(longest)},"
    if longest["until"] is None and not is_open(longest):
        parts.append(f"{which} ended{ended}, after {bounds_text(longest['ms'], None)}: when is in no line")
    if longest["until"] is not None:
        is_exact = longest["ended_at"] is not None
        at = f"{'at' if is_exact else 'by'} {telling.time(longest['until'])}"
        length = bounds_text(longest["ms"], longest["most_ms"])
        end = {"evidence": longest["end_evidence"]}
        parts.append(f"{which} {'' if is_exact else 'had '}ended{ended} {at}, after {length}{telling.line(end)}")
        telling.step(longest["until"], f"{partition_of(longest)} was no longer without a leader", end)
    others = [text for kind in _HEALED if (text := _others_healed(symptoms, kind))]
    if others:
        parts.append(f"{'the others' if parts else 'of them ended'}{':' if parts else ''} {listed_text(others)}")
    telling.say("; ".join(parts))


def _others_healed(symptoms: Symptoms, kind: str) -> str:
    """`3 by unclean elections within 2.3 s`, without the longest one; empty if that was all. Of some that are not
    known to have been exactly so long no time is told."""
    outages, longest = symptoms.healed.get(kind, Outages()), symptoms.longest
    others = [fact for fact in outages.longest if fact is not longest]
    count = outages.count - (len(outages.longest) - len(others))
    if not count:
        return ""
    within = "" if outages.unsure else f" within {length_text(others[0]['ms'])}"
    return f"{count:,} by {_HEALED[kind][1 if count == 1 else 2]}{within}"


def _tell_losses(telling: Telling, symptoms: Symptoms) -> None:
    """Unclean elections: of which broker, and how many records of whom were lost."""
    elections = symptoms.unclean
    if not elections:
        return
    line = telling.line(elections[0])
    if len(elections) == 1:
        head = f"the unclean election of {partition_of(elections[0])}{line}"
    else:
        leaders = sorted({fact["other"] for fact in elections if fact["other"] is not None})
        of = f" of {brokers_text(leaders)}" if 0 < len(leaders) <= MOST_LISTED else ""
        names = names_text(map(partition_of, elections[:MOST_NAMED]), len(elections))
        head = f"{len(elections):,} unclean elections{of} ({names}){line}"
    telling.say(f"{head} {_lost(elections)}")
    for fact in elections[:MOST_LISTED]:
        telling.step(fact["at"], f"unclean election of {partition_of(fact)}: broker {fact['other']}", fact)


def _lost(elections: Sequence[Fact]) -> str:
    """What unclean elections lost: how many records, of each partition where they are few, and who had held them.

    Of the last leader itself nothing is lost but what its disk lost.
    """
    others = [fact for fact in elections if fact["node"] is None or fact["node"] != fact["other"]]
    led_on = len(elections) - len(others)
    if not others and len(elections) == 1:
        return f"made the last leader itself, broker {elections[0]['other']}, leader, from the end of its log"
    if not others:
        return "made the last leaders themselves leaders, from the end of their logs"
    besides = f"; in {led_on:,} of them the last leader itself led on" if led_on else ""
    low = sum(fact["lost_min"] or 0 for fact in others)
    most = [fact["lost_max"] for fact in others]
    high = None if None in most else sum(most)
    holders = sorted({fact["node"] for fact in others if fact["node"] is not None})
    had = f" that {brokers_text(holders)} had" if 0 < len(holders) <= MOST_LISTED else ""
    if low == high:
        records = f"lost {count_text(low, 'record')}{had}" if low else "lost no records"
        return f"{records}{_lost_by_partition(others)}{besides}"
    if high is not None:
        return f"lost {low:,} to {count_text(high, 'record')}{had}{besides}"
    if low:
        return f"lost at least {count_text(low, 'record')}{had}; how many at most is not in the logs{besides}"
    return f"lost records or not: how many is not in the logs{besides}"


def _lost_by_partition(elections: Sequence[Fact]) -> str:
    if not 1 < len(elections) <= MOST_NAMED or not any(fact["lost_min"] for fact in elections):
        return ""
    return f" ({listed_text(_lost_of(fact) for fact in elections)})"


def _lost_of(fact: Fact) -> str:
    return f"{fact['lost_min']:,} of {partition_of(fact)}"


def _tell_reassignments(telling: Telling, symptoms: Symptoms) -> None:
    waiting = symptoms.reassignments
    if not waiting:
        return
    names, node = names_text(map(partition_of, waiting[:MOST_NAMED]), len(waiting)), waiting[0]["node"]
    noun = "the reassignment" if len(waiting) == 1 else f"{len(waiting):,} reassignments"
    verb = "waited"
    if any(fact["until"] is None for fact in waiting):
        verb = "waits still" if len(waiting) == 1 else "wait still"
    telling.say(f"{noun} of {names} {verb} for broker {node}{telling.line(waiting[0])}")
    for fact in waiting[:MOST_LISTED]:
        telling.step(fact["at"], f"the reassignment of {partition_of(fact)} waits for broker {node}", fact)


def _tell_end(telling: Telling, symptoms: Symptoms, since: int) -> None:
    """When the node was back, and in sync; when all had leaders again where no node was away."""
    stop = symptoms.stop
    if symptoms.deletion is not None and symptoms.outages_until is not None:
        telling.say(f"the deletion was over at {telling.time(symptoms.outages_until)}")
    if stop is None:
        return
    out, again = symptoms.out_of_isr, symptoms.rejoined
    if stop["until"] is None:
        left = f"; {_left_isr(telling, out)}" if out is not None else ""
        when = "by the end of the logs"
        if stop["followed_at"] is not None:
            when = f"before its process stopped, too, at {telling.time(stop['followed_at'])}"
        telling.say(f"{name_of(stop)} was not back {when}{left}")
        return
    last = len(stop["evidence"]) - 1
    back = f"{name_of(stop)} was back at {telling.time(stop['until'])}, after {away_text(stop, since)}"
    back += telling.line(stop, last)
    telling.step(stop["until"], f"{name_of(stop)} was back", stop, last)
    if out is not None:
        back += f"; {_left_isr(telling, out)}"
    if again is not None and out is not None:
        number = f"those of {again['count']:,}" if again["count"] < out["count"] else "all"
        back += f", {number} were in it again by {telling.time(again['at'])}{telling.line(again)}"
        telling.step(again["at"], f"the last replica of {name_of(stop)} was in the ISR again", again)
    elif out is not None:
        back += ", and no line shows that they joined it again"
    telling.say(back)


def _left_isr(telling: Telling, out: Fact) -> str:
    return f"its replicas of {count_text(out['count'], 'partition')} had dropped out of the ISR{telling.line(out)}"
