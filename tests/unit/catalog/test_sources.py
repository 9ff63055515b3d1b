"""Every figure of every shipped file has a source, and every source a date."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from tests.books import SHIPPED, text_of

from diskbench.catalog.entry import Catalogue, catalogue, clouds
from diskbench.catalog.lookup import disk_types
from diskbench.catalog.machine import machine_of
from diskbench.catalog.sourced_figures import FigureSource
from diskbench.catalog.yaml_loader import (
    CHARGES,
    LIMITS,
    MACHINES,
    PRICES,
    catalogues,
    parse_book,
    shipped,
)
from diskbench.errors import InvalidValue

FILES = [
    (cloud, name)
    for cloud in catalogues()
    for name in (LIMITS, MACHINES, PRICES, CHARGES)
    if shipped(cloud, name) is not None
]


def unsourced(node: Any, path: str, *, covered: bool) -> Iterator[str]:
    """Paths of numbers that stand in no mapping with a `source`."""
    if isinstance(node, dict):
        here = covered or "source" in node
        for key, value in node.items():
            # Prices of machines stand below the key of their source.
            by_key = path == "/machines"
            yield from unsourced(value, f"{path}/{key}", covered=here or by_key)
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from unsourced(value, f"{path}[{index}]", covered=covered)
    elif isinstance(node, int | float) and not isinstance(node, bool) and not covered:
        yield path


def test_each_provider_has_the_files_that_it_can_have():
    assert {cloud for cloud, _ in FILES} >= {"aws", "azure", "gcp", "vsphere"}
    assert [name for cloud, name in FILES if cloud == "vsphere"] == [LIMITS]
    assert len([name for cloud, name in FILES if cloud == "aws"]) == 4


@pytest.mark.parametrize(("cloud", "name"), FILES)
def test_every_figure_has_a_source(cloud: str, name: str):
    data = yaml.safe_load(text_of(cloud, name))
    del data["format"]
    assert list(unsourced(data, "", covered=False)) == []


@pytest.mark.parametrize(("cloud", "name"), FILES)
def test_every_source_has_a_date_or_the_day_it_was_read_on(cloud: str, name: str):
    for source in yaml.safe_load(text_of(cloud, name))["sources"].values():
        assert "20" in FigureSource.model_validate(source).words()


@pytest.mark.parametrize(
    "source",
    [
        {"title": "hearsay", "as_of": None},
        {"title": "hearsay", "as_of": "yesterday"},
        {"title": "", "as_of": "2026"},
        {"title": "hearsay"},
    ],
)
def test_a_source_without_title_or_date_is_refused(source: dict[str, str]):
    with pytest.raises(ValueError, match=r"title|date|as_of"):
        FigureSource.model_validate(source)


def test_every_disk_type_of_every_cloud_is_known():
    assert set(disk_types("aws")) >= {
        *("standard", "gp2", "gp3", "io1", "io2", "st1", "sc1", "instance-store")
    }
    assert set(disk_types("azure")) >= {
        *("Standard_LRS", "StandardSSD_LRS", "Premium_LRS", "PremiumV2_LRS", "UltraSSD_LRS"),
        "temp-disk",
    }
    assert set(disk_types("gcp")) >= {
        *("pd-standard", "pd-balanced", "pd-ssd", "pd-extreme", "local-ssd"),
        *("hyperdisk-balanced", "hyperdisk-extreme", "hyperdisk-throughput"),
    }
    parts = catalogue("vsphere").parts
    assert set(parts["datastore"]) >= {"VMFS", "NFS", "vsan", "VVOL"}
    assert set(parts["provisioning"]) == {"thin", "lazy-zeroed", "eager-zeroed"}
    assert set(parts["controller"]) >= {"pvscsi", "nvme"}


def test_a_disk_without_figures_says_where_they_are():
    for cloud in clouds():
        for name, disk in catalogue(cloud).disks.items():
            assert disk.unknown or disk.iops or disk.tiers, name


def test_an_instance_store_has_the_figures_of_its_machine():
    (reads, writes) = machine_of(SHIPPED, "aws", "i3.large", "instance-store").gates
    assert (reads.allowance.baseline, writes.allowance.baseline) == (100_125, 35_000)
    assert machine_of(SHIPPED, "aws", "c5d.large", "instance-store").unknown


def test_a_figure_of_vsphere_without_a_listed_source_is_refused():
    data = yaml.safe_load(text_of("vsphere", LIMITS))
    data["parts"]["controller"]["pvscsi"]["queue"]["source"] = "hearsay"
    with pytest.raises(InvalidValue, match="hearsay"):
        parse_book(Catalogue, yaml.safe_dump(data), where="mine.yaml")
    del data["parts"]["controller"]["pvscsi"]["queue"]["source"]
    with pytest.raises(InvalidValue, match="queue: a figure needs a source"):
        parse_book(Catalogue, yaml.safe_dump(data), where="mine.yaml")
