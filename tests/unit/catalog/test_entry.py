"""The catalogue's files: every figure has a source, and a file without one is refused."""

import pytest
import yaml
from tests.books import text_of as text_in

from diskbench.catalog.entry import Catalogue, catalogue, clouds
from diskbench.catalog.yaml_loader import LIMITS, parse_book
from diskbench.errors import InvalidValue, UnknownName


def text_of(cloud: str) -> str:
    return text_in(cloud, LIMITS)


@pytest.mark.parametrize("cloud", clouds())
def test_every_source_is_used(cloud: str) -> None:
    book = catalogue(cloud)
    used = {key for disk in book.disks.values() for key in disk.sources()}
    chosen = [disk.tiers.chosen for disk in book.disks.values() if disk.tiers]
    used |= {one.source for one in chosen if one is not None}
    used |= {limits.source for disk in book.disks.values() for limits in disk.earlier}
    listed_for_people_only = {"n-family"}
    assert set(book.sources) - used <= listed_for_people_only


def test_a_figure_without_a_source_is_refused() -> None:
    data = yaml.safe_load(text_of("aws"))
    del data["disks"]["gp2"]["iops"]["source"]
    with pytest.raises(InvalidValue, match=r"disks\.gp2\.iops\.source"):
        parse_book(Catalogue, yaml.safe_dump(data), where="aws.yaml")


def test_a_source_that_is_not_listed_is_refused() -> None:
    data = yaml.safe_load(text_of("aws"))
    data["disks"]["gp2"]["iops"]["source"] = "hearsay"
    with pytest.raises(InvalidValue, match="hearsay"):
        parse_book(Catalogue, yaml.safe_dump(data), where="aws.yaml")


def test_a_source_needs_its_date_even_if_it_bears_none() -> None:
    data = yaml.safe_load(text_of("gcp"))
    del data["sources"]["performance"]["as_of"]
    with pytest.raises(InvalidValue, match="as_of"):
        parse_book(Catalogue, yaml.safe_dump(data), where="gcp.yaml")


@pytest.mark.parametrize("text", ["", "[]", "disks: [", "format: 2\ncloud: x\n"])
def test_what_is_no_catalogue_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidValue, match=r"mine\.yaml"):
        parse_book(Catalogue, text, where="mine.yaml")


def test_a_cloud_without_a_catalogue_is_unknown() -> None:
    with pytest.raises(UnknownName, match="ibm"):
        catalogue("ibm")
