"""Kafka of one release, as Maven has it: the class path that brokers, controllers, ZooKeeper and the tools run with."""

from __future__ import annotations

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

POM = """<project>
<modelVersion>4.0.0</modelVersion><groupId>live</groupId><artifactId>live</artifactId><version>1</version>
<dependencies>{}</dependencies>
</project>"""
DEPENDENCY = (
    "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>"
    "<exclusions><exclusion><groupId>org.slf4j</groupId><artifactId>slf4j-log4j12</artifactId></exclusion></exclusions>"
    "</dependency>"
)
ZOOKEEPER = ("org.apache.zookeeper", "zookeeper", "3.5.10")
"""For releases of before 2.4: their own, 3.4, finds no server with Java 14 and later (ZOOKEEPER-3779)."""
JAXB = ("javax.xml.bind", "jaxb-api", "2.3.1")
"""Of Java until 10: releases of before 1.0 make their cluster's id with it."""
LOG4J_1 = (("org.slf4j", "slf4j-reload4j", "1.7.36"), ("ch.qos.reload4j", "reload4j", "1.2.25"))
LOG4J_2 = tuple(
    ("org.apache.logging.log4j", name, "2.24.3")
    for name in ("log4j-core", "log4j-api", "log4j-1.2-api", "log4j-slf4j-impl")
)


def release_of(version: str) -> tuple[int, ...]:
    """(4, 1, 0) of "4.1.0"."""
    return tuple(int(number) for number in version.split("."))


def class_path(version: str, cache: Path) -> str:
    """The class path of a release; Maven fetches it into a folder of the cache. Raises CalledProcessError."""
    folder = cache / version
    if not folder.is_dir():
        release = release_of(version)
        scala = "2.13" if release >= (2, 4) else "2.12" if release >= (0, 11) else "2.11"
        artifacts = [("org.apache.kafka", f"kafka_{scala}", version), *(LOG4J_2 if release >= (4,) else LOG4J_1)]
        if release < (2, 4):
            artifacts[:0] = (ZOOKEEPER, JAXB)
        if release >= (3, 5):  # where the tools moved to
            artifacts.append(("org.apache.kafka", "kafka-tools", version))
        with TemporaryDirectory() as scratch:
            pom = Path(scratch, "pom.xml")
            pom.write_text(POM.format("".join(DEPENDENCY.format(*artifact) for artifact in artifacts)), "utf-8")
            copy = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", "-DincludeScope=runtime"]
            subprocess.run([*copy, f"-DoutputDirectory={folder}"], check=True)
    return ":".join(map(str, sorted(folder.glob("*.jar"))))
