"""What a run on an emulated cloud measures, and the rows that are kept of it."""

import shlex
from pathlib import Path

from emulators import guests
from tests.cloud import rented, rented_azure, rented_gcp
from tests.rigs.cli import a_user, merged_rows

REGIONS = {"aws": rented.REGION, "azure": rented_azure.REGION, "gcp": rented_gcp.REGION}
EAGER = str(Path(__file__).with_name("eager.py"))
WRITE_THEN_READ = """[global]
filename=data
size=4m
direct=1
ioengine=libaio
iodepth=16
[write]
rw=write
bs=256k
[read]
stonewall
rw=randread
bs={block}
time_based
runtime={seconds}
"""


def a_renter(tmp_path, env):
    """A new user of an emulated cloud, whose diskbench waits for nothing longer than it must."""
    made = a_user(tmp_path)
    made.extra_env = env
    made.program = (EAGER,)
    return made


def rents(user, provider, cloud, flags, *, seconds=0):
    """The run that rents by these flags, ended; of WRITE_THEN_READ, if it says for how long."""
    where = ("--provider", provider, "--region", REGIONS[provider])
    what = shlex.split(flags)
    if seconds:
        profile = user.home / "mine.fio"
        profile.write_text(WRITE_THEN_READ.format(seconds=seconds, block="4k"))
        what += ["--profile", str(profile)]
    return user.run("run", *where, "--endpoint-url", cloud.endpoint, *what)


def document(user, done):
    """The rows of the user's only run, as they are kept. `done` is the command, which ended."""
    assert done.returncode == 0, done.stderr
    (row,) = user.json("results", "list")["runs"]
    (found,) = user.json("results", "show", row["run_id"])["runs"]
    assert found["state"] == "done"
    assert found["emulated"] is True
    return found


def read_iops(found, *, cached=False):
    """IOPS of the reads of WRITE_THEN_READ, whose two steps must both be there. A disk with a host
    cache (`cached`) is measured cold and then warm in each, and the warm reads are returned."""
    rows = merged_rows(found)
    passes = ("-cold", "-warm") if cached else ("",)
    steps = [(row["step"], row["direction"]) for row in rows]
    assert steps == [(f"{way}{one}", way) for way in ("write", "read") for one in passes]
    *_, last = [row["iops"] for row in rows if row["direction"] == "read"]
    return float(last)


def is_measuring(machines):
    """Whether a step runs in one of these guests; a canary's fio has another output."""
    commands = [one for name in machines for one in guests.commands(name)]
    return any("\0--output=pipe.fio\0" in one for one in commands)


# IOPS that a machine of two cores reaches beside a full test run. The slowest seen beside four test
# workers was 4,000 of 4 KiB where 6,600 were allowed (2026-11-23).
CERTAIN_IOPS = 1000


def held_at(measured, limit, *, within=0.34):
    """Was `measured` (IOPS) held at `limit` (IOPS), give or take the fraction `within`?

    On any machine no load passes above a throttle. That a load comes near it is asked up to
    `CERTAIN_IOPS` only: a higher bound would test the speed of the machine.
    """
    return min(limit * (1 - within), CERTAIN_IOPS) <= measured <= limit * (1 + within)
