"""docs/deploy/Containerfile, built and run by podman. No registry is asked: its base image is made
of Debian's packages, as the published one is."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(3000)]

ROOT = Path(__file__).parents[2]
FILE = "docs/deploy/Containerfile"
HELPERS = "/usr/libexec/podman:/usr/lib/podman"
TOOLS = {"podman": "podman", "runc": "runc", "mmdebstrap": "mmdebstrap",
         "catatonit": "catatonit", "netavark": "netavark", "newuidmap": "uidmap"}  # fmt: skip
"""The programs and their packages of Debian. podman runs the last three, and Debian only
recommends them."""
CERTIFICATES = "/etc/ssl/certs"
"""What this machine trusts: pip in the container may have to go through its proxy. So they are in
the base image already, and no package writes there."""
PATIENCE_S = 1500
"""It installs 60 packages of Debian's and 50 of Python's, on a machine that may be busy."""


def done(*command):
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S)
    assert found.returncode == 0, f"{' '.join(command)}\n{found.stdout}\n{found.stderr}"
    return found


class Podman:
    """podman with images of its own, which need no driver of the kernel's."""

    def __init__(self, store):
        self.command = ("podman", "--runtime", shutil.which("runc") or "runc",
                        "--cgroup-manager", "cgroupfs", "--storage-driver", "vfs",
                        "--root", str(store / "root"), "--runroot", str(store / "run"))  # fmt: skip

    def __call__(self, *words):
        return done(*self.command, *words).stdout

    def run(self, *words):
        """What a command of diskbench prints in a container of its own."""
        limits = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")
        return self("run", "--rm", "--init", "--network", "host", *limits, *words)


@pytest.fixture(scope="module")
def podman():
    """podman with the image `diskbench`, built as the Containerfile says."""
    places = f"{os.environ['PATH']}:{HELPERS}"
    missing = [name for tool, name in TOOLS.items() if shutil.which(tool, path=places) is None]
    if missing:
        done("apt-get", "install", "--yes", "--no-install-recommends", *missing)
    lines = (ROOT / FILE).read_text().splitlines()
    (base,) = {line.split()[1] for line in lines if line.startswith("FROM ")}
    release = base.rpartition(":")[2].removesuffix("-slim")
    with tempfile.TemporaryDirectory(prefix="diskbench-test-", dir="/var/tmp") as directory:
        here = Path(directory)
        made = Podman(here)
        tar = str(here / "base.tar")
        done("mmdebstrap", "--quiet", "--mode=root", "--variant=minbase",
             "--include=ca-certificates", release, tar)  # fmt: skip
        made("import", tar, base)
        made(
            "build", "--layers=false", "--isolation", "chroot", "--network", "host", "--pull=never",
            "--build-arg", "REQUIREMENTS=core", "-f", FILE, "-t", "diskbench",
            "--volume", f"{CERTIFICATES}:{CERTIFICATES}:ro", ".",
        )  # fmt: skip
        yield made


def test_it_has_a_version_and_measures_what_is_mounted(podman, tmp_path):
    assert podman.run("localhost/diskbench", "--version").startswith("diskbench ")
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(0o777)  # the container's user is not root
    flags = ("--profile", "quick", "--set", "runtime=1", "--set", "size=16m", "--quiet")
    said = podman.run(
        "--volume", f"{data}:/data", "localhost/diskbench",
        "run", "--path", "/data", *flags, "--output", "json",
    )  # fmt: skip
    (run,) = json.loads(said)["runs"]
    assert run["state"] == "done"
    assert run["target_path"].startswith("/data")
    assert list(data.iterdir()) == []
