"""The scripts of a checkout tell what they do at once, and what they print afterwards works."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(path for path in (ROOT / "script").iterdir() if os.access(path, os.X_OK))


@pytest.mark.parametrize("flag", ["--help", "-h"])
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_help_is_the_scripts_own_and_does_nothing(script, flag, tmp_path):
    # Without a PATH to speak of nothing can be installed, measured or made.
    done = subprocess.run(
        [script, flag], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"script/{script.name}" in done.stdout
    assert "set -euo" not in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_looks_like_an_option_is_refused(tmp_path):
    done = subprocess.run(
        [ROOT / "script/demo", "--size"], cwd=tmp_path, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "--help" in done.stderr


@pytest.mark.slow
@pytest.mark.thorough
def test_what_the_cloud_demonstration_names_works_after_it_ended(tmp_path):
    done = subprocess.run(
        [ROOT / "script/demo-cloud", "aws"], cwd=tmp_path, capture_output=True, text=True,
        timeout=1200, check=True,
    )  # fmt: skip
    page = re.search(r"^Open this page: +(\S+)$", done.stdout, re.MULTILINE)
    assert page
    assert Path(page[1]).stat().st_size > 10_000
    _, _, rest = done.stdout.partition("More to try:")
    commands = [line.strip() for line in rest.partition("The first line")[0].splitlines()]
    named = sorted(set(re.findall(r"diskbench report [0-9a-z]+", done.stdout + done.stderr)))
    script = "\n".join(("set -e", *commands, *named))
    clean = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    subprocess.run(["bash", "-c", script], cwd=tmp_path, env=clean, timeout=300, check=True)
