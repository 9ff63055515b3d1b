"""Google Cloud: Compute Engine machines and their disks."""
