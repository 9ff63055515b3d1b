"""The nouns of diskbench (docs/design.md#nouns): frozen data, no I/O."""
