"""What a run costs beyond fio's own run time, for 1, 8 and 32 hosts at once.

Hosts are real sshd on loopback addresses of this machine, already up. The floor is `ssh HOST fio`
with the same job, all hosts at once; diskbench is measured as a user runs it, a fresh process each
time, the two interleaved. CPU is the controller's own (user + system, children included), memory
its largest resident set. A busy machine stretches the seconds, and CPU by a quarter: its load is
printed, and only figures of one sitting are compared. fio runs one step of 8 s; the job is
rate-limited so that 32 of them fit two cores.

    python benchmarks/overhead.py [--hosts 1,8,32] [--repeats 3]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.rigs.sshd import Sshd, running_sshd  # noqa: E402 - the tests' own sshd

RUNTIME_S = 8
PROFILE = f"""[overhead]
rw=randread
bs=4k
size=16m
ioengine=psync
direct=1
rate_iops=200
time_based
runtime={RUNTIME_S}
"""
TIMED = (
    "open stores", "connect and look", "save plan", "begin", "launch", "start and watch",
    "fio itself", "collect", "store", "release",
)  # fmt: skip
PEER = {"wall": 6.7, "cpu": 5.8, "rss": 236, 8: 10.0, 32: 30.0}
"""PerfKitBenchmarker on one ready host (s, s, MB) and on 8 and 32 (s): the issue's figures."""


@dataclass(frozen=True)
class Cost:
    """One process: wall seconds beyond the step, CPU seconds, largest resident set in MB."""

    beyond_s: float
    cpu_s: float
    rss_mb: float
    said: str = ""


def measured(argv: list[list[str]], env: dict[str, str]) -> Cost:
    """The cost of all of `argv` started at once and waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    processes = [
        subprocess.Popen(a, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for a in argv
    ]
    rss = 0.0
    for process in processes:
        _, errors = process.communicate()
        said = errors.decode(errors="replace")
        if process.returncode:
            sys.exit(f"{argv[0]} ended with {process.returncode}:\n{said[-2000:]}")
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    rss = after.ru_maxrss / 1024
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall - RUNTIME_S, cpu, rss, said)


def run_fresh(argv: list[list[str]], env: dict[str, str]) -> Cost:
    """`measured` in a child, so that ru_maxrss is of these processes only."""
    code = (
        "import json,sys;sys.path.insert(0,sys.argv[1]);import benchmarks.overhead as o;"
        "d=json.load(sys.stdin);c=o.measured(d['argv'],d['env']);"
        "print(json.dumps([c.beyond_s,c.cpu_s,c.rss_mb,c.said]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(ROOT)],
        input=json.dumps({"argv": argv, "env": env}),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr)
    return Cost(*json.loads(done.stdout.splitlines()[-1]))


def floor_command(directory: Path, profile: Path) -> str:
    """What a person would type: the job in a directory of its own, gone afterwards."""
    fio = f"fio {profile} --output-format=json+"
    return f"mkdir -p {directory} && cd {directory} && {fio} && rm -r {directory}"


def compare(count: int, repeats: int) -> None:
    """Print the medians for `count` hosts."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        hosts: list[Sshd] = [
            stack.enter_context(running_sshd(directory / f"h{i}")) for i in range(count)
        ]
        config = directory / "ssh_config"
        config.write_text("".join(h.config_block(f"bench{i}") for i, h in enumerate(hosts)))
        profile = directory / "overhead.fio"
        profile.write_text(PROFILE)
        home = directory / "home"
        (home / ".ssh").mkdir(parents=True, mode=0o700)
        (home / ".ssh" / "config").write_text(config.read_text())
        env = dict(os.environ) | {
            "HOME": str(home),
            "DISKBENCH_SSH_CONFIG": str(config),
            "XDG_DATA_HOME": str(home / "data"),
        }
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program is compiled once
        target = directory / "target"
        target.mkdir()
        floor = [
            ["ssh", "-F", str(config), f"bench{i}", floor_command(target / f"f{i}", profile)]
            for i in range(count)
        ]
        ours = [
            *(sys.executable, "-m", "diskbench", "run", "--provider", "ssh", "--quiet"),
            *("--profile", str(profile), "--path", str(target), "--output", "json", "--timing"),
            *("--if-busy", "share"),  # the hosts are one machine: they would measure in turn
        ]
        for i in range(count):
            ours += ["--host", f"bench{i}"]
        run_fresh([ours], env)  # makes the database, and compiles what no installer did
        floors, costs = [], []
        for _ in range(repeats):
            floors.append(run_fresh(floor, env))
            costs.append(run_fresh([ours], env))
        show(count, floors, costs)


def show(count: int, floors: list[Cost], costs: list[Cost]) -> None:
    """One row a figure: diskbench, the floor, and the share of the best peer."""

    def middle(rows: list[Cost], name: str) -> float:
        return statistics.median(getattr(r, name) for r in rows)

    wall, floor = middle(costs, "beyond_s"), middle(floors, "beyond_s")
    peer = PEER["wall"] if count == 1 else PEER[count]
    print(
        f"{count:>3} hosts: {wall:5.2f} s beyond fio (bare ssh {floor:.2f} s; "
        f"{wall / peer:.2f} of the peer's {peer} s), CPU {middle(costs, 'cpu_s'):.2f} s, "
        f"{middle(costs, 'rss_mb'):.0f} MB; load {os.getloadavg()[0]:.1f}"
    )
    print(
        "    where it goes (--timing of the last run; summed over hosts, which run side by side):"
    )
    for line in costs[-1].said.splitlines():
        if line.strip().endswith(TIMED) and " s  " in line:
            print(f"    {line}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", default="1,8,32")
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    for count in (int(n) for n in args.hosts.split(",")):
        compare(count, args.repeats)


if __name__ == "__main__":
    main()
