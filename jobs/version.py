"""Which Kafka Rewind this is. Imports nothing of ours."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def product_version() -> str:
    """Version of the installed distribution; `unknown` when it runs from a bare zip."""
    try:
        return version("kafka-rewind")
    except PackageNotFoundError:
        return "unknown"
