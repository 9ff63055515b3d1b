"""Which machine measures a Google disk without being the limit itself."""

import pytest

from diskbench.model.options import RentSpec
from diskbench.providers.gcp import offer
from diskbench.providers.gcp.disk_request import GcpDiskRequest, disk_request
from diskbench.providers.gcp.offer import candidates, needs, too_small


def of(disk: str, size_gib: int | None = None, **more: object) -> GcpDiskRequest:
    return disk_request(RentSpec.model_validate({"disk": disk, "size_gib": size_gib, **more}))


@pytest.mark.parametrize(
    ("disk", "size_gib", "chosen"),
    [
        ("pd-standard", 20, "n2-standard-2"),
        ("pd-standard", 256, "n2-standard-2"),
        ("pd-ssd", 20, "n2-standard-8"),  # 250 MiB/s, and two vCPUs let 240 through
        ("pd-ssd", 256, "n2-standard-8"),
        ("hyperdisk-balanced", 20, "n4-standard-2"),
        ("hyperdisk-throughput", 2048, "n4-standard-8"),
    ],
)
def test_the_smallest_machine_that_does_not_limit_the_disk_comes_first(disk, size_gib, chosen):
    assert candidates(of(disk, size_gib), size_gib)[0] == chosen


def test_disks_together_need_a_larger_machine_and_persistent_ones_have_some_once():
    each = {"iops": 20_000, "throughput_mib_per_s": 200}
    asked = of("hyperdisk-balanced", 100, **each, count=3, stripe=True)
    assert needs(asked, 100).read_iops == 60_000
    assert candidates(asked, 100)[0] == "n4-standard-16"
    asked = of("pd-ssd", 256, count=3, stripe=True)
    assert needs(asked, 256).read_iops == 6000 + 30 * 3 * 256
    assert candidates(asked, 256)[0] == "n2-standard-32"


def test_a_disk_as_fast_as_every_machine_or_faster_is_measured_all_the_same():
    assert candidates(of("pd-extreme", 500, iops=4000), 500) == ("n2-standard-64",)
    asked = of("hyperdisk-balanced", 1000, iops=160_000, count=2, stripe=True)
    assert not set(candidates(asked, 1000)) & {"n4-standard-16", "n4-standard-32"}
    asked = of("local-ssd")  # goes by no cap
    assert candidates(asked, 375)[0] == "n2-standard-2"
    assert needs(asked, 375).read_iops == 0
    assert too_small("n2-standard-2", 2, asked, 375) is None
    warning = str(too_small("n2-standard-2", 2, of("pd-ssd", 256), 256))
    assert "240 / 240 MiB/s" in warning
    assert "n2-standard-8 is large enough" in warning
    assert too_small("n2-standard-8", 8, of("pd-ssd", 256), 256) is None
    unknown = too_small("n4-standard-4", 4, of("hyperdisk-throughput", 2048), 2048)
    assert "no limit" in str(unknown)


def test_the_root_disk_is_not_of_the_measured_type_if_there_is_a_choice():
    assert offer.boot_type("n2-standard-4", of("pd-ssd", 20)) == "pd-balanced"
    assert offer.boot_type("n2-standard-4", of("pd-balanced", 20)) == "pd-ssd"
    only = "hyperdisk-balanced"
    assert offer.boot_type("n4-standard-4", of(only, 20)) == only
    assert offer.boot_type("x9-standard-4", of("pd-ssd", 20)) == ""


@pytest.mark.parametrize(
    ("described", "spot", "placed", "needed"),
    [
        ({"name": "n2-standard-8"}, False, False, None),
        ({"name": "n2-standard-8"}, True, False, "TERMINATE"),
        ({"name": "n2-standard-8"}, False, True, "TERMINATE"),
        ({"name": "e2-standard-8"}, False, True, "MIGRATE"),
        ({"name": "e2-standard-8"}, True, False, "TERMINATE"),
        ({"name": "h4d-highmem-192-lssd"}, False, False, "TERMINATE"),
        ({"name": "c4-standard-288-metal"}, False, False, "TERMINATE"),
        ({"name": "z3-highmem-14-standardlssd", "bundledLocalSsds": {"partitionCount": 1}},
         False, True, "MIGRATE"),
        ({"name": "z3-highmem-44-highlssd", "bundledLocalSsds": {"partitionCount": 6}},
         False, False, "MIGRATE"),
        ({"name": "z3-highmem-88-highlssd", "bundledLocalSsds": {"partitionCount": 12}},
         False, False, "TERMINATE"),
        ({"name": "a3-highgpu-8g", "accelerators": [{"guestAcceleratorCount": 8}]},
         False, False, "TERMINATE"),
    ],
)  # fmt: skip
def test_what_becomes_of_a_machine_at_maintenance_follows_from_its_series_and_size(
    described, spot, placed, needed
):
    found = offer.machine({"guestCpus": 8, "memoryMb": 32768, **described})
    assert offer.maintenance(found, spot=spot, placed=placed) == needed
