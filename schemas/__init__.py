"""The tables we read and write, each column documented; vocabularies; expectations."""
