"""What machines sustain towards their disks, and what things cost."""

from importlib import resources

import pytest
import yaml
from tests.books import SHIPPED

from diskbench.catalog.instances import parse_instances
from diskbench.errors import InvalidValue


def shipped_text() -> str:
    return (resources.files("diskbench.catalog") / "data" / "aws_instances.yaml").read_text()


def test_an_m5_large_sustains_81_mb_a_second() -> None:
    m5 = SHIPPED.aws.instances["m5.large"]
    assert (m5.baseline_iops, m5.baseline_mb_per_s, m5.max_mb_per_s) == (3600, 81.25, 593.75)
    assert not m5.current


def test_every_machine_with_a_maximum_has_a_lower_baseline() -> None:
    for name, entry in SHIPPED.aws.instances.items():
        if entry.max_iops is not None:
            assert entry.baseline_iops is not None, name
            assert entry.baseline_iops <= entry.max_iops, name


def test_every_listed_source_is_used() -> None:
    book = SHIPPED.aws
    figures = [*book.instances.values(), *book.volumes.values(), book.month_hours, book.ebs_burst]
    used = {f.source for f in figures} | {i.price_source for i in book.instances.values()}
    local = [one.local for one in book.instances.values() if one.local is not None]
    used |= {one.speed.source for one in local if one.speed is not None}
    assert used | {"volume-prices"} == set(book.sources)


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
    hourly = SHIPPED.aws.volume_hourly_usd(disk, size, "us-east-1", iops=iops, mib_per_s=mib_per_s)
    assert hourly == pytest.approx(month_usd / 730)


def test_prices_of_other_regions_are_not_made_up() -> None:
    book = SHIPPED.aws
    assert book.instance_hourly_usd("c6in.large", "us-east-1") == 0.1134
    assert book.instance_hourly_usd("c6in.large", "eu-central-1") is None
    assert book.instance_hourly_usd("no.such", "us-east-1") is None
    assert book.volume_hourly_usd("gp2", 20, "eu-central-1") is None


def test_a_figure_without_a_listed_source_is_refused() -> None:
    data = yaml.safe_load(shipped_text())
    data["instances"]["m5.large"]["price_source"] = "hearsay"
    with pytest.raises(InvalidValue, match="hearsay"):
        parse_instances(yaml.safe_dump(data), where="x.yaml")
