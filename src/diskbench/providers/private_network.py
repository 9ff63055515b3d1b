"""The options of a machine that has no public address."""

from typing import ClassVar

from diskbench.model.options import Options, option


class NetworkOptions(Options):
    """How a machine is reached. Without a public address SSH goes to its private one, by the route
    that the user's OpenSSH configuration has for it (a jump host, a VPN), or from a worker inside
    the network."""

    group: ClassVar[str] = "network"
    panel: ClassVar[str] = "Network"

    no_public_ip: bool = option(
        default=False,
        about="Give the machine no public address: SSH goes to its private one.",
        flag="--no-public-ip",
        in_key="no",
    )
