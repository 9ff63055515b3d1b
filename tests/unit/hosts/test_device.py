"""The guard before raw devices; several are checked, held open, locked and sampled as one is.
Every refusal stands against a real loop device in that state; holders, which this kernel cannot
make, against what the script would print of them."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.rigs import signatures
from tests.rigs.disk_states import exclusive
from tests.rigs.loops import contents
from tests.unit.hosts.conftest import grow, refused, watch

from diskbench.errors import HostUnavailable, MeasurementFailed, TargetRefused
from diskbench.fio.samples import parse_samples
from diskbench.hosts import agent
from diskbench.hosts.agent import disks_under
from diskbench.hosts.device import check_device, check_devices, inspect, list_devices, refusals
from diskbench.hosts.disks import DeviceState, parse_inspection
from diskbench.hosts.local import LocalHost
from diskbench.model.facts import DiskFacts
from diskbench.units import MIB

pytestmark = pytest.mark.slow  # real disks, each probed as a user's would be

HERE = LocalHost()


def refusal(device, identity, size=None):
    """Why the device is refused, in one text."""
    with pytest.raises(TargetRefused) as caught:
        check_device(HERE, device, str(identity), size)
    return caught.value.message


def test_a_loop_device_passes_by_its_file_or_as_printed_and_looking_writes_nothing(
    make_loop, tmp_path
):
    device, image = make_loop("a disk's image.img")
    proof = check_device(HERE, device, str(image), 32 * MIB)
    number = Path(device).stat().st_rdev
    assert proof.path == device
    assert proof.number == f"{os.major(number)}:{os.minor(number)}"
    assert (proof.identity, proof.size_bytes) == (str(image), 32 * MIB)
    used, lvm = make_loop()
    signatures.write_lvm(lvm)
    before = contents(lvm)
    inspect(HERE, used)
    device, image = make_loop("printed.img")
    state, reasons = next((s, r) for s, r in list_devices(HERE) if s.disk.path == device)
    assert contents(lvm) == before
    assert reasons == ()
    assert state.identities[0] == f"{image}:{image.stat().st_ino}"
    link = tmp_path / "by-id"
    link.symlink_to(device)
    proof = check_device(HERE, str(link), state.identities[0])
    assert proof.path == device, "the link is followed, and the device itself pinned"


def test_a_device_that_was_held_is_free_again_and_a_missing_one_refused(tmp_path, make_loop):
    assert "does not exist" in refusal(str(tmp_path / "nothing"), "x")
    device, image = make_loop()
    with exclusive(device):
        pass
    assert check_device(HERE, device, str(image))


def test_somebody_elses_look_is_over_in_a_moment_and_refuses_nothing(make_loop, monkeypatch):
    """As of another diskbench: it opens exclusively, and everything that looks opens. It closes the
    disk when the look has met it."""
    device, image = make_loop()
    disk = os.open(device, os.O_RDONLY | os.O_EXCL)
    met, find, busy = [], agent.openers, agent.is_busy

    def look(path):
        if found := busy(path):
            met.append("busy")
            os.close(disk)
        return found

    number = agent.number_of(device)
    monkeypatch.setattr(agent, "is_busy", look)
    lines = list(agent.looked_closely(number, 4))
    assert "busy=yes" not in lines
    assert met == ["busy"]
    with subprocess.Popen(["sh", "-c", f"exec sleep 100 <{device}"]) as holder:
        while not find({Path(device).name}):
            pass

        def end(found):
            if found:
                met.append("opened")
                holder.kill()
                holder.wait()
            return found

        monkeypatch.setattr(agent, "openers", lambda names: end(find(names)))
        lines = list(agent.looked_closely(number, 4))
    assert not [line for line in lines if line.startswith("opener=")]
    assert met == ["busy", "opened"]
    assert check_device(HERE, device, str(image)).path == device


def test_without_root_the_device_is_not_looked_at(make_loop, as_nobody):
    device, image = make_loop()
    as_nobody()
    with pytest.raises(HostUnavailable, match="needs root"):
        check_device(HERE, device, str(image))


def test_the_identity_of_another_device_or_of_two_or_an_older_file_of_that_path(make_loop):
    device, own = make_loop("a.img")
    other, image = make_loop("b.img")
    assert f"is not '{image}' (that is {other})" in refusal(device, image)
    assert "no device here has that" in refusal(device, f"{own}:1")
    device, image = make_loop()
    twin, _ = make_loop()
    words = refusal(device, image)
    assert "shares its identity" in words
    assert twin in words


def test_an_identity_is_compared_and_never_matched(make_loop):
    device, image = make_loop()
    assert "its identity" in refusal(device, "*")
    inspection = inspect(HERE, device)
    for typed in (".*", "", "\n", "/tmp", "-e"):  # which the host is never told
        found = refusals(inspection.find(inspection.asked), inspection.devices, typed)
        assert "its identity" in " ".join(found)
    image.unlink()
    assert "its identity" in refusal(device, image), "which the kernel names as deleted"


# --- Pure: what this kernel cannot put a loop device into


def state(**changes):
    """A disk that nothing stands against."""
    disk = DiskFacts(name="sdb", path="/dev/sdb", number="8:16", size_bytes=2**30)
    free = DeviceState(disk=disk, identities=("SER1", "wwn1"), looked=True, examined=True)
    return free.model_copy(update=changes)


def other(**changes):
    disk = DiskFacts(name="sdc", path="/dev/sdc", number="8:32", size_bytes=2**30)
    return state(**({"disk": disk, "identities": ("SER2",)} | changes))


def test_a_shared_serial_is_refused_and_the_own_wwn_is_offered_but_not_for_its_partition():
    assert refusals(state(), [state(), other()], "SER1") == ()
    assert refusals(state(), [state(), other()], "wwn1") == ()
    twins = [state(), other(identities=("SER1", "wwn2"))]
    (reason,) = refusals(state(), twins, "SER1")
    assert reason == "shares the identity SER1 with another device; wwn1 is its own"
    assert refusals(state(), twins, "wwn1") == ()
    part = other(identities=("SER1",), partition_of="8:16")
    assert refusals(state(), [state(), part], "SER1") == ()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"holders": ("dm-0", "md127")}, "is held by dm-0, md127"),
        ({"system": True}, "the disk this system runs from"),
        ({"swap": True}, "in use as swap"),
        ({"mounts": ("/a", "/b")}, "is mounted on /a, /b"),
        ({"openers": ("17 qemu",)}, "is held open by process 17 qemu"),
        ({"busy": True}, "exclusive use"),
        ({"partitions": ("sdb1",)}, "has partitions (sdb1)"),
        ({"partition_of": "8:0"}, "is a partition"),
        ({"partition_table": "gpt"}, "has a partition table (gpt)"),
        ({"signatures": ("VMFS_volume_member",)}, "belongs to VMFS"),
        ({"signatures": ("something new",)}, "signature: something new"),
        ({"unreadable": "Permission denied"}, "cannot be read: Permission denied"),
        ({"examined": False}, "could not be examined"),
        ({"looked": False}, "could not be examined"),
        ({"read_only": True}, "is read-only"),
        ({"identities": ()}, "has no identity"),
    ],
)
def test_each_single_reason_refuses(changes, words):
    assert any(words in reason for reason in refusals(state(**changes), [other()], "SER1"))


OF_ITS_DATA = {"partitions", "partition_table", "signatures"}


@pytest.mark.parametrize(
    "changes",
    [
        {"partitions": ("sdb1",), "partition_table": "gpt", "signatures": ("ext4",)},
        {"holders": ("dm-0",)}, {"mounts": ("/a",)}, {"swap": True}, {"system": True},
        {"openers": ("17 qemu",)}, {"partition_of": "8:0", "signatures": ("ext4",)},
        {"read_only": True}, {"identities": ()},
    ],
)  # fmt: skip
def test_of_a_disk_made_from_a_snapshot_its_data_alone_are_no_reason(changes):
    held = refusals(state(**changes), [other()], "SER1", holds_data=True)
    assert bool(held) is not (set(changes) <= OF_ITS_DATA)
    assert refusals(state(**changes), [other()], "SER1"), "of any other disk they are"


SDB = "number=8:16 sectors=2097152 ro=0 holder=dm-3 mount=/data identity=SER1 readable=yes"
ANSWER = [
    ["asked", "8:16"],
    ["device", "name=sdb", *SDB.split(), "partition=8:17 sdb1", "tools=yes"],
    ["device", "name=sdb1", "number=8:17", "sectors=4096", "partition_of=8:16"],
    ["device", "name=sdc", "number=8:32", "partition=8:33 sdc1", "mount=/srv", "swap=yes"],
    ["device", "name=sda", "number=8:0", "sectors=2097152", "system=yes"],
    ["end"],
]


def test_an_inspection_says_what_uses_a_disk_and_one_that_is_cut_short_is_not_complete():
    found = parse_inspection(ANSWER)
    sdb, sdc, sda = (found.find(n) for n in ("8:16", "8:32", "8:0"))
    assert (sdb.mounts, sdb.holders) == (("/data",), ("dm-3",))
    assert sdc.mounts == ("/srv",)
    assert sdc.swap
    assert sda.system
    assert found.find("8:17").partition_of == "8:16"
    assert found.complete
    for n in range(len(ANSWER)):
        assert not parse_inspection(ANSWER[:n]).complete
    for offset in (-1, 2**70):  # of a copy that a host cannot have read: `_BHRfS_M` at 0x40
        copy = f"copy={offset} {'0' * 128}5f42485266535f4d"
        assert parse_inspection([[*ANSWER[1], copy]]).find("8:16").copies == ()


JOB = (
    "[global]\nrw=write\nbs=1m\nsize=4m\nioengine=psync\ndirect=1\n"
    "[one]\nfilename={0}\n[two]\nfilename={1}\n"
)
BOTH = "[both]\nrw=write\nbs=1m\nsize=8m\nioengine=psync\ndirect=1\nfilename={0}:{1}\n"


@pytest.fixture
def pair(make_loop):
    """Two disks: their paths and images."""
    return make_loop("one.img"), make_loop("two.img")


def guards(*disks):
    return check_devices(HERE, [(device, str(image)) for device, image in disks])


@pytest.fixture
def raw_unit(make_unit):
    """A unit that writes to raw devices."""

    def make(allowed, job=JOB):
        text = job.format(*(one.path for one in allowed))
        return make_unit(work_dir=None, guards=allowed, job=text)

    return make


@pytest.mark.parametrize("job", [JOB, BOTH], ids=["a job each", "one job on both"])
def test_both_disks_are_written_to_through_what_holds_them(pair, raw_unit, job):
    unit = raw_unit(guards(*pair), job)
    assert watch(unit).fio_exit == 0
    for _, image in pair:
        assert image.read_bytes()[: 4 * MIB].count(0) < MIB
    kept = Path(unit.directory)
    held = (kept / "device.txt").read_text()
    assert "(O_EXCL)" in held.splitlines()[0]
    assert [f"device {device}" in held for device, _ in pair] == [True, True]
    assert '"filename" : "/proc/' in (kept / "fio.json").read_text()
    summary = parse_samples((kept / "samples.txt").read_bytes())
    assert summary.device_write_bytes >= 8 * MIB  # of both disks together


class TestTheSecond:
    """A second disk that changed since it passed is refused as a single one is, for whatever
    reason: tests/unit/hosts/test_guarded_unit.py and tests/drills/test_guard.py."""

    def test_another_disk_under_its_name(self, pair, raw_unit, exchange):
        unit = raw_unit(guards(*pair))
        refused(unit, "no longer answers to", exchange(pair[1][0]), pair[0][1], pair[1][1])

    def test_data_on_it(self, pair, raw_unit):
        unit = raw_unit(guards(*pair))
        subprocess.run(["mkfs.ext4", "-q", pair[1][0]], check=True)
        refused(unit, "holds ext4", pair[0][1], pair[1][1])

    def test_changed_while_fio_ran(self, pair, raw_unit):
        """What holds the disk forbids most changes; its size may still change."""
        allowed = guards(*pair)
        device, image = pair[1]
        job = JOB.replace("bs=1m", "bs=4k\ntime_based\nruntime=60s\nrate_iops=100")
        unit, seen = raw_unit(allowed, job.replace("direct=1\n", "")), []

        def tick(_):
            if not seen:
                grow(device, image)
            seen.append(True)

        with pytest.raises(MeasurementFailed, match=f"the size of {device} is now"):
            watch(unit, lambda: bool(seen), tick)  # then fio is stopped


def test_swapped_names_and_one_disk_given_twice_are_refused_at_the_step_too(pair, raw_unit):
    """Each identity belongs to its own name: two disks that changed places are both others."""
    one, two = guards(*pair)
    swapped = (
        one.model_copy(update={"path": two.path, "number": two.number}),
        two.model_copy(update={"path": one.path, "number": one.number}),
    )
    refused(raw_unit(swapped), "no longer answers to", pair[0][1], pair[1][1])
    twice = raw_unit((one, one)).model_copy(update={"name": "001-twice"})
    refused(twice, "is in exclusive use", pair[0][1], pair[1][1])


def test_another_trial_waits_for_each_of_them(pair, raw_unit):
    """The claim of a trial names all of its disks."""
    unit = raw_unit(guards(*pair))
    watch(unit)
    lock = Path(unit.directory, "lock.txt").read_text()
    (disks,) = [line.split()[1:] for line in lock.splitlines() if line.startswith("disks ")]
    expected = set().union(*(disks_under(device) for device, _ in pair))
    assert set(disks) == expected
    assert expected


def test_the_second_disk_is_looked_at_as_closely_as_the_first(pair, make_loop, tmp_path):
    (one, image), (two, other) = pair
    link = tmp_path / "by-id"
    link.symlink_to(one)
    for again in (one, str(link)):
        with pytest.raises(TargetRefused, match="same disk"):
            check_devices(HERE, [(one, str(image)), (again, str(image))])
    with pytest.raises(TargetRefused, match="its identity is"):
        check_devices(HERE, [(one, str(other)), (two, str(image))])
    subprocess.run(["mkfs.ext4", "-q", two], check=True)
    with pytest.raises(TargetRefused, match="ext4"):
        check_devices(HERE, [(one, str(image)), (two, str(other))])
    with pytest.raises(TargetRefused, match="shares"):  # two loops on one file
        check_devices(HERE, [(one, str(image)), (make_loop("one.img")[0], str(image))])
