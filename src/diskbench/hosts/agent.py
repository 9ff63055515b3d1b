"""The program that works on a measured host: Python 3.6 and newer, standard library only.

The controller sends it (hosts/calls.py) and starts it with `python3 -I -S`; nothing is installed,
but a trial's directory keeps it compiled. A request is one JSON object; COMMANDS names its
function, docs/design.md its answer: JSON lines, bounded and parsed as hostile data. Each is a text
or a list of texts, the last one {"failed": WHY} where the request failed.

A **unit** is one step, a process of this program that outlives the connection. Its directory holds
its files, which are the evidence, and what it is talked to by:

pid         "PID STARTED BOOT" of the unit: the process that links it first
live.tsv    what is followed: figures of fio, "# STAGE" as a sign of life each second, "? UPTIME"
            where it asks whether fio may start, "~ WORDS" while another trial has the disk
alive       FIFO that the unit alone holds open to write: it ends with the unit, however that dies
stop        the unit is to end: written before anything else (unit.py)
.go         FIFO: the uptime (s) of a request that was granted (`follow`)
exit        the last line, written last: "EXIT STOPPED STARTED ENDED KEY=VALUE... REASON"

Only the disks that a request names are written to. Each is opened with O_EXCL, checked by that
descriptor, and held until fio has ended: fio inherits it and is given it in place of the name.
No other descriptor is inherited: Python opens all of them so (PEP 446).
"""

import contextlib
import errno
import fcntl
import glob
import grp
import hashlib
import json
import os
import pwd
import re
import select
import signal
import stat
import struct
import subprocess
import sys
import threading
import time
from typing import IO, Any, Callable, Dict, Iterable, Iterator, List, Optional, Set, Tuple, Union

SYS, PROC, DEV, RUN = "/sys", "/proc", "/dev", "/run"
"""Where the kernel and udev tell of themselves; tests put other directories there."""
PYTHON = sys.executable or os.readlink("/proc/self/exe")
"""This Python, which does not find itself where no PATH is set."""
Request = Dict[str, Any]
Lines = Iterator[str]
Answer = Iterator[Union[str, List[str]]]
NULL, PIPE = subprocess.DEVNULL, subprocess.PIPE


class Failed(Exception):
    """A request cannot be done, or a disk or directory may not be written to: the text says why."""


def read(path: str, most: int = 1 << 24) -> str:
    """The text of a file, at most so many bytes; empty where it cannot be read. Python 3.6 has no
    UTF-8 where the locale has none: what is read is decoded as names of files are."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return os.fsdecode(file.read(most))
    return ""


def lines_of(text: str) -> List[str]:
    """The lines of a text of the kernel, which ends lines with a newline alone: the name of a mount
    point may hold what str.splitlines takes for an end."""
    return text.split("\n")[: None if text[-1:] not in ("", "\n") else -1]


def first_line(path: str) -> str:
    """The first line of a file without blanks around it; empty where it cannot be read."""
    return read(path, 65536).partition("\n")[0].strip()  # /proc/sys refuses to give more


def number_in(path: str) -> int:
    """The number in a file of the kernel; 0 where there is none."""
    text = first_line(path)
    return int(text) if text.isdecimal() else 0


def write(name: str, lines: Iterable[str]) -> None:
    """Write a file of lines. Raises OSError."""
    with open(name, "wb") as file:
        file.write(os.fsencode("".join(line + "\n" for line in lines)))


def remove(path: str) -> None:
    """Remove a file; nothing where that cannot be done."""
    with contextlib.suppress(OSError):
        os.unlink(path)


def stat_of(path: str, follow: bool = True) -> Optional[os.stat_result]:
    """What stat(2), or lstat(2), says of a path; None where it says nothing."""
    with contextlib.suppress(OSError):
        return os.stat(path, follow_symlinks=follow)
    return None


def uptime() -> float:
    """Seconds since the machine started, which no correction of the clock changes."""
    return time.clock_gettime(7)  # CLOCK_BOOTTIME, which Python names since 3.7


def boot_id() -> str:
    """What tells this start of the machine from another."""
    return first_line(PROC + "/sys/kernel/random/boot_id")


def born(process: int) -> str:
    """When a process started, in ticks, by proc_pid_stat(5): a later one of its number has another.
    Empty: gone."""
    return (read(f"{PROC}/{process}/stat").rpartition(")")[2].split() + [""] * 20)[19]


def oom_kills() -> int:
    """How many processes the kernel has killed for want of memory, as far as it says so."""
    found = re.search(r"^oom_kill (\d+)$", read(PROC + "/vmstat"), re.MULTILINE)
    return int(found.group(1)) if found else 0


def processes() -> Iterator[int]:
    """The numbers of all other processes that are seen from here."""
    numbers = (int(name) for name in os.listdir(PROC) if name.isdecimal())
    return (number for number in numbers if number != os.getpid())


def name_of(number: int, unknown: str, by_number: Callable[[int], Any] = pwd.getpwuid) -> str:
    """The name of a user, or of a group (grp.getgrgid)."""
    with contextlib.suppress(KeyError):
        return str(by_number(number)[0])
    return unknown


def program(name: str) -> str:
    """The path of a program; empty where there is none."""
    places = os.environ.get("PATH", os.defpath).split(":")
    paths = (os.path.join(place or ".", name) for place in places)
    return next((one for one in paths if os.path.isfile(one) and os.access(one, os.X_OK)), "")


def ran(*words: str, timeout: Optional[float] = 60) -> Tuple[int, str]:
    """The exit status of a command, and what it printed; 127 where it is missing. What changes a
    disk or a mount gets no `timeout`: it would be killed half done. One that hangs in the kernel
    takes no signal, and is left behind."""
    try:
        process = subprocess.Popen(words, stdin=NULL, stdout=PIPE, stderr=subprocess.STDOUT)
        said = process.communicate(timeout=timeout)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return 124, f"{words[0]} did not end within {timeout:g} s"
    except OSError as error:
        return 127, f"{words[0]}: {error.strerror}"
    return process.returncode, os.fsdecode(said).rstrip("\n")


def kill(process: int, number: int) -> None:
    """Send a signal, to a process group where `process` is negative; nothing where it is gone."""
    with contextlib.suppress(OSError):
        os.kill(process, number)


def tell_fifo(path: str, data: bytes) -> bool:
    """Write to a FIFO that somebody reads; whether somebody does."""
    flags = os.O_WRONLY | os.O_NONBLOCK
    with contextlib.suppress(OSError), open(os.open(path, flags), "wb", buffering=0) as fifo:
        return stat.S_ISFIFO(os.fstat(fifo.fileno()).st_mode) and bool(fifo.write(data))
    return False


def no_room(directory: str) -> str:
    """Why no file of 64 KiB can be written in a directory, and what is free; empty: one can."""
    new = f"{directory}/new.room.{os.getpid()}"
    try:
        put(new, bytes(65536))
        return ""
    except Failed as failed:
        return str(failed)
    finally:
        remove(new)


def full(directory: str, error: OSError) -> Failed:
    """The failure of a write in a directory, with what is free there."""
    why = f"cannot write to {directory}: {error.strerror}"
    with contextlib.suppress(OSError):
        room = os.statvfs(directory)
        free_kib = room.f_bavail * room.f_frsize // 1024
        why += f" ({free_kib} KiB and {room.f_ffree} inodes are free there)"
    return Failed(why)


# --- Block devices, by their number MAJOR:MINOR


def sysfs(number: str, *more: str) -> str:
    """The directory of a device in sysfs, or a file in it."""
    return os.path.join(SYS, "dev/block", number, *more)


def number_text(device: int) -> str:
    """MAJOR:MINOR of a device as stat(2) has it."""
    return f"{os.major(device)}:{os.minor(device)}"


def number_of(path: str) -> str:
    """The number of a block device; empty where the path is none."""
    found = stat_of(path)
    return number_text(found.st_rdev) if found and stat.S_ISBLK(found.st_mode) else ""


def kernel_name(number: str) -> str:
    """The name below /dev, as the kernel has it; empty where there is no such device."""
    found = re.search(r"^DEVNAME=(.*)$", read(sysfs(number, "uevent")), re.MULTILINE)
    return found.group(1) if found else ""


def whole_disk(number: str) -> str:
    """The disk of a partition; any other device itself."""
    is_part = os.path.exists(sysfs(number, "partition"))
    return first_line(sysfs(number, "../dev")) or number if is_part else number


def partitions_of(number: str) -> List[Tuple[str, str]]:
    """Number and name of each partition of a disk."""
    places = [os.path.dirname(file) for file in sorted(glob.glob(sysfs(number, "*/partition")))]
    return [(first_line(place + "/dev"), os.path.basename(place)) for place in places]


def family(number: str) -> Dict[str, str]:
    """A disk and its partitions: their numbers by their names."""
    return {kernel_name(number): number, **{name: part for part, name in partitions_of(number)}}


def holders(number: str) -> List[str]:
    """The names of what is built on a device: device mapper, MD, bcache."""
    return sorted(os.path.basename(path) for path in glob.glob(sysfs(number, "holders/*")))


def slaves(number: str) -> List[str]:
    """The numbers of what a device is built on; of a partition, its disk."""
    disk, files = whole_disk(number), glob.glob(sysfs(number, "slaves/*/dev"))
    return [first_line(file) for file in sorted(files)] if disk == number else [disk]


def below(number: str) -> Iterator[str]:
    """A device, and all devices that it lies on."""
    yield number
    for lower in slaves(number):
        yield from below(lower)


class Mount:
    """A line of mountinfo, as proc_pid_mountinfo(5) has it. Raises Failed for any other: what is
    mounted there is not known."""

    def __init__(self, line: str) -> None:
        left, _, right = line.partition(" - ")
        fields, more = left.split(" "), right.split(" ")
        if len(fields) < 6 or len(more) < 2 or not re.fullmatch("[0-9]+:[0-9]+", fields[2]):
            raise Failed(f"a line of mountinfo cannot be read: {line!r}")
        self.id, self.number, self.point = fields[0], fields[2], unescaped(fields[4])
        self.kind, self.source = more[0], unescaped(more[1])
        options = ",".join(fields[5:6] + more[2:3]).split(",")
        self.options = ",".join(dict.fromkeys(options))


def unescaped(text: str) -> str:
    """A path as the kernel writes it: blanks and the like are octal."""
    return re.sub(r"\\([0-3][0-7]{2})", lambda found: chr(int(found.group(1), 8)), text)


def mounts(*names: str) -> List[Mount]:
    """What is mounted, as these processes see it, each once; as this one where none is named."""
    files = [read(f"{PROC}/{name}/mountinfo") for name in names or ("self",)]
    return [Mount(line) for line in dict.fromkeys(one for text in files for one in lines_of(text))]


def mounted_on(point: str) -> List[str]:
    """The numbers of the devices that are mounted there."""
    return [one.number for one in mounts() if one.point == point]


def mounted_below(path: str) -> bool:
    """Whether anything is mounted there or below. The kernel names mount points without links."""
    path = os.path.realpath(path)
    return any(one.point == path or one.point.startswith(path + "/") for one in mounts())


def points_of(number: str, found: List[Mount]) -> List[str]:
    """Where a disk, or a partition of it, is mounted; also by name: btrfs and its like number their
    mounts themselves."""
    keys = [*family(number).values(), *("/dev/" + name for name in family(number))]
    places = [one.point for key in keys for one in found if key in (one.number, one.source)]
    return list(dict.fromkeys(places))


def mount_of(path: str) -> Optional[Mount]:
    """The mount that a file or directory lies on: by the mount id of a descriptor, else by the
    longest mount point above it (of several the last)."""
    wanted, path = "", os.path.realpath(path)
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        info = read(f"{PROC}/self/fdinfo/{descriptor}")
        wanted = "".join(re.findall(r"^mnt_id:\s*(\d+)", info, re.MULTILINE))
        os.close(descriptor)
    found = mounts()
    above = [one for one in found if f"{path}/".startswith(one.point.rstrip("/") + "/")]
    longest = max(reversed(above), key=lambda one: len(one.point), default=None)
    return next((one for one in found if one.id == wanted), longest)


def swaps() -> Set[str]:
    """The numbers of the devices in use as swap."""
    lines = lines_of(read(PROC + "/swaps"))[1:]
    return {number_of(unescaped(line.split()[0])) for line in lines if line.split()} - {""}


def is_busy(path: str) -> bool:
    """Whether a process holds it exclusively. Nothing is written."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_EXCL))
    except OSError as error:
        return error.errno == errno.EBUSY
    return False


def stays(true: Callable[[], object], looks: int = 4) -> object:
    """The last answer of `true`, asked until it is false: what only inspects a disk, as udev does,
    closes it soon."""
    for _ in range(looks - 1):
        if not true():
            return False
        time.sleep(0.3)
    return true()


def retried(work: Callable[[], object]) -> None:
    """Do some work, again where it raises Failed: what only inspects a disk closes it soon."""
    for _ in range(3):
        with contextlib.suppress(Failed):
            work()
            return
        time.sleep(0.3)
    work()


def loop_status(number: str) -> Tuple[int, ...]:
    """Of a loop device the device and inode of its file, the number of the disk that this file is
    (0: of none), and from which byte on it is mapped. Empty where there is no file to be told."""
    file, node = first_line(sysfs(number, "loop/backing_file")), f"{DEV}/{kernel_name(number)}"
    if not file:
        return ()
    with contextlib.suppress(OSError), open(node, "rb", buffering=0) as device:
        # LOOP_GET_STATUS64: struct loop_info64 (linux/loop.h) begins with numbers of 8 bytes.
        return struct.unpack_from("=4Q", fcntl.ioctl(device, 0x4C05, bytes(232)))
    found, begin = stat_of(file), number_in(sysfs(number, "loop/offset"))
    return (found.st_dev, found.st_ino, found.st_rdev, begin) if found else ()


def backing_file(number: str) -> str:
    """The file of a loop device, a disk by the kernel's name: who attached it may have opened
    another node of it. Empty for other devices."""
    disk = (*loop_status(number), 0, 0, 0)[2]
    path = first_line(sysfs(number, "loop/backing_file"))
    return f"/dev/{kernel_name(number_text(disk))}" if disk else path


def backing(number: str) -> Optional[Tuple[str, str, int, int]]:
    """Device and inode of the file of a loop device, and the bytes of it that it maps (begin, end);
    None for other devices, and where the file cannot be told."""
    status = loop_status(number)
    if not status:
        return None
    on, inode, _, begin = status
    return number_text(on), str(inode), begin, begin + number_in(sysfs(number, "size")) * 512


def own_identities(number: str) -> List[str]:
    """The identities that the kernel read from the device itself; of a loop device its file, with
    the inode and without."""
    file = backing_file(number)
    if file:
        mapped = backing(number)
        return [f"{file}:{mapped[1] if mapped else ''}", file]
    page = read(sysfs(number, "device/vpd_pg80"))[4:].replace("\0", "").partition("\n")[0]
    names = ("serial", "device/serial", "wwid", "device/wwid")
    # A Xen disk has no serial: its nodename says by which slot it was attached.
    others = ("dm/uuid", "md/uuid", "device/nodename")
    values = [first_line(sysfs(number, name)) for name in names + others]
    values.insert(len(names), re.sub(" +", " ", page).strip(" "))
    return [value for value in values if value]


def udev(number: str) -> Dict[str, str]:
    """What udev wrote down of a device."""
    lines = lines_of(read(f"{RUN}/udev/data/b{number}"))
    pairs = (line[2:].partition("=") for line in lines if line.startswith("E:"))
    return {key: value for key, _, value in pairs}


def identities(number: str) -> List[str]:
    """Every identity of a device: the kernel's, and udev's for what is no loop device."""
    names = ("ID_SERIAL", "ID_SERIAL_SHORT", "ID_WWN", "ID_WWN_WITH_EXTENSION", "ID_SCSI_SERIAL")
    known = {} if backing_file(number) else udev(number)
    return own_identities(number) + [known[name] for name in names if known.get(name)]


def described(number: str, files: Dict[str, str]) -> Lines:
    """KEY=VALUE lines of a device: its name, identities and backing, and what `files` in sysfs, by
    their keys, hold or (directories) are called."""
    place, mapped = os.path.realpath(sysfs(number)), backing(number)
    yield "name=" + os.path.basename(place).replace("!", "/")
    yield "number=" + number
    if backing_file(number):
        yield "backing_file=" + backing_file(number)
    if mapped:
        yield "backing_inode=" + mapped[1]
        yield "backing=" + " ".join(map(str, mapped))
    yield from ("identity=" + value for value in identities(number))
    for key, file in files.items():
        at = os.path.realpath(sysfs(number, file))
        yield f"{key}={os.path.basename(at) if os.path.isdir(at) else first_line(at)}"
    if files:
        yield "path=" + place
        keys = ("ID_BUS", "ID_MODEL", "ID_WWN")
        yield from (f"udev_{key[3:].lower()}={udev(number).get(key, '')}" for key in keys)


# --- Which physical disks lie under a path: what is claimed for it


def physical(number: str) -> Set[str]:
    """The physical disks below a device: through partitions, device mapper, MD and loop devices."""
    lower, file = slaves(number), backing_file(number)
    if lower:
        return set().union(*map(physical, lower))
    return (disks_under(file) if file else set()) or {number}


def disks_under(path: str) -> Set[str]:
    """The physical disks below a device, or below a file or directory, by their numbers; the source
    of a share. Empty where it cannot be told."""
    found = stat_of(path)
    if found is None:
        return set()
    is_device = stat.S_ISBLK(found.st_mode)
    number = number_text(found.st_rdev if is_device else found.st_dev)
    if is_device or os.path.exists(sysfs(number)):
        return physical(number)
    on = mount_of(path)  # btrfs, ZFS, overlay, NFS ...: by what is mounted there
    if on is None:
        return {number}
    source = number_of(on.source) if on.source.startswith("/dev/") else ""
    if source:
        for devices in glob.glob(SYS + "/fs/btrfs/*/devices") if on.kind == "btrfs" else ():
            members = [first_line(one) for one in glob.glob(devices + "/*/dev")]
            if source in members:
                return set().union(*map(physical, members))
        return physical(source)
    if ":" in on.source or on.source.startswith("//"):
        return {on.source.rstrip("/")}
    return {"zfs:" + on.source.partition("/")[0]} if on.kind == "zfs" else {number}


def claimable(keys: Iterable[str]) -> Set[str]:
    """Keys of disks in the characters that a claim may hold."""
    return {re.sub(r"[^A-Za-z0-9:._/-]", "?", key) for key in keys if key}


# --- The guard: reasons not to write, checked right before something is written


class Disk:
    """A disk that may be written to: its name, number, identity and size as they were allowed; a
    number `-` is taken as it is now. From `hold` on it is open, and what is checked is the
    descriptor. A fact that cannot be read is a reason not to write."""

    def __init__(self, allowed: Request) -> None:
        self.path, self.number = str(allowed["path"]), str(allowed["number"])
        self.identity, self.size = str(allowed["identity"]), int(allowed["size"])
        if self.number == "-":
            self.number = number_of(self.path)
        self.descriptor = -1
        self.is_exclusive = False
        self.seen: Dict[str, str] = {}

    @property
    def held(self) -> str:
        """The path by which it is checked and written to: its descriptor, else its name."""
        return self.path if self.descriptor < 0 else f"/proc/{os.getpid()}/fd/{self.descriptor}"

    def hold(self, exclusively: bool = False) -> None:
        """Open it: while it is open the kernel gives its number to no other disk, and with O_EXCL
        it refuses mount, mkfs, swapon, mdadm and losetup, which use that themselves. Raises Failed,
        also where it is another disk by now."""
        self.check_identity()
        retried(lambda: self._open(exclusively))
        self.check_identity()
        self.seen = self._identifying()

    def _open(self, exclusively: bool) -> None:
        if self.descriptor >= 0:
            return
        try:
            self.descriptor = os.open(self.path, os.O_RDONLY | (os.O_EXCL if exclusively else 0))
        except OSError as error:
            is_busy = error.errno == errno.EBUSY
            why = "is in exclusive use" if is_busy else f"cannot be opened: {error.strerror}"
            raise Failed(f"{self.path} {why}") from error
        self.is_exclusive = exclusively

    def release(self) -> None:
        """Close it."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor, self.is_exclusive = -1, False

    def check_identity(self) -> None:
        """Raise Failed where it is another disk by now, by its name or by the descriptor."""
        for path in dict.fromkeys((self.path, self.held)):
            number = number_of(path)
            if number != self.number or not number:
                raise Failed(f"{self.path} is now {number or 'gone'}, not {self.number}")
        if number_in(sysfs(self.number, "size")) * 512 != self.size:
            raise Failed(self.path + " has another size")
        if self.identity not in identities(self.number):
            raise Failed(f"{self.path} no longer answers to {self.identity}")

    def _identifying(self) -> Dict[str, str]:
        """What identifies the disk behind the descriptor."""
        number = number_of(self.held)
        mapped = backing(number)
        return {
            "number": number,
            # A loop device that is attached again, or another disk of that number, has another one
            # (Linux 5.15).
            "sequence": first_line(sysfs(number, "diskseq")),
            "size": str(number_in(sysfs(number, "size")) * 512),
            "backing": f"{mapped[0]} inode {mapped[1]}" if mapped else "",
            "offset": str(mapped[2]) if mapped else "",
            "identity": ",".join(own_identities(number)),
        }

    def check_same(self) -> None:
        """Raise Failed where it is no longer held, or is not what it was when that began."""
        if number_of(self.held) != self.number:
            raise Failed(self.path + " is no longer held open")
        now = self._identifying()
        changed = [
            f"the {key} of {self.path} is now {now[key] or 'none'}, it was {was or 'none'}"
            for key, was in self.seen.items()
            if now[key] != was
        ]
        if changed:
            raise Failed("; ".join(changed))

    def check_taken(self) -> None:
        """Raise Failed where it, or a partition, is mounted, swap, or part of another device."""
        parts = family(self.number)
        if "" in parts:
            raise Failed(self.path + " has no name that can be read")
        found = mounts("self", "1")  # also as process 1 sees it
        if not found:
            raise Failed("what is mounted cannot be read")
        points = sorted(points_of(self.number, found))
        if points:
            raise Failed(f"{self.path} is mounted on {' '.join(points)}")
        in_swap, paths = swaps(), ["/dev/" + name for name in parts]
        for number in parts.values():
            if number in in_swap:
                raise Failed(self.path + " is swap")
            if holders(number):
                raise Failed(f"{self.path} is held by {' '.join(holders(number))}")
        mapped = backing(self.number)
        for place in sorted(glob.glob(SYS + "/block/loop*/loop/backing_file")):
            loop = first_line(place[: -len("loop/backing_file")] + "dev")
            file, other = backing_file(loop), backing(loop)
            if file in paths:
                raise Failed(f"{file} is the backing device of {kernel_name(loop)}")
            if not mapped or not other or loop == self.number or other[:2] != mapped[:2]:
                continue
            if other[2] < mapped[3] and mapped[2] < other[3]:
                raise Failed(f"{self.path} shares its backing file with /dev/{kernel_name(loop)}")

    def check_use(self, holds_data: bool = False) -> None:
        """Raise Failed where anything uses it or a partition of it."""
        self.check_taken()
        parts = [name for _, name in partitions_of(self.number)]
        if parts and not holds_data:
            raise Failed(f"{self.path} has partitions: {' '.join(parts)}")
        if not self.is_exclusive and stays(lambda: is_busy(self.path)):
            raise Failed(self.path + " is in exclusive use")

    def check_content(self, uuid: str = "") -> None:
        """Raise Failed unless it is empty; with `uuid` unless it holds only that filesystem."""
        what = self.content(uuid)
        if what:
            raise Failed(f"{self.path} holds {what}, which diskbench did not make")

    def content(self, uuid: str = "") -> str:
        """What it holds beside the filesystem `uuid`; empty for nothing. Raises Failed where that
        cannot be told."""
        status, said = ran("blkid", "-p", "-o", "export", self.held)
        values = dict(line.partition("=")[::2] for line in lines_of(said))
        if status == 0:
            table = values.get("PTTYPE")
            if table:
                return f"a partition table ({table})"
            if not uuid or values.get("UUID") != uuid:
                return values.get("TYPE", "a signature")
        elif status == 8:
            return "signatures that contradict each other"
        elif status != 2 or said:
            raise Failed(f"{self.path} cannot be examined: {said}")
        # blkid says 2 also of what it cannot open, and stops at the first of several signatures.
        status, said = ran("wipefs", "-n", "-p", self.held)
        if status:
            raise Failed(f"{self.path} cannot be examined: {said}")
        rows = [line.split(",") for line in lines_of(said) if line and not line.startswith("#")]
        return " ".join(row[-1] for row in rows if not uuid or row[1:2] != [uuid])

    def carries(self, uuid: str) -> bool:
        """Whether blkid finds this UUID on it."""
        return f"UUID={uuid}" in ran("blkid", "-p", "-o", "export", self.held)[1].split("\n")


# --- One measurement at a time on a disk, by any user

KEPT_S = 60
"""Seconds that a trial keeps its turn between two of its steps; our choice."""
DEAD_S = 3600
"""Seconds after its turn from which a claim that no process holds is removed; our choice."""
LOCK_S = 10.0
"""Seconds that a lock may be held by somebody else before it is done without; our choice."""
MOST_AHEAD = 10**6
"""By how much a ticket may be above the uptime (s): each of a crowd takes one more. Who writes a
larger one would have all others wait behind it."""
CLAIM_BYTES, QUEUE = 16384, "/diskbench.queue"
_CLAIM = re.compile("^([a-z]+) ([A-Za-z0-9:._/@ ?-]+)$", re.MULTILINE)
_OTHERS = "cannot be made, or belongs to somebody else"
SHARED = ("/run/lock", "/dev/shm", "/tmp")
"""Where all users may write; which of them, the host says."""


class Busy(Failed):
    """Another trial measures the disk, or a stage took too long; the text says which."""


class Claim:
    """What a trial says of its measurement on a disk: a small file in a directory that all users
    share. It lives while its unit holds a flock on it, and ends with that, in any way; between two
    steps it is kept until the uptime `until`, while the trial's directory is there. Anybody may
    have written it: what no diskbench writes is left out."""

    def __init__(self, path: str, text: str, owner: int) -> None:
        self.path, self.owner, now = path, owner, uptime()
        words = dict(_CLAIM.findall(text))
        numbers = {key: int(one) for key, one in words.items() if re.fullmatch("[0-9]{1,14}", one)}
        self.trial = words.get("trial", "")
        # Root alone measures in the name of another user.
        self.user = name_of(owner, str(owner)) if owner else words.get("user", "")
        self.pid, self.state = words.get("pid", ""), words.get("state", "")
        self.disks = set(words.get("disks", "").split())
        self.runs, self.since = numbers.get("runs") == 1, numbers.get("since", 0)
        ticket, until = numbers.get("ticket", 10**14), numbers.get("until", 0)
        self.ticket = ticket if self.trial and ticket <= now + MOST_AHEAD else None
        self.order = (float("inf") if self.ticket is None else self.ticket, path)
        self.until = until if until <= now + KEPT_S else 0

    @property
    def sentence(self) -> str:
        """Who measures."""
        if self.ticket is None:
            user = name_of(self.owner, str(self.owner))
            return f"a claim in {os.path.dirname(self.path)} that names no trial (user {user})"
        since = str(self.since)
        if 0 < self.since < 10**11:
            since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(self.since))
        return f"trial {self.trial} (user {self.user}, process {self.pid} there, since {since})"


def shared_place() -> str:
    """The first directory that every user may write to, and in which nobody removes what is
    another's; empty where there is none."""
    there = filter(os.path.isdir, SHARED)
    return next((one for one in there if stat.S_IMODE(os.stat(one).st_mode) == 0o1777), "")


def open_plain(path: str, flags: int = os.O_RDONLY) -> int:
    """A descriptor of a regular file, of no link and no FIFO. Raises OSError."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "is not a regular file", path)
    return descriptor


def got_flock(descriptor: int, kind: int) -> bool:
    """Whether a file could be locked at once, so that no other process holds a lock against it."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def is_at(path: str, descriptor: int) -> bool:
    """Whether an open file is still the one of that path."""
    there = stat_of(path, follow=False)
    return there is not None and os.path.samestat(there, os.fstat(descriptor))


def locked(path: str, ending: Callable[[], Any], flags: int = os.O_RDONLY) -> int:
    """A descriptor of a file of everybody's directory, made where it is not there, with a flock of
    this process alone. Raises OSError, also where somebody else holds it for LOCK_S."""
    end = time.monotonic() + LOCK_S
    while True:
        try:
            descriptor = open_plain(path, flags)
        except FileNotFoundError:
            # Without O_CREAT above: the kernel refuses it for a file of others (protected_regular).
            with contextlib.suppress(FileExistsError), open(path, "x") as made:
                os.fchmod(made.fileno(), 0o644)
            continue
        except OSError as error:
            raise OSError(error.errno, _OTHERS, path) from error
        if got_flock(descriptor, fcntl.LOCK_EX) and is_at(path, descriptor):
            return descriptor
        os.close(descriptor)
        if time.monotonic() > end or ending():
            raise OSError(errno.ETIMEDOUT, "is locked by another process", path)
        time.sleep(0.02)


class Turn:
    """A trial's turn on the disks under some paths. One process at a time looks at the claims and
    changes them, by a flock on the file `diskbench.queue`: so a claim is seen whole or not at all,
    and none is made between a look and what follows from it."""

    def __init__(self, trial: str, state: str, user: str, ending: Callable[[], Any]) -> None:
        self.trial, self.state, self.ending = trial, state, ending
        user = user or name_of(os.getuid(), str(os.getuid()))
        self.user = re.sub(r"[^A-Za-z0-9:._/@-]", "?", user)
        self.place = shared_place()
        self.path = f"{self.place}/diskbench-{trial}.claim"
        self.method, self.why, self.behind, self.waited = "none", "", "", 0.0
        self.disks: Set[str] = set()
        self.ticket, self._descriptor = 0, -1

    def take(
        self, paths: List[str], if_busy: str, tell: Callable[[str], None],
        wait: Callable[[float], Any],
    ) -> None:  # fmt: skip
        """Wait for the turn on all disks under `paths`, as `if_busy` says: wait, fail, share, or so
        many seconds. Returns at once where the unit is ending. Raises Busy. Where no turn can be
        taken the reason is in `why`."""
        where = " ".join(paths)
        self.disks = claimable(key for path in paths for key in disks_under(path))
        if not self.place or not self.disks:
            unknown = f"it is unknown which disk {where} is on"
            self.why = unknown if self.place else "no directory is shared by all users"
            return
        what = f"the disk under {where} ({' '.join(sorted(self.disks))})"
        limit_s = float({"fail": "0", "wait": "inf", "share": "inf"}.get(if_busy, if_busy))
        begun, told = uptime(), ""
        try:
            self._claim()
            while True:
                first = self._first(shares=if_busy == "share")
                if first is None:
                    return
                self.waited, self.behind = uptime() - begun, first.sentence
                if self.waited >= limit_s:
                    self.drop()
                    even = f", even after {self.waited:.0f} s" if limit_s else ""
                    raise Busy(f"busy: {what} is being measured by {self.behind}{even}")
                if self.ending():
                    break
                if told != first.path:
                    tell(f"~ waits for {what}, which is being measured by {self.behind}")
                told = first.path
                wait(1.0)
        except OSError as error:
            self.why = f"{error.filename or self.path} {error.strerror}"
        self.drop()

    def _claim(self) -> None:
        """Open the claim, and lock it for as long as this process lives. Raises OSError."""
        self.ticket, self._descriptor = 0, locked(self.path, self.ending, os.O_RDWR)
        found = os.fstat(self._descriptor)
        if found.st_uid != os.getuid() or found.st_nlink > 1:  # another name of a file of ours
            raise OSError(errno.EPERM, _OTHERS, self.path)
        self.method = "flock"

    def _first(self, shares: bool) -> Optional[Claim]:
        """The claim whose turn it is; None where it is ours, which then says so. Raises OSError."""
        with open(locked(self.place + QUEUE, self.ending)):
            others = list(self.living())
            is_new = not self.ticket
            if is_new:  # that of an earlier step while it is kept, else one behind all others
                kept = Claim(self.path, read(self.path, CLAIM_BYTES), 0)
                tickets = [one.ticket + 1 for one in others if one.ticket is not None]
                behind = max([int(uptime()), *tickets])
                self.ticket = kept.ticket if kept.ticket and kept.until > uptime() else behind
            own = (self.ticket, self.path)
            before = [one for one in others if one.ticket is None or one.order < own]
            first = None if shares else min(before, key=lambda one: one.order, default=None)
            if is_new or first is None:
                self._write(runs=first is None)
            return first

    def _write(self, runs: bool, until: int = 0) -> None:
        text = (
            f"disks {' '.join(sorted(self.disks))}\ntrial {self.trial}\nuser {self.user}\n"
            f"pid {os.getpid()}\nborn {born(os.getpid())}\nsince {int(time.time())}\n"
            f"state {self.state}\nruns {int(runs)}\nuntil {until}\nticket {self.ticket}\n"
        )
        data = text.encode("ascii", "replace")
        os.pwrite(self._descriptor, data, 0)
        os.ftruncate(self._descriptor, len(data))

    def living(self) -> Iterator[Claim]:
        """The living claims of others on our disks. Who has a claim removes those of this user that
        died long ago: each one that is left costs every later look."""
        for path in sorted(set(glob.glob(self.place + "/diskbench-*.claim")) - {self.path}):
            with contextlib.suppress(OSError), open(open_plain(path), "rb") as file:
                number, owner = file.fileno(), os.fstat(file.fileno()).st_uid
                claim = Claim(path, file.read(CLAIM_BYTES).decode("latin-1"), owner)
                if claim.disks and not claim.disks & self.disks:
                    continue
                if not got_flock(number, fcntl.LOCK_SH):
                    yield claim  # its unit lives
                    continue
                # A path that another user chose may lead to a server that never answers.
                is_known = owner not in (0, os.getuid()) or os.path.isdir(claim.state)
                if claim.until > uptime() - 2 and is_known:
                    yield claim
                    continue
                is_ours = owner == os.getuid() and claim.ticket is not None
                is_left = self._descriptor >= 0 and uptime() - claim.until > DEAD_S
                if is_ours and is_left and got_flock(number, fcntl.LOCK_EX) and is_at(path, number):
                    os.unlink(path)

    def leave(self) -> None:
        """Free the disk for the next step of this trial for KEPT_S, then for others."""
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):  # then it ends with its lock
                self._write(runs=False, until=int(uptime()) + KEPT_S)
            os.close(self._descriptor)
        self._descriptor = -1

    def drop(self) -> None:
        """Give up the claim."""
        if self._descriptor >= 0:
            if self.method == "flock":
                remove(self.path)
            os.close(self._descriptor)
        self._descriptor, self.method = -1, "none"

    def beside(self) -> Lines:
        """Who measures on our disks beside us: other trials, and processes of fio."""
        for one in self.living() if self.place else ():
            if one.runs and one.ticket is not None:
                yield "beside " + one.sentence
        for process in fios_on(self.disks, self.state) if self.disks else ():
            found = stat_of(f"{PROC}/{process}")
            if found:  # else it has ended
                user = name_of(found.st_uid, "UNKNOWN")
                yield f"beside a process of fio (number {process}, user {user})"

    def report(self) -> Lines:
        """How the disk was locked, for lock.txt."""
        yield from (f"method {self.method}", f"why {self.why}", f"waited_s {self.waited:.0f}")
        yield from (f"disks {' '.join(sorted(self.disks))}", f"behind {self.behind}")


def is_of_trial(process: int, state: str) -> bool:
    """Whether a process carries the mark of a trial's units, as far as it may be read."""
    return "DISKBENCH_TRIAL=" + state in read(f"{PROC}/{process}/environ").split("\0")


def fios_on(disks: Set[str], state: str) -> Iterator[int]:
    """Processes named fio, of other trials or none, with a file or device on these disks open."""
    for process in processes():
        if first_line(f"{PROC}/{process}/comm") != "fio" or is_of_trial(process, state):
            continue
        opened: Dict[Tuple[int, int], str] = {}  # one file of each device and filesystem
        for path in glob.glob(f"{PROC}/{process}/fd/*"):
            found, is_standard = stat_of(path), path.endswith(("/0", "/1", "/2"))
            kind = stat.S_IFMT(found.st_mode) if found else 0
            if found and (kind == stat.S_IFBLK or (kind == stat.S_IFREG and not is_standard)):
                opened[found.st_rdev, found.st_dev] = path
        if any(claimable(disks_under(path)) & disks for path in opened.values()):
            yield process


# --- What fio and the kernel say while fio runs


class Interim:
    """fio's documents as they come: the newest whole one, the text outside of documents, and of
    each document a line of figures for live.tsv. A document goes from a line `{` to a line `}`: fio
    indents everything between. It is fio's own when it begins with fio's version and is JSON with a
    list of jobs."""

    MOST_OUTSIDE = 1 << 20

    def __init__(self) -> None:
        self.newest = self._outside = self._pending = b""

    def feed(self, data: bytes) -> Lines:
        """Take more output; gives the lines of the documents that it completed."""
        *ended, rest = (self._pending + data).split(b"\n}\n")
        for text in ended:
            before, begin, inside = (b"\n" + text).rpartition(b"\n{\n")
            whole = b"{\n" + inside + b"\n}\n"
            document = own_document(whole) if begin else None
            if document is None:
                self._keep(text + b"\n}\n")
            else:
                self._keep((before + b"\n")[1:])
                self.newest = whole
                yield figures(document)
        begins = (b"\n" + rest).find(b"\n{\n")
        at = begins if begins >= 0 else rest.rfind(b"\n") + 1
        self._keep(rest[:at])
        self._pending = rest[at:]

    def text(self) -> bytes:
        """What is kept: the text outside of documents, then the newest document."""
        return self._outside + self.newest + self._pending

    def _keep(self, text: bytes) -> None:
        self._outside += text[: max(0, self.MOST_OUTSIDE - len(self._outside))]


def own_document(text: bytes) -> Optional[Dict[str, Any]]:
    """fio's own document; None for anything else. fio before 3 prints what is no figure as nan."""
    if not text.startswith(b'{\n  "fio version" : "fio-'):
        return None
    for one in (text, re.sub(rb"(?<=: )-?(nan|inf)\b", b"0", text)):
        with contextlib.suppress(ValueError, RecursionError):
            document = json.loads(one.decode("utf-8", "replace"))
            return document if isinstance(document.get("jobs"), list) else None
    return None


def figures(document: Dict[str, Any]) -> str:
    """Unix time (s), runtime (s), then for read, write and trim: I/Os, bytes, sum of latency (ns),
    number of latencies. The runtime is that of the direction that has run longest: the job_runtime
    of a group (group_reporting) is the sum of its jobs (3.33, tried)."""

    def number(value: object) -> float:
        return float(value) if isinstance(value, (int, float)) else 0.0

    runtime = elapsed = 0.0
    sums = {way: [0.0] * 4 for way in ("read", "write", "trim")}
    for job in document["jobs"]:
        for way, part in job.items() if isinstance(job, dict) else ():
            if way == "elapsed":
                elapsed = max(elapsed, number(part))
            into = sums.get("read" if way == "mixed" else way)
            if into is None or not isinstance(part, dict):
                continue
            latency = part.get("lat_ns")
            latency = latency if isinstance(latency, dict) else {}
            total, mean = number(part.get("total_ios")), number(latency.get("mean"))
            count = number(latency.get("N")) or (total if mean > 0 else 0.0)  # no N before fio 3.17
            for at, value in enumerate((total, number(part.get("io_bytes")), mean * count, count)):
                into[at] += value
            runtime = max(runtime, number(part.get("runtime")) / 1000)
    stamp = number(document.get("timestamp_ms")) / 1000 or number(document.get("timestamp"))
    values = [f"{value:.0f}" for way in sums.values() for value in way]
    return "\t".join([f"{stamp:.3f}", f"{runtime or elapsed:.3f}", *values])


def volume_pages(when: str, numbers: List[str]) -> Lines:
    """What the cloud itself counts of its volumes, a line "WHEN NUMBER PAGE" each: the log page
    0xD0 of Amazon's NVMe disks. Only disks that say that they are Amazon's are asked, since the
    page is the vendor's own."""
    for number in numbers:
        disk = sysfs(whole_disk(number))
        if not first_line(disk + "/device/model").startswith("Amazon Elastic Block Store"):
            continue
        import ctypes

        page = ctypes.create_string_buffer(4096)
        # struct nvme_passthru_cmd: get log page (2) of namespace 1, 1,024 words (less 1) of page
        # 0xD0, within 2 s
        command = struct.pack("=BBHIIIQQ10I", 2, 0, 0, 1, 0, 0, 0, ctypes.addressof(page), 0, 4096,
                              1023 << 16 | 0xD0, 0, 0, 0, 0, 0, 2000, 0)  # fmt: skip
        path = f"{DEV}/{os.path.basename(os.path.realpath(disk))}"
        with contextlib.suppress(OSError), open(path, "rb", buffering=0) as device:
            if fcntl.ioctl(device, 0xC0484E41, bytearray(command)) == 0:
                yield f"{when} {number} {page.raw.hex()}"


# --- A unit: one step


FOREVER_S = 315360000
BESIDE_S = 20.0
"""Seconds that a look at who measures beside us may take; our choice."""
HANGING_BEATS = 60
"""Signs of life in a stage that is to end, after which it counts as hanging; our choice."""
_NULL_FIO = (
    "fio --name=null --thread --ioengine=null --rw=randread --bs=4k --size=1g --time_based "
    "--runtime=50ms --clocksource=clock_gettime --output-format=json --eta=never --output=.null"
)


def dropping(path: str) -> List[str]:
    """The command that writes a file out and drops what is cached of it; it writes no data."""
    return ["dd", "of=" + path, "oflag=nocache", "conv=notrunc,fdatasync", "count=0"]


class Unit:
    """A step on this host, in the directory in which this process works.

    The main thread goes through the stages and reads fio; a second one gives a sign of life each
    second and, while fio runs, reads the machine's counters. A stop, a signal, a limit that has
    passed and a disk that takes no more writing end any stage.
    """

    def __init__(self, spec: Request, alive: int) -> None:
        self.spec, self.limits, self._alive = spec, spec["limits"], alive
        self._directory = os.getcwd()
        self.state, self.work, self.mount = spec["state"], spec["work"], spec["mount"]
        self.disks = [Disk(one) for one in spec["disks"]]
        self.turn = Turn(spec["trial"], self.state, spec["user"], self.over)
        self.limit = ""  # the stage that took too long
        self.broken = ""  # why it cannot go on by itself: mostly that it cannot write
        self.signal = 0
        self.beside: Set[str] = set()
        self.started = self.began = self.ended = self.moved = 0.0
        self.fio_exit = 126
        self._stage, self._stage_end = "check", uptime() + 600
        self._over, self._writing = threading.Event(), threading.RLock()
        self._is_quiet = threading.Event()  # no more signs of life are written to live.tsv
        self._held = contextlib.ExitStack()
        self._fio: "Optional[subprocess.Popen[bytes]]" = None
        self._interim = Interim()
        self._is_closed = False  # nothing is written any more: the files are summed
        self._woken, self._wake = os.pipe()  # a signal writes to it: a lock could be held then
        os.set_blocking(self._woken, False)
        os.set_blocking(self._wake, False)

    # How it ends

    def asked(self) -> bool:
        """Whether it is to end, by a stop or a signal."""
        return bool(self.signal) or os.path.exists("stop")

    def ending(self) -> bool:
        """Whether the stage is to end: it is asked to, cannot go on, or takes too long."""
        return self.asked() or bool(self.broken) or uptime() >= self._stage_end

    def over(self) -> bool:
        """Whether the stage is to end; the name of one that took too long is kept."""
        if uptime() >= self._stage_end and not self.asked() and not self.broken:
            self.limit = self.limit or self._stage
        return self.ending()

    def go_on(self) -> None:
        """Raise Failed where the stage is to end."""
        if self.over():
            raise Busy(f"took too long: {self.limit}") if self.limit else Failed("stopped")

    def caught(self, number: int, _frame: object) -> None:
        """A signal of somebody else, whose number is kept; a stop has left its word before."""
        if not self.signal and not os.path.exists("stop"):
            self.signal = number

    def fault(self, error: Exception) -> None:
        """Something cannot be written, or this program is wrong: the unit ends."""
        why = f"{type(error).__name__}: {error}"
        if isinstance(error, OSError):
            why = str(full(self._directory, error))
        self.broken = self.broken or why

    def enter(self, stage: str, limit_s: float) -> None:
        """What is done now, and for how long at most."""
        self._stage, self._stage_end = stage, uptime() + limit_s

    def wait(self, seconds: float, *more: int) -> List[int]:
        """Wait, but not longer than until a signal comes; which of `more` can be read."""
        ready = select.select([self._woken, *more], [], [], seconds)[0]
        if self._woken in ready:
            os.read(self._woken, 65536)
        return ready

    # What is followed

    def append(self, name: str, data: bytes) -> None:
        """Add to a file until the files are summed; where it cannot be written the unit ends."""
        with self._writing:
            try:
                if not self._is_closed:
                    with open(name, "ab") as file:
                        file.write(data)
            except OSError as error:
                self.fault(error)

    def tell(self, line: str) -> None:
        """A line for whoever follows."""
        self.append("live.tsv", os.fsencode(line) + b"\n")
        with contextlib.suppress(OSError):  # full: nobody follows
            os.write(self._alive, b"\0")

    def _beat(self) -> None:
        """Each second a sign of life, with what is done; while fio runs, a sample. None of a stage
        that does not end as it is to: its thread hangs in the kernel, and nobody waits for that."""
        overdue, is_over = 0, False
        while not is_over and overdue < HANGING_BEATS:
            stage = self._stage
            if self.began and not self.ended:
                self._sample()
            signs = {"go": f"? {int(uptime())}", "fio": "#"}
            self.tell(signs.get(stage, f"# {stage}"))
            overdue = overdue + 1 if self.ending() and stage not in ("fio", "end") else 0
            is_over = self._over.wait(1.0 - uptime() % 1.0)
        self._is_quiet.set()

    def _sample(self) -> None:
        """The machine's counters, with the time by the uptime since fio began."""
        with self._writing:
            lines = [f"@ {self.started + uptime() - self.began:.9f}"]
            counts = lines_of(read(PROC + "/stat"))
            lines += [one for one in counts if one.startswith(("cpu", "ctxt"))]
            lines.append(first_line(PROC + "/loadavg"))
            sampled, disks = self.spec["sampled"], lines_of(read(PROC + "/diskstats"))
            lines += [one for one in disks if ":".join(one.split(None, 2)[:2]) in sampled]
            self.append("samples.txt", ("\n".join(lines) + "\n").encode())

    # Stages before fio

    def child(self, *words: str, stdin: Optional[IO[bytes]] = None) -> int:
        """The exit status of a command of a stage. Raises Failed where the stage is to end; a
        command that hangs in the kernel takes no signal then, and is left behind."""
        self.go_on()
        try:
            process = subprocess.Popen(
                words, stdin=stdin or NULL, stdout=NULL, stderr=NULL, start_new_session=True
            )
        except OSError:
            return 127
        try:
            while process.poll() is None:
                self.go_on()
                self.wait(1.0)
        except Failed:
            kill(-process.pid, signal.SIGKILL)
            raise
        return process.returncode

    def check_directory(self) -> None:
        """Raise Failed unless the directory of test files is the right one."""
        if not self.work:
            return
        if not os.path.isdir(self.work):
            raise Failed(self.work + " is gone")
        if not self.mount:
            if not place_is(self.work, self.state + "/work.id"):
                raise Failed(self.work + " is not the directory that diskbench made")
        elif os.stat(self.work).st_dev != os.stat(self.mount).st_dev:
            raise Failed(f"{self.work} is not on {self.mount}")
        elif self.disks[0].number not in mounted_on(self.mount):
            raise Failed(f"{self.disks[0].path} is not mounted on {self.mount}")

    def check(self) -> None:
        """Raise Failed unless each disk is still the one that was allowed, and so the directory."""
        for disk in self.disks:
            disk.check_identity()
            if not self.mount:
                disk.check_use(self.spec["holds_data"])
                if not self.spec["holds_data"]:
                    disk.check_content()
        self.check_directory()

    def hold(self) -> None:
        """Open the disks, from before their first check until fio has ended. Raises Failed."""
        try:
            for disk in self.disks:
                self._held.callback(disk.release)
                disk.hold(exclusively=not self.mount)
            if self.mount and os.path.isdir(self.work):  # so that it is not unmounted
                self._held.callback(os.close, os.open(self.work, os.O_RDONLY))
        except Failed:
            self.check()  # who is mounted says more than who is busy
            raise
        self.check()
        how = "with its filesystem" if self.mount else "exclusively (O_EXCL), by python3"
        lines = [f"held open {how}"]
        for disk in self.disks:
            lines += [f"device {disk.path}"] if len(self.disks) > 1 else []
            lines += [f"{key} {value}" for key, value in disk.seen.items() if value]
        if self.disks:
            write("device.txt", lines)

    def prepare(self) -> None:
        """All that comes before fio: its turn, its disks, its caches. Raises Failed."""
        self.enter("turn", FOREVER_S)
        paths = [disk.path for disk in self.disks] or [self.work]
        self.turn.take(paths, self.spec["if_busy"], self.tell, self.wait)
        self.go_on()
        self.enter("check", 600)
        self.hold()
        self.clear_caches()
        if self.spec["canary_before"]:
            self.canary("canary-before.txt")

    def clear_caches(self) -> None:
        """Write out what others wrote, and drop what is cached of the target: a disk that is still
        written to, or a cache that is still warm, would be measured with the rest."""
        if not self.spec["drop"]:
            write("cache.txt", ["method kept"])
            return
        self.enter("sync", self.limits["sync"])
        if not self.work or self.child("sync", "-f", self.work):
            self.child("sync")
        method, what, before, after = "fadvise", "files" if self.work else "buffers", "0", "0"
        # The kernel's own drop would take the whole machine's cache, fio itself included.
        if not self.work or os.listdir(self.work):
            self.enter("cache-drop", self.limits["sync"])
            before, method = self._cached(), "drop_caches"
            if self.child("sh", "-c", "echo 3 >/proc/sys/vm/drop_caches"):
                method = "fadvise" if self.work else "none"
                for path in self._files() if self.work else ():
                    self.child(*dropping(path))
            after = "0" if before == "0" else self._cached()
        amounts = [f"before_bytes {before}", f"after_bytes {after}"]
        write("cache.txt", [f"method {method}", f"what {what}", *amounts])

    def _files(self) -> Lines:
        """The test files, on the filesystem of the directory of test files. One that is gone since
        it was listed is none: fio may unlink its files while its cache is dropped."""
        device = os.stat(self.work).st_dev
        for place, _, names in os.walk(self.work):
            for path in [os.path.join(place, name) for name in names]:
                # Anything else is a fault: its cache may be kept.
                with contextlib.suppress(FileNotFoundError):
                    found = os.lstat(path)
                    if stat.S_ISREG(found.st_mode) and found.st_dev == device:
                        yield path

    def _cached(self) -> str:
        """Bytes of the test files, or of all devices' buffers, in the cache; empty: not known."""
        if not self.work:
            found = re.search(r"^Buffers:\s*(\d+)", read(PROC + "/meminfo"), re.MULTILINE)
            return str(int(found.group(1)) * 1024) if found else ""
        if not program("fincore"):
            return ""
        files, said = list(self._files()), ""
        for at in range(0, len(files), 500):
            said += ran("fincore", "-b", "-n", "-o", "RES", *files[at : at + 500])[1] + "\n"
        return str(sum(int(word) for word in said.split() if word.isdecimal()))

    def canary(self, name: str) -> None:
        """How fast the machine itself is: a checksum, and fio without a disk. The step is measured
        without it where it takes too long."""
        self.enter("canary", self.limits["canary"])
        begin = uptime()
        reads, writes = os.pipe()
        self._thread(feed_zeros, writes)
        lines = []
        try:
            with open(reads, "rb") as zeros:
                self.child("sha256sum", stdin=zeros)
            lines += [f"checksum_8mib_s {uptime() - begin:.6f}"]
            self.child(*_NULL_FIO.split())
            lines += [read(".null")[:-1]]
        except Failed:
            if self.limit == "canary":
                lines, self.limit = [f"limit {self.limits['canary']} s"], ""
        write(name, lines)

    def permitted(self) -> bool:
        """Wait until whoever follows lets fio start; False: nobody did. Raises Failed where the
        stage is to end."""
        self.enter("go", FOREVER_S)
        end = uptime() + self.limits["go"]
        self.tell(f"? {int(uptime())}")
        with open(os.open(".go", os.O_RDWR | os.O_NONBLOCK), "rb", buffering=0) as grants:
            while uptime() < end:
                self.go_on()
                self.wait(1.0, grants.fileno())
                words = (grants.read(4096) or b"").decode("latin-1").split()
                # An older permission may be from a process that has gone since.
                if any(word.isdecimal() and uptime() - int(word) <= 10 for word in words):
                    self.go_on()
                    return True
        return False

    # fio

    def measure(self) -> str:
        """Run fio on what is prepared; returns what changed meanwhile, empty for nothing. Raises
        Failed where it may not start."""
        for disk in self.disks:
            disk.check_same()
        self.check()
        job = self._job()
        self.enter("fio", self.limits["fio"] or FOREVER_S)
        self._look_beside()
        pages = list(volume_pages("before", self.spec["sampled"]))
        self.started, self.began = time.time(), uptime()
        try:
            self._sample()
            self._run_fio(job)
        finally:
            lasted, unix = uptime() - self.began, time.time()
            self._sample()  # so that the last part of a second is counted, too
            self.ended = self.started + lasted
            self.append("fio.json", self._interim.text())
        self.enter("end", 86400)
        pages += volume_pages("after", self.spec["sampled"])
        moved = unix - self.ended
        self.moved = 0.0 if abs(moved) < 0.5 else moved  # read one after the other
        changed = ""
        try:
            for disk in self.disks:
                disk.check_same()
                retried(disk.check_identity)  # udev may write its name anew just now
                if not self.mount:
                    disk.check_taken()
            self.check_directory()
        except (Failed, OSError) as failed:
            changed = f"changed: {failed}"
        self._look_beside()
        if pages:
            write("volume.txt", pages)
        if self.spec["canary_after"] and not self.limit and not self.over():
            self.canary("canary-after.txt")
            self.enter("end", 86400)
        return changed

    def _look_beside(self) -> None:
        """Note who measures beside us. A fio of others may have a file of a server that never says
        what it is: then that is not known."""

        def look() -> None:
            self.beside = self.beside.union(self.turn.beside())

        self._thread(look).join(BESIDE_S)

    def _job(self) -> str:
        """The job file for fio: with the held descriptor for each disk's name, which may lead
        elsewhere by now."""
        if not self.disks or self.mount:
            return "job.fio"
        # fio takes a colon for the end of a name, where it is not escaped.
        to = {disk.path.replace(":", "\\:"): str(disk.descriptor) for disk in self.disks}
        lines = lines_of(read("job.fio"))
        for at, line in enumerate(lines):
            key, _, value = line.partition("=")
            if key.strip() != "filename":
                continue
            names = re.split(r"(?<!\\):", value.strip())
            for name in names:
                if name not in to:
                    raise Failed(f"job.fio names {name}, which is not a disk of this step")
            lines[at] = "filename=" + ":".join("/proc/self/fd/" + to[name] for name in names)
        write("held.fio", lines)
        return "held.fio"

    def _start_fio(self, job: str) -> "subprocess.Popen[bytes]":
        """Start fio on a job file. Raises Failed where it cannot be started."""
        options = "--output=pipe.fio --output-format=json+ --status-interval=1 --eta=never"
        try:
            self._fio = subprocess.Popen(
                ["fio", *options.split(), job], stdin=NULL, stdout=PIPE, stderr=PIPE,
                # In a session of its own: fio signals its process group where a job does not start.
                start_new_session=True, pass_fds=[disk.descriptor for disk in self.disks],
            )  # fmt: skip
        except OSError as error:
            raise Failed(f"fio cannot be started: {error.strerror}") from error
        write("fio.pid", [str(self._fio.pid)])
        if self.spec["drop_every"]:
            self._thread(self._drop_often, self.spec["drop_every"], self._fio)
        return self._fio

    def _run_fio(self, job: str) -> None:
        """Start fio, keep what it prints, and wait for its end, which a stop or the limit brings
        about: its documents until all that write them have ended, its two streams for two seconds
        more at most. Raises Failed where it may not start."""
        document = os.open("pipe.fio", os.O_RDONLY | os.O_NONBLOCK)
        ours = os.open("pipe.fio", os.O_WRONLY)  # until fio has opened it, too
        self.go_on()
        fio = self._start_fio(job)
        streams = ((fio.stdout, "stdout.txt"), (fio.stderr, "stderr.txt"))
        reads = {document: "", **{pipe.fileno(): name for pipe, name in streams if pipe}}
        killed_from = read_until = 0.0
        while not has_ended(fio) or document in reads or (reads and uptime() < read_until):
            if has_ended(fio) and ours >= 0:
                os.close(ours)
                ours = -1
            if not killed_from and self.over():
                # As SIGINT for fio, but that it also ends a fio whose handler is not set yet.
                if not has_ended(fio):
                    kill(fio.pid, signal.SIGTERM)
                killed_from = uptime() + self.limits["stop_patience"]
                self.enter("end", self.limits["stop_patience"] * 3)
            if killed_from and uptime() >= killed_from:
                self._kill_fio()
            if killed_from and uptime() >= self._stage_end:
                # What SIGKILL does not end waits for its disk in the kernel: it is left behind.
                self.limit = self.limit or "kill"
                break
            ready = self.wait(0.2 if killed_from or has_ended(fio) else 1.0, *reads)
            for pipe in [one for one in reads if one in ready]:
                if not self._read_fio(pipe, reads[pipe]):
                    del reads[pipe]
                    read_until = uptime() + 2 if pipe == document else read_until
        if has_ended(fio):
            status = fio.wait()
            self.fio_exit = status if status >= 0 else 128 - status
            write("fio.exit", [str(self.fio_exit)])

    def _read_fio(self, pipe: int, stream: str) -> bool:
        """Keep more of what fio prints, of a stream the first MiB; False: all of it was read."""
        data = os.read(pipe, 1 << 16)
        if stream:
            found = stat_of(stream)
            self.append(stream, data[: max(0, (1 << 20) - (found.st_size if found else 0))])
        else:
            for line in self._interim.feed(data):
                self.tell(line)
        return bool(data)

    def _kill_fio(self) -> None:
        """End fio and all that it has forked, each in a session of its own, at once."""
        if self._fio is not None and self._fio.returncode is None:
            # Not reaped by now, so its number is still its own.
            kill(-self._fio.pid, signal.SIGKILL)
            for process in living_in(self._directory, self.state):
                kill(process, signal.SIGKILL)

    def _thread(self, work: Callable[..., None], *given: object) -> threading.Thread:
        """A thread that does some work beside."""

        def worked() -> None:
            try:
                work(*given)
            except Exception as error:  # noqa: BLE001 - a mistake of ours ends the unit, too
                self.fault(error)

        thread = threading.Thread(target=worked, daemon=True)
        thread.start()
        return thread

    def _drop_often(self, seconds: float, fio: "subprocess.Popen[bytes]") -> None:
        """Drop the page cache at an interval while fio runs."""
        while not self._over.wait(seconds) and not has_ended(fio):
            try:
                with open("/proc/sys/vm/drop_caches", "w") as switch:
                    switch.write("1")
            except OSError:
                for path in self._files() if self.work else ():
                    ran(*dropping(path))

    # The whole

    def run(self) -> None:
        """From the turn to the last line, in this process."""
        signal.set_wakeup_fd(self._wake)
        signal.signal(signal.SIGTERM, self.caught)
        signal.signal(signal.SIGINT, self.caught)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        reason, is_watched = "", True
        try:
            write(".oom", [str(oom_kills())])
            self._thread(self._beat)
            self.prepare()
            is_watched = self.permitted()
            if is_watched:
                reason = self.measure()
        except Exception as error:  # noqa: BLE001 - a mistake of ours: fio does not outlive it
            if not isinstance(error, Failed) or self._fio is not None:
                self.fault(error)
                self._kill_fio()
            elif isinstance(error, Busy):
                self.fio_exit, reason = 125, str(error)
            elif not self.asked():  # what a stop cut short has found nothing
                self.fio_exit, reason = 125, f"refused: {error}"
        if is_watched:
            self.finish(reason)
            return
        self.turn.drop()
        self._over.set()  # the next one who comes starts the unit anew
        self._is_quiet.wait(5.0)
        os.truncate("live.tsv", 0)
        remove("pid")

    def finish(self, reason: str) -> None:
        """Write down how it ended, and the checksums of all that is kept."""
        remove("reserve")  # what follows needs its room
        found, seconds = {"limit": self.limit, "signal": self.signal}, self.ended - self.started
        facts = [f"{key} {value}" for key, value in found.items() if value]
        facts += ["stop asked"] if os.path.exists("stop") else []
        if self.signal and program("systemctl"):  # a machine that shuts down says so
            facts += [f"system {ran('systemctl', 'is-system-running', timeout=3)[1]}"]
        try:
            write("lock.txt", [*self.turn.report(), *sorted(self.beside)])
            self.turn.leave()
            self._held.close()
            remove("held.fio")
            write("end.txt", [
                f"boot_id {boot_id()}", f"oom_kills {oom_kills() - number_in('.oom')}",
                f"seconds {seconds:.2f}", f"clock_moved_s {self.moved:.3f}", *facts,
            ])  # fmt: skip
            sums = [f"{sha256(name)}  {name}" for name in kept_files() if name != "live.tsv"]
            self._over.set()
            self._is_quiet.wait(5.0)
            with self._writing:
                self._is_closed = True
            write("SHA256SUMS", [*sums, f"{sha256('live.tsv')}  live.tsv"])
        except OSError as error:
            self.fault(error)
            remove("SHA256SUMS")  # whoever fetches the files sums them up
        self._over.set()
        keys = f"seconds={seconds:.2f} moved={self.moved:.3f}"
        keys += "".join(f" {key}={value}" for key, value in found.items() if value)
        why = f"broken: {self.broken}" if self.broken else reason
        stopped = int(os.path.exists("stop") and not self.signal)
        last = f"{self.fio_exit} {stopped} {self.started:.6f} {self.ended:.6f} {keys} {why}"
        with contextlib.suppress(OSError):  # `follow` says what it finds
            write("exit.new", [last.replace("\n", " ")])
            os.rename("exit.new", "exit")


def sha256(name: str) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with open(name, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def feed_zeros(pipe: int) -> None:
    """Write 8 MiB of zeros to a pipe, or as much as its reader takes."""
    with contextlib.suppress(OSError), open(pipe, "wb") as file:
        file.write(bytes(8 << 20))


def has_ended(process: "subprocess.Popen[bytes]") -> bool:
    """Whether a child has ended. It is not reaped by that: until Popen.wait nobody else gets its
    number, or its group's, so that a signal reaches no stranger."""
    flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
    return process.returncode is not None or os.waitid(os.P_PID, process.pid, flags) is not None


def living_in(directory: str, state: str) -> Iterator[int]:
    """The processes in a directory, or below it, that carry the mark of a trial's units."""
    for process in processes():
        with contextlib.suppress(OSError):
            at = os.readlink(f"{PROC}/{process}/cwd")
            if (at + "/").startswith(directory + "/") and is_of_trial(process, state):
                yield process


_NO_EVIDENCE = re.compile(
    r"[.-].*|alive|pid|pid\..*|exit|exit\.new|stop|reserve|(ready|new|pipe)\..*|SHA256SUMS|skipped\.txt"
)


def kept_files() -> List[str]:
    """The files of a step that are evidence, in the working directory. skipped.txt lists those that
    are nearly all holes, which would be read for minutes: "SIZE WRITTEN NAME" (bytes). Nothing of
    fio or diskbench writes such a file."""
    names, skipped = [], []
    for name in sorted(os.listdir(".")):
        found = os.lstat(name)
        if _NO_EVIDENCE.fullmatch(name) or not stat.S_ISREG(found.st_mode):
            continue  # FIFOs and devices are read without end
        if found.st_size >= 10**8 and found.st_blocks * 512000 < found.st_size:
            skipped.append(f"{found.st_size} {found.st_blocks * 512} {name}")
        else:
            names.append(name)
    if skipped:
        write("skipped.txt", skipped)
    return names + ["skipped.txt"] * bool(skipped)


# --- The directory of test files: its parent may belong to a user who can replace it


def place_now(directory: str) -> str:
    """The identity of a directory: "BOOT DEVICE INODE"."""
    found = os.stat(directory)
    return f"{boot_id()} {found.st_dev} {found.st_ino}"


def place_is(directory: str, mark: str) -> bool:
    """Whether a directory is the one whose identity was written down when it was made."""
    was = read(mark).split()
    if not is_own_directory(directory) or len(was) != 3:
        return False
    now = place_now(directory).split()
    if was[0] == now[0] and was[1] != now[1]:  # device numbers may change when a machine starts
        return False
    on = None if was[2] == now[2] else mount_of(directory)
    # Of these the inode numbers are not stable.
    return was[2] == now[2] or (on is not None and on.kind.startswith(("fuse", "overlay")))


def is_own_directory(path: str) -> bool:
    """Whether it is a directory of this user, and no link to one."""
    found = stat_of(path, follow=False)
    return found is not None and stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


# --- Requests: each function gives the lines of its answer

_OUT = threading.Lock()


def say(part: object) -> None:
    """Send one line; names of files in it may be any bytes."""
    with _OUT:
        sys.stdout.buffer.write(os.fsencode(json.dumps(part, ensure_ascii=False)) + b"\n")
        sys.stdout.buffer.flush()


@contextlib.contextmanager
def alive() -> Iterator[None]:
    """A sign of life each second, `.`, until the block ends. Whether anybody reads it or not, what
    is done goes on to its end."""

    def beat() -> None:
        with contextlib.suppress(OSError):
            while not over.wait(1.0):
                say(".")

    over = threading.Event()
    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def facts(asked: Request) -> Answer:
    """All facts of the machine and of the disk under `path` (a directory, which may not exist yet,
    with `is_device` a block device); with `look` whether the directory can be measured in. Of
    `read` `files` and `values` are what is read of the machine, `disk` of the disk, and `tools` is
    what is looked for. `known_fio` is the identity of the fio whose version and engines the caller
    knows."""
    asked, wanted = asked["about"], asked["read"]
    path, system = str(asked["path"]), os.uname()
    yield ["clock", f"{time.time():.9f}"]
    yield ["id", str(os.getuid()), name_of(os.getuid(), ""), system.nodename]
    can_sudo = os.getuid() == 0 or ran("sudo", "-n", "true")[0] == 0
    yield ["sudo", "yes" if can_sudo else "no"]
    yield ["uname", system.release, system.machine]
    processors = read(PROC + "/cpuinfo").strip().split("\n\n")  # the last may be of the machine
    told = dict.fromkeys((processors[0], processors[-1]))
    yield ["cpuinfo", *(line for one in told for line in lines_of(one))]
    for title, files in wanted["files"].items():
        yield [title, *(line for file in files for line in lines_of(read(file)))]
    for title, files in wanted["values"].items():
        there = filter(os.path.exists, files)
        yield [title, *(f"{os.path.basename(one)}={first_line(one)}" for one in there)]
    yield ["online", str(os.sysconf("SC_NPROCESSORS_ONLN"))]
    if program("systemd-detect-virt"):
        yield ["virt", ran("systemd-detect-virt")[1]]
    yield ["systemd", *["yes"] * os.path.isdir(RUN + "/systemd/system")]
    yield ["tools", *filter(program, wanted["tools"])]
    machine = f"diskbench\n{first_line('/etc/machine-id')}\n"
    if machine != "diskbench\n\n":  # hashed, as machine-id(5) requires where it is shown to others
        yield ["machine", hashlib.sha256(machine.encode()).hexdigest()]
    yield from fio_facts(str(asked["known_fio"]))
    at = path
    while path and not asked["is_device"] and not os.path.exists(at) and at != "/":
        at = os.path.dirname(at) or "/"
    if path:
        yield from disk_facts(at, asked["is_device"], wanted["disk"])
    if asked["look"]:
        yield ["look", *looked_at(path)]
    yield ["end", f"{time.time():.9f}"]


def fio_facts(known: str) -> Answer:
    """The identity of fio's file; version and engines where it is not the known one."""
    path = program("fio")
    file = os.stat(path) if path else None
    times = f"{file.st_mtime:.0f}.{file.st_ctime:.0f}" if file else ""
    identity = f"{file.st_ino}.{file.st_size}.{times}" if file else ""
    yield ["fiofile", identity]
    if identity and identity == known:
        return
    # A wrapper may print other lines, too. The two run side by side.
    asked = ("--version", "--enghelp") if path else ()
    fios = [
        subprocess.Popen(["fio", option], stdin=NULL, stdout=PIPE, stderr=NULL) for option in asked
    ]
    said = [line for fio in fios for line in lines_of(os.fsdecode(fio.communicate()[0]))]
    yield ["fio", *[line for line in said if line.startswith("fio-")][:1]]
    yield ["engines", *said]


def disk_facts(at: str, is_device: bool, files: Dict[str, str]) -> Answer:
    """The disk below a device or an existing directory, and who measures on it."""
    number = number_of(at) if is_device else ""
    if not is_device:
        room, on = os.statvfs(at), mount_of(at)
        yield ["directory", os.path.realpath(at)]
        yield ["statfs", f"{room.f_frsize} {room.f_blocks} {room.f_bavail}"]
        yield ["mount", *([on.point, on.source, on.kind, on.options] if on else [])]
        number = number_text(os.stat(at).st_dev)
        if not os.path.exists(sysfs(number)) and on:  # btrfs, overlay ...: by the mount's source
            number = number_of(on.source)
    if number and os.path.exists(sysfs(number)):
        disk = whole_disk(number)
        while slaves(disk):  # through LVM, LUKS or MD to the one disk below
            yield ["through", layer(disk)]
            if len(slaves(disk)) > 1:  # of several disks: it is described itself
                break
            disk = whole_disk(slaves(disk)[0])
        yield ["disk", *described(disk, files)]
    looker = Turn("", "", "-", bool)
    looker.disks = claimable(disks_under(at))
    yield ["disks", " ".join(sorted(looker.disks))]
    living = looker.living() if looker.place and looker.disks else ()
    yield ["busy", *(one.sentence for one in living if one.ticket is not None)]


def layer(number: str) -> str:
    """What makes a device of others, as the kernel calls it (`LVM`, `CRYPT`, `raid1`), and its
    name; the kind is `-` where it is not known."""
    kind = first_line(sysfs(number, "dm/uuid")).partition("-")[0]
    kind = kind or first_line(sysfs(number, "md/level")) or "-"
    return f"{kind} {first_line(sysfs(number, 'dm/name')) or kernel_name(number)}"


def looked_at(path: str) -> Lines:
    """Whether a directory can be measured in, and who but root could replace it."""
    if not os.path.isdir(path):
        yield "file" if os.path.exists(path) else "missing"
        return
    if os.getuid() == 0:
        yield f"sudo {os.environ.get('SUDO_UID', '')} {os.environ.get('SUDO_USER', '')}"
        for above in leading(path):
            file = os.stat(above)
            user = name_of(file.st_uid, "UNKNOWN")
            group = name_of(file.st_gid, "UNKNOWN", grp.getgrgid)
            mode = stat.S_IMODE(file.st_mode)
            yield f"above {file.st_uid} {file.st_gid} {mode:o} {user} {group} {above}"
    probe = f"{path}/.diskbench-probe-{os.getpid()}-{uptime():.2f}"
    try:  # made by this process, and never what is there already
        os.close(os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        os.unlink(probe)
    except OSError as error:
        yield f"closed {error.strerror}"
        return
    lacking = [tool for tool in ("fio", "sha256sum", "setsid", "sync") if not program(tool)]
    room = os.statvfs(path)
    yield f"lacks {lacking[0]}" if lacking else f"free {room.f_frsize} {room.f_bavail}"


def leading(path: str) -> List[str]:
    """The directories that lead to a path, through symbolic links, too."""
    path = "/" + path.strip("/")
    if path == "/":
        return ["/"]
    above = leading(os.path.dirname(path))
    if not os.path.islink(path):
        return [*above, path]
    return above + leading(os.path.join(os.path.dirname(path), os.readlink(path)))


def devices(asked: Request) -> Answer:
    """Every block device and every reason not to write to it: all facts of the one at `only`, of
    all disks where that is empty; `disk` is what is read of it. Nothing is written."""
    only = str(asked["only"])
    wanted = number_of(only) if only else ""
    found, in_swap, points = mounts("self", "1"), swaps(), ("/", "/boot", "/boot/efi", "/usr")
    numbers = {one.number for one in found if one.point in points}
    numbers.update(number_of(on.source) for on in map(mount_of, points) if on)
    known = [number for number in numbers if number and os.path.exists(sysfs(number))]
    system = {one for number in known for one in below(number)}
    if only:
        yield ["asked", wanted or ("other" if os.path.exists(only) else "missing")]
    for entry in sorted(os.listdir(SYS + "/class/block")):
        number = first_line(f"{SYS}/class/block/{entry}/dev")
        size = first_line(f"{SYS}/class/block/{entry}/size")
        unused = entry.startswith("loop") and size in ("", "0") and number != wanted
        if not number or re.match("z?ram", entry) or unused:
            continue
        is_part = os.path.exists(sysfs(number, "partition"))
        files = asked["disk"] if number == wanted or not only else {}
        is_looked_at = number == wanted if only else not is_part
        yield [
            "device",
            *described(number, files),
            *[f"partition_of={whole_disk(number)}"] * is_part,
            *(f"partition={part} {name}" for part, name in partitions_of(number)),
            *(f"holder={name}" for name in holders(number)),
            *(f"mount={point}" for point in points_of(number, found)),
            *["swap=yes"] * bool(in_swap.intersection(family(number).values())),
            *["system=yes"] * bool(system.intersection(family(number).values())),
            *(looked_closely(number, 4 if only else 2) if is_looked_at else ()),
        ]
    yield ["end"]


def looked_closely(number: str, looks: int) -> Lines:
    """What lies on a disk, who has it open, and whether it can be read; KEY=VALUE lines."""
    path = os.path.join(DEV, kernel_name(number))
    try:
        with open(path, "rb", buffering=0) as disk:
            os.pread(disk.fileno(), 4096, 0)
            yield "readable=yes"
            # f2fs; btrfs: copies that blkid does not read
            for offset in (5120, 64 << 20, 256 << 30):
                part = os.pread(disk.fileno(), 128, offset)
                yield from [f"copy={offset} {part.hex()}"] if part else []
    except OSError as error:
        yield f"readable={error.strerror}"
    if program("wipefs") and program("blkid"):
        yield "tools=yes"
    status, said = ran("blkid", "-p", "-o", "export", path)
    for key, _, value in (line.partition("=") for line in lines_of(said)):
        if key in ("TYPE", "PTTYPE"):
            yield f"{'signature' if key == 'TYPE' else 'table'}={value}"
    if status == 8:
        yield "signature=several that contradict each other"
    rows = [line for line in lines_of(ran("wipefs", "-n", "-p", path)[1]) if line[:1] != "#"]
    yield from ("wipefs=" + row.rpartition(",")[2] for row in rows if "," in row)
    # udev, or another diskbench, may inspect it at this moment; a list does not wait long for each.
    if stays(lambda: is_busy(path), looks):
        yield "busy=yes"
    names = {name for _, name in partitions_of(number)} | {kernel_name(number)}
    if stays(lambda: openers(names), looks):
        yield from (f"opener={one}" for one in openers(names))
    # Processes outside of this PID namespace are not seen, but what they read and write is counted.
    # 4026531836 is the kernel's first (PROC_PID_INIT_INO).
    if os.readlink("/proc/self/ns/pid") != "pid:[4026531836]":
        before = first_line(sysfs(number, "stat"))
        time.sleep(0.5)
        yield "unseen=" + ("yes" if first_line(sysfs(number, "stat")) == before else "active")


_SHARE = re.compile(" - (?:nfs|cifs|smb|fuse(?!ctl)|9p|ceph|afs|lustre|gpfs|beegfs|gluster)")


def openers(names: Set[str]) -> List[str]:
    """Number and command of each process that has one of these devices open, whatever its node is
    called there. A share whose server is gone never says what a file is: of a process that sees a
    share, only what lies below a directory `dev` is asked."""
    places = [f"{SYS}/class/block/{name.replace('/', '!')}/dev" for name in names]
    numbers, found = {first_line(place) for place in places} - {""}, {}
    sees_share: Dict[int, bool] = {}
    for process in processes():
        namespace = stat_of(f"{PROC}/{process}/ns/mnt")
        space = namespace.st_ino if namespace else 0
        if space not in sees_share:
            sees_share[space] = bool(_SHARE.search(read(f"{PROC}/{process}/mountinfo")))
        for descriptor in glob.glob(f"{PROC}/{process}/fd/*"):
            with contextlib.suppress(OSError):
                at = os.readlink(descriptor)
                is_asked = "/dev/" in at or (at.startswith("/") and not sees_share[space])
                if is_asked and number_of(descriptor) in numbers:
                    found[process] = first_line(f"{PROC}/{process}/comm")
    return [f"{process} {name}" for process, name in found.items()]


def directories(asked: Request) -> Lines:
    """Make the trial's directories, `state` and `work`; idempotent. /var/tmp is everybody's: one
    that somebody else put there is not used."""
    state, work = asked["state"], asked["work"]
    for path in filter(None, (state, work)):
        make_own(path)
    mark = state + "/work.id"
    if work and os.path.exists(mark):
        if not place_is(work, mark):
            raise Failed(work + " is not the directory that diskbench made")
    elif work and not os.path.exists(state + "/run-0"):
        # Steps without a mark are of a build that made none: they are fetched, no other is started.
        put(mark, place_now(work) + "\n")
    yield from ()


def make_own(path: str) -> None:
    """Make a directory of this user alone, unless it is there. Raises Failed."""
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
    except OSError as error:
        raise full(os.path.dirname(path), error) from error
    if not is_own_directory(path):
        raise Failed(path + " belongs to somebody else")


def put(path: str, text: Union[str, bytes]) -> None:
    """Write a file whole or not at all. Raises Failed."""
    new = f"{os.path.dirname(path)}/new.{os.getpid()}"
    try:
        with open(new, "wb") as file:
            file.write(os.fsencode(text))
        os.rename(new, path)
    except OSError as error:
        failed = full(os.path.dirname(path), error)
        remove(new)
        raise failed from error


def start(asked: Request) -> Lines:
    """Start a unit unless it was started, with its files from the first line of standard input;
    give its lines from number `from` on, and its last one. With `go` fio may start if the unit has
    asked by now; each further line of standard input grants a request, by its uptime. With `first`
    the trial's directories are made before."""
    state, directory = asked["state"], asked["dir"]
    if asked["first"]:
        yield from directories(asked["first"])
    if not os.path.isdir(state):
        raise Failed(state + " is gone")  # the trial was removed: it must not start again
    was_there = os.path.exists(directory + "/pid")
    told = re.search(r'"protocol": (\d+)', read(directory + "/unit.json"))
    if was_there and int(told.group(1) if told else 1) != asked["protocol"]:
        raise Failed("another version of diskbench started it: continue with that one")
    files = os.fsdecode(sys.stdin.buffer.readline())
    if not was_there:
        if not files.endswith("\n"):  # who asked was killed, or the connection broke
            raise Failed("the files of the step did not come")
        yield from begin(asked, state, directory, json.loads(files))
    yield from follow(asked, directory, was_there)


def keeps_program(state: str) -> bool:
    """Whether the trial's directory keeps this program, as this Python compiles it."""
    return os.fsencode(read(f"{state}/.agent-{sys.hexversion:x}")) == CODE


def begin(asked: Request, state: str, directory: str, files: Dict[str, str]) -> Lines:
    """Write the unit's files, launch it, and wait until it lives, with signs of life until it gives
    its own. Raises Failed."""
    make_own(os.path.dirname(directory))
    make_own(directory)
    for name, text in files.items():
        put(f"{directory}/{name}", text)
    if not keeps_program(state):
        put(f"{state}/.agent-{sys.hexversion:x}", CODE)
    put(directory + "/reserve", "\0" * 65536)  # room that the end of a unit takes
    try:
        open(directory + "/live.tsv", "a").close()
        for name in ("alive", ".go", "pipe.fio"):
            with contextlib.suppress(FileExistsError):
                os.mkfifo(f"{directory}/{name}", 0o600)
        listens = os.open(directory + "/alive", os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        raise full(directory, error) from error
    launch(state, directory, asked["unit"])
    until = uptime() + asked["begin_limit"]
    # A FIFO that nobody has opened to write yet is silent; the end of who did can be read.
    while not select.select([listens], [], [], 1.0)[0] and uptime() < until:
        yield "."
    has_begun = bool(select.select([listens], [], [], 0)[0])
    os.close(listens)
    if not os.path.exists(directory + "/pid"):
        why = read(directory + "/unit.err").strip().rpartition("\n")[2]
        if has_begun:
            raise Failed(no_room(directory) or f"it did not begin: {why}")
        open(directory + "/stop", "a").close()  # for one that begins yet
        raise Failed(f"it did not begin within {asked['begin_limit']} s; {why}")


def launch(state: str, directory: str, name: str) -> None:
    """Start the unit's process, which is known by DISKBENCH_TRIAL (see `cleanup`)."""
    given = read(PROC + "/self/cmdline").split("\0")
    boot = given[given.index("-c") + 1]  # what loaded this program (calls.py)
    kept = f"{hashlib.sha256(CODE).hexdigest()} {state}/.agent"
    words = [PYTHON, "-I", "-S", "-c", boot, kept, directory, name]
    path = os.environ.get("PATH", os.defpath)
    marks = {"DISKBENCH_TRIAL": state, "LC_ALL": "C.UTF-8", "PATH": path}
    # A unit of its own outlives the session even where logind kills what a user leaves behind; in a
    # mount namespace of its own systemd would not see the same files.
    is_systemd = os.getuid() == 0 and os.path.isdir(RUN + "/systemd/system")
    if is_systemd and os.readlink("/proc/1/ns/mnt") == os.readlink("/proc/self/ns/mnt"):
        run = ["systemd-run", "--quiet", "--collect", "--unit=" + name]
        run += [f"--setenv={key}={value}" for key, value in marks.items()]
        run += ["--property=TasksMax=infinity", "--property=LimitNOFILE=524288"]
        if ran(*run, *words, timeout=15)[0] == 0:  # less than the silence that breaks a connection
            return
    with open(directory + "/unit.err", "ab") as errors:
        subprocess.Popen(
            ["setsid", *words], stdin=NULL, stdout=NULL, stderr=errors, env={**os.environ, **marks}
        )


def unit_process(directory: str, _name: str) -> None:
    """The unit itself: the first process that links its file to `pid` goes on."""
    os.chdir(directory)
    own = f"pid.{os.getpid()}"
    try:
        # Before it is the unit: who follows one that does not hold this takes it for dead.
        fifo = os.open("alive", os.O_RDWR | os.O_NONBLOCK)
        remove(own)  # one of an earlier process of this number may be linked to `pid`
        write(own, [f"{os.getpid()} {born(os.getpid())} {boot_id()}"])
        os.link(own, "pid")
        unit = Unit(json.loads(read("unit.json")), fifo)
    except OSError:
        return  # which closes the FIFO: the starter sees it
    unit.run()
    os._exit(0)


def follow(asked: Request, directory: str, was_there: bool) -> Lines:
    """The lines of live.tsv as they come, until the unit has ended in any way; then its last."""
    os.chdir(directory)
    unit = read("pid").split()
    fifo = os.open("alive", os.O_RDONLY | os.O_NONBLOCK)
    now, first = int(uptime()), asked["from"] if was_there else 1
    granted = asked["go"] and not os.path.exists("stop") and tell_fifo(".go", b"%d\n" % now)
    digest = hashlib.sha256(CODE).hexdigest() if keeps_program(asked["state"]) else "-"
    yield f"@ {now} {first} {int(granted)} {digest}"
    with open("live.tsv", "rb") as live:
        for _ in range(first - 1):
            live.readline()
        pending, has_ended, listens = b"", False, [fifo, 0]
        while not has_ended:
            if 0 in select.select(listens, [], [], 0.25)[0]:
                grants = os.read(0, 4096)
                if not grants:
                    listens.remove(0)
                elif not os.path.exists("stop"):
                    tell_fifo(".go", grants)
            with contextlib.suppress(BlockingIOError):
                has_ended = os.read(fifo, 65536) == b""
            *lines, pending = (pending + live.read()).split(b"\n")
            yield from map(os.fsdecode, lines)
    keys = "boot=changed " if len(unit) == 3 and unit[2] != boot_id() else ""
    if os.path.exists("exit"):
        status, stopped, started, ended, rest = (first_line("exit") + "     ").split(" ", 4)
        yield f"= {status} {stopped} {started} {ended} {keys}{rest.strip()}"
    elif os.path.exists("pid"):
        kills = f"oom_kills={oom_kills() - number_in('.oom')} " if os.path.exists(".oom") else ""
        broken = no_room(directory)
        yield f"= lost {keys}{kills}" + (f"broken: {broken}" if broken else "")


def parse(_: Request) -> Lines:
    """Have fio read the job files of standard input; the name of the first one that it refuses, and
    fio's words."""
    import tempfile

    jobs: Dict[str, str] = json.loads(os.fsdecode(sys.stdin.buffer.readline()))
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        for name, text in jobs.items():
            put("./" + name, text)
        # All at once first: starting fio costs more than reading a job file. A fio that has read
        # all of them calibrates its clock and tests it on every processor (0.1 s of CPU), which no
        # job file needs. So the last name is of no file: a fio that complains of that alone has
        # read all before it.
        last, check = directory + "/last", ["fio", "--parse-only", "--output-format=normal"]
        status, said = ran(*check, *jobs, last)
        if status and not (last in said and "\n" not in said):
            for name in jobs:
                status, said = ran(*check, name)
                if status:
                    yield from [name, *lines_of(said)]
                    break
        os.chdir("/")


def filesystem(asked: Request) -> Lines:
    """Make a filesystem on the allowed disk and mount it; idempotent. Gives the commands that were
    run. A file `stop` beside the mount point ends mkfs."""
    disk, mount, uuid, kind = Disk(asked["disk"]), asked["mount"], asked["uuid"], asked["kind"]
    os.umask(0o022)
    ways = {
        "ext4": f"mkfs.ext4 -q -F -U {uuid} -E lazy_itable_init=0,lazy_journal_init=0",
        "xfs": f"mkfs.xfs -q -f -m uuid={uuid}",
    }
    words, stop = ways[kind].split(), os.path.dirname(mount) + "/stop"
    if not program(words[0]):
        raise Failed(words[0] + " is not installed")
    remove(stop)
    with alive(), open(mount + ".lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the program of a broken connection may still work
        disk.hold()
        there = mounted_on(mount)
        if there and there != [disk.number]:
            raise Failed(f"{mount} is taken by {' '.join(there)}")
        if not there:
            disk.check_use()
            disk.check_content(uuid)
            run_until(stop, [*words, disk.held])
            check_held(disk, f"while {words[0]} ran: ")
            os.makedirs(mount, exist_ok=True)
            status, said = ran("mount", "-t", kind, disk.held, mount, timeout=None)
            if status:
                raise Failed(said)
            try:  # mount resolves the path of a descriptor to the name that the device had
                check_held(disk, "while it was mounted: ")
                if disk.number not in mounted_on(mount):
                    raise Failed(f"while it was mounted: {disk.path} is not mounted on {mount}")
            except Failed:
                ran("umount", mount, timeout=None)
                raise
    yield from (" ".join([*words, disk.path]), f"mount -t {kind} {disk.path} {mount}")


def check_held(disk: Disk, when: str) -> None:
    """Raise Failed where a held disk is not what it was."""
    try:
        disk.check_identity()
        disk.check_same()
    except Failed as failed:
        raise Failed(f"{when}{failed}") from failed


def run_until(stop: str, words: List[str]) -> None:
    """Run a command, and end it once the file `stop` is there. Raises Failed."""
    process = subprocess.Popen(words, stdin=NULL, stdout=PIPE, stderr=subprocess.STDOUT)
    said = None
    while said is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            said = process.communicate(timeout=0.1)[0]
        if os.path.exists(stop):
            process.kill()
    if os.path.exists(stop):
        raise Failed("stopped")
    if process.returncode:
        raise Failed(f"{words[0]}: {os.fsdecode(said).strip()}")


def wipe(asked: Request) -> Lines:
    """Remove the filesystem that diskbench made, known by its UUID, and no other."""
    yield from ()
    disk, uuid = Disk(asked["disk"]), asked["uuid"]
    try:
        disk.check_identity()
    except Failed:
        return  # it is gone, or another disk has its name
    # Held while it is checked and wiped, so that both concern one disk, whatever its name is.
    disk.hold()

    def wiped() -> None:
        check_held(disk, "before it was wiped: ")
        if disk.content(uuid):
            return  # somebody else's by now
        disk.check_use()
        status, said = ran("wipefs", "-q", "-a", disk.held, timeout=None)
        if status:
            raise Failed(said)

    retried(wiped)  # wipefs opens with O_EXCL


class Array:
    """The RAID 0 of a trial's disks, which is known by its UUID. What does not carry that is never
    touched."""

    def __init__(self, asked: Request) -> None:
        self.uuid, self.name, self.chunk = asked["uuid"], asked["name"], asked["chunk_kib"]
        self.members = [Disk(one) for one in asked["disks"]]

    def running(self) -> str:
        """The path of the running array, if it is the requested one; empty: it does not run."""
        for place in glob.glob(SYS + "/block/md*"):
            name = os.path.basename(place)
            if first_line(place + "/md/uuid") != self.uuid:
                continue
            if first_line(place + "/md/level") != "raid0":
                raise Failed(f"/dev/{name} is not a RAID 0")
            for member in self.members:
                member.check_identity()
                if name not in holders(member.number):
                    raise Failed(f"{member.path} is not part of /dev/{name}")
            if len(slaves(first_line(place + "/dev"))) != len(self.members):
                raise Failed(f"/dev/{name} has other members, too")
            return "/dev/" + name
        return ""

    def started(self, said: str) -> str:
        """Its path when udev has looked at it. Raises Failed where it does not run: mdadm said."""
        settle()
        path = self.running()
        if not path:
            raise Failed(said or "the array did not start")
        return path

    def ours(self) -> Tuple[List[Disk], List[Failed]]:
        """The members that are still the disks that they were, held, and carry our superblock; and
        why others are no longer those disks."""
        found, lost = [], []
        for member in self.members:
            try:
                member.hold()
                found += [member] if member.carries(self.uuid) else []
            except Failed as failed:
                lost.append(failed)
        return found, lost

    def take_apart(self) -> None:
        """Stop it, and clear its superblock. A member that is gone, or belongs to something else by
        now, is not touched."""
        why = ""
        for _ in range(3):
            marked, _ = self.ours()
            if not marked:
                return
            arrays = []
            for member in marked:
                member.check_content(self.uuid)
                for name in holders(member.number):
                    if not name.startswith("md"):
                        raise Failed(f"{member.path} is held by {name}")
                    arrays.append(name)
                # udev would assemble a released member again at once, but it leaves locked devices
                # alone (systemd.io/BLOCK_DEVICE_LOCKING).
                fcntl.flock(member.descriptor, fcntl.LOCK_EX)
            for name in dict.fromkeys(arrays):
                status, why = ran("mdadm", "--stop", "/dev/" + name, timeout=None)
                if status:
                    break  # it is in use: its members stay as they are
            else:
                held = [member.held for member in marked]
                why = ran("mdadm", "--zero-superblock", *held, timeout=None)[1]
            for member in marked:
                member.release()
            settle()
        raise Failed(why)

    def create(self) -> str:
        """Make it of members that were found free; its path."""
        for member in self.members:
            member.hold()
            member.check_use()
            member.check_content()
        status, said = ran(
            "mdadm", "--create", "/dev/md/" + self.name, "--quiet", "--level=0",
            f"--raid-devices={len(self.members)}", f"--chunk={self.chunk}", "--metadata=1.2",
            "--homehost=any", "--name=" + self.name, "--uuid=" + self.uuid,
            *(member.held for member in self.members), timeout=None,
        )  # fmt: skip
        if status:
            raise Failed(said)
        return self.started("")

    def find(self) -> str:
        """Its path, also where it was made and does not run, as after a restart; empty where its
        creation was interrupted, which is undone."""
        path = self.running()
        marked, lost = ([], []) if path else self.ours()
        if not marked:
            return path
        if lost:  # of an array with data, as far as can be told: nothing is taken apart
            raise lost[0]
        if len(marked) < len(self.members):
            self.take_apart()
            return ""
        settle()  # udev may be about to start it
        paths = [member.path for member in self.members]
        assemble = ["mdadm", "--assemble", "/dev/md/" + self.name, "--uuid=" + self.uuid]
        return self.started("" if self.running() else ran(*assemble, *paths)[1])


def settle() -> None:
    """Wait until udev has looked at what was changed."""
    ran("udevadm", "settle", "--timeout=30")


def stripe(asked: Request) -> Lines:
    """Find or create (`action`) the trial's array; its path, empty where there is none."""
    if not program("mdadm"):
        raise Failed("mdadm is not installed")
    array = Array(asked)
    yield array.find() if asked["action"] == "find" else array.create()


def cleanup(asked: Request) -> Lines:
    """Take away everything of one trial; any number of times. Raises Failed naming what is left."""
    yield from ()
    state, work, mount = asked["state"], asked["work"], asked["mount"]
    sudo = ["sudo", "-n"] if os.getuid() and ran("sudo", "-n", "true")[0] == 0 else []
    for tries in range(151 if os.path.isdir(state) else 0):
        ours = ended_by(sudo, state, signal.SIGKILL if tries > 100 else signal.SIGTERM)
        if not ours or not os.path.isdir(state):
            break
        if tries == 150:
            raise Failed(f"processes {' '.join(ours)} do not end")
        time.sleep(0.05 if tries else 0.01)  # most end at once
    if mount:
        if mounted_below(mount):
            status, said = ran(*sudo, "umount", mount, timeout=None)
            if status:
                raise Failed(f"{said}\n{mount} is still mounted")
        work = ""
    # A user who may write to the directory above may have replaced it: then it is not removed.
    mark = state + "/work.id"
    is_right = place_is if os.path.exists(mark) else lambda path, _: is_own_directory(path)
    if work and os.path.lexists(work) and not is_right(work, mark):
        left = f"it is left as it is, and {state} with it"
        raise Failed(f"{work} is not the directory that diskbench made: {left}")
    places = [f"{place}/{os.path.basename(state)}.claim" for place in SHARED]
    claims = [path for path in places if os.path.isfile(path) and not os.path.islink(path)]
    there = [path for path in (work, state) if path and os.path.lexists(path)]
    held = [path for path in there if mounted_below(path)]
    gone(*claims, *([] if held else there), sudo=sudo)
    if held:
        raise Failed(f"{held[0]} holds a mount")
    for path in there:
        if os.path.lexists(path):
            raise Failed(path)


def end(asked: Request) -> Lines:
    """Send a signal to the processes in a trial's directory that carry the mark of its units; gives
    their numbers."""
    for process in living_in(asked["state"], asked["state"]):
        kill(process, asked["signal"])
        yield str(process)


def ended_by(sudo: List[str], state: str, number: int) -> List[str]:
    """The same, also of root's where the user may call sudo."""
    asked = {"do": "end", "state": state, "signal": number}
    if not sudo:
        return list(end(asked))
    load = "import marshal, sys; exec(marshal.load(sys.stdin.buffer))"
    words = [*sudo, PYTHON, "-I", "-S", "-c", load, json.dumps(asked, ensure_ascii=False)]
    done = subprocess.run(words, input=CODE, stdout=PIPE)
    return [json.loads(line) for line in done.stdout.splitlines()]


def gone(*paths: str, sudo: List[str]) -> None:
    """Remove paths with what lies in them on the same filesystem."""
    for alone in (["--one-file-system"], []) if paths else ():
        words = ["rm", "-rf", *alone, "--", *paths]
        if ran(*words, timeout=None)[0] == 0 or ran(*sudo, *words, timeout=None)[0] == 0:
            return
        status, said = ran("rm", "-f", "--one-file-system")
        if status == 0 or "one-file-system" not in said:
            return  # it could not; only one that does not know the option (busybox) goes without


SMALL_BYTES = 4 << 20
"""What a step left is packed without another program up to this size; our choice."""


def pack(asked: Request) -> int:
    """Write the files of a step to standard output as a tar, from byte `skip` on, compressed by
    `packed_by` (empty: by the best that is there); gives the exit status. A unit that died has
    written no checksums: what it left is evidence all the same."""
    import gzip
    import io
    import tarfile
    import types

    os.chdir(asked["dir"])
    sums = read("SHA256SUMS") or "".join(f"{sha256(name)}  {name}\n" for name in kept_files())
    if not os.path.exists("SHA256SUMS"):
        with contextlib.suppress(Failed):  # a disk that is full or read-only
            put("./SHA256SUMS", sums)
    names = [re.sub(r"^[0-9a-f]* [ *]", "", line) for line in lines_of(sums)]
    is_large = sum(os.lstat(name).st_size for name in names) > SMALL_BYTES
    # Of fio's logs zstd leaves a third of what gzip -1 leaves, in half of its time.
    packed_by = asked["packed_by"] or ("zstd" if is_large and program("zstd") else "gzip")
    out: Any = sys.stdout.buffer
    if packed_by == "zstd":
        packer = subprocess.Popen(["zstd", "-q", "-c", "--single-thread"], stdin=PIPE)
        out = packer.stdin
    elif packed_by == "gzip":
        out = gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1)
    left_out = asked["skip"]

    def write_rest(data: bytes) -> None:
        nonlocal left_out
        out.write(data[left_out:])
        left_out = max(0, left_out - len(data))

    into: Any = types.SimpleNamespace(write=write_rest)
    with tarfile.open(fileobj=into, mode="w|", bufsize=1 << 16, format=tarfile.GNU_FORMAT) as tar:
        for name in names:
            tar.add(name)
        header, data = tarfile.TarInfo("SHA256SUMS"), os.fsencode(sums)
        header.size = len(data)  # nothing else of it may differ from one try to the next
        tar.addfile(header, io.BytesIO(data))
    if packed_by != "cat":
        out.close()
    return packer.wait() if packed_by == "zstd" else 0


CODE: bytes = globals().get("CODE", b"")
"""What this program was compiled to, where it was sent with a request or kept of one."""
_ALL = (facts, devices, directories, start, parse, filesystem, wipe, stripe, cleanup, end)
COMMANDS: Dict[str, Callable[[Request], Answer]] = {command.__name__: command for command in _ALL}


def main() -> int:
    """One request; or the unit, by its directory and its name."""
    os.umask(0o077)
    os.environ["LC_ALL"] = "C"
    if len(sys.argv) == 3:
        unit_process(*sys.argv[1:])
        return 0
    asked = json.loads(sys.argv[1])
    try:
        if asked["do"] == "pack":
            return pack(asked)
        for line in COMMANDS[asked["do"]](asked):
            say(line)
    except BrokenPipeError:
        os._exit(1)  # nobody reads any more
    except (Failed, OSError) as error:
        name = getattr(error, "filename", None)
        why = f"{name}: {getattr(error, 'strerror', '')}" if name else str(error)
        sys.stderr.write(f"{why}\n") if asked["do"] == "pack" else say({"failed": why})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
