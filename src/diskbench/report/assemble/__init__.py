"""What a report shows, brought together once and free of how it is shown."""
