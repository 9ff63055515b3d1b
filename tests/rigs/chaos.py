"""A user with a matrix, a fake cloud and a lab of their own; neither may keep anything."""

import sqlite3
import tempfile
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml
from tests.rigs import dying
from tests.rigs.books import audit, in_directories
from tests.rigs.cli import WRITE_THEN_READ, Cli, a_user

from diskbench.providers.fake.cloud import VARIABLE as FAKE_DIR
from diskbench.providers.lab.places import VARIABLE as LAB_DIR

PROFILE = WRITE_THEN_READ.replace("4m\ndirect=0\nioengine=psync", "1m\nfilename=data\n{how}")
ROWS = [("write", "write"), ("read", "read")]
"""Step and direction of each row that one run of it has."""
KINDS = {
    "fake": ("ioengine=null", {"provider": "fake", "disk": "plain", "size": 1}),
    "cloud": ("ioengine=psync\ndirect=1", {}),
    "ssh": ("ioengine=psync", {"provider": "ssh", "replicates": 1, "runs": 2}),
    "lab": ("ioengine=psync\ndirect=1", {"provider": "lab", "disk": "gp2", "size": 1}),
}


@dataclass
class Chaos:
    """A user whose processes end when they should not, and the books of what they did."""

    user: Cli
    place: Path

    def matrix(self, kind="fake", *, seconds=1, **more):
        """The path of a matrix of two cells with one run each, unless `more` says otherwise."""
        how, rented = KINDS[kind]
        profile = self.user.home / f"{kind}{seconds}.fio"
        profile.write_text(PROFILE.format(how=how, seconds=seconds))
        defaults = {"profile": f"./{profile.name}", "replicates": 2} | rented
        limits = {"max_parallel": more.pop("max_parallel", 1)} | more.pop("limits", {})
        whole = {"name": "m", "limits": limits, "reuse_host": more.pop("reuse_host", False)}
        file = self.user.home / "matrix.yaml"
        file.write_text(yaml.safe_dump(whole | {"defaults": defaults | more}))
        return str(file)

    def at(self, moment):
        """The user, whose process meets its end (or a fault) at this moment."""
        env = self.user.extra_env | {dying.MOMENT: moment}
        return Cli(self.user.home, env, (dying.__file__,))

    def killed_at(self, moment, *words):
        done = self.at(f"kill {moment}").run("matrix", *words)
        assert done.returncode == -9, f"it did not come to {moment!r}:\n{done.stderr}"

    def all_done(self, cells=2, **where):
        """So many cells are done, and nothing is wrong."""
        books = self.books(**where)
        assert (books.cells, books.done, books.wrong) == (cells, cells, ())

    def cells(self):
        return [one["row"] for one in self.user.json("matrix", "status")["cells"]]

    def steps(self):
        database = self.user.home / ".local/share/diskbench/diskbench.db"
        asked = "SELECT step FROM diskbench_progress WHERE tick IS NOT NULL"
        try:
            with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
                return [step for (step,) in connection.execute(asked)]
        except sqlite3.OperationalError:  # it is not made yet
            return []

    def books(self, *, evidence=None, database_url=""):
        """What became of the matrix; its runs have the rows of WRITE_THEN_READ."""
        share = self.user.home / ".local/share/diskbench"
        return audit(
            database_url or f"sqlite:///{share}/diskbench.db",
            evidence or share / "evidence",
            expected=ROWS,
            left=in_directories(self.place / "fake", self.place / "lab"),
        )


@contextmanager
def a_chaos(directory):
    """A user in a home below `directory`; at the end of the block nothing may be rented."""
    user = a_user(directory)
    # On a disk, for direct I/O; where /tmp is a tmpfs, the home may be none.
    with tempfile.TemporaryDirectory(prefix="diskbench-test-", dir="/var/tmp") as made_place:
        place = Path(made_place)
        user.extra_env |= {LAB_DIR: f"{place}/lab", FAKE_DIR: f"{place}/fake"}
        yield Chaos(user, place)
        if (place / "lab").exists():
            user.run("matrix", "resume")
            user.run("gc")
        left = in_directories(place / "lab", place / "fake")
    assert left == []
