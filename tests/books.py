"""The catalogue as it is shipped, for tests that plan, price or choose by it."""

from diskbench.catalog.books import Books
from diskbench.catalog.shipped import shipped

SHIPPED = Books()


def text_of(cloud: str, name: str) -> str:
    """The text of a file of a provider's catalogue, for tests that change something in it."""
    text = shipped(cloud, name)
    assert text is not None, (cloud, name)
    return text
