"""Which log files belong to a JSON document of fio: by what its jobs name, and their numbers.

fio writes `<prefix>_<kind>.<number>.log` (init.c). The prefix is the value of write_bw_log,
write_iops_log, write_lat_log or write_hist_log, and the job's name where the option has no value.
The number is that of the job in the whole process, from 1; clones (numjobs) count one by one. With
per_job_logs=0 there is no number.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from diskbench.fio.declared import is_grouped, numjobs, options_of
from diskbench.fio.logs import LogKind, LogName
from diskbench.fio.reported import FioOutput

_OPTION: Final[Mapping[LogKind, str]] = {
    "bw": "write_bw_log",
    "iops": "write_iops_log",
    "lat": "write_lat_log",
    "clat": "write_lat_log",
    "slat": "write_lat_log",
    "hist": "write_hist_log",
}


@dataclass(frozen=True, slots=True)
class NamedLogs:
    """The logs that one entry of a document names: option → prefix, and the numbers of its jobs.

    `counted`: `numbers` is complete. With group_reporting an entry may sum up jobs of several
    sections, and only those of the first are known.
    """

    group: int
    prefixes: Mapping[str, str]
    numbers: range
    counted: bool


def named_logs(output: FioOutput) -> tuple[NamedLogs, ...]:
    """What each entry of a document names; none where it names no log (fio 2 lists no options)."""
    named = []
    number = 1
    for job in output.jobs:
        options = options_of(job, output, {})
        grouped = is_grouped(job, output, options)
        clones = numjobs(options) if grouped else 1
        prefixes = {
            option: (options[option].rpartition("/")[2] or job.name)
            for option in dict.fromkeys(_OPTION.values())
            if option in options
        }
        if prefixes:
            numbers = range(number, number + clones)
            named.append(NamedLogs(job.group, prefixes, numbers, counted=not grouped))
        number += clones
    return tuple(named)


def group_of(log: LogName, named: tuple[NamedLogs, ...]) -> int | None:
    """The group (step) of a document that a log belongs to; None where it names no such log, or
    several groups name it and the job number does not decide."""
    option = _OPTION[log.kind]
    matching = [entry for entry in named if entry.prefixes.get(option) == log.prefix]
    if log.job:
        exact = [entry for entry in matching if log.job in entry.numbers]
        matching = exact or [entry for entry in matching if not entry.counted]
    groups = {entry.group for entry in matching}
    return groups.pop() if len(groups) == 1 else None
