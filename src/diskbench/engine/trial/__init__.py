"""One trial: planned, prepared, measured, kept, given back."""
