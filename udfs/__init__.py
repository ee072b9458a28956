"""What we know of Kafka and its logs: plain Python first, UDF and Column forms (`*_columns.py`) beside it.

Imports `schemas`; never `jobs`. Only Column forms import Spark.
"""
