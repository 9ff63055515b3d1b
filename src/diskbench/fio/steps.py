"""From a rendered job file to steps, or everything that is wrong with it at once.

A stonewall group is a step: a fio process with its own job file. A run stops at the first stage
that finds mistakes: values that are missing, lines that cannot be read, devices, the guard, fio's
version. In `mistakes` each stage checks what the stage before it did not remove.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from diskbench.errors import ProfileError
from diskbench.fio import jobfile
from diskbench.fio.estimate import count, expected_s, largest_bytes, round_up_mib
from diskbench.fio.guard import check, problems
from diskbench.fio.offered import check_references, references
from diskbench.fio.options import check_version, parse_version
from diskbench.fio.profiles import Profile, Value
from diskbench.fio.retarget import JobChange, retarget, with_sizes
from diskbench.fio.target import FioTarget, disk_of_name, escape, without_devices
from diskbench.fio.template import own_options, render
from diskbench.limits import FIO_FILES, FIO_JOBS
from diskbench.model.facts import HostFacts
from diskbench.model.spec import Loop, Search, Step
from diskbench.model.threshold import Threshold
from diskbench.units import format_bytes

DEFAULTS: Final = {"ioengine": "libaio", "direct": "1", "randrepeat": "0", "refill_buffers": "1"}
"""Options that a template may replace: direct I/O, and new offsets and data on each pass."""

SET: Final = {
    "write_bw_log": "fio", "write_iops_log": "fio", "write_lat_log": "fio", "write_hist_log": "fio",
    "log_avg_msec": "1000", "log_hist_msec": "1000", "log_unix_epoch": "1", "per_job_logs": "1",
    "clat_percentiles": "1", "percentile_list": "50:90:95:99:99.9:99.99", "verify_state_save": "0",
}  # fmt: skip
"""Options of every step, which the guard refuses in a profile. Logs are written to fio's working
directory."""

BOTH_PERCENTILES = (3, 18)
"""First fio that reports clat, lat and slat percentiles side by side."""
_ANY = "1"
"""Stands for the value of a variable that has none, while the rest is checked."""


@dataclass(frozen=True)
class BuiltSteps:
    """The job file on our target with what was changed in it, the steps of a run, their loop and
    search where the profile has one, and the values of its parameters."""

    file: jobfile.Sections
    steps: tuple[Step, ...]
    loop: Loop | None
    search: Search | None
    changes: tuple[JobChange, ...]
    parameters: dict[str, Value]


def build_steps(
    profile: Profile,
    overrides: Mapping[str, str],
    facts: HostFacts,
    target: FioTarget,
    *,
    drain_s: int | None = None,
) -> BuiltSteps:
    """The steps of a run. Raises as `render`, and ProfileError where the job file does not parse,
    could read or write anything but the target, needs a newer fio, or uses more space than the user
    allows."""
    text, parameters = render(profile, overrides, facts, target, drain_s=drain_s)
    version = facts.fio_version
    file, changes = retarget(jobfile.parse(text), target, own_options(profile, parameters))
    check(file, target)
    file, sized = with_sizes(file, target)
    check_version(file, version, where=f"profile {profile.name!r}")
    job_groups = jobfile.groups(file)
    names = _names(job_groups)
    steps: list[Step] = []
    for index, (group, name) in enumerate(zip(job_groups, names, strict=True)):
        check_references(names[:index], group)
        step_jobs = jobfile.jobs(group)
        _check_counts(step_jobs, name)
        role = profile.roles.get(step_jobs[0].name, "measure")
        sections = (_common(profile, target, version), *_placed(group, target))
        seconds = expected_s(jobfile.jobs(sections), target.capacity_bytes)
        head = f"; diskbench profile {profile.name}, step {name}; the first [global] is diskbench's"
        steps.append(
            Step(
                index=index,
                name=name,
                role="offered" if references(group) else role,
                job=f"{head}\n{jobfile.write(sections)}",
                expected_s=max(0.1, round(seconds, 1)),
                page_cache=profile.page_cache,
                drop_caches_every_s=profile.drop_caches_every_s,
            )
        )
    loop = _loop(profile, steps)
    _check_size(profile, steps, target)
    search = _search(profile, parameters, steps)
    return BuiltSteps(file, tuple(steps), loop, search, (*changes, *sized), parameters)


def _names(job_groups: Sequence[jobfile.Sections]) -> list[str]:
    """Step names: the first job's and the number of the others, as `read+2`; with a number where
    two are equal."""
    names: list[str] = []
    for group in job_groups:
        first, *others = (section.name for section in group if not section.is_global)
        base = name = f"{first}+{len(others)}" if others else first
        number = 1
        while name in names:
            number += 1
            name = f"{base}#{number}"
        names.append(name)
    return names


def _common(profile: Profile, target: FioTarget, fio_version: str | None) -> jobfile.Section:
    """diskbench's own [global], which comes first, so that the profile may replace its defaults."""
    # A plain job file keeps fio's own defaults: it must run as its author expects.
    options = dict(DEFAULTS) if profile.is_template else {}
    if target.others:  # which device a job is for is its own
        options["allow_file_create"] = "0"
    if target.kind == "device" and not target.others:
        options |= {"filename": escape(target.path), "allow_file_create": "0"}
    elif target.kind == "directory":
        options["directory"] = escape(target.path)
    options |= SET
    if fio_version is None or parse_version(fio_version) >= BOTH_PERCENTILES:
        options |= {"lat_percentiles": "1", "slat_percentiles": "1"}
    return jobfile.Section(
        name="global", options=tuple(jobfile.JobOption(key=k, value=v) for k, v in options.items())
    )


def _placed(group: jobfile.Sections, target: FioTarget) -> jobfile.Sections:
    """The group's sections; for one device without file names, because fio adds up file names."""
    if target.kind == "directory":
        return group
    dropped = {"allow_file_create"} if target.others else {"filename", "allow_file_create"}
    return jobfile.edited(group, lambda _, o: None if o.name in dropped else o)


def _loop(profile: Profile, steps: Sequence[Step]) -> Loop | None:
    if profile.loop is None:
        return None
    names = [step.name for step in steps]
    begin = profile.loop.first
    for name in (begin, profile.loop.tracked):
        if name is not None and name not in names:
            raise ProfileError(
                f"profile {profile.name!r}: the loop names the step {name!r}, which does not exist",
                advice=f"steps: {', '.join(names)}",
            )
    fills = [step.index for step in steps if step.role == "fill"]
    first = names.index(begin) if begin else max(fills, default=-1) + 1
    return Loop(first=first, **profile.loop.model_dump(exclude={"first"}))


def _search(profile: Profile, values: Mapping[str, Value], steps: Sequence[Step]) -> Search | None:
    asked = profile.search
    if asked is None:
        return None
    probes = [step.name for step in steps if f"% of {asked.capacity}" in step.job]
    missing = [name for name in (asked.target, asked.precision, asked.beyond) if name not in values]
    if missing or not probes:
        wrong = f"the parameter {missing[0]!r}" if missing else f"shares of {asked.capacity!r}"
        raise ProfileError(
            f"profile {profile.name!r}: its search needs {wrong}, which is missing",
            advice="see `diskbench profiles show sla` for an example",
        )
    return Search(
        capacity=asked.capacity, steps=tuple(probes), beyond=int(values[asked.beyond]),
        target=Threshold.parse(str(values[asked.target])),
        precision=float(values[asked.precision]),
    )  # fmt: skip


def _check_counts(jobs_of_step: jobfile.Sections, step: str) -> None:
    """Refuse a step whose processes or files no machine could hold."""
    started = sum(count(job, "numjobs") for job in jobs_of_step)
    made = sum(count(job, "numjobs") * count(job, "nrfiles") for job in jobs_of_step)
    for number, most, does, things, done in (
        (started, FIO_JOBS, "starts", "jobs (numjobs)", "started"),
        (made, FIO_FILES, "makes", "files (nrfiles times numjobs)", "made"),
    ):
        if number > most:
            raise ProfileError(
                f"step {step!r} {does} {number:,} {things}", advice=f"at most {most:,} are {done}"
            )


def _check_size(profile: Profile, steps: Sequence[Step], target: FioTarget) -> None:
    largest = largest_bytes(steps, target.capacity_bytes).values()
    needed = max(largest, default=0) if target.others else round_up_mib(sum(largest))
    if target.size_bytes and needed > round_up_mib(target.size_bytes):
        raise ProfileError(
            f"profile {profile.name!r} uses {format_bytes(needed)} of "
            f"{'a disk' if target.others else 'the target'}, but --size "
            f"allows {format_bytes(target.size_bytes)}",
            advice="give a larger --size, or a smaller size with --set",
            field="size",
        )


def mistakes(
    profile: Profile, overrides: Mapping[str, str], facts: HostFacts, target: FioTarget
) -> Iterator[str]:
    """Every mistake in a plain job file, in the order in which a run would meet them. Raises
    UnknownName and InvalidValue for overrides."""
    missing = profile.missing(overrides)
    if missing:
        options = " ".join(f"--set {name}=VALUE" for name in missing)
        yield f"no value for {', '.join(missing)}: give {options}"
    overrides = {**overrides, **dict.fromkeys(missing, _ANY)}
    text, parameters = render(profile, overrides, facts, target)
    file, unreadable = jobfile.read(text)
    yield from (error.message for error in unreadable)
    if all(section.is_global for section in file):
        return
    unplaced = tuple(_of(lambda: disk_of_name(file, target)))
    if unplaced:  # the rest is checked as on one disk, which every name may mean
        yield from unplaced
        file, target = without_devices(file), target.model_copy(update={"others": ()})
    file, _ = retarget(file, target, own_options(profile, parameters))
    yield from problems(file, target)
    if not unreadable:  # a size may be in a line that was not read
        yield from _of(lambda: with_sizes(file, target))
    yield from _of(lambda: jobfile.groups(file))
    where = f"profile {profile.name!r}"
    yield from _of(lambda: check_version(file, facts.fio_version, where=where))


def _of(check: Callable[[], object]) -> Iterator[str]:
    try:
        check()
    except ProfileError as error:
        yield error.message
