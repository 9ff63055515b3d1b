"""Providers: the sources of machines and disks."""
