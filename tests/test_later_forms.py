"""Lines of another form than those before them in the same stream are told, not passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_survey import survey, write
from udfs.logs.formats import format_of
from udfs.logs.later_forms import WINDOW, later_form

APACHE = b"[2024-01-15 10:00:00,000] INFO [Controller id=1] Starting (kafka.controller.KafkaController)\n"
CLOUDERA = b"2024-01-15 11:00:00,000 INFO kafka.controller.KafkaController: [Controller id=1] Starting\n"
THREADS = b"[2024-01-15 11:00:00,000] [main] INFO [Controller id=1] Starting (kafka.controller.KafkaController)\n"
JSON = (
    b'{"@timestamp":"2024-01-15T11:00:00.000Z","log.level":"INFO","message":"[Controller id=1] Starting",'
    b'"log.logger":"kafka.controller.KafkaController"}\n'
)
TRACE = b"java.io.IOException: gone\n" + b"\tat kafka.server.KafkaApis.handle(KafkaApis.scala:180)\n" * 40
CASES: dict[str, tuple[bytes, int | None]] = {  # a stream -> at which byte another form begins
    "one form": (APACHE * 50, None),
    "another pattern after an upgrade": (APACHE * 3 + CLOUDERA * 2, len(APACHE) * 3),
    "far behind": (APACHE * 9000 + CLOUDERA * 9000, len(APACHE) * 9000),
    "a stack trace": (APACHE * 3 + TRACE, None),
    "one line that a record quotes": (APACHE * 3 + CLOUDERA, None),
    "which goes on as it was": (APACHE * 3 + CLOUDERA * 3 + APACHE * 200, len(APACHE) * 3),
    "in turn": ((APACHE + CLOUDERA) * 100, len(APACHE)),
    "before most": (CLOUDERA * 50 + APACHE * 100, 0),
    "in the other order": (CLOUDERA * 3 + APACHE * 2, len(CLOUDERA) * 3),
}


@pytest.mark.parametrize("case", CASES)
def test_where_another_form_begins(case: str, tmp_path: Path) -> None:
    data, begin = CASES[case]
    doubt = survey(write(tmp_path / "server.log", data)).doubt
    if begin is None:
        assert doubt is None
    else:
        form = "cloudera" if data.startswith(APACHE) or case == "before most" else "apache"
        assert doubt is not None
        assert doubt.endswith(f" on are in another form ({form}), and are not read as records")
        offset = int(doubt.removeprefix("lines from byte ").partition(" ")[0].replace(",", ""))
        assert begin <= offset <= begin + (1 << 20)
        assert (offset - begin) % len(CLOUDERA if form == "cloudera" else APACHE) == 0


STRIMZI = b"2024-01-15 11:00:00,000 INFO [Controller id=1] Starting (kafka.controller.KafkaController) [main]\n"


@pytest.mark.parametrize(
    ("first", "later", "form", "offset"),
    [
        (b"kafka-0  | " + APACHE, b"kafka-1  | " + STRIMZI, "strimzi", len(APACHE) + 11),
        (b"kafka-0  | " + APACHE, b"kafka-1  | " + THREADS, "layout([%d] [%t] %p %m (%c))/apache", len(APACHE) + 11),
        (JSON, STRIMZI, "strimzi", len(JSON)),
        (CLOUDERA, STRIMZI, "strimzi", len(CLOUDERA)),
    ],
    ids=["compose", "compose, threads", "JSON", "a layout that begins alike"],
)
def test_a_form_inside_of_wrappers_is_another_one(
    first: bytes, later: bytes, form: str, offset: int, tmp_path: Path
) -> None:
    """The outputs take turns."""
    doubt = survey(write(tmp_path / "all.log", (first + later) * 2 + first * 3)).doubt
    assert doubt == f"lines from byte {offset} on are in another form ({form}), and are not read as records"


@pytest.mark.parametrize(
    ("later", "form"),
    [(THREADS, "layout([%d] [%t] %p %m (%c))/apache"), (JSON, "json/apache")],
    ids=["threads", "JSON"],
)
def test_a_form_that_is_read_as_the_same_layout_is_another_one(later: bytes, form: str, tmp_path: Path) -> None:
    doubt = survey(write(tmp_path / "server.log", APACHE * 3 + later * 2)).doubt
    assert doubt == f"lines from byte {len(APACHE) * 3} on are in another form ({form}), and are not read as records"


def test_a_window_may_begin_and_end_amid_a_line() -> None:
    form = format_of(APACHE * 9)
    assert form is not None
    window = APACHE[20:] + APACHE + CLOUDERA * 3 + CLOUDERA[:30]
    later = later_form(window[:WINDOW], form)
    assert later is not None
    assert (later[0], later[1].name) == (len(APACHE[20:] + APACHE), "cloudera")
