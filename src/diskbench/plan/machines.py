"""Which cells of a matrix may share one machine: pure."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from diskbench.model.options import disk_options

if TYPE_CHECKING:
    from diskbench.model.matrix import MatrixCell
    from diskbench.model.options import RentSpec

_DISK = {
    "disk": None, "size_gib": None, "iops": None, "throughput_mib_per_s": None, "count": 1,
    "zone": None,
}  # fmt: skip
"""Fields that describe the disk and not the machine."""


def machine_name(cell: MatrixCell) -> str | None:
    """Return the name of the machine that the cell may share, equal for all cells that may share
    it; None if the machine is not rented.

    Cells share a machine if everything that defines it is equal: region and zones, account, route,
    type, image and network. `PROVIDER/us-east-1/m5.large~1f0c3a`
    """
    spec = cell.cell.rent
    if spec is None:
        return None
    identity = f"{_machine(spec).model_dump_json()}{cell.zones}{cell.route}{cell.partition}"
    digest = hashlib.sha256(identity.encode()).hexdigest()[:6]
    parts = (cell.partition, spec.instance_type)
    return f"{'/'.join(part for part in parts if part)}~{digest}"


def _machine(spec: RentSpec) -> RentSpec:
    machine_options = {
        group: {name: value for name, value in values.items() if name not in disk_options(group)}
        for group, values in spec.groups().items()
    }
    return spec.model_copy(update=_DISK).with_groups(machine_options)
