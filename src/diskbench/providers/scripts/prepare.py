"""Installs the packages that it is given, and says in a file how that ended (ready.sh reads it):
Python 3.6 and newer. Runs in cloud-init's last stage, when SSH is up already. A mirror may be away
for a while and apt may be busy with the image's own upgrades: tried for ten minutes.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

STATE = Path("/var/lib/diskbench")
TRIED_S = 600
ENVIRONMENT = {"DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_SUSPEND": "1", "LC_ALL": "C"}
APT = (
    "apt-get -q -y -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3 "
    "-o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20"
)


def is_installed(package: str) -> bool:
    """Whether a package is there, by what keeps the packages here, else a command of its name."""
    if shutil.which("dpkg-query"):
        query = ["dpkg-query", "-W", "-f", "${db:Status-Status}", package]
        asked = subprocess.run(query, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return asked.stdout == b"installed"
    if shutil.which("rpm"):
        null = subprocess.DEVNULL
        return subprocess.call(["rpm", "-q", package], stdout=null, stderr=null) == 0
    return bool(shutil.which(package))


def missing(packages: "list[str]") -> "list[str]":
    """Those that are not there."""
    return [package for package in packages if not is_installed(package)]


def install(packages: "list[str]") -> str:
    """Try it once; what the package manager said."""
    commands = [["yum", "-q", "-y", "install", *packages]]
    if shutil.which("apt-get"):
        apt = APT.split()
        commands = [[*apt, "update"], [*apt, "install", "--no-install-recommends", *packages]]
    elif shutil.which("dnf"):
        commands = [["dnf", "-q", "-y", "--setopt=timeout=20", "install", *packages]]
    with (STATE / "install.log").open("wb+", buffering=0) as log:
        for words in commands:
            try:
                subprocess.call(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            except OSError as error:
                log.write(f"{words[0]}: {error.strerror}\n".encode())
        log.seek(0)
        return os.fsdecode(log.read())


def main(packages: "list[str]") -> int:
    """Install what is missing; the exit status."""
    os.environ.update(ENVIRONMENT)
    STATE.mkdir(parents=True, exist_ok=True)
    end, pause, left = time.monotonic() + TRIED_S, 5, missing(packages)
    while left:
        said = install(left)
        left = missing(packages)
        if not left:
            break
        print(said, flush=True)
        if time.monotonic() >= end:
            why = said.strip().rpartition("\n")[2]
            (STATE / "failed").write_text(f"could not install {' '.join(left)} : {why}\n")
            return 1
        time.sleep(pause)
        pause = min(pause * 2, 40)
    (STATE / "ready").touch()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
