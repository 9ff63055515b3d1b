"""The stranger's package is a project of its own: its tests are run by test_stratus.py, as its
author runs them."""

collect_ignore = ["stratus"]
