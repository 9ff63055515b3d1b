"""What a guest says of its disks and its preparation: Python 3.6 and newer, sent with a request
(guest.py).

now              each whole disk that has a node in /dev, and the links that clouds know disks by:
                 `disk NODE MAJOR:MINOR SECTORS IDENTITY SERIAL MODEL WWN NSID` and
                 `link PATH MAJOR:MINOR`, with tabs between. A SCSI disk has its WWN for identity
before ATTACHED  the same as it was before ours came: written down the first time. Where ours are
                 attached already (`attached`) and nothing was written down, it ends with 3
mounted NUMBER   where a disk, or a partition of it, is mounted; nothing where it is not
ready            how far prepare.sh is: ready, waiting, or failed and why

It goes by /dev and not by /sys, which a container shares with its host.
"""

import os
import re
import shutil
import stat
import sys
from pathlib import Path

NODES = "nvme*n[0-9] nvme*n[0-9][0-9] xvd[a-z] xvd[a-z][a-z] sd[a-z] sd[a-z][a-z]"
LINKS = (
    "by-id/nvme-Amazon* by-id/google-* by-id/wwn-0x* azure/scsi1/lun* azure/data/by-lun/* "
    "azure/resource azure/local/by-serial/*"
)
BEFORE = Path("/var/tmp/diskbench-disks-before")  # noqa: S108 - it outlives a reboot
PREPARED = Path("/var/lib/diskbench")


def text_of(path: Path) -> str:
    """A file of the kernel; empty where it cannot be read."""
    try:
        return os.fsdecode(path.read_bytes())
    except OSError:
        return ""


def number_of(path: Path) -> str:
    """MAJOR:MINOR of a block device or of a link to one; empty for anything else."""
    try:
        found = path.stat()
    except OSError:
        return ""
    is_disk = stat.S_ISBLK(found.st_mode)
    return f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}" if is_disk else ""


def disk(node: Path) -> str:
    """The line of a disk; empty for what is none."""
    number = "" if node.is_symlink() else number_of(node)
    place = Path("/sys/dev/block") / number
    if not number or not text_of(place / "size") or (place / "partition").exists():
        return ""

    def says(name: str) -> str:
        return text_of(place / name).partition("\n")[0].strip()

    wwn = says("wwid") or says("device/wwid")  # the first of an NVMe namespace
    # The kernel has no attribute for the designator of Google's SCSI disks: udev read it.
    udev = re.search("^E:ID_SERIAL=(.*)$", text_of(Path(f"/run/udev/data/b{number}")), re.MULTILINE)
    others = [udev.group(1)] if udev else []
    others += [says("loop/backing_file"), says("device/nodename")]
    serial = says("device/serial")
    identity = next(filter(None, (serial, wwn, *others)), "")
    facts = (number, says("size"), identity, serial, says("device/model"), wwn, says("nsid"))
    return "\t".join(("disk", str(node), *facts))


def now() -> str:
    """All disks, then all links."""
    nodes = [node for names in NODES.split() for node in sorted(Path("/dev").glob(names))]
    links = [link for names in LINKS.split() for link in sorted(Path("/dev/disk").glob(names))]
    lines = [disk(node) for node in nodes]
    lines += [f"link\t{link}\t{number_of(link)}" for link in links if number_of(link)]
    return "".join(line + "\n" for line in lines if line)


def before(attached: str) -> str:
    """All disks and links as they were before ours came; the first word is for a reader."""
    if not text_of(BEFORE):
        if attached == "attached":
            sys.exit(3)
        os.umask(0o077)
        new = BEFORE.with_name(f"{BEFORE.name}.{os.getpid()}")
        new.write_bytes(os.fsencode("written\n" + now()))
        new.rename(BEFORE)
    return text_of(BEFORE)


def mounted(number: str) -> str:
    """Where a disk or a partition of it is mounted, first of all the disk itself."""
    place = Path("/sys/dev/block") / number
    for file in (place / "dev", *sorted(place.glob("*/dev"))):
        for line in text_of(Path("/proc/self/mountinfo")).split("\n"):
            fields = line.split(" ")
            if fields[2:3] == [text_of(file).strip()]:  # blanks are written as \040 there
                return re.sub(r"\\([0-7]{3})", lambda one: chr(int(one.group(1), 8)), fields[4])
    return ""


def ready() -> str:
    """A machine without cloud-init prepared nothing; it is ready when fio is there."""
    why = text_of(PREPARED / "failed").strip()
    is_alone = not why and not Path("/run/cloud-init").is_dir()
    if (PREPARED / "ready").exists() or (is_alone and shutil.which("fio")):
        return "ready"
    if is_alone:
        why = "there is neither fio nor cloud-init"
    return f"failed {why}" if why else "waiting"


if __name__ == "__main__":
    asked, *given = sys.argv[1:]
    alone, of_word = {"now": now, "ready": ready}, {"before": before, "mounted": mounted}
    answer = alone[asked]() if asked in alone else of_word[asked](*given)
    sys.stdout.buffer.write(os.fsencode(answer))
