"""Reports of the warehouse of answers for tests, and what a browser makes of them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from jobs.cli import main
from tests.answers_warehouse import CONTROLLER, SERVER, proof, row

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

needs_browser = pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed")
INCIDENT = row(
    incident_id="i", severity="critical", title="Broker 1 crashed", since="10:05:00", until="10:06:00",
    partitions_affected=1, leaderless_partition_minutes=1.0, story="Broker 1 crashed [1]. It came back [2]. See [3].",
    evidence=proof((CONTROLLER, 30), (SERVER, 21)), steps=[],
)  # fmt: skip


def report(root: Path, output: Path) -> str:
    result = CliRunner().invoke(main, ["report", "-o", str(output), "--warehouse", str(root)], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith(f"Wrote {output} (")
    return output.read_text()


def values(page: str) -> dict[str, Any]:
    """What the page's script reads."""
    data: dict[str, Any] = json.loads(re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)[0])
    return data


def browse(page: str, folder: Path, script: str = "") -> str:
    """The page as a browser has it, after its own scripts and one of the test's (that the page's policy would stop)."""
    if script:
        page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
        page = page.replace("</body>", f"<script>{script}</script></body>")
    path = folder / "page.html"
    path.write_text(page)
    assert BROWSER is not None
    quiet = ["--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000", "--dump-dom"]
    command = [BROWSER, *quiet, f"--user-data-dir={folder / 'profile'}", path.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def steps_of(page: str, folder: Path, script: str) -> Any:
    """What a script in the page puts into `steps`."""
    box = '{id: "steps", textContent: JSON.stringify(steps)}'
    end = f'document.body.append(Object.assign(document.createElement("pre"), {box}));'
    dom = browse(page, folder, f"const steps = {{}};\n{script}\n{end}")
    return json.loads(unescape(re.findall(r'<pre id="steps">(.*?)</pre>', dom, re.DOTALL)[0]))
