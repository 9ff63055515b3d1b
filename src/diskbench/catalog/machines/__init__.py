"""What a machine allows its disks."""
