"""Hosts are older than we are: agent.py runs under each Python from 3.6 on, as it is."""

import ast
import re
from pathlib import Path

import pytest

from diskbench.hosts import agent
from diskbench.hosts.collect import collect
from diskbench.hosts.device import list_devices
from diskbench.hosts.facts import gather_and_look
from diskbench.hosts.jobs import start_and_watch
from diskbench.hosts.local import LocalHost

HERE = LocalHost()


def test_its_grammar_is_that_of_the_oldest() -> None:
    ast.parse(Path(agent.__file__).read_text(), feature_version=(3, 6))


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.6", "3.7", "3.8", "3.13"])
def test_a_step_is_measured_with_it(
    version: str, python_of, make_unit, target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = python_of(version)
    (tmp_path / "bin").mkdir()
    said = tmp_path / "said"
    shim = tmp_path / "bin" / "python3"
    shim.write_text(f'#!/bin/sh\n{found} -V >>{said} 2>&1\nexec {found} -W error "$@"\n')
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    unit = make_unit(1.2, canary_before=True)
    facts, looked = gather_and_look(HERE, target.path, device=False, look=True)
    assert facts.fio_version
    assert looked[-1].startswith("free ")
    assert list_devices(HERE)
    assert start_and_watch(HERE, unit, lambda _: None, lambda: False).fio_exit == 0
    assert Path(unit.directory, "unit.err").read_text() == ""
    names = {path.name for path in collect(HERE, unit, tmp_path / "got")}
    assert {"fio.json", "samples.txt", "lock.txt", "end.txt"} <= names
    assert {re.match(r"Python (\d+\.\d+)", line)[1] for line in said.read_text().splitlines()} == {
        version
    }
