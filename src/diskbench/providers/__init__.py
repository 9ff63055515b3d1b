"""Where machines and disks come from."""
