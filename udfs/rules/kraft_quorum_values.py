"""Values of the KRaft quorum's log lines: states of a node, votes, candidates, controllers, offsets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from udfs.rules.known_fields import new_nested_fields, new_outer_fields
from udfs.rules.kraft_objects import new_fields, printed_fields


def offset_metadata(text: str) -> dict[str, Any]:
    """`LogOffsetMetadata(offset=641, metadata=...)` as a high watermark."""
    offset = re.search(r"offset=(\d+)", text)
    return {"high_watermark": offset[1]} if offset else {}


def raft_state(text: str) -> dict[str, Any]:
    """A state of the quorum that a node goes to: `Leader(...epoch=12...)`, `FollowerState(...)`, `Unattached(...)`.

    Where it names a leader, that is the controller, and the quorum's epoch the controller's.
    """
    fields = printed_fields(text)
    name = text.partition("(")[0]
    read: dict[str, Any] = {"to_state": "CandidateState" if name == "Candidate" else name}
    epoch = re.match(r"\d+", fields.get("epoch", ""))
    if epoch:
        read["raft_epoch"] = epoch[0]
    own = _first_id(fields, "localId", "localReplicaKey", "localVoterNode")
    leader = own if name.startswith("Leader") else _first_id(fields, "leaderId", "leader")
    if leader is not None:
        read["raft_leader"] = str(leader)
    controller = own if name.startswith("Resigned") else leader  # who resigns gives up what it had claimed
    if controller is not None and epoch:
        read |= {"controller_id": controller, "controller_epoch": int(epoch[0])}
    for key, field in (("epochStartOffset", "offset"), ("retries", "retries"), ("votedId", "voted_id")):
        if key in fields:
            read[field] = fields[key]
    if voted := re.search(r"\bid=(\d+)", fields.get("votedKey", "")):
        read["voted_id"] = voted[1]
    new = new_outer_fields(name, fields)
    return {**read, **new_fields({key: fields[key] for key in new}, new_nested_fields(text, fields), read)}


def _first_id(fields: Mapping[str, str], *names: str) -> int | None:
    """A node id: `1`, `OptionalInt[1]`, `ReplicaKey(id=1, ...)`, `VoterNode(voterKey=...)`, `host:9093 (id: 1 ...`."""
    for name in names:
        value = fields.get(name, "")
        if m := re.search(r"\bid=(\d+)", value) or re.match(r"(?:OptionalInt\[|\S+ \(id: )?(\d+)", value):
            return int(m[1])
    return None


def vote(text: str) -> dict[str, Any]:
    """A request for votes: who asks, for which epoch, and whether it only asks who would vote (4.0 on)."""
    wanted = {
        "candidate": r"(?:candidate|replica)Id=(\d+)",
        "candidate_epoch": r"(?:candidate|replica)Epoch=(\d+)",
        "last_offset": r"lastOffset=(-?\d+)",
        "last_offset_epoch": r"lastOffsetEpoch=(-?\d+)",
        "pre_vote": r"preVote=(\w+)",
    }
    return {name: m[1] for name, pattern in wanted.items() if (m := re.search(pattern, text))}


def new_controller(text: str) -> dict[str, Any]:
    """The leader of a new epoch, or `(none)`."""
    return {} if text == "(none)" else {"new_controller_id": text}


def candidate_key(text: str) -> dict[str, Any]:
    """A candidate for the quorum's leadership: its id, or `ReplicaKey(id=102, directoryId=...)` of which the id."""
    key = re.search(r"\bid=(\d+)", text)
    return {"candidate": key[1] if key else text}


def controller_node(text: str) -> dict[str, Any]:
    """A node of the cluster that is the controller now: `host:9093 (id: 101 rack: null)`, in 2.8 only its id."""
    node = re.search(r"\(id: (-?\d+) ", text)
    return (
        {"new_controller_id": text}
        if text.isdigit()
        else {
            **({"new_controller_id": node[1]} if node else {}),
            "new_controller": text,
        }
    )
