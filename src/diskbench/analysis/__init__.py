"""What the numbers mean: pure, one idea a chapter."""
