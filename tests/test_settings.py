"""Settings: defaults, what a file overrides, and one sentence for what is not understood."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

import pytest

from jobs.settings import Settings, TopicSettings, load
from udfs.errors import BadInput
from udfs.logs.limits import Limits


def written(folder: Path, text: str) -> str:
    path = folder / "conf.yaml"
    path.write_text(text)
    return str(path)


def test_no_file_is_the_defaults() -> None:
    assert load(None) == Settings()
    assert Settings().churn_flaps == 3
    assert Settings().time_zone is None  # UTC, but nobody said so
    assert Settings().coverage_tolerance == timedelta(hours=1)
    assert Settings().limits == Limits()


def test_an_empty_file_is_the_defaults(tmp_path: Path) -> None:
    assert load(written(tmp_path, "# nothing yet\n")) == Settings()


def test_a_file_overrides(tmp_path: Path) -> None:
    text = """
    clusters: {"*/east/*": pay-east, "*/west/*": pay-west}
    time_zone: Europe/Berlin
    node_time_zones: {3: America/New_York}
    topics:
      pay-in: {min_insync_replicas: 2, unclean_leader_election_enable: true}
      refunds:
    min_insync_replicas: 1
    churn_flaps: 5
    coverage_tolerance_minutes: 90
    max_unpacked_gb: 2
    max_unpacked_ratio: 50
    """
    settings = load(written(tmp_path, text))
    assert settings.topics == {"pay-in": TopicSettings(2, True), "refunds": TopicSettings()}
    assert settings.unclean_leader_election_enable is None
    assert (settings.min_insync_replicas, settings.churn_flaps) == (1, 5)
    assert settings.cluster_of("/logs/east/broker-1/server.log", "default") == "pay-east"
    assert settings.cluster_of("/logs/north/broker-1/server.log", "default") == "default"
    assert [settings.zone_of(node) for node in (3, 1, None)] == ["America/New_York", "Europe/Berlin", "Europe/Berlin"]
    assert Settings().zone_of(3) == "UTC"
    assert settings.coverage_tolerance == timedelta(minutes=90)
    assert settings.limits == Limits(unpacked_bytes=2 * 1024**3, ratio=50)


def test_the_first_pattern_that_matches_names_the_cluster() -> None:
    settings = Settings(clusters={"*/broker-1/*": "first", "*": "rest"})
    assert settings.cluster_of("/a/broker-1/x.log", "default") == "first"
    assert settings.cluster_of("/a/broker-2/x.log", "default") == "rest"


BAD = {  # text -> what the sentence names
    "an unknown key": ("churn_flap: 3", "churn_flap; known are churn_flaps"),
    "no mapping": ("- a\n- b", "is a list; give `key: value`"),
    "no YAML": ("a: [", "cannot be read"),
    "an unknown zone": ("time_zone: Mars/Olympus", "Mars/Olympus"),
    "an unknown zone of a node": ("node_time_zones: {1: Mars/Olympus}", "Mars/Olympus"),
    "a node that is no number": ("node_time_zones: {one: UTC}", "names 'one' in node_time_zones; give ids of nodes"),
    "an unknown setting of a topic": (
        "topics: {pay-in: {min_isr: 2}}",
        "unknown keys: min_isr of topic pay-in; known are min_insync",
    ),
    "topics that are a list": ("topics: [pay-in]", "no mapping for topics; give"),
    "clusters that are a text": ("clusters: pay", "no mapping for clusters; give"),
    "a cluster without a name": ("clusters: {'*/east/*': }", "no name to the cluster of '*/east/*'; give one"),
    "a cluster whose name has a line break": (
        'clusters: {"*/east/*": "pay\\neast"}',
        r"names a cluster 'pay\neast'; give a name without",
    ),
    "a cluster whose name is blank": ("clusters: {'*/east/*': ' '}", "no name to the cluster of '*/east/*'; give one"),
    "a topic that is a number": ("topics: {pay-in: 2}", "no mapping for topic pay-in; give"),
    "flaps that are no number": ("churn_flaps: many", "churn_flaps"),
    "no flaps": ("churn_flaps: 0", "churn_flaps"),
    "replicas that are no number": ("min_insync_replicas: two", "min_insync_replicas"),
    "replicas of a topic that are no number": ("topics: {pay-in: {min_insync_replicas: two}}", "min_insync_replicas"),
    "a limit that is none": ("max_unpacked_gb: 0", "max_unpacked_gb"),
    "a percentage that is none": ("max_reject_percent: 2%", "max_reject_percent"),
    "no tolerance": ("coverage_tolerance_minutes: 0.5", "coverage_tolerance_minutes"),
    "a switch that is no switch": ("unclean_leader_election_enable: perhaps", "unclean_leader_election_enable"),
    "a zone that is no text": ("time_zone: 7", "does not exist: 7"),
    "a zone that is a part of the world": ("time_zone: Europe", "does not exist: 'Europe'"),
    "a zone that leads elsewhere": ("node_time_zones: {1: ../UTC}", "does not exist: '../UTC'"),
    "a zone without a name": ("node_time_zones: {1: ''}", "does not exist: ''"),
}


@pytest.mark.parametrize("case", BAD)
def test_one_sentence_for_what_is_not_understood(case: str, tmp_path: Path) -> None:
    text, names = BAD[case]
    path = written(tmp_path, text)
    with pytest.raises(BadInput) as error:
        load(path)
    assert path in str(error.value)
    assert names in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"cannot be read: .*none\.yaml"):
        load(str(tmp_path / "none.yaml"))


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "conf.yaml"
    path.write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(BadInput, match="cannot be read"):
        load(str(path))


_BOMB = "\n".join(
    [f"a0: &a0 {{{', '.join(f'k{i}: v' for i in range(9))}}}"]
    + [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 9)]
)
HOSTILE = {  # settings file -> what is said of it
    _BOMB: "refers to other parts of itself",
    "a: &a [x, x]\nb: &b [*a, *a]\n": "refers to other parts of itself",
    "[" * 100_000: "nested too deep",
    "topics:" + "".join(f"\n{' ' * n}k{n}:" for n in range(1, 400)): "The settings file",
    "#" * (1 << 20) + "\n": "more than 1048576 bytes",
    "churn_flaps: 3\nchurn_flaps: 4\n": "it has 'churn_flaps' twice",
    "topics: {pay: {min_insync_replicas: 1}, pay: {min_insync_replicas: 2}}": "it has 'pay' twice",
    f"churn_flaps: {10**20}": "whole number from 1 to",
    f"churn_flaps: {'9' * 9_000}": "The settings file",
    "coverage_tolerance_minutes: 999999999999": "whole number from 1 to",
    "max_unpacked_gb: .inf": "inf for max_unpacked_gb",
    "time_zone: 2026-99-99": "The settings file",
    "!!python/object/apply:os.system [id]": "could not determine a constructor",
    "a: \x00": "The settings file",
}


@pytest.mark.parametrize("text", HOSTILE, ids=[text[:30] for text in HOSTILE])
def test_hostile_settings_are_one_sentence(text: str, tmp_path: Path) -> None:
    """None hangs, fills the memory, or runs anything."""
    begun = time.process_time()
    with pytest.raises(BadInput, match=HOSTILE[text]) as error:
        load(written(tmp_path, text))
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 1500
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("path", ["/dev/zero", "/proc/self/mem", "/tmp"])
def test_what_is_no_file_of_settings(path: str) -> None:
    with pytest.raises(BadInput, match=f"The settings file cannot be read: {path}"):
        load(path)
