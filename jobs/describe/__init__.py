"""The command `describe`: a cluster as it was at a time, out of published tables.

Wording and the choice of states are in `udfs.describe`.
"""
