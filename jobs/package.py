"""The zip that spark-submit gives to driver and executors: `python -m jobs.package build/kafka-rewind.zip`.

It holds the packages that setup.cfg names, and the distribution's metadata, so that a run from it knows its version.
Same sources, same bytes: nothing in it tells when or where it was made.
"""

from __future__ import annotations

import os
import sys
from configparser import ConfigParser
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from udfs.streams import BadInput

ROOT = Path(__file__).resolve().parents[1]
USAGE = "usage: python -m jobs.package OUT.zip"


def sources(root: Path = ROOT) -> dict[str, bytes]:
    """What goes into the zip: content by name, sorted. Raises BadInput outside a checkout."""
    setup = ConfigParser()
    if not setup.read(root / "setup.cfg"):
        raise BadInput(f"There is no setup.cfg in {root}; build the zip in a checkout of Kafka Rewind.")
    packages = sorted({name.split(".")[0] for name in setup["options.packages.find"]["include"].split()})
    files = [path for package in packages for path in (root / package).rglob("*.py")]
    found = {path.relative_to(root).as_posix(): path.read_bytes() for path in files}
    told = setup["metadata"]
    metadata = f"Metadata-Version: 2.1\nName: {told['name']}\nVersion: {told['version']}\n"
    found[f"{told['name'].replace('-', '_')}-{told['version']}.dist-info/METADATA"] = metadata.encode()
    return dict(sorted(found.items()))


def build(out: Path, root: Path = ROOT) -> int:
    """Write the zip, whole or not at all; the number of files in it. Raises BadInput."""
    content = sources(root)
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(out.name + ".part")
    with ZipFile(part, "w", ZIP_DEFLATED) as archive:
        for name, data in content.items():
            entry = ZipInfo(name)  # of 1980, the zip format's zero
            entry.compress_type = ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    os.replace(part, out)
    return len(content)


def main(arguments: list[str]) -> int:
    """Build the zip that the only argument names; the exit code."""
    if len(arguments) != 1 or not arguments[0].endswith(".zip"):
        print(USAGE, file=sys.stderr)  # spark-submit tells what a Python archive is by its name
        return 2
    try:
        number = build(Path(arguments[0]))
    except (BadInput, OSError) as error:
        print(f"kafka-rewind: {error}", file=sys.stderr)
        return 2
    print(f"{arguments[0]}: {number} files")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
