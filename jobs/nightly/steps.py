"""The steps after the ingest: timelines, detect, replay. Each reads tables that were written before and writes its own.

A step reads tables, never the plan that wrote them: as rows that are still cached where this run wrote them as a whole
(`Warehouse.is_cached`), else from the warehouse. That keeps plans small, and steps give the same one by one or in one
nightly run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.checkpoints import checkpointed, held
from jobs.findings.broker_signs import clusters_in_other_doubt, to_broker_signs, with_doubts
from jobs.findings.clean_by_settings import with_clean_by_settings
from jobs.findings.controller_activity import to_controller_activity
from jobs.findings.elections import to_elections
from jobs.findings.gauges import (
    to_cluster_minutely,
    to_preferred_replica_imbalance,
    to_topic_availability,
    with_assignments,
)
from jobs.findings.incidents import to_incidents
from jobs.findings.isr import to_isr_changes, to_isr_churn
from jobs.findings.last_brokers import to_last_brokers, without_deleted
from jobs.findings.log_dirs import to_log_dir_failures
from jobs.findings.lost_lines import all_lossy_hours, without_lost_lines
from jobs.findings.metadata_caches import to_cache_verdicts
from jobs.findings.node_stops import to_node_stops
from jobs.findings.outage_causes import with_causes, with_latency
from jobs.findings.outages import to_outages
from jobs.findings.overtaken_replicas import SERVER_LOGS, to_overtaken
from jobs.findings.reassignments import to_reassignments
from jobs.findings.replay import showing_elr, to_verdicts
from jobs.findings.switches import with_default_switch
from jobs.findings.takeovers import to_takeovers
from jobs.nightly.incremental import AppendedClusters, Scope, since_coverage_changed
from jobs.nightly.inputs import DerivationInputs
from jobs.nightly.plan import Plan
from jobs.nightly.window_check import WindowTooShort
from jobs.nightly.windows import Windows, choose_windows, lasting_into, windows_of_pruned
from jobs.nightly.work import Work
from jobs.progress import SILENT, Progress
from jobs.session import size_session, with_settings
from jobs.settings import Settings
from jobs.timelines import clocks
from jobs.timelines.brokers import to_broker_timeline
from jobs.timelines.controllers import to_logged_terms
from jobs.timelines.kafka_releases import to_term_releases
from jobs.timelines.known_spans import CLUSTER_LOGS, CONTROLLER_LOGS, to_controller_runs, within_terms
from jobs.timelines.partitions import to_contradictions, to_partition_timeline, with_until
from jobs.timelines.row_streams import ROWS_PER_BATCH, no_rows
from jobs.timelines.topics import to_topic_timeline
from jobs.warehouse.tables import Warehouse
from schemas.config_changes import CONFIG_CHANGES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


TABLES: Mapping[str, tuple[str, ...]] = {
    "timelines": (
        "clock_offsets", "control_requests", "controller_timeline", "broker_timeline", "topic_timeline",
        "partition_timeline", "contradictions",
    ),
    "detect": (
        "elections", "isr_changes", "reassignments", "log_dir_failures", "offline_partitions", "isr_churn", "incidents",
        "topic_availability", "preferred_replica_imbalance", "cluster_minutely", "controller_activity",
        "config_changes",
    ),
    "replay": ("verdicts",),
}  # fmt: skip
"""By step the tables that it writes."""

MAKERS = 8
"""Tables made and saved at once: some are planned, some computed, and some wait for a commit."""
STEP_SETTINGS = {
    # a damaged line may print the largest number that there is as an epoch: what counts on from it wraps round, and is
    # next to no other, where Spark would else end the night
    "spark.sql.ansi.enabled": "false",
    # the size of a list that is not there stays unknown; without ANSI it is -1 else
    "spark.sql.legacy.sizeOfNull": "false",
    # rows for Python workers are counted, not measured: Spark measures the whole batch for each row
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS_PER_BATCH),
}
"""What the steps run with."""


def derive(
    warehouse: Warehouse,
    plan: Plan,
    settings: Settings,
    stage: Callable[[str], AbstractContextManager[None]],
    say: Callable[[str], None],
    progress: Progress = SILENT,
) -> None:
    """Do the steps of a plan, each within its stage; once more where a window turns out to be too short."""
    if not plan.clusters:
        return
    longest = windows_of_pruned(warehouse, plan.clusters)
    chosen = choose_windows(warehouse, since_coverage_changed(warehouse, plan.appended_since))
    windows = {
        **chosen,
        **{name: w for name, w in longest.items() if name not in chosen or chosen[name].begin < w.begin},
    }
    for cluster, window in sorted(windows.items()):
        why = "events before were pruned" if window.is_of_pruned else "with new events since then"
        say(f"{cluster}: rows that ended before {window.seal:%F %H:%M} stay, {why}")
    while True:
        if chosen or windows:
            _size_session(warehouse, plan.clusters, windows)
        try:
            _derive(warehouse, plan, settings, windows, stage, say, progress)
            return
        except WindowTooShort as too_short:
            for cluster, reason in sorted(too_short.reasons.items()):
                say(f"{cluster} is rebuilt {'since it was pruned' if cluster in longest else 'as a whole'}: {reason}")
            others = {name: window for name, window in windows.items() if name not in too_short.reasons}
            windows = others | {name: longest[name] for name in too_short.reasons if name in longest}
            # rows of all of its topics are those of the window by now
            left = {name: at for name, at in plan.appended_since.items() if name not in too_short.reasons}
            plan = replace(plan, appended_since=left)
            warehouse.spark.catalog.clearCache()


def _derive(
    warehouse: Warehouse,
    plan: Plan,
    settings: Settings,
    windows: Windows,
    stage: Callable[[str], AbstractContextManager[None]],
    say: Callable[[str], None],
    progress: Progress,
) -> None:
    """Do the steps of a plan. Raises WindowTooShort if a window gave other rows than are published."""
    measures_clocks = "timelines" in plan.steps or not warehouse.exists("clock_offsets")
    inputs = DerivationInputs(warehouse, plan.clusters, measures_clocks, windows)
    scope = Scope(tuple(name for name in plan.clusters if name not in windows), windows=windows)
    with ThreadPoolExecutor(MAKERS) as pool:
        work = Work(warehouse, settings, inputs, scope, pool)
        for name in plan.steps:
            tables = TABLES[name]

            def written(tables: Collection[str] = tables) -> int:
                return sum(table in warehouse.written or warehouse.is_cached(table) for table in tables)

            configured = with_settings(warehouse.spark, STEP_SETTINGS)
            with configured, stage(name), progress.step(name, len(tables), "tables", written):
                if name == "timelines":
                    work = write_timelines(work, plan.appended_since, say)
                elif name == "detect":
                    write_findings(work)
                else:
                    write_verdicts(work)
                if name == plan.steps[-1]:
                    work.finish()
        if windows:
            with stage("compare"):
                for sentence in work.compare():
                    say(sentence)
    warehouse.spark.catalog.clearCache()


def _size_session(warehouse: Warehouse, clusters: Collection[str], windows: Windows) -> None:
    """Fit a session of our own to what of the clusters' logs is worked out, which may be little of what is there."""
    streams = warehouse.newest("log_files").where(F.col("cluster").isin(*clusters))
    sizes = streams.groupBy("cluster").agg(F.sum("size_bytes").alias("bytes")).collect()
    shares = {cluster: window.share for cluster, window in windows.items()}
    size_session(warehouse.spark, int(sum(row["bytes"] * shares.get(row["cluster"], 1) for row in sizes)))


# ---- timelines ------------------------------------------------------------------------------------------------------
def write_timelines(work: Work, appended_since: Mapping[str, datetime], say: Callable[[str], None]) -> Work:
    """Who and what was there when, on one clock: requests, topics, controllers, brokers, partitions.

    Returns the work of the steps that follow: of clusters with `appended_since` often only some topics are rebuilt.
    """
    inputs = work.inputs
    offsets, requests = inputs.clock_offsets, inputs.requests
    if inputs.corrections is not None:
        requests = clocks.requests_on_cluster_clock(requests, inputs.corrections)
    controllers = inputs.controllers
    brokers = checkpointed(to_broker_timeline(inputs.events, controllers, inputs.kinds))
    windows = work.scope.windows
    chosen = [name for name, window in windows.items() if not window.is_of_pruned]
    since = {name: at for name, at in appended_since.items() if name in chosen or not windows}
    if since:
        appended = AppendedClusters(work.warehouse, since, inputs.events, inputs.facts, inputs.life_starts)
        if not windows:
            work = work.within(appended.scope(inputs.clusters, offsets, controllers, brokers))
            _say_scope(work.scope, appended, say)
        else:
            appended.compare_evidence(offsets, controllers, brokers)
            if appended.reasons:
                raise WindowTooShort(appended.reasons)

    def topics() -> DataFrame:
        rows = to_topic_timeline(work.events, inputs.life_starts)
        return rows.where(work.scope.rows_of("topic_timeline")) if work.scope.topics else rows

    work.write(
        {
            "clock_offsets": lambda: offsets,
            "control_requests": lambda: requests,
            "controller_timeline": lambda: controllers,
            "broker_timeline": lambda: brokers,
            "topic_timeline": topics,
        }
    )
    settings = work.pool.submit(lambda: work.config_changes)  # beside the states
    states, written_topics = work.states, work.table("topic_timeline")
    work.write(
        {
            "partition_timeline": lambda: to_partition_timeline(
                states, written_topics, work.settings, settings.result()
            ),
            "contradictions": lambda: to_contradictions(states),
        }
    )
    return work


def _say_scope(scope: Scope, appended: AppendedClusters, say: Callable[[str], None]) -> None:
    """Say of each cluster that was appended to what of it is rebuilt."""
    for name, topics in scope.topics.items():
        count = f"{len(topics):,} topics have" if len(topics) != 1 else "1 topic has"
        say(f"{name}: {count} new events since {appended.since[name]:%F %T}; the others are unchanged")
    for name, reason in sorted(appended.reasons.items()):
        say(f"{name} is rebuilt as a whole, with new events since {appended.since[name]:%F %T}: {reason}")


# ---- detect ---------------------------------------------------------------------------------------------------------
def write_findings(work: Work) -> None:
    """What happened: elections, ISR changes, reassignments, then outages and churn, then what all of it comes to."""
    events, topics, partitions = work.events, work.table("topic_timeline"), work.table("partition_timeline")
    kinds = work.inputs.kinds
    # a node's way is that of its cluster, whichever topics are rebuilt
    controllers, config_changes = work.table("controller_timeline"), work.config_changes
    stops = to_node_stops(work.inputs.events, work.table("broker_timeline"), controllers)
    failures = to_log_dir_failures(work.inputs.events, stops, kinds)
    lately = stops.where(lasting_into(work.scope.windows, "until"))
    work.write(
        {
            "elections": lambda: _elections_with_latency(work, lately, failures),
            "isr_changes": lambda: to_isr_changes(partitions, events, topics, controllers, kinds),
            "reassignments": lambda: to_reassignments(events, partitions, topics, controllers, stops, kinds),
            "log_dir_failures": lambda: failures,
            "controller_activity": lambda: to_controller_activity(work.inputs.events),
            "config_changes": lambda: (
                no_rows(work.warehouse.spark, CONFIG_CHANGES.schema) if config_changes is None else config_changes
            ),
        }
    )
    ends = work.inputs.events.groupBy("cluster").agg(F.max("at").alias("end_of_logs"))
    # of all topics: who is out of sync is so until the logs end
    changes, elections = work.whole("isr_changes"), work.whole("elections")
    of_churn = ("isr_changes", "elections", "partition_timeline", "topic_timeline")
    left_by, led_by, assigned_by, existing = (work.with_sealed(name, "isr_churn") for name in of_churn)
    work.write(
        {
            "offline_partitions": lambda: _outages_with_causes(work, stops, lately),
            "isr_churn": lambda: to_isr_churn(left_by, led_by, assigned_by, existing, ends, stops, work.settings),
        }
    )
    outages = work.table("offline_partitions")
    assigned = held(with_assignments(work.whole("partition_timeline"), outages))
    offline, states = (
        work.with_sealed(name, "topic_availability") for name in ("offline_partitions", "partition_timeline")
    )
    failed_dirs, reassignments = work.table("log_dir_failures"), work.whole("reassignments")
    lives, coverage = work.whole("topic_timeline"), work.inputs.facts.coverage
    work.write(
        {
            "incidents": lambda: to_incidents(
                stops, failed_dirs, outages, elections, reassignments, changes, controllers, lives, work.inputs.events
            ),
            "topic_availability": lambda: to_topic_availability(
                offline, states, lives, ends, work.settings, config_changes
            ),
            "preferred_replica_imbalance": lambda: to_preferred_replica_imbalance(assigned),
            "cluster_minutely": lambda: to_cluster_minutely(
                outages, assigned, controllers, elections, changes, coverage
            ),
        }
    )


def _elections_with_latency(work: Work, lately: DataFrame, failed_dirs: DataFrame) -> DataFrame:
    """Elections of the topics in scope. `lately`: stops that last into a window."""
    states, topics = work.table("partition_timeline"), work.table("topic_timeline")
    spans, kinds = work.known_spans(CONTROLLER_LOGS, "node_id"), work.inputs.kinds
    overtaken, starts = None, work.leader_epoch_starts
    if starts is not None:  # else each state is in a line
        brokers, controllers = work.table("broker_timeline"), work.table("controller_timeline")
        overtaken = to_overtaken(brokers, controllers, work.known_spans(SERVER_LOGS, "node_id"))
    elections = to_elections(states, work.events, topics, spans, kinds, starts, overtaken)
    of_cluster, clusters = work.known_spans(CONTROLLER_LOGS), work.clusters_without_requests
    elections = with_clean_by_settings(elections, work.events, of_cluster, work.config_changes, clusters)
    return with_latency(elections, lately, failed_dirs, topics, work.known_spans(CLUSTER_LOGS))


def _outages_with_causes(work: Work, stops: DataFrame, lately: DataFrame) -> DataFrame:
    """Outages of all topics, of those in scope rebuilt: a cause may be known only later. `lately`: stops that last into
    a window."""
    led = with_until(work.led_states, work.table("topic_timeline"))
    spans, lives = work.known_spans(CLUSTER_LOGS), work.inputs.life_starts
    brokers = work.table("broker_timeline")
    controllers = work.table("controller_timeline")
    takeovers, last_brokers = checkpointed(to_takeovers(stops, controllers)), to_last_brokers(brokers, controllers)
    outages = to_outages(led, work.table("elections"), brokers, spans, work.events, takeovers, last_brokers, lives)
    if work.scope.topics:
        others = work.inputs.all_rows("offline_partitions").where(f"NOT ({work.scope.rows_of('topic_timeline')})")
        outages = outages.unionByName(others)
    runs = to_controller_runs(controllers, work.inputs.facts.coverage)
    caused = with_causes(outages, lately, work.table("log_dir_failures"), work.whole("topic_timeline"), takeovers, runs)
    return without_deleted(caused, last_brokers)


# ---- replay ---------------------------------------------------------------------------------------------------------
def write_verdicts(work: Work) -> None:
    """Whether each decision matches Kafka's algorithm."""
    shows_elr = showing_elr(work.whole("partition_timeline"))
    work = _with_changed_elr(work, shows_elr)
    by_cluster = work.releases
    terms, brokers = work.table("controller_timeline"), work.table("broker_timeline")
    # whatever topics are in scope, all of them show whether a broker was there
    all_states = work.whole("partition_timeline") if work.scope.topics else work.table("partition_timeline")
    signs = checkpointed(to_broker_signs(all_states, work.inputs.events))
    seen = checkpointed(with_doubts(brokers, signs))
    work = _with_changed_doubts(work, seen)
    of_terms = checkpointed(to_term_releases(terms, work.inputs.events, work.settings.kafka_versions))
    names = "elections", "partition_timeline", "reassignments", "offline_partitions", "topic_timeline"
    elections, states, reassignments, outages, topics = map(work.table, names)
    elections = with_default_switch(elections, work.config_changes)
    all_topics = work.whole("topic_timeline")
    logged_terms, spans = terms, work.known_spans(CONTROLLER_LOGS)
    of_kraft = [cluster for cluster, (_, is_kraft) in by_cluster.items() if is_kraft]
    if len(of_kraft) < len(by_cluster):
        logged_terms = checkpointed(to_logged_terms(terms, work.inputs.events))
        # a controller of KRaft has replayed what the ones before knew
        of_zookeeper = logged_terms.where(~F.col("cluster").isin(*of_kraft))
        spans = checkpointed(within_terms(spans, of_zookeeper))

    def verdicts() -> DataFrame:
        of_decisions = to_verdicts(
            elections,
            states,
            terms,
            logged_terms,
            brokers,
            seen,
            signs,
            reassignments,
            outages,
            topics,
            spans,
            work.events,
            shows_elr,
            work.inputs.facts,
            by_cluster,
            of_terms,
            work.settings,
        )
        # whatever topics are in scope, brokers are judged by all
        of_brokers = to_cache_verdicts(work.inputs.events, all_topics, brokers, by_cluster, work.inputs.kinds)
        hours = all_lossy_hours(work.whole("control_requests"), work.inputs.facts)
        return without_lost_lines(of_decisions.unionByName(of_brokers), hours)

    work.write({"verdicts": verdicts})


def _with_changed_doubts(work: Work, seen: DataFrame) -> Work:
    """All topics of a cluster are judged again if other stays or absences of brokers, of those that were known, are in
    doubt now: another broker's log may have come later than those that showed it."""
    if not work.scope.topics:
        return work
    brokers, states, events = map(work.warehouse.read, ("broker_timeline", "partition_timeline", "events"))
    of_scope = F.col("cluster").isin(*work.scope.topics)
    before = with_doubts(brokers, to_broker_signs(states.where(of_scope), events.where(of_scope)))
    changed = clusters_in_other_doubt(before, seen.where(of_scope))
    return work.within(work.scope.widened(changed)) if changed else work


def _with_changed_elr(work: Work, shows_elr: DataFrame) -> Work:
    """All topics of a cluster are judged again if its states show eligible leader replicas now and did not before."""
    if not work.scope.topics:
        return work
    sides = (showing_elr(work.warehouse.read("partition_timeline")), shows_elr)
    before, after = ({row["cluster"] for row in side.collect()} for side in sides)
    changed = (before ^ after) & {*work.scope.topics}
    return work.within(work.scope.widened(changed)) if changed else work
