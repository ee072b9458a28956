"""What is known of KRaft clusters for what follows from their controllers' steps; a case is a cluster of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.kraft_clusters import to_kraft_clusters
from schemas.ingest import EVENTS

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

LINES = """
cluster  | event_type                       | fields
# 3.5 prints at each start that nothing migrates
old      | kafka_version                    | kafka_version=3.5.2
old      | kraft_controller_migration_state | zk_migration_state=NONE
old      | kraft_migration_state_changed    | from_state=NONE; to_state=NONE
migrates | kafka_version                    | kafka_version=3.5.2
migrates | kraft_migration_state_changed    | from_state=NONE; to_state=PRE_MIGRATION
driver   | kafka_version                    | kafka_version=3.9.1
driver   | kraft_metadata_version_set       | metadata_version=3.9-IV0
driver   | kraft_migration_driver_state     | from=INACTIVE
# 3.6 publishes the lowest version there is before it has read any
new      | kafka_version                    | kafka_version=3.6.2
new      | kraft_metadata_version_set       | metadata_version=3.6-IV2
new      | metadata_published               | metadata_offset=0; metadata_version=3.0-IV1
early    | kafka_version                    | kafka_version=3.2.3
early    | kraft_metadata_version_set       | metadata_version=3.2-IV0
dump     | metadata_feature_level           | feature=metadata.version; feature_level=20
dump     | metadata_zk_migration_state      | zk_migration_state=0
old_dump | metadata_feature_level           | feature=metadata.version; feature_level=11
old_dump | metadata_zk_migration_state      | zk_migration_state=2
up_dump  | metadata_feature_level           | feature=metadata.version; feature_level=11
up_dump  | metadata_feature_level           | feature=metadata.version; feature_level=14
upgraded | kafka_version                    | kafka_version=3.6.2
upgraded | kraft_metadata_version_set       | metadata_version=3.5-IV2
upgraded | metadata_published               | metadata_offset=9; metadata_version=3.6-IV2
"""


def test_what_raises_the_leader_epoch(frame: Frame, same: Same) -> None:
    """Until metadata version 3.6-IV0 each record that takes a member out of the ISR; unknown in a migration and where
    it changed meanwhile."""
    logger = F.when(F.col("cluster").contains("dump"), "kafka-dump-log")
    same(
        to_kraft_clusters(frame(EVENTS, LINES).withColumn("logger", logger)),
        """
cluster  | raises_epoch_of_shrink | raises_epoch_of_last_member | is_whole
old      | true                   | true                        | true
migrates |                        |                             | true
driver   |                        | false                       | true
new      | false                  | false                       | true
early    | true                   | true                        | false
upgraded |                        |                             | true
dump     | false                  | false                       | true
old_dump |                        |                             | true
up_dump  |                        |                             | true
""",
    )


def test_who_keeps_the_last_member_of_an_isr(frame: Frame, same: Same) -> None:
    """Clusters without eligible leader replicas; where they were turned on meanwhile it is unknown."""
    off, on = "{metadata.version=25}", "{eligible.leader.replicas.version=1, metadata.version=27}"
    lines = f"""
    cluster  | event_type               | fields
    before_4 | kafka_version            | kafka_version=3.9.1
    off      | kafka_version            | kafka_version=4.0.0
    off      | metadata_features_loaded | features={off}
    on       | kafka_version            | kafka_version=4.1.0
    on       | metadata_features_loaded | features={on}
    shown    | kraft_partition_changed  | elr=[2]
    set      | kraft_feature_set        | feature=eligible.leader.replicas.version; feature_level=1
    upgraded | metadata_features_loaded | features={off}
    upgraded | kraft_feature_set        | feature=eligible.leader.replicas.version; feature_level=1
    upgraded | metadata_features_loaded | features={on}
    nothing  | kraft_broker_fenced      | broker=1
    """
    lines += "".join(f"{cluster} | kraft_broker_fenced | broker=1\n" for cluster in ("before_4", "off", "on"))
    same(
        to_kraft_clusters(frame(EVENTS, lines)),
        """
        cluster  | keeps_last_member
        before_4 | true
        off      | true
        on       | false
        shown    | false
        set      | false
        upgraded |
        nothing  |
        """,
    )
