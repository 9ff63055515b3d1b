"""A guest that was told by us how to boot, as a cloud would: real cloud-init, systemd and udev."""

import time
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
import tenacity
from pydantic import SecretBytes
from tests.qemu.image import Image, image
from tests.qemu.machine import PLAIN, Machine, new_disk, running

from diskbench.errors import ConnectionLost, HostUnavailable
from diskbench.hosts.ssh import SshHost
from diskbench.hosts.ssh_config import ConnectLimits
from diskbench.model.rental import SshAccess
from diskbench.providers.cloud_init import GuestSpec, user_data
from diskbench.providers.guest import said_of_guest
from diskbench.providers.keys import LeaseKeys, lease_keys, write_access

USER = "debian"
"""The image's default user."""
LEASE = "01jd0000000000000000000000"
LEASE_S = 3600
BOOT_S = 300
"""An idle machine needs 40 s; a busy one gets time."""
MOST_GUESTS = 4
"""Two are needed: one test switches its guest off."""


@dataclass
class Guest:
    image: Image
    machine: Machine
    keys: LeaseKeys
    access: SshAccess
    host: SshHost
    seed: dict[str, str]
    expires_at: float

    def root(self, script, timeout_s=240):
        done = self.host.run(script, root=True, timeout_s=timeout_s)
        assert done.exit == 0, done.stderr.decode()
        return done.text

    def await_links(self, *links):
        """Wait until these links to disks are there. An emulated processor that is short of time
        loses a slot's interrupt now and then: the guest is told to look by itself then."""
        shown = " ".join(links)
        self.root(
            f"udevadm wait --settle --timeout=20 {shown} || "
            f"{{ echo 1 >/sys/bus/pci/rescan; udevadm wait --settle --timeout=180 {shown}; }}"
        )


@pytest.fixture(scope="session")
def guest_image():
    return image()


@pytest.fixture(scope="session")
def booted(guest_image, tmp_path_factory):
    """Gives the session's guest; another one where a test has switched it off or broken it. After
    MOST_GUESTS no more are made: something is wrong with all of them, and each takes minutes."""
    with ExitStack() as stack:
        guests: list[Guest] = []
        made = 0

        def give():
            nonlocal made
            if not guests or guests[-1].machine.process.poll() is not None:
                assert made < MOST_GUESTS, f"{made} guests were made before this one"
                made += 1
                guests.append(_boot(guest_image, tmp_path_factory.mktemp("guest"), stack))
            return guests[-1]

        yield give


@pytest.fixture
def guest(booted, request):
    failed_before = request.session.testsfailed
    found = booted()
    yield found
    if request.session.testsfailed > failed_before:
        found.machine.process.kill()
        found.machine.process.wait()


def _boot(guest_image, directory, stack):
    keys = lease_keys(SecretBytes(b"a secret of the tests, 32 bytes!"), LEASE)
    expires_at = time.time() + LEASE_S
    spec = GuestSpec(
        hostname=f"diskbench-{LEASE}-vm",
        user=USER,
        host_key_private=keys.host_private,
        host_key_public=keys.host_public,
        authorized_key=keys.user_public,
        expires_at=expires_at,
        packages=("fio", "mdadm"),
    )
    seed = {"user-data": user_data(spec), "meta-data": f"instance-id: {LEASE}\n"}
    guest = start(guest_image, directory, stack, keys=keys, seed=seed, expires_at=expires_at)
    wait_until_ready(guest)
    return guest


def start(guest_image, directory, stack, *, keys, seed, expires_at, hardware=PLAIN, user=USER):
    new_disk(guest_image, directory)
    machine = stack.enter_context(running(guest_image, directory, seed, hardware))
    access = write_access(
        LEASE, keys, directory / "access", address="127.0.0.1", user=user, port=machine.port
    )
    host = SshHost("127.0.0.1", config=access.config, limits=ConnectLimits(connect_s=5))
    stack.callback(host.close)
    return Guest(guest_image, machine, keys, access, host, seed, expires_at)


def wait_until_ready(guest, boot_s=BOOT_S):
    """As a controller does: try to log in, then ask how far it is."""
    patience = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type((HostUnavailable, ConnectionLost))
        | tenacity.retry_if_result(lambda said: said == "waiting"),
        wait=tenacity.wait_fixed(0.5),
        stop=tenacity.stop_after_delay(boot_s)
        | (lambda _: guest.machine.process.poll() is not None),
        retry_error_callback=lambda state: f"gave up after {state.seconds_since_start:.0f} s",
    )
    said = patience(lambda: said_of_guest(guest.host, "ready").text)
    assert said == "ready", f"{said}; its console:\n{guest.machine.console[-3000:]}"
