"""What brokers log of their own registrations with ZooKeeper: their epochs, those that no controller noticed, and ends
that no controller was left to notice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.observations import number_of
from jobs.timelines.running_windows import rows_behind

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

REGISTERED = "broker_registered_in_zk"
CACHED = ("controller_context_broker_epochs", "broker_epochs_updated")
"""Controllers print the epochs of all live brokers, from 2.2 on."""
EPOCH_EVENTS = (REGISTERED, *CACHED)
STOPPED, CLOSING, STARTING = "broker_stopped", "zk_session_closing", ("broker_starting", "broker_started")
LIFE_EVENTS = (STOPPED, CLOSING, *STARTING)
"""What a broker logs of its own end, and of its start."""
MOST_STOP = "INTERVAL 60 SECONDS"
"""A broker that closes its session (from 1.1 on it logs that) has stopped so much later at most."""
LATE_US, NOTICED_US = 2_000_000, 60_000_000
"""A broker logs its registration so much later than the controller notices it at most, and the controller notices that
it is another one so much later."""
_PRINTED_EPOCH = r"(\d+) -> (\d+)"


def to_printed_epochs(events: DataFrame) -> DataFrame:
    """EVENTS -> cluster, broker, epoch, at, node_id, file_id, line, `how`: `registered` by the broker itself, its epoch
    null until 2.1, or `cached` by a controller."""
    place = ["cluster", "at", "node_id", "file_id", "line"]
    own = events.where(F.col("event_type") == REGISTERED).select(
        *place,
        F.coalesce(number_of("broker"), F.col("broker_id")).alias("broker"),
        F.col("fields")["broker_epoch"].try_cast("long").alias("epoch"),
        F.lit("registered").alias("how"),
    )
    printed = F.col("fields")["broker_epochs"]
    pairs = F.arrays_zip(*(F.regexp_extract_all(printed, F.lit(_PRINTED_EPOCH), n).alias(f"g{n}") for n in (1, 2)))
    cached = events.where(F.col("event_type").isin(*CACHED)).select(*place, F.explode(pairs).alias("pair"))
    of_controllers = cached.select(
        *place,
        F.col("pair.g1").try_cast("int").alias("broker"),
        F.col("pair.g2").try_cast("long").alias("epoch"),
        F.lit("cached").alias("how"),
    )
    return own.unionByName(of_controllers).where("broker IS NOT NULL")


def to_last_stops(events: DataFrame, transitions: DataFrame) -> DataFrame:
    """EVENTS, cluster, broker and `at` of what controllers logged about brokers -> cluster, broker, at, node_id,
    file_id, line: when brokers closed their sessions for good, of which no controller was left to take notice.

    A broker that starts again is no such one, and where a controller logs something about it later, that counts.
    """
    own = events.where(F.col("event_type").isin(*LIFE_EVENTS, REGISTERED)).select(
        "cluster",
        F.coalesce("node_id", "broker_id").alias("broker"),
        "event_type",
        F.struct("at", "node_id", "file_id", "line").alias("place"),
    )

    def last(*types: str) -> Column:
        return F.max(F.when(F.col("event_type").isin(*types), F.col("place")))

    of_brokers = own.groupBy("cluster", "broker").agg(
        last(STOPPED).alias("stop"), last(CLOSING).alias("closing"), last(*STARTING, REGISTERED).alias("start")
    )
    is_of_stop = F.col("closing.at").between(F.col("stop.at") - F.expr(MOST_STOP), F.col("stop.at"))
    ends = of_brokers.withColumn("end", F.when(is_of_stop, F.col("closing")).otherwise(F.col("stop")))
    seen = transitions.groupBy("cluster", "broker").agg(F.max("at").alias("seen_at"))
    return (
        ends.join(F.broadcast(seen), ["cluster", "broker"])
        .where("stop.at > coalesce(start.at, seen_at) AND end.at > seen_at")
        .select("cluster", "broker", "end.*")
    )


def with_registrations(transitions: DataFrame, order: list[Column]) -> DataFrame:
    """Rows of brokers that come up and go down, and of `to_printed_epochs` among them with `is_up` null -> the former,
    with epochs that were printed.

    A broker that registers while it counts as gone comes up then, unless the controller notices it soon. One that
    counts as up had gone: it goes down and comes up then, unless the controller notices it soon: by both at once
    (`bounced`), or by one after the other. A controller that starts has read who is
    there some time before it lists that, and finds the broker only with its next look.
    """
    by_broker = Window.partitionBy("cluster", "broker").orderBy(*order)
    before = by_broker.rowsBetween(Window.unboundedPreceding, -1)
    behind = rows_behind(("cluster", "broker"), order)
    changes = F.col("is_up").isNotNull()

    def next_of(which: Column, *names: str) -> Column:
        return F.last(F.when(which, F.struct(*names)), ignorenulls=True).over(behind)

    marked = transitions.withColumns(
        {
            "was_up": F.last("is_up", ignorenulls=True).over(before),
            "up_at": F.last(F.when(F.col("is_up"), F.col("at")), ignorenulls=True).over(before),
            "next_change": next_of(changes, "is_up", "how", "at"),
            "next_up_at": next_of(F.col("is_up"), "at")["at"],
            "next_registered_at": next_of(F.col("how") == "registered", "at")["at"],
        }
    )
    since_up = F.unix_micros("at") - F.unix_micros("up_at")
    is_another = (F.col("how") == "registered") & F.col("was_up") & (since_up > LATE_US)
    until_next = F.unix_micros("next_change.at") - F.unix_micros("at")
    is_bounced = (F.col("next_change.how") == "bounced") & (until_next <= NOTICED_US)
    is_of_next = F.unix_micros("next_registered_at") - F.unix_micros("next_up_at") <= LATE_US
    goes_and_comes = ~F.col("next_change.is_up") & (until_next <= LATE_US) & F.col("next_up_at").isNotNull()
    is_noticed = is_bounced | (goes_and_comes & ~F.coalesce(is_of_next, F.lit(False)))
    marked = marked.withColumns(
        {
            "is_another": F.coalesce(is_another, F.lit(False)),
            "is_noticed": F.coalesce(is_noticed, F.lit(False)),
        }
    )
    down, up = (
        F.struct(F.lit(is_up).alias("is_up"), F.lit(how).alias("how"), F.lit(rank).alias("rank"))
        for is_up, how, rank in ((False, "session_expired", 0), (True, "added", 1))
    )
    as_it_is = F.struct("is_up", "how", "rank")
    is_missed = F.col("is_another") & ~F.col("is_noticed")
    is_noticed_up = F.coalesce(F.col("next_change.is_up") & (until_next <= NOTICED_US), F.lit(False))
    comes_back = F.coalesce((F.col("how") == "registered") & ~F.col("was_up"), F.lit(False)) & ~is_noticed_up
    change = F.when(is_missed, F.array(down, up)).when(comes_back, F.array(up)).otherwise(F.array(as_it_is))
    rows = marked.withColumn("change", F.explode(change))
    others = [name for name in transitions.columns if name not in ("is_up", "how", "rank")]
    comes = F.col("is_another") & F.col("is_noticed")
    return _with_epochs(rows.select(*others, "change.*", comes.alias("comes_later")), order).select(
        *transitions.columns
    )


def _with_epochs(rows: DataFrame, order: list[Column]) -> DataFrame:
    """Rows that come up and go down, with the largest epoch that was printed while it was so: each registration has a
    larger one. One that `comes_later` is of the next time that the broker is up."""
    so_far = (
        Window.partitionBy("cluster", "broker")
        .orderBy(*order)
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    downs = F.sum(F.coalesce(~F.col("is_up"), F.lit(False)).cast("int")).over(so_far)
    stays = rows.withColumn("stay", downs + F.col("comes_later").cast("int"))
    printed = F.max(F.when(F.col("is_up").isNull(), F.col("epoch"))).over(
        Window.partitionBy("cluster", "broker", "stay")
    )
    own = F.when(F.col("is_up"), F.col("epoch"))
    return stays.withColumn("epoch", F.coalesce(own, printed)).where("is_up IS NOT NULL")
