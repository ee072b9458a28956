"""What the engines of `engines.py` should give, by a reader that shares no pattern and no code with them."""

import re
import zlib
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from engine_rules import EVENTS, LISTS, PLACES
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

ORACLE_HEAD = re.compile(r"\[(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d),(\d{3})\] +(\w+)( .*)", re.DOTALL)
PAIR = re.compile(r"(\w+)=(?:\[(?P<list>[^\]]*)\]|'(?P<quoted>[^']*)'|(?P<plain>[^,()\[\] ]+))")
OF_STATE = {
    "partitionIndex": "partition",
    "leader": "leader",
    "leaderEpoch": "leader_epoch",
    "zkVersion": "partition_epoch",
}
OF_TEXT = {  # what stands before a number
    "controller_id": ("from controller ", "by controller ", "[Controller id="),
    "controller_epoch": (" epoch=", " epoch "),
    "correlation_id": ("correlation id ", "correlationId "),
}
ORACLE_KINDS = {  # start and what else has to be there -> kind, and what the broker's id stands after
    ("Cached leader info UpdateMetadataPartitionState(", ") for partition "): ("cached_leader", "[Broker id="),
    ("Received LeaderAndIsr request ", "correlation id"): ("received_leader_and_isr", "[Broker id="),
    ("Sending UpdateMetadata request ", " to brokers "): ("sending_update_metadata", None),
    ("Sending become-", ") to broker "): ("sending_leader_and_isr", " to broker "),
    ("Ignoring LeaderAndIsr request from ", " leader epoch "): ("ignored_leader_and_isr", "[Broker id="),
    ("Changed partition ", " with state LeaderAndIsr("): ("changed_partition", None),
    ("Changed state of replica ", " from "): ("changed_replica", "of replica "),
    ("Handling LeaderAndIsr request ", " transition "): ("handling_leader_and_isr", "[Broker id="),
    ("Completed LeaderAndIsr request ", " transition "): ("completed_leader_and_isr", "[Broker id="),
    ("Received response ", " for request "): ("received_response", " (id: "),
}


def number_after(text: str, *anchors: str) -> int | None:
    """The number that follows the first of the anchors that is there."""
    matches = (re.search(re.escape(anchor) + r"(-?\d+)", text) for anchor in anchors)
    return next((int(match[1]) for match in matches if match), None)


def first_match(text: str, pattern: str) -> re.Match[str]:
    """The first match; the oracle stops at a message that has none."""
    match = re.search(pattern, text)
    if match is None:
        raise ValueError(f"no {pattern} in {text[:200]!r}")
    return match


def oracle_fields(message: str) -> dict[str, object]:
    """Kind and fields of a message of state.change.logger; nothing if it is of no kind we type."""
    body = message.split("] ", 1)[-1]
    kinds = [kind for (start, needed), kind in ORACLE_KINDS.items() if body.startswith(start) and needed in body]
    if not kinds:
        return {}
    kind, broker = kinds[0]
    fields: dict[str, object] = {"kind": kind}
    for name, anchors in OF_TEXT.items():
        outside = re.sub(r"\(.*\)", "", message) if kind != "changed_partition" else message.split(" with ")[0]
        fields[name] = number_after(outside, *anchors)
    if broker:
        fields["broker_id"] = number_after(message, broker)
    if "State(" in body or kind == "changed_partition":
        for pair in PAIR.finditer(body):
            if pair[1] in OF_STATE:
                fields[OF_STATE[pair[1]]] = int(pair["plain"])
            elif pair[1] in LISTS and pair["list"] is not None:
                fields[pair[1]] = [int(id_) for id_ in pair["list"].split(",") if id_]
            elif pair[1] == "topicName":
                fields["topic"] = pair["quoted"]
    if kind == "changed_partition":
        fields["isr"] = [int(id_) for id_ in first_match(body, r"isr=List\((.*?)\)")[1].split(",") if id_]
    if kind == "sending_update_metadata":
        fields["brokers"] = [int(id_) for id_ in first_match(body, r"brokers \w+\((.*?)\)")[1].split(",") if id_]
    if "topic" not in fields and kind != "received_response":
        topic, _, partition = first_match(body, r"artition (\S+)")[1].rpartition("-")
        fields |= {"topic": topic, "partition": int(partition)}
    if kind.startswith("changed"):
        fields["was"], fields["now"] = first_match(body, r" from (\w+) to (\w+)").groups()
    if kind in ("sending_leader_and_isr", "handling_leader_and_isr", "completed_leader_and_isr"):
        fields["transition"] = first_match(body, r"become-\w+")[0]
    if kind in ("handling_leader_and_isr", "completed_leader_and_isr"):
        fields["leader"] = number_after(body, "with leader ")
    if kind == "ignored_leader_and_isr":
        fields["leader_epoch"] = number_after(body, "associated leader epoch ")
    if kind == "received_response":
        fields["request"] = body.split(" for request ")[1].split(" ")[0]
    return fields


def oracle(paths: list[str]) -> Iterator[dict[str, object]]:
    """Each record of some files, with what it says and where it is; line by line, in plain Python."""
    for file, path in enumerate(paths):
        record: list[bytes] = []
        first = offset = 0
        lines = Path(path).read_bytes().splitlines(keepends=True)
        for number, line in enumerate([*lines, b"[2000-01-01 00:00:00,000] "], 1):
            if re.match(rb"\[\d{4}-", line) and record:
                yield oracle_record(record) | {
                    "file": file,
                    "line": first,
                    "offset": offset,
                    "length": len(b"".join(record)),
                }
                offset += len(b"".join(record))
                record = []
            first = first if record else number
            record.append(line)


def oracle_record(lines: list[bytes]) -> dict[str, object]:
    """What one record says."""
    texts = [line.decode().rstrip("\n") for line in lines]
    last = next((i for i, text in enumerate(texts) if re.search(r" \([\w.$]+\)$", text)), len(texts) - 1)
    head = ORACLE_HEAD.fullmatch("\n".join(texts[: last + 1]))
    if head is None:
        raise ValueError(f"no head in {texts[0][:200]!r}")
    *when, level, rest = head.groups()
    message, _, logger = rest.rpartition(" (") if re.search(r" \([\w.$]+\)$", rest) else (rest, "", "")
    message = message.lstrip(" ")
    days = (date(*map(int, when[:3])) - date(1970, 1, 1)).days
    ms = ((days * 24 + int(when[3])) * 60 + int(when[4])) * 60_000 + int(when[5]) * 1000 + int(when[6])
    detail = "\n".join(texts[last + 1 :]).rstrip("\n")
    fields = oracle_fields(message) if logger == "state.change.logger)" else {}
    record = {"at": ms, "level": level, "logger": logger.removesuffix(")"), "detail": detail or None}
    return record | (fields or {"message": message})


def summary_of_oracle(paths: list[str]) -> dict[str, int]:
    """The figures `summary` gives, from the oracle."""
    totals: dict[str, int] = {}

    def add(name: str, value: int) -> None:
        totals[name] = totals.get(name, 0) + value

    for record in oracle(paths):
        texts = {}
        for name in [*EVENTS.names, *PLACES]:
            value = record.get(name)
            texts[name] = "~" if value is None else ",".join(map(str, value)) if isinstance(value, list) else str(value)
            add(f"{name}_count", value is not None)
            add(
                f"{name}_sum",
                value if isinstance(value, int) else 0 if value is None else zlib.crc32(texts[name].encode()),
            )
        add("rows", 1)
        add("row_sum", zlib.crc32("|".join(texts[name] for name in EVENTS.names).encode()))
        add("placed_sum", zlib.crc32("|".join(texts[name] for name in [*EVENTS.names, *PLACES]).encode()))
    return totals


def summary(events: DataFrame) -> dict[str, int]:
    """Counts and sums of all columns, and of whole rows; text counts by its CRC-32."""
    figures, texts = [F.count(F.lit(1)).alias("rows")], {}
    for field in events.schema:
        column = F.col(field.name)
        if isinstance(field.dataType, T.TimestampType):
            column = F.unix_millis(column)
        text = (
            F.concat_ws(",", column.cast("array<string>"))
            if isinstance(field.dataType, T.ArrayType)
            else column.cast("string")
        )
        number = isinstance(field.dataType, T.IntegerType | T.LongType | T.TimestampType)
        summed = column if number else F.when(column.isNotNull(), F.crc32(text.cast("binary")))
        figures += [
            F.count(column).alias(f"{field.name}_count"),
            F.coalesce(F.sum(summed), F.lit(0)).alias(f"{field.name}_sum"),
        ]
        texts[field.name] = F.when(column.isNull(), "~").otherwise(text)

    def crc(names: list[str]) -> Column:
        return F.sum(F.crc32(F.concat_ws("|", *(texts[name] for name in names)).cast("binary")))

    figures.append(crc(EVENTS.names).alias("row_sum"))
    if "line" in events.columns:
        figures.append(crc([*EVENTS.names, *PLACES]).alias("placed_sum"))
    row = events.agg(*figures).first()
    assert row is not None  # without groups there is one row
    return row.asDict()
