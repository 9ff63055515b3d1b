"""What may stand on a real loop device while a test looks at it, put away afterwards."""

import contextlib
import os
import subprocess
from pathlib import Path

from tests.rigs.loops import attached, between


@contextlib.contextmanager
def partition(device):
    """A partition as the kernel has it, without a table on the disk."""
    with between(["addpart", device, "1", "2048", "40960"], ["delpart", device, "1"]):
        yield f"{device}p1"


@contextlib.contextmanager
def mounted(device, at):
    subprocess.run(["mkfs.ext4", "-q", "-F", device], check=True)
    at.mkdir()
    # Read-only: ext4 would go on to write its own tables for seconds.
    with between(["mount", "-o", "ro", device, str(at)], ["umount", str(at)]):
        yield


@contextlib.contextmanager
def swap(device):
    subprocess.run(["mkswap", device], check=True, capture_output=True)
    with between(["swapon", device], ["swapoff", device]):
        yield


@contextlib.contextmanager
def holder(device, at):
    """What a device mapper above it would show; this kernel has none."""
    shown = str(Path("/sys/class/block", Path(device).name, "holders").resolve())
    (at / "dm-7").mkdir(parents=True)
    with between(["mount", "--bind", str(at), shown], ["umount", shown]):
        yield


@contextlib.contextmanager
def partition_mounted(device, at):
    with partition(device) as part, mounted(part, at):
        yield


@contextlib.contextmanager
def partition_held(device, at):
    with partition(device) as part, holder(part, at):
        yield


def backing(device):
    return attached(Path(device))


@contextlib.contextmanager
def exclusive(device, flags=os.O_RDONLY | os.O_EXCL):
    held = os.open(device, flags)
    try:
        yield
    finally:
        os.close(held)


@contextlib.contextmanager
def written(image, device, write):
    write(image)
    subprocess.run(["blockdev", "--flushbufs", device], check=True)
    yield
