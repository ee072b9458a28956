"""`--warehouse`, the same for every command."""

from __future__ import annotations

import click

warehouse_option = click.option(
    "--warehouse",
    "root",
    default="./warehouse",
    show_default=True,
    help="Folder or URL of the tables, or catalog.schema.",
)
