"""Tars that may be damaged: `tarfile` with what it does not report. Imported where a tar is met."""

from __future__ import annotations

import tarfile
from typing import Any, BinaryIO, Self, cast

_PIECE = 1 << 20  # bytes read at once; names are shorter


class Entry(tarfile.TarInfo):
    """A tar header that reports invalid headers to its archive."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """As in the base class, but names of megabytes are refused: they would be read into memory."""
        entry = super().frombuf(buf, encoding, errors)
        extended = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)
        if entry.size < 0 or (
            entry.size > _PIECE and entry.type in (*extended, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
        ):
            raise tarfile.HeaderError("bad size")
        return entry

    @classmethod
    def fromtarfile(cls, tarfile: Any) -> Self:
        """As in the base class."""
        try:
            entry = super().fromtarfile(tarfile)
        except Exception as error:
            tarfile.met(error)
            raise
        tarfile.ended = False
        return entry


class Tar(tarfile.TarFile):
    """A tar that knows whether it came to its end mark, and how many blocks of it were none of its own."""

    ended = False
    odd_blocks = 0

    @classmethod
    def of(cls, stream: BinaryIO, seekable: bool) -> Tar:
        """A tar of a stream, which is read forward only unless it is seekable."""
        mode = "r:" if seekable else "r|"
        open_tar: Any = cls.open
        opened = open_tar(fileobj=stream, mode=mode, tarinfo=Entry, ignore_zeros=True, bufsize=_PIECE)
        return cast(Tar, opened)

    def met(self, error: Exception) -> None:
        """Note what stood where a header should."""
        kind = type(error).__name__  # tarfile does not export them
        if kind == "EOFHeaderError":
            self.ended = True
        elif kind not in ("EmptyHeaderError", "TruncatedHeaderError"):
            self.odd_blocks += 1
