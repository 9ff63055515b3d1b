"""Renting on Azure, against the emulator: what is made and how, and what happens when something
goes wrong.

After every fault: an error that says what was wrong, and a release after which nothing is left."""

import base64
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from emulators.azure import power
from tests.cloud.azure_rig import PREMIUM
from tests.cloud.eager import GIVES_UP
from tests.cloud.measured import a_renter, document, rents

from diskbench import errors
from diskbench.model.metrics import exceeded_within
from diskbench.providers.azure import doctor
from diskbench.providers.azure.cloud import AzureProvider

ROOT = Path(__file__).parents[2]
MACHINE = "Microsoft.Compute/virtualMachines/write"
DISK = "Microsoft.Compute/disks/write"
GROUP = "Microsoft.Resources/subscriptions/resourceGroups"
SCHEDULE = "Microsoft.DevTestLab/schedules/write"


def bodies(rig, action):
    return [one.body for one in rig.faults.calls(action) if one.body]


def test_the_machine_is_given_its_host_key_and_a_region_without_zones_is_asked_for_none(rig):
    acquired = rig.acquire(region="westus", instance_type="Standard_D2s_v3")
    (machine,) = [body for body in bodies(rig, MACHINE) if "osProfile" in body["properties"]]
    told = base64.b64decode(machine["properties"]["osProfile"]["customData"]).decode()
    assert told.startswith("#cloud-config")
    private = told.partition("ed25519_private: |")[2].split()[5]
    assert private not in json.dumps(acquired.facts)
    assert not any(private in note for note in rig.watch.notes)
    assert acquired.facts["zone"] is None
    assert "zones" not in rig.resource("virtualMachines")


def test_another_host_cache_is_had_by_detaching_and_that_is_recorded(rig):
    spec = PREMIUM.model_copy(update={"instance_type": "Standard_D4s_v3"})
    rig.acquire(spec=spec, cache="none")
    changed = rig.acquire(spec=spec, cache="readonly")
    (told,) = changed.facts["volumes"]
    (why,) = changed.facts["cache_changes"]
    assert told["host_cache"] == "ReadOnly"
    assert "None to ReadOnly" in why
    shown = [body["properties"]["storageProfile"] for body in bodies(rig, MACHINE)]
    lists = [storage["dataDisks"] for storage in shown if "dataDisks" in storage]
    held = [[disk["caching"] for disk in listed] for listed in lists]
    assert held == [["None"], [], ["ReadOnly"]]


def test_a_lease_of_days_has_no_schedule_for_it_would_end_on_the_first(rig):
    claim = rig.claim(lasts_s=3 * 86_400)
    acquired = rig.provider.acquire(claim, rig.resolve(), rig.watch)
    assert acquired.facts["dead_man"].startswith("none")
    assert rig.resources("schedules") == []


def test_who_may_not_make_a_schedule_is_told_and_measures_all_the_same(rig):
    rig.faults.forbid(SCHEDULE)
    acquired = rig.acquire()
    assert "Microsoft.DevTestLab/schedules/write" in acquired.facts["dead_man"]
    assert any("DevTestLab" in note for note in rig.watch.notes)


def test_throttling_outages_and_a_late_attachment_are_waited_out(rig):
    rig.faults.throttle(times=4)
    rig.faults.break_down(MACHINE, times=2)
    rig.faults.late_attach(5)
    assert rig.acquire().device


@pytest.mark.parametrize("action", [f"{GROUP}/write", DISK, MACHINE])
def test_an_answer_that_is_lost_makes_nothing_twice(rig, action):
    rig.faults.lose_answers(action)
    assert rig.acquire().device
    assert len(rig.resources("virtualMachines")) == 1
    assert len(rig.resources("disks")) == 2


@pytest.mark.parametrize(
    ("limit", "fault", "words"),
    [
        ("disk_s", ("stuck", DISK), "disk diskbench-one-disk-0 took longer than 1 s"),
        ("ssh_s", ("never_ready",), "SSH to .* took longer than 1 s"),
    ],
)
def test_a_disk_or_a_machine_that_is_never_ready_is_given_up_and_nothing_is_left(
    rig, limit, fault, words
):
    rig.impatient(limit)
    name, *arguments = fault
    getattr(rig.faults, name)(*arguments)
    with pytest.raises(errors.RentalFailed, match=words):
        rig.acquire()
    rig.faults.reset()
    rig.release()
    assert rig.left() == []


def test_a_certificate_nobody_signed_is_refused(rig, monkeypatch):
    monkeypatch.delenv("REQUESTS_CA_BUNDLE")
    rig.provider = AzureProvider(rig.provider.timing.for_reading())
    with pytest.raises((errors.HostUnavailable, errors.AccessDenied), match=r"(?i)certificate"):
        rig.resolve()


def test_what_cannot_be_given_back_is_named(rig):
    rig.acquire()
    rig.faults.forbid(f"{GROUP}/delete")
    with pytest.raises(errors.ReleaseFailed, match="Machines diskbench-one-machine") as failed:
        rig.release()
    assert "diskbench gc one" in failed.value.advice
    rig.faults.reset()
    rig.release()
    assert rig.left() == []


HOUR_S = 3600.0


def test_the_schedule_goes_off_after_the_new_end_and_the_tag_that_is_read_is_moved_last(rig):
    """It is a time of day: it must be moved with the lease, or it goes off while the resumed
    work runs; where it cannot be moved, the earlier end stays on every tag."""
    rig.acquire()
    before = dict(rig.resource("schedules"))
    rig.faults.reset()
    rig.extend(5 * HOUR_S)
    asked = [one for one in rig.faults.asked if one.method in {"PUT", "PATCH"}]
    assert asked[0].action == SCHEDULE
    assert {one.action for one in asked[1:]} == {"Microsoft.Resources/tags/write"}
    of_group = "/resourcegroups/diskbench-one/providers/microsoft.resources/tags/default"
    at = [n for n, one in enumerate(asked) if of_group in one.path.lower()]
    assert at == [len(asked) - 1]
    carried = [row["tags"] for row in rig.cloud.resources.values() if row.get("tags")]
    assert len({tags["diskbench-expires"] for tags in carried}) == 1
    (found,) = rig.provider.found(rig.scope())
    when = datetime.fromtimestamp(found.expires_at, UTC) + timedelta(minutes=15)
    after = rig.resource("schedules")
    assert after["properties"]["dailyRecurrence"]["time"] == when.strftime("%H%M")
    assert after["properties"]["status"] == "Enabled"
    assert after["tags"] == before["tags"] | {"diskbench-expires": f"{found.expires_at:.0f}"}
    # A time of day that would come too early is switched off.
    rig.extend(30 * HOUR_S)
    power.fire_schedules(rig.cloud)
    assert rig.provider.gone("one", rig.scope()) is None
    assert rig.resource("schedules")["properties"]["status"] == "Disabled"
    rig.extend(2 * HOUR_S)
    assert rig.resource("schedules")["properties"]["status"] == "Enabled"
    (found,) = rig.provider.found(rig.scope())
    rig.faults.reset()
    rig.faults.forbid(SCHEDULE)
    with pytest.raises(errors.AccessDenied, match="schedules/write"):
        rig.extend(5 * HOUR_S)
    assert rig.faults.calls("Microsoft.Resources/tags/write") == []
    assert rig.provider.found(rig.scope()) == [found]


class TestWhatAzureCounts:
    """Three minutes of a step at the disk's limit, by Azure Monitor."""

    STEP = (1_795_852_800.0, 1_795_852_980.0)
    COUNTED = ("Data Disk IOPS Consumed Percentage", "VM Uncached IOPS Consumed Percentage")

    def counted(self, rig, **more):
        acquired = rig.acquire(**more)
        rig.faults.consumed.update(zip(self.COUNTED, (100.0, 40.0), strict=True))
        since, until = (datetime.fromtimestamp(one, UTC) for one in self.STEP)
        found = rig.provider.metrics(rig.resolve(**more), acquired, since, until)
        assert len({metric.name for metric in found}) == 12
        (volume,), machine = acquired.facts["volumes"], acquired.facts["resource_id"]
        assert {metric.of for metric in found} == {volume["id"], machine}
        return {metric.name: metric for metric in found if metric.points}

    def test_a_disk_without_bursts_is_named_as_the_limit_of_each_minute(self, rig):
        found = self.counted(rig, spec=PREMIUM.model_copy(update={"disk": "PremiumV2_LRS"}))
        disk, machine = (found[name] for name in self.COUNTED)
        assert (disk.limit, disk.period_s, len(disk.points)) == ("disk-iops", 60, 4)
        assert machine.limit is None
        told = exceeded_within(found.values(), *self.STEP)
        assert (told.seconds, told.counted_s) == ({"disk-iops": 180.0}, 180.0)

    def test_a_run_keeps_what_azure_counted_though_its_machine_is_gone(self, azure, tmp_path):
        user = a_renter(tmp_path, {**azure.env, GIVES_UP: "metric_s=2"})
        azure.faults.consumed["Data Disk IOPS Consumed Percentage"] = 100.0
        flags = "--disk UltraSSD_LRS --size 4 --iops 400 --throughput 50"
        assert document(user, rents(user, "azure", azure, flags, seconds=8))
        (kept,) = user.home.rglob("metrics.json")
        found = {one["name"]: one for one in json.loads(kept.read_bytes())["metrics"]}
        assert list(found) == [self.COUNTED[0]], "series without points are not kept"
        assert found[self.COUNTED[0]]["limit"] == "disk-iops"
        assert len(found[self.COUNTED[0]]["points"]) >= 3
        assert azure.left() == []

    def test_a_disk_that_bursts_passes_its_baseline_without_being_held_back(self, rig):
        found = self.counted(rig)
        assert {metric.limit for metric in found.values()} == {None}
        assert exceeded_within(found.values(), *self.STEP) is None


def test_the_default_is_a_whole_rental(rig):
    rental = rig.resolve(PREMIUM.model_copy(update={"size_gib": 256}))
    assert rental.scope.region == "eastus"
    assert rental.instance_type == "Standard_E4bs_v5"
    assert rental.zones == ("1", "2", "3")
    assert rental.promise.startswith("1,100 IOPS, bursts to 3,500")
    assert rental.hourly_usd == pytest.approx(0.298 + (5.2795 + 38.012142) / 730 + 0.005)
    assert type(rental).model_validate_json(rental.model_dump_json()) == rental


def test_the_page_shows_the_role_as_it_is_printed():
    (text,) = re.findall(r"```json\n(.*?)\n```", (ROOT / "docs/azure.md").read_text(), re.DOTALL)
    assert text == doctor.policy()
    assert set(json.loads(text)["Actions"]) == set(doctor.actions())
