"""Which machine is good enough for a disk, and which one measures itself."""

import pytest
from tests.books import SHIPPED

from diskbench.catalog.lookup import limits
from diskbench.providers.aws.offer import candidates, figures, too_small
from diskbench.providers.skeleton.offer import needs

BOOK = SHIPPED.of("aws")


def test_disks_need_a_fifth_more_of_their_machine_than_the_sum_of_their_ceilings():
    one, four = needs(limits("aws", "gp2", 20)), needs(limits("aws", "gp2", 20), 4)
    assert one == pytest.approx((3600, 1.2 * 128 * 2**20 / 1e6))
    assert four == pytest.approx((4 * one[0], 4 * one[1]))


@pytest.mark.parametrize(
    ("disk", "size", "iops", "chosen"),
    [
        ("gp2", 20, None, "c6in.large"),  # 161 MB/s: an m5.large sustains 81
        ("gp2", 256, None, "c6in.xlarge"),  # 250 MiB/s
        ("gp3", 100, None, "c6in.large"),
        ("io1", 100, 400, "c6in.large"),  # 100 MiB/s
        ("io1", 100, 5000, "c6in.2xlarge"),  # 500 MiB/s
    ],
)
def test_the_default_is_the_cheapest_machine_whose_baseline_is_enough(disk, size, iops, chosen):
    need = needs(limits("aws", disk, size, iops))
    assert candidates(BOOK, need, arch="x86_64")[0] == chosen
    entry = BOOK.machines.types[chosen]
    assert entry.iops >= need[0]
    assert entry.mb_per_s >= need[1]


@pytest.mark.parametrize(
    "asked", [{}, {"arch": "arm64"}, {"disks": 30}, {"local_disks": 1}], ids=str
)
def test_candidates_are_of_today_and_fit_the_cheapest_first(asked):
    options = {"arch": "x86_64", **asked}
    names = candidates(BOOK, (0.0, 0.0), **options)
    prices = [BOOK.prices.machine_hourly_usd(name) or 0.0 for name in names]
    assert prices == sorted(prices)
    assert names
    for name in names:
        entry = BOOK.machines.types[name]
        assert (entry.current, entry.burstable, entry.arch) == (True, False, options["arch"]), name
        assert entry.vcpus >= 2, name
        assert entry.max_disks > asked.get("disks", 0), name
        assert (entry.local is not None and entry.local.nvme) or "local_disks" not in asked, name
    assert candidates(BOOK, (1e7, 0.0), **options) == (), "nothing sustains that"


def test_a_machine_that_would_measure_itself_or_has_no_published_limits_is_told():
    need = needs(limits("aws", "gp2", 20))

    def told(machine: str, need: tuple[float, float] = need) -> str | None:
        return too_small(machine, figures(BOOK.machines.types[machine]), need, "c6in.large")

    assert told("m5.large") == (
        "m5.large sustains 3,600 IOPS and 81 MB/s (18,750 and 594 for half an hour a day), "
        "but the disk needs 3,600 and 161: the VM, not the disk, would be the bottleneck; "
        "c6in.large is large enough"
    )
    assert "publishes no EBS limit for m3.medium" in str(told("m3.medium"))
    assert told("c6in.large") is told("c6in.large", needs(None)) is None
