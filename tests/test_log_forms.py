"""The same events in every form that tools write: read as the same, or refused in a sentence; nothing is lost."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import tests.log_exports  # noqa: F401  # adds forms
from tests.log_forms import FORMS, ROOT, Event, events
from udfs.logs.formats import format_named
from udfs.logs.framing import OtherBytes, frames
from udfs.logs.ranges import open_range, ranges
from udfs.logs.survey import Survey, survey
from udfs.logs.timestamps import micros_of

Record = tuple[int, str, str, str, str]
"""Time (microseconds, UTC), level, logger, message and further lines."""


@cache
def the_events() -> tuple[Event, ...]:
    return tuple(events())


def expected() -> list[Record]:
    """What every reader must come to."""
    return [(e.millis * 1000, e.level, e.logger, e.message, "\n".join(e.more)) for e in the_events()]


def read(path: Path) -> tuple[list[Survey], list[Record], int]:
    """The streams of a file, its records, and the bytes that were accounted for."""
    surveys = list(survey(str(path), {}))
    records: list[Record] = []
    size = 0
    for surveyed in surveys:
        size += surveyed.held_back + (0 if surveyed.format else surveyed.size)
        for task in ranges(surveyed, "f"):
            with open_range(task) as stream:
                for part in frames(stream, format_named(task.format), task.start, task.end, task.first_line):
                    if isinstance(part, OtherBytes):
                        size += part.size
                        continue
                    size += int(part.sizes.sum())
                    for i, (at, level, message, _, _, logger) in enumerate(part.heads):
                        micros = int(micros_of([at]).micros[0])
                        texts = (level, logger, message.rstrip(), part.detail(i).replace(b"\r", b""))
                        records.append((micros, *(text.decode() for text in texts)))  # type: ignore[arg-type]
    return surveys, records, size


def outcome(name: str, folder: Path) -> tuple[str, str, str]:
    """Of a form: `same`, `refused` or what is wrong; the name of the format; the sentence."""
    path = folder / "broker-1" / "server.log"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(FORMS[name](the_events()))
    surveys, records, size = read(path)
    formats = " ".join(surveyed.format or "-" for surveyed in surveys)
    sentence = " ".join(surveyed.error or "" for surveyed in surveys)
    if size != sum(surveyed.size for surveyed in surveys):
        return f"{size} bytes of {sum(surveyed.size for surveyed in surveys)}", formats, sentence
    if sentence and not records:
        return "refused", formats, sentence
    if any(surveyed.doubt for surveyed in surveys):
        return str([surveyed.doubt for surveyed in surveys]), formats, sentence
    wanted = sorted(expected())
    if name in LOSSY:
        wanted = sorted((at, "DEBUG" if level == "TRACE" else level, *rest) for at, level, *rest in wanted)  # type: ignore[misc]
    got = sorted(records)
    if got == wanted:
        return "same" if name in LOSSY or _is_in_order(records) else "another order", formats, sentence
    missing = [record for record in wanted if record not in got]
    more = [record for record in got if record not in wanted]
    return f"{len(missing)} missing, {len(more)} others: {missing[:1]} {more[:1]}", formats, sentence


def _is_in_order(records: list[Record]) -> bool:
    """Whether each node's records of one time come in the order in which it wrote them."""
    written: dict[tuple[int, int], list[Record]] = {}
    node_of: dict[Record, int] = {}
    for event, record in zip(the_events(), expected(), strict=True):
        written.setdefault((event.node, record[0]), []).append(record)
        node_of[record] = event.node
    read_: dict[tuple[int, int], list[Record]] = {}
    for record in records:
        read_.setdefault((node_of[record], record[0]), []).append(record)
    return read_ == written


LOSSY = {"log4j2 GELF layout"}
"""Forms in which TRACE and DEBUG are one level, 7."""
REFUSED = {"log4j XML", "wrapped between words", "time without a date"}
"""Forms that are not read; a sentence says so."""


@pytest.mark.parametrize("name", FORMS)
def test_a_form_is_read_or_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    result, _, sentence = outcome(name, tmp_path)
    assert result == ("refused" if name in REFUSED else "same"), sentence
    if name in REFUSED:
        assert str(tmp_path) in sentence


def test_each_form_is_in_the_page() -> None:
    page = (ROOT / "docs" / "log-forms.md").read_text(encoding="utf-8")
    rows = [line.split(" | ")[0].removeprefix("| ") for line in page.splitlines() if line.startswith("| ")]
    assert rows[2:] == list(FORMS)
