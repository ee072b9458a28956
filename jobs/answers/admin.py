"""`reassign` and `elect`: what Kafka's tools would have done at a moment, over the rewound cluster."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from jobs.answers.listing import Listing, in_columns
from jobs.answers.words import brokers_in_words, was_or_were
from jobs.describe.describe import matching
from jobs.nightly.wording import date_time, plural
from jobs.nightly.words import listed
from jobs.read.published import nearest
from udfs.describe.kafka_topics import DescribedPartition, DescribedTopic
from udfs.describe.snapshot import Snapshot, iso
from udfs.errors import BadInput
from udfs.kafka.admin_requests import Controller, Partition, elect, execute, generate, plan_json, verify
from udfs.kafka.verdicts import algorithm_release
from udfs.kafka.zk_reassignment import ReassignmentStep, requests_in_words

NOT_ELECTED = ("ELECTION_NOT_NEEDED", "LeaderElectionNotNeeded")
Plan = dict[tuple[str, int], list[int]]


def controller_of(snapshot: Snapshot) -> Controller:
    """The controller at a moment. Brokers of which no line says whether they were there count as alive, and in KRaft as
    registered those that are gone and of which none says that they were unregistered."""
    state = snapshot.state
    gone = {broker.broker for broker in state.brokers if broker.state == "gone"}
    named = {broker.broker for broker in state.brokers}
    named |= {b for topic in state.topics for p in topic.partitions for b in (*(p.replicas or ()), *(p.isr or ()))}
    leaving = {broker.broker for broker in state.brokers if broker.state == "shutting_down"}
    registered = named | {broker for broker, is_registered in state.registrations.items() if is_registered}
    registered -= {broker for broker in gone if not state.registrations.get(broker, True)}
    release, elr_enabled = algorithm_release(state.tool.release, state.tool.kraft, snapshot.shows_elr)
    return Controller(
        release, state.tool.kraft, frozenset(named - gone), frozenset(leaving), frozenset(registered), elr_enabled
    )


def partitions_of(snapshot: Snapshot, topic: str | None) -> tuple[list[Partition], list[str]]:
    """The partitions whose state is known at a moment, of topics that match, and the names of the others.

    Raises BadInput if no topic of that moment matches.
    """
    known, unknown = [], []
    names = {described.name for described in snapshot.state.topics}
    wanted = names if topic is None else matching(topic, names)
    if topic is not None and not wanted:
        raise BadInput(f"There is no topic {topic} at {date_time(snapshot.at)} UTC; {nearest(topic, names)}")
    for described in snapshot.state.topics:
        if described.name not in wanted:
            continue
        for partition in described.partitions:
            if (whole := _partition(described, partition, is_kraft=snapshot.state.tool.kraft)) is None:
                unknown.append(f"{described.name}-{partition.partition}")
            else:
                known.append(whole)
    return known, unknown


def _partition(topic: DescribedTopic, p: DescribedPartition, *, is_kraft: bool) -> Partition | None:
    """None if its leader, ISR or assignment is unknown, or in KRaft who is eligible in place of an empty ISR."""
    lacks_eligible = is_kraft and p.isr == () and p.elr is None
    if p.replicas is None or p.isr is None or p.leader is None or lacks_eligible:
        return None
    return Partition(
        topic.name, p.partition, p.replicas, p.isr, p.leader, p.leader_epoch or 0, p.adding, p.removing, p.elr or (),
        p.last_known_elr or (), topic.min_insync_replicas or 1,
    )  # fmt: skip


def elect_answer(snapshot: Snapshot, election_type: str, topic: str | None) -> Listing:
    """What a request to elect would have done to each partition."""
    if snapshot.is_before:
        return too_early(snapshot)
    controller = controller_of(snapshot)
    partitions, unknown = partitions_of(snapshot, topic)
    try:
        answers = [(partition, elect(controller, partition, election_type)) for partition in partitions]
    except ValueError as error:
        raise BadInput(f"{error}.") from None
    moved = [answer for partition, answer in answers if answer.error == "NONE" and answer.leader != partition.leader]
    failed = [answer for _, answer in answers if answer.error not in ("NONE", *NOT_ELECTED)]
    sentence = (
        f"Asked for at {date_time(snapshot.at)} UTC, {_an(election_type.lower())} election would have moved "
        f"{plural(len(moved), 'leader')} of {plural(len(answers), 'partition')}, and failed for {len(failed):,}."
    )
    rows = [
        (f"{p.topic}-{p.partition}", p.leader, a.leader, _ids(a.isr), p.leader_epoch + a.leader_epoch_bump, a.error)
        for p, a in answers
        if a.error not in NOT_ELECTED
    ]
    head = ("partition", "leader", "would lead", "isr", "leader epoch", "answer")
    data = [
        {"topic": p.topic, "partition": p.partition, "error": a.error, "leader": a.leader, "isr": list(a.isr),
         "leader_epoch": p.leader_epoch + a.leader_epoch_bump}
        for p, a in answers
    ]  # fmt: skip
    lines = in_columns(head, rows) if rows else []
    return Listing(
        snapshot.cluster, sentence, lines, _unknown(snapshot, unknown), {"at": iso(snapshot.at), "partitions": data}
    )


def generate_text(
    snapshot: Snapshot, topic: str | None, brokers: Sequence[int], start_index: int
) -> tuple[str, Sequence[int]]:
    """What `kafka-reassign-partitions --generate` would have printed, and the brokers that it would have left out
    because they were not there. Raises BadInput where it cannot."""
    if snapshot.is_before:
        raise BadInput(too_early(snapshot).sentence)
    if twice := sorted({broker for broker in brokers if brokers.count(broker) > 1}):
        raise BadInput(f"--broker-list names {brokers_in_words(twice)} twice.")
    # who was there is in no line where no line names a broker
    live = controller_of(snapshot).live if snapshot.state.brokers else brokers
    absent = sorted({*brokers}.difference(live))
    partitions, unknown = partitions_of(snapshot, topic)
    if unknown:
        raise BadInput(f"The assignment of {', '.join(unknown[:3])} is in no line; name topics with --topic.")
    release = snapshot.state.tool.release
    try:
        proposed = generate(release, partitions, sorted({*brokers}.difference(absent)), start_index)
    except ValueError as error:
        raise BadInput(f"{error}{_absent_in_words(snapshot, absent)}.") from None
    current, plan = (json.dumps(plan_json(release, p), separators=(",", ":")) for p in (partitions, proposed))
    text = f"Current partition replica assignment\n{current}\n\nProposed partition reassignment configuration\n{plan}\n"
    return text, absent


def _absent_in_words(snapshot: Snapshot, absent: Sequence[int]) -> str:
    """`: broker 1 was not there, no line names broker 9`."""
    known = {broker.broker for broker in snapshot.state.brokers}
    known |= {b for topic in snapshot.state.topics for p in topic.partitions for b in p.replicas or ()}
    away, strange = ([b for b in absent if (b in known) == is_known] for is_known in (True, False))
    reasons = [f"{brokers_in_words(away)} {was_or_were(away)} not there"] if away else []
    reasons += [f"no line names {brokers_in_words(strange)}"] if strange else []
    return f": {', '.join(reasons)}" if reasons else ""


def read_plan(plan: bytes) -> Plan:
    """A plan in the tool's JSON: by topic and partition the target. Raises BadInput for what is none."""
    try:
        entries = json.loads(plan)["partitions"]
        return {(str(e["topic"]), int(e["partition"])): [int(r) for r in e["replicas"]] for e in entries}
    except (ValueError, KeyError, TypeError):
        raise BadInput(
            'The plan is not the JSON of kafka-reassign-partitions: {"version":1,"partitions":[{"topic":"a",'
            '"partition":0,"replicas":[1,2]}]}.'
        ) from None


def execute_answer(snapshot: Snapshot, plan: Plan) -> Listing:
    """The steps that the controller would have taken for a plan."""
    if snapshot.is_before:
        return too_early(snapshot)
    controller = controller_of(snapshot)
    partitions, unknown = partitions_of(snapshot, None)
    obscure = _obscure(snapshot, plan)
    lines: list[str] = []
    data: list[dict[str, Any]] = []
    for partition in partitions:
        target = plan.get((partition.topic, partition.partition))
        if target is None or (partition.topic, partition.partition) in obscure:
            continue
        steps, error = _executed(controller, partition, target)
        name = f"{partition.topic}-{partition.partition}"
        lines.append(f"{name}: {_ids(partition.replicas)} to {_ids(target)}" + _refusal(controller, error))
        lines += [f"  {line}" for line in _step_lines(controller, steps)] if steps else []
        data.append({"topic": partition.topic, "partition": partition.partition, "target": target, "error": error,
                     "steps": [asdict(step) for step in steps]})  # fmt: skip
    return Listing(
        snapshot.cluster,
        f"Asked for at {date_time(snapshot.at)} UTC, the controller would have taken these steps for "
        f"{plural(len(data), 'partition')}.",
        lines,
        [
            *_not_there(snapshot, plan),
            *_obscure_words(obscure),
            *_unknown(snapshot, [name for name in unknown if _is_planned(plan, name)]),
        ],
        {"at": iso(snapshot.at), "reassignments": data},
    )


def _refusal(controller: Controller, error: str | None) -> str:
    """How the tool is answered. What stands in ZooKeeper under /admin/reassign_partitions is not checked as requests
    are (KafkaController.processZkPartitionReassignment, 2.4 on)."""
    if error is None:
        return ""
    is_of_api = error == "INVALID_REPLICA_ASSIGNMENT" and not controller.kraft
    return f": {error}{' (of the admin API; a plan in ZooKeeper is not checked)' if is_of_api else ''}"


def _executed(
    controller: Controller, partition: Partition, target: Sequence[int]
) -> tuple[list[ReassignmentStep], str | None]:
    try:
        return execute(controller, partition, target)
    except ValueError as error:
        raise BadInput(f"{error}.") from None


def _step_lines(controller: Controller, steps: Sequence[ReassignmentStep]) -> list[str]:
    """Steps in columns; KRaft's controller sends no requests, so there is no column of them."""
    head = ("step", "assignment", "leader", "isr", "leader epoch", *(() if controller.kraft else ("requests",)))
    rows: list[Sequence[object]] = []
    for s in steps:
        sent = () if controller.kraft else (requests_in_words(s.requests, controller.alive),)
        rows.append((s.step, _ids(s.assignment), s.leader, _ids(s.isr), s.leader_epoch, *sent))
    return in_columns(head, rows)


def verify_text(snapshot: Snapshot, plan: Plan, form: str = "text") -> str:
    """What `kafka-reassign-partitions --verify` would have printed of a plan; as JSON by partition."""
    if snapshot.is_before:
        raise BadInput(too_early(snapshot).sentence)
    lines = []
    described = {(t.name, p.partition): (t, p) for t in snapshot.state.topics for p in t.partitions}
    for (topic, number), target in plan.items():
        t, p = described.get((topic, number), (None, None))
        whole = None if t is None or p is None else _partition(t, p, is_kraft=snapshot.state.tool.kraft)
        if p is None or whole is None:
            lines.append(f"The assignment of partition {topic}-{number} is in no line of the logs.")
        else:
            lines.append(verify(whole, target, is_reassigning=p.reassigning or bool(p.adding or p.removing)))
    if form == "json":
        partitions = [
            {"topic": topic, "partition": number, "target": target, "status": line}
            for ((topic, number), target), line in zip(plan.items(), lines, strict=True)
        ]
        return json.dumps({"partitions": partitions}, indent=2) + "\n"
    return "\n".join(["Status of partition reassignment:", *lines]) + "\n"


def _not_there(snapshot: Snapshot, plan: Plan) -> list[str]:
    """Which partitions of a plan the logs do not show at its moment, in a sentence."""
    there = {(topic.name, p.partition) for topic in snapshot.state.topics for p in topic.partitions}
    names = [f"{topic}-{number}" for topic, number in plan if (topic, number) not in there]
    return [f"What it would have done to {listed(names, 3)}: not there at that moment."] if names else []


def _obscure(snapshot: Snapshot, plan: Plan) -> list[tuple[str, int]]:
    """Partitions of a plan with a pending reassignment of which no line has the lists."""
    described = {(topic.name, p.partition): p for topic in snapshot.state.topics for p in topic.partitions}
    return [key for key, p in described.items() if key in plan and p.reassigning and not (p.adding or p.removing)]


def _obscure_words(names: Sequence[tuple[str, int]]) -> list[str]:
    if not names:
        return []
    partitions = listed([f"{topic}-{number}" for topic, number in names], 3)
    why = "a reassignment was pending, and no line has what it added and removed"
    return [f"What it would have done to {partitions}: {why}."]


def _is_planned(plan: Plan, name: str) -> bool:
    return any(name == f"{topic}-{number}" for topic, number in plan)


def too_early(snapshot: Snapshot) -> Listing:
    """The answer about a moment before the logs."""
    return Listing(snapshot.cluster, f"Nothing is known about {date_time(snapshot.asked)} UTC: the logs begin later.")


def notes_of(snapshot: Snapshot) -> list[str]:
    """What is not known about a moment, in sentences; one behind the logs is answered as their end."""
    asked, last = date_time(snapshot.asked), date_time(snapshot.last)
    late = [f"What changed until {asked} UTC: the logs end at {last}."] if snapshot.asked > snapshot.last else []
    return [*late, *snapshot.notes]


def _unknown(snapshot: Snapshot, names: Sequence[str]) -> list[str]:
    unknown = notes_of(snapshot)
    if names:
        isr = "ISR (if it is empty, the ELR)" if snapshot.state.tool.kraft else "ISR"
        unknown.append(f"What it would have done to {', '.join(names[:3])}: leader, {isr} or assignment is in no line.")
    if not snapshot.state.brokers:
        unknown.append("Which brokers were alive: no controller's log shows it; all replicas count as alive.")
    return unknown


def _ids(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))


def _an(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"
