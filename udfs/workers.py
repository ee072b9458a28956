"""What Spark's Python workers are spared while they work for us."""

from __future__ import annotations

import gc


def without_collector() -> None:
    """Turns the collector of cyclic garbage off in this process, and spares it all that is there by now.

    Nothing here is cyclic, and millions of tuples make each collection long. Spark has its workers collect between any
    two tasks nevertheless (4.2, `pyspark/daemon.py`), which takes 20 to 70 ms to go through modules, rules and forms:
    as much as framing 30 MB of logs. What is frozen is still freed when nobody has it any more.
    """
    gc.disable()
    gc.freeze()
