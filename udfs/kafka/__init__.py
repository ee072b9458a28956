"""Kafka's own algorithms by release: elections, reassignments, placement, state machines, invariants; no logs, no Spark.

A function takes what the controller or broker knew and gives what it would do. Where its inputs come from is in `jobs.findings`.
"""
