"""Tables tell of each form what the form tells of itself."""

from __future__ import annotations

from udfs.arrow.captures import Mark, Span
from udfs.arrow.template_table import Growing, States, TemplateTable
from udfs.arrow.templates import LogTemplate
from udfs.rules.rule import KINDS

INT, TPS, STATES = KINDS["int"], KINDS["tps"], KINDS["states"]


def int_mark(name: str, first: int, layer: int = 0, *, is_negative: bool = False) -> Mark:
    return Mark("int", name, INT, layer, Span(first - 1, 1, first, 0), first, is_negative=is_negative)


def form(rule: int | None, logger: bytes, marks: tuple[Mark, ...] = (), fields: tuple[Mark, ...] = ()) -> LogTemplate:
    return LogTemplate(
        rule, True, b"INFO", logger, Span(-1, 1, 6, 0), Span(6, 7, 6, 7), Span(6, 7, 9, 2), marks, fields
    )


def test_growing() -> None:
    single, rows = Growing(), Growing(2)
    assert single.array.tolist() == []
    assert rows.array.shape == (0, 2)
    single.add(7)
    assert single.array.tolist() == [7]
    single.pad(3, -1)
    single.add(5)
    single.pad(3, -1)  # it is longer already
    assert single.array.tolist() == [7, -1, -1, 5]
    rows.add((1, 2))
    rows.add((3, 4))
    assert rows.array.tolist() == [[1, 2], [3, 4]]
    assert len(single) == 4
    assert len(rows) == 2


def test_what_forms_say() -> None:
    table = TemplateTable()
    field = Mark("field", "reason", KINDS["text"], 2, Span(8, 0, 9, 0))
    for one in (form(5, b"a", fields=(field, field)), form(None, b""), form(6, b"a", fields=(field,))):
        table.add(one)
    assert len(table) == 3
    assert table.rules.tolist() == [5, -1, 6]
    assert table.is_whole.tolist() == [True] * 3
    assert [list(table.loggers)[n] for n in table.logger] == [b"a", b"", b"a"]
    assert [list(table.levels)[n] for n in table.level] == [b"INFO"] * 3
    assert table.at.tolist() == [[-1, 1, 6, 0]] * 3
    assert table.prefix.tolist() == [[6, 7, 6, 7]] * 3
    assert table.message.tolist() == [[6, 7, 9, 2]] * 3
    assert table.first_field.tolist() == [0, 2, 2]
    assert table.field_count.tolist() == [2, 0, 1]
    assert table.fields.spans.tolist() == [[8, 0, 9, 0]] * 3
    assert table.fields.layers.tolist() == [2] * 3
    assert [list(table.names)[n] for n in table.field_names.array] == ["reason"] * 3


def test_marks_that_are_read_alike_are_together() -> None:
    table = TemplateTable()
    table.add(form(1, b"a", (int_mark("leader", 3), int_mark("partition", 4))))
    table.add(form(2, b"a", (int_mark("leader", 7, is_negative=True), int_mark("leader", 8, layer=1))))
    leaders = table.marks["int", "leader", None, 0]
    assert leaders.templates.tolist() == [0, 1]
    assert leaders.firsts.tolist() == [3, 7]
    assert leaders.counts.tolist() == [1, 1]
    assert leaders.is_negative.tolist() == [False, True]
    assert leaders.spans.tolist() == [[2, 1, 3, 0], [6, 1, 7, 0]]
    assert table.marks["int", "leader", None, 1].templates.tolist() == [1]
    assert table.marks["int", "partition", None, 0].templates.tolist() == [0]


def test_readers_in_python_are_together_by_kind() -> None:
    table = TemplateTable()
    for kind in ("request", "json_partitions", "request"):
        table.add(form(1, b"a", (Mark("python", "", KINDS[kind], 0, Span(1, 0, 2, 0)),)))
    assert {alike[2]: marks.templates.tolist() for alike, marks in table.marks.items()} == {
        KINDS["request"]: [0, 2],
        KINDS["json_partitions"]: [1],
    }


def test_what_is_said_of_each_partition() -> None:
    states = States()
    whole = Span(0, 0, 9, 0)
    states.add(
        4, Mark("states", "partitions", TPS, 0, whole, parts=((int_mark("partition", 1),), (int_mark("partition", 2),)))
    )
    states.add(6, Mark("states", "partitions", TPS, 0, whole, parts=()))
    told = ((int_mark("leader", 5),), (int_mark("partition", 7), int_mark("leader", 8)), (int_mark("partition", 9),))
    states.add(7, Mark("states", "partitions", STATES, 0, whole, parts=told))
    assert states.templates.tolist() == [4, 6, 7]
    assert states.first_part.array.tolist() == [0, 2, 2]
    assert states.part_count.array.tolist() == [2, 0, 3]
    assert states.is_once.array.tolist() == [1, 1, 0]
    found = {name: states.values(name) for name in ("partition", "leader", "isr")}
    partitions, leaders = found["partition"], found["leader"]
    assert partitions is not None
    assert leaders is not None
    assert found["isr"] is None
    assert partitions[1].tolist() == [0, 1, -1, 2, 3]
    assert partitions[0].firsts.tolist() == [1, 2, 7, 9]
    assert leaders[1].tolist() == [-1, -1, 0, 1, -1]
    assert leaders[0].firsts.tolist() == [5, 8]
