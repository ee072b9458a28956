"""Kafka's own algorithms by release, and what must hold of their results: elections, reassignments, placement, rules.

A function takes what the controller or broker knew and gives what it would do. Where its inputs come from is in
`jobs.findings`.
"""
