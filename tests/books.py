"""The catalogue as it is shipped, for tests that plan, price or choose by it."""

from diskbench.catalog.books import Books

SHIPPED = Books()
