"""Replay: each decision against the algorithm of its Kafka release, each partition's states against the invariants.

Spark joins the inputs; rows then stream through `udfs.kafka.verdict_rows` in the workers, sorted where order matters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial, reduce
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.checkpoints import checkpointed
from jobs.findings.clean_by_settings import clusters_with_all_writes
from jobs.findings.decision_inputs import to_election_inputs
from jobs.findings.lost_lines import with_refuted_input
from jobs.findings.new_leader_epochs import to_new_leader_epochs
from jobs.findings.other_decisions import (
    to_created_topics,
    to_rebalance_lines,
    to_silent_outages,
    with_clean_exit,
)
from jobs.findings.printed_facts import with_printed
from jobs.findings.refusals import to_refusals
from jobs.findings.registered_brokers import registered
from jobs.findings.request_lines import ABOUT_REQUESTS, to_requests_by_partition
from jobs.findings.state_inputs import with_state_inputs
from jobs.findings.switches import settled_switch
from jobs.settings import Settings
from jobs.timelines.cluster_facts import ClusterFacts, EvidenceKinds
from jobs.timelines.controllers import kraft_takeovers
from jobs.timelines.kafka_releases import to_node_releases
from jobs.timelines.row_streams import map_rows
from jobs.timelines.topics import INCARNATION, with_incarnation
from schemas.findings import VERDICTS
from schemas.spark import IDS
from udfs.kafka import rebalance_verdicts as rebalance_lines
from udfs.kafka import refusal_verdicts as refusal_lines
from udfs.kafka.election_verdicts import ASSIGNMENT_ORDER
from udfs.kafka.releases import Release, first_release
from udfs.kafka.verdict_rows import (
    Releases,
    broker_verdicts,
    controller_verdicts,
    creation_verdicts,
    election_verdicts,
    outage_verdicts,
    reassignment_verdicts,
    rebalance_verdicts,
    refusal_verdicts,
    request_verdicts,
    state_verdicts,
    transition_verdicts,
)
from udfs.kafka.verdicts_columns import doubt

ALGORITHMS = Release(1, 1)
"""From here on elections are functions; the selectors before print more of what they go by."""
TRANSITIONS = ("partition_state_change", "replica_state_change")
PLANNERS = 3
"""Threads that plan inputs of verdicts: what small logs cost is planning, so that is done side by side."""
JUDGED_LINES: Mapping[Callable[..., Any], Sequence[str]] = {
    transition_verdicts: TRANSITIONS,
    request_verdicts: ABOUT_REQUESTS,
    refusal_verdicts: refusal_lines.LINES,
    rebalance_verdicts: rebalance_lines.LINES,
}
"""Functions that judge lines of some types, each by itself: without any of them their rows are not planned."""
ONLINE = ("certainly_online", "possibly_online")


def to_verdicts(
    elections: DataFrame,
    states: DataFrame,
    controllers: DataFrame,
    logged_terms: DataFrame,
    brokers: DataFrame,
    seen: DataFrame,
    signs: DataFrame,
    reassignments: DataFrame,
    outages: DataFrame,
    topics: DataFrame,
    known_spans: DataFrame,
    events: DataFrame,
    shows_elr: DataFrame,
    facts: ClusterFacts,
    releases: Releases,
    term_releases: DataFrame,
    settings: Settings,
) -> DataFrame:
    """ELECTIONS with `default_switch`, PARTITION_TIMELINE, CONTROLLER_TIMELINE, BROKER_TIMELINE, REASSIGNMENTS,
    OFFLINE_PARTITIONS, TOPIC_TIMELINE, EVENTS -> VERDICTS.

    `logged_terms`: see `to_logged_terms`; `known_spans`: rows of `to_known_spans` within them; `seen`, `signs`: see
    `with_doubts`, `to_broker_signs`; `shows_elr`: see `showing_elr`; `releases`: by cluster release and mode, without
    which nothing is judged; `term_releases`: see `to_term_releases`, and they and `to_node_releases` count before.
    """
    takeovers, term = kraft_takeovers(controllers), ["cluster", "controller_epoch"]  # KRaft decides from then on
    of_cluster = checkpointed(shows_elr.withColumn("shows_elr", F.lit(True)).join(takeovers, "cluster", "full"))
    of_cluster = F.broadcast(of_cluster)
    of_term, of_node = F.broadcast(term_releases), to_node_releases(events, settings.kafka_versions)
    printed = checkpointed(with_printed(states, events))
    elections = with_clean_exit(elections, events, brokers).join(of_cluster, "cluster", "left")
    elections = elections.join(of_term, term, "left")
    before = [_zookeeper_before(release, releases) for release in (ASSIGNMENT_ORDER, ALGORITHMS)]
    begun = _begun(events, topics, releases, facts)
    judged = with_state_inputs(printed, events, known_spans, facts, settings)
    judged = _with_facts(judged, of_cluster, facts.kraft_clusters, of_term)
    planning: dict[Callable[..., Any], Callable[[], DataFrame]] = {
        transition_verdicts: lambda: to_transitions(events, topics).join(of_term, term, "left"),
        request_verdicts: lambda: to_requests_by_partition(events, topics, brokers, of_node, facts.coverage, settings),
        reassignment_verdicts: lambda: to_completed(
            _with_terms(reassignments, of_cluster, controllers, of_term), states, releases, facts
        ),
        refusal_verdicts: lambda: to_refusals(events, topics, states, brokers),
        outage_verdicts: lambda: to_silent_outages(outages, states, brokers, logged_terms, events, facts),
        creation_verdicts: lambda: to_created_topics(states, topics).join(of_cluster, "cluster", "left"),
        rebalance_verdicts: lambda: to_rebalance_lines(events, of_node),
    }
    with ThreadPoolExecutor(PLANNERS) as pool:
        planned = {judge: pool.submit(plan) for judge, plan in planning.items() if _may_judge(judge, facts.kinds)}
        known_by = to_election_inputs(
            elections, states, seen, signs, topics, known_spans, events, settings, facts.kraft_clusters, begun, *before
        )
        inputs = checkpointed(with_refuted_input(_with_first_states(known_by, printed)))
        caused = to_caused_states(judged, inputs, seen, known_spans, facts.kraft_clusters)
        others = {judge: rows.result() for judge, rows in planned.items()}
        by_release = {election_verdicts: _in_order(inputs), state_verdicts: caused, **others}
    of_controllers = map_rows(_terms(controllers), controller_verdicts, VERDICTS.schema)
    of_brokers = map_rows(_registrations(brokers, facts, takeovers), broker_verdicts, VERDICTS.schema)
    return _by_release(by_release, releases).unionByName(of_controllers).unionByName(of_brokers)


def _may_judge(judge: Callable[..., Any], kinds: EvidenceKinds) -> bool:
    """Whether there may be lines that a function judges."""
    return judge not in JUDGED_LINES or kinds.have(JUDGED_LINES[judge])


def _with_facts(states: DataFrame, of_cluster: DataFrame, rules: DataFrame, of_term: DataFrame) -> DataFrame:
    """States with the facts of their cluster and controller term, where known; `rules`: `to_kraft_clusters`."""
    rules = F.broadcast(rules.select("cluster", "raises_epoch_of_shrink"))
    of_clusters = states.join(of_cluster, "cluster", "left").join(rules, "cluster", "left")
    return of_clusters.join(of_term, ["cluster", "controller_epoch"], "left")


def _first_of_epochs(states: DataFrame) -> DataFrame:
    """States with `printed` -> INCARNATION, leader_epoch, `state_evidence`, `printed`, `partition_epoch` of the first
    state of each leader epoch, and `is_undated`: it is inferred, no step of a controller is known that made it (which
    would be its second line), and the next state is as old, or there is none."""
    is_over_at_once = F.coalesce(F.col("since") == F.col("until"), F.lit(True))
    is_undated = F.col("inferred") & is_over_at_once & (F.size("evidence") < 2)
    of_state = F.struct("evidence", "printed", "partition_epoch", is_undated.alias("is_undated"))
    first = F.min_by(of_state, "ordinal").alias("first")
    return (
        states.groupBy(*INCARNATION, "leader_epoch")
        .agg(first)
        .select(
            *INCARNATION, "leader_epoch", F.col("first.evidence").alias("state_evidence"), "first.printed",
            "first.partition_epoch", "first.is_undated",
        )
    )  # fmt: skip


def _with_first_states(elections: DataFrame, states: DataFrame) -> DataFrame:
    """Elections with what they were decided by -> the same with the columns of `_first_of_epochs`; who was alive is
    unknown at a time that is."""
    elections = elections.join(_first_of_epochs(states), [*INCARNATION, "leader_epoch"], "left")
    nobody, is_undated = F.array().cast(IDS), F.coalesce("is_undated", F.lit(False))
    return elections.withColumns(
        {name: F.when(is_undated, nobody).otherwise(F.col(name)) for name in ONLINE}
        | {
            "live_brokers": F.when(~is_undated, F.col("live_brokers")),
            "lists_live": F.col("lists_live") & ~is_undated,
        }
    ).drop("is_undated")


def _begun(events: DataFrame, topics: DataFrame, releases: Releases, facts: ClusterFacts) -> DataFrame | None:
    """EVENTS, TOPIC_TIMELINE -> INCARNATION, leader_epoch, `begun_at`: when leaders log that they begin leader epochs.
    None if no cluster needs it: KRaft's, and ZooKeeper's with their requests, log the decisions themselves."""
    dated = clusters_with_all_writes(releases, facts)
    if not {*releases} - {*dated}:
        return None
    lines = to_new_leader_epochs(events.where(~F.col("cluster").isin(*dated)), facts.kinds)
    return with_incarnation(lines, topics).groupBy(*INCARNATION, "leader_epoch").agg(F.min("at").alias("begun_at"))


def _in_order(elections: DataFrame) -> DataFrame:
    """Elections of one incarnation together, in order of time."""
    return elections.repartition(*INCARNATION).sortWithinPartitions(*INCARNATION, "at", "leader_epoch")


def _by_release(judged: Mapping[Callable[..., Any], DataFrame], releases: Releases) -> DataFrame:
    """What each function makes of its rows by the release of their cluster, as VERDICTS."""
    frames = (map_rows(rows, partial(judge, releases=releases), VERDICTS.schema) for judge, rows in judged.items())
    return reduce(DataFrame.unionByName, frames)


def _terms(controllers: DataFrame) -> DataFrame:
    """CONTROLLER_TIMELINE -> the terms of one life of a cluster and mode together, in order; times of steps in
    microseconds."""
    steps = F.transform("steps", lambda step: step.withField("at", F.unix_micros(step["at"])))
    return (
        controllers.withColumn("steps", steps)
        .repartition("cluster")
        .sortWithinPartitions("cluster", "cluster_incarnation", "mode", "since", "controller_epoch")
    )


def _zookeeper_before(release: Release, releases: Releases) -> list[str]:
    """Clusters that ran an earlier release, with ZooKeeper."""
    return [name for name, (text, is_kraft) in releases.items() if not is_kraft and first_release(text) < release]


def _with_terms(
    reassignments: DataFrame, of_cluster: DataFrame, controllers: DataFrame, of_term: DataFrame
) -> DataFrame:
    """REASSIGNMENTS, facts of clusters, CONTROLLER_TIMELINE, rows of `to_term_releases` -> with the facts and
    `term_releases`: what the controllers that may have ended each printed as their version, null of one that printed
    none; null if no term is known."""
    term = F.struct("since", "until", "term_release")
    terms = (
        controllers.join(of_term, ["cluster", "controller_epoch"], "left")
        .groupBy("cluster")
        .agg(F.collect_list(term).alias("terms"))
    )
    end = F.col("until")
    may_have_ended = F.filter(
        "terms",
        lambda t: (t["since"] <= end + doubt()) & (t["until"].isNull() | (t["until"] >= end - doubt())),
    )
    return (
        reassignments.join(of_cluster, "cluster", "left")
        .join(F.broadcast(terms), "cluster", "left")
        .withColumn("term_releases", F.transform(may_have_ended, lambda t: t["term_release"]))
        .drop("terms")
    )


def to_completed(reassignments: DataFrame, states: DataFrame, releases: Releases, facts: ClusterFacts) -> DataFrame:
    """REASSIGNMENTS, PARTITION_TIMELINE -> those that were completed, with `states`, `is_whole`, `ends`: see
    `judge_reassignment`, `judge_end`. Lines show states up to 2 s late. As it is completed it makes a state, which has
    to be there: behind the last one, at INFO, those that the controller wrote may be missing.
    """
    order = Window.partitionBy(*INCARNATION).orderBy("ordinal")
    end = F.lead("since").over(order)
    is_written = F.col("cluster").isin(*clusters_with_all_writes(releases, facts)) & (F.col("made_by") == "controller")
    is_last_known = end.isNull() & F.coalesce(is_written, F.lit(False))
    is_followed = F.coalesce(F.lead("missing_before").over(order) == 0, is_last_known)
    spans = states.where("isr IS NOT NULL").select(
        *INCARNATION,
        "ordinal",
        "isr",
        "leader",
        "replicas",
        F.col("since").alias("begin"),
        end.alias("end"),
        is_followed.alias("is_followed"),
        F.slice("evidence", 1, 1).alias("lines"),
    )
    may_be_last = F.col("end").isNull() | (F.col("end") >= F.col("until"))
    done = reassignments.where("state = 'completed' AND until IS NOT NULL")
    key = [*INCARNATION, "since"]
    around = (
        done.select(*key, "until")
        .join(spans, INCARNATION)
        .where(
            (F.col("begin") <= F.col("until") + doubt())
            & (F.col("end").isNull() | (F.col("end") >= F.col("since") - doubt()))
        )
        .groupBy(*key)
        .agg(
            F.array_sort(F.collect_list(F.struct("ordinal", "isr", "lines"))).alias("states"),
            F.array_sort(
                F.collect_list(F.when(may_be_last, F.struct("ordinal", "leader", "isr", "replicas", "lines")))
            ).alias("ends"),
            (
                F.min("is_followed")
                & (F.min("begin") <= F.first("since"))
                & (F.max("begin") >= F.first("until") - doubt())
            ).alias("is_whole"),
        )
    )
    return done.join(around, key, "left").withColumns(
        {
            "states": F.coalesce("states", F.array().cast(around.schema["states"].dataType)),
            "is_whole": F.coalesce("is_whole", F.lit(False)),
        }
    )


def to_transitions(events: DataFrame, topics: DataFrame) -> DataFrame:
    """EVENTS, TOPIC_TIMELINE -> of each partition and replica, and each ZooKeeper controller, `transitions`: the
    different ones that it logged, with the first line of each, in order of time. See `transition_verdicts`."""
    is_transition = F.col("event_type").isin(*TRANSITIONS)
    lines = events.where(is_transition & F.expr("controller_epoch IS NOT NULL AND topic IS NOT NULL")).select(
        "cluster",
        "topic",
        "partition",
        "at",
        "controller_epoch",
        F.col("fields")["from_state"].alias("from_state"),
        F.col("fields")["to_state"].alias("to_state"),
        F.col("fields")["replica"].try_cast("int").alias("replica"),
        F.struct("at", "node_id", "file_id", "line").alias("place"),
        "node_id",
    )
    path = [*INCARNATION, "node_id", "controller_epoch", "replica"]
    transition = F.struct("place.at", "place.file_id", "place.line", "place.node_id", "from_state", "to_state")
    return (
        with_incarnation(lines.where("from_state IS NOT NULL AND to_state IS NOT NULL"), topics)
        .groupBy(*path, "from_state", "to_state")
        .agg(F.min("place").alias("place"))
        .groupBy(*path)
        .agg(F.min("place.at").alias("at"), F.array_sort(F.collect_list(transition)).alias("transitions"))
    )


def _registrations(brokers: DataFrame, facts: ClusterFacts, takeovers: DataFrame) -> DataFrame:
    """BROKER_TIMELINE, rows of `kraft_takeovers` -> registrations with an epoch in order, of clusters that neither
    migrate nor were created anew: there epochs may begin again."""
    known = brokers.where("epoch IS NOT NULL").where(~F.col("cluster").isin(*facts.life_starts))
    known = known.join(F.broadcast(takeovers.select("cluster")), "cluster", "left_anti")
    return known.repartition("cluster", "broker").sortWithinPartitions("cluster", "broker", "since")


def showing_elr(states: DataFrame) -> DataFrame:
    """PARTITION_TIMELINE -> `cluster` of those in which any state has eligible leader replicas."""
    return states.where("size(elr) > 0 OR size(last_known_elr) > 0").select("cluster").distinct()


def to_caused_states(
    states: DataFrame, inputs: DataFrame, brokers: DataFrame, known_spans: DataFrame, kraft_clusters: DataFrame
) -> DataFrame:
    """PARTITION_TIMELINE, rows of `to_election_inputs`, of `with_doubts` -> states in stored order, each with what it
    was decided by.

    PARTITION_TIMELINE's columns, and null where unknown: of elections `trigger`, `unclean_enabled`; of these, of new
    partitions and of those whose ISR grew `certainly_online`, `possibly_online`. Incarnations stay together.
    Who joins the ISR of a leader that stays was online, unless records of a dump (`in_record`) tell the order of both.
    """
    is_asked_for = (F.col("strategy") == "offline") & (F.col("trigger") == "admin")
    trigger = (
        F.when(F.col("strategy") == "none", "epoch_refresh")
        .when(is_asked_for, "unclean_request")
        .otherwise(F.col("strategy"))
    )
    # registrations excuse, but never accuse: a line may show a state long after it was decided
    certain, possible, is_listed = F.col(ONLINE[0]), F.col(ONLINE[1]), F.col("lists_live")
    is_known = F.col("live_brokers").isNotNull() & F.col("isr").isNotNull()
    causes = inputs.where("succeeded").select(
        *INCARNATION,
        "leader_epoch",
        trigger.alias("trigger"),
        settled_switch().alias("unclean_enabled"),
        F.when(is_known, F.when(is_listed, certain).otherwise(F.array_intersect(certain, "isr"))).alias(ONLINE[0]),
        F.when(is_known, F.when(is_listed, possible).otherwise(F.array_union(possible, "isr"))).alias(ONLINE[1]),
    )
    order = Window.partitionBy(*INCARNATION).orderBy("ordinal")
    in_order = states.withColumns(
        {f"{name}_before": F.lag(name).over(order) for name in ("leader_epoch", "leader", "isr")}
    )
    is_first = ~F.col("leader_epoch_before").eqNullSafe(F.col("leader_epoch"))
    rows = in_order.withColumn("elected_epoch", F.when(is_first, F.col("leader_epoch")))
    elected = causes.withColumnRenamed("leader_epoch", "elected_epoch")
    grown = rows.where("isr_before IS NULL OR size(array_except(isr, isr_before)) > 0").select(
        *INCARNATION, F.col("since").alias("at"), F.col("since").alias("earliest"), F.col("ordinal").alias("decision"),
        F.array_union(F.coalesce("replicas", "isr"), "isr").alias("concerned"), "evidence",
    )  # fmt: skip
    then = registered(grown, brokers, known_spans, kraft_clusters).select(
        *INCARNATION, F.col("decision").alias("ordinal"), "certain", "possible"
    )
    is_in_order = F.col("in_record") & (F.col("leader") == F.col("leader_before"))
    known_then = F.when(is_in_order, F.col("possible")).otherwise(F.array_union("possible", "isr"))
    known = {ONLINE[0]: F.coalesce(ONLINE[0], "certain"), ONLINE[1]: F.coalesce(ONLINE[1], known_then)}
    return (
        rows.join(elected, [*INCARNATION, "elected_epoch"], "left")
        .join(then, [*INCARNATION, "ordinal"], "left")
        .withColumns(known)
        .drop("leader_epoch_before", "leader_before", "isr_before", "elected_epoch", "certain", "possible", "in_record")
        .repartition(*INCARNATION)
        .sortWithinPartitions(*INCARNATION, "ordinal")
    )
