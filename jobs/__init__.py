"""Transforms `DataFrame -> DataFrame`, and thin commands that read, chain and write."""
