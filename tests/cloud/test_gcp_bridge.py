"""Behind the emulated Compute Engine: machines with SSH, disks that are as fast as their type."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from emulators import guests
from emulators.gcp.cloud import Cloud
from tests.cloud.rented import Keys, Login, make_keys, until
from tests.cloud.rented_gcp import (
    UBUNTU,
    ZONE,
    Gcp,
    attach,
    delete,
    detach,
    disk,
    done,
    error_of,
    insert,
    instance,
    launch,
    let_in,
    refused,
    wanted,
    well,
)

pytestmark = pytest.mark.slow
LINK = "/dev/disk/by-id/google-{}"


@dataclass(frozen=True)
class _Configured:
    """What a Login needs of a cloud."""

    cloud: Cloud


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return make_keys(tmp_path)


def address(row: Any) -> str:
    return str(row.network_interfaces[0].access_configs[0].nat_i_p)


def login(gcp: Gcp, keys: Keys, row: Any, user: str = "ubuntu") -> Login:
    return Login(_Configured(gcp.cloud), user, address(row), keys)  # type: ignore[arg-type]


@pytest.fixture
def inside(gcp: Gcp, keys: Keys) -> Login:
    """A machine that is up, and lets us in."""
    well(gcp, let_in(gcp))
    return login(gcp, keys, launch(gcp, keys))


def boot() -> dict[str, Any]:
    params = {"source_image": UBUNTU, "disk_size_gb": 10}
    return {"boot": True, "auto_delete": True, "initialize_params": params}


def with_metadata(**items: str) -> dict[str, Any]:
    return {"metadata": {"items": [{"key": k, "value": v} for k, v in items.items()]}}


def state(gcp: Gcp) -> str:
    return str(instance(gcp).status)


def test_without_a_firewall_rule_nobody_gets_in(gcp: Gcp, keys: Keys) -> None:
    machine = login(gcp, keys, launch(gcp, keys))
    assert machine.try_run("true").returncode == 255
    well(gcp, let_in(gcp, source_ranges=["10.0.0.0/8"]))
    assert machine.try_run("true").returncode == 255
    well(gcp, let_in(gcp, name="here", target_tags=["others"]))
    assert machine.try_run("true").returncode == 255
    well(gcp, let_in(gcp, name="us"))
    assert machine.try_run("true").returncode == 0


def test_keys_in_the_metadata_count_unless_os_login_is_on(gcp: Gcp, keys: Keys) -> None:
    well(gcp, let_in(gcp))
    items = {"user-data": keys.user_data, "ssh-keys": f"me:{keys.user_public}"}
    for name, on, code in (("on", "TRUE", 255), ("off", "FALSE", 0)):
        row = launch(gcp, name=name, **with_metadata(**items, **{"enable-oslogin": on}))
        assert login(gcp, keys, row, "me").try_run("true").returncode == code


def test_a_disk_keeps_what_is_on_it_from_machine_to_machine(
    gcp: Gcp, keys: Keys, inside: Login
) -> None:
    kept = disk(gcp)
    well(gcp, attach(gcp, kept, device_name="bench"))
    inside.run(f"echo kept | sudo dd of={LINK.format('bench')} conv=fsync status=none")
    well(gcp, delete(gcp))
    row = launch(gcp, keys, name="second", disks=[boot(), {"source": kept, "device_name": "again"}])
    read = login(gcp, keys, row).run(f"sudo head -c 4 {LINK.format('again')}")
    assert read == "kept"


def test_a_disk_is_one_machines_at_a_time(gcp: Gcp, inside: Login) -> None:
    link = disk(gcp)
    well(gcp, attach(gcp, link, device_name="bench"))
    with refused(400, "resourceInUseByAnotherResource"):
        attach(gcp, link, device_name="again")
    with refused(400, "resourceInUseByAnotherResource"):
        gcp.call("Disks", "delete_unary", zone=ZONE, disk="data")
    with refused(400, "invalid"):
        attach(gcp, disk(gcp, "other"), device_name="bench")
    well(gcp, detach(gcp, "bench"))
    assert inside.try_run(f"test -e {LINK.format('bench')}").returncode == 1
    well(gcp, gcp.call("Disks", "delete_unary", zone=ZONE, disk="data"))


@pytest.mark.usefixtures("inside")
def test_a_machine_takes_the_disks_along_that_are_to_go_with_it(gcp: Gcp) -> None:
    for name in ("goes", "stays"):
        well(gcp, attach(gcp, disk(gcp, name), device_name=name, auto_delete=name == "goes"))
    well(gcp, delete(gcp))
    assert [one.name for one in gcp.call("Disks", "list", zone=ZONE)] == ["stays"]
    (stays,) = gcp.call("Disks", "list", zone=ZONE)
    assert list(stays.users) == []
    assert guests.left(gcp.cloud.state) == []


@pytest.mark.usefixtures("inside")
def test_auto_delete_can_be_said_later(gcp: Gcp) -> None:
    well(gcp, attach(gcp, disk(gcp), device_name="bench"))
    where = {"zone": ZONE, "instance": "machine", "device_name": "bench"}
    well(gcp, gcp.call("Instances", "set_disk_auto_delete_unary", **where, auto_delete=True))
    well(gcp, delete(gcp))
    assert list(gcp.call("Disks", "list", zone=ZONE)) == []


@pytest.mark.usefixtures("inside")
def test_an_operation_that_fails_leaves_things_as_they_were(gcp: Gcp) -> None:
    gcp.faults.fail("instances.attachDisk", "INTERNAL_ERROR", "Internal error.", status=500)
    link = disk(gcp)
    assert error_of(gcp, attach(gcp, link, device_name="bench")).code == "INTERNAL_ERROR"
    assert len(instance(gcp).disks) == 1
    well(gcp, attach(gcp, link, device_name="bench"))


@pytest.mark.usefixtures("inside")
def test_a_machine_that_switches_itself_off_is_kept_and_told_as_terminated(gcp: Gcp) -> None:
    (machine,) = gcp.cloud.machines.values()
    guests.switch_off(machine.guest.name)
    until(lambda: state(gcp) == "TERMINATED")
    assert address(instance(gcp)) == ""
    well(gcp, delete(gcp))
    until(lambda: guests.left(gcp.cloud.state) == [])


def test_a_machine_is_deleted_while_it_is_being_made(gcp: Gcp) -> None:
    operation = insert(gcp, wanted())
    well(gcp, delete(gcp))
    assert done(gcp, operation).error.errors
    assert gcp.left() == []


def test_a_machine_that_is_being_deleted_is_not_deleted_again(gcp: Gcp) -> None:
    launch(gcp)
    operation = delete(gcp)
    with refused(400, "resourceNotReady"):
        delete(gcp)
    well(gcp, operation)
    with refused(404, "notFound"):
        delete(gcp)


def test_how_a_machine_behaves_is_asked_for_in_its_metadata(gcp: Gcp) -> None:
    launch(gcp, **with_metadata(**{"diskbench-lab": "time_scale=60.0 noise=0.05 seed=7"}))
    (machine,) = gcp.cloud.machines.values()
    assert (machine.guest.time_scale, machine.guest.noise, machine.guest.seed) == (60.0, 0.05, 7)


def test_protected_machines_are_kept(gcp: Gcp) -> None:
    launch(gcp, deletion_protection=True)
    with refused(400, "resourceInUseByAnotherResource"):
        delete(gcp)
