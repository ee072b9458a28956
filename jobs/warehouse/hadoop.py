"""Files of a warehouse that Spark alone reaches, by Hadoop's file systems: as the cluster is configured for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError

from jobs.warehouse.location import spark_path
from udfs.errors import Failed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CONDITIONAL = "fs.option.create.conditional.overwrite"
"""Hadoop's option for stores that write a file as they close it (S3): only then they look whether there is one, and in
the same step. Others ignore it, and look when they create it."""


class HadoopFolder:
    """A folder in some file system that Hadoop knows. Raises Failed, one sentence, where it cannot be reached."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._path, self._java = path, spark._jvm
        configuration = spark._jsparkSession.sessionState().newHadoopConf()
        try:
            self._folder = self._hadoop.Path(spark_path(path))
            self._files = self._folder.getFileSystem(configuration)
        except Py4JJavaError as error:
            raise unreachable(path, error) from None

    @property
    def _hadoop(self) -> Any:
        java: Any = self._java
        return java.org.apache.hadoop.fs

    def names(self, folder: str = "") -> list[str]:
        """Names of what is in it, or in a folder of it; none if there is no such folder."""
        path = self._at(folder) if folder else self._folder
        try:
            return [entry.getPath().getName() for entry in self._files.listStatus(path)]
        except Py4JJavaError as error:
            if _is_missing(error):
                return []
            raise unreachable(self._path, error) from None

    def create(self, name: str, text: str) -> bool:
        """Write a file that is not there yet; False if there is one, which stays as it is."""
        try:
            builder = self._files.createFile(self._at(name)).overwrite(False).recursive()
            self._fill(builder.opt(_CONDITIONAL, "true").build(), text)
        except Py4JJavaError as error:
            if self._files.exists(self._at(name)):
                return False
            raise unreachable(self._path, error) from None
        return True

    def overwrite(self, name: str, text: str) -> None:
        """Write a file, whether it is there or not."""
        try:
            self._fill(self._files.create(self._at(name), True), text)
        except Py4JJavaError as error:
            raise unreachable(self._path, error) from None

    def read(self, name: str) -> tuple[str, int] | None:
        """The text of a small file, and when it was written by the store's clock, in ms; None if there is none."""
        try:
            written_ms = int(self._files.getFileStatus(self._at(name)).getModificationTime())
            stream = self._files.open(self._at(name))
            try:
                return bytes(stream.readAllBytes()).decode("utf-8", "replace"), written_ms
            finally:
                stream.close()
        except Py4JJavaError as error:
            if _is_missing(error):
                return None
            raise unreachable(self._path, error) from None

    def delete(self, name: str) -> None:
        """Remove a file; nothing happens if it is gone."""
        try:
            self._files.delete(self._at(name), False)
        except Py4JJavaError as error:
            raise unreachable(self._path, error) from None

    def _at(self, name: str) -> Any:
        return self._hadoop.Path(self._folder, name)

    def _fill(self, stream: Any, text: str) -> None:
        stream.write(bytearray(text.encode()))
        stream.close()


def _is_missing(error: Py4JJavaError) -> bool:
    return "FileNotFoundException" in str(error.java_exception.getClass().getName())


def unreachable(path: str, error: Py4JJavaError) -> Failed:
    """What to raise for a file system that Hadoop does not know, or that refuses or does not answer."""
    lines = [line.strip() for line in str(error.java_exception.toString()).splitlines() if line.strip()]
    why = lines[0].rpartition("Exception: ")[2].rstrip(".") if lines else "no reason is given"
    return Failed(
        f"The warehouse cannot be reached by Spark: {path} ({why}); docs/how-to-stores.md has what each store needs."
    )
