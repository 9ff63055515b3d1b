"""A run connects to its hosts before it imports what it plans with and stores into."""

import ast
import inspect
import subprocess
import sys

import pytest

CONNECTS = ("diskbench.cli.run", "diskbench.engine.trial.prepare")
STORES = ("sqlalchemy", "dbos", "paramiko", "obstore", "polars", "duckdb", "numpy")
PLANS = ("jinja2", "diskbench.plan.trial", "diskbench.fio.rows", "diskbench.engine.trial.draft")
LATER = (*STORES, *PLANS)


@pytest.mark.slow
def test_nothing_that_plans_or_stores_is_imported_before_the_hosts_are_connected_to():
    code = (
        f"import importlib, sys\nfor name in {CONNECTS!r}: importlib.import_module(name)\n"
        f"print([name for name in {LATER!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


ASKED = """
import sys
from diskbench.cli.asked import asked_for
typed = dict.fromkeys(OPTIONS) | {"provider": "ssh", "host": ["box"], "profile": "quick"}
asked_for(typed | {"path": "/data", "runs": 1, "replicates": 1, "if_busy": "wait"})
print([name for name in sys.modules if name.startswith("diskbench.providers.")])
"""


@pytest.mark.slow
def test_a_command_line_loads_no_provider_but_its_own():
    from diskbench.cli.run import command_for

    options = [*inspect.signature(command_for(["--provider", "ssh"]).function).parameters]
    code = f"OPTIONS = {options!r}\n{ASKED}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(ast.literal_eval(done.stdout)) == {
        "diskbench.providers.local",
        "diskbench.providers.ssh",
    }
