"""Stores that run on loopback for a proof: S3, HDFS, Google's, Azure's, each with what its users set for it.

S3 is moto's server, HDFS Hadoop's MiniDFSCluster, Google's fake-gcs-server (`go install`), Azure's Azurite (`npm`)
behind TLS, under the host names of real accounts by a proxy. The jars by which Spark reaches them come from Maven.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("KAFKA_REWIND_JARS", Path(tempfile.gettempdir()) / "kafka-rewind-jars"))
"""Where what is fetched stays."""
HADOOP = "3.5.0"  # as Spark 4.2 has it
AWS = "2.35.4"  # as that Hadoop has it
JARS = {
    "s3": (
        f"org.apache.hadoop:hadoop-aws:{HADOOP}",
        f"software.amazon.awssdk:bundle:{AWS}",
        "software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3:1.3.1",
    ),
    "hdfs": (f"org.apache.hadoop:hadoop-client-minicluster:{HADOOP}",),
    "gs": (f"org.apache.hadoop:hadoop-gcp:{HADOOP}",),
    "abfss": (f"org.apache.hadoop:hadoop-azure:{HADOOP}",),
}
FAKE_GCS = "github.com/fsouza/fake-gcs-server@v1.52.2"
AZURITE = "azurite@3.35.0"
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Azurite's, which its documentation prints."""
ACCOUNT = "devstoreaccount1"


@dataclass
class Store:
    """A store that is running."""

    logs: str
    """URL of the folder of logs, as `nightly` takes it."""
    warehouses: str
    """URL under which warehouses are, as Spark takes it."""
    environment: Mapping[str, str] = field(default_factory=dict)
    submit: tuple[str, ...] = ()
    """Arguments for Spark's driver."""
    reader: str = "duckdb"
    """What reads its tables, as `--engine` takes it."""

    def warehouse(self, name: str) -> str:
        """The location of a warehouse."""
        return f"{self.warehouses}.{name}" if self.reader == "spark" else f"{self.warehouses}/{name}"

    def upload(self, folder: Path) -> None:
        """Put local logs into the store, over what is there."""
        from pyarrow.fs import copy_files

        if Path(self.logs).is_absolute():
            shutil.copytree(folder, self.logs, dirs_exist_ok=True)
            return

        system, path, _ = stores()._place(self.logs)
        copy_files(str(folder), path, destination_filesystem=system)

    def variables(self) -> dict[str, str]:
        """Environment of a command."""
        own = dict(self.environment)
        if self.submit:
            own["PYSPARK_SUBMIT_ARGS"] = " ".join([*self.submit, "pyspark-shell"])
        return {**os.environ, "PYTHONPATH": str(ROOT), "RUST_LOG": "off", **own}


def stores() -> Any:
    """The module that reads logs from stores."""
    from udfs.logs import stores as module

    return module


def jars(store: str) -> str:
    """The jars of a store, fetched once, joined by commas."""
    paths = []
    for coordinates in JARS[store]:
        group, artifact, release = coordinates.split(":")
        repository = FOLDER / "maven"
        path = repository / group.replace(".", "/") / artifact / release / f"{artifact}-{release}.jar"
        if not path.exists():
            get = ["mvn", "-q", "-B", "dependency:get", "-Dtransitive=false", f"-Dmaven.repo.local={repository}"]
            command = [*get, f"-Dartifact={coordinates}"]
            if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode:
                subprocess.run(command, check=True)  # a repository that fails once may answer the next time
        paths.append(str(path))
    return ",".join(paths)


def settings(prefix: str, values: Mapping[str, str]) -> list[str]:
    """Settings of Hadoop's as arguments for Spark's driver."""
    return [f"--conf spark.hadoop.{prefix}{name}={value}" for name, value in values.items()]


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@contextmanager
def server(command: list[str], output: Path, port: int | None = None) -> Iterator[subprocess.Popen[str]]:
    """A server in a process of its own; it listens on the port by the time it is given."""
    with output.open("w") as out:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=out, text=True)
    try:
        for _ in range(1800 if port is not None else 0):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port or 0), 1):
                break
            time.sleep(0.1)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


# ---- real host names -------------------------------------------------------------------------------------------------
def proxy(port: int) -> int:
    """The port of a proxy that leads each host name to one port of this machine, until the process ends."""

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        there = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.gather(copy(reader, there[1]), copy(there[0], writer))

    async def run() -> None:
        listening = await asyncio.start_server(connect, "127.0.0.1", own)
        await listening.serve_forever()

    own = free_port()
    threading.Thread(target=lambda: asyncio.run(run()), daemon=True).start()
    return own


class _Tokens(BaseHTTPRequestHandler):
    """Gives whoever asks an access token, as Google does."""

    def do_POST(self) -> None:
        """The answer to each request."""
        token = json.dumps({"access_token": "proof", "token_type": "Bearer", "expires_in": 7200}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(token)))
        self.end_headers()
        self.wfile.write(token)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


class _Forwarder(BaseHTTPRequestHandler):
    """Hands each request on to `port`; Hadoop's begin with two slashes where one is meant."""

    protocol_version = "HTTP/1.1"
    port = 0

    def _hand_on(self) -> None:
        size = self.headers.get("Content-Length")
        body = (
            self._chunks()
            if size is None and self.headers.get("Transfer-Encoding")
            else self.rfile.read(int(size or 0))
        )
        kept = {name: value for name, value in self.headers.items() if name.lower() not in _OF_TRANSFER}
        there = http.client.HTTPConnection("127.0.0.1", self.port)
        there.request(self.command, "/" + self.path.lstrip("/"), body, kept)
        answer = there.getresponse()
        data = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in _OF_TRANSFER or self.command == "HEAD":
                self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _hand_on

    def _chunks(self) -> bytes:
        """A body that comes in chunks."""
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


_OF_TRANSFER = {"content-length", "transfer-encoding", "connection", "accept-encoding"}
"""Headers that are of one connection."""


def forwarder(port: int, key: Path, certificate: Path) -> int:
    """The port of a server with TLS that hands requests on to another port, until the process ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Forwarder", (_Forwarder,), {"port": port}))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


def token_server() -> str:
    """The address of a server of access tokens, until the process ends."""
    tokens = ThreadingHTTPServer(("127.0.0.1", 0), _Tokens)
    threading.Thread(target=tokens.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{tokens.server_port}/token"


def issue_certificate(scratch: Path, hosts: Sequence[str], authority: Path) -> tuple[Path, Path]:
    """A key and its certificate for the names of hosts, by an authority of its own."""
    key, certificate, authority_key = (scratch / name for name in ("key.pem", "certificate.pem", "authority.key"))
    new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj"]
    own = [*new, "/CN=proof's authority", "-keyout", str(authority_key), "-out", str(authority)]
    names = ",".join(f"DNS:{host}" for host in hosts)
    issued = [*new, "/CN=proof", "-keyout", str(key), "-out", str(certificate), "-CA", str(authority)]
    issued += ["-CAkey", str(authority_key), "-addext", f"subjectAltName={names}"]
    for command in (own, [*issued, "-addext", "basicConstraints=critical,CA:FALSE"]):
        subprocess.run(command, check=True, capture_output=True)
    return key, certificate


def java_options(authority: Path, through: int) -> str:
    """Options by which Java trusts an authority, and goes through a proxy."""
    trust = authority.with_name("trust.p12")
    keytool = ["keytool", "-importcert", "-noprompt", "-storepass", "proofproof", "-file", str(authority)]
    subprocess.run([*keytool, "-keystore", str(trust)], check=True, capture_output=True)
    java = {
        "javax.net.ssl.trustStore": str(trust),
        "javax.net.ssl.trustStorePassword": "proofproof",
        "https.proxyHost": "127.0.0.1",
        "https.proxyPort": str(through),
    }
    return " ".join(f"-D{name}={value}" for name, value in java.items())


# ---- S3 --------------------------------------------------------------------------------------------------------------
@contextmanager
def s3(scratch: Path, *, with_jars: bool = True) -> Iterator[Store]:
    """moto's S3 server, with conditional writes; without jars only logs can be there."""
    port = free_port()
    endpoint = f"http://127.0.0.1:{port}"
    environment = {
        "AWS_ACCESS_KEY_ID": "proof",
        "AWS_SECRET_ACCESS_KEY": "proof",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",  # delta-rs
    }
    os.environ |= environment
    own = {"endpoint": endpoint, "path.style.access": "true", "endpoint.region": "us-east-1"}
    arguments = ["--jars", jars("s3")] if with_jars else []
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with server(command, scratch / "moto.out", port):
        import boto3

        boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="rewind")
        yield Store("s3://rewind/logs", "s3a://rewind/w", environment, (*arguments, *settings("fs.s3a.", own)))


# ---- HDFS ------------------------------------------------------------------------------------------------------------
_MINI_HDFS = """
import sys
from pyspark.sql import SparkSession
spark = (
    SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    .config("spark.driver.extraClassPath", sys.argv[1]).getOrCreate()
)
java = spark._jvm
conf = java.org.apache.hadoop.conf.Configuration()
conf.set("hdfs.minidfs.basedir", sys.argv[2])
conf.set("dfs.permissions.enabled", "false")
builder = getattr(java.org.apache.hadoop.hdfs, "MiniDFSCluster$Builder")(conf)
cluster = builder.nameNodePort(int(sys.argv[3])).numDataNodes(1).build()
sys.stdin.read()
cluster.shutdown()
"""


@contextmanager
def hdfs(scratch: Path) -> Iterator[Store]:
    """Hadoop's own small HDFS, a name node and a data node in one JVM."""
    port = free_port()
    command = [sys.executable, "-c", _MINI_HDFS, jars("hdfs"), str(scratch / "hdfs"), str(port)]
    with server(command, scratch / "hdfs.out", port) as running:
        time.sleep(5)  # the data node comes after the name node
        url = f"hdfs://127.0.0.1:{port}"
        try:
            yield Store(f"{url}/logs", f"{url}/w")
        finally:
            assert running.stdin is not None
            running.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                running.wait(30)


# ---- Google ----------------------------------------------------------------------------------------------------------
def service_account(path: Path, endpoint: str) -> None:
    """A service account's file, as Google gives it, with a key of its own; delta-rs finds the endpoint there, too."""
    key = subprocess.run(["openssl", "genpkey", "-algorithm", "RSA"], check=True, capture_output=True, text=True).stdout
    account = {
        "type": "service_account",
        "project_id": "proof",
        "private_key_id": "proof",
        "private_key": key,
        "client_email": "proof@proof.iam.gserviceaccount.com",
        "client_id": "1",
        "token_uri": token_server(),
        "gcs_base_url": endpoint,
        "disable_oauth": True,
    }
    path.write_text(json.dumps(account))


@contextmanager
def gs(scratch: Path) -> Iterator[Store]:
    """fake-gcs-server: for pyarrow as an emulator, with a service account, for Hadoop by Google's host name and TLS."""
    binary = FOLDER / "bin" / "fake-gcs-server"
    if not binary.exists():
        subprocess.run(["go", "install", FAKE_GCS], check=True, env={**os.environ, "GOBIN": str(binary.parent)})
    connector = jars("gs")  # from here on Maven, too, would ask the proxy
    port = free_port()
    endpoint = f"http://127.0.0.1:{port}"
    service_account(scratch / "account.json", endpoint)
    authority = scratch / "authority.pem"
    key, certificate = issue_certificate(scratch, ("storage.googleapis.com",), authority)
    environment = {
        "CLOUD_STORAGE_EMULATOR_ENDPOINT": endpoint,  # Google's client in pyarrow
        "GOOGLE_APPLICATION_CREDENTIALS": str(scratch / "account.json"),
        "GOOGLE_SERVICE_ACCOUNT": str(scratch / "account.json"),  # delta-rs
        "JAVA_TOOL_OPTIONS": java_options(authority, proxy(forwarder(port, key, certificate))),
    }
    os.environ |= environment
    own = {
        "project.id": "proof",
        "auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE",
        "auth.service.account.json.keyfile": str(scratch / "account.json"),
    }
    command = [str(binary), "-backend", "memory", "-host", "127.0.0.1", "-scheme", "http", "-port", str(port)]
    command += ["-public-host", f"127.0.0.1:{port}", "-external-url", endpoint]
    with server(command, scratch / "gcs.out", port):
        request = urllib.request.Request(
            f"{endpoint}/storage/v1/b?project=proof", b'{"name": "rewind"}', {"Content-Type": "application/json"}
        )
        urllib.request.urlopen(request).read()
        yield Store("gs://rewind/logs", "gs://rewind/w", environment, ("--jars", connector, *settings("fs.gs.", own)))


# ---- Azure -----------------------------------------------------------------------------------------------------------
_AZ = """#!{python}
import base64, json, time
now = int(time.time())
issuer = "https://sts.windows.net/ab1f708d-50f6-404c-a006-d71b2ac7a606/"
claims = dict(aud="https://storage.azure.com", iss=issuer, iat=now - 60, nbf=now - 60, exp=now + 7200)
parts = (dict(alg="none", typ="JWT"), claims)
parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts)
token = b".".join([*parts, b"x"]).decode()
expires = time.strftime("%Y-%m-%d %H:%M:%S.000000", time.localtime(now + 7200))
print(json.dumps(dict(accessToken=token, expiresOn=expires, expires_on=now + 7200, tokenType="Bearer")))
"""
"""What `az account get-access-token` prints of who has logged in."""


@contextmanager
def abfss(scratch: Path) -> Iterator[Store]:
    """Azurite with TLS under the names of a real account; pyarrow has a token of `az`, Hadoop the account's key."""
    azurite = FOLDER / "node_modules" / ".bin" / "azurite-blob"
    if not azurite.exists():
        subprocess.run(["npm", "install", "--silent", "--prefix", str(FOLDER), AZURITE], check=True)
    connector = jars("abfss")  # from here on Maven, too, would ask the proxy
    authority = scratch / "authority.pem"
    key, certificate = issue_certificate(scratch, ("*.blob.core.windows.net", "*.dfs.core.windows.net"), authority)
    (scratch / "bin").mkdir()
    (scratch / "bin" / "az").write_text(_AZ.format(python=sys.executable))
    (scratch / "bin" / "az").chmod(0o755)
    port = free_port()
    through = proxy(port)
    own = {
        "fs.azure.account.auth.type": "SharedKey",
        f"fs.azure.account.key.{ACCOUNT}.dfs.core.windows.net": AZURE_KEY,
        f"fs.azure.account.key.{ACCOUNT}.blob.core.windows.net": AZURE_KEY,
        "fs.azure.account.hns.enabled": "false",
        "fs.azure.fns.account.service.type": "BLOB",
        "fs.azure.networking.library": "JDK_HTTP_URL_CONNECTION",
    }
    environment = {
        "PATH": f"{scratch / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "SSL_CERT_FILE": str(authority),
        "HTTPS_PROXY": f"http://127.0.0.1:{through}",
        "JAVA_TOOL_OPTIONS": java_options(authority, through),
        "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,  # delta-rs
        "AZURE_STORAGE_ACCOUNT_KEY": AZURE_KEY,
    }
    os.environ |= environment
    command = [str(azurite), "--silent", "--disableTelemetry", "--skipApiVersionCheck", "--oauth", "basic"]
    command += ["--location", str(scratch / "azure"), "--blobHost", "127.0.0.1", "--blobPort", str(port)]
    with server([*command, "--cert", str(certificate), "--key", str(key)], scratch / "azure.out", port):
        url = f"abfss://rewind@{ACCOUNT}.dfs.core.windows.net"
        stores()._place(f"{url}/logs")[0].create_dir("rewind")
        submit = ("--jars", connector, *settings("", own))
        yield Store(f"{url}/logs", f"{url}/w", environment, submit)


# ---- a catalog -------------------------------------------------------------------------------------------------------
@contextmanager
def catalog(scratch: Path) -> Iterator[Store]:
    """Spark's own catalog with a metastore in Derby; logs are in a folder of this machine."""
    own = {
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": str(scratch / "tables"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:{scratch / 'metastore'};create=true",
    }
    submit = tuple(f"--conf '{name}={value}'" for name, value in own.items())
    yield Store(str(scratch / "logs"), "spark_catalog", submit=submit, reader="spark")


RUNNING = {"hdfs": hdfs, "s3": s3, "gs": gs, "catalog": catalog, "abfss": abfss}
MISSING = {"mvn": "Maven, for Hadoop's jars", "go": "Go, for fake-gcs-server", "npm": "npm, for Azurite"}


def what_is_missing() -> list[str]:
    """What has to be installed first."""
    return [what for program, what in MISSING.items() if shutil.which(program) is None]
