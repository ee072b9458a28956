"""Logs with something odd in them: an odd value, a list in a row, a time that misleads. Read right, or refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from jobs.cli import main
from tests.test_log_forms import read
from udfs.arrow.parse import read_range
from udfs.logs.formats import format_named
from udfs.logs.ranges import open_range, ranges
from udfs.logs.survey import survey
from udfs.merge.times import as_text

NAME = "kafka.controller.KafkaController"
MESSAGE = "[Controller id=1] Starting"


def line(clock: str, message: str = MESSAGE, day: str = "2024-01-15") -> str:
    """A line as Kafka writes it."""
    return f"[{day} {clock},000] INFO {message} ({NAME})"


def log_file(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "broker-1" / "server.log"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def records(tmp_path: Path, text: str | bytes) -> list[str]:
    """Time (UTC), logger and message of each record as the plain reader gives them; the columnar one must agree."""
    path = log_file(tmp_path, text)
    _, some, _ = read(path)
    plain = [(at, logger, message) for at, _, logger, message, _ in some]
    assert sorted(columnar_rows(path)) == sorted((at, name) for at, name, _ in plain if name == NAME)
    return [f"{as_text(at)} {logger.rpartition('.')[2]} {message}" for at, logger, message in plain]


def merge_lines(tmp_path: Path, *options: str) -> list[str]:
    """The lines that `merge` prints of the log file."""
    result = CliRunner().invoke(main, ["merge", *options, str(tmp_path)])
    assert result.exit_code == 0, result.stderr
    return result.stdout.splitlines()


def columnar_rows(path: Path) -> list[tuple[int, str]]:
    """Times and loggers of the events and rejects that the columnar reader gives."""
    rows: list[tuple[int, str]] = []
    for surveyed in survey(str(path), {}):
        for task in ranges(surveyed, "f"):
            with open_range(task) as stream:
                parts = (stream, format_named(task.format), task.zone, "f", task.start, task.end, task.first_line)
                for batch in read_range(*parts, task.clock_changes):
                    rows += [
                        (int(row["at"].timestamp() * 1_000_000), row["logger"])
                        for row in batch.select(["record", "at", "logger"]).to_pylist()
                        if row["record"] != "account"
                    ]
    return rows


def test_an_id_column_that_looks_like_a_number_is_no_time(tmp_path: Path) -> None:
    rows = "".join(f'"2024-01-15T10:00:0{i}Z","12e456{i}","{line(f"10:00:0{i}")}"\n' for i in range(3))
    assert records(tmp_path, "time,id,line\n" + rows) == [
        f"2024-01-15 10:00:00,000 KafkaController {MESSAGE}",
        f"2024-01-15 10:00:01,000 KafkaController {MESSAGE}",
        f"2024-01-15 10:00:02,000 KafkaController {MESSAGE}",
    ]


# ---- odd values in JSON ---------------------------------------------------------------------------------------------
def json_event(second: int, **more: object) -> str:
    values = {"ts": 1705312800.0 + second, "level": "INFO", "logger": NAME, "message": MESSAGE, **more}
    return json.dumps(values) + "\n"


GOOD = f"2024-01-15 10:00:00,000 KafkaController {MESSAGE}"


@pytest.mark.parametrize("time", ["1e999", "-1e999", "NaN", "1e300", "9" * 4000])
def test_a_time_that_is_no_number_of_seconds_costs_no_other_record(time: str, tmp_path: Path) -> None:
    odd = json_event(1).replace("1705312801.0", time)
    assert records(tmp_path, json_event(0) + odd + json_event(0)) == [GOOD, GOOD]


@pytest.mark.parametrize("hole", ["\0", "\0" * 5000, "\ufeff", "\0\0\ufeff"], ids=["NUL", "NULs", "BOM", "both"])
def test_an_object_behind_what_a_crash_left_is_read(hole: str, tmp_path: Path) -> None:
    docker = json.dumps({"log": line("10:00:00") + "\n", "stream": "stdout", "time": "2024-01-15T10:00:00.1Z"}) + "\n"
    berlin = docker.replace("[2024-01-15 10", "[2024-01-15 11")
    for text in (json_event(0), docker, docker.replace('": ', '":').replace('", "', '","'), berlin):
        assert records(tmp_path, text * 3 + hole + text * 2 + hole + text) == [GOOD] * 6, text


def test_a_key_that_json_does_not_know_ends_its_document_only(tmp_path: Path) -> None:
    document = json.dumps({"a": 1, "logEvents": [{"message": line("10:00:00")}]}) + "\n"
    odd = '{"C:\\kafka":1,"logEvents":[]}\n'
    assert records(tmp_path, document * 2 + odd + document) == [GOOD, GOOD, GOOD]


@pytest.mark.parametrize("key", ["category", "logger", "class"])
def test_a_message_that_is_a_whole_line_is_that_line_whatever_is_beside_it(key: str, tmp_path: Path) -> None:
    shipper = {"time": "2024-01-15T10:00:07Z", "level": "INFO", key: "kafka"}
    rows = [{**shipper, "message": line(f"10:00:0{i}")} for i in range(2)]
    assert records(tmp_path, "".join(json.dumps(row) + "\n" for row in rows)) == [
        f"2024-01-15 10:00:00,000 KafkaController {MESSAGE}",
        f"2024-01-15 10:00:01,000 KafkaController {MESSAGE}",
    ]


def test_a_message_that_only_begins_with_a_time_is_no_line(tmp_path: Path) -> None:
    odd = json_event(1, message="2024-01-01 00:00:00 is when it began")
    assert records(tmp_path, json_event(0) + odd + json_event(0))[1] == (
        "2024-01-15 10:00:01,000 KafkaController 2024-01-01 00:00:00 is when it began"
    )


def test_half_a_surrogate_pair_in_a_name_of_an_output_is_escaped(tmp_path: Path) -> None:
    rows = [{"message": line("10:00:00"), "source": "/var/log/\ud83d/server.log"}] * 3
    path = log_file(tmp_path, "".join(json.dumps(row) + "\n" for row in rows))
    assert records(tmp_path, path.read_bytes()) == [GOOD] * 3
    (surveyed,) = survey(str(path), {})
    (task,) = ranges(surveyed, "f")
    with open_range(task) as stream:
        batch = next(iter(read_range(stream, format_named(task.format), "UTC", "f", 0, None, 1)))
    assert {*batch["channel"].to_pylist()} == {"/var/log/\\ud83d/server.log"}


def test_a_hash_of_ruby_that_is_too_deep_is_a_line(tmp_path: Path) -> None:
    good = f'{{\n    "message" => "{line("10:00:00")}"\n}}\n'
    deep = '{ "a" => ' * 100_000 + "1" + "}" * 100_000 + "\n"
    assert records(tmp_path, good * 3 + deep + good) == [GOOD] * 4


# ---- line ends and times that no layout spells out ------------------------------------------------------------------
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r\r\n", "\r\r\r\n"])
def test_lines_may_end_in_any_number_of_carriage_returns(end: str, tmp_path: Path) -> None:
    cloudera = f"2024-01-15 10:00:00,000 INFO {NAME}: {MESSAGE}"
    threads = f"[2024-01-15 10:00:00,000] [main] INFO {MESSAGE} ({NAME})"
    for text in (line("10:00:00"), cloudera, threads):
        assert records(tmp_path, f"{text}{end}" * 3) == [GOOD] * 3


NO_LAYOUTS = {  # what only looking at the lines shows
    "threads": "[{at}] [main] INFO {message} ({name})",
    "log4j's default": "{at} [main] INFO {name} - {message}",
    "zones": "[{at} UTC] INFO {message} ({name})",
    "level first": "INFO {at} {message} ({name})",
    "stern": "kafka-1 kafka [{at}] INFO {message} ({name})",
    "journalctl": "Mon 2024-01-15 10:00:00 UTC host kafka[12]: [{at}] INFO {message} ({name})",
    "compose": "kafka-1  | [{at}] [main] INFO {message} ({name})",
}


@pytest.mark.parametrize("form", NO_LAYOUTS)
def test_the_longest_line_that_comes_again_and_again_was_not_cut(form: str, tmp_path: Path) -> None:
    """An idle controller says the same each five minutes; one line in twelve is the longest."""
    longer = f"{MESSAGE} to say more than it says else"
    messages = ([longer] + [MESSAGE] * 11) * 10
    text = "".join(
        NO_LAYOUTS[form].format(at="2024-01-15 10:00:00,000", message=message, name=NAME) + "\n" for message in messages
    )
    good = f"2024-01-15 10:00:00,000 KafkaController {longer}"
    assert records(tmp_path, text) == ([good] + [GOOD] * 11) * 10


def test_milliseconds_may_stand_behind_a_colon(tmp_path: Path) -> None:
    text = "".join(line(f"10:00:0{i}").replace(",000]", ":007]") + "\n" for i in (2, 0))
    assert records(tmp_path, text) == [
        f"2024-01-15 10:00:02,007 KafkaController {MESSAGE}",
        f"2024-01-15 10:00:00,007 KafkaController {MESSAGE}",
    ]
    assert merge_lines(tmp_path, "--since", "2024-01-15 10:00:01") == text.splitlines()[:1]


ZONES = {  # zone, local time of the same moment, on a day in July
    "GMT+02:00": "12:00:00", "UTC+02:00": "12:00:00", "GMT+2": "12:00:00", "PDT": "03:00:00", "CEST": "12:00:00",
    "EDT": "06:00:00", "UTC": "10:00:00",
}  # fmt: skip


@pytest.mark.parametrize("zone", ZONES)
def test_a_zone_behind_the_time_is_read(zone: str, tmp_path: Path) -> None:
    stamp = f"2024-07-15 {ZONES[zone]},000 {zone}"
    for text in (
        f"[{stamp}] INFO {MESSAGE} ({NAME})",
        f"[{stamp}] [main] INFO {MESSAGE} ({NAME})",
        f"{stamp} INFO {MESSAGE} ({NAME})",
        f"{stamp} INFO {NAME}: {MESSAGE}",
        f"{stamp} INFO {MESSAGE} ({NAME}) [main]",
        f"{stamp} INFO [main] {NAME} - {MESSAGE}",
    ):
        assert records(tmp_path, f"{text}\n" * 3) == [f"2024-07-15 10:00:00,000 KafkaController {MESSAGE}"] * 3, text


@pytest.mark.parametrize("zone", ["CST", "IST", "BST", "Europe/Berlin", "WIB"])
def test_a_zone_that_means_several_offsets_is_refused(zone: str, tmp_path: Path) -> None:
    texts = [f"[2024-07-15 03:00:00,000 {zone}] INFO {MESSAGE} ({NAME})\n"]
    if zone in ("CST", "IST", "BST"):  # elsewhere any word may be a thread
        texts.append(f"2024-07-15 03:00:00,000 {zone} INFO {NAME}: {MESSAGE}\n")
    for text in texts:
        (surveyed,) = survey(str(log_file(tmp_path, text * 3)), {})
        assert surveyed.format is None
        assert surveyed.error is not None
        assert "zone" in surveyed.error


def test_a_level_in_the_brackets_of_the_time_is_no_zone(tmp_path: Path) -> None:
    text = f"[2024-01-15 10:00:00,000 INFO] [main] {NAME} - {MESSAGE}\n"
    assert records(tmp_path, text * 3) == [GOOD] * 3


def test_what_has_no_time_that_can_be_read_is_refused(tmp_path: Path) -> None:
    path = log_file(tmp_path, (line("10:00:00", day="2024-99-99") + "\n") * 3)
    (surveyed,) = survey(str(path), {})
    assert surveyed.format is None
    assert surveyed.error is not None
    assert str(path) in surveyed.error


@pytest.mark.parametrize(
    "prefixes",
    [
        ("Sun 2024-03-31 01:59:59 CET kafka-1 kafka[12]: ", "Mon 2024-04-01 00:00:00 CEST kafka-1 kafka[12]: "),
        ("Mar 31 23:59:59 ", "Apr 01 00:00:00 "),
    ],
    ids=["journalctl -o short-full", "ts"],
)
def test_a_prefix_is_the_same_on_another_day(prefixes: tuple[str, str], tmp_path: Path) -> None:
    """More lines of the first day than are looked at."""
    before, after = (prefix + json_event(0) for prefix in prefixes)
    assert records(tmp_path, before * 700 + after * 3) == [GOOD] * 703


def test_a_second_host_may_come_late(tmp_path: Path) -> None:
    """More lines of the first one than are looked at; then their stack traces are interleaved."""
    name, trace = "kafka.server.ReplicaManager", "\tat kafka.Kafka.main(Kafka.scala:1)"
    errors = [f"[2024-01-15 10:00:00,000] ERROR [ReplicaManager broker={node}] Gone ({name})" for node in (0, 2)]
    text = f"kafka-0 kafka {line('10:00:00')}\n" * 700 + "".join(
        f"kafka-{node} kafka {some}\n"
        for some_of_both in (errors, ["java.io.IOException: a", "java.io.IOException: b"], [trace, trace])
        for node, some in zip((0, 2), some_of_both, strict=True)
    )
    _, some, _ = read(log_file(tmp_path, text))
    assert [(message, more) for _, level, _, message, more in some if level == "ERROR"] == [
        ("[ReplicaManager broker=0] Gone", f"java.io.IOException: a\n{trace}"),
        ("[ReplicaManager broker=2] Gone", f"java.io.IOException: b\n{trace}"),
    ]


# ---- zones that a wrapper tells -------------------------------------------------------------------------------------
def shipper_line(at: str, text: str) -> str:
    return json.dumps({"@timestamp": at, "message": text, "source": "/x/kafka-1/server.log"}) + "\n"


def test_lines_that_were_read_much_later_at_once_tell_no_zone(tmp_path: Path) -> None:
    """By chance one was written one hour before all were read."""
    lines = [line(f"09:{minute:02}:00") for minute in range(0, 60, 5)]
    assert records(tmp_path, "".join(shipper_line("2024-01-15T10:00:30.000Z", text) for text in lines)) == [
        f"2024-01-15 09:{minute:02}:00,000 KafkaController {MESSAGE}" for minute in range(0, 60, 5)
    ]


def test_lines_of_a_zone_some_of_which_were_read_late_are_of_that_zone(tmp_path: Path) -> None:
    """Of 11:00 to 11:04 in Berlin; the third line was read ten minutes late."""
    late = [0, 0, 10, 0, 0]
    text = "".join(shipper_line(f"2024-01-15T10:{i + late[i]:02}:01Z", line(f"11:{i:02}:00")) for i in range(5))
    assert records(tmp_path, text) == [f"2024-01-15 10:0{i}:00,000 KafkaController {MESSAGE}" for i in range(5)]


def test_a_zone_that_is_utc_in_winter_shows_once_clocks_are_put_forward(tmp_path: Path) -> None:
    """London on March 31, 2024: 00:58 is 00:58 UTC, and 02:00, two minutes later, 01:00 UTC."""
    winter = shipper_line("2024-03-31T00:58:00.000Z", line("00:58:00", day="2024-03-31"))
    summer = [shipper_line(f"2024-03-31T01:0{i}:00.000Z", line(f"02:0{i}:00", day="2024-03-31")) for i in range(5)]
    assert records(tmp_path, winter + "".join(summer)) == [
        f"2024-03-31 {clock}:00,000 KafkaController {MESSAGE}"
        for clock in ("00:58", "01:00", "01:01", "01:02", "01:03", "01:04")
    ]


# ---- numbers in messages --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("number", [9223372036854775807, 1705312800000])
def test_a_number_in_one_message_is_not_the_time_of_all_lines(number: int, tmp_path: Path) -> None:
    """Docker's json-file around a pattern without time."""
    messages = [f"{MESSAGE} ({NAME})"] * 5 + [
        f"Starting log cleanup with a period of {number} ms. (kafka.log.LogManager)"
    ]
    rows = [
        {"log": f"INFO {message}\n", "stream": "stdout", "time": f"2024-01-15T10:00:0{i}.000Z"}
        for i, message in enumerate(messages)
    ]
    (surveyed,) = survey(str(log_file(tmp_path, "".join(json.dumps(row) + "\n" for row in rows))), {})
    assert surveyed.format is None
    assert surveyed.error is not None
    assert "time, level and message" in surveyed.error


# ---- rows that hold lists -------------------------------------------------------------------------------------------
def scope(*minutes: int, level: str | int = "INFO") -> dict[str, object]:
    """OpenTelemetry's JSON of one logger: a record in each of some minutes."""
    begin = 1705312800  # 2024-01-15 10:00:00 UTC
    log_records = [
        {"timeUnixNano": str((begin + 60 * minute) * 10**9), "severityText": level, "body": {"stringValue": MESSAGE}}
        for minute in minutes
    ]
    return {"scope": {"name": NAME}, "logRecords": log_records}


@pytest.mark.parametrize("indent", [None, 2])
def test_each_record_in_a_list_below_its_logger_is_read(indent: int | None, tmp_path: Path) -> None:
    documents = [
        {"resourceLogs": [{"scopeLogs": [scope(0, 1), scope(2)]}]},
        {"resourceLogs": [{"scopeLogs": [scope(3)]}]},
    ]
    assert records(tmp_path, "".join(json.dumps(document, indent=indent) + "\n" for document in documents)) == [
        f"2024-01-15 10:0{minute}:00,000 KafkaController {MESSAGE}" for minute in range(4)
    ]


def test_a_list_of_records_that_have_no_level_is_refused(tmp_path: Path) -> None:
    """Nothing is read, rather than the first record of each list."""
    document = {"resourceLogs": [{"scopeLogs": [scope(0, 1, level=9)]}]}
    rows = [{**document, "level": "INFO"}] * 2
    (surveyed,) = survey(str(log_file(tmp_path, "".join(json.dumps(row) + "\n" for row in rows))), {})
    assert surveyed.format is None
    assert surveyed.error is not None


# ---- loggers in short -----------------------------------------------------------------------------------------------
SHORT_LOGGERS = [  # of %c{1}, %c{2} and %logger{30}
    "KafkaController", "controller.KafkaController", "k.controller.KafkaController", "k.c.KafkaController"
]  # fmt: skip


@pytest.mark.parametrize("logger", SHORT_LOGGERS)
def test_a_logger_in_short_is_spelled_out_in_each_layout(logger: str, tmp_path: Path) -> None:
    layouts = [
        f"[2024-01-15 10:00:00,000] INFO {MESSAGE} ({logger})",
        f"[2024-01-15 10:00:00,000] [INFO ] [main] [{logger}] - {MESSAGE}",
        f"2024-01-15 10:00:00 INFO {MESSAGE} ({logger})",
        f"2024-01-15 10:00:00,000 INFO {MESSAGE} ({logger}) [main]",
        f"2024-01-15 10:00:00 INFO [main] {logger}:450 - {MESSAGE}",
        json.dumps({"ts": 1705312800.0, "level": "INFO", "logger": logger, "message": MESSAGE}),
    ]
    if "." in logger:  # a word before a colon is often no logger
        layouts.append(f"2024-01-15 10:00:00,000 INFO {logger}: {MESSAGE}")
    for text in layouts:
        path = log_file(tmp_path, f"{text}\n" * 3)
        assert columnar_rows(path) == [(1705312800_000000, NAME)] * 3, text
        assert records(tmp_path, path.read_bytes()) == [GOOD] * 3, text


def test_a_logger_that_only_ends_as_one_of_kafkas_does_is_another_programs(tmp_path: Path) -> None:
    loggers = [("com.a.KafkaController", MESSAGE), ("logger", "Starting"), (NAME, MESSAGE)]
    text = "".join(f"[2024-01-15 10:00:00,000] INFO {message} ({logger})\n" for logger, message in loggers)
    path = log_file(tmp_path, text)
    assert columnar_rows(path) == [(1705312800_000000, NAME)]


def test_a_word_of_a_message_is_no_logger_of_lines_that_name_none(tmp_path: Path) -> None:
    """Nothing is read, rather than the few lines in which a word before a colon may be one."""
    connected = "[RequestSendThread controllerId=0] Controller 0 connected to a:9092 (id: 2 rack: null) for sending"
    lines = [f"2024-01-15 10:00:00,000 [main] INFO {text}\n" for text in [MESSAGE] * 20 + [connected] * 3]
    lines.append("kafka.common.StateChangeFailedException: Failed to elect leader\n")
    (surveyed,) = survey(str(log_file(tmp_path, "".join(lines))), {})
    assert surveyed.format is None


# ---- the hour that comes twice --------------------------------------------------------------------------------------
def clocks(path: Path) -> list[str | None]:
    """How the times of records became UTC, in Berlin."""
    some: list[str | None] = []
    for surveyed in survey(str(path), {}, zone_of=lambda node, name: "Europe/Berlin"):
        (task,) = ranges(surveyed, "f")
        with open_range(task) as stream:
            for batch in read_range(stream, format_named(task.format), task.zone, "f", 0, None, 1, task.clock_changes):
                some += [row["clock"] for row in batch.to_pylist() if row["record"] == "event"]
    return some


BERLIN = ("01:50:00", "02:50:00", "02:10:00", "03:10:00")  # on October 27, 2024, clocks went from 03:00 back to 02:00
PASSES = {  # a log's text -> how its times were read
    "dashes": (
        "".join(f"2024-10-27 {at},000 INFO [main] {NAME} - {MESSAGE}\n" for at in BERLIN),
        [None, "first_pass", "second_pass", None],
    ),
    "slashes": (
        "".join(f"2024/10/27 {at},000 INFO [main] {NAME} - {MESSAGE}\n" for at in BERLIN),
        [None, "ambiguous", "ambiguous", None],
    ),
    "names of months": (
        "".join(f"27 Oct 2024 {at},000 INFO [main] {NAME} - {MESSAGE}\n" for at in BERLIN),
        [None, "ambiguous", "ambiguous", None],
    ),
    "a list in one line": (
        json.dumps([{"message": line(at, day="2024-10-27")} for at in (BERLIN[1], *BERLIN * 3)]) + "\n",
        ["ambiguous", *(None, "ambiguous", "ambiguous", None) * 3],
    ),
}


@pytest.mark.parametrize("case", PASSES)
def test_a_pass_is_told_only_where_the_order_of_times_was_looked_at(case: str, tmp_path: Path) -> None:
    text, passes = PASSES[case]
    assert clocks(log_file(tmp_path, text)) == passes


# ---- what shippers add ----------------------------------------------------------------------------------------------
def test_the_time_of_the_event_goes_before_that_of_its_shipper(tmp_path: Path) -> None:
    event = {"timeMillis": 1705312800000, "level": "INFO", "loggerName": NAME, "message": MESSAGE}
    text = json.dumps({"@timestamp": "2024-01-15T11:30:00Z", **event}) + "\n"
    assert records(tmp_path, text * 3) == [GOOD] * 3


def test_the_same_file_on_two_hosts_is_two_outputs(tmp_path: Path) -> None:
    """An exception's lines, each an object of its own, belong to their host's record."""
    lines = [("kafka-1", line("10:00:00")), ("kafka-2", line("10:00:00")), ("kafka-1", "java.io.IOException: one"),
             ("kafka-2", "java.io.IOException: two")]  # fmt: skip
    events = [
        {"host": {"name": host}, "log": {"file": {"path": "/kafka/server.log"}}, "message": text}
        for host, text in lines
    ]
    path = log_file(tmp_path, "".join(json.dumps(event) + "\n" for event in events))
    assert [more for *_, more in read(path)[1]] == ["java.io.IOException: one", "java.io.IOException: two"]


# ---- what stands where a logger does --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "place",
    [
        "(KafkaController.scala:42)", "(KafkaController.java)", "(kafka.controller.KafkaController.startup:42)",
        f"({NAME}) (Logging.scala:66)",
    ],
)  # fmt: skip
def test_a_file_or_method_behind_a_class_is_that_class(place: str, tmp_path: Path) -> None:
    for text in (f"[2024-01-15 10:00:00,000] INFO {MESSAGE} {place}", f"2024-01-15 10:00:00 INFO {MESSAGE} {place}"):
        assert records(tmp_path, f"{text}\n" * 3) == [GOOD] * 3, text


@pytest.mark.parametrize(
    "text",
    [
        f"[2024-01-15 10:00:00,000] INFO {MESSAGE} (Logging.scala:66)",  # all of Kafka's classes log by this one
        f"2024-01-15 10:00:00,000 INFO [controller-event-thread] {MESSAGE}",
        f"2024-01-15 10:00:00,000 [controller-event-thread] INFO {MESSAGE}",
    ],
)
def test_lines_of_kafka_that_name_no_logger_are_refused(text: str, tmp_path: Path) -> None:
    (surveyed,) = survey(str(log_file(tmp_path, f"{text}\n" * 3)), {})
    assert surveyed.status == "refused"
    assert surveyed.error is not None
    assert "its lines name no logger of Kafka's" in surveyed.error


def test_lines_of_another_program_that_name_no_logger_are_no_records_of_kafkas(tmp_path: Path) -> None:
    text = "2024-01-15 10:00:00,000 [main] INFO [Job id=3] Starting\n"
    (surveyed,) = survey(str(log_file(tmp_path, text * 9)), {})
    assert (surveyed.status, surveyed.error) == ("no_records", None)


# ---- levels that are cut short --------------------------------------------------------------------------------------
LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
CUT_LEVELS = {  # layout -> letters of the level that may be left
    f"[{{at}}] {{level}} {MESSAGE} ({NAME})": (1, 2, 3, 4),
    f"{{at}} {{level}} {NAME}: {MESSAGE}": (1, 2, 3, 4),
    f"{{at}} [{{level}}] [main] {NAME} - {MESSAGE}": (3, 4),
    f"[{{at}}] [main] {{level}} {MESSAGE} ({NAME})": (3, 4),
}


@pytest.mark.parametrize(("layout", "letters"), [(layout, n) for layout, some in CUT_LEVELS.items() for n in some])
def test_a_level_that_is_cut_short_is_that_level(layout: str, letters: int, tmp_path: Path) -> None:
    lines = [layout.format(at="2024-01-15 10:00:00,000", level=level[:letters]) for level in LEVELS * 2]
    path = log_file(tmp_path, "".join(f"{text}\n" for text in lines))
    assert [level for _, level, *_ in read(path)[1]] == [*LEVELS * 2]
    assert len(columnar_rows(path)) == 12
    assert len(merge_lines(tmp_path, "--level", "WARN+")) == 6


def test_a_level_that_is_cut_short_may_come_late(tmp_path: Path) -> None:
    """Of `%.-4p` most levels are whole."""
    late = line("10:00:01").replace("INFO", "ERRO")
    log_file(tmp_path, (line("10:00:00") + "\n") * 5000 + late + "\n")
    assert merge_lines(tmp_path, "--level", "WARN+") == [late]


# ---- a time before that of the line ---------------------------------------------------------------------------------
OUTER = {  # a prefix with a time at which the line below was written, and that time in UTC
    "stern": "kafka-1 kafka 2024-07-15T08:00:00.5Z ",
    "RFC 5424": "<14>1 2024-07-15T08:00:00.500Z host-1 kafka 12 - - ",
    "journalctl -o short-full": "Mon 2024-07-15 10:00:00 CEST host-1 kafka[12]: ",
}
INNER = {  # layouts of a line at 10:00 in Berlin
    "apache": f"[2024-07-15 10:00:0{{}},000] INFO {MESSAGE} ({NAME})",
    "thread": f"[2024-07-15 10:00:0{{}},000] [main] INFO {MESSAGE} ({NAME})",
    "log4j": f"2024-07-15 10:00:0{{}},000 [main] INFO {NAME} - {MESSAGE}",
}


@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("inner", INNER)
def test_a_local_time_behind_a_prefix_gets_its_zone_from_that(outer: str, inner: str, tmp_path: Path) -> None:
    text = "".join(OUTER[outer] + INNER[inner].format(i % 2) + "\n" for i in range(6))
    expected = [f"2024-07-15 08:00:0{i % 2},000 KafkaController {MESSAGE}" for i in range(6)]
    assert records(tmp_path, text) == expected


@pytest.mark.parametrize("inner", INNER)
def test_the_time_of_a_line_is_its_own_and_not_that_of_a_prefix(inner: str, tmp_path: Path) -> None:
    """The collector came half a minute late; what it writes before a trace is none of the trace."""
    outer = "{} 2024-07-15T10:00:30Z "
    lines = [outer.format(f"host-{node}") + INNER[inner].format(node) for node in (1, 2) * 3]
    lines += [outer.format("host-2") + more for more in ("java.io.IOException: gone", "\tat a.B.c(B.scala:1)")]
    path = log_file(tmp_path, "".join(f"{text}\n" for text in lines))
    _, some, _ = read(path)
    assert sorted((as_text(at)[11:19], detail) for at, *_, detail in some) == [
        *[("10:00:01", "")] * 3, *[("10:00:02", "")] * 2,
        ("10:00:02", "java.io.IOException: gone\n\tat a.B.c(B.scala:1)"),
    ]  # fmt: skip
    (surveyed,) = survey(str(path), {})
    (task,) = ranges(surveyed, "f")
    with open_range(task) as stream:
        batch = next(iter(read_range(stream, format_named(task.format), "UTC", "f", 0, None, 1)))
    assert {*batch["channel"].to_pylist()} == {"host-1", "host-2"}


# ---- a prefix that comes late ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("names", [("alpha", "beta"), ("kafka-0", "broker-controller-1"), ("kafka-0", "kafka-east.a")])
@pytest.mark.parametrize("text", [line("10:00:00"), INNER["thread"].format(0), json_event(0).rstrip()])
def test_another_name_may_stand_in_a_prefix_later(names: tuple[str, str], text: str, tmp_path: Path) -> None:
    """More lines of the first one than are looked at; a trace of each that is interleaved shows which is whose."""
    early, late = (f"{name} kafka " for name in names)
    trace = "java.io.IOException: gone"
    lines = [early + text] * 1500 + [late + text, early + text]
    if not text.startswith("{"):
        lines = [early + text, *[early + trace] * 3, *lines[1:], late + trace, early + trace]
    _, some, size = read(path := log_file(tmp_path, "".join(f"{each}\n" for each in lines)))
    assert len(some) == 1502
    assert size == path.stat().st_size
    details = sorted(detail for *_, detail in some if detail)
    assert details == ([] if text.startswith("{") else [trace, trace, "\n".join([trace] * 3)])


def test_a_line_that_another_writer_tore_has_no_prefix_but_a_name_in_the_same_place(tmp_path: Path) -> None:
    lines = [f"alpha kafka {line('10:00:00')}"] * 9 + ["of the record above, and " + line("10:00:00")]
    _, some, _ = read(log_file(tmp_path, "".join(f"{text}\n" for text in lines)))
    assert [detail for *_, detail in some] == [""] * 8 + ["of the record above, and ", ""]


# ---- stack traces ---------------------------------------------------------------------------------------------------
TRACE = "java.io.IOException: gone\n\tat kafka.server.KafkaApis.handle(KafkaApis.scala:180)"
WITH_TRACE: dict[str, dict[str, object]] = {
    "stack": {"stack": TRACE},
    "a name of its own, nested": {"failure": {"at": TRACE}},
    "behind the message": {"full_message": f"{MESSAGE}\n{TRACE}"},
    "with the whole line": {"original": f"{line('10:00:00')}\n{TRACE}"},
    "in the message, too": {"message": f"{MESSAGE}\n{TRACE}", "original": f"{line('10:00:00')}\n{TRACE}"},
}


@pytest.mark.parametrize("case", WITH_TRACE)
@pytest.mark.parametrize("names", [("ts", "level", "logger", "message"), ("when", "lvl", "from", "said")])
def test_a_stack_trace_in_json_may_come_late_and_be_called_anything(
    case: str, names: tuple[str, ...], tmp_path: Path
) -> None:
    values = {"ts": 1705312800.5, "level": "INFO", "logger": NAME, "message": MESSAGE}
    late = {**values, **WITH_TRACE[case]}
    new = dict(zip(values, names, strict=True))
    rows = [{new.get(key, key): value for key, value in row.items()} for row in [*[values] * 500, late]]
    _, some, _ = read(log_file(tmp_path, "".join(json.dumps(row) + "\n" for row in rows)))
    assert [detail for *_, detail in some] == [""] * 500 + [TRACE]


@pytest.mark.parametrize("form", ["2024-07-15T10:00:00Z\t{}", "{}\t", "{}"])
def test_tabs_around_lines_do_not_take_calls_of_a_trace_away(form: str, tmp_path: Path) -> None:
    firsts = [INNER["thread"].format(0).replace("[main]", f"[{'x' * i}]") for i in (1, 5, 9)]
    lines = [text for first in firsts for text in (first, *TRACE.split("\n"))]
    _, some, _ = read(log_file(tmp_path, "".join(form.format(text) + "\n" for text in lines)))
    assert [detail for *_, detail in some] == [TRACE] * 3


# ---- times that were taken for none ---------------------------------------------------------------------------------
@pytest.mark.parametrize("layout", [f"[{{}}] INFO {MESSAGE} ({NAME})", f"{{}} [main] INFO {NAME} - {MESSAGE}"])
@pytest.mark.parametrize("at", ["20240115T100000,000", "20240115T100000.000Z", "20240115T120000,000+0200"])
def test_a_compact_time_is_read(layout: str, at: str, tmp_path: Path) -> None:
    assert records(tmp_path, (layout.format(at) + "\n") * 3) == [GOOD] * 3


def test_a_count_from_the_start_of_a_program_is_no_time(tmp_path: Path) -> None:
    (surveyed,) = survey(str(log_file(tmp_path, f"12345 [main] INFO {NAME} - {MESSAGE}\n" * 3)), {})
    assert surveyed.status == "refused"
    assert surveyed.error is not None
    assert "its lines count the time from the start of their program" in surveyed.error


def test_the_last_object_over_several_lines_needs_no_line_end(tmp_path: Path) -> None:
    text = "".join(json.dumps(json.loads(json_event(0)), indent=2) + "\n" for _ in range(3))
    assert records(tmp_path, text.rstrip("\n")) == [GOOD] * 3
