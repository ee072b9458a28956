"""The rules of the ten kinds of records that all engines of `engines.py` read, and the columns they give."""

import re
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import types as T

INTS = ["partition", "leader", "leader_epoch", "partition_epoch"]
INTS += ["controller_id", "controller_epoch", "correlation_id", "broker_id"]
LISTS = ["isr", "replicas", "brokers"]
STRINGS = ["topic", "was", "now", "transition", "request"]
FIELDS = INTS + LISTS + STRINGS

EVENTS = T.StructType(
    [T.StructField("at", T.TimestampType())]
    + [T.StructField(name, T.StringType()) for name in ("level", "logger", "kind")]
    + [T.StructField(name, T.IntegerType()) for name in INTS]
    + [T.StructField(name, T.ArrayType(T.IntegerType())) for name in LISTS]
    + [T.StructField(name, T.StringType()) for name in (*STRINGS, "message", "detail")]
)
PLACES = ["file", "line", "offset", "length"]  # file: its number; line from 1; offset and length in bytes
PLACED_EVENTS = T.StructType(EVENTS.fields + [T.StructField(name, T.LongType()) for name in PLACES])

ARROW = pa.schema(
    [("at", pa.timestamp("us", "UTC"))]
    + [(name, pa.string()) for name in ("level", "logger", "kind")]
    + [(name, pa.int32()) for name in INTS]
    + [(name, pa.list_(pa.int32())) for name in LISTS]
    + [(name, pa.string()) for name in (*STRINGS, "message", "detail")]
    + [(name, pa.int64()) for name in PLACES]
)


@dataclass(frozen=True)
class EngineRule:
    """One kind of record of one logger: its first two words, its whole message, and what each group is.

    The pattern is read by Python's `re` and by Java's. `cuts` is the same for polars, where a split can do it: the
    delimiter, then for each field the piece it is in, and what is to be cut off before and after it.
    """

    kind: str
    words: str
    pattern: str
    fields: tuple[str, ...]
    delimiter: str = ""
    cuts: tuple[tuple[str, int, str, str], ...] = ()
    logger: str = "state.change.logger"


BROKER = r"\[Broker id=(\d++)\] "
CONTROLLER = r"\[Controller id=(\d++) epoch=(\d++)\] "
STATE = (
    r"PartitionState\(topicName='([^']*+)', partitionIndex=(\d++), controllerEpoch=-?\d++, leader=(-?\d++), "
    r"leaderEpoch=(-?\d++), isr=\[([^\]]*+)\], zkVersion=(-?\d++), replicas=\[([^\]]*+)\], "
)
STATE_FIELDS = ("topic", "partition", "leader", "leader_epoch", "isr", "partition_epoch", "replicas")
REPLICAS_LEFT = r"addingReplicas=\[[^\]]*+\], removingReplicas=\[[^\]]*+\], isNew=\w++\) "
TRANSITION = r"the (become-\w++) transition for partition (\S+)-(\d++)(?: with leader (-?\d++))?+"
SENDER = ("controller_id", "controller_epoch")


def state_cuts(first: int) -> tuple[tuple[str, int, str, str], ...]:
    """Where the fields of a partition's state are when its record is split at `=`."""
    after = (
        "', partitionIndex",
        ", controllerEpoch",
        ", leader",
        ", leaderEpoch",
        ", isr",
        "], zkVersion",
        ", replicas",
    )
    before = ("'", "", "", "", "", "[", "")
    names = ("topic", "partition", None, "leader", "leader_epoch", "isr", "partition_epoch")
    cuts = [(n, first + i, b, a) for i, (n, b, a) in enumerate(zip(names, before, after, strict=True)) if n]
    return (*cuts, ("replicas", first + 7, "[", "]*"))


RULES = (
    EngineRule(
        "cached_leader",
        "Cached leader",
        BROKER
        + "Cached leader info UpdateMetadata"
        + STATE
        + r"offlineReplicas=\[[^\]]*+\]\) for partition \S++ in response "
        r"to UpdateMetadata request sent by controller (-?\d++) epoch (-?\d++) with correlation id (\d++)",
        ("broker_id", *STATE_FIELDS, *SENDER, "correlation_id"),
        "=",
        (
            ("broker_id", 1, "", "]*"),
            *state_cuts(2),
            ("controller_id", 10, "*controller ", " *"),
            ("controller_epoch", 10, "* epoch ", " *"),
            ("correlation_id", 10, "* id ", ""),
        ),
    ),
    EngineRule(
        "received_leader_and_isr",
        "Received LeaderAndIsr",
        BROKER
        + "Received LeaderAndIsr request LeaderAndIsr"
        + STATE
        + REPLICAS_LEFT
        + r"correlation id (\d++) from controller (-?\d++) epoch (-?\d++)",
        ("broker_id", *STATE_FIELDS, "correlation_id", *SENDER),
        "=",
        (
            ("broker_id", 1, "", "]*"),
            *state_cuts(2),
            ("correlation_id", 12, "* id ", " *"),
            ("controller_id", 12, "*controller ", " *"),
            ("controller_epoch", 12, "* epoch ", ""),
        ),
    ),
    EngineRule(
        "sending_update_metadata",
        "Sending UpdateMetadata",
        CONTROLLER
        + "Sending UpdateMetadata request UpdateMetadata"
        + STATE
        + r"offlineReplicas=\[[^\]]*+\]\) to brokers \w*+\(([^)]*+)\) for partition \S++",
        (*SENDER, *STATE_FIELDS, "brokers"),
        "=",
        (
            ("controller_id", 1, "", " *"),
            ("controller_epoch", 2, "", "]*"),
            *state_cuts(3),
            ("brokers", 11, "*Set(", ")*"),
        ),
    ),
    EngineRule(
        "sending_leader_and_isr",
        "Sending become",
        CONTROLLER
        + "Sending (become-\\w++) LeaderAndIsr request LeaderAndIsr"
        + STATE
        + REPLICAS_LEFT
        + r"to broker (-?\d++) for partition \S++",
        (*SENDER, "transition", *STATE_FIELDS, "broker_id"),
        "=",
        (
            ("controller_id", 1, "", " *"),
            ("controller_epoch", 2, "", "]*"),
            ("transition", 2, "*Sending ", " *"),
            *state_cuts(3),
            ("broker_id", 13, "*broker ", " *"),
        ),
    ),
    EngineRule(
        "ignored_leader_and_isr",
        "Ignoring LeaderAndIsr",
        BROKER
        + r"Ignoring LeaderAndIsr request from controller (-?\d++) with correlation id (\d++) epoch (-?\d++) for "
        r"partition (\S+)-(\d++) since its associated leader epoch (-?\d++) (?:matches the current leader epoch|"
        r"is not higher than the current leader epoch -?\d++)",
        ("broker_id", "controller_id", "correlation_id", "controller_epoch", "topic", "partition", "leader_epoch"),
    ),
    EngineRule(
        "changed_partition",
        "Changed partition",
        CONTROLLER + r"Changed partition (\S+)-(\d++) from (\w++) to (\w++) with state LeaderAndIsr\(leader=(-?\d++), "
        r"leaderEpoch=(-?\d++), isr=List\(([^)]*+)\), zkVersion=(-?\d++)\)",
        (*SENDER, "topic", "partition", "was", "now", "leader", "leader_epoch", "isr", "partition_epoch"),
    ),
    EngineRule(
        "changed_replica",
        "Changed state",
        CONTROLLER + r"Changed state of replica (\d++) for partition (\S+)-(\d++) from (\w++) to (\w++)",
        (*SENDER, "broker_id", "topic", "partition", "was", "now"),
        " ",
        (
            ("controller_id", 1, "id=", ""),
            ("controller_epoch", 2, "epoch=", "]"),
            ("broker_id", 7, "", ""),
            ("topic", 10, "", "-*"),
            ("partition", 10, "*-", ""),
            ("was", 12, "", ""),
            ("now", 14, "", ""),
        ),
    ),
    EngineRule(
        "handling_leader_and_isr",
        "Handling LeaderAndIsr",
        BROKER
        + r"Handling LeaderAndIsr request correlationId (\d++) from controller (-?\d++) epoch (-?\d++) starting "
        + TRANSITION,
        ("broker_id", "correlation_id", *SENDER, "transition", "topic", "partition", "leader"),
        " ",
        (
            ("broker_id", 1, "id=", "]"),
            ("correlation_id", 6, "", ""),
            ("controller_id", 9, "", ""),
            ("controller_epoch", 11, "", ""),
            ("transition", 14, "", ""),
            ("topic", 18, "", "-*"),
            ("partition", 18, "*-", ""),
            ("leader", 21, "", ""),
        ),
    ),
    EngineRule(
        "completed_leader_and_isr",
        "Completed LeaderAndIsr",
        BROKER
        + r"Completed LeaderAndIsr request correlationId (\d++) from controller (-?\d++) epoch (-?\d++) for "
        + TRANSITION,
        ("broker_id", "correlation_id", *SENDER, "transition", "topic", "partition", "leader"),
        " ",
        (
            ("broker_id", 1, "id=", "]"),
            ("correlation_id", 6, "", ""),
            ("controller_id", 9, "", ""),
            ("controller_epoch", 11, "", ""),
            ("transition", 14, "", ""),
            ("topic", 18, "", "-*"),
            ("partition", 18, "*-", ""),
            ("leader", 21, "", ""),
        ),
    ),
    EngineRule(
        "received_response",
        "Received response",
        CONTROLLER + r"Received response \{.*\} for request (\w++) with correlation id (\d++) sent to broker "
        r"\S++ \(id: (-?\d++) rack: [^)]*+\)",
        (*SENDER, "request", "correlation_id", "broker_id"),
    ),
)
CODES = {(rule.logger.encode(), rule.words.encode()): code for code, rule in enumerate(RULES, 1)}
PATTERNS = [re.compile(b"^" + rule.pattern.encode() + b"$", re.MULTILINE) for rule in RULES]
