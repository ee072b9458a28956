"""When a cluster was created anew under its name: in the same folders, with other data, all its epochs from the start.

Its signs are lines of one clock, one node's or those of nodes that write a file together: a controller election with
an epoch that elections had reached before, another cluster id (from 0.10.1 on), or, of one node, after a silence, a
controller with a smaller epoch than the last one, or a registration of the node as broker with a smaller one: it is
the number of a transaction in ZooKeeper (czxid, KAFKA-7235), which never falls there. Another node's cluster id counts
if no difference of time zones can be what parts the two lines. Signs that one new beginning explains are one
(`udfs.reconstruct.incarnations`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.observations import number_of
from jobs.timelines.zk_registrations import to_printed_epochs
from udfs.reconstruct.incarnations import MAX_CLOCK_DIFFERENCE_US, incarnation_starts

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

_MINUTE_US = 60_000_000
"""A controller's lines of one election are no further apart."""
_SILENCE_US = 60 * _MINUTE_US
"""After so long a silence no controller that was replaced meanwhile goes on."""
_OTHER_CLOCKS_US = 26 * 60 * _MINUTE_US
"""No two nodes' local times are further apart."""
_SIGN = "cluster", "after", "at"
_ELECTIONS = ("controller_epoch_incremented", "controller_elected", "kraft_controller_elected")
_IDS = ("cluster_id_logged", "kraft_controller_created", "broker_incarnation_starting")
_STARTS = ("broker_started",)
"""Lines of which it is known who wrote them, in files whose lines with cluster ids do not say so."""
_MOST_SIGNS = 10_000
_SEPARATOR = "\0"
LifeStarts = Mapping[str, list[int]]
"""By cluster when its lives after the first began, microseconds, ascending; none: it is several clusters."""
SEVERAL = -1
"""`cluster_incarnation` of what is of several clusters, whose ids take turns; the gate refuses it."""


def collect_life_starts(events: DataFrame) -> LifeStarts:
    """Of EVENTS when each life of a cluster after the first began; clusters with one life are left out."""
    no_ids = F.lit(None).cast("struct<node_id: int, before: string, id: string>").alias("ids")
    lines = _with_clock(events.where(F.col("event_type").isin(*_ELECTIONS, *_IDS, *_STARTS)))
    signs = _repeated_elections(lines).unionByName(_smaller_epochs(events)).unionByName(_smaller_broker_epochs(events))
    of_nodes, of_clocks = _other_ids(lines)
    without_ids = signs.unionByName(of_clocks.select(*_SIGN)).select(*_SIGN, no_ids)
    rows = without_ids.unionByName(of_nodes).distinct().orderBy("at").limit(_MOST_SIGNS).collect()
    by_cluster: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    changes: defaultdict[tuple[str, int | None], list[tuple[str, str]]] = defaultdict(list)
    for row in rows:
        # two lines of one node: the second one of a sign may be the first one of the next, and no clocks are between
        by_cluster[row["cluster"]].append((min(row["after"] + MAX_CLOCK_DIFFERENCE_US, row["at"] - 1), row["at"]))
        if row["ids"] is not None:
            changes[row["cluster"], row["ids"]["node_id"]].append((row["ids"]["before"], row["ids"]["id"]))
    several = {cluster for (cluster, _), of_node in changes.items() if take_turns(of_node)}
    return {
        cluster: [] if cluster in several else incarnation_starts((), of_cluster)
        for cluster, of_cluster in sorted(by_cluster.items())
    }


def take_turns(changes: Sequence[tuple[str, str]]) -> bool:
    """Whether a node's cluster ids, of successive changes the one before and the new one, come back more than once.

    An id that comes back once may be that of a cluster restored from a copy.
    """
    earlier, returns = set(), 0
    for before, cluster_id in changes:
        earlier.add(before)
        returns += cluster_id in earlier
    return returns > 1


def _with_clock(lines: DataFrame) -> DataFrame:
    """Lines -> the same with `clock`: the least of the nodes that write files together, for they are on one machine.

    Of a line that does not say whose it is by the others of its file; null if none says so.
    """
    of_file, of_node = Window.partitionBy("cluster", "file_id"), Window.partitionBy("cluster", "node_id")
    clock = F.when(F.col("node_id").isNotNull(), F.min("least").over(of_node)).otherwise(F.col("least"))
    return lines.withColumn("least", F.min("node_id").over(of_file)).withColumn("clock", clock).drop("least")


def _repeated_elections(lines: DataFrame) -> DataFrame:
    """Lines with `clock` -> signs: a controller was elected with an epoch that elections of this clock had reached; in
    KRaft, whose quorum never counts back, any node's long ago."""
    elections = _without_claims_again(lines.where(F.col("event_type").isin(*_ELECTIONS)))
    of_all = _of_all_nodes(elections.where("event_type = 'kraft_controller_elected'"), "controller_epoch")
    of_clock = _with_line_before(elections, "controller_epoch", "clock")
    repeated = of_clock.where(F.col("at_us") - F.col("after") > _MINUTE_US).unionByName(of_all)
    return repeated.where(F.col("controller_epoch") <= F.col("before")).select(*_SIGN)


def _without_claims_again(elections: DataFrame) -> DataFrame:
    """Elections -> those with an epoch, but for a KRaft controller's that was elected with it before, and whose log has
    grown since: its process ended, and as it starts it is resigned, but claims to be active (seen in 3.8.1)."""
    offset = F.coalesce(number_of("next_write_offset"), number_of("committed_offset"))
    of_epoch = Window.partitionBy("cluster", "node_id", "controller_epoch").orderBy("at", "line", "file_id")
    is_again = (F.col("event_type") == "kraft_controller_elected") & (offset > F.lag(offset).over(of_epoch))
    known = elections.where("controller_epoch IS NOT NULL").withColumn("is_again", F.coalesce(is_again, F.lit(False)))
    return known.where("NOT is_again").drop("is_again")


def _other_ids(lines: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Lines with `clock` -> signs, each with `ids`: a node has another cluster id than before, or than any node long
    ago; and a clock has another one than before."""
    ids = lines.where(F.col("event_type").isin(*_IDS)).withColumn("cluster_id", F.col("fields")["cluster_id"])
    both = F.struct("node_id", "before", F.col("cluster_id").alias("id")).alias("ids")
    of_nodes = _with_line_before(ids, "cluster_id").unionByName(_of_all_nodes(ids, "cluster_id"))
    of_clocks = _with_line_before(ids, "cluster_id", "clock")
    return of_nodes.where("cluster_id <> before").select(*_SIGN, both), of_clocks.where("cluster_id <> before")


def _of_all_nodes(lines: DataFrame, name: str) -> DataFrame:
    """`_with_line_before` of all nodes as if they were one, where clocks cannot be why one line is before the other."""
    as_one = lines.withColumn("node_id", F.lit(None).cast("int"))
    return _with_line_before(as_one, name).where(F.col("at_us") - F.col("after") > _OTHER_CLOCKS_US)


def _with_line_before(lines: DataFrame, name: str, of: str = "node_id") -> DataFrame:
    """Lines -> the same with a column's value in the line before of the same node, or of the same `of` (`before`), both
    times in microseconds."""
    own = Window.partitionBy("cluster", of).orderBy("at", "line", "file_id")
    at_us = F.unix_micros("at")
    return lines.withColumns(
        {"before": F.lag(name).over(own), "after": F.lag(at_us).over(own), "at_us": at_us}
    ).withColumn("at", F.col("at_us"))


def _smaller_epochs(events: DataFrame) -> DataFrame:
    """EVENTS -> signs: after a silence a ZooKeeper controller's epoch on a node's lines is smaller than before.

    By the hours in which a node has such lines. One in which only a controller that was replaced goes on is none: then
    the next hour has the larger epoch again. Nor is one after a line of KRaft: its controllers, whom brokers that still
    use ZooKeeper obey in a migration, count their epochs from the start.
    """
    lines = events.where(
        "controller_epoch > 0 AND node_id IS NOT NULL AND NOT (event_type LIKE '%stale%' OR event_type LIKE 'kraft%')"
    )
    hours = lines.groupBy("cluster", "node_id", F.date_trunc("hour", "at").alias("hour")).agg(
        F.max("controller_epoch").alias("epoch"),
        F.unix_micros(F.min("at")).alias("at"),
        F.unix_micros(F.max("at")).alias("last_at"),
    )
    kraft = events.where("event_type LIKE 'kraft%' OR event_type LIKE '%migration%' OR logger LIKE '%.raft.%'")
    kraft_since = kraft.groupBy("cluster").agg(F.unix_micros(F.min("at")).alias("kraft_since"))
    own = Window.partitionBy("cluster", "node_id").orderBy("hour")
    before, after = F.lag("epoch").over(own), F.lag("last_at").over(own)
    is_migrated = F.coalesce(F.col("kraft_since") <= F.col("last_at"), F.lit(False))
    goes_on = F.coalesce(F.lead("epoch").over(own) >= F.col("before"), F.lit(False))
    return (
        hours.withColumns({"before": before, "after": after})
        .withColumn("goes_on", goes_on)
        .where((F.col("epoch") < F.col("before")) & (F.col("at") - F.col("after") > _SILENCE_US) & ~F.col("goes_on"))
        .join(F.broadcast(kraft_since), "cluster", "left")
        .where(~is_migrated)
        .select(*_SIGN)
    )


def _smaller_broker_epochs(events: DataFrame) -> DataFrame:
    """EVENTS -> signs: after a silence a broker registers with a smaller epoch than its node's lines had printed."""
    own = to_printed_epochs(events).where("node_id = broker AND epoch IS NOT NULL")
    is_sign = (F.col("epoch") < F.col("before")) & (F.col("at_us") - F.col("after") > _SILENCE_US)
    return _with_line_before(own, "epoch").where(is_sign).select(*_SIGN)


def by_life(events: DataFrame, life_starts: LifeStarts, transform: Callable[[DataFrame], DataFrame]) -> DataFrame:
    """A transform of events into rows with `until` and `ended_by`, each life of a cluster as if it were a cluster.

    The rows have their cluster's name again, and `cluster_incarnation`, the life that they are of, from 0, or SEVERAL.
    What has not ended in a life is replaced where the next one begins.
    """
    if not life_starts:
        return transform(events).withColumn("cluster_incarnation", F.lit(0))
    lives = events.sparkSession.createDataFrame(list(life_starts.items()), "cluster string, starts array<long>")
    micros = F.unix_micros("at")
    number = F.coalesce(F.size(F.filter("starts", lambda start: start <= micros)), F.lit(0))
    name = F.concat_ws(_SEPARATOR, F.col("cluster"), F.nullif(number, F.lit(0)).cast("string"))
    parts = F.split("cluster", _SEPARATOR)
    next_start = F.timestamp_micros(F.get("starts", F.col("cluster_incarnation")))
    ends_with_life = F.col("until").isNull() & next_start.isNotNull()
    return (
        transform(events.join(F.broadcast(lives), "cluster", "left").withColumn("cluster", name).drop("starts"))
        .withColumns(
            {
                "cluster": F.get(parts, F.lit(0)),
                "cluster_incarnation": F.coalesce(F.get(parts, F.lit(1)).cast("int"), F.lit(0)),
            }
        )
        .join(F.broadcast(lives), "cluster", "left")
        .withColumns(
            {
                "ended_by": F.when(ends_with_life, "replaced").otherwise(F.col("ended_by")),
                "until": F.coalesce("until", next_start),
                "cluster_incarnation": F.when(F.size("starts") == 0, SEVERAL).otherwise(F.col("cluster_incarnation")),
            }
        )
        .drop("starts")
    )
