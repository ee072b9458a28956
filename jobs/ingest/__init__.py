"""Logs into `events`, `rejects`, `log_files` and `log_coverage`: each record once, every byte accounted for.

Reading and parsing a range of bytes is in `udfs.logs` and `udfs.arrow`; here it is spread over tasks and written.
"""
