"""A bootable Debian with the real systemd, cloud-init, sshd, fio, NVMe and MD drivers, and the
agents that cloud vendors have in their images. Built once from the machine's own package sources (a
minute or two and 600 MB) and kept in the user's cache; another recipe makes another image."""

import fcntl
import hashlib
import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

_PACKAGES = (
    "systemd-sysv", "udev", "dbus", "iproute2", "openssh-server", "sudo", "cloud-init", "fio",
    "mdadm", "initramfs-tools", "linux-image-cloud-amd64",
    "waagent", "google-guest-agent", "amazon-ec2-utils", "curl",
)  # fmt: skip
AGENT_UNITS = {
    "azure": ("walinuxagent.service",),
    "gcp": ("google-guest-agent.service", "google-startup-scripts.service"),
    "aws": (),
}
"""The clouds' own agents in the image. None starts by itself: a machine of that cloud asks for its
units on the kernel's command line (`systemd.wants`). EC2 has no agent, only udev rules."""
_BEFORE_KERNEL = """\
mkdir -p "$1/etc/initramfs-tools/conf.d"
echo MODULES=list >"$1/etc/initramfs-tools/conf.d/small"
printf 'virtio_pci\\nvirtio_blk\\next4\\n' >"$1/etc/initramfs-tools/modules"
"""
# What an emulated processor would spend half its boot on, and what the image has no files for.
_AT_THE_END = """\
chroot "$1" systemctl --quiet enable systemd-networkd
chroot "$1" systemctl --quiet mask e2scrub_reap.service
chroot "$1" systemctl --quiet disable walinuxagent.service google-guest-agent.service \\
    google-startup-scripts.service google-shutdown-scripts.service
# As on Google's own images: cloud-init finds the metadata server by this name.
echo "169.254.169.254 metadata.google.internal" >>"$1/etc/hosts"
# Azure's DHCP server gives this route (option 121), QEMU's does not; Azure's agent looks for it.
# cloud-init names the interface eth0 on Azure only.
mkdir -p "$1/etc/systemd/network/10-cloud-init-eth0.network.d"
printf '[Route]\\nDestination=168.63.129.16/32\\nScope=link\\n' \\
    >"$1/etc/systemd/network/10-cloud-init-eth0.network.d/azure.conf"
cat >"$1/etc/cloud/cloud.cfg.d/99_tests.cfg" <<END
datasource_list: [NoCloud, Azure, GCE, Ec2, None]
locale: false
grub_dpkg: {enabled: false}
apt: {preserve_sources_list: true}
END
"""
_LEFT_OUT = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*")
_DISK_BYTES = 2 * 2**30


@dataclass(frozen=True)
class Image:
    """Files to boot from. The disk is a template: every guest writes to a copy of its own."""

    kernel: Path
    initrd: Path
    disk: Path


def image() -> Image:
    sources = _sources()
    recipe = repr((_PACKAGES, _BEFORE_KERNEL, _AT_THE_END, _LEFT_OUT, _DISK_BYTES, sources))
    cache = user_cache_path("diskbench-tests", ensure_exists=True)
    place = cache / f"guest-{hashlib.sha256(recipe.encode()).hexdigest()[:16]}"
    with (cache / "guest.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            for old in cache.glob("guest-*"):
                shutil.rmtree(old)
            _build(sources, place)
    return Image(place / "vmlinuz", place / "initrd", place / "disk")


def _sources() -> str:
    """Debian's own among the machine's package sources, as lines of a sources.list."""
    done = subprocess.run(
        ["apt-get", "indextargets", "--format", "deb $(REPO_URI) $(RELEASE) $(COMPONENT)",
         "Created-By: Packages", "Origin: Debian"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = sorted(set(done.stdout.splitlines()))
    if not lines:
        raise RuntimeError("apt knows no package source of Debian's: run apt-get update")
    return "\n".join(lines) + "\n"


def _build(sources: str, place: Path) -> None:
    new = place.with_suffix(".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    root, disk = new / "root", new / "disk"
    (new / "sources.list").write_text(sources)
    command = [
        "mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", "--format=directory",
        f"--include={','.join(_PACKAGES)}", '--aptopt=APT::Install-Recommends "false"',
        *(f"--dpkgopt=path-exclude={pattern}" for pattern in _LEFT_OUT),
        f"--essential-hook={_BEFORE_KERNEL}", f"--customize-hook={_AT_THE_END}",
        platform.freedesktop_os_release()["VERSION_CODENAME"], str(root), str(new / "sources.list"),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"mmdebstrap failed:\n{done.stderr[-4000:]}")
    for name, pattern in (("vmlinuz", "vmlinuz-*"), ("initrd", "initrd.img-*")):
        (found,) = (root / "boot").glob(pattern)
        shutil.copy(found, new / name)
    with disk.open("wb") as file:
        file.truncate(_DISK_BYTES)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-d", str(root), str(disk)], check=True)
    shutil.rmtree(root)
    new.rename(place)
