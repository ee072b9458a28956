"""A run: which steps, over which clusters and topics, then audit, publication and the screen.

What each step computes is in `jobs.ingest`, `jobs.timelines` and `jobs.findings`.
"""
