"""What a run costs beyond fio's own run time, for 1, 8 and 32 hosts at once.

Hosts are real sshd on loopback addresses of this machine, already up. The floor is `ssh HOST fio`
with the same job, all hosts at once; diskbench is measured as a user runs it, a fresh process each
time, the two interleaved. CPU is the controller's own (user + system, children included), memory
its largest resident set. A busy machine stretches the seconds, and CPU by a quarter: its load is
printed, and only figures of one sitting are compared: the ratio to the floor is the median of
the ratios of neighbours. fio runs one step of 8 s; the job is rate-limited so that 32 of them fit
two cores.

    python benchmarks/overhead.py [--hosts 1,8,32] [--repeats 3] [--json FILE]
"""

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


def light_job(seconds: int) -> str:
    """A job of so few I/Os that 32 of them fit two cores.

    fio spins between two I/Os when its start fell on a busy machine, where a sleep measures as
    milliseconds: at 200 I/Os a second, 8 bare hosts burn 17.6 s of CPU in these 8 s.
    """
    return f"""[overhead]
rw=randread
bs=4k
size=16m
ioengine=psync
direct=1
rate_iops=10
time_based
runtime={seconds}
"""


TIMED = (
    "open stores", "connect and look", "save plan", "begin", "launch", "start and watch",
    "fio itself", "collect", "store", "release",
)  # fmt: skip


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


def environment(home: Path, config: str) -> dict[str, str]:
    """The environment of a user whose OpenSSH configuration is `config`."""
    (home / ".ssh").mkdir(parents=True, mode=0o700)
    (home / ".ssh" / "config").write_text(config)
    env = dict(os.environ) | {
        "HOME": str(home),
        "DISKBENCH_SSH_CONFIG": str(home / ".ssh" / "config"),
        "XDG_DATA_HOME": str(home / "data"),
    }
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program is compiled once
    return env


def run_command(profile: Path, target: Path, count: int) -> list[str]:
    """The run of `profile` on the hosts bench0, bench1 ..., `count` of them."""
    command = [
        *(sys.executable, "-m", "diskbench", "run", "--provider", "ssh", "--quiet"),
        *("--profile", str(profile), "--path", str(target), "--output", "json", "--timing"),
        *("--if-busy", "share"),  # the hosts are one machine: they would measure in turn
    ]
    for i in range(count):
        command += ["--host", f"bench{i}"]
    return command


def compare(count: int, repeats: int) -> list[dict[str, object]]:
    """Print the figures for `count` hosts, and return their rows."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        hosts: list[Sshd] = [
            stack.enter_context(running_sshd(directory / f"h{i}")) for i in range(count)
        ]
        config = "".join(h.config_block(f"bench{i}") for i, h in enumerate(hosts))
        env = environment(directory / "home", config)
        profile = directory / "overhead.fio"
        profile.write_text(light_job(RUNTIME_S))
        target = directory / "target"
        target.mkdir()
        file = env["DISKBENCH_SSH_CONFIG"]
        floor = [
            ["ssh", "-F", file, f"bench{i}", floor_command(target / f"f{i}", profile)]
            for i in range(count)
        ]
        ours = run_command(profile, target, count)
        run_fresh([ours], env)  # makes the database, and compiles what no installer did
        floors, costs = [], []
        for _ in range(repeats):
            floors.append(run_fresh(floor, env))
            costs.append(run_fresh([ours], env))
    show(count, floors, costs)
    return rows_of(count, floors, costs)


def rows_of(count: int, floors: list[Cost], costs: list[Cost]) -> list[dict[str, object]]:
    """The rows of script/bench (benchmarks/bench_rows.py)."""
    hosts = "1 host" if count == 1 else f"{count} hosts"
    floor = [one.beyond_s for one in floors]
    return [
        {"name": f"{hosts}, {name}", "unit": unit, "ours": ours, "floor": of_floor}
        for name, unit, ours, of_floor in (
            ("beyond fio", "s", [one.beyond_s for one in costs], floor),
            ("CPU", "s", [one.cpu_s for one in costs], None),
            ("memory", "MB", [one.rss_mb for one in costs], None),
        )
    ]


def show(count: int, floors: list[Cost], costs: list[Cost]) -> None:
    """Print diskbench beside the floor, and where the last run's time went."""

    def of(values: list[float]) -> str:
        return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"

    ratios = [ours.beyond_s / floor.beyond_s for ours, floor in zip(costs, floors, strict=True)]
    print(
        f"{count:>3} hosts: {of([cost.beyond_s for cost in costs])} s beyond fio, {of(ratios)} "
        f"times the {statistics.median(floor.beyond_s for floor in floors):.2f} s of bare ssh\n"
        f"    CPU {of([cost.cpu_s for cost in costs])} s, "
        f"{of([cost.rss_mb for cost in costs])} MB; load {os.getloadavg()[0]:.1f}"
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
    parser.add_argument("--json", type=Path, help="write the rows of script/bench to this file")
    args = parser.parse_args()
    rows = [row for n in args.hosts.split(",") for row in compare(int(n), args.repeats)]
    if args.json is not None:
        args.json.write_text(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
