"""The published site: an index, a page a configuration, a page a run."""
