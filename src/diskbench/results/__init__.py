"""What stored results say: read, judged and compared. Nothing here runs anything."""
