"""Machines emulated on this one: namespaces, an sshd, loop devices that behave as cloud disks."""
