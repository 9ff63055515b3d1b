"""AWS: moto as the control plane, made to behave as AWS does where moto does not.

`server.Emulator` starts it. A request passes the hooks in the order of `server.HOOKS`, each one
idea in its own module; what AWS does is cited where it is imitated.
"""
