"""Help that says of each command what it does, whole, where click cuts what is longer than a line."""

from __future__ import annotations

import click


class WholeHelp(click.Group):
    """A group whose help has the whole first sentence of each command's."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands in the order of their names, a sentence on each, wrapped."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        rows = [
            (name, command.get_short_help_str(limit=1000))
            for name, command in commands.items()
            if command is not None and not command.hidden
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
