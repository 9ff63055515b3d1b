"""What machines sustain towards their disks, and what things cost."""

import pytest
import yaml
from tests.books import SHIPPED, text_of

from diskbench.catalog.machines.machine_book import parse_machines
from diskbench.catalog.overlay import MACHINES, PRICES
from diskbench.catalog.prices.price_book import parse_prices
from diskbench.errors import InvalidValue

BOOK = SHIPPED.of("aws")


def test_an_m5_large_sustains_81_mb_a_second() -> None:
    m5 = BOOK.machines.types["m5.large"]
    assert (m5.iops, m5.mb_per_s, m5.burst_mb_per_s) == (3600, 81.25, 593.75)
    assert not m5.current


def test_every_machine_with_a_maximum_has_a_lower_baseline() -> None:
    for name, entry in BOOK.machines.types.items():
        if entry.burst_iops is not None:
            assert entry.iops is not None, name
            assert entry.iops <= entry.burst_iops, name


def test_every_listed_source_is_used() -> None:
    machines, prices = BOOK.machines, BOOK.prices
    used = {one.source for one in (*machines.types.values(), machines.burst, machines.accounting)}
    local = [one.local for one in machines.types.values() if one.local is not None]
    used |= {one.speed.source for one in local if one.speed is not None}
    assert used == set(machines.sources)
    used = {one.source for one in (*prices.disks.values(), prices.month_hours)}
    assert used | set(prices.machines) == set(prices.sources)


@pytest.mark.parametrize(
    ("disk", "size", "iops", "mib_per_s", "month_usd"),
    [
        ("gp2", 20, None, None, 2.0),
        ("gp3", 100, 3000, 125, 8.0),  # what comes with the size is free
        ("gp3", 100, 4000, 225, 8.0 + 5.0 + 4.0),
        ("io1", 100, 5000, None, 12.5 + 325),
        ("io2", 100, 70000, None, 12.5 + 32000 * 0.065 + 32000 * 0.046 + 6000 * 0.032),
    ],
)
def test_a_disk_costs_its_size_and_what_is_provisioned_above_it(
    disk: str, size: int, iops: int | None, mib_per_s: float | None, month_usd: float
) -> None:
    hourly = BOOK.prices.disk_hourly_usd(disk, size, "us-east-1", iops=iops, throughput=mib_per_s)
    assert hourly == pytest.approx(month_usd / 730)


def test_prices_of_other_regions_are_not_made_up() -> None:
    prices = BOOK.prices
    assert prices.machine_hourly_usd("c6in.large", "us-east-1") == 0.1134
    assert prices.machine_hourly_usd("c6in.large", "eu-central-1") is None
    assert prices.machine_hourly_usd("no.such", "us-east-1") is None
    assert prices.disk_hourly_usd("gp2", 20, "eu-central-1") is None


def test_a_figure_without_a_listed_source_is_refused() -> None:
    data = yaml.safe_load(text_of("aws", MACHINES))
    data["types"]["m5.large"]["source"] = "hearsay"
    with pytest.raises(InvalidValue, match="'hearsay'"):
        parse_machines(yaml.safe_dump(data), where="x.yaml")
    data = yaml.safe_load(text_of("aws", PRICES))
    data["machines"]["hearsay"] = {"m5.large": 1.0}
    with pytest.raises(InvalidValue, match="hearsay"):
        parse_prices(yaml.safe_dump(data), where="x.yaml")
