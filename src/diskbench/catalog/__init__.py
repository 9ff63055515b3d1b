"""What the clouds promise of their disks, each figure with its source. Pure: reads package data."""
