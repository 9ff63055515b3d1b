"""What the catalogue makes of every disk type: limits, expectations, prices, one line each.

    python -m tests.cases.catalogue.make > tests/cases/catalogue/numbers.txt

after figures of the catalogue were changed on purpose; the change of the file is then reviewed.
"""

from diskbench.catalog.books import Books
from diskbench.catalog.cost import disk_hourly_usd, machine_part, priced_region
from diskbench.catalog.expect import expect_on, path_of
from diskbench.catalog.lookup import disk_types, limits
from diskbench.catalog.machine import machine_of
from diskbench.catalog.shipped import catalogue
from diskbench.errors import UserError
from diskbench.model.expectation import Load
from diskbench.model.rental import DiskSpec
from diskbench.units import KIB, MIB

MACHINES = {
    "aws": ("", "m5.large", "c4.xlarge", "i3.large"),
    "azure": ("", "Standard_D2s_v3", "Standard_B1s"),
    "gcp": ("", "n2-standard-8", "n4-standard-2", "e2-medium"),
}
PROVISIONED = {
    "io1": 2000, "io2": 3000, "UltraSSD_LRS": 2000, "pd-extreme": 10_000,
    "hyperdisk-extreme": 5000,
}  # fmt: skip
LOADS = {
    "4k×1": Load(block_bytes=4 * KIB, depth=1),
    "4k×64": Load(block_bytes=4 * KIB, depth=64),
    "1m": Load(block_bytes=MIB, random=False, read_share=0.5),
}


def lines():
    """A line a disk, machine and load, with what is expected at first and at last, and a price."""
    books = Books()
    for cloud, machines in MACHINES.items():
        region = priced_region(cloud) or ""
        for name in machines[1:]:
            yield f"{cloud} {name} {_number(machine_part(books, cloud, name, region).hourly_usd)}"
        for disk_type in disk_types(cloud):
            yield from _of_type(books, cloud, disk_type, region)


def _of_type(books, cloud, disk_type, region):
    sold = catalogue(cloud).disks[disk_type].size_gib
    sizes = {sold.min, sold.max, *(n for n in (33, 512, 5000) if sold.min <= n)} if sold else {100}
    for size in sorted(sizes):
        iops, ratio = PROVISIONED.get(disk_type), catalogue(cloud).disks[disk_type].iops_ratio
        if iops is not None and ratio is not None:
            iops = max(iops, int((ratio.min_per_gib or 0) * size))
        spec = DiskSpec(type=disk_type, size_gib=size, iops=iops)
        try:
            found = limits(cloud, disk_type, size, iops)
        except UserError as error:
            yield f"{cloud} {disk_type} {size}: {error.message}"
            continue
        usd = disk_hourly_usd(books, cloud, spec, region)
        yield f"{cloud} {disk_type} {size}: tier {found.tier or '-'}, {_number(usd)} USD an hour"
        for machine in MACHINES[cloud]:
            path = path_of(found, machine_of(books, cloud, machine, disk_type))
            for name, load in LOADS.items():
                told = expect_on(path, load)
                if told is not None:
                    words = " → ".join(
                        f"{_number(one.iops)} ({_number(one.low_iops)}–{_number(one.high_iops)}) "
                        f"{one.limited_by}"
                        for one in (told.begin, told.lasting)
                    )
                    yield f"  {machine or 'any'} {name}: {words}, {_number(told.lasts_s)} s"


def _number(value):
    return "-" if value is None else f"{value:.6g}"


if __name__ == "__main__":
    print("\n".join(lines()))
