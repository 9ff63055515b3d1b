"""The catalogue as it is shipped, for tests that plan, price or choose by it."""

from diskbench.catalog.books import Books
from diskbench.catalog.expect import CatalogDisk
from diskbench.catalog.lookup import limits
from diskbench.catalog.yaml_loader import shipped

SHIPPED = Books()


def text_of(cloud: str, name: str) -> str:
    """The text of a file of a provider's catalogue, for tests that change something in it."""
    text = shipped(cloud, name)
    assert text is not None, (cloud, name)
    return text


def disk_of(
    cloud: str, disk_type: str, size_gib: float, **provisioned: float | None
) -> CatalogDisk:
    """A disk of the catalogue; `iops` and `throughput` as `lookup.limits` takes them."""
    return CatalogDisk(limits(cloud, disk_type, size_gib, **provisioned))
