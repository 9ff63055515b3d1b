"""What diskbench does on the host while fio runs: CPU and I/O of everything there but fio.

    python benchmarks/beside_fio.py [--repeats 5] [--seconds 20] [--json FILE]

The host is a real sshd in a cgroup of its own, so that whatever it starts is counted, also what
ends within a millisecond: the CPU of the group (cpuacct, or cpu.stat of cgroup v2) less that of
fio's threads (/proc/PID/task/*/schedstat, in ns), between two looks while fio runs. I/O is that of
/proc/PID/io, of all processes but fio and of the children that they waited for. The same with
`ssh HOST fio`, in turn. Needs root. Ends with 1 beyond 1 % of a core.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.overhead import light_job  # noqa: E402 - found by the path above
from tests.rigs.sshd import running_sshd  # noqa: E402 - the tests' own sshd

MOST_PERCENT = 1.0
CGROUPS = Path("/sys/fs/cgroup")
SETTLE_S = 2.0
"""What comes before fio (parsing, a canary) is shorter."""


@dataclass(frozen=True)
class Look:
    """The host at one moment: CPU of all and of fio in ns, bytes of I/O of all but fio."""

    at_s: float
    cpu_ns: int
    fio_ns: int
    io_bytes: int


@contextmanager
def group():
    """A cgroup that counts CPU: its directory."""
    base = CGROUPS / "cpuacct" if (CGROUPS / "cpuacct").is_dir() else CGROUPS
    made = base / f"diskbench-beside-{os.getpid()}"
    made.mkdir()
    try:
        yield made
    finally:
        for pid in (made / "cgroup.procs").read_text().split():  # only what was started in it
            with suppress(ProcessLookupError):
                os.kill(int(pid), 9)
        for _ in range(100):
            with suppress(OSError):
                made.rmdir()
                break
            time.sleep(0.05)


def look(directory):
    """The processes of the group now."""
    fio, moved = 0, 0
    for pid in (directory / "cgroup.procs").read_text().split():
        process = Path("/proc", pid)
        with suppress(OSError):
            if (process / "comm").read_text().strip() == "fio":
                for task in (process / "task").iterdir():
                    fio += int((task / "schedstat").read_text().split()[0])
                continue
            counters = dict(line.split(": ") for line in (process / "io").read_text().splitlines())
            moved += int(counters["read_bytes"]) + int(counters["write_bytes"])
    usage = directory / "cpuacct.usage"
    if usage.exists():
        total = int(usage.read_text())
    else:
        stat = dict(line.split() for line in (directory / "cpu.stat").read_text().splitlines())
        total = int(stat["usage_usec"]) * 1000
    return Look(time.monotonic(), total, fio, moved)


def fio_of(directory):
    """The processes of fio in the group."""
    found = set()
    for pid in (directory / "cgroup.procs").read_text().split():
        with suppress(OSError):
            if Path("/proc", pid, "comm").read_text().strip() == "fio":
                found.add(pid)
    return found


def beside(argv, env, directory, seconds):
    """(percent of a core, bytes a second) of all but fio, while `argv` lets it run."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=said)
        # fio also runs for a moment to parse the job and as a canary: the step's is there to stay.
        lasting = set()
        while not lasting:
            if process.poll() is not None:
                said.seek(0)
                sys.exit(f"{argv[0]} ended before fio began:\n{said.read().decode()[-2000:]}")
            there = fio_of(directory)
            time.sleep(SETTLE_S)
            lasting = there & fio_of(directory)
        first = look(directory)
        time.sleep(seconds - 3 * SETTLE_S)
        last = look(directory)
        if not last.fio_ns:
            sys.exit("fio ended before the second look: give it more --seconds")
        process.wait()
    lasted = last.at_s - first.at_s
    cpu = (last.cpu_ns - first.cpu_ns) - (last.fio_ns - first.fio_ns)
    return 100 * cpu / 1e9 / lasted, (last.io_bytes - first.io_bytes) / lasted


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--json", type=Path, help="write the rows of script/bench to this file")
    options = parser.parse_args()
    found = {"bare": [], "ours": []}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        directory = stack.enter_context(group())
        enter = f'echo $$ >{directory}/cgroup.procs && exec "$@"'
        server = stack.enter_context(
            running_sshd(folder / "host", around=("sh", "-c", enter, "sh"))
        )
        config, job, target = folder / "ssh_config", folder / "beside.fio", folder / "target"
        config.write_text(server.config_block("bench"))
        job.write_text(light_job(options.seconds))
        target.mkdir()
        home = folder / "home"
        home.mkdir()
        env = os.environ | {"HOME": str(home), "DISKBENCH_SSH_CONFIG": str(config)}
        bare = ["ssh", "-F", str(config), "bench", f"cd {target} && fio {job}"]
        ours = [sys.executable, "-m", "diskbench", "run", "--provider", "ssh", "--host", "bench"]
        ours += ["--profile", str(job), "--path", str(target), "--quiet"]
        for _ in range(options.repeats):
            found["bare"].append(beside(bare, env, directory, options.seconds))
            found["ours"].append(beside(ours, env, directory, options.seconds))
    for name, values in found.items():
        cpu, moved = zip(*values, strict=True)
        print(
            f"{name}: {statistics.median(cpu):.2f} % of a core ({min(cpu):.2f}–{max(cpu):.2f}), "
            f"{statistics.median(moved):,.0f} B/s of I/O; load {os.getloadavg()[0]:.1f}"
        )
    if options.json:
        options.json.write_text(json.dumps({"rows": list(rows(found))}))
    return 0 if statistics.median(cpu for cpu, _ in found["ours"]) <= MOST_PERCENT else 1


def rows(found):
    """The rows of script/bench."""
    for key, of in (("ours", ""), ("bare", ", with `ssh HOST fio`")):
        values = zip(*found[key], strict=True)
        for what, unit, ours in zip(("CPU", "I/O"), ("%", "B/s"), values, strict=True):
            name = f"{what} beside fio on the host{of}"
            yield {"name": name, "unit": unit, "ours": ours, "floor": None}


if __name__ == "__main__":
    sys.exit(main())
