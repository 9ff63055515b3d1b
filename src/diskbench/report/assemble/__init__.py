"""The content of a report, assembled once, independent of its format."""
