"""A user with a matrix, a fake cloud and a lab of their own; neither may keep anything."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.rigs import dying
from tests.rigs.books import Books, audit, in_directories
from tests.rigs.cli import Cli, a_user

from diskbench.providers.fake import VARIABLE as FAKE_DIR
from diskbench.providers.lab.places import VARIABLE as LAB_DIR

WRITE_THEN_READ = """[global]
filename=data
size=1m
{how}
[write]
rw=write
bs=64k
[read]
stonewall
rw=randread
bs=4k
time_based
runtime={seconds}
"""
ROWS = [("write", "write"), ("read", "read")]
"""Step and direction of each row that one run of it has."""
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "fake": ("ioengine=null", {"provider": "fake", "disk": "plain", "size": 1}),
    "lab": ("ioengine=psync\ndirect=1", {"provider": "lab", "disk": "gp2", "size": 1}),
}


@dataclass
class Chaos:
    """A user whose processes end when they should not, and the books of what they did."""

    user: Cli
    place: Path

    def matrix(self, provider: str = "fake", *, seconds: int = 1, **more: Any) -> str:
        """The path of a matrix of two cells with one run each, unless `more` says otherwise."""
        how, rented = KINDS[provider]
        profile = self.user.home / f"{provider}{seconds}.fio"
        profile.write_text(WRITE_THEN_READ.format(how=how, seconds=seconds))
        defaults = rented | {"profile": f"./{profile.name}", "replicates": 2}
        limits = {"max_parallel": more.pop("max_parallel", 1)} | more.pop("limits", {})
        file = self.user.home / "matrix.yaml"
        file.write_text(
            yaml.safe_dump({"name": "m", "defaults": defaults | more, "limits": limits})
        )
        return str(file)

    def at(self, moment: str) -> Cli:
        """The user, whose process meets its end (or a fault) at this moment."""
        env = self.user.extra_env | {dying.MOMENT: moment}
        return Cli(self.user.home, env, (dying.__file__,))

    def killed_at(self, moment: str, *words: str) -> None:
        """Run `diskbench matrix WORDS` until it is killed there."""
        done = self.at(f"kill {moment}").run("matrix", *words)
        assert done.returncode == -9, f"it did not come to {moment!r}:\n{done.stderr}"

    def resumed(self) -> None:
        """Go on with the matrix to its end, and find every cell done."""
        done = self.user.run("matrix", "resume")
        assert done.returncode == 0, done.stderr

    def books(self, expected: Sequence[tuple[str, str]] = tuple(ROWS)) -> Books:
        share = self.user.home / ".local/share/diskbench"
        return audit(
            f"sqlite:///{share}/diskbench.db",
            share / "evidence",
            expected=expected,
            left=in_directories(self.place / "fake", self.place / "lab"),
        )


@pytest.fixture
def chaos(tmp_path: Path) -> Iterator[Chaos]:
    user = a_user(tmp_path)
    # On a disk, for direct I/O; where /tmp is a tmpfs, tmp_path would be none.
    with tempfile.TemporaryDirectory(prefix="diskbench-test-", dir="/var/tmp") as directory:
        place = Path(directory)
        user.extra_env |= {LAB_DIR: f"{place}/lab", FAKE_DIR: f"{place}/fake"}
        made = Chaos(user, place)
        yield made
        if (place / "lab").exists():
            user.run("matrix", "resume")
            user.run("gc")
        left = in_directories(place / "lab", place / "fake")
    assert left == []
