"""Renting on Azure, against the emulator: what is made and how, and what happens when something
goes wrong.

After every fault: an error that says what was wrong, and a release after which nothing is left.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator

import pytest
from tests.cloud.azure_rig import PREMIUM, Rig, served
from tests.cloud.emulator.azure import server

from diskbench.errors import (
    AccessDenied,
    DiskbenchError,
    HostUnavailable,
    Interrupted,
    InvalidValue,
    NoCapacity,
    QuotaExceeded,
    ReleaseFailed,
    RentalFailed,
    UnknownName,
)
from diskbench.providers.azure.provider import AzureProvider

pytestmark = pytest.mark.slow

MACHINE = "Microsoft.Compute/virtualMachines/write"
DISK = "Microsoft.Compute/disks/write"
GROUP = "Microsoft.Resources/subscriptions/resourceGroups"
SCHEDULE = "Microsoft.DevTestLab/schedules/write"


@pytest.fixture(scope="module")
def emulator() -> Iterator[Rig]:
    with served() as (cloud, endpoint):
        yield Rig(cloud, endpoint)


@pytest.fixture
def azure(emulator: Rig, monkeypatch, tmp_path) -> Iterator[Rig]:
    server.fresh(emulator.cloud)
    for name, value in server.environment(emulator.cloud, emulator.endpoint).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    yield Rig(emulator.cloud, emulator.endpoint)
    server.fresh(emulator.cloud)


def fails(azure: Rig, kind: type[DiskbenchError], words: str, **more: object) -> DiskbenchError:
    """Renting fails so, and after a release nothing is left."""
    with pytest.raises(kind, match=words) as failed:
        azure.acquire(**more)  # type: ignore[arg-type]
    azure.faults.reset()
    azure.release()
    assert azure.left() == []
    return failed.value


def bodies(azure: Rig, action: str) -> list[dict]:
    return [one.body for one in azure.faults.calls(action) if one.body]


class TestWhatIsMade:
    def test_everything_stands_in_one_group_and_carries_the_lease(self, azure: Rig) -> None:
        azure.acquire()
        for asked in azure.faults.asked:
            if asked.method == "PUT":
                tags = asked.body["tags"]
                assert tags["diskbench-lease"] == "one"
                assert tags["diskbench-expires"].isdecimal()
                assert "/resourcegroups/diskbench-one" in asked.path.lower()
        (found,) = azure.provider.found(azure.scope())
        assert "resource-group diskbench-one" in found.resources
        assert "virtualMachines diskbench-one-machine" in found.resources

    def test_only_one_network_gets_in(self, azure: Rig) -> None:
        azure.acquire(ssh_cidr="198.51.100.0/24")
        (rule,) = azure.resource("networkSecurityGroups")["properties"]["securityRules"]
        assert rule["properties"]["sourceAddressPrefix"] == "198.51.100.0/24"
        assert rule["properties"]["destinationPortRange"] == "22"

    def test_the_machine_is_given_its_host_key_and_nobody_else_is_told(self, azure: Rig) -> None:
        acquired = azure.acquire()
        (machine,) = [body for body in bodies(azure, MACHINE) if "osProfile" in body["properties"]]
        told = base64.b64decode(machine["properties"]["osProfile"]["customData"]).decode()
        assert told.startswith("#cloud-config")
        private = told.partition("ed25519_private: |")[2].split()[5]
        assert private not in json.dumps(acquired.facts)
        assert not any(private in note for note in azure.watch.notes)

    def test_disk_os_disk_interface_and_address_go_with_the_machine(self, azure: Rig) -> None:
        azure.acquire()
        properties = azure.resource("virtualMachines")["properties"]
        storage = properties["storageProfile"]
        (interface,) = properties["networkProfile"]["networkInterfaces"]
        assert storage["osDisk"]["deleteOption"] == "Delete"
        assert [disk["deleteOption"] for disk in storage["dataDisks"]] == ["Delete"]
        assert interface["properties"]["deleteOption"] == "Delete"

    def test_rented_twice_with_the_same_lease_it_is_rented_once(self, azure: Rig) -> None:
        first = azure.acquire()
        assert azure.acquire().model_dump() == first.model_dump()
        assert len(azure.resources("virtualMachines")) == 1
        assert len(azure.resources("disks")) == 2  # the OS disk is one

    @pytest.mark.parametrize(
        ("disk", "size", "more"),
        [
            ("Standard_LRS", 20, {}),
            ("StandardSSD_LRS", 20, {}),
            ("Premium_LRS", 64, {"performance_tier": "P30"}),
            ("Premium_LRS", 1024, {"bursting": True, "instance_type": "Standard_F16s_v2"}),
            ("PremiumV2_LRS", 20, {"iops": 4000, "throughput_mib_per_s": 200}),
            ("UltraSSD_LRS", 64, {"iops": 2000, "throughput_mib_per_s": 100}),
        ],
    )
    def test_every_disk_type_is_had_as_asked_for(
        self, azure: Rig, disk: str, size: int, more: dict
    ) -> None:
        acquired = azure.acquire(disk=disk, size_gib=size, **more)
        (told,) = acquired.facts["volumes"]
        assert acquired.device == "/dev/disk/azure/scsi1/lun0"
        assert acquired.size_bytes == size * 2**30
        assert (told["type"], told["size_gib"], told["host_cache"]) == (disk, size, "None")
        assert told["iops"] == more.get("iops", told["iops"])
        assert told["tier"] == more.get("performance_tier", told["tier"])
        assert bool(told["bursting"]) == more.get("bursting", False)

    @pytest.mark.parametrize("cache", ["none", "readonly", "readwrite"])
    def test_the_host_cache_is_set_on_the_disk_and_read_back(self, azure: Rig, cache: str) -> None:
        acquired = azure.acquire(cache=cache)
        (told,) = acquired.facts["volumes"]
        assert told["host_cache"].lower() == cache
        assert acquired.facts["host_cache"].lower() == cache

    def test_another_host_cache_is_had_by_detaching_and_that_is_recorded(self, azure: Rig) -> None:
        azure.acquire(cache="none")
        changed = azure.acquire(cache="readonly")
        (told,) = changed.facts["volumes"]
        (why,) = changed.facts["cache_changes"]
        assert told["host_cache"] == "ReadOnly"
        assert "None to ReadOnly" in why
        held = [
            [disk["caching"] for disk in body["properties"]["storageProfile"]["dataDisks"]]
            for body in bodies(azure, MACHINE)
            if "dataDisks" in body["properties"]["storageProfile"]
        ]
        assert held == [["None"], [], ["ReadOnly"]]

    def test_several_disks_are_found_each_under_its_lun(self, azure: Rig) -> None:
        spec = {"count": 3, "stripe": True, "size_gib": 4, "instance_type": "Standard_D8s_v3"}
        acquired = azure.acquire(**spec)
        assert acquired.devices == tuple(f"/dev/disk/azure/scsi1/lun{n}" for n in range(3))
        assert len(set(acquired.identities)) == 3

    def test_the_os_disk_is_measured_through_a_directory(self, azure: Rig) -> None:
        acquired = azure.acquire(disk="root:StandardSSD_LRS", size_gib=64, cache="readonly")
        assert (acquired.device, acquired.directory) == (None, "/var/tmp")
        (told,) = acquired.facts["volumes"]
        assert (told["type"], told["size_gib"]) == ("StandardSSD_LRS", 64)
        assert told["host_cache"] == "ReadOnly"

    def test_the_temporary_disk_is_the_machines_own(self, azure: Rig) -> None:
        acquired = azure.acquire(disk="temp-disk", size_gib=None, instance_type="Standard_D2s_v3")
        assert acquired.device == "/dev/disk/azure/resource"
        assert acquired.size_bytes == 16 * 2**30
        assert acquired.facts["volumes"] == []


class TestWhatEndsABill:
    def test_a_schedule_deallocates_the_machine_after_the_lease(self, azure: Rig) -> None:
        acquired = azure.acquire()
        properties = azure.resource("schedules")["properties"]
        assert acquired.facts["dead_man"] == "schedule"
        assert properties["taskType"] == "ComputeVmShutdownTask"
        assert properties["targetResourceId"] == acquired.facts["resource_id"]
        assert properties["timeZoneId"] == "UTC"

    def test_a_lease_of_days_has_none_for_it_would_end_on_the_first(self, azure: Rig) -> None:
        claim = azure.claim(lasts_s=3 * 86_400)
        acquired = azure.provider.acquire(claim, azure.resolve(), azure.watch)
        assert acquired.facts["dead_man"].startswith("none")
        assert azure.resources("schedules") == []

    def test_who_may_not_make_one_is_told_and_measures_all_the_same(self, azure: Rig) -> None:
        azure.faults.forbid(SCHEDULE)
        acquired = azure.acquire()
        assert "Microsoft.DevTestLab/schedules/write" in acquired.facts["dead_man"]
        assert any("DevTestLab" in note for note in azure.watch.notes)


class TestWhereItIsTried:
    def test_the_second_zone_is_tried_when_the_first_has_no_room(self, azure: Rig) -> None:
        azure.faults.capacity(zone="1")
        acquired = azure.acquire()
        assert acquired.facts["zone"] == "2"
        assert azure.resource("virtualMachines")["zones"] == ["2"]
        assert all(disk["zones"] == ["2"] for disk in azure.resources("disks"))

    def test_without_room_anywhere_each_zone_is_told(self, azure: Rig) -> None:
        azure.faults.capacity(times=float("inf"))
        failed = fails(azure, NoCapacity, "zone 1: .*zone 2: .*zone 3: ")
        assert "--region" in failed.advice

    def test_a_region_without_zones_is_asked_for_none(self, azure: Rig) -> None:
        acquired = azure.acquire(region="westus", instance_type="Standard_D2s_v3")
        assert acquired.facts["zone"] is None
        assert "zones" not in azure.resource("virtualMachines")


class TestWhatGoesWrong:
    def test_throttling_and_outages_are_waited_out(self, azure: Rig) -> None:
        azure.faults.throttle(times=4)
        azure.faults.break_down(MACHINE, times=2)
        assert azure.acquire().device

    @pytest.mark.parametrize("action", [f"{GROUP}/write", DISK, MACHINE])
    def test_an_answer_that_is_lost_makes_nothing_twice(self, azure: Rig, action: str) -> None:
        azure.faults.lose_answers(action)
        assert azure.acquire().device
        assert len(azure.resources("virtualMachines")) == 1
        assert len(azure.resources("disks")) == 2

    def test_a_quota_is_named_with_the_place_to_raise_it(self, azure: Rig) -> None:
        azure.faults.quota_cores = 1
        failed = fails(azure, QuotaExceeded, "Cores")
        assert "Usage + quotas" in failed.advice

    def test_a_missing_right_is_named(self, azure: Rig) -> None:
        azure.faults.forbid(DISK)
        failed = fails(azure, AccessDenied, DISK)
        assert "docs/azure.md" in failed.advice

    def test_credentials_that_expire_in_the_middle_say_how_to_log_in(self, azure: Rig) -> None:
        rental = azure.resolve()
        azure.faults.expire_credentials(after_calls=4)
        with pytest.raises(AccessDenied, match="does not accept the credentials") as failed:
            azure.provider.acquire(azure.claim(), rental, azure.watch)
        assert "az login" in failed.value.advice
        azure.faults.reset()
        azure.release()
        assert azure.left() == []

    def test_a_disk_that_is_never_ready_is_given_up(self, azure: Rig) -> None:
        azure.impatient("disk_s")
        azure.faults.stuck(DISK)
        fails(azure, RentalFailed, "disk diskbench-one-disk-0 took longer than 1 s")

    def test_a_machine_that_answers_no_ssh_is_given_up(self, azure: Rig) -> None:
        azure.impatient("ssh_s")
        azure.faults.never_ready()
        fails(azure, RentalFailed, "SSH to .* took longer than 1 s")

    def test_a_late_attachment_is_waited_for(self, azure: Rig) -> None:
        azure.faults.late_attach(5)
        assert azure.acquire().device

    def test_whoever_stops_it_waits_for_nothing(self, azure: Rig) -> None:
        azure.watch.on_note = azure.watch.stop.set
        fails(azure, Interrupted, "stopped while waiting")

    def test_a_size_that_is_not_sold_there_is_known_before(self, azure: Rig) -> None:
        with pytest.raises(UnknownName, match="Standard_D4s_v55"):
            azure.resolve(instance_type="Standard_D4s_v55")

    def test_a_zone_that_is_not_there_is_known_before(self, azure: Rig) -> None:
        with pytest.raises(UnknownName, match="'9'"):
            azure.resolve(zone="9")

    def test_a_region_that_is_not_there_is_known_before(self, azure: Rig) -> None:
        with pytest.raises(InvalidValue, match="'nowhere'"):
            azure.resolve(region="nowhere")

    def test_a_size_without_premium_disks_is_refused(self, azure: Rig) -> None:
        with pytest.raises(InvalidValue, match="takes no Premium_LRS"):
            azure.resolve(instance_type="Standard_D2_v3")

    def test_a_certificate_nobody_signed_is_refused(self, azure: Rig, monkeypatch) -> None:
        monkeypatch.delenv("REQUESTS_CA_BUNDLE")
        azure.provider = AzureProvider(azure.provider.timing.looking())
        with pytest.raises((HostUnavailable, AccessDenied), match=r"(?i)certificate"):
            azure.resolve()


class TestGivingBack:
    def test_nothing_is_left_and_it_may_be_done_again(self, azure: Rig) -> None:
        azure.acquire()
        for _ in range(2):
            azure.release()
            assert azure.left() == []

    def test_what_belongs_to_others_stays(self, azure: Rig) -> None:
        azure.acquire("one")
        azure.acquire("two")
        azure.release("one")
        (found,) = azure.provider.found(azure.scope())
        assert found.lease_id == "two"

    def test_what_cannot_be_given_back_is_named(self, azure: Rig) -> None:
        azure.acquire()
        azure.faults.forbid(f"{GROUP}/delete")
        with pytest.raises(ReleaseFailed, match="virtualMachines diskbench-one-machine") as failed:
            azure.release()
        assert "diskbench gc one" in failed.value.advice
        azure.faults.reset()
        azure.release()
        assert azure.left() == []

    def test_a_machine_that_was_deleted_by_somebody_is_gone(self, azure: Rig) -> None:
        azure.acquire()
        scope = azure.scope()
        assert azure.provider.gone("one", scope) is None
        azure.release()
        assert "lists no machine" in (azure.provider.gone("one", scope) or "")

    def test_released_while_it_is_being_rented_all_goes(self, azure: Rig) -> None:
        rental, halfway = azure.resolve(), threading.Event()
        azure.watch.on_note = halfway.set
        failed: list[DiskbenchError] = []

        def rent() -> None:
            try:
                azure.provider.acquire(azure.claim(), rental, azure.watch)
            except DiskbenchError as error:
                failed.append(error)
            halfway.set()

        renting = threading.Thread(target=rent)
        renting.start()
        assert halfway.wait(60)
        azure.watch.stop.set()
        azure.release()
        renting.join(60)
        azure.release()
        assert azure.left() == []


def test_the_default_is_a_whole_rental(azure: Rig) -> None:
    rental = azure.resolve(PREMIUM.model_copy(update={"size_gib": 256}))
    assert rental.scope.region == "eastus"
    assert rental.instance_type == "Standard_D8s_v5"
    assert rental.zones == ("1", "2", "3")
    assert rental.promise.startswith("1,100 IOPS, bursts to 3,500")
    assert rental.hourly_usd == pytest.approx(0.384 + (5.2795 + 38.012142) / 730)
    assert type(rental).model_validate_json(rental.model_dump_json()) == rental
