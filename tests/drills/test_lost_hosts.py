"""The way to a host is cut, and a host dies, while its disk is measured."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from tests.cloud.rented import until
from tests.drills.book import drill
from tests.rigs.chaos import Chaos
from tests.rigs.flaky_proxy import flaky_proxy
from tests.rigs.sshd import running_sshd

from diskbench.providers.lab.groups import find_groups, init_of
from diskbench.providers.lab.places import VARIABLE


@drill(
    done="SSH is cut, then hangs, then refuses connections while fio runs",
    holds="the run ends with every row once, and the host is as it was",
)
def test_ssh_that_is_cut_hung_and_refused_costs_a_matrix_nothing(
    chaos: Chaos, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    target.mkdir()
    with running_sshd(tmp_path / "sshd") as server, flaky_proxy(server.port) as proxy:
        config = chaos.user.home / "ssh_config"
        config.write_text(server.config_block("box", port=proxy.port))
        config.chmod(0o600)
        chaos.user.extra_env["DISKBENCH_SSH_CONFIG"] = str(config)
        file = chaos.matrix("ssh", host="box", path=str(target), seconds=12)
        process = chaos.user.start("matrix", "run", file)
        until(lambda: chaos.steps() == ["read"])
        for broken in (proxy.drop, proxy.hang, proxy.refuse):
            known = proxy.accepted
            broken()
            proxy.heal()
            until(lambda known=known: proxy.accepted > known)
        _, said = process.communicate(timeout=100)
    assert process.returncode == 0, said
    books = chaos.books()
    assert (books.cells, books.done, books.rows, books.wrong) == (1, 1, 4, ())
    assert list(target.iterdir()) == []


@drill(
    done="the host dies while fio runs",
    holds="its cell fails with a reason, the other cell is measured, nothing stays rented",
)
def test_a_host_that_dies_fails_only_its_own_cell(
    chaos: Chaos, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, chaos.user.extra_env[VARIABLE])
    process = chaos.user.start("matrix", "run", chaos.matrix("lab", seconds=15))
    until(lambda: chaos.steps() == ["read"])
    (host,) = [path.name for path in (chaos.place / "lab").iterdir() if path.name[0] != "."]
    init = init_of(find_groups().of(host))
    assert init is not None
    os.kill(init, signal.SIGKILL)
    _, said = process.communicate(timeout=150)
    assert process.returncode == 1, said
    first, second = chaos.cells()
    assert (first["state"], second["state"]) == ("failed", "done")
    assert first["error"]
    books = chaos.books()
    assert (books.done, books.failed, books.wrong) == (1, 1, ())
