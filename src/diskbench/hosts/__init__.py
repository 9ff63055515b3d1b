"""The edge to a machine: commands, files, devices, detached fio."""
