"""No secret of a log reaches a table: each byte of one is a star, and nothing else is."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.arrow.parse import read_range
from udfs.logs.formats import format_of
from udfs.logs.secrets import masked

SECRETS = {  # line -> its secret
    "sasl.jaas.config = org.apache.kafka.common.security.scram.ScramLoginModule required username=\"admin\" password=\"hunt er;2\";": "hunt er;2",
    "required username='kafka' password='it is;1';": "it is;1",
    "\tssl.key.password = hunter2": "hunter2",
    "ssl.keystore.password=hunter2, ssl.keystore.type=JKS": "hunter2",
    "Map(ssl.truststore.password -> hunter2, other -> 1)": "hunter2",
    '{"password": "hun\\"ter2", "user": "x"}': 'hun\\"ter2',
    "delegation.token.master.key = abcDEF==": "abcDEF==",
    "delegation.token.secret.key=abcDEF==": "abcDEF==",
    "password.encoder.secret = hunter2": "hunter2",
    "basic.auth.user.info=admin:hunter2": "admin:hunter2",
    "schema.registry at https://admin:hunter2@registry:8081/": "hunter2",
    "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.e30.Et9HFtf9": "eyJhbGciOiJIUzI1NiJ9.e30.Et9HFtf9",
    "sasl.oauthbearer.client.secret = hunter2": "hunter2",
    "aws.secret.access_key=AKIA/abc+def": "AKIA/abc+def",
    "SCRAM-SHA-256=[iterations=8192,password=alice-secret]": "alice-secret",
    "SCRAM credential salt=x,stored_key=abc=,server_key=def=,iterations=4096": "def=",
    "KAFKA_SSL_KEY_PASSWORD=hunter2": "hunter2",
    "ssl.keystore.key = -----BEGIN PRIVATE KEY-----MIIEvQIBADANBg-----END PRIVATE KEY-----": "MIIEvQIBADANBg",
}  # fmt: skip
KEPT = (
    "ssl.key.password = [hidden]",
    "ssl.key.password = null",
    "password.encoder.iterations = 4096",
    "password.encoder.keyfactory.algorithm = null",
    "sasl.oauthbearer.token.endpoint.url = null",
    "delegation.token.max.lifetime.ms = 604800000",
    "RequestHeader(apiKey=UPDATE_METADATA, apiVersion=8, clientId=0)",
    "Changed partition secret-0 state from NewPartition to OnlinePartition with assigned replicas 1,2",
    "Created log for partition password-3 in /tmp/token with properties {}",
    "Registered broker 6 at path /brokers/ids/6 with addresses: PLAINTEXT://k6.pay:9092, czxid 1",
    "INFO Client session timed out, have not heard from server in 4004ms for session id 0x1",
)
HEAD = "[2026-11-21 10:00:00,000] INFO "


@pytest.mark.parametrize("line", SECRETS)
def test_a_secret_is_masked(line: str) -> None:
    """All of it, and what stands around it stays."""
    out = masked(line.encode()).decode()
    secret = SECRETS[line]
    assert secret not in out
    assert len(out) == len(line)
    begin = line.index(secret)
    assert out[begin : begin + len(secret)].replace(" ", "*") == "*" * len(secret)
    assert out[begin + len(secret) :] == line[begin + len(secret) :] or "stored_key" in line


@pytest.mark.parametrize("line", KEPT)
def test_what_is_no_secret_stays(line: str) -> None:
    assert masked(line.encode()) == line.encode()


def test_a_private_key_of_several_lines() -> None:
    pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIEvQ\nIBADAN\n-----END RSA PRIVATE KEY-----\nnext = 1"
    assert masked(pem.encode()).decode() == pem.replace("MIIEvQ", "******").replace("IBADAN", "******")


@given(st.lists(st.sampled_from([*SECRETS, *KEPT, "\r\n", '"', "'", "= ", "password", "://", "@", "-----END"])))
def test_bytes_stay_as_many_and_lines_where_they_are(parts: list[str]) -> None:
    data = "\n".join(parts).encode()
    out = masked(data)
    assert len(out) == len(data)
    assert [i for i, byte in enumerate(out) if byte in b"\r\n"] == [i for i, byte in enumerate(data) if byte in b"\r\n"]
    assert masked(out) == out


def test_no_column_has_it() -> None:
    """In events, in their further lines, in rejects: neither the text nor anything read out of it."""
    lines = [
        f"{HEAD}KafkaConfig values: \n\tssl.key.password = hunter2\n (kafka.server.KafkaConfig)\n",
        f'{HEAD}Frobnicated with password="hunter2" (kafka.controller.KafkaController)\n',
        f'{HEAD}[Controller id=1] Processing reassignment password="hunter2" (kafka.controller.KafkaController)\n\tat x.y(password=hunter2)\n',
        f"{HEAD}Processing override for entityPath: topics/pay with config: {{ssl.key.password=hunter2}} (kafka.server.DynamicConfigManager)\n",
    ]
    data = "".join(lines).encode()
    format_ = format_of(data)
    assert format_ is not None
    batches = list(read_range(io.BytesIO(data), format_, "UTC", "f", 0, None, 1))
    texts = "\n".join(str(batch.to_pylist()) for batch in batches)
    assert "hunter2" not in texts
    assert "*******" in texts
    sizes = [
        row["size_bytes"] for batch in batches for row in batch.to_pylist() if row["record"] in ("event", "reject")
    ]
    assert sizes
    assert set(sizes) <= {len(line) for line in lines}
