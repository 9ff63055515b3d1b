"""Measurements of different disks as files that `results import` reads, with known rates."""

import datetime as dt
import json
from dataclasses import dataclass

from tests.rigs.synthetic import Noise, bucket, flat

QUIET = Noise(sd=0.01)


@dataclass(frozen=True)
class Job:
    """One job of fio's at a rate: `rw`, block in bytes, depth, IOPS, seconds."""

    name: str
    rw: str
    block: int
    depth: int
    iops: float
    seconds: int = 60
    direct: bool = True
    size: str = "16g"

    def document(self, group):
        ios = round(self.iops * self.seconds)
        mean_ns = self.depth / self.iops * 1e9
        quantiles = {"50.000000": mean_ns, "99.000000": 2 * mean_ns, "99.900000": 3 * mean_ns}
        latency = {"N": ios, "mean": mean_ns, "min": mean_ns / 2, "max": 4 * mean_ns, "stddev": 1.0}
        stats = {"io_bytes": ios * self.block, "total_ios": ios, "runtime": self.seconds * 1000}
        stats |= {"clat_ns": latency | {"percentile": quantiles}}
        options = {"rw": self.rw, "bs": str(self.block), "iodepth": str(self.depth)}
        options |= {"ioengine": "libaio", "direct": str(int(self.direct)), "size": self.size}
        options |= {"runtime": str(self.seconds), "time_based": "1"}
        entry = {"jobname": self.name, "groupid": group, "error": 0, "usr_cpu": 4.0, "sys_cpu": 8.0}
        way = "write" if "write" in self.rw else "read"
        return entry | {"job options": options, way: stats}


def fio_file(folder, *jobs):
    document = {"fio version": "fio-3.33", "timestamp_ms": 1_700_000_000_000, "global options": {}}
    document["jobs"] = [job.document(group) for group, job in enumerate(jobs)]
    (folder / "fio.json").write_text(json.dumps(document))
    return ["fio.json"]


def bucket_logs(folder, credit, burst, baseline, seconds, *, kib=4):
    """fio's logs of each second on a disk with a token bucket, blocks of `kib` KiB."""
    return _logs(folder, bucket(credit, burst, baseline, seconds, QUIET, seed=1), kib)


def flat_logs(folder, iops, seconds, *, kib=4):
    return _logs(folder, flat(iops, seconds, QUIET, seed=1), kib)


def _logs(folder, series, kib):
    for kind, factor in (("iops", 1.0), ("bw", kib)):
        rows = (
            f"{second * 1000}, {round(value * factor)}, 0, 0, 0, 0\n"
            for second, value in enumerate(series, 1)
        )
        (folder / f"disk_{kind}.1.log").write_text("".join(rows))
    return ["disk_iops.1.log", "disk_bw.1.log"]


def gobonniego_file(folder, *, fell_in=34):
    """GoBonnieGo's JSON of 40 runs on a 20 GiB gp2 whose credit is gone in run `fell_in`."""
    at = dt.datetime(2018, 2, 14, tzinfo=dt.UTC)
    results = []
    for run in range(1, 41):
        write = 102.6e6 if run <= fell_in else 28.2e6
        read, iops = (92.3e6, 3634) if run < fell_in else (13.0e6, 108)
        wave = 1 + 0.015 * (run % 5 - 2)
        moved, seconds = 15_680_000_000, (15.68e9 / write / wave, 15.68e9 / read / wave)
        told = {"start_time": at.isoformat(), "write_bytes": moved, "write_seconds": seconds[0]}
        told |= {"read_bytes": moved, "read_seconds": seconds[1], "io_seconds": 5.0}
        results.append(told | {"io_operations": round(iops * wave * 5)})
        at += dt.timedelta(seconds=sum(seconds) + 8)
    document = {"version": "1.0.8", "gobonniego_directory": "/mnt", "num_readers_and_writers": 8}
    document |= {"physical_memory_bytes": round(7.5 * 2**30), "results": results}
    (folder / "gobonniego.json").write_text(json.dumps(document))
    return ["gobonniego.json"]
