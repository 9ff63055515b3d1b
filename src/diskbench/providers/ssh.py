"""A machine maintained by somebody else, measured over SSH."""

from diskbench.model.spec import Cell
from diskbench.plugin import Plugin
from diskbench.providers.error_table import refused
from diskbench.providers.local import refuse_replicates

PLUGIN = Plugin(
    name="ssh",
    title="SSH",
    summary="USER@HOST[:PORT], resolved by OpenSSH's own configuration.",
    provider="diskbench.providers.ssh:SshProvider",
    promise_by_owner=True,
    label="server",
    place_option="host",
    one_at_a_time=True,
    names_are_private=True,
)


class SshProvider:
    """USER@HOST[:PORT], resolved by OpenSSH's own configuration."""

    name = "ssh"

    def check(self, cell: Cell) -> None:
        """Refuse an SSH cell without a host."""
        if not cell.address:
            raise refused("no machine to measure")
        refuse_replicates(cell)
