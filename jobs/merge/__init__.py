"""The command `merge`: its options, which logs it opens, what it prints where.

Reading, filtering and ordering records is in `udfs.merge`.
"""
