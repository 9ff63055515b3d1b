"""Every reason to doubt a figure, in one table: code, weight, words, advice, and where it is shown.

A check finds a doubt and states its figures (`Doubt.warning` of a step's files, `Doubt.reason` of a
verdict); all else about it is here. A new doubt is a row of this table and the check that finds it.
When each is raised: docs/METHOD.md. The weights are our choice:

    no        what was measured is not the disk
    with care  the figure may be off, or describe less than it seems to
    note      worth knowing; the figure stands

Codes and messages are stored with results: a code is never changed or used for something else.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from diskbench.model.base import Frozen
from diskbench.model.result import Warning  # noqa: A004 - the field's word

Weight = Literal["note", "with care", "no"]
WEIGHTS: tuple[Weight, ...] = ("no", "with care", "note")
"""Heaviest first."""

SAME_TIME = 0.95
"""Jobs and directions of a step whose run times differ by no more ran together; our choice."""

Rule = Literal["fixed", "device-share", "processor"]
"""What may lower a weight. `device-share`: `with care` where the device moved at least half of
fio's bytes. `processor`: a note where the figure is at a cap all the same."""

Shown = Literal["warnings", "verdict"]
"""Where message and advice are printed: with the warnings of the results, or under the verdicts."""


class Reason(Frozen):
    """A reason to doubt a figure. `code` is stable; `weight` is what it alone would make
    of the verdict; `advice` names what to do next."""

    code: str
    weight: Weight
    message: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Doubt:
    """One kind of doubt. `words` follow `no:` or `with care:`; `advice` is what to do next, where a
    check does not know better; `profile` is what `because` makes worth running next."""

    code: str
    weight: Weight
    words: str
    advice: str = ""
    shown: Shown = "warnings"
    rule: Rule = "fixed"
    profile: str = ""
    because: str = ""

    def warning(self, message: str, *, advice: str = "", step: str | None = None) -> Warning:
        """This doubt in a step, with the figures that show it."""
        return Warning(code=self.code, message=message, advice=advice or self.advice, step=step)

    def reason(self, message: str, *, advice: str = "", weight: Weight | None = None) -> Reason:
        """This doubt as a part of a verdict, with the figures that show it."""
        return Reason(
            code=self.code,
            weight=weight or self.weight,
            message=message,
            advice=advice or self.advice,
        )

    def without_advice(self, message: str) -> Reason:
        """This doubt where nothing that could be done next would tell more."""
        return Reason(code=self.code, weight=self.weight, message=message)


# fmt: off
UNWRITTEN = Doubt("unwritten", "no", "reads of blocks that were never written",
    "a disk answers such reads without I/O: run --profile fill first, then repeat",
    rule="device-share", profile="fill",
    because="blocks that were read had never been written; fill the disk, then repeat")
RUNS_DISAGREE = Doubt("runs-disagree", "note", "the runs disagree",
    "read the runs in order. A fall that stays is used-up credit or a throttle. Figures that go up "
    "and down are load from neighbours: repeat at a quiet time")
PAGE_CACHE = Doubt("page-cache", "no", "served from cache",
    "use direct=1, files of twice the memory, or end_fsync=1 for writes", rule="device-share")
SERVED_FROM_CACHE = Doubt("served-from-cache", "no", "served from cache",
    "use direct=1 and files of twice the memory, and turn off the cache of the controller",
    shown="verdict")
NOT_A_DISK = Doubt("not-a-disk", "no", "memory, not a disk",
    "this measures memory and the kernel: choose a --path on a disk, or --device")
MAYBE_MEMORY = Doubt("maybe-memory", "with care", "memory may have taken part",
    "measure with direct I/O, or write with a sync at the end (conv=fsync, end_fsync=1)")
UNLIKE_TIMES = Doubt("unlike-times", "with care", "jobs that ran for different times",
    "look at the rates of each job and direction; to measure them together, give all one runtime "
    "and time_based")
NO_IO = Doubt("no-io", "no", "no I/O",
    "its figures are zero: check its size and runtime, and read stderr.txt in the evidence")
CLIENT_BOUND = Doubt("client-bound", "with care", "CPU limit of the load generator",
    "the disk may be faster: use fewer jobs than cores, a larger instance or larger blocks, and "
    "compare with the null canary", rule="processor")
MACHINE_BUSY = Doubt("machine-busy", "with care", "another process used the CPU",
    "find the process (top -H), stop it and repeat; disk encryption is one, too",
    rule="processor")
INTERRUPTS = Doubt("interrupts", "with care", "interrupts used a whole core",
    "spread the interrupts of disk and network over the cores (/proc/interrupts, irqbalance) and "
    "repeat", rule="processor")
CPU_STOLEN = Doubt("steal", "with care", "CPU time stolen by the hypervisor",
    "other virtual machines use the same CPU: repeat on another machine, or on one with dedicated "
    "cores", rule="processor")
QUEUE_NOT_FILLED = Doubt("queue-not-filled", "with care", "queue depth not reached",
    "a synchronous engine and buffered I/O have no queue: use libaio or io_uring with direct=1, "
    "or numjobs")
NETWORK_FILESYSTEM = Doubt("network-filesystem", "with care", "a file server, not a disk",
    "this measures the server and the network: choose a --path on a disk to measure a disk")
TOO_SHORT = Doubt("too-short", "with care", "too short",
    "measure for longer or with more data: --set runtime=… or --size")
FIO_ERROR = Doubt("fio-error", "with care", "fio reported an error",
    "the figures cover the time before the error: read stderr.txt in the evidence")
SHORT_IOS = Doubt("short-ios", "with care", "short I/Os",
    "IOPS and MB/s do not match: check that the file or device is as large as the job's size")
DEGRADED_OUTPUT = Doubt("degraded-output", "with care", "damaged output of fio",
    "compare the figures with the raw output in the evidence")
FIGURES_DISAGREE = Doubt("figures-disagree", "with care", "figures that contradict each other",
    "compare the figures with fio's own output in the evidence")
HISTOGRAM_END = Doubt("histogram-end", "note", "percentiles beyond fio's histogram",
    "mean and max are measured; fio's latency logs (write_lat_log) hold each I/O")
SATURATED = Doubt("saturated", "with care", "offered load not served",
    "offer less load, or measure the sustained rate first: --profile sustained")
CACHE_KEPT = Doubt("cache-kept", "with care", "page cache not dropped",
    "measure as root, or with direct=1")
DISK_SHARED = Doubt("disk-shared", "with care", "another measurement used the disk",
    "repeat when the other measurement has ended; --if-busy wait does that for runs of diskbench")
OTHER_IO = Doubt("other-io", "with care", "I/O of other programs on the disk",
    "find the program (iostat -x 1, iotop) and repeat when the disk is idle")
FILLED_ONCE = Doubt("filled-once", "with care", "a local drive that was written only once",
    "a new drive is faster than a used one: write the whole drive twice, then repeat")
DISK_UNLOCKED = Doubt("disk-unlocked", "note", "no lock on the disk",
    "check that no other run of diskbench used this disk at the same time")
COMPRESSIBLE = Doubt("compressible", "note", "data that a disk can compress",
    "write incompressible data (refill_buffers=1), unless you repeat another tool's measurement")
CLOCK = Doubt("clock", "note", "the clocks of host and controller differ",
    "durations are right, times of day are wrong: set up NTP (chrony) on the host before you "
    "compare the seconds of several hosts")
CLOCK_MOVED = Doubt("clock-moved", "note", "the host's clock was set during the run",
    "the times of day of this run may be wrong by as much: run a time service on the host "
    "(chrony, systemd-timesyncd)")
NO_CANARY = Doubt("no-canary", "note", "a canary took too long and was ended",
    "the machine was busy (stolen CPU time, another load): repeat")
FILES_LEFT_OUT = Doubt("left-out", "note", "files of the host were not kept",
    "the step's evidence lists them")
IMPORT = Doubt("import", "note", "a guess of the import",
    "compare with the imported file")
MIXED = Doubt("mixed", "with care", "a mean of burst and baseline",
    "import the per-second logs as well: they show both levels", shown="verdict")
STALLED = Doubt("stalled", "with care", "seconds without I/O",
    "look at the seconds (results show --plot) and at the machine's log of that time, then repeat",
    shown="verdict")
CHANGED = Doubt("changed", "with care", "its level changed",
    "the figure is that of the longest level: look at it second by second, and measure for longer",
    shown="verdict")
DIPS = Doubt("dips", "with care", "dips at a period",
    "find what runs at that period: a job on the machine (cron, a flush), or the disk's own work",
    shown="verdict")
TWO_MODES = Doubt("two-modes", "with care", "two modes",
    "no single figure describes both: look at the seconds (results show --plot) and the latencies",
    shown="verdict")
NO_RATE = Doubt("no-rate", "with care", "no rate in the files",
    "import rates as well: write_iops_log, write_bw_log, or --output-format=json", shown="verdict")
BURST_ONLY = Doubt("burst-only", "note", "burst only",
    "to measure the baseline, run --profile sustained", shown="verdict")
ABOVE_PROMISE = Doubt("above-promise", "with care", "above the documented rate",
    "do not plan with this figure; to measure the sustained rate, run "
    "--profile sustained", shown="verdict")
BELOW_PROMISE = Doubt("below-promise", "with care", "below the documented rate, cause unknown",
    "repeat on new machines with new disks: --replicates 3", shown="verdict")
LOOKS_LIKE = Doubt("looks-like", "note", "falls like a known disk",
    "compare it with that disk: results show --as-disk", shown="verdict")
REQUESTS_SPLIT = Doubt("requests-split", "note", "blocks were split", shown="verdict")
REQUESTS_MERGED = Doubt("requests-merged", "note", "blocks were merged", shown="verdict")
OTHER_DISK = Doubt("other-disk", "with care", "behaves like another disk type", shown="verdict")
DATED = Doubt("dated", "note", "judged by the limits of its day",
    "for a file without a date, give the day with --measured-on", shown="verdict")
MACHINE_UNKNOWN = Doubt("machine-unknown", "note", "limits of its machine are unknown",
    "a limit of the machine may be lower than the promise: name its type with --as-machine",
    shown="verdict")
COUNTERS_DIFFER = Doubt("counters-differ", "note", "the cloud's own counters name another limit",
    "the rate is right, but its cause is uncertain: repeat, and compare the counters",
    shown="verdict")
BURST = Doubt("burst", "note", "shorter than its burst credit lasts", shown="verdict")
# fmt: on

DOUBTS: dict[str, Doubt] = {
    doubt.code: doubt for doubt in tuple(globals().values()) if isinstance(doubt, Doubt)
}
"""All of them by code; the more serious of two that name a profile stands first."""

DISTURBED = frozenset(
    doubt.code for doubt in (MACHINE_BUSY, INTERRUPTS, CPU_STOLEN, DISK_SHARED, OTHER_IO, NO_CANARY)
)
"""Something else used the machine or the disk for a while: a repetition may be without it."""


def doubt_of(code: str) -> Doubt:
    """The doubt with this code. One of a later diskbench is a note with its code as its words: what
    it weighs is not known here."""
    return DOUBTS.get(code) or Doubt(code, "note", code)


def doubt_words(reasons: Iterable[Reason], *weights: Weight) -> str:
    """The reasons of these weights in words, each once: `too short; no I/O`."""
    words = (doubt_of(reason.code).words for reason in reasons if reason.weight in weights)
    return "; ".join(dict.fromkeys(words))
