"""Release of what outlived its lease, found by this database's rows or by tags alone."""
