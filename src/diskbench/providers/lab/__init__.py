"""Machines made of this one: namespaces, an sshd, loop devices that behave as cloud disks."""
