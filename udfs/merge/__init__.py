"""`merge` without its command line: blocks of records, filters, the one order, output forms.

Knows streams of bytes and times, not tables; needs no Spark and no JVM.
"""
