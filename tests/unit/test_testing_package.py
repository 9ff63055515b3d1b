"""diskbench.testing is for whoever tests a provider: nothing else in diskbench may need pytest."""

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_no_command_imports_pytest() -> None:
    code = (
        "import sys, diskbench.cli.main, diskbench.providers.registry as known\n"
        "[known.provider(name) for name in known.provider_names()]\n"
        "assert 'pytest' not in sys.modules and 'diskbench.testing' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
