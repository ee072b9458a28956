"""Whether there is a Java that can run Spark."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from udfs.errors import NoJava

JAVA_NEEDED = "Kafka Rewind needs Java 17 or later to run Spark; install a JDK or JRE 17 and set JAVA_HOME to it."


def check_java() -> None:
    """Raises NoJava unless the `java` that Spark would start is release 17 or later."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if not java or not os.access(java, os.X_OK):
        raise NoJava(JAVA_NEEDED)
    output = subprocess.run([java, "-version"], capture_output=True, check=False).stderr.decode("utf-8", "replace")
    release = re.search(r'version "(?:1\.)?(\d+)', output)
    if release is None or int(release[1]) < 17:
        raise NoJava(JAVA_NEEDED)
