"""What we know of one line, one row, one election: rules and plain functions, their Column and Arrow forms beside them."""
