"""What disks and machines cost."""
