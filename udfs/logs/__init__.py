"""Logs as bytes: where they are, how they are packed, wrapped, encoded and laid out, and when their lines were written.

From a path to framed records with their times. What a record means is in `udfs.rules`.
"""
