"""Makes broker logs of any size out of a small real capture: `generate_logs.py OUT_DIR --size-mb N [--source DIR]`.

Each log file of the source is written again and again, as a *copy* of itself, under the same relative name. A copy
keeps every record kind, its length, its continuation lines and its place in the mix, so figures taken on the output
are figures of real logs. It changes what would otherwise repeat:

- days: copy n lies n times the source's span later, so each file stays in time order;
- topics: each copy has its own, of different lengths (`orders-x3`, `orders-eu.7`);
- broker ids, in id lists too; correlation ids; controller epochs.

What cannot be distinguished from other text (a host's port, a session id) stays as it is. The output depends on nothing
but source and size. Memory holds the source once; the output is streamed, so 5 GB is a matter of time (about 10 s).
"""

import argparse
import re
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

CAPTURE = Path(__file__).parents[2] / "data" / "zk-2.4.1"

TOPIC = re.compile(rb"topicName='([^']+)'|\bpartition ([\w.-]+)-\d+\b|\[Partition ([\w.-]+)-\d+ ")
DAY = re.compile(rb"^\[(20\d\d-\d\d-\d\d) ", re.MULTILINE)
SUFFIXES = (b"%d", b"-x%d", b"-eu.%d", b"_very-long-name.of-a-topic.v%d", b".%d")

# Groups are named after what they are; what stands around them is matched but stays.
VARIED = (
    rb"^\[(?P<day>20\d\d-\d\d-\d\d)(?= \d\d:)",
    rb"(?<=correlation id )(?P<correlation>\d+)|(?<=correlationId )(?P<correlation_0_10>\d+)",
    rb"(?<=controllerEpoch=)(?P<controller_epoch>\d+)|(?<=\d epoch[ =])(?P<controller_epoch_text>\d+)",
    rb"(?<=isr=\[)(?P<ids_bracketed>\d[\d, ]*)(?=\])|(?<=List\()(?P<ids_listed>\d[\d, ]*)(?=\))",
    rb"(?<=icas=\[)(?P<ids_assigned>\d[\d, ]*)(?=\])|(?<=Set\()(?P<ids_of_set>\d[\d, ]*)(?=\))",
    rb"(?<=\bleader[ =])(?P<id_of_leader>\d+)|(?<=\bbroker )(?P<id_of_broker>\d+)(?![\d.:])",
    rb"(?<=\bcontroller )(?P<id_of_controller>\d+)|(?<=\breplica )(?P<id_of_replica>\d+)",
    rb"(?<=(?:roller|Broker) id=)(?P<id_of_actor>\d+)|(?<=[^\w]id: )(?P<id_of_node>\d+)(?= rack)",
)


def vary(what: str, text: bytes, copy: int, days: int) -> bytes:
    """The text as it stands in a copy; copy 0 is the source itself.

    >>> vary("ids_listed", b"1, 2", copy=1, days=1), vary("day", b"2024-02-28", copy=2, days=1)
    (b'101, 102', b'2024-03-01')
    """
    if copy == 0:
        return text
    if what == "day":
        return (date.fromisoformat(text.decode()) + timedelta(days=copy * days)).isoformat().encode()
    if what == "topic":
        suffix = SUFFIXES[copy % len(SUFFIXES)]
        return text + suffix % copy
    if what.startswith("id"):
        return re.sub(rb"\d+", lambda id_: b"%d" % (int(id_[0]) + copy % 4 * 100), text)
    step = {"correlation": 1009, "controller_epoch": 20}
    return b"%d" % (int(text) + copy * next(by for name, by in step.items() if what.startswith(name)))


class Template:
    """One source file, cut into the parts that stay and the parts that vary, each different part kept once."""

    def __init__(self, text: bytes, varied: re.Pattern[bytes]) -> None:
        numbers: dict[tuple[str | None, bytes], int] = {}
        self.order: list[int] = []
        end = 0
        for match in varied.finditer(text):
            for part in ((None, text[end : match.start()]), (match.lastgroup, match[0].removeprefix(b"["))):
                if part[0] == "day":
                    self.order.append(numbers.setdefault((None, b"["), len(numbers)))
                self.order.append(numbers.setdefault(part, len(numbers)))
            end = match.end()
        self.order.append(numbers.setdefault((None, text[end:]), len(numbers)))
        self.parts = list(numbers)

    def copy(self, number: int, days: int) -> bytes:
        """The file as it stands in a copy."""
        parts = [text if what is None else vary(what, text, number, days) for what, text in self.parts]
        return b"".join([parts[part] for part in self.order])


def copies(source: Path) -> Iterator[tuple[Path, bytes]]:
    """Relative name and content of each file of copy 0, then of copy 1, and so on without end."""
    texts = {path.relative_to(source): path.read_bytes() for path in sorted(source.rglob("*.log"))}
    if not texts:
        raise ValueError(f"{source}: expected a folder with *.log files in it, found none")
    topics = {name for text in texts.values() for names in TOPIC.findall(text) for name in names if name}
    named = b"|".join(re.escape(name) for name in sorted(topics, key=lambda name: (-len(name), name)))
    topic = rb"(?<![\w.-])(?P<topic>%s)(?=-\d|[',]|$)" % named
    varied = re.compile(b"|".join((*VARIED, topic) if topics else VARIED), re.MULTILINE)
    dates = [date.fromisoformat(day.decode()) for text in texts.values() for day in set(DAY.findall(text))]
    days = (max(dates) - min(dates)).days + 1 if dates else 1
    templates = {name: Template(text, varied) for name, text in texts.items()}
    number = 0
    while True:
        for name, template in templates.items():
            yield name, template.copy(number, days)
        number += 1


def generate(source: Path, out: Path, size: int) -> int:
    """Writes whole copies below `out` until they hold at least `size` bytes; returns how many bytes that were.

    Files that are there already are replaced.
    """
    files = {}
    written = 0
    try:
        for name, text in copies(source):
            if name not in files:
                (out / name).parent.mkdir(parents=True, exist_ok=True)
                files[name] = (out / name).open("wb")
            elif written >= size and name == next(iter(files)):
                return written
            files[name].write(text)
            written += len(text)
    finally:
        for file in files.values():
            file.close()
    return written


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description="Make broker logs of any size out of a small real capture.")
    parser.add_argument("out", type=Path, metavar="OUT_DIR", help="folder to write to; made if it is not there")
    parser.add_argument("--size-mb", type=int, required=True, help="least size of all files together, in 10^6 bytes")
    parser.add_argument("--source", type=Path, default=CAPTURE, help="folder with *.log files at any depth")
    asked = parser.parse_args()
    print(f"{generate(asked.source, asked.out, asked.size_mb * 10**6)} bytes in {asked.out}")


if __name__ == "__main__":
    main()
