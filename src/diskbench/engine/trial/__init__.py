"""One trial: planned, prepared, measured, stored, released."""
