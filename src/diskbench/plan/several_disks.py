"""Several disks of one trial: which profiles can be for them, and how a step loads them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import InvalidValue
from diskbench.fio.estimate import request_sizes
from diskbench.fio.jobfile import jobs, parse
from diskbench.fio.named_devices import split_names

if TYPE_CHECKING:
    from diskbench.fio.jobfile import Job
    from diskbench.fio.profiles import Profile
    from diskbench.model.spec import Cell, Step


def check_several(profile: Profile, cell: Cell) -> None:
    """Refuse several disks for a profile that names no device, so that only one would be measured.

    What a job file names is known once its variables are: fio/named_devices.py compares the numbers
    when the trial is planned. Raises InvalidValue.
    """
    disks = 1 + len(cell.target.others)
    names = not profile.is_template or "/dev" in profile.template
    names = names or any(key == "filename" for key, _ in cell.parameters)
    if disks == 1 or names:
        return
    why = f"only one disk would be measured, since profile {profile.name!r} names no devices"
    if cell.rent is None:
        raise InvalidValue(
            f"--device is given {disks} times: {why}",
            advice=f"name one device, or give a job file that names {disks} (filename=)",
            field="device",
        )
    raise InvalidValue(
        f"--count {disks} without --stripe: {why}",
        advice="add --stripe for one RAID 0 of them all, leave --count out, or give a job file "
        f"that names {disks} devices (filename=)",
        field="count",
    )


def disks_loaded(step: Step) -> int | None:
    """How many devices a step does I/O on, if it loads each alike: jobs that differ in nothing but
    the device, or jobs on all of them. None where it loads one more than another; 0 without I/O."""
    asked: dict[str, list[tuple[tuple[str, str], ...]]] = {}
    for job in jobs(parse(step.job).sections):
        if not request_sizes(job):
            continue
        devices = _devices(job)
        shape = (("", str(len(devices))), *sorted(_but_its_device(job).items()))
        for device in devices:
            asked.setdefault(device, []).append(shape)
    of_each = [sorted(shapes) for shapes in asked.values()]
    return len(asked) if all(shapes == of_each[0] for shapes in of_each) else None


def _devices(job: Job) -> list[str]:
    """The devices of all `filename` options, which add up in fio."""
    return [
        name
        for option in job.options
        if option.name == "filename"
        for name in split_names(option.value or "")
    ]


def _but_its_device(job: Job) -> dict[str, str]:
    """What counts of the job's options: the last of equal ones."""
    return {
        option.name: option.value or ""
        for option in job.options
        if option.name not in {"filename", "description"}
    }
