"""Stages that make states of partitions, one module per kind of evidence; `jobs.timelines.partitions` chains them.

`partition_evidence` gathers what lines log; each stage takes the states so far and ends in a schema of `columns`.
"""
