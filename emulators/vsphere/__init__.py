"""The emulated vSphere: VMware's simulator behind HTTPS, lab hosts as its machines.

The simulator is a Go program of ours (`simulator/`) that tells what changes and takes orders; all
that knows the lab is emulators/guests.py.
"""
