"""The wheel in empty virtual environments: `merge` with nothing else, reading with `[read]`, a night with `[spark]`.

`python tests/proofs/prove_wheel.py [--no-spark]`. Each environment has the wheel and what pip finds that it needs; the
commands run outside the checkout. Prints each with its seconds, and how many megabytes the environment has.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / "data" / "zk-2.4.1" / "logs"


def run(environment: Path, folder: Path, *arguments: str, expected: int = 0) -> str:
    """A program of an environment, in a folder without the checkout; its output. Exits if its exit code is another."""
    begun = time.monotonic()
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    clean["PATH"] = f"{environment / 'bin'}:{clean['PATH']}"
    command = [str(environment / "bin" / arguments[0]), *arguments[1:]]
    done = subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, check=False)
    shown = " ".join(arguments)
    print(f"  {shown[:90]:<92} {time.monotonic() - begun:6.1f} s  exit {done.returncode}", flush=True)
    if done.returncode != expected:
        sys.exit(f"{shown}\n{done.stdout}\n{done.stderr}")
    return done.stdout + done.stderr


def environment_with(folder: Path, wheel: Path, extra: str) -> Path:
    """A new environment with the wheel and an extra."""
    path = folder / f"env-{extra or 'plain'}"
    venv.create(path, with_pip=True)
    print(f"pip install {wheel.name}{f'[{extra}]' if extra else ''}")
    run(path, folder, "pip", "install", "-q", f"{wheel}[{extra}]" if extra else str(wheel))
    size = sum(f.stat().st_size for f in path.rglob("*") if f.is_file() and not f.is_symlink())
    print(f"  {size / 1e6:,.0f} MB")
    return path


def main(arguments: list[str]) -> int:
    """The exit code."""
    from jobs.package import build

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build(folder)
        plain = environment_with(folder, wheel, "")
        assert run(plain, folder, "kafka-rewind", "--version").startswith("kafka-rewind 0")
        assert "Changed partition" in run(plain, folder, "kafka-rewind", "merge", str(LOGS), "--topic", "payments")
        assert "kafka-rewind[read]" in run(plain, folder, "kafka-rewind", "tables", "--warehouse", ".", expected=4)
        read = environment_with(folder, wheel, "read")
        assert "kafka-rewind[spark]" in run(
            read, folder, "kafka-rewind", "nightly", str(LOGS), "--warehouse", "w", expected=4
        )
        if "--no-spark" not in arguments:
            spark = environment_with(folder, wheel, "spark")
            run(spark, folder, "kafka-rewind", "nightly", str(LOGS), "--warehouse", "w")
            for command in (["tables"], ["sql", "SELECT count(*) FROM elections"], ["describe", "--at", "11:47:40"]):
                run(read, folder, "kafka-rewind", *command, "--warehouse", "w")
    print("the wheel works")
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main(sys.argv[1:]))
