"""The files that a merge is given: names, folders, globs, a regular expression; each opened for a look."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from jobs.merge.inputs import Inputs
from jobs.merge.log import PACKED, Log, counted, first_look, identity_of
from jobs.merge.request import Options
from udfs.errors import BadInput
from udfs.logs.paths import name_on_disk, printable


def paths_of(inputs: Inputs, options: Options) -> list[str]:
    """Paths of all files that are given, in that order; `-` is standard input.

    Raises BadInput for what `--logs` names and is not there; of a plain argument it is said, and the others are merged.
    """
    required = [path for text in options.logs for path in _split(text)]
    for path in required:
        if not os.path.lexists(path):
            raise BadInput(f"This file does not exist: {printable(path)}; nothing was merged.")
        if os.path.isdir(path):
            raise BadInput(f"This is a folder: {printable(path)}; give it without --logs to merge the logs in it.")
    if options.logs_regex is not None:
        required += _matching(inputs, options.logs_regex)
    return required + [path for argument in options.paths for path in _under(inputs, argument)]


def _split(text: str) -> list[str]:
    """The names in `A,B`, without blanks around them; a comma at the end is fine. A glob is what it matches."""
    parts = text.split(",")
    names: list[str] = []
    for part in parts[:-1] if len(parts) > 1 and not parts[-1] else parts:
        name = part if os.path.lexists(part) else part.strip()
        if not name:
            raise BadInput(f"--logs {text!r} has an empty name; give files, with commas between them.")
        names += _globbed(name) or [name]
    return names


def _globbed(name: str) -> list[str]:
    import glob

    if os.path.lexists(name) or not glob.has_magic(name):
        return []
    return sorted(path for path in glob.glob(name, recursive=True) if not os.path.isdir(path))


def _matching(inputs: Inputs, text: str) -> list[str]:
    """Files of one folder in whose names the regular expression matches anywhere; hidden ones too, by name."""
    folder, slash, pattern = text.rpartition("/")
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise BadInput(
            f"--logs-regex {text!r}: {pattern!r} is no regular expression ({error}); a glob can be given without it."
        ) from None
    try:
        names = sorted(os.listdir(folder or slash or "."))
    except OSError as error:
        raise BadInput(f"--logs-regex {text!r}: this folder cannot be read: {folder} ({error.strerror}).") from None
    paths = [f"{folder}{slash}{name}" for name in names if compiled.search(name)]
    files = [path for path in paths if not os.path.isdir(path)]
    inputs.say(
        f"--logs-regex matches {counted(len(files), 'file')}{': ' if files else ''}{', '.join(map(printable, files))}"
    )
    return files


def _under(inputs: Inputs, argument: str) -> list[str]:
    """The files of one plain argument."""
    if argument == "-" or _is_pipe(argument):
        return [argument]
    if os.path.isfile(argument):
        return [argument]
    from udfs.logs.paths import find, unreadable

    paths = []
    try:
        for source in find([argument]):
            if _is_pipe(source.path):  # nobody may ever write to it
                inputs.trouble(unreadable(source.path) or "")
            else:
                paths.append(source.path)
    except BadInput as error:
        inputs.trouble(str(error))
    return paths


def _is_pipe(path: str) -> bool:
    import stat

    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def _is_endless(path: str) -> bool:
    """Whether a path is that of a device that is neither a terminal nor empty: reading it may never end."""
    import stat

    try:
        about = os.stat(path)
    except OSError:
        return False
    if not stat.S_ISCHR(about.st_mode) or about.st_rdev == os.stat(os.devnull).st_rdev:
        return False
    with suppress(OSError), open(path, "rb", buffering=0) as device:
        return not device.isatty()
    return True


def single_logs(inputs: Inputs, paths: Iterable[str]) -> tuple[list[Log], list[str]]:
    """Single streams, opened for a look, and the paths of bundles, which are read member by member later.

    Raises Failed if there is no room for a copy of standard input.
    """
    logs: list[Log] = []
    bundles: list[str] = []
    for argument in paths:
        path, name, held = name_on_disk(argument), printable(argument), None
        if _is_endless(path):
            inputs.trouble(f"This is a device: {name}; give log files. The others are merged.")
            continue
        try:
            if argument == "-" or _is_pipe(argument):
                name = "standard input" if argument == "-" else name
                path = inputs.spool(argument)
            with open(path, "rb", buffering=0) as file:
                size, identity = os.fstat(file.fileno()).st_size, identity_of(file)
                _, sample = first_look(file)
                is_plain = not sample.startswith(PACKED) and sample[257:262] != b"ustar"
                held = inputs.hold(file.fileno()) if is_plain else None
        except OSError as error:
            inputs.trouble(f"This file cannot be read: {name} ({error.strerror}); the others are merged.")
            continue
        if is_plain:
            logs.append(Log(name, path, True, False, sample, size, identity, held))
        else:
            _look_into(inputs, name, path, logs, bundles)
    return logs, bundles


def _look_into(inputs: Inputs, name: str, path: str, logs: list[Log], bundles: list[str]) -> None:
    """What is in a compressed file: one stream, those of a bundle, or nothing that can be read."""
    from udfs.logs.sources import Opened, walk_bundle

    first = next(iter(walk_bundle(path)), None)
    if isinstance(first, Opened) and first.source.member == "":
        about = os.stat(path)
        identity = (about.st_dev, about.st_ino)
        log = Log(name, path, first.seekable, False, b"", about.st_size if first.seekable else 0, identity)
        with inputs.guarded(log), log.open() as stream, inputs.guarded(log, stream):
            log = replace(log, sample=first_look(stream)[1])
        logs.append(log)
    elif first is not None and first.source.member == "" and not isinstance(first, Opened):
        inputs.trouble(first.sentence)
    elif path not in bundles or inputs.keeps_duplicates:
        bundles.append(path)
