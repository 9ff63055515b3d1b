"""Machines cloned from a template on vSphere, with disks on the measured datastore."""
