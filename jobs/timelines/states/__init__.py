"""Stages that make partitions' states of evidence, one module per kind of evidence; `jobs.timelines.partitions` chains
them.

Each stage takes the states so far and ends in a column list of `columns`. Evidence is gathered in `partition_evidence`
before the first stage.
"""
