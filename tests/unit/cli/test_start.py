"""A run asks its hosts before it imports what it stores into."""

import subprocess
import sys

import pytest

ASKS = ("diskbench.cli.run", "diskbench.engine.trial.draft", "diskbench.engine.trial.prepare")
LATER = ("sqlalchemy", "dbos", "paramiko", "obstore", "polars", "duckdb", "numpy")


@pytest.mark.slow
def test_nothing_of_the_stores_is_imported_before_the_hosts_are_asked():
    code = (
        f"import importlib, sys\nfor name in {ASKS!r}: importlib.import_module(name)\n"
        f"print([name for name in {LATER!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
