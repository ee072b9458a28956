"""Reading published tables without Spark: delta-rs finds the files of the pinned versions, DuckDB reads them.

Spark writes, people read: a query answers within a second, and starts no JVM.
"""
