"""Paths and URLs on the command line, and `--warehouse`, the same for every command."""

from __future__ import annotations

from typing import Any

import click


class NamedPath(click.Path):
    """A path, glob or URL as it was given; shells complete names of files, or of folders if `is_folder`.

    An empty one is refused: it comes from a variable that is not set, and `--warehouse` would be the current folder.
    """

    def __init__(self, *, is_folder: bool = False) -> None:
        super().__init__(file_okay=not is_folder, path_type=str)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The text of a path. Raises BadParameter if it is blank."""
        if not str(value).strip():
            self.fail("the path is empty", param, ctx)
        return value


PATH, FOLDER = NamedPath(), NamedPath(is_folder=True)

warehouse_option = click.option(
    "--warehouse",
    "root",
    type=FOLDER,
    default="./warehouse",
    show_default=True,
    help="Folder or URL of the tables, or catalog.schema.",
)
