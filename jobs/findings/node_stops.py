"""How brokers and controllers went away and came back, by their own lines and the controllers' view of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.checkpoints import checkpointed
from jobs.timelines.controllers import without_deposed
from jobs.timelines.observations import number_of
from jobs.timelines.row_streams import map_rows
from jobs.timelines.sorted_times import number_until
from schemas.spark import CLUSTER, EVIDENCE_COLUMN, INT, LONG, TEXT, TIME, column, struct
from udfs.incidents.node_stops import (
    BACK,
    CUT_OFF,
    DISK_HALTS,
    GONE,
    HALT,
    HALT_LOG_DIR,
    LIFE_SIGNS,
    SHUT_DOWN,
    SHUTDOWN_GRANTED,
    START,
    START_FAILED,
    node_stops,
)
from udfs.printable import CONTROL_CHARACTERS, MOST_ERROR

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.window import WindowSpec

RESTART = struct(at=LONG, node_id=INT, file_id=TEXT, line=LONG)
"""When a process started, in microseconds since 1970, and its first line."""
FAILED_START = struct(at=LONG, node_id=INT, file_id=TEXT, line=LONG, text=TEXT)
"""When a process could not start, in microseconds since 1970, the line, and the error."""
NODE_STOPS = T.StructType(
    [
        CLUSTER,
        column("node_id", INT, "Broker or controller."),
        column("role", TEXT, "`broker` or `controller` (KRaft)."),
        column("since", TIME, "When it surely had begun: a shutdown's first line, the controller's notice, a start."),
        column("began_after", TIME, "The process's last line before; null unknown."),
        column("how", TEXT, "As in `udfs.incidents.node_stops`; null: only its session is known to have ended."),
        column("error", TEXT, "What it halted of, in its own words; null: it did not, or no line tells."),
        column("ended_by", TEXT, "How the controller saw the registration end; null: it did not."),
        column("noticed_at", TIME, "When the controller noticed; null: it did not."),
        column("started_at", TIME, "When a new process started; null: none did."),
        column("restarts", INT, "How many more processes started before it was back."),
        T.StructField("last_restart", RESTART),
        column("failed_starts", INT, "How many processes could not start."),
        T.StructField("failed_start", FAILED_START),
        column("until", TIME, "When it was registered again, or at least ready; null: never, or unknown."),
        column("followed_at", TIME, "When its next stop began; null: it was back before, or there is none."),
        EVIDENCE_COLUMN,
    ]
)

NEAR_MINUTES = 10
"""How far from a start or the end of a session a line of the process is looked for."""
BOOT = "INTERVAL 3 SECONDS"
"""So long before the line that shows a start other lines may be of the same process."""
AT_ONCE = "INTERVAL 2 SECONDS"
"""What two nodes log about one thing may be so far apart."""
MOST_LAG_S = 30
"""A follower that does not catch up leaves the ISR after so many seconds (`replica.lag.time.max.ms`, 10 until 2.4)."""
SHORTEST_SESSION = "INTERVAL 5 SECONDS"
"""Sessions are longer (6 s with ZooKeeper, 9 with KRaft, by default): of who has fetched since then none has ended."""
_RANKS = (START_FAILED, "stop", "halt", "halt_log_dir", GONE, "alive", START, "clean", "unclean", "started", BACK)
"""Kinds of signs in the order in which signs of one time are read."""
_NODE = ["cluster", "node_id"]


def to_node_stops(events: DataFrame, brokers: DataFrame, controllers: DataFrame) -> DataFrame:
    """EVENTS, BROKER_TIMELINE, CONTROLLER_TIMELINE -> NODE_STOPS; few rows, held for whoever asks again."""
    own = without_deposed(_own_signs(events), controllers, "line_node_id")
    signs = checkpointed(own.unionByName(_registrations(brokers)))
    near = _lines_near(events, signs.where(F.col("kind").isin(START, GONE)))
    rank = F.array_position(F.array(*map(F.lit, _RANKS)), F.col("kind"))
    in_order = (
        signs.join(F.broadcast(near), [*_NODE, "at"], "left")
        .repartition(*map(F.col, _NODE))
        .sortWithinPartitions(*_NODE, "at", rank, "line", "file_id")
    )
    return checkpointed(map_rows(in_order, node_stops, NODE_STOPS))


# ---- by broker -------------------------------------------------------------------------------------------------------
def lists_by_broker(rows: DataFrame, broker: str, entries: Mapping[str, Column], *by: str) -> DataFrame:
    """Rows about brokers, few of them -> cluster and `by`, and by the names of entries maps of sorted lists of these by
    broker."""
    key = ["cluster", *by]
    lists = rows.groupBy(*key, F.col(broker).alias("of")).agg(
        *(F.sort_array(F.collect_list(entry)).alias(name) for name, entry in entries.items())
    )
    maps = (F.map_from_entries(F.collect_list(F.struct("of", name))).alias(name) for name in entries)
    return lists.groupBy(*key).agg(*maps)


def absences_from_isrs(stops: DataFrame) -> DataFrame:
    """NODE_STOPS -> cluster, and by broker when it may have left ISRs because it was stopped: `absent_from`, from when
    each absence was sure, `absent_since`, and of those that have ended until when, `absent_to`, and when it was back,
    `absent_back`."""
    lag, slack = F.expr(f"INTERVAL {MOST_LAG_S} SECONDS"), F.expr(AT_ONCE)
    # who was frozen may have been so before, and have logged a line as its session ended
    is_frozen = F.coalesce(F.col("how") == CUT_OFF, F.lit(False))
    # who was shut down fetched until then
    last_line = F.when(F.col("how") == SHUT_DOWN, F.col("since")).when(~is_frozen, F.col("began_after"))
    begin = F.greatest(last_line, F.col("since") - lag) - slack
    # who is back before that may be dropped for what it missed
    end = F.when(F.col("until").isNotNull(), F.greatest(F.col("until"), F.col("since") + lag) + slack)
    times = {"absent_from": begin, "absent_since": F.col("since"), "absent_to": end, "absent_back": F.col("until")}
    return lists_by_broker(stops.where("role = 'broker'"), "node_id", times)


def was_absent(broker: str, joined_at: Column | None = None, rejoined_at: Column | None = None) -> Column:
    """Whether a broker was absent at the time of a row with the columns of `absences_from_isrs`: more absences have
    begun by then than have ended. `joined_at`: when it had last joined the ISR; by that absences are over after which
    it was back before. `rejoined_at`: when it joined next; absences that were not sure within SHORTEST_SESSION of
    that had not begun."""

    def number(times: str, at: Column) -> Column:
        return number_until(F.try_element_at(times, F.col(broker)), at)

    begun = number("absent_from", F.col("at"))
    ended = number("absent_to", F.col("at") - F.expr("INTERVAL 0.000001 SECOND"))
    if joined_at is not None:
        ended = F.greatest(ended, number("absent_back", joined_at))
    if rejoined_at is not None:
        begun = F.least(begun, number("absent_since", rejoined_at + F.expr(SHORTEST_SESSION)))
    return F.coalesce(begun > ended, F.lit(False))


def joins_around(joined: Column, order: WindowSpec) -> tuple[Column, Column]:
    """Of moves in and out of an ISR with `at`, each one follower's in order, whether each is a join -> when the
    follower had joined last before a move, and when it joined right after it; null: it did not."""
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    joined_at = F.last(F.when(joined, F.col("at")), ignorenulls=True).over(before)
    return joined_at, F.when(F.lead(joined).over(order), F.lead("at").over(order))


def living_on(events: DataFrame, ends: DataFrame) -> DataFrame:
    """EVENTS, rows `cluster, node_id, at` -> those after which the node's process lived on: a line of it follows within
    NEAR_MINUTES, and no start before that. What comes at once may have been logged before, by another clock."""
    later = ends.select(*_NODE, (F.col("at") + F.expr(AT_ONCE)).alias("at"), F.lit(GONE).alias("kind"))
    near = _lines_near(events, later).where("first_after IS NOT NULL").withColumn("at", F.col("at") - F.expr(AT_ONCE))
    starts = _own_signs(events).where(F.col("kind") == START).select(*_NODE, F.col("at").alias("started_at"))
    is_between = (F.col("started_at") > F.col("at")) & (F.col("started_at") <= F.col("first_after") + F.expr(BOOT))
    key = [*_NODE, "at"]
    started = near.join(starts, _NODE).where(is_between).select(*key)
    return near.join(started, key, "left_anti").select(*key)


def first_line_of(text: str | Column) -> Column:
    """The first line of a column of texts, at most MOST_ERROR characters, without those that steer a terminal; null
    of an empty one."""
    first = F.trim(F.regexp_replace(F.substring_index(text, "\n", 1), CONTROL_CHARACTERS, " "))
    short = F.when(F.length(first) > MOST_ERROR, F.concat(F.left(first, F.lit(MOST_ERROR)), F.lit("...")))
    return F.when(first != "", F.coalesce(short, first))


def halts_by_disk() -> Column:
    """Whether by a line a process halts because of a disk: it names no directory without which it goes on."""
    return F.col("event_type").isin(*DISK_HALTS) & F.col("fields")["dir"].isNull()


# ---- signs -----------------------------------------------------------------------------------------------------------
def _own_signs(events: DataFrame) -> DataFrame:
    """EVENTS -> what processes log of their own life, and controllers of a broker's shutdown."""
    kinds = {**LIFE_SIGNS, **SHUTDOWN_GRANTED}
    fields, event_type = F.col("fields"), F.col("event_type")
    is_starting = (fields["from_state"] == "SHUTDOWN") & (fields["to_state"] == "STARTING")
    is_own = event_type.isin(*(name for name in kinds if name not in DISK_HALTS)) | halts_by_disk()
    lines = events.where(is_own | ((event_type == "broker_status_changed") & is_starting))
    kind_by_type = F.create_map(*(F.lit(text) for pair in kinds.items() for text in pair))
    is_failed_start = (event_type == "process_exiting") & F.contains("message", F.lit("during startup"))
    kind = F.when(is_failed_start, START_FAILED).otherwise(F.coalesce(kind_by_type[event_type], F.lit(START)))
    message = first_line_of(F.regexp_replace("message", r"^\[[^\]]*\][:,]? |[:. ]+$", ""))
    error = F.concat_ws(": ", message, first_line_of("detail"))
    is_granted = event_type.isin(*SHUTDOWN_GRANTED)
    broker = F.coalesce(number_of("broker"), F.col("broker_id"))
    return (
        lines.withColumns(
            {
                "line_node_id": F.col("node_id"),
                "node_id": F.when(is_granted, broker).otherwise(F.coalesce("node_id", "broker_id")),
            }
        )
        .where("node_id IS NOT NULL AND at IS NOT NULL")
        .select(
            *_NODE, "at", "event_type", kind.alias("kind"), F.lit(None).cast("string").alias("ended_by"),
            F.when(kind == START_FAILED, fields["server"]).alias("source"),
            F.when(kind == START_FAILED, first_line_of("detail"))
            .when(kind.isin(HALT, HALT_LOG_DIR), error).alias("text"),
            "line_node_id", "file_id", "line",
        )
    )  # fmt: skip


def _registrations(brokers: DataFrame) -> DataFrame:
    """BROKER_TIMELINE -> signs GONE and BACK: each registration's begin, and its end if it has one."""

    def sign(kind: str, at: str, ended_by: Column, line: Column) -> DataFrame:
        return brokers.where(F.col(at).isNotNull()).select(
            "cluster",
            F.col("broker").alias("node_id"),
            F.col(at).alias("at"),
            F.lit(None).cast("string").alias("event_type"),
            F.lit(kind).alias("kind"),
            ended_by.alias("ended_by"),
            *(F.lit(None).cast("string").alias(name) for name in ("source", "text")),
            line["node_id"].alias("line_node_id"),
            line["file_id"].alias("file_id"),
            line["line"].alias("line"),
        )

    first, last = (F.try_element_at("evidence", F.lit(n)) for n in (1, -1))
    return sign(BACK, "since", F.lit(None).cast("string"), first).unionByName(
        sign(GONE, "until", F.col("ended_by"), last)
    )


def _lines_near(events: DataFrame, signs: DataFrame) -> DataFrame:
    """EVENTS, signs -> _NODE, at (of a sign), `last_before` and `first_after`: the node's own lines around it.

    Events meet the signs of their own minute and of those around it, so that none is compared with all.
    """

    def minute() -> Column:
        return F.floor(F.unix_seconds("at") / 60)

    around = F.sequence(minute() - NEAR_MINUTES, minute() + NEAR_MINUTES)
    boot = F.when(F.col("kind") == START, F.expr(BOOT)).otherwise(F.expr("INTERVAL 0 SECONDS"))
    points = signs.select(
        *_NODE,
        F.col("at").alias("sign_at"),
        (F.col("at") - boot).alias("before"),
        F.explode(around).alias("minute"),
    ).distinct()
    at, sign_at = F.col("at"), F.col("sign_at")
    # logs are loaded, for minutes, before the lines that show a start
    return (
        events.where(F.col("node_id").isNotNull() & (F.col("event_type") != "log_loaded"))
        .select(*_NODE, "at", minute().alias("minute"))
        .join(F.broadcast(points), [*_NODE, "minute"])
        .groupBy(*_NODE, "sign_at")
        .agg(
            F.max(F.when(at < F.col("before"), at)).alias("last_before"),
            F.min(F.when(at > sign_at, at)).alias("first_after"),
        )
        .withColumnRenamed("sign_at", "at")
    )
