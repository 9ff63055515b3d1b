"""`diskbench run --provider vsphere`, from the command line to rows and back to nothing.

pyVmomi over HTTPS, VMware's simulator, sshd, a block device and fio are real.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from emulators import guests
from emulators.vsphere.cloud import SPEEDS, Vsphere
from tests.cloud.eager import GIVES_UP
from tests.cloud.measured import WRITE_THEN_READ, a_renter, document, is_measuring, read_iops
from tests.cloud.rented import until
from tests.rigs.cli import Cli
from tests.rigs.rates import held_at

from diskbench.units import GIB

pytestmark = pytest.mark.slow

NVME = ("--datastore", "nvme", "--size", "4")


@pytest.fixture
def user(vsphere: Vsphere, tmp_path: Path) -> Iterator[Cli]:
    """A user of the emulated vSphere, who must leave nothing in it."""
    yield a_renter(tmp_path, vsphere.env)
    assert vsphere.left() == []


@pytest.fixture
def words(vsphere: Vsphere, tmp_path: Path) -> Any:
    """The command that makes what the flags say and measures it for so many seconds."""

    def written(
        *flags: str, seconds: int = 2, block: str = "4k", trusted: bool = True
    ) -> tuple[str, ...]:
        profile = tmp_path / "mine.fio"
        profile.write_text(WRITE_THEN_READ.format(seconds=seconds, block=block))
        trust = ("--ca-file", str(vsphere.simulator.ca_file)) if trusted else ()
        return ("run", "--provider", "vsphere", *trust, "--profile", str(profile), *flags)

    return written


@pytest.fixture
def run(words: Any, user: Cli) -> Any:
    """Run that command to its end; what came of it."""
    return lambda *flags, **more: user.run(*words(*flags, **more))


def measuring(vsphere: Vsphere) -> bool:
    """Does a step run in a machine?"""
    return is_measuring(vsphere.rented())


# FreeNAS, SATA and NVMe of seed 000 and the SAN of seed 003: they differ in the datastore only. How
# exactly a limit is kept is tested in tests/lab; fast ones are as fast as this machine at most.
@pytest.mark.parametrize("datastore", ["freenas", "sata", "nvme", "san"])
def test_a_datastore_of_the_seeds_runs_to_rows(run: Any, user: Cli, datastore: str) -> None:
    found = document(user, run("--datastore", datastore, "--size", "20"))
    assert 100 < read_iops(found) <= SPEEDS[datastore][0] * 1.34


# ESXi counts a request of 64 KiB as two.
@pytest.mark.parametrize(("block", "iops"), [("4k", 500), ("64k", 250)])
def test_an_iops_limit_is_what_is_measured(run: Any, user: Cli, block: str, iops: float) -> None:
    found = document(user, run(*NVME, "--iops-limit", "500", block=block))
    assert held_at(read_iops(found), iops)


@pytest.mark.parametrize(
    "flags",
    [
        "--controller nvme --provisioning thin",
        "--controller lsi --provisioning lazy-zeroed",
        "--host DC0_C0_H1 --vcpus 2 --memory 1",
        "--cluster DC0_C0 --datacenter DC0 --resource-pool Resources",
        "--network DC0_DVPG0 --template debian-12",
    ],
)
def test_a_place_and_a_kind_of_disk_can_be_chosen(run: Any, user: Cli, flags: str) -> None:
    assert read_iops(document(user, run(*NVME, *flags.split()))) > 0


def test_a_storage_policy_chooses_the_datastore(run: Any, user: Cli) -> None:
    flags = ("--storage-policy", "VVol No Requirements Policy", "--size", "4")
    done = run(*flags, "--iops-limit", "500")
    assert "policy VVol No Requirements Policy on freenas" in done.stderr
    document(user, done)


def test_a_promise_of_the_owners_stands_above_the_result(run: Any, user: Cli) -> None:
    done = run(*NVME, "--iops-limit", "500", "--promise", "iops=500,mb_per_s=2")
    assert "promised: 500 IOPS, 2 MB/s, by --promise" in done.stdout
    document(user, done)


def test_without_a_promise_none_is_made_up(run: Any, user: Cli) -> None:
    done = run(*NVME, "--iops-limit", "500")
    assert "promised: none" in done.stdout
    document(user, done)


# What goes wrong.


def test_a_certificate_that_nobody_vouches_for_is_refused(run: Any) -> None:
    done = run(*NVME, trusted=False)
    assert done.returncode == 2
    assert "--ca-file" in done.stderr


def test_not_to_verify_must_be_typed_and_is_said(run: Any, user: Cli) -> None:
    done = run(*NVME, "--insecure", trusted=False)
    assert "not verified" in done.stderr
    document(user, done)


def test_a_wrong_password_is_said_before_anything_is_made(run: Any, user: Cli) -> None:
    user.extra_env = user.extra_env | {"VSPHERE_PASSWORD": "another"}
    done = run(*NVME)
    assert done.returncode == 2
    assert "VSPHERE_PASSWORD" in done.stderr


def test_a_datastore_without_room_is_refused_before_anything_is_made(
    run: Any, vsphere: Vsphere
) -> None:
    vsphere.free("nvme", 3 * GIB)
    done = run(*NVME)
    assert done.returncode == 2
    assert "datastore nvme has 3 GiB free" in done.stderr


@pytest.mark.parametrize(
    ("method", "fault", "code", "told"),
    [
        ("ReconfigVM_Task", "NoDiskSpace", 1, "has no free space"),
        ("CloneVM_Task", "InsufficientResourcesFault", 1, "no capacity for the machine"),
        ("CloneVM_Task", "NoPermission", 2, "VirtualMachine.Provisioning.DeployTemplate"),
    ],
)
def test_what_vsphere_refuses_is_said_and_nothing_is_kept(
    run: Any, vsphere: Vsphere, method: str, fault: str, code: int, told: str
) -> None:
    vsphere.fault(method, fault, times=0)
    done = run(*NVME)
    assert done.returncode == code, done.stderr
    assert told in done.stderr


def test_a_session_that_ends_is_opened_again(run: Any, user: Cli, vsphere: Vsphere) -> None:
    vsphere.fault("ReconfigVM_Task", "NotAuthenticated")
    document(user, run(*NVME))


def test_a_busy_vsphere_is_asked_again(run: Any, user: Cli, vsphere: Vsphere) -> None:
    vsphere.fault("PowerOnVM_Task", "TaskInProgress", times=2)
    document(user, run(*NVME))


def test_a_guest_without_vmware_tools_is_given_up(
    run: Any, vsphere: Vsphere, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(GIVES_UP, "address_s=2")
    vsphere.tools = False
    done = run(*NVME)
    assert done.returncode == 1
    assert "VMware Tools" in done.stderr


def test_a_disk_that_never_appears_is_given_up(
    run: Any, vsphere: Vsphere, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(GIVES_UP, "appear_s=2")
    vsphere.slow_disks.clear()
    done = run(*NVME)
    vsphere.slow_disks.set()
    assert done.returncode == 1
    assert "not seen in the guest" in done.stderr


def test_a_machine_that_somebody_switches_off_while_fio_runs(run: Any, vsphere: Vsphere) -> None:
    def switch_off() -> None:
        until(lambda: measuring(vsphere))
        for vm in vsphere.rented():
            vsphere.switch_off(vm)

    somebody = threading.Thread(target=switch_off)
    somebody.start()
    done = run(*NVME, seconds=60)
    somebody.join()
    assert done.returncode == 1
    assert "the machine is gone" in done.stderr
    assert "poweredOff" in done.stderr


def test_a_machine_that_nobody_looks_after_is_given_back_by_gc(
    words: Any, user: Cli, vsphere: Vsphere
) -> None:
    controller = user.start(*words(*NVME, seconds=60))
    until(lambda: measuring(vsphere))
    controller.kill()
    controller.communicate()
    (machine,) = vsphere.rented()
    guests.switch_off(machine)  # what its dead-man's timer does in the end
    (row,) = user.json("results", "list")["runs"]
    given_back = user.run("gc", row["trial_id"])
    assert given_back.returncode == 0, given_back.stderr
