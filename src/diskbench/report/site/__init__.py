"""The published site: an index, a page per configuration and a page per trial."""
