"""Engine A of `engines.py`: Catalyst expressions, no Python."""

from engine_rules import EVENTS, FIELDS, INTS, LISTS, RULES, STRINGS
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def bytes_of(text: str, bounds: str) -> str:
    """SQL for a part of a text counted in bytes: `substring` of a string counts characters, from its begin."""
    return f"cast(substring(cast({text} AS binary), {bounds}) AS string)"


def catalyst(records: DataFrame) -> DataFrame:
    """Text framed by lineSep `\\n[20` -> EVENTS, all in the JVM.

    Each rule rewrites its messages to one delimited list of all FIELDS, which is then split once: no alternation of all
    rules (T2 of the notes), and '' is made null before it is cast (T1).
    """
    mark = "\u0001"
    without_20 = "CASE WHEN startswith(value, '[20') THEN substring(value, 4) ELSE value END"
    records = records.select(F.expr(f"rtrim('\n', {without_20})").alias("record"))
    records = records.withColumn("head", F.substring_index("record", "\n", 1))
    records = records.withColumn("end", F.substring_index("head", " (", -1))
    ends_in_logger = F.col("end").rlike(r"^[\w.$]+\)\r?$")
    level = f"substring_index(ltrim({bytes_of('head', '24, 12')}), ' ', 1)"
    records = records.select("record", "head", "end", ends_in_logger.alias("short"), F.expr(level).alias("level"))
    parts = r"(?s)\A[^\]]*\] +(\w+) +(.*?) \(([\w.$]+)\)\r?(?:\n(.*))?\z"
    long_head = F.split(F.regexp_replace("record", parts, f"$1{mark}$2{mark}$3{mark}$4"), mark)
    records = records.withColumn("p", F.when(~F.col("short"), long_head))
    message_span = "octet_length(level) + 25, octet_length(head) - octet_length(end) - 26 - octet_length(level)"
    exprs = {
        "at": f"cast(concat('20', replace({bytes_of('record', '1, 21')}, ',', '.')) AS timestamp)",
        "level": "level",
        "logger": f"CASE WHEN short THEN {bytes_of('end', '1, octet_length(end) - 1')} ELSE get(p, 2) END",
        "message": f"CASE WHEN short THEN {bytes_of('head', message_span)} ELSE get(p, 1) END",
        "detail": f"nullif(CASE WHEN short THEN {bytes_of('record', 'octet_length(head) + 2')} ELSE get(p, 3) END, '')",
    }
    records = records.select(*(F.expr(expr).alias(name) for name, expr in exprs.items()))
    after_actor = F.expr(bytes_of("message", "locate('] ', message) + 2, 24"))
    records = records.withColumn("words", F.when(F.col("logger") == "state.change.logger", after_actor))
    fields = F.when(F.col("words").isNull(), None)
    for rule in RULES:
        groups = {name: f"${group}" for group, name in enumerate(rule.fields, 1)}
        listed = mark + mark.join([rule.kind, *(groups.get(name, "") for name in FIELDS)])
        starts = F.startswith("words", F.lit(rule.words))
        fields = fields.when(starts, F.regexp_replace("message", f"^{rule.pattern}$", listed))
    records = records.withColumn("listed", fields)
    records = records.withColumn("f", F.when(F.startswith("listed", F.lit(mark)), F.split("listed", mark)))

    def typed(name: str) -> Column:
        text = F.nullif(F.get("f", F.lit(FIELDS.index(name) + 2)), F.lit(""))
        if name in INTS:
            return text.try_cast("int").alias(name)
        return (F.split(text, ", ").try_cast("array<int>") if name in LISTS else text).alias(name)

    known = F.col("f").isNotNull()
    return records.select(
        "at",
        "level",
        "logger",
        F.get("f", F.lit(1)).alias("kind"),
        *map(typed, [*INTS, *LISTS, *STRINGS]),
        F.when(~known, F.col("message")).alias("message"),
        "detail",
    ).select(*EVENTS.names)
