"""Every figure of every shipped file has a source, and every source a date."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.books import SHIPPED, text_of
from tests.cases.catalogue import make

from diskbench.catalog import yaml_loader
from diskbench.catalog.entry import Catalogue, catalogue, clouds
from diskbench.catalog.machine import machine_of
from diskbench.catalog.machine_book import MachineBook
from diskbench.catalog.prices import Charges, PriceBook
from diskbench.catalog.sourced_figures import FigureSource
from diskbench.catalog.yaml_loader import CHARGES, LIMITS, MACHINES, PRICES
from diskbench.errors import InvalidValue, UnknownName

BOOKS = {book.file: book for book in (Catalogue, MachineBook, PriceBook, Charges)}
FILES = [
    (cloud, name)
    for cloud in yaml_loader.catalogues()
    for name in BOOKS
    if yaml_loader.shipped(cloud, name) is not None
]


def unsourced(node: Any, path: str, *, covered: bool) -> Iterator[str]:
    """Paths of numbers that stand in no mapping with a `source`."""
    if isinstance(node, dict):
        here = covered or "source" in node
        for key, value in node.items():
            # Prices of machines stand below the key of their source.
            by_key = path.endswith("/machines")
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


def test_a_source_without_title_or_date_is_refused():
    undated = [{"title": "hearsay", "as_of": of} for of in (None, "yesterday")]
    for source in (*undated, {"title": "", "as_of": "2026"}, {"title": "hearsay"}):
        with pytest.raises(ValueError, match=r"title|date|as_of"):
            FigureSource.model_validate(source)


def test_a_disk_without_figures_says_where_they_are_of_an_instance_store_with_its_machine():
    for cloud in clouds():
        for name, disk in catalogue(cloud).disks.items():
            assert disk.unknown or disk.iops or disk.tiers, name
    (reads, writes) = machine_of(SHIPPED, "aws", "i3.large", "instance-store").gates
    assert (reads.allowance.baseline, writes.allowance.baseline) == (100_125, 35_000)
    assert machine_of(SHIPPED, "aws", "c5d.large", "instance-store").unknown


FOR_PEOPLE_ONLY = {"n-family", "extreme", "local-ssd-series"}


@pytest.mark.parametrize(("cloud", "name"), FILES)
def test_every_figure_has_a_source_each_with_a_date_and_used(cloud: str, name: str):
    data = yaml.safe_load(text_of(cloud, name))
    del data["format"]
    assert list(unsourced(data, "", covered=False)) == []
    for source in yaml.safe_load(text_of(cloud, name))["sources"].values():
        assert "20" in FigureSource.model_validate(source).words()
    book = yaml_loader.shipped_book(BOOKS[name], cloud)
    assert book is not None
    assert set(book.sources) - set(book.named_sources().values()) <= FOR_PEOPLE_ONLY


@pytest.mark.parametrize(
    ("cloud", "name", "place"),
    [
        ("aws", LIMITS, "disks.gp2.iops"), ("vsphere", LIMITS, "parts.controller.pvscsi.queue"),
        ("aws", MACHINES, "types.m5.large"), ("gcp", MACHINES, "series.n2.disks.pd-ssd"),
        ("aws", PRICES, "disks.gp2"), ("aws", CHARGES, "transactions.standard"),
    ],
)  # fmt: skip
def test_a_figure_whose_source_is_missing_or_not_listed_is_refused_with_its_place(
    cloud: str, name: str, place: str
):
    data = yaml.safe_load(text_of(cloud, name))
    figure = data
    for part in place.replace("m5.large", "m5_large").split("."):
        figure = figure[part.replace("_", ".")]
    figure["source"] = "hearsay"
    with pytest.raises(InvalidValue, match=rf"mine\.yaml.*{re.escape(place)}: 'hearsay'"):
        yaml_loader.parse_book(BOOKS[name], yaml.safe_dump(data), where="mine.yaml")
    del figure["source"]
    with pytest.raises(InvalidValue, match="source"):
        yaml_loader.parse_book(BOOKS[name], yaml.safe_dump(data), where="mine.yaml")


def test_a_machine_s_price_below_a_source_that_is_not_listed_is_refused():
    data = yaml.safe_load(text_of("aws", PRICES))
    data["machines"]["hearsay"] = {"m5.large": 1.0}
    with pytest.raises(InvalidValue, match="machines of hearsay"):
        yaml_loader.parse_book(PriceBook, yaml.safe_dump(data), where="x.yaml")


@pytest.mark.parametrize("text", ["", "[]", "disks: [", "format: 2\ncloud: x\n"])
def test_what_is_no_catalogue_is_refused_by_name(text: str):
    with pytest.raises(InvalidValue, match=r"mine\.yaml is not a valid catalogue"):
        yaml_loader.parse_book(Catalogue, text, where="mine.yaml")
    with pytest.raises(UnknownName, match="ibm"):
        catalogue("ibm")


def test_what_the_catalogue_makes_of_every_disk_is_as_it_was_reviewed() -> None:
    reviewed = Path(make.__file__).with_name("numbers.txt")
    assert list(make.lines()) == reviewed.read_text(encoding="utf-8").splitlines()
    assert set(clouds()) >= set(make.MACHINES), "every provider that ships disk types"
