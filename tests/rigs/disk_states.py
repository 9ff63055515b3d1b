"""What may stand on a real loop device while a test looks at it, put away afterwards."""

import contextlib
import os
import subprocess
from pathlib import Path


@contextlib.contextmanager
def partition(device):
    """A partition as the kernel has it, without a table on the disk."""
    subprocess.run(["addpart", device, "1", "2048", "40960"], check=True)
    try:
        yield f"{device}p1"
    finally:
        subprocess.run(["delpart", device, "1"], check=True)


@contextlib.contextmanager
def mounted(device, at):
    subprocess.run(["mkfs.ext4", "-q", "-F", device], check=True)
    at.mkdir()
    # Read-only: ext4 would go on to write its own tables for seconds.
    subprocess.run(["mount", "-o", "ro", device, str(at)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(at)], check=True)


@contextlib.contextmanager
def swap(device):
    subprocess.run(["mkswap", device], check=True, capture_output=True)
    subprocess.run(["swapon", device], check=True)
    try:
        yield
    finally:
        subprocess.run(["swapoff", device], check=True)


@contextlib.contextmanager
def holder(device, at):
    """What a device mapper above it would show; this kernel has none."""
    shown = Path("/sys/class/block", Path(device).name, "holders").resolve()
    (at / "dm-7").mkdir(parents=True)
    subprocess.run(["mount", "--bind", str(at), str(shown)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(shown)], check=True)


@contextlib.contextmanager
def partition_mounted(device, at):
    with partition(device) as part, mounted(part, at):
        yield


@contextlib.contextmanager
def partition_held(device, at):
    with partition(device) as part, holder(part, at):
        yield


@contextlib.contextmanager
def backing(device):
    done = subprocess.run(
        ["losetup", "-f", "--show", device], check=True, capture_output=True, text=True
    )
    try:
        yield
    finally:
        subprocess.run(["losetup", "-d", done.stdout.strip()], check=True)


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
