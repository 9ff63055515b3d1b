"""Microsoft Azure: machines and managed disks, by azure-mgmt."""
