"""The nouns of diskbench (DESIGN.md section 1): frozen data, no I/O."""
