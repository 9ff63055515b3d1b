"""What a disk type promises, and the rate that follows for one load."""
