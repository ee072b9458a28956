"""Tables hold of each template what the template holds."""

from __future__ import annotations

from udfs.arrow.captures import Capture, CaptureSpan
from udfs.arrow.log_template import LogTemplate
from udfs.arrow.template_table import Growing, PartitionListTable, TemplateTable
from udfs.rules.rule import KINDS

INT, TPS, STATES = KINDS["int"], KINDS["tps"], KINDS["states"]


def int_capture(name: str, first: int, layer: int = 0, *, is_negative: bool = False) -> Capture:
    return Capture("int", name, INT, layer, CaptureSpan(first - 1, 1, first, 0), first, is_negative=is_negative)


def template(
    rule: int | None, logger: bytes, captures: tuple[Capture, ...] = (), fields: tuple[Capture, ...] = ()
) -> LogTemplate:
    return LogTemplate(
        rule,
        False,
        True,
        b"INFO",
        logger,
        CaptureSpan(-1, 1, 6, 0),
        CaptureSpan(6, 7, 6, 7),
        CaptureSpan(6, 7, 9, 2),
        captures,
        fields,
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


def test_what_templates_hold() -> None:
    table = TemplateTable()
    field = Capture("field", "reason", KINDS["text"], 2, CaptureSpan(8, 0, 9, 0))
    for one in (template(5, b"a", fields=(field, field)), template(None, b""), template(6, b"a", fields=(field,))):
        table.add(one)
    assert len(table) == 3
    assert table.rules.tolist() == [5, -1, 6]
    assert table.is_wholly_scoped.tolist() == [True] * 3
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


def test_captures_that_are_read_alike_are_together() -> None:
    table = TemplateTable()
    table.add(template(1, b"a", (int_capture("leader", 3), int_capture("partition", 4))))
    table.add(template(2, b"a", (int_capture("leader", 7, is_negative=True), int_capture("leader", 8, layer=1))))
    leaders = table.captures["int", "leader", None, 0]
    assert leaders.templates.tolist() == [0, 1]
    assert leaders.firsts.tolist() == [3, 7]
    assert leaders.counts.tolist() == [1, 1]
    assert leaders.is_negative.tolist() == [False, True]
    assert leaders.spans.tolist() == [[2, 1, 3, 0], [6, 1, 7, 0]]
    assert table.captures["int", "leader", None, 1].templates.tolist() == [1]
    assert table.captures["int", "partition", None, 0].templates.tolist() == [0]


def test_readers_in_python_are_together_by_kind() -> None:
    table = TemplateTable()
    for kind in ("request", "json_partitions", "request"):
        table.add(template(1, b"a", (Capture("python", "", KINDS[kind], 0, CaptureSpan(1, 0, 2, 0)),)))
    assert {alike[2]: captures.templates.tolist() for alike, captures in table.captures.items()} == {
        KINDS["request"]: [0, 2],
        KINDS["json_partitions"]: [1],
    }


def test_values_of_each_partition() -> None:
    states = PartitionListTable()
    whole = CaptureSpan(0, 0, 9, 0)
    states.add(
        4,
        Capture(
            "states",
            "partitions",
            TPS,
            0,
            whole,
            parts=((int_capture("partition", 1),), (int_capture("partition", 2),)),
        ),
    )
    states.add(6, Capture("states", "partitions", TPS, 0, whole, parts=()))
    parts = (
        (int_capture("leader", 5),),
        (int_capture("partition", 7), int_capture("leader", 8)),
        (int_capture("partition", 9),),
    )
    states.add(7, Capture("states", "partitions", STATES, 0, whole, parts=parts))
    assert states.templates.tolist() == [4, 6, 7]
    assert states.first_part.array.tolist() == [0, 2, 2]
    assert states.part_count.array.tolist() == [2, 0, 3]
    assert states.is_once.array.tolist() == [1, 1, 0]
    columns = {name: states.values(name) for name in ("partition", "leader", "isr")}
    partitions, leaders = columns["partition"], columns["leader"]
    assert partitions is not None
    assert leaders is not None
    assert columns["isr"] is None
    assert partitions[1].tolist() == [0, 1, -1, 2, 3]
    assert partitions[0].firsts.tolist() == [1, 2, 7, 9]
    assert leaders[1].tolist() == [-1, -1, 0, 1, -1]
    assert leaders[0].firsts.tolist() == [5, 8]
