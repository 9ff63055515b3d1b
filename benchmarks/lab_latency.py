"""How exactly a lab disk's latency is the one asked for, and how many requests overlap in it.

For each latency, and for the same disk without one (the floor): the median at queue depth 1, IOPS
at 1, 32 and 64, and MiB/s of large requests. Needs root; all of it lies in a directory of its own.

    python benchmarks/lab_latency.py [--latencies 0.5,1,5] [--seconds 4]
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import tempfile
from typing import Any

from diskbench.model.rental import Acquired, DiskSpec
from diskbench.providers.lab import machines
from diskbench.providers.lab.places import VARIABLE
from diskbench.providers.lab.request import CUSTOM, LabRequest
from diskbench.units import MIB

DISK = DiskSpec(type=CUSTOM, size_gib=1)
LOADS = (
    ("randread", "4k", 1), ("randwrite", "4k", 1), ("randread", "4k", 32), ("randwrite", "4k", 32),
    ("randread", "4k", 64), ("read", "1m", 8), ("write", "1m", 8),
)  # fmt: skip


def measured(host: Acquired, rw: str, size: str, depth: int, seconds: float) -> dict[str, Any]:
    """What fio says of one load."""
    assert host.ssh is not None
    job = shlex.join(
        ["fio", "--name=t", f"--filename={host.device}", "--direct=1", "--ioengine=libaio",
         f"--rw={rw}", f"--bs={size}", f"--iodepth={depth}", "--size=512m", "--ramp_time=1",
         f"--runtime={seconds:g}", "--time_based", "--output-format=json"]
    )  # fmt: skip
    printed = subprocess.run(
        ["ssh", "-F", host.ssh.config, host.address, f"cd /tmp && {job}"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    jobs: dict[str, Any] = json.loads(printed[printed.index("{") :])["jobs"][0]
    return jobs["write" if "write" in rw else "read"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--latencies", default="0.5,1,5")
    parser.add_argument("--seconds", type=float, default=4)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="diskbench-lab-", dir="/var/tmp") as directory:
        os.environ[VARIABLE] = f"{directory}/lab"
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
        for latency in (0.0, *map(float, asked.latencies.split(","))):
            host = machines.acquire("one", LabRequest(disk=DISK, latency_ms=latency))
            try:
                # What was never written is not read from anywhere.
                measured(host, "write", "1m", 8, 1)
                for load in LOADS:
                    print(_line(latency, *load, measured(host, *load, asked.seconds)), flush=True)
            finally:
                machines.release("one")


def _line(latency: float, rw: str, size: str, depth: int, done: dict[str, Any]) -> str:
    quantiles = done["clat_ns"]["percentile"]
    p50, p99 = (quantiles[f"{q}.000000"] / 1e6 for q in (50, 99))
    return (
        f"{latency:4g} ms  {rw:9} {size:>2} QD{depth:<3} {done['iops']:8,.0f} IOPS "
        f"{done['bw_bytes'] / MIB:7,.0f} MiB/s  least {done['lat_ns']['min'] / 1e6:6.3f} "
        f"median {p50:6.3f} p99 {p99:7.3f} ms"
    )


if __name__ == "__main__":
    main()
