"""What is given back after its lease: by this database's rows, or by tags alone."""
