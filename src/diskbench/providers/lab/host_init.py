"""Process 1 of a lab host, in mount, UTS, IPC and PID namespaces of its own: it is given the
directory with what the host gets, and the sshd that it becomes. What is mounted here ends with the
namespace. Standard library only, imported before the file system of it may be unmounted."""

import os
import re
import subprocess
import sys
from pathlib import Path

_STAYS = re.compile("/|/(usr|opt|nix|etc|proc|sys|dev)(/.*)?|/lib.*|/bin|/sbin|/var")
"""Mount points of the system's own."""
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = "ptmx=pts/ptmx fd=/proc/self/fd stdin=fd/0 stdout=fd/1 stderr=fd/2"


def run(*words: str) -> None:
    """Run a command, whose failure and last words are ours."""
    if subprocess.call(words):
        sys.exit(1)


def mount(*words: str) -> None:
    """Mount by relative paths (-c leaves them so): what is mounted may hide the directory."""
    run("mount", "-c", *words)


def leave(guest: str) -> None:
    """Unmount what is not the system's own, and what the host's directory does not lie on: a copy
    of a mount keeps its device busy after its owner unmounted it."""
    lines = os.fsdecode(Path("/proc/self/mountinfo").read_bytes()).split("\n")
    for field in [line.split(" ")[4] for line in lines if line]:
        at = re.sub(r"\\([0-7]{3})", lambda found: chr(int(found.group(1), 8)), field)
        if not _STAYS.fullmatch(at) and not f"{guest}/".startswith(f"{at}/"):
            subprocess.call(["umount", "-l", at], stderr=subprocess.DEVNULL)


def put_system() -> None:
    """A /dev, a /run and homes of the host's own; each is filled before it is moved there."""
    mount("-t", "tmpfs", "-o", "mode=755,size=16m", "lab", "./mnt")
    run("cp", "-a", *(f"/dev/{name}" for name in _DEVICES), "mnt")
    for name in ("pts", "shm", "disk/by-id", "disk/azure/scsi1"):
        Path("mnt", name).mkdir(parents=True)
    for name, to in (link.split("=") for link in _LINKS.split()):
        Path("mnt", name).symlink_to(to)
    mount("--move", "./mnt", "/dev")
    mount("-t", "devpts", "-o", "newinstance,ptmxmode=0666,mode=620,gid=5", "devpts", "/dev/pts")
    mount("-t", "tmpfs", "-o", "mode=1777", "shm", "/dev/shm")  # noqa: S108 - the host's own

    mount("-t", "tmpfs", "-o", "mode=755,size=64m", "lab", "./mnt")
    for name in ("sshd", "lab", "lock", "mount"):
        Path("mnt", name).mkdir()
    run("cp", "-p", *map(str, Path("etc").iterdir()), "mnt/lab")
    mount("-n", "--move", "./mnt", "/run")  # -n: mount's own notes lie in the /run that was

    # The machine's own homes are nobody's business here; /sys lists only disks that are the host's.
    for at in ("/home", "/root", "/mnt", "/sys/block", "/sys/class/block"):
        mount("-t", "tmpfs", "-o", "mode=755,size=1m" if "/sys" in at else "mode=755", "lab", at)
    for name in ("passwd", "group", "shadow", "sudoers"):
        if Path("/run/lab", name).exists():
            mount("--bind", f"/run/lab/{name}", f"/etc/{name}")
    if Path("/run/lab/user").exists():
        user = Path("/run/lab/user").read_text("utf-8").strip()
        Path("/home", user).mkdir(0o700)
        run("chown", f"{user}:", f"/home/{user}")


def main(guest: str, sshd: str) -> None:
    """Make the host's view of this machine, and become its sshd."""
    os.umask(0o022)  # the usual one of a host, whatever that of this machine is
    mount("--make-rprivate", "/")
    leave(guest)
    os.chdir(guest)
    Path("/proc/sys/kernel/hostname").write_bytes(Path("etc/hostname").read_bytes())
    put_system()
    mount("--bind", "./tmp", "/tmp")  # noqa: S108 - the host's own
    mount("--bind", "./var-tmp", "/var/tmp")  # noqa: S108 - the host's own
    mount("-o", "remount,bind,ro", "/")  # nothing done here can touch the machine's own system
    os.chdir("/")
    os.execvp(sshd, [sshd, "-D", "-e", "-f", "/run/lab/sshd_config"])  # noqa: S606 - it is a path


if __name__ == "__main__":
    main(*sys.argv[1:])
