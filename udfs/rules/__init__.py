"""Every rule there is, by subject. `ALL` is their sum; `udfs.rulebook` looks a message up in it."""
