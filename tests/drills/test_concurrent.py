"""Measurements of one disk take turns, whoever starts them and by whatever path."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.drills.book import drill
from tests.rigs.cli import Cli

PROFILE = """[global]
size=8m
ioengine=psync
direct=1
[write]
rw=write
bs=64k
end_fsync=1
[read]
stonewall
rw=randread
bs=4k
time_based
runtime={seconds}
"""


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Makes a loop device with ext4 on it and mounts it; the files of each are a disk of theirs."""
    mounted: list[Path] = []
    devices: list[str] = []

    def make(name: str) -> Path:
        image, at = tmp_path / f"{name}.img", tmp_path / name
        with image.open("wb") as file:
            file.truncate(64 * 2**20)
        subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True)
        done = subprocess.run(
            ["losetup", "-f", "--show", str(image)], check=True, capture_output=True, text=True
        )
        devices.append(done.stdout.strip())
        at.mkdir()
        subprocess.run(["mount", devices[-1], str(at)], check=True)
        mounted.append(at)
        return at

    yield make
    for at in mounted:
        subprocess.run(["umount", str(at)], check=True)
    for device in devices:
        subprocess.run(["losetup", "-d", device], check=True)


def users(tmp_path: Path, count: int) -> list[Cli]:
    """Users who know nothing of each other: homes, databases and evidence of their own."""
    made = []
    for number in range(count):
        home = tmp_path / f"home{number}"
        home.mkdir()
        made.append(Cli(home))
    return made


def command(user: Cli, target: Path, *more: str, seconds: int = 2) -> list[str]:
    profile = user.home / "mine.fio"
    profile.write_text(PROFILE.format(seconds=seconds))
    return ["run", "--path", str(target), "--profile", str(profile), "--output", "json", *more]


def at_once(
    tmp_path: Path, targets: list[Path], *more: str
) -> list[subprocess.CompletedProcess[str]]:
    """As many users as targets measure at the same time; what each of them saw."""
    begun = [
        user.start(*command(user, target, *more))
        for user, target in zip(users(tmp_path, len(targets)), targets, strict=True)
    ]
    ended = []
    for process in begun:
        out, err = process.communicate(timeout=240)
        ended.append(subprocess.CompletedProcess(process.args, process.returncode, out, err))
    return ended


def spans(done: subprocess.CompletedProcess[str]) -> list[tuple[datetime, datetime]]:
    """When each step of a run began and ended."""
    (run,) = json.loads(done.stdout)["runs"]
    assert run["state"] == "done", done.stderr
    return [
        (datetime.fromisoformat(s["started_at"]), datetime.fromisoformat(s["finished_at"]))
        for s in run["steps"]
    ]


def warnings(done: subprocess.CompletedProcess[str]) -> set[str]:
    (run,) = json.loads(done.stdout)["runs"]
    return {one["code"] for step in run["steps"] for one in step["warnings"]}


@drill(
    done="four users measure one directory at the same time",
    holds="each trial runs alone from its first step to its last, and says whom it waits for",
)
def test_four_at_once_on_one_path_take_turns(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    ended = at_once(tmp_path, [target] * 4)
    assert [one.returncode for one in ended] == [0, 0, 0, 0], [one.stderr for one in ended]
    whole = sorted((spans(one)[0][0], spans(one)[-1][1]) for one in ended)
    for (_, end), (begin, _) in zip(whole, whole[1:], strict=False):
        assert end <= begin
    assert sum("waits for the disk" in one.stderr for one in ended) >= 3
    assert not any("disk-shared" in warnings(one) for one in ended)


@drill(
    done="four users measure one directory at the same time with --if-busy fail",
    holds="those that meet another are refused in words that name it, and none shares the disk",
)
def test_four_at_once_are_refused_by_choice(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    ended = at_once(tmp_path, [target] * 4, "--if-busy", "fail")
    done = [one for one in ended if one.returncode == 0]
    refused = [one for one in ended if one.returncode != 0]
    assert done
    assert refused
    whole = sorted((spans(one)[0][0], spans(one)[-1][1]) for one in done)
    for (_, end), (begin, _) in zip(whole, whole[1:], strict=False):
        assert end <= begin
    for one in refused:
        assert one.returncode in (1, 2)
        assert "is measured by trial" in one.stderr
        assert "Traceback" not in one.stderr
    assert list(target.iterdir()) == []
