"""Rows of the tables of elections, states and controllers -> rows of verdicts, as streams; no Spark.

A row is a dict by column name, times in microseconds since 1970 UTC. `releases` gives by cluster the Kafka release
whose algorithms it ran, or the range of those that it may have run (`4.1..`), and whether it ran KRaft; clusters
without one are not judged. What the process that decided printed (`term_release` of controllers, `node_release` of the
node of a line) counts before that. A decision that the first release of a range would not have taken, but a later one
would, is `unknown`. Rows stay in memory for one incarnation of a partition, or one cluster's controllers, at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from itertools import groupby
from operator import itemgetter
from typing import Any

from udfs.kafka.cluster_invariants import check_broker_epochs, check_controllers
from udfs.kafka.creation_verdicts import judge_addition, judge_creation
from udfs.kafka.decision_releases import by_any, releases_of
from udfs.kafka.deletion_verdicts import judge_deletion
from udfs.kafka.election_verdicts import judge_election
from udfs.kafka.failover_verdicts import judge_failover
from udfs.kafka.gauge_verdicts import judge_gauge
from udfs.kafka.isrs_left import LeftIsrs, left_by, with_isrs_left
from udfs.kafka.judgements import HOLDS, UNKNOWN, VIOLATED, Finding
from udfs.kafka.message_verdicts import judge_messages
from udfs.kafka.plausible_inputs import online_as_begun
from udfs.kafka.proof_lines import ELECTION, proof_lines
from udfs.kafka.reassignment_steps import judge_steps
from udfs.kafka.reassignment_verdicts import completing_state, ending_state, judge_end, judge_reassignment, may_show_end
from udfs.kafka.rebalance_verdicts import judge_rebalances
from udfs.kafka.refusal_verdicts import judge_refusal
from udfs.kafka.releases import ProtocolVersion, Release, possible_releases
from udfs.kafka.request_verdicts import judge_requests
from udfs.kafka.silence_verdicts import judge_cache, judge_shutdown, judge_silence
from udfs.kafka.state_machines import is_known_legal
from udfs.kafka.stored_state import Cluster
from udfs.kafka.verdicts import Verdict, algorithm_release, judge_states, verdict_of, without_input

VerdictRow = dict[str, Any]
Releases = Mapping[str, tuple[str, bool]]
INCARNATION = ("cluster", "topic", "partition", "incarnation")
COMPARING = (
    "one_leader_per_leader_epoch", "partition_epoch_grows", "stored_controller_epoch_never_falls",
    "clean_candidate_first", "unclean_leader_alone", "preferred_leader_elected", "epoch_increments",
    "elected_leader_online", "isr_joiner_online", "isr_change", "replica_removal", "assignment_change",
)  # fmt: skip
"""Rules that compare a state with the one before."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def election_verdicts(elections: Iterable[VerdictRow], releases: Releases) -> Iterator[VerdictRow]:
    """Elections in order of time, those of one incarnation together, with their inputs (see `judge_election`) and
    `shows_elr`, against the algorithm of their release."""
    for (name, *_), incarnation in groupby(elections, key=itemgetter(*INCARNATION)):
        if name in releases:
            yield from _of_incarnation(incarnation, *releases[name])


def _of_incarnation(elections: Iterable[VerdictRow], release: str, ever_kraft: bool) -> Iterator[VerdictRow]:
    """Elections of one incarnation of a partition."""
    left: LeftIsrs | None = None
    for election in elections:
        is_kraft = ever_kraft and ran_kraft(election, election["at"])
        if is_kraft is None:
            continue
        row = election if is_kraft else with_isrs_left(election, left)
        proven = _with_fewest_lines(row)
        possible = _possible_releases(row, release, kraft=is_kraft)
        verdict = by_any(possible, partial(_judged_election, row, is_kraft))
        if verdict.verdict == UNKNOWN and (as_begun := online_as_begun(row)) is not None:
            excused = by_any(possible, partial(_judged_election, as_begun, is_kraft))
            row, verdict = (as_begun, excused) if excused.verdict == HOLDS else (row, verdict)
        left = None if is_kraft else left_by({**row, "evidence": proven["evidence"]}, verdict, possible[0], left)
        if row["succeeded"]:
            decision = f"leader epoch {row['leader_epoch']}"
        else:
            decision = f"failed at {_EPOCH + timedelta(microseconds=row['at']):%F %H:%M:%S.%f}"
        yield _verdict_row(proven, verdict, f"{_incarnation(row)} {decision}", row["at"])
        if not is_kraft and (shutdown := judge_shutdown(row)) is not None:
            yield _verdict_row(proven, shutdown, f"{_incarnation(row)} {decision}", row["at"])


def _judged_election(row: VerdictRow, is_kraft: bool, release: Release) -> Verdict:
    """An election by the algorithm of a release."""
    lowest, elr_enabled = algorithm_release(release, is_kraft, row["shows_elr"])
    verdict = judge_election(row, lowest, is_kraft=is_kraft, elr_enabled=elr_enabled)
    if elr_enabled and row["elr_before"] is None:
        return without_input(verdict, "elr_before")
    if elr_enabled and not row["isr_before"] and not row["elr_before"]:
        # with both empty the last known leader may be elected
        return without_input(verdict, "last_known_elr")
    return verdict


def _with_fewest_lines(election: VerdictRow) -> VerdictRow:
    """An election as evidence: of the lines of the state that it made (`state_evidence`, which print `printed`) the
    fewest, and the others."""
    of_state = election.get("state_evidence")
    if not of_state:
        return election
    chosen = proof_lines({**election, "evidence": of_state}, ELECTION)
    others = [line for line in election["evidence"] if line not in of_state]
    return {**election, "evidence": [*chosen, *others]}


def state_verdicts(states: Iterable[VerdictRow], releases: Releases) -> Iterator[VerdictRow]:
    """States in stored order, those of one incarnation together, against the invariants.

    Each has `shows_elr`, `raises_epoch_of_shrink` (see `PartitionRules`), and what the election that made it went by,
    if one did.
    """
    for (name, *_), incarnation in groupby(states, key=itemgetter(*INCARNATION)):
        if name not in releases:
            continue
        rows = list(incarnation)
        for row, verdict in _judged_by_mode(rows, *releases[name]):
            epoch = row["partition_epoch"]
            place = f"epochs {row['leader_epoch']}.{epoch}" if epoch is not None else f"state {row['ordinal']}"
            yield _verdict_row(row, verdict, f"{_incarnation(row)} {place}", row["since"])


def reassignment_verdicts(reassignments: Iterable[VerdictRow], releases: Releases) -> Iterator[VerdictRow]:
    """Completed reassignments, with what `judge_reassignment` goes by, each judged by the release of the controller
    that completed it: `term_releases` are what those that it may have been printed; null or a null in it unknown."""
    for row in reassignments:
        if row["cluster"] not in releases:
            continue
        release, ever_kraft = releases[row["cluster"]]
        is_kraft = ever_kraft and ran_kraft(row, row["until"])
        if is_kraft is None:
            continue
        of_terms = releases_of(row.get("term_releases") or [None], possible_releases(release, kraft=is_kraft))
        possible = [algorithm_release(one, is_kraft, row["shows_elr"])[0] for one in of_terms]
        began = _EPOCH + timedelta(microseconds=row["since"])
        subject = f"{_incarnation(row)} reassignment of {began:%F %H:%M:%S.%f}"
        if is_kraft and not may_show_end(row):
            row = {**row, "is_whole": False}
        whole, ended = completing_state(row, possible[0], is_kraft=is_kraft), ending_state(row)
        verdict = by_any(possible, partial(judge_reassignment, row, is_kraft=is_kraft))
        yield _verdict_row(_with_line_of(row, whole), verdict, subject, row["until"])
        if (end := judge_end(row)) is not None:
            yield _verdict_row(_with_line_of(row, ended), end, subject, row["until"])


def _with_line_of(row: VerdictRow, state: Mapping[str, Any] | None) -> VerdictRow:
    """A reassignment as evidence, with a line of a state while it lasted."""
    lines = row["evidence"] or []
    added = [] if state is None else [line for line in state["lines"] or () if line not in lines]
    return {**row, "evidence": [*lines, *added]}


def transition_verdicts(paths: Iterable[VerdictRow], releases: Releases) -> Iterator[VerdictRow]:
    """Transitions of one partition or replica by one controller, each judged by itself: lines between may be lost.

    A row has `transitions`, the different ones with their first lines, `replica` (null: of the partition itself), the
    controller's `node_id` and `controller_epoch`.
    """
    for row in paths:
        if row["cluster"] not in releases:
            continue
        possible = _possible_releases(row, releases[row["cluster"]][0], kraft=False)
        verdict, shown = _judged_path(row["transitions"], possible)
        of_replica = "" if row["replica"] is None else f" replica {row['replica']}"
        by = f"controller {row['node_id']} epoch {row['controller_epoch']}"
        judged = {**row, "evidence": _evidence(shown)}
        yield _verdict_row(judged, verdict, f"{_incarnation(row)}{of_replica}, {by}", row["at"])


def _judged_path(transitions: Sequence[VerdictRow], possible: Sequence[Release]) -> tuple[Verdict, list[VerdictRow]]:
    """The transitions of one path by the releases that may have made them, and those that the verdict is about."""
    pairs = [(t["from_state"], t["to_state"]) for t in transitions]

    def by(release: Release) -> tuple[Verdict, list[VerdictRow]]:
        legal = [is_known_legal(release, *pair) for pair in pairs]
        illegal, damaged = ([at for at, is_so in enumerate(legal) if is_so is wrong] for wrong in (False, None))
        shown = illegal or damaged or range(len(pairs))
        words = ", ".join("{} to {}".format(*pairs[at]) for at in shown)
        verdict = VIOLATED if illegal else UNKNOWN if damaged else HOLDS
        missing = ("names of states that there are",) if verdict == UNKNOWN else ()
        finding = Finding("legal_transition", verdict, 0, "legal transitions", words, missing)
        return verdict_of(finding), [transitions[at] for at in shown]

    return by_any(possible, lambda release: by(release)[0]), by(possible[0])[1]


def request_verdicts(lines: Iterable[VerdictRow], releases: Releases) -> Iterator[VerdictRow]:
    """Lines about requests, deletions and reassignments, those of one incarnation together in order of time: see
    `judge_requests`, `judge_deletion`, `judge_steps`, `judge_messages`, `judge_gauge`."""
    for (name, *_), of_incarnation in groupby(lines, key=itemgetter(*INCARNATION)):
        if name not in releases:
            continue
        text, ever_kraft = releases[name]
        possible, rows = possible_releases(text, kraft=False), list(of_incarnation)
        of_requests = (
            judge_requests(rows, possible, migrates=ever_kraft), judge_messages(rows), judge_gauge(rows, possible)
        )  # fmt: skip
        judged = [(j.verdict, j.about, j.lines) for by_rule in of_requests for j in by_rule]
        steps = [(j.verdict, j.about, j.lines) for j in judge_steps(rows)]
        for verdict, about, proof in (*judged, *steps, *judge_deletion(rows, possible)):
            row = {**rows[0], "evidence": _evidence(proof)}
            yield _verdict_row(row, verdict, f"{_incarnation(row)} {about}", proof[0]["at"])


def refusal_verdicts(refusals: Iterable[VerdictRow], releases: Releases) -> Iterator[VerdictRow]:
    """ISR changes that a controller refused: see `judge_refusal`."""
    for row in refusals:
        if row["cluster"] in releases and (verdict := judge_refusal(row)) is not None:
            of_partition = "" if row["topic"] is None else f"{_incarnation(row)} "
            at = _EPOCH + timedelta(microseconds=row["at"])
            place = f"node {row['node_id']} line {row['line']}"
            subject = f"{of_partition}request of broker {row['sender']} refused at {at:%F %H:%M:%S.%f}, {place}"
            yield _verdict_row(row, verdict, subject, row["at"])


def outage_verdicts(outages: Iterable[VerdictRow], releases: Releases) -> Iterator[VerdictRow]:
    """Outages during which a member of the ISR was registered: see `judge_silence`."""
    for row in outages:
        if row["cluster"] in releases:
            began = _EPOCH + timedelta(microseconds=row["since"])
            subject = f"{_incarnation(row)} without a leader from {began:%F %H:%M:%S.%f}"
            yield _verdict_row(row, judge_silence(row), subject, row["since"])


def cache_verdicts(caches: Iterable[VerdictRow], releases: Releases) -> Iterator[VerdictRow]:
    """Brokers with the topics that they should have learned: see `judge_cache`."""
    for row in caches:
        if row["cluster"] in releases:
            yield _verdict_row(row, judge_cache(row), f"broker {row['node_id']}", row["at"])


def creation_verdicts(topics: Iterable[VerdictRow], releases: Releases) -> Iterator[VerdictRow]:
    """New topics with `partitions`, the first states of each, and those of partitions that were `added` later, with
    what `judge_addition` goes by: see `judge_creation`."""
    for row in topics:
        if row["cluster"] not in releases:
            continue
        firsts = row["partitions"] or []
        if firsts:
            verdict = judge_creation({first["partition"]: first["replicas"] for first in firsts})
            created = {**row, "evidence": [line for first in firsts for line in (first["evidence"] or ())[:1]]}
            yield _verdict_row(created, verdict, f"{row['topic']}#{row['incarnation']}", row["at"])
        for first in row["added"] or ():
            is_kraft = releases[row["cluster"]][1] and bool(ran_kraft(row, first["began"]))
            verdict = judge_addition(
                first["partition"], first["replicas"], row["factors"] or (), knows_factors=row["knows_factors"],
                is_kraft=is_kraft,
            )  # fmt: skip
            added = {**row, "partition": first["partition"], "evidence": (first["evidence"] or [])[:1]}
            yield _verdict_row(added, verdict, _incarnation(added), first["began"])


def rebalance_verdicts(lines: Iterable[VerdictRow], releases: Releases) -> Iterator[VerdictRow]:
    """Lines of controllers about the automatic rebalance, those of one node together: see `judge_rebalances`."""
    for (name, node), of_node in groupby(lines, key=itemgetter("cluster", "node_id")):
        if name not in releases:
            continue
        possible = possible_releases(releases[name][0], kraft=False)
        for verdict, about, proof in judge_rebalances(list(of_node), possible):
            row = {"cluster": name, "evidence": _evidence(proof)}
            yield _verdict_row(row, verdict, f"controller {node}, {about}", proof[0]["at"])


def _evidence(lines: Iterable[Mapping[str, Any]]) -> list[VerdictRow]:
    """Lines as evidence."""
    return [{name: line[name] for name in ("node_id", "file_id", "line")} for line in lines]


def broker_verdicts(registrations: Iterable[VerdictRow]) -> Iterator[VerdictRow]:
    """Registrations in order of time, those of one broker together: each has a larger broker epoch than the one before.

    Spans of one registration, as KRaft fences and unfences a broker, have one epoch, and count once.
    """
    for (_, broker), of_broker in groupby(registrations, key=itemgetter("cluster", "broker")):
        rows = [next(span) for _, span in groupby(of_broker, key=itemgetter("epoch"))]
        for finding in check_broker_epochs([row["epoch"] for row in rows]):
            subject = f"broker {broker} epoch {rows[finding.at]['epoch']}"
            yield _verdict_row(rows[finding.at], verdict_of(finding), subject, rows[finding.at]["since"])


def _possible_releases(row: VerdictRow, release: str, *, kraft: bool) -> Sequence[Release]:
    """The releases by which the controller of a row may have decided, the lowest first: the one that it printed
    (`term_release`) or, if it printed none, those of the cluster."""
    return releases_of([row.get("term_release")], possible_releases(release, kraft=kraft))


def ran_kraft(row: VerdictRow, at: int | None) -> bool | None:
    """Whether KRaft's controller decided at a time: always, but in a cluster that migrates from ZooKeeper (with
    `kraft_began`) since the takeover (`kraft_since`); None where no line tells who did."""
    if row.get("kraft_began") is None:
        return True
    if at is None or (row["kraft_since"] is None and at >= row["kraft_began"]):
        return None
    return row["kraft_since"] is not None and at >= row["kraft_since"]


def _judged_by_mode(rows: list[VerdictRow], release: str, ever_kraft: bool) -> Iterator[tuple[VerdictRow, Verdict]]:
    """Each state with its verdicts, by the rules of who decided it. The first one that KRaft decided is compared with
    the last one before, but for the epochs of their controllers: KRaft begins to count anew."""
    by_kraft = [bool(ever_kraft) and ran_kraft(row, row["since"]) for row in rows]
    stop = next((i for i, mode in enumerate(by_kraft) if mode is None), len(rows))
    first_kraft = next((i for i, mode in enumerate(by_kraft[:stop]) if mode), stop)
    for is_kraft, part in ((False, rows[:first_kraft]), (True, rows[first_kraft:stop])):
        if not part:
            continue
        before = [{**rows[first_kraft - 1], "controller_epoch": None}] if is_kraft and first_kraft else []
        states = [*before, *part]
        possible = [_possible_releases(row, release, kraft=is_kraft) for row in part]
        possible = [*possible[: len(before)], *possible]
        for at, verdict in _judged_states(states, possible, is_kraft):
            if at >= len(before):
                yield _with_proof(states, at, verdict.rule), verdict


def _judged_states(
    states: Sequence[VerdictRow], possible: Sequence[Sequence[Release]], is_kraft: bool
) -> Iterator[tuple[int, Verdict]]:
    """Position and verdict of each rule: each state by the first of the releases that may have decided it (`possible`),
    see `by_any`."""

    @cache
    def by(release: Release) -> list[tuple[int, Verdict]]:
        lowest, elr_enabled = algorithm_release(release, is_kraft, states[-1]["shows_elr"])
        cluster = Cluster(lowest, is_kraft, _metadata_version(states[-1]), elr_enabled=elr_enabled)
        return list(judge_states(cluster, states))

    @cache
    def accused(release: Release) -> set[tuple[int, str]]:
        return {(at, verdict.rule) for at, verdict in by(release) if verdict.verdict == VIOLATED}

    for first in {releases[0] for releases in possible}:
        for at, verdict in by(first):
            if possible[at][0] != first:
                continue
            is_suspect = verdict.verdict == VIOLATED
            if is_suspect and any((at, verdict.rule) not in accused(release) for release in possible[at][1:]):
                verdict = without_input(verdict, "kafka_release")
            yield at, verdict


def _with_proof(states: Sequence[VerdictRow], at: int, rule: str) -> VerdictRow:
    """A state as evidence for a rule: with the fewest lines that print what it goes by and, if the rule compares the
    state with the one before, those of that."""
    lines = proof_lines(states[at], rule)
    before = proof_lines(states[at - 1], rule) if at and rule in COMPARING else []
    return {**states[at], "evidence": [*lines, *(line for line in before if line not in lines)]}


def _metadata_version(row: VerdictRow) -> ProtocolVersion | None:
    """The least metadata version that KRaft may have had: what counts is whether it is 3.6-IV0 or later (KAFKA-15021);
    None unknown."""
    raises = row.get("raises_epoch_of_shrink")
    return None if raises is None else ProtocolVersion.parse("3.0" if raises else "3.6")


def controller_verdicts(terms: Iterable[VerdictRow]) -> Iterator[VerdictRow]:
    """Controller terms in order, those of one life of a cluster and mode together: epochs grow and each belongs to one
    controller (`claimed_by`: all that lines name; null: to that of the term), and each took its `steps` in order."""
    for (_, life, _), of_cluster in groupby(terms, key=itemgetter("cluster", "cluster_incarnation", "mode")):
        rows = list(of_cluster)
        claims = [(row, node) for row in rows for node in row["claimed_by"] or [row["controller_id"]]]
        judged = [
            (*claims[finding.at], verdict_of(finding), claims[finding.at][0]["evidence"])
            for finding in check_controllers([(row["controller_epoch"], node) for row, node in claims])
        ]
        for row in rows:
            if (in_order := judge_failover(row["mode"], row["steps"] or (), row["until"])) is not None:
                judged.append((row, row["controller_id"], in_order[0], _evidence(in_order[1])))
        for row, node, verdict, lines in judged:
            subject = f"controller {node} epoch {row['controller_epoch']}{f' of life {life}' if life else ''}"
            yield _verdict_row({**row, "evidence": lines}, verdict, subject, row["since"])


def _incarnation(row: VerdictRow) -> str:
    """`payments-0#1`: topic, partition and incarnation."""
    return f"{row['topic']}-{row['partition']}#{row['incarnation']}"


def _verdict_row(row: VerdictRow, verdict: Verdict, subject: str, at: Any) -> VerdictRow:
    """A row of VERDICTS about a row."""
    return {
        "cluster": row["cluster"],
        "rule": verdict.rule,
        "subject": subject,
        "topic": row.get("topic"),
        "partition": row.get("partition"),
        "at": at,
        "verdict": verdict.verdict,
        "expected": verdict.expected,
        "actual": verdict.actual,
        "missing_inputs": list(verdict.missing),
        "explanation": verdict.explanation,
        "evidence": row["evidence"],
    }
