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
    disk,
    instance,
    launch,
    let_in,
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
def test_a_machine_that_switches_itself_off_is_kept_and_told_as_terminated(gcp: Gcp) -> None:
    (machine,) = gcp.cloud.machines.values()
    guests.switch_off(machine.guest.name)
    until(lambda: state(gcp) == "TERMINATED")
    assert address(instance(gcp)) == ""
    well(gcp, delete(gcp))
    until(lambda: guests.left(gcp.cloud.state) == [])


def test_how_a_machine_behaves_is_asked_for_in_its_metadata(gcp: Gcp) -> None:
    launch(gcp, **with_metadata(**{"diskbench-lab": "time_scale=60.0 noise=0.05 seed=7"}))
    (machine,) = gcp.cloud.machines.values()
    assert (machine.guest.time_scale, machine.guest.noise, machine.guest.seed) == (60.0, 0.05, 7)
