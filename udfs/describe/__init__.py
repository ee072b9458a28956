"""A cluster at one instant: which state holds then, and how `kafka-topics --describe` of a release prints it.

No tables are read here; `jobs.describe` gives the rows.
"""
