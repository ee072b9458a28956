"""Elections are clean where lines say that unclean ones were not allowed; a case is a topic."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from jobs.findings.clean_by_settings import clusters_without_requests, with_clean_by_settings
from jobs.timelines.cluster_facts import ClusterFacts, EvidenceKinds
from jobs.timelines.known_spans import CONTROLLER_LOGS, to_known_spans
from schemas.config_changes import CONFIG_CHANGES
from schemas.findings import ELECTIONS
from schemas.ingest import EVENTS, LOG_COVERAGE

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

ELECTED = """
cluster | topic   | partition | incarnation | at       | leader | leader_epoch | unclean | succeeded
zk      | plain   | 0         | 0           | 10:10:00 | 2      | 5            |         | true
zk      | own     | 0         | 0           | 10:10:00 | 2      | 5            |         | true
zk      | allowed | 0         | 0           | 10:10:00 | 2      | 5            |         | true
# it was allowed as the controller elected, which a broker logs a moment later; or had been, and is not any more
zk      | soon    | 0         | 0           | 10:10:00 | 2      | 5            |         | true
zk      | before  | 0         | 0           | 10:10:00 | 2      | 5            |         | true
# no line has a setting of it, since the hole in the controllers' logs in the second
zk      | unknown | 0         | 0           | 10:10:00 | 2      | 5            |         | true
zk      | hole    | 0         | 0           | 10:10:00 | 2      | 5            |         | true
# what is known counts
zk      | known   | 0         | 0           | 10:10:00 | 2      | 5            | true    | true
zk      | failed  | 0         | 0           | 10:10:00 |        |              |         | false
other   | plain   | 0         | 0           | 10:10:00 | 2      | 5            |         | true
"""
LINES = """
cluster | topic   | partition | at         | event_type           | line | message
zk      | plain   | 0         | 10:00:00   | replica_log_created  | 1    | Created log with properties {min.insync.replicas=1}
zk      | own     |           | 10:00:00   | topic_config_changed | 2    | Map(unclean.leader.election.enable -> false)
zk      | allowed |           | 10:00:00   | topic_config_changed | 3    | Map(unclean.leader.election.enable -> true)
zk      | soon    | 0         | 10:00:00   | replica_log_created  | 4    | Created log with properties {}
zk      | soon    |           | 10:10:00.5 | topic_config_changed | 5    | Map(unclean.leader.election.enable -> true)
zk      | before  |           | 10:09:58   | topic_config_changed | 6    | Map(unclean.leader.election.enable -> true)
zk      | before  |           | 10:10:02   | topic_config_changed | 7    | Map()
zk      | hole    |           | 08:00:00   | topic_config_changed | 8    | Map(unclean.leader.election.enable -> false)
zk      | known   | 0         | 10:00:00   | replica_log_created  | 9    | Created log with properties {}
zk      | failed  | 0         | 10:00:00   | replica_log_created  | 10   | Created log with properties {}
other   | plain   | 0         | 10:00:00   | replica_log_created  | 11   | Created log with properties {}
"""  # noqa: E501
PRINTED = """
cluster | resource_type | resource | name                           | at       | value
zk      | kafka_config  | 1        | unclean.leader.election.enable | 09:00:00 | false
other   | kafka_config  | 1        | unclean.leader.election.enable | 09:00:00 | false
"""
COVERAGE = """
cluster | node_id | kind       | since    | until
zk      | 9       | controller | 07:00:00 | 08:30:00
zk      | 9       | controller | 09:30:00 | 11:00:00
other   | 9       | controller | 09:30:00 | 11:00:00
"""


def test_elections_that_must_have_been_clean(frame: Frame, same: Same) -> None:
    spans = to_known_spans(frame(LOG_COVERAGE, COVERAGE), CONTROLLER_LOGS, timedelta(minutes=10), "cluster")
    elections, changes = frame(ELECTIONS, ELECTED), frame(CONFIG_CHANGES, PRINTED)
    same(
        with_clean_by_settings(elections, frame(EVENTS, LINES), spans, changes, ["zk"]),
        """cluster | topic   | unclean
           zk      | plain   | false
           zk      | own     | false
           zk      | allowed |
           zk      | soon    |
           zk      | before  |
           zk      | unknown |
           zk      | hole    |
           zk      | known   | true
           zk      | failed  |
           other   | plain   |""",
    )


@pytest.mark.parametrize(
    ("release", "is_kraft", "is_traced", "expected"),
    [
        ("2.3.1", False, False, ["c"]),
        ("2.1..2.3.1", False, False, ["c"]),
        ("2.4.0", False, False, []),
        ("2.3.1..2.8.2", False, False, []),
        ("2.3..", False, False, []),
        ("4.1.0", True, False, []),
        ("2.3.1", False, True, []),
    ],
    ids=["nobody can ask for one", "a rolling upgrade", "who is asked", "an upgrade to that", "an open end", "KRaft",
         "the states are there"],
)  # fmt: skip
def test_clusters_in_which_only_settings_allow_them(
    release: str, is_kraft: bool, is_traced: bool, expected: list[str]
) -> None:
    kinds = EvidenceKinds(requests=is_traced)
    facts: Any = SimpleNamespace(kinds_by_cluster={"c": kinds}, kinds=kinds)
    assert clusters_without_requests({"c": (release, is_kraft)}, cast("ClusterFacts", facts)) == expected
