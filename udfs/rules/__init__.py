"""What each line of a log means: rules and what reads a message by them; the rules themselves are in `subjects`.

How bytes become records is in `udfs.logs`, how many records are parsed at once in `udfs.arrow`.
"""
