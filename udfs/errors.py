"""What ends a command in one sentence, by whose matter it is. Imports nothing, so that every floor can raise it."""


class BadInput(Exception):
    """An input, an option or a setting that cannot be used. The text is one sentence for the user; exit code 2."""


class Failed(Exception):
    """Something other than the input failed: the machine, or another run. One sentence for the user; exit code 4."""


class FileChanged(Failed):
    """A file was cut, replaced or removed after it was surveyed."""


class NoJava(Failed):
    """There is no Java that can run Spark."""


class NoSpark(Failed):
    """There is no Spark session, or it cannot read and write Delta tables."""
