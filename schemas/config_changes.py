"""Settings of topics, brokers and other resources."""

from __future__ import annotations

from schemas.columns import CLUSTER, EVIDENCE_COLUMN, FLAG, TEXT, TIME, column
from schemas.table import table

CONFIG_CHANGES = table(
    "config_changes",
    "one setting of a topic, a broker or another resource that lines show to have changed, or show first",
    "cluster, resource_type, topic, resource, name, at",
    CLUSTER,
    column(
        "resource_type",
        TEXT,
        "`topic`, `broker`, `group`, `client_metrics`, ...: what is set of it beside the defaults. `kafka_config`: "
        "what a node prints of all its settings, `KafkaConfig values`; of the first that it prints only "
        "`min.insync.replicas` and `unclean.leader.election.enable` are here, of later ones what has changed. "
        "`new_log`: the `min.insync.replicas` of a topic as a log of it is created, through 2.7 also if it is the "
        "default.",
    ),
    column("topic", TEXT, "Topic.", null="a setting of something else"),
    column(
        "resource",
        TEXT,
        "Broker or node id, or name; `<default>`: the default of all of them.",
        null="a setting of a topic",
    ),
    column("name", TEXT, "Name of the setting, `min.insync.replicas`."),
    column("at", TIME, "Time of the first line that shows the value, UTC."),
    column("previous_value", TEXT, "Value before.", null="it was not set, or first_seen"),
    column("value", TEXT, "Value from then on.", null="it was removed: the default holds"),
    column(
        "first_seen",
        FLAG,
        "True: no earlier line tells of it, so that it may have been so before; false: it changed then.",
    ),
    EVIDENCE_COLUMN,
)
