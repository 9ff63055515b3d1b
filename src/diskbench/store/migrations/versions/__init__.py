"""One file a schema revision, in order."""
