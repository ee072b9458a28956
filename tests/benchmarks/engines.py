"""Which engine frames and parses the logs: `engines.py LOGS [--rounds N] [--only NAME,NAME] [--check]`.

The experiment behind docs/decisions/0001-framing-and-parsing-engine.md. LOGS is what generate_logs.py wrote. Each
engine gives the same rows: records of ten kinds as typed columns, every other record with its message as it stands.

Prints CPU seconds of the process tree (driver, JVM, Python workers), median of interleaved rounds, after one to warm
up. `--check` compares each engine with `engine_oracle`, which shares no pattern and no code with them.
"""

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

from cpu_time import cpu_seconds
from engine_frames import ENGINES, FLOORS, Engine
from engine_oracle import summary, summary_of_oracle
from pyspark.sql import SparkSession


def session() -> SparkSession:
    """Spark as the project runs it on one machine."""
    os.environ |= {
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(Path(__file__).parent),
        "POLARS_MAX_THREADS": "1",
    }
    settings: dict[str, bool | float | int | str | None] = {"spark.ui.enabled": "false"}
    settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    # A's generated method is too large for the JVM to compile; with this limit Spark cuts it up, 1.4 x faster.
    settings |= {"spark.sql.codegen.hugeMethodLimit": "8000"}
    settings |= {"spark.sql.session.timeZone": "UTC", "spark.driver.memory": "6g", "spark.sql.shuffle.partitions": "2"}
    return SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()


def measure(spark: SparkSession, engines: dict[str, Engine], paths: list[str], rounds: int) -> dict[str, list[float]]:
    """CPU seconds of each engine in each round but the first."""
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    for number in range(rounds + 1):
        for name, engine in engines.items():
            before, began = cpu_seconds(), time.perf_counter()
            engine(spark, paths).write.format("noop").mode("overwrite").save()
            spent = cpu_seconds() - before
            print(f"# {number} {name}: cpu {spent:.2f} s, wall {time.perf_counter() - began:.2f} s", file=sys.stderr)
            seconds[name] += [spent] if number else []
    return seconds


def main() -> None:
    """Reads the command line, measures, prints a table."""
    parser = argparse.ArgumentParser(description="Measure the engines that could frame and parse the logs.")
    parser.add_argument("logs", type=Path, metavar="LOGS")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", help="names of engines and floors, separated by commas")
    parser.add_argument("--check", action="store_true", help="compare with the oracle instead of measuring")
    asked = parser.parse_args()
    paths = [str(path) for path in sorted(asked.logs.rglob("*.log"))]
    chosen = {
        name: engine for name, engine in (FLOORS | ENGINES).items() if not asked.only or name in asked.only.split(",")
    }
    spark = session()
    if asked.check:
        expected = summary_of_oracle(paths)
        for name in chosen.keys() & ENGINES.keys():
            got = summary(chosen[name](spark, paths))
            wrong = {figure: (value, expected[figure]) for figure, value in got.items() if value != expected[figure]}
            print(name, got["rows"], "rows:", wrong or "equal to the oracle", flush=True)
        return
    size = sum(os.path.getsize(path) for path in paths) / 1e6
    for name, seconds in measure(spark, chosen, paths, asked.rounds).items():
        median = statistics.median(seconds)
        print(f"{name:28} {median:6.2f} cpu s ({min(seconds):.2f}-{max(seconds):.2f}) {size / median:6.1f} MB/cpu-s")


if __name__ == "__main__":
    # Imported, so that workers import this module too, once, instead of being sent it with each task.
    sys.path.insert(0, str(Path(__file__).parent))
    import engines

    engines.main()
