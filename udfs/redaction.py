"""Names of topics, hosts, principals, clients and folders replaced by keyed hashes: each is the same everywhere.

A name begins and ends where a word does, and may have any signs within (`kafka-1.example.com`, `CN=alice,OU=x`,
`kafka/host@REALM`); what stands beside it does not matter (`pay-in-0`). Of two names that begin together the longer one
is replaced. Whoever has the key can tell which name became what; nobody else can, nor can they try names out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, unquote

from udfs.errors import BadInput
from udfs.rules.regex import late

_HOST = r"[A-Za-z](?:[\w.-]*\w)?"
_BEGIN = r"(?:(?<![\w.-])|(?<=:\d{4}-)|(?<=:\d{5}-))"  # not anywhere: that costs a word's length squared
_HOSTS = late(
    rf"""
    \w://(?P<of_endpoint>[A-Za-z0-9][\w.-]*):\d+
    | \b(?:host(?:\.?[nN]ame)?|rawHost|rack|address)"?\s*[=:]\s*["']?(?:Optional\[|Some\()?
      (?P<named>(?!Optional\b)[A-Za-z][\w.-]*)
    | \b(?:(?:\w*EndPoint|Node|Broker)\((?:\d+,\s?)?|host_)(?P<beside_port>{_HOST}?)(?:,\s?\d|-port_\d)
    | {_BEGIN}(?P<beside_address>{_HOST})(?=/(?:<unresolved>|\[?[0-9a-f]+[.:][0-9a-f.:]*\]?):\d)
    | {_BEGIN}(?P<of_node>{_HOST}):\d+\ \(id:
    | \b(?:node|broker|server|host|address(?:es)?:?|(?:connect(?:ed|ing|ion)?|session)\ to
      |connections\ on|zookeeper\ on)\ (?!id:)(?P<behind_word>{_HOST}):\d{{4,5}}\b
    | {_BEGIN}(?=[\w-]*[\d.])(?![\w-]*\.[\w.-]*-\d+:)(?![\w.-]*\.(?:bytes|ms|messages|records):)
      (?P<with_port>{_HOST}):\d{{4,5}}\b
    | (?<![\d.])(?<![vV]ersion\ )(?<![vV]ersion[:=])(?<![vV]ersion[:=]\ )(?<![vV]ersion\ [:=]\ )
      (?P<ip>\d{{1,3}}\.\d{{1,3}}\.\d{{1,3}}\.\d{{1,3}})(?!\d|\.\d|[./-][A-Za-z])
    | (?<![\w:.])(?P<ip_6>(?:[0-9a-fA-F]{{1,4}}:){{7}}[0-9a-fA-F]{{1,4}}(?=:\d+\b|(?![\w:]))
        |(?=[0-9a-fA-F:]*::)[0-9a-fA-F:]*[0-9a-fA-F](?![\w:]))
    """,
    re.VERBOSE,
)
"""A plain word before a port is a host only where what is around it says so: `offset:12345` looks the same."""
_SERVERS = late(
    r"""\b(?:connectString|zookeeper\.connect|bootstrap\.servers|quorum\.voters)["']?\s?[=:]\s?["'\[]*"""
    r"""(?P<list>[^\s,'"\])]+(?:,\s?[^\s,'"\])]+:\d+[^\s,'"\])]*)*)"""
)
_SERVER = late(r"(?:^|[,@\s])([A-Za-z][\w.-]*):\d+")
_TYPE = (
    r"(?:(?i:CN|OU?|L|ST?|C|DC|UID|STREET|T|TITLE|SN|SURNAME|GIVENNAME|SERIALNUMBER|E|EMAIL(?:ADDRESS)?|DNQ)"
    r"|(?:OID\.)?\d+(?:\.\d+)+)="
)
_WORD_OF_VALUE = r"""(?:\\.|[^\\\s,;+=<>()\[\]{}'"])+"""
_VALUE = rf"(?:{_WORD_OF_VALUE}(?:\ {_WORD_OF_VALUE}){{0,8}})?"
_LAST_VALUE = rf"{_WORD_OF_VALUE}(?:\ (?:(?:&|of|and|the|de|der|du|und|et)\ )?(?=[A-Z0-9]){_WORD_OF_VALUE}(?!\w|\s*=))*"
_MORE = rf"{_VALUE}[,+]\s?{_TYPE}"
_BARE = r"""[^\s,;)\]}'"<>]+"""
_PRINCIPALS = late(
    rf"""(?:\bUser|\b[pP]rincipal["']?\s?[=:]\s?["']?[A-Z]\w*):(?P<user>{_TYPE}(?:{_MORE})*{_LAST_VALUE}|{_BARE})"""
    rf"""|(?<![\w=:])(?P<distinguished>(?:CN|UID|DC|OU|O|EMAILADDRESS)={_MORE}(?:{_MORE})*{_LAST_VALUE})"""
    r"""|\busername\s*=\s*["']?(?P<name>[\w.@-]+)"""
    rf"""|\b(?:user|\w*[pP]rincipalName)=["']?(?P<of_quota>{_BARE})"""
    r"""|\bentityType["']?[=:]["']?user["']?,\s?["']?entityName["']?[=:]["']?(?P<of_entity>[^'",)}]+)"""
    rf"""|ScramCredentialRecord\(name=["']?(?P<of_record>{_BARE})"""
    r"""|SCRAM_CREDENTIAL_RECORD","version":\d+,"data":\{"name":"(?P<of_dump>[^"]+)"""
    r"""|/config/users/(?P<in_znode>[^\s,;/)\]}'"<>]+)"""
)
_CLIENTS = late(
    rf"""\bclient[._-]?[iI]d["']?\s*[=:]\s*(?:'(?P<quoted>[^']+)'|"(?P<in_json>[^"]+)"|(?P<id>{_BARE}))"""
    r"""|\bentityType["']?[=:]["']?client-id["']?,\s?["']?entityName["']?[=:]["']?(?P<of_entity>[^'",)}]+)"""
    r"""|/config/(?:users/[^\s/]+/)?clients/(?P<in_znode>[^\s,;/)\]}'"<>]+)"""
)
_TOPICS = late(
    r"""/(?:(?:brokers|config)/|admin/delete_)topics/(?P<in_path>[\w.-]+)"""
    r"""|\b[tT]opic(?:Name|_name)?["']?=["']?(?P<of_field>[\w.-]+)(?![\w.(\[-])"""
    r"""|"topic(?:Name|_name)?":"(?P<in_json>[\w.-]+)\""""
    r"""|\bresourceType=TOPIC, resourceName=["']?(?P<of_acl>[\w.-]+)"""
    r"""|\bTopic:(?:LITERAL|PREFIXED):(?P<of_resource>[\w.-]+)"""
)
_PATH = r"""/(?!(?:admin|brokers|cluster|config|consumers|controller)\b)[^\s,;:()\[\]{}'"=<>]+"""
_FOLDERS = late(
    rf"""\b(?:[dD]irectory|[dD]irectories|[dD]irs?|\w*Dirs?)["']?\s?[=:]?\s?(?:[A-Z]\w+\()?["'\[]*"""
    rf"""(?P<list>{_PATH}(?:,\s?{_PATH})*)"""
    rf"""|(?<![\w/:.])(?P<above>{_PATH})/(?=\d{{20}}|meta\.properties|[\w-]+-checkpoint|quorum-state|\.lock)"""
)
_FOLDER = late(_PATH)
_SEGMENT = late(r"/(?:\d{20}[^/]*|meta\.properties|[\w-]+-checkpoint|quorum-state|\.lock)$")
_OF_PARTITION = late(r"(?P<topic>.+)(?P<rest>-\d+(?:\.[0-9a-f]+-(?:delete|future|stray))?)")
_OF_EVERYBODY = {
    "localhost", "0.0.0.0", "127.0.0.1", "::1", "0:0:0:0:0:0:0:1", "null", "None", "none", "ANONYMOUS", "true", "false",
}  # fmt: skip
_SOURCE = (".java", ".scala", ".kt", ".py")
_PIECE = late(r"\bhost_(?=[\w.-]+-port_\d)|\w+|\W")
_JOINS = frozenset("@.-")


LEAST_KEY = 16
"""Bytes of a key; fewer can be guessed."""


def key_of(path: str) -> bytes:
    """The key in a file. Raises BadInput if it cannot be read, or is so short that it can be guessed."""
    try:
        with open(path, "rb") as file:
            key = file.read(4096).strip()
    except OSError as error:
        raise BadInput(f"The key cannot be read: {path} ({error.strerror}).") from None
    if len(key) < LEAST_KEY:
        raise BadInput(
            f"The key in {path} has {len(key)} bytes; give at least {LEAST_KEY}, such as of `openssl rand -hex 32`."
        )
    return key


def names_in(text: str) -> Iterator[tuple[str, str]]:
    """Kind and name of hosts (`h`), principals (`p`), clients (`c`), folders (`d`) and topics (`t`) that a line of a
    log shows to be such.

    >>> sorted(names_in("Broker 1 at SSL://k1.pay:9093 (clientId=app-1, principal User:CN=al,OU=x) from 10.0.0.7"))
    [('c', 'app-1'), ('h', '10.0.0.7'), ('h', 'k1.pay'), ('p', 'CN=al,OU=x')]
    """
    for kind, pattern in (
        ("h", _HOSTS),
        ("h", _SERVERS),
        ("p", _PRINCIPALS),
        ("c", _CLIENTS),
        ("d", _FOLDERS),
        ("t", _TOPICS),
    ):
        for match in pattern.finditer(text):
            group = match.lastgroup or ""
            for word in _words(kind, group, match[group]):
                name = word.rstrip(".:")
                if name not in _OF_EVERYBODY and not name.isdigit() and not name.endswith(_SOURCE) and _is_name(name):
                    yield kind, name


def _is_name(word: str) -> bool:
    """Whether there is anything in a word that a name is known by; `*` is everybody."""
    return any(sign.isalnum() or sign == "_" for sign in word)


def _words(kind: str, group: str, text: str) -> Iterable[str]:
    """The names in what a pattern matched."""
    if group == "in_znode":
        return [unquote(text)]
    if kind == "h":
        return _SERVER.findall(text) if group == "list" else [text]
    return _folders(text) if kind == "d" else [text]


def _folders(paths: str) -> Iterator[str]:
    """Folders of logs, those of partitions too, without the files in them."""
    for path in _FOLDER.findall(paths):
        folder = _SEGMENT.sub("", path.rstrip("/."))
        above, _, last = folder.rpartition("/")
        yield folder
        if above and _OF_PARTITION.fullmatch(last):
            yield above


def kinds_of(names: Iterable[tuple[str, str]], topics: Iterable[str]) -> dict[str, str]:
    """Kind by name. What is called like a topic is one, and `pay-0:9092` is no host where `pay` is a topic."""
    kinds = {name: kind for kind, name in names}
    topics = {*topics, *(name for name, kind in kinds.items() if kind == "t")}
    hosts = [name for name, kind in kinds.items() if kind == "h"]
    partitions = {name for name in hosts if (match := _OF_PARTITION.fullmatch(name)) and match["topic"] in topics}
    return {name: kind for name, kind in kinds.items() if name not in partitions} | dict.fromkeys(topics, "t")


def pseudonyms(key: bytes, kinds: Mapping[str, str]) -> dict[str, str]:
    """What each name becomes, also as Kafka writes it in ZooKeeper's paths and names of metrics (`CN%3Dalice`)."""
    words = {name: pseudonym(key, kind, name) for name, kind in kinds.items()}
    return {quote(name, safe=""): words[name] for name, kind in kinds.items() if kind in "pc"} | words


def pseudonym(key: bytes, kind: str, name: str) -> str:
    """What a name of a kind becomes; Kafka's own topics (`__consumer_offsets`) stay."""
    if kind == "t" and name.startswith("__"):
        return name
    if kind == "d" and "/" in name:
        return "/".join(_folder_pseudonym(key, part) for part in name.split("/"))
    digest = hashlib.blake2b(name.encode("utf-8", "surrogateescape"), key=key[:64], digest_size=6)
    return f"{kind}{digest.hexdigest()}"


def _folder_pseudonym(key: bytes, part: str) -> str:
    """What a part of a path becomes: in `pay-0` what stands before the number is the topic, or looks like one."""
    if not _is_name(part) or part.isdigit():
        return part
    partition = _OF_PARTITION.fullmatch(part)
    return pseudonym(key, "t", partition["topic"]) + partition["rest"] if partition else pseudonym(key, "d", part)


class Redaction:
    """Replaces names. `names`: kind by name, `t` for topics; Kafka's own topics (`__consumer_offsets`) stay.

    >>> redaction = Redaction(b"key", {"pay-in": "t", "k1.pay": "h"})
    >>> redaction.text("Partition pay-in-0 led by k1.pay:9092") == (
    ...     f"Partition {redaction.name('pay-in')}-0 led by {redaction.name('k1.pay')}:9092")
    True
    """

    def __init__(self, key: bytes, names: Mapping[str, str]) -> None:
        self._names = pseudonyms(key, names)
        lengths: dict[str, set[int]] = {}
        for name in self._names:
            pieces = _PIECE.findall(name)
            lengths.setdefault(pieces[0], set()).add(len(pieces))
        self._lengths = {first: sorted(those, reverse=True) for first, those in lengths.items()}

    def name(self, name: str) -> str:
        """What a name becomes; itself if it is none of the names."""
        return self._names.get(name, name)

    def text(self, text: str) -> str:
        """A text with the longest names in it replaced, from its begin on."""
        if not self._names:
            return text
        pieces = _PIECE.findall(text)
        parts: list[str] = []
        at = 0
        while at < len(pieces):
            lengths = self._lengths.get(pieces[at], ())
            end = next((at + length for length in lengths if self._is_whole(pieces, at, at + length)), None)
            parts.append(pieces[at] if end is None else self._names["".join(pieces[at:end])])
            at = at + 1 if end is None else end
        return "".join(parts)

    def _is_whole(self, pieces: list[str], begin: int, end: int) -> bool:
        """Whether some pieces of a text are a name; a number is one only as a whole word, else none would stay."""
        name = "".join(pieces[begin:end])
        if name not in self._names:
            return False
        beside = {*pieces[max(begin - 1, 0) : begin], *pieces[end : end + 1]}
        return not name.isdigit() or not beside & _JOINS
