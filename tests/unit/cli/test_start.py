"""What reading the command line of a run loads."""

import ast
import inspect
import subprocess
import sys

import pytest

ASKED = """
import sys
from diskbench.cli.run_command import asked_for
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
