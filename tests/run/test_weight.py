"""What one run loads and how much memory it takes: it has to fit beside what it measures."""

import json
from dataclasses import dataclass, replace
from datetime import datetime

import pytest
from tests.rigs.cli import over_ssh
from tests.rigs.counted_host import counted_host

HEAVY = ("polars", "vl_convert")
"""Libraries of frames and pictures."""
MOST_MB = 250
"""What a run may take on its controller (docs/design.md#premises)."""
MAIN = """
import json, os, re, sys, time
imported = []
sys.addaudithook(lambda event, args: event == "import" and imported.append((time.time(), args[0])))
from diskbench.cli.main import main
code = main(sys.argv[1:])
# Not ru_maxrss, which begins with what the process that started this one held.
kib = int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
with open(os.environ["WEIGHT_TO"], "w") as file:
    json.dump({"modules": sorted(sys.modules), "mb": kib / 1024, "imported": imported}, file)
sys.exit(code)
"""


@dataclass(frozen=True)
class Weight:
    """The modules that were loaded at the end of a command, its peak of memory in MB, and when each
    module was imported, in Unix seconds."""

    modules: set[str]
    mb: float
    imported: list[tuple[float, str]]


def weighed(user, tmp_path, *args):
    """Run `diskbench ARGS` and weigh it."""
    to = tmp_path / "weight.json"
    env = user.extra_env | {"WEIGHT_TO": str(to)}
    replace(user, program=("-c", MAIN), extra_env=env).done(*args)
    weight = json.loads(to.read_text())
    return Weight(set(weight["modules"]), weight["mb"], weight["imported"])


def test_a_run_loads_nothing_that_draws_and_fits(user, target, tmp_path):
    run = ("run", "--path", str(target), "--profile", user.job(seconds=2))
    user.run(*run)  # makes the database
    weight = weighed(user, tmp_path, *run)
    assert [name for name in HEAVY if name in weight.modules] == []
    assert weight.mb <= MOST_MB
    (measured, _) = user.json("results", "list")["runs"]
    (shown,) = user.json("results", "show", measured["run_id"])["runs"]
    logs = [c["holds"] for one in shown["audits"] for c in one["checks"] if c["name"] == "logs"]
    assert logs[-1] is True  # its logs were audited nevertheless


@pytest.mark.parametrize("output", ["table", "json"])
def test_nothing_is_imported_from_the_first_step_to_the_last(output, user, target, tmp_path):
    run = ("run", "--path", str(target), "--profile", user.job(), "--output", output)
    weight = weighed(user, tmp_path, *run)
    (shown,) = user.json("results", "show", "last")["runs"]
    begin = datetime.fromisoformat(shown["started_at"]).timestamp()
    end = max(datetime.fromisoformat(step["finished_at"]) for step in shown["steps"]).timestamp()
    assert begin < end
    assert [name for at, name in weight.imported if begin < at < end] == []


# What one run starts on its host: little, since the host is what it measures.


ONE_STEP = """\
[reads]
rw=randread
bs=4k
size=1m
ioengine=psync
rate_iops=200
time_based
runtime=1s
"""
MOST_PROCESSES = 62
"""How many processes and threads a run of one second may start, on a machine so busy that many
seconds pass. They are 41: 18 of sshd and the frames of commands, 14 of fio, which is asked, tried
without a disk and run; before 2026-11-28, when shell ran on the host, about 117."""
COMMANDS = 5
"""Facts and directory; fio's parser; directories and start, which is followed, and through which
fio is permitted; files; cleanup."""


def test_a_run_starts_few_processes_on_its_host(user, target, tmp_path):
    with counted_host(tmp_path / "sshd") as host:
        over_ssh(user, host.server.config_block("box"))
        before = host.counts()
        on_host = ("--provider", "ssh", "--host", "box", "--path", str(target))
        user.done("run", *on_host, "--profile", user.job(ONE_STEP), "--quiet")
        started = host.counts().since(before)
    assert (started.connections, started.commands) == (1, COMMANDS)
    assert started.processes <= MOST_PROCESSES
