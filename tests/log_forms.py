"""The same events as many tools and platforms write them: what the test of forms and its proof read.

A form makes one file of the events; all of it is made here, after the documentation of the tools, so that a clean clone
has it. Events are those of a small capture and some that are hard to carry.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from udfs.logs.layouts import APACHE

ROOT = Path(__file__).resolve().parents[1]
CAPTURE = ROOT / "data" / "zk-2.4.1" / "logs"
EVENTS = 147


@dataclass(frozen=True)
class Event:
    """One record: when (UTC), on which node, and what it says; `more` are its further lines."""

    at: datetime
    node: int
    level: str
    logger: str
    message: str
    more: tuple[str, ...] = ()
    thread: str = "main"

    @property
    def stamp(self) -> str:
        return self.at.strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]

    @property
    def first(self) -> str:
        """Its first line as Kafka prints it."""
        return f"[{self.stamp}] {self.level} {self.message} ({self.logger})"

    @property
    def lines(self) -> list[str]:
        return [self.first, *self.more]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def millis(self) -> int:
        return (self.at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)

    @property
    def iso(self) -> str:
        return self.at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"

    @property
    def pod(self) -> str:
        return f"kafka-{self.node}"


HARD = (  # level, logger, message, further lines
    ("INFO", "state.change.logger", '[Broker id=1] Handled "LeaderAndIsr", request ⟨ü⟩ \\ {"a": [1, "b"]}, x', ()),
    (
        "ERROR", "kafka.controller.KafkaController",
        '[Controller id=1] Failed to elect "leader", for [orders,3] \\n; a|b',
        ("java.io.IOException: gone, said \"no\"", "\tat kafka.cluster.Partition.makeLeader(Partition.scala:12)",
         "\tat java.base/java.lang.Thread.run(Thread.java:833)", "Caused by: java.net.ConnectException: [x] \\ é"),
    ),
    ("WARN", "kafka.server.ReplicaManager", "[ReplicaManager broker=2] values:", ("\ta = [1, 2]", "\tb = ;\t|")),
)  # fmt: skip


def events() -> list[Event]:
    """The events in the order of their times: three nodes, several loggers and levels, and the hard ones."""
    some: list[Event] = []
    for node, name in ((0, "controller.log"), (0, "state-change.log"), (1, "server.log"), (3, "server.log")):
        data = (CAPTURE / f"broker-{node}" / name).read_bytes()
        starts = [m.start() for m in APACHE.torn.finditer(data)] if APACHE.torn else []
        wanted = [*range(200, 218), *range(600, 618)] if len(starts) > 700 else range(20, 56)
        for i in wanted:
            first, *more = data[starts[i] : starts[i + 1]].decode().rstrip("\n").split("\n")
            m = APACHE.head.fullmatch(first.encode())
            if m is None:
                continue
            at = datetime.strptime(m["at"].decode(), "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)
            logger, message = m["logger"].decode(), m["message"].decode().rstrip()
            some.append(Event(at, node, m["level"].decode(), logger, message, tuple(more), f"thread-{node}-{i % 7}"))
    some = sorted(some, key=lambda event: event.at)[: EVENTS - 2 * len(HARD)]
    begin, step = some[0].at, (some[-1].at - some[0].at) / (2 * len(HARD))
    for i, (level, logger, message, further) in enumerate(HARD * 2):
        at = begin + step * i + timedelta(milliseconds=i)
        at = at.replace(microsecond=at.microsecond // 1000 * 1000)
        some.append(Event(at, 1 + i % 2, level, logger, message, further, "kafka-request-handler-3"))
    ordered = sorted(some, key=lambda event: event.at)
    assert len(ordered) == EVENTS, len(ordered)
    return ordered


Form = Callable[[Sequence[Event]], bytes]
FORMS: dict[str, Form] = {}


def form(name: str) -> Callable[[Form], Form]:
    def add(make: Form) -> Form:
        assert name not in FORMS
        FORMS[name] = make
        return make

    return add


def text_form(name: str, line: Callable[[Event, str], str], *, once: bool = False) -> None:
    """A form with something around each line, or (`once`) around the first line of each event only."""

    def make(some: Sequence[Event]) -> bytes:
        lines = [
            line(event, text) if not once or i == 0 else text for event in some for i, text in enumerate(event.lines)
        ]
        return "".join(f"{text}\n" for text in lines).encode()

    FORMS[name] = make


def json_lines(name: str, value: Callable[[Event], object], **kwargs: object) -> None:
    """A form with a JSON document for each event."""
    FORMS[name] = lambda some: "".join(json.dumps(value(e), **kwargs) + "\n" for e in some).encode()  # type: ignore[arg-type]


def json_document(name: str, value: Callable[[Sequence[Event]], object], indent: int | None = None) -> None:
    """A form that is one JSON document, in one line or pretty."""
    FORMS[name] = lambda some: json.dumps(value(some), indent=indent).encode() + b"\n" * (indent is not None)


def table_form(
    name: str, columns: Sequence[str], row: Callable[[Event], Sequence[object]], newest: bool = False,
    header: bool = True, delimiter: str = ",", quoting: int = csv.QUOTE_ALL, end: str = "\n",
) -> None:  # fmt: skip
    """A form that is a table with a row for each event."""

    def make(some: Sequence[Event]) -> bytes:
        out = io.StringIO()
        writer = csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator=end)  # type: ignore[arg-type]
        if header:
            writer.writerow(columns)
        writer.writerows(row(event) for event in (reversed(some) if newest else some))
        return out.getvalue().encode()

    FORMS[name] = make


def newest_first(some: Iterable[Event]) -> list[Event]:
    return list(some)[::-1]


def uuid(event: Event) -> str:
    return f"{event.millis:x}{abs(hash(event.text)) % 10**6}"


def rsyslog_escaped(text: str) -> str:
    """A text as rsyslog writes it: control characters by their octal numbers."""
    return text.replace("\n", "#012").replace("\t", "#011")


# ---- as Kafka writes it, and what happens to files -------------------------------------------------------------------
text_form("as Kafka writes it", lambda e, line: line)
PLAIN = FORMS["as Kafka writes it"]
FORMS["CRLF"] = lambda some: PLAIN(some).replace(b"\n", b"\r\n")
FORMS["UTF-8 with BOM"] = lambda some: b"\xef\xbb\xbf" + PLAIN(some)
FORMS["UTF-16 LE with BOM"] = lambda some: b"\xff\xfe" + PLAIN(some).decode().encode("utf-16-le")
FORMS["UTF-16 BE without BOM"] = lambda some: PLAIN(some).decode().encode("utf-16-be")
FORMS["gzip"] = lambda some: gzip.compress(PLAIN(some), mtime=0)
FORMS["Splunk, raw events"] = PLAIN
FORMS["newest first, records"] = lambda some: PLAIN(newest_first(some))
FORMS["newest first, lines (tac)"] = lambda some: b"".join(PLAIN(some).splitlines(keepends=True)[::-1])


@form("zip")
def _zip(some: Sequence[Event]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("export/kafka.log", PLAIN(some))
    return out.getvalue()


def wrapped(width: int) -> Form:
    def make(some: Sequence[Event]) -> bytes:
        lines = PLAIN(some).decode().split("\n")[:-1]
        cut = [line[i : i + width] for line in lines for i in range(0, max(len(line), 1), width)]
        return "".join(f"{line}\n" for line in cut).encode()

    return make


for _width in (80, 120, 132):
    FORMS[f"wrapped at {_width}"] = wrapped(_width)


# ---- collectors that prefix lines ------------------------------------------------------------------------------------
text_form("docker compose", lambda e, line: f"{e.pod}  | {line}")
text_form("docker compose, coloured", lambda e, line: f"\x1b[3{e.node + 1}m{e.pod}  |\x1b[0m {line}")
text_form("docker service logs", lambda e, line: f"stack_{e.pod}.1.k2x9q@worker{e.node}    | {line}")
text_form("CRI", lambda e, line: f"{e.iso[:-1]}123456Z stdout F {line}")
text_form("kubectl logs --timestamps", lambda e, line: f"{e.iso[:-1]}123456Z {line}")
text_form("kubectl logs --prefix", lambda e, line: f"[pod/{e.pod}/kafka] {line}")
text_form("kubectl logs --prefix --timestamps", lambda e, line: f"[pod/{e.pod}/kafka] {e.iso[:-1]}123456Z {line}")
text_form("stern", lambda e, line: f"{e.pod} kafka {line}")
text_form("stern --timestamps", lambda e, line: f"{e.pod} kafka {e.iso[:-1]}123456789Z {line}")
text_form("kail", lambda e, line: f"default/{e.pod}[kafka]: {line}")
text_form("grep -H", lambda e, line: f"broker-{e.node}/server.log:{line}")
text_form("RFC 3164", lambda e, line: f"<14>{e.at:%b %d %H:%M:%S} {e.pod} kafka: {line}")
text_form("journalctl -o short", lambda e, line: f"{e.at:%b %d %H:%M:%S} {e.pod} kafka-server-start.sh[15550]: {line}")
text_form(
    "journalctl -o short-iso", lambda e, line: f"{e.at:%Y-%m-%dT%H:%M:%S}+0000 {e.pod} kafka-server-start.sh[1]: {line}"
)
text_form("journalctl -o short-precise", lambda e, line: f"{e.at:%b %d %H:%M:%S.%f} {e.pod} kafka[15550]: {line}")
text_form("journalctl -o short-unix", lambda e, line: f"{e.millis / 1000:.6f} {e.pod} kafka[15550]: {line}")
text_form("journalctl -o short-full", lambda e, line: f"{e.at:%a %Y-%m-%d %H:%M:%S} UTC {e.pod} kafka[15550]: {line}")
text_form("journalctl -o cat", lambda e, line: line)
text_form("RFC 5424", lambda e, line: f"<30>1 {e.iso} {e.pod} kafka 15550 - - {line}")
text_form(
    "RFC 5424 with structured data",
    lambda e, line: f'<30>1 {e.iso} {e.pod} kafka 15550 ID{e.millis % 97} [meta sequenceId="{e.millis % 1000}"] {line}',
)
text_form("RFC 5424 with BOM", lambda e, line: f"<30>1 {e.iso} {e.pod} kafka 15550 - - \ufeff{line}")
text_form(
    "RFC 5424 octet-counted", lambda e, line: f"{len(line) + 40} <30>1 {e.iso} {e.pod} kafka 1 - - {line}", once=True
)
FORMS["rsyslog, a record a line"] = lambda some: "".join(
    f"{e.at:%b %d %H:%M:%S} {e.pod} kafka[15550]: {rsyslog_escaped(e.text)}\n" for e in some
).encode()
FORMS["RFC 5424, a record a line"] = lambda some: "".join(
    f"<30>1 {e.iso} {e.pod} kafka 15550 - - {rsyslog_escaped(e.text)}\n" for e in some
).encode()
text_form("syslog-ng", lambda e, line: f"{e.at:%Y-%m-%dT%H:%M:%S}+00:00 {e.pod} kafka[15550]: {line}")
text_form("Papertrail", lambda e, line: f"{e.at:%b %d %H:%M:%S} {e.pod} kafka/server {line}")
text_form("logcli", lambda e, line: f'{e.iso} {{app="kafka", pod="{e.pod}"}} {line}', once=True)
text_form("logcli, newest first", lambda e, line: f'{e.iso} {{app="kafka", pod="{e.pod}"}} {line}', once=True)
_LOGCLI = FORMS["logcli, newest first"]
FORMS["logcli, newest first"] = lambda some: _LOGCLI(newest_first(some))
text_form("aws logs tail", lambda e, line: f"{e.at:%Y-%m-%dT%H:%M:%S.%f}+00:00 {e.pod} {line}", once=True)
FORMS["aws logs filter-log-events, text"] = lambda some: "".join(
    f"EVENTS\t3{e.millis}\t{e.millis + 900}\t{e.pod}\t{e.text}\t{e.millis}\n" for e in some
).encode()
text_form("fluentd, text", lambda e, line: f"{e.at:%Y-%m-%dT%H:%M:%S}+00:00\tkube.{e.pod}\t{json.dumps({'log': line})}")
text_form(
    "Fluent Bit, standard output",
    lambda e, line: (
        f"[{e.millis % 9}] kube.{e.pod}: [[{e.millis / 1000:.9f}, {{}}], "
        f'{{"stream"=>"stdout", "log"=>{json.dumps(line)}}}]'
    ),
)
text_form("unknown prefix", lambda e, line: f"%% eu-west/{e.pod} seq={e.millis % 10007} >> {line}")
text_form("unknown prefix on first lines", lambda e, line: f"node={e.pod};n={e.millis % 10007};; {line}", once=True)
text_form("logfmt", lambda e, line: f"ts={e.iso} host={e.pod} msg={json.dumps(line, ensure_ascii=False)}")


def parts_form(name: str, row: Callable[[Event, str, bool], dict[str, object]]) -> None:
    """A form with a JSON object for each line, of long ones for each part; the row is also told whether it is the
    last."""

    def make(some: Sequence[Event]) -> bytes:
        out = []
        for e in some:
            for line in e.lines:
                parts = [line[i : i + 60] for i in range(0, max(len(line), 1), 60)]
                out += [json.dumps(row(e, part, i == len(parts) - 1)) for i, part in enumerate(parts)]
        return "".join(f"{text}\n" for text in out).encode()

    FORMS[name] = make


parts_form(
    "fluentd of CRI, long lines in parts",
    lambda e, part, is_last: {
        "log": part, "stream": "stdout", "logtag": "F" if is_last else "P", "time": e.iso, "pod_name": e.pod
    },
)  # fmt: skip
parts_form(
    "Docker's fluentd driver, long lines in parts",
    lambda e, part, is_last: {
        "container_name": f"/{e.pod}", "source": "stdout", "log": part, "partial_message": "true", "partial_id": "7c",
        "partial_last": str(is_last).lower(),
    },
)  # fmt: skip

parts_form(
    "elasticdump of CRI, long lines in parts",
    lambda e, part, is_last: {
        "_index": "k8s", "_id": f"{e.millis:x}{len(part)}",
        "_source": {"log": part, "logtag": "F" if is_last else "P", "@timestamp": e.iso, "pod_name": e.pod},
    },
)  # fmt: skip


@form("CRI, long lines in parts")
def _cri_parts(some: Sequence[Event]) -> bytes:
    out = []
    for e in some:
        for line in e.lines:
            parts = [line[i : i + 60] for i in range(0, max(len(line), 1), 60)]
            out += [f"{e.iso[:-1]}123Z stdout {'F' if i == len(parts) - 1 else 'P'} {p}\n" for i, p in enumerate(parts)]
    return "".join(out).encode()
