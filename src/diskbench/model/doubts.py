"""Every reason to doubt a figure, in one table: code, weight, words, advice, and where it is shown.

A check finds a doubt and states its figures (`Doubt.warning` of a step's files, `Doubt.reason` of a
verdict); all else about it is here. A new doubt is a row of this table and the check that finds it.
When each is raised: docs/METHOD.md. The weights are our choice:

    no        what was measured is not the disk
    with care  the figure may be off, or stands for less than it seems to
    note      worth knowing; the figure stands

Codes and messages are stored with results: a code is never changed or used for something else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from diskbench.model.base import Frozen
from diskbench.model.result import Warning  # noqa: A004 - the field's word

if TYPE_CHECKING:
    from collections.abc import Iterable

Weight = Literal["note", "with care", "no"]
WEIGHTS: tuple[Weight, ...] = ("no", "with care", "note")
"""Heaviest first."""

Rule = Literal["fixed", "device-share", "processor"]
"""What may lower a weight. `device-share`: `with care` where the device moved at least half of
fio's bytes. `processor`: a note where the figure is at a cap all the same."""

Shown = Literal["warnings", "verdict"]
"""Where message and advice are printed: with the warnings of the results, or under the verdicts."""


class Reason(Frozen):
    """Why a number is not simply trusted. `code` is stable; `weight` is what it alone would make
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


UNWRITTEN = Doubt(
    "unwritten", "no", "blocks that were never written",
    "blocks that were never written are read without I/O: run --profile fill first",
    rule="device-share",
    profile="fill",
    because="reads met blocks that were never written; fill them, then repeat",
)  # fmt: skip
RUNS_DISAGREE = Doubt(
    "runs-disagree", "note", "the runs disagree",
    "read the runs as a series, not as one number: a fall that stays is used-up credit or a "
    "throttle, and runs that go up and down are a neighbour's noise: repeat when it is quiet",
)  # fmt: skip
PAGE_CACHE = Doubt(
    "page-cache", "no", "served from cache",
    "use direct=1, files of twice the memory, or (writes) end_fsync=1",
    rule="device-share",
)  # fmt: skip
SERVED_FROM_CACHE = Doubt(
    "served-from-cache", "no", "served from cache",
    "use direct=1, files of twice the memory, and no cache of a controller",
    shown="verdict",
)  # fmt: skip
NOT_A_DISK = Doubt(
    "not-a-disk", "no", "memory and not a disk",
    "this measures memory and the kernel; choose a --path on a disk, or its device",
)  # fmt: skip
NO_IO = Doubt(
    "no-io", "no", "no I/O",
    "its rows are zeros; look at its size, runtime and at stderr.txt",
)  # fmt: skip
CLIENT_BOUND = Doubt(
    "client-bound", "with care", "load generator is CPU-bound",
    "the disk may be faster than this; use fewer jobs than cores, a larger instance, or larger "
    "blocks, and compare with the null canary",
    rule="processor",
)  # fmt: skip
MACHINE_BUSY = Doubt(
    "machine-busy", "with care", "another process kept the machine busy",
    "find out what else runs on that machine (top -H), stop it, and repeat; encryption below the "
    "target counts too",
    rule="processor",
)  # fmt: skip
INTERRUPTS = Doubt(
    "interrupts", "with care", "interrupts filled a core",
    "spread the interrupts of disk and network over the cores (/proc/interrupts, irqbalance), and "
    "repeat",
    rule="processor",
)  # fmt: skip
CPU_STOLEN = Doubt(
    "steal", "with care", "the hypervisor took processor time",
    "other virtual machines use the same processor: repeat on another machine, or on one with "
    "cores of its own",
    rule="processor",
)  # fmt: skip
QUEUE_NOT_FILLED = Doubt(
    "queue-not-filled", "with care", "queue depth not reached",
    "a synchronous engine and buffered I/O have no queue: use libaio or io_uring with direct=1, "
    "or numjobs",
)  # fmt: skip
NETWORK_FILESYSTEM = Doubt(
    "network-filesystem", "with care", "a server and a network, not a disk",
    "this measures the server and the network, not a disk; choose another --path",
)  # fmt: skip
TOO_SHORT = Doubt(
    "too-short", "with care", "too short",
    "give it more time or data: --set runtime=… or --size",
)  # fmt: skip
FIO_ERROR = Doubt(
    "fio-error", "with care", "fio reported an error",
    "the figures cover the time before it; see stderr.txt in the evidence",
)  # fmt: skip
SHORT_IOS = Doubt(
    "short-ios", "with care", "short I/Os",
    "IOPS and MB/s do not belong together; is the file or device smaller than the job's size?",
)  # fmt: skip
DEGRADED_OUTPUT = Doubt(
    "degraded-output", "with care", "damaged output",
    "the raw output is in the evidence; compare before trusting the figures",
)  # fmt: skip
FIGURES_DISAGREE = Doubt(
    "figures-disagree", "with care", "figures that contradict each other",
    "compare with fio's own output in the evidence before trusting the figure",
)  # fmt: skip
SATURATED = Doubt(
    "saturated", "with care", "offered load not served",
    "offer less, or find the sustained rate first: --profile sustained",
)  # fmt: skip
CACHE_KEPT = Doubt(
    "cache-kept", "with care", "page cache was not dropped",
    "measure as root, or with direct=1",
)  # fmt: skip
DISK_SHARED = Doubt(
    "disk-shared", "with care", "measured beside another",
    "measure again when that has ended; --if-busy wait keeps runs of diskbench that see each "
    "other apart",
)  # fmt: skip
OTHER_IO = Doubt(
    "other-io", "with care", "the disk did more than fio",
    "find out who (iostat -x 1, iotop), and measure again when the disk is idle",
)  # fmt: skip
FILLED_ONCE = Doubt(
    "filled-once", "with care", "a local drive that was written but once",
    "a new drive is faster than a used one: write all of it twice first",
)  # fmt: skip
DISK_UNLOCKED = Doubt(
    "disk-unlocked", "note", "others were not kept away",
    "look at what else runs on that machine",
)  # fmt: skip
COMPRESSIBLE = Doubt(
    "compressible", "note", "data that a disk can shrink",
    "write incompressible data (refill_buffers=1), unless another tool is repeated",
)  # fmt: skip
CLOCK = Doubt(
    "clock", "note", "the clocks of host and controller differ",
    "durations are right, times of day are not: series of several hosts cannot be laid over each "
    "other; set up NTP (chrony) on the host",
)  # fmt: skip
CLOCK_MOVED = Doubt(
    "clock-moved", "note", "the host's clock was moved",
    "the times of day of this run may be wrong by that much; run a time service there (chrony, "
    "systemd-timesyncd)",
)  # fmt: skip
NO_CANARY = Doubt(
    "no-canary", "note", "a canary was ended",
    "the machine was busy with something else (steal, another load); measure again",
)  # fmt: skip
FILES_LEFT_OUT = Doubt(
    "left-out", "note", "files of the host were not kept",
    "a list of them is in the step's evidence",
)  # fmt: skip
IMPORT = Doubt(
    "import", "note", "the import had to guess",
    "compare with the original",
)  # fmt: skip
MIXED = Doubt(
    "mixed", "with care", "the mean spans two levels",
    "import the logs of the seconds beside it: they show both levels",
    shown="verdict",
)  # fmt: skip
STALLED = Doubt(
    "stalled", "with care", "it stalled",
    "look at its seconds (diskbench report, results show --plot) and at the machine's log for that "
    "time, and measure it again",
    shown="verdict",
)  # fmt: skip
CHANGED = Doubt(
    "changed", "with care", "its level changed",
    "the figure is of its longest level: look at its seconds, and measure it for longer",
    shown="verdict",
)  # fmt: skip
NO_RATE = Doubt(
    "no-rate", "with care", "no rate is known",
    "log rates beside them: write_iops_log, write_bw_log, or --output-format=json",
    shown="verdict",
)  # fmt: skip
BURST_ONLY = Doubt(
    "burst-only", "note", "burst only",
    "--profile sustained runs until the credit is gone",
    shown="verdict",
)  # fmt: skip
ABOVE_PROMISE = Doubt(
    "above-promise", "with care", "above the promise",
    "do not plan with it: nothing documents that it lasts; --profile sustained shows what does",
    shown="verdict",
)  # fmt: skip
BELOW_PROMISE = Doubt(
    "below-promise", "with care", "below the promise, and nobody knows why",
    "repeat it on a new machine with a new disk: --replicates 3",
    shown="verdict",
)  # fmt: skip
LOOKS_LIKE = Doubt(
    "looks-like", "note", "it fell as a known disk does",
    "results show --as-disk holds it against that",
    shown="verdict",
)  # fmt: skip
REQUESTS_SPLIT = Doubt("requests-split", "note", "blocks were split", shown="verdict")
REQUESTS_MERGED = Doubt("requests-merged", "note", "blocks were merged", shown="verdict")
OTHER_DISK = Doubt("other-disk", "with care", "probably another disk", shown="verdict")
DATED = Doubt(
    "dated", "note", "judged by the limits of its day",
    "--measured-on says the day of a file that does not tell it",
    shown="verdict",
)  # fmt: skip
BURST = Doubt("burst", "note", "shorter than its burst credit lasts", shown="verdict")

DOUBTS: dict[str, Doubt] = {
    one.code: one for one in tuple(globals().values()) if isinstance(one, Doubt)
}
"""All of them by code; the more serious of two that name a profile stands first."""


def doubt_of(code: str) -> Doubt:
    """The doubt with this code. One of a later diskbench is a note with its code as its words: what
    it weighs is not known here."""
    return DOUBTS.get(code) or Doubt(code, "note", code)


def doubt_words(reasons: Iterable[Reason], *weights: Weight) -> str:
    """The reasons of these weights in words, each once: `too short; no I/O`."""
    told = (doubt_of(one.code).words for one in reasons if one.weight in weights)
    return "; ".join(dict.fromkeys(told))
