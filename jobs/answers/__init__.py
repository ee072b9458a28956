"""Ready answers out of published tables, without Spark: the story of a partition, a broker or the controller, lists of
what went wrong, what would go down, and a check for monitors.
"""
