"""Further forms of the same events: what platforms export, and other layouts."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from datetime import timedelta, timezone

from tests.log_forms import (
    FORMS,
    PLAIN,
    Event,
    json_document,
    json_lines,
    newest_first,
    table_form,
    text_form,
    uuid,
)

# ---- Splunk, Datadog, Elasticsearch ----------------------------------------------------------------------------------
table_form(
    "Splunk CSV, newest first",
    ["_raw", "_time", "host", "index", "linecount", "source", "sourcetype"],
    lambda e: [
        e.text,
        f"{e.at:%Y-%m-%dT%H:%M:%S}.{e.millis % 1000:03}+0000",
        e.pod,
        "main",
        len(e.lines),
        "/var/log/kafka/server.log",
        "kafka",
    ],
    newest=True,
)
table_form("Splunk CSV, other order", ["host", "_time", "_raw"], lambda e: [e.pod, f"{e.millis / 1000:.3f}", e.text])
json_lines(
    "Splunk JSON, newest first",
    lambda e: {
        "preview": False,
        "offset": 3,
        "lastrow": False,
        "result": {
            "_time": f"{e.at:%Y-%m-%d %H:%M:%S}.000 UTC",
            "host": e.pod,
            "source": "/x/server.log",
            "_raw": e.text,
        },
    },
)
_SPLUNK = FORMS["Splunk JSON, newest first"]
FORMS["Splunk JSON, newest first"] = lambda some: _SPLUNK(newest_first(some))
json_document(
    "Splunk JSON, results",
    lambda some: {"init_offset": 0, "messages": [], "results": [{"_raw": e.text, "host": e.pod} for e in some]},
)
table_form(
    "Datadog CSV, newest first",
    ["Date", "Host", "Service", "Message"],
    lambda e: [e.iso, f"{e.pod}.eu", "kafka", e.text],
    newest=True,
)


def _datadog(some: Sequence[Event]) -> list[object]:
    return [
        {
            "id": f"AQ{uuid(e)}",
            "content": {
                "timestamp": e.iso,
                "tags": ["env:prod", f"pod:{e.pod}", "x" * 700],
                "host": e.pod,
                "service": "kafka",
                "message": e.text,
                "attributes": {"status": "info"},
            },
        }
        for e in newest_first(some)
    ]


json_document("Datadog JSON, one line of more than 120 kB, newest first", _datadog)
json_document(
    "Datadog JSON, API",
    lambda some: {
        "data": [
            {
                "id": f"AQ{uuid(e)}",
                "type": "log",
                "attributes": {
                    "status": "info",
                    "timestamp": e.iso,
                    "host": e.pod,
                    "message": e.text,
                    "tags": ["source:kafka"],
                },
            }
            for e in some
        ],
        "meta": {"page": {"after": "x"}},
    },
    2,
)
json_document(
    "Datadog JSON, message and attributes",
    lambda some: [
        {
            "attributes": {
                "timestamp": e.iso,
                "host": e.pod,
                "message": e.message,
                "attributes": {"level": e.level, "logger": {"name": e.logger}},
                "error": {"stack": "\n".join(e.more)},
            }
        }
        for e in some
    ],
)


def _hits(some: Sequence[Event]) -> dict[str, object]:
    hits = [
        {
            "_index": "filebeat-7",
            "_id": uuid(e),
            "_score": None,
            "_source": {
                "@timestamp": e.iso,
                "host": {"name": e.pod},
                "log": {"offset": e.millis % 99991, "file": {"path": "/var/log/kafka/server.log"}},
                "message": e.text,
            },
            "sort": [e.millis],
        }
        for e in some
    ]
    return {
        "took": 7,
        "timed_out": False,
        "_shards": {"total": 1, "failed": 0},
        "hits": {"total": {"value": 147}, "max_score": None, "hits": hits},
    }


json_document("Elasticsearch hits, compact", _hits)
json_document("Elasticsearch hits, pretty", _hits, 2)
json_document("Elasticsearch hits, pretty, newest first", lambda some: _hits(newest_first(some)), 4)
json_lines("elasticdump", lambda e: _hits([e])["hits"]["hits"][0])  # type: ignore[index]
table_form(
    "Kibana Discover CSV, newest first",
    ["@timestamp", "_id", "host.name", "message"],
    lambda e: [e.at.strftime("%b %d, %Y @ %H:%M:%S.%f")[:-3], uuid(e), e.pod, e.text],
    newest=True,
)
table_form("Kibana Discover CSV, semicolons", ["message", "@timestamp"], lambda e: [e.text, e.iso], delimiter=";")
json_lines(
    "Filebeat",
    lambda e: {
        "@timestamp": e.iso,
        "@metadata": {"beat": "filebeat"},
        "message": e.text,
        "host": {"name": e.pod},
        "log": {"offset": 1, "file": {"path": f"/logs/{e.pod}/server.log"}},
    },
)
json_lines(
    "Filebeat, pretty",
    lambda e: {"@timestamp": e.iso, "message": e.text, "source": f"/logs/{e.pod}/server.log"},
    indent=2,
)

ZONE = timezone(timedelta(hours=5, minutes=30))


def _local(e: Event) -> str:
    """The event as a node in India prints it."""
    stamp = e.at.astimezone(ZONE).strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
    return e.text.replace(e.stamp, stamp, 1)


json_lines(
    "Filebeat, lines in local time",
    lambda e: {"@timestamp": e.iso, "message": _local(e), "source": f"/logs/{e.pod}/server.log"},
)
text_form(
    "CRI, lines in local time",
    lambda e, line: f"{e.iso} stdout F {line if line != e.first else _local(e).split(chr(10))[0]}",
)
table_form(
    "Splunk CSV, lines in local time",
    ["_time", "_raw", "host"],
    lambda e: [f"{e.at:%Y-%m-%dT%H:%M:%S}.{e.millis % 1000:03}+0000", _local(e), e.pod],
)
json_lines(
    "Docker json-file, lines in local time", lambda e: {"log": _local(e) + "\n", "stream": "stdout", "time": e.iso}
)

# ---- clouds ----------------------------------------------------------------------------------------------------------
table_form(
    "CloudWatch Insights CSV",
    ["@timestamp", "@message"],
    lambda e: [f"{e.at:%Y-%m-%d %H:%M:%S}.{e.millis % 1000:03}", e.text],
    newest=True,
    quoting=csv.QUOTE_MINIMAL,
)
json_document(
    "CloudWatch Insights JSON",
    lambda some: {
        "status": "Complete",
        "statistics": {"recordsMatched": 147.0},
        "results": [
            [
                {"field": "@timestamp", "value": e.iso},
                {"field": "@message", "value": e.text},
                {"field": "@logStream", "value": e.pod},
                {"field": "@ptr", "value": uuid(e)},
            ]
            for e in newest_first(some)
        ],
    },
    4,
)
json_document(
    "aws logs filter-log-events",
    lambda some: {
        "events": [
            {
                "logStreamName": e.pod,
                "timestamp": e.millis,
                "message": e.text,
                "ingestionTime": e.millis + 900,
                "eventId": uuid(e),
            }
            for e in some
        ],
        "searchedLogStreams": [],
    },
    4,
)
json_document(
    "aws logs get-log-events",
    lambda some: {
        "events": [{"timestamp": e.millis, "message": e.text, "ingestionTime": e.millis + 5} for e in some],
        "nextForwardToken": "f/1",
        "nextBackwardToken": "b/1",
    },
)
FORMS["CloudWatch subscription (Firehose)"] = lambda some: "".join(
    json.dumps(
        {
            "messageType": "DATA_MESSAGE",
            "owner": "1",
            "logGroup": "msk",
            "logStream": e.pod,
            "subscriptionFilters": ["f"],
            "logEvents": [{"id": uuid(e), "timestamp": e.millis, "message": e.text}],
        }
    )
    for e in some
).encode()


def _gcp(e: Event) -> dict[str, object]:
    return {
        "textPayload": e.text,
        "insertId": uuid(e),
        "timestamp": e.iso,
        "severity": "INFO",
        "logName": "projects/p/logs/stdout",
        "resource": {"type": "k8s_container", "labels": {"pod_name": e.pod, "container_name": "kafka"}},
        "receiveTimestamp": e.iso,
    }


json_document("GCP textPayload, list", lambda some: [_gcp(e) for e in newest_first(some)], 2)
json_lines("GCP textPayload, lines", _gcp)
json_document(
    "GCP jsonPayload",
    lambda some: [
        {**{k: v for k, v in _gcp(e).items() if k != "textPayload"}, "jsonPayload": {"message": e.text}} for e in some
    ],
)
json_document(
    "GCP jsonPayload, structured",
    lambda some: [
        {
            "insertId": uuid(e),
            "timestamp": e.iso,
            "severity": {"WARN": "WARNING"}.get(e.level, e.level),
            "jsonPayload": {"logger": e.logger, "thread": e.thread, "message": "\n".join([e.message, *e.more])},
        }
        for e in some
    ],
)
table_form(
    "GCP CSV",
    ["insertId", "resource.labels.pod_name", "severity", "textPayload", "timestamp"],
    lambda e: [uuid(e), e.pod, "INFO", e.text, e.iso],
)
table_form(
    "Azure Log Analytics CSV",
    ["TimeGenerated [UTC]", "Computer", "PodName", "LogMessage", "LogSource"],
    lambda e: [e.at.strftime("%m/%d/%Y, %I:%M:%S.%f")[:-3] + e.at.strftime(" %p"), "aks-1", e.pod, e.text, "stdout"],
    newest=True,
)
json_document(
    "Azure Log Analytics JSON",
    lambda some: {
        "tables": [
            {
                "name": "PrimaryResult",
                "columns": [
                    {"name": "TimeGenerated", "type": "datetime"},
                    {"name": "PodName", "type": "string"},
                    {"name": "LogMessage", "type": "dynamic"},
                ],
                "rows": [[e.iso, e.pod, e.text] for e in newest_first(some)],
            }
        ]
    },
)
json_lines(
    "Azure ContainerLogV2",
    lambda e: {
        "TimeGenerated": e.iso,
        "Computer": "aks-1",
        "ContainerId": "c1",
        "PodName": e.pod,
        "LogMessage": e.text,
        "LogSource": "stdout",
        "Type": "ContainerLogV2",
    },
)

# ---- Loki, Graylog, Vector, journald, Logstash, fluentd --------------------------------------------------------------
json_lines("logcli JSONL", lambda e: {"labels": {"app": "kafka", "pod": e.pod}, "line": e.text, "timestamp": e.iso})
FORMS["logcli raw, newest first"] = lambda some: PLAIN(newest_first(some))
json_document(
    "Loki API",
    lambda some: {
        "status": "success",
        "data": {
            "resultType": "streams",
            "result": [
                {
                    "stream": {"app": "kafka", "pod": f"kafka-{n}"},
                    "values": [[str(e.millis * 10**6), e.text] for e in newest_first(some) if e.node == n],
                }
                for n in sorted({e.node for e in some})
            ],
            "stats": {},
        },
    },
)
table_form(
    "Grafana CSV", ["Time", "Line", "labels"], lambda e: [e.millis, e.text, json.dumps({"pod": e.pod})], newest=True
)
json_lines(
    "Vector",
    lambda e: {
        "file": f"/logs/{e.pod}/server.log",
        "host": e.pod,
        "message": e.text,
        "source_type": "file",
        "timestamp": e.iso,
    },
)
json_lines(
    "GELF",
    lambda e: {
        "version": "1.1",
        "host": e.pod,
        "short_message": e.first[:40],
        "full_message": e.text,
        "timestamp": e.millis / 1000,
        "level": 6,
        "_facility": "kafka",
    },
)
table_form("Graylog CSV", ["timestamp", "source", "message"], lambda e: [e.iso, e.pod, e.text])
json_lines(
    "fluentd JSON",
    lambda e: {"stream": "stdout", "log": e.text + "\n", "kubernetes": {"pod_name": e.pod, "container_name": "kafka"}},
)
json_lines(
    "Docker json-file",
    lambda e: {"log": e.text + "\n", "stream": "stdout", "time": e.iso[:-1] + "123456Z"},
    separators=(",", ":"),
)
json_lines(
    "stern -o json",
    lambda e: {"message": e.text, "nodeName": "n1", "namespace": "kafka", "podName": e.pod, "containerName": "kafka"},
)
json_lines(
    "journalctl -o json",
    lambda e: {
        "__REALTIME_TIMESTAMP": str(e.millis * 1000),
        "_HOSTNAME": e.pod,
        "PRIORITY": "6",
        "MESSAGE": e.text if not e.more else list(e.text.encode()),
    },
)
json_lines("journalctl -o json-sse", lambda e: {"MESSAGE": e.text, "_HOSTNAME": e.pod})
_SSE = FORMS["journalctl -o json-sse"]
FORMS["journalctl -o json-sse"] = lambda some: b"".join(b"data: " + line + b"\n\n" for line in _SSE(some).splitlines())


def _export(some: Sequence[Event]) -> bytes:
    out = b""
    for e in some:
        raw = e.text.encode()
        message = b"MESSAGE=" + raw if b"\n" not in raw else b"MESSAGE\n" + len(raw).to_bytes(8, "little") + raw
        out += (
            f"__CURSOR=s=1\n__REALTIME_TIMESTAMP={e.millis * 1000}\n_HOSTNAME={e.pod}\nPRIORITY=6\n".encode()
            + message
            + b"\n\n"
        )
    return out


FORMS["journalctl -o export"] = _export


def _ruby(e: Event) -> str:
    message = json.dumps(e.text, ensure_ascii=False)
    return (
        f'{{\n    "@timestamp" => {e.iso},\n      "@version" => "1",\n'
        f'          "host" => {{\n        "name" => "{e.pod}"\n    }},\n'
        f'       "message" => {message},\n          "tags" => [\n        [0] "kafka"\n    ]\n}}\n'
    )


FORMS["Logstash rubydebug"] = lambda some: "".join(map(_ruby, some)).encode()
FORMS["Papertrail archive"] = lambda some: "".join(
    f"{e.millis}{i}\t{e.iso}\t{e.iso}\t{e.node}\t{e.pod}\t10.0.0.{e.node}\tUser\tInfo\tkafka\t{line}\n"
    for e in some
    for i, line in enumerate(e.lines)
).encode()
table_form("tab-separated", ["time", "pod", "line"], lambda e: [e.iso, e.pod, e.text], delimiter="\t")
table_form("CSV with BOM and CRLF", ["time", "pod", "line"], lambda e: [e.iso, e.pod, e.text], end="\r\n")
_BOM = FORMS["CSV with BOM and CRLF"]
FORMS["CSV with BOM and CRLF"] = lambda some: b"\xef\xbb\xbf" + _BOM(some)
FORMS["CSV in UTF-16"] = lambda some: b"\xff\xfe" + _BOM(some).decode().encode("utf-16-le")
table_form(
    "CSV, message and logger apart",
    ["time", "level", "logger", "thread", "message"],
    lambda e: [e.iso, e.level.lower(), e.logger, e.thread, "\n".join([e.message, *e.more])],
)

# ---- log4j's JSON layouts --------------------------------------------------------------------------------------------
json_lines(
    "log4j2 JsonLayout",
    lambda e: {
        "instant": {"epochSecond": e.millis // 1000, "nanoOfSecond": e.millis % 1000 * 10**6},
        "thread": e.thread,
        "level": e.level,
        "loggerName": e.logger,
        "message": e.message,
        "endOfBatch": False,
        "loggerFqcn": "org.apache.logging.slf4j.Log4jLogger",
        **({"thrown": {"extendedStackTrace": "\n".join(e.more)}} if e.more else {}),
    },
)
json_lines(
    "log4j2 ECS",
    lambda e: {
        "@timestamp": e.iso,
        "log.level": e.level,
        "message": e.message,
        "ecs.version": "1.2.0",
        "process.thread.name": e.thread,
        "log.logger": e.logger,
        **({"error.stack_trace": "\n".join(e.more)} if e.more else {}),
    },
)
json_lines(
    "log4j2 Logstash",
    lambda e: {
        "@version": 1,
        "source_host": e.pod,
        "message": e.message,
        "thread_name": e.thread,
        "@timestamp": e.iso,
        "level": e.level,
        "logger_name": e.logger,
        **({"exception": {"stacktrace": "\n".join(e.more)}} if e.more else {}),
    },
)
json_lines(
    "log4j2 GELF layout",
    lambda e: {
        "version": "1.1",
        "host": e.pod,
        "short_message": e.message,
        "timestamp": e.millis / 1000,
        "level": {"ERROR": 3, "WARN": 4, "INFO": 6}.get(e.level, 7),
        "_thread": e.thread,
        "_logger": e.logger,
        **({"full_message": "\n".join(e.more)} if e.more else {}),
    },
)
json_document(
    "log4j2 JSON in Elasticsearch hits",
    lambda some: {
        "hits": {
            "hits": [
                {
                    "_source": {
                        "message": json.dumps(
                            {
                                "timestamp": e.stamp,
                                "level": e.level,
                                "logger": e.logger,
                                "message": e.message,
                                "exception": "\n".join(e.more),
                            }
                        )
                    }
                }
                for e in some
            ]
        }
    },
)


# ---- other layouts ---------------------------------------------------------------------------------------------------
def layout(name: str, first: object) -> None:
    FORMS[name] = lambda some: "".join("\n".join([first(e), *e.more]) + "\n" for e in some).encode()  # type: ignore[operator]


def millis3(e: Event) -> str:
    return f"{e.millis % 1000:03}"


layout("[ts] [thread] LEVEL", lambda e: f"[{e.stamp}] [{e.thread}] {e.level} {e.message} ({e.logger})")
layout("[ts] LEVEL [thread]", lambda e: f"[{e.stamp}] {e.level} [{e.thread}] {e.message} ({e.logger})")
layout(
    "[ts] [LEVEL] [thread] [logger] -", lambda e: f"[{e.stamp}] [{e.level:5}] [{e.thread}] [{e.logger}] - {e.message}"
)
layout("ts LEVEL [thread] logger:", lambda e: f"{e.stamp} {e.level} [{e.thread}] {e.logger}: {e.message}")
layout(
    "ts [thread] LEVEL logger - (log4j's default)",
    lambda e: f"{e.stamp} [{e.thread}] {e.level:5} {e.logger} - {e.message}",
)
layout("[ts] [LEVEL ] [logger ] -", lambda e: f"[{e.stamp}] [{e.level:5}] [{e.logger:40}] - {e.message}")
layout(
    "ts [ LEVEL] [ thread] [ logger]",
    lambda e: f"{e.stamp} [{e.level:>5}] [{e.thread:>20}] [{e.logger:>40}] - {e.message}",
)
layout("[ts][LEVEL ][logger][thread]", lambda e: f"[{e.stamp}][{e.level:5}][{e.logger}][{e.thread}] {e.message}")
layout("bars between columns", lambda e: f"{e.stamp}|{e.level:5}|{e.logger:33}|{e.message}")
layout("LEVEL [ts] logger :", lambda e: f"{e.level:5} [{e.stamp}] {e.logger:33}: {e.message}")
layout("LEVEL first", lambda e: f"{e.level:5} {e.stamp} {e.thread} {e.logger} - {e.message}")
layout("Cloudera", lambda e: f"{e.stamp} {e.level} {e.logger}: {e.message}")
layout("Strimzi", lambda e: f"{e.stamp} {e.level} {e.message} ({e.logger}) [{e.thread}]")
layout("lower-case levels", lambda e: f"[{e.stamp}] {e.level.lower()} {e.message} ({e.logger})")
layout("epoch milliseconds", lambda e: f"{e.millis} {e.level} {e.message} ({e.logger})")
layout("[epoch milliseconds]", lambda e: f"[{e.millis}] {e.level} {e.message} ({e.logger})")
layout("epoch seconds", lambda e: f"{e.millis // 1000}.{millis3(e)} [{e.thread}] {e.level} {e.logger} - {e.message}")
layout("[... UTC]", lambda e: f"[{e.stamp} UTC] {e.level} {e.message} ({e.logger})")
layout("[... +0000]", lambda e: f"[{e.stamp} +0000] {e.level} {e.message} ({e.logger})")
layout("ISO 8601 with Z", lambda e: f"[{e.iso}] {e.level} {e.message} ({e.logger})")
layout(
    "ISO 8601 with an offset",
    lambda e: f"{e.at.astimezone(ZONE).strftime('%Y-%m-%dT%H:%M:%S.%f')[:-3]}+05:30 {e.level} {e.message} ({e.logger})",
)
layout(
    "common log dates", lambda e: f"[{e.at:%d/%b/%Y:%H:%M:%S}.{millis3(e)} +0000] {e.level} {e.message} ({e.logger})"
)
layout(
    "log4j's DATE", lambda e: f"{e.at:%d %b %Y %H:%M:%S},{millis3(e)} [{e.thread}] {e.level} {e.logger} - {e.message}"
)
layout(
    "slashes in dates",
    lambda e: f"{e.at:%Y/%m/%d %H:%M:%S}.{millis3(e)} {e.level} [{e.thread}] {e.logger} - {e.message}",
)
layout("Quarkus", lambda e: f"{e.stamp} {e.level:5} [{e.logger}] ({e.thread} (a)) {e.message}")
text_form(
    "Testcontainers, logback",
    lambda e, line: f"{e.at:%H:%M:%S}.{millis3(e)} [docker-java-stream-1] INFO tc.kafka - STDOUT: {line}",
)
text_form(
    "Testcontainers, Spring",
    lambda e, line: f"{e.iso}  INFO 77 --- [main] [docker-java-stream-1] tc.kafka : STDOUT: {line}",
)
text_form("a program with time and level", lambda e, line: f"{e.stamp} INFO [kafka-out] {line}")
layout(
    "time without a date", lambda e: f"{e.at:%H:%M:%S}.{millis3(e)} [{e.thread}] {e.level:5} {e.logger} - {e.message}"
)
FORMS["docker compose, [ts] [thread] LEVEL"] = lambda some: b"".join(
    f"{e.pod}  | {line}\n".encode()
    for e in some
    for line in [f"[{e.stamp}] [{e.thread}] {e.level} {e.message} ({e.logger})", *e.more]
)
json_lines(
    "Filebeat, [ts] [thread] LEVEL",
    lambda e: {
        "@timestamp": e.iso,
        "source": f"/logs/{e.pod}/server.log",
        "message": "\n".join([f"[{e.stamp}] [{e.thread}] {e.level} {e.message} ({e.logger})", *e.more]),
    },
)
FORMS["log4j XML"] = lambda some: "".join(
    f'<log4j:event logger="{e.logger}" timestamp="{e.millis}" level="{e.level}" thread="{e.thread}">\n'
    f"<log4j:message><![CDATA[{e.message}]]></log4j:message>\n</log4j:event>\n\n"
    for e in some
).encode()


def _by_words(some: Sequence[Event]) -> bytes:
    import textwrap

    lines = PLAIN(some).decode().split("\n")[:-1]
    return "".join(f"{part}\n" for line in lines for part in textwrap.wrap(line, 90) or [""]).encode()


FORMS["wrapped between words"] = _by_words
