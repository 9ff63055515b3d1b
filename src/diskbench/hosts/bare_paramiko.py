"""paramiko without Invoke, which it imports for `Match exec` in an OpenSSH configuration only.

OpenSSH reads the configuration here (ssh_config.py). Invoke's 45 modules were 5 % of what a run
imports, while the host waits for its first connection.
"""

import sys

_KEPT_OUT = "invoke"

_is_unknown = _KEPT_OUT not in sys.modules
if _is_unknown:
    sys.modules[_KEPT_OUT] = None  # type: ignore[assignment] # then importing it is an ImportError
try:
    import paramiko
finally:
    if _is_unknown:
        del sys.modules[_KEPT_OUT]

__all__ = ["paramiko"]
