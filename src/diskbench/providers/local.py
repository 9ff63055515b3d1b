"""This machine: nothing is rented, and only our own files are removed."""

from diskbench.model.spec import Cell
from diskbench.plugin import Plugin
from diskbench.providers.error_table import refused

PLUGIN = Plugin(
    name="local",
    title="This machine",
    summary="The machine diskbench itself runs on.",
    provider="diskbench.providers.local:LocalProvider",
    promise_by_owner=True,
    one_at_a_time=True,
    names_are_private=True,
)


class LocalProvider:
    """The machine diskbench itself runs on."""

    name = "local"

    def check(self, cell: Cell) -> None:
        """Refuse a local cell that names a host or has replicates: it is one machine with one
        disk."""
        if cell.address is not None:
            raise refused("host with local", cell=cell)
        refuse_replicates(cell)


def refuse_replicates(cell: Cell) -> None:
    """Raise InvalidValue for a replicate: a machine that is not rented cannot be rented anew."""
    if cell.replicate > 0:
        raise refused("replicates without renting", cell=cell)
