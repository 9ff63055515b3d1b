"""How fast lab hosts start, and how exactly their burst ends.

Prints the time from nothing to an sshd that answers, its disk limited, for one host and for many at
once; and by how many per cent the cliff of a gp2 disk of 20 GiB misses the second that the
catalogue's own model predicts. Needs root; all of it lies in a directory of its own.

    python benchmarks/lab.py [--hosts 50] [--repeats 5] [--cliff-s 20]
"""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from diskbench.catalog.bucket import lasts_s
from diskbench.catalog.lookup import limits
from diskbench.model.rental import Acquired, DiskSpec
from diskbench.providers.lab import machines
from diskbench.providers.lab.places import VARIABLE
from diskbench.providers.lab.request import LabRequest

GP2 = DiskSpec(type="gp2", size_gib=20)
AT_ONCE = 8
"""Threads that start hosts: more than there are cores, for each also waits."""


def one(repeats: int) -> list[float]:
    """Seconds to start one host, `repeats` times."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        machines.acquire("one", LabRequest(disk=GP2))
        times.append(time.perf_counter() - start)
        machines.release("one")
    return times


def many(hosts: int) -> tuple[float, float]:
    """Seconds to start, and to give back, many hosts at once."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        start = time.perf_counter()
        made = list(
            pool.map(lambda i: machines.acquire(f"h{i}", LabRequest(disk=GP2)), range(hosts))
        )
        up = time.perf_counter() - start
        assert len({host.address for host in made}) == hosts
        start = time.perf_counter()
        list(pool.map(lambda i: machines.release(f"h{i}"), range(hosts)))
        return up, time.perf_counter() - start


def cliff(seconds: float) -> dict[str, float]:
    """A scaled gp2 disk under random reads: when its rate fell, and when it should have."""
    disk = limits("aws", GP2.type, GP2.size_gib)
    allowance = disk.pools[0].iops
    real = lasts_s(allowance) if allowance else None
    assert real is not None
    scale = real / seconds
    host = machines.acquire("cliff", LabRequest(disk=GP2, time_scale=scale))
    points = trace(host, seconds + 5)
    machines.release("cliff")
    burst = statistics.mean(v for at, v in points if seconds * 0.1 < at < seconds * 0.8)
    base = statistics.mean(v for at, v in points if at > seconds + 2)
    # Of five points each: the kernel lets I/O through in slices of a tenth of a second.
    smooth = [(points[i][0], statistics.mean(v for _, v in points[i - 2 : i + 3]))
              for i in range(2, len(points) - 2)]  # fmt: skip
    fell = next(at for at, v in smooth if at > 1 and v < (burst + base) / 2)
    spent = sum(v * (at - last) for (at, v), (last, _) in zip(points[1:], points, strict=False))
    spent -= 100 * points[-1][0]
    return {
        "predicted_s": seconds, "fell_s": fell, "burst_iops": burst, "base_iops": base,
        "error_percent": 100 * (fell / seconds - 1),
        "credit_error_percent": 100 * (spent / (5_400_000 / scale) - 1),
    }  # fmt: skip


def trace(host: Acquired, seconds: float) -> list[tuple[float, float]]:
    """(second, IOPS) every tenth of a second of random 4 KiB reads."""
    assert host.ssh is not None
    job = shlex.join(
        ["fio", "--name=t", f"--filename={host.device}", "--rw=randread", "--bs=4k", "--direct=1",
         "--ioengine=libaio", "--iodepth=32", f"--runtime={seconds:g}", "--time_based",
         "--write_iops_log=t", "--log_avg_msec=100"]
    )  # fmt: skip
    script = f"cd /tmp && {job} >/dev/null && cat t_iops.1.log"
    log = subprocess.run(
        ["ssh", "-F", host.ssh.config, host.address, script],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    rows = [line.split(",") for line in log.splitlines()]
    return [(float(row[0]) / 1000, float(row[1])) for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cliff-s", type=float, default=20)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="diskbench-lab-", dir="/var/tmp") as directory:
        os.environ[VARIABLE] = f"{directory}/lab"
        load = os.getloadavg()[0]
        times = one(asked.repeats)
        print(f"{os.cpu_count()} cores, load {load:.1f}")
        print(f"one host: median {statistics.median(times):.3f} s, slowest {max(times):.3f} s")
        up, down = many(asked.hosts)
        print(f"{asked.hosts} at once: {up:.2f} s up, {down:.2f} s down")
        for name, value in cliff(asked.cliff_s).items():
            print(f"cliff {name}: {value:.2f}")


if __name__ == "__main__":
    main()
