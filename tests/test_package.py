"""The zip for spark-submit, the wheel for Databricks, and the examples in conf/."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import fields
from email import message_from_string
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml

from jobs.exits import PACKAGES
from jobs.package import USAGE, build, main
from jobs.session import SETTINGS
from jobs.settings import Settings, load
from udfs.errors import BadInput

ROOT = Path(__file__).resolve().parents[1]
NOT_THE_CLUSTERS = {  # of the embedded session's settings those that hold on one machine only
    "spark.master",
    "spark.ui.enabled",
    "spark.driver.host",
    "spark.driver.bindAddress",
    "spark.driver.memory",
    "spark.driver.extraJavaOptions",
    "spark.sql.shuffle.partitions",
    "spark.sql.adaptive.enabled",
    "spark.sql.codegen.wholeStage",
    "spark.sql.codegen.factoryMode",
    "spark.kafka_rewind.own_session",
    "spark.kafka_rewind.many_logs",
    "spark.sql.sources.parallelPartitionDiscovery.threshold",
    "spark.databricks.delta.properties.defaults.checkpointInterval",
}


def properties(path: Path) -> dict[str, str]:
    """A properties file as spark-submit reads it."""
    lines = path.read_text().replace("\\\n", "").splitlines()
    pairs = (line.split(None, 1) for line in lines if line.strip() and not line.startswith("#"))
    return {key: value.strip() for key, value in pairs}


def uncommented(text: str) -> str:
    """The settings of example.yaml with their comment signs taken away; what `#:` says in prose is left."""
    return "\n".join(line.removeprefix("# ") for line in text.splitlines() if line.startswith("# "))


def test_the_zip_is_enough_to_run(tmp_path: Path) -> None:
    """From an empty folder, without the checkout: packages and version come from the zip."""
    zipped = build(tmp_path / "z" / "kafka-rewind.zip")
    code = """
import importlib.metadata, sys
import jobs.cli, jobs.submit, schemas, udfs.arrow.parse, udfs.rules.rulebook
assert all(".zip" in m.__file__ for n, m in sys.modules.items() if n.split(".")[0] in ("jobs", "schemas", "udfs"))
print(len(udfs.rules.rulebook.RULES) > 100, importlib.metadata.version("kafka-rewind"))
sys.exit(jobs.submit.run(["nightly", "/no/such/folder"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": str(zipped)}, capture_output=True, text=True
    )
    assert (done.stdout, done.returncode) == ("True 0.2.0\n", 2), done.stderr
    assert done.stderr.startswith("kafka-rewind: This file or folder does not exist: /no/such/folder;")


def test_same_sources_same_bytes(tmp_path: Path) -> None:
    one, two = build(tmp_path / "1.zip"), build(tmp_path / "2.zip")
    assert one.read_bytes() == two.read_bytes()
    with ZipFile(one) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names} == {"jobs", "schemas", "udfs", "kafka_rewind-0.2.0.dist-info"}
    assert not [name for name in names if "__pycache__" in name]


def test_pip_takes_the_wheel(tmp_path: Path) -> None:
    wheel = build(tmp_path)
    lib = tmp_path / "lib"
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-index",
        "--no-deps",
        "--target",
        str(lib),
        str(wheel),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {"jobs", "schemas", "udfs", "bin"} <= {path.name for path in lib.iterdir()}
    assert (lib / "bin" / "kafka-rewind").exists()


def requirements(extras: set[str]) -> set[str]:
    """Names of what pip installs beside the wheel, with some extras."""
    from packaging.requirements import Requirement

    with ZipFile(build(Path(tempfile.mkdtemp()))) as archive:
        metadata = archive.read("kafka_rewind-0.2.0.dist-info/METADATA").decode()
    message = message_from_string(metadata)
    assert set(message.get_all("Provides-Extra") or ()) >= {"read", "spark", "hdfs"}
    assert str(message.get_payload()).strip().startswith("# Kafka Rewind")
    wanted: set[str] = set()
    for requirement in map(Requirement, message.get_all("Requires-Dist") or ()):
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in extras):
            own = requirement.name == "kafka-rewind" and requirement.extras - extras
            wanted |= requirements(extras | requirement.extras) if own else {requirement.name}
    return wanted - {"kafka-rewind"}


def test_extras_have_what_their_commands_need() -> None:
    """A runtime that has Spark must not get another one, and a laptop that reads tables needs none."""
    merge = {"click", "numpy", "pyyaml", "tzdata"}
    read = merge | {"pyarrow", "deltalake", "duckdb", "prompt-toolkit", "tqdm"}
    assert requirements(set()) == merge
    assert requirements({"read"}) == read
    assert requirements({"spark"}) == read | {"pyspark", "delta-spark", "pandas", "great-expectations"}
    assert {package for package, _ in PACKAGES.values()} <= requirements({"spark"})
    assert {package for package, extra in PACKAGES.values() if extra == "read"} <= read


def test_bad_usage_and_no_checkout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == main(["a.zip", "b.zip"]) == main(["--help"]) == 2
    assert capsys.readouterr().err == f"{USAGE}\n" * 3
    with pytest.raises(BadInput, match=r"There is no setup\.cfg"):
        build(tmp_path / "a.zip", root=tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_properties_say_what_the_embedded_session_says() -> None:
    settings = properties(ROOT / "conf" / "spark-submit.properties")
    ours = {key: value for key, value in SETTINGS.items() if key not in NOT_THE_CLUSTERS}
    assert {key: settings.get(key) for key in ours} == ours


def test_the_example_is_the_defaults(tmp_path: Path) -> None:
    """As it stands it says nothing; uncommented it names every setting with its default."""
    example = ROOT / "conf" / "example.yaml"
    assert load(str(example)) == Settings()
    plain = tmp_path / "plain.yaml"
    plain.write_text(uncommented(example.read_text()))
    assert set(yaml.safe_load(plain.read_text())) == {f.name for f in fields(Settings)}
    assert load(str(plain)) == Settings()


def test_the_examples_within_the_example(tmp_path: Path) -> None:
    """What its prose shows after `For example` is understood, too."""
    shown = [line[4:] for line in (ROOT / "conf" / "example.yaml").read_text().splitlines() if line.startswith("#:  ")]
    path = tmp_path / "shown.yaml"
    path.write_text("\n".join(line.removeprefix(" ") for line in shown))
    settings = load(str(path))
    assert settings.cluster_of("/logs/kafka-eu/broker-1/server.log", "default") == "eu"
    assert settings.zone_of(3) == "America/New_York"
    assert settings.topics["payments"].min_insync_replicas == 2
