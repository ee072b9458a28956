"""Faults of a live cluster, drawn at random by a seed: what a day of a badly run cluster has, in some minutes."""

from __future__ import annotations

import json
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.proofs.live_cluster import BROKERS, Cluster
from tests.proofs.live_jars import release_of

TOPICS: dict[str, tuple[list[list[int]], dict[str, str]]] = {
    "orders": ([[n % 5, (n + 1) % 5, (n + 2) % 5] for n in range(8)], {}),
    "payments": ([[(n + 1) % 5, (n + 2) % 5] for n in range(5)], {}),
    "audit.events-v1": ([[2], [3], [4], [0]], {}),
    "unclean_ok": ([[1, 2], [2, 1], [3, 4], [1, 0]], {"unclean.leader.election.enable": "true"}),
    "a-1": ([[2, 3, 4], [3, 4, 0], [4, 0, 1]], {"min.insync.replicas": "2"}),
}
REASSIGN = ["kafka.admin.ReassignPartitionsCommand", "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"]
TOPICS_TOOL = ["kafka.admin.TopicCommand"]
ELECT = ["kafka.admin.LeaderElectionCommand", "org.apache.kafka.tools.LeaderElectionCommand"]
MOST_AWAY = 2
"""Brokers that are down or frozen at once."""


class Faults:
    """One cluster, what is done to it, and `actions`, the protocol of that, a JSON text each."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        from confluent_kafka import Producer
        from confluent_kafka.admin import AdminClient

        self.cluster, self.random, self.actions = cluster, random.Random(seed), list[str]()
        servers = {"bootstrap.servers": cluster.bootstrap, "log_level": 0}
        self.admin = AdminClient({**servers, "socket.timeout.ms": 20000})
        self.producer = Producer({**servers, "acks": "1", "message.timeout.ms": 3000, "linger.ms": 5})
        self.topics = {name: [list(replicas) for replicas in assigned] for name, (assigned, _) in TOPICS.items()}
        self.frozen: dict[int, float] = {}
        self.down: dict[int, float] = {}
        self.created = 0

    def log(self, action: str, **details: Any) -> None:
        """Note an action."""
        self.actions.append(json.dumps({"ms": int(time.time() * 1000), "action": action, **details}))

    def run(self, seconds: float) -> None:
        """Create the topics, then break the cluster for so long, then mend it and shut it down."""
        self.log("cluster_up")
        for name, (assigned, config) in TOPICS.items():
            self.create(name, [[*replicas] for replicas in assigned], config)
        self._produce_for(6)
        kinds: list[tuple[Callable[[], None], int]] = [
            (self.crash, 5), (self.freeze, 5), (self.stop, 5), (self.break_controller, 2), (self.reassign, 4),
            (self.cancel, 1), (self.elect, 2), (self.change_topics, 3), (self.lose_directory, 1),
            (self.configure, 2),
        ]  # fmt: skip
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._heal(time.monotonic())
            act = self.random.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])[0]
            try:
                act()
            except Exception as error:  # what a cluster of which parts are away refuses is part of its life
                self.log("failed", of=act.__name__, why=str(error)[:200])
            self._produce_for(self.random.choice((0.5, 2, 5, 9)))
        self._heal(float("inf"))
        self._produce_for(20)
        for node in reversed(BROKERS):  # those that are controllers, too, last
            self.log("controlled_shutdown", node=node)
            self.cluster.shut_down(node)
            self.log("stopped", node=node)
        for node in set(self.cluster.controllers) - {*BROKERS}:
            self.log("controlled_shutdown", node=node)
            self.cluster.shut_down(node)
            self.log("stopped", node=node)
        self.cluster.stop_all()

    def write(self, file: Path) -> None:
        """actions.jsonl."""
        file.write_text("".join(f"{action}\n" for action in self.actions), "utf-8")

    # ---- nodes ----------------------------------------------------------------------------------------------------
    def _present(self) -> list[int]:
        """Brokers that may be taken away now."""
        there = [broker for broker in BROKERS if broker not in self.down and broker not in self.frozen]
        if self.cluster.shape == "combined":  # one of three controllers may be away
            voters = [node for node in self.cluster.controllers if node in there]
            there = [node for node in there if node not in voters or len(voters) > 2]
        return there if len({*BROKERS} - {*self.down} - {*self.frozen}) > len(BROKERS) - MOST_AWAY else []

    def _heal(self, now: float) -> None:
        """Continue, and start again, what has been away for long enough, or ended by itself.

        A broker does that if its old session with ZooKeeper lasts, as service managers do.
        """
        for node in [node for node, until in self.frozen.items() if until <= now]:
            del self.frozen[node]
            self.cluster.send(node, signal.SIGCONT)
            self.log("resume", node=node)
        ended = [node for node in self.cluster.nodes if node not in self.down and not self.cluster.is_running(node)]
        for node in [*ended, *(node for node, until in self.down.items() if until <= now)]:
            self.down.pop(node, None)
            for disk in self.cluster.disks(node):
                if (lost := disk.with_suffix(".lost")).exists():
                    shutil.rmtree(disk, ignore_errors=True)  # the broker may have made another one
                    lost.rename(disk)
            self.cluster.start(node)
            self.log("start", node=node)

    def crash(self) -> None:
        """kill -9 of a broker, at times of two at once."""
        for node in self.random.sample(there := self._present(), min(len(there), self.random.choice((1, 1, 2)))):
            self.cluster.kill(node)
            self.log("kill", node=node)
            self.down[node] = time.monotonic() + self.random.choice((1, 8, 15))

    def freeze(self) -> None:
        """SIGSTOP of a broker, at times for longer than its session."""
        for node in self.random.sample(self._present(), 1):
            self.cluster.send(node, signal.SIGSTOP)
            self.log("pause", node=node)
            self.frozen[node] = time.monotonic() + self.random.choice((2, 5, 14))

    def stop(self) -> None:
        """A controlled shutdown."""
        for node in self.random.sample(self._present(), 1):
            self.log("controlled_shutdown", node=node)
            self.cluster.shut_down(node)
            self.log("stopped", node=node)
            self.down[node] = time.monotonic() + self.random.choice((0, 4, 12))

    def break_controller(self) -> None:
        """Kill or freeze a controller of the quorum; with ZooKeeper crash a broker, which may be it."""
        if not self.cluster.is_kraft:
            self.crash()
        elif self.cluster.shape == "voters" and self.random.random() < 0.4:
            self._change_voters()
        elif not {*self.down, *self.frozen} & {*self.cluster.controllers}:
            node = self.random.choice(self.cluster.controllers)
            if self.random.random() < 0.5:
                self.cluster.kill(node)
                self.log("kill", node=node)
                self.down[node] = time.monotonic() + self.random.choice((1, 6))
            else:
                self.cluster.send(node, signal.SIGSTOP)
                self.log("pause", node=node)
                self.frozen[node] = time.monotonic() + self.random.choice((3, 8))

    def _change_voters(self) -> None:
        """Take a controller out of the quorum for some seconds."""
        node = self.random.choice(self.cluster.controllers)
        self.log("remove_controller", node=node)
        self.cluster.remove_voter(node)
        self._produce_for(4)
        self.log("add_controller", node=node)
        self.cluster.add_voter(node)

    def lose_directory(self) -> None:
        """A broker's second log directory goes away beneath it; it comes back when the broker is started anew."""
        for node in self.random.sample(self._present(), 1):
            disk = self.cluster.disks(node)[1]
            disk.rename(disk.with_suffix(".lost"))
            self.log("log_dir_failure", node=node, dir=disk.name)
            self._produce_for(8)
            self.log("controlled_shutdown", node=node)
            self.cluster.shut_down(node)
            self.log("stopped", node=node)
            self.down[node] = time.monotonic() + 2

    # ---- topics ---------------------------------------------------------------------------------------------------
    def create(self, name: str, assigned: list[list[int]], config: dict[str, str]) -> None:
        """Create a topic with this assignment."""
        from confluent_kafka.admin import NewTopic

        self.log("create_topic", topic=name, assignment=assigned, config=config)
        if release_of(self.cluster.version) < (3,):  # brokers take the client's assignments for empty ones
            replicas = ",".join(":".join(map(str, one)) for one in assigned)
            settings = [part for key, value in config.items() for part in ("--config", f"{key}={value}")]
            create = ["--create", "--topic", name, "--replica-assignment", replicas, *settings]
            self.cluster.tool(TOPICS_TOOL, *self._to_tool(since=(2, 2)), *create)
        else:
            topic = NewTopic(name, len(assigned), replica_assignment=assigned, config=config)
            self.admin.create_topics([topic])[name].result(30)
        self.topics[name] = assigned

    def change_topics(self) -> None:
        """Create, delete, create again, or enlarge a topic."""
        name = self.random.choice([*self.topics])
        kind = self.random.choice(("create", "delete", "again", "enlarge", "enlarge"))
        if kind == "create":
            self.created += 1
            count = self.random.choice((1, 2, 3))  # KRaft takes one number of replicas for all partitions
            self.create(f"chaos_{self.created}", [self._replicas(count) for _ in range(self.random.choice((1, 3)))], {})
        elif kind == "enlarge":
            replicas = self._replicas(len(self.topics[name][0]))
            self.log("add_partitions", topic=name, total=len(self.topics[name]) + 1, assignment=[replicas])
            self._enlarge(name, [*self.topics[name], replicas])
        elif len(self.topics) > 4:
            assigned = self.topics.pop(name)
            self.log("delete_topic", topic=name)
            if release_of(self.cluster.version) < (1,):
                self.cluster.tool(TOPICS_TOOL, *self._to_tool(), "--delete", "--topic", name)
            else:
                self.admin.delete_topics([name], request_timeout=30)[name].result(30)
            if kind == "again":
                self._produce_for(4)
                self.create(name, assigned, TOPICS.get(name, ([], {}))[1])

    def _enlarge(self, name: str, assigned: list[list[int]]) -> None:
        """Add the last of these partitions to a topic."""
        from confluent_kafka.admin import NewPartitions

        if release_of(self.cluster.version) < (1,):
            replicas = ",".join(":".join(map(str, one)) for one in assigned)
            change = ["--alter", "--topic", name, "--partitions", str(len(assigned)), "--replica-assignment", replicas]
            self.cluster.tool(TOPICS_TOOL, *self._to_tool(), *change)
        else:
            partitions = NewPartitions(name, len(assigned), replica_assignment=assigned[-1:])
            self.admin.create_partitions([partitions])[name].result(30)
        self.topics[name] = assigned

    def _replicas(self, count: int = 0) -> list[int]:
        return self.random.sample(BROKERS, count or self.random.choice((1, 2, 2, 3)))

    def configure(self) -> None:
        """Change at run time what elections go by, of a topic or of all brokers (from 2.3 on, KIP-339)."""
        from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

        kind, name = self.random.choice(
            [(ResourceType.TOPIC, topic) for topic in self.topics] + [(ResourceType.BROKER, "")]
        )
        setting, values = self.random.choice(
            (("unclean.leader.election.enable", ("true", "false")), ("min.insync.replicas", ("1", "2")))
        )
        value = self.random.choice(values)
        self.log("configure", of=name or "all brokers", setting=setting, value=value)
        entry = ConfigEntry(setting, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(kind, name, incremental_configs=[entry])
        self.admin.incremental_alter_configs([resource])[resource].result(30)

    def _plan(self) -> Path:
        """A reassignment of some partitions, written for Kafka's tool."""
        partitions = [(name, number) for name, assigned in self.topics.items() for number in range(len(assigned))]
        chosen = self.random.sample(partitions, self.random.choice((1, 2, 4)))
        plan = [{"topic": name, "partition": number, "replicas": self._replicas()} for name, number in chosen]
        for entry in plan:
            self.topics[str(entry["topic"])][int(str(entry["partition"]))] = list(entry["replicas"])  # type: ignore[call-overload]
        file = self.cluster.folder / "plan.json"
        file.write_text(json.dumps({"version": 1, "partitions": plan}), "utf-8")
        self.log("reassign", plan={f"{entry['topic']}-{entry['partition']}": entry["replicas"] for entry in plan})
        return file

    def reassign(self) -> None:
        """Reassign some partitions, by Kafka's tool."""
        self.cluster.tool(REASSIGN, *self._to_tool(), "--reassignment-json-file", str(self._plan()), "--execute")
        self.log("reassign_done")

    def cancel(self) -> None:
        """Begin a reassignment to a broker that is away, then cancel it (KIP-455)."""
        plan = str(self._plan())
        self.cluster.tool(REASSIGN, *self._to_tool(), "--reassignment-json-file", plan, "--execute")
        if release_of(self.cluster.version) >= (2, 6):
            self._produce_for(1)
            self.log("cancel_reassignment")
            self.cluster.tool(REASSIGN, *self._to_tool(), "--reassignment-json-file", plan, "--cancel")

    def _to_tool(self, since: tuple[int, ...] = (2, 6)) -> list[str]:
        """How Kafka's tools of this release reach the cluster: not by ZooKeeper `since` a release."""
        if not self.cluster.is_kraft and release_of(self.cluster.version) < since:
            return ["--zookeeper", f"127.0.0.1:{self.cluster.zookeeper_port}"]
        return ["--bootstrap-server", self.cluster.bootstrap]

    def elect(self) -> None:
        """Elect preferred leaders, or (from 2.4 on) unclean ones of a topic."""
        if release_of(self.cluster.version) < (2, 4):
            tool = ["kafka.admin.PreferredReplicaLeaderElectionCommand"]
            self.log("elect_preferred")
            self.cluster.tool(tool, "--zookeeper", f"127.0.0.1:{self.cluster.zookeeper_port}")
            return
        if self.random.random() < 0.6:
            self.log("elect_preferred")
            arguments = ["--election-type", "PREFERRED", "--all-topic-partitions"]
        else:
            name = self.random.choice([*self.topics])
            partition = self.random.randrange(len(self.topics[name]))
            self.log("elect_unclean", topic=name, partition=partition)
            arguments = ["--election-type", "UNCLEAN", "--topic", name, "--partition", str(partition)]
        self.cluster.tool(ELECT, "--bootstrap-server", self.cluster.bootstrap, *arguments)

    # ---- records --------------------------------------------------------------------------------------------------
    def _produce_for(self, seconds: float) -> None:
        """Write to all partitions for so long, continuing and starting again who is due."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for name, assigned in self.topics.items():
                for partition in range(len(assigned)):
                    try:
                        self.producer.produce(name, b"x" * 64, partition=partition)
                    except Exception:  # no such partition yet, or the queue is full
                        self.producer.poll(0.05)
            self.producer.poll(0.1)
            time.sleep(0.2)
            self._heal(time.monotonic())
