"""From a cell to what will be run: pure."""
