"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
WITH_EXAMPLES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for folder in ("schemas", "udfs", "jobs")
    for path in (ROOT / folder).rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


def test_there_are_examples_in_every_room() -> None:
    rooms = {module.split(".")[1] for module in WITH_EXAMPLES if module.startswith("udfs.")}
    assert {"rules", "logs", "kafka", "reconstruct"} <= rooms


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples(module: str) -> None:
    failed, tried = doctest.testmod(import_module(module))
    assert failed == 0
    assert tried > 0
