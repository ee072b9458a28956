"""Kafka releases, protocol versions and the eras in which a controller's algorithms stayed the same.

An era is keyed on the release of the *controller*, per controller epoch: in a rolling upgrade
it changes when the controller moves to another broker, not at a moment of the wall clock.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple


class Release(NamedTuple):
    """A Kafka release, ordered as released. A minor release stands for its first patch: `2.4` is 2.4.0."""

    major: int
    minor: int = 0
    patch: int = 0
    fix: int = 0  # fourth number, used before 1.0: 0.8.2.1

    @classmethod
    def parse(cls, text: str) -> "Release":
        """The release a log, jar or conf names; suffixes (`-SNAPSHOT`, `-rc1`, `-cp2`) do not count.

        >>> Release.parse("0.8.2.1") < Release.parse("0.10.0") < Release.parse("3.9.1-rc0") < Release.parse("trunk")
        True
        """
        if text.strip().lower() == "trunk":
            return TRUNK
        match = re.fullmatch(r"v?(\d+(?:\.\d+){0,3})(?:[-+][A-Za-z].*)?", text.strip())
        if not match:
            raise ValueError(f"Not a Kafka release: {text!r}; expected e.g. 0.8.2.1, 2.4, 3.9.1 or trunk")
        return cls(*(int(number) for number in match[1].split(".")))

    @property
    def line(self) -> "Release":
        """The minor release it is a patch of. Before 1.0 a minor release has three numbers (0.10.2)."""
        return Release(self.major, self.minor, 0 if self.major else self.patch)

    def __str__(self) -> str:
        if self == TRUNK:
            return "trunk"
        if not self.major:
            return f"0.{self.minor}.{self.patch}" + (f".{self.fix}" if self.fix else "")
        return f"{self.major}.{self.minor}" + (f".{self.patch}" if self.patch else "")


TRUNK = Release(sys.maxsize)

_MINOR = """
0.8.0 0.8.1 0.8.2 0.9 0.10.0 0.10.1 0.10.2 0.11 1.0 1.1 2.0 2.1 2.2 2.3 2.4 2.5 2.6 2.7 2.8
3.0 3.1 3.2 3.3 3.4 3.5 3.6 3.7 3.8 3.9 4.0 4.1 4.2 4.3 4.4
"""
MINOR_RELEASES = tuple(Release.parse(text) for text in _MINOR.split())


def releases_between(first: Release, last: Release) -> Iterator[Release]:
    """Each minor release from `first` to `last`, both included."""
    return (release for release in MINOR_RELEASES if first.line <= release <= last.line)


def common_range(ranges: Iterable[str | None]) -> str | None:
    """What version ranges (`2.4.0..`, `1.1.0..3.1.2`; None: any) leave; None if none names a release.

    Ranges that exclude each other, as in a rolling upgrade, leave the lowest release that the latest one allows.

    >>> [common_range(texts) for texts in (["1.1.0..3.1.2", "2.4.0..", None], ["2.4.0..2.8.1", "3.1.0.."])]
    ['2.4..3.1.2', '3.1']
    """
    bounds = [text.partition("..")[::2] for text in ranges if text]
    if not bounds:
        return None
    lowest = max(Release.parse(first) for first, _ in bounds)
    highest = min((Release.parse(last) for _, last in bounds if last), default=None)
    if highest is None:
        return f"{lowest}.."
    return f"{lowest}..{highest}" if highest > lowest else str(lowest)


def lowest_release(ranges: Iterable[str | None]) -> Release | None:
    """The lowest release that all version ranges allow; None if none names one.

    >>> str(lowest_release(["1.1.0..3.1.2", "2.4.0..", None]))
    '2.4'
    """
    versions = common_range(ranges)
    return None if versions is None else first_release(versions)


def first_release(versions: str) -> Release:
    """The release of a text, or the first one of a range: `2.4.1`, `2.4..`, `2.4..3.1.2`."""
    return Release.parse(versions.partition("..")[0])


def possible_releases(versions: str, *, kraft: bool) -> list[Release]:
    """The release of a text; of a range its first one, each later minor release and its last one, as far as they have a
    controller of that kind (with ZooKeeper until 3.9, KRaft from 2.8 on).

    >>> [str(release) for release in possible_releases("3.8.1..", kraft=False)]
    ['3.8.1', '3.9']
    >>> [str(release) for release in possible_releases("2.6.1..3.0.2", kraft=True)]
    ['2.8', '3.0', '3.0.2']
    """
    lowest, (_, is_range, last) = first_release(versions), versions.partition("..")
    if not is_range:
        return [lowest]
    highest = Release.parse(last) if last else MINOR_RELEASES[-1]
    possible = sorted({lowest, *(r for r in releases_between(lowest, highest) if r > lowest), highest})
    of_kind = [release for release in possible if (release >= Release(2, 8) if kraft else release < Release(4))]
    return of_kind or [lowest]


_APACHE = re.compile(r"(?:0\.\d{1,2}|[1-4])(?:\.\d{1,2}){1,3}(?:-SNAPSHOT|-rc\d+)?")


def printed_release(texts: Iterable[str | None]) -> Release | None:
    """The latest release that brokers print at their start (`Kafka version: 2.3.0`); None if there is none of Apache's.

    Distributions number their own (`7.3.0-ccs`, `2.5.0.7.1.7.0-551`): those say nothing here.

    >>> str(printed_release(["2.3.0", "7.3.0-ccs", "2.2.1", None]))
    '2.3'
    """
    releases = [Release.parse(text.strip()) for text in texts if text and _APACHE.fullmatch(text.strip())]
    return max(releases, default=None)


def printed_range(texts: Iterable[str | None]) -> str | None:
    """The release that brokers print at their starts; from the lowest to the highest if they print several, as in a
    rolling upgrade; None if they print none of Apache's.

    >>> [printed_range(texts) for texts in (["3.4.0", "3.4.0"], ["3.5.1", "3.4.0", "7.3.0-ccs"], ["7.3.0-ccs"])]
    ['3.4', '3.4..3.5.1', None]
    """
    releases = {release for text in texts if (release := printed_release([text])) is not None}
    if not releases:
        return None
    lowest, highest = min(releases), max(releases)
    return str(lowest) if lowest == highest else f"{lowest}..{highest}"


_METADATA_LEVELS = {
    7: "3.3", 8: "3.4", 11: "3.5", 14: "3.6", 19: "3.7", 20: "3.8", 21: "3.9", 25: "4.0", 27: "4.1", 29: "4.2",
    30: "4.3", 33: "4.4",
}  # fmt: skip
"""By level of the newest metadata version that a node supports the release that it runs
(`org.apache.kafka.server.common.MetadataVersion`: through 3.6 the last one, LATEST_PRODUCTION from then on)."""


def supporting_range(levels: Iterable[int | None]) -> str | None:
    """The release of nodes that register with the newest metadata version that they support, given as its level; from
    the lowest to the highest if they differ. None if no release has one of them, as one under development may.

    >>> [supporting_range(levels) for levels in ([27, 27], [27, 29], [27, 28], [None])]
    ['4.1', '4.1..4.2', None, None]
    """
    releases = [_METADATA_LEVELS.get(level) if level is not None else None for level in levels]
    return None if None in releases else printed_range(f"{release}.0" for release in releases)


class ProtocolVersion(NamedTuple):
    """An inter-broker protocol or metadata version, `3.6-IV0`. Without `-IV` it is the last one of its release."""

    release: Release
    iv: int

    @classmethod
    def parse(cls, text: str) -> "ProtocolVersion":
        """
        >>> ProtocolVersion.parse("2.7-IV1") < ProtocolVersion.parse("2.7")
        True
        """
        number, _, iv = text.strip().partition("-IV")
        if iv and not iv.isdecimal():
            raise ValueError(f"Not a protocol version: {text!r}; expected e.g. 2.7-IV2 or 3.6")
        return cls(Release.parse(number.removesuffix(".X")).line, int(iv) if iv else sys.maxsize)


class Era(StrEnum):
    """Spans of releases that decide alike; Z with ZooKeeper, K with KRaft."""

    Z0 = "Z0"  # 0.8.0: four replica states, no unclean switch, simple reassignment
    Z1 = "Z1"  # 0.8.1: topic deletion, seven replica states, automatic rebalance
    Z2 = "Z2"  # 0.8.2-0.9: unclean switch, leader by assignment order
    Z3 = "Z3"  # 0.10: racks, controlled shutdown by assignment order
    Z4 = "Z4"  # 0.11-1.0: one event thread, unclean off by default, log directory failure (1.0)
    Z5 = "Z5"  # 1.1-2.0: batched ZooKeeper access, elections as pure functions
    Z6 = "Z6"  # 2.1-2.3: writes fenced by controller epoch, broker epochs (2.2)
    Z7 = "Z7"  # 2.4-2.6: KIP-455 reassignment, KIP-460 election types
    Z8 = "Z8"  # 2.7-3.9: ISR changes through the controller (KIP-497)
    K0 = "K0"  # 2.8: early access, inline elections, which are not reproduced here
    K1 = "K1"  # 3.0-3.1: change builder
    K2 = "K2"  # 3.2-3.6: election kinds, recovery state
    K3 = "K3"  # 3.7-4.0: eligible leader replicas (KIP-966) in the code, off by default
    K4 = "K4"  # 4.1 on: eligible leader replicas on by default for new clusters


_SINCE = {
    "Z": ["0.8.0", "0.8.1", "0.8.2", "0.10.0", "0.11", "1.1", "2.1", "2.4", "2.7"],
    "K": ["2.8", "3.0", "3.2", "3.7", "4.1"],
}


def era_of(release: Release, *, kraft: bool) -> Era:
    """The era of a controller of that release. ZooKeeper mode is 0.8.0 to 3.9, KRaft 2.8 on; else ValueError."""
    mode = "K" if kraft else "Z"
    past = [number for number, since in enumerate(_SINCE[mode]) if Release.parse(since) <= release]
    if not past or (not kraft and release >= Release(4)):
        raise ValueError(f"Kafka {release} has no {'KRaft' if kraft else 'ZooKeeper'} controller we know")
    return Era(f"{mode}{past[-1]}")


def has_algorithm(release: Release, *, kraft: bool) -> bool:
    """Whether the elections of a controller of that release are reproduced here; if not, they cannot be judged.

    >>> has_algorithm(Release.parse("2.8"), kraft=False), has_algorithm(Release.parse("2.8"), kraft=True)
    (True, False)
    """
    try:
        return era_of(release, kraft=kraft) is not Era.K0
    except ValueError:
        return False


UNCLEAN_ON_REQUEST = Release(2, 4)
"""From here on an administrator can ask for an unclean election, whatever the setting (KIP-460)."""


def unclean_by_request(release: Release, strategy: str | None, trigger: str | None, *, kraft: bool) -> bool | None:
    """Whether an administrator asked for an unclean election, which needs no setting (KIP-460, 2.4 on); None unknown.

    A ZooKeeper controller logs what it does: an offline election that the Admin client triggers is such a one. KRaft's
    does not log requests.
    """
    if kraft:
        return None
    if release < UNCLEAN_ON_REQUEST or strategy not in (None, "offline"):
        return False
    return None if trigger is None else trigger == "admin" and strategy == "offline"
