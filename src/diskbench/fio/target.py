"""Where fio may do I/O, and whether it has a disk for each device that a foreign job file names.

A file that names one device, or none, is measured on a target of one disk. A file that names
several is measured on as many: its first device is the target's first disk, and so on.
"""

import re
from typing import Final, Literal

from diskbench.errors import ProfileError, TargetRefused
from diskbench.fio import jobfile
from diskbench.model.base import Frozen


class FioTarget(Frozen):
    """Where fio may do I/O: a work directory, or a device by its path; `others` are the paths of
    further devices, each for a device that the job file names.

    `size_bytes` is how much of it (of each device) the user allows, None where the profile decides;
    `capacity_bytes` is the size of a device, of several the smallest. `allowed` are options, of
    options.ALLOWABLE, that the machine's owner allows.
    """

    kind: Literal["directory", "device"]
    path: str
    others: tuple[str, ...] = ()
    size_bytes: int | None = None
    capacity_bytes: int | None = None
    allowed: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """The directory, or every device."""
        return (self.path, *self.others)


def check_path(target: FioTarget) -> None:
    """Refuse a target whose path means something else inside a fio job file (`;`, `#`, `$`, …)."""
    # In a list of devices a colon ends a name.
    never = r"[^\x20-\x7e]|[;#$`\\\"']" + ("|:" if target.others else "")
    for path in target.paths:
        if re.search(never, path) or path != path.strip():
            raise TargetRefused(
                f"{path!r} holds a character that a fio job file cannot hold",
                advice="choose a path of plain letters, digits and - _ . / "
                + ("" if target.others else ":"),
            )


def escape(path: str) -> str:
    """A path escaped for `filename` and `directory`, which fio splits at unescaped colons."""
    return path.replace(":", "\\:")


_DEVICE: Final = re.compile(r"/dev/(?!shm/|(?:null|zero|full)$).+|\\\\\.\\.+")


def device_names(file: jobfile.Sections) -> dict[str, str]:
    """Each name in a `filename` that means a device, with the device, in the order of the file.

    The two differ where fio joins the name to `directory=/dev` (axboe/fio, filesetup.c). Raises
    ProfileError for a name that means two devices, by two directories.
    """
    below = _below_dev(file)
    options = (option for section in file for option in section.options)
    values = (option.value or "" for option in options if option.name == "filename")
    names = (name for value in values for name in jobfile.split_names(value))
    meant = {n: n if _DEVICE.fullmatch(n) else below.get(n, "") for n in names}
    return {name: device for name, device in meant.items() if device}


def without_devices(file: jobfile.Sections) -> jobfile.Sections:
    """The file without the options that name devices."""
    known = device_names(file)

    def stays(_: jobfile.Section, option: jobfile.JobOption) -> jobfile.JobOption | None:
        named = jobfile.split_names(option.value or "") if option.name == "filename" else ()
        return None if known.keys() & named else option

    return jobfile.edited(file, stays)


def disk_of_name(file: jobfile.Sections, target: FioTarget) -> dict[str, str]:
    """The target's disk for each name of a device, in order; empty for a target of one disk, whose
    every name is that disk.

    Raises ProfileError unless the file names as many devices as the target has disks.
    """
    names = device_names(file)
    devices, disks = tuple(dict.fromkeys(names.values())), len(target.paths)
    if len(devices) > 1 and disks == 1:
        raise ProfileError(
            f"the job file names {len(devices)} devices, {', '.join(devices)}; the target is one",
            advice=f"give the target {len(devices)} disks, which are taken in order: rent them "
            f"with --count {len(devices)}, or name your own with --device and --destroy-data for "
            "each. With --stripe too, rented disks are one device: name that one in the file",
        )
    if disks == 1:
        return {}
    if len(devices) != disks:
        number = {0: "no device", 1: "one device, "}.get(len(devices), f"{len(devices)} devices, ")
        listed = f"{number}{', '.join(devices)}"
        raise ProfileError(
            f"the job file names {listed}; the target has {disks} disks",
            advice="measure as many disks as the file names devices (filename=); or rent the disks "
            "with --stripe, which combines them into one device",
            field="count",
        )
    place = dict(zip(devices, target.paths, strict=True))
    return {name: place[device] for name, device in names.items()}


def _below_dev(file: jobfile.Sections) -> dict[str, str]:
    """The relative names that fio joins to a directory below /dev, with the device."""
    devices: dict[str, str] = {}
    for job in jobfile.jobs(file):
        directory = (job.get("directory") or "").rstrip("/")
        for name in job.files:
            device = f"{directory}/{name}"
            if not name or jobfile.is_absolute(name) or not _DEVICE.fullmatch(device):
                continue
            if devices.setdefault(name, device) != device:
                raise ProfileError(
                    f"filename={name} names two devices, {devices[name]} and {device}",
                    advice="write the whole path of each in filename=, without directory=",
                )
    return devices
