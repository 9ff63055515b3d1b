"""This machine: nothing is rented, and only our own files are removed."""

from diskbench.errors import InvalidValue
from diskbench.model.spec import Cell
from diskbench.plugin import Plugin

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
            raise InvalidValue(
                f"--host {cell.address} cannot be used with --provider local",
                advice="use --provider ssh to measure another machine",
                field="host",
            )
        refuse_replicates(cell)


def refuse_replicates(cell: Cell) -> None:
    """Raise InvalidValue for a replicate: a machine that is not rented cannot be rented anew."""
    if cell.replicate > 0:
        raise InvalidValue(
            f"--replicates rents a new machine and disk each time; {cell.provider!r} rents none",
            advice="use --runs N for consecutive runs on the same machine and disk",
            field="replicates",
        )
