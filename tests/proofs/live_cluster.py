"""A Kafka cluster of any release on loopback: five brokers, with ZooKeeper or with KRaft's controllers, that logs as
Apache's distribution does, can be broken on purpose, and leaves its own transaction log behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.proofs.live_jars import release_of

BROKERS = (0, 1, 2, 3, 4)
CONTROLLERS: Mapping[str, tuple[int, ...]] = {
    "apart": (100, 101, 102),
    "combined": (0, 1, 2),  # nodes that are brokers, too
    "single": (100,),
    "voters": (100, 101, 102),  # who votes is in the log, not in the settings (KIP-853)
}
"""The KRaft quorum, by the shape of the cluster; with ZooKeeper brokers are controllers."""
QUORUM_ID = "kR4fTcLuStErIdOnLoOpBk"
DIRECTORY_ID = "dIrEcToRyOfVoTeR000{:03}"
"""Of a controller, by its node; 22 characters are an id of Kafka's."""
QUORUM = ["org.apache.kafka.tools.MetadataQuorumCommand"]
OPENED = [
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("java.lang", "java.util", "java.util.concurrent", "java.nio", "sun.nio.ch")
]
"""What releases of before Java 17 reach into."""
BROKER_SETTINGS: Mapping[str, object] = {
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "true",
    "leader.imbalance.check.interval.seconds": 45,
    "replica.lag.time.max.ms": 3000,
    "log.flush.offset.checkpoint.interval.ms": 1000,
    "offsets.topic.num.partitions": 3,
    "num.network.threads": 2,
    "num.io.threads": 3,
    "background.threads": 2,
    "log.cleaner.enable": "false",
}
LEVELS = """
log4j.rootLogger=INFO, server
log4j.logger.kafka.controller={level}, controller
log4j.additivity.kafka.controller=false
log4j.logger.org.apache.kafka.controller={kraft}, controller
log4j.additivity.org.apache.kafka.controller=false
log4j.logger.state.change.logger={level}, state
log4j.additivity.state.change.logger=false
log4j.logger.org.apache.zookeeper=INFO
"""
APPENDER = """
log4j.appender.{name}=org.apache.log4j.FileAppender
log4j.appender.{name}.File={file}
log4j.appender.{name}.layout=org.apache.log4j.PatternLayout
log4j.appender.{name}.layout.ConversionPattern=[%d] %p %m (%c)%n
"""
LEVELS_2 = """
rootLogger.level=INFO
rootLogger.appenderRef.server.ref=server
logger.a.name=org.apache.kafka.controller
logger.a.level={kraft}
logger.a.additivity=false
logger.a.appenderRef.controller.ref=controller
logger.b.name=state.change.logger
logger.b.level={level}
logger.b.additivity=false
logger.b.appenderRef.state.ref=state
"""
APPENDER_2 = """
appender.{name}.type=File
appender.{name}.name={name}
appender.{name}.fileName={file}
appender.{name}.layout.type=PatternLayout
appender.{name}.layout.pattern=[%d] %p %m (%c)%n
"""
FILES = {"server": "server.log", "controller": "controller.log", "state": "state-change.log"}


def free_ports(count: int) -> list[int]:
    """So many ports of loopback that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def is_listening(port: int) -> bool:
    """Whether somebody accepts connections there."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0


@dataclass
class Cluster:
    """One cluster, in a folder that becomes a capture: its nodes write `logs/NODE/`."""

    folder: Path
    version: str
    is_kraft: bool
    classes: str
    level: str = "INFO"
    shape: str = "apart"
    settings: Mapping[str, object] = field(default_factory=dict)
    processes: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    ports: dict[int, int] = field(default_factory=dict)
    zookeeper: subprocess.Popen[bytes] | None = None
    zookeeper_port: int = 0

    def __post_init__(self) -> None:
        self.controllers = CONTROLLERS[self.shape] if self.is_kraft else ()
        nodes = tuple(dict.fromkeys((*BROKERS, *self.controllers)))
        *ports, self.zookeeper_port = free_ports(2 * len(nodes) + 1)
        self.ports = dict(zip(nodes, ports[: len(nodes)], strict=True))
        both = dict(zip(nodes, ports[len(nodes) :], strict=True))
        self.quorum_ports = {node: (both if node in BROKERS else self.ports)[node] for node in self.controllers}
        self.nodes = nodes
        for node in self.nodes:
            self._write_settings(node)

    @property
    def bootstrap(self) -> str:
        """The brokers' addresses, for clients."""
        return ",".join(f"127.0.0.1:{self.ports[broker]}" for broker in BROKERS)

    def logs(self, node: int) -> Path:
        """The folder that a node logs to."""
        return self.folder / "logs" / f"{'broker' if node in BROKERS else 'controller'}-{node}"

    def disks(self, node: int) -> list[Path]:
        """A node's log directories: two of a broker, one of a controller."""
        return [self.folder / "disks" / f"{node}-{number}" for number in range(2 if node in BROKERS else 1)]

    # ---- processes ----------------------------------------------------------------------------------------------
    def start_all(self) -> None:
        """Format and start whatever the cluster needs; returns once all brokers listen. Raises TimeoutError."""
        if self.is_kraft:
            for node in self.nodes:
                self.format(node, ["--no-initial-controllers"] if node in BROKERS else self._initial_controllers())
        else:
            self._start_zookeeper()
        for node in reversed(self.nodes):
            self.start(node)
        for broker in BROKERS:
            wait_until(lambda broker=broker: is_listening(self.ports[broker]), 120)

    def format(self, node: int, voters: list[str]) -> None:
        """Format a node's log directories; `voters`: what tells the format tool of them, where the log has them."""
        extra = voters if self.shape == "voters" else []
        self.tool(["kafka.tools.StorageTool"], "format", "-t", QUORUM_ID, "-c", str(self._file(node)), *extra)

    def _initial_controllers(self) -> list[str]:
        ids = (f"{node}@127.0.0.1:{self.quorum_ports[node]}:{DIRECTORY_ID.format(node)}" for node in self.controllers)
        return ["--initial-controllers", ",".join(ids)]

    def remove_voter(self, node: int) -> None:
        """Take a controller out of the quorum (KIP-853); its process goes on, as an observer."""
        ids = ["--controller-id", str(node), "--controller-directory-id", DIRECTORY_ID.format(node)]
        self.tool(QUORUM, "--bootstrap-server", self.bootstrap, "remove-controller", *ids)

    def add_voter(self, node: int) -> None:
        """Put a controller into the quorum (KIP-853)."""
        file = str(self._file(node))
        self.tool(QUORUM, "--command-config", file, "--bootstrap-server", self.bootstrap, "add-controller")

    def start(self, node: int) -> None:
        """Start a node's process."""
        logging = "log4j2.configurationFile" if release_of(self.version) >= (4,) else "log4j.configuration"
        self.processes[node] = self._java(
            [f"-D{logging}=file:{self._file(node).with_suffix('.log4j.properties')}", "-Xmx256m", "-Xms64m"],
            ["kafka.Kafka", str(self._file(node))],
            self.folder / f"{node}.out",
        )

    def kill(self, node: int) -> None:
        """kill -9."""
        self.processes[node].kill()
        self.processes[node].wait()

    def shut_down(self, node: int, seconds: float = 60) -> None:
        """A controlled shutdown; returns once the process has ended."""
        self.processes[node].terminate()
        try:
            self.processes[node].wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill(node)

    def send(self, node: int, number: signal.Signals) -> None:
        """Freeze (SIGSTOP) or continue (SIGCONT) a node's process."""
        self.processes[node].send_signal(number)

    def is_running(self, node: int) -> bool:
        """Whether a node's process is there."""
        return node in self.processes and self.processes[node].poll() is None

    def stop_all(self) -> None:
        """Shut down brokers, then controllers, then ZooKeeper."""
        for node in self.nodes:
            if self.is_running(node):
                self.send(node, signal.SIGCONT)
                self.shut_down(node)
        if self.zookeeper:
            self.zookeeper.terminate()
            self.zookeeper.wait()

    def tool(self, names: list[str], *arguments: str, seconds: float = 90) -> str:
        """What one of Kafka's tools prints; `names`: of its class, in all releases. Raises ValueError."""
        output = ""
        for name in names:
            command = ["java", *OPENED, "-XX:TieredStopAtLevel=1", "-cp", self.classes, name, *arguments]
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
            output = done.stdout + done.stderr
            if "Could not find or load main class" not in output:
                if done.returncode:
                    raise ValueError(f"{name}: {output[-400:]}")
                return done.stdout
        raise ValueError(output[-400:])

    def _java(self, options: list[str], command: list[str], output: Path) -> subprocess.Popen[bytes]:
        fast = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        with output.open("ab") as stream:
            return subprocess.Popen(
                ["java", *OPENED, *fast, *options, "-cp", self.classes, *command],
                stdout=stream,
                stderr=stream,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "TZ": "UTC"},
            )

    def _start_zookeeper(self) -> None:
        data = self.folder / "zookeeper"
        data.mkdir(parents=True)
        settings = {"dataDir": data, "clientPort": self.zookeeper_port, "tickTime": 1000, "maxClientCnxns": 0}
        settings |= {"minSessionTimeout": 2000, "maxSessionTimeout": 60000, "admin.enableServer": "false"}
        file = write_properties(self.folder / "zookeeper.properties", settings)
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        self.zookeeper = self._java(
            ["-Xmx128m", "-Dzookeeper.jmx.log4j.disable=true"], [main, str(file)], self.folder / "zookeeper.out"
        )
        wait_until(lambda: is_listening(self.zookeeper_port), 60)

    # ---- settings -----------------------------------------------------------------------------------------------
    def _file(self, node: int) -> Path:
        return self.folder / f"{node}.properties"

    def _write_settings(self, node: int) -> None:
        self.logs(node).mkdir(parents=True)
        for disk in self.disks(node):
            disk.mkdir(parents=True)
        disks, address = ",".join(map(str, self.disks(node))), f"127.0.0.1:{self.ports[node]}"
        settings: dict[str, object] = {**BROKER_SETTINGS, "log.dirs": disks}
        if node in BROKERS:
            settings |= {"broker.rack": f"rack{node % 3}", "listeners": f"PLAINTEXT://{address}"}
        if self.is_kraft:
            settings |= self._kraft_settings(node, address)
        else:
            settings |= {"broker.id": node, "zookeeper.connect": f"127.0.0.1:{self.zookeeper_port}"}
            settings |= {"zookeeper.session.timeout.ms": 9000, "zookeeper.connection.timeout.ms": 60000}
        write_properties(self._file(node), settings | dict(self.settings))
        levels, appender = (LEVELS_2, APPENDER_2) if release_of(self.version) >= (4,) else (LEVELS, APPENDER)
        appenders = "".join(appender.format(name=name, file=self.logs(node) / file) for name, file in FILES.items())
        kraft = self.level if self.is_kraft else "INFO"
        text = levels.replace("{level}", self.level).replace("{kraft}", kraft) + appenders
        self._file(node).with_suffix(".log4j.properties").write_text(text, "utf-8")

    def _kraft_settings(self, node: int, address: str) -> dict[str, object]:
        voters = [(each, f"127.0.0.1:{self.quorum_ports[each]}") for each in self.controllers]
        roles = {"broker": node in BROKERS, "controller": node in self.controllers}
        settings: dict[str, object] = {"node.id": node, "controller.listener.names": "CONTROLLER"}
        settings["process.roles"] = ",".join(role for role, is_role in roles.items() if is_role)
        settings["listener.security.protocol.map"] = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"
        if self.shape == "voters":
            settings["controller.quorum.bootstrap.servers"] = ",".join(address for _, address in voters)
        else:
            settings["controller.quorum.voters"] = ",".join(f"{each}@{address}" for each, address in voters)
        if all(roles.values()):
            settings["listeners"] = f"PLAINTEXT://{address},CONTROLLER://127.0.0.1:{self.quorum_ports[node]}"
        elif roles["controller"]:
            settings["listeners"] = f"CONTROLLER://{address}"
        return settings


def wait_until(is_so: Any, seconds: float) -> None:
    """Returns once `is_so()`. Raises TimeoutError after so many seconds."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError(f"still not so after {seconds} s")
        time.sleep(0.2)


def write_properties(file: Path, settings: Mapping[str, object]) -> Path:
    """Write Java properties."""
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), "utf-8")
    return file


def write_meta(cluster: Cluster, seed: int) -> None:
    """meta.json, as captures have it."""
    meta = {"version": cluster.version, "brokers": len(BROKERS), "scenario": "chaos", "seed": seed}
    meta |= {"state_change_level": cluster.level, "timezone": "UTC"}
    if cluster.is_kraft:
        meta |= {"mode": "kraft", "controllers": list(cluster.controllers)}
    (cluster.folder / "meta.json").write_text(json.dumps(meta, indent=1), "utf-8")
