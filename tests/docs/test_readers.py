"""Who follows the pages can type every command, and leaves this machine as it was."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.docs.kinds import kind
from tests.docs.pages import PAGES, commands
from tests.docs.setups import Reader

from diskbench.providers.lab import devices
from diskbench.providers.lab.places import VARIABLE

KILLED = """
import os, signal
from diskbench.model.rental import DiskSpec
from diskbench.providers.lab import machines
from diskbench.providers.lab.request import LabRequest
machines.acquire("one", LabRequest(disk=DiskSpec(type="custom", size_gib=1)))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_a_lab_host_of_a_command_that_was_killed_goes_with_its_reader(tmp_path: Path) -> None:
    with ExitStack() as stack:
        reader = Reader(tmp_path / "home", tmp_path / "here", stack)
        lab = Path(reader.env[VARIABLE])
        subprocess.run([sys.executable, "-c", KILLED], env=reader.env, check=False)
        assert (lab / "one").exists()
        assert len(devices.find(lab)) == 1
    assert not lab.exists()
    assert devices.find(lab) == ()


def test_no_command_sets_one_thing_twice_with_what_its_page_adds() -> None:
    twice = []
    for one in (one for page in PAGES for one in commands(page) if kind(one) == "run"):
        named = re.findall(r"--set (\w+)=", one.typed)
        twice += [f"{one.where}: {one.typed}"] * (len(named) > len(set(named)))
    assert twice == []
