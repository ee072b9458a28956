"""The time that an option of a command means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from udfs.merge.times import Moment


def moment_option_value(text: str, option: str = "--at") -> Moment:
    """The time that an option means. Raises UsageError."""
    from udfs.merge.times import TIME_EXAMPLES, moment

    try:
        asked = moment(text)
    except ValueError as error:
        raise click.UsageError(f"{option} {error}.") from None
    if asked is None:
        raise click.UsageError(f"{option} {text!r} is no time that is understood; give one such as {TIME_EXAMPLES}.")
    return asked
