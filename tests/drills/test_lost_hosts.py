"""The way to a host is cut, and a host dies, while its disk is measured."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from tests.rigs.chaos import Chaos
from tests.rigs.cli import over_ssh
from tests.rigs.flaky_proxy import flaky_proxy
from tests.rigs.loops import filesystem
from tests.rigs.sshd import running_sshd
from tests.rigs.waiting import until

from diskbench.providers.lab.places import VARIABLE
from diskbench.providers.lab.processes import find_groups, init_of


def test_ssh_that_is_cut_hung_and_refused_costs_a_matrix_nothing(
    chaos: Chaos, tmp_path: Path
) -> None:
    """SSH is cut, then hangs, then refuses connections while fio runs: no step is cut short."""
    target = tmp_path / "target"
    target.mkdir()
    with running_sshd(tmp_path / "sshd") as server, flaky_proxy(server.port) as proxy:
        over_ssh(chaos.user, server.config_block("box", port=proxy.port))
        file = chaos.matrix("ssh", host="box", path=str(target), seconds=12)
        process = chaos.user.start("matrix", "run", file)
        until(lambda: chaos.steps() == ["read"])
        for broken in (proxy.drop, proxy.hang, proxy.refuse):
            known = proxy.accepted
            broken()
            proxy.heal()
            until(lambda known=known: proxy.accepted > known)
        _, said = process.communicate(timeout=240)
    assert process.returncode == 0, said
    books = chaos.books()
    assert (books.cells, books.done, books.rows, books.wrong) == (1, 1, 4, ())
    for run in chaos.user.json("results", "list")["runs"]:
        (shown,) = chaos.user.json("results", "show", run["run_id"], "--alone")["runs"]
        assert shown["steps"][1]["seconds_in_fio"] >= 12, "by fio's own words"
    assert list(target.iterdir()) == []


def test_a_host_that_dies_fails_only_its_own_cell(
    chaos: Chaos, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host dies while fio runs: its cell has a reason, and nothing stays rented."""
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


def test_a_full_disk_fails_the_run_and_keeps_the_files_of_others(
    chaos: Chaos, tmp_path: Path
) -> None:
    """Another user fills the measured filesystem while fio writes: the evidence is kept."""
    with filesystem(tmp_path / "disk", 256) as target:
        profile = chaos.user.home / "slow.fio"
        profile.write_text(
            "[write]\nrw=write\nbs=64k\nsize=32m\nrate=2m\nioengine=psync\nfallocate=none\n"
        )
        process = chaos.user.start("run", "--path", str(target), "--profile", str(profile))
        until(lambda: bool(list(target.glob("diskbench-*/*"))), within_s=240)
        theirs = target / "theirs"
        free = shutil.disk_usage(target).free - 4 * 2**20
        subprocess.run(["fallocate", "-l", str(free), str(theirs)], check=True)
        subprocess.run(
            ["dd", "if=/dev/zero", f"of={theirs}", "bs=64k", "oflag=append", "conv=notrunc"],
            capture_output=True,
            check=False,
        )
        size = theirs.stat().st_size
        _, said = process.communicate(timeout=200)
        assert process.returncode == 1, said
        assert "No space left" in said
        assert {one.name for one in target.iterdir()} == {"theirs", "lost+found"}
        assert theirs.stat().st_size == size
        (run,) = chaos.user.json("results", "list")["runs"]
        assert run["state"] == "failed"
        kept = chaos.user.home / ".local/share/diskbench/evidence/runs" / run["run_id"]
        assert list(kept.glob("steps/*/step.json"))
