"""Which cells of a matrix may share one machine: pure."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from diskbench.model.options import disk_options

if TYPE_CHECKING:
    from diskbench.model.matrix import MatrixCell
    from diskbench.model.rental import RentSpec

_DISK = {
    "disk": None, "size_gib": None, "iops": None, "throughput_mib_per_s": None, "count": 1,
    "zone": None,
}  # fmt: skip
"""What a disk is, and not the machine that it is attached to."""


def machine_name(cell: MatrixCell) -> str | None:
    """The name of the machine that the cell may share, the same for all cells that may; None for
    one whose machine is there and is not rented.

    Cells share a machine when all is equal that makes one: where it stands, who pays, who reaches
    it, its type, image and network. `PROVIDER/us-east-1/m5.large~1f0c3a`
    """
    spec = cell.cell.rent
    if spec is None:
        return None
    told = f"{_machine(spec).model_dump_json()}{cell.zones}{cell.route}{cell.partition}"
    digest = hashlib.sha256(told.encode()).hexdigest()[:6]
    parts = (cell.partition, spec.instance_type)
    return f"{'/'.join(part for part in parts if part)}~{digest}"


def _machine(spec: RentSpec) -> RentSpec:
    machine_options = {
        group: {name: value for name, value in values.items() if name not in disk_options(group)}
        for group, values in spec.groups().items()
    }
    return spec.model_copy(update=_DISK).with_groups(machine_options)
