"""Timelines into what happened: elections, outages, ISR changes, reassignments, and verdicts on each decision.

What Kafka's algorithms decide is in `udfs.kafka`; here are the rows that they are given.
"""
