"""The catalogue's files: every figure has a source, and a file without one is refused."""

from collections.abc import Iterator
from importlib import resources
from typing import Any

import pytest
import yaml

from diskbench.catalog.entry import CLOUDS, catalogue, parse_catalogue
from diskbench.errors import InvalidValue, UnknownName


def text_of(cloud: str) -> str:
    return (resources.files("diskbench.catalog") / "data" / f"{cloud}.yaml").read_text()


def figures(node: Any, path: str, covered: bool) -> Iterator[str]:
    """Paths of numbers that stand in no mapping with a `source`."""
    if isinstance(node, dict):
        here = covered or "source" in node
        for key, value in node.items():
            yield from figures(value, f"{path}/{key}", here)
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from figures(value, f"{path}[{index}]", covered)
    elif isinstance(node, int | float) and not isinstance(node, bool) and not covered:
        yield path


@pytest.mark.parametrize("cloud", CLOUDS)
def test_every_figure_has_a_source_with_a_date(cloud: str) -> None:
    data = yaml.safe_load(text_of(cloud))
    assert list(figures(data["disks"], "", covered=False)) == []
    for name, source in data["sources"].items():
        assert source["title"], name
        assert source["as_of"] is None or source["as_of"][:2] == "20", name


@pytest.mark.parametrize("cloud", CLOUDS)
def test_every_source_is_used(cloud: str) -> None:
    book = catalogue(cloud)
    used = {key for disk in book.disks.values() for key in disk.sources()}
    listed_for_people_only = {"n-family"}
    assert set(book.sources) - used <= listed_for_people_only


def test_a_figure_without_a_source_is_refused() -> None:
    data = yaml.safe_load(text_of("aws"))
    del data["disks"]["gp2"]["iops"]["source"]
    with pytest.raises(InvalidValue, match=r"disks\.gp2\.iops\.source"):
        parse_catalogue(yaml.safe_dump(data), where="aws.yaml")


def test_a_source_that_is_not_listed_is_refused() -> None:
    data = yaml.safe_load(text_of("aws"))
    data["disks"]["gp2"]["iops"]["source"] = "hearsay"
    with pytest.raises(InvalidValue, match="hearsay"):
        parse_catalogue(yaml.safe_dump(data), where="aws.yaml")


def test_a_source_needs_its_date_even_if_it_bears_none() -> None:
    data = yaml.safe_load(text_of("gcp"))
    del data["sources"]["performance"]["as_of"]
    with pytest.raises(InvalidValue, match="as_of"):
        parse_catalogue(yaml.safe_dump(data), where="gcp.yaml")


@pytest.mark.parametrize("text", ["", "[]", "disks: [", "format: 2\ncloud: x\n"])
def test_what_is_no_catalogue_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidValue, match=r"mine\.yaml"):
        parse_catalogue(text, where="mine.yaml")


def test_a_cloud_without_a_catalogue_is_unknown() -> None:
    with pytest.raises(UnknownName, match="ibm"):
        catalogue("ibm")
