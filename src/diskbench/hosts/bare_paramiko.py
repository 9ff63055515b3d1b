"""paramiko without Invoke, which it imports for `Match exec` in an OpenSSH configuration only.

OpenSSH reads the configuration here (ssh_config.py). Invoke's 45 modules were 5 % of what a run
imports, while the host waits for its first connection.
"""

from diskbench.stand_ins import answering

with answering(("paramiko",), {"invoke": None}):
    import paramiko

__all__ = ["paramiko"]
