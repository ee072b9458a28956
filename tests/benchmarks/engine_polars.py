"""Engine D of `engines.py`: as engine C, but polars cuts the fields out of the messages."""

import pyarrow as pa
from engine_arrow import list_column, match_all, regex_fields, string_column
from engine_rules import ARROW, INTS, LISTS, RULES


def keep_all(code: int, messages: list[bytes]) -> list[tuple[bytes, ...]]:
    """D matches later, and only the rules with cuts: the others as C does."""
    return [()] * len(messages) if RULES[code - 1].cuts else match_all(code, messages)


def polars_fields(kind: int, rows: list[tuple[bytes, ...]], messages: list[bytes]) -> dict[str, pa.Array]:
    """The typed columns of one kind, by splitting its messages; numbers are checked by their cast, text is not."""
    import polars as pl

    rule = RULES[kind - 1]
    if not rule.cuts:
        return regex_fields(kind, rows, messages)
    texts = pl.from_arrow(string_column(messages))
    assert isinstance(texts, pl.Series)  # an array is one column
    pieces = texts.str.split(rule.delimiter)

    def cut(piece: int, before: str, after: str) -> pl.Expr:
        text = pl.col("pieces").list.get(piece, null_on_oob=True)
        if before == "*-":
            return text.str.split("-").list.last()
        if after == "-*":
            return text.str.head(-1 - text.str.split("-").list.last().str.len_bytes().cast(pl.Int64))
        if before.startswith("*"):
            text = text.str.split(before[1:]).list.last()
        elif before:
            text = text.str.strip_prefix(before)
        if after.endswith("*"):
            return text.str.splitn(after[:-1], 2).struct.field("field_0")
        return text.str.strip_suffix(after) if after else text

    types = dict.fromkeys(INTS, pl.Int32)
    wanted = [
        cut(piece, before, after).cast(types.get(name, pl.String)).alias(name)
        for name, piece, before, after in rule.cuts
    ]
    table = pl.DataFrame({"pieces": pieces}).select(wanted).to_arrow()
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    for name in LISTS:
        if name in columns:
            columns[name] = list_column(columns[name].cast(pa.binary()).to_pylist())
    return {name: column.cast(ARROW.field(name).type) for name, column in columns.items()}
