"""The option of the clouds that give machines public addresses: to rent one without."""

from __future__ import annotations

from typing import ClassVar

from diskbench.model.options import Options, option


class NetworkOptions(Options):
    """How a rented machine is reached: by default at a public address of its own; without one,
    from a worker in its network or through a jump host (docs/renting.md)."""

    group: ClassVar[str] = "network"
    panel: ClassVar[str] = "Network"

    no_public_ip: bool = option(
        default=False,
        about="Rent the machine without a public address: reach it from inside its network.",
        in_key="no",
    )
