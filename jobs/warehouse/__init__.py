"""Tables on disk: versions, writes, the lock, the gate before publication, and reading what was published.

Nothing here knows what a row means beyond its schema and expectations.
"""
