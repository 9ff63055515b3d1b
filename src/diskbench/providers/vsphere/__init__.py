"""Machines cloned from a template on vSphere, with disks on a datastore that is to be measured."""
