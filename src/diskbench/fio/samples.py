"""What is recorded each second beside fio: the machine's load, and fio's own progress.

A sample is a marker line `@ <Unix time>`, then as the kernel prints them: the `cpu*` and `ctxt`
lines of /proc/stat, the line of /proc/loadavg, and the line of each disk of the target in
/proc/diskstats, whose counters are summed. With Δ the difference between a step's last and first
sample (Documentation/admin-guide/iostats.rst, proc(5)):

    busy = Δ(all but idle and iowait) / Δ all,   steal = Δ steal / Δ all,   bytes = 512 · Δ sectors

fio's progress are the lines that the unit beside it (hosts/agent.py) writes to live.tsv.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from diskbench.fio.reported import Total
from diskbench.model.processor import MachineUse
from diskbench.model.result import Tick

_SECTOR_BYTES = 512
_IDLE, _IOWAIT, _STEAL = 3, 4, 7
_PROCESSES, _IRQS = slice(0, 3), slice(5, 7)
_CPU_FIELDS = 8
"""user nice system idle iowait irq softirq steal; user includes the guest times after them."""
_DISK_FIELDS = 14
_DIGITS = 20
_LATEST_S = 1e12
"""Later times are invalid: this one is 30,000 years from now."""
_T = TypeVar("_T")
_Cpus = dict[str, list[int]]


@dataclass
class _Sample:
    at_s: float
    cpus: _Cpus = field(default_factory=dict)
    disks: dict[str, list[int]] = field(default_factory=dict)
    disk: list[int] | None = None
    """The sum of `disks`; None where one of those that are sampled is missing."""


def parse_samples(data: bytes) -> MachineUse | None:
    """The summary of a step's samples; None with fewer than two.

    Lines that cannot be read are skipped: the last sample of a killed step may be cut short.
    """
    samples = _samples(data.decode(errors="replace"))
    if len(samples) < 2:
        return None
    cores = _ends(samples, lambda s: s.cpus or None)
    disk = _ends(samples, lambda s: s.disk)
    everything = _cpu_delta(cores, "cpu")
    of_cores = [
        delta
        for name in (cores[1] if cores else {})
        if name != "cpu" and (delta := _cpu_delta(cores, name))
    ]
    busiest = max(of_cores, key=_busy, default=None)
    moved = [b - a for a, b in zip(disk[0], disk[1], strict=False)] if disk else None
    return MachineUse(
        busiest_core=_busy(busiest) if busiest else None,
        core_steal=busiest[_STEAL] / sum(busiest) if busiest else None,
        core_interrupts=sum(busiest[_IRQS]) / sum(busiest) if busiest else None,
        processes=sum(sum(core[_PROCESSES]) / sum(core) for core in of_cores) if of_cores else None,
        steal=everything[_STEAL] / sum(everything) if everything else None,
        device_read_ios=moved[0] if moved else None,
        device_write_ios=moved[4] if moved else None,
        device_read_bytes=moved[2] * _SECTOR_BYTES if moved else None,
        device_write_bytes=moved[6] * _SECTOR_BYTES if moved else None,
    )


def disk_course(data: bytes) -> list[tuple[float, tuple[int, int, int, int]]]:
    """The disks' counters in each sample: Unix time (s), then read I/Os, bytes read, write I/Os and
    bytes written since the machine started. Empty where the disk was not sampled."""
    return [
        (sample.at_s, (disk[0], disk[2] * _SECTOR_BYTES, disk[4], disk[6] * _SECTOR_BYTES))
        for sample in _samples(data.decode(errors="replace"))
        if (disk := sample.disk) is not None
    ]


def _samples(text: str) -> list[_Sample]:
    samples_read: list[_Sample] = []
    for line in text.splitlines():
        words = line.split()
        if not words:
            continue
        try:
            if words[0] == "@":
                if abs(at_s := float(words[1])) < _LATEST_S:
                    samples_read.append(_Sample(at_s))
            elif samples_read:
                _read(words, samples_read[-1])
        except (ValueError, IndexError):
            continue
    every = max((len(sample.disks) for sample in samples_read), default=0)
    for sample in samples_read:
        if sample.disks and len(sample.disks) == every:  # the last one may be cut short
            sample.disk = [sum(counts) for counts in zip(*sample.disks.values(), strict=True)]
    return samples_read


def _count(text: str) -> int:
    """A kernel counter of 64 bits; ValueError for any other number."""
    value = int(text[: _DIGITS + 1])
    if not 0 <= value < 2**64:
        raise ValueError(text)
    return value


def _read(words: Sequence[str], sample: _Sample) -> None:
    if words[0].startswith("cpu"):
        counts = [_count(word) for word in words[1 : _CPU_FIELDS + 1]]
        if len(counts) == _CPU_FIELDS:
            sample.cpus[words[0]] = counts
    elif len(words) >= _DISK_FIELDS and words[0].isdecimal():
        sample.disks[f"{words[0]}:{words[1]}"] = [_count(word) for word in words[3:_DISK_FIELDS]]


def _ends(samples: Sequence[_Sample], of: Callable[[_Sample], _T | None]) -> tuple[_T, _T] | None:
    """The first and last value of those that samples have; None with fewer than two."""
    values = [value for sample in samples if (value := of(sample)) is not None]
    return (values[0], values[-1]) if len(values) > 1 else None


def _cpu_delta(cores: tuple[_Cpus, _Cpus] | None, name: str) -> list[int] | None:
    if cores is None or name not in cores[0] or name not in cores[1]:
        return None
    delta = [b - a for a, b in zip(cores[0][name], cores[1][name], strict=True)]
    return delta if sum(delta) > 0 else None


def _busy(delta: Sequence[int]) -> float:
    return 1 - (delta[_IDLE] + delta[_IOWAIT]) / sum(delta)


_NOTHING = Total()
_FIELDS = 14
_WHOLE_S = 0.9
"""Least seconds behind a rate; our choice. fio writes a document each second and one when it ends,
often a fraction of a second later: queues that drain then look like a faster disk."""
_LARGEST = 1e30
"""No count, size or time of a real disk is larger, and sums of such numbers stay finite."""


@dataclass(frozen=True)
class LiveTotals:
    """One interim document of fio, all jobs summed. `unix_s` is the measured host's clock."""

    unix_s: float
    runtime_s: float
    read: Total = _NOTHING
    write: Total = _NOTHING
    trim: Total = _NOTHING

    @property
    def ways(self) -> tuple[Total, Total, Total]:
        """The totals of each direction."""
        return self.read, self.write, self.trim


def parse_live(line: bytes) -> LiveTotals | None:
    """A line of live.tsv; None for a sign of life (`#`), a torn line, or anything else."""
    fields = line.split(b"\t")
    if len(fields) != _FIELDS:
        return None
    try:
        numbers = [float(field) for field in fields]
    except ValueError:
        return None
    if not all(0 <= n <= _LARGEST for n in numbers):
        return None
    ways = (Total(*numbers[at : at + 4]) for at in (2, 6, 10))
    return LiveTotals(numbers[0], numbers[1], *ways)


def tick(before: LiveTotals | None, now: LiveTotals) -> Tick | None:
    """The rates between two interim documents; since the start where `before` is None. None where
    too little of a second passed between them, as when a step ends.

    Latency is Δ(mean·N) / ΔN over all directions: the mean of the I/Os that ended in between.
    fio starts its counts again when a ramp time ends; then `now` is taken from zero.
    """
    is_first = before is None
    falls = before is not None and any(
        new.ios < old.ios for old, new in zip(before.ways, now.ways, strict=True)
    )
    if before is None or falls or now.runtime_s < before.runtime_s:
        before = LiveTotals(now.unix_s - now.runtime_s, 0.0)
    # fio's own time only goes forward; the host's clock may be moved meanwhile.
    seconds = now.runtime_s - before.runtime_s or now.unix_s - before.unix_s
    if seconds <= 0:
        return Tick(elapsed_s=now.runtime_s) if is_first else None
    if seconds < _WHOLE_S and not is_first:
        return None
    n, n_before = (sum(way.latencies for way in at.ways) for at in (now, before))
    sum_ns, sum_before = (sum(way.latency_sum_ns for way in at.ways) for at in (now, before))
    return Tick(
        elapsed_s=now.runtime_s,
        read_iops=max(0.0, now.read.ios - before.read.ios) / seconds,
        write_iops=max(0.0, now.write.ios - before.write.ios) / seconds,
        read_bytes_per_s=max(0.0, now.read.bytes - before.read.bytes) / seconds,
        write_bytes_per_s=max(0.0, now.write.bytes - before.write.bytes) / seconds,
        latency_ns=max(0.0, sum_ns - sum_before) / (n - n_before) if n - n_before >= 1 else None,
    )
