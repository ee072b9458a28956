"""The archive that a cluster gets: `python -m jobs.package build/kafka-rewind.zip` for spark-submit's --py-files, or
`python -m jobs.package build` for the wheel of a Databricks job.

Both hold the packages that setup.cfg names and the distribution's metadata, so that a run knows its version. By itself
it requires nothing large: a cluster brings its own Spark, and pip would put another beside it; who has none asks for
the extra `spark` or `read`. Same sources, same bytes: nothing in it tells when or where it was made.
"""

from __future__ import annotations

import hashlib
import os
import sys
from base64 import urlsafe_b64encode
from configparser import ConfigParser
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from udfs.errors import BadInput

ROOT = Path(__file__).resolve().parents[1]
COMMAND_EXTRAS = ("read", "spark")
"""Extras of which a checkout has all, and a wheel what is asked for."""
RESOURCES = (".css", ".js")
"""What modules read besides: setup.cfg's package_data names the same."""
USAGE = "usage: python -m jobs.package OUT.zip | FOLDER (for a wheel, whose name pip prescribes)"


def sources(root: Path = ROOT) -> dict[str, bytes]:
    """What goes into the archive: content by name, sorted, RECORD last. Raises BadInput outside a checkout."""
    setup = _setup(root)
    packages = sorted({name.split(".")[0] for name in setup["options.packages.find"]["include"].split()})
    files = sorted(
        path for package in packages for path in (root / package).rglob("*") if path.suffix in (".py", *RESOURCES)
    )
    content = {path.relative_to(root).as_posix(): path.read_bytes() for path in files}
    info = f"{_stem(setup)}.dist-info"
    about = {
        "METADATA": _metadata(setup, (root / "README.md").read_text(encoding="utf-8")),
        "WHEEL": "Wheel-Version: 1.0\nGenerator: jobs.package\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "entry_points.txt": f"[console_scripts]\n{_lined(setup['options.entry_points']['console_scripts'])}",
    }
    content |= {f"{info}/{name}": text.encode() for name, text in about.items()}
    record = "".join(f"{name},sha256={_digest(data)},{len(data)}\n" for name, data in content.items())
    return {**content, f"{info}/RECORD": f"{record}{info}/RECORD,,\n".encode()}


def _metadata(setup: ConfigParser, readme: str) -> str:
    """What setup.cfg says of the distribution, as pip reads it."""
    metadata, extras = setup["metadata"], setup["options.extras_require"]
    of_commands = {requirement for extra in COMMAND_EXTRAS for requirement in _lines(extras[extra])}
    required = [name for name in _lines(setup["options"]["install_requires"]) if name not in of_commands]
    fields = [
        ("Metadata-Version", "2.1"),
        ("Name", metadata["name"]),
        ("Version", metadata["version"]),
        ("Summary", metadata["description"]),
        ("License", metadata["license"]),
        ("Requires-Python", setup["options"]["python_requires"]),
        *(("Requires-Dist", requirement) for requirement in required),
    ]
    for extra in extras:
        fields.append(("Provides-Extra", extra))
        fields += [("Requires-Dist", f'{requirement}; extra == "{extra}"') for requirement in _lines(extras[extra])]
    fields.append(("Description-Content-Type", metadata["long_description_content_type"]))
    return "".join(f"{name}: {value}\n" for name, value in fields) + f"\n{readme}"


def _lined(text: str) -> str:
    return "".join(f"{line}\n" for line in _lines(text))


def _lines(text: str) -> list[str]:
    """Requirements, a line each."""
    return [line for line in map(str.strip, text.splitlines()) if line and not line.startswith("#")]


def build(out: Path, root: Path = ROOT) -> Path:
    """Write the archive, whole or not at all: a `.zip` as named, else a wheel in the folder. Its path."""
    content = sources(root)
    if out.suffix != ".zip":
        out = out / f"{_stem(_setup(root))}-py3-none-any.whl"
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(f"{out.name}.part")
    with ZipFile(part, "w") as archive:
        for name, data in content.items():
            entry = ZipInfo(name)  # its time is 1980, the format's zero
            entry.compress_type = ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    os.replace(part, out)
    return out


def _setup(root: Path) -> ConfigParser:
    setup = ConfigParser()
    if not setup.read(root / "setup.cfg"):
        raise BadInput(f"There is no setup.cfg in {root}; build the archive in a checkout of Kafka Rewind.")
    return setup


def _stem(setup: ConfigParser) -> str:
    """Name and version as a wheel spells them: `kafka_rewind-0.2.0`."""
    return f"{setup['metadata']['name'].replace('-', '_')}-{setup['metadata']['version']}"


def _digest(data: bytes) -> str:
    """A file's hash as RECORD spells it."""
    return urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


def main(arguments: list[str]) -> int:
    """Build what the only argument names; the exit code."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(USAGE, file=sys.stderr)
        return 2
    try:
        print(build(Path(arguments[0])))
    except (BadInput, OSError) as error:
        print(f"kafka-rewind: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
